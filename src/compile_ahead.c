#include "compile_ahead.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "nvrtc.h"

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
        if (vf_cuda_compile(cuda, api, &key, text, &cubin, &bytes, &error) != VF_OK)
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

/* A signal ends it at once: the cache has whole entries or none. */
static _Noreturn void work(const struct vf_kernel_list *list, const struct vf_cuda *cuda,
                           struct progress *progress)
{
    struct vf_nvrtc_api api;
    struct vf_error error;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (vf_nvrtc_api_open(&api, &error) == VF_OK)
        for (int i; (i = atomic_fetch_add(&progress->next, 1)) < list->count;)
            if (compile(&api, cuda, list->text[i]))
                atomic_fetch_add(&progress->compiled, 1);
    _exit(0);
}

int vf_kernel_list_compile(const struct vf_kernel_list *list, const struct vf_cuda *cuda)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 0;
    for (long i = 0; i < processors && i < list->count; i++)
        if (fork() == 0)
            work(list, cuda, progress);
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    const int compiled = progress->compiled;
    munmap(progress, sizeof *progress);
    return compiled;
}
