/* What the other axes add to the flux along each, at a voxel: sum D_ab g_b over b != a, g_b the central
 * difference of u along b. Inputs: the components of D off its diagonal, then u. A stage of its own, since
 * diffusion_step needs each at a voxel and at the next one along a. */
#include "filters/stencils/gradient.h"

VF_STENCIL(flux_cross)
{
#if DIM == 3
    enum { XY, XZ, YZ, U };
    const REAL gx = GRADIENT_X(U), gy = GRADIENT_Y(U), gz = GRADIENT_Z(U);
    PUT(VF_X, FMA(AT(XZ, 0, 0, 0), gz, AT(XY, 0, 0, 0) * gy));
    PUT(VF_Y, FMA(AT(YZ, 0, 0, 0), gz, AT(XY, 0, 0, 0) * gx));
    PUT(VF_Z, FMA(AT(YZ, 0, 0, 0), gy, AT(XZ, 0, 0, 0) * gx));
#else
    enum { XY, U };
    PUT(VF_X, AT(XY, 0, 0, 0) * GRADIENT_Y(U));
    PUT(VF_Y, AT(XY, 0, 0, 0) * GRADIENT_X(U));
#endif
}
