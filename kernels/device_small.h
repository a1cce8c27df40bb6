/* Cells of 8 and 16 bits: between the compute type and how they lie in memory, several of a word at once. A
 * value is rounded to nearest, halves to even, and saturates; NaN is 0. Included by device.h, which says the
 * same of one cell (vf_put).
 *
 * Where the compute type is float, the device has instructions for that; what a cell takes:
 *   from 8 bits    2: its byte becomes the last bits of 2^23, which is subtracted; a signed one is made
 *                  unsigned first, four at a time. Conversions proper would take 2 to 4, of few lanes.
 *   from 16 bits   1.5: a conversion, of few lanes; every second cell goes the way of 8 bits instead, which
 *                  other lanes do at the same time
 *   to 8 bits      0.5: the compiler makes one instruction of two conversions and a packing
 *   to 16 bits     1.5: the product with the smallest float, limited to [0, 1], is 0 for NaN, and its bits
 *                  are the integer; with a sign, a conversion. Two are packed at once. */
#ifndef VF_DEVICE_SMALL_H
#define VF_DEVICE_SMALL_H

#if defined(VF_ON_CPU) || REAL_BITS == 64

/* The bounds are exact in either compute type. */
template <class T> VF_INLINE T vf_to_small(REAL value, int low, int high)
{
    const REAL rounded = rint(value);
    return value != value ? T(0) : rounded <= low ? T(low) : rounded >= high ? T(high) : T((int)rounded);
}

VF_INLINE void vf_put(unsigned char *to, REAL v)
{
    *to = vf_to_small<unsigned char>(v, 0, 255);
}
VF_INLINE void vf_put(signed char *to, REAL v)
{
    *to = vf_to_small<signed char>(v, -128, 127);
}
VF_INLINE void vf_put(unsigned short *to, REAL v)
{
    *to = vf_to_small<unsigned short>(v, 0, 65535);
}
VF_INLINE void vf_put(short *to, REAL v)
{
    *to = vf_to_small<short>(v, -32768, 32767);
}

template <class T, int n> VF_INLINE void vf_widen_cells(const T (&cell)[n], REAL *v)
{
    VF_UNROLL for (int i = 0; i < n; i++) v[i] = (REAL)cell[i];
}

template <class T, int n> VF_INLINE void vf_narrow_cells(const REAL *v, T (&cell)[n])
{
    VF_UNROLL for (int i = 0; i < n; i++) vf_put(&cell[i], v[i]);
}

#else

template <class T> VF_INLINE constexpr bool vf_is_signed()
{
    return T(-1) < T(0);
}

VF_INLINE int vf_rounded(float value)
{
    int rounded;
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    return rounded;
}

/* Two integers to 16 bits each, `low` below `high`. */
template <bool is_signed> VF_INLINE unsigned int vf_pack_two(int low, int high)
{
    unsigned int word;
    if constexpr (is_signed)
        asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(word) : "r"(high), "r"(low));
    else
        asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(word) : "r"(high), "r"(low));
    return word;
}

/* To 8 bits each, below the lower half of what was packed before. */
template <bool is_signed> VF_INLINE unsigned int vf_pack_below(int low, int high, unsigned int before)
{
    unsigned int word;
    if constexpr (is_signed)
        asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(high), "r"(low), "r"(before));
    else
        asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(high), "r"(low), "r"(before));
    return word;
}

/* The bits are the value rounded, from 0 to what is more than 16 bits. */
VF_INLINE int vf_bits_of_rounded(float value)
{
    return __float_as_int(__saturatef(value * __uint_as_float(1u)));
}

VF_INLINE void vf_put(unsigned char *to, float v)
{
    *to = (unsigned char)vf_pack_below<false>(vf_rounded(v), 0, 0);
}
VF_INLINE void vf_put(signed char *to, float v)
{
    *to = (signed char)vf_pack_below<true>(vf_rounded(v), 0, 0);
}
VF_INLINE void vf_put(unsigned short *to, float v)
{
    *to = (unsigned short)vf_pack_two<false>(vf_bits_of_rounded(v), 0);
}
VF_INLINE void vf_put(short *to, float v)
{
    *to = (short)vf_pack_two<true>(vf_rounded(v), 0);
}

template <class T, int n> VF_INLINE void vf_widen_cells(const T (&cell)[n], REAL *v)
{
    if constexpr (sizeof(T) == 1 && n % 4 == 0) {
        constexpr bool is_signed = vf_is_signed<T>();
        VF_UNROLL for (int i = 0; i < n; i++)
        {
            const unsigned int word = ((const unsigned int *)cell)[i / 4] ^ (is_signed ? 0x80808080u : 0);
            v[i] = __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440 | i % 4)) -
                   (is_signed ? 8388736.0f : 8388608.0f);
        }
    } else if constexpr (sizeof(T) == 2 && n % 2 == 0) {
        constexpr bool is_signed = vf_is_signed<T>();
        VF_UNROLL for (int i = 0; i < n; i += 2)
        {
            const unsigned int word = ((const unsigned int *)cell)[i / 2] ^ (is_signed ? 0x8000u : 0);
            v[i] = __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7410)) -
                   (is_signed ? 8421376.0f : 8388608.0f);
            v[i + 1] = (REAL)cell[i + 1];
        }
    } else {
        VF_UNROLL for (int i = 0; i < n; i++) v[i] = (REAL)cell[i];
    }
}

template <class T, int n> VF_INLINE void vf_narrow_cells(const REAL *v, T (&cell)[n])
{
    constexpr bool is_signed = vf_is_signed<T>();
    if constexpr (sizeof(T) == 1 && n % 4 == 0) {
        VF_UNROLL for (int i = 0; i < n; i += 4)
        {
            const unsigned int upper =
                vf_pack_below<is_signed>(vf_rounded(v[i + 2]), vf_rounded(v[i + 3]), 0);
            ((unsigned int *)cell)[i / 4] =
                vf_pack_below<is_signed>(vf_rounded(v[i]), vf_rounded(v[i + 1]), upper);
        }
    } else if constexpr (sizeof(T) == 2 && n % 2 == 0) {
        VF_UNROLL for (int i = 0; i < n; i += 2)((unsigned int *)cell)[i / 2] =
            is_signed ? vf_pack_two<is_signed>(vf_rounded(v[i]), vf_rounded(v[i + 1]))
                      : vf_pack_two<is_signed>(vf_bits_of_rounded(v[i]), vf_bits_of_rounded(v[i + 1]));
    } else {
        VF_UNROLL for (int i = 0; i < n; i++) vf_put(&cell[i], v[i]);
    }
}

#endif

#endif
