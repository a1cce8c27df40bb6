/* warp-stream: runs of stages of images, on grids that just hold a strip and larger ones of any remainder;
 * the reference's bits. */
#include <criterion/criterion.h>

#include "device.h"
#include "filters/stencils/params.h"
#include "flow_case.h"

/* Chunks shorter and longer than what all stages reach; all switches. */
static const char *const schemes[] = {
    "warp-stream:stream=9",
    "warp-stream:stream=17:grid=flat",
    "warp-stream:stream=700:interior=0:virtual=1",
};

static void check(struct flow_case *c, int scheme)
{
    /* Rows of whole packs, or not. The first ones are too narrow unless the grid is periodic. */
    static const int images[2][3][3] = {{{40, 2, 1}, {128, 9, 3}, {388, 33, 1}},
                                        {{37, 2, 1}, {131, 9, 3}, {331, 71, 1}}};
    const char *const one[] = {schemes[scheme % 3], NULL};
    for (int i = c->flow.boundary == VF_WRAP ? 0 : 1; i < 3; i++) {
        const int *size = images[scheme % 2][i];
        flow_case_check(c, one, size[0], size[1], size[2], 0, size[2]);
    }
    flow_case_close(c);
}

static void check_steps(enum flow_taps shape, int radius, int steps, bool precise, int boundary, int scheme)
{
    struct flow_case c;
    flow_case_open(&c, 2, precise, (enum vf_boundary)boundary);
    flow_case_steps(&c, shape, radius, steps);
    check(&c, scheme);
}

Test(warp_stream, steps)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        check_steps(TAPS_STAR, 1, 4, false, boundary, boundary);
        check_steps(TAPS_BOX, 2, 2, false, boundary, (boundary + 1) % 2);
    }
    check_steps(TAPS_BOX, 1, 2, true, VF_MIRROR, 0);
}

/* Columns that are not the next lane's. */
Test(warp_stream, far_columns)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_steps(TAPS_X, 7, 1, false, boundary, boundary);
    check_steps(TAPS_BOX, 3, 1, true, VF_MIRROR, 0);
}

/* Fields of either kind stand for other values outside; the middle field is a result too. */
Test(warp_stream, every_type_of_element)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++) {
        struct flow_case c;
        flow_case_open(&c, 2, false, VF_CONSTANT);
        const int in = flow_case_sources(&c, 1);
        const int middle = flow_case_linear(&c, TAPS_STAR, (int[]){1, 1, 1}, in, 1);
        c.kind[middle] = VF_FIELD_DERIVED;
        const int out = flow_case_linear(&c, TAPS_BOX, (int[]){1, 1, 1}, middle, 1);
        flow_case_sinks(&c, middle, 2);
        c.source_type[0] = (enum vf_type)type;
        /* What is read on is a result in the compute type. */
        c.sink_type[0] = VF_F32;
        c.sink_type[out - middle] = (enum vf_type)((type + 1) % VF_TYPE_COUNT);
        check(&c, type);
    }
}

/* Bodies: closed faces, several inputs, one read at the cell's own place only. */
static void check_bodies(enum vf_boundary boundary, bool precise, int scheme)
{
    struct flow_case c;
    flow_case_open(&c, 2, precise, boundary);
    const int in = flow_case_sources(&c, 5);
    const int step = flow_case_body(&c, VF_STENCIL_diffusion_step, in);
    flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_structure_tensor, step), 3);
    check(&c, scheme);
}

Test(warp_stream, bodies)
{
    check_bodies(VF_NEAREST, false, 0);
    check_bodies(VF_CONSTANT, true, 1);
    check_bodies(VF_WRAP, false, 2);
}

/* Quotients that short ways leave in doubt, of faces that rows share, at whatever k. */
Test(warp_stream, doubt)
{
    for (int boundary = VF_REFLECT; boundary < VF_BOUNDARY_COUNT; boundary += 2) {
        struct flow_case c;
        flow_case_open(&c, 2, false, (enum vf_boundary)boundary);
        const int in = flow_case_sources(&c, 1);
        const int middle = flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, in);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, middle), 1);
        c.stage[0].param[VF_PM_INVERSE_K] = 1e18;
        check(&c, boundary);
    }
}

Test(warp_stream, whole_filters)
{
    static const char *const chains[] = {"perona-malik:k=9:iterations=3", "gaussian:sigma=1,gradient"};
    static const char *const one[] = {"warp-stream:stream=20", NULL};
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct pipeline p = {.chain = chains[i],
                                   .type = VF_U16,
                                   .result_type = VF_U16,
                                   .nx = 203,
                                   .ny = 51,
                                   .nz = 1,
                                   .boundary = VF_REFLECT};
        device_check(&p, cuda, one);
    }
    vf_cuda_close(cuda);
}
