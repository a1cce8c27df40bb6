/* Running a chain over a file: plan, pre-passes, runs, output. */
#ifndef VF_RUN_H
#define VF_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "chain.h"
#include "error.h"
#include "io.h"
#include "kernels/boundary.h"
#include "session.h"

enum vf_backend_choice { VF_BACKEND_AUTO, VF_BACKEND_CPU, VF_BACKEND_CUDA };
enum vf_precision { VF_PRECISION_AUTO, VF_PRECISION_SINGLE, VF_PRECISION_DOUBLE };
enum vf_progress { VF_PROGRESS_AUTO, VF_PROGRESS_NEVER, VF_PROGRESS_ALWAYS, VF_PROGRESS_JSON };

/* What the command line decides for every file; zero is the default of each. */
struct vf_options {
    enum vf_backend_choice backend;
    int threads;               /* 0: all cores */
    enum vf_boundary boundary; /* VF_NEAREST is 0 */
    double constant;           /* VF_CONSTANT's value */
    double spacing[3];         /* --spacing, x y z; 0: the file's */
    char spacing_unit[16];     /* "" : none given */
    bool slices;               /* every plane its own 2D image */
    bool dtype_given;
    enum vf_type dtype;
    enum vf_precision precision;
    size_t memory; /* bytes; 0: three quarters of what is free */
    enum vf_compression compression;
    const char *scheme; /* --scheme, as vf_plan_request takes it; NULL: the plan's choice */
    bool explain, dry_run, json, no_clobber, sync, quiet;
    int verbose;
    enum vf_progress progress;
};

/* Whether images of a type are computed in double. */
bool vf_is_double(const struct vf_options *options, enum vf_type type);

/* Filters `in` into `out` ("-": standard streams). With options->explain the plan is printed first to
 * `explain_to` (as JSON with options->json); with dry_run nothing is computed or written. With json (and not
 * explain) one JSON object of timings is printed to `explain_to` when done. Notes go to stderr unless quiet.
 */
enum vf_status vf_run_file(const struct vf_chain *chain, const struct vf_options *options,
                           struct vf_session *session, const char *in, const char *out, FILE *explain_to,
                           struct vf_error *error);

/* ---- the same in steps, for several files at once ---- */

/* A file on its way. Steps of one file follow each other; reading and writing may go on in other threads
 * beside any step of other files. */
struct vf_work;
struct vf_progress_line;

/* Opens the input, plans, checks memory and disk, explains, opens the output. `in`, `out`, chain, options and
 * session must outlive the work. NULL after a failure. With dry_run no step follows. */
enum vf_status vf_work_open(struct vf_work **work, const struct vf_chain *chain,
                            const struct vf_options *options, struct vf_session *session, const char *in,
                            const char *out, FILE *explain_to, struct vf_error *error);

/* What goes slab by slab is read, computed and written by vf_work_compute; vf_work_write puts it in place. */
enum vf_status vf_work_read(struct vf_work *work, struct vf_error *error);
enum vf_status vf_work_compute(struct vf_work *work, struct vf_error *error);
enum vf_status vf_work_write(struct vf_work *work, struct vf_error *error);

/* vf_work_write calls `whole` with what the result's file is, before that has its name. */
void vf_work_tell_whole(struct vf_work *work, void (*whole)(void *context, const struct stat *file),
                        void *context);

/* What was asked to be told of a file that is done: timings as JSON to `to`, or in words to stderr. */
void vf_work_tell(const struct vf_work *work, FILE *to);
void vf_work_close(struct vf_work *work); /* NULL is allowed; without a write it leaves nothing behind */

/* Bytes that it takes, at most, and that all together may take. */
size_t vf_work_memory(const struct vf_work *work);

/* So many files like this one are best written at once: one where all threads write it, else more. */
int vf_work_writers(const struct vf_work *work);
size_t vf_work_limit(const struct vf_work *work);

/* Counts the file as `bytes` of a line for several files. */
void vf_work_show(struct vf_work *work, struct vf_progress_line *files, size_t bytes);

struct vf_work_times {
    double read, compute, write; /* seconds */
};
struct vf_work_times vf_work_times(const struct vf_work *work);

#endif
