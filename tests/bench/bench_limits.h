/* The machine's own limits, measured beside the filters: copying an array, and fused multiply-add. */
#ifndef VF_BENCH_LIMITS_H
#define VF_BENCH_LIMITS_H

#include <stddef.h>

/* Processor seconds that all threads of this process have used. */
double bench_processor_time(void);

/* A copy through the cache by memcpy, and one whose stores bypass it. */
enum bench_copy { BENCH_COPY_PLAIN, BENCH_COPY_STREAMING, BENCH_COPY_COUNT };
extern const char *const bench_copy_name[BENCH_COPY_COUNT];

/* Seconds of copying `bytes` from one array to another, both aligned to a cache line, with `threads`. */
double bench_copy(enum bench_copy kind, void *to, const void *from, size_t bytes, int threads);

/* float32 operations a nanosecond, of which a fused multiply-add is two, at the vector level that the program
 * uses; 0: not known for this processor. */
double bench_fma_gflops(int threads);

#endif
