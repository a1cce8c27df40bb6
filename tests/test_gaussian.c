/* gaussian is scipy.ndimage's: tables, closed forms, and how results are rounded to every type. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline.h"
#include "tables/ref_gaussian_full.h"
#include "tables/ref_gaussian_sampled.h"

/* The largest |ref_input|. */
#define MOST 150.0

/* ---- tables ---- */

/* The largest difference from one case of a table. */
static double case_error(const struct ref_gaussian_case *t, bool precise)
{
    char chain[200];
    snprintf(chain, sizeof chain, "gaussian:sigma=%.17gx%.17gx%.17g:truncate=%.17g", t->sigma[0], t->sigma[1],
             t->sigma[2], t->truncate);
    struct pipeline p = pipeline_reference(chain, t->nx, t->ny, t->nz, precise);
    p.boundary = boundary_named(t->boundary);
    p.constant = t->constant;
    struct vf_volume out = pipeline_run_ref_input(&p);
    const double most = volume_error(&out, 0, t->at, t->expected, (size_t)t->count);
    vf_volume_free(&out);
    return most;
}

static void compare_table(const struct ref_gaussian_case *table, size_t count)
{
    for (size_t c = 0; c < count; c++)
        for (int precise = 0; precise < 2; precise++) {
            const double error = case_error(&table[c], precise != 0);
            cr_expect(error <= (precise ? 1e-14 : 1e-6) * MOST, "case %zu, %s: off by %g", c,
                      precise ? "double" : "float", error);
        }
}

Test(gaussian, input_is_the_tables)
{
    for (size_t i = 0; i < COUNT(REF_INPUT_FIRST); i++)
        cr_expect_eq(ref_input(i), REF_INPUT_FIRST[i]);
}

Test(gaussian, scipy_full)
{
    compare_table(REF_GAUSSIAN_FULL, COUNT(REF_GAUSSIAN_FULL));
}

Test(gaussian, scipy_sampled)
{
    compare_table(REF_GAUSSIAN_SAMPLED, COUNT(REF_GAUSSIAN_SAMPLED));
}

/* ---- closed forms ---- */

/* The normalised weight at distance i, cut off at 3 sigma. */
static double weight(int i, double sigma)
{
    const int radius = (int)floor(3 * sigma + 0.5);
    double sum = 0;
    for (int k = -radius; k <= radius; k++)
        sum += exp(-0.5 * k * k / (sigma * sigma));
    return abs(i) > radius ? 0 : exp(-0.5 * i * i / (sigma * sigma)) / sum;
}

/* An impulse gives the product of the weights of each axis, and 0 beyond the radius. */
static void expect_impulse(ptrdiff_t nz, bool precise)
{
    static const double sigma[3] = {1.2, 0.6, 0.9};
    struct pipeline p = pipeline_reference("gaussian:sigma=1.2x0.6x0.9:truncate=3", 15, 13, nz, precise);
    struct vf_volume in = pipeline_input(&p, 0);
    const ptrdiff_t centre = (nz / 2 * 13 + 6) * 15 + 7;
    for (size_t i = 0; i < volume_elements(&in); i++)
        volume_set(&in, i, i == (size_t)centre ? 1 : 0);
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    for (ptrdiff_t i = 0; i < 15 * 13 * nz; i++) {
        const int dx = (int)(i % 15) - 7, dy = (int)(i / 15 % 13) - 6, dz = (int)(i / 15 / 13 - nz / 2);
        const double expected =
            weight(dx, sigma[0]) * weight(dy, sigma[1]) * (nz > 1 ? weight(dz, sigma[2]) : 1);
        cr_expect(fabs(volume_get(&out, (size_t)i) - expected) <= (precise ? 3e-15 : 3e-7) * expected,
                  "at %d, %d, %d: %.17g is not %.17g", dx, dy, dz, volume_get(&out, (size_t)i), expected);
    }
    vf_volume_free(&in);
    vf_volume_free(&out);
}

Test(gaussian, impulse)
{
    for (int precise = 0; precise < 2; precise++) {
        expect_impulse(1, precise != 0);
        expect_impulse(11, precise != 0);
    }
}

/* A constant stays, but for the rounding of three axes' weights, under every boundary. */
Test(gaussian, constant)
{
    for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
        for (int precise = 0; precise < 2; precise++) {
            struct pipeline p = pipeline_reference("gaussian:sigma=2x1.1x0.7", 9, 7, 5, precise != 0);
            p.boundary = (enum vf_boundary)b;
            p.constant = 100.125;
            struct vf_volume in = pipeline_input(&p, 0);
            for (size_t i = 0; i < volume_elements(&in); i++)
                volume_set(&in, i, 100.125);
            struct vf_volume out = pipeline_run(&p, &in, NULL);
            for (size_t i = 0; i < volume_elements(&out); i++)
                cr_expect(fabs(volume_get(&out, i) - 100.125) <= 100.125 * 4 * (precise ? 0x1p-53 : 0x1p-24),
                          "boundary %d: %.17g", b, volume_get(&out, i));
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

/* Symmetric weights leave a ramp alone where they do not reach the boundary. */
Test(gaussian, ramp)
{
    for (int precise = 0; precise < 2; precise++) {
        struct pipeline p = pipeline_reference("gaussian:sigma=1:truncate=3", 12, 11, 10, precise != 0);
        struct vf_volume in = pipeline_input(&p, 0);
        for (int i = 0; i < 12 * 11 * 10; i++)
            volume_set(&in, (size_t)i, 3 * (i % 12) - 5 * (i / 12 % 11) + 7 * (i / 132));
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (int i = 0; i < 12 * 11 * 10; i++) {
            const int x = i % 12, y = i / 12 % 11, z = i / 132;
            if (x < 3 || x > 8 || y < 3 || y > 7 || z < 3 || z > 6)
                continue;
            cr_expect(fabs(volume_get(&out, (size_t)i) - volume_get(&in, (size_t)i)) <=
                          (precise ? 1e-13 : 2e-5),
                      "%.17g is not %.17g", volume_get(&out, (size_t)i), volume_get(&in, (size_t)i));
        }
        vf_volume_free(&in);
        vf_volume_free(&out);
    }
}

/* Nothing is computed for sigma 0: the same bytes, whatever the type, subnormals and negative zeros too. */
Test(gaussian, no_sigma_is_identity)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++)
        for (ptrdiff_t nz = 1; nz <= 4; nz += 3) {
            const bool wide = type == VF_U32 || type == VF_I32 || type == VF_F64;
            struct pipeline p = pipeline_reference("gaussian:sigma=0", 9, 5, nz, wide);
            p.type = p.result_type = (enum vf_type)type;
            struct vf_volume in = pipeline_input(&p, 3);
            if (type == VF_F32) {
                static const float odd[] = {-0.0f, 1e-40f, -1e-45f, INFINITY, -INFINITY, 3.4e38f};
                memcpy(in.data, odd, sizeof odd);
            }
            struct vf_volume out = pipeline_run(&p, &in, NULL);
            cr_expect_arr_eq(out.data, in.data, volume_size(&in), "%s", vf_type_name(in.type));
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

/* An axis with sigma 0 is left alone: planes do not mix. */
Test(gaussian, axis_without_sigma)
{
    struct pipeline whole = pipeline_reference("gaussian:sigma=1.5x0.8x0", 11, 8, 3, false);
    struct pipeline plane = pipeline_reference("gaussian:sigma=1.5x0.8", 11, 8, 1, false);
    struct vf_volume in = pipeline_input(&whole, 1), one = pipeline_input(&plane, 0);
    struct vf_volume out = pipeline_run(&whole, &in, NULL);
    for (int z = 0; z < 3; z++) {
        memcpy(one.data, (const float *)in.data + z * 88, volume_size(&one));
        struct vf_volume expected = pipeline_run(&plane, &one, NULL);
        cr_expect_arr_eq((const float *)out.data + z * 88, expected.data, volume_size(&expected));
        vf_volume_free(&expected);
    }
    vf_volume_free(&in);
    vf_volume_free(&one);
    vf_volume_free(&out);
}

/* ---- types ---- */

static double stored(const struct vf_volume *volume, size_t i)
{
    switch (volume->type) {
    case VF_U8:
        return ((const uint8_t *)volume->data)[i];
    case VF_I8:
        return ((const int8_t *)volume->data)[i];
    case VF_U16:
        return ((const uint16_t *)volume->data)[i];
    case VF_I16:
        return ((const int16_t *)volume->data)[i];
    case VF_U32:
        return ((const uint32_t *)volume->data)[i];
    case VF_I32:
        return ((const int32_t *)volume->data)[i];
    default:
        return volume_get(volume, i);
    }
}

static const struct {
    enum vf_type type;
    double low, high;
} integers[] = {{VF_U8, 0, 255},         {VF_I8, -128, 127},      {VF_U16, 0, 65535},
                {VF_I16, -32768, 32767}, {VF_U32, 0, 4294967295}, {VF_I32, -2147483648.0, 2147483647}};

/* Halves go to even, what does not fit to the nearest bound, NaN to 0. */
Test(gaussian, rounding)
{
    for (size_t t = 0; t < COUNT(integers); t++) {
        const double low = integers[t].low, high = integers[t].high;
        const double given[] = {0.5,      1.5,       2.5,        2.4999999, 2.5000001,  -0.5,
                                -1.5,     -2.5,      high - 0.5, high,      high - 1.5, high + 0.4,
                                high + 1, low + 0.5, low - 0.4,  low - 1,   1e300,      -1e300,
                                INFINITY, -INFINITY, NAN,        low,       65.5,       64.5};
        struct pipeline p = pipeline_reference("gaussian:sigma=0", COUNT(given), 1, 1, true);
        p.result_type = integers[t].type;
        struct vf_volume in = pipeline_input(&p, 0);
        memcpy(in.data, given, sizeof given);
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (size_t i = 0; i < COUNT(given); i++) {
            const double even = 2 * round(given[i] / 2), down = floor(given[i]);
            double expected = given[i] - down == 0.5 ? even : floor(given[i] + 0.5);
            expected = isnan(given[i]) ? 0 : fmin(fmax(expected, low), high);
            cr_expect_eq(stored(&out, i), expected, "%s: %.17g gives %.17g", vf_type_name(out.type), given[i],
                         stored(&out, i));
        }
        vf_volume_free(&in);
        vf_volume_free(&out);
    }
}

/* A smoothed step of integers is the rounded step of the same values in double. */
Test(gaussian, integers)
{
    for (size_t t = 0; t < COUNT(integers); t++) {
        const bool wide = integers[t].type == VF_U32 || integers[t].type == VF_I32;
        struct pipeline p = pipeline_reference("gaussian:sigma=1.3", 17, 9, 4, wide);
        p.type = p.result_type = integers[t].type;
        struct vf_volume in = pipeline_input(&p, (unsigned)t);
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        struct pipeline exact = pipeline_reference("gaussian:sigma=1.3", 17, 9, 4, true);
        exact.type = p.type;
        struct vf_volume expected = pipeline_run(&exact, &in, NULL);
        for (size_t i = 0; i < volume_elements(&out); i++)
            cr_expect(fabs(stored(&out, i) - volume_get(&expected, i)) <=
                          0.5 + (wide ? 0 : 1e-6 * integers[t].high),
                      "%s: %.17g is not %.17g rounded", vf_type_name(out.type), stored(&out, i),
                      volume_get(&expected, i));
        vf_volume_free(&in);
        vf_volume_free(&out);
        vf_volume_free(&expected);
    }
}

/* What keeps the input's type is said by the filter. */
Test(gaussian, filters_that_keep_the_type)
{
    static const char *const keep[] = {"gaussian", "perona-malik", "eed", "ced", "and"};
    static const char *const other[] = {"gradient", "structure-tensor"};
    for (size_t i = 0; i < COUNT(keep); i++)
        cr_expect(vf_filter_by_name(keep[i], strlen(keep[i]))->keeps_type, "%s", keep[i]);
    for (size_t i = 0; i < COUNT(other); i++)
        cr_expect_not(vf_filter_by_name(other[i], strlen(other[i]))->keeps_type, "%s", other[i]);
}
