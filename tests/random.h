/* Random numbers that are the same everywhere: xorshift64*. A file that includes this has a state of its own.
 */
#ifndef VF_TESTS_RANDOM_H
#define VF_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 1; /* not 0 */

static inline uint64_t random_bits(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1d;
}

/* From 0 on, below 1. */
static inline double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

#endif
