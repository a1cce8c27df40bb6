/* Two threads and a ring of places between them: one fills them in order, the other frees them in order. Only
 * counters; what is in the places is the threads' own. */
#ifndef VF_QUEUE_H
#define VF_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct vf_queue {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    ptrdiff_t capacity, filled, freed; /* places; how many were filled, freed so far */
    bool stopped;
    enum vf_status status; /* why; VF_OK where nobody failed */
    struct vf_error error;
};

void vf_queue_open(struct vf_queue *queue, ptrdiff_t capacity);
void vf_queue_close(struct vf_queue *queue);

/* Waits until `count` more places can be filled; false when the queue was stopped or a signal came. */
bool vf_queue_wait_room(struct vf_queue *queue, ptrdiff_t count);

/* Waits until `filled` places were filled in all. */
bool vf_queue_wait_filled(struct vf_queue *queue, ptrdiff_t filled);

/* How many were filled, freed in all. */
ptrdiff_t vf_queue_filled(struct vf_queue *queue);
ptrdiff_t vf_queue_freed(struct vf_queue *queue);

void vf_queue_fill(struct vf_queue *queue, ptrdiff_t count);
void vf_queue_free_to(struct vf_queue *queue, ptrdiff_t freed);

/* Ends all waiting; the first failure's message is kept (error may be NULL for VF_OK). */
void vf_queue_stop(struct vf_queue *queue, enum vf_status status, const struct vf_error *error);

/* Why it was stopped, or that a signal came: what a false answer above means. */
enum vf_status vf_queue_why(struct vf_queue *queue, struct vf_error *error);

#endif
