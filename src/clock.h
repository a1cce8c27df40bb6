/* The time that passes, whoever sets the clock. */
#ifndef VF_CLOCK_H
#define VF_CLOCK_H

#include <time.h>

/* Seconds since some moment of the past. */
static inline double vf_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
