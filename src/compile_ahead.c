#include "compile_ahead.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "kernel_source.h"
#include "plan.h"
#include "processors.h"
#include "progress.h"
#include "size.h"

enum vf_status vf_kernel_list_add(struct vf_kernel_list *list, char *text, struct vf_error *error)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], text) == 0) {
            vf_free(text);
            return VF_OK;
        }
    char **grown =
        vf_grow(list->text, (size_t)list->count, &list->room, sizeof *grown, "kernels to compile", error);
    if (grown == NULL) {
        vf_free(text);
        return VF_FAILED;
    }
    list->text = grown;
    list->text[list->count++] = text;
    return VF_OK;
}

void vf_kernel_list_free(struct vf_kernel_list *list)
{
    for (int i = 0; i < list->count; i++)
        vf_free(list->text[i]);
    vf_free(list->text);
    *list = (struct vf_kernel_list){0};
}

/* ---- a plan's ---- */

static enum vf_status take_kernel(const struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                  const struct vf_launch *launch, vf_kernel_text *take, void *context,
                                  struct vf_error *error)
{
    struct vf_kernel_work work;
    struct vf_text text = {0};
    enum vf_status status = vf_kernel_work_open(&work, plan, request, launch, error);
    if (status != VF_OK)
        return status;
    status = vf_kernel_source(&work.c, launch->choice.scheme, &launch->choice.config, &text, error);
    if (status == VF_OK)
        status = take(context, &work.c, launch, text.data, error);
    else
        vf_text_free(&text);
    vf_kernel_work_close(&work);
    return status;
}

enum vf_status vf_plan_each_kernel(const struct vf_plan *plan, vf_kernel_text *take, void *context,
                                   struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int r = 0; r < plan->run_count && status == VF_OK; r++) {
        const struct vf_gpu_plan *kernels = &plan->run[r].gpu;
        struct vf_flow flow;
        struct vf_gpu_types types;
        struct vf_gpu_request request;
        if (r > 0 && kernels->number != 0 && kernels->number == plan->run[r - 1].gpu.number)
            continue;
        VF_TRY(vf_plan_flow(plan, &plan->run[r], NULL, &flow, error));
        vf_plan_gpu_request(plan, &plan->run[r], &flow, &types, &request);
        for (int i = 0; i < kernels->launch_count && status == VF_OK; i++)
            if (kernels->launch[i].alike == i)
                status = take_kernel(kernels, &request, &kernels->launch[i], take, context, error);
        vf_flow_close(&flow);
    }
out:
    return status;
}

/* ---- compiling ---- */

/* Whether it was compiled now, and is kept. */
static bool compile(const struct vf_nvrtc_api *api, const struct vf_cuda *cuda, const char *text)
{
    struct vf_cache_key key = cuda->key;
    struct vf_error error;
    void *cubin;
    size_t bytes;
    vf_cache_key_add_text(&key, text);
    if (vf_cache_has(&cuda->cache, &key) ||
        vf_cuda_compile(cuda, api, &key, text, &cubin, &bytes, &error) != VF_OK)
        return false;
    const bool is_kept = vf_cache_put(&cuda->cache, &key, cubin, bytes);
    vf_free(cubin);
    return is_kept;
}

/* What the processes share. */
struct progress {
    atomic_int next, compiled;
};

/* A signal ends it at once: the cache has whole entries or none. */
static _Noreturn void work(const struct vf_kernel_list *list, const struct vf_cuda *cuda,
                           struct progress *progress)
{
    struct vf_nvrtc_api api;
    struct vf_error error;
    vf_signals_leave();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (vf_nvrtc_api_open(&api, &error) == VF_OK)
        for (int i; (i = atomic_fetch_add(&progress->next, 1)) < list->count;)
            if (compile(&api, cuda, list->text[i]))
                atomic_fetch_add(&progress->compiled, 1);
    _exit(0);
}

static bool is_crash(int ended)
{
    const int signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT;
}

/* Not any child: whoever started the program may have left it some. */
static int wait_for(pid_t child)
{
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    return ended;
}

int vf_kernel_list_compile(const struct vf_kernel_list *list, struct vf_cuda *cuda, size_t processes)
{
    enum { MOST = 256 };
    pid_t child[MOST];
    int children = 0;
    const size_t processors = (size_t)vf_smaller(vf_processors(), MOST);
    const size_t most = processes < processors ? processes : processors;
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 0;
    for (size_t i = 0; i < most && i < (size_t)list->count; i++) {
        child[children] = fork();
        if (child[children] == 0)
            work(list, cuda, progress);
        children += child[children] > 0;
    }
    for (int i = 0; i < children; i++)
        cuda->compiler_crashes = is_crash(wait_for(child[i])) || cuda->compiler_crashes;
    const int compiled = progress->compiled;
    munmap(progress, sizeof *progress);
    return compiled;
}

/* ---- what is about to run ---- */

struct missing {
    const struct vf_cuda *cuda;
    struct vf_kernel_list list;
    double seconds, longest; /* to compile all of them, and one, by one processor */
};

static enum vf_status add_missing(void *context, const struct vf_kernel_case *c,
                                  const struct vf_launch *launch, char *text, struct vf_error *error)
{
    struct missing *missing = context;
    struct vf_cache_key key = missing->cuda->key;
    const int known = missing->list.count;
    vf_cache_key_add_text(&key, text);
    if (launch->choice.precompiled || vf_cache_has(&missing->cuda->cache, &key)) {
        vf_free(text);
        return VF_OK;
    }
    const enum vf_status status = vf_kernel_list_add(&missing->list, text, error);
    if (missing->list.count > known) {
        const double seconds =
            vf_cuda_costs.kernel +
            vf_cuda_costs.operation * vf_gpu_length(c, launch->choice.scheme, &launch->choice.config);
        missing->seconds += seconds;
        missing->longest = seconds > missing->longest ? seconds : missing->longest;
    }
    return status;
}

double vf_plan_compile_seconds(const struct vf_plan *plan, const struct vf_cuda *cuda)
{
    const double processors = vf_processors();
    struct missing missing = {.cuda = cuda};
    struct vf_error ignored;
    const bool known = vf_plan_each_kernel(plan, add_missing, &missing, &ignored) == VF_OK;
    const int count = missing.list.count;
    vf_kernel_list_free(&missing.list);
    return known && count > 0 ? vf_cuda_costs.compiler + fmax(missing.longest, missing.seconds / processors)
                              : 0;
}

double vf_least_compile_seconds(void)
{
    struct vf_cache cache;
    struct vf_precompiled precompiled;
    int entries;
    size_t bytes;
    vf_cache_open(&cache);
    vf_cache_measure(&cache, &entries, &bytes);
    if (entries > 0)
        return 0;
    const bool is_shipped = vf_precompiled_open(&precompiled);
    vf_precompiled_close(&precompiled);
    return is_shipped ? 0 : vf_cuda_costs.compiler + vf_cuda_costs.kernel;
}

void vf_compile_coming(struct vf_cuda *cuda)
{
    const struct vf_cuda_coming coming = cuda->coming;
    const size_t processes = coming.bytes / VF_COMPILER_BYTES;
    struct missing missing = {.cuda = cuda};
    struct vf_error ignored;
    cuda->coming.plan = NULL;
    if (processes < 2 || vf_cache_make(&cuda->cache, &ignored) != VF_OK)
        return;
    if (vf_plan_each_kernel(coming.plan, add_missing, &missing, &ignored) == VF_OK && missing.list.count > 1)
        cuda->compiled_count += vf_kernel_list_compile(&missing.list, cuda, processes);
    vf_kernel_list_free(&missing.list);
}
