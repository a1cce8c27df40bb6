/* How a flow's stages become kernels on a GPU: which stages one kernel takes together, by which scheme, with
 * which constants. Chosen by the model (model.h); nothing is compiled here. */
#ifndef VF_GPU_PLAN_H
#define VF_GPU_PLAN_H

#include "error.h"
#include "gpu_rank.h"
#include "kernel_work.h"

/* ---- the plan ---- */

/* One kernel. stage_begin == stage_end: it copies sinks that no stage makes, or that are also read on in the
 * compute type. */
struct vf_launch {
    int stage_begin, stage_end;
    int copy_begin, copy_end; /* of the plan's copied sinks */
    int alike; /* the first of the plan's launches whose kernel is the same, or its own number */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    bool forced;
    bool tuned;       /* chosen by what was measured: tuning.h */
    bool its_grid;    /* measured on this very grid by such a device */
    bool precompiled; /* it came with the program: precompiled.h */
    double seconds;   /* for the whole grid: measured where tuned, else predicted */
    struct vf_model_detail detail;
};

struct vf_gpu_plan {
    int launch_count;
    struct vf_launch *launch; /* owned */
    int copy_count;
    int *copy;      /* owned: sinks that are copied at the end */
    int slot_count; /* fields of the compute type held at once, beside sources and sinks */
    double seconds;
    unsigned long number; /* no other plan's but a copy's; 0: it was made otherwise */
};

/* Groups of stages that were weighed as kernels: iterations are alike, and so are flows that are split in
 * other ways. Their taps are the flows', which must be there. All zero to begin with. */
struct vf_gpu_groups {
    struct vf_gpu_group *group; /* owned */
    int count;
    size_t room;
};
void vf_gpu_groups_free(struct vf_gpu_groups *groups);

enum vf_status vf_gpu_plan_open(struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                struct vf_error *error);
/* Where it fails `to` is empty. */
enum vf_status vf_gpu_plan_copy(struct vf_gpu_plan *to, const struct vf_gpu_plan *from,
                                struct vf_error *error);
void vf_gpu_plan_close(struct vf_gpu_plan *plan);

/* ---- the case of one kernel ---- */

/* `request->flow` may hold other parameters than the plan was made for, not other stages. Fails with VF_USAGE
 * when the stages have more fields than a kernel can. */
enum vf_status vf_kernel_work_open(struct vf_kernel_work *work, const struct vf_gpu_plan *plan,
                                   const struct vf_gpu_request *request, const struct vf_launch *launch,
                                   struct vf_error *error);

#endif
