/* The text of one variant (stencil_variants.h): the includer defines REAL, REAL_BITS, DIM and VARIANT, its
 * name. */
#include <stdlib.h>

#include "stencil_variants.h"

static REAL trace_read(struct body_trace *trace, int k, int dz, int dy, int dx)
{
    const int offset[3] = {dz, dy, dx};
    trace->is_read[k] = true;
    trace->is_read_aside[k] = trace->is_read_aside[k] || (dz != 0) + (dy != 0) + (dx != 0) > 1;
    for (int axis = 0; axis < 3; axis++)
        if (abs(offset[axis]) > trace->halo[k][axis])
            trace->halo[k][axis] = abs(offset[axis]);
    trace->state ^= trace->state << 13, trace->state ^= trace->state >> 17, trace->state ^= trace->state << 5;
    const REAL noise = (REAL)(trace->state >> 8) * (REAL)0x1p-20 - 8;
    return trace->has_columns && dx != 0 ? 1 - noise : noise;
}

#define VF_DEVICE static inline __attribute__((unused))
#define VF_STENCIL(name) static void body_##name(struct body_trace *trace)
#define AT(k, dz, dy, dx) trace_read(trace, k, dz, dy, dx)
#define PUT(k, value) (trace->made[k] = (double)(value), trace->is_made[k] = true)
#define PARAM(i) R(0.5 + 0.25 * (i))
#define OPEN_LO(axis) 1
#define OPEN_HI(axis) 1
#define EIGENVALUES(definite, tensor) (trace->says_eigenvalues = true, vf_eigenvalues_of(definite, tensor))
#define EIGENVECTOR(tensor, rank, e) (trace->says_eigenvector = true, vf_eigenvector_of(tensor, rank, e))
#define OF_COLUMN(k, dx, value) trace_column(trace, k, dx, value)
#define IN_STEP(step, k, value) (trace->most_in_steps = MAX(trace->most_in_steps, (k) + 1), value)
#define LOWER_FACE(axis, upper, lower) (trace->says_lower_face = true, lower)
#include "kernels/stencil.h"

static inline __attribute__((unused)) REAL trace_column(struct body_trace *trace, int k, int dx, REAL value)
{
    trace->most_of_column = MAX(trace->most_of_column, k + 1);
    if (k >= TRACED_OF_COLUMN)
        return value;
    double *const known = &trace->of_column[k][TRACED_COLUMNS + dx];
    if (!trace->has_columns)
        *known = (double)value;
    return (REAL)*known;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "stencil_bodies.h"

static double call_exp2_minus(double x)
{
    return (double)vf_exp2_minus((REAL)x);
}

static double call_exp(double x)
{
    return (double)vf_exp((REAL)x);
}

static double call_log(double x)
{
    return (double)vf_log((REAL)x);
}

static double call_inverse_root(double x)
{
    return (double)vf_inverse_root((REAL)x);
}

static double call_atan2(double y, double x)
{
    return (double)vf_atan2((REAL)y, (REAL)x);
}

static void call_eigen(const double *tensor, double *value, double *vector, double *spread)
{
    REAL t[VF_TENSOR];
    for (int c = 0; c < VF_TENSOR; c++)
        t[c] = (REAL)tensor[c];
    const struct vf_eigenvalues e = vf_eigenvalues_of(VF_SEMIDEFINITE, t);
    struct vf_eigenvector first, last;
    vf_eigenvector_of(t, 0, &first);
    vf_eigenvector_of(t, DIM - 1, &last);
    for (int k = 0; k < DIM; k++) {
        value[k] = (double)(e.value[k] * e.unit);
        vector[k] = (double)first.vector[k];
        vector[DIM + k] = (double)last.vector[k];
    }
    *spread = (double)last.spread;
}

static void call_indefinite(const double *tensor, double *value)
{
    REAL t[VF_TENSOR];
    for (int c = 0; c < VF_TENSOR; c++)
        t[c] = (REAL)tensor[c];
    const struct vf_eigenvalues e = vf_eigenvalues_of(VF_INDEFINITE, t);
    for (int k = 0; k < DIM; k++)
        value[k] = (double)(e.value[k] * e.unit);
}

#define NAME_OF(word) #word
#define NAME(word) NAME_OF(word)

const struct stencil_variant VARIANT = {.name = NAME(VARIANT),
                                        .bits = REAL_BITS,
                                        .dim = DIM,
                                        .exp2_minus = call_exp2_minus,
                                        .exp = call_exp,
                                        .log = call_log,
                                        .inverse_root = call_inverse_root,
                                        .atan2 = call_atan2,
                                        .eigen = call_eigen,
                                        .indefinite = call_indefinite,
                                        .body = {
#define VF_STENCIL_DEF(name, ...) [VF_STENCIL_##name] = body_##name,
#include "filters/stencils.def"
#undef VF_STENCIL_DEF
                                        }};
