/* A machine with a driver and no compiler: what it runs came with the program. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile_ahead.h"
#include "cuda_reduce.h"
#include "device.h"
#include "precompiled.h"
#include "tests/io_samples.h"

static char folder[64];
static struct vf_cuda *cuda;
static struct vf_error error;

static void open_device(const char *cache)
{
    setenv("VOLFILTER_CACHE", sample_path(cache), 1);
    cr_assert_eq(vf_cuda_open(&cuda, &error), VF_OK, "%s", error.text);
    cuda->strict = true;
}

static void begin(void)
{
    samples_begin();
    snprintf(folder, sizeof folder, "%s", sample_path("precompiled"));
    setenv("VOLFILTER_PRECOMPILED", folder, 1);
    unsetenv("CUDA_TESTS_SHARE"); /* what is filtered must be compiled before */
    open_device("makers");
    if (strcmp(cuda->gpu.name, "Fake GPU") != 0) {
        vf_cuda_close(cuda);
        samples_end();
        cr_skip_test("a real GPU");
    }
}

static void end(void)
{
    vf_cuda_close(cuda);
    samples_end();
}

TestSuite(precompiled, .init = begin, .fini = end);

/* Rows end as those of every grid here that is a multiple of 4 wide, 64 or more. */
static const struct vf_plan_request usual = {.nx = 100, .ny = 30, .nz = 12, .batch = 1, .threads = 1};

static void collect(const char *text, const char *scheme, enum vf_type in, struct vf_kernel_list *list,
                    struct vf_text *lines)
{
    struct vf_chain chain = {0};
    struct vf_plan plan;
    struct vf_plan_request request = usual;
    request.chain = &chain;
    request.gpu = &cuda->gpu;
    request.source_type = in;
    request.result_type = VF_F32;
    request.scheme = scheme;
    request.context.dim = 3;
    for (int axis = 0; axis < 3; axis++)
        request.context.aspect[axis] = request.context.spacing[axis] = 1;
    cr_assert_eq(vf_chain_append(&chain, text, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_plan_open(&plan, &request, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_precompiled_collect(&plan, list, lines, &error), VF_OK, "%s", error.text);
    vf_plan_close(&plan);
    vf_chain_free(&chain);
}

/* Fills the folder with these, which are freed, and takes the compiler away. */
static void ship_kernels(struct vf_kernel_list *list, struct vf_text *lines)
{
    int compiled;
    cr_assert_eq(vf_precompiled_make(folder, list, lines, &compiled, &error), VF_OK, "%s", error.text);
    cr_assert_eq(compiled, list->count);
    vf_text_free(lines);
    vf_kernel_list_free(list);
    vf_cuda_close(cuda);
    setenv("FAKE_NVRTC_AWAY", "1", 1);
    open_device("users");
    cr_assert_not_null(cuda->gpu.precompiled);
}

/* A Gaussian of bytes and a gradient of floats, by `schemes`. */
static void ship(const char *const *schemes)
{
    struct vf_kernel_list list = {0};
    struct vf_text lines = {0};
    collect("gaussian", "separable-stream", VF_U8, &list, &lines);
    for (; *schemes != NULL; schemes++)
        collect("gradient", *schemes, VF_F32, &list, &lines);
    ship_kernels(&list, &lines);
}

static const char *const streamed[] = {"register-stream", NULL};

static struct pipeline pipeline_of(const char *chain, ptrdiff_t nx)
{
    struct pipeline p = pipeline_reference(chain, nx, 21, 9, false);
    p.type = VF_U8;
    return p;
}

static void expect_right(const char *chain, ptrdiff_t nx)
{
    const struct pipeline p = pipeline_of(chain, nx);
    device_check(&p, cuda, (const char *const[]){"", NULL});
    cr_expect_eq(cuda->compiled_count, 0);
}

static void expect_refused(const char *chain, ptrdiff_t nx, const char *why)
{
    struct pipeline p = pipeline_of(chain, nx);
    struct vf_volume in = pipeline_input(&p, 1), out = {0};
    p.scheme = NULL;
    p.cuda = cuda;
    cr_expect_neq(pipeline_try(&p, &in, &out, NULL, &error), VF_OK);
    cr_expect_not_null(strstr(error.text, why), "no \"%s\" in: %s", why, error.text);
    vf_volume_free(&in);
    vf_volume_free(&out);
}

Test(precompiled, filters_without_a_compiler)
{
    ship(streamed);
    expect_right("gaussian,gradient", 68);
    expect_right("gaussian:sigma=1.1,gradient", 200);
    expect_refused("gaussian,gradient", 69, "no kernel shipped with volfilter fits stage GM");
    expect_refused("gaussian:sigma=2", 68, "stage GX, and the CUDA run-time compiler");
}

/* What is compiled before there is an image does for all, whatever their global values: here three fields' in
 * one kernel, of an image and of one in which all are equal. */
Test(precompiled, global_values)
{
    static const char chain[] = "gradient:output=components,perona-malik:iterations=1";
    struct vf_kernel_list list = {0};
    struct vf_text lines = {0}, reduction = {0};
    collect(chain, NULL, VF_U8, &list, &lines);
    vf_cuda_reduce_source(VF_REDUCE_PERCENTILE, false, &cuda->gpu, &reduction);
    cr_assert_eq(vf_kernel_list_add(&list, reduction.data, &error), VF_OK, "%s", error.text);
    ship_kernels(&list, &lines);
    expect_right(chain, 100);
    struct pipeline p = pipeline_of(chain, 100);
    struct vf_volume blank = pipeline_input(&p, 1);
    memset(blank.data, 0, volume_size(&blank));
    p.scheme = NULL;
    p.cuda = cuda;
    struct vf_volume out = pipeline_run(&p, &blank, NULL);
    cr_expect_eq(cuda->compiled_count, 0);
    vf_volume_free(&blank);
    vf_volume_free(&out);
}

Test(precompiled, another_scheme_does_for_grids_that_the_best_one_does_not_know)
{
    ship((const char *const[]){"register-stream", "global-read", NULL});
    expect_right("gaussian,gradient", 69);
}

Test(precompiled, what_is_damaged_or_foreign_is_not_there)
{
    char command[512];
    ship(streamed);
    snprintf(command, sizeof command, "echo 'x\ty\tbig-tile\t1' >> %s/kernels.txt", folder);
    cr_assert_eq(system(command), 0); /* NOLINT: a name that mkdtemp made */
    expect_right("gaussian,gradient", 68);
    vf_cuda_close(cuda);
    snprintf(command, sizeof command,
             "for f in %s/*[0-9a-f]; do printf x | dd of=\"$f\" bs=1 seek=700 conv=notrunc 2>/dev/null || "
             "exit; done",
             folder);
    cr_assert_eq(system(command), 0); /* NOLINT: a name that mkdtemp made */
    open_device("users");
    expect_refused("gaussian,gradient", 68, "no kernel shipped with volfilter");
}

Test(precompiled, what_the_cache_holds_is_used_too)
{
    const struct pipeline p = pipeline_of("perona-malik:k=3:iterations=2", 20);
    device_check(&p, cuda, (const char *const[]){"", NULL});
    cr_assert_gt(cuda->compiled_count, 0);
    ship(streamed);
    vf_cuda_close(cuda);
    open_device("makers");
    expect_right("perona-malik:k=3:iterations=2", 20);
}

Test(precompiled, compiles_where_there_is_a_compiler)
{
    ship(streamed);
    vf_cuda_close(cuda);
    unsetenv("FAKE_NVRTC_AWAY");
    open_device("users");
    cr_expect_null(cuda->gpu.precompiled);
}
