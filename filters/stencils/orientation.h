/* 3D: the unit eigenvector of the smallest eigenvalue, its first non-zero component positive; 2D: its angle
 * from +x towards +y, in (-pi/2, pi/2]. */
#include "filters/stencils/tensor.h"

VF_STENCIL(orientation)
{
    const REAL tensor[] = TENSOR_INPUT;
#if DIM == 3
    struct vf_eigenvector e;
    EIGENVECTOR(tensor, 2, &e);
    const REAL *v = e.vector;
    const REAL first = v[VF_X] != R(0.0) ? v[VF_X] : (v[VF_Y] != R(0.0) ? v[VF_Y] : v[VF_Z]);
    const REAL sign = first < R(0.0) ? R(-1.0) : R(1.0);
    VF_UNROLL for (int axis = 0; axis < 3; axis++) PUT(axis, v[axis] * sign);
#else
    /* 0 - b is never -0, which would turn pi into -pi. */
    const REAL b = tensor[VF_XY] + tensor[VF_XY];
    const REAL angle = R(0.5) * vf_atan2(R(0.0) - b, tensor[VF_YY] - tensor[VF_XX]);
    /* Just above -pi/2 rounds to it: the same direction, pi/2, is inside the range. */
    PUT(0, angle > R(-0x1.921fb54442d18p0) ? angle : -angle);
#endif
}
