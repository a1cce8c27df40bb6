/* Unsharp masking. */
#include "filters/shared_params.h"

enum { SIGMA, AMOUNT };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_WIDTH(
        "sigma", VF_WORDS_OF_SIGMA, "1",
        "standard deviation of the Gaussian, about the size of the detail to sharpen; " VF_ONE_OR_EACH),
    [AMOUNT] =
        {.name = "amount",
         .kind = VF_PARAM_NUMBER,
         .initial = "1",
         .max = 1000,
         .known_as = "mask|weight|maskweight|strength|percent",
         .help =
             "how many times the detail that the Gaussian removes is added; 0 leaves the image unchanged"},
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    double sigma[3];
    int field[2] = {0, 0}; /* the image, and smoothed */
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, false, sigma, error));
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, &field[1], VF_FIELD_IMAGE, error));
    struct vf_stage *stage =
        vf_add_stage(e, "USM", VF_STENCIL_unsharp, context->dim, field, e->output, VF_FIELD_IMAGE, error);
    if (stage == NULL)
        return VF_FAILED;
    stage->param[0] = value[AMOUNT].number;
    e->output_count = 1;
out:
    return status;
}

const struct vf_filter vf_filter_unsharp = {
    .name = "unsharp",
    .summary = "sharpen by adding what a Gaussian removes",
    .known_as = "sharpen|unsharpmask|unsharpmasking|highpass",
    .source = "unsharp masking: u + amount (u - G u), the difference first, then one multiply-add, as in "
              "skimage.filters.unsharp_mask (under boundary reflect); ImageJ's mask weight w corresponds to "
              "amount w / (1 - w)",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
