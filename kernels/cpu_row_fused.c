#include "kernels/cpu_row_fused.h"

#include <string.h>

#include "filters/stencils/params.h"
#include "filters/tensor_stages.h"
#include "src/alloc.h"

bool vf_row_is_handed_on(const struct vf_flow *flow, int made, int k, int reader)
{
    const int field = flow->stage[made].output[k];
    for (int i = made + 1; i < flow->stage_count; i++)
        for (int j = 0; j < flow->stage[i].input_count; j++)
            if (i != reader && flow->stage[i].input[j] == field)
                return false;
    for (int j = 0; j < flow->sink_count; j++)
        if (flow->sink[j] == field)
            return false;
    return true;
}

static bool is_body(const struct vf_flow *flow, int i, enum vf_stencil_id stencil)
{
    return i < flow->stage_count && flow->stage[i].stencil == stencil;
}

/* Whether stage i makes a tensor of which the next one, flux_cross, takes what is off the diagonal. */
static bool cross_follows(const struct vf_flow *flow, int i)
{
    const int mixed = flow->dim * (flow->dim - 1) / 2;
    if (!is_body(flow, i + 1, VF_STENCIL_flux_cross))
        return false;
    for (int k = 0; k < mixed; k++) {
        const int component = vf_tensor_mixed[flow->dim - 2][k];
        if (flow->stage[i + 1].input[k] != flow->stage[i].output[component] ||
            !vf_row_is_handed_on(flow, i, component, i + 1))
            return false;
    }
    return true;
}

/* Whether stage i makes the products that the next one, eed_tensor, takes. */
static bool eed_follows(const struct vf_flow *flow, int i)
{
    if (!is_body(flow, i + 1, VF_STENCIL_eed_tensor))
        return false;
    for (int k = 0; k < flow->stage[i].output_count; k++)
        if (flow->stage[i + 1].input[k] != flow->stage[i].output[k] ||
            !vf_row_is_handed_on(flow, i, k, i + 1))
            return false;
    return true;
}

static bool same_gradient(const struct vf_stage *a, const struct vf_stage *b)
{
    for (int axis = 0; axis < 3; axis++)
        if (a->param[axis] != b->param[axis])
            return false;
    return true;
}

/* The inputs of `cross` that are not the tensor's, and all that diffusion_step reads of both. */
static void take_flux(struct vf_stage *to, const struct vf_stage *tensor, const struct vf_stage *cross,
                      int dim)
{
    to->input[to->input_count++] = cross->input[cross->input_count - 1];
    to->output_count = 2 * dim;
    for (int axis = 0; axis < dim; axis++) {
        to->output[axis] = tensor->output[vf_tensor_diagonal[dim - 2][axis]];
        to->output[dim + axis] = cross->output[axis];
    }
    memcpy(to->param, cross->param, 3 * sizeof *to->param);
}

/* The stages from i on as one; returns how many, 1 where `to` is stage i as it was. */
static int fuse_at(const struct vf_flow *flow, int i, struct vf_stage *to)
{
    const struct vf_stage *stage = &flow->stage[i];
    *to = *stage;
    if (is_body(flow, i, VF_STENCIL_structure_tensor) && eed_follows(flow, i) && cross_follows(flow, i + 1) &&
        same_gradient(stage, &stage[2])) {
        to->stencil = VF_STENCIL_eed_flux;
        take_flux(to, &stage[1], &stage[2], flow->dim);
        to->param[VF_EED_K] = stage[1].param[VF_EED_K];
        return 3;
    }
    if (is_body(flow, i, VF_STENCIL_diffusion_tensor) && cross_follows(flow, i)) {
        to->stencil = VF_STENCIL_direction_flux;
        take_flux(to, stage, &stage[1], flow->dim);
        to->param[VF_FLUX_FIRST] = stage->param[VF_ABOUT_FIRST];
        to->param[VF_FLUX_SLOPE] = stage->param[VF_ABOUT_SLOPE];
        return 2;
    }
    return 1;
}

enum vf_status vf_row_fuse(const struct vf_job *from, struct vf_row_fused *fused, struct vf_error *error)
{
    const struct vf_flow *flow = from->flow;
    struct vf_stage one;
    bool any = false;
    *fused = (struct vf_row_fused){.job = *from};
    for (int i = 0; i < flow->stage_count && !any; i++)
        any = fuse_at(flow, i, &one) > 1;
    if (!any)
        return VF_OK;
    fused->stage = vf_alloc((size_t)flow->stage_count, sizeof *fused->stage, "stages", error);
    if (fused->stage == NULL)
        return VF_FAILED;
    fused->flow = *flow;
    fused->flow.stage = fused->stage;
    fused->flow.stage_count = 0;
    for (int i = 0; i < flow->stage_count;)
        i += fuse_at(flow, i, &fused->stage[fused->flow.stage_count++]);
    fused->job.flow = &fused->flow;
    return VF_OK;
}

void vf_row_fused_close(struct vf_row_fused *fused)
{
    vf_free(fused->stage);
    fused->stage = NULL;
}
