/* The products of the central gradient, not yet smoothed. */
#include "filters/stencils/gradient.h"

VF_STENCIL(structure_tensor)
{
    const REAL gx = GRADIENT_X(0), gy = GRADIENT_Y(0);
    PUT(VF_XX, gx * gx);
    PUT(VF_XY, gx * gy);
    PUT(VF_YY, gy * gy);
#if DIM == 3
    const REAL gz = GRADIENT_Z(0);
    PUT(VF_XZ, gx * gz);
    PUT(VF_YZ, gy * gz);
    PUT(VF_ZZ, gz * gz);
#endif
}
