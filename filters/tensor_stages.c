#include "filters/tensor_stages.h"

#include <math.h>

#include "filters/stencils/params.h"

const char *const vf_tensor_label[2][6] = {{"xx", "xy", "yy"}, {"xx", "xy", "xz", "yy", "yz", "zz"}};
const int vf_tensor_diagonal[2][3] = {{0, 2}, {0, 3, 5}}, vf_tensor_mixed[2][3] = {{1}, {1, 2, 4}};

void vf_set_outputs(struct vf_expansion *e, const struct vf_stage *last, int only, const char *const *label)
{
    e->output_count = only > 0 ? 1 : last->output_count;
    if (only > 0)
        e->output[0] = e->output[only - 1];
    for (int k = 0; k < e->output_count && e->output_count > 1; k++)
        e->output_label[k] = label[k];
}

void vf_set_half_inverse_h(struct vf_stage *stage, const struct vf_context *context)
{
    for (int axis = 0; axis < 3; axis++)
        stage->param[axis] = 0.5 / context->aspect[axis];
}

enum vf_status vf_add_structure_tensor(struct vf_expansion *e, const struct vf_context *context,
                                       const double sigma[3], const double rho[3], int *smooth, int *tensor,
                                       struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, smooth, VF_FIELD_IMAGE, error));
    struct vf_stage *stage = vf_add_stage(e, "ST", VF_STENCIL_structure_tensor, context->dim, smooth, tensor,
                                          VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    vf_set_half_inverse_h(stage, context);
    VF_TRY(vf_add_gaussian(e, context, 'R', rho, VF_TRUNCATE, stage->output_count, tensor, VF_FIELD_DERIVED,
                           error));
out:
    return status;
}

bool vf_smooths_tensor(const double rho[3])
{
    return rho[0] >= VF_LEAST_SIGMA || rho[1] >= VF_LEAST_SIGMA || rho[2] >= VF_LEAST_SIGMA;
}

enum vf_status vf_must_smooth_tensor(const struct vf_context *context, const double rho[3],
                                     struct vf_error *error)
{
    return vf_smooths_tensor(rho)
               ? VF_OK
               : vf_fail(error, VF_USAGE,
                         "%s: rho must be at least %g voxels along some axis: without smoothing the tensor "
                         "has no direction",
                         context->filter, VF_LEAST_SIGMA);
}

enum vf_status vf_add_gradient_magnitude(struct vf_expansion *e, const struct vf_context *context,
                                         const double sigma[3], int *field, struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, field, VF_FIELD_IMAGE, error));
    struct vf_stage *stage = vf_add_stage(e, "GM", VF_STENCIL_gradient_magnitude, context->dim, field, field,
                                          VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    vf_set_half_inverse_h(stage, context);
out:
    return status;
}

enum vf_status vf_add_diffusion_tensor(struct vf_expansion *e, const struct vf_context *context,
                                       const int *direction, double first, double slope, int *tensor,
                                       struct vf_error *error)
{
    struct vf_stage *stage = vf_add_stage(e, "DT", VF_STENCIL_diffusion_tensor, context->dim, direction,
                                          tensor, VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    stage->param[VF_ABOUT_FIRST] = first;
    stage->param[VF_ABOUT_SLOPE] = slope;
    return VF_OK;
}

enum vf_status vf_add_diffusion_step(struct vf_expansion *e, const struct vf_context *context,
                                     const int *tensor, double dt, struct vf_error *error)
{
    const int dim = context->dim, mixed = dim * (dim - 1) / 2;
    int to_cross[VF_MAX_INPUTS], to_step[VF_MAX_INPUTS];
    for (int i = 0; i < mixed; i++)
        to_cross[i] = tensor[vf_tensor_mixed[dim - 2][i]];
    for (int axis = 0; axis < dim; axis++)
        to_step[axis] = tensor[vf_tensor_diagonal[dim - 2][axis]];
    to_cross[mixed] = to_step[2 * dim] = 0;
    struct vf_stage *stage = vf_add_stage(e, "CROSS", VF_STENCIL_flux_cross, dim, to_cross, to_step + dim,
                                          VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    vf_set_half_inverse_h(stage, context);
    stage = vf_add_stage(e, "PDE", VF_STENCIL_diffusion_step, dim, to_step, e->output, VF_FIELD_IMAGE, error);
    if (stage == NULL)
        return VF_FAILED;
    for (int axis = 0; axis < 3; axis++)
        stage->param[VF_PDE_INVERSE_H + axis] = 1 / context->aspect[axis];
    stage->param[VF_PDE_DT] = dt;
    e->output_count = 1;
    return VF_OK;
}

static double inverse(double k, double scale)
{
    return scale / k;
}

enum vf_status vf_set_k(struct vf_expansion *e, const struct vf_context *context,
                        const struct vf_value *value, const double sigma[3], int slot, bool inverted,
                        struct vf_error *error)
{
    struct vf_stage *stage = &e->stage[e->stage_count - 1];
    struct vf_global k = {
        .name = "k", .derive = inverted ? inverse : NULL, .scale = 1, .argument = value->number};
    enum vf_status status = VF_OK;
    switch (value->threshold) {
    case VF_THRESHOLD_NUMBER:
        stage->param[slot] = inverted ? 1 / value->number : value->number;
        return VF_OK;
    case VF_THRESHOLD_DEVIATIONS:
        k.reduction = VF_REDUCE_DEVIATION;
        break;
    case VF_THRESHOLD_AUTO:
        k.argument = 90;
        /* fall through */
    case VF_THRESHOLD_PERCENTILE:
        k.reduction = VF_REDUCE_PERCENTILE;
        e->in_pre = true;
        status = vf_add_gradient_magnitude(e, context, sigma, &k.field, error);
        e->in_pre = false;
        break;
    }
    int global = status == VF_OK ? vf_add_global(e, &k, error) : -1;
    if (global < 0)
        return VF_FAILED;
    stage->global[slot] = global + 1;
    return VF_OK;
}

/* exp(-quotient^2) is a power of 2 to the bodies. */
static double contrast(double range, double root_c)
{
    return root_c * (range / 255) * (range / 255);
}

enum vf_status vf_set_coherence(struct vf_expansion *e, double alpha, double c, struct vf_error *error)
{
    struct vf_stage *stage = &e->stage[e->stage_count - 1];
    const struct vf_global range = {
        .name = "range", .reduction = VF_REDUCE_RANGE, .derive = contrast, .scale = sqrt(c * M_LOG2E)};
    int global = vf_add_global(e, &range, error);
    if (global < 0)
        return VF_FAILED;
    stage->param[VF_CED_ALPHA] = alpha;
    stage->global[VF_CED_CONTRAST] = global + 1;
    return VF_OK;
}
