/* The numbers i of the bodies' parameters PARAM(i), for the bodies and for the filters that set them. h is
 * the side of a voxel along an axis, in voxels along x. */
#ifndef VF_STENCIL_PARAMS_H
#define VF_STENCIL_PARAMS_H

/* All bodies that take the gradient: 0, 1, 2 are 1/(2h) of x, y, z. difference_*: 0 is 1/(2h) of its axis. */

/* hessian, hessian_eigenvalues: VF_XX and on are 1/h^2 for one axis, 1/(4 h_a h_b) for two. */

/* perona_malik_*: 0, 1, 2 are 1/h of x, y, z. */
enum { VF_PM_DT = 3, VF_PM_INVERSE_K };

/* eed_* and *_direction, after the gradient's. The contrast is sqrt(C log2(e)) S^2, S the range of the input
 * over 255. */
enum { VF_EED_K = 3, VF_CED_ALPHA, VF_CED_CONTRAST, VF_AND_THRESHOLD };

/* diffusion_tensor is a I + b w w^T, a being FIRST + SLOPE * b where b > 0. direction_flux has these after
 * the gradient's. */
enum { VF_ABOUT_FIRST, VF_ABOUT_SLOPE };
enum { VF_FLUX_FIRST = 3, VF_FLUX_SLOPE };

/* exponential: exp((u - from) / range). speckle_coefficient: q0^2. speckle_step: lambda / 4, and the same
 * range. */
enum { VF_EXP_FROM, VF_EXP_RANGE };
enum { VF_SPECKLE_SQUARED_VARIATION };
enum { VF_SPECKLE_QUARTER_LAMBDA, VF_SPECKLE_RANGE };

/* diffusion_step: 0, 1, 2 are 1/h of x, y, z; the step size. */
enum { VF_PDE_INVERSE_H = 0, VF_PDE_DT = 3 };

#endif
