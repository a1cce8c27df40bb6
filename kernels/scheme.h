/* A scheme sweeps a run, that is consecutive stages, over the grid. Here: how a run and its arrays are
 * described to any scheme, and what a scheme of the CPU must offer; gpu_scheme.h has the GPU's.
 *
 * To add a scheme of the CPU: a file in kernels/ that fills `const struct vf_scheme vf_cpu_NAME`, and its
 * line in cpu_schemes.def. Every scheme gives the bits of cpu_reference, whose source is the plainest to
 * start from. */
#ifndef VF_SCHEME_H
#define VF_SCHEME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "filters/filter.h"
#include "kernels/boundary.h"
#include "kernels/reduce.h"
#include "src/error.h"
#include "src/team.h"
#include "src/volume.h"

/* A run: stages in order, with the fields between them. A field is one number for every voxel: a source,
 * which is read from memory, or what a stage makes. Sinks are the fields that are written to memory, which
 * may be sources too. Every stage's inputs are sources or outputs of earlier stages. */
struct vf_flow {
    int dim;        /* 2: one plane, stages have no z terms */
    bool is_double; /* the compute type */
    enum vf_boundary boundary;
    double constant; /* outside value of image fields under VF_CONSTANT */
    int field_count;
    enum vf_field_kind *field_kind; /* [field_count] */
    int stage_count;
    struct vf_stage *stage; /* [stage_count]; param[] holds global values too, once they are known */
    int source_count, sink_count;
    int *source, *sink; /* [source_count], [sink_count]: field numbers */
};

/* The compute type: what every field is computed in, however it is stored. */
static inline enum vf_type vf_flow_type(const struct vf_flow *flow)
{
    return flow->is_double ? VF_F64 : VF_F32;
}

/* Bytes of it. */
static inline size_t vf_flow_element(const struct vf_flow *flow)
{
    return vf_type_size(vf_flow_type(flow));
}

/* What a field is outside the grid under `constant`; 0 where that is not the boundary rule. */
static inline double vf_flow_outside(const struct vf_flow *flow, int field)
{
    return flow->boundary == VF_CONSTANT && flow->field_kind[field] == VF_FIELD_IMAGE ? flow->constant : 0;
}

static inline bool vf_flow_is_source(const struct vf_flow *flow, int field)
{
    for (int k = 0; k < flow->source_count; k++)
        if (flow->source[k] == field)
            return true;
    return false;
}

/* Arithmetic of a stage at a voxel, in additions, roughly. */
static inline int vf_stage_cost(const struct vf_stage *stage)
{
    return stage->stencil == VF_STENCIL_LINEAR ? stage->taps->count * stage->input_count
                                               : vf_stage_stencil(stage)->cost;
}

/* Whether a field is one of those that the stage makes. */
static inline bool vf_stage_makes(const struct vf_stage *stage, int field)
{
    for (int k = 0; k < stage->output_count; k++)
        if (stage->output[k] == field)
            return true;
    return false;
}

/* Whether a halo is that of what is read at the voxel itself only. */
static inline bool vf_is_pointwise(const int halo[3])
{
    return halo[0] == 0 && halo[1] == 0 && halo[2] == 0;
}

/* How far beyond the wanted voxels (z, y, x) stages [begin, end) need each field: what the stage that reads
 * it needs of its own result, and its halo besides. reach[field_count] is filled; it holds before how far the
 * fields are wanted anyway, 0 for one that is wanted at the voxels only or not at all. */
void vf_stages_reach(const struct vf_flow *flow, int begin, int end, int (*reach)[3]);

/* The same for all stages, in two sweeps where `cut` is not 0: stages before it, and from it on. The first
 * sweep makes all that the second one reads as far along z as any of that is read. Returns how far that is.
 */
int vf_sweeps_reach(const struct vf_flow *flow, int cut, int (*reach)[3]);

/* A field in memory. A plane is ny rows of nx elements without padding. Plane z of image b of the batch is
 * plane[b * nz + z], NULL where it is not held; `plane` itself is NULL where the field is on a GPU. Borrowed.
 */
struct vf_array {
    enum vf_type type; /* as stored */
    void *const *plane;
    unsigned long long device; /* its address on the GPU, where it stays between runs; 0: in host memory */
};

/* What becomes of a sink: stored in an array, reduced to numbers, or both. Borrowed. */
struct vf_sink {
    const struct vf_array *array; /* NULL: not stored */
    struct vf_reducer *reducer;   /* [reducer_count] */
    int reducer_count;
};

/* How row-stream cuts the grid: every value >= 1. */
struct vf_tile {
    ptrdiff_t x, y;  /* cells of a tile; in 2D y is 1, since its rows are streamed */
    ptrdiff_t chunk; /* planes (2D: rows) that a thread streams a tile through before it takes another */
};

/* How row-stream cuts the stages: one sweep of all, or two that take turns, `block` planes at a time: one of
 * the stages before `cut`, one of the others. */
struct vf_tiling {
    struct vf_tile tile;  /* of the only sweep, or of the second */
    int cut;              /* 0: there is one sweep, and what follows does not count */
    ptrdiff_t block;      /* >= 1 */
    struct vf_tile first; /* of the first sweep */
};

/* A flow to compute, on arrays. Everything in it is borrowed. */
struct vf_job {
    const struct vf_flow *flow;
    ptrdiff_t nx, ny, nz;          /* of the whole grid, whose edges are where the boundary rule holds */
    ptrdiff_t batch;               /* independent images of that shape */
    ptrdiff_t z_begin, z_end;      /* the planes of the sinks to compute; sources hold all that they need */
    bool by_rows;                  /* row-stream, 2D, one image: z_begin, z_end and plane[] are of rows */
    const struct vf_array *source; /* [source_count] */
    /* For `plan` and `bytes`, which are asked before there are arrays: what all sources, all sinks are stored
     * as. */
    enum vf_type source_type, sink_type;
    /* So many of the sources, the first ones, row-stream may read where they are, without copies: they are of
     * the compute type, and VF_ROW_READ_BEYOND bytes after each plane may be read too. */
    int in_place;
    const struct vf_sink *sink; /* [sink_count] */
    struct vf_tiling tiling;    /* of row-stream: what `plan` chose, or the user */
    int threads;
    struct vf_team *team; /* whose threads compute; NULL: the job starts its own */
    size_t work_limit;    /* bytes of working memory that `plan` should keep to, however slow; 0: none */
    double times; /* for `plan`: how many such jobs use the room, as only the first waits for its pages */
    struct vf_room *room; /* where working memory is taken from, and left for the next job; NULL: its own */
    void (*progress)(void *context, size_t cells); /* so many more are done; from any thread; may be NULL */
    void *progress_context;
    const atomic_int *stop; /* set to other than 0: give up with VF_INTERRUPTED; may be NULL */
    /* On a GPU: if the only source was uploaded as a whole, its address there is put here, for the caller to
     * free. NULL: not wanted. */
    unsigned long long *uploaded;
};

/* What a scheme that streams goes along: the wanted planes, in 2D the wanted rows, from begin to end. */
static inline ptrdiff_t vf_job_begin(const struct vf_job *job)
{
    return job->flow->dim == 3 || job->by_rows ? job->z_begin : 0;
}

static inline ptrdiff_t vf_job_end(const struct vf_job *job)
{
    return job->flow->dim == 3 || job->by_rows ? job->z_end : job->ny;
}

/* Cells to compute, of all images. */
static inline double vf_job_cells(const struct vf_job *job)
{
    return (double)job->nx * (double)(job->flow->dim == 3 ? job->ny : 1) *
           (double)(vf_job_end(job) - vf_job_begin(job)) * (double)job->batch;
}

/* Row y of plane z of image `image`. */
static inline char *vf_job_row(const struct vf_job *job, const struct vf_array *array, ptrdiff_t image,
                               ptrdiff_t z, ptrdiff_t y)
{
    if (job->by_rows)
        return array->plane[y];
    return (char *)array->plane[image * job->nz + z] + (size_t)(y * job->nx) * vf_type_size(array->type);
}

struct vf_scheme {
    const char *name;    /* for --scheme */
    const char *summary; /* a line of `volfilter help schemes` */
    bool whole;          /* sources hold all planes of an image, whichever are computed */
    /* Fills job->tiling with the best choice, one tile of the whole grid where it does not tile, and returns
     * the predicted time in seconds; infinite where that is too large to hold or there is no memory to plan.
     */
    double (*plan)(struct vf_job *job);
    /* Working memory of a run in bytes, of all threads, without sources and sinks; SIZE_MAX where that
     * overflows, or there is no memory to tell. */
    size_t (*bytes)(const struct vf_job *job);
    /* What it computes a planned job in; NULL: the flow's type. */
    enum vf_type (*cell)(const struct vf_job *job);
    /* Fills the sinks for planes [z_begin, z_end) of every image: stores into their arrays, and gives rows to
     * their reducers (kernels/reduce.h), also where there is no array. Of a source, planes farther from these
     * than stages read may be NULL, unless the scheme is for the `whole`. Calls `progress` for all cells.
     * VF_INTERRUPTED after *job->stop; on any failure what the sinks hold is undefined. What of the job is
     * said to be row-stream's or a GPU's, others leave alone; `team` and `room` they may. */
    enum vf_status (*run)(const struct vf_job *job, struct vf_error *error);
};

#define VF_CPU_SCHEME_DEF(name) extern const struct vf_scheme vf_cpu_##name;
#include "cpu_schemes.def"
#undef VF_CPU_SCHEME_DEF

/* In the order of cpu_schemes.def, NULL-terminated. Plans take the first one unless --scheme names another.
 */
extern const struct vf_scheme *const vf_cpu_schemes[];

/* Their names in words, for messages. Returns `text`. */
const char *vf_cpu_scheme_names(char *text, size_t room);

/* The scheme that the first `length` bytes of `name` name; NULL when there is none. */
const struct vf_scheme *vf_cpu_scheme(const char *name, size_t length);

#endif
