#include "kernels/gpu_scheme.h"

static const char *refuses(const struct vf_kernel_case *c)
{
    return c->shallow ? NULL : "a stage reads neighbours of what an earlier one makes";
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    (void)c;
    (void)config;
    return 0;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    if (config->stream > 0)
        return "global-read does not stream";
    return vf_kernel_limits(c, gpu, config, 0);
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shapes[][3] = {{32, 4, 2}, {32, 8, 1}, {64, 4, 1}, {128, 1, 1}, {256, 1, 1}, {32, 4, 1}};
    int count = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && count < room; i++) {
        const struct vf_kernel_config config = {
            .block = {shapes[i][0], shapes[i][1], shapes[i][2]}, .work = {1, 1, 1}, .interior = true};
        if (forbids(c, gpu, &config) == NULL)
            list[count++] = config;
    }
    return count;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    (void)c;
    for (int axis = 0; axis < 3; axis++)
        size[axis] = (ptrdiff_t)config->block[axis] * config->work[axis];
}

const struct vf_gpu_scheme vf_gpu_global_read = {
    .name = "global-read",
    .summary = "every thread reads its own neighbourhood through the caches",
    .file = "kernels/global_read.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
};
