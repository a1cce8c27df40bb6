/* How much memory the machine can give. */
#ifndef VF_MEMORY_H
#define VF_MEMORY_H

#include <stddef.h>

/* Bytes that a new allocation can have without swapping: Linux' MemAvailable, no more than the control
 * group's limit leaves; elsewhere the free pages. */
size_t vf_memory_free(void);

/* Bytes that this process holds in memory now (its resident set), 0 where the system does not say. */
size_t vf_memory_resident(void);

/* The most that it has held so far. */
size_t vf_memory_peak(void);

#endif
