#include "filters/stencils/params.h"

VF_STENCIL(exponential)
{
    PUT(0, vf_exp((AT(0, 0, 0, 0) - PARAM(VF_EXP_FROM)) / PARAM(VF_EXP_RANGE)));
}
