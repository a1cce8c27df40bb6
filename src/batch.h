/* Several files into a directory: which, under which names, checked before anything starts; and filtering
 * them, the reading of those that follow and the writing of those before beside the present. */
#ifndef VF_BATCH_H
#define VF_BATCH_H

#include <sys/stat.h>

#include "cli.h"

struct vf_batch_file {
    char *in, *out;   /* owned; of what cannot be read there is no output */
    char *target;     /* owned: where `out` leads, links resolved; NULL: that is not to be told */
    const char *name; /* of `out`, under the directory */
    int cause;        /* errno of a directory in a tree that cannot be read; 0: it is a file */
    bool exists;      /* the input; then `about` is about it */
    bool in_place;    /* the result replaces its own input */
    struct stat about;
};

struct vf_batch {
    int count;
    size_t room;
    struct vf_batch_file *file; /* owned; as given */
};

/* The command line's words, then --from-file's names; with --tree the images in directories. It is an error,
 * and nothing is made, when two results have one name or one would replace another's input. --out-dir is
 * made, unless it is a dry run. Owned by the caller, also after a failure. */
enum vf_status vf_batch_open(struct vf_batch *batch, const struct vf_command_line *line,
                             struct vf_error *error);
void vf_batch_close(struct vf_batch *batch);

/* Makes the directories under --out-dir that the file's result lies in; or tells whether they can be made,
 * and makes nothing. */
enum vf_status vf_batch_make_directories(const struct vf_batch_file *file, struct vf_error *error);
enum vf_status vf_batch_try_directories(const struct vf_batch_file *file, struct vf_error *error);

/* A bad file, or a directory that cannot be read, is reported and the rest goes on; a signal ends it all. The
 * program's exit code. */
enum vf_status vf_batch_run(const struct vf_batch *batch, const struct vf_command_line *line,
                            struct vf_session *session);

#endif
