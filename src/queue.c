#include "queue.h"

#include <time.h>

#include "interrupt.h"

/* A handler may not signal a condition, so that those who wait look at the flag themselves. */
#define LOOK_NS 50000000L

void vf_queue_open(struct vf_queue *queue, ptrdiff_t capacity)
{
    *queue = (struct vf_queue){.capacity = capacity};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->moved, &attributes);
    pthread_condattr_destroy(&attributes);
}

void vf_queue_close(struct vf_queue *queue)
{
    pthread_cond_destroy(&queue->moved);
    pthread_mutex_destroy(&queue->lock);
}

static void wait_a_little(struct vf_queue *queue)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&queue->moved, &queue->lock, &until);
}

bool vf_queue_wait_room(struct vf_queue *queue, ptrdiff_t count)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !vf_interrupted && queue->filled + count - queue->freed > queue->capacity)
        wait_a_little(queue);
    const bool good = !queue->stopped && !vf_interrupted;
    pthread_mutex_unlock(&queue->lock);
    return good;
}

bool vf_queue_wait_filled(struct vf_queue *queue, ptrdiff_t filled)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !vf_interrupted && queue->filled < filled)
        wait_a_little(queue);
    const bool good = !queue->stopped && !vf_interrupted;
    pthread_mutex_unlock(&queue->lock);
    return good;
}

ptrdiff_t vf_queue_filled(struct vf_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const ptrdiff_t filled = queue->filled;
    pthread_mutex_unlock(&queue->lock);
    return filled;
}

ptrdiff_t vf_queue_freed(struct vf_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const ptrdiff_t freed = queue->freed;
    pthread_mutex_unlock(&queue->lock);
    return freed;
}

void vf_queue_fill(struct vf_queue *queue, ptrdiff_t count)
{
    pthread_mutex_lock(&queue->lock);
    queue->filled += count;
    pthread_cond_broadcast(&queue->moved);
    pthread_mutex_unlock(&queue->lock);
}

void vf_queue_free_to(struct vf_queue *queue, ptrdiff_t freed)
{
    pthread_mutex_lock(&queue->lock);
    if (freed > queue->freed)
        queue->freed = freed;
    pthread_cond_broadcast(&queue->moved);
    pthread_mutex_unlock(&queue->lock);
}

void vf_queue_stop(struct vf_queue *queue, enum vf_status status, const struct vf_error *error)
{
    pthread_mutex_lock(&queue->lock);
    queue->stopped = true;
    if (queue->status == VF_OK && status != VF_OK) {
        queue->status = status;
        queue->error = *error;
    }
    pthread_cond_broadcast(&queue->moved);
    pthread_mutex_unlock(&queue->lock);
}

enum vf_status vf_queue_why(struct vf_queue *queue, struct vf_error *error)
{
    pthread_mutex_lock(&queue->lock);
    const enum vf_status status = queue->status;
    if (status != VF_OK)
        *error = queue->error;
    pthread_mutex_unlock(&queue->lock);
    return status != VF_OK ? status : vf_fail(error, VF_INTERRUPTED, "interrupted");
}
