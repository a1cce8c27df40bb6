#include "cuda_transfer.h"

#include <stdatomic.h>
#include <string.h>

#include "cuda_memory.h"
#include "size.h"

/* A transfer is not cut into less. */
#define PIECE_BYTES ((size_t)1 << 20)
/* Of a copy within host memory, what a thread takes at a time. */
#define PART_BYTES ((size_t)256 << 10)

/* Pieces that are open to threads while one is waited for, so that who is done with it has others to do; the
 * device has the rest. And threads that copy, at most: more of them only wait for memory. */
enum { AHEAD = 2, MOST_COPIERS = 8 };

#define TRY_CUDA(call, what) VF_TRY(vf_cuda_check(&staging->cuda->api, staging->cuda->api.call, what, error))

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
    staging->data = vf_cuda_host_room(cuda, VF_STAGING_BUFFERS * staging->bytes, error);
    if (staging->data == NULL)
        status = VF_FAILED;
    VF_TRY(status);
    for (int i = 0; i < VF_STAGING_BUFFERS; i++)
        TRY_CUDA(cuEventCreate(&staging->done[i], CU_EVENT_DEFAULT), "creating an event");
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
static enum vf_status transfer_straight(struct vf_staging *staging, const struct vf_planes *planes,
                                        void *const *plane, ptrdiff_t count, bool out, struct vf_error *error)
{
    const size_t bytes = (size_t)planes->rows * planes->row_bytes;
    enum vf_status status = VF_OK;
    for (ptrdiff_t z = 0, n; z < count && status == VF_OK; z += n) {
        n = 1;
        while (z + n < count && (char *)plane[z + n] == (char *)plane[z] + (size_t)n * bytes)
            n++;
        status = vf_cuda_check(&staging->cuda->api,
                               transfer(staging, planes, z * planes->rows, n * planes->rows, plane[z], out),
                               out ? "downloading" : "uploading", error);
    }
    return status;
}

/* ---- through the buffers ---- */

/* A transfer goes in pieces, each through one buffer after another, and pieces are copied within host memory
 * in parts, by all threads. The caller opens pieces to them, and waits for them and for the device. */
struct pump {
    struct vf_staging *staging;
    const struct vf_planes *planes;
    void *const *plane;
    bool out;
    ptrdiff_t rows, piece, part; /* rows: of all planes, of a piece, of a part */
    ptrdiff_t pieces, parts;     /* parts: of a piece */
    atomic_ptrdiff_t next, open; /* parts: the first that nobody took, and how many may be taken */
    atomic_ptrdiff_t copied[VF_STAGING_BUFFERS]; /* parts of the piece that is in a buffer */
    atomic_bool ended;
    enum vf_status status; /* the caller's */
    struct vf_error *error;
};

static char *buffer(const struct pump *pump, ptrdiff_t piece)
{
    return pump->staging->data + (size_t)(piece % VF_STAGING_BUFFERS) * pump->staging->bytes;
}

static CUevent *done(const struct pump *pump, ptrdiff_t piece)
{
    return &pump->staging->done[piece % VF_STAGING_BUFFERS];
}

static ptrdiff_t rows_of(const struct pump *pump, ptrdiff_t piece)
{
    return vf_smaller(pump->piece, pump->rows - piece * pump->piece);
}

/* Between the planes and the piece's buffer. */
static void copy_part(struct pump *pump, ptrdiff_t number)
{
    const struct vf_planes *planes = pump->planes;
    const size_t bytes = planes->row_bytes;
    const ptrdiff_t piece = number / pump->parts, begin = number % pump->parts * pump->part,
                    end = vf_smaller(begin + pump->part, rows_of(pump, piece));
    for (ptrdiff_t i = begin, count; i < end; i += count) {
        const ptrdiff_t row = piece * pump->piece + i, y = row % planes->rows;
        count = vf_smaller(end - i, planes->rows - y);
        char *const outside = (char *)pump->plane[row / planes->rows] + (size_t)y * bytes;
        char *const inside = buffer(pump, piece) + (size_t)i * bytes;
        memcpy(pump->out ? outside : inside, pump->out ? inside : outside, (size_t)count * bytes);
    }
    atomic_fetch_add(&pump->copied[piece % VF_STAGING_BUFFERS], 1);
}

/* Copies a part if one may be taken. */
static bool take_part(struct pump *pump)
{
    ptrdiff_t next = atomic_load(&pump->next);
    while (next < atomic_load(&pump->open))
        if (atomic_compare_exchange_weak(&pump->next, &next, next + 1)) {
            copy_part(pump, next);
            return true;
        }
    return false;
}

static void open_piece(struct pump *pump, ptrdiff_t piece)
{
    atomic_store(&pump->copied[piece % VF_STAGING_BUFFERS], 0);
    atomic_store(&pump->open, (piece + 1) * pump->parts);
}

static void wait_for_copies(struct pump *pump, ptrdiff_t piece)
{
    for (unsigned turn = 0; atomic_load(&pump->copied[piece % VF_STAGING_BUFFERS]) < pump->parts; turn++)
        if (!take_part(pump))
            vf_rest(turn);
}

static enum vf_status start_piece(const struct pump *pump, ptrdiff_t piece, struct vf_error *error)
{
    const struct vf_staging *staging = pump->staging;
    const char *const what = pump->out ? "downloading" : "uploading";
    enum vf_status status;
    VF_TRY(vf_cuda_check(&staging->cuda->api,
                         transfer(staging, pump->planes, piece * pump->piece, rows_of(pump, piece),
                                  buffer(pump, piece), pump->out),
                         what, error));
    TRY_CUDA(cuEventRecord(*done(pump, piece), staging->stream), what);
out:
    return status;
}

static enum vf_status wait_for_device(const struct pump *pump, ptrdiff_t piece, struct vf_error *error)
{
    const struct vf_staging *staging = pump->staging;
    return vf_cuda_check(&staging->cuda->api, staging->cuda->api.cuEventSynchronize(*done(pump, piece)),
                         pump->out ? "waiting for a download" : "waiting for an upload", error);
}

/* Kernels come before a download's first piece: nobody waits awake for them. */
static enum vf_status begin_download(struct pump *pump, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (ptrdiff_t piece = 0; piece < vf_smaller(pump->pieces, VF_STAGING_BUFFERS); piece++)
        VF_TRY(start_piece(pump, piece, error));
    VF_TRY(wait_for_device(pump, 0, error));
out:
    return status;
}

/* A buffer may still be on its way from the transfer before this one. An upload starts a piece when it was
 * copied, a download the one that comes into the same buffer. */
static enum vf_status move_pieces(struct pump *pump, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (ptrdiff_t piece = 0; piece < pump->pieces + AHEAD; piece++) {
        const ptrdiff_t copied = piece - AHEAD, next = copied + (pump->out ? VF_STAGING_BUFFERS : 0);
        if (piece < pump->pieces) {
            VF_TRY(wait_for_device(pump, piece, error));
            open_piece(pump, piece);
        }
        if (copied >= 0)
            wait_for_copies(pump, copied);
        if (copied >= 0 && next < pump->pieces)
            VF_TRY(start_piece(pump, next, error));
    }
out:
    return status;
}

static void run_pump(void *context, int thread)
{
    struct pump *pump = context;
    if (thread == 0) {
        pump->status = move_pieces(pump, pump->error);
        atomic_store(&pump->ended, true);
    }
    for (unsigned turn = 0; !atomic_load(&pump->ended); turn++)
        if (!take_part(pump))
            vf_rest(turn);
}

static enum vf_status pump_planes(struct vf_staging *staging, const struct vf_planes *planes,
                                  void *const *plane, ptrdiff_t count, bool out, struct vf_error *error)
{
    const ptrdiff_t rows = count * planes->rows;
    if (rows == 0)
        return VF_OK;
    const ptrdiff_t piece = vf_smaller(rows, (ptrdiff_t)(staging->bytes / planes->row_bytes));
    const ptrdiff_t part = (ptrdiff_t)(PART_BYTES / planes->row_bytes) + 1;
    struct pump pump = {.staging = staging,
                        .planes = planes,
                        .plane = plane,
                        .out = out,
                        .rows = rows,
                        .piece = piece,
                        .part = part,
                        .pieces = vf_ceil_div(rows, piece),
                        .parts = vf_ceil_div(piece, part),
                        .error = error};
    const ptrdiff_t threads = vf_smaller(staging->threads, MOST_COPIERS);
    const enum vf_status status = out ? begin_download(&pump, error) : VF_OK;
    if (status != VF_OK)
        return status;
    vf_team_run(staging->team, (int)vf_smaller(threads, pump.pieces * pump.parts), run_pump, &pump);
    return pump.status;
}

struct pages {
    void *const *plane;
    size_t bytes; /* of a plane */
};

static enum vf_status take_pages(void *context, size_t item, int thread, struct vf_error *error)
{
    enum { PAGE = 4096 };
    const struct pages *pages = context;
    (void)thread, (void)error;
    for (size_t i = 0; i < pages->bytes; i += PAGE)
        ((volatile char *)pages->plane[item])[i] = 0;
    return VF_OK;
}

void vf_staging_take_pages(struct vf_staging *staging, const struct vf_planes *from, void *const *plane,
                           ptrdiff_t count)
{
    struct pages pages = {plane, (size_t)from->rows * from->row_bytes};
    struct vf_error never;
    if (staging->bytes > 0)
        vf_team_each(staging->team, staging->threads, (size_t)count, take_pages, &pages, &never);
}

enum vf_status vf_staging_upload(struct vf_staging *staging, const struct vf_planes *to, void *const *plane,
                                 ptrdiff_t count, struct vf_error *error)
{
    return (staging->bytes == 0 ? transfer_straight : pump_planes)(staging, to, plane, count, false, error);
}

enum vf_status vf_staging_download(struct vf_staging *staging, const struct vf_planes *from,
                                   void *const *plane, ptrdiff_t count, struct vf_error *error)
{
    return (staging->bytes == 0 ? transfer_straight : pump_planes)(staging, from, plane, count, true, error);
}
