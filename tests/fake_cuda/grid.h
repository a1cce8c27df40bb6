/* Runs the blocks of a launch. */
#ifndef FAKE_CUDA_GRID_H
#define FAKE_CUDA_GRID_H

#include <stddef.h>

#include "machine.h"

struct fake_launch {
    void (*run)(const void *argument); /* vf_cpu_run of the kernel */
    const void *argument;
    struct fake_index grid, block;
    size_t shared_bytes;
};

/* What kernels call. */
extern const struct fake_machine fake_machine;

/* Runs all blocks, in the order that FAKE_CUDA_ORDER asks for ("reverse", "shuffle" or
 * "shuffle:SEED"), on FAKE_CUDA_THREADS threads. What is
 * undefined on a device, such as a barrier that not all threads reach, aborts with a message. One launch at a
 * time. */
void fake_grid_run(const struct fake_launch *launch);

#endif
