#include "filters/stencils/median.h"

VF_STENCIL(median_7x7)
{
    VF_PUT_MEDIAN_2D(3)
}
