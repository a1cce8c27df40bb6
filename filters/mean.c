/* The mean of a box; matches scipy.ndimage.uniform_filter. */
#include <math.h>

#include "filters/shared_params.h"
#include "src/alloc.h"

enum { RADIUS };

static const struct vf_param params[] = {
    [RADIUS] = {.name = "radius",
                .kind = VF_PARAM_LENGTHS,
                .initial = "1",
                .max = VF_MOST_WIDTH,
                .unit = "voxels",
                .known_as = VF_WORDS_OF_RADIUS,
                .help = "voxels from the centre to each side of the box, " VF_ONE_OR_EACH
                        ": the box is 2r + 1 wide, and 0 leaves an axis unchanged; lengths in A, nm, "
                        "um or mm are rounded to whole voxels"},
};

/* A number of voxels is meant as it stands; a length is rounded, and must average something. */
static enum vf_status whole_voxels(const struct vf_context *context, const struct vf_value *value,
                                   double radius[3], struct vf_error *error)
{
    const bool has_unit = value->unit > VF_UNIT_VOXEL;
    bool averages = false, is_zero = true;
    for (int axis = 0; axis < context->dim; axis++) {
        const double rounded = floor(radius[axis] + 0.5);
        if (!has_unit && rounded != radius[axis])
            return vf_fail(error, VF_USAGE,
                           "%s: radius=%.9g is not a whole number of voxels; the box is 2r + 1 wide: use "
                           "%.0f or %.0f, or a length in A, nm, um or mm, which is rounded",
                           context->filter, radius[axis], floor(radius[axis]), ceil(radius[axis]));
        is_zero = is_zero && radius[axis] == 0;
        averages = averages || rounded > 0;
        radius[axis] = rounded;
    }
    return averages || is_zero ? VF_OK
                               : vf_fail(error, VF_USAGE,
                                         "%s: radius is less than half a voxel on every axis, so nothing "
                                         "would be averaged; use a larger one",
                                         context->filter);
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    static const char *const name[] = {"MX", "MY", "MZ"};
    double radius[3], *weights = NULL;
    int field = 0;
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[RADIUS], &value[RADIUS], context, false, radius, error));
    VF_TRY(whole_voxels(context, &value[RADIUS], radius, error));
    weights = vf_alloc(2 * VF_MOST_WIDTH + 1, sizeof *weights, "weights", error);
    status = weights == NULL ? VF_FAILED : VF_OK;
    for (int axis = 0; axis < context->dim && status == VF_OK; axis++) {
        const int reach = (int)radius[axis], cells = 2 * reach + 1;
        for (int i = 0; i < cells; i++)
            weights[i] = 1.0 / cells;
        if (reach > 0)
            status = vf_add_linear(e, name[axis], axis, weights, reach, 1, &field, VF_FIELD_IMAGE, error);
    }
    e->output_count = 1;
    e->output[0] = field;
out:
    vf_free(weights);
    return status;
}

const struct vf_filter vf_filter_mean = {
    .name = "mean",
    .summary = "smooth with the mean of a box",
    .known_as = "box|boxblur|boxfilter|uniform|uniformfilter|average|averaging|smooth|meanfilter|boxcar",
    .source =
        "sums of 2r + 1 voxels along x, y and z, each weighted by 1/(2r + 1), as in "
        "scipy.ndimage.uniform_filter and OpenCV's blur; ImageJ's Mean uses a disc, which equals the box at "
        "radius 1, and its Mean 3D an ellipsoid, which does not",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
