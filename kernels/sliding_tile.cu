/* A block moves a window along y, or z, over VF_STREAM cells. In each step it computes some rows (planes),
 * while those of the next step are read into a ring in shared memory, in place of rows that are no longer
 * needed. So along that axis nothing is read twice.
 *
 * C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021), 5.4, where it slides along y in 2D, as a big tile of several cells a thread (5.5). New here: in 3D
 * it slides along y or z; and the rows that are read are others than those that are computed from, so that
 * there is one barrier a step and not two, as the authors suggest, and copies go on while threads compute.
 *
 * It is the fastest for tall images, and in 3D along z with few inputs. */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_tile.h"

/* How many rows a step computes, how many more it reaches on either side, and how many there is room for. */
#if VF_VARIANT_Z
#define VF_STEP VF_TILE_Z
#define VF_REACH VF_HALO_Z
#define VF_OWN VF_WORK_Z
#else
#define VF_STEP VF_TILE_Y
#define VF_REACH VF_HALO_Y
#define VF_OWN VF_WORK_Y
#endif
#define VF_RING (2 * VF_STEP + 2 * VF_REACH)

/* Elements from row to row, and from plane to plane, of an input's window. One of these axes is the ring's.
 */
VF_INLINE constexpr int vf_row_stride(int input)
{
    return vf_tile_pitch(input);
}
VF_INLINE constexpr int vf_plane_stride(int input)
{
    return vf_tile_pitch(input) * (VF_VARIANT_Z ? VF_TILE_Y + 2 * vf_input_halo_y(input) : VF_RING);
}
VF_INLINE constexpr int vf_tile_cells(int input)
{
    return vf_plane_stride(input) * (VF_VARIANT_Z ? VF_RING : VF_TILE_Z + 2 * vf_input_halo_z(input));
}
VF_TILE_STARTS(vf_tile_cells)

VF_INLINE int vf_wrapped(int slot)
{
    return slot >= VF_RING ? slot - VF_RING : slot;
}

/* Slots of the ring that a box of cells reaches: looked up once a step, if they are
 * few enough for registers. */
template <int count, bool kept = (count <= 24)> struct vf_slots {
    int slot[count];

    VF_MEMBER vf_slots(int first)
    {
        VF_UNROLL for (int i = 0; i < count; i++) slot[i] = vf_wrapped(first + i);
    }
    VF_MEMBER int at(int i) const
    {
        return slot[i];
    }
};

template <int count> struct vf_slots<count, false> {
    int first;

    VF_MEMBER vf_slots(int first_) : first(first_)
    {
    }
    VF_MEMBER int at(int i) const
    {
        return vf_wrapped(first + i);
    }
};

template <bool whole> struct vf_window_box {
    enum { reads_before = 0 };
    const VfArgs &args;
    int x, y, z;
    const REAL *shared;
    int column, row, plane; /* of the cell in the step */
    vf_slots<(whole ? VF_OWN : 1) + 2 * VF_REACH> slots;
    mutable vf_sides<VF_WORK_Z + 2 * VF_HALO_Z, VF_WORK_Y + 2 * VF_HALO_Y, whole && VF_SHUFFLES> sides;

    VF_MEMBER REAL read(int input, int k, int j, int i, int dx) const
    {
        if (!vf_is_tiled(input))
            return vf_centre_cell<VF_BOX_PACK>(args, input, x, y + j, z + k, i);
        const int at_k = VF_VARIANT_Z ? slots.at(k + VF_REACH) : plane + k + vf_input_halo_z(input);
        const int at_j = VF_VARIANT_Z ? row + j + vf_input_halo_y(input) : slots.at(j + VF_REACH);
        const REAL *const from =
            shared + at_k * vf_plane_stride(input) + at_j * vf_row_stride(input) + column;
        return vf_row_cell(sides, k, j, from + (vf_tile_start(input) + vf_tile_pad(input)), i + dx);
    }
    VF_MEMBER bool open(int axis, bool upper, int k, int j, int i) const
    {
        return vf_is_cell_open(args, x + i, y + j, z + k, axis, upper);
    }
};

/* Reads `count` rows (planes), from the given place on, into the ring's slots from `slot` on. If an input has
 * less halo along z than others, each plane is checked, since it may not be in memory. */
template <bool inside>
VF_INLINE void vf_fill_window(const VfArgs &args, REAL *shared, int x, int y, int z, int count, int slot)
{
    VF_UNROLL for (int input = 0; input < VF_INPUTS; input++)
    {
        if (!vf_is_tiled(input))
            continue;
        const int halo_y = vf_input_halo_y(input), halo_z = vf_input_halo_z(input);
        REAL *const tile = shared + vf_tile_start(input);
        const int from_x = x - vf_tile_pad(input), stride = vf_plane_stride(input);
        const bool plain = inside && halo_z == VF_HALO_Z;
#if VF_VARIANT_Z
        const int rows = VF_TILE_Y + 2 * halo_y, start = slot * stride;
        if (plain)
            vf_load_columns<true>(args, input, rows, count, from_x, y - halo_y, z, tile, start,
                                  VF_RING * stride);
        else
            vf_load_columns<false>(args, input, rows, count, from_x, y - halo_y, z, tile, start,
                                   VF_RING * stride);
#else
        const int start = slot * vf_row_stride(input);
        VF_NO_UNROLL for (int k = 0; k < VF_TILE_Z + 2 * halo_z; k++)
        {
            if (plain)
                vf_load_columns<true>(args, input, count, 1, from_x, y, z - halo_z + k, tile + k * stride,
                                      start, stride);
            else
                vf_load_columns<false>(args, input, count, 1, from_x, y, z - halo_z + k, tile + k * stride,
                                       start, stride);
        }
#endif
    }
}

template <bool whole>
VF_INLINE void vf_compute(const VfArgs &args, const REAL *shared, int x0, int y0, int z0, int slot)
{
    const int row = threadIdx.y * VF_WORK_Y, plane = threadIdx.z * VF_WORK_Z;
    VF_UNROLL for (int n = 0; n < VF_BOX_PACKS; n++)
    {
        const int column = (n * VF_BLOCK_X + threadIdx.x) * VF_BOX_PACK, x = x0 + column;
        if (!(whole && VF_SHUFFLES) && x >= args.nx)
            return;
        const int y = y0 + row, z = z0 + plane;
        const auto box_at = [=, &args](int j, int k) {
            return vf_window_box<whole>{
                args,    x,         y + j,
                z + k,   shared,    column,
                row + j, plane + k, vf_wrapped(slot + (VF_VARIANT_Z ? plane + k : row + j)),
                {}};
        };
        if (whole)
            vf_compute_box<VF_BOX_PACK>(box_at(0, 0));
        else
            vf_compute_rows<VF_BOX_PACK>(args, y, z, box_at);
    }
}

/* All steps of a tile that begins at (x, y, z). The loop begins with filling what the first step needs, so
 * that the code for filling and for computing is there only once. */
VF_INLINE void vf_slide(const VfArgs &args, REAL *shared, int x, int y, int z, bool inside)
{
    const int end = VF_VARIANT_Z ? args.z_end - z : args.ny - y;
    const int steps = ((end < VF_STREAM ? end : VF_STREAM) + VF_STEP - 1) / VF_STEP;
    const int along_y = VF_VARIANT_Z ? 0 : 1, along_z = VF_VARIANT_Z ? 1 : 0;
    int slot = 0, to_fill = VF_STEP + 2 * VF_REACH, ahead = -VF_REACH, fill_slot = 0;
    VF_NO_UNROLL for (int step = -1; step < steps; step++)
    {
        if (step >= 0) {
            vf_wait_copies();
            /* Now this step's rows are there, and those that only the last step needed are free. */
            __syncthreads();
        }
        if (step + 1 < steps) {
            if (inside)
                vf_fill_window<true>(args, shared, x, y + along_y * ahead, z + along_z * ahead, to_fill,
                                     fill_slot);
            else
                vf_fill_window<false>(args, shared, x, y + along_y * ahead, z + along_z * ahead, to_fill,
                                      fill_slot);
        }
        if (step >= 0) {
            if (y + VF_TILE_Y <= args.ny && z + VF_TILE_Z <= args.z_end)
                vf_compute<true>(args, shared, x, y, z, slot);
            else
                vf_compute<false>(args, shared, x, y, z, slot);
            slot = vf_wrapped(slot + VF_STEP);
            y += along_y * VF_STEP;
            z += along_z * VF_STEP;
        }
        to_fill = VF_STEP;
        ahead = VF_STEP + VF_REACH;
        fill_slot = vf_wrapped(slot + VF_STEP + 2 * VF_REACH);
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    REAL *const shared = (REAL *)memory;
    const int height = VF_VARIANT_Z ? VF_TILE_Y : VF_STREAM, depth = VF_VARIANT_Z ? VF_STREAM : VF_TILE_Z;
    const int x = tile_x * VF_TILE_X, y = tile_y * height, z = args.z_begin + tile_z * depth;
    vf_slide(args, shared, x, y, z, VF_INTERIOR && vf_are_rows_interior(args, y, z, height, depth));
}

#include "kernels/device_entry.h"
