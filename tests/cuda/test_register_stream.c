/* register-stream: rings of stars, boxes and bodies, in both variants; the reference's bits. */
#include <criterion/criterion.h>
#include <math.h>

#include "filters/stencils/params.h"
#include "flow_case.h"

static const char *const direct[] = {"register-stream:block=16x2x1:work=2x1x1:stream=5:variant=direct", NULL};
static const char *const shared[] = {"register-stream:block=8x4x1:work=2x2x1:stream=4:variant=shared", NULL};
static const char *const flat[] = {"register-stream:block=32x1x1:work=4x1x1:stream=5", NULL};

/* Shapes below, at and above the halo and the tile (32 x 2 and 16 x 8), and slabs. Many of them are kernels
 * of their own: tables and bodies that are not met by every boundary have the first few. */
static const int volumes[][3] = {{1, 9, 2}, {32, 16, 9}, {65, 10, 11}, {1, 1, 1}, {2, 3, 5}, {31, 7, 4}};
static const int images[][3] = {{7, 1, 3}, {128, 11, 1}, {131, 6, 3}, {1, 1, 1}, {127, 5, 2}};
enum { FEW = 3, VOLUMES = sizeof volumes / sizeof *volumes, IMAGES = sizeof images / sizeof *images };

static void check_volumes(struct flow_case *c, const char *const *scheme, bool few)
{
    for (int i = 0; i < (few ? FEW : VOLUMES); i++)
        flow_case_check_grid(c, scheme, volumes[i]);
}

static void check_images(struct flow_case *c, bool few)
{
    for (int i = 0; i < (few ? FEW : IMAGES); i++)
        flow_case_check(c, flat, images[i][0], images[i][1], images[i][2], 0, 1);
}

static void check_taps(enum flow_taps shape, int radius, int dim, enum vf_boundary boundary,
                       const char *const *scheme, bool few)
{
    struct flow_case c;
    flow_case_open(&c, dim, false, boundary);
    flow_case_steps(&c, shape, radius, 1);
    if (dim == 3)
        check_volumes(&c, scheme, few);
    else
        check_images(&c, few);
    flow_case_close(&c);
}

Test(register_stream, stars_under_every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        check_taps(TAPS_STAR, 1, 3, (enum vf_boundary)boundary, direct, false);
        check_taps(TAPS_STAR, 2, 2, (enum vf_boundary)boundary, flat, false);
    }
}

Test(register_stream, boxes_under_every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_taps(TAPS_BOX, 1, 3, (enum vf_boundary)boundary, shared, boundary % 2 == 1);
}

Test(register_stream, other_tables)
{
    check_taps(TAPS_STAR, 3, 3, VF_MIRROR, shared, true);
    check_taps(TAPS_BOX, 1, 3, VF_CONSTANT, direct, true);
    check_taps(TAPS_X, 5, 3, VF_WRAP, direct, true);
    check_taps(TAPS_Y, 4, 3, VF_REFLECT, shared, true);
    check_taps(TAPS_BOX, 2, 2, VF_CONSTANT, flat, true);
    check_taps(TAPS_X, 9, 2, VF_REFLECT, flat, true);
}

static void check_body(enum vf_stencil_id stencil, int dim, enum vf_boundary boundary, bool precise,
                       const char *const *scheme)
{
    struct flow_case c;
    flow_case_open(&c, dim, precise, boundary);
    const int inputs = vf_stencil(stencil)->inputs[dim - 2], outputs = vf_stencil(stencil)->outputs[dim - 2],
              input = flow_case_sources(&c, inputs);
    flow_case_sinks(&c, flow_case_body(&c, stencil, input), outputs);
    if (dim == 3)
        check_volumes(&c, scheme, true);
    else
        check_images(&c, true);
    flow_case_close(&c);
}

Test(register_stream, bodies_of_many_fields)
{
    static const char *const one_cell[] = {
        "register-stream:block=16x4x1:work=1x1x1:stream=4:variant=shared",
        "register-stream:block=16x4x1:work=1x1x1:stream=4:variant=direct",
        NULL,
    };
    check_body(VF_STENCIL_structure_tensor, 3, VF_CONSTANT, false, direct);
    check_body(VF_STENCIL_diffusion_step, 3, VF_NEAREST, false, one_cell);
    check_body(VF_STENCIL_diffusion_step, 2, VF_MIRROR, false, flat);
    check_body(VF_STENCIL_eed_surface_direction, 2, VF_WRAP, false, flat);
    check_body(VF_STENCIL_hessian_eigenvalues, 3, VF_REFLECT, false, shared);
}

/* Bodies whose upper faces are the next plane's lower ones, over several chunks. */
Test(register_stream, faces_that_planes_share)
{
    check_body(VF_STENCIL_perona_malik_quadratic, 3, VF_WRAP, true, shared);
    check_body(VF_STENCIL_perona_malik_exp, 3, VF_CONSTANT, false, direct);
    check_body(VF_STENCIL_perona_malik_exp, 2, VF_MIRROR, false, flat);
}

/* Where the short way of dividing leaves doubt: in every cell, in some, for a conductance of 0, and for
 * values of any bits, NaN among them. Voxels are cubes, which the kernel is compiled for. */
Test(register_stream, quotients_in_doubt)
{
    static const double inverse_k[] = {0x1p70, 0x1p58, INFINITY, 1};
    for (size_t i = 0; i < sizeof inverse_k / sizeof *inverse_k; i++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, VF_REFLECT);
        const int input = flow_case_sources(&c, 1);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, input), 1);
        for (int axis = 0; axis < 3; axis++)
            c.stage[0].param[axis] = 1;
        c.stage[0].param[VF_PM_INVERSE_K] = inverse_k[i];
        c.has_any_bits = inverse_k[i] == 1;
        flow_case_check(&c, shared, 33, 9, 7, 0, 7);
        flow_case_check(&c, (const char *const[]){"global-read:block=32x2x1:work=4x1x1", NULL}, 33, 9, 7, 0,
                        7);
        flow_case_close(&c);
    }
}

Test(register_stream, roots_of_nothing)
{
    struct flow_case c;
    flow_case_open(&c, 3, false, VF_NEAREST);
    c.is_sparse = true;
    flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_gradient_magnitude, flow_case_sources(&c, 1)), 1);
    check_volumes(&c, shared, true);
    flow_case_close(&c);
}

Test(register_stream, types_and_launch_switches)
{
    static const char *const switches[] = {
        "register-stream:block=32x2x1:work=4x1x1:stream=3:grid=flat",
        "register-stream:block=4x8x1:work=4x1x1:stream=3:virtual=1:variant=shared",
        "register-stream:block=96x1x1:work=1x2x1:stream=100",
        "register-stream:block=4x8x1:work=8x1x1:stream=7",
    };
    for (int type = VF_U8; type <= VF_F64; type++) {
        struct flow_case c;
        flow_case_open(&c, 3, type == VF_F64 || type == VF_U32, VF_REFLECT);
        c.source_type[0] = c.sink_type[0] = (enum vf_type)type;
        const int input = flow_case_sources(&c, 1);
        flow_case_sinks(&c, flow_case_linear(&c, TAPS_EDGES, (int[]){1, 1, 1}, input, 1), 1);
        const char *const one[] = {switches[type % 4], NULL};
        flow_case_check(&c, one, 67, 11, 8, 0, 8);
        flow_case_close(&c);
    }
}
