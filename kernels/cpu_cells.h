/* Cell functions: one stage at one voxel, for one compute type and dimension, every neighbour looked up
 * through the boundary rule. kernels/cpu_cells.c is compiled once for each combination. The reference and the
 * GPU's benchmark use them. */
#ifndef VF_CPU_CELLS_H
#define VF_CPU_CELLS_H

#include <stddef.h>

#include "filters/filter.h"
#include "kernels/boundary.h"

/* A stage at the voxel (x, y, z). Inputs and outputs are whole grids of nz * ny * nx elements of the compute
 * type. */
struct vf_cell {
    const void *in[VF_MAX_INPUTS];
    double outside[VF_MAX_INPUTS]; /* what input k reads beyond the grid under VF_CONSTANT */
    void *out[VF_MAX_OUTPUTS];
    const double *param;
    enum vf_boundary boundary;
    ptrdiff_t nx, ny, nz;
    ptrdiff_t x, y, z;
};

struct vf_cells {
    void (*body[VF_STENCIL_COUNT])(const struct vf_cell *cell);
    /* out[k] = tap 0 * in[k] + tap 1 * in[k] + ... */
    void (*linear)(const struct vf_cell *cell, const struct vf_taps *taps, int k);
};

extern const struct vf_cells vf_cells_f32_2d, vf_cells_f32_3d, vf_cells_f64_2d, vf_cells_f64_3d;

#endif
