/* The command line: one table of options gives the parser, --help and the manual page. */
#ifndef VF_CLI_H
#define VF_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "chain.h"
#include "error.h"
#include "run.h"
#include "version.h"

enum vf_option_id {
    VF_OPTION_FILTER,
    VF_OPTION_OUT_DIR,
    VF_OPTION_SUFFIX,
    VF_OPTION_TREE,
    VF_OPTION_FROM_FILE,
    VF_OPTION_RESUME,
    VF_OPTION_NO_CLOBBER,
    VF_OPTION_SYNC,
    VF_OPTION_COMPRESS,
    VF_OPTION_DTYPE,
    VF_OPTION_BOUNDARY,
    VF_OPTION_SPACING,
    VF_OPTION_SLICES,
    VF_OPTION_PRECISION,
    VF_OPTION_BACKEND,
    VF_OPTION_THREADS,
    VF_OPTION_MEMORY,
    VF_OPTION_SCHEME,
    VF_OPTION_LIKE,
    VF_OPTION_BUDGET,
    VF_OPTION_EXPLAIN,
    VF_OPTION_DRY_RUN,
    VF_OPTION_JSON,
    VF_OPTION_REPORT,
    VF_OPTION_PROGRESS,
    VF_OPTION_QUIET,
    VF_OPTION_VERBOSE,
    VF_OPTION_HELP,
    VF_OPTION_VERSION,
    VF_OPTION_COMPLETION,
    VF_OPTION_COMPLETE_CHAIN,
    VF_OPTION_MAN,
    VF_OPTION_COUNT
};

struct vf_option {
    const char *group;    /* the heading it stands under; NULL: not shown */
    const char *name;     /* without the dashes */
    char letter;          /* 0: none */
    const char *argument; /* as --help shows it; NULL: takes none */
    const char *choices;  /* "a|b|c": the words allowed, in the order of their enum; NULL: not a choice */
    const char *allowed;  /* what the argument may be; NULL: the choices, or any text */
    const char *help;     /* for --help and the manual */
};

extern const struct vf_option vf_option_table[VF_OPTION_COUNT];

#define VF_OPTION_BIT(id) (1ull << (id))

/* What only tune takes. */
#define VF_OPTIONS_OF_TUNE (VF_OPTION_BIT(VF_OPTION_LIKE) | VF_OPTION_BIT(VF_OPTION_BUDGET))

/* Reads the argument of an option that changes *options; usage errors name the option, the word, the nearest
 * right one and what is allowed. `argument` must outlive `options`; it is NULL for options that take none. */
enum vf_status vf_option_read(struct vf_options *options, enum vf_option_id id, const char *argument,
                              struct vf_error *error);

/* What an option's argument may be, in words. Returns `text`. */
const char *vf_option_allowed(const struct vf_option *option, char *text, size_t room);

enum vf_command {
    VF_COMMAND_FILTER, /* words: the files */
    VF_COMMAND_LIST,
    VF_COMMAND_HELP, /* words, or topic: what to explain; neither: the options */
    VF_COMMAND_INFO, /* words: the files */
    VF_COMMAND_DEVICES,
    VF_COMMAND_TUNE, /* words: chains */
    VF_COMMAND_VERSION,
    VF_COMMAND_COMPLETION,     /* topic: the shell */
    VF_COMMAND_COMPLETE_CHAIN, /* topic: what there is of a chain */
    VF_COMMAND_MAN,
};

/* The first word of a line without filters may be one of these. */
struct vf_command_word {
    const char *name; /* NULL ends the table */
    enum vf_command command;
    const char *arguments;      /* as the usage line shows them; "": none */
    unsigned long long options; /* VF_OPTION_BIT of those it takes, beside -q and -v */
    const char *help;           /* a sentence or several; for help NAME and the manual */
};

extern const struct vf_command_word vf_command_table[];

/* VF_OPTION_BIT of all options that it takes. */
static inline unsigned long long vf_command_options(const struct vf_command_word *word)
{
    return word->options | VF_OPTION_BIT(VF_OPTION_QUIET) | VF_OPTION_BIT(VF_OPTION_VERBOSE);
}

/* NULL: none is called so. */
const struct vf_command_word *vf_command_by_name(const char *name);

/* As what a word may have meant. */
struct vf_suggestion;
void vf_cli_consider_commands(struct vf_suggestion *s);
void vf_cli_consider_option_names(struct vf_suggestion *s);

struct vf_command_line {
    enum vf_command command;
    struct vf_chain chain; /* owned */
    struct vf_options options;
    unsigned long long given;     /* VF_OPTION_BIT of each option */
    const char *out_dir, *suffix; /* NULL when not given; borrowed from argv, like the words */
    const char *from_file, *report, *like;
    double budget; /* seconds of tune; 0: as long as it takes */
    bool tree, resume;
    const char *topic; /* of some commands; borrowed */
    int word_count;
    char **words;
};

/* Reads argv, whose words it may put in another order. *line is freed by vf_command_line_free, also after a
 * failure. */
enum vf_status vf_command_line_read(struct vf_command_line *line, int argc, char **argv,
                                    struct vf_error *error);
void vf_command_line_free(struct vf_command_line *line);

/* Does what the line says; the program's exit code. Messages go to stderr. */
enum vf_status vf_command_line_run(const struct vf_command_line *line);

/* One file, or several into a directory: names are checked before anything starts. The program's exit code.
 */
enum vf_status vf_cli_filter_files(const struct vf_command_line *line);

/* "volfilter: MESSAGE" on stderr. Returns `status`. */
enum vf_status vf_cli_report(enum vf_status status, const struct vf_error *error);

/* cli_help.c */
void vf_cli_print_help(FILE *to);
void vf_cli_print_list(FILE *to);
void vf_cli_print_version(FILE *to);

/* Explains a filter, alone or as a chain has it, a command, an option, with dashes or without, or "schemes".
 * An unknown name is a usage error. */
enum vf_status vf_cli_print_topic(FILE *to, const char *name, struct vf_error *error);

/* A script for "bash", "zsh" or "fish"; and what a chain can become, a line each. */
void vf_cli_print_completion(FILE *to, const char *shell);
void vf_cli_print_candidates(FILE *to, const char *word);

/* The manual page in roff. */
void vf_cli_print_man(FILE *to);

#endif
