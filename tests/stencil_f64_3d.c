/* Stencils in double, of volumes. */
#define REAL double
#define REAL_BITS 64
#define DIM 3
#define VARIANT stencil_f64_3d
#include "stencil_variant.h"
