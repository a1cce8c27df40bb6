/* One kernel sweeps several steps of an iteration, or a chain of stars or small tables. A block takes a tile
 * with its room (overlapped tiling along x and y) and streams along z. Each thread has the planes that a
 * stage reads at its own cells in registers. A plane that one stage completes is at once the newest plane of
 * the next stage, so that each stage is only its own reach behind the one before it. Cells beside a thread's
 * own come from the threads beside it by shuffles along x, and along y from shared memory, where every thread
 * leaves its first and last rows. All stages wait at one barrier a plane. The source's planes are copied to a
 * queue in shared memory, VF_TIME_AHEAD ahead, from which each thread takes its own cells.
 *
 * Tables reach one cell along each axis and diagonally. Their stages have sums in registers in place of
 * planes: the terms of one plane, whose rows are in shared memory since the last barrier, are added to the
 * three results that they belong to. Terms come in increasing (dz, dy, dx), as in associative.cu.
 *
 * To stream along one axis through registers is called "2.5D" by P. S. Rawat et al., Effective resource
 * management for enhancing performance of 2D and 3D stencils on GPUs (2016). One barrier for all steps of a
 * plane is from AN5D (K. Matsumura et al., 2020), where the planes of all steps are in shared memory.
 *
 * It is the fastest for iterations that would else be bound by memory. */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_sweep.h"

/* "Level" s is the field in which stage s reads neighbours. Constants beside those of device.h and
 * device_sweep.h, from kernels/time_stream.c:
 *   VF_TIME_TABLES         1: stages are tables; 0: stars
 *   VF_TIME_DELAY(s)       how many planes level s is behind the source; s = VF_STAGES: the result
 *   VF_TIME_REACH(s)       how many planes all stages before s reach together
 *   VF_TIME_LEVEL(s)       the number of the field
 *   VF_TIME_ROWS(s)        where the level's rows begin in shared memory, in elements
 *   VF_TIME_END_Y          how many rows are in the grid of the thread in which the grid ends along y
 *   VF_TIME_QUEUE          where the queue of the source's planes begins in shared memory, in bytes
 *   VF_TIME_AHEAD          how many planes are on their way to it
 *   VF_TIME_SHORT          1: the grid has fewer rows than a block, and no multiple of a thread's
 *   VF_TIME_ALL_ROWS       1: all rows of a thread are in shared memory, not only those that others read
 *   VF_TIME_TURN           how many times the loop over planes is written out */

/* ---- a level ---- */

/* What a thread holds for stage S: the planes that it reads, except the newest, and where in shared memory
 * the rows are that it reads next. */
template <class S, int number> struct vf_level {
    enum {
        reach = S::halo_z,
        side = S::halo_y,
        beside = S::halo_x,
        older_planes = VF_TIME_TABLES ? 1 : 2 * reach,
        depth = reach + 1, /* planes whose rows are in shared memory */
        shared_rows = VF_TIME_ALL_ROWS || VF_ROWS < 2 * side ? VF_ROWS : 2 * side,
        rows = VF_BLOCK_Y * shared_rows, /* of a slot; under `constant` there is one more, of the constant */
        slot_size = (rows + (VF_BOUNDARY == VF_CONSTANT)) * VF_COVERED_X,
        field = VF_TIME_LEVEL(number)
    };
    vf_cells older[older_planes > 0 ? older_planes : 1];
#if VF_TIME_TABLES
    /* The sums of two results: at the plane before the one whose rows are in shared memory, and at that one.
     */
    vf_cells sum[2];
#endif
    vf_cells aux[S::inputs];
    int slot; /* which of `depth` slots in shared memory has the rows that are read next */
    /* Where in a slot the thread's own rows are, and those before and behind them. */
    int own, above[side > 0 ? side : 1], below[side > 0 ? side : 1];

    static VF_MEMBER constexpr int shared_row(int row)
    {
        return VF_TIME_ALL_ROWS || row < side ? row : row - VF_ROWS + shared_rows;
    }

    /* Where in a slot a row is that is counted from the block's first. */
    static VF_MEMBER int place_of(int row)
    {
        return (row / VF_ROWS * shared_rows + shared_row(row % VF_ROWS)) * VF_COVERED_X +
               threadIdx.x * VF_SPAN;
    }

    /* Where the row is that is read for one beside the thread's own, by the boundary rule; any row if it is
     * not needed. */
    static VF_MEMBER int place_beside(const vf_sweep &sweep, int row)
    {
        const int n = sweep.args.ny, y = vf_is_periodic(n) ? row : vf_near_index(row, n),
                  within = max(0, min(y - sweep.origin_y, VF_COVERED_Y - 1));
        return VF_BOUNDARY == VF_CONSTANT && y < 0 ? rows * VF_COVERED_X + (int)threadIdx.x * VF_SPAN
                                                   : place_of(within);
    }

    VF_MEMBER void start(const vf_sweep &sweep)
    {
        slot = 0;
        own = (threadIdx.y * shared_rows) * VF_COVERED_X + threadIdx.x * VF_SPAN;
        VF_UNROLL for (int d = 0; d < side; d++)
        {
            above[d] = place_beside(sweep, sweep.y - side + d);
            below[d] = place_beside(sweep, sweep.y + VF_ROWS + d);
        }
        for (int i = 0; VF_BOUNDARY == VF_CONSTANT && side > 0 && threadIdx.y == 0 && i < depth * VF_SPAN;
             i++)
            at(sweep, i / VF_SPAN, rows * VF_COVERED_X)[threadIdx.x * VF_SPAN + i % VF_SPAN] =
                vf_outside(sweep.args, field);
    }

    VF_MEMBER REAL *at(const vf_sweep &sweep, int of, int place) const
    {
        return sweep.shared + VF_TIME_ROWS(number) + of * slot_size + place;
    }
};

/* Leaves the first and last rows of a level's newest plane for the threads before and behind along y. */
template <class L> VF_INLINE void vf_leave_rows(const vf_sweep &sweep, L &level)
{
    const int next = level.slot == 0 ? L::depth - 1 : level.slot - 1;
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
    {
        if (VF_TIME_ALL_ROWS || j < L::side || j >= VF_ROWS - L::side)
            vf_leave_row(level.at(sweep, next, level.own + L::shared_row(j) * VF_COVERED_X),
                         level.older[L::older_planes - 1][j]);
    }
    level.slot = level.slot + 1 == L::depth ? 0 : level.slot + 1;
}

/* Fills the planes before the grid's first, when the planes are there that they are equal to. */
template <class L> VF_INLINE void vf_fill_first(const vf_sweep &sweep, L &level, const vf_cells &newest)
{
    const REAL outside = vf_outside(sweep.args, L::field);
    VF_UNROLL for (int d = 1; d <= L::reach; d++)
    {
        const int from = L::reach + vf_place_below(d);
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) level.older[L::reach - d][j][i] =
                VF_OR_OUTSIDE(from < L::older_planes ? level.older[from][j][i] : newest[j][i]);
        }
    }
}

/* Makes `newest` the plane that is `beyond` planes behind the grid's last. */
template <class L>
VF_INLINE void vf_repeat_last(const vf_sweep &sweep, const L &level, int beyond, vf_cells &newest)
{
    const REAL outside = vf_outside(sweep.args, L::field);
    VF_UNROLL for (int d = 1; d <= L::reach; d++)
    {
        const int from = vf_place_beyond(L::older_planes - d, d);
        if (beyond == d)
            VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
            {
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++) newest[j][i] =
                    VF_OR_OUTSIDE(level.older[from][j][i]);
            }
    }
}

/* ---- the plane that is computed: its cells with those beside them ---- */

/* column[side + j] is the thread's row j, wide[j][beside + i] is cell i of that row. For tables it is
 * wide[side + j][beside + i], since these read neighbours along x in the rows beside the thread's own, too.
 */
template <class L> struct vf_star {
    REAL column[VF_ROWS + 2 * L::side][VF_SPAN];
    REAL wide[VF_ROWS + (VF_TIME_TABLES ? 2 * L::side : 0)][VF_SPAN + 2 * L::beside];
};

/* Fills rows behind the grid's last one, if that is not the last row of its thread. */
template <class L> VF_INLINE void vf_fill_column(const vf_sweep &sweep, vf_star<L> &star)
{
    const REAL outside = vf_outside(sweep.args, L::field);
    const bool is_last = sweep.y < sweep.args.ny && sweep.y + VF_ROWS > sweep.args.ny;
    VF_UNROLL for (int d = 1; d <= L::side && VF_TIME_END_Y - 1 + d < VF_ROWS; d++)
    {
        const int to = L::side + VF_TIME_END_Y - 1 + d,
                  from = L::side + vf_place_beyond(VF_TIME_END_Y - 1, d);
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++) star.column[to][i] =
            is_last ? VF_OR_OUTSIDE(star.column[from][i]) : star.column[to][i];
    }
}

template <class L>
VF_INLINE void vf_take_column(const vf_sweep &sweep, const L &level, const vf_cells &own, vf_star<L> &star)
{
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
    {
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++) star.column[L::side + j][i] = own[j][i];
    }
    VF_UNROLL for (int d = 0; d < L::side; d++)
    {
        vf_take_row(level.at(sweep, level.slot, level.above[d]), star.column[d]);
        vf_take_row(level.at(sweep, level.slot, level.below[d]), star.column[L::side + VF_ROWS + d]);
    }
    if (VF_TIME_SHORT)
        vf_fill_column<L>(sweep, star);
}

#if VF_TIME_TABLES

#define VF_TIME_TERM(t, dz, dy, dx) terms.add(t, dz, dy, dx);
#define VF_TIME_TERMS_OF(s)                                                                \
    template <class Terms> VF_INLINE void vf_each_term(const vf_stage_##s *, Terms &terms) \
    {                                                                                      \
        VF_TAPS_##s(VF_TIME_TERM)                                                          \
    }
VF_EACH_STAGE(VF_TIME_TERMS_OF)
#undef VF_TIME_TERMS_OF

/* Adds to a cell's sum the terms of the plane that is `along` planes away. */
template <class S, class L> struct vf_terms {
    const vf_sweep &sweep;
    const vf_star<L> &star;
    int j, i, along;
    bool is_outside; /* the plane is the constant */
    REAL sum;

    VF_MEMBER void add(int t, int dz, int dy, int dx)
    {
        if (dz != along)
            return;
        const REAL weight = vf_param(sweep.args, S::first_param + t),
                   value = is_outside ? vf_outside(sweep.args, L::field)
                                      : star.wide[L::side + j + dy][L::beside + i + dx];
        sum = t == 0 ? weight * value : FMA(weight, value, sum);
    }
};

template <class S, class L>
VF_INLINE REAL vf_add_terms(const vf_sweep &sweep, const vf_star<L> &star, int j, int i, int along,
                            bool is_outside, REAL sum)
{
    vf_terms<S, L> terms = {sweep, star, j, i, along, is_outside, sum};
    vf_each_term((const S *)nullptr, terms);
    return terms.sum;
}

/* Takes the newest plane that stage S reads, `cell`, and adds the terms of the plane before it. `cell`
 * becomes the plane of results that is complete with them. */
template <bool ends, class S, int number>
VF_INLINE void vf_advance(const vf_sweep &sweep, vf_level<S, number> &level, vf_cells &cell)
{
    typedef vf_level<S, number> L;
    const int newest = sweep.plane - VF_TIME_DELAY(number);
    const bool has_ends = ends && !vf_is_periodic(sweep.args.nz), is_first = has_ends && newest == 1;
    if (has_ends && newest >= sweep.args.nz)
        vf_repeat_last(sweep, level, newest - (sweep.args.nz - 1), cell);
    vf_star<L> star;
    vf_take_column(sweep, level, level.older[0], star);
    VF_UNROLL for (int row = 0; row < VF_ROWS + 2 * L::side; row++)
        vf_widen<L::field, L::beside>(sweep, star.column[row], star.wide[row]);
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
    {
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
        {
            const REAL result = vf_add_terms<S>(sweep, star, j, i, 1, false, level.sum[0][j][i]),
                       begun = vf_add_terms<S>(sweep, star, j, i, -1, false, REAL(0));
            /* The plane before the grid's first is equal to the first, or is the constant. */
            if (is_first)
                level.sum[1][j][i] = VF_BOUNDARY == VF_CONSTANT
                                         ? vf_add_terms<S>(sweep, star, j, i, -1, true, REAL(0))
                                         : begun;
            level.sum[0][j][i] = vf_add_terms<S>(sweep, star, j, i, 0, false, level.sum[1][j][i]);
            level.sum[1][j][i] = begun;
            level.older[0][j][i] = cell[j][i];
            cell[j][i] = result;
        }
    }
}

#else

/* The accessor that a stage sees. */
template <class S, class L> struct vf_level_view {
    enum { short_way = 0, whole_steps = 0 };
    const vf_sweep &sweep;
    const L &level;
    const vf_cells &newest;
    const vf_star<L> &star;
    vf_cells &result;
    int plane, j, i;

    VF_MEMBER REAL at(int input, int dz, int dy, int dx)
    {
        if (S::in(input) != L::field)
            return level.aux[input][j][i];
        if (dy != 0)
            return star.column[L::side + j + dy][i];
        if (dx != 0)
            return star.wide[j][L::beside + i + dx];
        return dz == L::reach ? newest[j][i] : level.older[L::reach + dz][j][i];
    }
    VF_MEMBER void put(int, REAL value)
    {
        result[j][i] = value;
    }
    VF_MEMBER REAL param(int p)
    {
        return vf_stage_param<S>(sweep.args, p);
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return axis == VF_X   ? vf_is_open(sweep.x + i, sweep.args.nx, upper)
               : axis == VF_Y ? vf_is_open(sweep.y + j, sweep.args.ny, upper)
                              : vf_is_open(plane, sweep.args.nz, upper);
    }
    template <class Lower> VF_MEMBER REAL lower_face(int, REAL, Lower lower)
    {
        return lower();
    }
    VF_MEMBER void doubt(REAL)
    {
    }
};

/* Takes the newest plane that stage S reads, `cell`, which becomes the newest plane that S makes. */
template <bool ends, class S, int number>
VF_INLINE void vf_advance(const vf_sweep &sweep, vf_level<S, number> &level, vf_cells &cell)
{
    typedef vf_level<S, number> L;
    const int newest = sweep.plane - VF_TIME_DELAY(number), plane = newest - L::reach;
    if (ends && !vf_is_periodic(sweep.args.nz)) {
        if (newest >= sweep.args.nz)
            vf_repeat_last(sweep, level, newest - (sweep.args.nz - 1), cell);
        if (plane == 0)
            vf_fill_first(sweep, level, cell);
    }
    const vf_cells &centre = L::reach > 0 ? level.older[L::reach > 0 ? L::reach : 0] : cell;
    vf_star<L> star;
    vf_take_column(sweep, level, centre, star);
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++) vf_widen<L::field, L::beside>(sweep, centre[j], star.wide[j]);
    vf_cells result;
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
    {
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
        {
            vf_level_view<S, L> view = {sweep, level, cell, star, result, plane, j, i};
            S::compute(view);
        }
    }
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
    {
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
        {
            VF_UNROLL for (int k = 0; k + 1 < L::older_planes; k++) level.older[k][j][i] =
                level.older[k + 1][j][i];
            if (L::older_planes > 0)
                level.older[L::older_planes - 1][j][i] = cell[j][i];
            cell[j][i] = result[j][i];
        }
    }
}

#endif

/* ---- memory ---- */

/* The queue of the source's planes in shared memory. Each thread copies and takes its own cells. */
template <class T> struct vf_queue {
    enum { whole = VF_SPAN * sizeof(T), bytes = whole > 16 ? 16 : whole, n = bytes / sizeof(T) };

    static VF_MEMBER T *at(const vf_sweep &sweep, int slot, int j)
    {
        return (T *)((unsigned char *)sweep.shared + VF_TIME_QUEUE) +
               ((slot * VF_ROWS + j) * VF_THREADS + vf_thread()) * VF_SPAN;
    }

    static VF_MEMBER void send(const vf_sweep &sweep, const T *plane, int slot)
    {
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
        {
            T *const to = at(sweep, slot, j);
            if (vf_is_parted(sweep))
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
                    vf_copy<sizeof(T)>(to + i, plane + vf_parted_at(sweep, sweep.at[j], i));
            else
                VF_UNROLL for (int i = 0; i < VF_SPAN; i += n)
                    vf_copy<bytes>(to + i, plane + sweep.at[j] + i);
        }
        vf_close_copies();
    }

    static VF_MEMBER void take(const vf_sweep &sweep, int slot, vf_cells &cell)
    {
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i += n)
            {
                typename vf_piece<T, n>::view view;
                view.whole = *(const typename vf_piece<T, n>::word *)(at(sweep, slot, j) + i);
                vf_widen_cells(view.element, cell[j] + i);
            }
        }
    }
};

VF_INLINE void vf_send(const vf_sweep &sweep, int plane, int slot)
{
#define VF_SEND_OF(k)                                                                                        \
    if (k == VF_TIME_LEVEL(0))                                                                               \
        vf_queue<vf_in_##k>::send(sweep, (const vf_in_##k *)sweep.args.in[k] + vf_plane_start(sweep, plane), \
                                  slot);
    VF_EACH_INPUT(VF_SEND_OF)
#undef VF_SEND_OF
}

VF_INLINE void vf_take(const vf_sweep &sweep, int slot, vf_cells &cell)
{
#define VF_TAKE_OF(k)          \
    if (k == VF_TIME_LEVEL(0)) \
        vf_queue<vf_in_##k>::take(sweep, slot, cell);
    VF_EACH_INPUT(VF_TAKE_OF)
#undef VF_TAKE_OF
}

/* Loads what stage S reads at the cell itself only, for the plane that it computes next. If the chunk does
 * not need that plane, it is the nearest one that it does. */
template <class S, int number> VF_INLINE void vf_load_aux(const vf_sweep &sweep, vf_level<S, number> &level)
{
    const int reach = VF_TIME_REACH(VF_STAGES) - VF_TIME_REACH(number + 1),
              plane = max(sweep.begin - reach,
                          min(sweep.plane - VF_TIME_DELAY(number + 1), sweep.end - 1 + reach));
    VF_UNROLL for (int k = 0; k < S::inputs; k++)
    {
        if (S::in(k) != vf_level<S, number>::field)
            vf_load_cells(sweep, S::in(k), plane, level.aux[k]);
    }
}

/* ---- the sweep ---- */

#define VF_TIME_LEVEL_OF(s) vf_level<vf_stage_##s, s> level_##s;
#define VF_TIME_START(s) level_##s.start(sweep);
#define VF_TIME_AUX(s) vf_load_aux(sweep, level_##s);
#define VF_TIME_ADVANCE(s) vf_advance<ends>(sweep, level_##s, cell);
#define VF_TIME_LEAVE(s)                     \
    if (vf_level<vf_stage_##s, s>::side > 0) \
        vf_leave_rows(sweep, level_##s);

struct vf_stream {
    vf_sweep sweep;
    int slot;   /* where in the queue the newest plane of the source is */
    int wanted; /* the last plane of the source that the chunk needs */
    VF_EACH_STAGE(VF_TIME_LEVEL_OF)

    /* One plane. `ends`: some level may be at the grid's first or last planes. */
    template <bool ends> VF_MEMBER void step()
    {
        vf_cells cell;
        vf_wait_copies<VF_TIME_AHEAD - 1>();
        vf_take(sweep, slot, cell);
        /* It goes to the slot of the plane before this one. */
        vf_send(sweep, min(sweep.plane + VF_TIME_AHEAD, wanted), slot == 0 ? VF_TIME_AHEAD : slot - 1);
        slot = slot == VF_TIME_AHEAD ? 0 : slot + 1;
        VF_EACH_STAGE(VF_TIME_AUX)
        VF_EACH_STAGE(VF_TIME_ADVANCE)
        if (sweep.plane - VF_TIME_DELAY(VF_STAGES) >= sweep.begin)
            vf_store_cells(sweep, 0, sweep.plane - VF_TIME_DELAY(VF_STAGES), cell);
        VF_EACH_STAGE(VF_TIME_LEAVE)
        __syncthreads();
        sweep.plane++;
    }

    VF_MEMBER void run()
    {
        const bool periodic = vf_is_periodic(sweep.args.nz);
        const int first = sweep.begin - VF_TIME_REACH(VF_STAGES), last = sweep.end + VF_TIME_DELAY(VF_STAGES);
        /* From inner_first on all that the last level reads is past the grid's first planes; before
         * inner_last all that the first level reads is in the grid. */
        const int inner_first = periodic ? first : VF_TIME_DELAY(VF_STAGES) + 1,
                  inner_last = periodic ? last : min(last, sweep.args.nz);
        sweep.plane = first < 0 && !periodic ? 0 : first;
        VF_EACH_STAGE(VF_TIME_START)
        if (VF_BOUNDARY == VF_CONSTANT)
            __syncthreads();
        slot = 0;
        wanted = sweep.end - 1 + VF_TIME_REACH(VF_STAGES);
        VF_UNROLL for (int i = 0; i < VF_TIME_AHEAD; i++) vf_send(sweep, min(sweep.plane + i, wanted), i);
        while (sweep.plane < last) {
            if (sweep.plane < inner_first || sweep.plane + VF_TIME_TURN > inner_last)
                step<true>();
            else
                VF_UNROLL for (int turn = 0; turn < VF_TIME_TURN; turn++) step<false>();
        }
        /* The block's next tile will use the same queue. */
        vf_wait_copies<0>();
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    const vf_side across = vf_across(args, tile_x), down = vf_down(args, tile_y);
    if (vf_is_empty(across) || vf_is_empty(down))
        return;
    const int x = across.origin + threadIdx.x * VF_SPAN, y = down.origin + threadIdx.y * VF_ROWS;
    vf_stream stream = {{args, (REAL *)memory, x, y}};
    vf_begin_sweep(stream.sweep, across, down, args.z_begin + tile_z * VF_STREAM);
    stream.run();
}

#include "kernels/device_entry.h"
