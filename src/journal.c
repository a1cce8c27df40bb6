#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptor.h"
#include "text.h"
#include "version.h"

/* Millions of lines: more than any directory should hold. */
enum { MOST_BYTES = 1 << 30 };

/* A key, three numbers, and a name with each byte escaped; the pieces of a longer line are no entries. */
enum { MOST_LINE = 2 * PATH_MAX + 200 };

/* What a line says. */
struct entry {
    char key[VF_SHA256_DIGITS + 1];
    long long bytes, seconds, nanoseconds;
    const char *name;
};

struct vf_journal {
    int directory;
    const char *path;     /* of the directory, as the caller has it */
    int fd;               /* of the file; -1: nothing was added yet */
    bool is_new;          /* the file was not there before */
    bool is_named;        /* its name is on the disk */
    size_t added;         /* bytes */
    bool is_held_up;      /* it could not be locked: that was waited for once */
    bool is_cut;          /* its last line may have no end: a crash or a full disk */
    FILE *lines;          /* those that are to be read; NULL: none, or they were */
    pthread_mutex_t lock; /* of what is added */
};

/* ---- names: one line each, so that the end of a line in one is "\\n", a backslash two ---- */

static char *escape(const char *name, struct vf_error *error)
{
    char *escaped = vf_alloc(2 * strlen(name) + 1, 1, "the journal", error), *to = escaped;
    if (escaped == NULL)
        return NULL;
    for (; *name != '\0'; name++) {
        if (*name == '\n' || *name == '\\')
            *to++ = '\\';
        *to++ = *name == '\n' ? 'n' : *name;
    }
    *to = '\0';
    return escaped;
}

static void unescape(char *name)
{
    char *to = name;
    for (; *name != '\0'; name++, to++) {
        const bool is_escaped = *name == '\\' && name[1] != '\0';
        name += is_escaped;
        *to = is_escaped && *name == 'n' ? '\n' : *name;
    }
    *to = '\0';
}

/* ---- reading ---- */

/* A link is not followed: what it leads to may be another's file. */
static const char *cause_of(int error)
{
    return error == ELOOP ? "it is a symbolic link" : vf_cause(error);
}

/* "KEY BYTES SECONDS.NANOSECONDS NAME"; a line cut short by a crash is none. The name is the line's. */
static bool read_entry(char *line, struct entry *entry)
{
    int at = 0;
    const size_t length = strlen(line);
    if (length == 0 || line[length - 1] != '\n')
        return false;
    line[length - 1] = '\0';
    if (sscanf(line, "%64[0-9a-f] %lld %lld.%lld%n", entry->key, &entry->bytes, &entry->seconds,
               &entry->nanoseconds, &at) != 4 ||
        at == 0 || strlen(entry->key) != VF_SHA256_DIGITS || line[at] != ' ' || line[at + 1] == '\0')
        return false;
    unescape(line + at + 1);
    entry->name = line + at + 1;
    return true;
}

/* All that it says, in a few bytes: of as many entries as there can be no two share them by chance. */
static void digest_of(const struct entry *entry, uint8_t digest[VF_JOURNAL_DIGEST])
{
    const long long numbers[] = {entry->bytes, entry->seconds, entry->nanoseconds};
    uint8_t whole[VF_SHA256_BYTES];
    struct vf_sha256 hash;
    vf_sha256_begin(&hash);
    vf_sha256_add(&hash, entry->key, VF_SHA256_DIGITS);
    vf_sha256_add(&hash, numbers, sizeof numbers);
    vf_sha256_add(&hash, entry->name, strlen(entry->name));
    vf_sha256_end(&hash, whole);
    memcpy(digest, whole, VF_JOURNAL_DIGEST);
}

static enum vf_status fail_to_read(const struct vf_journal *journal, struct vf_error *error)
{
    return vf_fail(error, VF_FAILED, "--resume: %s/" VF_JOURNAL_NAME " cannot be read: %s",
                   vf_short_path(journal->path).text, cause_of(errno));
}

static enum vf_status open_lines(struct vf_journal *journal, struct vf_error *error)
{
    struct stat about;
    /* A pipe that nobody writes to is not waited for. */
    const int fd =
        openat(journal->directory, VF_JOURNAL_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? VF_OK : fail_to_read(journal, error);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_BYTES) {
        close(fd);
        return vf_fail(error, VF_FAILED,
                       "--resume: %s/" VF_JOURNAL_NAME " is not a record of results; remove it",
                       vf_short_path(journal->path).text);
    }
    journal->lines = about.st_size == 0 ? NULL : fdopen(fd, "r");
    if (journal->lines != NULL)
        return VF_OK;
    const enum vf_status status = about.st_size == 0 ? VF_OK : fail_to_read(journal, error);
    close(fd);
    return status;
}

enum vf_status vf_journal_open(struct vf_journal **out, const char *directory, bool read,
                               struct vf_error *error)
{
    struct vf_journal *journal = *out = vf_alloc(1, sizeof *journal, "the journal", error);
    if (journal == NULL)
        return VF_FAILED;
    journal->fd = -1;
    journal->path = directory;
    pthread_mutex_init(&journal->lock, NULL);
    journal->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->directory < 0)
        return vf_fail(error, VF_FAILED, "--out-dir=%s: cannot be opened: %s", vf_short_path(directory).text,
                       vf_cause(errno));
    return read ? open_lines(journal, error) : VF_OK;
}

/* ---- keys ---- */

enum vf_status vf_journal_key(const struct vf_chain *chain, const struct vf_options *o, const char *path,
                              const struct stat *input, char key[VF_SHA256_DIGITS + 1],
                              struct vf_error *error)
{
    struct vf_sha256 hash;
    uint8_t digest[VF_SHA256_BYTES];
    char text[600], resolved[PATH_MAX];
    char *words = vf_chain_text(chain, error);
    if (words == NULL)
        return VF_FAILED;
    const int length = snprintf(
        text, sizeof text, " %s %d %a %a %a %a %.16s %d %d %d %d %d %lld %lld.%ld", VF_VERSION,
        (int)o->boundary, o->constant, o->spacing[0], o->spacing[1], o->spacing[2], o->spacing_unit,
        o->slices, o->dtype_given, o->dtype_given ? (int)o->dtype : 0, (int)o->precision, (int)o->compression,
        input == NULL ? -1 : (long long)input->st_size, input == NULL ? 0 : (long long)input->st_mtim.tv_sec,
        input == NULL ? 0 : input->st_mtim.tv_nsec);
    vf_sha256_begin(&hash);
    vf_sha256_add(&hash, words, strlen(words));
    vf_sha256_add(&hash, text, (size_t)length);
    /* Files of one size and second are many, as when an archive was unpacked. */
    if (input != NULL) {
        path = realpath(path, resolved) != NULL ? resolved : path;
        vf_sha256_add(&hash, path, strlen(path));
    }
    vf_sha256_end(&hash, digest);
    vf_free(words);
    vf_sha256_text(digest, key);
    return VF_OK;
}

/* ---- asking and adding ---- */

enum vf_status vf_journal_ask(const struct vf_journal *journal, const char *name, const char *key,
                              struct vf_journal_mark *mark, bool *may_be, struct vf_error *error)
{
    struct stat about;
    *may_be = false;
    if (journal->lines == NULL)
        return VF_OK;
    if (fstatat(journal->directory, name, &about, 0) != 0)
        return vf_is_absent(errno)
                   ? VF_OK
                   : vf_fail(error, VF_FAILED, "--resume: %s/%s cannot be examined: %s",
                             vf_short_path(journal->path).text, vf_short_path(name).text, vf_cause(errno));
    struct entry wanted = {.bytes = about.st_size,
                           .seconds = about.st_mtim.tv_sec,
                           .nanoseconds = about.st_mtim.tv_nsec,
                           .name = name};
    memcpy(wanted.key, key, sizeof wanted.key);
    digest_of(&wanted, mark->digest);
    *may_be = true;
    return VF_OK;
}

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct vf_journal_mark *)a)->digest, ((const struct vf_journal_mark *)b)->digest,
                  VF_JOURNAL_DIGEST);
}

enum vf_status vf_journal_find(struct vf_journal *journal, struct vf_journal_mark *mark, size_t count,
                               struct vf_error *error)
{
    char line[MOST_LINE];
    struct entry entry;
    struct vf_journal_mark read, *found;
    enum vf_status status = VF_OK;
    if (journal->lines == NULL)
        return VF_OK;
    if (count > 0)
        qsort(mark, count, sizeof *mark, compare);
    for (size_t i = 0; i < count; i++)
        mark[i].is_finished = false;
    while (count > 0 && fgets(line, sizeof line, journal->lines) != NULL) {
        if (!read_entry(line, &entry))
            continue;
        digest_of(&entry, read.digest);
        found = bsearch(&read, mark, count, sizeof *mark, compare);
        if (found != NULL)
            found->is_finished = true;
    }
    if (ferror(journal->lines))
        status = fail_to_read(journal, error);
    fclose(journal->lines);
    journal->lines = NULL;
    return status;
}

/* In one piece: other runs may be adding to the file. */
static bool write_line(struct vf_journal *journal, const char *name, const char *key, const struct stat *file)
{
    struct vf_text line = {0};
    vf_text_add(&line, "%s%s %lld %lld.%lld %s\n", journal->is_cut ? "\n" : "", key, (long long)file->st_size,
                (long long)file->st_mtim.tv_sec, (long long)file->st_mtim.tv_nsec, name);
    const ssize_t written = line.failed ? -1 : write(journal->fd, line.data, line.length);
    const bool whole = !line.failed && written == (ssize_t)line.length;
    if (!whole && (line.failed || written >= 0))
        errno = line.failed ? ENOMEM : ENOSPC;
    journal->added += whole ? line.length : 0;
    vf_text_free(&line);
    return whole;
}

static void open_to_add(struct vf_journal *journal)
{
    journal->is_new = faccessat(journal->directory, VF_JOURNAL_NAME, F_OK, 0) != 0;
    journal->is_cut = !journal->is_new;
    journal->is_named = false;
    journal->added = 0;
    journal->fd = openat(journal->directory, VF_JOURNAL_NAME,
                         O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
}

/* Whether the file that is open has the name. */
static bool is_named_so(const struct vf_journal *journal, const struct stat *open_one)
{
    struct stat named;
    return fstatat(journal->directory, VF_JOURNAL_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           vf_is_same_file(&named, open_one);
}

/* More than others take to add a line. */
#define MOST_WAITED_MS 1000

/* Opens the file if need be, so that no run that is done removes it before a line is added: such a run sees
 * the line, or has removed the file, and then there is a new one. File systems without locks are taken as
 * they are. */
static void hold(struct vf_journal *journal)
{
    enum { TRIES = 10 };
    struct stat about;
    for (int i = 0; i < TRIES; i++) {
        if (journal->fd < 0)
            open_to_add(journal);
        if (journal->fd < 0)
            return;
        journal->is_held_up = !vf_lock_within(journal->fd, journal->is_held_up ? 0 : MOST_WAITED_MS);
        if (journal->is_held_up || fstat(journal->fd, &about) != 0 || is_named_so(journal, &about))
            return;
        close(journal->fd);
        journal->fd = -1;
    }
}

/* Whether its path still leads to the directory: results go where it leads. */
static bool is_where_it_was(const struct vf_journal *journal)
{
    struct stat own, now;
    return fstat(journal->directory, &own) != 0 || stat(journal->path, &now) != 0 ||
           vf_is_same_file(&own, &now);
}

static enum vf_status add(struct vf_journal *journal, const char *name, const char *key,
                          const struct stat *file, bool sync, struct vf_error *error)
{
    if (!is_where_it_was(journal))
        return vf_fail(error, VF_FAILED, "%s is another directory than when this run began",
                       vf_short_path(journal->path).text);
    hold(journal);
    journal->is_cut = journal->fd < 0 || !write_line(journal, name, key, file);
    const int cause = errno;
    if (journal->fd >= 0)
        flock(journal->fd, LOCK_UN);
    if (!journal->is_cut && (!sync || fdatasync(journal->fd) == 0)) {
        /* Its own name, once; some file systems cannot sync a directory. */
        if (sync && journal->is_new && !journal->is_named)
            journal->is_named = fsync(journal->directory) == 0;
        return VF_OK;
    }
    return vf_fail(error, VF_FAILED, "%s/" VF_JOURNAL_NAME " cannot be written: %s",
                   vf_short_path(journal->path).text, cause_of(journal->is_cut ? cause : errno));
}

enum vf_status vf_journal_add(struct vf_journal *journal, const char *name, const char *key,
                              const struct stat *file, bool sync, struct vf_error *error)
{
    char *escaped = escape(name, error);
    if (escaped == NULL)
        return VF_FAILED;
    pthread_mutex_lock(&journal->lock);
    const enum vf_status status = add(journal, escaped, key, file, sync, error);
    pthread_mutex_unlock(&journal->lock);
    vf_free(escaped);
    return status;
}

void vf_journal_close(struct vf_journal *journal, bool remove_new)
{
    struct stat about;
    if (journal == NULL)
        return;
    const bool is_own = remove_new && journal->is_new && journal->fd >= 0 &&
                        (flock(journal->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
                        fstat(journal->fd, &about) == 0 && about.st_size == (off_t)journal->added &&
                        is_named_so(journal, &about);
    if (journal->lines != NULL)
        fclose(journal->lines);
    if (is_own)
        unlinkat(journal->directory, VF_JOURNAL_NAME, 0);
    if (journal->fd >= 0)
        close(journal->fd);
    if (journal->directory >= 0)
        close(journal->directory);
    pthread_mutex_destroy(&journal->lock);
    vf_free(journal);
}
