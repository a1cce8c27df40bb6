#include "plan_runs.h"

#include <stdint.h>
#include <string.h>

#include "alloc.h"
#include "kernels/cpu_row_halves.h"
#include "kernels/cpu_rows.h"
#include "size.h"

/* Iterations of a run on a GPU, whose kernels take their own share of them: what passes through the device
 * at once where it is too small for the whole. */
#define GPU_ITERATIONS 8

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
    run->work_bytes = vf_plan_counter_bytes(plan, run);
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
                         .source_type = run->source_type,
                         .sink_type = run->sink_type,
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
    if (!vf_size_add(plan->scheme->bytes(&job), vf_plan_counter_bytes(plan, run), &run->work_bytes))
        run->work_bytes = SIZE_MAX;
    if (plan->scheme->cell != NULL)
        run->cell = plan->scheme->cell(&job);
    vf_flow_close(&flow);
    return status;
}

/* One iteration of a link: where runs may end. */
struct atom {
    int link;
    double least;  /* seconds of the best plan for all up to and with this one */
    int run_begin; /* the first atom of that plan's last run */
};

static bool is_median(const struct vf_expansion *e)
{
    bool is = true;
    for (int s = 0; s < e->stage_count; s++)
        is = is && vf_body_is_median(e->stage[s].stencil);
    return is;
}

/* As what the fields that an atom is applied to are stored, if a run begins with it; of `count` ones, the
 * result. Medians of the image's integers are such. */
static enum vf_type stored_type(const struct vf_plan *plan, const struct atom *atom, int count, int at)
{
    const double outside = plan->context.boundary == VF_CONSTANT ? plan->constant : 0;
    bool keeps = vf_may_keep_integers(plan->source_type, outside);
    for (int i = 0; i < at && keeps; i++)
        keeps = is_median(&plan->link[atom[i].link]);
    return at == 0       ? plan->source_type
           : at == count ? plan->result_type
           : keeps       ? plan->source_type
                         : vf_plan_type(plan);
}

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
    double *memory = &known[atom[begin].link * (VF_MOST_FUSED + 1) + end - begin];
    *seconds = *memory;
    if (alike && *memory > 0)
        return VF_OK;
    struct vf_piece piece[VF_MOST_FUSED];
    struct vf_plan trial = *plan;
    struct vf_run run = {.piece_end = pieces_of(atom, begin, end, piece),
                         .to_file = end == count,
                         .source_type = stored_type(plan, atom, count, begin),
                         .sink_type = stored_type(plan, atom, count, end)};
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
        vf_alloc((size_t)plan->chain->count * (VF_MOST_FUSED + 1), sizeof *known, "the plan's search", error);
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
    const int most = plan->most_fused < GPU_ITERATIONS ? plan->most_fused : GPU_ITERATIONS;
    for (int end = 1, begin = 0; end <= count; end++) {
        if (end > 1 && (cuts(plan, atom, end - 1) || end - begin > most))
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
        (plan->gpu == NULL || (run->source_type == last->source_type && run->sink_type == last->sink_type));
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
            *run = (struct vf_run){plan->piece_count,
                                   plan->piece_count + 1,
                                   .prepass = true,
                                   .each = each,
                                   .source_type = stored_type(plan, atom, count, begin),
                                   .sink_type = vf_plan_type(plan),
                                   .sweeps_before = sweeps_before};
            plan->piece_count++;
            status = weigh_newest(plan, error);
        }
        if (status != VF_OK)
            break;
        struct vf_run *run = &plan->run[plan->run_count++];
        *run = (struct vf_run){.piece_begin = plan->piece_count,
                               .to_file = end == count,
                               .source_type = stored_type(plan, atom, count, begin),
                               .sink_type = stored_type(plan, atom, count, end),
                               .sweeps_before = sweeps_before};
        plan->piece_count += pieces_of(atom, begin, end, plan->piece + plan->piece_count);
        run->piece_end = plan->piece_count;
        status = weigh_newest(plan, error);
    }
    vf_free(begins);
    return status;
}

enum vf_status vf_plan_make_runs(struct vf_plan *plan, struct vf_error *error)
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
