/* A line of weights along one axis, however long. A thread makes a run of VF_RUN results
 * (kernels/device_run.h).
 *
 * Along y and z a block streams along the line, with columns for 32 lanes of VF_SPAN cells each. Each of its
 * warps makes a run in all columns, and meanwhile brings as many cells for the runs to come to a ring in
 * shared memory. Along x a block takes one row after another, and brings the next one while it sums one.
 *
 * It is the fastest for lines too long to have a sum in registers for each plane that they reach, as in
 * associative.cu and separable_stream.cu.
 *
 * Variants: `written` has all of a line's terms one after another. `loop` is a loop over parts of the line,
 * which is less code, but weights are not constants of instructions then, and products wait for registers. */
#include "kernels/device.h"
#include "kernels/device_pack.h"

#if VF_VARIANT_LOOP || defined VF_ON_CPU
#define VF_UNROLL_PARTS VF_NO_UNROLL
#endif
#include "kernels/device_run.h"

typedef vf_stage_0 vf_line;

#if VF_HALO_X > 0

/* ---- along x ---- */

#include "kernels/device_row.h"

typedef vf_run<vf_line, VF_RUN, 1, VF_PACK, VF_PAD - VF_REACH, 1> vf_row_run;

VF_INLINE void vf_sync()
{
    if (VF_THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* Stores a row's results. They go through the row's place in shared memory, since each thread's are side by
 * side. */
VF_INLINE void vf_put_row(const VfArgs &args, REAL *row, const vf_row_run &run, vf_out_0 *to, int x,
                          bool is_wanted)
{
    REAL *const own = row + threadIdx.x * VF_RUN_APART;
    vf_sync();
    VF_UNROLL for (int m = 0; m < VF_RUN; m += VF_PACK)
    {
        REAL pack[VF_PACK];
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) pack[i] = run.sum[m + i][0];
        vf_set_pack(own + m, pack);
    }
    vf_sync();
    /* From one address: else the compiler finds each anew, behind a branch. */
    vf_out_0 *const first = vf_kept(to + (x + threadIdx.x * VF_PACK));
    VF_UNROLL for (int n = 0; n < VF_RUN / VF_PACK; n++)
    {
        const int cell = (n * VF_BLOCK_X + threadIdx.x) * VF_PACK;
        REAL pack[VF_PACK];
        vf_get_cells(row + vf_in_row(cell), pack);
        vf_write_pack_if(is_wanted && x + cell < args.nx, first + n * (VF_BLOCK_X * VF_PACK), pack);
    }
}

VF_INLINE void vf_sweep(const VfArgs &args, REAL *shared, int field, int tile_x, int tile_y, int tile_z)
{
    const int x = tile_x * VF_ROW_COLUMNS, begin = tile_y * VF_STREAM, end = min(begin + VF_STREAM, args.ny),
              z = args.z_begin + tile_z;
    const long long first = vf_row(args, begin + threadIdx.y, z), step = VF_BLOCK_Y * args.pitch;
    const vf_in_0 *from = (const vf_in_0 *)args.in[field] + first;
    vf_out_0 *to = (vf_out_0 *)args.out[field] + first;
    REAL *row = shared + threadIdx.y * (2 * VF_ROW_CELLS), *next = row + VF_ROW_CELLS;
    const vf_row_ends ends(args, x);
    int y = begin + threadIdx.y;
    if (y < end)
        vf_bring_row(args, field, row, from, ends);
    VF_NO_UNROLL for (int done = begin; done < end; done += VF_BLOCK_Y)
    {
        vf_wait_copies();
        vf_sync();
        from += step;
        if (y + VF_BLOCK_Y < end)
            vf_bring_row(args, field, next, from, ends);
        vf_row_run run = {args};
        run.add_all(row + threadIdx.x * VF_RUN_APART, 0, [](int at) { return at + VF_RUN_APART; });
        vf_put_row(args, row, run, to, x, y < end);
        to += step;
        y += VF_BLOCK_Y;
        REAL *const taken = row;
        row = next;
        next = taken;
    }
}

#else

/* ---- along y and z ---- */

#define VF_RUN (VF_WORK_Y * VF_WORK_Z)
#define VF_WARPS (VF_BLOCK_Y * VF_BLOCK_Z)

typedef vf_columns<vf_line, VF_RUN, VF_WORK_X, VF_WARPS> vf_tile_columns;

VF_INLINE void vf_put_run(const vf_tile_columns &columns, int field, const vf_tile_columns::run &run,
                          int place)
{
    const VfArgs &args = columns.args;
    const int column = threadIdx.x * VF_WORK_X,
              wanted = columns.x + column < args.nx ? columns.end - place : 0;
    vf_out_0 *const to = (vf_out_0 *)args.out[field] + (columns.origin + column + place * columns.step);
    VF_UNROLL for (int m = 0; m < VF_RUN; m++)
        vf_write_pack_if(m < wanted, vf_rows_after(to, (unsigned)columns.step, (unsigned)m), run.sum[m]);
}

VF_INLINE void vf_sweep(const VfArgs &args, REAL *ring, int field, int tile_x, int tile_y, int tile_z)
{
    typedef vf_tile_columns tile;
    const tile columns(args, tile_x, tile_y, tile_z);
    const auto field_of = [&](int) { return field; };
    const int warp = threadIdx.y + threadIdx.z, lane = threadIdx.x;
    VF_NO_UNROLL for (int part = warp; part < tile::parts_before; part += VF_WARPS)
        columns.bring<1>(part, ring + part * tile::part_cells, 0, field_of);
    /* Where in the ring the warp's run begins, and where the next part that it brings goes. */
    int from = warp, to = tile::parts_before + warp, part = to;
    VF_NO_UNROLL for (int place = columns.begin; place < columns.end; place += VF_WARPS * VF_RUN)
    {
        vf_wait_copies();
        __syncthreads();
        if (place + VF_WARPS * VF_RUN < columns.end)
            columns.bring<1>(part, ring + to * tile::part_cells, 0, field_of);
        tile::run run = {args};
        run.add_all(ring + lane * VF_WORK_X, from * tile::part_cells, tile::after);
        vf_put_run(columns, field, run, place + warp * VF_RUN);
        part += VF_WARPS;
        to = tile::step_on(to);
        from = tile::step_on(from);
    }
}
#endif

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    VF_NO_UNROLL for (int field = 0; field < VF_INPUTS; field++)
    {
        if (field > 0)
            __syncthreads();
        vf_sweep(args, (REAL *)memory, field, tile_x, tile_y, tile_z);
    }
}

#include "kernels/device_entry.h"
