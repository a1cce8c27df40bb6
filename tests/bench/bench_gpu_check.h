/* What a flow's result must be: computed by the scalar functions, stage by stage, on a small grid and around
 * sampled places of the full one. */
#ifndef VF_BENCH_GPU_CHECK_H
#define VF_BENCH_GPU_CHECK_H

#include "bench_gpu_device.h"
#include "bench_gpu_stencils.h"

/* A box of cells of a grid; its values, sink by sink, as they are stored. */
struct bench_box {
    ptrdiff_t at[3], extent[3];  /* x, y, z */
    void *value[VF_MAX_OUTPUTS]; /* owned */
};

#define BENCH_BOXES 12

struct bench_right {
    const struct bench_flow *flow;
    struct bench_grid grid, small;
    struct bench_box whole; /* of the small grid */
    struct bench_box box[BENCH_BOXES];
};

/* The small grid that a full one is checked with. */
struct bench_grid bench_small_grid(struct bench_grid grid, int dim);

/* `random` are the sources. */
void bench_right_open(struct bench_right *right, const struct bench_flow *flow, struct bench_grid grid,
                      const struct bench_random *random);
void bench_right_close(struct bench_right *right);

/* Whether arrays on the device, of the small grid or the full one, hold it: every bit. Else `where` says what
 * does not. */
bool bench_right_small(const struct bench_right *right, struct bench_device *device, const CUdeviceptr *sink,
                       char where[128]);
bool bench_right_full(const struct bench_right *right, struct bench_device *device, const CUdeviceptr *sink,
                      char where[128]);

#endif
