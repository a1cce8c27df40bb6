/* Planes between host memory and the device: straight where host memory is pinned, else through a few pinned
 * buffers: some fill while others are on their way. */
#ifndef VF_CUDA_TRANSFER_H
#define VF_CUDA_TRANSFER_H

#include "cuda_device.h"
#include "error.h"
#include "team.h"

/* vf_cuda_check, but what fails is VF_DEVICE. */
enum vf_status vf_cuda_device_check(const struct vf_cuda_api *api, CUresult result, const char *what,
                                    struct vf_error *error);

enum { VF_STAGING_BUFFERS = 4 };

/* Bytes of all buffers at most, unless rows are longer. Memory takes long to pin (half a millisecond a
 * MiB on an H200's host), and these keep its bus as busy as twice as much in two buffers does. */
#define VF_STAGING_MOST ((size_t)16 << 20)

struct vf_staging {
    struct vf_cuda *cuda;
    CUstream stream;
    struct vf_team *team; /* that copies within host memory, by this many: */
    int threads;
    size_t bytes;                     /* of each buffer; 0: copies go straight */
    char *data;                       /* the buffers, one after another: vf_cuda_host_room's */
    CUevent done[VF_STAGING_BUFFERS]; /* the buffer's last transfer */
};

/* Planes on the device: rows of `row_bytes` bytes `pitch_bytes` apart, `rows` of them a plane. */
struct vf_planes {
    CUdeviceptr device; /* the first row of the first plane */
    size_t row_bytes, pitch_bytes;
    ptrdiff_t rows;
};

/* `largest` is the most bytes of any one transfer: small ones get small buffers. One at a time of a device's
 * has buffers. */
enum vf_status vf_staging_open(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream,
                               size_t largest, size_t row_bytes, struct vf_team *team, int threads,
                               struct vf_error *error);
void vf_staging_close(struct vf_staging *staging);

/* Without buffers: host memory is expected to be pinned, and is used until the stream is waited for. Where it
 * is not, the driver copies it at once. */
void vf_staging_open_straight(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream);

/* Takes the pages of plane[0..count), which a download will fill: all threads do so while the device
 * computes, where few would as pieces come in. What the planes hold is lost. */
void vf_staging_take_pages(struct vf_staging *staging, const struct vf_planes *from, void *const *plane,
                           ptrdiff_t count);

/* plane[0..count) in host memory, without padding. Uploads are ordered by the stream; downloads are done when
 * they return, unless they go straight. Failures are VF_DEVICE. */
enum vf_status vf_staging_upload(struct vf_staging *staging, const struct vf_planes *to, void *const *plane,
                                 ptrdiff_t count, struct vf_error *error);
enum vf_status vf_staging_download(struct vf_staging *staging, const struct vf_planes *from,
                                   void *const *plane, ptrdiff_t count, struct vf_error *error);

#endif
