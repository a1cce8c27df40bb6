/* Vectors of cells, REAL, at the vector level that the file is compiled for. Where a level has no fused
 * multiply-add each lane takes the scalar one: the same bits. */
#ifndef VF_CPU_VECTOR_H
#define VF_CPU_VECTOR_H

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "kernels/cpu_real.h"
#include "kernels/stencil.h"
#include "src/alloc.h"

#if defined(__AVX512F__)
#define VF_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VF_VECTOR_BYTES 32
#else
#define VF_VECTOR_BYTES 16
#endif
#define VF_LANES (VF_VECTOR_BYTES / (int)sizeof(REAL))

/* A loop over a row's cells, and one over those of one vector. By pointers among the cells clang finds
 * vectors of bytes too wide, and the second it unrolls before it would vectorise it, and then computes much
 * of it by scalars. */
#ifdef __clang__
#define VF_PRAGMA(text) _Pragma(#text)
#define VF_OVER_ROW VF_PRAGMA(omp simd simdlen(VF_LANES))
#define VF_OVER_LANES VF_PRAGMA(clang loop vectorize(assume_safety) vectorize_width(VF_LANES) unroll(disable))
#else
#define VF_OVER_ROW _Pragma("omp simd")
#define VF_OVER_LANES _Pragma("omp simd")
#endif

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

#if !VF_WHOLE_NUMBERS
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
#endif

/* Every NaN becomes the same one. */
VF_DEVICE vf_vector vf_vector_one_nan(vf_vector value)
{
#if !VF_WHOLE_NUMBERS
    const __typeof__(value == value) number = value == value; /* NOLINT(misc-redundant-expression) */
    const vf_vector nan = (vf_vector){0} + (REAL)__builtin_nan("");
    value = (vf_vector)((number & (__typeof__(number))value) | (~number & (__typeof__(number))nan));
#endif
    return value;
}

/* To memory that nobody reads soon: it is not read first, and pushes nothing out of the cache. `to` is
 * aligned. */
VF_DEVICE void vf_vector_stream(char *to, vf_vector value)
{
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)(void *)to, (__m512i)value);
#elif defined(__AVX2__)
    _mm256_stream_si256((__m256i *)(void *)to, (__m256i)value);
#elif defined(__SSE2__)
    _mm_stream_si128((__m128i *)(void *)to, (__m128i)value);
#else
    memcpy(to, &value, sizeof value);
#endif
}

/* Whole vectors past the caches; `to` is aligned. */
static inline void vf_vectors_stream(char *to, const REAL *from, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i += VF_LANES)
        vf_vector_stream(to + i * (ptrdiff_t)sizeof(REAL), vf_vector_one_nan(vf_vector_load(from + i)));
}

/* A vector of results to its row. */
VF_DEVICE void put_vector(void *row, ptrdiff_t i, vf_vector value, enum vf_row_place place)
{
    if (place == VF_ROW_PAST_CACHES || place == VF_ROW_BY_STRIPS)
        vf_vector_stream((char *)((REAL *)row + i), vf_vector_one_nan(value));
    else
        vf_vector_store((REAL *)row + i, place == VF_ROW_IN_SINK ? vf_vector_one_nan(value) : value);
}

/* Of rows that are made side by side and go past the caches by strips, a strip of each is made in the first
 * cache; then they are stored one after the other. */
#define VF_STRIP (1024 / (int)sizeof(REAL))
typedef REAL vf_strip[VF_STRIP];

/* n cells of each of `count` strips, to `to` bytes after out[k]. */
static inline void vf_strips_stream(vf_strip *strip, void *const *out, ptrdiff_t to, int count, ptrdiff_t n)
{
    for (int k = 0; k < count; k++)
        vf_vectors_stream((char *)out[k] + to, strip[k], n);
}

/* Asks for the cells of some vectors of a row that is to come: cells of the compute type, or smaller ones. */
VF_DEVICE void ask_for(const struct vf_row_ahead *ahead, ptrdiff_t i, int vectors)
{
    const int lanes =
        VF_VECTOR_BYTES < VF_ALIGNMENT && vectors > 1 ? VF_ALIGNMENT / (int)sizeof(REAL) : VF_LANES;
    if (ahead->row != NULL)
        VF_UNROLL for (int k = 0; k < vectors * VF_LANES; k += lanes)
            __builtin_prefetch(ahead->row + (i + k) * ahead->cell, 0, 3);
}

/* Streamed vectors are in memory before what follows. */
static inline void vf_vectors_finish(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
