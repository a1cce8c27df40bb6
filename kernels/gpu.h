/* What a GPU offers: the limits that kernels are planned within, and the rates that they are timed by. */
#ifndef VF_GPU_H
#define VF_GPU_H

#include <stddef.h>

struct vf_tuning;      /* src/tuning.h */
struct vf_precompiled; /* src/precompiled.h */

struct vf_gpu {
    char name[256];
    int capability; /* 90 for compute capability 9.0 */
    int multiprocessors;
    int warp; /* threads */
    int block_threads;
    int sm_threads, sm_blocks; /* of a multiprocessor (SM), at most */
    int sm_registers;          /* 32-bit */
    size_t block_shared;       /* bytes of a block, once a kernel asks for more than the usual 48 KiB */
    size_t sm_shared;          /* bytes */
    size_t l2;                 /* bytes */
    size_t memory;             /* bytes */
    size_t free_memory;        /* bytes that others left of it, once it is known; before, all */
    double bandwidth;          /* of device memory, bytes/s that a copy reaches, reads and writes counted */
    double clock;              /* Hz */
    double double_ratio;       /* float operations in the time of a double one */
    const struct vf_tuning *tuning; /* kernels measured on it; borrowed; NULL: none */
    /* Without a compiler, the only kernels there are; borrowed. NULL: any can be compiled. */
    const struct vf_precompiled *precompiled;
};

/* Registers (32-bit) of an SM, and the most of a block, on every device so far. For what schemes write into
 * kernels' texts, which is to be the same on all devices; else sm_registers. */
#define VF_SM_REGISTERS 65536
/* The most of a thread, since compute capability 3.5. */
#define VF_THREAD_REGISTERS 255

/* Elements from one row of a field to the next in device memory: rows start at multiples of 32 elements. */
static inline ptrdiff_t vf_gpu_pitch(ptrdiff_t nx)
{
    return (nx + 31) / 32 * 32;
}

#endif
