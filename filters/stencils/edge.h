/* Weickert's edge-stopping eigenvalue (1998): 1 - exp(-3.31488/(s/k)^8), s the gradient's length, 1 on flat
 * ground. The squared gradient is ordinary or 0 (kernels/stencil_quotient.h) where the way is short. */
#ifndef VF_EDGE_H
#define VF_EDGE_H

#include "filters/stencils/params.h"

/* Where 1 / s^2 may be infinite: that counts as flat. */
#define VF_IS_FLAT(squared_gradient) ((squared_gradient) < R(0.5) * VF_SMALLEST_NORMAL)

/* x of the eigenvalue's 2^-x, from (k/s)^2. */
VF_DEVICE REAL vf_edge_exponent(int is_flat, REAL squared_ratio)
{
    const REAL fourth = squared_ratio * squared_ratio;
    const REAL exponent = R(4.7823609371420070) * (fourth * fourth) /* 3.31488 log2(e) */;
    return is_flat ? R(2.0) * VF_EXP2_MOST : exponent;
}

/* 1 / s^2, 1 on flat ground. */
VF_DEVICE REAL vf_edge_inverse_square(int way, REAL squared_gradient)
{
    return ORDINARY_RECIPROCAL(way, VF_IS_FLAT(squared_gradient) ? R(1.0) : squared_gradient);
}

/* The exponent from 1 / s^2. By k twice: its square may be infinite. */
VF_DEVICE REAL vf_edge_exponent_of(REAL squared_gradient, REAL inverse_square, REAL k)
{
    return vf_edge_exponent(VF_IS_FLAT(squared_gradient), inverse_square * k * k);
}

/* 1 - the eigenvalue. */
VF_DEVICE REAL vf_edge_exponential(int way, REAL squared_gradient, REAL k)
{
    const REAL inverse_square = vf_edge_inverse_square(way, squared_gradient);
    return vf_exp2_minus(vf_edge_exponent_of(squared_gradient, inverse_square, k));
}

/* (eigenvalue - 1) / s^2. */
VF_DEVICE REAL vf_edge_share(REAL exponent, REAL inverse_square)
{
    /* 0, or from half a unit in 1's last place on. */
    const REAL less = (R(1.0) - vf_exp2_minus(exponent)) - R(1.0);
    return less * inverse_square;
}

/* Declares `share`: D is I + share * g g^T, g being the gradient. Declares what it is made of, too. */
#define EDGE_SHARE(share, squared_gradient)                                                         \
    const REAL inverse_square = IN_STEP(0, 0, vf_edge_inverse_square(SHORT_WAY, squared_gradient)); \
    const REAL exponent =                                                                           \
        IN_STEP(0, 1, vf_edge_exponent_of(squared_gradient, inverse_square, PARAM(VF_EED_K)));      \
    const REAL share = IN_STEP(1, 2, vf_edge_share(exponent, inverse_square));

#endif
