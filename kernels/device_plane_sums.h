/* For separable-stream: the sums along x and y of a tile of one plane, through shared memory, which the chain
 * then sums along the streamed axis. Where rows are streamed, it is the sums along x of a band of rows.
 *
 * Three planes (or bands) are in work at once, with one barrier a plane. One is read from memory into
 * registers. Of the one before it, which is in shared memory with what lies beside the tile, the sums along x
 * are made. Of the one before that, the sums along y are made and given to the chain. That last part concerns
 * no other thread, so a warp does it between arriving at the barrier and waiting there; the sums of a band
 * are taken row by row from shared memory, so with bands nothing is left to do then. If planes are summed
 * faster than they come from memory, they are copied to a ring in shared memory instead, several ahead.
 *
 * Rows outside the grid are those that the boundary rule maps them to. Columns outside it, which only tiles
 * at the ends of rows have, and those of a last pack that is not whole, are read cell by cell, shared out
 * among the threads.
 *
 * Further constants, from the scheme:
 *   VF_BAND        rows of a band; 1 for planes
 *   VF_BOTH_ENDS   1 if one tile has both ends of a row
 *   VF_AHEAD       how many planes are copied ahead; 0: planes are read into registers */

#include "kernels/device_copy.h"
#include "kernels/device_line.h"

/* Older devices have no copies from memory to shared memory that pass by registers. */
#if !defined(VF_ON_CPU) && __CUDA_ARCH__ < 800
#undef VF_AHEAD
#define VF_AHEAD 0
#endif

#define VF_PACK (128 / REAL_BITS) /* cells of 16 bytes */
#define VF_TILE_ROWS (VF_FLAT ? VF_BAND : VF_BLOCK_Y * VF_WORK_Y + 2 * VF_SIDE)
#define VF_TILE_COLUMNS (VF_BLOCK_X * VF_SPAN)
/* Columns on either side of the tile, in whole packs. */
#define VF_BORDER vf_round_up(VF_HALO_X, VF_PACK)
#define VF_READ_COLUMNS (VF_TILE_COLUMNS + 2 * VF_BORDER)
/* Rows have an odd number of packs. Then four threads that are two packs apart, and four more in the next
 * row, use different banks of shared memory. */
#define VF_READ_PITCH (VF_READ_COLUMNS / VF_PACK % 2 ? VF_READ_COLUMNS : VF_READ_COLUMNS + VF_PACK)
#define VF_SUM_PITCH (VF_HAS_ROW ? VF_TILE_COLUMNS + VF_PACK : VF_READ_PITCH)

template <class T> VF_INLINE void vf_swap(T &a, T &b)
{
    const T was = a;
    a = b;
    b = was;
}

struct vf_sums {
    enum {
        packs_of_row = VF_READ_COLUMNS / VF_PACK,
        packs = VF_TILE_ROWS * packs_of_row,
        own_packs = (packs + VF_THREADS - 1) / VF_THREADS,
        /* Whatever is left of a row beyond whole packs, so that the kernel does for rows of other lengths. */
        most_left = VF_HALO_X > 0 && VF_RAGGED ? VF_PACK - 1 : 0,
        ends_of_row = VF_HALO_X > 0 ? VF_HALO_X *(VF_BOTH_ENDS ? 2 : 1) + most_left : 1,
        ends = VF_TILE_ROWS * ends_of_row,
        own_ends = (ends + VF_THREADS - 1) / VF_THREADS,
        /* A plane or band as it was read; behind a band a pack for each thread, where what is not needed
         * goes. */
        nowhere = VF_TILE_ROWS * VF_READ_PITCH,
        tile = nowhere + (VF_FLAT ? VF_THREADS * VF_PACK : 0),
        /* A thread makes two packs of sums along x at once while there are enough rows for all threads; of
         * the rows that are left it makes one pack at once, so that as many threads as possible have work. */
        packs_of_sums = VF_TILE_COLUMNS / VF_PACK,
        rows_at_once = VF_THREADS * 2 / packs_of_sums,
        rows_left = VF_TILE_ROWS % rows_at_once,
        rows_in_twos = 2 * rows_left < rows_at_once ? VF_TILE_ROWS - rows_left : VF_TILE_ROWS,
        rows_of_ones = VF_THREADS / packs_of_sums,
        tiles = VF_AHEAD > 0 ? VF_AHEAD + 1 : 2, /* how many planes, as they were read, are in memory */
    };
    const VfArgs &args;
    const vf_course course;
    const vf_in_0 *const in;
    const REAL outside;
    const int whole;    /* how many columns of the grid are read in packs */
    REAL *const memory; /* `tiles` planes as they were read, then two planes of sums along x */
    const bool is_end;  /* whether the tile reads beyond an end of the grid's rows */
    /* The packs and the single cells that the thread reads of each plane, and where they go; -1: not read. */
    unsigned int from[own_packs], end_from[own_ends];
    int to[own_packs], end_to[own_ends];
    vf_vector<vf_in_0, VF_PACK> pack[own_packs];
    vf_in_0 end[own_ends];
    /* In a ring: the element from which on the next plane is summed; where the next one is copied to, and
     * the first and the last place for that. */
    int summed;
    vf_place filled, ring, ring_end;
    int next;                /* the plane, or the first row of the band, that is read next */
    const vf_in_0 *plane_in; /* where it begins; nullptr: it is the constant */

    VF_MEMBER vf_sums(const VfArgs &a, const vf_course &c, int k, REAL *shared)
        : args(a), course(c), in((const vf_in_0 *)a.in[k]), outside(vf_outside(a, k)),
          whole(most_left > 0 ? a.nx & -VF_PACK : a.nx), memory(shared),
          is_end(VF_HALO_X > 0 && (c.x == 0 || c.x + VF_TILE_COLUMNS + VF_HALO_X > whole))
    {
        VF_UNROLL for (int i = 0; i < own_packs; i++)
        {
            const int n = vf_thread() + i * VF_THREADS, row = row_of(n, packs_of_row),
                      column = n % packs_of_row * VF_PACK, x = course.x - VF_BORDER + column;
            const bool is_there = n < packs && x >= 0 && x < whole;
            to[i] = is_there ? row * VF_READ_PITCH + column : own_nowhere();
            from[i] = place(row, is_there ? x : 0);
        }
        VF_UNROLL for (int i = 0; i < own_ends && VF_HALO_X > 0; i++)
        {
            const int n = vf_thread() + i * VF_THREADS, row = row_of(n, ends_of_row), end = n % ends_of_row,
                      x = VF_BOTH_ENDS    ? end < VF_HALO_X ? end - VF_HALO_X : whole + end - VF_HALO_X
                          : course.x == 0 ? end - VF_HALO_X
                                          : whole + end,
                      column = x - course.x + VF_BORDER;
            const bool is_single = x < 0 || x >= whole;
            to_end(i, n < ends && is_single && column >= 0 && column < VF_READ_COLUMNS, row, column, x);
        }
    }

    /* Where a pack goes that is not needed. To write it is faster than to ask whether to, except for planes,
     * where shared memory is busy enough. */
    static VF_MEMBER int own_nowhere()
    {
        return VF_FLAT ? nowhere + vf_thread() * VF_PACK : -1;
    }

    /* Whether there is something to read for a place of `to` or `end_to`. */
    static VF_MEMBER bool is_piece(int to)
    {
        return VF_FLAT || to >= 0;
    }

    /* The row of the tile that piece n is in; the first if there is no such piece. */
    static VF_MEMBER int row_of(int n, int pieces_of_row)
    {
        return n / pieces_of_row < VF_TILE_ROWS ? n / pieces_of_row : 0;
    }

    /* Where column x of a row of the tile is, in elements from where the plane, or the band, begins;
     * VF_NO_ROW: it is the constant. */
    VF_MEMBER unsigned int place(int row, int x)
    {
        const unsigned int at = VF_FLAT ? (unsigned int)row * (unsigned int)args.pitch
                                        : vf_row_of(args, course.y - VF_SIDE + row);
        return x < 0 || at == VF_NO_ROW ? VF_NO_ROW : at + (unsigned int)x;
    }

    VF_MEMBER void to_end(int i, bool is_there, int row, int column, int x)
    {
        end_to[i] = is_there ? row * VF_READ_PITCH + column : own_nowhere();
        end_from[i] = place(row, is_there ? vf_fold_column(x, args.nx) : 0);
    }

    VF_MEMBER long long plane_at(int plane)
    {
        return vf_plane_at(args, course, plane, VF_REACH);
    }

    /* Whether the next band is partly outside the grid, so that the boundary rule is asked for each row. */
    VF_MEMBER bool is_apart()
    {
        return VF_FLAT && (next < 0 || next + VF_BAND > args.ny);
    }

    VF_MEMBER void turn_to(int plane)
    {
        next = plane;
        const long long at = is_apart() ? 0 : plane_at(plane);
        plane_in = at < 0 ? nullptr : in + at;
    }

    /* Turns to the next plane; within the grid that is the next one in memory, too. */
    VF_MEMBER void turn()
    {
        const int plane = next + VF_BAND;
        if (!VF_FLAT && plane > 0 && plane < args.nz && plane < course.end + VF_REACH) {
            next = plane;
            plane_in = vf_fixed(plane_in + args.plane);
        } else {
            turn_to(plane);
        }
    }

    /* Where the cells are that have this place (place()) in this row of the tile; nullptr: they are the
     * constant. `apart`: is_apart(), which is the same for a whole band and is asked once for it, so that
     * each way has loads of its own. */
    VF_MEMBER const vf_in_0 *source(bool apart, unsigned int place, int row)
    {
        if (VF_BOUNDARY == VF_CONSTANT && (plane_in == nullptr || place == VF_NO_ROW))
            return nullptr;
        if (!apart)
            return plane_in + place;
        const long long at = plane_at(next + row);
        return at < 0 ? nullptr : in + at + (place - (unsigned int)row * (unsigned int)args.pitch);
    }

    VF_MEMBER const vf_in_0 *pack_source(bool apart, int i)
    {
        return source(apart, from[i], row_of(vf_thread() + i * VF_THREADS, packs_of_row));
    }

    VF_MEMBER const vf_in_0 *end_source(bool apart, int i)
    {
        return source(apart, end_from[i], row_of(vf_thread() + i * VF_THREADS, ends_of_row));
    }

    static VF_MEMBER bool is_read(const vf_in_0 *from)
    {
        return VF_BOUNDARY != VF_CONSTANT || from != nullptr;
    }

    VF_MEMBER void load_from(bool apart)
    {
        VF_UNROLL for (int i = 0; i < own_packs; i++)
        {
            typedef typename vf_vector<vf_in_0, VF_PACK>::word word;
            const vf_in_0 *const at = pack_source(apart, i);
            if (is_piece(to[i]) && is_read(at))
                VF_UNROLL for (int w = 0; w < (int)pack[i].words; w++) pack[i].w[w] =
                    __ldg((const word *)at + w);
        }
        VF_UNROLL for (int i = 0; i < own_ends && is_end; i++)
        {
            const vf_in_0 *const at = end_source(apart, i);
            if (is_piece(end_to[i]) && is_read(at))
                end[i] = __ldg(at);
        }
    }

    VF_MEMBER void load()
    {
        if (is_apart())
            load_from(true);
        else
            load_from(false);
    }

    /* Puts what was loaded into shared memory. */
    VF_MEMBER void put(REAL *tile)
    {
        VF_UNROLL for (int i = 0; i < own_packs; i++)
        {
            REAL v[VF_PACK];
            if (!is_piece(to[i]))
                continue;
            vf_widen_cells(pack[i].e, v);
            if (!is_read(pack_source(is_apart(), i)))
                VF_UNROLL for (int e = 0; e < VF_PACK; e++) v[e] = outside;
            vf_share<VF_PACK>(tile + to[i], v);
        }
        VF_UNROLL for (int i = 0; i < own_ends && is_end; i++)
        {
            if (is_piece(end_to[i]))
                tile[end_to[i]] = is_read(end_source(is_apart(), i)) ? (REAL)end[i] : outside;
        }
    }

#if VF_HAS_ROW
    /* The sums along x of `together` cells of a row of the tile, which are read from `tile` on. */
    template <int together> VF_MEMBER void sum_cells(int field, int row, const REAL *tile, REAL *sums)
    {
        REAL wide[together + 2 * VF_BORDER], sum[together];
        VF_UNROLL for (int i = 0; i < together + 2 * VF_BORDER; i += VF_PACK)
            vf_take<VF_PACK>(tile + i, wide + i);
        vf_sum_line<VF_ROW_LINE>(args, wide, sum);
        if (VF_BOUNDARY == VF_CONSTANT && !VF_FLAT && place(row, 0) == VF_NO_ROW)
            VF_UNROLL for (int i = 0; i < together; i++) sum[i] = vf_outside(args, VF_ROW_LINE::out(field));
        VF_UNROLL for (int i = 0; i < together; i += VF_PACK) vf_share<VF_PACK>(sums + i, sum + i);
    }
#endif

#if VF_HAS_SIDE
    VF_MEMBER void sum_y(const REAL *tile, REAL (&v)[VF_WORK_Y][VF_SPAN])
    {
        VF_UNROLL for (int r = 0; r < VF_WORK_Y + 2 * VF_SIDE; r++)
        {
            REAL row[VF_SPAN];
            vf_take<VF_SPAN>(tile + r * VF_SUM_PITCH, row);
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                if (r < j || r > j + 2 * VF_SIDE)
                    continue;
                const REAL weight = vf_param(args, VF_SIDE_LINE::first_param + (r - j));
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++) v[j][i] =
                    r == j ? weight * row[i] : FMA(weight, row[i], v[j][i]);
            }
        }
    }
#endif

#if VF_HAS_SIDE
    /* Gives the chain a plane. */
    template <class Chain> VF_MEMBER void give(Chain &chain, int plane, const REAL *sums, vf_gate &gate)
    {
        REAL v[VF_WORK_Y][VF_SPAN];
        sum_y(sums, v);
        arrive(gate);
        chain.add(plane, plane_at(plane) < 0, v);
    }
#else
    /* Gives the chain the rows of a band one by one. Where several rows are written out one after another, a
     * weight is loaded once for all of them; eight rows would need too many registers. */
    template <class Chain> VF_MEMBER void give(Chain &chain, int first, const REAL *sums)
    {
        REAL v[1][VF_SPAN];
        VF_UNROLL_BY_4 for (int row = 0; row < VF_BAND; row++)
        {
            vf_take(sums + row * VF_SUM_PITCH, v[0]);
            chain.add(first + row, plane_at(first + row) < 0, v);
        }
    }
#endif

    /* The places in shared memory that a turn works on. `tile`: where the plane that was read goes.
     * twos_from, twos_to: where the thread reads for its sums along x, and where it puts them, when it makes
     * two packs at once; ones_from, ones_to: when it makes one. y_from: where it reads for its sums along y.
     */
    struct places {
        REAL *tile, *twos_from, *twos_to, *ones_from, *ones_to, *y_from;
    };

    /* Eight threads that follow one another have four pairs of packs in each of two rows, because of shared
     * memory's banks. */
    static VF_MEMBER int row_of_twos()
    {
        return (vf_thread() >> 2 & 1) + 2 * (vf_thread() / packs_of_sums);
    }

    VF_MEMBER places places_of(bool odd)
    {
        enum { sums = VF_TILE_ROWS * VF_SUM_PITCH };
        /* With a ring, places are counted from its beginning. */
        enum { apart = VF_AHEAD > 0 ? 0 : tile };
        REAL *const first = memory + odd * apart, *const other = memory + !odd * apart,
                    *const made = memory + tiles * tile, *const make = made + !odd * sums;
        const int row = row_of_twos(),
                  column = ((vf_thread() & 3) + vf_thread() / 8 * 4 % (packs_of_sums / 2)) * 2 * VF_PACK,
                  row_1 = vf_thread() / packs_of_sums, column_1 = vf_thread() % packs_of_sums * VF_PACK,
                  own = threadIdx.y * (VF_WORK_Y * VF_SUM_PITCH) + threadIdx.x * VF_SPAN;
        return {first,
                other + row * VF_READ_PITCH + column,
                make + row * VF_SUM_PITCH + column,
                other + row_1 * VF_READ_PITCH + column_1,
                make + row_1 * VF_SUM_PITCH + column_1,
                (VF_HAS_ROW ? made + odd * sums : other) + own};
    }

#if VF_HAS_ROW
    /* Makes the sums along x of a plane. `from`: where it is in the ring; 0 if there is none. */
    VF_MEMBER void sum_x(int field, const places &at, int from)
    {
        VF_UNROLL for (int begin = 0; begin < rows_in_twos; begin += rows_at_once)
        {
            const int row = row_of_twos() + begin;
            if (begin + rows_at_once <= VF_TILE_ROWS || row < VF_TILE_ROWS)
                sum_cells<2 * VF_PACK>(field, row, at.twos_from + from + begin * VF_READ_PITCH,
                                       at.twos_to + begin * VF_SUM_PITCH);
        }
        VF_UNROLL for (int begin = rows_in_twos; begin < VF_TILE_ROWS; begin += rows_of_ones)
        {
            const int row = vf_thread() / packs_of_sums + begin;
            if (begin + rows_of_ones <= VF_TILE_ROWS || row < VF_TILE_ROWS)
                sum_cells<VF_PACK>(field, row, at.ones_from + from + begin * VF_READ_PITCH,
                                   at.ones_to + begin * VF_SUM_PITCH);
        }
    }
#endif

#if VF_HAS_SIDE
#if VF_AHEAD
    VF_MEMBER void copy_cell(int at, const vf_in_0 *from)
    {
        if (is_read(from))
            vf_copy_to<sizeof(REAL)>(filled + at * (int)sizeof(REAL), from);
        else
            *(REAL *)vf_pointer(filled + at * (int)sizeof(REAL)) = outside;
    }

    /* Copies the next plane into the ring, over the one that was summed last. */
    VF_MEMBER void copy()
    {
        VF_UNROLL for (int i = 0; i < own_packs; i++)
        {
            const vf_in_0 *const at = pack_source(false, i);
            if (!is_piece(to[i]))
                continue;
            if (is_read(at))
                vf_copy_anywhere(filled + to[i] * (int)sizeof(REAL), at);
            else
                VF_UNROLL for (int e = 0; e < VF_PACK; e++) copy_cell(to[i] + e, at);
        }
        VF_UNROLL for (int i = 0; i < own_ends && is_end; i++)
        {
            if (is_piece(end_to[i]))
                copy_cell(end_to[i], end_source(false, i));
        }
        vf_close_copies();
        filled = filled == ring_end ? ring : filled + tile * (int)sizeof(REAL);
        turn();
    }

    /* Begins, and waits until the first plane is there for all threads. */
    VF_MEMBER void open(vf_gate &gate)
    {
        summed = 0;
        ring = filled = vf_place_of(memory);
        ring_end = ring + VF_AHEAD * tile * (int)sizeof(REAL);
        VF_NO_UNROLL for (int i = 0; i < VF_AHEAD; i++) copy();
        arrive(gate);
        gate.wait();
    }

    /* Begins to copy another plane, and returns where in the ring the one is that is summed now. */
    VF_MEMBER int take(const places &)
    {
        const int from = summed;
        copy();
        summed = summed == VF_AHEAD * tile ? 0 : summed + tile;
        return from;
    }

    /* Arrives at the barrier once the thread's part of the plane that is summed next is there. */
    VF_MEMBER void arrive(vf_gate &gate)
    {
        vf_wait_copies<VF_AHEAD - 1>();
        gate.arrive();
    }
#else
    VF_MEMBER void open(vf_gate &)
    {
        load();
    }

    VF_MEMBER int take(const places &at)
    {
        put(at.tile);
        turn();
        load();
        return 0;
    }

    VF_MEMBER void arrive(vf_gate &gate)
    {
        gate.arrive();
    }
#endif

    /* What is done between two barriers. That every turn asks whether it is one of the first, for which some
     * of it is left out, is on purpose: the compiler moves nothing past such a condition, so that loads begin
     * before the sums along x, and the sums along the streamed axis are made before the barrier is passed. */
    template <class Chain>
    VF_MEMBER void take_turn(Chain &chain, int field, const places &at, int plane, vf_gate &gate)
    {
        const int first = course.begin - VF_REACH;
        const int from = take(at);
#if VF_HAS_ROW
        if (plane + 1 >= first)
            sum_x(field, at, from);
#endif
        if (plane >= first)
            give(chain, plane, at.y_from + (VF_HAS_ROW ? 0 : from), gate);
        else
            arrive(gate);
        gate.wait();
    }

    template <class Chain> VF_MEMBER void stream(Chain &chain, int field, vf_gate &gate)
    {
        const int first = course.begin - VF_REACH, stop = course.end + VF_REACH;
        /* Planes take turns in two places. Both turns are written out, so that places are constants. */
        const places even = places_of(false), odd = places_of(true);
        /* Sums along x are made a turn ahead, and planes that come through registers are read another. */
        int plane = first - (VF_HAS_ROW ? 1 : 0) - (VF_AHEAD > 0 ? 0 : 1);
        turn_to(first);
        open(gate);
        for (;;) {
            take_turn(chain, field, even, plane, gate);
            if (++plane >= stop)
                break;
            take_turn(chain, field, odd, plane, gate);
            if (++plane >= stop)
                break;
        }
        /* Copies were begun beyond the end: they must be done before those of another field begin. */
        vf_wait_copies<0>();
    }
#else
    template <class Chain> VF_MEMBER void stream(Chain &chain, int field, vf_gate &)
    {
        const int first = course.begin - VF_REACH;
        places now = places_of(false), next = places_of(true);
        turn_to(first);
        /* There are no registers for two bands written out. */
        VF_NO_UNROLL for (int row = first - 2 * VF_BAND; row < course.end + VF_REACH; row += VF_BAND)
        {
            load();
            if (row >= first)
                give(chain, row, now.y_from);
            if (row + VF_BAND >= first)
                sum_x(field, now, 0);
            put(now.tile);
            turn();
            __syncthreads();
            vf_swap(now, next);
        }
    }
#endif
};
