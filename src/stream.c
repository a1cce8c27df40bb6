#include "stream.h"

#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "cuda_run.h"
#include "interrupt.h"
#include "output_file.h"
#include "prepass.h"
#include "stream_ends.h"

/* A slab of one channel, and the GPU's lane that it is in. */
struct part {
    struct vf_job job; /* points to the next three */
    struct vf_array source[VF_MAX_LIVE], stored[VF_MAX_LIVE];
    struct vf_sink sink[VF_MAX_LIVE];
    struct vf_cuda_lane lane;
    bool begun; /* on the GPU, and not waited for */
};

/* A run in a pass, for every channel. It reads window `i` of the pass and fills the next, or reduces. */
struct step {
    const struct vf_run *run;
    ptrdiff_t reach;
    struct vf_flow *flow;       /* owned: [channels] */
    struct vf_prepass *prepass; /* owned: [channels]; NULL: it computes planes */
    struct part *part;          /* owned: [slabs on their way][channels] */
    ptrdiff_t *count;           /* owned: [slabs on their way], planes of each */
    int first, on_their_way;    /* the oldest, how many: a ring */
    ptrdiff_t begun, done;      /* planes up to these are begun, computed */
};

/* A pass at work. */
struct sweep {
    struct vf_stream *stream;
    const struct vf_pass *pass;
    int step_count, window_count;
    int depth;                /* slabs of a step on their way, at most */
    struct step *step;        /* owned */
    struct vf_window *window; /* owned: [window_count], the last is what comes out */
    ptrdiff_t image, images;
    struct vf_room *room;
    struct vf_stream_end in, out;
    pthread_mutex_t reading;
};

/* ---- computing ---- */

static enum vf_status run_job(const struct sweep *w, const struct step *step, struct vf_job *job,
                              struct vf_error *error)
{
    const struct vf_stream *s = w->stream;
    if (s->cuda != NULL) {
        const enum vf_status status = vf_cuda_run(s->cuda, &step->run->gpu, job, error);
        if (status != VF_DEVICE || s->cuda->strict)
            return status;
        vf_cuda_give_up(s->cuda, error);
    }
    return vf_plan_run_on_cpu(s->plan, job, s->spare_bytes, error);
}

/* Planes [z, z + count) of one channel, inside the grid. */
static void describe_part(const struct sweep *w, int i, int channel, ptrdiff_t z, ptrdiff_t count,
                          struct part *part)
{
    const struct vf_stream *s = w->stream;
    const struct vf_plan *plan = s->plan;
    const struct step *step = &w->step[i];
    const struct vf_flow *flow = &step->flow[channel];
    const bool flat = plan->context.dim == 2 && !plan->by_rows;
    for (int k = 0; k < flow->source_count; k++) {
        part->source[k] = w->window[i].array[channel * flow->source_count + k];
        part->source[k].plane += flat ? z : 0;
    }
    for (int k = 0; k < flow->sink_count && step->prepass == NULL; k++) {
        part->stored[k] = w->window[i + 1].array[channel * flow->sink_count + k];
        part->stored[k].plane += flat ? z : 0;
        part->sink[k] = (struct vf_sink){.array = &part->stored[k]};
    }
    part->job = (struct vf_job){.flow = flow,
                                .nx = plan->nx,
                                .ny = plan->ny,
                                .nz = plan->nz,
                                .batch = flat ? count : 1,
                                .z_begin = flat ? 0 : z,
                                .z_end = flat ? 1 : z + count,
                                .by_rows = plan->by_rows,
                                .source = part->source,
                                .sink = step->prepass != NULL ? step->prepass[channel].sink : part->sink,
                                .tiling = step->run->tiling,
                                .threads = plan->threads,
                                .team = w->stream->team,
                                .room = w->room,
                                .progress = s->progress,
                                .progress_context = s->progress_context,
                                .stop = &vf_interrupted};
}

static enum vf_status end_part(const struct sweep *w, const struct step *step, struct part *part,
                               struct vf_error *error)
{
    enum vf_status status = VF_OK;
    if (part->begun)
        status = vf_cuda_lane_wait(&part->lane, error);
    part->begun = false;
    return status == VF_DEVICE ? run_job(w, step, &part->job, error) : status;
}

/* Ends what is on its way, and gives back the device's memory that it had. */
static enum vf_status clear_lanes(const struct sweep *w, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int i = 0; i < w->step_count; i++)
        for (int k = 0; k < w->depth * (int)w->stream->ends.channels && status == VF_OK; k++) {
            status = end_part(w, &w->step[i], &w->step[i].part[k], error);
            vf_cuda_lane_close(&w->step[i].part[k].lane);
        }
    return status;
}

/* What a lane cannot do is done as a job of its own, which has the device alone: by the GPU in thinner slabs
 * or by the CPU. */
static enum vf_status begin_part(const struct sweep *w, const struct step *step, struct part *part,
                                 struct vf_error *error)
{
    struct vf_cuda *cuda = w->stream->cuda;
    if (cuda != NULL) {
        enum vf_status status = vf_cuda_lane_start(&part->lane, cuda, &step->run->gpu, &part->job, error);
        part->begun = status == VF_OK;
        if (status == VF_DEVICE)
            status = clear_lanes(w, error);
        if (part->begun || status != VF_OK)
            return status;
    }
    return run_job(w, step, &part->job, error);
}

/* Slab number `slot` of the ring: `count` planes of all channels; beyond a periodic grid they are those at
 * its other end, and where a slab goes over the end its first part is waited for. */
static enum vf_status begin_slab(const struct sweep *w, int i, int slot, ptrdiff_t begin, ptrdiff_t count,
                                 struct vf_error *error)
{
    const struct step *step = &w->step[i];
    const ptrdiff_t extent = vf_stream_extent(w->stream->plan);
    const double start = vf_now();
    enum vf_status status = VF_OK;
    for (int c = 0; c < (int)w->stream->ends.channels && status == VF_OK; c++) {
        struct part *part = &step->part[slot * (int)w->stream->ends.channels + c];
        for (ptrdiff_t z = begin, planes; z < begin + count && status == VF_OK; z += planes) {
            const ptrdiff_t inside = vf_floor_mod(z, extent);
            planes = extent - inside < begin + count - z ? extent - inside : begin + count - z;
            status = end_part(w, step, part, error);
            if (status != VF_OK)
                break;
            describe_part(w, i, c, inside, planes, part);
            status = begin_part(w, step, part, error);
        }
    }
    w->stream->compute_seconds += vf_now() - start;
    return status;
}

static enum vf_status end_slab(const struct sweep *w, int i, int slot, struct vf_error *error)
{
    const struct step *step = &w->step[i];
    const double start = vf_now();
    enum vf_status status = VF_OK;
    for (int c = 0; c < (int)w->stream->ends.channels && status == VF_OK; c++)
        status = end_part(w, step, &step->part[slot * (int)w->stream->ends.channels + c], error);
    w->stream->compute_seconds += vf_now() - start;
    return status;
}

/* ---- planes on their way ---- */

/* Where a step begins and ends, and how far it can compute with the planes that are there. */
static ptrdiff_t first_plane(const struct sweep *w, int i)
{
    const struct vf_window *in = &w->window[i];
    return in->beyond > 0 ? w->step[i].reach - in->beyond : 0;
}

static ptrdiff_t end_plane(const struct sweep *w, int i)
{
    return w->window[i].extent - first_plane(w, i);
}

/* Planes of window i up to this one are there. */
static ptrdiff_t available(const struct sweep *w, int i)
{
    return i == 0 ? w->window[0].end : w->step[i - 1].done;
}

static ptrdiff_t reachable(const struct sweep *w, int i)
{
    const ptrdiff_t there = available(w, i);
    return there == w->window[i].extent + w->window[i].beyond ? end_plane(w, i) : there - w->step[i].reach;
}

/* Lets go of what neither the step that reads the window nor the writer still needs. */
static void trim(struct sweep *w, int i)
{
    struct vf_window *window = &w->window[i];
    ptrdiff_t begin = window->end;
    if (i < w->step_count && w->step[i].done < end_plane(w, i))
        begin = w->step[i].done - w->step[i].reach;
    if (i == w->window_count - 1 && w->pass->stores) {
        const ptrdiff_t written = vf_queue_freed(&w->out.queue) - window->base;
        begin = written < begin ? written : begin;
    }
    vf_window_drop(window, begin);
    if (i == 0)
        vf_queue_free_to(&w->in.queue, window->base + window->begin);
}

static enum vf_status push(struct sweep *w, int i, struct vf_error *error);

/* Waits for the step's oldest slab and passes it on. */
static enum vf_status land(struct sweep *w, int i, struct vf_error *error)
{
    struct step *step = &w->step[i];
    const ptrdiff_t count = step->count[step->first];
    const enum vf_status status = end_slab(w, i, step->first, error);
    if (status != VF_OK)
        return status;
    step->first = (step->first + 1) % w->depth;
    step->on_their_way--;
    step->done += count;
    trim(w, i);
    if (i + 1 == w->window_count - 1 && w->pass->stores)
        vf_queue_fill(&w->out.queue, count);
    return push(w, i + 1, error);
}

/* Begins slabs of what window i has newly got, and passes older ones on. */
static enum vf_status push(struct sweep *w, int i, struct vf_error *error)
{
    const ptrdiff_t slab = w->pass->slab;
    enum vf_status status = VF_OK;
    if (i == w->step_count)
        return VF_OK;
    struct step *step = &w->step[i];
    const bool last = i + 1 == w->window_count - 1 && w->pass->stores;
    for (ptrdiff_t count; (count = reachable(w, i) - step->begun) > 0 && status == VF_OK;) {
        const int slot = (step->first + step->on_their_way) % w->depth;
        count = count < slab ? count : slab;
        /* Those on their way have places that are not yet filled. */
        if (last && !vf_queue_wait_room(&w->out.queue, step->begun - step->done + count))
            return vf_queue_why(&w->out.queue, error);
        if (step->prepass == NULL) {
            trim(w, i + 1);
            vf_window_take(&w->window[i + 1], count);
        }
        status = begin_slab(w, i, slot, step->begun, count, error);
        step->count[slot] = count;
        step->begun += count;
        step->on_their_way++;
        if (status == VF_OK && step->on_their_way == w->depth)
            status = land(w, i, error);
    }
    return status;
}

static enum vf_status sweep_image(struct sweep *w, struct vf_error *error)
{
    const ptrdiff_t slab = w->pass->slab;
    struct vf_window *source = &w->window[0];
    enum vf_status status = VF_OK;
    for (int i = 0; i < w->window_count; i++)
        vf_window_start(&w->window[i], w->image);
    for (int i = 0; i < w->step_count; i++)
        w->step[i].begun = w->step[i].done = first_plane(w, i);
    const ptrdiff_t end = source->extent + source->beyond;
    while (source->end < end && status == VF_OK) {
        const ptrdiff_t left = end - source->end, count = left < slab ? left : slab;
        if (!vf_queue_wait_filled(&w->in.queue, source->base + source->end + count))
            return vf_queue_why(&w->in.queue, error);
        vf_window_take(source, count);
        status = push(w, 0, error);
    }
    for (int i = 0; i < w->step_count; i++)
        while (w->step[i].on_their_way > 0 && status == VF_OK)
            status = land(w, i, error);
    return status;
}

/* ---- a pass ---- */

static enum vf_status open_step(struct sweep *w, int i, struct vf_error *error)
{
    struct vf_stream *s = w->stream;
    const size_t channels = s->ends.channels, values = vf_plan_value_count(s->plan);
    const int r = i < w->pass->runs ? vf_stream_run_of(s->plan, w->pass, i) : w->pass->prepass;
    struct step *step = &w->step[i];
    step->run = &s->plan->run[r];
    step->reach = s->passes->run[r].reach;
    step->flow = vf_alloc(channels, sizeof *step->flow, "stages", error);
    step->part = vf_alloc((size_t)w->depth * channels, sizeof *step->part, "slabs", error);
    step->count = vf_alloc((size_t)w->depth, sizeof *step->count, "slabs", error);
    if (step->flow != NULL)
        memset(step->flow, 0, channels * sizeof *step->flow);
    if (step->part != NULL)
        memset(step->part, 0, (size_t)w->depth * channels * sizeof *step->part);
    if (step->flow == NULL || step->part == NULL || step->count == NULL)
        return VF_FAILED;
    for (size_t c = 0; c < channels; c++) {
        enum vf_status status =
            vf_plan_flow(s->plan, step->run, s->value + c * values, &step->flow[c], error);
        if (status != VF_OK)
            return status;
    }
    if (!step->run->prepass)
        return VF_OK;
    step->prepass = vf_alloc(channels, sizeof *step->prepass, "global values", error);
    if (step->prepass == NULL)
        return VF_FAILED;
    for (size_t c = 0; c < channels; c++)
        step->prepass[c].count = 0;
    for (size_t c = 0; c < channels; c++) {
        enum vf_status status = vf_prepass_open(&step->prepass[c], s->plan, step->run, error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

static enum vf_status open_windows(struct sweep *w, struct vf_error *error)
{
    const struct vf_stream *s = w->stream;
    const size_t voxels = vf_stream_plane(s->plan);
    for (int i = 0; i < w->window_count; i++) {
        const struct vf_window_shape shape = vf_stream_window(s->passes, s->plan, &s->ends, w->pass, i);
        enum vf_status status = vf_window_open(&w->window[i], shape.count, shape.type, voxels, shape.capacity,
                                               vf_stream_extent(s->plan), shape.beyond, s->cuda, error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

static ptrdiff_t batch_of(const struct sweep *w, const struct vf_info *info)
{
    if (w->stream->plan->by_rows)
        return w->pass->slab;
    const size_t per_plane = info->shape.nc / info->page_channels;
    const size_t pages = vf_info_pages_at_once(info, w->stream->plan->threads) / per_plane;
    const size_t slab = (size_t)w->pass->slab;
    return (ptrdiff_t)(pages < 1 ? 1 : pages < slab ? pages : slab);
}

static enum vf_status start_ends(struct sweep *w, struct vf_plane_file *source, struct vf_plane_file *sink,
                                 struct vf_error *error)
{
    const struct vf_window *last = &w->window[w->window_count - 1];
    const struct vf_stream_end any = {.stream = w->stream, .images = w->images, .reading = &w->reading};
    w->in = w->out = any;
    w->in.window = &w->window[0];
    w->in.file = w->pass->from_file ? NULL : source;
    w->in.batch = w->pass->from_file ? batch_of(w, w->stream->ends.input) : 1;
    enum vf_status status = vf_stream_start_reading(&w->in, error);
    if (status != VF_OK || !w->pass->stores)
        return status;
    w->out.window = last;
    w->out.file = w->pass->to_file ? NULL : sink;
    w->out.batch = w->pass->to_file ? batch_of(w, w->stream->ends.result) : 1;
    return vf_stream_start_writing(&w->out, error);
}

/* Waits for the writer to write what it has, or for both threads to give up. */
static enum vf_status end_ends(struct sweep *w, enum vf_status status, struct vf_error *error)
{
    if (status == VF_OK && w->pass->stores) {
        const struct vf_window *last = &w->window[w->window_count - 1];
        const ptrdiff_t all = vf_window_span(last) * w->images;
        if (!vf_queue_wait_room(&w->out.queue, last->capacity) || vf_queue_freed(&w->out.queue) < all)
            status = vf_queue_why(&w->out.queue, error);
    }
    vf_stream_end_join(&w->in);
    vf_stream_end_join(&w->out);
    w->stream->read_seconds += w->in.seconds;
    w->stream->write_seconds += w->out.seconds;
    return status;
}

static enum vf_status open_sweep(struct sweep *w, struct vf_error *error)
{
    const int runs = w->pass->runs;
    enum vf_status status;
    w->images = vf_stream_images(w->stream->plan);
    w->depth = vf_stream_depth(w->stream->plan, w->pass);
    w->step_count = runs + (w->pass->prepass >= 0);
    w->window_count = runs + 1;
    w->step = vf_alloc((size_t)w->step_count, sizeof *w->step, "the pass", error);
    if (w->step == NULL)
        return VF_FAILED;
    memset(w->step, 0, (size_t)w->step_count * sizeof *w->step);
    w->window = vf_alloc((size_t)w->window_count, sizeof *w->window, "the pass", error);
    if (w->window == NULL)
        return VF_FAILED;
    memset(w->window, 0, (size_t)w->window_count * sizeof *w->window);
    for (int i = 0; i < w->step_count; i++)
        VF_TRY(open_step(w, i, error));
    status = open_windows(w, error);
out:
    return status;
}

static void close_sweep(struct sweep *w)
{
    for (int i = 0; w->step != NULL && i < w->step_count; i++) {
        struct step *step = &w->step[i];
        for (size_t k = 0; step->part != NULL && k < (size_t)w->depth * w->stream->ends.channels; k++)
            vf_cuda_lane_close(&step->part[k].lane);
        for (size_t c = 0; c < w->stream->ends.channels; c++) {
            if (step->flow != NULL)
                vf_flow_close(&step->flow[c]);
            if (step->prepass != NULL)
                vf_prepass_close(&step->prepass[c]);
        }
        vf_free(step->flow);
        vf_free(step->prepass);
        vf_free(step->part);
        vf_free(step->count);
    }
    for (int i = 0; w->window != NULL && i < w->window_count; i++)
        vf_window_close(&w->window[i]);
    vf_free(w->step);
    vf_free(w->window);
    pthread_mutex_destroy(&w->reading);
}

static enum vf_status run_pass(struct vf_stream *stream, const struct vf_pass *pass,
                               struct vf_plane_file *source, struct vf_plane_file *sink,
                               struct vf_error *error)
{
    struct vf_room room = {0};
    struct sweep w = {.stream = stream, .pass = pass, .room = &room};
    pthread_mutex_init(&w.reading, NULL);
    enum vf_status status = open_sweep(&w, error);
    if (status == VF_OK && pass->stores) {
        const struct vf_window *last = &w.window[w.window_count - 1];
        sink->plane_bytes = (size_t)last->count * last->plane_bytes;
    }
    if (status == VF_OK)
        status = start_ends(&w, source, sink, error);
    for (; status == VF_OK && w.image < w.images; w.image++)
        status = sweep_image(&w, error);
    status = end_ends(&w, status, error);
    const size_t values = vf_plan_value_count(stream->plan);
    for (size_t c = 0; c < stream->ends.channels && status == VF_OK && pass->prepass >= 0; c++)
        vf_prepass_values(&w.step[w.step_count - 1].prepass[c], stream->plan, stream->value + c * values);
    close_sweep(&w);
    vf_room_free(&room);
    return status;
}

/* ---- all passes ---- */

static void close_file(struct vf_plane_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

enum vf_status vf_stream_run(struct vf_stream *stream, struct vf_error *error)
{
    struct vf_plane_file source = {.fd = -1};
    enum vf_status status = VF_OK;
    for (int p = 0; p < stream->passes->pass_count && status == VF_OK; p++) {
        const struct vf_pass *pass = &stream->passes->pass[p];
        const bool stores = pass->stores && !pass->to_file;
        struct vf_plane_file sink = {.fd = -1};
        if (stores)
            sink.fd = vf_nameless_file_beside(stream->beside, error);
        if (stores && sink.fd < 0)
            status = VF_FAILED;
        /* The windows of the pass before had other sizes. */
        if (p > 0)
            vf_alloc_free_kept();
        if (status == VF_OK)
            status = run_pass(stream, pass, &source, &sink, error);
        if (stores) {
            close_file(&source);
            source = sink;
        }
    }
    close_file(&source);
    return status;
}
