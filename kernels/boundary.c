#include "kernels/boundary.h"

const char *const vf_boundary_name[VF_BOUNDARY_COUNT] = {
    [VF_NEAREST] = "nearest",   [VF_REFLECT] = "reflect", [VF_MIRROR] = "mirror",
    [VF_CONSTANT] = "constant", [VF_WRAP] = "wrap",
};
