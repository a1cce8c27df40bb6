/* The words that all device code is written in: for NVRTC, or for the tests on the CPU. */
#ifndef VF_DEVICE_WORDS_H
#define VF_DEVICE_WORDS_H

#if REAL_BITS == 64
#define REAL double
#else
#define REAL float
#endif

/* Unrolling is what turns small arrays into registers. */
#ifdef VF_ON_CPU
#define VF_UNROLL _Pragma("GCC unroll 64")
#define VF_NO_UNROLL _Pragma("GCC unroll 1")
#define VF_SHARED_MEMORY(name) unsigned char *const name = vf_cpu_shared()
#else
#define VF_UNROLL _Pragma("unroll")
#define VF_NO_UNROLL _Pragma("unroll 1")
#define VF_SHARED_MEMORY(name) extern __shared__ __align__(128) unsigned char name[]
#define VF_ENTRY(args)
#endif

#define VF_INLINE static __device__ __forceinline__
#define VF_MEMBER __device__ __forceinline__

#endif
