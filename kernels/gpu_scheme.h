/* A GPU scheme: how one kernel sweeps the grid. Here: what it is given and what it must offer.
 *
 * To add one: kernels/NAME.cu (device: kernels/device.h says how) and kernels/NAME.c, which fills a `const
 * struct vf_gpu_scheme`, and its line in vf_gpu_schemes (kernels/gpu_schemes.c). Every scheme gives the bits
 * of cpu_reference. */
#ifndef VF_GPU_SCHEME_H
#define VF_GPU_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/gpu.h"
#include "kernels/scheme.h"
#include "src/text.h"

#define VF_KERNEL_FIELDS 16      /* inputs, and outputs, of a kernel at most */
#define VF_KERNEL_MOST_FIELDS 96 /* fields of its flow at most */
#define VF_VECTOR_BYTES 16       /* of the compute type that a thread takes at once: a pack */
#define VF_GATE_BYTES 16         /* of shared memory: a barrier of kernels/device_gate.h */

struct vf_kernel_traffic; /* src/model.h */

/* What one kernel computes: consecutive stages, whose sources it reads from memory and whose sinks it writes.
 * Borrowed pointers. */
struct vf_kernel_case {
    const struct vf_flow *flow; /* these stages alone: fields that come in are its sources */
    enum vf_type source_type[VF_KERNEL_FIELDS], sink_type[VF_KERNEL_FIELDS];
    ptrdiff_t nx, ny, nz; /* to compute; 2D: nz images */
    /* Derived by vf_kernel_case_derive: */
    int halo[3]; /* z, y, x: how far all stages together reach on the sources */
    int source_halo[VF_KERNEL_FIELDS][3];
    bool shallow; /* what stages make is read by others at its own place only: a cell is computed from sources
                     alone */
    int operations;         /* arithmetic of a cell, in additions */
    int face_operations;    /* of it, that of one face, which neighbours may share */
    size_t param_count;     /* numbers of all stages, those of equal stages once */
    bool loops_table;       /* vf_is_looped_table of a stage */
    int written_operations; /* operations in the text of a cell: of such a table a row of it */
};

/* The constants that a kernel is compiled with: x, y, z. In 2D the z of block and work is 1. */
struct vf_kernel_config {
    int block[3];        /* threads */
    int work[3];         /* cells of a thread */
    int stream;          /* planes, or rows, that a block streams through; 0: it does not */
    int variant;         /* index into the scheme's variants */
    bool flat_grid;      /* tiles are numbered along the grid's x */
    bool virtual_blocks; /* as many blocks as fit at once, each takes several tiles */
    bool interior;       /* tiles inside the grid do without the boundary rule: twice the code */
};

struct vf_gpu_scheme {
    const char *name, *summary;
    const char *file; /* kernels/NAME.cu */
    const char *const
        *variants; /* their names, as --scheme NAME:variant=... takes them; NULL-terminated; NULL: none */
    /* NULL, or why it cannot take the case; asked by vf_gpu_scheme_refuses. */
    const char *(*refuses)(const struct vf_kernel_case *c);
    bool takes_loops; /* vf_is_looped_table: its cells are read at places that are not constants */
    /* The configurations worth weighing on this device, the best guess first; how many (at most `room`). */
    int (*candidates)(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room);
    /* NULL, or why a configuration, perhaps the user's, does not do. */
    const char *(*forbids)(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config);
    /* Cells that one tile, a block's work, covers along x, y, z. */
    void (*tile)(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tile[3]);
    /* How many tiles there are along x, y, z; NULL: as many as cover the grid. */
    void (*tiles)(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tiles[3]);
    /* Dynamic shared memory of a block in bytes. */
    size_t (*shared)(const struct vf_kernel_case *c, const struct vf_kernel_config *config);
    /* What a block does, for the model: all but blocks, threads, shared bytes, which the plan fills. A stream
     * ends with the grid, unless the scheme numbers its tiles itself.
     * `registers` holds a first guess, and the compiled number later. */
    void (*traffic)(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic);
    int unsure_registers; /* by how many the compiler may take more than that guess */
    /* Operations in the kernel's code once loops are unrolled, those beside arithmetic as far as they grow
     * with the case: what compiling takes, some half a millisecond each. NULL: cells of a thread times a
     * cell's operations. */
    double (*written)(const struct vf_kernel_case *c, const struct vf_kernel_config *config);
    bool any_width;               /* blocks of one row of threads may be any number of warps wide */
    double most_written;          /* so many at most for large grids; 0: no more than for small ones */
    int most_stages, most_fields; /* of a kernel that is weighed unasked, where that takes long; 0: any */
    /* Adds constants of its own to the kernel's text; NULL: none. */
    void (*define)(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text);
};

/* All of them, NULL-terminated: the safe one, global-read, first. */
extern const struct vf_gpu_scheme *const vf_gpu_schemes[];

/* Fills what is derived from the flow and the types. */
void vf_kernel_case_derive(struct vf_kernel_case *c);

/* Where stage s finds its numbers among all parameters of the kernel, and how many: equal ones are kept once.
 * Global values are equal where they are the same one, whatever it is, so that the image has no say in a
 * kernel's text. */
int vf_stage_first_param(const struct vf_flow *flow, int s);
int vf_stage_param_count(const struct vf_stage *stage);

bool vf_config_equal(const struct vf_kernel_config *a, const struct vf_kernel_config *b);

/* ---- for schemes ---- */

/* Arithmetic of a cell, in additions, where a thread computes so many side by side or one after another: what
 * belongs to a face is computed once for both of its cells. */
double vf_kernel_operations(const struct vf_kernel_case *c, int cells_x, int cells_y, int cells_z);

/* The axis (0 is z) of a stage that is a line of weights: taps in consecutive places along it, the centre in
 * their midst; -1 of any other. */
int vf_line_axis(const struct vf_stage *stage);

/* Whether a table has so many taps that its text is a loop: there is no VF_TAPS_s of it
 * (src/kernel_source.c). One that is no line has a number then for each place of the box that its halo spans,
 * NaN where no tap is, and takes a kernel alone, of a scheme that says so. */
bool vf_is_looped(const struct vf_stage *stage);
bool vf_is_looped_table(const struct vf_stage *stage);

/* The place of tap t's weight among the stage's numbers. */
int vf_tap_param(const struct vf_stage *stage, int t);

/* NULL, or why the scheme cannot take the case. */
const char *vf_gpu_scheme_refuses(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c);

/* Bytes of the compute type; cells of a pack. */
size_t vf_kernel_element(const struct vf_kernel_case *c);
int vf_kernel_pack(const struct vf_kernel_case *c);

/* Widths, in threads of so many cells side by side, of blocks of which one to four cover a row of the grid
 * with little beyond it: whole warps, two to eight, the widest first. How many. */
enum { VF_MOST_WIDTHS = 4 };
int vf_kernel_widths(const struct vf_kernel_case *c, int cells, int width[VF_MOST_WIDTHS]);

/* Instructions that a value takes the time of as it is read, from the stored type to the compute type, and
 * as it is stored. */
double vf_widening_ops(const struct vf_kernel_case *c, enum vf_type stored);
double vf_narrowing_ops(const struct vf_kernel_case *c, enum vf_type stored);

/* NULL if `config` is within the device's limits with `shared` bytes and the case's dimension; else why not.
 */
const char *vf_kernel_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                             const struct vf_kernel_config *config, size_t shared);

/* NULL, or why elements of a plane cannot be counted in 32 bits. */
const char *vf_kernel_plane_limit(const struct vf_kernel_case *c);

/* Whether cells other than the computed one are read of source k. */
bool vf_kernel_source_has_halo(const struct vf_kernel_case *c, int k);

#endif
