/* exp2, exp, log, 1 / sqrt(x) and atan2 of the stencils against tables from mpmath and, over many more
 * arguments, against the C library in a wider type. `--verbose` prints the largest errors found. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "random.h"
#include "stencil_variants.h"
#include "tables/ref_math.h"

/* What kernels/stencil_math.h promises, in units in the last place. */
#define EXP_BOUND 2.0
#define LOG_BOUND 2.0
#define INVERSE_ROOT_BOUND 2.0
#define ATAN2_BOUND 7.0

/* Above these exp2_minus gives 0. */
#define EXP2_MOST_F32 126.0f
#define EXP2_MOST_F64 1022.0

/* Above these exp is infinite, and below minus them 0. */
#define EXP_MOST_F32 87.3f
#define EXP_MOST_F64 708.3

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct stencil_variant *const single = &stencil_f32_3d, *const twice = &stencil_f64_3d;

/* The largest error so far, and where. */
struct worst {
    double error, y, x;
};

/* The distance of `got` from `expected` in the spacing of the type's numbers around `expected`; infinite for
 * NaN. */
static double ulps(int bits, double got, long double expected)
{
    const int digits = bits == 64 ? DBL_MANT_DIG : FLT_MANT_DIG, least = bits == 64 ? -1074 : -149;
    int exponent;
    frexpl(expected, &exponent);
    if (isnan(got))
        return INFINITY;
    exponent = exponent - digits < least ? least : exponent - digits;
    return (double)ldexpl(fabsl((long double)got - expected), -exponent);
}

static void compare_atan2(const struct stencil_variant *v, double y, double x, long double expected,
                          struct worst *worst)
{
    const double error = ulps(v->bits, v->atan2(y, x), expected);
    if (error > worst->error)
        *worst = (struct worst){error, y, x};
}

static void expect_within(const char *what, const struct worst *worst, double bound)
{
    cr_log_info("%s: at most %.3f units, at (%a, %a)", what, worst->error, worst->y, worst->x);
    cr_expect(worst->error <= bound, "%s: %.3f units at (%a, %a)", what, worst->error, worst->y, worst->x);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void compare(const struct stencil_variant *v, double (*function)(double), double x,
                    long double expected, struct worst *worst)
{
    const double error = ulps(v->bits, function(x), expected);
    if (error > worst->error)
        *worst = (struct worst){error, 0, x};
}

static void expect_table(const struct stencil_variant *v, double (*function)(double), const char *what,
                         const struct ref_math1 *table, size_t count, double low, double high, double bound)
{
    struct worst worst = {0};
    for (size_t i = 0; i < count; i++)
        if (table[i].x >= low && table[i].x <= high)
            compare(v, function, table[i].x, (long double)table[i].y, &worst);
    expect_within(what, &worst, bound);
}

Test(stencil_math, exp2_minus_of_floats)
{
    struct worst worst = {0};
    for (uint32_t bits = bits_of(0x1p-27f); bits <= bits_of(EXP2_MOST_F32); bits += 211) {
        const double x = (double)float_of(bits);
        compare(single, single->exp2_minus, x, (long double)exp2(-x), &worst);
    }
    expect_within("2^-x of floats", &worst, EXP_BOUND);
}

Test(stencil_math, exp2_minus_of_doubles)
{
    struct worst worst = {0};
    random_state = 1;
    for (int i = 0; i < 300000; i++) {
        const double u = random_unit(), x = i % 3 == 0   ? u
                                            : i % 3 == 1 ? u * EXP2_MOST_F64
                                                         : ldexp(u, -(i % 60));
        /* Where long double is no wider the library's own error, below a unit, comes on top. */
        compare(twice, twice->exp2_minus, x, exp2l(-(long double)x), &worst);
    }
    expect_within("2^-x of doubles", &worst, LDBL_MANT_DIG > DBL_MANT_DIG ? EXP_BOUND : EXP_BOUND + 1);
}

Test(stencil_math, exp2_minus_of_whole_numbers)
{
    for (int n = 0; n <= (int)EXP2_MOST_F64; n++) {
        cr_expect_eq(twice->exp2_minus(n), ldexp(1.0, -n), "2^-%d", n);
        cr_expect_eq(single->exp2_minus(n), n <= (int)EXP2_MOST_F32 ? ldexp(1.0, -n) : 0.0, "2^-%d", n);
    }
}

Test(stencil_math, exp2_minus_at_the_ends)
{
    const struct stencil_variant *const variants[] = {single, twice};
    for (int i = 0; i < 2; i++) {
        const struct stencil_variant *v = variants[i];
        const double tiny = v->bits == 64 ? 0x1p-1074 : 0x1p-149;
        const double most = v->bits == 64 ? EXP2_MOST_F64 : (double)EXP2_MOST_F32;
        const double next = v->bits == 64 ? nextafter(most, 1e4) : (double)nextafterf(EXP2_MOST_F32, 1e4f);
        const double largest = v->bits == 64 ? DBL_MAX : (double)FLT_MAX;
        cr_expect_eq(v->exp2_minus(-0.0), 1.0);
        cr_expect_eq(v->exp2_minus(tiny), 1.0);
        cr_expect_eq(v->exp2_minus(tiny * 0x1p30), 1.0);
        cr_expect_eq(v->exp2_minus(next), 0.0);
        cr_expect_eq(v->exp2_minus(largest), 0.0);
        cr_expect_eq(v->exp2_minus(INFINITY), 0.0);
        cr_expect_eq(v->exp2_minus(NAN), 0.0, "what it weighs carries the NaN on");
    }
}

/* Conductances rely on it. */
Test(stencil_math, exp2_minus_is_never_more_than_one)
{
    for (uint32_t bits = 0; bits < bits_of(1.0f); bits += 1009)
        cr_expect_leq(single->exp2_minus((double)float_of(bits)), 1.0);
    random_state = 2;
    for (int i = 0; i < 100000; i++)
        cr_expect_leq(twice->exp2_minus(ldexp(random_unit(), -(i % 80))), 1.0);
}

Test(stencil_math, exp_and_log_as_in_the_tables)
{
    const double most = (double)EXP_MOST_F32;
    expect_table(single, single->exp, "exp of floats", REF_EXP_F32, COUNT(REF_EXP_F32), -most, most,
                 EXP_BOUND);
    expect_table(twice, twice->exp, "exp of doubles", REF_EXP_F64, COUNT(REF_EXP_F64), -EXP_MOST_F64,
                 EXP_MOST_F64, EXP_BOUND);
    expect_table(single, single->log, "log of floats", REF_LOG_F32, COUNT(REF_LOG_F32), (double)FLT_MIN,
                 (double)FLT_MAX, LOG_BOUND);
    expect_table(twice, twice->log, "log of doubles", REF_LOG_F64, COUNT(REF_LOG_F64), DBL_MIN, DBL_MAX,
                 LOG_BOUND);
}

Test(stencil_math, exp_and_log_of_floats)
{
    struct worst exp_worst = {0}, log_worst = {0}, near_one = {0};
    for (uint32_t bits = bits_of(0x1p-27f); bits <= bits_of(EXP_MOST_F32); bits += 211)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double x = sign * (double)float_of(bits);
            compare(single, single->exp, x, (long double)exp(x), &exp_worst);
        }
    expect_within("exp of floats", &exp_worst, EXP_BOUND);
    for (uint32_t bits = bits_of(FLT_MIN); bits <= bits_of(FLT_MAX); bits += 1511)
        compare(single, single->log, (double)float_of(bits), (long double)log((double)float_of(bits)),
                &log_worst);
    expect_within("log of floats", &log_worst, LOG_BOUND);
    for (uint32_t bits = bits_of(0.5f); bits <= bits_of(2.0f); bits += 13)
        compare(single, single->log, (double)float_of(bits), (long double)log((double)float_of(bits)),
                &near_one);
    expect_within("log of floats about 1", &near_one, LOG_BOUND);
}

Test(stencil_math, exp_and_log_of_doubles)
{
    struct worst exp_worst = {0}, log_worst = {0};
    const double more = LDBL_MANT_DIG > DBL_MANT_DIG ? 0 : 1;
    random_state = 5;
    for (int i = 0; i < 300000; i++) {
        const double u = random_unit(), x = i % 2 == 0 ? 2 * u - 1 : EXP_MOST_F64 * (2 * u - 1);
        const double y = i % 2 == 0 ? 0.5 + 1.5 * u : ldexp(1 + u, i % 2045 - 1022);
        compare(twice, twice->exp, x, expl((long double)x), &exp_worst);
        compare(twice, twice->log, y, logl((long double)y), &log_worst);
    }
    expect_within("exp of doubles", &exp_worst, EXP_BOUND + more);
    expect_within("log of doubles", &log_worst, LOG_BOUND + more);
}

Test(stencil_math, exp_and_log_at_the_ends)
{
    const struct stencil_variant *const variants[] = {single, twice};
    for (int i = 0; i < 2; i++) {
        const struct stencil_variant *v = variants[i];
        const double most = v->bits == 64 ? EXP_MOST_F64 : (double)EXP_MOST_F32;
        const double least = v->bits == 64 ? DBL_MIN : (double)FLT_MIN;
        cr_expect_eq(v->exp(0.0), 1.0);
        cr_expect_eq(v->exp(-0.0), 1.0);
        cr_expect(isfinite(v->exp(most)));
        cr_expect_eq(v->exp(2 * most), INFINITY);
        cr_expect_eq(v->exp(INFINITY), INFINITY);
        cr_expect_eq(v->exp(-2 * most), 0.0);
        cr_expect_eq(v->exp(-INFINITY), 0.0);
        cr_expect(isnan(v->exp(NAN)));
        cr_expect_eq(v->log(1.0), 0.0);
        cr_expect_eq(v->log(INFINITY), INFINITY);
        cr_expect(isfinite(v->log(least)));
        cr_expect_eq(v->log(least / 2), -INFINITY);
        cr_expect_eq(v->log(0.0), -INFINITY);
        cr_expect_eq(v->log(-1.0), -INFINITY);
        cr_expect(isnan(v->log(NAN)));
    }
}

Test(stencil_math, inverse_root_of_normal_numbers)
{
    struct worst worst = {0}, wide = {0};
    for (uint32_t bits = bits_of(0x1p-126f); bits <= bits_of(FLT_MAX); bits += 1511) {
        const double x = (double)float_of(bits);
        const double error = ulps(32, single->inverse_root(x), 1 / sqrtl((long double)x));
        if (error > worst.error)
            worst = (struct worst){error, 0, x};
    }
    expect_within("1 / sqrt(x) of floats", &worst, INVERSE_ROOT_BOUND);
    random_state = 4;
    for (int i = 0; i < 300000; i++) {
        const double x = ldexp(1 + random_unit(), (int)(random_unit() * 2045) - 1022);
        const double error = ulps(64, twice->inverse_root(x), 1 / sqrtl((long double)x));
        if (error > wide.error)
            wide = (struct worst){error, 0, x};
    }
    expect_within("1 / sqrt(x) of doubles", &wide, INVERSE_ROOT_BOUND);
}

/* What is multiplied by it vanishes, or carries on what is no number. */
Test(stencil_math, inverse_root_of_what_is_not_normal)
{
    const struct stencil_variant *const variants[] = {single, twice};
    for (int i = 0; i < 2; i++) {
        const struct stencil_variant *v = variants[i];
        const double least = v->bits == 64 ? 0x1p-1074 : 0x1p-149;
        cr_expect_eq(0.0 * v->inverse_root(0.0), 0.0);
        for (double x = least; x < least * 0x1p20; x *= 3)
            cr_expect_eq(0.0 * v->inverse_root(x), 0.0, "%s: %a", v->name, x);
        cr_expect(isnan(v->inverse_root(NAN)));
    }
}

/* The library's atan2 tells -0 from 0, and knows an angle where both are infinite. */
static int is_exempt(double y, double x)
{
    return (y == 0 && signbit(y)) || (x == 0 && y == 0) || (isinf(y) && isinf(x));
}

static void expect_atan2_table(const struct stencil_variant *v, const struct ref_math2 *table, size_t count)
{
    struct worst worst = {0};
    for (size_t i = 0; i < count; i++)
        if (!is_exempt(table[i].y, table[i].x) && !isnan(table[i].r))
            compare_atan2(v, table[i].y, table[i].x, (long double)table[i].r, &worst);
    expect_within(v->name, &worst, ATAN2_BOUND);
}

Test(stencil_math, atan2_as_in_the_table)
{
    expect_atan2_table(single, REF_ATAN2_F32, COUNT(REF_ATAN2_F32));
    expect_atan2_table(single, REF_ATAN2_SPECIAL, COUNT(REF_ATAN2_SPECIAL));
    expect_atan2_table(twice, REF_ATAN2_F64, COUNT(REF_ATAN2_F64));
    expect_atan2_table(twice, REF_ATAN2_SPECIAL, COUNT(REF_ATAN2_SPECIAL));
}

Test(stencil_math, atan2_of_floats)
{
    static const double xs[] = {1, -1, 1.5, -1.75, 0x1.fffffep0};
    struct worst worst = {0};
    for (size_t k = 0; k < COUNT(xs); k++)
        for (uint32_t bits = bits_of(0x1p-27f); bits < bits_of(0x1p27f); bits += 1511) {
            const double y = (double)float_of(bits);
            compare_atan2(single, y, xs[k], (long double)atan2(y, xs[k]), &worst);
            compare_atan2(single, -y, xs[k], (long double)-atan2(y, xs[k]), &worst);
        }
    expect_within("atan2 of floats", &worst, ATAN2_BOUND);
}

/* Pairs of any size, down to subnormal angles. */
static void compare_at_random(const struct stencil_variant *v, struct worst *worst)
{
    const int most = v->bits == 64 ? 1070 : 145;
    for (int i = 0; i < 300000; i++) {
        const int range = i % 2 == 0 ? 3 : most;
        double y = ldexp(random_unit() - 0.5, (int)((random_unit() - 0.5) * 2 * range));
        double x = ldexp(random_unit() - 0.5, (int)((random_unit() - 0.5) * 2 * range));
        if (v->bits == 32) {
            y = (double)(float)y;
            x = (double)(float)x;
        }
        if (!is_exempt(y, x))
            compare_atan2(v, y, x, atan2l((long double)y, (long double)x), worst);
    }
}

Test(stencil_math, atan2_of_random_pairs)
{
    struct worst worst = {0}, wide = {0};
    random_state = 3;
    compare_at_random(single, &worst);
    expect_within("atan2 of random floats", &worst, ATAN2_BOUND);
    compare_at_random(twice, &wide);
    expect_within("atan2 of random doubles", &wide, ATAN2_BOUND);
}

Test(stencil_math, atan2_where_there_is_no_angle)
{
    const struct stencil_variant *const variants[] = {single, twice};
    for (int i = 0; i < 2; i++) {
        const struct stencil_variant *v = variants[i];
        cr_expect_eq(v->atan2(0.0, 0.0), 0.0);
        cr_expect_eq(v->atan2(-0.0, -0.0), 0.0);
        cr_expect_eq(v->atan2(-0.0, -1.0), v->atan2(0.0, -1.0), "-0 is 0");
        cr_expect_gt(v->atan2(-0.0, -1.0), 3.14);
        cr_expect(isnan(v->atan2(NAN, 1.0)));
        cr_expect(isnan(v->atan2(1.0, NAN)));
        cr_expect(isnan(v->atan2(NAN, NAN)));
        cr_expect(isnan(v->atan2(INFINITY, INFINITY)));
    }
}
