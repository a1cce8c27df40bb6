/* The bodies of stencils.def at one cell, for one dimension: the includer defines DIM and VF_CELLS, the
 * table's name. Every neighbour is looked up through the boundary rule; float32. */
#include "bench_gpu_stencils.h"

#define REAL float
#define REAL_BITS 32

static inline ptrdiff_t place(const struct vf_cell *cell, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return (z * cell->ny + y) * cell->nx + x;
}

static REAL at(const struct vf_cell *cell, int k, int dz, int dy, int dx)
{
    const ptrdiff_t z = vf_boundary_index(cell->boundary, cell->z + dz, cell->nz);
    const ptrdiff_t y = vf_boundary_index(cell->boundary, cell->y + dy, cell->ny);
    const ptrdiff_t x = vf_boundary_index(cell->boundary, cell->x + dx, cell->nx);
    if (z < 0 || y < 0 || x < 0)
        return (REAL)cell->outside[k];
    return ((const REAL *)cell->in[k])[place(cell, z, y, x)];
}

#define VF_DEVICE static inline __attribute__((unused))
#define VF_STENCIL(name) static __attribute__((unused)) void body_##name(const struct vf_cell *cell)
#define AT(k, dz, dy, dx) at(cell, k, dz, dy, dx)
#define PUT(k, value) ((REAL *)cell->out[k])[place(cell, cell->z, cell->y, cell->x)] = (value)
#define PARAM(i) ((REAL)cell->param[i])

#include "kernels/stencil.h"
#include "stencils/gol_9pt.h"
#include "stencils/gaussian2d_25p.h"
#include "stencils/gradient2d_5p.h"
#include "stencils/srad_coefficient.h"
#include "stencils/srad_update.h"
#include "stencils/hotspot2d.h"
#include "stencils/hotspot3d.h"
#include "stencils/heat3d.h"
#include "stencils/curl_forward.h"
#include "stencils/curl_backward.h"

bench_cell *const VF_CELLS[] = {
#define BENCH_STENCIL(name, dim, ...) [BENCH_##name] = (dim) == DIM ? body_##name : NULL,
#include "stencils.def"
#undef BENCH_STENCIL
};
