/* Which stages row-stream takes as one, and which it leaves as they are. */
#include <criterion/criterion.h>

#include "filters/stencils/params.h"
#include "kernels/cpu_row_fused.h"
#include "pipeline.h"

struct fusion {
    struct last_flow last;
    struct vf_row_fused fused;
};

/* The last run, of one iteration, whose stages the test may change before it fuses them. */
static void open_fusion(struct fusion *f, const char *chain, int dim)
{
    const struct vf_plan_request request = {.context = {.dim = dim, .aspect = {1, 2, 3}},
                                            .nx = 9,
                                            .ny = 8,
                                            .nz = dim == 3 ? 7 : 1,
                                            .batch = 1,
                                            .threads = 1,
                                            .source_type = VF_F32,
                                            .result_type = VF_F32};
    last_flow_open(&f->last, chain, request);
}

static void fuse(struct fusion *f)
{
    struct vf_error error;
    const struct vf_job job = {.flow = &f->last.flow, .nx = 9, .ny = 8, .nz = f->last.plan.nz};
    cr_assert_eq(vf_row_fuse(&job, &f->fused, &error), VF_OK, "%s", error.text);
}

static void close_fusion(struct fusion *f)
{
    vf_row_fused_close(&f->fused);
    last_flow_close(&f->last);
}

static int find(const struct vf_flow *flow, enum vf_stencil_id stencil)
{
    int i = 0;
    while (i < flow->stage_count && flow->stage[i].stencil != stencil)
        i++;
    return i;
}

/* What diffusion_step reads is what the fused stage gives, in its order, and then u, its last input. */
static void expect_step_after(const struct vf_flow *flow, int i)
{
    const struct vf_stage *flux = &flow->stage[i], *step = &flow->stage[i + 1];
    cr_assert_eq(step->stencil, VF_STENCIL_diffusion_step);
    cr_assert_eq(flux->output_count + 1, step->input_count);
    for (int k = 0; k < flux->output_count; k++)
        cr_assert_eq(flux->output[k], step->input[k], "output %d", k);
    cr_assert_eq(flux->input[flux->input_count - 1], step->input[step->input_count - 1]);
}

Test(row_fused, three_of_eed)
{
    for (int dim = 2; dim <= 3; dim++) {
        struct fusion f;
        open_fusion(&f, "eed:iterations=1:k=4", dim);
        fuse(&f);
        const struct vf_flow *flow = f.fused.job.flow;
        const int i = find(flow, VF_STENCIL_eed_flux);
        cr_assert_eq(flow->stage_count, f.last.flow.stage_count - 2);
        cr_assert_eq(i, flow->stage_count - 2);
        cr_assert_eq(flow->stage[i].input[0], flow->stage[i - 1].output[0], "the smoothed image");
        for (int axis = 0; axis < 3; axis++)
            cr_assert_eq(flow->stage[i].param[axis], 0.5 / (axis + 1));
        cr_assert_eq(flow->stage[i].param[VF_EED_K], 4);
        expect_step_after(flow, i);
        close_fusion(&f);
    }
}

Test(row_fused, two_of_those_with_directions)
{
    static const char *const chains[] = {"ced:iterations=1", "and:iterations=1:k=4",
                                         "eed:rho=1:iterations=1:k=4",
                                         "eed:rho=1:mode=line:iterations=1:k=4"};
    for (int dim = 2; dim <= 3; dim++)
        for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
            struct fusion f;
            open_fusion(&f, chains[c], dim);
            f.last.flow.stage[find(&f.last.flow, VF_STENCIL_diffusion_tensor)].param[VF_ABOUT_FIRST] = 0.7;
            f.last.flow.stage[find(&f.last.flow, VF_STENCIL_diffusion_tensor)].param[VF_ABOUT_SLOPE] = -0.3;
            fuse(&f);
            const struct vf_flow *flow = f.fused.job.flow;
            const int i = find(flow, VF_STENCIL_direction_flux);
            cr_assert_eq(flow->stage_count, f.last.flow.stage_count - 1, "%s", chains[c]);
            cr_assert_eq(i, flow->stage_count - 2, "%s", chains[c]);
            for (int k = 0; k <= dim; k++)
                cr_assert_eq(flow->stage[i].input[k], flow->stage[i - 1].output[k], "%s", chains[c]);
            for (int axis = 0; axis < 3; axis++)
                cr_assert_eq(flow->stage[i].param[axis], 0.5 / (axis + 1), "%s", chains[c]);
            cr_assert_eq(flow->stage[i].param[VF_FLUX_FIRST], 0.7);
            cr_assert_eq(flow->stage[i].param[VF_FLUX_SLOPE], -0.3);
            expect_step_after(flow, i);
            close_fusion(&f);
        }
}

static void expect_as_it_was(struct fusion *f, const char *why)
{
    fuse(f);
    cr_assert_eq(f->fused.job.flow, &f->last.flow, "%s", why);
    close_fusion(f);
}

/* A stage of the flow, which the test changes. */
static struct vf_stage *stage(struct fusion *f, enum vf_stencil_id stencil)
{
    const int i = find(&f->last.flow, stencil);
    cr_assert_lt(i, f->last.flow.stage_count);
    return &f->last.flow.stage[i];
}

Test(row_fused, not_what_others_want)
{
    struct fusion f;
    open_fusion(&f, "gradient,gaussian", 3);
    expect_as_it_was(&f, "nothing to fuse");

    open_fusion(&f, "ced:iterations=1", 3);
    f.last.flow.sink[0] = stage(&f, VF_STENCIL_diffusion_tensor)->output[1];
    expect_as_it_was(&f, "a component off the diagonal is stored");

    open_fusion(&f, "ced:iterations=1", 3);
    stage(&f, VF_STENCIL_diffusion_step)->input[0] = stage(&f, VF_STENCIL_diffusion_tensor)->output[1];
    expect_as_it_was(&f, "another stage reads a component off the diagonal");

    open_fusion(&f, "eed:iterations=1:k=4", 3);
    f.last.flow.sink[0] = stage(&f, VF_STENCIL_structure_tensor)->output[5];
    expect_as_it_was(&f, "a product is stored");

    open_fusion(&f, "eed:iterations=1:k=4", 3);
    stage(&f, VF_STENCIL_diffusion_step)->input[0] = stage(&f, VF_STENCIL_structure_tensor)->output[0];
    expect_as_it_was(&f, "another stage reads a product");
}

Test(row_fused, not_what_is_wired_otherwise)
{
    struct fusion f;
    open_fusion(&f, "ced:iterations=1", 3);
    stage(&f, VF_STENCIL_flux_cross)->input[0] = stage(&f, VF_STENCIL_diffusion_tensor)->output[0];
    expect_as_it_was(&f, "what crosses is of other components");

    open_fusion(&f, "eed:iterations=1:k=4", 3);
    stage(&f, VF_STENCIL_eed_tensor)->input[0] = stage(&f, VF_STENCIL_structure_tensor)->output[1];
    expect_as_it_was(&f, "the tensor is of other products");

    open_fusion(&f, "eed:iterations=1:k=4", 3);
    stage(&f, VF_STENCIL_flux_cross)->param[1] *= 2;
    expect_as_it_was(&f, "gradients in different units");
}
