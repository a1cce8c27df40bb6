/* Which files a batch has, and the directories of their results. batch_run.c filters them. */
#include "batch.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "batch_names.h"
#include "descriptor.h"
#include "interrupt.h"

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
    return snprintf(path, sizeof path, "%s/%s", line->out_dir, vf_batch_inner_path(tree)) <
               (int)sizeof path &&
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

/* As a shell of Windows writes lists: every other byte would end a name. */
static bool is_utf16(const char *text, size_t length)
{
    return length == 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
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
        if (is_utf16(grown, *length))
            return vf_fail(error, VF_USAGE,
                           "--from-file=%s: is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)",
                           vf_short_path(list).text);
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
    if (status == VF_OK && text != NULL)
        status = add_names(batch, line, text, length, error);
    vf_free(text);
    if (!standard)
        fclose(file);
    return status;
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
                       cause != EEXIST   ? vf_cause(cause)
                       : errno == ENOENT ? "it is a link that leads nowhere"
                                         : vf_cause(errno));
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
            VF_TRY(vf_batch_name_output(line, &batch->file[i], error));
    VF_TRY(vf_batch_check_names(batch, line, error));
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
