/* star-stream: stars of any reach, on grids and slabs smaller and larger than its tiles and than what a star
 * reaches; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"
#include "kernels/gpu_scheme.h"

/* Tiles of 16 x 8 and of 32 x 16 cells; in double, 8 x 8. */
static const char *const small_tiles[] = {"star-stream:block=4x8:work=4x1x1:stream=700",
                                          "star-stream:variant=later:block=4x8:work=4x1x1:stream=3",
                                          "star-stream:variant=far:block=4x8:work=4x1x1:stream=700", NULL};
static const char *const at_once[] = {"star-stream:variant=far:block=4x8:work=4x1x1:stream=700",
                                      "star-stream:variant=far-pairs:block=4x8:work=4x1x1:stream=700", NULL};
static const char *const large_tiles[] = {"star-stream:block=8x4:work=4x4x1:stream=5:virtual=1",
                                          "star-stream:block=8x8:work=4x2x1:stream=4:grid=flat",
                                          "star-stream:variant=later:block=8x4:work=4x4x1:stream=5",
                                          "star-stream:variant=later:block=8x4:work=4x4x1:stream=200",
                                          "star-stream:variant=far:block=8x8:work=4x2x1:stream=7",
                                          NULL};
/* Tiles of which a warp has several rows, one, or half of one. */
static const char *const widths_at_once[] = {"star-stream:variant=far:block=8x4:work=4x2x1:stream=700",
                                             "star-stream:variant=far:block=32x2:work=4x1x1:stream=4",
                                             "star-stream:variant=far-pairs:block=64x1:work=4x3x1:stream=700",
                                             NULL};
static const char *const double_tiles[] = {"star-stream:block=4x8:work=2x1x1:stream=3",
                                           "star-stream:variant=later:block=4x8:work=2x1x1:stream=6", NULL};
static const char *const doubles_at_once[] = {"star-stream:variant=far:block=4x8:work=2x1x1:stream=70", NULL};

static bool is_double(const char *const *scheme)
{
    return scheme == double_tiles || scheme == doubles_at_once;
}

static void check_taps(const char *const *scheme, enum flow_taps shape, const int radius[3],
                       enum vf_boundary boundary, const int volume[][3], size_t volumes)
{
    struct flow_case c;
    flow_case_open(&c, 3, is_double(scheme), boundary);
    const int input = flow_case_sources(&c, 1);
    flow_case_sinks(&c, flow_case_linear(&c, shape, radius, input, 1), 1);
    flow_case_check_sizes(&c, scheme, volume, volumes);
}
#define CHECK_TAPS(scheme, shape, radius, boundary, volume) \
    check_taps(scheme, shape, radius, boundary, volume, sizeof(volume) / sizeof *(volume))
#define CHECK(scheme, radius, boundary, volume) CHECK_TAPS(scheme, TAPS_STAR, radius, boundary, volume)

Test(star_stream, every_boundary_and_size)
{
    static const int volume[][3] = {{1, 1, 1},  {2, 5, 3},  {3, 3, 9},  {5, 4, 2},
                                    {15, 7, 4}, {16, 8, 5}, {17, 9, 3}, {34, 17, 11}};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        CHECK(small_tiles, ((int[]){2, 2, 2}), (enum vf_boundary)boundary, volume);
}

/* So wide, but for the first, that the last planes of a sum are taken from the ring; in the end all above it.
 */
Test(star_stream, wide_stars)
{
    static const int volume[][3] = {{9, 10, 11}, {33, 17, 9}, {36, 17, 12}, {65, 40, 18}};
    CHECK(large_tiles, ((int[]){5, 5, 5}), VF_NEAREST, volume);
    CHECK(large_tiles, ((int[]){7, 7, 7}), VF_REFLECT, volume);
    CHECK(large_tiles, ((int[]){8, 3, 6}), VF_WRAP, volume);
    CHECK(large_tiles, ((int[]){7, 5, 3}), VF_CONSTANT, volume);
    static const char *const tall_threads[] = {"star-stream:block=8x4:work=4x8x1:stream=6", NULL};
    CHECK(tall_threads, ((int[]){4, 4, 4}), VF_MIRROR, volume);
}

/* The last grid's planes are more than are on their way. */
Test(star_stream, stars_of_one_voxel)
{
    static const int volume[][3] = {{1, 1, 1}, {15, 7, 4}, {16, 8, 5}, {17, 9, 31}};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        CHECK(at_once, ((int[]){1, 1, 1}), (enum vf_boundary)boundary, volume);
    CHECK(at_once, ((int[]){2, 2, 2}), VF_REFLECT, volume);
}

Test(star_stream, uneven_stars)
{
    static const int volume[][3] = {{21, 10, 7}};
    CHECK(small_tiles, ((int[]){1, 0, 3}), VF_CONSTANT, volume);
    CHECK(small_tiles, ((int[]){1, 3, 0}), VF_CONSTANT, volume);
}

Test(star_stream, boxes_of_one_voxel)
{
    static const int volume[][3] = {{1, 1, 1}, {2, 5, 3}, {15, 7, 4}, {16, 8, 5}, {17, 9, 31}, {34, 17, 11}};
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        CHECK_TAPS(&at_once[1], TAPS_BOX, ((int[]){1, 1, 1}), (enum vf_boundary)boundary, volume);
    static const int wide[][3] = {{131, 6, 5}, {255, 5, 66}, {256, 8, 5}, {257, 9, 9}};
    CHECK_TAPS(widths_at_once, TAPS_EDGES, ((int[]){1, 1, 1}), VF_MIRROR, wide);
    CHECK_TAPS(widths_at_once, TAPS_BOX, ((int[]){1, 1, 1}), VF_CONSTANT, wide);
}

Test(star_stream, wider_boxes)
{
    static const int volume[][3] = {{1, 2, 3}, {9, 10, 11}, {33, 17, 9}, {36, 17, 70}};
    CHECK_TAPS(widths_at_once, TAPS_BOX, ((int[]){1, 2, 2}), VF_REFLECT, volume);
    CHECK_TAPS(widths_at_once, TAPS_BOX, ((int[]){1, 0, 1}), VF_CONSTANT, volume);
    CHECK_TAPS(widths_at_once, TAPS_BOX, ((int[]){2, 1, 0}), VF_WRAP, volume);
    CHECK_TAPS(widths_at_once, TAPS_EDGES, ((int[]){2, 1, 5}), VF_NEAREST, volume);
}

/* A box, a star and a line beside one another. */
Test(star_stream, boxes_and_stars)
{
    static const int volume[][3] = {{3, 2, 1}, {16, 8, 6}, {37, 15, 9}};
    struct flow_case c;
    flow_case_open(&c, 3, false, VF_MIRROR);
    const int input = flow_case_sources(&c, 1),
              first = flow_case_linear(&c, TAPS_STAR, (const int[]){2, 1, 3}, input, 1);
    flow_case_linear(&c, TAPS_BOX, (const int[]){1, 1, 1}, input, 1);
    flow_case_linear(&c, TAPS_Z, (const int[]){1, 0, 0}, input, 1);
    flow_case_body(&c, VF_STENCIL_magnitude, first);
    flow_case_sinks(&c, first + 1, 3);
    flow_case_check_sizes(&c, at_once, volume, sizeof volume / sizeof *volume);
}

/* Bodies that read the source: one, by itself; fluxes, which no end of the grid lets through; products, and
 * what another body makes of these. */
static void check_body(const char *const *scheme, enum vf_stencil_id stencil, enum vf_stencil_id then,
                       int sinks, enum vf_boundary boundary)
{
    static const int volume[][3] = {{1, 1, 1}, {2, 5, 3}, {15, 7, 4}, {16, 8, 5}, {17, 9, 31}, {66, 17, 67}};
    struct flow_case c;
    flow_case_open(&c, 3, is_double(scheme), boundary);
    c.has_any_bits = !is_double(scheme);
    int made = flow_case_body(&c, stencil, flow_case_sources(&c, 1));
    if (then != stencil)
        made = flow_case_body(&c, then, made);
    flow_case_sinks(&c, made, sinks);
    flow_case_check_sizes(&c, scheme, volume, sizeof volume / sizeof *volume);
}

Test(star_stream, bodies_of_the_source)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        check_body(&at_once[1], VF_STENCIL_laplacian, VF_STENCIL_laplacian, 1, (enum vf_boundary)boundary);
    check_body(at_once, VF_STENCIL_perona_malik_quadratic, VF_STENCIL_perona_malik_quadratic, 1, VF_MIRROR);
    check_body(widths_at_once, VF_STENCIL_gradient_magnitude, VF_STENCIL_gradient_magnitude, 1, VF_REFLECT);
    check_body(&at_once[1], VF_STENCIL_structure_tensor, VF_STENCIL_structure_tensor, 6, VF_CONSTANT);
    check_body(&at_once[1], VF_STENCIL_structure_tensor, VF_STENCIL_coherence, 1, VF_WRAP);
}

/* A body may read the source, or what tables make of it, but not both. */
Test(star_stream, bodies_of_the_source_and_of_tables_are_refused)
{
    const struct vf_gpu_scheme *const scheme = vf_gpu_scheme("star-stream", 11);
    for (int first = 0; first < 2; first++) {
        struct flow_case c;
        flow_case_open(&c, 3, false, VF_NEAREST);
        const int input = flow_case_sources(&c, 1);
        for (int i = 0; i < 3; i++)
            flow_case_linear(&c, TAPS_STAR, (const int[]){1, 1, 1}, input, 1);
        flow_case_sinks(&c, flow_case_body(&c, VF_STENCIL_magnitude, input + first), 1);
        struct vf_kernel_case kernel = {
            .flow = &c.flow, .source_type = {VF_F32}, .sink_type = {VF_F32}, .nx = 20, .ny = 4, .nz = 4};
        vf_kernel_case_derive(&kernel);
        cr_expect_eq(vf_gpu_scheme_refuses(scheme, &kernel) != NULL, first == 0);
        flow_case_close(&c);
    }
}

/* Lines along each axis and a star, of the same array, and the length of three of them; what is stored. */
static void check_length(const char *const *scheme, const int radius[3], int first, int sinks, bool any_bits,
                         enum vf_boundary boundary)
{
    static const int volumes[][3] = {{1, 1, 1}, {5, 9, 4}, {16, 8, 6}, {17, 9, 11}, {34, 15, 9}};
    struct flow_case c;
    flow_case_open(&c, 3, is_double(scheme), boundary);
    c.has_any_bits = any_bits;
    const int input = flow_case_sources(&c, 1),
              x = flow_case_linear(&c, TAPS_X, (const int[]){0, 0, radius[2]}, input, 1);
    flow_case_linear(&c, TAPS_Y, (const int[]){0, radius[1], 0}, input, 1);
    flow_case_linear(&c, TAPS_Z, (const int[]){radius[0], 0, 0}, input, 1);
    flow_case_linear(&c, TAPS_STAR, (const int[]){1, 2, 1}, input, 1);
    flow_case_body(&c, VF_STENCIL_magnitude, x);
    flow_case_sinks(&c, x + first, sinks);
    flow_case_check_sizes(&c, scheme, volumes, sizeof volumes / sizeof *volumes);
}

Test(star_stream, several_stars_and_their_length)
{
    check_length(small_tiles, (const int[]){1, 3, 2}, 4, 1, true, VF_NEAREST);
    check_length(small_tiles, (const int[]){3, 1, 2}, 0, 3, false, VF_CONSTANT);
    check_length(large_tiles, (const int[]){4, 4, 4}, 4, 1, true, VF_REFLECT);
    check_length(large_tiles, (const int[]){7, 4, 5}, 1, 4, false, VF_WRAP);
    check_length(double_tiles, (const int[]){2, 2, 3}, 3, 2, false, VF_MIRROR);
}

Test(star_stream, doubles)
{
    static const int volume[][3] = {{1, 2, 1}, {7, 7, 5}, {9, 17, 7}};
    CHECK(double_tiles, ((int[]){3, 2, 3}), VF_MIRROR, volume);
    CHECK(double_tiles, ((int[]){2, 1, 1}), VF_CONSTANT, volume);
    CHECK_TAPS(doubles_at_once, TAPS_BOX, ((int[]){1, 1, 1}), VF_WRAP, volume);
    check_body(doubles_at_once, VF_STENCIL_laplacian, VF_STENCIL_laplacian, 1, VF_REFLECT);
}
