/* field-stream: what bodies make for one another in one kernel, on grids and slabs smaller and larger than
 * its tiles; the reference's bits. */
#include <criterion/criterion.h>

#include "filters/stencils/params.h"
#include "flow_case.h"

/* Tiles of one and two rows a thread, chunks, and the switches of tiles. */
static const char *const schemes[][2] = {
    {"field-stream:block=8x8:work=4x1x1:stream=5", NULL},
    {"field-stream:block=4x8:work=4x2x1:stream=700:grid=flat", NULL},
    {"field-stream:block=4x8:work=8x1x1:stream=4:virtual=1", NULL},
};
static const char *const double_schemes[] = {"field-stream:block=8x8:work=2x1x1:stream=3", NULL};

/* The grid's ends lie in threads alike, so that a kernel is compiled once for all of them. */
static const int volumes[][3] = {{5, 6, 4}, {37, 30, 9}, {61, 14, 2}, {33, 16, 1}};

static void check(struct flow_case *c, const char *const *scheme)
{
    const bool thin = c->flow.boundary != VF_MIRROR && c->flow.boundary != VF_CONSTANT;
    flow_case_check_sizes(c, scheme, volumes, sizeof volumes / sizeof *volumes - !thin);
}

/* The latest stage's inputs, for one that does not read consecutive fields. */
static void set_inputs(struct flow_case *c, const int *input)
{
    struct vf_stage *stage = &c->stage[c->flow.stage_count - 1];
    for (int k = 0; k < stage->input_count; k++)
        stage->input[k] = input[k];
}

/* A step of tensor diffusion; what lies between its two levels are results too if `all`. */
static void open_diffusion(struct flow_case *c, bool precise, enum vf_boundary boundary, bool all)
{
    flow_case_open(c, 3, precise, boundary);
    const int smooth = flow_case_sources(c, 2), u = smooth + 1;
    const int squares = flow_case_body(c, VF_STENCIL_structure_tensor, smooth);
    const int d = flow_case_body(c, VF_STENCIL_eed_tensor, squares);
    const int cross = flow_case_body(c, VF_STENCIL_flux_cross, d);
    set_inputs(c, (int[]){d + 1, d + 2, d + 4, u});
    for (int k = 0; k < 3; k++)
        c->kind[cross + k] = c->kind[d + k] = c->kind[d + 3 + k] = VF_FIELD_DERIVED;
    const int next = flow_case_body(c, VF_STENCIL_diffusion_step, d);
    set_inputs(c, (int[]){d, d + 3, d + 5, cross, cross + 1, cross + 2, u});
    flow_case_sinks(c, next, 1);
    if (all)
        flow_case_sinks(c, cross, 3);
}

Test(field_stream, tensor_diffusion)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        struct flow_case c;
        open_diffusion(&c, false, (enum vf_boundary)boundary, boundary % 2 == 1);
        check(&c, schemes[boundary % 3]);
    }
    struct flow_case c;
    open_diffusion(&c, true, VF_CONSTANT, true);
    check(&c, double_schemes);
}

/* Squared gradients too small for short ways: all of them, and one in a few hundred, so that of a block's
 * warps some make a plane by long ways and others do not. */
Test(field_stream, doubt)
{
    static const double scale[] = {1e-22, 6.5e-21};
    for (int i = 0; i < 2; i++) {
        struct flow_case c;
        open_diffusion(&c, false, VF_NEAREST, true);
        for (int axis = 0; axis < 3; axis++)
            c.stage[0].param[axis] = scale[i];
        c.stage[1].param[VF_EED_K] = 10 * scale[i];
        check(&c, schemes[1 - i]);
    }
}

/* Three levels, each of which reads along all axes; a source that the last alone reads. What the first two
 * make are results too in one of two. */
Test(field_stream, levels)
{
    for (int boundary = VF_MIRROR; boundary < VF_BOUNDARY_COUNT; boundary++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, (enum vf_boundary)boundary);
        const int in = flow_case_sources(&c, 2);
        int field = in;
        for (int i = 0; i < 2; i++)
            field = flow_case_linear(&c, TAPS_STAR, (int[]){1, 1, 1}, field, 1);
        const int last = flow_case_body(&c, VF_STENCIL_flux_cross, in);
        set_inputs(&c, (int[]){in + 1, in, field - 1, field});
        flow_case_sinks(&c, last, 3);
        if (boundary % 2 == 0)
            flow_case_sinks(&c, field - 1, 2);
        check(&c, schemes[(boundary + 1) % 3]);
    }
}

/* Faces that planes share, in both levels. */
Test(field_stream, faces)
{
    for (int boundary = VF_REFLECT; boundary < VF_BOUNDARY_COUNT; boundary += 2) {
        struct flow_case c;
        flow_case_open(&c, 3, false, (enum vf_boundary)boundary);
        const int in = flow_case_sources(&c, 1);
        const int middle = flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, in);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_perona_malik_quadratic, middle), 1);
        check(&c, schemes[(boundary + 2) % 3]);
    }
}

Test(field_stream, types)
{
    for (int type = 0; type < VF_TYPE_COUNT; type += 3) {
        struct flow_case c;
        open_diffusion(&c, false, VF_CONSTANT, false);
        c.source_type[0] = (enum vf_type)type;
        c.source_type[1] = (enum vf_type)((type + 3) % VF_TYPE_COUNT);
        c.sink_type[0] = (enum vf_type)((type + 5) % VF_TYPE_COUNT);
        check(&c, schemes[0]);
    }
}
