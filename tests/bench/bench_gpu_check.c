#include "bench_gpu_check.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "size.h"

/* ---- the reference ---- */

/* A part of a grid that is computed whole: fields of the compute type. */
struct part {
    const struct bench_flow *flow;
    struct bench_grid grid;     /* whose cells are numbered */
    ptrdiff_t at[3], extent[3]; /* x, y, z */
    void **field;
};

static void load(const struct part *part, const struct bench_random *random, void *field)
{
    const ptrdiff_t *n = part->extent;
#pragma omp parallel for
    for (ptrdiff_t row = 0; row < n[1] * n[2]; row++) {
        const ptrdiff_t y = part->at[1] + row % n[1], z = part->at[2] + row / n[1];
        const ptrdiff_t first = (z * part->grid.ny + y) * part->grid.nx + part->at[0];
        for (ptrdiff_t x = 0; x < n[0]; x++) {
            const double value = bench_random_value(random, (unsigned)(first + x));
            if (part->flow->flow.is_double)
                ((double *)field)[row * n[0] + x] = value;
            else
                ((float *)field)[row * n[0] + x] = (float)value;
        }
    }
}

static void compute_stage(const struct part *part, const struct vf_stage *stage)
{
    const struct vf_flow *flow = &part->flow->flow;
    const struct vf_cells *cells = flow->dim == 3    ? flow->is_double ? &vf_cells_f64_3d : &vf_cells_f32_3d
                                   : flow->is_double ? &vf_cells_f64_2d
                                                     : &vf_cells_f32_2d;
    bench_cell *own = stage->external != NULL ? bench_cell_of(stage->external) : NULL;
    const ptrdiff_t *n = part->extent;
#pragma omp parallel for schedule(dynamic, 4)
    for (ptrdiff_t row = 0; row < n[1] * n[2]; row++) {
        struct vf_cell cell = {.param = stage->param,
                               .boundary = flow->boundary,
                               .nx = n[0],
                               .ny = n[1],
                               .nz = n[2],
                               .y = row % n[1],
                               .z = row / n[1]};
        for (int k = 0; k < stage->input_count; k++)
            cell.in[k] = part->field[stage->input[k]];
        for (int k = 0; k < stage->output_count; k++)
            cell.out[k] = part->field[stage->output[k]];
        for (cell.x = 0; cell.x < n[0]; cell.x++) {
            for (int k = 0; stage->taps != NULL && k < stage->input_count; k++)
                cells->linear(&cell, stage->taps, k);
            if (stage->taps == NULL)
                (own != NULL ? own : cells->body[stage->stencil])(&cell);
        }
    }
}

/* How far the stages reach together on the sources, at most: x, y, z. */
static void reach_of(const struct vf_flow *flow, ptrdiff_t reach[3])
{
    int(*fields)[3] = bench_alloc((size_t)flow->field_count, sizeof *fields);
    memset(fields, 0, (size_t)flow->field_count * sizeof *fields);
    memset(reach, 0, 3 * sizeof *reach);
    vf_stages_reach(flow, 0, flow->stage_count, fields);
    for (int k = 0; k < flow->source_count; k++)
        for (int axis = 0; axis < 3; axis++)
            reach[2 - axis] = vf_larger(reach[2 - axis], fields[flow->source[k]][axis]);
    vf_free(fields);
}

/* Integers round to nearest, halves to even, and saturate; NaN has one form. */
static void store(enum vf_type type, void *to, ptrdiff_t i, double value)
{
    const double nearest = isnan(value) ? 0 : rint(value);
    if (type == VF_I8)
        ((int8_t *)to)[i] = (int8_t)fmin(fmax(nearest, INT8_MIN), INT8_MAX);
    else if (type == VF_U8)
        ((uint8_t *)to)[i] = (uint8_t)fmin(fmax(nearest, 0), UINT8_MAX);
    else if (type == VF_U16)
        ((uint16_t *)to)[i] = (uint16_t)fmin(fmax(nearest, 0), UINT16_MAX);
    else if (type == VF_F32)
        ((float *)to)[i] = isnan(value) ? NAN : (float)value;
    else
        ((double *)to)[i] = isnan(value) ? (double)NAN : value;
}

/* The box's cells of the part's sinks. */
static void deliver(const struct part *part, struct bench_box *box)
{
    const struct vf_flow *flow = &part->flow->flow;
    const ptrdiff_t *n = box->extent;
    for (int k = 0; k < flow->sink_count; k++) {
        const void *field = part->field[flow->sink[k]];
        box->value[k] = bench_alloc((size_t)(n[0] * n[1] * n[2]), vf_type_size(part->flow->sink_type[k]));
        for (ptrdiff_t i = 0; i < n[0] * n[1] * n[2]; i++) {
            const ptrdiff_t x = i % n[0] + box->at[0] - part->at[0];
            const ptrdiff_t y = i / n[0] % n[1] + box->at[1] - part->at[1];
            const ptrdiff_t z = i / n[0] / n[1] + box->at[2] - part->at[2];
            const ptrdiff_t from = (z * part->extent[1] + y) * part->extent[0] + x;
            store(part->flow->sink_type[k], box->value[k], i,
                  flow->is_double ? ((const double *)field)[from] : (double)((const float *)field)[from]);
        }
    }
}

/* Computes the box of a grid together with all that it depends on. Where that ends at the grid's own edge the
 * boundary rule is right; elsewhere what it makes wrong stays outside the box. */
static void compute(const struct bench_flow *flow, struct bench_grid grid, const struct bench_random *random,
                    struct bench_box *box)
{
    const ptrdiff_t size[3] = {grid.nx, grid.ny, grid.nz};
    struct part part = {.flow = flow, .grid = grid};
    ptrdiff_t reach[3];
    reach_of(&flow->flow, reach);
    for (int axis = 0; axis < 3; axis++) {
        const ptrdiff_t end = box->at[axis] + box->extent[axis] + reach[axis];
        part.at[axis] = box->at[axis] > reach[axis] ? box->at[axis] - reach[axis] : 0;
        part.extent[axis] = (end < size[axis] ? end : size[axis]) - part.at[axis];
    }
    const size_t cells = (size_t)(part.extent[0] * part.extent[1] * part.extent[2]);
    part.field = bench_alloc((size_t)flow->flow.field_count, sizeof *part.field);
    for (int f = 0; f < flow->flow.field_count; f++)
        part.field[f] = bench_alloc(cells, flow->flow.is_double ? sizeof(double) : sizeof(float));
    for (int k = 0; k < flow->flow.source_count; k++)
        load(&part, &random[k], part.field[flow->flow.source[k]]);
    for (int s = 0; s < flow->flow.stage_count; s++)
        compute_stage(&part, &flow->flow.stage[s]);
    deliver(&part, box);
    for (int f = 0; f < flow->flow.field_count; f++)
        vf_free(part.field[f]);
    vf_free(part.field);
}

/* ---- where to look ---- */

/* Box i: the corners first, then anywhere. */
static void place_box(struct bench_box *box, int i, struct bench_grid grid, int dim)
{
    const ptrdiff_t size[3] = {grid.nx, grid.ny, grid.nz};
    const ptrdiff_t extent[3] = {24, dim == 3 ? 5 : 20, dim == 3 ? 5 : 1};
    for (int axis = 0; axis < 3; axis++) {
        box->extent[axis] = vf_smaller(extent[axis], size[axis]);
        const ptrdiff_t last = size[axis] - box->extent[axis];
        box->at[axis] = i >= 1 << dim ? rand() % (last + 1) : (i >> axis & 1) != 0 ? last : 0; /* NOLINT */
    }
}

struct bench_grid bench_small_grid(struct bench_grid grid, int dim)
{
    return (struct bench_grid){vf_smaller(dim == 3 ? 61 : 203, grid.nx),
                               vf_smaller(dim == 3 ? 37 : 117, grid.ny), vf_smaller(29, grid.nz)};
}

void bench_right_open(struct bench_right *right, const struct bench_flow *flow, struct bench_grid grid,
                      const struct bench_random *random)
{
    *right =
        (struct bench_right){.flow = flow, .grid = grid, .small = bench_small_grid(grid, flow->flow.dim)};
    right->whole.extent[0] = right->small.nx;
    right->whole.extent[1] = right->small.ny;
    right->whole.extent[2] = right->small.nz;
    compute(flow, right->small, random, &right->whole);
    for (int i = 0; i < BENCH_BOXES; i++) {
        place_box(&right->box[i], i, grid, flow->flow.dim);
        compute(flow, grid, random, &right->box[i]);
    }
}

static void free_box(struct bench_box *box)
{
    for (int k = 0; k < VF_MAX_OUTPUTS; k++)
        vf_free(box->value[k]);
}

void bench_right_close(struct bench_right *right)
{
    free_box(&right->whole);
    for (int i = 0; i < BENCH_BOXES; i++)
        free_box(&right->box[i]);
}

/* ---- comparing ---- */

/* The box of an array on the device, packed. */
static void download(struct bench_device *device, CUdeviceptr array, enum vf_type type,
                     struct bench_grid grid, const struct bench_box *box, void *to)
{
    const size_t element = vf_type_size(type), pitch = (size_t)vf_gpu_pitch(grid.nx) * element;
    const size_t row = (size_t)box->extent[0] * element;
    for (ptrdiff_t z = 0; z < box->extent[2]; z++) {
        const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .srcDevice = array +
                                                 (size_t)((box->at[2] + z) * grid.ny + box->at[1]) * pitch +
                                                 (size_t)box->at[0] * element,
                                    .srcPitch = pitch,
                                    .dstMemoryType = CU_MEMORYTYPE_HOST,
                                    .dstHost = (char *)to + (size_t)(z * box->extent[1]) * row,
                                    .dstPitch = row,
                                    .WidthInBytes = row,
                                    .Height = (size_t)box->extent[1]};
        bench_must_cuda(device, device->cuda->api.cuMemcpy2DAsync(&copy, NULL), "downloading a result");
    }
    bench_must_cuda(device, device->cuda->api.cuStreamSynchronize(NULL), "downloading a result");
}

static bool holds(const struct bench_flow *flow, struct bench_device *device, const CUdeviceptr *sink,
                  struct bench_grid grid, const struct bench_box *box, char where[128])
{
    const ptrdiff_t *n = box->extent, cells = n[0] * n[1] * n[2];
    bool same = true;
    for (int k = 0; k < flow->flow.sink_count && same; k++) {
        const size_t element = vf_type_size(flow->sink_type[k]);
        char *got = bench_alloc((size_t)cells, element);
        download(device, sink[k], flow->sink_type[k], grid, box, got);
        for (ptrdiff_t i = 0; i < cells && same; i++) {
            same =
                memcmp(got + (size_t)i * element, (char *)box->value[k] + (size_t)i * element, element) == 0;
            if (!same)
                snprintf(where, 128, "output %d at (%td, %td, %td) of %tdx%tdx%td", k, box->at[0] + i % n[0],
                         box->at[1] + i / n[0] % n[1], box->at[2] + i / n[0] / n[1], grid.nx, grid.ny,
                         grid.nz);
        }
        vf_free(got);
    }
    return same;
}

bool bench_right_small(const struct bench_right *right, struct bench_device *device, const CUdeviceptr *sink,
                       char where[128])
{
    return holds(right->flow, device, sink, right->small, &right->whole, where);
}

bool bench_right_full(const struct bench_right *right, struct bench_device *device, const CUdeviceptr *sink,
                      char where[128])
{
    for (int i = 0; i < BENCH_BOXES; i++)
        if (!holds(right->flow, device, sink, right->grid, &right->box[i], where))
            return false;
    return true;
}
