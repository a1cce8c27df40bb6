/* Every thread reads its own neighbourhood through L1 and L2. */
#include "kernels/device.h"

template <bool inside> struct vf_reader {
    const VfArgs &args;
    int x, y, z;

    VF_MEMBER REAL read(int input, int dz, int dy, int dx)
    {
        if (inside)
            return vf_load(args, input, vf_row(args, y + dy, z + dz) + (x + dx));
        const int at_z = vf_index_z(z + dz, args.nz), at_y = vf_index(y + dy, args.ny),
                  at_x = vf_index(x + dx, args.nx);
        if (VF_BOUNDARY == VF_CONSTANT && (at_z < 0 || at_y < 0 || at_x < 0))
            return vf_outside(args, input);
        return vf_load(args, input, vf_row(args, at_y, at_z) + at_x);
    }

    VF_MEMBER void store(int output, REAL value)
    {
        vf_store(args, output, vf_row(args, y, z) + x, value);
    }

    VF_MEMBER bool open(int axis, bool upper)
    {
        return inside         ? true
               : axis == VF_X ? vf_is_open(x, args.nx, upper)
               : axis == VF_Y ? vf_is_open(y, args.ny, upper)
                              : vf_is_open(z, args.nz, upper);
    }
};

template <bool inside> VF_INLINE void vf_sweep(const VfArgs &args, int x0, int y0, int z0)
{
    VF_UNROLL for (int k = 0; k < VF_WORK_Z; k++)
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
            {
                vf_reader<inside> cell = {args, x0 + i * VF_BLOCK_X, y0 + j * VF_BLOCK_Y,
                                          z0 + k * VF_BLOCK_Z};
                if (cell.x < args.nx && cell.y < args.ny && cell.z < args.z_end)
                    vf_cell(cell);
            }
        }
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const int x = tile_x * (VF_BLOCK_X * VF_WORK_X), y = tile_y * (VF_BLOCK_Y * VF_WORK_Y),
              z = args.z_begin + tile_z * (VF_BLOCK_Z * VF_WORK_Z);
    const bool inside = VF_INTERIOR && vf_is_interior(args, x, y, z, VF_BLOCK_X * VF_WORK_X,
                                                      VF_BLOCK_Y * VF_WORK_Y, VF_BLOCK_Z * VF_WORK_Z);
    if (inside)
        vf_sweep<true>(args, x + threadIdx.x, y + threadIdx.y, z + threadIdx.z);
    else
        vf_sweep<false>(args, x + threadIdx.x, y + threadIdx.y, z + threadIdx.z);
}

#include "kernels/device_entry.h"
