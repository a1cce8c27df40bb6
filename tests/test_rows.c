/* Rows that are made side by side are the same in every place of a sink, also in those that are for other
 * processors; sums of a plane are what sums along x and then across rows are. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/boundary.h"
#include "kernels/cpu_rows.h"
#include "pipeline.h"
#include "random.h"
#include "src/alloc.h"

enum {
    CELLS = 640, /* of floats two strips and a part of one */
    /* with what is read before and after the row */
    ROW_BYTES = (CELLS + 64) * (int)sizeof(double),
    TAPS = 9,
    SPANS = 4
};

static const enum vf_row_place places[] = {VF_ROW_IN_SINK, VF_ROW_PAST_CACHES, VF_ROW_BY_STRIPS};

/* [VF_BODY_ROWS] rows that are read, and [VF_ROW_BLOCK] rows that are made. */
struct side_by_side {
    const struct vf_rows *rows;
    const struct vf_row_bodies *bodies; /* of one dimension */
    char *source, *result;
    const void *in[VF_BODY_ROWS];
    void *out[VF_ROW_BLOCK];
    double weight[2 * VF_TABLE_ROWS]; /* of the rows' type */
};

/* Makes the first `count` results, of n cells. */
typedef void make_rows(const struct side_by_side *s, int count, ptrdiff_t n, enum vf_row_place place);

static void make_lines(const struct side_by_side *s, int count, ptrdiff_t n, enum vf_row_place place)
{
    s->rows->lines(s->in, 0, s->weight, TAPS, s->out, 0, count, n, place, false);
}

static void make_table(const struct side_by_side *s, int count, ptrdiff_t n, enum vf_row_place place)
{
    const struct vf_table_span span[SPANS] = {{.row = 0, .dx = -1, .count = 3, .from = 0, .to = 1},
                                              {.row = 1, .dx = 0, .count = 2, .from = 0, .to = 4},
                                              {.row = 2, .dx = 0, .count = 5, .from = 1, .to = 6},
                                              {.row = 3, .dx = 2, .count = 1, .from = 0, .to = 6}};
    s->rows->table(s->in, span, SPANS, s->weight, s->out, 0, count, n, place);
}

/* What make_body makes all results of. */
static enum vf_stencil_id body;

static void make_body(const struct side_by_side *s, int count, ptrdiff_t n, enum vf_row_place place)
{
    (void)count;
    static const double param[VF_MAX_STENCIL_PARAMS] = {0.5, 0.25, 0.125, 0.75, 0.375};
    void *const *const kept = &s->out[VF_MAX_OUTPUTS];
    s->bodies->body[body](&(struct vf_body_row){
        .in = s->in,
        .out = s->out,
        .place = place,
        .param = param,
        .n = n,
        .gates = {.open_lo = {1, 1, 1}, .open_hi = {1, 1, 1}, .closed_lo_x = -1, .closed_hi_x = -1},
        .face = {(char *)kept[0] + VF_ROW_READ_BEFORE, kept[1], kept[2]}});
}

static struct side_by_side open_rows(enum vf_type type)
{
    struct side_by_side s = {.rows = vf_rows_choose(type),
                             .source = aligned_alloc(VF_ALIGNMENT, (size_t)VF_BODY_ROWS * ROW_BYTES),
                             .result = aligned_alloc(VF_ALIGNMENT, (size_t)VF_ROW_BLOCK * ROW_BYTES)};
    cr_assert(s.source != NULL && s.result != NULL);
    const size_t cells = (size_t)VF_BODY_ROWS * ROW_BYTES / vf_type_size(type);
    for (size_t i = 0; i < cells; i++)
        if (type == VF_F32)
            ((float *)(void *)s.source)[i] = i == 100 ? -nanf("0x123") : (float)random_unit();
        else
            ((double *)(void *)s.source)[i] = i == 100 ? -nan("0x123") : random_unit();
    memcpy(s.weight, s.source + ROW_BYTES, sizeof s.weight);
    for (int i = 0; i < VF_BODY_ROWS; i++)
        s.in[i] = s.source + (size_t)i * ROW_BYTES + 2 * VF_ROW_READ_BEFORE;
    for (int k = 0; k < VF_ROW_BLOCK; k++)
        s.out[k] = s.result + (size_t)k * ROW_BYTES;
    return s;
}

static void close_rows(struct side_by_side *s)
{
    free(s->source);
    free(s->result);
}

/* All bytes of the first `count` results, and of what lies behind each, are the same in every place. */
static void expect_same(const struct side_by_side *s, enum vf_type type, make_rows *make, int count,
                        const char *what)
{
    const size_t bytes = (size_t)count * ROW_BYTES;
    const ptrdiff_t line = (ptrdiff_t)(VF_ALIGNMENT / vf_type_size(type));
    char *expected = malloc(bytes);
    for (ptrdiff_t n = line; n <= CELLS; n += n < 4 * line ? line : 4 * line)
        for (size_t p = 0; p < COUNT(places); p++) {
            memset(s->result, 0xa5, (size_t)VF_ROW_BLOCK * ROW_BYTES);
            make(s, count, n, places[p]);
            if (p == 0)
                memcpy(expected, s->result, bytes);
            cr_assert_eq(memcmp(s->result, expected, bytes), 0, "%s, %s, %s: %d rows of %td cells, place %d",
                         what, vf_type_name(type), s->rows->level, count, n, (int)places[p]);
        }
    free(expected);
}

static void check_bodies(struct side_by_side *s, int dim, enum vf_type type)
{
    char what[80];
    s->bodies = vf_row_bodies_choose(dim, type);
    for (int id = VF_STENCIL_EXTERNAL + 1; id < VF_STENCIL_COUNT; id++)
        if (s->bodies->body[id] != NULL && vf_stencil((enum vf_stencil_id)id)->inputs[dim - 2] > 0) {
            body = (enum vf_stencil_id)id;
            snprintf(what, sizeof what, "%s, %dD", vf_stencil(body)->name, dim);
            expect_same(s, type, make_body, vf_stencil(body)->outputs[dim - 2], what);
        }
}

static void check_rows(enum vf_type type)
{
    struct side_by_side s = open_rows(type);
    for (int count = 1; count <= VF_ROW_BLOCK; count++)
        expect_same(&s, type, make_lines, count, "lines");
    for (int count = 1; count <= VF_TABLE_ROWS; count++)
        expect_same(&s, type, make_table, count, "table");
    check_bodies(&s, 2, type);
    check_bodies(&s, 3, type);
    close_rows(&s);
}

Test(rows, are_the_same_in_every_place)
{
    for (int level = -1; next_vector_level(&level);)
        for (enum vf_type type = VF_F32; type <= VF_F64; type++)
            check_rows(type);
}

/* ---- planes ---- */

enum { MOST_PLANE_ROWS = 20, MOST_PLANE_CELLS = 200, PLANE_BESIDE = 64, PLANE_GAP = 3 };

/* Rows of n cells of a plane, beside which nothing may be read. */
struct plane {
    enum vf_type type;
    const struct vf_rows *rows;
    int taps;
    ptrdiff_t n;
    char *row[MOST_PLANE_ROWS];
    double weight[2][VF_PLANE_TAPS]; /* of the rows' type: along x, across rows */
    struct vf_plane_ends ends;
};

static void set_cell(enum vf_type type, void *row, ptrdiff_t i, double value)
{
    if (type == VF_F32)
        ((float *)row)[i] = (float)value;
    else
        ((double *)row)[i] = value;
}

/* A page for each row, at whose end or, every other one, at whose beginning the row is, between pages that
 * cannot be read. */
static char *place_of_row(int j, size_t bytes)
{
    static char *pages;
    const size_t page = 4096;
    if (pages == NULL) {
        pages = mmap(NULL, (2 * MOST_PLANE_ROWS + 1) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(pages, MAP_FAILED);
        for (size_t k = 0; k < MOST_PLANE_ROWS; k++)
            cr_assert_eq(mprotect(pages + (2 * k + 1) * page, page, PROT_READ | PROT_WRITE), 0);
    }
    return pages + (size_t)(2 * j + 1) * page + (j % 2 == 0 ? page - bytes : 0);
}

static struct plane open_plane(enum vf_type type, int taps, ptrdiff_t n, ptrdiff_t count,
                               enum vf_boundary boundary)
{
    struct plane p = {
        .type = type, .rows = vf_rows_choose(type), .taps = taps, .n = n, .ends.wraps = boundary == VF_WRAP};
    const size_t size = vf_type_size(type);
    const ptrdiff_t lanes = VF_ALIGNMENT / (ptrdiff_t)size, last = n - lanes;
    for (int j = 0; j < count + taps - 1; j++) {
        p.row[j] = place_of_row(j, (size_t)n * size);
        for (ptrdiff_t i = 0; i < n; i++)
            set_cell(type, p.row[j], i, random_unit() - 0.5);
    }
    set_cell(type, p.row[0], n - 1, NAN);
    for (int k = 0; k < 2 * VF_PLANE_TAPS; k++)
        set_cell(type, p.weight[k / VF_PLANE_TAPS], k % VF_PLANE_TAPS, random_unit() - 0.25);
    for (int i = 0; i < taps / 2; i++) {
        const ptrdiff_t before = vf_boundary_index(boundary, -1 - i, n);
        const ptrdiff_t after = vf_boundary_index(boundary, n + i, n);
        p.ends.before[lanes - 1 - i] = (int)(before - (p.ends.wraps ? last : 0));
        p.ends.after[i] = (int)(after - (p.ends.wraps ? 0 : last));
    }
    return p;
}

/* Row k of the result in two steps, with cells beside the rows as the boundary says. */
static void sum_in_steps(const struct plane *p, enum vf_boundary boundary, ptrdiff_t k, char *result)
{
    static _Alignas(VF_ALIGNMENT) double beside[MOST_PLANE_CELLS + 2 * PLANE_BESIDE];
    static _Alignas(VF_ALIGNMENT) double along[VF_PLANE_TAPS][MOST_PLANE_CELLS + 2 * PLANE_BESIDE];
    const size_t size = vf_type_size(p->type);
    const struct vf_row_ahead none = {.row = NULL};
    const void *in[VF_PLANE_TAPS];
    void *out[1] = {result};
    for (int j = 0; j < p->taps; j++) {
        char *row = (char *)beside + PLANE_BESIDE * size;
        for (ptrdiff_t i = -p->taps / 2; i < p->n + p->taps / 2; i++)
            memcpy(row + i * (ptrdiff_t)size,
                   p->row[k + j] + (size_t)vf_boundary_index(boundary, i, p->n) * size, size);
        in[j] = along[j];
        p->rows->along(row - (size_t)(p->taps / 2) * size, p->weight[0], p->taps, along[j], p->n, &none);
    }
    p->rows->lines(in, 0, p->weight[1], p->taps, out, 0, 1, p->n, VF_ROW_IN_RING, false);
}

static void check_plane(enum vf_type type, int taps, ptrdiff_t n, ptrdiff_t count, enum vf_boundary boundary)
{
    static _Alignas(VF_ALIGNMENT) double expected[MOST_PLANE_CELLS + PLANE_BESIDE];
    struct plane p = open_plane(type, taps, n, count, boundary);
    const size_t size = vf_type_size(type), pitch = (size_t)(n + PLANE_GAP) * size;
    char *result = malloc((size_t)count * pitch), untouched[PLANE_GAP * sizeof(double)];
    const struct vf_plane_ahead ahead = {p.row[0], 0, count};
    cr_assert_not_null(result);
    memset(result, 0xa5, (size_t)count * pitch);
    memset(untouched, 0xa5, sizeof untouched);
    vf_row_plane(p.rows, taps)((const void *const *)p.row, &p.ends, p.weight[0], p.weight[1], result,
                               (ptrdiff_t)pitch, count, n, &ahead);
    for (ptrdiff_t k = 0; k < count; k++) {
        sum_in_steps(&p, boundary, k, (char *)expected);
        cr_expect_eq(memcmp(result + (size_t)k * pitch, expected, (size_t)n * size), 0,
                     "%s, %s: row %td of %td, %td cells, %d weights, boundary %d", p.rows->level,
                     vf_type_name(type), k, count, n, taps, (int)boundary);
        cr_expect_eq(memcmp(result + (size_t)k * pitch + (size_t)n * size, untouched, PLANE_GAP * size), 0);
    }
    free(result);
}

/* Of one type and level: widths that are whole vectors, from two on, and others, from three on. */
static void check_planes(enum vf_type type)
{
    static const ptrdiff_t counts[] = {1, 2, 7};
    const ptrdiff_t lanes = VF_ALIGNMENT / (ptrdiff_t)vf_type_size(type);
    for (int taps = 3; taps <= VF_PLANE_TAPS && vf_row_plane(vf_rows_choose(type), taps) != NULL; taps += 2)
        for (ptrdiff_t n = 2 * lanes; n < 6 * lanes; n += n < 3 * lanes ? lanes : lanes / 4 + 1)
            for (size_t c = 0; c < COUNT(counts); c++)
                for (enum vf_boundary b = 0; b < VF_BOUNDARY_COUNT; b++)
                    if (b != VF_CONSTANT)
                        check_plane(type, taps, n, counts[c], b);
}

Test(rows, sums_of_planes)
{
    for (int level = -1; next_vector_level(&level);)
        for (enum vf_type type = VF_F32; type <= VF_F64; type++)
            check_planes(type);
    const struct vf_rows *rows = vf_rows_choose(VF_F32);
    cr_expect_null(vf_row_plane(rows, 1));
    cr_expect_null(vf_row_plane(rows, VF_PLANE_TAPS + 2));
}
