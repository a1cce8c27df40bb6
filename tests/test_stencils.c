/* Bodies read and make what their lines of filters/stencils.def say: schemes load no more than that. */
#include <criterion/criterion.h>

#include "kernels/cpu_rows.h"
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
        cr_expect_eq(trace.is_read[k], k < stencil->inputs[dim - 2],
                     "%s, %dD: input %d is%s read, its line says otherwise", stencil->name, dim, k,
                     trace.is_read[k] ? "" : " not");
        for (int axis = 0; axis < 3; axis++)
            cr_expect_eq(trace.halo[k][axis], halo[axis],
                         "%s, %dD: input %d is read up to %d along %c, its line says %d", stencil->name, dim,
                         k, trace.halo[k][axis], "zyx"[axis], halo[axis]);
        cr_expect(!trace.is_read_aside[k] || k >= stencil->star_inputs[dim - 2],
                  "%s, %dD: input %d is read off the axes, its line counts it among star", stencil->name, dim,
                  k);
    }
    for (int k = 0; k < VF_MAX_OUTPUTS; k++)
        cr_expect_eq(trace.is_made[k], k < stencil->outputs[dim - 2],
                     "%s, %dD: output %d is%s made, its line says otherwise", stencil->name, dim, k,
                     trace.is_made[k] ? "" : " not");
    const bool is_of_dim = stencil->inputs[dim - 2] > 0;
    cr_expect_eq(trace.says_lower_face || trace.most_of_column > 0, is_of_dim && stencil->shared_cost > 0,
                 "%s, %dD: it says%s LOWER_FACE or OF_COLUMN, its line has %d for share", stencil->name, dim,
                 trace.says_lower_face || trace.most_of_column > 0 ? "" : " no", stencil->shared_cost);
    cr_expect(!trace.says_lower_face || trace.most_of_column == 0, "%s says LOWER_FACE and OF_COLUMN",
              stencil->name);
}

/* Schemes that take OF_COLUMN from other voxels read no other column for anything else. */
static void check_columns(const struct stencil_variant *variant, enum vf_stencil_id id)
{
    struct body_trace trace = {.state = 2463534242u};
    const unsigned begins = trace.state;
    variant->body[id](&trace);
    const double made = trace.made[0];
    trace.state = begins;
    trace.has_columns = true;
    variant->body[id](&trace);
    cr_expect_eq(trace.made[0], made, "%s: what it reads of other columns is not in OF_COLUMN alone",
                 vf_stencil(id)->name);
}

/* row-stream computes some words of bodies apart from the rest: a body whose line does not name its word
 * would be slower, to the same bits. */
static void check_word(const struct stencil_variant *variant, enum vf_stencil_id id)
{
    const struct body_trace trace = trace_of(variant, id);
    const char *name = vf_stencil(id)->name;
    const enum vf_stencil_word word = vf_stencil(id)->word;
    if (variant->dim == 3) { /* in 2D they take no passes of their own */
        cr_expect_eq(trace.says_eigenvalues, word == VF_WORD_EIGENVALUES,
                     "%s: its body or its line alone says EIGENVALUES", name);
        cr_expect_eq(trace.says_eigenvector, word == VF_WORD_EIGENVECTOR,
                     "%s: its body or its line alone says EIGENVECTOR", name);
    }
    cr_expect_eq(trace.most_of_column > 0, word == VF_WORD_OF_COLUMN,
                 "%s: its body or its line alone says OF_COLUMN", name);
    if (word == VF_WORD_OF_COLUMN)
        check_columns(variant, id);
    cr_expect_eq(trace.most_in_steps > 0, word == VF_WORD_IN_STEP,
                 "%s: its body or its line alone says IN_STEP", name);
    cr_expect_leq(trace.most_of_column, VF_MOST_OF_COLUMN, "%s: value %d is more than OF_COLUMN has room for",
                  name, trace.most_of_column - 1);
    cr_expect_leq(trace.most_in_steps, VF_MOST_IN_STEPS, "%s: value %d is more than IN_STEP has room for",
                  name, trace.most_in_steps - 1);
    for (enum vf_type type = VF_U8; type <= VF_I16; type++)
        cr_expect_eq(vf_row_bodies_choose(variant->dim, type)->body[id] != NULL, vf_body_is_median(id),
                     "%s: bodies that say OF_COLUMN, and no others, stand in cpu_bodies_integer.c's MEDIANS",
                     name);
}

Test(stencils, bodies_read_and_make_what_their_lines_say)
{
    static const struct stencil_variant *const variants[] = {&stencil_f32_2d, &stencil_f32_3d,
                                                             &stencil_f64_2d, &stencil_f64_3d};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (int id = VF_STENCIL_EXTERNAL + 1; id < VF_STENCIL_COUNT; id++)
            check_body(variants[i], (enum vf_stencil_id)id);
}

Test(stencils, lines_name_the_words_of_bodies)
{
    static const struct stencil_variant *const variants[] = {&stencil_f32_2d, &stencil_f32_3d};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (int id = VF_STENCIL_EXTERNAL + 1; id < VF_STENCIL_COUNT; id++)
            if (vf_stencil((enum vf_stencil_id)id)->inputs[variants[i]->dim - 2] > 0)
                check_word(variants[i], (enum vf_stencil_id)id);
}
