#include "execute.h"

#include <string.h>

#include "alloc.h"
#include "cuda_run.h"
#include "interrupt.h"
#include "prepass.h"
#include "size.h"

_Static_assert(VF_MAX_LIVE *VF_MAX_GLOBALS <= VF_MOST_ARRAYS, "a GPU takes every run");

/* What is told of a channel's progress, and is not told again when the channel begins anew. */
struct telling {
    void (*progress)(void *context, size_t voxels); /* NULL: nobody is told */
    void *context;
    atomic_size_t told, known; /* voxels that were told; that came again and are to be passed over */
};

static void tell(void *context, size_t voxels)
{
    struct telling *telling = context;
    size_t known = atomic_load(&telling->known), again;
    do
        again = known < voxels ? known : voxels;
    while (again > 0 && !atomic_compare_exchange_weak(&telling->known, &known, known - again));
    if (voxels == again)
        return;
    atomic_fetch_add(&telling->told, voxels - again);
    if (telling->progress != NULL)
        telling->progress(telling->context, voxels - again);
}

/* The fields that live between two runs: one array each, over all images of the batch. */
struct fields {
    int count;
    struct vf_array array[VF_MAX_LIVE];
    void *data[VF_MAX_LIVE]; /* owned; NULL where the planes are a volume's, or the GPU's */
    struct vf_cuda *cuda;    /* whose memory array[].device is */
};

static ptrdiff_t plane_count(const struct vf_plan *plan)
{
    return plan->nz * plan->batch;
}

static void close_fields(struct fields *fields)
{
    for (int f = 0; f < fields->count; f++) {
        if (fields->cuda != NULL)
            vf_cuda_field_free(fields->cuda, &fields->array[f].device);
        vf_free((void *)fields->array[f].plane);
        vf_free(fields->data[f]);
    }
    *fields = (struct fields){0};
}

/* One field whose planes are those of a volume's channel. */
static enum vf_status add_channel(struct fields *fields, const struct vf_plan *plan,
                                  const struct vf_volume *volume, size_t channel, struct vf_error *error)
{
    const ptrdiff_t count = plane_count(plan);
    const ptrdiff_t nz = (ptrdiff_t)volume->shape.nz;
    void **plane = vf_alloc((size_t)count, sizeof *plane, "plane table", error);
    if (plane == NULL)
        return VF_FAILED;
    for (ptrdiff_t p = 0; p < count; p++)
        plane[p] = vf_volume_plane(volume, (size_t)(p / nz), channel, (size_t)(p % nz));
    fields->data[fields->count] = NULL;
    fields->array[fields->count++] = (struct vf_array){.type = volume->type, .plane = plane};
    return VF_OK;
}

/* A run's outputs on the GPU, each whole; none is held if they do not fit, or after a failure. */
static enum vf_status make_on_device(struct fields *fields, const struct vf_execution *x,
                                     const struct vf_run *run, bool *fits, struct vf_error *error)
{
    const struct vf_plan *plan = x->plan;
    const enum vf_type type = run->sink_type;
    fields->cuda = x->cuda;
    for (int f = 0; f < run->outputs; f++) {
        fields->data[f] = NULL;
        fields->array[f] = (struct vf_array){.type = type};
        const enum vf_status status = vf_cuda_field_alloc(x->cuda, plan->nx, plan->ny, plane_count(plan),
                                                          type, &fields->array[f].device, fits, error);
        if (status != VF_OK || !*fits) {
            close_fields(fields);
            return status;
        }
        fields->count++;
    }
    return VF_OK;
}

/* A run's outputs in host memory. */
static enum vf_status make_on_host(struct fields *fields, const struct vf_plan *plan,
                                   const struct vf_run *run, struct vf_error *error)
{
    const enum vf_type type = run->sink_type;
    const size_t plane_bytes = (size_t)(plan->nx * plan->ny) * vf_type_size(type);
    const ptrdiff_t planes = plane_count(plan);
    for (int f = 0; f < run->outputs; f++) {
        void **plane = vf_alloc((size_t)planes, sizeof *plane, "plane table", error);
        if (plane == NULL)
            return VF_FAILED;
        char *data = vf_alloc((size_t)planes, plane_bytes, "a volume between two runs", error);
        for (ptrdiff_t p = 0; p < planes && data != NULL; p++)
            plane[p] = data + (size_t)p * plane_bytes;
        fields->data[f] = data;
        fields->array[f] = (struct vf_array){.type = type, .plane = plane};
        fields->count++;
        if (data == NULL)
            return VF_FAILED;
    }
    return VF_OK;
}

static struct vf_job job_of(const struct vf_execution *x, const struct vf_run *run,
                            const struct vf_flow *flow, struct vf_room *room)
{
    const struct vf_plan *plan = x->plan;
    return (struct vf_job){.flow = flow,
                           .nx = plan->nx,
                           .ny = plan->ny,
                           .nz = plan->nz,
                           .batch = plan->batch,
                           .z_end = plan->nz,
                           .tiling = run->tiling,
                           .threads = plan->threads,
                           .team = x->team,
                           .room = room,
                           .progress = x->progress,
                           .progress_context = x->progress_context,
                           .stop = &vf_interrupted};
}

static enum vf_status run_job(const struct vf_execution *x, const struct vf_run *run, struct vf_job *job,
                              struct vf_error *error)
{
    if (x->cuda != NULL)
        return vf_cuda_run(x->cuda, &run->gpu, job, error);
    const size_t between = x->plan->fallback_bytes;
    return vf_plan_run_on_cpu(x->plan, job, x->spare_bytes > between ? x->spare_bytes - between : 0, error);
}

/* ---- pre-passes ---- */

/* Computes the global values of the run's link into value[]. On a GPU the image stays there for the runs that
 * follow. */
static enum vf_status run_prepass(const struct vf_execution *x, const struct vf_run *run, struct fields *in,
                                  double *value, struct vf_room *room, struct vf_error *error)
{
    struct vf_flow flow = {0};
    struct vf_prepass *pre = vf_alloc(1, sizeof *pre, "global values", error);
    enum vf_status status;
    if (pre == NULL)
        return VF_FAILED;
    VF_TRY(vf_prepass_open(pre, x->plan, run, error));
    VF_TRY(vf_plan_flow(x->plan, run, value, &flow, error));
    struct vf_job job = job_of(x, run, &flow, room);
    job.source = in->array;
    job.sink = pre->sink;
    if (x->cuda != NULL && x->plan->resident && in->count == 1 && in->array[0].device == 0) {
        in->cuda = x->cuda;
        job.uploaded = &in->array[0].device;
    }
    VF_TRY(run_job(x, run, &job, error));
    vf_prepass_values(pre, x->plan, value);
out:
    vf_prepass_close(pre);
    vf_free(pre);
    vf_flow_close(&flow);
    return status;
}

/* ---- a channel ---- */

static enum vf_status run_once(const struct vf_execution *x, const struct vf_run *run,
                               const struct fields *in, const struct fields *out, const double *value,
                               struct vf_room *room, struct vf_error *error)
{
    struct vf_flow flow;
    struct vf_sink sink[VF_MAX_LIVE] = {0};
    enum vf_status status = vf_plan_flow(x->plan, run, value, &flow, error);
    if (status != VF_OK)
        return status;
    for (int k = 0; k < out->count; k++)
        sink[k].array = &out->array[k];
    struct vf_job job = job_of(x, run, &flow, room);
    job.source = in->array;
    job.sink = sink;
    status = run_job(x, run, &job, error);
    vf_flow_close(&flow);
    return status;
}

/* Where a run's outputs go: on the GPU, into the result, or into other host memory, then rather into what an
 * earlier run read than into fresh pages, which take long, while the allocator may keep the old ones. */
static enum vf_status open_outputs(const struct vf_execution *x, const struct vf_run *run, size_t channel,
                                   struct fields *spare, struct fields *out, struct vf_error *error)
{
    const struct vf_plan *plan = x->plan;
    enum vf_status status = VF_OK;
    bool on_device = !run->to_file && x->cuda != NULL && plan->resident;
    if (on_device)
        status = make_on_device(out, x, run, &on_device, error);
    if (status != VF_OK || on_device)
        return status;
    if (!run->in_result && spare->count == run->outputs && spare->array[0].type == run->sink_type) {
        *out = *spare;
        *spare = (struct fields){0};
        return VF_OK;
    }
    close_fields(spare);
    if (!run->in_result && plan->fallback_bytes > x->spare_bytes)
        return vf_fail(
            error, VF_FAILED,
            "the GPU cannot hold the volumes between two runs, which would take %.0f MiB more than "
            "may be used; raise --memory, or use --backend cpu",
            vf_mib((double)(plan->fallback_bytes - x->spare_bytes)));
    if (!run->in_result)
        return make_on_host(out, plan, run, error);
    for (int k = 0; k < plan->output_count && status == VF_OK; k++)
        status = add_channel(out, plan, x->out, channel * (size_t)plan->output_count + (size_t)k, error);
    return status;
}

static enum vf_status run_channel(const struct vf_execution *x, size_t channel, double *value,
                                  struct vf_room *room, struct vf_error *error)
{
    const struct vf_plan *plan = x->plan;
    struct fields in = {0}, out = {0}, spare = {0};
    enum vf_status status;
    VF_TRY(add_channel(&in, plan, x->in, channel, error));
    for (int r = 0; r < plan->run_count; r++) {
        const struct vf_run *run = &plan->run[r];
        if (run->prepass) {
            VF_TRY(run_prepass(x, run, &in, value, room, error));
            continue;
        }
        VF_TRY(open_outputs(x, run, channel, &spare, &out, error));
        VF_TRY(run_once(x, run, &in, &out, value, room, error));
        close_fields(&spare);
        if (in.data[0] != NULL)
            spare = in;
        else
            close_fields(&in);
        in = out;
        out = (struct fields){0};
    }
out:
    close_fields(&in);
    close_fields(&out);
    close_fields(&spare);
    return status;
}

/* The GPU failed with fields in its memory. The channel begins anew: on the GPU, with them in host memory,
 * where they filled its own; else, or if that fails too, on the CPU. */
static enum vf_status run_channel_again(const struct vf_execution *x, size_t channel, double *value,
                                        struct vf_room *room, struct vf_error *error)
{
    const size_t value_bytes = vf_plan_value_count(x->plan) * sizeof *value;
    struct telling *telling = x->progress_context;
    struct vf_execution again = *x;
    struct vf_plan apart = *x->plan;
    apart.resident = false;
    again.plan = &apart;
    if (x->cuda->is_full) {
        x->cuda->is_full = false;
        memset(value, 0, value_bytes);
        telling->known = telling->told;
        const enum vf_status status = run_channel(&again, channel, value, room, error);
        if (status != VF_DEVICE)
            return status;
    }
    if (x->cuda->strict)
        return VF_DEVICE;
    vf_cuda_give_up(x->cuda, error);
    again.cuda = NULL;
    memset(value, 0, value_bytes);
    telling->known = telling->told;
    return run_channel(&again, channel, value, room, error);
}

enum vf_status vf_execute(const struct vf_execution *execution, struct vf_error *error)
{
    struct telling telling = {execution->progress, execution->progress_context, 0, 0};
    struct vf_execution telling_once = *execution;
    const struct vf_execution *const x = &telling_once;
    telling_once.progress = tell;
    telling_once.progress_context = &telling;
    const size_t values = vf_plan_value_count(x->plan);
    double *value = vf_alloc(values + 1, sizeof *value, "global values", error);
    struct vf_room room = {0};
    enum vf_status status = value == NULL ? VF_FAILED : VF_OK;
    for (size_t channel = 0; channel < x->channels && status == VF_OK; channel++) {
        memset(value, 0, values * sizeof *value);
        telling.told = telling.known = 0;
        status = run_channel(x, channel, value, &room, error);
        if (status == VF_DEVICE)
            status = run_channel_again(x, channel, value, &room, error);
        if (x->value != NULL)
            memcpy(x->value + channel * values, value, values * sizeof *value);
    }
    if (x->cuda != NULL)
        vf_cuda_end_runs(x->cuda);
    vf_room_free(&room);
    vf_free(value);
    return status;
}

size_t vf_execute_table_bytes(const struct vf_plan *plan)
{
    int most = 0;
    for (int r = 0; r < plan->run_count; r++) {
        const int fields = plan->run[r].inputs + plan->run[r].outputs;
        most = fields > most ? fields : most;
    }
    return (size_t)most * (size_t)plane_count(plan) * sizeof(void *);
}

size_t vf_execute_voxels(const struct vf_plan *plan, size_t channels)
{
    return vf_plan_voxels(plan) * (size_t)plan->run_count * channels;
}
