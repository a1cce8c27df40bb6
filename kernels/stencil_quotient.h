/* Division and roots by a short way, for devices that branch around the rare cases of `/` and SQRT in
 * float32: where many follow one another, the branches keep the compiler from computing them side by side.
 *
 *   QUOTIENT_OR_0(way, a, b)      a / b for b from 1 on or NaN, but 0 where a is 0, whatever b >= 0 is
 *   ORDINARY_QUOTIENT(way, a, b)  the same where nothing is in doubt: b is ordinary, a is 0 or |a| from 2^-25
 *                                 to 2^25
 *   ORDINARY_RECIPROCAL(way, b)   1 / b, b ordinary; by the short way 0 or NaN where b > 0 is not from 2^-126
 *                                 to 2^126
 *   ORDINARY_ROOT(way, a)         SQRT(a), a ordinary; by the short way right up to the largest number, and
 *                                 NaN for what is infinite
 *   DOUBT_UNLESS_ORDINARY(a)      where it is not; 0 is taken for ordinary too
 *
 * Ordinary numbers are those from 2^-100 to 2^70.
 * `way` is SHORT_WAY, or what a function got for it: at 0 this is `/`. Otherwise it is that to the last bit,
 * or NaN where that is in doubt: for a quotient up to 2^-100, 0 too, and for |b| above 2^126. The body hands
 * what it makes of its quotients to DOUBT(value); where that is NaN, the scheme computes the voxel again with
 * SHORT_WAY 0.
 *
 * The device gives VF_NEAR_RECIPROCAL(b), 0 for |b| > 2^126 and infinite for |b| < 2^-126. From it 1/b comes
 * in the steps that NVIDIA's compiler takes for the usual cases on every device, and is right wherever its
 * own is; the quotient by Markstein's theorem (1990), which asks for the right 1/b and an exact remainder.
 * The root is NVIDIA's own for usual cases likewise, from VF_NEAR_INVERSE_ROOT(a). */
#ifndef VF_STENCIL_QUOTIENT_H
#define VF_STENCIL_QUOTIENT_H

/* NaN, as a constant: some compilers divide for 0 / 0. */
#define VF_IN_DOUBT vf_from_bits(0x7fc00000u)
#define VF_INFINITE vf_from_bits(0x7f800000u)

#define QUOTIENT_OR_0(way, a, b) ((way) ? vf_short_quotient_or_0(a, b) : vf_quotient_or_0(a, b))
#define ORDINARY_QUOTIENT(way, a, b) ((way) ? vf_ordinary_quotient(a, b) : (a) / (b))
#define ORDINARY_RECIPROCAL(way, b) ((way) ? vf_ordinary_reciprocal(b) : R(1.0) / (b))
/* The long way is rare: the compiler's own root, with its branch, is the shorter code. */
#define ORDINARY_ROOT(way, a) ((way) ? vf_ordinary_root(a) : VF_ROOT(a))
#define DOUBT_UNLESS_ORDINARY(a) DOUBT(vf_doubt_unless_ordinary(a))

VF_DEVICE REAL vf_ordinary_reciprocal(REAL b)
{
#if defined VF_NEAR_RECIPROCAL && REAL_BITS == 32
    const REAL near = VF_NEAR_RECIPROCAL(b);
    return FMA(FMA(-b, near, R(1.0)), near, near);
#else
    return R(1.0) / b;
#endif
}

VF_DEVICE REAL vf_ordinary_quotient(REAL a, REAL b)
{
#if defined VF_NEAR_RECIPROCAL && REAL_BITS == 32
    const REAL reciprocal = vf_ordinary_reciprocal(b), first = a * reciprocal;
    return FMA(FMA(-b, first, a), reciprocal, first);
#else
    return a / b;
#endif
}

/* Divided first: around a division that is not always wanted some compilers put a branch. */
VF_DEVICE REAL vf_quotient_or_0(REAL a, REAL b)
{
    const REAL quotient = a / b;
    return a == R(0.0) ? R(0.0) : quotient;
}

/* For a of 0 the quotient is +0 by itself, or NaN. */
VF_DEVICE REAL vf_short_quotient_or_0(REAL a, REAL b)
{
#if defined VF_NEAR_RECIPROCAL && REAL_BITS == 32
    const REAL quotient = vf_ordinary_quotient(a, b);
    return ((ABS(quotient) > R(0x1p-100)) | (a == R(0.0))) ? quotient : VF_IN_DOUBT;
#else
    return vf_quotient_or_0(a, b);
#endif
}

VF_DEVICE REAL vf_ordinary_root(REAL a)
{
#if defined VF_NEAR_INVERSE_ROOT && REAL_BITS == 32
    const REAL near = VF_NEAR_INVERSE_ROOT(a), root = a * near;
    return FMA(FMA(-root, root, a), R(0.5) * near, root);
#else
    return SQRT(a);
#endif
}

VF_DEVICE REAL vf_doubt_unless_ordinary(REAL a)
{
#if REAL_BITS == 32
    const REAL from_above = a <= R(0x1p70) ? R(0.0) : VF_IN_DOUBT;
    return a >= R(0x1p-100) || a == R(0.0) ? from_above : VF_IN_DOUBT;
#else
    (void)a;
    return 0;
#endif
}

#endif
