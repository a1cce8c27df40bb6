/* The largest eigenvalue minus the smallest: how far from isotropic, in squared gradient. */
#include "filters/stencils/tensor_input.h"

VF_STENCIL(eigenvalue_spread)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvector e = EIGENVECTOR(tensor, DIM - 1);
    PUT(0, e.spread);
}
