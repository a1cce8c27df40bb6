/* What the other axes add to the flux along each, at a voxel. Inputs: the components of D off its diagonal,
 * then u. A stage of its own, since diffusion_step needs each at a voxel and at the next one along its axis.
 */
#include "filters/stencils/flux.h"
#include "filters/stencils/gradient.h"

VF_STENCIL(flux_cross)
{
#if DIM == 3
    enum { XY, XZ, YZ, U };
    const REAL tensor[] = {R(0.0), AT(XY, 0, 0, 0), AT(XZ, 0, 0, 0), R(0.0), AT(YZ, 0, 0, 0), R(0.0)};
#else
    enum { XY, U };
    const REAL tensor[] = {R(0.0), AT(XY, 0, 0, 0), R(0.0)};
#endif
    const REAL gradient[] = GRADIENT(U);
    PUT_CROSS(0, tensor, gradient);
}
