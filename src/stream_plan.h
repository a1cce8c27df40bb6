/* How a plan goes through a file that is larger than memory: in passes over it, a slab of planes at a time. A
 * pass has one or more runs; what one run makes the next one reads from a window, which holds some planes. */
#ifndef VF_STREAM_PLAN_H
#define VF_STREAM_PLAN_H

#include "io.h"
#include "plan.h"

/* One pass. Its source is the image, or what an earlier pass has stored. What comes out of its last run is
 * stored, in the result or a temporary file, or only reduced to global values: then the next pass begins with
 * the same runs again. */
struct vf_pass {
    int run_begin, run_end;  /* of plan->run, without the pre-passes among them */
    int runs;                /* how many those are; 0: the source itself is reduced */
    int prepass;             /* the run that takes global values from what comes out; -1: none */
    bool from_file, to_file; /* its source is the image, its result the result; else a temporary file */
    bool stores;             /* what comes out is stored */
    ptrdiff_t slab;          /* planes at a time */
    double bytes;            /* of memory: windows and working memory */
    double read_bytes, written_bytes;
    double seconds; /* predicted */
};

/* One run, for the slabs of its pass. */
struct vf_stream_run {
    ptrdiff_t reach; /* planes that it needs on each side of a slab */
    struct vf_tiling tiling;
    double work;    /* bytes of working memory */
    double seconds; /* predicted, for all slabs of a channel */
};

struct vf_stream_plan {
    int pass_count;            /* 0: the memory is too little for any plan */
    struct vf_pass *pass;      /* owned */
    struct vf_stream_run *run; /* owned: [plan->run_count] */
    double bytes;              /* of memory: the largest pass */
    double temporary_bytes;    /* the most of disk at once */
    double read_bytes, written_bytes;
    double seconds;      /* predicted */
    double needed_bytes; /* without a plan: the least memory that one would take */
};

/* The files at both ends. */
struct vf_stream_ends {
    const struct vf_info *input, *result;
    size_t channels;                /* of the input that are filtered */
    size_t read_block, write_block; /* rows of a strip or tile of either; 0: it does not go by rows */
};

struct vf_stream_request {
    struct vf_plan_request plan; /* what the plan was made for; other values of most_fused are tried */
    struct vf_stream_ends ends;
    double bytes; /* of memory that it may take */
    bool cached;  /* the system has memory to keep the whole files in too */
};

/* Chooses the passes that are predicted to be fastest, or fewer if these are nearly as fast; none if the
 * memory is too little. A plan for the CPU may be replaced by one with shorter runs, and gets the tiles for
 * slabs. */
enum vf_status vf_stream_plan_open(struct vf_stream_plan *stream, struct vf_plan *plan,
                                   const struct vf_stream_request *request, struct vf_error *error);
void vf_stream_plan_close(struct vf_stream_plan *stream);

/* ---- what passes are made of (stream_pass.c) ---- */

/* How many planes an image has, how many images follow one another, and how many voxels a plane has. In 2D
 * all images count as the planes of one. If the plan goes by_rows, rows take the place of planes, here and
 * wherever planes are spoken of. */
ptrdiff_t vf_stream_extent(const struct vf_plan *plan);
ptrdiff_t vf_stream_images(const struct vf_plan *plan);
size_t vf_stream_plane(const struct vf_plan *plan);

/* Voxels that all passes compute: a pass's runs and its pre-pass each count them. */
size_t vf_stream_voxels(const struct vf_stream_plan *stream, const struct vf_plan *plan, size_t channels);

/* Slabs of a run, or of the pre-pass after it, that are on their way at once: on a GPU one is filtered while
 * others are moved. */
int vf_stream_depth(const struct vf_plan *plan, const struct vf_pass *pass);

/* Predicted seconds for reading or writing `bytes` of files; and for the first use of `bytes` of memory. */
double vf_stream_file_seconds(double bytes, bool cached);
double vf_stream_memory_seconds(double bytes);

/* The run number `index` of a pass. */
int vf_stream_run_of(const struct vf_plan *plan, const struct vf_pass *pass, int index);

/* The run that reads window `index`; -1: none. */
int vf_stream_reader_of(const struct vf_plan *plan, const struct vf_pass *pass, int index);

/* Window `index` of a pass: 0 is its source, the last one, number `runs`, is what comes out. Under `wrap`
 * planes beyond the grid pass through too, as far as later runs reach: they are those at its other end, read
 * or computed again. */
struct vf_window_shape {
    int count; /* fields, of all channels */
    enum vf_type type;
    ptrdiff_t capacity; /* planes that there is room for */
    ptrdiff_t beyond;   /* planes that pass through on either side of the grid */
    double bytes;
};
struct vf_window_shape vf_stream_window(const struct vf_stream_plan *stream, const struct vf_plan *plan,
                                        const struct vf_stream_ends *ends, const struct vf_pass *pass,
                                        int index);

/* The same, where `reach` is that of all runs from the window's reader on, together; of a window between two
 * runs that reader's own gives the same bytes. */
struct vf_window_shape vf_stream_window_of_reach(const struct vf_stream_plan *stream,
                                                 const struct vf_plan *plan,
                                                 const struct vf_stream_ends *ends,
                                                 const struct vf_pass *pass, int index, ptrdiff_t reach);

#endif
