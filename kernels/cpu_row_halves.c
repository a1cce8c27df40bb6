#include "kernels/cpu_row_halves.h"

#include "kernels/cpu_rows.h"
#include "src/alloc.h"
#include "src/size.h"

static bool makes(const struct vf_flow *flow, int begin, int end, int field)
{
    for (int i = begin; i < end; i++)
        if (vf_stage_makes(&flow->stage[i], field))
            return true;
    return false;
}

static bool reads(const struct vf_flow *flow, int begin, int end, int field)
{
    for (int i = begin; i < end; i++)
        for (int k = 0; k < flow->stage[i].input_count; k++)
            if (flow->stage[i].input[k] == field)
                return true;
    return false;
}

bool vf_row_may_cut(const struct vf_flow *flow, int cut)
{
    if (flow->dim != 3 || flow->boundary == VF_WRAP || cut <= 0 || cut >= flow->stage_count)
        return false;
    for (int k = 0; k < flow->sink_count; k++)
        if (!makes(flow, cut, flow->stage_count, flow->sink[k]))
            return false;
    return true;
}

/* The stages of a half and the sources that it reads, after `count` that cross. */
static void take_stages(struct vf_row_halves *h, const struct vf_flow *flow, int half, int begin, int end,
                        int count)
{
    for (int k = 0; k < flow->source_count; k++)
        if (reads(flow, begin, end, flow->source[k]))
            h->source[half][count++] = flow->source[k];
    h->flow[half] = *flow;
    h->flow[half].stage = flow->stage + begin;
    h->flow[half].stage_count = end - begin;
    h->flow[half].source = h->source[half];
    h->flow[half].source_count = count;
}

static void split(struct vf_row_halves *h, const struct vf_flow *flow, int cut)
{
    for (int f = 0; f < flow->field_count; f++)
        if (makes(flow, 0, cut, f) && reads(flow, cut, flow->stage_count, f)) {
            h->source[1][h->crossing] = f;
            h->crossed[h->crossing++] = f;
        }
    take_stages(h, flow, 0, 0, cut, 0);
    take_stages(h, flow, 1, cut, flow->stage_count, h->crossing);
    h->flow[0].sink = h->crossed;
    h->flow[0].sink_count = h->crossing;
}

/* How many planes the second sweep reads of what crosses, and their bytes. */
static enum vf_status measure(struct vf_row_halves *h, const struct vf_job *job, struct vf_error *error)
{
    const struct vf_flow *flow = job->flow;
    const size_t element = vf_flow_element(flow);
    int(*reach)[3] = vf_alloc((size_t)flow->field_count, sizeof *reach, "reach of stages", error);
    if (reach == NULL)
        return VF_FAILED;
    h->reach = vf_sweeps_reach(flow, job->tiling.cut, reach);
    vf_free(reach);
    h->held = job->nz - job->tiling.block > 2 * h->reach ? job->tiling.block + 2 * h->reach : job->nz;
    if (!vf_size_mul((size_t)job->nx, (size_t)job->ny * element, &h->plane_bytes) ||
        !vf_size_mul(h->plane_bytes, (size_t)h->crossing * (size_t)h->held, &h->bytes) ||
        !vf_size_add(h->bytes, VF_ROW_READ_BEYOND + VF_ALIGNMENT, &h->bytes))
        return vf_fail(error, VF_FAILED, "the planes between two sweeps are too large to address");
    h->bytes -= h->bytes % VF_ALIGNMENT;
    return VF_OK;
}

/* Room for the lists, in one piece of each kind. */
static enum vf_status make_lists(struct vf_row_halves *h, const struct vf_flow *flow, struct vf_error *error)
{
    const size_t fields = (size_t)flow->field_count, sinks = (size_t)flow->sink_count;
    h->source[0] = vf_alloc(3 * fields, sizeof **h->source, "two sweeps", error);
    h->array[0] = vf_alloc(3 * fields + sinks, sizeof **h->array, "two sweeps", error);
    h->sink[0] = vf_alloc(fields + sinks, sizeof **h->sink, "two sweeps", error);
    if (h->source[0] == NULL || h->array[0] == NULL || h->sink[0] == NULL)
        return VF_FAILED;
    h->source[1] = h->source[0] + fields;
    h->crossed = h->source[1] + fields;
    h->array[1] = h->array[0] + fields;
    h->stored[0] = h->array[1] + fields;
    h->stored[1] = h->stored[0] + fields;
    h->sink[1] = h->sink[0] + fields;
    return VF_OK;
}

/* Of a job's source: its number. */
static int number_of(const struct vf_flow *flow, int source)
{
    int k = 0;
    while (flow->source[k] != source)
        k++;
    return k;
}

/* The sources' types, which what a sweep needs of memory depends on. */
static void set_types(struct vf_row_halves *h, const struct vf_job *job)
{
    const struct vf_flow *flow = job->flow;
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < h->flow[half].source_count; k++)
            h->array[half][k].type = k < half * h->crossing ? vf_flow_type(flow)
                                     : job->source == NULL
                                         ? job->source_type
                                         : job->source[number_of(flow, h->source[half][k])].type;
}

enum vf_status vf_row_halves_open(struct vf_row_halves *h, const struct vf_job *job, struct vf_error *error)
{
    enum vf_status status;
    *h = (struct vf_row_halves){0};
    VF_TRY(make_lists(h, job->flow, error));
    split(h, job->flow, job->tiling.cut);
    VF_TRY(measure(h, job, error));
    h->plane = vf_alloc((size_t)h->crossing * (size_t)job->nz, sizeof *h->plane, "two sweeps", error);
    status = h->plane == NULL ? VF_FAILED : VF_OK;
    for (int half = 0; half < 2; half++) {
        h->job[half] = *job;
        h->job[half].flow = &h->flow[half];
        h->job[half].batch = 1;
        h->job[half].tiling = (struct vf_tiling){.tile = half == 0 ? job->tiling.first : job->tiling.tile};
        h->job[half].source = h->array[half];
        h->job[half].sink = h->sink[half];
    }
    set_types(h, job);
    h->job[0].progress = NULL;
    h->job[1].in_place = h->crossing;
out:
    if (status != VF_OK)
        vf_row_halves_close(h);
    return status;
}

void vf_row_halves_close(struct vf_row_halves *h)
{
    vf_free(h->source[0]);
    vf_free(h->array[0]);
    vf_free(h->sink[0]);
    vf_free(h->plane);
}

/* An array of the job, turned to the image. */
static struct vf_array of_image(const struct vf_job *job, const struct vf_array *array, ptrdiff_t image)
{
    return (struct vf_array){.type = array->type, .plane = array->plane + image * job->nz};
}

void vf_row_halves_place(struct vf_row_halves *h, const struct vf_job *job, char *memory, ptrdiff_t image)
{
    const struct vf_flow *flow = job->flow;
    for (int k = 0; k < h->crossing; k++) {
        void **plane = h->plane + k * job->nz;
        for (ptrdiff_t z = 0; z < job->nz; z++)
            plane[z] = memory + (size_t)(k * h->held + z % h->held) * h->plane_bytes;
        h->stored[0][k] = (struct vf_array){.type = vf_flow_type(flow), .plane = plane};
        h->sink[0][k] = (struct vf_sink){.array = &h->stored[0][k]};
        h->array[1][k] = h->stored[0][k];
    }
    for (int half = 0; half < 2; half++)
        for (int k = half * h->crossing; k < h->flow[half].source_count; k++)
            h->array[half][k] = of_image(job, &job->source[number_of(flow, h->source[half][k])], image);
    for (int k = 0; k < flow->sink_count; k++) {
        h->sink[1][k] = job->sink[k];
        if (job->sink[k].array == NULL)
            continue;
        h->stored[1][k] = of_image(job, job->sink[k].array, image);
        h->sink[1][k].array = &h->stored[1][k];
    }
}
