/* 3D: planar, linear, isotropic shares, which add up to 1; 2D: (mu1 - mu2)/(mu1 + mu2). 0 where mu1 = 0. */
#include "filters/stencils/tensor.h"

VF_STENCIL(coherence)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvalues e = EIGENVALUES(VF_SEMIDEFINITE, tensor);
#if DIM == 3
    const REAL most = e.value[0];
#else
    const REAL most = e.value[0] + e.value[1];
#endif
    /* In their unit the eigenvalues are ordinary: no doubt about the quotient. */
    const REAL inverse = vf_ordinary_quotient(R(1.0), most), of_most = most == R(0.0) ? R(0.0) : inverse;
    PUT(0, (e.value[0] - e.value[1]) * of_most);
#if DIM == 3
    PUT(1, (e.value[1] - e.value[2]) * of_most);
    PUT(2, e.value[2] * of_most);
#endif
}
