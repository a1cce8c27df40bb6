/* The tables that bench-cpu prints. */
#ifndef VF_BENCH_TABLES_H
#define VF_BENCH_TABLES_H

#include "bench_case.h"

struct bench_options {
    const char *rows; /* only rows whose heading, such as "3D float32 CHAIN", contains this; NULL: all */
    int threads;
    int repeats;    /* how many executions of a row are timed after a first one; 0: as `seconds` allows */
    double seconds; /* how long the timed executions of a row may take, roughly */
    struct bench_grid volume, image;
    double fma_gflops; /* of the threads together; 0: not known */
};

/* Compares every row with the reference on small grids, bit for bit. Rows that differ are named on stderr;
 * then it returns false. */
bool bench_check(const struct bench_options *options);

/* Prints the speed of every filter, and of a copy of its input. */
void bench_filters(const struct bench_options *options);

/* Prints how long chains of more and more short filters take in one sweep, and filter by filter. */
void bench_stages(const struct bench_options *options);

/* Prints how much faster all threads are than one. */
void bench_scaling(const struct bench_options *options);

#endif
