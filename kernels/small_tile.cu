/* A block reads a tile of one cell a thread into shared memory. It computes only the cells whose neighbours
 * are all in the tile: those that are not in its rim, which is as wide as the halo.
 *
 * C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021), 5.2.3. Loading is as simple as possible, but threads of the rim are idle while others compute, and
 * the wider the halo, the more blocks there are. It is the fastest with narrow halos on devices with little
 * cache and many small blocks. */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_tile.h"

VF_INLINE constexpr int vf_tile_cells(int)
{
    return VF_THREADS;
}
VF_TILE_STARTS(vf_tile_cells)

struct vf_small_box {
    enum { reads_before = 0 };
    const VfArgs &args;
    int x, y, z;
    const REAL *own; /* this thread's cell in the first tile */
    bool inside;

    VF_MEMBER REAL read(int input, int k, int j, int i, int dx) const
    {
        return vf_is_tiled(input) ? own[vf_tile_start(input) + (k * VF_BLOCK_Y + j) * VF_BLOCK_X + i + dx]
                                  : vf_centre_cell<1>(args, input, x, y + j, z + k, i);
    }
    VF_MEMBER bool open(int axis, bool upper, int k, int j, int i) const
    {
        return inside || vf_is_cell_open(args, x + i, y + j, z + k, axis, upper);
    }
};

/* Loads a thread's cell of every tiled input. Cells that are not needed are not loaded, since their planes
 * may not be in memory. */
template <bool inside> VF_INLINE void vf_fill_cell(const VfArgs &args, REAL *own, int x, int y, int z)
{
    VF_UNROLL for (int input = 0; input < VF_INPUTS; input++)
    {
        if (!vf_is_tiled(input))
            continue;
        REAL *const to = own + vf_tile_start(input);
        REAL one[1];
        if (inside && vf_input_halo_z(input) == VF_HALO_Z) {
            vf_load_pack(args, input, vf_row(args, y, z) + x, one);
            *to = one[0];
            continue;
        }
        if (x >= args.nx + VF_HALO_X || y >= args.ny + VF_HALO_Y ||
            z >= args.z_end + vf_input_halo_z(input) || z < args.z_begin - vf_input_halo_z(input))
            continue;
        const int at_x = vf_index(x, args.nx), at_y = vf_index(y, args.ny), at_z = vf_index_z(z, args.nz);
        if (VF_BOUNDARY == VF_CONSTANT && (at_x < 0 || at_y < 0 || at_z < 0))
            one[0] = vf_outside(args, input);
        else
            vf_load_pack(args, input, vf_row(args, at_y, at_z) + at_x, one);
        *to = one[0];
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    const int width = VF_BLOCK_X - 2 * VF_HALO_X, height = VF_BLOCK_Y - 2 * VF_HALO_Y,
              depth = VF_BLOCK_Z - 2 * VF_HALO_Z;
    const int x0 = tile_x * width, y0 = tile_y * height, z0 = args.z_begin + tile_z * depth;
    /* The cell's place in what the block writes; negative in the rim. */
    const int i = (int)threadIdx.x - VF_HALO_X, j = (int)threadIdx.y - VF_HALO_Y,
              k = (int)threadIdx.z - VF_HALO_Z;
    REAL *const own = (REAL *)memory + vf_thread();
    const bool inside = VF_INTERIOR && vf_is_interior(args, x0, y0, z0, width, height, depth);
    if (inside)
        vf_fill_cell<true>(args, own, x0 + i, y0 + j, z0 + k);
    else
        vf_fill_cell<false>(args, own, x0 + i, y0 + j, z0 + k);
    __syncthreads();
    const vf_small_box box = {args, x0 + i, y0 + j, z0 + k, own, inside};
    if (i >= 0 && i < width && j >= 0 && j < height && k >= 0 && k < depth && box.x < args.nx &&
        box.y < args.ny && box.z < args.z_end)
        vf_compute_pack<1>(box, 0, 0);
}

#include "kernels/device_entry.h"
