/* Kernels that were measured: which scheme, with which constants, was fastest for a case on a device, and how
 * long it took. `volfilter tune` makes these entries, plans use them. They are kept as text, one a line, in
 * five columns with tabs between them:
 *
 *   DEVICE  CASE  SCHEME  COPIES  FIGURES
 *
 *   DEVICE   a device's name, or an architecture such as sm_90, which stands for all its devices
 *   CASE     what vf_case_text writes
 *   SCHEME   as --scheme takes it
 *   COPIES   the kernel's time, in units of the time that a copy takes which reads as many bytes as the
 *            kernel's sources have and writes as many as its sinks have
 *   FIGURES  of the device that it was measured on, such as "132SM,1980MHz,60MiB,4190GB/s"
 *
 * On another device the time is taken to be longer or shorter by the same factor as the model's prediction.
 * A line without figures, as other versions wrote them, counts as measured on the present device; a line that
 * is not understood is ignored. Both stay in the user's file. */
#ifndef VF_TUNING_H
#define VF_TUNING_H

#include "cubin_cache.h"
#include "error.h"
#include "gpu_rank.h"
#include "text.h"

/* What the model knows of a device in which devices of one architecture differ. */
struct vf_figures {
    int multiprocessors;         /* 0: not known */
    double clock, l2, bandwidth; /* Hz; bytes; bytes/s */
};

struct vf_tuned {
    char *device, *kernel_case; /* owned */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    double copies;             /* see above */
    struct vf_figures figures; /* of the device that it was measured on */
    bool shipped;              /* came with the program; else it is the user's */
    bool measured;             /* by this process, after the user's file was read */
};

/* All entries. All zero: there are none. */
struct vf_tuning {
    struct vf_tuned *entry; /* owned; of several that fit a case the first one counts */
    int count;
    size_t room;
    int most_stages;        /* the most stages that the kernel of an entry has */
    struct vf_text foreign; /* the lines of the user's file that are not understood */
    /* Predicted times of kernels that were not measured are multiplied by this; 0: they are not. */
    double untuned;
};

/* A case in words: dimension, type, boundary, the grid, sources, stages, sinks. Kernels that differ only in
 * weights and parameters have the same. */
void vf_case_text(const struct vf_kernel_case *c, struct vf_text *text);

/* Seconds that a copy of the case's sources to its sinks takes at the device's bandwidth. */
double vf_case_copy_seconds(const struct vf_kernel_case *c, const struct vf_gpu *gpu);

/* Adds an entry after those that are there: `what`, but for its names. */
enum vf_status vf_tuning_add(struct vf_tuning *tuning, const char *device, const char *kernel_case,
                             const struct vf_tuned *what, struct vf_error *error);

/* Adds the user's entries of `from` to those of the user's file; what this process measured takes the place
 * of what the file has of the same case. */
enum vf_status vf_tuning_merge(struct vf_tuning *file, const struct vf_tuning *from, struct vf_error *error);

/* Adds the lines of a text after those that are there. Fails only when memory runs out. */
enum vf_status vf_tuning_read(struct vf_tuning *tuning, const char *lines, bool shipped,
                              struct vf_error *error);

/* The same for a file, if there is one. If not all of it can be read, because it is larger than any list of
 * kernels or is no text, nothing is added and it fails. */
enum vf_status vf_tuning_read_file(struct vf_tuning *tuning, const char *path, bool shipped,
                                   struct vf_error *error);

/* A scheme with its constants, as --scheme takes it. */
void vf_tuning_write_scheme(const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *c,
                            struct vf_text *text);

/* An entry as a line. */
void vf_tuning_write_entry(const struct vf_tuned *entry, struct vf_text *lines);

/* The user's lines, those that are not understood last. */
void vf_tuning_write(const struct vf_tuning *tuning, struct vf_text *lines);

/* Reads the user's file, which lies beside the cache's entries, if there is one that can be read, and then
 * what comes with the program (kernels/tuned.txt). */
enum vf_status vf_tuning_open(struct vf_tuning *tuning, const struct vf_cache *cache, struct vf_error *error);

/* Writes the user's entries to the user's file, and its name to `path`. Its folder must be there
 * (vf_cache_make). What other processes have written since it was read is kept, except for cases that this
 * process measured. A file that cannot be read is not replaced. */
enum vf_status vf_tuning_save(const struct vf_tuning *tuning, const struct vf_cache *cache,
                              char path[PATH_MAX + 16], struct vf_error *error);

/* Adds or replaces the entry of a case on a device, from choice->scheme, config and seconds. */
enum vf_status vf_tuning_set(struct vf_tuning *tuning, const struct vf_kernel_case *c,
                             const struct vf_gpu *gpu, const struct vf_ranked *choice,
                             struct vf_error *error);

/* What was measured for the same stages, perhaps on another grid or device: the case and the device there,
 * and the scheme and config that won. won.seconds is what the present case would take on the present device
 * at that speed. won.tuned: boundaries are the same, and the grids differ by a factor of at most sqrt(2) in
 * each extent. */
struct vf_known {
    struct vf_kernel_case there;
    struct vf_gpu on;
    struct vf_ranked won;
};
#define VF_MOST_KNOWN 4

/* Finds what was measured for the case's stages on this device or its architecture, the nearest grids first;
 * integers with a sign and without count as one type. Returns how many there are. `tuning` may be NULL. */
int vf_tuning_find(const struct vf_tuning *tuning, const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                   struct vf_known known[VF_MOST_KNOWN]);

/* How many cases the device has entries for: the user's own, and those that came with the program. */
void vf_tuning_count(const struct vf_tuning *tuning, const struct vf_gpu *gpu, int *own, int *shipped);

void vf_tuning_free(struct vf_tuning *tuning);

#endif
