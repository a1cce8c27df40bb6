/* How much memory the machine can give. */
#ifndef VF_MEMORY_H
#define VF_MEMORY_H

#include <stddef.h>

/* Bytes that new allocations can have without swapping: Linux' MemAvailable, no more than the limits of
 * control groups (containers, batch systems) and of the process leave, here without the stacks of so many
 * `threads`; elsewhere the free pages. */
size_t vf_memory_free(int threads);

/* Where addresses are limited (ulimit -v, -d), threads that start from now on have small stacks, and the C
 * library has one arena. */
void vf_memory_spare_addresses(void);

/* What the control groups leave that `membership` (/proc/self/cgroup) names, whose folders are below
 * `mounted`; SIZE_MAX: they have no limit. */
size_t vf_memory_groups_free(const char *membership, const char *mounted);

/* Bytes that this process holds in memory now (its resident set), 0 where the system does not say. */
size_t vf_memory_resident(void);

/* The most of them so far. */
size_t vf_memory_peak(void);

/* From now on the allocator keeps some 16 MiB of freed blocks for each thread, as many small files need
 * again. */
void vf_memory_be_generous(void);

/* From now on freed blocks go back to the system, which takes longer, if they are not small; and so does now
 * what the allocator kept. */
void vf_memory_be_sparing(void);

#endif
