/* A ring of consecutive planes of some fields: what a sweep over slabs holds of a volume. The grid's
 * planes pass through it one after another. Under boundary `wrap` so do some beyond it: plane z then is plane
 * z + extent too. */
#ifndef VF_WINDOW_H
#define VF_WINDOW_H

#include "kernels/scheme.h"

struct vf_cuda;

struct vf_window {
    int count;            /* fields */
    ptrdiff_t capacity;   /* planes of each */
    ptrdiff_t extent;     /* planes of the grid */
    ptrdiff_t beyond;     /* planes that pass through before and behind those */
    ptrdiff_t begin, end; /* planes that are held now */
    ptrdiff_t base;       /* plane z is number base + z of all that came, those of earlier images too */
    size_t plane_bytes;
    char *data;             /* owned: [capacity][count] planes */
    struct vf_cuda *pinned; /* the data are pinned memory of this device's driver; NULL: they are not */
    void **table;           /* owned: [count][extent], NULL where a plane is not held */
    struct vf_array *array; /* owned: [count], over the table */
};

/* How many planes of an image pass through. */
static inline ptrdiff_t vf_window_span(const struct vf_window *window)
{
    return window->extent + 2 * window->beyond;
}

/* On failure nothing is held. `cuda`: planes go to and from that device; NULL: they do not. */
enum vf_status vf_window_open(struct vf_window *window, int count, enum vf_type type, size_t plane_voxels,
                              ptrdiff_t capacity, ptrdiff_t extent, ptrdiff_t beyond, struct vf_cuda *cuda,
                              struct vf_error *error);
void vf_window_close(struct vf_window *window);

/* Empties the window, for image number `image` of several that follow each other. */
void vf_window_start(struct vf_window *window, ptrdiff_t image);

/* Where plane `number` of all (see `base`) of a field is; that of the next field follows it. */
void *vf_window_place(const struct vf_window *window, ptrdiff_t number, int field);

/* take: the window now holds `count` planes more, which the caller fills. drop: it no longer holds those
 * before `begin`. */
void vf_window_take(struct vf_window *window, ptrdiff_t count);
void vf_window_drop(struct vf_window *window, ptrdiff_t begin);

#endif
