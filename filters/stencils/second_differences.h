/* Second central differences of input 0. The differences to the next voxel and to the one before come first,
 * so that a constant has none, and are added before they are weighed, so that a slope has none either. */
#ifndef VF_SECOND_DIFFERENCE

/* Along one axis, (z, y, x) being its unit step, and, four times it, along two, by (z, y, x) and
 * (z1, y1, x1). */
#define VF_SECOND_DIFFERENCE(z, y, x) \
    ((AT(0, -(z), -(y), -(x)) - AT(0, 0, 0, 0)) + (AT(0, z, y, x) - AT(0, 0, 0, 0)))
#define VF_MIXED_DIFFERENCE(z, y, x, z1, y1, x1)                                               \
    ((AT(0, (z) + (z1), (y) + (y1), (x) + (x1)) - AT(0, (z) - (z1), (y) - (y1), (x) - (x1))) - \
     (AT(0, (z1) - (z), (y1) - (y), (x1) - (x)) - AT(0, -(z) - (z1), -(y) - (y1), -(x) - (x1))))

/* All of them, a symmetric tensor, for an array's initialiser: PARAM(k) is what component k is multiplied
 * with, 1/h^2 of an axis, 1/(4 h_a h_b) of two. */
#if DIM == 3
#define SECOND_DIFFERENCES                                                                                  \
    {                                                                                                       \
        VF_SECOND_DIFFERENCE(0, 0, 1) * PARAM(VF_XX), VF_MIXED_DIFFERENCE(0, 1, 0, 0, 0, 1) * PARAM(VF_XY), \
            VF_MIXED_DIFFERENCE(1, 0, 0, 0, 0, 1) * PARAM(VF_XZ),                                           \
            VF_SECOND_DIFFERENCE(0, 1, 0) * PARAM(VF_YY),                                                   \
            VF_MIXED_DIFFERENCE(1, 0, 0, 0, 1, 0) * PARAM(VF_YZ),                                           \
            VF_SECOND_DIFFERENCE(1, 0, 0) * PARAM(VF_ZZ)                                                    \
    }
#else
#define SECOND_DIFFERENCES                                                                                  \
    {                                                                                                       \
        VF_SECOND_DIFFERENCE(0, 0, 1) * PARAM(VF_XX), VF_MIXED_DIFFERENCE(0, 1, 0, 0, 0, 1) * PARAM(VF_XY), \
            VF_SECOND_DIFFERENCE(0, 1, 0) * PARAM(VF_YY)                                                    \
    }
#endif
#endif
