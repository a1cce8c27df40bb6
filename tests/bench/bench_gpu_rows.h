/* The rows of bench-gpu: every stencil by every scheme that takes it, fused steps, and the plan's own choice.
 */
#ifndef VF_BENCH_GPU_ROWS_H
#define VF_BENCH_GPU_ROWS_H

#include "bench_gpu_device.h"
#include "bench_gpu_stencils.h"
#include "json.h"

struct bench_gpu_options {
    const char *only;   /* names, separated by commas; NULL: all */
    const char *scheme; /* as --scheme takes it; NULL: every scheme, and the plan's choice */
    int tries;          /* how many configurations of a scheme are measured; the row is the fastest one */
    struct vf_json *json;
};

/* Counts over all rows. */
struct bench_tally {
    int rows, wrong; /* `wrong`: results that are not right */
    int plans,
        slow_plans;      /* rows of the plan's choice, and those that are clearly slower than the best row */
    double worst;        /* the greatest quotient of a plan's time and the best row's */
    char worst_name[96]; /* where that was */
};

/* Prints the heading of the rows. */
void bench_gpu_head(void);

/* Measures, checks and prints all rows of an item on a grid. */
void bench_gpu_rows(const struct bench_gpu_options *options, struct bench_device *device,
                    const struct bench_item *item, struct bench_grid grid, struct bench_tally *tally);

#endif
