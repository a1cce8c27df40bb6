/* A block streams through planes (2D: rows) as in register_stream.cu, but it holds sums and not planes. The
 * neighbourhood of a cell in one plane is loaded once, and its terms are added to the 2R + 1 results that
 * they belong to; with them the result R planes back is complete. Terms come in increasing (dz, dy, dx),
 * plane by plane, so that every sum is made in the reference's order.
 *
 * After P. S. Rawat et al., 2016, section 4.2, algorithm 3 at T = 1. It is the fastest for dense tables, of
 * which registers do not hold a ring of whole neighbourhoods, and for long lines along the streamed axis.
 *
 * Another constant, from the scheme: VF_AHEAD, how many planes are on their way; more than one only if a
 * thread reads nothing but its own cells of a plane. */
#include "kernels/device_stream.h"

#define VF_ROWS (VF_WORK_Y + 2 * VF_SIDE)
#define VF_COLUMNS (VF_SPAN + 2 * VF_HALO_X)
#define VF_MADE (VF_FIELDS - VF_INPUTS)
#define VF_HELD (VF_AHEAD + 1)
/* Whether there are many rows beside a thread's own. These are read when their plane's turn comes, from L1,
 * where the block's own loads have brought most of them: loaded a plane ahead they would take the registers.
 */
#define VF_LATE (VF_SIDE > 2)
/* Whether stages are lines along the streamed axis of one field. Then a plane takes few instructions beside
 * those that compute where it is. */
#define VF_LINES (VF_INPUTS == 1 && VF_OUTPUTS == 1 && VF_SIDE == 0 && VF_HALO_X == 0 && VF_WORK_Y == 1)

/* How far a stage reaches along the streamed axis, and the stage that makes a field. */
template <class S> VF_INLINE constexpr int vf_stage_reach()
{
    return DIM == 3 ? (int)S::halo_z : (int)S::halo_y;
}

VF_INLINE constexpr int vf_made_reach(int field)
{
    int reach = 0;
#define VF_LOOK(s)                                  \
    for (int k = 0; k < vf_stage_##s::outputs; k++) \
        if (vf_stage_##s::out(k) == field)          \
            reach = vf_stage_reach<vf_stage_##s>();
    VF_EACH_STAGE(VF_LOOK)
#undef VF_LOOK
    return reach;
}

/* Adds a term of the result from which the present plane is `along` planes away. */
#define VF_ADD_TERM(t, dz, dy, dx)                                                           \
    if ((DIM == 3 ? (dz) : (dy)) == along) {                                                 \
        const REAL value = plane[VF_SIDE + j + (DIM == 3 ? (dy) : 0)][VF_HALO_X + i + (dx)]; \
        sum = (t) == 0 ? weight(first + (t)) * value : FMA(weight(first + (t)), value, sum); \
    }

struct vf_scatter {
    const VfArgs &args;
    const vf_course course;
    const vf_columns columns;
    const int y;
    unsigned int row_at[VF_ROWS];
    /* The present plane and the next ones. */
    REAL value[VF_INPUTS][VF_HELD][VF_ROWS][VF_COLUMNS];
    REAL flank[VF_INPUTS][VF_ROWS][VF_FLANK];
    /* sum[m] is the sum for the result m planes after the one that is completed next. */
    REAL sum[VF_MADE][VF_REACH > 0 ? 2 * VF_REACH : 1][VF_WORK_Y][VF_SPAN];
    REAL result[VF_MADE][VF_WORK_Y][VF_SPAN];

    /* Sums are not initialised: those of the first results that are stored begin with a product. */
    VF_MEMBER vf_scatter(const VfArgs &a, const vf_course &c)
        : args(a), course(c), columns(vf_columns_of(a, c)), y(c.y + threadIdx.y * VF_WORK_Y)
    {
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++) row_at[row] = vf_row_of(args, y + row - VF_SIDE);
    }

    VF_MEMBER REAL weight(int i)
    {
        return vf_param(args, i);
    }

    static VF_MEMBER constexpr bool is_read(int k, int row)
    {
        return row >= VF_SIDE - vf_input_halo_y(k) && row < VF_SIDE + VF_WORK_Y + vf_input_halo_y(k);
    }

    /* Whether cells at other x are read in a row. */
    static VF_MEMBER constexpr bool is_wide(int k, int row)
    {
        return vf_input_halo_x(k) > 0 && is_read(k, row) && (VF_DIAGONAL(k) || is_own(row));
    }

    static VF_MEMBER constexpr bool is_own(int row)
    {
        return row >= VF_SIDE && row < VF_SIDE + VF_WORK_Y;
    }

    /* Loads the thread's own rows of a plane, or those beside them. */
    VF_MEMBER void load(int turn, int at, bool own)
    {
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            const long long plane = vf_plane_at(args, course, at, vf_input_reach(k));
            VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
            {
                if (is_own(row) != own || (DIM == 3 && !is_read(k, row)))
                    continue;
                vf_load_input(args, k, plane, row_at[row], columns, &value[k][turn][row][VF_HALO_X]);
                if (is_wide(k, row))
                    vf_load_input_flank(args, k, plane, row_at[row], columns, flank[k][row]);
            }
        }
    }

    VF_MEMBER void widen(int turn, int at)
    {
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            const long long plane = vf_plane_at(args, course, at, vf_input_reach(k));
            VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
            {
                if (!is_wide(k, row))
                    continue;
                vf_mend_input(args, k, plane, row_at[row], columns, &value[k][turn][row][VF_HALO_X]);
                vf_widen(value[k][turn][row], flank[k][row], columns.lane);
            }
        }
    }

    VF_MEMBER void scatter(int turn)
    {
#define VF_SCATTER(s)                                                                            \
    VF_UNROLL for (int k = 0; k < vf_stage_##s::inputs; k++)                                     \
    {                                                                                            \
        constexpr int reach = vf_stage_reach<vf_stage_##s>(), first = vf_stage_##s::first_param; \
        const REAL(&plane)[VF_ROWS][VF_COLUMNS] = value[vf_stage_##s::in(k)][turn];              \
        const int made = vf_stage_##s::out(k) - VF_INPUTS;                                       \
        VF_UNROLL for (int m = 0; m <= 2 * reach; m++)                                           \
        {                                                                                        \
            const int along = reach - m;                                                         \
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)                                        \
            {                                                                                    \
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++)                                      \
                {                                                                                \
                    REAL sum = m < 2 * reach ? this->sum[made][m][j][i] : REAL(0);               \
                    VF_TAPS_##s(VF_ADD_TERM) if (m > 0) this->sum[made][m - 1][j][i] = sum;      \
                    else result[made][j][i] = sum;                                               \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
    }
        VF_EACH_STAGE(VF_SCATTER)
#undef VF_SCATTER
    }

    /* The first element of the result's plane; any number if it is not stored. */
    VF_MEMBER long long plane_begin(int plane)
    {
        return DIM == 3 ? (unsigned int)(plane - args.z_base) * args.plane
                        : vf_row(args, plane, course.image);
    }

    VF_MEMBER bool is_there(int row)
    {
        return (!VF_RAGGED || columns.x < args.nx) && (DIM == 2 || y + row < args.ny);
    }

    /* Branches around the stores of dense tables, whose threads have many cells, save registers. */
    VF_MEMBER void store(int at)
    {
        VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
        {
            const int plane = at - vf_made_reach(vf_sink(k));
            const bool is_complete = plane >= course.begin && plane < course.end;
            if (VF_ANY_DIAGONAL && !is_complete)
                continue;
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                const REAL(&span)[VF_SPAN] = result[vf_sink(k) - VF_INPUTS][j];
                if (!VF_ANY_DIAGONAL)
                    vf_store_in_plane(args, is_complete && is_there(j), k, plane_begin(plane),
                                      row_at[VF_SIDE + j] + (unsigned int)columns.x, span);
                else if (is_there(j))
                    vf_store_span(args, k,
                                  DIM == 3 ? vf_row(args, y + j, plane) : vf_row(args, plane, course.image),
                                  columns.x, span);
            }
        }
    }

    /* Loads what is loaded of a plane ahead of its turn. */
    VF_MEMBER void send(int turn, int at)
    {
        load(turn, at, true);
        if (!VF_LATE)
            load(turn, at, false);
    }

    VF_MEMBER void step(int turn, int at)
    {
        if (VF_LATE)
            load(turn, at, false);
        widen(turn, at);
        send((turn + VF_AHEAD) % VF_HELD, at + VF_AHEAD);
        scatter(turn);
        store(at);
    }

    /* Turns are written out. The compiler does not always unroll a loop over them, and if it does not, the
     * arrays are in memory. */
#define VF_EACH_TURN(F) F(0) F(1) F(2) F(3) F(4)

    /* Whole rounds of turns, while all planes that they load are in the grid and all that they complete are
     * in the chunk: then each plane is one step in memory from the one before. */
    VF_MEMBER int go_through(int at)
    {
        const int n = VF_FLAT ? args.ny : args.nz, loaded = min(course.end + VF_REACH, n) - VF_AHEAD;
        const long long stride = VF_FLAT ? args.pitch : args.plane;
        if (at < course.begin + VF_REACH || at + VF_HELD > loaded)
            return at;
        const vf_in_0 *from = (const vf_in_0 *)args.in[0] +
                              vf_plane_at(args, course, at + VF_AHEAD, VF_REACH) + (row_at[0] + columns.held);
        vf_out_0 *to =
            (vf_out_0 *)args.out[0] + plane_begin(at - VF_REACH) + (row_at[0] + (unsigned int)columns.x);
        do {
#define VF_TURN(turn)                                                            \
    if (turn < VF_HELD) {                                                        \
        vf_load_vector<VF_SPAN>(from, value[0][(turn + VF_AHEAD) % VF_HELD][0]); \
        scatter(turn % VF_HELD);                                                 \
        vf_store_vector_if(is_there(0), to, result[0][0]);                       \
        from = vf_kept(from + stride);                                           \
        to = vf_kept(to + stride);                                               \
    }
            VF_EACH_TURN(VF_TURN)
#undef VF_TURN
            at += VF_HELD;
        } while (at + VF_HELD <= loaded);
        return at;
    }

    VF_MEMBER void sweep()
    {
        int at = course.begin - VF_REACH;
        VF_UNROLL for (int i = 0; i < VF_AHEAD; i++) send(i, at + i);
        for (;;) {
            if (VF_LINES)
                at = go_through(at);
#define VF_TURN(turn)                      \
    if (turn < VF_HELD) {                  \
        step(turn % VF_HELD, at);          \
        if (++at >= course.end + VF_REACH) \
            return;                        \
    }
            VF_EACH_TURN(VF_TURN)
#undef VF_TURN
        }
    }
};

static_assert(VF_HELD <= 5, "as many turns as are written out");

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    vf_scatter scatter(args, vf_course_of(args, tile_x, tile_y, tile_z));
    scatter.sweep();
}

#include "kernels/device_entry.h"
