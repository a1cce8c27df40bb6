/* Threads that do a piece of work together and then sleep until the next one. OpenMP's wait for it in a loop,
 * for milliseconds, and keep the processor from threads that read and write meanwhile. */
#ifndef VF_TEAM_H
#define VF_TEAM_H

#include <stddef.h>

#include "error.h"

struct vf_team;

/* What each thread does once: usually it takes items, one after another, until there are no more. `thread` is
 * 0 for the caller, others are numbered in no order. */
typedef void vf_team_work(void *context, int thread);

/* Its threads are started when they are first needed. NULL where there is no memory: work is then done as
 * with no team. */
struct vf_team *vf_team_open(void);
void vf_team_close(struct vf_team *team); /* NULL is allowed */

/* A turn, counted from 0, of a loop in which a thread waits for others awake. After many it lets them run. */
void vf_rest(unsigned turn);

/* Up to `threads` threads, at least the caller's, do the work; returns when all of them have. One such call
 * at a time. Without a team (NULL) there is one for this work alone. */
void vf_team_run(struct vf_team *team, int threads, vf_team_work *work, void *context);

/* One item of some that threads take by turns. */
typedef enum vf_status vf_team_item(void *context, size_t item, int thread, struct vf_error *error);

/* Items [0, count) by vf_team_run, all of them. A failure is that of the first one that failed, as without
 * threads.
 */
enum vf_status vf_team_each(struct vf_team *team, int threads, size_t count, vf_team_item *item,
                            void *context, struct vf_error *error);

#endif
