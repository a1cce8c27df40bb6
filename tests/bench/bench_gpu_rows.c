#include "bench_gpu_rows.h"

#include <math.h>
#include <string.h>

#include "alloc.h"
#include "bench_gpu_check.h"
#include "bench_gpu_plans.h"
#include "bench_gpu_run.h"

/* A goal: the plan's choice is within this of the best row, or rows, that make its steps. */
#define CLOSE 1.15
#define MOST_STEPS 16

/* ---- an item on a grid ---- */

struct place {
    const struct bench_gpu_options *options;
    struct bench_device *device;
    const struct bench_item *item;
    struct bench_grid grid;
    struct bench_tally *tally;
    struct bench_random random[VF_MAX_INPUTS];
    struct bench_arrays full, small;
    double cell_bytes;           /* read and written, of a cell, at least */
    double copy;                 /* seconds of copying one input */
    double bandwidth;            /* of that copy, bytes/s */
    struct bench_right right;    /* of the present flow */
    double best[MOST_STEPS + 1]; /* seconds of n steps by the best row of n steps so far; infinite: none */
};

static double cells_of(struct bench_grid grid)
{
    return (double)grid.nx * (double)grid.ny * (double)grid.nz;
}

/* Runs it once on poisoned results. */
static void run_once(struct bench_run *run, struct bench_device *device)
{
    struct vf_error error;
    for (int k = 0; k < run->job.flow->sink_count; k++)
        bench_array_poison(device, run->arrays->sink[0][k],
                           bench_array_bytes(run->arrays->grid, run->stored[k].type));
    bench_must(bench_run_start(run, 0, &error), &error);
    bench_must_cuda(device, device->cuda->api.cuStreamSynchronize(run->sweep.stream), "running a kernel");
}

/* ---- checking and timing a plan ---- */

/* What one plan came to. */
struct result {
    bool ran, right, spilled;
    double seconds, predicted;
    int kernels;
    char label[160], why[256];
    struct vf_text list; /* a line for each kernel, or several alike */
};

static void describe_kernel(const struct vf_cuda_launch *kernel, char *text, size_t room)
{
    const struct vf_kernel_config *c = &kernel->made.config;
    const char *variant =
        kernel->made.scheme->variants != NULL ? kernel->made.scheme->variants[c->variant] : NULL;
    int length =
        snprintf(text, room, "%s%s%s %dx%dx%d", kernel->made.scheme->name, variant != NULL ? ":" : "",
                 variant != NULL ? variant : "", c->block[0], c->block[1], c->block[2]);
    if (c->work[0] * c->work[1] * c->work[2] > 1)
        length +=
            snprintf(text + length, room - (size_t)length, " w%dx%dx%d", c->work[0], c->work[1], c->work[2]);
    if (c->stream > 0)
        length += snprintf(text + length, room - (size_t)length, " s%d", c->stream);
    snprintf(text + length, room - (size_t)length, "%s%s %dr", c->virtual_blocks ? " virtual" : "",
             c->interior ? "" : " one-path", kernel->made.compiled.registers);
}

/* "GX GY GZ" */
static void stage_names(const struct vf_flow *flow, const struct vf_launch *launch, char *text, size_t room)
{
    int length = snprintf(text, room, "%s", launch->stage_begin == launch->stage_end ? "copy" : "");
    for (int s = launch->stage_begin; s < launch->stage_end && length < (int)room; s++)
        length += snprintf(text + length, room - (size_t)length, "%s%s", s > launch->stage_begin ? " " : "",
                           flow->stage[s].name);
}

/* One kernel of a run that has been started once, again with the same arrays. */
struct one_kernel {
    const struct bench_run *run;
    int index;
};

static enum vf_status start_kernel(void *context, int turn, struct vf_error *error)
{
    const struct one_kernel *one = context;
    const struct vf_cuda_sweep *sweep = &one->run->sweep;
    (void)turn;
    return vf_cuda_launch_start(&sweep->kernel[one->index], sweep->cuda, sweep->stream, error);
}

/* With what those of a line take, each timed alone. */
static void list_kernels(const struct place *place, const struct bench_run *run,
                         const struct vf_gpu_plan *plan, struct vf_text *list)
{
    char names[128], label[160], line[320], last[320] = "";
    double seconds = 0;
    int alike = 0;
    for (int i = 0; i <= plan->launch_count; i++) {
        if (i < plan->launch_count) {
            stage_names(run->job.flow, &plan->launch[i], names, sizeof names);
            describe_kernel(&run->sweep.kernel[i], label, sizeof label);
            snprintf(line, sizeof line, "%s: %s", names, label);
        }
        if (i > 0 && (i == plan->launch_count || strcmp(line, last) != 0)) {
            vf_text_add(list, "%26d x %-80s %9.4f\n", alike, last, 1e3 * seconds);
            alike = 0;
            seconds = 0;
        }
        memcpy(last, line, sizeof last);
        alike++;
        if (i < plan->launch_count)
            seconds += bench_time(place->device, run->sweep.stream,
                                  &(struct vf_cuda_work){start_kernel, &(struct one_kernel){run, i}});
    }
}

/* The plan again with what its kernels became, for another grid. */
static void fix_plan(const struct bench_run *run, const struct vf_gpu_plan *plan, struct vf_gpu_plan *fixed)
{
    *fixed = *plan;
    fixed->launch = bench_alloc((size_t)plan->launch_count, sizeof *fixed->launch);
    for (int i = 0; i < plan->launch_count; i++) {
        fixed->launch[i] = plan->launch[i];
        fixed->launch[i].choice.scheme = run->sweep.kernel[i].made.scheme;
        fixed->launch[i].choice.config = run->sweep.kernel[i].made.config;
        fixed->launch[i].forced = true;
    }
}

static bool small_is_right(struct place *place, const struct bench_right *right, const struct bench_run *run,
                           const struct vf_gpu_plan *plan, char where[128])
{
    struct vf_gpu_plan fixed;
    struct bench_run small;
    struct vf_error error;
    fix_plan(run, plan, &fixed);
    bench_must(bench_run_open(&small, place->device, right->flow, &fixed, &place->small, &error), &error);
    run_once(&small, place->device);
    vf_cuda_sweep_close(&small.sweep);
    vf_free(fixed.launch);
    return bench_right_small(right, place->device, place->small.sink[0], where);
}

static void measure(struct place *place, const struct bench_right *right, const struct vf_gpu_plan *plan,
                    struct result *result)
{
    struct bench_run run;
    struct vf_error error;
    char where[128];
    *result = (struct result){.predicted = plan->seconds, .kernels = plan->launch_count};
    const enum vf_status status =
        bench_run_open(&run, place->device, right->flow, plan, &place->full, &error);
    if (status != VF_OK)
        snprintf(result->why, sizeof result->why, "%s", error.text);
    if (status == VF_OK) {
        result->ran = true;
        for (int i = 0; i < plan->launch_count; i++)
            result->spilled = result->spilled || run.sweep.kernel[i].made.compiled.local_bytes > 0;
        describe_kernel(&run.sweep.kernel[0], result->label, sizeof result->label);
        result->right = small_is_right(place, right, &run, plan, where);
        if (result->right) {
            run_once(&run, place->device);
            result->right = bench_right_full(right, place->device, place->full.sink[0], where);
        }
        if (result->right)
            result->seconds =
                bench_time(place->device, run.sweep.stream, &(struct vf_cuda_work){bench_run_start, &run});
        else
            snprintf(result->why, sizeof result->why, "WRONG: %s", where);
        if (result->right && plan->launch_count > 1 && !plan->launch[0].forced)
            list_kernels(place, &run, plan, &result->list);
    }
    vf_cuda_sweep_close(&run.sweep);
}

/* ---- printing ---- */

void bench_gpu_head(void)
{
    printf("\n%-20s %-14s %2s %-56s %2s %9s %9s %6s %7s %7s %6s\n", "stencil", "grid", "T", "by", "k", "ms",
           "GCells/s", "xR", "copies", "predict", "/best");
}

static void write_json(const struct place *place, const char *by, int steps, const struct result *r)
{
    struct vf_json *json = place->options->json;
    char grid[BENCH_GRID_TEXT];
    if (json == NULL)
        return;
    bench_grid_text(place->grid, grid);
    vf_json_begin_object(json, NULL);
    vf_json_string(json, "stencil", place->item->name);
    vf_json_string(json, "grid", grid);
    vf_json_integer(json, "steps", steps);
    vf_json_string(json, "by", by);
    vf_json_string(json, "first_kernel", r->label);
    vf_json_integer(json, "kernels", r->kernels);
    vf_json_boolean(json, "right", r->right);
    vf_json_boolean(json, "spilled", r->spilled);
    vf_json_number(json, "seconds", r->right ? r->seconds : NAN);
    vf_json_number(json, "predicted", r->predicted);
    vf_json_number(json, "cells_per_second", steps * cells_of(place->grid) / r->seconds);
    vf_json_number(json, "copy_seconds", place->copy);
    vf_json_number(json, "copy_bandwidth", place->bandwidth);
    vf_json_number(json, "bytes_per_cell", place->cell_bytes);
    vf_json_string(json, "note", r->why[0] != '\0' ? r->why : place->item->note);
    vf_json_end(json);
}

/* Seconds of so many steps by the best rows so far, one after the other. */
static double best_of(const struct place *place, int steps)
{
    double best[MOST_STEPS + 1] = {0};
    for (int n = 1; n <= steps; n++) {
        best[n] = INFINITY;
        for (int last = 1; last <= n; last++)
            best[n] = fmin(best[n], best[n - last] + place->best[last]);
    }
    return best[steps];
}

/* `by` is "plan" for the plan's own choice, which is held against the best rows so far. */
static void print_row(struct place *place, const char *by, int steps, const struct result *r)
{
    struct bench_tally *tally = place->tally;
    char grid[BENCH_GRID_TEXT], what[256];
    const bool is_plan = strcmp(by, "plan") == 0;
    bench_grid_text(place->grid, grid);
    snprintf(what, sizeof what, "%s%s%s", is_plan ? "plan: " : "", r->label[0] != '\0' ? r->label : by,
             r->spilled ? " spills" : "");
    printf("%-20s %-14s %2d %-56s %2d", place->item->name, grid, steps, what, r->kernels);
    write_json(place, by, steps, r);
    tally->rows++;
    tally->wrong += r->ran && !r->right;
    if (!r->right) {
        printf("  %s\n", r->why);
        fflush(stdout);
        return;
    }
    const double rate = steps * cells_of(place->grid) / r->seconds, best = best_of(place, steps);
    printf(" %9.4f %9.2f %6.3f %7.2f %7.2f", 1e3 * r->seconds, 1e-9 * rate,
           rate * place->cell_bytes / place->bandwidth, r->seconds / place->copy, r->predicted / r->seconds);
    if (is_plan && best < INFINITY) {
        const double over = r->seconds / best;
        printf(" %6.2f%s", over, over > CLOSE ? " <" : "");
        tally->plans++;
        tally->slow_plans += over > CLOSE;
        if (over > tally->worst) {
            tally->worst = over;
            snprintf(tally->worst_name, sizeof tally->worst_name, "%s %s T %d", place->item->name, grid,
                     steps);
        }
    }
    printf("\n%s", is_plan && r->list.data != NULL ? r->list.data : "");
    fflush(stdout);
    place->best[steps] = fmin(place->best[steps], r->seconds);
}

/* ---- rows ---- */

/* The first plan that does not spill, or the best of several. */
static void run_row(void *context, const struct bench_row *row)
{
    struct place *place = context;
    struct result best = {.ran = false}, result;
    if (row->is_first) {
        bench_right_close(&place->right);
        bench_right_open(&place->right, row->flow, place->grid, place->random);
    }
    for (int i = 0, tried = 0; i < row->plan_count && tried < place->options->tries; i++) {
        measure(place, &place->right, &row->plan[i], &result);
        tried += !result.spilled;
        const bool is_better = result.right && (!best.right || result.seconds < best.seconds);
        const bool is_wrong = result.ran && !result.right;
        if (i == 0 || is_wrong || (is_better && !(best.ran && !best.right)))
            best = result;
    }
    print_row(place, row->by, row->flow->steps, &best);
    vf_text_free(&best.list);
}

/* ---- an item ---- */

static void open_place(struct place *place, const struct bench_flow *flow)
{
    double bytes = 0;
    size_t set = 0;
    for (int k = 0; k < flow->flow.source_count; k++) {
        bytes += (double)vf_type_size(flow->source_type[k]);
        set += bench_array_bytes(place->grid, flow->source_type[k]);
        place->random[k] =
            bench_random_of(place->device, k, flow->source_type[k], place->item->low, place->item->high);
    }
    for (int k = 0; k < flow->flow.sink_count; k++) {
        bytes += (double)vf_type_size(flow->sink_type[k]);
        set += bench_array_bytes(place->grid, flow->sink_type[k]);
    }
    const size_t one = bench_array_bytes(place->grid, place->item->type);
    place->cell_bytes = bytes;
    place->copy = bench_device_copy(place->device, one);
    place->bandwidth = 2 * (double)one / place->copy;
    for (int steps = 0; steps <= MOST_STEPS; steps++)
        place->best[steps] = INFINITY;
    bench_arrays_open(place->device, flow, place->random, place->grid, false, bench_turns(place->device, set),
                      &place->full);
    bench_arrays_open(place->device, flow, place->random, bench_small_grid(place->grid, place->item->dim),
                      true, 1, &place->small);
}

void bench_gpu_rows(const struct bench_gpu_options *options, struct bench_device *device,
                    const struct bench_item *item, struct bench_grid grid, struct bench_tally *tally)
{
    const struct vf_gpu *gpu = &device->cuda->gpu;
    struct place place = {.options = options, .device = device, .item = item, .grid = grid, .tally = tally};
    struct bench_flow one;
    bench_flow_open(&one, item, grid, 1, gpu, NULL);
    open_place(&place, &one);
    bench_each_row(item, grid, gpu, options->scheme, run_row, &place);
    bench_right_close(&place.right);
    bench_arrays_close(device, &one, &place.full);
    bench_arrays_close(device, &one, &place.small);
    bench_flow_close(&one);
}
