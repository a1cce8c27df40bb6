/* What the hosts' sides of streaming schemes share. kernels/device_stream.h is the device's. */
#ifndef VF_GPU_STREAM_H
#define VF_GPU_STREAM_H

#include "kernels/gpu_scheme.h"
#include "src/model.h"

/* Where the stages of a shallow case read source k, beyond its halo. The streamed axis is z, in 2D y. */
struct vf_stream_shape {
    int cross[VF_KERNEL_FIELDS];     /* along the streamed axis, where another coordinate differs too */
    bool diagonal[VF_KERNEL_FIELDS]; /* at other y and x at once; 2D: never, rows are streamed */
    int most_cross;
    bool any_diagonal;
    bool mends; /* cells beyond the end of a row are put into the span in which it ends */
};

void vf_stream_shape_of(const struct vf_kernel_case *c, struct vf_stream_shape *shape);

/* A source's halo along the streamed axis, and along y if that is another one. */
int vf_stream_reach(const struct vf_kernel_case *c, int k);
int vf_stream_side(const struct vf_kernel_case *c, int k);

void vf_stream_tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tile[3]);

/* vf_kernel_limits, and what spans, segments and chunks must be. */
const char *vf_stream_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                             const struct vf_kernel_config *config, size_t shared);

/* Adds the constants of kernels/device_stream.h. */
void vf_stream_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                      const struct vf_stream_shape *shape, struct vf_text *text);

/* Fills `list` with blocks of `shape` (x, y, work y; 2D takes x * y in a row) and the chunks worth weighing,
 * where `forbids` agrees. */
int vf_stream_candidates(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                         const struct vf_gpu *gpu, int span, const int (*shape)[3], int shapes, int variant,
                         struct vf_kernel_config *list, int room);

/* Sectors, wavefronts, loads and shuffles of reading each plane once with what lies beside the tile, and of
 * writing it: fills `traffic` but for arithmetic, barriers and shared memory. */
void vf_stream_traffic(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       const struct vf_stream_shape *shape, struct vf_kernel_traffic *traffic);

/* The scheme's `written`, for a loop over planes that is written out for `turns` of them. */
double vf_stream_written(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         const struct vf_stream_shape *shape, int turns);

#endif
