/* The rings of row-stream: filled from sources, completed beyond the grid, stored to sinks. */
#include <stdint.h>
#include <string.h>

#include "kernels/cpu_row_worker.h"
#include "src/alloc.h"
#include "src/size.h"

/* A tile's range with its reach, inside the grid unless the grid is periodic along that axis. */
static struct vf_range extended(struct vf_range tile, int reach, ptrdiff_t n, bool periodic)
{
    struct vf_range e = {tile.from - reach, tile.to + reach};
    if (!periodic) {
        e.from = e.from < 0 ? 0 : e.from;
        e.to = e.to > n ? n : e.to;
    }
    return e;
}

struct vf_row_part vf_row_part_of(const struct vf_row_worker *w, int field)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_ring *ring = &l->ring[field];
    const struct vf_halo reach = ring->reach;
    const ptrdiff_t n = l->job->nx, first = w->tile.x.from - ring->room, last = w->tile.x.to + ring->room;
    struct vf_row_part part = {.s = extended(w->tile.s, reach.s, l->n_stream, l->periodic_s),
                               .r = extended(w->tile.r, reach.r, l->n_rows, l->periodic_r),
                               .x = extended(w->tile.x, reach.x, n, l->periodic_x)};
    if (!l->periodic_x && part.x.from == 0)
        part.below = -(first > -ring->pad ? first : -ring->pad);
    if (!l->periodic_x && part.x.to == n)
        part.above = (last < n + ring->pad ? last : n + ring->pad) - n;
    return part;
}

/* Cells -1 and down, or nx and up, of so many bytes, from those that the boundary rule names: all of them or
 * none. */
#define FILL(BYTES)                                                                                          \
    static void fill_##BYTES(char *row, ptrdiff_t first, ptrdiff_t step, const ptrdiff_t *from, ptrdiff_t n, \
                             const char *outside)                                                            \
    {                                                                                                        \
        const bool is_outside = n > 0 && from[0] < 0;                                                        \
        _Pragma("GCC unroll 4") for (ptrdiff_t i = 0; i < n; i++) memcpy(                                    \
            row + (first + i * step) * (BYTES), is_outside ? outside : row + from[i] * (BYTES), BYTES);      \
    }
FILL(1)
FILL(2)
FILL(4)
FILL(8)

/* Fills the cells beyond the grid that consumers read. */
static void fill_edges(const struct vf_row_worker *w, int field, char *row)
{
    const struct vf_job *job = w->layout->job;
    const ptrdiff_t n = job->nx, below = w->part[field].below, above = w->part[field].above;
    const char *outside = w->outside[job->flow->field_kind[field]];
    void (*const fill)(char *, ptrdiff_t, ptrdiff_t, const ptrdiff_t *, ptrdiff_t, const char *) =
        w->layout->element == 1   ? fill_1
        : w->layout->element == 2 ? fill_2
        : w->layout->element == 4 ? fill_4
                                  : fill_8;
    fill(row, -1, -1, w->edge[0], below, outside);
    fill(row, n, 1, w->edge[1], above, outside);
}

/* A cell beside a row from the one that the boundary rule names. */
static void copy_cell(const struct vf_row_worker *w, int field, const char *row, ptrdiff_t from, char *to)
{
    const struct vf_row_layout *l = w->layout;
    if (from < 0)
        row = w->outside[l->job->flow->field_kind[field]];
    else
        row += from * (ptrdiff_t)l->element;
    if (l->element == sizeof(float))
        memcpy(to, row, sizeof(float));
    else
        memcpy(to, row, l->element);
}

struct vf_row_ends vf_row_copy_ends(const struct vf_row_worker *w, int field, ptrdiff_t r, const char *row)
{
    const struct vf_row_layout *l = w->layout;
    const ptrdiff_t row_bytes = l->job->nx * (ptrdiff_t)l->element, from_last = row_bytes - VF_ROW_END_BYTES;
    char *first = w->arena + l->ring[field].offset + (size_t)(r & 1) * VF_ROW_ENDS_BYTES + VF_ALIGNMENT;
    char *last = first + VF_ROW_END_BYTES;
    memcpy(first, row, VF_ROW_END_BYTES);
    memcpy(last, row + from_last, VF_ROW_END_BYTES);
    copy_cell(w, field, row, w->edge[0][0], first - l->element);
    copy_cell(w, field, row, w->edge[1][0], last + VF_ROW_END_BYTES);
    return (struct vf_row_ends){first, last - from_last};
}

char *vf_row_of_sink(const struct vf_row_worker *w, const struct vf_sink *sink, ptrdiff_t s, ptrdiff_t r)
{
    const struct vf_job *job = w->layout->job;
    const bool volume = job->flow->dim == 3;
    return vf_job_row(job, sink->array, w->image, volume ? s : 0, volume ? r : s) +
           (size_t)w->tile.x.from * vf_type_size(sink->array->type);
}

/* The cache line at an end of a row of a sink, if other rows have a part of it: then it is stored through the
 * caches, and every store after it would wait until it is there. */
static void ask_for_end(const char *end)
{
    if ((uintptr_t)end % VF_ALIGNMENT != 0)
        __builtin_prefetch(end, 1);
}

/* Stores or reduces a row of a sink; `row` is the element at the tile's first x. */
static void deliver(const struct vf_row_worker *w, const struct vf_sink *sink, ptrdiff_t s, ptrdiff_t r,
                    const char *row)
{
    const struct vf_job *job = w->layout->job;
    const bool volume = job->flow->dim == 3;
    const ptrdiff_t z = volume ? s : 0, y = volume ? r : s, n = w->tile.x.to - w->tile.x.from;
    if (sink->array != NULL) {
        const enum vf_type type = sink->array->type;
        const size_t size = vf_type_size(type);
        char *to = vf_row_of_sink(w, sink, s, r);
        if (w->streams) {
            const char *next = to + (size_t)job->nx * size;
            ask_for_end(next);
            ask_for_end(next + (size_t)n * size);
            w->rows->stream(w->rows->store[type], size, row, to, n);
        } else {
            w->rows->store[type](row, to, n);
        }
    }
    for (int k = 0; k < sink->reducer_count; k++)
        vf_reducer_add(&sink->reducer[k], w->thread, row, n, w->tile.x.from, y, z);
}

void vf_row_finish(const struct vf_row_worker *w, int field, ptrdiff_t s, ptrdiff_t r, char *row)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_ring *ring = &l->ring[field];
    const struct vf_row_part *tile = &w->tile;
    if (w->part[field].below > 0 || w->part[field].above > 0)
        fill_edges(w, field, row);
    if (ring->sink >= 0 && s >= tile->s.from && s < tile->s.to && r >= tile->r.from && r < tile->r.to)
        deliver(w, &l->job->sink[ring->sink], s, r, row + tile->x.from * (ptrdiff_t)l->element);
}

const char *vf_row_of_source(const struct vf_row_worker *w, const struct vf_array *array, ptrdiff_t s,
                             ptrdiff_t r)
{
    const struct vf_row_layout *l = w->layout;
    const bool volume = l->job->flow->dim == 3;
    const ptrdiff_t in_grid = vf_boundary_index(VF_WRAP, s, l->n_stream);
    const ptrdiff_t y = volume ? vf_boundary_index(VF_WRAP, r, l->n_rows) : in_grid;
    return vf_job_row(l->job, array, w->image, volume ? in_grid : 0, y);
}

struct vf_row_loading vf_row_loading_of(const struct vf_row_worker *w, int field, ptrdiff_t s)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_ring *ring = &l->ring[field];
    const struct vf_row_part *part = &w->part[field];
    const struct vf_array *array = &l->job->source[ring->source];
    const struct vf_row_plane plane = vf_row_plane_of(w, field, s, 0);
    const ptrdiff_t cell = (ptrdiff_t)vf_type_size(array->type), x = part->x.from < 0 ? 0 : part->x.from;
    return (struct vf_row_loading){.field = field,
                                   .s = s,
                                   .next = part->r.from,
                                   .from = vf_row_of_source(w, array, s, part->r.from),
                                   .to = plane.first,
                                   .from_pitch = l->job->nx * cell,
                                   .to_pitch = plane.pitch,
                                   .cell = cell,
                                   .load = w->rows->load[array->type],
                                   .ahead = {.cell = cell, .count = part->x.to - part->x.from},
                                   .rows_ahead = ring->ahead,
                                   .bytes_ahead = ring->ahead * l->job->nx * cell + x * cell};
}

/* The row that is asked for where it is of a later plane; NULL: there is none. */
static const char *row_of_later_plane(const struct vf_row_worker *w, const struct vf_row_loading *loading)
{
    const struct vf_row_part *part = &w->part[loading->field];
    const struct vf_array *array = &w->layout->job->source[w->layout->ring[loading->field].source];
    ptrdiff_t s = loading->s, r = loading->next + loading->rows_ahead;
    for (; r >= part->r.to; r -= part->r.to - part->r.from)
        s++;
    const ptrdiff_t x = part->x.from < 0 ? 0 : part->x.from;
    return s < part->s.to ? vf_row_of_source(w, array, s, r) + x * loading->cell : NULL;
}

/* Converts the next row into the ring. */
static void fill_row(const struct vf_row_worker *w, const struct vf_row_loading *loading)
{
    const struct vf_row_layout *l = w->layout;
    const ptrdiff_t nx = l->job->nx, element = (ptrdiff_t)l->element;
    const struct vf_range x = w->part[loading->field].x;
    /* More than one piece only where a periodic grid wraps. */
    for (ptrdiff_t at = x.from, n; at < x.to; at += n) {
        const ptrdiff_t from = l->periodic_x ? vf_boundary_index(VF_WRAP, at, nx) : at;
        n = vf_smaller(x.to - at, nx - from);
        loading->load(loading->from + from * loading->cell, loading->to + at * element, n);
    }
    if (vf_row_needs_finish(&l->ring[loading->field]))
        vf_row_finish(w, loading->field, loading->s, loading->next, loading->to);
}

void vf_row_load(const struct vf_row_worker *w, struct vf_row_loading *loading)
{
    const struct vf_row_layout *l = w->layout;
    const struct vf_ring *ring = &l->ring[loading->field];
    const bool is_later =
        l->periodic_r || loading->next + loading->rows_ahead >= w->part[loading->field].r.to;
    if (!ring->in_place)
        fill_row(w, loading);
    /* The pieces of a narrow tile are too short for the processor to see a stream in them, so it is told. */
    loading->ahead.row = is_later ? row_of_later_plane(w, loading) : loading->from + loading->bytes_ahead;
    loading->next++;
    loading->to += loading->to_pitch;
    loading->from = l->periodic_r
                        ? vf_row_of_source(w, &l->job->source[ring->source], loading->s, loading->next)
                        : loading->from + loading->from_pitch;
}

void vf_row_load_up_to(const struct vf_row_worker *w, struct vf_row_loading *loading, ptrdiff_t r)
{
    while (loading->next < r) {
        vf_row_load(w, loading);
        const struct vf_row_ahead *ahead = &loading->ahead;
        const ptrdiff_t bytes = ahead->row == NULL ? 0 : ahead->count * ahead->cell;
        for (ptrdiff_t at = 0; at < bytes; at += VF_ALIGNMENT)
            __builtin_prefetch(ahead->row + at, 0, 3);
    }
}
