/* One explicit step of u_t = div(D grad u) in flux form (FILTERS: PDE). Inputs: the components of D, then u.
 * The flux through the face between a voxel and its next one along a is the mean of the two D_aa times the
 * difference over h_a, plus the mean over the two voxels of sum D_ab g_b, g_b the central difference of u
 * along b != a. */
#include "filters/stencils/gradient.h"
#include "filters/stencils/params.h"

#ifndef VF_DIFFUSION_STEP_H
#define VF_DIFFUSION_STEP_H

#define VF_U VF_TENSOR
/* g_b at an offset. */
#define VF_G_X(z, y, x) ((AT(VF_U, z, y, (x) + 1) - AT(VF_U, z, y, (x)-1)) * PARAM(VF_X))
#define VF_G_Y(z, y, x) ((AT(VF_U, z, (y) + 1, x) - AT(VF_U, z, (y)-1, x)) * PARAM(VF_Y))
#define VF_G_Z(z, y, x) ((AT(VF_U, (z) + 1, y, x) - AT(VF_U, (z)-1, y, x)) * PARAM(VF_Z))

/* sum D_ab g_b over b != a, at an offset. */
#if DIM == 3
#define VF_CROSS_X(z, y, x) FMA(AT(VF_XZ, z, y, x), VF_G_Z(z, y, x), AT(VF_XY, z, y, x) * VF_G_Y(z, y, x))
#define VF_CROSS_Y(z, y, x) FMA(AT(VF_YZ, z, y, x), VF_G_Z(z, y, x), AT(VF_XY, z, y, x) * VF_G_X(z, y, x))
#define VF_CROSS_Z(z, y, x) FMA(AT(VF_YZ, z, y, x), VF_G_Y(z, y, x), AT(VF_XZ, z, y, x) * VF_G_X(z, y, x))
#else
#define VF_CROSS_X(z, y, x) (AT(VF_XY, z, y, x) * VF_G_Y(z, y, x))
#define VF_CROSS_Y(z, y, x) (AT(VF_XY, z, y, x) * VF_G_X(z, y, x))
#endif

/* The flux through the face between the voxel at (z, y, x) and the next one at (z1, y1, x1) along the axis.
 */
#define VF_FACE(axis, aa, cross, z, y, x, z1, y1, x1)                                \
    FMA(R(0.5) * (AT(aa, z, y, x) + AT(aa, z1, y1, x1)),                             \
        (AT(VF_U, z1, y1, x1) - AT(VF_U, z, y, x)) * PARAM(VF_PDE_INVERSE_H + axis), \
        R(0.5) * (cross(z, y, x) + cross(z1, y1, x1)))

/* What comes in through the upper face less what leaves through the lower one, over h; (z, y, x) is the unit
 * step. Both are computed everywhere, so that every lane does the same. */
#define VF_INFLOW(inflow, axis, aa, cross, z, y, x)                                                      \
    REAL inflow;                                                                                         \
    {                                                                                                    \
        const REAL above = UPPER_FACE(axis, VF_FACE(axis, aa, cross, 0, 0, 0, z, y, x));                 \
        const REAL below = LOWER_FACE(axis, above, VF_FACE(axis, aa, cross, -(z), -(y), -(x), 0, 0, 0)); \
        const REAL entering = OPEN_HI(axis) ? above : R(0.0);                                            \
        const REAL leaving = OPEN_LO(axis) ? below : R(0.0);                                             \
        inflow = (entering - leaving) * PARAM(VF_PDE_INVERSE_H + axis);                                  \
    }
#endif

VF_STENCIL(diffusion_step)
{
    VF_INFLOW(x, VF_X, VF_XX, VF_CROSS_X, 0, 0, 1)
    VF_INFLOW(y, VF_Y, VF_YY, VF_CROSS_Y, 0, 1, 0)
#if DIM == 3
    VF_INFLOW(z, VF_Z, VF_ZZ, VF_CROSS_Z, 1, 0, 0)
    const REAL sum = z + (y + x);
#else
    const REAL sum = y + x;
#endif
    PUT(0, FMA(PARAM(VF_PDE_DT), sum, AT(VF_U, 0, 0, 0)));
}
