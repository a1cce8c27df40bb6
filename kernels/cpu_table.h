/* Tables of weights by rows, for kernels/cpu_rows.c: chains of fma in the order of the weights. Rows are read
 * and written in whole vectors, up to one beyond their end. Included after cpu_linear.h. */
#ifndef VF_CPU_TABLE_H
#define VF_CPU_TABLE_H

/* One span's weights for results [FROM, TO), VECTORS of each in registers: what is loaded goes into all. */
#define SPAN(FROM, TO, VECTORS)                                                                              \
    case 8 * (FROM) + (TO):                                                                                  \
        for (int t = 0; t < span[s].count; t++) {                                                            \
            vf_vector x[VECTORS];                                                                            \
            VF_UNROLL for (int v = 0; v < (VECTORS); v++) x[v] = vf_vector_load(from + t + v * VF_LANES);    \
            VF_UNROLL for (int k = (FROM); k < (TO); k++)                                                    \
            {                                                                                                \
                const REAL w = (weight + span[s].first[k])[t];                                               \
                VF_UNROLL for (int v = 0; v < (VECTORS); v++) sum[k][v] = vf_vector_fma(w, x[v], sum[k][v]); \
            }                                                                                                \
        }                                                                                                    \
        break

/* A sum begins with -0: a product that is added to it stays as it is, also where it is a zero. */
#define TABLE(VECTORS)                                                                                      \
    static void table_##VECTORS(const void *const *in, const struct vf_table_span *span, int spans,         \
                                const REAL *weight, void *const *out, ptrdiff_t to, int count,              \
                                ptrdiff_t begin, ptrdiff_t end, enum vf_row_place place)                    \
    {                                                                                                       \
        for (ptrdiff_t i = begin; i < end; i += (VECTORS)*VF_LANES) {                                       \
            vf_vector sum[VF_TABLE_ROWS][VECTORS];                                                          \
            VF_UNROLL for (int k = 0; k < VF_TABLE_ROWS; k++) VF_UNROLL for (int v = 0; v < (VECTORS); v++) \
                sum[k][v] = -(vf_vector){0};                                                                \
            for (int s = 0; s < spans; s++) {                                                               \
                const REAL *const from = (const REAL *)in[span[s].row] + span[s].dx + i;                    \
                switch (8 * span[s].from + (span[s].to < count ? span[s].to : count)) {                     \
                    SPAN(0, 1, VECTORS);                                                                    \
                    SPAN(0, 2, VECTORS);                                                                    \
                    SPAN(0, 3, VECTORS);                                                                    \
                    SPAN(0, 4, VECTORS);                                                                    \
                    SPAN(0, 5, VECTORS);                                                                    \
                    SPAN(0, 6, VECTORS);                                                                    \
                    SPAN(1, 2, VECTORS);                                                                    \
                    SPAN(1, 3, VECTORS);                                                                    \
                    SPAN(1, 4, VECTORS);                                                                    \
                    SPAN(1, 5, VECTORS);                                                                    \
                    SPAN(1, 6, VECTORS);                                                                    \
                    SPAN(2, 3, VECTORS);                                                                    \
                    SPAN(2, 4, VECTORS);                                                                    \
                    SPAN(2, 5, VECTORS);                                                                    \
                    SPAN(2, 6, VECTORS);                                                                    \
                    SPAN(3, 4, VECTORS);                                                                    \
                    SPAN(3, 5, VECTORS);                                                                    \
                    SPAN(3, 6, VECTORS);                                                                    \
                    SPAN(4, 5, VECTORS);                                                                    \
                    SPAN(4, 6, VECTORS);                                                                    \
                    SPAN(5, 6, VECTORS);                                                                    \
                default:                                                                                    \
                    break; /* of no wanted result */                                                        \
                }                                                                                           \
            }                                                                                               \
            VF_UNROLL for (int k = 0; k < VF_TABLE_ROWS; k++) if (k < count)                                \
                VF_UNROLL for (int v = 0; v < (VECTORS); v++)                                               \
                    put_vector((char *)out[k] + to, i + v * VF_LANES, sum[k][v], place);                    \
        }                                                                                                   \
    }
_Static_assert(VF_TABLE_ROWS == 6, "what TABLE lists");

/* 32 registers hold the sums of 6 rows by 4 vectors, 16 those of 6 by 2. */
#if MANY_REGISTERS
TABLE(4)
#define TABLE_BLOCK table_4
#define TABLE_VECTORS 4
#else
TABLE(2)
#define TABLE_BLOCK table_2
#define TABLE_VECTORS 2
#endif
TABLE(1)

static void table_between(const void *const *in, const struct vf_table_span *span, int spans,
                          const void *weight, void *const *out, ptrdiff_t to, int count, ptrdiff_t begin,
                          ptrdiff_t end, enum vf_row_place place)
{
    const ptrdiff_t block = TABLE_VECTORS * VF_LANES, blocks = begin + (end - begin) / block * block;
    TABLE_BLOCK(in, span, spans, weight, out, to, count, begin, blocks, place);
    table_1(in, span, spans, weight, out, to, count, blocks, end, place);
}

static void table(const void *const *in, const struct vf_table_span *span, int spans, const void *weight,
                  void *const *out, ptrdiff_t to, int count, ptrdiff_t n, enum vf_row_place place)
{
    if (count > 1 && place == VF_ROW_BY_STRIPS)
        IN_STRIPS(out, to, count, n,
                  table_between(in, span, spans, weight, row, to_strip, count, begin, end, VF_ROW_IN_RING));
    else
        table_between(in, span, spans, weight, out, to, count, 0, n, place);
}

#endif
