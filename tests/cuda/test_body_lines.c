/* body-lines: a stage and the sums along x of what it makes, on grids and slabs smaller and larger than its
 * tiles and than what the sums reach; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"

/* Tiles of 32 x 4 and 64 x 2 cells; in double half as wide. */
static const char *const schemes[][2] = {
    {"body-lines:block=8x4:work=4x1x1:interior=0", NULL},
    {"body-lines:block=8x4:work=4x1x1:virtual=1:interior=1", NULL},
    {"body-lines:block=16x2:work=4x1x1:grid=flat:interior=1", NULL},
};
static const char *const double_schemes[][2] = {
    {"body-lines:block=8x4:work=2x1x1:interior=0", NULL},
    {"body-lines:block=16x2:work=2x1x1:interior=1", NULL},
};

/* Around the sizes of tiles and reaches. */
static const int sizes[][3] = {{1, 1, 1},  {2, 5, 2},   {17, 3, 4},  {31, 4, 2},   {32, 9, 3}, {33, 8, 1},
                               {39, 7, 2}, {64, 16, 5}, {101, 6, 7}, {130, 13, 4}, {4, 3, 1},  {60, 5, 2}};

static void check(struct flow_case *c, const char *const *scheme)
{
    flow_case_check_sizes(c, scheme, sizes, sizeof sizes / sizeof *sizes);
}

/* A body of one input, and sums over `count` of its results. */
static void open_body(struct flow_case *c, int dim, bool is_double, enum vf_boundary boundary,
                      enum vf_stencil_id stencil, int count, int reach)
{
    flow_case_open(c, dim, is_double, boundary);
    const int made = flow_case_body(c, stencil, flow_case_sources(c, 1));
    flow_case_sinks(c, flow_case_linear(c, TAPS_X, (int[]){0, 0, reach}, made, count), count);
}

Test(body_lines, every_boundary)
{
    static const int reach[] = {1, 4, 8, 9, 16};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        struct flow_case c;
        open_body(&c, 3, false, (enum vf_boundary)boundary, VF_STENCIL_structure_tensor, 6, reach[boundary]);
        check(&c, schemes[boundary % 3]);
    }
}

/* Rows of whole packs, at whose ends a thread repeats what it makes: shorter than the sums reach, and with
 * more packs beside a tile than in it. */
Test(body_lines, repeated_ends)
{
    static const int reach[] = {3, 8, 31};
    for (int i = 0; i < 3; i++) {
        struct flow_case c;
        open_body(&c, 3, false, VF_NEAREST, VF_STENCIL_structure_tensor, 6, reach[i]);
        check(&c, schemes[i]);
        open_body(&c, 2, true, VF_NEAREST, VF_STENCIL_structure_tensor, 3, reach[i]);
        check(&c, double_schemes[i % 2]);
    }
}

/* The constant is that of the image for what stands for it, 0 for what is derived. */
Test(body_lines, outside)
{
    for (int kind = 0; kind < 2; kind++) {
        struct flow_case c;
        open_body(&c, 3, false, VF_CONSTANT, VF_STENCIL_perona_malik_quadratic, 1, 3);
        c.kind[1] = kind == 0 ? VF_FIELD_IMAGE : VF_FIELD_DERIVED;
        check(&c, schemes[kind]);
    }
}

Test(body_lines, images_and_doubles)
{
    struct flow_case c;
    open_body(&c, 2, false, VF_MIRROR, VF_STENCIL_structure_tensor, 3, 5);
    check(&c, schemes[1]);
    open_body(&c, 2, true, VF_REFLECT, VF_STENCIL_structure_tensor, 3, 2);
    check(&c, double_schemes[1]);
    open_body(&c, 3, true, VF_WRAP, VF_STENCIL_structure_tensor, 6, 6);
    check(&c, double_schemes[0]);
}

/* Quotients that short ways leave in doubt, and values of any bits. */
Test(body_lines, doubt)
{
    struct flow_case c;
    open_body(&c, 3, false, VF_NEAREST, VF_STENCIL_perona_malik_quadratic, 1, 2);
    c.has_any_bits = true;
    check(&c, schemes[2]);
}

/* Weights in the first stage too, over two fields; some of what a stage makes; other types in memory. */
Test(body_lines, types_and_fields)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, (enum vf_boundary)(type % VF_BOUNDARY_COUNT));
        const int in = flow_case_sources(&c, 2);
        const int made = flow_case_linear(&c, TAPS_EDGES, (int[]){1, 1, 3}, in, 2);
        flow_case_sinks(&c, flow_case_linear(&c, TAPS_X, (int[]){0, 0, 4}, made, 2), 2);
        c.source_type[0] = (enum vf_type)type;
        c.source_type[1] = (enum vf_type)((type + 3) % VF_TYPE_COUNT);
        c.sink_type[0] = c.sink_type[1] = (enum vf_type)type;
        check(&c, schemes[type % 3]);
    }
    struct flow_case c;
    open_body(&c, 3, false, VF_NEAREST, VF_STENCIL_structure_tensor, 4, 7);
    check(&c, schemes[0]);
}
