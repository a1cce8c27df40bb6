/* The stand-in for a GPU is itself tested: what it computes, and that it sees what a device leaves undefined.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "nvrtc.h"

enum { N = 1000, ILLEGAL_ADDRESS = 700 };

/* ---- a device and its work ---- */

static struct vf_cuda_api cuda;
static struct vf_nvrtc_api nvrtc;

/* What every kernel of these tests is given. */
struct args {
    const void *in;
    void *out;
    int n;
};

#define ARGS                                                                 \
    "#ifdef VF_ON_CPU\n"                                                     \
    "#define VF_SHARED_MEMORY(name) unsigned char *name = vf_cpu_shared()\n" \
    "#endif\n"                                                               \
    "struct args { const float *in; float *out; int n; };\n"
#define KERNEL(body)                                                                                         \
    ARGS "extern \"C\" __global__ void vf_kernel(const __grid_constant__ args a) {" body "}\nVF_ENTRY(args)" \
         "\n"

#define WORKS(call) cr_assert_eq(cuda.call, CUDA_SUCCESS, "%s", #call)

static void open_device(void)
{
    struct vf_error error;
    char name[64];
    CUdevice device;
    CUcontext context;
    cr_assert_eq(vf_cuda_api_open(&cuda, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_nvrtc_api_open(&nvrtc, &error), VF_OK, "%s", error.text);
    WORKS(cuInit(0));
    WORKS(cuDeviceGet(&device, 0));
    WORKS(cuDeviceGetName(name, sizeof name, device));
    if (strcmp(name, "Fake GPU") != 0)
        cr_skip_test("a real GPU");
    WORKS(cuDevicePrimaryCtxRetain(&context, device));
    WORKS(cuCtxSetCurrent(context));
}

static void close_device(void)
{
    cuda.cuDevicePrimaryCtxRelease(0);
}

TestSuite(fake_cuda, .init = open_device, .fini = close_device);

static CUfunction load(const char *text, CUmodule *module)
{
    void *code;
    size_t bytes;
    struct vf_error error;
    CUfunction function;
    cr_assert_eq(vf_nvrtc_compile(&nvrtc, text, "test.cu", NULL, 0, "sm_90", &code, &bytes, &error), VF_OK,
                 "%s", error.text);
    WORKS(cuModuleLoadData(module, code));
    vf_free(code);
    WORKS(cuModuleGetFunction(&function, *module, "vf_kernel"));
    return function;
}

/* Floats 0, 1, 2 ... go in; out has n of them. One block of (x, y), or several along x. */
static void run(const char *text, unsigned int blocks, unsigned int x, unsigned int y, unsigned int shared,
                float *out, int n)
{
    float in[N];
    CUmodule module;
    CUdeviceptr from, to;
    const CUfunction function = load(text, &module);
    const size_t bytes = (size_t)n * sizeof *out;
    for (int i = 0; i < n; i++)
        in[i] = (float)i;
    WORKS(cuMemAlloc(&from, bytes));
    WORKS(cuMemAlloc(&to, bytes));
    WORKS(cuMemcpyHtoDAsync(from, in, bytes, NULL));
    struct args args = {(void *)(uintptr_t)from, (void *)(uintptr_t)to, n};
    WORKS(cuLaunchKernel(function, blocks, 1, 1, x, y, 1, shared, NULL, (void *[]){&args}, NULL));
    WORKS(cuMemcpyDtoHAsync(out, to, bytes, NULL));
    WORKS(cuStreamSynchronize(NULL));
    WORKS(cuMemFree(from));
    WORKS(cuMemFree(to));
    WORKS(cuModuleUnload(module));
}

/* Runs `body` in a process of its own and gives its status; `said` is what it wrote to stderr. */
static int status_of(void (*body)(void), char said[4096])
{
    int ends[2], status;
    size_t length = 0;
    cr_assert_eq(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + length, 4095 - length)) > 0;)
        length += (size_t)got;
    said[length] = '\0';
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

static void expect_end(void (*body)(void), const char *with)
{
    char said[4096];
    const int status = status_of(body, said);
    cr_expect(!WIFEXITED(status) || WEXITSTATUS(status) != 0, "it went on");
    cr_expect(strstr(said, with), "\"%s\" is not in:\n%s", with, said);
}

/* ---- what kernels do ---- */

Test(fake_cuda, adds_vectors)
{
    float out[N];
    run(KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < a.n) a.out[i] = a.in[i] + a.in[i];"),
        16, 64, 1, 0, out, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(out[i], (float)(2 * i));
}

Test(fake_cuda, leaves_what_is_not_written_undefined)
{
    float out[4];
    run(KERNEL("VF_SHARED_MEMORY(s); a.out[0] = *(float *)s; a.out[2] = 7;"), 1, 1, 1, 4, out, 4);
    cr_expect(isnan(out[0]) && isnan(out[1]) && out[2] == 7 && isnan(out[3]));
}

#define REVERSE                                                                                             \
    KERNEL("VF_SHARED_MEMORY(s); float *v = (float *)s;"                                                    \
           "int t = threadIdx.y * blockDim.x + threadIdx.x, m = blockDim.x * blockDim.y, i = blockIdx.x * " \
           "m + t;"                                                                                         \
           "for (int k = 0; k < 3; k++) {"                                                                  \
           "    v[t] = k == 0 ? a.in[i] : a.out[i]; __syncthreads();"                                       \
           "    a.out[i] = v[m - 1 - t]; __syncthreads(); }")

Test(fake_cuda, reverses_in_any_order)
{
    static const char *const orders[] = {"forward", "reverse", "shuffle", "shuffle:5"};
    for (int k = 0; k < 8; k++) {
        float out[N];
        setenv("FAKE_CUDA_ORDER", orders[k % 4], 1);
        setenv("FAKE_CUDA_THREADS", k < 4 ? "1" : "3", 1);
        run(REVERSE, 10, 20, 5, 400, out, N);
        for (int i = 0; i < N; i++)
            cr_assert_eq(out[i], (float)(i / 100 * 100 + 99 - i % 100), "%s", orders[k % 4]);
    }
}

/* Without a barrier the result depends on the order. */
Test(fake_cuda, orders_show_a_race)
{
    static const char race[] = KERNEL("VF_SHARED_MEMORY(s); float *v = (float *)s; int t = threadIdx.x;"
                                      "v[t] = a.in[t]; a.out[t] = v[(t + 1) % a.n];");
    float out[2][64];
    for (int k = 0; k < 2; k++) {
        setenv("FAKE_CUDA_ORDER", k == 0 ? "forward" : "reverse", 1);
        run(race, 1, 64, 1, 256, out[k], 64);
    }
    cr_expect_neq(memcmp(out[0], out[1], sizeof out[0]), 0);
}

/* Threads that have returned are not waited for, whether before or after the others arrive. */
Test(fake_cuda, ended_threads_pass_barriers)
{
    for (int k = 0; k < 2; k++) {
        float out[64];
        setenv("FAKE_CUDA_ORDER", k == 0 ? "forward" : "reverse", 1);
        run(KERNEL("VF_SHARED_MEMORY(s); float *v = (float *)s; int t = threadIdx.x;"
                   "a.out[t] = -1; if (t >= 40) return;"
                   "v[t] = a.in[t]; __syncthreads(); a.out[t] = v[39 - t] + __shfl_sync(~0u, v[t], t ^ 1);"),
            1, 64, 1, 256, out, 64);
        for (int t = 0; t < 64; t++)
            cr_expect_eq(out[t], t < 40 ? (float)(39 - t + (t ^ 1)) : -1);
    }
}

/* The last warp has 16 lanes. */
Test(fake_cuda, scans_a_warp)
{
    for (int k = 0; k < 2; k++) {
        float out[80];
        setenv("FAKE_CUDA_ORDER", k == 0 ? "forward" : "reverse", 1);
        run(KERNEL("int t = threadIdx.x, lane = t % 32; double sum = a.in[t];"
                   "for (int d = 1; d < 32; d *= 2) {"
                   "    double other = __shfl_up_sync(0xffffffffu, sum, d); if (lane >= d) sum += other; }"
                   "a.out[t] = (float)sum;"),
            1, 80, 1, 0, out, 80);
        for (int t = 0, sum = 0; t < 80; t++) {
            sum = t % 32 == 0 ? t : sum + t;
            cr_expect_eq(out[t], (float)sum);
        }
    }
}

/* Bit i of a thread's result is whether its collective i gave what it should. */
Test(fake_cuda, warp_collectives)
{
    static const char text[] =
        KERNEL("int t = threadIdx.x, segment = t & ~7, ok = 0; unsigned all = 0xffffffffu;"
               "long long wide = 0x100000000ll * t + 1;"
               "ok |= (__shfl_sync(all, wide, 5) == 0x500000001ll) << 0;"
               "ok |= (__shfl_sync(all, t, 13, 8) == segment + 5) << 1;"
               "ok |= (__shfl_up_sync(all, (float)t, 3, 8) == (t - 3 < segment ? t : t - 3)) << 2;"
               "ok |= (__shfl_down_sync(all, (unsigned)t, 3, 8) == (unsigned)(t + 3 > segment + 7 ? t : t + "
               "3)) << 3;"
               "ok |= (__shfl_xor_sync(all, t, 5) == (t ^ 5)) << 4;"
               "ok |= (__ballot_sync(all, t % 3 == 0) == 0x49249249u) << 5;"
               "ok |= (__any_sync(all, t == 7) == 1 && __any_sync(all, 0) == 0) << 6;"
               "ok |= (__all_sync(all, t < 32) == 1 && __all_sync(all, t < 31) == 0) << 7;"
               "if (t >= 24) ok |= (__shfl_xor_sync(0xff000000u, t, 1) == (t ^ 1) &&"
               "                    __ballot_sync(0xff000000u, 1) == 0xff000000u) << 8;"
               "else ok |= 1 << 8;"
               "__syncwarp(); a.out[t] = ok;");
    for (int k = 0; k < 2; k++) {
        float out[32];
        setenv("FAKE_CUDA_ORDER", k == 0 ? "forward" : "reverse", 1);
        run(text, 1, 32, 1, 0, out, 32);
        for (int t = 0; t < 32; t++)
            cr_expect_eq((int)out[t], 0x1ff, "lane %d: %x", t, (unsigned int)out[t]);
    }
}

/* Memory begins as -1 in every int. */
Test(fake_cuda, atomics_on_several_threads)
{
    static const char text[] =
        KERNEL("int b = blockIdx.x, i = b * blockDim.x + threadIdx.x; float *out = a.out;"
               "if (threadIdx.x == 0) out[10 + b] = 0; __syncthreads(); atomicAdd(out + 10 + b, 1.0f);"
               "atomicAdd((int *)out + 1, i - 100); atomicMin((int *)out + 2, i - 500);"
               "atomicMax((int *)out + 3, i); atomicMin((unsigned *)out + 4, (unsigned)i);"
               "atomicAdd((unsigned long long *)out + 3, 0x100000000ull); atomicAnd((unsigned *)out + 8, "
               "~(1u << i % 31));"
               "if (atomicCAS((int *)out, -1, i) == -1) atomicExch((int *)out + 9, 5);");
    float out[20];
    int bits[20];
    setenv("FAKE_CUDA_THREADS", "4", 1);
    run(text, 10, 100, 1, 0, out, 20);
    memcpy(bits, out, sizeof bits);
    const int expected[] = {-1 + 999 * 1000 / 2 - 100 * 1000, -500, 999, 0, -1, -1, 999, INT32_MIN, 5};
    cr_expect(bits[0] >= 0 && bits[0] < 1000);
    for (int k = 1; k < 10; k++)
        if (k != 5)
            cr_expect_eq(bits[k], expected[k - 1], "%d: %d", k, bits[k]);
    for (int b = 0; b < 10; b++)
        cr_expect_eq(out[10 + b], 100);
}

/* As written, each rounded once; vectors are aligned as on a device. */
Test(fake_cuda, arithmetic)
{
    static const char text[] = KERNEL(
        "float x = 1 + 0x1p-12f * a.in[1], *o = a.out; double y = 1 + 0x1p-27 * a.in[1];"
        "*o++ = fmaf(x, x, -(1 + 0x1p-11f)); *o++ = x * x - (1 + 0x1p-11f); *o++ = (float)fma(y, y, -1 - "
        "0x1p-26);"
        "*o++ = sqrtf(2.0f) * a.in[1]; *o++ = rintf(2.5f * a.in[1]); *o++ = __float2int_rn(1e10f * a.in[1]);"
        "*o++ = __uint_as_float(0x40400000u); *o++ = min(-1, 2) + max(1.0f, 2.5f);"
        "*o++ = alignof(float4) + 100 * alignof(double2) + 10000 * alignof(uchar4) + 1000000 * "
        "alignof(ushort2);"
        "float4 v = make_float4(1, 2, 3, 4); *(float4 *)(a.out + 12) = __ldg(&v);");
    float out[16];
    run(text, 1, 1, 1, 0, out, 16);
    const float expected[] = {0x1p-24f, 0, 0x1p-54f, sqrtf(2), 2, 2147483647.0f, 3, 1.5f, 4041616};
    for (int i = 0; i < 9; i++)
        cr_expect_eq(out[i], expected[i], "%d: %a", i, (double)out[i]);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(out[12 + i], (float)(i + 1));
}

/* Half a stack of local memory in every thread, at barriers. */
Test(fake_cuda, threads_have_stacks_of_their_own)
{
    float out[256];
    run(KERNEL("float big[16384]; int t = threadIdx.x; for (int i = 0; i < 16384; i++) big[i] = t + i;"
               "__syncthreads(); float sum = 0; for (int i = 0; i < 16384; i += 4096) sum += big[i + t];"
               "a.out[t] = sum;"),
        1, 256, 1, 0, out, 256);
    for (int t = 0; t < 256; t++)
        cr_expect_eq(out[t], (float)(8 * t + 6 * 4096));
}

/* ---- what kernels must not do ---- */

static float ignored[N];

static void split_barrier(void)
{
    run(KERNEL("if (threadIdx.x < 32) __syncthreads();\nelse\n__syncthreads();"), 1, 64, 1, 0, ignored, 1);
}

static void missed_collective(void)
{
    run(KERNEL("if (threadIdx.x != 9) __shfl_sync(~0u, 1, 0);\n__syncthreads();"), 1, 64, 1, 0, ignored, 1);
}

static void split_collective(void)
{
    run(KERNEL("if (threadIdx.x != 9) __shfl_sync(~0u, 1, 0);\nelse\n__ballot_sync(~0u, 1);"), 1, 32, 1, 0,
        ignored, 1);
}

static void foreign_lane(void)
{
    run(KERNEL("__syncwarp(0xffff);"), 1, 32, 1, 0, ignored, 1);
}

Test(fake_cuda, threads_that_miss_each_other_abort)
{
    expect_end(split_barrier, "threads of a block are at different barriers");
    expect_end(missed_collective, "thread (0,0,0) of block (0,0,0) at test.cu:");
    expect_end(missed_collective, "thread (9,0,0) of block (0,0,0) at test.cu:");
    expect_end(split_collective, "lanes of a warp are at different collectives");
    expect_end(foreign_lane, "a lane is not in its own mask");
}

#ifdef __SANITIZE_ADDRESS__
static void beyond_shared(void)
{
    run(KERNEL("VF_SHARED_MEMORY(s); ((float *)s)[threadIdx.x + 1] = 1;"), 1, 64, 1, 256, ignored, 1);
}

static void beyond_memory(void)
{
    run(KERNEL("a.out[threadIdx.x] = 1;"), 1, 11, 1, 0, ignored, 10);
}

/* After other fibers have run in between. */
static void beyond_local(void)
{
    run(KERNEL("VF_SHARED_MEMORY(s); float v[8]; int t = threadIdx.x; float **at = (float **)s; at[t] = v;"
               "for (int i = 0; i < 8; i++) v[i] = t;"
               "__syncthreads(); at[t][t % a.n] = 1; a.out[0] = v[t % 8];"),
        1, 40, 1, 40 * sizeof(float *), ignored, 9);
}

Test(fake_cuda, sanitizer_sees_kernels)
{
    expect_end(beyond_shared, "heap-buffer-overflow");
    expect_end(beyond_memory, "heap-buffer-overflow");
    expect_end(beyond_local, "stack-buffer-overflow");
}
#endif

Test(fake_cuda, static_shared_memory_is_refused)
{
    struct vf_error error;
    void *code;
    size_t bytes;
    cr_expect_eq(vf_nvrtc_compile(&nvrtc, KERNEL("__shared__ float v[3]; v[0] = 1;"), "test.cu", NULL, 0,
                                  "sm_90", &code, &bytes, &error),
                 VF_FAILED);
    cr_expect(strstr(error.text, "VF_SHARED_MEMORY"), "%s", error.text);
}

/* ---- the compiler ---- */

Test(fake_cuda, says_why_a_text_does_not_compile)
{
    static const struct vf_text_header header = {"some/where/header.h", "int f() { return oops; }\n"};
    struct vf_error error;
    void *code;
    size_t bytes;
    cr_expect_eq(vf_nvrtc_compile(&nvrtc, "\n#include \"some/where/header.h\"\nint g = mistake;\n",
                                  "sweep.cu", &header, 1, "sm_90", &code, &bytes, &error),
                 VF_FAILED);
    cr_expect(strstr(error.text, "some/where/header.h:1:") && strstr(error.text, "oops"), "%s", error.text);
    cr_expect(strstr(error.text, "sweep.cu:3:") && strstr(error.text, "mistake"), "%s", error.text);
    setenv("FAKE_NVRTC_CXX", "no-such-compiler", 1);
    cr_expect_eq(vf_nvrtc_compile(&nvrtc, "", "empty.cu", NULL, 0, "sm_90", &code, &bytes, &error),
                 VF_FAILED);
    cr_expect(strstr(error.text, "no-such-compiler"), "%s", error.text);
}

Test(fake_cuda, macros_are_options)
{
    static const char *const options[] = {"-arch=sm_90", "-DONE=1", "--define-macro=TWO=1 + 1", "-D",
                                          "THREE=3"};
    nvrtcProgram program;
    cr_assert_eq(nvrtc.nvrtcCreateProgram(&program, "static_assert(ONE + TWO + THREE == 6, \"\");", "m.cu", 0,
                                          NULL, NULL),
                 NVRTC_SUCCESS);
    cr_expect_eq(nvrtc.nvrtcCompileProgram(program, 5, options), NVRTC_SUCCESS);
    cr_expect_neq(nvrtc.nvrtcCompileProgram(program, 4, options), NVRTC_SUCCESS);
    nvrtc.nvrtcDestroyProgram(&program);
    cr_expect_null(program);
}

/* ---- the driver ---- */

Test(fake_cuda, memory_ends)
{
    CUdeviceptr first, second;
    size_t left, total;
    setenv("FAKE_CUDA_MEMORY", "1000", 1);
    WORKS(cuMemAlloc(&first, 600));
    cr_expect_eq(cuda.cuMemAlloc(&second, 401), CUDA_ERROR_OUT_OF_MEMORY);
    WORKS(cuMemGetInfo(&left, &total));
    cr_expect(left == 400 && total == 1000);
    WORKS(cuMemFree(first));
    WORKS(cuMemAlloc(&second, 1000));
    WORKS(cuMemFree(second));
    cr_expect_eq(cuda.cuMemFree(second), CUDA_ERROR_INVALID_VALUE, "twice");
}

Test(fake_cuda, copies_stay_in_an_allocation)
{
    CUdeviceptr memory;
    char host[100] = {0};
    WORKS(cuMemAlloc(&memory, 100));
    WORKS(cuMemsetD8Async(memory, 7, 100, NULL));
    WORKS(cuMemcpyHtoDAsync(memory + 90, host, 10, NULL));
    cr_expect_eq(cuda.cuMemcpyHtoDAsync(memory + 91, host, 10, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuMemcpyDtoHAsync(host, memory - 1, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuMemcpyDtoDAsync(memory, memory + 1, 100, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuMemsetD8Async(memory + 1, 0, 100, NULL), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory,
                          .srcXInBytes = 5,
                          .srcY = 8,
                          .srcPitch = 10,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = host,
                          .dstPitch = 6,
                          .WidthInBytes = 5,
                          .Height = 2};
    WORKS(cuMemcpy2DAsync(&copy, NULL));
    for (int i = 0; i < 100; i++)
        cr_expect_eq(host[i], i < 5 ? 7 : 0, "%d", i);
    copy.Height = 3;
    cr_expect_eq(cuda.cuMemcpy2DAsync(&copy, NULL), CUDA_ERROR_INVALID_VALUE, "beyond the source");
    copy.Height = 2;
    copy.dstPitch = 4;
    cr_expect_eq(cuda.cuMemcpy2DAsync(&copy, NULL), CUDA_ERROR_INVALID_VALUE, "rows overlap");
    WORKS(cuMemFree(memory));
}

static CUresult launch(CUfunction function, unsigned int grid_y, unsigned int block, unsigned int shared)
{
    struct args args = {0};
    return cuda.cuLaunchKernel(function, 1, grid_y, 1, block, 1, 1, shared, NULL, (void *[]){&args}, NULL);
}

Test(fake_cuda, launches_are_within_limits)
{
    CUmodule module;
    const CUfunction function = load(KERNEL(""), &module);
    int blocks;
    cr_expect_eq(launch(function, 1, 1024, 48 << 10), CUDA_SUCCESS);
    cr_expect_eq(launch(function, 1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch(function, 65536, 1, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch(function, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch(function, 1, 1, (48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449),
                 CUDA_ERROR_INVALID_VALUE);
    WORKS(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    cr_expect_eq(launch(function, 1, 1, 232448), CUDA_SUCCESS);
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    cr_expect_eq(blocks, 8);
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 100 << 10));
    cr_expect_eq(blocks, 2);
    setenv("FAKE_CUDA_REGISTERS", "96", 1);
    cr_expect_neq(launch(function, 1, 1024, 0), CUDA_SUCCESS, "too many registers");
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    cr_expect_eq(blocks, 2);
    WORKS(cuModuleUnload(module));
}

Test(fake_cuda, handles_are_looked_at)
{
    CUmodule module;
    CUstream stream;
    CUevent event[2];
    float milliseconds;
    cr_expect_eq(
        cuda.cuModuleLoadData(&module, "no machine code, but long enough to be looked at as if it were"),
        CUDA_ERROR_INVALID_IMAGE);
    WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        WORKS(cuEventCreate(&event[i], CU_EVENT_DEFAULT));
    WORKS(cuEventRecord(event[0], stream));
    cr_expect_neq(cuda.cuEventElapsedTime(&milliseconds, event[0], event[1]), CUDA_SUCCESS, "not recorded");
    usleep(2000);
    WORKS(cuEventRecord(event[1], stream));
    WORKS(cuEventElapsedTime(&milliseconds, event[0], event[1]));
    cr_expect(milliseconds >= 2);
    for (int i = 0; i < 2; i++)
        WORKS(cuEventDestroy(event[i]));
    WORKS(cuStreamDestroy(stream));
    cr_expect_neq(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS, "destroyed");
    WORKS(cuCtxSetCurrent(NULL));
    cr_expect_neq(cuda.cuCtxSynchronize(), CUDA_SUCCESS, "no context");
}

Test(fake_cuda, devices_are_as_asked_for)
{
    int count, value;
    CUdevice device;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("FAKE_CUDA_CAPABILITY", "75", 1);
    setenv("FAKE_CUDA_ATTRIBUTES", "16=4,97=65536", 1);
    WORKS(cuDeviceGetCount(&count));
    cr_expect_eq(count, 2);
    WORKS(cuDeviceGet(&device, 1));
    cr_expect_neq(cuda.cuDeviceGet(&device, 2), CUDA_SUCCESS);
    static const int attributes[][2] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
                                        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 5},
                                        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
                                        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 65536},
                                        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32}};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        WORKS(cuDeviceGetAttribute(&value, attributes[i][0], 1));
        cr_expect_eq(value, attributes[i][1]);
    }
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    cr_expect_eq(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void leak(void)
{
    CUdeviceptr memory;
    CUstream stream;
    cuda.cuMemAlloc(&memory, 1234);
    cuda.cuStreamCreate(&stream, 0);
}

Test(fake_cuda, what_is_not_freed_is_reported)
{
    char said[4096];
    setenv("FAKE_CUDA_STRICT", "1", 1);
    expect_end(leak, "1 allocations of device memory were not freed");
    expect_end(leak, "1 streams were not freed");
    setenv("FAKE_CUDA_STRICT", "0", 1);
    status_of(leak, said);
    cr_expect(strstr(said, "1234 bytes"));
}

/* ---- failing calls ---- */

/* The number of the first call that failed, as exit status; 0: none did. */
static void call_in_turn(void)
{
    CUdeviceptr memory = 0;
    const char *text;
    nvrtcProgram program = NULL;
    int failed = 0;
    failed = failed == 0 && cuda.cuMemAlloc(&memory, 4) != CUDA_SUCCESS ? 1 : failed;
    cuda.cuGetErrorString(CUDA_SUCCESS, &text);
    failed = failed == 0 && cuda.cuCtxSynchronize() != CUDA_SUCCESS ? 2 : failed;
    failed = failed == 0 && nvrtc.nvrtcCreateProgram(&program, "", "", 0, NULL, NULL) != NVRTC_SUCCESS
                 ? 3
                 : failed;
    nvrtc.nvrtcDestroyProgram(&program);
    failed = failed == 0 && cuda.cuMemsetD8Async(memory, 0, 4, NULL) != CUDA_SUCCESS ? 4 : failed;
    cuda.cuMemFree(memory);
    _exit(failed);
}

Test(fake_cuda, each_call_fails_in_turn)
{
    char said[4096], number[16], log[] = "/tmp/test-fake-cuda-XXXXXX";
    close(mkstemp(log));
    setenv("FAKE_CUDA_LOG", log, 1);
    cr_expect_eq(status_of(call_in_turn, said), 0);
    unsetenv("FAKE_CUDA_LOG");
    FILE *const file = fopen(log, "r");
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    unlink(log);
    int first;
    cr_assert_eq(sscanf(said, "%d", &first), 1, "%s", said);
    char expected[512];
    snprintf(expected, sizeof expected,
             "%d cuMemAlloc\n- cuGetErrorString\n%d cuCtxSynchronize\n%d nvrtcCreateProgram\n"
             "- nvrtcDestroyProgram\n%d cuMemsetD8Async\n- cuMemFree\n",
             first, first + 1, first + 2, first + 3);
    cr_expect_str_eq(said, expected);
    for (int i = 0; i < 4; i++) {
        snprintf(number, sizeof number, "%d", first + i);
        setenv("FAKE_CUDA_FAIL", number, 1);
        const int status = status_of(call_in_turn, said);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == i + 1, "%d: %x", i, (unsigned int)status);
    }
}

/* The next call, which is the fifth. */
Test(fake_cuda, a_broken_device_stays_broken)
{
    CUdeviceptr memory, other;
    WORKS(cuMemAlloc(&memory, 4));
    char log[] = "/tmp/test-fake-cuda-XXXXXX", line[64];
    close(mkstemp(log));
    setenv("FAKE_CUDA_LOG", log, 1);
    WORKS(cuCtxSynchronize());
    FILE *const file = fopen(log, "r");
    cr_assert(fgets(line, sizeof line, file));
    fclose(file);
    unlink(log);
    unsetenv("FAKE_CUDA_LOG");
    snprintf(line, sizeof line, "%d", atoi(line) + 1);
    setenv("FAKE_CUDA_FAIL", line, 1);
    cr_expect_eq(cuda.cuMemsetD8Async(memory, 0, 4, NULL), ILLEGAL_ADDRESS);
    cr_expect_eq(cuda.cuMemAlloc(&other, 4), ILLEGAL_ADDRESS);
    cr_expect_eq(cuda.cuStreamSynchronize(NULL), ILLEGAL_ADDRESS);
    WORKS(cuMemFree(memory));
}
