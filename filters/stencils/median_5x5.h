#include "filters/stencils/median.h"

VF_STENCIL(median_5x5)
{
    VF_PUT_MEDIAN_2D(2)
}
