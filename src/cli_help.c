/* --help, list, help FILTER and --version, from the tables of options and filters. */
#include <expat.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "cli.h"
#include "kernels/gpu_scheme.h"
#include "kernels/cpu_rows.h"
#include "suggest.h"
#include "value.h"

#define WIDTH 80
#define OPTION_COLUMN 28

/* Prints `text` from `column` on, broken at spaces and indented to `indent`. */
static void print_wrapped(FILE *to, const char *text, int column, int indent)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        bool fits = column + 1 + length <= WIDTH;
        if (column > indent && !fits) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', to);
}

/* "name" in its column, then the wrapped text. */
static void print_entry(FILE *to, const char *name, int indent, const char *text)
{
    int used = fprintf(to, "  %s", name);
    if (used > indent - 2)
        fprintf(to, "\n%*s", indent, "");
    else
        fprintf(to, "%*s", indent - used, "");
    print_wrapped(to, text, indent, indent);
}

static void print_option(FILE *to, const struct vf_option *option)
{
    char name[80];
    bool has_letter = option->letter != 0;
    snprintf(name, sizeof name, "%c%c%s --%s%s%s", has_letter ? '-' : ' ', has_letter ? option->letter : ' ',
             has_letter ? "," : " ", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    print_entry(to, name, OPTION_COLUMN, option->help);
}

void vf_cli_print_help(FILE *to)
{
    const char *group = "";
    fputs("Usage: volfilter [options] -f CHAIN [-f CHAIN]... IN OUT\n"
          "       volfilter [options] -f CHAIN --out-dir DIR [--suffix S] IN...\n"
          "       volfilter list | help [NAME] | info FILE | devices | tune [CHAIN]... | --version | --help\n"
          "\n"
          "Filters 2D images (PNG, TIFF) and 3D stacks (TIFF, MRC). '-' is standard input or output.\n"
          "CHAIN is FILTER[:KEY=VALUE]...[,FILTER...], such as gaussian:sigma=2x2x1,gradient.\n",
          to);
    for (int i = 0; i < VF_OPTION_COUNT; i++) {
        const struct vf_option *option = &vf_option_table[i];
        if (option->group == NULL)
            continue;
        if (strcmp(option->group, group) != 0)
            fprintf(to, "\n%s:\n", option->group);
        group = option->group;
        print_option(to, option);
    }
    putc('\n', to);
    print_wrapped(
        to,
        "Exit status: 0 success, 1 failure, 2 usage error, 3 some or all of several files failed, 129, 130 "
        "or 143 interrupted.",
        0, 0);
    print_wrapped(
        to,
        "'volfilter list' shows the filters, 'volfilter help NAME' explains a filter, a command such "
        "as tune or an option, and 'man volfilter' has all of this and more.",
        0, 0);
}

void vf_cli_print_list(FILE *to)
{
    int width = 0;
    for (int i = 0; vf_filters[i] != NULL; i++)
        if ((int)strlen(vf_filters[i]->name) > width)
            width = (int)strlen(vf_filters[i]->name);
    for (int i = 0; vf_filters[i] != NULL; i++)
        fprintf(to, "%-*s  %s\n", width, vf_filters[i]->name, vf_filters[i]->summary);
}

static void print_param(FILE *to, const struct vf_param *param)
{
    char text[VF_ALLOWED_TEXT + 128], allowed[VF_ALLOWED_TEXT];
    print_entry(to, param->name, 16, param->help);
    if (param->initial[0] != '\0')
        snprintf(text, sizeof text, "allowed: %s; default %s", vf_param_allowed(param, allowed),
                 param->initial);
    else
        snprintf(text, sizeof text, "allowed: %s; %s", vf_param_allowed(param, allowed),
                 param->kind == VF_PARAM_WEIGHTS ? "required" : "optional");
    fprintf(to, "%16s", "");
    print_wrapped(to, text, 16, 16);
}

/* Another value than the default, where the table tells one: it shows how the parameter is written. `lengths`
 * of the filter come before: the second is mostly for what is wider. */
static const char *example_value(const struct vf_param *param, int lengths)
{
    switch (param->kind) {
    case VF_PARAM_CHOICE:
        return strrchr(param->choices, '|') != NULL ? strrchr(param->choices, '|') + 1 : NULL;
    case VF_PARAM_LENGTHS:
        return lengths == 0 ? "2x2x1" : "4x4x2";
    case VF_PARAM_COUNT:
        return strcmp(param->initial, "1") == 0 ? "2" : NULL;
    case VF_PARAM_THRESHOLD:
        return vf_choice_index(param->choices, "pN") >= 0 ? "p90" : NULL;
    case VF_PARAM_BOX:
        return "32x32x8+0+0+0";
    case VF_PARAM_WEIGHTS:
        return "weights.txt";
    default:
        return NULL;
    }
}

/* With the parameters that are needed, or `all` that have an example. */
static void print_example(FILE *to, const struct vf_filter *filter, bool all)
{
    int lengths = 0;
    fprintf(to, "  volfilter -f %s", filter->name);
    for (int i = 0; i < filter->param_count; i++) {
        const struct vf_param *param = &filter->params[i];
        const char *value = all || param->kind == VF_PARAM_WEIGHTS ? example_value(param, lengths) : NULL;
        if (value != NULL)
            fprintf(to, ":%s=%s", param->name, value);
        lengths += param->kind == VF_PARAM_LENGTHS;
    }
    fputs(" in.tif out.tif\n", to);
}

static void print_examples(FILE *to, const struct vf_filter *filter)
{
    bool has_more = false;
    for (int i = 0; i < filter->param_count; i++)
        has_more = has_more || (filter->params[i].kind != VF_PARAM_WEIGHTS &&
                                example_value(&filter->params[i], 0) != NULL);
    fputs("\nExamples:\n", to);
    print_example(to, filter, false);
    if (has_more)
        print_example(to, filter, true);
}

/* What --scheme takes: one scheme a line. */
static void print_schemes(FILE *to)
{
    fputs("On the CPU, --scheme NAME, or row-stream:tile=XxYxCHUNK[:cut=STAGE/PLANES]:\n", to);
    for (const struct vf_scheme *const *scheme = vf_cpu_schemes; *scheme != NULL; scheme++)
        print_entry(to, (*scheme)->name, 19, (*scheme)->summary);
    print_wrapped(
        to,
        "Keys: tile (voxels along x and y, and planes along z, rows in 2D, that a thread takes at once), cut "
        "(sweep in two, from STAGE on, PLANES planes at a time)",
        0, 0);
    putc('\n', to);
    print_wrapped(to,
                  "On a GPU, --scheme [STAGE=]NAME[:KEY=VALUE...][,...], where STAGE is one that --explain "
                  "prints (default: all stages; if several entries match a stage, the last one applies):",
                  0, 0);
    for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++) {
        print_entry(to, (*scheme)->name, 19, (*scheme)->summary);
        for (int i = 0; (*scheme)->variants != NULL && (*scheme)->variants[i] != NULL; i++)
            fprintf(to, "%*s%s%s%s", i == 0 ? 19 : 0, "", i == 0 ? "variant=" : "|", (*scheme)->variants[i],
                    (*scheme)->variants[i + 1] == NULL ? "\n" : "");
    }
    print_wrapped(
        to,
        "Keys: block=XxYxZ (threads), work=XxYxZ (voxels per thread), stream=N (planes per block, or "
        "rows in 2D), variant=NAME, grid=flat|full, virtual=0|1, interior=0|1, fuse=N (stages per "
        "kernel)",
        0, 0);
    fputs("\nAll schemes give the same result, bit for bit.\n", to);
}

static void print_command(FILE *to, const struct vf_command_word *word)
{
    fprintf(to, "Usage: volfilter %s%s%s\n\n", word->name, word->arguments[0] != '\0' ? " " : "",
            word->arguments);
    print_wrapped(to, word->help, 0, 0);
    for (int i = 0, shown = 0; i < VF_OPTION_COUNT; i++) {
        char name[40];
        snprintf(name, sizeof name, "[--%s", vf_option_table[i].name);
        const char *at = strstr(word->arguments, name);
        if (at == NULL || strchr(" ]", at[strlen(name)]) == NULL)
            continue;
        if (shown++ == 0)
            putc('\n', to);
        print_option(to, &vf_option_table[i]);
    }
}

static void print_filter(FILE *to, const struct vf_filter *filter)
{
    fprintf(to, "%s: %s\n", filter->name, filter->summary);
    if (filter->param_count > 0)
        fputs("\nParameters:\n", to);
    for (int i = 0; i < filter->param_count; i++)
        print_param(to, &filter->params[i]);
    fputs("\nOutput: ", to);
    print_wrapped(to,
                  filter->keeps_type
                      ? "same element type as the input"
                      : "float32; negative values become 0 in PNG and in unsigned types chosen with --dtype",
                  8, 8);
    fputs("Source: ", to);
    print_wrapped(to, filter->source, 8, 8);
    print_examples(to, filter);
}

static void print_option_alone(FILE *to, const struct vf_option *option)
{
    char text[VF_ALLOWED_TEXT + 16], allowed[VF_ALLOWED_TEXT];
    print_option(to, option);
    if (option->choices == NULL && option->allowed == NULL)
        return;
    snprintf(text, sizeof text, "allowed: %s", vf_option_allowed(option, allowed, sizeof allowed));
    fprintf(to, "%*s", OPTION_COLUMN, "");
    print_wrapped(to, text, OPTION_COLUMN, OPTION_COLUMN);
}

/* By its name, with the dashes or without, or by its letter with one. NULL: none is called so. */
static const struct vf_option *option_by_name(const char *name)
{
    const size_t dashes = strspn(name, "-"), length = strcspn(name + dashes, "=");
    for (int i = 0; i < VF_OPTION_COUNT; i++) {
        const struct vf_option *option = &vf_option_table[i];
        if (option->group != NULL && (dashes == 0 || dashes == 2) && strlen(option->name) == length &&
            strncmp(name + dashes, option->name, length) == 0)
            return option;
        if (option->letter != 0 && dashes == 1 && name[1] == option->letter && name[2] == '\0')
            return option;
    }
    return NULL;
}

static enum vf_status fail_unknown_topic(const char *name, struct vf_error *error)
{
    const size_t length = strcspn(name, ",:=");
    char near[80];
    struct vf_suggestion suggestion;
    if (vf_filter_by_name(name, length) != NULL)
        return vf_fail(error, VF_USAGE, "help takes filters one by one, not '%.80s'", name);
    vf_suggestion_begin(&suggestion, name, length);
    vf_suggestion_consider_choices(&suggestion, "schemes");
    vf_suggestion_consider_filters(&suggestion);
    vf_cli_consider_commands(&suggestion);
    vf_suggestion_text(&suggestion, "", near, sizeof near);
    if (suggestion.best == NULL && !vf_suggest_choice(name, length, near, sizeof near)) {
        vf_cli_consider_option_names(&suggestion);
        vf_suggestion_text(&suggestion, "--", near, sizeof near);
    }
    return vf_fail(
        error, VF_USAGE,
        "there is no filter, command or option '%.80s'%s ('volfilter list' shows the filters, 'volfilter "
        "--help' the commands and options; the manual page compares other programs)",
        name, near);
}

enum vf_status vf_cli_print_topic(FILE *to, const char *name, struct vf_error *error)
{
    const struct vf_option *option = option_by_name(name);
    const bool is_own = option == &vf_option_table[VF_OPTION_HELP];
    const struct vf_command_word *word = vf_command_by_name(is_own ? "help" : name);
    const struct vf_filter *filter =
        strchr(name, ',') == NULL ? vf_filter_by_name(name, strcspn(name, ":")) : NULL;
    if (filter != NULL)
        print_filter(to, filter);
    else if (word != NULL)
        print_command(to, word);
    else if (option != NULL)
        print_option_alone(to, option);
    else if (strcmp(name, "schemes") == 0)
        print_schemes(to);
    else
        return fail_unknown_topic(name, error);
    return VF_OK;
}

void vf_cli_print_version(FILE *to)
{
    const char *tiff = TIFFGetVersion();
    fprintf(to, "volfilter %s\n", VF_VERSION);
    fprintf(to, "%.*s\n", (int)strcspn(tiff, "\n"), tiff);
    fprintf(to, "libpng %s\n", png_get_libpng_ver(NULL));
    fprintf(to, "%s\n", XML_ExpatVersion());
    fprintf(to, "backends: cpu (vector level %s), cuda (see 'volfilter devices')\n", vf_rows_level());
}
