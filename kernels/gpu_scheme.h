/* A GPU scheme: how one kernel sweeps the grid. Here: what it is given and what it must offer.
 *
 * To add one: kernels/NAME.cu, which the device runs (kernels/device.h says how it is written),
 * kernels/NAME.c, which fills `const struct vf_gpu_scheme vf_gpu_NAME`, and its line in gpu_schemes.def.
 * Every scheme gives the bits of cpu_reference. global_read.c and .cu are the simplest, small_tile.c the
 * shortest. */
#ifndef VF_GPU_SCHEME_H
#define VF_GPU_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/gpu.h"
#include "kernels/scheme.h"
#include "src/text.h"

#define VF_KERNEL_FIELDS 16      /* the most inputs, and the most outputs, of a kernel */
#define VF_KERNEL_MOST_FIELDS 96 /* the most fields of its flow */
#define VF_PACK_BYTES 16         /* of a pack: cells side by side that a thread moves at once */
#define VF_GATE_BYTES 16         /* of shared memory: what a barrier of kernels/device_gate.h takes */

struct vf_kernel_traffic; /* src/model.h */

/* What one kernel computes: consecutive stages, whose sources it reads from memory and whose sinks it writes.
 * The flow is borrowed. */
struct vf_kernel_case {
    const struct vf_flow *flow; /* of these stages alone: what earlier kernels made is a source of it */
    enum vf_type source_type[VF_KERNEL_FIELDS], sink_type[VF_KERNEL_FIELDS];
    ptrdiff_t nx, ny, nz; /* cells to compute along each axis; in 2D nz counts images */
    /* Derived from these by vf_kernel_case_derive: */
    int halo[3];                          /* z, y, x: how far all stages together reach on the sources */
    int source_halo[VF_KERNEL_FIELDS][3]; /* the same on each of them */
    bool shallow;          /* stages read neighbours of sources only, not of what other stages make */
    int operations;        /* arithmetic of a cell, in additions */
    int face_operations;   /* the part of it that is one face's, which two cells may share */
    int column_operations; /* and of one column of a box along x, which cells beside each other may */
    size_t param_count;    /* parameters and weights of all stages, those of equal stages once */
    bool loops_table;      /* a stage is a table that the kernel's text takes in loops (vf_is_looped_table) */
    int written_operations; /* like `operations`, as they stand in that text: of such a table one row */
};

/* The constants that a kernel is compiled with. Triples are x, y, z; in 2D the z of block and work is 1. */
struct vf_kernel_config {
    int block[3];        /* threads of a block */
    int work[3];         /* cells of a thread */
    int stream;          /* planes, in 2D rows, that a block goes through one after another; 0: it does not */
    int variant;         /* index into the scheme's variants */
    bool flat_grid;      /* the grid of blocks is one line, along which tiles are numbered */
    bool virtual_blocks; /* there are only as many blocks as fit at once; each takes several tiles */
    bool interior;       /* tiles within the grid have code without the boundary rule: twice the code */
};

struct vf_gpu_scheme {
    const char *name, *summary;
    const char *file;            /* kernels/NAME.cu */
    const char *const *variants; /* names, for --scheme NAME:variant=...; NULL-terminated; NULL: none */
    /* NULL, or why it cannot take the case. Asked through vf_gpu_scheme_refuses only. */
    const char *(*refuses)(const struct vf_kernel_case *c);
    bool takes_loops; /* it can take c->loops_table: offsets of what is read are not constants then */
    /* Fills `list` with the configurations worth weighing on this device, the best guess first, at most
     * `room`; returns how many. */
    int (*candidates)(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room);
    /* NULL, or why a configuration, which may be the user's, cannot be run; vf_kernel_limits has what every
     * scheme asks. Work or a stream that the kernel would not heed is forbidden too. Of configurations that
     * no scheme has made vf_gpu_scheme_forbids is asked. */
    const char *(*forbids)(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config);
    /* Cells that one tile, a block's work, covers along x, y, z. */
    void (*tile)(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tile[3]);
    /* How many tiles there are along x, y, z; NULL: as many as cover the grid. */
    void (*tiles)(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tiles[3]);
    /* Dynamic shared memory of a block in bytes; NULL: none. */
    size_t (*shared)(const struct vf_kernel_case *c, const struct vf_kernel_config *config);
    /* Says what a block does, from which the model (src/model.h) tells its time. All is 0 but threads,
     * shared, tile and blocks, which are filled from the functions above, and steps and loads_in_flight,
     * which are 1. `registers` is to be the scheme's guess; the compiled number takes its place where that is
     * known. The stream of `config` ends where the grid does, unless the scheme has `tiles`. */
    void (*traffic)(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic);
    int unsure_registers; /* the compiler may take so many more than that guess */
    /* Operations in the kernel's code once loops are unrolled, which is what compiling takes time for: some
     * half a millisecond each. Those that are not arithmetic count as far as they grow with the case. NULL:
     * cells of a thread times a cell's operations. */
    double (*written)(const struct vf_kernel_case *c, const struct vf_kernel_config *config);
    bool one_by_one; /* a thread is done with what it reads for a cell before it reads for the next one */
    bool any_width;  /* a block that is one row of threads may be any number of warps wide */
    /* The most that `written` may be for large grids, which repay longer compiling; 0: as for small ones. */
    double most_written;
    /* The largest kernels that are weighed unless the user asks for the scheme: weighing takes long, too. 0:
     * any. */
    int most_stages, most_fields;
    /* Adds constants (#define) of its own to the kernel's text; NULL: there are none. */
    void (*define)(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text);
};

#define VF_GPU_SCHEME_DEF(name) extern const struct vf_gpu_scheme vf_gpu_##name;
#include "gpu_schemes.def"
#undef VF_GPU_SCHEME_DEF

/* In the order of gpu_schemes.def, NULL-terminated. */
extern const struct vf_gpu_scheme *const vf_gpu_schemes[];

/* NULL: none is called so. */
const struct vf_gpu_scheme *vf_gpu_scheme(const char *name, size_t length);

/* Fills the members of a case that are derived from the others. */
void vf_kernel_case_derive(struct vf_kernel_case *c);

/* Where stage s finds its parameters or weights among those of the whole kernel, and how many it has. Stages
 * whose parameters are equal share them. Parameters that are global values count as equal if they are the
 * same global, not if their values happen to be: so a kernel's text does not depend on the image. */
int vf_stage_first_param(const struct vf_flow *flow, int s);
int vf_stage_param_count(const struct vf_stage *stage);

/* The number that each field has in a kernel's text: first the flow's sources, then what its stages make, in
 * order. */
void vf_kernel_number_fields(const struct vf_flow *flow, int number[VF_KERNEL_MOST_FIELDS]);

/* These numbers of the fields that each stage reads, and of the first one that it makes; its others follow.
 */
void vf_kernel_number_stages(const struct vf_flow *flow, int input[][VF_MAX_INPUTS], int output[]);

/* Adds a macro NAME(k) that is value[k], for k < count. */
void vf_define_table(const char *name, const int *value, int count, struct vf_text *text);

/* The same as a function; `head` is what stands before its parameter. -1 where `count` is 0. */
void vf_define_function(const char *head, const int *value, int count, struct vf_text *text);

/* Adds a macro NAME(F) that is F(begin) ... F(end - 1). */
void vf_define_each(const char *name, int begin, int end, struct vf_text *text);

/* Dynamic shared memory of a block in bytes. */
size_t vf_gpu_shared(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                     const struct vf_kernel_config *config);

bool vf_config_equal(const struct vf_kernel_config *a, const struct vf_kernel_config *b);

/* ---- for schemes ---- */

/* Arithmetic of one cell, in additions, where a thread computes a box of so many cells: what belongs to a
 * face inside the box is computed once, for both of its cells. */
double vf_kernel_operations(const struct vf_kernel_case *c, int cells_x, int cells_y, int cells_z);

/* Whether a linear stage has so many weights that the kernel's text takes them in loops and not one by one
 * (by VF_TAPS_s, src/kernel_source.c): any such stage, or only one that is not a line. The latter has a
 * weight for each place of the box that its halo spans, NaN where there is none, and is a kernel of its own,
 * by a scheme that takes_loops. */
bool vf_is_looped(const struct vf_stage *stage);
bool vf_is_looped_table(const struct vf_stage *stage);

/* The place of tap t's weight among the stage's parameters. */
int vf_tap_param(const struct vf_stage *stage, int t);

/* NULL, or why the scheme cannot take the case. */
const char *vf_gpu_scheme_refuses(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c);

/* Planes or rows that a block streams, at most: a step more is still an int. */
enum { VF_MOST_STREAM = 1 << 30 };

/* NULL, or why the scheme cannot run a configuration, which may be anyone's: the user's, or a file's. */
const char *vf_gpu_scheme_forbids(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                                  const struct vf_gpu *gpu, const struct vf_kernel_config *config);

/* Bytes of the compute type; cells of a pack. */
size_t vf_kernel_element(const struct vf_kernel_case *c);
int vf_kernel_pack(const struct vf_kernel_case *c);

/* Whether a thread can move so many cells, side by side or in a run, in whole accesses of up to 16 bytes,
 * whatever they are stored as: whether it is a power of two and no less than a pack. */
bool vf_kernel_moves(const struct vf_kernel_case *c, int cells);

/* Fills `width` with widths of blocks, in threads that compute so many cells side by side, such that one to
 * four blocks cover a row of the grid with little beyond it: two to eight whole warps, the widest first.
 * Returns how many. */
enum { VF_MOST_WIDTHS = 4 };
int vf_kernel_widths(const struct vf_kernel_case *c, int cells, int width[VF_MOST_WIDTHS]);

/* What it takes to convert a value that is read from the stored to the compute type, and one that is written
 * back again: the time of so many additions, 0 where both types are the same. */
double vf_widening_ops(const struct vf_kernel_case *c, enum vf_type stored);
double vf_narrowing_ops(const struct vf_kernel_case *c, enum vf_type stored);

/* The most registers that the compiler can give each thread of a block of so many. */
int vf_kernel_most_registers(int threads);

/* NULL, or why the device cannot run `config` with `shared` bytes of shared memory a block. */
const char *vf_kernel_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                             const struct vf_kernel_config *config, size_t shared);

/* NULL, or why a scheme that counts the elements of a plane in 32 bits cannot take the case. */
const char *vf_kernel_plane_limit(const struct vf_kernel_case *c);

/* Whether source k is read at other cells than the computed one. */
bool vf_kernel_source_has_halo(const struct vf_kernel_case *c, int k);

#endif
