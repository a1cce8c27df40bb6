#include "plan_memory.h"

#include <string.h>

#include "alloc.h"

static bool contexts_alike(const struct vf_context *a, const struct vf_context *b)
{
    bool alike = a->dim == b->dim && a->boundary == b->boundary && a->is_double == b->is_double &&
                 a->may_be_double == b->may_be_double && strcmp(a->unit, b->unit) == 0;
    for (int axis = 0; axis < 3; axis++)
        alike = alike && a->spacing[axis] == b->spacing[axis] &&
                a->spacing_known[axis] == b->spacing_known[axis] && a->aspect[axis] == b->aspect[axis];
    return alike;
}

static bool requests_alike(const struct vf_plan_request *a, const struct vf_plan_request *b)
{
    return a->chain == b->chain && contexts_alike(&a->context, &b->context) && a->constant == b->constant &&
           a->nx == b->nx && a->ny == b->ny && a->nz == b->nz && a->batch == b->batch &&
           a->threads == b->threads && a->gpu == b->gpu && a->source_type == b->source_type &&
           a->result_type == b->result_type && a->scheme == b->scheme && a->most_fused == b->most_fused;
}

/* False, and nothing is changed, where there is no memory for them. */
static bool copy_runs(struct vf_plan *to, const struct vf_plan *from)
{
    struct vf_error ignored;
    struct vf_plan copy = {.piece =
                               vf_alloc((size_t)from->piece_count, sizeof *copy.piece, "the plan", &ignored),
                           .run = vf_alloc((size_t)from->run_count, sizeof *copy.run, "the plan", &ignored)};
    bool done = copy.piece != NULL && copy.run != NULL;
    if (done)
        memcpy(copy.piece, from->piece, (size_t)from->piece_count * sizeof *copy.piece);
    for (int r = 0; r < from->run_count && done; r++) {
        struct vf_run *run = &copy.run[copy.run_count++];
        *run = from->run[r];
        if (run->repeats > 0)
            run->gpu = run[-run->repeats].gpu;
        else
            done = vf_gpu_plan_copy(&run->gpu, &from->run[r].gpu, &ignored) == VF_OK;
    }
    if (!done) {
        vf_plan_close(&copy);
        return false;
    }
    to->piece = copy.piece;
    to->piece_count = from->piece_count;
    to->run = copy.run;
    to->run_count = copy.run_count;
    return true;
}

bool vf_plan_recall(const struct vf_plan_request *request, struct vf_plan *plan)
{
    const struct vf_plan_memory *memory = request->memory;
    for (int i = 0; memory != NULL && i < VF_REMEMBERED_PLANS && i < memory->count; i++)
        if (requests_alike(request, &memory->entry[i].request))
            return copy_runs(plan, &memory->entry[i].plan);
    return false;
}

void vf_plan_remember(const struct vf_plan_request *request, const struct vf_plan *plan)
{
    struct vf_plan_memory *memory = request->memory;
    struct vf_remembered_plan entry = {.request = *request};
    if (memory == NULL || !copy_runs(&entry.plan, plan))
        return;
    struct vf_remembered_plan *oldest = &memory->entry[memory->count++ % VF_REMEMBERED_PLANS];
    vf_plan_close(&oldest->plan);
    *oldest = entry;
}

void vf_plan_memory_free(struct vf_plan_memory *memory)
{
    for (int i = 0; i < VF_REMEMBERED_PLANS; i++)
        vf_plan_close(&memory->entry[i].plan);
    *memory = (struct vf_plan_memory){0};
}
