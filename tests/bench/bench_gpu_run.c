#include "bench_gpu_run.h"

#include <string.h>

void bench_arrays_open(struct bench_device *device, const struct bench_flow *flow,
                       const struct bench_random *random, struct bench_grid grid, bool poisoned, int turns,
                       struct bench_arrays *arrays)
{
    arrays->grid = grid;
    arrays->turns = turns;
    for (int turn = 0; turn < turns; turn++) {
        for (int k = 0; k < flow->flow.source_count; k++) {
            arrays->source[turn][k] =
                bench_array_alloc(device, bench_array_bytes(grid, flow->source_type[k]));
            bench_array_fill(device, arrays->source[turn][k], grid, poisoned, &random[k]);
        }
        for (int k = 0; k < flow->flow.sink_count; k++)
            arrays->sink[turn][k] = bench_array_alloc(device, bench_array_bytes(grid, flow->sink_type[k]));
    }
}

void bench_arrays_close(struct bench_device *device, const struct bench_flow *flow,
                        struct bench_arrays *arrays)
{
    for (int turn = 0; turn < arrays->turns; turn++) {
        for (int k = 0; k < flow->flow.source_count; k++)
            bench_array_free(device, arrays->source[turn][k]);
        for (int k = 0; k < flow->flow.sink_count; k++)
            bench_array_free(device, arrays->sink[turn][k]);
    }
}

enum vf_status bench_run_open(struct bench_run *run, struct bench_device *device,
                              const struct bench_flow *flow, const struct vf_gpu_plan *plan,
                              const struct bench_arrays *arrays, struct vf_error *error)
{
    struct vf_plane_range window;
    enum vf_status status;
    bool fits;
    memset(run, 0, sizeof *run);
    run->arrays = arrays;
    for (int k = 0; k < flow->flow.source_count; k++)
        run->source[k] = (struct vf_array){.type = flow->source_type[k], .device = arrays->source[0][k]};
    for (int k = 0; k < flow->flow.sink_count; k++) {
        run->stored[k] = (struct vf_array){.type = flow->sink_type[k], .device = arrays->sink[0][k]};
        run->sink[k].array = &run->stored[k];
    }
    run->job = (struct vf_job){.flow = &flow->flow,
                               .nx = arrays->grid.nx,
                               .ny = arrays->grid.ny,
                               .nz = arrays->grid.nz,
                               .batch = 1,
                               .z_end = arrays->grid.nz,
                               .source = run->source,
                               .sink = run->sink,
                               .threads = 1};
    VF_TRY(vf_cuda_sweep_open(&run->sweep, device->cuda, plan, &run->job, false, error));
    VF_TRY(vf_cuda_sweep_set_slab(&run->sweep, run->sweep.all, &window, error));
    VF_TRY(vf_cuda_sweep_take(&run->sweep, run->sweep.planes, &fits, error));
    if (!fits)
        status = vf_fail(error, VF_DEVICE, "the device has not enough memory");
out:
    return status;
}

enum vf_status bench_run_start(void *context, int turn, struct vf_error *error)
{
    struct bench_run *run = context;
    const int set = turn % run->arrays->turns;
    for (int k = 0; k < run->job.flow->source_count; k++)
        run->sweep.source[k] = run->arrays->source[set][k];
    for (int k = 0; k < run->job.flow->sink_count; k++)
        run->sweep.sink[k] = run->arrays->sink[set][k];
    return vf_cuda_sweep_launch(&run->sweep, 0, error);
}
