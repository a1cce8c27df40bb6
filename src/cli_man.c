/* The manual page, in roff (man(7)), from the tables of options and filters. man/volfilter.1 is this output.
 */
#include <string.h>

#include "cli.h"
#include "value.h"

/* Text into roff: hyphens that can be copied, no line that begins with a request. */
static void print_text(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", to);
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else
            putc(*text, to);
    }
}

static void print_bold(FILE *to, const char *text)
{
    fputs("\\fB", to);
    print_text(to, text);
    fputs("\\fR", to);
}

static void print_option(FILE *to, const struct vf_option *option)
{
    char letter[] = {'-', option->letter, '\0'}, name[64], allowed[VF_ALLOWED_TEXT];
    fputs(".TP\n", to);
    if (option->letter != 0) {
        print_bold(to, letter);
        fputs(", ", to);
    }
    snprintf(name, sizeof name, "--%s", option->name);
    print_bold(to, name);
    if (option->argument != NULL) {
        fputs(" \\fI", to);
        print_text(to, option->argument);
        fputs("\\fR", to);
    }
    putc('\n', to);
    print_text(to, option->help);
    bool shows_all = option->argument == NULL || option->choices == NULL
                         ? option->allowed == NULL
                         : strcmp(option->choices, option->argument) == 0;
    if (!shows_all) {
        fputs(".\nAllowed: ", to);
        print_text(to, vf_option_allowed(option, allowed, sizeof allowed));
    }
    fputs(".\n", to);
}

static void print_options(FILE *to)
{
    const char *group = "";
    fputs(
        ".SH OPTIONS\nLong options are not abbreviated. Of an option that is given twice the last one holds; "
        "\\fB\\-f\\fR appends.\n",
        to);
    for (int i = 0; i < VF_OPTION_COUNT; i++) {
        const struct vf_option *option = &vf_option_table[i];
        if (option->group == NULL)
            continue;
        if (strcmp(option->group, group) != 0)
            fprintf(to, ".SS %s\n", option->group);
        group = option->group;
        print_option(to, option);
    }
}

static void print_param(FILE *to, const struct vf_param *param)
{
    char allowed[VF_ALLOWED_TEXT];
    fputs(".TP\n", to);
    print_bold(to, param->name);
    if (param->initial[0] != '\0') {
        fputs(" (default ", to);
        print_text(to, param->initial);
        putc(')', to);
    }
    putc('\n', to);
    print_text(to, param->help);
    fputs(".\nAllowed: ", to);
    print_text(to, vf_param_allowed(param, allowed));
    fputs(".\n", to);
}

static void print_filters(FILE *to)
{
    fputs(".SH FILTERS\n", to);
    for (int i = 0; vf_filters[i] != NULL; i++) {
        const struct vf_filter *filter = vf_filters[i];
        fputs(".SS ", to);
        print_text(to, filter->name);
        putc('\n', to);
        print_text(to, filter->summary);
        fprintf(to, ".\nThe output is %s.\n", filter->keeps_type ? "of the input's element type" : "float32");
        if (filter->source != NULL) {
            fputs("Source: ", to);
            print_text(to, filter->source);
            fputs(".\n", to);
        }
        for (int k = 0; k < filter->param_count; k++)
            print_param(to, &filter->params[k]);
    }
}

static void print_commands(FILE *to)
{
    fputs(".SH COMMANDS\n"
          "Where \\fB\\-f\\fR is given, these words are file names like others.\n",
          to);
    for (const struct vf_command_word *word = vf_command_table; word->name != NULL; word++) {
        fputs(".TP\n", to);
        print_bold(to, word->name);
        if (word->arguments[0] != '\0') {
            putc(' ', to);
            print_text(to, word->arguments);
        }
        putc('\n', to);
        print_text(to, word->help);
        putc('\n', to);
    }
}

static const char before_commands[] =
    ".SH NAME\n"
    "volfilter \\- filter 2D images and 3D image stacks\n"
    ".SH SYNOPSIS\n"
    ".B volfilter\n"
    "[\\fIoptions\\fR] \\fB\\-f\\fR \\fICHAIN\\fR [\\fB\\-f\\fR \\fICHAIN\\fR]... \\fIIN\\fR \\fIOUT\\fR\n"
    ".br\n"
    ".B volfilter\n"
    "[\\fIoptions\\fR] \\fB\\-f\\fR \\fICHAIN\\fR \\fB\\-\\-out\\-dir\\fR \\fIDIR\\fR [\\fB\\-\\-suffix\\fR "
    "\\fIS\\fR] \\fIIN\\fR...\n"
    ".br\n"
    ".B volfilter\n"
    "\\fBlist\\fR | \\fBhelp\\fR [\\fIFILTER\\fR] | \\fBinfo\\fR \\fIFILE\\fR | \\fBdevices\\fR | "
    "\\fBtune\\fR [\\fICHAIN\\fR]... | "
    "\\fB\\-\\-version\\fR | "
    "\\fB\\-\\-help\\fR\n"
    ".SH DESCRIPTION\n"
    "\\fBvolfilter\\fR reads a PNG or TIFF image, a TIFF stack or an MRC volume, applies a chain of filters "
    "and writes the "
    "result.\n"
    "A whole chain is one sweep over memory where its filters allow it.\n"
    "With an NVIDIA GPU it is computed there where that is predicted to be faster.\n"
    "The result is the same, bit for bit, whatever the device, the number of threads, the memory limit and "
    "the "
    "machine.\n";

static const char before_filters[] =
    ".SH CHAINS\n"
    "A chain is a list of filters, separated by commas; a repeated \\fB\\-f\\fR appends to it.\n"
    "A filter is its name and its parameters:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "gaussian\n"
    "gaussian:sigma=2\n"
    "gaussian:2\n"
    "gaussian=sigma=2:truncate=3\n"
    "gaussian:sigma=2x2x1,gradient:method=scharr:output=components\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "A bare value, which may only come first, sets the first parameter.\n"
    "Vectors are in the order x, y, z and joined by \\(lqx\\(rq.\n"
    "Numbers are decimal: \\(lq0x1x1\\(rq is a vector.\n"
    "Boxes are \\fIW\\fRx\\fIH\\fRx\\fID\\fR+\\fIX\\fR+\\fIY\\fR+\\fIZ\\fR, or\n"
    "\\fIW\\fRx\\fIH\\fR+\\fIX\\fR+\\fIY\\fR in 2D: the size, then the place of the first voxel, counted "
    "from 0.\n"
    "Channels and time points are filtered each on its own; an alpha channel is passed through to a result "
    "of its type.\n";

static const char after_options[] =
    ".SH BOUNDARIES\n"
    "What a filter reads beyond the ends of a row a b c:\n"
    ".TP\n\\fBnearest\\fR (default)\na a | a b c | c c\n"
    ".TP\n\\fBreflect\\fR\nb a | a b c | c b\n"
    ".TP\n\\fBmirror\\fR\nc b | a b c | b a\n"
    ".TP\n\\fBconstant\\fR, \\fBconstant=\\fR\\fIV\\fR\nv v | a b c | v v, with v = 0 unless given; derived "
    "fields, "
    "such as gradients, read 0\n"
    ".TP\n\\fBwrap\\fR\nb c | a b c | a b\n"
    ".PP\n"
    "The names are those of scipy.ndimage, whose own default is reflect.\n"
    "OpenCV calls them BORDER_REPLICATE, BORDER_REFLECT, BORDER_REFLECT_101 (its default),\n"
    "BORDER_CONSTANT and BORDER_WRAP, numpy.pad edge, symmetric, reflect, constant and wrap.\n"
    "ImageJ's filters repeat the edge, as nearest does.\n"
    "Every step of a chain, and every iteration, applies the rule to its own input.\n"
    "An axis of one voxel reads that voxel under every rule, and its derivative is 0.\n"
    ".SH UNITS\n"
    "A bare length is in voxels of its axis.\n"
    "With \\fBA\\fR, \\fBnm\\fR, \\fBum\\fR or \\fBmm\\fR at its end, as in \\(lqsigma=1x1x0.5um\\(rq,\n"
    "a length is converted by the\n"
    "voxel spacing, which is read from the file or given by \\fB\\-\\-spacing\\fR; one that comes to less\n"
    "than 0.125 voxels along every axis would do nothing, and is refused unless it is 0.\n"
    "One unit holds for the whole vector; \\fBvox\\fR means voxels.\n"
    ".PP\n"
    "Where voxels are not cubes, derivatives are taken per x\\-voxel, and a single bare length is in\n"
    "x\\-voxels where its bounds are said in them (sigma and rho of filters that use tensors);\n"
    "three values are in voxels of each axis.\n"
    "\\fB\\-\\-spacing 1x1x1\\fR switches that off, and the result keeps the file's voxel size.\n"
    ".SH GLOBAL VALUES\n"
    "Thresholds such as \\fBk=auto\\fR, \\fBk=p90\\fR (a percentile) and \\fBk=2sd\\fR (standard deviations) "
    "are\n"
    "computed once a channel from all finite values of the filter's input, of all its planes and time "
    "points, "
    "before its first iteration.\n"
    "Percentiles leave out zeros, and are rounded down by at most 0.4 %.\n"
    "That costs one more pass over the data, which \\fB\\-\\-explain\\fR shows.\n"
    ".SH FILES\n"
    "TIFF (also BigTIFF, ImageJ stacks and OME\\-TIFF), MRC and PNG are told apart by content when read and "
    "by "
    "the name's\nending when written; \\(lq\\-\\(rq is standard input or output, which, as a pipe or device "
    "whose name says\nnothing, gets the input's kind.\n"
    "The output is of the input's kind and keeps its resolution, descriptions and lookup tables as far as "
    "they "
    "hold, and\nits element type where every filter of the chain does; what is not kept is said in one "
    "note.\n"
    "The channels of a result with several, such as a tensor's, are labelled in ImageJ stacks and "
    "OME\\-TIFF; in other TIFF\nthey are samples of each page, which ImageJ opens through Bio\\-Formats "
    "only.\n"
    "A grey stack of plain TIFF becomes ImageJ's where \\fB\\-\\-spacing\\fR says how far its planes are\n"
    "apart, unless they have descriptions or names.\n"
    "Pages of OME\\-TIFF keep their order; ImageJ's are written in the order channel, slice, frame.\n"
    "What \\fB\\-\\-compress zstd\\fR writes is read by libtiff and tifffile, but not by ImageJ and "
    "Bio\\-Formats.\n"
    "TIFF results that may pass 4 GiB are BigTIFF, or, for ImageJ, one directory and planes that follow it.\n"
    "Planes of an uncompressed stack follow each other, so that it can be mapped into memory, unless it is\n"
    "OME\\-TIFF or a plane takes more than 256 MiB.\n"
    ".PP\n"
    "MRC is read in modes 0, 1, 2, 6 and 12; uint8 is written in mode 6, unless IMOD wrote the input, and "
    "rows "
    "keep their\norder.\n"
    "A label is added that has the version and the chain, unless there are ten already.\n"
    "Stacks of volumes are time points; for tilt series and particles give \\fB\\-\\-slices\\fR.\n"
    ".PP\n"
    "A result is written to a temporary file beside its target and put in place when it is whole: a failed "
    "or\n"
    "interrupted run leaves the old file, or none. Until then it has no name, and a run that is killed "
    "leaves "
    "nothing;\n"
    "where the file system does not offer that (NFS), a file .\\fINAME\\fR.volfilter\\-\\fIXXXXXX\\fR stays, "
    "which may "
    "be\n"
    "removed. \\fIIN\\fR and \\fIOUT\\fR may be the same file.\n"
    ".PP\n"
    "With \\fB\\-\\-out\\-dir\\fR, names are checked before anything starts; a bad file is reported and the "
    "rest goes "
    "on.\n"
    "A note is told of the first file of which it is true and, at the end, of how many more;\n"
    "with \\fB\\-v\\fR of each.\n"
    ".SH EXIT STATUS\n"
    ".TP\n\\fB0\\fR\ndone\n"
    ".TP\n\\fB1\\fR\nfailed: the message on standard error says why\n"
    ".TP\n\\fB2\\fR\nwrong usage: an option, filter or value\n"
    ".TP\n\\fB3\\fR\nsome of several files failed\n"
    ".TP\n\\fB129\\fR, \\fB130\\fR, \\fB143\\fR\ninterrupted by SIGHUP, SIGINT, SIGTERM; a second signal "
    "leaves at once\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBVOLFILTER_ISA\\fR\nforces a vector level: baseline, v3 (x86\\-64\\-v3) or v4; the result is "
    "the same\n"
    ".TP\n\\fBVOLFILTER_CACHE\\fR\nthe folder that keeps compiled GPU kernels from run to run; empty: none. "
    "By default it is\n"
    "volfilter in \\fBXDG_CACHE_HOME\\fR or in ~/.cache. A folder that others may write to is not used\n"
    ".TP\n\\fBVOLFILTER_PRECOMPILED\\fR\nthe folder of the GPU kernels that came with volfilter, for "
    "machines "
    "without a compiler; empty: none.\n"
    "By default it is precompiled beside the program, or ../share/volfilter/precompiled from there\n"
    ".TP\n\\fBCUDA_HOME\\fR\nwhere the CUDA toolkit is, when its compiler, libnvrtc, is not among the "
    "system's libraries\n"
    ".TP\n\\fBOMP_NUM_THREADS\\fR\nthreads to use when \\fB\\-\\-threads\\fR is not given\n"
    ".TP\n\\fBTMPDIR\\fR\nwhere what comes through pipes is kept "
    "while it is read, and until a result is whole (default /tmp)\n"
    ".SH EXAMPLES\n"
    "Smooth a stack, and write the gradient's magnitude:\n"
    ".PP\n.RS\n.nf\n"
    "volfilter \\-f gaussian:sigma=2x2x1,gradient in.tif out.tif\n"
    ".fi\n.RE\n.PP\n"
    "Denoise and keep edges, the contrast taken from the image:\n"
    ".PP\n.RS\n.nf\n"
    "volfilter \\-f perona\\-malik:k=p90:iterations=20 in.tif out.tif\n"
    ".fi\n.RE\n.PP\n"
    "A width in micrometres, with the voxel size given:\n"
    ".PP\n.RS\n.nf\n"
    "volfilter \\-\\-spacing 0.1x0.1x0.3um \\-f gaussian:sigma=0.2um in.tif out.tif\n"
    ".fi\n.RE\n.PP\n"
    "In a pipe:\n"
    ".PP\n.RS\n.nf\n"
    "volfilter \\-f gaussian \\- \\- < in.png | volfilter \\-f gradient \\-\\-dtype uint8 \\- out.png\n"
    ".fi\n.RE\n.PP\n"
    "A folder:\n"
    ".PP\n.RS\n.nf\n"
    "volfilter \\-f gaussian \\-\\-out\\-dir smooth \\-\\-suffix _g *.tif\n"
    ".fi\n.RE\n.PP\n"
    "What would be done:\n"
    ".PP\n.RS\n.nf\n"
    "volfilter \\-f eed:iterations=5 \\-\\-explain \\-\\-dry\\-run in.tif out.tif\n"
    ".fi\n.RE\n";

void vf_cli_print_man(FILE *to)
{
    fprintf(to, ".\\\" Made by volfilter --man; do not edit.\n");
    fprintf(to, ".TH VOLFILTER 1 \"\" \"volfilter %s\" \"User Commands\"\n", VF_VERSION);
    fputs(before_commands, to);
    print_commands(to);
    fputs(before_filters, to);
    print_filters(to);
    print_options(to);
    fputs(after_options, to);
}
