/* Linear stages by rows, for kernels/cpu_rows.c: sums of weighted rows as chains of fma, in the order of the
 * weights. Rows are read and written in whole vectors, up to one beyond their end. */
#ifndef VF_CPU_LINEAR_H
#define VF_CPU_LINEAR_H

#include "kernels/cpu_vector.h"

/* Bytes ahead that are prefetched of a row. Whole rows would not fit in the first cache together. */
#define LINES_AHEAD 384

/* Rows [begin, end) of x for `ROWS` neighbouring sums at once, VECTORS of each in registers: input row j is
 * loaded once and goes into every sum k that it has a weight for, j - k; each sum takes its weights in order.
 * If it ASKS, what is LINES_AHEAD further along each row is on its way to the first cache meanwhile.
 *
 * Of more than 4 rows each turn loads its weights by a pointer that the compiler cannot follow. Else it keeps
 * them from turn to turn as scalars, and spreads each over a vector in the place of a multiply-add.
 */
#define LINES_NAMED(name, ROWS, VECTORS, ASKS)                                                              \
    static void name(const void *const *in, ptrdiff_t from, const REAL *weight, int taps, void *const *out, \
                     ptrdiff_t to, ptrdiff_t begin, ptrdiff_t end, enum vf_row_place place)                 \
    {                                                                                                       \
        for (ptrdiff_t i = begin; i < end; i += (VECTORS)*VF_LANES) {                                       \
            vf_vector sum[ROWS][VECTORS], x[VECTORS];                                                       \
            VF_UNROLL for (int j = 0; j < (ROWS); j++)                                                      \
            {                                                                                               \
                LOAD_VECTORS(VECTORS, ASKS, j)                                                              \
                VF_UNROLL for (int k = 0; k < j; k++) ADD_TO(VECTORS, k, weight[j - k])                     \
                    VF_UNROLL for (int v = 0; v < (VECTORS); v++) sum[j][v] = weight[0] * x[v];             \
            }                                                                                               \
            for (int j = (ROWS); j < taps; j++) {                                                           \
                const REAL *own = weight + j;                                                               \
                if ((ROWS) > 4)                                                                             \
                    __asm__("" : "+r"(own));                                                                \
                LOAD_VECTORS(VECTORS, ASKS, j)                                                              \
                VF_UNROLL for (int k = 0; k < (ROWS); k++) ADD_TO(VECTORS, k, own[-k])                      \
            }                                                                                               \
            VF_UNROLL for (int j = 0; j < (ROWS)-1; j++)                                                    \
            {                                                                                               \
                LOAD_VECTORS(VECTORS, ASKS, taps + j)                                                       \
                VF_UNROLL for (int k = j + 1; k < (ROWS); k++) ADD_TO(VECTORS, k, weight[taps + j - k])     \
            }                                                                                               \
            VF_UNROLL for (int k = 0; k < (ROWS); k++) VF_UNROLL for (int v = 0; v < (VECTORS); v++)        \
                put_vector((char *)out[k] + to, i + v * VF_LANES, sum[k][v], place);                        \
        }                                                                                                   \
    }
#define LOAD_VECTORS(VECTORS, ASKS, row)                                                  \
    VF_UNROLL for (int v = 0; v < (VECTORS); v++)                                         \
    {                                                                                     \
        const char *at = (const char *)((const REAL *)in[row] + i + v * VF_LANES) + from; \
        x[v] = vf_vector_load((const REAL *)(const void *)at);                            \
        if (ASKS)                                                                         \
            __builtin_prefetch(at + LINES_AHEAD, 0, 3);                                   \
    }
#define ADD_TO(VECTORS, k, factor) \
    VF_UNROLL for (int v = 0; v < (VECTORS); v++) sum[k][v] = vf_vector_fma(factor, x[v], sum[k][v]);
#define LINES(ROWS, VECTORS)                                    \
    LINES_NAMED(lines_##ROWS##_##VECTORS, ROWS, VECTORS, false) \
    LINES_NAMED(lines_ahead_##ROWS##_##VECTORS, ROWS, VECTORS, true)

LINES(8, 2)
LINES(8, 1)
LINES(6, 2)
LINES(6, 1)
LINES(4, 4)
LINES(4, 2)
LINES(4, 1)
LINES(2, 4)
LINES(2, 1)
LINES(1, 4)
LINES(1, 1)

#define MAKE_LINES(ROWS, VECTORS, begin, end)                                                               \
    (asks ? lines_ahead_##ROWS##_##VECTORS : lines_##ROWS##_##VECTORS)(in + k, from, weight, taps, out + k, \
                                                                       to, begin, end, place)

/* 32 registers hold the sums of 8 rows by 2 vectors, or of 4 by 4; 16 hold those of 6 by 2, whose weights are
 * then loaded as they are needed, or of 4 by 2. Of short vectors the weights are too many loads for that.
 * Where memory is busy processors without AVX-512 gain by asking for what fewer weights read, too. */
#if VF_VECTOR_BYTES == 64
enum { MOST_ROWS = 8, LINES_BLOCK = 8, LINES_BLOCK_TAPS = 10, ASKED_TAPS = 16 };
#elif VF_VECTOR_BYTES == 32
enum { MOST_ROWS = 6, LINES_BLOCK = 6, LINES_BLOCK_TAPS = 6, ASKED_TAPS = 6 };
#else
enum { MOST_ROWS = 4, LINES_BLOCK = 8, LINES_BLOCK_TAPS = 10, ASKED_TAPS = 16 };
#endif
#if defined(__aarch64__)
#define MANY_REGISTERS true
#else
#define MANY_REGISTERS (VF_VECTOR_BYTES == 64)
#endif

/* Rows out[k] + to, for k < count, of n cells: `make` makes cells [begin, end) of each to row[k] + to_strip.
 */
#define IN_STRIPS(out, to, count, n, make)                                   \
    do {                                                                     \
        _Alignas(VF_ALIGNMENT) vf_strip strip[VF_ROW_BLOCK];                 \
        void *row[VF_ROW_BLOCK];                                             \
        for (int k = 0; k < (count); k++)                                    \
            row[k] = strip[k];                                               \
        for (ptrdiff_t begin = 0, end; begin < (n); begin = end) {           \
            const ptrdiff_t to_strip = -begin * (ptrdiff_t)sizeof(REAL);     \
            end = MIN(n, begin + VF_STRIP);                                  \
            make;                                                            \
            vf_strips_stream(strip, out, (to)-to_strip, count, end - begin); \
        }                                                                    \
    } while (0)

static void lines_between(const void *const *in, ptrdiff_t from, const void *weight, int taps,
                          void *const *out, ptrdiff_t to, int count, ptrdiff_t begin, ptrdiff_t end,
                          enum vf_row_place place, bool asks)
{
    const ptrdiff_t blocks = begin + (end - begin) / (4 * VF_LANES) * (4 * VF_LANES);
    for (int k = 0; k < count;) {
        if (MOST_ROWS == 8 && count - k >= 8 && taps >= 8) {
            MAKE_LINES(8, 2, begin, blocks);
            MAKE_LINES(8, 1, blocks, end);
            k += 8;
        } else if (MOST_ROWS == 6 && count - k >= 6 && taps >= 6) {
            MAKE_LINES(6, 2, begin, blocks);
            MAKE_LINES(6, 1, blocks, end);
            k += 6;
        } else if (count - k >= 4 && taps >= 4) {
            if (MANY_REGISTERS)
                MAKE_LINES(4, 4, begin, blocks);
            else
                MAKE_LINES(4, 2, begin, blocks);
            MAKE_LINES(4, 1, blocks, end);
            k += 4;
        } else if (count - k >= 2 && taps >= 2) {
            MAKE_LINES(2, 4, begin, blocks);
            MAKE_LINES(2, 1, blocks, end);
            k += 2;
        } else {
            MAKE_LINES(1, 4, begin, blocks);
            MAKE_LINES(1, 1, blocks, end);
            k++;
        }
    }
}

static void lines(const void *const *in, ptrdiff_t from, const void *weight, int taps, void *const *out,
                  ptrdiff_t to, int count, ptrdiff_t n, enum vf_row_place place, bool asks)
{
    if (count > 1 && place == VF_ROW_BY_STRIPS)
        IN_STRIPS(
            out, to, count, n,
            lines_between(in, from, weight, taps, row, to_strip, count, begin, end, VF_ROW_IN_RING, asks));
    else
        lines_between(in, from, weight, taps, out, to, count, 0, n, place, asks);
}

/* One shift of `along`; leaves after the last weight. If it LOADS, every other one is a load: shifts take the
 * places of multiply-adds, loads that cross cache lines those of other loads. */
#define SHIFT_BY(VECTORS, LOADS, shift)                                                             \
    if ((shift) < VF_LANES) {                                                                       \
        if (t + (shift) == taps)                                                                    \
            break;                                                                                  \
        VF_UNROLL for (int v = 0; v < (VECTORS); v++)                                               \
        {                                                                                           \
            const REAL *at = from + i + t + v * VF_LANES;                                           \
            sum[v] = vf_vector_fma(weight[t + (shift)],                                             \
                                   (LOADS) && (shift) % 2 == 1                                      \
                                       ? vf_vector_load(at + (shift))                               \
                                       : VF_VECTOR_SHIFTED(x[v], x[v + 1], at, (shift) % VF_LANES), \
                                   sum[v]);                                                         \
        }                                                                                           \
    }

/* Sums of a row's neighbouring elements, VECTORS of them in registers, while a row to come is asked for. */
#define ALONG(name, VECTORS, LOADS)                                                                       \
    static void name(const REAL *from, const REAL *weight, int taps, REAL *to, ptrdiff_t begin,           \
                     ptrdiff_t end, const struct vf_row_ahead *ahead)                                     \
    {                                                                                                     \
        for (ptrdiff_t i = begin; i < end; i += (VECTORS)*VF_LANES) {                                     \
            if ((VECTORS) > 1)                                                                            \
                ask_for(ahead, i, VECTORS);                                                               \
            vf_vector sum[VECTORS], x[(VECTORS) + 1];                                                     \
            VF_UNROLL for (int v = 0; v < (VECTORS); v++) sum[v] =                                        \
                weight[0] * vf_vector_load(from + i + v * VF_LANES);                                      \
            for (int t = 0; t < taps; t += VF_LANES) {                                                    \
                VF_UNROLL for (int v = 0; v <= (VECTORS); v++) x[v] =                                     \
                    vf_vector_load(from + i + t + v * VF_LANES);                                          \
                if (t > 0)                                                                                \
                    VF_UNROLL for (int v = 0; v < (VECTORS); v++) sum[v] =                                \
                        vf_vector_fma(weight[t], x[v], sum[v]);                                           \
                SHIFT_BY(VECTORS, LOADS, 1)                                                               \
                SHIFT_BY(VECTORS, LOADS, 2)                                                               \
                SHIFT_BY(VECTORS, LOADS, 3)                                                               \
                SHIFT_BY(VECTORS, LOADS, 4)                                                               \
                SHIFT_BY(VECTORS, LOADS, 5)                                                               \
                SHIFT_BY(VECTORS, LOADS, 6)                                                               \
                SHIFT_BY(VECTORS, LOADS, 7)                                                               \
                SHIFT_BY(VECTORS, LOADS, 8)                                                               \
                SHIFT_BY(VECTORS, LOADS, 9)                                                               \
                SHIFT_BY(VECTORS, LOADS, 10)                                                              \
                SHIFT_BY(VECTORS, LOADS, 11)                                                              \
                SHIFT_BY(VECTORS, LOADS, 12)                                                              \
                SHIFT_BY(VECTORS, LOADS, 13)                                                              \
                SHIFT_BY(VECTORS, LOADS, 14)                                                              \
                SHIFT_BY(VECTORS, LOADS, 15)                                                              \
            }                                                                                             \
            VF_UNROLL for (int v = 0; v < (VECTORS); v++) vf_vector_store(to + i + v * VF_LANES, sum[v]); \
        }                                                                                                 \
    }
ALONG(along_loads_8, 8, true)
ALONG(along_8, 8, false)
ALONG(along_loads_4, 4, true)
ALONG(along_4, 4, false)
ALONG(along_1, 1, false)

/* Fewer weights gain nothing by loads: short sums wait for what was just stored. */
#define LEAST_TAPS_LOADED 16

static void along(const void *in, const void *weight, int taps, void *out, ptrdiff_t n,
                  const struct vf_row_ahead *ahead)
{
    const ptrdiff_t eights = n / (8 * VF_LANES) * (8 * VF_LANES), fours = n / (4 * VF_LANES) * (4 * VF_LANES);
    const bool loads = taps >= LEAST_TAPS_LOADED;
    (loads ? along_loads_8 : along_8)(in, weight, taps, out, 0, eights, ahead);
    (loads ? along_loads_4 : along_4)(in, weight, taps, out, eights, fours, ahead);
    along_1(in, weight, taps, out, fours, n, ahead);
    for (ptrdiff_t i = fours; i < ahead->count; i += 4 * VF_LANES)
        ask_for(ahead, i, 4);
}

#endif
