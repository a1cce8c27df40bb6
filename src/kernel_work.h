/* The case of one kernel: some stages of a flow as a flow of their own, and where its fields are in memory.
 */
#ifndef VF_KERNEL_WORK_H
#define VF_KERNEL_WORK_H

#include "error.h"
#include "kernels/gpu_scheme.h"

struct vf_forced_list; /* gpu_rank.h */
struct vf_gpu_groups;  /* gpu_plan.h */

/* What kernels are planned for: a flow, its grid, and a GPU. All is borrowed. */
struct vf_gpu_request {
    const struct vf_flow *flow;
    ptrdiff_t nx, ny, nz; /* 2D: nz images */
    const enum vf_type *source_type, *sink_type;
    const struct vf_gpu *gpu;
    const struct vf_forced_list *forced; /* NULL: none */
    struct vf_gpu_groups *groups;        /* of requests that differ from this in the flow alone; NULL: none */
};

/* Where a field of a kernel is in memory. */
enum vf_place { VF_PLACE_SOURCE, VF_PLACE_SINK, VF_PLACE_SLOT };

struct vf_kernel_field {
    enum vf_place place;
    int index; /* into the flow's sources or sinks; for a slot, the field of the flow */
};

/* A kernel's stages as a flow of their own. */
struct vf_kernel_work {
    struct vf_kernel_case c; /* c.flow points to the next */
    struct vf_flow flow;
    struct vf_kernel_field source[VF_KERNEL_FIELDS], sink[VF_KERNEL_FIELDS];
};

/* Who makes and reads each field of a flow: what is needed to cut the flow into kernels anywhere. Owned. */
struct vf_field_usage {
    int *maker;         /* [field_count] stage that makes it; -1: a source */
    int *last_use;      /* [field_count] last stage that reads it; -1: none; INT_MAX: copied at the end */
    int *sink;          /* [field_count] the sink it is stored to directly; -1: none */
    int *source;        /* [field_count] the source it is; -1: none */
    enum vf_type *type; /* [field_count] as which it may be stored between two kernels */
};

/* Fills the usage; and copy[], which has room for every sink, with the *copy_count sinks that no kernel can
 * store as it makes them. */
enum vf_status vf_field_usage_open(struct vf_field_usage *usage, const struct vf_gpu_request *request,
                                   int *copy, int *copy_count, struct vf_error *error);
void vf_field_usage_close(struct vf_field_usage *usage);

/* Makes the work of stages [begin, end), or, if there are none, of copying sinks. *fits is false if one
 * kernel cannot take them. Closed by the caller unless the status is a failure. `take` leaves out
 * vf_kernel_case_derive, `make` does it. */
enum vf_status vf_kernel_work_take(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                                   const struct vf_field_usage *usage, int begin, int end, const int *copy,
                                   int copy_count, bool *fits, struct vf_error *error);
enum vf_status vf_kernel_work_make(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                                   const struct vf_field_usage *usage, int begin, int end, const int *copy,
                                   int copy_count, bool *fits, struct vf_error *error);
void vf_kernel_work_close(struct vf_kernel_work *work);

#endif
