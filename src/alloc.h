/* Allocation: aligned, checked for overflow, and able to fail on demand: with VOLFILTER_FAIL_ALLOC=N in the
 * environment the Nth allocation fails, and the tests try each in turn. */
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

/* The last two blocks of 32 MiB and more that were freed are kept for others of about their size, as long as
 * there is memory. Those that are kept now are freed; and from now on none are kept. */
void vf_alloc_free_kept(void);
void vf_alloc_keep_nothing(void);

/* Makes room in a list of `count` elements of `size` bytes for one more. Returns the list itself or a larger
 * copy, after freeing the list. *room is how many elements there is room for: 0 for a list that is NULL. If
 * memory is short, NULL with a message as vf_alloc's, and the list is as it was. */
void *vf_grow(void *list, size_t count, size_t *room, size_t size, const char *what, struct vf_error *error);

/* A block that is kept for work that is done again and again, since the first use of a page takes the system
 * as long as the work itself. All 0 to begin with. */
struct vf_room {
    void *data; /* owned */
    size_t bytes;
};

/* The room's block, of at least `count * size` bytes with undefined content; NULL with a message. It is the
 * room's, until the next call. */
void *vf_room_take(struct vf_room *room, size_t count, size_t size, const char *what, struct vf_error *error);
void vf_room_free(struct vf_room *room);

/* Owned copy of a string, or NULL with a message. Free with vf_free. */
char *vf_strdup(const char *text, struct vf_error *error);

#endif
