/* Plans that were made before: the files of a batch are mostly alike, and to plan a small one may take as
 * long as to filter it. */
#ifndef VF_PLAN_MEMORY_H
#define VF_PLAN_MEMORY_H

#include "plan.h"

/* Of one file: the CPU's, the GPU's, and those with shorter runs for slabs. */
enum { VF_REMEMBERED_PLANS = 8 };

/* All zero to begin with. Chains, GPUs and texts of the requests must last as long as it does. */
struct vf_plan_memory {
    struct vf_remembered_plan {
        struct vf_plan_request request;
        struct vf_plan plan; /* of which it owns the pieces and runs; the rest is 0 */
    } entry[VF_REMEMBERED_PLANS];
    int count; /* remembered ever: the newest takes the oldest one's place */
};

/* Whether request->memory has a plan for the same, whose pieces and runs `plan` then gets copies of. */
bool vf_plan_recall(const struct vf_plan_request *request, struct vf_plan *plan);

/* Keeps copies of the plan's pieces and runs, if there is memory for them. */
void vf_plan_remember(const struct vf_plan_request *request, const struct vf_plan *plan);

void vf_plan_memory_free(struct vf_plan_memory *memory);

#endif
