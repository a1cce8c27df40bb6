/* Reading the command line, its mistakes, and running what it asks for. cli_options.c has the options. */
#include "cli.h"

#include <getopt.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "devices.h"
#include "info.h"
#include "interrupt.h"
#include "number.h"
#include "suggest.h"
#include "tune.h"

/* What getopt_long returns for an option without a letter. */
#define FIRST_CODE 256

/* ---- getopt's tables, from ours ---- */

struct getopt_tables {
    struct option longs[VF_OPTION_COUNT + 1];
    char letters[2 * VF_OPTION_COUNT + 2];
};

static void fill_tables(struct getopt_tables *tables)
{
    memset(tables, 0, sizeof *tables);
    char *letter = tables->letters;
    *letter++ = ':'; /* a missing argument is told from an unknown option */
    for (int i = 0; i < VF_OPTION_COUNT; i++) {
        const struct vf_option *option = &vf_option_table[i];
        tables->longs[i] = (struct option){.name = option->name,
                                           .has_arg = option->argument ? required_argument : no_argument,
                                           .val = FIRST_CODE + i};
        if (option->letter != 0) {
            *letter++ = option->letter;
            if (option->argument != NULL)
                *letter++ = ':';
        }
    }
}

/* The option that getopt's code is; VF_OPTION_COUNT for none. */
static enum vf_option_id option_of_code(int code)
{
    for (int i = 0; i < VF_OPTION_COUNT; i++)
        if (code == FIRST_CODE + i || (vf_option_table[i].letter != 0 && code == vf_option_table[i].letter))
            return (enum vf_option_id)i;
    return VF_OPTION_COUNT;
}

/* ---- mistakes ---- */

static const char output_is_last[] = "; the output is the last file name";

static enum vf_status fail_unknown_option(const char *word, struct vf_error *error)
{
    char near[160];
    const char *name = word + strspn(word, "-");
    size_t length = strcspn(name, "=");
    struct vf_suggestion suggestion;
    vf_suggestion_begin(&suggestion, name, length);
    vf_cli_consider_option_names(&suggestion);
    vf_suggestion_text(&suggestion, "--", near, sizeof near);
    const struct vf_filter *filter = vf_filter_with_param(name, length);
    const size_t used = suggestion.distance == 0 ? strlen(near) : 0;
    if (length == strlen("output") && strncmp(name, "output", length) == 0)
        snprintf(near, sizeof near, "%s", output_is_last);
    else if (filter != NULL)
        snprintf(near + used, sizeof near - used,
                 "%s a filter's parameters follow its name: -f %s:%.*s=VALUE", used > 0 ? "" : ";",
                 filter->name, (int)length, name);
    return vf_fail(error, VF_USAGE, "unknown option '%.80s'%s (volfilter --help lists all options)", word,
                   near);
}

/* getopt said '?' or ':'; `code` is its optopt, `word` where it stood. */
static enum vf_status fail_option(int result, int code, const char *word, struct vf_error *error)
{
    char allowed[256];
    enum vf_option_id id = option_of_code(code);
    if (id == VF_OPTION_COUNT && code > 0 && code < FIRST_CODE)
        return vf_fail(error, VF_USAGE, "unknown option '-%c'%s (volfilter --help lists all options)", code,
                       code == 'o' ? output_is_last : "");
    if (id == VF_OPTION_COUNT)
        return fail_unknown_option(word, error);
    const struct vf_option *option = &vf_option_table[id];
    if (result == ':' && option->allowed == NULL && option->choices == NULL)
        return vf_fail(error, VF_USAGE, "option '%.80s' needs %s (volfilter --help lists all options)", word,
                       option->argument);
    if (result == ':')
        return vf_fail(error, VF_USAGE, "option '%.80s' needs %s: %s (volfilter --help lists all options)",
                       word, option->argument, vf_option_allowed(option, allowed, sizeof allowed));
    return vf_fail(error, VF_USAGE, "option '--%s' takes no value (volfilter --help lists all options)",
                   option->name);
}

/* getopt_long takes any beginning of a name, which would change meaning when options are added. */
static bool is_abbreviated(enum vf_option_id id, const char *word)
{
    return strcspn(word, "=") != strlen("--") + strlen(vf_option_table[id].name);
}

/* ---- reading ---- */

/* With the ending of a format that is not written, a result would have it before its own. */
static enum vf_status read_suffix(const char *suffix, struct vf_error *error)
{
    static const char *const others[] = {".jpg", ".jpeg", ".bmp", ".gif", ".nii", ".gz",  ".nrrd", ".mha",
                                         ".h5",  ".hdf5", ".npy", ".raw", ".czi", ".nd2", ".lif",  ".dcm"};
    const char *ending = strrchr(suffix, '.');
    if (strchr(suffix, '/') != NULL)
        return vf_fail(error, VF_USAGE, "--suffix=%.80s is not understood; allowed: text without '/'",
                       suffix);
    for (size_t i = 0; ending != NULL && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(ending, others[i]) == 0)
            return vf_fail(error, VF_USAGE,
                           "--suffix=%.80s names no output format; allowed: " VF_OUTPUT_ENDINGS, suffix);
    return VF_OK;
}

static enum vf_status read_budget(struct vf_command_line *line, const char *argument, struct vf_error *error)
{
    const char *end = vf_number_read(argument, &line->budget);
    const bool is_number = end != NULL && *end == '\0';
    if (is_number && line->budget > 0 && isfinite(line->budget))
        return VF_OK;
    return vf_fail(error, VF_USAGE, "--budget=%.80s %s; allowed: %s", argument,
                   is_number ? "is out of range" : "is not understood",
                   vf_option_table[VF_OPTION_BUDGET].allowed);
}

static enum vf_status fail_empty_name(enum vf_option_id id, const char *what, struct vf_error *error)
{
    return vf_fail(error, VF_USAGE, "--%s= needs the name of a %s", vf_option_table[id].name, what);
}

static enum vf_status take_option(struct vf_command_line *line, enum vf_option_id id, const char *argument,
                                  struct vf_error *error)
{
    enum vf_format format;
    switch (id) {
    case VF_OPTION_FILTER:
        return vf_chain_append(&line->chain, argument, error);
    case VF_OPTION_OUT_DIR:
        line->out_dir = argument;
        return argument[0] != '\0' ? VF_OK : fail_empty_name(id, "directory", error);
    case VF_OPTION_SUFFIX:
        line->suffix = argument;
        return read_suffix(argument, error);
    case VF_OPTION_TREE:
        line->tree = true;
        return VF_OK;
    case VF_OPTION_FROM_FILE:
        line->from_file = argument;
        return argument[0] != '\0' ? VF_OK : fail_empty_name(id, "file", error);
    case VF_OPTION_RESUME:
        line->resume = true;
        return VF_OK;
    case VF_OPTION_REPORT:
        line->report = argument;
        if (argument[0] == '\0')
            return fail_empty_name(id, "file", error);
        return !vf_format_by_name(argument, &format)
                   ? VF_OK
                   : vf_fail(
                         error, VF_USAGE,
                         "--report=%.80s would overwrite an image; name a file for JSON, such as report.json",
                         argument);
    case VF_OPTION_LIKE:
        line->like = argument;
        return argument[0] != '\0' ? VF_OK : fail_empty_name(id, "file", error);
    case VF_OPTION_BUDGET:
        return read_budget(line, argument, error);
    case VF_OPTION_HELP:
        line->command = VF_COMMAND_HELP;
        return VF_OK;
    case VF_OPTION_VERSION:
        line->command = VF_COMMAND_VERSION;
        return VF_OK;
    case VF_OPTION_COMPLETION:
    case VF_OPTION_COMPLETE_CHAIN:
        line->topic = argument;
        line->command = id == VF_OPTION_COMPLETION ? VF_COMMAND_COMPLETION : VF_COMMAND_COMPLETE_CHAIN;
        return vf_option_read(&line->options, id, argument, error);
    case VF_OPTION_MAN:
        line->command = VF_COMMAND_MAN;
        return VF_OK;
    default:
        return vf_option_read(&line->options, id, argument, error);
    }
}

/* Takes all options; leaves optind at the first word. --help and its like end the reading at once. */
static enum vf_status take_options(struct vf_command_line *line, int argc, char **argv,
                                   struct vf_error *error)
{
    struct getopt_tables tables;
    fill_tables(&tables);
    opterr = 0;
    optind = 0; /* GNU: start anew */
    int result;
    while ((result = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1) {
        enum vf_option_id id = option_of_code(result);
        /* getopt stays at a word of several letters. */
        if (id == VF_OPTION_COUNT && optind < argc && argv[optind][0] == '-' && argv[optind][1] == optopt &&
            access(argv[optind], F_OK) == 0)
            return vf_fail(error, VF_USAGE, "unknown option '-%c'; for the file of that name write ./%.80s",
                           optopt, argv[optind]);
        if (id == VF_OPTION_COUNT)
            return fail_option(result, optopt, argv[optind - 1], error);
        /* The option's own word: its argument may be the next one. */
        bool is_apart = vf_option_table[id].argument != NULL && optarg == argv[optind - 1];
        const char *word = argv[optind - (is_apart ? 2 : 1)];
        if (result >= FIRST_CODE && is_abbreviated(id, word))
            return fail_unknown_option(word, error);
        line->given |= VF_OPTION_BIT(id);
        enum vf_status status = take_option(line, id, optarg, error);
        if (status != VF_OK || line->command != VF_COMMAND_FILTER)
            return status;
    }
    return VF_OK;
}

static enum vf_status fail_no_filter(const struct vf_command_line *line, struct vf_error *error)
{
    char near[80] = "";
    const char *word = line->word_count > 0 ? line->words[0] : "";
    struct vf_suggestion suggestion;
    if (vf_filter_by_name(word, strcspn(word, ":=,")) != NULL)
        return vf_fail(error, VF_USAGE,
                       "no filter given; did you mean '-f %.80s'? (volfilter --help explains the usage)",
                       word);
    vf_suggestion_begin(&suggestion, word, strlen(word));
    vf_cli_consider_commands(&suggestion);
    vf_suggestion_text(&suggestion, "volfilter ", near, sizeof near);
    if (near[0] == '\0') {
        vf_suggestion_begin(&suggestion, word, strcspn(word, ":=,"));
        vf_suggestion_consider_filters(&suggestion);
        vf_suggestion_text(&suggestion, "-f ", near, sizeof near);
    }
    return vf_fail(error, VF_USAGE,
                   "no filter given%s%s 'volfilter -f CHAIN IN OUT' filters a file, 'volfilter list' shows "
                   "the filters, 'volfilter --help' shows the rest",
                   near, near[0] ? "" : ";");
}

/* A command is only looked for when no filter is given, so that files may have any name; but what begins the
 * line as a command is one. */
static enum vf_status take_command(struct vf_command_line *line, const char *first, struct vf_error *error)
{
    if (line->chain.count > 0 && vf_command_by_name(first) == NULL)
        return VF_OK;
    if (line->chain.count > 0 && strcmp(first, "tune") == 0)
        return vf_fail(error, VF_USAGE, "tune takes chains without -f: volfilter tune [CHAIN]...");
    if (line->chain.count > 0)
        return vf_fail(
            error, VF_USAGE,
            "%s does not take -f; volfilter help %s shows what it takes (a file of that name is ./%s)", first,
            first, first);
    const struct vf_command_word *word = line->word_count > 0 ? vf_command_by_name(line->words[0]) : NULL;
    if (word == NULL)
        return fail_no_filter(line, error);
    line->command = word->command;
    line->words++;
    line->word_count--;
    return VF_OK;
}

/* An unset variable of a script, mostly. */
static enum vf_status check_words_are_names(const struct vf_command_line *line, struct vf_error *error)
{
    for (int i = 0; i < line->word_count; i++)
        if (line->words[i][0] == '\0')
            return vf_fail(error, VF_USAGE, "file %d of %d has an empty name", i + 1, line->word_count);
    return VF_OK;
}

/* What a command would pass over in silence is mostly meant for another line. */
static enum vf_status check_options_of_command(const struct vf_command_line *line, struct vf_error *error)
{
    const struct vf_command_word *word = vf_command_table;
    while (word->name != NULL && word->command != line->command)
        word++;
    for (int id = 0; id < VF_OPTION_COUNT && word->name != NULL; id++)
        if ((line->given & ~vf_command_options(word) & VF_OPTION_BIT(id)) != 0)
            return vf_fail(error, VF_USAGE, "%s does not take --%s; volfilter help %s shows what it takes",
                           word->name, vf_option_table[id].name, word->name);
    return VF_OK;
}

/* What to do with a part of the chain that a blank has parted from it; NULL: the word is none. */
static const char *remedy_of_part(const char *word)
{
    enum vf_format format;
    if (access(word, F_OK) == 0 || vf_format_by_name(word, &format))
        return NULL;
    if (strchr(word, '=') != NULL)
        return "parameters follow their filter: -f FILTER:KEY=VALUE";
    return vf_filter_by_name(word, strcspn(word, ":,")) != NULL
               ? "filters are joined by commas: -f FILTER,FILTER"
               : NULL;
}

/* More than IN and OUT: mostly a part of the chain, or of an option, or several files. */
static enum vf_status fail_too_many(const struct vf_command_line *line, struct vf_error *error)
{
    const char *missing = NULL, *remedy = NULL;
    for (int i = 0; i < line->word_count && remedy == NULL; i++) {
        const char *word = line->words[i];
        const bool is_file = strcmp(word, "-") == 0 || access(word, F_OK) == 0;
        remedy = remedy_of_part(word);
        if (remedy != NULL || (!is_file && missing == NULL && i < line->word_count - 1))
            missing = word;
    }
    if (remedy == NULL)
        remedy = "to filter several, use --out-dir DIR";
    if (missing == NULL)
        return vf_fail(error, VF_USAGE, "%d files given, IN and OUT expected; %s", line->word_count, remedy);
    return vf_fail(error, VF_USAGE, "%d files given, IN and OUT expected, and there is no file '%.80s'; %s",
                   line->word_count, missing, remedy);
}

static enum vf_status check_words(const struct vf_command_line *line, struct vf_error *error)
{
    int count = line->word_count;
    if (line->command == VF_COMMAND_LIST && count > 0)
        return vf_fail(error, VF_USAGE,
                       "list takes no arguments, but got '%.80s'; volfilter help FILTER explains one filter",
                       line->words[0]);
    if (line->command == VF_COMMAND_DEVICES && count > 0)
        return vf_fail(error, VF_USAGE, "devices takes no arguments, but got '%.80s'", line->words[0]);
    if (line->command == VF_COMMAND_FILTER && (line->given & VF_OPTIONS_OF_TUNE) != 0)
        return vf_fail(error, VF_USAGE,
                       "--%s is only for tune, which takes chains without -f: volfilter tune [CHAIN]...",
                       line->like != NULL ? "like" : "budget");
    if (line->command == VF_COMMAND_TUNE && line->options.backend == VF_BACKEND_CPU)
        return vf_fail(error, VF_USAGE, "tune measures GPU kernels, which --backend cpu rules out");
    if (line->command == VF_COMMAND_INFO && count == 0)
        return vf_fail(error, VF_USAGE, "info needs a file: volfilter info FILE ('-' is standard input)");
    if (line->command == VF_COMMAND_INFO)
        return check_words_are_names(line, error);
    if (line->command != VF_COMMAND_FILTER)
        return VF_OK;
    if (line->suffix != NULL && line->out_dir == NULL)
        return vf_fail(error, VF_USAGE,
                       "--suffix needs --out-dir; without it, give OUT the name that you want");
    if (line->out_dir == NULL &&
        (line->tree || line->resume || line->from_file != NULL || line->report != NULL))
        return vf_fail(error, VF_USAGE, "--%s needs --out-dir",
                       line->tree     ? "tree"
                       : line->resume ? "resume"
                                      : (line->report != NULL ? "report" : "from-file"));
    if (line->out_dir != NULL)
        return count > 0 || line->from_file != NULL
                   ? check_words_are_names(line, error)
                   : vf_fail(error, VF_USAGE, "no files given: volfilter -f CHAIN --out-dir DIR IN...");
    if (count == 2)
        return check_words_are_names(line, error);
    if (count > 2)
        return fail_too_many(line, error);
    return vf_fail(error, VF_USAGE, "%s: volfilter -f CHAIN IN OUT ('-' is standard input or output)",
                   count == 0 ? "no files given" : "only one file given, IN and OUT expected");
}

enum vf_status vf_command_line_read(struct vf_command_line *line, int argc, char **argv,
                                    struct vf_error *error)
{
    const char *first = argc > 1 ? argv[1] : ""; /* words change places */
    *line = (struct vf_command_line){.command = VF_COMMAND_FILTER};
    /* Options are topics, too. */
    if (strcmp(first, "help") == 0) {
        line->command = VF_COMMAND_HELP;
        const int from = argc > 2 && strcmp(argv[2], "--") == 0 ? 3 : 2;
        line->words = argv + from;
        line->word_count = argc - from;
        return VF_OK;
    }
    enum vf_status status = take_options(line, argc, argv, error);
    if (line->command == VF_COMMAND_HELP && vf_command_by_name(first) != NULL)
        line->topic = first;
    if (status != VF_OK || line->command != VF_COMMAND_FILTER)
        return status;
    line->words = argv + optind;
    line->word_count = argc - optind;
    VF_TRY(take_command(line, first, error));
    VF_TRY(check_words(line, error));
    VF_TRY(check_options_of_command(line, error));
    /* It has no timing to print. */
    if (line->options.json && line->options.dry_run)
        line->options.explain = true;
    if (line->options.quiet && line->options.progress == VF_PROGRESS_AUTO)
        line->options.progress = VF_PROGRESS_NEVER;
out:
    return status;
}

void vf_command_line_free(struct vf_command_line *line)
{
    vf_chain_free(&line->chain);
}

/* ---- running ---- */

enum vf_status vf_cli_report(enum vf_status status, const struct vf_error *error)
{
    vf_flush(stdout); /* so that both streams keep their order on one terminal */
    vf_say("%s", error->text);
    return status;
}

static enum vf_status explain_topics(const struct vf_command_line *line)
{
    struct vf_error error;
    enum vf_status status = VF_OK;
    if (line->topic != NULL)
        status = vf_cli_print_topic(stdout, line->topic, &error);
    else if (line->word_count == 0)
        vf_cli_print_help(stdout);
    for (int i = 0; i < line->word_count && status == VF_OK; i++) {
        if (i > 0)
            putchar('\n');
        status = vf_cli_print_topic(stdout, line->words[i], &error);
    }
    return status == VF_OK ? VF_OK : vf_cli_report(status, &error);
}

static enum vf_status print_infos(const struct vf_command_line *line)
{
    struct vf_error error;
    enum vf_status result = VF_OK;
    for (int i = 0; i < line->word_count && !vf_interrupted; i++) {
        enum vf_status status = vf_info_print(line->words[i], line->options.json, stdout, &error);
        /* A signal also breaks off reads, which then fail for a reason of their own. */
        if (status == VF_OK || vf_interrupted)
            continue;
        result = line->word_count > 1 ? VF_PARTIAL : status;
        vf_cli_report(status, &error);
    }
    return vf_interrupted ? vf_cli_report(vf_fail(&error, VF_INTERRUPTED, "interrupted"), &error) : result;
}

static enum vf_status tune(const struct vf_command_line *line)
{
    const struct vf_tune_request request = {.options = &line->options,
                                            .chain_count = line->word_count,
                                            .chains = line->words,
                                            .like = line->like,
                                            .budget = line->budget};
    struct vf_error error;
    const enum vf_status status = vf_tune(&request, stdout, &error);
    return status == VF_OK ? VF_OK : vf_cli_report(status, &error);
}

enum vf_status vf_command_line_run(const struct vf_command_line *line)
{
    switch (line->command) {
    case VF_COMMAND_FILTER:
        return vf_cli_filter_files(line);
    case VF_COMMAND_LIST:
        vf_cli_print_list(stdout);
        return VF_OK;
    case VF_COMMAND_HELP:
        return explain_topics(line);
    case VF_COMMAND_INFO:
        return print_infos(line);
    case VF_COMMAND_DEVICES:
        vf_devices_print(line->options.json, stdout);
        return VF_OK;
    case VF_COMMAND_TUNE:
        return tune(line);
    case VF_COMMAND_VERSION:
        vf_cli_print_version(stdout);
        return VF_OK;
    case VF_COMMAND_COMPLETION:
        vf_cli_print_completion(stdout, line->topic);
        return VF_OK;
    case VF_COMMAND_COMPLETE_CHAIN:
        vf_cli_print_candidates(stdout, line->topic);
        return VF_OK;
    case VF_COMMAND_MAN:
        vf_cli_print_man(stdout);
        return VF_OK;
    }
    return VF_OK;
}
