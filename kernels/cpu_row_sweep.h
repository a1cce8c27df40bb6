/* One sweep of row-stream: all stages of a job, in tiles of job->tiling.tile. */
#ifndef VF_CPU_ROW_SWEEP_H
#define VF_CPU_ROW_SWEEP_H

#include "kernels/scheme.h"

/* Fills job->tiling.tile with the best choice; returns the predicted time in seconds. */
double vf_row_sweep_plan(struct vf_job *job);
/* Working memory in bytes, of all threads. */
size_t vf_row_sweep_bytes(const struct vf_job *job);
enum vf_status vf_row_sweep_run(const struct vf_job *job, struct vf_error *error);

#endif
