/* Reductions over the finite values of a field whose result does not depend on the order of the values: percentiles
 * by counting, sums exactly. Rows may come from many threads in any order.
 *
 * Percentiles are the lower edge of the bin in a count over bits 30..15 of the float32 value, zeros left out
 * (negative values count by magnitude). Sums add integer significands by exponent. */
#ifndef VF_REDUCE_H
#define VF_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/filter.h"
#include "src/error.h"

/* Sums of significand * 2^exponent, exact for up to 2^63 values; one bin an exponent of a double. */
struct vf_exact_sum {
    __int128 bin[2100];
};

struct vf_reducer {
    enum vf_reduction reduction;
    double argument;               /* as in vf_global */
    bool is_double;                /* the rows' type */
    long box_low[3], box_high[3];  /* x, y, z: half-open; only voxels inside count */
    int threads;
    struct vf_partial *partial;    /* owned, one a thread */
};

/* `box_size` 0 is the whole grid nx * ny * nz. */
enum vf_status vf_reducer_open(struct vf_reducer *reducer, const struct vf_global *global, bool is_double,
                               const ptrdiff_t grid[3], int threads, struct vf_error *error);

/* Adds n voxels from (x, y, z) on, as the compute type, for thread `thread`. */
void vf_reducer_add(struct vf_reducer *reducer, int thread, const void *row, ptrdiff_t n, ptrdiff_t x, ptrdiff_t y,
                    ptrdiff_t z);

/* The value over all rows so far, 0 where there was none: a percentile, a multiple of the standard deviation, the
 * range (most - least), or the mean. */
double vf_reducer_value(const struct vf_reducer *reducer);
void vf_reducer_close(struct vf_reducer *reducer);

#endif
