/* exp and atan2 for stencil bodies: one text for every backend, so that results agree to the last bit. Both are
 * written without branches. Errors, measured by tests/test_stencil_math.c: at most 2 units in the last place for exp
 * (subnormal results too: to half their spacing more), 4 for atan2. */
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

/* 2^n for n within the normal range. */
VF_DEVICE REAL vf_power_of_two(vf_bits n)
{
    return vf_from_bits((n + VF_EXPONENT_BIAS) << VF_MANTISSA);
}

/* exp(x) = 2^n exp(r), |r| <= ln 2 / 2, and the Taylor series of exp(r), whose next term is below half a unit. */
VF_DEVICE REAL vf_exp(REAL x)
{
#if REAL_BITS == 64
    const REAL least = -746.0, most = 710.0, shifter = 0x1.8p52;
    const REAL ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
#else
    const REAL least = -104.0f, most = 89.0f, shifter = 0x1.8p23f;
    const REAL ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
#endif
    const REAL bounded = x < least ? least : (x > most ? most : x);
    const REAL shifted = FMA(bounded, R(0x1.71547652b82fep0), shifter);
    const vf_bits n = vf_to_bits(shifted) - vf_to_bits(shifter);
    const REAL n_real = shifted - shifter;
    const REAL r = FMA(n_real, -ln2_low, FMA(n_real, -ln2_high, bounded));
    REAL p;
#if REAL_BITS == 64
    p = 1.0 / 6227020800.0;
    p = FMA(p, r, 1.0 / 479001600.0);
    p = FMA(p, r, 1.0 / 39916800.0);
    p = FMA(p, r, 1.0 / 3628800.0);
    p = FMA(p, r, 1.0 / 362880.0);
    p = FMA(p, r, 1.0 / 40320.0);
    p = FMA(p, r, 1.0 / 5040.0);
#else
    p = R(1.0 / 5040.0);
#endif
    p = FMA(p, r, R(1.0 / 720.0));
    p = FMA(p, r, R(1.0 / 120.0));
    p = FMA(p, r, R(1.0 / 24.0));
    p = FMA(p, r, R(1.0 / 6.0));
    p = FMA(p, r, R(0.5));
    p = FMA(p, r, R(1.0));
    p = FMA(p, r, R(1.0));
    /* Two factors, since 2^n alone may be subnormal or overflow; the first is exact. */
    const vf_bits half = ((n + 4096) >> 1) - 2048;
    return p * vf_power_of_two(half) * vf_power_of_two(n - half);
}

/* The angle of (x, y) from +x towards +y, in (-pi, pi]; 0 for the origin. The smaller over the larger, its angle
 * halved twice, and the series of atan for at most tan(pi/16). */
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
