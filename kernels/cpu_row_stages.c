/* The stages of row-stream: one or a few neighbouring planes of a stage, row by row or by blocks of rows. */
#include <stdint.h>

#include "kernels/cpu_row_worker.h"
#include "src/alloc.h"

/* An input of a stage while it computes some planes. */
struct input {
    const char *
        *plane;  /* [stream offset + halo]: the first row made, at the output's first cell; NULL is outside */
    bool inside; /* no plane is NULL */
    struct vf_halo halo;
    ptrdiff_t first_row; /* that the planes begin with */
    ptrdiff_t pitch;     /* bytes from row to row */
    const char *outside; /* a row of the constant */
};

/* A stage while it computes planes [s, s + planes). */
struct work {
    const struct vf_stage *stage;
    const struct vf_row_stage *how;
    ptrdiff_t s;
    int planes;
    struct vf_range rows, x;
    struct input input[VF_MAX_INPUTS];
    struct vf_row_plane out[VF_MAX_OUTPUTS][VF_ROW_BLOCK]; /* [output][plane], at the first x that is made */
    bool passes[VF_MAX_OUTPUTS];                           /* rows may go to the sink as they are */
};

/* Input k of the work, whose x range is known. */
static struct input input_of(const struct vf_row_worker *w, const struct work *work, int k)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    const int field = work->stage->input[k];
    const struct vf_ring *ring = &l->ring[field];
    struct input in = {
        .plane = w->plane + ((work->how->called ? VF_MAX_INPUTS : 0) + k) * l->most_planes,
        .inside = true,
        .halo = work->how->halo[k],
        .first_row = w->part[field].r.from,
        .pitch = ring->whole ? ring->pitch * (ptrdiff_t)l->element : 0,
        .outside = w->outside[flow->field_kind[field]] + (size_t)l->most_origin * l->element,
    };
    for (int d = -in.halo.s; d < work->planes + in.halo.s; d++) {
        const ptrdiff_t at = vf_boundary_index(flow->boundary, work->s + d, l->n_stream);
        const ptrdiff_t s = l->periodic_s ? work->s + d : at;
        in.plane[d + in.halo.s] = at < 0 ? NULL : vf_row_plane_of(w, field, s, work->x.from).first;
        in.inside = in.inside && at >= 0;
    }
    return in;
}

/* A row that the stage makes, in the input's plane j: it is inside the grid, or the grid is periodic. */
static const char *same_row(const struct input *in, int j, ptrdiff_t r)
{
    return in->plane[j] + (r - in->first_row) * in->pitch;
}

/* Bytes from a plane's start to row r, which may be beyond the grid; -1 for the constant. */
static ptrdiff_t row_offset(const struct vf_row_worker *w, const struct input *in, ptrdiff_t r)
{
    const struct vf_row_layout *l = w->layout;
    const ptrdiff_t at = vf_boundary_index(l->job->flow->boundary, r, l->n_rows);
    return at < 0 ? -1 : ((l->periodic_r ? r : at) - in->first_row) * in->pitch;
}

static const char *row_at(const struct input *in, int ds, ptrdiff_t offset)
{
    const char *plane = in->plane[ds + in->halo.s];
    return plane == NULL || offset < 0 ? in->outside : plane + offset;
}

/* ---- linear stages ---- */

/* The weights in the compute type. */
static void set_weights(const struct vf_row_worker *w, const struct vf_taps *taps)
{
    for (int t = 0; t < taps->count; t++)
        if (w->layout->job->flow->is_double)
            ((double *)w->weight)[t] = taps->tap[t].weight;
        else
            ((float *)w->weight)[t] = (float)taps->tap[t].weight;
}

/* The rows of taps that may be anywhere, into w->tap: each one has its own. */
static void any_row(const struct vf_row_worker *w, const struct vf_taps *taps, const struct input *in,
                    ptrdiff_t r)
{
    const bool volume = w->layout->job->flow->dim == 3;
    for (int t = 0; t < taps->count; t++) {
        const struct vf_tap *tap = &taps->tap[t];
        const int ds = volume ? tap->dz : tap->dy, dr = volume ? tap->dy : 0;
        w->tap[t] = row_at(in, ds, row_offset(w, in, r + dr)) + tap->dx * (ptrdiff_t)w->layout->element;
    }
}

/* The rows that `count` neighbouring rows from r on read, in order, into w->tap. */
static void rows_across(const struct vf_row_worker *w, const struct input *in, ptrdiff_t r, int count)
{
    const ptrdiff_t first = r - in->halo.r;
    const int n = 2 * in->halo.r + count;
    if (in->plane[0] != NULL && first >= 0 && first + n <= w->layout->n_rows) {
        const char *row = in->plane[0] + (first - in->first_row) * in->pitch;
        for (int j = 0; j < n; j++)
            w->tap[j] = row + j * in->pitch;
        return;
    }
    for (int j = 0; j < n; j++)
        w->tap[j] = row_at(in, 0, row_offset(w, in, first + j));
}

/* The same for row r of `count` neighbouring planes. */
static void planes_across(const struct vf_row_worker *w, const struct input *in, ptrdiff_t r, int count)
{
    const int n = 2 * in->halo.s + count;
    for (int j = 0; j < n; j++)
        w->tap[j] = in->plane[j] == NULL ? in->outside : same_row(in, j, r);
}

/* `count` rows from r on of input k's output, or, across the stream, row r of so many planes. */
static void linear_rows(const struct vf_row_worker *w, const struct work *work, int k, ptrdiff_t r,
                        char *const *out, int count, enum vf_row_place place)
{
    const struct vf_taps *taps = work->stage->taps;
    const struct input *in = &work->input[k];
    const ptrdiff_t n = work->x.to - work->x.from;
    const enum vf_row_kind kind = work->how->kind;
    ptrdiff_t ahead = 0;
    if (kind == VF_ROW_ACROSS_ROWS) {
        rows_across(w, in, r, count);
    } else if (kind == VF_ROW_ACROSS_STREAM) {
        planes_across(w, in, r, count);
        /* So many planes are read that the processor sees no stream in them. */
        if (w->layout->far && r + 1 < work->rows.to)
            ahead = in->pitch / (ptrdiff_t)w->layout->element;
    } else {
        any_row(w, taps, in, r);
    }
    w->rows->lines(w->tap, w->weight, taps->count, (void *const *)out, count, n, place, ahead);
}

/* ---- bodies ---- */

/* A body on its way through the rows of a plane of its work. */
struct body_plane {
    const struct work *work;
    int plane;                       /* of the work's */
    int reach;                       /* in rows, of its inputs */
    bool inside;                     /* no plane of an input is outside the grid */
    bool loads;                      /* it loads a source's rows as it comes to them: */
    ptrdiff_t loaded[VF_MAX_INPUTS]; /* those up to here are there */
    struct vf_body_row row;
    const void *in[VF_MAX_INPUTS * VF_BODY_ROWS];
    char *out[VF_MAX_OUTPUTS]; /* the row that comes next */
};

/* What all rows of plane s share: which outer faces are closed to flux. */
static struct vf_body_row body_of(const struct vf_row_worker *w, const struct work *work, ptrdiff_t s)
{
    const struct vf_job *job = w->layout->job;
    const enum vf_boundary b = job->flow->boundary;
    const bool volume = job->flow->dim == 3;
    const bool closed_z = volume && vf_boundary_is_closed(vf_boundary_axis(b, job->nz));
    const bool closed_x = vf_boundary_is_closed(vf_boundary_axis(b, job->nx));
    const ptrdiff_t n = work->x.to - work->x.from;
    return (struct vf_body_row){
        .param = work->stage->param,
        .n = n,
        .open_lo = {1, 1, !(closed_z && s == 0)},
        .open_hi = {1, 1, !(closed_z && s == job->nz - 1)},
        .closed_lo_x = closed_x && work->x.from == 0 ? 0 : -1,
        .closed_hi_x = closed_x && work->x.to == job->nx ? (int)n - 1 : -1,
    };
}

static void begin_body(const struct vf_row_worker *w, const struct work *work, int plane,
                       struct body_plane *body)
{
    *body = (struct body_plane){
        .work = work, .plane = plane, .inside = true, .row = body_of(w, work, work->s + plane)};
    body->row.in = body->in;
    body->row.out = (void *const *)body->out;
    for (int k = 0; k < work->stage->input_count; k++) {
        const struct input *in = &work->input[k];
        body->reach = in->halo.r > body->reach ? in->halo.r : body->reach;
        body->inside = body->inside && in->inside;
        body->loads = body->loads || w->layout->ring[work->stage->input[k]].loader >= 0;
        body->loaded[k] = in->first_row;
    }
    for (int k = 0; k < work->stage->output_count; k++)
        body->out[k] = work->out[k][plane].first;
}

/* The rows that row r reads. */
static void find_rows(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const bool volume = w->layout->job->flow->dim == 3;
    for (int k = 0; k < body->work->stage->input_count; k++) {
        const struct input *input = &body->work->input[k];
        const struct vf_halo h = input->halo;
        for (int dr = -h.r; dr <= h.r; dr++) {
            const ptrdiff_t offset = row_offset(w, input, r + dr);
            for (int ds = -h.s; ds <= h.s; ds++)
                body->in[VF_ROW_INDEX(k, volume ? ds : 0, volume ? dr : ds)] =
                    row_at(input, body->plane + ds, offset);
        }
    }
}

/* The same from those of the row before, where both read inside the grid only. */
static void go_on(struct body_plane *body)
{
    for (int k = 0; k < body->work->stage->input_count; k++) {
        const uintptr_t pitch = (uintptr_t)body->work->input[k].pitch;
        const void **in = body->in + VF_ROW_INDEX(k, -VF_BODY_REACH, -VF_BODY_REACH);
        for (int i = 0; i < VF_BODY_ROWS; i++)
            in[i] = (const void *)((uintptr_t)in[i] + pitch);
    }
}

/* What of a row depends on where it is. */
static void place_row(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct vf_job *job = w->layout->job;
    const struct work *work = body->work;
    const bool volume = job->flow->dim == 3;
    const ptrdiff_t s = work->s + body->plane, y = volume ? r : s;
    const bool closed_y = vf_boundary_is_closed(vf_boundary_axis(job->flow->boundary, job->ny));
    struct vf_body_row *row = &body->row;
    row->open_lo[1] = !(closed_y && y == 0);
    row->open_hi[1] = !(closed_y && y == job->ny - 1);
    if (vf_body_shares_faces(work->stage->stencil)) {
        const struct vf_row_layout *l = w->layout;
        const int field = work->stage->output[0];
        const struct vf_range planes = w->part[field].s;
        const ptrdiff_t pitch = l->ring[field].pitch * (ptrdiff_t)l->element;
        char *faces = w->arena + work->how->faces;
        row->face[0] = faces + VF_ALIGNMENT;
        row->face[1] = faces + pitch;
        row->face[2] = faces + (r - work->rows.from + 2) * pitch;
        row->follows = s > planes.from && (!volume || r > work->rows.from);
    }
}

/* The rows of sources that row r is the first to read. */
static void load_rows(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct work *work = body->work;
    for (int k = 0; k < work->stage->input_count; k++) {
        const int field = work->stage->input[k];
        const struct vf_row_part *part = &w->part[field];
        const ptrdiff_t s = work->s + work->how->halo[k].s;
        if (w->layout->ring[field].loader < 0 || s >= part->s.to)
            continue;
        for (; body->loaded[k] <= r + work->how->halo[k].r && body->loaded[k] < part->r.to; body->loaded[k]++)
            vf_row_load(w, field, s, body->loaded[k]);
    }
}

static void make_body_row(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct work *work = body->work;
    const ptrdiff_t before = work->x.from * (ptrdiff_t)w->layout->element;
    if (body->loads)
        load_rows(w, body, r);
    if (body->inside && r > work->rows.from && r > body->reach && r + body->reach < w->layout->n_rows)
        go_on(body);
    else
        find_rows(w, body, r);
    place_row(w, body, r);
    w->rows->body[work->stage->stencil](&body->row);
    for (int k = 0; k < work->stage->output_count; k++) {
        const int field = work->stage->output[k];
        if (vf_row_needs_finish(&w->layout->ring[field]))
            vf_row_finish(w, field, work->s + body->plane, r, body->out[k] - before);
        body->out[k] += work->out[k][0].pitch;
    }
}

/* ---- planes ---- */

/* Whether the rows of an output may go to its sink as they are: of the compute type, read by no stage, and
 * the tile's alone. */
static bool may_pass(const struct vf_row_worker *w, int field)
{
    const struct vf_flow *flow = w->layout->job->flow;
    const struct vf_ring *ring = &w->layout->ring[field];
    if (ring->sink < 0 || ring->whole)
        return false;
    const struct vf_sink *sink = &w->layout->job->sink[ring->sink];
    return sink->array != NULL && sink->array->type == (flow->is_double ? VF_F64 : VF_F32) &&
           sink->reducer_count == 0 && ring->reach.s == 0 && ring->reach.r == 0 && ring->reach.x == 0;
}

/* `count` rows from r on of an output's planes in its sink; returns how many, or 0 where they are not
 * aligned. */
static int rows_of_sink(const struct vf_row_worker *w, const struct work *work, int field, ptrdiff_t r,
                        int count, char **out)
{
    const struct vf_sink *sink = &w->layout->job->sink[w->layout->ring[field].sink];
    uintptr_t all = (uintptr_t)(work->x.to - work->x.from) * w->layout->element;
    int n = 0;
    for (int p = 0; p < work->planes; p++)
        for (int i = 0; i < count; i++) {
            out[n] = vf_row_of_sink(w, sink, work->s + p, r + i);
            all |= (uintptr_t)out[n++];
        }
    return all % VF_ALIGNMENT == 0 ? n : 0;
}

/* `count` rows from r on of all planes of a linear stage that is not along x. */
static void make_linear(const struct vf_row_worker *w, const struct work *work, ptrdiff_t r, int count)
{
    const ptrdiff_t element = (ptrdiff_t)w->layout->element, before = work->x.from * element;
    for (int k = 0; k < work->stage->output_count; k++) {
        const int field = work->stage->output[k];
        const struct vf_ring *ring = &w->layout->ring[field];
        const ptrdiff_t pitch = ring->pitch * element;
        char *out[VF_ROW_BLOCK];
        int n = work->passes[k] ? rows_of_sink(w, work, field, r, count, out) : 0;
        if (n > 0) {
            linear_rows(w, work, k, r, out, n, w->streams ? VF_ROW_PAST_CACHES : VF_ROW_IN_SINK);
            continue;
        }
        for (int p = 0; p < work->planes; p++) {
            char *first = work->out[k][p].first + (r - work->rows.from) * work->out[k][p].pitch;
            for (int i = 0; i < count; i++)
                out[n++] = first + i * pitch;
        }
        linear_rows(w, work, k, r, out, n, VF_ROW_IN_RING);
        if (!vf_row_needs_finish(ring))
            continue;
        n = 0;
        for (int p = 0; p < work->planes; p++)
            for (int i = 0; i < count; i++)
                vf_row_finish(w, field, work->s + p, r + i, out[n++] - before);
    }
}

/* Row r of a linear stage along x; also of its sources that are loaded as they are needed. */
static void make_along_x(const struct vf_row_worker *w, const struct work *work, ptrdiff_t r)
{
    const struct vf_stage *stage = work->stage;
    const ptrdiff_t element = (ptrdiff_t)w->layout->element;
    for (int k = 0; k < stage->output_count; k++) {
        const struct input *in = &work->input[k];
        const int from = stage->input[k], to = stage->output[k];
        char *out = work->out[k][0].first + (r - work->rows.from) * work->out[k][0].pitch;
        if (w->layout->ring[from].loader >= 0)
            vf_row_load(w, from, work->s, r);
        w->rows->along(same_row(in, 0, r) - in->halo.x * element, w->weight, stage->taps->count, out,
                       work->x.to - work->x.from);
        if (vf_row_needs_finish(&w->layout->ring[to]))
            vf_row_finish(w, to, work->s, r, out - work->x.from * element);
    }
}

static void begin_work(const struct vf_row_worker *w, int stage_index, ptrdiff_t s, int count,
                       struct work *work)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_stage *stage = &l->job->flow->stage[stage_index];
    const struct vf_row_part *part = &w->part[stage->output[0]];
    work->stage = stage;
    work->how = &l->stage[stage_index];
    work->s = s;
    work->planes = count;
    work->rows = part->r;
    work->x = part->x;
    for (int k = 0; k < stage->input_count; k++)
        work->input[k] = input_of(w, work, k);
    for (int k = 0; k < stage->output_count; k++) {
        for (int p = 0; p < count; p++)
            work->out[k][p] = vf_row_plane_of(w, stage->output[k], s + p, work->x.from);
        work->passes[k] = may_pass(w, stage->output[k]);
    }
}

/* A stage on its way through the rows of its work. */
struct passage {
    struct work work;
    struct body_plane body[VF_ROW_BLOCK]; /* of a body: by plane */
};

static void begin(const struct vf_row_worker *w, int stage, ptrdiff_t s, int count, struct passage *passage)
{
    begin_work(w, stage, s, count, &passage->work);
    if (passage->work.how->kind != VF_ROW_BODY)
        set_weights(w, passage->work.stage->taps);
    else
        for (int p = 0; p < count; p++)
            begin_body(w, &passage->work, p, &passage->body[p]);
}

/* `count` rows from r on. */
static void make_rows(const struct vf_row_worker *w, struct passage *passage, ptrdiff_t r, int count)
{
    const enum vf_row_kind kind = passage->work.how->kind;
    if (kind == VF_ROW_BODY)
        for (int p = 0; p < passage->work.planes; p++)
            make_body_row(w, &passage->body[p], r);
    else if (kind == VF_ROW_ALONG_X)
        make_along_x(w, &passage->work, r);
    else
        make_linear(w, &passage->work, r, count);
}

void vf_row_stage_planes(const struct vf_row_worker *w, int stage, ptrdiff_t s, int count)
{
    const struct vf_row_stage *how = &w->layout->stage[stage];
    struct passage passage, called;
    begin(w, stage, s, count, &passage);
    if (how->calls >= 0)
        begin(w, how->calls, s, count, &called);
    const struct vf_range rows = passage.work.rows;
    for (ptrdiff_t r = rows.from; r < rows.to; r += how->rows) {
        const int left = (int)(rows.to - r), n = how->rows < left ? how->rows : left;
        if (how->calls >= 0)
            make_rows(w, &called, r, n);
        make_rows(w, &passage, r, n);
    }
}
