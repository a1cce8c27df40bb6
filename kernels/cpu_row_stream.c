/* The CPU's scheme: a run of stages is one sweep over memory. Each thread takes a tile of the grid, streams
 * along z (2D: y), and holds a ring of planes for every field of the run; each stage follows its inputs as
 * closely as its halo allows. A tile recomputes what its neighbours also need, so tiles are independent.
 * Beyond the grid a field is filled from its values inside, row by row as they are made (x) or by reading
 * another row (y, z); under `wrap` the grid is periodic and the rows beyond it are simply computed. */
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu_row_layout.h"
#include "kernels/cpu_rows.h"
#include "src/alloc.h"

/* A half-open range. */
struct range {
    ptrdiff_t from, to;
};

/* One thread's memory and the tile that it works on. */
struct worker {
    const struct vf_row_layout *layout;
    const struct vf_rows *rows;
    int thread;
    char *arena;
    char *outside[2];     /* a row of the constant, by vf_field_kind */
    const char **plane;   /* [input][stream offset]: scratch of one stage's plane; NULL is outside */
    const void **tap;     /* scratch of one row's linear taps */
    void *weight;         /* the same order, of the compute type */
    ptrdiff_t image;      /* of the batch */
    struct range s, r, x; /* the tile */
};

/* A tile's range with its reach, inside the grid unless the grid is periodic along that axis. */
static struct range extended(struct range tile, int reach, ptrdiff_t n, bool periodic)
{
    struct range e = {tile.from - reach, tile.to + reach};
    if (!periodic) {
        e.from = e.from < 0 ? 0 : e.from;
        e.to = e.to > n ? n : e.to;
    }
    return e;
}

static struct range made_planes(const struct worker *w, const struct vf_ring *ring)
{
    return extended(w->s, ring->reach.s, w->layout->n_stream, w->layout->periodic_s);
}

static struct range made_rows(const struct worker *w, const struct vf_ring *ring)
{
    return extended(w->r, ring->reach.r, w->layout->n_rows, w->layout->periodic_r);
}

static struct range made_cells(const struct worker *w, const struct vf_ring *ring)
{
    return extended(w->x, ring->reach.x, w->layout->job->nx, w->layout->periodic_x);
}

/* The plane of a ring that holds stream position s; its first row is the first that is made. */
static char *ring_plane(const struct worker *w, const struct vf_ring *ring, ptrdiff_t s)
{
    size_t row_bytes = (size_t)ring->pitch * w->layout->element;
    return w->arena + ring->offset + (size_t)(vf_floor_mod(s, ring->depth) * ring->rows) * row_bytes;
}

/* The element at x of row r of a ring's plane. */
static char *ring_row(const struct worker *w, const struct vf_ring *ring, char *plane, ptrdiff_t r,
                      ptrdiff_t x)
{
    const ptrdiff_t row = r - made_rows(w, ring).from;
    return plane + (size_t)(row * ring->pitch + ring->origin + x - w->x.from) * w->layout->element;
}

static double outside_value(const struct vf_flow *flow, enum vf_field_kind kind)
{
    return kind == VF_FIELD_IMAGE ? flow->constant : 0;
}

/* Fills the cells beyond the grid that consumers read; `row` is the element at x = 0. */
static void fill_edges(const struct worker *w, int field, struct range made, char *row)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    const ptrdiff_t n = l->job->nx, pad = l->ring[field].pad, room = l->ring[field].room;
    if (l->periodic_x || pad == 0)
        return;
    const double outside = outside_value(flow, flow->field_kind[field]);
    const ptrdiff_t first = w->x.from - room, last = w->x.to + room;
    const struct range side[2] = {{first > -pad ? first : -pad, made.from == 0 ? 0 : -pad},
                                  {n, made.to < n ? n : (last < n + pad ? last : n + pad)}};
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t x = side[k].from; x < side[k].to; x++) {
            ptrdiff_t from = vf_boundary_index(flow->boundary, x, n);
            if (flow->is_double)
                ((double *)row)[x] = from < 0 ? outside : ((double *)row)[from];
            else
                ((float *)row)[x] = from < 0 ? (float)outside : ((float *)row)[from];
        }
}

/* Stores or reduces a row of a sink, once it is made; `row` is the element at the tile's first x. */
static void deliver(const struct worker *w, int field, ptrdiff_t s, ptrdiff_t r, const char *row)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_job *job = l->job;
    const int index = l->ring[field].sink;
    if (index < 0 || s < w->s.from || s >= w->s.to || r < w->r.from || r >= w->r.to)
        return;
    const struct vf_sink *sink = &job->sink[index];
    const bool volume = job->flow->dim == 3;
    const ptrdiff_t z = volume ? s : 0, y = volume ? r : s, n = w->x.to - w->x.from;
    if (sink->array != NULL) {
        char *plane = sink->array->plane[w->image * job->nz + z];
        size_t at = (size_t)(y * job->nx + w->x.from) * vf_type_size(sink->array->type);
        w->rows->store[sink->array->type](row, plane + at, n);
    }
    for (int k = 0; k < sink->reducer_count; k++)
        vf_reducer_add(&sink->reducer[k], w->thread, row, n, w->x.from, y, z);
}

/* Reads plane s of a source into its ring, converted to the compute type. */
static void load_plane(const struct worker *w, int field, ptrdiff_t s)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_job *job = l->job;
    const struct vf_ring *ring = &l->ring[field];
    const struct vf_array *array = &job->source[ring->source];
    const struct range rows = made_rows(w, ring), x = made_cells(w, ring);
    const size_t size = vf_type_size(array->type);
    const ptrdiff_t in_grid = vf_boundary_index(VF_WRAP, s, l->n_stream);
    const bool volume = job->flow->dim == 3;
    const char *plane = array->plane[w->image * job->nz + (volume ? in_grid : 0)];
    char *to_plane = ring_plane(w, ring, s);
    for (ptrdiff_t r = rows.from; r < rows.to; r++) {
        const ptrdiff_t y = volume ? vf_boundary_index(VF_WRAP, r, l->n_rows) : in_grid;
        char *to = ring_row(w, ring, to_plane, r, 0);
        /* More than one piece only where a periodic grid wraps. */
        for (ptrdiff_t at = x.from; at < x.to;) {
            const ptrdiff_t from = vf_boundary_index(VF_WRAP, at, job->nx);
            const ptrdiff_t n = x.to - at < job->nx - from ? x.to - at : job->nx - from;
            w->rows->load[array->type](plane + (size_t)(y * job->nx + from) * size,
                                       to + at * (ptrdiff_t)l->element, n);
            at += n;
        }
        fill_edges(w, field, x, to);
        deliver(w, field, s, r, to + w->x.from * (ptrdiff_t)l->element);
    }
}

/* An input of a stage while it computes one plane. */
struct input {
    const char *
        *plane; /* [stream offset + halo]: the first row made, at the output's first cell; NULL is outside */
    struct vf_halo halo;
    ptrdiff_t first_row; /* that the planes begin with */
    ptrdiff_t row_bytes;
    const char *outside; /* a row of the constant */
};

/* Input k of a stage at stream position s, whose output begins at x. */
static struct input input_of(const struct worker *w, int stage_index, int k, ptrdiff_t s, ptrdiff_t x)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    const int field = flow->stage[stage_index].input[k];
    const struct vf_ring *ring = &l->ring[field];
    const struct input in = {
        .plane = w->plane + k * (2 * l->most_stream_halo + 1),
        .halo = l->halo[stage_index][k],
        .first_row = made_rows(w, ring).from,
        .row_bytes = ring->pitch * (ptrdiff_t)l->element,
        .outside = w->outside[flow->field_kind[field]] + (size_t)l->most_origin * l->element,
    };
    for (int d = -in.halo.s; d <= in.halo.s; d++) {
        const ptrdiff_t at = vf_boundary_index(flow->boundary, s + d, l->n_stream);
        in.plane[d + in.halo.s] =
            at < 0 ? NULL
                   : ring_row(w, ring, ring_plane(w, ring, l->periodic_s ? s + d : at), in.first_row, x);
    }
    return in;
}

/* Bytes from a plane's start to row r, which may be beyond the grid; -1 for the constant. */
static ptrdiff_t row_offset(const struct worker *w, const struct input *in, ptrdiff_t r)
{
    const struct vf_row_layout *l = w->layout;
    const ptrdiff_t at = vf_boundary_index(l->job->flow->boundary, r, l->n_rows);
    return at < 0 ? -1 : ((l->periodic_r ? r : at) - in->first_row) * in->row_bytes;
}

static const char *row_at(const struct input *in, int ds, ptrdiff_t offset)
{
    const char *plane = in->plane[ds + in->halo.s];
    return plane == NULL || offset < 0 ? in->outside : plane + offset;
}

static void linear_row(const struct worker *w, const struct vf_stage *stage, const struct input *inputs,
                       ptrdiff_t r, ptrdiff_t n, char *const *out)
{
    const struct vf_taps *taps = stage->taps;
    const bool volume = w->layout->job->flow->dim == 3;
    for (int k = 0; k < stage->input_count; k++) {
        const char *row = NULL;
        for (int t = 0; t < taps->count; t++) {
            const struct vf_tap *tap = &taps->tap[t], *last = &taps->tap[t > 0 ? t - 1 : 0];
            const int ds = volume ? tap->dz : tap->dy, dr = volume ? tap->dy : 0;
            if (row == NULL || tap->dz != last->dz || tap->dy != last->dy)
                row = row_at(&inputs[k], ds, row_offset(w, &inputs[k], r + dr));
            w->tap[t] = row + tap->dx * (ptrdiff_t)w->layout->element;
        }
        w->rows->linear(w->tap, w->weight, taps->count, out[k], n);
    }
}

/* The weights in the compute type. */
static void set_weights(const struct worker *w, const struct vf_taps *taps)
{
    for (int t = 0; t < taps->count; t++)
        if (w->layout->job->flow->is_double)
            ((double *)w->weight)[t] = taps->tap[t].weight;
        else
            ((float *)w->weight)[t] = (float)taps->tap[t].weight;
}

/* What all rows of a plane share: which outer faces are closed to flux. */
static struct vf_body_row body_of(const struct worker *w, const struct vf_stage *stage, ptrdiff_t s,
                                  struct range x)
{
    const struct vf_job *job = w->layout->job;
    const enum vf_boundary b = job->flow->boundary;
    const bool volume = job->flow->dim == 3;
    const bool closed_z = volume && vf_boundary_is_closed(vf_boundary_axis(b, job->nz));
    const bool closed_x = vf_boundary_is_closed(vf_boundary_axis(b, job->nx));
    return (struct vf_body_row){
        .param = stage->param,
        .n = x.to - x.from,
        .open_lo = {1, 1, !(closed_z && s == 0)},
        .open_hi = {1, 1, !(closed_z && s == job->nz - 1)},
        .closed_lo_x = closed_x && x.from == 0 ? 0 : -1,
        .closed_hi_x = closed_x && x.to == job->nx ? (int)(x.to - x.from) - 1 : -1,
    };
}

/* Row r: `row` is the plane's, its `in` is filled here. */
static void body_row(const struct worker *w, const struct vf_stage *stage, const struct input *inputs,
                     ptrdiff_t s, ptrdiff_t r, const void **in, struct vf_body_row *row)
{
    const struct vf_job *job = w->layout->job;
    const bool volume = job->flow->dim == 3;
    for (int k = 0; k < stage->input_count; k++) {
        const struct vf_halo h = inputs[k].halo;
        for (int dr = -h.r; dr <= h.r; dr++) {
            const ptrdiff_t offset = row_offset(w, &inputs[k], r + dr);
            for (int ds = -h.s; ds <= h.s; ds++)
                in[VF_ROW_INDEX(k, volume ? ds : 0, volume ? dr : ds)] = row_at(&inputs[k], ds, offset);
        }
    }
    const ptrdiff_t y = volume ? r : s;
    const bool closed_y = vf_boundary_is_closed(vf_boundary_axis(job->flow->boundary, job->ny));
    row->open_lo[1] = !(closed_y && y == 0);
    row->open_hi[1] = !(closed_y && y == job->ny - 1);
    w->rows->body[stage->stencil](row);
}

/* Computes plane s of a stage over the tile and its reach. */
static void stage_plane(const struct worker *w, int stage_index, ptrdiff_t s)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_stage *stage = &l->job->flow->stage[stage_index];
    const bool linear = stage->stencil == VF_STENCIL_LINEAR;
    const struct range rows = made_rows(w, &l->ring[stage->output[0]]);
    const struct range x = made_cells(w, &l->ring[stage->output[0]]);
    struct vf_body_row body = body_of(w, stage, s, x);
    struct input inputs[VF_MAX_INPUTS];
    const void *in[VF_MAX_INPUTS * VF_BODY_ROWS];
    char *out[VF_MAX_OUTPUTS];
    body.in = in;
    body.out = (void *const *)out;
    for (int k = 0; k < stage->input_count; k++)
        inputs[k] = input_of(w, stage_index, k, s, x.from);
    if (linear)
        set_weights(w, stage->taps);
    for (ptrdiff_t r = rows.from; r < rows.to; r++) {
        for (int k = 0; k < stage->output_count; k++) {
            const struct vf_ring *ring = &l->ring[stage->output[k]];
            out[k] = r == rows.from ? ring_row(w, ring, ring_plane(w, ring, s), r, x.from)
                                    : out[k] + ring->pitch * (ptrdiff_t)l->element;
        }
        if (linear)
            linear_row(w, stage, inputs, r, x.to - x.from, out);
        else
            body_row(w, stage, inputs, s, r, in, &body);
        for (int k = 0; k < stage->output_count; k++) {
            char *zero = out[k] - x.from * (ptrdiff_t)l->element;
            fill_edges(w, stage->output[k], x, zero);
            deliver(w, stage->output[k], s, r, zero + w->x.from * (ptrdiff_t)l->element);
        }
    }
}

/* Streams one tile: at step t every source has plane t, and every stage the plane its delay behind. */
static void sweep_tile(const struct worker *w)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    const struct vf_job *job = l->job;
    ptrdiff_t first = w->s.from;
    for (int k = 0; k < flow->source_count; k++) {
        const struct range made = made_planes(w, &l->ring[flow->source[k]]);
        first = made.from < first ? made.from : first;
    }
    for (ptrdiff_t t = first; t < w->s.to + l->delay; t++) {
        if (job->stop != NULL && *job->stop)
            return;
        for (int k = 0; k < flow->source_count; k++) {
            struct range made = made_planes(w, &l->ring[flow->source[k]]);
            if (t >= made.from && t < made.to)
                load_plane(w, flow->source[k], t);
        }
        for (int i = 0; i < flow->stage_count; i++) {
            const struct vf_ring *ring = &l->ring[flow->stage[i].output[0]];
            struct range made = made_planes(w, ring);
            if (t - ring->delay >= made.from && t - ring->delay < made.to)
                stage_plane(w, i, t - ring->delay);
        }
        if (job->progress != NULL && t - l->delay >= w->s.from)
            job->progress(job->progress_context, (size_t)((w->x.to - w->x.from) * (w->r.to - w->r.from)));
    }
}

static struct range piece(ptrdiff_t index, ptrdiff_t size, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t begin = from + index * size;
    return (struct range){begin, begin + size < to ? begin + size : to};
}

/* Unit number u of the job: a tile of an image; tiles that share planes follow each other. */
static void place_tile(struct worker *w, ptrdiff_t u)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_job *job = l->job;
    const bool volume = job->flow->dim == 3;
    w->x = piece(u % l->tiles_x, l->tiling.x, 0, job->nx);
    u /= l->tiles_x;
    w->r = piece(u % l->tiles_y, l->tiling.y, 0, l->n_rows);
    u /= l->tiles_y;
    w->s = piece(u % l->chunks, l->tiling.chunk, volume ? job->z_begin : 0, volume ? job->z_end : job->ny);
    w->image = u / l->chunks;
}

static void fill_constant(const struct vf_row_layout *l, char *row, double value)
{
    for (ptrdiff_t i = 0; i < l->most_pitch + l->most_origin; i++)
        if (l->element == sizeof(double))
            ((double *)row)[i] = value;
        else
            ((float *)row)[i] = (float)value;
}

/* The pieces of one thread's block. */
struct block {
    size_t arena, outside, plane, tap, weight, total;
};

static struct block block_of(const struct vf_row_layout *l)
{
    struct block b;
    size_t rounding = VF_ALIGNMENT - 1;
    size_t row =
        (((size_t)(l->most_pitch + l->most_origin) * l->element) + rounding) / VF_ALIGNMENT * VF_ALIGNMENT;
    b.arena = 0;
    b.outside = l->arena_bytes;
    b.plane = b.outside + 2 * row;
    b.tap = b.plane + VF_MAX_INPUTS * (2 * (size_t)l->most_stream_halo + 1) * sizeof(char *);
    b.weight = b.tap + (size_t)l->most_taps * sizeof(void *);
    b.total = b.weight + (size_t)l->most_taps * sizeof(double);
    return b;
}

static void place_worker(struct worker *w, const struct vf_row_layout *l, int thread, char *memory)
{
    const struct vf_flow *flow = l->job->flow;
    const struct block b = block_of(l);
    *w = (struct worker){.layout = l,
                         .rows = vf_rows_choose(flow->dim, flow->is_double),
                         .thread = thread,
                         .arena = memory + b.arena,
                         .outside = {memory + b.outside, memory + (b.outside + b.plane) / 2},
                         .plane = (const char **)(void *)(memory + b.plane),
                         .tap = (const void **)(void *)(memory + b.tap),
                         .weight = memory + b.weight};
    fill_constant(l, w->outside[VF_FIELD_IMAGE], outside_value(flow, VF_FIELD_IMAGE));
    fill_constant(l, w->outside[VF_FIELD_DERIVED], outside_value(flow, VF_FIELD_DERIVED));
}

static enum vf_status run(const struct vf_job *job, struct vf_error *error)
{
    struct vf_row_layout layout;
    char **memory = NULL;
    enum vf_status status;
    VF_TRY(vf_row_layout_open(&layout, job, error));
    const ptrdiff_t units = layout.tiles_x * layout.tiles_y * layout.chunks * job->batch;
    const int threads = units < job->threads ? (int)units : job->threads;
    status = VF_FAILED;
    memory = vf_alloc((size_t)threads, sizeof *memory, "threads", error);
    if (memory == NULL)
        goto out;
    for (int i = 0; i < threads; i++) {
        memory[i] = vf_alloc(block_of(&layout).total, 1, "the planes in work", error);
        if (memory[i] == NULL)
            goto out;
    }
#pragma omp parallel num_threads(threads)
    {
        struct worker worker;
        place_worker(&worker, &layout, omp_get_thread_num(), memory[omp_get_thread_num()]);
#pragma omp for schedule(dynamic, 1)
        for (ptrdiff_t u = 0; u < units; u++) {
            place_tile(&worker, u);
            sweep_tile(&worker);
        }
    }
    status = VF_OK;
    if (job->stop != NULL && *job->stop)
        status = vf_fail(error, VF_INTERRUPTED, "interrupted");
out:
    for (int i = 0; memory != NULL && i < threads; i++)
        vf_free(memory[i]);
    vf_free(memory);
    vf_row_layout_close(&layout);
    return status;
}

static size_t bytes(const struct vf_job *job)
{
    struct vf_row_layout layout;
    struct vf_error ignored;
    if (vf_row_layout_open(&layout, job, &ignored) != VF_OK)
        return SIZE_MAX;
    size_t total = block_of(&layout).total * (size_t)job->threads;
    vf_row_layout_close(&layout);
    return total;
}

/* Rings of all threads stay below this, whatever the model says of speed, where any tile allows it. */
#define MOST_WORK_BYTES ((size_t)48 << 20)

/* Tries tiles from whole rows downwards and keeps the cheapest. */
static double plan(struct vf_job *job)
{
    const bool volume = job->flow->dim == 3;
    const ptrdiff_t stream = volume ? job->z_end - job->z_begin : job->ny;
    struct vf_tiling best = {job->nx, volume ? job->ny : 1, stream};
    double least = -1;
    for (ptrdiff_t x = job->nx; x >= 1; x = x > 64 ? (x + 127) / 128 * 64 : 0)
        for (ptrdiff_t y = volume ? job->ny : 1; y >= 1; y = y > 8 ? (y + 1) / 2 : 0)
            for (ptrdiff_t pieces = 1; pieces <= 4 * job->threads && pieces <= stream; pieces *= 2) {
                struct vf_row_layout layout;
                struct vf_error ignored;
                job->tiling = (struct vf_tiling){x, y, (stream + pieces - 1) / pieces};
                if (vf_row_layout_open(&layout, job, &ignored) != VF_OK)
                    continue;
                double cost = vf_row_layout_cost(&layout);
                size_t work = block_of(&layout).total * (size_t)job->threads;
                if (work > MOST_WORK_BYTES)
                    cost *= 1 + (double)work / MOST_WORK_BYTES;
                if (job->work_limit > 0 && work > job->work_limit)
                    cost *= 1e6 * (double)work / (double)job->work_limit;
                vf_row_layout_close(&layout);
                if (least < 0 || cost < least) {
                    least = cost;
                    best = job->tiling;
                }
            }
    job->tiling = best;
    return least;
}

static const char *refuses(const struct vf_flow *flow)
{
    return vf_stages_are_listed(flow->stage, flow->stage_count)
               ? NULL
               : "a stage's body is not in the program: only a GPU compiles it";
}

const struct vf_scheme vf_cpu_row_stream = {
    .name = "row-stream",
    .summary = "one sweep over memory, a ring of planes a stage, vectorised rows, threads over tiles",
    .refuses = refuses,
    .plan = plan,
    .bytes = bytes,
    .run = run,
};
