/* Compiled for each compute type (REAL_BITS 32, 64) and DIM (2, 3): the Makefile names the table, VF_CELLS.
 */
#if REAL_BITS == 64
#define REAL double
#else
#define REAL float
#endif
#include "kernels/cpu_cell.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "stencil_bodies.h"

static void linear(const struct vf_cell *cell, const struct vf_taps *taps, int k)
{
    const struct vf_tap *tap = taps->tap;
    REAL sum = (REAL)tap[0].weight * at(cell, k, tap[0].dz, tap[0].dy, tap[0].dx);
    for (int t = 1; t < taps->count; t++)
        sum = FMA((REAL)tap[t].weight, at(cell, k, tap[t].dz, tap[t].dy, tap[t].dx), sum);
    put(cell, k, sum);
}

extern const struct vf_cells VF_CELLS;
const struct vf_cells VF_CELLS = {
    .body =
        {
#define VF_STENCIL_DEF(name, ...) [VF_STENCIL_##name] = body_##name,
#include "filters/stencils.def"
#undef VF_STENCIL_DEF
        },
    .linear = linear,
};
