/* Executing a plan on files in passes over slabs: reading, computing and writing at the same time, in the
 * memory that the stream's plan says. The result has the bits of vf_execute's. */
#ifndef VF_STREAM_H
#define VF_STREAM_H

#include "cuda_device.h"
#include "stream_plan.h"

struct vf_stream {
    const struct vf_plan *plan;
    const struct vf_stream_plan *passes;
    struct vf_stream_ends ends;
    struct vf_cuda *cuda; /* the plan's GPU; NULL where the plan is for the CPU */
    struct vf_reader *reader;
    struct vf_writer *writer;
    const char *beside;   /* the output's name: temporary files go there */
    size_t spare_bytes;   /* memory beside what is planned: for what the GPU fails at */
    struct vf_team *team; /* whose threads compute; NULL: their own */
    double *value;        /* where the global values go, [channel][vf_plan_value_count] */
    void (*progress)(void *context, size_t voxels);
    void *progress_context;
    /* How long each of the three was at work, at the same time as the others. */
    double read_seconds, compute_seconds, write_seconds;
};

/* Writes all pages; the writer is still to be finished. */
enum vf_status vf_stream_run(struct vf_stream *stream, struct vf_error *error);

#endif
