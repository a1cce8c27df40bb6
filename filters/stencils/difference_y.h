#include "filters/stencils/difference.h"

VF_STENCIL(difference_y)
{
    VF_DIFFERENCE_OF(0, 1, 0);
}
