/* The host side of time-tile: the shapes that a plan may choose among those that time_tile_layout.c can lay
 * out, and what a block does, for the model. kernels/time_tile.cu is the kernel. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/gpu_box.h"
#include "kernels/gpu_scheme.h"
#include "kernels/time_tile_layout.h"
#include "src/model.h"
#include "src/size.h"

/* The most shared memory that a block of any device may have. */
#define MOST_SHARED ((size_t)227 << 10)

/* With more operations of a thread in a step, there is no second copy of the code for tiles inside the grid.
 */
#define MOST_DOUBLED 200

static const char *const variants[] = {[VF_TIME_ONE_BARRIER] = "one-barrier", [VF_TIME_LEAN] = "lean", NULL};

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct vf_time_layout layout;
    return vf_time_layout_make(c, config, &layout) ? layout.bytes : SIZE_MAX;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    struct vf_time_area area;
    const bool has_room = vf_time_area_make(c, config, &area), volume = c->flow->dim == 3;
    size[0] = has_room ? area.tile[1] : 1;
    size[1] = !volume ? config->stream : has_room ? area.tile[0] : 1;
    size[2] = volume ? config->stream : 1;
}

/* Why the shape of the block cannot be used, whatever the stages are; NULL: it can. */
static const char *forbids_shape(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    if (config->stream < 1)
        return "it streams: stream must be at least 1";
    if (config->block[2] > 1)
        return "the block is flat: its z must be 1";
    if (c->flow->dim == 2 && config->block[1] > 1)
        return "rows are streamed: the block's y must be 1";
    if (config->work[0] > 1 && !vf_kernel_moves(c, config->work[0]))
        return c->flow->is_double ? "a thread's voxels along x must be a power of two"
                                  : "a thread's voxels along x must be a power of two, and not 2";
    return vf_box_forbids(config);
}

/* Why a configuration cannot be used; NULL: it can, and `layout` is its layout. */
static const char *lay_out(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config, struct vf_time_layout *layout)
{
    const char *why = vf_kernel_limits(c, gpu, config, 0);
    if (why == NULL)
        why = forbids_shape(c, config);
    if (why != NULL)
        return why;
    if (!vf_time_layout_make(c, config, layout))
        return "the block is too small for the reach of the stages, or their rings are too large";
    return vf_kernel_limits(c, gpu, config, layout->bytes);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    struct vf_time_layout layout;
    return lay_out(c, gpu, config, &layout);
}

/* Registers of a thread: for what is kept from step to step, what is loaded ahead, and what the largest group
 * of stages makes. */
static int guess_registers(const struct vf_time_layout *l)
{
    const double cells = (double)l->planes * l->rows * l->cells;
    double kept = 0, made = 0;
    for (int g = 0; g < l->group_count; g++) {
        const struct vf_time_group *group = &l->group[g];
        int outputs = 0;
        for (int s = group->stage_begin; s < group->stage_end; s++)
            outputs += l->c->flow->stage[s].output_count;
        kept += (double)(group->column_planes - group->column_count * l->planes) * l->rows * l->cells;
        made = fmax(made, outputs * cells / (group->rolled ? l->rows : 1));
    }
    for (int f = 0; f < l->input_count; f++)
        kept += l->field[f].depth > 0 ? cells : 0;
    /* The compiler takes no more than a block of this size leaves it. */
    return vf_smaller(vf_kernel_most_registers(l->threads),
                      44 + (int)((kept + made) * (double)vf_kernel_element(l->c) / 4));
}

/* ---- candidates ---- */

/* Blocks, and a thread's rows and planes; its cells along x are added later. In 2D the rows of an image are
 * planes. */
static const int shapes_3d[][4] = {{32, 8, 2, 1},  {32, 8, 4, 1}, {32, 16, 1, 1}, {32, 16, 2, 1},
                                   {32, 8, 1, 1},  {32, 4, 4, 1}, {16, 16, 2, 1}, {16, 16, 1, 1},
                                   {16, 32, 1, 1}, {64, 8, 1, 1}, {64, 8, 2, 1},  {32, 32, 1, 1},
                                   {32, 8, 2, 2},  {32, 4, 2, 2}, {16, 8, 4, 1},  {16, 32, 2, 1},
                                   {32, 4, 2, 1},  {32, 4, 1, 1}, {16, 8, 2, 1},  {32, 24, 1, 1}};
static const int shapes_2d[][4] = {{32, 1, 1, 2},  {32, 1, 1, 4},  {32, 1, 1, 1},  {64, 1, 1, 2},
                                   {64, 1, 1, 4},  {128, 1, 1, 2}, {128, 1, 1, 4}, {128, 1, 1, 1},
                                   {256, 1, 1, 2}, {256, 1, 1, 1}, {512, 1, 1, 1}, {32, 1, 1, 8},
                                   {64, 1, 1, 8}};

/* Long code is not written twice: tiles inside the grid would save little by a copy of their own. */
static bool is_short(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return config->work[0] * config->work[1] * config->work[2] * c->operations <= MOST_DOUBLED;
}

static struct vf_kernel_config config_of(const struct vf_kernel_case *c, const int shape[4], int cells,
                                         int variant)
{
    const bool volume = c->flow->dim == 3;
    struct vf_kernel_config config = {.block = {shape[0], shape[1], 1},
                                      .work = {cells, volume ? shape[2] : shape[3], volume ? shape[3] : 1},
                                      .stream = 1,
                                      .variant = variant};
    config.interior = is_short(c, &config);
    return config;
}

static int shape_count(const struct vf_kernel_case *c)
{
    return c->flow->dim == 3 ? (int)(sizeof shapes_3d / sizeof *shapes_3d)
                             : (int)(sizeof shapes_2d / sizeof *shapes_2d);
}

static const int *shape_at(const struct vf_kernel_case *c, int i)
{
    return c->flow->dim == 3 ? shapes_3d[i] : shapes_2d[i];
}

/* How many blocks an SM holds at once. */
static int resident(const struct vf_gpu *gpu, const struct vf_time_layout *l)
{
    const struct vf_granularity granularity = vf_granularity_of(gpu->capability);
    return vf_larger(1,
                     vf_model_occupancy(gpu, l->threads, guess_registers(l), l->bytes, &granularity).blocks);
}

/* The shortest chunk with which there are at most `waves` times as many blocks as are resident at once. */
static int chunk_for(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_time_layout *l,
                     int waves)
{
    const bool volume = c->flow->dim == 3;
    const double length = (double)(volume ? c->nz : c->ny);
    const double tiles = ceil((double)c->nx / l->area.tile[1]) *
                         (volume ? ceil((double)c->ny / l->area.tile[0]) : (double)c->nz);
    const double chunks = fmax(1, floor(waves * resident(gpu, l) * gpu->multiprocessors / tiles));
    /* At most half of what a chunk computes is also computed by another one. */
    const double least = fmax(l->planes, l->last - l->first);
    return (int)fmin(length, fmax(least, ceil(length / chunks)));
}

/* How many times the necessary work is done, as tiles overlap and threads are beyond the grid. */
static double waste(const struct vf_kernel_case *c, const struct vf_time_layout *l,
                    const struct vf_kernel_config *g)
{
    const bool volume = c->flow->dim == 3;
    const double tiles =
        ceil((double)c->nx / l->area.tile[1]) * (volume ? ceil((double)c->ny / l->area.tile[0]) : 1);
    const double cells = tiles * l->area.covered[0] * l->area.covered[1];
    const double again = (double)(g->stream + l->last - l->first) / g->stream;
    return cells * again / ((double)c->nx * (volume ? (double)c->ny : 1));
}

#define MOST_WEIGHED 512

/* What wastes more than this many times what the best one does is no candidate. */
#define MOST_WASTE 3

struct weighed {
    struct vf_kernel_config config;
    double waste;
};

/* Adds a shape, if it is allowed, with a few lengths of chunks to a list in order of waste. */
static void weigh(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config config,
                  struct weighed *list, int *count)
{
    struct vf_time_layout layout;
    if (lay_out(c, gpu, &config, &layout) != NULL)
        return;
    int last = 0;
    for (int waves = 1; waves <= 4; waves *= 2) {
        config.stream = chunk_for(c, gpu, &layout, waves);
        const double cost = waste(c, &layout, &config);
        if (config.stream == last || *count == MOST_WEIGHED)
            continue;
        last = config.stream;
        int at = (*count)++;
        for (; at > 0 && list[at - 1].waste > cost; at--)
            list[at] = list[at - 1];
        list[at] = (struct weighed){config, cost};
    }
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    struct weighed weighed[MOST_WEIGHED];
    int count = 0;
    for (int i = 0; i < shape_count(c); i++)
        for (int variant = VF_TIME_ONE_BARRIER; variant <= VF_TIME_LEAN; variant++)
            for (int n = 0; n < 3; n++) {
                const int cells[] = {1, vf_kernel_pack(c), 2 * vf_kernel_pack(c)};
                weigh(c, gpu, config_of(c, shape_at(c, i), cells[n], variant), weighed, &count);
            }
    int kept = 0;
    while (kept < count && kept < room && weighed[kept].waste <= MOST_WASTE * weighed[0].waste) {
        list[kept] = weighed[kept].config;
        kept++;
    }
    return kept;
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->stage_count == 0)
        return "there is no stage";
    for (int k = 0; k < flow->sink_count; k++)
        if (vf_flow_is_source(flow, flow->sink[k]))
            return "a result is a plain copy of an input";
    for (int i = 0; i < shape_count(c); i++)
        for (int cells = vf_kernel_pack(c); cells >= 1; cells -= vf_kernel_pack(c) - 1) {
            const struct vf_kernel_config config = config_of(c, shape_at(c, i), cells, VF_TIME_LEAN);
            struct vf_time_layout layout;
            if (vf_time_layout_make(c, &config, &layout) && layout.bytes <= MOST_SHARED)
                return NULL;
        }
    return "the planes that the stages keep are too large for shared memory";
}

/* ---- counts for the model ---- */

/* What one step takes: wavefronts and instructions for shared memory and shuffles, of a warp, and loads from
 * memory, of a thread. */
struct step {
    double wavefronts, instructions, loads;
};

/* Whether a stage reads neighbours off the axes through the cell. Bodies are assumed not to. */
static bool is_box(const struct vf_stage *stage, const int halo[3])
{
    return stage->stencil == VF_STENCIL_LINEAR && (halo[0] > 0) + (halo[1] > 0) + (halo[2] > 0) > 1 &&
           stage->taps->count > 1 + 2 * (halo[0] + halo[1] + halo[2]);
}

/* Counts that a thread reads `rows` rows of its own cells, and `beside` times the cells on both sides of a
 * row.
 */
static void add_rows(const struct vf_time_layout *l, double rows, double beside, int halo_x,
                     struct step *step)
{
    const int pack = l->cells > 1 ? vf_kernel_pack(l->c) : 1;
    const double sides = 2 * (l->cells > 1 ? ceil((double)halo_x / pack) : halo_x);
    step->instructions += rows * l->cells / pack + beside * sides;
    step->wavefronts += rows * l->cells + beside * sides * pack;
}

/* Counts what a group reads in a ring, each row once. */
static void count_ring(const struct vf_time_layout *l, const struct vf_time_group *group, int s, int k,
                       struct step *step)
{
    const int f = l->input[s][k];
    const struct vf_time_column *column = NULL;
    int h[3];
    vf_time_halo(l->c, s, k, h);
    const bool box = is_box(&l->c->flow->stage[s], h);
    for (int i = 0; i < group->column_count; i++)
        if (group->column[i].field == f)
            column = &group->column[i];
    const double planes = l->planes, rows = l->rows, own = planes * rows,
                 reached = (planes + 2 * h[0]) * rows;
    add_rows(l, column != NULL ? own : reached, 0, 0, step);
    add_rows(l, 2 * h[1] * (box ? planes + 2 * h[0] : planes), 0, 0, step);
    /* In how many rows neighbours along x are read, and in how many of them other threads have these. */
    const double beside = box ? reached + 2 * h[1] * (planes + 2 * h[0]) : own;
    const double shuffled = column != NULL && column->edge > 0 ? rows * (planes + 2 * column->edge_halo) : 0;
    step->instructions += shuffled * 2 * h[2];
    step->wavefronts += shuffled * 2 * h[2];
    add_rows(l, 0, fmax(0, beside - shuffled), h[2], step);
}

/* Whether an earlier input of the group is the same field with the same reach, so that it is in registers. */
static bool is_read_before(const struct vf_time_layout *l, const struct vf_time_group *group, int s, int k)
{
    int halo[3], other[3];
    vf_time_halo(l->c, s, k, halo);
    for (int t = group->stage_begin; t <= s; t++)
        for (int i = 0; i < (t < s ? l->c->flow->stage[t].input_count : k); i++) {
            vf_time_halo(l->c, t, i, other);
            if (l->input[t][i] == l->input[s][k] && memcmp(halo, other, sizeof halo) == 0)
                return true;
        }
    return false;
}

static struct step count_group(const struct vf_time_layout *l, const struct vf_time_group *group)
{
    const struct vf_flow *flow = l->c->flow;
    struct step step = {0};
    /* For addresses and control. */
    step.instructions = 40 + 6.0 * l->planes * l->rows;
    for (int s = group->stage_begin; s < group->stage_end; s++) {
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            if (is_read_before(l, group, s, k))
                continue;
            if (l->field[l->input[s][k]].depth > 0)
                count_ring(l, group, s, k, &step);
            else if (l->input[s][k] < l->input_count)
                step.loads += (double)l->planes * l->rows;
        }
        for (int k = 0; k < flow->stage[s].output_count; k++)
            if (l->field[l->output[s] + k].depth > 0)
                add_rows(l, (double)l->planes * l->rows, 0, 0, &step);
    }
    return step;
}

static struct step count_step(const struct vf_time_layout *l)
{
    struct step all = {0};
    for (int g = 0; g < l->group_count; g++) {
        const struct step step = count_group(l, &l->group[g]);
        const double share =
            fmin(1, (double)(l->area.tile[0] + 2 * l->group[g].reach[VF_ROW_AXIS]) / l->area.covered[0]);
        all.wavefronts += share * step.wavefronts;
        all.instructions += share * step.instructions;
        all.loads += step.loads;
    }
    for (int f = 0; f < l->input_count; f++)
        if (l->field[f].depth > 0) {
            add_rows(l, (double)l->planes * l->rows, 0, 0, &all);
            all.instructions += 8.0 * l->planes * l->rows;
            all.loads += (double)l->planes * l->rows;
        }
    /* A result is compared with itself, so that a NaN can be stored with the bits that all have. */
    all.instructions += (double)l->planes * l->rows * (6 + 2.0 * l->cells) * l->c->flow->sink_count;
    return all;
}

static void count_sectors(const struct vf_time_layout *l, const struct vf_kernel_config *config,
                          struct vf_kernel_traffic *t)
{
    const struct vf_kernel_case *c = l->c;
    const double own_planes = config->stream, planes = config->stream + (double)(l->last - l->first);
    for (int k = 0; k < c->flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]);
        const double row = vf_model_warp_sectors(0, element, l->area.covered[1]),
                     own = vf_model_warp_sectors(0, element, l->area.tile[1]);
        const double rows = fmin(l->area.covered[0], l->area.tile[0] + 2.0 * c->source_halo[k][1]);
        const int y = c->flow->dim == 3 ? 1 : 2, s = c->flow->dim == 3 ? 2 : 1;
        t->read_sectors += own * l->area.tile[0] * own_planes;
        t->halo_sectors[0] += (row - own) * l->area.tile[0] * own_planes;
        t->halo_sectors[y] += c->flow->dim == 3 ? row * (rows - l->area.tile[0]) * own_planes : 0;
        t->halo_sectors[s] += row * (c->flow->dim == 3 ? rows : 1) * (planes - own_planes);
        t->global_wavefronts += planes * rows * vf_model_warp_lines(0, element, l->area.covered[1]);
    }
    for (int k = 0; k < c->flow->sink_count; k++) {
        const int element = (int)vf_type_size(c->sink_type[k]);
        t->written_sectors +=
            own_planes * l->area.tile[0] * vf_model_warp_sectors(0, element, l->area.tile[1]);
        t->global_wavefronts +=
            own_planes * l->area.tile[0] * vf_model_warp_lines(0, element, l->area.tile[1]);
    }
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *t)
{
    struct vf_time_layout layout;
    (void)gpu;
    if (!vf_time_layout_make(c, config, &layout))
        return;
    const double planes = config->stream + (double)(layout.last - layout.first);
    const double steps = ceil(planes / layout.planes), threads = (double)config->block[0] * config->block[1];
    const double cells = (double)layout.planes * layout.rows * layout.cells;
    const struct step step = count_step(&layout);
    count_sectors(&layout, config, t);
    t->steps = (ptrdiff_t)steps;
    t->shared_wavefronts = steps * step.wavefronts * threads / 32 * (double)vf_kernel_element(c) / 4;
    /* A block of one warp waits at no barrier. */
    t->barriers = threads <= 32 ? 0 : steps * (layout.lean ? 1 + layout.group_count : 1);
    t->loads = steps * step.loads;
    /* All that the next step needs is loaded ahead. */
    t->loads_in_flight = fmax(1, step.loads);
    *(c->flow->is_double ? &t->double_ops : &t->float_ops) += steps * threads * cells * c->operations;
    t->other_ops = steps * threads * step.instructions;
    t->registers = guess_registers(&layout);
    const bool reads_own_column = c->halo[2] == 0 && (c->flow->dim == 2 || c->halo[1] == 0);
    /* If a thread has few cells and stages are weights in a plane, all that they read is under way at once.
     */
    const bool is_light = c->flow->dim == 2 && config->work[0] * config->work[1] <= 8 && vf_is_linear(c);
    t->issue_warps = reads_own_column           ? 0
                     : is_light && threads > 64 ? VF_LIGHT_ISSUE_WARPS
                                                : VF_RING_ISSUE_WARPS;
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct vf_time_layout layout;
    if (vf_time_layout_make(c, config, &layout))
        vf_time_layout_define(&layout, text);
}

/* To try hundreds of layouts for every part of a chain of many stages took 3 s for the tensor diffusion of
 * tomograms, and this scheme is the fastest for none of its parts. */
#define MOST_STAGES 4
#define MOST_FIELDS 9

const struct vf_gpu_scheme vf_gpu_time_tile = {
    .name = "time-tile",
    .summary = "all stages in one sweep, with a ring of planes in shared memory for each",
    .file = "kernels/time_tile.cu",
    .variants = variants,
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .most_stages = MOST_STAGES,
    .most_fields = MOST_FIELDS,
    .define = define,
};
