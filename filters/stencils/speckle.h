/* Speckle-reducing anisotropic diffusion (Yu & Acton 2002) in the plane, of the exponential J of an image. J
 * is above 0 in the grid; where it is 0, beyond the grid under `constant`, there is no neighbour. */
#ifndef SPECKLE_STEP

#include "filters/stencils/params.h"

/* From the voxel to its neighbour. */
#define SPECKLE_STEP(k, y, x) (AT(k, 0, y, x) == R(0.0) ? R(0.0) : AT(k, 0, y, x) - AT(k, 0, 0, 0))
#endif
