/* Which files a batch has, and under which names their results go. batch_run.c filters them. */
#include "batch.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptor.h"
#include "interrupt.h"
#include "journal.h"
#include "output_file.h"

/* Of a list of files, each of which takes about 1 KB of memory before the first is filtered. */
#define MOST_LINES 1000000

/* ---- which files ---- */

/* `cause` is errno of a directory or name that cannot be read; 0: it is an input. */
static enum vf_status add_file(struct vf_batch *batch, const char *in, int cause, struct vf_error *error)
{
    struct vf_batch_file *grown =
        vf_grow(batch->file, (size_t)batch->count, &batch->room, sizeof *grown, "list of files", error);
    if (grown == NULL)
        return VF_FAILED;
    batch->file = grown;
    struct vf_batch_file *file = &batch->file[batch->count];
    *file = (struct vf_batch_file){.in = vf_strdup(in, error), .cause = cause};
    if (file->in == NULL)
        return VF_FAILED;
    batch->count++;
    file->exists = cause == 0 && stat(in, &file->about) == 0;
    if (cause == 0 && !file->exists && !vf_is_absent(errno))
        file->cause = errno;
    return VF_OK;
}

/* The path without what begins it: '/' and './'. */
static const char *inner_path(const char *path)
{
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    return path;
}

static enum vf_status add_tree(struct vf_batch *batch, const char *directory, const struct stat *results,
                               struct vf_error *error);

/* Pipes, sockets and devices are none of a directory's images: a pipe that nobody writes to would be waited
 * for without end. */
static bool may_be_image(const char *path)
{
    struct stat about;
    return stat(path, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
}

/* An image by its ending, or a directory; neither what is hidden nor the results' own directory. */
static enum vf_status add_entry(struct vf_batch *batch, const char *directory, const char *name,
                                const struct stat *results, struct vf_error *error)
{
    struct stat about;
    enum vf_format format;
    const size_t room = strlen(directory) + strlen(name) + 2;
    const bool slash = directory[strlen(directory) - 1] == '/';
    enum vf_status status = VF_OK;
    if (name[0] == '.')
        return VF_OK;
    char *path = vf_alloc(room, 1, "file name", error);
    if (path == NULL)
        return VF_FAILED;
    snprintf(path, room, "%s%s%s", directory, slash ? "" : "/", name);
    /* Links to directories could lead in circles. */
    if (lstat(path, &about) != 0)
        status = errno == ENOENT ? VF_OK : add_file(batch, path, errno, error);
    else if (S_ISDIR(about.st_mode) && !(results != NULL && vf_is_same_file(&about, results)))
        status = add_tree(batch, path, results, error);
    else if (!S_ISDIR(about.st_mode) && vf_format_by_name(name, &format) && may_be_image(path))
        status = add_file(batch, path, 0, error);
    vf_free(path);
    return status;
}

static enum vf_status add_tree(struct vf_batch *batch, const char *directory, const struct stat *results,
                               struct vf_error *error)
{
    struct dirent **entry;
    const int count = scandir(directory, &entry, NULL, alphasort);
    enum vf_status status = VF_OK;
    if (count < 0)
        return add_file(batch, directory, errno, error);
    for (int i = 0; i < count; i++) {
        if (status == VF_OK)
            status = add_entry(batch, directory, entry[i]->d_name, results, error);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* The directory of earlier results, which are no images of the tree's: --out-dir, or, where that is the tree
 * itself, what they are in there. False: there is none yet. */
static bool find_results(const struct vf_command_line *line, const char *tree, const struct stat *about,
                         struct stat *results)
{
    char path[PATH_MAX];
    if (stat(line->out_dir, results) != 0)
        return false;
    if (!vf_is_same_file(results, about))
        return true;
    return snprintf(path, sizeof path, "%s/%s", line->out_dir, inner_path(tree)) < (int)sizeof path &&
           stat(path, results) == 0;
}

static enum vf_status add_word(struct vf_batch *batch, const struct vf_command_line *line, const char *word,
                               struct vf_error *error)
{
    struct stat about, results;
    if (line->tree && stat(word, &about) == 0 && S_ISDIR(about.st_mode))
        return add_tree(batch, word, find_results(line, word, &about, &results) ? &results : NULL, error);
    /* Of what ends in '/' and is not there no result can be named. */
    const bool is_nameless = word[0] != '\0' && word[strlen(word) - 1] == '/' && stat(word, &about) != 0;
    return add_file(batch, word, is_nameless ? errno : 0, error);
}

/* Of its first bytes some are zero; a name may contain "MAP " where an MRC file does. */
static bool is_image(const char *text, size_t length)
{
    char head[VF_HEAD_BYTES] = "";
    memcpy(head, text, length);
    return memchr(text, '\0', length) != NULL && vf_begins_as_image(head);
}

static enum vf_status fail_image(const char *list, struct vf_error *error)
{
    return vf_fail(error, VF_USAGE,
                   "--from-file=%s: is an image, not a list of names; to filter it, name it without "
                   "--from-file",
                   vf_short_path(list).text);
}

/* The whole list, with room for one byte more. What has no end, or no names, is not read on and on. */
static enum vf_status read_list(FILE *file, const char *list, char **text, size_t *length,
                                struct vf_error *error)
{
    size_t room = 0, names = 0, name_length = 0;
    char *grown;
    for (int c; (grown = vf_grow(*text, *length, &room, 1, "list of files", error)) != NULL;) {
        *text = grown;
        if ((c = getc(file)) == EOF)
            break;
        const bool is_end = c == '\n' || c == '\0';
        grown[(*length)++] = (char)c;
        if (*length == VF_HEAD_BYTES && is_image(grown, *length))
            return fail_image(list, error);
        names += is_end;
        name_length = is_end ? 0 : name_length + 1;
        if (name_length == PATH_MAX)
            return vf_fail(error, VF_USAGE,
                           "--from-file=%s: line %zu is longer than any file's name; LIST has a name in "
                           "each line",
                           vf_short_path(list).text, names + 1);
        if (names > MOST_LINES)
            return vf_fail(error, VF_USAGE,
                           "--from-file=%s: the list has more than %d lines, the maximum; split it, for "
                           "example with split -l",
                           vf_short_path(list).text, MOST_LINES);
    }
    if (vf_interrupted)
        return vf_fail(error, VF_INTERRUPTED, "interrupted; nothing was filtered");
    if (grown != NULL && ferror(file))
        return vf_fail(error, VF_FAILED, "--from-file=%s: cannot be read: %s", vf_short_path(list).text,
                       vf_cause(errno));
    if (grown != NULL && *length < VF_HEAD_BYTES && is_image(grown, *length))
        return fail_image(list, error);
    return grown != NULL ? VF_OK : VF_FAILED;
}

/* No name contains a zero byte: where there is one, zero bytes end the names, which may then contain the ends
 * of lines. The mark that some editors begin UTF-8 with is not part of the first one. */
static enum vf_status add_names(struct vf_batch *batch, const struct vf_command_line *line, char *text,
                                size_t length, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    const bool has_zeros = memchr(text, '\0', length) != NULL;
    static const char mark[] = "\xef\xbb\xbf";
    text[length] = '\0';
    char *const first = text + (strncmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0);
    for (char *name = first, *end; status == VF_OK && name < text + length; name = end + 1) {
        end = name + (has_zeros ? strlen(name) : strcspn(name, "\n"));
        *end = '\0';
        for (char *last = end; !has_zeros && last > name && last[-1] == '\r';)
            *--last = '\0';
        if (name[0] != '\0')
            status = add_word(batch, line, name, error);
    }
    return status;
}

static enum vf_status add_list(struct vf_batch *batch, const struct vf_command_line *line,
                               struct vf_error *error)
{
    const bool standard = strcmp(line->from_file, "-") == 0;
    char *text = NULL;
    size_t length = 0;
    if (standard && isatty(STDIN_FILENO))
        return vf_fail(error, VF_USAGE,
                       "--from-file -: standard input is a terminal; use '< LIST' or a pipe");
    FILE *file = standard ? stdin : fopen(line->from_file, "re");
    if (file == NULL && vf_interrupted) /* a pipe that nobody writes to */
        return vf_fail(error, VF_INTERRUPTED, "interrupted; nothing was filtered");
    if (file == NULL)
        return vf_fail(error, VF_FAILED, "--from-file=%s: cannot be read: %s",
                       vf_short_path(line->from_file).text, vf_cause(errno));
    enum vf_status status = read_list(file, line->from_file, &text, &length, error);
    if (status == VF_OK)
        status = add_names(batch, line, text, length, error);
    vf_free(text);
    if (!standard)
        fclose(file);
    return status;
}

/* ---- under which names ---- */

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

/* DIR/NAME, or with --tree DIR/PATH, with the suffix before the ending, or in its place where it has its own.
 */
static enum vf_status name_output(const struct vf_command_line *line, struct vf_batch_file *file,
                                  struct vf_error *error)
{
    const char *slash = strrchr(file->in, '/');
    const char *base = slash != NULL ? slash + 1 : file->in;
    const char *path = line->tree ? inner_path(file->in) : base;
    const char *suffix = line->suffix != NULL ? line->suffix : "";
    if (strcmp(file->in, "-") == 0)
        return vf_fail(error, VF_USAGE,
                       "standard input has no file name to use in --out-dir; use volfilter -f CHAIN - OUT");
    if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return vf_fail(error, VF_USAGE, "'%s' is a directory; name the files in it, or use --tree",
                       vf_short_path(file->in).text);
    if (line->tree && climbs(path))
        return vf_fail(error, VF_USAGE, "'%s' contains '..', which with --tree would lead out of '%s'",
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

static enum vf_status check_names(struct vf_batch *batch, const struct vf_command_line *line,
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

static void free_file(struct vf_batch_file *file)
{
    vf_free(file->in);
    vf_free(file->out);
    vf_free(file->target);
}

/* Links may make each of some files the result of another. */
static enum vf_status leave_out_results(struct vf_batch *batch, struct vf_error *error)
{
    int left = 0;
    for (int i = 0; i < batch->count; i++) {
        if (batch->file[i].result_of != NULL)
            free_file(&batch->file[i]);
        else
            batch->file[left++] = batch->file[i];
    }
    batch->results = batch->count - left;
    batch->count = left;
    return left > 0
               ? VF_OK
               : vf_fail(error, VF_USAGE, "each of the files is the result of another; none is filtered");
}

/* ---- directories ---- */

/* `option` stands before the path in messages. */
static enum vf_status make_directory(const char *option, const char *path, struct vf_error *error)
{
    struct stat entry;
    if (mkdir(path, 0777) == 0)
        return VF_OK;
    const int cause = errno;
    if (stat(path, &entry) != 0)
        return vf_fail(error, VF_FAILED, "%s%s: cannot create the directory: %s", option,
                       vf_short_path(path).text,
                       cause == EEXIST ? "it is a link that leads nowhere" : vf_cause(cause));
    if (S_ISDIR(entry.st_mode))
        return VF_OK;
    return vf_fail(error, VF_FAILED, "%s%s: is not a directory", option, vf_short_path(path).text);
}

/* The directories that a path lies in, from its first `made` characters on. */
static enum vf_status make_parents(const char *option, char *path, size_t made, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (char *slash = path + made; status == VF_OK && (slash = strchr(slash, '/')) != NULL; slash++) {
        if (slash == path)
            continue;
        *slash = '\0';
        status = make_directory(option, path, error);
        *slash = '/';
    }
    return status;
}

static const char out_dir_option[] = "--out-dir=";

static enum vf_status make_path(const char *path, struct vf_error *error)
{
    char *copy = vf_strdup(path, error);
    enum vf_status status = copy == NULL ? VF_FAILED : make_parents(out_dir_option, copy, 0, error);
    vf_free(copy);
    return status == VF_OK ? make_directory(out_dir_option, path, error) : status;
}

/* Whether a directory can be made, and nothing is made: the last of its path that is there may be written. */
static enum vf_status try_path(const char *option, const char *path, struct vf_error *error)
{
    struct stat entry;
    if (lstat(path, &entry) == 0)
        return make_directory(option, path, error);
    char *there = vf_strdup(path, error), *parent = there;
    if (there == NULL)
        return VF_FAILED;
    int cause;
    do {
        parent = dirname(parent);
        cause = stat(parent, &entry) == 0 ? 0 : errno;
        if (cause == ENOENT && lstat(parent, &entry) == 0) {
            const enum vf_status status = make_directory(option, parent, error);
            vf_free(there);
            return status;
        }
    } while (cause == ENOENT || cause == ENOTDIR);
    if (cause == 0 && !S_ISDIR(entry.st_mode))
        cause = ENOTDIR;
    if (cause == 0 && access(parent, W_OK | X_OK) != 0)
        cause = errno;
    vf_free(there);
    return cause == 0 ? VF_OK
                      : vf_fail(error, VF_FAILED, "%s%s: cannot create the directory: %s", option,
                                vf_short_path(path).text, vf_cause(cause));
}

enum vf_status vf_batch_make_directories(const struct vf_batch_file *file, struct vf_error *error)
{
    return make_parents("", file->out, (size_t)(file->name - file->out), error);
}

enum vf_status vf_batch_try_directories(const struct vf_batch_file *file, struct vf_error *error)
{
    char *path = vf_strdup(file->out, error);
    const enum vf_status status = path == NULL ? VF_FAILED : try_path("", dirname(path), error);
    vf_free(path);
    return status;
}

enum vf_status vf_batch_open(struct vf_batch *batch, const struct vf_command_line *line,
                             struct vf_error *error)
{
    enum vf_status status = VF_OK;
    *batch = (struct vf_batch){0};
    for (int i = 0; i < line->word_count; i++)
        VF_TRY(add_word(batch, line, line->words[i], error));
    if (line->from_file != NULL)
        VF_TRY(add_list(batch, line, error));
    if (batch->count == 0)
        return line->from_file != NULL
                   ? vf_fail(error, VF_FAILED, "--from-file=%s: names no images",
                             vf_short_path(line->from_file).text)
                   : vf_fail(error, VF_FAILED, "no images found in the directories given");
    for (int i = 0; i < batch->count; i++)
        if (batch->file[i].cause == 0)
            VF_TRY(name_output(line, &batch->file[i], error));
    VF_TRY(check_names(batch, line, error));
    VF_TRY(leave_out_results(batch, error));
    VF_TRY(line->options.dry_run ? try_path(out_dir_option, line->out_dir, error)
                                 : make_path(line->out_dir, error));
out:
    return status;
}

void vf_batch_close(struct vf_batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        free_file(&batch->file[i]);
    vf_free(batch->file);
    *batch = (struct vf_batch){0};
}
