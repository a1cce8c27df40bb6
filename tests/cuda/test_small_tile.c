/* small-tile: a tile with its rim; the reference's bits. */
#include <criterion/criterion.h>

#include "tile_cases.h"

static const char *const usual[] = {"small-tile:block=16x8x4", NULL};

Test(small_tile, every_way_of_cutting_the_grid)
{
    static const char *const every[] = {"small-tile:block=16x8x4:interior=0",
                                        "small-tile:block=16x8x4:grid=flat",
                                        "small-tile:block=9x5x3:virtual=1", NULL};
    check_shapes("gradient", VF_NEAREST, (struct tile_size){14, 6, 2}, every);
}

Test(small_tile, every_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_shapes("gradient", (enum vf_boundary)boundary, (struct tile_size){14, 6, 2}, usual);
}

Test(small_tile, every_type)
{
    check_types(VF_MIRROR, usual);
}

Test(small_tile, double_slices_and_fluxes)
{
    check_double(usual);
    check_slices((struct tile_size){6, 6, 1}, (const char *const[]){"small-tile:block=16x16x1", NULL});
    check_fluxes(usual);
}
