#include "filters/stencils/gradient.h"

VF_STENCIL(gradient_magnitude)
{
    PUT(0, ROOT_OF_STEPS(GRADIENT_SQUARED(0)));
}
