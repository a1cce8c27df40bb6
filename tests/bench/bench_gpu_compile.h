/* Compiles the kernels of all rows before the first row is measured. */
#ifndef VF_BENCH_GPU_COMPILE_H
#define VF_BENCH_GPU_COMPILE_H

#include "bench_gpu_plans.h"
#include "compile_ahead.h"

/* The text of a kernel of the row's first plan, which vf_alloc made. */
char *bench_kernel_text(const struct bench_row *row, const struct vf_launch *launch);

/* For bench_each_row; `list` is a struct vf_kernel_list. Adds the texts of the kernels of the row's first
 * plan. */
void bench_texts_add(void *list, const struct bench_row *row);

/* Compiles them on all processors, prints on stderr how many there were, and frees the list. */
void bench_texts_compile(struct vf_kernel_list *list, struct vf_cuda *cuda);

#endif
