/* One sweep of row-stream: all stages of a job, in tiles of job->tiling.tile. */
#ifndef VF_CPU_ROW_SWEEP_H
#define VF_CPU_ROW_SWEEP_H

#include "kernels/scheme.h"

/* As vf_scheme's plan, bytes and run, of which job->tiling.tile is what the others ask for. */
double vf_row_sweep_plan(struct vf_job *job);
size_t vf_row_sweep_bytes(const struct vf_job *job);
enum vf_status vf_row_sweep_run(const struct vf_job *job, struct vf_error *error);

#endif
