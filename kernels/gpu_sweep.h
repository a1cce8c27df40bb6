/* What the hosts' sides of the schemes share that sweep overlapped tiles along z in registers.
 * kernels/device_sweep.h is the device's. */
#ifndef VF_GPU_SWEEP_H
#define VF_GPU_SWEEP_H

#include "kernels/gpu_scheme.h"

/* Whether a stage reads its input k along the axes through the centre alone; 3D. */
bool vf_sweep_is_star(const struct vf_stage *stage, int k);

/* A block's cells along z, y, x: what its threads have, what of it on either side is there for others' sake,
 * and what a block inside the grid writes. */
struct vf_sweep_shape {
    int covered[3], room[3], tile[3]; /* of z: tile alone */
};

/* The shape of a block that needs so many cells on either side; tiles may come out below 1. */
struct vf_sweep_shape vf_sweep_shape_of(const struct vf_kernel_config *config, int room_y, int room_x);

/* NULL, or why planes cannot be streamed so. */
const char *vf_sweep_limits(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* NULL, or that, or why a block cannot be of that shape. */
const char *vf_sweep_forbids(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* The scheme's `tile`: what blocks write in the mean, so that there are as many as are needed; those left
 * over return at once. */
void vf_sweep_tile(const struct vf_kernel_case *c, const struct vf_sweep_shape *shape, ptrdiff_t size[3]);

/* Adds a block to `list` with chunks that keep the device busy a few times over, but none of which has fewer
 * planes than `least`. */
int vf_sweep_add_chunks(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                        const struct vf_sweep_shape *shape, struct vf_kernel_config config, int least,
                        struct vf_kernel_config *list, int room);

/* Adds the constants of kernels/device_sweep.h. */
void vf_sweep_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                     const struct vf_sweep_shape *shape, struct vf_text *text);

#endif
