/* Speckle-reducing anisotropic diffusion. It is of J = exp((u - mean) / range), mean and range being those of
 * the input: 255 grey values count as the range, and a factor of J changes nothing. An iteration goes from u
 * to u, so that what is flat stays as it is. */
#include <float.h>

#include "filters/filter.h"
#include "filters/stencils/params.h"
#include "filters/shared_params.h"

enum { ITERATIONS, LAMBDA, NOISE };
enum { RANGE, MEAN, VARIATION }; /* global values */

static const struct vf_param params[] = {
    [ITERATIONS] = VF_PARAM_ITERATIONS,
    [LAMBDA] =
        {.name = "lambda",
         .kind = VF_PARAM_NUMBER,
         .initial = "0.5",
         .max = 1,
         .help =
             "step size; where diffusion is unrestricted, 1 replaces a pixel by the mean of its neighbours"},
    [NOISE] = {.name = "noise",
               .kind = VF_PARAM_BOX,
               .initial = "",
               .unit = "voxels",
               .help = "a box of pure speckle from which its strength q0 is measured; without it, the whole "
                       "image or stack is used"},
};

/* What is no range is not divided by: the image is flat then. */
static double divisor(double range, double none)
{
    return range >= (double)FLT_MIN ? range : none;
}

static double square(double value, double scale)
{
    return scale * value * value;
}

/* Replaces *field by its exponential. */
static enum vf_status add_exponential(struct vf_expansion *e, const struct vf_context *context, int *field,
                                      struct vf_error *error)
{
    struct vf_stage *stage =
        vf_add_stage(e, "EXP", VF_STENCIL_exponential, context->dim, field, field, VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    stage->global[VF_EXP_FROM] = MEAN + 1;
    stage->global[VF_EXP_RANGE] = RANGE + 1;
    return VF_OK;
}

/* q0, over the noise box, of what each iteration starts with. */
static enum vf_status add_values(struct vf_expansion *e, const struct vf_context *context,
                                 const struct vf_value *value, struct vf_error *error)
{
    const struct vf_global range = {
        .name = "range", .reduction = VF_REDUCE_RANGE, .derive = divisor, .scale = 1};
    const struct vf_global mean = {.name = "mean", .reduction = VF_REDUCE_MEAN};
    struct vf_global variation = {
        .name = "q0", .reduction = VF_REDUCE_VARIATION, .derive = square, .scale = 1, .each = true};
    enum vf_status status;
    VF_TRY(vf_set_box(&params[NOISE], &value[NOISE], context, &variation, error));
    e->in_pre = true;
    status = add_exponential(e, context, &variation.field, error);
    e->in_pre = false;
    if (status != VF_OK || vf_add_global(e, &range, error) < 0 || vf_add_global(e, &mean, error) < 0 ||
        vf_add_global(e, &variation, error) < 0)
        return VF_FAILED;
out:
    return status;
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    enum { U, J, COEFFICIENT, INPUTS };
    int field[INPUTS] = {0};
    enum vf_status status;
    VF_TRY(add_values(e, context, value, error));
    VF_TRY(add_exponential(e, context, &field[J], error));
    struct vf_stage *stage = vf_add_stage(e, "COEF", VF_STENCIL_speckle_coefficient, context->dim, &field[J],
                                          &field[COEFFICIENT], VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    stage->global[VF_SPECKLE_SQUARED_VARIATION] = VARIATION + 1;
    stage = vf_add_stage(e, "STEP", VF_STENCIL_speckle_step, context->dim, field, e->output, VF_FIELD_IMAGE,
                         error);
    if (stage == NULL)
        return VF_FAILED;
    stage->param[VF_SPECKLE_QUARTER_LAMBDA] = value[LAMBDA].number / 4;
    stage->global[VF_SPECKLE_RANGE] = RANGE + 1;
    e->repeat = (int)value[ITERATIONS].number;
    e->output_count = 1;
out:
    return status;
}

const struct vf_filter vf_filter_srad = {
    .name = "srad",
    .summary = "speckle-reducing diffusion of ultrasound and radar images, slice by slice",
    .known_as = "speckle|specklereduction|specklereducinganisotropicdiffusion",
    .source = "Yu & Acton 2002 as implemented in Rodinia, applied to exp(u / range of u); every slice is "
              "treated alike, with one q0 for all, whatever the pixel size; under boundary constant nothing "
              "flows across the border",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
