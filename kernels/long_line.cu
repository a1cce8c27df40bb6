/* A line of weights along one axis, however long. A thread makes a run of VF_RUN results that follow one
 * another along the line, so that each value that it takes from shared memory serves all of them: for a
 * result that reaches R cells it takes (VF_RUN + 2R) / VF_RUN values, not 2R + 1.
 *
 * Along y and z a block streams along the line: each of its warps has 32 columns of VF_SPAN cells, makes a
 * run of each, and meanwhile brings as many cells of the runs to come; what the line reaches lies in a ring.
 * Along x a block takes one row after the other, of which it brings the next while it sums one.
 *
 * V. Volkov, Better performance at lower occupancy, GPU Technology Conference 2010, says why a thread should
 * make several results. It wins where lines are too long for sums in registers, one for each plane that they
 * reach, as associative and separable-stream have them.
 *
 * Variants: written, all of a line's terms; loop, over parts of it, which is less code, but the compiler
 * cannot name the weights then, and products wait for registers. */
#include "kernels/device.h"
#include "kernels/device_pack.h"

typedef vf_stage_0 vf_line;

#define VF_REACH (VF_HALO_X + VF_HALO_Y + VF_HALO_Z)
#if VF_HALO_X > 0
#define VF_RUN VF_WORK_X
#define VF_SPAN 1
#define VF_PAD ((VF_REACH + VF_PACK - 1) / VF_PACK * VF_PACK)
/* Values that a thread takes at once, and those before the first that it needs. */
#define VF_TAKEN VF_PACK
#define VF_NEEDLESS (VF_PAD - VF_REACH)
#define VF_APART 1
#else
#define VF_RUN (VF_WORK_Y * VF_WORK_Z)
#define VF_SPAN VF_WORK_X
#define VF_COLUMNS (32 * VF_SPAN)
#define VF_TAKEN 1
#define VF_NEEDLESS 0
#define VF_APART VF_COLUMNS
#endif

/* What a run reads, in parts of as many values as it has results. Those from WHOLE_BEGIN to WHOLE_END have a
 * term in each of them. */
enum {
    VF_PARTS = (VF_NEEDLESS + 2 * VF_REACH + 2 * VF_RUN - 1) / VF_RUN,
    VF_WHOLE_BEGIN = (VF_NEEDLESS + 2 * VF_RUN - 2) / VF_RUN,
    VF_WHOLE_LAST = (VF_NEEDLESS + 2 * VF_REACH + 1) / VF_RUN,
    VF_WHOLE_END = VF_WHOLE_LAST > VF_WHOLE_BEGIN ? VF_WHOLE_LAST : VF_WHOLE_BEGIN,
};

#if VF_VARIANT_LOOP || defined VF_ON_CPU
#define VF_UNROLL_PARTS VF_NO_UNROLL
#else
#define VF_UNROLL_PARTS VF_UNROLL
#endif

struct vf_run {
    const VfArgs &args;
    REAL sum[VF_RUN][VF_SPAN];

    /* The terms of value `number` of those that the run reads. */
    template <bool is_whole> VF_MEMBER void add(int number, const REAL *value)
    {
        VF_UNROLL for (int m = 0; m < VF_RUN; m++)
        {
            const int t = number - m;
            if (!is_whole && (t < 0 || t > 2 * VF_REACH))
                continue;
            const REAL weight = vf_param(args, vf_line::first_param + t);
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) sum[m][i] =
                !is_whole && t == 0 ? weight * value[i] : FMA(weight, value[i], sum[m][i]);
        }
    }

    template <bool is_whole> VF_MEMBER void add_part(int part, const REAL *from)
    {
        VF_UNROLL for (int k = 0; k < VF_RUN; k += VF_TAKEN)
        {
            const int number = part * VF_RUN - VF_NEEDLESS + k;
            if (!is_whole && number >= VF_RUN + 2 * VF_REACH)
                continue;
            REAL value[VF_TAKEN * VF_SPAN];
            vf_get_cells(from + k * VF_APART, value);
            VF_UNROLL for (int i = 0; i < VF_TAKEN; i++) add<is_whole>(number + i, value + i * VF_SPAN);
        }
    }

    /* All terms, of parts from shared[at] on; next(at): where the part after it is. */
    template <class Next> VF_MEMBER void add_all(const REAL *shared, int at, Next next)
    {
        VF_UNROLL for (int part = 0; part < VF_WHOLE_BEGIN; part++, at = next(at))
            add_part<false>(part, shared + at);
        VF_UNROLL_PARTS for (int part = VF_WHOLE_BEGIN; part < VF_WHOLE_END; part++, at = next(at))
            add_part<true>(part, shared + at);
        VF_UNROLL for (int part = VF_WHOLE_END; part < VF_PARTS; part++, at = next(at))
            add_part<false>(part, shared + at);
    }
};

/* A pack that is in the grid, in the compute type. */
VF_INLINE void vf_bring(vf_place to, const vf_in_0 *from)
{
    if constexpr (vf_same<vf_in_0, REAL>::yes)
        vf_copy_to<16>(to, from);
    else {
        REAL pack[VF_PACK];
        vf_read_pack(from, pack);
        vf_set_pack((REAL *)vf_pointer(to), pack);
    }
}

#if VF_HALO_X > 0

/* ---- along x ---- */

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

VF_INLINE void vf_sync()
{
    if (VF_THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* A row's results, by way of its place in shared memory: a thread's own lie side by side. */
VF_INLINE void vf_put_row(const VfArgs &args, REAL *row, const vf_run &run, vf_out_0 *to, int x,
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
    VF_UNROLL for (int n = 0; n < VF_RUN / VF_PACK; n++)
    {
        const int cell = (n * VF_BLOCK_X + threadIdx.x) * VF_PACK;
        REAL pack[VF_PACK];
        vf_get_cells(row + vf_in_row(cell), pack);
        vf_write_pack_if(is_wanted && x + cell < args.nx, to + (x + cell), pack);
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
    int y = begin + threadIdx.y;
    if (y < end)
        vf_bring_row(args, field, row, from, x);
    VF_NO_UNROLL for (int done = begin; done < end; done += VF_BLOCK_Y)
    {
        vf_wait_copies();
        vf_sync();
        from += step;
        if (y + VF_BLOCK_Y < end)
            vf_bring_row(args, field, next, from, x);
        vf_run run = {args};
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

#define VF_WARPS (VF_BLOCK_Y * VF_BLOCK_Z)
#define VF_PART_CELLS (VF_RUN * VF_COLUMNS)
/* Parts of the ring: what a step reads, and those of the next one. */
#define VF_RING (VF_PARTS - 1 + 2 * VF_WARPS)
#define VF_ROW_PACKS (VF_COLUMNS / VF_PACK)
#define VF_ROWS_AT_ONCE (32 / VF_ROW_PACKS)

VF_INLINE int vf_in_ring(int part)
{
    return part >= VF_RING ? part - VF_RING : part;
}

/* A tile of one field: its columns, and the places along the line that it computes. */
struct vf_columns {
    const VfArgs &args;
    const int field, x, begin, end, places; /* of the grid */
    const long long step;                   /* elements from one place to the next */
    const long long origin;                 /* the element of column x at place 0 */

    VF_MEMBER vf_columns(const VfArgs &a, int k, int tile_x, int tile_y, int tile_z)
        : args(a), field(k), x(tile_x * VF_COLUMNS),
          begin(VF_HALO_Z > 0 ? a.z_begin + tile_z * VF_STREAM : tile_y * VF_STREAM),
          end(min(begin + VF_STREAM, VF_HALO_Z > 0 ? a.z_end : a.ny)), places(VF_HALO_Z > 0 ? a.nz : a.ny),
          step(VF_HALO_Z > 0 ? a.plane : a.pitch),
          origin((VF_HALO_Z > 0 ? vf_row(a, tile_y, 0) : vf_row(a, 0, a.z_begin + tile_z)) + x)
    {
    }

    /* A warp brings the part of that number, counted from what the first run reads. */
    VF_MEMBER void bring(int part, REAL *to) const
    {
        const int lane = threadIdx.x, row = lane / VF_ROW_PACKS, column = lane % VF_ROW_PACKS * VF_PACK,
                  first = begin - VF_REACH + part * VF_RUN, reached = end + VF_REACH;
        if (x + column >= args.nx)
            return;
        const vf_in_0 *const from = (const vf_in_0 *)args.in[field] + (origin + column);
        REAL *const own = to + row * VF_COLUMNS + column;
        if (first >= 0 && first + VF_RUN <= min(places, reached)) {
            const vf_place place = vf_place_of(own);
            const vf_in_0 *const rows = from + (first + row) * step;
            VF_UNROLL for (int k = 0; k < VF_RUN; k += VF_ROWS_AT_ONCE)
                vf_bring(place + k * (int)(VF_COLUMNS * sizeof(REAL)),
                         vf_rows_after(rows, (unsigned)step, (unsigned)k));
            return;
        }
        VF_NO_UNROLL for (int k = row; k < VF_RUN && first + k < reached; k += VF_ROWS_AT_ONCE)
        {
            const int at = vf_index(first + k, places);
            REAL *const pack = own + (k - row) * VF_COLUMNS;
            if (VF_BOUNDARY != VF_CONSTANT || at >= 0)
                vf_bring(vf_place_of(pack), from + at * step);
            else
                VF_UNROLL for (int i = 0; i < VF_PACK; i++) pack[i] = vf_outside(args, field);
        }
    }

    VF_MEMBER void put(const vf_run &run, int place) const
    {
        const int column = threadIdx.x * VF_SPAN, wanted = x + column < args.nx ? end - place : 0;
        vf_out_0 *const to = (vf_out_0 *)args.out[field] + (origin + column + place * step);
        VF_UNROLL for (int m = 0; m < VF_RUN; m++)
            vf_write_pack_if(m < wanted, vf_rows_after(to, (unsigned)step, (unsigned)m), run.sum[m]);
    }
};

VF_INLINE void vf_sweep(const VfArgs &args, REAL *ring, int field, int tile_x, int tile_y, int tile_z)
{
    const vf_columns columns(args, field, tile_x, tile_y, tile_z);
    const int warp = threadIdx.y + threadIdx.z, lane = threadIdx.x;
    VF_NO_UNROLL for (int part = warp; part < VF_PARTS - 1 + VF_WARPS; part += VF_WARPS)
        columns.bring(part, ring + part * VF_PART_CELLS);
    /* Where in the ring the warp's run begins, and where the next part goes that it brings. */
    int from = warp, to = VF_PARTS - 1 + VF_WARPS + warp, part = to;
    VF_NO_UNROLL for (int place = columns.begin; place < columns.end; place += VF_WARPS * VF_RUN)
    {
        vf_wait_copies();
        __syncthreads();
        if (place + VF_WARPS * VF_RUN < columns.end)
            columns.bring(part, ring + to * VF_PART_CELLS);
        vf_run run = {args};
        run.add_all(ring + lane * VF_SPAN, from * VF_PART_CELLS, [](int at) {
            const int next = at + VF_PART_CELLS;
            return next < VF_RING * VF_PART_CELLS ? next : 0;
        });
        columns.put(run, place + warp * VF_RUN);
        part += VF_WARPS;
        to = vf_in_ring(to + VF_WARPS);
        from = vf_in_ring(from + VF_WARPS);
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
