/* sliding-tile: windows along y and z, of one and several steps. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const struct tile_size tile = {32, 8, 4};
static const char *const usual[] = {"sliding-tile:block=8x4x1:work=4x2x1:stream=4:variant=z",
                                    "sliding-tile:block=8x4x1:work=4x1x2:stream=8:variant=y", NULL};

Test(sliding_tile, every_way_of_cutting_the_grid)
{
    static const char *const every[] = {
        "sliding-tile:block=8x4x1:work=4x2x1:stream=4:variant=z",
        "sliding-tile:block=8x4x1:work=4x2x2:stream=6:variant=z:grid=flat",
        "sliding-tile:block=8x2x2:work=4x1x1:stream=2:variant=z:interior=0",
        "sliding-tile:block=8x4x1:work=4x1x2:stream=8:variant=y:virtual=1",
        "sliding-tile:block=16x2x1:work=3x2x2:stream=16:variant=y",
        NULL,
    };
    check_volumes(TAPS_STAR, 1, VF_NEAREST, tile, every);
}

Test(sliding_tile, lanes_give_one_another_cells)
{
    check_volumes(TAPS_BOX, 1, VF_NEAREST, (struct tile_size){128, 2, 4},
                  (const char *const[]){"sliding-tile:block=32x1x1:work=4x2x1:stream=4:variant=z", NULL});
    check_images(TAPS_BOX, 2, VF_WRAP, (struct tile_size){128, 8, 1},
                 (const char *const[]){"sliding-tile:block=32x2x1:work=4x1x1:stream=8", NULL});
}

Test(sliding_tile, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_volumes(TAPS_STAR, 1, (enum vf_boundary)boundary, tile,
                      (const char *const[]){"sliding-tile:block=8x4x1:work=4x1x1:stream=4:variant=z", NULL});
    check_images(TAPS_STAR, 3, VF_CONSTANT, (struct tile_size){32, 16, 1},
                 (const char *const[]){"sliding-tile:block=8x4x1:work=4x1x1:stream=16", NULL});
}

Test(sliding_tile, every_type)
{
    check_types((const char *const[]){"sliding-tile:block=8x4x1:work=4x1x1:stream=4:variant=z", NULL});
}

Test(sliding_tile, inputs_of_all_kinds)
{
    check_inputs(usual,
                 (const char *const[]){"sliding-tile:block=16x4x1:work=1x1x1:stream=4:variant=z", NULL});
}

Test(sliding_tile, rings_too_long_for_registers)
{
    check_volumes(TAPS_Z, 13, VF_CONSTANT, tile,
                  (const char *const[]){"sliding-tile:block=8x4x1:work=4x1x1:stream=4:variant=z", NULL});
}
