/* Second derivatives, and the eigenvalues of their matrix. */
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

enum { SIGMA, OUTPUT };
enum output { EIGENVALUES, LAMBDA1, LAMBDA2, LAMBDA3, COMPONENTS };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_SIGMA("1"),
    [OUTPUT] = {.name = "output",
                .kind = VF_PARAM_CHOICE,
                .initial = "eigenvalues",
                .choices = "eigenvalues|lambda1|lambda2|lambda3|components",
                .help = "eigenvalues: signed, the largest first; bright lines and spots have negative ones; "
                        "lambda1, lambda2, lambda3: one of them, as for an MRC, which holds one channel; "
                        "components: the second derivatives xx, xy, xz, yy, yz, zz (2D: xx, xy, yy)"},
};

static const char *const value_label[] = {"lambda1", "lambda2", "lambda3"};

/* 1/h^2 of the diagonal, 1/(4 h_a h_b) of the others. */
static void set_scales(struct vf_stage *stage, const struct vf_context *context)
{
    int component = 0;
    for (int a = 0; a < context->dim; a++)
        for (int b = a; b < context->dim; b++)
            stage->param[component++] = (a == b ? 1 : 0.25) / (context->aspect[a] * context->aspect[b]);
}

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    const enum output output = (enum output)value[OUTPUT].choice;
    const bool components = output == COMPONENTS;
    const char *const *label = components ? vf_tensor_label[context->dim - 2] : value_label;
    double sigma[3];
    int smooth = 0;
    enum vf_status status;
    if (output == LAMBDA3 && context->dim == 2)
        return vf_fail(error, VF_USAGE,
                       "hessian: output=lambda3 needs a stack; a 2D image has two eigenvalues");
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, true, sigma, error));
    VF_TRY(vf_add_gaussian(e, context, 'G', sigma, VF_TRUNCATE, 1, &smooth, VF_FIELD_IMAGE, error));
    struct vf_stage *stage =
        vf_add_stage(e, "HESS", components ? VF_STENCIL_hessian : VF_STENCIL_hessian_eigenvalues,
                     context->dim, &smooth, e->output, VF_FIELD_DERIVED, error);
    if (stage == NULL)
        return VF_FAILED;
    set_scales(stage, context);
    vf_set_outputs(e, stage, components ? 0 : output - EIGENVALUES, label);
out:
    return status;
}

const struct vf_filter vf_filter_hessian = {
    .name = "hessian",
    .summary = "second derivatives: eigenvalues of the Hessian matrix, or components",
    .known_as = "hessianmatrix|hessianmatrixeigvals|frangi|vesselness|sato",
    .source = "second central differences of u_sigma: (u[+1] - 2 u + u[-1]) / h^2, mixed derivatives divided "
              "by 4 h_a h_b, where h are the sides of a voxel in x-voxels (Frangi et al. 1998 find vessels "
              "from the eigenvalues); skimage.feature.hessian_matrix applies first differences twice",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
