/* Arithmetic for sizes. */
#ifndef VF_SIZE_H
#define VF_SIZE_H

#include <stdbool.h>
#include <stddef.h>

_Static_assert(sizeof(size_t) == 8, "volfilter needs a 64-bit processor, and a compiler for it");

/* Checked: every size that comes from a file or a user goes through here before an allocation. True means
 * that the result fits. */
static inline bool vf_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool vf_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/* For messages. */
static inline double vf_mib(double bytes)
{
    return bytes / (1 << 20);
}

static inline ptrdiff_t vf_ceil_div(ptrdiff_t a, ptrdiff_t b)
{
    return (a + b - 1) / b;
}

static inline ptrdiff_t vf_smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static inline ptrdiff_t vf_larger(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

#endif
