/* Compiled for each compute type (REAL_BITS 32, 64), DIM (2, 3) and vector level: the Makefile names the
 * table, VF_ROWS, and its VF_LEVEL. The compiler vectorises the loops over x. */
#include "kernels/cpu_rows.h"

#include <stdint.h>

#if REAL_BITS == 64
#define REAL double
#else
#define REAL float
#endif

#define VF_DEVICE static inline __attribute__((always_inline))
#define VF_STENCIL(name)                                                                   \
    VF_DEVICE void body_##name(const void *const *in, void *const *out, const REAL *param, \
                               const struct vf_body_row *row, ptrdiff_t i)
#define AT(k, dz, dy, dx) (((const REAL *)in[VF_ROW_INDEX(k, dz, dy)])[i + (dx)])
#define PUT(k, value) (((REAL *)out[k])[i] = (value))
#define PARAM(k) (param[k])
#define OPEN_LO(axis) ((axis) == VF_X ? (int)i != row->closed_lo_x : row->open_lo[axis])
#define OPEN_HI(axis) ((axis) == VF_X ? (int)i != row->closed_hi_x : row->open_hi[axis])

#include "kernels/stencil.h"

#include "kernels/cpu_linear.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "stencil_bodies.h"

/* The row is not copied: reloading as vectors what was just stored as scalars waits for every store before
 * it. */
#define VF_STENCIL_DEF(name, ...)                                                                            \
    static void row_##name(const struct vf_body_row *row)                                                    \
    {                                                                                                        \
        REAL param[VF_MAX_STENCIL_PARAMS];                                                                   \
        for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++)                                                      \
            param[i] = (REAL)row->param[i];                                                                  \
        const ptrdiff_t n = row->n;                                                                          \
        _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++) body_##name(row->in, row->out, param, row, i); \
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

/* Rounded half to even, saturated, NaN to 0. `wide` is a type that holds both bounds exactly. */
#define STORE_INTEGER(name, type, wide, low, high)                         \
    static void store_##name(const void *in, void *out, ptrdiff_t n)       \
    {                                                                      \
        const REAL *from = in;                                             \
        type *to = out;                                                    \
        _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++)              \
        {                                                                  \
            const wide v = (wide)__builtin_rint(from[i]);                  \
            const wide below = v < (wide)(high) ? v : (wide)(high);        \
            const wide inside = below > (wide)(low) ? below : (wide)(low); \
            to[i] = v != v ? (type)0 : (type)inside;                       \
        }                                                                  \
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

/* What a result is converted in: small enough for the nearest cache. */
#define STREAM_BYTES 2048

/* Stores as `store` does, but past the caches. */
static void stream(void (*store)(const void *, void *, ptrdiff_t), size_t size, const void *in, void *out,
                   ptrdiff_t n)
{
    _Alignas(VF_LINE_BYTES) char line[STREAM_BYTES];
    const REAL *from = in;
    char *to = out;
    const size_t before = -(size_t)to % VF_LINE_BYTES / size;
    ptrdiff_t part = (ptrdiff_t)before < n ? (ptrdiff_t)before : n;
    store(from, to, part);
    for (from += part, to += (size_t)part * size, n -= part; n > 0;
         from += part, to += (size_t)part * size, n -= part) {
        part = n < (ptrdiff_t)(STREAM_BYTES / size) ? n : (ptrdiff_t)(STREAM_BYTES / size);
        store(from, line, part);
        const size_t bytes = (size_t)part * size, whole = bytes / VF_LINE_BYTES * VF_LINE_BYTES;
        for (size_t i = 0; i < whole; i += VF_LINE_BYTES)
            vf_line_stream(to + i, line + i);
        memcpy(to + whole, line + whole, bytes - whole);
    }
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
    .load = {load_u8, load_i8, load_u16, load_i16, load_u32, load_i32, load_f32, load_f64},
    .store = {store_u8, store_i8, store_u16, store_i16, store_u32, store_i32, store_f32, store_f64},
    .stream = stream,
    .finish = vf_lines_finish,
};
