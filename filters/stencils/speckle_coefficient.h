/* c = 1 / (1 + (q^2 - q0^2) / (q0^2 (1 + q0^2))), at most 1, q0 being the variation of the image. With l and
 * g, the sums of the differences to the four neighbours and of their squares, q^2 is (8 g - l^2) / (4 J +
 * l)^2, so that c is one quotient. As l^2 <= 4 g, nothing cancels in it. */
#include "filters/stencils/speckle.h"

VF_STENCIL(speckle_coefficient)
{
    const REAL n = SPECKLE_STEP(0, -1, 0), w = SPECKLE_STEP(0, 0, -1), e = SPECKLE_STEP(0, 0, 1),
               s = SPECKLE_STEP(0, 1, 0);
    const REAL g = FMA(s, s, FMA(e, e, FMA(w, w, n * n))), l = ((n + w) + e) + s;
    const REAL around = FMA(R(4.0), AT(0, 0, 0, 0), l), squared = around * around;
    const REAL unlike = FMA(R(8.0), g, -(l * l)), alike = PARAM(VF_SPECKLE_SQUARED_VARIATION);
    const REAL c = (FMA(alike, alike, alike) * squared) / FMA(alike * alike, squared, unlike);
    /* In a flat image all of these are 0. */
    PUT(0, unlike <= alike * squared ? R(1.0) : c);
}
