/* A file that appears under its name whole or not at all: written beside the target as one without a name,
 * where the file system has such, or else with a temporary one, then renamed over it. Targets that are no
 * regular file (a FIFO, /dev/null) and "-" (standard output) get the bytes at the end, from a file without a
 * name. */
#ifndef VF_OUTPUT_FILE_H
#define VF_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "error.h"

struct vf_output_file;

/* Opens the file for `path`. Symbolic links are followed, so that the link stays and its target is
 * replaced; a new file gets the umask's mode, a replaced one keeps its own. With no_clobber an existing file
 * is an error, now and at finish. Messages do not repeat the path: callers put it before them. */
enum vf_status vf_output_file_open(struct vf_output_file **file, const char *path, bool no_clobber,
                                   struct vf_error *error);

/* Whether that can be done, and nothing stays of it. Pipes, devices and standard output are not opened. */
enum vf_status vf_output_file_try(const char *path, bool no_clobber, struct vf_error *error);

/* Open for reading and writing, seekable, empty at first; owned by the file. */
int vf_output_file_descriptor(const struct vf_output_file *file);

/* Whether the bytes are in a temporary copy until all are there: see vf_output_file_open. */
bool vf_output_file_is_spooled(const struct vf_output_file *file);

/* Whether a terminal gets the bytes, which is no place for an image. */
bool vf_output_file_is_terminal(const struct vf_output_file *file);

/* A signal that has come, and set vf_interrupted, does not keep it from being finished: a report is of what
 * was done until then. A second one does, and a pipe that nobody reads. */
void vf_output_file_outlast_signal(struct vf_output_file *file);

/* All but its name: `about` is what it will be known by then, some file servers setting its time when it is
 * closed. May be left out; its descriptor is gone afterwards, and finish is to follow, or close. */
enum vf_status vf_output_file_settle(struct vf_output_file *file, bool sync, struct stat *about,
                                     struct vf_error *error);

/* Puts the file in place; with `sync` it and its name are on the disk before, where a power cut does not
 * reach them. After it, or after a failure, the file must still be closed. */
enum vf_status vf_output_file_finish(struct vf_output_file *file, bool sync, struct vf_error *error);

/* Without a finish: nothing stays of it. NULL is allowed. */
void vf_output_file_close(struct vf_output_file *file);

/* For a signal handler that then ends the process (async-signal-safe): removes every file with a temporary
 * name, and no thread makes another from then on. It may take 0.1 s. */
void vf_output_file_leave(void);

/* The name that a write through `path` creates or replaces, links followed; it need not exist yet. Owned by
 * the caller; NULL with a message. */
char *vf_output_target(const char *path, struct vf_error *error);

/* A file without a name (descriptor.h) in the directory of the file that a write to `path` makes, or, where
 * that is no regular file, in $TMPDIR or /tmp. For the caller to close; -1 with a message. */
int vf_nameless_file_beside(const char *path, struct vf_error *error);

/* Whether `what` ("the result needs") of `bytes` bytes, and temporary files of `temporary`, find room where
 * `path` and vf_nameless_file_beside would put them; an error says how much is needed, and how much there is.
 * Where the file system does not say, they do. */
enum vf_status vf_output_room(const char *path, const char *what, double bytes, double temporary,
                              struct vf_error *error);

#endif
