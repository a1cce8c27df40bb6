#include "filters/stencils/median.h"

VF_STENCIL(median_5x5x5)
{
    VF_PUT_MEDIAN_3D(2)
}
