/* A row of the grid in shared memory, for threads that make a run of its results each: VF_RUN side by side.
 * Included after device_run.h. */
#ifndef VF_DEVICE_ROW_H
#define VF_DEVICE_ROW_H

#define VF_REACH VF_HALO_X
#define VF_RUN VF_WORK_X
#define VF_PAD ((VF_REACH + VF_PACK - 1) / VF_PACK * VF_PACK)

/* A row in shared memory begins VF_PAD cells before the tile. A pack more for each run lets the lanes of a
 * warp, a run apart, read different banks. */
#define VF_RUN_APART (VF_RUN + VF_PACK)
#define VF_ROW_COLUMNS (VF_BLOCK_X * VF_RUN)
#define VF_ROW_RUNS ((VF_ROW_COLUMNS + 2 * VF_PAD + VF_RUN - 1) / VF_RUN)
#define VF_ROW_CELLS (VF_ROW_RUNS * VF_RUN_APART)

VF_INLINE constexpr int vf_in_row(int cell)
{
    return cell / VF_RUN * VF_RUN_APART + cell % VF_RUN;
}

/* The cell of a row at column `at`; -1: it is the constant. */
VF_INLINE void vf_bring_column(const VfArgs &args, int field, REAL *to, const vf_in_0 *row, int at)
{
    if (VF_BOUNDARY == VF_CONSTANT && at < 0)
        *to = vf_outside(args, field);
    else if constexpr (vf_same<vf_in_0, REAL>::yes)
        vf_copy<sizeof(REAL)>(to, row + at);
    else {
        REAL cell[1];
        vf_read_pack(row + at, cell);
        *to = cell[0];
    }
}

/* The same at column x, perhaps outside the grid. */
VF_INLINE void vf_bring_cell(const VfArgs &args, int field, REAL *to, const vf_in_0 *row, int x)
{
    vf_bring_column(args, field, to, row, vf_index(x, args.nx));
}

/* What a thread brings of every row beside the tile: from which column, and where it goes; -1: nothing. They
 * are packs; at an end of the grid's rows (`is_end`), cells. If they are few they are found once for all
 * rows. */
struct vf_row_ends {
    enum {
        packs = 2 * VF_PAD / VF_PACK,
        own_packs = (packs + VF_BLOCK_X - 1) / VF_BLOCK_X,
        own_cells = (2 * VF_REACH + VF_BLOCK_X - 1) / VF_BLOCK_X,
        kept = own_cells <= 4 ? own_cells : 0,
        list = kept > 0 ? kept : 1,
    };
    const VfArgs &args;
    const int x;
    const bool is_end;
    int from[list], to[list];

    VF_MEMBER vf_row_ends(const VfArgs &a, int x_)
        : args(a), x(x_), is_end(x < VF_PAD || x + VF_ROW_COLUMNS + VF_PAD > a.nx)
    {
        VF_UNROLL for (int k = 0; k < kept; k++) find(k, from[k], to[k]);
    }
    VF_MEMBER void find(int k, int &column, int &place) const
    {
        const int n = threadIdx.x + k * VF_BLOCK_X,
                  pack = n * VF_PACK - VF_PAD + (n < packs / 2 ? 0 : VF_ROW_COLUMNS),
                  end = n - VF_REACH + (n < VF_REACH ? 0 : VF_ROW_COLUMNS), cell = is_end ? end : pack;
        const bool is_there = is_end ? n < 2 * VF_REACH && x + cell < args.nx + VF_REACH : n < packs;
        column = is_end ? vf_index(x + cell, args.nx) : x + cell;
        place = is_there ? vf_in_row(VF_PAD + cell) : -1;
    }
    /* Calls bring(column, place) with each. */
    template <class Bring> VF_MEMBER void each(int count, Bring bring) const
    {
        int column, place;
        VF_UNROLL for (int k = 0; k < kept; k++)
        {
            if (k < count && to[k] >= 0)
                bring(from[k], to[k]);
        }
        VF_NO_UNROLL for (int k = kept; k < count; k++)
        {
            find(k, column, place);
            if (place >= 0)
                bring(column, place);
        }
    }
};

/* What the tile of `ends` reads of a row. */
VF_INLINE void vf_bring_row(const VfArgs &args, int field, REAL *to, const vf_in_0 *row,
                            const vf_row_ends &ends)
{
    const int x = ends.x, lane = threadIdx.x, reached = args.nx + VF_REACH;
    const vf_place place = vf_place_of(to);
    /* A lane's packs are equally far apart in both places, and most tiles are within the grid: no pack is
     * asked for by itself then. */
    const vf_place own = place + vf_in_row(VF_PAD + lane * VF_PACK) * (int)sizeof(REAL);
    const vf_in_0 *const own_row = row + (x + lane * VF_PACK);
    const bool is_whole = VF_BLOCK_X * VF_PACK % VF_RUN == 0 && x + VF_ROW_COLUMNS <= args.nx;
    if (is_whole)
        VF_UNROLL for (int n = 0; n < VF_RUN / VF_PACK; n++)
            vf_bring(own + vf_in_row(n * VF_BLOCK_X * VF_PACK) * (int)sizeof(REAL),
                     own_row + n * VF_BLOCK_X * VF_PACK);
    VF_UNROLL for (int n = 0; n < VF_RUN / VF_PACK && !is_whole; n++)
    {
        const int cell = (n * VF_BLOCK_X + lane) * VF_PACK, at = vf_in_row(VF_PAD + cell);
        if (x + cell + VF_PACK <= args.nx)
            vf_bring(place + at * (int)sizeof(REAL), row + (x + cell));
        else
            VF_NO_UNROLL for (int i = 0; i < VF_PACK && x + cell + i < reached; i++)
                vf_bring_cell(args, field, to + at + i, row, x + cell + i);
    }
    if (!ends.is_end)
        ends.each(vf_row_ends::own_packs,
                  [&](int column, int cell) { vf_bring(place + cell * (int)sizeof(REAL), row + column); });
    else
        ends.each(vf_row_ends::own_cells,
                  [&](int column, int cell) { vf_bring_column(args, field, to + cell, row, column); });
}

#endif
