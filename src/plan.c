/* A plan's request, the chain's expansion, and where results of runs lie. plan_runs.c cuts the chain into
 * runs, flow.c makes one list of stages of a run, gpu_plan.c its kernels. */
#include "plan.h"

#include <stdint.h>
#include <string.h>

#include "alloc.h"
#include "number.h"
#include "plan_memory.h"
#include "plan_runs.h"
#include "suggest.h"

/* Of a GPU's memory: what may hold fields. */
#define GPU_MEMORY_SHARE 0.85

int vf_plan_live(const struct vf_plan *plan, int link)
{
    int live = 1;
    for (int i = 0; i < link; i++)
        live *= plan->link[i].output_count;
    return live;
}

size_t vf_plan_counter_bytes(const struct vf_plan *plan, const struct vf_run *run)
{
    if (!run->prepass)
        return 0;
    const int link = plan->piece[run->piece_begin].link;
    return (size_t)vf_plan_live(plan, link) * (size_t)plan->link[link].global_count * (size_t)plan->threads *
           VF_REDUCE_COUNTS * sizeof(uint64_t);
}

/* The index of the output of link i that leads to field f after link j > i. */
static int output_on_the_way(const struct vf_plan *plan, int i, int j, int f)
{
    for (int k = j; k > i; k--)
        f /= plan->link[k].output_count;
    return f % plan->link[i].output_count;
}

enum vf_field_kind vf_plan_kind(const struct vf_plan *plan, int link, int f)
{
    for (int i = 0; i < link; i++) {
        const struct vf_expansion *e = &plan->link[i];
        if (e->field_kind[e->output[output_on_the_way(plan, i, link - 1, f)]] == VF_FIELD_DERIVED)
            return VF_FIELD_DERIVED;
    }
    return VF_FIELD_IMAGE;
}

const char *vf_plan_label(const struct vf_plan *plan, int link, int f)
{
    for (int i = link - 1; i >= 0; i--)
        if (plan->link[i].output_count > 1)
            return plan->link[i].output_label[output_on_the_way(plan, i, link - 1, f)];
    return NULL;
}

/* ---- expansion ---- */

static enum vf_status expand_links(struct vf_plan *plan, struct vf_error *error)
{
    const struct vf_chain *chain = plan->chain;
    int live = 1;
    for (int i = 0; i < chain->count; i++) {
        struct vf_context context = plan->context;
        context.filter = chain->link[i].filter->name;
        enum vf_status status =
            vf_filter_expand(chain->link[i].filter, &context, chain->link[i].value, &plan->link[i], error);
        if (status != VF_OK)
            return status;
        live *= plan->link[i].output_count;
        if (live > VF_MAX_LIVE)
            return vf_fail(error, VF_USAGE, "%s: the chain produces more than %d channels from each channel",
                           context.filter, VF_MAX_LIVE);
    }
    plan->output_count = live;
    return VF_OK;
}

/* Every addition of a sum rounds, and where weights are alike all of them may round to one side. In float32,
 * of values of 16 bits that are all alike, means of 259 voxels along each of three axes come out as they are,
 * of 261 some are off by 1. */
#define MOST_ALIKE_IN_SINGLE 256
#define MOST_SUMMED_IN_SINGLE 512

static bool are_alike(const struct vf_taps *taps)
{
    bool are = true;
    for (int t = 1; t < taps->count; t++)
        are = are && taps->tap[t].weight == taps->tap[0].weight;
    return are;
}

static bool sums_many(const struct vf_expansion *e)
{
    for (int i = 0; i < e->stage_count + e->pre_count; i++) {
        const struct vf_stage *stage = i < e->stage_count ? &e->stage[i] : &e->pre[i - e->stage_count];
        if (stage->stencil != VF_STENCIL_LINEAR)
            continue;
        const bool is_mean = vf_line_axis(stage) >= 0 && are_alike(stage->taps);
        if (stage->taps->count > (is_mean ? MOST_ALIKE_IN_SINGLE : MOST_SUMMED_IN_SINGLE))
            return true;
    }
    return false;
}

static void free_links(struct vf_plan *plan)
{
    for (int i = 0; plan->link != NULL && i < plan->chain->count; i++)
        vf_expansion_free(&plan->link[i]);
}

/* Weights may not fit in float32 either. */
static enum vf_status expand_chain(struct vf_plan *plan, struct vf_error *error)
{
    plan->link = vf_alloc((size_t)plan->chain->count, sizeof *plan->link, "filters", error);
    const enum vf_status status = plan->link == NULL ? VF_FAILED : expand_links(plan, error);
    bool suits = status == VF_OK; /* float32 does */
    for (int i = 0; suits && i < plan->chain->count; i++)
        suits = !sums_many(&plan->link[i]);
    if (suits || status == VF_FAILED || !plan->context.may_be_double || plan->context.is_double)
        return status;
    plan->context.is_double = true;
    free_links(plan);
    return expand_links(plan, error);
}

/* A box that a global value is taken over must lie in the image. */
static enum vf_status check_boxes(const struct vf_plan *plan, struct vf_error *error)
{
    const long extent[3] = {(long)plan->nx, (long)plan->ny, (long)plan->nz};
    for (int i = 0; i < plan->chain->count; i++)
        for (int g = 0; g < plan->link[i].global_count; g++) {
            const struct vf_global *global = &plan->link[i].global[g];
            for (int axis = 0; axis < 3 && global->box_size[0] > 0; axis++)
                if (global->box_at[axis] < 0 || global->box_size[axis] > extent[axis] ||
                    global->box_at[axis] > extent[axis] - global->box_size[axis])
                    return vf_fail(
                        error, VF_USAGE,
                        "%s: the box %ldx%ldx%ld+%ld+%ld+%ld is not inside the image, which is %ldx%ldx%ld",
                        plan->chain->link[i].filter->name, global->box_size[0], global->box_size[1],
                        global->box_size[2], global->box_at[0], global->box_at[1], global->box_at[2],
                        extent[0], extent[1], extent[2]);
        }
    return VF_OK;
}

static bool has_stage(const struct vf_plan *plan, const char *name)
{
    for (int i = 0; i < plan->chain->count; i++) {
        const struct vf_expansion *e = &plan->link[i];
        for (int s = 0; s < e->stage_count; s++)
            if (strcmp(e->stage[s].name, name) == 0)
                return true;
        for (int s = 0; s < e->pre_count; s++)
            if (strcmp(e->pre[s].name, name) == 0)
                return true;
    }
    return false;
}

/* A word for a stage that is not there would be passed over in silence. */
static enum vf_status check_forced(const struct vf_plan *plan, struct vf_error *error)
{
    for (int i = 0; i < plan->forced.count; i++) {
        const struct vf_forced *forced = &plan->forced.entry[i];
        if (forced->stage[0] != '\0' && !has_stage(plan, forced->stage))
            return vf_fail(error, VF_USAGE,
                           "--scheme %s=%s: the chain has no stage %s here; --explain prints its stages",
                           forced->stage, forced->scheme->name, forced->stage);
    }
    return VF_OK;
}

/* ---- runs ---- */

size_t vf_plan_voxels(const struct vf_plan *plan)
{
    return (size_t)(plan->nx * plan->ny * plan->nz * plan->batch);
}

enum vf_type vf_plan_type(const struct vf_plan *plan)
{
    return plan->context.is_double ? VF_F64 : VF_F32;
}

void vf_plan_gpu_request(const struct vf_plan *plan, const struct vf_run *run, const struct vf_flow *flow,
                         struct vf_gpu_types *types, struct vf_gpu_request *request)
{
    for (int k = 0; k < flow->source_count; k++)
        types->source[k] = run->source_type;
    for (int k = 0; k < flow->sink_count; k++)
        types->sink[k] = run->sink_type;
    *request = (struct vf_gpu_request){.flow = flow,
                                       .nx = plan->nx,
                                       .ny = plan->ny,
                                       .nz = flow->dim == 2 ? plan->nz * plan->batch : plan->nz,
                                       .source_type = types->source,
                                       .sink_type = types->sink,
                                       .gpu = plan->gpu,
                                       .forced = &plan->forced,
                                       .groups = plan->groups};
}

/* What a run makes the next one reads, and needs another place for what it makes itself: every second run,
 * from the last one back, may have the result's where that is of the same type. */
static void place_in_result(struct vf_plan *plan)
{
    bool taken = false;
    for (int r = plan->run_count - 1; r >= 0; r--) {
        struct vf_run *run = &plan->run[r];
        if (run->prepass)
            continue;
        const bool may_hold = run->sink_type == plan->result_type && run->outputs == plan->output_count;
        run->in_result = run->to_file || (may_hold && !taken);
        taken = run->in_result;
    }
}

/* The volumes between runs: what the last run made and what this one makes, at most. */
static void add_up(struct vf_plan *plan)
{
    size_t inputs = 0; /* bytes of a voxel of what the next run reads of them */
    for (int r = 0; r < plan->run_count; r++) {
        const struct vf_run *run = &plan->run[r];
        const size_t outputs = run->in_result || run->prepass
                                   ? 0
                                   : (size_t)run->outputs * vf_type_size(run->sink_type),
                     bytes = (inputs + outputs) * vf_plan_voxels(plan);
        if (!run->prepass)
            inputs = outputs;
        plan->between_bytes = bytes > plan->between_bytes ? bytes : plan->between_bytes;
        plan->work_bytes = run->work_bytes > plan->work_bytes ? run->work_bytes : plan->work_bytes;
    }
}

/* Whether the largest run's fields fit the GPU's memory whole: then nothing lies between runs elsewhere. */
static void place_between(struct vf_plan *plan)
{
    double most = 0;
    for (int r = 0; r < plan->run_count; r++) {
        const struct vf_run *run = &plan->run[r];
        const double fields = run->inputs + run->outputs + run->gpu.slot_count;
        most = fields > most ? fields : most;
    }
    const double row = (double)vf_gpu_pitch(plan->nx) * (double)vf_type_size(vf_plan_type(plan));
    plan->resident = plan->gpu != NULL && most * row * (double)(plan->ny * plan->nz * plan->batch) <=
                                              GPU_MEMORY_SHARE * (double)plan->gpu->free_memory;
    if (plan->resident) {
        plan->fallback_bytes = plan->between_bytes;
        plan->between_bytes = 0;
    }
}

/* ---- the request ---- */

/* Reads "tile=XxYxCHUNK[:cut=STAGE/PLANES]"; false where it is not that. */
static bool read_tiling(const char *at, struct vf_given_tiling *given)
{
    long number[4] = {0, 0, 0, 1};
    if (strncmp(at, "tile=", 5) != 0)
        return false;
    at += 5;
    for (int i = 0; i < 3; i++) {
        at = vf_number_read_whole(at, &number[i]);
        if (at == NULL || (i < 2 && *at++ != 'x'))
            return false;
    }
    if (strncmp(at, ":cut=", 5) == 0) {
        const size_t length = strcspn(at + 5, "/");
        if (length == 0 || length >= sizeof given->cut || at[5 + length] == '\0')
            return false;
        memcpy(given->cut, at + 5, length);
        at = vf_number_read_whole(at + 5 + length + 1, &number[3]);
    }
    if (at == NULL || *at != '\0' || number[0] < 1 || number[1] < 1 || number[2] < 1 || number[3] < 1)
        return false;
    given->tile = (struct vf_tile){number[0], number[1], number[2]};
    given->block = number[3];
    return true;
}

static enum vf_status read_scheme(struct vf_plan *plan, const char *text, bool on_gpu, struct vf_error *error)
{
    char names[64], hint[64];
    struct vf_suggestion near;
    plan->scheme = vf_cpu_schemes[0];
    if (text == NULL)
        return VF_OK;
    if (on_gpu)
        return vf_forced_read(text, &plan->forced, error);
    size_t length = strcspn(text, ":");
    plan->scheme = vf_cpu_scheme(text, length);
    if (plan->scheme == NULL) {
        vf_suggestion_begin(&near, text, length);
        for (const struct vf_scheme *const *scheme = vf_cpu_schemes; *scheme != NULL; scheme++)
            vf_suggestion_consider(&near, (*scheme)->name, strlen((*scheme)->name));
        for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++)
            vf_suggestion_consider(&near, (*scheme)->name, strlen((*scheme)->name));
        return vf_fail(error, VF_USAGE,
                       "--scheme %s: the CPU has %s, each for the whole chain; 'volfilter help schemes' "
                       "explains them and those of the GPU%s",
                       text, vf_cpu_scheme_names(names, sizeof names),
                       vf_suggestion_text(&near, "", hint, sizeof hint));
    }
    if (text[length] == '\0')
        return VF_OK;
    if (plan->scheme != &vf_cpu_row_stream || !read_tiling(text + length + 1, &plan->given))
        return vf_fail(error, VF_USAGE,
                       "--scheme %s: row-stream alone may be followed by tile=XxYxCHUNK[:cut=STAGE/PLANES], "
                       "with whole numbers from 1",
                       text);
    return VF_OK;
}

enum vf_status vf_plan_check_scheme(const char *text, bool on_gpu, struct vf_error *error)
{
    struct vf_plan ignored = {.given = {.block = 1}};
    return read_scheme(&ignored, text, on_gpu, error);
}

/* A cut that is nowhere would be passed over in silence. */
static enum vf_status check_cut(const struct vf_plan *plan, struct vf_error *error)
{
    bool found = plan->given.cut[0] == '\0';
    for (int r = 0; r < plan->run_count; r++)
        found = found || plan->run[r].tiling.cut > 0;
    return found ? VF_OK
                 : vf_fail(error, VF_USAGE,
                           "--scheme cut=%s: no sweep over a volume has a stage %s after other stages (with "
                           "boundary wrap, none can be cut); --explain prints the stages",
                           plan->given.cut, plan->given.cut);
}

static enum vf_status open_plan(struct vf_plan *plan, const struct vf_plan_request *request,
                                struct vf_error *error)
{
    enum vf_status status;
    *plan = (struct vf_plan){.chain = request->chain,
                             .context = request->context,
                             .constant = request->constant,
                             .gpu = request->gpu,
                             .source_type = request->source_type,
                             .result_type = request->result_type,
                             .nx = request->nx,
                             .ny = request->ny,
                             .nz = request->nz,
                             .batch = request->batch,
                             .threads = request->threads,
                             .most_fused = VF_MOST_FUSED};
    if (request->most_fused > 0 && request->most_fused < VF_MOST_FUSED)
        plan->most_fused = request->most_fused;
    VF_TRY(read_scheme(plan, request->scheme, request->gpu != NULL, error));
    VF_TRY(expand_chain(plan, error));
    VF_TRY(check_boxes(plan, error));
    VF_TRY(check_forced(plan, error));
    if (!vf_plan_recall(request, plan)) {
        VF_TRY(vf_plan_make_runs(plan, error));
        vf_plan_remember(request, plan);
    }
    VF_TRY(check_cut(plan, error));
    place_in_result(plan);
    add_up(plan);
    place_between(plan);
out:
    if (status != VF_OK)
        vf_plan_close(plan);
    return status;
}

int vf_plan_longest_run(const struct vf_plan *plan)
{
    int most = 0;
    for (int r = 0; r < plan->run_count; r++) {
        int count = 0;
        for (int p = plan->run[r].piece_begin; p < plan->run[r].piece_end; p++)
            count += plan->piece[p].count;
        most = count > most ? count : most;
    }
    return most;
}

/* Whether the GPU has memory for what each run holds of one plane more than `reaches` times as many as it
 * reaches to on one side. */
static enum vf_status fits_gpu(const struct vf_plan *plan, int reaches, bool *fits, struct vf_error *error)
{
    const double plane = (double)vf_gpu_pitch(plan->nx) * (double)plan->ny;
    *fits = true;
    if (plan->gpu == NULL || plan->resident)
        return VF_OK;
    for (int r = 0; r < plan->run_count && *fits; r++) {
        const struct vf_run *run = &plan->run[r];
        ptrdiff_t reach;
        if (run->repeats > 0)
            continue;
        const enum vf_status status = vf_plan_reach(plan, run, 0, &reach, error);
        if (status != VF_OK)
            return status;
        const size_t voxel = (size_t)run->inputs * vf_type_size(run->source_type) +
                             (size_t)run->outputs * vf_type_size(run->sink_type) +
                             (size_t)run->gpu.slot_count * vf_type_size(vf_plan_type(plan));
        const ptrdiff_t wanted = reaches * reach + 1;
        const double planes = (double)(wanted < plan->nz ? wanted : plan->nz);
        *fits = planes * plane * (double)voxel <= GPU_MEMORY_SHARE * (double)plan->gpu->free_memory;
    }
    return VF_OK;
}

/* With memory for fewer planes than three times those that a run reaches to, most would be computed for their
 * neighbours' sake: then runs are shorter. */
enum vf_status vf_plan_open(struct vf_plan *plan, const struct vf_plan_request *request,
                            struct vf_error *error)
{
    struct vf_plan_request shorter = *request;
    enum vf_status status = open_plan(plan, &shorter, error);
    while (status == VF_OK) {
        const int longest = vf_plan_longest_run(plan);
        bool fits;
        status = fits_gpu(plan, 3, &fits, error);
        if (status != VF_OK || fits || longest <= 1)
            break;
        shorter.most_fused = longest / 2;
        vf_plan_close(plan);
        status = open_plan(plan, &shorter, error);
    }
    if (status == VF_OK)
        status = fits_gpu(plan, 2, &plan->has_room, error);
    if (status != VF_OK)
        vf_plan_close(plan);
    return status;
}

enum vf_status vf_plan_run_on_cpu(const struct vf_plan *plan, struct vf_job *job, size_t spare_bytes,
                                  struct vf_error *error)
{
    if (plan->gpu != NULL) {
        job->work_limit = spare_bytes > 0 ? spare_bytes : 1;
        plan->scheme->plan(job);
    }
    return plan->scheme->run(job, error);
}

void vf_plan_close(struct vf_plan *plan)
{
    free_links(plan);
    vf_free(plan->link);
    for (int r = 0; plan->run != NULL && r < plan->run_count; r++)
        if (plan->run[r].repeats == 0)
            vf_gpu_plan_close(&plan->run[r].gpu);
    vf_free(plan->piece);
    vf_free(plan->run);
    *plan = (struct vf_plan){0};
}
