/* Global values: one reducer for each of a link's globals and each live field. */
#ifndef VF_PREPASS_H
#define VF_PREPASS_H

#include "plan.h"

struct vf_prepass {
    struct vf_reducer reducer[VF_MAX_LIVE * VF_MAX_GLOBALS];
    int global[VF_MAX_LIVE * VF_MAX_GLOBALS]; /* which of the link's */
    int live[VF_MAX_LIVE * VF_MAX_GLOBALS];   /* of which live field */
    int count, link;
    struct vf_sink sink[VF_MAX_LIVE * VF_MAX_GLOBALS]; /* of the run's flow */
};

/* For a run that is a pre-pass. Owned by the caller, also after a failure. */
enum vf_status vf_prepass_open(struct vf_prepass *pre, const struct vf_plan *plan, const struct vf_run *run,
                               struct vf_error *error);

/* Puts what the reducers found into value[], by vf_plan_value_index. */
void vf_prepass_values(const struct vf_prepass *pre, const struct vf_plan *plan, double *value);
void vf_prepass_close(struct vf_prepass *pre);

#endif
