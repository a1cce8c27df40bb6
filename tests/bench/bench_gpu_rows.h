/* The rows of bench-gpu: every stencil by every scheme that takes it, fused steps, and the plan's own choice.
 */
#ifndef VF_BENCH_GPU_ROWS_H
#define VF_BENCH_GPU_ROWS_H

#include <stdio.h>

#include "bench_gpu_device.h"
#include "bench_gpu_stencils.h"
#include "json.h"

struct bench_gpu_options {
    const char *only;   /* names, separated by commas; NULL: all */
    const char *scheme; /* what --scheme takes; NULL: every scheme, and the plan's choice */
    int tries;          /* configurations of a scheme that are measured; the best one is the row */
    struct vf_json *json;
};

struct bench_tally {
    int rows, wrong, plans, slow_plans;
    double worst; /* the plan's time over the best's */
    char worst_name[96];
};

void bench_gpu_head(void);

/* All rows of an item on a grid. */
void bench_gpu_rows(const struct bench_gpu_options *options, struct bench_device *device,
                    const struct bench_item *item, struct bench_grid grid, struct bench_tally *tally);

#endif
