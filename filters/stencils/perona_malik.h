/* One explicit step of Perona & Malik (1990): what the two conductances share. */
#ifndef VF_PERONA_MALIK_H
#define VF_PERONA_MALIK_H

#include "filters/stencils/params.h"

/* The flux g(|d|/k) d from the neighbour at an offset along `axis`. */
#define VF_PM_FLUX(flux, axis, dz, dy, dx) \
    flux((AT(0, dz, dy, dx) - AT(0, 0, 0, 0)) * PARAM(axis), PARAM(VF_PM_INVERSE_K))

/* u + dt * sum of flux / h, in increasing (dz, dy, dx). */
#if DIM == 3
#define VF_PM_STEP(flux)                                           \
    REAL sum = VF_PM_FLUX(flux, VF_Z, -1, 0, 0) * PARAM(VF_Z);     \
    sum = FMA(VF_PM_FLUX(flux, VF_Y, 0, -1, 0), PARAM(VF_Y), sum); \
    sum = FMA(VF_PM_FLUX(flux, VF_X, 0, 0, -1), PARAM(VF_X), sum); \
    sum = FMA(VF_PM_FLUX(flux, VF_X, 0, 0, 1), PARAM(VF_X), sum);  \
    sum = FMA(VF_PM_FLUX(flux, VF_Y, 0, 1, 0), PARAM(VF_Y), sum);  \
    sum = FMA(VF_PM_FLUX(flux, VF_Z, 1, 0, 0), PARAM(VF_Z), sum);  \
    PUT(0, FMA(PARAM(VF_PM_DT), sum, AT(0, 0, 0, 0)))
#else
#define VF_PM_STEP(flux)                                           \
    REAL sum = VF_PM_FLUX(flux, VF_Y, 0, -1, 0) * PARAM(VF_Y);     \
    sum = FMA(VF_PM_FLUX(flux, VF_X, 0, 0, -1), PARAM(VF_X), sum); \
    sum = FMA(VF_PM_FLUX(flux, VF_X, 0, 0, 1), PARAM(VF_X), sum);  \
    sum = FMA(VF_PM_FLUX(flux, VF_Y, 0, 1, 0), PARAM(VF_Y), sum);  \
    PUT(0, FMA(PARAM(VF_PM_DT), sum, AT(0, 0, 0, 0)))
#endif

#endif
