#include "filters/stencils/second_differences.h"
#include "filters/stencils/tensor.h"

VF_STENCIL(hessian)
{
    const REAL tensor[] = SECOND_DIFFERENCES(0);
    PUT_TENSOR(tensor);
}
