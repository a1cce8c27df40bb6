#include "kernels/cpu_row_calls.h"

#include "src/alloc.h"
#include "src/size.h"

/* ---- stages ---- */

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
        only =
            only && (is_made || (l->ring[reader->input[input]].source >= 0 && reads_own_cell(l, j, input)));
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

/* ---- sources ---- */

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

/* ---- sums of planes ---- */

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
static void call_for_planes(struct vf_row_layout *l, bool sums)
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
        bool plane = vf_row_loads_for_plane(l, ring) && is_of_cells(l, ring);
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

void vf_row_find_calls(struct vf_row_layout *l)
{
    find_called_sums(l);
    find_delays(l);
    find_loaders(l);
    find_called(l);
    for (int i = 0; i + 1 < l->job->flow->stage_count; i++)
        l->stage[i + 1].may_sum_plane = may_sum_plane(l, i);
}

void vf_row_sum_planes(struct vf_row_layout *l, bool sums)
{
    call_for_planes(l, sums);
    find_in_place(l);
}
