/* D = alpha I + (l - alpha) v v^T, v the vector of the smallest eigenvalue of the smoothed tensor. */
#include "filters/stencils/coherence_enhancing.h"
#include "filters/stencils/direction.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(ced_direction)
{
    const REAL tensor[] = TENSOR_INPUT;
    struct vf_eigenvector e;
    EIGENVECTOR(tensor, DIM - 1, &e);
    const REAL ratio = ORDINARY_QUOTIENT(SHORT_WAY, PARAM(VF_CED_CONTRAST),
                                         vf_coherence_divisor(SHORT_WAY, e.spread, PARAM(VF_CED_CONTRAST)));
    DOUBT_UNLESS_ORDINARY(VF_POSITIVE_CONTRAST);
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) PUT(axis, e.vector[axis]);
    PUT(VF_ALONG, vf_coherence_along(PARAM(VF_CED_ALPHA), vf_exp2_minus(ratio * ratio)));
}
