/* Reductions of a field in device memory, one reading of it; reduce.h has their rules, and takes what comes
 * out.
 *
 * The constants:
 *   REAL_BITS                      the values' type
 *   VF_COUNTS, VF_SUMS, VF_RANGE   one of them is 1: percentiles; mean, deviation; range
 *   VF_SQUARES                     sums: 1 for deviation
 *   VF_BLOCK                       threads of a block
 *   VF_BATCH                       packs of values that a thread reads at once
 *   VF_FIRST_BIN, VF_BINS          counts: the bins that a block counts in shared memory
 *
 * Counting. Blocks count on their own in shared memory, in as many bins as it has room for, and add up at the
 * end. Lanes that meet in a bin are no loss: increments without a result are combined by the hardware.
 *
 * Summing. A value is an integer, significand * 2^bin. A thread adds up, exactly, all values whose bins are
 * in a window of VF_WINDOW bins from `base` on: shifted to its base they are a few digits of VF_DIGIT bits,
 * and sums of digits and of their products have room for some thousand without a carry. A block's threads
 * begin with the window that the greatest of their first values is in. A greater value moves a thread's
 * window up; the few below it go to the table in memory one by one. */
#include "kernels/device_words.h"

#if REAL_BITS == 64
typedef ulonglong2 vf_pack;
typedef unsigned long long vf_bits;
#define VF_PACK 2
#define VF_FRACTION 52
#else
typedef uint4 vf_pack;
typedef unsigned vf_bits;
#define VF_PACK 4
#define VF_FRACTION 23
#endif

#define VF_SIGN (vf_bits(1) << (REAL_BITS - 1))
#define VF_INFINITY ((~vf_bits(0) >> (VF_FRACTION + 1)) << VF_FRACTION)

/* No finite value: does not count. */
#define VF_NOTHING (~vf_bits(0))

typedef unsigned long long vf_u64;
typedef long long vf_s64;

/* src/cuda_reduce.c's struct args has the same layout. Values are looked at in aligned packs; rows begin with
 * one, and the values before `begin` and from `end` on do not count. A thread goes on by as many packs as
 * there are threads: step_* are the digits of that number. */
struct VfArgs {
    const REAL *data;
    vf_s64 pitch, plane; /* elements */
    int packs, rows, planes;
    int begin, end;
    int step_pack, step_row, step_plane;
    unsigned char *out;
};

/* ---- which values ---- */

struct vf_place {
    int pack, row, plane;

    VF_MEMBER void start(const VfArgs &args)
    {
        const unsigned thread = blockIdx.x * VF_BLOCK + threadIdx.x, down = thread / args.packs;
        pack = (int)(thread - down * args.packs);
        plane = (int)(down / args.rows);
        row = (int)(down - (unsigned)plane * args.rows);
    }

    VF_MEMBER void step(const VfArgs &args)
    {
        pack += args.step_pack;
        row += args.step_row;
        plane += args.step_plane;
        if (pack >= args.packs) {
            pack -= args.packs;
            row++;
        }
        if (row >= args.rows) {
            row -= args.rows;
            plane++;
        }
    }
};

/* A pack, and where its row's first value that counts is from it. */
struct vf_values {
    vf_bits bits[VF_PACK];
    int begin;

    /* Outside the planes it reads the first pack again, and nothing of it counts. */
    VF_MEMBER void read(const VfArgs &args, const vf_place &place)
    {
        const bool inside = place.plane < args.planes;
        const int x = place.pack * VF_PACK;
        const vf_s64 at = place.plane * args.plane + place.row * args.pitch + x;
        const vf_pack v = *(const vf_pack *)(args.data + (inside ? at : 0));
        bits[0] = v.x;
        bits[1] = v.y;
#if VF_PACK == 4
        bits[2] = v.z;
        bits[3] = v.w;
#endif
        begin = inside ? args.begin - x : VF_PACK;
    }

    VF_MEMBER void mask(const VfArgs &args)
    {
        const int end = begin + (args.end - args.begin);
        if (begin > 0 || end < VF_PACK)
            VF_UNROLL for (int i = 0; i < VF_PACK; i++) bits[i] =
                i >= begin && i < end ? bits[i] : VF_NOTHING;
    }
};

/* Gives all values of the thread to `sink`, pack by pack; those of a batch are read at once. */
template <class T> VF_INLINE void vf_for_values(const VfArgs &args, T &sink)
{
    vf_place place;
    for (place.start(args); place.plane < args.planes;) {
        vf_values values[VF_BATCH];
        VF_UNROLL for (int n = 0; n < VF_BATCH; n++)
        {
            values[n].read(args, place);
            place.step(args);
        }
        VF_UNROLL for (int n = 0; n < VF_BATCH; n++)
        {
            values[n].mask(args);
            sink.add(values[n].bits);
        }
    }
}

/* ---- percentiles ---- */

#if VF_COUNTS

#define VF_LARGEST_FINITE_BIN 0xfeff
#define VF_NO_BIN (~0u)

VF_INLINE REAL vf_value(vf_bits bits)
{
#if REAL_BITS == 64
    return __longlong_as_double((vf_s64)bits);
#else
    return __uint_as_float(bits);
#endif
}

struct vf_counts {
    unsigned *shared; /* [VF_BINS] */
    vf_u64 *all;

    /* The bin, or VF_NO_BIN where the value does not count. */
    static VF_MEMBER unsigned bin_of(vf_bits bits)
    {
        const vf_bits positive = bits & ~VF_SIGN;
        const unsigned magnitude = __float_as_uint((float)vf_value(positive));
        const unsigned bin =
            REAL_BITS == 32 || magnitude < 0x7f800000 ? magnitude >> 15 : VF_LARGEST_FINITE_BIN;
        return positive < VF_INFINITY && magnitude != 0 ? bin : VF_NO_BIN;
    }

    VF_MEMBER void add(const vf_bits *bits)
    {
        unsigned bin[VF_PACK];
        bool elsewhere = false;
        VF_UNROLL for (int i = 0; i < VF_PACK; i++)
        {
            bin[i] = bin_of(bits[i]);
            const bool here = bin[i] - VF_FIRST_BIN < VF_BINS;
            if (here)
                atomicAdd(&shared[bin[i] - VF_FIRST_BIN], 1u);
            elsewhere = elsewhere || (!here && bin[i] != VF_NO_BIN);
        }
        if (elsewhere)
            VF_UNROLL for (int i = 0; i < VF_PACK;
                           i++) if (bin[i] - VF_FIRST_BIN >= VF_BINS && bin[i] != VF_NO_BIN)
                atomicAdd(&all[bin[i]], 1ull);
    }
};

VF_INLINE void vf_reduce(const VfArgs &args)
{
    VF_SHARED_MEMORY(shared);
    vf_counts counts;
    counts.shared = (unsigned *)shared;
    counts.all = (vf_u64 *)args.out;
    for (int i = threadIdx.x; i < VF_BINS; i += VF_BLOCK)
        counts.shared[i] = 0;
    __syncthreads();
    vf_for_values(args, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < VF_BINS; i += VF_BLOCK)
        if (counts.shared[i] != 0)
            atomicAdd(&counts.all[VF_FIRST_BIN + i], (vf_u64)counts.shared[i]);
}

#endif

/* ---- mean, deviation ---- */

#if VF_SUMS

#define VF_WINDOW 24
#define VF_DIGIT 24
#define VF_DIGIT_MASK 0xffffffu
#define VF_DIGITS (REAL_BITS == 64 ? 4 : 2)
/* Sums have one digit more than a value, or a square: they need not be below 2^VF_DIGIT there. */
#define VF_VALUE_PARTS (VF_DIGITS + 1)
#define VF_SQUARE_PARTS (2 * VF_DIGITS)

/* kernels/reduce.h's struct vf_reduce_sums. */
struct vf_bin {
    vf_u64 value[5], square[8];
};

/* Sums of the values in one window, of at most 2^13. */
struct vf_window {
    vf_s64 value[VF_VALUE_PARTS];
    vf_u64 square[VF_SQUARE_PARTS];

    VF_MEMBER void clear()
    {
        VF_UNROLL for (int k = 0; k < VF_VALUE_PARTS; k++) value[k] = 0;
        VF_UNROLL for (int k = 0; k < VF_SQUARE_PARTS; k++) square[k] = 0;
    }

    /* Adds +-significand * 2^shift, shift < VF_WINDOW. */
    VF_MEMBER void add(vf_bits significand, bool negative, unsigned shift)
    {
        unsigned digit[VF_DIGITS], below = 0;
        VF_UNROLL for (int k = 0; k < VF_DIGITS; k++)
        {
            const unsigned own =
                k + 1 < VF_DIGITS ? (unsigned)(significand >> (k * VF_DIGIT)) & VF_DIGIT_MASK : 0;
            digit[k] = ((own << shift) & VF_DIGIT_MASK) | (below >> (VF_DIGIT - shift));
            below = own;
        }
        const int sign = negative ? -1 : 1;
        VF_UNROLL for (int k = 0; k < VF_DIGITS; k++) value[k] += (vf_s64)sign * (int)digit[k];
#if VF_SQUARES
        VF_UNROLL for (int k = 0; k < VF_DIGITS; k++)
        {
            square[2 * k] += (vf_u64)digit[k] * digit[k];
            VF_UNROLL for (int j = k + 1; j < VF_DIGITS; j++) square[k + j] +=
                (vf_u64)(2 * digit[k]) * digit[j];
        }
#endif
    }

    /* After it, sums of very many windows have room. */
    VF_MEMBER void carry()
    {
        VF_UNROLL for (int k = 0; k + 1 < VF_VALUE_PARTS; k++)
        {
            value[k + 1] += value[k] >> VF_DIGIT;
            value[k] &= VF_DIGIT_MASK;
        }
        VF_UNROLL for (int k = 0; k + 1 < VF_SQUARE_PARTS; k++)
        {
            square[k + 1] += square[k] >> VF_DIGIT;
            square[k] &= VF_DIGIT_MASK;
        }
    }

    VF_MEMBER void add_to(vf_bin *bin) const
    {
        VF_UNROLL for (int k = 0; k < VF_VALUE_PARTS; k++) if (value[k] != 0)
            atomicAdd(&bin->value[k], (vf_u64)value[k]);
        VF_UNROLL for (int k = 0; k < VF_SQUARE_PARTS; k++) if (VF_SQUARES && square[k] != 0)
            atomicAdd(&bin->square[k], square[k]);
    }
};

struct vf_sums {
    vf_window window;
    vf_bin *table;
    unsigned base, count;

    static VF_MEMBER vf_bits fraction(vf_bits bits)
    {
        return bits & ((vf_bits(1) << VF_FRACTION) - 1);
    }

    static VF_MEMBER unsigned exponent(vf_bits bits)
    {
        return (unsigned)((bits & ~VF_SIGN) >> VF_FRACTION);
    }

    static VF_MEMBER vf_bits significand(vf_bits bits)
    {
        return fraction(bits) | (exponent(bits) != 0 ? vf_bits(1) << VF_FRACTION : 0);
    }

    /* From the window's base on; 0, which has no bin of its own, is in every window. */
    VF_MEMBER unsigned place(vf_bits bits) const
    {
        const unsigned e = exponent(bits);
        return (bits & ~VF_SIGN) == 0 ? 0 : e - (e != 0) - base;
    }

    VF_MEMBER void add_one(vf_bits bits)
    {
        unsigned at = place(bits);
        const unsigned bin = base + at;
        if (exponent(bits) == VF_INFINITY >> VF_FRACTION)
            return;
        count++;
        if (at >= VF_WINDOW && bin < base) {
            vf_window one;
            one.clear();
            one.add(significand(bits), bits & VF_SIGN, 0);
            one.carry();
            one.add_to(table + bin);
            return;
        }
        if (at >= VF_WINDOW) {
            move_up(bin);
            at = bin - base;
        }
        window.add(significand(bits), bits & VF_SIGN, at);
    }

    /* The window of a bin. They begin at every eighth bin, so that few different ones end up in a warp; and
     * the highest ends where values that are not finite begin. */
    static VF_MEMBER unsigned base_of(unsigned bin)
    {
        return bin < VF_WINDOW ? 0 : ((bin + 2) & ~7u) + 6 - VF_WINDOW;
    }

    VF_MEMBER void move_up(unsigned bin)
    {
        window.carry();
        window.add_to(table + base);
        window.clear();
        base = base_of(bin);
    }

    VF_MEMBER void add(const vf_bits *bits)
    {
        /* From the window's first normal number on, as bits. */
        vf_bits above[VF_PACK];
        bool normal = true, all = true;
        VF_UNROLL for (int i = 0; i < VF_PACK; i++)
        {
            above[i] = (bits[i] & ~VF_SIGN) - (vf_bits(base + 1) << VF_FRACTION);
            normal = normal && above[i] < vf_bits(VF_WINDOW) << VF_FRACTION;
        }
        if (normal) {
            VF_UNROLL for (int i = 0; i < VF_PACK; i++)
                window.add(fraction(bits[i]) | vf_bits(1) << VF_FRACTION, bits[i] & VF_SIGN,
                           (unsigned)(above[i] >> VF_FRACTION));
            count += VF_PACK;
            return;
        }
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) all = all && place(bits[i]) < VF_WINDOW;
        if (all) {
            VF_UNROLL for (int i = 0; i < VF_PACK; i++)
                window.add(significand(bits[i]), bits[i] & VF_SIGN, place(bits[i]));
            count += VF_PACK;
            return;
        }
        vf_bits left[VF_PACK];
        VF_UNROLL for (int i = 0; i < VF_PACK; i++) left[i] = bits[i];
        VF_NO_UNROLL for (int n = 0; n < VF_PACK; n++)
        {
            add_one(left[0]);
            VF_UNROLL for (int i = 0; i + 1 < VF_PACK; i++) left[i] = left[i + 1];
        }
    }
};

template <class T> VF_INLINE T vf_warp_sum(T value)
{
    VF_UNROLL for (int bit = 16; bit > 0; bit /= 2) value += __shfl_xor_sync(~0u, value, bit);
    return value;
}

VF_INLINE unsigned vf_warp_most(unsigned value)
{
    VF_UNROLL for (int bit = 16; bit > 0; bit /= 2)
    {
        const unsigned other = __shfl_xor_sync(~0u, value, bit);
        value = other > value ? other : value;
    }
    return value;
}

/* What a block's threads share. */
struct vf_shared {
    vf_bin sums; /* in the window that they began with */
    unsigned most;
};

/* The greatest exponent of the finite ones among the thread's first values. */
VF_INLINE unsigned vf_first_exponent(const VfArgs &args)
{
    vf_place place;
    vf_values first;
    unsigned most = 0;
    place.start(args);
    first.read(args, place);
    first.mask(args);
    VF_UNROLL for (int i = 0; i < VF_PACK; i++)
    {
        const unsigned e = vf_sums::exponent(first.bits[i]);
        most = e > most && e < VF_INFINITY >> VF_FRACTION ? e : most;
    }
    return most;
}

VF_INLINE void vf_reduce(const VfArgs &args)
{
    VF_SHARED_MEMORY(memory);
    vf_shared &shared = *(vf_shared *)memory;
    const int lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k < (int)(sizeof shared / sizeof(unsigned)); k += VF_BLOCK)
        ((unsigned *)memory)[k] = 0;
    __syncthreads();
    const unsigned most = vf_warp_most(vf_first_exponent(args));
    if (lane == 0)
        atomicMax(&shared.most, most);
    __syncthreads();
    const unsigned first = vf_sums::base_of(shared.most - (shared.most != 0));
    vf_sums sums;
    sums.window.clear();
    sums.table = (vf_bin *)((vf_u64 *)args.out + 1);
    sums.base = first;
    sums.count = 0;
    vf_for_values(args, sums);
    const vf_u64 count = vf_warp_sum((vf_u64)sums.count);
    if (lane == 0)
        atomicAdd((vf_u64 *)args.out, count);
    sums.window.carry();
    /* Lanes with the same window add up before they go to memory, and a block's warps too where it is the
     * first. */
    for (unsigned left = ~0u; left != 0;) {
        const unsigned base = __shfl_sync(~0u, sums.base, __ffs((int)left) - 1);
        const bool mine = sums.base == base;
        vf_window all;
        VF_UNROLL for (int k = 0; k < VF_VALUE_PARTS; k++) all.value[k] =
            vf_warp_sum(mine ? sums.window.value[k] : 0);
        VF_UNROLL for (int k = 0; k < VF_SQUARE_PARTS; k++) all.square[k] =
            VF_SQUARES ? vf_warp_sum(mine ? sums.window.square[k] : 0) : 0;
        if (lane == 0)
            all.add_to(base == first ? &shared.sums : sums.table + base);
        left &= ~__ballot_sync(~0u, mine);
    }
    __syncthreads();
    const vf_u64 *const from = (const vf_u64 *)&shared.sums;
    for (int k = threadIdx.x; k < (int)(sizeof(vf_bin) / sizeof(vf_u64)); k += VF_BLOCK)
        if (from[k] != 0)
            atomicAdd((vf_u64 *)(sums.table + first) + k, from[k]);
}

#endif

/* ---- range ---- */

#if VF_RANGE

/* The bits as integers of the same order as the values, -0 below 0. */
VF_INLINE vf_bits vf_ordered(vf_bits bits)
{
    return bits & VF_SIGN ? ~bits : bits | VF_SIGN;
}

struct vf_range {
    vf_bits least, most;

    VF_MEMBER void add(const vf_bits *bits)
    {
        VF_UNROLL for (int i = 0; i < VF_PACK; i++)
        {
            const vf_bits value = vf_ordered(bits[i]);
            const bool finite = (bits[i] & ~VF_SIGN) < VF_INFINITY;
            least = finite && value < least ? value : least;
            most = finite && value > most ? value : most;
        }
    }
};

/* `out`: the complement of the least value, and the greatest, both ordered; 0 where there is none. */
VF_INLINE void vf_reduce(const VfArgs &args)
{
    vf_range range;
    range.least = ~vf_bits(0);
    range.most = 0;
    vf_for_values(args, range);
    VF_UNROLL for (int bit = 16; bit > 0; bit /= 2)
    {
        const vf_bits least = __shfl_xor_sync(~0u, range.least, bit);
        const vf_bits most = __shfl_xor_sync(~0u, range.most, bit);
        range.least = least < range.least ? least : range.least;
        range.most = most > range.most ? most : range.most;
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax((vf_u64 *)args.out, (vf_u64)~range.least);
        atomicMax((vf_u64 *)args.out + 1, (vf_u64)range.most);
    }
}

#endif

extern "C" __global__ void __launch_bounds__(VF_BLOCK) vf_kernel(const __grid_constant__ VfArgs args)
{
    vf_wait_for_earlier_kernels();
    vf_reduce(args);
}

VF_ENTRY(VfArgs)
