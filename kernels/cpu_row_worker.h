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

/* What is made of a field for one tile: the tile with the field's reach. */
struct vf_row_part {
    struct vf_range s, r, x;
    ptrdiff_t below, above; /* cells beyond the grid that a row is completed with, before and after x */
};

/* One thread's memory and the tile that it works on. */
struct vf_row_worker {
    const struct vf_row_layout *layout;
    const struct vf_rows *rows;
    int thread;
    bool streams; /* sinks are larger than the caches */
    char *arena;
    char *outside[2];         /* a row of the constant, by vf_field_kind */
    ptrdiff_t *edge[2];       /* [i]: what x = -1 - i and x = nx + i read; -1 for the constant */
    const char **plane;       /* [of a stage, of one it calls][input][plane]: scratch; NULL is outside */
    const void **tap;         /* scratch: the rows that one row or block of rows reads */
    void *weight;             /* in the order of the taps, of the compute type */
    struct vf_row_part *part; /* [field] */
    struct vf_row_part tile;
    ptrdiff_t image; /* of the batch */
};

/* What is made of a field for the tile. */
struct vf_row_part vf_row_part_of(const struct vf_row_worker *worker, int field);

/* Where rows of a field's ring are, in the plane that holds stream position s: `first` is the element at x of
 * the first row that is made, or of the only one that is kept; then the next row is at the same place. */
struct vf_row_plane {
    char *first;
    ptrdiff_t pitch; /* bytes from row to row that is made; 0 */
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

/* Whether there is anything of that to do for a field's rows. */
static inline bool vf_row_needs_finish(const struct vf_ring *ring)
{
    return ring->pad > 0 || ring->sink >= 0;
}

/* Copies the ends of row r of a source that is read in its place, which begins at `row`. */
struct vf_row_ends vf_row_copy_ends(const struct vf_row_worker *worker, int field, ptrdiff_t r,
                                    const char *row);

/* Row r of plane s of a source, at x = 0; a periodic grid's row of any number. */
const char *vf_row_of_source(const struct vf_row_worker *worker, const struct vf_array *array, ptrdiff_t s,
                             ptrdiff_t r);

/* The rows of plane s of a source on their way into its ring. */
struct vf_row_loading {
    int field;
    ptrdiff_t s, next; /* the row that comes next: */
    const char *from;  /* its first cell, and where x = 0 goes */
    char *to;
    ptrdiff_t from_pitch, to_pitch, cell; /* bytes */
    void (*load)(const void *in, void *out, ptrdiff_t n);
    struct vf_row_ahead ahead;         /* what should be asked for once it is read, */
    ptrdiff_t rows_ahead, bytes_ahead; /* so much later */
};
struct vf_row_loading vf_row_loading_of(const struct vf_row_worker *worker, int field, ptrdiff_t s);

/* Reads the next row, converted to the layout's cells, and says what should be asked for. */
void vf_row_load(const struct vf_row_worker *worker, struct vf_row_loading *loading);

/* Computes planes [s, s + count) of a stage over the tile and its reach, no more at once than the stage
 * takes. */
void vf_row_stage_planes(const struct vf_row_worker *worker, int stage, ptrdiff_t s, int count);

#endif
