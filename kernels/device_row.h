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

/* The cell of a row at column x, perhaps outside the grid. */
VF_INLINE void vf_bring_cell(const VfArgs &args, int field, REAL *to, const vf_in_0 *row, int x)
{
    const int at = vf_index(x, args.nx);
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

/* What the tile at column x of a row reads. */
VF_INLINE void vf_bring_row(const VfArgs &args, int field, REAL *to, const vf_in_0 *row, int x)
{
    const int lane = threadIdx.x, reached = args.nx + VF_REACH;
    const vf_place place = vf_place_of(to);
    VF_UNROLL for (int n = 0; n < VF_RUN / VF_PACK; n++)
    {
        const int cell = (n * VF_BLOCK_X + lane) * VF_PACK, at = vf_in_row(VF_PAD + cell);
        if (x + cell + VF_PACK <= args.nx)
            vf_bring(place + at * (int)sizeof(REAL), row + (x + cell));
        else
            VF_NO_UNROLL for (int i = 0; i < VF_PACK && x + cell + i < reached; i++)
                vf_bring_cell(args, field, to + at + i, row, x + cell + i);
    }
    if (x >= VF_PAD && x + VF_ROW_COLUMNS + VF_PAD <= args.nx)
        VF_NO_UNROLL for (int n = lane; n < 2 * VF_PAD / VF_PACK; n += VF_BLOCK_X)
        {
            const int cell = n * VF_PACK - VF_PAD + (n < VF_PAD / VF_PACK ? 0 : VF_ROW_COLUMNS);
            vf_bring(place + vf_in_row(VF_PAD + cell) * (int)sizeof(REAL), row + (x + cell));
        }
    else
        VF_NO_UNROLL for (int n = lane; n < 2 * VF_REACH; n += VF_BLOCK_X)
        {
            const int cell = n - VF_REACH + (n < VF_REACH ? 0 : VF_ROW_COLUMNS);
            if (x + cell < reached)
                vf_bring_cell(args, field, to + vf_in_row(VF_PAD + cell), row, x + cell);
        }
}

#endif
