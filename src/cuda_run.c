#include "cuda_run.h"

#include <string.h>

#include "cuda_memory.h"
#include "cuda_reduce.h"
#include "size.h"

/* Of free device memory: what is asked for; the rest is the driver's. */
#define MEMORY_SHARE 0.92

#define TRY_CUDA(call, what) VF_TRY(vf_cuda_check(&sweep->cuda->api, sweep->cuda->api.call, what, error))

/* ---- transfers ---- */

static struct vf_planes planes_of(const struct vf_cuda_sweep *sweep, CUdeviceptr data, enum vf_type type,
                                  ptrdiff_t first)
{
    const size_t element = vf_type_size(type);
    return (struct vf_planes){.device = data + (size_t)(first - sweep->base) * sweep->plane * element,
                              .row_bytes = (size_t)sweep->job->nx * element,
                              .pitch_bytes = sweep->pitch * element,
                              .rows = sweep->job->ny};
}

/* The sources' planes [window) to the device, one after another round the grid where it goes on. */
static enum vf_status upload(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_plane_range window,
                             struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    for (int k = 0; k < job->flow->source_count; k++) {
        const struct vf_array *array = &job->source[k];
        ptrdiff_t count;
        for (ptrdiff_t z = window.begin; z < window.end && array->device == 0; z += count) {
            const ptrdiff_t inside = vf_floor_mod(z, sweep->planes);
            count = sweep->planes - inside < window.end - z ? sweep->planes - inside : window.end - z;
            const struct vf_planes to = planes_of(sweep, sweep->source[k], array->type, z);
            enum vf_status status = vf_staging_upload(
                &sweep->staging, &to, array->plane + image * sweep->planes + inside, count, error);
            if (status != VF_OK)
                return status;
        }
    }
    return VF_OK;
}

/* Results that are stored in host memory: `pages_only` readies it for them. */
static enum vf_status download(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_plane_range wanted,
                               bool pages_only, struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    const ptrdiff_t count = wanted.end - wanted.begin;
    enum vf_status status = VF_OK;
    for (int k = 0; k < job->flow->sink_count && status == VF_OK; k++) {
        const struct vf_array *array = job->sink[k].array;
        if (array == NULL || array->device != 0)
            continue;
        const struct vf_planes from = planes_of(sweep, sweep->sink[k], array->type, wanted.begin);
        void *const *const plane = array->plane + image * sweep->planes + wanted.begin;
        if (pages_only)
            vf_staging_take_pages(&sweep->staging, &from, plane, count);
        else
            status = vf_staging_download(&sweep->staging, &from, plane, count, error);
    }
    return status;
}

/* Planes [wanted) of one image; buffers hold [window). What is under way after a failure still uses host
 * memory, so that it is waited for. */
static enum vf_status begin_slab(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_plane_range wanted,
                                 struct vf_plane_range window, struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(vf_cuda_sweep_mark(sweep, 0, error));
    VF_TRY(upload(sweep, image, window, error));
    VF_TRY(vf_cuda_sweep_mark(sweep, 1, error));
    VF_TRY(vf_cuda_sweep_launch(sweep, image, error));
    VF_TRY(vf_cuda_sweep_mark(sweep, 2, error));
    VF_TRY(download(sweep, image, wanted, true, error));
    VF_TRY(download(sweep, image, wanted, false, error));
    VF_TRY(vf_cuda_sweep_mark(sweep, 3, error));
out:
    if (status != VF_OK)
        sweep->cuda->api.cuStreamSynchronize(sweep->stream);
    return status;
}

static enum vf_status end_slab(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted,
                               struct vf_error *error)
{
    enum vf_status status = VF_OK;
    TRY_CUDA(cuStreamSynchronize(sweep->stream), "filtering");
    vf_cuda_add_times(sweep->cuda, sweep->mark);
    VF_TRY(vf_cuda_reduce(sweep, wanted, error));
out:
    if (status != VF_OK)
        sweep->cuda->api.cuStreamSynchronize(sweep->stream);
    return status;
}

static size_t voxels_of(const struct vf_job *job, struct vf_plane_range planes)
{
    return (size_t)(job->nx * job->ny) * (size_t)(planes.end - planes.begin);
}

/* ---- runs that are not waited for ---- */

static void forget(struct vf_cuda *cuda)
{
    for (int i = 0; i < 4; i++)
        if (cuda->put_off.mark[i] != NULL)
            cuda->api.cuEventDestroy(cuda->put_off.mark[i]);
    cuda->put_off = (struct vf_cuda_put_off){.voxels = 0};
}

/* What was begun is the device's now. */
static void put_off(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted)
{
    const struct vf_job *job = sweep->job;
    struct vf_cuda_put_off *run = &sweep->cuda->put_off;
    *run = (struct vf_cuda_put_off){.progress = job->progress,
                                    .progress_context = job->progress_context,
                                    .voxels = voxels_of(job, wanted)};
    memcpy(run->mark, sweep->mark, sizeof run->mark);
    memset(sweep->mark, 0, sizeof sweep->mark);
}

static enum vf_status end_put_off(struct vf_cuda *cuda, struct vf_error *error)
{
    const struct vf_cuda_put_off *run = &cuda->put_off;
    if (run->mark[3] == NULL)
        return VF_OK;
    const enum vf_status status =
        vf_cuda_check(&cuda->api, cuda->api.cuEventSynchronize(run->mark[3]), "filtering", error);
    if (status == VF_OK)
        vf_cuda_add_times(cuda, run->mark);
    if (status == VF_OK && run->progress != NULL)
        run->progress(run->progress_context, run->voxels);
    forget(cuda);
    return status;
}

void vf_cuda_end_runs(struct vf_cuda *cuda)
{
    if (cuda->stream != NULL)
        cuda->api.cuStreamSynchronize(cuda->stream);
    forget(cuda);
}

/* ---- when the device fails ---- */

/* The planes on the CPU instead, and why is kept for the one warning. */
static enum vf_status run_on_cpu(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_plane_range wanted,
                                 struct vf_error *error)
{
    struct vf_job job = *sweep->job;
    const ptrdiff_t first = image * sweep->planes + (job.flow->dim == 2 ? wanted.begin : 0);
    struct vf_array source[VF_MOST_ARRAYS], stored[VF_MOST_ARRAYS];
    struct vf_sink sink[VF_MOST_ARRAYS];
    vf_cuda_give_up(sweep->cuda, error);
    for (int k = 0; k < job.flow->source_count; k++)
        source[k] = (struct vf_array){job.source[k].type, job.source[k].plane + first, 0};
    for (int k = 0; k < job.flow->sink_count; k++) {
        sink[k] = job.sink[k];
        if (sink[k].array == NULL)
            continue;
        stored[k] = (struct vf_array){sink[k].array->type, sink[k].array->plane + first, 0};
        sink[k].array = &stored[k];
    }
    job.source = source;
    job.sink = sink;
    job.batch = job.flow->dim == 2 ? wanted.end - wanted.begin : 1;
    job.z_begin = job.flow->dim == 2 ? 0 : wanted.begin;
    job.z_end = job.flow->dim == 2 ? 1 : wanted.end;
    vf_cpu_row_stream.plan(&job);
    return vf_cpu_row_stream.run(&job, error);
}

/* ---- all slabs ---- */

/* The most planes of a slab whose buffers fit what the device has free, those of the image before counted. */
static ptrdiff_t first_height(struct vf_cuda_sweep *sweep, struct vf_plane_range all, struct vf_error *error)
{
    size_t free_bytes, total;
    struct vf_plane_range window, one = {all.begin + (all.end - all.begin) / 2, 0};
    const size_t bytes = vf_cuda_sweep_plane_bytes(sweep);
    if (vf_cuda_job_is_resident(sweep->job) || bytes == 0 ||
        sweep->cuda->api.cuMemGetInfo(&free_bytes, &total) != CUDA_SUCCESS)
        return all.end - all.begin;
    free_bytes += vf_cuda_kept_bytes(sweep->cuda) + (size_t)sweep->room * bytes;
    const double fits = (double)free_bytes * MEMORY_SHARE / (double)bytes;
    one.end = one.begin + 1;
    if (vf_cuda_sweep_set_slab(sweep, all, &window, error) == VF_OK &&
        (double)(window.end - window.begin) <= fits)
        return all.end - all.begin;
    if (vf_cuda_sweep_set_slab(sweep, one, &window, error) != VF_OK ||
        fits < (double)(window.end - window.begin))
        return 1;
    return (ptrdiff_t)fits - (window.end - window.begin) + 1;
}

static enum vf_status run_image(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_plane_range all,
                                struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    ptrdiff_t height = first_height(sweep, all, error);
    enum vf_status status = VF_OK;
    for (ptrdiff_t z = all.begin; z < all.end && status == VF_OK;) {
        struct vf_plane_range wanted = {z, all.end - z < height ? all.end : z + height}, window;
        if (vf_cuda_job_is_stopped(job))
            return vf_fail(error, VF_INTERRUPTED, "interrupted");
        status = vf_cuda_sweep_set_slab(sweep, wanted, &window, error);
        if (status != VF_OK)
            return status;
        if (sweep->room < window.end - window.begin) {
            bool fits;
            vf_cuda_sweep_release(sweep);
            status = vf_cuda_sweep_take(sweep, window.end - window.begin, &fits, error);
            if (status == VF_OK && !fits) {
                if (height > 1 && !vf_cuda_job_is_resident(job)) {
                    height = (wanted.end - wanted.begin + 1) / 2;
                    continue;
                }
                sweep->cuda->is_full = vf_cuda_job_is_resident(job);
                status = vf_fail(error, VF_DEVICE, "not enough memory on %s: %.3g MiB for each of %td planes",
                                 sweep->cuda->gpu.name, vf_mib((double)vf_cuda_sweep_plane_bytes(sweep)),
                                 window.end - window.begin);
            }
        }
        if (status == VF_OK)
            status = begin_slab(sweep, image, wanted, window, error);
        if (status == VF_OK)
            status = end_put_off(sweep->cuda, error);
        if (status == VF_OK && sweep->staging.cuda == NULL && sweep->images == 1) {
            put_off(sweep, wanted);
            return VF_OK;
        }
        if (status == VF_OK)
            status = end_slab(sweep, wanted, error);
        if (status == VF_OK && job->uploaded != NULL && sweep->images == 1 && wanted.begin == 0 &&
            wanted.end == sweep->planes) {
            *job->uploaded = sweep->source[0];
            sweep->source[0] = 0;
        }
        if (status == VF_OK && job->progress != NULL)
            job->progress(job->progress_context, voxels_of(job, wanted));
        /* All that are left: slabs may have become a plane each for want of memory, each with its halo. */
        if (status == VF_DEVICE && !sweep->cuda->strict && !vf_cuda_job_is_resident(job))
            return run_on_cpu(sweep, image, (struct vf_plane_range){z, all.end}, error);
        z = wanted.end;
    }
    return status;
}

enum vf_status vf_cuda_run(struct vf_cuda *cuda, const struct vf_gpu_plan *plan, const struct vf_job *job,
                           struct vf_error *error)
{
    struct vf_cuda_sweep sweep;
    enum vf_status status = vf_cuda_sweep_open(&sweep, cuda, plan, job, false, error);
    for (ptrdiff_t image = 0; image < sweep.images && status == VF_OK; image++)
        status = run_image(&sweep, image, sweep.all, error);
    /* Nothing was begun: the CPU does it all. */
    if (status == VF_DEVICE && sweep.room == 0 && !cuda->strict && !vf_cuda_job_is_resident(job)) {
        status = VF_OK;
        for (ptrdiff_t image = 0; image < sweep.images && status == VF_OK; image++)
            status = run_on_cpu(&sweep, image, sweep.all, error);
    }
    vf_cuda_sweep_close(&sweep);
    return status;
}

/* ---- a slab on its way ---- */

enum vf_status vf_cuda_lane_start(struct vf_cuda_lane *lane, struct vf_cuda *cuda,
                                  const struct vf_gpu_plan *plan, const struct vf_job *job,
                                  struct vf_error *error)
{
    struct vf_cuda_sweep *sweep = &lane->sweep;
    struct vf_plane_range window;
    enum vf_status status = VF_OK;
    if (lane->opened)
        vf_cuda_sweep_set_job(sweep, job);
    else
        status = vf_cuda_sweep_open(sweep, cuda, plan, job, true, error);
    lane->opened = true;
    VF_TRY(status);
    VF_TRY(vf_cuda_sweep_set_slab(sweep, sweep->all, &window, error));
    if (sweep->room < window.end - window.begin) {
        bool fits;
        vf_cuda_sweep_release(sweep);
        VF_TRY(vf_cuda_sweep_take(sweep, window.end - window.begin, &fits, error));
        if (!fits)
            return vf_fail(error, VF_DEVICE, "not enough memory on %s for %td planes", cuda->gpu.name,
                           window.end - window.begin);
    }
    VF_TRY(begin_slab(sweep, 0, sweep->all, window, error));
out:
    if (status != VF_OK)
        vf_cuda_lane_close(lane);
    return status;
}

enum vf_status vf_cuda_lane_wait(struct vf_cuda_lane *lane, struct vf_error *error)
{
    const enum vf_status status = end_slab(&lane->sweep, lane->sweep.all, error);
    const struct vf_job *job = lane->sweep.job;
    if (status == VF_OK && job->progress != NULL)
        job->progress(job->progress_context, voxels_of(job, lane->sweep.all));
    if (status != VF_OK)
        vf_cuda_lane_close(lane);
    return status;
}

void vf_cuda_lane_close(struct vf_cuda_lane *lane)
{
    if (lane->opened)
        vf_cuda_sweep_close(&lane->sweep);
    lane->opened = false;
}
