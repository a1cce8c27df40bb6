#include "cuda_transfer.h"

#include <string.h>

#include "alloc.h"
#include "size.h"

/* Below this a copy within host memory is not worth waking threads. */
#define PARALLEL_BYTES ((size_t)1 << 20)

#define TRY_CUDA(call, what) \
    VF_TRY(vf_cuda_device_check(&staging->cuda->api, staging->cuda->api.call, what, error))

enum vf_status vf_cuda_device_check(const struct vf_cuda_api *api, CUresult result, const char *what,
                                    struct vf_error *error)
{
    return vf_cuda_check(api, result, what, error) == VF_OK ? VF_OK : VF_DEVICE;
}

enum vf_status vf_staging_open(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream,
                               size_t largest, size_t row_bytes, int threads, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    size_t bytes = largest < VF_STAGING_MOST ? largest : VF_STAGING_MOST;
    bytes = bytes > row_bytes ? bytes : row_bytes;
    *staging = (struct vf_staging){
        .cuda = cuda, .stream = stream, .threads = threads, .bytes = bytes, .pinned = true};
    for (int i = 0; i < 2 && staging->pinned; i++)
        staging->pinned = cuda->api.cuMemHostAlloc(&staging->half[i], bytes, 0) == CUDA_SUCCESS;
    if (!staging->pinned) {
        if (staging->half[0] != NULL)
            cuda->api.cuMemFreeHost(staging->half[0]);
        staging->half[0] = vf_alloc(bytes, 1, "a transfer's buffer", error);
        staging->half[1] = vf_alloc(bytes, 1, "a transfer's buffer", error);
        if (staging->half[0] == NULL || staging->half[1] == NULL)
            status = VF_FAILED;
        VF_TRY(status);
    }
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cuEventCreate(&staging->done[i], CU_EVENT_DEFAULT), "making an event");
out:
    if (status != VF_OK)
        vf_staging_close(staging);
    return status;
}

void vf_staging_open_straight(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream)
{
    *staging = (struct vf_staging){.cuda = cuda, .stream = stream};
}

void vf_staging_close(struct vf_staging *staging)
{
    if (staging->cuda == NULL)
        return;
    /* A transfer that is under way may still use the buffers. */
    staging->cuda->api.cuStreamSynchronize(staging->stream);
    for (int i = 0; i < 2; i++) {
        if (staging->done[i] != NULL)
            staging->cuda->api.cuEventDestroy(staging->done[i]);
        if (!staging->pinned)
            vf_free(staging->half[i]);
        else if (staging->half[i] != NULL)
            staging->cuda->api.cuMemFreeHost(staging->half[i]);
    }
    *staging = (struct vf_staging){0};
}

/* Rows [row, row + count), numbered through all planes, between their planes and a packed buffer. */
static void copy_rows(const struct vf_staging *staging, const struct vf_planes *planes, void *const *plane,
                      ptrdiff_t row, ptrdiff_t count, char *packed, bool out)
{
    const size_t bytes = planes->row_bytes;
#pragma omp parallel for num_threads(staging->threads) if ((size_t)count * bytes >= PARALLEL_BYTES)
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t z = (row + i) / planes->rows, y = (row + i) % planes->rows;
        char *const outside = (char *)plane[z] + (size_t)y * bytes, *const inside =
                                                                        packed + (size_t)i * bytes;
        memcpy(out ? outside : inside, out ? inside : outside, bytes);
    }
}

static CUresult transfer(const struct vf_staging *staging, const struct vf_planes *planes, ptrdiff_t row,
                         ptrdiff_t count, void *packed, bool out)
{
    const CUdeviceptr device = planes->device + (size_t)row * planes->pitch_bytes;
    CUDA_MEMCPY2D copy = {.WidthInBytes = planes->row_bytes, .Height = (size_t)count};
    if (out) {
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = device;
        copy.srcPitch = planes->pitch_bytes;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = packed;
        copy.dstPitch = planes->row_bytes;
    } else {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = packed;
        copy.srcPitch = planes->row_bytes;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = device;
        copy.dstPitch = planes->pitch_bytes;
    }
    return staging->cuda->api.cuMemcpy2DAsync(&copy, staging->stream);
}

/* Planes that lie one after another in one copy. */
static enum vf_status transfer_straight(const struct vf_staging *staging, const struct vf_planes *planes,
                                        void *const *plane, ptrdiff_t count, bool out, struct vf_error *error)
{
    const size_t bytes = (size_t)planes->rows * planes->row_bytes;
    enum vf_status status = VF_OK;
    for (ptrdiff_t z = 0, n; z < count && status == VF_OK; z += n) {
        n = 1;
        while (z + n < count && (char *)plane[z + n] == (char *)plane[z] + (size_t)n * bytes)
            n++;
        status = vf_cuda_device_check(
            &staging->cuda->api, transfer(staging, planes, z * planes->rows, n * planes->rows, plane[z], out),
            out ? "downloading" : "uploading", error);
    }
    return status;
}

enum vf_status vf_staging_upload(struct vf_staging *staging, const struct vf_planes *to, void *const *plane,
                                 ptrdiff_t count, struct vf_error *error)
{
    const ptrdiff_t rows = count * to->rows, most = (ptrdiff_t)(staging->bytes / to->row_bytes);
    enum vf_status status = VF_OK;
    if (staging->bytes == 0)
        return transfer_straight(staging, to, plane, count, false, error);
    for (ptrdiff_t row = 0, turn = 0; row < rows; row += most, turn ^= 1) {
        const ptrdiff_t now = rows - row < most ? rows - row : most;
        TRY_CUDA(cuEventSynchronize(staging->done[turn]), "waiting for an upload");
        copy_rows(staging, to, plane, row, now, staging->half[turn], false);
        VF_TRY(vf_cuda_device_check(&staging->cuda->api,
                                    transfer(staging, to, row, now, staging->half[turn], false), "uploading",
                                    error));
        TRY_CUDA(cuEventRecord(staging->done[turn], staging->stream), "uploading");
    }
out:
    return status;
}

enum vf_status vf_staging_download(struct vf_staging *staging, const struct vf_planes *from,
                                   void *const *plane, ptrdiff_t count, struct vf_error *error)
{
    const ptrdiff_t rows = count * from->rows, most = (ptrdiff_t)(staging->bytes / from->row_bytes);
    enum vf_status status = VF_OK;
    if (staging->bytes == 0)
        return transfer_straight(staging, from, plane, count, true, error);
    const ptrdiff_t turns = vf_ceil_div(rows, most);
    for (ptrdiff_t turn = 0; turn <= turns; turn++) {
        if (turn < turns) {
            const ptrdiff_t row = turn * most, now = rows - row < most ? rows - row : most;
            VF_TRY(vf_cuda_device_check(&staging->cuda->api,
                                        transfer(staging, from, row, now, staging->half[turn % 2], true),
                                        "downloading", error));
            TRY_CUDA(cuEventRecord(staging->done[turn % 2], staging->stream), "downloading");
        }
        if (turn > 0) {
            const ptrdiff_t row = (turn - 1) * most, now = rows - row < most ? rows - row : most;
            TRY_CUDA(cuEventSynchronize(staging->done[(turn - 1) % 2]), "waiting for a download");
            copy_rows(staging, from, plane, row, now, staging->half[(turn - 1) % 2], true);
        }
    }
out:
    return status;
}
