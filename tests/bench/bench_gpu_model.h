/* What the model is worth: all configurations of an item's stages in one kernel, measured and held against
 * what was predicted. */
#ifndef VF_BENCH_GPU_MODEL_H
#define VF_BENCH_GPU_MODEL_H

#include "bench_gpu_compile.h"
#include "bench_gpu_device.h"
#include "json.h"

/* Every configuration as a row of its own, for bench_texts_add. */
void bench_model_gather(const struct bench_item *item, struct bench_grid grid, const struct vf_gpu *gpu,
                        struct vf_kernel_list *texts);

void bench_model_head(void);

/* Measures them all and prints a line: what keeping those within a margin of the least prediction would have
 * given. Results are not compared: bench_gpu_rows does that. `json` gets a row for each; NULL: not wanted. */
void bench_model_row(struct bench_device *device, const struct bench_item *item, struct bench_grid grid,
                     struct vf_json *json);

#endif
