/* Vectors and symmetric tensors: lists of their components, for arrays' initialisers. */
#ifndef TENSOR_INPUT
#if DIM == 3
/* Inputs 0.. of a body. */
#define VECTOR_INPUT                                            \
    {                                                           \
        AT(VF_X, 0, 0, 0), AT(VF_Y, 0, 0, 0), AT(VF_Z, 0, 0, 0) \
    }
#define TENSOR_INPUT                                                                                   \
    {                                                                                                  \
        AT(0, 0, 0, 0), AT(1, 0, 0, 0), AT(2, 0, 0, 0), AT(3, 0, 0, 0), AT(4, 0, 0, 0), AT(5, 0, 0, 0) \
    }
/* g g^T. */
#define TENSOR_PRODUCTS(g)                                                                          \
    {                                                                                               \
        (g)[VF_X] * (g)[VF_X], (g)[VF_X] * (g)[VF_Y], (g)[VF_X] * (g)[VF_Z], (g)[VF_Y] * (g)[VF_Y], \
            (g)[VF_Y] * (g)[VF_Z], (g)[VF_Z] * (g)[VF_Z]                                            \
    }
/* I + share * t. */
#define TENSOR_BESIDE_UNIT(share, t)                                                             \
    {                                                                                            \
        FMA(share, (t)[VF_XX], R(1.0)), (share) * (t)[VF_XY], (share) * (t)[VF_XZ],              \
            FMA(share, (t)[VF_YY], R(1.0)), (share) * (t)[VF_YZ], FMA(share, (t)[VF_ZZ], R(1.0)) \
    }
#define TENSOR_TRACE(t) ((t)[VF_XX] + ((t)[VF_YY] + (t)[VF_ZZ]))
#else
#define VECTOR_INPUT                         \
    {                                        \
        AT(VF_X, 0, 0, 0), AT(VF_Y, 0, 0, 0) \
    }
#define TENSOR_INPUT                                   \
    {                                                  \
        AT(0, 0, 0, 0), AT(1, 0, 0, 0), AT(2, 0, 0, 0) \
    }
#define TENSOR_PRODUCTS(g)                                                  \
    {                                                                       \
        (g)[VF_X] * (g)[VF_X], (g)[VF_X] * (g)[VF_Y], (g)[VF_Y] * (g)[VF_Y] \
    }
#define TENSOR_BESIDE_UNIT(share, t)                                                         \
    {                                                                                        \
        FMA(share, (t)[VF_XX], R(1.0)), (share) * (t)[VF_XY], FMA(share, (t)[VF_YY], R(1.0)) \
    }
#define TENSOR_TRACE(t) ((t)[VF_XX] + (t)[VF_YY])
#endif
#define PUT_TENSOR(t) VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) PUT(k, (t)[k])
#endif
