#include "cuda_reduce.h"

#include <string.h>

#include "alloc.h"
#include "cuda_memory.h"
#include "size.h"
#include "text.h"

/* Values of a thread in one launch at most: sums in kernels/reduce.cu have room for a little more. */
#define MOST_VALUES 8000
#define COUNT_THREADS 1024 /* of a block, one a multiprocessor: it takes all shared memory */
#define THREADS 256
#define BLOCKS 8 /* a multiprocessor: more than are there at once */
#define BATCH 4  /* packs that a thread reads at once */
/* Bins of percentiles that share an exponent. */
#define OCTAVE_BINS 256
#define OCTAVES 255

/* Planes of a field on the device. */
struct values {
    struct vf_cuda *cuda;
    CUstream stream;
    struct vf_staging *staging;
    CUdeviceptr data;
    ptrdiff_t nx, ny, nz;
    ptrdiff_t z, count; /* in 2D every plane is plane 0 of a grid of its own */
    size_t pitch, plane, element;
};

#define TRY_CUDA(call, what) VF_TRY(vf_cuda_check(&v->cuda->api, v->cuda->api.call, what, error))

/* kernels/reduce.cu's VfArgs. */
struct args {
    CUdeviceptr data;
    long long pitch, plane;
    int packs, rows, planes, begin, end, step_pack, step_row, step_plane;
    CUdeviceptr out;
};

/* How a reduction is launched. */
struct kernel {
    struct vf_cuda_kernel compiled;
    int threads, most_blocks;
    int first_octave, octaves; /* percentiles: counted in shared memory */
    size_t shared, out_bytes;
};

/* ---- the kernel ---- */

/* As many octaves as there is room for, around 1 and more of those below. */
static void choose_octaves(struct kernel *kernel, const struct vf_gpu *gpu)
{
    const int room = (int)(gpu->block_shared / (OCTAVE_BINS * sizeof(unsigned)));
    const int n = room < OCTAVES ? room : OCTAVES;
    const int wanted = 127 - 3 * n / 4, most = OCTAVES - n;
    kernel->first_octave = wanted < 0 ? 0 : wanted < most ? wanted : most;
    kernel->octaves = n;
}

static void shape_kernel(struct kernel *kernel, enum vf_reduction reduction, bool is_double,
                         const struct vf_gpu *gpu)
{
    *kernel = (struct kernel){.threads = THREADS, .most_blocks = BLOCKS * gpu->multiprocessors};
    switch (reduction) {
    case VF_REDUCE_PERCENTILE:
        choose_octaves(kernel, gpu);
        kernel->threads = COUNT_THREADS;
        kernel->most_blocks = gpu->multiprocessors;
        kernel->shared = (size_t)kernel->octaves * OCTAVE_BINS * sizeof(unsigned);
        kernel->out_bytes = VF_REDUCE_COUNTS * sizeof(uint64_t);
        break;
    case VF_REDUCE_RANGE:
        kernel->out_bytes = 2 * sizeof(uint64_t);
        break;
    default:
        kernel->shared = sizeof(struct vf_reduce_sums) + sizeof(uint64_t);
        kernel->out_bytes = sizeof(uint64_t) + (is_double ? VF_REDUCE_DOUBLE_BINS : VF_REDUCE_FLOAT_BINS) *
                                                   sizeof(struct vf_reduce_sums);
    }
}

void vf_cuda_reduce_source(enum vf_reduction reduction, bool is_double, const struct vf_gpu *gpu,
                           struct vf_text *text)
{
    struct kernel kernel;
    shape_kernel(&kernel, reduction, is_double, gpu);
    vf_text_add(text, "#define REAL_BITS %d\n#define VF_BLOCK %d\n", is_double ? 64 : 32, kernel.threads);
    vf_text_add(text, "#define VF_COUNTS %d\n#define VF_SUMS %d\n#define VF_RANGE %d\n",
                reduction == VF_REDUCE_PERCENTILE, vf_reduction_has_sums(reduction),
                reduction == VF_REDUCE_RANGE);
    vf_text_add(text, "#define VF_SQUARES %d\n", vf_reduction_has_squares(reduction));
    vf_text_add(text, "#define VF_FIRST_BIN %d\n#define VF_BINS %d\n", kernel.first_octave * OCTAVE_BINS,
                kernel.octaves * OCTAVE_BINS);
    vf_text_add(text, "#define VF_BATCH %d\n#include \"kernels/reduce.cu\"\n", BATCH);
}

static enum vf_status make_kernel(struct kernel *kernel, const struct values *v,
                                  const struct vf_reducer *reducer, struct vf_error *error)
{
    struct vf_text text = {0};
    enum vf_status status;
    shape_kernel(kernel, reducer->reduction, reducer->is_double, &v->cuda->gpu);
    vf_cuda_reduce_source(reducer->reduction, reducer->is_double, &v->cuda->gpu, &text);
    if (text.failed) {
        status = vf_fail(error, VF_FAILED, "out of memory for a kernel's text");
        goto out;
    }
    VF_TRY(vf_cuda_kernel(v->cuda, text.data, &kernel->compiled, error));
    if (kernel->shared > 0)
        TRY_CUDA(cuFuncSetAttribute(kernel->compiled.function,
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)kernel->shared),
                 "requesting shared memory");
out:
    vf_text_free(&text);
    return status;
}

/* ---- launching ---- */

/* A box of the field: x, y, planes. */
struct box {
    ptrdiff_t low[3], high[3];
};

/* Which of the planes the reducer's box has; false: none. */
static bool cut(const struct values *v, const struct vf_reducer *reducer, struct box *box)
{
    for (int axis = 0; axis < 3; axis++) {
        box->low[axis] = reducer->box_low[axis];
        box->high[axis] = reducer->box_high[axis];
        if (box->low[axis] >= box->high[axis])
            return false;
    }
    if (v->nz == 1)
        box->high[2] = v->count;
    else {
        box->low[2] -= v->z;
        box->high[2] -= v->z;
        box->low[2] = box->low[2] > 0 ? box->low[2] : 0;
        box->high[2] = box->high[2] < v->count ? box->high[2] : v->count;
    }
    return box->low[2] < box->high[2];
}

static enum vf_status launch(const struct kernel *kernel, const struct values *v, const struct box *box,
                             CUdeviceptr out, struct vf_error *error)
{
    const ptrdiff_t pack = 16 / (ptrdiff_t)v->element, first = box->low[0] / pack * pack;
    struct args args = {.pitch = (long long)v->pitch,
                        .plane = (long long)v->plane,
                        .packs = (int)vf_ceil_div(box->high[0] - first, pack),
                        .rows = (int)(box->high[1] - box->low[1]),
                        .planes = (int)(box->high[2] - box->low[2]),
                        .begin = (int)(box->low[0] - first),
                        .end = (int)(box->high[0] - first),
                        .out = out};
    args.data = v->data + ((size_t)box->low[2] * v->plane + (size_t)box->low[1] * v->pitch + (size_t)first) *
                              v->element;
    const ptrdiff_t a_block = (ptrdiff_t)kernel->threads * BATCH;
    ptrdiff_t blocks = vf_ceil_div((ptrdiff_t)args.packs * args.rows * args.planes, a_block);
    blocks = blocks < kernel->most_blocks ? blocks : kernel->most_blocks;
    const ptrdiff_t threads = blocks * kernel->threads;
    args.step_pack = (int)(threads % args.packs);
    args.step_row = (int)(threads / args.packs % args.rows);
    args.step_plane = (int)(threads / args.packs / args.rows);
    const struct vf_cuda_grid grid = {.blocks = {(unsigned)blocks, 1, 1},
                                      .threads = {(unsigned)kernel->threads, 1, 1},
                                      .shared = kernel->shared};
    return vf_cuda_kernel_start(&v->cuda->api, &kernel->compiled, &grid, v->stream, &args, error);
}

/* As many rows or planes at once as a launch may take. */
static enum vf_status launch_all(const struct kernel *kernel, const struct values *v, const struct box *box,
                                 CUdeviceptr out, struct vf_error *error)
{
    const ptrdiff_t nx = box->high[0] - box->low[0], ny = box->high[1] - box->low[1];
    const ptrdiff_t most_values = (ptrdiff_t)kernel->threads * kernel->most_blocks * MOST_VALUES;
    const ptrdiff_t most_rows = nx < most_values ? most_values / nx : 1;
    const ptrdiff_t rows = ny < most_rows ? ny : most_rows, planes = most_rows / rows;
    enum vf_status status = VF_OK;
    for (ptrdiff_t z = box->low[2]; z < box->high[2] && status == VF_OK; z += planes)
        for (ptrdiff_t y = box->low[1]; y < box->high[1] && status == VF_OK; y += rows) {
            struct box part = {{box->low[0], y, z}, {box->high[0], y + rows, z + planes}};
            for (int axis = 1; axis < 3; axis++)
                if (part.high[axis] > box->high[axis])
                    part.high[axis] = box->high[axis];
            status = launch(kernel, v, &part, out, error);
        }
    return status;
}

/* ---- results ---- */

/* From the order of integers back to the value; reduce.cu's vf_ordered. */
static double unordered(uint64_t ordered, bool is_double)
{
    if (is_double) {
        const uint64_t sign = (uint64_t)1 << 63, bits = ordered & sign ? ordered ^ sign : ~ordered;
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    const uint32_t sign = (uint32_t)1 << 31, narrow = (uint32_t)ordered;
    const uint32_t bits = narrow & sign ? narrow ^ sign : ~narrow;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void add_results(struct vf_reducer *reducer, const uint64_t *result)
{
    switch (reducer->reduction) {
    case VF_REDUCE_PERCENTILE:
        vf_reducer_add_counts(reducer, result);
        break;
    case VF_REDUCE_RANGE:
        if (result[1] != 0)
            vf_reducer_add_extremes(reducer, unordered(~result[0], reducer->is_double),
                                    unordered(result[1], reducer->is_double));
        break;
    default:
        vf_reducer_add_sums(reducer, result[0], (const struct vf_reduce_sums *)(const void *)(result + 1));
    }
}

/* The reducer is as before when this fails. */
static enum vf_status reduce_on_device(const struct values *v, struct vf_reducer *reducer,
                                       struct vf_error *error)
{
    struct kernel kernel;
    struct box box;
    CUdeviceptr out = 0;
    uint64_t *result = NULL;
    enum vf_status status;
    if (!cut(v, reducer, &box))
        return VF_OK;
    VF_TRY(make_kernel(&kernel, v, reducer, error));
    result = vf_alloc(kernel.out_bytes, 1, "a reduction's result", error);
    if (result == NULL)
        return VF_FAILED;
    VF_TRY(vf_cuda_check(&v->cuda->api, vf_cuda_take(v->cuda, &out, kernel.out_bytes),
                         "allocating device memory", error));
    TRY_CUDA(cuMemsetD8Async(out, 0, kernel.out_bytes, v->stream), "clearing memory");
    VF_TRY(launch_all(&kernel, v, &box, out, error));
    TRY_CUDA(cuMemcpyDtoHAsync(result, out, kernel.out_bytes, v->stream), "downloading a reduction");
    TRY_CUDA(cuStreamSynchronize(v->stream), "reducing");
    add_results(reducer, result);
out:
    vf_cuda_give_back(v->cuda, out);
    vf_free(result);
    return status;
}

/* ---- where the device cannot ---- */

/* Plane by plane through host memory, to the reducers that are `left`. */
static enum vf_status reduce_on_host(const struct values *v, struct vf_reducer *reducer, const bool *left,
                                     int count, struct vf_error *error)
{
    const size_t row_bytes = (size_t)v->nx * v->element;
    char *rows = vf_alloc((size_t)v->ny, row_bytes, "a plane", error);
    enum vf_status status = rows != NULL ? VF_OK : VF_FAILED;
    for (ptrdiff_t i = 0; i < v->count && status == VF_OK; i++) {
        const struct vf_planes from = {.device = v->data + (size_t)i * v->plane * v->element,
                                       .row_bytes = row_bytes,
                                       .pitch_bytes = v->pitch * v->element,
                                       .rows = v->ny};
        void *plane = rows;
        VF_TRY(vf_staging_download(v->staging, &from, &plane, 1, error));
        TRY_CUDA(cuStreamSynchronize(v->stream), "downloading");
        for (int r = 0; r < count; r++)
            for (ptrdiff_t y = 0; y < v->ny && left[r]; y++)
                vf_reducer_add(&reducer[r], 0, rows + (size_t)y * row_bytes, v->nx, 0, y, (v->z + i) % v->nz);
    }
out:
    vf_free(rows);
    return status;
}

/* ---- all of a job ---- */

static enum vf_status reduce_sink(struct vf_cuda_sweep *sweep, int k, struct vf_plane_range wanted,
                                  struct vf_reducer *reducer, struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    const int count = job->sink[k].reducer_count;
    const size_t element = vf_type_size(sweep->sink_type[k]);
    const struct values values = {.cuda = sweep->cuda,
                                  .stream = sweep->stream,
                                  .staging = &sweep->staging,
                                  .data = sweep->sink[k] +
                                          (size_t)(wanted.begin - sweep->base) * sweep->plane * element,
                                  .nx = job->nx,
                                  .ny = job->ny,
                                  .nz = job->nz,
                                  .z = wanted.begin,
                                  .count = wanted.end - wanted.begin,
                                  .pitch = sweep->pitch,
                                  .plane = sweep->plane,
                                  .element = element};
    bool left[VF_MAX_GLOBALS], any = false;
    for (int r = 0; r < count; r++) {
        left[r] = reduce_on_device(&values, &reducer[r], error) != VF_OK;
        any = any || left[r];
    }
    return any ? reduce_on_host(&values, reducer, left, count, error) : VF_OK;
}

/* Into reducers of its own first, which are merged when nothing can fail any more. */
enum vf_status vf_cuda_reduce(struct vf_cuda_sweep *sweep, struct vf_plane_range wanted,
                              struct vf_error *error)
{
    const struct vf_job *job = sweep->job;
    enum vf_status status = VF_OK;
    int total = 0, opened = 0, at = 0;
    for (int k = 0; k < job->flow->sink_count; k++)
        total += job->sink[k].reducer_count;
    if (total == 0)
        return VF_OK;
    struct vf_reducer *own = vf_alloc((size_t)total, sizeof *own, "global values", error);
    if (own == NULL)
        return VF_FAILED;
    for (int k = 0; k < job->flow->sink_count; k++)
        for (int r = 0; r < job->sink[k].reducer_count; r++, opened++)
            VF_TRY(vf_reducer_open_like(&own[opened], &job->sink[k].reducer[r], error));
    for (int k = 0; k < job->flow->sink_count; at += job->sink[k++].reducer_count)
        if (job->sink[k].reducer_count > 0)
            VF_TRY(reduce_sink(sweep, k, wanted, &own[at], error));
    at = 0;
    for (int k = 0; k < job->flow->sink_count; k++)
        for (int r = 0; r < job->sink[k].reducer_count; r++)
            vf_reducer_merge(&job->sink[k].reducer[r], &own[at++]);
out:
    while (opened > 0)
        vf_reducer_close(&own[--opened]);
    vf_free(own);
    return status;
}
