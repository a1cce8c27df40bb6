/* A plan's kernels, ready to run on arrays of a grid that stay on the device. */
#ifndef VF_BENCH_GPU_RUN_H
#define VF_BENCH_GPU_RUN_H

#include "bench_gpu_device.h"
#include "bench_gpu_stencils.h"

/* Arrays for the sources and sinks of a flow. If they would stay in L2, there are several sets, which take
 * turns. */
struct bench_arrays {
    struct bench_grid grid;
    int turns;
    CUdeviceptr source[BENCH_MOST_TURNS][VF_MAX_INPUTS], sink[BENCH_MOST_TURNS][VF_MAX_OUTPUTS];
};

/* A plan's kernels on arrays. */
struct bench_run {
    struct vf_cuda_sweep sweep;
    struct vf_job job;
    const struct bench_arrays *arrays;
    struct vf_array source[VF_MAX_INPUTS], stored[VF_MAX_OUTPUTS];
    struct vf_sink sink[VF_MAX_OUTPUTS];
};

/* `random` has an entry for each source; `poisoned` is as bench_array_fill has it. */
void bench_arrays_open(struct bench_device *device, const struct bench_flow *flow,
                       const struct bench_random *random, struct bench_grid grid, bool poisoned, int turns,
                       struct bench_arrays *arrays);
void bench_arrays_close(struct bench_device *device, const struct bench_flow *flow,
                        struct bench_arrays *arrays);

/* Compiles the plan's kernels. What is passed is borrowed. run->sweep is closed by vf_cuda_sweep_close, also
 * after a failure. */
enum vf_status bench_run_open(struct bench_run *run, struct bench_device *device,
                              const struct bench_flow *flow, const struct vf_gpu_plan *plan,
                              const struct bench_arrays *arrays, struct vf_error *error);

/* Starts the kernels once, on set number `turn` of the arrays. For struct vf_cuda_work, with `run` as
 * context. */
enum vf_status bench_run_start(void *run, int turn, struct vf_error *error);

#endif
