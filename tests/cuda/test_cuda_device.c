/* A device: what it tells, its kernels, made once and kept, and what happens when any call fails. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "session.h"
#include "tests/io_samples.h"

/* With a real device or the fake one, whichever the loader finds. */
static struct vf_cuda *cuda;
static struct vf_error error;

static void expect_in(const char *part)
{
    cr_assert_not_null(strstr(error.text, part), "no \"%s\" in: %s", part, error.text);
}

static void open_cuda(void)
{
    cr_assert_eq(vf_cuda_open(&cuda, &error), VF_OK, "%s", error.text);
}

static void begin(void)
{
    samples_begin();
    setenv("VOLFILTER_CACHE", sample_path("cache"), 1);
    if (vf_cuda_open(&cuda, &error) != VF_OK) {
        expect_in("--backend cpu");
        cr_assert_null(cuda);
        samples_end();
        cr_skip_test("no device");
    }
}

static void end(void)
{
    vf_cuda_close(cuda);
    samples_end();
}

TestSuite(cuda_device, .init = begin, .fini = end);

/* Kernels that add a number to their threads' numbers. */
static const char *text_of(int number)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "#include \"kernels/boundary.h\"\n"
             "#include \"kernels/device_words.h\"\n"
             "struct VfArgs {\n"
             "    int *out;\n"
             "    int n;\n"
             "};\n"
             "extern \"C\" __global__ void vf_kernel(const __grid_constant__ VfArgs args)\n"
             "{\n"
             "    vf_wait_for_earlier_kernels();\n"
             "    const int i = threadIdx.x;\n"
             "    args.out[i] = (int)vf_boundary_index(VF_NEAREST, i, args.n) + %d;\n"
             "}\n"
             "VF_ENTRY(VfArgs)\n",
             number);
    return text;
}

static void expect_runs(const struct vf_cuda_kernel *kernel, int number)
{
    enum { THREADS = 64, N = 50 };
    int out[THREADS];
    struct {
        CUdeviceptr out;
        int n;
    } args = {.n = N};
    const struct vf_cuda_api *api = &cuda->api;
    const struct vf_cuda_grid grid = {.blocks = {1, 1, 1}, .threads = {THREADS, 1, 1}};
    cr_assert_eq(api->cuMemAlloc(&args.out, sizeof out), CUDA_SUCCESS);
    cr_assert_eq(vf_cuda_kernel_start(api, kernel, &grid, NULL, &args, &error), VF_OK, "%s", error.text);
    cr_assert_eq(api->cuMemcpyDtoHAsync(out, args.out, sizeof out, NULL), CUDA_SUCCESS);
    cr_assert_eq(api->cuStreamSynchronize(NULL), CUDA_SUCCESS);
    cr_assert_eq(api->cuMemFree(args.out), CUDA_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(out[i], (i < N ? i : N - 1) + number);
}

static struct vf_cuda_kernel get_kernel(int number)
{
    struct vf_cuda_kernel kernel;
    cr_assert_eq(vf_cuda_kernel(cuda, text_of(number), &kernel, &error), VF_OK, "%s", error.text);
    return kernel;
}

Test(cuda_device, tells_what_it_offers)
{
    char arch[32];
    const struct vf_gpu *gpu = &cuda->gpu;
    snprintf(arch, sizeof arch, "sm_%d", gpu->capability);
    cr_assert_str_eq(cuda->arch, arch);
    cr_assert(gpu->capability >= VF_CUDA_LEAST_CAPABILITY);
    cr_assert_neq(gpu->name[0], '\0');
    cr_assert_eq(gpu->warp, 32);
    cr_assert(gpu->multiprocessors >= 1 && gpu->block_threads >= 1024);
    cr_assert(gpu->sm_threads >= gpu->block_threads && gpu->sm_blocks >= 8 && gpu->sm_registers >= 1 << 15);
    cr_assert(gpu->block_shared >= 48 << 10 && gpu->sm_shared >= gpu->block_shared);
    cr_assert(gpu->l2 > 0 && gpu->memory >= 1 << 20);
    cr_assert(gpu->bandwidth > 1e9 && gpu->bandwidth < 1e14);
    if (strcmp(gpu->name, "Fake GPU") == 0)
        cr_assert_float_eq(gpu->bandwidth, 4.327e12, 1e9, "3201 MHz, 6144 bits: %g", gpu->bandwidth);
    cr_assert(gpu->clock > 1e8 && gpu->clock < 1e10);
    cr_assert(gpu->double_ratio >= 1);
}

Test(cuda_device, kernel_is_compiled_once_and_kept_from_run_to_run)
{
    struct vf_cuda_kernel first = get_kernel(1);
    expect_runs(&first, 1);
    cr_assert(first.registers > 0 && first.block_threads >= 64);
    cr_assert_eq(get_kernel(1).function, first.function);
    cr_assert_eq(cuda->compiled_count, 1);
    vf_cuda_close(cuda);
    open_cuda();
    first = get_kernel(1);
    expect_runs(&first, 1);
    cr_assert_eq(cuda->compiled_count, 0);
    cr_assert(!cuda->has_nvrtc, "the compiler is not even loaded");
}

Test(cuda_device, kernels_start_by_older_drivers_too)
{
    struct vf_cuda_kernel kernel = get_kernel(1);
    cr_expect_eq(kernel.waits, cuda->gpu.capability >= 90);
    cuda->api.cuLaunchKernelEx = NULL;
    expect_runs(&kernel, 1);
}

Test(cuda_device, holds_many_kernels)
{
    enum { COUNT = 18 }; /* more than the table begins with */
    struct vf_cuda_kernel kernel[COUNT];
    for (int i = 0; i < COUNT; i++)
        kernel[i] = get_kernel(i);
    for (int i = 0; i < COUNT; i++)
        expect_runs(&kernel[i], i);
    cr_assert_eq(cuda->compiled_count, COUNT);
}

Test(cuda_device, kept_kernel_that_does_not_load_is_made_anew)
{
    struct vf_cache_key key = cuda->key;
    struct vf_cuda_kernel kernel;
    char nothing[4096] = "not machine code";
    vf_cache_key_add_text(&key, text_of(7));
    vf_cache_put(&cuda->cache, &key, nothing, sizeof nothing);
    kernel = get_kernel(7);
    expect_runs(&kernel, 7);
    cr_assert_eq(cuda->compiled_count, 1);
    vf_cuda_close(cuda);
    open_cuda();
    kernel = get_kernel(7);
    expect_runs(&kernel, 7);
    cr_assert_eq(cuda->compiled_count, 0, "the new one is kept");
}

static void expect_refused(void)
{
    static const char text[] = "extern \"C\" __global__ void vf_kernel() { nonsense = 1; }";
    struct vf_cuda_kernel kernel;
    error.text[0] = '\0';
    cr_assert_eq(vf_cuda_kernel(cuda, text, &kernel, &error), VF_DEVICE);
    cr_assert_eq(cuda->refused_count, 1);
    expect_in("nonsense");
}

Test(cuda_device, text_that_does_not_compile_does_no_harm)
{
    struct vf_cuda_kernel kernel;
    expect_refused();
    expect_refused(); /* is not compiled again, which it would be slab by slab */
    cr_assert_eq(cuda->loaded_count, 0);
    kernel = get_kernel(3);
    expect_runs(&kernel, 3);
}

Test(cuda_device, kernel_that_does_not_load_is_not_compiled_again)
{
    struct vf_cuda_kernel kernel;
    for (int i = 0; i < 2; i++)
        cr_assert_neq(vf_cuda_kernel(cuda, "extern \"C\" __global__ void other() {}", &kernel, &error),
                      VF_OK);
    cr_assert_eq(cuda->compiled_count, 1);
}

static const char *shared_text;

static void *use_from_another_thread(void *context)
{
    struct vf_error own;
    struct vf_cuda_kernel *kernel = context;
    return vf_cuda_enter(cuda, &own) == VF_OK && vf_cuda_kernel(cuda, shared_text, kernel, &own) == VF_OK
               ? kernel
               : NULL;
}

Test(cuda_device, threads_share_its_kernels)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    struct vf_cuda_kernel kernel[THREADS];
    shared_text = text_of(5);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, use_from_another_thread, &kernel[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        cr_assert_eq(pthread_join(thread[i], &result), 0);
        cr_assert_eq(result, &kernel[i]);
        cr_assert_eq(kernel[i].function, kernel[0].function);
    }
    cr_assert_eq(cuda->compiled_count, 1);
    expect_runs(&kernel[0], 5);
}

/* ---- each call fails in turn: the fake driver and compiler do so on demand ---- */

static char log_path[64];

/* The number of the last call that is counted; *compiled gets how often the compiler was asked. */
static int read_calls(int *compiled)
{
    int calls = 0, number;
    char name[64];
    FILE *log = fopen(log_path, "r");
    *compiled = 0;
    while (log != NULL && next_call(log, &number, name)) {
        calls = number > 0 ? number : calls;
        *compiled += strcmp(name, "nvrtcCompileProgram") == 0;
    }
    if (log != NULL)
        fclose(log);
    return calls;
}

static int count_calls(void)
{
    int compiled;
    return read_calls(&compiled);
}

static void begin_counting(void)
{
    if (strcmp(cuda->gpu.name, "Fake GPU") != 0)
        cr_skip_test("a real device");
    snprintf(log_path, sizeof log_path, "%s", sample_path("calls"));
    setenv("FAKE_CUDA_LOG", log_path, 1);
    setenv("FAKE_CUDA_STRICT", "1", 1);
    vf_cuda_close(cuda);
    open_cuda(); /* the log now has the number of calls so far */
}

/* Makes the first, second, ... of `work`'s calls fail until it makes fewer; how often it failed. */
static int walk_failures(enum vf_status (*work)(void))
{
    for (int nth = 1, failures = 0;; nth++) {
        char text[16];
        vf_cuda_close(cuda);
        open_cuda();
        const int number = count_calls() + nth;
        snprintf(text, sizeof text, "%d", number);
        setenv("FAKE_CUDA_FAIL", text, 1);
        /* An error that passes: after one that stays, the next round could not open the device. */
        setenv("FAKE_CUDA_FAIL_WITH", "1", 1);
        error.text[0] = '\0';
        const enum vf_status status = work();
        unsetenv("FAKE_CUDA_FAIL");
        cr_assert(status == VF_OK || error.text[0] != '\0', "call %d fails without a message", nth);
        failures += status != VF_OK;
        if (count_calls() < number)
            return failures;
    }
}

static enum vf_status open_another(void)
{
    struct vf_cuda *other;
    const enum vf_status status = vf_cuda_open(&other, &error);
    cr_assert((status == VF_OK) == (other != NULL));
    vf_cuda_close(other);
    return status;
}

static enum vf_status make_one_kernel(void)
{
    struct vf_cuda_kernel kernel;
    return vf_cuda_kernel(cuda, text_of(9), &kernel, &error);
}

Test(cuda_device, opening_survives_every_failure)
{
    begin_counting();
    cr_assert(walk_failures(open_another) >= 20);
}

/* The next one may have less shared memory. */
Test(cuda_device, plans_for_one_that_does_not_open_are_forgotten)
{
    struct vf_session session = {.plans.count = 1};
    char number[16];
    bool as_planned;
    begin_counting();
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    cr_assert_not_null(vf_session_device(&session, false));
    snprintf(number, sizeof number, "%d", count_calls() + 1);
    setenv("FAKE_CUDA_FAIL", number, 1);
    cr_assert_not_null(vf_session_start_device(&session, &as_planned));
    cr_expect(session.cuda->ordinal == 1 && !as_planned);
    cr_expect_eq(session.plans.count, 0);
    vf_session_close(&session);
}

Test(cuda_device, making_a_kernel_survives_every_failure)
{
    begin_counting();
    setenv("VOLFILTER_CACHE", "", 1);
    const int failures = walk_failures(make_one_kernel);
    cr_assert_eq(failures, 11, "%d: synchronise; create, compile, size, code; load, find, four attributes",
                 failures);
}

/* Without the compiler even: what fails to load is made anew, which works. */
Test(cuda_device, loading_a_kept_kernel_survives_every_failure)
{
    begin_counting();
    cr_assert_eq(make_one_kernel(), VF_OK);
    cr_assert_eq(walk_failures(make_one_kernel), 0);
}

Test(cuda_device, refusals_are_kept_from_run_to_run)
{
    char number[16];
    int compiled;
    begin_counting();
    expect_refused();
    vf_cuda_close(cuda);
    open_cuda();
    expect_refused();
    const int calls = read_calls(&compiled);
    cr_assert_eq(compiled, 1);
    vf_cuda_close(cuda);
    open_cuda();
    /* Past opening, and the synchronising before the compiler is opened. */
    snprintf(number, sizeof number, "%d", count_calls() + 2);
    setenv("FAKE_CUDA_FAIL", number, 1);
    expect_refused();
    cr_assert(read_calls(&compiled) > calls && compiled == 2, "a compiler that does not tell its version");
}

Test(cuda_device, driver_that_is_older_than_the_compiler_is_named)
{
    char number[16];
    struct vf_cuda_kernel kernel;
    begin_counting();
    for (int older = 0; older < 2; older++) {
        vf_cuda_close(cuda);
        open_cuda();
        cuda->driver_version = older ? 12040 : 13000;
        /* Synchronising; the compiler's version, create, compile, size, code; loading. */
        snprintf(number, sizeof number, "%d", count_calls() + 7);
        setenv("FAKE_CUDA_FAIL", number, 1);
        cr_assert_eq(vf_cuda_kernel(cuda, text_of(11), &kernel, &error), VF_DEVICE);
        unsetenv("FAKE_CUDA_FAIL");
        expect_in("loading a kernel");
        cr_expect_eq(strstr(error.text, "the compiler is from CUDA 13.99, the driver from 12.4") != NULL,
                     older);
    }
}
