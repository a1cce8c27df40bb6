/* Compiling kernels ahead of the rows that need them. */
#ifndef VF_BENCH_GPU_COMPILE_H
#define VF_BENCH_GPU_COMPILE_H

#include "bench_gpu_plans.h"
#include "compile_ahead.h"

/* A visitor of rows, whose context is a struct vf_kernel_list: gathers the texts of the first plan's kernels.
 */
void bench_texts_add(void *list, const struct bench_row *row);

/* Compiles them on all processors, says on stderr how many there were, and frees the list. */
void bench_texts_compile(struct vf_kernel_list *list, const struct vf_cuda *cuda);

#endif
