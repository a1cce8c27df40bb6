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
    int threads;               /* 0: vf_processors() */
    enum vf_boundary boundary; /* VF_NEAREST is 0 */
    double constant;           /* VF_CONSTANT's value */
    double spacing[3];         /* --spacing, x y z; 0: the file's */
    char spacing_unit[16];     /* "nm" ...; "": none given */
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

/* What filters are told of an image: spacing is the command line's before the file's, which still holds for
 * an axis that was not given. Reads dimensions, type, format and spacing of `info`. */
enum vf_status vf_context_of(const struct vf_options *options, const struct vf_info *info,
                             struct vf_context *context, struct vf_error *error);

/* What would fail of every file alike: a --scheme that is not understood, which is asked before any file; no
 * GPU, which is looked for where one is asked for. */
enum vf_status vf_work_check_options(const struct vf_options *options, struct vf_error *error);
enum vf_status vf_work_check_gpu(const struct vf_options *options, struct vf_session *session,
                                 struct vf_error *error);

/* Filters the file `in` into the file `out` ("-": standard streams). With options->explain the plan is
 * printed first, as JSON with options->json; with dry_run nothing is computed or written. With json but not
 * explain a JSON object of timings is printed when done. Both go to `explain_to`; notes go to stderr unless
 * quiet. */
enum vf_status vf_run_file(const struct vf_chain *chain, const struct vf_options *options,
                           struct vf_session *session, const char *in, const char *out, FILE *explain_to,
                           struct vf_error *error);

/* ---- the same in steps, for several files at once ---- */

/* A file on its way. It is opened, read, computed, written and closed, in this order. Its reading and writing
 * may be done by other threads than its computing, while other files are at any of their steps. */
struct vf_work;
struct vf_progress_line;

/* Opens the input, plans, checks memory and disk, explains, opens the output. `in`, `out`, chain, options and
 * session are borrowed until the work is closed. *work is NULL after a failure. With dry_run only closing
 * follows. */
enum vf_status vf_work_open(struct vf_work **work, const struct vf_chain *chain,
                            const struct vf_options *options, struct vf_session *session, const char *in,
                            const char *out, FILE *explain_to, struct vf_error *error);

/* A file that goes slab by slab is read, computed and written by vf_work_compute: then vf_work_read does
 * nothing, and vf_work_write only gives the result its name. */
enum vf_status vf_work_read(struct vf_work *work, struct vf_error *error);
enum vf_status vf_work_compute(struct vf_work *work, struct vf_error *error);
enum vf_status vf_work_write(struct vf_work *work, struct vf_error *error);

/* vf_work_write is to call `whole` with the state of the result's file when it is complete, before it has its
 * name, which a failure keeps it from. */
typedef enum vf_status vf_work_whole(void *context, const struct stat *file, struct vf_error *error);
void vf_work_tell_whole(struct vf_work *work, vf_work_whole *whole, void *context);

/* Of a file that is done, tells what the options ask for: timings as JSON to `to`, or in words to stderr. */
void vf_work_tell(struct vf_work *work, FILE *to);
void vf_work_close(struct vf_work *work); /* NULL is allowed; without a write it leaves nothing behind */

/* The notes about the file so far, parted by "; "; NULL: none. Valid until the work is closed. */
const char *vf_work_notes(const struct vf_work *work);

/* The most bytes of memory that the file takes, and that all files together may take. */
size_t vf_work_memory(const struct vf_work *work);
size_t vf_work_limit(const struct vf_work *work);

/* Whether the file that was opened had this size and time of change then. */
bool vf_work_reads(const struct vf_work *work, const struct stat *file);

/* Bytes that the result adds to what is on the disk, or 0 if it is compressed: then they are not known. */
double vf_work_disk_bytes(const struct vf_work *work);

/* How many files like this one are best read, and written, at once: one if all threads work on it, else more.
 */
int vf_work_readers(const struct vf_work *work);
int vf_work_writers(const struct vf_work *work);

/* Counts the file's progress on a line for several files, of which it is `bytes`. */
void vf_work_show(struct vf_work *work, struct vf_progress_line *files, size_t bytes);

struct vf_work_times {
    double read, compute, write; /* seconds */
};
struct vf_work_times vf_work_times(const struct vf_work *work);

#endif
