/* gradient: scipy's values, closed forms, and how its parameters go together. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "tables/ref_gradient_2d.h"
#include "tables/ref_gradient_3d.h"

/* The largest |ref_input|. */
#define MOST 150.0

static const char *const methods[] = {"central", "sobel", "scharr", "gaussian"};

/* ---- tables ---- */

static double table_error(const struct ref_gradient_case *t, const struct vf_volume *out, int channel,
                          const double *expected)
{
    const size_t voxels = (size_t)t->nx * (size_t)t->ny * (size_t)t->nz;
    return volume_error(out, (size_t)channel * voxels, t->at, expected, (size_t)t->count);
}

/* The largest difference of a case's components and magnitude. */
static double case_error(const struct ref_gradient_case *t, bool precise)
{
    const int dim = t->nz > 1 ? 3 : 2;
    const double *const component[] = {t->x, t->y, t->z};
    double most = 0;
    for (int magnitude = 0; magnitude < 2; magnitude++) {
        char chain[200], sigma[100] = "";
        if (strcmp(t->method, "gaussian") == 0)
            snprintf(sigma, sizeof sigma, ":sigma=%.17gx%.17gx%.17g", t->sigma[0], t->sigma[1], t->sigma[2]);
        snprintf(chain, sizeof chain, "gradient:method=%s%s:output=%s", t->method, sigma,
                 magnitude ? "magnitude" : "components");
        struct pipeline p = pipeline_reference(chain, t->nx, t->ny, t->nz, precise);
        p.boundary = boundary_named(t->boundary);
        p.constant = t->constant;
        memcpy(p.aspect, t->h, sizeof p.aspect);
        struct vf_volume out = pipeline_run_ref_input(&p);
        cr_assert_eq(out.shape.nc, (size_t)(magnitude ? 1 : dim));
        for (int axis = 0; axis < dim && !magnitude; axis++)
            most = fmax(most, table_error(t, &out, axis, component[axis]));
        if (magnitude)
            most = fmax(most, table_error(t, &out, 0, t->magnitude));
        vf_volume_free(&out);
    }
    return most;
}

static void compare_table(const struct ref_gradient_case *table, size_t count)
{
    for (size_t c = 0; c < count; c++)
        for (int precise = 0; precise < 2; precise++) {
            cr_assert_eq(table[c].truncate, 4.0);
            cr_assert_eq(table[c].h[0], 1.0);
            const double error = case_error(&table[c], precise != 0);
            cr_expect(error <= (precise ? 1e-14 : 1e-6) * MOST, "case %zu, %s, %s: off by %g", c,
                      table[c].method, precise ? "double" : "float", error);
        }
}

Test(gradient, scipy_2d)
{
    compare_table(REF_GRADIENT_2D, COUNT(REF_GRADIENT_2D));
}

Test(gradient, scipy_3d)
{
    compare_table(REF_GRADIENT_3D, COUNT(REF_GRADIENT_3D));
}

/* ---- closed forms ---- */

/* A voxel's value in channel c of a result of 9 x 8 x 7. */
static double at(const struct vf_volume *out, int c, int x, int y, int z)
{
    return volume_get(out, (size_t)(((c * 7 + z) * 8 + y) * 9 + x));
}

/* Runs on a 9 x 8 x 7 volume with voxels of 1 x 2 x 0.5, of values f(x, y, z). */
static struct vf_volume run_on(double (*f)(int x, int y, int z), const char *chain, bool precise)
{
    struct pipeline p = pipeline_reference(chain, 9, 8, 7, precise);
    p.aspect[0] = 1;
    p.aspect[1] = 2;
    p.aspect[2] = 0.5;
    struct vf_volume in = pipeline_input(&p, 0);
    for (int i = 0; i < 9 * 8 * 7; i++)
        volume_set(&in, (size_t)i, f(i % 9, i / 9 % 8, i / 72));
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    vf_volume_free(&in);
    return out;
}

static double impulse(int x, int y, int z)
{
    return x == 4 && y == 4 && z == 3 ? 64 : 0;
}

/* Axes that are not differentiated along need no width: the line through the impulse is all there is. */
Test(gradient, gaussian_derivative_of_lines)
{
    struct vf_volume out = run_on(impulse, "gradient:method=gaussian:sigma=1x0x0:output=x", true);
    for (int i = 0; i < 9 * 8 * 7; i++) {
        const int x = i % 9, y = i / 9 % 8, z = i / 72;
        cr_expect_eq(at(&out, 0, x, y, z) != 0, y == 4 && z == 3 && x != 4, "%d, %d, %d", x, y, z);
    }
    vf_volume_free(&out);
}

/* The weight of `method` across the axis at distance d. */
static double across(int method, int d)
{
    static const double weight[][2] = {{1, 0}, {2.0 / 4, 1.0 / 4}, {10.0 / 16, 3.0 / 16}};
    return abs(d) > 1 ? 0 : weight[method][abs(d)];
}

/* -1/(2h) above the impulse and 1/(2h) below it, times the smoothing across; exactly, since all are dyadic.
 */
Test(gradient, impulse)
{
    static const double h[3] = {1, 2, 0.5};
    for (int method = 0; method < 3; method++) {
        char chain[80];
        snprintf(chain, sizeof chain, "gradient:method=%s:output=components", methods[method]);
        struct vf_volume out = run_on(impulse, chain, false);
        for (int i = 0; i < 3 * 9 * 8 * 7; i++) {
            const int axis = i / 504, d[3] = {i % 9 - 4, i / 9 % 8 - 4, i / 72 % 7 - 3};
            double expected = abs(d[axis]) == 1 ? -64 * d[axis] / (2 * h[axis]) : 0;
            for (int other = 0; other < 3; other++)
                expected *= other == axis ? 1 : across(method, d[other]);
            cr_expect_eq(volume_get(&out, (size_t)i), expected, "%s, axis %d at %d, %d, %d: %g is not %g",
                         methods[method], axis, d[0], d[1], d[2], volume_get(&out, (size_t)i), expected);
        }
        vf_volume_free(&out);
    }
}

static double ramp(int x, int y, int z)
{
    return 3 * x - 5 * y + 7 * z + 2;
}

/* A plane's slopes, away from the boundary; the derivative of a Gaussian's are those of scipy's weights. */
Test(gradient, ramp)
{
    static const double slope[3] = {3, -5 / 2.0, 7 / 0.5};
    for (int method = 0; method < 4; method++) {
        char chain[80];
        snprintf(chain, sizeof chain, "gradient:method=%s:output=components%s", methods[method],
                 method == 3 ? ":sigma=0.6" : "");
        double factor = 1, sum = 0, moment = 0;
        for (int i = -2; i <= 2; i++) {
            sum += exp(-0.5 * i * i / 0.36);
            moment += i * i * exp(-0.5 * i * i / 0.36) / 0.36;
        }
        if (method == 3)
            factor = moment / sum;
        struct vf_volume out = run_on(ramp, chain, true);
        for (int axis = 0; axis < 3; axis++)
            for (int z = 2; z < 5; z++)
                for (int y = 2; y < 6; y++)
                    for (int x = 2; x < 7; x++)
                        cr_expect(fabs(at(&out, axis, x, y, z) - factor * slope[axis]) <=
                                      (method == 3 ? 1e-13 : 0),
                                  "%s, axis %d: %.17g", methods[method], axis, at(&out, axis, x, y, z));
        vf_volume_free(&out);
    }
}

static double level(int x, int y, int z)
{
    (void)x, (void)y, (void)z;
    return 104.7;
}

/* A constant has no gradient: exactly, but for the derivative of a Gaussian, whose sum is only nearly 0. */
Test(gradient, constant)
{
    static const char *const outputs[] = {"components", "magnitude", "z"};
    for (int method = 0; method < 4; method++)
        for (size_t o = 0; o < COUNT(outputs); o++) {
            char chain[80];
            snprintf(chain, sizeof chain, "gradient:method=%s:output=%s", methods[method], outputs[o]);
            struct vf_volume out = run_on(level, chain, false);
            for (size_t i = 0; i < volume_elements(&out); i++)
                cr_expect(fabs(volume_get(&out, i)) <= (method == 3 ? 1e-4 : 0), "%s: %g", chain,
                          volume_get(&out, i));
            vf_volume_free(&out);
        }
}

/* ---- parameters ---- */

static struct vf_volume run_chain(const char *chain, const struct vf_volume *in, ptrdiff_t nz,
                                  enum vf_boundary boundary)
{
    struct pipeline p = pipeline_reference(chain, 14, 11, nz, false);
    p.boundary = boundary;
    p.constant = 12;
    p.aspect[0] = 1;
    p.aspect[1] = 1.25;
    p.aspect[2] = 3;
    return pipeline_run(&p, in, NULL);
}

/* The single outputs are the components, in the order x, y, z, and the magnitude is their length. */
Test(gradient, outputs)
{
    for (int method = 0; method < 4; method++)
        for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
            char chain[100];
            const struct pipeline shape = pipeline_reference("", 14, 11, nz, false);
            struct vf_volume in = pipeline_input(&shape, 2);
            const size_t voxels = volume_elements(&in);
            double *squares = calloc(voxels, sizeof *squares);
            snprintf(chain, sizeof chain, "gradient:method=%s:output=components", methods[method]);
            struct vf_volume all = run_chain(chain, &in, nz, VF_MIRROR);
            for (size_t axis = 0; axis < all.shape.nc; axis++) {
                snprintf(chain, sizeof chain, "gradient:method=%s:output=%c", methods[method],
                         (char)('x' + axis));
                struct vf_volume one = run_chain(chain, &in, nz, VF_MIRROR);
                cr_expect_arr_eq(one.data, (const float *)all.data + axis * voxels, volume_size(&one), "%s",
                                 chain);
                for (size_t i = 0; i < voxels; i++)
                    squares[i] += volume_get(&one, i) * volume_get(&one, i);
                vf_volume_free(&one);
            }
            snprintf(chain, sizeof chain, "gradient:method=%s", methods[method]);
            struct vf_volume length = run_chain(chain, &in, nz, VF_MIRROR);
            for (size_t i = 0; i < voxels; i++)
                cr_expect(fabs(volume_get(&length, i) - sqrt(squares[i])) <= 2e-7 * sqrt(squares[i]),
                          "%s: %g is not %g", chain, volume_get(&length, i), sqrt(squares[i]));
            free(squares);
            vf_volume_free(&in);
            vf_volume_free(&all);
            vf_volume_free(&length);
        }
}

/* sigma smooths first: the same bits as a gaussian before it, under every boundary. */
Test(gradient, sigma_smooths_first)
{
    for (int method = 0; method < 3; method++)
        for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
            for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
                char one[120], two[120];
                const struct pipeline shape = pipeline_reference("", 14, 11, nz, false);
                struct vf_volume in = pipeline_input(&shape, 4);
                snprintf(one, sizeof one, "gradient:method=%s:sigma=0.8x1.1x0.5:output=components",
                         methods[method]);
                snprintf(two, sizeof two, "gaussian:sigma=0.8x1.1x0.5,gradient:method=%s:output=components",
                         methods[method]);
                struct vf_volume out = run_chain(one, &in, nz, (enum vf_boundary)b);
                struct vf_volume expected = run_chain(two, &in, nz, (enum vf_boundary)b);
                cr_expect_arr_eq(out.data, expected.data, volume_size(&expected), "%s, boundary %d", one, b);
                vf_volume_free(&in);
                vf_volume_free(&out);
                vf_volume_free(&expected);
            }
}

/* The derivative of a Gaussian has a width of 1 where none is given. */
Test(gradient, default_width)
{
    const struct pipeline shape = pipeline_reference("", 14, 11, 5, false);
    struct vf_volume in = pipeline_input(&shape, 6);
    struct vf_volume out = run_chain("gradient:method=gaussian", &in, 5, VF_NEAREST);
    struct vf_volume expected = run_chain("gradient:method=gaussian:sigma=1", &in, 5, VF_NEAREST);
    cr_expect_arr_eq(out.data, expected.data, volume_size(&expected));
    vf_volume_free(&in);
    vf_volume_free(&out);
    vf_volume_free(&expected);
}

static void expect_usage(const char *chain, ptrdiff_t nz, const char *text)
{
    const struct pipeline p = pipeline_reference(chain, 5, 4, nz, false);
    pipeline_expect_usage(&p, text);
}

Test(gradient, usage)
{
    expect_usage("gradient:output=z", 1, "needs a stack");
    expect_usage("gradient:method=gaussian:sigma=0", 3, "sigma of at least 0.125 voxels along x");
    expect_usage("gradient:method=gaussian:sigma=1x0x1", 3, "sigma of at least 0.125 voxels along y");
    expect_usage("gradient:method=gaussian:sigma=1x0x1:output=y", 3, "at least 0.125 voxels along y");
}
