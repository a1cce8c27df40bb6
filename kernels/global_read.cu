/* Every thread reads its own neighbourhood through L1 and L2. It computes a box of cells (multi-write): a
 * pack of a row is moved by accesses of 16 bytes, and what rows and planes of the box have in common is read
 * once.
 *
 * C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021), 5.2.2 and 5.3.2, where multi-write is left to the future. Variants: grid-span cuts the grid into
 * boxes; lines-span numbers the packs of the grid along rows, so that all threads of a block have work
 * however short rows are.
 *
 * It is the fastest if cells have little to share: stencils of 1 to 7 points, small grids. And it works where
 * tiles would need too much memory. */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_global.h"

#if VF_VARIANT_LINES_SPAN

/* Packs are numbered along rows; a block takes VF_WORK_X packs a thread, side by side over the block. */
VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const unsigned packs = (args.nx + VF_BOX_PACK - 1) / VF_BOX_PACK;
    const long long tile = ((long long)tile_z * args.tiles_y + tile_y) * args.tiles_x + tile_x;
    const long long begin = tile * (VF_THREADS * VF_BOX_PACKS);
    const long long first_row = begin / packs;
    const unsigned first = (unsigned)(begin - first_row * packs) + vf_thread();
    VF_UNROLL for (int n = 0; n < VF_BOX_PACKS; n++)
    {
        const unsigned pack = first + n * VF_THREADS, down = pack / packs;
        const long long row = first_row + down, plane = row / args.ny;
        const int x = (int)(pack - down * packs) * VF_BOX_PACK, y = (int)(row - plane * args.ny);
        if (plane >= args.z_end - args.z_begin)
            return;
        const int z = args.z_begin + (int)plane;
        if (VF_INTERIOR && vf_is_interior(args, x, y, z, VF_BOX_PACK, 1, 1))
            vf_compute_pack<VF_BOX_PACK>(vf_global_box<true>(args, x, y, z), 0, 0);
        else
            vf_compute_pack<VF_BOX_PACK>(vf_global_box<false>(args, x, y, z), 0, 0);
    }
}

#else

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const int x0 = tile_x * VF_TILE_X, y0 = tile_y * VF_TILE_Y, z0 = args.z_begin + tile_z * VF_TILE_Z;
    const int y = y0 + threadIdx.y * VF_WORK_Y, z = z0 + threadIdx.z * VF_WORK_Z;
    const bool inside = VF_INTERIOR && vf_are_rows_interior(args, y0, z0, VF_TILE_Y, VF_TILE_Z) &&
                        (VF_BESIDE || (x0 >= VF_HALO_X && x0 + VF_TILE_X + VF_HALO_X <= args.nx));
    VF_UNROLL for (int n = 0; n < VF_BOX_PACKS; n++)
    {
        const int x = x0 + (n * VF_BLOCK_X + threadIdx.x) * VF_BOX_PACK;
        if (x >= args.nx)
            return;
        if (inside && x + VF_BOX_PACK <= args.nx)
            vf_compute_box<VF_BOX_PACK>(vf_global_box<true, VF_WORK_Y, VF_WORK_Z>(args, x, y, z));
        else
            vf_compute_rows<VF_BOX_PACK>(
                args, y, z, [&](int j, int k) { return vf_global_box<false>(args, x, y + j, z + k); });
    }
}

#endif

#include "kernels/device_entry.h"
