/* diffusion_tensor and flux_cross in one. Inputs: the direction's, then u; outputs: as diffusion_step reads
 * them. */
#include "filters/stencils/direction.h"
#include "filters/stencils/flux.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(direction_flux)
{
    const REAL direction[] = VECTOR_INPUT, gradient[] = GRADIENT(VF_ALONG + 1);
    REAL tensor[VF_TENSOR];
    vf_tensor_along(direction, AT(VF_ALONG, 0, 0, 0), PARAM(VF_FLUX_FIRST), PARAM(VF_FLUX_SLOPE), tensor);
    PUT_FLUX(tensor, gradient);
}
