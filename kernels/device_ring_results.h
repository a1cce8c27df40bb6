/* For star-stream: what a thread makes of the planes that it takes from the ring, vf_results: the sums of
 * boxes, those of stars, or what bodies read of the source. */
#ifndef VF_DEVICE_RING_RESULTS_H
#define VF_DEVICE_RING_RESULTS_H

#include "kernels/device_ring.h"

/* How many planes behind a result the last one is that is added to its sum in registers, and how many results
 * have sums at once. */
#define VF_DELAY (VF_HALO_Z - VF_ABOVE)
#define VF_SUMS (VF_HALO_Z + VF_DELAY)

/* Planes that a block goes through: beyond the ends of its chunk, where they are read along z alone; within
 * it; and there, those for which it sends for planes within it too, so that nothing is asked about ends. */
enum { VF_BEYOND, VF_WITHIN, VF_INNER };

/* A thread's cells of all that the stages make. */
typedef vf_cells vf_made[VF_FIELDS - VF_INPUTS];

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

#endif
