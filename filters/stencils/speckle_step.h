/* J' = J + lambda/4 * the divergence of c grad J, a face having the c of the later of its two voxels, and of
 * the image u, whose exponential J is, u' = u + range * log(J' / J). Inputs: u, J, c. */
#include "filters/stencils/speckle.h"

VF_STENCIL(speckle_step)
{
    enum { U, J, COEFFICIENT };
    REAL flow = AT(COEFFICIENT, 0, 0, 0) * SPECKLE_STEP(J, -1, 0);
    flow = FMA(AT(COEFFICIENT, 0, 0, 0), SPECKLE_STEP(J, 0, -1), flow);
    flow = FMA(AT(COEFFICIENT, 0, 0, 1), SPECKLE_STEP(J, 0, 1), flow);
    flow = FMA(AT(COEFFICIENT, 0, 1, 0), SPECKLE_STEP(J, 1, 0), flow);
    const REAL growth = (PARAM(VF_SPECKLE_QUARTER_LAMBDA) * flow) / AT(J, 0, 0, 0);
    PUT(0, FMA(PARAM(VF_SPECKLE_RANGE), vf_log(R(1.0) + growth), AT(U, 0, 0, 0)));
}
