/* D = I - (1 - l1) n n^T from the gradient products of u_sigma alone (rho 0): n n^T = J / s^2, s^2 = tr J. */
#include "filters/stencils/edge.h"
#include "filters/stencils/tensor_input.h"

VF_STENCIL(eed_tensor)
{
    const REAL tensor[] = TENSOR_INPUT;
#if DIM == 3
    const REAL squared = tensor[VF_XX] + (tensor[VF_YY] + tensor[VF_ZZ]);
#else
    const REAL squared = tensor[VF_XX] + tensor[VF_YY];
#endif
    /* 0, or from half a unit in 1's last place on. */
    const REAL less = (R(1.0) - vf_edge_exponential(SHORT_WAY, squared, PARAM(VF_EED_INVERSE_K))) - R(1.0);
    const REAL share = ORDINARY_QUOTIENT(SHORT_WAY, less, squared == R(0.0) ? R(1.0) : squared);
    DOUBT_UNLESS_ORDINARY(squared);
    PUT(VF_XX, FMA(share, tensor[VF_XX], R(1.0)));
    PUT(VF_XY, share * tensor[VF_XY]);
    PUT(VF_YY, FMA(share, tensor[VF_YY], R(1.0)));
#if DIM == 3
    PUT(VF_XZ, share * tensor[VF_XZ]);
    PUT(VF_YZ, share * tensor[VF_YZ]);
    PUT(VF_ZZ, FMA(share, tensor[VF_ZZ], R(1.0)));
#endif
}
