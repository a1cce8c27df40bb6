/* The scalar oracle: what every other scheme's bits are compared with. Each stage runs over the whole grid
 * before the next one starts, every field is a full array, and every neighbour is looked up through the
 * boundary rule. Slow and plain on purpose; it shares no code with other schemes but the stencils themselves
 * and the boundary rule. */
#include <math.h>
#include <stdint.h>

#include "kernels/cpu_cells.h"
#include "kernels/scheme.h"
#include "src/alloc.h"
#include "src/size.h"

/* What it takes for one operation of a stencil at one voxel, roughly. */
#define SECONDS_AN_OPERATION 3e-9

/* Every stored type fits in a double, so loading rounds once at most, to the compute type. */
static double stored_value(enum vf_type type, const void *data, ptrdiff_t i)
{
    switch (type) {
    case VF_U8:
        return ((const uint8_t *)data)[i];
    case VF_I8:
        return ((const int8_t *)data)[i];
    case VF_U16:
        return ((const uint16_t *)data)[i];
    case VF_I16:
        return ((const int16_t *)data)[i];
    case VF_U32:
        return ((const uint32_t *)data)[i];
    case VF_I32:
        return ((const int32_t *)data)[i];
    case VF_F32:
        return (double)((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

/* Rounded to the nearest, halves to even; saturated; NaN gives 0. */
static int64_t to_integer(double value, int64_t low, int64_t high)
{
    if (isnan(value))
        return 0;
    const double rounded = rint(value);
    if (rounded <= (double)low)
        return low;
    if (rounded >= (double)high)
        return high;
    return (int64_t)rounded;
}

/* Stores a value of the compute type; every NaN becomes the same one, positive and without payload. */
static void store_value(enum vf_type type, void *data, ptrdiff_t i, double value)
{
    switch (type) {
    case VF_U8:
        ((uint8_t *)data)[i] = (uint8_t)to_integer(value, 0, UINT8_MAX);
        break;
    case VF_I8:
        ((int8_t *)data)[i] = (int8_t)to_integer(value, INT8_MIN, INT8_MAX);
        break;
    case VF_U16:
        ((uint16_t *)data)[i] = (uint16_t)to_integer(value, 0, UINT16_MAX);
        break;
    case VF_I16:
        ((int16_t *)data)[i] = (int16_t)to_integer(value, INT16_MIN, INT16_MAX);
        break;
    case VF_U32:
        ((uint32_t *)data)[i] = (uint32_t)to_integer(value, 0, UINT32_MAX);
        break;
    case VF_I32:
        ((int32_t *)data)[i] = (int32_t)to_integer(value, INT32_MIN, INT32_MAX);
        break;
    case VF_F32:
        ((float *)data)[i] = isnan(value) ? __builtin_nanf("") : (float)value;
        break;
    default:
        ((double *)data)[i] = isnan(value) ? __builtin_nan("") : value;
    }
}

/* An element of a field, which is of the compute type. */
static double field_value(const struct vf_flow *flow, const void *field, ptrdiff_t i)
{
    return flow->is_double ? ((const double *)field)[i] : (double)((const float *)field)[i];
}

static void set_field_value(const struct vf_flow *flow, void *field, ptrdiff_t i, double value)
{
    if (flow->is_double)
        ((double *)field)[i] = value;
    else
        ((float *)field)[i] = (float)value;
}

static bool stopped(const struct vf_job *job)
{
    return job->stop != NULL && *job->stop;
}

static enum vf_status interrupted(struct vf_error *error)
{
    return vf_fail(error, VF_INTERRUPTED, "interrupted");
}

static enum vf_status load_source(const struct vf_job *job, ptrdiff_t image, const struct vf_array *source,
                                  void *field, struct vf_error *error)
{
    const ptrdiff_t cells = job->nx * job->ny;
    for (ptrdiff_t z = 0; z < job->nz; z++) {
        const void *plane = source->plane[image * job->nz + z];
        if (plane == NULL)
            return vf_fail(error, VF_FAILED,
                           "the reference scheme needs all planes in memory; plane %td is not", z);
        if (stopped(job))
            return interrupted(error);
        for (ptrdiff_t i = 0; i < cells; i++)
            set_field_value(job->flow, field, z * cells + i, stored_value(source->type, plane, i));
    }
    return VF_OK;
}

static const struct vf_cells *cells_for(const struct vf_flow *flow)
{
    if (flow->is_double)
        return flow->dim == 3 ? &vf_cells_f64_3d : &vf_cells_f64_2d;
    return flow->dim == 3 ? &vf_cells_f32_3d : &vf_cells_f32_2d;
}

static void compute_cell(const struct vf_cells *cells, const struct vf_stage *stage,
                         const struct vf_cell *cell)
{
    if (stage->stencil != VF_STENCIL_LINEAR)
        cells->body[stage->stencil](cell);
    else
        for (int k = 0; k < stage->input_count; k++)
            cells->linear(cell, stage->taps, k);
}

static enum vf_status compute_stage(const struct vf_job *job, const struct vf_stage *stage,
                                    void *const *field, struct vf_error *error)
{
    const struct vf_flow *flow = job->flow;
    const struct vf_cells *cells = cells_for(flow);
    struct vf_cell cell = {
        .param = stage->param, .boundary = flow->boundary, .nx = job->nx, .ny = job->ny, .nz = job->nz};
    for (int k = 0; k < stage->input_count; k++) {
        cell.in[k] = field[stage->input[k]];
        cell.outside[k] = flow->field_kind[stage->input[k]] == VF_FIELD_IMAGE ? flow->constant : 0.0;
    }
    for (int k = 0; k < stage->output_count; k++)
        cell.out[k] = field[stage->output[k]];
    for (cell.z = 0; cell.z < cell.nz; cell.z++)
        for (cell.y = 0; cell.y < cell.ny; cell.y++) {
            if (stopped(job))
                return interrupted(error);
            for (cell.x = 0; cell.x < cell.nx; cell.x++)
                compute_cell(cells, stage, &cell);
        }
    return VF_OK;
}

/* Stores and reduces the slab's part of a sink. */
static enum vf_status deliver(const struct vf_job *job, ptrdiff_t image, const struct vf_sink *sink,
                              const void *field, struct vf_error *error)
{
    const size_t element = vf_flow_element(job->flow);
    const struct vf_array *array = sink->array;
    for (ptrdiff_t z = job->z_begin; z < job->z_end; z++)
        for (ptrdiff_t y = 0; y < job->ny; y++) {
            const ptrdiff_t row = (z * job->ny + y) * job->nx;
            if (stopped(job))
                return interrupted(error);
            for (ptrdiff_t x = 0; array != NULL && x < job->nx; x++)
                store_value(array->type, array->plane[image * job->nz + z], y * job->nx + x,
                            field_value(job->flow, field, row + x));
            for (int k = 0; k < sink->reducer_count; k++)
                vf_reducer_add(&sink->reducer[k], 0, (const char *)field + (size_t)row * element, job->nx, 0,
                               y, z);
        }
    return VF_OK;
}

/* Progress counts voxels of the result; each stage is worth an equal share of them. */
static void report(const struct vf_job *job, int stages_done)
{
    const size_t all = (size_t)(job->z_end - job->z_begin) * (size_t)(job->nx * job->ny);
    const size_t stages = (size_t)job->flow->stage_count, done = (size_t)stages_done;
    if (job->progress != NULL && stages == 0)
        job->progress(job->progress_context, all);
    else if (job->progress != NULL && done > 0)
        job->progress(job->progress_context, all * done / stages - all * (done - 1) / stages);
}

static enum vf_status compute_image(const struct vf_job *job, ptrdiff_t image, void *const *field,
                                    struct vf_error *error)
{
    const struct vf_flow *flow = job->flow;
    enum vf_status status = VF_OK;
    for (int k = 0; k < flow->source_count; k++)
        VF_TRY(load_source(job, image, &job->source[k], field[flow->source[k]], error));
    report(job, 0);
    for (int i = 0; i < flow->stage_count; i++) {
        VF_TRY(compute_stage(job, &flow->stage[i], field, error));
        report(job, i + 1);
    }
    for (int k = 0; k < flow->sink_count; k++)
        VF_TRY(deliver(job, image, &job->sink[k], field[flow->sink[k]], error));
out:
    return status;
}

/* Voxels of one image; false when their number overflows. */
static bool grid_cells(const struct vf_job *job, size_t *cells)
{
    size_t plane;
    return vf_size_mul((size_t)job->nx, (size_t)job->ny, &plane) &&
           vf_size_mul(plane, (size_t)job->nz, cells);
}

static enum vf_status run(const struct vf_job *job, struct vf_error *error)
{
    const struct vf_flow *flow = job->flow;
    const size_t element = vf_flow_element(flow);
    enum vf_status status = VF_FAILED;
    size_t cells;
    if (!grid_cells(job, &cells))
        return vf_fail(error, VF_FAILED, "a grid of %td x %td x %td voxels is too large", job->nx, job->ny,
                       job->nz);
    void **field = vf_alloc((size_t)flow->field_count, sizeof *field, "fields", error);
    if (field == NULL)
        return VF_FAILED;
    for (int f = 0; f < flow->field_count; f++) {
        field[f] = vf_alloc(cells, element, "a field of the reference scheme", error);
        if (field[f] == NULL)
            goto out;
    }
    for (ptrdiff_t image = 0; image < job->batch; image++)
        VF_TRY(compute_image(job, image, field, error));
    status = VF_OK;
out:
    for (int f = 0; f < flow->field_count; f++)
        vf_free(field[f]);
    vf_free(field);
    return status;
}

static size_t bytes(const struct vf_job *job)
{
    const size_t element = vf_flow_element(job->flow);
    size_t cells, total;
    if (!grid_cells(job, &cells) || !vf_size_mul(cells, element, &total) ||
        !vf_size_mul(total, (size_t)job->flow->field_count, &total))
        return SIZE_MAX;
    return total;
}

/* It does not tile; only the time is of interest. */
static double plan(struct vf_job *job)
{
    double operations = 0;
    for (int i = 0; i < job->flow->stage_count; i++)
        operations += vf_stage_cost(&job->flow->stage[i]);
    const bool volume = job->flow->dim == 3;
    job->tiling = (struct vf_tiling){.tile = {job->nx, volume ? job->ny : 1, volume ? job->nz : job->ny}};
    return operations * SECONDS_AN_OPERATION * (double)job->nx * (double)job->ny * (double)job->nz *
           (double)job->batch;
}

const struct vf_scheme vf_cpu_reference = {
    .name = "reference",
    .summary =
        "plain loops, stage by stage over the whole grid, on one thread: slow, for checking the others",
    .whole = true,
    .plan = plan,
    .bytes = bytes,
    .run = run,
};
