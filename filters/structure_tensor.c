/* Structure tensor and what its eigenvalues tell. */
#include "filters/shared_params.h"
#include "filters/tensor_stages.h"

enum { SIGMA, RHO, OUTPUT };
enum output { TENSOR, EIGENVALUES, COHERENCE, PLANAR, LINEAR, ISOTROPIC, ORIENTATION };

static const struct vf_param params[] = {
    [SIGMA] = VF_PARAM_SIGMA("1"),
    [RHO] = VF_PARAM_RHO("2", ""),
    [OUTPUT] = {.name = "output",
                .kind = VF_PARAM_CHOICE,
                .initial = "tensor",
                .choices = "tensor|eigenvalues|coherence|planar|linear|isotropic|orientation",
                .help =
                    "tensor: its elements xx, xy, xz, yy, yz, zz (2D: xx, xy, yy); eigenvalues: the largest "
                    "first; coherence: shares that are planar (mu1 - mu2)/mu1, linear (mu2 - mu3)/mu1 and "
                    "isotropic mu3/mu1, in 2D (mu1 - mu2)/(mu1 + mu2) alone; planar, linear, isotropic: one "
                    "of these shares, as for an MRC, which holds one channel; orientation: the direction of "
                    "least change, x, y, z of a unit vector whose first number that is not 0 is positive, "
                    "in 2D its angle in radians from +x towards +y, above -pi/2 and up to pi/2; in a flat "
                    "background, where the tensor is 0, coherence is 0 and the direction z (2D: 0)"},
};

static const char *const value_label[] = {"mu1", "mu2", "mu3"};
static const char *const coherence_label[] = {"planar", "linear", "isotropic"};
static const char *const axis_label[] = {"x", "y", "z"};

static const struct {
    const char *stage;
    enum vf_stencil_id stencil;
    const char *const *label;
    int only; /* number of the stage's only output that is wanted, from 1; 0: all are */
} outputs[] = {
    [EIGENVALUES] = {"EIG", VF_STENCIL_eigenvalues, value_label, 0},
    [COHERENCE] = {"COH", VF_STENCIL_coherence, coherence_label, 0},
    [PLANAR] = {"COH", VF_STENCIL_coherence, coherence_label, 1},
    [LINEAR] = {"COH", VF_STENCIL_coherence, coherence_label, 2},
    [ISOTROPIC] = {"COH", VF_STENCIL_coherence, coherence_label, 3},
    [ORIENTATION] = {"ORI", VF_STENCIL_orientation, axis_label, 0},
};

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    const int output = value[OUTPUT].choice;
    double sigma[3], rho[3];
    int smooth = 0, tensor[6];
    enum vf_status status;
    if (outputs[output].only > 0 && context->dim == 2)
        return vf_fail(error, VF_USAGE,
                       "structure-tensor: output=%s needs a stack; in a 2D image coherence is one number",
                       coherence_label[outputs[output].only - 1]);
    VF_TRY(vf_lengths_in_voxels(&params[SIGMA], &value[SIGMA], context, true, sigma, error));
    VF_TRY(vf_lengths_in_voxels(&params[RHO], &value[RHO], context, true, rho, error));
    VF_TRY(vf_add_structure_tensor(e, context, sigma, rho, &smooth, tensor, error));
    if (output == TENSOR) {
        e->output_count = context->dim * (context->dim + 1) / 2;
        for (int c = 0; c < e->output_count; c++) {
            e->output[c] = tensor[c];
            e->output_label[c] = vf_tensor_label[context->dim - 2][c];
        }
    } else {
        struct vf_stage *stage = vf_add_stage(e, outputs[output].stage, outputs[output].stencil, context->dim,
                                              tensor, e->output, VF_FIELD_DERIVED, error);
        if (stage == NULL)
            return VF_FAILED;
        vf_set_outputs(e, stage, outputs[output].only, outputs[output].label);
        e->fractional = output != EIGENVALUES;
    }
out:
    return status;
}

const struct vf_filter vf_filter_structure_tensor = {
    .name = "structure-tensor",
    .summary = "local orientation and its strength",
    .known_as = "structuretensoreigenvalues",
    .source = "J = K_rho * (grad u_sigma grad u_sigma^T) (Weickert 1998); eigenvectors after Eberly (2014), "
              "eigenvalues by Kummer's sum of squares (1843), without iteration",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .expand = expand,
};
