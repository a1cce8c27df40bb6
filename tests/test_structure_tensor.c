/* structure-tensor: scipy's tensors, eigenvalues against a solver of another kind, and directions that are
 * known. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline.h"
#include "sanitized.h"
#include "tables/ref_tensor.h"

#define PI 3.14159265358979323846

/* ---- tables ---- */

/* The largest difference of channel c from a column of the table, NULL for none. */
static double column_error(const struct ref_tensor_case *t, const struct vf_volume *out, int c,
                           const double *expected)
{
    const size_t voxels = (size_t)t->nx * (size_t)t->ny * (size_t)t->nz;
    return expected == NULL ? 0 : volume_error(out, (size_t)c * voxels, t->at, expected, (size_t)t->count);
}

static struct vf_volume run_table(const struct ref_tensor_case *t, const char *parameters, bool precise)
{
    char chain[200];
    snprintf(chain, sizeof chain, "structure-tensor:%s", parameters);
    struct pipeline p = pipeline_reference(chain, t->nx, t->ny, t->nz, precise);
    memcpy(p.aspect, t->h, sizeof p.aspect);
    return pipeline_run_ref_input(&p);
}

static void compare_case(size_t c, const char *widths, bool precise)
{
    const struct ref_tensor_case *t = &REF_TENSOR[c];
    const double *const column3[] = {t->xx, t->xy, t->xz, t->yy, t->yz, t->zz};
    const double *const column2[] = {t->xx, t->xy, t->yy};
    const double *const value[] = {t->mu1, t->mu2, t->mu3};
    /* Of a tensor's largest entry, about 70. */
    const double tolerance = 70 * (precise ? 1e-13 : 2e-6);
    char parameters[160];
    snprintf(parameters, sizeof parameters, "%s:output=tensor", widths);
    struct vf_volume out = run_table(t, parameters, precise);
    cr_assert_eq(out.shape.nc, t->nz > 1 ? COUNT(column3) : COUNT(column2));
    for (int k = 0; k < (int)out.shape.nc; k++) {
        const double error = column_error(t, &out, k, t->nz > 1 ? column3[k] : column2[k]);
        cr_expect(error <= tolerance, "case %zu, component %d: off by %g", c, k, error);
    }
    vf_volume_free(&out);
    snprintf(parameters, sizeof parameters, "%s:output=eigenvalues", widths);
    out = run_table(t, parameters, precise);
    for (int k = 0; k < (t->nz > 1 ? 3 : 2); k++) {
        const double error = column_error(t, &out, k, value[k]);
        cr_expect(error <= tolerance, "case %zu, eigenvalue %d: off by %g", c, k + 1, error);
    }
    vf_volume_free(&out);
}

Test(structure_tensor, scipy)
{
    for (size_t c = 0; c < COUNT(REF_TENSOR); c++)
        for (int precise = 0; precise < 2; precise++) {
            const struct ref_tensor_case *t = &REF_TENSOR[c];
            char widths[160];
            snprintf(widths, sizeof widths, "sigma=%.17gx%.17gx%.17g:rho=%.17gx%.17gx%.17g", t->sigma[0],
                     t->sigma[1], t->sigma[2], t->rho[0], t->rho[1], t->rho[2]);
            compare_case(c, widths, precise != 0);
            /* One number is in x-voxels, and these are the defaults. */
            compare_case(c, "sigma=1:rho=2", precise != 0);
            cr_assert_eq(t->truncate, 4.0);
        }
}

/* ---- eigenvalues and eigenvectors ---- */

/* The roots of the characteristic polynomial, descending, in closed form in long double: it errs by the
 * square root of the unit where two coincide, 3e-10. */
static void solve(const double *t, int dim, double *mu)
{
    if (dim == 2) {
        const long double mean = ((long double)t[0] + t[2]) / 2, half = ((long double)t[0] - t[2]) / 2;
        const long double radius = hypotl(half, t[1]);
        mu[0] = (double)(mean + radius);
        mu[1] = (double)(mean - radius);
        return;
    }
    const long double q = ((long double)t[0] + t[3] + t[5]) / 3;
    const long double a = t[0] - q, d = t[3] - q, f = t[5] - q, b = t[1], c = t[2], e = t[4];
    const long double p = sqrtl((a * a + d * d + f * f + 2 * (b * b + c * c + e * e)) / 6);
    const long double det = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d);
    const long double r = p > 0 ? fminl(fmaxl(det / (2 * p * p * p), -1), 1) : 0;
    for (int k = 0; k < 3; k++)
        mu[k] = (double)(q + 2 * p *
                                 cosl(acosl(r) / 3 - 2 * (long double)PI *
                                                         (k == 0   ? 0
                                                          : k == 1 ? 2
                                                                   : 1) /
                                                         3));
    const double middle = fmin(fmax(mu[1], mu[2]), mu[0]), least = fmin(mu[1], mu[2]);
    mu[1] = middle;
    mu[2] = least;
}

enum { TENSOR, EIGENVALUES, COHERENCE, ORIENTATION };

/* All four outputs for one input. */
struct outputs {
    int dim;
    size_t voxels;
    struct vf_volume of[4];
};

static struct outputs run_outputs(struct pipeline p, const char *widths, const struct vf_volume *in)
{
    static const char *const name[] = {"tensor", "eigenvalues", "coherence", "orientation"};
    struct outputs outputs = {.dim = p.nz > 1 ? 3 : 2, .voxels = volume_elements(in)};
    for (int k = 0; k < 4; k++) {
        char chain[160];
        snprintf(chain, sizeof chain, "structure-tensor:%s:output=%s", widths, name[k]);
        p.chain = chain;
        outputs.of[k] = pipeline_run(&p, in, NULL);
    }
    return outputs;
}

static void free_outputs(struct outputs *outputs)
{
    for (int k = 0; k < 4; k++)
        vf_volume_free(&outputs->of[k]);
}

/* Channel c of an output at voxel i. */
static double value_at(const struct outputs *o, int output, int c, size_t i)
{
    return volume_get(&o->of[output], (size_t)c * o->voxels + i);
}

/* Eigenvalues at voxel i, and what follows from them; `unit` is the arithmetic's share of mu1. */
static void expect_values(const struct outputs *o, size_t i, double unit)
{
    double t[6], mu[3], got[3] = {0};
    for (int c = 0; c < o->dim * (o->dim + 1) / 2; c++)
        t[c] = value_at(o, TENSOR, c, i);
    solve(t, o->dim, mu);
    for (int k = 0; k < o->dim; k++) {
        got[k] = value_at(o, EIGENVALUES, k, i);
        cr_expect(fabs(got[k] - mu[k]) <= unit * mu[0], "mu%d at %zu: %.9g is not %.9g", k + 1, i, got[k],
                  mu[k]);
        cr_expect(got[k] >= 0 && (k == 0 || got[k] <= got[k - 1]), "mu%d at %zu: %g", k + 1, i, got[k]);
    }
    const bool flat = got[0] == 0;
    const double planar = (got[0] - got[1]) / got[0], linear = (got[1] - got[2]) / got[0],
                 isotropic = got[2] / got[0];
    const double plane = (got[0] - got[1]) / (got[0] + got[1]);
    const double expected[] = {o->dim == 2 ? plane : planar, linear, isotropic};
    for (int c = 0; c < (o->dim == 2 ? 1 : 3); c++)
        cr_expect(fabs(value_at(o, COHERENCE, c, i) - (flat ? 0 : expected[c])) <= 1e-6,
                  "share %d at %zu: %g", c, i, value_at(o, COHERENCE, c, i));
}

/* The direction at voxel i: of unit length, of the wanted sign, and J v = mu v. */
static void expect_direction(const struct outputs *o, size_t i, double unit)
{
    static const int component[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    static const int component2[2][2] = {{0, 1}, {1, 2}};
    double v[3] = {0, 0, 0}, length = 0, rest = 0, first = 0;
    const double angle = value_at(o, ORIENTATION, 0, i);
    if (o->dim == 2) {
        v[0] = cos(angle);
        v[1] = sin(angle);
        cr_expect(angle >= -(double)(float)(PI / 2) && angle <= (double)(float)(PI / 2), "angle %.9g", angle);
    }
    for (int a = 0; a < 3 && o->dim == 3; a++)
        v[a] = value_at(o, ORIENTATION, a, i);
    for (int a = 0; a < o->dim; a++) {
        double image = 0;
        for (int b = 0; b < o->dim; b++)
            image += value_at(o, TENSOR, o->dim == 3 ? component[a][b] : component2[a][b], i) * v[b];
        rest = fmax(rest, fabs(image - value_at(o, EIGENVALUES, o->dim - 1, i) * v[a]));
        length += v[a] * v[a];
        first = first != 0 ? first : v[a];
    }
    first = o->dim == 2 ? 1 : first;
    cr_expect(fabs(length - 1) <= unit, "length %.9g at %zu", sqrt(length), i);
    cr_expect(rest <= unit * value_at(o, EIGENVALUES, 0, i), "J v - mu v is %g at %zu, mu1 %g", rest, i,
              value_at(o, EIGENVALUES, 0, i));
    cr_expect(first > 0, "first component %g at %zu", first, i);
}

static void compare_solver(struct pipeline p, const struct vf_volume *in, const char *widths)
{
    struct outputs o = run_outputs(p, widths, in);
    const double unit = p.precise ? 1e-8 : 1e-5;
    for (size_t i = 0; i < o.voxels; i++) {
        expect_values(&o, i, unit);
        expect_direction(&o, i, unit);
    }
    free_outputs(&o);
}

/* Noise on flat patches, not smoothed (rank one), little and much, over 12 orders of magnitude. */
Test(structure_tensor, eigenvalues)
{
    static const char *const widths[] = {"sigma=0:rho=0", "sigma=0:rho=0.3", "sigma=0.5:rho=0.8",
                                         "sigma=1:rho=4"};
    static const double scale[] = {1, 1e-6, 1e6};
    for (size_t w = 0; w < COUNT(widths); w++)
        for (size_t s = 0; s < COUNT(scale); s++)
            for (int precise = 0; precise < 2; precise++)
                for (ptrdiff_t nz = 1; nz <= 8; nz += 7) {
                    struct pipeline p = pipeline_reference("", 19, 13, nz, precise != 0);
                    p.boundary = (enum vf_boundary)((w + s) % VF_BOUNDARY_COUNT);
                    struct vf_volume in = pipeline_input(&p, (unsigned)w);
                    for (size_t i = 0; i < volume_elements(&in); i++)
                        volume_set(&in, i, volume_get(&in, i) * scale[s]);
                    compare_solver(p, &in, widths[w]);
                    vf_volume_free(&in);
                }
}

/* Eigenvalues that coincide: a ball has two equal ones all over, and three in its middle. */
Test(structure_tensor, coinciding_eigenvalues)
{
    for (ptrdiff_t nz = 1; nz <= 15; nz += 14) {
        struct pipeline p = pipeline_reference("", 15, 15, nz, false);
        struct vf_volume in = pipeline_input(&p, 0);
        for (int i = 0; i < 225 * (int)nz; i++) {
            const int x = i % 15 - 7, y = i / 15 % 15 - 7, z = i / 225 - (int)nz / 2;
            volume_set(&in, (size_t)i, 200 * exp(-(x * x + y * y + z * z) / 18.0));
        }
        compare_solver(p, &in, "sigma=0.5:rho=1.5");
        compare_solver(p, &in, "sigma=0:rho=0");
        vf_volume_free(&in);
    }
}

/* Nothing at all where nothing changes, and no direction but some unit vector. */
Test(structure_tensor, constant)
{
    for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
        struct pipeline p = pipeline_reference("", 6, 5, nz, false);
        struct vf_volume in = pipeline_input(&p, 0);
        for (size_t i = 0; i < volume_elements(&in); i++)
            volume_set(&in, i, 77);
        struct outputs o = run_outputs(p, "sigma=0.7:rho=1", &in);
        for (int k = TENSOR; k <= COHERENCE; k++)
            for (size_t i = 0; i < volume_elements(&o.of[k]); i++)
                cr_expect_eq(volume_get(&o.of[k], i), 0, "output %d: %g", k, volume_get(&o.of[k], i));
        for (size_t i = 0; i < o.voxels; i++)
            expect_direction(&o, i, 1e-6);
        free_outputs(&o);
        vf_volume_free(&in);
    }
}

/* ---- known directions ---- */

/* Stripes along an angle: a wave whose central differences point at right angles to it. */
static void expect_stripes(double angle, double expected, double tolerance)
{
    struct pipeline p = pipeline_reference("structure-tensor:output=orientation", 33, 31, 1, false);
    struct vf_volume in = pipeline_input(&p, 0);
    const double kx = asin(-sin(angle) * 0.4), ky = asin(cos(angle) * 0.4);
    for (int i = 0; i < 33 * 31; i++)
        volume_set(&in, (size_t)i, 100 * sin(kx * (i % 33) + ky * (i / 33) + 0.3));
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    p.chain = "structure-tensor:output=coherence";
    struct vf_volume share = pipeline_run(&p, &in, NULL);
    for (int y = 13; y < 18; y++)
        for (int x = 13; x < 20; x++) {
            const size_t i = (size_t)(y * 33 + x);
            cr_expect(fabs(volume_get(&out, i) - expected) <= tolerance, "%.9g is not %.9g",
                      volume_get(&out, i), expected);
            cr_expect(volume_get(&share, i) > 0.9999, "coherence %g", volume_get(&share, i));
        }
    vf_volume_free(&in);
    vf_volume_free(&out);
    vf_volume_free(&share);
}

Test(structure_tensor, stripes)
{
    for (int degrees = -85; degrees < 90; degrees += 5)
        expect_stripes(degrees * PI / 180, degrees * PI / 180, 2e-6);
    /* Along x the angle is 0, along y it is pi/2 and never -pi/2. */
    expect_stripes(0, 0, 0);
    expect_stripes(PI, 0, 1e-6);
}

/* Vertical stripes, exactly: pi/2. */
Test(structure_tensor, vertical_stripes)
{
    struct pipeline p = pipeline_reference("structure-tensor:output=orientation", 17, 12, 1, false);
    struct vf_volume in = pipeline_input(&p, 0);
    for (int i = 0; i < 17 * 12; i++)
        volume_set(&in, (size_t)i, i % 17 * (i % 17 - 29) * (i % 17 % 2 ? 1 : -1));
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    for (size_t i = 0; i < volume_elements(&out); i++)
        cr_expect_eq((float)volume_get(&out, i), (float)(PI / 2));
    vf_volume_free(&in);
    vf_volume_free(&out);
}

/* The middle voxel's orientation (3 channels) and coherence (3 channels) for a Gaussian rod along d, or plane
 * across d, through the centre of 21^3 voxels of aspect h; d is a unit vector in x-voxels. */
static void run_rod(const double d[3], const double h[3], bool plane, double result[6])
{
    static const char *const chains[] = {"structure-tensor:output=orientation",
                                         "structure-tensor:output=coherence"};
    struct pipeline p = pipeline_reference("", 21, 21, 21, false);
    memcpy(p.aspect, h, sizeof p.aspect);
    struct vf_volume in = pipeline_input(&p, 0);
    for (int i = 0; i < 9261; i++) {
        const double r[3] = {(i % 21 - 10) * h[0], (i / 21 % 21 - 10) * h[1], (i / 441 - 10) * h[2]};
        const double along = r[0] * d[0] + r[1] * d[1] + r[2] * d[2];
        const double square = plane ? along * along : r[0] * r[0] + r[1] * r[1] + r[2] * r[2] - along * along;
        volume_set(&in, (size_t)i, 100 * exp(-square / 18));
    }
    for (int k = 0; k < 2; k++) {
        p.chain = chains[k];
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (size_t c = 0; c < 3; c++)
            result[3 * k + (int)c] = volume_get(&out, c * 9261 + 4630);
        vf_volume_free(&out);
    }
    vf_volume_free(&in);
}

static void expect_rod(const double given[3], const double h[3])
{
    const double length = sqrt(given[0] * given[0] + given[1] * given[1] + given[2] * given[2]);
    const double d[3] = {given[0] / length, given[1] / length, given[2] / length};
    double got[6];
    run_rod(d, h, false, got);
    const double dot = got[0] * d[0] + got[1] * d[1] + got[2] * d[2];
    /* Differences over one voxel bend oblique lines a little, by their third derivative. */
    cr_expect(fabs(dot) > cos(0.03), "%g %g %g: %g degrees off", d[0], d[1], d[2],
              acos(fabs(dot)) * 180 / PI);
    /* A component that is 0 but for rounding has the right to set the sign. */
    cr_expect(d[0] == 0 || got[0] > 0, "%g %g %g points backwards: %g %g %g", d[0], d[1], d[2], got[0],
              got[1], got[2]);
    cr_expect(got[4] > 0.7, "linear %g", got[4]);
    run_rod(d, h, true, got);
    cr_expect(fabs(got[0] * d[0] + got[1] * d[1] + got[2] * d[2]) < 0.02, "%g %g %g is not in the plane",
              got[0], got[1], got[2]);
    cr_expect(got[3] > 0.98, "planar %g", got[3]);
}

Test(structure_tensor, rods_and_planes)
{
    static const double cubic[3] = {1, 1, 1}, flat[3] = {1, 0.8, 1.6};
    static const double direction[][3] = {{1, 0, 0},  {0, -1, 0}, {0, 0, -1}, {1, 1, 0},  {-1, 2, 0},
                                          {0, 1, -1}, {1, 1, 1},  {-2, 1, 3}, {0, -1, -3}};
    for (size_t i = 0; i < COUNT(direction); i += UNDER_SANITIZERS ? 4 : 1) {
        expect_rod(direction[i], cubic);
        expect_rod(direction[i], flat);
    }
}

/* What does not change along an axis has that axis as its direction, exactly. */
Test(structure_tensor, axes)
{
    for (int axis = 0; axis < 3; axis++) {
        struct pipeline p =
            pipeline_reference("structure-tensor:output=orientation:sigma=0:rho=1", 9, 8, 7, false);
        struct vf_volume in = pipeline_input(&p, 0);
        for (int i = 0; i < 9 * 8 * 7; i++) {
            int at[3] = {i % 9, i / 9 % 8, i / 72};
            at[axis] = 0;
            volume_set(&in, (size_t)i, (at[0] * 37 + at[1] * 101 + at[2] * 53) % 64);
        }
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (size_t i = 0; i < volume_elements(&out); i++)
            cr_expect_eq(volume_get(&out, i), i / 504 == (size_t)axis ? 1 : 0, "axis %d, component %zu: %g",
                         axis, i / 504, volume_get(&out, i));
        vf_volume_free(&in);
        vf_volume_free(&out);
    }
}

Test(structure_tensor, one_share)
{
    static const char *const one[] = {"structure-tensor:output=planar", "structure-tensor:output=linear",
                                      "structure-tensor:output=isotropic"};
    struct pipeline p = {.chain = "structure-tensor:output=coherence",
                         .nx = 37,
                         .ny = 18,
                         .nz = 9,
                         .type = VF_U8,
                         .result_type = VF_F32};
    for (size_t k = 0; k < COUNT(one); k++)
        pipeline_expect_channel(&p, k, one[k]);
    p.chain = one[1];
    p.nz = 1;
    pipeline_expect_usage(&p, "structure-tensor: output=linear needs a stack");
}
