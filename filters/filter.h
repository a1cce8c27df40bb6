/* A filter is what the user names: its parameters, as a table, and how it expands into stages.
 *
 * To add one: a file here that fills a `const struct vf_filter vf_filter_NAME`, and its line in filters.def.
 * A new stencil is a header in stencils/ and its line in stencils.def. */
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
    VF_PARAM_THRESHOLD, /* auto, a number, pN (a percentile) or Nsd (standard deviations), as `choices` allows
                         */
    VF_PARAM_BOX,       /* WxH+X+Y or WxHxD+X+Y+Z, voxels */
    VF_PARAM_WEIGHTS,   /* a file that holds a table of weights (src/weights.h); has no default, is needed */
};

struct vf_param {
    const char *name;
    enum vf_param_kind kind;
    const char *initial; /* the default, as a user would write it; "" for none */
    double min, max;     /* both allowed; of the number, each length (voxels), or the percentile's value */
    const char *unit;    /* "voxels", "x-voxels", "intensity" ...; "" for none */
    const char *choices; /* CHOICE: "a|b|c"; THRESHOLD: the words allowed: "auto|pN|Nsd" or "auto" */
    const char *help;    /* one line */
};

enum vf_threshold {
    VF_THRESHOLD_NUMBER,
    VF_THRESHOLD_AUTO,
    VF_THRESHOLD_PERCENTILE,
    VF_THRESHOLD_DEVIATIONS
};

enum vf_unit { VF_UNIT_BARE, VF_UNIT_VOXEL, VF_UNIT_ANGSTROM, VF_UNIT_NM, VF_UNIT_UM, VF_UNIT_MM };

/* Of a checksum; and bytes of a path at most. */
#define VF_CHECKSUM_DIGITS 12
#define VF_MOST_PATH 4095

/* A table of weights as its file has it. */
struct vf_weights {
    int size[3];                           /* z, y, x: each odd */
    char checksum[VF_CHECKSUM_DIGITS + 1]; /* of sizes and weights */
    const char *path;                      /* in the same block */
    double weight[];                       /* finite, not all 0; x runs fastest */
};

/* One parsed and range-checked value. */
struct vf_value {
    bool given;    /* by the user; otherwise the default */
    double number; /* NUMBER, COUNT; THRESHOLD: the number, N of pN or of Nsd */
    enum vf_threshold threshold;
    int choice;        /* index into the param's choices */
    int length_count;  /* LENGTHS: 1 or 3 (2 for x, y in 2D) */
    double length[3];  /* LENGTHS: x, y, z as written */
    enum vf_unit unit; /* LENGTHS */
    int box_axes;      /* BOX: 3, or 2 for the 2D form, whose depth is 1 at 0; 0 when none is given */
    long box_size[3], box_at[3]; /* BOX: x, y, z; size 0 when none is given */
    struct vf_weights *weights;  /* WEIGHTS: the chain's */
};

/* ---- stencils ---- */

/* The most inputs, outputs and parameters of a stage, and global values of a filter. */
#define VF_MAX_INPUTS 8
#define VF_MAX_OUTPUTS 6
#define VF_MAX_STENCIL_PARAMS 12
#define VF_MAX_GLOBALS 4

enum vf_stencil_id {
    VF_STENCIL_LINEAR,   /* a table of weights; not a body */
    VF_STENCIL_EXTERNAL, /* a body that the stage brings, for a compiler at run time */
#define VF_STENCIL_DEF(name, ...) VF_STENCIL_##name,
#include "stencils.def"
#undef VF_STENCIL_DEF
    VF_STENCIL_COUNT
};

/* What every scheme must know of a body. Index [0] is 2D, [1] is 3D. */
struct vf_stencil {
    const char *name;
    int inputs[2], outputs[2];
    int centre_inputs[2]; /* that many of the first inputs are read at the centre only */
    int star_inputs[2];   /* that many of the first inputs are read along the axes only */
    int axial_inputs[2];  /* that many of them along one axis each: x, y, in 3D z, and again */
    int reach[3];         /* z, y, x: the other inputs' halo */
    int cost;             /* arithmetic operations a voxel in 3D, roughly: ranks plans */
    int face_cost;     /* of it, that of one of the 6 faces, which neighbours may share; 0: there are none */
    bool has_branches; /* it divides or takes roots: a GPU branches around their rare cases */
    const char *text;  /* the body of an external one; NULL: stencils/NAME.h */
};

const struct vf_stencil *vf_stencil(enum vf_stencil_id id);

struct vf_stage;

/* What its body is; not for linear stages. */
const struct vf_stencil *vf_stage_stencil(const struct vf_stage *stage);

/* Whether all bodies are of the table: a scheme that was compiled before has no others. */
bool vf_stages_are_listed(const struct vf_stage *stage, int count);

/* The halo (z, y, x) of a stage on its input k, in 2D or 3D. */
void vf_stage_halo(const struct vf_stage *stage, int dim, int k, int halo[3]);

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

/* Which of a field's values stand outside the grid under boundary `constant=v`: v for a smoothed or diffused
 * image, which is the same quantity as the input, 0 for a derived one (gradients, tensors). */
enum vf_field_kind { VF_FIELD_IMAGE, VF_FIELD_DERIVED };

/* One stencil over the grid. Fields are numbered within the expansion: 0 is its input. A linear stage applies
 * its taps to each of n inputs, giving as many outputs. */
struct vf_stage {
    char name[8]; /* GX, ST, PDE: as --explain prints it */
    enum vf_stencil_id stencil;
    const struct vf_taps *taps;        /* linear only */
    const struct vf_stencil *external; /* external only; borrowed */
    int input_count, output_count;
    int input[VF_MAX_INPUTS], output[VF_MAX_OUTPUTS];
    double param[VF_MAX_STENCIL_PARAMS];
    int global[VF_MAX_STENCIL_PARAMS]; /* 1 + number of the global that gives param[i], of the expansion's, in
                                          a flow of the flow's; 0: param[i] stands */
};

/* ---- global values ---- */

/* A number computed from all finite values of one field, a channel's, before the first iteration or, from
 * what that starts with, before each one. Variation is the standard deviation over the mean. */
enum vf_reduction {
    VF_REDUCE_PERCENTILE,
    VF_REDUCE_DEVIATION,
    VF_REDUCE_RANGE,
    VF_REDUCE_MEAN,
    VF_REDUCE_VARIATION
};

struct vf_global {
    const char *name; /* as the user knows it: "k", "threshold" */
    enum vf_reduction reduction;
    double argument;                              /* percentile: N; deviation: the factor */
    long box_size[3], box_at[3];                  /* only this box (x, y, z); size 0: everywhere */
    bool each;                                    /* before each iteration, not the first alone */
    int field;                                    /* of the pre-pass's fields: whose values are reduced */
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
    double aspect[3];   /* x, y, z: spacing / spacing.x; 1 where unknown */
    bool is_double;     /* the compute type */
    const char *filter; /* for messages */
};

/* What one filter does to one field: the stages of one iteration, repeated, after a pre-pass for its globals.
 * Field 0 is the input (of every iteration), an image; an iteration's output is the next one's input, so
 * repeat > 1 needs one output. Pre-pass stages number their fields apart, 0 being the same input; those that
 * are there for values of each iteration come last, and may take the other values as parameters. */
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
    struct vf_stage *pre; /* one sweep serves all globals of a kind: of the first iteration, of each */
    int global_count;
    struct vf_global global[VF_MAX_GLOBALS];
    int taps_count;
    size_t taps_room;
    struct vf_taps **taps; /* owned */
    bool in_pre;           /* the builder adds to the pre-pass now */
};

void vf_expansion_free(struct vf_expansion *expansion);

struct vf_filter;

/* Expands a filter; on failure nothing is held. */
enum vf_status vf_filter_expand(const struct vf_filter *filter, const struct vf_context *context,
                                const struct vf_value *value, struct vf_expansion *expansion,
                                struct vf_error *error);

struct vf_filter {
    const char *name;
    const char *summary; /* one line */
    const char
        *known_as;      /* "a|b": what other programs call it, in small letters without '_'; NULL: the same */
    const char *source; /* the papers and formulae it follows */
    bool keeps_type;    /* its result is of its input's kind and type; otherwise float32 */
    const struct vf_param *params;
    int param_count;
    /* Fills an expansion that holds field 0 alone, and repeat 1. `value` has one entry for each of `params`.
     */
    enum vf_status (*expand)(struct vf_expansion *expansion, const struct vf_context *context,
                             const struct vf_value *value, struct vf_error *error);
};

/* The registry, in filters.def's order; NULL-terminated. */
extern const struct vf_filter *const vf_filters[];
const struct vf_filter *vf_filter_by_name(const char *name, size_t length);

/* ---- what filters build with (filters/expansion.c) ---- */

/* Adds a field; its number, or -1 with a message. */
int vf_add_field(struct vf_expansion *e, enum vf_field_kind kind, struct vf_error *error);

/* Adds a body stage that reads `inputs` and makes new derived fields, their numbers in `outputs` (the
 * stencil's count for `dim`). The stage is returned so that its params can be set; NULL with a message. */
struct vf_stage *vf_add_stage(struct vf_expansion *e, const char *name, enum vf_stencil_id stencil, int dim,
                              const int *inputs, int *outputs, enum vf_field_kind kind,
                              struct vf_error *error);

/* Adds a linear stage along `axis` (0 x, 1 y, 2 z) over `count` fields, in place: fields[i] becomes the new
 * field. weights[0..2*radius] run from offset -radius. */
enum vf_status vf_add_linear(struct vf_expansion *e, const char *name, int axis, const double *weights,
                             int radius, int count, int *fields, enum vf_field_kind kind,
                             struct vf_error *error);

/* Adds a linear stage of a whole table over *field, in place; of weights that are 0 in the compute type
 * nothing is read. A usage error where one of them is beyond that type, or all are 0. `flips`: the table is
 * turned about its centre. */
enum vf_status vf_add_table(struct vf_expansion *e, const struct vf_context *context, const char *name,
                            const struct vf_weights *weights, bool flips, int *field, enum vf_field_kind kind,
                            struct vf_error *error);

/* In voxels: where floor(4 sigma + 0.5), the radius of a Gaussian that ends at 4 sigma, is 1. */
#define VF_LEAST_SIGMA 0.125

/* Gaussian along each axis with sigma > 0 (voxels, x y z): stages named with `letter` and the axis: GX GY GZ.
 */
enum vf_status vf_add_gaussian(struct vf_expansion *e, const struct vf_context *context, char letter,
                               const double sigma[3], double truncate, int count, int *fields,
                               enum vf_field_kind kind, struct vf_error *error);

/* Derivative of a Gaussian along one axis, per voxel of that axis times `scale`; replaces *field. */
enum vf_status vf_add_gaussian_derivative(struct vf_expansion *e, const char *name, int axis, double sigma,
                                          double truncate, double scale, int *field, struct vf_error *error);

/* A global value over a field of the pre-pass; its number, for vf_stage.global (which is one more), or -1. */
int vf_add_global(struct vf_expansion *e, const struct vf_global *global, struct vf_error *error);

/* A length parameter in voxels of each axis. `isotropic`: a single bare number is in x-voxels and is divided
 * by the aspect (filters that use tensors); otherwise it holds for every axis. A physical unit without a
 * spacing is a usage error, and so is a length in one that is not 0 but below VF_LEAST_SIGMA on every axis:
 * it would do nothing, and its unit is more likely wrong. */
enum vf_status vf_lengths_in_voxels(const struct vf_param *param, const struct vf_value *value,
                                    const struct vf_context *context, bool isotropic, double sigma[3],
                                    struct vf_error *error);

/* The box that a global is taken from; everywhere where none is given. In a stack one for x and y alone is a
 * usage error. */
enum vf_status vf_set_box(const struct vf_param *param, const struct vf_value *value,
                          const struct vf_context *context, struct vf_global *global, struct vf_error *error);

/* The step size: 0.9 of the stable bound 1 / (2 sum 1/h^2) for auto; a larger one than the bound is a usage
 * error. */
enum vf_status vf_stable_step(const struct vf_value *value, const struct vf_context *context, double *dt,
                              struct vf_error *error);

#endif
