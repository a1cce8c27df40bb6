/* Inputs 0.. of a body as a tensor. */
#ifndef TENSOR_INPUT
#if DIM == 3
#define TENSOR_INPUT                                                                                   \
    {                                                                                                  \
        AT(0, 0, 0, 0), AT(1, 0, 0, 0), AT(2, 0, 0, 0), AT(3, 0, 0, 0), AT(4, 0, 0, 0), AT(5, 0, 0, 0) \
    }
#else
#define TENSOR_INPUT                                   \
    {                                                  \
        AT(0, 0, 0, 0), AT(1, 0, 0, 0), AT(2, 0, 0, 0) \
    }
#endif
#endif
