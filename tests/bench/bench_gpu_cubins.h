/* The machine code of the rows' kernels, for nvdisasm and cuobjdump to read: planned and compiled as for an
 * H200, without a device. */
#ifndef VF_BENCH_GPU_CUBINS_H
#define VF_BENCH_GPU_CUBINS_H

#include "bench_gpu_plans.h"
#include "nvrtc.h"
#include "tuning.h"

struct bench_cubins {
    struct vf_gpu gpu; /* borrows `tuning`: all of it stays where it was opened */
    struct vf_tuning tuning;
    struct vf_nvrtc_api nvrtc;
    const char *folder;
    int count;
};

/* Ends the program where there is no NVRTC. */
void bench_cubins_open(struct bench_cubins *cubins, const char *folder);
void bench_cubins_close(struct bench_cubins *cubins);

/* For bench_each_row; `cubins` is a struct bench_cubins. Writes the kernels of the row's first plan to files
 * of their own in the folder, and prints a line for each. */
void bench_cubins_add(void *cubins, const struct bench_row *row);

#endif
