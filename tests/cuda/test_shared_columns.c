/* shared-columns: medians whose columns are sorted once, of single cells and of pairs; the reference's bits.
 */
#include <criterion/criterion.h>

#include "flow_case.h"
#include "kernels/gpu_scheme.h"

static const char *const volume_schemes[][2] = {
    {"shared-columns:variant=cells:block=32x2x1:work=1x1x1:stream=3", NULL},
    {"shared-columns:variant=cells:block=32x1x1:work=1x3x1:stream=2:virtual=1", NULL},
    {"shared-columns:variant=pairs:block=32x2x1:work=1x2x1:stream=2", NULL},
    {"shared-columns:variant=pairs:block=32x1x1:work=1x4x1:stream=5:grid=flat", NULL},
};
static const char *const image_schemes[][2] = {
    {"shared-columns:variant=cells:block=32x2x1:work=1x1x1", NULL},
    {"shared-columns:variant=cells:block=32x1x1:work=1x3x1:grid=flat", NULL},
    {"shared-columns:variant=pairs:block=32x2x1:work=1x2x1", NULL},
    {"shared-columns:variant=pairs:block=32x1x1:work=1x6x1:virtual=1", NULL},
};

static void open_median(struct flow_case *c, enum vf_stencil_id stencil, int dim, enum vf_type type,
                        enum vf_boundary boundary)
{
    flow_case_open(c, dim, type == VF_F64, boundary);
    c->flow.constant = type == VF_F32 ? 0.25 : 100;
    c->source_type[0] = c->sink_type[0] = type;
    c->has_any_bits = type == VF_F32;
    flow_case_sinks(c, flow_case_body(c, stencil, flow_case_sources(c, 1)), 1);
}

/* Grids of one voxel, up to a warp's results wide and one more, odd heights and depths. */
static void check(struct flow_case *c, int scheme)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 3, 2}, {5, 1, 4}, {28, 5, 3}, {31, 6, 2}, {61, 3, 6}};
    flow_case_check_sizes(c, c->flow.dim == 3 ? volume_schemes[scheme] : image_schemes[scheme], sizes,
                          sizeof sizes / sizeof *sizes);
}

Test(shared_columns, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int pairs = 0; pairs < 2; pairs++) {
            struct flow_case c;
            open_median(&c, VF_STENCIL_median_3x3x3, 3, pairs ? VF_I16 : VF_F32, (enum vf_boundary)boundary);
            if (boundary % 2 == 1)
                c.sink_type[0] = VF_F32;
            check(&c, 2 * pairs + boundary % 2);
            open_median(&c, VF_STENCIL_median_5x5, 2, pairs ? VF_U16 : VF_F32, (enum vf_boundary)boundary);
            check(&c, 2 * pairs + (boundary + 1) % 2);
        }
}

Test(shared_columns, every_type_and_median)
{
    static const struct {
        enum vf_stencil_id stencil;
        int dim;
        enum vf_type type;
        int scheme;
    } cases[] = {
        {VF_STENCIL_median_3x3, 2, VF_I8, 2},    {VF_STENCIL_median_3x3, 2, VF_U8, 1},
        {VF_STENCIL_median_7x7, 2, VF_U8, 3},    {VF_STENCIL_median_7x7, 2, VF_I32, 0},
        {VF_STENCIL_median_3x3x3, 3, VF_F64, 1}, {VF_STENCIL_median_3x3x3, 3, VF_U8, 3},
        {VF_STENCIL_median_5x5x5, 3, VF_F32, 0}, {VF_STENCIL_median_5x5x5, 3, VF_U16, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct flow_case c;
        open_median(&c, cases[i].stencil, cases[i].dim, cases[i].type, VF_MIRROR);
        check(&c, cases[i].scheme);
    }
}

/* Pairs hold what is of their type alone. */
Test(shared_columns, takes_pairs_of_one_small_type)
{
    const struct vf_gpu_scheme *scheme = vf_gpu_scheme("shared-columns", 14);
    const struct vf_gpu gpu = {.capability = 90,
                               .warp = 32,
                               .block_threads = 1024,
                               .sm_registers = 65536,
                               .block_shared = 227 << 10};
    struct vf_gpu older = gpu;
    older.capability = 89;
    const struct vf_kernel_config pairs = {.block = {32, 4, 1}, .work = {1, 2, 1}, .stream = 8, .variant = 1};
    struct vf_kernel_config cells = pairs, odd = pairs;
    cells.variant = 0;
    odd.work[1] = 3;
    struct flow_case c;
    open_median(&c, VF_STENCIL_median_3x3x3, 3, VF_I16, VF_CONSTANT);
    flow_case_check_grid(&c, volume_schemes[2], (int[]){20, 4, 4});
    struct vf_kernel_case kernel = {
        .flow = &c.flow, .source_type = {VF_I16}, .sink_type = {VF_I16}, .nx = 20, .ny = 20, .nz = 20};
    vf_kernel_case_derive(&kernel);
    cr_expect_null(vf_gpu_scheme_refuses(scheme, &kernel));
    cr_expect_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &pairs));
    cr_expect_not_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &odd));
    cr_expect_not_null(vf_gpu_scheme_forbids(scheme, &kernel, &older, &pairs));
    cr_expect_null(vf_gpu_scheme_forbids(scheme, &kernel, &older, &cells));
    static const struct vf_kernel_config others[] = {{.block = {32, 4, 1}, .work = {2, 1, 1}, .stream = 8},
                                                     {.block = {64, 4, 1}, .work = {1, 1, 1}, .stream = 8},
                                                     {.block = {32, 2, 2}, .work = {1, 1, 1}, .stream = 8},
                                                     {.block = {32, 4, 1}, .work = {1, 1, 2}, .stream = 8},
                                                     {.block = {32, 4, 1}, .work = {1, 99, 1}, .stream = 8},
                                                     {.block = {32, 4, 1}, .work = {1, 1, 1}}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_not_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &others[i]), "%zu", i);
    c.flow.constant = -32768;
    cr_expect_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &pairs));
    static const double beyond[] = {-32769, 32768, 0.5};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        c.flow.constant = beyond[i];
        cr_expect_not_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &pairs), "%g", beyond[i]);
        cr_expect_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &cells));
    }
    c.kind[0] = VF_FIELD_DERIVED; /* outside it is 0 */
    cr_expect_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &pairs));
    flow_case_check_grid(&c, volume_schemes[2], (int[]){9, 4, 4});
    c.flow.constant = 0;
    kernel.sink_type[0] = VF_F32;
    cr_expect_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &pairs));
    kernel.sink_type[0] = VF_U16;
    cr_expect_not_null(vf_gpu_scheme_forbids(scheme, &kernel, &gpu, &pairs));
    c.stage[0].stencil = VF_STENCIL_gradient_magnitude;
    cr_expect_not_null(vf_gpu_scheme_refuses(scheme, &kernel));
    flow_case_close(&c);
}
