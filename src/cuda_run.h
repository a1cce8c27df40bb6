/* Running a flow's kernels on a CUDA device: a whole job, or slabs of which some are on their way at once. */
#ifndef VF_CUDA_RUN_H
#define VF_CUDA_RUN_H

#include "cuda_sweep.h"

/* Computes the job (all of its slab) by the plan's kernels. Sources and sinks are in host memory, or, where
 * array->device is not 0, on the device. When they do not fit the device together they go through it in
 * slabs, as thin as must be. Whatever the device does wrong is VF_DEVICE with a message: results may be
 * partly written, and the CPU can take over. */
enum vf_status vf_cuda_run(struct vf_cuda *cuda, const struct vf_gpu_plan *plan, const struct vf_job *job,
                           struct vf_error *error);

/* A job whose arrays are all on the device is on its way when vf_cuda_run returns, behind at most one other:
 * the next is made ready meanwhile. Jobs come one after another on the device's stream, and one with arrays
 * in host memory is waited for, so that those before it are done as well; what they fail at may be told of a
 * later one. Whoever ran jobs says so when there are no more, or when one failed. */
void vf_cuda_end_runs(struct vf_cuda *cuda);

/* One slab on its way; all zero before the first. */
struct vf_cuda_lane {
    struct vf_cuda_sweep sweep;
    bool opened;
};

/* Begins the job: uploads, kernels and downloads, one after another beside those of other lanes. Its arrays,
 * of one image, should be in pinned memory; they and the job are used until it was waited for. The first call
 * opens the lane; later jobs are of the same plan, flow and grid. Nothing is under way after a failure. */
enum vf_status vf_cuda_lane_start(struct vf_cuda_lane *lane, struct vf_cuda *cuda,
                                  const struct vf_gpu_plan *plan, const struct vf_job *job,
                                  struct vf_error *error);
enum vf_status vf_cuda_lane_wait(struct vf_cuda_lane *lane, struct vf_error *error);
void vf_cuda_lane_close(struct vf_cuda_lane *lane);

#endif
