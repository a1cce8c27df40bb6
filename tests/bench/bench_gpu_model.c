#include "bench_gpu_model.h"

#include <math.h>
#include <stdio.h>

#include "alloc.h"
#include "bench_gpu_run.h"
#include "text.h"
#include "tuning.h"

#define MOST_CONFIGURATIONS 4096
/* What the model keeps: predictions within this of the least, at most one of so many. */
#define MARGIN 1.08
#define SHARE 4

struct measured {
    double seconds; /* INFINITY: it does not run */
    int registers;  /* of a thread */
    bool spilled;
};

/* All configurations that schemes offer for the flow and the device allows, by predicted time. */
struct space {
    struct bench_flow flow;
    struct vf_gpu_request request;
    struct vf_ranked *ranked;  /* [count], owned */
    struct measured *measured; /* [count], owned */
    int count;
};

static void space_open(struct space *space, const struct bench_item *item, struct bench_grid grid,
                       const struct vf_gpu *gpu)
{
    const struct vf_gpu_plan no_copies = {.launch_count = 1};
    struct vf_kernel_work work;
    struct vf_error error;
    bench_flow_open(&space->flow, item, grid, 1, gpu, NULL);
    const struct vf_launch whole = {.stage_end = space->flow.flow.stage_count};
    space->request = (struct vf_gpu_request){.flow = &space->flow.flow,
                                             .nx = grid.nx,
                                             .ny = grid.ny,
                                             .nz = grid.nz,
                                             .source_type = space->flow.source_type,
                                             .sink_type = space->flow.sink_type,
                                             .gpu = gpu};
    space->ranked = bench_alloc(MOST_CONFIGURATIONS, sizeof *space->ranked);
    space->measured = bench_alloc(MOST_CONFIGURATIONS, sizeof *space->measured);
    bench_must(vf_kernel_work_open(&work, &no_copies, &space->request, &whole, &error), &error);
    space->count = vf_gpu_rank(&work.c, gpu, NULL, space->ranked, MOST_CONFIGURATIONS);
    vf_kernel_work_close(&work);
}

static void space_close(struct space *space)
{
    vf_free(space->ranked);
    vf_free(space->measured);
    bench_flow_close(&space->flow);
}

static struct vf_launch launch_of(const struct space *space, int i)
{
    return (struct vf_launch){
        .stage_end = space->flow.flow.stage_count, .choice = space->ranked[i], .forced = true};
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

static struct measured measure(struct bench_device *device, const struct space *space, int i,
                               const struct bench_arrays *arrays)
{
    struct vf_launch launch = launch_of(space, i);
    const struct vf_gpu_plan plan = {.launch_count = 1, .launch = &launch};
    struct bench_run run;
    struct vf_error error;
    struct measured measured = {.seconds = INFINITY};
    if (bench_run_open(&run, device, &space->flow, &plan, arrays, &error) == VF_OK) {
        const struct vf_cuda_kernel *compiled = &run.sweep.kernel[0].made.compiled;
        measured.seconds =
            bench_time(device, run.sweep.stream, &(struct vf_cuda_work){bench_run_start, &run});
        measured.registers = compiled->registers;
        measured.spilled = compiled->local_bytes > 0;
    }
    vf_cuda_sweep_close(&run.sweep);
    return measured;
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
    bench_arrays_open(device, &space->flow, random, grid, false, bench_turns(device, set), &arrays);
    for (int i = 0; i < space->count; i++)
        space->measured[i] = measure(device, space, i, &arrays);
    bench_arrays_close(device, &space->flow, &arrays);
}

/* ---- printing ---- */

/* best, worst: what the fastest and the slowest of those that are kept reach of the fastest of all. */
void bench_model_head(void)
{
    printf("\n%-10s %-12s %6s %8s %6s %6s %6s %6s %7s %s\n", "stencil", "grid", "space", "best ms", "kept",
           "share", "best", "worst", "regret", "the fastest: its place by prediction, predicted/measured");
}

static void print_space(const struct space *space, const struct bench_item *item, struct bench_grid grid)
{
    char shape[BENCH_GRID_TEXT];
    int best = 0, kept = 0;
    const int most = space->count < SHARE ? 1 : space->count / SHARE;
    double slowest = 0, fastest = INFINITY;
    for (int i = 0; i < space->count; i++)
        best = space->measured[i].seconds < space->measured[best].seconds ? i : best;
    for (; kept < most && space->ranked[kept].seconds <= MARGIN * space->ranked[0].seconds; kept++) {
        slowest = fmax(slowest, space->measured[kept].seconds);
        fastest = fmin(fastest, space->measured[kept].seconds);
    }
    bench_grid_text(grid, shape);
    const double least = space->measured[best].seconds;
    const struct vf_kernel_config *c = &space->ranked[best].config;
    printf("%-10s %-12s %6d %8.4f %6d %5.0f%% %5.0f%% %5.0f%% %6.1f%% %s %dx%dx%d w%dx%dx%d: %d, %.2f\n",
           item->name, shape, space->count, 1e3 * least, kept, 100.0 * kept / space->count,
           100 * least / fastest, 100 * least / slowest, 100 * (space->measured[0].seconds / least - 1),
           space->ranked[best].scheme->name, c->block[0], c->block[1], c->block[2], c->work[0], c->work[1],
           c->work[2], best + 1, space->ranked[best].seconds / least);
    fflush(stdout);
}

static void write_json(const struct space *space, const struct bench_item *item, struct bench_grid grid,
                       struct vf_json *json)
{
    char shape[BENCH_GRID_TEXT];
    bench_grid_text(grid, shape);
    for (int i = 0; i < space->count; i++) {
        struct vf_text scheme = {0};
        vf_tuning_write_scheme(space->ranked[i].scheme, &space->ranked[i].config, &scheme);
        vf_json_begin_object(json, NULL);
        vf_json_string(json, "stencil", item->name);
        vf_json_string(json, "grid", shape);
        vf_json_string(json, "scheme", scheme.data);
        vf_json_integer(json, "registers", space->measured[i].registers);
        vf_json_boolean(json, "spilled", space->measured[i].spilled);
        vf_json_number(json, "seconds", space->measured[i].seconds);
        vf_json_number(json, "predicted", space->ranked[i].seconds);
        vf_json_end(json);
        vf_text_free(&scheme);
    }
}

void bench_model_row(struct bench_device *device, const struct bench_item *item, struct bench_grid grid,
                     struct vf_json *json)
{
    struct space space;
    space_open(&space, item, grid, &device->cuda->gpu);
    measure_all(device, &space, item, grid);
    if (space.count > 0)
        print_space(&space, item, grid);
    if (json != NULL)
        write_json(&space, item, grid, json);
    space_close(&space);
}
