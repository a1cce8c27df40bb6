/* How time-tile keeps the planes of its stages: how far each field reaches beyond a tile, how far each stage
 * runs behind the sources, each field's ring of planes in shared memory, and which stages are computed
 * together. The GPU's cpu_row_layout.h. "Stream" is the axis that is swept, z in 3D and y in 2D; "rows" are
 * those of one plane, y in 3D and a single one in 2D. Fields have the numbers of the kernel's text: sources,
 * then what stages make. */
#ifndef VF_TIME_TILE_LAYOUT_H
#define VF_TIME_TILE_LAYOUT_H

#include "kernels/gpu_scheme.h"

enum { VF_STREAM_AXIS, VF_ROW_AXIS, VF_COLUMN_AXIS };

/* The scheme's variants. */
enum { VF_TIME_ONE_BARRIER, VF_TIME_LEAN };

#define VF_TIME_MOST_COLUMNS 16

struct vf_time_field {
    int reach[3]; /* beyond the tile: stream, rows, x */
    int delay;    /* planes behind the first source plane of a step */
    int depth;    /* planes of its ring; 0: it is nobody's neighbour and stays in registers, or in memory */
    bool fill;    /* neighbours along rows or x are read: filled beyond the grid */
    bool direct;  /* a source that is read from memory at a cell's own place */
    int group;    /* that makes it, -1: a source */
    int first_row, rows; /* of the rows that a block covers, kept */
    int clock;           /* rings of the same depth turn together */
    int stride;          /* elements from plane to plane */
    int offset;          /* elements from the first ring's start */
};

/* A field that a group reads of its ring: what a thread reads of it in its own rows and cells stays in
 * registers from step to step. */
struct vf_time_column {
    int field;
    int halo;      /* along the stream */
    int first;     /* plane, among all of the group's columns */
    int edge;      /* cells on each side that come from neighbouring threads of the warp; 0: from the ring */
    int edge_halo; /* of which planes beside those that are computed */
    int first_edge;
};

/* Stages that are computed together, cell by cell: what one makes and the next reads at the same place stays
 * in registers. */
struct vf_time_group {
    int stage_begin, stage_end;
    int delay;
    int reach[3];
    bool rolled; /* too long to be written out for each row of a thread */
    int column_count, column_planes, edge_count;
    struct vf_time_column column[VF_TIME_MOST_COLUMNS];
};

/* What a block computes, rows and x. */
struct vf_time_area {
    int covered[2]; /* at most; */
    int room[2];    /* of it before the tile; */
    int tile[2];    /* and what it writes, at least 1 */
};

struct vf_time_layout {
    const struct vf_kernel_case *c;
    int planes, rows, cells; /* of a thread in one step */
    int threads;
    bool warps_are_rows; /* a warp has one thread of each place along x */
    bool lean;           /* a barrier after each group: smaller rings */
    struct vf_time_area area;
    int input_count, field_count, group_count, clock_count;
    struct vf_time_field field[VF_KERNEL_MOST_FIELDS];
    struct vf_time_group group[VF_KERNEL_MOST_FIELDS];
    int input[VF_KERNEL_MOST_FIELDS][VF_MAX_INPUTS]; /* of stages: their fields, by the kernel's numbers */
    int output[VF_KERNEL_MOST_FIELDS];               /* the first; the others follow it */
    int clock[VF_KERNEL_MOST_FIELDS];                /* depths */
    int first,
        last;  /* source planes, from a chunk's first one: where its steps begin, and before which they end */
    int guard; /* elements that cells nobody wants read beyond a ring, or a plane that is written meanwhile */
    size_t bytes; /* of shared memory */
};

/* False if the stages reach farther than the block has room for. */
bool vf_time_area_make(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       struct vf_time_area *area);

/* False if there is no room for a tile, or the case has more than can be held. */
bool vf_time_layout_make(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         struct vf_time_layout *layout);

/* The halo of a stage on its input k along the stream, rows and x. */
void vf_time_halo(const struct vf_kernel_case *c, int stage, int k, int halo[3]);

/* The constants of the kernel's text. */
void vf_time_layout_define(const struct vf_time_layout *layout, struct vf_text *text);

#endif
