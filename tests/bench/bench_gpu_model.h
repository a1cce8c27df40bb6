/* How good the model is: measures all configurations of an item's stages in one kernel, and compares them
 * with what was predicted. */
#ifndef VF_BENCH_GPU_MODEL_H
#define VF_BENCH_GPU_MODEL_H

#include "bench_gpu_compile.h"
#include "bench_gpu_device.h"
#include "json.h"

/* Adds the kernels of all configurations to `texts`. */
void bench_model_gather(const struct bench_item *item, struct bench_grid grid, const struct vf_gpu *gpu,
                        struct vf_kernel_list *texts);

/* Prints the heading of the lines. */
void bench_model_head(void);

/* Measures all configurations and prints a line: how fast the best would be of those whose predictions are
 * within a margin of the least one. Results are not checked; bench_gpu_rows does that. `json` gets a row for
 * each configuration; may be NULL. */
void bench_model_row(struct bench_device *device, const struct bench_item *item, struct bench_grid grid,
                     struct vf_json *json);

#endif
