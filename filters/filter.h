/* A filter is what the user names: its parameters, as a table, and how it expands into stages.
 *
 * To add one: a file here that fills `const struct vf_filter vf_filter_NAME`, and its line in filters.def. A
 * new stencil is a header in stencils/, written in the words of kernels/stencil.h, and its line in
 * stencils.def. gaussian.c is a filter of linear stages, laplacian.c one with a body, unsharp.c one whose
 * body reads its own voxel alone. Parameters that several filters have are in shared_params.h, the numbers of
 * what they give to bodies in stencils/params.h.
 *
 * What every filter keeps to:
 * - The result is a function of the input to the last bit: the order of each sum is part of the definition.
 * - A NaN makes NaN of the values around it that depend on it, and of no others.
 * - It works in 2D and 3D with its defaults; single choices may need a stack.
 * - Reaches, halos, offsets and sizes of tables are z, y, x; spacing, aspect, sigma, boxes and parameters are
 *   x, y, z, as users write them. In 2D there is no z term.
 * - Derivatives divide by the sides of a voxel in units of its side along x (vf_context's aspect). */
#ifndef VF_FILTER_H
#define VF_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/boundary.h"
#include "src/error.h"

/* ---- parameters ---- */

enum vf_param_kind {
    VF_PARAM_NUMBER,    /* one real number */
    VF_PARAM_COUNT,     /* one whole number */
    VF_PARAM_CHOICE,    /* one word of `choices` */
    VF_PARAM_LENGTHS,   /* one length or one an axis (x, y, z), in voxels or a physical unit */
    VF_PARAM_THRESHOLD, /* a number or, as `choices` allows, auto, pN (percentile) or Nsd (standard
                           deviations) */
    VF_PARAM_BOX,       /* WxH+X+Y or WxHxD+X+Y+Z, voxels */
    VF_PARAM_WEIGHTS,   /* a file that holds a table of weights (src/weights.h); has no default, is needed */
};

#define VF_UNBOUNDED 1e30

struct vf_param {
    const char *name;
    enum vf_param_kind kind;
    const char *initial;  /* the default, as a user would write it; "" for none */
    double min, max;      /* bounds, both allowed, of a number, a count, each length in voxels, a threshold;
                             -VF_UNBOUNDED and VF_UNBOUNDED are none that users read of. "Above 0" is a min
                             that is the least that makes sense */
    double least;         /* of lengths, in voxels: less on every axis does nothing; 0 where expand() tells */
    const char *unit;     /* "voxels", "x-voxels", "intensity" ...; NULL for none */
    const char *choices;  /* CHOICE: "a|b|c"; THRESHOLD: the words allowed: "auto|pN|Nsd" or "auto" */
    const char *help;     /* one line */
    const char *known_as; /* as a filter's */
};

enum vf_threshold {
    VF_THRESHOLD_NUMBER,
    VF_THRESHOLD_AUTO,
    VF_THRESHOLD_PERCENTILE,
    VF_THRESHOLD_DEVIATIONS
};

enum vf_unit { VF_UNIT_BARE, VF_UNIT_VOXEL, VF_UNIT_ANGSTROM, VF_UNIT_NM, VF_UNIT_UM, VF_UNIT_MM };

#define VF_CHECKSUM_DIGITS 12
#define VF_MOST_PATH 4095 /* bytes */

/* A table of weights as its file has it: one block, freed by vf_free. */
struct vf_weights {
    int size[3];                           /* z, y, x: each odd */
    char checksum[VF_CHECKSUM_DIGITS + 1]; /* of sizes and weights */
    const char *path;                      /* of the file; in the same block */
    double weight[];                       /* finite, not all 0; x runs fastest */
};

/* One parsed and range-checked value. */
struct vf_value {
    bool given;    /* by the user; otherwise the default */
    double number; /* NUMBER, COUNT; THRESHOLD: the number, N of pN or of Nsd */
    enum vf_threshold threshold;
    int choice;                  /* index into the param's choices */
    int length_count;            /* LENGTHS: 1 or 3 (2 for x, y in 2D) */
    double length[3];            /* LENGTHS: x, y, z as written */
    enum vf_unit unit;           /* LENGTHS */
    int box_axes;                /* BOX: 3; 2 for WxH+X+Y, which has depth 1 at z = 0; 0 when none is given */
    long box_size[3], box_at[3]; /* BOX: x, y, z, voxels; size 0 when none is given */
    struct vf_weights *weights;  /* WEIGHTS: owned by the chain */
};

/* ---- stencils ---- */

#define VF_MAX_INPUTS 8          /* of a stage */
#define VF_MAX_OUTPUTS 6         /* of a stage */
#define VF_MAX_STENCIL_PARAMS 12 /* of a stage */
#define VF_MAX_GLOBALS 4         /* of a filter */

enum vf_stencil_id {
    VF_STENCIL_LINEAR,   /* a table of weights, without a body */
    VF_STENCIL_EXTERNAL, /* a body that is not in the program: a text of the stage's, which only a GPU
                            compiles. Benchmarks make such stages, filters do not */
#define VF_STENCIL_DEF(name, ...) VF_STENCIL_##name,
#include "stencils.def"
#undef VF_STENCIL_DEF
    VF_STENCIL_COUNT
};

/* A word of bodies (kernels/stencil.h) that schemes compute apart from the rest. */
enum vf_stencil_word {
    VF_WORD_NONE,
    VF_WORD_EIGENVALUES,
    VF_WORD_EIGENVECTOR,
    VF_WORD_OF_COLUMN,
    VF_WORD_IN_STEP
};

/* What every scheme must know of a body: a line of stencils.def, where the fields are explained. Index [0] is
 * 2D, [1] is 3D. */
struct vf_stencil {
    const char *name;
    int inputs[2], outputs[2];
    int centre_inputs[2], star_inputs[2], axial_inputs[2]; /* so many of the inputs, the first ones */
    int reach[3];                                          /* z, y, x, voxels */
    int cost;          /* of a voxel in 3D, in additions, roughly: it ranks plans */
    int shared_cost;   /* the part of it that is one face's, or column's; 0: the body has none to share */
    bool has_branches; /* it divides or takes roots: a GPU branches around their rare cases */
    enum vf_stencil_word word;
    const char *text; /* the body of an external one; NULL: it is in stencils/NAME.h */
};

/* Static. */
const struct vf_stencil *vf_stencil(enum vf_stencil_id id);

struct vf_stage;

/* What to know of a stage's body; of a linear stage it is all 0 but for the name. */
const struct vf_stencil *vf_stage_stencil(const struct vf_stage *stage);

/* How many voxels away along z, y, x a stage reads its input k, in 2D or 3D (dim). */
void vf_stage_halo(const struct vf_stage *stage, int dim, int k, int halo[3]);

/* The axis (0 z, 1 y, 2 x) of a stage that is a line of weights: at consecutive places along one axis, as
 * many before the centre as after it. -1 for any other stage. */
int vf_line_axis(const struct vf_stage *stage);

/* ---- stages ---- */

/* A linear stencil: sum of weight * in(z+dz, y+dy, x+dx), in the order of the table, which is increasing
 * (dz, dy, dx). Owned by the expansion. */
struct vf_tap {
    int dz, dy, dx;
    double weight;
};

struct vf_taps {
    int count;
    int halo[3]; /* z, y, x */
    struct vf_tap tap[];
};

/* What stands outside the grid under boundary `constant=v`: v for an image, smoothed or not, which is the
 * same quantity as the input, and 0 for what is derived from it (gradients, tensors). */
enum vf_field_kind { VF_FIELD_IMAGE, VF_FIELD_DERIVED };

/* One stencil over the grid. Fields, one number for every voxel, are numbered within the expansion: 0 is its
 * input. A linear stage applies its taps to each of its inputs and has as many outputs. */
struct vf_stage {
    char name[8]; /* GX, ST, PDE: as --explain prints it and --scheme takes it */
    enum vf_stencil_id stencil;
    const struct vf_taps *taps;        /* linear only */
    const struct vf_stencil *external; /* external only; borrowed */
    int input_count, output_count;
    int input[VF_MAX_INPUTS], output[VF_MAX_OUTPUTS];
    double param[VF_MAX_STENCIL_PARAMS];
    /* 1 + the number of the global value that param[i] gets (in an expansion an index into its `global`, in a
     * flow one into the plan's values); 0: param[i] is known. */
    int global[VF_MAX_STENCIL_PARAMS];
};

/* ---- global values ---- */

/* What a global value is of all finite values of a field; kernels/reduce.h has the definitions. */
enum vf_reduction {
    VF_REDUCE_PERCENTILE,
    VF_REDUCE_DEVIATION, /* standard deviations */
    VF_REDUCE_RANGE,     /* the greatest less the least */
    VF_REDUCE_MEAN,
    VF_REDUCE_VARIATION /* the standard deviation over the mean */
};

/* A parameter of stages that depends on the whole image, one value for each channel. */
struct vf_global {
    const char *name; /* as the user knows it: "k", "threshold" */
    enum vf_reduction reduction;
    double argument;                              /* percentile: N; deviation: the factor */
    long box_size[3], box_at[3];                  /* only this box (x, y, z); size 0: everywhere */
    bool each;                                    /* anew before each iteration; else before the first */
    int field;                                    /* of the pre-pass: the one whose values are reduced */
    double (*derive)(double value, double scale); /* what param[i] gets; NULL: the value itself */
    double scale;
};

/* ---- expansion ---- */

/* What a filter needs to know to expand. */
struct vf_context {
    int dim; /* 2 or 3 */
    enum vf_boundary boundary;
    double spacing[3]; /* x, y, z voxel size in `unit`; meaningful where known */
    bool spacing_known[3];
    char unit[16];      /* "nm", "um" or "mm"; "" when unknown */
    double aspect[3];   /* x, y, z: spacing / spacing.x; 1 where unknown, or equal but for how files round */
    bool is_double;     /* the compute type */
    bool may_be_double; /* the plan makes it so where float32 would not do */
    const char *filter; /* for messages */
};

/* What one filter does to one field: the stages of one iteration, repeated, after a pre-pass that computes
 * its global values. Field 0 is the input of every iteration: an image, or what an earlier filter derived. An
 * iteration's output is the input of the next, so that repeat > 1 needs one output.
 *
 * The stages of the pre-pass number their fields apart, 0 being the same input. Those for values that are
 * computed anew before each iteration come last; their parameters may be values of the others. */
struct vf_expansion {
    int repeat;
    int stage_count, field_count;
    size_t stage_room, field_room;
    struct vf_stage *stage;
    enum vf_field_kind *field_kind;
    int output_count;
    int output[VF_MAX_OUTPUTS];
    const char *output_label[VF_MAX_OUTPUTS]; /* "xx", "x" ...; NULL for a single output */
    int pre_count, pre_field_count;
    size_t pre_room, pre_field_room;
    enum vf_field_kind *pre_field_kind;
    struct vf_stage *pre; /* [pre_count] */
    int global_count;
    struct vf_global global[VF_MAX_GLOBALS];
    int taps_count;
    size_t taps_room;
    struct vf_taps **taps; /* owned */
    bool fractional;       /* what it gives lies between -2 and 2: integers keep little of it */
    bool in_pre;           /* set while a filter adds fields and stages to the pre-pass */
    char note[160];        /* what of it does nothing, though its parameters ask for it; "" for nothing */
};

void vf_expansion_free(struct vf_expansion *expansion);

struct vf_filter;

/* Expands a filter; on failure nothing is held. */
enum vf_status vf_filter_expand(const struct vf_filter *filter, const struct vf_context *context,
                                const struct vf_value *value, struct vf_expansion *expansion,
                                struct vf_error *error);

/* All but known_as and, if there are none, params are needed. What is to be read ends without a full stop,
 * and a summary begins with a small letter: help and the manual page add what they need. */
struct vf_filter {
    const char *name;     /* as users write it */
    const char *summary;  /* one line, which `volfilter list` prints behind the name */
    const char *known_as; /* "a|b": what other programs call it, in small letters without '-' and '_'; NULL:
                             nothing else */
    const char *source;   /* the papers and formulae that it follows */
    bool keeps_type;      /* its result is stored as its input's type; otherwise as float32 */
    const struct vf_param *params; /* [param_count]; at most VF_MAX_PARAMS (src/chain.h) */
    int param_count;
    /* Adds stages, and sets output and output_count. The expansion comes with field 0, no stages, repeat 1
     * and no outputs. `value` has one entry for each of `params`. What is added is freed by the caller, also
     * after a failure. */
    enum vf_status (*expand)(struct vf_expansion *expansion, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error);
};

/* The registry, in filters.def's order; NULL-terminated. */
extern const struct vf_filter *const vf_filters[];
const struct vf_filter *vf_filter_by_name(const char *name, size_t length);

/* The first one that has a parameter of that name; NULL: none. */
const struct vf_filter *vf_filter_with_param(const char *name, size_t length);

/* ---- what filters build with (filters/expansion.c) ---- */

/* Adds a stage with a body, which reads fields `inputs` and makes new fields of a kind, whose numbers are put
 * into `outputs`: as many of both as the stencil has in `dim` dimensions. Returns the stage, all of whose
 * params are 0, for them to be set; it is valid until another one is added. `name` has at most 7 letters.
 * NULL with a message. */
struct vf_stage *vf_add_stage(struct vf_expansion *e, const char *name, enum vf_stencil_id stencil, int dim,
                              const int *inputs, int *outputs, enum vf_field_kind kind,
                              struct vf_error *error);

/* Adds a linear stage along `axis` (0 x, 1 y, 2 z) over `count` fields: fields[i] becomes the number of the
 * field that is made of it. weights[0..2*radius] run from offset -radius. */
enum vf_status vf_add_linear(struct vf_expansion *e, const char *name, int axis, const double *weights,
                             int radius, int count, int *fields, enum vf_field_kind kind,
                             struct vf_error *error);

/* The same of a whole table over *field. Places whose weight is 0 in the compute type are not read. A usage
 * error where a weight is beyond the range of that type, or all are 0. `flips`: the table is turned about its
 * centre, which makes a convolution of the sum. */
enum vf_status vf_add_table(struct vf_expansion *e, const struct vf_context *context, const char *name,
                            const struct vf_weights *weights, bool flips, int *field, enum vf_field_kind kind,
                            struct vf_error *error);

/* Where a Gaussian ends, in standard deviations, unless the user says so. */
#define VF_TRUNCATE 4

/* The least sigma, in voxels, that smooths at all: floor(4 sigma + 0.5), the radius where a Gaussian ends at
 * 4 sigma, is 1. */
#define VF_LEAST_SIGMA 0.125
#define VF_LEAST_SIGMA_TEXT VF_TEXT_OF(VF_LEAST_SIGMA)
#define VF_TEXT_OF(number) VF_TEXT_AS_WRITTEN(number)
#define VF_TEXT_AS_WRITTEN(words) #words

/* Adds a Gaussian of sigma[] (voxels; x, y, z) over `count` fields, as vf_add_linear does: a stage for each
 * axis whose radius floor(truncate * sigma + 0.5) is not 0, named by `letter` and the axis: GX, GY, GZ. The
 * expansion's note says if there is none, unless all sigmas are 0. */
enum vf_status vf_add_gaussian(struct vf_expansion *e, const struct vf_context *context, char letter,
                               const double sigma[3], double truncate, int count, int *fields,
                               enum vf_field_kind kind, struct vf_error *error);

/* Adds the derivative of a Gaussian of sigma (voxels) along one axis over *field, as vf_add_linear does: per
 * voxel of that axis, times `scale`. */
enum vf_status vf_add_gaussian_derivative(struct vf_expansion *e, const char *name, int axis, double sigma,
                                          double truncate, double scale, int *field, struct vf_error *error);

/* Adds a copy of a global value; its number, which vf_stage.global takes plus 1, or -1 with a message. */
int vf_add_global(struct vf_expansion *e, const struct vf_global *global, struct vf_error *error);

/* A length parameter in voxels of each axis, into sigma[] (x, y, z). One bare number is in voxels of each
 * axis or, if `isotropic`, in voxels along x, and is divided by the aspect for the others: so it is in
 * filters that use tensors. A physical unit without a known spacing is a usage error, and so are a length in
 * one that is not 0 but below param->least on every axis, which would do nothing and more likely has the
 * wrong unit, one above param->max, two numbers in a stack, and in 2D one along z alone; in 2D sigma[2] is 0.
 */
enum vf_status vf_lengths_in_voxels(const struct vf_param *param, const struct vf_value *value,
                                    const struct vf_context *context, bool isotropic, double sigma[3],
                                    struct vf_error *error);

/* Fills the global's box from a BOX parameter; size 0, everywhere, where none is given. In a stack a box
 * without z is a usage error. */
enum vf_status vf_set_box(const struct vf_param *param, const struct vf_value *value,
                          const struct vf_context *context, struct vf_global *global, struct vf_error *error);

/* The step size of a diffusion, from a THRESHOLD parameter: for auto 0.9 of the bound of stability, 1 / (2
 * sum 1/h^2) over the axes. A larger one than the bound is a usage error. */
enum vf_status vf_stable_step(const struct vf_value *value, const struct vf_context *context, double *dt,
                              struct vf_error *error);

#endif
