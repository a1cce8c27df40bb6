/* What the author of a filter may forget is said when it is first used, and not found far from there. */
#include <criterion/criterion.h>
#include <string.h>

#include "filters/filter.h"

static enum vf_stencil_id stencil;
static const char *stage_name;
static int repeat, output_count;

static enum vf_status expand(struct vf_expansion *e, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error)
{
    (void)value;
    const int input = 0;
    if (vf_add_stage(e, stage_name, stencil, context->dim, &input, e->output, VF_FIELD_IMAGE, error) == NULL)
        return VF_FAILED;
    e->repeat = repeat;
    e->output_count = output_count;
    return VF_OK;
}

static void expect(const char *text)
{
    const struct vf_filter filter = {.name = "new", .expand = expand};
    const struct vf_context context = {.dim = 2, .aspect = {1, 1, 1}, .filter = "new"};
    struct vf_expansion e;
    struct vf_error error = {.text = ""};
    const enum vf_status status = vf_filter_expand(&filter, &context, NULL, &e, &error);
    if (text == NULL) {
        cr_assert_eq(status, VF_OK, "%s", error.text);
        vf_expansion_free(&e);
        return;
    }
    cr_expect_eq(status, VF_FAILED);
    cr_expect_not_null(strstr(error.text, text), "%s", error.text);
}

Test(expansion, what_a_filter_forgets)
{
    stencil = VF_STENCIL_laplacian, stage_name = "SEVENTH", repeat = 3, output_count = 1;
    expect(NULL);
    stage_name = "EIGHTTHS";
    expect("stage EIGHTTHS: its name has more than 7 letters");
    stage_name = "LAP", stencil = VF_STENCIL_median_3x3x3;
    expect("stage LAP: filters/stencils.def has no 2D outputs of the stencil median_3x3x3");
    stencil = VF_STENCIL_laplacian, output_count = 0;
    expect("new: its expand() sets output_count to 0");
    stencil = VF_STENCIL_hessian, output_count = 3;
    expect("new: its expand() sets output_count to 3");
    repeat = 1;
    expect(NULL);
}
