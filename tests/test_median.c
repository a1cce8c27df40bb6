/* median: scipy's values, a sorted box, the proof of its exchanges, and what is not a number. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters/stencils/median_orders.h"
#include "pipeline.h"
#include "tables/ref_median.h"

static struct pipeline pipeline_of(int radius, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz, bool precise)
{
    static const char *const chain[] = {"median:radius=1", "median:radius=2", "median:radius=3"};
    return pipeline_reference(chain[radius - 1], nx, ny, nz, precise);
}

/* ---- tables ---- */

Test(median, scipy)
{
    for (size_t c = 0; c < COUNT(REF_MEDIAN); c++)
        for (int precise = 0; precise < 2; precise++) {
            const struct ref_median_case *t = &REF_MEDIAN[c];
            struct pipeline p = pipeline_of(t->radius, t->nx, t->ny, t->nz, precise != 0);
            p.boundary = boundary_named(t->boundary);
            p.constant = t->constant;
            struct vf_volume out = pipeline_run_ref_input(&p);
            for (int j = 0; j < t->count; j++)
                cr_expect_eq(volume_get(&out, (size_t)t->at[j]), t->expected[j],
                             "radius %d, %dD, %s: voxel %d is %g, not %g", t->radius, t->nz > 1 ? 3 : 2,
                             t->boundary, t->at[j], volume_get(&out, (size_t)t->at[j]), t->expected[j]);
            vf_volume_free(&out);
        }
}

/* ---- a sorted box ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the voxel at (x, y, z): the middle of its box once sorted, NaN if one is. */
static double expected_at(const struct pipeline *p, const struct vf_volume *in, int radius, ptrdiff_t x,
                          ptrdiff_t y, ptrdiff_t z)
{
    const int depth = p->nz > 1 ? radius : 0;
    double box[125];
    int n = 0;
    for (int k = -depth; k <= depth; k++)
        for (int j = -radius; j <= radius; j++)
            for (int i = -radius; i <= radius; i++) {
                const ptrdiff_t at_z = vf_boundary_index(p->boundary, z + k, p->nz),
                                at_y = vf_boundary_index(p->boundary, y + j, p->ny),
                                at_x = vf_boundary_index(p->boundary, x + i, p->nx);
                const bool outside = at_z < 0 || at_y < 0 || at_x < 0;
                box[n] =
                    outside ? p->constant : volume_get(in, (size_t)((at_z * p->ny + at_y) * p->nx + at_x));
                if (isnan(box[n]))
                    return box[n];
                n++;
            }
    qsort(box, (size_t)n, sizeof *box, by_value);
    return box[n / 2];
}

static void expect_sorted_boxes(const struct pipeline *p, const struct vf_volume *in, int radius)
{
    struct vf_volume out = pipeline_run(p, in, NULL);
    for (ptrdiff_t i = 0; i < p->nx * p->ny * p->nz; i++) {
        const double value = volume_get(&out, (size_t)i);
        const double expected = expected_at(p, in, radius, i % p->nx, i / p->nx % p->ny, i / p->nx / p->ny);
        cr_assert((isnan(expected) && isnan(value)) || (value == expected && (value != 0 || !signbit(value))),
                  "%s, %tdx%tdx%td, boundary %d: voxel %td is %g, not %g", p->chain, p->nx, p->ny, p->nz,
                  (int)p->boundary, i, value, expected);
    }
    vf_volume_free(&out);
}

/* Few different values, both zeros and infinities among them: ties wherever a box is; rarely a NaN. */
static void fill_with_ties(const struct vf_volume *in, unsigned seed)
{
    static const double some[] = {0, -0.0, 1, -1, 0x1p-140, -0x1p-140, 3e38, -3e38};
    uint32_t state = 88172645u + seed;
    for (size_t i = 0; i < volume_elements(in); i++) {
        state = state * 1664525u + 1013904223u;
        const unsigned which = state >> 23;
        volume_set(in, i,
                   which < 2                ? (which == 0 ? INFINITY : -INFINITY)
                   : which == 3 && seed % 2 ? NAN
                                            : some[which % 8]);
    }
}

Test(median, sorted_boxes)
{
    static const ptrdiff_t shapes[][3] = {{1, 1, 2}, {2, 1, 3}, {3, 4, 2}, {9, 7, 5}, {17, 4, 6},
                                          {1, 1, 1}, {5, 1, 1}, {1, 6, 1}, {7, 4, 1}, {31, 9, 1}};
    unsigned seed = 0;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int radius = 1; radius <= (shapes[s][2] > 1 ? 2 : 3); radius++)
            for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
                for (int precise = 0; precise < 2; precise++) {
                    struct pipeline p =
                        pipeline_of(radius, shapes[s][0], shapes[s][1], shapes[s][2], precise != 0);
                    p.boundary = (enum vf_boundary)b;
                    struct vf_volume in = pipeline_input(&p, seed);
                    expect_sorted_boxes(&p, &in, radius);
                    fill_with_ties(&in, seed++);
                    expect_sorted_boxes(&p, &in, radius);
                    vf_volume_free(&in);
                }
}

/* ---- what it keeps and what it removes ---- */

/* A step is where it was, an outlier is gone; the type stays. */
Test(median, edges_and_outliers)
{
    for (int radius = 1; radius <= 2; radius++) {
        struct pipeline p = pipeline_of(radius, 20, 12, 9, false);
        p.type = p.result_type = VF_U8;
        struct vf_volume in = pipeline_input(&p, 0);
        uint8_t *voxel = in.data;
        for (int i = 0; i < 20 * 12 * 9; i++)
            voxel[i] = i % 20 < 8 ? 17 : 200;
        struct vf_volume flawless = pipeline_run(&p, &in, NULL);
        cr_assert_eq(memcmp(flawless.data, voxel, 20 * 12 * 9), 0, "a step has moved");
        voxel[(4 * 12 + 6) * 20 + 3] = 255;
        voxel[(4 * 12 + 6) * 20 + 15] = 0;
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        cr_expect_eq(memcmp(out.data, flawless.data, 20 * 12 * 9), 0, "an outlier is left");
        vf_volume_free(&in);
        vf_volume_free(&out);
        vf_volume_free(&flawless);
    }
}

/* ---- the exchanges ---- */

/* By the zero-one principle exchanges sort, or select, if they do so for all zeros and ones. 64 cases at a
 * time: bit c of value[i] is the value of case c at i. */
static uint64_t value[125];

static void order(int i, int j)
{
    const uint64_t both = value[i] & value[j], any = value[i] | value[j];
    value[i] = both;
    value[j] = any;
}

/* Places 0 to 5 take all combinations within a word, the others are bits of its number. */
static void expect_sorted(int n, void (*sort)(void))
{
    static const uint64_t within[] = {0xaaaaaaaaaaaaaaaau, 0xccccccccccccccccu, 0xf0f0f0f0f0f0f0f0u,
                                      0xff00ff00ff00ff00u, 0xffff0000ffff0000u, 0xffffffff00000000u};
    for (uint32_t word = 0; word < (n > 6 ? UINT32_C(1) << (n - 6) : 1); word++) {
        for (int i = 0; i < n; i++)
            value[i] = i < 6 ? within[i] : -(uint64_t)(word >> (i - 6) & 1);
        sort();
        for (int i = 1; i < n; i++)
            cr_assert_eq(value[i - 1] & ~value[i], 0, "%d values are not sorted", n);
    }
}

static void sort_3(void)
{
    VF_SORT_3(order);
}

static void sort_5(void)
{
    VF_SORT_5(order);
}

static void sort_7(void)
{
    VF_SORT_7(order);
}

static void sort_9(void)
{
    VF_SORT_9(order);
}

static void sort_25(void)
{
    VF_SORT_25(order);
}

Test(median, sorting)
{
    expect_sorted(3, sort_3);
    expect_sorted(5, sort_5);
    expect_sorted(7, sort_7);
    expect_sorted(9, sort_9);
    expect_sorted(25, sort_25);
}

/* Tables of zeros and ones that are sorted both ways, collected until they fill a word. */
struct tables {
    int columns, ranks, waiting, ones[64];
    void (*select)(void);
};

static void expect_middle(struct tables *t)
{
    t->select();
    const uint64_t middle = value[t->columns * t->ranks / 2];
    for (int c = 0; c < t->waiting; c++)
        cr_assert_eq(middle >> c & 1, t->ones[c] > t->columns * t->ranks / 2, "%d columns of %d: %d ones",
                     t->columns, t->ranks, t->ones[c]);
    t->waiting = 0;
    memset(value, 0, sizeof value);
}

/* All tables whose columns up to `column` are those of zeros[], the next having no more zeros. */
static void each_table(struct tables *t, int column, int zeros[])
{
    if (column < t->columns) {
        for (zeros[column] = 0; zeros[column] <= (column == 0 ? t->ranks : zeros[column - 1]);
             zeros[column]++)
            each_table(t, column + 1, zeros);
        return;
    }
    t->ones[t->waiting] = 0;
    for (int c = 0; c < t->columns; c++)
        for (int rank = zeros[c]; rank < t->ranks; rank++, t->ones[t->waiting]++)
            value[c * t->ranks + rank] |= UINT64_C(1) << t->waiting;
    if (++t->waiting == 64)
        expect_middle(t);
}

static void expect_selected(int columns, int ranks, void (*select)(void))
{
    struct tables t = {.columns = columns, .ranks = ranks, .select = select};
    int zeros[8];
    memset(value, 0, sizeof value);
    each_table(&t, 0, zeros);
    expect_middle(&t);
}

static void middle_3_3(void)
{
    VF_MIDDLE_3_3(order);
}

static void middle_3_9(void)
{
    VF_MIDDLE_3_9(order);
}

static void middle_5_5(void)
{
    VF_MIDDLE_5_5(order);
}

static void middle_7_7(void)
{
    VF_MIDDLE_7_7(order);
}

static void middle_5_25(void)
{
    VF_MIDDLE_5_25(order);
}

Test(median, selecting)
{
    expect_selected(3, 3, middle_3_3);
    expect_selected(3, 9, middle_3_9);
    expect_selected(5, 5, middle_5_5);
    expect_selected(7, 7, middle_7_7);
    expect_selected(5, 25, middle_5_25);
}
