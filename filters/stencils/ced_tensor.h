/* D = alpha I + (l - alpha) v v^T, v the vector of the smallest eigenvalue of the smoothed tensor. */
#include "filters/stencils/coherence_enhancing.h"
#include "filters/stencils/tensor_input.h"

VF_STENCIL(ced_tensor)
{
    const REAL tensor[] = TENSOR_INPUT;
    const struct vf_eigenvector e = EIGENVECTOR(tensor, DIM - 1);
    REAL diffusion[VF_TENSOR];
    const REAL ratio = ORDINARY_QUOTIENT(SHORT_WAY, PARAM(VF_CED_CONTRAST),
                                         vf_coherence_divisor(SHORT_WAY, e.spread, PARAM(VF_CED_CONTRAST)));
    const REAL gain = vf_coherence_gain(e.spread, PARAM(VF_CED_ALPHA), vf_exp_minus(ratio * ratio));
    DOUBT_UNLESS_ORDINARY(VF_POSITIVE_CONTRAST);
    vf_tensor_about(PARAM(VF_CED_ALPHA), gain - PARAM(VF_CED_ALPHA), e.vector, diffusion);
    PUT_TENSOR(diffusion);
}
