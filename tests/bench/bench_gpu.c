/* `make bench-gpu`: how fast stencils and filters are on the GPU, scheme by scheme, beside a copy of the same
 * arrays in the same run. NOTES.md says what the columns mean. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_gpu_compile.h"
#include "bench_gpu_model.h"
#include "bench_gpu_planned.h"
#include "bench_gpu_rows.h"
#include "clock.h"

const char bench_usage[] =
    "Usage: bench-gpu [--list] [--only NAME[,..]] [--scheme SCHEME] [--size tiny|small|main|full] [--repeat "
    "N]\n"
    "                 [--tries N] [--budget SECONDS] [--json FILE] [--model] [--plans] [--cubins FOLDER]\n"
    "\n"
    "  --list           the stencils and filters\n"
    "  --only NAMES     these alone; a name ending in * stands for all that begin so\n"
    "  --scheme SCHEME  as volfilter --scheme, or plan; without it every scheme, and the plan's own choice\n"
    "  --size SIZE      tiny grids for a fast check; of each item the smallest grid; the one that published\n"
    "                   figures are of; all (full)\n"
    "  --repeat N       timed samples of a row, of which the median is taken; 20\n"
    "  --tries N        configurations of each scheme that are measured, 1 to 8; the best one is the row; 1\n"
    "  --budget SECONDS begin no other item after this time; 460\n"
    "  --json FILE      the rows as JSON\n"
    "  --model          every configuration of gx, gy, gz, st, fdd5 and fdd7 (or of --only), and how well "
    "the\n"
    "                   model tells the fast ones\n"
    "  --plans          measure nothing: print each row's kernels as planned for an H200; needs no device\n"
    "  --cubins FOLDER  the same, and write their machine code there; needs NVRTC\n";

struct request {
    struct bench_gpu_options options;
    const char *size, *json, *cubins;
    int repeats;
    double budget;
    bool list, model, plans;
};

#define MODEL_ITEMS "gx-r4,gy-r4,gz-r4,st,fdd5,fdd7"

static const char *read_size(const char *text)
{
    static const char *const sizes[] = {"tiny", "small", "main", "full"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i], text) == 0)
            return text;
    bench_refuse("size", text);
}

static void read_options(int argc, char **argv, struct request *r)
{
    enum { LIST, ONLY, SCHEME, SIZE, REPEAT, TRIES, BUDGET, JSON, MODEL, PLANS, CUBINS, HELP };
    static const struct option names[] = {
        {"list", 0, NULL, LIST},     {"only", 1, NULL, ONLY},     {"scheme", 1, NULL, SCHEME},
        {"size", 1, NULL, SIZE},     {"repeat", 1, NULL, REPEAT}, {"tries", 1, NULL, TRIES},
        {"budget", 1, NULL, BUDGET}, {"json", 1, NULL, JSON},     {"model", 0, NULL, MODEL},
        {"plans", 0, NULL, PLANS},   {"cubins", 1, NULL, CUBINS}, {"help", 0, NULL, HELP},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case LIST:
            r->list = true;
            break;
        case ONLY:
            r->options.only = optarg;
            break;
        case SCHEME:
            r->options.scheme = optarg;
            break;
        case SIZE:
            r->size = read_size(optarg);
            break;
        case REPEAT:
            r->repeats = bench_read_count("repeat", optarg, 1000);
            break;
        case TRIES:
            r->options.tries = bench_read_count("tries", optarg, 8);
            break;
        case BUDGET:
            r->budget = bench_read_seconds("budget", optarg);
            break;
        case JSON:
            r->json = optarg;
            break;
        case MODEL:
            r->model = true;
            break;
        case PLANS:
            r->plans = true;
            break;
        case CUBINS:
            r->plans = true;
            r->cubins = optarg;
            break;
        default:
            fputs(bench_usage, c == HELP ? stdout : stderr);
            exit(c == HELP ? 0 : 2);
        }
    if (optind < argc)
        bench_refuse("only", argv[optind]);
    if (r->model && r->options.only == NULL)
        r->options.only = MODEL_ITEMS;
}

/* Whether the item is one of the names that were given. */
static bool is_chosen(const struct request *r, const struct bench_item *item)
{
    for (const char *at = r->options.only; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t length = strcspn(at, ",");
        const bool open = length > 0 && at[length - 1] == '*';
        if (strncmp(at, item->name, open ? length - 1 : length) == 0 &&
            (open || strlen(item->name) == length))
            return true;
    }
    return r->options.only == NULL;
}

static int grid_count(const struct request *r, const struct bench_item *item)
{
    int count = 0;
    while (count < BENCH_GRIDS && item->grid[count].nx > 0)
        count++;
    return strcmp(r->size, "full") == 0 ? count : 1;
}

static struct bench_grid grid_of(const struct request *r, const struct bench_item *item, int i)
{
    if (strcmp(r->size, "tiny") == 0)
        return item->dim == 3 ? (struct bench_grid){69, 35, 19} : (struct bench_grid){209, 69, 1};
    return item->grid[strcmp(r->size, "main") == 0 ? item->main_grid : i];
}

static void print_list(void)
{
    for (int i = 0; i < bench_item_count; i++)
        printf("%-22s %s\n", bench_items[i].name,
               bench_items[i].chain != NULL  ? bench_items[i].chain
               : bench_items[i].note != NULL ? bench_items[i].note
                                             : "");
}

static void print_device(struct bench_device *device)
{
    const struct vf_gpu *gpu = &device->cuda->gpu;
    const size_t bytes = (size_t)1 << (gpu->memory > (size_t)8 << 30 ? 29 : 20);
    printf("%s, %d multiprocessors, L2 %.0f MiB, driver %d.%d; copy of %zu MiB, bytes read and written: %.0f "
           "GB/s; seed %u\n",
           gpu->name, gpu->multiprocessors, (double)gpu->l2 / (1 << 20), device->cuda->driver_version / 1000,
           device->cuda->driver_version % 1000 / 10, bytes >> 20,
           2e-9 * (double)bytes / bench_device_copy(device, bytes), device->seed);
}

/* Calls `work` with each item and grid that was asked for. */
static void each_place(const struct request *r,
                       void (*work)(void *context, const struct bench_item *item, struct bench_grid grid),
                       void *context)
{
    for (int i = 0; i < bench_item_count; i++)
        for (int g = 0; is_chosen(r, &bench_items[i]) && g < grid_count(r, &bench_items[i]); g++)
            work(context, &bench_items[i], grid_of(r, &bench_items[i], g));
}

struct session {
    const struct request *request;
    struct bench_device *device;
    struct vf_kernel_list texts;
    struct bench_tally tally;
    double begin;
    int left; /* items that were not begun when time was up */
};

static void gather(void *context, const struct bench_item *item, struct bench_grid grid)
{
    struct session *s = context;
    if (s->request->model)
        bench_model_gather(item, grid, &s->device->cuda->gpu, &s->texts);
    else
        bench_each_row(item, grid, &s->device->cuda->gpu, s->request->options.scheme, bench_texts_add,
                       &s->texts);
}

struct planning {
    const struct request *request;
    struct bench_planned planned;
};

static void add_planned(void *context, const struct bench_item *item, struct bench_grid grid)
{
    struct planning *p = context;
    bench_each_row(item, grid, &p->planned.gpu, p->request->options.scheme, bench_planned_add, &p->planned);
}

static int print_plans(const struct request *r)
{
    struct planning p = {.request = r};
    bench_planned_open(&p.planned, r->cubins);
    each_place(r, add_planned, &p);
    bench_planned_close(&p.planned);
    return p.planned.count > 0 ? 0 : 1;
}

static void measure(void *context, const struct bench_item *item, struct bench_grid grid)
{
    struct session *s = context;
    const double elapsed = vf_now() - s->begin;
    if (elapsed > s->request->budget) {
        s->left++;
        return;
    }
    fprintf(stderr, "[%.0f s] %s %tdx%tdx%td\n", elapsed, item->name, grid.nx, grid.ny, grid.nz);
    if (s->request->model)
        bench_model_row(s->device, item, grid, s->request->options.json);
    else
        bench_gpu_rows(&s->request->options, s->device, item, grid, &s->tally);
}

static void print_tally(const struct session *s)
{
    const struct bench_tally *tally = &s->tally;
    printf("\n%d rows, %d of them wrong; %.0f s", tally->rows, tally->wrong, vf_now() - s->begin);
    if (tally->plans > 0)
        printf("; the plan's choice is within 1.15 of the best row in %d of %d, at worst %.2f (%s)",
               tally->plans - tally->slow_plans, tally->plans, tally->worst, tally->worst_name);
    printf("\n");
    if (s->left > 0)
        printf("%d items left out: the time was up\n", s->left);
}

static FILE *open_json(const struct request *r, struct vf_json *json, const struct bench_device *device)
{
    FILE *file = fopen(r->json, "w");
    if (file == NULL) {
        perror(r->json);
        exit(1);
    }
    vf_json_open(json, file);
    vf_json_begin_object(json, NULL);
    vf_json_string(json, "device", device->cuda->gpu.name);
    vf_json_integer(json, "seed", device->seed);
    vf_json_begin_array(json, "rows");
    return file;
}

static bool close_json(struct vf_json *json, FILE *file)
{
    vf_json_end(json);
    vf_json_end(json);
    const bool bad = ferror(file) != 0;
    return fclose(file) == 0 && !bad;
}

int main(int argc, char **argv)
{
    struct request r = {.options = {.tries = 1}, .size = "full", .repeats = 20, .budget = 460};
    struct bench_device device;
    struct vf_json json;
    FILE *file = NULL;
    read_options(argc, argv, &r);
    if (r.list) {
        print_list();
        return 0;
    }
    if (r.plans)
        return print_plans(&r);
    bench_device_open(&device, r.repeats);
    if (r.json != NULL) {
        file = open_json(&r, &json, &device);
        r.options.json = &json;
    }
    struct session s = {.request = &r, .device = &device, .begin = vf_now()};
    print_device(&device);
    each_place(&r, gather, &s);
    bench_texts_compile(&s.texts, device.cuda);
    if (r.model)
        bench_model_head();
    else
        bench_gpu_head();
    each_place(&r, measure, &s);
    if (!r.model)
        print_tally(&s);
    const bool written = file == NULL || close_json(&json, file);
    bench_device_close(&device);
    return written && s.tally.wrong == 0 && (r.model || s.tally.rows > 0) ? 0 : 1;
}
