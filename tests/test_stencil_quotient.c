/* kernels/stencil_quotient.h: the short way gives the bits of `/`, or NaN where it says that it may. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#define REAL float
#define REAL_BITS 32
#define DIM 3
#define VF_DEVICE static inline __attribute__((unused))

/* As a device has it: subnormal numbers count as 0, and are given as 0. */
static float normal_or_0(float x)
{
    return fabsf(x) < 0x1p-126f ? 0 * x : x;
}

#define VF_NEAR_RECIPROCAL(x) normal_or_0(1 / normal_or_0(x))
#include "kernels/stencil.h"
#include "random.h"

static bool is_right(float a, float b)
{
    return vf_to_bits(QUOTIENT_OR_0(1, a, b)) == vf_to_bits(a == 0 ? 0 : a / b);
}

/* Every fraction of b, for a with few bits and with many. */
Test(stencil_quotient, every_fraction)
{
    long wrong = 0;
    for (uint32_t fraction = 0; fraction < 1u << 23; fraction++) {
        const float b = vf_from_bits(0x3f800000u | fraction);
        wrong += !is_right(1, b) + !is_right(-0x1.fffffep30f, b) + !is_right(0x1.555556p-60f, b);
    }
    cr_expect_eq(wrong, 0, "%ld wrong", wrong);
}

/* Nothing is in doubt: every fraction of an ordinary b, near both ends and in the middle. */
Test(stencil_quotient, ordinary_numbers)
{
    static const float a[] = {0, 0x1p-25f, -0x1.fffffep-1f, 3.31488f, 0x1p25f},
                       scale[] = {0x1p-100f, 0x1p-30f, 1, 0x1p69f};
    long wrong = 0;
    for (uint32_t fraction = 0; fraction < 1u << 23; fraction += 7) {
        const float b = vf_from_bits(0x3f800000u | fraction) * scale[fraction % 4];
        for (int i = 0; i < 5; i++)
            wrong += vf_to_bits(ORDINARY_QUOTIENT(1, a[i], b)) != vf_to_bits(a[i] / b);
        wrong += vf_doubt_unless_ordinary(b) != 0;
    }
    cr_expect_eq(wrong, 0, "%ld wrong", wrong);
    cr_expect(isnan(vf_doubt_unless_ordinary(0x1p-101f)) && isnan(vf_doubt_unless_ordinary(0x1p71f)) &&
              isnan(vf_doubt_unless_ordinary(NAN)) && vf_doubt_unless_ordinary(0) == 0);
}

/* Right from 2^-126 to 2^126; beyond, 0 or NaN, which infinity makes NaN. */
Test(stencil_quotient, reciprocals)
{
    static const float scale[] = {0x1p-126f, 0x1p-30f, 1, 0x1p125f},
                       beyond[] = {0x1.8p126f, 0x1.fffffep127f, INFINITY, 0x1p-127f, 0, NAN};
    long wrong = 0;
    for (uint32_t fraction = 0; fraction < 1u << 23; fraction++) {
        const float b = vf_from_bits(0x3f800000u | fraction) * scale[fraction % 4];
        wrong += vf_to_bits(ORDINARY_RECIPROCAL(1, b)) != vf_to_bits(1 / b);
    }
    cr_expect_eq(wrong, 0, "%ld wrong", wrong);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        cr_expect(isnan(ORDINARY_RECIPROCAL(1, beyond[i]) * VF_INFINITE), "1 / %g", (double)beyond[i]);
    cr_expect(ORDINARY_RECIPROCAL(0, 0x1.8p126f) == 1 / 0x1.8p126f);
}

/* Any bits, or an exponent that is not extreme, or 0. */
static float any_number(void)
{
    const uint64_t drawn = random_bits();
    const uint32_t bits = (uint32_t)(drawn >> 32), kind = drawn >> 29 & 7;
    return kind == 0 ? 0 : kind < 5 ? vf_from_bits(bits) : vf_from_bits((bits & 0x87ffffffu) + 0x3c000000u);
}

/* 0 over a negative number, by which no stencil divides, is -0 by the short way. */
Test(stencil_quotient, any_numbers)
{
    long wrong = 0, idle = 0;
    for (int n = 0; n < 4000000; n++) {
        const float a = any_number(), any = any_number(), b = a == 0 ? fabsf(any) : any,
                    expected = fabsf(a / b);
        if (fabsf(a) < 1 && fabsf(b) < 1 && a != 0)
            continue;
        const bool in_doubt = isnan(QUOTIENT_OR_0(1, a, b));
        wrong += !in_doubt && !is_right(a, b);
        idle += in_doubt && (a == 0 || expected > 0x1p-100f) && expected < 0x1p126f && fabsf(b) > 0x1p-126f &&
                fabsf(b) < 0x1p126f && isfinite(a);
    }
    cr_expect_eq(wrong, 0, "%ld wrong", wrong);
    cr_expect_eq(idle, 0, "%ld in doubt without need", idle);
}

/* 0 over what may be infinite or NaN, and what is too small to be told from 0. */
Test(stencil_quotient, or_0)
{
    static const float zero[] = {0, -0.0f}, b[] = {1, 0x1.234p10f, 0x1p126f, INFINITY, NAN};
    for (int z = 0; z < 2; z++)
        for (int i = 0; i < 5; i++) {
            const float quotient = QUOTIENT_OR_0(1, zero[z], b[i]);
            cr_expect(isnan(quotient) ? i > 2 : vf_to_bits(quotient) == 0, "%g / %g", (double)zero[z],
                      (double)b[i]);
            cr_expect(vf_to_bits(QUOTIENT_OR_0(0, zero[z], b[i])) == 0);
        }
    cr_expect(isnan(QUOTIENT_OR_0(1, 1e-40f, 1.0f)) && isnan(QUOTIENT_OR_0(1, 1.0f, 0x1p127f)) &&
              QUOTIENT_OR_0(1, -3.0f, 2.0f) == -1.5f && QUOTIENT_OR_0(0, -3.0f, 2.0f) == -1.5f);
}

Test(stencil_quotient, the_long_way)
{
    cr_expect(vf_to_bits(ORDINARY_QUOTIENT(0, -0.0f, 3.0f)) == vf_to_bits(-0.0f) &&
              QUOTIENT_OR_0(0, 1e-40f, 1.0f) == 1e-40f);
}
