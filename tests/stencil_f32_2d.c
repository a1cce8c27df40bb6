/* Stencils in float, of images. */
#define REAL float
#define REAL_BITS 32
#define DIM 2
#define VARIANT stencil_f32_2d
#include "stencil_variant.h"
