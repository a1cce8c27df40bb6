/* laplacian, dog, unsharp and mean: scipy's values, closed forms, and how their parameters are read. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "tables/ref_linear.h"

/* ---- tables ---- */

static double case_error(const struct ref_linear_case *t, bool precise)
{
    struct pipeline p = pipeline_reference(t->chain, t->nx, t->ny, t->nz, precise);
    p.boundary = boundary_named(t->boundary);
    p.constant = t->constant;
    memcpy(p.aspect, t->h, sizeof p.aspect);
    struct vf_volume out = pipeline_run_ref_input(&p);
    const double most = volume_error(&out, 0, t->at, t->expected, (size_t)t->count);
    vf_volume_free(&out);
    return most;
}

/* The weights' sizes add up to 12 at most, of values up to 150. */
Test(linear, scipy)
{
    for (size_t c = 0; c < COUNT(REF_LINEAR); c++)
        for (int precise = 0; precise < 2; precise++) {
            const double error = case_error(&REF_LINEAR[c], precise != 0);
            cr_expect(error <= (precise ? 1e-15 : 1e-7) * 12 * 150, "%s, case %zu, %s, %s: off by %g",
                      REF_LINEAR[c].chain, c, REF_LINEAR[c].boundary, precise ? "double" : "float", error);
        }
}

/* ---- closed forms ---- */

enum { NX = 11, NY = 10, NZ = 9, VOXELS = NX * NY * NZ };

/* The result on voxels of 1 x 2 x 0.5. */
static struct vf_volume run_on(double (*f)(int x, int y, int z), const char *chain, bool precise)
{
    struct pipeline p = pipeline_reference(chain, NX, NY, NZ, precise);
    p.aspect[1] = 2;
    p.aspect[2] = 0.5;
    struct vf_volume in = pipeline_input(&p, 0);
    for (int i = 0; i < VOXELS; i++)
        volume_set(&in, (size_t)i, f(i % NX, i / NX % NY, i / NX / NY));
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    vf_volume_free(&in);
    return out;
}

static double level(int x, int y, int z)
{
    (void)x, (void)y, (void)z;
    return 104.7;
}

/* A constant has no Laplacian: exactly; the weights of a Gaussian, and of a mean, are rounded. */
Test(linear, constant)
{
    static const struct {
        const char *chain;
        double value, error;
    } cases[] = {{"laplacian", 0, 0},
                 {"laplacian:sigma=1.3", 0, 0},
                 {"dog", 0, 5e-5},
                 {"unsharp", 104.7, 5e-5},
                 {"mean", 104.7, 5e-5},
                 {"mean:radius=0", (float)104.7, 0},
                 {"dog:sigma=0:sigma2=2", 0, 5e-5},
                 {"unsharp:amount=0", (float)104.7, 0}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct vf_volume out = run_on(level, cases[c].chain, false);
        for (size_t i = 0; i < VOXELS; i++)
            cr_expect(fabs(volume_get(&out, i) - cases[c].value) <= cases[c].error, "%s: %.9g",
                      cases[c].chain, volume_get(&out, i));
        vf_volume_free(&out);
    }
}

static double slope(int x, int y, int z)
{
    return 0.1 * x - 0.7 * y + 3 * z + 1e4;
}

static double parabola(int x, int y, int z)
{
    return 3 * x * x - 5 * y * y + 7 * z * z + 2 * x * y - z;
}

/* A slope has none either, but for what its values are rounded; a parabola has the same everywhere. */
Test(linear, laplacian_of_polynomials)
{
    struct vf_volume flat = run_on(slope, "laplacian", true), curved = run_on(parabola, "laplacian", false);
    for (int z = 1; z < NZ - 1; z++)
        for (int y = 1; y < NY - 1; y++)
            for (int x = 1; x < NX - 1; x++) {
                const size_t at = (size_t)((z * NY + y) * NX + x);
                cr_expect(fabs(volume_get(&flat, at)) <= 5e-11, "%g", volume_get(&flat, at));
                cr_expect_eq(volume_get(&curved, at), 2 * 3 - 2 * 5 / 4.0 + 2 * 7 / 0.25);
            }
    vf_volume_free(&flat);
    vf_volume_free(&curved);
}

enum { AT_X = 5, AT_Y = 4, AT_Z = 4 };

static double impulse(int x, int y, int z)
{
    return x == AT_X && y == AT_Y && z == AT_Z ? 64 : 0;
}

/* What an impulse of 64 gives so far from it. */
static double star(int x, int y, int z)
{
    const double inverse[] = {1, 1 / 4.0, 1 / 0.25};
    const int d[] = {abs(x), abs(y), abs(z)};
    if (d[0] + d[1] + d[2] == 0)
        return -2 * 64 * (inverse[0] + inverse[1] + inverse[2]);
    for (int axis = 0; axis < 3; axis++)
        if (d[0] + d[1] + d[2] == 1 && d[axis] == 1)
            return 64 * inverse[axis];
    return 0;
}

static double box(int x, int y, int z)
{
    return abs(x) <= 2 && y == 0 && abs(z) <= 1 ? 64 / 15.0 : 0;
}

static double weight(int i, double sigma)
{
    const int radius = (int)floor(4 * sigma + 0.5);
    double sum = 0;
    for (int k = -radius; k <= radius; k++)
        sum += exp(-0.5 * k * k / (sigma * sigma));
    return abs(i) > radius ? 0 : exp(-0.5 * i * i / (sigma * sigma)) / sum;
}

static double smoothed(int x, int y, int z, double sigma)
{
    return 64 * weight(x, sigma) * weight(y, sigma) * weight(z, sigma);
}

static double narrow_less_wide(int x, int y, int z)
{
    return smoothed(x, y, z, 0.5) - smoothed(x, y, z, 0.9);
}

static double sharpened(int x, int y, int z)
{
    const double u = x == 0 && y == 0 && z == 0 ? 64 : 0;
    return u + 2.5 * (u - smoothed(x, y, z, 0.7));
}

Test(linear, impulse)
{
    static const struct {
        const char *chain;
        double (*expected)(int x, int y, int z);
        double error;
    } cases[] = {{"laplacian", star, 0},
                 {"mean:radius=2x0x1", box, 1e-13},
                 {"dog:sigma=0.5:sigma2=0.9", narrow_less_wide, 1e-13},
                 {"unsharp:sigma=0.7:amount=2.5", sharpened, 1e-13}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct vf_volume out = run_on(impulse, cases[c].chain, true);
        for (int i = 0; i < VOXELS; i++) {
            const double expected = cases[c].expected(i % NX - AT_X, i / NX % NY - AT_Y, i / NX / NY - AT_Z);
            cr_expect(fabs(volume_get(&out, (size_t)i) - expected) <= cases[c].error,
                      "%s at %d: %.17g is not %.17g", cases[c].chain, i, volume_get(&out, (size_t)i),
                      expected);
        }
        vf_volume_free(&out);
    }
}

static double hole(int x, int y, int z)
{
    return x == AT_X && y == AT_Y && z == AT_Z ? (double)NAN : x + y - z;
}

/* NaN is where a weight reaches it, and nowhere else. */
Test(linear, not_a_number)
{
    static const struct {
        const char *chain;
        int along[3]; /* x, y, z; a star's arms */
        bool is_star;
    } cases[] = {{"laplacian", {1, 1, 1}, true},
                 {"mean:radius=2x0x1", {2, 0, 1}, false},
                 {"dog:sigma=0.2:sigma2=0.4x0.5x0.2", {2, 2, 1}, false},
                 {"unsharp:sigma=0.5x0x0.3", {2, 0, 1}, false},
                 {"unsharp:sigma=0", {0, 0, 0}, false}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct vf_volume out = run_on(hole, cases[c].chain, false);
        for (int i = 0; i < VOXELS; i++) {
            const int d[] = {abs(i % NX - AT_X), abs(i / NX % NY - AT_Y), abs(i / NX / NY - AT_Z)};
            bool reaches = !cases[c].is_star || d[0] + d[1] + d[2] <= 1;
            for (int axis = 0; axis < 3; axis++)
                reaches = reaches && d[axis] <= cases[c].along[axis];
            cr_expect_eq(isnan(volume_get(&out, (size_t)i)) != 0, reaches, "%s at %d, %d, %d", cases[c].chain,
                         d[0], d[1], d[2]);
        }
        vf_volume_free(&out);
    }
}

/* ---- whole numbers ---- */

enum { WIDTH = 23, HEIGHT = 17 };

/* The mean of whole numbers, an odd number of them, is never half way between two, so that its nearest is
 * what exact arithmetic says. */
Test(linear, mean_of_bytes_is_exact)
{
    struct pipeline p = pipeline_reference("mean:radius=2x3", WIDTH, HEIGHT, 1, false);
    p.type = p.result_type = VF_U8;
    struct vf_volume in = pipeline_input(&p, 3);
    const unsigned char *from = in.data;
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    for (int y = 3; y < HEIGHT - 3; y++)
        for (int x = 2; x < WIDTH - 2; x++) {
            int sum = 0;
            for (int dy = -3; dy <= 3; dy++)
                for (int dx = -2; dx <= 2; dx++)
                    sum += from[(y + dy) * WIDTH + x + dx];
            cr_expect_eq(((unsigned char *)out.data)[y * WIDTH + x], (2 * sum + 35) / 70, "%d, %d", x, y);
        }
    vf_volume_free(&in);
    vf_volume_free(&out);
}

/* Sharpened values saturate, and are rounded once: a Gaussian that is stored before would be twice. */
Test(linear, unsharp_keeps_the_type)
{
    struct pipeline p = pipeline_reference("unsharp:sigma=1:amount=4", WIDTH, HEIGHT, 1, false);
    p.type = VF_U8;
    struct vf_volume in = pipeline_input(&p, 3);
    struct vf_volume exact = pipeline_run(&p, &in, NULL);
    p.result_type = VF_U8;
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    int low = 0, high = 0;
    for (size_t i = 0; i < WIDTH * HEIGHT; i++) {
        const double value = fmin(fmax(rint(volume_get(&exact, i)), 0), 255);
        cr_expect_eq(((unsigned char *)out.data)[i], value);
        low += volume_get(&exact, i) < 0;
        high += volume_get(&exact, i) > 255;
    }
    cr_expect(low > 0 && high > 0);
    vf_volume_free(&in);
    vf_volume_free(&exact);
    vf_volume_free(&out);
}

/* ---- parameters ---- */

/* Voxels of 1 x 2 x 4 um. */
static struct pipeline anisotropic(const char *chain, ptrdiff_t nz)
{
    struct pipeline p = pipeline_reference(chain, 14, 11, nz, false);
    p.boundary = VF_MIRROR;
    p.aspect[1] = 2;
    p.aspect[2] = 4;
    return p;
}

static void expect_alike(const char *one, const char *other)
{
    const struct pipeline p = anisotropic(one, 7), q = anisotropic(other, 7);
    struct vf_volume in = pipeline_input(&p, 2);
    struct vf_volume a = pipeline_run(&p, &in, NULL), b = pipeline_run(&q, &in, NULL);
    cr_expect_arr_eq(a.data, b.data, volume_size(&a), "%s and %s", one, other);
    vf_volume_free(&in);
    vf_volume_free(&a);
    vf_volume_free(&b);
}

Test(linear, lengths)
{
    expect_alike("laplacian:sigma=2um", "gaussian:sigma=2x1x0.5,laplacian");
    expect_alike("laplacian:sigma=2", "laplacian:sigma=2x2x2vox");
    expect_alike("dog", "dog:sigma=1:sigma2=1.6");
    expect_alike("dog:sigma=2um", "dog:sigma=2x1x0.5:sigma2=3.2x1.6x0.8");
    expect_alike("dog:sigma=1:sigma2=4um", "dog:sigma=1:sigma2=4x2x1");
    expect_alike("unsharp:sigma=2um", "unsharp:sigma=2x1x0.5:amount=1");
    expect_alike("unsharp:sigma=1:amount=0", "gaussian:sigma=0");
    expect_alike("mean", "mean:radius=1x1x1vox");
    expect_alike("mean:radius=0", "gaussian:sigma=0");
}

/* Half a voxel is rounded up; an axis whose voxels are longer than the box is left alone. */
Test(linear, mean_rounds_lengths)
{
    expect_alike("mean:radius=3um", "mean:radius=3x2x1");
    expect_alike("mean:radius=2.4um", "mean:radius=2x1x1");
    expect_alike("mean:radius=1.9um", "mean:radius=2x1x0");
}

static void expect_usage(const char *chain, ptrdiff_t nz, const char *text)
{
    const struct pipeline p = anisotropic(chain, nz);
    pipeline_expect_usage(&p, text);
}

Test(linear, usage)
{
    expect_usage("mean:radius=1.5", 3,
                 "mean: radius=1.5 is not a whole number of voxels; the box is 2r + 1 wide: use 1 or 2");
    expect_usage("mean:radius=2x0.25x1vox", 3, "radius=0.25 is not a whole number of voxels");
    expect_usage("mean:radius=0.4um", 3, "radius is less than half a voxel on every axis");
    expect_usage("mean:radius=0.1um", 3, "radius is less than half a voxel on every axis");
    expect_usage("mean:radius=1001", 3,
                 "radius=1001 is out of range; allowed: a length from 0 to 1000 voxels");
    expect_usage("mean:radius=2mm", 3, "radius is 2000 voxels along x; the maximum is 1000");
    expect_usage("mean:radius=-1", 3, "out of range");
    expect_usage("mean:radius=2x2", 3, "a stack needs one or three");
    expect_usage("unsharp:amount=-1", 3, "allowed: a number from 0 to 1000");
    expect_usage("dog:sigma2=1001", 3, "sigma2=1001 is out of range");
    expect_usage("dog:sigma=2um:sigma2=2x1x0.5", 3, "dog: sigma and sigma2 smooth alike");
    expect_usage("dog:sigma=2x2x1:sigma2=2x2x3", 1, "dog: sigma and sigma2 smooth alike");
    expect_usage("dog:sigma=0", 3, "dog: sigma and sigma2 smooth alike");
    expect_usage("dog:sigma=0.05", 3, "dog: sigma and sigma2 smooth alike");
    expect_usage("laplacian:sigma=1001", 1, "sigma=1001 is out of range");
}

/* A box far wider than the image, whose boundary repeats: every voxel has the whole image's mean. */
Test(linear, mean_of_the_widest_box)
{
    struct pipeline p = pipeline_reference("mean:radius=1000x997x1", 23, 15, 3, true);
    p.boundary = VF_WRAP;
    struct vf_volume in = pipeline_input(&p, 2);
    /* 2001 is 87 times 23, 1995 is 133 times 15. */
    double mean = 0;
    for (size_t i = 0; i < volume_elements(&in); i++)
        mean += volume_get(&in, i) / (double)volume_elements(&in);
    for (int s = 0; s < 2; s++) {
        p.scheme = s == 0 ? "reference" : NULL;
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (size_t i = 0; i < volume_elements(&out); i++)
            cr_expect(fabs(volume_get(&out, i) - mean) <= 1e-11, "%.17g is not %.17g", volume_get(&out, i),
                      mean);
        vf_volume_free(&out);
    }
    vf_volume_free(&in);
}
