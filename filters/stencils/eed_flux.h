/* structure_tensor, eed_tensor and flux_cross in one. Inputs: u_sigma, u; outputs: as diffusion_step reads
 * them. */
#include "filters/stencils/edge.h"
#include "filters/stencils/flux.h"
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(eed_flux)
{
    enum { SMOOTH, U };
    const REAL normal[] = GRADIENT(SMOOTH), gradient[] = GRADIENT(U);
    const REAL products[] = TENSOR_PRODUCTS(normal);
    const REAL squared = TENSOR_TRACE(products);
    EDGE_SHARE(share, squared)
    const REAL tensor[] = TENSOR_BESIDE_UNIT(share, products);
    DOUBT_UNLESS_ORDINARY(squared);
    PUT_FLUX(tensor, gradient);
}
