/* Runs: `count` results that follow one another along a line of weights and are made by one thread. Each
 * value that it takes from shared memory serves all of them, so that a result that reaches R cells takes
 * (count + 2R) / count values, not 2R + 1. V. Volkov, Better performance at lower occupancy, GPU Technology
 * Conference 2010, says why a thread should make several results.
 *
 * Included after device_pack.h. A scheme may define VF_UNROLL_PARTS as VF_NO_UNROLL: then the loop over the
 * parts of a long line is not unrolled, which is less code, but weights are not constants of instructions. */
#ifndef VF_DEVICE_RUN_H
#define VF_DEVICE_RUN_H

#ifndef VF_UNROLL_PARTS
#define VF_UNROLL_PARTS VF_UNROLL
#endif

/* `count` results, each of `span` cells side by side. A thread takes `taken` values at once; values are
 * `apart` elements apart. For alignment it begins `needless` values before the first that it needs. */
template <class Line, int count, int span, int taken, int needless, int apart> struct vf_run {
    /* What a run reads is divided into parts of `count` values. In parts [whole_begin, whole_end) every value
     * has a term in every result. */
    enum {
        reach = Line::halo_x + Line::halo_y + Line::halo_z,
        parts = (needless + 2 * reach + 2 * count - 1) / count,
        whole_begin = (needless + 2 * count - 2) / count,
        whole_last = (needless + 2 * reach + 1) / count,
        whole_end = whole_last > whole_begin ? whole_last : whole_begin,
    };
    const VfArgs &args;
    REAL sum[count][span];

    /* Adds the terms of value `number` of those that the run reads to all results that have one. */
    template <bool is_whole> VF_MEMBER void add(int number, const REAL *value)
    {
        VF_UNROLL for (int m = 0; m < count; m++)
        {
            const int t = number - m;
            if (!is_whole && (t < 0 || t > 2 * reach))
                continue;
            const REAL weight = vf_param(args, Line::first_param + t);
            VF_UNROLL for (int i = 0; i < span; i++) sum[m][i] =
                !is_whole && t == 0 ? weight * value[i] : FMA(weight, value[i], sum[m][i]);
        }
    }

    template <bool is_whole> VF_MEMBER void add_part(int part, const REAL *from)
    {
        VF_UNROLL for (int k = 0; k < count; k += taken)
        {
            const int number = part * count - needless + k;
            if (!is_whole && number >= count + 2 * reach)
                continue;
            REAL value[taken * span];
            vf_get_cells(from + k * apart, value);
            VF_UNROLL for (int i = 0; i < taken; i++) add<is_whole>(number + i, value + i * span);
        }
    }

    /* Adds all terms. The first part is at shared[at], the one after that at shared[next(at)], and so on. */
    template <class Next> VF_MEMBER void add_all(const REAL *shared, int at, Next next)
    {
        VF_UNROLL for (int part = 0; part < whole_begin; part++, at = next(at))
            add_part<false>(part, shared + at);
        VF_UNROLL_PARTS for (int part = whole_begin; part < whole_end; part++, at = next(at))
            add_part<true>(part, shared + at);
        VF_UNROLL for (int part = whole_end; part < parts; part++, at = next(at))
            add_part<false>(part, shared + at);
    }
};

/* Brings a pack that is in the grid to shared memory, in the compute type. */
template <class T> VF_INLINE void vf_bring(vf_place to, const T *from)
{
    if constexpr (vf_same<T, REAL>::yes)
        vf_copy_to<16>(to, from);
    else {
        REAL pack[VF_PACK];
        vf_read_pack(from, pack);
        vf_set_pack((REAL *)vf_pointer(to), pack);
    }
}

/* The columns of a block that streams along y or z: `span` for each lane of a warp. All warps have the same
 * columns; each makes one run of `count` results in each of them at a time. What the line reads is in a ring
 * of parts. */
template <class Line, int count, int span, int warps> struct vf_columns {
    typedef vf_run<Line, count, span, 1, 0, 32 * span> run;
    enum {
        columns = 32 * span,
        part_cells = count * columns,
        parts_before = run::parts - 1 + warps, /* parts that are brought before the first step */
        ring = parts_before + warps,           /* these, and the ones that are brought meanwhile */
        row_packs = columns / VF_PACK,
        rows_at_once = 32 / row_packs,
        reach = run::reach,
    };
    const VfArgs &args;
    const int x;            /* the first column */
    const int begin, end;   /* the results along the line that the block makes */
    const int places;       /* the grid's extent along the line */
    const long long step;   /* elements from one place to the next */
    const long long origin; /* the element of column x at place 0 */

    VF_MEMBER vf_columns(const VfArgs &a, int tile_x, int tile_y, int tile_z)
        : args(a), x(tile_x * columns),
          begin(Line::halo_z > 0 ? a.z_begin + tile_z * VF_STREAM : tile_y * VF_STREAM),
          end(min(begin + VF_STREAM, Line::halo_z > 0 ? a.z_end : a.ny)),
          places(Line::halo_z > 0 ? a.nz : a.ny), step(Line::halo_z > 0 ? a.plane : a.pitch),
          origin((Line::halo_z > 0 ? vf_row(a, tile_y, 0) : vf_row(a, 0, a.z_begin + tile_z)) + x)
    {
    }

    /* A warp brings part number `part`, of which 0 is the first that the first run reads, of several fields,
     * field(0), field(1), ..., whose rings are `apart` elements apart. */
    template <int fields, class Field> VF_MEMBER void bring(int part, REAL *to, int apart, Field field) const
    {
        const int lane = threadIdx.x, row = lane / row_packs, column = lane % row_packs * VF_PACK,
                  first = begin - reach + part * count, reached = end + reach;
        if (x + column >= args.nx)
            return;
        REAL *const own = to + row * columns + column;
        if (first >= 0 && first + count <= min(places, reached)) {
            const vf_place place = vf_place_of(own);
            const long long at = origin + column + (first + row) * step;
            VF_UNROLL for (int f = 0; f < fields; f++)
            {
                const vf_in_0 *const rows = (const vf_in_0 *)args.in[field(f)] + at;
                VF_UNROLL for (int k = 0; k < count; k += rows_at_once)
                    vf_bring(place + (f * apart + k * columns) * (int)sizeof(REAL),
                             vf_rows_after(rows, (unsigned)step, (unsigned)k));
            }
            return;
        }
        VF_NO_UNROLL for (int k = row; k < count && first + k < reached; k += rows_at_once)
        {
            const int at = vf_index(first + k, places);
            VF_UNROLL for (int f = 0; f < fields; f++)
            {
                REAL *const pack = own + (f * apart + (k - row) * columns);
                if (VF_BOUNDARY != VF_CONSTANT || at >= 0)
                    vf_bring(vf_place_of(pack),
                             (const vf_in_0 *)args.in[field(f)] + (origin + column + at * step));
                else
                    VF_UNROLL for (int i = 0; i < VF_PACK; i++) pack[i] = vf_outside(args, field(f));
            }
        }
    }

    /* Where the part after the one at `at` is in the ring, in elements. */
    static VF_MEMBER int after(int at)
    {
        return at + part_cells < ring * part_cells ? at + part_cells : 0;
    }
    /* The place in the ring of the part that is `warps` parts later. */
    static VF_MEMBER int step_on(int part)
    {
        return part + warps >= ring ? part + warps - ring : part + warps;
    }
};

#endif
