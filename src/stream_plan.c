#include "stream_plan.h"

#include <string.h>

#include "alloc.h"

/* Of a disk and its file system, reading or writing: what weighs the time until the first slab is there, and
 * after the last one. */
#define FILE_BYTES_PER_SECOND 1e9
/* Of a sweep over a slab: starting threads, taking memory. */
#define SWEEP_SECONDS 50e-6
/* Of memory: what the planes that a run works in may take. */
#define WORK_SHARE 0.25

ptrdiff_t vf_stream_extent(const struct vf_plan *plan)
{
    return plan->context.dim == 2 ? plan->nz * plan->batch : plan->nz;
}

ptrdiff_t vf_stream_images(const struct vf_plan *plan)
{
    return plan->context.dim == 2 ? 1 : plan->batch;
}

static enum vf_type compute_type(const struct vf_plan *plan)
{
    return plan->context.is_double ? VF_F64 : VF_F32;
}

static ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* ---- windows ---- */

/* The run that reads window `index`; -1: none. */
static int reader_of(const struct vf_pass *pass, int index)
{
    const int runs = pass->run_end - pass->run_begin;
    return index < runs ? pass->run_begin + index : pass->prepass;
}

static void count_fields(const struct vf_plan *plan, const struct vf_stream_ends *ends,
                         const struct vf_pass *pass, int index, struct vf_window_shape *shape)
{
    const int reader = reader_of(pass, index), channels = (int)ends->channels;
    shape->type = compute_type(plan);
    if (index == 0 && pass->from_file) {
        shape->type = ends->input->type;
        shape->count = (int)ends->input->shape.nc;
    } else if (index == pass->run_end - pass->run_begin && pass->to_file) {
        shape->type = ends->result->type;
        shape->count = (int)ends->result->shape.nc;
    } else {
        shape->count =
            channels * (reader >= 0 ? plan->run[reader].inputs : plan->run[pass->run_end - 1].outputs);
    }
}

struct vf_window_shape vf_stream_window(const struct vf_stream_plan *stream, const struct vf_plan *plan,
                                        const struct vf_stream_ends *ends, const struct vf_pass *pass,
                                        int index)
{
    const int runs = pass->run_end - pass->run_begin, reader = reader_of(pass, index);
    const bool periodic = plan->context.dim == 3 && plan->context.boundary == VF_WRAP;
    const bool end = index == 0 || index == runs; /* another thread fills or empties it */
    ptrdiff_t beyond = 0, all = vf_stream_extent(plan);
    struct vf_window_shape shape;
    count_fields(plan, ends, pass, index, &shape);
    for (int i = index; i < runs + (pass->prepass >= 0) && periodic; i++)
        beyond += stream->run[reader_of(pass, i)].reach;
    shape.low = -beyond;
    shape.high = all + beyond;
    shape.capacity = reader < 0 ? 0 : 2 * stream->run[reader].reach + stream->slab;
    shape.capacity = index == 0 ? shape.capacity + stream->slab : shape.capacity;
    shape.capacity = end ? larger(shape.capacity, 2 * stream->slab) : shape.capacity;
    all = (shape.high - shape.low) * (end ? vf_stream_images(plan) : 1);
    shape.capacity = smaller(shape.capacity, all);
    const double plane = (double)plan->nx * (double)plan->ny * (double)vf_type_size(shape.type);
    shape.bytes = shape.count *
                  ((double)shape.capacity * plane + (double)vf_stream_extent(plan) * (double)sizeof(void *));
    return shape;
}

/* ---- one plan, one slab ---- */

struct trial {
    const struct vf_stream_request *request;
    const struct vf_plan *plan;
    struct vf_stream_plan stream;
};

/* Memory of a pass, and disk for what it stores. */
static double pass_bytes(const struct trial *t, const struct vf_pass *pass)
{
    double bytes = 0, work = 0;
    for (int i = 0; i <= pass->run_end - pass->run_begin; i++) {
        const int reader = reader_of(pass, i);
        bytes += vf_stream_window(&t->stream, t->plan, &t->request->ends, pass, i).bytes;
        if (reader >= 0 && t->stream.run[reader].work > work)
            work = t->stream.run[reader].work;
    }
    return bytes + work;
}

/* Counters of a pre-pass, all threads' and channels': a percentile's are the largest. */
static double reducer_bytes(const struct trial *t, const struct vf_run *run)
{
    const int link = t->plan->piece[run->piece_begin].link;
    const double globals = (double)vf_plan_live(t->plan, link) * t->plan->link[link].global_count;
    return globals * (double)t->request->ends.channels * t->plan->threads * 65536 * sizeof(uint64_t);
}

/* Tiles, memory and time of a run whose slabs are of so many planes. */
static enum vf_status weigh(const struct trial *t, int r, struct vf_error *error)
{
    const struct vf_plan *plan = t->plan;
    const struct vf_run *run = &plan->run[r];
    struct vf_stream_run *weighed = &t->stream.run[r];
    const ptrdiff_t slab = t->stream.slab, extent = vf_stream_extent(plan);
    const bool flat = plan->context.dim == 2;
    const double channels = (double)t->request->ends.channels;
    const double slabs = (double)((extent + slab - 1) / slab) * (double)vf_stream_images(plan) * channels;
    struct vf_flow flow;
    *weighed = (struct vf_stream_run){.tiling = run->tiling};
    enum vf_status status = vf_plan_reach(plan, run, &weighed->reach, error);
    if (status == VF_OK)
        status = vf_plan_flow(plan, run, NULL, &flow, error);
    if (status != VF_OK)
        return status;
    if (plan->gpu != NULL) {
        weighed->seconds = run->seconds * channels * (double)(slab + 2 * weighed->reach) / (double)slab;
    } else {
        struct vf_job job = {.flow = &flow,
                             .nx = plan->nx,
                             .ny = plan->ny,
                             .nz = plan->nz,
                             .batch = flat ? slab : 1,
                             .z_end = flat ? 1 : slab,
                             .threads = plan->threads,
                             .work_limit = (size_t)(t->request->bytes * WORK_SHARE)};
        weighed->seconds = (plan->scheme->plan(&job) + SWEEP_SECONDS) * slabs;
        if (plan->tiling_given)
            job.tiling = run->tiling;
        weighed->tiling = job.tiling;
        weighed->work = (double)plan->scheme->bytes(&job);
    }
    if (run->prepass)
        weighed->work += reducer_bytes(t, run);
    vf_flow_close(&flow);
    return VF_OK;
}

/* Runs that do the same as the one before, as iterations do, need not be weighed again. */
static bool is_like_the_last(const struct vf_plan *plan, int r)
{
    const struct vf_run *run = &plan->run[r], *last = run - 1;
    const struct vf_piece *piece = &plan->piece[run->piece_begin];
    return r > 0 && plan->gpu == NULL && !run->prepass && !last->prepass &&
           run->piece_end - run->piece_begin == 1 && last->piece_end - last->piece_begin == 1 &&
           piece[0].link == piece[-1].link && piece[0].count == piece[-1].count;
}

static enum vf_status weigh_all(const struct trial *t, struct vf_error *error)
{
    for (int r = 0; r < t->plan->run_count; r++) {
        if (is_like_the_last(t->plan, r)) {
            t->stream.run[r] = t->stream.run[r - 1];
            continue;
        }
        const enum vf_status status = weigh(t, r, error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

/* Adds a pass if it fits. */
static bool fits(const struct trial *t, struct vf_pass *pass)
{
    const struct vf_plan *plan = t->plan;
    pass->to_file = pass->run_end == plan->run_count;
    pass->bytes = pass_bytes(t, pass);
    return pass->bytes <= t->request->bytes;
}

/* The longest pass from run `begin` on; what it takes, if not even the shortest fits. */
static bool next_pass(const struct trial *t, int begin, bool from_file, struct vf_pass *pass, int *next)
{
    const struct vf_plan *plan = t->plan;
    struct vf_pass trial = {.run_begin = begin, .run_end = begin, .prepass = -1, .from_file = from_file};
    *next = begin + 1;
    if (plan->run[begin].prepass)
        trial.prepass = begin;
    else
        trial.run_end++;
    const bool good = fits(t, &trial);
    *pass = trial;
    while (good && trial.run_end > begin && *next < plan->run_count) {
        const bool reduced = plan->run[*next].prepass;
        if (reduced)
            trial.prepass = *next;
        else
            trial.run_end++;
        if (!fits(t, &trial))
            break;
        *pass = trial;
        ++*next;
        if (reduced)
            break;
    }
    return good;
}

/* What passes read and write, and what lies on the disk between them. */
static void add_up(struct trial *t)
{
    struct vf_stream_plan *s = &t->stream;
    const double plane = (double)t->plan->nx * (double)t->plan->ny;
    const double images = (double)vf_stream_images(t->plan);
    double held = 0;
    s->bytes = s->temporary_bytes = s->read_bytes = s->written_bytes = s->seconds = 0;
    for (int p = 0; p < s->pass_count; p++) {
        const struct vf_pass *pass = &s->pass[p];
        const int runs = pass->run_end - pass->run_begin;
        const struct vf_window_shape in = vf_stream_window(s, t->plan, &t->request->ends, pass, 0);
        const struct vf_window_shape out = vf_stream_window(s, t->plan, &t->request->ends, pass, runs);
        const double per_plane = plane * in.count * (double)vf_type_size(in.type);
        const double stored = runs == 0 ? 0
                                        : plane * out.count * (double)vf_type_size(out.type) * images *
                                              (double)vf_stream_extent(t->plan);
        double computed = 0;
        s->read_bytes += per_plane * (double)(in.high - in.low) * images;
        s->written_bytes += stored;
        if (runs > 0 && !pass->to_file) {
            s->temporary_bytes = held + stored > s->temporary_bytes ? held + stored : s->temporary_bytes;
            held = stored;
        }
        s->bytes = pass->bytes > s->bytes ? pass->bytes : s->bytes;
        for (int i = 0; i < runs + (pass->prepass >= 0); i++)
            computed += s->run[reader_of(pass, i)].seconds;
        const double moved =
            (per_plane * (double)(in.high - in.low) * images + stored) / FILE_BYTES_PER_SECOND;
        const double ends = moved * (double)s->slab / (double)(in.high - in.low) / images;
        s->seconds += (computed > moved ? computed : moved) + ends;
    }
}

/* Passes for the slab that is set; pass_count 0 when they do not fit. */
static enum vf_status lay_out(struct trial *t, struct vf_error *error)
{
    struct vf_stream_plan *s = &t->stream;
    enum vf_status status = weigh_all(t, error);
    if (status != VF_OK)
        return status;
    bool from_file = true;
    s->pass_count = 0;
    for (int r = 0, next; r < t->plan->run_count; r = next) {
        struct vf_pass *pass = &s->pass[s->pass_count++];
        if (!next_pass(t, r, from_file, pass, &next)) {
            s->needed_bytes = pass->bytes > s->needed_bytes ? pass->bytes : s->needed_bytes;
            s->pass_count = 0;
            /* All runs are looked at, so that what is asked for is enough. */
            for (r = next; r < t->plan->run_count; r = next)
                if (!next_pass(t, r, false, pass, &next) && pass->bytes > s->needed_bytes)
                    s->needed_bytes = pass->bytes;
            return VF_OK;
        }
        from_file = from_file && pass->run_begin == pass->run_end;
    }
    add_up(t);
    return VF_OK;
}

/* ---- the choice ---- */

static bool is_better(const struct vf_stream_plan *a, const struct vf_stream_plan *b)
{
    if (b->pass_count == 0 || a->pass_count == 0)
        return a->pass_count > 0;
    return a->pass_count != b->pass_count ? a->pass_count < b->pass_count : a->seconds < b->seconds;
}

static enum vf_status room_for(struct vf_stream_plan *stream, const struct vf_plan *plan,
                               struct vf_error *error)
{
    const size_t runs = (size_t)plan->run_count;
    *stream = (struct vf_stream_plan){.slab = 1};
    stream->run = vf_alloc(runs, sizeof *stream->run, "the plan", error);
    stream->pass = vf_alloc(runs, sizeof *stream->pass, "the plan", error);
    if (stream->run != NULL && stream->pass != NULL)
        return VF_OK;
    vf_stream_plan_close(stream);
    return VF_FAILED;
}

/* The best slab for one plan, from a plane upwards while no more passes come of it. */
static enum vf_status choose_slab(struct trial *t, struct vf_error *error)
{
    const ptrdiff_t extent = vf_stream_extent(t->plan);
    enum vf_status status;
    ptrdiff_t best = 0;
    struct vf_stream_plan known = {0};
    for (ptrdiff_t slab = 1;; slab = smaller(larger(slab + 1, slab * 3 / 2), extent)) {
        t->stream.slab = slab;
        status = lay_out(t, error);
        if (status != VF_OK)
            return status;
        if (t->stream.pass_count == 0 || (best > 0 && t->stream.pass_count > known.pass_count))
            break;
        if (is_better(&t->stream, &known)) {
            known = t->stream;
            best = slab;
        }
        if (slab == extent)
            break;
    }
    if (best == 0) {
        t->stream.slab = 0;
        return VF_OK;
    }
    t->stream.slab = best;
    return lay_out(t, error);
}

/* Iterations of the longest run. */
static int longest(const struct vf_plan *plan)
{
    int most = 0;
    for (int r = 0; r < plan->run_count; r++) {
        int count = 0;
        for (int p = plan->run[r].piece_begin; p < plan->run[r].piece_end; p++)
            count += plan->piece[p].count;
        most = count > most ? count : most;
    }
    return most;
}

/* Plans with shorter runs, which reach less far, compute less twice and hold more. */
static enum vf_status try_shorter(struct vf_stream_plan *stream, struct vf_plan *plan,
                                  const struct vf_stream_request *request, struct vf_error *error)
{
    const int most = longest(plan);
    for (int fused = most / 2; fused >= 1; fused /= 2) {
        struct vf_plan_request shorter = request->plan;
        struct vf_plan other;
        struct trial t = {.request = request, .plan = &other};
        shorter.most_fused = fused;
        enum vf_status status = vf_plan_open(&other, &shorter, error);
        if (status != VF_OK)
            return status;
        status = room_for(&t.stream, &other, error);
        if (status == VF_OK)
            status = choose_slab(&t, error);
        if (status == VF_OK && is_better(&t.stream, stream)) {
            vf_stream_plan_close(stream);
            vf_plan_close(plan);
            *stream = t.stream;
            *plan = other;
            continue;
        }
        if (stream->slab == 0 && t.stream.needed_bytes < stream->needed_bytes)
            stream->needed_bytes = t.stream.needed_bytes;
        vf_stream_plan_close(&t.stream);
        vf_plan_close(&other);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

enum vf_status vf_stream_plan_open(struct vf_stream_plan *stream, struct vf_plan *plan,
                                   const struct vf_stream_request *request, struct vf_error *error)
{
    struct trial t = {.request = request, .plan = plan};
    enum vf_status status = room_for(&t.stream, plan, error);
    *stream = t.stream;
    if (status != VF_OK)
        return status;
    status = choose_slab(&t, error);
    *stream = t.stream;
    if (status == VF_OK && plan->gpu == NULL)
        status = try_shorter(stream, plan, request, error);
    for (int r = 0; r < plan->run_count && status == VF_OK && stream->slab > 0 && plan->gpu == NULL; r++) {
        plan->run[r].tiling = stream->run[r].tiling;
        plan->run[r].seconds = stream->run[r].seconds / (double)request->ends.channels;
        plan->run[r].work_bytes = (size_t)stream->run[r].work;
    }
    if (status != VF_OK)
        vf_stream_plan_close(stream);
    return status;
}

void vf_stream_plan_close(struct vf_stream_plan *stream)
{
    vf_free(stream->pass);
    vf_free(stream->run);
    *stream = (struct vf_stream_plan){0};
}
