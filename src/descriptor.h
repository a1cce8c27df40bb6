/* Files by their descriptors: read(2) and write(2) until all is done, and files without a name.
 * A call that a signal cuts short is made again, but for a signal that ends the program (interrupt.h) where
 * `outlasts_signal` is false: then errno is EINTR. A pipe that does not block is waited for. */
#ifndef VF_DESCRIPTOR_H
#define VF_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "error.h"

/* Whether the errno of a call about a name says that there is no such file, or none that the user reaches. */
bool vf_is_absent(int cause);

static inline bool vf_is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What messages call a path: "-" is a standard stream. */
const char *vf_input_name(const char *path);
const char *vf_output_name(const char *path);

/* Whether a signal has asked to stop what does not outlast one. */
bool vf_is_stopped(bool outlasts_signal);

/* How many bytes it read, fewer than `bytes` only where the file ends; -1 with errno set. */
ssize_t vf_read_up_to(int fd, void *data, size_t bytes, bool outlasts_signal);

/* False with errno set. */
bool vf_write_all(int fd, const void *data, size_t bytes, bool outlasts_signal);

/* How many of `bytes` to read or write at once, so that a signal need not wait for long; 0, with errno, once
 * one has asked to stop. */
size_t vf_piece_of(size_t bytes);

/* Reads exactly `bytes` at `offset`; false at the end of the file or on an error (errno; 0 for the end), and
 * once a signal has asked to stop, as writing too. */
bool vf_read_at(int fd, void *data, size_t bytes, uint64_t offset);

/* Writes all of them; false on an error (errno). */
bool vf_write_at(int fd, const void *data, size_t bytes, uint64_t offset);

/* Copies `from`, from its present position to its end, to `to`; messages use the names. */
enum vf_status vf_copy_descriptor(int from, const char *from_name, int to, const char *to_name,
                                  bool outlasts_signal, struct vf_error *error);

/* An exclusive lock (flock) of an open file or directory, which others that have it are waited for; false
 * where they keep it longer, or the file system has none. */
bool vf_lock_within(int fd, int milliseconds);

/* $TMPDIR or /tmp. */
const char *vf_spool_directory(void);

/* A file without a name there, or in `directory`, open for reading and writing, or -1 with a message. */
int vf_nameless_file(struct vf_error *error);
int vf_nameless_file_in(const char *directory, struct vf_error *error);

#endif
