/* One explicit step of Perona & Malik (1990): what the two conductances share. */
#ifndef VF_PERONA_MALIK_H
#define VF_PERONA_MALIK_H

#include "filters/stencils/params.h"

/* The flux g(|d|/k) d against `axis`, through the face between the voxel at an offset and the next one. */
#define VF_PM_FACE(flux, axis, z, y, x, z1, y1, x1) \
    flux(SHORT_WAY, (AT(0, z1, y1, x1) - AT(0, z, y, x)) * PARAM(axis), PARAM(VF_PM_INVERSE_K))

/* Through the voxel's two faces along `axis`; (z, y, x) is the unit step. */
#define VF_PM_FACES(upper, lower, flux, axis, z, y, x)                             \
    const REAL upper = UPPER_FACE(axis, VF_PM_FACE(flux, axis, 0, 0, 0, z, y, x)); \
    const REAL lower = LOWER_FACE(axis, upper, VF_PM_FACE(flux, axis, -(z), -(y), -(x), 0, 0, 0));

/* next = u + dt * sum of flux / h, in increasing (dz, dy, dx); what comes in above goes out below. */
#if DIM == 3
#define VF_PM_STEP(flux)                     \
    VF_PM_FACES(x1, x0, flux, VF_X, 0, 0, 1) \
    VF_PM_FACES(y1, y0, flux, VF_Y, 0, 1, 0) \
    VF_PM_FACES(z1, z0, flux, VF_Z, 1, 0, 0) \
    REAL sum = z0 * -PARAM(VF_Z);            \
    sum = FMA(y0, -PARAM(VF_Y), sum);        \
    sum = FMA(x0, -PARAM(VF_X), sum);        \
    sum = FMA(x1, PARAM(VF_X), sum);         \
    sum = FMA(y1, PARAM(VF_Y), sum);         \
    sum = FMA(z1, PARAM(VF_Z), sum);         \
    const REAL next = FMA(PARAM(VF_PM_DT), sum, AT(0, 0, 0, 0));
#else
#define VF_PM_STEP(flux)                     \
    VF_PM_FACES(x1, x0, flux, VF_X, 0, 0, 1) \
    VF_PM_FACES(y1, y0, flux, VF_Y, 0, 1, 0) \
    REAL sum = y0 * -PARAM(VF_Y);            \
    sum = FMA(x0, -PARAM(VF_X), sum);        \
    sum = FMA(x1, PARAM(VF_X), sum);         \
    sum = FMA(y1, PARAM(VF_Y), sum);         \
    const REAL next = FMA(PARAM(VF_PM_DT), sum, AT(0, 0, 0, 0));
#endif

#endif
