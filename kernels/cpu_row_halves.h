/* A job of row-stream in two sweeps: its stages before and from the cut on. What crosses it goes through
 * memory in whole planes, of which no more are held than a block of the second sweep reads. */
#ifndef VF_CPU_ROW_HALVES_H
#define VF_CPU_ROW_HALVES_H

#include "kernels/scheme.h"

struct vf_row_halves {
    struct vf_flow flow[2];
    struct vf_job job[2];      /* of one image, its place in z still that of the whole job */
    int crossing;              /* fields: sinks of the first, the first sources of the second sweep */
    ptrdiff_t reach;           /* planes of them that the second sweep reads beyond its own, each side */
    ptrdiff_t held;            /* planes of each */
    size_t plane_bytes, bytes; /* of one of these planes, of them all */
    int *source[2];            /* of the flows; source[0] is owned, and holds both and what crosses */
    int *crossed;
    struct vf_array *array[2];  /* the sources; array[0] is owned, and holds both and what is stored */
    struct vf_array *stored[2]; /* what crosses; the sinks */
    struct vf_sink *sink[2];    /* sink[0] is owned and holds both */
    void **plane;               /* owned: tables of the planes that cross */
};

/* Whether a flow may be cut before stage `cut`: a volume, not periodic in z, all of whose sinks are made
 * after it. */
bool vf_row_may_cut(const struct vf_flow *flow, int cut);

/* The halves of job->tiling, which has a cut that may be. The job stays the caller's; its arrays may be NULL
 * where nothing is to be run. Closed by the caller, unless it fails. */
enum vf_status vf_row_halves_open(struct vf_row_halves *halves, const struct vf_job *job,
                                  struct vf_error *error);
void vf_row_halves_close(struct vf_row_halves *halves);

/* Puts the planes that cross into `memory`, of halves->bytes, and turns to an image of the job's batch. */
void vf_row_halves_place(struct vf_row_halves *halves, const struct vf_job *job, char *memory,
                         ptrdiff_t image);

#endif
