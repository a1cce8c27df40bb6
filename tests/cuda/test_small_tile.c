/* small-tile: a tile with its rim. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const struct tile_size tile = {14, 6, 2};
static const char *const usual[] = {"small-tile:block=16x8x4", NULL};

Test(small_tile, every_way_of_cutting_the_grid)
{
    static const char *const every[] = {
        "small-tile:block=16x8x4:interior=0",
        "small-tile:block=16x8x4:grid=flat",
        "small-tile:block=9x5x3:virtual=1",
        NULL,
    };
    check_volumes(TAPS_BOX, 1, VF_NEAREST, tile, every);
}

Test(small_tile, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++) {
        check_volumes(TAPS_STAR, 1, (enum vf_boundary)boundary, tile, usual);
        check_images(TAPS_BOX, 2, (enum vf_boundary)boundary, (struct tile_size){12, 4, 1},
                     (const char *const[]){"small-tile:block=16x8x1", NULL});
    }
}

Test(small_tile, every_type)
{
    check_types(usual);
}

Test(small_tile, inputs_of_all_kinds)
{
    check_inputs(usual, usual);
}
