/* One explicit step of Perona & Malik (1990): what the two conductances share. */
#ifndef VF_PERONA_MALIK_H
#define VF_PERONA_MALIK_H

#include "filters/stencils/params.h"

/* The flux h g(|d|/k) d against `axis`, d = difference / h, through the face between the voxel at an offset
 * and the next one. */
#define VF_PM_FACE(flux, axis, z, y, x, z1, y1, x1) \
    flux(SHORT_WAY, AT(0, z1, y1, x1) - AT(0, z, y, x), PARAM(axis) * PARAM(VF_PM_INVERSE_K))

/* What comes in through the voxel's two faces along `axis`, times h; (z, y, x) is the unit step. */
#define VF_PM_NET(net, flux, axis, z, y, x)                                              \
    const REAL net##_upper = UPPER_FACE(axis, VF_PM_FACE(flux, axis, 0, 0, 0, z, y, x)); \
    const REAL net =                                                                     \
        net##_upper - LOWER_FACE(axis, net##_upper, VF_PM_FACE(flux, axis, -(z), -(y), -(x), 0, 0, 0));

#define VF_PM_INVERSE_SQUARE(axis) (PARAM(axis) * PARAM(axis))

/* next = u + dt * sum of what comes in over h^2, along z, y, x. */
#if DIM == 3
#define VF_PM_STEP(flux)                               \
    VF_PM_NET(net_x, flux, VF_X, 0, 0, 1)              \
    VF_PM_NET(net_y, flux, VF_Y, 0, 1, 0)              \
    VF_PM_NET(net_z, flux, VF_Z, 1, 0, 0)              \
    REAL sum = net_z * VF_PM_INVERSE_SQUARE(VF_Z);     \
    sum = FMA(net_y, VF_PM_INVERSE_SQUARE(VF_Y), sum); \
    sum = FMA(net_x, VF_PM_INVERSE_SQUARE(VF_X), sum); \
    const REAL next = FMA(PARAM(VF_PM_DT), sum, AT(0, 0, 0, 0));
#else
#define VF_PM_STEP(flux)                               \
    VF_PM_NET(net_x, flux, VF_X, 0, 0, 1)              \
    VF_PM_NET(net_y, flux, VF_Y, 0, 1, 0)              \
    REAL sum = net_y * VF_PM_INVERSE_SQUARE(VF_Y);     \
    sum = FMA(net_x, VF_PM_INVERSE_SQUARE(VF_X), sum); \
    const REAL next = FMA(PARAM(VF_PM_DT), sum, AT(0, 0, 0, 0));
#endif

#endif
