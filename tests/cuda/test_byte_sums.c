/* byte-sums: whole weights of bytes, on spans that end within a word and beside it; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"
#include "kernels/gpu_scheme.h"

static const char *const volume_schemes[][2] = {
    {"byte-sums:block=4x8x1:work=4x1x1:stream=2", NULL},
    {"byte-sums:block=2x16x1:work=8x2x1:stream=3:virtual=1", NULL},
    {"byte-sums:block=8x4x1:work=16x1x1:stream=4:grid=flat", NULL},
};
static const char *const image_schemes[][2] = {
    {"byte-sums:block=32x1x1:work=4x1x1:stream=5", NULL},
    {"byte-sums:block=32x1x1:work=16x1x1:stream=2", NULL},
};

/* A table of `first`, `first` + 1, ..., +3, and so on again. */
static void open_sums(struct flow_case *c, int dim, enum vf_boundary boundary, enum flow_taps shape,
                      const int radius[3], int first)
{
    flow_case_open(c, dim, false, boundary);
    c->flow.constant = 100;
    c->source_type[0] = c->sink_type[0] = VF_U8;
    const int input = flow_case_sources(c, 1);
    flow_case_sinks(c, flow_case_linear(c, shape, radius, input, 1), 1);
    for (int t = 0; t < c->taps[0]->count; t++)
        c->taps[0]->tap[t].weight = first + t % 4;
}

/* Grids are kernels of their own: schemes and types take turns, and every other grid is left out where `step`
 * is 2. */
static void check(struct flow_case *c, size_t step)
{
    static const int volumes[][3] = {{1, 1, 2},  {2, 3, 1},   {4, 3, 5},  {13, 9, 4},
                                     {16, 8, 3}, {30, 17, 7}, {67, 5, 9}, {131, 4, 6}};
    static const int images[][3] = {{1, 3, 2}, {3, 1, 1}, {128, 11, 1}, {131, 6, 3}, {515, 7, 1}};
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes && c->flow.dim == 3; i += step) {
        const size_t turn = i + (size_t)c->flow.boundary;
        c->source_type[0] = turn % 2 ? VF_I8 : VF_U8;
        c->sink_type[0] = turn / 2 % 2 ? VF_I8 : VF_U8;
        flow_case_check_grid(c, volume_schemes[turn % 3], volumes[i]);
    }
    for (size_t i = 0; i < sizeof images / sizeof *images && c->flow.dim == 2; i += step) {
        c->source_type[0] = i % 2 ? VF_I8 : VF_U8;
        flow_case_check(c, image_schemes[(i + (size_t)c->flow.boundary) % 2], images[i][0], images[i][1],
                        images[i][2], 0, 1);
    }
    flow_case_close(c);
}

Test(byte_sums, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int dim = 2; dim <= 3; dim++) {
            struct flow_case c;
            open_sums(&c, dim, (enum vf_boundary)boundary, TAPS_STAR, (int[]){1, 1, 1}, 1);
            check(&c, 1);
        }
}

/* Cells up to a word beside the span, in all places of it; results far beyond both bounds. */
Test(byte_sums, shapes_of_tables)
{
    struct flow_case c;
    open_sums(&c, 3, VF_REFLECT, TAPS_BOX, (int[]){1, 1, 2}, -2);
    check(&c, 2);
    open_sums(&c, 3, VF_MIRROR, TAPS_X, (int[]){0, 0, 4}, -1);
    check(&c, 2);
    open_sums(&c, 3, VF_CONSTANT, TAPS_X, (int[]){0, 0, 3}, -3);
    check(&c, 2);
    open_sums(&c, 3, VF_WRAP, TAPS_STAR, (int[]){2, 3, 4}, -2);
    check(&c, 2);
    open_sums(&c, 2, VF_NEAREST, TAPS_BOX, (int[]){0, 2, 2}, -2);
    check(&c, 2);
    open_sums(&c, 2, VF_WRAP, TAPS_Y, (int[]){0, 4, 0}, 3);
    check(&c, 2);
}

/* The largest weights that halves of a word have room for, and one more; what is no byte outside the grid. */
Test(byte_sums, takes_what_integers_are_exact_in)
{
    const struct vf_gpu_scheme *scheme = vf_gpu_scheme("byte-sums", 9);
    struct flow_case c;
    open_sums(&c, 3, VF_CONSTANT, TAPS_X, (int[]){0, 0, 1}, 0);
    c.taps[0]->tap[0].weight = 100;
    c.taps[0]->tap[1].weight = 57;
    c.taps[0]->tap[2].weight = 100;
    flow_case_check_grid(&c, volume_schemes[0], (int[]){20, 4, 4});
    struct vf_kernel_case kernel = {
        .flow = &c.flow, .source_type = {VF_U8}, .sink_type = {VF_U8}, .nx = 20, .ny = 4, .nz = 4};
    vf_kernel_case_derive(&kernel);
    cr_expect_null(vf_gpu_scheme_refuses(scheme, &kernel));
    c.taps[0]->tap[1].weight = 58;
    cr_expect_not_null(vf_gpu_scheme_refuses(scheme, &kernel));
    c.taps[0]->tap[1].weight = 0.5;
    cr_expect_not_null(vf_gpu_scheme_refuses(scheme, &kernel));
    c.taps[0]->tap[1].weight = 1;
    cr_expect_null(vf_gpu_scheme_refuses(scheme, &kernel));
    c.flow.constant = 256;
    cr_expect_not_null(vf_gpu_scheme_refuses(scheme, &kernel));
    c.flow.constant = 0.5;
    cr_expect_not_null(vf_gpu_scheme_refuses(scheme, &kernel));
    c.flow.constant = 0;
    kernel.sink_type[0] = VF_F32;
    cr_expect_not_null(vf_gpu_scheme_refuses(scheme, &kernel));
    flow_case_close(&c);
}
