#include "tile_cases.h"

static void check(struct pipeline p, const char *const *scheme)
{
    struct vf_cuda *cuda = device_open();
    device_check(&p, cuda, scheme);
    vf_cuda_close(cuda);
}

void check_shapes(const char *chain, enum vf_boundary boundary, struct tile_size tile,
                  const char *const *scheme)
{
    /* One plane would be an image. */
    const int shapes[][3] = {
        {1, 1, 2},
        {1, 9, 2},
        {7, 1, 3},
        {3, 2, 5},
        {tile.x - 1, tile.y + 1, tile.z + 1},
        {tile.x, tile.y, 2 * tile.z - 1},
        {2 * tile.x + 3, 2 * tile.y + 1, tile.z + 2},
        {3 * tile.x, 3 * tile.y, 3 * tile.z},
    };
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct pipeline p = {.chain = chain,
                                   .nx = shapes[i][0],
                                   .ny = shapes[i][1],
                                   .nz = shapes[i][2],
                                   .type = VF_F32,
                                   .boundary = boundary,
                                   .constant = 2.5,
                                   .result_type = VF_F32};
        device_check(&p, cuda, scheme);
    }
    vf_cuda_close(cuda);
}

void check_types(enum vf_boundary boundary, const char *const *scheme)
{
    for (int type = VF_U8; type <= VF_F64; type++)
        check((struct pipeline){.chain = "gradient",
                                .nx = 43,
                                .ny = 11,
                                .nz = 5,
                                .type = (enum vf_type)type,
                                .boundary = boundary,
                                .constant = 1,
                                .result_type = (enum vf_type)type},
              scheme);
}

void check_double(const char *const *scheme)
{
    check((struct pipeline){.chain = "gradient:output=components",
                            .nx = 37,
                            .ny = 10,
                            .nz = 6,
                            .type = VF_F64,
                            .precise = true,
                            .result_type = VF_F64},
          scheme);
}

void check_slices(struct tile_size tile, const char *const *scheme)
{
    struct pipeline p = {.chain = "gaussian:sigma=1.5",
                         .nz = 2,
                         .slices = true,
                         .type = VF_U16,
                         .boundary = VF_REFLECT,
                         .result_type = VF_F32};
    struct vf_cuda *cuda = device_open();
    for (int more = -1; more <= 1; more++) {
        p.nx = 2 * tile.x + more;
        p.ny = 2 * tile.y - more;
        device_check(&p, cuda, scheme);
    }
    vf_cuda_close(cuda);
}

void check_fluxes(const char *const *scheme)
{
    check((struct pipeline){.chain = "perona-malik:iterations=2:k=3",
                            .nx = 41,
                            .ny = 13,
                            .nz = 7,
                            .type = VF_F32,
                            .result_type = VF_F32},
          scheme);
}
