/* long-line: lines of weights along each axis, longer and shorter than a thread's run, on grids and slabs
 * around the sizes of runs, tiles and reaches; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"
#include "tests/sanitized.h"

enum { X, Y, Z, AXES };

/* For each axis: runs of 4, 8 and 16 or 32, cells side by side, warps; chunks that end within a grid, and
 * not. */
static const char *const schemes[AXES][3][2] = {
    [X] = {{"long-line:variant=loop:block=8x4x1:work=4x1x1:stream=5", NULL},
           {"long-line:variant=written:block=32x1x1:work=8x1x1:stream=3:virtual=1", NULL},
           {"long-line:variant=loop:block=4x16x1:work=16x1x1:stream=64:grid=flat", NULL}},
    [Y] = {{"long-line:variant=loop:block=32x1x1:work=2x4x1:stream=8", NULL},
           {"long-line:variant=written:block=32x3x1:work=1x8x1:stream=1000", NULL},
           {"long-line:variant=loop:block=32x2x1:work=4x16x1:stream=40:virtual=1", NULL}},
    [Z] = {{"long-line:variant=loop:block=32x1x1:work=4x1x4:stream=9", NULL},
           {"long-line:variant=written:block=32x1x2:work=2x1x8:stream=1000:virtual=1", NULL},
           {"long-line:variant=loop:block=32x1x2:work=1x1x32:stream=64:grid=flat", NULL}},
};

/* Lines of `count` fields. */
static void open_line(struct flow_case *c, int dim, bool is_double, enum vf_boundary boundary, int axis,
                      int reach, int count)
{
    static const enum flow_taps shape[] = {TAPS_X, TAPS_Y, TAPS_Z};
    int radius[3] = {0};
    radius[2 - axis] = reach;
    flow_case_open(c, dim, is_double, boundary);
    flow_case_sinks(c, flow_case_linear(c, shape[axis], radius, flow_case_sources(c, count), count), count);
}

/* Compares with the line along each extent in turn, the others few; a slab of volumes that are deep enough.
 */
static void check(struct flow_case *c, int axis, int reach, const char *const *scheme)
{
    const int along[] = {1, 2 * reach - 1, 2 * reach + 1, 31, 64, 65, 150},
              beside[] = {1, 33, 70, 4, 129, 3, 5};
    const int deep = c->flow.dim == 3 ? 3 : 2;
    for (size_t i = 0; i < sizeof along / sizeof *along; i++) {
        int n[3] = {axis == X ? 1 : beside[i], axis == Y ? 1 : 3, axis == Z ? 1 : deep};
        n[axis] = along[i];
        flow_case_check_grid(c, scheme, n);
    }
    flow_case_close(c);
}

Test(long_line, every_axis_and_boundary)
{
    static const int reach[] = {5, 8, 17, 31, 48};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int axis = X; axis < AXES; axis++) {
            struct flow_case c;
            open_line(&c, 3, false, (enum vf_boundary)boundary, axis, reach[(boundary + axis) % 5], 1);
            check(&c, axis, reach[(boundary + axis) % 5], schemes[axis][(boundary + 2 * axis) % 3]);
        }
}

/* Fields one after the other; NaN, infinities. */
Test(long_line, fields_of_any_bits)
{
    for (int axis = X; axis < AXES; axis++) {
        struct flow_case c;
        open_line(&c, 3, false, VF_REFLECT, axis, 9, 3);
        c.has_any_bits = true;
        check(&c, axis, 9, schemes[axis][2]);
    }
}

/* Weights that are too many for a kernel's arguments. */
Test(long_line, weights_in_memory)
{
    for (int axis = X; axis < AXES; axis += UNDER_SANITIZERS ? 2 : 1) {
        struct flow_case c;
        open_line(&c, 3, false, VF_NEAREST, axis, 210, 1);
        check(&c, axis, 210, schemes[axis][0]);
    }
}

Test(long_line, images_and_doubles)
{
    static const char *const double_schemes[AXES][2] = {
        {"long-line:variant=loop:block=16x2x1:work=8x1x1:stream=4", NULL},
        {"long-line:variant=written:block=32x2x1:work=2x4x1:stream=24", NULL},
        {"long-line:variant=loop:block=32x1x2:work=1x1x2:stream=12", NULL},
    };
    struct flow_case c;
    for (int axis = X; axis <= Y; axis++) {
        open_line(&c, 2, false, VF_MIRROR, axis, 33, 1);
        check(&c, axis, 33, schemes[axis][0]);
    }
    for (int axis = X; axis < AXES; axis++) {
        open_line(&c, 3, true, VF_CONSTANT, axis, 7, 2);
        check(&c, axis, 7, double_schemes[axis]);
    }
}

Test(long_line, types)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++) {
        const int axis = type % AXES;
        struct flow_case c;
        open_line(&c, 3, false, (enum vf_boundary)(type % VF_BOUNDARY_COUNT), axis, 6, 2);
        for (int k = 0; k < 2; k++) {
            c.source_type[k] = (enum vf_type)type;
            c.sink_type[k] = (enum vf_type)((type + 4) % VF_TYPE_COUNT);
        }
        check(&c, axis, 6, schemes[axis][type % 3]);
    }
}
