/* Checked arithmetic for sizes: every size that comes from a file or a user goes through here before an
 * allocation. True means that the result fits. */
#ifndef VF_SIZE_H
#define VF_SIZE_H

#include <stdbool.h>
#include <stddef.h>

static inline bool vf_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool vf_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

#endif
