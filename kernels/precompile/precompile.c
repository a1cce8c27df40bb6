/* precompile FOLDER: compiles the GPU kernels of the usual filters to PTX and puts them into FOLDER, for
 * machines without a run-time compiler (src/precompiled.h). No device is needed. Run by `make precompiled`.
 */
#include <stdio.h>

#include "chain.h"
#include "compile_ahead.h"
#include "cuda_reduce.h"
#include "nvrtc.h"
#include "plan.h"
#include "precompiled.h"

/* ---- what they are planned for ---- */

/* Within the limits of every device from capability 7.5 on, and in the middle of them in speed. */
static struct vf_gpu usual_gpu(void)
{
    return (struct vf_gpu){.name = "usual",
                           .capability = VF_PTX_CAPABILITY,
                           .multiprocessors = 72,
                           .warp = 32,
                           .block_threads = 1024,
                           .sm_threads = 1024,
                           .sm_blocks = 16,
                           .sm_registers = 65536,
                           .block_shared = 64 << 10,
                           .sm_shared = 64 << 10,
                           .l2 = (size_t)6 << 20,
                           .memory = (size_t)16 << 30,
                           .bandwidth = 8e11,
                           .clock = 1.5e9,
                           .double_ratio = 32};
}

/* Kernels know by how many cells rows end beyond whole packs of 4, and whether tiles do: one grid of each
 * kind, along x less than the size by this. */
static const int narrower[] = {0, 4, 3, 2, 1};
static const int size_of[4] = {[2] = 2048, [3] = 512};
enum { PLANES = 256 };

struct types {
    enum vf_type in, out;
};

/* Alone, and before other filters. */
static const struct types kept[] = {{VF_U8, VF_U8},  {VF_U16, VF_U16}, {VF_I16, VF_I16}, {VF_F32, VF_F32},
                                    {VF_U8, VF_F32}, {VF_U16, VF_F32}, {VF_I16, VF_F32}};
static const struct types to_float[] = {
    {VF_U8, VF_F32}, {VF_U16, VF_F32}, {VF_I16, VF_F32}, {VF_F32, VF_F32}};

/* Left out are `ced`, `and` and `srad`, to keep the set small, and `convolve`, whose weights are the user's.
 */
static const struct sample {
    const char *chain;
    const struct types *types;
    int type_count;
} samples[] = {
#define KEPT kept, sizeof kept / sizeof *kept
#define TO_FLOAT to_float, sizeof to_float / sizeof *to_float
    {"gaussian:sigma=0.5", KEPT},
    {"gaussian:sigma=1", KEPT},
    {"gaussian:sigma=1.5", KEPT},
    {"gaussian:sigma=2", KEPT},
    {"gaussian:sigma=3", KEPT},
    {"gaussian:sigma=4", KEPT},
    {"gaussian:sigma=5", KEPT},
    {"mean", KEPT},
    {"unsharp", KEPT},
    {"median", KEPT},
    {"gradient", TO_FLOAT},
    {"laplacian", TO_FLOAT},
    {"dog", TO_FLOAT},
    {"structure-tensor", TO_FLOAT},
    {"structure-tensor:output=coherence", TO_FLOAT},
    {"hessian", TO_FLOAT},
    {"perona-malik", KEPT},
    {"perona-malik:conductance=quadratic", KEPT},
    {"eed", KEPT},
};

/* ---- collecting ---- */

struct set {
    struct vf_kernel_list list;
    struct vf_text lines;
};

static enum vf_status add_plan(struct set *set, const struct vf_plan_request *request, struct vf_error *error)
{
    struct vf_plan plan;
    enum vf_status status = vf_plan_open(&plan, request, error);
    if (status != VF_OK)
        return status;
    status = vf_precompiled_collect(&plan, &set->list, &set->lines, error);
    vf_plan_close(&plan);
    return status;
}

static enum vf_status add_sample(struct set *set, const struct sample *sample, int dim,
                                 struct vf_error *error)
{
    const struct vf_gpu gpu = usual_gpu();
    struct vf_chain chain = {0};
    enum vf_status status = vf_chain_append(&chain, sample->chain, error);
    for (int t = 0; t < sample->type_count; t++)
        for (size_t i = 0; i < sizeof narrower / sizeof *narrower && status == VF_OK; i++) {
            struct vf_plan_request request = {.chain = &chain,
                                              .nx = size_of[dim] - narrower[i],
                                              .ny = size_of[dim],
                                              .nz = dim == 3 ? PLANES : 1,
                                              .batch = 1,
                                              .threads = 1,
                                              .gpu = &gpu,
                                              .source_type = sample->types[t].in,
                                              .result_type = sample->types[t].out};
            request.context.dim = dim;
            request.context.boundary = VF_NEAREST;
            for (int axis = 0; axis < 3; axis++)
                request.context.aspect[axis] = request.context.spacing[axis] = 1;
            status = add_plan(set, &request, error);
        }
    vf_chain_free(&chain);
    return status;
}

/* Global values: k=auto. A percentile fills the shared memory, of which there are these sizes. */
static enum vf_status add_reductions(struct set *set, struct vf_error *error)
{
    static const size_t shared[] = {64 << 10, 99 << 10, 163 << 10, 227 << 10};
    struct vf_gpu gpu = usual_gpu();
    enum vf_status status = VF_OK;
    for (size_t i = 0; i < sizeof shared / sizeof *shared && status == VF_OK; i++) {
        struct vf_text text = {0};
        gpu.block_shared = shared[i];
        vf_cuda_reduce_source(VF_REDUCE_PERCENTILE, false, &gpu, &text);
        status = text.failed ? vf_fail(error, VF_FAILED, "out of memory for a kernel's text")
                             : vf_kernel_list_add(&set->list, text.data, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct set set = {0};
    struct vf_error error;
    enum vf_status status = VF_OK;
    int compiled = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: precompile FOLDER\n");
        return VF_USAGE;
    }
    VF_TRY(vf_nvrtc_find(&error));
    for (int dim = 2; dim <= 3; dim++)
        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
            VF_TRY(add_sample(&set, &samples[i], dim, &error));
    VF_TRY(add_reductions(&set, &error));
    VF_TRY(vf_precompiled_make(argv[1], &set.list, &set.lines, &compiled, &error));
    printf("%d of %d kernels are compiled, in %s\n", compiled, set.list.count, argv[1]);
    if (compiled < set.list.count)
        status = vf_fail(&error, VF_FAILED, "%d kernels do not compile", set.list.count - compiled);
out:
    if (status != VF_OK)
        fprintf(stderr, "precompile: %s\n", error.text);
    vf_text_free(&set.lines);
    vf_kernel_list_free(&set.list);
    return status;
}
