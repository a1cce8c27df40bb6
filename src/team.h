/* Threads that do a piece of work together and then sleep until the next one. OpenMP's threads instead wait
 * for milliseconds in a loop, which keeps the processor from the threads that read and write meanwhile. */
#ifndef VF_TEAM_H
#define VF_TEAM_H

#include <pthread.h>
#include <stddef.h>

#include "error.h"

/* Starts a thread that gets no signals: they are the main thread's. Returns what pthread_create does. */
int vf_thread_start(pthread_t *thread, void *(*body)(void *context), void *context);

struct vf_team;

/* What each thread does once: usually it takes items, one after another, until there are no more. `thread` is
 * 0 for the caller, others are numbered in no order. */
typedef void vf_team_work(void *context, int thread);

/* A team, whose threads are started when they are first needed. NULL if there is no memory, which every
 * function here takes too. */
struct vf_team *vf_team_open(void);
void vf_team_close(struct vf_team *team); /* NULL is allowed */

/* To be called in a loop in which a thread waits for others without sleeping, with the number of the turn
 * from 0: after many turns it lets other threads run. */
void vf_rest(unsigned turn);

/* Has up to `threads` threads, the caller's among them, call `work`; returns when all calls have. One such
 * call at a time. If `team` is NULL, one is started for this work alone. */
void vf_team_run(struct vf_team *team, int threads, vf_team_work *work, void *context);

/* Does item number `item` of several. */
typedef enum vf_status vf_team_item(void *context, size_t item, int thread, struct vf_error *error);

/* Has the threads of vf_team_run take items [0, count) one after another, and no more after one failed. The
 * status and the message are those of the failed item with the lowest number, as without threads. */
enum vf_status vf_team_each(struct vf_team *team, int threads, size_t count, vf_team_item *item,
                            void *context, struct vf_error *error);

#endif
