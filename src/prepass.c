#include "prepass.h"

/* The reducers of what is read of one field, for one live field. */
static enum vf_status open_field(struct vf_prepass *pre, const struct vf_plan *plan, bool each, int live,
                                 int field, struct vf_error *error)
{
    const struct vf_expansion *e = &plan->link[pre->link];
    const ptrdiff_t grid[3] = {plan->nx, plan->ny, plan->nz};
    for (int g = 0; g < e->global_count; g++) {
        if (e->global[g].field != field || e->global[g].each != each)
            continue;
        pre->global[pre->count] = g;
        pre->live[pre->count] = live;
        enum vf_status status = vf_reducer_open(&pre->reducer[pre->count], &e->global[g],
                                                plan->context.is_double, grid, plan->threads, error);
        if (status != VF_OK)
            return status;
        pre->count++;
    }
    return VF_OK;
}

enum vf_status vf_prepass_open(struct vf_prepass *pre, const struct vf_plan *plan, const struct vf_run *run,
                               struct vf_error *error)
{
    int sinks = 0;
    pre->count = 0;
    pre->link = plan->piece[run->piece_begin].link;
    for (int live = 0; live < vf_plan_live(plan, pre->link); live++)
        for (int field = 0; field < plan->link[pre->link].pre_field_count; field++) {
            const int first = pre->count;
            enum vf_status status = open_field(pre, plan, run->each, live, field, error);
            if (status != VF_OK)
                return status;
            if (pre->count > first)
                pre->sink[sinks++] =
                    (struct vf_sink){.reducer = &pre->reducer[first], .reducer_count = pre->count - first};
        }
    return VF_OK;
}

void vf_prepass_values(const struct vf_prepass *pre, const struct vf_plan *plan, double *value)
{
    for (int i = 0; i < pre->count; i++)
        value[vf_plan_value_index(plan, pre->link, pre->live[i], pre->global[i])] =
            vf_reducer_value(&pre->reducer[i]);
}

void vf_prepass_close(struct vf_prepass *pre)
{
    for (int i = 0; i < pre->count; i++)
        vf_reducer_close(&pre->reducer[i]);
    pre->count = 0;
}
