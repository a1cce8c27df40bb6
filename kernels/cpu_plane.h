/* Sums along x and then across rows in one go, for kernels/cpu_rows.c. A column, two vectors wide, goes down
 * the rows of a plane: the sums along x of a row stay in registers, and go into the sums of all rows that
 * have a weight for it. With AVX-512 alone: what takes a weight from memory each time, and neighbours too,
 * waits for these loads where vectors are half as long. */
#ifndef VF_CPU_PLANE_H
#define VF_CPU_PLANE_H

#include "kernels/cpu_vector.h"

#ifdef __AVX512F__

/* Of each of `index` the element of a vector. */
static inline vf_vector plane_pick(vf_vector from, const int *index)
{
#if REAL_BITS == 64
    const __m512i wide = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)index));
    return (vf_vector)_mm512_permutexvar_pd(wide, (__m512d)from);
#else
    return (vf_vector)_mm512_permutexvar_ps(_mm512_loadu_si512(index), (__m512)from);
#endif
}

/* The cells `d` further along x, of vector v of those that a column has: every other one is a load, as in
 * `along`, unless the vectors are a row's ENDS. */
#define PLANE_NEIGHBOUR(ENDS, v, d)                                                                            \
    ((d) == 0                  ? near[v][1]                                                                    \
     : !(ENDS) && (d) % 2 != 0 ? vf_vector_load(at[v] + (d))                                                   \
     : (d) < 0                 ? VF_VECTOR_SHIFTED(near[v][0], near[v][1], at[v], (VF_LANES + (d)) % VF_LANES) \
                               : VF_VECTOR_SHIFTED(near[v][1], near[v][2], at[v], (d) % VF_LANES))

/* The first cell of vector v: of those from i on; or, if they are a row's ENDS, of the first one and that at
 * i.
 */
#define PLANE_AT(ENDS, v) ((ENDS) ? (v)*i : i + (v)*VF_LANES)

/* Of TAPS weights number `t` along x. */
#define PLANE_ALONG(TAPS, VECTORS, ENDS, t)                               \
    if ((t) < (TAPS))                                                     \
        VF_UNROLL for (int v = 0; v < (VECTORS); v++) x[v] =              \
            (t) == 0 ? along[0] * PLANE_NEIGHBOUR(ENDS, v, -((TAPS) / 2)) \
                     : vf_vector_fma(along[t], PLANE_NEIGHBOUR(ENDS, v, (t) - (TAPS) / 2), x[v]);

/* The sums along x of a row. */
#define PLANE_ROW(TAPS, VECTORS, ENDS, row)                                               \
    {                                                                                     \
        const REAL *at[2] = {(const REAL *)in[row] + PLANE_AT(ENDS, 0)};                  \
        vf_vector near[2][3];                                                             \
        at[1] = at[0] + ((ENDS) ? i : VF_LANES);                                          \
        VF_UNROLL for (int v = 0; v < (VECTORS); v++)                                     \
        {                                                                                 \
            near[v][1] = vf_vector_load(at[v]);                                           \
            if (!(ENDS) || v == 1)                                                        \
                near[v][0] = vf_vector_load(at[v] - VF_LANES);                            \
            if (!(ENDS) || v == 0)                                                        \
                near[v][2] = vf_vector_load(at[v] + VF_LANES);                            \
        }                                                                                 \
        if (ENDS) {                                                                       \
            near[0][0] = plane_pick(ends->wraps ? near[1][1] : near[0][1], ends->before); \
            near[1][2] = plane_pick(ends->wraps ? near[0][1] : near[1][1], ends->after);  \
        }                                                                                 \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 0)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 1)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 2)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 3)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 4)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 5)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 6)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 7)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 8)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 9)                                               \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 10)                                              \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 11)                                              \
        PLANE_ALONG(TAPS, VECTORS, ENDS, 12)                                              \
    }

/* A row's sums along x are made while those of the row before go into the sums across rows: the two do not
 * wait for each other. sum[k] is of the rows that have come, the last of them with weight k. The weights are
 * loaded in each turn, by pointers that the compiler cannot follow: the registers are for sums. */
#define PLANE_COLUMN(name, TAPS, VECTORS, ENDS)                                                           \
    static void name(const void *const *in, const struct vf_plane_ends *ends, const REAL *along,          \
                     const REAL *across, REAL *to, ptrdiff_t pitch, ptrdiff_t count, ptrdiff_t i,         \
                     const struct vf_plane_ahead *ahead)                                                  \
    {                                                                                                     \
        const ptrdiff_t rows = count + (TAPS)-1;                                                          \
        vf_vector sum[TAPS][VECTORS] = {{{0}}}, x[VECTORS];                                               \
        (void)ends;                                                                                       \
        PLANE_ROW(TAPS, VECTORS, ENDS, 0)                                                                 \
        for (ptrdiff_t j = 0; j < rows; j++) {                                                            \
            vf_vector made[VECTORS];                                                                      \
            __asm__("" : "+r"(along), "+r"(across));                                                      \
            if (j < ahead->rows)                                                                          \
                VF_UNROLL for (int v = 0; v < (VECTORS); v++) __builtin_prefetch(                         \
                    (const REAL *)(const void *)(ahead->first + j * ahead->pitch) + PLANE_AT(ENDS, v), 0, \
                    2);                                                                                   \
            VF_UNROLL for (int v = 0; v < (VECTORS); v++)                                                 \
            {                                                                                             \
                made[v] = vf_vector_fma(across[(TAPS)-1], x[v], sum[(TAPS)-2][v]);                        \
                VF_UNROLL for (int k = (TAPS)-2; k > 0; k--) sum[k][v] =                                  \
                    vf_vector_fma(across[k], x[v], sum[k - 1][v]);                                        \
                sum[0][v] = across[0] * x[v];                                                             \
            }                                                                                             \
            PLANE_ROW(TAPS, VECTORS, ENDS, MIN(j + 1, rows - 1))                                          \
            if (j >= (TAPS)-1)                                                                            \
                VF_UNROLL for (int v = 0; v < (VECTORS); v++)                                             \
                    vf_vector_store(to + (j - (TAPS) + 1) * pitch + PLANE_AT(ENDS, v), made[v]);          \
        }                                                                                                 \
    }
#define PLANE(TAPS)                                                                                          \
    PLANE_COLUMN(plane_column_##TAPS, TAPS, 2, false)                                                        \
    PLANE_COLUMN(plane_single_##TAPS, TAPS, 1, false)                                                        \
    PLANE_COLUMN(plane_ends_##TAPS, TAPS, 2, true)                                                           \
    static void plane_##TAPS(const void *const *in, const struct vf_plane_ends *ends, const void *along,     \
                             const void *across, void *out, ptrdiff_t to, ptrdiff_t count, ptrdiff_t n,      \
                             const struct vf_plane_ahead *ahead)                                             \
    {                                                                                                        \
        const ptrdiff_t pitch = to / (ptrdiff_t)sizeof(REAL);                                                \
        const ptrdiff_t last = n - VF_LANES;                                                                 \
        ptrdiff_t i = VF_LANES;                                                                              \
        plane_ends_##TAPS(in, ends, along, across, out, pitch, count, last, ahead);                          \
        for (; i + 2 * VF_LANES <= last; i += 2 * VF_LANES)                                                  \
            plane_column_##TAPS(in, ends, along, across, out, pitch, count, i, ahead);                       \
        for (; i < last; i += VF_LANES)                                                                      \
            plane_single_##TAPS(in, ends, along, across, out, pitch, count, MIN(i, last - VF_LANES), ahead); \
    }
PLANE(3)
PLANE(5)
PLANE(7)
PLANE(9)
PLANE(11)
PLANE(13)
#define PLANE_ROWS plane_3, plane_5, plane_7, plane_9, plane_11, plane_13
#endif

#endif
