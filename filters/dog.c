/* The difference of two Gaussians of the image; matches skimage.filters.difference_of_gaussians. */
#include "filters/shared_params.h"

enum { SIGMA, SIGMA2 };

/* Where sigma2 is not given; a difference of Gaussians is then nearly the Laplacian of one (Marr & Hildreth
 * 1980). */
#define USUAL_RATIO 1.6

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_WIDTH("sigma", "sigma1|low|lowsigma", "1",
                             "standard deviation of the first Gaussian, which removes noise; " VF_ONE_OR_EACH
                             "; 0 means no smoothing"),
    [SIGMA2] = VF_PARAM_WIDTH("sigma2", "high|highsigma", "",
                              "standard deviation of the second Gaussian, which is subtracted and so removes "
                              "anything much wider; default 1.6 sigma"),
};

/* Widths that reach no neighbour smooth nothing, all alike. */
static bool are_alike(const struct vf_context *context, const double sigma[3], const double sigma2[3])
{
    bool alike = true;
    for (int axis = 0; axis < context->dim; axis++)
        alike = alike && (sigma[axis] == sigma2[axis] ||
                          (sigma[axis] < VF_LEAST_SIGMA && sigma2[axis] < VF_LEAST_SIGMA));
    return alike;
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    double sigma[3], sigma2[3];
    int smooth[2] = {0, 0};
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, false, sigma, error));
    for (int axis = 0; axis < 3; axis++)
        sigma2[axis] = USUAL_RATIO * sigma[axis];
    if (value[SIGMA2].given)
        VF_TRY(vf_lengths_in_voxels(&params[SIGMA2], &value[SIGMA2], context, false, sigma2, error));
    if (are_alike(context, sigma, sigma2))
        return vf_fail(
            error, VF_USAGE,
            "%s: sigma and sigma2 smooth alike, so nothing is left of the image; make sigma2 different from "
            "sigma, for example %g times as large, and one of them at least %g voxels",
            context->filter, USUAL_RATIO, VF_LEAST_SIGMA);
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, &smooth[0], VF_FIELD_IMAGE, error));
    VF_TRY(vf_add_gaussian(e, context, 'W', sigma2, VF_TRUNCATE, 1, &smooth[1], VF_FIELD_IMAGE, error));
    e->output_count = 1;
    if (vf_add_stage(e, "DOG", VF_STENCIL_minus, context->dim, smooth, e->output, VF_FIELD_DERIVED, error) ==
        NULL)
        return VF_FAILED;
out:
    return status;
}

const struct vf_filter vf_filter_dog = {
    .name = "dog",
    .summary = "difference of two Gaussians: keeps blobs and edges of about their widths",
    .known_as = "differenceofgaussians|bandpass",
    .source = "Marr & Hildreth 1980; the Gaussians are cut off at 4 sigma, as in "
              "skimage.filters.difference_of_gaussians",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
