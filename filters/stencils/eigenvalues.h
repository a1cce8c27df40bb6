#include "filters/stencils/tensor_input.h"

VF_STENCIL(eigenvalues)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigen e = EIGEN(tensor);
    VF_UNROLL for (int rank = 0; rank < DIM; rank++) PUT(rank, e.value[rank]);
}
