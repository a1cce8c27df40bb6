/* Row functions: one row of one stage, for one type of cells, dimension and vector level. kernels/cpu_rows.c
 * is compiled once for each combination of a compute type, kernels/cpu_rows_integer.c for those of 8 and 16
 * bits. */
#ifndef VF_CPU_ROWS_H
#define VF_CPU_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/filter.h"
#include "src/volume.h"

/* The table of a body's rows: input k at an offset, of a body that reaches so far along z and y. It has room
 * for every input of a body of reach 1, or for one input of a reach up to 3; pass_NAME lists it
 * (kernels/cpu_body.h).
 */
#define VF_BODY_ROWS 72
#define VF_ROW_INDEX(reach, k, dz, dy) \
    (((k) * (2 * (reach) + 1) + (dz) + (reach)) * (2 * (reach) + 1) + (dy) + (reach))

/* Neighbouring rows that `lines` takes at once, at most. */
#define VF_ROW_BLOCK 16
/* Rows are taken in whole vectors: bytes written beyond the last element that counts, and read beyond it and
 * before the first one, at most. */
#define VF_ROW_WRITTEN_BEYOND 64
#define VF_ROW_READ_BEYOND (3 * 64)
#define VF_ROW_READ_BEFORE 64

/* Where results go: into a ring, or into a sink, where every NaN becomes the same one, to the caches or past
 * them, as by `stream`. Rows of a sink begin at multiples of VF_ALIGNMENT, and their bytes are one. */
enum vf_row_place { VF_ROW_IN_RING, VF_ROW_IN_SINK, VF_ROW_PAST_CACHES };

/* A row of a source that is to come: its first cell, NULL for none, bytes from cell to cell, and how many
 * there are: a narrow tile reads more than it computes. It is asked for piece by piece by a loop that
 * computes: all at once it would take the places of what that loop waits for. It goes to the first cache:
 * where it went to the second alone, the same run took up to a third longer by turns. */
struct vf_row_ahead {
    const char *row;
    ptrdiff_t cell, count;
};

/* Copies of a row's first and last cells, two whole vectors of each, with the cell beyond the grid beside
 * them, as addresses of the row's x = 0; NULL where the row itself has room for those cells. */
#define VF_ROW_END_BYTES 128
struct vf_row_ends {
    const void *first, *last;
};

/* One row of a body stage. Rows are of the table's type, their first element being the row's first cell;
 * inputs may be read up to the stage's x reach before and after, and in whole vectors. */
struct vf_body_row {
    const void *const *in; /* [VF_ROW_INDEX(reach, k, dz, dy)]; only what the stage reads is set */
    struct vf_row_ends
        ends; /* of a body's only input: instead of its row at the row's first and last vector */
    void *const *out;
    enum vf_row_place place; /* of all outputs */
    struct vf_row_ahead ahead;
    const double *param;
    ptrdiff_t n;
    int open_lo[3], open_hi[3];   /* [1] y, [2] z: whether flux passes that face of this row */
    int closed_lo_x, closed_hi_x; /* the cell whose lower, upper x face is closed; -1 for none */
    /* Bodies that share faces: n elements for their upper faces along x, with a vector before, y and z. If it
     * `follows`, the latter two hold those of the row before along either axis, which are this row's lower
     * ones. */
    void *face[3];
    bool follows;
};

/* The reach that a body's row table is laid out for. */
static inline int vf_body_reach(enum vf_stencil_id id)
{
    const int *reach = vf_stencil(id)->reach;
    return reach[0] > reach[1] ? reach[0] : reach[1];
}

/* Bodies that use LOWER_FACE, each of which a row would otherwise compute again. */
static inline bool vf_body_shares_faces(enum vf_stencil_id id)
{
    return vf_stencil(id)->face_cost > 0;
}

/* Bodies that use EIGENVALUES, and EIGENVECTOR; those that are not named here decompose voxel by voxel. */
static inline bool vf_body_has_eigenvalues(enum vf_stencil_id id)
{
    return id == VF_STENCIL_coherence || id == VF_STENCIL_eigenvalues || id == VF_STENCIL_eigenvalue_spread ||
           id == VF_STENCIL_hessian_eigenvalues;
}

static inline bool vf_body_has_eigenvector(enum vf_stencil_id id)
{
    return id == VF_STENCIL_and_direction || id == VF_STENCIL_ced_direction ||
           id == VF_STENCIL_eed_line_direction || id == VF_STENCIL_eed_surface_direction ||
           id == VF_STENCIL_orientation;
}

/* Bodies that use OF_COLUMN, for so many values at most. They put values in order and do nothing else, so
 * that rows of whole numbers can stay what they are (kernels/cpu_rows_integer.c). */
enum { VF_MOST_OF_COLUMN = 26 };

static inline bool vf_body_is_median(enum vf_stencil_id id)
{
    return id == VF_STENCIL_median_3x3 || id == VF_STENCIL_median_3x3x3 || id == VF_STENCIL_median_5x5 ||
           id == VF_STENCIL_median_5x5x5 || id == VF_STENCIL_median_7x7;
}

/* For percentiles: the last bin of finite values, and what stands for values that do not count. */
enum { VF_BIN_LARGEST = 0xfeff, VF_BIN_NONE = 0xff00 };

/* Sums of values in units of 2^bin of the smallest subnormal, and of their squares, which are upper * 2^45 +
 * lower in units of 2^(2 * bin) of its square. */
struct vf_row_sums {
    int bin;
    int64_t value, upper, lower;
};
/* Values that are summed at once, at most. */
#define VF_ROW_SUMMED 512

/* Results that `table` makes at once. */
#define VF_TABLE_ROWS 6

/* Weights of neighbouring places, dx to dx + count - 1 of an input row, that results [from, to) have alike:
 * result k takes those from number first[k] on. */
struct vf_table_span {
    int row, dx, count, from, to;
    int first[VF_TABLE_ROWS];
};

struct vf_rows {
    const char *level; /* "baseline", "v3", "v4" */
    void (*body[VF_STENCIL_COUNT])(const struct vf_body_row *row);
    /* Neighbouring rows at once: out[k][i] = weight[0] * in[k][i] + weight[1] * in[k + 1][i] + ... for k <
     * count, and one row along itself: out[i] = weight[0] * in[i] + weight[1] * in[i + 1] + ...; chains of
     * fma, all of the compute type. Rows of `lines` begin `from` bytes after in[k], `to` bytes after out[k].
     * Meanwhile what is so many bytes `ahead` of each row, or a row that is to come, is asked for. */
    void (*lines)(const void *const *in, ptrdiff_t from, const void *weight, int taps, void *const *out,
                  ptrdiff_t to, int count, ptrdiff_t n, enum vf_row_place place, ptrdiff_t ahead);
    void (*along)(const void *in, const void *weight, int taps, void *out, ptrdiff_t n,
                  const struct vf_row_ahead *ahead);
    /* Rows of a table of weights: the spans' sums of rows `in`, for the first `count` results, `to` bytes
     * after out[k]. */
    void (*table)(const void *const *in, const struct vf_table_span *span, int spans, const void *weight,
                  void *const *out, ptrdiff_t to, int count, ptrdiff_t n, enum vf_row_place place);
    void (*load[VF_TYPE_COUNT])(const void *in, void *out, ptrdiff_t n);
    void (*store[VF_TYPE_COUNT])(const void *in, void *out, ptrdiff_t n);
    /* Stores by one of `store`, whose elements have `size` bytes, past the caches; `finish` after the last
     * one, before another thread may read. */
    void (*stream)(void (*store)(const void *in, void *out, ptrdiff_t n), size_t size, const void *in,
                   void *out, ptrdiff_t n);
    void (*finish)(void);
    /* For reductions (kernels/reduce.h): the bins of values, and the range of those that count; least and
     * most, least > most where no value is finite; the sums of up to VF_ROW_SUMMED values, false where they
     * are too far apart or not finite (NULL: not of this type). */
    void (*bins)(const void *row, ptrdiff_t n, uint16_t *bin, int range[2]);
    void (*extremes)(const void *row, ptrdiff_t n, double extreme[2]);
    bool (*sums)(const void *row, ptrdiff_t n, bool squares, struct vf_row_sums *sums);
};

/* The fastest rows this processor runs, or those that VOLFILTER_ISA names (baseline, v3, v4; one that the
 * processor lacks is not taken). `dim` 2 or 3; `cell` a compute type, or an integer of 8 or 16 bits: there
 * are medians alone, rows are loaded and stored as they are, and all else is NULL. */
const struct vf_rows *vf_rows_choose(int dim, enum vf_type cell);
const char *vf_rows_level(void);

#endif
