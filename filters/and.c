/* Anisotropic non-linear diffusion: the hybrid of coherence- and edge-enhancing that cryo-tomography uses. */
#include "filters/stencils/params.h"
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

enum { SIGMA, RHO, K, ALPHA, CONTRAST, ITERATIONS, DT, THRESHOLD, NOISE };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_SIGMA("1"),
    [RHO] = VF_PARAM_RHO("2", VF_RHO_NEEDED),
    [K] = VF_PARAM_K("|grad u_sigma| (after the Gaussian)"),
    [ALPHA] = VF_PARAM_ALPHA,
    [CONTRAST] = VF_PARAM_C,
    [ITERATIONS] = VF_PARAM_ITERATIONS,
    [DT] = VF_PARAM_DT,
    [THRESHOLD] =
        {.name = "threshold",
         .kind = VF_PARAM_THRESHOLD,
         .initial = "auto",
         .max = VF_UNBOUNDED,
         .unit = "squared gradient",
         .choices = "auto",
         .help = "ced where the largest eigenvalue of the structure tensor exceeds the smallest by more than "
                 "this, elsewhere eed with mode=surface and rho=0; auto is the mean of that difference over "
                 "the noise box"},
    [NOISE] = {.name = "noise",
               .kind = VF_PARAM_BOX,
               .initial = "",
               .unit = "voxels",
               .help = "a box of background from which threshold=auto is computed; without it, the whole "
                       "volume is used"},
};

/* threshold=auto: the mean of mu1 - mu3 over the noise box, from a pre-pass. */
static enum vf_status set_threshold(struct vf_expansion *e, const struct vf_context *context,
                                    const struct vf_value *value, const double sigma[3], const double rho[3],
                                    struct vf_error *error)
{
    struct vf_stage *stage = &e->stage[e->stage_count - 1];
    struct vf_global mean = {.name = "threshold", .reduction = VF_REDUCE_MEAN};
    int smooth = 0, tensor[6], global = -1;
    const enum vf_status status = vf_set_box(&params[NOISE], &value[NOISE], context, &mean, error);
    if (status != VF_OK)
        return status;
    if (value[THRESHOLD].threshold == VF_THRESHOLD_NUMBER) {
        if (value[NOISE].box_axes > 0)
            return vf_fail(error, VF_USAGE,
                           "and: noise is used only with threshold=auto, but threshold is a number; leave "
                           "one of them out");
        stage->param[VF_AND_THRESHOLD] = value[THRESHOLD].number;
        return VF_OK;
    }
    e->in_pre = true;
    if (vf_add_structure_tensor(e, context, sigma, rho, &smooth, tensor, error) == VF_OK &&
        vf_add_stage(e, "EIG", VF_STENCIL_eigenvalue_spread, context->dim, tensor, &mean.field,
                     VF_FIELD_DERIVED, error) != NULL)
        global = vf_add_global(e, &mean, error);
    e->in_pre = false;
    if (global < 0)
        return VF_FAILED;
    stage->global[VF_AND_THRESHOLD] = global + 1;
    return VF_OK;
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    double sigma[3], rho[3], dt;
    int smooth = 0, tensor[7], direction[4];
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, true, sigma, error));
    VF_TRY(vf_lengths_in_voxels(&params[RHO], &value[RHO], context, true, rho, error));
    VF_TRY(vf_stable_step(&value[DT], context, &dt, error));
    VF_TRY(vf_must_smooth_tensor(context, rho, error));
    VF_TRY(vf_add_structure_tensor(e, context, sigma, rho, &smooth, tensor, error));
    tensor[context->dim * (context->dim + 1) / 2] = smooth;
    struct vf_stage *stage = vf_add_stage(e, "DIR", VF_STENCIL_and_direction, context->dim, tensor, direction,
                                          VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    vf_set_half_inverse_h(stage, context);
    VF_TRY(vf_set_k(e, context, &value[K], sigma, VF_EED_K, false, error));
    VF_TRY(vf_set_coherence(e, value[ALPHA].number, value[CONTRAST].number, error));
    VF_TRY(set_threshold(e, context, value, sigma, rho, error));
    VF_TRY(vf_add_diffusion_tensor(e, context, direction, value[ALPHA].number, 0, tensor, error));
    VF_TRY(vf_add_diffusion_step(e, context, tensor, dt, error));
    e->repeat = (int)value[ITERATIONS].number;
out:
    return status;
}

const struct vf_filter vf_filter_and = {
    .name = "and",
    .summary = "anisotropic diffusion for tomograms: ced on structures, eed elsewhere",
    .known_as = "nonlinearanisotropicdiffusion|hybriddiffusion",
    .source = "Frangakis & Hegerl 2001; Fernandez & Li 2003, 2005; eigenvalues as of eed and ced",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
