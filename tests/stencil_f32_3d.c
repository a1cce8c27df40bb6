/* Stencils in float, of volumes. */
#define REAL float
#define REAL_BITS 32
#define DIM 3
#define VARIANT stencil_f32_3d
#include "stencil_variant.h"
