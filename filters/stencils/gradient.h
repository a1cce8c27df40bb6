/* The central gradient of one input, for the bodies that need it: PARAM(0..2) are 1/(2h) along x, y, z. */
#ifndef VF_GRADIENT_PARAMS
#define VF_GRADIENT_PARAMS
#define GRADIENT_X(k) ((AT(k, 0, 0, 1) - AT(k, 0, 0, -1)) * PARAM(VF_X))
#define GRADIENT_Y(k) ((AT(k, 0, 1, 0) - AT(k, 0, -1, 0)) * PARAM(VF_Y))
#define GRADIENT_Z(k) ((AT(k, 1, 0, 0) - AT(k, -1, 0, 0)) * PARAM(VF_Z))

/* GRADIENT: its components, for an array's initialiser; GRADIENT_SQUARED: |grad|^2 in the order z, y, x. */
#if DIM == 3
#define GRADIENT(k)                                 \
    {                                               \
        GRADIENT_X(k), GRADIENT_Y(k), GRADIENT_Z(k) \
    }
#define GRADIENT_SQUARED(k) \
    FMA(GRADIENT_X(k), GRADIENT_X(k), FMA(GRADIENT_Y(k), GRADIENT_Y(k), GRADIENT_Z(k) * GRADIENT_Z(k)))
#else
#define GRADIENT(k)                  \
    {                                \
        GRADIENT_X(k), GRADIENT_Y(k) \
    }
#define GRADIENT_SQUARED(k) FMA(GRADIENT_X(k), GRADIENT_X(k), GRADIENT_Y(k) * GRADIENT_Y(k))
#endif
#endif
