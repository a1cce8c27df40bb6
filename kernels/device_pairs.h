/* VF_PAIRS: a value is two cells of 8 or 16 bits, in the halves of a word, for bodies that only put values in
 * order. Included by device.h, behind which REAL is such a value; before it all is as for other kernels.
 * Constants, from the scheme:
 *   VF_SIGNED   1: cells have a sign */
#ifndef VF_DEVICE_PAIRS_H
#define VF_DEVICE_PAIRS_H

typedef unsigned int vf_pair;

#undef REAL
#define REAL vf_pair
#define VF_WHOLE_NUMBERS 1

/* Since 9.0 an instruction each. */
#define LESSER(a, b) (VF_SIGNED ? __vmins2(a, b) : __vminu2(a, b))
#define GREATER(a, b) (VF_SIGNED ? __vmaxs2(a, b) : __vmaxu2(a, b))

VF_INLINE vf_pair vf_pair_of(int low, int high)
{
    return __byte_perm(low, high, 0x5410);
}

#endif
