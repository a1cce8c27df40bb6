#include "filters/stencils/gradient.h"

VF_STENCIL(gradient_magnitude)
{
    PUT(0, SQRT(GRADIENT_SQUARED(0)));
}
