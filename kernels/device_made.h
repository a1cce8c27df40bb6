/* What a kernel's first stage makes, for lines along x that the next one sums of it: into shared memory,
 * where rows of the tile lie with as many columns on either side as the lines reach. Included after
 * device_box.h, device_global.h and device_line.h. Before, the scheme defines VF_MADE_APART: elements from
 * one of the summed fields to the next in shared memory.
 *
 * Cells outside the grid, in rows that end within the lines' reach, are those that the boundary rule maps
 * them to, computed again, of whole packs once for all that `nearest` puts beyond an end; under `constant`
 * they are the constant. */
#ifndef VF_DEVICE_MADE_H
#define VF_DEVICE_MADE_H

typedef vf_stage_1 vf_line;

/* One cell anywhere in the grid, for a place in the tile. */
struct vf_lone_cell {
    const VfArgs &args;
    int x, y, z;
    REAL *to;

    VF_MEMBER REAL read(int input, int dz, int dy, int dx)
    {
        const int at_x = vf_index_within(vf_input_halo_x(input), x + dx, args.nx),
                  at_y = vf_index_within(vf_input_halo_y(input), y + dy, args.ny),
                  at_z = DIM == 2 ? z : vf_index_within(vf_input_halo_z(input), z + dz, args.nz);
        if (VF_BOUNDARY == VF_CONSTANT && (at_x < 0 || at_y < 0 || at_z < 0))
            return vf_outside(args, input);
        return vf_load(args, input, vf_row(args, at_y, at_z) + at_x);
    }
    VF_MEMBER void store(int output, REAL value)
    {
        to[output * VF_MADE_APART] = value;
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

/* A pack that may lie before or behind rows of whole packs under `nearest`, but for its place. */
VF_INLINE void vf_repeat_end(bool before, REAL (&made)[VF_OUTPUTS][VF_PACK])
{
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
    {
        const REAL end = before ? made[k][0] : made[k][VF_PACK - 1];
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) made[k][i] = end;
    }
}

/* Makes the pack for column x of a row of the tile, which begins at column `at` of the grid's row y, where
 * element `first` is; `inside`: all rows that it reads are in the grid. */
VF_INLINE void vf_make_whole(const VfArgs &args, int x, int at, int y, int z, long long first, bool inside,
                             REAL *to, REAL (&made)[VF_OUTPUTS][VF_PACK])
{
    if (inside && (VF_BESIDE || (at >= VF_BOX_HALO_X && at + VF_PACK + VF_BOX_HALO_X <= args.nx)))
        vf_make_pack(vf_global_box<true>(args, at, y, z, first), made);
    else
        vf_make_pack(vf_global_box<false>(args, at, y, z, first), made);
    if (at != x)
        vf_repeat_end(x < at, made);
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) vf_set_pack(to + k * VF_MADE_APART, made[k]);
}

/* Makes the columns from `begin` to `end` of `rows` rows, which no whole pack of the grid has; `tile`: where
 * column 0 of the first one would be, `pitch` elements before the next; row_at(row): that of the grid, < 0:
 * it is not wanted. */
template <int rows, int pitch, class Row>
VF_INLINE void vf_make_end(const VfArgs &args, int thread, int z, int begin, int end, REAL *tile, Row row_at)
{
    const int columns = end - begin;
    /* The last threads begin: the first ones have more packs to make. */
    VF_NO_UNROLL for (int n = VF_THREADS - 1 - thread; n < columns * rows; n += VF_THREADS)
    {
        const int row = n / columns, x = begin + n % columns;
        vf_lone_cell cell = {args, vf_index(x, args.nx), row_at(row), z, tile + (row * pitch + x)};
        if (cell.y < 0)
            continue;
        if (VF_BOUNDARY == VF_CONSTANT && cell.x < 0)
            VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) cell.store(k, vf_outside(args, vf_line::in(k)));
        else
            vf_make(cell);
    }
}

#endif
