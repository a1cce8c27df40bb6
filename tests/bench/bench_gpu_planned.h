/* The kernels of rows as they are planned for an H200, and their machine code for nvdisasm and cuobjdump to
 * read, without a device. */
#ifndef VF_BENCH_GPU_PLANNED_H
#define VF_BENCH_GPU_PLANNED_H

#include "bench_gpu_plans.h"
#include "nvrtc.h"
#include "tuning.h"

struct bench_planned {
    struct vf_gpu gpu; /* borrows `tuning`: all of it stays where it was opened */
    struct vf_tuning tuning;
    const char *folder; /* for machine code; NULL: it is not wanted */
    struct vf_nvrtc_api nvrtc;
    int count; /* kernels so far */
};

/* Ends the program where there is to be machine code and no NVRTC. */
void bench_planned_open(struct bench_planned *planned, const char *folder);
void bench_planned_close(struct bench_planned *planned);

/* For bench_each_row; `planned` is a struct bench_planned. Prints a line for each kernel of the row's first
 * plan, and writes its machine code to a file of its own in the folder. */
void bench_planned_add(void *planned, const struct bench_row *row);

#endif
