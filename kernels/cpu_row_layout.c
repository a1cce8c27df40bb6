#include "kernels/cpu_row_calls.h"

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
        const bool passes = ring->in_place && vf_row_loads_for_plane(l, ring);
        l->work_bytes += (double)(passes ? ring->plane_bytes : bytes);
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
    vf_row_find_calls(l);
out:
    return status;
}

/* Whether all sources are of a type, and what goes to the sinks is stored and no more; where there are no
 * stages, as that type: a plan does not tell such a job from a pre-pass, which is of floating point. */
static bool is_of_type(const struct vf_job *job, enum vf_type type)
{
    const bool has_stages = job->flow->stage_count > 0;
    bool is = job->source != NULL || has_stages || job->sink_type == type;
    for (int k = 0; job->source != NULL && k < job->flow->source_count; k++)
        is = is && job->source[k].type == type;
    for (int k = 0; job->sink != NULL && k < job->flow->sink_count; k++)
        is = is && job->sink[k].array != NULL && job->sink[k].reducer_count == 0 &&
             (has_stages || job->sink[k].array->type == type);
    return is;
}

enum vf_type vf_row_cell(const struct vf_job *job)
{
    const struct vf_flow *flow = job->flow;
    const enum vf_type type = job->source == NULL ? job->source_type : job->source[0].type;
    const double outside = flow->boundary == VF_CONSTANT ? flow->constant : 0;
    bool keeps = is_of_type(job, type) && vf_may_keep_integers(type, outside);
    for (int i = 0; i < flow->stage_count; i++)
        keeps = keeps && vf_body_is_median(flow->stage[i].stencil);
    return keeps ? type : vf_flow_type(flow);
}

/* Sums of planes gain where rings fill no more of the near cache: their columns wait for what is not in it,
 * and the next plane of the source is prefetched into it too. */
#define USABLE_BESIDE_PLANE 0.6

static bool place(struct vf_row_layout *l, bool sums)
{
    vf_row_sum_planes(l, sums);
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
