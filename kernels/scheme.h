/* A scheme sweeps a run, that is consecutive stages, over the grid. Here: runs in host memory, what a scheme
 * of the CPU is given, and what it must offer; gpu_scheme.h has the GPU's.
 *
 * To add a scheme: one file (or stem) in kernels/ that fills a `const struct vf_scheme`, and its name below
 * and in cpu_schemes.c. Every scheme gives the bits of cpu_reference. */
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

/* Stages in order, with the fields between them. A field is what one stage gives at every voxel; sources come
 * from memory, sinks go there. Every stage's inputs are sources or outputs of earlier stages. */
struct vf_flow {
    int dim;        /* 2: one plane, stages have no z terms */
    bool is_double; /* the compute type */
    enum vf_boundary boundary;
    double constant; /* outside value of image fields under VF_CONSTANT */
    int field_count;
    enum vf_field_kind *field_kind; /* [field_count] */
    int stage_count;
    struct vf_stage *stage; /* params resolved, once the values that `global` numbers are known */
    int source_count, sink_count;
    int *source, *sink; /* field numbers */
};

/* The compute type. */
static inline enum vf_type vf_flow_type(const struct vf_flow *flow)
{
    return flow->is_double ? VF_F64 : VF_F32;
}

static inline bool vf_flow_is_source(const struct vf_flow *flow, int field)
{
    for (int k = 0; k < flow->source_count; k++)
        if (flow->source[k] == field)
            return true;
    return false;
}

/* How far (z, y, x) stages [begin, end) need each field, from the last to the first: what a consumer reaches
 * beyond its own reach. reach[field_count] holds what is known before, 0 for a field that is only wanted
 * itself. */
void vf_stages_reach(const struct vf_flow *flow, int begin, int end, int (*reach)[3]);

/* A field in memory. Planes are ny rows of nx elements without padding; plane[b * nz + z] for image b of the
 * batch, NULL outside the z range that is held, or NULL itself where the field is on a GPU. */
struct vf_array {
    enum vf_type type;
    void *const *plane;
    unsigned long long device; /* its address on the GPU, where it stays between runs; 0: in host memory */
};

/* What becomes of a sink: stored in an array, reduced to numbers, or both. */
struct vf_sink {
    const struct vf_array *array; /* NULL: not stored */
    struct vf_reducer *reducer;   /* [reducer_count] */
    int reducer_count;
};

/* How row-stream cuts the grid: every value >= 1. */
struct vf_tile {
    ptrdiff_t x, y;  /* cells; 2D: y is 1, its rows are streamed */
    ptrdiff_t chunk; /* planes (2D: rows) that one tile streams before another thread may take over */
};

/* And the stages: all in one sweep, or those before `cut` in one of their own, `block` planes at a time. */
struct vf_tiling {
    struct vf_tile tile;  /* of the only or the last sweep */
    int cut;              /* 0: none */
    ptrdiff_t block;      /* 1 or more where there is one */
    struct vf_tile first; /* of the first sweep then */
};

struct vf_job {
    const struct vf_flow *flow;
    ptrdiff_t nx, ny, nz;          /* of the whole grid: boundaries are its own */
    ptrdiff_t batch;               /* independent grids of that shape */
    ptrdiff_t z_begin, z_end;      /* the slab of the sinks to compute; sources hold what it reaches */
    bool by_rows;                  /* 2D, one image, row-stream only: slabs are of rows, plane[y] is row y */
    const struct vf_array *source; /* [source_count] */
    enum vf_type source_type, sink_type; /* for plan and bytes, without arrays: what all are stored as */
    int in_place; /* so many sources, the first ones, may be read where they are: of the compute type, with
                     VF_ROW_READ_BEYOND bytes after each plane that are the process's own */
    const struct vf_sink *sink; /* [sink_count] */
    struct vf_tiling tiling;
    int threads;
    struct vf_team *team; /* whose threads a run takes; NULL: its own */
    size_t work_limit;    /* bytes that plan should stay below, whatever is lost in speed; 0: none */
    double times;         /* such jobs that share a room, for plan: its pages are new to the first of them */
    struct vf_room *room; /* for a run's working memory, which is left there for the next; NULL: its own */
    void (*progress)(void *context, size_t cells); /* called from any thread; may be NULL */
    void *progress_context;
    const volatile int *stop; /* non-zero: give up with VF_INTERRUPTED; may be NULL */
    /* On a GPU: gets the only source's address there, for the caller to free, if all of it was uploaded at
     * once; NULL: not wanted. */
    unsigned long long *uploaded;
};

/* What a scheme that streams goes along: the planes of the slab, in 2D its rows. */
static inline ptrdiff_t vf_job_begin(const struct vf_job *job)
{
    return job->flow->dim == 3 || job->by_rows ? job->z_begin : 0;
}

static inline ptrdiff_t vf_job_end(const struct vf_job *job)
{
    return job->flow->dim == 3 || job->by_rows ? job->z_end : job->ny;
}

/* Cells of the slab. */
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
    const char *name;
    const char *summary;
    /* NULL, or why it cannot take the flow. */
    const char *(*refuses)(const struct vf_flow *flow);
    /* Fills job->tiling with its best choice, one tile of the whole grid where it does not tile, and returns
     * the predicted time in seconds. */
    double (*plan)(struct vf_job *job);
    /* Working memory of a run in bytes, all threads together, beside sources and sinks. */
    size_t (*bytes)(const struct vf_job *job);
    /* What it computes a planned job in; NULL: the flow's type. */
    enum vf_type (*cell)(const struct vf_job *job);
    enum vf_status (*run)(const struct vf_job *job, struct vf_error *error);
};

extern const struct vf_scheme vf_cpu_reference;
extern const struct vf_scheme vf_cpu_row_stream;

/* Those of the CPU, NULL-terminated, the default one first. */
extern const struct vf_scheme *const vf_cpu_schemes[];
#define VF_CPU_SCHEME_NAMES "row-stream and reference"

/* The one with the name's first `length` bytes; NULL when there is none. */
const struct vf_scheme *vf_cpu_scheme(const char *name, size_t length);

#endif
