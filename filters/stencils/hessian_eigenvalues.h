/* Of the second differences, which are stored nowhere. */
#include "filters/stencils/second_differences.h"

VF_STENCIL(hessian_eigenvalues)
{
    const REAL tensor[] = SECOND_DIFFERENCES;
    const struct vf_eigenvalues e = EIGENVALUES(VF_INDEFINITE, tensor);
    VF_UNROLL for (int rank = 0; rank < DIM; rank++) PUT(rank, e.value[rank] * e.unit);
}
