/* The case of one kernel: some stages of a flow as a flow of their own, and where its fields are in memory.
 */
#ifndef VF_KERNEL_WORK_H
#define VF_KERNEL_WORK_H

#include "error.h"
#include "kernels/gpu_scheme.h"

struct vf_forced_list; /* gpu_rank.h */
struct vf_gpu_groups;  /* gpu_plan.h */

/* The flow to be run, and on what. */
struct vf_gpu_request {
    const struct vf_flow *flow;
    ptrdiff_t nx, ny, nz; /* 2D: nz images */
    const enum vf_type *source_type, *sink_type;
    const struct vf_gpu *gpu;
    const struct vf_forced_list *forced; /* NULL: none */
    struct vf_gpu_groups *groups; /* weighed before, by requests that differ in the flow alone; or NULL */
};

/* Where a field of a kernel is in memory. */
enum vf_place { VF_PLACE_SOURCE, VF_PLACE_SINK, VF_PLACE_SLOT };

struct vf_kernel_field {
    enum vf_place place;
    int index; /* of the flow's sources, sinks; the field of the flow for a slot */
};

/* A kernel's stages as a flow of their own. */
struct vf_kernel_work {
    struct vf_kernel_case c; /* c.flow points to the next */
    struct vf_flow flow;
    struct vf_kernel_field source[VF_KERNEL_FIELDS], sink[VF_KERNEL_FIELDS];
};

/* What must be known of a flow's fields to cut it anywhere. */
struct vf_field_usage {
    int *maker;    /* [field_count] stage that makes it; -1: a source */
    int *last_use; /* [field_count] last stage that reads it; -1: none; INT_MAX: copied at the end */
    int *sink;     /* [field_count] the sink it is stored to directly; -1: none */
    int *source;   /* [field_count] the source it is; -1: none */
};

/* Fills the usage, and copy[] (room for every sink) with the sinks that no kernel can store as it makes them:
 * their number. */
enum vf_status vf_field_usage_open(struct vf_field_usage *usage, const struct vf_gpu_request *request,
                                   int *copy, int *copy_count, struct vf_error *error);
void vf_field_usage_close(struct vf_field_usage *usage);

/* Stages [begin, end), or the copies of sinks where there are none. *fits is false when a kernel cannot take
 * them. What is derived of its case is left to vf_kernel_case_derive. */
enum vf_status vf_kernel_work_take(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                                   const struct vf_field_usage *usage, int begin, int end, const int *copy,
                                   int copy_count, bool *fits, struct vf_error *error);
/* The same, with that. */
enum vf_status vf_kernel_work_make(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                                   const struct vf_field_usage *usage, int begin, int end, const int *copy,
                                   int copy_count, bool *fits, struct vf_error *error);
void vf_kernel_work_close(struct vf_kernel_work *work);

#endif
