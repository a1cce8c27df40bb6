/* Gives the CUDA words of device code a meaning on the CPU, for tests without a GPU. The fake NVRTC puts this
 * ahead of a kernel's text and compiles both; the fake driver (fake_cuda/) runs the result, block by block,
 * with a fiber for each thread. It includes no system header, since it is compiled again with each kernel.
 *
 * It has what kernels use: indices of threads and blocks, barriers, warp collectives, atomics, vector types,
 * arithmetic. All shared memory is dynamic; VF_SHARED_MEMORY gives it. A text has one
 * kernel, vf_kernel, with one parameter, passed by value, and at its end VF_ENTRY(type of the parameter). */
#ifndef VF_CUDA_ON_CPU_H
#define VF_CUDA_ON_CPU_H

#include "fake_cuda/machine.h"

#define __global__
#define __device__
#define __grid_constant__
/* Inlining is left to the compiler: always to inline would take it several times as long for kernels with
 * thousands of calls. */
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static_assert(false, "static shared variables do not exist here: use VF_SHARED_MEMORY");

#define VF_CPU_INLINE static inline __attribute__((unused))
#define VF_CPU_EXPORT extern "C" __attribute__((visibility("default")))

typedef decltype(sizeof(0)) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;

VF_CPU_EXPORT const fake_machine *vf_cpu_machine;
const fake_machine *vf_cpu_machine;

#define VF_ENTRY(type)                                                     \
    VF_CPU_EXPORT const unsigned long vf_cpu_argument_size = sizeof(type); \
    VF_CPU_EXPORT void vf_cpu_run(const void *argument);                   \
    void vf_cpu_run(const void *argument)                                  \
    {                                                                      \
        vf_kernel(*(const type *)argument);                                \
    }

/* ---- places ---- */

#define threadIdx (vf_cpu_machine->self()->thread)
#define blockIdx (vf_cpu_machine->self()->block)
#define blockDim (vf_cpu_machine->self()->block_size)
#define gridDim (vf_cpu_machine->self()->grid_size)
#define warpSize FAKE_CUDA_WARP

VF_CPU_INLINE unsigned char *vf_cpu_shared()
{
    return (unsigned char *)vf_cpu_machine->self()->shared;
}

VF_CPU_INLINE int vf_cpu_lane()
{
    const fake_self *self = vf_cpu_machine->self();
    const unsigned row = self->thread.z * self->block_size.y + self->thread.y;
    return (int)((row * self->block_size.x + self->thread.x) % FAKE_CUDA_WARP);
}

/* ---- barriers and warps ---- */

/* The caller's file and line, for messages, and to check that threads which meet come from the same place. */
#define VF_CPU_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

VF_CPU_INLINE void __syncthreads(VF_CPU_PLACE)
{
    vf_cpu_machine->barrier({file, line});
}

/* A barrier in two steps: kernels/device_gate.h. */
VF_CPU_INLINE void vf_cpu_open_gate()
{
    vf_cpu_machine->open_gate();
}

VF_CPU_INLINE void vf_cpu_arrive()
{
    vf_cpu_machine->arrive();
}

VF_CPU_INLINE void vf_cpu_wait_arrived(unsigned phase, VF_CPU_PLACE)
{
    vf_cpu_machine->wait_arrived(phase, {file, line});
}

VF_CPU_INLINE void __syncwarp(unsigned mask = 0xffffffffu, VF_CPU_PLACE)
{
    vf_cpu_machine->collective(FAKE_SYNC, mask, 0, 0, {file, line});
}

VF_CPU_INLINE unsigned __ballot_sync(unsigned mask, int predicate, VF_CPU_PLACE)
{
    return (unsigned)vf_cpu_machine->collective(FAKE_BALLOT, mask, predicate != 0, 0, {file, line});
}

/* Copies that pass by registers: kernels/device_copy.h. */
VF_CPU_INLINE void vf_cpu_copy(void *to, const void *from, size_t bytes)
{
    vf_cpu_machine->copy(to, from, bytes);
}

VF_CPU_INLINE void vf_cpu_close_copies()
{
    vf_cpu_machine->close_copies();
}

VF_CPU_INLINE void vf_cpu_wait_copies(unsigned groups)
{
    vf_cpu_machine->wait_copies(groups);
}

/* What blocks count together: kernels/device_pace.h. */
VF_CPU_INLINE void vf_cpu_count_around(unsigned *count, unsigned last)
{
    vf_cpu_machine->count_around(count, last);
}

template <class T> VF_CPU_INLINE T vf_cpu_shuffle(unsigned mask, T value, int source, fake_place place)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take 32 or 64 bits");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = vf_cpu_machine->collective(FAKE_SHUFFLE, mask, bits, source, place);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* Lanes are in segments of `width`. A lane that would read beyond its own segment gets its own value. */
template <class T>
VF_CPU_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, VF_CPU_PLACE)
{
    const int first = vf_cpu_lane() & ~(width - 1);
    return vf_cpu_shuffle(mask, value, first + (source & (width - 1)), {file, line});
}

template <class T>
VF_CPU_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, VF_CPU_PLACE)
{
    const int lane = vf_cpu_lane(), source = lane - (int)delta;
    return vf_cpu_shuffle(mask, value, source < (lane & ~(width - 1)) ? lane : source, {file, line});
}

template <class T>
VF_CPU_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, VF_CPU_PLACE)
{
    const int lane = vf_cpu_lane(), source = lane + (int)delta;
    return vf_cpu_shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, {file, line});
}

template <class T>
VF_CPU_INLINE T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize, VF_CPU_PLACE)
{
    const int lane = vf_cpu_lane(), source = lane ^ bits;
    return vf_cpu_shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, {file, line});
}

/* ---- bytes and halves of words ---- */

/* Each digit of `selector` is the number of a byte of `low`, or, from 4 on, of `high`. */
VF_CPU_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const unsigned long long both = (unsigned long long)high << 32 | low;
    unsigned word = 0;
    for (int i = 0; i < 4; i++)
        word |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return word;
}

/* The larger, and the smaller, of each half. */
VF_CPU_INLINE unsigned __vmaxu2(unsigned a, unsigned b)
{
    const unsigned low = (a & 0xffff) > (b & 0xffff) ? a : b, high = a >> 16 > b >> 16 ? a : b;
    return (low & 0xffff) | (high & 0xffff0000);
}
VF_CPU_INLINE unsigned __vminu2(unsigned a, unsigned b)
{
    const unsigned low = (a & 0xffff) < (b & 0xffff) ? a : b, high = a >> 16 < b >> 16 ? a : b;
    return (low & 0xffff) | (high & 0xffff0000);
}

/* The same of halves that have a sign. */
VF_CPU_INLINE unsigned __vmaxs2(unsigned a, unsigned b)
{
    return __vmaxu2(a ^ 0x80008000, b ^ 0x80008000) ^ 0x80008000;
}
VF_CPU_INLINE unsigned __vmins2(unsigned a, unsigned b)
{
    return __vminu2(a ^ 0x80008000, b ^ 0x80008000) ^ 0x80008000;
}

/* ---- memory ---- */

template <class T> VF_CPU_INLINE T __ldg(const T *from)
{
    return *from;
}
template <class T> VF_CPU_INLINE void __stwb(T *to, T value)
{
    *to = value;
}

/* Atomically replaces *at by change(*at), and returns what it was. */
template <class T, class F> VF_CPU_INLINE T vf_cpu_atomic(T *at, F change)
{
    T old, now;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    do
        now = change(old);
    while (!__atomic_compare_exchange(at, &old, &now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

#define VF_CPU_ATOMIC(name, T, now)                                         \
    VF_CPU_INLINE T name(T *at, T value)                                    \
    {                                                                       \
        return vf_cpu_atomic(at, [value](T old) -> T { return (T)(now); }); \
    }
VF_CPU_ATOMIC(atomicAdd, unsigned int, old + value);
VF_CPU_ATOMIC(atomicAdd, unsigned long long, old + value);
VF_CPU_ATOMIC(atomicMax, unsigned int, value > old ? value : old);
VF_CPU_ATOMIC(atomicMax, unsigned long long, value > old ? value : old);

/* ---- vector types, aligned as CUDA aligns them ---- */

#define VF_CPU_VECTORS(T, vector)                                       \
    struct __align__(2 * sizeof(T)) vector##2                           \
    {                                                                   \
        T x, y;                                                         \
    };                                                                  \
    struct __align__(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) vector##4 \
    {                                                                   \
        T x, y, z, w;                                                   \
    };                                                                  \
    VF_CPU_INLINE vector##2 make_##vector##2(T x, T y)                  \
    {                                                                   \
        return {x, y};                                                  \
    }                                                                   \
    VF_CPU_INLINE vector##4 make_##vector##4(T x, T y, T z, T w)        \
    {                                                                   \
        return {x, y, z, w};                                            \
    }

VF_CPU_VECTORS(unsigned int, uint);
VF_CPU_VECTORS(unsigned long long, ulonglong);
VF_CPU_VECTORS(float, float);
VF_CPU_VECTORS(double, double);

/* ---- arithmetic, each operation rounded once ---- */

#define VF_CPU_REAL(T, f)               \
    VF_CPU_INLINE T abs(T a)            \
    {                                   \
        return __builtin_fabs##f(a);    \
    }                                   \
    VF_CPU_INLINE T rint(T a)           \
    {                                   \
        return __builtin_rint##f(a);    \
    }                                   \
    VF_CPU_INLINE T min(T a, T b)       \
    {                                   \
        return __builtin_fmin##f(a, b); \
    }                                   \
    VF_CPU_INLINE T max(T a, T b)       \
    {                                   \
        return __builtin_fmax##f(a, b); \
    }
VF_CPU_REAL(float, f);
VF_CPU_REAL(double, );

VF_CPU_INLINE float sqrtf(float a)
{
    return __builtin_sqrtf(a);
}
VF_CPU_INLINE float fabsf(float a)
{
    return __builtin_fabsf(a);
}

#define VF_CPU_ORDER(T)           \
    VF_CPU_INLINE T min(T a, T b) \
    {                             \
        return b < a ? b : a;     \
    }                             \
    VF_CPU_INLINE T max(T a, T b) \
    {                             \
        return a < b ? b : a;     \
    }
VF_CPU_ORDER(int);
VF_CPU_ORDER(unsigned int);
VF_CPU_ORDER(long);
VF_CPU_ORDER(unsigned long);
VF_CPU_ORDER(long long);
VF_CPU_ORDER(unsigned long long);
VF_CPU_INLINE int abs(int a)
{
    return a < 0 ? -a : a;
}

VF_CPU_INLINE int __ffs(int a)
{
    return __builtin_ffs(a);
}

/* ---- bits ---- */

template <class To, class From> VF_CPU_INLINE To vf_cpu_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

VF_CPU_INLINE unsigned __float_as_uint(float a)
{
    return vf_cpu_bits<unsigned>(a);
}
VF_CPU_INLINE int __float_as_int(float a)
{
    return vf_cpu_bits<int>(a);
}
VF_CPU_INLINE float __uint_as_float(unsigned a)
{
    return vf_cpu_bits<float>(a);
}
VF_CPU_INLINE float __int_as_float(int a)
{
    return vf_cpu_bits<float>(a);
}
VF_CPU_INLINE double __longlong_as_double(long long a)
{
    return vf_cpu_bits<double>(a);
}

#endif
