/* The cells of one thread: a box, whose rows are computed in packs. Included after device_pack.h.
 *
 * A box has x, y, z, the place of its first cell, `args`, and
 *   REAL read(int input, int k, int j, int i, int dx)   the cell at plane k, row j, column i of the box,
 *                                                       shifted by dx; k and j may lie outside the box
 *   bool open(int axis, bool upper, int k, int j, int i)   OPEN_LO or OPEN_HI (stencil.h) of that cell
 *   enum reads_before   1: what the cells of a pack have in common is read before they are computed, for
 *                       which all columns of a pack must be in the grid */
#ifndef VF_DEVICE_BOX_H
#define VF_DEVICE_BOX_H

#include "kernels/device_cell.h"

/* 1: the lanes of a warp are side by side along x, and get the cells beside their packs from one another
 * (device_tile.h). */
#ifndef VF_SHUFFLES
#define VF_SHUFFLES 0
#endif

/* Cells of a pack of the box. It is one cell where taps are loops (kernel_source.c): then offsets along x are
 * not constants, so that no cell could be picked out of a pack. */
#define VF_BOX_PACK (VF_WORK_X % VF_PACK == 0 && VF_HALO_X <= 32 ? VF_PACK : 1)
/* A thread's packs in one row. Between two of them are those of the block's other threads. */
#define VF_BOX_PACKS (VF_WORK_X / VF_BOX_PACK)
#define VF_TILE_X (VF_BLOCK_X * VF_WORK_X)
#define VF_TILE_Y (VF_BLOCK_Y * VF_WORK_Y)
#define VF_TILE_Z (VF_BLOCK_Z * VF_WORK_Z)

/* The multiple of `step` at or below i. */
VF_INLINE constexpr int vf_round_down(int i, int step)
{
    return i >= 0 ? i / step * step : -((step - 1 - i) / step * step);
}

/* The accessor that a stage sees: one cell of a box. */
template <class Box, int N> struct vf_box_cell {
    const VfArgs &args;
    const Box &box;
    REAL (&result)[VF_OUTPUTS][N];
    int k, j, i;

    VF_MEMBER REAL read(int input, int dz, int dy, int dx)
    {
        return box.read(input, k + dz, j + dy, i, dx);
    }
    VF_MEMBER void store(int output, REAL value)
    {
        result[output][i] = value;
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return box.open(axis, upper, k, j, i);
    }
};

/* A box of which one pack is computed; the pack, and those next to it along y and z, have been read. */
template <class Box, int N> struct vf_read_box {
    enum { BEFORE_Z, BEFORE_Y, OWN, AFTER_Y, AFTER_Z, ROWS };
    const Box &box;
    const int own_k, own_j;
    REAL value[VF_INPUTS][ROWS][N];

    VF_MEMBER vf_read_box(const Box &from, int k, int j) : box(from), own_k(k), own_j(j)
    {
        VF_UNROLL for (int input = 0; input < VF_INPUTS; input++)
        {
            take(input, OWN, 0, 0);
            if (vf_input_halo_y(input) > 0) {
                take(input, BEFORE_Y, 0, -1);
                take(input, AFTER_Y, 0, 1);
            }
            if (DIM == 3 && vf_input_halo_z(input) > 0) {
                take(input, BEFORE_Z, -1, 0);
                take(input, AFTER_Z, 1, 0);
            }
        }
    }
    VF_MEMBER void take(int input, int row, int dz, int dy)
    {
        VF_UNROLL for (int i = 0; i < N; i++) value[input][row][i] =
            box.read(input, own_k + dz, own_j + dy, i, 0);
    }
    VF_MEMBER REAL read(int input, int k, int j, int i, int dx) const
    {
        const int dz = k - own_k, dy = j - own_j, column = i + dx;
        if ((dz == 0 || dy == 0) && abs(dz + dy) <= 1 && column >= 0 && column < N)
            return value[input][OWN + (dz != 0 ? 2 * dz : dy)][column];
        return box.read(input, k, j, i, dx);
    }
    VF_MEMBER bool open(int axis, bool upper, int k, int j, int i) const
    {
        return box.open(axis, upper, k, j, i);
    }
};

/* Computes a pack. Returns NaN if a cell's short way left its result in doubt. */
template <bool is_short, int N, class Box>
VF_INLINE REAL vf_compute_cells(const VfArgs &args, const Box &box, int k, int j,
                                REAL (&result)[VF_OUTPUTS][N])
{
    REAL doubt = -REAL(0);
    VF_UNROLL for (int i = 0; i < N; i++)
    {
        vf_box_cell<Box, N> cell = {args, box, result, k, j, i};
        doubt = doubt + vf_cell_by<is_short>(cell);
    }
    return doubt;
}

/* Computes a pack the short way, and the long way if any cell is in doubt. */
template <int N, class Box>
VF_INLINE void vf_compute_surely(const VfArgs &args, const Box &box, int k, int j,
                                 REAL (&result)[VF_OUTPUTS][N])
{
    const REAL doubt = vf_compute_cells<true>(args, box, k, j, result);
    if (doubt != doubt)
        vf_compute_cells<false>(args, box, k, j, result);
}

/* Behind a branch in a body the compiler would read again, for each cell. So what cells have in common is
 * read before they are computed, and doubt is asked for once a pack. */
template <int N, class Box> VF_INLINE void vf_compute_pack(const Box &box, int k, int j)
{
    REAL result[VF_OUTPUTS][N];
    if constexpr (Box::reads_before)
        vf_compute_surely(box.args, vf_read_box<Box, N>(box, k, j), k, j, result);
    else
        vf_compute_surely(box.args, box, k, j, result);
    /* Lanes beyond the grid are there only for their neighbours, which take cells from them. */
    if (VF_SHUFFLES && box.x >= box.args.nx)
        return;
    const long long at = vf_row(box.args, box.y + j, box.z + k) + box.x;
    VF_UNROLL for (int output = 0; output < VF_OUTPUTS; output++)
        vf_store_pack<N>(box.args, output, at, result[output]);
}

/* All rows of a box, unrolled: what several of them read is read once. */
template <int N, class Box> VF_INLINE void vf_compute_box(const Box &box)
{
    VF_UNROLL for (int k = 0; k < VF_WORK_Z; k++)
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++) vf_compute_pack<N>(box, k, j);
    }
}

/* Only the rows that are wanted, each as a box of its own, box_at(j, k): half the code. */
template <int N, class At> VF_INLINE void vf_compute_rows(const VfArgs &args, int y, int z, At box_at)
{
    const int rows = min(VF_WORK_Y, args.ny - y), planes = min(VF_WORK_Z, args.z_end - z);
    VF_NO_UNROLL for (int k = 0; k < planes; k++)
    {
        VF_NO_UNROLL for (int j = 0; j < rows; j++) vf_compute_pack<N>(box_at(j, k), 0, 0);
    }
}

/* Whether all rows that a box of cells reads are in the grid, and all its planes are to be written. */
VF_INLINE bool vf_are_rows_interior(const VfArgs &args, int y, int z, int height, int depth)
{
    return y >= VF_HALO_Y && y + height + VF_HALO_Y <= args.ny && z + depth <= args.z_end &&
           (DIM == 2 || (z >= VF_HALO_Z && z + depth + VF_HALO_Z <= args.nz));
}

#endif
