/* How a plan goes through a volume that is larger than memory: in passes over a file, each of one or more
 * runs that feed each other through windows of planes, a slab at a time. */
#ifndef VF_STREAM_PLAN_H
#define VF_STREAM_PLAN_H

#include "io.h"
#include "plan.h"

/* One pass. Its source is the image or what was stored last; what comes out of its last run is stored in the
 * result or in a temporary file, or only reduced: then the next pass begins with the same runs again. */
struct vf_pass {
    int run_begin, run_end;  /* of plan->run, without the pre-passes among them */
    int runs;                /* how many those are; 0: the source itself is reduced */
    int prepass;             /* the run that takes global values from what comes out; -1: none */
    bool from_file, to_file; /* the image, the result; else a temporary file */
    bool stores;             /* what comes out */
    ptrdiff_t slab;          /* planes at a time */
    double bytes;            /* of memory: planes and work */
    double read_bytes, written_bytes;
    double seconds; /* predicted */
};

/* Of one run. */
struct vf_stream_run {
    ptrdiff_t reach; /* planes each side of a slab */
    struct vf_tiling tiling;
    double work, seconds; /* bytes; predicted for all slabs of a channel */
};

struct vf_stream_plan {
    int pass_count;            /* 0: there is no plan, too little memory */
    struct vf_pass *pass;      /* owned */
    struct vf_stream_run *run; /* owned: [plan->run_count] */
    double bytes;              /* of memory: the largest pass */
    double temporary_bytes;    /* of disk, at most at once */
    double read_bytes, written_bytes;
    double seconds;      /* predicted */
    double needed_bytes; /* without a plan: the least memory that one would take */
};

/* What goes in and comes out. */
struct vf_stream_ends {
    const struct vf_info *input, *result;
    size_t channels; /* of the input's, filtered */
    size_t read_block,
        write_block; /* rows that are in one strip or tile; 0: not known, nothing goes by rows */
};

struct vf_stream_request {
    struct vf_plan_request plan; /* what the plan was made for; its most_fused is tried in turn */
    struct vf_stream_ends ends;
    double bytes; /* of memory */
    bool cached;  /* there is memory for the whole files too: the system keeps them there */
};

/* Chooses what is predicted to be fastest, and rather fewer passes where that is nearly as fast; no passes
 * where the memory is too little. `plan`, for the CPU, may be replaced by one with shorter runs, and gets the
 * slabs' tiles. */
enum vf_status vf_stream_plan_open(struct vf_stream_plan *stream, struct vf_plan *plan,
                                   const struct vf_stream_request *request, struct vf_error *error);
void vf_stream_plan_close(struct vf_stream_plan *stream);

/* ---- what passes are made of ---- */

/* Planes of an image, and images that come one after another: 2D images are planes of one. Where a plan goes
 * by rows they take the planes' place, here and in all that is said of planes. */
ptrdiff_t vf_stream_extent(const struct vf_plan *plan);
ptrdiff_t vf_stream_images(const struct vf_plan *plan);
size_t vf_stream_plane(const struct vf_plan *plan); /* voxels of one */

/* Voxels that all passes compute: a pass's runs and its pre-pass each count them. */
size_t vf_stream_voxels(const struct vf_stream_plan *stream, const struct vf_plan *plan, size_t channels);

/* Slabs of a run that are on their way at once: on a GPU one is filtered while others are moved. */
int vf_stream_depth(const struct vf_plan *plan, const struct vf_pass *pass);

/* What `bytes` of files are taken to need, read and written; of memory that is new. */
double vf_stream_file_seconds(double bytes, bool cached);
double vf_stream_memory_seconds(double bytes);

/* The run number `index` of a pass. */
int vf_stream_run_of(const struct vf_plan *plan, const struct vf_pass *pass, int index);

/* Window `index` of a pass: 0 is its source, the last one, number `runs`, is what comes out. Under `wrap`
 * planes beyond the grid pass through too, as far as later runs reach: they are those at its other end, read
 * or computed again. */
struct vf_window_shape {
    int count; /* fields, of all channels */
    enum vf_type type;
    ptrdiff_t capacity, low, high; /* planes that there is room for; that pass through */
    double bytes;
};
struct vf_window_shape vf_stream_window(const struct vf_stream_plan *stream, const struct vf_plan *plan,
                                        const struct vf_stream_ends *ends, const struct vf_pass *pass,
                                        int index);

#endif
