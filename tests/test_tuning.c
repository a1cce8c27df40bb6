/* What was measured of kernels: its text, and that plans take it. No device is needed. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_samples.h"
#include "model_gpu.h"
#include "nvrtc.h"
#include "plan.h"
#include "tuning.h"

#define GRADIENT "3D single nearest 64x64x64 uint16 -> gradient_magnitude(0)1 -> float32 1"
#define WORDS "global-read:variant=grid-span:block=32x2x1:work=4x1x1:grid=full:virtual=0:interior=1"

#define WITH_FIGURES "\t132SM,1980MHz,50MiB,4190GB/s" /* of the H200 */

/* Copies take 1.4 times as long on it, arithmetic as long. */
static struct vf_gpu h100_tuned_by(const struct vf_tuning *tuning)
{
    struct vf_gpu gpu = h200;
    strcpy(gpu.name, "NVIDIA H100");
    gpu.bandwidth = 2.99e12;
    gpu.tuning = tuning;
    return gpu;
}

/* How many kernels a chain's last run has on so many voxels of uint16; the first of them. */
static int plan_last_run(const struct vf_gpu *gpu, const char *text, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                         struct vf_launch *launch)
{
    struct vf_chain chain = {0};
    struct vf_plan plan;
    struct vf_error error = {.text = ""};
    const struct vf_plan_request request = {.chain = &chain,
                                            .context = {.dim = 3, .aspect = {1, 1, 1}},
                                            .nx = nx,
                                            .ny = ny,
                                            .nz = nz,
                                            .batch = 1,
                                            .threads = 1,
                                            .gpu = gpu,
                                            .source_type = VF_U16,
                                            .result_type = VF_F32};
    cr_assert_eq(vf_chain_append(&chain, text, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_plan_open(&plan, &request, &error), VF_OK, "%s", error.text);
    const struct vf_gpu_plan *last = &plan.run[plan.run_count - 1].gpu;
    const int kernels = last->launch_count;
    *launch = last->launch[0];
    vf_plan_close(&plan);
    vf_chain_free(&chain);
    return kernels;
}

/* The only kernel of `gradient`. */
static struct vf_launch plan_gradient_of(const struct vf_gpu *gpu, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz)
{
    struct vf_launch launch;
    cr_assert_eq(plan_last_run(gpu, "gradient", nx, ny, nz, &launch), 1);
    return launch;
}

static struct vf_launch plan_gradient(const struct vf_gpu *gpu)
{
    return plan_gradient_of(gpu, 70, 60, 50);
}

static struct vf_tuning read_lines(const char *lines, bool shipped)
{
    struct vf_tuning tuning = {0};
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_tuning_read(&tuning, lines, shipped, &error), VF_OK, "%s", error.text);
    return tuning;
}

Test(tuning, plans_take_what_was_measured)
{
    struct vf_gpu gpu = h200;
    struct vf_tuning tuning = read_lines("NVIDIA H200\t" GRADIENT "\t" WORDS "\t1.5\n", false);
    cr_assert_eq(tuning.count, 1);
    cr_expect_not(plan_gradient(&gpu).choice.tuned);
    gpu.tuning = &tuning;
    const struct vf_launch launch = plan_gradient(&gpu);
    cr_expect(launch.choice.tuned);
    cr_expect_str_eq(launch.choice.scheme->name, "global-read");
    cr_expect_eq(launch.choice.config.block[1], 2);
    cr_expect_eq(launch.choice.config.work[0], 4);
    cr_expect_float_eq(launch.choice.seconds, 1.5 * 70 * 60 * 50 * 6 / gpu.bandwidth, 1e-12);
    vf_tuning_free(&tuning);
}

/* Chunks that do not suit the grid at hand are not kept, others are; the shape is. */
Test(tuning, chunks)
{
#define STREAMED \
    "register-stream:variant=direct:block=32x4x1:work=4x1x1:stream=%d:grid=full:virtual=0:interior=0"
    int stream = 50; /* of 50 planes: 15 blocks */
    for (int round = 0; round < 2; round++) {
        char line[300];
        snprintf(line, sizeof line, "sm_90\t" GRADIENT "\t" STREAMED "\t1.5\n", stream);
        struct vf_gpu gpu = h200;
        struct vf_tuning tuning = read_lines(line, true);
        gpu.tuning = &tuning;
        const struct vf_launch launch = plan_gradient(&gpu);
        cr_expect(launch.choice.tuned);
        cr_expect_str_eq(launch.choice.scheme->name, "register-stream");
        cr_expect_eq(launch.choice.config.block[1], 4);
        if (round == 0)
            cr_expect_lt(launch.choice.config.stream, stream);
        else
            cr_expect_eq(launch.choice.config.stream, stream);
        stream = launch.choice.config.stream;
        vf_tuning_free(&tuning);
    }
}

/* Nor are blocks of one row whose width leaves much of a row idle. */
Test(tuning, widths)
{
    static const struct {
        int nx, width;
    } cases[] = {{512, 128}, {640, 160}, {500, 128}};
    struct vf_gpu gpu = h200;
    struct vf_tuning tuning =
        read_lines("sm_90\t3D single nearest 512x512x512 uint16 -> gradient_magnitude(0)1 -> float32 1\t"
                   "register-stream:variant=shared:block=128x1x1:work=4x4x1:stream=64:grid=full:virtual=0:"
                   "interior=0\t1.5\n",
                   true);
    gpu.tuning = &tuning;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct vf_launch launch = plan_gradient_of(&gpu, cases[i].nx, 480, 480);
        cr_expect(launch.choice.tuned);
        cr_expect_eq(launch.choice.config.block[0], cases[i].width, "%d: %d", cases[i].nx,
                     launch.choice.config.block[0]);
        cr_expect_eq(launch.choice.config.block[1], 1);
        cr_expect_eq(launch.choice.config.work[1], 4);
    }
    vf_tuning_free(&tuning);
}

/* What was measured on this very grid, or one of as many tiles, stays as it is; on others its chunks are
 * those that suit. */
Test(tuning, its_own_grid)
{
    for (int shipped = 0; shipped <= 1; shipped++) {
        struct vf_gpu gpu = h200;
        struct vf_tuning tuning =
            read_lines("sm_90\t" GRADIENT "\t"
                       "register-stream:variant=direct:block=32x4x1:work=4x1x1:stream=64:grid=full:virtual=0:"
                       "interior=0\t1.5\n",
                       shipped);
        gpu.tuning = &tuning;
        for (int more = -1; more <= 1; more++) {
            const struct vf_launch launch = plan_gradient_of(&gpu, 64, 64, 64 + more);
            cr_expect(launch.choice.tuned);
            cr_expect_eq(launch.choice.its_grid, more == 0);
            cr_expect_eq(launch.choice.config.block[1], 4);
            cr_expect(more <= 0 ? launch.choice.config.stream == 64 : launch.choice.config.stream < 64);
        }
        vf_tuning_free(&tuning);
    }
}

/* What won on another grid and with another boundary is preferred where the grid suits it as well: rows of
 * 256 packs do not, which 70 voxels leave idle. Other stages and types do not count. */
Test(tuning, shapes_that_won_elsewhere)
{
#define ELSEWHERE "3D single mirror 512x512x256 uint16 -> gradient_magnitude(0)1 -> float32 1"
#define SHAPE(block) \
    "global-read:variant=grid-span:block=" block "x1:work=4x1x1:grid=full:virtual=0:interior=1"
    static const struct {
        const char *line;
        bool is_taken;
    } cases[] = {
        {"sm_90\t" ELSEWHERE "\t" SHAPE("16x8") "\t1.5\n", true},
        {"sm_90\t3D single nearest 1024x512x256 uint16 -> gradient_magnitude(0)1 -> float32 1\t" SHAPE(
             "256x1") "\t1.5\n",
         false},
        {"sm_80\t" ELSEWHERE "\t" SHAPE("16x8") "\t1.5\n", false},
        {"sm_90\t" ELSEWHERE ",2\t" SHAPE("16x8") "\t1.5\n", false},
        {"sm_90\t3D double mirror 512x512x256 uint16 -> gradient_magnitude(0)1 -> float32 1\t" SHAPE(
             "16x8") "\t1.5\n",
         false},
    };
    const int usual = plan_gradient(&h200).choice.config.block[1];
    cr_assert_neq(usual, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_gpu gpu = h200;
        struct vf_tuning tuning = read_lines(cases[i].line, true);
        gpu.tuning = &tuning;
        const struct vf_launch launch = plan_gradient(&gpu);
        cr_expect_eq(launch.choice.config.block[1], cases[i].is_taken ? 8 : usual, "%zu", i);
        cr_expect_not(launch.choice.tuned);
        vf_tuning_free(&tuning);
    }
}

/* Of several grids the nearest one's shape is taken, whoever measured it, unless it does not suit; and of
 * integers with the other sign, where there is none of its own. */
Test(tuning, nearest_grid)
{
#define CASE(grid) "3D single nearest " grid " uint16 -> gradient_magnitude(0)1 -> float32 1"
#define LINE(device, grid, block) device "\t" CASE(grid) "\t" SHAPE(block) "\t1.5\n"
#define OTHER(boundary)                \
    "NVIDIA H200\t3D single " boundary \
    " 70x60x50 uint16 -> gradient_magnitude(0)1 -> float32 1\t" SHAPE("32x4") "\t1.5\n"
#define OF(type, block)                       \
    "sm_90\t3D single nearest 70x60x50 " type \
    " -> gradient_magnitude(0)1 -> float32 1\t" SHAPE(block) "\t1.5\n"
    static const struct {
        const char *own, *shipped;
        int rows; /* of the block that is taken */
        bool tuned, its_grid;
    } cases[] = {
        {"", LINE("sm_90", "1024x512x256", "256x1") LINE("sm_90", "64x64x64", "32x2"), 2, true, false},
        {"", LINE("sm_90", "1024x512x256", "16x8") LINE("sm_90", "512x512x256", "256x1"), 8, false, false},
        {"", LINE("sm_90", "64x64x64", "16x8") LINE("sm_90", "70x60x50", "256x1"), 1, true, true},
        {LINE("NVIDIA H200", "70x60x51", "32x4"), LINE("sm_90", "70x60x50", "16x8"), 8, true, true},
        {LINE("NVIDIA H200", "70x60x50", "32x4"), LINE("sm_90", "70x60x50", "16x8"), 4, true, true},
        {OTHER("mirror") OTHER("reflect") OTHER("wrap") OTHER("constant"), LINE("sm_90", "70x60x50", "16x8"),
         8, true, true},
        {LINE("NVIDIA H200", "80x60x50", "32x4"), LINE("sm_90", "72x60x50", "16x8"), 8, true, false},
        {"", OF("int16", "16x8"), 8, true, false},
        {"", OF("int16", "16x8") OF("uint16", "32x4"), 4, true, true},
        {"", OF("int8", "16x8") OF("float32", "16x8") LINE("sm_90", "64x64x64", "32x2"), 2, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_gpu gpu = h200;
        struct vf_error error;
        struct vf_tuning tuning = read_lines(cases[i].own, false);
        cr_assert_eq(vf_tuning_read(&tuning, cases[i].shipped, true, &error), VF_OK);
        gpu.tuning = &tuning;
        const struct vf_launch launch = plan_gradient(&gpu);
        cr_expect_eq(launch.choice.config.block[1], cases[i].rows, "%zu: %d", i,
                     launch.choice.config.block[1]);
        cr_expect_eq(launch.choice.tuned, cases[i].tuned, "%zu", i);
        cr_expect_eq(launch.choice.its_grid, cases[i].its_grid, "%zu", i);
        vf_tuning_free(&tuning);
    }
}

/* A device's own line comes before its architecture's; that of another is not taken. */
Test(tuning, devices)
{
    static const struct {
        const char *lines;
        double copies; /* 0: not tuned */
    } cases[] = {
        {"sm_90\t" GRADIENT "\t" WORDS "\t2\n", 2},
        {"sm_90\t" GRADIENT "\t" WORDS "\t2\nNVIDIA H200\t" GRADIENT "\t" WORDS "\t3\n", 3},
        {"sm_80\t" GRADIENT "\t" WORDS "\t2\nNVIDIA A100\t" GRADIENT "\t" WORDS "\t3\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_gpu gpu = h200;
        struct vf_tuning tuning = read_lines(cases[i].lines, true);
        gpu.tuning = &tuning;
        const struct vf_launch launch = plan_gradient(&gpu);
        cr_expect_eq(launch.choice.tuned, cases[i].copies > 0, "%zu", i);
        if (launch.choice.tuned)
            cr_expect_float_eq(launch.choice.seconds, cases[i].copies * 70 * 60 * 50 * 6 / gpu.bandwidth,
                               1e-12);
        vf_tuning_free(&tuning);
    }
}

/* What was measured on one device takes as much longer on another of its architecture as is predicted: what
 * memory bounds nearly by as much as a copy does, what arithmetic bounds hardly. Without figures it was
 * measured on such a device. */
Test(tuning, carried_to_another_device)
{
#define MEDIAN "3D single nearest 512x512x512 uint16 -> median_3x3x3(0)1 -> float32 1"
#define GRADIENT_512 "3D single nearest 512x512x512 uint16 -> gradient_magnitude(0)1 -> float32 1"
#define DIRECT "register-stream:variant=direct:block=64x2x1:work=%s:stream=64:grid=full:virtual=0:interior=0"
    static const struct {
        const char *chain, *kernel_case, *work, *figures;
        double least, most;
    } cases[] = {
        {"gradient", GRADIENT_512, "8x2x1", WITH_FIGURES, 1.2, 4.19 / 2.99},
        {"gradient", GRADIENT_512, "8x2x1", "", 4.19 / 2.99, 4.19 / 2.99},
        {"median", MEDIAN, "1x1x1", WITH_FIGURES, 1, 1.03},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[400], scheme[200];
        struct vf_launch here, there;
        snprintf(scheme, sizeof scheme, DIRECT, cases[i].work);
        snprintf(line, sizeof line, "sm_90\t%s\t%s\t3%s\n", cases[i].kernel_case, scheme, cases[i].figures);
        struct vf_tuning tuning = read_lines(line, true);
        struct vf_gpu gpu = h200, other = h100_tuned_by(&tuning);
        gpu.tuning = &tuning;
        plan_last_run(&gpu, cases[i].chain, 512, 512, 512, &here);
        plan_last_run(&other, cases[i].chain, 512, 512, 512, &there);
        const double copy = 512.0 * 512 * 512 * 6 / gpu.bandwidth,
                     ratio = there.choice.seconds / here.choice.seconds;
        cr_expect(here.choice.tuned && here.choice.its_grid && there.choice.tuned);
        cr_expect_float_eq(here.choice.seconds, 3 * copy, 1e-12);
        cr_expect(ratio > cases[i].least - 1e-9 && ratio < cases[i].most + 1e-9, "%zu: %g", i, ratio);
        /* `tune` has yet to measure it there. */
        cr_expect_eq(there.choice.its_grid, cases[i].figures[0] == '\0');
        vf_tuning_free(&tuning);
    }
}

/* Plans for another device weigh kernels by what they take there: an iteration of srad in one kernel, which
 * arithmetic bounds, is no longer where memory is slower; in three it is. */
Test(tuning, plans_for_another_device)
{
    struct vf_error error;
    struct vf_cache none = {.path = ""};
    struct vf_tuning tuning;
    struct vf_launch launch;
    cr_assert_eq(vf_tuning_open(&tuning, &none, &error), VF_OK, "%s", error.text);
    const struct vf_gpu gpu = h100_tuned_by(&tuning);
    cr_expect_eq(plan_last_run(&gpu, "srad:iterations=2", 512, 512, 512, &launch), 1);
    cr_expect(launch.choice.tuned);
    vf_tuning_free(&tuning);
}

/* What is damaged, unknown or does not fit the device is passed over. */
Test(tuning, lines_that_do_not_do)
{
    static const char *const lines[] = {
        "",
        "\n\n\t\t\t\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t-1\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\tnan\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1x\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1\t\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1\t132SM,1980MHz,50MiB\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1\t132SM,1980MHz,50MiB,inf GB/s\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1\t132SM,-1980MHz,50MiB,4190GB/s\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1\t1e9SM,1980MHz,50MiB,4190GB/s\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1" WITH_FIGURES "\tmore\n",
        "NVIDIA H200\t" GRADIENT "\tglobal-read\t1\n",
        "NVIDIA H200\t" GRADIENT "\tno-such-scheme:block=32x2x1:work=4x1x1\t1\n",
        "NVIDIA H200\t" GRADIENT "\t" WORDS "," WORDS "\t1\n",
        "NVIDIA H200\t" GRADIENT
        "\tglobal-read:variant=grid-span:block=64x64x1:work=1x1x1:grid=full:virtual=0:interior=1\t1\n",
        "NVIDIA H200\t" GRADIENT
        "\tseparable-stream:block=32x8x1:work=4x1x1:stream=16:grid=full:virtual=0:interior=1\t1\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct vf_gpu gpu = h200;
        struct vf_tuning tuning = read_lines(lines[i], false);
        gpu.tuning = &tuning;
        cr_expect_not(plan_gradient(&gpu).choice.tuned, "%s", lines[i]);
        vf_tuning_free(&tuning);
    }
}

/* A cache of its own for a test, in a new folder. */
static struct vf_cache cache = {.bound = VF_CACHE_BOUND};

static void begin(void)
{
    samples_begin();
    snprintf(cache.path, sizeof cache.path, "%s", sample_path("."));
}

/* Nothing but the file is left in it. */
static void end(void)
{
    cr_expect_leq(sample_file_count(), 1);
    samples_end();
}

TestSuite(tuned_file, .init = begin, .fini = end);

/* The user's file holds the user's lines, also those of other devices; a second reading gives the same. */
Test(tuned_file, file)
{
    char path[PATH_MAX + 16];
    const char lines[] = "NVIDIA H200\t" GRADIENT "\t" WORDS "\t1.5\nother\t" GRADIENT "\t" WORDS
                         "\t2.25\t46SM,1837.5MHz,0.5MiB,264.5GB/s\n";
    struct vf_error error = {.text = ""};
    struct vf_tuning tuning = read_lines(lines, false), again;
    cr_assert_eq(vf_tuning_read(&tuning, "sm_90\t" GRADIENT "\t" WORDS "\t9\n", true, &error), VF_OK);
    cr_assert_eq(vf_tuning_save(&tuning, &cache, path, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_tuning_open(&again, &cache, &error), VF_OK, "%s", error.text);
    struct vf_text text = {0};
    vf_tuning_write(&again, &text);
    cr_expect_str_eq(text.data, lines);
    vf_text_free(&text);
    vf_tuning_free(&tuning);
    vf_tuning_free(&again);
}

Test(tuned_file, a_pipe_is_not_waited_for, .timeout = 20)
{
    char path[PATH_MAX + 16];
    struct vf_tuning tuning;
    struct vf_error error = {.text = ""};
    snprintf(path, sizeof path, "%s/tuned.txt", cache.path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(vf_tuning_open(&tuning, &cache, &error), VF_OK, "%s", error.text);
    vf_tuning_free(&tuning);
}

/* What vf_tune does with a case of `device`: it has read the file and keeps what it measured. */
static void keep_one(const char *device, double seconds)
{
    char path[PATH_MAX + 16];
    const struct vf_flow flow = {.dim = 3, .source_count = 1};
    const struct vf_kernel_case c = {.flow = &flow, .nx = 64, .ny = 64, .nz = 64, .source_type = {VF_U8}};
    struct vf_gpu gpu = h200;
    struct vf_tuning tuning;
    struct vf_error error = {.text = ""};
    struct vf_ranked choice = {
        .scheme = vf_gpu_schemes[0], .config = {.block = {32, 2, 1}, .work = {1, 1, 1}}, .seconds = seconds};
    snprintf(gpu.name, sizeof gpu.name, "%s", device);
    cr_assert_eq(vf_tuning_open(&tuning, &cache, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_tuning_set(&tuning, &c, &gpu, &choice, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_tuning_save(&tuning, &cache, path, &error), VF_OK, "%s", error.text);
    vf_tuning_free(&tuning);
}

/* Another version's lines are not lost when this one keeps its own. */
Test(tuned_file, lines_that_are_not_understood_stay_in_the_file)
{
    static const char foreign[] =
        "# notes\nNVIDIA H200\t" GRADIENT "\tno-such-scheme:block=32x2x1\t1\tmore\n";
    char path[PATH_MAX + 16];
    struct vf_error error = {.text = ""};
    struct vf_tuning all;
    snprintf(path, sizeof path, "%s/tuned.txt", cache.path);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "\n%s", foreign);
    fclose(file);
    keep_one("a", 1);
    keep_one("b", 1);
    cr_assert_eq(vf_tuning_open(&all, &cache, &error), VF_OK, "%s", error.text);
    cr_expect_str_eq(all.foreign.data, foreign);
    cr_expect(all.count >= 2 && !all.entry[1].shipped);
    vf_tuning_free(&all);
}

/* Plans do without a file that is not read to its end, and nothing replaces it. */
Test(tuned_file, a_file_that_cannot_be_read_whole_stays)
{
    enum { LINES = 70000 }; /* more than 4 MiB */
    for (int round = 0; round < 2; round++) {
        char path[PATH_MAX + 16];
        const struct vf_tuning none = {0};
        struct vf_error error = {.text = ""};
        struct vf_tuning tuning;
        struct stat before, after;
        snprintf(path, sizeof path, "%s/tuned.txt", cache.path);
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        for (int i = 0; i < LINES && round == 0; i++)
            fprintf(file, "# %d: a note of some sixty characters that stands in its own line\n", i);
        for (int i = 0; i < 3 && round == 1; i++)
            fprintf(file, "a note, a zero%c", 0);
        fclose(file);
        cr_assert_eq(stat(path, &before), 0);
        cr_assert_eq(vf_tuning_open(&tuning, &cache, &error), VF_OK, "%s", error.text);
        cr_expect_eq(tuning.foreign.length, 0);
        cr_expect_eq(vf_tuning_save(&none, &cache, path, &error), VF_FAILED);
        cr_expect(strstr(error.text, round == 0 ? "4 MiB" : "zero byte") != NULL, "%s", error.text);
        cr_assert_eq(stat(path, &after), 0);
        cr_expect_eq(before.st_ino, after.st_ino);
        cr_expect_eq(before.st_size, after.st_size);
        vf_tuning_free(&tuning);
    }
}

/* Processes at the same time: each one's line is there. */
Test(tuned_file, processes_keep_the_lines_of_each_other)
{
    enum { PROCESSES = 8, TIMES = 12 };
    char device[32];
    struct vf_error error = {.text = ""};
    struct vf_tuning all;
    pid_t child[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        cr_assert_geq(child[p], 0);
        for (int i = 0; child[p] == 0 && i < TIMES; i++) {
            snprintf(device, sizeof device, "device %d of %d", i, p);
            keep_one(device, 1);
        }
        if (child[p] == 0)
            _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        cr_assert_eq(waitpid(child[p], &status, 0), child[p]);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    cr_assert_eq(vf_tuning_open(&all, &cache, &error), VF_OK, "%s", error.text);
    int own = 0;
    for (int i = 0; i < all.count; i++)
        own += !all.entry[i].shipped;
    cr_expect_eq(own, PROCESSES * TIMES);
    vf_tuning_free(&all);
}

/* Of a case that both measured the later one's is kept, what was only read gives way; nobody waits for ever
 * for a process that was stopped while it had the lock. */
Test(tuned_file, what_was_measured_last_is_kept)
{
    char path[PATH_MAX + 16];
    struct vf_error error = {.text = ""};
    struct vf_tuning old, all;
    keep_one("a", 1);
    cr_assert_eq(vf_tuning_open(&old, &cache, &error), VF_OK, "%s", error.text);
    keep_one("a", 2);
    const int held = open(cache.path, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(flock(held, LOCK_EX), 0);
    cr_assert_eq(vf_tuning_save(&old, &cache, path, &error), VF_OK, "%s", error.text);
    close(held);
    cr_assert_eq(vf_tuning_open(&all, &cache, &error), VF_OK, "%s", error.text);
    cr_expect_float_eq(all.entry[0].copies, 2 * old.entry[0].copies, 1e-3 * all.entry[0].copies);
    cr_expect_eq(all.entry[0].figures.multiprocessors, h200.multiprocessors);
    vf_tuning_free(&old);
    vf_tuning_free(&all);
}

/* Stencils whose kernels may be measured: those of filters, and of benchmarks. */
static const char *const stencil_names[] = {
#define VF_STENCIL_DEF(name, ...) #name,
#include "filters/stencils.def"
#undef VF_STENCIL_DEF
#define BENCH_STENCIL(name, ...) #name,
#include "tests/bench/stencils.def"
#undef BENCH_STENCIL
};

/* A stage of a kernel's case: "linear9@4x0x0(0)1", or a stencil's name and its fields. */
static void expect_known_stencil(const char *stage)
{
    const size_t length = strcspn(stage, "(");
    bool known = strncmp(stage, "linear", 6) == 0;
    for (size_t i = 0; i < sizeof stencil_names / sizeof *stencil_names; i++)
        known = known || (strlen(stencil_names[i]) == length && memcmp(stage, stencil_names[i], length) == 0);
    cr_expect(known, "no stencil is called %.*s any more: rename it in kernels/tuned.txt too", (int)length,
              stage);
}

/* What comes with the program is understood, every line, is of stencils that there are, and says what it was
 * measured on. */
Test(tuning, shipped)
{
    struct vf_tuning tuning;
    struct vf_error error = {.text = ""};
    struct vf_cache none = {.path = ""};
    int lines = 0;
    cr_assert_eq(vf_tuning_open(&tuning, &none, &error), VF_OK, "%s", error.text);
    for (int i = 0; i < vf_tuned_text_count; i++)
        for (const char *at = vf_tuned_texts[i].text; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
    cr_expect_eq(tuning.count, lines);
    for (int i = 0; i < tuning.count; i++)
        cr_expect(tuning.entry[i].figures.multiprocessors > 0, "%s", tuning.entry[i].kernel_case);
    for (int i = 0; i < tuning.count; i++)
        for (const char *at = tuning.entry[i].kernel_case; (at = strchr(at, '(')) != NULL; at++) {
            const char *stage = at;
            while (stage != tuning.entry[i].kernel_case && stage[-1] != ' ')
                stage--;
            expect_known_stencil(stage);
        }
    vf_tuning_free(&tuning);
}
