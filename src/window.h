/* Consecutive planes of some fields, in a ring: what a sweep over slabs holds of a volume. Planes are
 * numbered from `low` to `high`, which for a periodic grid lie outside it: plane z of it then is plane z +
 * extent too.
 */
#ifndef VF_WINDOW_H
#define VF_WINDOW_H

#include "kernels/scheme.h"

struct vf_cuda;

struct vf_window {
    int count;            /* fields */
    ptrdiff_t capacity;   /* planes of each */
    ptrdiff_t extent;     /* planes of the grid */
    ptrdiff_t low, high;  /* those that pass through */
    ptrdiff_t begin, end; /* those that are held now */
    ptrdiff_t base;       /* plane z is number base + z of all that ever came */
    size_t plane_bytes;
    char *data;             /* owned: [capacity][count] planes */
    struct vf_cuda *pinned; /* the data are pinned memory of this device's driver; NULL: they are not */
    void **table;           /* owned: [count][extent], NULL where a plane is not held */
    struct vf_array *array; /* owned: [count], over the table */
};

/* On failure nothing is held. `cuda`: planes go to and from that device; NULL: they do not. */
enum vf_status vf_window_open(struct vf_window *window, int count, enum vf_type type, size_t plane_voxels,
                              ptrdiff_t capacity, ptrdiff_t extent, ptrdiff_t low, ptrdiff_t high,
                              struct vf_cuda *cuda, struct vf_error *error);
void vf_window_close(struct vf_window *window);

/* Empty, for image `image` of several that follow each other. */
void vf_window_start(struct vf_window *window, ptrdiff_t image);

/* The place of plane `number` of all, of a field; the planes of one number lie one after another. */
void *vf_window_place(const struct vf_window *window, ptrdiff_t number, int field);

/* Planes end to end + count - 1 now have places, which are the caller's to fill; and those before `begin`
 * none. */
void vf_window_take(struct vf_window *window, ptrdiff_t count);
void vf_window_drop(struct vf_window *window, ptrdiff_t begin);

#endif
