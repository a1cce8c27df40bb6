#include "kernels/gpu_sweep.h"

#include <math.h>

bool vf_sweep_is_star(const struct vf_stage *stage, int k)
{
    if (stage->stencil != VF_STENCIL_LINEAR)
        return k < vf_stage_stencil(stage)->star_inputs[1];
    for (int t = 0; t < stage->taps->count; t++) {
        const struct vf_tap *tap = &stage->taps->tap[t];
        if ((tap->dz != 0) + (tap->dy != 0) + (tap->dx != 0) > 1)
            return false;
    }
    return true;
}

struct vf_sweep_shape vf_sweep_shape_of(const struct vf_kernel_config *config, int room_y, int room_x)
{
    const int rows = config->work[1], span = config->work[0];
    struct vf_sweep_shape shape = {.covered = {0, config->block[1] * rows, config->block[0] * span},
                                   /* Packs begin where memory's do. */
                                   .room = {0, room_y, (room_x + span - 1) / span * span}};
    shape.tile[0] = config->stream;
    shape.tile[1] = (shape.covered[1] - 2 * shape.room[1]) / rows * rows;
    shape.tile[2] = (shape.covered[2] - 2 * shape.room[2]) / span * span;
    return shape;
}

const char *vf_sweep_limits(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    if (config->stream < 1)
        return "it streams: stream must be at least 1";
    if (config->block[2] > 1 || config->work[2] > 1)
        return "the streamed axis has no threads: z of block and work must be 1";
    return vf_kernel_plane_limit(c);
}

const char *vf_sweep_forbids(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    if (config->block[0] > 32 || 32 % config->block[0] != 0 || config->block[0] * config->block[1] % 32 != 0)
        return "a block must be 1, 2, 4, 8, 16 or 32 threads wide, and its threads must fill whole warps";
    if (!vf_kernel_moves(c, config->work[0]) || config->work[0] > 16)
        return c->flow->is_double ? "a thread's voxels along x must be 2, 4, 8 or 16"
                                  : "a thread's voxels along x must be 4, 8 or 16";
    return vf_sweep_limits(c, config);
}

/* Blocks along an axis: at its ends nothing is computed for a neighbour's sake. */
static ptrdiff_t tile_count(const struct vf_kernel_case *c, const struct vf_sweep_shape *shape, int axis,
                            ptrdiff_t n)
{
    const ptrdiff_t spare = c->flow->boundary == VF_WRAP ? 0 : 2 * (ptrdiff_t)shape->room[axis];
    return n <= spare ? 1 : (n - spare + shape->tile[axis] - 1) / shape->tile[axis];
}

static ptrdiff_t mean_tile(const struct vf_kernel_case *c, const struct vf_sweep_shape *shape, int axis,
                           ptrdiff_t n)
{
    if (shape->tile[axis] < 1)
        return 1;
    const ptrdiff_t count = tile_count(c, shape, axis, n), mean = (n + count - 1) / count;
    return (n + mean - 1) / mean == count ? mean : shape->tile[axis];
}

void vf_sweep_tile(const struct vf_kernel_case *c, const struct vf_sweep_shape *shape, ptrdiff_t size[3])
{
    size[0] = mean_tile(c, shape, 2, c->nx);
    size[1] = mean_tile(c, shape, 1, c->ny);
    size[2] = shape->tile[0];
}

int vf_sweep_add_chunks(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                        const struct vf_sweep_shape *shape, struct vf_kernel_config config, int least,
                        struct vf_kernel_config *list, int room)
{
    enum { MOST = 6 };
    ptrdiff_t size[3];
    vf_sweep_tile(c, shape, size);
    const double tiles = ceil((double)c->nx / (double)size[0]) * ceil((double)c->ny / (double)size[1]);
    int count = 0, last = 0;
    for (int i = 1; i <= MOST && count < room; i++) {
        /* So many waves of blocks, or chunks where one of each tile is more than a wave: its last one may be
         * nearly empty. */
        const double chunks = tiles > gpu->multiprocessors ? i : floor(i * gpu->multiprocessors / tiles);
        config.stream = (int)ceil((double)c->nz / chunks);
        if (config.stream == last || (i > 1 && config.stream < least))
            continue;
        last = config.stream;
        list[count++] = config;
    }
    return count;
}

void vf_sweep_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                     const struct vf_sweep_shape *shape, struct vf_text *text)
{
    vf_text_add(text, "#define VF_SWEEP_TILE_X %d\n#define VF_SWEEP_TILE_Y %d\n", shape->tile[2],
                shape->tile[1]);
    vf_text_add(text, "#define VF_SWEEP_ROOM_X %d\n#define VF_SWEEP_ROOM_Y %d\n", shape->room[2],
                shape->room[1]);
    vf_text_add(text, "#define VF_SWEEP_END_X %d\n", (int)((c->nx - 1) % config->work[0] + 1));
}
