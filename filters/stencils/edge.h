/* Weickert's edge-stopping eigenvalue (1998): 1 - exp(-3.31488/(s/k)^8), 1 on flat ground. The squared
 * gradient is ordinary or 0 (kernels/stencil_quotient.h) where the way is short. */
#ifndef VF_EDGE_H
#define VF_EDGE_H

#include "filters/stencils/params.h"

#define VF_EDGE_DIVIDEND R(3.31488)

/* (s/k)^8, by which that is divided, from the gradient's length s. The short way needs bounds; beyond them
 * the exponential is 0 or 1, as it is at them. NaN, which the short way's root of 0 is, becomes the lower
 * one. */
VF_DEVICE REAL vf_edge_divisor(int way, REAL gradient, REAL inverse_k)
{
    const REAL s = gradient * inverse_k;
    const REAL s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
    return way ? MIN(MAX(s8, R(0x1p-20)), R(0x1p60)) : s8;
}

/* 1 - the eigenvalue. */
VF_DEVICE REAL vf_edge_exponential(int way, REAL squared_gradient, REAL inverse_k)
{
    const REAL divisor = vf_edge_divisor(way, ORDINARY_ROOT(way, squared_gradient), inverse_k);
    return vf_exp_minus(ORDINARY_QUOTIENT(way, VF_EDGE_DIVIDEND, divisor));
}

/* D is I + share * g g^T, g being the gradient: the share is (eigenvalue - 1) / |g|^2. A |g|^2 so small that
 * the share may be infinite counts as 0. */
VF_DEVICE REAL vf_edge_share(int way, REAL squared_gradient, REAL inverse_k)
{
    /* 0, or from half a unit in 1's last place on. */
    const REAL less = (R(1.0) - vf_edge_exponential(way, squared_gradient, inverse_k)) - R(1.0);
    const int is_flat = squared_gradient < R(0.5) * VF_SMALLEST_NORMAL;
    return ORDINARY_QUOTIENT(way, less, is_flat ? R(1.0) : squared_gradient);
}

#endif
