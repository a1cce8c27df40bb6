#include "kernels/big_integer.h"

typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;

void vf_big_add(struct vf_big *b, wide value, int shift)
{
    if (value == 0)
        return;
    const int first = shift / 64, bits = shift % 64;
    const unsigned_wide low = (unsigned_wide)value << bits;
    const uint64_t sign = value < 0 ? UINT64_MAX : 0;
    const uint64_t above = bits == 0 ? sign : (uint64_t)(value >> (128 - bits));
    unsigned_wide carry = 0;
    for (int i = first; i < VF_BIG_LIMBS; i++) {
        const int k = i - first;
        const uint64_t term = k == 0 ? (uint64_t)low : k == 1 ? (uint64_t)(low >> 64) : k == 2 ? above : sign;
        carry += (unsigned_wide)b->limb[i] + term;
        b->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

void vf_big_add_big(struct vf_big *b, const struct vf_big *a)
{
    unsigned_wide carry = 0;
    for (int i = 0; i < VF_BIG_LIMBS; i++) {
        carry += (unsigned_wide)b->limb[i] + a->limb[i];
        b->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

bool vf_big_is_negative(const struct vf_big *b)
{
    return b->limb[VF_BIG_LIMBS - 1] >> 63;
}

void vf_big_negate(struct vf_big *b)
{
    unsigned_wide carry = 1;
    for (int i = 0; i < VF_BIG_LIMBS; i++) {
        carry += ~b->limb[i];
        b->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

void vf_big_multiply(struct vf_big *b, uint64_t factor)
{
    unsigned_wide carry = 0;
    for (int i = 0; i < VF_BIG_LIMBS; i++) {
        carry += (unsigned_wide)b->limb[i] * factor;
        b->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

bool vf_big_divide(struct vf_big *b, uint64_t divisor)
{
    uint64_t rest = 0;
    for (int i = VF_BIG_LIMBS - 1; i >= 0; i--) {
        const unsigned_wide part = (unsigned_wide)rest << 64 | b->limb[i];
        b->limb[i] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    return rest != 0;
}

void vf_big_subtract_square(struct vf_big *b, const struct vf_big *a)
{
    struct vf_big square = {{0}};
    for (int i = 0; i < VF_BIG_ROOT_LIMBS; i++) {
        unsigned_wide carry = 0;
        for (int k = 0; k < VF_BIG_ROOT_LIMBS; k++) {
            carry += (unsigned_wide)a->limb[i] * a->limb[k] + square.limb[i + k];
            square.limb[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
        if (i + VF_BIG_ROOT_LIMBS < VF_BIG_LIMBS)
            square.limb[i + VF_BIG_ROOT_LIMBS] = (uint64_t)carry;
    }
    vf_big_negate(&square);
    vf_big_add_big(b, &square);
}

uint64_t vf_big_head(const struct vf_big *b, bool more, int *exponent)
{
    int top = VF_BIG_LIMBS - 1;
    while (top > 0 && b->limb[top] == 0)
        top--;
    const int zeros = __builtin_clzll(b->limb[top]);
    const uint64_t next = top > 0 ? b->limb[top - 1] : 0;
    uint64_t head = b->limb[top] << zeros;
    if (zeros > 0)
        head |= next >> (64 - zeros);
    more = more || next << zeros != 0;
    for (int i = 0; i < top - 1; i++)
        more = more || b->limb[i] != 0;
    *exponent = 64 * top - zeros;
    return head | more;
}

bool vf_big_is_zero(const struct vf_big *b)
{
    for (int i = 0; i < VF_BIG_LIMBS; i++)
        if (b->limb[i] != 0)
            return false;
    return true;
}
