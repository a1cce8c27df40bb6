/* Flattening the pieces of a run into one list of stages over one numbering of fields. */
#include <string.h>

#include "alloc.h"
#include "plan.h"

size_t vf_plan_value_count(const struct vf_plan *plan)
{
    return vf_plan_value_index(plan, plan->chain->count, 0, 0);
}

size_t vf_plan_value_index(const struct vf_plan *plan, int link, int field, int global)
{
    size_t index = 0;
    for (int i = 0; i < link; i++)
        index += (size_t)vf_plan_live(plan, i) * VF_MAX_GLOBALS;
    return index + (size_t)field * VF_MAX_GLOBALS + (size_t)global;
}

/* Where an expansion's global values are among the plan's, of which `value` holds those that are known; NULL:
 * none. */
struct values {
    const struct vf_expansion *e;
    size_t first;
    const double *value;
};

/* Numbers a stage's global values as the plan does, and puts them into its parameters. */
static void bind(struct vf_stage *stage, const struct values *values)
{
    for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++) {
        if (stage->global[i] == 0)
            continue;
        const struct vf_global *global = &values->e->global[stage->global[i] - 1];
        stage->global[i] += (int)values->first;
        if (values->value == NULL)
            continue;
        const double raw = values->value[stage->global[i] - 1];
        stage->param[i] = global->derive != NULL ? global->derive(raw, global->scale) : raw;
    }
}

/* Appends stages whose field 0 is the flow's field `input`; number[] gets where each field that they make
 * went. */
static void append(struct vf_flow *flow, const struct vf_stage *stages, int stage_count,
                   const enum vf_field_kind *kinds, const struct values *values, int input, int *number)
{
    /* What a derived field is smoothed into is derived too. */
    const enum vf_field_kind input_kind = flow->field_kind[input];
    number[0] = input;
    for (int i = 0; i < stage_count; i++) {
        struct vf_stage *stage = &flow->stage[flow->stage_count++];
        *stage = stages[i];
        bind(stage, values);
        for (int k = 0; k < stage->input_count; k++)
            stage->input[k] = number[stages[i].input[k]];
        for (int k = 0; k < stage->output_count; k++) {
            const int f = stages[i].output[k];
            stage->output[k] = number[f] = flow->field_count++;
            flow->field_kind[number[f]] = input_kind == VF_FIELD_DERIVED ? VF_FIELD_DERIVED : kinds[f];
        }
    }
}

static void append_iterations(const struct vf_plan *plan, const struct vf_piece *piece, const double *value,
                              struct vf_flow *flow, int *live, int *live_count, int *number)
{
    const struct vf_expansion *e = &plan->link[piece->link];
    int next[VF_MAX_LIVE], next_count = 0;
    for (int f = 0; f < *live_count; f++) {
        const struct values values = {e, vf_plan_value_index(plan, piece->link, f, 0), value};
        int input[VF_MAX_OUTPUTS] = {live[f]};
        for (int iteration = 0; iteration < piece->count; iteration++) {
            append(flow, e->stage, e->stage_count, e->field_kind, &values, input[0], number);
            for (int k = 0; k < e->output_count; k++)
                input[k] = number[e->output[k]];
        }
        memcpy(next + next_count, input, (size_t)e->output_count * sizeof *input);
        next_count += e->output_count;
    }
    memcpy(live, next, (size_t)next_count * sizeof *next);
    *live_count = next_count;
}

int vf_prepass_stages(const struct vf_expansion *e, bool each)
{
    int last = 0, count = 0;
    for (int g = 0; g < e->global_count; g++)
        if (e->global[g].each == each && e->global[g].field > last)
            last = e->global[g].field;
    while (count < e->pre_count && e->pre[count].output[0] <= last)
        count++;
    return count;
}

/* One sink for each field that some global of the link reads, of each iteration or of the first. */
static void append_prepass(const struct vf_plan *plan, int link, bool each, const double *value,
                           struct vf_flow *flow, int live_count, int *number)
{
    const struct vf_expansion *e = &plan->link[link];
    const int stages = vf_prepass_stages(e, each);
    for (int f = 0; f < live_count; f++) {
        const struct values values = {e, vf_plan_value_index(plan, link, f, 0), value};
        append(flow, e->pre, stages, e->pre_field_kind, &values, f, number);
        for (int field = 0; field < e->pre_field_count; field++) {
            bool read = false;
            for (int g = 0; g < e->global_count; g++)
                read = read || (e->global[g].each == each && e->global[g].field == field);
            if (read)
                flow->sink[flow->sink_count++] = number[field];
        }
    }
}

/* Most stages, fields and sinks that the run may have. */
static void count_run(const struct vf_plan *plan, const struct vf_run *run, int *stages, int *fields,
                      int *scratch)
{
    int live = vf_plan_live(plan, plan->piece[run->piece_begin].link);
    *stages = 0;
    *fields = live;
    *scratch = 1;
    for (int p = run->piece_begin; p < run->piece_end; p++) {
        const struct vf_piece *piece = &plan->piece[p];
        const struct vf_expansion *e = &plan->link[piece->link];
        const int times = live * (run->prepass ? 1 : piece->count);
        const int field_count = run->prepass ? e->pre_field_count : e->field_count;
        *stages += times * (run->prepass ? e->pre_count : e->stage_count);
        *fields += times * field_count;
        *scratch = field_count > *scratch ? field_count : *scratch;
        live *= run->prepass ? 1 : e->output_count;
    }
}

/* ---- splitting ---- */

/* Stages from `first` on that are linear, of several fields, and each of the fields that the one before
 * makes. */
static int linear_run(const struct vf_flow *flow, int first)
{
    int end = first;
    while (end < flow->stage_count && flow->stage[end].stencil == VF_STENCIL_LINEAR &&
           flow->stage[end].input_count > 1 &&
           flow->stage[end].input_count == flow->stage[first].input_count &&
           (end == first || memcmp(flow->stage[end].input, flow->stage[end - 1].output,
                                   (size_t)flow->stage[end].input_count * sizeof(int)) == 0))
        end++;
    return end - first;
}

static struct vf_stage one_field(const struct vf_stage *stage, int k)
{
    struct vf_stage single = *stage;
    memset(single.input, 0, sizeof single.input);
    memset(single.output, 0, sizeof single.output);
    single.input_count = single.output_count = 1;
    single.input[0] = stage->input[k];
    single.output[0] = stage->output[k];
    return single;
}

static enum vf_status split_linear(struct vf_flow *flow, enum vf_split split, struct vf_error *error)
{
    int count = 0;
    struct vf_stage *stage =
        vf_alloc((size_t)flow->stage_count * VF_MAX_INPUTS + 1, sizeof *stage, "stages", error);
    if (stage == NULL)
        return VF_FAILED;
    for (int s = 0, run; s < flow->stage_count; s += run) {
        run = linear_run(flow, s);
        /* Stages that are taken whole, before and after those that are taken apart. */
        const int before = run == 0 || split == VF_SPLIT_BUT_FIRST,
                  after = run > 0 && split == VF_SPLIT_BUT_LAST;
        run = run > 0 ? run : 1;
        if (before)
            stage[count++] = flow->stage[s];
        for (int k = 0; k < flow->stage[s].input_count && run > before + after; k++)
            for (int i = before; i < run - after; i++)
                stage[count++] = one_field(&flow->stage[s + i], k);
        if (after)
            stage[count++] = flow->stage[s + run - 1];
    }
    vf_free(flow->stage);
    flow->stage = stage;
    flow->stage_count = count;
    return VF_OK;
}

enum vf_status vf_plan_flow(const struct vf_plan *plan, const struct vf_run *run, const double *value,
                            struct vf_flow *flow, struct vf_error *error)
{
    int stages, fields, scratch, live[VF_MAX_LIVE], live_count;
    const int first_link = plan->piece[run->piece_begin].link;
    *flow = (struct vf_flow){.dim = plan->context.dim,
                             .is_double = plan->context.is_double,
                             .boundary = plan->context.boundary,
                             .constant = plan->constant};
    count_run(plan, run, &stages, &fields, &scratch);
    flow->stage = vf_alloc((size_t)stages + 1, sizeof *flow->stage, "stages", error);
    flow->field_kind = vf_alloc((size_t)fields, sizeof *flow->field_kind, "fields", error);
    flow->source = vf_alloc(VF_MAX_LIVE, sizeof *flow->source, "fields", error);
    flow->sink = vf_alloc((size_t)fields, sizeof *flow->sink, "fields", error);
    int *number = vf_alloc((size_t)scratch, sizeof *number, "fields", error);
    if (!flow->stage || !flow->field_kind || !flow->source || !flow->sink || !number) {
        vf_free(number);
        vf_flow_close(flow);
        return VF_FAILED;
    }
    live_count = vf_plan_live(plan, first_link);
    for (int f = 0; f < live_count; f++) {
        live[f] = flow->source[flow->source_count++] = flow->field_count;
        flow->field_kind[flow->field_count++] = vf_plan_kind(plan, first_link, f);
    }
    if (run->prepass) {
        append_prepass(plan, first_link, run->each, value, flow, live_count, number);
    } else {
        for (int p = run->piece_begin; p < run->piece_end; p++)
            append_iterations(plan, &plan->piece[p], value, flow, live, &live_count, number);
        flow->sink_count = live_count;
        memcpy(flow->sink, live, (size_t)live_count * sizeof *live);
    }
    vf_free(number);
    if (run->split != VF_SPLIT_NONE && split_linear(flow, run->split, error) != VF_OK) {
        vf_flow_close(flow);
        return VF_FAILED;
    }
    return VF_OK;
}

/* A kernel computes all that it stores as far as any of it is needed. */
static void reach_of_kernel(const struct vf_flow *flow, const struct vf_launch *launch, int (*reach)[3])
{
    int most[3] = {0, 0, 0};
    for (int pass = 0; pass < 2; pass++)
        for (int s = launch->stage_begin; s < launch->stage_end; s++)
            for (int k = 0; k < flow->stage[s].output_count; k++)
                for (int axis = 0; axis < 3; axis++) {
                    int *field = &reach[flow->stage[s].output[k]][axis];
                    if (*field > most[axis])
                        most[axis] = *field;
                    *field = most[axis];
                }
    vf_stages_reach(flow, launch->stage_begin, launch->stage_end, reach);
}

enum vf_status vf_plan_reach(const struct vf_plan *plan, const struct vf_run *run, int cut, ptrdiff_t *most,
                             struct vf_error *error)
{
    struct vf_flow flow;
    enum vf_status status = vf_plan_flow(plan, run, NULL, &flow, error);
    if (status != VF_OK)
        return status;
    int(*reach)[3] = vf_alloc((size_t)flow.field_count, sizeof *reach, "reaches", error);
    if (reach == NULL) {
        vf_flow_close(&flow);
        return VF_FAILED;
    }
    memset(reach, 0, (size_t)flow.field_count * sizeof *reach);
    if (plan->gpu == NULL)
        vf_sweeps_reach(&flow, cut, reach);
    for (int i = run->gpu.launch_count - 1; i >= 0; i--)
        reach_of_kernel(&flow, &run->gpu.launch[i], reach);
    const int axis = plan->by_rows ? 1 : 0;
    *most = 0;
    for (int k = 0; k < flow.source_count; k++)
        *most = reach[flow.source[k]][axis] > *most ? reach[flow.source[k]][axis] : *most;
    vf_free(reach);
    vf_flow_close(&flow);
    return VF_OK;
}

void vf_flow_close(struct vf_flow *flow)
{
    vf_free(flow->stage);
    vf_free(flow->field_kind);
    vf_free(flow->source);
    vf_free(flow->sink);
    *flow = (struct vf_flow){0};
}
