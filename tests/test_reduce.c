/* Global values: exact sums, the same bits for any order, threads and vector level, and boxes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/reduce.h"
#include "random.h"

#define MOST 4096

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static struct vf_reducer open_reducer(enum vf_reduction reduction, double argument, bool is_double,
                                      ptrdiff_t n, int threads)
{
    const struct vf_global global = {.reduction = reduction, .argument = argument};
    const ptrdiff_t grid[3] = {n, 1, 1};
    struct vf_reducer reducer;
    struct vf_error error;
    cr_assert_eq(vf_reducer_open(&reducer, &global, is_double, grid, threads, &error), VF_OK);
    return reducer;
}

static void add(struct vf_reducer *reducer, int thread, const double *value, ptrdiff_t n)
{
    static float narrow[MOST];
    cr_assert(n <= MOST);
    for (ptrdiff_t i = 0; i < n; i++)
        narrow[i] = (float)value[i];
    vf_reducer_add(reducer, thread, reducer->is_double ? (const void *)value : narrow, n, 0, 0, 0);
}

/* Each vector level in turn. */
static void take_level(int round)
{
    static const char *const level[] = {"baseline", "v3", "v4"};
    cr_assert_eq(setenv("VOLFILTER_ISA", level[round % 3], 1), 0);
}

/* All values in one row. */
static double reduced(enum vf_reduction reduction, double argument, bool is_double, const double *value,
                      ptrdiff_t n)
{
    struct vf_reducer reducer = open_reducer(reduction, argument, is_double, n, 1);
    add(&reducer, 0, value, n);
    const double result = vf_reducer_value(&reducer);
    vf_reducer_close(&reducer);
    return result;
}

/* The values in random order, in pieces of random length, each to a random thread. */
static double reduced_shuffled(enum vf_reduction reduction, double argument, bool is_double,
                               const double *value, ptrdiff_t n, int threads)
{
    double shuffled[MOST];
    struct vf_reducer reducer = open_reducer(reduction, argument, is_double, n, threads);
    memcpy(shuffled, value, (size_t)n * sizeof *value);
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        const ptrdiff_t k = (ptrdiff_t)(random_bits() % (uint64_t)(i + 1));
        const double kept = shuffled[i];
        shuffled[i] = shuffled[k];
        shuffled[k] = kept;
    }
    for (ptrdiff_t from = 0; from < n;) {
        const ptrdiff_t length = 1 + (ptrdiff_t)(random_bits() % 300);
        const ptrdiff_t to = from + length < n ? from + length : n;
        add(&reducer, (int)(random_bits() % (uint64_t)threads), shuffled + from, to - from);
        from = to;
    }
    const double result = vf_reducer_value(&reducer);
    vf_reducer_close(&reducer);
    return result;
}

static double mean(bool is_double, const double *value, ptrdiff_t n)
{
    return reduced(VF_REDUCE_MEAN, 0, is_double, value, n);
}

static double deviation(bool is_double, const double *value, ptrdiff_t n)
{
    return reduced(VF_REDUCE_DEVIATION, 1, is_double, value, n);
}

static double percentile(bool is_double, double which, const double *value, ptrdiff_t n)
{
    return reduced(VF_REDUCE_PERCENTILE, which, is_double, value, n);
}

/* Values of all signs and magnitudes of the type, with zeros, subnormals and values that are not finite. */
static void fill_wildly(double value[MOST], bool is_double)
{
    const double special[] = {0.0,
                              -0.0,
                              NAN,
                              INFINITY,
                              -INFINITY,
                              is_double ? 0x1p-1074 : 0x1p-149,
                              is_double ? -0x1.fffffffffffffp1023 : -0x1.fffffep127};
    for (ptrdiff_t i = 0; i < MOST; i++) {
        const uint64_t bits = random_bits();
        const uint32_t half = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &half, sizeof narrow);
        memcpy(&value[i], &bits, sizeof bits);
        if (!is_double)
            value[i] = (double)narrow;
        if (random_bits() % 16 == 0)
            value[i] = special[random_bits() % (sizeof special / sizeof *special)];
    }
}

/* No level leaves registers in a state in which long double arithmetic gives NaN. */
Test(reduce, leaves_long_double_arithmetic)
{
    double value[40];
    for (int i = 0; i < 40; i++)
        value[i] = i;
    for (int level = 0; level < 3; level++) {
        take_level(level);
        deviation(false, value, 40);
        const volatile long double one = 1;
        cr_expect(one + one == 2);
    }
}

Test(reduce, value_does_not_depend_on_order_or_threads)
{
    static const struct {
        enum vf_reduction reduction;
        double argument;
    } cases[] = {{VF_REDUCE_PERCENTILE, 90},
                 {VF_REDUCE_DEVIATION, 2},
                 {VF_REDUCE_RANGE, 0},
                 {VF_REDUCE_MEAN, 0},
                 {VF_REDUCE_VARIATION, 0}};
    static double value[MOST];
    random_state = 1;
    for (int is_double = 0; is_double < 2; is_double++) {
        fill_wildly(value, is_double);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const uint64_t one =
                bits_of(reduced(cases[c].reduction, cases[c].argument, is_double, value, MOST));
            for (int round = 0; round < 12; round++) {
                const int threads = 1 + round % 7;
                const double other =
                    reduced_shuffled(cases[c].reduction, cases[c].argument, is_double, value, MOST, threads);
                cr_expect_eq(bits_of(other), one, "reduction %zu, double %d, %d threads", c, is_double,
                             threads);
            }
        }
    }
}

/* Sums of integers below 2^53 divide to the nearest double in plain arithmetic. */
Test(reduce, mean_of_integers_is_exact)
{
    static double value[MOST];
    random_state = 2;
    for (int round = 0; round < 50; round++) {
        const ptrdiff_t n = 1 + (ptrdiff_t)(random_bits() % MOST);
        int64_t sum = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            const int64_t v = (int64_t)(random_bits() % 0x2000000) - 0x1000000;
            value[i] = (double)v;
            sum += v;
        }
        const double expected = (double)sum / (double)n;
        cr_expect_eq(mean(false, value, n), expected);
        cr_expect_eq(mean(true, value, n), expected);
    }
}

Test(reduce, sums_do_not_cancel)
{
    const double far[] = {1e30f, 1, -1e30f};
    cr_expect_eq(mean(false, far, 3), 1.0 / 3);
    cr_expect_eq(mean(true, far, 3), 1.0 / 3);
    const double farther[] = {0x1p1023, 0x1p1023, 0x1p-1074, -0x1p1023, -0x1p1023};
    cr_expect_eq(mean(true, farther, 4), 0x1p1021, "more than the largest double in between");
    cr_expect_eq(mean(true, farther, 5), 0.0, "2^-1074 / 5");
    const double less[] = {-3e38, 1e-45, 3e38, 2.5};
    cr_expect_eq(mean(false, less, 4), 0.625 + 0x1p-151);
    const double negative[] = {-1e30, -7, 1e30, 0};
    cr_expect_eq(mean(true, negative, 4), -1.75);
}

/* Values that are near one another are summed in vectors, those of a row with one that is not finite one by
 * one: the same sums at every vector level. */
Test(reduce, sums_in_vectors_are_exact)
{
    static double value[MOST];
    random_state = 8;
    for (int round = 0; round < 60; round++) {
        const int scale = round % 3 == 0 ? -130 : (int)(random_bits() % 220) - 110, spread = round % 22;
        const ptrdiff_t n = 1 + (ptrdiff_t)(random_bits() % 500);
        take_level(round);
        for (ptrdiff_t i = 0; i < n; i++) {
            const int exponent = scale + (int)(random_bits() % (uint64_t)(spread + 1));
            value[i] = (double)(float)ldexp(random_unit() - 0.5, exponent);
        }
        value[n] = NAN;
        cr_expect_eq(bits_of(mean(false, value, n)), bits_of(mean(false, value, n + 1)), "round %d", round);
        cr_expect_eq(bits_of(deviation(false, value, n)), bits_of(deviation(false, value, n + 1)), "round %d",
                     round);
    }
}

Test(reduce, mean_is_rounded_once_to_even)
{
    const double tie_down[] = {0x1p54, 2};
    cr_expect_eq(mean(true, tie_down, 2), 0x1p53);
    const double tie_up[] = {0x1p54, 6};
    cr_expect_eq(mean(true, tie_up, 2), 0x1p53 + 4);
    const double above_tie[] = {0x1p54, 2, 0x1p-1000, 0};
    cr_expect_eq(mean(true, above_tie, 4), 0x1p52 + 1);
    const double below_tie[] = {0x1p54, 2, -0x1p-1000, 0};
    cr_expect_eq(mean(true, below_tie, 4), 0x1p52);
}

/* Half the values a, half b: the deviation is |a - b| / 2. */
static void expect_two_points(bool is_double, double a, double b)
{
    const double value[] = {a, b, b, a, a, b};
    cr_expect_eq(deviation(is_double, value, 6), fabs(a / 2 - b / 2), "double %d: %g %g", is_double, a, b);
}

Test(reduce, deviation_of_two_points)
{
    for (int is_double = 0; is_double < 2; is_double++) {
        expect_two_points(is_double, 0, 1);
        expect_two_points(is_double, 16777215, 16777214);
        expect_two_points(is_double, -0x1p126, 0x1p126);
        expect_two_points(is_double, 0x1p127, 0x1.fffffep127);
        expect_two_points(is_double, 0, 0x1p-149);
        expect_two_points(is_double, 5, 5);
    }
    expect_two_points(true, 1e15, 1e15 + 1);
    expect_two_points(true, 0, 0x1p-1073);
    expect_two_points(true, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023);
    const double value[] = {3, 5};
    cr_expect_eq(reduced(VF_REDUCE_DEVIATION, 2.5, false, value, 2), 2.5);
}

/* n * sum v^2 - (sum v)^2 in 128-bit integers. */
Test(reduce, deviation_of_integers)
{
    static double value[MOST];
    random_state = 3;
    for (int round = 0; round < 50; round++) {
        const ptrdiff_t n = 2 + (ptrdiff_t)(random_bits() % (MOST - 2));
        const int64_t offset = round % 2 == 0 ? 0 : 16000000;
        __int128 sum = 0, squares = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            const int64_t v = offset + (int64_t)(random_bits() % 100000);
            value[i] = (double)v;
            sum += v;
            squares += v * v;
        }
        const double expected = sqrt((double)(n * squares - sum * sum)) / (double)n;
        for (int is_double = 0; is_double < 2; is_double++) {
            const double got = deviation(is_double, value, n);
            cr_expect(fabs(got - expected) <= 4e-16 * expected, "%a, not %a", got, expected);
        }
    }
}

/* Squares of 53-bit significands fill both halves of the sums. */
Test(reduce, deviation_of_doubles)
{
    static double value[MOST];
    random_state = 4;
    for (int scale = -1000; scale <= 1000; scale += 250) {
        double sum = 0, squares = 0;
        for (int i = 0; i < MOST; i++)
            value[i] = random_unit() - 0.5;
        for (int i = 0; i < MOST; i++)
            sum += value[i];
        for (int i = 0; i < MOST; i++)
            squares += (value[i] - sum / MOST) * (value[i] - sum / MOST);
        const double expected = ldexp(sqrt(squares / MOST), scale);
        for (int i = 0; i < MOST; i++)
            value[i] = ldexp(value[i], scale);
        const double got = deviation(true, value, MOST);
        cr_expect(fabs(got - expected) <= 1e-13 * expected, "2^%d: %a, not %a", scale, got, expected);
    }
}

static int by_magnitude(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* What stands in the sorted list at the rank, cut to the bin's edge. */
static double percentile_by_sorting(double which, const double *value, ptrdiff_t n)
{
    double sorted[MOST];
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (value[i] != 0 && isfinite(value[i]))
            sorted[count++] = value[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_magnitude);
    ptrdiff_t rank = (ptrdiff_t)ceil(which * (double)count / 100);
    const float found = (float)fabs(sorted[rank < 1 ? 0 : rank - 1]);
    uint32_t bits;
    float edge;
    memcpy(&bits, &found, sizeof bits);
    bits &= 0xffff8000;
    memcpy(&edge, &bits, sizeof edge);
    return (double)edge;
}

Test(reduce, percentiles_as_by_sorting)
{
    static const double which[] = {0, 0.1, 1, 10, 25, 50, 89.9, 90, 99, 99.99, 100};
    static double value[MOST];
    random_state = 5;
    for (int round = 0; round < 20; round++) {
        const ptrdiff_t n = round < 10 ? round + 1 : 1 + (ptrdiff_t)(random_bits() % MOST);
        take_level(round);
        for (ptrdiff_t i = 0; i < n; i++)
            value[i] = (double)(float)((random_unit() - 0.3) * exp(20 * random_unit()));
        if (n > 5) {
            value[n / 2] = 0;
            value[n / 3] = NAN;
            value[n / 4] = -INFINITY;
        }
        for (size_t k = 0; k < sizeof which / sizeof *which; k++) {
            const double expected = percentile_by_sorting(which[k], value, n);
            cr_expect_eq(percentile(false, which[k], value, n), expected, "p%g of %td", which[k], n);
            cr_expect_eq(percentile(true, which[k], value, n), expected, "p%g of %td doubles", which[k], n);
        }
    }
}

/* Bins are cleared as values come to them. */
Test(reduce, percentile_of_rows_apart)
{
    static double row[700];
    struct vf_reducer reducer = open_reducer(VF_REDUCE_PERCENTILE, 60, false, 700, 2);
    add(&reducer, 0, row, 700);
    for (int i = 0; i < 5; i++) {
        static const double apart[] = {3, 0x1p100, 0x1p-140, 0x1p99, 0x1p-20};
        row[690] = apart[i];
        add(&reducer, i % 2, row, 700);
    }
    cr_expect_eq(vf_reducer_value(&reducer), 3);
    vf_reducer_close(&reducer);
}

Test(reduce, percentile_of_few)
{
    const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    cr_expect_eq(percentile(false, 90, ten, 10), 9);
    cr_expect_eq(percentile(false, 90.1, ten, 10), 10);
    cr_expect_eq(percentile(false, 0, ten, 10), 1);
    const double many_zeros[] = {0, 0, 0, -0.0, 0, 0, 2, 0};
    cr_expect_eq(percentile(false, 1, many_zeros, 8), 2);
    const double between[] = {1 + 1.0 / 256 + 1.0 / 512};
    cr_expect_eq(percentile(false, 50, between, 1), 1 + 1.0 / 256);
    const double beyond[] = {1e300, 1e-300};
    cr_expect_eq(percentile(true, 100, beyond, 2), 0x1.ffp127,
                 "counts as the largest float32; 1e-300 as zero");
    cr_expect_eq(percentile(true, 0, beyond, 2), 0x1.ffp127);
}

Test(reduce, range)
{
    const double value[] = {NAN, 3, -INFINITY, -4.5, INFINITY, 0};
    const double zeros[] = {0.0, -0.0}, zeros_again[] = {-0.0, 0.0};
    for (int is_double = 0; is_double < 2; is_double++) {
        cr_expect_eq(reduced(VF_REDUCE_RANGE, 0, is_double, value, 6), 7.5);
        cr_expect_eq(bits_of(reduced(VF_REDUCE_RANGE, 0, is_double, zeros, 2)), 0);
        cr_expect_eq(bits_of(reduced(VF_REDUCE_RANGE, 0, is_double, zeros_again, 2)), 0);
        cr_expect_eq(reduced(VF_REDUCE_RANGE, 0, is_double, value + 3, 1), 0);
    }
}

Test(reduce, variation)
{
    const double value[] = {3, 5, 1, -1}, below[] = {-3, -5};
    for (int is_double = 0; is_double < 2; is_double++) {
        cr_expect_eq(reduced(VF_REDUCE_VARIATION, 0, is_double, value, 2), 0.25);
        cr_expect_eq(reduced(VF_REDUCE_VARIATION, 0, is_double, below, 2), -0.25);
        cr_expect_eq(reduced(VF_REDUCE_VARIATION, 0, is_double, value, 1), 0);
        cr_expect_eq(reduced(VF_REDUCE_VARIATION, 0, is_double, value + 2, 2), 0, "of a mean of 0");
    }
}

Test(reduce, values_that_are_not_finite_do_not_count)
{
    const double value[] = {NAN, 1, INFINITY, -INFINITY, 3, -NAN}, none[] = {NAN, INFINITY, -INFINITY};
    for (int is_double = 0; is_double < 2; is_double++) {
        cr_expect_eq(mean(is_double, value, 6), 2);
        cr_expect_eq(deviation(is_double, value, 6), 1);
        cr_expect_eq(percentile(is_double, 50, value, 6), 1);
        for (int reduction = VF_REDUCE_PERCENTILE; reduction <= VF_REDUCE_VARIATION; reduction++) {
            cr_expect_eq(bits_of(reduced((enum vf_reduction)reduction, 50, is_double, none, 3)), 0);
            cr_expect_eq(bits_of(reduced((enum vf_reduction)reduction, 50, is_double, none, 0)), 0);
        }
    }
}

/* Voxel (x, y, z) of a 7 x 5 x 4 grid, in rows that come in two pieces. */
static double mean_in_box(const long size[3], const long at[3])
{
    const struct vf_global global = {.reduction = VF_REDUCE_MEAN,
                                     .box_size = {size[0], size[1], size[2]},
                                     .box_at = {at[0], at[1], at[2]}};
    const ptrdiff_t grid[3] = {7, 5, 4};
    struct vf_reducer reducer;
    struct vf_error error;
    cr_assert_eq(vf_reducer_open(&reducer, &global, false, grid, 2, &error), VF_OK);
    for (ptrdiff_t z = 0; z < 4; z++)
        for (ptrdiff_t y = 0; y < 5; y++) {
            float row[7];
            for (int x = 0; x < 7; x++)
                row[x] = (float)(x + 10 * y + 100 * z);
            vf_reducer_add(&reducer, 0, row, 3, 0, y, z);
            vf_reducer_add(&reducer, 1, row + 3, 4, 3, y, z);
        }
    const double value = vf_reducer_value(&reducer);
    vf_reducer_close(&reducer);
    return value;
}

Test(reduce, box)
{
    cr_expect_eq(mean_in_box((const long[3]){0, 0, 0}, (const long[3]){0, 0, 0}), 3 + 20 + 150, "everywhere");
    cr_expect_eq(mean_in_box((const long[3]){1, 1, 1}, (const long[3]){6, 4, 3}), 346, "one voxel");
    cr_expect_eq(mean_in_box((const long[3]){3, 2, 2}, (const long[3]){2, 1, 1}), 3 + 15 + 150,
                 "across the pieces");
    cr_expect_eq(mean_in_box((const long[3]){9, 9, 9}, (const long[3]){6, 4, 2}), 6 + 40 + 250,
                 "cut to the grid");
    cr_expect_eq(mean_in_box((const long[3]){2, 2, 2}, (const long[3]){7, 0, 0}), 0, "outside");
}

/* ---- values that were reduced elsewhere ---- */

static const struct {
    enum vf_reduction reduction;
    double argument;
} reductions[] = {{VF_REDUCE_PERCENTILE, 75},
                  {VF_REDUCE_DEVIATION, 2},
                  {VF_REDUCE_RANGE, 0},
                  {VF_REDUCE_MEAN, 0},
                  {VF_REDUCE_VARIATION, 0}};

Test(reduce, merging_is_adding)
{
    static double value[MOST];
    random_state = 6;
    for (int is_double = 0; is_double < 2; is_double++) {
        fill_wildly(value, is_double);
        for (size_t c = 0; c < sizeof reductions / sizeof *reductions; c++) {
            struct vf_reducer all, own[3];
            struct vf_error error;
            all = open_reducer(reductions[c].reduction, reductions[c].argument, is_double, MOST, 2);
            add(&all, 1, value, 100);
            for (int i = 0; i < 3; i++)
                cr_assert_eq(vf_reducer_open_like(&own[i], &all, &error), VF_OK);
            add(&own[0], 0, value + 100, 1);
            add(&own[2], 0, value + 101, MOST - 101);
            for (int i = 0; i < 3; i++) {
                vf_reducer_merge(&all, &own[i]);
                vf_reducer_close(&own[i]);
            }
            const double one =
                reduced(reductions[c].reduction, reductions[c].argument, is_double, value, MOST);
            cr_expect_eq(bits_of(vf_reducer_value(&all)), bits_of(one), "reduction %zu, double %d", c,
                         is_double);
            vf_reducer_close(&all);
        }
    }
}

/* Adds a value as kernels/reduce.cu gives it: in a bin up to 23 below its own, in digits of 24 bits. */
static void add_digits(struct vf_reduce_sums *sums, double value, bool is_double)
{
    int exponent;
    const int unit = is_double ? -1074 : -149, width = is_double ? 53 : 24;
    const double fraction = frexp(fabs(value), &exponent);
    int own = exponent - width - unit;
    own = value == 0 || own < 0 ? 0 : own;
    const int shift = (int)(random_bits() % 24) < own ? (int)(random_bits() % 24) % (own + 1) : 0;
    unsigned __int128 rest = (unsigned __int128)ldexp(fraction, exponent - own - unit) << shift;
    int64_t digit[4];
    for (int k = 0; k < 4; k++, rest >>= 24)
        digit[k] = (int64_t)(rest & 0xffffff);
    for (int k = 0; k < 4; k++) {
        sums[own - shift].value[k] += value < 0 ? -digit[k] : digit[k];
        for (int j = 0; j < 4; j++)
            sums[own - shift].square[k + j] += digit[k] * digit[j];
    }
}

Test(reduce, sums_from_elsewhere)
{
    static double value[MOST];
    static struct vf_reduce_sums sums[VF_REDUCE_DOUBLE_BINS];
    random_state = 7;
    for (int is_double = 0; is_double < 2; is_double++) {
        uint64_t count = 0;
        fill_wildly(value, is_double);
        memset(sums, 0, sizeof sums);
        for (int i = 0; i < MOST; i++) {
            if (i % 2 == 0)
                value[i] = (double)(float)(random_unit() - 0.25);
            if (isfinite(value[i])) {
                add_digits(sums, value[i], is_double);
                count++;
            }
        }
        for (size_t c = 0; c < sizeof reductions / sizeof *reductions; c++) {
            if (!vf_reduction_has_sums(reductions[c].reduction))
                continue;
            struct vf_reducer reducer =
                open_reducer(reductions[c].reduction, reductions[c].argument, is_double, MOST, 1);
            vf_reducer_add_sums(&reducer, count, sums);
            const double one =
                reduced(reductions[c].reduction, reductions[c].argument, is_double, value, MOST);
            cr_expect_eq(bits_of(vf_reducer_value(&reducer)), bits_of(one), "reduction %zu, double %d", c,
                         is_double);
            vf_reducer_close(&reducer);
        }
    }
}

Test(reduce, counts_and_extremes_from_elsewhere)
{
    static uint64_t count[VF_REDUCE_COUNTS];
    const double value[] = {3, 4};
    struct vf_reducer reducer = open_reducer(VF_REDUCE_PERCENTILE, 50, false, 2, 1);
    count[0x7f00] = 5; /* of 1 */
    count[0x7e00] = 4; /* of 0.5 */
    vf_reducer_add_counts(&reducer, count);
    cr_expect_eq(vf_reducer_value(&reducer), 1);
    vf_reducer_add_counts(&reducer, count);
    count[0x7f00] = 0;
    vf_reducer_add_counts(&reducer, count);
    cr_expect_eq(vf_reducer_value(&reducer), 0.5);
    vf_reducer_close(&reducer);
    reducer = open_reducer(VF_REDUCE_RANGE, 0, true, 2, 1);
    vf_reducer_add_extremes(&reducer, INFINITY, -INFINITY);
    cr_expect_eq(vf_reducer_value(&reducer), 0);
    add(&reducer, 0, value, 2);
    vf_reducer_add_extremes(&reducer, -1, 3.5);
    cr_expect_eq(vf_reducer_value(&reducer), 5);
    vf_reducer_close(&reducer);
}
