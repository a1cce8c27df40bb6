/* Stencil bodies and the functions that they share, compiled for each type and dimension as the schemes
 * compile them, for tests to call. A variant is a file of a few lines: the vocabulary is a template that a
 * file can hold once. Numbers are passed as double, which holds every float. */
#ifndef STENCIL_VARIANTS_H
#define STENCIL_VARIANTS_H

#include <stdbool.h>

#include "filters/filter.h"

/* More values than OF_COLUMN has room for, and more columns to each side than any body reads. */
enum { TRACED_OF_COLUMN = 32, TRACED_COLUMNS = 8 };

/* What a body reads and makes at one voxel; its inputs are noise that `state`, not 0, starts. */
struct body_trace {
    unsigned state;
    bool is_read[VF_MAX_INPUTS], is_read_aside[VF_MAX_INPUTS]; /* at all; off the axes */
    int halo[VF_MAX_INPUTS][3];                                /* z, y, x */
    bool is_made[VF_MAX_OUTPUTS];
    double made[VF_MAX_OUTPUTS];
    bool says_eigenvalues, says_eigenvector, says_lower_face;
    int most_in_steps, most_of_column; /* 0 if it does not say IN_STEP, OF_COLUMN */
    double of_column[TRACED_OF_COLUMN][2 * TRACED_COLUMNS + 1];
    bool has_columns; /* of_column is known: what else is read of other columns is other noise */
};

struct stencil_variant {
    const char *name;
    int bits, dim;
    double (*exp2_minus)(double x);
    double (*exp)(double x);
    double (*log)(double x);
    double (*inverse_root)(double x);
    double (*atan2)(double y, double x);
    /* `tensor` as in filters: 3D xx xy xz yy yz zz, 2D xx xy yy; the first vector and the last one, dim
     * numbers each. */
    void (*eigen)(const double *tensor, double *value, double *vector, double *spread);
    /* The eigenvalues of one that is not semidefinite. */
    void (*indefinite)(const double *tensor, double *value);
    /* Adds to the trace. */
    void (*body[VF_STENCIL_COUNT])(struct body_trace *trace);
};

extern const struct stencil_variant stencil_f32_2d, stencil_f32_3d, stencil_f64_2d, stencil_f64_3d;

#endif
