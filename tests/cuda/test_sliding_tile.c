/* sliding-tile: windows along y and z, of one and several steps; the reference's bits. */
#include <criterion/criterion.h>

#include "tile_cases.h"

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
    check_shapes("gradient", VF_NEAREST, (struct tile_size){32, 8, 4}, every);
}

Test(sliding_tile, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_shapes("gradient", (enum vf_boundary)boundary, (struct tile_size){32, 8, 4}, usual);
}

Test(sliding_tile, every_type)
{
    check_types(VF_MIRROR, usual);
}

Test(sliding_tile, double_slices_and_fluxes)
{
    check_double(usual);
    check_slices((struct tile_size){32, 16, 1},
                 (const char *const[]){"sliding-tile:block=8x4x1:work=4x1x1:stream=16", NULL});
    check_fluxes(usual);
}

Test(sliding_tile, rings_too_long_for_registers)
{
    check_shapes("gaussian:sigma=3", VF_CONSTANT, (struct tile_size){32, 8, 4},
                 (const char *const[]){"sliding-tile:block=8x4x1:work=4x1x1:stream=4:variant=z", NULL});
}
