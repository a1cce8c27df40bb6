/* The host side of body-plane: which three stages it takes, what a block holds, and what it does, for the
 * model. kernels/body_plane.cu is the kernel. */
#include <math.h>

#include "kernels/gpu_run.h"
#include "src/size.h"

static const struct vf_taps *taps_along(const struct vf_kernel_case *c, int axis)
{
    return c->flow->stage[2 - axis / 2].taps;
}

/* How far lines along y (1) or x (2) reach. */
static int reach_of(const struct vf_kernel_case *c, int axis)
{
    return taps_along(c, axis)->halo[axis];
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->stage_count != 3 || vf_line_axis(&flow->stage[1]) != 2 || vf_line_axis(&flow->stage[2]) != 1)
        return "it is for a stage followed by 1D convolutions along x and then y of its results";
    const struct vf_stage *first = &flow->stage[0], *x = &flow->stage[1], *y = &flow->stage[2];
    if (x->input_count != flow->sink_count || y->input_count != flow->sink_count)
        return "what is stored must be the convolutions' sums";
    for (int k = 0; k < flow->sink_count; k++) {
        if (!vf_stage_makes(first, x->input[k]) || y->input[k] != x->output[k])
            return "a convolution reads something else than the results of the stage before it";
        if (flow->sink[k] != y->output[k] || c->sink_type[k] != c->sink_type[0])
            return "what is stored must be the convolutions' sums, all of one type";
    }
    return vf_kernel_plane_limit(c);
}

/* ---- what a block holds, kernels/body_plane.cu ---- */

struct shape {
    int run, row_run; /* of results along y, along x */
    int columns, border, made_pitch, summed_pitch, parts, fields;
};

static int odd_packs(int cells, int pack)
{
    return (cells / pack | 1) * pack;
}

/* Cells along x that a thread of the busiest sums, by runs so long. */
static int cells_of_thread(const struct vf_kernel_config *config, const struct shape *s, int row_run)
{
    const int runs = s->fields * s->run * s->columns / row_run, threads = config->block[0] * config->block[1];
    return (runs + threads - 1) / threads * row_run;
}

/* Longer runs take less of shared memory, where they leave no threads idle for it. */
static int row_run_of(const struct vf_kernel_config *config, const struct shape *s)
{
    const int longer = 2 * s->run;
    return s->columns % longer == 0 &&
                   cells_of_thread(config, s, longer) <= cells_of_thread(config, s, s->run)
               ? longer
               : s->run;
}

static struct shape shape_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int pack = vf_kernel_pack(c);
    struct shape s = {.run = config->work[1],
                      .columns = config->block[0] * config->work[0],
                      .border = (reach_of(c, 2) + pack - 1) / pack * pack,
                      .fields = c->flow->sink_count};
    s.made_pitch = odd_packs(s.columns + 2 * s.border, pack);
    s.summed_pitch = odd_packs(s.columns, pack);
    s.parts = vf_run_parts(reach_of(c, 1), s.run);
    s.row_run = row_run_of(config, &s);
    return s;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct shape s = shape_of(c, config);
    return (size_t)s.fields * (size_t)s.run * (size_t)(s.made_pitch + s.parts * s.summed_pitch) *
           vf_kernel_element(c);
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    size[0] = shape_of(c, config).columns;
    size[1] = config->stream;
    size[2] = 1;
}

/* Registers of 32 bits that the compiler is left: a run, and the packs that a thread makes. */
static int wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int pack = vf_kernel_pack(c), run = pack * config->work[1], made = pack * (c->flow->sink_count + 2);
    return 24 + (c->flow->is_double ? 2 : 1) * (run > made ? run : made);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const int run = config->work[1];
    if (config->work[0] != vf_kernel_pack(c) || config->block[2] > 1 || config->work[2] > 1)
        return "a thread must have 16 bytes of a row, and a block the rows of one plane";
    if (!vf_kernel_moves(c, run) || config->block[0] * config->work[0] % run != 0)
        return "a thread's work along y must be a power of two, at least 16 bytes, and the tile's columns a "
               "multiple of it";
    const struct shape s = shape_of(c, config);
    if ((s.columns + 2 * s.border) / vf_kernel_pack(c) * run > config->block[0] * config->block[1])
        return "a block must have a thread for each 16 bytes of as many rows as a thread's work, and of "
               "those beside the tile";
    if (config->stream < 1)
        return "stream is the number of rows that a block computes, at least 1";
    return vf_kernel_limits(c, gpu, config, shared(c, config));
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shape[][2] = {{128, 384}, {64, 192}, {64, 256}, {32, 128}}; /* columns, threads */
    struct vf_candidate_list all = {c, gpu, &vf_gpu_body_plane, list, 0, room};
    const int pack = vf_kernel_pack(c);
    enum { RUN = 8 };
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (int chunks = 1; chunks <= 4; chunks *= 2) {
            const int across = shape[i][0] / pack;
            const struct vf_kernel_config config = {.block = {across, shape[i][1] / across, 1},
                                                    .work = {pack, RUN, 1},
                                                    .stream = vf_whole_steps(vf_ceil_div(c->ny, chunks), RUN),
                                                    .interior = true};
            vf_candidate_add(&all, &config);
        }
    return all.count;
}

/* ---- traffic ---- */

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    const struct vf_flow *flow = c->flow;
    const struct shape s = shape_of(c, config);
    const int pack = vf_kernel_pack(c), across = s.columns + 2 * s.border, reach_y = reach_of(c, 1);
    const double rows = config->stream, all_rows = rows + 2 * reach_y, cells = rows * s.columns,
                 summed_rows = all_rows * s.columns, made = all_rows * across,
                 reads = vf_pack_reads(&flow->stage[0], flow->dim);
    traffic->threads = config->block[0] * config->block[1];
    traffic->steps = (config->stream + s.run - 1) / s.run + s.parts - 1;
    for (int k = 0; k < flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]), *halo = c->source_halo[k];
        const double own = vf_model_warp_sectors(0, element, s.columns),
                     all = vf_model_warp_sectors(-s.border, element, across);
        traffic->read_sectors += own * rows;
        traffic->halo_sectors[0] += (all - own) * all_rows;
        traffic->halo_sectors[1] += all * 2 * halo[1];
        traffic->halo_sectors[2] += all * all_rows * 2 * halo[0];
        traffic->other_ops += made * reads * vf_widening_ops(c, c->source_type[k]) / pack;
    }
    const int written = (int)vf_type_size(c->sink_type[0]);
    traffic->written_sectors = s.fields * rows * vf_model_warp_sectors(0, written, s.columns);
    traffic->global_wavefronts =
        (made / pack * reads * VF_PACK_BYTES + s.fields * cells * written) / VF_LINE_BYTES;
    /* Of a field: what is made, what lines along x take of it and put, what lines along y take. */
    const double along = 1 + 2.0 * s.border / s.row_run, down = 1 + 2.0 * reach_y / s.run;
    traffic->shared_wavefronts = s.fields * (made + summed_rows * (along + 1) + cells * down) *
                                 (double)vf_kernel_element(c) / VF_LINE_BYTES;
    const double sums_x = taps_along(c, 2)->count, sums_y = taps_along(c, 1)->count;
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) =
        made * (c->operations - s.fields * (sums_x + sums_y)) +
        s.fields * (summed_rows * sums_x + cells * sums_y);
    traffic->other_ops +=
        made / pack * (30 + 3 * reads + s.fields) +
        s.fields * (summed_rows * ((along + 1) / pack + 12.0 / s.row_run) +
                    cells * (down / pack + 3 + 20.0 / s.run + vf_narrowing_ops(c, c->sink_type[0])));
    traffic->loads = made / pack / traffic->threads * reads;
    traffic->loads_in_flight = fmin(reads, 8);
    traffic->barriers = 2.0 * (double)traffic->steps;
    traffic->issue_warps = VF_RUN_ISSUE_WARPS;
    traffic->overlap = VF_OVERLAPS;
    traffic->registers = wanted_registers(c, config);
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    vf_text_add(text, "#define VF_STORES_SUMS 1\n#define VF_ROW_RUN %d\n", shape_of(c, config).row_run);
    vf_define_least_blocks(config, wanted_registers(c, config), text);
}

/* A pack in the grid's midst, at its edges, a cell at the ends of rows; a run along x and one along y, of
 * multiply-adds, which compile in half the time. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const double sums = taps_along(c, 1)->count + taps_along(c, 2)->count,
                 made = c->operations - sums * c->flow->sink_count;
    return (2.0 * vf_kernel_pack(c) + 1) * made + 0.5 * config->work[1] * sums;
}

#define MOST_WRITTEN 1000

const struct vf_gpu_scheme vf_gpu_body_plane = {
    .name = "body-plane",
    .summary =
        "each block computes a stage's rows in shared memory and then their 1D convolutions along x and y",
    .file = "kernels/body_plane.cu",
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
