/* Bodies read and make what filters/stencils.def says of them: schemes load no more than that. */
#include <criterion/criterion.h>

#include "stencil_variants.h"

/* Each of its ways, which may depend on values. */
static struct body_trace trace_of(const struct stencil_variant *variant, enum vf_stencil_id id)
{
    struct body_trace trace = {.state = 2463534242u};
    for (int i = 0; i < 100; i++)
        variant->body[id](&trace);
    return trace;
}

static void check_body(const struct stencil_variant *variant, enum vf_stencil_id id)
{
    const struct vf_stage stage = {.stencil = id};
    const struct vf_stencil *stencil = vf_stencil(id);
    const struct body_trace trace = trace_of(variant, id);
    const int dim = variant->dim;
    for (int k = 0; k < VF_MAX_INPUTS; k++) {
        int halo[3] = {0, 0, 0};
        if (k < stencil->inputs[dim - 2])
            vf_stage_halo(&stage, dim, k, halo);
        cr_expect_eq(trace.is_read[k], k < stencil->inputs[dim - 2], "%s, %dD: input %d is%s read",
                     stencil->name, dim, k, trace.is_read[k] ? "" : " not");
        for (int axis = 0; axis < 3; axis++)
            cr_expect_eq(trace.halo[k][axis], halo[axis],
                         "%s, %dD: input %d is read up to %d along %c, its line says %d", stencil->name, dim,
                         k, trace.halo[k][axis], "zyx"[axis], halo[axis]);
        cr_expect(!trace.is_read_aside[k] || k >= stencil->star_inputs[dim - 2],
                  "%s, %dD: input %d is read off the axes", stencil->name, dim, k);
    }
    for (int k = 0; k < VF_MAX_OUTPUTS; k++)
        cr_expect_eq(trace.is_made[k], k < stencil->outputs[dim - 2], "%s, %dD: output %d is%s made",
                     stencil->name, dim, k, trace.is_made[k] ? "" : " not");
}

Test(stencils, bodies_read_and_make_what_their_lines_say)
{
    static const struct stencil_variant *const variants[] = {&stencil_f32_2d, &stencil_f32_3d,
                                                             &stencil_f64_2d, &stencil_f64_3d};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (int id = VF_STENCIL_EXTERNAL + 1; id < VF_STENCIL_COUNT; id++)
            if (variants[i]->dim == 3 || id != VF_STENCIL_difference_z)
                check_body(variants[i], (enum vf_stencil_id)id);
}
