/* What a user forces of the kernels of a GPU's plan: how it is read, that it holds, or why it cannot. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "gpu_planned.h"

Test(gpu_forced, forced_words_are_read)
{
    struct vf_forced_list list;
    struct vf_error error = {.text = ""};
    cr_assert_eq(
        vf_forced_read(
            "GX=big-tile:block=16x8x2:work=4:variant=carry,global-read:grid=flat:virtual=1:interior=0,"
            "PM=time-tile:stream=64:fuse=3",
            &list, &error),
        VF_OK, "%s", error.text);
    cr_expect_eq(list.count, 3);
    cr_expect_str_eq(list.entry[0].stage, "GX");
    cr_expect_str_eq(list.entry[0].scheme->name, "big-tile");
    cr_expect_eq(list.entry[0].config.block[2], 2);
    cr_expect_eq(list.entry[0].config.work[0], 4);
    cr_expect_eq(list.entry[0].config.work[1], 0);
    cr_expect_str_eq(list.entry[0].scheme->variants[list.entry[0].variant], "carry");
    cr_expect_eq(list.entry[0].virtual_blocks, -1);
    cr_expect_str_eq(list.entry[1].stage, "");
    cr_expect_eq(list.entry[1].grid, 1);
    cr_expect_eq(list.entry[1].virtual_blocks, 1);
    cr_expect_eq(list.entry[1].interior, 0);
    cr_expect_eq(list.entry[2].config.stream, 64);
    cr_expect_eq(list.entry[2].fuse, 3);
}

Test(gpu_forced, forced_words_that_are_too_long_or_too_many)
{
    static const struct {
        const char *format, *words;
    } cases[] = {
        {"GX=%s", ": expected "},
        {"%s=big-tile", ": expected "},
        {"big-tile:%s=1", "--scheme big-tile: key=value must follow ':'"},
        {"big-tile:block=%s", "--scheme big-tile: the value of block is too long"},
    };
    struct vf_forced_list list;
    struct vf_error error;
    char text[4096], word[101] = "";
    memset(word, '1', sizeof word - 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, cases[i].format, word);
        cr_assert_eq(vf_forced_read(text, &list, &error), VF_USAGE);
        cr_expect(strstr(error.text, cases[i].words), "case %zu: %s", i, error.text);
    }
    size_t used = (size_t)snprintf(text, sizeof text, "big-tile");
    for (int i = 1; i < VF_MAX_FORCED; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",big-tile");
    cr_assert_eq(vf_forced_read(text, &list, &error), VF_OK, "%s", error.text);
    snprintf(text + used, sizeof text - used, ",big-tile");
    cr_assert_eq(vf_forced_read(text, &list, &error), VF_USAGE);
    cr_expect_str_eq(error.text, "--scheme: more than 32 schemes");
}

Test(gpu_forced, forced_schemes_hold)
{
    struct planned p;
    planned_open(&p, "gaussian", 128, 128, 64, "global-read:work=1x1x1,GY=big-tile:work=1x1x1");
    const struct vf_gpu_plan *kernels = &p.plan.run[0].gpu;
    cr_assert_eq(kernels->launch_count, 3);
    for (int i = 0; i < 3; i++) {
        cr_expect_str_eq(kernels->launch[i].choice.scheme->name, i == 1 ? "big-tile" : "global-read");
        cr_expect(kernels->launch[i].forced);
        for (int axis = 0; axis < 3; axis++)
            cr_expect_eq(kernels->launch[i].choice.config.work[axis], 1);
    }
    planned_close(&p);
    planned_open(&p, "perona-malik:k=3:iterations=6", 128, 128, 64, "time-tile:fuse=2");
    cr_expect_geq(p.plan.run[0].gpu.launch_count, 3);
    for (int i = 0; i < p.plan.run[0].gpu.launch_count; i++)
        cr_expect_leq(p.plan.run[0].gpu.launch[i].stage_end - p.plan.run[0].gpu.launch[i].stage_begin, 2);
    planned_close(&p);
}

/* Kernels that take long to compile, blocks that the scheme or its guess of registers would not take. */
Test(gpu_forced, what_is_not_chosen_can_be_forced)
{
    static const char *const cases[][2] = {
        {"perona-malik:k=3:iterations=1", "sliding-tile"},
        {"perona-malik:k=3:iterations=8", "time-stream"},
        {"gaussian:sigma=8", "GX=sliding-tile"},
        {"gaussian:sigma=80", "GX=small-tile:block=1024x1x1"},
        {"gaussian,convolve:tests/weights/star-2.txt",
         "CONV=star-stream:variant=far:block=24x4x1:work=4x1x1:stream=100"},
        {"gaussian:sigma=80", "GZ=big-tile:block=32x1x1:work=1x1x1"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct planned p;
        planned_open(&p, cases[i][0], 100, 100, 100, cases[i][1]);
        planned_close(&p);
    }
}

Test(gpu_forced, what_cannot_be_forced_is_refused_in_words)
{
    static const struct {
        const char *chain, *scheme, *text;
    } cases[] = {
        {"gradient", "separable-stream", "scheme separable-stream cannot run stage GM: "},
        {"gaussian", "big-tile:block=1024x1024x1", "scheme big-tile cannot run stage GX: "},
        {"gaussian", "big-tile:block=1048576x1x2:work=1048576x128x1024",
         "scheme big-tile cannot run stage GX: block and work sizes must be 1 to 1024"},
        {"gaussian", "big-tile:work=1024x1024x1024",
         "scheme big-tile cannot run stage GX: a thread can compute at most 1024 cells"},
        {"gaussian", "nosuch", "--scheme nosuch: the GPU has global-read, "},
        {"gaussian", "global-read:stream=3", "scheme global-read cannot run stage GX: "},
        {"gaussian", "global-read:fuse=2",
         "scheme global-read cannot run 2 stages from GX on in one kernel: a stage reads neighbours"},
        {"gaussian", "GX=time-tile:fuse=2",
         "scheme time-tile cannot run stage GX: all stages that fuse counts"},
        {"eed:k=3:iterations=8", "time-tile:fuse=25",
         "scheme time-tile cannot run stage GX: too many stages"},
        {"perona-malik:k=3:iterations=4", "time-stream:work=12x2x1:fuse=2",
         "scheme time-stream cannot run 2 stages from PM on in one kernel: a thread's voxels along x must "
         "be"},
        {"perona-malik:k=3:iterations=4", "time-tile:work=12x2x1:fuse=2",
         "scheme time-tile cannot run 2 stages from PM on in one kernel: a thread's voxels along x must be"},
        {"gaussian:sigma=12", "GZ=associative", "scheme associative cannot run stage GZ: a line is too long"},
        {"gaussian,convolve:tests/weights/3x3x3.txt",
         "CONV=star-stream:variant=far:block=24x4x1:work=4x1x1:stream=100",
         "scheme star-stream cannot run stage CONV: a block's width must be a power of two"},
        {"gaussian,convolve:tests/weights/3x3x3.txt",
         "CONV=star-stream:variant=far:block=16x3x1:work=4x1x1:stream=100",
         "scheme star-stream cannot run stage CONV: a block's threads must fill whole warps"},
        {"gaussian,convolve:tests/weights/5x5x5.txt",
         "CONV=star-stream:variant=near:block=64x4x1:work=4x1x1:stream=100",
         "scheme star-stream cannot run stage CONV: weights off the axes are for variants far"},
        {"gaussian,convolve:tests/weights/5x5x5.txt",
         "CONV=star-stream:variant=far:block=64x6x1:work=4x8x1:stream=100",
         "scheme star-stream cannot run stage CONV: work needs more registers"},
        {"hessian:sigma=0", "star-stream",
         "scheme star-stream cannot run stage HESS: it is for convolutions, or "},
        {"gaussian:sigma=90", "small-tile", "scheme small-tile cannot run stage GX: none of its block sizes"},
        {"gaussian:sigma=90", "small-tile:block=512x2x1",
         "scheme small-tile cannot run stage GX: with small-tile the block must be wider"},
        {"gaussian", "GW=global-read", "--scheme GW=global-read: the chain has no stage GW"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct planned p;
        struct vf_error error = {.text = ""};
        cr_expect_eq(planned_try(&p, 0, cases[i].chain, 100, 100, 100, cases[i].scheme, &error), VF_USAGE);
        cr_expect(strncmp(error.text, cases[i].text, strlen(cases[i].text)) == 0, "%s", error.text);
        vf_chain_free(&p.chain);
    }
}

Test(gpu_forced, the_same_word_for_several_stages_lets_them_meet)
{
    struct planned p;
    planned_open(&p, "gaussian", 128, 128, 64, "GX=separable-stream,GY=separable-stream,GZ=separable-stream");
    cr_expect_eq(p.plan.run[0].gpu.launch_count, 1);
    planned_close(&p);
}
