/* The median of a box around each voxel. */
#include "filters/shared_params.h"

enum { RADIUS };

static const struct vf_param params[] = {
    [RADIUS] = {.name = "radius",
                .kind = VF_PARAM_COUNT,
                .initial = "1",
                .min = 1,
                .max = 3,
                .unit = "voxels",
                .known_as = VF_WORDS_OF_RADIUS,
                .help = "the box extends this many voxels to each side along every axis, 2r + 1 in all; at "
                        "most 2 in a stack"},
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    static const enum vf_stencil_id of[2][3] = {
        {VF_STENCIL_median_3x3, VF_STENCIL_median_5x5, VF_STENCIL_median_7x7},
        {VF_STENCIL_median_3x3x3, VF_STENCIL_median_5x5x5}};
    const int radius = (int)value[RADIUS].number, input = 0;
    if (context->dim == 3 && radius > 2)
        return vf_fail(error, VF_USAGE,
                       "median: radius=3 is for 2D images; in a stack use 1 or 2, or 3 with --slices");
    if (vf_add_stage(e, "MED", of[context->dim - 2][radius - 1], context->dim, &input, e->output,
                     VF_FIELD_IMAGE, error) == NULL)
        return VF_FAILED;
    e->output_count = 1;
    return VF_OK;
}

const struct vf_filter vf_filter_median = {
    .name = "median",
    .summary = "median of a box, which removes outliers and keeps edges",
    .known_as = "medianfilter|medianblur|despeckle|medfilt",
    .source = "as scipy.ndimage.median_filter and OpenCV's medianBlur of size 2 radius + 1 (ImageJ's Median "
              "uses a disc, which equals the box at radius 1, and its Median 3D an ellipsoid, which does "
              "not); a NaN in the box gives NaN, and a zero is always +0",
    .keeps_type = true,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
