/* What the host sides (NAME.c) of the schemes share whose threads each make a run of results along a line of
 * weights, so that what a run reads is read once. kernels/device_run.h is what their device sides share. */
#ifndef VF_GPU_RUN_H
#define VF_GPU_RUN_H

#include "kernels/gpu_box.h"

/* For vf_kernel_traffic's issue_warps: a warp alone has half of a scheduler's rate at most. */
#define VF_RUN_ISSUE_WARPS 8

/* In how many parts, each as long as the run, a thread reads what a run needs of a line with this reach. */
int vf_run_parts(int reach, int run);

/* Cells of a row in shared memory (kernels/device_row.h): those before the tile, and all. */
int vf_row_pad(const struct vf_kernel_case *c);
ptrdiff_t vf_row_cells(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* NULL, or why the device cannot run a block with that much shared memory (bytes) and that many registers a
 * thread. */
const char *vf_run_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          const struct vf_kernel_config *config, size_t shared, int registers);

/* NULL, or why a kernel that takes this stage alone, one field after another, cannot take the case. */
const char *vf_fields_refuse(const struct vf_kernel_case *c, const struct vf_stage *stage);

/* As many as `places` in whole steps, or as a block may stream. */
int vf_whole_steps(ptrdiff_t places, int step);

/* Adds `like` to the list several times: streaming the whole axis (1 y, 2 z), and in equal chunks of it, of
 * whole steps, down to `least` planes or rows. */
void vf_candidates_add_chunks(struct vf_candidate_list *list, const struct vf_kernel_config *like, int axis,
                              ptrdiff_t least);

/* Fills global_wavefronts, where all sectors that are counted already are moved in whole lines. */
void vf_count_whole_lines(struct vf_kernel_traffic *traffic);

/* Adds VF_LEAST_BLOCKS (kernels/device_entry.h) such that the compiler may use so many registers a thread. */
void vf_define_least_blocks(const struct vf_kernel_config *config, int registers, struct vf_text *text);

#endif
