#include "filters/stencils/difference.h"

VF_STENCIL(difference_x)
{
    VF_DIFFERENCE_OF(0, 0, 1);
}
