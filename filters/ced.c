/* Coherence-enhancing diffusion. */
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

enum { SIGMA, RHO, ALPHA, CONTRAST, ITERATIONS, DT };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_SIGMA("0.5"), [RHO] = VF_PARAM_RHO("4", VF_RHO_NEEDED), [ALPHA] = VF_PARAM_ALPHA,
    [CONTRAST] = VF_PARAM_C,         [ITERATIONS] = VF_PARAM_ITERATIONS,       [DT] = VF_PARAM_DT,
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    double sigma[3], rho[3], dt;
    int smooth = 0, tensor[6], direction[4];
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, true, sigma, error));
    VF_TRY(vf_lengths_in_voxels(&params[RHO], &value[RHO], context, true, rho, error));
    VF_TRY(vf_stable_step(&value[DT], context, &dt, error));
    VF_TRY(vf_must_smooth_tensor(context, rho, error));
    VF_TRY(vf_add_structure_tensor(e, context, sigma, rho, &smooth, tensor, error));
    if (vf_add_stage(e, "DIR", VF_STENCIL_ced_direction, context->dim, tensor, direction, VF_FIELD_DERIVED,
                     error) == NULL)
        return VF_FAILED;
    VF_TRY(vf_set_coherence(e, value[ALPHA].number, value[CONTRAST].number, error));
    VF_TRY(vf_add_diffusion_tensor(e, context, direction, value[ALPHA].number, 0, tensor, error));
    VF_TRY(vf_add_diffusion_step(e, context, tensor, dt, error));
    e->repeat = (int)value[ITERATIONS].number;
out:
    return status;
}

const struct vf_filter vf_filter_ced = {
    .name = "ced",
    .summary = "coherence-enhancing diffusion: smooth along lines and layers",
    .known_as = "coherenceenhancingdiffusion",
    .source = "Weickert 1999, with the eigenvalue alpha + (1 - alpha) exp(-C S^4/(mu1 - mu3)^2) along "
              "structures (mu2 for mu3 in 2D)",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
