/* Which rows bench-gpu has for an item, and the plans of each. */
#ifndef VF_BENCH_GPU_PLANS_H
#define VF_BENCH_GPU_PLANS_H

#include "bench_gpu_stencils.h"

#define BENCH_ALTERNATIVES 8

/* A row: a flow and plans for it, the one with the best prediction first. If there are several, each is a
 * single kernel. */
struct bench_row {
    const struct bench_flow *flow;
    bool is_first;  /* it is the first row of its flow */
    const char *by; /* the scheme's name; "plan": the plan chooses */
    struct vf_gpu_request request;
    int plan_count;
    struct vf_gpu_plan plan[BENCH_ALTERNATIVES];
};

/* Calls `visit` with each row of an item. For one step, and for several in one kernel, there is a row for
 * every scheme that takes all stages in one kernel. If a step has several stages, there is one for every
 * scheme with a kernel for each stage. Then comes the plan's own choice, for images also for more steps. With
 * `scheme`, which is as --scheme takes it, there are only rows for that. */
void bench_each_row(const struct bench_item *item, struct bench_grid grid, const struct vf_gpu *gpu,
                    const char *scheme, void (*visit)(void *context, const struct bench_row *row),
                    void *context);

#endif
