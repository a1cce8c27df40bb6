/* Inside run only: one file on its way through, and planning it. */
#ifndef VF_WORK_H
#define VF_WORK_H

#include <stdatomic.h>

#include "explain.h"
#include "plan.h"
#include "progress.h"
#include "run.h"
#include "stream_plan.h"

/* One file on its way through. */
struct vf_work {
    const struct vf_options *options;
    struct vf_session *session;
    struct vf_cuda *cuda;           /* the session's, where the plan is for it */
    const char *in_path, *out_path; /* as they were given: "-" may be one */
    const char *in_name, *out_name; /* as messages have them */
    struct vf_reader *reader;
    struct vf_writer *writer;
    const struct vf_info *input;
    struct vf_info result;
    enum vf_format format;
    struct vf_plan plan;
    const char *label[VF_MAX_LIVE]; /* of each output; NULL for none */
    char *chain;                    /* owned: what was given of it */
    size_t channels;                /* filtered: all but alpha */
    size_t memory, memory_limit;
    int png_threads;              /* that compress a PNG */
    double file_bytes;            /* of the result, as far as it is known before */
    struct vf_stream_plan stream; /* it has passes where slabs go through memory */
    bool overlapped;              /* they do for speed: the whole would fit */
    double least_bytes;           /* what one slab takes, where not even that fits; else 0 */
    struct vf_volume in, out;
    double *value;     /* owned: the global values, [channel][vf_plan_value_count] */
    size_t base_bytes; /* of memory: what the process holds beside it */
    void (*whole)(void *context, const struct stat *file); /* NULL: nobody is told */
    void *whole_context;
    struct vf_progress_line *files; /* of several: where the file's bytes are counted; NULL: nowhere */
    size_t shown_bytes;
    atomic_size_t counted_bytes;
    double begun; /* by the clock */
    double read_seconds, compute_seconds, write_seconds, elapsed_seconds;
    double cuda_seconds[3]; /* uploads, kernels, downloads */
    int cuda_replaced;      /* launches of other kernels than the plan's */
    int cuda_unkept;        /* kernels that the next run compiles again */
};

/* Plans what is computed once the reader is open: the result, the runs, where, and in slabs or not. */
enum vf_status vf_work_plan(struct vf_work *work, const struct vf_chain *chain, struct vf_error *error);

/* Too little memory for one slab, too little disk for the result. */
enum vf_status vf_work_check(const struct vf_work *work, struct vf_error *error);

struct vf_stream_ends vf_work_ends(const struct vf_work *work);

void vf_work_explain(const struct vf_work *work, FILE *to);

/* One warning of what a file has that is not read, and what its result cannot keep. */
void vf_work_warn(const struct vf_work *work);

/* Passes `status` on; where it is a failure, `name` comes before its message. */
enum vf_status vf_work_named(enum vf_status status, const char *name, struct vf_error *error);

/* A note about a file on stderr, unless options->quiet. */
void vf_work_say(const struct vf_options *options, const char *name, const char *note);

/* How to do without the GPU that the options ask for. */
const char *vf_work_without_gpu(const struct vf_options *options);

#endif
