#include "kernels/cpu_row_cost.h"

#include <math.h>

/* Of one core of a present server, in units of a nanosecond. */
enum {
    OPERATIONS_PER_NS = 80,
    ACROSS_PER_NS = 200, /* weights across rows: two loads in registers serve many sums */
    ALONG_PER_NS = 92,
    PLANE_PER_NS = 110,     /* along x and across rows at once, */
    TALL_PLANE_PER_NS = 88, /* by columns that do not fit in the first cache with those beside them */
    TABLE_PER_NS = 140,
    L2_BYTES_PER_NS = 90,
    L3_BYTES_PER_NS = 60,
    SLOW_L3_BYTES_PER_NS = 40,        /* where a core is given little of it, */
    SLOW_L3_FIELDS_BYTES_PER_NS = 25, /* and of rows of several fields, which come from more places */
    MEMORY_BYTES_PER_NS = 18,
    ROW_NS = 30,
    START_NS = 40000, /* to start a thread, once for all runs of a kind; */
    WAKE_NS = 3500    /* and to have it join one */
};

/* Virtual machines report the far cache of the whole package, which no few threads have, and others use it
 * too. */
#define MOST_L3_BYTES (18.0 * (1 << 20))

/* The part of it that rings may fill before it slows them down; sums across the rows of an image, for each of
 * which its ring is gone through from end to end; and sums across the stream of several fields, most of which
 * ask for what they read ahead of much arithmetic. */
#define USABLE 0.5
#define USABLE_IN_TURN 0.25
#define USABLE_ASKED 0.8

/* Columns of so many rows are still in the first cache when those beside them come. */
#define MOST_PLANE_ROWS 112

/* Whether stage i is a flux whose rows stay near, since the step after it takes them as they come. */
static bool is_followed(const struct vf_row_layout *l, int i)
{
    return i + 1 < l->job->flow->stage_count && l->stage[i + 1].follows_flux;
}

/* Whether stage i sums along x, or across rows, where both are done at once. */
static bool is_of_plane(const struct vf_row_layout *l, int i)
{
    return vf_row_sums_along_plane(l, i) || l->stage[i].sums_plane;
}

/* Bytes a nanosecond of the far cache. */
static double far_bytes_per_ns(const struct vf_row_layout *l)
{
    bool several = false;
    for (int i = 0; i < l->job->flow->stage_count; i++)
        several = several || (l->job->flow->stage[i].output_count > 1 && !is_followed(l, i));
    return !l->caches.is_far_slow ? L3_BYTES_PER_NS
           : several              ? SLOW_L3_FIELDS_BYTES_PER_NS
                                  : SLOW_L3_BYTES_PER_NS;
}

/* Whether there are such sums of a field over many rows: then its ring is most of all. */
static bool is_in_turn(const struct vf_row_layout *l)
{
    enum { MANY = 16 };
    bool is = false;
    for (int i = 0; i < l->job->flow->stage_count && l->job->flow->dim == 2; i++) {
        const struct vf_stage *stage = &l->job->flow->stage[i];
        is = is || (stage->stencil == VF_STENCIL_LINEAR && stage->output_count == 1 &&
                    stage->taps->halo[1] >= MANY);
    }
    return is;
}

/* Nanoseconds a byte of ring traffic: the part of one thread's rings that fits in the near cache, what then
 * fits in its share of the far one, of which a part is usable, and the rest. */
static double ring_byte_ns(const struct vf_row_layout *l, double usable)
{
    const double bytes = l->work_bytes;
    const double near = fmin(bytes, 0.75 * (double)l->caches.near);
    const double shared = fmin((double)l->caches.far, MOST_L3_BYTES);
    const double others = bytes - near, room = usable * shared / l->job->threads;
    /* What is read next, in turn, is what was dropped last. */
    const double kept = is_in_turn(l) ? fmax(0, 2 * room - others) : room;
    const double far = fmin(others, kept);
    return (near / L2_BYTES_PER_NS + far / far_bytes_per_ns(l) + (bytes - near - far) / MEMORY_BYTES_PER_NS) /
           (bytes > 0 ? bytes : 1);
}

/* Nanoseconds of a stage's arithmetic at a voxel. */
static double arithmetic_ns(const struct vf_row_layout *l, int i)
{
    const struct vf_stage *stage = &l->job->flow->stage[i];
    const double scale = (double)l->element / sizeof(float);
    if (stage->stencil != VF_STENCIL_LINEAR)
        return scale * vf_stencil(stage->stencil)->cost / OPERATIONS_PER_NS;
    const enum vf_row_kind kind = l->stage[i].kind;
    const int per_ns = is_of_plane(l, i) ? l->most_rows > MOST_PLANE_ROWS ? TALL_PLANE_PER_NS : PLANE_PER_NS
                       : kind == VF_ROW_ACROSS_ROWS || kind == VF_ROW_ACROSS_STREAM ? ACROSS_PER_NS
                       : kind == VF_ROW_TABLE                                       ? TABLE_PER_NS
                                                                                    : ALONG_PER_NS;
    return scale * 2.0 * stage->taps->count * stage->output_count / per_ns;
}

/* Bytes of ring traffic of a stage at a voxel. */
static double moved_bytes(const struct vf_row_layout *l, int i)
{
    const struct vf_stage *stage = &l->job->flow->stage[i];
    double moved = is_followed(l, i) || vf_row_sums_along_plane(l, i) ? 0 : stage->output_count;
    if (l->stage[i].follows_flux)
        return (double)l->element * (moved + 2 + 2 * VF_STEP_PLANES);
    for (int k = 0; k < stage->input_count && !l->stage[i].sums_plane; k++)
        moved += 1 + 2.0 * l->stage[i].halo[k].s / l->stage[i].planes;
    return (double)l->element * moved;
}

/* Nanoseconds of one field's or stage's work on a plane of a tile with its reach: `ns` of arithmetic and
 * `moved_ns` of ring traffic at a voxel. */
static double plane_cost(const struct vf_row_layout *l, struct vf_halo reach, double ns, double moved_ns,
                         double rows_made)
{
    const struct vf_job *job = l->job;
    double cells_x = (double)l->tile.x + 2.0 * reach.x, rows = (double)l->tile.y + 2.0 * reach.r;
    if (!l->periodic_x)
        cells_x = fmin(cells_x, (double)job->nx);
    if (!l->periodic_r)
        rows = fmin(rows, (double)l->n_rows);
    /* Wide vectors make short rows dear: a row ends in a partial one. */
    double lanes = 64.0 / (double)l->element;
    double vectors = (double)(long)((cells_x + lanes - 1) / lanes) * lanes;
    /* What is moved is moved meanwhile. */
    return rows * (rows_made * ROW_NS + vectors * (ns > moved_ns ? ns : moved_ns));
}

/* Of many threads some have processors that are slower, or that others use too: the part of a tile's time
 * that the rest wait for them at the end. Two threads are hardly ever unlike. */
#define LAST_TILE 0.5

/* How often a thread takes a tile, until the last one has ended. */
static double rounds_of(double units, int threads)
{
    const double even = units / threads, whole = ceil(even);
    const double uneven = even + (threads > 2 ? LAST_TILE * (1 - 2.0 / threads) : 0);
    /* Many rounds even out by themselves. */
    return whole > 8 || whole < uneven ? uneven : whole;
}

double vf_row_cost(const struct vf_row_layout *l)
{
    const struct vf_job *job = l->job;
    const struct vf_flow *flow = job->flow;
    const double byte_ns = ring_byte_ns(l, is_in_turn(l) ? USABLE_IN_TURN : USABLE),
                 asked_byte_ns = ring_byte_ns(l, USABLE_ASKED);
    double element = (double)l->element, unit = 0;
    for (int k = 0; k < flow->source_count; k++) {
        const struct vf_ring *ring = &l->ring[flow->source[k]];
        double planes = (double)l->tile.chunk + 2.0 * ring->reach.s;
        if (!ring->in_place)
            unit += planes * plane_cost(l, ring->reach, 0, ring->whole ? element * byte_ns : 0, 1);
    }
    for (int i = 0; i < flow->stage_count; i++) {
        const struct vf_stage *stage = &flow->stage[i];
        const struct vf_halo reach =
            l->ring[l->stage[i].sums_plane ? stage->input[0] : stage->output[0]].reach;
        const double made = is_of_plane(l, i)                     ? 0
                            : stage->stencil == VF_STENCIL_LINEAR ? stage->output_count
                                                                  : 1;
        const bool asks = l->stage[i].kind == VF_ROW_ACROSS_STREAM && stage->output_count > 1;
        const double moved_ns = moved_bytes(l, i) * (asks ? asked_byte_ns : byte_ns);
        unit += ((double)l->tile.chunk + 2.0 * reach.s) *
                plane_cost(l, reach, arithmetic_ns(l, i), moved_ns, made);
    }
    double units = (double)l->tiles_x * (double)l->tiles_y * (double)l->chunks * (double)job->batch;
    const double rounds = rounds_of(units, job->threads);
    double moved = vf_job_cells(job) * element * (flow->source_count + flow->sink_count);
    const double others = fmin(units, job->threads) - 1;
    const double joining = WAKE_NS + START_NS / (job->times > 1 ? job->times : 1);
    return 1e-9 * (others * joining + rounds * unit + moved / MEMORY_BYTES_PER_NS / job->threads);
}
