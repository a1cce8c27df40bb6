/* A table of many weights. A block goes through the rows that its tile reads, plane by plane. Each row comes
 * to shared memory a few turns ahead, with the row of the table of the same number, and its terms are added
 * to all results that have weights for it. A thread makes runs of VF_RUN results in VF_WORK_Y rows, one below
 * the other: so a value that it takes serves VF_WORK_Y rows, and a weight serves a run.
 *
 * It is the fastest for tables that are too large to be written out: nearly all its instructions are terms.
 *
 * Variants: `written` has the terms of a row of the table one after another; `loop` is a loop over parts of
 * the row, each as long as a run.
 *
 * Constants beside those of device.h, from kernels/table_rows.c:
 *   VF_ROW_RING, VF_WEIGHT_RING   how many rows of the grid, and of the table, are in shared memory
 *   VF_HOLES                      1 if the table has places without a weight */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_run.h"
#include "kernels/device_row.h"

/* The table's extents, and how many rows are read in each plane for a tile. */
#define VF_WIDTH (2 * VF_HALO_X + 1)
#define VF_HEIGHT (2 * VF_HALO_Y + 1)
#define VF_DEPTH (2 * VF_HALO_Z + 1)
#define VF_ROWS (VF_HEIGHT + VF_WORK_Y - 1)
/* Weights of a row of the table, rounded up to whole parts. */
#define VF_WEIGHTS ((VF_WIDTH + VF_RUN - 1) / VF_RUN * VF_RUN)

/* How many rows are on their way while one is summed. */
#define VF_AHEAD (VF_ROW_RING - 1)

#if VF_VARIANT_LOOP
#define VF_UNROLL_ROW VF_NO_UNROLL
#else
#define VF_UNROLL_ROW VF_UNROLL
#endif

struct vf_table {
    const VfArgs &args;
    const int field, x, y, z; /* of the tile's first result */
    REAL *const rows, *const weights;
    int plane, row; /* which come next */
    REAL sum[VF_WORK_Y][VF_RUN];

    VF_MEMBER vf_table(const VfArgs &a, REAL *shared, int f, int tile_x, int tile_y, int tile_z)
        : args(a), field(f), x(tile_x * VF_ROW_COLUMNS), y(tile_y * VF_WORK_Y), z(a.z_begin + tile_z),
          rows(shared), weights(shared + VF_ROW_RING * VF_ROW_CELLS), plane(0), row(0)
    {
        VF_UNROLL for (int r = 0; r < VF_WORK_Y; r++) VF_UNROLL for (int i = 0; i < VF_RUN; i++) sum[r][i] =
            -REAL(0);
    }

    /* Begins to copy the row of the grid for turn t, if there is one, and the row of the table. */
    VF_MEMBER void bring(int t)
    {
        if (plane == VF_DEPTH)
            return;
        REAL *const to = rows + t % VF_ROW_RING * VF_ROW_CELLS;
        const int at_z = DIM == 3 ? vf_index(z + plane - VF_HALO_Z, args.nz) : z,
                  at_y = vf_index(y + row - VF_HALO_Y, args.ny);
        if (VF_BOUNDARY == VF_CONSTANT && (at_y < 0 || at_z < 0))
            VF_NO_UNROLL for (int n = threadIdx.x; n < VF_ROW_CELLS; n += VF_THREADS) to[n] =
                vf_outside(args, field);
        else
            vf_bring_row(args, field, to, (const vf_in_0 *)args.in[field] + vf_row(args, at_y, at_z),
                         vf_row_ends(args, x));
        if (row < VF_HEIGHT)
            bring_weights(t);
        if (++row == VF_ROWS) {
            row = 0;
            plane++;
        }
    }

    VF_MEMBER void bring_weights(int t)
    {
        REAL *const to = weights + t % VF_WEIGHT_RING * VF_WEIGHTS;
        const int from = vf_stage_0::first_param + (plane * VF_HEIGHT + row) * VF_WIDTH;
        VF_NO_UNROLL for (int n = threadIdx.x; n < VF_WIDTH; n += VF_THREADS)
#if VF_PARAM_TABLE
            vf_copy<sizeof(REAL)>(to + n, args.table + from + n);
#else
            to[n] = vf_param(args, from + n);
#endif
    }

    /* Adds the terms of `count` weights, from number `first` on, a multiple of VF_RUN. */
    template <int count> VF_MEMBER void add(int first, int t, int j)
    {
        enum {
            needless = VF_PAD - VF_REACH,
            taken = (needless + count + VF_RUN - 1 + VF_PACK - 1) / VF_PACK * VF_PACK,
        };
        const REAL *const from =
            rows + t % VF_ROW_RING * VF_ROW_CELLS + threadIdx.x * VF_RUN_APART + vf_in_row(first);
        REAL value[taken];
        VF_UNROLL for (int i = 0; i < taken; i += VF_PACK)
        {
            REAL pack[VF_PACK];
            vf_get_cells(from + vf_in_row(i), pack);
            VF_UNROLL for (int k = 0; k < VF_PACK; k++) value[i + k] = pack[k];
        }
        VF_UNROLL for (int r = 0; r < VF_WORK_Y; r++)
        {
            if (j < r || j - r >= VF_HEIGHT)
                continue;
            REAL weight[VF_RUN];
            vf_get_cells(weights + (t - r) % VF_WEIGHT_RING * VF_WEIGHTS + first, weight);
            VF_UNROLL for (int d = 0; d < count; d++)
            {
                /* Where the table has no weight, it has NaN. */
                if (VF_HOLES && weight[d] != weight[d])
                    continue;
                VF_UNROLL for (int i = 0; i < VF_RUN; i++) sum[r][i] =
                    FMA(weight[d], value[needless + d + i], sum[r][i]);
            }
        }
    }

    VF_MEMBER void add_row(int t, int j)
    {
        VF_UNROLL_ROW for (int first = 0; first + VF_RUN <= VF_WIDTH; first += VF_RUN)
            add<VF_RUN>(first, t, j);
        /* Widths are odd, so that there is always a rest. */
        add<VF_WIDTH % VF_RUN>(VF_WIDTH / VF_RUN * VF_RUN, t, j);
    }

    VF_MEMBER void put()
    {
        const int column = x + threadIdx.x * VF_RUN;
        vf_out_0 *const to = (vf_out_0 *)args.out[field] + vf_row(args, y, z) + column;
        VF_UNROLL for (int r = 0; r < VF_WORK_Y; r++) VF_UNROLL for (int i = 0; i < VF_RUN; i += VF_PACK)
        {
            REAL pack[VF_PACK];
            VF_UNROLL for (int k = 0; k < VF_PACK; k++) pack[k] = sum[r][i + k];
            vf_write_pack_if(y + r < args.ny && column + i < args.nx, to + r * args.pitch + i, pack);
        }
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    VF_NO_UNROLL for (int field = 0; field < VF_INPUTS; field++)
    {
        vf_table table(args, (REAL *)memory, field, tile_x, tile_y, tile_z);
        if (field > 0)
            __syncthreads();
        VF_UNROLL for (int t = 0; t < VF_AHEAD; t++)
        {
            table.bring(t);
            vf_close_copies();
        }
        int t = 0;
        VF_NO_UNROLL for (int plane = 0; plane < VF_DEPTH; plane++)
            VF_NO_UNROLL for (int j = 0; j < VF_ROWS; j++, t++)
        {
            vf_wait_copies<VF_AHEAD - 1>();
            __syncthreads();
            table.bring(t + VF_AHEAD);
            vf_close_copies();
            table.add_row(t, j);
        }
        table.put();
    }
}

#include "kernels/device_entry.h"
