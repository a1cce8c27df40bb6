/* The second central differences of one input, a symmetric tensor, for an array's initialiser: of first
 * differences, so that a constant has none. PARAM(k) is what component k is multiplied with: 1/h^2 of an
 * axis, 1/(4 h_a h_b) of two. */
#ifndef SECOND_DIFFERENCES

/* Along one axis, (z, y, x) being its unit step, and along two, by (z, y, x) and (z1, y1, x1). */
#define SECOND_DIFFERENCE(k, component, z, y, x) \
    (((AT(k, z, y, x) - AT(k, 0, 0, 0)) - (AT(k, 0, 0, 0) - AT(k, -(z), -(y), -(x)))) * PARAM(component))
#define MIXED_DIFFERENCE(k, component, z, y, x, z1, y1, x1)                                         \
    (((AT(k, (z) + (z1), (y) + (y1), (x) + (x1)) - AT(k, (z) - (z1), (y) - (y1), (x) - (x1))) -     \
      (AT(k, (z1) - (z), (y1) - (y), (x1) - (x)) - AT(k, -(z) - (z1), -(y) - (y1), -(x) - (x1)))) * \
     PARAM(component))

#if DIM == 3
#define SECOND_DIFFERENCES(k)                                                                   \
    {                                                                                           \
        SECOND_DIFFERENCE(k, VF_XX, 0, 0, 1), MIXED_DIFFERENCE(k, VF_XY, 0, 1, 0, 0, 0, 1),     \
            MIXED_DIFFERENCE(k, VF_XZ, 1, 0, 0, 0, 0, 1), SECOND_DIFFERENCE(k, VF_YY, 0, 1, 0), \
            MIXED_DIFFERENCE(k, VF_YZ, 1, 0, 0, 0, 1, 0), SECOND_DIFFERENCE(k, VF_ZZ, 1, 0, 0)  \
    }
#else
#define SECOND_DIFFERENCES(k)                                                               \
    {                                                                                       \
        SECOND_DIFFERENCE(k, VF_XX, 0, 0, 1), MIXED_DIFFERENCE(k, VF_XY, 0, 1, 0, 0, 0, 1), \
            SECOND_DIFFERENCE(k, VF_YY, 0, 1, 0)                                            \
    }
#endif
#endif
