/* The median of a box of (2 radius + 1)^DIM values, by exchanges alone.
 *
 * A column, the values that share an x, is sorted; neighbours along x have it in common. Then each rank is
 * sorted across the columns. In that table a value has those of lower ranks and columns below it, and what
 * has more than half of all values on one side is not the median: among the others the last exchanges find
 * it, which leaves it in the middle of the table. A search found these; tests/test_median.c proves them.
 *
 * Any NaN makes a sum of magnitudes one, and the median with it; whole numbers have none. Zeros of either
 * sign are equal, so which one comes out would depend on the exchanges: it is +0. */
#ifndef VF_MEDIAN
#define VF_MEDIAN

#include "filters/stencils/median_orders.h"

VF_DEVICE void vf_order(REAL *a, REAL *b)
{
    const REAL x = *a, y = *b;
    *a = LESSER(x, y);
    *b = GREATER(x, y);
}

#define VF_IN_STEPS(i, j) vf_order(v + step * (i), v + step * (j))
#define VF_IN_PLACE(i, j) vf_order(v + (i), v + (j))

/* Values that are `step` apart. */
VF_DEVICE void vf_sort(REAL *v, int count, int step)
{
    if (count == 3) {
        VF_SORT_3(VF_IN_STEPS);
    } else if (count == 5) {
        VF_SORT_5(VF_IN_STEPS);
    } else if (count == 7) {
        VF_SORT_7(VF_IN_STEPS);
    } else if (count == 9) {
        VF_SORT_9(VF_IN_STEPS);
    } else {
        VF_SORT_25(VF_IN_STEPS);
    }
}

VF_DEVICE REAL vf_median_of(REAL *v, int columns, int ranks)
{
    VF_UNROLL for (int rank = 0; rank < ranks; rank++) vf_sort(v + rank, columns, ranks);
    if (ranks == 3) {
        VF_MIDDLE_3_3(VF_IN_PLACE);
    } else if (ranks == 5) {
        VF_MIDDLE_5_5(VF_IN_PLACE);
    } else if (ranks == 7) {
        VF_MIDDLE_7_7(VF_IN_PLACE);
    } else if (ranks == 9) {
        VF_MIDDLE_3_9(VF_IN_PLACE);
    } else {
        VF_MIDDLE_5_25(VF_IN_PLACE);
    }
    return v[columns * ranks / 2];
}

#if VF_WHOLE_NUMBERS
#define VF_MAGNITUDE(value) R(0)
#else
#define VF_MAGNITUDE(value) ABS(value)
#endif

/* The body: column k of the box, whose planes reach `depth`, begins at v[k * RANKS]. */
#define VF_PUT_MEDIAN(radius, depth)                                                           \
    enum { SIDE = 2 * (radius) + 1, RANKS = SIDE * (2 * (depth) + 1) };                        \
    REAL v[SIDE * RANKS], sum = R(0.0);                                                        \
    VF_UNROLL for (int x = 0; x < SIDE; x++)                                                   \
    {                                                                                          \
        REAL *const column = v + x * RANKS;                                                    \
        REAL column_sum = R(0.0);                                                              \
        VF_UNROLL for (int rank = 0; rank < RANKS; rank++)                                     \
        {                                                                                      \
            column[rank] = AT(0, rank / SIDE - (depth), rank % SIDE - (radius), x - (radius)); \
            column_sum += VF_MAGNITUDE(column[rank]);                                          \
        }                                                                                      \
        vf_sort(column, RANKS, 1);                                                             \
        VF_UNROLL for (int rank = 0; rank < RANKS; rank++) column[rank] =                      \
            OF_COLUMN(rank, x - (radius), column[rank]);                                       \
        if (!VF_WHOLE_NUMBERS)                                                                 \
            sum += OF_COLUMN(RANKS, x - (radius), column_sum);                                 \
    }                                                                                          \
    /* First, since compilers put what is computed within a choice under its condition. */     \
    const REAL median = vf_median_of(v, SIDE, RANKS) + R(0.0);                                 \
    PUT(0, sum != sum ? sum : median);

/* A box of an image, and of a volume; for the other dimension there is no body. */
#if DIM == 3
#define VF_PUT_MEDIAN_2D(radius)
#define VF_PUT_MEDIAN_3D(radius) VF_PUT_MEDIAN(radius, radius)
#else
#define VF_PUT_MEDIAN_2D(radius) VF_PUT_MEDIAN(radius, 0)
#define VF_PUT_MEDIAN_3D(radius)
#endif

#endif
