/* separable-stream: chains of lines, whole and in part; the bits of one stage after the other. */
#include <criterion/criterion.h>

#include "flow_case.h"

static const char *const volume_schemes[][2] = {
    {"separable-stream:block=16x4x1:work=2x1x1:stream=5", NULL},
    {"separable-stream:block=32x2x1:work=2x2x1:stream=4:grid=flat", NULL},
};
static const char *const image_schemes[][2] = {
    {"separable-stream:block=32x1x1:work=2x1x1:stream=5:virtual=1", NULL},
    {"separable-stream:block=96x1x1:work=2x1x1:stream=64", NULL},
};

/* Rows of every plane are streamed where there is no line along z. Each grid is a kernel of its own: the
 * schemes take turns, so that each meets every grid under some boundary. */
static void check(struct flow_case *c, bool flat)
{
    static const int volumes[][3] = {{1, 1, 2}, {3, 2, 5}, {32, 16, 9}, {131, 9, 11}};
    static const int images[][3] = {{1, 3, 2}, {192, 11, 1}, {131, 6, 3}};
    if (c->flow.dim == 2) {
        for (size_t i = 0; i < sizeof images / sizeof *images; i++)
            flow_case_check(c, image_schemes[(i + (size_t)c->flow.boundary) % 2], images[i][0], images[i][1],
                            images[i][2], 0, 1);
        return;
    }
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++)
        flow_case_check_grid(c, (flat ? image_schemes : volume_schemes)[(i + (size_t)c->flow.boundary) % 2],
                             volumes[i]);
}

/* A chain of the axes with a radius, over `fields` fields. */
static void open_chain(struct flow_case *c, int x, int y, int z, int dim, int fields,
                       enum vf_boundary boundary, bool precise)
{
    flow_case_open(c, dim, precise, boundary);
    int field = flow_case_sources(c, fields);
    if (x > 0)
        field = flow_case_linear(c, TAPS_X, (int[]){0, 0, x}, field, fields);
    if (y > 0)
        field = flow_case_linear(c, TAPS_Y, (int[]){0, y, 0}, field, fields);
    /* Between stages the constant is that of the field's kind. */
    c->kind[field] = VF_FIELD_DERIVED;
    if (z > 0)
        field = flow_case_linear(c, TAPS_Z, (int[]){z, 0, 0}, field, fields);
    flow_case_sinks(c, field, fields);
    if (!precise)
        for (int k = 0; k < fields; k++)
            c->source_type[k] = VF_U16;
}

static void check_chain(int x, int y, int z, int dim, int fields, enum vf_boundary boundary, bool precise)
{
    struct flow_case c;
    open_chain(&c, x, y, z, dim, fields, boundary, precise);
    check(&c, z == 0);
    flow_case_close(&c);
}

Test(separable_stream, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        check_chain(2, 3, 2, 3, 1, (enum vf_boundary)boundary, false);
        check_chain(5, 2, 0, 2, 1, (enum vf_boundary)boundary, false);
    }
}

Test(separable_stream, parts_of_a_chain)
{
    check_chain(4, 4, 0, 3, 1, VF_REFLECT, false);
    check_chain(0, 1, 3, 3, 1, VF_CONSTANT, false);
    check_chain(6, 3, 0, 3, 1, VF_CONSTANT, false);
}

/* The first tile reaches both ends of a row and is not the only one. */
Test(separable_stream, rows_that_end_within_the_halo_of_a_tile)
{
    struct flow_case c;
    open_chain(&c, 8, 1, 1, 3, 1, VF_NEAREST, false);
    flow_case_check(&c, volume_schemes[0], 39, 4, 3, 0, 3);
    flow_case_check(&c, volume_schemes[1], 71, 4, 3, 0, 3);
    flow_case_close(&c);
    open_chain(&c, 8, 1, 0, 2, 1, VF_MIRROR, false);
    for (int i = 0; i < 2; i++)
        flow_case_check(&c, image_schemes[i], 71, 9, 1, 0, 1);
    flow_case_close(&c);
}

/* A row's last pack lies around the end of a tile of 32 cells, or of its halo of 3. */
Test(separable_stream, rows_that_no_pack_divides)
{
    static const int width[] = {35, 37, 65, 66, 67, 70};
    for (int precise = 0; precise < 2; precise++) {
        struct flow_case c;
        open_chain(&c, 3, 1, 1, 3, 1, precise ? VF_CONSTANT : VF_MIRROR, precise);
        for (size_t i = 0; i < sizeof width / sizeof *width; i++)
            flow_case_check(&c, volume_schemes[0], width[i], 3, 3, 0, 3);
        flow_case_close(&c);
    }
}

Test(separable_stream, many_fields_in_double)
{
    check_chain(1, 2, 1, 3, 3, VF_MIRROR, true);
    check_chain(3, 1, 0, 2, 2, VF_NEAREST, true);
}

/* A body of a chain's result and of the field that it began with, or of another one, of another type. */
static void check_body(enum vf_stencil_id stencil, bool of_another, int x, int z, int dim,
                       enum vf_boundary boundary, bool precise)
{
    struct flow_case c;
    flow_case_open(&c, dim, precise, boundary);
    const int first = flow_case_sources(&c, of_another ? 2 : 1);
    int made = first;
    if (x > 0)
        made = flow_case_linear(&c, TAPS_X, (int[]){0, 0, x}, made, 1);
    made = flow_case_linear(&c, TAPS_Y, (int[]){0, 2, 0}, made, 1);
    if (z > 0)
        made = flow_case_linear(&c, TAPS_Z, (int[]){z, 0, 0}, made, 1);
    const int result = flow_case_body(&c, stencil, made - 1);
    struct vf_stage *body = &c.stage[c.flow.stage_count - 1];
    body->input[0] = of_another ? first + 1 : first;
    body->input[1] = made;
    flow_case_sinks(&c, result, 1);
    if (!precise) {
        c.source_type[0] = VF_U8;
        c.source_type[1] = VF_I16;
        c.sink_type[0] = VF_U16;
    }
    check(&c, z == 0);
    flow_case_close(&c);
}

Test(separable_stream, body_of_a_chain)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        check_body(VF_STENCIL_unsharp, false, 3, 2, 3, (enum vf_boundary)boundary, false);
        check_body(VF_STENCIL_minus, true, 3, 0, 2, (enum vf_boundary)boundary, boundary == VF_WRAP);
    }
    check_body(VF_STENCIL_minus, true, 0, 2, 3, VF_CONSTANT, false);
    check_body(VF_STENCIL_minus, true, 2, 1, 3, VF_NEAREST, true);
    check_body(VF_STENCIL_unsharp, false, 4, 0, 3, VF_MIRROR, false);
}
