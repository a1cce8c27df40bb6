/* Conductance g(s) = exp(-s^2). Without a difference there is no flux, even for k = 0, where s is NaN. */
#include "filters/stencils/perona_malik.h"

VF_DEVICE REAL vf_flux_exp(int short_way, REAL d, REAL inverse_k)
{
    (void)short_way;
    const REAL s = d * inverse_k;
    return d * vf_exp_minus(s * s);
}

VF_STENCIL(perona_malik_exp)
{
    VF_PM_STEP(vf_flux_exp)
    PUT(0, next);
}
