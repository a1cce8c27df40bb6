/* Lengths: from voxels, physical units and one number for all axes to voxels of each axis. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "pipeline.h"

/* Voxels of 0.5 x 0.5 x 1.25 um. */
static struct vf_context microscope(int dim)
{
    return (struct vf_context){.dim = dim,
                               .spacing = {0.5, 0.5, 1.25},
                               .spacing_known = {true, true, true},
                               .unit = "um",
                               .aspect = {1, 1, 2.5},
                               .filter = "test"};
}

/* The first filter of the chain in this context. */
static enum vf_status expand(const char *chain_text, const struct vf_context *context, struct vf_expansion *e,
                             struct vf_error *error)
{
    struct vf_chain chain = {0};
    enum vf_status status = vf_chain_append(&chain, chain_text, error);
    cr_assert_eq(status, VF_OK, "%s: %s", chain_text, error->text);
    struct vf_context named = *context;
    named.filter = chain.link[0].filter->name;
    status = vf_filter_expand(chain.link[0].filter, &named, chain.link[0].value, e, error);
    vf_chain_free(&chain);
    return status;
}

static bool same_taps(const struct vf_taps *a, const struct vf_taps *b)
{
    bool same = (a == NULL) == (b == NULL) && (a == NULL || a->count == b->count);
    for (int i = 0; same && a != NULL && i < a->count; i++)
        same = a->tap[i].weight == b->tap[i].weight && a->tap[i].dx == b->tap[i].dx &&
               a->tap[i].dy == b->tap[i].dy && a->tap[i].dz == b->tap[i].dz;
    return same;
}

/* Whether two texts are the same filter in a context: the same stages, weights and parameters, to the last
 * bit. */
static bool alike(const char *one, const char *two, const struct vf_context *context)
{
    struct vf_expansion a, b;
    struct vf_error error = {.text = ""};
    cr_assert_eq(expand(one, context, &a, &error), VF_OK, "%s: %s", one, error.text);
    cr_assert_eq(expand(two, context, &b, &error), VF_OK, "%s: %s", two, error.text);
    bool same = a.stage_count == b.stage_count && a.repeat == b.repeat;
    for (int i = 0; same && i < a.stage_count; i++)
        same = strcmp(a.stage[i].name, b.stage[i].name) == 0 && same_taps(a.stage[i].taps, b.stage[i].taps) &&
               memcmp(a.stage[i].param, b.stage[i].param, sizeof a.stage[i].param) == 0;
    vf_expansion_free(&a);
    vf_expansion_free(&b);
    return same;
}

static void expect_alike(const char *one, const char *two, const struct vf_context *context)
{
    cr_expect(alike(one, two, context), "%s is not %s in %dD", one, two, context->dim);
}

static void expect_differ(const char *one, const char *two, const struct vf_context *context)
{
    cr_expect_not(alike(one, two, context), "%s is %s in %dD", one, two, context->dim);
}

/* Expanding fails, and the message holds all the words. */
static void expect_usage(const char *chain, const struct vf_context *context, const char *const *words)
{
    struct vf_expansion e;
    struct vf_error error = {.text = ""};
    cr_expect_eq(expand(chain, context, &e, &error), VF_USAGE, "%s", chain);
    for (; *words != NULL; words++)
        cr_expect(strstr(error.text, *words) != NULL, "%s: no \"%s\" in: %s", chain, *words, error.text);
}

/* ---- physical units ---- */

Test(units, physical_lengths)
{
    const struct vf_context c = microscope(3);
    expect_alike("gaussian:sigma=1um", "gaussian:sigma=2x2x0.8", &c);
    expect_alike("gaussian:sigma=1x0.5x2.5um", "gaussian:sigma=2x1x2", &c);
    expect_alike("gaussian:sigma=1000nm", "gaussian:sigma=1um", &c);
    expect_alike("gaussian:sigma=0.001mm", "gaussian:sigma=1um", &c);
    expect_alike("gaussian:sigma=1\xc2\xb5m", "gaussian:sigma=1um", &c);
    expect_alike("gaussian:sigma=1x0x0um", "gaussian:sigma=2x0x0", &c);
    expect_alike("gradient:sigma=1um", "gradient:sigma=2x2x0.8", &c);
    expect_alike("structure-tensor:sigma=0.5um:rho=2.5um", "structure-tensor:sigma=1x1x0.4:rho=5x5x2", &c);
    expect_differ("gaussian:sigma=1um", "gaussian:sigma=2", &c);
    expect_differ("gaussian:sigma=1um", "gaussian:sigma=1", &c);
}

Test(units, spacing_in_other_units)
{
    static const struct {
        const char *unit;
        double per_um;
    } units[] = {{"nm", 1000}, {"um", 1}, {"mm", 0.001}};
    for (size_t i = 0; i < COUNT(units); i++) {
        struct vf_context c = microscope(3);
        struct vf_expansion e;
        struct vf_error error = {.text = ""};
        strcpy(c.unit, units[i].unit);
        for (int axis = 0; axis < 3; axis++)
            c.spacing[axis] *= units[i].per_um;
        /* 4 um are 8 x 8 x 3.2 voxels, and so radii of 32, 32 and 13, with room for the rounding of the unit.
         */
        cr_assert_eq(expand("gaussian:sigma=4um", &c, &e, &error), VF_OK, "%s: %s", units[i].unit,
                     error.text);
        cr_assert_eq(e.stage_count, 3);
        cr_expect_eq(e.stage[0].taps->halo[2], 32);
        cr_expect_eq(e.stage[1].taps->halo[1], 32);
        cr_expect_eq(e.stage[2].taps->halo[0], 13);
        vf_expansion_free(&e);
    }
}

/* The same bits from end to end. */
Test(units, result)
{
    struct pipeline p = {.chain = "gaussian:sigma=1um",
                         .nx = 17,
                         .ny = 12,
                         .nz = 9,
                         .type = VF_F32,
                         .aspect = {1, 0.8, 2},
                         .scheme = "reference",
                         .result_type = VF_F32};
    struct vf_volume in = pipeline_input(&p, 1), out = pipeline_run(&p, &in, NULL);
    p.chain = "gaussian:sigma=1x1.25x0.5";
    struct vf_volume expected = pipeline_run(&p, &in, NULL);
    cr_expect_arr_eq(out.data, expected.data, volume_size(&expected));
    vf_volume_free(&in);
    vf_volume_free(&out);
    vf_volume_free(&expected);
}

Test(units, without_spacing)
{
    struct vf_context c = microscope(3);
    c.spacing_known[2] = false;
    expect_usage("gaussian:sigma=1um", &c,
                 (const char *const[]){"gaussian", "sigma=1um", "along z", "--spacing", "in voxels", NULL});
    expect_usage("eed:rho=20nm:sigma=2", &c, (const char *const[]){"eed", "rho=20nm", "--spacing", NULL});
    /* An axis without length needs no spacing, nor does one that is not there. */
    expect_alike("gaussian:sigma=1x1x0um", "gaussian:sigma=2x2x0", &c);
    c.dim = 2;
    expect_alike("gaussian:sigma=1um", "gaussian:sigma=2", &c);
    c.spacing_known[0] = false;
    expect_usage("gaussian:sigma=1um", &c, (const char *const[]){"along x", "--spacing", NULL});
    /* Pixels that are so many "pixels" wide have no size either. */
    c.spacing_known[0] = true;
    strcpy(c.unit, "pixel");
    expect_usage("structure-tensor:sigma=1um", &c,
                 (const char *const[]){"structure-tensor", "--spacing", NULL});
    expect_alike("gaussian:sigma=1vox", "gaussian:sigma=1", &c);
}

/* ---- one number for all axes ---- */

static const char *const derivative_filters[] = {"structure-tensor", "hessian", "eed:rho=1", "ced", "and"};

/* One bare number is in x-voxels and is divided by the aspect; three are voxels of each axis; vox is voxels
 * too. */
Test(units, derivative_filters)
{
    const struct vf_context c = microscope(3);
    for (size_t f = 0; f < COUNT(derivative_filters); f++) {
        char single[80], triple[80], voxels[80], equal[80];
        snprintf(single, sizeof single, "%s:sigma=2", derivative_filters[f]);
        snprintf(triple, sizeof triple, "%s:sigma=2x2x0.8", derivative_filters[f]);
        snprintf(voxels, sizeof voxels, "%s:sigma=2vox", derivative_filters[f]);
        snprintf(equal, sizeof equal, "%s:sigma=2x2x2", derivative_filters[f]);
        expect_alike(single, triple, &c);
        expect_alike(voxels, equal, &c);
        expect_differ(single, equal, &c);
    }
    expect_alike("ced:rho=5", "ced:rho=5x5x2", &c);
    expect_alike("ced:rho=5vox", "ced:rho=5x5x5", &c);
    expect_alike("and:rho=5", "and:rho=5x5x2vox", &c);
}

/* The defaults are x-voxels too. */
Test(units, defaults)
{
    const struct vf_context c = microscope(3);
    expect_alike("structure-tensor", "structure-tensor:sigma=1x1x0.4:rho=2x2x0.8", &c);
    expect_alike("hessian", "hessian:sigma=1x1x0.4", &c);
    expect_alike("eed", "eed:sigma=1x1x0.4:rho=0", &c);
    expect_alike("ced", "ced:sigma=0.5x0.5x0.2:rho=4x4x1.6", &c);
    expect_alike("and", "and:sigma=1x1x0.4:rho=2x2x0.8", &c);
    expect_alike("gaussian", "gaussian:sigma=1x1x1", &c);
}

/* Elsewhere a number holds for every axis, whatever the voxels. */
Test(units, other_filters)
{
    const struct vf_context c = microscope(3);
    expect_alike("gaussian:sigma=2", "gaussian:sigma=2x2x2", &c);
    expect_alike("gaussian:sigma=2", "gaussian:sigma=2vox", &c);
    expect_alike("gradient:sigma=2", "gradient:sigma=2x2x2", &c);
    expect_alike("gradient:method=gaussian:sigma=2", "gradient:method=gaussian:sigma=2x2x2vox", &c);
}

/* Cubic voxels, or none known, change nothing. */
Test(units, cubic_voxels)
{
    struct vf_context c = microscope(3);
    c.aspect[2] = 1;
    for (size_t f = 0; f < COUNT(derivative_filters); f++) {
        char single[80], triple[80];
        snprintf(single, sizeof single, "%s:sigma=2", derivative_filters[f]);
        snprintf(triple, sizeof triple, "%s:sigma=2x2x2", derivative_filters[f]);
        expect_alike(single, triple, &c);
    }
}

/* ---- 2D and ranges ---- */

/* z is dropped from an image: three numbers, two and one are the same, and no stage works along z. */
Test(units, images)
{
    const struct vf_context c = microscope(2);
    expect_alike("gaussian:sigma=2x3x9", "gaussian:sigma=2x3", &c);
    expect_alike("gaussian:sigma=2x2x1", "gaussian:sigma=2", &c);
    expect_alike("structure-tensor:sigma=2:rho=3", "structure-tensor:sigma=2x2:rho=3x3x0", &c);
    struct vf_expansion e;
    struct vf_error error = {.text = ""};
    cr_assert_eq(expand("gaussian:sigma=2x3x9", &c, &e, &error), VF_OK);
    cr_assert_eq(e.stage_count, 2);
    cr_expect_str_eq(e.stage[0].name, "GX");
    cr_expect_str_eq(e.stage[1].name, "GY");
    vf_expansion_free(&e);
}

/* Of an image nothing is left of a width along z alone. */
Test(units, width_along_a_missing_axis)
{
    static const char *const chains[] = {"gaussian:sigma=0x0x2", "mean:radius=0x0x1", "unsharp:sigma=0x0x1"};
    for (size_t i = 0; i < COUNT(chains); i++)
        for (int dim = 2; dim <= 3; dim++) {
            const struct vf_context c = microscope(dim);
            struct vf_expansion e;
            struct vf_error error = {.text = ""};
            const enum vf_status status = expand(chains[i], &c, &e, &error);
            cr_expect_eq(status, dim == 2 ? VF_USAGE : VF_OK, "%s: %s", chains[i], error.text);
            cr_expect(dim == 3 || strstr(error.text, "is 0 along x and y, and a single plane has no z"), "%s",
                      error.text);
            if (status == VF_OK)
                vf_expansion_free(&e);
        }
}

/* Widths that reach no neighbour are said to do nothing; 0 asks for nothing. */
Test(units, gaussians_that_smooth_nothing)
{
    static const struct {
        const char *chain, *note; /* the note begins so */
    } cases[] = {
        {"gaussian:sigma=0.1", "a Gaussian of sigma 0.1 voxels, cut off at 4 sigma, reaches no neighbour"},
        {"gaussian:sigma=1:truncate=0.1", "a Gaussian of sigma 1 voxels, cut off at 0.1 sigma, reaches"},
        {"gaussian:truncate=0", "a Gaussian of sigma 1 voxels, cut off at 0 sigma, reaches"},
        {"unsharp:sigma=0.12x0.1x0", "a Gaussian of sigma 0.12 voxels"},
        {"gradient:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"gradient:method=sobel:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"laplacian:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"dog:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"hessian:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"structure-tensor:rho=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"eed:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"ced:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"and:sigma=0.1", "a Gaussian of sigma 0.1 voxels"},
        {"gaussian:sigma=0", ""},
        {"gaussian:sigma=0:truncate=0.1", ""},
        {"gaussian:sigma=0.125", ""},
        {"gaussian:sigma=0.1x1x0.1", ""},
        {"gaussian:sigma=0.05:truncate=10", ""},
        {"unsharp:sigma=0", ""},
        {"eed", ""},
        {"and:sigma=0", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int dim = 2; dim <= 3; dim++) {
            const struct vf_context c = microscope(dim);
            struct vf_expansion e;
            struct vf_error error = {.text = ""};
            cr_assert_eq(expand(cases[i].chain, &c, &e, &error), VF_OK, "%s: %s", cases[i].chain, error.text);
            const size_t begun = strlen(cases[i].note);
            cr_expect(strncmp(e.note, cases[i].note, begun == 0 ? 1 : begun) == 0, "%s: %s", cases[i].chain,
                      e.note);
            vf_expansion_free(&e);
        }
}

/* The range is of voxels, after the conversion, and the message says which axis. */
Test(units, out_of_range)
{
    struct vf_context c = microscope(3);
    expect_usage(
        "gaussian:sigma=1mm", &c,
        (const char *const[]){"gaussian", "sigma", "2000 voxels along x", "the maximum is 1000", NULL});
    expect_usage("gaussian:sigma=0x0x1300um", &c, (const char *const[]){"1040 voxels along z", "1000", NULL});
    expect_alike("gaussian:sigma=0.5mm", "gaussian:sigma=1000x1000x400", &c);
    expect_usage("gaussian:sigma=2nm", &c,
                 (const char *const[]){"gaussian", "sigma is 0.004 voxels", "0.125 voxels or more", NULL});
    expect_usage("eed:sigma=2x1x0nm", &c, (const char *const[]){"eed", "sigma is 0.004 voxels", NULL});
    expect_usage("structure-tensor:rho=2nm", &c, (const char *const[]){"rho is 0.004 voxels", NULL});
    expect_alike("gaussian:sigma=0x0x0.2um", "gaussian:sigma=0x0x0.16", &c);
    expect_alike("gaussian:sigma=0um", "gaussian:sigma=0.1", &c);
    expect_alike("gaussian:sigma=50nm:truncate=16", "gaussian:sigma=0.1x0.1x0.04:truncate=16", &c);
    expect_usage("gaussian:sigma=100nm:truncate=1", &c,
                 (const char *const[]){"sigma is 0.2 voxels", "0.5 voxels or more", NULL});
    c.aspect[2] = 0.1;
    expect_usage("eed:sigma=200", &c, (const char *const[]){"eed", "2000 voxels along z", "1000", NULL});
    expect_usage("structure-tensor:rho=1e300mm", &c, (const char *const[]){"structure-tensor", "rho", NULL});
    c.spacing[0] = 1e-300;
    expect_usage("gaussian:sigma=1e300mm", &c, (const char *const[]){"gaussian", "sigma", "1000", NULL});
}
