/* global-read: spans, work along each axis, launch switches. */
#include <criterion/criterion.h>
#include <string.h>

#include "tile_cases.h"

static const struct tile_size tile = {32, 8, 2};
static const char *const usual[] = {"global-read:block=8x4x1:work=4x2x2",
                                    "global-read:block=32x1x1:work=4x1x1:variant=lines-span", NULL};

Test(global_read, every_way_of_cutting_the_grid)
{
    static const char *const every[] = {
        "global-read:block=8x4x1:work=4x2x2",
        "global-read:block=8x2x2:work=8x1x3:grid=flat",
        "global-read:block=16x4x1:work=3x2x1:virtual=1:interior=0",
        "global-read:block=32x1x1:work=4x1x1:variant=lines-span",
        "global-read:block=16x2x1:work=3x1x1:variant=lines-span:virtual=1",
        NULL,
    };
    check_volumes(TAPS_STAR, 1, VF_NEAREST, tile, every);
}

Test(global_read, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_volumes(TAPS_STAR, 1, (enum vf_boundary)boundary, tile,
                      (const char *const[]){"global-read:block=8x4x1:work=4x2x1", NULL});
    check_volumes(TAPS_STAR, 1, VF_CONSTANT, tile, usual);
    check_images(TAPS_STAR, 3, VF_CONSTANT, (struct tile_size){32, 8, 1},
                 (const char *const[]){"global-read:block=8x4x1:work=4x2x1", NULL});
}

Test(global_read, every_type)
{
    check_types((const char *const[]){"global-read:block=8x4x1:work=4x2x1", NULL});
}

Test(global_read, small_results)
{
    /* Streaming schemes store by functions of their own. */
    check_small_results(
        (const char *const[]){"global-read:block=8x4x1:work=4x2x1",
                              "register-stream:block=16x2x1:work=8x2x1:stream=5:variant=direct", NULL});
}

Test(global_read, inputs_of_all_kinds)
{
    check_inputs(usual, (const char *const[]){"global-read:block=16x4x1:work=1x1x1", NULL});
}

Test(global_read, taps_that_are_loops)
{
    check_volumes(TAPS_X, 36, VF_CONSTANT, tile,
                  (const char *const[]){"global-read:block=8x4x1:work=4x1x1", NULL});
}

/* Also with holes, where NaN and infinities are beside what is read, and so wide that packs are cells. */
Test(global_read, tables_that_are_loops)
{
    static const struct {
        enum flow_taps shape;
        int dim, radius;
        bool is_double;
        enum vf_boundary boundary;
    } cases[] = {{TAPS_BOX, 3, 3, false, VF_MIRROR},    {TAPS_EDGES, 3, 4, false, VF_CONSTANT},
                 {TAPS_EDGES, 3, 4, true, VF_WRAP},     {TAPS_BOX, 2, 6, false, VF_REFLECT},
                 {TAPS_BOX, 2, 36, false, VF_CONSTANT}, {TAPS_BOX, 2, 8, true, VF_NEAREST}};
    static const char *const schemes[] = {"global-read:block=8x4x1:work=4x2x1", NULL};
    static const char *const refused[] = {"register-stream", "associative", "sliding-tile",
                                          "small-tile",      "big-tile",    "time-tile"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool flat = cases[i].dim == 2;
        const int radius = cases[i].radius;
        struct flow_case c;
        flow_case_open(&c, cases[i].dim, cases[i].is_double, cases[i].boundary);
        c.has_any_bits = !cases[i].is_double;
        int field = flow_case_sources(&c, 1);
        field = flow_case_linear(&c, cases[i].shape, (int[]){flat ? 0 : radius, radius, radius}, field, 1);
        flow_case_sinks(&c, field, 1);
        flow_case_check(&c, schemes, 61, 13, flat ? 2 : 9, 0, flat ? 2 : 9);
        if (!flat)
            flow_case_check(&c, schemes, 33, 9, 12, 4, 7);
        struct vf_kernel_case kernel = {.flow = &c.flow, .nx = 61, .ny = 13, .nz = 9};
        vf_kernel_case_derive(&kernel);
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
            cr_expect_str_eq(vf_gpu_scheme_refuses(vf_gpu_scheme(refused[k], strlen(refused[k])), &kernel),
                             "a table has too many weights to be written out");
        flow_case_close(&c);
    }
}

/* Packs of bodies, whose rows are read before; with any bits, which leave short ways in doubt. */
Test(global_read, bodies)
{
    static const struct {
        enum vf_stencil_id body;
        int dim;
        enum vf_boundary boundary;
        const char *scheme;
    } cases[] = {
        {VF_STENCIL_and_direction, 3, VF_NEAREST, "global-read:block=8x4x1:work=4x1x1"},
        {VF_STENCIL_diffusion_step, 3, VF_CONSTANT, "global-read:block=8x4x1:work=4x2x2"},
        {VF_STENCIL_hessian, 3, VF_CONSTANT, "global-read:block=8x4x1:work=4x1x1"},
        {VF_STENCIL_perona_malik_quadratic, 2, VF_WRAP, "global-read:block=8x4x1:work=4x2x1"},
        {VF_STENCIL_gradient_magnitude, 3, VF_MIRROR,
         "global-read:block=32x1x1:work=4x1x1:variant=lines-span"},
    };
    static const int shapes[][3] = {{61, 13, 7}, {64, 8, 5}, {35, 9, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct vf_stencil *stencil = vf_stencil(cases[i].body);
        const int which = cases[i].dim - 2;
        for (int any = 0; any < 2; any++) {
            struct flow_case c;
            flow_case_open(&c, cases[i].dim, false, cases[i].boundary);
            c.has_any_bits = any == 1;
            const int input = flow_case_sources(&c, stencil->inputs[which]);
            flow_case_sinks(&c, flow_case_body(&c, cases[i].body, input), stencil->outputs[which]);
            const char *const scheme[] = {cases[i].scheme, NULL};
            for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
                flow_case_check(&c, scheme, shapes[n][0], shapes[n][1], shapes[n][2], any,
                                shapes[n][2] - any);
            flow_case_close(&c);
        }
    }
}
