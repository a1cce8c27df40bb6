/* Inputs 0.. of a body as a tensor, and a tensor as its outputs. */
#ifndef TENSOR_INPUT
#define PUT_TENSOR(tensor) VF_UNROLL for (int c = 0; c < VF_TENSOR; c++) PUT(c, tensor[c])
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
