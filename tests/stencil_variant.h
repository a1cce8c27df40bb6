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

static void call_eigen(const double *tensor, double *value, double *vector, double *spread)
{
    REAL t[VF_TENSOR];
    for (int c = 0; c < VF_TENSOR; c++)
        t[c] = (REAL)tensor[c];
    const struct vf_eigenvalues e = vf_eigenvalues_of(t);
    const struct vf_eigenvector first = vf_eigenvector_of(t, 0), last = vf_eigenvector_of(t, DIM - 1);
    for (int k = 0; k < DIM; k++) {
        value[k] = (double)(e.value[k] * e.unit);
        vector[k] = (double)first.vector[k];
        vector[DIM + k] = (double)last.vector[k];
    }
    *spread = (double)last.spread;
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
