/* What the host sides (NAME.c) of the streaming schemes share. kernels/device_stream.h is what their device
 * sides share. */
#ifndef VF_GPU_STREAM_H
#define VF_GPU_STREAM_H

#include "kernels/gpu_scheme.h"
#include "src/model.h"

/* Where the stages of a shallow case read source k, beyond its halo. The streamed axis is z, in 2D y. */
struct vf_stream_shape {
    int cross[VF_KERNEL_FIELDS];    /* along the streamed axis, where another coordinate differs too */
    int diagonal[VF_KERNEL_FIELDS]; /* 1: at other y and x at once; 2D: never, rows are streamed */
    int most_cross;
    bool any_diagonal;
    bool mends; /* cells beyond the end of a row are put into the span in which it ends */
};

void vf_stream_shape_of(const struct vf_kernel_case *c, struct vf_stream_shape *shape);

/* A source's halo along the streamed axis; and along y in 3D, 0 in 2D, where y is streamed. */
int vf_stream_reach(const struct vf_kernel_case *c, int k);
int vf_stream_side(const struct vf_kernel_case *c, int k);

void vf_stream_tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tile[3]);

/* vf_kernel_limits, and what spans, segments and chunks must be. */
const char *vf_stream_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                             const struct vf_kernel_config *config, size_t shared);

/* The scheme's `define`: the constants of kernels/device_stream.h. */
void vf_stream_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                      const struct vf_stream_shape *shape, struct vf_text *text);

/* The scheme's `candidates`: fills `list` with blocks of each shape (threads along x and y, work along y; in
 * 2D x * y threads in a row), each with the chunks worth weighing, where the scheme does not forbid them.
 * `span` is the work along x. Returns how many. */
int vf_stream_candidates(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                         const struct vf_gpu *gpu, int span, const int (*shape)[3], int shapes, int variant,
                         struct vf_kernel_config *list, int room);

/* Fills in `traffic` what it takes to read each plane once, with what lies beside the tile, and to write it:
 * sectors, wavefronts, loads, shuffles. Arithmetic, barriers and shared memory are left to the scheme. */
void vf_stream_traffic(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       const struct vf_stream_shape *shape, struct vf_kernel_traffic *traffic);

/* The scheme's `written`, where the loop over planes is unrolled for `turns` of them. */
double vf_stream_written(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         const struct vf_stream_shape *shape, int turns);

#endif
