/* Memory that is kept for the next one who asks for as much: iterations ask for the same fields run after
 * run, and the device waits while the driver takes and frees them, or pins what transfers go through. */
#ifndef VF_CUDA_MEMORY_H
#define VF_CUDA_MEMORY_H

#include "cuda_device.h"

/* What is kept is freed before this fails for want of memory. The main thread's, as are the others. */
CUresult vf_cuda_take(struct vf_cuda *cuda, CUdeviceptr *address, size_t bytes);

/* Nothing that was begun may still use it, but for what is on the device's stream, where its next user comes
 * after that. 0 is nothing. */
void vf_cuda_give_back(struct vf_cuda *cuda, CUdeviceptr address);

/* Bytes that nobody uses. */
size_t vf_cuda_kept_bytes(const struct vf_cuda *cuda);

/* Frees them. */
void vf_cuda_free_kept(struct vf_cuda *cuda);

/* The device's one block of host memory for transfers, of at least `bytes`: pinned, or plain where no more
 * can be pinned. Who had it before is done with it. NULL, and a message, where there is no memory. */
void *vf_cuda_host_room(struct vf_cuda *cuda, size_t bytes, struct vf_error *error);

/* Before the device is closed. */
void vf_cuda_free_host(struct vf_cuda *cuda);

#endif
