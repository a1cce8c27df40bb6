#include "kernel_work.h"

#include <limits.h>

#include "alloc.h"
#include "kernels/cpu_rows.h"

/* ---- fields ---- */

void vf_field_usage_close(struct vf_field_usage *usage)
{
    vf_free(usage->type);
    vf_free(usage->maker);
    vf_free(usage->last_use);
    vf_free(usage->sink);
    vf_free(usage->source);
    *usage = (struct vf_field_usage){0};
}

/* Sinks that a stage can store at once: made by one, not stored twice, and not read on as another type. */
static bool is_direct(const struct vf_gpu_request *request, const struct vf_field_usage *usage, int k)
{
    const struct vf_flow *flow = request->flow;
    const int field = flow->sink[k];
    for (int i = 0; i < k; i++)
        if (flow->sink[i] == field)
            return false;
    return usage->maker[field] >= 0 &&
           (usage->last_use[field] < 0 || request->sink_type[k] == usage->type[field] ||
            request->sink_type[k] == vf_flow_type(flow));
}

/* Medians of integers are such, so that they may be stored as their source is. */
static void find_types(const struct vf_gpu_request *request, struct vf_field_usage *usage)
{
    const struct vf_flow *flow = request->flow;
    for (int f = 0; f < flow->field_count; f++)
        usage->type[f] = vf_flow_type(flow);
    for (int k = 0; k < flow->source_count; k++)
        if (vf_may_keep_integers(request->source_type[k], vf_flow_outside(flow, flow->source[k])))
            usage->type[flow->source[k]] = request->source_type[k];
    for (int s = 0; s < flow->stage_count; s++)
        if (vf_body_is_median(flow->stage[s].stencil))
            usage->type[flow->stage[s].output[0]] = usage->type[flow->stage[s].input[0]];
}

enum vf_status vf_field_usage_open(struct vf_field_usage *usage, const struct vf_gpu_request *request,
                                   int *copy, int *copy_count, struct vf_error *error)
{
    const struct vf_flow *flow = request->flow;
    const size_t fields = (size_t)flow->field_count;
    *usage = (struct vf_field_usage){
        vf_alloc(fields, sizeof(int), "fields", error), vf_alloc(fields, sizeof(int), "fields", error),
        vf_alloc(fields, sizeof(int), "fields", error), vf_alloc(fields, sizeof(int), "fields", error),
        vf_alloc(fields, sizeof *usage->type, "fields", error)};
    if (!usage->maker || !usage->last_use || !usage->sink || !usage->source || !usage->type) {
        vf_field_usage_close(usage);
        return VF_FAILED;
    }
    for (size_t f = 0; f < fields; f++)
        usage->maker[f] = usage->last_use[f] = usage->sink[f] = usage->source[f] = -1;
    for (int k = 0; k < flow->source_count; k++)
        usage->source[flow->source[k]] = k;
    for (int s = 0; s < flow->stage_count; s++) {
        for (int k = 0; k < flow->stage[s].input_count; k++)
            usage->last_use[flow->stage[s].input[k]] = s;
        for (int k = 0; k < flow->stage[s].output_count; k++)
            usage->maker[flow->stage[s].output[k]] = s;
    }
    find_types(request, usage);
    *copy_count = 0;
    for (int k = 0; k < flow->sink_count; k++)
        if (is_direct(request, usage, k))
            usage->sink[flow->sink[k]] = k;
        else
            copy[(*copy_count)++] = k;
    for (int i = 0; i < *copy_count; i++)
        usage->last_use[flow->sink[copy[i]]] = INT_MAX;
    return VF_OK;
}

/* ---- the case of one kernel ---- */

/* While a case is built: the flow's numbers of what the kernel numbers anew, fields or global values. */
struct numbering {
    int count;
    int number[VF_KERNEL_MOST_FIELDS];
};

/* The kernel's number of what the flow numbers so, a new one if it has none; -1 when there are too many. */
static int number_of(struct numbering *numbering, int number)
{
    for (int i = 0; i < numbering->count; i++)
        if (numbering->number[i] == number)
            return i;
    if (numbering->count == VF_KERNEL_MOST_FIELDS)
        return -1;
    numbering->number[numbering->count] = number;
    return numbering->count++;
}

static struct vf_kernel_field place_of(const struct vf_field_usage *usage, int field)
{
    if (usage->source[field] >= 0)
        return (struct vf_kernel_field){VF_PLACE_SOURCE, usage->source[field]};
    if (usage->sink[field] >= 0)
        return (struct vf_kernel_field){VF_PLACE_SINK, usage->sink[field]};
    return (struct vf_kernel_field){VF_PLACE_SLOT, field};
}

static enum vf_type type_at(const struct vf_gpu_request *request, const struct vf_field_usage *usage,
                            struct vf_kernel_field place)
{
    return place.place == VF_PLACE_SOURCE ? request->source_type[place.index]
           : place.place == VF_PLACE_SINK ? request->sink_type[place.index]
                                          : usage->type[place.index];
}

static bool add_source(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                       const struct vf_field_usage *usage, int field, int number)
{
    const int k = work->flow.source_count;
    if (k == VF_KERNEL_FIELDS)
        return false;
    work->flow.source[k] = number;
    work->source[k] = place_of(usage, field);
    work->c.source_type[k] = type_at(request, usage, work->source[k]);
    work->flow.source_count++;
    return true;
}

static bool add_sink(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                     const struct vf_field_usage *usage, struct vf_kernel_field place, int number)
{
    const int k = work->flow.sink_count;
    if (k == VF_KERNEL_FIELDS)
        return false;
    work->flow.sink[k] = number;
    work->sink[k] = place;
    work->c.sink_type[k] = type_at(request, usage, place);
    work->flow.sink_count++;
    return true;
}

/* Kernels that differ in where their global values come from alone are alike. */
static bool take_globals(struct vf_stage *stage, struct numbering *globals)
{
    for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++) {
        if (stage->global[i] == 0)
            continue;
        stage->global[i] = number_of(globals, stage->global[i]) + 1;
        if (stage->global[i] == 0)
            return false;
    }
    return true;
}

/* Takes the stages over, renumbering their fields and global values; false when a kernel cannot have that
 * many. */
static bool take_stages(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                        const struct vf_field_usage *usage, int begin, int end, struct numbering *numbering)
{
    const struct vf_flow *flow = request->flow;
    struct numbering globals;
    globals.count = 0;
    for (int s = begin; s < end; s++) {
        struct vf_stage *stage = &work->flow.stage[s - begin];
        *stage = flow->stage[s];
        if (!take_globals(stage, &globals))
            return false;
        for (int k = 0; k < stage->input_count; k++) {
            const int field = flow->stage[s].input[k], known = numbering->count;
            stage->input[k] = number_of(numbering, field);
            if (stage->input[k] < 0 ||
                (numbering->count > known && !add_source(work, request, usage, field, stage->input[k])))
                return false;
        }
        for (int k = 0; k < stage->output_count; k++) {
            const int field = flow->stage[s].output[k];
            stage->output[k] = number_of(numbering, field);
            if (stage->output[k] < 0)
                return false;
            if ((usage->sink[field] >= 0 || usage->last_use[field] >= end) &&
                !add_sink(work, request, usage, place_of(usage, field), stage->output[k]))
                return false;
        }
    }
    return true;
}

static bool take_copies(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                        const struct vf_field_usage *usage, const int *copy, int count,
                        struct numbering *numbering)
{
    for (int i = 0; i < count; i++) {
        const int field = request->flow->sink[copy[i]], known = numbering->count;
        const int number = number_of(numbering, field);
        if (number < 0 || (numbering->count > known && !add_source(work, request, usage, field, number)) ||
            !add_sink(work, request, usage, (struct vf_kernel_field){VF_PLACE_SINK, copy[i]}, number))
            return false;
    }
    return true;
}

void vf_kernel_work_close(struct vf_kernel_work *work)
{
    vf_free(work->flow.stage);
    vf_free(work->flow.field_kind);
    vf_free(work->flow.source);
    vf_free(work->flow.sink);
    *work = (struct vf_kernel_work){0};
}

enum vf_status vf_kernel_work_take(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                                   const struct vf_field_usage *usage, int begin, int end, const int *copy,
                                   int copy_count, bool *fits, struct vf_error *error)
{
    const struct vf_flow *flow = request->flow;
    struct numbering numbering = {0};
    *work = (struct vf_kernel_work){.flow = *flow};
    work->flow.stage_count = end - begin;
    work->flow.source_count = work->flow.sink_count = 0;
    work->flow.stage = vf_alloc((size_t)(end - begin) + 1, sizeof *flow->stage, "a kernel's stages", error);
    work->flow.field_kind = vf_alloc(VF_KERNEL_MOST_FIELDS, sizeof *flow->field_kind, "a kernel", error);
    work->flow.source = vf_alloc(VF_KERNEL_FIELDS, sizeof(int), "a kernel", error);
    work->flow.sink = vf_alloc(VF_KERNEL_FIELDS, sizeof(int), "a kernel", error);
    if (!work->flow.stage || !work->flow.field_kind || !work->flow.source || !work->flow.sink) {
        vf_kernel_work_close(work);
        return VF_FAILED;
    }
    *fits = begin < end ? take_stages(work, request, usage, begin, end, &numbering)
                        : take_copies(work, request, usage, copy, copy_count, &numbering);
    work->flow.field_count = numbering.count;
    for (int i = 0; i < numbering.count; i++)
        work->flow.field_kind[i] = flow->field_kind[numbering.number[i]];
    work->c.flow = &work->flow;
    work->c.nx = request->nx;
    work->c.ny = request->ny;
    work->c.nz = request->nz;
    return VF_OK;
}

enum vf_status vf_kernel_work_make(struct vf_kernel_work *work, const struct vf_gpu_request *request,
                                   const struct vf_field_usage *usage, int begin, int end, const int *copy,
                                   int copy_count, bool *fits, struct vf_error *error)
{
    const enum vf_status status =
        vf_kernel_work_take(work, request, usage, begin, end, copy, copy_count, fits, error);
    if (status == VF_OK && *fits)
        vf_kernel_case_derive(&work->c);
    return status;
}
