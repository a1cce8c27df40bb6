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
 * The ring is in device_ring.h, what a thread makes of its planes in device_ring_results.h.
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
#include "kernels/device_ring.h"

#include "kernels/device_gate.h"
#include "kernels/device_pace.h"
#include "kernels/device_ring_results.h"

/* How many planes have been sent for when the first one is taken, and how many groups of copies may still be
 * on their way then: a plane that is taken needs what is beside it, the VF_ABOVE next ones their tiles only,
 * unless there is a pack of a tile among what is beside it. */
#define VF_SENT (VF_AHEAD + VF_ABOVE)
#define VF_NEEDED (VF_TAIL > 0 ? VF_ABOVE + VF_LATER : VF_LATER > VF_ABOVE ? VF_LATER : VF_ABOVE)
#define VF_UNDER_WAY (VF_SENT - 1 - VF_NEEDED)

/* Whether all blocks run at once, and how many of a multiprocessor. */
#define VF_ALL_AT_ONCE (VF_VARIANT_FAR || VF_VARIANT_FAR_PAIRS)
#define VF_RESIDENT (VF_VARIANT_FAR_PAIRS ? 2 : 1)

/* Whether a block has few warps, of which sums take all registers. Then bounds are found anew for each plane,
 * and copies begin between two parts of a plane, not where all warps do so at once. */
#define VF_CROWDED (VF_ABOVE > 1 && VF_THREADS <= 256)

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
