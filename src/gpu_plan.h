/* How a flow's stages become kernels on a GPU: which stages one kernel takes together, by which scheme, with
 * which constants. Chosen by the model (model.h); nothing is compiled here. */
#ifndef VF_GPU_PLAN_H
#define VF_GPU_PLAN_H

#include "error.h"
#include "kernel_work.h"
#include "kernels/gpu_scheme.h"
#include "model.h"

/* ---- what the user forces ---- */

#define VF_MAX_FORCED 32

/* One word of --scheme: [STAGE=]NAME[:key=value...]. */
struct vf_forced {
    char stage[8]; /* "": every stage */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;     /* what was given; 0 elsewhere */
    int variant;                        /* -1: not given */
    int grid, virtual_blocks, interior; /* 0, 1, or -1: not given */
    int fuse;                           /* stages of a kernel, of the last one perhaps fewer; 0: not given */
};

struct vf_forced_list {
    int count;
    struct vf_forced entry[VF_MAX_FORCED];
};

/* Reads "[STAGE=]NAME[:key=value...][,...]". Keys: block=XxYxZ, work=XxYxZ, stream=N, variant=NAME,
 * grid=flat|full, virtual=0|1, interior=0|1, fuse=N. Errors are VF_USAGE and name the schemes, keys or
 * variants there are. */
enum vf_status vf_forced_read(const char *text, struct vf_forced_list *list, struct vf_error *error);

/* ---- the plan ---- */

/* One kernel. stage_begin == stage_end: it copies sinks that no stage makes, or that are also read on in the
 * compute type. */
struct vf_launch {
    int stage_begin, stage_end;
    int copy_begin, copy_end; /* of the plan's copied sinks */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    bool forced;
    bool tuned;       /* chosen by what was measured: tuning.h */
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
};

enum vf_status vf_gpu_plan_open(struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                struct vf_error *error);
void vf_gpu_plan_close(struct vf_gpu_plan *plan);

/* ---- the case of one kernel ---- */

/* `request->flow` may hold other parameters than the plan was made for, not other stages. Fails with VF_USAGE
 * when the stages have more fields than a kernel can. */
enum vf_status vf_kernel_work_open(struct vf_kernel_work *work, const struct vf_gpu_plan *plan,
                                   const struct vf_gpu_request *request, const struct vf_launch *launch,
                                   struct vf_error *error);

/* Configurations for a case by predicted time, the best first: how many, at most `room`. */
struct vf_ranked {
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    double seconds; /* predicted; measured where it is tuned */
    struct vf_model_detail detail;
    bool tuned, precompiled;
};
int vf_gpu_rank(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_forced *forced,
                struct vf_ranked *list, int room);

/* The same configuration with fewer and with more chunks of the axis that it streams, if it streams, up to
 * four times as many: how many, at most `room`. Their times are those of `of`. */
int vf_gpu_rechunk(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_ranked *of,
                   struct vf_ranked *list, int room);

/* Predicted time of one configuration; registers of a thread, 0: estimated. */
double vf_gpu_predict(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                      const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *config,
                      int registers, struct vf_model_detail *detail);

/* Whether the kernel compiles for longer than any that the plan chooses unasked. */
bool vf_gpu_is_long(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                    const struct vf_kernel_config *config);

/* Numbers the tiles along x where there are too many along y or z for a launch. */
void vf_gpu_fit_grid(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                     struct vf_kernel_config *config);

/* Tiles of the grid along x, y, z. */
void vf_gpu_tiles(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                  const struct vf_kernel_config *config, ptrdiff_t tiles[3]);

#endif
