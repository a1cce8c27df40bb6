/* Stages whose bodies are not the program's: what schemes know of them. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernel_source.h"
#include "kernels/scheme.h"

static const struct vf_stencil twice = {.name = "twice",
                                        .inputs = {1, 1},
                                        .outputs = {1, 1},
                                        .reach = {3, 2, 1},
                                        .cost = 5,
                                        .text = "VF_STENCIL(twice) { PUT(0, R(2) * AT(0, 0, 0, 0)); }\n"};

static struct vf_stage stage_of(int input, int output)
{
    return (struct vf_stage){.name = "TWICE",
                             .stencil = VF_STENCIL_EXTERNAL,
                             .external = &twice,
                             .input_count = 1,
                             .output_count = 1,
                             .input = {input},
                             .output = {output}};
}

Test(external_stencil, its_reach_is_its_own)
{
    const struct vf_stage stage = stage_of(0, 1);
    int halo[3];
    vf_stage_halo(&stage, 3, 0, halo);
    cr_assert(halo[0] == 3 && halo[1] == 2 && halo[2] == 1);
    vf_stage_halo(&stage, 2, 0, halo);
    cr_assert(halo[0] == 0 && halo[1] == 2 && halo[2] == 1);
}

static int count(const char *text, const char *word)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        found++;
    return found;
}

Test(external_stencil, a_kernel_holds_its_body_once)
{
    struct vf_stage stage[2] = {stage_of(0, 1), stage_of(1, 2)};
    enum vf_field_kind kind[3] = {VF_FIELD_IMAGE};
    int source = 0, sink = 2;
    const struct vf_flow flow = {.dim = 3,
                                 .field_count = 3,
                                 .field_kind = kind,
                                 .stage_count = 2,
                                 .stage = stage,
                                 .source_count = 1,
                                 .sink_count = 1,
                                 .source = &source,
                                 .sink = &sink};
    struct vf_kernel_case c = {.flow = &flow, .source_type = {VF_F32}, .sink_type = {VF_F32}};
    const struct vf_kernel_config config = {.block = {32, 4, 1}, .work = {1, 1, 1}};
    struct vf_text text = {0};
    struct vf_error error;
    c.nx = c.ny = c.nz = 64;
    vf_kernel_case_derive(&c);
    cr_assert_eq(c.operations, 10);
    cr_assert_eq(c.halo[0], 6);
    cr_assert_eq(vf_kernel_source(&c, vf_gpu_schemes[0], &config, &text, &error), VF_OK, "%s", error.text);
    cr_assert_eq(count(text.data, twice.text), 1);
    cr_assert_eq(count(text.data, "body_twice(c)"), 2);
    cr_assert_eq(count(text.data, "filters/stencils/"), 0);
    vf_text_free(&text);
}
