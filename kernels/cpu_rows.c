/* Row functions of all but bodies: weighted sums, conversions, what reductions ask. Compiled for each compute
 * type (REAL_BITS 32, 64) and vector level: the Makefile names the table, VF_ROWS, and its VF_LEVEL. The
 * compiler vectorises the loops over x. */
#include <stdint.h>

/* kernels/stencil.h asks for it; nothing here depends on it. */
#define DIM 3
#include "kernels/cpu_linear.h"
#include "kernels/cpu_plane.h"
#include "kernels/cpu_table.h"
#include "kernels/cpu_reduce.h"

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

/* Rounded half to even. One that an int holds becomes it by one instruction, where the compiler knows of
 * that; rint and a conversion that cuts off are three. */
#define NEAREST(value) ((__typeof__(value))__builtin_rint(value))
#ifdef __clang__
#define NEAREST_INT(value) NEAREST(value)
#else
#define NEAREST_INT(value) \
    (sizeof(value) == sizeof(float) ? __builtin_irintf((float)(value)) : __builtin_irint(value))
#endif

/* Saturated, then rounded half to even, NaN to 0. `wide` is a type that holds both bounds exactly. A NaN, not
 * being greater, becomes the lower bound; where that is not 0, a mask makes it so. The bounds are read at run
 * time: of constants compilers make branches around the conversion, and comparisons under masks of these. */
#define STORE_INTEGER(name, type, wide, low, high, nearest)            \
    static void store_##name(const void *in, void *out, ptrdiff_t n)   \
    {                                                                  \
        const volatile wide bound[2] = {(low), (high)};                \
        const wide lowest = bound[0], highest = bound[1];              \
        const REAL *from = in;                                         \
        type *to = out;                                                \
        _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++)          \
        {                                                              \
            const wide v = from[i], above = MAX(v, lowest);            \
            const type mask = (type)(0 - ((low) == 0 || v == v));      \
            to[i] = (type)((type)nearest(MIN(above, highest)) & mask); \
        }                                                              \
    }
STORE_INTEGER(u8, uint8_t, REAL, 0, UINT8_MAX, NEAREST_INT)
STORE_INTEGER(i8, int8_t, REAL, INT8_MIN, INT8_MAX, NEAREST_INT)
STORE_INTEGER(u16, uint16_t, REAL, 0, UINT16_MAX, NEAREST_INT)
STORE_INTEGER(i16, int16_t, REAL, INT16_MIN, INT16_MAX, NEAREST_INT)
STORE_INTEGER(u32, uint32_t, double, 0, UINT32_MAX, NEAREST)
STORE_INTEGER(i32, int32_t, double, INT32_MIN, INT32_MAX, NEAREST_INT)

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
    .lines = lines,
    .along = along,
#ifdef PLANE_ROWS
    .plane = {PLANE_ROWS},
#endif
    .table = table,
    .load = {load_u8, load_i8, load_u16, load_i16, load_u32, load_i32, load_f32, load_f64},
    .store = {store_u8, store_i8, store_u16, store_i16, store_u32, store_i32, store_f32, store_f64},
    .stream = stream,
    .finish = vf_vectors_finish,
    .bins = find_bins,
    .extremes = find_extremes,
    .sums = sum_row,
};
