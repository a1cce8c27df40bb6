/* Sums of bytes whose weights are whole numbers, which are integers that float32 has exactly, in whatever
 * order they are added. So they are added as integers: a word holds every second one of four cells, each in a
 * half of 16 bits, nothing is converted, and one instruction adds two cells. A thread computes a span in
 * VF_WORK_Y rows of each of VF_STREAM planes (2D: of VF_STREAM rows), all of them written out. A row that it
 * reads is split into halves once, and added to every result that it is a term of.
 *
 * Halves are never negative: bytes that have a sign are raised by 128, and sums begin with what makes up for
 * that and for all that may be below 0, so that they end as results and a multiple of 256.
 *
 * Further constants, from the scheme:
 *   VF_WEIGHT_T             the weight of term T
 *   VF_START                what both halves of a sum begin with
 *   VF_LOW, VF_HIGH         the bounds of the stored type, as both halves have them
 *   VF_IS_LOW, VF_IS_HIGH   1: sums may be beyond that bound
 *   VF_WHOLE_ROWS           1: a segment has a whole row of the grid
 *   VF_HELD                 planes that a thread has rows of: the present one, and those on their way */
#include "kernels/device_stream.h"

#define VF_ROWS (VF_WORK_Y + 2 * VF_SIDE)
#define VF_WORDS (VF_SPAN / 4)
#define VF_ALL_BYTES 0x01010101u
#define VF_EVEN_BYTES 0x00ff00ffu
#define VF_AHEAD (VF_HELD - 1)

typedef typename vf_word<VF_SPAN>::type vf_span_word;

/* A row's cells from the one 4 before the span to the one 4 behind it, as far as they are read. */
struct vf_bytes {
    unsigned int word[VF_WORDS + 2];
};

/* The same, of each word its first and third byte, and its second and fourth. */
struct vf_halves {
    unsigned int even[VF_WORDS + 2], odd[VF_WORDS + 2];
};

VF_INLINE vf_halves vf_split(const vf_bytes &bytes)
{
    vf_halves halves;
    VF_UNROLL for (int k = 0; k < VF_WORDS + 2; k++)
    {
        const unsigned int word = bytes.word[k] ^ (vf_in_0(-1) < vf_in_0(0) ? 128 * VF_ALL_BYTES : 0);
        halves.even[k] = word & VF_EVEN_BYTES;
        halves.odd[k] = __byte_perm(word, 0, 0x4341);
    }
    return halves;
}

/* Cells d and d + 2, counted from the first of the span's word k. */
VF_INLINE unsigned int vf_pair(const vf_halves &halves, int k, int d)
{
    const int word = 1 + k + (d + 4) / 4 - 1;
    const unsigned int *const half = d % 2 == 0 ? halves.even : halves.odd;
    return (d & 2) == 0 ? half[word] : __byte_perm(half[word], half[word + 1], 0x5432);
}

/* The sums of a span. */
struct vf_sums {
    unsigned int even[VF_WORDS], odd[VF_WORDS];
};

/* Adds the terms of a row that is `along` planes and `side` rows from the results. `one` is 1, of which the
 * compiler knows nothing: an H200 multiplies and adds while it takes bytes apart, but not if it only adds. */
VF_INLINE void vf_add_row(const vf_halves &halves, int along, int side, unsigned int one, vf_sums &sums)
{
#define VF_ADD_TERM(t, dz, dy, dx)                                                             \
    if ((DIM == 3 ? (dz) : (dy)) == along && (DIM == 3 ? (dy) : 0) == side) {                  \
        VF_UNROLL for (int k = 0; k < VF_WORDS; k++)                                           \
        {                                                                                      \
            sums.even[k] += one * (unsigned int)(VF_WEIGHT_##t) * vf_pair(halves, k, dx);      \
            sums.odd[k] += one * (unsigned int)(VF_WEIGHT_##t) * vf_pair(halves, k, (dx) + 1); \
        }                                                                                      \
    }
    VF_TAPS_0(VF_ADD_TERM)
#undef VF_ADD_TERM
}

/* ---- which rows are read ---- */

#define VF_IS_THERE(t, dz, dy, dx) || ((DIM == 3 ? (dz) : (dy)) == along && (DIM == 3 ? (dy) : 0) == side)
#define VF_IS_BESIDE(t, dz, dy, dx) \
    || ((dx) != 0 && (DIM == 3 ? (dz) : (dy)) == along && (DIM == 3 ? (dy) : 0) == side)

VF_INLINE constexpr bool vf_has_terms(int along, int side)
{
    return false VF_TAPS_0(VF_IS_THERE);
}
VF_INLINE constexpr bool vf_has_terms_beside(int along, int side)
{
    return false VF_TAPS_0(VF_IS_BESIDE);
}

/* Whether any result of a thread has terms in a row of its tile of a plane, which is counted from its first;
 * and in other columns than its own. */
VF_INLINE constexpr bool vf_is_read(int plane, int row, bool beside)
{
    bool is_read = false;
    for (int z = 0; z < VF_STREAM; z++)
        for (int j = 0; j < VF_WORK_Y; j++)
            is_read = is_read || (beside ? vf_has_terms_beside(plane - z, row - VF_SIDE - j)
                                         : vf_has_terms(plane - z, row - VF_SIDE - j));
    return is_read;
}

/* ---- rows ---- */

/* Replaces a cell, counted from the span's first, from -4 on, by a byte of a word; or by another cell. */
VF_INLINE void vf_replace(vf_bytes &bytes, int cell, unsigned int by_word, int by_byte)
{
    const int at = cell + 4, shift = 4 * (at % 4);
    const unsigned int selector = (0x3210u & ~(0xfu << shift)) | (4u + by_byte) << shift;
    bytes.word[at / 4] = __byte_perm(bytes.word[at / 4], by_word, selector);
}

VF_INLINE void vf_replace_if(bool is_here, vf_bytes &bytes, int cell, int by_cell)
{
    vf_bytes replaced = bytes;
    vf_replace(replaced, cell, bytes.word[(by_cell + 4) / 4], (by_cell + 4) % 4);
    bytes.word[(cell + 4) / 4] = is_here ? replaced.word[(cell + 4) / 4] : bytes.word[(cell + 4) / 4];
}

struct vf_sweep {
    const VfArgs &args;
    const vf_course course;
    const vf_columns columns;
    const int y;
    const unsigned int flank_at; /* in a row, of a span at an end of its segment: of the word beside it */
    const unsigned int one;      /* see vf_add_row */
    unsigned int row_at[VF_ROWS];
    vf_bytes bytes[VF_HELD][VF_ROWS];
    vf_sums sums[VF_STREAM][VF_WORK_Y];

    static VF_MEMBER unsigned int flank_of(const VfArgs &args, const vf_columns &columns)
    {
        const int at = columns.lane < VF_SEGMENT / 2 ? columns.x - 4 : columns.x + VF_SPAN;
        const bool is_end = columns.lane == 0 || columns.lane == VF_SEGMENT - 1;
        return is_end && at >= 0 && at < args.pitch ? at : columns.held;
    }

    VF_MEMBER vf_sweep(const VfArgs &a, const vf_course &c)
        : args(a), course(c), columns(vf_columns_of(a, c)), y(c.y + threadIdx.y * VF_WORK_Y),
          flank_at(flank_of(a, columns)), one(min(a.nx, 1))
    {
        VF_UNROLL for (int row = 0; row < VF_ROWS; row++) row_at[row] = vf_row_of(args, y + row - VF_SIDE);
    }

    VF_MEMBER unsigned int outside() const
    {
        return (unsigned int)(unsigned char)(int)vf_outside(args, 0);
    }

    /* A span, and if cells beside it are read, the word of a flank. `plane` is where the plane's row 0 is. */
    VF_MEMBER void load(const unsigned char *plane, bool is_there, unsigned int row, bool beside,
                        vf_bytes &to) const
    {
        union {
            vf_span_word whole;
            unsigned int word[VF_WORDS];
        } span;
        VF_UNROLL for (int k = 0; k < VF_WORDS + 2; k++) to.word[k] = outside() * VF_ALL_BYTES;
        if (VF_BOUNDARY == VF_CONSTANT && !(is_there && row != VF_NO_ROW))
            return;
        span.whole = __ldg((const vf_span_word *)(plane + (row + columns.held)));
        VF_UNROLL for (int k = 0; k < VF_WORDS; k++) to.word[1 + k] = span.word[k];
        if (beside && !VF_WHOLE_ROWS)
            to.word[0] = to.word[VF_WORDS + 1] = __ldg((const unsigned int *)(plane + (row + flank_at)));
    }

    /* Takes the words beside a span from the threads beside. The whole warp calls this. */
    VF_MEMBER void widen(vf_bytes &bytes) const
    {
        const unsigned int left = __shfl_up_sync(0xffffffffu, bytes.word[VF_WORDS], 1, VF_SEGMENT),
                           right = __shfl_down_sync(0xffffffffu, bytes.word[1], 1, VF_SEGMENT);
        bytes.word[0] = columns.lane > 0 ? left : bytes.word[0];
        bytes.word[VF_WORDS + 1] = columns.lane < VF_SEGMENT - 1 ? right : bytes.word[VF_WORDS + 1];
    }

    /* Sets a cell that is beyond the grid, if `is_here`, by the boundary rule. Mostly it is `like` another
     * cell of those that the thread has. */
    VF_MEMBER void mend_cell(bool is_here, vf_bytes &bytes, const unsigned char *row, bool is_there, int cell,
                             int like) const
    {
        if (VF_BOUNDARY == VF_CONSTANT && !VF_NARROW) {
            if (is_here)
                vf_replace(bytes, cell, outside(), 0);
        } else if (!VF_NARROW && VF_BOUNDARY != VF_WRAP) {
            vf_replace_if(is_here, bytes, cell, like);
        } else if (is_here) {
            const int at = vf_fold_column(columns.x + cell, args.nx);
            vf_replace(bytes, cell, at < 0 || !is_there ? outside() : __ldg(row + at), 0);
        }
    }

    /* Sets the cells beyond the row's ends by the boundary rule. */
    VF_MEMBER void mend(vf_bytes &bytes, const unsigned char *row, bool is_there) const
    {
        const int last = (args.nx - 1) & -VF_SPAN;
        VF_UNROLL for (int d = 1; d <= VF_HALO_X; d++) mend_cell(columns.x == 0, bytes, row, is_there, -d,
                                                                 VF_BOUNDARY == VF_NEAREST   ? 0
                                                                 : VF_BOUNDARY == VF_REFLECT ? d - 1
                                                                                             : d);
        VF_UNROLL for (int d = 0; d < VF_HALO_X; d++)
        {
            const int cell = VF_END_X + d, like = VF_BOUNDARY == VF_NEAREST   ? VF_END_X - 1
                                                  : VF_BOUNDARY == VF_REFLECT ? VF_END_X - 1 - d
                                                                              : VF_END_X - 2 - d;
            mend_cell(columns.x == last, bytes, row, is_there, cell, like);
            /* The span before the last has its first word beside it. */
            if (cell < 4)
                mend_cell(columns.x == last - VF_SPAN, bytes, row, is_there, VF_SPAN + cell, VF_SPAN + like);
        }
    }

    VF_MEMBER long long plane_at(int plane) const
    {
        return vf_plane_at(args, course, course.begin + plane, VF_REACH);
    }

    VF_MEMBER const unsigned char *input(long long plane) const
    {
        return vf_fixed((const unsigned char *)args.in[0] +
                        (VF_BOUNDARY == VF_CONSTANT && plane < 0 ? 0 : plane));
    }

    template <int plane, int row = 0> VF_MEMBER void load_rows(const unsigned char *from, bool is_there)
    {
        if constexpr (row < VF_ROWS) {
            if constexpr (vf_is_read(plane, row, false))
                load(from, is_there, row_at[row], vf_is_read(plane, row, true),
                     bytes[(plane + VF_REACH) % VF_HELD][row]);
            load_rows<plane, row + 1>(from, is_there);
        }
    }

    template <int plane> VF_MEMBER void load_plane()
    {
        const long long at = plane_at(plane);
        load_rows<plane>(input(at), at >= 0);
    }

    template <int plane, int row = 0> VF_MEMBER void add_rows()
    {
        if constexpr (row < VF_ROWS) {
            if constexpr (vf_is_read(plane, row, false)) {
                vf_bytes &read = bytes[(plane + VF_REACH) % VF_HELD][row];
                if constexpr (vf_is_read(plane, row, true)) {
                    const long long at = plane_at(plane);
                    widen(read);
                    mend(read, input(at) + row_at[row], at >= 0 && row_at[row] != VF_NO_ROW);
                }
                const vf_halves halves = vf_split(read);
                VF_UNROLL for (int z = 0; z < VF_STREAM; z++)
                {
                    VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
                        vf_add_row(halves, plane - z, row - VF_SIDE - j, one, sums[z][j]);
                }
            }
            add_rows<plane, row + 1>();
        }
    }

    VF_MEMBER static unsigned int limit(unsigned int halves)
    {
        const unsigned int raised = VF_IS_LOW ? __vmaxu2(halves, VF_LOW) : halves;
        return VF_IS_HIGH ? __vminu2(raised, VF_HIGH) : raised;
    }

    VF_MEMBER void store(int plane) const
    {
        const int place = course.begin + plane;
        const long long at = DIM == 3 ? vf_row(args, 0, place) : vf_row(args, place, course.image);
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            union {
                vf_span_word whole;
                unsigned int word[VF_WORDS];
            } span;
            const vf_sums &sum = sums[plane][j];
            VF_UNROLL for (int k = 0; k < VF_WORDS; k++) span.word[k] =
                __byte_perm(limit(sum.even[k]), limit(sum.odd[k]), 0x6240);
            vf_settle(span.whole);
            if (place < course.end && (!VF_RAGGED || columns.x < args.nx) && (DIM == 2 || y + j < args.ny))
                __stwb((vf_span_word *)((unsigned char *)args.out[0] + at +
                                        ((DIM == 2 ? 0 : (y + j) * (unsigned int)args.pitch) + columns.x)),
                       span.whole);
        }
    }

    template <int plane> VF_MEMBER void planes()
    {
        if constexpr (plane < VF_STREAM + VF_REACH) {
            if constexpr (plane + VF_AHEAD < VF_STREAM + VF_REACH)
                load_plane<plane + VF_AHEAD>();
            add_rows<plane>();
            if constexpr (plane >= VF_REACH)
                store(plane - VF_REACH);
            planes<plane + 1>();
        }
    }

    template <int plane> VF_MEMBER void load_first()
    {
        if constexpr (plane < VF_AHEAD - VF_REACH && plane < VF_STREAM + VF_REACH) {
            load_plane<plane>();
            load_first<plane + 1>();
        }
    }

    VF_MEMBER void sweep()
    {
        load_first<-VF_REACH>();
        VF_UNROLL for (int z = 0; z < VF_STREAM; z++)
        {
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                VF_UNROLL for (int k = 0; k < VF_WORDS; k++) sums[z][j].even[k] = sums[z][j].odd[k] =
                    VF_START;
            }
        }
        planes<-VF_REACH>();
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    vf_sweep sweep(args, vf_course_of(args, tile_x, tile_y, tile_z));
    sweep.sweep();
}

#include "kernels/device_entry.h"
