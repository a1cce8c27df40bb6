/* A stage, and the sums along x of all that it makes, in one kernel. A block computes the first stage at a
 * tile's cells and at those beside it that the sums reach, each thread reading its own neighbourhood through
 * L1 and L2, and puts what comes out into shared memory; from there it makes the sums.
 *
 * Cells of the first stage outside the grid, in rows that end within the tile's reach, are those that the
 * boundary rule maps them to, computed again, of whole packs once for all that `nearest` puts beyond an end;
 * under `constant` they are the constant.
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
        pitch = VF_TILE_X + 2 * border,
        cells = VF_BLOCK_Y * pitch,
        beside = 2 * border / VF_PACK, /* packs beside the tile in a row */
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

template <class Box> VF_INLINE void vf_make_pack(const Box &box, REAL (&made)[VF_OUTPUTS][VF_PACK])
{
    VF_UNROLL for (int i = 0; i < VF_PACK; i++)
        vf_make(vf_box_cell<Box, VF_PACK>{box.args, box, made, 0, 0, i});
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

/* A pack that may lie before or behind rows of whole packs under `nearest`, but for its place. */
VF_INLINE void vf_repeat_end(bool before, REAL (&made)[VF_OUTPUTS][VF_PACK])
{
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
    {
        const REAL end = before ? made[k][0] : made[k][VF_PACK - 1];
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) made[k][i] = end;
    }
}

/* Fills the tile; the thread's own pack is in `made` too, if it is whole. */
VF_INLINE void vf_make_tile(const VfArgs &args, int x0, int y0, int z, int turn, REAL *tile,
                            REAL (&made)[VF_OUTPUTS][VF_PACK])
{
    enum { halo = vf_line::halo_x, beside = vf_lines_tile::beside, border = vf_lines_tile::border };
    const bool inside = VF_INTERIOR && y0 >= VF_BOX_HALO_Y && y0 + VF_BLOCK_Y + VF_BOX_HALO_Y <= args.ny &&
                        (DIM == 2 || (z >= VF_BOX_HALO_Z && z + VF_BOX_HALO_Z < args.nz));
    const int whole = args.nx & -VF_PACK, end = min(x0 + VF_TILE_X, whole);
    const bool repeats = VF_BOUNDARY == VF_NEAREST && whole == args.nx;
    /* Other warps make the packs beside the tile in other blocks, so that all schedulers have as much to do.
     */
    const int number = (vf_thread() + turn % ((VF_THREADS + 31) / 32) * 32) % VF_THREADS;
    bool is_own = false;
    VF_NO_UNROLL for (int n = number; !is_own; n += VF_THREADS)
    {
        is_own = n >= beside * VF_BLOCK_Y;
        int row = threadIdx.y, x = x0 + threadIdx.x * VF_PACK, at = x;
        if (!is_own) {
            const int place = n % beside;
            row = n / beside;
            x = place < beside / 2 ? x0 - border + place * VF_PACK : end + (place - beside / 2) * VF_PACK;
            at = repeats ? min(max(x, 0), whole - VF_PACK) : x;
        }
        const int y = y0 + row;
        if (y < args.ny && at >= 0 && at < whole) {
            if (inside && (VF_BESIDE || (at >= VF_BOX_HALO_X && at + VF_PACK + VF_BOX_HALO_X <= args.nx)))
                vf_make_pack(vf_global_box<true>(args, at, y, z), made);
            else
                vf_make_pack(vf_global_box<false>(args, at, y, z), made);
            if (at != x)
                vf_repeat_end(x < at, made);
            REAL *const to = tile + row * vf_lines_tile::pitch + (x - x0 + border);
            VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
                vf_set_pack(to + k * vf_lines_tile::cells, made[k]);
        }
    }
    if (!repeats && x0 < halo)
        vf_make_end(args, x0, y0, z, x0 - halo, 0, tile);
    if (!repeats && x0 + VF_TILE_X + halo > whole)
        vf_make_end(args, x0, y0, z, max(whole, x0 - halo), min(args.nx, x0 + VF_TILE_X) + halo, tile);
}

/* ---- the sums ---- */

VF_INLINE void vf_get_pack(const REAL *from, REAL (&pack)[VF_PACK])
{
    const vf_vector vector = *(const vf_vector *)from;
    VF_UNROLL for (int e = 0; e < VF_PACK; e++) pack[e] = vf_element(vector, e);
}

/* A thread sums its own packs, which it still has, with what lies beside them in the tile: as neighbouring
 * threads read and write neighbouring packs, neither banks nor sectors are in each other's way. */
VF_INLINE void vf_sum_tile(const VfArgs &args, int x0, int y0, int z, const REAL *tile,
                           REAL (&own)[VF_OUTPUTS][VF_PACK])
{
    enum { border = vf_lines_tile::border };
    const int column = threadIdx.x * VF_PACK, x = x0 + column, y = y0 + threadIdx.y;
    const REAL *const from = tile + threadIdx.y * vf_lines_tile::pitch + column;
    if (x0 + VF_TILE_X > (args.nx & -VF_PACK)) {
        VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
            vf_get_pack(from + k * vf_lines_tile::cells + border, own[k]);
        /* Makes it a branch: loads on a condition would take their turns in every tile. */
        __syncwarp();
    }
    if (y >= args.ny || x >= args.nx)
        return;
    const long long to = vf_row(args, y, z) + x;
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
    {
        REAL wide[VF_PACK + 2 * border], sum[VF_PACK];
        VF_UNROLL for (int i = 0; i < VF_PACK + 2 * border; i += VF_PACK)
        {
            REAL pack[VF_PACK];
            if (i != border)
                vf_get_pack(from + k * vf_lines_tile::cells + i, pack);
            VF_UNROLL for (int e = 0; e < VF_PACK; e++) wide[i + e] = i == border ? own[k][e] : pack[e];
        }
        vf_sum_line<vf_line>(args, wide, sum);
        vf_write_pack((vf_out_0 *)args.out[k] + to, sum);
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    REAL *const tile = (REAL *)memory, own[VF_OUTPUTS][VF_PACK];
    const int x0 = tile_x * VF_TILE_X, y0 = tile_y * VF_BLOCK_Y, z = args.z_begin + tile_z;
    vf_make_tile(args, x0, y0, z, tile_x + tile_y + tile_z, tile, own);
    __syncthreads();
    vf_sum_tile(args, x0, y0, z, tile, own);
}

#include "kernels/device_entry.h"
