#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "alloc.h"
#include "interrupt.h"

const char *vf_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

const char *vf_output_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

bool vf_is_stopped(bool outlasts_signal)
{
    return vf_interrupted && !outlasts_signal;
}

bool vf_is_absent(int cause)
{
    return cause == ENOENT || cause == ENOTDIR || cause == ELOOP || cause == ENAMETOOLONG || cause == EACCES;
}

/* Whether the call that failed is to be made again: waits until it may be. */
static bool is_worth_another(int fd, short event)
{
    struct pollfd waited = {.fd = fd, .events = event};
    if (errno == EAGAIN)
        return poll(&waited, 1, -1) >= 0 || errno == EINTR;
    return errno == EINTR;
}

ssize_t vf_read_up_to(int fd, void *data, size_t bytes, bool outlasts_signal)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = read(fd, (char *)data + done, bytes - done);
        if (vf_is_stopped(outlasts_signal)) {
            errno = EINTR;
            return -1;
        }
        if (got < 0 && !is_worth_another(fd, POLLIN))
            return -1;
        if (got == 0)
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

bool vf_write_all(int fd, const void *data, size_t bytes, bool outlasts_signal)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t written = write(fd, (const char *)data + done, bytes - done);
        if (vf_is_stopped(outlasts_signal)) {
            errno = EINTR;
            return false;
        }
        if (written == 0 || (written < 0 && !is_worth_another(fd, POLLOUT)))
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

size_t vf_piece_of(size_t bytes)
{
    enum { PIECE = 1 << 24 };
    errno = vf_interrupted ? EINTR : errno;
    return vf_interrupted ? 0 : bytes < PIECE ? bytes : PIECE;
}

bool vf_read_at(int fd, void *data, size_t bytes, uint64_t offset)
{
    char *to = data;
    while (bytes > 0) {
        const size_t piece = vf_piece_of(bytes);
        if (piece == 0)
            return false;
        const ssize_t got = pread(fd, to, piece, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? 0 : errno;
            return false;
        }
        to += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

bool vf_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    const char *from = data;
    while (bytes > 0) {
        const size_t piece = vf_piece_of(bytes);
        if (piece == 0)
            return false;
        const ssize_t written = pwrite(fd, from, piece, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += written;
        offset += (uint64_t)written;
        bytes -= (size_t)written;
    }
    return true;
}

enum vf_status vf_copy_descriptor(int from, const char *from_name, int to, const char *to_name,
                                  bool outlasts_signal, struct vf_error *error)
{
    enum { BLOCK = 1 << 18 };
    char *block = vf_alloc(BLOCK, 1, "copy buffer", error);
    enum vf_status status = block == NULL ? VF_FAILED : VF_OK;
    for (ssize_t got = BLOCK; status == VF_OK && got == BLOCK;) {
        got = vf_read_up_to(from, block, BLOCK, outlasts_signal);
        if (vf_is_stopped(outlasts_signal))
            status = vf_fail(error, VF_INTERRUPTED, "interrupted");
        else if (got < 0)
            status = vf_fail(error, VF_FAILED, "cannot read %s: %s", from_name, vf_cause(errno));
        else if (!vf_write_all(to, block, (size_t)got, outlasts_signal))
            status = vf_fail(error, VF_FAILED, "cannot write %s: %s", to_name, vf_cause(errno));
    }
    vf_free(block);
    return status;
}

bool vf_lock_within(int fd, int milliseconds)
{
    enum { PAUSE_MS = 10 };
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += PAUSE_MS) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= milliseconds)
            return false;
        usleep(1000 * PAUSE_MS);
    }
    return true;
}

const char *vf_spool_directory(void)
{
    const char *directory = getenv("TMPDIR");
    return directory == NULL || directory[0] == '\0' ? "/tmp" : directory;
}

static int nameless_in(const char *directory, const char *remedy, struct vf_error *error)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char path[PATH_MAX]; /* file systems without O_TMPFILE */
    if (snprintf(path, sizeof path, "%s/volfilter-XXXXXX", directory) < (int)sizeof path) {
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    } else {
        errno = ENAMETOOLONG;
    }
    if (fd < 0)
        vf_fail(error, VF_FAILED, "cannot create a temporary file in %s: %s%s", directory, vf_cause(errno),
                remedy);
    return fd;
}

int vf_nameless_file(struct vf_error *error)
{
    return nameless_in(vf_spool_directory(), "; set TMPDIR to a directory with enough space", error);
}

int vf_nameless_file_in(const char *directory, struct vf_error *error)
{
    return nameless_in(directory, "", error);
}
