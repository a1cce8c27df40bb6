/* A table of weights of the user's. */
#include "filters/filter.h"

enum { WEIGHTS, FLIP };
enum flip { YES, NO };

static const struct vf_param params[] = {
    [WEIGHTS] =
        {.name = "file",
         .known_as = "kernel|weights",
         .kind = VF_PARAM_WEIGHTS,
         .initial = "",
         .help = "a text file of weights: rows of numbers separated by blanks, tabs or commas; '#' starts a "
                 "comment, a blank line separates planes (z). Every size is odd, with the centre in the "
                 "middle; 65536 weights at most. One plane filters an image, or each plane of a stack "
                 "separately; several planes "
                 "need a stack. Voxels under a weight of 0 are not read, so a NaN there does not spread"},
    [FLIP] = {.name = "flip",
              .kind = VF_PARAM_CHOICE,
              .initial = "yes",
              .choices = "yes|no",
              .help = "yes: convolution, as scipy.ndimage.convolve and conv2: the weight at x, y, z from the "
                      "centre applies to the voxel at -x, -y, -z; no: correlation: the weights lie on the "
                      "image as written, as for a stencil, OpenCV's filter2D or ImageJ's Convolve"},
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    const struct vf_weights *weights = value[WEIGHTS].weights;
    if (weights->size[0] > 1 && context->dim == 2)
        return vf_fail(error, VF_USAGE,
                       "convolve: %.200s has %d planes of weights (blank lines separate planes), which need "
                       "a stack; for a 2D image, or with --slices, give one plane",
                       weights->path, weights->size[0]);
    e->output_count = 1;
    e->output[0] = 0;
    return vf_add_table(e, context, "CONV", weights, value[FLIP].choice == YES, &e->output[0],
                        VF_FIELD_DERIVED, error);
}

const struct vf_filter vf_filter_convolve = {
    .name = "convolve",
    .summary = "convolve with weights from a file, of any odd size in 2D or 3D",
    .known_as = "correlate|convolution|correlation|filter2d|conv2|convn|imfilter",
    .source = "the sum of weight * voxel over the table, computed directly: what scipy.ndimage.convolve "
              "gives, or with flip=no scipy.ndimage.correlate. Weights are used as given; ImageJ's Convolve, "
              "when it normalizes, divides them by their sum",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
