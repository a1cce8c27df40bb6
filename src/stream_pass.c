/* What passes are made of: planes, runs and windows (stream_plan.h). */
#include "stream_plan.h"

#include "size.h"

/* Of a disk and its file system, reading or writing: what weighs the time until the first slab is there, and
 * after the last one. */
#define FILE_BYTES_PER_SECOND 1e9
/* Of files that the system keeps in memory. */
#define CACHED_BYTES_PER_SECOND 3e9
/* Taking memory: its pages are cleared, and pinned where a GPU's transfers are straight to and from them. */
#define FRESH_BYTES_PER_SECOND 3e9

ptrdiff_t vf_stream_extent(const struct vf_plan *plan)
{
    if (plan->by_rows)
        return plan->ny;
    return plan->context.dim == 2 ? plan->nz * plan->batch : plan->nz;
}

size_t vf_stream_plane(const struct vf_plan *plan)
{
    return (size_t)plan->nx * (plan->by_rows ? 1 : (size_t)plan->ny);
}

ptrdiff_t vf_stream_images(const struct vf_plan *plan)
{
    return plan->context.dim == 2 ? 1 : plan->batch;
}

size_t vf_stream_voxels(const struct vf_stream_plan *stream, const struct vf_plan *plan, size_t channels)
{
    size_t sweeps = 0;
    for (int p = 0; p < stream->pass_count; p++)
        sweeps += (size_t)(stream->pass[p].runs + (stream->pass[p].prepass >= 0));
    return vf_plan_voxels(plan) * sweeps * channels;
}

/* ---- windows ---- */

/* Where runs feed each other, planes between them would have to wait for one another. */
int vf_stream_depth(const struct vf_plan *plan, const struct vf_pass *pass)
{
    return plan->gpu != NULL && pass->runs == 1 && pass->stores ? 2 : 1;
}

double vf_stream_file_seconds(double bytes, bool cached)
{
    return bytes / (cached ? CACHED_BYTES_PER_SECOND : FILE_BYTES_PER_SECOND);
}

double vf_stream_memory_seconds(double bytes)
{
    return bytes / FRESH_BYTES_PER_SECOND;
}

/* Runs are counted by what is before them, which no pre-pass adds to: the last one that has as many. */
int vf_stream_run_of(const struct vf_plan *plan, const struct vf_pass *pass, int index)
{
    const int before = plan->run[pass->run_begin].sweeps_before + index;
    int low = pass->run_begin + index, high = plan->run_count;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (plan->run[middle].sweeps_before <= before)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int vf_stream_reader_of(const struct vf_plan *plan, const struct vf_pass *pass, int index)
{
    return index < pass->runs ? vf_stream_run_of(plan, pass, index) : pass->prepass;
}

static void count_fields(const struct vf_plan *plan, const struct vf_stream_ends *ends,
                         const struct vf_pass *pass, int index, struct vf_window_shape *shape)
{
    const int reader = vf_stream_reader_of(plan, pass, index), channels = (int)ends->channels;
    shape->type = reader >= 0 ? plan->run[reader].source_type : plan->run[pass->run_end - 1].sink_type;
    if (index == 0 && pass->from_file) {
        shape->type = ends->input->type;
        shape->count = (int)ends->input->shape.nc;
    } else if (index == pass->runs && pass->to_file) {
        shape->type = ends->result->type;
        shape->count = (int)ends->result->shape.nc;
    } else {
        shape->count =
            channels * (reader >= 0 ? plan->run[reader].inputs : plan->run[pass->run_end - 1].outputs);
    }
}

struct vf_window_shape vf_stream_window_of_reach(const struct vf_stream_plan *stream,
                                                 const struct vf_plan *plan,
                                                 const struct vf_stream_ends *ends,
                                                 const struct vf_pass *pass, int index, ptrdiff_t reach)
{
    const int runs = pass->runs, reader = vf_stream_reader_of(plan, pass, index);
    const bool periodic = (plan->context.dim == 3 || plan->by_rows) && plan->context.boundary == VF_WRAP;
    /* Another thread fills or empties it. */
    const bool end = index == 0 || (index == runs && pass->stores);
    ptrdiff_t all = vf_stream_extent(plan);
    struct vf_window_shape shape;
    count_fields(plan, ends, pass, index, &shape);
    shape.beyond = periodic ? reach : 0;
    const int depth = vf_stream_depth(plan, pass);
    const ptrdiff_t on_their_way = pass->slab * depth;
    shape.capacity = reader < 0 ? 0 : 2 * stream->run[reader].reach + on_their_way;
    /* While slabs are filled beside it, its reader has one in work. */
    shape.capacity = index == 0 || depth > 1 ? shape.capacity + pass->slab : shape.capacity;
    shape.capacity = end ? vf_larger(shape.capacity, on_their_way + pass->slab) : shape.capacity;
    all = (all + 2 * shape.beyond) * (end ? vf_stream_images(plan) : 1);
    shape.capacity = vf_smaller(shape.capacity, all);
    const double plane = (double)vf_stream_plane(plan) * (double)vf_type_size(shape.type);
    shape.bytes = shape.count *
                  ((double)shape.capacity * plane + (double)vf_stream_extent(plan) * (double)sizeof(void *));
    if (index == runs && pass->to_file && ends->result->has_alpha)
        shape.bytes += plane;
    if (plan->by_rows && index == 0 && pass->from_file)
        shape.bytes += shape.count * plane * (double)vf_info_rows_at_once(ends->input, ends->read_block);
    if (plan->by_rows && index == runs && pass->to_file)
        shape.bytes += shape.count * plane * (double)vf_info_rows_at_once(ends->result, ends->write_block);
    return shape;
}

struct vf_window_shape vf_stream_window(const struct vf_stream_plan *stream, const struct vf_plan *plan,
                                        const struct vf_stream_ends *ends, const struct vf_pass *pass,
                                        int index)
{
    ptrdiff_t reach = 0;
    for (int i = index; i < pass->runs + (pass->prepass >= 0); i++)
        reach += stream->run[vf_stream_reader_of(plan, pass, i)].reach;
    return vf_stream_window_of_reach(stream, plan, ends, pass, index, reach);
}
