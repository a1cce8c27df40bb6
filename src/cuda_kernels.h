/* A plan's kernels made ready for a device: compiled within the safeguards, with their parameters. */
#ifndef VF_CUDA_KERNELS_H
#define VF_CUDA_KERNELS_H

#include "cuda_device.h"
#include "error.h"
#include "gpu_plan.h"

/* The same layout as kernels/device.h's VfArgs, up to the parameters, which follow. */
struct vf_kernel_args {
    CUdeviceptr in[VF_KERNEL_FIELDS], out[VF_KERNEL_FIELDS];
    long long pitch, plane; /* elements */
    int nx, ny, nz, z_base, z_begin, z_end, tiles[3], unused;
    double outside;
    CUdeviceptr table;
};

/* A launch, ready. */
struct vf_cuda_launch {
    struct vf_kernel_work work;
    struct vf_cuda_made made;
    CUdeviceptr table;           /* parameters in memory; 0: arguments */
    struct vf_kernel_args *args; /* owned; parameters follow */
    ptrdiff_t begin, end;        /* planes to compute; only the caller uses them */
};

/* Compiles one of the plan's launches, unless it is remembered, and fills its parameters.
 * `kernel` is all zero before; it is closed also after a failure. `stream` takes the upload of long
 * parameters. */
enum vf_status vf_cuda_launch_open(struct vf_cuda_launch *kernel, struct vf_cuda *cuda,
                                   const struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                   const struct vf_launch *launch, CUstream stream, struct vf_error *error);
void vf_cuda_launch_close(struct vf_cuda_launch *kernel, struct vf_cuda *cuda);

/* Launches it on the stream. The caller has filled the arguments' arrays and geometry; tiles and table are
 * filled here. */
enum vf_status vf_cuda_launch_start(struct vf_cuda_launch *kernel, const struct vf_cuda *cuda,
                                    CUstream stream, struct vf_error *error);

#endif
