/* Compiling several kernels into the cache at once, on all processors. */
#ifndef VF_COMPILE_AHEAD_H
#define VF_COMPILE_AHEAD_H

#include "cuda_device.h"
#include "gpu_plan.h"

struct vf_plan;

/* Bytes that NVRTC at work holds, in this process or another: 85 MiB were seen. */
#define VF_COMPILER_BYTES ((size_t)96 << 20)

/* Kernels' texts, each once. All zero is none. */
struct vf_kernel_list {
    int count;
    size_t room;
    char **text; /* owned */
};

/* Takes `text` over, which was made by vf_alloc. */
enum vf_status vf_kernel_list_add(struct vf_kernel_list *list, char *text, struct vf_error *error);
void vf_kernel_list_free(struct vf_kernel_list *list);

/* The case of each kernel of a plan, and its text, which the function takes over. */
typedef enum vf_status vf_kernel_text(void *context, const struct vf_kernel_case *c,
                                      const struct vf_launch *launch, char *text, struct vf_error *error);
enum vf_status vf_plan_each_kernel(const struct vf_plan *plan, vf_kernel_text *take, void *context,
                                   struct vf_error *error);

/* Seconds that compiling a plan's kernels will take, about, of which the cache has some or none: 0 if it has
 * all of them, or they came with the program. */
double vf_plan_compile_seconds(const struct vf_plan *plan, const struct vf_cuda *cuda);

/* The least of it for any plan and any device: more than 0 if there are no kernels at all. */
double vf_least_compile_seconds(void);

/* Compiles what the cache has not, and puts it there, in as many processes, and at most one for each
 * processor: NVRTC compiles one text at a time in each. What does not compile is passed over, and an
 * interrupt ends it early. A compiler that crashes is noted, and not used any more. How many were compiled.
 */
int vf_kernel_list_compile(const struct vf_kernel_list *list, struct vf_cuda *cuda, size_t processes);

/* Compiles the kernels of what is coming, if the cache lacks more than one of them and there is memory for
 * several compilers; nothing is coming then. What it fails at is left to when the kernels are made. */
void vf_compile_coming(struct vf_cuda *cuda);

#endif
