/* The text of one variant (stencil_variants.h): the includer defines REAL, REAL_BITS, DIM and VARIANT, its
 * name. */
#define VF_DEVICE static inline __attribute__((unused))
#include "kernels/stencil.h"

#include "stencil_variants.h"

static double call_exp_minus(double x)
{
    return (double)vf_exp_minus((REAL)x);
}

static double call_inverse_root(double x)
{
    return (double)vf_inverse_root((REAL)x);
}

static double call_atan2(double y, double x)
{
    return (double)vf_atan2((REAL)y, (REAL)x);
}

static void call_eigen(const double *tensor, double *value, double *vector)
{
    REAL t[VF_TENSOR];
    for (int c = 0; c < VF_TENSOR; c++)
        t[c] = (REAL)tensor[c];
    const struct vf_eigen e = vf_eigen_of(t);
    for (int rank = 0; rank < DIM; rank++) {
        value[rank] = (double)e.value[rank];
        for (int axis = 0; axis < DIM; axis++)
            vector[rank * DIM + axis] = (double)e.vector[rank][axis];
    }
}

#define NAME_OF(word) #word
#define NAME(word) NAME_OF(word)

const struct stencil_variant VARIANT = {.name = NAME(VARIANT),
                                        .bits = REAL_BITS,
                                        .dim = DIM,
                                        .exp_minus = call_exp_minus,
                                        .inverse_root = call_inverse_root,
                                        .atan2 = call_atan2,
                                        .eigen = call_eigen};
