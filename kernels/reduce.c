#include "kernels/reduce.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/big_integer.h"
#include "kernels/cpu_rows.h"
#include "src/alloc.h"
#include "src/size.h"

typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;

/* A finite value is significand * 2^(bin + unit), its significand an integer and its bin the biased exponent
 * less 1 (subnormals share bin 0). */
#define FLOAT_UNIT (-149)
#define DOUBLE_UNIT (-1074)

/* What one thread has seen, in a cache line of its own. Every bin can take 2^63 values without overflow. */
struct vf_partial {
    _Alignas(VF_ALIGNMENT) uint64_t count; /* of values that are summed */
    double least, most;                    /* RANGE */
    uint64_t *counts;                      /* PERCENTILE: [VF_REDUCE_COUNTS], of which */
    int low, high;                         /* [low, high) have been cleared and count */
    wide *sum;                             /* [bins] sums of significands */
    wide *square;       /* [bins] sums of squared significands; of doubles, their lower 64 bits */
    wide *square_upper; /* of doubles: [bins] sums of the bits above */
};

bool vf_reduction_has_squares(enum vf_reduction reduction)
{
    return reduction == VF_REDUCE_DEVIATION || reduction == VF_REDUCE_VARIATION;
}

bool vf_reduction_has_sums(enum vf_reduction reduction)
{
    return reduction == VF_REDUCE_MEAN || vf_reduction_has_squares(reduction);
}

/* ---- opening and closing ---- */

static size_t bins_of(const struct vf_reducer *reducer)
{
    return reducer->is_double ? VF_REDUCE_DOUBLE_BINS : VF_REDUCE_FLOAT_BINS;
}

/* Bytes of one thread's bins: a whole number of cache lines, so that threads do not share any. */
static size_t bin_bytes(const struct vf_reducer *reducer)
{
    const size_t table = bins_of(reducer) * sizeof(wide);
    size_t bytes = 0;
    switch (reducer->reduction) {
    case VF_REDUCE_PERCENTILE:
        bytes = VF_REDUCE_COUNTS * sizeof(uint64_t);
        break;
    case VF_REDUCE_DEVIATION:
    case VF_REDUCE_VARIATION:
        bytes = (reducer->is_double ? 3 : 2) * table;
        break;
    case VF_REDUCE_MEAN:
        bytes = table;
        break;
    case VF_REDUCE_RANGE:
        break;
    }
    return (bytes + VF_ALIGNMENT - 1) / VF_ALIGNMENT * VF_ALIGNMENT;
}

/* What comes ahead of the bins, likewise: a header for each thread, and the sums from elsewhere. */
static size_t header_bytes(int threads)
{
    const size_t bytes = (size_t)threads * sizeof(struct vf_partial) + 2 * sizeof(struct vf_big);
    return (bytes + VF_ALIGNMENT - 1) / VF_ALIGNMENT * VF_ALIGNMENT;
}

static void cut_box(struct vf_reducer *reducer, const struct vf_global *global, const ptrdiff_t grid[3])
{
    const bool everywhere = global->box_size[0] == 0;
    for (int axis = 0; axis < 3; axis++) {
        const ptrdiff_t low = everywhere ? 0 : global->box_at[axis];
        const ptrdiff_t high = everywhere ? grid[axis] : low + global->box_size[axis];
        reducer->box_low[axis] = low < 0 ? 0 : low;
        reducer->box_high[axis] = high > grid[axis] ? grid[axis] : high;
    }
}

/* Memory for the threads that the rest of the reducer says. */
static enum vf_status take_memory(struct vf_reducer *reducer, struct vf_error *error)
{
    const int threads = reducer->threads;
    const size_t header = header_bytes(threads), bins = bin_bytes(reducer);
    size_t bytes;
    if (!vf_size_mul((size_t)threads, bins, &bytes) || !vf_size_add(bytes, header, &bytes))
        return vf_fail(error, VF_FAILED, "%d threads are too many", threads);
    char *block = vf_alloc(bytes, 1, "bins of a global value", error);
    if (block == NULL)
        return VF_FAILED;
    memset(block, 0, header);
    reducer->block = block;
    reducer->partial = (struct vf_partial *)(void *)block;
    reducer->elsewhere = (struct vf_big *)(void *)(reducer->partial + threads);
    for (int t = 0; t < threads; t++) {
        char *own = block + header + (size_t)t * bins;
        wide *table = (wide *)(void *)own;
        if (reducer->reduction != VF_REDUCE_PERCENTILE)
            memset(own, 0, bins);
        reducer->partial[t] = (struct vf_partial){.least = INFINITY,
                                                  .most = -INFINITY,
                                                  .counts = (uint64_t *)(void *)own,
                                                  .low = VF_REDUCE_COUNTS,
                                                  .sum = table,
                                                  .square = table + bins_of(reducer),
                                                  .square_upper = table + 2 * bins_of(reducer)};
    }
    return VF_OK;
}

enum vf_status vf_reducer_open(struct vf_reducer *reducer, const struct vf_global *global, bool is_double,
                               const ptrdiff_t grid[3], int threads, struct vf_error *error)
{
    *reducer = (struct vf_reducer){.reduction = global->reduction,
                                   .argument = global->argument,
                                   .is_double = is_double,
                                   .threads = threads,
                                   .rows = vf_rows_choose(is_double ? VF_F64 : VF_F32)};
    cut_box(reducer, global, grid);
    return take_memory(reducer, error);
}

enum vf_status vf_reducer_open_like(struct vf_reducer *reducer, const struct vf_reducer *model,
                                    struct vf_error *error)
{
    *reducer = *model;
    reducer->threads = 1;
    reducer->block = NULL;
    return take_memory(reducer, error);
}

void vf_reducer_close(struct vf_reducer *reducer)
{
    vf_free(reducer->block);
    *reducer = (struct vf_reducer){0};
}

/* ---- adding ---- */

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bin and the signed significand of a value; false for infinities and NaN. */
static inline bool split_float(float value, unsigned *bin, int32_t *significand)
{
    const uint32_t bits = float_bits(value), exponent = bits >> 23 & 0xff;
    const int32_t magnitude = (int32_t)((bits & 0x7fffff) | (exponent != 0 ? 0x800000 : 0));
    *bin = exponent - (exponent != 0);
    *significand = bits >> 31 ? -magnitude : magnitude;
    return exponent != 0xff;
}

static inline bool split_double(double value, unsigned *bin, int64_t *significand)
{
    const uint64_t bits = double_bits(value), hidden = 0x10000000000000;
    const unsigned exponent = bits >> 52 & 0x7ff;
    const int64_t magnitude = (int64_t)((bits & (hidden - 1)) | (exponent != 0 ? hidden : 0));
    *bin = exponent - (exponent != 0);
    *significand = bits >> 63 ? -magnitude : magnitude;
    return exponent != 0x7ff;
}

static uint64_t sum_floats(struct vf_partial *p, const float *row, ptrdiff_t n, bool squares)
{
    uint64_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        unsigned bin;
        int32_t m;
        if (!split_float(row[i], &bin, &m))
            continue;
        count++;
        p->sum[bin] += m;
        if (squares)
            p->square[bin] += (int64_t)m * m;
    }
    return count;
}

static uint64_t sum_doubles(struct vf_partial *p, const double *row, ptrdiff_t n, bool squares)
{
    uint64_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        unsigned bin;
        int64_t m;
        if (!split_double(row[i], &bin, &m))
            continue;
        count++;
        p->sum[bin] += m;
        if (squares) {
            const unsigned_wide square = (unsigned_wide)((wide)m * m);
            p->square[bin] += (uint64_t)square;
            p->square_upper[bin] += (uint64_t)(square >> 64);
        }
    }
    return count;
}

/* Up to VF_ROW_SUMMED values. */
static void sum_values(const struct vf_reducer *reducer, struct vf_partial *p, const void *row, ptrdiff_t n)
{
    const bool squares = vf_reduction_has_squares(reducer->reduction);
    struct vf_row_sums sums;
    if (reducer->rows->sums != NULL && reducer->rows->sums(row, n, squares, &sums)) {
        p->count += (uint64_t)n;
        p->sum[sums.bin] += sums.value;
        if (squares) {
            /* 2^45 is 2^5 in units of 20 bins above, where squares are as large: 2^63 values fit there. */
            p->square[sums.bin + 20] += (wide)sums.upper * 32;
            p->square[sums.bin] += sums.lower;
        }
    } else if (reducer->is_double) {
        p->count += sum_doubles(p, row, n, squares);
    } else {
        p->count += sum_floats(p, row, n, squares);
    }
}

/* Bins [low, high) count from now on. */
static void use_bins(struct vf_partial *p, int low, int high)
{
    if (low >= high)
        return;
    if (p->low >= p->high)
        p->low = p->high = low;
    if (low < p->low) {
        memset(p->counts + low, 0, (size_t)(p->low - low) * sizeof *p->counts);
        p->low = low;
    }
    if (high > p->high) {
        memset(p->counts + p->high, 0, (size_t)(high - p->high) * sizeof *p->counts);
        p->high = high;
    }
}

/* Up to VF_ROW_SUMMED values. */
static void count_values(const struct vf_reducer *reducer, struct vf_partial *p, const void *row, ptrdiff_t n)
{
    uint16_t bin[VF_ROW_SUMMED];
    uint64_t *counts = p->counts;
    int range[2];
    reducer->rows->bins(row, n, bin, range);
    if (range[0] > range[1])
        return;
    use_bins(p, range[0], range[1] + 1);
    for (ptrdiff_t i = 0; i < n; i++)
        if (bin[i] != VF_BIN_NONE)
            counts[bin[i]]++;
}

static void take_extremes(const struct vf_reducer *reducer, struct vf_partial *p, const void *row,
                          ptrdiff_t n)
{
    double extreme[2];
    reducer->rows->extremes(row, n, extreme);
    p->least = fmin(p->least, extreme[0]);
    p->most = fmax(p->most, extreme[1]);
}

void vf_reducer_add(struct vf_reducer *reducer, int thread, const void *row, ptrdiff_t n, ptrdiff_t x,
                    ptrdiff_t y, ptrdiff_t z)
{
    const ptrdiff_t *low = reducer->box_low, *high = reducer->box_high;
    const ptrdiff_t from = x < low[0] ? low[0] : x, to = x + n > high[0] ? high[0] : x + n;
    if (from >= to || y < low[1] || y >= high[1] || z < low[2] || z >= high[2])
        return;
    struct vf_partial *p = &reducer->partial[thread];
    const size_t element = reducer->is_double ? sizeof(double) : sizeof(float);
    for (ptrdiff_t at = from, part; at < to; at += part) {
        const char *first = (const char *)row + (size_t)(at - x) * element;
        part = to - at < VF_ROW_SUMMED ? to - at : VF_ROW_SUMMED;
        if (reducer->reduction == VF_REDUCE_RANGE)
            take_extremes(reducer, p, first, part);
        else if (reducer->reduction == VF_REDUCE_PERCENTILE)
            count_values(reducer, p, first, part);
        else
            sum_values(reducer, p, first, part);
    }
}

/* ---- the value ---- */

/* Counts are added up 256 bins at a time, which a binary order of magnitude has, and then one by one. */
static double percentile(const struct vf_reducer *reducer)
{
    uint64_t octave[VF_REDUCE_COUNTS / 256] = {0}, count = 0, seen = 0;
    for (int t = 0; t < reducer->threads; t++) {
        const struct vf_partial *p = &reducer->partial[t];
        for (int bin = p->low; bin < p->high; bin++)
            octave[bin / 256] += p->counts[bin];
    }
    for (int i = 0; i < VF_REDUCE_COUNTS / 256; i++)
        count += octave[i];
    if (count == 0)
        return 0.0;
    const double exact_rank = ceil(reducer->argument * (double)count / 100.0);
    const uint64_t asked = exact_rank < 1.0 ? 1 : (uint64_t)exact_rank;
    const uint64_t rank = asked > count ? count : asked;
    int bin = 0;
    for (; seen + octave[bin / 256] < rank; bin += 256)
        seen += octave[bin / 256];
    for (;; bin++) {
        for (int t = 0; t < reducer->threads; t++) {
            const struct vf_partial *p = &reducer->partial[t];
            seen += bin >= p->low && bin < p->high ? p->counts[bin] : 0;
        }
        if (seen >= rank)
            break;
    }
    const uint32_t edge = (uint32_t)bin << 15;
    float value;
    memcpy(&value, &edge, sizeof value);
    return (double)value;
}

static double range(const struct vf_reducer *reducer)
{
    double least = INFINITY, most = -INFINITY;
    for (int t = 0; t < reducer->threads; t++) {
        least = fmin(least, reducer->partial[t].least);
        most = fmax(most, reducer->partial[t].most);
    }
    /* Which of -0 and 0 came first must not show. */
    return least <= most ? most - least + 0.0 : 0.0;
}

/* The sum of all values, in units of 2^unit. */
static void sum_of(const struct vf_reducer *reducer, struct vf_big *sum)
{
    *sum = reducer->elsewhere[0];
    for (int t = 0; t < reducer->threads; t++)
        for (size_t bin = 0; bin < bins_of(reducer); bin++)
            vf_big_add(sum, reducer->partial[t].sum[bin], (int)bin);
}

/* The sum of all squares, in units of 2^(2 * unit). */
static void squares_of(const struct vf_reducer *reducer, struct vf_big *sum)
{
    *sum = reducer->elsewhere[1];
    for (int t = 0; t < reducer->threads; t++)
        for (size_t bin = 0; bin < bins_of(reducer); bin++) {
            const struct vf_partial *p = &reducer->partial[t];
            vf_big_add(sum, p->square[bin], 2 * (int)bin);
            if (reducer->is_double)
                vf_big_add(sum, p->square_upper[bin], 2 * (int)bin + 64);
        }
}

/* The sum over the count. 128 bits more than the sum has make the quotient's head longer than a double. */
static double mean(const struct vf_reducer *reducer, uint64_t count, int unit)
{
    struct vf_big sum, quotient = {{0}};
    int exponent;
    sum_of(reducer, &sum);
    if (vf_big_is_zero(&sum))
        return 0.0;
    const bool negative = vf_big_is_negative(&sum);
    if (negative)
        vf_big_negate(&sum);
    memcpy(quotient.limb + 2, sum.limb, (VF_BIG_LIMBS - 2) * sizeof *sum.limb);
    const bool more = vf_big_divide(&quotient, count);
    const uint64_t head = vf_big_head(&quotient, more, &exponent);
    const double magnitude = ldexp((double)head, exponent - 128 + unit);
    return negative ? -magnitude : magnitude;
}

/* sqrt(count * sum v^2 - (sum v)^2) / count; what is under the root is an integer and never negative. */
static double deviation(const struct vf_reducer *reducer, uint64_t count, int unit)
{
    struct vf_big sum, under;
    int exponent;
    sum_of(reducer, &sum);
    if (vf_big_is_negative(&sum))
        vf_big_negate(&sum);
    squares_of(reducer, &under);
    vf_big_multiply(&under, count);
    vf_big_subtract_square(&under, &sum);
    if (vf_big_is_zero(&under))
        return 0.0;
    const uint64_t head = vf_big_head(&under, false, &exponent);
    const int odd = exponent & 1;
    const double root = sqrt(ldexp((double)head, odd));
    return ldexp(root / (double)count, (exponent - odd) / 2 + unit);
}

double vf_reducer_value(const struct vf_reducer *reducer)
{
    const int unit = reducer->is_double ? DOUBLE_UNIT : FLOAT_UNIT;
    uint64_t count = 0;
    if (reducer->reduction == VF_REDUCE_PERCENTILE)
        return percentile(reducer);
    if (reducer->reduction == VF_REDUCE_RANGE)
        return range(reducer);
    for (int t = 0; t < reducer->threads; t++)
        count += reducer->partial[t].count;
    if (count == 0)
        return 0.0;
    if (reducer->reduction == VF_REDUCE_DEVIATION)
        return reducer->argument * deviation(reducer, count, unit);
    const double middle = mean(reducer, count, unit);
    if (reducer->reduction == VF_REDUCE_MEAN || middle == 0)
        return middle;
    return deviation(reducer, count, unit) / middle;
}

/* ---- values that were reduced elsewhere ---- */

void vf_reducer_add_counts(struct vf_reducer *reducer, const uint64_t count[VF_REDUCE_COUNTS])
{
    struct vf_partial *p = &reducer->partial[0];
    use_bins(p, 0, VF_BIN_NONE);
    for (int bin = 0; bin < VF_BIN_NONE; bin++)
        p->counts[bin] += count[bin];
}

void vf_reducer_add_sums(struct vf_reducer *reducer, uint64_t count, const struct vf_reduce_sums *sums)
{
    const int bins = (int)bins_of(reducer);
    reducer->partial[0].count += count;
    for (int bin = 0; bin < bins; bin++) {
        for (int k = 0; k < 5; k++)
            vf_big_add(&reducer->elsewhere[0], sums[bin].value[k], bin + 24 * k);
        for (int k = 0; k < 8; k++)
            vf_big_add(&reducer->elsewhere[1], sums[bin].square[k], 2 * bin + 24 * k);
    }
}

void vf_reducer_add_extremes(struct vf_reducer *reducer, double least, double most)
{
    struct vf_partial *p = &reducer->partial[0];
    p->least = fmin(p->least, least);
    p->most = fmax(p->most, most);
}

static void merge_sums(struct vf_reducer *reducer, const struct vf_reducer *other)
{
    struct vf_big sum;
    for (int t = 0; t < other->threads; t++)
        reducer->partial[0].count += other->partial[t].count;
    sum_of(other, &sum);
    vf_big_add_big(&reducer->elsewhere[0], &sum);
    if (!vf_reduction_has_squares(other->reduction))
        return;
    squares_of(other, &sum);
    vf_big_add_big(&reducer->elsewhere[1], &sum);
}

static void merge_counts(struct vf_partial *p, const struct vf_partial *other)
{
    use_bins(p, other->low, other->high);
    for (int bin = other->low; bin < other->high; bin++)
        p->counts[bin] += other->counts[bin];
}

void vf_reducer_merge(struct vf_reducer *reducer, const struct vf_reducer *other)
{
    if (vf_reduction_has_sums(reducer->reduction))
        merge_sums(reducer, other);
    for (int t = 0; t < other->threads; t++) {
        const struct vf_partial *p = &other->partial[t];
        if (reducer->reduction == VF_REDUCE_PERCENTILE)
            merge_counts(&reducer->partial[0], p);
        else if (reducer->reduction == VF_REDUCE_RANGE)
            vf_reducer_add_extremes(reducer, p->least, p->most);
    }
}
