/* The products of the central gradient, not yet smoothed. */
#include "filters/stencils/gradient.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(structure_tensor)
{
    const REAL gradient[] = GRADIENT(0);
    const REAL tensor[] = TENSOR_PRODUCTS(gradient);
    PUT_TENSOR(tensor);
}
