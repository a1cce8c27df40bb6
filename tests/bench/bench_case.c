#include "bench_case.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "number.h"

_Noreturn void bench_refuse(const char *option, const char *text)
{
    fprintf(stderr, "%s: --%s %s?\n%s", program_invocation_short_name, option, text, bench_usage);
    exit(2);
}

int bench_read_count(const char *option, const char *text, long most)
{
    long value = 0;
    const char *end = vf_number_read_whole(text, &value);
    if (end == NULL || *end != '\0' || value < 1 || value > most)
        bench_refuse(option, text);
    return (int)value;
}

double bench_read_seconds(const char *option, const char *text)
{
    double value = 0;
    const char *end = vf_number_read(text, &value);
    if (end == NULL || *end != '\0' || !(value > 0))
        bench_refuse(option, text);
    return value;
}

void bench_must(enum vf_status status, const struct vf_error *error)
{
    if (status == VF_OK)
        return;
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, error->text);
    exit(1);
}

void *bench_alloc(size_t count, size_t size)
{
    struct vf_error error;
    void *data = vf_alloc(count, size, "the benchmark", &error);
    bench_must(data != NULL ? VF_OK : VF_FAILED, &error);
    return data;
}

/* As --explain counts it. */
static double bytes_moved(const struct bench_case *c)
{
    double moved = 0;
    for (int r = 0; r < c->plan.run_count; r++) {
        const struct vf_run *run = &c->plan.run[r];
        moved += run->inputs * (double)vf_type_size(run->source_type);
        if (!run->prepass)
            moved += run->outputs * (double)vf_type_size(run->sink_type);
    }
    return moved * c->voxels;
}

static double sums_of(const struct vf_plan *plan, const struct vf_run *run)
{
    struct vf_flow flow;
    struct vf_error error;
    double sums = 0;
    bench_must(vf_plan_flow(plan, run, NULL, &flow, &error), &error);
    for (int i = 0; i < flow.stage_count; i++)
        if (flow.stage[i].stencil == VF_STENCIL_LINEAR)
            sums += (double)flow.stage[i].taps->count * flow.stage[i].output_count;
    vf_flow_close(&flow);
    return sums;
}

void bench_case_open(struct bench_case *c, const char *chain, struct bench_grid grid, enum vf_type type,
                     int threads, const char *scheme)
{
    struct vf_error error;
    *c = (struct bench_case){.grid = grid, .type = type, .voxels = (double)(grid.nx * grid.ny * grid.nz)};
    bench_must(vf_chain_append(&c->chain, chain, &error), &error);
    c->result_type = vf_chain_float_link(&c->chain) < 0 ? type : VF_F32;
    struct vf_plan_request request = {.chain = &c->chain,
                                      .context = {.dim = grid.nz > 1 ? 3 : 2, .aspect = {1, 1, 1}},
                                      .nx = grid.nx,
                                      .ny = grid.ny,
                                      .nz = grid.nz,
                                      .batch = 1,
                                      .threads = threads,
                                      .source_type = type,
                                      .result_type = c->result_type,
                                      .scheme = scheme};
    bench_must(vf_plan_open(&c->plan, &request, &error), &error);
    c->team = vf_team_open();
    c->bytes_moved = bytes_moved(c);
    for (int r = 0; r < c->plan.run_count; r++) {
        c->predicted += c->plan.run[r].seconds;
        c->sums += sums_of(&c->plan, &c->plan.run[r]);
    }
}

void bench_case_close(struct bench_case *c)
{
    vf_team_close(c->team);
    vf_plan_close(&c->plan);
    vf_chain_free(&c->chain);
}

/* ---- volumes ---- */

static struct vf_volume new_volume(struct bench_grid grid, size_t channels, enum vf_type type,
                                   const char *what)
{
    struct vf_volume volume;
    struct vf_error error;
    const struct vf_shape shape = {(size_t)grid.nx, (size_t)grid.ny, (size_t)grid.nz, channels, 1};
    bench_must(vf_volume_alloc(&volume, type, &shape, what, &error), &error);
    return volume;
}

static void fill_row(char *row, ptrdiff_t n, enum vf_type type, uint32_t seed)
{
    uint32_t state = seed * 2654435761U + 2463534242U;
    for (ptrdiff_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        if (type == VF_U8)
            ((uint8_t *)row)[i] = (uint8_t)(state >> 24);
        else if (type == VF_U16)
            ((uint16_t *)(void *)row)[i] = (uint16_t)(state >> 16);
        else
            ((float *)(void *)row)[i] = (float)(state >> 8) * (255.0F / (1 << 24));
    }
}

struct vf_volume bench_input(struct bench_grid grid, enum vf_type type, int threads)
{
    struct vf_volume in = new_volume(grid, 1, type, "the input");
    const size_t row_bytes = (size_t)grid.nx * vf_type_size(type);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (ptrdiff_t row = 0; row < grid.ny * grid.nz; row++)
        fill_row((char *)in.data + (size_t)row * row_bytes, grid.nx, type, (uint32_t)row);
    return in;
}

struct vf_volume bench_result(const struct bench_case *c)
{
    return new_volume(c->grid, (size_t)c->plan.output_count, c->result_type, "the result");
}

/* ---- running ---- */

double bench_case_run(const struct bench_case *c, const struct vf_volume *in, struct vf_volume *out)
{
    const struct vf_execution execution = {
        .spare_bytes = SIZE_MAX, .plan = &c->plan, .in = in, .out = out, .channels = 1, .team = c->team};
    struct vf_error error;
    double start = vf_now();
    bench_must(vf_execute(&execution, &error), &error);
    return vf_now() - start;
}

static struct vf_volume result_of(const char *chain, const struct vf_volume *in, struct bench_grid grid,
                                  int threads, const char *scheme)
{
    struct bench_case c;
    bench_case_open(&c, chain, grid, in->type, threads, scheme);
    struct vf_volume out = bench_result(&c);
    bench_case_run(&c, in, &out);
    bench_case_close(&c);
    return out;
}

bool bench_case_is_right(const char *chain, struct bench_grid grid, enum vf_type type, int threads)
{
    static const char *const scheme[] = {NULL, "row-stream:tile=24x9x11"};
    struct vf_volume in = bench_input(grid, type, threads);
    struct vf_volume right = result_of(chain, &in, grid, threads, "reference");
    size_t bytes = 0;
    bool same = vf_volume_bytes(right.type, &right.shape, &bytes);
    for (size_t i = 0; i < sizeof scheme / sizeof scheme[0]; i++) {
        struct vf_volume out = result_of(chain, &in, grid, threads, scheme[i]);
        same = same && memcmp(out.data, right.data, bytes) == 0;
        vf_volume_free(&out);
    }
    vf_volume_free(&right);
    vf_volume_free(&in);
    return same;
}
