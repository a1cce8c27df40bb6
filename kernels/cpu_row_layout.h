/* Where row-stream keeps the planes of a run. A tile is swept along the stream, the axis z in 3D and y in 2D,
 * a plane at a time (in 2D a plane is one row). Of each field a ring of the latest planes is kept, as many as
 * the stages that read it need, or of a row that is made when it is read that row. A stage runs behind the
 * sources by so many planes that all its inputs are there: that is its delay. Of sums along x and then across
 * rows what is in between may be in no ring (sums_plane). All rings of a thread lie in one block, its arena.
 */
#ifndef VF_CPU_ROW_LAYOUT_H
#define VF_CPU_ROW_LAYOUT_H

#include "kernels/cpu_row_fused.h"
#include "kernels/cpu_row_table.h"
#include "kernels/cpu_rows.h"
#include "kernels/scheme.h"
#include "src/caches.h"

struct vf_halo {
    int s, r, x; /* along the stream, across the rows of a plane, along x */
};

/* Bytes of the copies of a row's two ends (struct vf_row_ends), with room for cells beyond the grid. */
#define VF_ROW_ENDS_BYTES ((size_t)2 * (VF_ROW_END_BYTES + VF_ALIGNMENT))

/* A field's ring. */
struct vf_ring {
    struct vf_halo reach; /* of the field beyond the tile */
    int pad;              /* the largest x halo that a stage reads of it */
    int delay;            /* how many planes it is behind the sources, at most */
    int early;            /* by so many steps earlier than that a plane may be there */
    int loader;           /* of a source: the stage that loads its rows as it comes to them; -1: none */
    bool shared;          /* of a source: more than one input of stages is it */
    bool in_place;        /* of a source: there is no ring, its rows are read where they are */
    bool ends;            /* in place, but the ring has copies of the ends of one row and the next */
    bool whole;           /* all rows of a plane are kept; else only those that are made at once */
    int block;            /* the most rows of a plane that are made at once */
    int ahead;            /* of a source: how many rows before it is loaded a row is prefetched */
    ptrdiff_t depth;      /* planes kept */
    ptrdiff_t rows;       /* kept of a plane */
    ptrdiff_t room;       /* cells that a row has beyond the tile, each side */
    ptrdiff_t origin;     /* elements before a tile's first cell */
    ptrdiff_t pitch;      /* elements from row to row */
    size_t plane_bytes;   /* from plane to plane */
    size_t offset;        /* bytes from the arena's start */
    int sink;             /* index, -1 for none */
    int source;           /* index, -1 for none */
};

/* What a diffusion step that follows its flux keeps (struct vf_diffusion_row): single rows, and planes. */
enum { VF_STEP_FACE_X, VF_STEP_DIAGONAL_Y, VF_STEP_CROSS_Y, VF_STEP_FACE_Y, VF_STEP_INFLOW_X, VF_STEP_ROWS };
enum { VF_STEP_DIAGONAL_Z, VF_STEP_CROSS_Z, VF_STEP_FACE_Z, VF_STEP_INFLOW, VF_STEP_PLANES };
#define VF_STEP_MORE_ROWS 2 /* that each plane has before those that are made */
#define VF_STEP_EARLIER 2   /* planes: for the flux of the one before the first, and of the first */

/* How the rows of a stage are computed: a body; a linear stencil with taps here and there; a table of them;
 * one whose taps are neighbours along x, along the rows of a plane, or along the stream. The last two take as
 * many rows or planes at once as suit the vector level, a table VF_TABLE_ROWS: what they load then goes into
 * several sums. */
enum vf_row_kind {
    VF_ROW_BODY,
    VF_ROW_ANY,
    VF_ROW_TABLE,
    VF_ROW_ALONG_X,
    VF_ROW_ACROSS_ROWS,
    VF_ROW_ACROSS_STREAM
};

struct vf_row_stage {
    enum vf_row_kind kind;
    struct vf_row_table table; /* of VF_ROW_TABLE, owned */
    const void *weight;        /* of a linear stage, in order, of the compute type */
    int reach;                 /* for which a body's table of rows is laid out */
    int star_inputs;           /* how many inputs a body reads along the axes only: the first ones */
    bool shares_faces;         /* a body does */
    struct vf_halo halo[VF_MAX_INPUTS];
    int rows, planes;   /* the most that are computed at once; for a body, of the stage that it calls */
    int delay;          /* how many planes behind the sources the newest plane is that its inputs allow */
    bool asks;          /* it sums across so many planes that their rows had best be prefetched */
    bool called;        /* its rows are made when the one stage that reads them needs them */
    int calls;          /* the stage whose rows it makes when it needs them; -1: none */
    bool may_sum_plane; /* what it sums across rows, the stage before it sums along x for it alone: */
    bool sums_plane;    /* in such tiles as these it calls for that stage, and makes both sums at once */
    bool follows_flux;  /* a diffusion step, which calls for its flux a plane and a row ahead */
    size_t faces;       /* where in the arena is what a body keeps that shares faces, or follows its flux */
};

struct vf_row_layout {
    struct vf_row_fused fused;
    const struct vf_job *job;   /* fused.job */
    struct vf_ring *ring;       /* [field_count], owned */
    struct vf_row_stage *stage; /* [stage_count], owned */
    void *weights;              /* of all stages, owned */
    enum vf_type cell; /* what rings hold: the compute type, or an integer type if all stages keep it */
    size_t element;    /* its bytes */
    ptrdiff_t n_stream, n_rows;
    /* Under boundary `wrap`: what is beyond the grid along an axis is computed as if the grid went on. Where
     * a tile spans all rows, or all x, it is copied from inside the grid instead, and this is false. */
    bool periodic_s, periodic_r, periodic_x;
    ptrdiff_t most_pitch, most_origin; /* of all rings */
    struct vf_tile tile;               /* no larger than the grid */
    ptrdiff_t tiles_x, tiles_y, chunks;
    int delay; /* the last stage's */
    int most_taps, most_pad;
    ptrdiff_t most_rows; /* the most rows that sums along x and across rows at once read; 0: there are none */
    int most_planes; /* the most planes of an input that a stage reads at once, or rows that it sums across */
    size_t arena_bytes; /* one thread's rings */
    double work_bytes;  /* these, and what would be in rings of what is read in place */
    struct vf_caches caches;
    bool far; /* the second cache cannot hold work_bytes */
};

/* Whether stage i sums along x for the next one, which sums across rows at the same time: nothing else calls
 * for such a stage. */
static inline bool vf_row_sums_along_plane(const struct vf_row_layout *layout, int i)
{
    return layout->stage[i].kind == VF_ROW_ALONG_X && layout->stage[i].called;
}

/* Whether the stage that loads a source is one of these. */
static inline bool vf_row_loads_for_plane(const struct vf_row_layout *layout, const struct vf_ring *source)
{
    return source->loader >= 0 && vf_row_sums_along_plane(layout, source->loader);
}

/* What rows of a job in one sweep are of. Medians are values of the image: what is stored as integers of 8 or
 * 16 bits, before and after, is that in between too. */
enum vf_type vf_row_cell(const struct vf_job *job);

enum vf_status vf_row_layout_open(struct vf_row_layout *layout, const struct vf_job *job,
                                  struct vf_error *error);
/* For another tile than job->tiling's. False where the planes overflow a size. */
bool vf_row_layout_retile(struct vf_row_layout *layout, struct vf_tile tile);
void vf_row_layout_close(struct vf_row_layout *layout);

#endif
