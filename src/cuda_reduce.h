/* Reductions of what a job's kernels made, on the device. */
#ifndef VF_CUDA_REDUCE_H
#define VF_CUDA_REDUCE_H

#include "cuda_sweep.h"
#include "text.h"

/* Feeds the reducers of all sinks with planes [wanted), which the sinks' buffers hold. Where the device
 * cannot reduce a sink, its planes are downloaded for the CPU to do so. After a failure the reducers are as
 * before: the CPU may compute the planes again. */
enum vf_status vf_cuda_reduce(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted,
                              struct vf_error *error);

/* The text of the kernel for one reduction: it fills the device's shared memory. */
void vf_cuda_reduce_source(enum vf_reduction reduction, bool is_double, const struct vf_gpu *gpu,
                           struct vf_text *text);

#endif
