/* compile-kernels [--all] [ARCH...]: compiles kernels by NVRTC for several architectures, without a device:
 * those that the plan chooses for chains that cover all stencils, dimensions, element types and boundaries,
 * and each scheme's first choices as far as they pair a scheme with an architecture, boundary, type or
 * stencil that no kernel before them does, of which one in five is taken; --all: every work of a thread and
 * every variant that a scheme offers, by the block and chunk that are predicted to be its best: others give
 * nearly the same code. Chains take turns among the architectures, unless some are named: then each is
 * compiled for all of these. What does not compile fails, and so do spilled registers in a kernel that the
 * plan chooses for every other chain. Of others, but for each scheme's first on an architecture, PTX is
 * enough, by the compiler's shortest way. Without NVRTC there is nothing to do.
 *
 * Prints the kernels that took longest, and "N passed, N failed" last. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chain.h"
#include "kernel_source.h"
#include "nvrtc.h"
#include "plan.h"

/* ---- devices, as vf_cuda_describe would find them ---- */

struct arch {
    const char *name;
    int capability, sm_threads, sm_blocks;
    size_t block_shared, sm_shared;
};

static const struct arch archs[] = {
    {"sm_75", 75, 1024, 16, 64 << 10, 64 << 10},    {"sm_80", 80, 2048, 32, 163 << 10, 164 << 10},
    {"sm_86", 86, 1536, 16, 99 << 10, 100 << 10},   {"sm_89", 89, 1536, 24, 99 << 10, 100 << 10},
    {"sm_90", 90, 2048, 32, 227 << 10, 228 << 10},  {"sm_100", 100, 2048, 32, 227 << 10, 228 << 10},
    {"sm_120", 120, 1536, 24, 99 << 10, 100 << 10},
};

static struct vf_gpu gpu_of(const struct arch *arch)
{
    struct vf_gpu gpu = {.capability = arch->capability,
                         .multiprocessors = 132,
                         .warp = 32,
                         .block_threads = 1024,
                         .sm_threads = arch->sm_threads,
                         .sm_blocks = arch->sm_blocks,
                         .sm_registers = 65536,
                         .block_shared = arch->block_shared,
                         .sm_shared = arch->sm_shared,
                         .l2 = (size_t)50 << 20,
                         .memory = (size_t)80 << 30,
                         .free_memory = (size_t)80 << 30,
                         .bandwidth = 4.19e12,
                         .clock = 1.755e9,
                         .double_ratio = 2};
    snprintf(gpu.name, sizeof gpu.name, "%s", arch->name);
    return gpu;
}

/* ---- what is compiled ---- */

struct sample {
    const char *chain;
    int dim;
    enum vf_type in, out;
    bool precise;
    enum vf_boundary boundary;
};

static const struct sample samples[] = {
    {"gaussian", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"gaussian:sigma=3", 3, VF_U16, VF_U16, false, VF_REFLECT},
    {"gaussian:sigma=2", 2, VF_U8, VF_U8, false, VF_MIRROR},
    {"gaussian:sigma=12", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"gaussian:sigma=20", 2, VF_F32, VF_F32, false, VF_NEAREST},
    {"median", 3, VF_F32, VF_F32, false, VF_MIRROR},
    {"median", 3, VF_F64, VF_F64, true, VF_CONSTANT},
    {"median:radius=2", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"median:radius=2", 2, VF_U8, VF_U8, false, VF_REFLECT},
    {"median:radius=3", 2, VF_U16, VF_U16, false, VF_WRAP},
    {"gradient", 3, VF_F32, VF_F32, false, VF_WRAP},
    {"gradient:output=components", 2, VF_I8, VF_F32, false, VF_CONSTANT},
    {"gaussian,gradient", 3, VF_I16, VF_F32, false, VF_NEAREST},
    {"laplacian", 3, VF_U16, VF_F32, false, VF_REFLECT},
    {"laplacian:sigma=1", 2, VF_F32, VF_F32, false, VF_CONSTANT},
    {"dog", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"unsharp", 3, VF_U8, VF_U8, false, VF_MIRROR},
    {"mean:radius=2", 3, VF_U16, VF_U16, false, VF_NEAREST},
    {"structure-tensor", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"structure-tensor:output=coherence", 3, VF_F32, VF_F32, true, VF_REFLECT},
    {"structure-tensor:output=eigenvalues", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"structure-tensor:output=orientation", 2, VF_F32, VF_F32, false, VF_MIRROR},
    {"hessian", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"hessian:output=components", 3, VF_U16, VF_F32, false, VF_CONSTANT},
    {"hessian:sigma=0", 2, VF_F32, VF_F32, true, VF_WRAP},
    {"perona-malik:iterations=4", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"perona-malik:conductance=quadratic:iterations=4", 3, VF_I32, VF_I32, true, VF_CONSTANT},
    {"perona-malik:iterations=4", 2, VF_U16, VF_U16, false, VF_WRAP},
    {"eed:iterations=2", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"eed:mode=line:rho=2:iterations=1", 3, VF_U32, VF_U32, true, VF_MIRROR},
    {"ced:iterations=1", 2, VF_F64, VF_F64, true, VF_REFLECT},
    {"and:iterations=1", 3, VF_F32, VF_F32, false, VF_NEAREST},
    {"srad:iterations=2", 2, VF_U8, VF_U8, false, VF_NEAREST},
    {"srad:iterations=2", 3, VF_F32, VF_F32, true, VF_CONSTANT},
    {"gradient:method=scharr", 3, VF_F32, VF_F32, false, VF_CONSTANT},
    {"convolve:tests/weights/3x3x3.txt", 3, VF_U16, VF_F32, false, VF_NEAREST},
    {"convolve:testdata/emboss.txt", 2, VF_U8, VF_U8, false, VF_REFLECT},
    {"convolve:testdata/emboss.txt", 3, VF_I8, VF_U8, false, VF_CONSTANT},
    {"convolve:tests/weights/21x21.txt", 2, VF_F32, VF_F32, false, VF_MIRROR},
    {"convolve:tests/weights/21x21.txt", 3, VF_U8, VF_F32, true, VF_CONSTANT},
};

/* Bytes after which the log says `what`; 0 when it does not. */
static long bytes_before(const char *log, const char *what)
{
    const char *at = strstr(log, what);
    if (at == NULL)
        return 0;
    while (at > log && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return strtol(at, NULL, 10);
}

/* Bytes of registers that a kernel may spill: a call in a path that is hardly taken saves one or two, and 32
 * cost a fused Gaussian nothing on an H200 (0.628 ms beside 0.691 ms without, at half the rows a thread). */
#define FEW_SPILLED 48

/* A text to compile. */
struct item {
    char *text;
    const char *arch;
    char label[256];
    bool may_spill;
    bool quick;     /* to PTX, hardly optimised */
    double seconds; /* of a processor, that it took */
};

/* False, with the reason printed, when it must not pass. */
static bool compiles(const struct vf_nvrtc_api *api, const struct item *item)
{
    const char *options[24], *headers[2][256];
    char words[512], target[64], *rest = NULL;
    int count = 0;
    nvrtcProgram program = NULL;
    size_t room = 0;
    snprintf(words, sizeof words, "%s", vf_nvrtc_options);
    for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        options[count++] = word;
    snprintf(target, sizeof target, "--gpu-architecture=%s_%s", item->quick ? "compute" : "sm",
             item->arch + strlen("sm_"));
    options[count++] = target;
    options[count++] = item->quick ? "--Ofast-compile=max" : "--ptxas-options=-v";
    for (int i = 0; i < vf_kernel_text_count; i++) {
        headers[0][i] = vf_kernel_texts[i].text;
        headers[1][i] = vf_kernel_texts[i].name;
    }
    int result = api->nvrtcCreateProgram(&program, item->text, "kernel.cu", vf_kernel_text_count, headers[0],
                                         headers[1]);
    if (result == NVRTC_SUCCESS)
        result = api->nvrtcCompileProgram(program, count, options);
    if (result != NVRTC_SUCCESS && item->quick) /* older ones lack the option */
        result = api->nvrtcCompileProgram(program, count - 1, options);
    api->nvrtcGetProgramLogSize(program, &room);
    char *log = calloc(room + 1, 1);
    api->nvrtcGetProgramLog(program, log);
    const long spilled = bytes_before(log, " bytes spill stores");
    const bool good = result == NVRTC_SUCCESS && (spilled <= FEW_SPILLED || item->may_spill);
    if (result != NVRTC_SUCCESS)
        printf("FAIL %s: does not compile:\n%.2000s\n", item->label, log);
    else if (!good)
        printf("FAIL %s: %ld bytes of registers are spilled\n", item->label, spilled);
    free(log);
    api->nvrtcDestroyProgram(&program);
    return good;
}

/* "SCHEME WITH": what a scheme was compiled for. */
struct pairs {
    int count;
    char name[4096][96];
};

struct list {
    int count, room;
    struct item *item;
    struct pairs pairs;
    unsigned alike; /* kernels of schemes that are forced, but for each one's first on an architecture */
};

static bool is_new_pair(struct pairs *pairs, const char *scheme, const char *with)
{
    char name[sizeof pairs->name[0]];
    snprintf(name, sizeof name, "%s %s", scheme, with);
    for (int i = 0; i < pairs->count; i++)
        if (strcmp(pairs->name[i], name) == 0)
            return false;
    if (pairs->count < (int)(sizeof pairs->name / sizeof pairs->name[0]))
        memcpy(pairs->name[pairs->count++], name, sizeof name);
    return true;
}

/* Whether a scheme's kernel has anything that none of it before has, the architecture apart; from then on one
 * before has it. */
static bool covers(struct pairs *pairs, const struct vf_kernel_work *work, const struct sample *sample,
                   const char *scheme)
{
    const struct vf_flow *flow = &work->flow;
    char with[64];
    snprintf(with, sizeof with, "boundary %d", (int)sample->boundary);
    bool is_new = is_new_pair(pairs, scheme, with);
    snprintf(with, sizeof with, "%s to %s", vf_type_name(work->c.source_type[0]),
             vf_type_name(work->c.sink_type[0]));
    is_new = is_new_pair(pairs, scheme, with) || is_new;
    is_new = is_new_pair(pairs, scheme, sample->precise ? "double" : "single") || is_new;
    for (int i = 0; i < flow->stage_count; i++) {
        const struct vf_stage *stage = &flow->stage[i];
        snprintf(with, sizeof with, "%dD %s of %d", sample->dim,
                 stage->stencil == VF_STENCIL_LINEAR ? stage->name : vf_stage_stencil(stage)->name,
                 flow->stage_count);
        is_new = is_new_pair(pairs, scheme, with) || is_new;
    }
    return is_new;
}

/* Of kernels that are much like those before them, one in five. */
static bool is_left_out(struct list *list)
{
    return list->alike++ % 5 != 0;
}

/* Adds one configuration unless the same text is there for the architecture. */
static void add(struct list *list, const struct vf_kernel_work *work, const struct sample *sample,
                const struct arch *arch, const struct vf_gpu_scheme *scheme,
                const struct vf_kernel_config *config, bool may_spill, bool quick)
{
    struct vf_text text = {0};
    struct vf_error error;
    if (vf_kernel_source(&work->c, scheme, config, &text, &error) != VF_OK) {
        fprintf(stderr, "compile-kernels: %s\n", error.text);
        exit(1);
    }
    for (int i = 0; i < list->count; i++)
        if (list->item[i].arch == arch->name && strcmp(list->item[i].text, text.data) == 0) {
            list->item[i].may_spill = list->item[i].may_spill && may_spill;
            list->item[i].quick = list->item[i].quick && quick;
            vf_text_free(&text);
            return;
        }
    if (list->count == list->room) {
        list->room = 2 * list->room + 64;
        list->item = realloc(list->item, (size_t)list->room * sizeof *list->item);
        if (list->item == NULL)
            exit(1);
    }
    struct item *item = &list->item[list->count++];
    item->text = strdup(text.data);
    item->arch = arch->name;
    item->may_spill = may_spill;
    item->quick = quick;
    snprintf(item->label, sizeof item->label,
             "%s %s %dD %s, stages %s..%s, block %dx%dx%d work %dx%dx%d stream %d variant %d", arch->name,
             sample->chain, sample->dim, scheme->name,
             work->flow.stage_count > 0 ? work->flow.stage[0].name : "-",
             work->flow.stage_count > 0 ? work->flow.stage[work->flow.stage_count - 1].name : "-",
             config->block[0], config->block[1], config->block[2], config->work[0], config->work[1],
             config->work[2], config->stream, config->variant);
    vf_text_free(&text);
}

static bool is_like_one_before(const struct vf_ranked *ranked, int k)
{
    const struct vf_kernel_config *c = &ranked[k].config;
    for (int i = 0; i < k; i++) {
        const struct vf_kernel_config *d = &ranked[i].config;
        if (ranked[i].scheme == ranked[k].scheme && memcmp(d->work, c->work, sizeof c->work) == 0 &&
            d->variant == c->variant && d->virtual_blocks == c->virtual_blocks && d->interior == c->interior)
            return true;
    }
    return false;
}

/* Of a scheme that is forced the code counts, not how often it is written out: one cell a thread, where that
 * may be, of what takes the compiler long. */
static struct vf_kernel_config shortened(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                                         const struct vf_launch *launch)
{
    enum { LONG = 400 }; /* additions of a thread */
    const int *work = launch->choice.config.work;
    struct vf_kernel_config one = launch->choice.config;
    one.work[0] = one.work[1] = one.work[2] = 1;
    return c->operations * work[0] * work[1] * work[2] > LONG &&
                   launch->choice.scheme->forbids(c, gpu, &one) == NULL
               ? one
               : launch->choice.config;
}

/* Kernels of one run, planned with `forced` or freely. */
static void add_run(struct list *list, const struct vf_plan *plan, const struct vf_run *run,
                    const struct sample *sample, const struct arch *arch, const struct vf_gpu *gpu,
                    const struct vf_forced_list *forced, bool all)
{
    struct vf_flow flow;
    struct vf_error error;
    struct vf_gpu_plan kernels;
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    if (vf_plan_flow(plan, run, NULL, &flow, &error) != VF_OK)
        exit(1);
    vf_plan_gpu_request(plan, run, &flow, &types, &request);
    request.forced = forced;
    /* A scheme that is forced on a chain that it cannot run alone has nothing to compile here. */
    if (vf_gpu_plan_open(&kernels, &request, &error) == VF_OK) {
        for (int i = 0; i < kernels.launch_count; i++) {
            static struct vf_ranked ranked[512];
            const struct vf_launch *launch = &kernels.launch[i];
            struct vf_kernel_work work;
            if (vf_kernel_work_open(&work, &kernels, &request, launch, &error) != VF_OK)
                exit(1);
            const struct vf_kernel_config config =
                all || forced->count == 0 ? launch->choice.config : shortened(&work.c, gpu, launch);
            const bool is_short =
                all || !vf_gpu_is_long(&work.c, launch->choice.scheme, &launch->choice.config);
            const bool is_first =
                is_short && is_new_pair(&list->pairs, launch->choice.scheme->name, arch->name);
            const bool is_chosen = forced->count == 0, is_of_every_other_chain = (sample - samples) % 2 == 0;
            const bool is_new = is_short && covers(&list->pairs, &work, sample, launch->choice.scheme->name);
            if (all || (is_short && (is_first || is_chosen)) || (is_new && !is_left_out(list)))
                add(list, &work, sample, arch, launch->choice.scheme, &config, !is_chosen,
                    !all && !is_first && !(is_chosen && is_of_every_other_chain));
            const int count =
                all ? vf_gpu_rank(&work.c, gpu, forced->count > 0 ? &forced->entry[0] : NULL, ranked, 512)
                    : 0;
            for (int k = 0; k < count; k++)
                if (!is_like_one_before(ranked, k))
                    add(list, &work, sample, arch, ranked[k].scheme, &ranked[k].config, true, false);
            vf_kernel_work_close(&work);
        }
        vf_gpu_plan_close(&kernels);
    } else if (forced->count == 0) {
        printf("FAIL %s %s: %s\n", arch->name, sample->chain, error.text);
        exit(1);
    }
    vf_flow_close(&flow);
}

static void add_sample(struct list *list, const struct sample *sample, const struct arch *arch, bool all)
{
    const struct vf_gpu gpu = gpu_of(arch);
    struct vf_chain chain = {0};
    struct vf_error error;
    struct vf_plan plan;
    struct vf_plan_request request = {.chain = &chain,
                                      .nx = 512,
                                      .ny = 512,
                                      .nz = sample->dim == 3 ? 256 : 1,
                                      .batch = 1,
                                      .threads = 1,
                                      .gpu = &gpu,
                                      .source_type = sample->in,
                                      .result_type = sample->out};
    request.context.dim = sample->dim;
    request.context.is_double = sample->precise;
    request.context.boundary = sample->boundary;
    for (int axis = 0; axis < 3; axis++)
        request.context.aspect[axis] = request.context.spacing[axis] = 1;
    if (vf_chain_append(&chain, sample->chain, &error) != VF_OK ||
        vf_plan_open(&plan, &request, &error) != VF_OK) {
        fprintf(stderr, "compile-kernels: %s: %s\n", sample->chain, error.text);
        exit(1);
    }
    for (int r = 0; r < plan.run_count; r++) {
        struct vf_forced_list forced = {0};
        add_run(list, &plan, &plan.run[r], sample, arch, &gpu, &forced, all);
        for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++) {
            if (vf_forced_read((*scheme)->name, &forced, &error) != VF_OK)
                exit(1);
            add_run(list, &plan, &plan.run[r], sample, arch, &gpu, &forced, all);
        }
    }
    vf_plan_close(&plan);
    vf_chain_free(&chain);
}

/* Whether an architecture is named on the command line; none: *any is false. */
static bool is_named(const char *arch, int argc, char **argv, bool *any)
{
    bool found = false;
    *any = false;
    for (int i = 1; i < argc; i++) {
        *any = *any || argv[i][0] != '-';
        found = found || strcmp(argv[i], arch) == 0;
    }
    return found;
}

/* Of this thread. */
static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const struct item *)a)->seconds, y = ((const struct item *)b)->seconds;
    return (x < y) - (x > y);
}

/* A user waits for each kernel once. */
static void report_slowest(struct list *list)
{
    enum { SHOWN = 5 };
    double all = 0;
    for (int i = 0; i < list->count; i++)
        all += list->item[i].seconds;
    qsort(list->item, (size_t)list->count, sizeof *list->item, by_time);
    for (int i = 0; i < list->count && i < SHOWN; i++)
        printf("%5.2f s: %s\n", list->item[i].seconds, list->item[i].label);
    printf("%5.2f s of a processor in the mean of %d kernels\n", all / (list->count > 0 ? list->count : 1),
           list->count);
}

/* Those that are compiled quickly, or the others; how many failed. */
static int compile_items(const struct vf_nvrtc_api *api, struct list *list, bool quick)
{
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : failed)
    for (int i = 0; i < list->count; i++) {
        struct item *item = &list->item[i];
        if (item->quick != quick)
            continue;
        const double begin = processor_time();
        failed += !compiles(api, item);
        item->seconds = processor_time() - begin;
    }
    return failed;
}

int main(int argc, char **argv)
{
    struct vf_nvrtc_api api;
    struct vf_error error;
    static struct list list;
    const bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    if (argc > 1 && argv[1][0] == '-' && !all) {
        fprintf(stderr, "Usage: compile-kernels [--all] [ARCHITECTURE...]\n");
        return 2;
    }
    if (vf_nvrtc_api_open(&api, &error) != VF_OK) {
        printf("compile-kernels: nothing compiled: %s\n", error.text);
        return 0;
    }
    const int arch_count = sizeof archs / sizeof *archs, sample_count = sizeof samples / sizeof *samples;
    for (int i = 0; i < sample_count; i++)
        for (int a = 0; a < arch_count; a++) {
            bool any;
            if (is_named(archs[a].name, argc, argv, &any) || (!any && (a - i) % arch_count == 0))
                add_sample(&list, &samples[i], &archs[a], all);
        }
    /* One after the other: the compiler optimises all that it compiles at that time, or later, as little. */
    int failed = compile_items(&api, &list, false);
    failed += compile_items(&api, &list, true);
    report_slowest(&list);
    for (int i = 0; i < list.count; i++)
        free(list.item[i].text);
    free(list.item);
    vf_nvrtc_api_close(&api);
    printf("%d passed, %d failed\n", list.count - failed, failed);
    return failed > 0;
}
