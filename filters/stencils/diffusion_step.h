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

/* Twice the flux through a face, of D_aa, what the other axes add and u at the voxels on either side of it:
 * sums in place of the means, which are halved with the time step. */
#define VF_FLUX_BETWEEN(axis, d0, d1, cross0, cross1, u0, u1) \
    FMA((d0) + (d1), ((u1) - (u0)) * PARAM(VF_PDE_INVERSE_H + (axis)), (cross0) + (cross1))

/* Through the face between the voxel at (z, y, x) and the next one at (z1, y1, x1) along the axis. */
#define VF_FACE(axis, z, y, x, z1, y1, x1)                                                    \
    VF_FLUX_BETWEEN(axis, AT(axis, z, y, x), AT(axis, z1, y1, x1), AT(DIM + (axis), z, y, x), \
                    AT(DIM + (axis), z1, y1, x1), AT(VF_U, z, y, x), AT(VF_U, z1, y1, x1))

/* Twice what comes in through the upper face less what leaves through the lower one, over h. Both are
 * computed everywhere, so that every lane does the same. */
#define VF_INFLOW_BETWEEN(axis, below, above)                                    \
    (((OPEN_HI(axis) ? (above) : R(0.0)) - (OPEN_LO(axis) ? (below) : R(0.0))) * \
     PARAM(VF_PDE_INVERSE_H + (axis)))

/* (z, y, x) is the unit step. */
#define VF_INFLOW(inflow, axis, z, y, x)                                                                    \
    const REAL inflow##_above = UPPER_FACE(axis, VF_FACE(axis, 0, 0, 0, z, y, x));                          \
    const REAL inflow##_below = LOWER_FACE(axis, inflow##_above, VF_FACE(axis, -(z), -(y), -(x), 0, 0, 0)); \
    const REAL inflow = VF_INFLOW_BETWEEN(axis, inflow##_below, inflow##_above);

/* u after the step. */
#define VF_DIFFUSED(u, inflow) FMA(R(0.5) * PARAM(VF_PDE_DT), inflow, u)
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
    PUT(0, VF_DIFFUSED(AT(VF_U, 0, 0, 0), sum));
}
