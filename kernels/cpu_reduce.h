/* What kernels/reduce.c asks of rows, for kernels/cpu_rows.c: loops without branches, which the compiler
 * vectorises. */
#ifndef VF_CPU_REDUCE_H
#define VF_CPU_REDUCE_H

#include <math.h>
#include <string.h>

#include "kernels/cpu_rows.h"

/* The bits of a value's magnitude as float32. */
VF_DEVICE int32_t magnitude_bits(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & INT32_MAX;
}

#define INFINITE_BITS 0x7f800000

/* Added in 16 bits it makes VF_BIN_NONE 0 and leaves the others in order; clang 22 vectorises no maximum of a
 * choice. */
enum { BIN_NONE_TO_0 = 0x10000 - VF_BIN_NONE };
_Static_assert(VF_BIN_LARGEST < VF_BIN_NONE, "what is left in order");

static void find_bins(const void *row, ptrdiff_t n, uint16_t *bin, int range[2])
{
    const REAL *value = row;
    uint16_t least = UINT16_MAX, most = 0;
    _Pragma("omp simd") for (int i = 0; i < (int)n; i++)
    {
        const REAL magnitude = ABS(value[i]);
        const int32_t bits = magnitude_bits((float)magnitude);
        const int32_t own = bits < INFINITE_BITS ? bits >> 15 : VF_BIN_LARGEST;
        const bool counts = bits != 0 && magnitude < (REAL)INFINITY;
        bin[i] = (uint16_t)(counts ? own : VF_BIN_NONE);
    }
    /* In a loop of its own: in the one above gcc 12 leaves values out of the reduction. */
    _Pragma("omp simd reduction(min : least) reduction(max : most)") for (ptrdiff_t i = 0; i < n; i++)
    {
        const uint16_t high = (uint16_t)(bin[i] + BIN_NONE_TO_0);
        least = bin[i] < least ? bin[i] : least;
        most = high > most ? high : most;
    }
    range[0] = least;
    range[1] = most < BIN_NONE_TO_0 ? 0 : most - BIN_NONE_TO_0;
}

/* A value that is not finite is replaced by one that changes nothing. */
static void find_extremes(const void *row, ptrdiff_t n, double extreme[2])
{
    const REAL *value = row, infinity = (REAL)INFINITY;
    REAL least = infinity, most = -infinity;
    ptrdiff_t begin = 0;
#ifdef __clang__
    /* It takes no reduction of floats by comparison, since one may be NaN: of each lane's there is none. */
    REAL lane_least[VF_LANES], lane_most[VF_LANES];
    VF_OVER_LANES for (int lane = 0; lane < VF_LANES; lane++)
    {
        lane_least[lane] = infinity;
        lane_most[lane] = -infinity;
    }
    for (; begin + VF_LANES <= n; begin += VF_LANES)
        VF_OVER_LANES for (int lane = 0; lane < VF_LANES; lane++)
        {
            const REAL own = value[begin + lane];
            const bool finite = ABS(own) < infinity;
            const REAL low = finite ? own : infinity, high = finite ? own : -infinity;
            lane_least[lane] = low < lane_least[lane] ? low : lane_least[lane];
            lane_most[lane] = high > lane_most[lane] ? high : lane_most[lane];
        }
    for (int lane = 0; lane < VF_LANES; lane++) {
        least = lane_least[lane] < least ? lane_least[lane] : least;
        most = lane_most[lane] > most ? lane_most[lane] : most;
    }
#else
    _Pragma("omp simd reduction(min : least) reduction(max : most)")
#endif
    for (ptrdiff_t i = begin; i < n; i++) {
        const bool finite = ABS(value[i]) < infinity;
        const REAL low = finite ? value[i] : infinity, high = finite ? value[i] : -infinity;
        least = low < least ? low : least;
        most = high > most ? high : most;
    }
    extreme[0] = (double)least;
    extreme[1] = (double)most;
}

#if REAL_BITS == 32
/* Exponents from the smallest to the largest that `sum_row` takes. */
#define SUMS_EXPONENTS 20

/* The exponents, as they are biased, between which all values are; those of subnormals are 1 and zero has
 * none. False: there are others, or infinities. */
static bool find_exponents(const float *value, int n, int range[2])
{
    int32_t least = INFINITE_BITS, most = 0;
    _Pragma("omp simd reduction(min : least) reduction(max : most)") for (int i = 0; i < n; i++)
    {
        const int32_t bits = magnitude_bits(value[i]), low = bits == 0 ? INFINITE_BITS : bits;
        least = low < least ? low : least;
        most = bits > most ? bits : most;
    }
    range[0] = least >> 23 > 1 ? least >> 23 : 1;
    range[1] = most >> 23 > 1 ? most >> 23 : 1;
    return most < INFINITE_BITS && range[1] - range[0] <= SUMS_EXPONENTS;
}

/* In units of the smallest exponent's last bit values are integers below 2^44, and VF_ROW_SUMMED of them add
 * up below 2^53, where doubles are exact. Their squares, of 48 bits each, are below 2^88: they are cut at
 * 2^45, by adding what has its last bit there, into two that add up below 2^53 in units of their own. */
static bool sum_row(const void *row, ptrdiff_t n, bool squares, struct vf_row_sums *result)
{
    const float *value = row;
    const double cut = 0x1.8p97;
    double sum = 0, upper = 0, lower = 0;
    int exponent[2];
    if (!find_exponents(value, (int)n, exponent))
        return false;
    result->bin = exponent[1] - 1 > SUMS_EXPONENTS ? exponent[1] - 1 - SUMS_EXPONENTS : 0;
    const double scale = __builtin_ldexp(1.0, 149 - result->bin);
    if (squares)
        _Pragma("omp simd reduction(+ : sum, upper, lower)") for (int i = 0; i < (int)n; i++)
        {
            const double v = (double)value[i] * scale, square = v * v, head = (square + cut) - cut;
            sum += v;
            upper += head;
            lower += square - head;
        }
    else
        _Pragma("omp simd reduction(+ : sum)") for (int i = 0; i < (int)n; i++) sum +=
            (double)value[i] * scale;
    result->value = (int64_t)sum;
    result->upper = (int64_t)(upper * 0x1p-45);
    result->lower = (int64_t)lower;
    return true;
}
#else
/* Squares of doubles would need four parts. */
#define sum_row NULL
#endif

#endif
