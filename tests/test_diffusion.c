/* eed, ced and and: one iteration against a plain one in double, written from the formulae, and what the
 * filters are for: edges and lines that a Gaussian would lose. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "random.h"
#include "sanitized.h"

/* ---- an iteration in double: fields and boundaries ---- */

enum { X, Y, Z };

/* A field is n[X] * n[Y] * n[Z] doubles; in 2D everything along z is 0. */
struct grid {
    int dim, n[3];
    size_t count;
    enum vf_boundary boundary;
    double constant, h[3];
};

/* Where the component (a, b) of a tensor is. */
static const int component[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

static double *make_field(const struct grid *g)
{
    return calloc(g->count, sizeof(double));
}

static double at(const struct grid *g, const double *f, double outside, const int place[3])
{
    int in[3];
    for (int a = 0; a < 3; a++) {
        int i = g->n[a] == 1 ? 0 : place[a], n = g->n[a];
        while (i < 0 || i >= n) {
            if (g->boundary == VF_CONSTANT)
                return outside;
            if (g->boundary == VF_WRAP)
                i += i < 0 ? n : -n;
            else if (g->boundary == VF_REFLECT)
                i = i < 0 ? -1 - i : 2 * n - 1 - i;
            else if (g->boundary == VF_MIRROR)
                i = i < 0 ? -i : 2 * n - 2 - i;
            else
                i = i < 0 ? 0 : n - 1;
        }
        in[a] = i;
    }
    return f[(in[Z] * g->n[Y] + in[Y]) * g->n[X] + in[X]];
}

static void place_of(const struct grid *g, size_t i, int place[3])
{
    place[X] = (int)i % g->n[X];
    place[Y] = (int)i / g->n[X] % g->n[Y];
    place[Z] = (int)i / g->n[X] / g->n[Y];
}

/* The value `by` voxels along axis a from a place. */
static double beside(const struct grid *g, const double *f, double outside, const int place[3], int a, int by)
{
    int other[3] = {place[X], place[Y], place[Z]};
    other[a] += by;
    return at(g, f, outside, other);
}

static double difference(const struct grid *g, const double *f, double outside, const int place[3], int a)
{
    return (beside(g, f, outside, place, a, 1) - beside(g, f, outside, place, a, -1)) / (2 * g->h[a]);
}

/* Gaussian of width sigma in x-voxels, in place. */
static void smooth(const struct grid *g, double *f, double sigma, double outside)
{
    double *from = make_field(g);
    for (int a = 0; a < g->dim && sigma > 0; a++) {
        const double width = sigma / g->h[a];
        const int radius = (int)floor(4 * width + 0.5);
        memcpy(from, f, g->count * sizeof *f);
        for (size_t i = 0; i < g->count; i++) {
            int place[3];
            double sum = 0, weights = 0;
            place_of(g, i, place);
            for (int k = -radius; k <= radius; k++) {
                sum += exp(-k * k / (2 * width * width)) * beside(g, from, outside, place, a, k);
                weights += exp(-k * k / (2 * width * width));
            }
            f[i] = sum / weights;
        }
    }
    free(from);
}

/* Eigenvalues, descending, and vectors v[rank][axis] of a symmetric matrix: Jacobi, the largest element
 * first, until there is none. */
static void solve(int dim, double m[3][3], double mu[3], double v[3][3])
{
    memset(v, 0, 9 * sizeof(double));
    v[0][0] = v[1][1] = v[2][2] = 1;
    for (int turn = 0; turn < 60; turn++) {
        int p = 0, q = 1;
        for (int a = 0; a < dim; a++)
            for (int b = a + 1; b < dim; b++)
                if (fabs(m[a][b]) > fabs(m[p][q]))
                    p = a, q = b;
        if (m[p][q] == 0)
            break;
        const double angle = 0.5 * atan2(2 * m[p][q], m[p][p] - m[q][q]), c = cos(angle), s = sin(angle);
        for (int k = 0; k < 3; k++) {
            const double mp = m[p][k], mq = m[q][k], vp = v[p][k], vq = v[q][k];
            m[p][k] = c * mp + s * mq, m[q][k] = c * mq - s * mp;
            v[p][k] = c * vp + s * vq, v[q][k] = c * vq - s * vp;
        }
        for (int k = 0; k < 3; k++) {
            const double mp = m[k][p], mq = m[k][q];
            m[k][p] = c * mp + s * mq, m[k][q] = c * mq - s * mp;
        }
        m[p][q] = m[q][p] = 0;
    }
    for (int a = 0; a < dim; a++)
        mu[a] = fmax(m[a][a], 0);
    for (int n = 0; n < 3; n++) {
        const int a = n % 2, b = a + 1;
        for (int k = 0; k < 3 && b < dim && mu[b] > mu[a]; k++) {
            const double vector = v[a][k], value = mu[a];
            v[a][k] = v[b][k], v[b][k] = vector;
            if (k == 2)
                mu[a] = mu[b], mu[b] = value;
        }
    }
}

/* ---- an iteration in double: the filters ---- */

struct filter {
    enum { EED, EED_LINE, CED, AND } kind;
    double sigma, rho, k, alpha, c, threshold; /* widths in x-voxels */
};

/* D at a voxel, from the gradient of u_sigma, the smoothed tensor's eigenvalues and vectors, and the input's
 * range. */
static void diffusion_tensor(const struct filter *f, int dim, double range, const double gradient[3],
                             const double mu[3], double v[3][3], double d[3][3])
{
    const int last = dim - 1;
    const double s = sqrt(gradient[X] * gradient[X] + gradient[Y] * gradient[Y] + gradient[Z] * gradient[Z]);
    const double stop = s == 0 ? 1 : 1 - exp(-3.31488 / pow(s / f->k, 8));
    const double spread = mu[0] - mu[last], contrast = pow(range / 255, 4) * f->c;
    const double gain =
        spread == 0 ? f->alpha : f->alpha + (1 - f->alpha) * exp(-contrast / (spread * spread));
    double lambda[3] = {stop, 1, 1}, vector[3][3];
    memcpy(vector, v, sizeof vector);
    if (f->kind == CED || (f->kind == AND && spread > f->threshold)) {
        for (int a = 0; a < dim; a++)
            lambda[a] = a == last ? gain : f->alpha;
    } else if (f->kind == EED_LINE) {
        for (int a = 0; a < dim; a++)
            lambda[a] = a == last ? 1 : stop;
    } else if (f->kind == AND || f->rho == 0) {
        /* The normal is the gradient's: I - (1 - stop) n n^T. */
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                d[a][b] = (a == b) - (s == 0 ? 0 : (1 - stop) * gradient[a] / s * gradient[b] / s);
        return;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            d[a][b] = 0;
            for (int rank = 0; rank < dim; rank++)
                d[a][b] += lambda[rank] * vector[rank][a] * vector[rank][b];
        }
}

/* The flux from a place to the next one along a. */
static double flux(const struct grid *g, const double *u, double *const d[6], const int place[3], int a)
{
    int next[3] = {place[X], place[Y], place[Z]};
    next[a]++;
    const bool outer = place[a] < 0 || next[a] >= g->n[a];
    if (outer && (g->n[a] == 1 || (g->boundary != VF_CONSTANT && g->boundary != VF_WRAP)))
        return 0;
    double sum = (at(g, d[component[a][a]], 0, place) + at(g, d[component[a][a]], 0, next)) / 2 *
                 (at(g, u, g->constant, next) - at(g, u, g->constant, place)) / g->h[a];
    for (int b = 0; b < g->dim; b++)
        if (b != a)
            sum += (at(g, d[component[a][b]], 0, place) * difference(g, u, g->constant, place, b) +
                    at(g, d[component[a][b]], 0, next) * difference(g, u, g->constant, next, b)) /
                   2;
    return sum;
}

/* The smoothed structure tensor of u_sigma. */
static void structure_tensor(const struct grid *g, const struct filter *f, const double *smoothed,
                             double *j[6])
{
    for (size_t i = 0; i < g->count; i++) {
        int place[3];
        place_of(g, i, place);
        for (int a = 0; a < g->dim; a++)
            for (int b = a; b < g->dim; b++)
                j[component[a][b]][i] = difference(g, smoothed, g->constant, place, a) *
                                        difference(g, smoothed, g->constant, place, b);
    }
    for (int c = 0; c < 6; c++)
        smooth(g, j[c], f->rho, 0);
}

static void eigen_at(const struct grid *g, double *const j[6], size_t i, double mu[3], double v[3][3])
{
    double m[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            m[a][b] = j[component[a][b]][i];
    solve(g->dim, m, mu, v);
}

/* One iteration from u to next. *spread gets the mean of mu1 - mu3. */
static void iterate(const struct grid *g, const struct filter *f, double dt, const double *u, double *next,
                    double *spread)
{
    double *smoothed = make_field(g), *j[6], *d[6], least = INFINITY, most = -INFINITY;
    for (int c = 0; c < 6; c++) {
        j[c] = make_field(g);
        d[c] = make_field(g);
    }
    memcpy(smoothed, u, g->count * sizeof *u);
    smooth(g, smoothed, f->sigma, g->constant);
    structure_tensor(g, f, smoothed, j);
    for (size_t i = 0; i < g->count; i++) {
        least = fmin(least, u[i]);
        most = fmax(most, u[i]);
    }
    *spread = 0;
    for (size_t i = 0; i < g->count; i++) {
        int place[3];
        double gradient[3] = {0, 0, 0}, mu[3], v[3][3], tensor[3][3];
        place_of(g, i, place);
        for (int a = 0; a < g->dim; a++)
            gradient[a] = difference(g, smoothed, g->constant, place, a);
        eigen_at(g, j, i, mu, v);
        *spread += (mu[0] - mu[g->dim - 1]) / (double)g->count;
        diffusion_tensor(f, g->dim, most - least, gradient, mu, v, tensor);
        for (int a = 0; a < g->dim; a++)
            for (int b = a; b < g->dim; b++)
                d[component[a][b]][i] = tensor[a][b];
    }
    for (size_t i = 0; i < g->count; i++) {
        double sum = 0;
        int place[3];
        place_of(g, i, place);
        for (int a = 0; a < g->dim; a++) {
            int before[3] = {place[X], place[Y], place[Z]};
            before[a]--;
            sum += (flux(g, u, d, place, a) - flux(g, u, d, before, a)) / g->h[a];
        }
        next[i] = u[i] + dt * sum;
    }
    for (int c = 0; c < 6; c++) {
        free(j[c]);
        free(d[c]);
    }
    free(smoothed);
}

/* ---- comparing ---- */

static const struct {
    const char *chain;
    struct filter filter;
} filters[] = {
    {"eed:k=9", {EED, 1, 0, 9, 0, 0, 0}},
    {"eed:k=6:sigma=0.6:rho=0.9", {EED, 0.6, 0.9, 6, 0, 0, 0}},
    {"eed:k=7:mode=line:rho=1", {EED_LINE, 1, 1, 7, 0, 0, 0}},
    {"ced:rho=1.2", {CED, 0.5, 1.2, 0, 0.001, 1, 0}},
    {"ced:sigma=0.8:rho=0.7:alpha=0.05:C=30000", {CED, 0.8, 0.7, 0, 0.05, 30000, 0}},
    {"and:k=8:threshold=300:C=1000:alpha=0.01:rho=1", {AND, 1, 1, 8, 0.01, 1000, 300}},
};

static struct grid grid_of(const struct pipeline *p)
{
    struct grid g = {.dim = p->nz > 1 ? 3 : 2,
                     .n = {(int)p->nx, (int)p->ny, (int)p->nz},
                     .count = (size_t)(p->nx * p->ny * p->nz),
                     .boundary = p->boundary,
                     .constant = p->constant};
    memcpy(g.h, p->aspect, sizeof g.h);
    return g;
}

static double stable_step(const struct grid *g)
{
    double sum = 0;
    for (int a = 0; a < g->dim; a++)
        sum += 1 / (g->h[a] * g->h[a]);
    return 0.9 / (2 * sum);
}

/* The largest difference after one iteration. */
static double run_error(const struct pipeline *p, const struct filter *f)
{
    const struct grid g = grid_of(p);
    struct vf_volume in = pipeline_input(p, 1);
    double *u = make_field(&g), *next = make_field(&g), spread;
    for (size_t i = 0; i < g.count; i++)
        u[i] = volume_get(&in, i);
    iterate(&g, f, stable_step(&g), u, next, &spread);
    struct vf_volume out = pipeline_run(p, &in, NULL);
    const double most = volume_error(&out, 0, NULL, next, g.count);
    free(u);
    free(next);
    vf_volume_free(&in);
    vf_volume_free(&out);
    return most;
}

/* Values range over 220. Where the two smallest eigenvalues differ by 1e-5 of the largest, as at one voxel,
 * rounding turns their vectors by some hundredths. */
static void compare(enum vf_boundary boundary)
{
    static const double aspects[][3] = {{1, 1, 1}, {1, 1.5, 2}};
    for (size_t f = 0; f < COUNT(filters); f++)
        for (size_t a = 0; a < COUNT(aspects); a++)
            for (int dim = 2; dim <= 3; dim++)
                for (int precise = 0; precise < 2; precise++) {
                    char chain[120];
                    snprintf(chain, sizeof chain, "%s:iterations=1", filters[f].chain);
                    struct pipeline p = pipeline_reference(chain, 14, 11, dim == 3 ? 9 : 1, precise != 0);
                    p.boundary = boundary;
                    memcpy(p.aspect, aspects[a], sizeof p.aspect);
                    const double error = run_error(&p, &filters[f].filter);
                    cr_expect(error <= 220 * (precise ? 5e-14 : 1e-5), "%s, %dD, boundary %d, %s: off by %g",
                              chain, dim, (int)boundary, precise ? "double" : "float", error);
                }
}

#define ITERATION(name, boundary)     \
    Test(diffusion, iteration_##name) \
    {                                 \
        compare(boundary);            \
    }
ITERATION(nearest, VF_NEAREST)
ITERATION(reflect, VF_REFLECT)
ITERATION(mirror, VF_MIRROR)
ITERATION(constant, VF_CONSTANT)
ITERATION(wrap, VF_WRAP)

/* ---- what is kept ---- */

/* The outer faces let nothing through, and what leaves a voxel enters its neighbour. */
Test(diffusion, mean)
{
    static const enum vf_boundary keep[] = {VF_NEAREST, VF_REFLECT, VF_MIRROR, VF_WRAP};
    for (size_t f = 0; f < COUNT(filters); f++)
        for (size_t b = 0; b < COUNT(keep); b++)
            for (int precise = 0; precise < 2; precise++) {
                struct pipeline p = pipeline_reference(filters[f].chain, 15, 12, b % 2 ? 8 : 1, precise != 0);
                long double mean[2] = {0, 0};
                p.boundary = keep[b];
                p.aspect[1] = 1.5;
                p.scheme = NULL;
                struct vf_volume in = pipeline_input(&p, 2), out = pipeline_run(&p, &in, NULL);
                for (size_t i = 0; i < volume_elements(&in); i++) {
                    mean[0] += volume_get(&in, i) / volume_elements(&in);
                    mean[1] += volume_get(&out, i) / volume_elements(&in);
                }
                cr_expect(fabsl(mean[1] - mean[0]) <= 100 * (precise ? 1e-15 : 2e-7),
                          "%s, boundary %d: moved by %Lg", filters[f].chain, (int)keep[b], mean[1] - mean[0]);
                vf_volume_free(&in);
                vf_volume_free(&out);
            }
}

static double norm(const struct vf_volume *volume)
{
    double sum = 0;
    for (size_t i = 0; i < volume_elements(volume); i++)
        sum += volume_get(volume, i) * volume_get(volume, i);
    return sqrt(sum);
}

/* The L2 norm never grows, at the largest step that is allowed, from noise and from a checkerboard, the
 * roughest image there is. */
Test(diffusion, norm)
{
    for (size_t f = 0; f < COUNT(filters); f++)
        for (int dim = 2; dim <= 3; dim++)
            for (int checkers = 0; checkers < 2; checkers++) {
                char chain[120];
                snprintf(chain, sizeof chain, "%s:iterations=1:dt=%s", filters[f].chain,
                         dim == 2 ? "0.25" : "0.16666666");
                struct pipeline p = pipeline_reference(chain, 13, 12, dim == 3 ? 11 : 1, true);
                p.scheme = NULL;
                struct vf_volume u = pipeline_input(&p, 5);
                for (size_t i = 0; i < volume_elements(&u) && checkers; i++)
                    volume_set(&u, i, (i + i / 13 + i / 156) % 2 ? volume_get(&u, i) * 0.1 : 100);
                for (int n = 0; n < 12; n++) {
                    struct vf_volume next = pipeline_run(&p, &u, NULL);
                    cr_expect(norm(&next) <= norm(&u) * (1 + 1e-14), "%s, step %d: %.17g after %.17g", chain,
                              n, norm(&next), norm(&u));
                    vf_volume_free(&u);
                    u = next;
                }
                vf_volume_free(&u);
            }
}

/* Nothing moves where nothing changes, whatever 0/0 there is on the way. */
Test(diffusion, constant)
{
    static const char *const chains[] = {"eed", "eed:rho=1:k=0", "eed:mode=line:rho=1:k=2sd",
                                         "ced", "ced:C=0",       "and"};
    for (size_t c = 0; c < COUNT(chains); c++)
        for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
            struct pipeline p = pipeline_reference(chains[c], 9, 8, nz, false);
            struct vf_volume in = pipeline_input(&p, 0);
            for (size_t i = 0; i < volume_elements(&in); i++)
                volume_set(&in, i, 31);
            struct vf_volume out = pipeline_run(&p, &in, NULL);
            cr_expect_arr_eq(out.data, in.data, volume_size(&in), "%s", chains[c]);
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

/* D stays between 0 and I where the square of a gradient is no normal number, in units of 2^-exponent. Beside
 * k=0 every gradient is an edge, as far out as a bright spot on zeros reaches. */
Test(diffusion, vanishing_gradients)
{
    static const char *const chains[] = {"eed:k=0", "eed", "eed:rho=1:k=0", "and:k=0"};
    for (size_t c = 0; c < COUNT(chains); c++)
        for (int precise = 0; precise < 2; precise++)
            for (int nz = 1; nz <= 8; nz += 7)
                for (int n = 0; n < 10; n += UNDER_SANITIZERS ? 9 : 3) {
                    const int exponent = (precise ? 500 : 55) + 4 * n;
                    struct pipeline p = pipeline_reference(chains[c], 15, 12, nz, precise != 0);
                    struct vf_volume in = pipeline_input(&p, 3);
                    double before = 0, after = 0;
                    for (size_t i = 0; i < volume_elements(&in); i++) {
                        before += pow(volume_get(&in, i), 2);
                        volume_set(&in, i, ldexp(volume_get(&in, i), -exponent));
                    }
                    struct vf_volume reference = pipeline_run(&p, &in, NULL);
                    p.scheme = NULL;
                    struct vf_volume out = pipeline_run(&p, &in, NULL);
                    for (size_t i = 0; i < volume_elements(&out); i++)
                        after += pow(ldexp(volume_get(&out, i), exponent), 2);
                    cr_expect(after <= before * (1 + 1e-6), "%s, %d planes, 2^-%d: %g after %g", chains[c],
                              nz, exponent, sqrt(after), sqrt(before));
                    cr_expect_arr_eq(out.data, reference.data, volume_size(&out), "%s, %d planes, 2^-%d",
                                     chains[c], nz, exponent);
                    vf_volume_free(&in);
                    vf_volume_free(&reference);
                    vf_volume_free(&out);
                }
}

/* ---- what they are for ---- */

/* A step edge of 100 across x, or a line of height 100 at 25 degrees from x, whole or with 8 voxels missing.
 */
enum picture { EDGE, LINE, BROKEN_LINE };

/* A picture under noise. */
struct scene {
    enum picture picture;
    struct pipeline pipeline;
    struct vf_volume noisy;
};

/* Bounds of the distance from the centre along the picture's axis, and of the distance from that axis. */
struct region {
    double along[2], away[2];
};

static const struct region at_edge = {{0, 3}, {0, 12}}, off_edge = {{7, 15}, {0, 12}};
static const struct region on_line = {{8, 16}, {0, 0.75}}, in_gap = {{0, 3}, {0, 0.75}};
static const struct region near_line = {{0, 14}, {0, 3}}, off_line = {{0, 18}, {9, 17}};

/* The clean value at voxel i, and whether it is in a region. */
static double clean_at(const struct scene *s, size_t i, const struct region *region, bool *inside)
{
    const struct pipeline *p = &s->pipeline;
    const double x = (double)(i % (size_t)p->nx) - (double)(p->nx - 1) / 2;
    const double y = (double)(i / (size_t)p->nx % (size_t)p->ny) - (double)(p->ny - 1) / 2;
    const double z = (double)(i / (size_t)(p->nx * p->ny)) - (double)(p->nz - 1) / 2;
    const double angle = s->picture == EDGE ? 0 : 25 * 3.14159265358979 / 180;
    const double along = x * cos(angle) + y * sin(angle), away = hypot(y * cos(angle) - x * sin(angle), z);
    *inside = fabs(along) >= region->along[0] && fabs(along) < region->along[1] && away >= region->away[0] &&
              away < region->away[1];
    if (s->picture == EDGE)
        return along < 0 ? 50 : 150;
    return s->picture == BROKEN_LINE && fabs(along) < 4 ? 50 : 50 + 100 * exp(-away * away / 4.5);
}

/* Noise of standard deviation `noise`: the sum of 12 uniform numbers. */
static struct scene make_scene(enum picture picture, ptrdiff_t nx, ptrdiff_t nz, double noise)
{
    struct scene s = {.picture = picture, .pipeline = pipeline_reference("", nx, nx, nz, false)};
    s.pipeline.scheme = NULL;
    s.noisy = pipeline_input(&s.pipeline, 0);
    random_state = 1;
    for (size_t i = 0; i < volume_elements(&s.noisy); i++) {
        bool inside;
        double sum = -6;
        for (int k = 0; k < 12; k++)
            sum += random_unit();
        volume_set(&s.noisy, i, clean_at(&s, i, &at_edge, &inside) + noise * sum);
    }
    return s;
}

static struct vf_volume run_scene(const struct scene *s, const char *chain)
{
    struct pipeline p = s->pipeline;
    p.chain = chain;
    return pipeline_run(&p, &s->noisy, NULL);
}

/* The root mean square error in a region, or the mean height over 50 there. */
static double figure_of(const struct scene *s, const struct vf_volume *out, const struct region *region,
                        bool error)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < volume_elements(out); i++) {
        bool inside;
        const double value = volume_get(out, i), e = value - clean_at(s, i, region, &inside);
        sum += inside ? (error ? e * e : value - 50) : 0;
        count += inside;
    }
    return error ? sqrt(sum / count) : sum / count;
}

/* The Gaussian that leaves as much noise in the flat parts as `out` has. */
static struct vf_volume equal_gaussian(const struct scene *s, const struct vf_volume *out)
{
    const struct region *flat = s->picture == EDGE ? &off_edge : &off_line;
    const double wanted = figure_of(s, out, flat, true);
    double low = 0.2, high = 6;
    char chain[60];
    for (int turn = 0; turn < 12; turn++) {
        const double sigma = (low + high) / 2;
        snprintf(chain, sizeof chain, "gaussian:sigma=%.9g", sigma);
        struct vf_volume smooth = run_scene(s, chain);
        *(figure_of(s, &smooth, flat, true) > wanted ? &low : &high) = sigma;
        vf_volume_free(&smooth);
    }
    return run_scene(s, chain);
}

/* The figures of a region for a filter [0] and for the Gaussian that leaves the same noise elsewhere [1]. */
static void measure(const struct scene *s, const char *chain, const struct region *region, bool error,
                    double figure[2])
{
    struct vf_volume out = run_scene(s, chain), smooth = equal_gaussian(s, &out);
    figure[0] = figure_of(s, &out, region, error);
    figure[1] = figure_of(s, &smooth, region, error);
    printf("%s, %dD: %s %.1f; with a Gaussian that leaves as much noise: %.1f\n", chain,
           s->pipeline.nz > 1 ? 3 : 2, error ? "error" : "height", figure[0], figure[1]);
    vf_volume_free(&out);
    vf_volume_free(&smooth);
}

/* Under noise of 10. */
Test(diffusion, eed_keeps_edges)
{
    for (ptrdiff_t nz = 1; nz <= 24; nz += 23) {
        double error[2];
        struct scene s = make_scene(EDGE, 40, nz, 10);
        measure(&s, "eed", &at_edge, true, error);
        cr_expect(error[0] < 0.2 * error[1], "%g against %g", error[0], error[1]);
        vf_volume_free(&s.noisy);
    }
}

/* The missing part of a line fills up, and the line stays as high. */
Test(diffusion, ced_closes_lines)
{
    for (ptrdiff_t nz = 1; nz <= (UNDER_SANITIZERS ? 1 : 24); nz += 23) {
        const char *chain = nz == 1 ? "ced:iterations=100" : "ced:iterations=30";
        double gap[2], line[2];
        struct scene s = make_scene(BROKEN_LINE, 48, nz, 10);
        measure(&s, chain, &in_gap, false, gap);
        measure(&s, chain, &on_line, false, line);
        cr_expect(gap[0] > (nz == 1 ? 35 : 15) && gap[0] > 3 * gap[1], "%g against %g", gap[0], gap[1]);
        cr_expect(line[0] > 1.1 * line[1], "%g against %g", line[0], line[1]);
        vf_volume_free(&s.noisy);
    }
}

/* A thin line under noise of 20. */
Test(diffusion, and_keeps_lines)
{
    if (UNDER_SANITIZERS)
        cr_skip_test("only its figures are its own");
    for (ptrdiff_t nz = 1; nz <= 24; nz += 23) {
        double error[2];
        struct scene s = make_scene(LINE, 48, nz, 20);
        measure(&s, "and", &near_line, true, error);
        cr_expect(error[0] < 0.5 * error[1], "%g against %g", error[0], error[1]);
        vf_volume_free(&s.noisy);
    }
}

/* threshold=auto is the mean of mu1 - mu3 in the first iteration, over the noise box or everywhere. */
Test(diffusion, threshold)
{
    for (int boxed = 0; boxed < 2; boxed++)
        for (int dim = 2; dim <= 3; dim++) {
            static const int whole[6] = {15, 12, 9, 0, 0, 0}, part[6] = {6, 4, 3, 2, 5, 4};
            const int *box = boxed ? part : whole;
            double value[VF_MAX_GLOBALS], sum = 0, count = 0;
            struct pipeline p =
                pipeline_reference("and:rho=1:k=5:noise=6x4x3+2+5+4", 15, 12, dim == 3 ? 9 : 1, true);
            if (!boxed)
                p.chain = "and:rho=1:k=5";
            else if (dim == 2)
                p.chain = "and:rho=1:k=5:noise=6x4+2+5";
            struct vf_volume in = pipeline_input(&p, 4), out = pipeline_run(&p, &in, value);
            p.chain = "structure-tensor:rho=1:output=eigenvalues";
            struct vf_volume mu = pipeline_run(&p, &in, NULL);
            for (int i = 0; i < 180 * (int)p.nz; i++) {
                const int x = i % 15 - box[3], y = i / 15 % 12 - box[4], z = dim == 2 ? 0 : i / 180 - box[5];
                const bool inside = x >= 0 && x < box[0] && y >= 0 && y < box[1] && z >= 0 && z < box[2];
                sum += inside ? volume_get(&mu, (size_t)i) -
                                    volume_get(&mu, (size_t)(i + (dim - 1) * 180 * (int)p.nz))
                              : 0;
                count += inside;
            }
            /* Global values: the range of the input, then the threshold, since k is given. */
            cr_expect(fabs(value[1] - sum / count) <= 1e-13 * value[1], "%s: %.17g, not %.17g", p.chain,
                      value[1], sum / count);
            vf_volume_free(&in);
            vf_volume_free(&out);
            vf_volume_free(&mu);
        }
}

/* The same threshold whether the pre-pass finds k as well, from the same smoothed image, or not. */
Test(diffusion, threshold_beside_k)
{
    static const char *const sigma[] = {"1", "0", "0x1x0"}, *const k[] = {"auto", "p50", "2sd"};
    for (size_t i = 0; i < COUNT(sigma); i++) {
        char chain[80];
        double alone[VF_MAX_GLOBALS], beside[VF_MAX_GLOBALS];
        struct pipeline p = pipeline_reference(chain, 15, 12, 9, false);
        struct vf_volume in = pipeline_input(&p, 4), out;
        snprintf(chain, sizeof chain, "and:rho=1:k=5:sigma=%s", sigma[i]);
        out = pipeline_run(&p, &in, alone);
        vf_volume_free(&out);
        for (size_t j = 0; j < COUNT(k); j++) {
            snprintf(chain, sizeof chain, "and:rho=1:sigma=%s:k=%s", sigma[i], k[j]);
            out = pipeline_run(&p, &in, beside);
            cr_expect_eq(beside[2], alone[1], "%s: %.17g, not %.17g", chain, beside[2], alone[1]);
            vf_volume_free(&out);
        }
        vf_volume_free(&in);
    }
}
