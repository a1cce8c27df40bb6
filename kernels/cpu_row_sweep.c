/* One sweep of row-stream over memory. Each thread takes a tile of the grid, streams along z (2D: y), and
 * holds a ring of planes for every field of the flow; each stage follows its inputs as closely as its halo
 * allows. A tile recomputes what its neighbours also need, so tiles are independent.
 * Beyond the grid a field is filled from its values inside, row by row as they are made (x) or by reading
 * another row (y, z); under `wrap` the grid is periodic and the rows beyond it are simply computed. */
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu_row_cost.h"
#include "kernels/cpu_row_sweep.h"
#include "kernels/cpu_row_work.h"
#include "src/alloc.h"
#include "src/size.h"

/* The planes that stage i goes through. */
static struct vf_range planes_of(const struct vf_row_worker *w, int i)
{
    const struct vf_row_layout *l = w->layout;
    struct vf_range planes = w->part[l->job->flow->stage[i].output[0]].s;
    planes.from -= l->stage[i].follows_flux ? VF_STEP_EARLIER : 0;
    return planes;
}

/* Whether stage i comes to the plane that is its delay behind step t. */
static bool comes_to_plane(const struct vf_row_worker *w, int i, ptrdiff_t t)
{
    const struct vf_range planes = planes_of(w, i);
    const ptrdiff_t newest = t - w->layout->stage[i].delay;
    return newest >= planes.from && newest < planes.to;
}

/* Step t of a source whose rows no stage loads at that step. */
static void step_source(const struct vf_row_worker *w, int field, ptrdiff_t t)
{
    const struct vf_row_part *part = &w->part[field];
    const struct vf_ring *ring = &w->layout->ring[field];
    const bool is_loaded = ring->loader >= 0 && !vf_row_loads_for_plane(w->layout, ring);
    if (ring->in_place || t < part->s.from || t >= part->s.to ||
        (is_loaded && comes_to_plane(w, ring->loader, t)))
        return;
    struct vf_row_loading loading = vf_row_loading_of(w, field, t);
    vf_row_load_up_to(w, &loading, part->r.to);
}

/* At step t: stage i's planes up to the one that is its delay behind, once they make a block or are the last.
 */
static void step_stage(const struct vf_row_worker *w, int i, ptrdiff_t t)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_row_stage *stage = &l->stage[i];
    const struct vf_range planes = planes_of(w, i);
    const ptrdiff_t newest = t - stage->delay, waiting = (newest - planes.from) % stage->planes + 1;
    if (comes_to_plane(w, i, t) && (waiting == stage->planes || newest == planes.to - 1))
        vf_row_stage_planes(w, i, newest - waiting + 1, (int)waiting);
}

/* Streams one tile: at step t every source has plane t, and every stage the plane its delay behind. */
static void sweep_tile(const struct vf_row_worker *w)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    const struct vf_job *job = l->job;
    ptrdiff_t first = w->tile.s.from;
    for (int k = 0; k < flow->source_count; k++) {
        const struct vf_range made = w->part[flow->source[k]].s;
        first = made.from < first ? made.from : first;
    }
    for (ptrdiff_t t = first; t < w->tile.s.to + l->delay; t++) {
        if (job->stop != NULL && *job->stop)
            return;
        for (int k = 0; k < flow->source_count; k++)
            step_source(w, flow->source[k], t);
        for (int i = 0; i < flow->stage_count; i++)
            if (!l->stage[i].called)
                step_stage(w, i, t);
        if (job->progress != NULL && t - l->delay >= w->tile.s.from)
            job->progress(job->progress_context,
                          (size_t)((w->tile.x.to - w->tile.x.from) * (w->tile.r.to - w->tile.r.from)));
    }
    w->rows->finish();
}

static struct vf_range piece(ptrdiff_t index, ptrdiff_t size, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t begin = from + index * size;
    return (struct vf_range){begin, begin + size < to ? begin + size : to};
}

static struct vf_range either(struct vf_range a, struct vf_range b)
{
    return (struct vf_range){vf_smaller(a.from, b.from), vf_larger(a.to, b.to)};
}

/* A field whose ring holds all planes of a periodic grid has each of them once: later ones are the same
 * again. A sink's are stored by their numbers, and stages that are called are so for all of theirs. */
static bool has_planes_once(const struct vf_row_layout *l, const struct vf_stage *stage, bool called)
{
    bool once = !called;
    for (int k = 0; k < stage->output_count; k++)
        once = once && l->ring[stage->output[k]].depth == l->n_stream && l->ring[stage->output[k]].sink < 0;
    return once;
}

/* Of a periodic grid that the stream goes round, the planes of each field: what is made of it reads no more.
 */
static void go_round(struct vf_row_worker *w)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    for (int f = 0; f < flow->field_count; f++)
        w->part[f].s = l->ring[f].sink >= 0 ? w->tile.s : (struct vf_range){PTRDIFF_MAX, PTRDIFF_MIN};
    for (int i = flow->stage_count - 1; i >= 0; i--) {
        const struct vf_stage *stage = &flow->stage[i];
        struct vf_range made = w->part[stage->output[0]].s;
        for (int k = 1; k < stage->output_count; k++)
            made = either(made, w->part[stage->output[k]].s);
        if (made.from < made.to && made.to - made.from > l->n_stream &&
            has_planes_once(l, stage, l->stage[i].called))
            made.to = made.from + l->n_stream;
        for (int k = 0; k < stage->output_count; k++)
            w->part[stage->output[k]].s = made;
        for (int k = 0; k < stage->input_count; k++) {
            struct vf_range *read = &w->part[stage->input[k]].s;
            const ptrdiff_t halo = l->stage[i].halo[k].s;
            *read = either(*read, (struct vf_range){made.from - halo, made.to + halo});
        }
    }
}

/* Unit number u of the job: a tile of an image; tiles that share planes follow each other. */
static void place_tile(struct vf_row_worker *w, ptrdiff_t u)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_job *job = l->job;
    w->tile.x = piece(u % l->tiles_x, l->tile.x, 0, job->nx);
    u /= l->tiles_x;
    w->tile.r = piece(u % l->tiles_y, l->tile.y, 0, l->n_rows);
    u /= l->tiles_y;
    w->tile.s = piece(u % l->chunks, l->tile.chunk, vf_job_begin(job), vf_job_end(job));
    w->image = u / l->chunks;
    for (int f = 0; f < job->flow->field_count; f++)
        w->part[f] = vf_row_part_of(w, f);
    if (l->periodic_s)
        go_round(w);
    vf_row_begin_tile(w);
}

static void fill_constant(const struct vf_row_layout *l, char *row, double value)
{
    const ptrdiff_t bytes = (l->most_pitch + l->most_origin) * (ptrdiff_t)l->element;
    vf_rows_choose(VF_F64)->store[l->cell](&value, row, 1);
    for (ptrdiff_t done = (ptrdiff_t)l->element; done < bytes; done *= 2)
        memcpy(row + done, row, (size_t)vf_smaller(done, bytes - done));
}

/* The pieces of one thread's block. */
struct block {
    size_t outside, edge, plane, tap, work, part, total;
    size_t row; /* bytes of a row of the constant */
};

static struct block block_of(const struct vf_row_layout *l)
{
    const size_t rounding = VF_ALIGNMENT - 1;
    const size_t row = (size_t)(l->most_pitch + l->most_origin) * l->element + VF_ROW_READ_BEYOND;
    struct block b = {.row = (row + rounding) / VF_ALIGNMENT * VF_ALIGNMENT};
    b.outside = (l->arena_bytes + rounding) / VF_ALIGNMENT * VF_ALIGNMENT;
    b.edge = b.outside + 2 * b.row;
    b.plane = b.edge + 2 * (size_t)l->most_pad * sizeof(ptrdiff_t);
    b.tap = b.plane + 2 * VF_MAX_INPUTS * (size_t)l->most_planes * sizeof(char *);
    b.work = b.tap + (size_t)vf_larger(l->most_taps + VF_ROW_BLOCK, l->most_rows) * sizeof(void *);
    b.part = b.work + (size_t)l->job->flow->stage_count * sizeof(struct vf_row_work);
    b.total = b.part + (size_t)l->job->flow->field_count * sizeof(struct vf_row_part);
    b.total = (b.total + rounding) / VF_ALIGNMENT * VF_ALIGNMENT;
    return b;
}

/* Results larger than this are not in the caches when they are read again. */
#define CACHED_BYTES (16.0 * (1 << 20))

static bool streams(const struct vf_job *job)
{
    double bytes = 0;
    for (int k = 0; k < job->flow->sink_count; k++)
        if (job->sink[k].array != NULL)
            bytes += (double)vf_type_size(job->sink[k].array->type);
    return bytes * vf_job_cells(job) > CACHED_BYTES;
}

static void place_worker(struct vf_row_worker *w, const struct vf_row_layout *l, int thread, char *memory)
{
    const struct vf_job *job = l->job;
    const struct vf_flow *flow = job->flow;
    const struct block b = block_of(l);
    ptrdiff_t *edge = (ptrdiff_t *)(void *)(memory + b.edge);
    const struct vf_rows *rows = vf_rows_choose(l->cell);
    *w = (struct vf_row_worker){.layout = l,
                                .rows = rows,
                                .bodies = vf_row_bodies_choose(flow->dim, l->cell),
                                .thread = thread,
                                .streams = streams(job),
                                .by_strips = vf_rows_by_strips(rows),
                                .arena = memory,
                                .outside = {memory + b.outside, memory + b.outside + b.row},
                                .edge = {edge, edge + l->most_pad},
                                .plane = (const char **)(void *)(memory + b.plane),
                                .tap = (const void **)(void *)(memory + b.tap),
                                .work = (struct vf_row_work *)(void *)(memory + b.work),
                                .part = (struct vf_row_part *)(void *)(memory + b.part)};
    fill_constant(l, w->outside[VF_FIELD_IMAGE], flow->constant);
    fill_constant(l, w->outside[VF_FIELD_DERIVED], 0);
    for (ptrdiff_t i = 0; i < l->most_pad; i++) {
        w->edge[0][i] = vf_boundary_index(flow->boundary, -1 - i, job->nx);
        w->edge[1][i] = vf_boundary_index(flow->boundary, job->nx + i, job->nx);
    }
}

/* A job that threads take tiles of. */
struct sweep {
    const struct vf_row_layout *layout;
    char *memory; /* of the threads, */
    size_t block; /* bytes of each */
    ptrdiff_t units;
    atomic_ptrdiff_t next;
};

static void sweep_tiles(void *context, int thread)
{
    struct sweep *s = context;
    struct vf_row_worker worker;
    place_worker(&worker, s->layout, thread, s->memory + (size_t)thread * s->block);
    for (ptrdiff_t u; (u = atomic_fetch_add(&s->next, 1)) < s->units;) {
        place_tile(&worker, u);
        sweep_tile(&worker);
    }
}

enum vf_status vf_row_sweep_run(const struct vf_job *job, struct vf_error *error)
{
    struct vf_row_layout layout;
    struct vf_room own = {0};
    char *memory = NULL;
    enum vf_status status;
    VF_TRY(vf_row_layout_open(&layout, job, error));
    const ptrdiff_t units = layout.tiles_x * layout.tiles_y * layout.chunks * job->batch;
    const int threads = units < job->threads ? (int)units : job->threads;
    const size_t block = block_of(&layout).total;
    /* In one piece, which has large pages then, and each thread is handed its own as it comes to them. */
    memory = vf_room_take(job->room == NULL ? &own : job->room, (size_t)threads, block, "the planes in work",
                          error);
    status = VF_FAILED;
    if (memory == NULL)
        goto out;
    struct sweep sweep = {&layout, memory, block, units, 0};
    vf_team_run(job->team, threads, sweep_tiles, &sweep);
    status = VF_OK;
    if (job->stop != NULL && *job->stop)
        status = vf_fail(error, VF_INTERRUPTED, "interrupted");
out:
    vf_room_free(&own);
    vf_row_layout_close(&layout);
    return status;
}

/* Of all threads; SIZE_MAX where that overflows. */
static size_t work_bytes(const struct vf_row_layout *layout)
{
    size_t total;
    return vf_size_mul(block_of(layout).total, (size_t)layout->job->threads, &total) ? total : SIZE_MAX;
}

size_t vf_row_sweep_bytes(const struct vf_job *job)
{
    struct vf_row_layout layout;
    struct vf_error ignored;
    if (vf_row_layout_open(&layout, job, &ignored) != VF_OK)
        return SIZE_MAX;
    const size_t total = work_bytes(&layout);
    vf_row_layout_close(&layout);
    return total;
}

/* Rings of all threads stay below the larger of these, whatever the model says of speed, where any tile
 * allows it. */
#define MOST_WORK_BYTES ((size_t)48 << 20)
#define MOST_WORK_BYTES_A_THREAD ((size_t)6 << 20)

/* Predicted seconds of the layout's job by such tiles, and what is compared: dearer where it takes more
 * memory than it should. False where there are none such. */
static bool weigh(struct vf_row_layout *layout, struct vf_tile tile, double *seconds, double *rank)
{
    const struct vf_job *job = layout->job;
    if (!vf_row_layout_retile(layout, tile))
        return false;
    const size_t work = work_bytes(layout);
    const size_t of_threads = MOST_WORK_BYTES_A_THREAD * (size_t)job->threads;
    const size_t most = of_threads > MOST_WORK_BYTES ? of_threads : MOST_WORK_BYTES;
    const bool is_over = job->work_limit > 0 && work > job->work_limit;
    *seconds = vf_row_cost(layout);
    if (work > most)
        *seconds *= 1 + (double)work / (double)most;
    *rank = is_over ? 1e6 * *seconds * (double)work / (double)job->work_limit : *seconds;
    return true;
}

/* The heights of tiles: a plane's over 1, 3/2, 2, 3, 4, 6 and so on. */
static ptrdiff_t lower(ptrdiff_t whole, int step)
{
    const ptrdiff_t part = ((whole - 1) >> step / 2) + 1;
    return step % 2 == 0 ? part : (2 * part + 2) / 3;
}

/* Tries tiles from whole rows downwards and keeps the cheapest; those above the limit only where all are. */
double vf_row_sweep_plan(struct vf_job *job)
{
    const ptrdiff_t stream = vf_job_end(job) - vf_job_begin(job), height = job->flow->dim == 3 ? job->ny : 1;
    struct vf_tile best = {job->nx, height, stream};
    double least = -1, best_seconds = INFINITY, seconds, rank;
    struct vf_row_layout layout;
    struct vf_error ignored;
    job->tiling = (struct vf_tiling){.tile = {1, 1, 1}};
    const bool opened = vf_row_layout_open(&layout, job, &ignored) == VF_OK;
    for (ptrdiff_t x = job->nx; opened && x >= 1; x = x > 64 ? (x + 127) / 128 * 64 : 0)
        for (int step = 0; step == 0 || lower(height, step - 1) > 8; step++)
            for (ptrdiff_t pieces = 1; pieces <= 4 * job->threads && pieces <= stream; pieces *= 2) {
                const struct vf_tile tile = {x, lower(height, step), (stream + pieces - 1) / pieces};
                if (weigh(&layout, tile, &seconds, &rank) && (least < 0 || rank < least)) {
                    least = rank;
                    best_seconds = seconds;
                    best = tile;
                }
            }
    if (opened)
        vf_row_layout_close(&layout);
    job->tiling = (struct vf_tiling){.tile = best};
    return best_seconds;
}
