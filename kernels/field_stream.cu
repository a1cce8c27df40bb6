/* One kernel sweeps a chain of bodies with many fields, which read their next neighbours along the axes. The
 * fields between them are never written to memory. A block takes a tile with its room (overlapped tiling
 * along x and y) and streams along z. Stages are in levels: those of the first read neighbours of the sources
 * only, those of the next one neighbours of what the first makes, a plane behind it. A thread keeps its own
 * cells of the latest planes of every field in registers, where it finds neighbours along z. Those along x
 * come from the threads beside it by shuffles, those along y from rows in shared memory, where each thread
 * leaves its own; a field is exchanged along an axis only if a level reads it there. There is one barrier a
 * plane; the sources' next plane is on its way to shared memory meanwhile.
 *
 * kernels/time_stream.cu does the same for one field a step, any reach, and little arithmetic. This one is
 * for bodies of much arithmetic with fields that would otherwise be written and read again: a step of tensor
 * diffusion has six between its two levels. */
#include "kernels/device.h"
#include "kernels/device_pack.h"
#include "kernels/device_sweep.h"

/* Constants beside those of device.h and device_sweep.h, from kernels/field_stream.c:
 *   VF_FIELD_LEVELS        how many levels there are
 *   VF_FIELD_LEVEL(s)      the level of stage s; the first is 0
 *   VF_FIELD_MADE(f)       the level that makes field f; -1 for a source
 *   VF_FIELD_OLDEST(f)     the greatest age at which a plane of field f is read
 *   VF_FIELD_READ(l, f)    along which axes level l reads neighbours in field f: 1 for x, 2 for y, or both
 *   VF_EACH_FIELD(F)       F(0) F(1) ... for all fields
 *   VF_FIELD_ROWS(f)       the number of the field's first slot in shared memory; -1: it has none
 *   VF_FIELD_SLOTS(f)      how many slots it has: 2, VF_AHEAD + 1 or VF_SLOTS
 *   VF_AHEAD               how many planes of the sources are on their way */
enum { VF_ALONG_X = 1, VF_ALONG_Y = 2 };

/* A field has slots in shared memory, one for each plane. So many are enough for a source: for planes on
 * their way, the newest one, and older ones that levels read along y. */
#define VF_SLOTS (VF_FIELD_LEVELS + 1 + VF_AHEAD)
/* A slot has the rows of the block, one before them and one behind (for sources these are loaded too), and
 * under `constant` a row of the constant. */
#define VF_SLOT_ROWS (VF_COVERED_Y + 2 + (VF_BOUNDARY == VF_CONSTANT))
#define VF_SLOT_SIZE (VF_SLOT_ROWS * VF_COVERED_X)

/* The loop over planes is written out so many times, so that values which grow older are renamed, not copied.
 */
#define VF_TURN 3

/* ---- what a thread has ---- */

struct vf_fields {
    vf_sweep sweep;
    /* The planes of every field by age: how many planes they are behind the newest one of the sources. What a
     * level makes has age 1 + level at first. */
    vf_cells cell[VF_FIELDS][VF_FIELD_LEVELS + 2];
    /* Fluxes through faces along z: the upper ones of a plane are the lower ones of the next plane. */
    vf_cells face_below[VF_STAGES], face_above[VF_STAGES];
    /* In elements: where in a slot are the thread's first row, and the rows before its first and behind its
     * last; and where slots begin, by the steps since they were written, for fields that have VF_SLOTS,
     * VF_AHEAD + 1, and 2. */
    int own, above, below, slot[VF_SLOTS], sent[VF_AHEAD + 1], pair[2];
    /* Threads with the block's first and last row load one row more of the sources: from and to where. */
    unsigned int beyond_at;
    int beyond;
    bool is_edge;

    VF_MEMBER REAL *row(int field, int steps, int place) const
    {
        const int at = VF_FIELD_SLOTS(field) == 2              ? pair[steps]
                       : VF_FIELD_SLOTS(field) == VF_AHEAD + 1 ? sent[steps]
                                                               : slot[steps];
        return sweep.shared + VF_FIELD_ROWS(field) * VF_SLOT_SIZE + at + place;
    }
};

VF_INLINE int vf_place_of_row(int row)
{
    return (row + 1) * VF_COVERED_X + threadIdx.x * VF_SPAN;
}

/* Where in a slot the row is that is read for a row beside the thread's own, by the boundary rule; any row if
 * it is not needed. */
VF_INLINE int vf_place_beside(const vf_sweep &sweep, int row)
{
    const int n = sweep.args.ny, y = vf_is_periodic(n) ? row : vf_near_index(row, n);
    return VF_BOUNDARY == VF_CONSTANT && y < 0
               ? vf_place_of_row(VF_COVERED_Y + 1)
               : vf_place_of_row(max(-1, min(y - sweep.origin_y, VF_COVERED_Y)));
}

VF_INLINE void vf_begin_fields(vf_fields &fields)
{
    const vf_sweep &sweep = fields.sweep;
    const bool is_last = threadIdx.y == VF_BLOCK_Y - 1;
    fields.own = vf_place_of_row(threadIdx.y * VF_ROWS);
    fields.above = vf_place_beside(sweep, sweep.y - 1);
    fields.below = vf_place_beside(sweep, sweep.y + VF_ROWS);
    fields.is_edge = threadIdx.y == 0 || is_last;
    fields.beyond = is_last ? fields.own + VF_ROWS * VF_COVERED_X : fields.own - VF_COVERED_X;
    fields.beyond_at = vf_row_at(sweep.args, sweep.x, is_last ? sweep.y + VF_ROWS : sweep.y - 1);
    VF_UNROLL for (int i = 0; i < VF_SLOTS; i++) fields.slot[i] = i * VF_SLOT_SIZE;
    VF_UNROLL for (int i = 0; i <= VF_AHEAD; i++) fields.sent[i] = i * VF_SLOT_SIZE;
    VF_UNROLL for (int i = 0; i < 2; i++) fields.pair[i] = i * VF_SLOT_SIZE;
    /* Not by row(): a loop over its arrays that is not written out keeps all of `fields` in memory. */
    const int outside = vf_place_of_row(VF_COVERED_Y + 1);
    if (VF_BOUNDARY == VF_CONSTANT && threadIdx.y == 0)
        VF_UNROLL for (int f = 0; f < VF_FIELDS; f++)
        {
            for (int i = 0; VF_FIELD_ROWS(f) >= 0 && i < VF_FIELD_SLOTS(f) * VF_SPAN; i++)
                sweep.shared[(VF_FIELD_ROWS(f) + i / VF_SPAN) * VF_SLOT_SIZE + outside + i % VF_SPAN] =
                    vf_outside(sweep.args, f);
        }
}

/* ---- a level ---- */

/* Cells beside a thread's own in the plane that a level computes. */
struct vf_beside {
    REAL above[VF_FIELDS][VF_SPAN], below[VF_FIELDS][VF_SPAN];
    REAL wide[VF_FIELDS][VF_ROWS][VF_SPAN + 2];
};

/* The accessor that stage S sees. `ends`: the plane may be the grid's first or last. */
template <class S, int level, bool ends, bool is_short> struct vf_field_view {
    enum { short_way = is_short, whole_steps = 0, age = 1 + level };
    vf_fields &fields;
    const vf_beside &beside;
    int plane, j, i;
    REAL in_doubt;

    VF_MEMBER REAL at(int input, int dz, int dy, int dx)
    {
        const int f = S::in(input);
        if (dx != 0)
            return beside.wide[f][j][1 + i + dx];
        if (dy != 0 && j + dy < 0)
            return beside.above[f][i];
        if (dy != 0 && j + dy >= VF_ROWS)
            return beside.below[f][i];
        if (dy != 0)
            return fields.cell[f][age][j + dy][i];
        if (dz < 0 && is_first())
            return outside(f, age - 1);
        if (dz > 0 && is_last())
            return outside(f, age + 1);
        return fields.cell[f][age - dz][j][i];
    }
    VF_MEMBER bool is_first()
    {
        return ends && plane == 0 && !vf_is_periodic(fields.sweep.args.nz);
    }
    VF_MEMBER bool is_last()
    {
        return ends && plane == fields.sweep.args.nz - 1 && !vf_is_periodic(fields.sweep.args.nz);
    }
    /* A cell before the grid's first plane or behind its last; under `mirror` it is one of age `mirrored`. */
    VF_MEMBER REAL outside(int f, int mirrored)
    {
        return VF_BOUNDARY == VF_CONSTANT ? vf_outside(fields.sweep.args, f)
                                          : fields.cell[f][VF_BOUNDARY == VF_MIRROR ? mirrored : age][j][i];
    }
    VF_MEMBER void put(int output, REAL value)
    {
        fields.cell[S::out(output)][age][j][i] = value;
    }
    VF_MEMBER REAL param(int p)
    {
        return vf_stage_param<S>(fields.sweep.args, p);
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        const vf_sweep &sweep = fields.sweep;
        /* Of a thread's cells only these can be at an end of the grid. */
        if ((axis == VF_X && i != (upper ? VF_SWEEP_END_X - 1 : 0)) ||
            (axis == VF_Y && j != (upper ? VF_ROWS - 1 : 0)))
            return true;
        return axis == VF_X   ? vf_is_open(sweep.x + i, sweep.args.nx, upper)
               : axis == VF_Y ? vf_is_open(sweep.y + j, sweep.args.ny, upper)
                              : !ends || vf_is_open(plane, sweep.args.nz, upper);
    }
    template <class Lower> VF_MEMBER REAL lower_face(int axis, REAL upper, Lower lower)
    {
        if (axis != VF_Z)
            return lower();
        fields.face_above[S::number][j][i] = upper;
        return is_first() ? lower() : fields.face_below[S::number][j][i];
    }
    VF_MEMBER void doubt(REAL value)
    {
        in_doubt = in_doubt + value;
    }
};

template <int level> VF_INLINE void vf_take_beside(const vf_fields &fields, vf_beside &beside)
{
    VF_UNROLL for (int f = 0; f < VF_FIELDS; f++)
    {
        /* Sources are written VF_AHEAD steps before they are the newest. */
        const int steps = level - VF_FIELD_MADE(f) + (VF_FIELD_MADE(f) < 0 ? VF_AHEAD : 0);
        if (VF_FIELD_READ(level, f) & VF_ALONG_Y) {
            vf_take_row(fields.row(f, steps, fields.above), beside.above[f]);
            vf_take_row(fields.row(f, steps, fields.below), beside.below[f]);
        }
    }
#define VF_WIDEN(f)                                            \
    if constexpr ((VF_FIELD_READ(level, f) & VF_ALONG_X) != 0) \
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)            \
            vf_widen<f, 1>(fields.sweep, fields.cell[f][1 + level][j], beside.wide[f][j]);
    VF_EACH_FIELD(VF_WIDEN)
#undef VF_WIDEN
}

/* Returns NaN if a short way left a result in doubt. */
template <int level, bool ends, bool is_short>
VF_INLINE REAL vf_compute_level(vf_fields &fields, const vf_beside &beside)
{
    const int plane = fields.sweep.plane - 1 - level;
    REAL in_doubt = 0;
    VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
    {
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
        {
#define VF_COMPUTE(s)                                                                                      \
    if constexpr (VF_FIELD_LEVEL(s) == level) {                                                            \
        vf_field_view<vf_stage_##s, level, ends, is_short> view = {fields, beside, plane, j, i, in_doubt}; \
        vf_stage_##s::compute(view);                                                                       \
        in_doubt = view.in_doubt;                                                                          \
    }
            VF_EACH_STAGE(VF_COMPUTE)
#undef VF_COMPUTE
        }
    }
    return in_doubt;
}

template <int level, bool ends> VF_INLINE void vf_advance(vf_fields &fields)
{
    vf_beside beside;
    vf_take_beside<level>(fields, beside);
    const REAL in_doubt = vf_compute_level<level, ends, true>(fields, beside);
    if (in_doubt != in_doubt)
        vf_compute_level<level, ends, false>(fields, beside);
    if constexpr (level + 1 < VF_FIELD_LEVELS)
        vf_advance<level + 1, ends>(fields);
}

/* ---- the sweep ---- */

/* Leaves what the thread made for the threads before and behind it along y. */
VF_INLINE void vf_leave_rows(const vf_fields &fields)
{
    VF_UNROLL for (int f = VF_INPUTS; f < VF_FIELDS; f++)
    {
        if (VF_FIELD_ROWS(f) >= 0)
            VF_UNROLL for (int j = 0; j < VF_ROWS; j++) vf_leave_row(
                fields.row(f, 0, fields.own + j * VF_COVERED_X), fields.cell[f][1 + VF_FIELD_MADE(f)][j]);
    }
}

/* The plane of a source that is loaded for `plane`: the nearest one that the chunk needs. */
VF_INLINE int vf_asked_for(const vf_sweep &sweep, int f, int plane)
{
    return max(sweep.begin - vf_input_halo_z(f), min(plane, sweep.end - 1 + vf_input_halo_z(f)));
}

/* Begins to copy a row of a source's plane to shared memory. */
template <class T>
VF_INLINE void vf_send_row(const vf_sweep &sweep, const T *plane, unsigned int at, REAL *to)
{
    if constexpr (vf_same<T, REAL>::yes) {
        if (vf_is_parted(sweep))
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
                vf_copy<sizeof(T)>(to + i, plane + vf_parted_at(sweep, at, i));
        else
            VF_UNROLL for (int i = 0; i < VF_SPAN; i += VF_PACK) vf_copy_pack(to + i, plane + at + i);
    } else {
        REAL row[VF_SPAN];
        if (vf_is_parted(sweep))
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) row[i] =
                (REAL)__ldg(plane + vf_parted_at(sweep, at, i));
        else
            vf_read_pack(plane + at, row);
        vf_leave_row(to, row);
    }
}

/* Begins to copy a plane of the sources: the thread's rows, and the one beyond if it is at the block's edge.
 * Copies pass by the registers: loads into registers the compiler would delay until the values are needed. */
VF_INLINE void vf_send(const vf_fields &fields, int plane)
{
    const vf_sweep &sweep = fields.sweep;
#define VF_SEND_OF(f)                                                                                 \
    {                                                                                                 \
        const vf_in_##f *const from = vf_fixed((const vf_in_##f *)sweep.args.in[f] +                  \
                                               vf_plane_start(sweep, vf_asked_for(sweep, f, plane))); \
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)                                                   \
            vf_send_row(sweep, from, sweep.at[j], fields.row(f, 0, fields.own + j * VF_COVERED_X));   \
        if (fields.is_edge)                                                                           \
            vf_send_row(sweep, from, fields.beyond_at, fields.row(f, 0, fields.beyond));              \
    }
    VF_EACH_INPUT(VF_SEND_OF)
#undef VF_SEND_OF
    vf_close_copies();
}

VF_INLINE void vf_take_newest(vf_fields &fields)
{
    VF_UNROLL for (int f = 0; f < VF_INPUTS; f++)
    {
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
            vf_take_row(fields.row(f, VF_AHEAD, fields.own + j * VF_COVERED_X), fields.cell[f][0][j]);
    }
}

/* All values that are still needed become a plane older. */
VF_INLINE void vf_age(vf_fields &fields)
{
#define VF_AGE(f)                                                                   \
    VF_UNROLL for (int age = VF_FIELD_OLDEST(f); age > 1 + VF_FIELD_MADE(f); age--) \
    {                                                                               \
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)                                 \
        {                                                                           \
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) fields.cell[f][age][j][i] = \
                fields.cell[f][age - 1][j][i];                                      \
        }                                                                           \
    }
    VF_EACH_FIELD(VF_AGE)
#undef VF_AGE
    VF_UNROLL for (int s = 0; s < VF_STAGES; s++)
    {
        VF_UNROLL for (int j = 0; j < VF_ROWS; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) fields.face_below[s][j][i] =
                fields.face_above[s][j][i];
        }
    }
}

template <int count> VF_INLINE void vf_turn_slots(int (&slot)[count])
{
    const int oldest = slot[count - 1];
    VF_UNROLL for (int i = count - 1; i > 0; i--) slot[i] = slot[i - 1];
    slot[0] = oldest;
}

/* Waits until the rows that threads left, and the sources' next plane, are there for the whole block. */
VF_INLINE void vf_end_step(vf_fields &fields)
{
    vf_turn_slots(fields.slot);
    vf_turn_slots(fields.sent);
    vf_turn_slots(fields.pair);
    vf_wait_copies<VF_AHEAD - 1>();
    __syncthreads();
}

/* One plane. `ends`: some level may be at the grid's first or last plane. */
template <bool ends> VF_INLINE void vf_step(vf_fields &fields)
{
    vf_sweep &sweep = fields.sweep;
    vf_take_newest(fields);
    vf_send(fields, sweep.plane + VF_AHEAD);
    vf_advance<0, ends>(fields);
    vf_leave_rows(fields);
    const int made = sweep.plane - VF_FIELD_LEVELS;
    if (made >= sweep.begin)
        VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++)
            vf_store_cells(sweep, k, made, fields.cell[vf_sink(k)][VF_FIELD_LEVELS]);
    vf_age(fields);
    vf_end_step(fields);
    sweep.plane++;
}

VF_INLINE void vf_run(vf_fields &fields)
{
    vf_sweep &sweep = fields.sweep;
    const bool periodic = vf_is_periodic(sweep.args.nz);
    const int first = sweep.begin - VF_FIELD_LEVELS, last = sweep.end + VF_FIELD_LEVELS;
    /* From inner_first on the last level is past the grid's first plane; before inner_last the first level is
     * not yet at its last. */
    const int inner_first = periodic ? first : VF_FIELD_LEVELS + 1,
              inner_last = periodic ? last : min(last, sweep.args.nz);
    sweep.plane = first < 0 && !periodic ? 0 : first;
    VF_UNROLL for (int ahead = 0; ahead < VF_AHEAD; ahead++)
    {
        vf_send(fields, sweep.plane + ahead);
        vf_end_step(fields);
    }
    while (sweep.plane < last) {
        if (sweep.plane < inner_first || sweep.plane + VF_TURN > inner_last)
            vf_step<true>(fields);
        else
            VF_UNROLL for (int turn = 0; turn < VF_TURN; turn++) vf_step<false>(fields);
    }
    vf_wait_copies<0>();
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    const vf_side across = vf_across(args, tile_x), down = vf_down(args, tile_y);
    if (vf_is_empty(across) || vf_is_empty(down))
        return;
    const int x = across.origin + threadIdx.x * VF_SPAN, y = down.origin + threadIdx.y * VF_ROWS;
    vf_fields fields = {{args, (REAL *)memory, x, y}};
    vf_begin_sweep(fields.sweep, across, down, args.z_begin + tile_z * VF_STREAM);
    vf_begin_fields(fields);
    vf_run(fields);
}

#include "kernels/device_entry.h"
