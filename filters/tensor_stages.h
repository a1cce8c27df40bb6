/* Stages that filters share: those of gradients, tensors, and diffusion. */
#ifndef VF_TENSOR_STAGES_H
#define VF_TENSOR_STAGES_H

#include "filters/filter.h"

/* From *smooth (field 0 at first, replaced by u_sigma) to the tensor K_rho * (grad u_sigma grad u_sigma^T):
 * stages GX GY GZ ST [RX RY RZ]. tensor[] gets 3 or 6 fields. */
enum vf_status vf_add_structure_tensor(struct vf_expansion *e, const struct vf_context *context,
                                       const double sigma[3], const double rho[3], int *smooth, int *tensor,
                                       struct vf_error *error);

/* Whether rho (voxels) smooths along some axis. Where it does not, the tensor is of rank one: the gradient is
 * the only direction that it has. */
bool vf_smooths_tensor(const double rho[3]);

/* A usage error if rho does not smooth, for filters that need another direction. */
enum vf_status vf_must_smooth_tensor(const struct vf_context *context, const double rho[3],
                                     struct vf_error *error);

/* From *field to |grad u_sigma| by central differences (stages GX GY GZ GM), whose number *field becomes. */
enum vf_status vf_add_gradient_magnitude(struct vf_expansion *e, const struct vf_context *context,
                                         const double sigma[3], int *field, struct vf_error *error);

/* The stage DT: the diffusion tensor a I + b w w^T of the 3 or 4 fields in `direction`
 * (stencils/direction.h), a being first + slope * b where b > 0. tensor[] gets 3 or 6 fields. */
enum vf_status vf_add_diffusion_tensor(struct vf_expansion *e, const struct vf_context *context,
                                       const int *direction, double first, double slope, int *tensor,
                                       struct vf_error *error);

/* The stages CROSS and PDE: one step of size dt on field 0 with the diffusion tensor in `tensor`; makes it
 * the output. */
enum vf_status vf_add_diffusion_step(struct vf_expansion *e, const struct vf_context *context,
                                     const int *tensor, double dt, struct vf_error *error);

/* Sets param[slot] of the stage that was added last to k, or 1/k: now if the user gave it, else by a global
 * value, a percentile of |grad u_sigma| or the standard deviation of the filter's input. */
enum vf_status vf_set_k(struct vf_expansion *e, const struct vf_context *context,
                        const struct vf_value *value, const double sigma[3], int slot, bool inverted,
                        struct vf_error *error);

/* Sets, of the stage that was added last, VF_CED_ALPHA, and by a global value VF_CED_CONTRAST: sqrt(C
 * log2(e)) S^2, S being the range of the filter's input over 255. */
enum vf_status vf_set_coherence(struct vf_expansion *e, double alpha, double c, struct vf_error *error);

/* The stage that was added last has put its fields into e->output: makes all of them the outputs, with their
 * labels where there are several; or only number `only`, counted from 1, if that is not 0. */
void vf_set_outputs(struct vf_expansion *e, const struct vf_stage *last, int only, const char *const *label);

/* [dim - 2]: labels of a tensor's components, in the order of kernels/stencil.h; the numbers of those on the
 * diagonal, x, y, z; and of the others, xy, xz, yz. */
extern const char *const vf_tensor_label[2][6];
extern const int vf_tensor_diagonal[2][3], vf_tensor_mixed[2][3];

/* Sets a stage's first three parameters to 1/(2h) of x, y, z. */
void vf_set_half_inverse_h(struct vf_stage *stage, const struct vf_context *context);

#endif
