/* Several files into a directory: which, under which names, checked before anything starts; and filtering
 * them, the reading of those that follow and the writing of those before beside the present. */
#ifndef VF_BATCH_H
#define VF_BATCH_H

#include <sys/stat.h>

#include "cli.h"
#include "journal.h"

struct vf_batch_file {
    char *in, *out;   /* owned; of what cannot be read there is no output */
    char *target;     /* owned: where `out` leads, links resolved; NULL: that is not to be told */
    const char *name; /* of `out`, under the directory */
    int cause;        /* errno of a directory in a tree that cannot be read; 0: it is a file */
    bool exists;      /* the input; then `about` is about it */
    bool in_place;    /* the result replaces its own input */
    const struct vf_batch_file *result_of; /* another file, which --resume skips: it is left out */
    struct stat about;
};

struct vf_batch {
    int count;
    int results; /* of an earlier run, which were among the names and are left out */
    size_t room;
    struct vf_batch_file *file; /* owned; as given */
};

/* The command line's words, then --from-file's names; with --tree the images in directories. It is an error,
 * and nothing is made, when two results have one name or one would replace another's input, unless that is
 * this very result and --resume knows it. --out-dir is made, unless it is a dry run. Owned by the caller,
 * also after a failure. */
enum vf_status vf_batch_open(struct vf_batch *batch, const struct vf_command_line *line,
                             struct vf_error *error);
void vf_batch_close(struct vf_batch *batch);

/* Makes the directories under --out-dir that the file's result lies in; or tells whether they can be made,
 * and makes nothing. */
enum vf_status vf_batch_make_directories(const struct vf_batch_file *file, struct vf_error *error);
enum vf_status vf_batch_try_directories(const struct vf_batch_file *file, struct vf_error *error);

/* What the file's result is known by in the journal. */
enum vf_status vf_batch_key(const struct vf_command_line *line, const struct vf_batch_file *file,
                            char key[VF_SHA256_DIGITS + 1], struct vf_error *error);

/* Whether --resume finds each file's result in the journal, finished: [batch->count]. `journal` NULL: there
 * is none. */
enum vf_status vf_batch_find_finished(const struct vf_batch *batch, const struct vf_command_line *line,
                                      struct vf_journal *journal, bool *finished, struct vf_error *error);

/* A bad file, or a directory that cannot be read, is reported and the rest goes on; a signal ends it all. The
 * program's exit code. */
enum vf_status vf_batch_run(const struct vf_batch *batch, const struct vf_command_line *line,
                            struct vf_session *session);

#endif
