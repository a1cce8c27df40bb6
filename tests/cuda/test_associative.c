/* associative: sums that planes add to, of dense tables and of lines; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"

static const char *const volume_schemes[][2] = {
    {"associative:block=16x2x1:work=2x1x1:stream=5", NULL},
    {"associative:block=8x4x1:work=4x2x1:stream=4:grid=flat", NULL},
};
static const char *const image_schemes[] = {"associative:block=32x1x1:work=4x1x1:stream=5:virtual=1", NULL};

/* Grids are kernels of their own: the schemes take turns, so that each meets every grid under some boundary.
 */
static void check(struct flow_case *c)
{
    static const int volumes[][3] = {{1, 1, 2}, {3, 2, 5}, {32, 16, 9}, {67, 9, 11}};
    static const int images[][3] = {{1, 3, 2}, {128, 11, 1}, {131, 6, 3}};
    if (c->flow.dim == 2) {
        for (size_t i = 0; i < sizeof images / sizeof *images; i++)
            flow_case_check(c, image_schemes, images[i][0], images[i][1], images[i][2], 0, 1);
        return;
    }
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++)
        flow_case_check_grid(c, volume_schemes[(i + (size_t)c->flow.boundary) % 2], volumes[i]);
}

static void check_taps(enum flow_taps shape, const int radius[3], int dim, enum vf_boundary boundary,
                       bool precise)
{
    struct flow_case c;
    flow_case_open(&c, dim, precise, boundary);
    const int input = flow_case_sources(&c, 1);
    flow_case_sinks(&c, flow_case_linear(&c, shape, radius, input, 1), 1);
    check(&c);
    flow_case_close(&c);
}

Test(associative, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_taps(TAPS_BOX, (int[]){1, 1, 1}, 3, (enum vf_boundary)boundary, false);
}

Test(associative, shapes_of_tables)
{
    check_taps(TAPS_STAR, (int[]){3, 2, 1}, 3, VF_MIRROR, false);
    check_taps(TAPS_Z, (int[]){4, 4, 4}, 3, VF_REFLECT, true);
    check_taps(TAPS_BOX, (int[]){0, 2, 2}, 2, VF_WRAP, false);
    check_taps(TAPS_EDGES, (int[]){0, 1, 5}, 2, VF_CONSTANT, false);
}

Test(associative, several_tables_side_by_side)
{
    struct flow_case c;
    flow_case_open(&c, 3, false, VF_CONSTANT);
    c.source_type[1] = VF_U16;
    c.sink_type[0] = VF_I8;
    const int input = flow_case_sources(&c, 2);
    const int near = flow_case_linear(&c, TAPS_STAR, (int[]){1, 1, 1}, input, 2);
    const int far = flow_case_linear(&c, TAPS_Z, (int[]){2, 0, 0}, input, 1);
    flow_case_sinks(&c, far, 1);
    flow_case_sinks(&c, near, 2);
    check(&c);
    flow_case_close(&c);
}

/* Chunks of many planes, whose middle goes in whole rounds of turns: one more or less of them, and slabs. */
Test(associative, long_lines)
{
    static const char *const schemes[] = {"associative:block=16x2x1:work=1x1x1:stream=64",
                                          "associative:block=8x4x1:work=2x1x1:stream=19",
                                          "associative:block=8x4x1:work=4x1x1:stream=20", NULL};
    static const char *const rows[] = {"associative:block=32x1x1:work=2x1x1:stream=64",
                                       "associative:block=32x1x1:work=1x1x1:stream=20", NULL};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int dim = 2; dim <= 3; dim++) {
            struct flow_case c;
            flow_case_open(&c, dim, boundary == VF_MIRROR, (enum vf_boundary)boundary);
            c.source_type[0] = boundary == VF_WRAP ? VF_U16 : VF_F32;
            const int input = flow_case_sources(&c, 1);
            const enum flow_taps shape = dim == 2 ? TAPS_Y : TAPS_Z;
            flow_case_sinks(&c, flow_case_linear(&c, shape, (int[]){3, 3, 3}, input, 1), 1);
            for (int n = 38; n <= 43; n += boundary == VF_NEAREST ? 1 : 5) {
                if (dim == 2) {
                    flow_case_check(&c, rows, 35, n, 2, 0, 2);
                } else {
                    flow_case_check(&c, schemes, 35, 3, n, 0, n);
                    flow_case_check(&c, schemes, 33, 2, n, 7, n - 1);
                }
            }
            flow_case_close(&c);
        }
}
