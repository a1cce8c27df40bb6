/* The host side of small-tile: its blocks, and what one does, for the model.
 * kernels/small_tile.cu is the kernel. */
#include "kernels/gpu_box.h"

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    size_t cells = 0;
    for (int k = 0; k < c->flow->source_count; k++)
        if (vf_kernel_source_has_halo(c, k))
            cells += (size_t)config->block[0] * (size_t)config->block[1] * (size_t)config->block[2];
    return cells * vf_kernel_element(c);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    if (config->stream > 0)
        return "small-tile does not stream";
    for (int axis = 0; axis < 3; axis++) {
        if (config->work[axis] != 1)
            return "with small-tile a thread computes at most one voxel: use work=1x1x1";
        if (config->block[axis] <= 2 * c->halo[2 - axis])
            return "with small-tile the block must be wider than the halo on both sides";
    }
    return vf_kernel_limits(c, gpu, config, shared(c, config));
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int blocks_2d[][3] = {{32, 16, 1}, {32, 32, 1}, {32, 8, 1},  {64, 16, 1},
                                       {64, 8, 1},  {128, 8, 1}, {128, 4, 1}, {256, 2, 1},
                                       {512, 1, 1}, {16, 16, 1}, {8, 64, 1}};
    static const int blocks_3d[][3] = {{32, 8, 4}, {32, 4, 4}, {32, 8, 1},  {32, 16, 2}, {16, 8, 8},
                                       {64, 4, 4}, {8, 8, 8},  {128, 1, 4}, {256, 1, 1}, {32, 1, 16}};
    const bool flat = c->flow->dim == 2;
    const size_t blocks = flat ? sizeof blocks_2d / sizeof *blocks_2d : sizeof blocks_3d / sizeof *blocks_3d;
    struct vf_candidate_list all = {c, gpu, &vf_gpu_small_tile, list, 0, room};
    for (size_t i = 0; i < blocks; i++) {
        const int *const block = flat ? blocks_2d[i] : blocks_3d[i];
        const struct vf_kernel_config config = {
            .block = {block[0], block[1], block[2]}, .work = {1, 1, 1}, .interior = true};
        vf_candidate_add(&all, &config);
    }
    return all.count;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    for (int axis = 0; axis < 3; axis++)
        size[axis] = config->block[axis] - 2 * c->halo[2 - axis];
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    ptrdiff_t size[3];
    (void)gpu;
    tile(c, config, size);
    vf_tile_sectors(c, config, size, true, traffic);
    /* Threads of the rim load, and wait with their warp while others compute. */
    vf_box_operations(c, config, true, 1, traffic);
    vf_tile_fill(c, config, size, traffic);
    traffic->loads_in_flight = traffic->loads > 1 ? traffic->loads : 1;
    traffic->barriers = 1;
}

const struct vf_gpu_scheme vf_gpu_small_tile = {
    .name = "small-tile",
    .summary = "each block loads one voxel per thread into shared memory and writes those whose neighbours "
               "are there",
    .file = "kernels/small_tile.cu",
    .refuses = vf_tile_refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = vf_box_written,
    .define = vf_tile_define,
};
