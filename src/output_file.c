#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "access.h"
#include "alloc.h"
#include "descriptor.h"
#include "size.h"

struct vf_output_file {
    int fd;
    int copy_to; /* where finish copies the bytes; -1: finish renames */
    int slot;    /* in live; -1: none */
    bool no_clobber;
    bool outlasts_signal;
    char *target;     /* links resolved; NULL when finish copies */
    const char *name; /* the target's, in its directory */
    int directory;    /* open from the beginning: it may get another name meanwhile; -1 when finish copies */
    char *temporary;  /* its name there; NULL while it has none, and once it has the target's */
};

/* The temporaries that a signal handler must remove. A fixed table, since a handler may not allocate; a file
 * that finds no place is only removed by its own close. */
enum { SLOT_FREE, SLOT_CHANGING, SLOT_NAMING, SLOT_LIVE };
static struct {
    atomic_int state;
    int directory;
    char name[NAME_MAX + 1];
} live[64];
/* A handler removes them: no thread may name another. */
static atomic_bool is_leaving;

static int live_add(int directory, const char *name)
{
    if (strlen(name) >= sizeof live[0].name)
        return -1;
    for (int slot = 0; slot < (int)(sizeof live / sizeof *live); slot++) {
        int expected = SLOT_FREE;
        if (!atomic_compare_exchange_strong(&live[slot].state, &expected, SLOT_CHANGING))
            continue;
        live[slot].directory = directory;
        strcpy(live[slot].name, name);
        atomic_store(&live[slot].state, SLOT_NAMING);
        return slot;
    }
    return -1;
}

static void live_named(int slot)
{
    if (slot >= 0)
        atomic_store(&live[slot].state, SLOT_LIVE);
}

static void live_remove(int slot)
{
    if (slot >= 0)
        atomic_store(&live[slot].state, SLOT_FREE);
}

void vf_output_file_leave(void)
{
    int patience = 100; /* in ms: the handler may have interrupted the very thread that it waits for */
    atomic_store(&is_leaving, true);
    for (size_t slot = 0; slot < sizeof live / sizeof *live; slot++) {
        while (atomic_load(&live[slot].state) == SLOT_NAMING && patience-- > 0)
            poll(NULL, 0, 1);
        if (atomic_load(&live[slot].state) >= SLOT_NAMING)
            unlinkat(live[slot].directory, live[slot].name, 0);
    }
}

/* The directory part of `path`, slash included; "" for a bare name. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

char *vf_output_target(const char *path, struct vf_error *error)
{
    char *real = realpath(path, NULL);
    if (real != NULL) {
        char *copy = vf_strdup(real, error);
        free(real);
        return copy;
    }
    char current[PATH_MAX], link[PATH_MAX];
    if (snprintf(current, sizeof current, "%s", path) >= (int)sizeof current) {
        vf_fail(error, VF_FAILED, "the name is too long");
        return NULL;
    }
    for (int links = 0; links < 40; links++) {
        const ssize_t length = readlink(current, link, sizeof link - 1);
        if (length < 0)
            return vf_strdup(current, error);
        link[length] = '\0';
        const size_t directory = link[0] == '/' ? 0 : directory_length(current);
        if (directory + (size_t)length >= sizeof current)
            break;
        memcpy(current + directory, link, (size_t)length + 1);
    }
    vf_fail(error, VF_FAILED, "%s", vf_cause(ELOOP));
    return NULL;
}

/* Six random letters over the XXXXXX at the end. */
static void random_name(char *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static atomic_uint counter;
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits)
        bits = (uint64_t)getpid() * 1000003u + atomic_fetch_add(&counter, 1);
    for (int i = 0; i < 6; i++, bits /= 36)
        end[i] = letters[bits % 36];
}

/* "." for a bare name. */
static void directory_of(const char *path, char directory[PATH_MAX])
{
    const size_t length = directory_length(path);
    snprintf(directory, PATH_MAX, "%.*s", length == 0 ? 1 : (int)length, length == 0 ? "." : path);
}

enum { PROC_PATH = 32 };

static void proc_path(int fd, char path[PROC_PATH])
{
    snprintf(path, PROC_PATH, "/proc/self/fd/%d", fd);
}

/* Nothing stays of a file without a name when the process is killed or the power fails; /proc gives it one
 * later. False: there is none to be had. Before Linux 6.0, file systems without access lists forget the
 * umask; the mode is then the one that was asked for, as with a umask of 0. */
static bool open_nameless(struct vf_output_file *file)
{
    char path[PROC_PATH];
    struct stat about;
    file->fd = openat(file->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return false;
    proc_path(file->fd, path);
    if (access(path, F_OK) == 0 && fstat(file->fd, &about) == 0 && (about.st_mode & 0777) != 0666)
        return true;
    close(file->fd);
    file->fd = -1;
    return false;
}

/* Gives a file that is open the temporary's name, or else creates it; open, not mkostemp, so that the umask
 * sets the mode. */
static bool claim_name(struct vf_output_file *file)
{
    char path[PROC_PATH];
    if (atomic_load(&is_leaving)) {
        errno = ECANCELED;
        return false;
    }
    if (file->fd < 0) {
        file->fd = openat(file->directory, file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return file->fd >= 0;
    }
    proc_path(file->fd, path);
    return linkat(AT_FDCWD, path, file->directory, file->temporary, AT_SYMLINK_FOLLOW) == 0;
}

static void blame_directory(const struct vf_output_file *file, int cause, struct vf_error *error)
{
    char directory[PATH_MAX];
    directory_of(file->target, directory);
    vf_fail(error, VF_FAILED, "cannot create a file in %s: %s%s", vf_short_path(directory).text,
            vf_cause(cause),
            cause == ENOENT   ? "; create that directory first (mkdir -p)"
            : cause == ENOSPC ? "; 'df' shows its space, 'df -i' how many files it can have"
                              : "");
}

/* Claims ".NAME.volfilter-XXXXXX" beside the target. It is listed as live before it exists, so that a signal
 * between the two leaves nothing. */
static enum vf_status take_name(struct vf_output_file *file, struct vf_error *error)
{
    const size_t room = strlen(file->name) + sizeof "..volfilter-XXXXXX";
    file->temporary = vf_alloc(room, 1, "file name", error);
    if (file->temporary == NULL)
        return VF_FAILED;
    /* A name at the file system's limit leaves no room for the rest: any part of it will do. */
    snprintf(file->temporary, room, ".%.200s.volfilter-XXXXXX", file->name);
    for (int attempt = 0; attempt < 100; attempt++) {
        random_name(file->temporary + strlen(file->temporary) - 6);
        file->slot = live_add(file->directory, file->temporary);
        if (claim_name(file)) {
            live_named(file->slot);
            return VF_OK;
        }
        live_remove(file->slot);
        file->slot = -1;
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    const int cause = errno;
    vf_free(file->temporary);
    file->temporary = NULL;
    blame_directory(file, cause, error);
    return VF_FAILED;
}

/* Renames without replacing; file systems that lack it mostly have hard links, whose creation never replaces.
 */
static int rename_new(int directory, const char *from, const char *to)
{
    if (renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(directory, from, directory, to, 0) == 0)
        return unlinkat(directory, from, 0);
    /* Neither, as on object stores: the name is claimed before it is replaced. */
    const int claim = openat(directory, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (claim < 0)
        return -1;
    close(claim);
    if (renameat(directory, from, directory, to) == 0)
        return 0;
    const int cause = errno;
    unlinkat(directory, to, 0);
    errno = cause;
    return -1;
}

/* What the rename at the end would say of an existing file, after all was computed. */
static enum vf_status check_replaceable(const struct vf_output_file *file, const struct stat *existing,
                                        struct vf_error *error)
{
    struct stat directory;
    if (geteuid() != 0 && fstat(file->directory, &directory) == 0 && (directory.st_mode & S_ISVTX) != 0 &&
        directory.st_uid != geteuid() && existing->st_uid != geteuid())
        return vf_fail(error, VF_FAILED,
                       "is another user's, and its directory lets only owners replace files; give the "
                       "result another name");
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx about;
    if (statx(file->directory, file->name, AT_SYMLINK_NOFOLLOW, 0, &about) == 0 &&
        (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return vf_fail(error, VF_FAILED,
                       "is mounted by itself and cannot be replaced; mount the directory that it is in");
#endif
    return VF_OK;
}

static enum vf_status open_beside(struct vf_output_file *file, const char *path, bool exists,
                                  struct vf_error *error)
{
    char directory[PATH_MAX];
    struct vf_access access;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return vf_fail(error, VF_FAILED, "is not a file name");
    if (exists && file->no_clobber)
        return vf_fail(error, VF_FAILED, "exists; remove it, or leave out --no-clobber to replace it");
    file->target = vf_output_target(path, error);
    if (file->target == NULL)
        return VF_FAILED;
    file->name = file->target + directory_length(file->target);
    directory_of(file->target, directory);
    file->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file->directory < 0) {
        blame_directory(file, errno, error);
        return VF_FAILED;
    }
    if (exists && faccessat(file->directory, file->name, W_OK, 0) != 0)
        return vf_fail(error, VF_FAILED, "cannot be written: %s", vf_cause(errno));
    if (exists && vf_access_of(&access, file->target, error) != VF_OK)
        return VF_FAILED;
    if (exists && check_replaceable(file, &access.about, error) != VF_OK)
        return VF_FAILED;
    if (!open_nameless(file) && take_name(file, error) != VF_OK)
        return VF_FAILED;
    return exists ? vf_access_keep(&access, file->fd, error) : VF_OK;
}

/* The directory of what is written to `path`; false: it is spooled. */
static bool find_directory(const char *path, char directory[PATH_MAX])
{
    struct stat existing;
    struct vf_error ignored;
    if (strcmp(path, "-") == 0 || (stat(path, &existing) == 0 && !S_ISREG(existing.st_mode)))
        return false;
    char *target = vf_output_target(path, &ignored);
    if (target == NULL)
        return false;
    directory_of(target, directory);
    vf_free(target);
    return true;
}

int vf_nameless_file_beside(const char *path, struct vf_error *error)
{
    char directory[PATH_MAX];
    return find_directory(path, directory) ? vf_nameless_file_in(directory, error) : vf_nameless_file(error);
}

/* Of a directory that is still to be made, what it will lie in tells. NULL: nothing does. */
static const char *find_room(char *directory, double *room)
{
    struct statvfs about;
    int failed;
    while ((failed = statvfs(directory, &about)) != 0 && errno == ENOENT && strcmp(directory, ".") != 0)
        directory = dirname(directory);
    *room = failed ? 0 : (double)about.f_bavail * (double)about.f_frsize;
    return !failed && about.f_blocks > 0 ? directory : NULL;
}

enum vf_status vf_output_room(const char *path, const char *what, double bytes, double temporary,
                              struct vf_error *error)
{
    const double needed = bytes + temporary;
    char directory[PATH_MAX];
    double room;
    const bool spooled = !find_directory(path, directory);
    if (spooled)
        snprintf(directory, sizeof directory, "%s", vf_spool_directory());
    const char *there = find_room(directory, &room);
    if (there == NULL || needed <= room)
        return VF_OK;
    char part[80] = "";
    if (temporary > 0)
        snprintf(part, sizeof part, " (%.1f MiB of it for temporary files)", vf_mib(temporary));
    const int digits = vf_mib(needed) < 1 ? 3 : 1;
    return vf_fail(error, VF_FAILED, "%s %.*f MiB of disk space%s, but %.900s has %.*f MiB; free some%s",
                   what, digits, vf_mib(needed), part, there, digits, vf_mib(room),
                   spooled ? ", or set TMPDIR to a directory with enough space" : "");
}

static enum vf_status open_spooled(struct vf_output_file *file, const char *path, struct vf_error *error)
{
    file->copy_to = strcmp(path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                                           : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file->copy_to < 0)
        return vf_fail(error, VF_FAILED, "cannot be written: %s", vf_cause(errno));
    file->fd = vf_nameless_file(error);
    return file->fd < 0 ? VF_FAILED : VF_OK;
}

enum vf_status vf_output_file_open(struct vf_output_file **out, const char *path, bool no_clobber,
                                   struct vf_error *error)
{
    *out = NULL;
    struct vf_output_file *file = vf_alloc(1, sizeof *file, "output file", error);
    if (file == NULL)
        return VF_FAILED;
    *file = (struct vf_output_file){
        .fd = -1, .copy_to = -1, .slot = -1, .directory = -1, .no_clobber = no_clobber};

    struct stat existing;
    const bool standard_output = strcmp(path, "-") == 0;
    const bool exists = !standard_output && stat(path, &existing) == 0;
    enum vf_status status;
    if (!exists && !standard_output && errno == ENAMETOOLONG)
        status = vf_fail(error, VF_FAILED, "cannot be created: %s", vf_cause(errno));
    else if (exists && S_ISDIR(existing.st_mode))
        status = vf_fail(error, VF_FAILED, "is a directory; name a file in it");
    else if (standard_output || (exists && !S_ISREG(existing.st_mode)))
        status = open_spooled(file, path, error);
    else
        status = open_beside(file, path, exists, error);
    if (status != VF_OK)
        vf_output_file_close(file);
    else
        *out = file;
    return status;
}

enum vf_status vf_output_file_try(const char *path, bool no_clobber, struct vf_error *error)
{
    struct stat existing;
    struct vf_output_file *file;
    const bool exists = stat(path, &existing) == 0;
    if (strcmp(path, "-") == 0 || (exists && !S_ISREG(existing.st_mode) && !S_ISDIR(existing.st_mode)))
        return VF_OK;
    const enum vf_status status = vf_output_file_open(&file, path, no_clobber, error);
    vf_output_file_close(file);
    return status;
}

bool vf_output_file_is_spooled(const struct vf_output_file *file)
{
    return file->copy_to >= 0;
}

bool vf_output_file_is_terminal(const struct vf_output_file *file)
{
    return file->copy_to >= 0 && isatty(file->copy_to);
}

void vf_output_file_outlast_signal(struct vf_output_file *file)
{
    file->outlasts_signal = true;
}

int vf_output_file_descriptor(const struct vf_output_file *file)
{
    return file->fd;
}

/* The new name is only safe from a power cut once its directory is on the disk; some file systems cannot sync
 * one, and then there is nothing more to do. */
static void sync_directory(int directory)
{
    const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* What fsync would do in one step that no signal ends, piece by piece; fsync still says whether it went well.
 */
static enum vf_status write_back(const struct vf_output_file *file, struct vf_error *error)
{
    enum { PIECE = 16 << 20 };
    struct stat about;
    if (fstat(file->fd, &about) != 0)
        return VF_OK;
    for (off_t at = 0; at < about.st_size && !vf_is_stopped(file->outlasts_signal); at += PIECE)
        if (sync_file_range(file->fd, at, PIECE, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0)
            break;
    return vf_is_stopped(file->outlasts_signal) ? vf_fail(error, VF_INTERRUPTED, "interrupted") : VF_OK;
}

/* A file system may have files without names and no links: there its bytes are copied to one with a name. */
static enum vf_status name_nameless(struct vf_output_file *file, struct vf_error *error)
{
    struct vf_access access;
    if (take_name(file, error) == VF_OK)
        return VF_OK;
    const int nameless = file->fd;
    file->fd = -1;
    enum vf_status status = take_name(file, error);
    if (status == VF_OK && lseek(nameless, 0, SEEK_SET) != 0)
        status = vf_fail(error, VF_FAILED, "cannot read the output back: %s", vf_cause(errno));
    if (status == VF_OK)
        status = vf_copy_descriptor(nameless, "the output back", file->fd, "the output",
                                    file->outlasts_signal, error);
    if (status == VF_OK)
        status = vf_access_of_descriptor(&access, nameless, error);
    if (status == VF_OK)
        status = vf_access_keep(&access, file->fd, error);
    close(nameless);
    return status;
}

/* The temporary is named late, when little is left to do, but before fsync: some file systems keep nothing
 * for a power cut of what has no name. */
static enum vf_status settle(struct vf_output_file *file, bool sync, struct vf_error *error)
{
    enum vf_status status;
    if (sync && write_back(file, error) != VF_OK)
        return VF_INTERRUPTED;
    if (file->temporary == NULL && (status = name_nameless(file, error)) != VF_OK)
        return status;
    if (sync && fsync(file->fd) != 0)
        return vf_fail(error, VF_FAILED, "cannot be written to the disk: %s", vf_cause(errno));
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return vf_fail(error, VF_FAILED, "cannot be written to the disk: %s", vf_cause(errno));
    return VF_OK;
}

enum vf_status vf_output_file_settle(struct vf_output_file *file, bool sync, struct stat *about,
                                     struct vf_error *error)
{
    const bool spooled = file->copy_to >= 0;
    const enum vf_status status = spooled ? VF_OK : settle(file, sync, error);
    if (status != VF_OK)
        return status;
    const int failed = spooled ? fstat(file->fd, about)
                               : fstatat(file->directory, file->temporary, about, AT_SYMLINK_NOFOLLOW);
    return failed ? vf_fail(error, VF_FAILED, "cannot be looked at: %s", vf_cause(errno)) : VF_OK;
}

static enum vf_status put_in_place(struct vf_output_file *file, bool sync, struct vf_error *error)
{
    const enum vf_status status = file->fd >= 0 ? settle(file, sync, error) : VF_OK;
    if (status != VF_OK)
        return status;
    const int renamed = file->no_clobber
                            ? rename_new(file->directory, file->temporary, file->name)
                            : renameat(file->directory, file->temporary, file->directory, file->name);
    if (renamed != 0 && errno == EEXIST)
        return vf_fail(error, VF_FAILED, "was meanwhile created by another program; it is left unchanged");
    if (renamed != 0)
        return vf_fail(error, VF_FAILED, "cannot be moved into place: %s", vf_cause(errno));
    live_remove(file->slot);
    file->slot = -1;
    vf_free(file->temporary);
    file->temporary = NULL;
    if (sync)
        sync_directory(file->directory);
    return VF_OK;
}

enum vf_status vf_output_file_finish(struct vf_output_file *file, bool sync, struct vf_error *error)
{
    if (file->copy_to < 0)
        return put_in_place(file, sync, error);
    enum vf_status status = VF_OK;
    if (lseek(file->fd, 0, SEEK_SET) != 0)
        status = vf_fail(error, VF_FAILED, "cannot read the output back: %s", vf_cause(errno));
    if (status == VF_OK)
        status = vf_copy_descriptor(file->fd, "the output back", file->copy_to, "the output",
                                    file->outlasts_signal, error);
    const int fd = file->copy_to;
    file->copy_to = -1;
    if (close(fd) != 0 && errno != EINTR && status == VF_OK)
        status = vf_fail(error, VF_FAILED, "cannot write the output: %s", vf_cause(errno));
    return status;
}

void vf_output_file_close(struct vf_output_file *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->copy_to >= 0)
        close(file->copy_to);
    if (file->temporary != NULL)
        unlinkat(file->directory, file->temporary, 0);
    live_remove(file->slot);
    if (file->directory >= 0)
        close(file->directory);
    vf_free(file->temporary);
    vf_free(file->target);
    vf_free(file);
}
