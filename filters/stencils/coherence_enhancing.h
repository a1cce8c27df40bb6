/* Weickert's coherence-enhancing eigenvalue (1999): alpha + (1 - alpha) exp(-C S^4 / (mu1 - mu3)^2). */
#ifndef VF_COHERENCE_ENHANCING_H
#define VF_COHERENCE_ENHANCING_H

#include "filters/stencils/params.h"

VF_DEVICE REAL vf_coherence_gain(REAL spread, REAL alpha, REAL contrast)
{
    const REAL ratio = contrast / spread;
    const REAL gain = FMA(R(1.0) - alpha, vf_exp_minus(ratio * ratio), alpha);
    return spread == R(0.0) ? alpha : gain;
}

#endif
