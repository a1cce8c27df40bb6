#include "bench_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_limits.h"

struct row {
    const char *chain;
    enum vf_type type;
    bool scaling; /* also in the table of threads */
};

/* Planes of weights need a stack. */
static const char deep[] = "convolve:tests/weights/5x5x5.txt";

static const struct row rows[] = {
    {"gaussian", VF_F32, true},
    {"gaussian:sigma=2", VF_F32, false},
    {"gaussian:sigma=4", VF_F32, true},
    {"mean", VF_F32, false},
    {"mean:radius=4", VF_F32, false},
    {"unsharp", VF_F32, false},
    {"median", VF_F32, true},
    {"median:radius=2", VF_F32, false},
    {"gradient", VF_F32, true},
    {"laplacian", VF_F32, true},
    {"dog", VF_F32, false},
    {"structure-tensor", VF_F32, false},
    {"structure-tensor:output=coherence", VF_F32, true},
    {"hessian", VF_F32, true},
    {"hessian:sigma=0", VF_F32, false},
    {"hessian:output=components", VF_F32, false},
    {"perona-malik", VF_F32, true},
    {"perona-malik:conductance=quadratic", VF_F32, true},
    {"perona-malik:iterations=1", VF_F32, false},
    {"perona-malik:iterations=1:conductance=quadratic", VF_F32, false},
    {"eed", VF_F32, false},
    {"eed:iterations=1", VF_F32, true},
    {"ced", VF_F32, false},
    {"ced:iterations=1", VF_F32, false},
    {"and", VF_F32, false},
    {"and:iterations=1", VF_F32, true},
    {"srad", VF_F32, true},
    {"gaussian:sigma=0.5,gradient,gaussian:sigma=0.5", VF_F32, false},
    {"convolve:tests/weights/5x3.txt", VF_F32, false},
    {"convolve:tests/weights/11x11.txt", VF_F32, false},
    {deep, VF_F32, false},
    {"gaussian", VF_U16, false},
    {"gaussian", VF_U8, false},
    {"gaussian:sigma=2", VF_U8, false},
    {"median", VF_U8, false},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bool is_chosen(const struct bench_options *options, const struct row *row, struct bench_grid grid)
{
    char text[128];
    snprintf(text, sizeof text, "%dD %s %s", grid.nz > 1 ? 3 : 2, vf_type_name(row->type), row->chain);
    return (row->chain != deep || grid.nz > 1) &&
           (options->rows == NULL || strstr(text, options->rows) != NULL);
}

bool bench_check(const struct bench_options *options)
{
    static const struct bench_grid volume = {53, 31, 27}, image = {149, 83, 1};
    bool right = true;
    int checked = 0;
    for (int i = 0; i < 2 * ROWS; i++) {
        const struct bench_grid grid = i < ROWS ? volume : image;
        const struct row *row = &rows[i % ROWS];
        if (!is_chosen(options, row, grid))
            continue;
        checked++;
        if (bench_case_is_right(row->chain, grid, row->type, options->threads))
            continue;
        right = false;
        fprintf(stderr, "bench-cpu: %s on %tdx%tdx%td %s differs from the reference\n", row->chain, grid.nx,
                grid.ny, grid.nz, vf_type_name(row->type));
    }
    if (checked == 0)
        bench_refuse("rows", options->rows);
    if (right)
        printf("%d rows checked on %tdx%tdx%td and %tdx%td: the reference's result, bit for bit\n", checked,
               volume.nx, volume.ny, volume.nz, image.nx, image.ny);
    return right;
}

/* ---- measuring ---- */

#define MOST_SAMPLES 64

/* Times of the same work, done again and again. Others use the machine too, so executions whose threads did
 * not have their processors to themselves count only where there are no others. */
struct samples {
    int count, kept;
    struct sample {
        double seconds, busy; /* busy: the share of the time that the threads had processors */
    } sample[MOST_SAMPLES];
    double median, best, busy; /* of those kept, once summed up */
};

/* Busier ones are undisturbed. */
#define UNDISTURBED 0.9

static void add_sample(struct samples *s, double seconds, double processor_time, int threads)
{
    if (s->count < MOST_SAMPLES)
        s->sample[s->count++] = (struct sample){seconds, processor_time / (seconds * threads)};
}

static int by_seconds(const void *a, const void *b)
{
    const double x = ((const struct sample *)a)->seconds, y = ((const struct sample *)b)->seconds;
    return (x > y) - (x < y);
}

static void sum_up(struct samples *s)
{
    struct sample kept[MOST_SAMPLES];
    for (int i = 0; i < s->count; i++)
        if (s->sample[i].busy >= UNDISTURBED)
            kept[s->kept++] = s->sample[i];
    if (s->kept == 0) {
        s->kept = s->count;
        memcpy(kept, s->sample, sizeof kept);
    }
    qsort(kept, (size_t)s->kept, sizeof kept[0], by_seconds);
    s->best = kept[0].seconds;
    s->median = 0.5 * (kept[(s->kept - 1) / 2].seconds + kept[s->kept / 2].seconds);
    for (int i = 0; i < s->kept; i++)
        s->busy += kept[i].busy / s->kept;
}

/* How often to execute what took `once` the first time: an odd number, so that the median is one of them. */
static int repeats_of(const struct bench_options *options, double once)
{
    if (options->repeats > 0)
        return options->repeats < MOST_SAMPLES ? options->repeats : MOST_SAMPLES;
    double fit = options->seconds / once;
    return fit < 4 ? 3 : fit > 11 ? 11 : (int)fit | 1;
}

struct copies {
    struct samples kind[BENCH_COPY_COUNT];
};

/* A copy is over before another program takes its turn, a filter is not: so many copies make one sample, the
 * mean of them, that both are disturbed alike. */
#define COPIES_SECONDS 0.02

/* Copies of the input beside every execution, since the machine's speed drifts. */
static void add_copies(struct copies *copies, const struct bench_case *c, void *to, const void *from)
{
    const size_t bytes = (size_t)c->voxels * vf_type_size(c->type);
    const int threads = c->plan.threads;
    for (int kind = 0; kind < BENCH_COPY_COUNT; kind++) {
        const double before = bench_processor_time();
        double seconds = 0;
        int count = 0;
        for (; seconds < COPIES_SECONDS; count++)
            seconds += bench_copy((enum bench_copy)kind, to, from, bytes, threads);
        add_sample(&copies->kind[kind], seconds / count, (bench_processor_time() - before) / count, threads);
    }
}

static void sum_up_copies(struct copies *copies)
{
    for (int kind = 0; kind < BENCH_COPY_COUNT; kind++)
        sum_up(&copies->kind[kind]);
}

static enum bench_copy faster_copy(const struct copies *copies)
{
    return copies->kind[BENCH_COPY_STREAMING].median < copies->kind[BENCH_COPY_PLAIN].median
               ? BENCH_COPY_STREAMING
               : BENCH_COPY_PLAIN;
}

static double copy_seconds(const struct copies *copies)
{
    return copies->kind[faster_copy(copies)].median;
}

/* All times of one case. */
struct timing {
    double cold;          /* the first execution: its result goes into memory never touched */
    struct samples later; /* summed up */
    struct copies copies;
};

static struct timing measure(const struct bench_options *options, const struct bench_case *c,
                             const struct vf_volume *in)
{
    struct vf_volume out = bench_result(c);
    struct timing t = {.cold = bench_case_run(c, in, &out)};
    for (int i = repeats_of(options, t.cold); i > 0; i--) {
        const double before = bench_processor_time(), seconds = bench_case_run(c, in, &out);
        add_sample(&t.later, seconds, bench_processor_time() - before, c->plan.threads);
        /* The result is no narrower than the input: there is room. */
        add_copies(&t.copies, c, out.data, in->data);
    }
    sum_up(&t.later);
    sum_up_copies(&t.copies);
    vf_volume_free(&out);
    return t;
}

/* The input of a row, kept from row to row of one type. */
static void need_input(struct vf_volume *in, struct bench_grid grid, enum vf_type type, int threads)
{
    if (in->data != NULL && in->type == type)
        return;
    vf_volume_free(in);
    *in = bench_input(grid, type, threads);
}

static void print_grid(struct bench_grid grid)
{
    printf("\n%tdx%td", grid.nx, grid.ny);
    if (grid.nz > 1)
        printf("x%td", grid.nz);
    printf("\n");
}

/* ---- the filters ---- */

static void filter_head(struct bench_grid grid)
{
    print_grid(grid);
    printf("%-48s %-7s %8s %8s %8s %5s %5s %9s %7s %5s %6s %8s %6s %6s %4s %7s %9s\n", "chain", "type",
           "median", "best", "cold", "busy", "of", "copy", "copies", "sums", "limit", "predict", "B/vox",
           "GB/s", "runs", "work M", "between M");
}

/* What nothing can be faster than: a copy of the input, and the multiply-adds of weighted sums. */
static double limit_seconds(const struct bench_options *options, const struct bench_case *c, double copy)
{
    const double sums = options->fma_gflops > 0 ? 2e-9 * c->sums * c->voxels / options->fma_gflops : 0;
    return sums > copy ? sums : copy;
}

static void filter_row(const struct bench_options *options, const struct row *row, struct bench_grid grid,
                       struct vf_volume *in)
{
    const double mib = 1 << 20;
    struct bench_case c;
    bench_case_open(&c, row->chain, grid, row->type, options->threads, NULL);
    need_input(in, grid, row->type, options->threads);
    const struct timing t = measure(options, &c, in);
    const double ns = 1e9 / c.voxels, copy = copy_seconds(&t.copies);
    printf("%-48s %-7s %8.3f %8.3f %8.3f %4.0f%% %2d/%-2d %6.3f %2s %7.2f %5.0f %5.0f%% %8.3f %6.1f %6.2f "
           "%4d %7.1f %9.1f\n",
           row->chain, vf_type_name(row->type), t.later.median * ns, t.later.best * ns, t.cold * ns,
           100 * t.later.busy, t.later.kept, t.later.count, copy * ns,
           faster_copy(&t.copies) == BENCH_COPY_STREAMING ? "nt" : "mc", t.later.median / copy, c.sums,
           100 * limit_seconds(options, &c, copy) / t.later.median, c.predicted * ns,
           c.bytes_moved / c.voxels, 1e-9 * c.bytes_moved / t.later.median, c.plan.run_count,
           (double)c.plan.work_bytes / mib, (double)c.plan.between_bytes / mib);
    fflush(stdout);
    bench_case_close(&c);
}

void bench_filters(const struct bench_options *options)
{
    const struct bench_grid grids[] = {options->volume, options->image};
    printf(
        "\nFilters. Nanoseconds a voxel; copies: the median over the copy, a copy of the input in the "
        "same row\n"
        "(nt: by non-temporal stores, mc: by memcpy, whichever was faster); sums: multiply-adds of weighted\n"
        "sums a voxel; limit: the larger of the copy and of what these take at the rate above, over the "
        "median.\n");
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        struct vf_volume in = {.data = NULL};
        bool first = true;
        for (int i = 0; i < ROWS; i++) {
            if (!is_chosen(options, &rows[i], grids[g]))
                continue;
            if (first)
                filter_head(grids[g]);
            first = false;
            filter_row(options, &rows[i], grids[g], &in);
        }
        vf_volume_free(&in);
    }
}

/* ---- growing chains ---- */

#define SHORT_FILTER "gaussian:sigma=0.5"
#define MOST_LINKS 8

/* SHORT_FILTER, `links` times. */
static void write_chain(char *text, size_t room, int links)
{
    size_t used = 0;
    for (int i = 0; i < links; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? "," : "", SHORT_FILTER);
}

/* The same chain as so many executions of one filter, from volume to volume; the last one writes `last`. */
static double run_apart(const struct bench_case *one, int links, const struct vf_volume *in,
                        struct vf_volume *last, struct vf_volume *other)
{
    const struct vf_volume *from = in;
    double seconds = 0;
    for (int i = 0; i < links; i++) {
        struct vf_volume *to = (links - 1 - i) % 2 == 0 ? last : other;
        seconds += bench_case_run(one, from, to);
        from = to;
    }
    return seconds;
}

/* One chain both ways. */
struct both {
    struct samples chain, apart;
    struct copies copies;
};

static struct both measure_both(const struct bench_options *options, const struct bench_case *chain,
                                const struct bench_case *one, int links, const struct vf_volume *in)
{
    struct both b = {.chain = {.count = 0}};
    struct vf_volume out = bench_result(chain), last = bench_result(one), other = bench_result(one);
    const double once = bench_case_run(chain, in, &out) + run_apart(one, links, in, &last, &other);
    if (memcmp(out.data, last.data, (size_t)one->voxels * vf_type_size(one->result_type)) != 0) {
        fprintf(stderr, "bench-cpu: %d filters in one sweep differ from the same ones apart\n", links);
        exit(1);
    }
    for (int i = repeats_of(options, once); i > 0; i--) {
        double start = bench_processor_time(), seconds = bench_case_run(chain, in, &out);
        add_sample(&b.chain, seconds, bench_processor_time() - start, options->threads);
        start = bench_processor_time();
        seconds = run_apart(one, links, in, &last, &other);
        add_sample(&b.apart, seconds, bench_processor_time() - start, options->threads);
        add_copies(&b.copies, one, other.data, in->data);
    }
    sum_up(&b.chain);
    sum_up(&b.apart);
    sum_up_copies(&b.copies);
    vf_volume_free(&out);
    vf_volume_free(&last);
    vf_volume_free(&other);
    return b;
}

static void stages_row(const struct bench_options *options, const struct bench_case *one, int links,
                       const struct vf_volume *in)
{
    char text[MOST_LINKS * sizeof SHORT_FILTER] = "";
    struct bench_case chain;
    write_chain(text, sizeof text, links);
    bench_case_open(&chain, text, one->grid, one->type, options->threads, NULL);
    const struct both b = measure_both(options, &chain, one, links, in);
    const double ns = 1e9 / one->voxels, copy = copy_seconds(&b.copies);
    int stages = 0;
    for (int r = 0; r < chain.plan.run_count; r++)
        stages += chain.plan.run[r].stage_count;
    printf("%7d %6d %5d %8.3f %8.2f %6.1f %10.3f %8.2f %6.1f %7.2f %4.0f%% %4.0f%%\n", links, stages,
           chain.plan.run_count, b.chain.median * ns, b.chain.median / copy, chain.bytes_moved / one->voxels,
           b.apart.median * ns, b.apart.median / copy, links * one->bytes_moved / one->voxels,
           b.apart.median / b.chain.median, 100 * b.chain.busy, 100 * b.apart.busy);
    fflush(stdout);
    bench_case_close(&chain);
}

void bench_stages(const struct bench_options *options)
{
    const struct bench_grid grids[] = {options->volume, options->image};
    printf("\nStages. %s so many times, float32: as one chain, and filter by filter from volume to volume.\n"
           "The results of both are compared.\n",
           SHORT_FILTER);
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        struct bench_case one;
        struct vf_volume in = bench_input(grids[g], VF_F32, options->threads);
        bench_case_open(&one, SHORT_FILTER, grids[g], VF_F32, options->threads, NULL);
        print_grid(grids[g]);
        printf("%7s %6s %5s %8s %8s %6s %10s %8s %6s %7s %5s %5s\n", "filters", "stages", "runs", "chain",
               "copies", "B/vox", "apart", "copies", "B/vox", "ratio", "busy", "busy");
        for (int links = 1; links <= MOST_LINKS; links *= 2)
            stages_row(options, &one, links, &in);
        bench_case_close(&one);
        vf_volume_free(&in);
    }
}

/* ---- threads ---- */

static void scaling_row(const struct bench_options *options, const struct row *row, struct bench_grid grid,
                        struct vf_volume *in)
{
    const int threads[2] = {1, options->threads};
    const double ns = 1e9 / (double)(grid.nx * grid.ny * grid.nz);
    struct timing t[2];
    need_input(in, grid, row->type, options->threads);
    for (int i = 0; i < 2; i++) {
        struct bench_case c;
        bench_case_open(&c, row->chain, grid, row->type, threads[i], NULL);
        t[i] = measure(options, &c, in);
        bench_case_close(&c);
    }
    const double one = t[0].later.median, all = t[1].later.median;
    const double copy_one = copy_seconds(&t[0].copies), copy_all = copy_seconds(&t[1].copies);
    printf("%-36s %8.3f %8.3f %7.2f %7.2f %8.1f %8.1f %5.0f%% %5.0f%%\n", row->chain, one * ns, all * ns,
           one / all, copy_one / copy_all, one / copy_one, all / copy_all, 100 * t[0].later.busy,
           100 * t[1].later.busy);
    fflush(stdout);
}

void bench_scaling(const struct bench_options *options)
{
    const struct bench_grid grid = options->volume;
    struct vf_volume in = {.data = NULL};
    bool first = true;
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i].scaling || !is_chosen(options, &rows[i], grid))
            continue;
        if (first) {
            printf("\nThreads. One against %d; gain: how much faster, and the copy's.\n", options->threads);
            print_grid(grid);
            printf("%-36s %8s %8s %7s %7s %8s %8s %6s %6s\n", "chain", "one", "all", "gain", "copy's",
                   "copies 1", "copies", "busy 1", "busy");
        }
        first = false;
        scaling_row(options, &rows[i], grid, &in);
    }
    vf_volume_free(&in);
}
