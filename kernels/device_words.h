/* The words that all device code is written in: for NVRTC, or for the tests on the CPU. */
#ifndef VF_DEVICE_WORDS_H
#define VF_DEVICE_WORDS_H

#if REAL_BITS == 64
#define REAL double
#else
#define REAL float
#endif

/* Unrolling is what turns small arrays into registers; on the CPU it is but work for the compiler. */
#ifdef VF_ON_CPU
#define VF_UNROLL
#define VF_NO_UNROLL
#define VF_UNROLL_BY_4
#define VF_SHARED_MEMORY(name) unsigned char *const name = vf_cpu_shared()
#else
#define VF_UNROLL _Pragma("unroll")
#define VF_NO_UNROLL _Pragma("unroll 1")
#define VF_UNROLL_BY_4 _Pragma("unroll 4")
#define VF_SHARED_MEMORY(name) extern __shared__ __align__(128) unsigned char name[]
#define VF_ENTRY(args)
#endif

#define VF_INLINE static __device__ __forceinline__
#define VF_MEMBER __device__ __forceinline__

/* The first statement of every kernel. Devices from capability 9.0 on may begin a kernel while the one before
 * it in the stream ends; here it waits until that one's results can be read, and what that one read may be
 * overwritten. */
VF_INLINE void vf_wait_for_earlier_kernels()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Within a unit of the last place; subnormal numbers count as 0, and are given as 0. */
#define VF_NEAR_RECIPROCAL(x) vf_near_reciprocal(x)
/* Where inputs have few bytes, arithmetic is what a sweep waits for. */
#if REAL_BITS == 32 && VF_SMALL_INPUTS
#define SQRT(x) vf_root(x)
#endif
#ifdef VF_ON_CPU
VF_INLINE float vf_normal_or_0(float x)
{
    return fabsf(x) < 0x1p-126f ? 0 * x : x;
}
VF_INLINE float vf_near_reciprocal(float x)
{
    return vf_normal_or_0(1 / vf_normal_or_0(x));
}

#define vf_root(x) sqrtf(x)
#define vf_root_of_steps(x) sqrtf(x)
#define vf_root_or_0(x) sqrtf(x)

VF_INLINE REAL vf_unknown(REAL value)
{
    return value;
}
#else
/* Not for the tests: from a near root of another processor not every root comes out right. */
#define VF_NEAR_INVERSE_ROOT(x) vf_near_inverse_root(x)

VF_INLINE float vf_near_reciprocal(float x)
{
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
    return near;
}

VF_INLINE float vf_near_inverse_root(float x)
{
    float near;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
    return near;
}

/* Rounded to nearest: what sqrt.rn computes, whose branch around its rare cases keeps others from being
 * computed beside it. */
VF_INLINE float vf_root(float x)
{
    const bool is_small = x < 0x1p-96f;
    const float within = x * (is_small ? 0x1p64f : 1.0f);
    const float inverse = vf_near_inverse_root(within);
    const float near = within * inverse, left = __fmaf_rn(-near, near, within),
                root = __fmaf_rn(left, 0.5f * inverse, near) * (is_small ? 0x1p-32f : 1.0f);
    return x == 0.0f || x == __uint_as_float(0x7f800000u) ? x : root;
}

/* The same of 0 and of ordinary numbers (stencil_quotient.h): what is added is lost in these, and gives 0 a
 * finite inverse. */
VF_INLINE float vf_root_of_steps(float x)
{
    const float inverse = vf_near_inverse_root(x + 0x1p-126f), near = x * inverse,
                root = __fmaf_rn(__fmaf_rn(-near, near, x), 0.5f * inverse, near);
    return root;
}

/* Of 0 or more: the compiler's root, which is the fastest but takes a long way of 0 too, as flat images have
 * it everywhere. */
VF_INLINE float vf_root_or_0(float x)
{
    const float root = sqrtf(x == 0.0f ? 1.0f : x);
    return x == 0.0f ? 0.0f : root;
}

/* The value, of which the compiler then knows nothing. */
VF_INLINE REAL vf_unknown(REAL value)
{
#if REAL_BITS == 64
    asm("" : "+d"(value));
#else
    asm("" : "+f"(value));
#endif
    return value;
}
#endif

/* The multiple of `step` at or above i >= 0. */
VF_INLINE constexpr int vf_round_up(int i, int step)
{
    return (i + step - 1) / step * step;
}

/* The type as which so many bytes are moved at once: 16 at most. */
template <int bytes> struct vf_word {
    static_assert(bytes % 16 == 0, "no word of so many bytes");
    typedef uint4 type;
};
template <> struct vf_word<8> {
    typedef uint2 type;
};
template <> struct vf_word<4> {
    typedef unsigned int type;
};
template <> struct vf_word<2> {
    typedef unsigned short type;
};
template <> struct vf_word<1> {
    typedef unsigned char type;
};

/* The word is computed now, not where it is first used. */
template <class W> VF_INLINE void vf_settle(W &)
{
}
#ifndef VF_ON_CPU
VF_INLINE void vf_settle(unsigned int &w)
{
    asm volatile("" : "+r"(w));
}
VF_INLINE void vf_settle(uint2 &w)
{
    asm volatile("" : "+r"(w.x), "+r"(w.y));
}
VF_INLINE void vf_settle(uint4 &w)
{
    asm volatile("" : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w));
}
#endif

/* ---- addresses ---- */

/* The pointer, place of an element, or number, which the compiler keeps: it would find it anew at every
 * access. */
template <class T> VF_INLINE T vf_kept(T place)
{
#ifndef VF_ON_CPU
    asm volatile("" : "+l"(place));
#endif
    return place;
}
VF_INLINE int vf_kept(int number)
{
#ifndef VF_ON_CPU
    asm volatile("" : "+r"(number));
#endif
    return number;
}

/* The element `rows` rows after one, by one multiplication; the compiler takes several instructions. */
VF_INLINE long long vf_rows_after(long long element, unsigned pitch, unsigned rows)
{
#ifdef VF_ON_CPU
    return element + (long long)pitch * rows;
#else
    long long after;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(after) : "r"(pitch), "r"(rows), "l"(element));
    return after;
#endif
}
template <class T> VF_INLINE T *vf_rows_after(T *row, unsigned pitch, unsigned rows)
{
    return (T *)vf_rows_after((long long)row, pitch, rows * (unsigned)sizeof(T));
}

/* The same of rows before it too, for pitches that are an int. */
template <class T> VF_INLINE T *vf_rows_away(T *row, int pitch, int rows)
{
#ifdef VF_ON_CPU
    return row + (long long)pitch * rows;
#else
    T *there;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(there) : "r"(pitch), "r"(rows * (int)sizeof(T)), "l"(row));
    return there;
#endif
}

/* The pointer, of which the compiler then knows nothing: what is added to it stays one addition, where it
 * would find every address anew from the number of a plane. */
template <class T> VF_INLINE T *vf_fixed(T *pointer)
{
#ifndef VF_ON_CPU
    asm("" : "+l"(pointer));
#endif
    return pointer;
}

#endif
