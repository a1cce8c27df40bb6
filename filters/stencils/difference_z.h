#include "filters/stencils/difference.h"

VF_STENCIL(difference_z)
{
#if DIM == 3
    VF_DIFFERENCE_OF(1, 0, 0);
#endif
}
