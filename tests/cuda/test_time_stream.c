/* time-stream: steps of stars or small tables in one kernel, on grids and slabs smaller and larger than its
 * tiles and reach; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"

/* Tiles of one and several rows a thread, chunks, and the switches of tiles. */
static const char *const schemes[][2] = {
    {"time-stream:block=8x16:work=4x2x1:stream=5", NULL},
    {"time-stream:block=8x8:work=4x3x1:stream=700:grid=flat", NULL},
    {"time-stream:block=16x6:work=8x4x1:stream=4:virtual=1", NULL},
};
static const char *const double_schemes[] = {"time-stream:block=16x8:work=2x3x1:stream=3", NULL};

/* The grid's ends lie in threads alike, so that a kernel is compiled once for all of them. */
static const int volumes[][3] = {{5, 6, 4}, {37, 54, 9}, {73, 36, 4}};

static void check(struct flow_case *c, const char *const *scheme)
{
    flow_case_check_sizes(c, scheme, volumes, sizeof volumes / sizeof *volumes);
}

/* Two steps of one star. */
static void check_steps(int radius, enum vf_boundary boundary, const char *const *scheme)
{
    struct flow_case c;
    flow_case_open(&c, 3, scheme == double_schemes, boundary);
    flow_case_steps(&c, TAPS_STAR, radius, 2);
    check(&c, scheme);
}

Test(time_stream, steps)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_steps(1 + boundary % 2, (enum vf_boundary)boundary, schemes[boundary % 3]);
    check_steps(1, VF_MIRROR, double_schemes);
    check_steps(3, VF_REFLECT, schemes[1]);
}

/* Tables that read diagonals, with stars among them. */
static void check_tables(int steps, enum vf_boundary boundary, const char *const *scheme)
{
    static const enum flow_taps shape[] = {TAPS_BOX, TAPS_STAR, TAPS_EDGES};
    struct flow_case c;
    flow_case_open(&c, 3, scheme == double_schemes, boundary);
    int field = flow_case_sources(&c, 1);
    for (int i = 0; i < steps; i++)
        field = flow_case_linear(&c, shape[i], (int[]){1, 1, 1}, field, 1);
    flow_case_sinks(&c, field, 1);
    check(&c, scheme);
}

Test(time_stream, tables)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        if (boundary != VF_MIRROR)
            check_tables(2 + boundary % 2, (enum vf_boundary)boundary, schemes[boundary % 3]);
    check_tables(2, VF_REFLECT, double_schemes);
    check_tables(3, VF_CONSTANT, schemes[0]);
}

/* Tables that are flat along an axis. */
Test(time_stream, flat_tables)
{
    for (int axis = 1; axis < 3; axis++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, VF_NEAREST);
        const int in = flow_case_sources(&c, 1);
        const int middle = flow_case_linear(&c, TAPS_BOX, (int[]){1, axis == 2, axis == 1}, in, 1);
        flow_case_sinks(&c, flow_case_linear(&c, TAPS_EDGES, (int[]){1, 1, 1}, middle, 1), 1);
        check(&c, schemes[1]);
    }
}

/* A grid that ends within a thread's rows, and one of a single cell. */
Test(time_stream, low_grids)
{
    static const int low[][3] = {{30, 7, 5}, {1, 1, 1}};
    for (int i = 0; i < 4; i++) {
        struct flow_case c;
        const bool tables = i >= 2;
        flow_case_open(&c, 3, false, i == 0 ? VF_MIRROR : i == 2 ? VF_REFLECT : VF_NEAREST);
        const int in = flow_case_sources(&c, 1), reach = tables ? 1 : 2;
        const int middle = flow_case_linear(&c, tables ? TAPS_BOX : TAPS_STAR, (int[]){1, 1, 1}, in, 1);
        flow_case_sinks(&c, flow_case_linear(&c, TAPS_STAR, (int[]){reach, reach, reach}, middle, 1), 1);
        const int *const n = low[i % 2];
        flow_case_check(&c, schemes[1], n[0], n[1], n[2], 0, n[2]);
        flow_case_close(&c);
    }
}

/* Other types in memory; fields that stand for 0 outside. */
Test(time_stream, types)
{
    for (int type = 0; type < VF_TYPE_COUNT; type += 3) {
        struct flow_case c;
        flow_case_open(&c, 3, false, VF_CONSTANT);
        const int in = flow_case_sources(&c, 1);
        const int middle = flow_case_linear(&c, TAPS_STAR, (int[]){1, 1, 1}, in, 1);
        c.kind[middle] = VF_FIELD_DERIVED;
        flow_case_sinks(&c, flow_case_linear(&c, TAPS_STAR, (int[]){1, 1, 1}, middle, 1), 1);
        c.source_type[0] = (enum vf_type)type;
        c.sink_type[0] = (enum vf_type)((type + 5) % VF_TYPE_COUNT);
        check(&c, schemes[0]);
    }
}

/* A body that asks for its parameters, and for closed faces. */
Test(time_stream, bodies)
{
    for (int i = 0; i < 2; i++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, i == 0 ? VF_REFLECT : VF_WRAP);
        const int in = flow_case_sources(&c, 1);
        const int middle = flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, in);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, middle), 1);
        check(&c, schemes[i]);
    }
}
