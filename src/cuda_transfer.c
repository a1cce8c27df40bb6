#include "cuda_transfer.h"

#include <string.h>

#include "cuda_memory.h"
#include "size.h"

/* A transfer is not cut into less. */
#define PIECE_BYTES ((size_t)1 << 20)
/* Of a copy within host memory, what a thread takes at a time. */
#define PART_BYTES ((size_t)256 << 10)

#define TRY_CUDA(call, what) \
    VF_TRY(vf_cuda_device_check(&staging->cuda->api, staging->cuda->api.call, what, error))

enum vf_status vf_cuda_device_check(const struct vf_cuda_api *api, CUresult result, const char *what,
                                    struct vf_error *error)
{
    return vf_cuda_check(api, result, what, error) == VF_OK ? VF_OK : VF_DEVICE;
}

enum vf_status vf_staging_open(struct vf_staging *staging, struct vf_cuda *cuda, CUstream stream,
                               size_t largest, size_t row_bytes, struct vf_team *team, int threads,
                               struct vf_error *error)
{
    enum vf_status status = VF_OK;
    const size_t share = largest / VF_STAGING_BUFFERS, most = VF_STAGING_MOST / VF_STAGING_BUFFERS;
    const size_t least = largest < PIECE_BYTES ? largest : PIECE_BYTES;
    const size_t bytes = share < least ? least : share < most ? share : most;
    *staging = (struct vf_staging){.cuda = cuda,
                                   .stream = stream,
                                   .team = team,
                                   .threads = threads,
                                   .bytes = bytes > row_bytes ? bytes : row_bytes};
    staging->data = vf_cuda_host_room(cuda, VF_STAGING_BUFFERS, staging->bytes, error);
    if (staging->data == NULL)
        status = VF_FAILED;
    VF_TRY(status);
    for (int i = 0; i < VF_STAGING_BUFFERS; i++)
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
    for (int i = 0; i < VF_STAGING_BUFFERS; i++)
        if (staging->done[i] != NULL)
            staging->cuda->api.cuEventDestroy(staging->done[i]);
    *staging = (struct vf_staging){0};
}

/* Rows [row, row + count), numbered through all planes, between their planes and a packed buffer. */
struct copy {
    const struct vf_planes *planes;
    void *const *plane;
    ptrdiff_t row, count, part; /* rows that a thread takes at a time */
    char *packed;
    bool out;
};

static enum vf_status copy_part(void *context, size_t item, int thread, struct vf_error *error)
{
    (void)thread, (void)error;
    const struct copy *copy = context;
    const struct vf_planes *planes = copy->planes;
    const size_t bytes = planes->row_bytes;
    const ptrdiff_t begin = (ptrdiff_t)item * copy->part,
                    end = copy->count - begin < copy->part ? copy->count : begin + copy->part;
    for (ptrdiff_t i = begin; i < end; i++) {
        const ptrdiff_t z = (copy->row + i) / planes->rows, y = (copy->row + i) % planes->rows;
        char *const outside = (char *)copy->plane[z] + (size_t)y * bytes;
        char *const inside = copy->packed + (size_t)i * bytes;
        memcpy(copy->out ? outside : inside, copy->out ? inside : outside, bytes);
    }
    return VF_OK;
}

static void copy_rows(const struct vf_staging *staging, const struct vf_planes *planes, void *const *plane,
                      ptrdiff_t row, ptrdiff_t count, char *packed, bool out)
{
    struct vf_error never;
    const ptrdiff_t part = (ptrdiff_t)(PART_BYTES / planes->row_bytes) + 1;
    struct copy copy = {planes, plane, row, count, part, packed, out};
    vf_team_each(staging->team, staging->threads, (size_t)vf_ceil_div(count, part), copy_part, &copy, &never);
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

/* Buffers take turns. */
static char *buffer(const struct vf_staging *staging, ptrdiff_t turn)
{
    return staging->data + (size_t)(turn % VF_STAGING_BUFFERS) * staging->bytes;
}

static CUevent *done(struct vf_staging *staging, ptrdiff_t turn)
{
    return &staging->done[turn % VF_STAGING_BUFFERS];
}

enum vf_status vf_staging_upload(struct vf_staging *staging, const struct vf_planes *to, void *const *plane,
                                 ptrdiff_t count, struct vf_error *error)
{
    const ptrdiff_t rows = count * to->rows, most = (ptrdiff_t)(staging->bytes / to->row_bytes);
    enum vf_status status = VF_OK;
    if (staging->bytes == 0)
        return transfer_straight(staging, to, plane, count, false, error);
    for (ptrdiff_t row = 0, turn = 0; row < rows; row += most, turn++) {
        const ptrdiff_t now = rows - row < most ? rows - row : most;
        char *const packed = buffer(staging, turn);
        TRY_CUDA(cuEventSynchronize(*done(staging, turn)), "waiting for an upload");
        copy_rows(staging, to, plane, row, now, packed, false);
        VF_TRY(vf_cuda_device_check(&staging->cuda->api, transfer(staging, to, row, now, packed, false),
                                    "uploading", error));
        TRY_CUDA(cuEventRecord(*done(staging, turn), staging->stream), "uploading");
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
    const ptrdiff_t turns = vf_ceil_div(rows, most), ahead = VF_STAGING_BUFFERS - 1;
    for (ptrdiff_t turn = 0; turn < turns + ahead; turn++) {
        if (turn < turns) {
            const ptrdiff_t row = turn * most, now = rows - row < most ? rows - row : most;
            VF_TRY(vf_cuda_device_check(&staging->cuda->api,
                                        transfer(staging, from, row, now, buffer(staging, turn), true),
                                        "downloading", error));
            TRY_CUDA(cuEventRecord(*done(staging, turn), staging->stream), "downloading");
        }
        const ptrdiff_t there = turn - ahead, row = there * most, now = rows - row < most ? rows - row : most;
        if (there >= 0) {
            TRY_CUDA(cuEventSynchronize(*done(staging, there)), "waiting for a download");
            copy_rows(staging, from, plane, row, now, buffer(staging, there), true);
        }
    }
out:
    return status;
}
