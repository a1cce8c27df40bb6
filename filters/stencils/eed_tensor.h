/* D = I - (1 - l1) n n^T from the gradient products of u_sigma alone (rho 0): n n^T = J / s^2, s^2 = tr J. */
#include "filters/stencils/edge.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(eed_tensor)
{
    const REAL products[] = TENSOR_INPUT;
    const REAL squared = TENSOR_TRACE(products);
    EDGE_SHARE(share, squared)
    const REAL tensor[] = TENSOR_BESIDE_UNIT(share, products);
    DOUBT_UNLESS_ORDINARY(squared);
    PUT_TENSOR(tensor);
}
