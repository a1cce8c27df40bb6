/* A block takes a tile of rows (2D: a piece of one row) and streams through the planes (rows) of its chunk of
 * the grid, each of which is read once. Every thread holds a ring of planes of its own spans, of 16 bytes
 * each, in registers. Neighbours along x come from other threads by shuffles. Those along y come from L1
 * (variant `direct`), or from two planes in shared memory that are written in turns, so that there is one
 * barrier a plane (variant `shared`). The next plane is on its way while one is computed. Neighbours along x
 * and y are taken no earlier than for the plane in which some stage reads them: a star needs them in one
 * plane at a time.
 *
 * After "2.5D" streaming with registers: P. S. Rawat et al., 2016, sections 3.2 and 4.2, algorithm 2 at T = 1
 * (serial and concurrent streaming); S. Tabik et al., 2015, algorithm 3. It is the fastest for single sweeps
 * that are bound by memory: stars of any reach, small boxes, bodies of few inputs.
 *
 * Further constants, from the scheme:
 *   VF_TURN       planes in a turn of the loop: VF_RING, so that planes of the ring are renamed as they grow
 *                 older, or 1, so that they are copied
 *   VF_RARE_NAN   1: the sum of a thread's results tells whether any of them is NaN */
#define VF_FIXED_PLANES 1
#define VF_FOLDED_ONCE (!VF_SMALL_INPUTS || VF_TURN > 1)
#include "kernels/device_cell.h"
#include "kernels/device_stream.h"

#define VF_RING (2 * VF_REACH + 2)
/* How many planes are held with their neighbours. It divides VF_RING, so that both are renamed together. */
#define VF_WINDOW (VF_MOST_CROSS == 0 ? 2 : VF_RING)
#define VF_ROWS (VF_WORK_Y + 2 * VF_SIDE)
#define VF_COLUMNS (VF_SPAN + 2 * VF_HALO_X)

/* Whether any cells are read that are not in a thread's own column. */
VF_INLINE constexpr bool vf_has_beside(int k)
{
    return vf_input_halo_x(k) > 0 || (DIM == 3 && vf_input_halo_y(k) > 0);
}

/* How many planes ahead of the present one an input's own rows are in the ring. */
VF_INLINE constexpr int vf_ahead(int k)
{
    return vf_has_beside(k) && VF_MOST_CROSS > vf_input_reach(k) ? VF_MOST_CROSS : vf_input_reach(k);
}

/* Where the plane at an offset from the present one is held: its own spans, and these with their neighbours.
 */
VF_INLINE constexpr int vf_slot(int turn, int offset)
{
    return (turn + offset + VF_REACH) % VF_RING;
}
VF_INLINE constexpr int vf_window(int turn, int offset)
{
    return (turn + offset + VF_REACH) % VF_WINDOW;
}

/* What a thread holds. In `wide` row 0 is the first that it reads above its own, and column 0 the first
 * before its span. */
struct vf_ring {
    REAL own[VF_INPUTS][VF_RING][VF_WORK_Y][VF_SPAN];
    REAL wide[VF_INPUTS][VF_WINDOW][VF_ROWS][VF_COLUMNS];
    REAL flank[VF_INPUTS][VF_ROWS][VF_FLANK]; /* of the newest plane that neighbours are fetched of */
};

/* The values of faces along the streamed axis: the upper ones of a plane are the lower ones of the next. */
struct vf_faces {
    enum { stages = VF_STAGES > 0 ? VF_STAGES : 1 }; /* a copy has none */
    REAL lower[stages][VF_WORK_Y][VF_SPAN], upper[stages][VF_WORK_Y][VF_SPAN];

    VF_MEMBER void turn_over()
    {
        VF_UNROLL for (int stage = 0; stage < VF_STAGES; stage++)
        {
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++) lower[stage][j][i] = upper[stage][j][i];
            }
        }
    }
};

/* Why a plane is computed: for its results; again, if short ways left doubt; or, once in a chunk, for its
 * lower faces only, before the first plane. */
enum vf_pass { VF_LOWER_FACES, VF_COMPUTED, VF_AGAIN };

struct vf_stream_cell {
    const VfArgs &args;
    const vf_ring &ring;
    const int turn, row, column; /* the cell is at this row and column of the thread's own */
    const int x, y, plane;
    REAL *const result; /* [VF_OUTPUTS][VF_SPAN], those of the cell's place in the span */
    vf_faces &faces;
    const vf_pass pass;

    VF_MEMBER REAL read(int input, int dz, int dy, int dx)
    {
        const int along = DIM == 3 ? dz : dy, side = DIM == 3 ? dy : 0;
        /* Bodies that read diagonal neighbours read the own column from `wide` too: what two cells compute of
         * the same values is the same to the compiler then. */
        const bool diagonal =
            VF_BODIES > 0 && VF_CROSS(input) > 0 && along <= VF_CROSS(input) && -along <= VF_CROSS(input);
        const REAL value =
            side == 0 && dx == 0 && !diagonal
                ? ring.own[input][vf_slot(turn, along)][row][column]
                : ring.wide[input][vf_window(turn, along)][VF_SIDE + row + side][VF_HALO_X + column + dx];
        /* What the long way has in common with the short one would take registers from one to the other. */
        return pass == VF_AGAIN ? vf_unknown(value) : value;
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return axis == VF_X               ? vf_is_open(x, args.nx, upper)
               : axis == VF_Y && DIM == 3 ? vf_is_open(y, args.ny, upper)
                                          : vf_is_open(plane, DIM == 3 ? args.nz : args.ny, upper);
    }
    template <class Lower> VF_MEMBER REAL lower_face(int stage, REAL upper, Lower lower)
    {
        REAL &kept = faces.lower[stage][row][column];
        if (pass == VF_LOWER_FACES)
            kept = lower();
        else
            faces.upper[stage][row][column] = upper;
        return kept;
    }
    VF_MEMBER void store(int output, REAL value)
    {
        result[output * VF_SPAN] = value;
    }
};

/* ---- rows above and below, from shared memory ---- */

#if VF_VARIANT_SHARED
#define VF_SHARED_ROWS (VF_BLOCK_Y * VF_WORK_Y + 2 * VF_SIDE)
/* How many cells before and behind the tile are in shared memory; some only if diagonal neighbours are read.
 */
#define VF_SHARED_EDGE (VF_ANY_DIAGONAL ? VF_AWAY * VF_SPAN : 0)
#define VF_SHARED_PITCH (VF_BLOCK_X * VF_SPAN + 2 * VF_SHARED_EDGE)
/* How many of the rows beside the tile a thread brings. */
#define VF_BROUGHT ((2 * VF_SIDE + VF_BLOCK_Y - 1) / VF_BLOCK_Y)

/* The number of input k among those that are in shared memory. */
VF_INLINE constexpr int vf_shared_input(int k)
{
    int n = 0;
    for (int i = 0; i < k; i++)
        n += vf_input_halo_y(i) > 0;
    return n;
}

struct vf_brought {
    REAL span[VF_INPUTS][VF_BROUGHT][VF_SPAN], flank[VF_INPUTS][VF_BROUGHT][VF_FLANK];
};

/* A row of a plane in shared memory, where the thread's span begins. */
VF_INLINE REAL *vf_shared_row(REAL *shared, int input, int plane, int row)
{
    const int buffer = 2 * vf_shared_input(input) + (plane & 1);
    return shared + (buffer * VF_SHARED_ROWS + row) * VF_SHARED_PITCH + VF_SHARED_EDGE +
           threadIdx.x * VF_SPAN;
}

/* Which row of the tile row i of those that a thread brings is; none if it is VF_SHARED_ROWS or more. */
VF_INLINE int vf_brought_row(int i)
{
    const int row = threadIdx.y + i * VF_BLOCK_Y;
    return row < VF_SIDE ? row : row + VF_BLOCK_Y * VF_WORK_Y;
}

VF_INLINE void vf_share_flank(REAL *row, const REAL *flank, int lane)
{
    VF_UNROLL for (int d = 1; d <= VF_HALO_X; d++)
    {
        const int away = (d + VF_SPAN - 1) / VF_SPAN, from = (away - 1) * VF_SPAN,
                  n = VF_HALO_X - from < VF_SPAN ? VF_HALO_X - from : VF_SPAN;
        /* Inner segments' ends are other threads' spans. */
        if (lane < away && (int)threadIdx.x < away)
            row[-from - n + (d - 1 - from)] = flank[d - 1];
        else if (lane >= VF_SEGMENT - away && (int)threadIdx.x >= VF_BLOCK_X - away)
            row[from + VF_SPAN + (d - 1 - from)] = flank[d - 1];
    }
}

VF_INLINE void vf_take_flank(const REAL *row, int lane, REAL *flank)
{
    VF_UNROLL for (int d = 1; d <= VF_HALO_X; d++)
    {
        const int away = (d + VF_SPAN - 1) / VF_SPAN, from = (away - 1) * VF_SPAN,
                  n = VF_HALO_X - from < VF_SPAN ? VF_HALO_X - from : VF_SPAN;
        if (lane < away)
            flank[d - 1] = row[-from - n + (d - 1 - from)];
        else if (lane >= VF_SEGMENT - away)
            flank[d - 1] = row[from + VF_SPAN + (d - 1 - from)];
    }
}
#endif

/* ---- the sweep ---- */

struct vf_stream {
    const VfArgs &args;
    const vf_course course;
    const vf_columns columns;
    const int y;
    unsigned int row_at[VF_ROWS];
    vf_ring ring;
    vf_faces faces;
#if VF_VARIANT_SHARED
    REAL *const shared;
    unsigned int brought_at[VF_BROUGHT];
    vf_brought brought;
#endif

    /* The ring is not initialised: it is filled before it is read. */
    VF_MEMBER vf_stream(const VfArgs &a, const vf_course &c, REAL *memory)
        : args(a), course(c), columns(vf_columns_of(a, c)), y(c.y + threadIdx.y * VF_WORK_Y)
#if VF_VARIANT_SHARED
          ,
          shared(memory)
#endif
    {
        (void)memory;
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++) row_at[row] = vf_row_of(args, y + row - VF_SIDE);
#if VF_VARIANT_SHARED
        VF_UNROLL for (int i = 0; i < VF_BROUGHT; i++) brought_at[i] =
            vf_row_of(args, course.y + vf_brought_row(i) - VF_SIDE);
#endif
    }

    static VF_MEMBER constexpr bool is_own(int row)
    {
        return row >= VF_SIDE && row < VF_SIDE + VF_WORK_Y;
    }

    /* Whether an input is read in rows beside the thread's own. */
    static VF_MEMBER constexpr bool is_beside(int k, int row)
    {
        return !is_own(row) && row >= VF_SIDE - vf_input_halo_y(k) &&
               row < VF_SIDE + VF_WORK_Y + vf_input_halo_y(k);
    }

    /* Spans of the own rows. */
    VF_MEMBER void load_own(int k, int slot, int plane)
    {
        const long long at = vf_plane_at(args, course, plane, vf_input_reach(k));
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            vf_load_input(args, k, at, row_at[VF_SIDE + j], columns, ring.own[k][slot][j]);
    }

    /* What is read beside them, as far as it comes from memory. */
    VF_MEMBER void load_beside(int k, int window, int plane)
    {
        const long long at = vf_plane_at(args, course, plane, VF_CROSS(k));
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
        {
            if (!is_own(row) && (VF_VARIANT_SHARED || !is_beside(k, row)))
                continue;
            if (!is_own(row))
                vf_load_input(args, k, at, row_at[row], columns, &ring.wide[k][window][row][VF_HALO_X]);
            if (vf_input_halo_x(k) > 0 && (is_own(row) || VF_DIAGONAL(k)))
                vf_load_input_flank(args, k, at, row_at[row], columns, ring.flank[k][row]);
        }
#if VF_VARIANT_SHARED
        VF_UNROLL for (int i = 0; i < (vf_input_halo_y(k) > 0 ? VF_BROUGHT : 0); i++)
        {
            if (vf_brought_row(i) >= VF_SHARED_ROWS)
                continue;
            vf_load_input(args, k, at, brought_at[i], columns, brought.span[k][i]);
            if (VF_DIAGONAL(k))
                vf_load_input_flank(args, k, at, brought_at[i], columns, brought.flank[k][i]);
        }
#endif
    }

    /* The own rows of the newest plane as `wide` has them. Both have the same values, so that what one cell
     * computes of them is to the compiler what its neighbour does: faces are shared. */
    VF_MEMBER void widen_own(int k, int turn, int plane)
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            REAL *const own = ring.own[k][vf_slot(turn, VF_MOST_CROSS)][j],
                        *const wide = ring.wide[k][vf_window(turn, VF_MOST_CROSS)][VF_SIDE + j];
            if (vf_input_halo_x(k) > 0)
                vf_mend_input(args, k, vf_plane_at(args, course, plane, VF_CROSS(k)), row_at[VF_SIDE + j],
                              columns, own);
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) wide[VF_HALO_X + i] = own[i];
            if (vf_input_halo_x(k) > 0)
                vf_widen(wide, ring.flank[k][VF_SIDE + j], columns.lane);
        }
    }

    /* And those beside them, where diagonal neighbours are read. */
    VF_MEMBER void widen_beside(int k, int turn, int plane)
    {
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
        {
            if (vf_input_halo_x(k) == 0 || !VF_DIAGONAL(k) || !is_beside(k, row))
                continue;
            REAL *const wide = ring.wide[k][vf_window(turn, VF_MOST_CROSS)][row];
            if (!VF_VARIANT_SHARED)
                vf_mend_input(args, k, vf_plane_at(args, course, plane, VF_CROSS(k)), row_at[row], columns,
                              wide + VF_HALO_X);
            vf_widen(wide, ring.flank[k][row], columns.lane);
        }
    }

#if VF_VARIANT_SHARED
    VF_MEMBER void share_rows(int k, int window, int plane)
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            REAL *const row = vf_shared_row(shared, k, plane, VF_SIDE + threadIdx.y * VF_WORK_Y + j);
            vf_share(row, &ring.wide[k][window][VF_SIDE + j][VF_HALO_X]);
            if (VF_DIAGONAL(k))
                vf_share_flank(row, ring.flank[k][VF_SIDE + j], columns.lane);
        }
        VF_UNROLL for (int i = 0; i < VF_BROUGHT; i++)
        {
            if (vf_brought_row(i) >= VF_SHARED_ROWS)
                continue;
            REAL *const row = vf_shared_row(shared, k, plane, vf_brought_row(i));
            if (VF_DIAGONAL(k)) {
                vf_mend_input(args, k, vf_plane_at(args, course, plane, VF_CROSS(k)), brought_at[i], columns,
                              brought.span[k][i]);
                vf_share_flank(row, brought.flank[k][i], columns.lane);
            }
            vf_share(row, brought.span[k][i]);
        }
    }

    VF_MEMBER void take_rows(int k, int window, int plane)
    {
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
        {
            if (!is_beside(k, row))
                continue;
            const REAL *const from = vf_shared_row(shared, k, plane, threadIdx.y * VF_WORK_Y + row);
            vf_take(from, &ring.wide[k][window][row][VF_HALO_X]);
            if (VF_DIAGONAL(k))
                vf_take_flank(from, columns.lane, ring.flank[k][row]);
        }
    }
#endif

    /* Returns NaN if any result is in doubt. `sum`, the sum of the results, is NaN if any of them is. */
    template <bool is_short>
    VF_MEMBER REAL compute_cells(int turn, int plane, vf_pass pass,
                                 REAL (&result)[VF_WORK_Y][VF_OUTPUTS * VF_SPAN], REAL &sum)
    {
        REAL doubt = 0;
        sum = 0;
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
            {
                vf_stream_cell cell = {args,  ring,  turn,          j,     i,   columns.x + i,
                                       y + j, plane, result[j] + i, faces, pass};
                doubt = doubt + vf_cell_by<is_short>(cell);
                VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) sum = sum + result[j][k * VF_SPAN + i];
            }
        }
        return doubt;
    }

    /* Makes the lower faces of a chunk's first plane; the compiler leaves out all else. */
    VF_MEMBER void compute_lower_faces(int turn, int plane)
    {
        REAL result[VF_WORK_Y][VF_OUTPUTS * VF_SPAN], sum;
        compute_cells<false>(turn, plane, VF_LOWER_FACES, result, sum);
    }

    VF_MEMBER void compute(int turn, int plane)
    {
        REAL result[VF_WORK_Y][VF_OUTPUTS * VF_SPAN], sum, again;
        if (VF_MOST_CROSS > 0 && plane == course.begin)
            compute_lower_faces(turn, plane);
        const REAL doubt = compute_cells<true>(turn, plane, VF_COMPUTED, result, sum);
        if (doubt != doubt || (VF_RARE_NAN && sum != sum)) {
            if (doubt != doubt)
                compute_cells<false>(turn, plane, VF_AGAIN, result, again);
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                VF_UNROLL for (int i = 0; i < VF_OUTPUTS * VF_SPAN; i++) vf_put(&result[j][i], result[j][i]);
            }
        }
        faces.turn_over();
        const long long at = DIM == 3 ? vf_row(args, 0, plane) : vf_row(args, plane, course.image);
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            const bool is_wanted = (!VF_RAGGED || columns.x < args.nx) && (DIM == 2 || y + j < args.ny);
            /* Worked out anew for small inputs: with ten registers fewer an H200 holds five blocks of them
             * for four, of which 512^3 makes 1.55 waves for 1.94, and uint16 gradients take 0.249 ms for
             * 0.222. */
            const unsigned int row = DIM == 2          ? 0
                                     : VF_SMALL_INPUTS ? (y + j) * (unsigned int)args.pitch
                                                       : row_at[VF_SIDE + j];
            /* A branch costs kernels of small inputs more than what it skips. */
            if (!VF_SMALL_INPUTS && !is_wanted)
                continue;
            VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
                vf_store_in_plane(args, is_wanted, k, at, row + columns.x, result[j] + k * VF_SPAN);
        }
    }

    /* Fetches the neighbours of the newest plane that is read beside the own column, sends for the next
     * planes, and computes one, unless the ring is not full yet. */
    VF_MEMBER void step(int turn, int plane)
    {
        const int newest = plane + VF_MOST_CROSS;
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            if (!vf_has_beside(k))
                continue;
            widen_own(k, turn, newest);
#if VF_VARIANT_SHARED
            if (vf_input_halo_y(k) > 0)
                share_rows(k, vf_window(turn, VF_MOST_CROSS), newest);
#else
            widen_beside(k, turn, newest);
#endif
        }
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            load_own(k, vf_slot(turn, vf_ahead(k) + 1), plane + vf_ahead(k) + 1);
            if (vf_has_beside(k))
                load_beside(k, vf_window(turn, VF_MOST_CROSS + 1), newest + 1);
        }
#if VF_VARIANT_SHARED
        __syncthreads();
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            if (vf_input_halo_y(k) > 0) {
                take_rows(k, vf_window(turn, VF_MOST_CROSS), newest);
                widen_beside(k, turn, newest);
            }
        }
#endif
        if (VF_MOST_CROSS == 0 || plane >= course.begin)
            compute(turn, plane);
        if (VF_TURN == 1)
            move_ring();
    }

    VF_MEMBER void move_ring()
    {
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            VF_UNROLL for (int offset = -VF_REACH; offset <= VF_REACH; offset++)
            {
                VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
                {
                    VF_UNROLL for (int i = 0; i < VF_SPAN; i++) ring.own[k][vf_slot(0, offset)][j][i] =
                        ring.own[k][vf_slot(0, offset + 1)][j][i];
                }
            }
            VF_UNROLL for (int offset = -VF_MOST_CROSS; offset <= VF_MOST_CROSS; offset++)
            {
                VF_UNROLL for (int row = 0; row < VF_ROWS; row++)
                {
                    VF_UNROLL for (int i = 0; i < VF_COLUMNS; i++)
                        ring.wide[k][vf_window(0, offset)][row][i] =
                        ring.wide[k][vf_window(0, offset + 1)][row][i];
                }
            }
        }
    }

    template <int turn> VF_MEMBER bool steps(int &plane)
    {
        if constexpr (turn < VF_TURN) {
            step(turn, plane);
            return ++plane < course.end && steps<turn + 1>(plane);
        } else {
            return true;
        }
    }

    VF_MEMBER void sweep()
    {
        int plane = course.begin - 2 * VF_MOST_CROSS;
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            VF_UNROLL for (int offset = -VF_REACH; offset <= VF_REACH; offset++)
            {
                if (offset <= vf_ahead(k))
                    load_own(k, vf_slot(0, offset), plane + offset);
            }
            if (vf_has_beside(k))
                load_beside(k, vf_window(0, VF_MOST_CROSS), plane + VF_MOST_CROSS);
        }
        /* The plane before the first is not carried through the loop for their sake, if it is there by now.
         */
        if (VF_MOST_CROSS == 0)
            compute_lower_faces(0, plane);
        while (steps<0>(plane)) {
        }
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
#if VF_VARIANT_SHARED
    VF_SHARED_MEMORY(bytes);
    REAL *const memory = (REAL *)bytes;
#else
    REAL *const memory = nullptr;
#endif
    vf_stream stream(args, vf_course_of(args, tile_x, tile_y, tile_z), memory);
    stream.sweep();
}

#include "kernels/device_entry.h"
