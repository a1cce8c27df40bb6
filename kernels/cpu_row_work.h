/* A stage of row-stream in a thread's tile: where the planes are that it reads and makes. What a tile fixes
 * is found once a tile, since a plane of an image is a single row. */
#ifndef VF_CPU_ROW_WORK_H
#define VF_CPU_ROW_WORK_H

#include "kernels/cpu_row_worker.h"

/* A field's ring, from the first cell on that a stage makes. */
struct vf_ring_part {
    const struct vf_ring *ring;
    char *first; /* of plane 0's first row that is made */
};

/* An input of a stage. */
struct vf_row_input {
    struct vf_ring_part part;
    struct vf_halo halo;
    bool star;           /* a body reads it along the axes only */
    ptrdiff_t first_row; /* the number of the planes' first row */
    ptrdiff_t pitch;     /* bytes from row to row; 0: only one row is kept */
    const char *outside; /* a row of the constant */
    /* While the stage computes some planes, [offset along the stream + halo]: the plane's first row that is
     * made, at the output's first cell; NULL: the plane is outside the grid and reads the constant. For a
     * stage that sums across rows [i] is row i of its only plane. */
    const char **plane;
    bool inside; /* no plane is NULL */
};

/* An output of a stage: its ring, or its sink. */
struct vf_row_output {
    struct vf_ring_part part;
    bool may_pass; /* its rows may be made in its sink */
    /* While the stage computes some planes. */
    char
        *first[VF_ROW_BLOCK]; /* [plane * rows at once + row]: the first rows of the planes, at the first x */
    ptrdiff_t pitch;          /* bytes from row to row */
    enum vf_row_place place;
    bool finishes; /* vf_row_finish is called for each row once it is made */
};

/* A stage in a tile, and while it computes planes [s, s + planes) of it. */
struct vf_row_work {
    const struct vf_stage *stage;
    const struct vf_row_stage *how;
    struct vf_range rows, x;
    ptrdiff_t s;
    int planes;
    struct vf_row_input input[VF_MAX_INPUTS];
    struct vf_row_output out[VF_MAX_OUTPUTS];
};

/* Row r, which the stage makes, of the input's plane j. It is inside the grid, or the grid is periodic. */
static inline const char *vf_row_of_plane(const struct vf_row_input *in, int j, ptrdiff_t r)
{
    return in->plane[j] + (r - in->first_row) * in->pitch;
}

/* Bytes from a plane's start to row r, which may be beyond the grid; -1 for the constant. */
static inline ptrdiff_t vf_row_offset(const struct vf_row_worker *w, const struct vf_row_input *in,
                                      ptrdiff_t r)
{
    const struct vf_row_layout *l = w->layout;
    const ptrdiff_t at = vf_boundary_index(l->job->flow->boundary, r, l->n_rows);
    return at < 0 ? -1 : ((l->periodic_r ? r : at) - in->first_row) * in->pitch;
}

/* The row that begins so many bytes after the start of the plane that is ds planes from the first that is
 * made. */
static inline const char *vf_row_at(const struct vf_row_input *in, int ds, ptrdiff_t offset)
{
    const char *plane = in->plane[ds + in->halo.s];
    return plane == NULL || offset < 0 ? in->outside : plane + offset;
}

/* Prepares all stages for the worker's tile, whose parts are known. */
void vf_row_begin_tile(const struct vf_row_worker *worker);

/* Turns the work to planes [s, s + count): fills what is said to hold while the stage computes some planes.
 * Of outputs nothing before the first plane that is made.
 */
void vf_row_turn_to(const struct vf_row_worker *worker, struct vf_row_work *work, ptrdiff_t s, int count);

#endif
