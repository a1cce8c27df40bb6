/* Running a flow's kernels on a CUDA device. */
#ifndef VF_CUDA_RUN_H
#define VF_CUDA_RUN_H

#include "cuda_sweep.h"

/* Computes the job (all of its slab) by the plan's kernels. Sources and sinks are in host memory, or, where
 * array->device is not NULL, on the device. When they do not fit the device together they go through it in
 * slabs, as thin as must be. Whatever the device does wrong is VF_DEVICE with a message: results may be
 * partly written, and the CPU can take over. */
enum vf_status vf_cuda_run(struct vf_cuda *cuda, const struct vf_gpu_plan *plan, const struct vf_job *job,
                           struct vf_error *error);

#endif
