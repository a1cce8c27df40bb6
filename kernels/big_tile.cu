/* A block reads a tile of VF_BLOCK * VF_WORK cells, and the halo around it, into shared memory, and then
 * computes the tile, each thread a box of cells (multi-write). There is one barrier a tile.
 *
 * C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021): big tile 5.2.4, its loaders 5.3.4 (cube; flat, by division; carry, flat by addition),
 * multi-write 5.5, 6 and 7. New here: packs of 16 bytes, copies that pass by registers, and that tiles inside
 * the grid do not ask the boundary rule.
 *
 * It is the fastest in 2D and with halos of several cells, where many cells are read several times. */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_tile.h"

VF_INLINE constexpr int vf_tile_rows(int input)
{
    return VF_TILE_Y + 2 * vf_input_halo_y(input);
}
VF_INLINE constexpr int vf_tile_planes(int input)
{
    return VF_TILE_Z + 2 * vf_input_halo_z(input);
}
VF_INLINE constexpr int vf_tile_cells(int input)
{
    return vf_tile_pitch(input) * vf_tile_rows(input) * vf_tile_planes(input);
}
VF_TILE_STARTS(vf_tile_cells)

template <bool whole> struct vf_tile_box {
    enum { reads_before = 0 };
    const VfArgs &args;
    int x, y, z;
    const REAL *shared;
    int column, row, plane; /* of the cell in the tile */
    mutable vf_sides<VF_WORK_Z + 2 * VF_HALO_Z, VF_WORK_Y + 2 * VF_HALO_Y, whole && VF_SHUFFLES> sides;

    VF_MEMBER REAL read(int input, int k, int j, int i, int dx) const
    {
        if (!vf_is_tiled(input))
            return vf_centre_cell<VF_BOX_PACK>(args, input, x, y + j, z + k, i);
        const int rows = vf_tile_rows(input), pitch = vf_tile_pitch(input);
        const int own = (plane * rows + row) * pitch + column;
        const int from = vf_tile_start(input) +
                         ((k + vf_input_halo_z(input)) * rows + j + vf_input_halo_y(input)) * pitch +
                         vf_tile_pad(input);
        return vf_row_cell(sides, k, j, shared + own + from, i + dx);
    }
    VF_MEMBER bool open(int axis, bool upper, int k, int j, int i) const
    {
        return vf_is_cell_open(args, x + i, y + j, z + k, axis, upper);
    }
};

template <bool inside> VF_INLINE void vf_fill_tile(const VfArgs &args, REAL *shared, int x, int y, int z)
{
    VF_UNROLL for (int input = 0; input < VF_INPUTS; input++)
    {
        if (!vf_is_tiled(input))
            continue;
#if VF_VARIANT_CUBE
#define VF_LOADER vf_load_cube
#elif VF_VARIANT_FLAT
#define VF_LOADER vf_load_flat
#elif VF_VARIANT_CARRY
#define VF_LOADER vf_load_carry
#else
#define VF_LOADER vf_load_columns
#endif
        VF_LOADER<inside>(args, input, vf_tile_rows(input), vf_tile_planes(input), x - vf_tile_pad(input),
                          y - vf_input_halo_y(input), z - vf_input_halo_z(input),
                          shared + vf_tile_start(input), 0, 0);
    }
}

template <bool whole>
VF_INLINE void vf_compute(const VfArgs &args, const REAL *shared, int x0, int y0, int z0)
{
    const int row = threadIdx.y * VF_WORK_Y, plane = threadIdx.z * VF_WORK_Z;
    VF_UNROLL for (int n = 0; n < VF_BOX_PACKS; n++)
    {
        const int column = (n * VF_BLOCK_X + threadIdx.x) * VF_BOX_PACK;
        if (!(whole && VF_SHUFFLES) && x0 + column >= args.nx)
            return;
        const auto box_at = [=, &args](int j, int k) {
            return vf_tile_box<whole>{args,   x0 + column, y0 + row + j, z0 + plane + k,
                                      shared, column,      row + j,      plane + k};
        };
        if (whole)
            vf_compute_box<VF_BOX_PACK>(box_at(0, 0));
        else
            vf_compute_rows<VF_BOX_PACK>(args, y0 + row, z0 + plane, box_at);
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    REAL *const shared = (REAL *)memory;
    const int x = tile_x * VF_TILE_X, y = tile_y * VF_TILE_Y, z = args.z_begin + tile_z * VF_TILE_Z;
    if (VF_INTERIOR && vf_are_rows_interior(args, y, z, VF_TILE_Y, VF_TILE_Z))
        vf_fill_tile<true>(args, shared, x, y, z);
    else
        vf_fill_tile<false>(args, shared, x, y, z);
    vf_wait_copies();
    __syncthreads();
    if (y + VF_TILE_Y <= args.ny && z + VF_TILE_Z <= args.z_end)
        vf_compute<true>(args, shared, x, y, z);
    else
        vf_compute<false>(args, shared, x, y, z);
}

#include "kernels/device_entry.h"
