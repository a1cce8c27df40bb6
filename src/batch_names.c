#include "batch_names.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptor.h"
#include "journal.h"
#include "output_file.h"

const char *vf_batch_inner_path(const char *path)
{
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    return path;
}

static bool climbs(const char *path)
{
    for (; path != NULL; path = strchr(path, '/')) {
        path += *path == '/';
        if (strncmp(path, "..", 2) == 0 && (path[2] == '/' || path[2] == '\0'))
            return true;
    }
    return false;
}

/* The path, links resolved, that a file there will have: what is there of it resolved, and the names of what
 * is still to be made. False: too long, or not to be told. */
static bool resolve(const char *path, char target[PATH_MAX])
{
    char head[PATH_MAX];
    if (realpath(path, target) != NULL)
        return true;
    if (snprintf(head, sizeof head, "%s", path) >= (int)sizeof head)
        return false;
    const char *rest;
    do {
        char *slash = strrchr(head, '/');
        rest = path + (slash == NULL ? 0 : slash + 1 - head);
        if (slash != NULL)
            *slash = '\0';
        else
            head[0] = '\0';
    } while (realpath(head[0] != '\0' ? head : rest > path ? "/" : ".", target) == NULL && head[0] != '\0');
    size_t length = strcmp(target, "/") == 0 ? 0 : strlen(target);
    while (*rest != '\0') {
        const size_t name = strcspn(rest, "/");
        if (name == 2 && strncmp(rest, "..", 2) == 0)
            return false;
        if (name > 0 && !(name == 1 && rest[0] == '.')) {
            const int added = snprintf(target + length, PATH_MAX - length, "/%.*s", (int)name, rest);
            if (added < 0 || (size_t)added >= PATH_MAX - length)
                return false;
            length += (size_t)added;
        }
        rest += name + (rest[name] == '/');
    }
    return true;
}

/* The same of what a link that leads nowhere yet will make. */
static bool future_path(const char *path, char target[PATH_MAX])
{
    struct vf_error ignored;
    char *linked = vf_output_target(path, &ignored);
    const bool is_told = linked != NULL && resolve(linked, target);
    vf_free(linked);
    return is_told;
}

enum vf_status vf_batch_name_output(const struct vf_command_line *line, struct vf_batch_file *file,
                                    struct vf_error *error)
{
    const char *slash = strrchr(file->in, '/');
    const char *base = slash != NULL ? slash + 1 : file->in;
    const char *path = line->tree ? vf_batch_inner_path(file->in) : base;
    const char *suffix = line->suffix != NULL ? line->suffix : "";
    if (strcmp(file->in, "-") == 0)
        return vf_fail(error, VF_USAGE,
                       "standard input has no file name to use in --out-dir; use volfilter -f CHAIN - OUT");
    if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return vf_fail(error, VF_USAGE, "'%s' is a directory; name the files in it, or use --tree",
                       vf_short_path(file->in).text);
    if (line->tree && climbs(path))
        return vf_fail(
            error, VF_USAGE,
            "'%s' contains '..', which with --tree would lead out of '%s'; name it by its full path",
            vf_short_path(file->in).text, vf_short_path(line->out_dir).text);
    enum vf_format format;
    const char *dot = strrchr(base, '.');
    const size_t stem = dot != NULL && dot > base ? (size_t)(dot - path) : strlen(path);
    const size_t directory = strlen(line->out_dir);
    const bool has_slash = line->out_dir[directory - 1] == '/';
    const size_t room = directory + strlen(path) + strlen(suffix) + 2;
    file->out = vf_alloc(room, 1, "file name", error);
    if (file->out == NULL)
        return VF_FAILED;
    char target[PATH_MAX];
    snprintf(file->out, room, "%s%s%.*s%s%s", line->out_dir, has_slash ? "" : "/", (int)stem, path, suffix,
             vf_format_by_name(suffix, &format) ? "" : path + stem);
    file->name = file->out + directory + !has_slash;
    if (!future_path(file->out, target))
        return VF_OK;
    file->target = vf_strdup(target, error);
    return file->target != NULL ? VF_OK : VF_FAILED;
}

static const char *target_of(const struct vf_batch_file *file)
{
    return file->target != NULL ? file->target : file->out;
}

static int compare_targets(const void *a, const void *b)
{
    return strcmp(target_of(*(struct vf_batch_file *const *)a), target_of(*(struct vf_batch_file *const *)b));
}

static int compare_files(const void *a, const void *b)
{
    const struct vf_batch_file *p = *(struct vf_batch_file *const *)a, *q = *(struct vf_batch_file *const *)b;
    if (p->exists != q->exists)
        return p->exists - q->exists;
    if (p->about.st_dev != q->about.st_dev)
        return p->about.st_dev < q->about.st_dev ? -1 : 1;
    return p->about.st_ino < q->about.st_ino ? -1 : p->about.st_ino > q->about.st_ino;
}

static enum vf_status check_names_differ(const struct vf_command_line *line, struct vf_batch_file **sorted,
                                         size_t count, struct vf_error *error)
{
    enum vf_format format;
    const char *const remedy = line->suffix != NULL && vf_format_by_name(line->suffix, &format)
                                   ? "give a --suffix without an extension"
                               : line->tree ? "filter them into different directories"
                                            : "filter them into different directories, or use --tree";
    qsort(sorted, count, sizeof *sorted, compare_targets);
    for (size_t i = 1; i < count; i++) {
        const struct vf_batch_file *a = sorted[i - 1], *b = sorted[i];
        if (compare_targets(&sorted[i - 1], &sorted[i]) != 0)
            continue;
        if (a->exists && compare_files(&sorted[i - 1], &sorted[i]) == 0)
            return vf_fail(error, VF_USAGE, "'%s' and '%s' are the same file; name it once",
                           vf_short_path(a->in).text, vf_short_path(b->in).text);
        return vf_fail(error, VF_USAGE, "'%s' and '%s' would both be written to '%s'; %s",
                       vf_short_path(a->in).text, vf_short_path(b->in).text, vf_short_path(a->out).text,
                       remedy);
    }
    return VF_OK;
}

/* Whether the result goes where the input is, whatever another run has put there since. */
static bool leads_to_input(const struct vf_batch_file *file)
{
    char path[PATH_MAX];
    return file->target != NULL && realpath(file->in, path) != NULL && strcmp(path, file->target) == 0;
}

/* Whether two paths name one entry of a directory, or files of which there is one name alone. */
static bool is_same_entry(const char *a, const char *b, const struct stat *file)
{
    char path_a[PATH_MAX], path_b[PATH_MAX];
    struct stat in_a, in_b;
    if (file->st_nlink < 2 || realpath(a, path_a) == NULL || realpath(b, path_b) == NULL)
        return true;
    char *name_a = strrchr(path_a, '/'), *name_b = strrchr(path_b, '/');
    if (strcmp(name_a, name_b) != 0)
        return false;
    name_a[1] = name_b[1] = '\0';
    return stat(path_a, &in_a) != 0 || stat(path_b, &in_b) != 0 || vf_is_same_file(&in_a, &in_b);
}

enum vf_status vf_batch_key(const struct vf_command_line *line, const struct vf_batch_file *file,
                            char key[VF_SHA256_DIGITS + 1], struct vf_error *error)
{
    return vf_journal_key(&line->chain, &line->options, file->in, file->in_place ? NULL : &file->about, key,
                          error);
}

static enum vf_status ask_for_finished(const struct vf_batch *batch, const struct vf_command_line *line,
                                       const struct vf_journal *journal, struct vf_journal_mark *mark,
                                       size_t *count, struct vf_error *error)
{
    *count = 0;
    for (int i = 0; i < batch->count; i++) {
        const struct vf_batch_file *file = &batch->file[i];
        char key[VF_SHA256_DIGITS + 1];
        bool may_be;
        if (!file->exists)
            continue;
        if (vf_batch_key(line, file, key, error) != VF_OK ||
            vf_journal_ask(journal, file->name, key, &mark[*count], &may_be, error) != VF_OK)
            return VF_FAILED;
        mark[*count].index = i;
        *count += may_be;
    }
    return VF_OK;
}

enum vf_status vf_batch_find_finished(const struct vf_batch *batch, const struct vf_command_line *line,
                                      struct vf_journal *journal, bool *finished, struct vf_error *error)
{
    size_t count;
    memset(finished, 0, (size_t)batch->count * sizeof *finished);
    if (!line->resume || journal == NULL)
        return VF_OK;
    struct vf_journal_mark *mark = vf_alloc((size_t)batch->count, sizeof *mark, "list of files", error);
    if (mark == NULL)
        return VF_FAILED;
    enum vf_status status = ask_for_finished(batch, line, journal, mark, &count, error);
    if (status == VF_OK)
        status = vf_journal_find(journal, mark, count, error);
    for (size_t i = 0; i < count && status == VF_OK; i++)
        finished[mark[i].index] = mark[i].is_finished;
    vf_free(mark);
    return status;
}

static enum vf_status fail_to_replace(const struct vf_batch_file *file, const struct vf_batch_file *input,
                                      struct vf_error *error)
{
    return vf_fail(error, VF_USAGE,
                   "the result of '%s' would replace '%s', which is also an input; use "
                   "another --out-dir or --suffix",
                   vf_short_path(file->in).text, vf_short_path(input->in).text);
}

/* A result may replace its own input, but no other file that is still to be read. Another name of an input, a
 * hard link, is replaced without it. What --resume finds to be the result of another input is no input. */
static enum vf_status check_inputs_stay(struct vf_batch *batch, const struct vf_command_line *line,
                                        struct vf_batch_file **sorted, size_t count, bool *any_results,
                                        struct vf_error *error)
{
    *any_results = false;
    qsort(sorted, count, sizeof *sorted, compare_files);
    for (int i = 0; i < batch->count; i++) {
        struct vf_batch_file *file = &batch->file[i], key = {.exists = true}, *key_pointer = &key;
        if (file->cause != 0)
            continue;
        if (stat(file->out, &key.about) != 0) {
            if (vf_is_absent(errno))
                continue;
            return vf_fail(error, VF_FAILED, "'%s' cannot be examined: %s", vf_short_path(file->out).text,
                           vf_cause(errno));
        }
        file->in_place = file->exists && leads_to_input(file);
        struct vf_batch_file **hit = bsearch(&key_pointer, sorted, count, sizeof *sorted, compare_files);
        while (hit != NULL && hit > sorted && compare_files(hit - 1, &key_pointer) == 0)
            hit--;
        for (; hit != NULL && hit < sorted + count && compare_files(hit, &key_pointer) == 0; hit++) {
            if (!is_same_entry((*hit)->in, file->out, &key.about))
                continue;
            if (*hit == file) {
                file->in_place = true;
                continue;
            }
            if (!line->resume || (*hit)->result_of != NULL)
                return fail_to_replace(file, *hit, error);
            (*hit)->result_of = file;
            *any_results = true;
        }
    }
    return VF_OK;
}

static enum vf_status check_results_finished(const struct vf_batch *batch, const struct vf_command_line *line,
                                             struct vf_error *error)
{
    struct vf_journal *journal = NULL;
    bool *finished = vf_alloc((size_t)batch->count, sizeof *finished, "list of files", error);
    if (finished == NULL)
        return VF_FAILED;
    enum vf_status status = vf_journal_open(&journal, line->out_dir, true, error);
    if (status == VF_OK)
        status = vf_batch_find_finished(batch, line, journal, finished, error);
    for (int i = 0; i < batch->count && status == VF_OK; i++) {
        const struct vf_batch_file *file = batch->file[i].result_of;
        if (file != NULL && !finished[file - batch->file])
            status = fail_to_replace(file, &batch->file[i], error);
    }
    vf_journal_close(journal, false);
    vf_free(finished);
    return status;
}

/* The report is written last, the list of finished results as they come. */
static enum vf_status check_own_files(const struct vf_batch *batch, const struct vf_command_line *line,
                                      struct vf_error *error)
{
    char journal[PATH_MAX], report[PATH_MAX], path[PATH_MAX];
    const bool reports =
        line->report != NULL && strcmp(line->report, "-") != 0 && future_path(line->report, report);
    const bool has_journal =
        snprintf(path, sizeof path, "%s/" VF_JOURNAL_NAME, line->out_dir) < (int)sizeof path &&
        future_path(path, journal);
    if (reports && has_journal && strcmp(report, journal) == 0)
        return vf_fail(error, VF_USAGE, "--report=%s is the list of finished results; name another file",
                       vf_short_path(line->report).text);
    for (int i = 0; i < batch->count; i++) {
        const struct vf_batch_file *file = &batch->file[i];
        if (file->target == NULL)
            continue;
        if (reports && strcmp(file->target, report) == 0)
            return vf_fail(error, VF_USAGE, "--report=%s is where the result of '%s' goes; name another file",
                           vf_short_path(line->report).text, vf_short_path(file->in).text);
        if (has_journal && strcmp(file->target, journal) == 0)
            return vf_fail(error, VF_USAGE,
                           "the result of '%s' would replace the list of finished results, '%s'; use "
                           "--suffix",
                           vf_short_path(file->in).text, vf_short_path(file->out).text);
    }
    return VF_OK;
}

enum vf_status vf_batch_check_names(struct vf_batch *batch, const struct vf_command_line *line,
                                    struct vf_error *error)
{
    size_t count = 0;
    bool any_results = false;
    struct vf_batch_file **sorted = vf_alloc((size_t)batch->count, sizeof *sorted, "list of files", error);
    if (sorted == NULL)
        return VF_FAILED;
    for (int i = 0; i < batch->count; i++)
        if (batch->file[i].cause == 0)
            sorted[count++] = &batch->file[i];
    enum vf_status status = check_names_differ(line, sorted, count, error);
    if (status == VF_OK)
        status = check_inputs_stay(batch, line, sorted, count, &any_results, error);
    vf_free(sorted);
    if (status == VF_OK && any_results)
        status = check_results_finished(batch, line, error);
    return status == VF_OK ? check_own_files(batch, line, error) : status;
}
