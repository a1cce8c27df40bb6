#include "precompiled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "compile_ahead.h"
#include "kernel_source.h"
#include "nvrtc.h"
#include "plan.h"

/* Kernels of a case that are looked at, the best by prediction. */
#define MOST_CHOICES 16

/* ---- the folder ---- */

/* The folder beside the running program; whoever owns the program may own it too. */
static bool find_folder(struct vf_cache *folder)
{
    static const char *const places[] = {"/precompiled", "/../share/volfilter/precompiled"};
    const char *asked = getenv("VOLFILTER_PRECOMPILED");
    char program[PATH_MAX];
    struct stat is;
    *folder = (struct vf_cache){.bound = VF_CACHE_BOUND, .owner = geteuid()};
    if (asked != NULL) {
        snprintf(folder->path, sizeof folder->path, "%s", asked);
        return asked[0] != '\0' && stat(asked, &is) == 0;
    }
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    if (stat(program, &is) == 0)
        folder->owner = is.st_uid;
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(folder->path, sizeof folder->path, "%s%s", program, places[i]) <
                (int)sizeof folder->path &&
            stat(folder->path, &is) == 0)
            return true;
    return false;
}

static void path_of_lines(const struct vf_cache *folder, char path[PATH_MAX + 16])
{
    snprintf(path, PATH_MAX + 16, "%s/kernels.txt", folder->path);
}

void vf_kernel_key_begin(struct vf_cache_key *key, const char *arch)
{
    vf_cache_key_begin(key, "cubin");
    vf_cache_key_add_text(key, vf_kernel_text_digest);
    vf_cache_key_add_text(key, vf_nvrtc_options);
    vf_cache_key_add_text(key, arch);
}

bool vf_precompiled_open(struct vf_precompiled *precompiled)
{
    char path[PATH_MAX + 16];
    struct vf_error ignored;
    *precompiled = (struct vf_precompiled){.cuda = NULL};
    if (!find_folder(&precompiled->folder))
        return false;
    vf_kernel_key_begin(&precompiled->key, VF_PTX_ARCH);
    path_of_lines(&precompiled->folder, path);
    return vf_tuning_read_file(&precompiled->choices, path, true, &ignored) == VF_OK &&
           precompiled->choices.count > 0;
}

void vf_precompiled_close(struct vf_precompiled *precompiled)
{
    vf_tuning_free(&precompiled->choices);
}

bool vf_precompiled_get(const struct vf_precompiled *precompiled, const char *text, void **ptx, size_t *bytes)
{
    struct vf_cache_key key = precompiled->key;
    vf_cache_key_add_text(&key, text);
    return vf_cache_get(&precompiled->folder, &key, ptx, bytes);
}

/* ---- choosing ---- */

/* False when memory runs out. */
static bool name_case(const struct vf_kernel_case *c, char name[VF_SHA256_DIGITS + 1])
{
    struct vf_text text = {0};
    struct vf_sha256 hash;
    uint8_t digest[VF_SHA256_BYTES];
    vf_case_source(c, &text);
    const bool good = !text.failed;
    vf_sha256_begin(&hash);
    vf_sha256_add(&hash, text.data, text.length);
    vf_sha256_end(&hash, digest);
    vf_sha256_text(digest, name);
    vf_text_free(&text);
    return good;
}

static bool is_cached(const struct vf_cuda *cuda, const char *text)
{
    struct vf_cache_key key = cuda->key;
    void *cubin;
    size_t bytes;
    vf_cache_key_add_text(&key, text);
    const bool found = vf_cache_get(&cuda->cache, &key, &cubin, &bytes);
    vf_free(cubin);
    return found;
}

/* Whether the kernel of a choice, whole, is there: among those that came with the program or in the cache. */
static bool is_there(const struct vf_precompiled *precompiled, const struct vf_kernel_case *c,
                     const struct vf_ranked *choice)
{
    struct vf_text text = {0};
    struct vf_error ignored;
    void *ptx = NULL;
    size_t bytes;
    bool found = false;
    if (vf_kernel_source(c, choice->scheme, &choice->config, &text, &ignored) == VF_OK)
        found = choice->precompiled ? vf_precompiled_get(precompiled, text.data, &ptx, &bytes)
                                    : is_cached(precompiled->cuda, text.data);
    vf_free(ptx);
    vf_text_free(&text);
    return found;
}

/* What kernels.txt has of the case, by predicted time. */
static int rank_choices(const struct vf_precompiled *precompiled, const struct vf_kernel_case *c,
                        const struct vf_gpu *gpu, struct vf_ranked list[MOST_CHOICES])
{
    char name[VF_SHA256_DIGITS + 1];
    int count = 0;
    if (!name_case(c, name))
        return 0;
    for (int i = 0; i < precompiled->choices.count && count < MOST_CHOICES; i++) {
        const struct vf_tuned *entry = &precompiled->choices.entry[i];
        if (strcmp(entry->kernel_case, name) != 0 || vf_gpu_scheme_refuses(entry->scheme, c) != NULL ||
            vf_gpu_scheme_forbids(entry->scheme, c, gpu, &entry->config) != NULL)
            continue;
        struct vf_ranked choice = {.scheme = entry->scheme, .config = entry->config, .precompiled = true};
        vf_gpu_fit_grid(c, choice.scheme, &choice.config);
        choice.seconds = vf_gpu_predict(c, gpu, choice.scheme, &choice.config, 0, &choice.detail);
        int at = count++;
        for (; at > 0 && choice.seconds < list[at - 1].seconds; at--)
            list[at] = list[at - 1];
        list[at] = choice;
    }
    return count;
}

bool vf_precompiled_choose(const struct vf_precompiled *precompiled, const struct vf_kernel_case *c,
                           const struct vf_gpu *gpu, struct vf_ranked *best)
{
    struct vf_ranked list[MOST_CHOICES];
    if (is_there(precompiled, c, best))
        return true;
    const int count = rank_choices(precompiled, c, gpu, list);
    for (int i = 0; i < count; i++)
        if (is_there(precompiled, c, &list[i])) {
            *best = list[i];
            return true;
        }
    return false;
}

/* ---- making them ---- */

struct collection {
    struct vf_kernel_list *list;
    struct vf_text *lines;
};

static enum vf_status collect(void *context, const struct vf_kernel_case *c, const struct vf_launch *launch,
                              char *text, struct vf_error *error)
{
    const struct collection *into = context;
    struct vf_text line = {0};
    char name[VF_SHA256_DIGITS + 1], device[] = "ptx";
    if (name_case(c, name))
        vf_tuning_write_entry(&(struct vf_tuned){.device = device,
                                                 .kernel_case = name,
                                                 .scheme = launch->choice.scheme,
                                                 .config = launch->choice.config,
                                                 .copies = 1},
                              &line);
    if (line.data == NULL || line.failed) {
        vf_free(text);
        vf_text_free(&line);
        return vf_fail(error, VF_FAILED, "out of memory for the list of kernels");
    }
    if (into->lines->data == NULL || strstr(into->lines->data, line.data) == NULL)
        vf_text_add(into->lines, "%s", line.data);
    vf_text_free(&line);
    return vf_kernel_list_add(into->list, text, error);
}

enum vf_status vf_precompiled_collect(const struct vf_plan *plan, struct vf_kernel_list *list,
                                      struct vf_text *lines, struct vf_error *error)
{
    return vf_plan_each_kernel(plan, collect, &(struct collection){list, lines}, error);
}

enum vf_status vf_precompiled_make(const char *folder, const struct vf_kernel_list *list,
                                   const struct vf_text *lines, int *compiled, struct vf_error *error)
{
    struct vf_cuda maker = {.arch = VF_PTX_ARCH, .cache = {.bound = VF_CACHE_BOUND, .owner = geteuid()}};
    char path[PATH_MAX + 16];
    snprintf(maker.cache.path, sizeof maker.cache.path, "%s", folder);
    vf_kernel_key_begin(&maker.key, VF_PTX_ARCH);
    *compiled = vf_kernel_list_compile(list, &maker, SIZE_MAX);
    path_of_lines(&maker.cache, path);
    FILE *file = fopen(path, "we");
    bool is_written = file != NULL && fputs(lines->data != NULL ? lines->data : "", file) >= 0;
    if (file != NULL && fclose(file) != 0)
        is_written = false;
    if (!is_written)
        return vf_fail(error, VF_FAILED, "%.900s: cannot write: %s", path, vf_cause(errno));
    return VF_OK;
}
