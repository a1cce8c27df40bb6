/* The right result of a flow, for comparison: computed stage by stage by the scalar functions, on the whole
 * of a small grid and in some boxes of the full one. */
#ifndef VF_BENCH_GPU_CHECK_H
#define VF_BENCH_GPU_CHECK_H

#include "bench_gpu_device.h"
#include "bench_gpu_stencils.h"

/* A box of cells of a grid, and the values of every sink there, in the type in which they are stored. */
struct bench_box {
    ptrdiff_t at[3], extent[3];  /* x, y, z */
    void *value[VF_MAX_OUTPUTS]; /* owned */
};

#define BENCH_BOXES 12

struct bench_right {
    const struct bench_flow *flow;
    struct bench_grid grid, small;
    struct bench_box whole;            /* all of the small grid */
    struct bench_box box[BENCH_BOXES]; /* in the full grid */
};

/* The small grid that a full one is checked with. */
struct bench_grid bench_small_grid(struct bench_grid grid, int dim);

/* `random` says what the sources hold, one entry for each. */
void bench_right_open(struct bench_right *right, const struct bench_flow *flow, struct bench_grid grid,
                      const struct bench_random *random);
void bench_right_close(struct bench_right *right);

/* Whether arrays on the device, of the small grid or of the full one, hold the right result, bit for bit. If
 * not, `where` names a place that differs. */
bool bench_right_small(const struct bench_right *right, struct bench_device *device, const CUdeviceptr *sink,
                       char where[128]);
bool bench_right_full(const struct bench_right *right, struct bench_device *device, const CUdeviceptr *sink,
                      char where[128]);

#endif
