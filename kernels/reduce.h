/* Reductions over the finite values of a field whose result does not depend on the order of the values, nor
 * on how they are split over threads: percentiles by counting, sums exactly.
 *
 * Percentile N: the values other than zero are counted by bits 30..15 of their float32 form (doubles are
 * rounded to float32 first, and one beyond its range counts as its largest; negative values count by
 * magnitude). The result is the lower edge of the smallest bin whose cumulative count reaches the rank max(1,
 * ceil(N * count / 100)).
 *
 * Mean, deviation, variation: the sums of v and v^2 are integers, kept exactly. The mean is their quotient,
 * rounded once; the population standard deviation is sqrt(count * sum v^2 - (sum v)^2) / count, where what is
 * under the root is exact, so that nothing cancels; variation is the one over the other. Up to 2^63 values.
 */
#ifndef VF_REDUCE_H
#define VF_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/filter.h"
#include "src/error.h"

/* Opened by vf_reducer_open; the fields are private. */
struct vf_reducer {
    enum vf_reduction reduction;
    double argument;                   /* as in vf_global */
    bool is_double;                    /* the rows' type */
    ptrdiff_t box_low[3], box_high[3]; /* x, y, z: half-open; only voxels inside count */
    int threads;
    const struct vf_rows *rows;
    struct vf_partial *partial; /* owned, one a thread */
    struct vf_big *elsewhere;   /* owned: sums of v and v^2 that did not come by vf_reducer_add */
    void *block;                /* owned: what these point into */
};

/* `grid` is nx, ny, nz. The global's box is cut to it; `box_size` 0 is all of it. On failure nothing is held.
 */
enum vf_status vf_reducer_open(struct vf_reducer *reducer, const struct vf_global *global, bool is_double,
                               const ptrdiff_t grid[3], int threads, struct vf_error *error);

/* Adds n voxels from (x, y, z) on, as the compute type, for thread `thread`. One call at a time for each
 * thread. */
void vf_reducer_add(struct vf_reducer *reducer, int thread, const void *row, ptrdiff_t n, ptrdiff_t x,
                    ptrdiff_t y, ptrdiff_t z);

/* The value over all rows so far, 0 where there was none: a percentile, `argument` times the standard
 * deviation, the range (most - least), the mean, or the deviation over the mean, 0 where that is 0. */
double vf_reducer_value(const struct vf_reducer *reducer);

void vf_reducer_close(struct vf_reducer *reducer);

/* ---- values that were reduced elsewhere ---- */

/* An empty reducer for the same, with one thread. */
enum vf_status vf_reducer_open_like(struct vf_reducer *reducer, const struct vf_reducer *model,
                                    struct vf_error *error);

/* Adds what another of the same has seen. */
void vf_reducer_merge(struct vf_reducer *reducer, const struct vf_reducer *other);

/* How kernels/reduce.cu gives its results. Percentiles: how many values are in each bin. */
#define VF_REDUCE_COUNTS 65536

/* Mean, deviation, variation: of values significand * 2^(bin + unit), their sums in units of 2^(bin + unit)
 * and those of their squares in units of 2^(2 * (bin + unit)): sum over k of part[k] * 2^(24 k). Values may
 * be counted in a lower bin than their own. The mean has no squares. */
struct vf_reduce_sums {
    int64_t value[5], square[8];
};
bool vf_reduction_has_sums(enum vf_reduction reduction);
bool vf_reduction_has_squares(enum vf_reduction reduction);
#define VF_REDUCE_FLOAT_BINS 254
#define VF_REDUCE_DOUBLE_BINS 2046

void vf_reducer_add_counts(struct vf_reducer *reducer, const uint64_t count[VF_REDUCE_COUNTS]);

/* `sums` has as many bins as the rows' type; `count` values are in them. */
void vf_reducer_add_sums(struct vf_reducer *reducer, uint64_t count, const struct vf_reduce_sums *sums);

/* least > most: there were none. */
void vf_reducer_add_extremes(struct vf_reducer *reducer, double least, double most);

#endif
