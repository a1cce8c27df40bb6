/* Plans of a chain for an H200, or one with other memory, which need no device: uint16 in, float32 out. */
#ifndef VF_TESTS_GPU_PLANNED_H
#define VF_TESTS_GPU_PLANNED_H

#include "kernel_work.h"
#include "model_gpu.h"
#include "plan.h"

struct planned {
    struct vf_chain chain;
    struct vf_gpu gpu;
    struct vf_plan plan;
};

/* The status and message of planning for a grid of nx x ny x nz voxels; `memory` is the device's bytes, 0: an
 * H200's. After a failure the chain alone is held. */
enum vf_status planned_try(struct planned *p, size_t memory, const char *chain, ptrdiff_t nx, ptrdiff_t ny,
                           ptrdiff_t nz, const char *scheme, struct vf_error *error);

/* The same for an H200; aborts the test on failure. */
void planned_open(struct planned *p, const char *chain, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                  const char *scheme);
void planned_close(struct planned *p);

/* A plan, and its last run's first kernel. */
struct planned_kernel {
    struct planned p;
    struct vf_flow flow;
    struct vf_kernel_work work;
    const struct vf_launch *launch;
};

void planned_kernel_open(struct planned_kernel *k, const char *chain, ptrdiff_t nx, ptrdiff_t ny,
                         ptrdiff_t nz, const char *scheme);
void planned_kernel_close(struct planned_kernel *k);

#endif
