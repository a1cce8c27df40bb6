/* One file on its way from input to result: what is known of it, and its planning. For run.c and the files
 * that it is split into; others use run.h. */
#ifndef VF_WORK_H
#define VF_WORK_H

#include <stdatomic.h>

#include "explain.h"
#include "plan.h"
#include "progress.h"
#include "run.h"
#include "stream_plan.h"

struct vf_work {
    const struct vf_options *options;
    struct vf_session *session;
    struct vf_cuda *cuda;           /* the session's, if the plan computes on it; else NULL */
    const char *in_path, *out_path; /* as given; "-" is standard input, output */
    const char *in_name, *out_name; /* for messages */
    struct vf_reader *reader;
    struct vf_writer *writer;
    const struct vf_info *input;
    struct vf_info result;
    enum vf_format format;
    struct vf_plan plan;
    const char *label[VF_MAX_LIVE]; /* of each output; NULL: it has none */
    char *chain;                    /* owned: the chain's text, as the user gave it */
    size_t channels;                /* how many are filtered: all but alpha, or, where they are apart, 1 */
    /* In slabs every channel is an image, as of these, which are the input and the result but for that. */
    bool channels_apart;
    struct vf_info images_in, images_out;
    /* Bytes that the process is predicted to hold at most, and may hold. */
    size_t memory, memory_limit;
    int png_threads;              /* how many compress a PNG */
    double file_bytes;            /* of the result; 0: not known, since it is compressed */
    struct vf_stream_plan stream; /* if it has passes, the file goes through memory in slabs */
    bool overlapped;              /* in slabs for speed, though the whole would fit into memory */
    double least_bytes;           /* if not even one slab fits: the memory that it takes; else 0 */
    struct vf_volume in, out;
    double *value;        /* owned: the global values, [channel][vf_plan_value_count] */
    size_t base_bytes;    /* the part of `memory` that the process holds for other things than this file */
    bool replaces_input;  /* the result takes the place of the image */
    vf_work_whole *whole; /* see vf_work_tell_whole; may be NULL */
    void *whole_context;
    struct vf_progress_line *files; /* the line of several files that counts this one's bytes; may be NULL */
    size_t shown_bytes;             /* how many it is to count for this file */
    atomic_size_t counted_bytes;    /* and has counted so far */
    double begun;                   /* when, by vf_now */
    double read_seconds, compute_seconds, write_seconds, elapsed_seconds;
    double cuda_seconds[3];       /* uploads, kernels, downloads */
    int cuda_replaced;            /* launches of other kernels than the plan's, which did not compile well */
    int cuda_unkept;              /* kernels that the cache did not take: the next run compiles them again */
    bool cuda_failed;             /* the CPU took over */
    char notes[4 * VF_NOTE_TEXT]; /* what was said of the file, also where nobody heard it */
};

/* Once the reader is open: plans the result, the runs of stages, CPU or GPU, and whether in slabs. */
enum vf_status vf_work_plan(struct vf_work *work, const struct vf_chain *chain, struct vf_error *error);

/* Fails if there is too little memory for one slab, or too little disk for the result. */
enum vf_status vf_work_check(const struct vf_work *work, struct vf_error *error);

/* Of the result's file. */
enum vf_compression vf_work_compression(const struct vf_work *work);

/* The file's two ends, as going through it in slabs needs them. */
struct vf_stream_ends vf_work_ends(const struct vf_work *work);

/* Prints the plan: --explain. */
void vf_work_explain(const struct vf_work *work, FILE *to);

/* Says on stderr what filters of the chain do nothing and, in one note, what of the file is not read and what
 * the result cannot keep. */
void vf_work_warn(struct vf_work *work);

/* A note about the file, whose input or output is called `name`: on stderr, unless options->quiet, and for
 * vf_work_notes. */
void vf_work_say(struct vf_work *work, const char *name, const char *note);

/* The same, but unless options->verbose on stderr of several files the first one stands for those of which it
 * is also true. */
void vf_work_say_once(struct vf_work *work, const char *name, const char *note);

/* How to do without the GPU that the options ask for. */
const char *vf_work_without_gpu(const struct vf_options *options);

#endif
