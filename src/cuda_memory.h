/* Device memory that is kept for the next one who asks for as much: iterations ask for the same fields run
 * after run, and the device waits while the driver takes and frees them. */
#ifndef VF_CUDA_MEMORY_H
#define VF_CUDA_MEMORY_H

#include "cuda_device.h"

/* What is kept is freed before this fails for want of memory. The main thread's, as are the others. */
CUresult vf_cuda_take(struct vf_cuda *cuda, CUdeviceptr *address, size_t bytes);

/* Nothing that was begun may still use it. 0 is nothing. */
void vf_cuda_give_back(struct vf_cuda *cuda, CUdeviceptr address);

/* Bytes that nobody uses. */
size_t vf_cuda_kept_bytes(const struct vf_cuda *cuda);

/* Frees them. */
void vf_cuda_free_kept(struct vf_cuda *cuda);

#endif
