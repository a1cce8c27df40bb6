/* D = a I + b w w^T of a direction (direction.h), where a is 1 for b up to 0 and a0 + a1 b above. */
#include "filters/stencils/direction.h"
#include "filters/stencils/params.h"

VF_STENCIL(diffusion_tensor)
{
    const REAL b = AT(VF_ALONG, 0, 0, 0), x = AT(VF_X, 0, 0, 0), y = AT(VF_Y, 0, 0, 0);
    const REAL above = FMA(PARAM(VF_ABOUT_SLOPE), b, PARAM(VF_ABOUT_FIRST));
    const REAL a = b > R(0.0) ? above : R(1.0);
    const REAL bx = b * x, by = b * y;
    PUT(VF_XX, FMA(bx, x, a));
    PUT(VF_XY, bx * y);
    PUT(VF_YY, FMA(by, y, a));
#if DIM == 3
    const REAL z = AT(VF_Z, 0, 0, 0), bz = b * z;
    PUT(VF_XZ, bx * z);
    PUT(VF_YZ, by * z);
    PUT(VF_ZZ, FMA(bz, z, a));
#endif
}
