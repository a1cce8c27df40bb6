/* A diffusion tensor D = a I + b w w^T in fewer fields than it has components: outputs VF_X and on are w,
 * which has length 1 or 0, output VF_ALONG is b, and a follows from b. */
#include "filters/stencils/params.h"

#ifndef VF_DIRECTION_H
#define VF_DIRECTION_H
#define VF_ALONG DIM

/* a is 1 for b up to 0 and first + slope b above. */
VF_DEVICE void vf_tensor_along(const REAL *w, REAL b, REAL first, REAL slope, REAL *tensor)
{
    const REAL above = FMA(slope, b, first);
    const REAL a = b > R(0.0) ? above : R(1.0);
    const REAL bx = b * w[VF_X], by = b * w[VF_Y];
    tensor[VF_XX] = FMA(bx, w[VF_X], a);
    tensor[VF_XY] = bx * w[VF_Y];
    tensor[VF_YY] = FMA(by, w[VF_Y], a);
#if DIM == 3
    tensor[VF_XZ] = bx * w[VF_Z];
    tensor[VF_YZ] = by * w[VF_Z];
    tensor[VF_ZZ] = FMA(b * w[VF_Z], w[VF_Z], a);
#endif
}
#endif
