/* Row functions: one row of one stage, for one type of cells and vector level. kernels/cpu_rows.c and, for
 * each dimension, kernels/cpu_bodies.c are compiled for the compute types, kernels/cpu_rows_integer.c and
 * kernels/cpu_bodies_integer.c for integers of 8 and 16 bits. */
#ifndef VF_CPU_ROWS_H
#define VF_CPU_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/filter.h"
#include "src/volume.h"

/* A body is given a table of pointers to the rows that it reads: that of input k at offset (dz, dy) is number
 * VF_ROW_INDEX, for a body that reaches so far along z and y. The table has room for all inputs of a body of
 * reach 1, or for one input and a reach of up to 3. pass_NAME (kernels/cpu_body.h) lists its entries one by
 * one.
 */
#define VF_BODY_ROWS 72
#define VF_ROW_INDEX(reach, k, dz, dy) \
    (((k) * (2 * (reach) + 1) + (dz) + (reach)) * (2 * (reach) + 1) + (dy) + (reach))

/* How many values a body may say IN_STEP, and OF_COLUMN. */
#define VF_MOST_IN_STEPS 3
#define VF_MOST_OF_COLUMN 26

/* The most neighbouring rows that are asked of `lines` at once, twice the largest `block`. */
#define VF_ROW_BLOCK 16
/* Rows are read and written in whole vectors. The most bytes that are written beyond the last element that
 * counts, read beyond it, and read before the first one. */
#define VF_ROW_WRITTEN_BEYOND 64
#define VF_ROW_READ_BEYOND (3 * 64)
#define VF_ROW_READ_BEFORE 64

/* Where results go: into a ring; into a sink; or into a sink past the caches, as `stream` stores, of rows
 * that are made side by side a vector or a strip of each in turn; of a row alone that is the same. In a sink
 * every NaN becomes the same one. Rows of a sink begin at multiples of VF_ALIGNMENT and have a multiple of it
 * in bytes. */
enum vf_row_place { VF_ROW_IN_RING, VF_ROW_IN_SINK, VF_ROW_PAST_CACHES, VF_ROW_BY_STRIPS };

/* A row of a source that is to be prefetched while another one is computed. The loop that computes asks for a
 * piece of it at a time: all at once it would drive what that loop needs out of the processor's queues. It is
 * fetched into the first cache: with the second cache alone, some runs took up to a third longer. */
struct vf_row_ahead {
    const char *row; /* its first cell; NULL: none is to come */
    ptrdiff_t cell;  /* bytes from cell to cell */
    ptrdiff_t count; /* cells, which may be more than are computed */
};

/* A row that is read where it is, without a copy, has no room for the cells beyond the grid. So its first and
 * its last cells are copied, two vectors of each, with the cells beyond the grid beside them. Both pointers
 * are shifted so that they are indexed like the row, from x = 0. NULL: the row itself has the room. */
#define VF_ROW_END_BYTES 128
struct vf_row_ends {
    const void *first, *last;
};

/* Rows that are to come, of which each column is prefetched beside the same column of those that are read,
 * into the second cache. */
struct vf_plane_ahead {
    const char *first; /* of the first row, at x = 0 */
    ptrdiff_t pitch;   /* bytes from row to row */
    ptrdiff_t rows;    /* 0: none are to come */
};

/* What stands for the cells beside a row, which are not there: of a vector before it and one after it, each
 * lane's number in the row's first vector and in its last one, or, if the grid wraps, the other way round. */
#define VF_PLANE_LANES 16
struct vf_plane_ends {
    bool wraps;
    int before[VF_PLANE_LANES], after[VF_PLANE_LANES];
};

/* Which faces of a row flux passes. */
struct vf_row_gates {
    int open_lo[3], open_hi[3];   /* [1] y, [2] z: whether it does the lower, upper one */
    int closed_lo_x, closed_hi_x; /* the cell whose lower, upper x face is closed; -1 for none */
};

/* One row of a stage with a body. Rows are of the type that the struct vf_rows is for, and their pointers are
 * to the row's first cell. Inputs are read up to the stage's x reach before and after the row, in whole
 * vectors. */
struct vf_body_row {
    const void *const *in; /* [VF_ROW_INDEX(reach, k, dz, dy)]; only what the stage reads is set */
    /* For a body with one input: what stands for its row at offset (0, 0) in the row's first and last vector.
     */
    struct vf_row_ends ends;
    void *const *out;        /* one for each output */
    enum vf_row_place place; /* of all outputs */
    struct vf_row_ahead ahead;
    const double *param;
    ptrdiff_t n; /* cells of the row */
    struct vf_row_gates gates;
    /* For bodies that share faces (LOWER_FACE): n elements for the upper faces along x (with room for a
     * vector before), y and z. If the row `follows`, those along y and z hold the upper faces of the rows
     * before it along these axes, which are its own lower ones. */
    void *face[3];
    bool follows;
};

/* diffusion_step in 3D as its flux comes: what is known of row r of plane s + 1 once that row of the flux is
 * made, and row r of plane s, which it completes. Rows are as above; those that are kept from one row or
 * plane to the next have room for whole vectors, face_x for one before the row too. */
struct vf_diffusion_row {
    const void *diagonal[3], *cross[3];  /* of each axis a D_aa and what the others add, row r, plane s + 1 */
    const void *u, *u_before, *u_below;  /* of row r, plane s + 1; row r - 1 of it; row r, plane s */
    void *face_x;                        /* upper faces along x; scratch */
    void *diagonal_y, *cross_y;          /* of row r - 1, plane s + 1; then of row r */
    void *face_y, *inflow_x;             /* lower faces, and what comes in along x, of the same rows */
    void *inflow_before;                 /* what comes in along x and y, row r - 1, plane s + 1 */
    void *diagonal_z, *cross_z, *face_z; /* of row r, plane s; then of plane s + 1 */
    const void *inflow;                  /* along x and y, row r, plane s */
    void *out;                           /* row r, plane s */
    enum vf_row_place place;
    const double *param; /* diffusion_step's */
    ptrdiff_t n;
    struct vf_row_gates gates; /* along y of row r - 1, along z of plane s */
};

/* The reach that a body's row table is laid out for. */
static inline int vf_body_reach(enum vf_stencil_id id)
{
    const int *reach = vf_stencil(id)->reach;
    return reach[0] > reach[1] ? reach[0] : reach[1];
}

/* Bodies that use LOWER_FACE: without this a row would compute again what the row before has computed. */
static inline bool vf_body_shares_faces(enum vf_stencil_id id)
{
    return vf_stencil(id)->shared_cost > 0 && vf_stencil(id)->word != VF_WORD_OF_COLUMN;
}

/* Bodies that use OF_COLUMN. They only put values in order, so that whole numbers need not be converted:
 * kernels/cpu_bodies_integer.c, which lists them too, has rows for these. */
static inline bool vf_body_is_median(enum vf_stencil_id id)
{
    return vf_stencil(id)->word == VF_WORD_OF_COLUMN;
}

/* Whether they may do so: integers of 8 or 16 bits, if what is outside the grid is one of them; 0 where
 * nothing is. */
static inline bool vf_may_keep_integers(enum vf_type type, double outside)
{
    return vf_type_size(type) <= 2 && vf_type_holds(type, outside);
}

/* For percentiles (kernels/reduce.h): the last bin of finite values, and what stands for values that do not
 * count. */
enum { VF_BIN_LARGEST = 0xfeff, VF_BIN_NONE = 0xff00 };

/* Exact sums. Of values, in units of 2^bin times the smallest subnormal s; of their squares, upper * 2^45 +
 * lower, in units of (2^bin * s)^2. */
struct vf_row_sums {
    int bin;
    int64_t value, upper, lower;
};
/* The most values that `sums` takes at once. */
#define VF_ROW_SUMMED 512

/* The most rows of results that `table` makes at once. */
#define VF_TABLE_ROWS 6

/* A part of an input row, from dx to dx + count - 1, of which results [from, to) all have a weighted sum: the
 * weights of result k are number first[k] and on. */
struct vf_table_span {
    int row, dx, count, from, to;
    int first[VF_TABLE_ROWS];
};

/* `count` rows of sums along x and then across rows, as `along` and `lines` make them, with as many weights
 * for both: row k is made of in[k] and on. These are whole rows of a grid, of two vectors, or of the cells of
 * three or more; nothing is read or written beside rows. Results begin at `out`, `to` bytes apart. */
typedef void vf_row_plane_sums(const void *const *in, const struct vf_plane_ends *ends, const void *along,
                               const void *across, void *out, ptrdiff_t to, ptrdiff_t count, ptrdiff_t n,
                               const struct vf_plane_ahead *ahead);
/* The most weights that there are such of. */
#define VF_PLANE_TAPS 13

/* Stages with bodies, of one dimension. */
struct vf_row_bodies {
    void (*body[VF_STENCIL_COUNT])(const struct vf_body_row *row);
    /* take_flux: what rows r and r - 1 of plane s + 1 have along x and y. step_below: row r of plane s. NULL
     * in 2D. */
    void (*take_flux)(const struct vf_diffusion_row *row);
    void (*step_below)(const struct vf_diffusion_row *row);
};

/* Linear stages, and what goes in and out. */
struct vf_rows {
    const char *level; /* "baseline", "v3", "v4" */
    /* Of sums with so many weights, so many rows had best be asked of `lines` at once. */
    int block_taps, block;
    int asked_taps;   /* of so many weights on, sums across the planes of a volume gain by prefetching their
                         rows */
    bool whole_lines; /* a vector fills a cache line */
    /* Linear stages; all values are of the compute type, sums are chains of fma in the order of the weights.
     *
     * lines: several neighbouring rows of sums over neighbouring rows, for k < count: out[k][i] = weight[0] *
     * in[k][i] + weight[1] * in[k + 1][i] + ... Rows begin `from` bytes after in[k] and `to` bytes after
     * out[k]. If it `asks`, each row is prefetched while it is read.
     * along: one row of sums along the row: out[i] = weight[0] * in[i] + weight[1] * in[i + 1] + ... */
    void (*lines)(const void *const *in, ptrdiff_t from, const void *weight, int taps, void *const *out,
                  ptrdiff_t to, int count, ptrdiff_t n, enum vf_row_place place, bool asks);
    void (*along)(const void *in, const void *weight, int taps, void *out, ptrdiff_t n,
                  const struct vf_row_ahead *ahead);
    vf_row_plane_sums *plane[VF_PLANE_TAPS / 2]; /* [taps / 2 - 1]; NULL where the level has none */
    /* table: the first `count` rows of sums over the spans of rows `in`; they begin `to` bytes after out[k].
     */
    void (*table)(const void *const *in, const struct vf_table_span *span, int spans, const void *weight,
                  void *const *out, ptrdiff_t to, int count, ptrdiff_t n, enum vf_row_place place);
    /* From a stored type to the rows' own, and back, rounded and saturated. */
    void (*load[VF_TYPE_COUNT])(const void *in, void *out, ptrdiff_t n);
    void (*store[VF_TYPE_COUNT])(const void *in, void *out, ptrdiff_t n);
    /* Stores as one of `store` does, whose elements have `size` bytes, but past the caches. After the last
     * row `finish` is called, before another thread may read them. */
    void (*stream)(void (*store)(const void *in, void *out, ptrdiff_t n), size_t size, const void *in,
                   void *out, ptrdiff_t n);
    void (*finish)(void);
    /* For reductions (kernels/reduce.h), of n values:
     * bins: the bin of each, and the first and last bin of those that count.
     * extremes: the least and the greatest of the finite ones; least > greatest if there are none.
     * sums: the sums of up to VF_ROW_SUMMED values; false if some are not finite, or too far apart for exact
     * sums. NULL: there is none for this type. */
    void (*bins)(const void *row, ptrdiff_t n, uint16_t *bin, int range[2]);
    void (*extremes)(const void *row, ptrdiff_t n, double extreme[2]);
    bool (*sums)(const void *row, ptrdiff_t n, bool squares, struct vf_row_sums *sums);
};

/* `plane` of so many weights; NULL: there is none. */
static inline vf_row_plane_sums *vf_row_plane(const struct vf_rows *rows, int taps)
{
    return taps >= 3 && taps <= VF_PLANE_TAPS ? rows->plane[taps / 2 - 1] : NULL;
}

/* The fastest that this processor runs, or those of the level that VOLFILTER_ISA names (baseline, v3, v4),
 * unless the processor lacks it. `dim` is 2 or 3; `cell` is a compute type, or an integer of 8 or 16 bits:
 * these have only the medians' bodies, and what loads and stores, without converting. Static. */
const struct vf_rows *vf_rows_choose(enum vf_type cell);
const struct vf_row_bodies *vf_row_bodies_choose(int dim, enum vf_type cell);
const char *vf_rows_level(void);

/* Whether rows that are made side by side, a multiple of VF_ROWS_ALIKE bytes from one another, had best go
 * past the caches by strips. AMD's processors take up to ten times as long for stores that take turns between
 * three or more rows whose addresses are alike in their last 12 bits, as every other of six such rows are.
 * Of those whose stores fill a cache line none was at hand: they are taken not to. */
bool vf_rows_by_strips(const struct vf_rows *rows);
#define VF_ROWS_ALIKE 2048

#endif
