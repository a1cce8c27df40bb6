/* The CPU's scheme: a run of stages is one sweep over memory (cpu_row_sweep.c), or two (cpu_row_halves.c).
 *
 * A tile computes what its neighbours also need: before a line of 17 weights along y, 8 rows more of
 * everything on either side. Tiles so high that this matters little would hold, for lines along z of six
 * fields that follow, more planes than the caches do. A cut before these lines lets either sweep have tiles
 * that suit it. */
#include <math.h>
#include <stdint.h>

#include "kernels/cpu_row_halves.h"
#include "kernels/cpu_row_layout.h"
#include "kernels/cpu_row_sweep.h"
#include "src/alloc.h"
#include "src/size.h"

/* Thinner blocks would compute too many planes twice. */
#define LEAST_BLOCK 16
/* What crosses a cut takes no more memory than this, or than sources and sinks do, where nothing limits it;
 * and its pages, new to the process at first, take their time. */
#define MOST_CROSSING_BYTES ((size_t)256 << 20)
#define FRESH_BYTES_PER_SECOND 3e9
/* Two sweeps must be predicted to take less than this of one's time: they need more memory, and what is
 * predicted to gain 12% was measured to gain nothing. */
#define WORTH_A_CUT 0.88
/* To look for one takes some milliseconds. */
#define SECONDS_WORTH_A_SEARCH 0.05

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool is_cut(const struct vf_job *job)
{
    return vf_row_may_cut(job->flow, job->tiling.cut);
}

/* Beside the planes that cross. */
static size_t bytes_of_sweeps(const struct vf_row_halves *h)
{
    return larger(vf_row_sweep_bytes(&h->job[0]), vf_row_sweep_bytes(&h->job[1]));
}

static size_t bytes_of_halves(const struct vf_row_halves *h)
{
    size_t total;
    return vf_size_add(h->bytes, bytes_of_sweeps(h), &total) ? total : SIZE_MAX;
}

/* Both sweeps by turns: the first one up to the last plane that a block of the second one reads. */
static enum vf_status run_blocks(struct vf_row_halves *h, const struct vf_job *job, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    h->job[0].z_end = job->z_begin > h->reach ? job->z_begin - h->reach : 0;
    for (ptrdiff_t z = job->z_begin; z < job->z_end && status == VF_OK; z += job->tiling.block) {
        h->job[1].z_begin = z;
        h->job[1].z_end = vf_smaller(z + job->tiling.block, job->z_end);
        h->job[0].z_begin = h->job[0].z_end;
        h->job[0].z_end = vf_smaller(h->job[1].z_end + h->reach, job->nz);
        if (h->job[0].z_begin < h->job[0].z_end)
            status = vf_row_sweep_run(&h->job[0], error);
        if (status == VF_OK)
            status = vf_row_sweep_run(&h->job[1], error);
    }
    return status;
}

static enum vf_status run_halves(const struct vf_job *job, struct vf_error *error)
{
    struct vf_row_halves h;
    struct vf_room own = {0};
    enum vf_status status = vf_row_halves_open(&h, job, error);
    if (status != VF_OK)
        return status;
    char *memory = vf_room_take(job->room == NULL ? &own : job->room, bytes_of_halves(&h), 1,
                                "the planes in work", error);
    status = VF_FAILED;
    if (memory == NULL)
        goto out;
    /* Enough for either sweep, which takes it as it is. */
    struct vf_room room = {memory + h.bytes, bytes_of_sweeps(&h)};
    h.job[0].room = h.job[1].room = &room;
    status = VF_OK;
    for (ptrdiff_t image = 0; image < job->batch && status == VF_OK; image++) {
        vf_row_halves_place(&h, job, memory, image);
        status = run_blocks(&h, job, error);
    }
out:
    vf_room_free(&own);
    vf_row_halves_close(&h);
    return status;
}

static enum vf_status run(const struct vf_job *job, struct vf_error *error)
{
    return is_cut(job) ? run_halves(job, error) : vf_row_sweep_run(job, error);
}

static size_t bytes(const struct vf_job *job)
{
    struct vf_row_halves h;
    struct vf_error ignored;
    if (!is_cut(job))
        return vf_row_sweep_bytes(job);
    if (vf_row_halves_open(&h, job, &ignored) != VF_OK)
        return SIZE_MAX;
    const size_t total = bytes_of_halves(&h);
    vf_row_halves_close(&h);
    return total;
}

static size_t most_crossing(const struct vf_job *job)
{
    const struct vf_flow *flow = job->flow;
    const double element = (double)vf_flow_element(flow);
    const double held = vf_job_cells(job) * element * (flow->source_count + flow->sink_count);
    return larger(held < (double)SIZE_MAX ? (size_t)held : SIZE_MAX, MOST_CROSSING_BYTES);
}

/* Predicted seconds of a job with its cut and block, whose tiles are filled in; infinite where it is not to
 * be had. */
static double plan_halves(struct vf_job *job)
{
    struct vf_row_halves h;
    struct vf_error ignored;
    double seconds[2];
    const ptrdiff_t planes = job->z_end - job->z_begin;
    if (vf_row_halves_open(&h, job, &ignored) != VF_OK)
        return INFINITY;
    const bool fits = h.bytes < (job->work_limit > 0 ? job->work_limit : most_crossing(job));
    for (int half = 0; half < 2 && fits; half++) {
        h.job[half].z_end = h.job[half].z_begin + vf_smaller(job->tiling.block, planes);
        h.job[half].work_limit = job->work_limit > 0 ? job->work_limit - h.bytes : 0;
        seconds[half] = vf_row_sweep_plan(&h.job[half]);
    }
    job->tiling.first = h.job[0].tiling.tile;
    job->tiling.tile = h.job[1].tiling.tile;
    const bool stays = fits && (job->work_limit == 0 || bytes_of_halves(&h) <= job->work_limit);
    const double blocks = (double)planes / (double)vf_smaller(job->tiling.block, planes);
    const double more = (double)(planes + 2 * h.reach) / (double)planes;
    const double fresh = (double)h.bytes / FRESH_BYTES_PER_SECOND / (job->times > 1 ? job->times : 1);
    vf_row_halves_close(&h);
    return stays ? (double)job->batch * blocks * (more * seconds[0] + seconds[1]) + fresh : INFINITY;
}

/* The only stage of lines along z of several fields; 0: there is none, or more. */
static int find_cut(const struct vf_flow *flow)
{
    int cut = 0, count = 0;
    for (int i = 0; i < flow->stage_count; i++) {
        const struct vf_stage *stage = &flow->stage[i];
        if (stage->output_count > 1 && vf_line_axis(stage) == 0) {
            cut = i;
            count++;
        }
    }
    return count == 1 ? cut : 0;
}

static double plan(struct vf_job *job)
{
    const double one = vf_row_sweep_plan(job);
    double least = WORTH_A_CUT * one;
    struct vf_job trial = *job;
    trial.tiling.cut = find_cut(job->flow);
    if (one < SECONDS_WORTH_A_SEARCH || !is_cut(&trial))
        return one;
    const ptrdiff_t planes = job->z_end - job->z_begin;
    for (ptrdiff_t blocks = 1; blocks == 1 || planes / blocks >= LEAST_BLOCK; blocks *= 2) {
        trial.tiling.block = (planes + blocks - 1) / blocks;
        const double seconds = plan_halves(&trial);
        if (seconds < least) {
            least = seconds;
            job->tiling = trial.tiling;
        }
    }
    return job->tiling.cut > 0 ? least : one;
}

static enum vf_type cell(const struct vf_job *job)
{
    return is_cut(job) ? vf_flow_type(job->flow) : vf_row_cell(job);
}

const struct vf_scheme vf_cpu_row_stream = {
    .name = "row-stream",
    .summary = "one or two sweeps over memory, a ring of planes per stage, vectorised rows, tiles shared "
               "among threads",
    .plan = plan,
    .bytes = bytes,
    .cell = cell,
    .run = run,
};
