/* Which scheme with which constants one kernel takes: configurations by the model's prediction (model.h), by
 * what was measured, or as the user forces them. */
#ifndef VF_GPU_RANK_H
#define VF_GPU_RANK_H

#include "error.h"
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

/* ---- configurations of a case ---- */

/* Configurations for a case by predicted time, the best first: how many, at most `room`. */
struct vf_ranked {
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    double seconds; /* predicted; measured where it is tuned */
    struct vf_model_detail detail;
    bool tuned;    /* chosen by what was measured (tuning.h) */
    bool its_grid; /* on this very grid, by such a device; else on one of about its size, or by another */
    bool precompiled;
};
int vf_gpu_rank(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_forced *forced,
                struct vf_ranked *list, int room);

/* The same configuration with fewer and with more chunks of the axis that it streams, if it streams, up to
 * four times as many: how many, at most `room`. Their times are those of `of`. */
int vf_gpu_rechunk(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_ranked *of,
                   struct vf_ranked *list, int room);

/* What was measured (tuning.h), else what is predicted to be best, of what there is where nothing can be
 * compiled; false when nothing can take the case. What the user forces is not replaced by what there is: it
 * fails later. */
bool vf_gpu_choose(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_forced *forced,
                   struct vf_ranked *best);

/* Why the scheme that the user forces cannot take a case for which nothing was chosen. */
const char *vf_gpu_refusal(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_forced *forced);

/* Predicted time of one configuration; registers of a thread, 0: estimated. */
double vf_gpu_predict(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                      const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *config,
                      int registers, struct vf_model_detail *detail);

/* Operations in the kernel's code: what compiling it takes is as much. */
double vf_gpu_length(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                     const struct vf_kernel_config *config);

/* Whether the kernel compiles for longer than any that the plan chooses unasked: a tool that compiles all
 * kinds leaves it out. */
bool vf_gpu_is_long(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                    const struct vf_kernel_config *config);

/* Numbers the tiles along x where there are too many along y or z for a launch. */
void vf_gpu_fit_grid(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                     struct vf_kernel_config *config);

/* Tiles of the grid along x, y, z. */
void vf_gpu_tiles(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                  const struct vf_kernel_config *config, ptrdiff_t tiles[3]);

#endif
