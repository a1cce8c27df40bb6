/* For plan.c only: cutting a chain into runs, on the CPU where the sum of predicted times is least, with the
 * scheme's tiles, the kernels and the cost of each. */
#ifndef VF_PLAN_RUNS_H
#define VF_PLAN_RUNS_H

#include "plan.h"

/* Iterations that the search puts into one run at most: a longer one gains little and costs halo. */
#define VF_MOST_FUSED 16

/* Fills plan->piece and plan->run, from the links and all that the request says; also after a failure the
 * caller frees them. */
enum vf_status vf_plan_make_runs(struct vf_plan *plan, struct vf_error *error);

#endif
