#include "tile_cases.h"

static void open_weights(struct flow_case *c, int dim, bool is_double, enum flow_taps shape, int radius,
                         enum vf_boundary boundary)
{
    flow_case_open(c, dim, is_double, boundary);
    flow_case_steps(c, shape, radius, 1);
}

void check_volumes(enum flow_taps shape, int radius, enum vf_boundary boundary, struct tile_size tile,
                   const char *const *scheme)
{
    const int shapes[][3] = {
        {1, 1, 1},
        {1, 9, 2},
        {7, 1, 3},
        {3, 2, 5},
        {tile.x - 1, tile.y + 1, tile.z + 1},
        {tile.x, tile.y, 2 * tile.z - 1},
        {tile.x + 1, tile.y - 1, tile.z},
        {2 * tile.x + 3, 2 * tile.y + 1, tile.z + 2},
        {3 * tile.x, 3 * tile.y, 3 * tile.z},
    };
    struct flow_case c;
    open_weights(&c, 3, false, shape, radius, boundary);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int *n = shapes[i];
        flow_case_check(&c, scheme, n[0], n[1], n[2], 0, n[2]);
        if (n[2] > 2)
            flow_case_check(&c, scheme, n[0], n[1], n[2], 1, n[2] - 1);
    }
    flow_case_close(&c);
}

void check_images(enum flow_taps shape, int radius, enum vf_boundary boundary, struct tile_size tile,
                  const char *const *scheme)
{
    const int shapes[][2] = {
        {1, 1}, {1, 9}, {6, 1}, {tile.x - 1, 2 * tile.y + 1}, {tile.x, tile.y}, {3 * tile.x + 2, 3 * tile.y}};
    struct flow_case c;
    open_weights(&c, 2, false, shape, radius, boundary);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        flow_case_check(&c, scheme, shapes[i][0], shapes[i][1], 2, 0, 2);
    flow_case_close(&c);
}

void check_types(const char *const *scheme)
{
    for (int type = VF_U8; type <= VF_F64; type++) {
        struct flow_case c;
        open_weights(&c, 3, false, TAPS_STAR, 1, VF_MIRROR);
        c.source_type[0] = c.sink_type[0] = (enum vf_type)type;
        flow_case_check(&c, scheme, 75, 11, 5, 0, 5);
        flow_case_close(&c);
    }
}

void check_small_results(const char *const *scheme)
{
    for (int type = VF_U8; type <= VF_I16; type++) {
        struct flow_case c;
        open_weights(&c, 3, false, TAPS_X, 1, VF_NEAREST);
        c.sink_type[0] = (enum vf_type)type;
        c.has_any_bits = true;
        flow_case_check(&c, scheme, 75, 11, 5, 0, 5);
        flow_case_close(&c);
    }
}

static void check_one(struct flow_case *c, const char *const *scheme)
{
    flow_case_check(c, scheme, 77, 19, 12, 0, 12);
    flow_case_check(c, scheme, 77, 19, 12, 4, 9);
    flow_case_close(c);
}

void check_inputs(const char *const *scheme, const char *const *light)
{
    struct flow_case c;
    open_weights(&c, 3, true, TAPS_STAR, 1, VF_CONSTANT);
    check_one(&c, scheme);

    flow_case_open(&c, 3, false, VF_REFLECT);
    const int both = flow_case_sources(&c, 2);
    const int made = flow_case_linear(&c, TAPS_X, (int[]){0, 0, 2}, both, 1);
    flow_case_linear(&c, TAPS_Z, (int[]){1, 0, 0}, both + 1, 1);
    flow_case_sinks(&c, made, 2);
    check_one(&c, scheme);

    static const enum vf_stencil_id bodies[] = {VF_STENCIL_diffusion_step, VF_STENCIL_eed_surface_direction,
                                                VF_STENCIL_hessian};
    for (int i = 0; i < 3; i++) {
        flow_case_open(&c, 3, false, VF_NEAREST);
        const int input = flow_case_sources(&c, vf_stencil(bodies[i])->inputs[1]);
        flow_case_sinks(&c, flow_case_body(&c, bodies[i], input), vf_stencil(bodies[i])->outputs[1]);
        check_one(&c, light);
    }
}
