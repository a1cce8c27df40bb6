/* The GPU that the model is calibrated on, for its tests. */
#ifndef VF_TESTS_MODEL_GPU_H
#define VF_TESTS_MODEL_GPU_H

#include "kernels/gpu.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static const struct vf_gpu h200 = {
    .name = "NVIDIA H200",
    .capability = 90,
    .multiprocessors = 132,
    .warp = 32,
    .block_threads = 1024,
    .sm_threads = 2048,
    .sm_blocks = 32,
    .sm_registers = 65536,
    .block_shared = 227 << 10,
    .sm_shared = 228 << 10,
    .l2 = (size_t)50 << 20,
    .memory = (size_t)141 * 1000 * 1000 * 1000,
    .free_memory = (size_t)141 * 1000 * 1000 * 1000,
    .bandwidth = 4.19e12,
    .clock = 1.98e9,
    .double_ratio = 2,
};

#endif
