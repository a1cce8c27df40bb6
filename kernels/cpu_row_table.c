#include "kernels/cpu_row_table.h"

#include <limits.h>

#include "src/alloc.h"

/* The taps of one row of the table, [from, to). */
struct piece {
    int dz, dy, from, to;
};

/* The whole table's, in order. */
struct pieces {
    int count;
    size_t room;
    struct piece *piece; /* owned */
};

static enum vf_status find_pieces(struct pieces *pieces, const struct vf_taps *taps, struct vf_error *error)
{
    for (int t = 0; t < taps->count; t++) {
        const struct vf_tap *tap = &taps->tap[t];
        struct piece *last = pieces->count > 0 ? &pieces->piece[pieces->count - 1] : NULL;
        if (last != NULL && last->dz == tap->dz && last->dy == tap->dy) {
            last->to = t + 1;
            continue;
        }
        struct piece *grown =
            vf_grow(pieces->piece, (size_t)pieces->count, &pieces->room, sizeof *grown, "weights", error);
        if (grown == NULL)
            return VF_FAILED;
        pieces->piece = grown;
        grown[pieces->count++] = (struct piece){tap->dz, tap->dy, t, t + 1};
    }
    return VF_OK;
}

/* The piece of a row of the table; an empty one where that has no weights. */
static struct piece piece_at(const struct pieces *pieces, int dz, int dy)
{
    int low = 0;
    for (int high = pieces->count; low < high;) {
        const int middle = (low + high) / 2;
        const struct piece *p = &pieces->piece[middle];
        if (p->dz < dz || (p->dz == dz && p->dy < dy))
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_there = low < pieces->count && pieces->piece[low].dz == dz && pieces->piece[low].dy == dy;
    return is_there ? pieces->piece[low] : (struct piece){dz, dy, 0, 0};
}

/* Adds weights at dx of results [from, to), or lengthens the span of the same results from `begin` on that
 * ends just before them. */
static enum vf_status add_span(struct vf_row_table *table, int begin, const struct vf_table_span *next,
                               struct vf_error *error)
{
    for (int i = table->span_count - 1; i >= begin && i > table->span_count - VF_TABLE_ROWS; i--) {
        struct vf_table_span *span = &table->span[i];
        if (span->from == next->from && span->to == next->to && span->dx + span->count == next->dx) {
            span->count++;
            return VF_OK;
        }
    }
    struct vf_table_span *grown =
        vf_grow(table->span, (size_t)table->span_count, &table->span_room, sizeof *grown, "weights", error);
    if (grown == NULL)
        return VF_FAILED;
    table->span = grown;
    grown[table->span_count++] = *next;
    return VF_OK;
}

/* What the weights at dx add to neighbouring results; pieces are taken from `part` as far as that. */
static enum vf_status add_place(struct vf_row_table *table, int begin, const struct vf_taps *taps,
                                struct piece part[VF_TABLE_ROWS], int dx, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int k = 0; k < VF_TABLE_ROWS && status == VF_OK;) {
        struct vf_table_span span = {.row = table->row_count, .dx = dx, .count = 1, .from = k};
        for (; k < VF_TABLE_ROWS && part[k].from < part[k].to && taps->tap[part[k].from].dx == dx; k++)
            span.first[k] = part[k].from++;
        span.to = k;
        if (span.from < span.to)
            status = add_span(table, begin, &span, error);
        else
            k++;
    }
    return status;
}

enum { NONE = INT_MAX };

/* The least dx of what is left of the pieces. */
static int next_place(const struct vf_taps *taps, const struct piece part[VF_TABLE_ROWS])
{
    int next = NONE;
    for (int k = 0; k < VF_TABLE_ROWS; k++)
        if (part[k].from < part[k].to && taps->tap[part[k].from].dx < next)
            next = taps->tap[part[k].from].dx;
    return next;
}

/* All that is added of the row (dz, dy) from the first result on: result k has it at dy - k. */
static enum vf_status add_row(struct vf_row_table *table, const struct vf_taps *taps,
                              const struct pieces *pieces, int dz, int dy, struct vf_error *error)
{
    struct piece part[VF_TABLE_ROWS];
    const int begin = table->span_count;
    enum vf_status status = VF_OK;
    for (int k = 0; k < VF_TABLE_ROWS; k++)
        part[k] = piece_at(pieces, dz, dy - k);
    for (int dx; (dx = next_place(taps, part)) != NONE && status == VF_OK;)
        status = add_place(table, begin, taps, part, dx, error);
    if (status != VF_OK || table->span_count == begin)
        return status;
    struct vf_table_row *grown =
        vf_grow(table->row, (size_t)table->row_count, &table->row_room, sizeof *grown, "weights", error);
    if (grown == NULL)
        return VF_FAILED;
    table->row = grown;
    grown[table->row_count++] = (struct vf_table_row){dz, dy};
    return VF_OK;
}

enum vf_status vf_row_table_open(struct vf_row_table *table, const struct vf_taps *taps,
                                 struct vf_error *error)
{
    struct pieces pieces = {0};
    enum vf_status status;
    *table = (struct vf_row_table){0};
    VF_TRY(find_pieces(&pieces, taps, error));
    for (int dz = -taps->halo[0]; dz <= taps->halo[0]; dz++)
        for (int dy = -taps->halo[1]; dy < taps->halo[1] + VF_TABLE_ROWS; dy++)
            VF_TRY(add_row(table, taps, &pieces, dz, dy, error));
out:
    vf_free(pieces.piece);
    if (status != VF_OK)
        vf_row_table_close(table);
    return status;
}

bool vf_row_table_pays(const struct vf_row_table *table, const struct vf_taps *taps)
{
    /* Of vectors that cross lines of the cache, as nearly all do: one takes as long to load as 4 additions, a
     * span as 5 to begin. Measured on Zen 5. */
    enum { LOAD = 4, BEGIN = 5 };
    double loads = 0;
    for (int s = 0; s < table->span_count; s++)
        loads += table->span[s].count;
    return LOAD * loads + (double)BEGIN * table->span_count < (double)LOAD * taps->count * VF_TABLE_ROWS;
}

void vf_row_table_close(struct vf_row_table *table)
{
    vf_free(table->row);
    vf_free(table->span);
    *table = (struct vf_row_table){0};
}
