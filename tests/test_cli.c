/* The command line: what is read; tests/cli/ runs the program itself. */
#include <criterion/criterion.h>
#include <string.h>

#include "src/cli.h"
#include "src/volume.h"

#define MAX_WORDS 16

static struct vf_command_line line;
static struct vf_error error;

/* Reads the words after the program's name, separated by single spaces. */
static enum vf_status read_words(const char *words)
{
    static char text[512];
    static char *argv[MAX_WORDS + 1];
    int argc = 0;
    vf_command_line_free(&line);
    error.text[0] = '\0';
    cr_assert_lt(strlen(words), sizeof text - 10);
    strcpy(text, "volfilter ");
    strcat(text, words);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        cr_assert_lt(argc, MAX_WORDS);
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return vf_command_line_read(&line, argc, argv, &error);
}

static void expect_read(const char *words)
{
    cr_assert_eq(read_words(words), VF_OK, "%s: %s", words, error.text);
}

static void expect_error(const char *words, const char *piece)
{
    cr_expect_eq(read_words(words), VF_USAGE, "%s", words);
    cr_expect_not_null(strstr(error.text, piece), "%s: '%s' has no '%s'", words, error.text, piece);
}

static void free_line(void)
{
    vf_command_line_free(&line);
}

TestSuite(cli, .fini = free_line);

Test(cli, tables_agree_with_the_enumerations)
{
    for (int i = 0; i < VF_OPTION_COUNT; i++) {
        cr_assert_not_null(vf_option_table[i].name, "option %d", i);
        cr_expect_not_null(vf_option_table[i].help);
    }
    for (int i = 0; i < VF_TYPE_COUNT; i++) {
        char words[64];
        snprintf(words, sizeof words, "-f gaussian --dtype %s a b", vf_type_name((enum vf_type)i));
        expect_read(words);
        cr_expect(line.options.dtype_given && line.options.dtype == (enum vf_type)i, "%s", words);
    }
}

Test(cli, defaults_are_zero)
{
    static const struct vf_options zero;
    expect_read("-f gaussian in.tif out.tif");
    cr_expect_eq(line.command, VF_COMMAND_FILTER);
    cr_expect_eq(memcmp(&line.options, &zero, sizeof zero), 0);
    cr_expect_eq(line.word_count, 2);
    cr_expect_str_eq(line.words[0], "in.tif");
    cr_expect_str_eq(line.words[1], "out.tif");
    cr_expect_null(line.out_dir);
}

Test(cli, chains_append_in_any_place)
{
    expect_read("in -f gaussian out -f gradient,gaussian:2");
    cr_expect_eq(line.chain.count, 3);
    cr_expect_str_eq(line.chain.link[1].filter->name, "gradient");
    cr_expect_str_eq(line.words[0], "in");
    expect_read("--filter=gaussian -- -in -out");
    cr_expect_str_eq(line.words[0], "-in");
}

Test(cli, choices)
{
    expect_read("-f gaussian --boundary mirror --backend cpu --precision double --compress zstd --progress "
                "never a b");
    cr_expect_eq(line.options.boundary, VF_MIRROR);
    cr_expect_eq(line.options.backend, VF_BACKEND_CPU);
    cr_expect_eq(line.options.precision, VF_PRECISION_DOUBLE);
    cr_expect_eq(line.options.compression, VF_COMPRESS_ZSTD);
    cr_expect_eq(line.options.progress, VF_PROGRESS_NEVER);
    expect_read(
        "-f gaussian --boundary=wrap --backend=cuda --precision=float --compress=none --progress=always a b");
    cr_expect_eq(line.options.boundary, VF_WRAP);
    cr_expect_eq(line.options.backend, VF_BACKEND_CUDA);
    cr_expect_eq(line.options.precision, VF_PRECISION_SINGLE);
    cr_expect_eq(line.options.compression, VF_COMPRESS_NONE);
    cr_expect_eq(line.options.progress, VF_PROGRESS_ALWAYS);
    expect_read("-f gaussian --backend gpu a b");
    cr_expect_eq(line.options.backend, VF_BACKEND_CUDA);
    expect_read("-f gaussian --precision auto --compress lzw --precision=single --compress deflate a b");
    cr_expect_eq(line.options.precision, VF_PRECISION_SINGLE);
    cr_expect_eq(line.options.compression, VF_COMPRESS_DEFLATE);
    expect_error("-f gaussian --boundary=neares a b", "did you mean 'nearest'? allowed: nearest, reflect");
    expect_error("-f gaussian --backend opencl a b", "allowed: auto, cpu or cuda");
    expect_error("-f gaussian --compress zst a b", "did you mean 'zstd'?");
    expect_error("-f gaussian --dtype int61 a b", "did you mean 'int");
    expect_error("-f gaussian --precision half a b", "allowed: auto, single (or float) or double");
    expect_error("-f gaussian --progress alway a b", "did you mean 'always'?");
}

Test(cli, boundary_constants)
{
    expect_read("-f gaussian --boundary constant a b");
    cr_expect(line.options.boundary == VF_CONSTANT && line.options.constant == 0);
    expect_read("-f gaussian --boundary constant=-1.5 a b");
    cr_expect(line.options.boundary == VF_CONSTANT && line.options.constant == -1.5);
    expect_error("-f gaussian --boundary constant= a b", "not understood");
    expect_error("-f gaussian --boundary constant=nan a b", "not understood");
    expect_error("-f gaussian --boundary constant=1x a b", "not understood");
    expect_error("-f gaussian --boundary wrap=1 a b", "not understood");
}

Test(cli, spacings)
{
    expect_read("-f gaussian --spacing 0.5x0.25x2um a b");
    cr_expect(line.options.spacing[0] == 0.5 && line.options.spacing[1] == 0.25 &&
              line.options.spacing[2] == 2);
    cr_expect_str_eq(line.options.spacing_unit, "um");
    expect_read("-f gaussian --spacing 2 a b");
    cr_expect(line.options.spacing[0] == 2 && line.options.spacing[2] == 2);
    cr_expect_str_eq(line.options.spacing_unit, "");
    expect_read("-f gaussian --spacing 3x4mm a b");
    cr_expect(line.options.spacing[1] == 4 && line.options.spacing[2] == 0);
    expect_error("-f gaussian --spacing 1x0x1 a b", "out of range");
    expect_error("-f gaussian --spacing -1 a b", "out of range");
    expect_error("-f gaussian --spacing 1vox a b", "not understood");
    expect_error("-f gaussian --spacing 1x2x3x4 a b", "not understood");
    expect_error("-f gaussian --spacing 1e999 a b", "out of range");
    expect_error("-f gaussian --spacing um a b", "in A, nm, um or mm");
}

Test(cli, sizes_and_counts)
{
    expect_read("-f gaussian --threads 7 --memory 2M a b");
    cr_expect(line.options.threads == 7 && line.options.memory == (size_t)2 << 20);
    static const struct {
        const char *text;
        size_t bytes;
    } sizes[] = {{"1048576", 1048576},        {"1024K", 1 << 20}, {"1.5GiB", (size_t)3 << 29},
                 {"2GB", (size_t)2000000000}, {"3m", 3 << 20},    {"1T", (size_t)1 << 40},
                 {"2000000B", 2000000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char words[64];
        snprintf(words, sizeof words, "-f gaussian --memory %s a b", sizes[i].text);
        expect_read(words);
        cr_expect_eq(line.options.memory, sizes[i].bytes, "%s", words);
    }
    expect_error("-f gaussian --memory 5K a b", "out of range; allowed: a size of at least 1M");
    expect_error("-f gaussian --memory 1e30G a b", "out of range");
    expect_error("-f gaussian --memory -1G a b", "out of range");
    expect_error("-f gaussian --memory 1Q a b", "not understood");
    expect_error("-f gaussian --memory G a b", "not understood");
    expect_error("-f gaussian --memory 1Gx a b", "not understood");
    expect_error("-f gaussian --threads 0 a b", "out of range; allowed: a whole number from 1 to 1024");
    expect_error("-f gaussian --threads 1025 a b", "out of range");
    expect_error("-f gaussian --threads 1.5 a b", "not understood");
    expect_error("-f gaussian --threads -1 a b", "not understood");
}

Test(cli, flags)
{
    expect_read(
        "-f gaussian --slices --explain --dry-run --json --no-clobber --sync -q -vv --verbose --scheme "
        "row-stream a b");
    const struct vf_options *o = &line.options;
    cr_expect(o->slices && o->explain && o->dry_run && o->json && o->no_clobber && o->sync && o->quiet);
    cr_expect_eq(o->verbose, 3);
    cr_expect_str_eq(o->scheme, "row-stream");
    expect_error("-f gaussian --scheme= a b", "not understood");
    expect_error("-f gaussian --json=yes a b", "option '--json' takes no value");
}

Test(cli, unknown_options)
{
    expect_error(
        "-f gaussian --boundry=wrap a b",
        "unknown option '--boundry=wrap'; did you mean '--boundary'? (volfilter --help lists all options)");
    expect_error("-f gaussian --boundry a b", "unknown option '--boundry'; did you mean '--boundary'?");
    expect_error("-f gaussian --zzzzzz a b",
                 "unknown option '--zzzzzz' (volfilter --help lists all options)");
    expect_error("-f gaussian -z a b", "unknown option '-z'");
    expect_error("-f gaussian a -o b", "unknown option '-o'; the output is the last file name (");
    expect_error("-f gaussian a --output=b",
                 "unknown option '--output=b'; the output is the last file name (");
    expect_error("-f gaussian -qz a b", "unknown option '-z'");
    expect_error("-f", "option '-f' needs CHAIN");
    expect_error("-f gaussian a b --threads", "option '--threads' needs N: a whole number from 1 to 1024");
}

Test(cli, abbreviated_options_are_refused)
{
    expect_error(
        "-f gaussian --sigma 2 a b",
        "unknown option '--sigma'; a filter's parameters follow its name: -f gaussian:sigma=VALUE (volfi");
    expect_error("-f eed --mode=line a b", "follow its name: -f eed:mode=VALUE");
    expect_error("-f gaussian --thread 2 a b", "unknown option '--thread'; did you mean '--threads'?");
    expect_error("-f gaussian --thread=2 a b", "unknown option '--thread=2'; did you mean '--threads'?");
    expect_error("-f gaussian a --slice b", "unknown option '--slice'; did you mean '--slices'?");
    expect_error("--ver", "unknown option '--ver'");
    expect_error("-f gaussian --pr x a b", "unknown option '--pr'");
    expect_read("-f gaussian --threads 2 a b");
    expect_read("-f gaussian --threads=2 a b");
    expect_read("a b --threads 2 -fgaussian");
}

/* Each of the list that messages and the manual page have. */
Test(cli, endings_of_results)
{
    char list[] = VF_OUTPUT_ENDINGS;
    int count = 0;
    for (char *ending = strtok(list, ", "); ending != NULL; ending = strtok(NULL, ", ")) {
        enum vf_format format;
        char name[16] = "a";
        if (strcmp(ending, "or") == 0)
            continue;
        strncat(name, ending, 10);
        cr_expect(vf_format_by_name(name, &format), "%s", name);
        count++;
    }
    cr_expect_eq(count, 10);
}

Test(cli, file_counts)
{
    expect_error("", "no filter given");
    expect_error("a b", "no filter given");
    expect_error("gaussian a b", "did you mean '-f gaussian'?");
    expect_error("-f gaussian", "no files given");
    expect_error("-f gaussian a", "only one file given");
    expect_error("-f gaussian / - c",
                 "3 files given, IN and OUT expected; to filter several, use --out-dir DIR");
    expect_error("-f gaussian / b= c", "and there is no file 'b='; parameters follow their filter");
    expect_error("-f gaussian --suffix _x a b", "--suffix needs --out-dir");
    expect_error("-f gaussian --out-dir d", "no files given");
    expect_error("-f gaussian --out-dir d --suffix a/b x", "--suffix=a/b");
    expect_error("-f gaussian --out-dir d --suffix .jpg x",
                 "--suffix=.jpg names no output format; allowed: .tif");
    expect_error("-f gaussian --out-dir d --suffix -g.NII.gz x", "--suffix=-g.NII.gz names no output format");
    expect_error("-f gaussian --out-dir= x", "--out-dir= needs the name of a directory");
    expect_read("-f gaussian --out-dir d --suffix _x a b c");
    cr_expect_eq(line.word_count, 3);
    cr_expect_str_eq(line.out_dir, "d");
    cr_expect_str_eq(line.suffix, "_x");
    expect_read("-f gaussian - -");
}

Test(cli, commands)
{
    expect_read("list");
    cr_expect_eq(line.command, VF_COMMAND_LIST);
    expect_read("help gaussian");
    cr_expect_eq(line.command, VF_COMMAND_HELP);
    cr_expect_str_eq(line.words[0], "gaussian");
    expect_read("info --json file");
    cr_expect_eq(line.command, VF_COMMAND_INFO);
    cr_expect(line.options.json);
    expect_read("devices --json");
    cr_expect_eq(line.command, VF_COMMAND_DEVICES);
    expect_read("-f gaussian list help");
    cr_expect_eq(line.command, VF_COMMAND_FILTER);
    expect_read("-f gaussian --help --nonsense");
    cr_expect_eq(line.command, VF_COMMAND_HELP);
    expect_read("--version");
    cr_expect_eq(line.command, VF_COMMAND_VERSION);
    expect_read("-h");
    cr_expect_eq(line.command, VF_COMMAND_HELP);
    expect_error("list all", "list takes no arguments");
    expect_error("info", "info needs a file");
    expect_error("devices gpu", "devices takes no arguments, but got 'gpu'");
    expect_error("lst", "did you mean 'volfilter list'?");
}
