/* What of a directory of results is finished: a file DIR/.volfilter-done with a line for each, appended
 * before it is put in place. A result counts as finished while it is the very file that the line is about
 * (its size and time of change), made from the very input by the same chain and options (the key). */
#ifndef VF_JOURNAL_H
#define VF_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "run.h"
#include "sha256.h"

struct vf_journal; /* opaque */

/* Opens the directory's journal; `read`: what it holds is asked for, else only append. Owned by the caller,
 * who keeps `directory` until it is closed. */
enum vf_status vf_journal_open(struct vf_journal **journal, const char *directory, bool read,
                               struct vf_error *error);

/* The name of its file in the directory. */
#define VF_JOURNAL_NAME ".volfilter-done"

/* What a result is known by: chain, options that change it, and the input, by its path, size and time of
 * change; `input` NULL for one that the result replaced. */
enum vf_status vf_journal_key(const struct vf_chain *chain, const struct vf_options *options,
                              const char *path, const struct stat *input, char key[VF_SHA256_DIGITS + 1],
                              struct vf_error *error);

enum { VF_JOURNAL_DIGEST = 16 };

/* Of a result that is asked for: all at once, since the lines, which may be many more, are not kept. */
struct vf_journal_mark {
    uint8_t digest[VF_JOURNAL_DIGEST]; /* of the line that would tell of it */
    int index;                         /* the caller's */
    bool is_finished;
};

/* Marks the result `name`, under the directory, as it is now; *may_be false: there is none, or no lines.
 * Fails if that cannot be told: what replaced its input must not be filtered again. */
enum vf_status vf_journal_ask(const struct vf_journal *journal, const char *name, const char *key,
                              struct vf_journal_mark *mark, bool *may_be, struct vf_error *error);

/* Which of the results are finished; their order changes. Reads the lines, which are gone then. */
enum vf_status vf_journal_find(struct vf_journal *journal, struct vf_journal_mark *mark, size_t count,
                               struct vf_error *error);

/* It is once `file` has that name; `sync`: the line is on the disk now. By any thread. */
enum vf_status vf_journal_add(struct vf_journal *journal, const char *name, const char *key,
                              const struct stat *file, bool sync, struct vf_error *error);

/* With `remove_new` the file goes too, unless it was there before, or another run added to it meanwhile: then
 * it tells of others' results. NULL is allowed. */
void vf_journal_close(struct vf_journal *journal, bool remove_new);

#endif
