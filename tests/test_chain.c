/* Chains: what is read, and what is said about mistakes. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

#include "pipeline.h"
#include "src/alloc.h"
#include "src/chain.h"
#include "src/value.h"

/* ---- helpers ---- */

/* `text` is read as the chain that `canonical` begins with. */
static void expect_text(const char *text, const char *canonical)
{
    struct vf_chain chain = {0};
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_chain_append(&chain, text, &error), VF_OK, "%s: %s", text, error.text);
    char *got = vf_chain_text(&chain, &error);
    cr_assert_not_null(got);
    cr_expect_eq(strncmp(got, canonical, strlen(canonical)), 0, "%s is %s", text, got);
    vf_free(got);
    vf_chain_free(&chain);
}

/* A usage error whose message has both pieces. */
static void expect_error(const char *text, const char *piece, const char *other)
{
    struct vf_chain chain = {0};
    struct vf_error error = {.text = ""};
    cr_expect_eq(vf_chain_append(&chain, text, &error), VF_USAGE, "%s", text);
    cr_expect_not_null(strstr(error.text, piece), "%s: '%s' has no '%s'", text, error.text, piece);
    cr_expect_not_null(strstr(error.text, other), "%s: '%s' has no '%s'", text, error.text, other);
    cr_expect_eq(chain.count, 0);
    vf_chain_free(&chain);
}

/* Of `text` what a user gave. */
static void expect_given(const char *text, const char *given)
{
    struct vf_chain chain = {0};
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_chain_append(&chain, text, &error), VF_OK, "%s: %s", text, error.text);
    char *got = vf_chain_given_text(&chain, &error);
    cr_expect_str_eq(got, given);
    vf_free(got);
    vf_chain_free(&chain);
}

static void expect_value(const struct vf_param *param, const char *text, struct vf_value *value)
{
    struct vf_error error;
    cr_assert_eq(vf_value_read(param, "filter", text, value, &error), VF_OK, "%s: %s", text, error.text);
}

static void expect_no_value(const struct vf_param *param, const char *text, const char *piece)
{
    struct vf_value value;
    struct vf_error error = {.text = ""};
    cr_expect_eq(vf_value_read(param, "filter", text, &value, &error), VF_USAGE, "%s", text);
    cr_expect_not_null(strstr(error.text, piece), "%s: '%s' has no '%s'", text, error.text, piece);
}

Test(chain, what_was_given)
{
    expect_given("gaussian", "gaussian");
    expect_given(" gaussian=2 , eed:k=p90:sigma=1x2x3um", "gaussian:sigma=2,eed:sigma=1x2x3um:k=p90");
}

/* ---- the registry ---- */

Test(chain, every_filter_has_readable_defaults_and_reads_its_own_text)
{
    for (int i = 0; vf_filters[i] != NULL; i++) {
        struct vf_chain chain = {0}, again = {0};
        struct vf_error error = {.text = ""};
        char words[64];
        cr_assert_eq(vf_chain_append(&chain, filter_alone(vf_filters[i], words), &error), VF_OK, "%s",
                     error.text);
        cr_assert_eq(chain.count, 1);
        cr_assert_eq(chain.link[0].filter, vf_filters[i]);
        char *text = vf_chain_text(&chain, &error);
        cr_assert_not_null(text);
        cr_assert_eq(vf_chain_append(&again, text, &error), VF_OK, "%s: %s", text, error.text);
        char *second = vf_chain_text(&again, &error);
        cr_expect_str_eq(text, second);
        vf_free(text);
        vf_free(second);
        vf_chain_free(&chain);
        vf_chain_free(&again);
    }
}

/* What prints it adds one. */
static void expect_no_full_stop(const char *text)
{
    cr_expect_neq(text[strlen(text) - 1], '.', "%s", text);
}

Test(chain, parameter_tables_are_complete)
{
    for (int i = 0; vf_filters[i] != NULL; i++) {
        const struct vf_filter *filter = vf_filters[i];
        cr_expect_leq(filter->param_count, VF_MAX_PARAMS, "%s", filter->name);
        cr_expect(filter->summary != NULL && filter->source != NULL, "%s: no summary or no source",
                  filter->name);
        cr_expect_null(strpbrk(filter->name, ":=, "), "%s", filter->name);
        cr_expect_not(isupper((unsigned char)filter->summary[0]),
                      "%s: a summary begins with a small letter: %s", filter->name, filter->summary);
        expect_no_full_stop(filter->summary);
        expect_no_full_stop(filter->source);
        for (int k = 0; k < filter->param_count; k++) {
            const struct vf_param *param = &filter->params[k];
            const bool has_words = param->kind == VF_PARAM_CHOICE || param->kind == VF_PARAM_THRESHOLD;
            const bool has_bounds = param->kind == VF_PARAM_NUMBER || param->kind == VF_PARAM_COUNT ||
                                    param->kind == VF_PARAM_LENGTHS || param->kind == VF_PARAM_THRESHOLD;
            cr_expect(param->name != NULL && param->help != NULL && param->initial != NULL,
                      "%s: parameter %d has no name, help or initial, which is \"\" for none", filter->name,
                      k);
            cr_expect(!has_words || param->choices != NULL, "%s: %s has no choices", filter->name,
                      param->name);
            expect_no_full_stop(param->help);
            cr_expect(!has_bounds || param->min < param->max, "%s: %s may be nothing but %g", filter->name,
                      param->name, param->min);
        }
    }
}

/* ---- chains ---- */

Test(chain, all_spellings)
{
    expect_text("gaussian", "gaussian:sigma=1:truncate=4");
    expect_text("gaussian:sigma=2", "gaussian:sigma=2:truncate=4");
    expect_text("gaussian:2", "gaussian:sigma=2:truncate=4");
    expect_text("gaussian=2", "gaussian:sigma=2:truncate=4");
    expect_text("gaussian=sigma=2:truncate=3", "gaussian:sigma=2:truncate=3");
    expect_text("gaussian:2:truncate=3", "gaussian:sigma=2:truncate=3");
    expect_text("gaussian:truncate=3:sigma=2x1x0.5", "gaussian:sigma=2x1x0.5:truncate=3");
    expect_text("gaussian:sigma=0x1x1", "gaussian:sigma=0x1x1:");
    expect_text(" gaussian , gradient:sobel ", "gaussian:sigma=1:truncate=4,gradient:method=sobel:");
    expect_text("gaussian:0.5um", "gaussian:sigma=0.5um:");
    expect_text("gaussian:1x1x0.5\xc2\xb5m", "gaussian:sigma=1x1x0.5um:");
    expect_text("gaussian:1e-1mm", "gaussian:sigma=0.1mm:");
    expect_text("perona-malik:k=p90", "perona-malik:k=p90:");
    expect_text("perona-malik:k=2sd", "perona-malik:k=2sd:");
}

Test(chain, repeated_appends_and_failures_leave_it_whole)
{
    struct vf_chain chain = {0};
    struct vf_error error;
    cr_assert_eq(vf_chain_append(&chain, "gaussian:3", &error), VF_OK);
    cr_assert_eq(vf_chain_append(&chain, "gradient,nonsense", &error), VF_USAGE);
    cr_expect_eq(chain.count, 1);
    cr_assert_eq(vf_chain_append(&chain, "gradient", &error), VF_OK);
    cr_expect_eq(chain.count, 2);
    cr_expect(chain.link[0].value[0].given);
    cr_expect_eq(chain.link[0].value[0].length[0], 3);
    cr_expect_not(chain.link[1].value[0].given);
    vf_chain_free(&chain);
    cr_expect_null(chain.link);
}

Test(chain, unknown_words_get_the_nearest)
{
    expect_error("gausian", "unknown filter 'gausian'; did you mean 'gaussian'?", "volfilter list");
    expect_error("Gaussian", "did you mean 'gaussian'?", "volfilter list");
    expect_error("zzzzzz", "unknown filter 'zzzzzz' (", "volfilter list");
    expect_error("sobel:method=1", "unknown filter 'sobel'; did you mean 'gradient:method=sobel'?",
                 "volfilter list");
    expect_error("gaussian:sgima=2", "no parameter 'sgima'; did you mean 'sigma'?", "truncate");
    expect_error("gaussian:zzz=2", "no parameter 'zzz'", "sigma, truncate");
    expect_error("gradient:method=sobol", "did you mean 'sobel'?",
                 "allowed: central, sobel, scharr or gaussian");
    expect_error("perona-malik:k=atuo", "did you mean 'auto'?", "allowed: auto, pN");
    expect_error("perona-malik:k=Nsd", "k=Nsd is not understood; allowed: auto, pN", "Nsd (N standard");
}

Test(chain, structure_mistakes)
{
    expect_error("", "empty", "volfilter list");
    expect_error("  ", "empty", "volfilter list");
    expect_error("gaussian,", "missing", "comma");
    expect_error(",gaussian", "missing", "comma");
    expect_error("gaussian,,gradient", "missing", "comma");
    expect_error("gaussian:", "a parameter is empty", "KEY=VALUE");
    expect_error("gaussian:2:", "a parameter is empty", "KEY=VALUE");
    expect_error("gaussian::truncate=3", "a parameter is empty", "KEY=VALUE");
    expect_error("=2", "name is missing", "volfilter list");
    expect_error(":2", "name is missing", "volfilter list");
    expect_error("gaussian:sigma=", "sigma needs a value", "allowed: a length");
    expect_error("gaussian:sigma", "sigma needs a value", "allowed: a length");
    expect_error("gaussian:sigma=1:sigma=2", "sigma is given twice", "once");
    expect_error("gaussian:1:sigma=2", "sigma is given twice", "once");
    expect_error("gaussian:sigma=1:3", "'3' has no name", "KEY=VALUE");
}

Test(chain, values_out_of_range_name_the_range)
{
    expect_error("gaussian:sigma=-1", "sigma=-1 is out of range", "from 0 to");
    expect_error("gaussian:sigma=1e9", "sigma=1e9 is out of range", "from 0 to");
    expect_error("gaussian:sigma=1x-2x1", "out of range", "from 0 to");
    expect_error("gaussian:sigma=-1um", "out of range", "from 0 to");
    expect_error("gaussian:sigma=1e999um", "out of range", "from 0 to");
    expect_error("gaussian:sigma=nan", "sigma=nan is not understood", "from 0 to");
    expect_error("gaussian:sigma=inf", "sigma=inf is not understood", "from 0 to");
    expect_error("gaussian:sigma=0x10p3", "not understood", "from 0 to");
    expect_error("gaussian:sigma=1x2x3x4", "not understood", "one per axis");
    expect_error("gaussian:sigma=1x", "not understood", "one per axis");
    expect_error("gaussian:sigma=1umx1um", "not understood", "followed by a unit");
    expect_error("perona-malik:k=1e38", "k=1e38 exceeds 1e30;", "of at least 0");
    expect_error("gaussian:sigma=2px", "not understood", "vox, A, nm, um, mm");
    expect_error("gaussian:sigma=2,5", "unknown filter '5'", "volfilter list");
    expect_error("perona-malik:iterations=1.5", "not understood", "a whole number");
    expect_error("perona-malik:iterations=-3", "out of range", "a whole number");
    expect_error("perona-malik:k=p101", "out of range", "N from 0 to 100");
    expect_error("perona-malik:dt=p5", "not understood", "auto or a number");
}

Test(chain, length_is_bounded)
{
    static char text[64 * 9 + 16];
    struct vf_chain chain = {0};
    struct vf_error error;
    for (int i = 0; i < 64; i++)
        strcat(text, i > 0 ? ",gaussian" : "gaussian");
    cr_expect_eq(vf_chain_append(&chain, text, &error), VF_OK);
    cr_expect_eq(vf_chain_append(&chain, "gaussian", &error), VF_USAGE);
    cr_expect_not_null(strstr(error.text, "64"));
    cr_expect_eq(chain.count, 64);
    vf_chain_free(&chain);
}

/* ---- values of each kind ---- */

Test(value, lengths)
{
    static const struct vf_param param = {
        .name = "sigma", .kind = VF_PARAM_LENGTHS, .initial = "1", .max = 10, .unit = "voxels"};
    struct vf_value value;
    expect_value(&param, "1x2x3vox", &value);
    cr_expect_eq(value.length_count, 3);
    cr_expect_eq(value.length[2], 3);
    cr_expect_eq(value.unit, VF_UNIT_VOXEL);
    expect_value(&param, "4x5", &value);
    cr_expect_eq(value.length_count, 2);
    cr_expect_eq(value.unit, VF_UNIT_BARE);
    /* In a physical unit the range is checked when the spacing is known. */
    expect_value(&param, "4000nm", &value);
    cr_expect_eq(value.unit, VF_UNIT_NM);
    expect_value(&param, "20\xc3\x85", &value);
    cr_expect_eq(value.unit, VF_UNIT_ANGSTROM);
    expect_no_value(&param, "11", "from 0 to 10 voxels");
    expect_no_value(&param, "11vox", "from 0 to 10 voxels");
}

Test(value, numbers_without_bounds)
{
    static const struct {
        double min, max;
        const char *allowed;
    } cases[] = {{-2, 3, "a number from -2 to 3 voxels"},
                 {-2, VF_UNBOUNDED, "a number of at least -2, in voxels"},
                 {-VF_UNBOUNDED, 3, "a number of at most 3, in voxels"},
                 {-VF_UNBOUNDED, VF_UNBOUNDED, "a number, in voxels"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct vf_param param = {.name = "n",
                                       .kind = VF_PARAM_NUMBER,
                                       .initial = "0",
                                       .min = cases[i].min,
                                       .max = cases[i].max,
                                       .unit = "voxels"};
        char allowed[VF_ALLOWED_TEXT];
        cr_expect_str_eq(vf_param_allowed(&param, allowed), cases[i].allowed);
        expect_no_value(&param, "1e31", i % 2 ? "exceeds 1e30" : "is out of range");
        expect_no_value(&param, "-1e31", i < 2 ? "is out of range" : "is less than -1e30");
    }
}

Test(value, thresholds)
{
    static const struct vf_param param = {
        .name = "k", .kind = VF_PARAM_THRESHOLD, .initial = "auto", .max = 1e300, .choices = "auto|pN|Nsd"};
    struct vf_value value;
    char text[VF_VALUE_TEXT];
    expect_value(&param, "auto", &value);
    cr_expect_eq(value.threshold, VF_THRESHOLD_AUTO);
    expect_value(&param, "p99.5", &value);
    cr_expect_eq(value.threshold, VF_THRESHOLD_PERCENTILE);
    cr_expect_eq(value.number, 99.5);
    cr_expect_str_eq(vf_value_text(&param, &value, text), "p99.5");
    expect_value(&param, "0.5sd", &value);
    cr_expect_eq(value.threshold, VF_THRESHOLD_DEVIATIONS);
    cr_expect_eq(value.number, 0.5);
    expect_value(&param, "1e3", &value);
    cr_expect_eq(value.threshold, VF_THRESHOLD_NUMBER);
    cr_expect_eq(value.number, 1000);
    expect_no_value(&param, "-2sd", "out of range");
    expect_no_value(&param, "p-1", "out of range");
    expect_no_value(&param, "pp", "not understood");
    expect_no_value(&param, "2s", "not understood");
    expect_no_value(&param, "-1", "a number of at least 0");
}

Test(value, boxes)
{
    static const struct vf_param param = {.name = "noise", .kind = VF_PARAM_BOX, .initial = ""};
    struct vf_value value;
    char text[VF_VALUE_TEXT];
    expect_value(&param, "10x20x30+1+2+3", &value);
    value.given = true;
    cr_expect_str_eq(vf_value_text(&param, &value, text), "10x20x30+1+2+3");
    expect_value(&param, "10x20+1+2", &value);
    value.given = true;
    cr_expect_str_eq(vf_value_text(&param, &value, text), "10x20+1+2");
    cr_expect(value.box_size[2] == 1 && value.box_at[2] == 0 && value.box_at[1] == 2);
    static const char *const wrong[] = {
        "10",           "10x20",           "10x20+1", "10x20+1+2+3", "1x2x3+1+2",
        "1x2x3+1+2+-3", "1x2x3x4+1+1+1+1", "ax2+1+1", "0x2+1+1",     "1x1+1+9999999999",
        "1.5x2+1+1",    "1x2+1+1 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_no_value(&param, wrong[i], "WxHxD+X+Y+Z");
}

Test(value, counts_and_numbers_keep_their_bounds)
{
    static const struct vf_param count = {
        .name = "n", .kind = VF_PARAM_COUNT, .initial = "1", .min = 1, .max = 5};
    static const struct vf_param number = {
        .name = "a", .kind = VF_PARAM_NUMBER, .initial = "0", .min = -2, .max = 2};
    struct vf_value value;
    expect_value(&count, "5", &value);
    cr_expect_eq(value.number, 5);
    expect_no_value(&count, "0", "from 1 to 5");
    expect_no_value(&count, "6", "from 1 to 5");
    expect_no_value(&count, "2x", "from 1 to 5");
    expect_value(&number, "-2", &value);
    expect_no_value(&number, "-2.0001", "from -2 to 2");
    expect_no_value(&number, "1,5", "from -2 to 2");
}
