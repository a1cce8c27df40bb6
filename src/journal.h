/* What of a directory of results is finished: a file DIR/.volfilter-done with a line for each, appended
 * before it is put in place. A result counts as finished while it is the very file that the line is about
 * (its size and time of change), made from the very input by the same chain and options (the key). */
#ifndef VF_JOURNAL_H
#define VF_JOURNAL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "run.h"
#include "sha256.h"

struct vf_journal; /* opaque */

/* Opens the directory's journal; `read` what it holds, else only append. Owned by the caller, who keeps
 * `directory` until it is closed. */
enum vf_status vf_journal_open(struct vf_journal **journal, const char *directory, bool read,
                               struct vf_error *error);

/* The name of its file in the directory. */
#define VF_JOURNAL_NAME ".volfilter-done"

/* What a result is known by: chain, options that change it, and the input, by its path, size and time of
 * change; `input` NULL for one that the result replaced. */
enum vf_status vf_journal_key(const struct vf_chain *chain, const struct vf_options *options,
                              const char *path, const struct stat *input, char key[VF_SHA256_DIGITS + 1],
                              struct vf_error *error);

/* Whether the result `name`, under the directory, is finished. Fails if that cannot be told: what replaced
 * its input must not be filtered again. */
enum vf_status vf_journal_find(const struct vf_journal *journal, const char *name, const char *key, bool *has,
                               struct vf_error *error);

/* It is once `file` has that name; `sync`: the line is on the disk now. By any thread. */
enum vf_status vf_journal_add(struct vf_journal *journal, const char *name, const char *key,
                              const struct stat *file, bool sync, struct vf_error *error);

/* With `remove_new` the file goes too, unless it was there before, or another run added to it meanwhile: then
 * it tells of others' results. NULL is allowed. */
void vf_journal_close(struct vf_journal *journal, bool remove_new);

#endif
