/* Planes between host memory and the device: straight where host memory is pinned, else through two pinned
 * buffers: one fills while the other is on its way. */
#ifndef VF_CUDA_TRANSFER_H
#define VF_CUDA_TRANSFER_H

#include "cuda_device.h"
#include "error.h"

/* vf_cuda_check, but what fails is VF_DEVICE. */
enum vf_status vf_cuda_device_check(const struct vf_cuda_api *api, CUresult result, const char *what,
                                    struct vf_error *error);

/* Bytes of each buffer at most, unless a row is longer. */
#define VF_STAGING_MOST ((size_t)32 << 20)

struct vf_staging {
    struct vf_cuda *cuda;
    CUstream stream;
    int threads;   /* that copy within host memory */
    size_t bytes;  /* of each half; 0: copies go straight */
    void *half[2]; /* owned; pinned, or plain memory where `pinned` is false */
    bool pinned;
    CUevent done[2]; /* the half's last transfer */
};

/* Planes on the device: rows of `row_bytes` bytes `pitch_bytes` apart, `rows` of them a plane. */
struct vf_planes {
    CUdeviceptr device; /* the first row of the first plane */
    size_t row_bytes, pitch_bytes;
    ptrdiff_t rows;
};

/* `largest` is the most bytes of any one transfer: small ones get small buffers. */
enum vf_status vf_staging_open(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream,
                               size_t largest, size_t row_bytes, int threads, struct vf_error *error);
void vf_staging_close(struct vf_staging *staging);

/* Without buffers: host memory is expected to be pinned, and is used until the stream is waited for. Where it
 * is not, the driver copies it at once. */
void vf_staging_open_straight(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream);

/* plane[0..count) in host memory, without padding. Uploads are ordered by the stream; downloads are done when
 * they return, unless they go straight. Failures are VF_DEVICE. */
enum vf_status vf_staging_upload(struct vf_staging *staging, const struct vf_planes *to, void *const *plane,
                                 ptrdiff_t count, struct vf_error *error);
enum vf_status vf_staging_download(struct vf_staging *staging, const struct vf_planes *from,
                                   void *const *plane, ptrdiff_t count, struct vf_error *error);

#endif
