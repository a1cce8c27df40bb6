#include "bench_gpu_plans.h"

#include <stdio.h>
#include <string.h>

/* What the rows of a flow share. */
struct walk {
    struct bench_grid grid;
    const struct vf_gpu *gpu;
    const char *scheme;
    void (*visit)(void *context, const struct bench_row *row);
    void *context;
    const struct bench_flow *flow;
    int visited; /* rows of the flow */
};

static struct bench_row row_of(const struct walk *walk, const char *by)
{
    return (struct bench_row){.flow = walk->flow,
                              .is_first = walk->visited == 0,
                              .by = by,
                              .request = {.flow = &walk->flow->flow,
                                          .nx = walk->grid.nx,
                                          .ny = walk->grid.ny,
                                          .nz = walk->grid.nz,
                                          .source_type = walk->flow->source_type,
                                          .sink_type = walk->flow->sink_type,
                                          .gpu = walk->gpu}};
}

/* The plan that --scheme `text` gives; NULL: the plan's own choice. No row where the scheme refuses. */
static void planned_row(struct walk *walk, const char *text)
{
    struct vf_forced_list forced;
    struct vf_error error;
    struct bench_row row = row_of(walk, text != NULL ? text : "plan");
    if (text != NULL) {
        bench_must(vf_forced_read(text, &forced, &error), &error);
        row.request.forced = &forced;
    }
    row.plan_count = 1;
    const enum vf_status status = vf_gpu_plan_open(&row.plan[0], &row.request, &error);
    if (status == VF_USAGE)
        return;
    bench_must(status, &error);
    walk->visit(walk->context, &row);
    walk->visited++;
    vf_gpu_plan_close(&row.plan[0]);
}

/* All stages of the flow in one kernel by the scheme. No row where it refuses. */
static void fused_row(struct walk *walk, const struct vf_gpu_scheme *scheme)
{
    const struct vf_forced forced = {
        .scheme = scheme, .variant = -1, .grid = -1, .virtual_blocks = -1, .interior = -1};
    const struct vf_launch whole = {
        .stage_end = walk->flow->flow.stage_count, .choice.scheme = scheme, .forced = true};
    const struct vf_gpu_plan no_copies = {.launch_count = 1};
    struct vf_launch launch[BENCH_ALTERNATIVES];
    struct vf_ranked list[BENCH_ALTERNATIVES];
    struct vf_kernel_work work;
    struct vf_error error;
    struct bench_row row = row_of(walk, scheme->name);
    if (vf_kernel_work_open(&work, &no_copies, &row.request, &whole, &error) != VF_OK)
        return;
    row.plan_count = vf_gpu_rank(&work.c, walk->gpu, &forced, list, BENCH_ALTERNATIVES);
    for (int i = 0; i < row.plan_count; i++) {
        launch[i] = whole;
        launch[i].choice.config = list[i].config;
        launch[i].choice.seconds = list[i].seconds;
        row.plan[i] =
            (struct vf_gpu_plan){.launch_count = 1, .launch = &launch[i], .seconds = list[i].seconds};
    }
    if (row.plan_count > 0) {
        walk->visit(walk->context, &row);
        walk->visited++;
    }
    vf_kernel_work_close(&work);
}

/* Rows of the walk's flow. */
static void flow_rows(struct walk *walk, bool schemes, bool plan)
{
    const struct bench_flow *flow = walk->flow;
    char unfused[64];
    walk->visited = 0;
    if (walk->scheme != NULL) {
        planned_row(walk, strcmp(walk->scheme, "plan") == 0 ? NULL : walk->scheme);
    } else {
        for (int i = 0; vf_gpu_schemes[i] != NULL && schemes; i++) {
            fused_row(walk, vf_gpu_schemes[i]);
            snprintf(unfused, sizeof unfused, "%s:fuse=1", vf_gpu_schemes[i]->name);
            if (flow->flow.stage_count > 1 && flow->steps == 1)
                planned_row(walk, unfused);
        }
        if (plan)
            planned_row(walk, NULL);
    }
}

static void step_rows(struct walk walk, const struct bench_item *item, int steps, bool schemes, bool plan)
{
    struct bench_flow flow;
    const bool is_forced = walk.scheme != NULL && strcmp(walk.scheme, "plan") != 0;
    bench_flow_open(&flow, item, walk.grid, steps, walk.gpu, is_forced ? walk.scheme : NULL);
    walk.flow = &flow;
    flow_rows(&walk, schemes, plan);
    bench_flow_close(&flow);
}

void bench_each_row(const struct bench_item *item, struct bench_grid grid, const struct vf_gpu *gpu,
                    const char *scheme, void (*visit)(void *context, const struct bench_row *row),
                    void *context)
{
    static const int fused[] = {2, 4, 8};
    struct walk walk = {.grid = grid, .gpu = gpu, .scheme = scheme, .visit = visit, .context = context};
    bool planned = false;
    step_rows(walk, item, 1, true, true);
    if (item->one_pass)
        return;
    for (size_t i = 0; i < sizeof fused / sizeof *fused && fused[i] <= item->steps; i++) {
        planned = fused[i] == item->steps;
        step_rows(walk, item, fused[i], true, planned);
    }
    if (!planned)
        step_rows(walk, item, item->steps, false, true);
    /* Images gain by more steps than are published. */
    for (int steps = 8; item->dim == 2 && steps <= 12; steps += 2)
        if (steps > item->steps)
            step_rows(walk, item, steps, false, true);
}
