/* l1 = l2 stop at edges and the last eigenvalue is 1: D = l I + (1 - l) v v^T, v the last vector of the
 * smoothed tensor (Frangakis & Hegerl 2001), l from the gradient of u_sigma, the last input. */
#include "filters/stencils/direction.h"
#include "filters/stencils/edge.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(eed_line_direction)
{
    const REAL tensor[] = TENSOR_INPUT;
    struct vf_eigenvector e;
    EIGENVECTOR(tensor, DIM - 1, &e);
    const REAL squared = GRADIENT_SQUARED(VF_TENSOR);
    DOUBT_UNLESS_ORDINARY(squared);
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) PUT(axis, e.vector[axis]);
    PUT(VF_ALONG, vf_edge_exponential(SHORT_WAY, squared, PARAM(VF_EED_K)));
}
