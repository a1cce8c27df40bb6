#include "cuda_run.h"

#include <stdint.h>
#include <string.h>

#include "alloc.h"
#include "cuda_transfer.h"
#include "kernel_source.h"
#include "size.h"

/* Configurations of a kernel that are compiled at most before the safe one is taken. */
#define MOST_COMPILED 4
/* A compiled kernel that is predicted this much slower than the next candidate gives way to it. */
#define PATIENCE 1.15
/* Of free device memory: what is asked for; the rest is the driver's. */
#define MEMORY_SHARE 0.92

/* Sources, and sinks, of a run at most: VF_MAX_LIVE fields, several globals of each. */
#define MOST_ARRAYS 256

#define TRY_CUDA(call, what) \
    VF_TRY(vf_cuda_device_check(&sweep->cuda->api, sweep->cuda->api.call, what, error))

/* The head of kernels/device.h's VfArgs; parameters follow. */
struct vf_kernel_args {
    CUdeviceptr in[VF_KERNEL_FIELDS], out[VF_KERNEL_FIELDS];
    long long pitch, plane;
    int nx, ny, nz, z_base, z_begin, z_end, tiles[3], unused;
    double outside;
    CUdeviceptr table;
};

/* A launch, ready. */
struct kernel {
    struct vf_kernel_work work;
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    struct vf_cuda_kernel compiled;
    size_t shared;
    int resident;         /* blocks of a virtual grid */
    CUdeviceptr table;    /* parameters in memory; 0: arguments */
    void *args;           /* owned: struct vf_kernel_args and parameters */
    void *param;          /* within args, or its own while there is a table */
    ptrdiff_t begin, end; /* planes to compute, as the grid of the present slab counts them */
};

/* A job on the device: one image at a time, one slab at a time. */
struct sweep {
    struct vf_cuda *cuda;
    const struct vf_gpu_plan *plan;
    const struct vf_job *job;
    struct vf_gpu_request request;
    struct kernel *kernel; /* [plan->launch_count], owned */
    CUstream stream;
    struct vf_staging staging;
    ptrdiff_t planes, images;   /* of one image; 2D: all images are planes of one */
    size_t pitch, plane;        /* elements */
    CUdeviceptr *source, *sink; /* [flow's], on the device */
    CUdeviceptr *field;         /* [field_count]: slots in use */
    int *last_reader;           /* [field_count]: of slots */
    CUdeviceptr *slot;          /* [slot_count] */
    int *free_slot, free_count;
    ptrdiff_t room;        /* planes that each buffer has */
    ptrdiff_t base;        /* the first plane that buffers hold */
    ptrdiff_t shift, grid; /* planes are numbered from this for the kernels, in a grid of that many */
};

static size_t compute_bytes(const struct vf_flow *flow)
{
    return flow->is_double ? sizeof(double) : sizeof(float);
}

size_t vf_cuda_pitch(ptrdiff_t nx)
{
    return ((size_t)nx + 31) / 32 * 32;
}

/* ---- memory ---- */

/* Bytes of `planes` planes; false when they overflow. */
static bool field_bytes(ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t planes, enum vf_type type, size_t *bytes)
{
    return vf_size_mul(vf_cuda_pitch(nx), vf_type_size(type), bytes) &&
           vf_size_mul(*bytes, (size_t)ny, bytes) && vf_size_mul(*bytes, (size_t)planes, bytes);
}

bool vf_cuda_field_alloc(struct vf_cuda *cuda, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t planes,
                         enum vf_type type, struct vf_cuda_field *field)
{
    size_t bytes;
    field->data = 0;
    return field_bytes(nx, ny, planes, type, &bytes) &&
           cuda->api.cuMemAlloc(&field->data, bytes) == CUDA_SUCCESS;
}

void vf_cuda_field_free(struct vf_cuda *cuda, struct vf_cuda_field *field)
{
    if (field->data != 0)
        cuda->api.cuMemFree(field->data);
    field->data = 0;
}

static enum vf_status alloc_device(struct sweep *sweep, size_t bytes, CUdeviceptr *pointer,
                                   struct vf_error *error)
{
    return vf_cuda_device_check(&sweep->cuda->api, sweep->cuda->api.cuMemAlloc(pointer, bytes),
                                "taking device memory", error);
}

static void free_device(struct sweep *sweep, CUdeviceptr *pointer)
{
    if (*pointer != 0)
        sweep->cuda->api.cuMemFree(*pointer);
    *pointer = 0;
}

/* ---- kernels ---- */

/* Parameters in the compute type, where the stages look for them. */
static void fill_params(const struct vf_flow *flow, void *param)
{
    for (int s = 0; s < flow->stage_count; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        const int first = vf_stage_first_param(flow, s);
        for (int i = 0; i < vf_stage_param_count(stage); i++) {
            const double value =
                stage->stencil == VF_STENCIL_LINEAR ? stage->taps->tap[i].weight : stage->param[i];
            if (flow->is_double)
                ((double *)param)[first + i] = value;
            else
                ((float *)param)[first + i] = (float)value;
        }
    }
}

static enum vf_status fill_args(struct sweep *sweep, struct kernel *kernel, struct vf_error *error)
{
    const struct vf_flow *flow = &kernel->work.flow;
    const size_t bytes = (kernel->work.c.param_count + 2) * compute_bytes(flow);
    const bool in_memory = kernel->work.c.param_count > VF_MOST_KERNEL_PARAMS;
    enum vf_status status = VF_OK;
    kernel->args = vf_alloc(sizeof(struct vf_kernel_args) + bytes, 1, "a kernel's arguments", error);
    if (kernel->args == NULL)
        return VF_FAILED;
    kernel->param = (char *)kernel->args + sizeof(struct vf_kernel_args);
    memset(kernel->args, 0, sizeof(struct vf_kernel_args) + bytes);
    fill_params(flow, kernel->param);
    if (in_memory) {
        VF_TRY(alloc_device(sweep, bytes, &kernel->table, error));
        TRY_CUDA(cuMemcpyHtoDAsync(kernel->table, kernel->param, bytes, sweep->stream),
                 "uploading parameters");
    }
out:
    return status;
}

/* Compiles one configuration; *seconds is what the model says of what came out, negative when the safeguards
 * forbid it: spilled registers, or a block that does not fit. */
static enum vf_status compile(struct sweep *sweep, struct kernel *kernel, const struct vf_ranked *choice,
                              double *seconds, struct vf_error *error)
{
    struct vf_text text = {0};
    const struct vf_kernel_case *c = &kernel->work.c;
    const int threads = choice->config.block[0] * choice->config.block[1] * choice->config.block[2];
    struct vf_cuda *cuda = sweep->cuda;
    enum vf_status status;
    *seconds = -1;
    VF_TRY(vf_kernel_source(c, choice->scheme, &choice->config, &text, error));
    status = vf_cuda_kernel(cuda, text.data, &kernel->compiled, error);
    if (status != VF_OK) {
        status = VF_DEVICE;
        goto out;
    }
    kernel->scheme = choice->scheme;
    kernel->config = choice->config;
    kernel->shared = choice->scheme->shared(c, &choice->config);
    if (kernel->shared > 48 << 10)
        TRY_CUDA(cuFuncSetAttribute(kernel->compiled.function,
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)kernel->shared),
                 "asking for shared memory");
    TRY_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&kernel->resident, kernel->compiled.function,
                                                         threads, kernel->shared),
             "asking what fits");
    if (kernel->resident > 0 && kernel->compiled.local_bytes == 0 &&
        threads <= kernel->compiled.block_threads)
        *seconds =
            vf_gpu_predict(c, &cuda->gpu, choice->scheme, &choice->config, kernel->compiled.registers, NULL);
out:
    vf_text_free(&text);
    return status;
}

/* The plan's choice if it compiles to what was expected, else the next best; the safe scheme when nothing is.
 */
static enum vf_status choose(struct sweep *sweep, const struct vf_launch *launch, struct kernel *kernel,
                             struct vf_error *error)
{
    struct vf_ranked list[MOST_COMPILED + 1];
    int count = 0, best = -1;
    double least = 0;
    enum vf_status status = VF_OK;
    list[count++] = (struct vf_ranked){launch->scheme, launch->config, launch->seconds, launch->detail};
    if (!launch->forced)
        count += vf_gpu_rank(&kernel->work.c, &sweep->cuda->gpu, NULL, list + 1, MOST_COMPILED);
    for (int i = 0; i < count; i++) {
        double seconds;
        if (i > 0 && memcmp(&list[i].config, &list[0].config, sizeof list[i].config) == 0 &&
            list[i].scheme == list[0].scheme)
            continue;
        if (best >= 0 && least <= PATIENCE * list[i].seconds)
            break;
        status = compile(sweep, kernel, &list[i], &seconds, error);
        if (status == VF_OK && (seconds >= 0 || launch->forced) && (best < 0 || seconds < least)) {
            best = i;
            least = seconds;
        }
    }
    if (best >= 0)
        /* The present one, perhaps, or an earlier one, which is still loaded. */
        return compile(sweep, kernel, &list[best], &least, error);
    if (launch->forced || !kernel->work.c.shallow)
        return status != VF_OK
                   ? status
                   : vf_fail(error, VF_DEVICE, "scheme %s: its kernel needs more than the device has",
                             launch->scheme->name);
    struct vf_forced safe = {
        .scheme = vf_gpu_schemes[0], .variant = -1, .grid = -1, .virtual_blocks = -1, .interior = -1};
    if (vf_gpu_rank(&kernel->work.c, &sweep->cuda->gpu, &safe, list, 1) == 0)
        return vf_fail(error, VF_DEVICE, "no kernel fits the device");
    return compile(sweep, kernel, &list[0], &least, error);
}

static enum vf_status prepare(struct sweep *sweep, struct vf_error *error)
{
    const struct vf_gpu_plan *plan = sweep->plan;
    enum vf_status status = VF_OK;
    for (int i = 0; i < plan->launch_count; i++) {
        struct kernel *kernel = &sweep->kernel[i];
        VF_TRY(vf_kernel_work_open(&kernel->work, plan, &sweep->request, &plan->launch[i], error));
        kernel->work.c.flow = &kernel->work.flow;
        VF_TRY(choose(sweep, &plan->launch[i], kernel, error));
        VF_TRY(fill_args(sweep, kernel, error));
        for (int k = 0; k < kernel->work.flow.source_count; k++)
            if (kernel->work.source[k].place == VF_PLACE_SLOT)
                sweep->last_reader[kernel->work.source[k].index] = i;
    }
out:
    return status;
}

/* ---- which planes ---- */

/* Planes [begin, end). */
struct range {
    ptrdiff_t begin, end;
};

static void widen(struct range *range, struct range by)
{
    if (range->begin >= range->end)
        *range = by;
    range->begin = by.begin < range->begin ? by.begin : range->begin;
    range->end = by.end > range->end ? by.end : range->end;
}

/* Where a kernel's field is kept track of: sources and sinks after the flow's own fields. */
static int track(const struct sweep *sweep, const struct vf_kernel_field *field)
{
    const struct vf_flow *flow = sweep->job->flow;
    return field->place == VF_PLACE_SOURCE ? flow->source[field->index]
           : field->place == VF_PLACE_SINK ? flow->field_count + field->index
                                           : field->index;
}

/* What each kernel must compute so that planes [z0, z1) of the sinks come out, and what is needed of the
 * sources: from the last kernel to the first. Planes outside the grid are not needed, unless `periodic`: then
 * planes are numbered as if the grid went on. */
static enum vf_status find_ranges(struct sweep *sweep, struct range wanted, bool periodic,
                                  struct range *window, struct vf_error *error)
{
    const struct vf_flow *flow = sweep->job->flow;
    struct range *need =
        vf_alloc((size_t)(flow->field_count + flow->sink_count), sizeof *need, "ranges of planes", error);
    if (need == NULL)
        return VF_FAILED;
    for (int f = 0; f < flow->field_count; f++)
        need[f] = (struct range){0, 0};
    for (int k = 0; k < flow->sink_count; k++)
        need[flow->field_count + k] = wanted;
    *window = wanted;
    for (int i = sweep->plan->launch_count - 1; i >= 0; i--) {
        struct kernel *kernel = &sweep->kernel[i];
        struct range range = {0, 0};
        for (int k = 0; k < kernel->work.flow.sink_count; k++)
            widen(&range, need[track(sweep, &kernel->work.sink[k])]);
        kernel->begin = range.begin;
        kernel->end = range.end;
        widen(window, range);
        for (int k = 0; k < kernel->work.flow.source_count; k++) {
            const int halo = kernel->work.c.source_halo[k][0];
            struct range reach = {range.begin - halo, range.end + halo};
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

/* ---- buffers ---- */

static enum vf_type sink_type(const struct sweep *sweep, int k)
{
    return sweep->request.sink_type[k];
}

/* Bytes of one plane of all that is held at once and not there already. */
static size_t plane_bytes(const struct sweep *sweep)
{
    const struct vf_flow *flow = sweep->job->flow;
    size_t bytes = (size_t)sweep->plan->slot_count * compute_bytes(flow);
    for (int k = 0; k < flow->source_count; k++)
        bytes += sweep->job->source[k].device != 0 ? 0 : vf_type_size(sweep->job->source[k].type);
    for (int k = 0; k < flow->sink_count; k++) {
        const struct vf_array *array = sweep->job->sink[k].array;
        bytes += array != NULL && array->device != 0 ? 0 : vf_type_size(sink_type(sweep, k));
    }
    return bytes * sweep->plane;
}

static void release_buffers(struct sweep *sweep)
{
    const struct vf_job *job = sweep->job;
    for (int k = 0; sweep->source != NULL && k < job->flow->source_count; k++)
        if (job->source[k].device == 0)
            free_device(sweep, &sweep->source[k]);
    for (int k = 0; sweep->sink != NULL && k < job->flow->sink_count; k++)
        if (job->sink[k].array == NULL || job->sink[k].array->device == 0)
            free_device(sweep, &sweep->sink[k]);
    for (int k = 0; sweep->slot != NULL && k < sweep->plan->slot_count; k++)
        free_device(sweep, &sweep->slot[k]);
    sweep->room = 0;
}

/* Buffers of `room` planes for whatever is not on the device; false, nothing held, when they do not fit. */
static bool take_buffers(struct sweep *sweep, ptrdiff_t room)
{
    const struct vf_job *job = sweep->job;
    struct vf_cuda_field field;
    bool good = true;
    for (int k = 0; k < job->flow->source_count && good; k++) {
        field.data = job->source[k].device;
        if (field.data == 0)
            good = vf_cuda_field_alloc(sweep->cuda, job->nx, job->ny, room, job->source[k].type, &field);
        sweep->source[k] = field.data;
    }
    for (int k = 0; k < job->flow->sink_count && good; k++) {
        const struct vf_array *array = job->sink[k].array;
        field.data = array != NULL ? array->device : 0;
        if (field.data == 0)
            good = vf_cuda_field_alloc(sweep->cuda, job->nx, job->ny, room, sink_type(sweep, k), &field);
        sweep->sink[k] = field.data;
    }
    for (int k = 0; k < sweep->plan->slot_count && good; k++) {
        good = vf_cuda_field_alloc(sweep->cuda, job->nx, job->ny, room,
                                   job->flow->is_double ? VF_F64 : VF_F32, &field);
        sweep->slot[k] = field.data;
    }
    if (good)
        sweep->room = room;
    else
        release_buffers(sweep);
    return good;
}

/* ---- one slab ---- */

static CUdeviceptr address(const struct sweep *sweep, const struct vf_kernel_field *field)
{
    return field->place == VF_PLACE_SOURCE ? sweep->source[field->index]
           : field->place == VF_PLACE_SINK ? sweep->sink[field->index]
                                           : sweep->field[field->index];
}

/* Launches a kernel over its planes. */
static enum vf_status launch(struct sweep *sweep, struct kernel *kernel, ptrdiff_t image,
                             struct vf_error *error)
{
    struct vf_kernel_args *args = kernel->args;
    const struct vf_flow *flow = &kernel->work.flow;
    const struct vf_job *job = sweep->job;
    const ptrdiff_t resident_planes = image * sweep->planes;
    ptrdiff_t tiles[3], blocks;
    for (int k = 0; k < flow->source_count; k++) {
        const struct vf_kernel_field *field = &kernel->work.source[k];
        args->in[k] = address(sweep, field);
        if (field->place == VF_PLACE_SOURCE && job->source[field->index].device != 0)
            args->in[k] +=
                (size_t)resident_planes * sweep->plane * vf_type_size(kernel->work.c.source_type[k]);
    }
    for (int k = 0; k < flow->sink_count; k++) {
        const struct vf_kernel_field *field = &kernel->work.sink[k];
        const struct vf_array *array = field->place == VF_PLACE_SINK ? job->sink[field->index].array : NULL;
        args->out[k] = address(sweep, field);
        if (array != NULL && array->device != 0)
            args->out[k] +=
                (size_t)resident_planes * sweep->plane * vf_type_size(kernel->work.c.sink_type[k]);
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
    args->table = kernel->table;
    kernel->work.c.nz = kernel->end - kernel->begin;
    vf_gpu_tiles(&kernel->work.c, kernel->scheme, &kernel->config, tiles);
    for (int axis = 0; axis < 3; axis++)
        args->tiles[axis] = (int)tiles[axis];
    blocks = tiles[0] * tiles[1] * tiles[2];
    const bool flat = kernel->config.flat_grid || kernel->config.virtual_blocks;
    const ptrdiff_t resident = (ptrdiff_t)kernel->resident * sweep->cuda->gpu.multiprocessors;
    if (kernel->config.virtual_blocks && blocks > resident)
        blocks = resident;
    if (blocks > INT32_MAX)
        return vf_fail(error, VF_DEVICE, "the grid has more tiles than a launch can take");
    void *params[] = {args};
    return vf_cuda_device_check(
        &sweep->cuda->api,
        sweep->cuda->api.cuLaunchKernel(kernel->compiled.function, (unsigned)(flat ? blocks : tiles[0]),
                                        flat ? 1 : (unsigned)tiles[1], flat ? 1 : (unsigned)tiles[2],
                                        (unsigned)kernel->config.block[0], (unsigned)kernel->config.block[1],
                                        (unsigned)kernel->config.block[2], (unsigned)kernel->shared,
                                        sweep->stream, params, NULL),
        "launching a kernel", error);
}

/* Slots for what kernel i makes; after it, those of fields that nobody reads any more are free. */
static void take_slots(struct sweep *sweep, int i)
{
    const struct vf_kernel_work *work = &sweep->kernel[i].work;
    for (int k = 0; k < work->flow.sink_count; k++)
        if (work->sink[k].place == VF_PLACE_SLOT)
            sweep->field[work->sink[k].index] = sweep->slot[sweep->free_slot[--sweep->free_count]];
}

static void free_slots(struct sweep *sweep, int i)
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

static struct vf_planes planes_of(const struct sweep *sweep, CUdeviceptr data, enum vf_type type,
                                  ptrdiff_t first)
{
    const size_t element = vf_type_size(type);
    return (struct vf_planes){.device = data + (size_t)(first - sweep->base) * sweep->plane * element,
                              .row_bytes = (size_t)sweep->job->nx * element,
                              .pitch_bytes = sweep->pitch * element,
                              .rows = sweep->job->ny};
}

/* The sources' planes [window) to the device, one after another round the grid where it goes on. */
static enum vf_status upload(struct sweep *sweep, ptrdiff_t image, struct range window,
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

static enum vf_status download(struct sweep *sweep, ptrdiff_t image, struct range wanted,
                               struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    for (int k = 0; k < job->flow->sink_count; k++) {
        const struct vf_array *array = job->sink[k].array;
        if (array == NULL || array->device != 0)
            continue;
        const struct vf_planes from = planes_of(sweep, sweep->sink[k], array->type, wanted.begin);
        enum vf_status status =
            vf_staging_download(&sweep->staging, &from, array->plane + image * sweep->planes + wanted.begin,
                                wanted.end - wanted.begin, error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

/* Feeds the reducers of a sink with planes [wanted), through `row`, host memory for one plane. */
static enum vf_status reduce_planes(struct sweep *sweep, int k, struct range wanted, char *row,
                                    struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    const struct vf_sink *sink = &job->sink[k];
    const size_t row_bytes = (size_t)job->nx * compute_bytes(job->flow);
    for (ptrdiff_t z = wanted.begin; z < wanted.end; z++) {
        const struct vf_planes from = planes_of(sweep, sweep->sink[k], sink_type(sweep, k), z);
        void *plane = row;
        enum vf_status status = vf_staging_download(&sweep->staging, &from, &plane, 1, error);
        if (status != VF_OK)
            return status;
        for (int r = 0; r < sink->reducer_count; r++)
            for (ptrdiff_t y = 0; y < job->ny; y++)
                vf_reducer_add(&sink->reducer[r], 0, row + (size_t)y * row_bytes, job->nx, 0, y, z % job->nz);
    }
    return VF_OK;
}

static enum vf_status reduce(struct sweep *sweep, struct range wanted, struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    enum vf_status status = VF_OK;
    char *row = NULL;
    for (int k = 0; k < job->flow->sink_count && status == VF_OK; k++) {
        if (job->sink[k].reducer_count == 0)
            continue;
        if (row == NULL)
            row = vf_alloc((size_t)(job->nx * job->ny), compute_bytes(job->flow), "a plane", error);
        status = row == NULL ? VF_FAILED : reduce_planes(sweep, k, wanted, row, error);
    }
    vf_free(row);
    return status;
}

static bool stopped(const struct vf_job *job)
{
    return job->stop != NULL && *job->stop;
}

/* Planes [wanted) of one image; buffers hold [window). */
static enum vf_status run_slab(struct sweep *sweep, ptrdiff_t image, struct range wanted, struct range window,
                               struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(upload(sweep, image, window, error));
    sweep->free_count = sweep->plan->slot_count;
    for (int s = 0; s < sweep->plan->slot_count; s++)
        sweep->free_slot[s] = s;
    for (int i = 0; i < sweep->plan->launch_count; i++) {
        take_slots(sweep, i);
        VF_TRY(launch(sweep, &sweep->kernel[i], image, error));
        free_slots(sweep, i);
        if (stopped(sweep->job)) {
            status = vf_fail(error, VF_INTERRUPTED, "interrupted");
            goto out;
        }
    }
    VF_TRY(download(sweep, image, wanted, error));
    TRY_CUDA(cuStreamSynchronize(sweep->stream), "filtering");
    VF_TRY(reduce(sweep, wanted, error));
out:
    return status;
}

/* ---- when the device fails ---- */

static bool is_resident(const struct vf_job *job)
{
    for (int k = 0; k < job->flow->source_count; k++)
        if (job->source[k].device != 0)
            return true;
    for (int k = 0; k < job->flow->sink_count; k++)
        if (job->sink[k].array != NULL && job->sink[k].array->device != 0)
            return true;
    return false;
}

/* The planes on the CPU instead, and why is kept for the one warning. */
static enum vf_status run_on_cpu(struct sweep *sweep, ptrdiff_t image, struct range wanted,
                                 struct vf_error *error)
{
    struct vf_job job = *sweep->job;
    const ptrdiff_t first = image * sweep->planes + (job.flow->dim == 2 ? wanted.begin : 0);
    struct vf_array source[MOST_ARRAYS], stored[MOST_ARRAYS];
    struct vf_sink sink[MOST_ARRAYS];
    if (!sweep->cuda->failed)
        sweep->cuda->failure = *error;
    sweep->cuda->failed = true;
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

/* Numbers planes for the kernels of a slab, and makes room for what they hold. */
static enum vf_status set_slab(struct sweep *sweep, struct range wanted, struct range *window,
                               struct vf_error *error)
{
    const struct vf_flow *flow = sweep->job->flow;
    const bool whole = wanted.begin == 0 && wanted.end == sweep->planes;
    const bool periodic = flow->dim == 3 && flow->boundary == VF_WRAP && !whole;
    enum vf_status status = find_ranges(sweep, wanted, periodic, window, error);
    if (status != VF_OK)
        return status;
    if (is_resident(sweep->job))
        *window = (struct range){0, sweep->planes};
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

/* The most planes of a slab whose buffers fit what the device has free. */
static ptrdiff_t first_height(struct sweep *sweep, struct range all, struct vf_error *error)
{
    size_t free_bytes, total;
    struct range window, one = {all.begin + (all.end - all.begin) / 2, 0};
    const size_t bytes = plane_bytes(sweep);
    if (is_resident(sweep->job) || bytes == 0 ||
        sweep->cuda->api.cuMemGetInfo(&free_bytes, &total) != CUDA_SUCCESS)
        return all.end - all.begin;
    const double fits = (double)free_bytes * MEMORY_SHARE / (double)bytes;
    one.end = one.begin + 1;
    if (set_slab(sweep, all, &window, error) == VF_OK && (double)(window.end - window.begin) <= fits)
        return all.end - all.begin;
    if (set_slab(sweep, one, &window, error) != VF_OK || fits < (double)(window.end - window.begin))
        return 1;
    return (ptrdiff_t)fits - (window.end - window.begin) + 1;
}

static enum vf_status run_image(struct sweep *sweep, ptrdiff_t image, struct range all,
                                struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    ptrdiff_t height = first_height(sweep, all, error);
    enum vf_status status = VF_OK;
    for (ptrdiff_t z = all.begin; z < all.end && status == VF_OK;) {
        struct range wanted = {z, all.end - z < height ? all.end : z + height}, window;
        if (stopped(job))
            return vf_fail(error, VF_INTERRUPTED, "interrupted");
        status = set_slab(sweep, wanted, &window, error);
        if (status != VF_OK)
            return status;
        if (sweep->room < window.end - window.begin) {
            release_buffers(sweep);
            if (!take_buffers(sweep, window.end - window.begin)) {
                if (height > 1 && !is_resident(job)) {
                    height = (wanted.end - wanted.begin + 1) / 2;
                    continue;
                }
                status = vf_fail(error, VF_DEVICE, "not enough memory on %s", sweep->cuda->gpu.name);
            }
        }
        if (status == VF_OK)
            status = run_slab(sweep, image, wanted, window, error);
        if (status == VF_DEVICE && !sweep->cuda->strict && !is_resident(job))
            status = run_on_cpu(sweep, image, wanted, error);
        if (status == VF_OK && job->progress != NULL)
            job->progress(job->progress_context,
                          (size_t)(job->nx * job->ny) * (size_t)(wanted.end - wanted.begin));
        z = wanted.end;
    }
    return status;
}

/* ---- a job ---- */

static void close_sweep(struct sweep *sweep)
{
    for (int i = 0; sweep->kernel != NULL && i < sweep->plan->launch_count; i++) {
        free_device(sweep, &sweep->kernel[i].table);
        vf_free(sweep->kernel[i].args);
        vf_kernel_work_close(&sweep->kernel[i].work);
    }
    vf_staging_close(&sweep->staging);
    release_buffers(sweep);
    if (sweep->stream != NULL)
        sweep->cuda->api.cuStreamDestroy(sweep->stream);
    vf_free(sweep->kernel);
    vf_free(sweep->source);
    vf_free(sweep->sink);
    vf_free(sweep->field);
    vf_free(sweep->last_reader);
    vf_free(sweep->slot);
    vf_free(sweep->free_slot);
}

static enum vf_status open_sweep(struct sweep *sweep, struct vf_error *error)
{
    const struct vf_flow *flow = sweep->job->flow;
    const size_t slots = (size_t)sweep->plan->slot_count + 1;
    const size_t row_bytes = (size_t)sweep->job->nx * sizeof(double);
    size_t largest = row_bytes * (size_t)sweep->job->ny * (size_t)sweep->planes;
    enum vf_status status = VF_FAILED;
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
    VF_TRY(vf_cuda_enter(sweep->cuda, error) == VF_OK ? VF_OK : VF_DEVICE);
    TRY_CUDA(cuStreamCreate(&sweep->stream, CU_STREAM_NON_BLOCKING), "making a stream");
    VF_TRY(vf_staging_open(&sweep->staging, sweep->cuda, sweep->stream, largest, row_bytes,
                           sweep->job->threads, error));
    VF_TRY(prepare(sweep, error));
out:
    return status;
}

enum vf_status vf_cuda_run(struct vf_cuda *cuda, const struct vf_gpu_plan *plan, const struct vf_job *job,
                           struct vf_error *error)
{
    const struct vf_flow *flow = job->flow;
    const bool flat = flow->dim == 2;
    const enum vf_type compute = flow->is_double ? VF_F64 : VF_F32;
    enum vf_type source_type[MOST_ARRAYS], sink_type[MOST_ARRAYS];
    struct sweep sweep = {.cuda = cuda,
                          .plan = plan,
                          .job = job,
                          .planes = flat ? job->nz * job->batch : job->nz,
                          .images = flat ? 1 : job->batch,
                          .pitch = vf_cuda_pitch(job->nx)};
    struct range all = {flat ? 0 : job->z_begin, flat ? sweep.planes : job->z_end};
    for (int k = 0; k < flow->source_count; k++)
        source_type[k] = job->source[k].type;
    for (int k = 0; k < flow->sink_count; k++)
        sink_type[k] = job->sink[k].array != NULL ? job->sink[k].array->type : compute;
    sweep.plane = sweep.pitch * (size_t)job->ny;
    sweep.request = (struct vf_gpu_request){.flow = flow,
                                            .nx = job->nx,
                                            .ny = job->ny,
                                            .nz = all.end - all.begin,
                                            .source_type = source_type,
                                            .sink_type = sink_type,
                                            .gpu = &cuda->gpu};
    enum vf_status status = open_sweep(&sweep, error);
    for (ptrdiff_t image = 0; image < sweep.images && status == VF_OK; image++)
        status = run_image(&sweep, image, all, error);
    /* Nothing was begun: the CPU does it all. */
    if (status == VF_DEVICE && sweep.room == 0 && !cuda->strict && !is_resident(job)) {
        status = VF_OK;
        for (ptrdiff_t image = 0; image < sweep.images && status == VF_OK; image++)
            status = run_on_cpu(&sweep, image, all, error);
    }
    close_sweep(&sweep);
    return status;
}
