/* Cutting a chain into runs. flow.c makes one list of stages of a run, gpu_plan.c its kernels. */
#include "plan.h"

#include <string.h>

#include "alloc.h"
#include "kernels/cpu_row_halves.h"
#include "number.h"
#include "plan_memory.h"

/* Iterations that the search puts into one run at most: a longer one gains little and costs halo. */
#define MOST_FUSED 16
/* Iterations of a run on a GPU, whose kernels take their own share of them: what passes through the device
 * at once where it is too small for the whole. */
#define GPU_ITERATIONS 8
/* Of a GPU's memory: what may hold fields. */
#define GPU_MEMORY_SHARE 0.85

int vf_plan_live(const struct vf_plan *plan, int link)
{
    int live = 1;
    for (int i = 0; i < link; i++)
        live *= plan->link[i].output_count;
    return live;
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

const char *vf_plan_label(const struct vf_plan *plan, int k)
{
    for (int i = plan->chain->count - 1; i >= 0; i--)
        if (plan->link[i].output_count > 1)
            return plan->link[i].output_label[output_on_the_way(plan, i, plan->chain->count - 1, k)];
    return NULL;
}

/* ---- expansion ---- */

static enum vf_status expand_chain(struct vf_plan *plan, struct vf_error *error)
{
    const struct vf_chain *chain = plan->chain;
    int live = 1;
    plan->link = vf_alloc((size_t)chain->count, sizeof *plan->link, "filters", error);
    if (plan->link == NULL)
        return VF_FAILED;
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

static ptrdiff_t voxels(const struct vf_plan *plan)
{
    return plan->nx * plan->ny * plan->nz * plan->batch;
}

enum vf_type vf_plan_type(const struct vf_plan *plan)
{
    return plan->context.is_double ? VF_F64 : VF_F32;
}

enum vf_type vf_plan_source_type(const struct vf_plan *plan, const struct vf_run *run)
{
    return run->from_file ? plan->source_type : vf_plan_type(plan);
}

enum vf_type vf_plan_sink_type(const struct vf_plan *plan, const struct vf_run *run)
{
    return run->to_file && !run->prepass ? plan->result_type : vf_plan_type(plan);
}

void vf_plan_gpu_request(const struct vf_plan *plan, const struct vf_run *run, const struct vf_flow *flow,
                         struct vf_gpu_types *types, struct vf_gpu_request *request)
{
    for (int k = 0; k < flow->source_count; k++)
        types->source[k] = vf_plan_source_type(plan, run);
    for (int k = 0; k < flow->sink_count; k++)
        types->sink[k] = vf_plan_sink_type(plan, run);
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

/* Kernels of a run on the GPU, its flow split as run->split says. */
static enum vf_status plan_kernels(const struct vf_plan *plan, const struct vf_run *run,
                                   struct vf_gpu_plan *kernels, struct vf_error *error)
{
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    struct vf_flow flow;
    enum vf_status status = vf_plan_flow(plan, run, NULL, &flow, error);
    if (status != VF_OK)
        return status;
    vf_plan_gpu_request(plan, run, &flow, &types, &request);
    status = vf_gpu_plan_open(kernels, &request, error);
    vf_flow_close(&flow);
    return status;
}

/* Whether some linear stage has fields that may be taken one by one. */
static bool can_split(const struct vf_flow *flow)
{
    for (int s = 0; s < flow->stage_count; s++)
        if (flow->stage[s].stencil == VF_STENCIL_LINEAR && flow->stage[s].input_count > 1)
            return true;
    return false;
}

/* Kernels and cost of a run on the GPU, its fields together or apart; where nothing can be compiled there may
 * be kernels for some of these ways only. The message is that of the first. */
static enum vf_status weigh_gpu(const struct vf_plan *plan, struct vf_run *run, bool splits,
                                struct vf_error *error)
{
    enum vf_status status = plan_kernels(plan, run, &run->gpu, error);
    for (enum vf_split split = VF_SPLIT_NONE + 1; split < VF_SPLIT_COUNT && splits; split++) {
        struct vf_run trial = *run;
        struct vf_error ignored;
        trial.split = split;
        if (plan_kernels(plan, &trial, &trial.gpu, &ignored) != VF_OK)
            continue;
        if (status != VF_OK || trial.gpu.seconds < run->gpu.seconds) {
            vf_gpu_plan_close(&run->gpu);
            *run = trial;
            status = VF_OK;
        } else {
            vf_gpu_plan_close(&trial.gpu);
        }
    }
    run->seconds = run->gpu.seconds * (double)(plan->context.dim == 2 ? 1 : plan->batch);
    run->work_bytes = 0;
    return status;
}

/* How many runs of its kind there are, as iterations are; a pre-pass is followed by those. */
static double times_of(const struct vf_plan *plan, const struct vf_run *run)
{
    const struct vf_piece *piece = &plan->piece[run->piece_begin];
    const bool alike = run->piece_end - run->piece_begin == 1;
    return alike ? (double)plan->link[piece->link].repeat / piece->count : 1;
}

/* What the user says, for a run's flow. */
static struct vf_tiling given_tiling(const struct vf_given_tiling *given, const struct vf_flow *flow)
{
    const struct vf_tiling one = {.tile = given->tile};
    for (int i = 1; i < flow->stage_count; i++)
        if (strcmp(flow->stage[i].name, given->cut) == 0 && vf_row_may_cut(flow, i))
            return (struct vf_tiling){given->tile, i, given->block, given->tile};
    return one;
}

/* Tiles, cost and memory of a run; `given` is the user's, or NULL. */
static enum vf_status weigh(const struct vf_plan *plan, struct vf_run *run,
                            const struct vf_given_tiling *given, struct vf_error *error)
{
    struct vf_flow flow;
    enum vf_status status = vf_plan_flow(plan, run, NULL, &flow, error);
    if (status != VF_OK)
        return status;
    struct vf_job job = {.flow = &flow,
                         .nx = plan->nx,
                         .ny = plan->ny,
                         .nz = plan->nz,
                         .batch = plan->batch,
                         .z_end = plan->nz,
                         .source_type = vf_plan_source_type(plan, run),
                         .sink_type = vf_plan_sink_type(plan, run),
                         .threads = plan->threads,
                         .times = times_of(plan, run)};
    run->stage_count = flow.stage_count;
    run->cell = vf_flow_type(&flow);
    run->inputs = flow.source_count;
    run->outputs = flow.sink_count;
    if (plan->gpu != NULL) {
        const bool splits = can_split(&flow);
        vf_flow_close(&flow);
        return weigh_gpu(plan, run, splits, error);
    }
    run->seconds = plan->scheme->plan(&job);
    if (given != NULL && given->tile.x > 0)
        job.tiling = given_tiling(given, &flow);
    run->tiling = job.tiling;
    run->work_bytes = plan->scheme->bytes(&job);
    if (plan->scheme->cell != NULL)
        run->cell = plan->scheme->cell(&job);
    const char *why = plan->scheme->refuses(&flow);
    if (why != NULL)
        status = vf_fail(error, VF_USAGE, "scheme %s cannot run this chain: %s", plan->scheme->name, why);
    vf_flow_close(&flow);
    return status;
}

/* One iteration of a link: where runs may end. */
struct atom {
    int link;
    double least;  /* seconds of the best plan for all up to and with this one */
    int run_begin; /* the first atom of that plan's last run */
};

/* The pieces of atoms [begin, end). Returns how many. */
static int pieces_of(const struct atom *atom, int begin, int end, struct vf_piece *piece)
{
    int count = 0;
    for (int i = begin; i < end; i++) {
        if (count == 0 || piece[count - 1].link != atom[i].link)
            piece[count++] = (struct vf_piece){atom[i].link, 0};
        piece[count - 1].count++;
    }
    return count;
}

/* Predicted seconds of atoms [begin, end) of `count` as one run; remembered where they are of one link, since
 * iterations are alike: only what goes from file to file has other cells, and of that there is one. */
static enum vf_status run_cost(struct vf_plan *plan, const struct atom *atom, int count, int begin, int end,
                               double *known, double *seconds, struct vf_error *error)
{
    const bool alike = atom[begin].link == atom[end - 1].link;
    double *memory = &known[atom[begin].link * (MOST_FUSED + 1) + end - begin];
    *seconds = *memory;
    if (alike && *memory > 0)
        return VF_OK;
    struct vf_piece piece[MOST_FUSED];
    struct vf_plan trial = *plan;
    struct vf_run run = {
        .piece_end = pieces_of(atom, begin, end, piece), .from_file = begin == 0, .to_file = end == count};
    trial.piece = piece;
    plan->weighed++;
    enum vf_status status = weigh(&trial, &run, NULL, error);
    *seconds = run.seconds;
    if (alike)
        *memory = run.seconds;
    return status;
}

/* Whether a pre-pass comes before an iteration, for the globals of each one or for those of the first. */
static bool needs_prepass(const struct vf_plan *plan, const struct atom *atom, int i, bool each)
{
    const struct vf_expansion *e = &plan->link[atom[i].link];
    bool needs = false;
    for (int g = 0; g < e->global_count; g++)
        needs = needs || e->global[g].each == each;
    return needs && (each || i == 0 || atom[i - 1].link != atom[i].link);
}

/* An iteration that needs its whole input first. */
static bool cuts(const struct vf_plan *plan, const struct atom *atom, int i)
{
    return needs_prepass(plan, atom, i, false) || needs_prepass(plan, atom, i, true);
}

/* Where each run begins, so that the sum of predicted times is least. */
static enum vf_status search(struct vf_plan *plan, struct atom *atom, int count, struct vf_error *error)
{
    double *known =
        vf_alloc((size_t)plan->chain->count * (MOST_FUSED + 1), sizeof *known, "the plan's search", error);
    enum vf_status status = known == NULL ? VF_FAILED : VF_OK;
    for (int end = 1; end <= count && status == VF_OK; end++) {
        atom[end - 1].least = -1;
        for (int begin = end - 1; begin >= 0 && end - begin <= plan->most_fused; begin--) {
            double seconds;
            status = run_cost(plan, atom, count, begin, end, known, &seconds, error);
            if (status != VF_OK)
                break;
            seconds += begin > 0 ? atom[begin - 1].least : 0;
            if (atom[end - 1].least < 0 || seconds <= atom[end - 1].least) {
                atom[end - 1].least = seconds;
                atom[end - 1].run_begin = begin;
            }
            if (cuts(plan, atom, begin))
                break;
        }
    }
    vf_free(known);
    return status;
}

/* On a GPU what lives between runs may stay there, so that runs end where they must, or to keep them short.
 */
static void cut_for_gpu(const struct vf_plan *plan, struct atom *atom, int count)
{
    for (int end = 1, begin = 0; end <= count; end++) {
        if (end > 1 && (cuts(plan, atom, end - 1) || end - begin > GPU_ITERATIONS))
            begin = end - 1;
        atom[end - 1].run_begin = begin;
    }
}

/* How far before the newest run there is one of as many iterations of the same link, stored alike where a GPU
 * reads and writes them, or a pre-pass for the same of its globals; 0: nowhere. */
static int find_repeat(const struct vf_plan *plan)
{
    const struct vf_run *run = &plan->run[plan->run_count - 1];
    const int back = plan->run_count > 1 && run[-1].prepass != run->prepass ? 2 : 1;
    if (plan->run_count <= back)
        return 0;
    const struct vf_run *last = run - back;
    const struct vf_piece *piece = &plan->piece[run->piece_begin], *before = &plan->piece[last->piece_begin];
    const bool alike =
        run->prepass == last->prepass && run->each == last->each && run->piece_end - run->piece_begin == 1 &&
        last->piece_end - last->piece_begin == 1 && piece->link == before->link &&
        piece->count == before->count &&
        (plan->gpu == NULL || (vf_plan_source_type(plan, run) == vf_plan_source_type(plan, last) &&
                               vf_plan_sink_type(plan, run) == vf_plan_sink_type(plan, last)));
    return alike ? back : 0;
}

/* Weighs the newest run, or takes what is known of one before it. */
static enum vf_status weigh_newest(struct vf_plan *plan, struct vf_error *error)
{
    struct vf_run *run = &plan->run[plan->run_count - 1];
    run->repeats = find_repeat(plan);
    if (run->repeats == 0) {
        plan->weighed++;
        return weigh(plan, run, &plan->given, error);
    }
    const struct vf_run *last = run - run->repeats;
    run->tiling = last->tiling;
    run->split = last->split;
    run->gpu = last->gpu;
    run->cell = last->cell;
    run->seconds = last->seconds;
    run->work_bytes = last->work_bytes;
    run->stage_count = last->stage_count;
    run->inputs = last->inputs;
    run->outputs = last->outputs;
    return VF_OK;
}

/* Turns the search's result into pieces and runs, with pre-passes before what needs them. */
static enum vf_status lay_out(struct vf_plan *plan, const struct atom *atom, int count,
                              struct vf_error *error)
{
    int *begins = vf_alloc((size_t)count, sizeof *begins, "the plan", error);
    int runs = 0;
    if (begins == NULL)
        return VF_FAILED;
    for (int end = count; end > 0; end = atom[end - 1].run_begin)
        begins[runs++] = atom[end - 1].run_begin;
    /* At most two pre-passes and their pieces for each run more. */
    plan->piece = vf_alloc(3 * (size_t)count, sizeof *plan->piece, "the plan", error);
    plan->run = vf_alloc(3 * (size_t)runs, sizeof *plan->run, "the plan", error);
    enum vf_status status = plan->piece == NULL || plan->run == NULL ? VF_FAILED : VF_OK;
    for (int r = runs - 1; r >= 0 && status == VF_OK; r--) {
        const int begin = begins[r], end = r > 0 ? begins[r - 1] : count, sweeps_before = runs - 1 - r;
        for (int each = 0; each < 2 && status == VF_OK; each++) {
            if (!needs_prepass(plan, atom, begin, each))
                continue;
            struct vf_run *run = &plan->run[plan->run_count++];
            plan->piece[plan->piece_count] = (struct vf_piece){atom[begin].link, 1};
            *run =
                (struct vf_run){plan->piece_count, plan->piece_count + 1,   .prepass = true,
                                .each = each,      .from_file = begin == 0, .sweeps_before = sweeps_before};
            plan->piece_count++;
            status = weigh_newest(plan, error);
        }
        if (status != VF_OK)
            break;
        struct vf_run *run = &plan->run[plan->run_count++];
        *run = (struct vf_run){.piece_begin = plan->piece_count,
                               .from_file = begin == 0,
                               .to_file = end == count,
                               .sweeps_before = sweeps_before};
        plan->piece_count += pieces_of(atom, begin, end, plan->piece + plan->piece_count);
        run->piece_end = plan->piece_count;
        status = weigh_newest(plan, error);
    }
    vf_free(begins);
    return status;
}

/* What a run makes the next one reads, and needs another place for what it makes itself: every second run,
 * from the last one back, may have the result's where that is of the compute type. */
static void place_in_result(struct vf_plan *plan)
{
    const bool may_hold = plan->result_type == vf_plan_type(plan);
    bool taken = false;
    for (int r = plan->run_count - 1; r >= 0; r--) {
        struct vf_run *run = &plan->run[r];
        if (run->prepass)
            continue;
        run->in_result = run->to_file || (may_hold && !taken && run->outputs == plan->output_count);
        taken = run->in_result;
    }
}

/* The volumes between runs: what the last run made and what this one makes, at most. */
static void add_up(struct vf_plan *plan)
{
    const size_t element = vf_type_size(vf_plan_type(plan));
    int inputs = 0; /* of them, of the next run */
    for (int r = 0; r < plan->run_count; r++) {
        const struct vf_run *run = &plan->run[r];
        const int outputs = run->in_result || run->prepass ? 0 : run->outputs;
        size_t bytes = (size_t)(inputs + outputs) * (size_t)voxels(plan) * element;
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
                                              GPU_MEMORY_SHARE * (double)plan->gpu->memory;
    if (plan->resident)
        plan->between_bytes = 0;
}

static enum vf_status make_runs(struct vf_plan *plan, struct vf_error *error)
{
    struct vf_gpu_groups groups = {0};
    size_t count = 0;
    for (int i = 0; i < plan->chain->count; i++)
        count += (size_t)plan->link[i].repeat;
    struct atom *atom = vf_alloc(count, sizeof *atom, "the plan's search", error);
    if (atom == NULL)
        return VF_FAILED;
    for (int i = 0, at = 0; i < plan->chain->count; i++)
        for (int k = 0; k < plan->link[i].repeat; k++)
            atom[at++].link = i;
    enum vf_status status = VF_OK;
    if (plan->gpu != NULL)
        cut_for_gpu(plan, atom, (int)count);
    else
        status = search(plan, atom, (int)count, error);
    plan->groups = &groups;
    if (status == VF_OK)
        status = lay_out(plan, atom, (int)count, error);
    plan->groups = NULL;
    vf_gpu_groups_free(&groups);
    vf_free(atom);
    return status;
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

static enum vf_status read_scheme(struct vf_plan *plan, const struct vf_plan_request *request,
                                  struct vf_error *error)
{
    const char *text = request->scheme;
    char names[64];
    plan->scheme = vf_cpu_schemes[0];
    if (text == NULL)
        return VF_OK;
    if (request->gpu != NULL)
        return vf_forced_read(text, &plan->forced, error);
    size_t length = strcspn(text, ":");
    plan->scheme = vf_cpu_scheme(text, length);
    if (plan->scheme == NULL)
        return vf_fail(error, VF_USAGE,
                       "--scheme %s: the CPU has %s, each for the whole chain; 'volfilter help schemes' "
                       "explains them and those of the GPU",
                       text, vf_cpu_scheme_names(names, sizeof names));
    if (text[length] == '\0')
        return VF_OK;
    if (!read_tiling(text + length + 1, &plan->given))
        return vf_fail(error, VF_USAGE,
                       "--scheme %s: the name may be followed by tile=XxYxCHUNK and, for row-stream, "
                       ":cut=STAGE/PLANES, with whole numbers from 1",
                       text);
    return VF_OK;
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

enum vf_status vf_plan_open(struct vf_plan *plan, const struct vf_plan_request *request,
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
                             .most_fused = MOST_FUSED};
    if (request->most_fused > 0 && request->most_fused < MOST_FUSED)
        plan->most_fused = request->most_fused;
    VF_TRY(read_scheme(plan, request, error));
    VF_TRY(expand_chain(plan, error));
    VF_TRY(check_boxes(plan, error));
    VF_TRY(check_forced(plan, error));
    if (!vf_plan_recall(request, plan)) {
        VF_TRY(make_runs(plan, error));
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

void vf_plan_close(struct vf_plan *plan)
{
    for (int i = 0; plan->link != NULL && i < plan->chain->count; i++)
        vf_expansion_free(&plan->link[i]);
    vf_free(plan->link);
    for (int r = 0; plan->run != NULL && r < plan->run_count; r++)
        if (plan->run[r].repeats == 0)
            vf_gpu_plan_close(&plan->run[r].gpu);
    vf_free(plan->piece);
    vf_free(plan->run);
    *plan = (struct vf_plan){0};
}
