/* Row functions of bodies that only put values in order, for whole numbers that stay what they are: a vector
 * holds two or four times as many of them as of floats, and nothing is converted. Compiled for each type
 * (REAL of REAL_BITS), DIM (2, 3) and vector level: the Makefile names the table, VF_BODIES. */
#include <stdint.h>

#define VF_WHOLE_NUMBERS 1
#include "kernels/cpu_body.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#if DIM == 3
#include "filters/stencils/median_3x3x3.h"
#include "filters/stencils/median_5x5x5.h"
/* Those that stencils.def has OF_COLUMN of, and how far each reaches along z and y. */
#define MEDIANS(OF) OF(median_3x3x3, 1, 1) OF(median_5x5x5, 2, 2)
#else
#include "filters/stencils/median_3x3.h"
#include "filters/stencils/median_5x5.h"
#include "filters/stencils/median_7x7.h"
#define MEDIANS(OF) OF(median_3x3, 0, 1) OF(median_5x5, 0, 2) OF(median_7x7, 0, 3)
#endif

#define ROW_OF(name, z, y)                                                  \
    BODY_PASS(name, z, y, 1, 1)                                             \
    static void row_##name(const struct vf_body_row *row)                   \
    {                                                                       \
        const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES; \
        TAKE_COLUMNS(name, row, NULL, n);                                   \
    }
MEDIANS(ROW_OF)

#define ENTRY(name, z, y) [VF_STENCIL_##name] = row_##name,

extern const struct vf_row_bodies VF_BODIES;
const struct vf_row_bodies VF_BODIES = {.body = {MEDIANS(ENTRY)}};
