/* For loops outside kernels/ that a compiler vectorises: VF_VECTOR_CLONES before a function has it compiled
 * for AVX2 as well, and the loader takes that one where the processor has it. The results are the same. */
#ifndef VF_VECTOR_CLONES_H
#define VF_VECTOR_CLONES_H

#include <stdint.h> /* __GLIBC__ */

#ifdef __clang__ /* whose clones are not found from other files before 19 */
#define VF_HAS_CLONES \
    (__clang_major__ >= 19 && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define VF_HAS_CLONES 0
#else
#define VF_HAS_CLONES 1
#endif

/* The loader chooses before a sanitizer's own memory is there. */
#if defined VF_HAS_v3 && defined __GLIBC__ && VF_HAS_CLONES
#define VF_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define VF_VECTOR_CLONES
#endif

#endif
