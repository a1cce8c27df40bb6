/* A job on a CUDA device: its kernels, the memory they work in, and launching them over a slab. What goes to
 * and from the host is cuda_run's. */
#ifndef VF_CUDA_SWEEP_H
#define VF_CUDA_SWEEP_H

#include "cuda_kernels.h"
#include "cuda_transfer.h"
#include "error.h"
#include "gpu_plan.h"

/* ---- fields ---- */

/* Device memory for `planes` planes of a field, with rows vf_gpu_pitch apart. *fits is false, and *field 0,
 * if the device has not enough; *field is 0 after a failure too. */
enum vf_status vf_cuda_field_alloc(struct vf_cuda *cuda, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t planes,
                                   enum vf_type type, CUdeviceptr *field, bool *fits, struct vf_error *error);

/* Frees the field, unless it is 0, and sets it to 0. */
void vf_cuda_field_free(struct vf_cuda *cuda, CUdeviceptr *field);

/* ---- sweeps ---- */

/* The most sources, and the most sinks, of a job: VF_MAX_LIVE fields, for sinks with VF_MAX_GLOBALS values
 * each. */
#define VF_MOST_ARRAYS 256

/* Planes [begin, end). */
struct vf_plane_range {
    ptrdiff_t begin, end;
};

/* A job at work on the device: one image at a time, one slab at a time. */
struct vf_cuda_sweep {
    struct vf_cuda *cuda;
    const struct vf_gpu_plan *plan;
    const struct vf_job *job;
    struct vf_gpu_request request; /* its types are the next two */
    enum vf_type source_type[VF_MOST_ARRAYS], sink_type[VF_MOST_ARRAYS];
    struct vf_cuda_launch *kernel; /* [plan->launch_count], owned */
    CUstream stream;               /* the device's, or its own where host memory is pinned */
    struct vf_staging staging;     /* only where arrays are in host memory, or reduced */
    CUevent mark[4];               /* before uploads, before kernels, before downloads, after them */
    struct vf_plane_range all;     /* planes to compute */
    ptrdiff_t planes, images;      /* of one image; 2D: all images are planes of one */
    size_t pitch, plane;           /* elements */
    CUdeviceptr *source, *sink;    /* [flow's], on the device */
    CUdeviceptr *field;            /* [field_count]: the slot that a field is in; 0: none */
    int *last_reader;              /* [field_count]: the last launch that reads a field in a slot */
    CUdeviceptr *slot;             /* [slot_count]: memory for fields between kernels */
    int *free_slot, free_count;    /* the numbers of slots that hold no field now */
    ptrdiff_t room;                /* planes that each buffer has room for */
    ptrdiff_t base;                /* the first plane that buffers hold */
    ptrdiff_t shift, grid;         /* kernels number planes from `shift`, in a grid of `grid` planes */
};

/* Compiles the plan's kernels. Plan and job are borrowed. The caller closes the sweep, also after a failure.
 * `straight`: host memory is pinned, so that transfers go without staging. */
enum vf_status vf_cuda_sweep_open(struct vf_cuda_sweep *sweep, struct vf_cuda *cuda,
                                  const struct vf_gpu_plan *plan, const struct vf_job *job, bool straight,
                                  struct vf_error *error);

/* Another job of the same plan, which differs in its arrays and in which of the planes it computes. */
void vf_cuda_sweep_set_job(struct vf_cuda_sweep *sweep, const struct vf_job *job);

/* Records mark[index] on the stream. Once all four have passed, vf_cuda_add_times adds the seconds between
 * them to cuda->seconds. */
enum vf_status vf_cuda_sweep_mark(struct vf_cuda_sweep *sweep, int index, struct vf_error *error);
void vf_cuda_add_times(struct vf_cuda *cuda, CUevent const mark[4]);

/* Waits for transfers to end, not for kernels. */
void vf_cuda_sweep_close(struct vf_cuda_sweep *sweep);

/* Numbers planes for the kernels of the slab that computes `wanted`; `window` gets the planes that buffers
 * must have. */
enum vf_status vf_cuda_sweep_set_slab(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted,
                                      struct vf_plane_range *window, struct vf_error *error);

/* Bytes of one plane of all buffers. */
size_t vf_cuda_sweep_plane_bytes(const struct vf_cuda_sweep *sweep);

/* Takes buffers of `room` planes for every field that is not on the device yet. *fits is false if the device
 * has not the memory; then, and after a failure, nothing is held. */
enum vf_status vf_cuda_sweep_take(struct vf_cuda_sweep *sweep, ptrdiff_t room, bool *fits,
                                  struct vf_error *error);
void vf_cuda_sweep_release(struct vf_cuda_sweep *sweep);

/* All kernels, one after another, over the slab of one image; returns before they have run. */
enum vf_status vf_cuda_sweep_launch(struct vf_cuda_sweep *sweep, ptrdiff_t image, struct vf_error *error);

/* ---- jobs ---- */

/* Whether some array of the job is on the device: then it goes in one slab, and the CPU cannot take over. */
bool vf_cuda_job_is_resident(const struct vf_job *job);
bool vf_cuda_job_is_stopped(const struct vf_job *job);

#endif
