/* First derivatives by central differences, Sobel, Scharr or derivatives of a Gaussian. */
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

enum { METHOD, SIGMA, OUTPUT };
enum method { CENTRAL, SOBEL, SCHARR, GAUSSIAN };
enum output { MAGNITUDE, ONLY_X, ONLY_Y, ONLY_Z, COMPONENTS };

static const struct vf_param params[] = {
    [METHOD] =
        {.name = "method",
         .kind = VF_PARAM_CHOICE,
         .initial = "central",
         .choices = "central|sobel|scharr|gaussian",
         .help = "central: difference of the two neighbours; sobel, scharr: the same, smoothed across with "
                 "three weights; gaussian: derivative of a Gaussian along the axis, not smoothed across, "
                 "unlike scipy.ndimage.gaussian_gradient_magnitude, to which central comes close from "
                 "sigma=2 on, away from the image's edges"},
    [SIGMA] = VF_PARAM_WIDTH("sigma", VF_WORDS_OF_SIGMA, "0",
                             "standard deviation of a Gaussian applied first; with method=gaussian, of the "
                             "Gaussian that is differentiated (then 1 by default)"),
    [OUTPUT] = {.name = "output",
                .kind = VF_PARAM_CHOICE,
                .initial = "magnitude",
                .choices = "magnitude|x|y|z|components",
                .help = "the magnitude of the gradient, one derivative, or all derivatives as channels"},
};

static const char *const axis_label[] = {"x", "y", "z"};

/* The difference along `axis` of *field. */
static enum vf_status add_difference(struct vf_expansion *e, const struct vf_context *context, int axis,
                                     int *field, struct vf_error *error)
{
    static const enum vf_stencil_id along[] = {VF_STENCIL_difference_x, VF_STENCIL_difference_y,
                                               VF_STENCIL_difference_z};
    static const char *const name[] = {"DX", "DY", "DZ"};
    struct vf_stage *stage =
        vf_add_stage(e, name[axis], along[axis], context->dim, field, field, VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    stage->param[0] = 0.5 / context->aspect[axis];
    return VF_OK;
}

/* One component from field 0's smoothed successor *field, which it replaces. */
static enum vf_status add_component(struct vf_expansion *e, const struct vf_context *context,
                                    enum method method, const double sigma[3], int axis, int *field,
                                    struct vf_error *error)
{
    static const double across[][3] = {[SOBEL] = {0.25, 0.5, 0.25}, [SCHARR] = {0.1875, 0.625, 0.1875}};
    static const char *const smooth_name[] = {"SX", "SY", "SZ"}, *const gaussian_name[] = {"GDX", "GDY",
                                                                                           "GDZ"};
    enum vf_status status = VF_OK;
    if (method == GAUSSIAN)
        return vf_add_gaussian_derivative(e, gaussian_name[axis], axis, sigma[axis], VF_TRUNCATE,
                                          1 / context->aspect[axis], field, error);
    for (int other = 0; other < context->dim && method != CENTRAL; other++)
        if (other != axis)
            VF_TRY(vf_add_linear(e, smooth_name[other], other, across[method], 1, 1, field, VF_FIELD_IMAGE,
                                 error));
    VF_TRY(add_difference(e, context, axis, field, error));
out:
    return status;
}

static bool is_along(enum output output, int axis)
{
    return output < ONLY_X || output > ONLY_Z || axis == (int)output - ONLY_X;
}

/* The widths of this call: method=gaussian takes 1 where none was given, and needs one on every axis that is
 * differentiated along. */
static enum vf_status widths(const struct vf_context *context, const struct vf_value *value, double sigma[3],
                             struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, false, sigma, error));
    for (int axis = 0; axis < context->dim && value[METHOD].choice == GAUSSIAN; axis++) {
        if (!value[SIGMA].given)
            sigma[axis] = 1;
        else if (sigma[axis] < VF_LEAST_SIGMA && is_along((enum output)value[OUTPUT].choice, axis))
            return vf_fail(error, VF_USAGE,
                           "gradient: method=gaussian needs sigma of at least %g voxels along %s: a "
                           "narrower Gaussian reaches no neighbour",
                           VF_LEAST_SIGMA, axis_label[axis]);
    }
out:
    return status;
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    const enum method method = (enum method)value[METHOD].choice;
    const enum output output = (enum output)value[OUTPUT].choice;
    double sigma[3];
    int smooth = 0, component[3];
    enum vf_status status;
    VF_TRY(widths(context, value, sigma, error));
    if (output == ONLY_Z && context->dim == 2)
        return vf_fail(error, VF_USAGE,
                       "gradient: output=z needs a stack; a 2D image has x, y and components");
    e->output_count = 1;
    e->output[0] = 0;
    if (method == CENTRAL && output == MAGNITUDE)
        return vf_add_gradient_magnitude(e, context, sigma, &e->output[0], error);
    if (method != GAUSSIAN)
        VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, &smooth, VF_FIELD_IMAGE, error));
    for (int axis = 0; axis < context->dim; axis++) {
        component[axis] = smooth;
        if (is_along(output, axis))
            VF_TRY(add_component(e, context, method, sigma, axis, &component[axis], error));
    }
    if (output == MAGNITUDE) {
        if (vf_add_stage(e, "MAG", VF_STENCIL_magnitude, context->dim, component, e->output, VF_FIELD_DERIVED,
                         error) == NULL)
            return VF_FAILED;
    } else if (output == COMPONENTS) {
        e->output_count = context->dim;
        for (int axis = 0; axis < context->dim; axis++) {
            e->output[axis] = component[axis];
            e->output_label[axis] = axis_label[axis];
        }
    } else {
        e->output[0] = component[output - ONLY_X];
    }
out:
    return status;
}

const struct vf_filter vf_filter_gradient = {
    .name = "gradient",
    .summary = "first derivatives: magnitude or components",
    .known_as = "gradientmagnitude|gaussiangradientmagnitude|edges|findedges|edge|prewitt",
    .source = "central differences (u[+1] - u[-1]) / 2h; across, Sobel smooths with [1 2 1]/4 and Scharr "
              "with [3 10 3]/16",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
