/* How many processors the program may keep busy. */
#ifndef VF_PROCESSORS_H
#define VF_PROCESSORS_H

#include <stddef.h>

#define VF_MOST_THREADS 1024

/* OMP_NUM_THREADS, or all that the process may run on (taskset, batch systems), and no more than the time
 * that control groups allow it (containers) keeps busy; OMP_THREAD_LIMIT and VF_MOST_THREADS at most. The
 * main thread, which OpenMP may have bound to one processor, calls it first, and is bound no longer. */
int vf_processors(void);

/* How many the control groups allow, as vf_memory_groups_free has them, rounded up; SIZE_MAX: all. */
size_t vf_processors_of_groups(const char *membership, const char *mounted);

#endif
