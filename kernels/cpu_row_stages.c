/* The stages of row-stream: one or a few neighbouring planes of a stage, row by row or by blocks of rows. */
#include "kernels/cpu_row_work.h"

#include "src/alloc.h"

/* ---- linear stages ---- */

/* Puts into w->tap, for each tap of a stage, the row that it reads, shifted by its dx. */
static void any_row(const struct vf_row_worker *w, const struct vf_taps *taps, const struct vf_row_input *in,
                    ptrdiff_t r)
{
    const bool volume = w->layout->job->flow->dim == 3;
    for (int t = 0; t < taps->count; t++) {
        const struct vf_tap *tap = &taps->tap[t];
        const int ds = volume ? tap->dz : tap->dy, dr = volume ? tap->dy : 0;
        w->tap[t] = vf_row_at(in, ds, vf_row_offset(w, in, r + dr)) + tap->dx * (ptrdiff_t)w->layout->element;
    }
}

/* Puts into w->tap the rows that a table reads for `count` rows of results from r on. Rows that only later
 * results would read are not looked up. */
static void rows_of_table(const struct vf_row_worker *w, const struct vf_row_table *table,
                          const struct vf_row_input *in, ptrdiff_t r, int count)
{
    const bool volume = w->layout->job->flow->dim == 3;
    for (int i = 0; i < table->row_count; i++) {
        const struct vf_table_row row = table->row[i];
        const int ds = volume ? row.dz : row.dy, dr = volume ? row.dy : 0;
        const bool is_read = row.dy < count + (volume ? in->halo.r : in->halo.s);
        w->tap[i] = is_read ? vf_row_at(in, ds, vf_row_offset(w, in, r + dr)) : in->outside;
    }
}

/* The rows, in order, that sums for `count` neighbouring rows from r on read; or, if not across_rows, for row
 * r of `count` neighbouring planes. They begin `from` bytes after the addresses that are returned: so inside
 * the grid the addresses are the same for all rows of a plane. */
static const void *const *rows_of_line(const struct vf_row_worker *w, bool across_rows,
                                       const struct vf_row_input *in, ptrdiff_t r, int count, ptrdiff_t *from)
{
    const ptrdiff_t first = r - in->halo.r;
    const int n = 2 * (across_rows ? in->halo.r : in->halo.s) + count;
    *from = (first - in->first_row) * in->pitch;
    if (in->inside &&
        (!across_rows || w->layout->periodic_r || (first >= 0 && first + n <= w->layout->n_rows)))
        return (const void *const *)in->plane;
    *from = 0;
    for (int j = 0; j < n; j++)
        w->tap[j] = across_rows            ? vf_row_at(in, 0, vf_row_offset(w, in, first + j))
                    : in->plane[j] == NULL ? in->outside
                                           : vf_row_of_plane(in, j, r);
    return w->tap;
}

/* Makes `count` rows from r on of output k; or, for sums across the stream, row r of `count` planes. */
static void sum_rows(const struct vf_row_worker *w, const struct vf_row_work *work, int k, ptrdiff_t r,
                     int count)
{
    const struct vf_taps *taps = work->stage->taps;
    const struct vf_row_input *in = &work->input[k];
    const struct vf_row_output *out = &work->out[k];
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
        const struct vf_row_output *out = &work->out[k];
        const ptrdiff_t to = (r - work->rows.from) * out->pitch;
        sum_rows(w, work, k, r, made);
        for (int i = 0; i < made && out->finishes; i++)
            vf_row_finish(w, work->stage->output[k], work->s + i / count, r + i % count,
                          out->first[i] + to - before);
    }
}

/* ---- bodies ---- */

/* Of an axis of n voxels. */
static bool is_closed(const struct vf_row_worker *w, ptrdiff_t n)
{
    return vf_boundary_is_closed(vf_boundary_axis(w->layout->job->flow->boundary, n));
}

/* Of the rows of plane s of the work, but for those along y. */
static struct vf_row_gates gates_of(const struct vf_row_worker *w, const struct vf_row_work *work,
                                    ptrdiff_t s)
{
    const struct vf_job *job = w->layout->job;
    const bool is_closed_x = is_closed(w, job->nx);
    const bool is_closed_z = job->flow->dim == 3 && is_closed(w, job->nz);
    return (struct vf_row_gates){
        .open_lo = {1, 1, !(is_closed_z && s == 0)},
        .open_hi = {1, 1, !(is_closed_z && s == job->nz - 1)},
        .closed_lo_x = is_closed_x && work->x.from == 0 ? 0 : -1,
        .closed_hi_x = is_closed_x && work->x.to == job->nx ? (int)(work->x.to - work->x.from) - 1 : -1,
    };
}

/* Of rows along y: the row whose lower face is closed, and the one whose upper face is. */
struct closed_rows {
    ptrdiff_t lo, hi;
};

static struct closed_rows closed_rows_of(const struct vf_row_worker *w)
{
    const ptrdiff_t ny = w->layout->job->ny;
    return is_closed(w, ny) ? (struct closed_rows){0, ny - 1}
                            : (struct closed_rows){PTRDIFF_MAX, PTRDIFF_MAX};
}

static void set_gates_along_y(const struct closed_rows *closed, ptrdiff_t y, struct vf_row_gates *gates)
{
    gates->open_lo[1] = y != closed->lo;
    gates->open_hi[1] = y != closed->hi;
}

/* A body on its way through the rows of a plane of its work, with all that they share. */
struct body_plane {
    const struct vf_row_work *work;
    int plane;             /* of the work's */
    struct vf_range inner; /* rows that, like the row before each, read inside the grid only */
    bool loads;            /* it loads rows of sources as it comes to them */
    struct vf_row_loading loading[VF_MAX_INPUTS];
    struct closed_rows closed;
    bool follows; /* it takes faces along z that the plane before has kept */
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
static int farthest_plane(const struct vf_row_input *in, int dr)
{
    return in->star && dr != 0 ? 0 : in->halo.s;
}

static void begin_inputs(const struct vf_row_worker *w, struct body_plane *body)
{
    const struct vf_row_work *work = body->work;
    const ptrdiff_t stage = work - w->work;
    /* A plane of an image is one row: nothing is moved on to the next one. */
    const bool is_followed = work->rows.to - work->rows.from > 1;
    bool inside = true;
    int reach = 0;
    for (int k = 0; k < work->stage->input_count; k++) {
        const struct vf_row_input *in = &work->input[k];
        const struct vf_halo h = in->halo;
        const int field = work->stage->input[k];
        reach = h.r > reach ? h.r : reach;
        inside = inside && in->inside;
        body->loading[k].next = PTRDIFF_MAX;
        if (w->layout->ring[field].loader == stage && work->s + h.s < w->part[field].s.to) {
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
    const bool volume = w->layout->job->flow->dim == 3;
    /* Its arrays are large, and hold what these say. */
    body->work = work;
    body->plane = plane;
    body->reach = work->how->reach;
    body->by_stream = volume ? 2 * body->reach + 1 : 1;
    body->inner = (struct vf_range){0, 0};
    body->moved = 0;
    body->loads = body->follows = false;
    body->closed = closed_rows_of(w);
    body->face_pitch = 0;
    body->row = (struct vf_body_row){
        .in = body->in,
        .out = (void *const *)body->out,
        .place = work->out[0].place,
        .param = work->stage->param,
        .n = work->x.to - work->x.from,
        .gates = gates_of(w, work, work->s + plane),
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
        const struct vf_row_input *input = &body->work->input[k];
        const struct vf_halo h = input->halo;
        for (int dr = -h.r; dr <= h.r; dr++) {
            const ptrdiff_t offset = vf_row_offset(w, input, r + dr);
            const int far = farthest_plane(input, dr);
            const void **row = &body->in[row_index(body, k, -far, dr)];
            for (int ds = -far; ds <= far; ds++, row += body->by_stream)
                *row = vf_row_at(input, body->plane + ds, offset);
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
    const struct vf_row_input *in = &work->input[0];
    const int field = work->stage->input[0];
    const char *row = vf_row_of_plane(in, body->plane + in->halo.s, r);
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
    set_gates_along_y(&body->closed, y, &body->row.gates);
    body->row.follows = body->follows && (!volume || r > work->rows.from);
    w->bodies->body[work->stage->stencil](&body->row);
    finish_rows(w, body, r);
    if (body->face_pitch > 0)
        body->row.face[2] = (char *)body->row.face[2] + body->face_pitch;
}

/* ---- planes ---- */

/* Row r of a linear stage along x; also of its sources that are loaded as they are needed. What others read
 * of these before the first row, `begin` has loaded, and what they read after the last one comes with it. */
static void make_along_x(const struct vf_row_worker *w, const struct vf_row_work *work,
                         struct vf_row_loading *loading, ptrdiff_t r)
{
    const struct vf_stage *stage = work->stage;
    const ptrdiff_t element = (ptrdiff_t)w->layout->element;
    for (int k = 0; k < stage->output_count; k++) {
        const struct vf_row_input *in = &work->input[k];
        const struct vf_row_output *out = &work->out[k];
        char *to = out->first[0] + (r - work->rows.from) * out->pitch;
        if (loading[k].to != NULL)
            vf_row_load(w, &loading[k]);
        w->rows->along(vf_row_of_plane(in, 0, r) - in->halo.x * element, work->how->weight,
                       stage->taps->count, to, work->x.to - work->x.from, &loading[k].ahead);
        if (loading[k].to != NULL && r + 1 == work->rows.to)
            vf_row_load_up_to(w, &loading[k], w->part[stage->input[k]].r.to);
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
    vf_row_turn_to(w, work, s, count);
    for (int k = 0; kind == VF_ROW_ALONG_X && k < work->stage->input_count; k++) {
        struct vf_row_loading *loading = &passage->loading[k];
        loading->to = NULL;
        loading->ahead = (struct vf_row_ahead){.row = NULL};
        if (work->input[k].part.ring->loader == stage) {
            *loading = vf_row_loading_of(w, work->stage->input[k], s);
            vf_row_load_up_to(w, loading, work->rows.from);
        }
    }
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

/* ---- a diffusion step after its flux ---- */

/* What it keeps is in its part of the arena. */
static void begin_step(const struct vf_row_worker *w, const struct vf_row_work *work,
                       struct vf_diffusion_row *row)
{
    const ptrdiff_t pitch = w->layout->ring[work->stage->output[0]].pitch * (ptrdiff_t)w->layout->element;
    const ptrdiff_t plane = (work->rows.to - work->rows.from + VF_STEP_MORE_ROWS) * pitch;
    char *rows = w->arena + work->how->faces + VF_ALIGNMENT, *planes = rows + VF_STEP_ROWS * pitch;
    *row = (struct vf_diffusion_row){
        .face_x = rows + VF_STEP_FACE_X * pitch,
        .diagonal_y = rows + VF_STEP_DIAGONAL_Y * pitch,
        .cross_y = rows + VF_STEP_CROSS_Y * pitch,
        .face_y = rows + VF_STEP_FACE_Y * pitch,
        .inflow_x = rows + VF_STEP_INFLOW_X * pitch,
        .inflow_before = planes + VF_STEP_INFLOW * plane,
        .inflow = planes + VF_STEP_INFLOW * plane + pitch,
        .diagonal_z = planes + VF_STEP_DIAGONAL_Z * plane + pitch,
        .cross_z = planes + VF_STEP_CROSS_Z * plane + pitch,
        .face_z = planes + VF_STEP_FACE_Z * plane + pitch,
        .param = work->stage->param,
        .n = work->x.to - work->x.from,
        .gates = gates_of(w, work, work->s),
    };
}

/* Row r of plane s + 1 comes: of the flux, or what is beyond the grid. */
static void find_flux(const struct vf_row_worker *w, const struct vf_row_work *work, ptrdiff_t r,
                      bool is_inside, struct vf_diffusion_row *row)
{
    const struct vf_row_input *in = work->input, *u = &in[work->stage->input_count - 1];
    const ptrdiff_t at = vf_row_offset(w, u, r);
    for (int axis = 0; axis < 3; axis++) {
        row->diagonal[axis] = is_inside ? in[axis].part.first : in[axis].outside;
        row->cross[axis] = is_inside ? in[3 + axis].part.first : in[3 + axis].outside;
    }
    row->u = vf_row_at(u, 1, at);
    row->u_before = vf_row_at(u, 1, vf_row_offset(w, u, r - 1));
    row->u_below = vf_row_at(u, 0, at);
}

/* Plane s of a step. Plane s + 1 of its flux comes row by row, from the row before the step's own to the one
 * after them: row r completes row r - 1 of what comes in along y, and row r of plane s. The first
 * VF_STEP_EARLIER planes only fill what is kept. */
static void make_step(const struct vf_row_worker *w, int stage, ptrdiff_t s)
{
    struct vf_row_work *work = &w->work[stage];
    const struct vf_range made = w->part[work->stage->output[0]].s, planes = w->part[work->stage->input[0]].s;
    const bool comes = s + 1 >= planes.from && s + 1 < planes.to;
    const ptrdiff_t element = (ptrdiff_t)w->layout->element;
    const ptrdiff_t pitch = w->layout->ring[work->stage->output[0]].pitch * element;
    const struct vf_row_output *out = &work->out[0];
    const bool is_made = s >= made.from;
    const struct closed_rows closed = closed_rows_of(w);
    struct vf_diffusion_row row;
    struct passage flux;
    vf_row_turn_to(w, work, s, 1);
    begin_step(w, work, &row);
    if (comes)
        begin(w, work->how->calls, s + 1, 1, &flux);
    for (ptrdiff_t r = work->rows.from - 1; r <= work->rows.to; r++) {
        const bool is_inside = comes && r >= flux.work->rows.from && r < flux.work->rows.to;
        if (is_inside)
            make_rows(w, &flux, r, 1);
        find_flux(w, work, r, is_inside, &row);
        set_gates_along_y(&closed, r - 1, &row.gates);
        w->bodies->take_flux(&row);
        if (r >= work->rows.from && r < work->rows.to) {
            row.out = is_made ? out->first[0] + (r - work->rows.from) * out->pitch : row.face_x;
            row.place = is_made ? out->place : VF_ROW_IN_RING;
            w->bodies->step_below(&row);
            if (is_made && out->finishes)
                vf_row_finish(w, work->stage->output[0], s, r, (char *)row.out - work->x.from * element);
        }
        row.inflow_before = (char *)row.inflow_before + pitch;
        row.inflow = (const char *)row.inflow + pitch;
        row.diagonal_z = (char *)row.diagonal_z + pitch;
        row.cross_z = (char *)row.cross_z + pitch;
        row.face_z = (char *)row.face_z + pitch;
    }
}

/* ---- sums along x and across rows at once ---- */

/* What stands for the `halo` cells beside a row. */
static struct vf_plane_ends ends_of_rows(const struct vf_row_worker *w, int halo)
{
    const struct vf_row_layout *l = w->layout;
    const ptrdiff_t lanes = VF_ALIGNMENT / (ptrdiff_t)l->element, last = l->job->nx - lanes;
    struct vf_plane_ends ends = {.wraps = l->job->flow->boundary == VF_WRAP};
    for (int i = 0; i < halo; i++) {
        ends.before[lanes - 1 - i] = (int)(w->edge[0][i] - (ends.wraps ? last : 0));
        ends.after[i] = (int)(w->edge[1][i] - (ends.wraps ? 0 : last));
    }
    return ends;
}

/* The rows of plane s that a source which is read in its place has for the tile. */
static struct vf_plane_ahead plane_to_come(const struct vf_row_worker *w, int field, ptrdiff_t s)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_row_part *part = &w->part[field];
    if (!l->ring[field].in_place || s >= part->s.to)
        return (struct vf_plane_ahead){.rows = 0};
    const struct vf_array *array = &l->job->source[l->ring[field].source];
    return (struct vf_plane_ahead){.first = vf_row_of_source(w, array, s, part->r.from),
                                   .pitch = l->job->nx * (ptrdiff_t)l->element,
                                   .rows = part->r.to - part->r.from};
}

/* Plane s of a stage that sums across rows, and along x for the stage that it calls. */
static void make_plane(const struct vf_row_worker *w, int stage, ptrdiff_t s)
{
    const struct vf_row_layout *l = w->layout;
    struct vf_row_work *across = &w->work[stage], *along = &w->work[l->stage[stage].calls];
    vf_row_turn_to(w, across, s, 1);
    vf_row_turn_to(w, along, s, 1);
    const int taps = across->stage->taps->count, halo = taps / 2;
    const ptrdiff_t count = across->rows.to - across->rows.from;
    const struct vf_plane_ends ends = ends_of_rows(w, halo);
    for (int k = 0; k < across->stage->output_count; k++) {
        const struct vf_row_input *in = &along->input[k];
        const struct vf_row_output *out = &across->out[k];
        const struct vf_plane_ahead ahead = plane_to_come(w, along->stage->input[k], s + 1);
        for (ptrdiff_t j = 0; j < count + taps - 1; j++)
            w->tap[j] = vf_row_at(in, 0, vf_row_offset(w, in, across->rows.from - halo + j));
        vf_row_plane(w->rows, taps)(w->tap, &ends, along->how->weight, across->how->weight, out->first[0],
                                    out->pitch, count, l->job->nx, &ahead);
        for (ptrdiff_t r = 0; r < count && out->finishes; r++)
            vf_row_finish(w, across->stage->output[k], s, across->rows.from + r,
                          out->first[0] + r * out->pitch);
    }
}

void vf_row_stage_planes(const struct vf_row_worker *w, int stage, ptrdiff_t s, int count)
{
    const struct vf_row_stage *how = &w->layout->stage[stage];
    struct passage passage, called;
    if (how->follows_flux) {
        make_step(w, stage, s);
        return;
    }
    if (how->sums_plane) {
        make_plane(w, stage, s);
        return;
    }
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
