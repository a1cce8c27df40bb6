/* D = I - (1 - l1) v1 v1^T, v1 of the smoothed tensor, l1 from the gradient of u_sigma, the last input. */
#include "filters/stencils/edge.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor_input.h"

VF_STENCIL(eed_surface_tensor)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvector e = EIGENVECTOR(tensor, 0);
    REAL diffusion[VF_TENSOR];
    const REAL squared = GRADIENT_SQUARED(VF_TENSOR);
    const REAL stop = vf_edge_stop(SHORT_WAY, squared, PARAM(VF_EED_INVERSE_K));
    DOUBT_UNLESS_ORDINARY(squared);
    vf_tensor_about(R(1.0), stop - R(1.0), e.vector, diffusion);
    PUT_TENSOR(diffusion);
}
