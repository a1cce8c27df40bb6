/* The host side of long-line: which line it takes, what a block holds, and what it does, for the model.
 * kernels/long_line.cu is the kernel. */
#include "kernels/gpu_run.h"

/* Whether a line's terms are all written out, so that each names its weight, or are a loop. */
enum { WRITTEN, LOOP };

static const char *const variants[] = {"written", "loop", NULL};

/* Lines that reach less are better off with their sums in registers. */
#define LEAST_REACH 5

#define WARP 32

/* An index into block and work. */
static int axis_of(const struct vf_kernel_case *c)
{
    return c->halo[2] > 0 ? 0 : c->halo[1] > 0 ? 1 : 2;
}

static int reach_of(const struct vf_kernel_case *c)
{
    return c->halo[2 - axis_of(c)];
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    const struct vf_stage *line = &flow->stage[0];
    if (flow->stage_count != 1 || vf_line_axis(line) < 0 || reach_of(c) < LEAST_REACH)
        return "it is for a long line of weights along one axis";
    const char *const reason = vf_fields_refuse(c, line);
    return reason != NULL ? reason : vf_kernel_plane_limit(c);
}

/* ---- what a block holds, kernels/long_line.cu ---- */

struct shape {
    int axis, reach, pack;
    int run, span; /* results of a thread along the line, and side by side */
    /* Along y and z: parts of what a run reads, of as many values as it has results; warps that make a run
     * each at once. */
    int parts, warps;
    ptrdiff_t held; /* cells in shared memory */
};

static struct shape shape_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct shape s = {.axis = axis_of(c), .reach = reach_of(c), .pack = vf_kernel_pack(c)};
    s.run = config->work[s.axis];
    if (s.axis == 0) {
        s.span = 1;
        s.held = config->block[1] * 2 * vf_row_cells(c, config);
    } else {
        s.span = config->work[0];
        s.parts = vf_run_parts(s.reach, s.run);
        s.warps = config->block[s.axis];
        s.held = (ptrdiff_t)(s.parts - 1 + 2 * s.warps) * s.run * WARP * s.span;
    }
    return s;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return (size_t)shape_of(c, config).held * vf_kernel_element(c);
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    const int axis = axis_of(c);
    size[0] = (ptrdiff_t)config->block[0] * config->work[0];
    size[1] = size[2] = 1;
    size[axis == 0 ? 1 : axis] = config->stream;
}

/* Registers of 32 bits that the compiler is left. */
static int wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct shape s = shape_of(c, config);
    const int sums = s.run * s.span * (c->flow->is_double ? 2 : 1);
    return 64 + (s.axis == 0 ? 1 : 2) * sums;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const int *const block = config->block, *const work = config->work, axis = axis_of(c);
    for (int i = 1; i < 3; i++)
        if (i != axis && (work[i] > 1 || (block[i] > 1 && (axis > 0 || i == 2))))
            return "threads and their voxels must lie along the line and along x (of lines along x, rows are "
                   "threads' y)";
    if (!vf_kernel_moves(c, work[axis]))
        return "a thread's work along the line must be a power of two, at least 16 bytes";
    if (axis > 0 && (block[0] != WARP || work[0] > vf_kernel_pack(c) || (work[0] & (work[0] - 1)) != 0))
        return "a block must be 32 threads wide, and a thread's voxels side by side 1, 2 or 4, of 16 bytes "
               "at most";
    if (axis == 0 && block[0] * block[1] % WARP != 0)
        return "a block's threads must fill whole warps";
    if (config->stream < 1)
        return "stream is the number of voxels that a block computes along the line (for lines along x, of "
               "rows), at least 1";
    return vf_run_limits(c, gpu, config, shared(c, config), wanted_registers(c, config));
}

/* ---- candidates ---- */

/* Operations in the code: of a loop, one part, and those before and after it, which have half of the terms.
 */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct shape s = shape_of(c, config);
    const double terms = config->variant == LOOP ? 2.0 * s.run : 2.0 * s.reach + 1;
    /* Long runs of fused multiply-adds compile in half the time of other code. */
    return 0.5 * s.run * s.span * terms;
}

/* More code than this waits for instructions. */
#define MOST_WRITTEN 1100

/* Of short rows several at once, and some one after the other. */
static void add_rows(struct vf_candidate_list *all, const struct vf_kernel_config *like)
{
    for (int rows = 1; rows <= 8; rows *= 2)
        for (int steps = 8; steps <= 32; steps *= 2) {
            struct vf_kernel_config config = *like;
            config.block[0] = WARP / rows;
            config.block[1] = rows;
            config.stream = steps * rows;
            vf_candidate_add(all, &config);
        }
}

static void add_shape(struct vf_candidate_list *all, int run, int span, int warps)
{
    const int axis = axis_of(all->c);
    for (int variant = WRITTEN; variant <= LOOP; variant++) {
        struct vf_kernel_config config = {.block = {WARP, 1, 1}, .work = {span, 1, 1}, .variant = variant};
        config.work[axis] = run;
        if (variant == WRITTEN && written(all->c, &config) > MOST_WRITTEN)
            continue;
        if (axis > 0) {
            config.block[axis] = warps;
            vf_candidates_add_chunks(all, &config, axis, reach_of(all->c));
        } else {
            add_rows(all, &config);
        }
    }
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const struct {
        int run, span, warps;
    } across[] = {{16, 2, 4}, {16, 1, 4}, {8, 2, 2}, {16, 2, 8},
                  {32, 1, 8}, {16, 1, 2}, {8, 1, 4}, {16, 1, 8}};
    static const int along[] = {16, 8};
    struct vf_candidate_list all = {c, gpu, &vf_gpu_long_line, list, 0, room};
    if (axis_of(c) == 0)
        for (int i = 0; i < 2; i++)
            add_shape(&all, along[i], 1, 1);
    else
        for (size_t i = 0; i < sizeof across / sizeof *across; i++)
            add_shape(&all, across[i].run, across[i].span, across[i].warps);
    return all.count;
}

/* ---- traffic ---- */

/* Instructions that take the time of several: products whose weight is looked up, which have three registers
 * to read, and values taken from shared memory. Fitted to 10 kernels. */
#define LOOKED_UP 1.12
#define TAKEN 2.5

static void count_sectors(const struct vf_kernel_case *c, const struct shape *s, const ptrdiff_t size[3],
                          struct vf_kernel_traffic *traffic)
{
    const int fields = c->flow->source_count, stored = (int)vf_type_size(c->source_type[0]),
              made = (int)vf_type_size(c->sink_type[0]);
    const double rows = (double)(size[1] * size[2]), row = vf_model_warp_sectors(0, stored, size[0]),
                 row_with = vf_model_warp_sectors(-s->reach, stored, size[0] + 2 * s->reach);
    traffic->read_sectors = fields * rows * row;
    traffic->halo_sectors[s->axis] =
        s->axis == 0 ? fields * rows * (row_with - row) : fields * 2 * s->reach * row;
    traffic->written_sectors = fields * rows * vf_model_warp_sectors(0, made, size[0]);
    vf_count_whole_lines(traffic);
}

/* Instructions of a run beside its terms; `sides`: cells beside the tile that a thread brings for it. */
static double others_of_run(const struct vf_kernel_case *c, const struct shape *s, int variant, double sides)
{
    const double terms = 2 * s->reach + 1, cells = s->run * s->span, packs = cells / s->pack,
                 takes = (s->run + 2.0 * s->reach) / (s->axis == 0 ? s->pack : 1),
                 puts = s->axis == 0 ? packs : s->run,
                 weights = variant == LOOP ? (LOOKED_UP - 1) * cells * terms + 2 * terms : terms / 2,
                 cell = 1 + vf_widening_ops(c, c->source_type[0]) + vf_narrowing_ops(c, c->sink_type[0]);
    return 60 + TAKEN * takes + 4 * puts + weights + 5 * packs + 20 * sides + cell * cells;
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    const struct shape s = shape_of(c, config);
    const ptrdiff_t step = s.axis == 0 ? config->block[1] : (ptrdiff_t)s.warps * s.run;
    const int fields = c->flow->source_count, cells = s.run * s.span;
    ptrdiff_t size[3];
    tile(c, config, size);
    count_sectors(c, &s, size, traffic);
    traffic->threads = config->block[0] * config->block[1] * config->block[2];
    traffic->steps = (config->stream + step - 1) / step;
    const double steps = fields * (double)traffic->steps, runs = steps * traffic->threads;
    /* What a thread brings in a step, packs and cells beside the tile; and steps' worth before the first. */
    const double brought = (double)cells / s.pack, sides = s.axis == 0 ? 2.0 * s.reach / config->block[0] : 0,
                 before = fields * (s.axis == 0 ? 1 : (s.parts - 1.0) / s.warps);
    /* Of a run: what is brought, taken, and of rows put by way of shared memory. */
    const double moved = (s.run + 2.0 * s.reach) * s.span + cells * (s.axis == 0 ? 3 : 1) + 8 * sides;
    traffic->shared_wavefronts = runs * moved * (double)vf_kernel_element(c) / VF_LINE_BYTES;
    *(c->flow->is_double ? &traffic->double_ops : &traffic->float_ops) = runs * cells * (2 * s.reach + 1);
    traffic->other_ops = runs * others_of_run(c, &s, config->variant, sides);
    traffic->loads = (steps + before) * (brought + sides);
    traffic->loads_in_flight = vf_fills_are_copies(c, gpu) ? brought + sides : 1;
    traffic->barriers = steps * (s.axis == 0 ? 3 : 1);
    traffic->issue_warps = VF_RUN_ISSUE_WARPS;
    traffic->overlap = VF_RUNS_AHEAD;
    traffic->registers = wanted_registers(c, config);
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    vf_define_least_blocks(config, wanted_registers(c, config), text);
}

const struct vf_gpu_scheme vf_gpu_long_line = {
    .name = "long-line",
    .summary = "for one long 1D convolution: each thread computes a run of results along it",
    .file = "kernels/long_line.cu",
    .variants = variants,
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
