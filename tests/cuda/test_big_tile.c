/* big-tile: its loaders, work along each axis, launch switches; the reference's bits. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const char *const usual[] = {"big-tile:block=8x4x1:work=4x2x2", NULL};

Test(big_tile, every_way_of_cutting_the_grid)
{
    static const char *const every[] = {
        "big-tile:block=8x4x1:work=4x2x2:variant=columns",
        "big-tile:block=8x4x1:work=4x2x2:variant=carry",
        "big-tile:block=8x4x1:work=4x2x2:variant=flat:grid=flat",
        "big-tile:block=8x4x1:work=4x2x2:variant=cube:virtual=1",
        "big-tile:block=16x2x2:work=3x1x2:interior=0",
        "big-tile:block=9x3x2:work=1x1x1:variant=flat",
        "big-tile:block=4x4x1:work=8x2x1",
        NULL,
    };
    check_shapes("gradient", VF_NEAREST, (struct tile_size){32, 8, 2}, every);
}

Test(big_tile, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_shapes("gradient", (enum vf_boundary)boundary, (struct tile_size){32, 8, 2}, usual);
}

Test(big_tile, every_type)
{
    check_types(VF_MIRROR, usual);
}

Test(big_tile, double_slices_and_fluxes)
{
    check_double(usual);
    check_slices((struct tile_size){32, 8, 1},
                 (const char *const[]){"big-tile:block=8x4x1:work=4x2x1",
                                       "big-tile:block=32x4x1:work=1x2x1:variant=cube", NULL});
    check_fluxes(usual);
}

Test(big_tile, taps_that_are_loops)
{
    check_shapes("gaussian:sigma=9", VF_CONSTANT, (struct tile_size){32, 8, 2}, usual);
}
