/* One explicit step of u_t = div(D grad u) in flux form. Inputs: D_aa of each axis a, what the other axes add
 * to the flux along a (flux_cross), of each axis, then u. The flux through the face between a voxel and its
 * next one along a is the mean of the two D_aa times the difference over h_a, plus the mean of what the other
 * axes add at the two.
 *
 * Beyond the grid that is 0 under `constant`, as D is, of which it is a multiple; where the boundary names a
 * voxel of the grid no flux crosses the outer face, except under `wrap`, which repeats all of it. */
#include "filters/stencils/params.h"

#ifndef VF_DIFFUSION_STEP_H
#define VF_DIFFUSION_STEP_H

#define VF_U (2 * DIM)

/* Twice the flux through the face between the voxel at (z, y, x) and the next one at (z1, y1, x1) along the
 * axis: sums in place of the means, which are halved with the time step. */
#define VF_FACE(axis, z, y, x, z1, y1, x1)                                           \
    FMA(AT(axis, z, y, x) + AT(axis, z1, y1, x1),                                    \
        (AT(VF_U, z1, y1, x1) - AT(VF_U, z, y, x)) * PARAM(VF_PDE_INVERSE_H + axis), \
        AT(DIM + axis, z, y, x) + AT(DIM + axis, z1, y1, x1))

/* Twice what comes in through the upper face less what leaves through the lower one, over h; (z, y, x) is the
 * unit step. Both are computed everywhere, so that every lane does the same. */
#define VF_INFLOW(inflow, axis, z, y, x)                                                      \
    REAL inflow;                                                                              \
    {                                                                                         \
        const REAL above = UPPER_FACE(axis, VF_FACE(axis, 0, 0, 0, z, y, x));                 \
        const REAL below = LOWER_FACE(axis, above, VF_FACE(axis, -(z), -(y), -(x), 0, 0, 0)); \
        const REAL entering = OPEN_HI(axis) ? above : R(0.0);                                 \
        const REAL leaving = OPEN_LO(axis) ? below : R(0.0);                                  \
        inflow = (entering - leaving) * PARAM(VF_PDE_INVERSE_H + axis);                       \
    }
#endif

VF_STENCIL(diffusion_step)
{
    VF_INFLOW(x, VF_X, 0, 0, 1)
    VF_INFLOW(y, VF_Y, 0, 1, 0)
#if DIM == 3
    VF_INFLOW(z, VF_Z, 1, 0, 0)
    const REAL sum = z + (y + x);
#else
    const REAL sum = y + x;
#endif
    PUT(0, FMA(R(0.5) * PARAM(VF_PDE_DT), sum, AT(VF_U, 0, 0, 0)));
}
