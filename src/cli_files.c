/* Filtering one file, or several into a directory: names are made and checked before anything starts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "cli.h"
#include "interrupt.h"

/* ---- one file ---- */

static enum vf_status filter_one(const struct vf_command_line *line, struct vf_session *session,
                                 const char *in, const char *out, struct vf_error *error)
{
    /* The image goes to standard output alone: all else makes way for it. */
    bool data_on_stdout = strcmp(out, "-") == 0 && !line->options.dry_run;
    enum vf_status status =
        vf_run_file(&line->chain, &line->options, session, in, out, data_on_stdout ? stderr : stdout, error);
    /* A signal also breaks off reads and writes, which then fail for a reason of their own. */
    if (status != VF_OK && vf_interrupted)
        status = vf_fail(error, VF_INTERRUPTED, "interrupted; nothing was written to %s",
                         data_on_stdout ? "standard output" : out);
    return status;
}

/* Mistakes that can be seen before any file is opened. */
static enum vf_status check_names(const struct vf_command_line *line, struct vf_error *error)
{
    enum vf_format format;
    if (strcmp(line->words[1], "-") != 0 && !vf_format_by_name(line->words[1], &format))
        return vf_fail(error, VF_USAGE,
                       "%s: the ending names no format to write; allowed: .tif, .tiff, .png, .mrc, "
                       ".mrcs, .rec, .st, .ali or .map",
                       line->words[1]);
    if (strcmp(line->words[0], "-") == 0 && isatty(STDIN_FILENO))
        return vf_fail(error, VF_USAGE,
                       "standard input is a terminal, not an image; name a file or use '< FILE'");
    if (strcmp(line->words[1], "-") == 0 && !line->options.dry_run && isatty(STDOUT_FILENO))
        return vf_fail(error, VF_USAGE,
                       "an image is not written to a terminal; name a file or use '> FILE' or a pipe");
    return VF_OK;
}

/* ---- several files ---- */

struct job {
    const char *in;
    char *out; /* owned */
    bool exists;
    dev_t device; /* of the input */
    ino_t inode;
};

struct batch {
    int count;
    struct job *jobs;    /* owned; as given */
    struct job **sorted; /* owned; room to sort them */
};

static void batch_free(struct batch *batch)
{
    for (int i = 0; batch->jobs != NULL && i < batch->count; i++)
        vf_free(batch->jobs[i].out);
    vf_free(batch->jobs);
    vf_free(batch->sorted);
}

/* DIR/NAME, with the suffix before the ending. */
static enum vf_status name_output(const struct vf_command_line *line, struct job *job, struct vf_error *error)
{
    const char *slash = strrchr(job->in, '/');
    const char *name = slash != NULL ? slash + 1 : job->in;
    const char *suffix = line->suffix != NULL ? line->suffix : "";
    if (strcmp(job->in, "-") == 0)
        return vf_fail(error, VF_USAGE,
                       "standard input has no name in --out-dir; use volfilter -f CHAIN - OUT");
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return vf_fail(error, VF_USAGE, "'%.200s' is a directory; name the files in it", job->in);
    const char *dot = strrchr(name, '.');
    size_t stem = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    size_t room = strlen(line->out_dir) + strlen(name) + strlen(suffix) + 2;
    job->out = vf_alloc(room, 1, "file name", error);
    if (job->out == NULL)
        return VF_FAILED;
    bool has_slash = line->out_dir[strlen(line->out_dir) - 1] == '/';
    snprintf(job->out, room, "%s%s%.*s%s%s", line->out_dir, has_slash ? "" : "/", (int)stem, name, suffix,
             name + stem);
    return VF_OK;
}

static enum vf_status name_outputs(const struct vf_command_line *line, struct batch *batch,
                                   struct vf_error *error)
{
    size_t count = (size_t)line->word_count;
    batch->jobs = vf_alloc(count, sizeof *batch->jobs, "list of files", error);
    if (batch->jobs == NULL)
        return VF_FAILED;
    memset(batch->jobs, 0, count * sizeof *batch->jobs);
    batch->count = line->word_count;
    batch->sorted = vf_alloc(count, sizeof *batch->sorted, "list of files", error);
    if (batch->sorted == NULL)
        return VF_FAILED;
    for (int i = 0; i < batch->count; i++) {
        struct job *job = batch->sorted[i] = &batch->jobs[i];
        struct stat entry;
        job->in = line->words[i];
        job->exists = stat(job->in, &entry) == 0;
        job->device = job->exists ? entry.st_dev : 0;
        job->inode = job->exists ? entry.st_ino : 0;
        enum vf_status status = name_output(line, job, error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(struct job *const *)a)->out, (*(struct job *const *)b)->out);
}

static int compare_files(const void *a, const void *b)
{
    const struct job *p = *(struct job *const *)a, *q = *(struct job *const *)b;
    if (p->exists != q->exists)
        return p->exists - q->exists;
    if (p->device != q->device)
        return p->device < q->device ? -1 : 1;
    return p->inode < q->inode ? -1 : p->inode > q->inode;
}

static enum vf_status check_names_differ(struct batch *batch, struct vf_error *error)
{
    qsort(batch->sorted, (size_t)batch->count, sizeof *batch->sorted, compare_names);
    for (int i = 1; i < batch->count; i++) {
        const struct job *a = batch->sorted[i - 1], *b = batch->sorted[i];
        if (strcmp(a->out, b->out) == 0)
            return vf_fail(
                error, VF_USAGE,
                "'%.200s' and '%.200s' would both be written to '%.200s'; filter them into different "
                "directories",
                a->in, b->in, a->out);
    }
    return VF_OK;
}

/* A result may replace its own input, but no other file that is still to be read. */
static enum vf_status check_inputs_stay(struct batch *batch, struct vf_error *error)
{
    qsort(batch->sorted, (size_t)batch->count, sizeof *batch->sorted, compare_files);
    for (int i = 0; i < batch->count; i++) {
        struct job *job = &batch->jobs[i];
        struct stat entry;
        if (stat(job->out, &entry) != 0)
            continue;
        struct job key = {.exists = true, .device = entry.st_dev, .inode = entry.st_ino}, *key_pointer = &key;
        struct job **hit =
            bsearch(&key_pointer, batch->sorted, (size_t)batch->count, sizeof *batch->sorted, compare_files);
        if (hit != NULL && compare_files(&key_pointer, &(struct job *){job}) != 0)
            return vf_fail(
                error, VF_USAGE,
                "the result of '%.200s' would replace '%.200s', which is an input too; use another "
                "--out-dir or --suffix",
                job->in, (*hit)->in);
    }
    return VF_OK;
}

static enum vf_status make_directory(const char *path, struct vf_error *error)
{
    struct stat entry;
    if (mkdir(path, 0777) == 0)
        return VF_OK;
    if (errno != EEXIST)
        return vf_fail(error, VF_FAILED, "--out-dir=%.200s: cannot make the directory: %s", path,
                       strerror(errno));
    if (stat(path, &entry) == 0 && S_ISDIR(entry.st_mode))
        return VF_OK;
    return vf_fail(error, VF_FAILED, "--out-dir=%.200s: this is no directory", path);
}

static enum vf_status prepare(const struct vf_command_line *line, struct batch *batch, struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(name_outputs(line, batch, error));
    VF_TRY(check_names_differ(batch, error));
    VF_TRY(check_inputs_stay(batch, error));
    if (!line->options.dry_run)
        VF_TRY(make_directory(line->out_dir, error));
out:
    return status;
}

/* A bad file is reported and the rest goes on; a signal ends it all. */
static enum vf_status run_jobs(const struct vf_command_line *line, struct vf_session *session,
                               const struct batch *batch)
{
    struct vf_error error;
    enum vf_status last = VF_OK;
    int failed = 0, done = 0;
    for (; done < batch->count && !vf_interrupted; done++) {
        enum vf_status status =
            filter_one(line, session, batch->jobs[done].in, batch->jobs[done].out, &error);
        if (status == VF_INTERRUPTED)
            break;
        if (status != VF_OK) {
            last = vf_cli_report(status, &error);
            failed++;
        }
    }
    if (done < batch->count) {
        vf_fail(&error, VF_INTERRUPTED, "interrupted: %d of %d files done", done - failed, batch->count);
        return vf_cli_report(VF_INTERRUPTED, &error);
    }
    if (failed == 0 || batch->count == 1)
        return last;
    vf_fail(&error, VF_PARTIAL, "%d of %d files failed", failed, batch->count);
    return vf_cli_report(VF_PARTIAL, &error);
}

enum vf_status vf_cli_filter_files(const struct vf_command_line *line)
{
    struct vf_error error;
    struct batch batch = {0};
    struct vf_session session = {.files = line->out_dir == NULL ? 1 : line->word_count};
    enum vf_status status;
    if (line->out_dir == NULL) {
        status = check_names(line, &error);
        if (status == VF_OK)
            status = filter_one(line, &session, line->words[0], line->words[1], &error);
        vf_session_close(&session);
        return status == VF_OK ? VF_OK : vf_cli_report(status, &error);
    }
    status = prepare(line, &batch, &error);
    status = status == VF_OK ? run_jobs(line, &session, &batch) : vf_cli_report(status, &error);
    vf_session_close(&session);
    batch_free(&batch);
    return status;
}
