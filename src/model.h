/* What a GPU kernel will cost, told without running it: seconds, from what one thread block does, for ranking
 * candidates. Its few free rates are set by one H200: most stencils come out within 25% there
 * (tests/test_model_h200.c). Elsewhere it is unchecked: rates scale with multiprocessors (SMs), clock and
 * memory bandwidth, so trust the order more than the seconds.
 *
 * It comes from two papers, whose own counts are in tests/paper_counts.h:
 *   Tabik: S. Tabik, M. Peemen, N. Guil, H. Corporaal, Demystifying the 16x16 thread-block for stencils on
 *          the GPU, 2015, doi 10.1002/cpe.3591.
 *   Rawat: P. S. Rawat et al., Effective resource management for enhancing performance of 2D and 3D stencils
 *          on GPUs, 2016, doi 10.1145/2884045.2884047.
 * They count transactions of a warp's width (128 bytes) and take each for a trip to memory. Today memory
 * moves in 32-byte sectors and a large L1 and L2 serve most halos, so that fewer transactions need not be
 * faster: memory, L2 and L1 are kept apart here for that reason. */
#ifndef VF_MODEL_H
#define VF_MODEL_H

#include <stddef.h>

#include "kernels/gpu.h"

#define VF_SECTOR_BYTES 32 /* what L2 and memory move */
#define VF_LINE_BYTES 128  /* what L1 looks up at once */

/* ---- counts of one warp-wide access ---- */

/* Sectors, or lines, that hold the elements start, start + stride, ... (`lanes` of them). In elements from
 * an aligned address; start and stride may be negative. Elements are 1 to 16 bytes, aligned. */
ptrdiff_t vf_model_warp_sectors(ptrdiff_t start, ptrdiff_t stride, int element, ptrdiff_t lanes);
ptrdiff_t vf_model_warp_lines(ptrdiff_t start, ptrdiff_t stride, int element, ptrdiff_t lanes);

/* ---- occupancy ---- */

/* In what units an SM hands out what it has. All 1 (reserve 0) is the papers' arithmetic. */
struct vf_granularity {
    int registers;         /* a warp's are rounded up to this */
    int parts;             /* the register file is split in so many; a warp's registers lie in one */
    size_t shared;         /* bytes: a block's are rounded up to this */
    size_t shared_reserve; /* bytes the driver takes for itself in every block */
};

/* Source: the CUDA toolkit's cuda_occupancy.h; compute capability 6.0 and later. */
struct vf_granularity vf_granularity_of(int capability);

enum vf_occupancy_limit {
    VF_OCCUPANCY_THREADS,
    VF_OCCUPANCY_BLOCKS,
    VF_OCCUPANCY_REGISTERS,
    VF_OCCUPANCY_SHARED,
};

struct vf_occupancy {
    int blocks;                    /* resident on an SM; 0: such a block cannot run */
    int warps;                     /* resident on an SM */
    double share;                  /* of the most warps that an SM holds, 0 to 1 */
    enum vf_occupancy_limit limit; /* what bounds blocks; the first if several do */
};

/* Tabik eq. 10 and 11, Rawat 2.1, in the device's units; quotients are rounded down, as eq. 10 must mean.
 * threads and shared bytes of a block, registers of a thread (0 if not known: they do not bound then). */
struct vf_occupancy vf_model_occupancy(const struct vf_gpu *gpu, int threads, int registers, size_t shared,
                                       const struct vf_granularity *granularity);

/* ---- predicted time ---- */

/* What of a block's work goes on at once. */
enum vf_overlap {
    VF_PHASES,     /* its phases follow one another: only other blocks work while it waits */
    VF_OVERLAPS,   /* threads are in different phases: shared memory and arithmetic work at once */
    VF_RUNS_AHEAD, /* besides, what is read comes so long before it is needed that hardly anything waits */
};

/* What one thread block does, in the mean; the grid is `blocks` of them, started in order, x fastest. */
struct vf_kernel_traffic {
    int threads;         /* of a block */
    int registers;       /* of a thread, compiled or estimated */
    size_t shared;       /* bytes of a block */
    ptrdiff_t tile[3];   /* cells that a block writes along x, y, z */
    ptrdiff_t blocks[3]; /* along x, y, z */
    ptrdiff_t steps;     /* planes or rows that a block streams one after another; 1 if it does not stream */

    /* Sectors that a block asks L2 for: reads that neither its L1 nor its shared memory saved, and writes.
     * read_sectors are first reads, halo_sectors[axis] those that the neighbour along the axis reads too. */
    double read_sectors, halo_sectors[3], written_sectors;
    double global_wavefronts; /* of L1: vf_model_warp_lines of every warp-wide global load and store */
    double shared_wavefronts; /* passes over the banks, of every warp-wide shared load and store */
    /* One for each thread and instruction; other_ops are addresses, memory and control. */
    double float_ops, double_ops, other_ops;
    double loads;           /* of a thread from global memory, in vectors */
    double loads_in_flight; /* of them under way at once, at least 1 */
    double barriers;
    double issue_warps; /* on an SM until instructions are issued at its full rate; 0: as most kernels need */
    enum vf_overlap overlap;
};

/* For issue_warps: what a stage makes goes through shared memory to the next one, again and again, so that an
 * instruction waits for the one before. Fitted to 2186 such kernels on an H200. */
#define VF_RING_ISSUE_WARPS 28
/* The same where stages are weights in a plane, in blocks of more than two warps; chosen by 12. */
#define VF_LIGHT_ISSUE_WARPS 18
/* For each cell that a thread works on, since those wait for each other no more than threads do: lines along
 * x, y and z in one kernel, fitted to 17. */
#define VF_LINES_ISSUE_WARPS 48.0

enum vf_model_limit {
    VF_LIMIT_MEMORY,
    VF_LIMIT_L2,
    VF_LIMIT_SHARED, /* the one path of L1 and shared memory */
    VF_LIMIT_ISSUE,
    VF_LIMIT_LATENCY,
    VF_LIMIT_LAUNCH,
    VF_LIMIT_COUNT,
};

/* For --explain. */
struct vf_model_detail {
    struct vf_occupancy occupancy;
    double waves; /* of resident blocks */
    /* What each part would take alone, in seconds: bandwidth of memory and of L2, the path of L1 and shared
     * memory, instructions, a block alone, the launch. */
    double seconds[VF_LIMIT_COUNT];
    enum vf_model_limit limit; /* the longest of them */
    double memory_bytes;       /* read and written, of the whole grid */
    double cell_bytes;         /* the same for each cell of a tile */
};

/* A few words: "memory", "L1 and shared memory", ... */
const char *vf_model_limit_name(enum vf_model_limit limit);

/* Seconds of one launch, INFINITY if such a block cannot run. `detail` may be NULL.
 *
 * Blocks go in waves of what is resident. In each wave memory, L2, the L1 and shared-memory path and the
 * instruction issue take their amounts over their rates, an SM with few warps issuing more slowly; and no
 * wave is shorter than what a block takes with an SM for itself: its start, its loads over those in flight
 * times the memory's latency, which is Little's law with the bytes cancelled, its barriers, and its own work.
 * Few blocks on an SM, or one, therefore cannot hide their waits. The parts overlap: their 2.5-norm, that is
 * the longest and, if others come near it, up to twice as much (their 4-norm where blocks run ahead; their
 * 5-norm in waves after the first of blocks of several warps that stream without barriers, where issue is the
 * longest part or near it).
 *
 * Halo sectors come from memory or, if still there, from L2. Between a block's read and its neighbour's pass
 * the bytes of the blocks between them, or, if both are resident, a few steps of all resident blocks. Up to
 * half of L2 of such bytes, every re-read hits; beyond, the share that hits falls as one over the bytes. */
double vf_model_seconds(const struct vf_gpu *gpu, const struct vf_kernel_traffic *traffic,
                        struct vf_model_detail *detail);

#endif
