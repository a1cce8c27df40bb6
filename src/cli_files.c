/* Filtering one file, or several into a directory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "cli.h"
#include "descriptor.h"
#include "interrupt.h"
#include "kernels/cpu_rows.h"
#include "memory.h"

/* Also by another name, such as /dev/fd/1. */
static bool is_stdout(const char *out)
{
    struct stat named, standard;
    return strcmp(out, "-") == 0 || (stat(out, &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
                                     vf_is_same_file(&named, &standard));
}

static enum vf_status filter_one(const struct vf_command_line *line, struct vf_session *session,
                                 const char *in, const char *out, struct vf_error *error)
{
    /* The image goes to standard output alone: all else makes way for it. */
    bool data_on_stdout = is_stdout(out) && !line->options.dry_run;
    enum vf_status status =
        vf_run_file(&line->chain, &line->options, session, in, out, data_on_stdout ? stderr : stdout, error);
    /* A signal also breaks off reads and writes, which then fail for a reason of their own. */
    if (status != VF_OK && vf_interrupted)
        status = vf_fail(error, VF_INTERRUPTED, "interrupted; %s was written to %s",
                         data_on_stdout ? "no complete image" : "nothing",
                         data_on_stdout ? "standard output" : out);
    return status;
}

/* Mistakes that can be seen before any file is opened. Standard output, and what else is no file, as a pipe,
 * gets an image of the input's kind where its name says nothing. */
static enum vf_status check_names(const char *in, const char *out, bool dry_run, struct vf_error *error)
{
    enum vf_format format;
    struct stat about;
    const bool exists = strcmp(out, "-") != 0 && stat(out, &about) == 0;
    if ((exists && S_ISDIR(about.st_mode)) || (out[0] != '\0' && out[strlen(out) - 1] == '/'))
        return vf_fail(error, VF_USAGE, "%s is a directory; use --out-dir %s", vf_short_path(out).text,
                       vf_short_path(out).text);
    if (strcmp(out, "-") != 0 && (!exists || S_ISREG(about.st_mode)) && !vf_format_by_name(out, &format))
        return vf_fail(error, VF_USAGE,
                       "%s: the extension names no output format; allowed: " VF_OUTPUT_ENDINGS,
                       vf_short_path(out).text);
    if (strcmp(in, "-") == 0 && isatty(STDIN_FILENO))
        return vf_fail(error, VF_USAGE,
                       "standard input is a terminal, not an image; name a file or use '< FILE'");
    if (strcmp(out, "-") == 0 && !dry_run && isatty(STDOUT_FILENO))
        return vf_fail(error, VF_USAGE,
                       "an image is not written to a terminal; name a file or use '> FILE' or a pipe");
    return VF_OK;
}

static void note_vector_level(const struct vf_command_line *line)
{
    const char *asked = getenv("VOLFILTER_ISA");
    const char *taken = vf_rows_level();
    if (asked != NULL && asked[0] != '\0' && strcmp(asked, taken) != 0 && !line->options.quiet)
        vf_say("VOLFILTER_ISA=%.80s is no level (baseline, v3 or v4) of this processor; %s "
               "is used",
               asked, taken);
}

static enum vf_status filter_named(const struct vf_command_line *line, struct vf_session *session)
{
    struct vf_error error;
    const char *in = line->words[0];
    /* Which leads to a regular file after '> FILE', that is written to, not replaced. */
    const char *out = strcmp(line->words[1], "/dev/stdout") == 0 ? "-" : line->words[1];
    enum vf_status status = check_names(in, out, line->options.dry_run, &error);
    if (status == VF_OK)
        status = filter_one(line, session, in, out, &error);
    return status == VF_OK ? VF_OK : vf_cli_report(status, &error);
}

static enum vf_status filter_batch(const struct vf_command_line *line, struct vf_session *session)
{
    struct vf_error error;
    struct vf_batch batch;
    const size_t before = vf_memory_resident();
    enum vf_status status = vf_batch_open(&batch, line, &error);
    const size_t after = vf_memory_resident();
    session->list_bytes = after > before ? after - before : 0;
    status = status == VF_OK ? vf_batch_run(&batch, line, session) : vf_cli_report(status, &error);
    vf_batch_close(&batch);
    return status;
}

enum vf_status vf_cli_filter_files(const struct vf_command_line *line)
{
    struct vf_session session = {.files = 1};
    struct vf_error error;
    note_vector_level(line);
    enum vf_status status = vf_work_check_options(&line->options, &error);
    if (status != VF_OK)
        return vf_cli_report(status, &error);
    status = line->out_dir == NULL ? filter_named(line, &session) : filter_batch(line, &session);
    vf_session_close(&session);
    return status;
}
