/* global-read: spans, work along each axis, launch switches; the reference's bits. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const char *const usual[] = {"global-read:block=8x4x1:work=4x2x2", NULL};
static const char *const every[] = {
    "global-read:block=8x4x1:work=4x2x2",
    "global-read:block=8x2x2:work=8x1x3:grid=flat",
    "global-read:block=16x4x1:work=3x2x1:virtual=1:interior=0",
    "global-read:block=32x1x1:work=4x1x1:variant=lines-span",
    "global-read:block=16x2x1:work=3x1x1:variant=lines-span:virtual=1",
    NULL,
};

Test(global_read, every_way_of_cutting_the_grid)
{
    check_shapes("gradient", VF_NEAREST, (struct tile_size){32, 8, 2}, every);
}

Test(global_read, every_boundary)
{
    static const char *const two[] = {"global-read:block=8x4x1:work=4x2x2",
                                      "global-read:block=32x1x1:work=4x1x1:variant=lines-span", NULL};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_shapes("gradient", (enum vf_boundary)boundary, (struct tile_size){32, 8, 2}, two);
}

Test(global_read, every_type)
{
    check_types(VF_MIRROR, usual);
}

Test(global_read, double_slices_and_fluxes)
{
    check_double(usual);
    check_slices((struct tile_size){32, 8, 1},
                 (const char *const[]){"global-read:block=8x4x1:work=4x2x1",
                                       "global-read:block=32x1x1:work=4x1x1:variant=lines-span", NULL});
    check_fluxes(usual);
}

Test(global_read, taps_that_are_loops)
{
    check_shapes("gaussian:sigma=9", VF_CONSTANT, (struct tile_size){32, 8, 2}, usual);
}
