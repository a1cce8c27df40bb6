/* Compiling kernels ahead of the rows that need them, on all processors. */
#ifndef VF_BENCH_GPU_COMPILE_H
#define VF_BENCH_GPU_COMPILE_H

#include "bench_gpu_plans.h"
#include "cuda_device.h"

struct bench_texts {
    struct vf_cuda *cuda;
    int count, room;
    char **text; /* owned */
};

/* A visitor of rows, whose context is a struct bench_texts: gathers the texts of the first plan's kernels,
 * each once. */
void bench_texts_add(void *texts, const struct bench_row *row);

/* Compiles what the cache has not, and puts it there, in one process for each processor: NVRTC compiles one
 * text at a time in each. What does not compile is left for its row to report. Says on stderr how many there
 * were. */
void bench_texts_compile(struct bench_texts *texts);
void bench_texts_close(struct bench_texts *texts);

#endif
