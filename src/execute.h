/* Executing a plan on volumes in memory, channel by channel. */
#ifndef VF_EXECUTE_H
#define VF_EXECUTE_H

#include "cuda_device.h"
#include "plan.h"
#include "volume.h"

struct vf_execution {
    const struct vf_plan *plan;
    struct vf_cuda *cuda; /* the plan's GPU; NULL where the plan is for the CPU */
    const struct vf_volume
        *in;               /* of the plan's grid: nz planes a time, or, sliced, nz * nt images of one plane */
    struct vf_volume *out; /* channel c * outputs + k is output k of channel c */
    size_t channels;       /* of `in`, from the first on: those that are filtered */
    void (*progress)(void *context, size_t voxels);
    void *progress_context;
    struct vf_team *team; /* whose threads compute; NULL: their own */
    double *value;        /* where the global values go, [channel][vf_plan_value_count]; may be NULL */
    size_t spare_bytes;   /* memory beside what is planned: for what the GPU has no room for, or fails at */
};

/* The result is the same bits whatever the plan's backend, scheme, tiles and threads. Where the GPU fails the
 * CPU does it again, and execution->cuda->failed and failure say so; with cuda->strict it is an error,
 * VF_DEVICE. */
enum vf_status vf_execute(const struct vf_execution *execution, struct vf_error *error);

/* Bytes of the lists of planes that it holds at most at once. */
size_t vf_execute_table_bytes(const struct vf_plan *plan);

/* Voxels that `progress` will hear of. */
size_t vf_execute_voxels(const struct vf_plan *plan, size_t channels);

#endif
