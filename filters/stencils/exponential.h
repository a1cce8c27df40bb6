#include "filters/stencils/params.h"

/* NaN of what is not finite: a 0 would stand for no neighbour (filters/stencils/speckle.h). */
VF_STENCIL(exponential)
{
    const REAL x = (AT(0, 0, 0, 0) - PARAM(VF_EXP_FROM)) / PARAM(VF_EXP_RANGE);
    PUT(0, vf_exp(x) + (x - x));
}
