/* Neighbouring stages of a flow that row-stream computes as one: bodies that were compiled together
 * (filters/stencils.def). What they hand on to each other alone is never stored. */
#ifndef VF_CPU_ROW_FUSED_H
#define VF_CPU_ROW_FUSED_H

#include "kernels/scheme.h"

struct vf_row_fused {
    struct vf_job job; /* as given, of the flow below where stages were fused */
    struct vf_flow flow;
    struct vf_stage *stage; /* owned; NULL: none were fused */
};

/* Whether what stage `made` gives as its output k is read by stage `reader` alone, and stored nowhere. */
bool vf_row_is_handed_on(const struct vf_flow *flow, int made, int k, int reader);

/* `from` stays the caller's, and must outlive it. */
enum vf_status vf_row_fuse(const struct vf_job *from, struct vf_row_fused *fused, struct vf_error *error);
void vf_row_fused_close(struct vf_row_fused *fused);

#endif
