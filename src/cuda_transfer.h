/* Copies planes between host memory and the device: straight if the host memory is pinned, else through a few
 * pinned buffers, of which some are filled while others are on their way. */
#ifndef VF_CUDA_TRANSFER_H
#define VF_CUDA_TRANSFER_H

#include "cuda_device.h"
#include "error.h"
#include "team.h"

enum { VF_STAGING_BUFFERS = 4 };

/* The most bytes of all buffers together, unless rows are longer. Pinning memory takes long (half a
 * millisecond a MiB on an H200's host), and four buffers of this size in all keep the bus as busy as two do
 * that have twice as much. */
#define VF_STAGING_MOST ((size_t)16 << 20)

struct vf_staging {
    struct vf_cuda *cuda;
    CUstream stream;
    struct vf_team *team;             /* its threads copy between host memory and buffers; */
    int threads;                      /* so many of them */
    size_t bytes;                     /* of each buffer; 0: copies go straight */
    char *data;                       /* the buffers, one after another, from vf_cuda_host_room */
    CUevent done[VF_STAGING_BUFFERS]; /* when each buffer's last transfer is over */
};

/* Planes on the device, each of `rows` rows of `row_bytes` bytes, which begin `pitch_bytes` apart. */
struct vf_planes {
    CUdeviceptr device; /* the first row of the first plane */
    size_t row_bytes, pitch_bytes;
    ptrdiff_t rows;
};

/* `largest` is the most bytes of any one transfer: small ones get small buffers. Of the stagings of a device
 * only one may be open with buffers. */
enum vf_status vf_staging_open(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream,
                               size_t largest, size_t row_bytes, struct vf_team *team, int threads,
                               struct vf_error *error);
void vf_staging_close(struct vf_staging *staging);

/* Without buffers: host memory should be pinned, and is used until the stream is waited for, also if
 * it is not pinned: the driver may copy it at once, or not. */
void vf_staging_open_straight(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream);

/* Has the system give the pages of plane[0..count), which a download will fill: all threads ask for them,
 * while the device computes. Else few threads would, piece by piece as the download comes in. What the planes
 * hold is lost. */
void vf_staging_take_pages(struct vf_staging *staging, const struct vf_planes *from, void *const *plane,
                           ptrdiff_t count);

/* plane[0..count) are in host memory, without padding between rows. Uploads are done in the stream's order.
 * Downloads are done when the function returns, unless they go straight. Failures are VF_DEVICE. */
enum vf_status vf_staging_upload(struct vf_staging *staging, const struct vf_planes *to, void *const *plane,
                                 ptrdiff_t count, struct vf_error *error);
enum vf_status vf_staging_download(struct vf_staging *staging, const struct vf_planes *from,
                                   void *const *plane, ptrdiff_t count, struct vf_error *error);

#endif
