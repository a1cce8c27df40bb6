/* For star-stream, of whose constants it is made: planes that are copied to a ring in shared memory, and what
 * a thread finds there. */
#ifndef VF_DEVICE_RING_H
#define VF_DEVICE_RING_H

#include "kernels/device_pack.h"

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

/* ---- what a thread takes ---- */

typedef REAL vf_cells[VF_WORK_Y][VF_PACK];

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

#endif
