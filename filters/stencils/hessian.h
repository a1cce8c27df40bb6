#include "filters/stencils/second_differences.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(hessian)
{
    const REAL tensor[] = SECOND_DIFFERENCES;
    PUT_TENSOR(tensor);
}
