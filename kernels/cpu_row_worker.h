/* One thread of row-stream at work on a tile: its rings (cpu_row_fields.c) and the stages between them
 * (cpu_row_stages.c). */
#ifndef VF_CPU_ROW_WORKER_H
#define VF_CPU_ROW_WORKER_H

#include "kernels/cpu_row_layout.h"
#include "kernels/cpu_rows.h"

/* A half-open range. */
struct vf_range {
    ptrdiff_t from, to;
};

/* The part of a field that is made for one tile: the tile and the field's reach around it, within the grid.
 */
struct vf_row_part {
    struct vf_range s, r, x; /* stream, rows, x */
    ptrdiff_t below, above;  /* cells beyond the grid that each row is completed with, before and after x */
};

/* One thread's memory and the tile that it works on. */
struct vf_row_worker {
    const struct vf_row_layout *layout;
    const struct vf_rows *rows;
    const struct vf_row_bodies *bodies;
    int thread;
    bool streams;             /* sinks are stored past the caches, since they are larger */
    bool by_strips;           /* and of these by strips rows that are alike, as vf_rows_by_strips says */
    char *arena;              /* all rings */
    char *outside[2];         /* [vf_field_kind]: a row of what stands outside the grid under `constant` */
    ptrdiff_t *edge[2];       /* [0][i], [1][i]: the x that x = -1 - i, x = nx + i reads; -1: the constant */
    const char **plane;       /* scratch: [a stage, one it calls][input][plane] that is read; NULL: outside */
    const void **tap;         /* scratch: the rows that one row or block of rows reads */
    struct vf_row_work *work; /* [stage]: cpu_row_work.h */
    struct vf_row_part *part; /* [field] */
    struct vf_row_part tile;
    ptrdiff_t image; /* of the batch */
};

/* The part of a field that is made for the worker's tile. */
struct vf_row_part vf_row_part_of(const struct vf_row_worker *worker, int field);

/* Where the rows of one plane of a field's ring are. If the ring does not keep whole planes, all rows are at
 * the same place, one after another. */
struct vf_row_plane {
    char *first;     /* the element at x of the first row that is made */
    ptrdiff_t pitch; /* bytes from row to row; 0 if only one is kept */
};

static inline struct vf_row_plane vf_row_plane_of(const struct vf_row_worker *w, int field, ptrdiff_t s,
                                                  ptrdiff_t x)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_ring *ring = &l->ring[field];
    char *plane = w->arena + ring->offset + (size_t)vf_floor_mod(s, ring->depth) * ring->plane_bytes;
    const ptrdiff_t element = (ptrdiff_t)l->element;
    return (struct vf_row_plane){plane + (ring->origin + x - w->tile.x.from) * element,
                                 ring->whole ? ring->pitch * element : 0};
}

/* Row r of plane s of a sink that is stored, from the tile's first x on. */
char *vf_row_of_sink(const struct vf_row_worker *worker, const struct vf_sink *sink, ptrdiff_t s,
                     ptrdiff_t r);

/* Once row r of plane s is made: fills its cells beyond the grid, stores and reduces it if it is a sink's.
 * `row` is the element at x = 0. */
void vf_row_finish(const struct vf_row_worker *worker, int field, ptrdiff_t s, ptrdiff_t r, char *row);

/* Whether vf_row_finish has anything to do for a field's rows. */
static inline bool vf_row_needs_finish(const struct vf_ring *ring)
{
    return ring->pad > 0 || ring->sink >= 0;
}

/* Copies the ends of row r of a source that is read in its place, which begins at `row`. */
struct vf_row_ends vf_row_copy_ends(const struct vf_row_worker *worker, int field, ptrdiff_t r,
                                    const char *row);

/* Row r of plane s of a source, at x = 0. Under `wrap` r may be any number. */
const char *vf_row_of_source(const struct vf_row_worker *worker, const struct vf_array *array, ptrdiff_t s,
                             ptrdiff_t r);

/* The rows of plane s of a source on their way into its ring. */
struct vf_row_loading {
    int field;
    ptrdiff_t s, next;                    /* plane; the number of the row that comes next */
    const char *from;                     /* that row's first cell in the source */
    char *to;                             /* its x = 0 in the ring */
    ptrdiff_t from_pitch, to_pitch, cell; /* bytes from row to row, and from cell to cell of the source */
    void (*load)(const void *in, void *out, ptrdiff_t n);
    struct vf_row_ahead ahead;         /* the row to prefetch once this one is read */
    ptrdiff_t rows_ahead, bytes_ahead; /* how far beyond this one that is */
};
struct vf_row_loading vf_row_loading_of(const struct vf_row_worker *worker, int field, ptrdiff_t s);

/* Reads the next row, converted to the layout's cells, and sets loading->ahead. */
void vf_row_load(const struct vf_row_worker *worker, struct vf_row_loading *loading);

/* Reads all rows that come before row r, and prefetches at once. */
void vf_row_load_up_to(const struct vf_row_worker *worker, struct vf_row_loading *loading, ptrdiff_t r);

/* Computes planes [s, s + count) of a stage over the tile and its reach; count is at most the stage's
 * `planes`. */
void vf_row_stage_planes(const struct vf_row_worker *worker, int stage, ptrdiff_t s, int count);

#endif
