/* The host side of body-lines: which two stages it takes, its tile and shared memory, and what a block does,
 * for the model. kernels/body_lines.cu is the kernel. */
#include <math.h>

#include "kernels/gpu_run.h"

/* Sums along x reach no farther: packs beside them are in registers. */
#define MOST_REACH 32

/* Of the sums. */
static int reach_of(const struct vf_kernel_case *c)
{
    return c->flow->stage[1].taps->halo[2];
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->stage_count != 2 || vf_line_axis(&flow->stage[1]) != 2)
        return "it is for a stage followed by 1D convolutions along x of its results";
    const struct vf_stage *first = &flow->stage[0], *line = &flow->stage[1];
    for (int k = 0; k < line->input_count; k++) {
        if (!vf_stage_makes(first, line->input[k]))
            return "a convolution reads something else than the first stage's results";
        if (line->input_count != flow->sink_count || flow->sink[k] != line->output[k] ||
            c->sink_type[k] != c->sink_type[0])
            return "what is stored must be the convolutions' sums, all of one type";
    }
    return c->halo[2] > MOST_REACH ? "it reaches too far for registers" : NULL;
}

/* ---- tiles, kernels/body_lines.cu ---- */

/* Of a tile's row with what lies beside it. */
static int packs_of_row(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return config->block[0] + 2 * ((reach_of(c) + vf_kernel_pack(c) - 1) / vf_kernel_pack(c));
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    size[0] = (ptrdiff_t)vf_kernel_pack(c) * config->block[0];
    size[1] = config->block[1];
    size[2] = 1;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return (size_t)c->flow->sink_count * (size_t)config->block[1] * (size_t)packs_of_row(c, config) *
           VF_PACK_BYTES;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    if (config->stream > 0)
        return "body-lines does not stream";
    if (config->block[2] > 1 || config->work[0] != vf_kernel_pack(c) || config->work[1] > 1 ||
        config->work[2] > 1)
        return "a thread must have 16 bytes of a row, and a block the rows of one plane";
    if (config->block[0] % 8 != 0)
        return "a block's width must be a multiple of 8 threads";
    return vf_kernel_limits(c, gpu, config, shared(c, config));
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shape[][2] = {{64, 2}, {32, 4}, {64, 4}, {32, 8}, {8, 8}, {8, 4}};
    enum { NARROW = 32 }; /* fewer columns of threads are slow, by more than is predicted */
    int n = 0;
    for (size_t i = 0; i < sizeof shape / sizeof *shape && n < room; i++) {
        if (shape[i][0] < NARROW && c->nx >= NARROW * vf_kernel_pack(c))
            continue;
        const struct vf_kernel_config config = {
            .block = {shape[i][0], shape[i][1], 1}, .work = {vf_kernel_pack(c), 1, 1}, .interior = true};
        if (forbids(c, gpu, &config) == NULL)
            list[n++] = config;
    }
    return n;
}

/* ---- counts for the model ---- */

/* The packs that a thread makes, what it sums one of, and some. */
static int registers_of(const struct vf_kernel_case *c)
{
    const int pack = vf_kernel_pack(c), words = (int)vf_kernel_element(c) / 4,
              border = (reach_of(c) + pack - 1) / pack * pack;
    return 4 + words * (c->flow->sink_count * pack + 2 * border + pack);
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    const struct vf_flow *flow = c->flow;
    const int pack = vf_kernel_pack(c), fields = flow->sink_count, across = packs_of_row(c, config),
              border = (across - config->block[0]) / 2 * pack, columns = pack * config->block[0];
    const double rows = config->block[1], threads = config->block[0] * rows, packs = across * rows,
                 cells = columns * rows, reads = vf_pack_reads(&flow->stage[0], flow->dim),
                 beside = fields * cells / pack * 2.0 * border / pack;
    for (int k = 0; k < flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]);
        const double own = vf_model_warp_sectors(0, element, columns),
                     all = vf_model_warp_sectors(-border, element, across * pack);
        traffic->read_sectors += own * rows;
        traffic->halo_sectors[0] += (all - own) * rows;
        traffic->halo_sectors[1] += all * 2 * c->source_halo[k][1];
        traffic->halo_sectors[2] += all * rows * 2 * c->source_halo[k][0];
        traffic->other_ops += packs * pack * reads * vf_widening_ops(c, c->source_type[k]);
    }
    const int written = (int)vf_type_size(c->sink_type[0]);
    traffic->written_sectors = fields * rows * vf_model_warp_sectors(0, written, columns);
    traffic->global_wavefronts = (packs * reads * VF_PACK_BYTES + fields * cells * written) / VF_LINE_BYTES;
    traffic->shared_wavefronts = (fields * packs + beside) * VF_PACK_BYTES / VF_LINE_BYTES;
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) +=
        packs * pack * (c->operations - fields * flow->stage[1].taps->count) +
        fields * cells * flow->stage[1].taps->count;
    traffic->other_ops += packs * (24 + 3 * reads) + fields * packs + beside +
                          fields * cells * vf_narrowing_ops(c, c->sink_type[0]);
    traffic->loads = packs / threads * reads;
    traffic->loads_in_flight = fmin(reads, 8);
    traffic->barriers = 1;
    traffic->registers = registers_of(c);
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    vf_text_add(text, "#define VF_STORES_SUMS 1\n");
    vf_define_least_blocks(config, registers_of(c), text);
}

/* A pack in the grid's midst, at its edges, a cell at the ends of rows; packs of sums, runs of multiply-adds,
 * which compile in half the time. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    (void)config;
    const int fields = c->flow->sink_count, sums = c->flow->stage[1].taps->count,
              made = c->operations - sums * fields;
    return 2.0 * vf_kernel_pack(c) * made + made + 0.5 * vf_kernel_pack(c) * fields * sums;
}

/* Products of a gradient and 17 weights take 0.5 s to compile. */
#define MOST_WRITTEN 1000

const struct vf_gpu_scheme vf_gpu_body_lines = {
    .name = "body-lines",
    .summary = "each block computes a stage's tile in shared memory and then its 1D convolution along x",
    .file = "kernels/body_lines.cu",
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
