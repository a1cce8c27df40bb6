/* One row of a body: the vocabulary of kernels/stencil.h for rows, and the pass of a body over a row. For
 * kernels/cpu_bodies.c and kernels/cpu_bodies_integer.c. */
#ifndef VF_CPU_BODY_H
#define VF_CPU_BODY_H

#include "kernels/cpu_real.h"

#define VF_STENCIL(name)                                                                                   \
    VF_DEVICE void body_##name(const void *const *in, int reach, void *const *out, const REAL *param,      \
                               const struct vf_body_row *row, enum pass pass, void *kept, ptrdiff_t begin, \
                               ptrdiff_t i, ptrdiff_t to)
#define AT(k, dz, dy, dx) (((const REAL *)in[VF_ROW_INDEX(reach, k, dz, dy)])[i + (dx)])
#define PUT(k, value) (puts_results(pass) ? (void)(((REAL *)out[k])[to] = (value)) : (void)0)
#define PARAM(k) (param[k])
#define OPEN_LO(axis) \
    ((axis) == VF_X ? (lane_index)to != (lane_index)row->gates.closed_lo_x : row->gates.open_lo[axis])
#define OPEN_HI(axis) \
    ((axis) == VF_X ? (lane_index)to != (lane_index)row->gates.closed_hi_x : row->gates.open_hi[axis])

/* How a body goes over a row. The body's text is compiled once for each pass, with `pass` as a constant, and
 * compilers drop what a pass does not need.
 *
 * Most bodies take one pass, WHOLE. A body that shares faces takes two: FACES_ALONG_X computes and keeps only
 * the upper faces along x; then FACES_KEPT computes all else and keeps the faces along y and z for the rows
 * that follow, or FACES_TAKEN also takes those of the rows before. A body that shares columns goes over a
 * block of the row by COLUMNS_KEPT, then COLUMNS_TAKEN. One that has steps, or decomposes tensors
 * (kernels/cpu_eigen.h), takes a pass for each step over a block of the row, and STEPS_TAKEN or DECOMPOSED
 * last: its instructions wait for one another, and those of one vector are more than a processor looks ahead,
 * but shorter loops have iterations in work side by side. Passes up to DECOMPOSED make results. */
enum pass {
    WHOLE,
    FACES_KEPT,
    FACES_TAKEN,
    COLUMNS_TAKEN,
    STEPS_TAKEN,
    DECOMPOSED,
    FACES_ALONG_X,
    COLUMNS_KEPT,
    FIRST_STEP,
    SECOND_STEP,
    SCALED,
    SHAPED,
    DISCRIMINATED,
    ROOTS_PARTED,
    DIRECTED,
    UNIT,
    ACROSS,
    REDUCED,
    PARTED,
    TURNED
};

#define FACE(axis, offset) (((REAL *)row->face[axis])[i + (offset)])
#define UPPER_FACE(axis, upper)                                  \
    ((axis) != VF_X || pass == WHOLE ? (upper)                   \
     : pass == FACES_ALONG_X         ? (FACE(VF_X, 0) = (upper)) \
                                     : FACE(VF_X, 0))
#define LOWER_FACE(axis, upper, lower)                                \
    (pass == WHOLE           ? (lower)                                \
     : pass == FACES_ALONG_X ? R(0.0)                                 \
     : (axis) == VF_X        ? FACE(VF_X, -1)                         \
     : pass == FACES_KEPT    ? exchange(&FACE(axis, 0), upper, lower) \
                             : exchange(&FACE(axis, 0), upper, FACE(axis, 0)))

/* Cells of a block of a row, and of the margins before and after it, in which its columns' neighbours are. */
#define COLUMN_BLOCK (1920 / (int)sizeof(REAL))
#define COLUMN_MARGIN (VF_ROW_READ_BEFORE / (int)sizeof(REAL))
typedef REAL columns_block[COLUMN_BLOCK + 2 * COLUMN_MARGIN];

#define COLUMN(k, at) (((columns_block *)kept)[k][i - begin + (at)])
#define OF_COLUMN(k, dx, value)                                               \
    (pass == COLUMNS_TAKEN  ? COLUMN(k, COLUMN_MARGIN + (dx))                 \
     : pass == COLUMNS_KEPT ? ((dx) == 0 ? (COLUMN(k, 0) = (value)) : R(0.0)) \
                            : (value))

/* Small enough for the nearest cache, with all that is kept of a voxel from one step to the next. */
#define STEPS_BLOCK (1024 / (int)sizeof(REAL))
/* [kept][voxel of the block] */
typedef REAL steps_block[STEPS_BLOCK];

#define KEPT(k) ((steps_block *)kept)[k][i - begin]
#define IN_STEP(step, k, value)                                                        \
    (pass == STEPS_TAKEN || (pass == SECOND_STEP && (step) == 0) ? KEPT(k)             \
     : pass == WHOLE                                             ? (value)             \
     : pass == FIRST_STEP + (step)                               ? (KEPT(k) = (value)) \
                                                                 : R(0.0))

#include "kernels/stencil.h"

VF_DEVICE int puts_results(enum pass pass)
{
    return pass <= DECOMPOSED;
}

/* Puts `upper` into *keep and returns `lower`, which may have been *keep's value. */
VF_DEVICE REAL exchange(REAL *keep, REAL upper, REAL lower)
{
    *keep = upper;
    return lower;
}

#include "kernels/cpu_vector.h"

/* Nine entries of the table of a body's rows (VF_BODY_ROWS). */
#define ROWS(at)                                                                             \
    row->in[at], row->in[(at) + 1], row->in[(at) + 2], row->in[(at) + 3], row->in[(at) + 4], \
        row->in[(at) + 5], row->in[(at) + 6], row->in[(at) + 7], row->in[(at) + 8]
#define OUTPUTS(row)                                                                             \
    {                                                                                            \
        (row)->out[0], (row)->out[1], (row)->out[2], (row)->out[3], (row)->out[4], (row)->out[5] \
    }
_Static_assert(VF_BODY_ROWS == 72 && VF_MAX_OUTPUTS == 6, "what pass_ lists");

#define FITS(reach, inputs, name)                                                   \
    _Static_assert(VF_ROW_INDEX(reach, inputs, -(reach), -(reach)) <= VF_BODY_ROWS, \
                   name " has more rows than VF_BODY_ROWS")

/* Rows are taken in whole vectors, up to one beyond their ends. The row is not copied: reloading as vectors
 * what was just stored as scalars waits for every store before it. Where results go to a sink, a row is asked
 * for, or a row's ends are elsewhere, it is done a vector at a time; addresses are local then, since nothing
 * that is stored changes them, and those that the body does not use are never loaded. */
#define BODY_PASS(name, z, y, inputs, outputs)                                                               \
    FITS(z, inputs, #name);                                                                                  \
    FITS(y, inputs, #name);                                                                                  \
    VF_DEVICE void pass_##name(const struct vf_body_row *row, const REAL *param, enum pass pass, void *kept, \
                               ptrdiff_t begin, ptrdiff_t end)                                               \
    {                                                                                                        \
        const int along[] = {z, y}, reach = along[along[0] < along[1]];                                      \
        const bool has_ends = (inputs) == 1 && row->ends.first != NULL;                                      \
        if (!puts_results(pass) || (row->place == VF_ROW_IN_RING && row->ahead.row == NULL && !has_ends)) {  \
            /* A byte that is stored might be one of row->out, to the compiler. */                           \
            void *const local[] = OUTPUTS(row), *const *const out = sizeof(REAL) == 1 ? local : row->out;    \
            VF_OVER_ROW for (ptrdiff_t i = begin; i < end; i++)                                              \
                body_##name(row->in, reach, out, param, row, pass, kept, begin, i, i);                       \
            return;                                                                                          \
        }                                                                                                    \
        const void *in[] = {ROWS(0), ROWS(9), ROWS(18), ROWS(27), ROWS(36), ROWS(45), ROWS(54), ROWS(63)};   \
        void *const to[] = OUTPUTS(row);                                                                     \
        const void *const middle = in[VF_ROW_INDEX(reach, 0, 0, 0)];                                         \
        struct vf_body_row own = *row;                                                                       \
        const bool strips = (outputs) > 1 && row->place == VF_ROW_BY_STRIPS;                                 \
        _Alignas(VF_ALIGNMENT) vf_strip strip[VF_MAX_OUTPUTS];                                               \
        for (ptrdiff_t at = begin; at < end; at += VF_LANES) {                                               \
            REAL result[VF_MAX_OUTPUTS][VF_LANES];                                                           \
            void *const out[] = {result[0], result[1], result[2], result[3], result[4], result[5]};          \
            ask_for(&own.ahead, at, 1);                                                                      \
            own.gates.closed_lo_x = row->gates.closed_lo_x - (int)at;                                        \
            own.gates.closed_hi_x = row->gates.closed_hi_x - (int)at;                                        \
            if (has_ends)                                                                                    \
                in[VF_ROW_INDEX(reach, 0, 0, 0)] = at == 0                ? own.ends.first                   \
                                                   : at + VF_LANES == end ? own.ends.last                    \
                                                                          : middle;                          \
            VF_OVER_LANES for (int lane = 0; lane < VF_LANES; lane++)                                        \
                body_##name(in, reach, out, param, &own, pass, kept, begin, at + lane, lane);                \
            const ptrdiff_t in_strip = (at - begin) % VF_STRIP, made = in_strip + VF_LANES;                  \
            for (int k = 0; k < (outputs); k++)                                                              \
                if (strips)                                                                                  \
                    vf_vector_store(strip[k] + in_strip, vf_vector_load(result[k]));                         \
                else                                                                                         \
                    put_vector(to[k], at, vf_vector_load(result[k]), own.place);                             \
            if (strips && (made == VF_STRIP || at + VF_LANES >= end))                                        \
                vf_strips_stream(strip, to, (at - in_strip) * (ptrdiff_t)sizeof(REAL), outputs, made);       \
        }                                                                                                    \
    }

/* A whole row of a body that shares columns, block by block. */
#define TAKE_COLUMNS(name, row, param, n)                                                            \
    do {                                                                                             \
        _Alignas(VF_VECTOR_BYTES) columns_block kept[VF_MOST_OF_COLUMN];                             \
        for (ptrdiff_t begin = 0, end; begin < (n); begin = end) {                                   \
            end = MIN(n, begin + COLUMN_BLOCK);                                                      \
            pass_##name(row, param, COLUMNS_KEPT, kept, begin - COLUMN_MARGIN, end + COLUMN_MARGIN); \
            pass_##name(row, param, COLUMNS_TAKEN, kept, begin, end);                                \
        }                                                                                            \
    } while (0)

#endif
