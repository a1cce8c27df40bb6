/* Which rows bench-gpu has for an item: the plans of its flows. */
#ifndef VF_BENCH_GPU_PLANS_H
#define VF_BENCH_GPU_PLANS_H

#include "bench_gpu_stencils.h"

#define BENCH_ALTERNATIVES 8

/* A row: a flow, and plans for it, the most promising first. Where there are several, each is one kernel. */
struct bench_row {
    const struct bench_flow *flow;
    bool is_first;  /* of its flow */
    const char *by; /* scheme; "plan": the plan's own choice */
    struct vf_gpu_request request;
    int plan_count;
    struct vf_gpu_plan plan[BENCH_ALTERNATIVES];
};

/* Calls `visit` with each row. For one step and for several fused: every scheme that takes all stages in one
 * kernel; for one step of several stages also every scheme with a kernel for each stage; then the plan's own
 * choice, of images also for more steps. With `scheme`, which is as --scheme takes it, that alone. */
void bench_each_row(const struct bench_item *item, struct bench_grid grid, const struct vf_gpu *gpu,
                    const char *scheme, void (*visit)(void *context, const struct bench_row *row),
                    void *context);

#endif
