/* Coherence-enhancing where mu1 - mu3 passes the threshold, edge-enhancing (surface) elsewhere. The edge's
 * normal is the gradient of u_sigma, the last input. */
#include "filters/stencils/coherence_enhancing.h"
#include "filters/stencils/direction.h"
#include "filters/stencils/edge.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(and_direction)
{
    const REAL tensor[] = TENSOR_INPUT;
    const REAL contrast = PARAM(VF_CED_CONTRAST);
    struct vf_eigenvector e;
    EIGENVECTOR(tensor, DIM - 1, &e);
    const REAL squared = GRADIENT_SQUARED(VF_TENSOR);
    const REAL length = ORDINARY_ROOT(SHORT_WAY, squared);
    /* Where the gradient is 0, so is all that the normal is for. */
    const REAL inverse_length = ORDINARY_RECIPROCAL(SHORT_WAY, squared == R(0.0) ? R(1.0) : length);
    /* Both are made, and then one is taken, so that there is no branch; the exponential is that of what is
     * wanted. */
    const REAL ratio =
        ORDINARY_QUOTIENT(SHORT_WAY, contrast, vf_coherence_divisor(SHORT_WAY, e.spread, contrast));
    const REAL inverse_ratio = inverse_length * PARAM(VF_EED_K);
    const REAL edge_exponent = vf_edge_exponent(squared == R(0.0), inverse_ratio * inverse_ratio);
    /* A tensor that is no number has no spread either: its vector makes the result none. */
    const int coherent = !(e.spread <= PARAM(VF_AND_THRESHOLD));
    const REAL squared_ratio = ratio * ratio;
    const REAL exponential = vf_exp2_minus(coherent ? squared_ratio : edge_exponent);
    const REAL coherence = vf_coherence_along(PARAM(VF_CED_ALPHA), exponential);
    DOUBT_UNLESS_ORDINARY(squared);
    DOUBT_UNLESS_ORDINARY(VF_POSITIVE_CONTRAST);
    REAL normal[DIM];
    normal[VF_X] = GRADIENT_X(VF_TENSOR) * inverse_length;
    normal[VF_Y] = GRADIENT_Y(VF_TENSOR) * inverse_length;
#if DIM == 3
    normal[VF_Z] = GRADIENT_Z(VF_TENSOR) * inverse_length;
#endif
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) PUT(axis, coherent ? e.vector[axis] : normal[axis]);
    PUT(VF_ALONG, coherent ? coherence : -exponential);
}
