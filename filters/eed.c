/* Edge-enhancing diffusion. */
#include <string.h>

#include "filters/stencils/params.h"
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

enum { SIGMA, RHO, K, ITERATIONS, DT, MODE };
enum mode { SURFACE, LINE };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_SIGMA("1"),
    [RHO] = VF_PARAM_RHO("0", "; with mode=surface it smooths the direction of edges, whose strength stays "
                              "|grad u_sigma|"),
    [K] = VF_PARAM_K("|grad u_sigma| (after the Gaussian)"),
    [ITERATIONS] = VF_PARAM_ITERATIONS,
    [DT] = VF_PARAM_DT,
    [MODE] = {.name = "mode",
              .kind = VF_PARAM_CHOICE,
              .initial = "surface",
              .choices = "surface|line",
              .help = "surface: no diffusion across edges; line: diffusion only along the direction of least "
                      "change, which needs rho of at least " VF_LEAST_SIGMA_TEXT " voxels"},
};

/* The diffusion tensor of the structure tensor, from its eigenvectors and the gradient of u_sigma. */
static enum vf_status add_smoothed(struct vf_expansion *e, const struct vf_context *context,
                                   const struct vf_value *value, const double sigma[3], int smooth,
                                   int *tensor, struct vf_error *error)
{
    const bool is_line = value[MODE].choice == LINE;
    const int components = context->dim * (context->dim + 1) / 2;
    int inputs[VF_MAX_INPUTS], direction[4];
    enum vf_status status;
    memcpy(inputs, tensor, (size_t)components * sizeof *inputs);
    inputs[components] = smooth;
    struct vf_stage *stage =
        vf_add_stage(e, "DIR", is_line ? VF_STENCIL_eed_line_direction : VF_STENCIL_eed_surface_direction,
                     context->dim, inputs, direction, VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    vf_set_half_inverse_h(stage, context);
    VF_TRY(vf_set_k(e, context, &value[K], sigma, VF_EED_K, false, error));
    VF_TRY(vf_add_diffusion_tensor(e, context, direction, 1, is_line ? -1 : 0, tensor, error));
out:
    return status;
}

/* The same without smoothing, where it is the gradient's alone. */
static enum vf_status add_unsmoothed(struct vf_expansion *e, const struct vf_context *context,
                                     const struct vf_value *value, const double sigma[3], int *tensor,
                                     struct vf_error *error)
{
    if (vf_add_stage(e, "DT", VF_STENCIL_eed_tensor, context->dim, tensor, tensor, VF_FIELD_DERIVED, error) ==
        NULL)
        return VF_FAILED;
    return vf_set_k(e, context, &value[K], sigma, VF_EED_K, false, error);
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    double sigma[3], rho[3], dt;
    int smooth = 0, tensor[6];
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, true, sigma, error));
    VF_TRY(vf_lengths_in_voxels(&params[RHO], &value[RHO], context, true, rho, error));
    VF_TRY(vf_stable_step(&value[DT], context, &dt, error));
    bool smoothed = vf_smooths_tensor(rho);
    if (value[MODE].choice == LINE && !smoothed)
        return vf_fail(error, VF_USAGE,
                       "eed: mode=line needs rho of at least %g voxels along some axis (for example rho=2): "
                       "without smoothing, the tensor has no direction of least change",
                       VF_LEAST_SIGMA);
    VF_TRY(vf_add_structure_tensor(e, context, sigma, rho, &smooth, tensor, error));
    if (smoothed)
        VF_TRY(add_smoothed(e, context, value, sigma, smooth, tensor, error));
    else
        VF_TRY(add_unsmoothed(e, context, value, sigma, tensor, error));
    VF_TRY(vf_add_diffusion_step(e, context, tensor, dt, error));
    e->repeat = (int)value[ITERATIONS].number;
out:
    return status;
}

const struct vf_filter vf_filter_eed = {
    .name = "eed",
    .summary = "edge-enhancing diffusion: smooth along surfaces or lines, not across them",
    .known_as = "edgeenhancingdiffusion|nadeed3d",
    .source = "Weickert 1998, with the eigenvalue 1 - exp(-3.31488/(s/k)^8) across edges, where the smoothed "
              "gradient is s; mode=line: Frangakis & Hegerl 2001",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
