/* Where row-stream keeps the planes of a run: how far each field reaches beyond a tile, how far each stage
 * runs behind the sources, and each field's ring of planes. "Stream" is the axis that is swept, z in 3D and y
 * in 2D; "rows" are the rows of one plane, y in 3D and a single one in 2D. */
#ifndef VF_CPU_ROW_LAYOUT_H
#define VF_CPU_ROW_LAYOUT_H

#include "kernels/cpu_row_fused.h"
#include "kernels/cpu_row_table.h"
#include "kernels/cpu_rows.h"
#include "kernels/scheme.h"

struct vf_halo {
    int s, r, x; /* stream, rows, x */
};

/* Of the copies of one row's ends: the first with a line before it, the last with one after it. */
#define VF_ROW_ENDS_BYTES ((size_t)2 * (VF_ROW_END_BYTES + VF_ALIGNMENT))

/* A field's ring. */
struct vf_ring {
    struct vf_halo reach; /* of the field beyond the tile */
    int pad;              /* largest x halo that is read of it */
    int delay;            /* planes behind the sources, at most: */
    int early;            /* a plane may be there by so many steps earlier */
    int loader;           /* of a source: the stage that loads its rows as it comes to them; -1: none */
    bool in_place;        /* of a source: there is no ring, its rows are read where they are; */
    bool ends;            /* but for copies of their ends, of one row and the next, which are in its stead */
    bool whole;           /* all rows of a plane are kept; else those that are made at once */
    int block;            /* rows of a plane that are made at once, at most */
    int ahead;            /* of a source: rows that are asked for before they are loaded */
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

/* How the rows of a stage are computed: a body; a linear stencil with taps here and there; a table of them;
 * one whose taps are neighbours along x, along the rows of a plane, or along the stream. The last two take
 * VF_ROW_BLOCK rows or planes at once where they can, a table VF_TABLE_ROWS: what they load then goes into
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
    struct vf_halo halo[VF_MAX_INPUTS];
    int rows, planes; /* computed at once, at most; a body's planes are those of the sums that it calls for */
    int delay;        /* of the newest plane that its inputs allow */
    bool asks;        /* of sums across planes: for the next row of each, where no near cache holds them */
    bool called;      /* its rows are made when the one stage that reads them needs them */
    int calls;        /* the stage whose rows it calls for; -1: none */
    size_t
        faces; /* bodies that share faces: bytes from the arena's start to two rows of them, and one a row */
};

struct vf_row_layout {
    struct vf_row_fused fused;
    const struct vf_job *job;   /* fused.job */
    struct vf_ring *ring;       /* [field_count], owned */
    struct vf_row_stage *stage; /* [stage_count], owned */
    enum vf_type cell;          /* what rows are of: the compute type, or an integer that all stages keep */
    size_t element;             /* its bytes */
    ptrdiff_t n_stream, n_rows;
    /* Under `wrap`, along an axis: what is beyond the grid is computed as if the grid went on. Not where a
     * tile spans the whole axis, rows or x: then it is a copy of what is inside. */
    bool periodic_s, periodic_r, periodic_x;
    ptrdiff_t most_pitch, most_origin; /* of all rings */
    struct vf_tile tile;               /* no larger than the grid */
    ptrdiff_t tiles_x, tiles_y, chunks;
    int delay; /* of the last stage */
    int most_taps, most_pad;
    int most_planes; /* of one input that a stage reads at once, or rows of one plane along which it sums */
    size_t arena_bytes; /* one thread's rings */
    double work_bytes;  /* and what a tile reads in place of as many planes as a ring would hold */
    bool far;           /* which the second cache cannot hold */
};

/* What rows of a job in one sweep are of. Medians are values of the image: what is stored as integers of 8 or
 * 16 bits, before and after, is that in between too. */
enum vf_type vf_row_cell(const struct vf_job *job);

enum vf_status vf_row_layout_open(struct vf_row_layout *layout, const struct vf_job *job,
                                  struct vf_error *error);
/* For another tile than job->tiling's. False where the planes overflow a size. */
bool vf_row_layout_retile(struct vf_row_layout *layout, struct vf_tile tile);
void vf_row_layout_close(struct vf_row_layout *layout);

/* Predicted seconds of the job: arithmetic of every stage on its tile and halo, ring traffic through the
 * cache level that holds the arena, and the sources' and sinks' bytes once. */
double vf_row_layout_cost(const struct vf_row_layout *layout);

#endif
