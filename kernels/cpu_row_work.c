#include "kernels/cpu_row_work.h"

#include <stdint.h>

#include "src/alloc.h"

static struct vf_ring_part part_of(const struct vf_row_worker *w, int field, ptrdiff_t x)
{
    return (struct vf_ring_part){&w->layout->ring[field], vf_row_plane_of(w, field, 0, x).first};
}

static char *plane_at(const struct vf_ring_part *part, ptrdiff_t place)
{
    return part->first + (size_t)place * part->ring->plane_bytes;
}

/* The place in the ring after another one. */
static ptrdiff_t place_after(const struct vf_ring_part *part, ptrdiff_t place)
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
    work->input[k] = (struct vf_row_input){
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
                        struct vf_row_input *in)
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
static void place_in_ring(const struct vf_row_worker *w, const struct vf_row_work *work,
                          struct vf_row_output *out)
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

/* Of rows in sinks that are made side by side, of which these are the first two; or of one row, twice. */
static enum vf_row_place place_side_by_side(const struct vf_row_worker *w, const char *row, const char *next)
{
    const uintptr_t apart = (uintptr_t)next - (uintptr_t)row;
    return !w->streams                                                ? VF_ROW_IN_SINK
           : w->by_strips && apart != 0 && apart % VF_ROWS_ALIKE == 0 ? VF_ROW_BY_STRIPS
                                                                      : VF_ROW_PAST_CACHES;
}

/* The output is to be made in its sink; false if its rows there are not aligned. */
static bool place_in_sink(const struct vf_row_worker *w, const struct vf_row_work *work,
                          struct vf_row_output *out)
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
    const int second = work->planes * rows > 1 ? 1 : 0;
    out->place = place_side_by_side(w, out->first[0], out->first[second]);
    out->finishes = false;
    return all % VF_ALIGNMENT == 0;
}

/* Places each output in its sink or its ring; for a body, which stores all in one way, all in rings if one
 * is. */
static void place_outputs(const struct vf_row_worker *w, struct vf_row_work *work)
{
    const int count = work->stage->output_count;
    const bool alike = work->how->kind == VF_ROW_BODY;
    int passed = 0;
    for (int k = 0; k < count; k++) {
        struct vf_row_output *out = &work->out[k];
        const bool passes = out->may_pass && (!alike || passed == k) && place_in_sink(w, work, out);
        if (!passes)
            place_in_ring(w, work, out);
        passed += passes;
    }
    for (int k = 0; alike && passed < count && k < passed; k++)
        place_in_ring(w, work, &work->out[k]);
    if (alike && count > 1 && passed == count)
        work->out[0].place = place_side_by_side(w, work->out[0].first[0], work->out[1].first[0]);
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

void vf_row_turn_to(const struct vf_row_worker *w, struct vf_row_work *work, ptrdiff_t s, int count)
{
    work->s = s;
    work->planes = count;
    for (int k = 0; k < work->stage->input_count; k++)
        find_planes(w, work, k, &work->input[k]);
    if (s >= w->part[work->stage->output[0]].s.from)
        place_outputs(w, work);
}
