/* Coherence-enhancing where mu1 - mu3 passes the threshold, edge-enhancing (surface) elsewhere. The edge's
 * normal is the gradient of u_sigma, the last input. */
#include "filters/stencils/coherence_enhancing.h"
#include "filters/stencils/edge.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor_input.h"

VF_STENCIL(and_tensor)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvector e = EIGENVECTOR(tensor, DIM - 1);
    const int coherent = e.spread > PARAM(VF_AND_THRESHOLD);
    const REAL squared = GRADIENT_SQUARED(VF_TENSOR);
    /* Either needs a quotient and its exponential: they are made of what is wanted. */
    const REAL quotient =
        ORDINARY_QUOTIENT(SHORT_WAY, coherent ? PARAM(VF_CED_CONTRAST) : VF_EDGE_DIVIDEND,
                          coherent ? vf_coherence_divisor(SHORT_WAY, e.spread, PARAM(VF_CED_CONTRAST))
                                   : vf_edge_divisor(SHORT_WAY, squared, PARAM(VF_EED_INVERSE_K)));
    const REAL exponential = vf_exp_minus(coherent ? quotient * quotient : quotient);
    const REAL length = ORDINARY_ROOT(SHORT_WAY, squared);
    /* Where the gradient is 0, so is all that the normal is for. */
    const REAL inverse_length = ORDINARY_RECIPROCAL(SHORT_WAY, squared == R(0.0) ? R(1.0) : length);
    DOUBT_UNLESS_ORDINARY(squared);
    DOUBT_UNLESS_ORDINARY(VF_POSITIVE_CONTRAST);
    REAL w[DIM], diffusion[VF_TENSOR];
    w[VF_X] = coherent ? e.vector[VF_X] : GRADIENT_X(VF_TENSOR) * inverse_length;
    w[VF_Y] = coherent ? e.vector[VF_Y] : GRADIENT_Y(VF_TENSOR) * inverse_length;
#if DIM == 3
    w[VF_Z] = coherent ? e.vector[VF_Z] : GRADIENT_Z(VF_TENSOR) * inverse_length;
#endif
    const REAL about = coherent ? PARAM(VF_CED_ALPHA) : R(1.0);
    const REAL along =
        coherent ? vf_coherence_gain(e.spread, PARAM(VF_CED_ALPHA), exponential) - PARAM(VF_CED_ALPHA)
                 : (R(1.0) - exponential) - R(1.0);
    vf_tensor_about(about, along, w, diffusion);
    PUT_TENSOR(diffusion);
}
