/* For bodies that compute values of each column of their box (OF_COLUMN), as the medians sort it. A thread
 * has one column of cells, of VF_WORK_Y rows, in 3D also of as many planes as are reached, in registers, and
 * streams through VF_STREAM planes. It computes what is of its own column, and takes that of columns beside
 * it from other threads of its warp, which is a row: VF_HALO_X threads at either end make no results.
 *
 * Variant `pairs`: of 8 or 16 bits, which bodies that only put values in order leave as they are, a value is
 * two cells, that of a row and the one below it in the halves of a word.
 *
 * Further constants, from the scheme:
 *   VF_KEEPS_COLUMNS   1 (kernels/device_cell.h)
 *   VF_MOST_OF_COLUMN  how many values of a column there are, at most
 *   VF_PAIRS           1: the variant (kernels/device_pairs.h) */
#include "kernels/device_cell.h"

#define VF_PLANES (2 * VF_HALO_Z + 1)
#define VF_ROWS (VF_WORK_Y + 2 * VF_HALO_Y)
/* How many results a value is, and how many values a plane's rows are. */
#define VF_RESULTS (VF_PAIRS ? 2 : 1)
#define VF_VALUES (VF_ROWS - (VF_RESULTS - 1))
#define VF_NO_CELL 0xffffffffu

#if VF_PAIRS
typedef vf_in_0 vf_read;
VF_INLINE REAL vf_value_of(const vf_read *cell)
{
    return vf_pair_of(cell[0], cell[1]);
}
VF_INLINE void vf_put_value(vf_out_0 *first, vf_out_0 *second, bool is_first, bool is_second, REAL value)
{
    if (is_first)
        *first = (vf_out_0)(vf_in_0)(value & 0xffff);
    if (is_second)
        *second = (vf_out_0)(vf_in_0)(value >> 16);
}
#else
typedef REAL vf_read;
VF_INLINE REAL vf_value_of(const vf_read *cell)
{
    return cell[0];
}
VF_INLINE void vf_put_value(vf_out_0 *first, vf_out_0 *, bool is_first, bool, REAL value)
{
    if (is_first)
        vf_put(first, value);
}
#endif

struct vf_sweep {
    const VfArgs &args;
    const int x, y, begin, end;
    unsigned int at[VF_ROWS]; /* of the column's cells in a plane; VF_NO_CELL: it is the constant */
    vf_read next[VF_ROWS];    /* of the newest plane */
    REAL value[VF_PLANES][VF_VALUES];

    VF_MEMBER vf_sweep(const VfArgs &a, int x_, int y_, int begin_, int end_)
        : args(a), x(x_), y(y_), begin(begin_), end(end_)
    {
        const int column = vf_index(x, args.nx);
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
        {
            const int from = vf_index(y + row - VF_HALO_Y, args.ny);
            at[row] = VF_BOUNDARY == VF_CONSTANT && (column < 0 || from < 0)
                          ? VF_NO_CELL
                          : (unsigned int)from * (unsigned int)args.pitch + (unsigned int)column;
        }
    }

    static VF_MEMBER vf_read outside(const VfArgs &args)
    {
        return vf_is_image(0) ? (vf_read)args.outside : vf_read(0);
    }

    /* Sends for a plane, or, of planes that no result needs, for the last one that some does. */
    VF_MEMBER void load(int plane)
    {
        const int from = vf_index_z(min(plane, end - 1 + VF_HALO_Z), args.nz);
        const vf_in_0 *const cells = (const vf_in_0 *)args.in[0] +
                                     (VF_BOUNDARY == VF_CONSTANT && from < 0 ? 0 : vf_row(args, 0, from));
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++) next[row] =
            VF_BOUNDARY == VF_CONSTANT && (from < 0 || at[row] == VF_NO_CELL)
                ? outside(args)
                : (vf_read)__ldg(cells + at[row]);
    }

    VF_MEMBER void take(REAL (&values)[VF_VALUES]) const
    {
        VF_UNROLL for (int row = 0; row < VF_VALUES; row++) values[row] = vf_value_of(next + row);
    }

    VF_MEMBER void compute(int plane);
    VF_MEMBER void sweep();
};

/* A cell, whose column's values are made first; then its result, by these and the ones beside. */
template <bool is_own> struct vf_column_cell {
    const VfArgs &args;
    const vf_sweep &sweep;
    const int row; /* of the thread's own */
    REAL (&column)[VF_MOST_OF_COLUMN];
    REAL result;

    /* Of another column, what is read is for that column's values. */
    VF_MEMBER REAL read(int, int dz, int dy, int dx) const
    {
        return dx == 0 ? sweep.value[VF_HALO_Z + dz][VF_HALO_Y + row + dy] : REAL(0);
    }
    template <class Value> VF_MEMBER REAL of_column(int k, int dx, Value value)
    {
        if (is_own)
            return dx == 0 ? column[k] = value() : REAL(0);
        return dx == 0  ? column[k]
               : dx < 0 ? __shfl_up_sync(0xffffffffu, column[k], -dx)
                        : __shfl_down_sync(0xffffffffu, column[k], dx);
    }
    VF_MEMBER void store(int, REAL value)
    {
        result = value;
    }
};

/* The whole warp calls this. */
VF_MEMBER void vf_sweep::compute(int plane)
{
    const int lane = threadIdx.x;
    const bool is_wanted = lane >= VF_HALO_X && lane < VF_BLOCK_X - VF_HALO_X && x < args.nx;
    vf_out_0 *const out = (vf_out_0 *)args.out[0] + vf_row(args, 0, plane);
    VF_UNROLL for (int row = 0; row < VF_WORK_Y; row += VF_RESULTS)
    {
        REAL column[VF_MOST_OF_COLUMN];
        vf_column_cell<true> own = {args, *this, row, column, REAL(0)};
        vf_cell_by<false>(own);
        vf_column_cell<false> cell = {args, *this, row, column, REAL(0)};
        vf_cell_by<false>(cell);
        vf_out_0 *const to = out + ((y + row) * (unsigned int)args.pitch + x);
        vf_put_value(to, to + args.pitch, is_wanted && y + row < args.ny, is_wanted && y + row + 1 < args.ny,
                     cell.result);
    }
}

VF_MEMBER void vf_sweep::sweep()
{
    VF_UNROLL for (int k = 0; k < VF_PLANES - 1; k++)
    {
        load(begin + k - VF_HALO_Z);
        take(value[k]);
    }
    load(begin + VF_HALO_Z);
    for (int plane = begin; plane < end; plane++) {
        take(value[VF_PLANES - 1]);
        if (DIM == 3)
            load(plane + 1 + VF_HALO_Z);
        compute(plane);
        VF_UNROLL for (int k = 0; k < VF_PLANES - 1; k++)
        {
            VF_UNROLL for (int row = 0; row < VF_VALUES; row++) value[k][row] = value[k + 1][row];
        }
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const int x = tile_x * (VF_BLOCK_X - 2 * VF_HALO_X) + threadIdx.x - VF_HALO_X,
              y = (tile_y * VF_BLOCK_Y + threadIdx.y) * VF_WORK_Y, planes = DIM == 3 ? VF_STREAM : 1,
              begin = args.z_begin + tile_z * planes;
    vf_sweep sweep(args, x, y, begin, min(begin + planes, args.z_end));
    sweep.sweep();
}

#include "kernels/device_entry.h"
