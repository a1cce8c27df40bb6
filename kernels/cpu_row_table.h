/* A table of weights as row-stream takes it: for VF_TABLE_ROWS results at once, in neighbouring rows (3D) or
 * places of the stream (2D), so that what is loaded of a row goes into the sums of all that read it. */
#ifndef VF_CPU_ROW_TABLE_H
#define VF_CPU_ROW_TABLE_H

#include "kernels/cpu_rows.h"

/* A row that is read, from the first result's on. */
struct vf_table_row {
    int dz, dy;
};

struct vf_row_table {
    int row_count, span_count;
    size_t row_room, span_room;
    struct vf_table_row *row;   /* owned */
    struct vf_table_span *span; /* owned; every result meets its weights in their order */
};

/* Whether that is faster than each row by itself, weight by weight, as `lines` does it: not where few of the
 * weights are beside others, as in stars. */
bool vf_row_table_pays(const struct vf_row_table *table, const struct vf_taps *taps);

enum vf_status vf_row_table_open(struct vf_row_table *table, const struct vf_taps *taps,
                                 struct vf_error *error);
void vf_row_table_close(struct vf_row_table *table);

#endif
