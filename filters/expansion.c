/* Building an expansion: fields, stages, weights, and parameters in voxels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter.h"
#include "src/alloc.h"
#include "src/number.h"
#include "src/value.h"

/* Weights are part of a filter's definition: the exponential is our own, in double. */
#define REAL double
#define REAL_BITS 64
#define DIM 3
#define VF_DEVICE static inline __attribute__((unused))
#include "kernels/stencil.h"

void vf_expansion_free(struct vf_expansion *e)
{
    for (int i = 0; i < e->taps_count; i++)
        vf_free(e->taps[i]);
    vf_free(e->taps);
    vf_free(e->stage);
    vf_free(e->pre);
    vf_free(e->field_kind);
    vf_free(e->pre_field_kind);
    *e = (struct vf_expansion){0};
}

/* Adds a field; its number, or -1 with a message. */
static int add_field(struct vf_expansion *e, enum vf_field_kind kind, struct vf_error *error)
{
    enum vf_field_kind **list = e->in_pre ? &e->pre_field_kind : &e->field_kind;
    int *count = e->in_pre ? &e->pre_field_count : &e->field_count;
    size_t *room = e->in_pre ? &e->pre_field_room : &e->field_room;
    enum vf_field_kind *grown = vf_grow(*list, (size_t)*count, room, sizeof *grown, "filter stages", error);
    if (grown == NULL)
        return -1;
    *list = grown;
    grown[*count] = kind;
    return (*count)++;
}

enum vf_status vf_filter_expand(const struct vf_filter *filter, const struct vf_context *context,
                                const struct vf_value *value, struct vf_expansion *expansion,
                                struct vf_error *error)
{
    enum vf_status status = VF_FAILED;
    *expansion = (struct vf_expansion){.repeat = 1};
    bool fields = add_field(expansion, VF_FIELD_IMAGE, error) == 0;
    expansion->in_pre = true;
    fields = fields && add_field(expansion, VF_FIELD_IMAGE, error) == 0;
    expansion->in_pre = false;
    if (fields)
        status = filter->expand(expansion, context, value, error);
    if (status == VF_OK &&
        (expansion->output_count < 1 || (expansion->repeat > 1 && expansion->output_count > 1)))
        status =
            vf_fail(error, VF_FAILED,
                    "%s: its expand() sets output_count to %d: at least one output is needed, and only one "
                    "where repeat is more than 1; this is a bug in the filter",
                    filter->name, expansion->output_count);
    if (status != VF_OK)
        vf_expansion_free(expansion);
    return status;
}

/* An empty stage at the end of the list that is being built. */
static struct vf_stage *append_stage(struct vf_expansion *e, const char *name, struct vf_error *error)
{
    struct vf_stage **list = e->in_pre ? &e->pre : &e->stage;
    int *count = e->in_pre ? &e->pre_count : &e->stage_count;
    size_t *room = e->in_pre ? &e->pre_room : &e->stage_room;
    struct vf_stage *grown = vf_grow(*list, (size_t)*count, room, sizeof *grown, "filter stages", error);
    if (grown == NULL)
        return NULL;
    *list = grown;
    struct vf_stage *stage = &grown[(*count)++];
    *stage = (struct vf_stage){0};
    if (snprintf(stage->name, sizeof stage->name, "%s", name) < (int)sizeof stage->name)
        return stage;
    vf_fail(error, VF_FAILED, "stage %s: its name has more than %zu letters; this is a bug in the filter",
            name, sizeof stage->name - 1);
    return NULL;
}

struct vf_stage *vf_add_stage(struct vf_expansion *e, const char *name, enum vf_stencil_id id, int dim,
                              const int *inputs, int *outputs, enum vf_field_kind kind,
                              struct vf_error *error)
{
    const struct vf_stencil *stencil = vf_stencil(id);
    struct vf_stage *stage = append_stage(e, name, error);
    if (stage == NULL)
        return NULL;
    if (stencil->outputs[dim - 2] == 0) {
        vf_fail(error, VF_FAILED,
                "stage %s: filters/stencils.def has no %dD outputs of the stencil %s; this is a bug in the "
                "filter",
                name, dim, stencil->name);
        return NULL;
    }
    stage->stencil = id;
    stage->input_count = stencil->inputs[dim - 2];
    stage->output_count = stencil->outputs[dim - 2];
    memcpy(stage->input, inputs, (size_t)stage->input_count * sizeof *inputs);
    for (int k = 0; k < stage->output_count; k++) {
        outputs[k] = add_field(e, kind, error);
        if (outputs[k] < 0)
            return NULL;
        stage->output[k] = outputs[k];
    }
    return stage;
}

int vf_add_global(struct vf_expansion *e, const struct vf_global *global, struct vf_error *error)
{
    if (e->global_count == VF_MAX_GLOBALS) {
        vf_fail(error, VF_FAILED, "more than %d global values in one filter", VF_MAX_GLOBALS);
        return -1;
    }
    e->global[e->global_count] = *global;
    return e->global_count++;
}

/* The expansion's own, of no weights yet. */
static struct vf_taps *new_taps(struct vf_expansion *e, int room, struct vf_error *error)
{
    struct vf_taps *taps = vf_alloc(1, sizeof *taps + (size_t)room * sizeof taps->tap[0], "weights", error);
    if (taps == NULL)
        return NULL;
    *taps = (struct vf_taps){0};
    struct vf_taps **grown =
        vf_grow(e->taps, (size_t)e->taps_count, &e->taps_room, sizeof *grown, "filter stages", error);
    if (grown == NULL) {
        vf_free(taps);
        return NULL;
    }
    e->taps = grown;
    return e->taps[e->taps_count++] = taps;
}

static struct vf_taps *taps_along(struct vf_expansion *e, int axis, const double *weights, int radius,
                                  struct vf_error *error)
{
    int count = 2 * radius + 1;
    struct vf_taps *taps = new_taps(e, count, error);
    if (taps == NULL)
        return NULL;
    taps->count = count;
    taps->halo[2 - axis] = radius;
    for (int i = 0; i < count; i++) {
        const int offset = i - radius;
        taps->tap[i] = (struct vf_tap){.dx = axis == 0 ? offset : 0,
                                       .dy = axis == 1 ? offset : 0,
                                       .dz = axis == 2 ? offset : 0,
                                       .weight = weights[i]};
    }
    return taps;
}

static bool same_taps(const struct vf_taps *a, const struct vf_taps *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = a->tap[i].weight == b->tap[i].weight && a->tap[i].dx == b->tap[i].dx &&
               a->tap[i].dy == b->tap[i].dy && a->tap[i].dz == b->tap[i].dz;
    return same;
}

/* A stage of the pre-pass with the same weights over the same fields, which another global value has brought;
 * NULL: there is none. */
static const struct vf_stage *find_linear(const struct vf_expansion *e, const struct vf_taps *taps, int count,
                                          const int *fields)
{
    for (int s = 0; s < e->pre_count && e->in_pre; s++) {
        const struct vf_stage *stage = &e->pre[s];
        if (stage->stencil == VF_STENCIL_LINEAR && stage->input_count == count &&
            memcmp(stage->input, fields, (size_t)count * sizeof *fields) == 0 && same_taps(stage->taps, taps))
            return stage;
    }
    return NULL;
}

static enum vf_status add_taps(struct vf_expansion *e, const char *name, const struct vf_taps *taps,
                               int count, int *fields, enum vf_field_kind kind, struct vf_error *error)
{
    const struct vf_stage *made = find_linear(e, taps, count, fields);
    if (made != NULL) {
        memcpy(fields, made->output, (size_t)count * sizeof *fields);
        return VF_OK;
    }
    struct vf_stage *stage = append_stage(e, name, error);
    if (stage == NULL)
        return VF_FAILED;
    stage->stencil = VF_STENCIL_LINEAR;
    stage->taps = taps;
    stage->input_count = stage->output_count = count;
    for (int k = 0; k < count; k++) {
        stage->input[k] = fields[k];
        fields[k] = stage->output[k] = add_field(e, kind, error);
        if (fields[k] < 0)
            return VF_FAILED;
    }
    return VF_OK;
}

enum vf_status vf_add_linear(struct vf_expansion *e, const char *name, int axis, const double *weights,
                             int radius, int count, int *fields, enum vf_field_kind kind,
                             struct vf_error *error)
{
    const struct vf_taps *taps = taps_along(e, axis, weights, radius, error);
    return taps == NULL ? VF_FAILED : add_taps(e, name, taps, count, fields, kind, error);
}

static void widen(int *halo, int offset)
{
    *halo = abs(offset) > *halo ? abs(offset) : *halo;
}

enum vf_status vf_add_table(struct vf_expansion *e, const struct vf_context *context, const char *name,
                            const struct vf_weights *weights, bool flips, int *field, enum vf_field_kind kind,
                            struct vf_error *error)
{
    const int *const size = weights->size, count = size[0] * size[1] * size[2];
    struct vf_taps *taps = new_taps(e, count, error);
    if (taps == NULL)
        return VF_FAILED;
    for (int i = 0; i < count; i++) {
        const double written = weights->weight[flips ? count - 1 - i : i],
                     weight = context->is_double ? written : (double)(float)written;
        const int dx = i % size[2] - size[2] / 2, dy = i / size[2] % size[1] - size[1] / 2,
                  dz = i / size[2] / size[1] - size[0] / 2;
        if (!isfinite(weight))
            return vf_fail(error, VF_USAGE,
                           "%s: %.200s: the weight %g does not fit in float32; scale the weights down, or "
                           "add --precision double",
                           context->filter, weights->path, written);
        if (weight == 0)
            continue;
        taps->tap[taps->count++] = (struct vf_tap){dz, dy, dx, weight};
        widen(&taps->halo[0], dz);
        widen(&taps->halo[1], dy);
        widen(&taps->halo[2], dx);
    }
    if (taps->count == 0)
        return vf_fail(
            error, VF_USAGE,
            "%s: %.200s: all weights round to 0 in float32; scale them up, or add --precision double",
            context->filter, weights->path);
    return add_taps(e, name, taps, 1, field, kind, error);
}

/* exp(-i^2 / (2 sigma^2)) for i = -radius..radius, normalised; NULL with a message. Owned by the caller. */
static double *gaussian_weights(double sigma, double truncate, int *radius, struct vf_error *error)
{
    *radius = (int)floor(truncate * sigma + 0.5);
    double *weights = vf_alloc((size_t)(2 * *radius + 1), sizeof *weights, "weights", error);
    if (weights == NULL)
        return NULL;
    double sum = 0;
    for (int i = -*radius; i <= *radius; i++)
        sum += weights[i + *radius] = vf_exp(-0.5 * ((double)i / sigma) * ((double)i / sigma));
    for (int i = 0; i <= 2 * *radius; i++)
        weights[i] /= sum;
    return weights;
}

enum vf_status vf_add_gaussian(struct vf_expansion *e, const struct vf_context *context, char letter,
                               const double sigma[3], double truncate, int count, int *fields,
                               enum vf_field_kind kind, struct vf_error *error)
{
    double widest = 0;
    bool smooths = false;
    for (int axis = 0; axis < context->dim; axis++) {
        if (sigma[axis] == 0)
            continue;
        int radius;
        double *weights = gaussian_weights(sigma[axis], truncate, &radius, error);
        if (weights == NULL)
            return VF_FAILED;
        const char name[] = {letter, (char)('X' + axis), '\0'};
        enum vf_status status =
            radius == 0 ? VF_OK : vf_add_linear(e, name, axis, weights, radius, count, fields, kind, error);
        vf_free(weights);
        if (status != VF_OK)
            return status;
        widest = sigma[axis] > widest ? sigma[axis] : widest;
        smooths = smooths || radius > 0;
    }
    if (widest > 0 && !smooths)
        snprintf(e->note, sizeof e->note,
                 "a Gaussian of sigma %.3g voxels, cut off at %.3g sigma, reaches no neighbour and smooths "
                 "nothing; their product must be at least 0.5",
                 widest, truncate);
    return VF_OK;
}

enum vf_status vf_add_gaussian_derivative(struct vf_expansion *e, const char *name, int axis, double sigma,
                                          double truncate, double scale, int *field, struct vf_error *error)
{
    int radius;
    double *weights = gaussian_weights(sigma, truncate, &radius, error);
    if (weights == NULL)
        return VF_FAILED;
    for (int i = -radius; i <= radius; i++)
        weights[i + radius] *= scale * i / (sigma * sigma);
    enum vf_status status = vf_add_linear(e, name, axis, weights, radius, 1, field, VF_FIELD_DERIVED, error);
    vf_free(weights);
    return status;
}

enum vf_status vf_lengths_in_voxels(const struct vf_param *param, const struct vf_value *value,
                                    const struct vf_context *context, bool isotropic, double sigma[3],
                                    struct vf_error *error)
{
    static const char *const axis_name[] = {"x", "y", "z"};
    double widest = 0;
    if (value->length_count == 2 && context->dim == 3)
        return vf_fail(error, VF_USAGE, "%s: %s has two numbers, for x and y; a stack needs one or three",
                       context->filter, param->name);
    for (int axis = 0; axis < 3; axis++) {
        double length = value->length[value->length_count == 1 ? 0 : axis];
        bool unused = axis >= context->dim || (value->length_count == 2 && axis == 2);
        sigma[axis] = unused ? 0 : length;
        if (unused || length == 0)
            continue;
        if (value->unit > VF_UNIT_VOXEL) {
            const char *unit = vf_unit_name(value->unit);
            double voxel =
                context->spacing_known[axis] ? context->spacing[axis] * vf_unit_nanometres(context->unit) : 0;
            if (!(voxel > 0))
                return vf_fail(
                    error, VF_USAGE,
                    "%s: %s=%g%s needs the voxel size along %s, %s; add --spacing XxYxZ%s, or give "
                    "%s in voxels",
                    context->filter, param->name, length, unit, axis_name[axis],
                    context->spacing_known[axis]
                        ? "which is known only without a unit of length"
                        : "which is not known (72 and 96 dpi of a TIFF or PNG count as not stated)",
                    unit, param->name);
            sigma[axis] = length * vf_unit_nanometres(unit) / voxel;
        } else if (isotropic && value->length_count == 1 && value->unit == VF_UNIT_BARE) {
            sigma[axis] = length / context->aspect[axis];
        }
        if (sigma[axis] > param->max)
            return vf_fail(error, VF_USAGE, "%s: %s is %.9g voxels along %s; the maximum is %g",
                           context->filter, param->name, sigma[axis], axis_name[axis], param->max);
        widest = sigma[axis] > widest ? sigma[axis] : widest;
    }
    if (context->dim == 2 && value->length_count == 3 && widest == 0 && value->length[2] > 0)
        return vf_fail(error, VF_USAGE, "%s: %s is 0 along x and y, and a single plane has no z",
                       context->filter, param->name);
    if (value->unit > VF_UNIT_VOXEL && widest > 0 && widest < param->least)
        return vf_fail(error, VF_USAGE,
                       "%s: %s is %.6g voxels, which reaches no neighbour; use %g voxels or more along some "
                       "axis, or 0 for no smoothing",
                       context->filter, param->name, widest, param->least);
    return VF_OK;
}

enum vf_status vf_set_box(const struct vf_param *param, const struct vf_value *value,
                          const struct vf_context *context, struct vf_global *global, struct vf_error *error)
{
    if (value->box_axes == 2 && context->dim == 3)
        return vf_fail(error, VF_USAGE, "%s: %s has two sizes, for x and y; a stack needs WxHxD+X+Y+Z",
                       context->filter, param->name);
    memcpy(global->box_size, value->box_size, sizeof global->box_size);
    memcpy(global->box_at, value->box_at, sizeof global->box_at);
    return VF_OK;
}

enum vf_status vf_stable_step(const struct vf_value *value, const struct vf_context *context, double *dt,
                              struct vf_error *error)
{
    double sum = 0;
    for (int axis = 0; axis < context->dim; axis++)
        sum += 1 / (context->aspect[axis] * context->aspect[axis]);
    double bound = 1 / (2 * sum);
    *dt = value->threshold == VF_THRESHOLD_AUTO ? 0.9 * bound : value->number;
    char most[32]; /* which must not be above it when it is given */
    snprintf(most, sizeof most, "%.9g", bound);
    if (strtod(most, NULL) > bound)
        snprintf(most, sizeof most, "%.9g", bound * (1 - 1e-8));
    if (*dt > bound)
        return vf_fail(error, VF_USAGE,
                       "%s: dt=%.15g is unstable for these voxels; the maximum is %s (dt=auto is 0.9 of it)",
                       context->filter, *dt, most);
    return VF_OK;
}
