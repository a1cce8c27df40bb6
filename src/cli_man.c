/* The manual page, in roff (man(7)), from the tables of options and filters. man/volfilter.1 is this output.
 */
#include <ctype.h>
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
        ".SH OPTIONS\nLong options cannot be abbreviated. If an option is given twice, the last one applies; "
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
        putc(toupper((unsigned char)filter->summary[0]), to);
        print_text(to, filter->summary + 1);
        fprintf(to, ".\nThe output %s.\n",
                filter->keeps_type ? "has the input's element type" : "is float32");
        fputs("Source: ", to);
        print_text(to, filter->source);
        fputs(".\n", to);
        for (int k = 0; k < filter->param_count; k++)
            print_param(to, &filter->params[k]);
    }
}

static void print_commands(FILE *to)
{
    fputs(".SH COMMANDS\n"
          "With \\fB\\-f\\fR, these words are ordinary file names.\n",
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
    "\\fBlist\\fR | \\fBhelp\\fR [\\fINAME\\fR] | \\fBinfo\\fR \\fIFILE\\fR | \\fBdevices\\fR | \\fBtune\\fR "
    "[\\fICHAIN\\fR]... | \\fB\\-\\-version\\fR | \\fB\\-\\-help\\fR\n"
    ".SH DESCRIPTION\n"
    "\\fBvolfilter\\fR reads a 2D image (PNG, TIFF) or a 3D stack (TIFF, MRC), applies a chain of filters "
    "and writes the result.\n"
    "Where that is fastest, the whole chain is computed in a single sweep over memory.\n"
    "With an NVIDIA GPU it is computed there if that is predicted to be faster.\n"
    "The result is the same, bit for bit, whatever the device, the number of threads, the memory limit and "
    "the machine.\n";

static const char before_options[] =
    ".SH CHAINS\n"
    "A chain is a list of filters separated by commas; a repeated \\fB\\-f\\fR appends to it.\n"
    "A filter is its name, followed by its parameters:\n"
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
    "A value without a name sets the first parameter; only the first value may omit its name.\n"
    "Vectors are in the order x, y, z, joined by \\(lqx\\(rq.\n"
    "Numbers are decimal, so \\(lq0x1x1\\(rq is a vector.\n"
    "Boxes are \\fIW\\fRx\\fIH\\fRx\\fID\\fR+\\fIX\\fR+\\fIY\\fR+\\fIZ\\fR, or\n"
    "\\fIW\\fRx\\fIH\\fR+\\fIX\\fR+\\fIY\\fR in 2D: the size, then the position of the first voxel, counted "
    "from 0.\n"
    "Each channel and each time point is filtered separately; an alpha channel is copied to a result of the "
    "same type\nand with as many channels.\n";

static const char after_filters[] =
    ".SH BOUNDARIES\n"
    "What a filter reads beyond the ends of a row a b c:\n"
    ".TP\n"
    "\\fBnearest\\fR (default)\n"
    "a a | a b c | c c\n"
    ".TP\n"
    "\\fBreflect\\fR\n"
    "b a | a b c | c b\n"
    ".TP\n"
    "\\fBmirror\\fR\n"
    "c b | a b c | b a\n"
    ".TP\n"
    "\\fBconstant\\fR, \\fBconstant=\\fR\\fIV\\fR\n"
    "v v | a b c | v v, with v = 0 unless given; derived fields, such as gradients and the results of\n"
    "\\fBconvolve\\fR and \\fBdog\\fR, are 0 there\n"
    ".TP\n"
    "\\fBwrap\\fR\n"
    "b c | a b c | a b\n"
    ".PP\n"
    "The names are those of scipy.ndimage, whose own default is reflect.\n"
    "OpenCV calls them BORDER_REPLICATE, BORDER_REFLECT, BORDER_REFLECT_101 (its default),\n"
    "BORDER_CONSTANT and BORDER_WRAP; numpy.pad calls them edge, symmetric, reflect, constant and wrap.\n"
    "ImageJ's 2D filters repeat the edge, as nearest does.\n"
    "Every stage of a chain, and every iteration, applies the rule to its own input.\n"
    "Along an axis of one voxel every rule reads that voxel, and the derivative is 0,\n"
    "but for rounding with \\fBgradient:method=gaussian\\fR.\n"
    ".SH UNITS\n"
    "A length without a unit is in voxels of its axis.\n"
    "A length followed by \\fBA\\fR, \\fBnm\\fR, \\fBum\\fR or \\fBmm\\fR, as in \\(lqsigma=1x1x0.5um\\(rq,\n"
    "is converted to voxels by the\n"
    "voxel size, which is read from the file or given by \\fB\\-\\-spacing\\fR. A width of less "
    "than\n" VF_LEAST_SIGMA_TEXT
    " voxels along every axis (0.5 divided by \\fItruncate\\fR where a filter has it, 0.5 for "
    "\\fBmean\\fR)\n"
    "has no effect: with such a unit, which is then more likely wrong, it is refused unless it is 0.\n"
    "A TIFF or PNG of 72 or 96 dpi, which programs write when they know nothing, or of one pixel a unit,\n"
    "states no voxel size. In a stack that ImageJ wrote in A, nm, um or mm without a\n"
    "distance of planes these are 1 unit apart, as ImageJ has it; where tifffile wrote it, it is not known.\n"
    "An axis of which no voxel size is known counts as wide as x: \\fB\\-\\-spacing\\fR tells.\n"
    "One unit applies to the whole vector; \\fBvox\\fR means voxels.\n"
    ".PP\n"
    "An x\\-voxel is the width of a voxel along x.\n"
    "Where voxels are not cubes, derivatives are per x\\-voxel. A single length without a unit is in\n"
    "x\\-voxels for parameters whose range is given in x\\-voxels (sigma and rho of filters that use "
    "tensors);\n"
    "three lengths are each in voxels of their own axis.\n"
    "\\fB\\-\\-spacing 1x1x1\\fR makes the filters treat voxels as cubes, whose sides are 1 in the file's\n"
    "unit, which matters to lengths with a unit; the result keeps the file's voxel size.\n"
    ".SH GLOBAL VALUES\n"
    "Thresholds such as \\fBk=auto\\fR, \\fBk=p90\\fR (a percentile) and \\fBk=2sd\\fR (standard deviations) "
    "are\n"
    "computed once per channel, before the first iteration, from all finite values of the filter's input in "
    "all planes and time points, with \\fB\\-\\-slices\\fR too; a noise box is one of every plane then.\n"
    "Percentiles ignore zeros and are rounded down by at most 0.4 %.\n"
    "The q0 of \\fBsrad\\fR is measured again before each iteration; \\fB\\-v\\fR shows the last one.\n"
    "Thresholds take one more pass over the data, and q0 one for each iteration besides, which\n"
    "\\fB\\-\\-explain\\fR shows.\n"
    ".SH PRECISION\n"
    "Filters compute in float32 or, with \\fB\\-\\-precision double\\fR, in float64. In float32, filters "
    "that\n"
    "square gradients (gradient magnitude, structure tensor, diffusion) need intensities between about "
    "1e\\-18 "
    "and\n"
    "1e18: outside this range squares underflow or overflow, and results are wrong or NaN. Double has room\n"
    "for all float32 values.\n"
    "Every addition of a sum rounds: in float32 the mean of 1001 voxels along an axis may be off by 1 in "
    "65535, "
    "of 2001 by 2, and a table of 255x255 weights by 18 in 40000.\n"
    "Where a filter sums more than 512 voxels along an axis or in a table, or \\fBmean\\fR more than 256, "
    "the\n"
    "default is double. Where what is looked for is small beside the intensities (derivatives of 50 grey\n"
    "levels upon 30000, sharpening by an amount of 100), \\fB\\-\\-precision double\\fR keeps more of it.\n"
    ".SH FILES\n"
    "The format of an input is recognised from its content: TIFF (also BigTIFF, ImageJ stacks and "
    "OME\\-TIFF), MRC or PNG.\n"
    "The format of an output follows its extension. \\(lq\\-\\(rq is standard input or output; standard "
    "output, a pipe or device\n"
    "without a known extension, and with \\fB\\-\\-out\\-dir\\fR any such file, get the input's format.\n"
    "Extensions, in any case, are " VF_OUTPUT_ENDINGS ".\n"
    "With an image on standard output, \\fB\\-\\-explain\\fR and \\fB\\-\\-json\\fR go to standard error.\n"
    ".PP\n"
    "The output keeps the input's voxel size, descriptions and lookup tables as far as they still apply and\n"
    "its format can hold them, and the element type if every filter of the chain keeps it. One note lists\n"
    "what is not kept.\n"
    ".PP\n"
    "The pages of a plain TIFF are planes along z, unless tifffile noted other axes of them (time, "
    "channels);\n"
    "for a time series without such a note use \\fB\\-\\-slices\\fR.\n"
    ".PP\n"
    "The channels of a multichannel result, such as a tensor, are labelled in ImageJ stacks and OME\\-TIFF; "
    "in other TIFF\n"
    "files they are samples of each page, which ImageJ can open only through Bio\\-Formats.\n"
    "OME\\-TIFF is written of OME\\-TIFF alone, and of an MRC volume an ImageJ stack.\n"
    "A plain grey TIFF stack becomes an ImageJ stack if \\fB\\-\\-spacing\\fR gives the distance between its "
    "planes, unless\n"
    "its pages have descriptions, beyond tifffile's of its shape, or names. So does a result whose pages "
    "tifffile noted to be channels or "
    "time "
    "points,\n"
    "unless that note is true of it: of time points and planes in their order, of the same type and "
    "channels.\n"
    "OME\\-TIFF pages keep their order; ImageJ pages are written in the order channel, slice, frame.\n"
    "Files written with \\fB\\-\\-compress zstd\\fR can be read by libtiff and tifffile, but not by ImageJ "
    "or Bio\\-Formats.\n"
    "TIFF results that may exceed 4 GiB are BigTIFF or, for ImageJ, one directory followed by all planes.\n"
    "Results are written in strips, also where the input has tiles.\n"
    "The planes of an uncompressed stack are contiguous, so that it can be memory\\-mapped, except in\n"
    "OME\\-TIFF and where a plane exceeds 256 MiB.\n"
    ".PP\n"
    "MRC is read in modes 0, 1, 2, 6 and 12. uint8 is written in mode 6 (uint16), unless IMOD wrote the\n"
    "input; rows keep their order. 16\\-bit floats (mode 12, or those of a TIFF) are read as float32, and "
    "stay "
    "16\\-bit floats\n"
    "in an MRC file if every filter keeps its input's type, with 11 significant bits and up to 65504;\n"
    "\\fB\\-\\-dtype float32\\fR writes mode 2.\n"
    "A label with the version and the chain is added, unless there are already ten.\n"
    "The volumes of a stack of volumes are treated as time points. For a tilt series or a stack of\n"
    "particles use \\fB\\-\\-slices\\fR: without it, the stack is filtered as a volume, across its images, "
    "and\n"
    "a note says so. A result of \\fB\\-\\-slices\\fR is a stack of images where nothing says how far its\n"
    "planes are apart. Bytes (mode 0) are read as int8, or as uint8 if IMOD wrote them unsigned or if the\n"
    "range in another program's header goes beyond 127.\n"
    ".PP\n"
    "A result is written to a temporary file beside its target and moved into place when complete: a failed\n"
    "or interrupted run leaves the old file, or none. The temporary file has no name, so even a killed run\n"
    "leaves nothing behind. Only where the file system has no such files (NFS), or if the run is killed\n"
    "while it moves a result into place or, with \\fB\\-\\-sync\\fR, waits for the disk, a file "
    ".\\fINAME\\fR.volfilter\\-\\fIXXXXXX\\fR may remain, which "
    "can\n"
    "be deleted. \\fIIN\\fR and \\fIOUT\\fR may be the same file; if another program changes it\n"
    "meanwhile, it is left as it is, and that is an error. Any other \\fIOUT\\fR is replaced, unless it is\n"
    "write\\-protected. Of a symbolic link the file that it leads to is replaced; hard links keep what\n"
    "they had.\n"
    ".PP\n"
    "With \\fB\\-\\-out\\-dir\\fR, all names are checked before anything starts; a bad file is reported and\n"
    "the others are still filtered.\n"
    "A note that applies to several files is printed for the first of them and, at the end, with the number\n"
    "of the others; with \\fB\\-v\\fR it is printed for each file.\n"
    "Finished results are listed in \\fIDIR\\fR/.volfilter\\-done, so that \\fB\\-\\-resume\\fR also\n"
    "continues a run that was started without it. A run without \\fB\\-\\-resume\\fR removes the list if it\n"
    "created it alone, finished everything and replaced none of its inputs. A run with \\fB\\-\\-resume\\fR "
    "keeps\n"
    "it, and fails if the list cannot be written. Where results lie beside the inputs, it leaves the\n"
    "finished ones out of the inputs.\n"
    ".SH JSON\n"
    "\\fB\\-\\-report\\fR writes one object: \\fIfiles\\fR, \\fIdone\\fR, \\fIskipped\\fR and \\fIfailed\\fR "
    "are\n"
    "numbers of files, \\fIinterrupted\\fR is true after a signal (what takes longer than 8 s to stop is "
    "then\n"
    "ended without one), and \\fIresults\\fR has an object for each\n"
    "file, in the order given, with \\fIinput\\fR, \\fIoutput\\fR, \\fIstatus\\fR (done, skipped, failed, "
    "planned\n"
    "or not done), \\fIerror\\fR (the message, or null), \\fInote\\fR (what else was said of the file,\n"
    "or null), \\fIread_seconds\\fR, \\fIcompute_seconds\\fR and \\fIwrite_seconds\\fR.\n"
    "To filter again what failed, repeat the command with \\fB\\-\\-resume\\fR. While a run is at work,\n"
    "an earlier report in that place is replaced by one that says interrupted, for the case that it is\n"
    "killed.\n"
    ".PP\n"
    "\\fB\\-\\-json\\fR prints for each result \\fIinput\\fR, \\fIoutput\\fR, \\fInote\\fR, the same times,\n"
    "\\fIelapsed_seconds\\fR, \\fIthreads\\fR, \\fImemory_bytes\\fR (predicted), \\fIpeak_memory_bytes\\fR "
    "(of the\n"
    "program so far) and, if a GPU computed it, \\fIupload_seconds\\fR, \\fIkernel_seconds\\fR and\n"
    "\\fIdownload_seconds\\fR.\n"
    ".PP\n"
    "With \\fB\\-\\-explain\\fR it prints the plan: the numbers of \\fIaspect\\fR, \\fIhalo\\fR, "
    "\\fIblock\\fR and\n"
    "\\fIwork\\fR are of x, y and z, those of \\fItile\\fR of x and y, and the CPU\\(aqs \\fIblock\\fR is a "
    "number of planes; a halo is in "
    "voxels, on each side. \\fIfilters\\fR are those of the "
    "chain, with their\n"
    "stages; \\fIruns\\fR the sweeps, each with its number of \\fIstages\\fR; a \\fIprepass\\fR takes global "
    "values. \\fIchunk\\fR\n"
    "and, on a GPU, \\fIstream\\fR are how many planes one thread or block goes through, \\fIoccupancy\\fR "
    "is from 0 to 1.\n"
    "A file that passes in slabs has \\fIpasses\\fR, of so many \\fIruns\\fR each, 0 of a "
    "\\fIprepass\\fR alone, whose \\fIslab\\fR and \\fIoverlap\\fR are counted "
    "in what\n"
    "\\fIslab_of\\fR says; \\fIfrom_image\\fR and \\fIto_result\\fR tell whether a pass reads the image and "
    "writes the\n"
    "result, or temporary files. A run in two sweeps that alternate has a \\fIcut\\fR, the stage with which "
    "the\n"
    "second begins, and \\fIfirst_tile\\fR and \\fIfirst_chunk\\fR of the first. Of a kernel, "
    "\\fIbound_by\\fR is what it\n"
    "is predicted to wait for, \\fIforced\\fR that \\fB\\-\\-scheme\\fR asks for it, \\fIprecompiled\\fR "
    "that "
    "it comes with the\n"
    "program, and \\fItuned\\fR that it was measured: it has \\fImeasured_seconds\\fR in place of "
    "\\fIpredicted_seconds\\fR.\n"
    ".PP\n"
    "\\fBinfo \\-\\-json\\fR: \\fIspacing\\fR is the size of a voxel along x, y and z in \\fIunit\\fR "
    "(nm, um or mm),\n"
    "or null where it is not known; \\fIpage_channels\\fR are the channels in each of the "
    "\\fIpages\\fR, and\n"
    "\\fIpage_order\\fR is that of the pages: in \\(lqczt\\(rq the channel changes fastest.\n"
    "\\fIpacked_bits\\fR are the bits of a sample where these are not whole bytes, or 0;\n"
    "\\fIhalf_floats\\fR tells of 16\\-bit floats, which are read as float32, \\fImin_is_white\\fR that 0 is "
    "white,\n"
    "\\fIplanar_separate\\fR that a page has its channels one after another, "
    "and \\fIimage_stack\\fR of an MRC file that its sections are images, not a volume.\n"
    ".PP\n"
    "\\fBdevices \\-\\-json\\fR: \\fIdouble_ratio\\fR is how many times as fast float32 is computed as "
    "float64; the\n"
    "\\fIcosts\\fR are what plans take for starting the driver, the device and the compiler, for compiling "
    "a\n"
    "kernel and each \\fIoperation\\fR of its text, and for copies from memory that is "
    "\\fIpinned\\fR or \\fIstaged\\fR.\n"
    ".PP\n"
    "In all objects names tell the unit: \\fI_seconds\\fR, \\fI_bytes\\fR, \\fIbytes_\\fR, "
    "\\fI_bytes_per_second\\fR,\n"
    "\\fI_hertz\\fR. What does not apply is null, 0 or left out.\n"
    ".PP\n"
    "\\fB\\-\\-progress json\\fR prints one object per line, with \\fIstep\\fR, \\fIdone\\fR, "
    "\\fItotal\\fR,\n"
    "\\fIseconds\\fR and, once it can be told, \\fIseconds_left\\fR. For several files, \\fIdone\\fR and "
    "\\fItotal\\fR are bytes "
    "of the\n"
    "inputs to be filtered, and \\fIfiles_done\\fR, \\fIfiles\\fR and \\fIbytes_per_second\\fR are added.\n"
    ".PP\n"
    "Bytes of a file's name that are not UTF\\-8 appear as U+FFFD.\n"
    ".SH OTHER PROGRAMS\n"
    "How to get the results of other programs. Where voxels are not cubes, add \\fB\\-\\-spacing 1x1x1\\fR "
    "to\n"
    "compare with a program that ignores the voxel size. \\(lqTimes 8\\(rq is \\fBconvolve\\fR with a file\n"
    "that holds the single weight 8, as last filter.\n"
    ".TP\n"
    "scipy.ndimage\n"
    "The default boundary there is reflect, and tuples are in the order z, y, x. gaussian_filter is\n"
    "\\fBgaussian\\fR; uniform_filter and median_filter of size 2r + 1 are \\fBmean\\fR and \\fBmedian\\fR "
    "of\n"
    "radius r; laplace is \\fBlaplacian\\fR; convolve is \\fBconvolve\\fR, and correlate is the same with\n"
    "\\fBflip=no\\fR. sobel is \\fBgradient:method=sobel:output=x\\fR times 8 in 2D, times 32 in 3D.\n"
    "gaussian_filter with order 1 along x and sigma 2 is\n"
    "\\fBgaussian:sigma=0x2x2,gradient:method=gaussian:sigma=2:output=x\\fR. With\n"
    "integer images scipy truncates after each axis; volfilter rounds once, at the end. Under boundary\n"
    "constant an axis of one voxel is left alone here, not there, and sobel is the same for constant 0.\n"
    ".TP\n"
    "scikit\\-image\n"
    "With preserve_range=True, filters.gaussian is \\fBgaussian\\fR and, under boundary reflect,\n"
    "unsharp_mask is \\fBunsharp\\fR. Under boundary reflect, sobel and scharr are the magnitudes of\n"
    "\\fBgradient\\fR times 2 / sqrt(2) in 2D, 2 / sqrt(3) in 3D, and laplace is \\fBlaplacian\\fR with\n"
    "the opposite sign. feature.structure_tensor takes derivatives by scipy's sobel, which are 8 times\n"
    "(3D: 32 times) central differences and smoothed across, so that its elements are up to 64 (1024) times\n"
    "as large, less so the finer the detail; its sigma is the rho of \\fBstructure\\-tensor:sigma=0\\fR. An\n"
    "element of hessian_matrix with use_gaussian_derivatives=False is, away from the edges,\n"
    "\\fBgaussian:sigma=2,gradient:output=x,gradient:output=x\\fR.\n"
    ".TP\n"
    "MedPy\n"
    "anisotropic_diffusion(niter, kappa, gamma, option) is \\fBperona\\-malik:iterations=\\fR\\fIniter\\fR"
    "\\fB:k=\\fR\\fIkappa\\fR\\fB:dt=\\fR\\fIgamma\\fR with\n"
    "\\fBconductance=exp\\fR for option 1 and \\fBconductance=quadratic\\fR for option 2.\n"
    ".TP\n"
    "ImageJ\n"
    "Its 2D filters treat each slice alone, as \\fB\\-\\-slices\\fR does. Gaussian Blur is\n"
    "\\fBgaussian\\fR, Smooth is \\fBmean\\fR, Median of radius 1 is \\fBmedian\\fR, Find Edges is\n"
    "\\fBgradient:method=sobel\\fR times 8, and Gaussian Blur 3D is \\fBgaussian\\fR with a sigma for\n"
    "each axis. Convolve is \\fBconvolve:flip=no\\fR, and Mean of a larger radius that with equal weights\n"
    "in a disc. Median 3D and Mean 3D take an ellipsoid, of radius 1 the voxel and its 6 neighbours, and\n"
    "leave out what lies outside the image: they are not \\fBmedian\\fR and \\fBmean\\fR, which take a box.\n"
    ".TP\n"
    "IMOD\n"
    "\\fBnad_eed_3d \\-k\\fR \\fIK\\fR \\fB\\-n\\fR \\fIN\\fR \\fB\\-s\\fR \\fIS\\fR (by default 20 steps\n"
    "of 0.1) is close to\n"
    "\\fBeed:mode=line:sigma=0:rho=\\fR\\fIS\\fR\\fB:k=\\fR\\fI0.9K\\fR\\fB:iterations=\\fR\\fIN\\fR\\fB:dt="
    "0.1\\fR;\n"
    "a \\fIK\\fR of 2 standard deviations of the data is \\fBk=1.8sd\\fR. Its threshold is\n"
    "steeper, and its \\fIS\\fR smooths the structure tensor, not the image. Without \\fB\\-s\\fR it\n"
    "does not smooth, and its direction within a surface is arbitrary; closest is then\n"
    "\\fBeed:sigma=0:k=\\fR\\fI0.9K\\fR\\fB:iterations=\\fR\\fIN\\fR\\fB:dt=0.1\\fR, which smooths in every\n"
    "direction along the surface. Away from the image's edges, where clip takes fewer voxels,\n"
    "\\fBclip median \\-3d \\-n 3\\fR is \\fBmedian\\fR, \\fB\\-n 5\\fR is\n"
    "\\fBmedian:radius=2\\fR; \\fB\\-2d\\fR is \\fB\\-\\-slices\\fR.\n"
    ".TP\n"
    "Low\\-pass filters\n"
    "A Gaussian of standard deviation s halves the amplitude at a wavelength of 5.34 s: for a resolution\n"
    "of 40 A it is \\fBgaussian:sigma=7.5A\\fR. A Gaussian fall\\-off of f cycles per voxel is a sigma of\n"
    "0.159 / f voxels.\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    "\\fB0\\fR\n"
    "success\n"
    ".TP\n"
    "\\fB1\\fR\n"
    "failure: a message on standard error says why\n"
    ".TP\n"
    "\\fB2\\fR\n"
    "usage error: a wrong option, filter or value\n"
    ".TP\n"
    "\\fB3\\fR\n"
    "some or all of several files failed\n"
    ".TP\n"
    "\\fB129\\fR, \\fB130\\fR, \\fB143\\fR\n"
    "interrupted by SIGHUP, SIGINT or SIGTERM; a second one, 0.1 s later or more, exits at once\n"
    ".SH ENVIRONMENT\n"
    ".TP\n"
    "\\fBVOLFILTER_ISA\\fR\n"
    "forces a vector level: baseline, v3 (x86\\-64\\-v3) or v4 (x86\\-64\\-v4); the result is the same\n"
    ".TP\n"
    "\\fBVOLFILTER_CACHE\\fR\n"
    "the directory that keeps compiled GPU kernels between runs, 256 MiB of them at most; if empty, none "
    "are\n"
    "kept. The default is\n"
    "volfilter in \\fBXDG_CACHE_HOME\\fR or in ~/.cache. A directory that others can write to is not used,\n"
    "nor an \\fBXDG_CACHE_HOME\\fR that does not begin with \\(lq/\\(rq.\n"
    ".TP\n"
    "\\fBVOLFILTER_PRECOMPILED\\fR\n"
    "the directory of the GPU kernels shipped with volfilter, for machines without a compiler; if empty, "
    "none are used.\n"
    "The default is precompiled beside the program, or ../share/volfilter/precompiled relative to it.\n"
    ".TP\n"
    "\\fBCUDA_HOME\\fR\n"
    "location of the CUDA toolkit, if its run\\-time compiler, libnvrtc, is not among the system's "
    "libraries\n"
    ".TP\n"
    "\\fBCUDA_VISIBLE_DEVICES\\fR\n"
    "the GPUs that the driver shows; a run takes the one with the fastest memory\n"
    ".TP\n"
    "\\fBOMP_NUM_THREADS\\fR\n"
    "number of threads when \\fB\\-\\-threads\\fR is not given, instead of one for each processor;\n"
    "\\fBOMP_THREAD_LIMIT\\fR bounds that number, and \\fBOMP_PLACES\\fR names the processors\n"
    ".TP\n"
    "\\fBTMPDIR\\fR\n"
    "where input from a pipe is stored while it is read, and output to a pipe or to standard output until "
    "it\n"
    "is complete (default /tmp)\n"
    ".SH EXAMPLES\n"
    "Smooth a stack and write the gradient magnitude:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f gaussian:sigma=2x2x1,gradient in.tif out.tif\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Denoise and keep edges, with the edge threshold taken from the image:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f perona\\-malik:k=p90:iterations=20 in.tif out.tif\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Denoise a tomogram, with a box of background of 32 x 32 x 8 voxels:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f and:noise=32x32x8+0+0+0 tomogram.mrc denoised.mrc\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Give a width in micrometres, and the voxel size:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-\\-spacing 0.1x0.1x0.3um \\-f gaussian:sigma=0.2um in.tif out.tif\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Use a pipe:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f gaussian \\- \\- < in.png | volfilter \\-f gradient \\-\\-dtype uint8 \\- out.png\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Filter many files into a directory:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f gaussian \\-\\-out\\-dir smooth \\-\\-suffix _g *.tif\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Filter all images below a directory; after an interruption, the same command continues:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f gaussian \\-\\-out\\-dir smooth \\-\\-tree \\-\\-resume \\-\\-report smooth.json images\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "Show the plan without running it; it says whether the CPU or the GPU would compute:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "volfilter \\-f eed:iterations=5 \\-\\-explain \\-\\-dry\\-run in.tif out.tif\n"
    ".fi\n"
    ".RE\n";

void vf_cli_print_man(FILE *to)
{
    fprintf(to, ".\\\" Made by volfilter --man; do not edit.\n");
    fprintf(to, ".TH VOLFILTER 1 \"\" \"volfilter %s\" \"User Commands\"\n", VF_VERSION);
    fputs(before_commands, to);
    print_commands(to);
    fputs(before_options, to);
    print_options(to);
    print_filters(to);
    fputs(after_filters, to);
}
