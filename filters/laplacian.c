/* The Laplacian by second differences; for voxels of equal sides it is scipy.ndimage.laplace, with sigma
 * after gaussian_filter. */
#include "filters/shared_params.h"

enum { SIGMA };

static const struct vf_param params[] = {
    [SIGMA] =
        VF_PARAM_WIDTH("sigma", VF_WORDS_OF_SIGMA, "0",
                       "standard deviation of a Gaussian applied first, " VF_ONE_OR_EACH "; 0 means none"),
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    double sigma[3];
    int field = 0;
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, false, sigma, error));
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, &field, VF_FIELD_IMAGE, error));
    struct vf_stage *stage = vf_add_stage(e, "LAP", VF_STENCIL_laplacian, context->dim, &field, e->output,
                                          VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    for (int axis = 0; axis < 3; axis++)
        stage->param[axis] = 1 / (context->aspect[axis] * context->aspect[axis]);
    e->output_count = 1;
out:
    return status;
}

const struct vf_filter vf_filter_laplacian = {
    .name = "laplacian",
    .summary = "sum of the second derivatives: bright in valleys, dark on ridges",
    .known_as = "laplace|log|gaussianlaplace|laplacianofgaussian",
    .source = "sum over the axes of (u[+1] - 2u + u[-1]) / h^2, where h are the sides of a voxel in "
              "x-voxels; with sides of 1 it equals scipy.ndimage.laplace and OpenCV's Laplacian, after "
              "gaussian_filter; gaussian_laplace differentiates the Gaussian itself",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
