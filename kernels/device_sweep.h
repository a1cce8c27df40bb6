/* Shared by the schemes that sweep overlapped tiles along z and have planes in registers. A block computes a
 * tile and a margin around it, its room, which its neighbours compute too; at the grid's ends there is no
 * room. Each thread has VF_ROWS rows of VF_SPAN cells. Constants beside those of device.h, from
 * kernels/gpu_sweep.c:
 *   VF_SWEEP_TILE_X, _Y    cells that a block inside the grid writes, along x and y
 *   VF_SWEEP_ROOM_X, _Y    cells of its room on either side
 *   VF_SWEEP_END_X         how many cells of the span in which the grid's rows end are in the grid
 * Included after device_pack.h. */
#ifndef VF_DEVICE_SWEEP_H
#define VF_DEVICE_SWEEP_H

#define VF_ROWS VF_WORK_Y
#define VF_SPAN VF_WORK_X
#define VF_COVERED_X (VF_BLOCK_X * VF_SPAN)
#define VF_COVERED_Y (VF_BLOCK_Y * VF_ROWS)

typedef REAL vf_cells[VF_ROWS][VF_SPAN];

/* What a thread knows of its block's sweep. */
struct vf_sweep {
    const VfArgs &args;
    REAL *const shared;
    int x, y; /* the thread's first cell */
    unsigned int
        at[VF_ROWS];        /* where its rows are in a plane, in elements; beyond the grid, the nearest row */
    int first_row, rows;    /* the thread's rows that are written: `rows` of them, from `first_row` on */
    int begin, end;         /* the planes that are written */
    int plane;              /* the newest plane of the source */
    bool is_first, is_last; /* whether the thread has the first, the last cell of the grid's rows */
    int origin_y;           /* the block's first row */
};

/* ---- what stands outside the grid ---- */

/* vf_index for places that may be so far outside that their values are not used. */
VF_INLINE int vf_near_index(int i, int n)
{
    return vf_index(max(-n, min(i, 2 * n - 1)), n);
}

/* The cell that is read for the one `below` cells before an axis' first, which is cell 0, or `beyond` cells
 * behind its last, which is cell `last`. */
VF_INLINE constexpr int vf_place_below(int below)
{
    return VF_BOUNDARY == VF_REFLECT ? below - 1 : VF_BOUNDARY == VF_MIRROR ? below : 0;
}
VF_INLINE constexpr int vf_place_beyond(int last, int beyond)
{
    return VF_BOUNDARY == VF_REFLECT ? last + 1 - beyond : VF_BOUNDARY == VF_MIRROR ? last - beyond : last;
}
#define VF_OR_OUTSIDE(value) (VF_BOUNDARY == VF_CONSTANT ? outside : (value))

/* ---- cells beside a thread's own ---- */

VF_INLINE void vf_take_row(const REAL *from, REAL (&cell)[VF_SPAN])
{
    VF_UNROLL for (int first = 0; first < VF_SPAN; first += VF_PACK)
    {
        const vf_vector pack = *(const vf_vector *)(from + first);
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) cell[first + i] = vf_element(pack, i);
    }
}

VF_INLINE void vf_leave_row(REAL *to, const REAL (&cell)[VF_SPAN])
{
    VF_UNROLL for (int first = 0; first < VF_SPAN; first += VF_PACK)
    {
        REAL pack[VF_PACK];
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) pack[i] = cell[first + i];
        vf_set_pack(to + first, pack);
    }
}

/* Fills the `beside` cells behind the grid's last one: first, with `own`, those that the thread itself holds,
 * as the thread beside it takes these; then the others. */
template <int field, int beside>
VF_INLINE void vf_fill_behind(const vf_sweep &sweep, REAL (&wide)[VF_SPAN + 2 * beside], bool own)
{
    const REAL outside = vf_outside(sweep.args, field);
    VF_UNROLL for (int d = 1; d <= beside; d++)
    {
        const int to = VF_SWEEP_END_X - 1 + d, from = vf_place_beyond(VF_SWEEP_END_X - 1, d);
        if ((to < VF_SPAN) == own)
            wide[beside + to] = sweep.is_last ? VF_OR_OUTSIDE(wide[beside + from]) : wide[beside + to];
    }
}

/* A thread's cells of a row, and on either side `beside` cells from the threads beside it. */
template <int field, int beside>
VF_INLINE void vf_widen(const vf_sweep &sweep, const REAL (&own)[VF_SPAN], REAL (&wide)[VF_SPAN + 2 * beside])
{
    const REAL outside = vf_outside(sweep.args, field);
    VF_UNROLL for (int i = 0; i < VF_SPAN; i++) wide[beside + i] = own[i];
    VF_UNROLL for (int d = 1; d <= beside; d++) wide[beside - d] =
        __shfl_up_sync(0xffffffffu, own[VF_SPAN - d], 1, VF_BLOCK_X);
    vf_fill_behind<field, beside>(sweep, wide, true);
    VF_UNROLL for (int d = 0; d < beside; d++) wide[beside + VF_SPAN + d] =
        __shfl_down_sync(0xffffffffu, wide[beside + d], 1, VF_BLOCK_X);
    vf_fill_behind<field, beside>(sweep, wide, false);
    VF_UNROLL for (int d = 1; d <= beside; d++) wide[beside - d] =
        sweep.is_first ? VF_OR_OUTSIDE(wide[beside + vf_place_below(d)]) : wide[beside - d];
}

/* ---- memory ---- */

/* The column at which a thread reads; outside the grid any that is in it. */
VF_INLINE int vf_held_column(const VfArgs &args, int x)
{
    if (!vf_is_periodic(args.nx))
        return min(x, (args.nx - 1) / VF_SPAN * VF_SPAN);
    if (VF_SWEEP_END_X == VF_SPAN)
        return vf_index(x, args.nx);
    return (unsigned)x < (unsigned)args.nx ? x : 0;
}

/* The element with which a plane begins; outside the grid, a plane in it. */
VF_INLINE long long vf_plane_start(const vf_sweep &sweep, int plane)
{
    const int n = sweep.args.nz;
    return vf_row(sweep.args, 0, vf_is_periodic(n) ? vf_index(plane, n) : max(0, min(plane, n - 1)));
}

/* Whether a thread's cells of a row lie in two pieces, at the row's end and at its beginning (`wrap`). */
VF_INLINE bool vf_is_parted(const vf_sweep &sweep)
{
    return vf_is_periodic(sweep.args.nx) && VF_SWEEP_END_X < VF_SPAN &&
           (sweep.x < 0 || sweep.x + VF_SPAN > sweep.args.nx);
}

/* Then: the element of cell i of the row whose pack would be at `at`. */
VF_INLINE long long vf_parted_at(const vf_sweep &sweep, unsigned int at, int i)
{
    return (long long)at - vf_held_column(sweep.args, sweep.x) + vf_index(sweep.x + i, sweep.args.nx);
}

/* The thread's cells of a row, in the plane of a source that begins at `start`. Outside the grid they have
 * any value, which is not used. */
VF_INLINE void vf_load_row(const vf_sweep &sweep, int input, long long start, unsigned int at,
                           REAL (&cell)[VF_SPAN])
{
    if (vf_is_parted(sweep))
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++) cell[i] =
            vf_load(sweep.args, input, start + vf_parted_at(sweep, at, i));
    else
        vf_load_pack<VF_SPAN>(sweep.args, input, start + at, cell);
}

VF_INLINE void vf_load_cells(const vf_sweep &sweep, int input, int plane, vf_cells &cell)
{
    const long long start = vf_plane_start(sweep, plane);
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++) vf_load_row(sweep, input, start, sweep.at[j], cell[j]);
}

VF_INLINE void vf_store_cells(const vf_sweep &sweep, int output, int plane, const vf_cells &cell)
{
    const long long start = vf_row(sweep.args, 0, plane);
#define VF_STORE_CELLS_OF(k)                                                      \
    if (output == k) {                                                            \
        vf_out_##k *const to = vf_fixed((vf_out_##k *)sweep.args.out[k] + start); \
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)                               \
        {                                                                         \
            if ((unsigned)(j - sweep.first_row) < (unsigned)sweep.rows)           \
                vf_write_pack(to + sweep.at[j], cell[j]);                         \
        }                                                                         \
    }
    VF_EACH_OUTPUT(VF_STORE_CELLS_OF)
#undef VF_STORE_CELLS_OF
}

/* ---- tiles ---- */

/* The block along one axis. */
struct vf_side {
    int origin, begin, end; /* its first cell; it writes cells [begin, end) */
};

/* Of tile number `tile` along an axis of n cells, where a block has `covered` cells. If it `slides`, a block
 * at the axis' end is moved back until it ends there. */
VF_INLINE vf_side vf_side_of(int tile, int size, int room, int covered, int n, bool slides)
{
    const bool periodic = vf_is_periodic(n);
    const int origin = tile * size - (periodic ? room : 0);
    const bool is_last = !periodic && origin + covered >= n;
    vf_side s = {origin, tile == 0 && !periodic ? 0 : origin + room,
                 is_last ? n : min(n, origin + room + size)};
    /* The tile before reaches the end: nothing is left for this one. */
    if (!periodic && tile > 0 && origin - size + covered >= n)
        s.end = s.begin;
    if (slides && is_last)
        s.origin = max(0, n - covered);
    return s;
}

VF_INLINE vf_side vf_across(const VfArgs &args, int tile)
{
    return vf_side_of(tile, VF_SWEEP_TILE_X, VF_SWEEP_ROOM_X, VF_COVERED_X, args.nx, false);
}

VF_INLINE vf_side vf_down(const VfArgs &args, int tile)
{
    return vf_side_of(tile, VF_SWEEP_TILE_Y, VF_SWEEP_ROOM_Y, VF_COVERED_Y, args.ny, true);
}

VF_INLINE bool vf_is_empty(const vf_side &side)
{
    return side.begin >= side.end;
}

/* Where row y begins for a thread, in elements from its plane's first. Rows beyond the grid are its nearest
 * ones, and their values are not used. */
VF_INLINE unsigned int vf_row_at(const VfArgs &args, int x, int y)
{
    const int row = vf_is_periodic(args.ny) ? vf_index(y, args.ny) : max(0, min(y, args.ny - 1));
    return (unsigned)row * (unsigned)args.pitch + (unsigned)vf_held_column(args, x);
}

VF_INLINE void vf_begin_sweep(vf_sweep &sweep, const vf_side &across, const vf_side &down, int begin)
{
    const VfArgs &args = sweep.args;
    const int x = sweep.x, y = sweep.y;
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++) sweep.at[j] = vf_row_at(args, x, y + j);
    sweep.first_row = down.begin - y;
    sweep.rows = x >= across.begin && x < across.end ? down.end - down.begin : 0;
    sweep.begin = begin;
    sweep.end = args.z_end - begin < VF_STREAM ? args.z_end : begin + VF_STREAM;
    sweep.is_first = x == 0 && !vf_is_periodic(args.nx);
    sweep.is_last = x < args.nx && x + VF_SPAN >= args.nx && !vf_is_periodic(args.nx);
    sweep.origin_y = down.origin;
}

#endif
