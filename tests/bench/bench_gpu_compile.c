#include "bench_gpu_compile.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "bench_limits.h"
#include "kernel_source.h"
#include "nvrtc.h"

/* Takes the text over. */
static void add_text(struct bench_texts *texts, char *text)
{
    for (int i = 0; i < texts->count; i++)
        if (strcmp(texts->text[i], text) == 0) {
            vf_free(text);
            return;
        }
    if (texts->count == texts->room) {
        texts->room = 2 * texts->room + 64;
        char **larger = bench_alloc((size_t)texts->room, sizeof *larger);
        if (texts->count > 0)
            memcpy(larger, texts->text, (size_t)texts->count * sizeof *larger);
        vf_free(texts->text);
        texts->text = larger;
    }
    texts->text[texts->count++] = text;
}

void bench_texts_add(void *context, const struct bench_row *row)
{
    const struct vf_gpu_plan *plan = &row->plan[0];
    struct vf_error error;
    for (int i = 0; i < plan->launch_count; i++) {
        const struct vf_launch *launch = &plan->launch[i];
        struct vf_kernel_work work;
        struct vf_text text = {0};
        bench_must(vf_kernel_work_open(&work, plan, &row->request, launch, &error), &error);
        work.c.flow = &work.flow;
        bench_must(vf_kernel_source(&work.c, launch->scheme, &launch->config, &text, &error), &error);
        add_text(context, text.data);
        vf_kernel_work_close(&work);
    }
}

/* Whether it was compiled now. */
static bool compile(const struct vf_nvrtc_api *api, const struct vf_cuda *cuda, const char *text)
{
    struct vf_cache_key key = cuda->key;
    struct vf_error error;
    void *cubin;
    size_t bytes;
    vf_cache_key_add_text(&key, text);
    const bool is_there = vf_cache_get(&cuda->cache, &key, &cubin, &bytes);
    if (!is_there) {
        if (vf_nvrtc_compile(api, text, "kernel.cu", vf_kernel_texts, vf_kernel_text_count, cuda->arch,
                             &cubin, &bytes, &error) != VF_OK)
            return false;
        vf_cache_put(&cuda->cache, &key, cubin, bytes);
    }
    vf_free(cubin);
    return !is_there;
}

/* What the processes share. */
struct progress {
    atomic_int next, compiled;
};

static _Noreturn void work(const struct bench_texts *texts, struct progress *progress)
{
    struct vf_nvrtc_api api;
    struct vf_error error;
    if (vf_nvrtc_api_open(&api, &error) == VF_OK)
        for (int i; (i = atomic_fetch_add(&progress->next, 1)) < texts->count;)
            if (compile(&api, texts->cuda, texts->text[i]))
                atomic_fetch_add(&progress->compiled, 1);
    _exit(0);
}

void bench_texts_compile(struct bench_texts *texts)
{
    const double begin = bench_now();
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return;
    for (long i = 0; i < processors && i < texts->count; i++)
        if (fork() == 0)
            work(texts, progress);
    while (wait(NULL) > 0)
        continue;
    fprintf(stderr, "%d kernels, %d of them compiled, in %.1f s\n", texts->count, progress->compiled,
            bench_now() - begin);
    munmap(progress, sizeof *progress);
}

void bench_texts_close(struct bench_texts *texts)
{
    for (int i = 0; i < texts->count; i++)
        vf_free(texts->text[i]);
    vf_free(texts->text);
}
