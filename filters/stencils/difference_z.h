#include "filters/stencils/difference.h"

VF_STENCIL(difference_z)
{
    VF_DIFFERENCE_OF(1, 0, 0);
}
