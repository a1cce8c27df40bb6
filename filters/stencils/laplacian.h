/* The Laplacian by second differences; PARAM(0..2) are 1/h^2 along x, y, z. Of each axis the difference to
 * the next voxel and to the one before come first, so that a constant has none, and are added before they are
 * weighed, so that a slope has none either; axes in the order z, y, x. */
#ifndef VF_SECOND_DIFFERENCE
#define VF_SECOND_DIFFERENCE(z, y, x) \
    ((AT(0, -(z), -(y), -(x)) - AT(0, 0, 0, 0)) + (AT(0, z, y, x) - AT(0, 0, 0, 0)))
#endif

VF_STENCIL(laplacian)
{
#if DIM == 3
    const REAL z = VF_SECOND_DIFFERENCE(1, 0, 0) * PARAM(VF_Z);
    const REAL zy = FMA(VF_SECOND_DIFFERENCE(0, 1, 0), PARAM(VF_Y), z);
#else
    const REAL zy = VF_SECOND_DIFFERENCE(0, 1, 0) * PARAM(VF_Y);
#endif
    PUT(0, FMA(VF_SECOND_DIFFERENCE(0, 0, 1), PARAM(VF_X), zy));
}
