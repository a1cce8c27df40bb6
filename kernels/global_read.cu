/* Every thread reads its own neighbourhood through L1 and L2. It computes a box of cells (multi-write): packs
 * of a row in 16-byte accesses, and what neighbouring rows and planes of the box share is in registers.
 *
 * C. C. Virt, J. Wraa-Hansen, Optimisation and GPU code generation of stencils for Futhark (Copenhagen,
 * 2021), 5.2.2 and 5.3.2. grid-span cuts the grid into boxes; lines-span counts cells, so that a block takes
 * runs of rows and all its threads work however short rows are. They left multi-write of this scheme to the
 * future.
 *
 * It wins where little is shared: 1 to 7 points, small grids; it runs where tiles would need too much memory.
 */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_box.h"

/* Rows and columns outside the grid are looked up once for a box, if few enough for registers. */
#define VF_MOST_PLACES 24

template <bool kept, int from, int count> struct vf_places {
    int place[count];

    VF_MEMBER void find(int origin, int n, bool through)
    {
        VF_UNROLL for (int i = 0; i < count; i++) place[i] =
            through ? origin + from + i : vf_index(origin + from + i, n);
    }
    VF_MEMBER int at(int offset, int, int, bool) const
    {
        return place[offset - from];
    }
};

template <int from, int count> struct vf_places<false, from, count> {
    VF_MEMBER void find(int, int, bool)
    {
    }
    VF_MEMBER int at(int offset, int origin, int n, bool through) const
    {
        return through ? origin + offset : vf_index(origin + offset, n);
    }
};

template <int halo, int cells> struct vf_axis_places {
    typedef vf_places<(cells + 2 * halo <= VF_MOST_PLACES), -halo, cells + 2 * halo> type;
};

/* With a small halo a box may reach beyond the grid's columns: the few cells beside a pack are read one by
 * one anyway. */
#define VF_BESIDE (VF_BOX_PACK > 1 && VF_HALO_X <= 2)

/* whole: all that the box reaches is in the grid, but for columns beside a pack if VF_BESIDE. */
template <bool whole, int rows = 1, int planes = 1> struct vf_global_box {
    const VfArgs &args;
    int x, y, z;
    long long first;
    typename vf_axis_places<VF_HALO_X, VF_BOX_PACK>::type at_x;
    typename vf_axis_places<VF_HALO_Y, rows>::type at_y;
    typename vf_axis_places<VF_HALO_Z, planes>::type at_z;

    VF_MEMBER vf_global_box(const VfArgs &args_, int x_, int y_, int z_) : args(args_), x(x_), y(y_), z(z_)
    {
        first = vf_row(args, y, z) + x;
        if (!whole || VF_BESIDE)
            at_x.find(x, args.nx, false);
        if (!whole) {
            at_y.find(y, args.ny, false);
            at_z.find(z, args.nz, DIM == 2);
        }
    }

    VF_MEMBER REAL read(int input, int k, int j, int i, int dx) const
    {
        if (whole)
            return in_row(input, first + k * args.plane + j * args.pitch, i, dx);
        const int row_z = at_z.at(k, z, args.nz, DIM == 2), row_y = at_y.at(j, y, args.ny, false);
        if (VF_BOUNDARY == VF_CONSTANT && (row_z < 0 || row_y < 0))
            return vf_outside(args, input);
        return in_row(input, vf_row(args, row_y, row_z) + x, i, dx);
    }

    /* `at`: where the row has the box's first column. */
    VF_MEMBER REAL in_row(int input, long long at, int i, int dx) const
    {
        const int column = i + dx;
        const bool own = VF_BOX_PACK > 1 && column >= 0 && column < VF_BOX_PACK;
        REAL pack[VF_BOX_PACK], one[1];
        /* Of the own pack all cells are in the grid but those beyond nx, which only dx > 0 reaches. */
        if (whole ? own || !VF_BESIDE : own && (dx <= 0 || x + column < args.nx)) {
            const int start = vf_round_down(column, VF_BOX_PACK);
            vf_load_pack(args, input, at + start, pack);
            return pack[column - start];
        }
        const int place = at_x.at(column, x, args.nx, false);
        if (VF_BOUNDARY == VF_CONSTANT && place < 0)
            return vf_outside(args, input);
        vf_load_pack(args, input, at + (place - x), one);
        return one[0];
    }

    VF_MEMBER bool open(int axis, bool upper, int k, int j, int i) const
    {
        return (whole && (axis != VF_X || !VF_BESIDE)) ||
               vf_is_cell_open(args, x + i, y + j, z + k, axis, upper);
    }
};

#if VF_VARIANT_LINES_SPAN

/* Packs are numbered along rows; a block takes VF_WORK_X packs a thread, side by side over the block. */
VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const unsigned packs = (args.nx + VF_BOX_PACK - 1) / VF_BOX_PACK;
    const long long tile = ((long long)tile_z * args.tiles_y + tile_y) * args.tiles_x + tile_x;
    const long long begin = tile * (VF_THREADS * VF_BOX_PACKS);
    const long long first_row = begin / packs;
    const unsigned thread = (threadIdx.z * VF_BLOCK_Y + threadIdx.y) * VF_BLOCK_X + threadIdx.x;
    const unsigned first = (unsigned)(begin - first_row * packs) + thread;
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
