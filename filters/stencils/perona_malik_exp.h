/* Conductance g(s) = exp(-s^2). Without a difference there is no flux, even for k = 0. */
#include "filters/stencils/perona_malik.h"

VF_DEVICE REAL vf_flux_exp(REAL d, REAL inverse_k)
{
    const REAL s = ABS(d) * inverse_k;
    return d == R(0.0) ? R(0.0) : d * vf_exp(-(s * s));
}

VF_STENCIL(perona_malik_exp)
{
    VF_PM_STEP(vf_flux_exp);
}
