/* Rows that are made side by side are the same in every place of a sink, also in those that are for other
 * processors. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
