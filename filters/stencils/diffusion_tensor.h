/* A diffusion tensor from its direction, as direction.h has it. */
#include "filters/stencils/direction.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(diffusion_tensor)
{
    const REAL direction[] = VECTOR_INPUT;
    REAL tensor[VF_TENSOR];
    vf_tensor_along(direction, AT(VF_ALONG, 0, 0, 0), PARAM(VF_ABOUT_FIRST), PARAM(VF_ABOUT_SLOPE), tensor);
    PUT_TENSOR(tensor);
}
