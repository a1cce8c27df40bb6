/* Compiling many kernels into the cache at once, on all processors. */
#ifndef VF_COMPILE_AHEAD_H
#define VF_COMPILE_AHEAD_H

#include "cuda_device.h"

/* Kernels' texts, each once. All zero is none. */
struct vf_kernel_list {
    int count;
    size_t room;
    char **text; /* owned */
};

/* Takes `text` over, which was made by vf_alloc. */
enum vf_status vf_kernel_list_add(struct vf_kernel_list *list, char *text, struct vf_error *error);
void vf_kernel_list_free(struct vf_kernel_list *list);

/* Compiles what the cache has not, and puts it there, in a process for each processor: NVRTC compiles one
 * text at a time in each. What does not compile is passed over, and an interrupt ends it early. How many were
 * compiled. */
int vf_kernel_list_compile(const struct vf_kernel_list *list, const struct vf_cuda *cuda);

#endif
