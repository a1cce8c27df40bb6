/* Stencils in double, of images. */
#define REAL double
#define REAL_BITS 64
#define DIM 2
#define VARIANT stencil_f64_2d
#include "stencil_variant.h"
