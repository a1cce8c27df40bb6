/* Chains on the device, whole: the plan's choice and the safe scheme give the reference's bits. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_memory.h"
#include "device.h"
#include "flow_case.h"

static const char *const safe[] = {"global-read", NULL};
static const char *const planned[] = {"", NULL};

/* Each of ordinary values, and of such among which are NaNs and infinities, by the same kernels. */
Test(cuda_run, one_filter_after_another)
{
    static const char *const chains[] = {
        "gaussian",
        "median",
        "gradient",
        "mean:radius=1x2x1",
        "unsharp",
        "laplacian:sigma=0.5",
        "dog",
        "structure-tensor:output=coherence",
        "hessian",
        "hessian:sigma=0:output=components",
        "hessian:output=lambda3",
        "perona-malik:iterations=3",
        "eed:iterations=2",
        "ced:iterations=1:rho=0.5",
        "and:iterations=1",
        "srad:iterations=3",
        "convolve:tests/weights/5x3.txt",
        "convolve:tests/weights/5x3x7-holes.txt:flip=no",
        "convolve:tests/weights/21x21.txt,gradient",
        "gaussian,gradient:output=components",
    };
    expect_all_filters(chains, sizeof chains / sizeof *chains);
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct pipeline p = {
            .chain = chains[i], .nx = 37, .ny = 18, .nz = 9, .type = VF_F32, .result_type = VF_F32};
        device_check(&p, cuda, safe);
        device_check(&p, cuda, planned);
        p.has_nans = true;
        device_check(&p, cuda, safe);
        device_check(&p, cuda, planned);
    }
    vf_cuda_close(cuda);
}

/* Boxes of all sizes by every scheme that takes them, of values of any bits: NaN, infinities and zeros of
 * both signs among them. */
Test(cuda_run, medians)
{
    static const char *const of_doubles[] = {"global-read", "big-tile", NULL},
                             *const of_volumes[] = {"global-read",
                                                    "small-tile",
                                                    "big-tile",
                                                    "time-tile",
                                                    "register-stream:variant=direct",
                                                    "register-stream:variant=shared",
                                                    "shared-columns:variant=cells",
                                                    NULL},
                             *const of_images[] = {"global-read",
                                                   "small-tile",
                                                   "big-tile",
                                                   "sliding-tile",
                                                   "register-stream",
                                                   "time-tile",
                                                   "warp-stream",
                                                   "shared-columns:variant=cells",
                                                   NULL};
    static const struct {
        enum vf_stencil_id stencil;
        int dim;
    } cases[] = {{VF_STENCIL_median_3x3, 2},
                 {VF_STENCIL_median_5x5, 2},
                 {VF_STENCIL_median_7x7, 2},
                 {VF_STENCIL_median_3x3x3, 3},
                 {VF_STENCIL_median_5x5x5, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int precise = 0; precise < 2; precise++) {
            struct flow_case c;
            flow_case_open(&c, cases[i].dim, precise, (enum vf_boundary)((2 * i + (size_t)precise) % 5));
            c.has_any_bits = !precise;
            flow_case_sinks(&c, flow_case_body(&c, cases[i].stencil, flow_case_sources(&c, 1)), 1);
            const char *const *of_floats = cases[i].dim == 3 ? of_volumes : of_images;
            flow_case_check(&c, precise ? of_doubles : of_floats, 150, 11, 9, 0, 9);
            flow_case_close(&c);
        }
}

/* What medians keep as integers between kernels and runs, and what they must not: beyond the grid there may
 * be a number that is none, or too large. A sink that is stored as integers is read on. */
Test(cuda_run, medians_between_others)
{
    static const struct {
        const char *chain;
        enum vf_type type, result_type;
        double constant;
    } cases[] = {{"median,median,gradient", VF_U8, VF_F32, 255},
                 {"median,median,gradient", VF_U8, VF_F32, 0.5},
                 {"median,median", VF_I16, VF_I16, -40000},
                 {"median,perona-malik:iterations=1,median", VF_U16, VF_U16, 7},
                 {"gaussian,median,gradient", VF_I8, VF_F32, 7},
                 {"median,unsharp", VF_U16, VF_U8, 65536}};
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const struct pipeline p = {.chain = cases[i / 2].chain,
                                   .nx = 37,
                                   .ny = 18,
                                   .nz = 9,
                                   .type = cases[i / 2].type,
                                   .result_type = cases[i / 2].result_type,
                                   .precise = i % 4 == 3,
                                   .boundary = i % 2 ? VF_CONSTANT : VF_WRAP,
                                   .constant = cases[i / 2].constant};
        device_check(&p, cuda, planned);
    }
    vf_cuda_close(cuda);
}

/* Numbers at which bodies divide by 0, or nothing is an edge: the short way of floats, and double, which has
 * none. */
Test(cuda_run, numbers_at_their_ends)
{
    static const char *const chains[] = {"ced:iterations=1:rho=0.5:C=0", "and:iterations=1:C=0:k=0",
                                         "eed:iterations=1:k=0", "perona-malik:iterations=2:k=0"};
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < 2 * sizeof chains / sizeof *chains; i++) {
        const struct pipeline p = {.chain = chains[i / 2],
                                   .nx = 37,
                                   .ny = 18,
                                   .nz = 9,
                                   .type = VF_F32,
                                   .precise = i % 2,
                                   .result_type = VF_F32};
        device_check(&p, cuda, safe);
        device_check(&p, cuda, planned);
    }
    vf_cuda_close(cuda);
}

/* What is alike in a run, and in the runs after it, is compiled once and known then; its ends, which are of
 * another type, are not. */
Test(cuda_run, kernels_of_iterations_are_remembered)
{
    const struct pipeline p = {.chain = "perona-malik:iterations=20:k=20",
                               .nx = 37,
                               .ny = 18,
                               .nz = 9,
                               .type = VF_U16,
                               .result_type = VF_U16};
    struct vf_cuda *cuda = device_open();
    unsetenv("CUDA_TESTS_SHARE"); /* what is counted is not left out */
    device_check(&p, cuda, safe);
    cr_expect_eq(cuda->remembered_count + cuda->recalled_count, 20);
    cr_expect_eq(cuda->remembered_count, 5, "the first run's two, the second's, the last one's two: %d",
                 cuda->remembered_count);
    vf_cuda_close(cuda);
}

/* A run's fields have the memory of the run before, which holds what that one left. */
Test(cuda_run, memory_is_kept_from_run_to_run)
{
    static const char *const chains[] = {"perona-malik:iterations=20:k=20", "eed:iterations=9"};
    struct vf_cuda *cuda = device_open();
    cuda->frees_at_once = false;
    unsetenv("CUDA_TESTS_SHARE");
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct pipeline p = {
            .chain = chains[i], .nx = 37, .ny = 18, .nz = 9, .type = VF_F32, .result_type = VF_F32};
        device_check(&p, cuda, safe);
    }
    cr_expect_gt(vf_cuda_kept_bytes(cuda), 0);
    /* A float's rows are 256 bytes; a run of eed has fewer than 24 fields. */
    cr_expect_lt(vf_cuda_kept_bytes(cuda), 24 * 256 * 18 * 9);
    vf_cuda_free_kept(cuda);
    cr_expect_eq(vf_cuda_kept_bytes(cuda), 0);
    cr_expect_eq(cuda->block_count, 0);
    vf_cuda_close(cuda);
}

/* NaNs of any bits come out as one, also those of sums, which are told by fewer instructions. */
Test(cuda_run, sums_of_any_bits)
{
    static const struct {
        const char *scheme;
        int dim;
        enum flow_taps shape[3];
        int reach, stages;
    } cases[] = {
        {"global-read", 3, {TAPS_BOX}, 1, 1},
        {"small-tile", 3, {TAPS_STAR}, 1, 1},
        {"big-tile", 3, {TAPS_STAR}, 1, 1},
        {"sliding-tile", 3, {TAPS_STAR}, 1, 1},
        {"register-stream", 3, {TAPS_STAR}, 1, 1},
        {"associative", 3, {TAPS_BOX}, 1, 1},
        {"star-stream", 3, {TAPS_STAR}, 3, 1},
        {"time-stream", 3, {TAPS_STAR, TAPS_BOX}, 1, 2},
        {"time-tile", 2, {TAPS_STAR, TAPS_STAR}, 1, 2},
        {"warp-stream", 2, {TAPS_BOX, TAPS_STAR}, 2, 2},
        {"separable-stream", 3, {TAPS_X, TAPS_Y, TAPS_Z}, 4, 3},
        {"body-lines", 3, {TAPS_STAR, TAPS_X}, 2, 2},
        {"body-plane", 3, {TAPS_STAR, TAPS_X, TAPS_Y}, 2, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const scheme[] = {cases[i].scheme, NULL};
        struct flow_case c;
        flow_case_open(&c, cases[i].dim, false, VF_REFLECT);
        c.has_any_bits = true;
        int field = flow_case_sources(&c, 1);
        for (int s = 0; s < cases[i].stages; s++) {
            const enum flow_taps shape = cases[i].shape[s];
            const int reach = cases[i].reach;
            field =
                flow_case_linear(&c, shape,
                                 (int[]){shape == TAPS_X || shape == TAPS_Y || cases[i].dim == 2 ? 0 : reach,
                                         shape == TAPS_X || shape == TAPS_Z ? 0 : reach,
                                         shape == TAPS_Y || shape == TAPS_Z ? 0 : reach},
                                 field, 1);
        }
        flow_case_sinks(&c, field, 1);
        flow_case_check(&c, scheme, 141, 30, 9, 0, 9);
        flow_case_close(&c);
    }
}
