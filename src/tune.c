#include "tune.h"

#include <math.h>

#include "alloc.h"
#include "clock.h"
#include "compile_ahead.h"
#include "cuda_sweep.h"
#include "cuda_timer.h"
#include "interrupt.h"
#include "kernel_search.h"
#include "kernel_source.h"
#include "plan.h"
#include "processors.h"

#define SAMPLES 7
/* Kernels that were not measured are taken to be this much faster than predicted, so that near rivals of what
 * was measured are measured too. */
#define UNTUNED 0.8

/* What images are taken to be. */
struct image {
    ptrdiff_t nx, ny, nz;
    enum vf_type type;
    struct vf_context context;
};

static const struct vf_info usual[] = {
    {.shape = {.nx = 512, .ny = 512, .nz = 512}, .type = VF_F32},
    {.shape = {.nx = 512, .ny = 512, .nz = 512}, .type = VF_U16},
    {.shape = {.nx = 8192, .ny = 8192, .nz = 1}, .type = VF_F32},
};
/* Not `mean`, whose lines are a Gaussian's of that width, and `convolve`, whose weights are the user's. */
static const char *const chains[] = {"gaussian:sigma=1",
                                     "gaussian:sigma=2",
                                     "gradient",
                                     "gaussian:sigma=1,gradient",
                                     "perona-malik:iterations=10",
                                     "eed:iterations=2",
                                     "structure-tensor",
                                     "ced:iterations=2",
                                     "and:iterations=2",
                                     "laplacian",
                                     "unsharp",
                                     "dog",
                                     "median",
                                     "hessian",
                                     "srad:iterations=2"};

struct tuner {
    const struct vf_tune_request *request;
    struct vf_cuda *cuda;
    struct vf_tuning *tuning; /* the device's */
    double begun;             /* vf_now */
    FILE *to;
    int measured;             /* kernels */
    char path[PATH_MAX + 16]; /* where they are kept */
};

/* Asked before each kernel: one that is measured in part would count as measured. The first is always. */
static bool is_over(const struct tuner *tuner)
{
    return vf_interrupted || (tuner->request->budget > 0 && tuner->measured > 0 &&
                              vf_now() - tuner->begun > tuner->request->budget);
}

/* ---- arrays ---- */

/* The sources and sinks of a kernel, on the device. */
struct arrays {
    CUdeviceptr source[VF_KERNEL_FIELDS], sink[VF_KERNEL_FIELDS];
};

static void fill_cells(void *cells, size_t count, enum vf_type type)
{
    uint32_t state = 2463534242u;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        const unsigned value = state >> 8 & 127;
        if (type == VF_F32)
            ((float *)cells)[i] = (float)(state >> 8) * 0x1p-17f;
        else if (type == VF_F64)
            ((double *)cells)[i] = state * 0x1p-25;
        else if (vf_type_size(type) == 1)
            ((uint8_t *)cells)[i] = (uint8_t)value;
        else if (vf_type_size(type) == 2)
            ((uint16_t *)cells)[i] = (uint16_t)value;
        else
            ((uint32_t *)cells)[i] = value;
    }
}

/* Noise, as images have it: where nothing changes roots and quotients take other ways. A plane is the one
 * before, a little farther on. */
static enum vf_status fill(struct vf_cuda *cuda, const struct vf_kernel_case *c, enum vf_type type,
                           CUdeviceptr field, struct vf_error *error)
{
    enum { SHIFT = 97, SHIFTS = 64 };
    const size_t count = (size_t)vf_gpu_pitch(c->nx) * (size_t)c->ny, size = vf_type_size(type);
    unsigned char *cells = vf_alloc(count + SHIFT * SHIFTS, size, "a plane", error);
    enum vf_status status = cells == NULL ? VF_FAILED : VF_OK;
    if (cells != NULL)
        fill_cells(cells, count + SHIFT * SHIFTS, type);
    for (ptrdiff_t z = 0; z < c->nz && status == VF_OK; z++)
        status = vf_cuda_check(&cuda->api,
                               cuda->api.cuMemcpyHtoDAsync(field + (size_t)z * count * size,
                                                           cells + (size_t)(z % SHIFTS) * SHIFT * size,
                                                           count * size, NULL),
                               "uploading a plane", error);
    if (status == VF_OK)
        status = vf_cuda_check(&cuda->api, cuda->api.cuStreamSynchronize(NULL), "uploading a plane", error);
    vf_free(cells);
    return status;
}

static void close_arrays(struct vf_cuda *cuda, struct arrays *arrays)
{
    for (int k = 0; k < VF_KERNEL_FIELDS; k++) {
        vf_cuda_field_free(cuda, &arrays->source[k]);
        vf_cuda_field_free(cuda, &arrays->sink[k]);
    }
}

static enum vf_status open_arrays(struct vf_cuda *cuda, const struct vf_kernel_case *c, struct arrays *arrays,
                                  struct vf_error *error)
{
    bool fits = true;
    enum vf_status status = VF_OK;
    *arrays = (struct arrays){0};
    for (int k = 0; k < c->flow->source_count && fits && status == VF_OK; k++)
        status = vf_cuda_field_alloc(cuda, c->nx, c->ny, c->nz, c->source_type[k], &arrays->source[k], &fits,
                                     error);
    for (int k = 0; k < c->flow->sink_count && fits && status == VF_OK; k++)
        status =
            vf_cuda_field_alloc(cuda, c->nx, c->ny, c->nz, c->sink_type[k], &arrays->sink[k], &fits, error);
    if (!fits)
        status = vf_fail(
            error, VF_DEVICE,
            "%s lacks the memory for a kernel's arrays of %tdx%tdx%td; tune for a smaller image (--like)",
            cuda->gpu.name, c->nx, c->ny, c->nz);
    for (int k = 0; k < c->flow->source_count && status == VF_OK; k++)
        status = fill(cuda, c, c->source_type[k], arrays->source[k], error);
    return status;
}

/* ---- a kernel ---- */

static enum vf_status start(void *context, int turn, struct vf_error *error)
{
    (void)turn;
    return vf_cuda_sweep_launch(context, 0, error);
}

/* Seconds of the case by one configuration. */
static enum vf_status time_choice(struct vf_cuda *cuda, const struct vf_kernel_case *c,
                                  const struct arrays *arrays, const struct vf_ranked *choice,
                                  double *seconds, struct vf_error *error)
{
    struct vf_launch launch = {.stage_end = c->flow->stage_count, .choice = *choice, .forced = true};
    const struct vf_gpu_plan plan = {.launch_count = 1, .launch = &launch};
    struct vf_array source[VF_KERNEL_FIELDS], stored[VF_KERNEL_FIELDS];
    struct vf_sink sink[VF_KERNEL_FIELDS] = {0};
    struct vf_cuda_sweep sweep;
    struct vf_plane_range window;
    bool fits;
    enum vf_status status;
    for (int k = 0; k < c->flow->source_count; k++)
        source[k] = (struct vf_array){.type = c->source_type[k], .device = arrays->source[k]};
    for (int k = 0; k < c->flow->sink_count; k++) {
        stored[k] = (struct vf_array){.type = c->sink_type[k], .device = arrays->sink[k]};
        sink[k].array = &stored[k];
    }
    const struct vf_job job = {.flow = c->flow,
                               .nx = c->nx,
                               .ny = c->ny,
                               .nz = c->flow->dim == 2 ? 1 : c->nz,
                               .batch = c->flow->dim == 2 ? c->nz : 1,
                               .z_end = c->flow->dim == 2 ? 1 : c->nz,
                               .source = source,
                               .sink = sink,
                               .threads = 1};
    VF_TRY(vf_cuda_sweep_open(&sweep, cuda, &plan, &job, false, error));
    VF_TRY(vf_cuda_sweep_set_slab(&sweep, sweep.all, &window, error));
    VF_TRY(vf_cuda_sweep_take(&sweep, sweep.planes, &fits, error));
    if (!fits)
        VF_TRY(vf_fail(error, VF_DEVICE, "%s lacks the memory for a kernel", cuda->gpu.name));
    VF_TRY(vf_cuda_time(cuda, sweep.stream, &(struct vf_cuda_work){start, &sweep}, SAMPLES, seconds, error));
out:
    vf_cuda_sweep_close(&sweep);
    return status;
}

static enum vf_status compile_choices(struct vf_cuda *cuda, const struct vf_kernel_case *c,
                                      const struct vf_ranked *choice, int count, struct vf_error *error)
{
    struct vf_kernel_list list = {0};
    enum vf_status status = VF_OK;
    for (int i = 0; i < count && status == VF_OK; i++) {
        struct vf_text text = {0};
        status = vf_kernel_source(c, choice[i].scheme, &choice[i].config, &text, error);
        if (status == VF_OK)
            status = vf_kernel_list_add(&list, text.data, error);
        else
            vf_text_free(&text);
    }
    if (status == VF_OK)
        vf_kernel_list_compile(&list, cuda, SIZE_MAX);
    vf_kernel_list_free(&list);
    return status;
}

/* What a kernel is measured on. */
struct measured {
    struct vf_cuda *cuda;
    const struct vf_kernel_case *c;
    struct arrays arrays;
};

/* vf_search's measure: as many at a time as compile side by side. One that fails, as by needing more than the
 * device has, takes for ever, unless the device is lost with it. */
static enum vf_status time_choices(void *context, const struct vf_ranked *choice, int count, double *seconds,
                                   struct vf_error *error)
{
    const struct measured *m = context;
    const int batch = vf_processors();
    enum vf_status status = VF_OK;
    for (int i = 0; status == VF_OK && i < count && !vf_interrupted;) {
        const int end = count - i < batch ? count : i + batch;
        status = compile_choices(m->cuda, m->c, choice + i, end - i, error);
        for (; status == VF_OK && i < end && !vf_interrupted; i++) {
            seconds[i] = INFINITY;
            if (time_choice(m->cuda, m->c, &m->arrays, &choice[i], &seconds[i], error) != VF_OK)
                status = vf_cuda_is_lost(m->cuda) ? VF_DEVICE : VF_OK;
        }
    }
    return status == VF_OK && vf_interrupted ? vf_fail(error, VF_INTERRUPTED, "interrupted") : status;
}

static enum vf_status measure(struct vf_cuda *cuda, const struct vf_kernel_case *c,
                              const struct vf_launch *planned, struct vf_ranked *best, int *tried,
                              struct vf_error *error)
{
    struct measured m = {.cuda = cuda, .c = c};
    const struct vf_search search = {c, &cuda->gpu, planned, time_choices, &m};
    enum vf_status status = open_arrays(cuda, c, &m.arrays, error);
    if (status == VF_OK)
        status = vf_search_run(&search, best, tried, error);
    if (status == VF_OK && !isfinite(best->seconds))
        status = VF_DEVICE;
    close_arrays(cuda, &m.arrays);
    return status;
}

static void print_choice(const struct tuner *tuner, const struct vf_kernel_case *c,
                         const struct vf_ranked *best, int tried)
{
    struct vf_text name = {0};
    const struct vf_kernel_config config = best->config;
    vf_case_text(c, &name);
    fprintf(tuner->to, "%s\n  %s%s%s block %dx%dx%d work %dx%dx%d", name.data != NULL ? name.data : "",
            best->scheme->name, best->scheme->variants != NULL ? " " : "",
            best->scheme->variants != NULL ? best->scheme->variants[config.variant] : "", config.block[0],
            config.block[1], config.block[2], config.work[0], config.work[1], config.work[2]);
    if (config.stream > 0)
        fprintf(tuner->to, " stream %d", config.stream);
    fprintf(tuner->to, ": %.3f ms, %.2f times a copy; best of %d\n", best->seconds * 1e3,
            best->seconds / vf_case_copy_seconds(c, &tuner->cuda->gpu), tried);
    vf_flush(tuner->to);
    vf_text_free(&name);
}

/* At once, so that nothing that ends the program loses it. */
static enum vf_status keep(struct tuner *tuner, const struct vf_kernel_case *c, const struct vf_ranked *best,
                           struct vf_error *error)
{
    struct vf_error lost;
    enum vf_status status = vf_tuning_set(tuner->tuning, c, &tuner->cuda->gpu, best, error);
    if (status != VF_OK)
        return status;
    status = vf_tuning_save(tuner->tuning, &tuner->cuda->cache, tuner->path, &lost);
    return status == VF_OK ? VF_OK : vf_fail(error, status, "%s: %s", tuner->path, lost.text);
}

/* ---- a chain ---- */

/* Measures the first kernel of the plan that was not; *found tells whether there was one. */
static enum vf_status tune_next(struct tuner *tuner, const struct vf_plan *plan, const struct vf_run *run,
                                const double *value, bool *found, struct vf_error *error)
{
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    struct vf_flow flow;
    enum vf_status status = vf_plan_flow(plan, run, value, &flow, error);
    if (status != VF_OK)
        return status;
    vf_plan_gpu_request(plan, run, &flow, &types, &request);
    for (int i = 0; i < run->gpu.launch_count && !*found && status == VF_OK; i++) {
        const struct vf_launch *launch = &run->gpu.launch[i];
        struct vf_kernel_work work;
        struct vf_ranked best;
        int tried;
        if (launch->choice.its_grid || launch->stage_begin == launch->stage_end)
            continue;
        *found = true;
        status = vf_kernel_work_open(&work, &run->gpu, &request, launch, error);
        if (status != VF_OK)
            break;
        status = measure(tuner->cuda, &work.c, launch, &best, &tried, error);
        if (status == VF_OK)
            status = keep(tuner, &work.c, &best, error);
        if (status == VF_OK) {
            tuner->measured++;
            print_choice(tuner, &work.c, &best, tried);
        }
        vf_kernel_work_close(&work);
    }
    vf_flow_close(&flow);
    return status;
}

/* Measures what the plan chose, plans again with what that gave, until a plan has nothing new. */
static enum vf_status tune_plans(struct tuner *tuner, const struct vf_plan_request *request,
                                 struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (bool found = true; found && status == VF_OK && !is_over(tuner);) {
        struct vf_plan plan;
        found = false;
        status = vf_plan_open(&plan, request, error);
        if (status != VF_OK)
            return status;
        const size_t count = vf_plan_value_count(&plan);
        double *value = vf_alloc(count + 1, sizeof *value, "values", error);
        status = value == NULL ? VF_FAILED : VF_OK;
        for (size_t i = 0; i < count && value != NULL; i++)
            value[i] = 10;
        for (int r = 0; r < plan.run_count && !found && status == VF_OK; r++)
            status = tune_next(tuner, &plan, &plan.run[r], value, &found, error);
        vf_free(value);
        vf_plan_close(&plan);
    }
    return status;
}

static enum vf_status tune_chain(struct tuner *tuner, const char *text, const struct image *image,
                                 struct vf_error *error)
{
    const struct vf_options *o = tuner->request->options;
    struct vf_chain chain = {0};
    struct vf_plan_request request = {.chain = &chain,
                                      .constant = o->constant,
                                      .nx = image->nx,
                                      .ny = image->ny,
                                      .nz = o->slices ? 1 : image->nz,
                                      .batch = o->slices ? image->nz : 1,
                                      .threads = 1,
                                      .gpu = &tuner->cuda->gpu,
                                      .context = image->context,
                                      .source_type = image->type};
    enum vf_status status;
    VF_TRY(vf_chain_append(&chain, text, error));
    request.result_type = o->dtype_given ? o->dtype : vf_chain_float_link(&chain) < 0 ? image->type : VF_F32;
    VF_TRY(tune_plans(tuner, &request, error));
out:
    vf_chain_free(&chain);
    return status;
}

static enum vf_status tune_image(struct tuner *tuner, const struct image *image, struct vf_error *error)
{
    const struct vf_tune_request *r = tuner->request;
    const int count = r->chain_count > 0 ? r->chain_count : (int)(sizeof chains / sizeof *chains);
    enum vf_status status = VF_OK;
    for (int i = 0; i < count && status == VF_OK; i++)
        status = tune_chain(tuner, r->chain_count > 0 ? r->chains[i] : chains[i], image, error);
    return status;
}

static enum vf_status take_image(const struct vf_options *options, const struct vf_info *info,
                                 struct image *image, struct vf_error *error)
{
    *image = (struct image){.nx = (ptrdiff_t)info->shape.nx,
                            .ny = (ptrdiff_t)info->shape.ny,
                            .nz = (ptrdiff_t)info->shape.nz,
                            .type = info->type};
    return vf_context_of(options, info, &image->context, error);
}

static enum vf_status read_image(const struct vf_tune_request *r, struct image *image, struct vf_error *error)
{
    struct vf_reader *reader;
    enum vf_status status = vf_reader_open(&reader, r->like, error);
    if (status == VF_OK) {
        status = take_image(r->options, vf_reader_info(reader), image, error);
        vf_reader_close(reader);
    }
    if (status != VF_OK && vf_interrupted)
        return vf_fail(error, VF_INTERRUPTED, "interrupted");
    return vf_in_file(error, status, r->like);
}

/* Mistakes that can be seen before there is a device. */
static enum vf_status check_chains(const struct vf_tune_request *r, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int i = 0; i < r->chain_count && status == VF_OK; i++) {
        struct vf_chain chain = {0};
        status = vf_chain_append(&chain, r->chains[i], error);
        vf_chain_free(&chain);
    }
    return status;
}

enum vf_status vf_tune(const struct vf_tune_request *request, FILE *to, struct vf_error *error)
{
    struct tuner tuner = {.request = request, .begun = vf_now(), .to = to};
    struct image image;
    enum vf_status status;
    VF_TRY(check_chains(request, error));
    if (request->like != NULL)
        VF_TRY(read_image(request, &image, error));
    VF_TRY(vf_cuda_open(&tuner.cuda, error));
    if (tuner.cuda->gpu.precompiled != NULL)
        VF_TRY(vf_fail(error, VF_FAILED, "there are no kernels to choose from: %.900s",
                       tuner.cuda->precompiled.why.text));
    /* Before measuring, which takes long. */
    VF_TRY(vf_cache_make(&tuner.cuda->cache, error));
    tuner.tuning = &tuner.cuda->tuning;
    tuner.tuning->untuned = UNTUNED;
    if (request->like != NULL)
        VF_TRY(tune_image(&tuner, &image, error));
    for (size_t i = 0; request->like == NULL && i < sizeof usual / sizeof *usual; i++) {
        VF_TRY(take_image(request->options, &usual[i], &image, error));
        VF_TRY(tune_image(&tuner, &image, error));
    }
out:
    if (tuner.measured > 0)
        fprintf(to, "%d kernel%s measured, recorded in %s\n", tuner.measured, tuner.measured == 1 ? "" : "s",
                tuner.path);
    else if (status == VF_OK && !vf_interrupted)
        fprintf(to, "nothing new to measure\n");
    vf_cuda_close(tuner.cuda);
    if (status == VF_DEVICE) /* there is nothing else to measure on */
        status = VF_FAILED;
    return status == VF_OK && vf_interrupted ? vf_fail(error, VF_INTERRUPTED, "interrupted") : status;
}
