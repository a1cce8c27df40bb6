/* For the schemes that sweep tiles along z with every plane in registers: what their host sides (NAME.c)
 * share. kernels/device_sweep.h is what their device sides share. */
#ifndef VF_GPU_SWEEP_H
#define VF_GPU_SWEEP_H

#include "kernels/gpu_scheme.h"

/* Whether a stage of a volume reads its input k only along the axes through the cell. */
bool vf_sweep_is_star(const struct vf_stage *stage, int k);

/* A block's cells along z, y, x. Tiles overlap: what a block covers is its tile and room on either side of
 * it, which is computed because the tile's results need it. */
struct vf_sweep_shape {
    int covered[3]; /* cells that the threads hold; not set for z */
    int room[3];    /* of them on either side of the tile; not set for z */
    int tile[3];    /* of them that a block inside the grid writes; of z, the planes that it streams */
};

/* The shape of a block that needs so much room on either side. The tile may come out below 1. */
struct vf_sweep_shape vf_sweep_shape_of(const struct vf_kernel_config *config, int room_y, int room_x);

/* NULL, or why the case's planes cannot be streamed with this configuration. */
const char *vf_sweep_limits(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* The same, and whether the block can have such a shape. */
const char *vf_sweep_forbids(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* The scheme's `tile`: what a block writes in the mean, since blocks at the grid's edges need less room and
 * write more. The grid of blocks is sized by that; blocks that are too many return at once. */
void vf_sweep_tile(const struct vf_kernel_case *c, const struct vf_sweep_shape *shape, ptrdiff_t size[3]);

/* Fills `list` with the block in chunks of planes of several lengths, for one to a few blocks on every
 * multiprocessor; but for the longest, none has fewer planes than `least`. Returns how many. */
int vf_sweep_add_chunks(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                        const struct vf_sweep_shape *shape, struct vf_kernel_config config, int least,
                        struct vf_kernel_config *list, int room);

/* Adds the constants of kernels/device_sweep.h. */
void vf_sweep_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                     const struct vf_sweep_shape *shape, struct vf_text *text);

#endif
