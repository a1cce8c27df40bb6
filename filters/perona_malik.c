/* Non-linear isotropic diffusion. */
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

#include "filters/stencils/params.h"

enum { K, ITERATIONS, DT, CONDUCTANCE };
enum conductance { EXPONENTIAL, QUADRATIC };

static const struct vf_param params[] = {
    [K] = VF_PARAM_K("|grad u|"),
    [ITERATIONS] = VF_PARAM_ITERATIONS,
    [DT] = VF_PARAM_DT,
    [CONDUCTANCE] = {.name = "conductance",
                     .kind = VF_PARAM_CHOICE,
                     .initial = "exp",
                     .choices = "exp|quadratic",
                     .help = "exp: exp(-s^2), favours strong edges; quadratic: 1/(1 + s^2), favours wide "
                             "regions; s is the difference between two neighbours, per voxel, over k: at a "
                             "diagonal edge it is less than |grad u| / k"},
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    static const double unsmoothed[3] = {0, 0, 0};
    static const int input[] = {0};
    double dt;
    enum vf_status status;
    VF_TRY(vf_stable_step(&value[DT], context, &dt, error));
    const enum vf_stencil_id stencil = value[CONDUCTANCE].choice == EXPONENTIAL
                                           ? VF_STENCIL_perona_malik_exp
                                           : VF_STENCIL_perona_malik_quadratic;
    struct vf_stage *stage =
        vf_add_stage(e, "PM", stencil, context->dim, input, e->output, VF_FIELD_IMAGE, error);
    if (stage == NULL)
        return VF_FAILED;
    for (int axis = 0; axis < 3; axis++)
        stage->param[axis] = 1 / context->aspect[axis];
    stage->param[VF_PM_DT] = dt;
    VF_TRY(vf_set_k(e, context, &value[K], unsmoothed, VF_PM_INVERSE_K, true, error));
    e->repeat = (int)value[ITERATIONS].number;
    e->output_count = 1;
out:
    return status;
}

const struct vf_filter vf_filter_perona_malik = {
    .name = "perona-malik",
    .summary = "smooth within regions, not across edges",
    .known_as = "anisotropicdiffusion|gradientanisotropicdiffusion|anisodiff|diffusion|denoise",
    .source = "Perona & Malik 1990, explicit time steps over the face neighbours",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
