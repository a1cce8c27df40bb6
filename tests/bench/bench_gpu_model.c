#include "bench_gpu_model.h"

#include <math.h>
#include <stdio.h>

#include "alloc.h"
#include "bench_gpu_run.h"

#define MOST_CONFIGURATIONS 4096
/* What the model keeps: predictions within this of the least. */
#define MARGIN 1.25

/* All configurations that schemes offer for the flow and the device allows, by predicted time. */
struct space {
    struct bench_flow flow;
    struct vf_gpu_request request;
    struct vf_ranked *ranked; /* [count], owned */
    double *seconds;          /* [count], owned; measured, INFINITY for what does not run */
    int count;
};

static void space_open(struct space *space, const struct bench_item *item, struct bench_grid grid,
                       const struct vf_gpu *gpu)
{
    const struct vf_gpu_plan no_copies = {.launch_count = 1};
    struct vf_kernel_work work;
    struct vf_error error;
    bench_flow_open(&space->flow, item, grid, 1, gpu);
    const struct vf_launch whole = {.stage_end = space->flow.flow.stage_count};
    space->request = (struct vf_gpu_request){.flow = &space->flow.flow,
                                             .nx = grid.nx,
                                             .ny = grid.ny,
                                             .nz = grid.nz,
                                             .source_type = space->flow.source_type,
                                             .sink_type = space->flow.sink_type,
                                             .gpu = gpu};
    space->ranked = bench_alloc(MOST_CONFIGURATIONS, sizeof *space->ranked);
    space->seconds = bench_alloc(MOST_CONFIGURATIONS, sizeof *space->seconds);
    bench_must(vf_kernel_work_open(&work, &no_copies, &space->request, &whole, &error), &error);
    work.c.flow = &work.flow;
    space->count = vf_gpu_rank(&work.c, gpu, NULL, space->ranked, MOST_CONFIGURATIONS);
    vf_kernel_work_close(&work);
}

static void space_close(struct space *space)
{
    vf_free(space->ranked);
    vf_free(space->seconds);
    bench_flow_close(&space->flow);
}

static struct vf_launch launch_of(const struct space *space, int i)
{
    return (struct vf_launch){.stage_end = space->flow.flow.stage_count,
                              .scheme = space->ranked[i].scheme,
                              .config = space->ranked[i].config,
                              .forced = true};
}

void bench_model_gather(const struct bench_item *item, struct bench_grid grid, const struct vf_gpu *gpu,
                        struct vf_kernel_list *texts)
{
    struct space space;
    space_open(&space, item, grid, gpu);
    for (int i = 0; i < space.count; i++) {
        struct vf_launch launch = launch_of(&space, i);
        const struct bench_row row = {.flow = &space.flow,
                                      .request = space.request,
                                      .plan_count = 1,
                                      .plan = {{.launch_count = 1, .launch = &launch}}};
        bench_texts_add(texts, &row);
    }
    space_close(&space);
}

static double measure(struct bench_device *device, const struct space *space, int i,
                      const struct bench_arrays *arrays)
{
    struct vf_launch launch = launch_of(space, i);
    const struct vf_gpu_plan plan = {.launch_count = 1, .launch = &launch};
    struct bench_run run;
    struct vf_error error;
    double seconds = INFINITY;
    if (bench_run_open(&run, device, &space->flow, &plan, arrays, &error) == VF_OK)
        seconds = bench_time(device, run.sweep.stream, &(struct vf_cuda_work){bench_run_start, &run});
    vf_cuda_sweep_close(&run.sweep);
    return seconds;
}

static void measure_all(struct bench_device *device, struct space *space, const struct bench_item *item,
                        struct bench_grid grid)
{
    struct bench_random random[VF_MAX_INPUTS];
    struct bench_arrays arrays;
    size_t set = 0;
    for (int k = 0; k < space->flow.flow.source_count; k++) {
        set += bench_array_bytes(grid, space->flow.source_type[k]);
        random[k] = bench_random_of(device, k, space->flow.source_type[k], item->low, item->high);
    }
    for (int k = 0; k < space->flow.flow.sink_count; k++)
        set += bench_array_bytes(grid, space->flow.sink_type[k]);
    bench_arrays_open(device, &space->flow, random, grid, bench_turns(device, set), &arrays);
    for (int i = 0; i < space->count; i++)
        space->seconds[i] = measure(device, space, i, &arrays);
    bench_arrays_close(device, &space->flow, &arrays);
}

/* ---- printing ---- */

void bench_model_head(void)
{
    printf("\n%-10s %-12s %6s %8s %6s %6s %6s %6s %7s %s\n", "stencil", "grid", "space", "best ms", "kept",
           "share", "best", "worst", "regret", "the fastest: its place by prediction, predicted/measured");
}

static void print_space(const struct space *space, const struct bench_item *item, struct bench_grid grid)
{
    char shape[48];
    int best = 0, kept = 0;
    double slowest = 0;
    for (int i = 0; i < space->count; i++)
        best = space->seconds[i] < space->seconds[best] ? i : best;
    for (; kept < space->count && space->ranked[kept].seconds <= MARGIN * space->ranked[0].seconds; kept++)
        slowest = fmax(slowest, space->seconds[kept]);
    snprintf(shape, sizeof shape, "%tdx%tdx%td", grid.nx, grid.ny, grid.nz);
    const double least = space->seconds[best];
    const struct vf_kernel_config *c = &space->ranked[best].config;
    printf("%-10s %-12s %6d %8.4f %6d %5.0f%% %6s %5.0f%% %6.1f%% %s %dx%dx%d w%dx%dx%d: %d, %.2f\n",
           item->name, shape, space->count, 1e3 * least, kept, 100.0 * kept / space->count,
           best < kept ? "yes" : "no", 100 * least / slowest, 100 * (space->seconds[0] / least - 1),
           space->ranked[best].scheme->name, c->block[0], c->block[1], c->block[2], c->work[0], c->work[1],
           c->work[2], best + 1, space->ranked[best].seconds / least);
    fflush(stdout);
}

void bench_model_row(struct bench_device *device, const struct bench_item *item, struct bench_grid grid)
{
    struct space space;
    space_open(&space, item, grid, &device->cuda->gpu);
    measure_all(device, &space, item, grid);
    if (space.count > 0)
        print_space(&space, item, grid);
    space_close(&space);
}
