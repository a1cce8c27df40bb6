/* body-plane: a stage and the sums along x and y of what it makes, on grids and slabs smaller and larger than
 * its tiles and than what the sums reach; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"

/* Tiles of 32 and 16 columns, runs of 4, 8 and 16; chunks that end within a grid, and not. */
static const char *const schemes[][2] = {
    {"body-plane:block=8x16x1:work=4x8x1:stream=16:interior=1", NULL},
    {"body-plane:block=4x12x1:work=4x4x1:stream=1000:interior=0:virtual=1", NULL},
    {"body-plane:block=8x32x1:work=4x16x1:stream=32:grid=flat:interior=1", NULL},
};
static const char *const double_schemes[][2] = {
    {"body-plane:block=8x16x1:work=2x8x1:stream=24:interior=1", NULL},
    {"body-plane:block=16x4x1:work=2x2x1:stream=1000:interior=0", NULL},
};

/* Around the sizes of tiles, runs and reaches. */
static const int sizes[][3] = {{1, 1, 1},   {2, 5, 2},   {17, 33, 4}, {31, 4, 2},  {32, 17, 3}, {33, 8, 1},
                               {39, 16, 2}, {64, 15, 5}, {101, 6, 6}, {70, 40, 2}, {4, 3, 1},   {60, 5, 2}};

static void check(struct flow_case *c, const char *const *scheme)
{
    flow_case_check_sizes(c, scheme, sizes, sizeof sizes / sizeof *sizes);
}

/* A body of one input, and sums over `count` of its results. */
static void open_body(struct flow_case *c, int dim, bool is_double, enum vf_boundary boundary,
                      enum vf_stencil_id stencil, int count, int reach_x, int reach_y)
{
    flow_case_open(c, dim, is_double, boundary);
    const int made = flow_case_body(c, stencil, flow_case_sources(c, 1)),
              along = flow_case_linear(c, TAPS_X, (int[]){0, 0, reach_x}, made, count);
    flow_case_sinks(c, flow_case_linear(c, TAPS_Y, (int[]){0, reach_y, 0}, along, count), count);
}

Test(body_plane, every_boundary)
{
    static const int reach[][2] = {{8, 8}, {1, 4}, {9, 2}, {4, 9}, {16, 12}};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        struct flow_case c;
        open_body(&c, 3, false, (enum vf_boundary)boundary, VF_STENCIL_structure_tensor, 6,
                  reach[boundary][0], reach[boundary][1]);
        check(&c, schemes[boundary % 3]);
    }
}

/* The constant is that of the image for what stands for it, 0 for what is derived, of the first stage and of
 * lines along x. */
Test(body_plane, outside)
{
    for (int kind = 0; kind < 4; kind++) {
        struct flow_case c;
        open_body(&c, 3, false, VF_CONSTANT, VF_STENCIL_perona_malik_quadratic, 1, 3, 5);
        c.kind[1] = kind % 2 == 0 ? VF_FIELD_IMAGE : VF_FIELD_DERIVED;
        c.kind[2] = kind / 2 == 0 ? VF_FIELD_IMAGE : VF_FIELD_DERIVED;
        check(&c, schemes[kind % 3]);
    }
}

Test(body_plane, images_and_doubles)
{
    struct flow_case c;
    open_body(&c, 2, false, VF_NEAREST, VF_STENCIL_structure_tensor, 3, 5, 3);
    check(&c, schemes[1]);
    open_body(&c, 2, true, VF_REFLECT, VF_STENCIL_structure_tensor, 3, 2, 6);
    check(&c, double_schemes[1]);
    open_body(&c, 3, true, VF_WRAP, VF_STENCIL_structure_tensor, 6, 6, 7);
    check(&c, double_schemes[0]);
}

/* Quotients that short ways leave in doubt, and values of any bits. */
Test(body_plane, doubt)
{
    struct flow_case c;
    open_body(&c, 3, false, VF_NEAREST, VF_STENCIL_perona_malik_quadratic, 1, 2, 3);
    c.has_any_bits = true;
    check(&c, schemes[2]);
}

/* Weights in the first stage too, over two fields; some of what a stage makes; other types in memory. */
Test(body_plane, types_and_fields)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, (enum vf_boundary)(type % VF_BOUNDARY_COUNT));
        const int in = flow_case_sources(&c, 2),
                  made = flow_case_linear(&c, TAPS_EDGES, (int[]){1, 1, 3}, in, 2),
                  along = flow_case_linear(&c, TAPS_X, (int[]){0, 0, 4}, made, 2);
        flow_case_sinks(&c, flow_case_linear(&c, TAPS_Y, (int[]){0, 2, 0}, along, 2), 2);
        c.source_type[0] = (enum vf_type)type;
        c.source_type[1] = (enum vf_type)((type + 3) % VF_TYPE_COUNT);
        c.sink_type[0] = c.sink_type[1] = (enum vf_type)type;
        check(&c, schemes[type % 3]);
    }
    struct flow_case c;
    open_body(&c, 3, false, VF_NEAREST, VF_STENCIL_structure_tensor, 4, 7, 8);
    check(&c, schemes[0]);
}
