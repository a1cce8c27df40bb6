/* What stencil bodies are compiled with to compute one voxel, each neighbour looked up through the boundary
 * rule. The includer defines REAL, REAL_BITS and DIM, and includes the bodies after this. */
#include "kernels/cpu_cells.h"

#define VF_DEVICE static inline __attribute__((unused))

/* The voxel's place in a whole grid. */
VF_DEVICE ptrdiff_t place(const struct vf_cell *cell, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return (z * cell->ny + y) * cell->nx + x;
}

/* Input k at an offset from the voxel. */
static REAL at(const struct vf_cell *cell, int k, int dz, int dy, int dx)
{
    const ptrdiff_t z = vf_boundary_index(cell->boundary, cell->z + dz, cell->nz);
    const ptrdiff_t y = vf_boundary_index(cell->boundary, cell->y + dy, cell->ny);
    const ptrdiff_t x = vf_boundary_index(cell->boundary, cell->x + dx, cell->nx);
    if (z < 0 || y < 0 || x < 0)
        return (REAL)cell->outside[k];
    return ((const REAL *)cell->in[k])[place(cell, z, y, x)];
}

static void put(const struct vf_cell *cell, int k, REAL value)
{
    ((REAL *)cell->out[k])[place(cell, cell->z, cell->y, cell->x)] = value;
}

/* Whether flux may cross a face of the voxel: the outer faces of a grid that is mirrored or continued are
 * closed. */
VF_DEVICE int open_at(const struct vf_cell *cell, int axis, int upper)
{
    const ptrdiff_t size[3] = {cell->nx, cell->ny, cell->nz}, position[3] = {cell->x, cell->y, cell->z};
    const ptrdiff_t last = upper ? size[axis] - 1 : 0;
    return position[axis] != last || !vf_boundary_is_closed(vf_boundary_axis(cell->boundary, size[axis]));
}

#define VF_STENCIL(name) static __attribute__((unused)) void body_##name(const struct vf_cell *cell)
#define AT(k, dz, dy, dx) at(cell, k, dz, dy, dx)
#define PUT(k, value) put(cell, k, value)
#define PARAM(i) ((REAL)cell->param[i])
#define OPEN_LO(axis) open_at(cell, axis, 0)
#define OPEN_HI(axis) open_at(cell, axis, 1)

#include "kernels/stencil.h"
