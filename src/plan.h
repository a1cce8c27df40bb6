/* From a chain to runs: which stages are swept together, by which scheme, in which tiles.
 *
 * A chain is a list of *links* (filters), each expanded into the stages of one iteration, which is repeated.
 * A *run* is a stretch of consecutive iterations, of one link or several, that one sweep computes; only
 * fields between runs are held as whole volumes. A run also ends before a link that needs global values: they
 * are taken in a *pre-pass*, a run of its own, over the whole input of that link. If the link needs them anew
 * before each iteration, each iteration is a run with a pre-pass before it. */
#ifndef VF_PLAN_H
#define VF_PLAN_H

#include <stddef.h>

#include "chain.h"
#include "error.h"
#include "filters/filter.h"
#include "gpu_plan.h"
#include "kernels/scheme.h"

/* The most fields between two links, for each channel: what one filter puts out, the next is applied to,
 * field by field. Such fields are called live. */
#define VF_MAX_LIVE 64

/* `count` iterations of one link. */
struct vf_piece {
    int link, count;
};

/* How linear stages that follow each other, each over several fields, are put in order: stage by stage, or
 * split by field, so that one field goes through all of the stages, then the next one does, and a kernel can
 * take a field's stages together. The first or the last stage may be left out of this, over all fields: then
 * a kernel can take it together with what comes before, or after. */
enum vf_split { VF_SPLIT_NONE, VF_SPLIT_BUT_FIRST, VF_SPLIT_BUT_LAST, VF_SPLIT_ALL, VF_SPLIT_COUNT };

struct vf_run {
    int piece_begin, piece_end; /* of plan->piece */
    bool prepass;               /* it takes the global values that the link of piece_begin needs */
    bool each;                  /* of a pre-pass: the values of each iteration; else those of the first one */
    int sweeps_before;          /* runs before it that are no pre-passes */
    bool to_file;               /* its sinks are the result; else volumes between runs */
    enum vf_type source_type;   /* as which its sources are stored; of volumes between runs vf_plan_type, */
    enum vf_type sink_type;     /* or the image's, if all before them keep its integers as they are */
    bool in_result; /* if the whole is held in memory: its sinks are stored in the result's volume */
    /* Iterations are alike: 1 if this run is like the one before, 2 if like the one before that (then one of
     * the two is a pre-pass). Tiles, kernels and cost are that one's. 0: it is like neither. */
    int repeats;
    struct vf_tiling tiling;
    enum vf_split split;    /* of the flow; GPU only */
    struct vf_gpu_plan gpu; /* GPU only: the kernels; owned, unless the run repeats another */
    enum vf_type cell;      /* what it is computed in: vf_plan_type, or the image's integers */
    double seconds;         /* predicted */
    size_t work_bytes;      /* of the scheme's working memory, and of a pre-pass's counters */
    int stage_count;        /* of the flow */
    int inputs, outputs;    /* sources and sinks of the flow */
};

/* What the user says of tiles, "tile=XxYxCHUNK[:cut=STAGE/PLANES]": every sweep has that tile, and a run that
 * has the stage is cut before it (vf_tiling). */
struct vf_given_tiling {
    struct vf_tile tile; /* tile.x is 0 if nothing is given */
    char cut[8];         /* the stage's name; "": none */
    ptrdiff_t block;     /* PLANES */
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
    int most_fused; /* iterations of a run at most */
    struct vf_given_tiling given;
    struct vf_expansion *link; /* [chain->count], owned */
    int piece_count, run_count;
    struct vf_piece *piece;       /* owned */
    struct vf_run *run;           /* owned */
    int output_count;             /* fields that come out for each channel */
    size_t between_bytes;         /* volumes held between runs, at most at once */
    size_t work_bytes;            /* the largest run's */
    bool resident;                /* what lives between runs stays on the GPU, */
    size_t fallback_bytes;        /* else in so much memory */
    bool has_room;                /* the GPU, if there is one, has memory for a slab of each run */
    long weighed;                 /* how many runs were compared to make it; for tests */
    struct vf_gpu_groups *groups; /* GPU only, while runs are made: the kernels they are chosen from */
};

/* What a plan is made for; the strings of `context` are copied. `scheme` is NULL, or for the CPU
 * "reference" or "row-stream[:tile=XxYxCHUNK[:cut=STAGE/PLANES]]", for a GPU what vf_forced_read takes. */
struct vf_plan_request {
    const struct vf_chain *chain;
    struct vf_context context;
    double constant;
    ptrdiff_t nx, ny, nz, batch;
    int threads;
    const struct vf_gpu *gpu;              /* plan for it; NULL: for the CPU */
    enum vf_type source_type, result_type; /* as stored: what traffic and row-stream's cells depend on */
    const char *scheme;
    int most_fused;                /* iterations of a run at most; 0: as many as the search takes */
    struct vf_plan_memory *memory; /* plans made before: one for an equal request is copied, a new one is
                                      added; NULL: none */
};

/* The plan with the least predicted time; for a GPU with runs that are short enough for its memory to hold at
 * least as many planes as each reaches to, where any are. The chain, the GPU and request->memory must outlive
 * it. A usage error for a scheme, a parameter or a number of fields that does not do. On failure nothing is
 * held. */
enum vf_status vf_plan_open(struct vf_plan *plan, const struct vf_plan_request *request,
                            struct vf_error *error);
void vf_plan_close(struct vf_plan *plan);

/* A usage error for what cannot be a request's scheme, whatever it is planned for. */
enum vf_status vf_plan_check_scheme(const char *text, bool on_gpu, struct vf_error *error);

/* Iterations of the longest run, of all its links. */
int vf_plan_longest_run(const struct vf_plan *plan);

/* The number of live fields that enter link i; for i = chain->count, of the result's. */
int vf_plan_live(const struct vf_plan *plan, int link);

/* Whether field f that enters link i is still the same quantity as the image, or derived from it. */
enum vf_field_kind vf_plan_kind(const struct vf_plan *plan, int link, int f);

/* A label for field f that enters link i (vf_plan_live), from the last link that names its outputs: "xx",
 * "mu1"; NULL for none. */
const char *vf_plan_label(const struct vf_plan *plan, int link, int f);

/* Voxels of a channel, of all images. */
size_t vf_plan_voxels(const struct vf_plan *plan);

/* The compute type. */
enum vf_type vf_plan_type(const struct vf_plan *plan);

/* How many planes (rows if the plan goes by_rows) on each side of a slab the run needs of its sources, whose
 * tiling on the CPU has such a cut; 0 in 2D. */
enum vf_status vf_plan_reach(const struct vf_plan *plan, const struct vf_run *run, int cut, ptrdiff_t *reach,
                             struct vf_error *error);

/* The flow of a run, owned by the caller. `value` holds the global values that are known so far,
 * vf_plan_value_count of them, [link][live field][global] (vf_plan_value_index); NULL while planning. */
enum vf_status vf_plan_flow(const struct vf_plan *plan, const struct vf_run *run, const double *value,
                            struct vf_flow *flow, struct vf_error *error);
void vf_flow_close(struct vf_flow *flow);

/* Runs a job of the plan by its scheme for the CPU. A plan for the GPU has no tiles: the job gets them now,
 * such that its working memory keeps to `spare_bytes` as far as any tiles do. */
enum vf_status vf_plan_run_on_cpu(const struct vf_plan *plan, struct vf_job *job, size_t spare_bytes,
                                  struct vf_error *error);

/* How many stages, the first ones, of an expansion's pre-pass are needed for its globals of each iteration;
 * or, if not `each`, for those of the first one. */
int vf_prepass_stages(const struct vf_expansion *e, bool each);

/* What the kernels of a run are planned from; `flow` is the run's, and is borrowed, like `types`. */
struct vf_gpu_types {
    enum vf_type source[VF_MAX_LIVE], sink[VF_MAX_LIVE * VF_MAX_GLOBALS];
};
void vf_plan_gpu_request(const struct vf_plan *plan, const struct vf_run *run, const struct vf_flow *flow,
                         struct vf_gpu_types *types, struct vf_gpu_request *request);

/* The global values of all links, and where one of a link's is among them; `field` counts what the link is
 * applied to (vf_plan_live). */
size_t vf_plan_value_count(const struct vf_plan *plan);
size_t vf_plan_value_index(const struct vf_plan *plan, int link, int field, int global);

/* Counters of a pre-pass, all threads' of one channel, in bytes: as if each were a percentile's, the largest.
 */
size_t vf_plan_counter_bytes(const struct vf_plan *plan, const struct vf_run *run);

#endif
