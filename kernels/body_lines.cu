/* A stage, and the sums along x of all that it makes, in one kernel. A block computes the first stage at a
 * tile's cells and at those beside it that the sums reach, each thread reading its own neighbourhood through
 * L1 and L2, and puts what comes out into shared memory; from there it makes the sums.
 *
 * Cells of the first stage outside the grid, in rows that end within the tile's reach, are those that the
 * boundary rule maps them to, computed again; under `constant` they are the constant.
 *
 * After C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021), 5.2.4 (tiles in shared memory, one barrier), for what a stage makes in place of what is read. It
 * wins where that is many fields, such as products that are smoothed next: they are written and read once
 * less. */
#include "kernels/device.h"

#define VF_BOX_HALO_X vf_stage_0::halo_x
#define VF_BOX_HALO_Y vf_stage_0::halo_y
#define VF_BOX_HALO_Z vf_stage_0::halo_z
#include "kernels/device_cell.h"
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_global.h"
#include "kernels/device_line.h"

typedef vf_stage_1 vf_line;

/* ---- tiles in shared memory: one of each field that is summed ---- */

struct vf_lines_tile {
    enum {
        border = vf_border(vf_line::halo_x, VF_PACK),
        packs_of_row = (VF_TILE_X + 2 * border) / VF_PACK,
        /* Rows of an odd number of packs: four threads that are two packs apart and four in the next row are
         * then in different banks. */
        pitch = (packs_of_row | 1) * VF_PACK,
        cells = VF_BLOCK_Y * pitch,
    };
};

/* ---- the first stage ---- */

VF_INLINE int vf_thread()
{
    return threadIdx.y * VF_BLOCK_X + threadIdx.x;
}

/* One cell anywhere in the grid, for a place in the tile. */
struct vf_lone_cell {
    const VfArgs &args;
    int x, y, z;
    REAL *to;

    VF_MEMBER REAL read(int input, int dz, int dy, int dx)
    {
        const int at_x = vf_index(x + dx, args.nx), at_y = vf_index(y + dy, args.ny),
                  at_z = vf_index_z(z + dz, args.nz);
        if (VF_BOUNDARY == VF_CONSTANT && (at_x < 0 || at_y < 0 || at_z < 0))
            return vf_outside(args, input);
        return vf_load(args, input, vf_row(args, at_y, at_z) + at_x);
    }
    VF_MEMBER void store(int output, REAL value)
    {
        to[output * vf_lines_tile::cells] = value;
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return vf_is_cell_open(args, x, y, z, axis, upper);
    }
};

/* Stores what is summed of one cell; NaN if it is in doubt. */
template <bool is_short, class C> VF_INLINE REAL vf_make_by(C &cell)
{
    vf_cell_values<C> values = {cell};
    vf_stage_view<vf_stage_0, C, is_short> view = {values};
    values.doubt = 0;
    vf_stage_0::compute(view);
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) cell.store(k, values.value[vf_line::in(k)-VF_INPUTS]);
    return values.doubt;
}

template <class C> VF_INLINE void vf_make(C cell)
{
    const REAL doubt = vf_make_by<true>(cell);
    if (doubt != doubt)
        vf_make_by<false>(cell);
}

template <class Box> VF_INLINE void vf_make_pack(const Box &box, REAL *to)
{
    REAL made[VF_OUTPUTS][VF_PACK];
    VF_UNROLL for (int i = 0; i < VF_PACK; i++)
        vf_make(vf_box_cell<Box, VF_PACK>{box.args, box, made, 0, 0, i});
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) vf_set_pack(to + k * vf_lines_tile::cells, made[k]);
}

/* Columns from `begin` to `end` of the tile's rows, which no whole pack of the grid has. */
VF_INLINE void vf_make_end(const VfArgs &args, int x0, int y0, int z, int begin, int end, REAL *tile)
{
    const int columns = end - begin;
    /* The last threads begin: the first ones have more packs to make. */
    VF_NO_UNROLL for (int n = VF_THREADS - 1 - vf_thread(); n < columns * VF_BLOCK_Y; n += VF_THREADS)
    {
        const int row = n / columns, x = begin + n % columns;
        REAL *const to = tile + row * vf_lines_tile::pitch + (x - x0 + vf_lines_tile::border);
        vf_lone_cell cell = {args, vf_index(x, args.nx), y0 + row, z, to};
        if (y0 + row >= args.ny)
            continue;
        if (VF_BOUNDARY == VF_CONSTANT && cell.x < 0)
            VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) cell.store(k, vf_outside(args, vf_line::in(k)));
        else
            vf_make(cell);
    }
}

VF_INLINE void vf_make_tile(const VfArgs &args, int x0, int y0, int z, REAL *tile)
{
    enum { packs = VF_BLOCK_Y * vf_lines_tile::packs_of_row, halo = vf_line::halo_x };
    const bool inside = VF_INTERIOR && y0 >= VF_BOX_HALO_Y && y0 + VF_BLOCK_Y + VF_BOX_HALO_Y <= args.ny &&
                        (DIM == 2 || (z >= VF_BOX_HALO_Z && z + VF_BOX_HALO_Z < args.nz));
    const int whole = args.nx & -VF_PACK;
    VF_NO_UNROLL for (int n = vf_thread(); n < packs; n += VF_THREADS)
    {
        const int row = n / vf_lines_tile::packs_of_row, column = n % vf_lines_tile::packs_of_row * VF_PACK,
                  x = x0 - vf_lines_tile::border + column, y = y0 + row;
        REAL *const to = tile + row * vf_lines_tile::pitch + column;
        if (y >= args.ny)
            break;
        if (x < 0 || x >= whole)
            continue;
        if (inside && (VF_BESIDE || (x >= VF_BOX_HALO_X && x + VF_PACK + VF_BOX_HALO_X <= args.nx)))
            vf_make_pack(vf_global_box<true>(args, x, y, z), to);
        else
            vf_make_pack(vf_global_box<false>(args, x, y, z), to);
    }
    if (x0 < halo)
        vf_make_end(args, x0, y0, z, x0 - halo, 0, tile);
    if (x0 + VF_TILE_X + halo > whole)
        vf_make_end(args, x0, y0, z, max(whole, x0 - halo), min(args.nx, x0 + VF_TILE_X) + halo, tile);
}

/* ---- the sums ---- */

/* Two packs of sums, of what `tile` holds from there on; `second`: whether the second is in the grid too. */
VF_INLINE void vf_sum_packs(const VfArgs &args, const REAL *tile, vf_out_0 *to, bool second)
{
    REAL wide[2 * VF_PACK + 2 * vf_lines_tile::border], sum[2 * VF_PACK], pack[VF_PACK];
    VF_UNROLL for (int i = 0; i < 2 * VF_PACK + 2 * vf_lines_tile::border; i += VF_PACK)
    {
        const vf_vector from = *(const vf_vector *)(tile + i);
        VF_UNROLL for (int e = 0; e < VF_PACK; e++) wide[i + e] = vf_element(from, e);
    }
    vf_sum_line<vf_line>(args, wide, sum);
    VF_UNROLL for (int e = 0; e < VF_PACK; e++) pack[e] = sum[e];
    vf_write_pack(to, pack);
    VF_UNROLL for (int e = 0; e < VF_PACK; e++) pack[e] = sum[VF_PACK + e];
    vf_write_pack_if(second, to + VF_PACK, pack);
}

/* As many threads as a row has packs make the sums of two rows, two packs each: four pairs of packs of one
 * and four of the other are together, for shared memory's banks. The block makes those of two fields at once.
 */
VF_INLINE void vf_sum_tile(const VfArgs &args, int x0, int y0, int z, const REAL *tile)
{
    enum { pairs = VF_BLOCK_Y / 2 };
    const int column = ((threadIdx.x & 3) + threadIdx.x / 8 * 4) * (2 * VF_PACK), x = x0 + column,
              row = threadIdx.y % pairs * 2 + (threadIdx.x >> 2 & 1), first = threadIdx.y / pairs;
    if (y0 + row >= args.ny || x >= args.nx)
        return;
    const long long to = vf_row(args, y0 + row, z) + x;
    const REAL *const from = tile + first * vf_lines_tile::cells + row * vf_lines_tile::pitch + column;
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k += 2)
    {
        if (VF_OUTPUTS % 2 == 0 || k + first < VF_OUTPUTS)
            vf_sum_packs(args, from + k * vf_lines_tile::cells, (vf_out_0 *)args.out[k + first] + to,
                         x + VF_PACK < args.nx);
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    const int x0 = tile_x * VF_TILE_X, y0 = tile_y * VF_BLOCK_Y, z = args.z_begin + tile_z;
    vf_make_tile(args, x0, y0, z, (REAL *)memory);
    __syncthreads();
    vf_sum_tile(args, x0, y0, z, (const REAL *)memory);
}

#include "kernels/device_entry.h"
