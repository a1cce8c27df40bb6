/* A stage, and lines along x and then y over all that it makes, in one kernel. A block streams along y. It
 * makes some rows of the stage in shared memory, each thread reading its own neighbourhood through L1 and L2;
 * sums them along x into a ring of rows for each field; and sums these along y. Sums are made in runs
 * (kernels/device_run.h).
 *
 * It is the fastest where body-lines is, if the next kernel takes the lines along z, as lines-body can: then
 * fields are written and read once, not three times. */
#include "kernels/device.h"

#define VF_BOX_HALO_X vf_stage_0::halo_x
#define VF_BOX_HALO_Y vf_stage_0::halo_y
#define VF_BOX_HALO_Z vf_stage_0::halo_z
#include "kernels/device_pack.h"
#include "kernels/device_box.h"
#include "kernels/device_global.h"
#include "kernels/device_line.h"
#include "kernels/device_run.h"

#define VF_RUN VF_WORK_Y

/* An odd number of packs, so that lanes which take a pack from each of eight rows, or four, read different
 * banks. */
VF_INLINE constexpr int vf_odd_packs(int cells)
{
    return (cells / VF_PACK | 1) * VF_PACK;
}

/* Rows of the stage: the tile's columns, and those beside it that lines along x reach. */
struct vf_made_rows {
    enum {
        border = vf_round_up(vf_stage_1::halo_x, VF_PACK),
        packs = (VF_TILE_X + 2 * border) / VF_PACK,
        pitch = vf_odd_packs(VF_TILE_X + 2 * border),
        cells = VF_RUN * pitch,
    };
};

#define VF_MADE_APART vf_made_rows::cells
#include "kernels/device_made.h"

typedef vf_stage_2 vf_line_y;

/* The rings of rows that have been summed along x, in parts of some rows each. */
struct vf_summed_rows {
    enum { pitch = vf_odd_packs(VF_TILE_X), part = VF_RUN * pitch };
};

typedef vf_run<vf_line, VF_ROW_RUN, 1, VF_PACK, vf_made_rows::border - vf_line::halo_x, 1> vf_row_run;
/* A thread sums a pack of columns along y. */
typedef vf_run<vf_line_y, VF_RUN, VF_PACK, 1, 0, vf_summed_rows::pitch> vf_column_run;

/* The number of a thread when rows are shared out. The last threads get the first ones, since the first
 * threads have columns to sum between the same barriers. */
VF_INLINE int vf_making_thread()
{
    return VF_THREADS - 1 - vf_thread();
}

/* The pack that a thread makes in each part, if there is one for it. */
struct vf_maker {
    enum { border = vf_made_rows::border };
    int row;   /* in the part; -1: the thread makes none */
    int x, at; /* the pack's column, perhaps outside the grid, and the one in the grid that is made for it */
    bool is_end; /* the pack is at an end of the grid's rows: its cells are made one by one */

    VF_MEMBER vf_maker(const VfArgs &args, int x0)
    {
        const int thread = vf_making_thread(), whole = args.nx & -VF_PACK;
        const bool repeats = VF_BOUNDARY == VF_NEAREST && whole == args.nx;
        x = x0 + thread % vf_made_rows::packs * VF_PACK - border;
        at = repeats ? min(max(x, 0), whole - VF_PACK) : x;
        row = thread / vf_made_rows::packs;
        if (row >= VF_RUN || at < 0 || at >= whole || x >= args.nx + border)
            row = -1;
        is_end = !repeats && (x0 < vf_line::halo_x || x0 + VF_TILE_X + vf_line::halo_x > whole);
    }
};

struct vf_plane {
    const VfArgs &args;
    const int x0, z, begin, end; /* the tile's first column; its rows */
    REAL *const made, *const summed;
    const vf_maker maker;
    const long long origin; /* the element of the tile's first column in row 0 */

    VF_MEMBER vf_plane(const VfArgs &a, int tile_x, int tile_y, int tile_z, REAL *memory)
        : args(a), x0(tile_x * VF_TILE_X), z(a.z_begin + tile_z), begin(tile_y * VF_STREAM),
          end(min(begin + VF_STREAM, a.ny)), made(memory), summed(memory + VF_OUTPUTS * vf_made_rows::cells),
          maker(a, x0), origin(vf_kept(vf_row(a, 0, z) + x0))
    {
    }

    /* The first row of a part, perhaps outside the grid. */
    VF_MEMBER int first_of(int part) const
    {
        return begin - vf_line_y::halo_y + part * VF_RUN;
    }
    /* The grid's row that is made for a row of a part; -1: none, or it is not needed. */
    VF_MEMBER int row_of(int part, int row) const
    {
        const int y = first_of(part) + row;
        return y < end + vf_line_y::halo_y ? vf_index(y, args.ny) : -1;
    }
    /* The element of the tile's first column in a row of the grid. */
    VF_MEMBER long long element_of(int y) const
    {
        return vf_rows_after(origin, (unsigned)args.pitch, (unsigned)y);
    }
    VF_MEMBER REAL *ring(int k) const
    {
        return summed + k * (vf_column_run::parts * vf_summed_rows::part);
    }

    VF_MEMBER void make(int part) const
    {
        enum { halo = vf_line::halo_x, border = vf_made_rows::border, pitch = vf_made_rows::pitch };
        if (maker.row >= 0) {
            const int y = row_of(part, maker.row);
            const bool is_deep = DIM == 2 || (z >= VF_BOX_HALO_Z && z + VF_BOX_HALO_Z < args.nz),
                       inside = VF_INTERIOR && is_deep && y >= VF_BOX_HALO_Y && y + VF_BOX_HALO_Y < args.ny;
            REAL pack[VF_OUTPUTS][VF_PACK];
            if (y >= 0)
                vf_make_whole(args, maker.x, maker.at, y, z, element_of(y) + (maker.at - x0), inside,
                              made + maker.row * pitch + (maker.x - x0 + border), pack);
        }
        if (maker.is_end) {
            const int whole = args.nx & -VF_PACK;
            REAL *const from = made + (border - x0);
            const auto row_at = [&](int r) { return row_of(part, r); };
            if (x0 < halo)
                vf_make_end<VF_RUN, pitch>(args, vf_making_thread(), z, x0 - halo, 0, from, row_at);
            if (x0 + VF_TILE_X + halo > whole)
                vf_make_end<VF_RUN, pitch>(args, vf_making_thread(), z, max(whole, x0 - halo),
                                           min(args.nx, x0 + VF_TILE_X) + halo, from, row_at);
        }
    }

    /* Sums rows along x, into place `slot` of the rings. */
    VF_MEMBER void sum_rows(int part, int slot) const
    {
        enum { runs = VF_TILE_X / VF_ROW_RUN, of_field = runs * VF_RUN };
        VF_NO_UNROLL for (unsigned n = vf_thread(); n < VF_OUTPUTS * of_field; n += VF_THREADS)
        {
            const unsigned row = n % VF_RUN, first = n / VF_RUN % runs * VF_ROW_RUN, k = n / of_field;
            REAL *const to = ring(k) + slot * vf_summed_rows::part + row * vf_summed_rows::pitch + first;
            vf_row_run run = {args};
            run.add_all(made + k * vf_made_rows::cells + row * vf_made_rows::pitch + first, 0,
                        [](int at) { return at + VF_ROW_RUN; });
            const bool is_outside = VF_BOUNDARY == VF_CONSTANT && row_of(part, row) < 0;
            VF_UNROLL for (int m = 0; m < VF_ROW_RUN; m += VF_PACK)
            {
                REAL pack[VF_PACK];
                VF_UNROLL for (int i = 0; i < VF_PACK; i++) pack[i] =
                    is_outside ? vf_outside(args, vf_line::out(k)) : run.sum[m + i][0];
                vf_set_pack(to + m, pack);
            }
        }
    }

    /* Sums columns, for rows from y0 on; what the first row reads begins at place `slot` of the rings. */
    VF_MEMBER void sum_columns(int y0, int slot) const
    {
        enum { packs = VF_TILE_X / VF_PACK };
        VF_NO_UNROLL for (unsigned n = vf_thread(); n < VF_OUTPUTS * packs; n += VF_THREADS)
        {
            const unsigned column = n % packs * VF_PACK, k = n / packs;
            vf_column_run run = {args};
            run.add_all(ring(k) + column, slot * vf_summed_rows::part, [](int at) {
                const int next = at + vf_summed_rows::part;
                return next < vf_column_run::parts * vf_summed_rows::part ? next : 0;
            });
            const int wanted = x0 + (int)column < args.nx ? end - y0 : 0;
            vf_out_0 *to = (vf_out_0 *)args.out[k] + (element_of(y0) + column);
            VF_UNROLL for (int m = 0; m < VF_RUN; m++, to = vf_rows_after(to, (unsigned)args.pitch, 1))
                vf_write_pack_if(m < wanted, to, run.sum[m]);
        }
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    const vf_plane plane(args, tile_x, tile_y, tile_z, (REAL *)memory);
    /* Each part is made while the part before it is summed along y. */
    int slot = vf_column_run::parts - 1, y0 = plane.begin - vf_column_run::parts * VF_RUN;
    VF_NO_UNROLL for (int part = -1; y0 < plane.end; part++, y0 += VF_RUN)
    {
        if (part >= 0)
            plane.sum_rows(part, slot);
        __syncthreads();
        if (y0 + VF_RUN < plane.end)
            plane.make(part + 1);
        slot = slot + 1 == vf_column_run::parts ? 0 : slot + 1;
        if (y0 >= plane.begin)
            plane.sum_columns(y0, slot);
        __syncthreads();
    }
}

#include "kernels/device_entry.h"
