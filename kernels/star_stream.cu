/* A block streams through planes as in associative.cu: the terms of a plane are added to the sums along z
 * that they belong to, which are in registers, and complete the result some planes back. But planes are
 * copied to a ring in shared memory, VF_AHEAD of them at once, each with what is beside the tile along x and
 * y, but without the corners, which a star does not read. What is beside the tile is its neighbours' own: if
 * it is asked for VF_LATER planes after the tile, L2 has it from them. In the ring a thread finds the cells
 * beside its own, packs along x and rows along y, and needs neither L1 nor other threads for them. So there
 * is little to do beside the sums, and the few warps for which many sums leave registers are enough.
 *
 * Of planes beyond the ends of a block's chunk, which have no results there, it copies and adds only what is
 * read along z. If all blocks run at once, in the same planes, they are kept in step (device_pace.h).
 *
 * If a star has too many sums for registers, the last VF_ABOVE terms along z are not added when their planes
 * come, but when the rest of the sum is complete, from planes that are still in the ring.
 *
 * Several tables of one array, stars or lines, are summed side by side in one pass over it. Bodies may follow
 * that read the results at the cell itself. If a table has weights off the axes, corners are copied too, and
 * all of a plane's terms are added at once. Without tables bodies may read the array itself, next neighbours
 * along the axes: they find those of the plane above in the ring, as the terms that a star adds last.
 *
 * After P. S. Rawat et al., 2016, section 4.2, algorithm 3 at T = 1. It is the fastest for stars that reach
 * farther than a cell, which are bound by L1 or by instructions, and for all that can be kept in step.
 *
 * Constants beside those of device.h, from kernels/star_stream.c:
 *   VF_PLANES          planes in the ring
 *   VF_AHEAD           how many of them are on their way
 *   VF_LATER           of these, how many are so without what is beside the tile
 *   VF_ABOVE           how many planes above the present one are taken from the ring for its results
 *   VF_TAIL            how many cells are in the grid of the pack in which its rows end; 0: all
 *   VF_HAS_INNER       1: planes of a chunk's inside have a loop of their own
 *   VF_TABLES          so many of the stages, the first ones, are tables of weights
 *   VF_IS_BOX          1: a table has weights off the axes
 *   VF_EACH_TABLE(F)   F(0) F(1) ... for the tables
 *   VF_EACH_BODY(F)    the same for the other stages */
#include "kernels/device_pack.h"

#include "kernels/device_gate.h"
#include "kernels/device_pace.h"

#define VF_TILE_X (VF_BLOCK_X * VF_PACK)
#define VF_TILE_Y (VF_BLOCK_Y * VF_WORK_Y)
/* Packs beside a row of the tile: before it, and behind its last whole pack in the grid. */
#define VF_PACKS(cells) (((cells) + VF_PACK - 1) / VF_PACK)
#define VF_BEFORE VF_PACKS(VF_HALO_X)
#define VF_BEHIND (VF_HALO_X > 0 ? VF_PACKS(VF_TAIL + VF_HALO_X) : 0)
/* In shared memory: the tile's first column, how many columns there are, and what the ring begins behind, so
 * that the tile's rows begin with a sector. */
#define VF_BORDER (VF_BEFORE * VF_PACK)
#define VF_PITCH vf_round_up(VF_BORDER + VF_TILE_X + VF_BEHIND * VF_PACK, VF_SECTOR)
#define VF_RING_AT ((unsigned)((vf_round_up(VF_BORDER, VF_SECTOR) - VF_BORDER) * sizeof(REAL)))
/* Bytes of a plane, and of the ring. */
#define VF_PLANE ((unsigned)((VF_TILE_Y + 2 * VF_HALO_Y) * VF_PITCH * sizeof(REAL)))
#define VF_RING (VF_PLANES * VF_PLANE)
/* How many planes behind a result the last one is that is added to its sum in registers, and how many results
 * have sums at once. */
#define VF_DELAY (VF_HALO_Z - VF_ABOVE)
#define VF_SUMS (VF_HALO_Z + VF_DELAY)

/* How many planes have been sent for when the first one is taken, and how many groups of copies may still be
 * on their way then: a plane that is taken needs what is beside it, the VF_ABOVE next ones their tiles only,
 * unless there is a pack of a tile among what is beside it. */
#define VF_SENT (VF_AHEAD + VF_ABOVE)
#define VF_NEEDED (VF_TAIL > 0 ? VF_ABOVE + VF_LATER : VF_LATER > VF_ABOVE ? VF_LATER : VF_ABOVE)
#define VF_UNDER_WAY (VF_SENT - 1 - VF_NEEDED)

/* Planes that a block goes through: beyond the ends of its chunk, where they are read along z alone; within
 * it; and there, those for which it sends for planes within it too, so that nothing is asked about ends. */
enum { VF_BEYOND, VF_WITHIN, VF_INNER };

/* Whether all blocks run at once, and how many of a multiprocessor. */
#define VF_ALL_AT_ONCE (VF_VARIANT_FAR || VF_VARIANT_FAR_PAIRS)
#define VF_RESIDENT (VF_VARIANT_FAR_PAIRS ? 2 : 1)

/* Whether a block has few warps, of which sums take all registers. Then bounds are found anew for each plane,
 * and copies begin between two parts of a plane, not where all warps do so at once. */
#define VF_CROWDED (VF_ABOVE > 1 && VF_THREADS <= 256)

/* What a block computes: its first cell in a plane, and its planes. */
struct vf_course {
    int x, y, begin, end;

    VF_MEMBER bool has(int plane) const
    {
        return plane >= begin && plane < end;
    }
};

VF_INLINE vf_course vf_course_of(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const int begin = args.z_begin + tile_z * VF_STREAM,
              end = args.z_end - begin < VF_STREAM ? args.z_end : begin + VF_STREAM;
    return {tile_x * VF_TILE_X, tile_y * VF_TILE_Y, begin, end};
}

/* The place in the ring after this one. */
VF_INLINE unsigned vf_next(unsigned place)
{
    return place + VF_PLANE == VF_RING ? 0 : place + VF_PLANE;
}

/* The place VF_LATER before. */
VF_INLINE unsigned vf_before(unsigned place)
{
    return place - VF_LATER * VF_PLANE + (VF_LATER > 0 && place < VF_LATER * VF_PLANE ? VF_RING : 0);
}

/* ---- copies ---- */

/* Special places in a plane, which otherwise are elements from its first: nothing is copied; it is the
 * constant; a row of the grid begins or ends there, so that cells are looked for one by one.
 */
#define VF_NOTHING 0xffffffffu
#define VF_OUTSIDE 0xfffffffeu
#define VF_AT_END 0xfffffffdu

/* What a thread copies of every plane: packs in its own columns, and some of the packs beside the tile. */
struct vf_copies {
    enum {
        edges = 2 * VF_HALO_Y, /* rows above the tile, and below */
        own_edges = (edges + VF_BLOCK_Y - 1) / VF_BLOCK_Y,
        packs = VF_BEFORE + VF_BEHIND,       /* beside each row */
        corners = VF_IS_BOX ? VF_HALO_Y : 0, /* so many rows above the tile, and below, have such too */
        beside = ((VF_TILE_Y + 2 * corners) * packs + VF_THREADS - 1) / VF_THREADS,
        list = beside > 0 ? beside : 1,
    };
    const VfArgs &args;
    const vf_course course;
    const int x; /* the thread's first column */
    /* Where packs go in the ring's first plane, and where they are in a plane of the grid. */
    vf_place to, to_beside[list];
    unsigned from[VF_WORK_Y], from_edge[own_edges > 0 ? own_edges : 1], from_beside[list];
    const REAL *start[VF_LATER + 1]; /* where planes begin: the one that is sent for next, and those before */

    VF_MEMBER vf_copies(const VfArgs &a, const vf_course &c, vf_place ring)
        : args(a), course(c), x(c.x + threadIdx.x * VF_PACK),
          to(ring + bytes(threadIdx.y, VF_BORDER + threadIdx.x * VF_PACK))
    {
        start[0] = start_of(c.begin - VF_HALO_Z);
        VF_UNROLL for (int k = 0; k < VF_WORK_Y; k++)
        {
            /* A pack in which the grid's rows end is copied with those beside the tile, if rows have such. */
            from[k] = pack_at(threadIdx.y + k * VF_BLOCK_Y, VF_HALO_X > 0 ? VF_PACK : 1);
        }
        VF_UNROLL for (int k = 0; k < own_edges; k++) from_edge[k] = edge_at(k);
        VF_UNROLL for (int k = 0; k < beside; k++)
        {
            to_beside[k] = ring + bytes(VF_HALO_Y + row_beside(k), column_beside(k));
            from_beside[k] = beside_at(k);
        }
    }

    static VF_MEMBER unsigned bytes(unsigned row, unsigned column)
    {
        return (row * VF_PITCH + column) * (unsigned)sizeof(REAL);
    }

    /* Where the row begins that is read for row y, in any plane. Rows farther outside than the halo are not
     * needed: they get any place. */
    VF_MEMBER unsigned row_at(int y)
    {
        const int at = vf_index(y < args.ny + VF_HALO_Y ? y : args.ny - 1 + VF_HALO_Y, args.ny);
        return at < 0 ? VF_OUTSIDE : (unsigned)at * (unsigned)args.pitch;
    }

    /* Where the thread's pack is of a row, counted from the tile's first one, if so many of its cells are in
     * the grid. */
    VF_MEMBER unsigned pack_at(int row, int width)
    {
        const unsigned at = row_at(course.y + row);
        return x + width > args.nx ? VF_NOTHING : at == VF_OUTSIDE ? VF_OUTSIDE : at + x;
    }

    /* How many rows of the ring are between a row above or below the tile and those above. */
    static VF_MEMBER int between(int k)
    {
        return k * VF_BLOCK_Y < VF_HALO_Y && (int)threadIdx.y + k * VF_BLOCK_Y < VF_HALO_Y ? 0 : VF_TILE_Y;
    }

    /* Where the thread's pack of that row is. */
    VF_MEMBER unsigned edge_at(int k)
    {
        const int edge = threadIdx.y + k * VF_BLOCK_Y;
        return edge < edges
                   ? pack_at(edge - VF_HALO_Y + between(k), corners > 0 && VF_HALO_X > 0 ? VF_PACK : 1)
                   : VF_NOTHING;
    }

    /* The row, counted from the tile's first, and the first column of a pack beside rows, counted from the
     * ring's first column. */
    static VF_MEMBER int row_beside(int k)
    {
        return (vf_thread() + k * VF_THREADS) / packs - corners;
    }

    VF_MEMBER int column_beside(int k)
    {
        const int pack = (vf_thread() + k * VF_THREADS) % packs, whole = (args.nx - course.x) / VF_PACK;
        return (pack < VF_BEFORE ? pack : pack + (whole < VF_BLOCK_X ? whole : VF_BLOCK_X)) * VF_PACK;
    }

    VF_MEMBER int x_beside(int k)
    {
        return course.x - VF_BORDER + column_beside(k);
    }

    /* Where that pack is. */
    VF_MEMBER unsigned beside_at(int k)
    {
        const unsigned at = row_at(course.y + row_beside(k));
        return row_beside(k) >= VF_TILE_Y + corners                 ? VF_NOTHING
               : x_beside(k) < 0 || x_beside(k) + VF_PACK > args.nx ? VF_AT_END
               : at == VF_OUTSIDE                                   ? VF_OUTSIDE
                                                                    : at + x_beside(k);
    }

    static VF_MEMBER bool is_outside(const REAL *plane, unsigned at)
    {
        return VF_BOUNDARY == VF_CONSTANT && (plane == nullptr || at == VF_OUTSIDE);
    }

    VF_MEMBER void bring_pack(vf_place to, const REAL *plane, unsigned at)
    {
        if (is_outside(plane, at)) {
            REAL outside[VF_PACK];
            VF_UNROLL for (int i = 0; i < VF_PACK; i++) outside[i] = vf_outside(args, 0);
            vf_set_pack((REAL *)vf_pointer(to), outside);
        } else {
            vf_copy_to<16>(to, plane + at);
        }
    }

    /* The same for pack k of those beside the tile's rows, cell by cell. */
    VF_MEMBER void bring_cells(unsigned place, const REAL *plane, int k)
    {
        const unsigned row = row_at(course.y + row_beside(k));
        VF_UNROLL for (int i = 0; i < VF_PACK; i++)
        {
            const int at = vf_index(x_beside(k) + i, args.nx);
            const vf_place cell = to_beside[k] + place + i * (int)sizeof(REAL);
            if (is_outside(plane, at < 0 ? VF_OUTSIDE : row))
                *(REAL *)vf_pointer(cell) = vf_outside(args, 0);
            else
                vf_copy_to<sizeof(REAL)>(cell, plane + (row + at));
        }
    }

    /* Where a plane begins; beyond the last one that is needed, that one. */
    VF_MEMBER const REAL *start_of(int plane)
    {
        const int last = course.end - 1 + VF_HALO_Z, at = vf_index(plane < last ? plane : last, args.nz);
        return at < 0 ? nullptr : (const REAL *)args.in[0] + vf_row(args, 0, at);
    }

    /* Turns to this plane, the next one; within the grid that is the next one in memory, too. */
    template <bool is_inner> VF_MEMBER void turn_to(int plane)
    {
        VF_UNROLL for (int i = VF_LATER; i > 0; i--) start[i] = start[i - 1];
        start[0] = is_inner || (plane > 0 && plane < args.nz && plane < course.end + VF_HALO_Z)
                       ? vf_fixed(start[0] + args.plane)
                       : start_of(plane);
    }

    /* Begins to copy the tile of a plane, which begins at `start`, to a place in the ring. */
    VF_MEMBER void send_tile(const REAL *start, unsigned place)
    {
        VF_UNROLL for (int k = 0; k < VF_WORK_Y; k++)
        {
            if (from[k] != VF_NOTHING)
                bring_pack(to + place + bytes(VF_HALO_Y + k * VF_BLOCK_Y, 0), start, from[k]);
        }
    }

    /* The same for what is beside the tile. */
    VF_MEMBER void send_beside(const REAL *start, unsigned place)
    {
        VF_UNROLL for (int k = 0; k < own_edges; k++)
        {
            if (from_edge[k] != VF_NOTHING)
                bring_pack(to + place + bytes(k * VF_BLOCK_Y + between(k), 0), start, from_edge[k]);
        }
        VF_UNROLL for (int k = 0; k < beside; k++)
        {
            if (from_beside[k] == VF_AT_END)
                bring_cells(place, start, k);
            else if (from_beside[k] != VF_NOTHING)
                bring_pack(to_beside[k] + place, start, from_beside[k]);
        }
    }

    /* Whether what is beside the tile is read of a plane: for results in it. A row's end may be among that.
     */
    VF_MEMBER bool is_beside_read(int plane)
    {
        return VF_IS_BOX || (VF_TAIL > 0 && VF_HALO_X > 0) ? plane >= course.begin - VF_HALO_Z
                                                           : course.has(plane);
    }

    /* Begins to copy the tile of the next plane, this one, and what is beside that of VF_LATER planes before,
     * if that is read. */
    template <bool is_inner> VF_MEMBER void send(int plane, unsigned place)
    {
        send_tile(start[0], place);
        if (is_inner || is_beside_read(plane - VF_LATER))
            send_beside(start[VF_LATER], vf_before(place));
        vf_close_copies();
        turn_to<is_inner>(plane + 1);
    }
};

/* ---- what a thread makes of planes: vf_results, for boxes, for stars, or for bodies of the source ---- */

typedef REAL vf_cells[VF_WORK_Y][VF_PACK];

/* A thread's cells of all that the stages make. */
typedef vf_cells vf_made[VF_FIELDS - VF_INPUTS];

/* A thread's own columns of the ring. */
struct vf_window {
    /* In the ring's first plane: the pack in the thread's columns of the first row that it reads. */
    const unsigned char *const memory;

    VF_MEMBER explicit vf_window(unsigned char *ring)
        : memory(ring + vf_copies::bytes(threadIdx.y * VF_WORK_Y, VF_BORDER + threadIdx.x * VF_PACK))
    {
    }

    template <class T> VF_MEMBER const T &at(unsigned place, int row, int column) const
    {
        return *(const T *)(memory + place + ((row * VF_PITCH + column) * (int)sizeof(REAL)));
    }

    VF_MEMBER void take(unsigned place, int row, int pack, REAL *to) const
    {
        const vf_vector v = at<vf_vector>(place, row, pack * VF_PACK);
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) to[i] = vf_element(v, i);
    }

    VF_MEMBER void take_own(unsigned place, vf_cells &own) const
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++) take(place, VF_HALO_Y + j, 0, own[j]);
    }

    /* A pack with what is beside it, from cell[0] on. */
    VF_MEMBER void take_wide(unsigned place, int row, REAL (&cell)[VF_PACK + 2 * VF_BORDER]) const
    {
        VF_UNROLL for (int pack = -VF_BEFORE; pack <= VF_BEFORE; pack++)
            take(place, row, pack, &cell[VF_BORDER + pack * VF_PACK]);
    }

    /* The same if only one cell on each side is read: it comes from the thread beside, for which shared
     * memory takes a quarter of the time. */
    VF_MEMBER void take_wide_by_one(unsigned place, int row, REAL (&cell)[VF_PACK + 2 * VF_BORDER]) const
    {
        enum { segment = VF_BLOCK_X < 32 ? VF_BLOCK_X : 32 };
        const int lane = threadIdx.x % segment;
        REAL *const own = &cell[VF_BORDER];
        take(place, row, 0, own);
        REAL before = __shfl_up_sync(0xffffffffu, own[VF_PACK - 1], 1, segment),
             behind = __shfl_down_sync(0xffffffffu, own[0], 1, segment);
        if (lane == 0)
            before = at<REAL>(place, row, -1);
        if (lane == segment - 1)
            behind = at<REAL>(place, row, VF_PACK);
        own[-1] = before;
        own[VF_PACK] = behind;
    }
};

#if VF_TABLES > 0
VF_INLINE void vf_add(const VfArgs &args, int first, int t, const REAL *value, REAL (&to)[VF_PACK])
{
    const REAL weight = vf_param(args, first + t);
    VF_UNROLL for (int i = 0; i < VF_PACK; i++) to[i] =
        t == 0 ? weight * value[i] : FMA(weight, value[i], to[i]);
}
#endif

#if VF_IS_BOX
/* A term of table s, whose weights begin at parameter `first`, for a row that is `away` rows from row j. */
#define VF_ADD_TERM(t, dz, dy, dx)                      \
    if ((dy) == away)                                   \
        vf_add(args, first, t, &cell[VF_BORDER + (dx)], \
               (VF_HALO_Z - (dz) == VF_SUMS ? begun : sum[table][VF_HALO_Z - (dz)])[j]);

/* Sums with terms off the axes: all terms of a plane are added at once. */
struct vf_results {
    /* sum[s][m] is the sum of table s for the result m planes after the one that is completed next. Sums are
     * not initialised: those of the first results that are stored begin with a product. */
    vf_cells sum[VF_TABLES][VF_SUMS];

    template <int kind> VF_MEMBER void take(const VfArgs &, const vf_window &, unsigned)
    {
    }

    VF_MEMBER void complete(const VfArgs &args, const vf_window &ring, unsigned place, vf_made &made)
    {
        vf_cells begin[VF_TABLES]; /* sums that begin with this plane */
        VF_UNROLL for (int row = 0; row < VF_WORK_Y + 2 * VF_HALO_Y; row++)
        {
            REAL cell[VF_PACK + 2 * VF_BORDER];
            if (VF_HALO_X == 1)
                ring.take_wide_by_one(place, row, cell);
            else
                ring.take_wide(place, row, cell);
#define VF_ADD_ROW(s)                                    \
    VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)        \
    {                                                    \
        constexpr int first = vf_stage_##s::first_param; \
        const int away = row - VF_HALO_Y - j, table = s; \
        vf_cells &begun = begin[s];                      \
        VF_TAPS_##s(VF_ADD_TERM)                         \
    }
            VF_EACH_TABLE(VF_ADD_ROW)
#undef VF_ADD_ROW
        }
        VF_UNROLL for (int s = 0; s < VF_TABLES; s++)
        {
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                VF_UNROLL for (int i = 0; i < VF_PACK; i++)
                {
                    made[s][j][i] = sum[s][0][j][i];
                    VF_UNROLL for (int m = 1; m < VF_SUMS; m++) sum[s][m - 1][j][i] = sum[s][m][j][i];
                    sum[s][VF_SUMS - 1][j][i] = begin[s][j][i];
                }
            }
        }
    }
};
#elif VF_TABLES > 0
/* Terms of a star, whose weights begin at parameter `first`: those of a row of the present plane, `away` rows
 * from row j; and those of the thread's own cells in a plane `along` planes away. */
#define VF_ADD_BESIDE(t, dz, dy, dx) \
    if ((dz) == 0 && (dy) == away)   \
        vf_add(args, first, t, &cell[VF_BORDER + (dx)], to[j]);
#define VF_ADD_ALONG(t, dz, dy, dx)  \
    if (along != 0 && (dz) == along) \
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++) vf_add(args, first, t, own[j], to[j]);

/* Sums of stars. */
struct vf_results {
    /* As for boxes. */
    vf_cells sum[VF_TABLES][VF_SUMS];
    vf_cells own, star[VF_TABLES]; /* the thread's cells of the present plane; sums for results in it */

    /* Adds what a plane of this kind has in results in it. */
    template <int kind> VF_MEMBER void take(const VfArgs &args, const vf_window &ring, unsigned place)
    {
        VF_UNROLL for (int s = 0; s < VF_TABLES; s++)
        {
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                VF_UNROLL for (int i = 0; i < VF_PACK; i++) star[s][j][i] = sum[s][VF_DELAY][j][i];
            }
        }
        if (kind == VF_BEYOND)
            ring.take_own(place, own);
        else
            add_plane(args, ring, place);
    }

    VF_MEMBER void add_plane(const VfArgs &args, const vf_window &ring, unsigned place)
    {
        VF_UNROLL for (int row = 0; row < VF_WORK_Y + 2 * VF_HALO_Y; row++)
        {
            const int mine = row - VF_HALO_Y, is_own = mine >= 0 && mine < VF_WORK_Y;
            REAL cell[VF_PACK + 2 * VF_BORDER];
            if (is_own)
                ring.take_wide(place, row, cell);
            else
                ring.take(place, row, 0, &cell[VF_BORDER]);
#define VF_ADD_ROW(s)                                    \
    VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)        \
    {                                                    \
        constexpr int first = vf_stage_##s::first_param; \
        const int away = mine - j;                       \
        vf_cells &to = star[s];                          \
        VF_TAPS_##s(VF_ADD_BESIDE)                       \
    }
            VF_EACH_TABLE(VF_ADD_ROW)
#undef VF_ADD_ROW
            VF_UNROLL for (int i = 0; i < VF_PACK && is_own; i++) own[is_own ? mine : 0][i] =
                cell[VF_BORDER + i];
        }
    }

    /* Adds the terms that the thread's cells have in results of other planes, moves sums on by a plane, and
     * gives those that are complete. */
    VF_MEMBER void complete(const VfArgs &args, const vf_window &ring, unsigned place, vf_made &made)
    {
#define VF_ADD_OWN(s)                                                                                      \
    VF_UNROLL for (int m = 0; m <= VF_SUMS; m++)                                                           \
    {                                                                                                      \
        constexpr int first = vf_stage_##s::first_param;                                                   \
        const int along = VF_DELAY - m;                                                                    \
        vf_cells to;                                                                                       \
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)                                                      \
        {                                                                                                  \
            VF_UNROLL for (int i = 0; i < VF_PACK; i++) to[j][i] = along == 0    ? star[s][j][i]           \
                                                                   : m < VF_SUMS ? sum[s][m][j][i]         \
                                                                                 : REAL(0);                \
        }                                                                                                  \
        VF_TAPS_##s(VF_ADD_ALONG) VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)                            \
        {                                                                                                  \
            VF_UNROLL for (int i = 0; i < VF_PACK; i++)(m > 0 ? sum[s][m - 1] : made[s])[j][i] = to[j][i]; \
        }                                                                                                  \
    }
        VF_EACH_TABLE(VF_ADD_OWN)
#undef VF_ADD_OWN
        add_above(args, ring, place, made);
    }

    /* Adds the last VF_ABOVE terms along z. */
    VF_MEMBER void add_above(const VfArgs &args, const vf_window &ring, unsigned place, vf_made &made)
    {
        VF_UNROLL for (int along = VF_DELAY + 1; along <= VF_HALO_Z; along++)
        {
            vf_cells own;
            place = vf_next(place);
            ring.take_own(place, own);
#define VF_ADD_ABOVE(s)                                  \
    {                                                    \
        constexpr int first = vf_stage_##s::first_param; \
        vf_cells &to = made[s];                          \
        VF_TAPS_##s(VF_ADD_ALONG)                        \
    }
            VF_EACH_TABLE(VF_ADD_ABOVE)
#undef VF_ADD_ABOVE
        }
    }
};
#else
/* What bodies read of the source, which is next to a cell: rows of the present plane with what is beside
 * them, and the thread's own cells of the planes below and above. */
struct vf_results {
    REAL row[VF_WORK_Y + 2 * VF_HALO_Y][VF_PACK + 2 * VF_BORDER];
    vf_cells own, below, above;

    template <int kind> VF_MEMBER void take(const VfArgs &, const vf_window &ring, unsigned place)
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_PACK; i++) below[j][i] = own[j][i];
        }
        if (kind == VF_BEYOND)
            return ring.take_own(place, own);
        VF_UNROLL for (int n = 0; n < VF_WORK_Y + 2 * VF_HALO_Y; n++)
        {
            const int mine = n - VF_HALO_Y, is_own = mine >= 0 && mine < VF_WORK_Y;
            if (is_own)
                ring.take_wide(place, n, row[n]);
            else
                ring.take(place, n, 0, &row[n][VF_BORDER]);
            VF_UNROLL for (int i = 0; i < VF_PACK && is_own; i++) own[is_own ? mine : 0][i] =
                row[n][VF_BORDER + i];
        }
    }

    /* To be called behind the branch around what is not stored: before it, the compiler keeps the loop's
     * counters in each thread's registers, and a Laplacian of 512^3 takes 6% longer. */
    VF_MEMBER void take_above(const vf_window &ring, unsigned place)
    {
        ring.take_own(vf_next(place), above);
    }

    VF_MEMBER REAL at(int j, int i, int dz, int dy, int dx) const
    {
        return dz < 0 ? below[j][i] : dz > 0 ? above[j][i] : row[VF_HALO_Y + j + dy][VF_BORDER + i + dx];
    }
};
#endif

/* The accessor that a body sees. */
template <class S, bool is_short> struct vf_body_view {
    enum { short_way = is_short, whole_steps = S::whole_steps };
    const VfArgs &args;
    const vf_results &results;
    vf_made &made;
    const int j, i;
    REAL in_doubt;

    VF_MEMBER REAL at(int k, int dz, int dy, int dx)
    {
#if VF_TABLES == 0
        if (S::in(k) < VF_INPUTS)
            return results.at(j, i, dz, dy, dx);
#endif
        return made[S::in(k)-VF_INPUTS][j][i];
    }
    VF_MEMBER void put(int k, REAL value)
    {
        made[S::out(k) - VF_INPUTS][j][i] = value;
    }
    VF_MEMBER REAL param(int p)
    {
        return vf_stage_param<S>(args, p);
    }
    template <class Lower> VF_MEMBER REAL lower_face(int, REAL, Lower lower)
    {
        return lower();
    }
    VF_MEMBER void doubt(REAL value)
    {
        in_doubt = in_doubt + value;
    }
};

/* A block's chunk. */
struct vf_chunk {
    const VfArgs &args;
    vf_copies copies; /* which has the block's course */
    const vf_window ring;
    const int rows;      /* how many of the thread's rows are in the grid */
    long long result_at; /* the element at which the first of them is in the next result */
    vf_results results;

    VF_MEMBER vf_chunk(const VfArgs &a, const vf_course &c, unsigned char *memory)
        : args(a), copies(a, c, vf_place_of(memory)), ring(memory), rows(rows_of(a, c)),
          result_at(vf_row(a, y_of(c), c.begin) + x_of(c))
    {
    }

    static VF_MEMBER int rows_of(const VfArgs &a, const vf_course &c)
    {
        const int rows = x_of(c) < a.nx ? a.ny - y_of(c) : 0;
        return VF_CROWDED ? rows : vf_kept(rows);
    }

    static VF_MEMBER int x_of(const vf_course &c)
    {
        return c.x + threadIdx.x * VF_PACK;
    }

    static VF_MEMBER int y_of(const vf_course &c)
    {
        return c.y + threadIdx.y * VF_WORK_Y;
    }

    /* Returns NaN if a short way left a result in doubt. */
    template <bool is_short> VF_MEMBER REAL compute_bodies(vf_made &made)
    {
        REAL in_doubt =
            -REAL(0); /* an addition to -0 changes nothing, so that the compiler can leave it out */
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_PACK; i++)
            {
#define VF_COMPUTE(s)                                                                      \
    {                                                                                      \
        vf_body_view<vf_stage_##s, is_short> view = {args, results, made, j, i, in_doubt}; \
        vf_stage_##s::compute(view);                                                       \
        in_doubt = view.in_doubt;                                                          \
    }
                VF_EACH_BODY(VF_COMPUTE)
#undef VF_COMPUTE
            }
        }
        return in_doubt;
    }

    VF_MEMBER void store(const vf_made &made)
    {
#define VF_STORE_OF(k)                                                                                      \
    {                                                                                                       \
        vf_out_##k *const to = vf_fixed((vf_out_##k *)args.out[k] + result_at);                             \
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)                                                       \
        {                                                                                                   \
            if (j < rows)                                                                                   \
                vf_write_pack(vf_rows_after(to, (unsigned)args.pitch, j), made[vf_sink(k) - VF_INPUTS][j]); \
        }                                                                                                   \
    }
        VF_EACH_OUTPUT(VF_STORE_OF)
#undef VF_STORE_OF
        result_at += args.plane;
    }

    /* Stores the result that a plane completes. */
    VF_MEMBER void complete(int plane, unsigned place)
    {
        vf_made made;
#if VF_TABLES > 0
        results.complete(args, ring, place, made);
#endif
        if (plane < copies.course.begin + VF_DELAY)
            return;
#if VF_TABLES == 0
        results.take_above(ring, place);
#endif
        const REAL in_doubt = compute_bodies<true>(made);
        if (in_doubt != in_doubt)
            compute_bodies<false>(made);
        store(made);
    }

    /* A thread arrives at the gate when it is done with the plane before and its part of the next one is
     * there, and passes it when it is done with the present plane: until then others may be a plane behind.
     */
    template <bool is_inner> VF_MEMBER void send_and_arrive(int plane, unsigned to, vf_gate &gate)
    {
        copies.send<is_inner>(plane + VF_SENT, to);
        vf_wait_copies<VF_UNDER_WAY>();
        gate.arrive();
    }

    /* Takes planes of one kind, which are in the ring from `from` on, and sends for others from `to` on. */
    template <int kind>
    VF_MEMBER void take_planes(int first, int end, vf_gate &gate, unsigned &from, unsigned &to)
    {
        const int stop = VF_CROWDED ? end : vf_kept(end);
        VF_NO_UNROLL for (int plane = first; plane < stop; plane++)
        {
            if (!VF_CROWDED)
                send_and_arrive<kind == VF_INNER>(plane, to, gate);
            results.take<kind>(args, ring, from);
            if (VF_CROWDED)
                send_and_arrive<kind == VF_INNER>(plane, to, gate);
            complete(plane, from);
            gate.wait();
            to = vf_next(to);
            from = vf_next(from);
        }
    }

    VF_MEMBER void take_inner_planes(int end, vf_gate &gate, unsigned &from, unsigned &to)
    {
        if (!VF_ALL_AT_ONCE)
            return take_planes<VF_INNER>(copies.course.begin, end, gate, from, to);
        vf_pace pace(args, end - copies.course.begin, VF_RESIDENT);
        VF_NO_UNROLL for (int plane = copies.course.begin; plane < end; plane += VF_PACE_PLANES)
        {
            pace.turn();
            take_planes<VF_INNER>(plane, min(plane + VF_PACE_PLANES, end), gate, from, to);
        }
        pace.close();
    }

    VF_MEMBER void sweep(vf_gate &gate)
    {
        const int first = copies.course.begin - VF_HALO_Z,
                  inner_end = !VF_HAS_INNER ? copies.course.begin
                                            : max(copies.course.begin, copies.course.end - VF_SENT - 1);
        unsigned to = VF_SENT * VF_PLANE, from = 0;
        VF_UNROLL for (int i = 0; i < VF_SENT; i++) copies.send<false>(first + i, i * VF_PLANE);
        vf_wait_copies<VF_UNDER_WAY>();
        __syncthreads();
        take_planes<VF_BEYOND>(first, copies.course.begin, gate, from, to);
        if (VF_HAS_INNER)
            take_inner_planes(inner_end, gate, from, to);
        take_planes<VF_WITHIN>(inner_end, copies.course.end, gate, from, to);
        take_planes<VF_BEYOND>(copies.course.end, copies.course.end + VF_DELAY, gate, from, to);
        vf_wait_copies<0>();
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    vf_gate gate(memory + VF_RING_AT + VF_RING);
    vf_chunk chunk(args, vf_course_of(args, tile_x, tile_y, tile_z), memory + VF_RING_AT);
    chunk.sweep(gate);
    gate.close();
}

#include "kernels/device_entry.h"
