/* Weickert's coherence-enhancing eigenvalue (1999): alpha + (1 - alpha) exp(-C S^4 / (mu1 - mu3)^2), alpha
 * where they are equal. The contrast is ordinary and above 0 (kernels/stencil_quotient.h) where the way is
 * short. */
#ifndef VF_COHERENCE_ENHANCING_H
#define VF_COHERENCE_ENHANCING_H

#include "filters/stencils/params.h"

/* The contrast, or what is not ordinary where it is 0. */
#define VF_POSITIVE_CONTRAST MAX(PARAM(VF_CED_CONTRAST), R(0x1p-101))

/* What the contrast is divided by. Beyond these bounds the exponential is 0 or 1, as at them. */
VF_DEVICE REAL vf_coherence_divisor(int way, REAL spread, REAL contrast)
{
    return way ? MIN(MAX(spread, contrast * R(0x1p-10)), contrast * R(0x1p40)) : spread;
}

/* The eigenvalue - alpha; never 0, by which vf_tensor_along (direction.h) tells it from an edge.
 * `exponential` is 2^-quotient^2, 0 where that is 0 / 0. */
VF_DEVICE REAL vf_coherence_along(REAL alpha, REAL exponential)
{
    return FMA(R(1.0) - alpha, exponential, R(0x1p-100));
}

#endif
