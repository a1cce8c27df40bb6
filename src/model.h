/* How many seconds a GPU kernel will take, predicted from what one thread block does, to rank candidates
 * without running them. The few rates that the driver does not tell were fitted to one H200, where most
 * stencils come out within 25% (tests/test_model_h200.c). For other devices they are scaled by
 * multiprocessors (SMs), clock and memory bandwidth, which nobody has checked: trust the order more than the
 * seconds.
 *
 * It comes from two papers, whose own counts are in tests/paper_counts.h:
 *   Tabik: S. Tabik, M. Peemen, N. Guil, H. Corporaal, Demystifying the 16x16 thread-block for stencils on
 *          the GPU, 2015, doi 10.1002/cpe.3591.
 *   Rawat: P. S. Rawat et al., Effective resource management for enhancing performance of 2D and 3D stencils
 *          on GPUs, 2016, doi 10.1145/2884045.2884047.
 * They count transactions of a warp's width (128 bytes) and take each for a trip to memory. Today memory is
 * moved in sectors of 32 bytes, and most halos come from a large L1 and L2, so that fewer transactions need
 * not be faster. That is why memory, L2 and L1 are counted separately here. */
#ifndef VF_MODEL_H
#define VF_MODEL_H

#include <stddef.h>

#include "kernels/gpu.h"

#define VF_SECTOR_BYTES 32 /* what L2 and memory move */
#define VF_LINE_BYTES 128  /* what L1 looks up at once */

/* ---- counts of one warp-wide access ---- */

/* How many sectors, or lines, hold the `lanes` elements from `start` on, counted from an aligned address, on
 * either side of it. Elements are aligned. */
double vf_model_warp_sectors(ptrdiff_t start, int element, ptrdiff_t lanes);
double vf_model_warp_lines(ptrdiff_t start, int element, ptrdiff_t lanes);

/* ---- occupancy ---- */

/* In what units an SM hands out registers and shared memory. The papers calculate as if all were 1, and the
 * reserve 0. */
struct vf_granularity {
    int registers;         /* the registers of a warp are rounded up to a multiple of this */
    int parts;             /* of the register file; a warp's registers lie in one of them */
    size_t shared;         /* the bytes of a block are rounded up to a multiple of this */
    size_t shared_reserve; /* bytes that the driver takes for itself in every block */
};

/* Source: the CUDA toolkit's cuda_occupancy.h; compute capability 6.0 and later. */
struct vf_granularity vf_granularity_of(int capability);

struct vf_occupancy {
    int blocks;   /* resident on an SM; 0: such a block cannot run */
    int warps;    /* resident on an SM */
    double share; /* warps over the most that an SM holds, 0 to 1 */
};

/* How many blocks of so many threads and so many bytes of shared memory are resident. `registers` is of a
 * thread; 0: not known, and no bound. Tabik eq. 10 and 11, Rawat 2.1, in the device's units; quotients are
 * rounded down, as eq. 10 must mean. */
struct vf_occupancy vf_model_occupancy(const struct vf_gpu *gpu, int threads, int registers, size_t shared,
                                       const struct vf_granularity *granularity);

/* ---- predicted time ---- */

/* Which parts of a block's work go on at the same time. */
enum vf_overlap {
    VF_PHASES,     /* none: its phases follow one another, and only other blocks work while it waits */
    VF_OVERLAPS,   /* threads are in different phases, so that shared memory and arithmetic work at once */
    VF_RUNS_AHEAD, /* the same, and what is read comes so early that hardly anything waits for it */
};

/* What one thread block does, on average. The grid is `blocks` of them, which start in order, x fastest. */
struct vf_kernel_traffic {
    int threads;         /* of a block */
    int registers;       /* of a thread, compiled or estimated */
    size_t shared;       /* bytes of a block */
    ptrdiff_t tile[3];   /* cells that a block writes along x, y, z */
    ptrdiff_t blocks[3]; /* along x, y, z */
    ptrdiff_t steps;     /* planes or rows that a block streams one after another; 1 if it does not stream */

    /* Sectors of L2 that a block reads, beyond what its L1 and shared memory serve, and that it writes. Of
     * the reads, halo_sectors[axis] are of cells that its neighbour along the axis reads too; read_sectors
     * are the others. */
    double read_sectors, halo_sectors[3], written_sectors;
    /* Passes that L1 takes for all warp-wide loads and stores: for global ones vf_model_warp_lines of each,
     * for shared ones what bank conflicts make of it. */
    double global_wavefronts, shared_wavefronts;
    /* Instructions of all threads; other_ops are for addresses, memory and control. */
    double float_ops, double_ops, other_ops;
    double loads;           /* from global memory, of a thread; a vector is one */
    double loads_in_flight; /* how many of them are under way at once, at least 1 */
    double barriers;        /* that a block waits at */
    double issue_warps;     /* how many warps an SM needs to issue at its full rate; 0: as most kernels do */
    enum vf_overlap overlap;
};

/* Values of issue_warps, fitted on an H200. For kernels in which what a stage makes goes through shared
 * memory to the next one, again and again, so that instructions wait for those before (2186 kernels): */
#define VF_RING_ISSUE_WARPS 28
/* For those of them whose stages are weights within a plane, in blocks of more than two warps (12 kernels):
 */
#define VF_LIGHT_ISSUE_WARPS 18
/* For lines along x, y and z in one kernel, this over the cells that a thread works on, since cells wait for
 * each other no more than threads do (17 kernels): */
#define VF_LINES_ISSUE_WARPS 48.0

enum vf_model_limit {
    VF_LIMIT_MEMORY,
    VF_LIMIT_L2,
    VF_LIMIT_SHARED, /* the path that L1 and shared memory have in common */
    VF_LIMIT_ISSUE,
    VF_LIMIT_LATENCY,
    VF_LIMIT_LAUNCH,
    VF_LIMIT_COUNT,
};

/* For --explain. */
struct vf_model_detail {
    struct vf_occupancy occupancy;
    double waves; /* blocks of the grid over those that are resident at once */
    /* What each part would take alone: the bandwidth of memory and of L2, the path of L1 and shared memory,
     * instructions, the time that a block takes alone, the launch. */
    double seconds[VF_LIMIT_COUNT];
    enum vf_model_limit limit; /* the longest of them */
    double cell_bytes;         /* of memory, read and written, over the cells of all tiles */
};

/* A few words: "memory", "L1 and shared memory", ... */
const char *vf_model_limit_name(enum vf_model_limit limit);

/* Seconds of one launch; INFINITY if such a block cannot run. `detail` may be NULL.
 *
 * Blocks run in waves, each of as many as are resident at once. In a wave, memory, L2, the path of L1 and
 * shared memory, and the issue of instructions each take their amount of work over their rate; an SM with few
 * warps issues more slowly. And no wave is shorter than what a block takes with an SM for itself: its start;
 * loads / loads_in_flight times the memory's latency, which is Little's law with the bytes cancelled; its
 * barriers; its own work. So few blocks on an SM, or one, cannot hide their waits. The parts overlap, so they
 * are added as a 2.5-norm: the longest, and up to twice as much if others come near it. It is a 4-norm where
 * blocks run ahead, and a 5-norm for blocks of several warps that stream without barriers, in waves after the
 * first, if issue is the longest part or near it.
 *
 * Halo sectors come from L2 if they are still there, else from memory. Between the read of a block and that
 * of its neighbour, L2 takes the bytes of the blocks between them, or, if both are resident, those of a few
 * steps of all resident blocks. Up to half of L2's size, every second read hits; beyond, the share that hits
 * is inversely proportional to the bytes. */
double vf_model_seconds(const struct vf_gpu *gpu, const struct vf_kernel_traffic *traffic,
                        struct vf_model_detail *detail);

#endif
