/* Kernels that were measured: which scheme, with which constants, won for a case on a device, and its time.
 * `volfilter tune` makes them, plans use them, a text keeps them, a line each, in five columns between tabs:
 *
 *   DEVICE  CASE  SCHEME  COPIES  FIGURES
 *
 * DEVICE is a device's name, or an architecture such as sm_90, which stands for all devices of it; CASE what
 * vf_case_text writes; SCHEME as --scheme takes it; COPIES the kernel's time over that of a copy that reads
 * the bytes of its sources and writes those of its sinks; FIGURES those of the device that it was measured
 * on, "132SM,1980MHz,60MiB,4190GB/s". On another device it is taken to be longer or shorter by as much as the
 * model's prediction is. Lines without figures, as other versions wrote them, count as measured on the device
 * at hand; those that are not understood count for nothing; both stay in the user's file. */
#ifndef VF_TUNING_H
#define VF_TUNING_H

#include "cubin_cache.h"
#include "error.h"
#include "gpu_rank.h"
#include "text.h"

/* What devices of an architecture differ in, of what the model knows. */
struct vf_figures {
    int multiprocessors; /* 0: not known */
    double clock, l2, bandwidth;
};

struct vf_tuned {
    char *device, *kernel_case; /* owned */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    double copies;
    struct vf_figures figures;
    bool shipped;  /* with the program; else the user's */
    bool measured; /* by this process, after the user's file was read */
};

/* All zero is an empty one. */
struct vf_tuning {
    struct vf_tuned *entry; /* owned; the first that fits a case holds */
    int count;
    size_t room;
    int most_stages;        /* of an entry's kernel */
    struct vf_text foreign; /* the user's lines that are not understood */
    double untuned; /* predicted times of kernels that were not measured are multiplied by this; 0: by 1 */
};

/* A case in words: dimension, type, boundary, the grid, sources, stages, sinks.
 * Weights and parameters are not in it. */
void vf_case_text(const struct vf_kernel_case *c, struct vf_text *text);

/* Seconds that a copy of the case's sources to its sinks takes at the device's bandwidth. */
double vf_case_copy_seconds(const struct vf_kernel_case *c, const struct vf_gpu *gpu);

/* Adds the lines of a text after those that are there. Fails only when memory runs out. */
enum vf_status vf_tuning_read(struct vf_tuning *tuning, const char *lines, bool shipped,
                              struct vf_error *error);

/* The same of a file; one that cannot be read is none. */
enum vf_status vf_tuning_read_file(struct vf_tuning *tuning, const char *path, bool shipped,
                                   struct vf_error *error);

/* A scheme with its constants, as --scheme takes it. */
void vf_tuning_write_scheme(const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *c,
                            struct vf_text *text);

/* An entry as a line. */
void vf_tuning_write_entry(const struct vf_tuned *entry, struct vf_text *lines);

/* The user's lines, those that are not understood last. */
void vf_tuning_write(const struct vf_tuning *tuning, struct vf_text *lines);

/* The user's file, which lies beside the cache's entries, where there is one, and what comes with the program
 * (kernels/tuned.txt). */
enum vf_status vf_tuning_open(struct vf_tuning *tuning, const struct vf_cache *cache, struct vf_error *error);

/* Adds the user's lines to the user's file, whose name `path` gets; its folder is there (vf_cache_make). What
 * other processes have written since it was read stays, but for cases that this one measured. */
enum vf_status vf_tuning_save(const struct vf_tuning *tuning, const struct vf_cache *cache,
                              char path[PATH_MAX + 16], struct vf_error *error);

/* Adds or replaces what is known of a case on a device: choice->scheme, config and seconds. */
enum vf_status vf_tuning_set(struct vf_tuning *tuning, const struct vf_kernel_case *c,
                             const struct vf_gpu *gpu, const struct vf_ranked *choice,
                             struct vf_error *error);

/* What won for a kernel's stages somewhere: the case there, the device, its scheme and config for them, and
 * what the case at hand would take at that speed on the device at hand. It is tuned where boundaries are the
 * same and no extent of the grids differs by more than half a power of two. */
struct vf_known {
    struct vf_kernel_case there;
    struct vf_gpu on;
    struct vf_ranked won;
};
#define VF_MOST_KNOWN 4

/* What was measured for the case's stages on this device, or on its architecture: how many, the nearest grids
 * first. `tuning` may be NULL. */
int vf_tuning_find(const struct vf_tuning *tuning, const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                   struct vf_known known[VF_MOST_KNOWN]);

/* Cases that are known of the device: measured on it, and shipped for it. */
void vf_tuning_count(const struct vf_tuning *tuning, const struct vf_gpu *gpu, int *own, int *shipped);

void vf_tuning_free(struct vf_tuning *tuning);

#endif
