/* Conductance g(s) = 1/(1 + s^2). Without a difference there is no flux, even for k = 0. */
#include "filters/stencils/perona_malik.h"

VF_DEVICE REAL vf_flux_quadratic(int short_way, REAL difference, REAL inverse_hk)
{
    const REAL s = difference * inverse_hk;
    return QUOTIENT_OR_0(short_way, difference, FMA(s, s, R(1.0)));
}

VF_STENCIL(perona_malik_quadratic)
{
    VF_PM_STEP(vf_flux_quadratic)
    DOUBT(next);
    PUT(0, next);
}
