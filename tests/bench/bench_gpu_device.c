#include "bench_gpu_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define L2_TIMES 3 /* arrays that take turns are this much larger than L2 */
#define THREADS 256

void bench_must_cuda(const struct bench_device *device, CUresult result, const char *what)
{
    struct vf_error error;
    bench_must(vf_cuda_check(&device->cuda->api, result, what, &error), &error);
}

#define CUDA(call) bench_must_cuda(device, device->cuda->api.call, #call)

void bench_device_open(struct bench_device *device, int repeats)
{
    struct vf_error error;
    *device = (struct bench_device){.repeats = repeats, .seed = (unsigned)time(NULL)};
    bench_must(vf_cuda_open(&device->cuda, &error), &error);
    device->cuda->strict = true;
    srand(device->seed);
}

void bench_device_close(struct bench_device *device)
{
    vf_cuda_close(device->cuda);
}

/* ---- arrays ---- */

size_t bench_array_bytes(struct bench_grid grid, enum vf_type type)
{
    return (size_t)vf_gpu_pitch(grid.nx) * (size_t)(grid.ny * grid.nz) * vf_type_size(type);
}

CUdeviceptr bench_array_alloc(struct bench_device *device, size_t bytes)
{
    CUdeviceptr array;
    CUDA(cuMemAlloc(&array, bytes));
    return array;
}

void bench_array_free(struct bench_device *device, CUdeviceptr array)
{
    CUDA(cuMemFree(array));
}

/* ---- random values ---- */

#define HASH                                \
    unsigned h = cell * 2654435761u ^ seed; \
    h ^= h >> 16;                           \
    h *= 0x7feb352du;                       \
    h ^= h >> 15;                           \
    h *= 0x846ca68bu;                       \
    h ^= h >> 16;
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

struct bench_random bench_random_of(const struct bench_device *device, int number, enum vf_type type,
                                    double low, double high)
{
    return (struct bench_random){device->seed + 0x9e3779b9u * (unsigned)number, type, low, high};
}

static bool is_real(enum vf_type type)
{
    return type == VF_F32 || type == VF_F64;
}

/* Integers: how many there are. Others: what one of 2^24 steps is, in the type. */
static double step_of(const struct bench_random *random)
{
    const double step = (random->high - random->low) * 0x1p-24;
    return !is_real(random->type)   ? random->high - random->low + 1
           : random->type == VF_F32 ? (double)(float)step
                                    : step;
}

double bench_random_value(const struct bench_random *random, unsigned cell)
{
    const unsigned seed = random->seed;
    const double step = step_of(random);
    HASH if (!is_real(random->type)) return (double)(h % (unsigned)step) + random->low;
    if (random->type == VF_F32)
        return (double)((float)(h >> 8) * (float)step + (float)random->low);
    return (double)(h >> 8) * step + random->low;
}

struct fill_args {
    CUdeviceptr to;
    long long pitch;
    double low, step;
    int nx;
    unsigned seed;
};

static const char fill_text[] =
    "struct VfArgs { element *to; long long pitch; double low, step; int nx; unsigned seed; };\n"
    "extern \"C\" __global__ void vf_kernel(const __grid_constant__ VfArgs args)\n"
    "{\n"
    "    const int x = blockIdx.y * blockDim.x + threadIdx.x;\n"
    "    const unsigned cell = blockIdx.x * (unsigned)args.nx + x, seed = args.seed;\n"
    "    if (x >= args.nx)\n"
    "        return;\n"
    "    " TEXT(HASH) "\n"
                      "    element *const to = args.to + blockIdx.x * args.pitch + x;\n"
                      "    if (IS_REAL)\n"
                      "        *to = (element)(h >> 8) * (element)args.step + (element)args.low;\n"
                      "    else\n"
                      "        *to = (element)((int)(h % (unsigned)args.step) + (int)args.low);\n"
                      "}\n"
                      "#ifdef VF_ON_CPU\n"
                      "VF_ENTRY(VfArgs)\n"
                      "#endif\n";

static struct vf_cuda_kernel kernel_of(struct bench_device *device, const char *head, const char *text)
{
    char whole[4096];
    struct vf_cuda_kernel kernel;
    struct vf_error error;
    snprintf(whole, sizeof whole, "%s%s", head, text);
    bench_must(vf_cuda_kernel(device->cuda, whole, &kernel, &error), &error);
    return kernel;
}

void bench_array_fill(struct bench_device *device, CUdeviceptr array, struct bench_grid grid, bool poisoned,
                      const struct bench_random *random)
{
    static const char *const name[] = {
        [VF_U8] = "unsigned char", [VF_I8] = "signed char", [VF_U16] = "unsigned short", [VF_I16] = "short",
        [VF_U32] = "unsigned int", [VF_I32] = "int",        [VF_F32] = "float",          [VF_F64] = "double"};
    struct fill_args args = {
        array, (long long)vf_gpu_pitch(grid.nx), random->low, step_of(random), (int)grid.nx, random->seed};
    void *params[] = {&args};
    char head[128];
    snprintf(head, sizeof head, "typedef %s element;\n#define IS_REAL %d\n", name[random->type],
             is_real(random->type));
    const struct vf_cuda_kernel kernel = kernel_of(device, head, fill_text);
    CUDA(cuMemsetD8Async(array, poisoned ? 0xff : 0, bench_array_bytes(grid, random->type), NULL));
    CUDA(cuLaunchKernel(kernel.function, (unsigned)(grid.ny * grid.nz),
                        (unsigned)((grid.nx + THREADS - 1) / THREADS), 1, THREADS, 1, 1, 0, NULL, params,
                        NULL));
    CUDA(cuStreamSynchronize(NULL));
}

void bench_array_poison(struct bench_device *device, CUdeviceptr array, size_t bytes)
{
    CUDA(cuMemsetD8Async(array, 0xa5, bytes, NULL));
    CUDA(cuStreamSynchronize(NULL));
}

/* ---- times ---- */

double bench_time(const struct bench_device *device, CUstream stream, const struct vf_cuda_work *work)
{
    struct vf_error error;
    double seconds;
    bench_must(vf_cuda_time(device->cuda, stream, work, device->repeats, &seconds, &error), &error);
    return seconds;
}

/* ---- copies ---- */

int bench_turns(const struct bench_device *device, size_t bytes)
{
    int turns = 1;
    while (turns < BENCH_MOST_TURNS && (size_t)turns * bytes < L2_TIMES * device->cuda->gpu.l2)
        turns++;
    return turns;
}

struct copy_args {
    CUdeviceptr to, from;
    unsigned long long count;
};

static const char copy_text[] =
    "#include \"kernels/device_words.h\"\n"
    "struct alignas(16) pack { float v[4]; };\n"
    "struct VfArgs { pack *to; const pack *from; unsigned long long count; };\n"
    "extern \"C\" __global__ void vf_kernel(const __grid_constant__ VfArgs args)\n"
    "{\n"
    "    vf_wait_for_earlier_kernels();\n"
    "    const unsigned long long first = blockIdx.x * (unsigned long long)(PACKS * blockDim.x) + "
    "threadIdx.x;\n"
    "    for (int i = 0; i < PACKS; i++) {\n"
    "        const unsigned long long at = first + i * blockDim.x;\n"
    "        if (at < args.count)\n"
    "            args.to[at] = args.from[at];\n"
    "    }\n"
    "}\n"
    "VF_ENTRY(VfArgs)\n";

struct copy {
    struct bench_device *device;
    struct vf_cuda_kernel kernel;
    int packs, turns;
    struct copy_args args[BENCH_MOST_TURNS];
};

static enum vf_status launch_copy(void *context, int turn, struct vf_error *error)
{
    struct copy *copy = context;
    struct bench_device *device = copy->device;
    struct copy_args *args = &copy->args[turn % copy->turns];
    const unsigned long long block = (unsigned long long)THREADS * (unsigned)copy->packs;
    const struct vf_cuda_grid grid = {.blocks = {(unsigned)((args->count + block - 1) / block), 1, 1},
                                      .threads = {THREADS, 1, 1}};
    return vf_cuda_kernel_start(&device->cuda->api, &copy->kernel, &grid, NULL, args, error);
}

/* The faster of one and of four packs a thread. */
static double time_copy(struct bench_device *device, size_t bytes)
{
    struct copy copy = {.device = device, .packs = 1, .turns = bench_turns(device, 2 * bytes)};
    double least = INFINITY;
    for (int i = 0; i < copy.turns; i++) {
        copy.args[i] = (struct copy_args){bench_array_alloc(device, bytes), bench_array_alloc(device, bytes),
                                          bytes / 16};
        CUDA(cuMemsetD8Async(copy.args[i].from, 0x3c, bytes, NULL));
    }
    for (int packs = 1; packs <= 4; packs *= 4) {
        char head[64];
        copy.packs = packs;
        snprintf(head, sizeof head, "#define PACKS %d\n", copy.packs);
        copy.kernel = kernel_of(device, head, copy_text);
        least = fmin(least, bench_time(device, NULL, &(struct vf_cuda_work){launch_copy, &copy}));
    }
    for (int i = 0; i < copy.turns; i++) {
        bench_array_free(device, copy.args[i].to);
        bench_array_free(device, copy.args[i].from);
    }
    return least;
}

double bench_device_copy(struct bench_device *device, size_t bytes)
{
    const int room = sizeof device->copied / sizeof *device->copied;
    for (int i = 0; i < device->copied_count; i++)
        if (device->copied[i].bytes == bytes)
            return device->copied[i].seconds;
    const double seconds = time_copy(device, bytes);
    if (device->copied_count < room)
        device->copied[device->copied_count++] = (struct bench_copied){bytes, seconds};
    return seconds;
}
