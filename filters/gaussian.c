/* Separable Gaussian; matches scipy.ndimage.gaussian_filter. */
#include "filters/shared_params.h"

enum { SIGMA, TRUNCATE };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_WIDTH("sigma", VF_WORDS_OF_SIGMA, "1",
                             "standard deviation, " VF_ONE_OR_EACH "; 0 leaves an axis unchanged"),
    [TRUNCATE] = {.name = "truncate",
                  .kind = VF_PARAM_NUMBER,
                  .initial = "4",
                  .max = 16,
                  .unit = "sigma",
                  .help = "the kernel is cut off at this many standard deviations"},
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    const double truncate = value[TRUNCATE].number;
    struct vf_param width = params[SIGMA];
    double sigma[3];
    int field = 0;
    enum vf_status status;
    if (truncate > 0)
        width.least = 0.5 / truncate;
    VF_TRY(vf_lengths_in_voxels(&width, &value[SIGMA], context, false, sigma, error));
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, truncate, 1, &field, VF_FIELD_IMAGE, error));
    e->output_count = 1;
    e->output[0] = field;
out:
    return status;
}

const struct vf_filter vf_filter_gaussian = {
    .name = "gaussian",
    .summary = "smooth with a Gaussian",
    .known_as = "blur|gauss|gaussianblur|gaussianfilter|gaussblur|lowpass|gaussianblur3d|gauss3d|gaussblur3d",
    .source = "separable convolution, radius floor(truncate * sigma + 0.5), as scipy.ndimage.gaussian_filter",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
