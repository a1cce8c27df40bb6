/* The Laplacian by second differences; PARAM(0..2) are 1/h^2 along x, y, z, axes in the order z, y, x. */
#include "filters/stencils/second_differences.h"

VF_STENCIL(laplacian)
{
#if DIM == 3
    const REAL z = VF_SECOND_DIFFERENCE(1, 0, 0) * PARAM(VF_Z);
    const REAL zy = FMA(VF_SECOND_DIFFERENCE(0, 1, 0), PARAM(VF_Y), z);
#else
    const REAL zy = VF_SECOND_DIFFERENCE(0, 1, 0) * PARAM(VF_Y);
#endif
    PUT(0, FMA(VF_SECOND_DIFFERENCE(0, 0, 1), PARAM(VF_X), zy));
}
