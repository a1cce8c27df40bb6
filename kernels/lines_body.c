/* The host side of lines-body: which two stages it takes, its rings in shared memory, and what a block does,
 * for the model. kernels/lines_body.cu is the kernel. */
#include <limits.h>

#include "kernels/gpu_run.h"

#define WARP 32

static const struct vf_stage *line_of(const struct vf_kernel_case *c)
{
    return &c->flow->stage[0];
}

/* An index into block and work: 1 or 2. */
static int axis_of(const struct vf_kernel_case *c)
{
    return 2 - vf_line_axis(line_of(c));
}

static int reach_of(const struct vf_kernel_case *c)
{
    return line_of(c)->taps->halo[2 - axis_of(c)];
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->stage_count != 2 || vf_line_axis(&flow->stage[0]) < 0 || vf_line_axis(&flow->stage[0]) == 2 ||
        flow->stage[0].input_count < 2 || flow->stage[1].stencil == VF_STENCIL_LINEAR)
        return "it is for 1D convolutions of several fields along y or z, followed by a stage that reads "
               "their results";
    if (!c->shallow)
        return "the last stage reads the convolutions' results beside its own voxel";
    const struct vf_stage *line = &flow->stage[0], *body = &flow->stage[1];
    for (int k = 0; k < line->input_count; k++) {
        if (!vf_flow_is_source(flow, line->input[k]) || c->source_type[k] != c->source_type[0] ||
            flow->source[k] != line->input[k])
            return "the convolutions' fields are not the first ones, or differ in type";
    }
    for (int k = 0; k < flow->sink_count; k++)
        if (!vf_stage_makes(body, flow->sink[k]))
            return "what is stored must be the last stage's results";
    /* Planes are counted from a run's own, forwards and backwards, by products of two ints. */
    if (flow->dim == 3 && vf_gpu_pitch(c->nx) > INT_MAX / c->ny)
        return "the planes are too large";
    return vf_kernel_plane_limit(c);
}

/* ---- what a block holds, kernels/lines_body.cu ---- */

static int run_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return config->work[axis_of(c)];
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int run = run_of(c, config),
              ring = vf_run_parts(reach_of(c), run) - 1 + 2 * config->block[axis_of(c)];
    return (size_t)line_of(c)->input_count * (size_t)(ring * run * WARP) * vf_kernel_element(c);
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    size[0] = WARP;
    size[1] = size[2] = 1;
    size[axis_of(c)] = config->stream;
}

/* Registers of 32 bits that the compiler is left: a run of each field, what a stage needs, and what it reads
 * of other fields, for several places at once. */
static int wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int run = run_of(c, config), sums = line_of(c)->input_count * run,
              words = c->flow->is_double ? 2 : 1;
    const bool reads_others = c->flow->source_count > line_of(c)->input_count;
    return words * (sums + (reads_others ? 80 : 40)) + 8;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const int axis = axis_of(c), beside = 3 - axis;
    if (config->block[0] != WARP || config->block[beside] > 1 || config->work[0] > 1 ||
        config->work[beside] > 1)
        return "a block must be 32 threads wide, and its other threads and all voxels of a thread must lie "
               "along the line";
    if (!vf_kernel_moves(c, config->work[axis]))
        return "a thread's work along the line must be a power of two, at least 16 bytes";
    if (config->stream < 1)
        return "stream is the number of voxels that a block computes along the line, at least 1";
    return vf_run_limits(c, gpu, config, shared(c, config), wanted_registers(c, config));
}

/* ---- candidates ---- */

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shape[][2] = {{8, 4}, {4, 8}, {8, 8}, {4, 4}, {4, 16}, {8, 2}}; /* run, warps */
    struct vf_candidate_list all = {c, gpu, &vf_gpu_lines_body, list, 0, room};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        struct vf_kernel_config config = {.block = {WARP, 1, 1}, .work = {1, 1, 1}};
        config.work[axis_of(c)] = shape[i][0];
        config.block[axis_of(c)] = shape[i][1];
        vf_candidates_add_chunks(&all, &config, axis_of(c), 2 * reach_of(c));
    }
    return all.count;
}

/* ---- traffic ---- */

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    const struct vf_flow *flow = c->flow;
    const int axis = axis_of(c), run = run_of(c, config), warps = config->block[axis], reach = reach_of(c),
              fields = line_of(c)->input_count, taps = 2 * reach + 1;
    const double places = config->stream, cells = places * WARP, pack = vf_kernel_pack(c);
    traffic->threads = WARP * warps;
    traffic->steps = (config->stream + warps * run - 1) / (warps * run);
    for (int k = 0; k < flow->source_count; k++) {
        const double row = vf_model_warp_sectors(0, (int)vf_type_size(c->source_type[k]), WARP);
        traffic->read_sectors += places * row;
        if (k < fields) {
            traffic->halo_sectors[axis] += 2 * reach * row;
        } else {
            traffic->halo_sectors[0] += places * 2 * c->source_halo[k][2];
            traffic->halo_sectors[1] += places * row * 2 * c->source_halo[k][1];
            traffic->halo_sectors[2] += places * row * 2 * c->source_halo[k][0];
        }
    }
    for (int k = 0; k < flow->sink_count; k++)
        traffic->written_sectors +=
            places * vf_model_warp_sectors(0, (int)vf_type_size(c->sink_type[k]), WARP);
    vf_count_whole_lines(traffic);
    const double taken = fields * (run + 2.0 * reach) / run, summed = (double)fields * taps,
                 others = flow->source_count - fields, body = c->operations - summed;
    traffic->shared_wavefronts = cells * (taken + fields) * (double)vf_kernel_element(c) / VF_LINE_BYTES;
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) = cells * (summed + body);
    traffic->other_ops = cells * (taken + 12.0 * fields / pack + 8.0 * others + 2.0 * flow->sink_count +
                                  60.0 / run + vf_widening_ops(c, c->source_type[0]) * fields);
    const double brought = (double)fields * run / pack;
    traffic->loads = (traffic->steps + (vf_run_parts(reach_of(c), run) - 1.0) / warps) * brought;
    traffic->loads_in_flight = vf_fills_are_copies(c, gpu) ? brought : 1;
    traffic->barriers = (double)traffic->steps;
    traffic->issue_warps = VF_RUN_ISSUE_WARPS;
    traffic->overlap = VF_RUNS_AHEAD;
    traffic->registers = wanted_registers(c, config);
}

/* A run of each field, multiply-adds, which compile in half the time of other code, and a stage for each of
 * its places and once more for those in doubt. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int run = run_of(c, config);
    const double summed = (double)line_of(c)->input_count * line_of(c)->taps->count;
    return 0.5 * run * summed + (run + 1) * (c->operations - summed);
}

/* More code than this waits for instructions: an eigenvector by runs of eight took 3.0 ms where runs of four
 * took 2.7. */
#define MOST_WRITTEN 2500

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    vf_define_least_blocks(config, wanted_registers(c, config), text);
}

const struct vf_gpu_scheme vf_gpu_lines_body = {
    .name = "lines-body",
    .summary = "each thread computes runs of several 1D convolutions and the stage that reads them",
    .file = "kernels/lines_body.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .most_written = MOST_WRITTEN,
    .define = define,
};
