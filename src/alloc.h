/* Allocation: aligned, counted, and able to fail on demand (tests fail every allocation in turn). */
#ifndef VF_ALLOC_H
#define VF_ALLOC_H

#include <stddef.h>

#include "error.h"

/* Bytes; the widest vector and a cache line. */
#define VF_ALIGNMENT 64

/* A huge page. */
#define VF_HUGE_BYTES ((size_t)2 << 20)

/* `count * size` bytes, zeroed when small (below VF_HUGE_BYTES), aligned to VF_ALIGNMENT, or NULL with a
 * message that names `what` and the size. Large blocks lie in huge pages, since faulting in 4 KiB pages costs
 * as much as filtering them, and their content is whatever the system gives. Free with vf_free. */
void *vf_alloc(size_t count, size_t size, const char *what, struct vf_error *error);
void vf_free(void *block);

/* A list with room for an element after its `count`: itself, or a larger copy of it, and it is freed. *room
 * tells how many elements there is room for; 0 where it is NULL. NULL with a message as vf_alloc's when
 * memory is short; the list is as it was. */
void *vf_grow(void *list, size_t count, size_t *room, size_t size, const char *what, struct vf_error *error);

/* A block for work that is done again and again: pages that are new to the process take as long as the work.
 * Zero to begin with. */
struct vf_room {
    void *data; /* owned */
    size_t bytes;
};

/* `count * size` bytes, as vf_alloc gives them or as they were left; what the room held before may be lost.
 */
void *vf_room_take(struct vf_room *room, size_t count, size_t size, const char *what, struct vf_error *error);
void vf_room_free(struct vf_room *room);

/* Owned copy of a string, or NULL with a message. Free with vf_free. */
char *vf_strdup(const char *text, struct vf_error *error);

#endif
