/* exp2, exp, log, 1 / sqrt(x) and atan2 for stencil bodies: one text for every backend, so that results agree
 * to the last bit. All are written without branches. Errors, measured by tests/test_stencil_math.c: at most 2
 * units in the last place for exp2, exp, log and 1 / sqrt(x), 7 for atan2. */
#ifndef VF_STENCIL_MATH_H
#define VF_STENCIL_MATH_H

VF_DEVICE REAL vf_from_bits(vf_bits bits)
{
    union {
        vf_bits bits;
        REAL real;
    } pun;
    pun.bits = bits;
    return pun.real;
}

VF_DEVICE vf_bits vf_to_bits(REAL real)
{
    union {
        vf_bits bits;
        REAL real;
    } pun;
    pun.real = real;
    return pun.bits;
}

/* 1 / sqrt(x) of normal numbers x > 0, where a GPU would branch for a root and a quotient; a large number
 * where x is 0 or subnormal, NaN for NaN. Halving the exponent leaves an error of 3.4% at most, and
 * 1 - x y^2 = l within 0.068136: in float32 y (1 + l P(l)) with the P of least relative error there (2.4e-8),
 * in float64 two steps of the third order, which make 2.5 e^3 of an error e, and Newton's. */
VF_DEVICE REAL vf_inverse_root(REAL x)
{
#if REAL_BITS == 64
    REAL y = vf_from_bits(0x5fe6eb50c7b537a9 - (vf_to_bits(x) >> 1));
    VF_UNROLL for (int step = 0; step < 2; step++)
    {
        const REAL left = FMA(-(x * y), y, R(1.0));
        y = FMA(y * left, FMA(left, R(0.375), R(0.5)), y);
    }
    return FMA(R(0.5) * y, FMA(-(x * y), y, R(1.0)), y);
#else
    const REAL y = vf_from_bits(0x5f374758 - (vf_to_bits(x) >> 1));
    const REAL left = FMA(-(x * y), y, R(1.0));
    REAL p = 0x1.191cf6p-2f;
    p = FMA(p, left, 0x1.417cp-2f);
    p = FMA(p, left, 0x1.7fffbep-2f);
    p = FMA(p, left, 0x1.ffff8ep-2f);
    return FMA(y * left, p, y);
#endif
}

/* 2^n for n within the normal range; bits of n above the exponent's width are ignored. */
VF_DEVICE REAL vf_power_of_two(vf_bits n)
{
    return vf_from_bits((n + VF_EXPONENT_BIAS) << VF_MANTISSA);
}

/* Adding it to a number rounds that to a whole one, which is then in the low bits too. */
#define VF_SHIFTER (R(1.5) * (REAL)((vf_bits)1 << VF_MANTISSA))

/* 2^n 2^f: n is what the shifter was added to, |f| <= 1/2, 2^f by a polynomial that is 1 at 0, in float32 the
 * one of least error in units of the last place (1.06), in float64 the Taylor series, whose next term is
 * below half a unit. Its exponent takes n. */
VF_DEVICE REAL vf_exp2_near(REAL shifted, REAL f)
{
    REAL p;
#if REAL_BITS == 64
    p = 0x1.816193166d0f9p-40;
    p = FMA(p, f, 0x1.c3bd650fc2986p-36);
    p = FMA(p, f, 0x1.e8cac7351bb25p-32);
    p = FMA(p, f, 0x1.e4cf5158b8ecap-28);
    p = FMA(p, f, 0x1.b5253d395e7c4p-24);
    p = FMA(p, f, 0x1.62c0223a5c824p-20);
    p = FMA(p, f, 0x1.ffcbfc588b0c7p-17);
    p = FMA(p, f, 0x1.430912f86c787p-13);
    p = FMA(p, f, 0x1.5d87fe78a6731p-10);
    p = FMA(p, f, 0x1.3b2ab6fba4e77p-7);
    p = FMA(p, f, 0x1.c6b08d704a0c0p-5);
    p = FMA(p, f, 0x1.ebfbdff82c58fp-3);
    p = FMA(p, f, 0x1.62e42fefa39efp-1);
#else
    p = 0x1.5aaa6ep-10f;
    p = FMA(p, f, 0x1.3cec46p-7f);
    p = FMA(p, f, 0x1.c6babep-5f);
    p = FMA(p, f, 0x1.ebf9b6p-3f);
    p = FMA(p, f, 0x1.62e424p-1f);
#endif
    p = FMA(p, f, R(1.0));
    return vf_from_bits(vf_to_bits(p) + (vf_to_bits(shifted) << VF_MANTISSA));
}

#define VF_EXP2_MOST ((REAL)(VF_EXPONENT_BIAS - 1))

/* 2^-x for x >= 0: what is left of x is exact, so bodies fold exp's log2(e) into what they multiply by. 0
 * beyond VF_EXP2_MOST, where that is no normal number, and for NaN: what it weighs carries the NaN on. */
VF_DEVICE REAL vf_exp2_minus(REAL x)
{
    const REAL shifted = VF_SHIFTER - x;
    const REAL result = vf_exp2_near(shifted, (VF_SHIFTER - shifted) - x);
    return x <= VF_EXP2_MOST ? result : R(0.0);
}

/* Below minus this, whose exponential is normal, exp is 0, and above it infinite. */
#if REAL_BITS == 64
#define VF_EXP_MOST R(708.3)
#else
#define VF_EXP_MOST R(87.3)
#endif

/* exp(x) = 2^(x log2(e)); NaN for NaN. */
VF_DEVICE REAL vf_exp(REAL x)
{
#if REAL_BITS == 64
    const REAL log2e_high = 0x1.71547652b82fep0, log2e_low = 0x1.777d0ffda0d24p-56;
#else
    const REAL log2e_high = 0x1.715476p0f, log2e_low = 0x1.4ae0cp-26f;
#endif
    const REAL shifted = FMA(x, log2e_high, VF_SHIFTER);
    const REAL n = shifted - VF_SHIFTER;
    const REAL near = vf_exp2_near(shifted, FMA(x, log2e_low, FMA(x, log2e_high, -n)));
    const REAL bounded = x < -VF_EXP_MOST ? R(0.0) : near;
    const REAL result = x > VF_EXP_MOST ? vf_power_of_two(VF_EXPONENT_BIAS + 1) : bounded;
    return x == x ? result : x;
}

/* log(x) of normal numbers x > 0: n log 2 + log(1 + f), x = 2^n (1 + f), 1 + f from sqrt(1/2) to sqrt(2). In
 * float32 log(1 + f) is f - f^2/2 + f^3 P(f), P of least relative error there (3.2e-8); in float64
 * 2 atanh(s), s = f / (2 + f), by its series, whose next term is below half a unit, but for 2 s, which is
 * f - f^2/2 + s f^2/2. Minus infinity where x is smaller, NaN for NaN. */
VF_DEVICE REAL vf_log(REAL x)
{
#if REAL_BITS == 64
    const vf_bits root = 0x3fe6a09e667f3bcd;
    const REAL ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
#else
    const vf_bits root = 0x3f3504f3u;
    const REAL ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
#endif
    /* n plus the exponent's bias; as the low bits of 2^VF_MANTISSA it becomes a number. */
    const vf_bits biased =
        (vf_to_bits(x) + (((vf_bits)VF_EXPONENT_BIAS << VF_MANTISSA) - root)) >> VF_MANTISSA;
    const REAL shifter = vf_power_of_two(VF_MANTISSA);
    const REAL n = vf_from_bits(vf_to_bits(shifter) + biased) - (shifter + R(VF_EXPONENT_BIAS));
    const REAL f = vf_from_bits(vf_to_bits(x) - ((biased - VF_EXPONENT_BIAS) << VF_MANTISSA)) - R(1.0);
    const REAL half = R(0.5) * f * f;
#if REAL_BITS == 64
    const REAL s = f / (f + 2.0), z = s * s;
    REAL p = 2.0 / 21.0;
    p = FMA(p, z, 2.0 / 19.0);
    p = FMA(p, z, 2.0 / 17.0);
    p = FMA(p, z, 2.0 / 15.0);
    p = FMA(p, z, 2.0 / 13.0);
    p = FMA(p, z, 2.0 / 11.0);
    p = FMA(p, z, 2.0 / 9.0);
    p = FMA(p, z, 2.0 / 7.0);
    p = FMA(p, z, 2.0 / 5.0);
    p = FMA(p, z, 2.0 / 3.0);
    const REAL rest = s * FMA(p, z, half);
#else
    REAL p = 0x1.645eacp-4f;
    p = FMA(p, f, -0x1.2432b8p-3f);
    p = FMA(p, f, 0x1.317458p-3f);
    p = FMA(p, f, -0x1.53824ap-3f);
    p = FMA(p, f, 0x1.98d7f2p-3f);
    p = FMA(p, f, -0x1.000382p-2f);
    p = FMA(p, f, 0x1.5556d8p-2f);
    const REAL rest = f * f * f * p;
#endif
    const REAL low = FMA(n, ln2_low, rest) - half;
    const REAL result = FMA(n, ln2_high, f + low);
    const REAL infinite = vf_power_of_two(VF_EXPONENT_BIAS + 1);
    const REAL large = x < infinite ? result : x;
    return x < VF_SMALLEST_NORMAL ? -infinite : large;
}

/* The angle of (x, y) from +x towards +y, in (-pi, pi]; 0 for the origin. The smaller over the larger, its
 * angle halved twice, and the series of atan for at most tan(pi/16). -0 counts as 0; NaN where both are
 * infinite. */
VF_DEVICE REAL vf_atan2(REAL y, REAL x)
{
    const REAL ax = ABS(x), ay = ABS(y);
    const REAL larger = ay > ax ? ay : ax, smaller = ay > ax ? ax : ay;
    const REAL q = larger == R(0.0) ? larger : smaller / larger;
    const REAL half = q / (R(1.0) + SQRT(FMA(q, q, R(1.0))));
    const REAL t = half / (R(1.0) + SQRT(FMA(half, half, R(1.0))));
    const REAL z = t * t;
    REAL p;
#if REAL_BITS == 64
    p = 1.0 / 25.0;
    p = FMA(p, z, -1.0 / 23.0);
    p = FMA(p, z, 1.0 / 21.0);
    p = FMA(p, z, -1.0 / 19.0);
    p = FMA(p, z, 1.0 / 17.0);
    p = FMA(p, z, -1.0 / 15.0);
    p = FMA(p, z, 1.0 / 13.0);
    p = FMA(p, z, -1.0 / 11.0);
    p = FMA(p, z, 1.0 / 9.0);
#else
    p = R(1.0 / 9.0);
#endif
    p = FMA(p, z, R(-1.0 / 7.0));
    p = FMA(p, z, R(1.0 / 5.0));
    p = FMA(p, z, R(-1.0 / 3.0));
    const REAL angle = R(4.0) * FMA(p * z, t, t);
    const REAL octant = ay > ax ? R(0x1.921fb54442d18p0) - angle : angle;
    const REAL upper = x < R(0.0) ? R(0x1.921fb54442d18p1) - octant : octant;
    return y < R(0.0) ? -upper : upper;
}

#endif
