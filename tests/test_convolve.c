/* convolve: scipy's values, which voxels a weight reads, and what goes with what. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io_samples.h"
#include "pipeline.h"
#include "tables/ref_convolve.h"

/* ---- tables ---- */

static double case_error(const struct ref_convolve_case *t, bool precise)
{
    char chain[200];
    snprintf(chain, sizeof chain, "convolve:tests/weights/%s:flip=%s", t->weights, t->flip);
    struct pipeline p = pipeline_reference(chain, t->nx, t->ny, t->nz, precise);
    p.boundary = boundary_named(t->boundary);
    p.constant = t->constant;
    struct vf_volume out = pipeline_run_ref_input(&p);
    const double most = volume_error(&out, 0, t->at, t->expected, (size_t)t->count);
    vf_volume_free(&out);
    return most;
}

Test(convolve, scipy)
{
    /* The sum of weights times the largest |ref_input|, roughly. */
    const double most = 20 * 150.0;
    for (size_t c = 0; c < COUNT(REF_CONVOLVE); c++)
        for (int precise = 0; precise < 2; precise++) {
            const double error = case_error(&REF_CONVOLVE[c], precise != 0);
            cr_expect(error <= (precise ? 1e-14 : 1e-6) * most, "case %zu, %s: off by %g", c,
                      precise ? "double" : "float", error);
        }
}

/* ---- weights in a file of a test's own ---- */

TestSuite(convolve, .init = samples_begin, .fini = samples_end);

/* The file's path. */
static const char *write_weights(const char *text)
{
    const char *path = sample_path("weights.txt");
    sample_put(path, text, strlen(text));
    return path;
}

/* The chain on a volume of zeros, but for `value` at x, y, z. */
static struct vf_volume answer(struct pipeline p, ptrdiff_t x, ptrdiff_t y, ptrdiff_t z, double value)
{
    struct vf_volume in = pipeline_input(&p, 0);
    memset(in.data, 0, volume_size(&in));
    volume_set(&in, (size_t)((z * p.ny + y) * p.nx + x), value);
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    vf_volume_free(&in);
    return out;
}

static double at(const struct pipeline *p, const struct vf_volume *v, ptrdiff_t x, ptrdiff_t y, ptrdiff_t z)
{
    return volume_get(v, (size_t)((z * p->ny + y) * p->nx + x));
}

/* A point becomes the weights as they are written, which is what convolution means; as they lie on the image
 * they give the point turned about its centre. */
Test(convolve, a_point_becomes_the_weights)
{
    static const char *const schemes[] = {"reference", "row-stream"};
    char chain[200];
    const char *const path = write_weights(
        "1 2 3\n4 5 6\n7 8 9\n\n0 20 30\n40 0 60\n70 80 0\n\n100 200 300\n400 500 600\n700 800 900\n");
    for (int flips = 0; flips < 2; flips++)
        for (int s = 0; s < 2; s++) {
            snprintf(chain, sizeof chain, "convolve:file=%s:flip=%s", path, flips ? "yes" : "no");
            struct pipeline p = pipeline_reference(chain, 7, 6, 5, false);
            p.scheme = schemes[s];
            struct vf_volume out = answer(p, 3, 3, 2, 1);
            const int sign = flips ? 1 : -1;
            cr_expect_eq(at(&p, &out, 3 - sign, 3 - sign, 2 - sign), 1);
            cr_expect_eq(at(&p, &out, 3 + sign, 3 - sign, 2 - sign), 3);
            cr_expect_eq(at(&p, &out, 3, 3 - sign, 2), 20);
            cr_expect_eq(at(&p, &out, 3, 3, 2), 0);
            cr_expect_eq(at(&p, &out, 3 - sign, 3 + sign, 2 + sign), 700);
            cr_expect_eq(at(&p, &out, 3 + sign, 3 + sign, 2 + sign), 900);
            cr_expect_eq(at(&p, &out, 0, 0, 0), 0);
            vf_volume_free(&out);
        }
}

/* NaN and infinities spread to where a weight reads them and no farther: a weight of 0 reads nothing. */
Test(convolve, what_a_weight_of_0_reads)
{
    static const char *const schemes[] = {"reference", "row-stream", "row-stream:tile=5x2x2"};
    static const double values[] = {NAN, INFINITY};
    char chain[200];
    snprintf(chain, sizeof chain, "convolve:%s:flip=no",
             write_weights("0 1 0 2 0\n0 -0 0 0.0 3\n0 0 0 0e5 0\n"));
    for (size_t s = 0; s < COUNT(schemes); s++)
        for (int v = 0; v < 2; v++)
            for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
                struct pipeline p = pipeline_reference(chain, 23, 9, nz, false);
                p.scheme = schemes[s];
                struct vf_volume out = answer(p, 10, 4, nz / 2, values[v]);
                for (ptrdiff_t z = 0; z < nz; z++)
                    for (ptrdiff_t y = 0; y < 9; y++)
                        for (ptrdiff_t x = 0; x < 23; x++) {
                            const bool reads =
                                z == nz / 2 && ((y == 5 && (x == 11 || x == 9)) || (y == 4 && x == 8));
                            const double got = at(&p, &out, x, y, z);
                            cr_expect(reads ? !isfinite(got) : got == 0, "%s: %td, %td, %td: %g", schemes[s],
                                      x, y, z, got);
                        }
                vf_volume_free(&out);
            }
}

/* What is flat stays so, and a derivative of it is 0; sums of small whole numbers are exact. */
Test(convolve, flat)
{
    static const struct {
        const char *text;
        double sum;
    } cases[] = {{"-1 -2 -1\n0 0 0\n1 2 1\n", 0}, {"-2 -1 0\n-1 1 1\n0 1 2\n", 1}, {"4", 4}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        char chain[200];
        snprintf(chain, sizeof chain, "convolve:%s", write_weights(cases[c].text));
        struct pipeline p = pipeline_reference(chain, 19, 8, 3, false);
        p.scheme = NULL;
        struct vf_volume in = pipeline_input(&p, 0);
        for (size_t i = 0; i < volume_elements(&in); i++)
            volume_set(&in, i, 7);
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (size_t i = 0; i < volume_elements(&out); i++)
            cr_assert_eq(volume_get(&out, i), 7 * cases[c].sum, "%s: %zu", cases[c].text, i);
        vf_volume_free(&in);
        vf_volume_free(&out);
    }
}

/* Under `wrap`, planes that a lone weight brings from far away, on axes shorter than its reach. */
Test(convolve, reaches_beyond_the_grid)
{
    char chain[200], row[200] = "1";
    for (int i = 0; i < 20; i++)
        strcat(row, " 0");
    snprintf(chain, sizeof chain, "convolve:%s:flip=no", write_weights(row));
    for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
        for (ptrdiff_t nx = 1; nx < 24; nx += 2) {
            struct pipeline p = pipeline_reference(chain, nx, 3, 2, false);
            p.boundary = (enum vf_boundary)b;
            struct vf_volume in = pipeline_input(&p, 3);
            struct vf_volume out = pipeline_run(&p, &in, NULL);
            p.scheme = "row-stream:tile=4x2x1";
            struct vf_volume tiled = pipeline_run(&p, &in, NULL);
            const ptrdiff_t from = vf_boundary_index((enum vf_boundary)b, nx - 1 - 10, nx);
            cr_expect_eq(at(&p, &out, nx - 1, 1, 1), from < 0 ? 31 : at(&p, &in, from, 1, 1));
            cr_expect_eq(memcmp(out.data, tiled.data, volume_size(&out)), 0);
            vf_volume_free(&in);
            vf_volume_free(&out);
            vf_volume_free(&tiled);
        }
}

/* ---- what does not go together ---- */

static void expect_refused(const char *text, bool flat, bool slices, bool precise, const char *piece)
{
    char chain[200];
    snprintf(chain, sizeof chain, "convolve:%s", write_weights(text));
    struct pipeline p = pipeline_reference(chain, 9, 8, flat ? 1 : 4, precise);
    p.slices = slices;
    pipeline_expect_usage(&p, piece);
}

Test(convolve, planes_of_weights_need_a_stack)
{
    expect_refused("1\n\n2\n\n3\n", true, false, false,
                   "has 3 planes of weights (blank lines separate planes)");
    expect_refused("1\n\n2\n\n3\n", false, true, false, "or with --slices, give one plane");
    expect_refused("1\n\n2\n\n3\n", false, false, false, NULL);
    expect_refused("1 2 3\n", false, true, false, NULL);
}

Test(convolve, weights_are_numbers_of_the_compute_type)
{
    expect_refused("1e39", true, false, false, "the weight 1e+39 does not fit in float32");
    expect_refused("1e39", true, false, true, NULL);
    expect_refused("1e-50", true, false, false, "all weights round to 0 in float32");
    expect_refused("1e-50", true, false, true, NULL);
    expect_refused("1e-50 1 0", true, false, false, NULL);
}
