/* 3D: planar, linear, isotropic shares, which add up to 1; 2D: (mu1 - mu2)/(mu1 + mu2). 0 where mu1 = 0. */
#include "filters/stencils/tensor_input.h"

VF_STENCIL(coherence)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigen e = EIGEN(tensor);
    const int flat = e.value[0] == R(0.0);
#if DIM == 3
    PUT(0, flat ? R(0.0) : (e.value[0] - e.value[1]) / e.value[0]);
    PUT(1, flat ? R(0.0) : (e.value[1] - e.value[2]) / e.value[0]);
    PUT(2, flat ? R(0.0) : e.value[2] / e.value[0]);
#else
    PUT(0, flat ? R(0.0) : (e.value[0] - e.value[1]) / (e.value[0] + e.value[1]));
#endif
}
