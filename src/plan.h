/* From a chain to runs: which stages are swept together, by which scheme, in which tiles.
 *
 * A chain is a list of links (filters), each expanded into an iteration that is repeated. A *run* is a
 * stretch of consecutive iterations that one sweep computes; only what lives between runs is held as whole
 * volumes. A link that needs global values starts a new *segment*: its input is whole before the pre-pass
 * over it. Where it needs some before each iteration each one does. */
#ifndef VF_PLAN_H
#define VF_PLAN_H

#include <stddef.h>

#include "chain.h"
#include "error.h"
#include "filters/filter.h"
#include "gpu_plan.h"
#include "kernels/scheme.h"

/* Fields that live between two links, a channel: each filter is applied to every one. */
#define VF_MAX_LIVE 64

/* `count` iterations of one link. */
struct vf_piece {
    int link, count;
};

/* Linear stages that follow each other over several fields may be taken apart: one field goes through all of
 * them, then the next, so that one kernel can take a field's. The first or the last of the stages may stay as
 * it is, over all fields: then one kernel can take it together with what comes before, or after. */
enum vf_split { VF_SPLIT_NONE, VF_SPLIT_BUT_FIRST, VF_SPLIT_BUT_LAST, VF_SPLIT_ALL, VF_SPLIT_COUNT };

struct vf_run {
    int piece_begin, piece_end; /* of plan->piece */
    bool prepass;               /* before an iteration of piece_begin's link: its globals, */
    bool each;                  /* those of each iteration; else those of the first */
    bool from_file;             /* its sources are the image; else volumes between runs */
    bool to_file;               /* its sinks are the result; else volumes between runs */
    bool in_result;             /* where the whole is held: its sinks need no volumes beside the result's */
    int repeats; /* like the run before, 1, or, with a pre-pass between, the one before that, 2,
                  * as iterations are: the same tiles, kernels and cost; 0: like none */
    struct vf_tiling tiling;
    enum vf_split split;    /* of the flow; GPU only */
    struct vf_gpu_plan gpu; /* the kernels, where the plan is for a GPU; owned, unless it repeats */
    enum vf_type cell;      /* what it is computed in: vf_plan_type, or the image's integers */
    double seconds;         /* predicted */
    size_t work_bytes;      /* of the scheme */
    int stage_count;        /* swept together */
    int inputs, outputs;    /* fields */
};

/* "tile=XxYxCHUNK[:cut=STAGE/PLANES]": of every sweep, and runs with such a stage are cut before it. */
struct vf_given_tiling {
    struct vf_tile tile;
    char cut[8]; /* "": none */
    ptrdiff_t block;
};

struct vf_plan {
    const struct vf_chain *chain; /* borrowed */
    struct vf_context context;
    double constant;
    const struct vf_scheme *scheme; /* on the CPU, also where it takes over from the GPU */
    const struct vf_gpu *gpu;       /* borrowed; NULL: the CPU runs it */
    struct vf_forced_list forced;   /* for the GPU */
    enum vf_type source_type, result_type;
    ptrdiff_t nx, ny, nz, batch; /* one image's grid; images that share a channel's global values */
    bool by_rows;                /* 2D, one image, on the CPU: slabs are of its rows */
    int threads;
    int most_fused;               /* iterations of a run at most */
    struct vf_given_tiling given; /* what the user says of the runs' tiles; its tile.x is 0 for nothing */
    struct vf_expansion *link;    /* [chain->count], owned */
    int piece_count, run_count;
    struct vf_piece *piece;       /* owned */
    struct vf_run *run;           /* owned */
    int output_count;             /* fields that come out for each channel */
    size_t between_bytes;         /* volumes held between runs, at most at once */
    size_t work_bytes;            /* the largest run's */
    bool resident;                /* what lives between runs stays on the GPU */
    long weighed;                 /* runs that were compared to make it */
    struct vf_gpu_groups *groups; /* while its runs are made, for a GPU: what their kernels are chosen from */
};

/* What a plan is made for; the strings of `context` are copied. `scheme` is NULL, or for the CPU
 * "NAME[:tile=XxYxCHUNK[:cut=STAGE/PLANES]]", for a GPU what vf_forced_read takes. */
struct vf_plan_request {
    const struct vf_chain *chain;
    struct vf_context context;
    double constant;
    ptrdiff_t nx, ny, nz, batch;
    int threads;
    const struct vf_gpu *gpu;              /* plan for it; NULL: for the CPU */
    enum vf_type source_type, result_type; /* as stored: what traffic and row-stream's cells depend on */
    const char *scheme;
    int most_fused; /* iterations of a run at most, on the CPU; 0: as many as the search takes */
    struct vf_plan_memory *memory; /* plans made before, of which it may be one, and joins them; NULL: none */
};

enum vf_status vf_plan_open(struct vf_plan *plan, const struct vf_plan_request *request,
                            struct vf_error *error);
void vf_plan_close(struct vf_plan *plan);

/* Number of fields that enter link i (and are filtered one by one). */
int vf_plan_live(const struct vf_plan *plan, int link);

/* Whether field f that enters link i is still the same quantity as the image, or derived from it. */
enum vf_field_kind vf_plan_kind(const struct vf_plan *plan, int link, int f);

/* A label for output k, from the last link that names its outputs: "xx", "mu1"; NULL for none. */
const char *vf_plan_label(const struct vf_plan *plan, int k);

/* What fields between runs are of. */
enum vf_type vf_plan_type(const struct vf_plan *plan);

/* What a run's sources and sinks are stored as. */
enum vf_type vf_plan_source_type(const struct vf_plan *plan, const struct vf_run *run);
enum vf_type vf_plan_sink_type(const struct vf_plan *plan, const struct vf_run *run);

/* Planes on each side of a slab that the run needs of its sources, 0 in 2D. */
enum vf_status vf_plan_reach(const struct vf_plan *plan, const struct vf_run *run, ptrdiff_t *reach,
                             struct vf_error *error);

/* The flow of a run. `value` holds the global values bound so far, [link][live field][global] by
 * vf_plan_value_index; NULL while planning. Owned by the caller. */
enum vf_status vf_plan_flow(const struct vf_plan *plan, const struct vf_run *run, const double *value,
                            struct vf_flow *flow, struct vf_error *error);
void vf_flow_close(struct vf_flow *flow);

/* How many of a link's pre-pass stages make what its globals of each iteration, or else those of the first,
 * are taken from. */
int vf_prepass_stages(const struct vf_expansion *e, bool each);

/* What the kernels of a run are planned from; `flow` is the run's, and is borrowed, like `types`. */
struct vf_gpu_types {
    enum vf_type source[VF_MAX_LIVE], sink[VF_MAX_LIVE * VF_MAX_GLOBALS];
};
void vf_plan_gpu_request(const struct vf_plan *plan, const struct vf_run *run, const struct vf_flow *flow,
                         struct vf_gpu_types *types, struct vf_gpu_request *request);

size_t vf_plan_value_count(const struct vf_plan *plan);
size_t vf_plan_value_index(const struct vf_plan *plan, int link, int field, int global);

#endif
