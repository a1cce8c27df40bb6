/* Running a flow's kernels on a CUDA device. */
#ifndef VF_CUDA_RUN_H
#define VF_CUDA_RUN_H

#include "cuda_device.h"
#include "error.h"
#include "gpu_plan.h"

/* A field that stays on the device between runs: whole, in the compute type, rows vf_cuda_pitch apart. */
struct vf_cuda_field {
    CUdeviceptr data;
};

/* Elements from row to row of a field on the device: rows start at multiples of 32 elements. */
size_t vf_cuda_pitch(ptrdiff_t nx);

/* Memory for a whole field of `planes` planes; false, and nothing held, when the device has not enough. */
bool vf_cuda_field_alloc(struct vf_cuda *cuda, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t planes,
                         enum vf_type type, struct vf_cuda_field *field);
void vf_cuda_field_free(struct vf_cuda *cuda, struct vf_cuda_field *field);

/* Computes the job (all of its slab) by the plan's kernels. Sources and sinks are in host memory, or, where
 * array->device is not NULL, on the device. When they do not fit the device together they go through it in
 * slabs, as thin as must be. Whatever the device does wrong is VF_DEVICE with a message: results may be
 * partly written, and the CPU can take over. */
enum vf_status vf_cuda_run(struct vf_cuda *cuda, const struct vf_gpu_plan *plan, const struct vf_job *job,
                           struct vf_error *error);

#endif
