/* What the schemes share that sweep overlapped tiles along z with every plane in registers: a block takes a
 * tile and what lies around it (its room), of which at the grid's ends there is none; each of its threads has
 * some rows of a span of cells. Constants beside those of device.h, from kernels/gpu_sweep.c:
 *   VF_SWEEP_TILE_X, _Y    cells that a block inside the grid writes
 *   VF_SWEEP_ROOM_X, _Y    those before them, and behind, that it computes for their sake
 *   VF_SWEEP_END_X         cells of the grid of the thread in which its rows end
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
    int x, y;                 /* the thread's first cell */
    unsigned int at[VF_ROWS]; /* its rows, in elements from their plane's first: the grid's nearest */
    int first_row, rows;      /* those of the thread that the block writes: `rows` from the first */
    int begin, end;           /* the planes that it writes */
    int plane;                /* the source's newest */
    bool is_first, is_last;   /* the thread has the first cell of the grid's rows, the last */
    int origin_y;             /* the block's first row */
};

/* Beyond such an axis fields are computed as if the grid went on: the same values again. */
VF_INLINE bool vf_is_periodic(int n)
{
    return VF_BOUNDARY == VF_WRAP && n > 1;
}

/* ---- what stands outside the grid ---- */

/* vf_index of a place that may be farther outside than anybody asks for. */
VF_INLINE int vf_near_index(int i, int n)
{
    return vf_index(max(-n, min(i, 2 * n - 1)), n);
}

/* What is read `below` places before an axis' first cell, or `beyond` behind its last, which is at `last`. */
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

/* Cells behind the grid's last one, `beside` of them; those of the same thread first, which its neighbour
 * takes. */
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

/* A thread's cells of a row with those beside them, which threads beside it have. */
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

/* Where a thread's packs begin in memory. */
VF_INLINE int vf_held_column(const VfArgs &args, int x)
{
    if (!vf_is_periodic(args.nx))
        return min(x, (args.nx - 1) / VF_SPAN * VF_SPAN);
    if (VF_SWEEP_END_X == VF_SPAN)
        return vf_index(x, args.nx);
    return (unsigned)x < (unsigned)args.nx ? x : 0;
}

VF_INLINE long long vf_plane_start(const vf_sweep &sweep, int plane)
{
    const int n = sweep.args.nz;
    return vf_row(sweep.args, 0, vf_is_periodic(n) ? vf_index(plane, n) : max(0, min(plane, n - 1)));
}

/* Whether a thread's packs of a row are not in one place: they are around the row's end. */
VF_INLINE bool vf_is_parted(const vf_sweep &sweep)
{
    return vf_is_periodic(sweep.args.nx) && VF_SWEEP_END_X < VF_SPAN &&
           (sweep.x < 0 || sweep.x + VF_SPAN > sweep.args.nx);
}

/* Cell i of those whose pack would be at `at`. */
VF_INLINE long long vf_parted_at(const vf_sweep &sweep, unsigned int at, int i)
{
    return (long long)at - vf_held_column(sweep.args, sweep.x) + vf_index(sweep.x + i, sweep.args.nx);
}

/* Cells of a plane of a source, which begins at `start`; what is outside the grid is never used. */
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

/* An axis of the block's tile: at the grid's ends nothing beyond is computed. */
struct vf_side {
    int origin, begin, end; /* its first cell; those that it writes */
};

VF_INLINE vf_side vf_side_of(int tile, int size, int room, int covered, int n, bool slides)
{
    const bool periodic = vf_is_periodic(n);
    const int origin = tile * size - (periodic ? room : 0);
    const bool is_last = !periodic && origin + covered >= n;
    vf_side s = {origin, tile == 0 && !periodic ? 0 : origin + room,
                 is_last ? n : min(n, origin + room + size)};
    /* The tile before covers the rest. */
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

/* Rows beyond the grid are its nearest; what is in them is never used. */
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
