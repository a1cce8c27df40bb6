/* What separable-stream makes of a plane, or of a band of rows where rows are streamed, before its lines
 * along the streamed axis: the sums along x and y of a tile, or along x, through shared memory. Three planes
 * or bands are under way at once, with one barrier each: while one is read from memory into registers, the
 * sums along x of the one before it are made from shared memory, which holds it as it was read, with what
 * lies beside the tile, and those of the one before that are taken up. What is made of those in registers
 * concerns no other thread, so it comes when a warp has arrived at the barrier and need not pass it yet; a
 * band's sums go through shared memory row by row, so nothing is left to do then. Planes that are summed
 * faster than one comes from memory are copied to a ring in shared memory, several ahead.
 *
 * Rows outside the grid are those that the boundary rule maps them to. The columns outside it, which only
 * tiles at the ends of rows have, are read cell by cell, shared out among the threads.
 *
 * Further constants, by the scheme: VF_BAND, the rows of a band, 1 for planes; VF_BOTH_ENDS, 1 if one tile
 * has both ends of a row; VF_AHEAD, how many planes are copied ahead, 0: one is read into registers. */

#include "kernels/device_copy.h"
#include "kernels/device_line.h"

/* Such a device has no copies that pass by registers. */
#if !defined(VF_ON_CPU) && __CUDA_ARCH__ < 800
#undef VF_AHEAD
#define VF_AHEAD 0
#endif

#define VF_PACK (128 / REAL_BITS) /* cells of 16 bytes */
#define VF_TILE_ROWS (VF_FLAT ? VF_BAND : VF_BLOCK_Y * VF_WORK_Y + 2 * VF_SIDE)
#define VF_TILE_COLUMNS (VF_BLOCK_X * VF_SPAN)
/* Columns beside the tile, in whole packs. */
#define VF_BORDER vf_border(VF_HALO_X, VF_PACK)
#define VF_READ_COLUMNS (VF_TILE_COLUMNS + 2 * VF_BORDER)
/* Rows of an odd number of packs: four threads that are two packs apart and four in the next row are then in
 * different banks. */
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
        ends_of_row = VF_HALO_X > 0 ? VF_HALO_X *(VF_BOTH_ENDS ? 2 : 1) : 1,
        ends = VF_TILE_ROWS * ends_of_row,
        own_ends = (ends + VF_THREADS - 1) / VF_THREADS,
        /* A plane or band as it was read, and behind a band a pack for each thread. */
        nowhere = VF_TILE_ROWS * VF_READ_PITCH,
        tile = nowhere + (VF_FLAT ? VF_THREADS * VF_PACK : 0),
        /* Of sums along x a thread makes two packs at once, as long as all threads have some to make; of the
         * rows that are left then, one pack, so that these too are shared out among as many as may be. */
        packs_of_sums = VF_TILE_COLUMNS / VF_PACK,
        rows_at_once = VF_THREADS * 2 / packs_of_sums,
        rows_left = VF_TILE_ROWS % rows_at_once,
        rows_in_twos = 2 * rows_left < rows_at_once ? VF_TILE_ROWS - rows_left : VF_TILE_ROWS,
        rows_of_ones = VF_THREADS / packs_of_sums,
        tiles = VF_AHEAD > 0 ? VF_AHEAD + 1 : 2, /* planes as they were read */
    };
    const VfArgs &args;
    const vf_course course;
    const vf_in_0 *const in;
    const REAL outside;
    REAL *const memory; /* planes as they were read, then two of sums along x */
    const bool is_end;  /* the tile has cells beside an end of its rows */
    /* What the thread reads of each plane, and where that goes; to -1: nothing. */
    unsigned int from[own_packs], end_from[own_ends];
    int to[own_packs], end_to[own_ends];
    vf_vector<vf_in_0, VF_PACK> pack[own_packs];
    vf_in_0 end[own_ends];
    /* Of a ring: from where the next plane is summed, elements; where the next one is copied to, and the
     * first and the last such place. */
    int summed;
    vf_place filled, ring, ring_end;
    int next;                /* the plane, or first row, that is read next */
    const vf_in_0 *plane_in; /* where that plane, or row, begins; nullptr: outside the grid */

    VF_MEMBER vf_sums(const VfArgs &a, const vf_course &c, int k, REAL *shared)
        : args(a), course(c), in((const vf_in_0 *)a.in[k]), outside(vf_outside(a, k)), memory(shared),
          is_end(VF_HALO_X > 0 && (c.x == 0 || c.x + VF_TILE_COLUMNS + VF_HALO_X > a.nx))
    {
        VF_UNROLL for (int i = 0; i < own_packs; i++)
        {
            const int n = thread() + i * VF_THREADS, row = row_of(n, packs_of_row),
                      column = n % packs_of_row * VF_PACK, x = course.x - VF_BORDER + column;
            const bool is_there = n < packs && x >= 0 && x < args.nx;
            to[i] = is_there ? row * VF_READ_PITCH + column : own_nowhere();
            from[i] = place(row, is_there ? x : 0);
        }
        VF_UNROLL for (int i = 0; i < own_ends && VF_HALO_X > 0; i++)
        {
            const int n = thread() + i * VF_THREADS, row = row_of(n, ends_of_row), end = n % ends_of_row,
                      x = VF_BOTH_ENDS    ? end < VF_HALO_X ? end - VF_HALO_X : args.nx + end - VF_HALO_X
                          : course.x == 0 ? end - VF_HALO_X
                                          : args.nx + end,
                      column = x - course.x + VF_BORDER;
            to_end(i, n < ends && column >= 0 && column < VF_READ_COLUMNS, row, column, x);
        }
    }

    /* Where that goes which is not there. To write it takes less than to ask, but for planes shared memory
     * has enough to do. */
    static VF_MEMBER int own_nowhere()
    {
        return VF_FLAT ? nowhere + thread() * VF_PACK : -1;
    }

    static VF_MEMBER bool is_piece(int to)
    {
        return VF_FLAT || to >= 0;
    }

    static VF_MEMBER int thread()
    {
        return threadIdx.y * VF_BLOCK_X + threadIdx.x;
    }

    /* The row of the tile that piece n is in; the first if there is no such piece. */
    static VF_MEMBER int row_of(int n, int pieces_of_row)
    {
        return n / pieces_of_row < VF_TILE_ROWS ? n / pieces_of_row : 0;
    }

    /* Column x of a row of the tile in any plane, or band within the grid; VF_NO_ROW outside the grid. */
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

    /* The next band is partly outside the grid: each row is where the boundary rule says. */
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

    /* From the plane before, which is the one in memory too within the grid. */
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

    /* Where the cells are whose place is in this row of the tile; nullptr: they are the constant. Of a band
     * all are, or none is, `apart`: that is asked once, for each way has its own loads then. */
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
        return source(apart, from[i], row_of(thread() + i * VF_THREADS, packs_of_row));
    }

    VF_MEMBER const vf_in_0 *end_source(bool apart, int i)
    {
        return source(apart, end_from[i], row_of(thread() + i * VF_THREADS, ends_of_row));
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

    /* What was loaded, to shared memory. */
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
            const int inside = args.nx - course.x + VF_BORDER - to[i] % VF_READ_PITCH;
            if (VF_RAGGED && is_end && inside < VF_PACK) {
                VF_UNROLL for (int e = 0; e < VF_PACK; e++)
                {
                    if (e < inside)
                        tile[to[i] + e] = v[e];
                }
            } else {
                vf_share<VF_PACK>(tile + to[i], v);
            }
        }
        VF_UNROLL for (int i = 0; i < own_ends && is_end; i++)
        {
            if (is_piece(end_to[i]))
                tile[end_to[i]] = is_read(end_source(is_apart(), i)) ? (REAL)end[i] : outside;
        }
    }

#if VF_HAS_ROW
    /* The sums along x of `together` cells from `tile` on, in this row of it, to `sums`. */
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
    /* Gives the chain the rows of a band one by one. One load of a weight serves the rows that are written
     * out; eight of them need too many registers. */
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

    /* What a turn works on in shared memory: where a plane goes; from where on the thread reads for its sums
     * along x and puts these, two packs and one at once; and from where on it takes sums up. */
    struct places {
        REAL *tile, *twos_from, *twos_to, *ones_from, *ones_to, *y_from;
    };

    /* Four pairs of packs of a row and four of the next are together, for shared memory's banks. */
    static VF_MEMBER int row_of_twos()
    {
        return (thread() >> 2 & 1) + 2 * (thread() / packs_of_sums);
    }

    VF_MEMBER places places_of(bool odd)
    {
        enum { sums = VF_TILE_ROWS * VF_SUM_PITCH };
        /* In a ring places are counted from its begin. */
        enum { apart = VF_AHEAD > 0 ? 0 : tile };
        REAL *const first = memory + odd * apart, *const other = memory + !odd * apart,
                    *const made = memory + tiles * tile, *const make = made + !odd * sums;
        const int row = row_of_twos(),
                  column = ((thread() & 3) + thread() / 8 * 4 % (packs_of_sums / 2)) * 2 * VF_PACK,
                  row_1 = thread() / packs_of_sums, column_1 = thread() % packs_of_sums * VF_PACK,
                  own = threadIdx.y * (VF_WORK_Y * VF_SUM_PITCH) + threadIdx.x * VF_SPAN;
        return {first,
                other + row * VF_READ_PITCH + column,
                make + row * VF_SUM_PITCH + column,
                other + row_1 * VF_READ_PITCH + column_1,
                make + row_1 * VF_SUM_PITCH + column_1,
                (VF_HAS_ROW ? made + odd * sums : other) + own};
    }

#if VF_HAS_ROW
    /* `from`: where the plane is in a ring; else 0. */
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
            const int row = thread() / packs_of_sums + begin;
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

    /* The next plane, to where the ring has room: the place of the one that was summed last. */
    VF_MEMBER void copy()
    {
        VF_UNROLL for (int i = 0; i < own_packs; i++)
        {
            const vf_in_0 *const at = pack_source(false, i);
            const int inside = args.nx - course.x + VF_BORDER - to[i] % VF_READ_PITCH;
            if (!is_piece(to[i]))
                continue;
            if (!is_read(at) || (VF_RAGGED && is_end && inside < VF_PACK)) {
                VF_UNROLL for (int e = 0; e < VF_PACK; e++)
                {
                    if (e < inside)
                        copy_cell(to[i] + e, is_read(at) ? at + e : at);
                }
            } else {
                vf_copy_to<16>(filled + to[i] * (int)sizeof(REAL), at);
            }
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

    /* Until the first plane is there for all. */
    VF_MEMBER void open(vf_gate &gate)
    {
        summed = 0;
        ring = filled = vf_place_of(memory);
        ring_end = ring + VF_AHEAD * tile * (int)sizeof(REAL);
        VF_NO_UNROLL for (int i = 0; i < VF_AHEAD; i++) copy();
        arrive(gate);
        gate.wait();
    }

    /* Where the plane is that is summed now. */
    VF_MEMBER int take(const places &)
    {
        const int from = summed;
        copy();
        summed = summed == VF_AHEAD * tile ? 0 : summed + tile;
        return from;
    }

    /* With the plane that is summed next. */
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

    /* What comes between two barriers. Conditions that hold but for the first planes are asked in every turn:
     * the compiler moves nothing past them, so loads begin before the sums along x, and those along the
     * streamed axis are made before the barrier is passed. */
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
        /* Two planes take turns, which are written out, so that each place is a constant. */
        const places even = places_of(false), odd = places_of(true);
        /* Sums along x are a turn ahead, and what comes through registers another. */
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
        /* Copies ahead of the end, before another field's come. */
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
