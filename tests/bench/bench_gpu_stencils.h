/* What bench-gpu measures: the benchmark stencils and filters, as flows. */
#ifndef VF_BENCH_GPU_STENCILS_H
#define VF_BENCH_GPU_STENCILS_H

#include "bench_case.h"
#include "kernels/cpu_cells.h"

/* ---- the benchmarks' own bodies ---- */

enum bench_body {
    BENCH_NO_BODY,
#define BENCH_STENCIL(name, ...) BENCH_##name,
#include "stencils.def"
#undef BENCH_STENCIL
    BENCH_BODY_COUNT
};

typedef void bench_cell(const struct vf_cell *cell);

/* [enum bench_body]: the scalar functions of the bodies; NULL for those of the other dimension. */
extern bench_cell *const bench_cells_2d[], *const bench_cells_3d[];

/* The scalar function of a stencil; NULL if it is not one of stencils.def. */
bench_cell *bench_cell_of(const struct vf_stencil *stencil);

/* ---- items ---- */

#define BENCH_STAGES 2 /* the most stages of a step */
#define BENCH_GRIDS 4  /* the most grids of an item */

/* One stage of a step: a body of stencils.def, a body of the program, or weights. Its inputs have numbers:
 * first the arrays of the step's state, then those that no step changes, then what earlier stages of the step
 * make. */
struct bench_stage {
    const char *name;
    enum bench_body body;
    enum vf_stencil_id listed;
    double (*weight)(int dz, int dy, int dx); /* 0: no tap */
    int reach[3];                             /* z, y, x, of the weights */
    int input[VF_MAX_INPUTS];
};

struct bench_item {
    const char *name, *note;
    const char *chain; /* a filter's, in place of stages */
    int dim;
    enum vf_type type; /* of arrays; VF_F64 computes in double */
    double low, high;  /* of the inputs */
    bool keeps_type;   /* results of a filter are of the arrays' type even where its own are float32 */
    int state, fixed;  /* how many arrays a step makes anew, and how many more it reads */
    int stage_count;
    struct bench_stage stage[BENCH_STAGES];
    void (*params)(struct bench_grid grid, double *param); /* of every stage; NULL: none */
    int steps;                                             /* how many steps the benchmark has */
    bool one_pass;                                         /* several steps are no benchmark */
    struct bench_grid grid[BENCH_GRIDS];                   /* the smallest first; ends with nx 0 */
    int main_grid;                                         /* index of the grid of published figures */
};

extern const struct bench_item bench_items[];
extern const int bench_item_count;

#define BENCH_GRID_TEXT 48

/* "8192x8192", "512x512x512". */
void bench_grid_text(struct bench_grid grid, char text[BENCH_GRID_TEXT]);

/* ---- flows ---- */

struct bench_flow {
    const struct bench_item *item;
    int steps; /* of a filter 1, whatever it iterates */
    struct vf_flow flow;
    enum vf_type source_type[VF_MAX_INPUTS], sink_type[VF_MAX_OUTPUTS];
    struct vf_taps *taps[BENCH_STAGES]; /* owned */
    struct vf_chain chain;              /* filters: what the stages belong to */
    struct vf_plan plan;
};

/* `steps` of an item on a grid; `gpu` is what filters are planned for, by `scheme` where it can be (NULL: as
 * they would be). It stays where it was opened. */
void bench_flow_open(struct bench_flow *f, const struct bench_item *item, struct bench_grid grid, int steps,
                     const struct vf_gpu *gpu, const char *scheme);
void bench_flow_close(struct bench_flow *f);

#endif
