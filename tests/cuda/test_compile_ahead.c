/* A plan's kernels are compiled side by side when the first is asked for. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "compile_ahead.h"
#include "device.h"
#include "plan.h"
#include "tests/io_samples.h"

static struct vf_cuda *cuda;
static struct vf_chain chain;
static struct vf_plan plan;

/* Three kernels. */
static const struct pipeline three = {.chain = "gaussian",
                                      .nx = 13,
                                      .ny = 6,
                                      .nz = 5,
                                      .type = VF_F32,
                                      .result_type = VF_F32,
                                      .scheme = "global-read"};

static void open_with(const char *cache)
{
    struct vf_error error;
    struct vf_plan_request request = {.chain = &chain,
                                      .nx = three.nx,
                                      .ny = three.ny,
                                      .nz = three.nz,
                                      .batch = 1,
                                      .threads = 1,
                                      .source_type = three.type,
                                      .result_type = three.result_type,
                                      .scheme = three.scheme};
    unsetenv("CUDA_TESTS_SHARE"); /* what is filtered must be compiled before */
    setenv("VOLFILTER_CACHE", cache, 1);
    cuda = device_open();
    request.gpu = &cuda->gpu;
    request.context.dim = 3;
    for (int axis = 0; axis < 3; axis++)
        request.context.aspect[axis] = request.context.spacing[axis] = 1;
    cr_assert_eq(vf_chain_append(&chain, three.chain, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_plan_open(&plan, &request, &error), VF_OK, "%s", error.text);
}

static void end(void)
{
    vf_plan_close(&plan);
    vf_chain_free(&chain);
    vf_cuda_close(cuda);
    samples_end();
}

TestSuite(compile_ahead, .init = samples_begin, .fini = end);

/* Filters with `bytes` for compilers. */
static void filter(size_t bytes)
{
    cuda->coming = (struct vf_cuda_coming){&plan, bytes};
    device_check(&three, cuda, (const char *const[]){three.scheme, NULL});
    cr_expect_eq(cuda->compiled_count, 3);
    cr_expect_null(cuda->coming.plan);
}

Test(compile_ahead, side_by_side)
{
    open_with(sample_path("cache"));
    filter(2 * VF_COMPILER_BYTES);
    cr_expect(!cuda->has_nvrtc, "no compiler is loaded here");
}

Test(compile_ahead, takes_no_more_memory_than_there_is)
{
    open_with(sample_path("cache"));
    filter(2 * VF_COMPILER_BYTES - 1);
    cr_expect(cuda->has_nvrtc, "one after another");
}

Test(compile_ahead, needs_a_cache)
{
    open_with("");
    filter(SIZE_MAX);
    cr_expect(cuda->has_nvrtc, "one after another");
}

/* What is to be compiled takes time, until the cache has it: three kernels of as many operations. */
Test(compile_ahead, seconds)
{
    open_with(sample_path("cache"));
    const double before = vf_plan_compile_seconds(&plan, cuda);
    cr_expect_gt(before, vf_cuda_costs.compiler + vf_cuda_costs.kernel);
    cr_expect_lt(before, vf_cuda_costs.compiler + 3 * vf_cuda_costs.kernel + 1);
    filter(SIZE_MAX);
    cr_expect_eq(vf_plan_compile_seconds(&plan, cuda), 0);
}

Test(compile_ahead, seconds_without_a_cache)
{
    open_with("");
    filter(SIZE_MAX);
    cr_expect_gt(vf_plan_compile_seconds(&plan, cuda), vf_cuda_costs.compiler);
}

static int pipe_ends[2];

static void tell(int number)
{
    const char byte = (char)number;
    cr_assert_eq(write(pipe_ends[1], &byte, 1), 1);
}

/* The handlers of the program would remove its temporary files. */
Test(compile_ahead, signals_end_compilers_without_more)
{
    static const int signals[] = {SIGHUP, SIGQUIT, SIGUSR1, SIGXCPU};
    struct vf_kernel_list list = {0};
    struct vf_error error;
    char text[16], byte;
    open_with(sample_path("cache"));
    if (strcmp(cuda->gpu.name, "Fake GPU") != 0)
        cr_skip_test("a real device");
    cr_assert_eq(vf_kernel_list_add(&list, vf_strdup("", &error), &error), VF_OK);
    cr_assert_eq(pipe(pipe_ends), 0);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        snprintf(text, sizeof text, "%d", signals[i]);
        setenv("FAKE_NVRTC_SIGNAL", text, 1);
        signal(signals[i], tell);
        cr_expect_eq(vf_kernel_list_compile(&list, cuda, 1), 0);
    }
    close(pipe_ends[1]);
    cr_expect_eq(read(pipe_ends[0], &byte, 1), 0, "signal %d is handled", byte);
    close(pipe_ends[0]);
    vf_kernel_list_free(&list);
}
