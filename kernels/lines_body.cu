/* Lines along y or z of several fields, and a stage of what they make, in one kernel. A block streams along
 * the lines as in long_line.cu, all fields at once, each with a ring of its own. A thread makes a run of
 * results of each field (kernels/device_run.h) and then computes the stage for these places one by one. The
 * stage reads the lines' results at the cell itself only, and other fields anywhere, through L1 and L2.
 *
 * It is the fastest if there are many fields, such as the products of a gradient that are smoothed before
 * their tensor is decomposed, since they are written and read once less. */
#include "kernels/device.h"
#include "kernels/device_cell.h"
#include "kernels/device_pack.h"
#include "kernels/device_run.h"

typedef vf_stage_0 vf_line;
typedef vf_stage_1 vf_body;

#define VF_RUN (VF_WORK_Y * VF_WORK_Z)
#define VF_WARPS (VF_BLOCK_Y * VF_BLOCK_Z)
#define VF_LINES vf_line::inputs

typedef vf_columns<vf_line, VF_RUN, 1, VF_WARPS> vf_tile_columns;

/* ---- the stage ---- */

struct vf_run_cell {
    const VfArgs &args;
    const long long first; /* the element with which the run begins */
    const int x, y, z;
    const int away; /* how many places the cell is from there along the line */
    const bool is_wanted;

    /* The array's cell that is so far away from this one. */
    template <class T> VF_MEMBER T *at(T *array, int planes, int rows, int columns) const
    {
        T *const row =
            vf_rows_away(vf_fixed(array + first), (int)args.plane, planes + (vf_line::halo_z > 0 ? away : 0));
        return vf_rows_away(row, (int)args.pitch, rows + (vf_line::halo_y > 0 ? away : 0)) + columns;
    }

    VF_MEMBER REAL read(int input, int dz, int dy, int dx)
    {
        const int to_x = dx == 0 ? 0 : vf_index_within(vf_input_halo_x(input), x + dx, args.nx) - x,
                  to_y = dy == 0 ? 0 : vf_index_within(vf_input_halo_y(input), y + dy, args.ny) - y,
                  to_z = dz == 0 ? 0 : vf_index_within(vf_input_halo_z(input), z + dz, args.nz) - z;
        const bool is_outside = VF_BOUNDARY == VF_CONSTANT && (x + to_x < 0 || y + to_y < 0 || z + to_z < 0);
        REAL one[1];
        vf_load_pack_from(
            args, input,
            [&](auto *in) {
                return at(in, is_outside ? 0 : to_z, is_outside ? 0 : to_y, is_outside ? 0 : to_x);
            },
            one);
        return is_outside ? vf_outside(args, input) : one[0];
    }
    VF_MEMBER void store(int output, REAL value)
    {
        const REAL one[1] = {value};
        vf_store_pack_if(
            is_wanted, args, output, [&](auto *out) { return at(out, 0, 0, 0); }, one);
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return vf_is_cell_open(args, x, y, z, axis, upper);
    }
};

/* Computes the stage at one cell of what the lines have made. Returns NaN if its short way leaves doubt. */
template <bool is_short, class Made> VF_INLINE REAL vf_make_cell(vf_run_cell cell, Made made)
{
    vf_cell_values<vf_run_cell> values = {cell};
    values.doubt = -REAL(0);
    VF_UNROLL for (int k = 0; k < VF_LINES; k++) values.value[vf_line::out(k) - VF_INPUTS] = made(k);
    vf_stage_view<vf_body, vf_run_cell, is_short> view = {values};
    vf_body::compute(view);
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) cell.store(k, values.value[vf_sink(k) - VF_INPUTS]);
    return values.doubt;
}

/* ---- the sweep ---- */

struct vf_fields {
    const vf_tile_columns columns;
    REAL *const memory;

    enum { apart = vf_tile_columns::ring * vf_tile_columns::part_cells };

    VF_MEMBER REAL *ring(int k) const
    {
        return memory + k * apart;
    }
    VF_MEMBER void bring(int part, int to) const
    {
        columns.bring<VF_LINES>(part, memory + to * vf_tile_columns::part_cells, apart,
                                [](int k) { return vf_line::in(k); });
    }
    /* Cell m of the run; beyond the tile the last one, which is not stored then. */
    VF_MEMBER vf_run_cell cell(int y, int z, long long first, int place, int m) const
    {
        const int x = columns.x + threadIdx.x, own = min(place + m, columns.end - 1);
        return {columns.args,
                first,
                x,
                vf_line::halo_z > 0 ? y : own,
                vf_line::halo_z > 0 ? own : z,
                own - place,
                place + m < columns.end};
    }
    /* Makes field k's sum at place m of the run that begins in part `from` again, which is rarely needed. */
    VF_MEMBER REAL sum(int k, int from, int m) const
    {
        REAL sum = 0;
        VF_NO_UNROLL for (int t = 0; t <= 2 * vf_tile_columns::reach; t++)
        {
            const int part = (from + (m + t) / VF_RUN) % vf_tile_columns::ring;
            const REAL weight = vf_param(columns.args, vf_line::first_param + t),
                       value = ring(k)[part * vf_tile_columns::part_cells +
                                       (m + t) % VF_RUN * vf_tile_columns::columns + threadIdx.x];
            sum = t == 0 ? weight * value : FMA(weight, value, sum);
        }
        return sum;
    }
};

/* Makes a run of each field, and the stage. */
VF_INLINE void vf_make_run(const vf_fields &fields, int y, int z, int from, long long first, int place)
{
    typedef vf_tile_columns tile;
    REAL made[VF_LINES][VF_RUN];
    VF_UNROLL for (int k = 0; k < VF_LINES; k++)
    {
        tile::run run = {fields.columns.args};
        run.add_all(fields.ring(k) + threadIdx.x, from * tile::part_cells, tile::after);
        VF_UNROLL for (int m = 0; m < VF_RUN; m++) made[k][m] = run.sum[m][0];
    }
    if (fields.columns.x + (int)threadIdx.x >= fields.columns.args.nx)
        return;
    REAL doubt = -REAL(0);
    VF_UNROLL for (int m = 0; m < VF_RUN; m++) doubt =
        doubt + vf_make_cell<true>(fields.cell(y, z, first, place, m), [&](int k) { return made[k][m]; });
    if (doubt != doubt)
        VF_NO_UNROLL for (int m = 0; m < VF_RUN; m++) vf_make_cell<false>(
            fields.cell(y, z, first, place, m), [&](int k) { return fields.sum(k, from, m); });
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    typedef vf_tile_columns tile;
    VF_SHARED_MEMORY(memory);
    const vf_fields fields = {tile(args, tile_x, tile_y, tile_z), (REAL *)memory};
    const int warp = threadIdx.y + threadIdx.z, z = args.z_begin + tile_z;
    VF_NO_UNROLL for (int part = warp; part < tile::parts_before; part += VF_WARPS) fields.bring(part, part);
    /* Where in the rings the warp's run begins, and where the next part that it brings goes. */
    int from = warp, to = tile::parts_before + warp, part = to;
    /* The element with which the run begins. Addresses are counted from it, as it is a variable of the loop.
     */
    long long first =
        fields.columns.origin + threadIdx.x + (fields.columns.begin + warp * VF_RUN) * fields.columns.step;
    VF_NO_UNROLL for (int place = fields.columns.begin; place < fields.columns.end;
                      place += VF_WARPS * VF_RUN)
    {
        vf_wait_copies();
        __syncthreads();
        if (place + VF_WARPS * VF_RUN < fields.columns.end)
            fields.bring(part, to);
        vf_make_run(fields, tile_y, z, from, first, place + warp * VF_RUN);
        first += VF_WARPS * VF_RUN * fields.columns.step;
        part += VF_WARPS;
        to = tile::step_on(to);
        from = tile::step_on(from);
    }
}

#include "kernels/device_entry.h"
