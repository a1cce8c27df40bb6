/* Weickert's edge-stopping eigenvalue (1998): 1 - exp(-3.31488/(s/k)^8), 1 on flat ground. */
#ifndef VF_EDGE_H
#define VF_EDGE_H

#include "filters/stencils/params.h"

VF_DEVICE REAL vf_edge_stop(REAL squared_gradient, REAL inverse_k)
{
    const REAL s = SQRT(squared_gradient) * inverse_k;
    const REAL s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
    const REAL stop = R(1.0) - vf_exp_minus(R(3.31488) / s8);
    return squared_gradient == R(0.0) ? R(1.0) : stop;
}

#endif
