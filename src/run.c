#include "run.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "execute.h"
#include "explain.h"
#include "interrupt.h"
#include "kernels/cpu_rows.h"
#include "memory.h"
#include "output_file.h"
#include "progress.h"
#include "stream.h"

/* What the process will hold beside planes and work: threads, libraries' buffers, what the allocator keeps.
 */
#define OVERHEAD_BYTES ((size_t)6 << 20)

/* One file on its way through. */
struct work {
    const struct vf_options *options;
    struct vf_session *session;
    struct vf_cuda *cuda; /* the session's, where the plan is for it */
    const char *in_name, *out_name;
    struct vf_reader *reader;
    struct vf_writer *writer;
    const struct vf_info *input;
    struct vf_info result;
    enum vf_format format;
    struct vf_plan plan;
    const char *label[VF_MAX_LIVE]; /* of each output; NULL for none */
    size_t channels;                /* filtered: all but alpha */
    size_t memory, memory_limit;
    double file_bytes;            /* of the result, as far as it is known before */
    struct vf_stream_plan stream; /* larger than memory: slab is not 0 */
    double least_bytes;           /* what one slab takes, where not even that fits; else 0 */
    struct vf_volume in, out;
    double *value; /* owned: the global values, [channel][vf_plan_value_count] */
    double read_seconds, compute_seconds, write_seconds;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(const struct vf_options *options, const char *name, const char *note)
{
    if (!options->quiet)
        fprintf(stderr, "volfilter: %s: %s\n", name, note);
}

/* One warning of what a file has that is not read, and what its result cannot keep. */
static void warn(const struct work *w)
{
    const struct vf_info *in = w->input;
    const bool images = in->image_stack && !w->options->slices;
    char lost[VF_NOTE_TEXT], note[2 * VF_NOTE_TEXT + 100];
    vf_info_lost(in, &w->result, lost, sizeof lost);
    snprintf(note, sizeof note, "%s%s%s%s%s", in->note, in->note[0] != '\0' && lost[0] != '\0' ? "; " : "",
             lost[0] != '\0' ? "not kept: " : "", lost,
             !images                                  ? ""
             : in->note[0] != '\0' || lost[0] != '\0' ? "; a stack of images: --slices filters each by itself"
                                                      : "a stack of images: --slices filters each by itself");
    if (note[0] != '\0')
        say(w->options, w->in_name, note);
}

/* ---- what is computed ---- */

/* Spacing and aspect: the command line's before the file's, which still holds for an axis that was not given,
 * in the same unit. */
static enum vf_status find_context(const struct work *w, struct vf_context *c, struct vf_error *error)
{
    const struct vf_options *o = w->options;
    const struct vf_info *info = w->input;
    const bool given = o->spacing[0] > 0;
    *c = (struct vf_context){.boundary = o->boundary};
    c->dim = o->slices || info->shape.nz == 1 ? 2 : 3;
    c->is_double = o->precision == VF_PRECISION_DOUBLE ||
                   (o->precision == VF_PRECISION_AUTO &&
                    (info->type == VF_F64 || info->type == VF_U32 || info->type == VF_I32));
    memcpy(c->unit, given && o->spacing_unit[0] != '\0' ? o->spacing_unit : info->unit, sizeof c->unit);
    const bool file_agrees = strcmp(c->unit, info->unit) == 0;
    for (int axis = 0; axis < 3; axis++) {
        const bool own = o->spacing[axis] > 0;
        c->spacing_known[axis] = own || (info->spacing_known[axis] && file_agrees);
        c->spacing[axis] = own ? o->spacing[axis] : info->spacing[axis];
        c->aspect[axis] =
            c->spacing_known[0] && c->spacing_known[axis] ? c->spacing[axis] / c->spacing[0] : 1;
        if (!(c->aspect[axis] >= 1e-4 && c->aspect[axis] <= 1e4))
            return vf_fail(error, VF_USAGE,
                           "%s: voxels of %gx%gx%g are out of proportion; give --spacing XxYxZ", w->in_name,
                           c->spacing[0], c->spacing[1], c->spacing[2]);
    }
    return VF_OK;
}

/* The type of the result: --dtype, else the last filter decides. PNG holds integers only. */
static enum vf_type result_type(const struct work *w, const struct vf_chain *chain)
{
    const struct vf_filter *last = chain->link[chain->count - 1].filter;
    const enum vf_type own = w->input->type;
    if (w->options->dtype_given)
        return w->options->dtype;
    if (last->keeps_type)
        return own;
    if (w->format == VF_FORMAT_PNG && w->input->page_count == 1 && (own == VF_U8 || own == VF_U16)) {
        char note[160];
        snprintf(note, sizeof note,
                 "%s gives float32, PNG holds integers: rounded and saturated to %s (--dtype says "
                 "otherwise; a .tif keeps all)",
                 last->name, vf_type_name(own));
        say(w->options, w->out_name, note);
        return own;
    }
    return VF_F32;
}

/* Whether the first scheme of --scheme is one of the GPU's. */
static bool is_gpu_scheme(const char *text)
{
    const char *name = text;
    const size_t stage = strcspn(text, "=:,");
    if (text[stage] == '=')
        name = text + stage + 1;
    const size_t length = strcspn(name, ":,");
    for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++)
        if (strlen((*scheme)->name) == length && memcmp((*scheme)->name, name, length) == 0)
            return true;
    return false;
}

static double plan_seconds(const struct work *w)
{
    double seconds = 0;
    for (int r = 0; r < w->plan.run_count; r++)
        seconds += w->plan.run[r].seconds * (double)w->channels;
    return seconds;
}

/* Plans for the GPU where that is asked for, or, with `auto`, where it is predicted to be faster; the plan
 * for the CPU is there. A machine without one is told of only when it was asked for. */
static enum vf_status consider_gpu(struct work *w, const struct vf_plan_request *request, size_t bytes,
                                   struct vf_error *error)
{
    const struct vf_options *o = w->options;
    const bool wanted = o->backend == VF_BACKEND_CUDA || (o->scheme != NULL && is_gpu_scheme(o->scheme));
    const double cpu_seconds = wanted ? 0 : plan_seconds(w);
    struct vf_plan_request on_gpu = *request;
    struct vf_plan plan;
    if (o->backend == VF_BACKEND_CPU ||
        (!wanted && (o->scheme != NULL || cpu_seconds <= vf_session_cuda_seconds(w->session, bytes, 0))))
        return VF_OK;
    struct vf_cuda *cuda = vf_session_device(w->session, wanted);
    if (cuda == NULL && wanted)
        return vf_fail(error, VF_FAILED, "%s: %s",
                       o->backend == VF_BACKEND_CUDA ? "--backend cuda" : "--scheme", w->session->why.text);
    if (cuda == NULL)
        return VF_OK;
    on_gpu.gpu = &cuda->gpu;
    enum vf_status status = vf_plan_open(&plan, &on_gpu, error);
    if (status != VF_OK)
        return wanted ? status : VF_OK;
    struct vf_plan on_cpu = w->plan;
    w->plan = plan;
    if (wanted || vf_session_cuda_seconds(w->session, bytes, plan_seconds(w)) < cpu_seconds) {
        w->cuda = cuda;
        vf_plan_close(&on_cpu);
    } else {
        w->plan = on_cpu;
        vf_plan_close(&plan);
    }
    return VF_OK;
}

/* Where the whole does not fit: passes over slabs. */
static enum vf_status consider_slabs(struct work *w, const struct vf_plan_request *request,
                                     struct vf_error *error)
{
    const size_t base = vf_memory_resident() + OVERHEAD_BYTES;
    struct vf_stream_request slabs = {.plan = *request,
                                      .ends = {w->input, &w->result, w->channels},
                                      .bytes = (double)w->memory_limit - (double)base};
    w->memory += base;
    if (w->memory <= w->memory_limit || w->input->format == VF_FORMAT_PNG || w->format == VF_FORMAT_PNG)
        return VF_OK;
    slabs.plan.gpu = w->plan.gpu;
    const enum vf_status status = vf_stream_plan_open(&w->stream, &w->plan, &slabs, error);
    if (status == VF_OK && w->stream.slab > 0)
        w->memory = base + (size_t)w->stream.bytes;
    else if (status == VF_OK)
        w->least_bytes = (double)base + w->stream.needed_bytes;
    return status;
}

static bool is_compressed(const struct work *w)
{
    const enum vf_compression wanted = w->options->compression;
    return w->format == VF_FORMAT_PNG ||
           (w->format == VF_FORMAT_TIFF &&
            (wanted == VF_COMPRESS_AS_INPUT ? w->result.compression : wanted) != VF_COMPRESS_NONE);
}

static enum vf_status make_plan(struct work *w, const struct vf_chain *chain, struct vf_error *error)
{
    const struct vf_options *o = w->options;
    const struct vf_shape *shape = &w->input->shape;
    struct vf_plan_request request = {.chain = chain,
                                      .constant = o->constant,
                                      .nx = (ptrdiff_t)shape->nx,
                                      .ny = (ptrdiff_t)shape->ny,
                                      .nz = o->slices ? 1 : (ptrdiff_t)shape->nz,
                                      .batch = (ptrdiff_t)(o->slices ? shape->nt * shape->nz : shape->nt),
                                      .threads = o->threads > 0 ? o->threads : omp_get_max_threads(),
                                      .source_type = w->input->type,
                                      .result_type = result_type(w, chain),
                                      .scheme = o->scheme};
    const bool gpu_scheme = o->scheme != NULL && is_gpu_scheme(o->scheme);
    enum vf_status status;
    size_t bytes_in, bytes_out;
    VF_TRY(find_context(w, &request.context, error));
    if (gpu_scheme && o->backend == VF_BACKEND_CPU)
        return vf_fail(error, VF_USAGE, "--scheme %s is for the GPU; the CPU has row-stream and reference",
                       o->scheme);
    /* The CPU's plan is what the GPU's is weighed against. */
    if (o->backend == VF_BACKEND_CUDA || gpu_scheme)
        request.scheme = NULL;
    VF_TRY(vf_plan_open(&w->plan, &request, error));
    request.scheme = o->scheme;
    vf_info_for_result(w->input, w->format, request.result_type, (size_t)w->plan.output_count, &w->result);
    for (int k = 0; k < w->plan.output_count; k++)
        w->label[k] = vf_plan_label(&w->plan, k);
    w->result.output_label = w->label;
    w->result.half_floats = w->result.half_floats && !w->options->dtype_given;
    memcpy(w->result.spacing, request.context.spacing, sizeof w->result.spacing);
    memcpy(w->result.spacing_known, request.context.spacing_known, sizeof w->result.spacing_known);
    memcpy(w->result.unit, request.context.unit, sizeof w->result.unit);
    VF_TRY(vf_writer_supports(w->format, &w->result, error));
    if (!vf_volume_bytes(w->input->type, shape, &bytes_in) ||
        !vf_volume_bytes(w->result.type, &w->result.shape, &bytes_out))
        return vf_fail(error, VF_FAILED, "the image or its result overflows a size");
    VF_TRY(consider_gpu(w, &request, bytes_in + bytes_out, error));
    w->memory = bytes_in + bytes_out + w->plan.between_bytes + w->plan.work_bytes;
    w->memory_limit = o->memory > 0 ? o->memory : vf_memory_free() / 4 * 3;
    w->file_bytes = is_compressed(w) ? 0 : (double)bytes_out;
    VF_TRY(consider_slabs(w, &request, error));
out:
    return status;
}

static enum vf_status check_memory(const struct work *w, struct vf_error *error)
{
    const double mib = 1 << 20;
    if (w->memory <= w->memory_limit)
        return VF_OK;
    if (w->least_bytes > 0)
        return vf_fail(error, VF_FAILED,
                       "the thinnest slab of this chain needs %.1f MiB, and %s %.1f MiB; give it that much, "
                       "or filter a smaller piece",
                       ceil(w->least_bytes / mib * 10) / 10,
                       w->options->memory > 0 ? "--memory allows" : "there are",
                       (double)w->memory_limit / mib);
    return vf_fail(error, VF_FAILED,
                   "this chain needs %.1f MiB for the image, its result and the work, and %s %.1f MiB; %s",
                   ceil((double)w->memory / mib * 10) / 10,
                   w->options->memory > 0 ? "--memory allows" : "there are", (double)w->memory_limit / mib,
                   w->options->memory > 0
                       ? "give it more, or filter a smaller piece"
                       : "filter a smaller piece, or raise --memory if swapping is acceptable");
}

static enum vf_status check_disk(const struct work *w, struct vf_error *error)
{
    const double between = w->stream.slab > 0 ? w->stream.temporary_bytes : 0;
    const enum vf_status status = vf_output_room(w->out_name, w->file_bytes, between, error);
    return status == VF_OK ? VF_OK : vf_fail_in(error, status, w->out_name);
}

/* ---- doing it ---- */

static void page_planes(const struct vf_info *info, const struct vf_volume *volume, size_t page, void **plane)
{
    size_t t, z, c;
    vf_info_page_place(info, page, &t, &z, &c);
    for (size_t k = 0; k < info->page_channels; k++)
        plane[k] = vf_volume_plane(volume, t, c + k, z);
}

/* A batch of pages goes through all threads at once. */
static enum vf_status read_input(struct work *w, struct vf_error *error)
{
    struct vf_progress_line line;
    enum vf_status status = VF_OK;
    const size_t all = w->input->page_count, channels = w->input->page_channels;
    const size_t batch = vf_info_pages_at_once(w->input, w->plan.threads);
    void **plane = vf_alloc(batch * channels, sizeof *plane, "pages", error);
    if (plane == NULL)
        return VF_FAILED;
    vf_progress_begin(&line, w->options->progress, "reading", all);
    for (size_t page = 0, count; page < all && status == VF_OK; page += count) {
        count = all - page < batch ? all - page : batch;
        for (size_t i = 0; i < count; i++)
            page_planes(w->input, &w->in, page + i, plane + i * channels);
        status = vf_reader_read_pages(w->reader, page, count, plane, w->plan.threads, error);
        if (status == VF_OK && vf_interrupted)
            status = vf_fail(error, VF_INTERRUPTED, "interrupted");
        vf_progress_add(&line, count);
    }
    vf_progress_end(&line);
    vf_free(plane);
    return status;
}

static enum vf_status write_result(struct work *w, struct vf_error *error)
{
    struct vf_progress_line line;
    enum vf_status status = VF_OK;
    const size_t all = w->result.page_count, channels = w->result.page_channels;
    const size_t batch = vf_info_pages_at_once(&w->result, w->plan.threads);
    void **plane = vf_alloc(batch * channels, sizeof *plane, "pages", error);
    if (plane == NULL)
        return VF_FAILED;
    vf_progress_begin(&line, w->options->progress, "writing", all);
    for (size_t page = 0, count; page < all && status == VF_OK; page += count) {
        count = all - page < batch ? all - page : batch;
        for (size_t i = 0; i < count; i++)
            page_planes(&w->result, &w->out, page + i, plane + i * channels);
        status =
            vf_writer_write_pages(w->writer, page, count, (const void *const *)plane, w->plan.threads, error);
        if (status == VF_OK && vf_interrupted)
            status = vf_fail(error, VF_INTERRUPTED, "interrupted");
        vf_progress_add(&line, count);
    }
    if (status == VF_OK)
        status = vf_writer_finish(w->writer, error);
    vf_progress_end(&line);
    vf_free(plane);
    return status;
}

static void count_voxels(void *line, size_t voxels)
{
    vf_progress_add(line, voxels);
}

/* Alpha is no measurement: it passes through unchanged. */
static void copy_alpha(struct work *w)
{
    const struct vf_shape *s = &w->in.shape;
    const size_t bytes = s->nx * s->ny * vf_type_size(w->in.type);
    for (size_t t = 0; t < s->nt; t++)
        for (size_t z = 0; z < s->nz; z++)
            memcpy(vf_volume_plane(&w->out, t, w->out.shape.nc - 1, z),
                   vf_volume_plane(&w->in, t, s->nc - 1, z), bytes);
}

static void warn_of_gpu(struct work *w)
{
    if (w->cuda == NULL || !w->cuda->failed || w->session->warned)
        return;
    char note[sizeof w->cuda->failure.text + 64];
    snprintf(note, sizeof note, "the GPU failed, the CPU took over: %s", w->cuda->failure.text);
    say(w->options, w->in_name, note);
    w->session->warned = true;
}

static enum vf_status compute(struct work *w, struct vf_error *error)
{
    struct vf_progress_line line;
    struct vf_execution execution = {.plan = &w->plan,
                                     .cuda = w->cuda,
                                     .in = &w->in,
                                     .out = &w->out,
                                     .channels = w->channels,
                                     .progress = count_voxels,
                                     .progress_context = &line,
                                     .stop = &vf_interrupted,
                                     .value = w->value};
    vf_progress_begin(&line, w->options->progress, "filtering", vf_execute_voxels(&w->plan, w->channels));
    enum vf_status status = vf_execute(&execution, error);
    vf_progress_end(&line);
    warn_of_gpu(w);
    if (status == VF_OK && w->result.has_alpha)
        copy_alpha(w);
    return status;
}

/* The same with only slabs in memory; all of it at once. */
static enum vf_status stream(struct work *w, struct vf_error *error)
{
    struct vf_progress_line line;
    struct vf_stream stream = {.plan = &w->plan,
                               .passes = &w->stream,
                               .ends = {w->input, &w->result, w->channels},
                               .cuda = w->cuda,
                               .reader = w->reader,
                               .writer = w->writer,
                               .beside = w->out_name,
                               .value = w->value,
                               .progress = count_voxels,
                               .progress_context = &line,
                               .stop = &vf_interrupted};
    vf_progress_begin(&line, w->options->progress, "filtering", vf_execute_voxels(&w->plan, w->channels));
    enum vf_status status = vf_stream_run(&stream, error);
    vf_progress_end(&line);
    warn_of_gpu(w);
    w->read_seconds = stream.read_seconds;
    w->compute_seconds = stream.compute_seconds;
    const double start = now();
    if (status == VF_OK)
        status = vf_writer_finish(w->writer, error);
    w->write_seconds = stream.write_seconds + now() - start;
    return status;
}

static void explain(const struct work *w, FILE *to)
{
    const struct vf_explained x = {.plan = &w->plan,
                                   .in = w->in_name,
                                   .out = w->out_name,
                                   .input = w->input,
                                   .result = &w->result,
                                   .channels = w->channels,
                                   .stream = w->stream.slab > 0 ? &w->stream : NULL,
                                   .memory = w->memory,
                                   .memory_limit = w->memory_limit};
    if (!w->options->json) {
        vf_explain(&x, to);
        return;
    }
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_explain_json(&x, &json);
    vf_json_end(&json);
}

/* -v: what the pre-passes found, and where the time went. */
static void describe(const struct work *w)
{
    const size_t values = vf_plan_value_count(&w->plan);
    for (size_t c = 0; c < w->channels; c++)
        for (int i = 0; i < w->plan.chain->count; i++)
            for (int f = 0; f < vf_plan_live(&w->plan, i); f++)
                for (int g = 0; g < w->plan.link[i].global_count; g++)
                    fprintf(stderr, "volfilter: %s: channel %zu: %s %s = %g\n", w->in_name, c + 1,
                            w->plan.chain->link[i].filter->name, w->plan.link[i].global[g].name,
                            w->value[c * values + vf_plan_value_index(&w->plan, i, f, g)]);
    fprintf(stderr, "volfilter: %s: read %.3f s, filtered %.3f s, written %.3f s to %s\n", w->in_name,
            w->read_seconds, w->compute_seconds, w->write_seconds, w->out_name);
}

static void report(const struct work *w, FILE *to)
{
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_json_string(&json, "input", w->in_name);
    vf_json_string(&json, "output", w->out_name);
    vf_json_number(&json, "read_seconds", w->read_seconds);
    vf_json_number(&json, "compute_seconds", w->compute_seconds);
    vf_json_number(&json, "write_seconds", w->write_seconds);
    vf_json_integer(&json, "threads", w->plan.threads);
    vf_json_integer(&json, "memory_bytes", (long long)w->memory);
    vf_json_integer(&json, "peak_memory_bytes", (long long)vf_memory_peak());
    vf_json_end(&json);
}

static enum vf_status filter_in_core(struct work *w, struct vf_error *error)
{
    enum vf_status status;
    double start = now();
    VF_TRY(vf_volume_alloc(&w->in, w->input->type, &w->input->shape, "the image", error));
    VF_TRY(read_input(w, error));
    w->read_seconds = now() - start;
    start = now();
    VF_TRY(vf_volume_alloc(&w->out, w->result.type, &w->result.shape, "the result", error));
    VF_TRY(compute(w, error));
    w->compute_seconds = now() - start;
    start = now();
    VF_TRY(write_result(w, error));
    w->write_seconds = now() - start;
out:
    return status;
}

static enum vf_status filter(struct work *w, struct vf_error *error)
{
    const struct vf_output_options output = {w->options->compression, w->options->no_clobber};
    const size_t values = vf_plan_value_count(&w->plan) * w->channels + 1;
    enum vf_status status = vf_writer_open(&w->writer, w->out_name, w->format, &w->result, &output, error);
    if (status != VF_OK)
        return status;
    w->value = vf_alloc(values, sizeof *w->value, "global values", error);
    if (w->value == NULL)
        return VF_FAILED;
    memset(w->value, 0, values * sizeof *w->value);
    return w->stream.slab > 0 ? stream(w, error) : filter_in_core(w, error);
}

enum vf_status vf_run_file(const struct vf_chain *chain, const struct vf_options *options,
                           struct vf_session *session, const char *in, const char *out, FILE *explain_to,
                           struct vf_error *error)
{
    struct work w = {.options = options, .session = session, .in_name = in, .out_name = out};
    enum vf_status status;
    VF_TRY(vf_reader_open(&w.reader, in, error));
    w.input = vf_reader_info(w.reader);
    w.channels = w.input->shape.nc - w.input->has_alpha;
    const char *level = getenv("VOLFILTER_ISA");
    if (level != NULL && strcmp(level, vf_rows_level()) != 0)
        say(options, "VOLFILTER_ISA", "that level is not to be had here; the fastest one is used");
    if (!vf_format_by_name(out, &w.format))
        w.format = w.input->format;
    VF_TRY(make_plan(&w, chain, error));
    if (options->explain)
        explain(&w, explain_to);
    warn(&w);
    VF_TRY(check_memory(&w, error));
    VF_TRY(check_disk(&w, error));
    if (options->dry_run)
        goto out;
    VF_TRY(filter(&w, error));
    if (options->json && !options->explain)
        report(&w, explain_to);
    if (options->verbose > 0 && !options->quiet)
        describe(&w);
out:
    vf_writer_close(w.writer);
    vf_volume_free(&w.in);
    vf_volume_free(&w.out);
    vf_free(w.value);
    vf_stream_plan_close(&w.stream);
    vf_plan_close(&w.plan);
    vf_reader_close(w.reader);
    return status;
}
