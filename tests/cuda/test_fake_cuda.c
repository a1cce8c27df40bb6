/* The stand-in for a GPU is itself tested: what its kernels compute, and that it sees what a device leaves
 * undefined. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../sanitized.h"
#include "fake_device.h"

enum { N = 1000 };

TestSuite(fake_cuda, .init = open_fake_device, .fini = close_fake_device);

/* ---- what kernels do ---- */

Test(fake_cuda, adds_vectors)
{
    float out[N];
    run_kernel(
        KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < a.n) a.out[i] = a.in[i] + a.in[i];"),
        16, 64, 1, 0, out, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(out[i], (float)(2 * i));
}

Test(fake_cuda, leaves_what_is_not_written_undefined)
{
    float out[4];
    run_kernel(KERNEL("VF_SHARED_MEMORY(s); a.out[0] = *(float *)s; a.out[2] = 7;"), 1, 1, 1, 4, out, 4);
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
        run_kernel(REVERSE, 10, 20, 5, 400, out, N);
        for (int i = 0; i < N; i++)
            cr_assert_eq(out[i], (float)(i / 100 * 100 + 99 - i % 100), "%s", orders[k % 4]);
    }
}

/* The results of whole runs are the same: the helper's memory is pageable. */
Test(fake_cuda, late_work_is_done)
{
    float out[N];
    setenv("FAKE_CUDA_LATE", "1", 1);
    run_kernel(REVERSE, 10, 20, 5, 400, out, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(out[i], (float)(i / 100 * 100 + 99 - i % 100));
}

/* Copies beside a thread's work are there when they were waited for: at once, or not before. */
Test(fake_cuda, late_copies_come_when_they_are_waited_for)
{
    static const char copies[] =
        KERNEL("VF_SHARED_MEMORY(s); float *v = (float *)s;"
               "for (int k = 0; k < 3; k++) { vf_cpu_copy(v + k, a.in + k, 4); vf_cpu_close_copies(); }"
               "a.out[0] = v[0]; vf_cpu_wait_copies(2); a.out[1] = v[0]; a.out[2] = v[1];"
               "vf_cpu_wait_copies(0); a.out[3] = v[1]; a.out[4] = v[2];");
    for (int late = 0; late < 2; late++) {
        float out[5];
        setenv("FAKE_CUDA_LATE", late ? "1" : "0", 1);
        run_kernel(copies, 1, 1, 1, 12, out, 5);
        cr_expect_eq(isnan(out[0]), late);
        cr_expect_eq(out[1], 0);
        cr_expect_eq(isnan(out[2]), late);
        cr_expect(out[3] == 1 && out[4] == 2);
    }
}

/* Who has passed a gate sees what all did before they arrived, and perhaps what some did since. */
Test(fake_cuda, threads_at_a_gate_may_be_a_step_apart)
{
    for (int late = 0; late < 2; late++) {
        float out[64], apart = 0;
        setenv("FAKE_CUDA_LATE", late ? "1" : "0", 1);
        run_kernel(KERNEL("VF_SHARED_MEMORY(s); int *v = (int *)s, t = threadIdx.x; float apart = 0;"
                          "if (t == 0) vf_cpu_open_gate(); __syncthreads();"
                          "for (int k = 0; k < 5; k++) { v[t] = k; vf_cpu_arrive(); vf_cpu_wait_arrived(k);"
                          "    int other = v[(t + 1) % a.n]; apart += other < k ? -100 : other - k; }"
                          "a.out[t] = apart;"),
                   1, 64, 1, 256, out, 64);
        for (int t = 0; t < 64; t++) {
            cr_expect_geq(out[t], 0);
            apart += out[t];
        }
        cr_expect_gt(apart, 0);
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
        run_kernel(race, 1, 64, 1, 256, out[k], 64);
    }
    cr_expect_neq(memcmp(out[0], out[1], sizeof out[0]), 0);
}

static void read_beyond(void)
{
    float out[64];
    run_kernel(KERNEL("a.out[threadIdx.x] = a.in[threadIdx.x + 4096];"), 1, 64, 1, 0, out, 64);
}

static void read_before(void)
{
    float out[64];
    run_kernel(KERNEL("a.out[threadIdx.x] = a.in[(int)threadIdx.x - 4096];"), 1, 64, 1, 0, out, 64);
}

/* By a signal, or by what a sanitizer makes of it. */
Test(fake_cuda, memory_has_ends)
{
    char said[4096];
    cr_expect_neq(status_of(read_beyond, said), 0);
    cr_expect_neq(status_of(read_before, said), 0);
}

/* Threads that have returned are not waited for, whether before or after the others arrive. */
Test(fake_cuda, ended_threads_pass_barriers)
{
    for (int k = 0; k < 2; k++) {
        float out[64];
        setenv("FAKE_CUDA_ORDER", k == 0 ? "forward" : "reverse", 1);
        run_kernel(
            KERNEL("VF_SHARED_MEMORY(s); float *v = (float *)s; int t = threadIdx.x;"
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
        run_kernel(
            KERNEL("int t = threadIdx.x, lane = t % 32; double sum = a.in[t];"
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
               "if (t >= 24) ok |= (__shfl_xor_sync(0xff000000u, t, 1) == (t ^ 1) &&"
               "                    __ballot_sync(0xff000000u, 1) == 0xff000000u) << 6;"
               "else ok |= 1 << 6;"
               "__syncwarp(); a.out[t] = ok;");
    for (int k = 0; k < 2; k++) {
        float out[32];
        setenv("FAKE_CUDA_ORDER", k == 0 ? "forward" : "reverse", 1);
        run_kernel(text, 1, 32, 1, 0, out, 32);
        for (int t = 0; t < 32; t++)
            cr_expect_eq((int)out[t], 0x7f, "lane %d: %x", t, (unsigned int)out[t]);
    }
}

/* Memory begins as -1 in every int. The first words are all blocks', then each block has one of each kind. */
Test(fake_cuda, atomics_on_several_threads)
{
    static const char text[] =
        KERNEL("unsigned b = blockIdx.x, i = b * blockDim.x + threadIdx.x, *out = (unsigned *)a.out;"
               "unsigned long long *wide = (unsigned long long *)a.out;"
               "if (threadIdx.x == 0) out[10 + b] = out[20 + b] = wide[15 + b] = 0;\n__syncthreads();"
               "atomicAdd(out + 1, i - 100); atomicAdd(wide + 1, 0x100000000ull);"
               "atomicAdd(out + 10 + b, 1u); atomicMax(out + 20 + b, 0x80000000u - i);"
               "atomicMax(wide + 15 + b, (unsigned long long)i << 32);");
    float out[50];
    unsigned int bits[50];
    setenv("FAKE_CUDA_THREADS", "4", 1);
    run_kernel(text, 10, 100, 1, 0, out, 50);
    memcpy(bits, out, sizeof bits);
    cr_expect_eq(bits[1], -1 + 999 * 1000 / 2 - 100 * 1000);
    cr_expect_eq(bits[2], 0xffffffffu);
    cr_expect_eq(bits[3], 999);
    for (unsigned int b = 0; b < 10; b++) {
        cr_expect_eq(bits[10 + b], 100);
        cr_expect_eq(bits[20 + b], 0x80000000u - 100 * b);
        cr_expect_eq(bits[30 + 2 * b], 0);
        cr_expect_eq(bits[31 + 2 * b], 100 * b + 99);
    }
}

/* As written, each rounded once; vectors are aligned as on a device. */
Test(fake_cuda, arithmetic)
{
    static const char text[] =
        KERNEL("float x = 1 + 0x1p-12f * a.in[1], *o = a.out;"
               "*o++ = x * x - (1 + 0x1p-11f); *o++ = sqrtf(2.0f) * a.in[1]; *o++ = rint(2.5f * a.in[1]);"
               "*o++ = __uint_as_float(0x40400000u); *o++ = min(-1, 2) + max(1.0f, 2.5f);"
               "*o++ = alignof(float4) + 100 * alignof(double2) + 10000 * alignof(uint2);"
               "float4 v = make_float4(1, 2, 3, 4); *(float4 *)(a.out + 12) = __ldg(&v);");
    float out[16];
    run_kernel(text, 1, 1, 1, 0, out, 16);
    const float expected[] = {0, sqrtf(2), 2, 3, 1.5f, 81616};
    for (int i = 0; i < 6; i++)
        cr_expect_eq(out[i], expected[i], "%d: %a", i, (double)out[i]);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(out[12 + i], (float)(i + 1));
}

/* Half a stack of local memory in every thread, at barriers. */
Test(fake_cuda, threads_have_stacks_of_their_own)
{
    float out[256];
    run_kernel(
        KERNEL("float big[16384]; int t = threadIdx.x; for (int i = 0; i < 16384; i++) big[i] = t + i;"
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
    run_kernel(KERNEL("if (threadIdx.x < 32) __syncthreads();\nelse\n__syncthreads();"), 1, 64, 1, 0, ignored,
               1);
}

static void missed_collective(void)
{
    run_kernel(KERNEL("if (threadIdx.x != 9) __shfl_sync(~0u, 1, 0);\n__syncthreads();"), 1, 64, 1, 0,
               ignored, 1);
}

static void split_collective(void)
{
    run_kernel(KERNEL("if (threadIdx.x != 9) __shfl_sync(~0u, 1, 0);\nelse\n__ballot_sync(~0u, 1);"), 1, 32,
               1, 0, ignored, 1);
}

static void foreign_lane(void)
{
    run_kernel(KERNEL("__syncwarp(0xffff);"), 1, 32, 1, 0, ignored, 1);
}

static void missed_gate(void)
{
    run_kernel(KERNEL("if (threadIdx.x == 9) return;\nvf_cpu_arrive();\nvf_cpu_wait_arrived(0);"), 1, 64, 1,
               0, ignored, 1);
}

static void unaligned_copy(void)
{
    run_kernel(KERNEL("VF_SHARED_MEMORY(s); vf_cpu_copy(s, a.in + 1, 16);"), 1, 1, 1, 16, ignored, 8);
}

#define COUNTS(last) KERNEL("static unsigned count; vf_cpu_count_around(&count, " #last ");")

static void left_count(void)
{
    run_kernel(COUNTS(3), 5, 1, 1, 0, ignored, 1);
}

Test(fake_cuda, counts_end_at_zero)
{
    run_kernel(COUNTS(4), 5, 1, 1, 0, ignored, 1);
    expect_end(left_count, "at the end of a launch 1 is left");
}

Test(fake_cuda, copies_are_between_multiples_of_their_size)
{
    expect_end(unaligned_copy, "a copy of 16 bytes from or to a place that is no multiple of it");
}

Test(fake_cuda, threads_that_miss_each_other_abort)
{
    expect_end(split_barrier, "threads of a block are at different barriers");
    expect_end(missed_collective, "thread (0,0,0) of block (0,0,0) at test.cu:");
    expect_end(missed_collective, "thread (9,0,0) of block (0,0,0) at test.cu:");
    expect_end(split_collective, "lanes of a warp are at different collectives");
    expect_end(foreign_lane, "a lane is not in its own mask");
    expect_end(missed_gate, ": a gate");
}

#ifdef __SANITIZE_ADDRESS__
static void beyond_shared(void)
{
    run_kernel(KERNEL("VF_SHARED_MEMORY(s); ((float *)s)[threadIdx.x + 1] = 1;"), 1, 64, 1, 256, ignored, 1);
}

static void beyond_memory(void)
{
    run_kernel(KERNEL("a.out[threadIdx.x] = 1;"), 1, 11, 1, 0, ignored, 10);
}

/* After other fibers have run in between. */
static void beyond_local(void)
{
    run_kernel(
        KERNEL("VF_SHARED_MEMORY(s); float v[8]; int t = threadIdx.x; float **at = (float **)s; at[t] = v;"
               "for (int i = 0; i < 8; i++) v[i] = t;"
               "__syncthreads(); at[t][t % a.n] = 1; a.out[0] = v[t % 8];"),
        1, 40, 1, 40 * sizeof(float *), ignored, 9);
}

Test(fake_cuda, sanitizer_sees_kernels)
{
    expect_end(beyond_shared, "heap-buffer-overflow");
    expect_end(beyond_memory, "use-after-poison");
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
                 VF_DEVICE);
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
                 VF_DEVICE);
    cr_expect(strstr(error.text, "some/where/header.h:1:") && strstr(error.text, "oops"), "%s", error.text);
    cr_expect(strstr(error.text, "sweep.cu:3:") && strstr(error.text, "mistake"), "%s", error.text);
    setenv("FAKE_NVRTC_CXX", "no-such-compiler", 1);
    cr_expect_eq(vf_nvrtc_compile(&nvrtc, "", "empty.cu", NULL, 0, "sm_90", &code, &bytes, &error),
                 VF_DEVICE);
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
