/* The tables of options and commands, and how the arguments of options are read. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli.h"
#include "number.h"
#include "processors.h"
#include "suggest.h"
#include "value.h"

#define MIN_MEMORY 1048576.0 /* bytes; less than this holds no plan */
/* In nm, um or mm there is nothing beyond these, and TIFF's fractions could not say it. */
#define MIN_SPACING 1e-6
#define MAX_SPACING 1e6

#define FILES "Filters and files"
#define IMAGE "Image"
#define WORK "Execution"
#define REPORTS "Reports"

const struct vf_option vf_option_table[VF_OPTION_COUNT] = {
    [VF_OPTION_FILTER] = {FILES, "filter", 'f', "CHAIN", NULL, "a chain such as gaussian:sigma=2,gradient",
                          "filters to apply, in order; a repeated -f appends"},
    [VF_OPTION_OUT_DIR] = {FILES, "out-dir", 0, "DIR", NULL, NULL,
                           "write the result of each file into DIR, under the file's own name; DIR and its "
                           "parents are created if missing"},
    [VF_OPTION_SUFFIX] = {FILES, "suffix", 0, "S", NULL, "text without '/'",
                          "with --out-dir, insert S before the extension of each name, or replace the "
                          "extension if S ends in one that volfilter writes: -g, .tif or -g.tif"},
    [VF_OPTION_TREE] = {FILES, "tree", 0, NULL, NULL, NULL,
                        "with --out-dir, keep each file's own path under DIR; a directory stands for all "
                        "files below it whose "
                        "names are those of TIFF, PNG or MRC, but for hidden ones, links to directories and "
                        "what is in DIR, if that is below it; paths may not contain '..'"},
    [VF_OPTION_FROM_FILE] =
        {FILES, "from-file", 0, "LIST", NULL, "a file, or '-' for standard input",
         "with --out-dir, also filter the files named in LIST, one per line or each ended by a "
         "zero byte, as by find -print0; a million at most"},
    [VF_OPTION_RESUME] =
        {FILES, "resume", 0, NULL, NULL, NULL,
         "with --out-dir, skip finished results: those made by the same version with the same chain and "
         "options of the result, as given, from the same file (same path, size and time of change), and "
         "unchanged since; "
         "DIR/.volfilter-done lists them"},
    [VF_OPTION_NO_CLOBBER] =
        {FILES, "no-clobber", 0, NULL, NULL, NULL,
         "never replace an existing file, except that --resume replaces its earlier --report"},
    [VF_OPTION_SYNC] =
        {FILES, "sync", 0, NULL, NULL, NULL,
         "wait until each result is on disk before giving it its name, so that not even a power failure "
         "leaves a partial file; always done when a result replaces its own input"},
    [VF_OPTION_COMPRESS] = {FILES, "compress", 0, "none|lzw|deflate|zstd", "none|lzw|deflate|zstd", NULL,
                            "compression of TIFF output (default: that of TIFF input, else none)"},
    [VF_OPTION_DTYPE] = {IMAGE, "dtype", 0, "TYPE", "uint8|int8|uint16|int16|uint32|int32|float32|float64",
                         NULL,
                         "element type of the output (default: the input's, or float32 if a filter produces "
                         "that, which a PNG cannot hold: there the input's); values are rounded to nearest, "
                         "halves to even, and saturated: negative ones become 0 in "
                         "unsigned types, and NaN becomes 0 in integer types; saturation is not "
                         "reported: if in doubt, look at a float32 result"},
    [VF_OPTION_BOUNDARY] =
        {IMAGE, "boundary", 0, "RULE", "nearest|reflect|mirror|constant|wrap",
         "nearest, reflect, mirror, constant, constant=V or wrap",
         "values outside the image: nearest (default), reflect, mirror, constant[=V] or wrap"},
    [VF_OPTION_SPACING] =
        {IMAGE, "spacing", 0, "XxYxZ[UNIT]", NULL,
         "sizes from 1e-6 to 1e6 such as 0.5x0.5x2um, one for all axes or one per axis, in A, nm, um or mm",
         "voxel size to use instead of the file's; two numbers are x and y, and z stays the file's; a size "
         "without a unit is in the unit that 'volfilter info' shows, where there is one, and affects only "
         "the "
         "filtering: the result keeps the file's"},
    [VF_OPTION_SLICES] =
        {IMAGE, "slices", 0, NULL, NULL, NULL,
         "filter each plane of a stack as a separate 2D image, with thresholds such as k=auto of all planes "
         "together; without it, the pages of a TIFF that does not say what they are ('volfilter info' shows "
         "this) are planes along z"},
    [VF_OPTION_PRECISION] = {IMAGE, "precision", 0, "single|double", "auto|single|double|float",
                             "auto, single (or float) or double",
                             "floating-point precision of the computation (default: single; double for "
                             "32-bit integer and 64-bit float input, for sums of more than 512 voxels, as "
                             "gaussian:sigma=64 makes along each axis, for means of more than 256 along an "
                             "axis, and for weights that do not fit in float32)"},
    [VF_OPTION_BACKEND] = {WORK, "backend", 0, "auto|cpu|cuda", "auto|cpu|cuda|gpu",
                           "auto, cpu or cuda (or gpu)",
                           "where to compute (default: auto, the GPU if predicted to be faster)"},
    [VF_OPTION_THREADS] =
        {WORK, "threads", 0, "N", NULL, "a whole number from 1 to 1024",
         "number of CPU threads (default: one for each processor, or as many as taskset, the batch system or "
         "the container allows)"},
    [VF_OPTION_MEMORY] =
        {WORK, "memory", 0, "SIZE", NULL,
         "a size of at least 1M, such as 500M, 1.5G, 2GiB (all binary) or 2GB (decimal)",
         "maximum memory to use (default: three quarters of free memory; if several runs share a machine, "
         "give each its own part); anything larger is filtered slab by slab, with the same result"},
    [VF_OPTION_SCHEME] = {WORK, "scheme", 0, "NAME[:KEY=VALUE]", NULL, NULL,
                          "for experts: force a scheme of computation, such as row-stream:tile=64x32x16 or "
                          "GX=big-tile; the result is the same; 'volfilter help schemes' lists them all"},
    [VF_OPTION_LIKE] = {WORK, "like", 0, "FILE", NULL, "an image",
                        "with tune, measure for images of this size and type (default: 512x512x512 in "
                        "float32 and uint16, 8192x8192 in float32)"},
    [VF_OPTION_BUDGET] = {WORK, "budget", 0, "SECONDS", NULL, "a number above 0",
                          "with tune, start no new kernel after this time (default: measure everything)"},
    [VF_OPTION_EXPLAIN] =
        {REPORTS, "explain", 0, NULL, NULL, NULL,
         "print the plan before running: CPU or GPU, stages, halos, memory, slabs, bytes moved"},
    [VF_OPTION_DRY_RUN] = {REPORTS, "dry-run", 0, NULL, NULL, NULL,
                           "only check and plan, also whether the disk has room for all results that are not "
                           "compressed; compute nothing, and write nothing but a --report"},
    [VF_OPTION_JSON] = {REPORTS, "json", 0, NULL, NULL, NULL,
                        "print info, devices, the timings of each result or, with --explain or --dry-run, "
                        "the plan instead, as JSON, one object after another"},
    [VF_OPTION_REPORT] = {REPORTS, "report", 0, "FILE", NULL, "a file for JSON, or '-' for standard output",
                          "with --out-dir, write the outcome of each file to FILE, as JSON"},
    [VF_OPTION_PROGRESS] =
        {REPORTS, "progress", 0, "auto|never|always|json", "auto|never|always|json", NULL,
         "show progress on standard error (auto: only on a terminal; json: one object per line)"},
    [VF_OPTION_QUIET] = {REPORTS, "quiet", 'q', NULL, NULL, NULL,
                         "print errors only, even with -v: no notes, and no progress unless --progress asks "
                         "for it"},
    [VF_OPTION_VERBOSE] =
        {REPORTS, "verbose", 'v', NULL, NULL, NULL,
         "print more: timings, global values, whether the CPU or the GPU filtered, and GPU kernels that were "
         "replaced or could not be cached"},
    [VF_OPTION_HELP] = {REPORTS, "help", 'h', NULL, NULL, NULL, "show this help"},
    [VF_OPTION_VERSION] = {REPORTS, "version", 0, NULL, NULL, NULL, "show the version"},
    [VF_OPTION_COMPLETION] = {REPORTS, "completion", 0, "bash|zsh|fish", "bash|zsh|fish", NULL,
                              "print a completion script for the shell"},
    [VF_OPTION_COMPLETE_CHAIN] = {NULL, "complete-chain", 0, "CHAIN", NULL, NULL,
                                  "print the possible completions of a partial chain"},
    [VF_OPTION_MAN] = {NULL, "man", 0, NULL, NULL, NULL, "print the manual page in roff"},
};

const struct vf_command_word vf_command_table[] = {
    {"list", VF_COMMAND_LIST, "", 0, "Lists the filters, one per line."},
    {"help", VF_COMMAND_HELP, "[FILTER|COMMAND|OPTION|schemes]...", 0,
     "Explains a filter, with its parameters and the papers it follows, a command such as tune, an option "
     "such as --boundary, or the values of --scheme. Without arguments, prints the options."},
    {"info", VF_COMMAND_INFO, "[--json] FILE...", VF_OPTION_BIT(VF_OPTION_JSON),
     "Prints the properties of each file as volfilter reads it: format, size, element type, channels and "
     "voxel size."},
    {"devices", VF_COMMAND_DEVICES, "[--json]", VF_OPTION_BIT(VF_OPTION_JSON),
     "Lists the GPUs, the driver, the compiler and the cache of compiled kernels, and the costs that "
     "--backend auto assumes."},
    {"tune", VF_COMMAND_TUNE, "[--like FILE] [--budget SECONDS] [CHAIN]...",
     VF_OPTIONS_OF_TUNE | VF_OPTION_BIT(VF_OPTION_BOUNDARY) | VF_OPTION_BIT(VF_OPTION_DTYPE) |
         VF_OPTION_BIT(VF_OPTION_PRECISION) | VF_OPTION_BIT(VF_OPTION_SLICES) |
         VF_OPTION_BIT(VF_OPTION_SPACING) | VF_OPTION_BIT(VF_OPTION_BACKEND),
     "Measures the candidate GPU kernels for the given chains, or for a set of common ones. The fastest are "
     "recorded in tuned.txt, in the kernel cache; later plans use them for images of that size and type, "
     "signed or unsigned, and for other sizes that they suit. --boundary, --dtype, --precision, --slices and "
     "--spacing describe how the images will be filtered."},
    {NULL, VF_COMMAND_FILTER, NULL, 0, NULL},
};

const struct vf_command_word *vf_command_by_name(const char *name)
{
    for (const struct vf_command_word *word = vf_command_table; word->name != NULL; word++)
        if (strcmp(word->name, name) == 0)
            return word;
    return NULL;
}

void vf_cli_consider_commands(struct vf_suggestion *s)
{
    for (const struct vf_command_word *word = vf_command_table; word->name != NULL; word++)
        vf_suggestion_consider(s, word->name, strlen(word->name));
}

void vf_cli_consider_option_names(struct vf_suggestion *s)
{
    for (int i = 0; i < VF_OPTION_COUNT; i++)
        if (vf_option_table[i].group != NULL)
            vf_suggestion_consider(s, vf_option_table[i].name, strlen(vf_option_table[i].name));
    vf_suggestion_consider_options(s);
}

const char *vf_option_allowed(const struct vf_option *option, char *text, size_t room)
{
    if (option->allowed == NULL && option->choices != NULL)
        return vf_choices_text(option->choices, text, room);
    snprintf(text, room, "%s", option->allowed != NULL ? option->allowed : option->argument);
    return text;
}

/* What others call the rules, numpy, OpenCV, scipy's grid- modes and samplers of images, the types and the
 * compressions. */
static void consider_known(enum vf_option_id id, struct vf_suggestion *suggestion)
{
    static const struct {
        enum vf_option_id id;
        const char *word, *known_as;
    } known[] = {
        {VF_OPTION_BOUNDARY, "nearest", "edge|replicate|borderreplicate|clamp|extend"},
        {VF_OPTION_BOUNDARY, "reflect", "symmetric|borderreflect|gridmirror"},
        {VF_OPTION_BOUNDARY, "mirror", "reflect101|borderreflect101|borderdefault"},
        {VF_OPTION_BOUNDARY, "constant", "zero|zeros|fill|borderconstant|gridconstant"},
        {VF_OPTION_BOUNDARY, "wrap", "periodic|circular|borderwrap|gridwrap"},
        {VF_OPTION_DTYPE, "uint8", "u8|u1|byte|ubyte|uchar|8bit"},
        {VF_OPTION_DTYPE, "int8", "i8|i1|s8|sbyte|char"},
        {VF_OPTION_DTYPE, "uint16", "u16|u2|ushort|16bit"},
        {VF_OPTION_DTYPE, "int16", "i16|i2|s16|short"},
        {VF_OPTION_DTYPE, "uint32", "u32|u4|uint"},
        {VF_OPTION_DTYPE, "int32", "i32|i4|s32|int"},
        {VF_OPTION_DTYPE, "float32", "f32|f4|float|single|32bit"},
        {VF_OPTION_DTYPE, "float64", "f64|f8|double"},
        {VF_OPTION_COMPRESS, "none", "no|off|raw|uncompressed"},
        {VF_OPTION_COMPRESS, "deflate", "zip|gzip|zlib|adobedeflate"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].id == id)
            vf_suggestion_consider_known(suggestion, known[i].word, known[i].known_as);
}

static enum vf_status fail_option(enum vf_option_id id, const char *argument, const char *fault,
                                  struct vf_error *error)
{
    const struct vf_option *option = &vf_option_table[id];
    char near[80] = "", allowed[VF_ALLOWED_TEXT];
    if (option->choices != NULL) {
        struct vf_suggestion suggestion;
        vf_suggestion_begin(&suggestion, argument, strlen(argument));
        vf_suggestion_consider_choices(&suggestion, option->choices);
        consider_known(id, &suggestion);
        vf_suggestion_text(&suggestion, "", near, sizeof near);
    }
    return vf_fail(error, VF_USAGE, "--%s=%.80s %s%s%s allowed: %s", option->name, argument, fault, near,
                   near[0] ? "" : ";", vf_option_allowed(option, allowed, sizeof allowed));
}

static enum vf_status not_understood(enum vf_option_id id, const char *argument, struct vf_error *error)
{
    return fail_option(id, argument, "is not understood", error);
}

static enum vf_status read_choice(enum vf_option_id id, const char *argument, int *choice,
                                  struct vf_error *error)
{
    *choice = vf_choice_index(vf_option_table[id].choices, argument);
    return *choice >= 0 ? VF_OK : not_understood(id, argument, error);
}

static enum vf_status read_boundary(struct vf_options *options, const char *argument, struct vf_error *error)
{
    static const char with_value[] = "constant=";
    if (strncmp(argument, with_value, sizeof with_value - 1) == 0) {
        const char *end = vf_number_read(argument + sizeof with_value - 1, &options->constant);
        options->boundary = VF_CONSTANT;
        if (end == NULL || *end != '\0')
            return vf_fail(
                error, VF_USAGE,
                "--boundary=%.80s is not understood; 'constant=' needs a number, such as constant=1.5",
                argument);
        /* What computes in float32 has no more. */
        return fabs(options->constant) <= FLT_MAX
                   ? VF_OK
                   : fail_option(VF_OPTION_BOUNDARY, argument, "exceeds 3.4e38, float32's largest", error);
    }
    int choice = 0;
    enum vf_status status = read_choice(VF_OPTION_BOUNDARY, argument, &choice, error);
    options->boundary = (enum vf_boundary)choice;
    options->constant = 0;
    return status;
}

/* One size is for all axes; two are x and y, and z stays the file's. */
static enum vf_status read_spacing(struct vf_options *options, const char *argument, struct vf_error *error)
{
    double size[3] = {0, 0, 0};
    int count;
    enum vf_unit unit;
    const char *end = vf_vector_read(argument, size, &count);
    if (end == NULL || !vf_unit_read(end, &unit) || unit == VF_UNIT_VOXEL)
        return not_understood(VF_OPTION_SPACING, argument, error);
    const bool converted = unit == VF_UNIT_ANGSTROM; /* no file holds them in angstroms */
    for (int i = 0; i < count; i++) {
        if (!(size[i] >= MIN_SPACING && size[i] <= MAX_SPACING))
            return fail_option(VF_OPTION_SPACING, argument, "is out of range", error);
        size[i] *= converted ? vf_unit_nanometres("A") : 1;
    }
    for (int i = 0; i < 3; i++)
        options->spacing[i] = count == 1 ? size[0] : size[i];
    snprintf(options->spacing_unit, sizeof options->spacing_unit, "%s",
             vf_unit_name(converted ? VF_UNIT_NM : unit));
    return VF_OK;
}

static enum vf_status read_threads(struct vf_options *options, const char *argument, struct vf_error *error)
{
    long threads;
    const char *end = vf_number_read_whole(argument, &threads);
    if (end == NULL || *end != '\0')
        return not_understood(VF_OPTION_THREADS, argument, error);
    if (threads < 1 || threads > VF_MOST_THREADS)
        return fail_option(VF_OPTION_THREADS, argument, "is out of range", error);
    options->threads = (int)threads;
    return VF_OK;
}

/* Bytes in one of the unit that `text` names; 0 when it names none. */
static double memory_unit(const char *text)
{
    static const char letters[] = "kmgt";
    if (text[0] == '\0' || strcasecmp(text, "b") == 0)
        return 1;
    const char *letter = strchr(letters, text[0] | 0x20);
    if (letter == NULL)
        return 0;
    int power = (int)(letter - letters) + 1;
    if (text[1] == '\0' || strcasecmp(text + 1, "ib") == 0)
        return pow(1024, power);
    return strcasecmp(text + 1, "b") == 0 ? pow(1000, power) : 0;
}

static enum vf_status read_memory(struct vf_options *options, const char *argument, struct vf_error *error)
{
    double size;
    const char *end = vf_number_read(argument, &size);
    double unit = end != NULL ? memory_unit(end) : 0;
    if (unit == 0)
        return not_understood(VF_OPTION_MEMORY, argument, error);
    size *= unit;
    if (!(size >= MIN_MEMORY && size < (double)SIZE_MAX))
        return fail_option(VF_OPTION_MEMORY, argument, "is out of range", error);
    options->memory = (size_t)size;
    return VF_OK;
}

static enum vf_status read_precision(struct vf_options *options, const char *argument, struct vf_error *error)
{
    int choice = 0;
    enum vf_status status = read_choice(VF_OPTION_PRECISION, argument, &choice, error);
    bool is_float = choice == 3; /* the other name of single */
    options->precision = is_float ? VF_PRECISION_SINGLE : (enum vf_precision)choice;
    return status;
}

/* The options with an argument. */
static enum vf_status read_argument(struct vf_options *options, enum vf_option_id id, const char *argument,
                                    struct vf_error *error)
{
    int choice = 0;
    enum vf_status status = VF_OK;
    switch (id) {
    case VF_OPTION_BOUNDARY:
        return read_boundary(options, argument, error);
    case VF_OPTION_SPACING:
        return read_spacing(options, argument, error);
    case VF_OPTION_THREADS:
        return read_threads(options, argument, error);
    case VF_OPTION_MEMORY:
        return read_memory(options, argument, error);
    case VF_OPTION_PRECISION:
        return read_precision(options, argument, error);
    case VF_OPTION_SCHEME:
        options->scheme = argument; /* the plan knows the schemes */
        return argument[0] != '\0' ? VF_OK : not_understood(id, argument, error);
    case VF_OPTION_BACKEND:
        status = read_choice(id, argument, &choice, error);
        options->backend = choice == 3 ? VF_BACKEND_CUDA : (enum vf_backend_choice)choice; /* "gpu" */
        return status;
    case VF_OPTION_COMPRESS:
        status = read_choice(id, argument, &choice, error);
        options->compression = (enum vf_compression)(VF_COMPRESS_NONE + choice);
        return status;
    case VF_OPTION_DTYPE:
        status = read_choice(id, argument, &choice, error);
        options->dtype_given = true;
        options->dtype = (enum vf_type)choice;
        return status;
    case VF_OPTION_COMPLETION:
        return read_choice(id, argument, &choice, error);
    case VF_OPTION_PROGRESS:
        status = read_choice(id, argument, &choice, error);
        options->progress = (enum vf_progress)choice;
        return status;
    default:
        return VF_OK;
    }
}

enum vf_status vf_option_read(struct vf_options *options, enum vf_option_id id, const char *argument,
                              struct vf_error *error)
{
    switch (id) {
    case VF_OPTION_SLICES:
        options->slices = true;
        return VF_OK;
    case VF_OPTION_EXPLAIN:
        options->explain = true;
        return VF_OK;
    case VF_OPTION_DRY_RUN:
        options->dry_run = true;
        return VF_OK;
    case VF_OPTION_JSON:
        options->json = true;
        return VF_OK;
    case VF_OPTION_SYNC:
        options->sync = true;
        return VF_OK;
    case VF_OPTION_NO_CLOBBER:
        options->no_clobber = true;
        return VF_OK;
    case VF_OPTION_QUIET:
        options->quiet = true;
        return VF_OK;
    case VF_OPTION_VERBOSE:
        options->verbose++;
        return VF_OK;
    default:
        return read_argument(options, id, argument, error);
    }
}
