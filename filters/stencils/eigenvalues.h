#include "filters/stencils/tensor.h"

VF_STENCIL(eigenvalues)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvalues e = EIGENVALUES(VF_SEMIDEFINITE, tensor);
    VF_UNROLL for (int rank = 0; rank < DIM; rank++) PUT(rank, e.value[rank] * e.unit);
}
