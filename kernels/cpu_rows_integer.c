/* Row functions of all but bodies, for whole numbers that stay what they are. Compiled for each type (CELL,
 * as REAL of REAL_BITS) and vector level: the Makefile names the table, VF_ROWS, and its VF_LEVEL. */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#define VF_WHOLE_NUMBERS 1
#include "kernels/cpu_real.h"

static void copy(const void *in, void *out, ptrdiff_t n)
{
    memcpy(out, in, (size_t)n * sizeof(REAL));
}

/* As another type: integers saturate. */
#define STORE_AS(name, type, low, high)                                              \
    static void store_##name(const void *in, void *out, ptrdiff_t n)                 \
    {                                                                                \
        const REAL *const from = in;                                                 \
        type *const to = out;                                                        \
        for (ptrdiff_t i = 0; i < n; i++) {                                          \
            const int value = from[i];                                               \
            to[i] = (type)(value < (low) ? (low) : value > (high) ? (high) : value); \
        }                                                                            \
    }
STORE_AS(u8, uint8_t, 0, UINT8_MAX)
STORE_AS(i8, int8_t, INT8_MIN, INT8_MAX)
STORE_AS(u16, uint16_t, 0, UINT16_MAX)
STORE_AS(i16, int16_t, INT16_MIN, INT16_MAX)
STORE_AS(u32, uint32_t, 0, INT_MAX)
STORE_AS(i32, int32_t, INT_MIN, INT_MAX)
STORE_AS(f32, float, INT_MIN, INT_MAX)
STORE_AS(f64, double, INT_MIN, INT_MAX)

#define STORE_REAL copy
#include "kernels/cpu_stream.h"

#define STORE(type, name) ((type) == CELL ? copy : store_##name)

extern const struct vf_rows VF_ROWS;
const struct vf_rows VF_ROWS = {
    .level = VF_LEVEL,
    .load = {[CELL] = copy},
    .store = {STORE(VF_U8, u8), STORE(VF_I8, i8), STORE(VF_U16, u16), STORE(VF_I16, i16), STORE(VF_U32, u32),
              STORE(VF_I32, i32), STORE(VF_F32, f32), STORE(VF_F64, f64)},
    .stream = stream,
    .finish = vf_vectors_finish,
};
