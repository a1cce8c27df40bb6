/* Kernels that come with volfilter, for machines that have a driver and no run-time compiler: as PTX, which
 * the driver turns into code for the device at hand, and keeps. They lie in a folder like the user's cache,
 * one entry a kernel, beside kernels.txt, which says with which schemes and constants there are kernels of a
 * case. `make precompiled` makes it (kernels/precompile/); plans look for kernels in it only where nothing
 * can be compiled. Safe among threads once it is open. */
#ifndef VF_PRECOMPILED_H
#define VF_PRECOMPILED_H

#include "cubin_cache.h"
#include "gpu_rank.h"
#include "tuning.h"

struct vf_cuda;
struct vf_kernel_list; /* compile_ahead.h */
struct vf_plan;

/* What they are compiled for, and the least device that takes it. */
#define VF_PTX_ARCH "compute_75"
#define VF_PTX_CAPABILITY 75

struct vf_precompiled {
    struct vf_cache folder;
    struct vf_cache_key key;    /* the beginning of every entry's key */
    struct vf_tuning choices;   /* kernels.txt: "ptx", the SHA-256 of what vf_case_source says, the scheme */
    struct vf_error why;        /* nothing can be compiled */
    const struct vf_cuda *cuda; /* whose cache may hold other kernels */
};

/* Finds the folder: $VOLFILTER_PRECOMPILED (empty: none), else `precompiled` beside the running program or
 * ../share/volfilter/precompiled from there. False where there is none. */
bool vf_precompiled_open(struct vf_precompiled *precompiled);
void vf_precompiled_close(struct vf_precompiled *precompiled);

/* Begins the keys of kernels that are compiled for `arch`: all that they have in common is part of it. */
void vf_kernel_key_begin(struct vf_cache_key *key, const char *arch);

/* The PTX of a kernel's text: *ptx, freed with vf_free, and a 0 after it. False where there is none. */
bool vf_precompiled_get(const struct vf_precompiled *precompiled, const char *text, void **ptx,
                        size_t *bytes);

/* Of the kernels of a case that there are, the one of the least predicted time: *best, which holds what the
 * plan would rather have, and keeps it where the user's cache does too. False where there is none. */
bool vf_precompiled_choose(const struct vf_precompiled *precompiled, const struct vf_kernel_case *c,
                           const struct vf_gpu *gpu, struct vf_ranked *best);

/* ---- making them ---- */

/* Adds the kernels of a plan, their texts to `list` and their lines, if they are new, to `lines`. */
enum vf_status vf_precompiled_collect(const struct vf_plan *plan, struct vf_kernel_list *list,
                                      struct vf_text *lines, struct vf_error *error);

/* Compiles the texts into a folder and writes kernels.txt there. How many were compiled: fewer than there are
 * means that some do not compile. */
enum vf_status vf_precompiled_make(const char *folder, const struct vf_kernel_list *list,
                                   const struct vf_text *lines, int *compiled, struct vf_error *error);

#endif
