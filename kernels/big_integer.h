/* Integers wide enough for exact sums of doubles and of their squares (kernels/reduce.h). */
#ifndef VF_BIG_INTEGER_H
#define VF_BIG_INTEGER_H

#include <stdbool.h>
#include <stdint.h>

/* Two's complement, least limb first: wide enough for count * sum v^2, in units of the square of the smallest
 * double's; half of them are enough for the sum of v. */
#define VF_BIG_LIMBS 70
#define VF_BIG_ROOT_LIMBS (VF_BIG_LIMBS / 2)

struct vf_big {
    uint64_t limb[VF_BIG_LIMBS];
};

/* Adds value * 2^shift; what carries beyond the last limb is the sign's. */
void vf_big_add(struct vf_big *b, __int128 value, int shift);
void vf_big_add_big(struct vf_big *b, const struct vf_big *a);

bool vf_big_is_negative(const struct vf_big *b);
bool vf_big_is_zero(const struct vf_big *b);

void vf_big_negate(struct vf_big *b);
void vf_big_multiply(struct vf_big *b, uint64_t factor);

/* Divides b >= 0, rounding down; true when something was left over. */
bool vf_big_divide(struct vf_big *b, uint64_t divisor);

/* b -= a^2, for 0 <= a < 2^(64 * VF_BIG_ROOT_LIMBS). */
void vf_big_subtract_square(struct vf_big *b, const struct vf_big *a);

/* The upper 64 bits of b > 0, their first bit set: b = result * 2^*exponent, less what is below. Bit 0 is
 * set, too, if anything is below or `more` is true, so that rounding to double is right. */
uint64_t vf_big_head(const struct vf_big *b, bool more, int *exponent);

#endif
