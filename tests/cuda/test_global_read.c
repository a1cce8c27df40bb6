/* global-read: spans, work along each axis, launch switches. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const struct tile_size tile = {32, 8, 2};
static const char *const usual[] = {"global-read:block=8x4x1:work=4x2x2",
                                    "global-read:block=32x1x1:work=4x1x1:variant=lines-span", NULL};

Test(global_read, every_way_of_cutting_the_grid)
{
    static const char *const every[] = {
        "global-read:block=8x4x1:work=4x2x2",
        "global-read:block=8x2x2:work=8x1x3:grid=flat",
        "global-read:block=16x4x1:work=3x2x1:virtual=1:interior=0",
        "global-read:block=32x1x1:work=4x1x1:variant=lines-span",
        "global-read:block=16x2x1:work=3x1x1:variant=lines-span:virtual=1",
        NULL,
    };
    check_volumes(TAPS_STAR, 1, VF_NEAREST, tile, every);
}

Test(global_read, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_volumes(TAPS_STAR, 1, (enum vf_boundary)boundary, tile,
                      (const char *const[]){"global-read:block=8x4x1:work=4x2x1", NULL});
    check_volumes(TAPS_STAR, 1, VF_CONSTANT, tile, usual);
    check_images(TAPS_STAR, 3, VF_CONSTANT, (struct tile_size){32, 8, 1},
                 (const char *const[]){"global-read:block=8x4x1:work=4x2x1", NULL});
}

Test(global_read, every_type)
{
    check_types((const char *const[]){"global-read:block=8x4x1:work=4x2x1", NULL});
}

Test(global_read, small_results)
{
    /* Streaming schemes store by functions of their own. */
    check_small_results(
        (const char *const[]){"global-read:block=8x4x1:work=4x2x1",
                              "register-stream:block=16x2x1:work=8x2x1:stream=5:variant=direct", NULL});
}

Test(global_read, inputs_of_all_kinds)
{
    check_inputs(usual, (const char *const[]){"global-read:block=16x4x1:work=1x1x1", NULL});
}

Test(global_read, taps_that_are_loops)
{
    check_volumes(TAPS_X, 36, VF_CONSTANT, tile,
                  (const char *const[]){"global-read:block=8x4x1:work=4x1x1", NULL});
}
