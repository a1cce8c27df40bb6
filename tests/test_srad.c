/* srad: the formula of Yu & Acton in Rodinia's form, in double, and what the filter is for. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"

/* ---- the formula ---- */

/* An image or a stack of them, its boundary, and the box that the noise is taken from: everywhere, or from
 * `low` up to `high`. */
struct stack {
    int n[3];
    enum vf_boundary boundary;
    int low[3], high[3];
};

static size_t count_of(const struct stack *s)
{
    return (size_t)s->n[0] * (size_t)s->n[1] * (size_t)s->n[2];
}

/* The voxel at (x, y, z), which may be beyond the grid by one; -1 for the constant. */
static ptrdiff_t index_of(const struct stack *s, int x, int y, int z)
{
    const ptrdiff_t i = vf_boundary_index(s->boundary, x, s->n[0]),
                    j = vf_boundary_index(s->boundary, y, s->n[1]);
    return i < 0 || j < 0 ? -1 : (z * s->n[1] + j) * s->n[0] + i;
}

/* The squared variation over the box. */
static double squared_variation(const struct stack *s, const double *image)
{
    double sum = 0, squares = 0, count = 0;
    for (int z = s->low[2]; z < s->high[2]; z++)
        for (int y = s->low[1]; y < s->high[1]; y++)
            for (int x = s->low[0]; x < s->high[0]; x++) {
                const double value = image[index_of(s, x, y, z)];
                sum += value;
                squares += value * value;
                count++;
            }
    const double mean = sum / count;
    return (squares / count - mean * mean) / (mean * mean);
}

static const int step[4][2] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};

/* From a voxel to its neighbour; beyond the grid the constant is none. */
static double difference(const struct stack *s, const double *image, int x, int y, int z, int side)
{
    const ptrdiff_t at = index_of(s, x + step[side][0], y + step[side][1], z);
    return at < 0 ? 0 : image[at] - image[index_of(s, x, y, z)];
}

static double coefficient(const struct stack *s, const double *image, double q0, int x, int y, int z)
{
    const double centre = image[index_of(s, x, y, z)];
    double squares = 0, sum = 0;
    for (int side = 0; side < 4; side++) {
        const double d = difference(s, image, x, y, z, side) / centre;
        squares += d * d;
        sum += d;
    }
    const double q = (0.5 * squares - sum * sum / 16) / ((1 + 0.25 * sum) * (1 + 0.25 * sum));
    return fmin(fmax(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0), 1);
}

static void iterate(const struct stack *s, double *image, double lambda)
{
    const double q0 = squared_variation(s, image);
    double *c = malloc(count_of(s) * sizeof *c), *next = malloc(count_of(s) * sizeof *next);
    for (int z = 0; z < s->n[2]; z++)
        for (int y = 0; y < s->n[1]; y++)
            for (int x = 0; x < s->n[0]; x++)
                c[index_of(s, x, y, z)] = coefficient(s, image, q0, x, y, z);
    for (int z = 0; z < s->n[2]; z++)
        for (int y = 0; y < s->n[1]; y++)
            for (int x = 0; x < s->n[0]; x++) {
                const ptrdiff_t at = index_of(s, x, y, z);
                double flow = 0;
                for (int side = 0; side < 4; side++) {
                    const ptrdiff_t of = side < 2 ? at : index_of(s, x + step[side][0], y + step[side][1], z);
                    flow += (of < 0 ? 0 : c[of]) * difference(s, image, x, y, z, side);
                }
                next[at] = image[at] + lambda / 4 * flow;
            }
    memcpy(image, next, count_of(s) * sizeof *next);
    free(c);
    free(next);
}

static void compare_formula(const char *chain, const struct stack *s, int iterations, double lambda,
                            bool precise)
{
    struct pipeline p = pipeline_reference(chain, s->n[0], s->n[1], s->n[2], precise);
    p.boundary = s->boundary;
    struct vf_volume in = pipeline_input(&p, (unsigned)s->boundary);
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    const size_t count = count_of(s);
    double *image = malloc(count * sizeof *image), least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, volume_get(&in, i));
        most = fmax(most, volume_get(&in, i));
    }
    for (size_t i = 0; i < count; i++)
        image[i] = exp(volume_get(&in, i) / (most - least));
    for (int k = 0; k < iterations; k++)
        iterate(s, image, lambda);
    for (size_t i = 0; i < count; i++) {
        const double expected = (most - least) * log(image[i]);
        cr_expect(fabs(volume_get(&out, i) - expected) <= (most - least) * (precise ? 1e-13 : 2e-6),
                  "%s, boundary %d, voxel %zu: %.12g, not %.12g", chain, (int)s->boundary, i,
                  volume_get(&out, i), expected);
    }
    free(image);
    vf_volume_free(&in);
    vf_volume_free(&out);
}

Test(srad, formula)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int precise = 0; precise < 2; precise++) {
            struct stack image = {{23, 17, 1}, (enum vf_boundary)boundary, {0}, {23, 17, 1}};
            struct stack stack = {{14, 11, 5}, (enum vf_boundary)boundary, {0}, {14, 11, 5}};
            compare_formula("srad:iterations=1", &image, 1, 0.5, precise != 0);
            compare_formula("srad:iterations=6:lambda=0.9", &image, 6, 0.9, precise != 0);
            compare_formula("srad:iterations=4", &stack, 4, 0.5, precise != 0);
            image = (struct stack){{23, 17, 1}, (enum vf_boundary)boundary, {3, 2, 0}, {9, 8, 1}};
            compare_formula("srad:iterations=3:noise=6x6+3+2", &image, 3, 0.5, precise != 0);
            stack = (struct stack){{14, 11, 5}, (enum vf_boundary)boundary, {1, 2, 1}, {9, 9, 4}};
            compare_formula("srad:iterations=3:noise=8x7x3+1+2+1", &stack, 3, 0.5, precise != 0);
        }
}

/* ---- values that are known ---- */

static void expect_unchanged(const struct pipeline *p, const struct vf_volume *in)
{
    struct vf_volume out = pipeline_run(p, in, NULL);
    cr_expect_eq(memcmp(out.data, in->data, volume_size(in)), 0, "%s, boundary %d, of %g", p->chain,
                 (int)p->boundary, volume_get(in, 0));
    vf_volume_free(&out);
}

/* What is flat stays so, exactly, and so does everything where there is no noise in the noise box. */
Test(srad, flat)
{
    static const double values[] = {0, 77.3, -1e30, 1e-40};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        struct pipeline p = pipeline_reference("srad", 9, 7, 3, false);
        p.boundary = (enum vf_boundary)boundary;
        struct vf_volume in = pipeline_input(&p, 0);
        for (size_t v = 0; v < COUNT(values); v++) {
            for (size_t i = 0; i < volume_elements(&in); i++)
                volume_set(&in, i, values[v]);
            expect_unchanged(&p, &in);
        }
        p.chain = "srad:noise=3x7x3+0+0+0";
        for (size_t i = 0; i < volume_elements(&in); i++)
            volume_set(&in, i, i % 9 < 3 ? 4 : (double)(i % 5));
        expect_unchanged(&p, &in);
        vf_volume_free(&in);
    }
}

/* A factor and an offset of all values are those of the result: grey values are over their range. */
Test(srad, scale_and_offset)
{
    struct pipeline p = pipeline_reference("srad:iterations=4", 21, 13, 1, true);
    struct vf_volume in = pipeline_input(&p, 3), out = pipeline_run(&p, &in, NULL);
    for (size_t i = 0; i < volume_elements(&in); i++)
        volume_set(&in, i, 1e6 + 32 * volume_get(&in, i));
    struct vf_volume moved = pipeline_run(&p, &in, NULL);
    for (size_t i = 0; i < volume_elements(&in); i++) {
        const double expected = 1e6 + 32 * volume_get(&out, i);
        cr_expect(fabs(volume_get(&moved, i) - expected) <= 1e-8, "%.12g, not %.12g", volume_get(&moved, i),
                  expected);
    }
    vf_volume_free(&in);
    vf_volume_free(&out);
    vf_volume_free(&moved);
}

/* It goes two voxels far in an iteration, in its own slice, and counts in no value of the image. */
Test(srad, not_a_number)
{
    struct pipeline p = pipeline_reference("srad:iterations=1", 11, 11, 3, false);
    struct vf_volume in = pipeline_input(&p, 0);
    volume_set(&in, 121 + 5 * 11 + 5, NAN);
    double value[VF_MAX_GLOBALS];
    struct vf_volume out = pipeline_run(&p, &in, value);
    cr_expect(value[0] > 0 && value[1] > 0 && value[2] > 0);
    for (size_t i = 0; i < volume_elements(&out); i++) {
        const int x = abs((int)(i % 11) - 5), y = abs((int)(i / 11 % 11) - 5);
        const bool near = i / 121 == 1 && x + y <= 2, next = i / 121 == 1 && x + y <= 1;
        cr_expect(isnan(volume_get(&out, i)) ? near : !next, "voxel %zu: %g", i, volume_get(&out, i));
    }
    vf_volume_free(&in);
    vf_volume_free(&out);
}

/* ---- what it is for ---- */

/* The mean and the deviation of columns [from, to). */
static void describe(const struct vf_volume *v, size_t from, size_t to, double *mean, double *deviation)
{
    const size_t nx = v->shape.nx;
    double sum = 0, squares = 0, count = 0;
    for (size_t i = 0; i < volume_elements(v); i++)
        if (i % nx >= from && i % nx < to) {
            sum += volume_get(v, i);
            squares += volume_get(v, i) * volume_get(v, i);
            count++;
        }
    *mean = sum / count;
    *deviation = sqrt(squares / count - *mean * *mean);
}

/* Speckle of deviation 10 on both sides of a step of 100: a tenth of it is left, and the step. */
Test(srad, smooths_speckle_and_keeps_edges)
{
    struct pipeline p = pipeline_reference("srad:iterations=100:noise=24x64+2+0", 64, 64, 1, false);
    struct vf_volume in = pipeline_input(&p, 0);
    uint32_t state = 1;
    for (size_t i = 0; i < volume_elements(&in); i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            state = state * 1664525u + 1013904223u;
            sum += (double)(state >> 8) * 0x1p-24;
        }
        volume_set(&in, i, (i % 64 < 32 ? 60 : 160) + 10 * sum);
    }
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    double low, high, low_deviation, high_deviation, before, after, ignored;
    describe(&out, 4, 28, &low, &low_deviation);
    describe(&out, 36, 60, &high, &high_deviation);
    describe(&out, 31, 32, &before, &ignored);
    describe(&out, 32, 33, &after, &ignored);
    cr_log_info("deviations %g, %g of 10; the step %g of 100", low_deviation, high_deviation, after - before);
    cr_expect(low_deviation < 2 && high_deviation < 2, "%g, %g of 10 are left", low_deviation,
              high_deviation);
    cr_expect(after - before > 90 && high - low > 95, "%g, %g of 100 are left", after - before, high - low);
    vf_volume_free(&in);
    vf_volume_free(&out);
}
