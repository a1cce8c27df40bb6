/* How a flow's stages become kernels on a GPU: which stages one kernel takes together, by which scheme, with
 * which constants. Chosen by the model (model.h); nothing is compiled here. */
#ifndef VF_GPU_PLAN_H
#define VF_GPU_PLAN_H

#include "error.h"
#include "gpu_rank.h"
#include "kernel_work.h"

/* ---- the plan ---- */

/* One kernel: of stages [stage_begin, stage_end) of the flow. If there are none, it copies sinks that no
 * stage makes, or that later kernels also read in the compute type. */
struct vf_launch {
    int stage_begin, stage_end;
    int copy_begin, copy_end; /* into the plan's `copy` */
    int alike; /* the number of the first launch of the plan with the same kernel: perhaps its own */
    struct vf_ranked choice;
    bool forced; /* the user asks for it */
};

struct vf_gpu_plan {
    int launch_count;
    struct vf_launch *launch; /* owned */
    int copy_count;
    int *copy;      /* owned: sinks that are copied at the end */
    int slot_count; /* the most fields that are held at once beside sources and sinks, in the compute type */
    double seconds; /* predicted, of all launches */
    /* Of this plan and its copies alone; 0 for one that vf_gpu_plan_open has not made. */
    unsigned long number;
};

/* Groups of stages that were weighed as kernels, so that equal ones in other iterations, or in the flow that
 * is split otherwise, are not weighed again. They borrow the flows' taps. All 0 to begin with. */
struct vf_gpu_groups {
    struct vf_gpu_group *group; /* owned */
    int count;
    size_t room;
};
void vf_gpu_groups_free(struct vf_gpu_groups *groups);

enum vf_status vf_gpu_plan_open(struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                struct vf_error *error);
/* On failure `to` is empty. */
enum vf_status vf_gpu_plan_copy(struct vf_gpu_plan *to, const struct vf_gpu_plan *from,
                                struct vf_error *error);
void vf_gpu_plan_close(struct vf_gpu_plan *plan);

/* ---- the case of one kernel ---- */

/* The case of one of the plan's launches. The flow of `request` may have other parameters than the plan was
 * made for, but the same stages. VF_USAGE if the stages have more fields than a kernel can have. */
enum vf_status vf_kernel_work_open(struct vf_kernel_work *work, const struct vf_gpu_plan *plan,
                                   const struct vf_gpu_request *request, const struct vf_launch *launch,
                                   struct vf_error *error);

#endif
