/* Taking a file from input to result. work_plan.c has its planning, execute.c and stream.c the computing. */
#include "run.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "cuda_memory.h"
#include "descriptor.h"
#include "execute.h"
#include "interrupt.h"
#include "memory.h"
#include "output_file.h"
#include "progress.h"
#include "stream.h"
#include "work.h"

/* Threads that have enough to do with so many pages: with less, it takes longer to wake them, and to let them
 * spin when they are done, than to do it. */
static int threads_for(const struct vf_work *w, const struct vf_info *info, enum vf_compression compression,
                       size_t pages)
{
    const size_t least = compression == VF_COMPRESS_NONE ? (size_t)512 << 10 : (size_t)128 << 10;
    const size_t samples = pages * info->page_channels * info->shape.nx * info->shape.ny;
    const size_t most = samples * vf_type_size(info->type) / least;
    return most < 1 ? 1 : most < (size_t)w->plan.threads ? (int)most : w->plan.threads;
}

/* Reads or writes some pages at once. */
typedef enum vf_status move_pages(struct vf_work *w, size_t page, size_t count, void **plane,
                                  struct vf_error *error);

/* One that takes a second to read or write. */
#define LONG_PAGE_BYTES ((size_t)128 << 20)

/* All pages of one end, which `what` says; a batch of them goes through all threads at once. */
static enum vf_status move_all(struct vf_work *w, const struct vf_info *info, const struct vf_volume *volume,
                               const char *what, move_pages *move, struct vf_error *error)
{
    struct vf_progress_line line;
    enum vf_status status = VF_OK;
    const size_t all = info->page_count, channels = info->page_channels;
    const size_t batch = vf_info_pages_at_once(info, w->plan.threads);
    void **plane = vf_alloc(batch * channels, sizeof *plane, "pages", error);
    if (plane == NULL)
        return VF_FAILED;
    vf_progress_begin(&line, w->options->progress, what, all);
    if (volume->shape.nx * volume->shape.ny * vf_type_size(volume->type) * channels >= LONG_PAGE_BYTES)
        vf_progress_announce(&line);
    for (size_t page = 0, count; page < all && status == VF_OK; page += count) {
        count = all - page < batch ? all - page : batch;
        for (size_t i = 0; i < count; i++)
            vf_info_page_planes(info, volume, page + i, plane + i * channels);
        status = move(w, page, count, plane, error);
        if (status == VF_OK && vf_interrupted)
            status = vf_fail(error, VF_INTERRUPTED, "interrupted");
        vf_progress_add(&line, status == VF_OK ? count : 0);
    }
    vf_progress_end(&line);
    vf_free(plane);
    return status;
}

static enum vf_status read_pages(struct vf_work *w, size_t page, size_t count, void **plane,
                                 struct vf_error *error)
{
    return vf_reader_read_pages(w->reader, page, count, plane,
                                threads_for(w, w->input, w->input->compression, count), error);
}

static enum vf_status write_pages(struct vf_work *w, size_t page, size_t count, void **plane,
                                  struct vf_error *error)
{
    const int threads = w->format == VF_FORMAT_PNG
                            ? w->png_threads
                            : threads_for(w, &w->result, vf_work_compression(w), count);
    return vf_writer_write_pages(w->writer, page, count, (const void *const *)plane, threads, error);
}

/* A line for the file, and its share of the line for all files. */
struct counting {
    struct vf_progress_line line;
    struct vf_work *work;
    double voxel_bytes;
};

static void count_voxels(void *context, size_t voxels)
{
    struct counting *counting = context;
    struct vf_work *w = counting->work;
    const size_t bytes = (size_t)((double)voxels * counting->voxel_bytes);
    vf_progress_add(&counting->line, voxels);
    if (w->files == NULL)
        return;
    atomic_fetch_add(&w->counted_bytes, bytes);
    vf_progress_add(w->files, bytes);
}

static void begin_counting(struct counting *counting, struct vf_work *w)
{
    const size_t voxels = w->stream.pass_count > 0 ? vf_stream_voxels(&w->stream, &w->plan, w->channels)
                                                   : vf_execute_voxels(&w->plan, w->channels);
    counting->work = w;
    counting->voxel_bytes = (double)w->shown_bytes / (double)voxels;
    vf_progress_begin(&counting->line, w->options->progress, "filtering", voxels);
}

/* Alpha is no measurement: it passes through unchanged. */
static void copy_alpha(struct vf_work *w)
{
    const struct vf_shape *s = &w->in.shape;
    const size_t bytes = s->nx * s->ny * vf_type_size(w->in.type);
    for (size_t t = 0; t < s->nt; t++)
        for (size_t z = 0; z < s->nz; z++)
            memcpy(vf_volume_plane(&w->out, t, w->out.shape.nc - 1, z),
                   vf_volume_plane(&w->in, t, s->nc - 1, z), bytes);
}

static void warn_of_gpu(struct vf_work *w)
{
    if (w->cuda == NULL || !w->cuda->failed || w->session->warned)
        return;
    char note[sizeof w->cuda->failure.text + 64];
    snprintf(note, sizeof note, "the GPU failed and the CPU took over: %s", w->cuda->failure.text);
    vf_work_say(w, w->in_name, note);
    w->session->warned = true;
}

/* What the file leaves of the memory. */
static size_t spare_bytes(const struct vf_work *w)
{
    return w->memory < w->memory_limit ? w->memory_limit - w->memory : 0;
}

static enum vf_status compute(struct vf_work *w, struct vf_error *error)
{
    struct counting counting;
    struct vf_execution execution = {.plan = &w->plan,
                                     .cuda = w->cuda,
                                     .in = &w->in,
                                     .out = &w->out,
                                     .channels = w->channels,
                                     .progress = count_voxels,
                                     .progress_context = &counting,
                                     .team = vf_session_team(w->session),
                                     .value = w->value,
                                     .spare_bytes = spare_bytes(w)};
    begin_counting(&counting, w);
    enum vf_status status = vf_execute(&execution, error);
    vf_progress_end(&counting.line);
    warn_of_gpu(w);
    if (status == VF_OK && w->result.has_alpha)
        copy_alpha(w);
    return status;
}

/* The same with only slabs in memory; all of it at once. */
static enum vf_status stream(struct vf_work *w, struct vf_error *error)
{
    struct counting counting;
    struct vf_stream stream = {.plan = &w->plan,
                               .passes = &w->stream,
                               .ends = vf_work_ends(w),
                               .cuda = w->cuda,
                               .reader = w->reader,
                               .writer = w->writer,
                               .beside = w->out_path,
                               .spare_bytes = spare_bytes(w),
                               .team = vf_session_team(w->session),
                               .value = w->value,
                               .progress = count_voxels,
                               .progress_context = &counting};
    begin_counting(&counting, w);
    const enum vf_status status = vf_stream_run(&stream, error);
    vf_progress_end(&counting.line);
    warn_of_gpu(w);
    w->read_seconds = stream.read_seconds;
    w->compute_seconds = stream.compute_seconds;
    w->write_seconds = stream.write_seconds;
    return status;
}

static const char *filtered_on(const struct vf_work *w)
{
    return w->cuda == NULL ? "CPU" : w->cuda_failed ? "GPU and the CPU" : "GPU";
}

static bool has_zero(const struct vf_work *w, int link, int global)
{
    const size_t values = vf_plan_value_count(&w->plan);
    bool has = false;
    for (size_t c = 0; c < w->channels; c++)
        for (int f = 0; f < vf_plan_live(&w->plan, link); f++)
            has = has || w->value[c * values + vf_plan_value_index(&w->plan, link, f, global)] == 0;
    return has;
}

/* A box that was to hold noise, and holds none. */
static void warn_of_boxes(struct vf_work *w)
{
    char text[200];
    for (int i = 0; i < w->plan.chain->count; i++)
        for (int g = 0; g < w->plan.link[i].global_count; g++) {
            const struct vf_global *global = &w->plan.link[i].global[g];
            if (global->box_size[0] == 0 || !has_zero(w, i, g))
                continue;
            snprintf(text, sizeof text,
                     "%s: %s over the noise box is 0%s: the box has a single value, or no numbers; choose "
                     "one with "
                     "noise",
                     w->plan.chain->link[i].filter->name, global->name,
                     w->channels > 1 ? " for some channel" : "");
            vf_work_say_once(w, w->in_name, text);
        }
}

/* -v: what the pre-passes found, and where the time went. */
static void describe(const struct vf_work *w)
{
    const size_t values = vf_plan_value_count(&w->plan);
    for (size_t c = 0; c < w->channels; c++)
        for (int i = 0; i < w->plan.chain->count; i++)
            for (int f = 0; f < vf_plan_live(&w->plan, i); f++) {
                const char *label = vf_plan_label(&w->plan, i, f);
                for (int g = 0; g < w->plan.link[i].global_count; g++)
                    vf_say("%s: channel %zu%s%s: %s %s = %g", w->in_name, c + 1, label == NULL ? "" : " ",
                           label == NULL ? "" : label, w->plan.chain->link[i].filter->name,
                           w->plan.link[i].global[g].name,
                           w->value[c * values + vf_plan_value_index(&w->plan, i, f, g)]);
            }
    if (w->cuda_replaced > 0)
        vf_say("%s: %d kernel%s of the plan did not compile as expected and %s replaced; the last: %s",
               w->in_name, w->cuda_replaced, w->cuda_replaced == 1 ? "" : "s",
               w->cuda_replaced == 1 ? "was" : "were", w->cuda->replaced);
    if (w->cuda_unkept > 0)
        vf_say("%s: %d compiled kernel%s cannot be kept for the next run: %s%s; set "
               "VOLFILTER_CACHE to a directory of your own",
               w->in_name, w->cuda_unkept, w->cuda_unkept == 1 ? "" : "s",
               w->cuda->cache.path[0] != '\0' ? "nothing can be written into " : "there is no cache",
               w->cuda->cache.path);
    vf_say("%s: read %.3f s, filtered %.3f s on the %s, written %.3f s to %s", w->in_name, w->read_seconds,
           w->compute_seconds, filtered_on(w), w->write_seconds, w->out_name);
}

static void report(const struct vf_work *w, FILE *to)
{
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_json_string(&json, "input", w->in_path);
    vf_json_string(&json, "output", w->out_path);
    vf_json_string(&json, "note", vf_work_notes(w));
    vf_json_number(&json, "read_seconds", w->read_seconds);
    vf_json_number(&json, "compute_seconds", w->compute_seconds);
    vf_json_number(&json, "write_seconds", w->write_seconds);
    vf_json_number(&json, "elapsed_seconds", w->elapsed_seconds);
    if (w->cuda != NULL) {
        vf_json_number(&json, "upload_seconds", w->cuda_seconds[0]);
        vf_json_number(&json, "kernel_seconds", w->cuda_seconds[1]);
        vf_json_number(&json, "download_seconds", w->cuda_seconds[2]);
    }
    vf_json_integer(&json, "threads", w->plan.threads);
    vf_json_integer(&json, "memory_bytes", (long long)w->memory);
    vf_json_integer(&json, "peak_memory_bytes", (long long)vf_memory_peak());
    vf_json_end(&json);
    vf_flush(to);
}

/* ---- from file to file ---- */

/* What the allocator keeps of files, runs and slabs that are done counts too, where three files of the kind
 * would fill the memory. */
static void make_room(const struct vf_work *w)
{
    if (vf_memory_resident() + 3 * vf_work_memory(w) > w->memory_limit)
        vf_memory_be_sparing();
}

enum vf_status vf_work_read(struct vf_work *w, struct vf_error *error)
{
    const double start = vf_now();
    make_room(w);
    if (w->stream.pass_count > 0)
        return VF_OK;
    enum vf_status status = vf_in_file(
        error, vf_volume_alloc(&w->in, w->input->type, &w->input->shape, "the image", error), w->in_name);
    if (status == VF_OK)
        status = move_all(w, w->input, &w->in, "reading", read_pages, error);
    if (status == VF_OK)
        status = vf_reader_finish(w->reader, error);
    w->read_seconds = vf_now() - start;
    return status;
}

static enum vf_status compute_or_stream(struct vf_work *w, struct vf_error *error)
{
    const double start = vf_now();
    const size_t values = vf_plan_value_count(&w->plan) * w->channels + 1;
    w->value = vf_alloc(values, sizeof *w->value, "global values", error);
    if (w->value == NULL)
        return VF_FAILED;
    memset(w->value, 0, values * sizeof *w->value);
    if (w->stream.pass_count > 0)
        return vf_in_file(error, stream(w, error), w->in_name);
    enum vf_status status = vf_volume_alloc(&w->out, w->result.type, &w->result.shape, "the result", error);
    if (status == VF_OK)
        status = compute(w, error);
    vf_volume_free(&w->in);
    w->compute_seconds = vf_now() - start;
    return vf_in_file(error, status, w->in_name);
}

/* Where a GPU was asked for its failure is the user's to get round: messages of VF_DEVICE leave it to this to
 * say how. */
static enum vf_status settle(const struct vf_work *w, enum vf_status status, struct vf_error *error)
{
    if (status != VF_DEVICE)
        return status;
    const size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length, "; %s", vf_work_without_gpu(w->options));
    return VF_FAILED;
}

enum vf_status vf_work_compute(struct vf_work *w, struct vf_error *error)
{
    struct vf_cuda *cuda = w->cuda;
    double before[3];
    make_room(w);
    if (cuda == NULL)
        return compute_or_stream(w, error);
    memcpy(before, cuda->seconds, sizeof before);
    const int replaced = cuda->replaced_count, unkept = cuda->unkept_count;
    cuda->failed = false;
    cuda->coming = (struct vf_cuda_coming){&w->plan, spare_bytes(w)};
    const enum vf_status status = compute_or_stream(w, error);
    for (int i = 0; i < 3; i++)
        w->cuda_seconds[i] = cuda->seconds[i] - before[i];
    w->cuda_replaced = cuda->replaced_count - replaced;
    w->cuda_unkept = cuda->unkept_count - unkept;
    w->cuda_failed = cuda->failed;
    cuda->coming.plan = NULL;
    vf_cuda_free_kept(cuda);
    if (status == VF_DEVICE || cuda->failed)
        vf_session_device_failed(w->session, cuda->failed ? &cuda->failure : error);
    return settle(w, status, error);
}

enum vf_status vf_work_write(struct vf_work *w, struct vf_error *error)
{
    const double start = vf_now();
    enum vf_status status = w->stream.pass_count == 0
                                ? move_all(w, &w->result, &w->out, "writing", write_pages, error)
                                : vf_reader_finish(w->reader, error);
    if (status == VF_OK)
        status = vf_writer_finish(w->writer, error);
    w->write_seconds += vf_now() - start;
    w->elapsed_seconds = vf_now() - w->begun;
    return status;
}

/* Whether the result takes the place of the image. "-" is no name, though a file may have it. */
static bool replaces_input(const struct vf_work *w)
{
    struct stat in, out;
    return strcmp(w->in_path, "-") != 0 && strcmp(w->out_path, "-") != 0 && stat(w->in_path, &in) == 0 &&
           stat(w->out_path, &out) == 0 && vf_is_same_file(&in, &out);
}

/* The result may not take the place of the weights that made it. */
static enum vf_status check_weights_stay(const struct vf_work *w, const struct vf_chain *chain,
                                         struct vf_error *error)
{
    struct stat out, weights;
    if (strcmp(w->out_path, "-") == 0 || stat(w->out_path, &out) != 0)
        return VF_OK;
    for (int i = 0; i < chain->count; i++)
        for (int k = 0; k < chain->link[i].filter->param_count; k++) {
            const struct vf_weights *read = chain->link[i].value[k].weights;
            if (read != NULL && stat(read->path, &weights) == 0 && vf_is_same_file(&out, &weights))
                return vf_fail(error, VF_USAGE,
                               "the result would replace the weights in '%.200s'; name another file",
                               read->path);
        }
    return VF_OK;
}

static enum vf_status tell_whole(void *context, const struct stat *file, struct vf_error *error)
{
    const struct vf_work *w = context;
    const enum vf_status status =
        w->replaces_input ? vf_reader_may_replace(w->reader, w->in_path, error) : VF_OK;
    return status != VF_OK || w->whole == NULL ? status : w->whole(w->whole_context, file, error);
}

static enum vf_status open_work(struct vf_work *w, const struct vf_chain *chain, FILE *explain_to,
                                struct vf_error *error)
{
    const struct vf_options *options = w->options;
    w->replaces_input = replaces_input(w);
    const struct vf_output_options output = {.compression = options->compression,
                                             .no_clobber = options->no_clobber,
                                             .sync = options->sync || w->replaces_input,
                                             .whole = tell_whole,
                                             .context = w};
    enum vf_status status;
    VF_TRY(vf_reader_open(&w->reader, w->in_path, error));
    w->input = vf_reader_info(w->reader);
    VF_TRY(check_weights_stay(w, chain, error));
    if (!vf_format_by_name(w->out_path, &w->format))
        w->format = w->input->format;
    VF_TRY(vf_work_plan(w, chain, error));
    vf_work_warn(w);
    if (options->explain) {
        vf_work_explain(w, explain_to);
        vf_flush(explain_to);
    }
    VF_TRY(vf_work_check(w, error));
    if (!options->dry_run)
        VF_TRY(vf_writer_open(&w->writer, w->out_path, w->format, &w->result, &output, error));
out:
    return status;
}

enum vf_status vf_work_open(struct vf_work **work, const struct vf_chain *chain,
                            const struct vf_options *options, struct vf_session *session, const char *in,
                            const char *out, FILE *explain_to, struct vf_error *error)
{
    struct vf_work *w = *work = vf_alloc(1, sizeof *w, "a file's plan", error);
    if (w == NULL)
        return VF_FAILED;
    *w = (struct vf_work){.options = options,
                          .session = session,
                          .in_path = in,
                          .out_path = out,
                          .in_name = vf_input_name(in),
                          .out_name = vf_output_name(out),
                          .begun = vf_now()};
    vf_session_begin_work(session);
    enum vf_status status = open_work(w, chain, explain_to, error);
    if (status == VF_FAILED)
        status = vf_in_file(error, status, w->in_name);
    if (status != VF_OK) {
        vf_work_close(w);
        *work = NULL;
    }
    return status;
}

size_t vf_work_memory(const struct vf_work *w)
{
    return w->memory - w->base_bytes;
}

double vf_work_disk_bytes(const struct vf_work *w)
{
    struct stat old;
    const double replaced = stat(w->out_path, &old) == 0 ? (double)old.st_size : 0;
    return w->file_bytes > replaced ? w->file_bytes - replaced : 0;
}

/* How many files keep the threads busy. */
static int files_at_once(const struct vf_work *w, const struct vf_info *info, enum vf_compression compression)
{
    const size_t pages = vf_info_pages_at_once(info, w->plan.threads);
    return w->plan.threads / threads_for(w, info, compression, pages);
}

int vf_work_readers(const struct vf_work *w)
{
    const struct vf_info *in = w->input;
    return in->format == VF_FORMAT_PNG ? w->plan.threads : files_at_once(w, in, in->compression);
}

/* Where all threads work on a file they wait for one another at its parts. */
#define LEAST_COMPRESSED 2

/* The system takes a file's bytes from one thread at a time. */
#define MOST_UNCOMPRESSED 4

int vf_work_writers(const struct vf_work *w)
{
    const int threads = w->plan.threads;
    const enum vf_compression compression = vf_work_compression(w);
    if (w->format == VF_FORMAT_PNG)
        return threads / w->png_threads;
    if (compression == VF_COMPRESS_NONE || threads == 1)
        return threads < MOST_UNCOMPRESSED ? threads : MOST_UNCOMPRESSED;
    const int writers = files_at_once(w, &w->result, compression);
    return writers > LEAST_COMPRESSED ? writers : LEAST_COMPRESSED;
}

size_t vf_work_limit(const struct vf_work *w)
{
    return w->memory_limit - w->base_bytes;
}

bool vf_work_reads(const struct vf_work *w, const struct stat *file)
{
    return vf_reader_is_of(w->reader, file);
}

void vf_work_tell_whole(struct vf_work *w, vf_work_whole *whole, void *context)
{
    w->whole = whole;
    w->whole_context = context;
}

void vf_work_tell(struct vf_work *w, FILE *to)
{
    warn_of_boxes(w);
    if (w->options->json && !w->options->explain)
        report(w, to);
    if (w->options->verbose > 0 && !w->options->quiet)
        describe(w);
}

void vf_work_show(struct vf_work *w, struct vf_progress_line *files, size_t bytes)
{
    w->files = files;
    w->shown_bytes = bytes;
}

struct vf_work_times vf_work_times(const struct vf_work *w)
{
    return (struct vf_work_times){w->read_seconds, w->compute_seconds, w->write_seconds};
}

void vf_work_close(struct vf_work *w)
{
    if (w == NULL)
        return;
    const size_t counted = atomic_load(&w->counted_bytes);
    if (w->files != NULL && counted < w->shown_bytes && !vf_interrupted)
        vf_progress_add(w->files, w->shown_bytes - counted);
    vf_session_end_work(w->session);
    vf_writer_close(w->writer);
    vf_volume_free(&w->in);
    vf_volume_free(&w->out);
    vf_free(w->value);
    vf_free(w->chain);
    vf_stream_plan_close(&w->stream);
    vf_plan_close(&w->plan);
    vf_reader_close(w->reader);
    vf_free(w);
}

enum vf_status vf_run_file(const struct vf_chain *chain, const struct vf_options *options,
                           struct vf_session *session, const char *in, const char *out, FILE *explain_to,
                           struct vf_error *error)
{
    struct vf_work *w;
    enum vf_status status = vf_work_open(&w, chain, options, session, in, out, explain_to, error);
    if (status != VF_OK)
        return status;
    if (options->dry_run) {
        status = vf_in_file(error, vf_output_file_try(out, options->no_clobber, error), out);
        goto out;
    }
    VF_TRY(vf_work_read(w, error));
    VF_TRY(vf_work_compute(w, error));
    VF_TRY(vf_work_write(w, error));
    vf_work_tell(w, explain_to);
out:
    vf_work_close(w);
    return status;
}
