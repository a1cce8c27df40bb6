/* time-tile: runs of stages in one kernel, on grids and slabs smaller and larger than its tiles and reach;
 * the reference's bits. */
#include <criterion/criterion.h>

#include "device.h"
#include "flow_case.h"

/* Cells alone and in packs, several rows and planes of a thread, chunks, both variants and all switches. */
static const char *const volume_schemes[] = {
    "time-tile:block=16x8:work=1x1x1:stream=4",
    "time-tile:block=32x4:work=4x3x1:stream=5:variant=lean:grid=flat",
    "time-tile:block=32x5:work=4x2x2:stream=700:interior=0:virtual=1",
    NULL,
};
static const char *const image_schemes[] = {
    "time-tile:block=24:work=1x1:stream=5:variant=lean",
    "time-tile:block=32:work=4x4:stream=9:variant=lean:grid=flat",
    "time-tile:block=64:work=8x2:stream=700:interior=0:virtual=1",
    NULL,
};

/* Of packs of four; doubles have packs of two. */
static const char *const double_schemes[] = {"time-tile:block=32x6:work=2x2x1:stream=3", NULL};

static void check(struct flow_case *c, const char *const *scheme)
{
    static const int volumes[][3] = {{1, 1, 1}, {2, 3, 2}, {29, 1, 4}, {1, 23, 5}, {37, 18, 9}, {130, 9, 4}};
    static const int images[][3] = {{1, 1, 1}, {2, 2, 3}, {1, 29, 1}, {125, 4, 1}, {37, 18, 2}, {131, 23, 1}};
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++) {
        const int *n = c->flow.dim == 3 ? volumes[i] : images[i];
        flow_case_check(c, scheme, n[0], n[1], n[2], 0, c->flow.dim == 3 ? n[2] : 1);
        if (c->flow.dim == 3 && n[2] > 8)
            flow_case_check(c, scheme, n[0], n[1], n[2], 4, n[2] - 1);
    }
    flow_case_close(c);
}

static void check_steps(enum flow_taps shape, int radius, int steps, int dim, enum vf_boundary boundary,
                        const char *const *scheme)
{
    struct flow_case c;
    flow_case_open(&c, dim, scheme == double_schemes, boundary);
    flow_case_steps(&c, shape, radius, steps);
    check(&c, scheme);
}

Test(time_tile, steps_in_volumes)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_steps(TAPS_STAR, 1, 3, 3, (enum vf_boundary)boundary, volume_schemes);
}

Test(time_tile, steps_in_images)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_steps(TAPS_STAR, 1, 4, 2, (enum vf_boundary)boundary, image_schemes);
}

Test(time_tile, other_tables)
{
    static const char *const wide[] = {"time-tile:block=32x16:work=1x2x1:stream=6:variant=lean", NULL};
    check_steps(TAPS_BOX, 1, 2, 3, VF_CONSTANT, volume_schemes);
    check_steps(TAPS_EDGES, 1, 2, 3, VF_REFLECT, double_schemes);
    check_steps(TAPS_STAR, 4, 2, 3, VF_MIRROR, wide);
    check_steps(TAPS_BOX, 2, 2, 2, VF_WRAP, image_schemes);
    check_steps(TAPS_X, 3, 1, 2, VF_REFLECT, image_schemes);
    check_steps(TAPS_Z, 3, 2, 3, VF_NEAREST, volume_schemes);
    check_steps(TAPS_Y, 40, 1, 2, VF_MIRROR, image_schemes);
    check_steps(TAPS_X, 40, 1, 2, VF_CONSTANT, image_schemes + 2);
}

/* Fields of either kind stand for other values outside; the middle field is a result too. */
Test(time_tile, every_type_of_element)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++) {
        struct flow_case c;
        flow_case_open(&c, 2 + type % 2, false, VF_CONSTANT);
        const int in = flow_case_sources(&c, 2);
        const int middle = flow_case_linear(&c, TAPS_STAR, (int[]){1, 1, 1}, in, 2);
        c.kind[middle] = VF_FIELD_DERIVED;
        const int out = flow_case_linear(&c, TAPS_X, (int[]){0, 0, 2}, middle, 2);
        flow_case_sinks(&c, middle + 1, 1);
        flow_case_sinks(&c, out, 2);
        for (int k = 0; k < 3; k++) {
            c.source_type[k] = (enum vf_type)type;
            /* What is read on is a result in the compute type. */
            c.sink_type[k] = k == 0 ? VF_F32 : (enum vf_type)((type + k) % VF_TYPE_COUNT);
        }
        check(&c, (c.flow.dim == 3 ? volume_schemes : image_schemes) + 1 + type / 2 % 2);
    }
}

/* Bodies: closed faces, many inputs, one read at the cell's own place only, results used there by the next.
 */
static void check_bodies(int dim, enum vf_boundary boundary, bool precise)
{
    static const char *const whole[] = {"time-tile:block=16x12:work=2x1x1:stream=4:variant=lean", NULL};
    static const char *const single[] = {"time-tile:block=32x8:work=1x3x1:stream=6", NULL};
    static const char *const flat[] = {"time-tile:block=32:work=4x4:stream=8:variant=lean", NULL};
    const int tensor = dim == 3 ? 6 : 3;
    struct flow_case c;
    flow_case_open(&c, dim, precise, boundary);
    const int in = flow_case_sources(&c, 2 * dim + 1);
    const int step = flow_case_body(&c, VF_STENCIL_diffusion_step, in);
    const int squares = flow_case_body(&c, VF_STENCIL_structure_tensor, step);
    if (dim == 2) {
        flow_case_sinks(&c, squares, tensor);
    } else {
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_eigenvalue_spread, squares), 1);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_eed_tensor, in), tensor);
    }
    check(&c, dim == 2 ? flat : precise ? whole : single);
}

Test(time_tile, bodies)
{
    check_bodies(3, VF_NEAREST, true);
    check_bodies(3, VF_WRAP, false);
    check_bodies(2, VF_CONSTANT, false);
    check_bodies(2, VF_MIRROR, true);
}

/* A whole iteration of a filter, as the plan cuts it. */
Test(time_tile, whole_filters)
{
    static const char *const chains[] = {"and:sigma=0.5:rho=0.3:threshold=10:k=20:iterations=1",
                                         "gaussian:sigma=1,gradient:output=components"};
    static const char *const schemes[] = {"time-tile:block=32x20:work=1x1x1:stream=7:interior=0", NULL};
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct pipeline p = {.chain = chains[i],
                                   .type = VF_U16,
                                   .result_type = VF_F32,
                                   .nx = 37,
                                   .ny = 18,
                                   .nz = 9,
                                   .boundary = VF_REFLECT};
        device_check(&p, cuda, schemes);
    }
    vf_cuda_close(cuda);
}
