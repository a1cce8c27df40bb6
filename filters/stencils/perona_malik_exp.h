/* Conductance g(s) = exp(-s^2). Without a difference there is no flux, even for k = 0, where s is NaN. */
#include "filters/stencils/perona_malik.h"

VF_DEVICE REAL vf_flux_exp(int short_way, REAL difference, REAL inverse_hk)
{
    (void)short_way;
    const REAL s = difference * (inverse_hk * R(1.2011224087864498)); /* sqrt(log2(e)), for powers of 2 */
    return difference * vf_exp2_minus(s * s);
}

VF_STENCIL(perona_malik_exp)
{
    VF_PM_STEP(vf_flux_exp)
    PUT(0, next);
}
