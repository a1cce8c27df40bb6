#include "cuda_sweep.h"

#include <string.h>

#include "alloc.h"
#include "cuda_memory.h"
#include "size.h"

#define TRY_CUDA(call, what) VF_TRY(vf_cuda_check(&sweep->cuda->api, sweep->cuda->api.call, what, error))

/* ---- jobs ---- */

bool vf_cuda_job_is_resident(const struct vf_job *job)
{
    for (int k = 0; k < job->flow->source_count; k++)
        if (job->source[k].device != 0)
            return true;
    for (int k = 0; k < job->flow->sink_count; k++)
        if (job->sink[k].array != NULL && job->sink[k].array->device != 0)
            return true;
    return false;
}

static bool has_transfers(const struct vf_job *job)
{
    for (int k = 0; k < job->flow->source_count; k++)
        if (job->source[k].device == 0)
            return true;
    for (int k = 0; k < job->flow->sink_count; k++)
        if (job->sink[k].reducer_count > 0 || (job->sink[k].array != NULL && job->sink[k].array->device == 0))
            return true;
    return false;
}

bool vf_cuda_job_is_stopped(const struct vf_job *job)
{
    return job->stop != NULL && *job->stop;
}

/* ---- memory ---- */

/* Bytes of `planes` planes; false when they overflow. */
static bool field_bytes(ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t planes, enum vf_type type, size_t *bytes)
{
    return vf_size_mul((size_t)vf_gpu_pitch(nx), vf_type_size(type), bytes) &&
           vf_size_mul(*bytes, (size_t)ny, bytes) && vf_size_mul(*bytes, (size_t)planes, bytes);
}

enum vf_status vf_cuda_field_alloc(struct vf_cuda *cuda, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t planes,
                                   enum vf_type type, CUdeviceptr *field, bool *fits, struct vf_error *error)
{
    size_t bytes;
    *field = 0;
    *fits = field_bytes(nx, ny, planes, type, &bytes);
    if (!*fits)
        return VF_OK;
    const CUresult result = vf_cuda_take(cuda, field, bytes);
    *fits = result != CUDA_ERROR_OUT_OF_MEMORY;
    return *fits ? vf_cuda_check(&cuda->api, result, "allocating device memory", error) : VF_OK;
}

void vf_cuda_field_free(struct vf_cuda *cuda, CUdeviceptr *field)
{
    vf_cuda_give_back(cuda, *field);
    *field = 0;
}

/* ---- kernels ---- */

static enum vf_status prepare(struct vf_cuda_sweep *sweep, struct vf_error *error)
{
    const struct vf_gpu_plan *plan = sweep->plan;
    enum vf_status status = VF_OK;
    for (int i = 0; i < plan->launch_count; i++) {
        struct vf_cuda_launch *kernel = &sweep->kernel[i];
        VF_TRY(vf_cuda_launch_open(kernel, sweep->cuda, plan, &sweep->request, &plan->launch[i],
                                   sweep->stream, error));
        for (int k = 0; k < kernel->work.flow.source_count; k++)
            if (kernel->work.source[k].place == VF_PLACE_SLOT)
                sweep->last_reader[kernel->work.source[k].index] = i;
    }
out:
    return status;
}

/* ---- which planes ---- */

static void widen(struct vf_plane_range *range, struct vf_plane_range by)
{
    if (range->begin >= range->end)
        *range = by;
    range->begin = by.begin < range->begin ? by.begin : range->begin;
    range->end = by.end > range->end ? by.end : range->end;
}

/* Where a kernel's field is kept track of: sources and sinks after the flow's own fields. */
static int track(const struct vf_cuda_sweep *sweep, const struct vf_kernel_field *field)
{
    const struct vf_flow *flow = sweep->job->flow;
    return field->place == VF_PLACE_SOURCE ? flow->source[field->index]
           : field->place == VF_PLACE_SINK ? flow->field_count + field->index
                                           : field->index;
}

/* What each kernel must compute so that planes [z0, z1) of the sinks come out, and what is needed of the
 * sources: from the last kernel to the first. Planes outside the grid are not needed, unless `periodic`: then
 * planes are numbered as if the grid went on. */
static enum vf_status find_ranges(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted, bool periodic,
                                  struct vf_plane_range *window, struct vf_error *error)
{
    const struct vf_flow *flow = sweep->job->flow;
    struct vf_plane_range *need =
        vf_alloc((size_t)(flow->field_count + flow->sink_count), sizeof *need, "ranges of planes", error);
    if (need == NULL)
        return VF_FAILED;
    for (int f = 0; f < flow->field_count; f++)
        need[f] = (struct vf_plane_range){0, 0};
    for (int k = 0; k < flow->sink_count; k++)
        need[flow->field_count + k] = wanted;
    *window = wanted;
    for (int i = sweep->plan->launch_count - 1; i >= 0; i--) {
        struct vf_cuda_launch *kernel = &sweep->kernel[i];
        struct vf_plane_range range = {0, 0};
        for (int k = 0; k < kernel->work.flow.sink_count; k++)
            widen(&range, need[track(sweep, &kernel->work.sink[k])]);
        kernel->begin = range.begin;
        kernel->end = range.end;
        widen(window, range);
        for (int k = 0; k < kernel->work.flow.source_count; k++) {
            const int halo = kernel->work.c.source_halo[k][0];
            struct vf_plane_range reach = {range.begin - halo, range.end + halo};
            if (!periodic) {
                reach.begin = reach.begin > 0 ? reach.begin : 0;
                reach.end = reach.end < sweep->planes ? reach.end : sweep->planes;
            }
            widen(&need[track(sweep, &kernel->work.source[k])], reach);
            widen(window, reach);
        }
    }
    vf_free(need);
    return VF_OK;
}

enum vf_status vf_cuda_sweep_set_slab(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted,
                                      struct vf_plane_range *window, struct vf_error *error)
{
    const struct vf_flow *flow = sweep->job->flow;
    const bool whole = wanted.begin == 0 && wanted.end == sweep->planes;
    const bool periodic = flow->dim == 3 && flow->boundary == VF_WRAP && !whole;
    enum vf_status status = find_ranges(sweep, wanted, periodic, window, error);
    if (status != VF_OK)
        return status;
    if (vf_cuda_job_is_resident(sweep->job))
        *window = (struct vf_plane_range){0, sweep->planes};
    sweep->base = window->begin;
    sweep->shift = 0;
    sweep->grid = sweep->planes;
    if (periodic) {
        /* In the middle of a grid whose edges no kernel reaches. */
        int margin = 0;
        for (int i = 0; i < sweep->plan->launch_count; i++)
            margin = sweep->kernel[i].work.c.halo[0] > margin ? sweep->kernel[i].work.c.halo[0] : margin;
        sweep->shift = margin + 1 - window->begin;
        sweep->grid = window->end - window->begin + 2 * (margin + 1);
    }
    return VF_OK;
}

/* ---- buffers ---- */

size_t vf_cuda_sweep_plane_bytes(const struct vf_cuda_sweep *sweep)
{
    const struct vf_flow *flow = sweep->job->flow;
    size_t bytes = (size_t)sweep->plan->slot_count * vf_type_size(vf_flow_type(flow));
    for (int k = 0; k < flow->source_count; k++)
        bytes += sweep->job->source[k].device != 0 ? 0 : vf_type_size(sweep->job->source[k].type);
    for (int k = 0; k < flow->sink_count; k++) {
        const struct vf_array *array = sweep->job->sink[k].array;
        bytes += array != NULL && array->device != 0 ? 0 : vf_type_size(sweep->sink_type[k]);
    }
    return bytes * sweep->plane;
}

void vf_cuda_sweep_release(struct vf_cuda_sweep *sweep)
{
    const struct vf_job *job = sweep->job;
    for (int k = 0; sweep->source != NULL && k < job->flow->source_count; k++)
        if (job->source[k].device == 0)
            vf_cuda_field_free(sweep->cuda, &sweep->source[k]);
    for (int k = 0; sweep->sink != NULL && k < job->flow->sink_count; k++)
        if (job->sink[k].array == NULL || job->sink[k].array->device == 0)
            vf_cuda_field_free(sweep->cuda, &sweep->sink[k]);
    for (int k = 0; sweep->slot != NULL && k < sweep->plan->slot_count; k++)
        vf_cuda_field_free(sweep->cuda, &sweep->slot[k]);
    sweep->room = 0;
}

static enum vf_status take(struct vf_cuda_sweep *sweep, ptrdiff_t planes, enum vf_type type,
                           CUdeviceptr *field, bool *fits, struct vf_error *error)
{
    return vf_cuda_field_alloc(sweep->cuda, sweep->job->nx, sweep->job->ny, planes, type, field, fits, error);
}

/* Kernels and reductions read whole packs at the ends of rows: what they find in the padding counts for no
 * result, but values at which bodies take their long way would cost time. */
static enum vf_status clear_padding(struct vf_cuda_sweep *sweep, CUdeviceptr data, ptrdiff_t planes,
                                    enum vf_type type, struct vf_error *error)
{
    const size_t element = vf_type_size(type), row = (size_t)sweep->job->nx * element;
    const size_t pitch = sweep->pitch * element;
    return row == pitch ? VF_OK
                        : vf_cuda_check(&sweep->cuda->api,
                                        sweep->cuda->api.cuMemsetD2D8Async(data + row, pitch, 0, pitch - row,
                                                                           (size_t)(sweep->job->ny * planes),
                                                                           sweep->stream),
                                        "clearing memory", error);
}

enum vf_status vf_cuda_sweep_take(struct vf_cuda_sweep *sweep, ptrdiff_t room, bool *fits,
                                  struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    enum vf_status status = VF_OK;
    *fits = true;
    for (int k = 0; k < job->flow->source_count && *fits; k++) {
        const enum vf_type type = job->source[k].type;
        sweep->source[k] = job->source[k].device;
        if (sweep->source[k] != 0)
            continue;
        VF_TRY(take(sweep, room, type, &sweep->source[k], fits, error));
        if (*fits)
            VF_TRY(clear_padding(sweep, sweep->source[k], room, type, error));
    }
    for (int k = 0; k < job->flow->sink_count && *fits; k++) {
        const struct vf_array *array = job->sink[k].array;
        sweep->sink[k] = array != NULL ? array->device : 0;
        if (sweep->sink[k] != 0)
            continue;
        VF_TRY(take(sweep, room, sweep->sink_type[k], &sweep->sink[k], fits, error));
        if (*fits && job->sink[k].reducer_count > 0)
            VF_TRY(clear_padding(sweep, sweep->sink[k], room, sweep->sink_type[k], error));
    }
    for (int k = 0; k < sweep->plan->slot_count && *fits; k++)
        VF_TRY(take(sweep, room, vf_flow_type(job->flow), &sweep->slot[k], fits, error));
out:
    if (status == VF_OK && *fits)
        sweep->room = room;
    else
        vf_cuda_sweep_release(sweep);
    return status;
}

/* ---- launching ---- */

static CUdeviceptr address(const struct vf_cuda_sweep *sweep, const struct vf_kernel_field *field)
{
    return field->place == VF_PLACE_SOURCE ? sweep->source[field->index]
           : field->place == VF_PLACE_SINK ? sweep->sink[field->index]
                                           : sweep->field[field->index];
}

/* Launches a kernel over its planes. */
static enum vf_status launch(struct vf_cuda_sweep *sweep, struct vf_cuda_launch *kernel, ptrdiff_t image,
                             struct vf_error *error)
{
    struct vf_kernel_args *args = kernel->args;
    const struct vf_job *job = sweep->job;
    const size_t resident = (size_t)(image * sweep->planes) * sweep->plane;
    for (int k = 0; k < kernel->work.flow.source_count; k++) {
        const struct vf_kernel_field *field = &kernel->work.source[k];
        args->in[k] = address(sweep, field);
        if (field->place == VF_PLACE_SOURCE && job->source[field->index].device != 0)
            args->in[k] += resident * vf_type_size(kernel->work.c.source_type[k]);
    }
    for (int k = 0; k < kernel->work.flow.sink_count; k++) {
        const struct vf_kernel_field *field = &kernel->work.sink[k];
        const struct vf_array *array = field->place == VF_PLACE_SINK ? job->sink[field->index].array : NULL;
        args->out[k] = address(sweep, field);
        if (array != NULL && array->device != 0)
            args->out[k] += resident * vf_type_size(kernel->work.c.sink_type[k]);
    }
    args->pitch = (long long)sweep->pitch;
    args->plane = (long long)sweep->plane;
    args->nx = (int)job->nx;
    args->ny = (int)job->ny;
    args->nz = (int)sweep->grid;
    args->z_base = (int)(sweep->base + sweep->shift);
    args->z_begin = (int)(kernel->begin + sweep->shift);
    args->z_end = (int)(kernel->end + sweep->shift);
    args->outside = job->flow->constant;
    return vf_cuda_launch_start(kernel, sweep->cuda, sweep->stream, error);
}

/* Slots for what kernel i makes; after it, those of fields that nobody reads any more are free. */
static void take_slots(struct vf_cuda_sweep *sweep, int i)
{
    const struct vf_kernel_work *work = &sweep->kernel[i].work;
    for (int k = 0; k < work->flow.sink_count; k++)
        if (work->sink[k].place == VF_PLACE_SLOT)
            sweep->field[work->sink[k].index] = sweep->slot[sweep->free_slot[--sweep->free_count]];
}

static void free_slots(struct vf_cuda_sweep *sweep, int i)
{
    const struct vf_kernel_work *work = &sweep->kernel[i].work;
    for (int k = 0; k < work->flow.source_count; k++) {
        if (work->source[k].place != VF_PLACE_SLOT || sweep->last_reader[work->source[k].index] != i)
            continue;
        for (int s = 0; s < sweep->plan->slot_count; s++)
            if (sweep->slot[s] == sweep->field[work->source[k].index])
                sweep->free_slot[sweep->free_count++] = s;
    }
}

enum vf_status vf_cuda_sweep_launch(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    sweep->free_count = sweep->plan->slot_count;
    for (int s = 0; s < sweep->plan->slot_count; s++)
        sweep->free_slot[s] = s;
    for (int i = 0; i < sweep->plan->launch_count; i++) {
        take_slots(sweep, i);
        VF_TRY(launch(sweep, &sweep->kernel[i], image, error));
        free_slots(sweep, i);
        if (vf_cuda_job_is_stopped(sweep->job)) {
            status = vf_fail(error, VF_INTERRUPTED, "interrupted");
            goto out;
        }
    }
out:
    return status;
}

/* ---- a job ---- */

enum vf_status vf_cuda_sweep_mark(struct vf_cuda_sweep *sweep, int index, struct vf_error *error)
{
    return vf_cuda_check(&sweep->cuda->api, sweep->cuda->api.cuEventRecord(sweep->mark[index], sweep->stream),
                         "recording an event", error);
}

void vf_cuda_add_times(struct vf_cuda *cuda, CUevent const mark[4])
{
    for (int i = 0; i < 3; i++) {
        float milliseconds = 0;
        if (cuda->api.cuEventElapsedTime(&milliseconds, mark[i], mark[i + 1]) == CUDA_SUCCESS)
            cuda->seconds[i] += 1e-3 * (double)milliseconds;
    }
}

void vf_cuda_sweep_close(struct vf_cuda_sweep *sweep)
{
    vf_staging_close(&sweep->staging);
    for (int i = 0; i < 4; i++)
        if (sweep->mark[i] != NULL)
            sweep->cuda->api.cuEventDestroy(sweep->mark[i]);
    for (int i = 0; sweep->kernel != NULL && i < sweep->plan->launch_count; i++)
        vf_cuda_launch_close(&sweep->kernel[i], sweep->cuda);
    vf_cuda_sweep_release(sweep);
    if (sweep->stream != NULL && sweep->stream != sweep->cuda->stream)
        sweep->cuda->api.cuStreamDestroy(sweep->stream);
    vf_free(sweep->kernel);
    vf_free(sweep->source);
    vf_free(sweep->sink);
    vf_free(sweep->field);
    vf_free(sweep->last_reader);
    vf_free(sweep->slot);
    vf_free(sweep->free_slot);
}

void vf_cuda_sweep_set_job(struct vf_cuda_sweep *sweep, const struct vf_job *job)
{
    const bool flat = job->flow->dim == 2;
    sweep->job = job;
    sweep->planes = flat ? job->nz * job->batch : job->nz;
    sweep->images = flat ? 1 : job->batch;
    sweep->all = (struct vf_plane_range){flat ? 0 : job->z_begin, flat ? sweep->planes : job->z_end};
}

static void set_up(struct vf_cuda_sweep *sweep, struct vf_cuda *cuda, const struct vf_gpu_plan *plan,
                   const struct vf_job *job)
{
    const struct vf_flow *flow = job->flow;
    *sweep = (struct vf_cuda_sweep){.cuda = cuda, .plan = plan, .pitch = (size_t)vf_gpu_pitch(job->nx)};
    vf_cuda_sweep_set_job(sweep, job);
    for (int k = 0; k < flow->source_count; k++)
        sweep->source_type[k] = job->source[k].type;
    for (int k = 0; k < flow->sink_count; k++)
        sweep->sink_type[k] = job->sink[k].array != NULL ? job->sink[k].array->type : vf_flow_type(flow);
    sweep->plane = sweep->pitch * (size_t)job->ny;
    sweep->request = (struct vf_gpu_request){.flow = flow,
                                             .nx = job->nx,
                                             .ny = job->ny,
                                             .nz = sweep->all.end - sweep->all.begin,
                                             .source_type = sweep->source_type,
                                             .sink_type = sweep->sink_type,
                                             .gpu = &cuda->gpu};
}

static enum vf_status alloc_tables(struct vf_cuda_sweep *sweep, struct vf_error *error)
{
    const struct vf_flow *flow = sweep->job->flow;
    const size_t slots = (size_t)sweep->plan->slot_count + 1;
    sweep->kernel = vf_alloc((size_t)sweep->plan->launch_count + 1, sizeof *sweep->kernel, "kernels", error);
    sweep->source = vf_alloc((size_t)flow->source_count + 1, sizeof(CUdeviceptr), "arrays", error);
    sweep->sink = vf_alloc((size_t)flow->sink_count + 1, sizeof(CUdeviceptr), "arrays", error);
    sweep->field = vf_alloc((size_t)flow->field_count + 1, sizeof(CUdeviceptr), "fields", error);
    sweep->last_reader = vf_alloc((size_t)flow->field_count + 1, sizeof(int), "fields", error);
    sweep->slot = vf_alloc(slots, sizeof(CUdeviceptr), "fields", error);
    sweep->free_slot = vf_alloc(slots, sizeof(int), "fields", error);
    if (!sweep->kernel || !sweep->source || !sweep->sink || !sweep->field || !sweep->last_reader ||
        !sweep->slot || !sweep->free_slot)
        return VF_FAILED;
    memset(sweep->kernel, 0, (size_t)sweep->plan->launch_count * sizeof *sweep->kernel);
    memset(sweep->source, 0, (size_t)flow->source_count * sizeof *sweep->source);
    memset(sweep->sink, 0, (size_t)flow->sink_count * sizeof *sweep->sink);
    memset(sweep->slot, 0, slots * sizeof *sweep->slot);
    return VF_OK;
}

/* Bytes of an element of the arrays at most. */
static size_t widest(const struct vf_cuda_sweep *sweep)
{
    const struct vf_flow *flow = sweep->job->flow;
    size_t most = 0;
    for (int k = 0; k < flow->source_count; k++)
        if (vf_type_size(sweep->source_type[k]) > most)
            most = vf_type_size(sweep->source_type[k]);
    for (int k = 0; k < flow->sink_count; k++)
        if (vf_type_size(sweep->sink_type[k]) > most)
            most = vf_type_size(sweep->sink_type[k]);
    return most;
}

enum vf_status vf_cuda_sweep_open(struct vf_cuda_sweep *sweep, struct vf_cuda *cuda,
                                  const struct vf_gpu_plan *plan, const struct vf_job *job, bool straight,
                                  struct vf_error *error)
{
    enum vf_status status;
    set_up(sweep, cuda, plan, job);
    const size_t row_bytes = (size_t)job->nx * widest(sweep);
    VF_TRY(alloc_tables(sweep, error));
    VF_TRY(vf_cuda_enter(cuda, error));
    if (straight || cuda->stream == NULL)
        TRY_CUDA(cuStreamCreate(straight ? &sweep->stream : &cuda->stream, CU_STREAM_NON_BLOCKING),
                 "creating a stream");
    if (!straight)
        sweep->stream = cuda->stream;
    for (int i = 0; i < 4; i++)
        TRY_CUDA(cuEventCreate(&sweep->mark[i], CU_EVENT_DEFAULT), "creating an event");
    if (straight)
        vf_staging_open_straight(&sweep->staging, cuda, sweep->stream);
    else if (has_transfers(job))
        VF_TRY(vf_staging_open(&sweep->staging, cuda, sweep->stream,
                               row_bytes * (size_t)job->ny * (size_t)sweep->planes, row_bytes, job->team,
                               job->threads, error));
    VF_TRY(prepare(sweep, error));
out:
    return status;
}
