/* Compiled for each compute type (REAL_BITS 32, 64), DIM (2, 3) and vector level: the Makefile names the
 * table, VF_ROWS, and its VF_LEVEL. The compiler vectorises the loops over x. */
#include "kernels/cpu_rows.h"

#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "Floats are computed in a wider type: results would differ. On 32-bit x86: -msse2 -mfpmath=sse"
#endif

#if REAL_BITS == 64
#define REAL double
#else
#define REAL float
#endif

/* As wide as the compute type: vectors of either have the same number of lanes. */
#if REAL_BITS == 64
typedef int64_t lane_index;
#else
typedef int32_t lane_index;
#endif

#define VF_DEVICE static inline __attribute__((always_inline))
#define VF_STENCIL(name)                                                                                   \
    VF_DEVICE void body_##name(const void *const *in, int reach, void *const *out, const REAL *param,      \
                               const struct vf_body_row *row, enum pass pass, void *kept, ptrdiff_t begin, \
                               ptrdiff_t i, ptrdiff_t to)
#define AT(k, dz, dy, dx) (((const REAL *)in[VF_ROW_INDEX(reach, k, dz, dy)])[i + (dx)])
#define PUT(k, value) (puts_results(pass) ? (void)(((REAL *)out[k])[to] = (value)) : (void)0)
#define PARAM(k) (param[k])
#define OPEN_LO(axis) ((axis) == VF_X ? (lane_index)to != (lane_index)row->closed_lo_x : row->open_lo[axis])
#define OPEN_HI(axis) ((axis) == VF_X ? (lane_index)to != (lane_index)row->closed_hi_x : row->open_hi[axis])

/* Most bodies take a row in one pass, WHOLE. One that shares faces takes two: the first computes only the
 * upper faces along x and keeps them; then all else, with the faces along y and z kept for the row that
 * follows, or also taken from the row before. One that shares columns has those of a block of the row in a
 * first pass. One that decomposes tensors takes a pass for each step, a block of the row at a time. */
enum pass {
    WHOLE,
    FACES_KEPT,
    FACES_TAKEN,
    COLUMNS_TAKEN,
    DECOMPOSED,
    FACES_ALONG_X,
    COLUMNS_KEPT,
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

/* Of a block of a row, and a margin before it and after it that the reach is within. */
#define COLUMN_BLOCK 480
#define COLUMN_MARGIN (VF_ROW_READ_BEFORE / (int)sizeof(REAL))
typedef REAL columns_block[COLUMN_BLOCK + 2 * COLUMN_MARGIN];

#define COLUMN(k, at) (((columns_block *)kept)[k][i - begin + (at)])
#define OF_COLUMN(k, dx, value)                                               \
    (pass == COLUMNS_TAKEN  ? COLUMN(k, COLUMN_MARGIN + (dx))                 \
     : pass == COLUMNS_KEPT ? ((dx) == 0 ? (COLUMN(k, 0) = (value)) : R(0.0)) \
                            : (value))

#define EIGENVALUES(definite, tensor) eigenvalues_by_rows(definite, pass, tensor, kept, i - begin)
#define EIGENVECTOR(tensor, rank) eigenvector_by_rows(pass, tensor, rank, kept, i - begin)

#include "kernels/stencil.h"

VF_DEVICE int puts_results(enum pass pass)
{
    return pass <= DECOMPOSED;
}

/* Keeps a face and returns another. */
VF_DEVICE REAL exchange(REAL *keep, REAL upper, REAL lower)
{
    *keep = upper;
    return lower;
}

#include "kernels/cpu_eigen.h"
#include "kernels/cpu_linear.h"
#include "kernels/cpu_table.h"
#include "kernels/cpu_reduce.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "stencil_bodies.h"

/* Nine addresses of a row's table. */
#define ROWS(at)                                                                             \
    row->in[at], row->in[(at) + 1], row->in[(at) + 2], row->in[(at) + 3], row->in[(at) + 4], \
        row->in[(at) + 5], row->in[(at) + 6], row->in[(at) + 7], row->in[(at) + 8]
_Static_assert(VF_BODY_ROWS == 72 && VF_MAX_OUTPUTS == 6, "what pass_ lists");
#define FITS(reach, inputs, name)                                                   \
    _Static_assert(VF_ROW_INDEX(reach, inputs, -(reach), -(reach)) <= VF_BODY_ROWS, \
                   name " has more rows than VF_BODY_ROWS")

/* Rows are taken in whole vectors, up to one beyond their ends. The row is not copied: reloading as vectors
 * what was just stored as scalars waits for every store before it. Where results go to a sink, a row is asked
 * for, or a row's ends are elsewhere, it is done a vector at a time; addresses are local then, since nothing
 * that is stored changes them, and those that the body does not use are never loaded. */
#define VF_STENCIL_DEF(name, in_2d, in_3d, out_2d, out_3d, centre_2d, centre_3d, star_2d, star_3d, axial_2d, \
                       axial_3d, z, y, x, cost, face, branches)                                              \
    FITS(z, in_2d, #name);                                                                                   \
    FITS(y, in_2d, #name);                                                                                   \
    FITS(z, in_3d, #name);                                                                                   \
    FITS(y, in_3d, #name);                                                                                   \
    VF_DEVICE void pass_##name(const struct vf_body_row *row, const REAL *param, enum pass pass, void *kept, \
                               ptrdiff_t begin, ptrdiff_t end)                                               \
    {                                                                                                        \
        const int inputs[] = {in_2d, in_3d}, outputs[] = {out_2d, out_3d};                                   \
        const int along[] = {z, y}, reach = along[along[0] < along[1]];                                      \
        const bool has_ends = inputs[DIM - 2] == 1 && row->ends.first != NULL;                               \
        if (!puts_results(pass) || (row->place == VF_ROW_IN_RING && row->ahead.row == NULL && !has_ends)) {  \
            _Pragma("omp simd") for (ptrdiff_t i = begin; i < end; i++)                                      \
                body_##name(row->in, reach, row->out, param, row, pass, kept, begin, i, i);                  \
            return;                                                                                          \
        }                                                                                                    \
        const void *in[] = {ROWS(0), ROWS(9), ROWS(18), ROWS(27), ROWS(36), ROWS(45), ROWS(54), ROWS(63)};   \
        void *const to[] = {row->out[0], row->out[1], row->out[2], row->out[3], row->out[4], row->out[5]};   \
        const void *const middle = in[VF_ROW_INDEX(reach, 0, 0, 0)];                                         \
        struct vf_body_row own = *row;                                                                       \
        for (ptrdiff_t at = begin; at < end; at += VF_LANES) {                                               \
            REAL result[VF_MAX_OUTPUTS][VF_LANES];                                                           \
            void *const out[] = {result[0], result[1], result[2], result[3], result[4], result[5]};          \
            ask_for(&own.ahead, at, 1);                                                                      \
            own.closed_lo_x = row->closed_lo_x - (int)at;                                                    \
            own.closed_hi_x = row->closed_hi_x - (int)at;                                                    \
            if (has_ends)                                                                                    \
                in[VF_ROW_INDEX(reach, 0, 0, 0)] = at == 0                ? own.ends.first                   \
                                                   : at + VF_LANES == end ? own.ends.last                    \
                                                                          : middle;                          \
            _Pragma("omp simd") for (int lane = 0; lane < VF_LANES; lane++)                                  \
                body_##name(in, reach, out, param, &own, pass, kept, begin, at + lane, lane);                \
            for (int k = 0; k < outputs[DIM - 2]; k++)                                                       \
                put_vector(to[k], at, vf_vector_load(result[k]), own.place);                                 \
        }                                                                                                    \
    }                                                                                                        \
    static void row_##name(const struct vf_body_row *row)                                                    \
    {                                                                                                        \
        const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES;                                  \
        REAL param[VF_MAX_STENCIL_PARAMS];                                                                   \
        for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++)                                                      \
            param[i] = (REAL)row->param[i];                                                                  \
        const bool has_values = vf_body_has_eigenvalues(VF_STENCIL_##name);                                  \
        if (DIM == 3 && (has_values || vf_body_has_eigenvector(VF_STENCIL_##name))) {                        \
            _Alignas(VF_VECTOR_BYTES) eigen_block kept[EIGEN_KEPT];                                          \
            for (ptrdiff_t begin = 0, end; begin < n; begin = end) {                                         \
                end = eigen_block_end(begin, n);                                                             \
                pass_##name(row, param, SCALED, kept, begin, end);                                           \
                pass_##name(row, param, SHAPED, kept, begin, end);                                           \
                if (has_values) {                                                                            \
                    pass_##name(row, param, DISCRIMINATED, kept, begin, end);                                \
                    pass_##name(row, param, ROOTS_PARTED, kept, begin, end);                                 \
                } else {                                                                                     \
                    pass_##name(row, param, DIRECTED, kept, begin, end);                                     \
                    pass_##name(row, param, UNIT, kept, begin, end);                                         \
                    pass_##name(row, param, ACROSS, kept, begin, end);                                       \
                    pass_##name(row, param, REDUCED, kept, begin, end);                                      \
                    pass_##name(row, param, PARTED, kept, begin, end);                                       \
                    pass_##name(row, param, TURNED, kept, begin, end);                                       \
                }                                                                                            \
                pass_##name(row, param, DECOMPOSED, kept, begin, end);                                       \
            }                                                                                                \
        } else if (vf_body_has_columns(VF_STENCIL_##name)) {                                                 \
            _Alignas(VF_VECTOR_BYTES) columns_block kept[VF_MOST_OF_COLUMN];                                 \
            for (ptrdiff_t begin = 0, end; begin < n; begin = end) {                                         \
                end = MIN(n, begin + COLUMN_BLOCK);                                                          \
                pass_##name(row, param, COLUMNS_KEPT, kept, begin - COLUMN_MARGIN, end + COLUMN_MARGIN);     \
                pass_##name(row, param, COLUMNS_TAKEN, kept, begin, end);                                    \
            }                                                                                                \
        } else if ((face) > 0) {                                                                             \
            pass_##name(row, param, FACES_ALONG_X, NULL, -VF_LANES, n);                                      \
            if (row->follows)                                                                                \
                pass_##name(row, param, FACES_TAKEN, NULL, 0, n);                                            \
            else                                                                                             \
                pass_##name(row, param, FACES_KEPT, NULL, 0, n);                                             \
        } else {                                                                                             \
            pass_##name(row, param, WHOLE, NULL, 0, n);                                                      \
        }                                                                                                    \
    }
#include "filters/stencils.def"
#undef VF_STENCIL_DEF

#define LOAD(name, type)                                                             \
    static void load_##name(const void *in, void *out, ptrdiff_t n)                  \
    {                                                                                \
        const type *from = in;                                                       \
        REAL *to = out;                                                              \
        _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++) to[i] = (REAL)from[i]; \
    }
LOAD(u8, uint8_t)
LOAD(i8, int8_t)
LOAD(u16, uint16_t)
LOAD(i16, int16_t)
LOAD(u32, uint32_t)
LOAD(i32, int32_t)
LOAD(f32, float)
LOAD(f64, double)

/* Rounded half to even, saturated, NaN to 0. `wide` is a type that holds both bounds exactly. A NaN, not
 * being greater, becomes the lower bound; where that is not 0, a mask makes it so. The bounds are read at run
 * time: of constants compilers make branches around the conversion, and comparisons under masks of these. */
#define STORE_INTEGER(name, type, wide, low, high)                                \
    static void store_##name(const void *in, void *out, ptrdiff_t n)              \
    {                                                                             \
        const volatile wide bound[2] = {(low), (high)};                           \
        const wide lowest = bound[0], highest = bound[1];                         \
        const REAL *from = in;                                                    \
        type *to = out;                                                           \
        _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++)                     \
        {                                                                         \
            const wide v = (wide)__builtin_rint(from[i]), above = MAX(v, lowest); \
            const type mask = (type)(0 - ((low) == 0 || v == v));                 \
            to[i] = (type)((type)MIN(above, highest) & mask);                     \
        }                                                                         \
    }
STORE_INTEGER(u8, uint8_t, REAL, 0, UINT8_MAX)
STORE_INTEGER(i8, int8_t, REAL, INT8_MIN, INT8_MAX)
STORE_INTEGER(u16, uint16_t, REAL, 0, UINT16_MAX)
STORE_INTEGER(i16, int16_t, REAL, INT16_MIN, INT16_MAX)
STORE_INTEGER(u32, uint32_t, double, 0, UINT32_MAX)
STORE_INTEGER(i32, int32_t, double, INT32_MIN, INT32_MAX)

/* Every NaN becomes the same one. */
#define STORE_FLOAT(name, type, nan)                                  \
    static void store_##name(const void *in, void *out, ptrdiff_t n)  \
    {                                                                 \
        const REAL *from = in;                                        \
        type *to = out;                                               \
        _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++) to[i] = \
            from[i] != from[i] ? nan : (type)from[i];                 \
    }
STORE_FLOAT(f32, float, __builtin_nanf(""))
STORE_FLOAT(f64, double, __builtin_nan(""))

#if REAL_BITS == 64
#define STORE_REAL store_f64
#else
#define STORE_REAL store_f32
#endif

/* What is converted before it is streamed: small enough for the nearest cache. */
#define STREAM_BYTES 2048

/* Whole vectors to an aligned place; returns how many elements that were. */
static ptrdiff_t stream_vectors(void (*store)(const void *, void *, ptrdiff_t), size_t size, const REAL *from,
                                char *to, ptrdiff_t n)
{
    _Alignas(VF_VECTOR_BYTES) char line[STREAM_BYTES];
    const ptrdiff_t lanes = VF_VECTOR_BYTES / (ptrdiff_t)size, whole = n / lanes * lanes;
    if (store == STORE_REAL) {
        for (ptrdiff_t i = 0; i < whole; i += VF_LANES)
            vf_vector_stream(to + i * (ptrdiff_t)sizeof(REAL), vf_vector_one_nan(vf_vector_load(from + i)));
        return whole;
    }
    for (ptrdiff_t i = 0, part; i < whole; i += part) {
        part = whole - i < STREAM_BYTES / (ptrdiff_t)size ? whole - i : STREAM_BYTES / (ptrdiff_t)size;
        store(from + i, line, part);
        for (size_t at = 0; at < (size_t)part * size; at += VF_VECTOR_BYTES)
            vf_vector_stream(to + (size_t)i * size + at,
                             vf_vector_load((const REAL *)(const void *)(line + at)));
    }
    return whole;
}

/* Stores as `store` does, but past the caches; the ends that fill no vector go through them. */
static void stream(void (*store)(const void *, void *, ptrdiff_t), size_t size, const void *in, void *out,
                   ptrdiff_t n)
{
    const REAL *from = in;
    char *to = out;
    const ptrdiff_t before = (ptrdiff_t)(-(size_t)to % VF_VECTOR_BYTES / size),
                    head = before < n ? before : n;
    store(from, to, head);
    const ptrdiff_t done =
        head + stream_vectors(store, size, from + head, to + (size_t)head * size, n - head);
    store(from + done, to + (size_t)done * size, n - done);
}

extern const struct vf_rows VF_ROWS;
const struct vf_rows VF_ROWS = {
    .level = VF_LEVEL,
    .body =
        {
#define VF_STENCIL_DEF(name, ...) [VF_STENCIL_##name] = row_##name,
#include "filters/stencils.def"
#undef VF_STENCIL_DEF
        },
    .lines = lines,
    .along = along,
    .table = table,
    .load = {load_u8, load_i8, load_u16, load_i16, load_u32, load_i32, load_f32, load_f64},
    .store = {store_u8, store_i8, store_u16, store_i16, store_u32, store_i32, store_f32, store_f64},
    .stream = stream,
    .finish = vf_vectors_finish,
    .bins = find_bins,
    .extremes = find_extremes,
    .sums = sum_row,
};
