/* Times of work on a device, by its own clock. */
#ifndef VF_CUDA_TIMER_H
#define VF_CUDA_TIMER_H

#include "cuda_device.h"
#include "error.h"

#define VF_CUDA_MOST_SAMPLES 1024

/* What is timed: starts work on the stream. `turn` counts calls, so that they can take turns with several
 * arrays. */
struct vf_cuda_work {
    enum vf_status (*start)(void *context, int turn, struct vf_error *error);
    void *context;
};

/* Median seconds of one call over `samples` samples (at most VF_CUDA_MOST_SAMPLES) after a warm-up: by events
 * around as many calls as last long enough to be timed. */
enum vf_status vf_cuda_time(const struct vf_cuda *cuda, CUstream stream, const struct vf_cuda_work *work,
                            int samples, double *seconds, struct vf_error *error);

#endif
