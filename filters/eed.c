/* Edge-enhancing diffusion. */
#include "filters/tensor_params.h"
#include "filters/tensor_stages.h"

#include "filters/stencils/params.h"

enum { SIGMA, RHO, K, ITERATIONS, DT, MODE };
enum mode { SURFACE, LINE };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_SIGMA("1"),
    [RHO] = VF_PARAM_RHO("0"),
    [K] = VF_PARAM_K,
    [ITERATIONS] = VF_PARAM_ITERATIONS,
    [DT] = VF_PARAM_DT,
    [MODE] = {.name = "mode",
              .kind = VF_PARAM_CHOICE,
              .initial = "surface",
              .choices = "surface|line",
              .help = "surface: no diffusion across edges; line: diffusion along the direction of least "
                      "change alone, which needs rho > 0"},
};

/* The diffusion tensor: from the gradient alone where the structure tensor is not smoothed, else from the
 * eigenvectors of the smoothed one and the gradient of u_sigma. */
static struct vf_stage *add_tensor(struct vf_expansion *e, const struct vf_context *context, bool smoothed,
                                   enum mode mode, int smooth, int *tensor, struct vf_error *error)
{
    const int components = context->dim * (context->dim + 1) / 2;
    int inputs[VF_MAX_INPUTS];
    for (int c = 0; c < components; c++)
        inputs[c] = tensor[c];
    inputs[components] = smooth;
    enum vf_stencil_id stencil = VF_STENCIL_eed_tensor;
    if (smoothed)
        stencil = mode == LINE ? VF_STENCIL_eed_line_tensor : VF_STENCIL_eed_surface_tensor;
    return vf_add_stage(e, "DT", stencil, context->dim, inputs, tensor, VF_FIELD_DERIVED, error);
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
    bool smoothed = rho[0] > 0 || rho[1] > 0 || rho[2] > 0;
    if (value[MODE].choice == LINE && !smoothed)
        return vf_fail(error, VF_USAGE,
                       "eed: mode=line needs rho above 0 (rho=2, say): without smoothing the tensor "
                       "has no direction of least change");
    VF_TRY(vf_add_structure_tensor(e, context, sigma, rho, &smooth, tensor, error));
    struct vf_stage *stage =
        add_tensor(e, context, smoothed, (enum mode)value[MODE].choice, smooth, tensor, error);
    if (stage == NULL)
        return VF_FAILED;
    vf_set_half_inverse_h(stage, context);
    VF_TRY(vf_set_inverse_k(e, context, &value[K], sigma, VF_EED_INVERSE_K, error));
    VF_TRY(vf_add_diffusion_step(e, context, tensor, dt, error));
    e->repeat = (int)value[ITERATIONS].number;
out:
    return status;
}

const struct vf_filter vf_filter_eed = {
    .name = "eed",
    .summary = "edge-enhancing diffusion: smooth along surfaces or lines, not across them",
    .source = "Weickert 1998; mode=line: Frangakis & Hegerl 2001",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
