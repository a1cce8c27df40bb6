#include "gpu_plan.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "alloc.h"
#include "precompiled.h"

/* The most stages that the search puts into one kernel. */
#define MOST_FUSED 24

/* ---- the case of one kernel ---- */

enum vf_status vf_kernel_work_open(struct vf_kernel_work *work, const struct vf_gpu_plan *plan,
                                   const struct vf_gpu_request *request, const struct vf_launch *launch,
                                   struct vf_error *error)
{
    struct vf_field_usage usage;
    bool fits = true;
    int count;
    int *copy = vf_alloc((size_t)request->flow->sink_count + 1, sizeof *copy, "a kernel", error);
    if (copy == NULL)
        return VF_FAILED;
    enum vf_status status = vf_field_usage_open(&usage, request, copy, &count, error);
    if (status == VF_OK)
        status = vf_kernel_work_make(work, request, &usage, launch->stage_begin, launch->stage_end,
                                     plan->copy + launch->copy_begin, launch->copy_end - launch->copy_begin,
                                     &fits, error);
    if (status == VF_OK && !fits) {
        vf_kernel_work_close(work);
        status = vf_fail(error, VF_USAGE, "stages have more fields than one kernel can take");
    }
    vf_field_usage_close(&usage);
    vf_free(copy);
    return status;
}

/* ---- the search ---- */

/* Some consecutive stages as one kernel, and what was found for them. */
struct vf_gpu_group {
    struct vf_kernel_work work;
    const struct vf_forced *forced; /* what the user says of these stages; NULL: nothing */
    struct vf_ranked best;          /* if `possible` */
    bool possible;
};

struct search {
    const struct vf_gpu_request *request;
    struct vf_field_usage usage;
    struct vf_gpu_groups *groups;
};

void vf_gpu_groups_free(struct vf_gpu_groups *groups)
{
    for (int i = 0; i < groups->count; i++)
        vf_kernel_work_close(&groups->group[i].work);
    vf_free(groups->group);
    *groups = (struct vf_gpu_groups){0};
}

/* Whether both are the same work: whatever is found for one of them holds for the other. */
static bool works_alike(const struct vf_kernel_work *a, const struct vf_kernel_work *b)
{
    const struct vf_flow *f = &a->flow, *g = &b->flow;
    return f->stage_count == g->stage_count && f->field_count == g->field_count &&
           f->source_count == g->source_count && f->sink_count == g->sink_count &&
           memcmp(f->stage, g->stage, (size_t)f->stage_count * sizeof *f->stage) == 0 &&
           memcmp(f->field_kind, g->field_kind, (size_t)f->field_count * sizeof *f->field_kind) == 0 &&
           memcmp(f->source, g->source, (size_t)f->source_count * sizeof *f->source) == 0 &&
           memcmp(f->sink, g->sink, (size_t)f->sink_count * sizeof *f->sink) == 0 &&
           memcmp(a->c.source_type, b->c.source_type, sizeof a->c.source_type) == 0 &&
           memcmp(a->c.sink_type, b->c.sink_type, sizeof a->c.sink_type) == 0;
}

/* What --scheme says of stage s, the last word if there are several; NULL: the plan may choose. */
static const struct vf_forced *forced_for(const struct vf_gpu_request *request, int s)
{
    const struct vf_forced *found = NULL;
    for (int i = 0; request->forced != NULL && i < request->forced->count; i++) {
        const struct vf_forced *entry = &request->forced->entry[i];
        if (entry->stage[0] == '\0' || strcmp(entry->stage, request->flow->stage[s].name) == 0)
            found = entry;
    }
    return found;
}

/* Whether stages of which these are said may be in one kernel: words for several stages that say the same do
 * not separate them. */
static bool says_same(const struct vf_forced *a, const struct vf_forced *b)
{
    return a == b ||
           (a != NULL && b != NULL && a->scheme == b->scheme && a->variant == b->variant &&
            a->grid == b->grid && a->virtual_blocks == b->virtual_blocks && a->interior == b->interior &&
            a->fuse == b->fuse && vf_config_equal(&a->config, &b->config));
}

/* Whether the user allows stages [begin, end) in one kernel; *forced is what was said of them. */
static bool may_group(const struct vf_gpu_request *request, int begin, int end,
                      const struct vf_forced **forced)
{
    *forced = forced_for(request, begin);
    for (int s = begin + 1; s < end; s++)
        if (!says_same(forced_for(request, s), *forced))
            return false;
    const int fuse = *forced == NULL ? 0 : (*forced)->fuse, left = request->flow->stage_count - begin;
    return fuse == 0 || end - begin == (fuse < left ? fuse : left);
}

/* Finds the best kernel for stages [begin, end), unless the same work is among the groups already. *known is
 * its group; NULL: there is no such kernel. */
static enum vf_status weigh(struct search *search, int begin, int end, struct vf_gpu_group **known,
                            struct vf_error *error)
{
    struct vf_gpu_groups *groups = search->groups;
    const struct vf_forced *forced;
    *known = NULL;
    if (!may_group(search->request, begin, end, &forced))
        return VF_OK;
    const size_t room = groups->room;
    struct vf_gpu_group *grown = vf_grow(groups->group, (size_t)groups->count, &groups->room, sizeof *grown,
                                         "the plan's search", error);
    if (grown == NULL)
        return VF_FAILED;
    for (int i = 0; i < groups->count && groups->room != room; i++)
        grown[i].work.c.flow = &grown[i].work.flow;
    groups->group = grown;
    struct vf_gpu_group *entry = &grown[groups->count];
    bool fits;
    enum vf_status status =
        vf_kernel_work_take(&entry->work, search->request, &search->usage, begin, end, NULL, 0, &fits, error);
    if (status != VF_OK)
        return status;
    if (!fits) {
        vf_kernel_work_close(&entry->work);
        return VF_OK;
    }
    for (int i = 0; i < groups->count; i++)
        if (grown[i].forced == forced && works_alike(&grown[i].work, &entry->work)) {
            vf_kernel_work_close(&entry->work);
            *known = grown[i].possible ? &grown[i] : NULL;
            return VF_OK;
        }
    vf_kernel_case_derive(&entry->work.c);
    entry->forced = forced;
    entry->possible = vf_gpu_choose(&entry->work.c, search->request->gpu, forced, &entry->best);
    groups->count++;
    *known = entry->possible ? entry : NULL;
    return VF_OK;
}

/* The fastest plan for the stages before a place: what it takes in all, and its last kernel. */
struct best {
    double seconds;
    int begin; /* the kernel's first stage */
    int group; /* the kernel's group */
};

static enum vf_status no_kernel(const struct vf_gpu_request *request, const char *kind, const char *name,
                                struct vf_error *error)
{
    if (request->gpu->precompiled != NULL)
        return vf_fail(error, VF_FAILED, "no kernel shipped with volfilter fits %s%s, and %.900s", kind, name,
                       request->gpu->precompiled->why.text);
    return vf_fail(error, VF_FAILED, "no GPU scheme can run %s%s on %s", kind, name, request->gpu->name);
}

/* How many stages from s on the user wants in one kernel; 0: that is impossible, and *why says why. */
static int forced_stages(const struct vf_gpu_request *request, int s, const char **why)
{
    const struct vf_forced *forced = forced_for(request, s);
    const int left = request->flow->stage_count - s;
    const int wanted = forced->fuse == 0 ? 1 : forced->fuse < left ? forced->fuse : left;
    *why = wanted > MOST_FUSED ? "too many stages for one kernel: use a smaller fuse" : NULL;
    for (int i = s + 1; i < s + wanted && *why == NULL; i++)
        if (!says_same(forced_for(request, i), forced))
            *why = "all stages that fuse counts must be given the same scheme";
    return *why == NULL ? wanted : 0;
}

/* Why stages [s, s + wanted) cannot be run as the user forces. */
static enum vf_status find_reason(struct search *search, int s, int wanted, const char **why,
                                  struct vf_error *error)
{
    const struct vf_gpu_request *request = search->request;
    const struct vf_forced *forced = forced_for(request, s);
    struct vf_kernel_work work;
    bool fits;
    enum vf_status status =
        vf_kernel_work_make(&work, request, &search->usage, s, s + wanted, NULL, 0, &fits, error);
    if (status != VF_OK)
        return status;
    *why = fits ? vf_gpu_refusal(&work.c, request->gpu, forced) : "there are too many fields for one kernel";
    vf_kernel_work_close(&work);
    return VF_OK;
}

/* The error for stages from s on that cannot be run as the user forces, or at all. */
static enum vf_status impossible(struct search *search, int s, struct vf_error *error)
{
    const struct vf_gpu_request *request = search->request;
    const struct vf_forced *forced = forced_for(request, s);
    const struct vf_stage *stage = &request->flow->stage[s];
    const char *why;
    if (forced == NULL)
        return no_kernel(request, "stage ", stage->name, error);
    const int wanted = forced_stages(request, s, &why);
    enum vf_status status = wanted > 0 ? find_reason(search, s, wanted, &why, error) : VF_OK;
    if (status != VF_OK)
        return status;
    if (wanted > 1)
        return vf_fail(error, VF_USAGE, "scheme %s cannot run %d stages from %s on in one kernel: %s",
                       forced->scheme->name, wanted, stage->name, why);
    return vf_fail(error, VF_USAGE, "scheme %s cannot run stage %s: %s", forced->scheme->name, stage->name,
                   why);
}

/* Fills best[0..stages]: the fastest plan for the stages before each place, from those of the places before
 * it. */
static enum vf_status find_best(struct search *search, struct best *best, struct vf_error *error)
{
    const int count = search->request->flow->stage_count;
    best[0] = (struct best){0};
    for (int end = 1; end <= count; end++) {
        best[end].seconds = INFINITY;
        for (int begin = end - 1; begin >= 0 && end - begin <= MOST_FUSED; begin--) {
            struct vf_gpu_group *known;
            enum vf_status status = weigh(search, begin, end, &known, error);
            if (status != VF_OK)
                return status;
            if (known == NULL || !isfinite(best[begin].seconds))
                continue;
            const double seconds = best[begin].seconds + known->best.seconds;
            if (seconds < best[end].seconds)
                best[end] = (struct best){seconds, begin, (int)(known - search->groups->group)};
        }
    }
    int reached = count;
    while (!isfinite(best[reached].seconds))
        reached--;
    return reached < count ? impossible(search, reached, error) : VF_OK;
}

static enum vf_status add_stage_launches(struct vf_gpu_plan *plan, struct search *search,
                                         struct vf_error *error)
{
    const int count = search->request->flow->stage_count;
    struct best *best = vf_alloc((size_t)count + 1, sizeof *best, "the plan's search", error);
    enum vf_status status = best == NULL ? VF_FAILED : find_best(search, best, error);
    int launches = 0;
    for (int end = count; status == VF_OK && end > 0; end = best[end].begin)
        launches++;
    plan->launch_count = launches;
    for (int end = count, i = launches; status == VF_OK && end > 0; end = best[end].begin) {
        const struct vf_gpu_group *group = &search->groups->group[best[end].group];
        plan->launch[--i] = (struct vf_launch){.stage_begin = best[end].begin,
                                               .stage_end = end,
                                               .alike = best[end].group,
                                               .choice = group->best,
                                               .forced = group->forced != NULL};
    }
    /* `alike` becomes the number of the first launch of the same group. Going backwards, since that one must
     * still have the group's number. */
    for (int i = launches - 1; i >= 0; i--) {
        int first = 0;
        while (plan->launch[first].alike != plan->launch[i].alike)
            first++;
        plan->launch[i].alike = first;
    }
    vf_free(best);
    return status;
}

static enum vf_status add_copy_launches(struct vf_gpu_plan *plan, const struct search *search,
                                        struct vf_error *error)
{
    const int stages = search->request->flow->stage_count;
    for (int begin = 0; begin < plan->copy_count; begin += VF_KERNEL_FIELDS) {
        const int left = plan->copy_count - begin;
        struct vf_launch *launch = &plan->launch[plan->launch_count++];
        struct vf_kernel_work work;
        bool fits;
        *launch = (struct vf_launch){.alike = plan->launch_count - 1,
                                     .stage_begin = stages,
                                     .stage_end = stages,
                                     .copy_begin = begin,
                                     .copy_end = begin + (left < VF_KERNEL_FIELDS ? left : VF_KERNEL_FIELDS)};
        enum vf_status status =
            vf_kernel_work_make(&work, search->request, &search->usage, stages, stages, plan->copy + begin,
                                launch->copy_end - begin, &fits, error);
        if (status != VF_OK)
            return status;
        const bool possible = fits && vf_gpu_choose(&work.c, search->request->gpu, NULL, &launch->choice);
        vf_kernel_work_close(&work);
        if (!possible)
            return no_kernel(search->request, "copies", "", error);
    }
    return VF_OK;
}

/* The most slots that are held at once. A field has a slot from the kernel that makes it to the kernel that
 * reads it last. */
static int count_slots(const struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                       const struct vf_field_usage *usage)
{
    const struct vf_flow *flow = request->flow;
    int held = 0, most = 0;
    for (int i = 0; i < plan->launch_count; i++) {
        const struct vf_launch *launch = &plan->launch[i];
        for (int f = 0; f < flow->field_count; f++)
            held += usage->maker[f] >= launch->stage_begin && usage->maker[f] < launch->stage_end &&
                    usage->sink[f] < 0 && usage->last_use[f] >= launch->stage_end;
        most = held > most ? held : most;
        for (int f = 0; f < flow->field_count; f++)
            held -= usage->maker[f] >= 0 && usage->maker[f] < launch->stage_begin && usage->sink[f] < 0 &&
                    usage->last_use[f] >= launch->stage_begin && usage->last_use[f] < launch->stage_end;
    }
    return most;
}

enum vf_status vf_gpu_plan_open(struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                struct vf_error *error)
{
    struct vf_gpu_groups own = {0};
    struct search search = {.request = request, .groups = request->groups == NULL ? &own : request->groups};
    const size_t sinks = (size_t)request->flow->sink_count;
    static atomic_ulong plans;
    enum vf_status status = VF_FAILED;
    *plan = (struct vf_gpu_plan){.number = atomic_fetch_add(&plans, 1) + 1};
    plan->copy = vf_alloc(sinks + 1, sizeof *plan->copy, "the plan", error);
    plan->launch =
        vf_alloc((size_t)request->flow->stage_count + sinks + 1, sizeof *plan->launch, "the plan", error);
    if (plan->copy == NULL || plan->launch == NULL)
        goto out;
    VF_TRY(vf_field_usage_open(&search.usage, request, plan->copy, &plan->copy_count, error));
    VF_TRY(add_stage_launches(plan, &search, error));
    VF_TRY(add_copy_launches(plan, &search, error));
    plan->slot_count = count_slots(plan, request, &search.usage);
    for (int i = 0; i < plan->launch_count; i++)
        plan->seconds += plan->launch[i].choice.seconds;
out:
    vf_gpu_groups_free(&own);
    vf_field_usage_close(&search.usage);
    if (status != VF_OK)
        vf_gpu_plan_close(plan);
    return status;
}

enum vf_status vf_gpu_plan_copy(struct vf_gpu_plan *to, const struct vf_gpu_plan *from,
                                struct vf_error *error)
{
    *to = *from;
    to->launch = vf_alloc((size_t)from->launch_count + 1, sizeof *to->launch, "the plan", error);
    to->copy = vf_alloc((size_t)from->copy_count + 1, sizeof *to->copy, "the plan", error);
    if (to->launch == NULL || to->copy == NULL) {
        vf_gpu_plan_close(to);
        return VF_FAILED;
    }
    if (from->launch_count > 0)
        memcpy(to->launch, from->launch, (size_t)from->launch_count * sizeof *to->launch);
    if (from->copy_count > 0)
        memcpy(to->copy, from->copy, (size_t)from->copy_count * sizeof *to->copy);
    return VF_OK;
}

void vf_gpu_plan_close(struct vf_gpu_plan *plan)
{
    vf_free(plan->launch);
    vf_free(plan->copy);
    *plan = (struct vf_gpu_plan){0};
}
