/* lines-body: lines of several fields and a stage of what they make, on grids and slabs around the sizes of
 * runs, tiles and reaches; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"

enum { Y = 1, Z };

/* For each axis: runs of 4, 8 and 16, one warp and several; chunks that end within a grid, and not. */
static const char *const schemes[][3][2] = {
    [Y] = {{"lines-body:block=32x3x1:work=1x4x1:stream=24", NULL},
           {"lines-body:block=32x1x1:work=1x8x1:stream=1000:virtual=1", NULL},
           {"lines-body:block=32x2x1:work=1x16x1:stream=32:grid=flat", NULL}},
    [Z] = {{"lines-body:block=32x1x3:work=1x1x4:stream=1000:virtual=1", NULL},
           {"lines-body:block=32x1x1:work=1x1x8:stream=8", NULL},
           {"lines-body:block=32x1x2:work=1x1x16:stream=40:grid=flat", NULL}},
};

static void check(struct flow_case *c, int axis, int reach, const char *const *scheme)
{
    const int along[] = {1, 2 * reach + 1, 31, 65}, beside[] = {3, 33, 70, 4};
    const int deep = c->flow.dim == 3 ? 3 : 2;
    for (size_t i = 0; i < sizeof along / sizeof *along; i++) {
        int n[3] = {beside[i], 3, axis == Z ? 1 : deep};
        n[axis] = along[i];
        flow_case_check_grid(c, scheme, n);
    }
    flow_case_close(c);
}

/* Lines of the body's inputs. */
static void open_lines(struct flow_case *c, int dim, bool is_double, enum vf_boundary boundary, int axis,
                       int reach, enum vf_stencil_id body)
{
    const int count = vf_stencil(body)->inputs[dim - 2];
    int radius[3] = {0};
    radius[2 - axis] = reach;
    flow_case_open(c, dim, is_double, boundary);
    const int first =
        flow_case_linear(c, axis == Y ? TAPS_Y : TAPS_Z, radius, flow_case_sources(c, count), count);
    flow_case_sinks(c, flow_case_body(c, body, first), vf_stencil(body)->outputs[dim - 2]);
}

Test(lines_body, every_axis_and_boundary)
{
    static const int reach[] = {8, 1, 5, 17, 2};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int axis = Y; axis <= Z; axis++) {
            struct flow_case c;
            open_lines(&c, 3, false, (enum vf_boundary)boundary, axis, reach[boundary],
                       boundary % 2 == 0 ? VF_STENCIL_coherence : VF_STENCIL_diffusion_tensor);
            check(&c, axis, reach[boundary], schemes[axis][(boundary + axis) % 3]);
        }
}

/* A stage that reads another field too, beside its cell; quotients that short ways leave in doubt. */
Test(lines_body, other_fields)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        const int radius[] = {3, 0, 0};
        struct flow_case c;
        flow_case_open(&c, 3, false, (enum vf_boundary)boundary);
        const int sources = flow_case_sources(&c, 7),
                  first = flow_case_linear(&c, TAPS_Z, radius, sources, 6);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_and_direction, first), 4);
        c.stage[1].input[6] = sources + 6;
        c.has_any_bits = boundary == 1;
        c.is_sparse = boundary == 2;
        check(&c, Z, 3, schemes[Z][boundary % 3]);
    }
}

Test(lines_body, images_types_and_doubles)
{
    struct flow_case c;
    open_lines(&c, 2, false, VF_MIRROR, Y, 4, VF_STENCIL_ced_direction);
    check(&c, Y, 4, schemes[Y][0]);
    open_lines(&c, 2, true, VF_NEAREST, Y, 6, VF_STENCIL_orientation);
    check(&c, Y, 6, schemes[Y][1]);
    open_lines(&c, 3, true, VF_REFLECT, Z, 5, VF_STENCIL_eigenvalue_spread);
    check(&c, Z, 5, schemes[Z][0]);
    open_lines(&c, 3, false, VF_NEAREST, Z, 2, VF_STENCIL_diffusion_tensor);
    for (int k = 0; k < 4; k++)
        c.source_type[k] = VF_U16;
    for (int k = 0; k < 6; k++)
        c.sink_type[k] = k % 2 == 0 ? VF_I8 : VF_F32;
    check(&c, Z, 2, schemes[Z][2]);
}
