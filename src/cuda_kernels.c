#include "cuda_kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "cuda_memory.h"
#include "cuda_transfer.h"
#include "kernel_source.h"

/* Configurations of a kernel that are compiled at most, and of one scheme, out of the best by prediction. */
#define MOST_COMPILED 5
#define MOST_OF_SCHEME 2
#define MOST_RANKED 64
/* Bytes of spilled registers a thread that double a kernel's time, roughly: 32 cost a Gaussian nothing that
 * shows on an H200, a kilobyte is a ruin. */
#define SPILL_DOUBLES 256.0
/* A compiled kernel that is predicted this much slower than the next candidate gives way to it. */
#define PATIENCE 1.15

#define TRY_CUDA(call, what) VF_TRY(vf_cuda_check(&cuda->api, cuda->api.call, what, error))

/* ---- parameters ---- */

static void set_param(const struct vf_flow *flow, void *param, int i, double value)
{
    if (flow->is_double)
        ((double *)param)[i] = value;
    else
        ((float *)param)[i] = (float)value;
}

/* In the compute type, where the stages look for them; NaN where a table has no weight. */
static void fill_params(const struct vf_flow *flow, void *param)
{
    for (int s = 0; s < flow->stage_count; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        const bool is_linear = stage->stencil == VF_STENCIL_LINEAR;
        const int first = vf_stage_first_param(flow, s);
        for (int i = 0; i < vf_stage_param_count(stage); i++)
            set_param(flow, param, first + i, is_linear ? NAN : stage->param[i]);
        for (int t = 0; is_linear && t < stage->taps->count; t++)
            set_param(flow, param, first + vf_tap_param(stage, t), stage->taps->tap[t].weight);
    }
}

static enum vf_status fill_args(struct vf_cuda_launch *kernel, struct vf_cuda *cuda, CUstream stream,
                                struct vf_error *error)
{
    const size_t bytes = (kernel->work.c.param_count + 2) * vf_kernel_element(&kernel->work.c);
    const bool in_memory = kernel->work.c.param_count > VF_MOST_KERNEL_PARAMS;
    enum vf_status status = VF_OK;
    kernel->args = vf_alloc(sizeof *kernel->args + bytes, 1, "a kernel's arguments", error);
    if (kernel->args == NULL)
        return VF_FAILED;
    memset(kernel->args, 0, sizeof *kernel->args + bytes);
    fill_params(&kernel->work.flow, kernel->args + 1);
    if (in_memory) {
        VF_TRY(vf_cuda_check(&cuda->api, vf_cuda_take(cuda, &kernel->table, bytes),
                             "allocating device memory", error));
        TRY_CUDA(cuMemcpyHtoDAsync(kernel->table, kernel->args + 1, bytes, stream), "uploading parameters");
        /* They are not pinned, and may be freed before the kernel runs. */
        TRY_CUDA(cuStreamSynchronize(stream), "uploading parameters");
    }
out:
    return status;
}

/* ---- compiling ---- */

/* Compiles one configuration; *seconds is what the model says of what came out, negative where a block does
 * not fit. */
static enum vf_status compile(struct vf_cuda_launch *kernel, struct vf_cuda *cuda,
                              const struct vf_ranked *choice, double *seconds, struct vf_error *error)
{
    struct vf_text text = {0};
    const struct vf_kernel_case *c = &kernel->work.c;
    const int threads = choice->config.block[0] * choice->config.block[1] * choice->config.block[2];
    enum vf_status status;
    *seconds = -1;
    VF_TRY(vf_kernel_source(c, choice->scheme, &choice->config, &text, error));
    status = vf_cuda_kernel(cuda, text.data, &kernel->made.compiled, error);
    if (status != VF_OK) {
        status = VF_DEVICE;
        goto out;
    }
    kernel->made.scheme = choice->scheme;
    kernel->made.config = choice->config;
    kernel->made.shared = vf_gpu_shared(choice->scheme, c, &choice->config);
    if (kernel->made.shared > 48 << 10)
        TRY_CUDA(cuFuncSetAttribute(kernel->made.compiled.function,
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)kernel->made.shared),
                 "requesting shared memory");
    TRY_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                 &kernel->made.resident, kernel->made.compiled.function, threads, kernel->made.shared),
             "querying the occupancy");
    if (kernel->made.resident > 0 && threads <= kernel->made.compiled.block_threads)
        *seconds = vf_gpu_predict(c, &cuda->gpu, choice->scheme, &choice->config,
                                  kernel->made.compiled.registers, NULL) *
                   (1 + kernel->made.compiled.local_bytes / SPILL_DOUBLES);
out:
    vf_text_free(&text);
    return status;
}

static bool is_same(const struct vf_ranked *a, const struct vf_ranked *b)
{
    return a->scheme == b->scheme && vf_config_equal(&a->config, &b->config);
}

/* Fills up a list that begins with the plan's choice: the next best by prediction, a few of each scheme. How
 * many there are. */
static int list_others(const struct vf_cuda_launch *kernel, const struct vf_gpu *gpu,
                       struct vf_ranked list[MOST_COMPILED])
{
    struct vf_ranked ranked[MOST_RANKED];
    const int all = vf_gpu_rank(&kernel->work.c, gpu, NULL, ranked, MOST_RANKED);
    int count = 1;
    for (int i = 0; i < all && count < MOST_COMPILED; i++) {
        int alike = 0;
        for (int k = 0; k < count; k++)
            alike += list[k].scheme == ranked[i].scheme;
        if (alike < MOST_OF_SCHEME && !is_same(&ranked[i], &list[0]))
            list[count++] = ranked[i];
    }
    return count;
}

static bool is_other(const struct vf_cuda_launch *kernel, const struct vf_launch *launch)
{
    return kernel->made.scheme != launch->choice.scheme ||
           !vf_config_equal(&kernel->made.config, &launch->choice.config);
}

/* For who asks, as --explain names the plan's choice; `why` is empty, or why that does not compile. */
static void note_other(const struct vf_cuda_launch *kernel, struct vf_cuda *cuda,
                       const struct vf_launch *launch, const struct vf_error *why)
{
    const struct vf_flow *flow = &kernel->work.flow;
    const int *planned = launch->choice.config.block, *taken = kernel->made.config.block;
    const int stages = flow->stage_count;
    snprintf(cuda->replaced, sizeof cuda->replaced,
             "%s%s%s, by %s, block %dx%dx%d, not %s, block %dx%dx%d%s%.*s",
             stages > 0 ? flow->stage[0].name : "copy", stages > 1 ? " to " : "",
             stages > 1 ? flow->stage[stages - 1].name : "", kernel->made.scheme->name, taken[0], taken[1],
             taken[2], launch->choice.scheme->name, planned[0], planned[1], planned[2],
             why->text[0] != '\0' ? ": " : "", (int)strcspn(why->text, "\n"), why->text);
}

/* Compiles the plan's choice, and takes it if it was measured or came out as predicted; else the best of some
 * others, by what the model says of their compiled registers and spills. */
static enum vf_status choose(struct vf_cuda_launch *kernel, struct vf_cuda *cuda,
                             const struct vf_launch *launch, struct vf_error *error)
{
    struct vf_ranked list[MOST_COMPILED] = {launch->choice};
    int count = 1, best = -1, latest = -1;
    double least = INFINITY;
    struct vf_error why = {.text = ""};
    enum vf_status status = VF_OK;
    for (int i = 0; i < count && least > PATIENCE * list[i].seconds; i++) {
        double seconds;
        status = compile(kernel, cuda, &list[i], &seconds, error);
        latest = i;
        if (i == 0 && status != VF_OK)
            why = *error;
        if (status == VF_OK && seconds >= 0 && seconds < least) {
            best = i;
            least = seconds;
        }
        if (best == 0 && launch->choice.tuned)
            break;
        if (i == 0 && !launch->forced && !launch->choice.precompiled &&
            least > PATIENCE * launch->choice.seconds)
            count = list_others(kernel, &cuda->gpu, list);
    }
    if (best < 0) {
        if (launch->forced || launch->choice.precompiled || !kernel->work.c.shallow)
            return status != VF_OK ? status
                                   : vf_fail(error, VF_DEVICE,
                                             "scheme %s: its kernel needs more resources than the device "
                                             "has; use a smaller block or another scheme",
                                             launch->choice.scheme->name);
        const struct vf_forced safe = {
            .scheme = &vf_gpu_global_read, .variant = -1, .grid = -1, .virtual_blocks = -1, .interior = -1};
        if (vf_gpu_rank(&kernel->work.c, &cuda->gpu, &safe, list, 1) == 0)
            return vf_fail(error, VF_DEVICE, "no kernel fits the device");
        best = 0;
        latest = -1;
    }
    status = best == latest ? VF_OK : compile(kernel, cuda, &list[best], &least, error);
    if (status == VF_OK && is_other(kernel, launch))
        note_other(kernel, cuda, launch, &why);
    return status;
}

/* ---- a launch ---- */

static bool grids_alike(const struct vf_kernel_case *a, const struct vf_kernel_case *b)
{
    return a->nx == b->nx && a->ny == b->ny && a->nz == b->nz &&
           memcmp(a->source_type, b->source_type, sizeof a->source_type) == 0 &&
           memcmp(a->sink_type, b->sink_type, sizeof a->sink_type) == 0;
}

/* Launches that are alike in a plan, and in its copies, have the same stages; a job may have another grid. */
static bool recall(struct vf_cuda_launch *kernel, struct vf_cuda *cuda, unsigned long plan,
                   const struct vf_launch *launch)
{
    for (int i = 0; i < VF_REMEMBERED_LAUNCHES && i < cuda->remembered_count; i++) {
        const struct vf_cuda_remembered *known = &cuda->remembered[i];
        if (known->plan == plan && known->launch == launch->alike && known->scheme == launch->choice.scheme &&
            vf_config_equal(&known->config, &launch->choice.config) &&
            grids_alike(&known->c, &kernel->work.c)) {
            kernel->made = known->made;
            cuda->recalled_count++;
            return true;
        }
    }
    return false;
}

/* Plans without a number, 0, are not asked for again. */
static void remember(const struct vf_cuda_launch *kernel, struct vf_cuda *cuda, unsigned long plan,
                     const struct vf_launch *launch)
{
    if (plan == 0)
        return;
    struct vf_cuda_remembered *known = &cuda->remembered[cuda->remembered_count++ % VF_REMEMBERED_LAUNCHES];
    *known = (struct vf_cuda_remembered){.plan = plan,
                                         .launch = launch->alike,
                                         .scheme = launch->choice.scheme,
                                         .config = launch->choice.config,
                                         .c = kernel->work.c,
                                         .made = kernel->made};
    known->c.flow = NULL;
}

enum vf_status vf_cuda_launch_open(struct vf_cuda_launch *kernel, struct vf_cuda *cuda,
                                   const struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                   const struct vf_launch *launch, CUstream stream, struct vf_error *error)
{
    enum vf_status status;
    VF_TRY(vf_kernel_work_open(&kernel->work, plan, request, launch, error));
    if (!recall(kernel, cuda, plan->number, launch)) {
        VF_TRY(choose(kernel, cuda, launch, error));
        remember(kernel, cuda, plan->number, launch);
    }
    cuda->replaced_count += is_other(kernel, launch);
    VF_TRY(fill_args(kernel, cuda, stream, error));
out:
    return status;
}

void vf_cuda_launch_close(struct vf_cuda_launch *kernel, struct vf_cuda *cuda)
{
    vf_cuda_give_back(cuda, kernel->table);
    vf_free(kernel->args);
    vf_kernel_work_close(&kernel->work);
    *kernel = (struct vf_cuda_launch){.table = 0};
}

enum vf_status vf_cuda_launch_start(struct vf_cuda_launch *kernel, const struct vf_cuda *cuda,
                                    CUstream stream, struct vf_error *error)
{
    struct vf_kernel_args *args = kernel->args;
    const struct vf_kernel_config *config = &kernel->made.config;
    ptrdiff_t tiles[3];
    kernel->work.c.nz = args->z_end - args->z_begin;
    vf_gpu_tiles(&kernel->work.c, kernel->made.scheme, config, tiles);
    for (int axis = 0; axis < 3; axis++)
        args->tiles[axis] = (int)tiles[axis];
    args->table = kernel->table;
    const bool flat = config->flat_grid || config->virtual_blocks;
    const ptrdiff_t resident = (ptrdiff_t)kernel->made.resident * cuda->gpu.multiprocessors;
    ptrdiff_t blocks = tiles[0] * tiles[1] * tiles[2];
    if (config->virtual_blocks && blocks > resident)
        blocks = resident;
    if (blocks > INT32_MAX)
        return vf_fail(error, VF_DEVICE, "the grid has more tiles than a launch can take");
    const struct vf_cuda_grid grid = {
        .blocks = {(unsigned)(flat ? blocks : tiles[0]), flat ? 1 : (unsigned)tiles[1],
                   flat ? 1 : (unsigned)tiles[2]},
        .threads = {(unsigned)config->block[0], (unsigned)config->block[1], (unsigned)config->block[2]},
        .shared = kernel->made.shared};
    return vf_cuda_kernel_start(&cuda->api, &kernel->made.compiled, &grid, stream, args, error);
}
