/* D = I - (1 - l1) v1 v1^T, v1 of the smoothed tensor, l1 from the gradient of u_sigma, the last input. */
#include "filters/stencils/direction.h"
#include "filters/stencils/edge.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(eed_surface_direction)
{
    const REAL tensor[] = TENSOR_INPUT;
    struct vf_eigenvector e;
    EIGENVECTOR(tensor, 0, &e);
    const REAL squared = GRADIENT_SQUARED(VF_TENSOR);
    DOUBT_UNLESS_ORDINARY(squared);
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) PUT(axis, e.vector[axis]);
    PUT(VF_ALONG, -vf_edge_exponential(SHORT_WAY, squared, PARAM(VF_EED_K)));
}
