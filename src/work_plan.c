/* Plans a file of vf_work: what its result is, CPU or GPU, whether in slabs, and whether there is room
 * for it. */
#include "work.h"

#include <math.h>
#include <string.h>

#include "compile_ahead.h"
#include "cuda_transfer.h"
#include "execute.h"
#include "memory.h"
#include "number.h"
#include "output_file.h"
#include "size.h"

/* What the process will hold beside planes and work: threads, libraries' buffers, what the allocator keeps.
 */
#define OVERHEAD_BYTES ((size_t)6 << 20)

/* Voxels that are longer or shorter along an axis than along x by more are a mistake. */
#define MOST_ASPECT 1e4

/* ---- what is computed ---- */

static bool is_double(const struct vf_options *options, enum vf_type type)
{
    return options->precision == VF_PRECISION_DOUBLE ||
           (options->precision == VF_PRECISION_AUTO && (type == VF_F64 || type == VF_U32 || type == VF_I32));
}

/* How many of the unit `to` make one of `from`; 0 when that is not known. */
static double unit_ratio(const char *from, const char *to)
{
    const double divisor = vf_unit_nanometres(to);
    return strcmp(from, to) == 0 ? 1 : divisor > 0 ? vf_unit_nanometres(from) / divisor : 0;
}

/* Spacings are equal that differ by no more than this: MRC holds the length of a whole axis as a float,
 * ImageJ six decimals of a voxel's inverse. Cubic voxels have kernels of their own, some of which come
 * with the program. */
#define ROUNDED 1e-5

enum vf_status vf_context_of(const struct vf_options *o, const struct vf_info *info, struct vf_context *c,
                             struct vf_error *error)
{
    *c = (struct vf_context){.boundary = o->boundary};
    c->dim = o->slices || info->shape.nz == 1 ? 2 : 3;
    c->is_double = is_double(o, info->type);
    c->may_be_double = o->precision == VF_PRECISION_AUTO;
    /* What --spacing says without a unit of an MRC is in angstroms, as its header and vf_info_print are. */
    const bool in_angstroms =
        info->format == VF_FORMAT_MRC && o->spacing[0] > 0 && o->spacing_unit[0] == '\0';
    const double own_size = in_angstroms ? vf_unit_nanometres("A") : 1;
    const char *own_unit = in_angstroms ? "nm" : o->spacing_unit;
    snprintf(c->unit, sizeof c->unit, "%s", own_unit[0] != '\0' ? own_unit : info->unit);
    const double ratio = unit_ratio(info->unit, c->unit);
    for (int axis = 0; axis < 3; axis++) {
        const bool own = o->spacing[axis] > 0;
        c->spacing_known[axis] = own || (info->spacing_known[axis] && ratio > 0);
        c->spacing[axis] = own ? o->spacing[axis] * own_size : info->spacing[axis] * ratio;
        if (fabs(c->spacing[axis] - c->spacing[0]) <= ROUNDED * c->spacing[0])
            c->spacing[axis] = c->spacing[0];
        c->aspect[axis] = axis < c->dim && c->spacing_known[0] && c->spacing_known[axis]
                              ? c->spacing[axis] / c->spacing[0]
                              : 1;
        if (!(c->aspect[axis] >= 1 / MOST_ASPECT && c->aspect[axis] <= MOST_ASPECT))
            return vf_fail(error, VF_USAGE,
                           "voxels %g times as long along %c as along x are implausible; give a voxel size "
                           "within a factor of %g by --spacing XxYxZ",
                           c->aspect[axis], "xyz"[axis], MOST_ASPECT);
    }
    return VF_OK;
}

/* The type of the result: --dtype, else the filters decide. PNG holds integers only (warn_of_rounding). */
static enum vf_type result_type(const struct vf_work *w, const struct vf_chain *chain)
{
    const enum vf_type own = w->input->type;
    if (w->options->dtype_given)
        return w->options->dtype;
    if (vf_chain_float_link(chain) < 0)
        return own;
    return w->format == VF_FORMAT_PNG && w->input->page_count == 1 && (own == VF_U8 || own == VF_U16)
               ? own
               : VF_F32;
}

/* Whether the first scheme of --scheme is one of the GPU's. */
static bool is_gpu_scheme(const char *text)
{
    const char *name = text;
    const size_t stage = strcspn(text, "=:,");
    if (text[stage] == '=')
        name = text + stage + 1;
    return vf_gpu_scheme(name, strcspn(name, ":,")) != NULL;
}

/* All but alpha. */
static size_t filtered_channels(const struct vf_work *w)
{
    return w->input->shape.nc - w->input->has_alpha;
}

static double plan_seconds(const struct vf_work *w)
{
    double seconds = 0;
    for (int r = 0; r < w->plan.run_count; r++)
        seconds += w->plan.run[r].seconds * (double)w->channels;
    return seconds;
}

static bool asks_for_gpu(const struct vf_options *o)
{
    return o->backend == VF_BACKEND_CUDA || (o->scheme != NULL && is_gpu_scheme(o->scheme));
}

const char *vf_work_without_gpu(const struct vf_options *options)
{
    return options->scheme != NULL && is_gpu_scheme(options->scheme)
               ? "use --backend cpu, without --scheme, to run without a GPU"
               : "use --backend cpu to run without a GPU";
}

static enum vf_status fail_without_gpu(const struct vf_options *o, const struct vf_session *session,
                                       struct vf_error *error)
{
    return vf_fail(error, VF_FAILED, "%s: %s; %s",
                   o->backend == VF_BACKEND_CUDA ? "--backend cuda" : "--scheme", session->why.text,
                   vf_work_without_gpu(o));
}

enum vf_status vf_work_check_options(const struct vf_options *o, struct vf_error *error)
{
    char names[64];
    const bool on_gpu = asks_for_gpu(o);
    if (on_gpu && o->backend == VF_BACKEND_CPU)
        return vf_fail(error, VF_USAGE, "--scheme %s is for the GPU; the CPU has %s", o->scheme,
                       vf_cpu_scheme_names(names, sizeof names));
    return vf_plan_check_scheme(o->scheme, on_gpu, error);
}

enum vf_status vf_work_check_gpu(const struct vf_options *o, struct vf_session *session,
                                 struct vf_error *error)
{
    return asks_for_gpu(o) && vf_session_device(session, true) == NULL ? fail_without_gpu(o, session, error)
                                                                       : VF_OK;
}

/* A file's share of the seconds that compiling for the plan takes. */
static double compile_share(const struct vf_work *w, const struct vf_cuda *cuda)
{
    return vf_plan_compile_seconds(&w->plan, cuda) / w->session->files;
}

/* Seconds of the plan, which is for a GPU. */
static double seconds_on_gpu(const struct vf_work *w, const struct vf_cuda *cuda, size_t bytes)
{
    return vf_session_cuda_seconds(w->session, bytes, plan_seconds(w) + compile_share(w, cuda));
}

/* Whether some GPU, however fast, could take less. Before the driver is started nothing else is known of the
 * device, but an empty cache has no kernels for any; small images do not wait for a look at it. */
static bool may_be_faster(const struct vf_work *w, size_t bytes, double cpu_seconds)
{
    const struct vf_session *session = w->session;
    return cpu_seconds > vf_session_cuda_seconds(session, bytes, 0) &&
           (session->tried || cpu_seconds > vf_session_cuda_seconds(
                                                session, bytes, vf_least_compile_seconds() / session->files));
}

/* Whether a plan for the GPU is predicted to be faster than the CPU's; then it is the file's. */
static bool plan_on_gpu(struct vf_work *w, const struct vf_plan_request *request, struct vf_cuda *cuda,
                        size_t bytes, double cpu_seconds)
{
    struct vf_plan_request on_gpu = *request;
    struct vf_error ignored;
    on_gpu.gpu = &cuda->gpu;
    if (vf_plan_open(&w->plan, &on_gpu, &ignored) == VF_OK && w->plan.has_room &&
        seconds_on_gpu(w, cuda, bytes) < cpu_seconds)
        return true;
    vf_plan_close(&w->plan);
    return false;
}

/* Where there is a GPU that cannot be used. */
static void warn_of_no_gpu(struct vf_work *w)
{
    char note[sizeof w->session->why.text + 64];
    if (w->session->found != VF_DEVICE || w->session->warned)
        return;
    snprintf(note, sizeof note, "the GPU is not used: %s", w->session->why.text);
    vf_work_say(w, w->in_name, note);
    w->session->warned = true;
}

/* Where that is why the GPU, for which there was a faster plan, is not used. */
static void warn_of_held_memory(struct vf_work *w, const struct vf_gpu *gpu)
{
    char note[160];
    if (gpu->free_memory == gpu->memory)
        return;
    snprintf(note, sizeof note, "the GPU is not used: others hold its memory, all but %.1f MiB of %.1f MiB",
             vf_mib((double)gpu->free_memory), vf_mib((double)gpu->memory));
    vf_work_say_once(w, w->in_name, note);
}

/* Plans for a GPU, too, and takes that plan where it is predicted to be faster than the CPU's, which is
 * there. The driver is not started where the CPU is faster than any GPU would be, nor the device opened,
 * which takes as long again, before its plan is known to be faster. Where there is no GPU nothing is said of
 * it. */
static void consider_gpu(struct vf_work *w, const struct vf_plan_request *request, size_t bytes)
{
    const double cpu_seconds = plan_seconds(w);
    struct vf_plan on_cpu = w->plan;
    if (!may_be_faster(w, bytes, cpu_seconds))
        return;
    struct vf_cuda *cuda = vf_session_device(w->session, false);
    bool taken = cuda != NULL && plan_on_gpu(w, request, cuda, bytes, cpu_seconds);
    if (taken) {
        bool as_planned;
        cuda = vf_session_start_device(w->session, &as_planned);
        if (cuda == NULL || !as_planned) {
            vf_plan_close(&w->plan);
            taken = cuda != NULL && plan_on_gpu(w, request, cuda, bytes, cpu_seconds);
            if (cuda != NULL && !taken)
                warn_of_held_memory(w, &cuda->gpu);
        }
    }
    warn_of_no_gpu(w);
    if (taken) {
        w->cuda = cuda;
        vf_plan_close(&on_cpu);
    } else
        w->plan = on_cpu;
}

/* What a GPU takes of host memory: its transfers go through some, and the compiler has not been loaded yet.
 */
static size_t gpu_bytes(const struct vf_work *w)
{
    const struct vf_plan *plan = &w->plan;
    const double all = (double)plan->nx * (double)plan->ny * (double)vf_stream_extent(plan) * sizeof(double);
    if (w->cuda == NULL)
        return 0;
    return (all < (double)VF_STAGING_MOST ? (size_t)all : VF_STAGING_MOST) +
           (w->cuda->has_nvrtc ? 0 : VF_COMPILER_BYTES);
}

/* Reading all, filtering it, writing it. */
static double whole_seconds(const struct vf_work *w, size_t bytes)
{
    const bool on_gpu = w->plan.gpu != NULL;
    const double files = vf_stream_file_seconds((double)bytes, !on_gpu);
    return files + (on_gpu ? vf_session_cuda_seconds(w->session, bytes, plan_seconds(w))
                           : vf_stream_memory_seconds((double)w->memory) + plan_seconds(w));
}

struct vf_stream_ends vf_work_ends(const struct vf_work *w)
{
    const bool apart = w->channels_apart;
    return (struct vf_stream_ends){.input = apart ? &w->images_in : w->input,
                                   .result = apart ? &w->images_out : &w->result,
                                   .channels = w->channels,
                                   .read_block = vf_reader_row_block(w->reader),
                                   .write_block = vf_writer_row_block(w->format, &w->result)};
}

/* Whether an image can go through memory by rows: on the CPU, one plane, in files that are read and written
 * so.
 */
static bool can_go_by_rows(const struct vf_work *w)
{
    const struct vf_plan *plan = &w->plan;
    return plan->gpu == NULL && plan->context.dim == 2 && plan->nz * plan->batch == 1 &&
           plan->scheme == &vf_cpu_row_stream && !w->result.has_alpha && vf_reader_row_block(w->reader) > 0 &&
           vf_writer_row_block(w->format, &w->result) > 0;
}

/* Whether the scheme that was asked for takes images as a whole. */
static bool needs_whole(const struct vf_work *w)
{
    return w->plan.gpu == NULL && w->plan.scheme->whole;
}

/* ---- channels as images of their own ---- */

/* Whether each channel of a plane can be an image of its own, as a time point is: then slabs hold some
 * channels, not all. Pages follow each other in that order, and no value is of a whole channel. */
static bool can_take_apart(const struct vf_work *w)
{
    const struct vf_info *in = w->input, *out = &w->result;
    bool has_values = false;
    for (int r = 0; r < w->plan.run_count; r++)
        has_values = has_values || w->plan.run[r].prepass;
    return in->shape.nz == 1 && in->shape.nc > 1 && !in->has_alpha && in->page_channels == 1 &&
           (out->page_channels == 1 || out->page_channels == out->outputs) && !has_values;
}

static struct vf_info of_images(const struct vf_info *info, size_t channels)
{
    struct vf_info images = *info;
    images.shape.nt *= info->shape.nc / channels;
    images.shape.nc = channels;
    return images;
}

/* Plans anew with channels apart, or together. `request` is for the latter, and gets what was planned for. */
static enum vf_status set_channels(struct vf_work *w, bool apart, struct vf_plan_request *request,
                                   struct vf_error *error)
{
    w->channels_apart = apart;
    w->channels = apart ? 1 : filtered_channels(w);
    if (apart) {
        w->images_in = of_images(w->input, 1);
        w->images_out = of_images(&w->result, (size_t)w->plan.output_count);
        request->batch *= (ptrdiff_t)filtered_channels(w);
    }
    vf_plan_close(&w->plan);
    return vf_plan_open(&w->plan, request, error);
}

/* ---- slabs ---- */

/* Less than this is filtered whole before it is planned otherwise. */
#define WORTH_SLABS_BYTES ((size_t)192 << 20)

/* What would fit goes by slabs too if that is faster: a file is read, filtered and written at the same time,
 * and little memory is new to the process. The files of a batch do so beside each other; who forces a scheme
 * has it on the whole. */
static bool may_gain(const struct vf_work *w, size_t bytes)
{
    return w->session->files == 1 &&
           (w->plan.gpu != NULL || (w->options->scheme == NULL && bytes >= WORTH_SLABS_BYTES));
}

/* What writing takes beside the image and its result; plan_png is for a PNG. */
static size_t writing_bytes(const struct vf_work *w, int threads)
{
    struct vf_info result = w->result;
    result.compression = vf_work_compression(w);
    return w->format == VF_FORMAT_PNG ? 0 : vf_writer_bytes(w->format, &result, threads);
}

/* Where the whole does not fit, and where that is faster: passes over slabs. */
static enum vf_status consider_slabs(struct vf_work *w, const struct vf_plan_request *request, size_t bytes,
                                     struct vf_error *error)
{
    /* A GPU that was opened meanwhile holds memory too. */
    const size_t now = w->session->works == 1 ? vf_memory_resident() : 0;
    const size_t base =
        (now > w->session->base_bytes ? now : w->session->base_bytes) + OVERHEAD_BYTES + gpu_bytes(w);
    const size_t reading = vf_reader_bytes(w->reader, request->threads);
    const size_t writing = writing_bytes(w, request->threads), tables = vf_execute_table_bytes(&w->plan);
    const size_t coding = reading + writing;
    /* The whole is written when it is computed. */
    w->memory += reading + (writing > tables ? writing : tables);
    const bool fits = w->memory + base <= w->memory_limit;
    const double seconds = whole_seconds(w, bytes);
    struct vf_stream_request slabs = {.plan = *request,
                                      .ends = vf_work_ends(w),
                                      .bytes = (double)w->memory_limit - (double)(base + coding),
                                      .cached = fits && w->plan.gpu == NULL};
    w->base_bytes = base;
    w->memory += base;
    if ((fits && !may_gain(w, bytes)) || w->input->format == VF_FORMAT_PNG || w->format == VF_FORMAT_PNG ||
        (needs_whole(w) && w->plan.context.dim == 3))
        return VF_OK;
    slabs.plan.gpu = w->plan.gpu;
    struct vf_plan_request whole = slabs.plan;
    enum vf_status status = VF_OK;
    if (can_take_apart(w)) {
        status = set_channels(w, true, &slabs.plan, error);
        slabs.ends = vf_work_ends(w);
    }
    if (status != VF_OK)
        return status;
    w->plan.by_rows = can_go_by_rows(w);
    status = vf_stream_plan_open(&w->stream, &w->plan, &slabs, error);
    const bool better =
        w->stream.pass_count > 0 && w->stream.temporary_bytes == 0 && w->stream.seconds <= seconds;
    if (status == VF_OK && fits && !better) {
        vf_stream_plan_close(&w->stream);
        /* One for the CPU has the slabs' tiles. */
        return w->plan.gpu != NULL && !w->channels_apart ? VF_OK : set_channels(w, false, &whole, error);
    }
    w->overlapped = fits;
    if (status == VF_OK && w->stream.pass_count > 0)
        w->memory = base + coding + (size_t)w->stream.bytes;
    else if (status == VF_OK)
        w->least_bytes = (double)(base + coding) + w->stream.needed_bytes;
    return status;
}

/* As many threads compress a PNG as it has bands for, and memory allows. */
static void plan_png(struct vf_work *w, size_t bytes)
{
    const size_t bands = bytes >> 20;
    w->png_threads = bands < (size_t)w->plan.threads ? (int)bands + 1 : w->plan.threads;
    while (w->png_threads > 1 &&
           w->memory + vf_writer_bytes(w->format, &w->result, w->png_threads) > w->memory_limit)
        w->png_threads--;
    w->memory += vf_writer_bytes(w->format, &w->result, w->png_threads);
}

/* Long texts are held several times over while a file is opened. Of a batch earlier files had their part in
 * the peak. */
static void count_opening(struct vf_work *w)
{
    const size_t peak = w->session->files == 1 && w->session->works == 1 ? vf_memory_peak() : 0;
    if (w->memory < peak)
        w->memory = peak;
    if (w->least_bytes > 0 && w->least_bytes < (double)peak)
        w->least_bytes = (double)peak;
}

enum vf_compression vf_work_compression(const struct vf_work *w)
{
    const enum vf_compression wanted = w->options->compression;
    return wanted == VF_COMPRESS_AS_INPUT || w->format != VF_FORMAT_TIFF ? w->result.compression : wanted;
}

/* What the result is, with its channels' labels and the chain's text. */
static enum vf_status plan_result(struct vf_work *w, const struct vf_plan_request *request,
                                  struct vf_error *error)
{
    const struct vf_options *o = w->options;
    const struct vf_context *c = &request->context;
    struct vf_info input = *w->input;
    /* Sizes without a unit do not replace those that have one. */
    if (o->spacing_unit[0] != '\0' || input.unit[0] == '\0') {
        memcpy(input.spacing, c->spacing, sizeof input.spacing);
        memcpy(input.spacing_known, c->spacing_known, sizeof input.spacing_known);
        memcpy(input.unit, c->unit, sizeof input.unit);
    }
    vf_info_for_result(&input, w->format, request->result_type, (size_t)w->plan.output_count, &w->result);
    for (int k = 0; k < w->plan.output_count; k++)
        w->label[k] = vf_plan_label(&w->plan, w->plan.chain->count, k);
    w->result.output_label = w->label;
    /* Planes whose distance is known are a volume's, however they were filtered; one spacing for all axes
     * says nothing of it. */
    const bool is_volume =
        w->input->spacing_known[2] || (o->spacing[2] > 0 && o->spacing[2] != o->spacing[0]);
    if (w->format == VF_FORMAT_MRC && o->slices && w->result.shape.nt == 1 && !is_volume)
        w->result.image_stack = true;
    w->result.derived = vf_chain_float_link(request->chain) >= 0;
    w->result.half_floats = w->result.half_floats && !o->dtype_given && !w->result.derived;
    w->result.chain = w->chain = vf_chain_given_text(request->chain, error);
    if (w->chain == NULL)
        return VF_FAILED;
    return vf_in_file(error, vf_writer_supports(w->format, &w->result, o->compression, error), w->out_name);
}

/* The memory that the plan takes, whole or in slabs. */
static enum vf_status plan_memory(struct vf_work *w, const struct vf_plan_request *request, size_t bytes,
                                  struct vf_error *error)
{
    if (!vf_size_add(bytes, w->plan.between_bytes, &w->memory) ||
        !vf_size_add(w->memory, w->plan.work_bytes, &w->memory))
        return vf_fail(error, VF_FAILED,
                       "what this chain holds is too large to address, or there is no memory to plan it");
    w->least_bytes = 0;
    return consider_slabs(w, request, bytes, error);
}

/* ---- where the whole does not fit ---- */

/* With the GPU's start, and kernels that are compiled first; what there is no memory for takes for ever. */
static double way_seconds(const struct vf_work *w, size_t bytes)
{
    if (w->memory > w->memory_limit)
        return INFINITY;
    if (w->stream.pass_count == 0)
        return whole_seconds(w, bytes);
    if (w->cuda == NULL)
        return w->stream.seconds;
    return w->stream.seconds + vf_session_cuda_seconds(w->session, 0, compile_share(w, w->cuda));
}

/* The backend that was not chosen for the whole; false: there is none. */
static bool other_backend(struct vf_work *w, double seconds, struct vf_cuda **cuda)
{
    *cuda = NULL;
    if (w->cuda != NULL)
        return true;
    if (!w->plan.by_rows && may_be_faster(w, 0, seconds))
        *cuda = vf_session_device(w->session, false);
    return *cuda != NULL;
}

/* What was chosen for the whole may take long in slabs, or not have the memory for any: where the whole does
 * not fit, the other backend's plan is weighed too. */
static void weigh_in_slabs(struct vf_work *w, const struct vf_plan_request *request, size_t bytes)
{
    const double seconds = way_seconds(w, bytes);
    const double whole = (double)w->memory;
    const double needed = w->least_bytes > 0 && w->least_bytes < whole ? w->least_bytes : whole;
    struct vf_plan_request changed = *request;
    struct vf_error ignored;
    struct vf_cuda *cuda;
    char note[120];
    if (!other_backend(w, seconds, &cuda))
        return;
    changed.gpu = cuda == NULL ? NULL : &cuda->gpu;
    struct vf_work other = *w; /* the way that is not taken, in the end */
    w->cuda = cuda;
    w->plan = (struct vf_plan){0};
    w->stream = (struct vf_stream_plan){0};
    w->overlapped = w->channels_apart = false;
    w->channels = filtered_channels(w);
    bool taken = vf_plan_open(&w->plan, &changed, &ignored) == VF_OK && w->plan.has_room &&
                 plan_memory(w, &changed, bytes, &ignored) == VF_OK;
    /* The CPU needs less. */
    taken = taken && (way_seconds(w, bytes) < seconds || (cuda == NULL && isinf(seconds)));
    bool as_planned = true;
    if (taken && cuda != NULL)
        taken = vf_session_start_device(w->session, &as_planned) != NULL && as_planned;
    if (!taken) {
        const struct vf_work first = other;
        other = *w;
        *w = first;
    }
    warn_of_no_gpu(w);
    vf_stream_plan_close(&other.stream);
    vf_plan_close(&other.plan);
    if (taken && cuda == NULL && isinf(seconds) && w->memory <= w->memory_limit) {
        snprintf(note, sizeof note,
                 "the GPU is not used: it needs %.0f MiB of memory for this chain, of %.1f MiB",
                 ceil(vf_mib(needed)), vf_mib((double)w->memory_limit));
        vf_work_say_once(w, w->in_name, note);
    }
}

enum vf_status vf_work_plan(struct vf_work *w, const struct vf_chain *chain, struct vf_error *error)
{
    const struct vf_options *o = w->options;
    const struct vf_shape *shape = &w->input->shape;
    struct vf_plan_request request = {.chain = chain,
                                      .constant = o->constant,
                                      .nx = (ptrdiff_t)shape->nx,
                                      .ny = (ptrdiff_t)shape->ny,
                                      .nz = o->slices ? 1 : (ptrdiff_t)shape->nz,
                                      .batch = (ptrdiff_t)(o->slices ? shape->nt * shape->nz : shape->nt),
                                      .threads = o->threads > 0 ? o->threads : w->session->processors,
                                      .source_type = w->input->type,
                                      .result_type = result_type(w, chain),
                                      .scheme = o->scheme,
                                      .memory = &w->session->plans};
    enum vf_status status;
    size_t bytes_in, bytes_out;
    bool as_planned;
    w->channels = filtered_channels(w);
    VF_TRY(vf_in_file(error, vf_context_of(o, w->input, &request.context, error), w->in_name));
    VF_TRY(vf_work_check_gpu(o, w->session, error));
    if (asks_for_gpu(o)) {
        w->cuda = vf_session_start_device(w->session, &as_planned);
        if (w->cuda == NULL)
            return fail_without_gpu(o, w->session, error);
        request.gpu = &w->cuda->gpu;
    }
    VF_TRY(vf_in_file(error, vf_plan_open(&w->plan, &request, error), w->in_name));
    VF_TRY(plan_result(w, &request, error));
    if (!vf_volume_bytes(w->input->type, shape, &bytes_in) ||
        !vf_volume_bytes(w->result.type, &w->result.shape, &bytes_out))
        return vf_fail(error, VF_FAILED, "the image or its result is too large to address");
    w->memory_limit = o->memory > 0 ? o->memory : w->session->free_bytes / 4 * 3;
    /* What can only go by rows is for the CPU. */
    if (w->cuda == NULL && o->backend == VF_BACKEND_AUTO && o->scheme == NULL &&
        (bytes_in + bytes_out <= w->memory_limit || !can_go_by_rows(w)))
        consider_gpu(w, &request, bytes_in + bytes_out);
    w->file_bytes = vf_work_compression(w) != VF_COMPRESS_NONE ? 0 : (double)bytes_out;
    VF_TRY(plan_memory(w, &request, bytes_in + bytes_out, error));
    if (o->backend == VF_BACKEND_AUTO && o->scheme == NULL &&
        (w->memory > w->memory_limit || (w->stream.pass_count > 0 && !w->overlapped)))
        weigh_in_slabs(w, &request, bytes_in + bytes_out);
    if (w->format == VF_FORMAT_PNG)
        plan_png(w, bytes_out);
    count_opening(w);
out:
    return status;
}

/* What takes less memory: of a single plane files that go by rows, which one strip or tile does not. */
static const char *way_to_less(const struct vf_work *w)
{
    const struct vf_info *input = w->input;
    const bool is_plane = w->plan.gpu == NULL && input->page_count == 1 && w->result.page_count == 1 &&
                          input->shape.ny > 16 && !w->result.has_alpha;
    const bool is_strile = is_plane && vf_reader_row_block(w->reader) >= input->shape.ny;
    if (needs_whole(w))
        return "leave out --scheme, since this one takes images as a whole";
    if (is_plane && (input->format != VF_FORMAT_TIFF || w->format != VF_FORMAT_TIFF))
        return is_strile ? "use TIFF for the result too, and store the image in strips of few rows, so that "
                           "they go by rows: tiffcp -s -r 16 IN.tif OUT.tif"
                         : "use TIFF for the image and the result, so that they go by rows";
    if (w->channels > 1 && input->shape.nz == 1 && input->page_channels == 1)
        return "filter its channels as files of their own";
    return is_strile ? "store the image in strips of few rows: tiffcp -s -r 16 IN.tif OUT.tif"
                     : "filter a smaller piece";
}

/* Bytes of a list that is worth a word. */
#define LONG_LIST ((size_t)1 << 20)

static enum vf_status check_memory(const struct vf_work *w, struct vf_error *error)
{
    if (w->memory <= w->memory_limit)
        return VF_OK;
    const bool asked = w->options->memory > 0;
    const char *allows = asked ? "--memory allows" : "three quarters of free memory is";
    const char *smaller = way_to_less(w);
    const double memory = (double)w->memory, list = (double)w->session->list_bytes;
    const double needed = w->least_bytes > 0 ? fmin(w->least_bytes, memory) : memory;
    if (w->session->list_bytes > LONG_LIST && needed - list <= (double)w->memory_limit)
        return vf_fail(error, VF_FAILED,
                       "this needs %.0f MiB with the list of files, which takes %.0f, but %s %.1f MiB; raise "
                       "--memory, or filter fewer files at once",
                       ceil(vf_mib(needed) + 1), ceil(vf_mib(list)), allows, vf_mib((double)w->memory_limit));
    /* Libraries take a little more or less from run to run: 1 MiB. */
    if (needed < memory)
        return vf_fail(
            error, VF_FAILED,
            "the thinnest slab of this chain needs %.0f MiB, but %s %.1f MiB; raise --memory, or %s",
            ceil(vf_mib(w->least_bytes) + 1), allows, vf_mib((double)w->memory_limit), smaller);
    return vf_fail(
        error, VF_FAILED,
        "this chain needs %.0f MiB for the image, its result and workspace, but %s %.1f MiB; raise "
        "--memory%s, or %s",
        ceil(vf_mib((double)w->memory) + 1), allows, vf_mib((double)w->memory_limit),
        asked ? "" : " if swapping is acceptable", smaller);
}

static enum vf_status check_disk(const struct vf_work *w, struct vf_error *error)
{
    const double between = w->stream.pass_count > 0 ? w->stream.temporary_bytes : 0;
    return vf_in_file(error, vf_output_room(w->out_path, "the result needs", w->file_bytes, between, error),
                      w->out_name);
}

enum vf_status vf_work_check(const struct vf_work *w, struct vf_error *error)
{
    const enum vf_status status = check_memory(w, error);
    return status == VF_OK ? check_disk(w, error) : status;
}

void vf_work_explain(const struct vf_work *w, FILE *to)
{
    const struct vf_explained x = {.plan = &w->plan,
                                   .in = w->in_path,
                                   .out = w->out_path,
                                   .input = w->input,
                                   .result = &w->result,
                                   .channels = w->channels,
                                   .stream = w->stream.pass_count > 0 ? &w->stream : NULL,
                                   .overlapped = w->overlapped,
                                   .compresses = vf_work_compression(w) != VF_COMPRESS_NONE,
                                   .memory = w->memory,
                                   .memory_limit = w->memory_limit,
                                   .compile_seconds =
                                       w->cuda == NULL ? 0 : vf_plan_compile_seconds(&w->plan, w->cuda)};
    if (!w->options->json) {
        vf_explain(&x, to);
        return;
    }
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_explain_json(&x, &json);
    vf_json_string(&json, "note", vf_work_notes(w));
    vf_json_end(&json);
}
