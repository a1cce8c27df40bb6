#include "half.h"

#include <string.h>

float vf_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    uint32_t bits;
    float value;
    if (exponent == 0) { /* zero, or fraction * 2^-24 */
        value = (float)fraction * 0x1p-24f;
        memcpy(&bits, &value, sizeof bits);
    } else if (exponent == 31) {
        bits = 0x7f800000 | fraction << 13;
    } else {
        bits = (exponent + 112) << 23 | fraction << 13;
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t vf_half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7e00; /* not a number */
    if (magnitude == 0x7f800000)
        return sign | 0x7c00;
    if (magnitude >= 0x477ff000)
        return sign | 0x7bff;
    if (magnitude < 0x38800000) { /* below 2^-14: adding 0.5 rounds to a multiple of 2^-24 */
        float small;
        memcpy(&small, &magnitude, sizeof small);
        small += 0.5f;
        memcpy(&bits, &small, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

void vf_halves_to_floats(void *array, size_t count)
{
    /* From the end: a float covers halves that are done. */
    while (count-- > 0) {
        uint16_t half;
        memcpy(&half, (char *)array + count * sizeof half, sizeof half);
        const float value = vf_half_to_float(half);
        memcpy((char *)array + count * sizeof value, &value, sizeof value);
    }
}
