#include "filters/stencils/median.h"

VF_STENCIL(median_3x3)
{
    VF_PUT_MEDIAN_2D(1)
}
