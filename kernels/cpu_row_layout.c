#include "kernels/cpu_row_layout.h"

#include <math.h>

#include "src/alloc.h"
#include "src/size.h"

static struct vf_halo halo_of(const struct vf_stage *stage, int dim, int k)
{
    int zyx[3];
    vf_stage_halo(stage, dim, k, zyx);
    return dim == 3 ? (struct vf_halo){zyx[0], zyx[1], zyx[2]} : (struct vf_halo){zyx[1], 0, zyx[2]};
}

/* From the last stage back: a stage computes the widest region that any of its outputs is needed in. */
static void find_reach(struct vf_row_layout *l)
{
    const struct vf_flow *flow = l->job->flow;
    for (int i = flow->stage_count - 1; i >= 0; i--) {
        const struct vf_stage *stage = &flow->stage[i];
        struct vf_halo out = {0, 0, 0};
        for (int k = 0; k < stage->output_count; k++) {
            const struct vf_halo *need = &l->ring[stage->output[k]].reach;
            out = (struct vf_halo){vf_larger(out.s, need->s), vf_larger(out.r, need->r),
                                   vf_larger(out.x, need->x)};
        }
        for (int k = 0; k < stage->output_count; k++)
            l->ring[stage->output[k]].reach = out;
        for (int k = 0; k < stage->input_count; k++) {
            const struct vf_halo h = l->stage[i].halo[k];
            struct vf_ring *in = &l->ring[stage->input[k]];
            in->reach.s = vf_larger(in->reach.s, out.s + h.s);
            in->reach.r = vf_larger(in->reach.r, out.r + h.r);
            in->reach.x = vf_larger(in->reach.x, out.x + h.x);
            in->pad = vf_larger(in->pad, h.x);
            in->whole = true;
        }
    }
}

/* From so many weights on, sums across the stream take more planes at once, if the far cache is slow from
 * fewer on. */
#define LEAST_TAPS_WIDE 33
#define LEAST_TAPS_WIDE_IF_SLOW 16

static struct vf_row_stage row_stage(const struct vf_stage *stage, int dim, const struct vf_rows *rows,
                                     bool is_far_slow)
{
    struct vf_row_stage s = {.kind = VF_ROW_BODY, .rows = 1, .planes = 1, .calls = -1};
    for (int k = 0; k < stage->input_count; k++)
        s.halo[k] = halo_of(stage, dim, k);
    if (stage->stencil != VF_STENCIL_LINEAR) {
        s.reach = vf_body_reach(stage->stencil);
        s.star_inputs = vf_stencil(stage->stencil)->star_inputs[dim - 2];
        s.shares_faces = vf_body_shares_faces(stage->stencil);
        return s;
    }
    /* Fewer weights than rows are not worth it. */
    const int taps = stage->taps->count;
    const int block = taps < 2 ? 1 : taps < 4 ? 2 : taps < rows->block_taps ? 4 : rows->block;
    /* A weight at the centre alone is one along any axis. */
    const bool is_centre = taps == 1 && s.halo[0].s == 0 && s.halo[0].r == 0 && s.halo[0].x == 0;
    const int axis = is_centre ? 2 : vf_line_axis(stage), along_stream = dim == 3 ? 0 : 1;
    s.kind = VF_ROW_ANY;
    if (axis == 2) {
        s.kind = VF_ROW_ALONG_X;
    } else if (axis == along_stream) {
        s.kind = VF_ROW_ACROSS_STREAM;
        /* Rings of wide lines do not fit in the second cache: each plane is read for as many as may be. */
        s.planes = taps < (is_far_slow ? LEAST_TAPS_WIDE_IF_SLOW : LEAST_TAPS_WIDE) ? block : 2 * block;
        s.asks = dim == 3 && taps >= rows->asked_taps;
    } else if (axis == 1) {
        s.kind = VF_ROW_ACROSS_ROWS;
        /* These gain by it sooner: no ring grows. */
        s.rows = taps > rows->block ? rows->block : block;
    }
    return s;
}

/* For weights that are no line: takes them as a table, if that is faster than one by one. */
static enum vf_status take_table(struct vf_row_stage *s, const struct vf_taps *taps, int dim,
                                 struct vf_error *error)
{
    const enum vf_status status = vf_row_table_open(&s->table, taps, error);
    if (status != VF_OK || !vf_row_table_pays(&s->table, taps)) {
        vf_row_table_close(&s->table);
        return status;
    }
    s->kind = VF_ROW_TABLE;
    *(dim == 3 ? &s->rows : &s->planes) = VF_TABLE_ROWS;
    return VF_OK;
}

/* Whether stage i reads, of a field, only the row that it makes. */
static bool reads_one_row(const struct vf_row_layout *l, int i, int field)
{
    const struct vf_stage *stage = &l->job->flow->stage[i];
    bool one = l->stage[i].kind == VF_ROW_BODY || l->stage[i].kind == VF_ROW_ALONG_X;
    for (int k = 0; k < stage->input_count; k++)
        one = one && (stage->input[k] != field || (l->stage[i].halo[k].r == 0 && l->stage[i].halo[k].s == 0));
    return one;
}

/* The stage that alone reads what stage i makes, only the row that it makes itself; -1: there is none. */
static int find_caller(const struct vf_row_layout *l, int i)
{
    const struct vf_flow *flow = l->job->flow;
    const struct vf_stage *stage = &flow->stage[i];
    int caller = -1;
    for (int k = 0; k < stage->output_count; k++) {
        if (l->ring[stage->output[k]].sink >= 0)
            return -1;
        for (int j = i + 1; j < flow->stage_count; j++)
            for (int input = 0; input < flow->stage[j].input_count; input++) {
                if (flow->stage[j].input[input] != stage->output[k])
                    continue;
                if ((caller >= 0 && caller != j) || !reads_one_row(l, j, stage->output[k]))
                    return -1;
                caller = j;
            }
    }
    return caller;
}

static bool is_source(const struct vf_row_layout *l, int field)
{
    return l->ring[field].source >= 0;
}

/* Whether stage j, where it makes a cell, reads no other cell of input k. */
static bool reads_own_cell(const struct vf_row_layout *l, int j, int k)
{
    const struct vf_halo h = l->stage[j].halo[k];
    return h.s == 0 && h.r == 0 && h.x == 0;
}

/* Whether stage j reads nothing but what stage i makes and its own cells of sources. */
static bool reads_only(const struct vf_row_layout *l, int j, int i)
{
    const struct vf_stage *reader = &l->job->flow->stage[j], *maker = &l->job->flow->stage[i];
    bool only = true;
    for (int input = 0; input < reader->input_count; input++) {
        bool is_made = false;
        for (int k = 0; k < maker->output_count; k++)
            is_made = is_made || reader->input[input] == maker->output[k];
        only = only && (is_made || (is_source(l, reader->input[input]) && reads_own_cell(l, j, input)));
    }
    return only;
}

/* From now on the rows of stage i are made when `caller`, the one stage that reads them, comes to them. */
static void call(struct vf_row_layout *l, int caller, int i)
{
    const struct vf_stage *stage = &l->job->flow->stage[i];
    l->stage[i].called = true;
    l->stage[caller].calls = i;
    for (int k = 0; k < stage->output_count; k++)
        l->ring[stage->output[k]].whole = false;
}

/* A body that reads, beside its own cells of sources, only sums across the stream, row by row, calls for
 * their rows, and makes as many planes at once as the sums do. Of each of these planes a single row is kept,
 * which is still in a near cache when it is read. */
static void find_called_sums(struct vf_row_layout *l)
{
    const struct vf_flow *flow = l->job->flow;
    for (int i = 0; i < flow->stage_count; i++) {
        const int caller = l->stage[i].kind == VF_ROW_ACROSS_STREAM ? find_caller(l, i) : -1;
        if (caller < 0 || l->stage[caller].kind != VF_ROW_BODY || !reads_only(l, caller, i))
            continue;
        l->stage[caller].planes = l->stage[i].planes;
        call(l, caller, i);
    }
}

/* From the first stage on: a stage is behind its latest input by its halo. A ring holds planes from the
 * newest one to the oldest that its last reader still needs. */
static void find_delays(struct vf_row_layout *l)
{
    const struct vf_flow *flow = l->job->flow;
    for (int i = 0; i < flow->stage_count; i++) {
        const struct vf_stage *stage = &flow->stage[i];
        struct vf_row_stage *s = &l->stage[i];
        for (int k = 0; k < stage->input_count; k++)
            s->delay = vf_larger(s->delay, l->ring[stage->input[k]].delay + s->halo[k].s);
        if (s->calls >= 0)
            s->delay = l->stage[s->calls].delay;
        for (int k = 0; k < stage->input_count; k++) {
            struct vf_ring *in = &l->ring[stage->input[k]];
            const ptrdiff_t newest = in->delay - in->early;
            const ptrdiff_t span = s->delay - newest + s->halo[k].s + s->planes;
            in->depth = span > in->depth ? span : in->depth;
            l->most_planes = vf_larger(l->most_planes, 2 * s->halo[k].s + s->planes);
            if (s->kind == VF_ROW_ACROSS_ROWS)
                l->most_planes = vf_larger(l->most_planes, 2 * s->halo[k].r + s->rows);
        }
        for (int k = 0; k < stage->output_count; k++) {
            struct vf_ring *out = &l->ring[stage->output[k]];
            out->early = s->planes - 1;
            out->delay = s->delay + out->early;
            out->depth = s->planes;
            out->block = s->rows;
        }
        l->delay = vf_larger(l->delay, s->delay + s->planes - 1);
        if (stage->stencil == VF_STENCIL_LINEAR)
            l->most_taps = vf_larger(l->most_taps, vf_larger(stage->taps->count, s->table.row_count));
    }
}

/* Whether stage i may load the rows of an input as it comes to them. A body that reads several planes must
 * read the newest one at the very step in which it comes, and no row from the other end of a plane (`wrap`).
 */
static bool may_load(const struct vf_row_layout *l, int i, int input)
{
    const struct vf_row_stage *s = &l->stage[i];
    if (s->kind == VF_ROW_BODY)
        return s->delay == s->halo[input].s && s->planes == 1 && l->job->flow->boundary != VF_WRAP;
    return s->kind == VF_ROW_ALONG_X && s->delay == 0;
}

/* A source is loaded by the stage that reads it, so that memory is read while that computes. Of several the
 * first one may load for all if it sums along x: the others come to each plane later. If a stage that sums
 * along x is alone, no plane of the source is kept. */
static void find_loaders(struct vf_row_layout *l)
{
    const struct vf_flow *flow = l->job->flow;
    for (int k = 0; k < flow->source_count; k++) {
        struct vf_ring *ring = &l->ring[flow->source[k]];
        int readers = 0, loader = -1;
        for (int i = 0; i < flow->stage_count; i++)
            for (int j = 0; j < flow->stage[i].input_count; j++)
                if (flow->stage[i].input[j] == flow->source[k] && readers++ == 0)
                    loader = may_load(l, i, j) ? i : -1;
        ring->shared = readers > 1;
        if (loader < 0 || ring->sink >= 0 || (ring->shared && l->stage[loader].kind == VF_ROW_BODY))
            continue;
        ring->loader = loader;
        ring->whole = ring->shared || l->stage[loader].kind == VF_ROW_BODY;
    }
}

/* Whether a source is of the type that rings are. */
static bool is_of_cells(const struct vf_row_layout *l, const struct vf_ring *ring)
{
    const struct vf_job *job = l->job;
    return (job->source == NULL ? job->source_type : job->source[ring->source].type) == l->cell;
}

/* Whether stage i sums along x what may be read in whole rows, where it is, and stage i + 1 alone takes that
 * and sums it across rows, with as many weights. Beyond the grid a constant is no sum of a row. */
static bool may_sum_plane(const struct vf_row_layout *l, int i)
{
    const struct vf_job *job = l->job;
    const struct vf_stage *along = &job->flow->stage[i], *across = &along[1];
    const size_t row_bytes = (size_t)job->nx * l->element;
    if (l->stage[i].kind != VF_ROW_ALONG_X || l->stage[i + 1].kind != VF_ROW_ACROSS_ROWS ||
        job->flow->boundary == VF_CONSTANT || along->output_count != across->input_count)
        return false;
    const int taps = along->taps->count;
    bool may = taps == across->taps->count && vf_row_plane(vf_rows_choose(l->cell), taps) != NULL &&
               row_bytes >= (row_bytes % VF_ALIGNMENT == 0 ? 2 : 3) * VF_ALIGNMENT;
    for (int k = 0; may && k < along->output_count; k++) {
        const struct vf_ring *in = &l->ring[along->input[k]];
        may = (in->whole || (in->loader == i && is_of_cells(l, in))) &&
              across->input[k] == along->output[k] && vf_row_is_handed_on(job->flow, i, k, i + 1) &&
              l->ring[across->output[k]].whole;
    }
    return may;
}

/* Stages that may sum planes do so, or not. A source that is loaded for them then counts as a plane that the
 * near cache holds, and is read in its place. */
static void sum_planes(struct vf_row_layout *l, bool sums)
{
    const struct vf_flow *flow = l->job->flow;
    l->most_rows = 0;
    for (int i = 1; i < flow->stage_count; i++) {
        struct vf_row_stage *across = &l->stage[i], *along = &l->stage[i - 1];
        if (!across->may_sum_plane)
            continue;
        across->sums_plane = along->called = sums;
        across->calls = sums ? i - 1 : -1;
        for (int k = 0; k < flow->stage[i].input_count; k++) {
            struct vf_ring *between = &l->ring[flow->stage[i].input[k]];
            struct vf_ring *in = &l->ring[flow->stage[i - 1].input[k]];
            between->whole = !sums;
            if (in->loader == i - 1 && !in->shared)
                in->whole = sums;
            if (sums)
                l->most_rows = vf_larger(l->most_rows, l->tile.y + 2 * between->reach.r);
        }
    }
}

/* Whether the body that loads a source may read its rows in place, with copies of their ends. Then rows are
 * whole, and of cells beyond the grid only the next one of the row that is made may be read. A body that
 * shares faces begins a vector before the row, so it may not. Where a job has no arrays yet, a ring is
 * assumed. */
static bool may_read(const struct vf_row_layout *l, int field)
{
    const struct vf_ring *ring = &l->ring[field];
    const struct vf_stage *stage = &l->job->flow->stage[ring->loader];
    const struct vf_row_stage *reader = &l->stage[ring->loader];
    const size_t row_bytes = (size_t)l->job->nx * l->element;
    return reader->kind == VF_ROW_BODY && stage->input_count == 1 && reader->star_inputs == 1 &&
           !reader->shares_faces && ring->pad == 1 && l->job->source != NULL && is_of_cells(l, ring) &&
           l->tile.x == l->job->nx && row_bytes % VF_ALIGNMENT == 0 && row_bytes >= VF_ROW_END_BYTES;
}

/* Whether stage i may read its input k in place, of a source that sums of planes read so. */
static bool may_read_beside_plane(const struct vf_row_layout *l, int i, int k)
{
    const size_t row_bytes = (size_t)l->job->nx * l->element;
    return vf_row_sums_along_plane(l, i) || (l->stage[i].kind == VF_ROW_BODY && reads_own_cell(l, i, k) &&
                                             !l->stage[i].shares_faces && row_bytes % VF_ALIGNMENT == 0);
}

/* Which sources are read in place. Sums across the stream can do so, as they read no cell beyond the ends of
 * a row; and sums of planes, which find these cells themselves, and beside them bodies that read their own
 * cells, where rows are whole vectors. */
static void find_in_place(struct vf_row_layout *l)
{
    const struct vf_flow *flow = l->job->flow;
    for (int k = 0; k < flow->source_count; k++) {
        struct vf_ring *ring = &l->ring[flow->source[k]];
        bool along = k < l->job->in_place;
        bool plane = ring->loader >= 0 && vf_row_sums_along_plane(l, ring->loader) && is_of_cells(l, ring);
        for (int i = 0; i < flow->stage_count; i++)
            for (int j = 0; j < flow->stage[i].input_count; j++) {
                if (flow->stage[i].input[j] != flow->source[k])
                    continue;
                along = along && l->stage[i].kind == VF_ROW_ACROSS_STREAM;
                plane = plane && may_read_beside_plane(l, i, j);
            }
        ring->ends = ring->loader >= 0 && may_read(l, flow->source[k]);
        ring->in_place = along || ring->ends || plane;
    }
}

/* Whether stage i + 1 is a diffusion step whose flux is what stage i, a body, makes for it alone. Not under
 * `wrap`, where a plane's last row is read before its first. */
static bool is_flux_of_next(const struct vf_row_layout *l, int i)
{
    const struct vf_flow *flow = l->job->flow;
    const struct vf_stage *flux = &flow->stage[i];
    bool is = flow->dim == 3 && flow->boundary != VF_WRAP && i + 1 < flow->stage_count &&
              flux[1].stencil == VF_STENCIL_diffusion_step && flux->output_count + 1 == flux[1].input_count &&
              l->stage[i].kind == VF_ROW_BODY;
    for (int k = 0; k < flux->output_count && is; k++)
        is = flux->output[k] == flux[1].input[k] && vf_row_is_handed_on(flow, i, k, i + 1);
    return is;
}

/* Such a step, stage i, calls for its flux, row by row as well, though it reads the planes and rows on either
 * side: of those before it keeps what it needs, which is less than they are, and it makes its own row when
 * the next ones are there. */
static void follow_flux(struct vf_row_layout *l, int i)
{
    const struct vf_flow *flow = l->job->flow;
    const struct vf_stage *flux = &flow->stage[i - 1];
    const bool is_closed_x = vf_boundary_is_closed(vf_boundary_axis(flow->boundary, l->job->nx));
    call(l, i, i - 1);
    l->stage[i].follows_flux = true;
    for (int k = 0; k < flux->output_count; k++) {
        struct vf_ring *ring = &l->ring[flux->output[k]];
        ring->depth = 1;
        ring->pad = is_closed_x ? 0 : ring->pad; /* of what is beyond the last face nothing comes in */
    }
}

/* A body whose rows only one stage reads, row by row, makes each row when that stage comes to it, and keeps
 * no plane: the row is still in the nearest cache when it is read. */
static void find_called(struct vf_row_layout *l)
{
    const struct vf_flow *flow = l->job->flow;
    for (int i = 0; i < flow->stage_count; i++) {
        const struct vf_row_stage *s = &l->stage[i];
        if (s->calls < 0 && is_flux_of_next(l, i))
            follow_flux(l, i + 1);
        const int caller = s->kind == VF_ROW_BODY ? find_caller(l, i) : -1;
        /* What the body reads is kept until its own time, not until a later one of the caller. */
        if (caller < 0 || l->stage[caller].calls >= 0 || s->calls >= 0 || l->stage[caller].delay != s->delay)
            continue;
        call(l, caller, i);
    }
}

/* Rows of a plane that a tile has at most, with the field's reach. */
static ptrdiff_t made_rows(const struct vf_row_layout *l, const struct vf_ring *ring)
{
    const ptrdiff_t rows = l->tile.y + 2 * (ptrdiff_t)ring->reach.r;
    return l->periodic_r ? rows : vf_smaller(rows, l->n_rows);
}

/* At least so many bytes of a source are prefetched before they are needed. */
#define BYTES_AHEAD 8192

/* A row has room for the tile and, each side, either what is computed there too or, where the tile spans the
 * axis, just what consumers read beyond the grid. */
static bool shape_ring(struct vf_row_layout *l, struct vf_ring *ring)
{
    const ptrdiff_t lane = VF_ALIGNMENT / (ptrdiff_t)l->element;
    const ptrdiff_t made = made_rows(l, ring);
    const size_t page = 4096;
    size_t row_bytes;
    ring->room = l->tile.x == l->job->nx ? ring->pad : ring->reach.x;
    ring->origin = (ring->room + lane - 1) / lane * lane;
    ring->pitch = (ring->origin + l->tile.x + ring->room + lane - 1) / lane * lane;
    ring->pitch += VF_ROW_WRITTEN_BEYOND / (ptrdiff_t)l->element;
    ring->ahead = (int)(BYTES_AHEAD / (ring->pitch * (ptrdiff_t)l->element)) + 1;
    /* Rows, or planes, a multiple of 4 KiB apart would share cache sets. */
    if ((size_t)ring->pitch * l->element % page == 0)
        ring->pitch += lane;
    ring->rows = ring->whole ? made : vf_smaller(ring->block, made);
    if (!vf_size_mul((size_t)ring->pitch, l->element, &row_bytes) ||
        !vf_size_mul((size_t)ring->rows, row_bytes, &ring->plane_bytes))
        return false;
    if (ring->plane_bytes % page == 0)
        ring->plane_bytes += VF_ALIGNMENT;
    /* No more planes than the grid has: if it is periodic, others are the same again. */
    ring->depth = vf_smaller(ring->depth, l->n_stream);
    l->most_pitch = ring->pitch > l->most_pitch ? ring->pitch : l->most_pitch;
    l->most_pad = vf_larger(l->most_pad, ring->pad);
    l->most_origin = ring->origin > l->most_origin ? ring->origin : l->most_origin;
    return true;
}

/* Rows that a body keeps of its faces: those along x and y of one row, and along z of a plane; or what a step
 * keeps that follows its flux. */
static ptrdiff_t kept_rows(const struct vf_row_layout *l, int i)
{
    const ptrdiff_t made = made_rows(l, &l->ring[l->job->flow->stage[i].output[0]]);
    return l->stage[i].follows_flux ? VF_STEP_ROWS + VF_STEP_PLANES * (made + VF_STEP_MORE_ROWS) : made + 2;
}

/* Places in the arena for each body that shares faces. */
static bool place_faces(struct vf_row_layout *l, size_t *end)
{
    const struct vf_flow *flow = l->job->flow;
    for (int i = 0; i < flow->stage_count; i++) {
        const struct vf_ring *out = &l->ring[flow->stage[i].output[0]];
        size_t bytes;
        if (!l->stage[i].shares_faces && !l->stage[i].follows_flux)
            continue;
        l->stage[i].faces = *end;
        if (!vf_size_mul((size_t)kept_rows(l, i), (size_t)out->pitch * l->element, &bytes) ||
            !vf_size_add(*end, bytes, end))
            return false;
        if (l->stage[i].follows_flux)
            l->work_bytes += (double)bytes;
    }
    return true;
}

static bool is_in_place_for_plane(const struct vf_row_layout *l, const struct vf_ring *ring)
{
    return ring->in_place && ring->loader >= 0 && vf_row_sums_along_plane(l, ring->loader);
}

static bool place_rings(struct vf_row_layout *l)
{
    size_t end = VF_ROW_READ_BEFORE, bytes;
    l->most_pitch = l->most_origin = 0;
    l->most_pad = 0;
    l->work_bytes = 0;
    for (int f = 0; f < l->job->flow->field_count; f++) {
        struct vf_ring *ring = &l->ring[f];
        ring->offset = end;
        if (!shape_ring(l, ring) || !vf_size_mul((size_t)ring->depth, ring->plane_bytes, &bytes))
            return false;
        /* What others read later of a source that sums of planes read in place, each a cell for one of its
         * own, may come from farther than the near cache. */
        l->work_bytes += (double)(is_in_place_for_plane(l, ring) ? ring->plane_bytes : bytes);
        /* A run that reads in place what was planned as a ring needs no more. */
        if (ring->in_place)
            bytes = ring->ends ? 2 * VF_ROW_ENDS_BYTES : 0;
        else if (ring->loader >= 0 && bytes < 2 * VF_ROW_ENDS_BYTES)
            bytes = 2 * VF_ROW_ENDS_BYTES;
        if (!vf_size_add(end, bytes, &end))
            return false;
    }
    return place_faces(l, &end) && vf_size_add(end, VF_ROW_READ_BEYOND, &l->arena_bytes) &&
           l->arena_bytes < PTRDIFF_MAX;
}

/* The weights in the compute type, as the row functions take them. */
static enum vf_status place_weights(struct vf_row_layout *l, struct vf_error *error)
{
    const struct vf_flow *flow = l->job->flow;
    const size_t size = vf_flow_element(flow);
    size_t count = 0;
    for (int i = 0; i < flow->stage_count; i++)
        if (flow->stage[i].stencil == VF_STENCIL_LINEAR)
            count += (size_t)flow->stage[i].taps->count;
    char *weight = vf_alloc(count + 1, size, "weights", error);
    if (weight == NULL)
        return VF_FAILED;
    l->weights = weight;
    for (int i = 0; i < flow->stage_count; i++) {
        if (flow->stage[i].stencil != VF_STENCIL_LINEAR)
            continue;
        const struct vf_taps *taps = flow->stage[i].taps;
        l->stage[i].weight = weight;
        for (int t = 0; t < taps->count; t++, weight += size)
            if (flow->is_double)
                *(double *)(void *)weight = taps->tap[t].weight;
            else
                *(float *)(void *)weight = (float)taps->tap[t].weight;
    }
    return VF_OK;
}

/* What does not depend on tiles. */
static enum vf_status read_flow(struct vf_row_layout *l, struct vf_error *error)
{
    const struct vf_flow *flow = l->job->flow;
    const struct vf_rows *rows = vf_rows_choose(l->cell);
    enum vf_status status = VF_OK;
    l->most_taps = 1;
    for (int i = 0; i < flow->stage_count; i++) {
        l->stage[i] = row_stage(&flow->stage[i], flow->dim, rows, l->caches.is_far_slow);
        if (l->stage[i].kind == VF_ROW_ANY)
            VF_TRY(take_table(&l->stage[i], flow->stage[i].taps, flow->dim, error));
    }
    for (int f = 0; f < flow->field_count; f++)
        l->ring[f] = (struct vf_ring){.depth = 1, .block = 1, .sink = -1, .source = -1, .loader = -1};
    for (int k = 0; k < flow->source_count; k++)
        l->ring[flow->source[k]].source = k;
    for (int k = 0; k < flow->sink_count; k++)
        l->ring[flow->sink[k]].sink = k;
    VF_TRY(place_weights(l, error));
    find_reach(l);
    find_called_sums(l);
    find_delays(l);
    find_loaders(l);
    find_called(l);
    for (int i = 0; i + 1 < flow->stage_count; i++)
        l->stage[i + 1].may_sum_plane = may_sum_plane(l, i);
out:
    return status;
}

/* Whether a number is one of a type's of 8 or 16 bits. */
static bool is_of_type(double value, enum vf_type type)
{
    const int bits = 8 * (int)vf_type_size(type), sign = type == VF_I8 || type == VF_I16;
    const double least = sign ? -(double)(1 << (bits - 1)) : 0;
    return value == rint(value) && value >= least && value < least + (double)(1 << bits);
}

/* Whether all sources and sinks are of a type, and nothing else becomes of what goes to the sinks. */
static bool is_stored_as(const struct vf_job *job, enum vf_type type)
{
    bool is = job->source != NULL || (job->source_type == type && job->sink_type == type);
    for (int k = 0; job->source != NULL && k < job->flow->source_count; k++)
        is = is && job->source[k].type == type;
    for (int k = 0; job->sink != NULL && k < job->flow->sink_count; k++)
        is = is && job->sink[k].array != NULL && job->sink[k].array->type == type &&
             job->sink[k].reducer_count == 0;
    return is;
}

enum vf_type vf_row_cell(const struct vf_job *job)
{
    const struct vf_flow *flow = job->flow;
    const enum vf_type type = job->source == NULL ? job->source_type : job->source[0].type;
    bool keeps = (type == VF_U8 || type == VF_I8 || type == VF_U16 || type == VF_I16) &&
                 is_stored_as(job, type) &&
                 (flow->boundary != VF_CONSTANT || is_of_type(flow->constant, type));
    for (int i = 0; i < flow->stage_count; i++)
        keeps = keeps && vf_body_is_median(flow->stage[i].stencil);
    return keeps ? type : vf_flow_type(flow);
}

/* Sums of planes gain where rings fill no more of the near cache: their columns wait for what is not in it,
 * and the next plane of the source is prefetched into it too. */
#define USABLE_BESIDE_PLANE 0.6

static bool place(struct vf_row_layout *l, bool sums)
{
    sum_planes(l, sums);
    find_in_place(l);
    return place_rings(l);
}

bool vf_row_layout_retile(struct vf_row_layout *l, struct vf_tile tile)
{
    const struct vf_job *job = l->job;
    const ptrdiff_t slab = vf_job_end(job) - vf_job_begin(job);
    const bool wraps = job->flow->boundary == VF_WRAP;
    l->tile.x = vf_smaller(tile.x, job->nx);
    l->tile.y = vf_smaller(tile.y, l->n_rows);
    l->tile.chunk = vf_smaller(tile.chunk, slab);
    l->tiles_x = vf_ceil_div(job->nx, l->tile.x);
    l->tiles_y = vf_ceil_div(l->n_rows, l->tile.y);
    l->chunks = vf_ceil_div(slab, l->tile.chunk);
    l->periodic_s = wraps && l->n_stream > 1;
    l->periodic_r = wraps && l->tile.y < l->n_rows;
    l->periodic_x = wraps && l->tile.x < job->nx;
    if (!place(l, l->tile.x == job->nx && !l->periodic_r))
        return false;
    if (l->most_rows > 0 && l->work_bytes > USABLE_BESIDE_PLANE * (double)l->caches.near && !place(l, false))
        return false;
    l->far = l->work_bytes > (double)l->caches.near;
    return true;
}

enum vf_status vf_row_layout_open(struct vf_row_layout *l, const struct vf_job *job, struct vf_error *error)
{
    const enum vf_type cell = vf_row_cell(job);
    *l = (struct vf_row_layout){.cell = cell,
                                .element = vf_type_size(cell),
                                .n_stream = job->flow->dim == 3 ? job->nz : job->ny,
                                .n_rows = job->flow->dim == 3 ? job->ny : 1,
                                .caches = vf_caches()};
    if (vf_row_fuse(job, &l->fused, error) != VF_OK)
        return VF_FAILED;
    l->job = &l->fused.job;
    const struct vf_flow *flow = l->job->flow;
    l->ring = vf_alloc((size_t)flow->field_count, sizeof *l->ring, "ring layout", error);
    l->stage = vf_alloc((size_t)flow->stage_count + 1, sizeof *l->stage, "stage layout", error);
    if (l->ring == NULL || l->stage == NULL) {
        vf_row_layout_close(l);
        return VF_FAILED;
    }
    if (read_flow(l, error) != VF_OK) {
        vf_row_layout_close(l);
        return VF_FAILED;
    }
    if (!vf_row_layout_retile(l, job->tiling.tile)) {
        vf_row_layout_close(l);
        return vf_fail(error, VF_FAILED, "the planes that this chain holds are too large to address");
    }
    return VF_OK;
}

void vf_row_layout_close(struct vf_row_layout *l)
{
    for (int i = 0; l->stage != NULL && i < l->job->flow->stage_count; i++)
        vf_row_table_close(&l->stage[i].table);
    vf_row_fused_close(&l->fused);
    vf_free(l->ring);
    vf_free(l->stage);
    vf_free(l->weights);
    l->ring = NULL;
    l->stage = NULL;
    l->weights = NULL;
}
