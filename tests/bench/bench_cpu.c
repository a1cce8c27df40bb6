/* `make bench-cpu`: how fast the filters are on this processor, beside a copy of the same array in the same
 * run. NOTES.md says what the columns mean. */
#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench_limits.h"
#include "bench_tables.h"
#include "caches.h"
#include "kernels/cpu_rows.h"
#include "number.h"

const char bench_usage[] =
    "Usage: bench-cpu [--rows TEXT] [--threads N] [--repeats N] [--seconds S] [--volume NXxNYxNZ] [--image "
    "NXxNY]\n"
    "                 [--tables filters,stages,threads]\n"
    "TEXT is part of a row's \"3D float32 CHAIN\": --rows 2D, --rows '3D float32 perona'.\n"
    "Volumes are of 256x256x256 voxels, images of 8192x8192 pixels, where nothing else is asked for; each "
    "row\n"
    "is run for a second or N times, by as many threads as there are processors.\n";

/* `count` whole numbers above 0, joined by x. */
static void read_extents(const char *option, const char *text, ptrdiff_t **to, int count)
{
    const char *at = text;
    for (int i = 0; i < count; i++) {
        long value = 0;
        at = vf_number_read_whole(at, &value);
        if (at == NULL || value < 1 || *at != (i == count - 1 ? '\0' : 'x'))
            bench_refuse(option, text);
        *to[i] = value;
        at++;
    }
}

enum {
    ROWS = 'r',
    THREADS = 't',
    REPEATS = 'n',
    SECONDS = 's',
    VOLUME = 'v',
    IMAGE = 'i',
    TABLES = 'T',
    HELP = 'h'
};

/* Words of `tables`, joined by commas. */
static void check_tables(const char *text)
{
    static const char *const known[] = {"filters", "stages", "threads"};
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found = found || (strlen(known[i]) == length && strncmp(at, known[i], length) == 0);
        if (!found)
            bench_refuse("tables", text);
        at += length;
        if (*at == '\0')
            return;
    }
}

static void read_options(int argc, char **argv, struct bench_options *o, const char **tables)
{
    static const struct option names[] = {
        {"rows", 1, NULL, ROWS},       {"threads", 1, NULL, THREADS}, {"repeats", 1, NULL, REPEATS},
        {"seconds", 1, NULL, SECONDS}, {"volume", 1, NULL, VOLUME},   {"image", 1, NULL, IMAGE},
        {"tables", 1, NULL, TABLES},   {"help", 0, NULL, HELP},       {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case ROWS:
            o->rows = optarg;
            break;
        case THREADS:
            o->threads = bench_read_count("threads", optarg, 4096);
            break;
        case REPEATS:
            o->repeats = bench_read_count("repeats", optarg, 4096);
            break;
        case SECONDS:
            o->seconds = bench_read_seconds("seconds", optarg);
            break;
        case VOLUME:
            read_extents("volume", optarg, (ptrdiff_t *[]){&o->volume.nx, &o->volume.ny, &o->volume.nz}, 3);
            break;
        case IMAGE:
            read_extents("image", optarg, (ptrdiff_t *[]){&o->image.nx, &o->image.ny}, 2);
            break;
        case TABLES:
            check_tables(optarg);
            *tables = optarg;
            break;
        default:
            fputs(bench_usage, c == HELP ? stdout : stderr);
            exit(c == HELP ? 0 : 2);
        }
    if (optind < argc) {
        fprintf(stderr, "bench-cpu: %s?\n%s", argv[optind], bench_usage);
        exit(2);
    }
}

/* ---- the machine ---- */

/* As the kernel names it. */
static void processor_name(char *name, size_t room)
{
    char line[256];
    struct utsname system;
    snprintf(name, room, "%s", uname(&system) == 0 ? system.machine : "?");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || value == NULL)
            continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(name, room, "%s", value + 2);
        break;
    }
    if (file != NULL)
        fclose(file);
}

static void print_copies(struct bench_grid grid, int threads)
{
    struct vf_volume from = bench_input(grid, VF_F32, threads), to = bench_input(grid, VF_F32, threads);
    size_t bytes = 0;
    vf_volume_bytes(from.type, &from.shape, &bytes);
    printf("copy of %.0f MiB, bytes read and written:", (double)bytes / (1 << 20));
    for (int kind = 0; kind < BENCH_COPY_COUNT; kind++) {
        double least = 0;
        for (int i = 0; i < 9; i++) {
            double seconds = bench_copy((enum bench_copy)kind, to.data, from.data, bytes, threads);
            least = i == 0 || seconds < least ? seconds : least;
        }
        printf("%s %s %.1f GB/s", kind > 0 ? "," : "", bench_copy_name[kind], 2e-9 * (double)bytes / least);
    }
    printf("\n");
    vf_volume_free(&from);
    vf_volume_free(&to);
}

static void print_machine(const struct bench_options *o)
{
    char name[256];
    processor_name(name, sizeof name);
    const double kib = 1024;
    const struct vf_caches caches = vf_caches();
    double load = 0;
    if (getloadavg(&load, 1) == 1)
        printf("load average before the start: %.2f (what others ran in the last minute is noise below)\n",
               load);
    printf("processor %s, L2 %.0f KiB, L3 %.0f KiB; %d thread%s of %ld; vector level %s; compiled by %s %s\n",
           name, (double)caches.near / kib, (double)caches.far / kib, o->threads, o->threads == 1 ? "" : "s",
           sysconf(_SC_NPROCESSORS_ONLN), vf_rows_level(),
#ifdef __clang__
           "clang",
#else
           "gcc",
#endif
           __VERSION__);
    print_copies(o->volume, o->threads);
    print_copies(o->image, o->threads);
    if (o->fma_gflops > 0)
        printf("fused multiply-add, float32: %.0f GFLOP/s\n", o->fma_gflops);
}

int main(int argc, char **argv)
{
    struct bench_options options = {
        .threads = omp_get_max_threads(), .seconds = 1, .volume = {256, 256, 256}, .image = {8192, 8192, 1}};
    const char *tables = "filters,stages,threads";
    read_options(argc, argv, &options, &tables);
    options.fma_gflops = bench_fma_gflops(options.threads);
    print_machine(&options);
    if (!bench_check(&options))
        return 1;
    if (strstr(tables, "filters") != NULL)
        bench_filters(&options);
    if (strstr(tables, "stages") != NULL)
        bench_stages(&options);
    if (strstr(tables, "threads") != NULL)
        bench_scaling(&options);
    return 0;
}
