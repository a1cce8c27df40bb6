/* Eigenvalues and eigenvectors of the stencils against tables from numpy and against a solver in double that
 * iterates until it has converged. */
#include <criterion/criterion.h>
#include <math.h>

#include "random.h"
#include "stencil_variants.h"
#include "tables/ref_eigen2.h"
#include "tables/ref_eigen3.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct stencil_variant *const variants[] = {&stencil_f32_2d, &stencil_f32_3d, &stencil_f64_2d,
                                                         &stencil_f64_3d};

/* What is allowed, in units of the largest eigenvalue: FILTERS wants 1e-5 for float32. */
static double value_tolerance(const struct stencil_variant *v)
{
    return v->bits == 64 ? 1e-14 : 1e-6;
}

static double vector_tolerance(const struct stencil_variant *v)
{
    return v->bits == 64 ? 1e-14 : 4e-6;
}

/* Where the component (i, j) of a tensor is. */
static int place(int dim, int i, int j)
{
    static const int in_3d[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    return dim == 3 ? in_3d[i][j] : i + j;
}

static int components(int dim)
{
    return dim == 3 ? 6 : 3;
}

/* One rotation of Jacobi's, on the whole matrix. */
static void rotate(double a[3][3], int dim, int p, int q)
{
    if (a[p][q] == 0)
        return;
    const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    const double t = copysign(1 / (fabs(theta) + hypot(theta, 1)), theta), c = 1 / hypot(t, 1), s = t * c;
    for (int k = 0; k < dim; k++) {
        const double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (int k = 0; k < dim; k++) {
        const double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
}

/* Eigenvalues in descending order. */
static void solve(const double *tensor, int dim, double *value)
{
    double a[3][3];
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            a[i][j] = tensor[place(dim, i, j)];
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < dim; p++)
            for (int q = p + 1; q < dim; q++)
                rotate(a, dim, p, q);
    for (int i = 0; i < dim; i++) {
        int k = i;
        for (; k > 0 && value[k - 1] < a[i][i]; k--)
            value[k] = value[k - 1];
        value[k] = a[i][i];
    }
}

static double dot(const double *a, const double *b, int dim)
{
    double sum = 0;
    for (int k = 0; k < dim; k++)
        sum += a[k] * b[k];
    return sum;
}

/* The largest component of A v - mu v. */
static double residual(const double *tensor, int dim, double value, const double *vector)
{
    double most = 0;
    for (int i = 0; i < dim; i++) {
        double sum = -value * vector[i];
        for (int k = 0; k < dim; k++)
            sum += tensor[place(dim, i, k)] * vector[k];
        most = fmax(most, fabs(sum));
    }
    return most;
}

/* The largest errors of a family of tensors. */
struct worst {
    double value, residual, frame;
};

static void expect_within(const struct stencil_variant *v, const char *family, const struct worst *w)
{
    cr_log_info("%s %s: values %.2g, residuals %.2g, lengths and angles %.2g", v->name, family, w->value,
                w->residual, w->frame);
    cr_expect(w->value <= value_tolerance(v), "%s %s: values err by %g", v->name, family, w->value);
    cr_expect(w->residual <= vector_tolerance(v), "%s %s: A v - mu v is %g", v->name, family, w->residual);
    cr_expect(w->frame <= vector_tolerance(v), "%s %s: lengths, angles err by %g", v->name, family, w->frame);
}

/* Compares the stencil's eigensystem of tensor * 2^scale, scaled back, with the solver's. A NaN in it is an
 * error. */
static void compare(const struct stencil_variant *v, const double *tensor, int scale, struct worst *w)
{
    const int dim = v->dim;
    double given[6], expected[3], value[3], vector[6], spread;
    for (int c = 0; c < components(dim); c++) {
        const double scaled = ldexp(tensor[c], scale);
        given[c] = v->bits == 64 ? scaled : (double)(float)scaled;
    }
    v->eigen(given, value, vector, &spread);
    for (int c = 0; c < components(dim); c++)
        given[c] = ldexp(given[c], -scale);
    solve(given, dim, expected);
    for (int i = 0; i < dim; i++) {
        const double mu = ldexp(value[i], -scale);
        cr_expect(value[i] >= 0 && (i == 0 || value[i] <= value[i - 1]), "%s: not >= 0 and descending",
                  v->name);
        w->value = fmax(w->value, fabs(mu - fmax(expected[i], 0)) / expected[0]);
    }
    w->value = fmax(w->value, fabs(ldexp(spread, -scale) - (expected[0] - expected[dim - 1])) / expected[0]);
    cr_expect_not(isnan(spread), "%s: the spread is NaN", v->name);
    for (int i = 0; i < 2; i++) {
        const double mu = ldexp(value[i == 0 ? 0 : dim - 1], -scale), *vi = vector + i * dim;
        w->residual = fmax(w->residual, residual(given, dim, mu, vi) / expected[0]);
        for (int k = 0; k <= i; k++)
            w->frame = fmax(w->frame, fabs(dot(vi, vector + k * dim, dim) - (k == i)));
        cr_expect_not(isnan(dot(vi, vi, dim)), "%s: NaN", v->name);
    }
}

/* The sine of the angle between two lines. */
static double between(const double *a, const double *b, int dim)
{
    const double z = a[0] * b[1] - a[1] * b[0];
    if (dim == 2)
        return fabs(z);
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2];
    return sqrt(x * x + y * y + z * z);
}

static void compare_with_table(const struct stencil_variant *v, const char *family, const float *m,
                               const double *mu, const double *last, double gap, struct worst *w)
{
    const int dim = v->dim;
    double tensor[6], value[3], vector[6], spread;
    for (int c = 0; c < components(dim); c++)
        tensor[c] = (double)m[c];
    v->eigen(tensor, value, vector, &spread);
    const double most = mu[0] > 0 ? mu[0] : 1;
    for (int i = 0; i < dim; i++)
        w->value = fmax(w->value, fabs(value[i] - fmax(mu[i], 0)) / most);
    if (gap > 1e-4) {
        const double error = between(vector + dim, last, dim);
        w->residual = fmax(w->residual, error * gap);
        cr_expect(error * gap <= vector_tolerance(v), "%s %s: the last vector errs by %g, gap %g", v->name,
                  family, error, gap);
    }
}

Test(stencil_eigen, as_in_the_tables)
{
    for (size_t n = 0; n < COUNT(variants); n++) {
        const struct stencil_variant *v = variants[n];
        struct worst w = {0};
        for (size_t i = 0; i < COUNT(REF_EIGEN2) && v->dim == 2; i++) {
            const struct ref_eigen2_case *c = &REF_EIGEN2[i];
            compare_with_table(v, c->family, c->m, c->mu, c->v, c->gap, &w);
        }
        for (size_t i = 0; i < COUNT(REF_EIGEN3) && v->dim == 3; i++) {
            const struct ref_eigen3_case *c = &REF_EIGEN3[i];
            compare_with_table(v, c->family, c->m, c->mu, c->v, c->gap, &w);
        }
        expect_within(v, "tables", &w);
    }
}

/* Random orthonormal vectors, by Gram and Schmidt. */
static void random_frame(double frame[3][3], int dim)
{
    for (int i = 0; i < dim; i++) {
        double length = 0;
        while (length < 0.1) {
            for (int k = 0; k < dim; k++)
                frame[i][k] = random_unit() - 0.5;
            for (int j = 0; j < i; j++) {
                const double along = dot(frame[i], frame[j], dim);
                for (int k = 0; k < dim; k++)
                    frame[i][k] -= along * frame[j][k];
            }
            length = sqrt(dot(frame[i], frame[i], dim));
        }
        for (int k = 0; k < dim; k++)
            frame[i][k] /= length;
    }
}

/* A tensor with these eigenvalues and random vectors. */
static void random_tensor(const double *value, int dim, double *tensor)
{
    double frame[3][3];
    random_frame(frame, dim);
    for (int i = 0; i < dim; i++)
        for (int j = i; j < dim; j++) {
            double sum = 0;
            for (int k = 0; k < dim; k++)
                sum += value[k] * frame[k][i] * frame[k][j];
            tensor[place(dim, i, j)] = sum;
        }
}

/* Families of eigenvalues, the largest about 1: u, w are random in [0, 1), e is small. */
static void spectrum(int family, double *value)
{
    const double u = random_unit(), w = random_unit(), e = pow(10, -9 * random_unit());
    const double families[][3] = {{1, u, w},        {1, 0, 0},           {1, 1, 0},
                                  {1, 1 - e, u},    {1, u, u * (1 - e)}, {1, 1 - e * u, 1 - e * w},
                                  {1, e, e * u * e}};
    for (int i = 0; i < 3; i++)
        value[i] = families[family][i];
}

static const char *const family_names[] = {
    "random",       "rank one", "rank two", "two large coincide", "two small coincide",
    "all coincide", "far apart"};

Test(stencil_eigen, as_a_solver_in_double)
{
    for (size_t n = 0; n < COUNT(variants); n++) {
        const struct stencil_variant *v = variants[n];
        /* 1e-30 to 1e30, 1e-300 to 1e300. */
        const int most = v->bits == 64 ? 997 : 100;
        random_state = 1;
        for (int family = 0; family < (int)COUNT(family_names); family++) {
            struct worst w = {0};
            for (int round = 0; round < 5000; round++) {
                double value[3], tensor[6];
                spectrum(family, value);
                random_tensor(value, v->dim, tensor);
                compare(v, tensor, round % 2 == 0 ? 0 : (int)((random_unit() - 0.5) * 2 * most), &w);
            }
            expect_within(v, family_names[family], &w);
        }
    }
}

/* The same with signs, of which a tensor of second derivatives may have any: in units of the largest without
 * its sign. Some have a diagonal of 0. */
static double indefinite_error(const struct stencil_variant *v, const double *tensor, int scale)
{
    double given[6], expected[3], value[3], error = 0, most = 0;
    for (int c = 0; c < components(v->dim); c++) {
        const double scaled = ldexp(tensor[c], scale);
        given[c] = v->bits == 64 ? scaled : (double)(float)scaled;
    }
    v->indefinite(given, value);
    for (int c = 0; c < components(v->dim); c++)
        given[c] = ldexp(given[c], -scale);
    solve(given, v->dim, expected);
    for (int i = 0; i < v->dim; i++) {
        cr_expect_not(isnan(value[i]), "%s: NaN", v->name);
        cr_expect(i == 0 || value[i] <= value[i - 1], "%s: not descending", v->name);
        error = fmax(error, fabs(ldexp(value[i], -scale) - expected[i]));
        most = fmax(most, fabs(expected[i]));
    }
    return error / most;
}

Test(stencil_eigen, indefinite)
{
    for (size_t n = 0; n < COUNT(variants); n++) {
        const struct stencil_variant *v = variants[n];
        const int most = v->bits == 64 ? 997 : 100;
        random_state = 3;
        for (int family = 0; family < (int)COUNT(family_names); family++) {
            double worst = 0;
            for (int round = 0; round < 5000; round++) {
                double value[3], tensor[6];
                spectrum(family, value);
                for (int i = 0; i < 3; i++)
                    value[i] = round >> i & 1 ? -value[i] : value[i];
                random_tensor(value, v->dim, tensor);
                for (int i = 0; i < v->dim && round % 5 == 4; i++)
                    tensor[place(v->dim, i, i)] = 0;
                worst =
                    fmax(worst, indefinite_error(
                                    v, tensor, round % 2 == 0 ? 0 : (int)((random_unit() - 0.5) * 2 * most)));
            }
            cr_log_info("%s %s, with signs: values %.2g", v->name, family_names[family], worst);
            cr_expect(worst <= value_tolerance(v), "%s %s: values err by %g", v->name, family_names[family],
                      worst);
        }
    }
}

/* Sums of a few gradient products, as a smoothed structure tensor is. */
Test(stencil_eigen, sums_of_products)
{
    for (size_t n = 0; n < COUNT(variants); n++) {
        const struct stencil_variant *v = variants[n];
        struct worst w = {0};
        random_state = 2;
        for (int round = 0; round < 5000; round++) {
            double tensor[6] = {0};
            for (int g = 0; g <= round % 4; g++) {
                const double gradient[3] = {random_unit() - 0.5, random_unit() - 0.5, random_unit() - 0.5};
                for (int i = 0; i < v->dim; i++)
                    for (int j = i; j < v->dim; j++)
                        tensor[place(v->dim, i, j)] += gradient[i] * gradient[j];
            }
            compare(v, tensor, 0, &w);
        }
        expect_within(v, "sums of products", &w);
    }
}

/* The largest and the smallest numbers: entries at both ends of the type, exact there. Near its smallest
 * number an eigenvalue is rounded to a multiple of it. */
Test(stencil_eigen, ends_of_the_range)
{
    for (size_t n = 0; n < COUNT(variants); n++) {
        const struct stencil_variant *v = variants[n];
        const int least = v->bits == 64 ? -1074 : -149, largest = v->bits == 64 ? 1023 : 127;
        const double flat[6] = {1, 0.5, v->dim == 3 ? 0.25 : 1, 1.5, -0.5, 1};
        double tensor[6], expected[3], value[3], vector[6], spread;
        struct worst w = {0};
        compare(v, flat, largest, &w);
        expect_within(v, "the largest numbers", &w);
        solve(flat, v->dim, expected);
        for (int above = 3; above <= 30; above++) {
            for (int c = 0; c < components(v->dim); c++)
                tensor[c] = ldexp(flat[c], least + above);
            v->eigen(tensor, value, vector, &spread);
            for (int i = 0; i < v->dim; i++) {
                const double got = ldexp(value[i], -least), wanted = ldexp(expected[i], above);
                cr_expect(fabs(got - wanted) <= 0.5 + 1e-5 * wanted, "%s: 2^%d of the smallest: %g, not %g",
                          v->name, above, got, wanted);
            }
        }
    }
}

Test(stencil_eigen, vectors_of_diagonal_tensors_are_exact)
{
    static const double diagonals[][3] = {{3, 2, 1}, {1, 2, 3}, {2, 3, 1}, {1, 1, 1},
                                          {0, 5, 0}, {0, 0, 0}, {7, 7, 1}};
    for (size_t n = 0; n < COUNT(variants); n++)
        for (size_t i = 0; i < COUNT(diagonals); i++) {
            const struct stencil_variant *v = variants[n];
            double tensor[6] = {0}, expected[3], value[3], vector[6], spread;
            for (int k = 0; k < v->dim; k++)
                tensor[place(v->dim, k, k)] = diagonals[i][k];
            solve(tensor, v->dim, expected);
            v->eigen(tensor, value, vector, &spread);
            for (int k = 0; k < v->dim; k++)
                cr_expect(fabs(value[k] - expected[k]) <= 4e-7 * expected[k] + 1e-7 * expected[0],
                          "%s %zu: %g", v->name, i, value[k]);
            for (int k = 0; k < 2; k++) {
                const double mu = expected[k == 0 ? 0 : v->dim - 1], *vk = vector + k * v->dim;
                cr_expect_eq(residual(tensor, v->dim, mu, vk), 0.0);
                cr_expect_eq(dot(vk, vk, v->dim), 1.0);
            }
        }
}

Test(stencil_eigen, nan_in_any_component_gives_nan)
{
    for (size_t n = 0; n < COUNT(variants); n++)
        for (int c = 0; c < components(variants[n]->dim); c++) {
            const struct stencil_variant *v = variants[n];
            double tensor[6] = {1, 0.1, v->dim == 3 ? 0.2 : 2, 2, 0.3, 3}, value[3], vector[6], spread;
            tensor[c] = NAN;
            v->indefinite(tensor, value);
            for (int i = 0; i < v->dim; i++)
                cr_expect(isnan(value[i]), "%s, component %d: signed %d is %g", v->name, c, i, value[i]);
            v->eigen(tensor, value, vector, &spread);
            for (int i = 0; i < v->dim; i++)
                cr_expect(isnan(value[i]), "%s, component %d: eigenvalue %d is %g", v->name, c, i, value[i]);
            cr_expect(isnan(spread), "%s, component %d: the spread is %g", v->name, c, spread);
        }
}
