/* The text of one kernel: the case's constants, its stages, and the scheme's file by #include. */
#ifndef VF_KERNEL_SOURCE_H
#define VF_KERNEL_SOURCE_H

#include "error.h"
#include "kernels/gpu_scheme.h"
#include "text.h"

/* More parameters than this go through memory. */
#define VF_MOST_KERNEL_PARAMS 400

/* Writes the text for NVRTC into `text`, which is empty. Equal texts are equal kernels. */
enum vf_status vf_kernel_source(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                                const struct vf_kernel_config *config, struct vf_text *text,
                                struct vf_error *error);

/* What all kernels of a case have in their texts, whatever the scheme and the grid. */
void vf_case_source(const struct vf_kernel_case *c, struct vf_text *text);

#endif
