/* The largest eigenvalue minus the smallest: how far from isotropic, in squared gradient. */
#include "filters/stencils/tensor.h"

VF_STENCIL(eigenvalue_spread)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvalues e = EIGENVALUES(VF_SEMIDEFINITE, tensor);
    PUT(0, (e.value[0] - e.value[DIM - 1]) * e.unit);
}
