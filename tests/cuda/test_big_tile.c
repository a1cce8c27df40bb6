/* big-tile: its loaders, work along each axis, lanes that give one another cells, launch switches. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const struct tile_size tile = {32, 8, 2};
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
    check_volumes(TAPS_STAR, 1, VF_NEAREST, tile, every);
}

Test(big_tile, lanes_give_one_another_cells)
{
    check_volumes(TAPS_BOX, 1, VF_NEAREST, (struct tile_size){128, 2, 2},
                  (const char *const[]){"big-tile:block=32x1x1:work=4x2x1", NULL});
    check_images(TAPS_BOX, 2, VF_WRAP, (struct tile_size){128, 4, 1},
                 (const char *const[]){"big-tile:block=32x2x1:work=4x1x1", NULL});
}

Test(big_tile, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_volumes(TAPS_STAR, 1, (enum vf_boundary)boundary, tile, usual);
    check_images(TAPS_STAR, 3, VF_CONSTANT, (struct tile_size){32, 8, 1},
                 (const char *const[]){"big-tile:block=8x4x1:work=4x2x1", NULL});
}

Test(big_tile, every_type)
{
    check_types(usual);
}

Test(big_tile, inputs_of_all_kinds)
{
    check_inputs(usual, (const char *const[]){"big-tile:block=16x4x1:work=1x1x1", NULL});
}

Test(big_tile, taps_that_are_loops)
{
    check_volumes(TAPS_X, 36, VF_CONSTANT, tile,
                  (const char *const[]){"big-tile:block=8x4x1:work=4x1x1", NULL});
}
