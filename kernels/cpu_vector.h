/* Vectors of the compute type at the vector level that the file is compiled for. Where a level has no fused
 * multiply-add each lane takes the scalar one: the same bits. */
#ifndef VF_CPU_VECTOR_H
#define VF_CPU_VECTOR_H

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VF_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VF_VECTOR_BYTES 32
#else
#define VF_VECTOR_BYTES 16
#endif
#define VF_LANES (VF_VECTOR_BYTES / (int)sizeof(REAL))

typedef REAL vf_vector __attribute__((vector_size(VF_VECTOR_BYTES)));
typedef REAL vf_unaligned_vector
    __attribute__((vector_size(VF_VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

VF_DEVICE vf_vector vf_vector_load(const REAL *from)
{
    return *(const vf_unaligned_vector *)(const void *)from;
}

VF_DEVICE void vf_vector_store(REAL *to, vf_vector value)
{
    *(vf_unaligned_vector *)(void *)to = value;
}

/* a * b + c, rounded once. */
VF_DEVICE vf_vector vf_vector_fma(REAL a, vf_vector b, vf_vector c)
{
#if defined(__AVX512F__) && REAL_BITS == 64
    return (vf_vector)_mm512_fmadd_pd(_mm512_set1_pd(a), (__m512d)b, (__m512d)c);
#elif defined(__AVX512F__)
    return (vf_vector)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__) && REAL_BITS == 64
    return (vf_vector)_mm256_fmadd_pd(_mm256_set1_pd(a), (__m256d)b, (__m256d)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (vf_vector)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c);
#else
    for (int lane = 0; lane < VF_LANES; lane++)
        c[lane] = FMA(a, b[lane], c[lane]);
    return c;
#endif
}

/* Elements `shift` .. `shift` + lanes - 1 of the vector at `from` followed by the next one; both are in
 * registers, which a level that can shift across them makes use of: a load that crosses a cache line takes
 * twice the time. `shift` is a constant. */
#if defined(__AVX512F__) && REAL_BITS == 64
#define VF_VECTOR_SHIFTED(low, high, from, shift) \
    ((vf_vector)_mm512_alignr_epi64((__m512i)(high), (__m512i)(low), shift))
#elif defined(__AVX512F__)
#define VF_VECTOR_SHIFTED(low, high, from, shift) \
    ((vf_vector)_mm512_alignr_epi32((__m512i)(high), (__m512i)(low), shift))
#else
#define VF_VECTOR_SHIFTED(low, high, from, shift) vf_vector_load((from) + (shift))
#endif

/* A cache line, to memory that nobody reads soon: it is not read first, and pushes nothing out of the cache.
 */
#define VF_LINE_BYTES 64
VF_DEVICE void vf_line_stream(char *to, const char *from)
{
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)(void *)to, _mm512_loadu_si512(from));
#elif defined(__SSE2__)
    for (int i = 0; i < VF_LINE_BYTES; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
#else
    memcpy(to, from, VF_LINE_BYTES);
#endif
}

/* Streamed lines are in memory before what follows. */
static inline void vf_lines_finish(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
