/* Division by a short way, for devices that branch around the rare cases of `/` in float32: where many
 * quotients follow one another, the branches keep the compiler from computing them side by side.
 *
 *   QUOTIENT(way, a, b)   a / b for |a| or |b| from 1 on
 *
 * `way` is SHORT_WAY, or what a function got for it: at 0 this is `/`. Otherwise it is that to the last bit,
 * or NaN where that is in doubt: for a quotient up to 2^-100, 0 too, and for |b| above 2^126. The body hands
 * what it makes of its quotients to DOUBT(value); where that is NaN, the scheme computes the voxel again with
 * SHORT_WAY 0.
 *
 * The device gives VF_NEAR_RECIPROCAL(b), 0 for |b| > 2^126 and infinite for |b| < 2^-126. From it 1/b comes
 * in the steps that NVIDIA's compiler takes for the usual cases on every device, and is right wherever its
 * own is; the quotient by Markstein's theorem (1990), which asks for the right 1/b and an exact remainder. */
#ifndef VF_STENCIL_QUOTIENT_H
#define VF_STENCIL_QUOTIENT_H

#define QUOTIENT(way, a, b) ((way) ? vf_short_quotient(a, b) : (a) / (b))

VF_DEVICE REAL vf_short_quotient(REAL a, REAL b)
{
#if defined VF_NEAR_RECIPROCAL && REAL_BITS == 32
    const REAL near = VF_NEAR_RECIPROCAL(b), reciprocal = FMA(FMA(-b, near, R(1.0)), near, near);
    const REAL first = a * reciprocal, quotient = FMA(FMA(-b, first, a), reciprocal, first);
    return ABS(quotient) > R(0x1p-100) ? quotient : R(0.0) / R(0.0);
#else
    return a / b;
#endif
}

#endif
