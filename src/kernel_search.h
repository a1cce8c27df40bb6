/* Which configurations of a kernel are worth measuring, when each takes a compiler's second: the best by
 * prediction first, then what is most like the fastest of those. */
#ifndef VF_KERNEL_SEARCH_H
#define VF_KERNEL_SEARCH_H

#include "gpu_plan.h"
#include "gpu_rank.h"

/* Most configurations that are measured side by side. */
#define VF_SEARCH_AT_ONCE 24

struct vf_search {
    const struct vf_kernel_case *c;
    const struct vf_gpu *gpu;
    const struct vf_launch *planned; /* what the plan takes by itself, which is measured too */
    /* Fills seconds[count], INFINITY where one does not run. Another status than VF_OK ends the search. */
    enum vf_status (*measure)(void *context, const struct vf_ranked *choice, int count, double *seconds,
                              struct vf_error *error);
    void *context;
};

/* The fastest configuration that was found, with its measured seconds, INFINITY if none runs, and how many
 * were measured. */
enum vf_status vf_search_run(const struct vf_search *search, struct vf_ranked *best, int *tried,
                             struct vf_error *error);

#endif
