/* What the schemes whose threads make runs of a line's results share on the host (device:
 * kernels/device_run.h). */
#ifndef VF_GPU_RUN_H
#define VF_GPU_RUN_H

#include "kernels/gpu_box.h"

/* Whether a thread's results along a line may be so many: a power of two, at least 16 bytes. */
bool vf_is_run(const struct vf_kernel_case *c, int run);

/* Parts of what a run reads of a line that reaches so far, each of as many values as it has results. */
int vf_run_parts(int reach, int run);

/* Of a row in shared memory (kernels/device_row.h): cells before the tile, and all of them. */
int vf_row_pad(const struct vf_kernel_case *c);
ptrdiff_t vf_row_cells(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* NULL, or what the device does not have of what a block of such threads takes: shared bytes, registers. */
const char *vf_run_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          const struct vf_kernel_config *config, size_t shared, int registers);

/* NULL, or why a kernel of the stage alone, whose fields it reads and writes one after the other, will not
 * do. */
const char *vf_fields_refuse(const struct vf_kernel_case *c, const struct vf_stage *stage);

/* Adds `like` with its stream in equal chunks of whole steps along `axis` (1 is y, 2 is z): the whole axis,
 * and shorter ones down to `least`. */
void vf_candidates_add_chunks(struct vf_candidate_list *list, const struct vf_kernel_config *like, int axis,
                              ptrdiff_t least);

/* Adds VF_LEAST_BLOCKS (kernels/device_entry.h), so that the compiler is left so many registers. */
void vf_define_least_blocks(const struct vf_kernel_config *config, int registers, struct vf_text *text);

#endif
