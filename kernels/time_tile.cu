/* One kernel sweeps any run of stages: several steps of an iteration, or all stages of a filter. A block
 * takes a tile with what the stages reach around it (overlapped tiling along x and, in 3D, y) and streams
 * along z (2D: y). Each stage is so many planes behind the sources as it needs, its delay. Each field in
 * which neighbours are read has a ring of planes in shared memory; other fields are in registers only. What a
 * thread reads in its own column of cells it keeps in registers from step to step, and cells beside it come
 * from the warp's other threads. The streamed axis is cut into chunks, which several blocks stream at the
 * same time.
 *
 * From P. S. Rawat et al., Effective resource management for enhancing performance of 2D and 3D stencils on
 * GPUs (2016), algorithms 1 and 2, made general: any graph of stages, and rings as deep as the delays need.
 * In the variant `one-barrier` all stages of a step wait at one barrier, for which each is a plane further
 * behind, as in AN5D (Matsumura et al. 2020). The variant `lean` has a barrier after each group of stages,
 * and smaller rings.
 *
 * It is the fastest where single sweeps are bound by memory: iterations of cheap stencils. In 2D warp-stream
 * is faster if registers hold its rows. */
#include "kernels/device.h"
#include "kernels/device_pack.h"

/* The constants VF_TIME_... are from time_tile_layout.c, which says what they mean. In a step a thread
 * computes VF_TIME_PLANES planes * VF_TIME_ROWS_OF_THREAD rows * VF_WORK_X cells of each stage. */
#define VF_TIME_EACH_CELL                                                                              \
    VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++) VF_UNROLL for (int j = 0; j < G::together; j++) \
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)

/* What a thread knows of its block's sweep. */
struct vf_sweep {
    const VfArgs &args;
    REAL *ring;
    int x, row, z;      /* the place of the thread's first cell; `row` is y in 3D, z the image in 2D */
    int first_row;      /* the thread's first row, counted from the block's first */
    int at;             /* where the thread's first cell is in a ring's plane, in elements */
    int stream;         /* the first source plane of this step */
    int begin, end;     /* the planes that the block writes */
    int length, height; /* the grid's extent along the stream, and its rows in a plane */
    bool edges;         /* some of the block's cells are outside the grid, and filled by the boundary rule */
    int head[VF_TIME_CLOCKS > 0 ? VF_TIME_CLOCKS : 1]; /* where a ring's newest plane is */
};

VF_INLINE void vf_time_barrier()
{
    if (VF_THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* vf_index for a place near the grid, in little code: it is in many places, and runs seldom. */
VF_INLINE int vf_near_index(int i, int n)
{
    if (VF_BOUNDARY == VF_CONSTANT && n > 1)
        return (unsigned)i < (unsigned)n ? i : -1;
    if (VF_BOUNDARY == VF_NEAREST || n == 1)
        return i < 0 ? 0 : i < n ? i : n - 1;
    VF_NO_UNROLL while ((unsigned)i >= (unsigned)n)
    {
        if (VF_BOUNDARY == VF_WRAP)
            i += i < 0 ? n : -n;
        else
            i = (i < 0 ? 0 : 2 * n) - (VF_BOUNDARY == VF_REFLECT ? 1 : i < 0 ? 0 : 2) - i;
    }
    return i;
}

/* ---- rings ---- */

/* Where the plane is in a ring that is `back` planes older than the newest, in elements from its start. */
VF_INLINE int vf_ring_plane(const vf_sweep &sweep, int field, int back)
{
    const int plane = sweep.head[VF_TIME_CLOCK(field)] - back;
    return (plane < 0 ? plane + VF_TIME_DEPTH(field) : plane) * VF_TIME_STRIDE(field);
}

/* Where a field's ring begins in shared memory, less the rows that the block has before the ring's first: to
 * be added to sweep.at. */
VF_INLINE constexpr int vf_ring_start(int field)
{
    return VF_TIME_GUARD + VF_TIME_OFFSET(field) - VF_TIME_FIRST_ROW(field) * VF_TIME_COVERED_X;
}

/* Whether a thread has rows in the tile, or at most `reach` rows beside it. */
VF_INLINE bool vf_has_rows(const vf_sweep &sweep, int reach)
{
    return sweep.first_row + VF_TIME_ROWS_OF_THREAD > VF_TIME_ROOM_ROWS - reach &&
           sweep.first_row < VF_TIME_ROOM_ROWS + VF_TIME_TILE_ROWS + reach;
}

/* Whether the thread's rows are in the field's ring. */
VF_INLINE bool vf_keeps_rows(const vf_sweep &sweep, int field)
{
    return sweep.first_row >= VF_TIME_FIRST_ROW(field) &&
           sweep.first_row < VF_TIME_FIRST_ROW(field) + VF_TIME_ROWS(field);
}

VF_INLINE void vf_ring_put(REAL *to, const REAL (&cell)[VF_WORK_X])
{
#if VF_WORK_X % VF_PACK == 0
    VF_UNROLL for (int first = 0; first < VF_WORK_X; first += VF_PACK)
    {
        REAL pack[VF_PACK];
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) pack[i] = cell[first + i];
        vf_set_pack(to + first, pack);
    }
#else
    VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) to[i] = cell[i];
#endif
}

/* The element `column` elements from `at`, which is a multiple of a thread's cells. */
VF_INLINE REAL vf_ring_get(const REAL *ring, int at, int column)
{
#if VF_WORK_X % VF_PACK == 0
    const int pack = column >= 0 ? column / VF_PACK : -((VF_PACK - 1 - column) / VF_PACK);
    const vf_vector *from = (const vf_vector *)(ring + at) + pack;
    return vf_element(*from, column - pack * VF_PACK);
#else
    return ring[at + column];
#endif
}

/* ---- sources ---- */

/* Where a plane of the stream begins in memory, and how far it is to the next. */
VF_INLINE long long vf_plane_start(const vf_sweep &sweep, int plane)
{
    if (vf_is_periodic(sweep.length))
        plane = vf_near_index(plane, sweep.length);
    return DIM == 3 ? vf_row(sweep.args, 0, plane) : vf_row(sweep.args, plane, sweep.z);
}

VF_INLINE long long vf_plane_step(const vf_sweep &sweep)
{
    return DIM == 3 ? sweep.args.plane : sweep.args.pitch;
}

/* Loads the thread's row j of a source's plane that begins at `start`. Cells outside the grid are filled
 * later or, where the grid repeats itself, are loaded. */
template <bool inside>
VF_INLINE void vf_load_row(const vf_sweep &sweep, int input, long long start, int j, REAL (&cell)[VF_WORK_X])
{
    const VfArgs &args = sweep.args;
    int row = sweep.row + j;
    if (!inside && vf_is_periodic(sweep.height))
        row = vf_near_index(row, sweep.height);
    if (!inside && (unsigned)row >= (unsigned)sweep.height)
        return;
    const long long first = start + row * args.pitch;
    if (!inside && vf_is_periodic(args.nx) && (sweep.x < 0 || sweep.x + VF_WORK_X > args.nx))
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) cell[i] =
            vf_load(args, input, first + vf_near_index(sweep.x + i, args.nx));
    else if (inside || (unsigned)sweep.x < (unsigned)args.nx)
        vf_load_pack<VF_WORK_X>(args, input, first + sweep.x, cell);
}

/* Whether some of the `count` planes from `plane` on are made, of a field that is needed up to `reach` planes
 * beyond the chunk. */
VF_INLINE bool vf_is_made(const vf_sweep &sweep, int plane, int count, int reach)
{
    return plane + count > sweep.begin - reach && plane < sweep.end + reach &&
           (vf_is_periodic(sweep.length) || (plane + count > 0 && plane < sweep.length));
}

/* A thread's cells of a source that are on their way to its ring. */
struct vf_strip {
    REAL cell[VF_TIME_PLANES][VF_TIME_ROWS_OF_THREAD][VF_WORK_X];
};

template <bool inside>
VF_INLINE void vf_load_strip(const vf_sweep &sweep, int input, int stream, vf_strip &strip)
{
    if (!vf_keeps_rows(sweep, input))
        return;
    const int plane = stream - VF_TIME_DELAY(input), last = plane + VF_TIME_PLANES - 1;
    /* If there are no conditions between the planes, each address is one addition. */
    if (VF_TIME_PLANES > 1 && !vf_is_periodic(sweep.length) &&
        vf_is_made(sweep, plane, 1, VF_TIME_REACH(input)) &&
        vf_is_made(sweep, last, 1, VF_TIME_REACH(input))) {
        VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
            VF_UNROLL for (int j = 0; j < VF_TIME_ROWS_OF_THREAD; j++) vf_load_row<inside>(
                sweep, input, vf_plane_start(sweep, plane) + k * vf_plane_step(sweep), j, strip.cell[k][j]);
        return;
    }
    VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
    {
        if (vf_is_made(sweep, plane + k, 1, VF_TIME_REACH(input)))
            VF_UNROLL for (int j = 0; j < VF_TIME_ROWS_OF_THREAD; j++)
                vf_load_row<inside>(sweep, input, vf_plane_start(sweep, plane + k), j, strip.cell[k][j]);
    }
}

VF_INLINE void vf_keep_strip(const vf_sweep &sweep, int input, const vf_strip &strip)
{
    if (!vf_keeps_rows(sweep, input))
        return;
    VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
    {
        REAL *const plane = sweep.ring + vf_ring_start(input) + sweep.at +
                            vf_ring_plane(sweep, input, VF_TIME_PLANES - 1 - k);
        VF_UNROLL for (int j = 0; j < VF_TIME_ROWS_OF_THREAD; j++)
            vf_ring_put(plane + j * VF_TIME_COVERED_X, strip.cell[k][j]);
    }
}

/* ---- the boundary rule ---- */

/* Once all cells of a plane are made, those outside the grid get the value of one inside, or the constant.
 * One that is too far outside to be needed may correspond to a cell that the block does not have. */
VF_INLINE void vf_fill_cell(const vf_sweep &sweep, int field, REAL *plane, int j, int i)
{
    const VfArgs &args = sweep.args;
    const int row = sweep.row + j, x = sweep.x + i;
    const bool in_rows = (unsigned)row < (unsigned)sweep.height || vf_is_periodic(sweep.height),
               in_x = (unsigned)x < (unsigned)args.nx || vf_is_periodic(args.nx);
    if (in_rows && in_x)
        return;
    const int from_row = in_rows ? row : vf_near_index(row, sweep.height),
              from_x = in_x ? x : vf_near_index(x, args.nx);
    REAL *const to = plane + j * VF_TIME_COVERED_X + i;
    if (VF_BOUNDARY == VF_CONSTANT && (from_row < 0 || from_x < 0)) {
        *to = vf_outside(args, field);
        return;
    }
    const int ring_row = sweep.first_row + from_row - sweep.row - VF_TIME_FIRST_ROW(field),
              ring_x = (int)threadIdx.x * VF_WORK_X + from_x - sweep.x;
    if ((unsigned)ring_row < (unsigned)VF_TIME_ROWS(field) && (unsigned)ring_x < (unsigned)VF_TIME_COVERED_X)
        *to = plane[(from_row - sweep.row) * VF_TIME_COVERED_X + from_x - sweep.x];
}

VF_INLINE void vf_fill(const vf_sweep &sweep, int field)
{
    if (!VF_TIME_FILL(field) || !vf_keeps_rows(sweep, field))
        return;
    VF_NO_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
    {
        REAL *const plane = sweep.ring + vf_ring_start(field) + sweep.at +
                            vf_ring_plane(sweep, field, VF_TIME_PLANES - 1 - k);
        VF_NO_UNROLL for (int cell = 0; cell < VF_TIME_ROWS_OF_THREAD * VF_WORK_X; cell++)
            vf_fill_cell(sweep, field, plane, cell / VF_WORK_X, cell % VF_WORK_X);
    }
}

/* ---- stages ---- */

/* What a thread reads in its own column of cells, and keeps from step to step. */
template <class G> struct vf_columns {
    REAL cell[G::column_planes][VF_TIME_ROWS_OF_THREAD][VF_WORK_X];
};

/* What a thread computes for a group of stages in one step. `plane`: where the planes that it reads are in
 * their rings. `edge`: the cells beside its own. */
template <class G, bool inside> struct vf_span {
    const vf_sweep &sweep;
    const vf_columns<G> &columns;
    int stream;    /* the group's first plane */
    int first_row; /* the first of the thread's rows that are computed now; 0 unless there is a loop over them
                    */
    int plane[G::planes];
    REAL edge[G::edges][VF_TIME_ROWS_OF_THREAD];
    REAL value[VF_TIME_PLANES][G::together][VF_WORK_X][G::slots];

    VF_MEMBER bool is_open(int axis, bool upper, int k, int j, int i)
    {
        if (axis == (DIM == 3 ? VF_Z : VF_Y))
            return vf_is_open(stream + k, sweep.length, upper);
        return inside || (axis == VF_X ? vf_is_open(sweep.x + i, sweep.args.nx, upper)
                                       : vf_is_open(sweep.row + first_row + j, sweep.height, upper));
    }
};

/* Whether `edge` has the cells of a plane, which is counted from the first that is computed. */
template <class G> VF_INLINE constexpr bool vf_has_edges(int field, int plane)
{
    return plane >= -G::edge_halo(field) && plane < VF_TIME_PLANES + G::edge_halo(field);
}

/* Which element of `edge` is the cell of a column. That is counted from the thread's first cell, and is
 * before or behind its own ones. */
template <class G> VF_INLINE constexpr int vf_edge(int field, int plane, int column)
{
    return G::first_edge(field) + (plane + G::edge_halo(field)) * 2 * G::edge(field) +
           (column < 0 ? column : column - VF_WORK_X) + G::edge(field);
}

/* The accessor that stage S sees. */
template <class S, class G, bool inside> struct vf_time_view {
    enum { short_way = 0, whole_steps = 0 };
    vf_span<G, inside> &span;
    int k, j, i;

    VF_MEMBER REAL at(int input, int dz, int dy, int dx)
    {
        const int field = S::in(input), ds = DIM == 3 ? dz : dy, dr = DIM == 3 ? dy : 0;
        if (G::slot(field) >= 0 && ds == 0 && dr == 0 && dx == 0)
            return span.value[k][j][i][G::slot(field)];
        const int row = j + dr, column = i + dx;
        if (G::column(field) >= 0 && row >= 0 && row < VF_TIME_ROWS_OF_THREAD) {
            if (column >= 0 && column < VF_WORK_X)
                return span.columns.cell[G::column(field) + k + ds][row][column];
            if (G::edge(field) > 0 && vf_has_edges<G>(field, k + ds))
                return span.edge[vf_edge<G>(field, k + ds, column)][row];
        }
        const int plane = span.plane[G::centre(field) + k + ds];
        if (VF_BOUNDARY == VF_CONSTANT && (ds != 0 || VF_TIME_PLANES > 1) && plane < 0)
            return vf_outside(span.sweep.args, field);
        return vf_ring_get(span.sweep.ring,
                           vf_ring_start(field) + plane + span.sweep.at +
                               (span.first_row + j + dr) * VF_TIME_COVERED_X,
                           i + dx);
    }
    VF_MEMBER void put(int output, REAL value)
    {
        span.value[k][j][i][G::slot(S::out(output))] = value;
    }
    VF_MEMBER REAL param(int p)
    {
        return vf_stage_param<S>(span.sweep.args, p);
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return span.is_open(axis, upper, k, j, i);
    }
    template <class Lower> VF_MEMBER REAL lower_face(int, REAL, Lower lower)
    {
        return lower();
    }
    VF_MEMBER void doubt(REAL)
    {
    }
};

/* Finds where the planes are that a group reads in rings with the same newest plane and depth as `field`'s;
 * -1: the constant. Near the ends of the streamed axis the boundary rule is asked. */
template <class Span> VF_INLINE void vf_find_planes(Span &span, int first, int halo, int field, int delay)
{
    const vf_sweep &sweep = span.sweep;
    const int lowest = sweep.stream - delay - halo, count = VF_TIME_PLANES + 2 * halo,
              newest = sweep.stream - VF_TIME_DELAY(field) + VF_TIME_PLANES - 1;
    if (vf_is_periodic(sweep.length) || (lowest >= 0 && lowest + count <= sweep.length)) {
        VF_UNROLL for (int i = 0; i < count; i++) span.plane[first + i] =
            vf_ring_plane(sweep, field, delay - VF_TIME_DELAY(field) + VF_TIME_PLANES - 1 + halo - i);
        return;
    }
    VF_UNROLL for (int i = 0; i < count; i++)
    {
        const int plane = vf_near_index(lowest + i, sweep.length);
        /* For planes that are not needed any place will do. */
        const int back = max(0, min(newest - plane, VF_TIME_DEPTH(field) - 1));
        span.plane[first + i] =
            VF_BOUNDARY == VF_CONSTANT && plane < 0 ? -1 : vf_ring_plane(sweep, field, back);
    }
}

/* Reads a thread's own cells of a plane from its ring, or takes the constant. */
VF_INLINE void vf_read_own(const vf_sweep &sweep, int field, int plane,
                           REAL (&cell)[VF_TIME_ROWS_OF_THREAD][VF_WORK_X])
{
    VF_UNROLL for (int j = 0; j < VF_TIME_ROWS_OF_THREAD; j++)
    {
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
        {
            if (VF_BOUNDARY == VF_CONSTANT && plane < 0)
                cell[j][i] = vf_outside(sweep.args, field);
            else
                cell[j][i] = vf_ring_get(sweep.ring,
                                         vf_ring_start(field) + plane + sweep.at + j * VF_TIME_COVERED_X, i);
        }
    }
}

/* Moves a field's column of cells on by the planes of a step and reads the new ones. `fresh`: reads all. */
template <class G, bool inside>
VF_INLINE void vf_move_column(vf_span<G, inside> &span, vf_columns<G> &columns, int field, int halo,
                              int first, bool fresh)
{
    const int centre = G::centre(field) - halo;
    VF_UNROLL for (int i = 0; i < 2 * halo; i++)
    {
        if (fresh)
            vf_read_own(span.sweep, field, span.plane[centre + i], columns.cell[first + i]);
        else
            VF_UNROLL for (int j = 0; j < VF_TIME_ROWS_OF_THREAD; j++)
                VF_UNROLL for (int x = 0; x < VF_WORK_X; x++)
                    columns.cell[first + i][j][x] = columns.cell[first + i + VF_TIME_PLANES][j][x];
    }
    VF_UNROLL for (int i = 2 * halo; i < 2 * halo + VF_TIME_PLANES; i++)
        vf_read_own(span.sweep, field, span.plane[centre + i], columns.cell[first + i]);
}

/* Takes the cells beside a thread's own from the threads beside it; a warp is a row of threads. What comes at
 * the warp's ends is not needed. */
template <class G, bool inside>
VF_INLINE void vf_take_edges(vf_span<G, inside> &span, const vf_columns<G> &columns, int field)
{
    const int edge = G::edge(field), beyond = G::edge_halo(field);
    VF_UNROLL for (int k = -beyond; k < (edge > 0 ? VF_TIME_PLANES + beyond : -beyond); k++)
    {
        VF_UNROLL for (int j = 0; j < VF_TIME_ROWS_OF_THREAD; j++)
        {
            const REAL(&own)[VF_WORK_X] = columns.cell[G::column(field) + k][j];
            VF_UNROLL for (int i = 0; i < edge; i++)
            {
                span.edge[vf_edge<G>(field, k, i - edge)][j] =
                    __shfl_up_sync(0xffffffffu, own[VF_WORK_X - edge + i], 1);
                span.edge[vf_edge<G>(field, k, i + VF_WORK_X)][j] = __shfl_down_sync(0xffffffffu, own[i], 1);
            }
        }
    }
}

/* Reads a source that has no ring, as it is read at the cell itself only. */
template <class G, bool inside> VF_INLINE void vf_read_direct(vf_span<G, inside> &span, int input)
{
    VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
    {
        VF_UNROLL for (int j = 0; j < G::together; j++)
        {
            REAL cell[VF_WORK_X] = {};
            if (vf_is_made(span.sweep, span.stream + k, 1, G::reach_stream))
                vf_load_row<inside>(span.sweep, input, vf_plane_start(span.sweep, span.stream + k),
                                    span.first_row + j, cell);
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) span.value[k][j][i][G::slot(input)] = cell[i];
        }
    }
}

/* Puts what was made of a field into its ring. */
template <class G, bool inside> VF_INLINE void vf_keep(const vf_span<G, inside> &span, int field)
{
    const vf_sweep &sweep = span.sweep;
    if (!vf_keeps_rows(sweep, field))
        return;
    VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
    {
        REAL *const plane = sweep.ring + vf_ring_start(field) + sweep.at +
                            vf_ring_plane(sweep, field, VF_TIME_PLANES - 1 - k);
        VF_UNROLL for (int j = 0; j < G::together; j++)
        {
            REAL cell[VF_WORK_X];
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) cell[i] = span.value[k][j][i][G::slot(field)];
            vf_ring_put(plane + (span.first_row + j) * VF_TIME_COVERED_X, cell);
        }
    }
}

/* Writes the results that are in the tile and in the grid. */
template <class G, bool inside>
VF_INLINE void vf_deliver(const vf_span<G, inside> &span, int output, int field)
{
    const vf_sweep &sweep = span.sweep;
    const int column = (int)threadIdx.x * VF_WORK_X - VF_TIME_ROOM_X;
    if ((unsigned)column >= (unsigned)VF_TIME_TILE_X || (!inside && sweep.x >= sweep.args.nx))
        return;
    VF_UNROLL for (int k = 0; k < VF_TIME_PLANES; k++)
    {
        VF_UNROLL for (int j = 0; j < G::together; j++)
        {
            const int plane = span.stream + k, row = sweep.row + span.first_row + j;
            const int tile_row = sweep.first_row + span.first_row + j - VF_TIME_ROOM_ROWS;
            REAL cell[VF_WORK_X];
            if (plane < sweep.begin || plane >= sweep.end ||
                (unsigned)tile_row >= (unsigned)VF_TIME_TILE_ROWS || (!inside && row >= sweep.height))
                continue;
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) cell[i] = span.value[k][j][i][G::slot(field)];
            vf_store_pack<VF_WORK_X>(
                sweep.args, output,
                (DIM == 3 ? vf_row(sweep.args, row, plane) : vf_row(sweep.args, plane, sweep.z)) + sweep.x,
                cell);
        }
    }
}

#define VF_TIME_LOOK_UP(first, halo, field) vf_find_planes(span, first, halo, field, G::delay);
#define VF_TIME_COLUMN(field, halo, first)                    \
    vf_move_column(span, columns, field, halo, first, fresh); \
    vf_take_edges(span, columns, field);
#define VF_TIME_READ(input) vf_read_direct(span, input);
#define VF_TIME_COMPUTE(s, reach)                                     \
    if (reach == G::reach_rows || vf_has_rows(sweep, reach)) {        \
        vf_time_view<vf_stage_##s, G, inside> view = {span, k, j, i}; \
        vf_stage_##s::compute(view);                                  \
    }
#define VF_TIME_KEEP(field) vf_keep(span, field);
#define VF_TIME_DELIVER(output, field) vf_deliver(span, output, field);

#define VF_TIME_GROUP(g)                                                                                 \
    template <bool inside>                                                                               \
    VF_INLINE void vf_compute_group_##g(const vf_sweep &sweep, vf_columns<vf_group_##g> &columns)        \
    {                                                                                                    \
        typedef vf_group_##g G;                                                                          \
        const int stream = sweep.stream - G::delay;                                                      \
        if (!vf_is_made(sweep, stream, VF_TIME_PLANES, G::reach_stream) ||                               \
            !vf_has_rows(sweep, G::reach_rows))                                                          \
            return;                                                                                      \
        vf_span<G, inside> span = {sweep, columns, stream};                                              \
        VF_TIME_WINDOWS_##g(VF_TIME_LOOK_UP);                                                            \
        const bool fresh = !vf_is_made(sweep, stream - VF_TIME_PLANES, VF_TIME_PLANES, G::reach_stream); \
        (void)fresh;                                                                                     \
        VF_TIME_COLUMNS_##g(VF_TIME_COLUMN);                                                             \
        VF_NO_UNROLL for (int first = 0; first < VF_TIME_ROWS_OF_THREAD; first += G::together)           \
        {                                                                                                \
            span.first_row = first;                                                                      \
            VF_TIME_DIRECT_##g(VF_TIME_READ);                                                            \
            VF_TIME_EACH_CELL                                                                            \
            {                                                                                            \
                VF_TIME_STAGES_##g(VF_TIME_COMPUTE);                                                     \
            }                                                                                            \
            VF_TIME_RINGS_##g(VF_TIME_KEEP);                                                             \
            VF_TIME_SINKS_##g(VF_TIME_DELIVER);                                                          \
        }                                                                                                \
    }
VF_TIME_EACH_GROUP(VF_TIME_GROUP)

/* ---- the sweep ---- */

/* Barriers after which all threads find what groups have put into rings, and cells outside the grid. */
#define VF_TIME_FILL_ONE(field) vf_fill(sweep, field);
#define VF_TIME_FILL_GROUP(g) VF_TIME_RINGS_##g(VF_TIME_FILL_ONE)
#define VF_TIME_MEET(fill) \
    vf_time_barrier();     \
    if (sweep.edges) {     \
        fill;              \
        vf_time_barrier(); \
    }

template <bool inside> VF_INLINE void vf_stream(vf_sweep &sweep)
{
#define VF_TIME_STRIP(input) \
    vf_strip strip_##input;  \
    vf_load_strip<inside>(sweep, input, sweep.begin + VF_TIME_FIRST, strip_##input);
    VF_TIME_EACH_LOADED(VF_TIME_STRIP)
#define VF_TIME_DECLARE(g) vf_columns<vf_group_##g> columns_##g;
    VF_TIME_EACH_GROUP(VF_TIME_DECLARE)
    VF_NO_UNROLL for (sweep.stream = sweep.begin + VF_TIME_FIRST; sweep.stream - VF_TIME_LAST < sweep.end;
                      sweep.stream += VF_TIME_PLANES)
    {
#define VF_TIME_NEXT(input)                     \
    vf_keep_strip(sweep, input, strip_##input); \
    vf_load_strip<inside>(sweep, input, sweep.stream + VF_TIME_PLANES, strip_##input);
        VF_TIME_EACH_LOADED(VF_TIME_NEXT)
#if VF_TIME_LEAN
        VF_TIME_MEET(VF_TIME_EACH_LOADED(VF_TIME_FILL_ONE))
#define VF_TIME_GO(g)                                 \
    vf_compute_group_##g<inside>(sweep, columns_##g); \
    VF_TIME_MEET(VF_TIME_FILL_GROUP(g))
        VF_TIME_EACH_GROUP(VF_TIME_GO)
#else
#define VF_TIME_GO(g) vf_compute_group_##g<inside>(sweep, columns_##g);
        VF_TIME_EACH_GROUP(VF_TIME_GO)
        VF_TIME_MEET(VF_TIME_EACH_LOADED(VF_TIME_FILL_ONE) VF_TIME_EACH_GROUP(VF_TIME_FILL_GROUP))
#endif
#define VF_TIME_TURN(clock, depth)       \
    sweep.head[clock] += VF_TIME_PLANES; \
    sweep.head[clock] -= sweep.head[clock] >= depth ? depth : 0;
        VF_TIME_EACH_CLOCK(VF_TIME_TURN)
    }
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    const int x = tile_x * VF_TIME_TILE_X - VF_TIME_ROOM_X,
              row = DIM == 3 ? tile_y * VF_TIME_TILE_ROWS - VF_TIME_ROOM_ROWS : 0,
              first_row = DIM == 3 ? threadIdx.y * VF_TIME_ROWS_OF_THREAD : 0,
              column = threadIdx.x * VF_WORK_X;
    const int length = DIM == 3 ? args.nz : args.ny, height = DIM == 3 ? args.ny : 1,
              past = DIM == 3 ? args.z_end : args.ny;
    const int begin = DIM == 3 ? args.z_begin + tile_z * VF_STREAM : tile_y * VF_STREAM;
    const bool inside_x = x >= 0 && x + VF_TIME_COVERED_X <= args.nx,
               inside_rows = row >= 0 && row + VF_TIME_COVERED_ROWS <= height;
    vf_sweep sweep = {args,
                      (REAL *)memory,
                      x + column,
                      row + first_row,
                      args.z_begin + tile_z,
                      first_row,
                      first_row * VF_TIME_COVERED_X + column,
                      0,
                      begin,
                      past - begin < VF_STREAM ? past : begin + VF_STREAM,
                      length,
                      height,
                      (!inside_x && !vf_is_periodic(args.nx)) || (!inside_rows && !vf_is_periodic(height)),
                      {}};
    if (VF_INTERIOR && inside_x && inside_rows)
        vf_stream<true>(sweep);
    else
        vf_stream<false>(sweep);
}

#include "kernels/device_entry.h"
