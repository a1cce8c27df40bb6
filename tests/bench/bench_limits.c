#include "bench_limits.h"
#include "clock.h"

#include <omp.h>
#include <string.h>
#include <time.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu_rows.h"

double bench_processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- copying ---- */

const char *const bench_copy_name[BENCH_COPY_COUNT] = {"memcpy", "non-temporal"};

/* What a thread copies at a time: small enough that memcpy itself does not turn to non-temporal stores, and
 * that a thread which loses its processor does not hold up the others. */
#define BLOCK_BYTES ((size_t)256 << 10)

static void copy_streaming(char *to, const char *from, size_t bytes)
{
#ifdef __x86_64__
    size_t whole = bytes / 64 * 64;
    for (size_t i = 0; i < whole; i += 64)
        for (size_t k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(void *)(to + i + k),
                             _mm_load_si128((const __m128i *)(const void *)(from + i + k)));
    memcpy(to + whole, from + whole, bytes - whole);
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

double bench_copy(enum bench_copy kind, void *to, const void *from, size_t bytes, int threads)
{
    const ptrdiff_t blocks = (ptrdiff_t)((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
    double start = vf_now();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (ptrdiff_t b = 0; b < blocks; b++) {
        const size_t at = (size_t)b * BLOCK_BYTES;
        const size_t n = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
        if (kind == BENCH_COPY_STREAMING)
            copy_streaming((char *)to + at, (const char *)from + at, n);
        else
            memcpy((char *)to + at, (const char *)from + at, n);
    }
    return vf_now() - start;
}

/* ---- arithmetic ---- */

#ifdef __x86_64__
/* Enough independent chains to cover the latency of two units. */
#define CHAINS 12

#define FMA_LOOP(name, target_name, vector, set1, fmadd, add, first)    \
    __attribute__((target(target_name))) static float name(long rounds) \
    {                                                                   \
        vector sum[CHAINS];                                             \
        const vector a = set1(0.999F), b = set1(0.001F);                \
        for (int k = 0; k < CHAINS; k++)                                \
            sum[k] = set1((float)k);                                    \
        for (long i = 0; i < rounds; i++)                               \
            for (int k = 0; k < CHAINS; k++)                            \
                sum[k] = fmadd(sum[k], a, b);                           \
        for (int k = 1; k < CHAINS; k++)                                \
            sum[0] = add(sum[0], sum[k]);                               \
        return first(sum[0]);                                           \
    }

FMA_LOOP(fma_v3, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_cvtss_f32)
FMA_LOOP(fma_v4, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_cvtss_f32)
#endif

double bench_fma_gflops(int threads)
{
    double best = 0;
#ifdef __x86_64__
    const long rounds = 5000000;
    const char *level = vf_rows_level();
    const int lanes = strcmp(level, "v4") == 0 ? 16 : 8;
    if (strcmp(level, "baseline") == 0)
        return 0;
    for (int repeat = 0; repeat < 5; repeat++) {
        volatile float keep = 0;
        double start = vf_now();
#pragma omp parallel num_threads(threads)
        {
            float sum = lanes == 16 ? fma_v4(rounds) : fma_v3(rounds);
#pragma omp critical
            keep = keep + sum;
        }
        double rate = 2e-9 * CHAINS * lanes * (double)rounds * threads / (vf_now() - start);
        best = rate > best ? rate : best;
    }
#else
    (void)threads;
#endif
    return best;
}
