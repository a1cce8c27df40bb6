/* What bench-cpu prints. */
#ifndef VF_BENCH_TABLES_H
#define VF_BENCH_TABLES_H

#include "bench_case.h"

struct bench_options {
    const char *rows; /* only rows whose "3D float32 CHAIN" holds this; NULL: all */
    int threads;
    int repeats;    /* timed executions of a row after its first one; 0: as many as `seconds` allows */
    double seconds; /* about, for the timed executions of a row */
    struct bench_grid volume, image;
};

/* Compares every row with the reference on small grids, bit for bit; false, and named on stderr, where one
 * differs. */
bool bench_check(const struct bench_options *options);

/* Every filter, beside a copy of its input. */
void bench_filters(const struct bench_options *options);

/* A growing chain of short filters: in one sweep, and filter by filter. */
void bench_stages(const struct bench_options *options);

/* One thread against all. */
void bench_scaling(const struct bench_options *options);

#endif
