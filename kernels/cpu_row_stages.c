/* The stages of row-stream: one or a few neighbouring planes of a stage, row by row or by blocks of rows. */
#include <stdint.h>

#include "kernels/cpu_row_worker.h"
#include "src/alloc.h"

/* A field's ring, from the first cell on that a stage makes. */
struct ring_part {
    const struct vf_ring *ring;
    char *first; /* of plane 0's first row that is made */
};

/* An input of a stage. */
struct input {
    struct ring_part part;
    struct vf_halo halo;
    bool star;           /* a body reads it along the axes only */
    ptrdiff_t first_row; /* the number of the planes' first row */
    ptrdiff_t pitch;     /* bytes from row to row; 0: only one row is kept */
    const char *outside; /* a row of the constant */
    /* While the stage computes some planes, [offset along the stream + halo]: the plane's first row that is
     * made, at the output's first cell; NULL: the plane is outside the grid and reads the constant. For a
     * stage that sums across rows [i] is row i of its only plane. */
    const char **plane;
    bool inside; /* no plane is NULL */
};

/* An output of a stage: its ring, or its sink. */
struct output {
    struct ring_part part;
    bool may_pass; /* its rows may be made in its sink */
    /* While the stage computes some planes. */
    char
        *first[VF_ROW_BLOCK]; /* [plane * rows at once + row]: the first rows of the planes, at the first x */
    ptrdiff_t pitch;          /* bytes from row to row */
    enum vf_row_place place;
    bool finishes; /* vf_row_finish is called for each row once it is made */
};

/* A stage in a tile, and while it computes planes [s, s + planes) of it. */
struct vf_row_work {
    const struct vf_stage *stage;
    const struct vf_row_stage *how;
    struct vf_range rows, x;
    ptrdiff_t s;
    int planes;
    struct input input[VF_MAX_INPUTS];
    struct output out[VF_MAX_OUTPUTS];
};

static struct ring_part part_of(const struct vf_row_worker *w, int field, ptrdiff_t x)
{
    return (struct ring_part){&w->layout->ring[field], vf_row_plane_of(w, field, 0, x).first};
}

static char *plane_at(const struct ring_part *part, ptrdiff_t place)
{
    return part->first + (size_t)place * part->ring->plane_bytes;
}

/* The place in the ring after another one. */
static ptrdiff_t place_after(const struct ring_part *part, ptrdiff_t place)
{
    return place + 1 < part->ring->depth ? place + 1 : 0;
}

/* Of a source that is read in place: the first row that is read of plane s, from x on. */
static const char *row_in_place(const struct vf_row_worker *w, int field, ptrdiff_t s, ptrdiff_t x)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_array *array = &l->job->source[l->ring[field].source];
    return vf_row_of_source(w, array, s, w->part[field].r.from) + (size_t)x * l->element;
}

static void begin_input(const struct vf_row_worker *w, struct vf_row_work *work, int k)
{
    const struct vf_row_layout *l = w->layout;
    const int field = work->stage->input[k];
    const struct vf_ring *ring = &l->ring[field];
    const ptrdiff_t pitch = ring->in_place ? l->job->nx : ring->whole ? ring->pitch : 0;
    work->input[k] = (struct input){
        .part = part_of(w, field, work->x.from),
        .halo = work->how->halo[k],
        .star = k < work->how->star_inputs,
        .first_row = w->part[field].r.from,
        .pitch = pitch * (ptrdiff_t)l->element,
        .outside = w->outside[l->job->flow->field_kind[field]] + (size_t)l->most_origin * l->element,
        .plane = w->plane + ((work->how->called ? VF_MAX_INPUTS : 0) + k) * l->most_planes,
    };
}

/* Finds the planes that input k reads. */
static void find_planes(const struct vf_row_worker *w, const struct vf_row_work *work, int k,
                        struct input *in)
{
    const struct vf_row_layout *l = w->layout;
    const int field = work->stage->input[k], count = work->planes + 2 * in->halo.s;
    const bool in_place = in->part.ring->in_place;
    const ptrdiff_t first = work->s - in->halo.s;
    in->inside = true;
    if (!in_place && (l->periodic_s || (first >= 0 && first + count <= l->n_stream))) {
        ptrdiff_t place = vf_floor_mod(first, in->part.ring->depth);
        for (int j = 0; j < count; j++, place = place_after(&in->part, place))
            in->plane[j] = plane_at(&in->part, place);
    } else {
        for (int j = 0; j < count; j++) {
            const ptrdiff_t s = vf_boundary_index(l->job->flow->boundary, first + j, l->n_stream);
            in->plane[j] = s < 0      ? NULL
                           : in_place ? row_in_place(w, field, s, work->x.from)
                                      : plane_at(&in->part, vf_floor_mod(s, in->part.ring->depth));
            in->inside = in->inside && s >= 0;
        }
    }
    if (work->how->kind == VF_ROW_ACROSS_ROWS)
        for (int i = 1; i < 2 * in->halo.r + work->how->rows; i++)
            in->plane[i] = in->plane[i - 1] + in->pitch;
}

/* Row r, which the stage makes, of the input's plane j. It is inside the grid, or the grid is periodic. */
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

/* ---- outputs ---- */

/* Whether the rows of output k may be made in its sink, without a ring: it is stored as the rows' type and
 * not reduced, no stage reads it, and no row reaches beyond the tile. */
static bool may_pass(const struct vf_row_worker *w, const struct vf_row_work *work, int k)
{
    const struct vf_ring *ring = work->out[k].part.ring;
    if (ring->sink < 0 || ring->whole || work->how->kind == VF_ROW_ALONG_X)
        return false;
    const struct vf_sink *sink = &w->layout->job->sink[ring->sink];
    return sink->array != NULL && sink->array->type == w->layout->cell && sink->reducer_count == 0 &&
           ring->reach.s == 0 && ring->reach.r == 0 && ring->reach.x == 0;
}

static void begin_output(const struct vf_row_worker *w, struct vf_row_work *work, int k)
{
    work->out[k].part = part_of(w, work->stage->output[k], work->x.from);
    work->out[k].may_pass = may_pass(w, work, k);
}

/* The output is to be made in its ring. */
static void place_in_ring(const struct vf_row_worker *w, const struct vf_row_work *work, struct output *out)
{
    const struct vf_ring *ring = out->part.ring;
    const ptrdiff_t pitch = ring->pitch * (ptrdiff_t)w->layout->element;
    ptrdiff_t place = vf_floor_mod(work->s, ring->depth);
    char **first = out->first;
    for (int p = 0; p < work->planes; p++, place = place_after(&out->part, place))
        for (int i = 0; i < work->how->rows; i++)
            *first++ = plane_at(&out->part, place) + i * pitch;
    out->pitch = ring->whole ? pitch : 0;
    out->place = VF_ROW_IN_RING;
    out->finishes = vf_row_needs_finish(ring);
}

/* The output is to be made in its sink; false if its rows there are not aligned. */
static bool place_in_sink(const struct vf_row_worker *w, const struct vf_row_work *work, struct output *out)
{
    const struct vf_sink *sink = &w->layout->job->sink[out->part.ring->sink];
    const int rows = work->how->rows;
    uintptr_t all = (uintptr_t)(work->x.to - work->x.from) * w->layout->element;
    out->pitch = w->layout->job->nx * (ptrdiff_t)w->layout->element;
    all |= (uintptr_t)out->pitch;
    for (int p = 0; p < work->planes; p++) {
        char *first = vf_row_of_sink(w, sink, work->s + p, work->rows.from);
        all |= (uintptr_t)first;
        for (int i = 0; i < rows; i++)
            out->first[p * rows + i] = first + i * out->pitch;
    }
    out->place = w->streams ? VF_ROW_PAST_CACHES : VF_ROW_IN_SINK;
    out->finishes = false;
    return all % VF_ALIGNMENT == 0;
}

/* Places each output in its sink or its ring; for a body, which stores all in one way, all in rings if one
 * is. */
static void place_outputs(const struct vf_row_worker *w, struct vf_row_work *work)
{
    const int count = work->stage->output_count;
    const bool alike = work->how->kind == VF_ROW_BODY;
    const bool apart = work->planes > 1 && w->layout->job->flow->dim == 3;
    const bool none_passes = apart && w->streams && !w->streams_planes;
    int passed = 0;
    for (int k = 0; k < count; k++) {
        struct output *out = &work->out[k];
        const bool passes =
            out->may_pass && !none_passes && (!alike || passed == k) && place_in_sink(w, work, out);
        if (!passes)
            place_in_ring(w, work, out);
        passed += passes;
    }
    for (int k = 0; alike && passed < count && k < passed; k++)
        place_in_ring(w, work, &work->out[k]);
}

/* ---- tiles ---- */

size_t vf_row_work_bytes(void)
{
    return sizeof(struct vf_row_work);
}

void vf_row_begin_tile(const struct vf_row_worker *w)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_flow *flow = l->job->flow;
    for (int i = 0; i < flow->stage_count; i++) {
        struct vf_row_work *work = &w->work[i];
        work->stage = &flow->stage[i];
        work->how = &l->stage[i];
        work->rows = w->part[work->stage->output[0]].r;
        work->x = w->part[work->stage->output[0]].x;
        for (int k = 0; k < work->stage->input_count; k++)
            begin_input(w, work, k);
        for (int k = 0; k < work->stage->output_count; k++)
            begin_output(w, work, k);
    }
}

/* ---- linear stages ---- */

/* Puts into w->tap, for each tap of a stage, the row that it reads, shifted by its dx. */
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

/* Puts into w->tap the rows that a table reads for `count` rows of results from r on. Rows that only later
 * results would read are not looked up. */
static void rows_of_table(const struct vf_row_worker *w, const struct vf_row_table *table,
                          const struct input *in, ptrdiff_t r, int count)
{
    const bool volume = w->layout->job->flow->dim == 3;
    for (int i = 0; i < table->row_count; i++) {
        const struct vf_table_row row = table->row[i];
        const int ds = volume ? row.dz : row.dy, dr = volume ? row.dy : 0;
        const bool is_read = row.dy < count + (volume ? in->halo.r : in->halo.s);
        w->tap[i] = is_read ? row_at(in, ds, row_offset(w, in, r + dr)) : in->outside;
    }
}

/* The rows, in order, that sums for `count` neighbouring rows from r on read; or, if not across_rows, for row
 * r of `count` neighbouring planes. They begin `from` bytes after the addresses that are returned: so inside
 * the grid the addresses are the same for all rows of a plane. */
static const void *const *rows_of_line(const struct vf_row_worker *w, bool across_rows,
                                       const struct input *in, ptrdiff_t r, int count, ptrdiff_t *from)
{
    const ptrdiff_t first = r - in->halo.r;
    const int n = 2 * (across_rows ? in->halo.r : in->halo.s) + count;
    *from = (first - in->first_row) * in->pitch;
    if (in->inside &&
        (!across_rows || w->layout->periodic_r || (first >= 0 && first + n <= w->layout->n_rows)))
        return (const void *const *)in->plane;
    *from = 0;
    for (int j = 0; j < n; j++)
        w->tap[j] = across_rows            ? row_at(in, 0, row_offset(w, in, first + j))
                    : in->plane[j] == NULL ? in->outside
                                           : same_row(in, j, r);
    return w->tap;
}

/* Makes `count` rows from r on of output k; or, for sums across the stream, row r of `count` planes. */
static void sum_rows(const struct vf_row_worker *w, const struct vf_row_work *work, int k, ptrdiff_t r,
                     int count)
{
    const struct vf_taps *taps = work->stage->taps;
    const struct input *in = &work->input[k];
    const struct output *out = &work->out[k];
    const enum vf_row_kind kind = work->how->kind;
    const ptrdiff_t n = work->x.to - work->x.from, to = (r - work->rows.from) * out->pitch;
    void *const *first = (void *const *)out->first;
    const void *const *rows = w->tap;
    ptrdiff_t from = 0;
    if (kind == VF_ROW_TABLE) {
        const struct vf_row_table *table = &work->how->table;
        rows_of_table(w, table, in, r, count);
        w->rows->table(w->tap, table->span, table->span_count, work->how->weight, first, to, count, n,
                       out->place);
        return;
    }
    if (kind == VF_ROW_ANY)
        any_row(w, taps, in, r);
    else
        rows = rows_of_line(w, kind == VF_ROW_ACROSS_ROWS, in, r, count, &from);
    w->rows->lines(rows, from, work->how->weight, taps->count, first, to, count, n, out->place,
                   work->how->asks && w->layout->far);
}

/* Makes `count` rows from r on, of all planes of the work, of a linear stage that does not sum along x. */
static void make_linear(const struct vf_row_worker *w, const struct vf_row_work *work, ptrdiff_t r, int count)
{
    const ptrdiff_t before = work->x.from * (ptrdiff_t)w->layout->element;
    const int made = work->planes * count;
    for (int k = 0; k < work->stage->output_count; k++) {
        const struct output *out = &work->out[k];
        const ptrdiff_t to = (r - work->rows.from) * out->pitch;
        sum_rows(w, work, k, r, made);
        for (int i = 0; i < made && out->finishes; i++)
            vf_row_finish(w, work->stage->output[k], work->s + i / count, r + i % count,
                          out->first[i] + to - before);
    }
}

/* ---- bodies ---- */

/* A body on its way through the rows of a plane of its work, with all that they share. */
struct body_plane {
    const struct vf_row_work *work;
    int plane;             /* of the work's */
    struct vf_range inner; /* rows that, like the row before each, read inside the grid only */
    bool loads;            /* it loads rows of sources as it comes to them */
    struct vf_row_loading loading[VF_MAX_INPUTS];
    ptrdiff_t closed_lo_y, closed_hi_y; /* the row whose lower, upper y face is closed */
    bool follows;                       /* it takes faces along z that the plane before has kept */
    ptrdiff_t face_pitch;
    struct vf_body_row row;
    int reach;                    /* for which the table of rows is laid out (VF_ROW_INDEX) */
    int by_stream;                /* entries of the table from one plane of the stream to the next */
    const void *in[VF_BODY_ROWS]; /* the table */
    /* From one row to the next `moved` entries of the table move on: number move[i] by by[i] bytes. */
    int moved;
    short move[VF_BODY_ROWS];
    ptrdiff_t by[VF_BODY_ROWS];
    char *out[VF_MAX_OUTPUTS];    /* the row that comes next */
    struct vf_row_ends next_ends; /* of the row that comes next, if its ends are copied */
};

/* The number in the table of the row of input k that is ds planes of the stream and dr rows from the row that
 * is made. */
static int row_index(const struct body_plane *body, int k, int ds, int dr)
{
    return VF_ROW_INDEX(body->reach, k, 0, 0) + ds * body->by_stream + dr;
}

/* How many planes away a body reads rows that are dr rows from the one that it makes. */
static int farthest_plane(const struct input *in, int dr)
{
    return in->star && dr != 0 ? 0 : in->halo.s;
}

static void begin_inputs(const struct vf_row_worker *w, struct body_plane *body)
{
    const struct vf_row_work *work = body->work;
    /* A plane of an image is one row: nothing is moved on to the next one. */
    const bool is_followed = work->rows.to - work->rows.from > 1;
    bool inside = true;
    int reach = 0;
    for (int k = 0; k < work->stage->input_count; k++) {
        const struct input *in = &work->input[k];
        const struct vf_halo h = in->halo;
        const int field = work->stage->input[k];
        reach = h.r > reach ? h.r : reach;
        inside = inside && in->inside;
        body->loading[k].next = PTRDIFF_MAX;
        if (w->layout->ring[field].loader >= 0 && work->s + h.s < w->part[field].s.to) {
            body->loading[k] = vf_row_loading_of(w, field, work->s + h.s);
            body->loads = true;
        }
        for (int dr = -h.r; dr <= h.r && in->pitch != 0 && is_followed; dr++) {
            const int far = farthest_plane(in, dr);
            for (int ds = -far; ds <= far; ds++) {
                body->move[body->moved] = (short)row_index(body, k, ds, dr);
                body->by[body->moved++] = in->pitch;
            }
        }
    }
    if (inside)
        body->inner = (struct vf_range){(work->rows.from > reach ? work->rows.from : reach) + 1,
                                        w->layout->n_rows - reach};
}

static void begin_faces(const struct vf_row_worker *w, struct body_plane *body)
{
    const struct vf_row_work *work = body->work;
    const int field = work->stage->output[0];
    char *faces = w->arena + work->how->faces;
    body->follows = work->s + body->plane > w->part[field].s.from;
    body->face_pitch = w->layout->ring[field].pitch * (ptrdiff_t)w->layout->element;
    body->row.face[0] = faces + VF_ALIGNMENT;
    body->row.face[1] = faces + body->face_pitch;
    body->row.face[2] = faces + 2 * body->face_pitch;
}

static void begin_body(const struct vf_row_worker *w, const struct vf_row_work *work, int plane,
                       struct body_plane *body)
{
    const struct vf_job *job = w->layout->job;
    const enum vf_boundary b = job->flow->boundary;
    const bool volume = job->flow->dim == 3;
    const ptrdiff_t s = work->s + plane, n = work->x.to - work->x.from;
    const bool closed_z = volume && vf_boundary_is_closed(vf_boundary_axis(b, job->nz));
    const bool closed_y = vf_boundary_is_closed(vf_boundary_axis(b, job->ny));
    const bool closed_x = vf_boundary_is_closed(vf_boundary_axis(b, job->nx));
    /* Its arrays are large, and hold what these say. */
    body->work = work;
    body->plane = plane;
    body->reach = work->how->reach;
    body->by_stream = volume ? 2 * body->reach + 1 : 1;
    body->inner = (struct vf_range){0, 0};
    body->moved = 0;
    body->loads = body->follows = false;
    body->face_pitch = 0;
    body->closed_lo_y = closed_y ? 0 : PTRDIFF_MAX;
    body->closed_hi_y = closed_y ? job->ny - 1 : PTRDIFF_MAX;
    body->row = (struct vf_body_row){
        .in = body->in,
        .out = (void *const *)body->out,
        .place = work->out[0].place,
        .param = work->stage->param,
        .n = n,
        .open_lo = {1, 1, !(closed_z && s == 0)},
        .open_hi = {1, 1, !(closed_z && s == job->nz - 1)},
        .closed_lo_x = closed_x && work->x.from == 0 ? 0 : -1,
        .closed_hi_x = closed_x && work->x.to == job->nx ? (int)n - 1 : -1,
    };
    for (int k = 0; k < work->stage->output_count; k++)
        body->out[k] = work->out[k].first[plane];
    begin_inputs(w, body);
    if (work->how->shares_faces)
        begin_faces(w, body);
}

/* The rows of sources that row r is the first to read. */
static void load_rows(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct vf_row_work *work = body->work;
    body->row.ahead.row = NULL;
    for (int k = 0; k < work->stage->input_count; k++)
        while (body->loading[k].next <= r + work->how->halo[k].r &&
               body->loading[k].next < w->part[work->stage->input[k]].r.to) {
            vf_row_load(w, &body->loading[k]);
            body->row.ahead.row = body->loading[k].ahead.row;
            body->row.ahead.cell = body->loading[k].ahead.cell;
        }
}

/* The rows that row r reads. */
static void find_rows(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    for (int k = 0; k < body->work->stage->input_count; k++) {
        const struct input *input = &body->work->input[k];
        const struct vf_halo h = input->halo;
        for (int dr = -h.r; dr <= h.r; dr++) {
            const ptrdiff_t offset = row_offset(w, input, r + dr);
            const int far = farthest_plane(input, dr);
            const void **row = &body->in[row_index(body, k, -far, dr)];
            for (int ds = -far; ds <= far; ds++, row += body->by_stream)
                *row = row_at(input, body->plane + ds, offset);
        }
    }
}

/* The same from those of the row before. */
static void go_on(struct body_plane *body)
{
    for (int i = 0; i < body->moved; i++)
        body->in[body->move[i]] = (const char *)body->in[body->move[i]] + body->by[i];
}

/* The rows that were made are finished, and the next ones come. */
static void finish_rows(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct vf_row_work *work = body->work;
    const ptrdiff_t before = work->x.from * (ptrdiff_t)w->layout->element;
    for (int k = 0; k < work->stage->output_count; k++) {
        if (work->out[k].finishes)
            vf_row_finish(w, work->stage->output[k], work->s + body->plane, r, body->out[k] - before);
        body->out[k] += work->out[k].pitch;
    }
}

/* A row ahead: what is stored in pieces and loaded as a vector at once waits for every store before it. */
static void copy_ends(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct vf_row_work *work = body->work;
    const struct input *in = &work->input[0];
    const int field = work->stage->input[0];
    const char *row = same_row(in, body->plane + in->halo.s, r);
    body->row.ends = r == work->rows.from ? vf_row_copy_ends(w, field, r, row) : body->next_ends;
    if (r + 1 < work->rows.to)
        body->next_ends = vf_row_copy_ends(w, field, r + 1, row + in->pitch);
}

static void make_body_row(const struct vf_row_worker *w, struct body_plane *body, ptrdiff_t r)
{
    const struct vf_row_work *work = body->work;
    const bool volume = w->layout->job->flow->dim == 3;
    const ptrdiff_t y = volume ? r : work->s + body->plane;
    if (body->loads)
        load_rows(w, body, r);
    if (r >= body->inner.from && r < body->inner.to)
        go_on(body);
    else
        find_rows(w, body, r);
    if (w->layout->ring[work->stage->input[0]].ends)
        copy_ends(w, body, r);
    body->row.open_lo[1] = y != body->closed_lo_y;
    body->row.open_hi[1] = y != body->closed_hi_y;
    body->row.follows = body->follows && (!volume || r > work->rows.from);
    w->rows->body[work->stage->stencil](&body->row);
    finish_rows(w, body, r);
    if (body->face_pitch > 0)
        body->row.face[2] = (char *)body->row.face[2] + body->face_pitch;
}

/* ---- planes ---- */

/* Row r of a linear stage along x; also of its sources that are loaded as they are needed. */
static void make_along_x(const struct vf_row_worker *w, const struct vf_row_work *work,
                         struct vf_row_loading *loading, ptrdiff_t r)
{
    const struct vf_stage *stage = work->stage;
    const ptrdiff_t element = (ptrdiff_t)w->layout->element;
    for (int k = 0; k < stage->output_count; k++) {
        const struct input *in = &work->input[k];
        const struct output *out = &work->out[k];
        char *to = out->first[0] + (r - work->rows.from) * out->pitch;
        if (loading[k].to != NULL)
            vf_row_load(w, &loading[k]);
        w->rows->along(same_row(in, 0, r) - in->halo.x * element, work->how->weight, stage->taps->count, to,
                       work->x.to - work->x.from, &loading[k].ahead);
        if (out->finishes)
            vf_row_finish(w, stage->output[k], work->s, r, to - work->x.from * element);
    }
}

/* A stage on its way through the rows of its work. */
struct passage {
    struct vf_row_work *work;
    struct vf_row_loading loading[VF_MAX_INPUTS]; /* for sums along x: of sources that the stage loads */
    struct body_plane body[VF_ROW_BLOCK];         /* of a body: by plane */
};

static void begin(const struct vf_row_worker *w, int stage, ptrdiff_t s, int count, struct passage *passage)
{
    struct vf_row_work *work = passage->work = &w->work[stage];
    const enum vf_row_kind kind = work->how->kind;
    work->s = s;
    work->planes = count;
    for (int k = 0; k < work->stage->input_count; k++) {
        find_planes(w, work, k, &work->input[k]);
        if (kind != VF_ROW_ALONG_X)
            continue;
        struct vf_row_loading *loading = &passage->loading[k];
        loading->to = NULL;
        loading->ahead = (struct vf_row_ahead){.row = NULL};
        if (work->input[k].part.ring->loader >= 0)
            *loading = vf_row_loading_of(w, work->stage->input[k], s);
    }
    place_outputs(w, work);
    for (int p = 0; kind == VF_ROW_BODY && p < count; p++)
        begin_body(w, work, p, &passage->body[p]);
}

/* `count` rows from r on. */
static void make_rows(const struct vf_row_worker *w, struct passage *passage, ptrdiff_t r, int count)
{
    const enum vf_row_kind kind = passage->work->how->kind;
    if (kind == VF_ROW_BODY)
        for (int p = 0; p < passage->work->planes; p++)
            make_body_row(w, &passage->body[p], r);
    else if (kind == VF_ROW_ALONG_X)
        make_along_x(w, passage->work, passage->loading, r);
    else
        make_linear(w, passage->work, r, count);
}

void vf_row_stage_planes(const struct vf_row_worker *w, int stage, ptrdiff_t s, int count)
{
    const struct vf_row_stage *how = &w->layout->stage[stage];
    struct passage passage, called;
    begin(w, stage, s, count, &passage);
    if (how->calls >= 0)
        begin(w, how->calls, s, count, &called);
    const struct vf_range rows = passage.work->rows;
    for (ptrdiff_t r = rows.from; r < rows.to; r += how->rows) {
        const int left = (int)(rows.to - r), n = how->rows < left ? how->rows : left;
        if (how->calls >= 0)
            make_rows(w, &called, r, n);
        make_rows(w, &passage, r, n);
    }
}
