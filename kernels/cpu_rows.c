/* Compiled for each compute type (REAL_BITS 32, 64), DIM (2, 3) and vector level: the Makefile names the
 * table, VF_ROWS, and its VF_LEVEL. The compiler vectorises the loops over x. */
#include "kernels/cpu_rows.h"

#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "Floats are computed in a wider type: results would differ. On x86: -mfpmath=sse"
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

#define EIGENVALUES(definite, tensor) eigenvalues_by_rows(definite, pass, tensor, kept, i - begin)
#define EIGENVECTOR(tensor, rank, e) eigenvector_by_rows(pass, tensor, rank, e, kept, i - begin)

#include "kernels/cpu_body.h"
#include "kernels/cpu_eigen.h"
#include "kernels/cpu_linear.h"
#include "kernels/cpu_table.h"
#include "kernels/cpu_reduce.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "stencil_bodies.h"

#include "kernels/cpu_diffusion.h"

#if DIM == 3
#define OF_DIM(in_2d, in_3d) (in_3d)
#else
#define OF_DIM(in_2d, in_3d) (in_2d)
#endif
#define VF_STENCIL_DEF(name, in_2d, in_3d, out_2d, out_3d, centre_2d, centre_3d, star_2d, star_3d, axial_2d, \
                       axial_3d, z, y, x, cost, face, branches, word)                                        \
    _Static_assert(VF_WORD_##word != VF_WORD_IN_STEP || OF_DIM(in_2d, in_3d) != 1,                           \
                   #name ": a step reads no copies of a row's ends, which a single input may have");         \
    BODY_PASS(name, z, y, OF_DIM(in_2d, in_3d), OF_DIM(out_2d, out_3d))                                      \
    static void row_##name(const struct vf_body_row *row)                                                    \
    {                                                                                                        \
        const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES;                                  \
        REAL param[VF_MAX_STENCIL_PARAMS];                                                                   \
        for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++)                                                      \
            param[i] = (REAL)row->param[i];                                                                  \
        const enum vf_stencil_word says = VF_WORD_##word;                                                    \
        if (DIM == 3 && (says == VF_WORD_EIGENVALUES || says == VF_WORD_EIGENVECTOR)) {                      \
            _Alignas(VF_VECTOR_BYTES) steps_block kept[EIGEN_KEPT];                                          \
            for (ptrdiff_t begin = 0, end; begin < n; begin = end) {                                         \
                end = MIN(n, begin + STEPS_BLOCK);                                                           \
                pass_##name(row, param, SCALED, kept, begin, end);                                           \
                pass_##name(row, param, SHAPED, kept, begin, end);                                           \
                if (says == VF_WORD_EIGENVALUES) {                                                           \
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
        } else if (says == VF_WORD_OF_COLUMN) {                                                              \
            TAKE_COLUMNS(name, row, param, n);                                                               \
        } else if (DIM == 3 && says == VF_WORD_IN_STEP) {                                                    \
            _Alignas(VF_VECTOR_BYTES) steps_block kept[VF_MOST_IN_STEPS];                                    \
            for (ptrdiff_t begin = 0, end; begin < n; begin = end) {                                         \
                end = MIN(n, begin + STEPS_BLOCK);                                                           \
                pass_##name(row, param, FIRST_STEP, kept, begin, end);                                       \
                pass_##name(row, param, SECOND_STEP, kept, begin, end);                                      \
                pass_##name(row, param, STEPS_TAKEN, kept, begin, end);                                      \
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
_Static_assert(VF_TYPE_COUNT == 8, "each type has a LOAD, a STORE, and its place in VF_ROWS");

#if REAL_BITS == 64
#define STORE_REAL store_f64
#else
#define STORE_REAL store_f32
#endif

#include "kernels/cpu_stream.h"

_Static_assert(2 * LINES_BLOCK <= VF_ROW_BLOCK, "wide lines take two blocks at once");
extern const struct vf_rows VF_ROWS;
const struct vf_rows VF_ROWS = {
    .level = VF_LEVEL,
    .block_taps = LINES_BLOCK_TAPS,
    .block = LINES_BLOCK,
    .asked_taps = ASKED_TAPS,
    .whole_lines = VF_VECTOR_BYTES == VF_ALIGNMENT,
    .body =
        {
#define VF_STENCIL_DEF(name, ...) [VF_STENCIL_##name] = row_##name,
#include "filters/stencils.def"
#undef VF_STENCIL_DEF
        },
#if DIM == 3
    .take_flux = take_flux,
    .step_below = step_below,
#endif
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
