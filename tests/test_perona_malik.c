/* perona-malik: each step against a plain one in double, what it keeps, and the values of k. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"

/* ---- a step in double ---- */

/* The index that position i of n reads, written from the pictures in the manual; -1 for the constant. Only
 * for neighbours and n > 1. */
static int neighbour(enum vf_boundary boundary, int i, int n)
{
    const bool low = i < 0;
    if (i >= 0 && i < n)
        return i;
    switch (boundary) {
    case VF_MIRROR:
        return low ? 1 : n - 2;
    case VF_WRAP:
        return low ? n - 1 : 0;
    case VF_CONSTANT:
        return -1;
    default:
        return low ? 0 : n - 1;
    }
}

static double value_at(const struct pipeline *p, const double *u, const int at[3])
{
    const int size[3] = {(int)p->nx, (int)p->ny, (int)p->nz};
    int in[3];
    for (int axis = 0; axis < 3; axis++) {
        in[axis] = size[axis] == 1 ? 0 : neighbour(p->boundary, at[axis], size[axis]);
        if (in[axis] < 0)
            return p->constant;
    }
    return u[(in[2] * size[1] + in[1]) * size[0] + in[0]];
}

static double conductance(const char *name, double s)
{
    return strcmp(name, "exp") == 0 ? exp(-s * s) : 1 / (1 + s * s);
}

/* One iteration from u to next; k INFINITY is linear diffusion. */
static void step(const struct pipeline *p, const char *name, double k, double dt, const double *u,
                 double *next)
{
    for (int i = 0; i < (int)(p->nx * p->ny * p->nz); i++) {
        const int at[3] = {i % (int)p->nx, i / (int)p->nx % (int)p->ny, i / (int)(p->nx * p->ny)};
        double sum = 0;
        for (int axis = 0; axis < (p->nz > 1 ? 3 : 2); axis++)
            for (int side = -1; side <= 1; side += 2) {
                const double h = p->aspect[axis] > 0 ? p->aspect[axis] : 1;
                int other[3] = {at[0], at[1], at[2]};
                other[axis] += side;
                const double d = (value_at(p, u, other) - u[i]) / h;
                sum += d == 0 ? 0 : conductance(name, fabs(d) / k) * d / h;
            }
        next[i] = u[i] + dt * sum;
    }
}

/* The largest difference after some iterations. */
static double run_error(const struct pipeline *p, const char *name, double k, double dt, int iterations)
{
    struct vf_volume in = pipeline_input(p, 1);
    const size_t count = volume_elements(&in);
    double *u = calloc(2 * count, sizeof *u), *next = u + count;
    for (size_t i = 0; i < count; i++)
        u[i] = volume_get(&in, i);
    for (int n = 0; n < iterations; n++) {
        step(p, name, k, dt, u, next);
        memcpy(u, next, count * sizeof *u);
    }
    struct vf_volume out = pipeline_run(p, &in, NULL);
    const double most = volume_error(&out, 0, NULL, u, count);
    free(u);
    vf_volume_free(&in);
    vf_volume_free(&out);
    return most;
}

/* Of values up to 200: float steps within 1e-6 of that, double ones within 1e-14. */
static void compare_steps(const char *name, double k, int iterations, enum vf_boundary boundary,
                          const double h[3])
{
    for (ptrdiff_t nz = 1; nz <= 6; nz += 5)
        for (int precise = 0; precise < 2; precise++) {
            char chain[120];
            const double sum = 1 / (h[0] * h[0]) + 1 / (h[1] * h[1]) + (nz > 1 ? 1 / (h[2] * h[2]) : 0);
            snprintf(chain, sizeof chain, "perona-malik:k=%g:iterations=%d:conductance=%s",
                     isinf(k) ? 1e30 : k, iterations, name);
            struct pipeline p = pipeline_reference(chain, 13, 9, nz, precise != 0);
            p.boundary = boundary;
            memcpy(p.aspect, h, sizeof p.aspect);
            const double error = run_error(&p, name, k, 0.9 / (2 * sum), iterations);
            cr_expect(error <= 200 * iterations * (precise ? 1e-14 : 1e-6), "%s, boundary %d, %s: off by %g",
                      chain, (int)boundary, precise ? "double" : "float", error);
        }
}

static const double cubic[3] = {1, 1, 1}, flat[3] = {1, 1.5, 2};

Test(perona_malik, steps)
{
    for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
        for (int anisotropic = 0; anisotropic < 2; anisotropic++)
            for (int quadratic = 0; quadratic < 2; quadratic++) {
                const char *name = quadratic ? "quadratic" : "exp";
                const double *h = anisotropic ? flat : cubic;
                compare_steps(name, 30, 1, (enum vf_boundary)b, h);
                compare_steps(name, 12.5, 4, (enum vf_boundary)b, h);
            }
}

/* A huge k is linear diffusion. */
Test(perona_malik, huge_k)
{
    for (int quadratic = 0; quadratic < 2; quadratic++)
        compare_steps(quadratic ? "quadratic" : "exp", INFINITY, 3, VF_REFLECT, flat);
}

Test(perona_malik, given_step)
{
    struct pipeline p = pipeline_reference("perona-malik:k=20:iterations=2:dt=0.07", 13, 9, 4, true);
    cr_expect(run_error(&p, "exp", 20, 0.07, 2) <= 1e-11);
    p.chain = "perona-malik:k=20:iterations=2:dt=0";
    cr_expect_eq(run_error(&p, "exp", 20, 0, 2), 0);
}

/* ---- what it keeps ---- */

/* Without conductance nothing moves, not even where neighbours are equal and d/k is 0/0. */
Test(perona_malik, no_k_is_identity)
{
    static const char *const chains[] = {"perona-malik:k=0:iterations=5",
                                         "perona-malik:k=0:iterations=5:conductance=quadratic"};
    for (size_t c = 0; c < COUNT(chains); c++)
        for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
            struct pipeline p = pipeline_reference(chains[c], 11, 8, nz, false);
            struct vf_volume in = pipeline_input(&p, 7), out = pipeline_run(&p, &in, NULL);
            cr_expect_arr_eq(out.data, in.data, volume_size(&in), "%s", chains[c]);
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

static long double mean(const struct vf_volume *volume)
{
    long double sum = 0;
    for (size_t i = 0; i < volume_elements(volume); i++)
        sum += volume_get(volume, i);
    return sum / volume_elements(volume);
}

Test(perona_malik, mean)
{
    static const enum vf_boundary keep[] = {VF_NEAREST, VF_REFLECT, VF_WRAP};
    for (size_t b = 0; b < COUNT(keep); b++)
        for (int precise = 0; precise < 2; precise++) {
            struct pipeline p = pipeline_reference("perona-malik:k=25", 23, 17, 9, precise != 0);
            p.boundary = keep[b];
            memcpy(p.aspect, flat, sizeof flat);
            struct vf_volume in = pipeline_input(&p, 2), out = pipeline_run(&p, &in, NULL);
            const double moved = (double)fabsl(mean(&out) - mean(&in));
            cr_expect(moved <= 100 * (precise ? 1e-15 : 1e-7), "boundary %d: the mean moved by %g",
                      (int)keep[b], moved);
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

static void bounds(const struct vf_volume *volume, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = 0; i < volume_elements(volume); i++) {
        *least = fmin(*least, volume_get(volume, i));
        *most = fmax(*most, volume_get(volume, i));
    }
}

/* No value leaves the input's range, at the largest step that is allowed too. (31, the constant, is inside.)
 */
Test(perona_malik, maximum_principle)
{
    static const char *const chains[] = {"perona-malik:k=1e9:dt=0.1666666:iterations=6",
                                         "perona-malik:k=15:dt=0.1666666:iterations=20",
                                         "perona-malik:conductance=quadratic:iterations=20"};
    for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
        for (size_t c = 0; c < COUNT(chains); c++) {
            double least[2], most[2];
            struct pipeline p = pipeline_reference(chains[c], 12, 11, 10, false);
            p.boundary = (enum vf_boundary)b;
            struct vf_volume in = pipeline_input(&p, 3), out = pipeline_run(&p, &in, NULL);
            bounds(&in, &least[0], &most[0]);
            bounds(&out, &least[1], &most[1]);
            cr_expect(least[1] >= least[0] - 1e-4 && most[1] <= most[0] + 1e-4,
                      "%s, boundary %d: %g..%g from %g..%g", chains[c], b, least[1], most[1], least[0],
                      most[0]);
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

/* ---- the bound of dt ---- */

static void expect_step(const char *chain, ptrdiff_t nz, const double h[3], const char *bound)
{
    struct pipeline p = pipeline_reference(chain, 4, 4, nz, false);
    memcpy(p.aspect, h, sizeof p.aspect);
    pipeline_expect_usage(&p, bound);
}

Test(perona_malik, step_bound)
{
    static const double tall[3] = {1, 1, 2}, wide[3] = {1, 2, 1};
    expect_step("perona-malik:dt=0.167", 3, cubic, "0.166666665");
    expect_step("perona-malik:dt=0.1666", 3, cubic, NULL);
    expect_step("perona-malik:dt=0.25", 1, cubic, NULL);
    expect_step("perona-malik:dt=0.2500001", 1, cubic, "0.25");
    expect_step("perona-malik:dt=0.223", 3, tall, "0.222222222");
    expect_step("perona-malik:dt=0.222", 3, tall, NULL);
    /* Wide voxels allow a larger step. */
    expect_step("perona-malik:dt=0.4", 1, wide, NULL);
    expect_step("perona-malik:dt=0.41", 1, wide, "0.4");
    expect_step("perona-malik:dt=-0.1", 1, cubic, "from 0");
}

/* ---- values of k ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The percentile of the gradient's length, by sorting: the least value that N of a hundred are not above,
 * zeros left out, and then the lower edge of its bin, which keeps the upper 8 bits of a float32's fraction.
 */
static double sorted_percentile(const struct pipeline *p, const struct vf_volume *in, double percent)
{
    struct pipeline gradient = *p;
    gradient.chain = "gradient";
    struct vf_volume length = pipeline_run(&gradient, in, NULL);
    double *value = calloc(volume_elements(&length), sizeof *value);
    size_t count = 0;
    for (size_t i = 0; i < volume_elements(&length); i++)
        if (volume_get(&length, i) > 0)
            value[count++] = volume_get(&length, i);
    qsort(value, count, sizeof *value, ascending);
    const double rank = ceil(percent / 100 * (double)count);
    const float at = (float)value[(size_t)fmax(rank, 1) - 1];
    uint32_t bits;
    memcpy(&bits, &at, sizeof bits);
    bits &= 0xffff8000u;
    float edge;
    memcpy(&edge, &bits, sizeof edge);
    free(value);
    vf_volume_free(&length);
    return (double)edge;
}

/* Runs with a computed k, which must be near `expected` and do what the same number does when it is given. */
static void expect_k(struct pipeline p, const struct vf_volume *in, const char *k, double expected,
                     double tolerance)
{
    char chain[120];
    double value[VF_MAX_GLOBALS];
    snprintf(chain, sizeof chain, "perona-malik:iterations=2:k=%s", k);
    p.chain = chain;
    struct vf_volume out = pipeline_run(&p, in, value);
    cr_expect(fabs(value[0] - expected) <= tolerance * expected, "k=%s is %.17g, not %.17g", k, value[0],
              expected);
    snprintf(chain, sizeof chain, "perona-malik:iterations=2:k=%.17g", value[0]);
    struct vf_volume same = pipeline_run(&p, in, NULL);
    cr_expect_arr_eq(out.data, same.data, volume_size(&same), "k=%s is not k=%.17g", k, value[0]);
    vf_volume_free(&out);
    vf_volume_free(&same);
}

Test(perona_malik, percentiles)
{
    static const double percent[] = {0, 1, 37.5, 50, 90, 99.9, 100};
    for (int precise = 0; precise < 2; precise++)
        for (ptrdiff_t nz = 1; nz <= 7; nz += 6) {
            struct pipeline p = pipeline_reference("", 21, 16, nz, precise != 0);
            p.boundary = nz == 1 ? VF_MIRROR : VF_WRAP;
            memcpy(p.aspect, flat, sizeof flat);
            struct vf_volume in = pipeline_input(&p, 8);
            for (size_t i = 0; i < COUNT(percent); i++) {
                char k[40];
                snprintf(k, sizeof k, "p%g", percent[i]);
                expect_k(p, &in, k, sorted_percentile(&p, &in, percent[i]), 0);
            }
            expect_k(p, &in, "auto", sorted_percentile(&p, &in, 90), 0);
            vf_volume_free(&in);
        }
}

/* The same k in eed and and: of |grad u_sigma|, sigma in x-voxels. */
Test(perona_malik, percentiles_of_other_filters)
{
    static const struct {
        const char *chain;
        double percent;
    } cases[] = {{"eed", 90}, {"eed:k=p50", 50}, {"and:rho=1", 90}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        double value[VF_MAX_GLOBALS];
        struct pipeline p = pipeline_reference("gaussian:sigma=1x1x0.5", 15, 12, 9, true);
        p.aspect[0] = p.aspect[1] = 1;
        p.aspect[2] = 2;
        struct vf_volume in = pipeline_input(&p, 4), smooth = pipeline_run(&p, &in, NULL);
        p.chain = cases[c].chain;
        struct vf_volume out = pipeline_run(&p, &in, value);
        const double expected = sorted_percentile(&p, &smooth, cases[c].percent);
        cr_expect_eq(value[0], expected, "%s: k is %.17g, not %.17g", cases[c].chain, value[0], expected);
        vf_volume_free(&in);
        vf_volume_free(&smooth);
        vf_volume_free(&out);
    }
}

Test(perona_malik, deviations)
{
    for (int precise = 0; precise < 2; precise++) {
        struct pipeline p = pipeline_reference("", 21, 16, 5, precise != 0);
        struct vf_volume in = pipeline_input(&p, 9);
        const long double middle = mean(&in);
        long double squares = 0;
        for (size_t i = 0; i < volume_elements(&in); i++)
            squares += (volume_get(&in, i) - middle) * (volume_get(&in, i) - middle);
        const double deviation = (double)sqrtl(squares / volume_elements(&in));
        expect_k(p, &in, "2sd", 2 * deviation, 1e-15);
        expect_k(p, &in, "0.25sd", 0.25 * deviation, 1e-15);
        vf_volume_free(&in);
    }
}

/* A constant image has no gradient to take a percentile of: k is 0, and nothing moves. */
Test(perona_malik, constant)
{
    static const char *const chains[] = {"perona-malik", "perona-malik:k=2sd:conductance=quadratic"};
    for (size_t c = 0; c < COUNT(chains); c++) {
        struct pipeline p = pipeline_reference(chains[c], 7, 6, 5, false);
        struct vf_volume in = pipeline_input(&p, 0);
        double value[VF_MAX_GLOBALS];
        for (size_t i = 0; i < volume_elements(&in); i++)
            ((float *)in.data)[i] = 5.5f;
        struct vf_volume out = pipeline_run(&p, &in, value);
        cr_expect_eq(value[0], 0);
        cr_expect_arr_eq(out.data, in.data, volume_size(&in));
        vf_volume_free(&in);
        vf_volume_free(&out);
    }
}
