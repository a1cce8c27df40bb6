/* A stage, and lines along x over all that it makes, in one kernel. A block computes the stage for the cells
 * of a tile and for those beside it that the lines reach; each thread reads its own neighbourhood through L1
 * and L2. The results go to shared memory, and from there the block makes the sums.
 *
 * After C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021), 5.2.4 (tiles in shared memory, one barrier); but the tile is of what a stage makes, not of what is
 * read. It is the fastest if these are many fields, such as products that are smoothed next, since they are
 * written and read once less. */
#include "kernels/device.h"

#define VF_BOX_HALO_X vf_stage_0::halo_x
#define VF_BOX_HALO_Y vf_stage_0::halo_y
#define VF_BOX_HALO_Z vf_stage_0::halo_z
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_global.h"
#include "kernels/device_line.h"

/* ---- tiles in shared memory: one of each field that is summed ---- */

struct vf_lines_tile {
    enum {
        border = vf_round_up(vf_stage_1::halo_x, VF_PACK),
        pitch = VF_TILE_X + 2 * border,
        cells = VF_BLOCK_Y * pitch,
        beside = 2 * border / VF_PACK, /* packs of a row that are beside the tile */
    };
};

#define VF_MADE_APART vf_lines_tile::cells
#include "kernels/device_made.h"

/* Fills the tile. The thread's own pack is in `made` too, if it is whole. */
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
        if (y < args.ny && at >= 0 && at < whole)
            vf_make_whole(args, x, at, y, z, vf_row(args, y, z) + at, inside,
                          tile + row * vf_lines_tile::pitch + (x - x0 + border), made);
    }
    REAL *const origin = tile + (border - x0);
    const auto row_at = [&](int row) { return y0 + row < args.ny ? y0 + row : -1; };
    if (!repeats && x0 < halo)
        vf_make_end<VF_BLOCK_Y, vf_lines_tile::pitch>(args, vf_thread(), z, x0 - halo, 0, origin, row_at);
    if (!repeats && x0 + VF_TILE_X + halo > whole)
        vf_make_end<VF_BLOCK_Y, vf_lines_tile::pitch>(args, vf_thread(), z, max(whole, x0 - halo),
                                                      min(args.nx, x0 + VF_TILE_X) + halo, origin, row_at);
}

/* ---- the sums ---- */

/* A thread makes the sums for its own packs, which it still has, and takes what is beside them from the tile.
 * Neighbouring threads read and write neighbouring packs, so that accesses conflict neither in the banks of
 * shared memory nor in the sectors of memory. */
VF_INLINE void vf_sum_tile(const VfArgs &args, int x0, int y0, int z, const REAL *tile,
                           REAL (&own)[VF_OUTPUTS][VF_PACK])
{
    enum { border = vf_lines_tile::border };
    const int column = threadIdx.x * VF_PACK, x = x0 + column, y = y0 + threadIdx.y;
    const REAL *const from = tile + threadIdx.y * vf_lines_tile::pitch + column;
    if (x0 + VF_TILE_X > (args.nx & -VF_PACK)) {
        VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
            vf_get_cells(from + k * vf_lines_tile::cells + border, own[k]);
        /* This makes the compiler branch: loads under a condition would be issued for every tile. */
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
                vf_get_cells(from + k * vf_lines_tile::cells + i, pack);
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
