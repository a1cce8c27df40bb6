#include <math.h>
#include <stdint.h>

#include "kernels/gpu_scheme.h"
#include "kernels/time_tile_layout.h"
#include "src/model.h"

/* The most shared memory that a block of any device may have. */
#define MOST_SHARED ((size_t)227 << 10)

/* Cells of a thread at most: what a stage makes of them is in registers. */
#define MOST_CELLS 64

enum { ONE_BARRIER, LEAN };

static const char *const variants[] = {"one-barrier", "lean", NULL};

/* Cells of the compute type that 16 bytes hold. */
static int pack_of(const struct vf_kernel_case *c)
{
    return 16 / (int)vf_kernel_element(c);
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct vf_time_layout layout;
    return vf_time_layout_make(c, config, &layout) ? layout.bytes : SIZE_MAX;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    struct vf_time_layout layout;
    const bool made = vf_time_layout_make(c, config, &layout);
    const bool volume = c->flow->dim == 3;
    size[0] = made ? layout.tile[1] : 1;
    size[1] = !volume ? config->stream : made ? layout.tile[0] : 1;
    size[2] = volume ? config->stream : 1;
}

/* What the block's shape alone forbids. */
static const char *forbids_shape(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    if (config->stream < 1)
        return "it streams: stream is at least 1";
    if (config->block[2] > 1)
        return "the block is flat: its z is 1";
    if (c->flow->dim == 2 && config->block[1] > 1)
        return "rows are streamed: the block's y is 1";
    if (config->work[0] > 1 && config->work[0] % pack_of(c) != 0)
        return c->flow->is_double ? "a thread's cells along x are 1 or a multiple of 2"
                                  : "a thread's cells along x are 1 or a multiple of 4";
    if ((long long)config->work[0] * config->work[1] * config->work[2] > MOST_CELLS)
        return "a thread has at most 64 cells";
    return NULL;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    struct vf_time_layout layout;
    const char *why = vf_kernel_limits(c, gpu, config, 0);
    if (why == NULL)
        why = forbids_shape(c, config);
    if (why != NULL)
        return why;
    if (!vf_time_layout_make(c, config, &layout))
        return "the block is too small for the reach of the stages, or their rings are too large";
    return vf_kernel_limits(c, gpu, config, layout.bytes);
}

/* ---- candidates ---- */

/* Blocks, and a thread's rows and planes; its cells along x are a pack or 1. 2D: a thread's rows are planes.
 */
static const int shapes_3d[][4] = {{32, 8, 2, 1},  {32, 8, 4, 1}, {32, 16, 1, 1}, {32, 16, 2, 1},
                                   {32, 8, 1, 1},  {32, 4, 4, 1}, {16, 16, 2, 1}, {16, 16, 1, 1},
                                   {16, 32, 1, 1}, {64, 8, 1, 1}, {64, 8, 2, 1},  {32, 32, 1, 1},
                                   {32, 8, 2, 2},  {32, 4, 2, 2}, {16, 8, 4, 1},  {16, 32, 2, 1},
                                   {32, 4, 2, 1},  {32, 4, 1, 1}, {16, 8, 2, 1}};
static const int shapes_2d[][4] = {{32, 1, 1, 2},  {32, 1, 1, 4},  {32, 1, 1, 1},  {64, 1, 1, 2},
                                   {64, 1, 1, 4},  {128, 1, 1, 2}, {128, 1, 1, 4}, {128, 1, 1, 1},
                                   {256, 1, 1, 2}, {256, 1, 1, 1}, {512, 1, 1, 1}};

static struct vf_kernel_config config_of(const struct vf_kernel_case *c, const int shape[4], int cells,
                                         int variant)
{
    const bool volume = c->flow->dim == 3;
    return (struct vf_kernel_config){.block = {shape[0], shape[1], 1},
                                     .work = {cells, volume ? shape[2] : shape[3], volume ? shape[3] : 1},
                                     .stream = 1,
                                     .variant = variant,
                                     .interior = true};
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

/* Chunks as long as possible, as long as there are blocks for `waves` times what is resident. */
static int chunk_for(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_time_layout *l,
                     int threads, double waves)
{
    const bool volume = c->flow->dim == 3;
    const double length = (double)(volume ? c->nz : c->ny);
    const double resident =
        fmax(1, fmin(gpu->sm_threads / threads,
                     l->bytes > 0 ? (double)gpu->sm_shared / (double)(l->bytes + 1024) : 32));
    const double tiles =
        ceil((double)c->nx / l->tile[1]) * (volume ? ceil((double)c->ny / l->tile[0]) : (double)c->nz);
    const double chunks = fmax(1, ceil(waves * floor(resident) * gpu->multiprocessors / tiles));
    /* What a chunk computes again is at most as much as its own. */
    const double least = fmax(l->planes, l->last - l->first);
    return (int)fmin(length, fmax(least, ceil(length / chunks)));
}

/* Work that tiles do again, and threads beyond the grid: 1 is none. */
static double waste(const struct vf_kernel_case *c, const struct vf_time_layout *l,
                    const struct vf_kernel_config *g)
{
    const bool volume = c->flow->dim == 3;
    const double tiles = ceil((double)c->nx / l->tile[1]) * (volume ? ceil((double)c->ny / l->tile[0]) : 1);
    const double cells = tiles * l->covered[0] * l->covered[1];
    const double again = (double)(g->stream + l->last - l->first) / g->stream;
    return cells * again / ((double)c->nx * (volume ? (double)c->ny : 1));
}

#define MOST_WEIGHED 256

/* Of the least one: what wastes more is no candidate. */
#define MOST_WASTE 3

struct weighed {
    struct vf_kernel_config config;
    double waste;
};

/* Adds a shape in two chunk lengths, where it is allowed; in order of waste. */
static void weigh(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config config,
                  struct weighed *list, int *count)
{
    struct vf_time_layout layout;
    if (forbids(c, gpu, &config) != NULL || !vf_time_layout_make(c, &config, &layout))
        return;
    int last = 0;
    for (int waves = 1; waves <= 4; waves *= 4) {
        config.stream = chunk_for(c, gpu, &layout, config.block[0] * config.block[1], waves);
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
        for (int variant = ONE_BARRIER; variant <= LEAN; variant++)
            for (int cells = pack_of(c); cells >= 1; cells -= pack_of(c) - 1)
                weigh(c, gpu, config_of(c, shape_at(c, i), cells, variant), weighed, &count);
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
        for (int i = 0; i < flow->source_count; i++)
            if (flow->sink[k] == flow->source[i])
                return "a result is a source as it is";
    for (int i = 0; i < shape_count(c); i++)
        for (int cells = pack_of(c); cells >= 1; cells -= pack_of(c) - 1) {
            const struct vf_kernel_config config = config_of(c, shape_at(c, i), cells, LEAN);
            struct vf_time_layout layout;
            if (vf_time_layout_make(c, &config, &layout) && layout.bytes <= MOST_SHARED)
                return NULL;
        }
    return "the planes that the stages keep are too large for shared memory";
}

/* ---- counts for the model ---- */

/* What a thread reads of an input of a stage in one step, in packs of its cells: rows, each once, and for
 * each the neighbours along x. Bodies are taken for stars, linear stages for boxes where they are none. */
static double shared_reads(const struct vf_time_layout *l, int s, int k)
{
    const struct vf_stage *stage = &l->c->flow->stage[s];
    const bool several = stage->stencil == VF_STENCIL_LINEAR;
    int halo[3];
    vf_time_halo(l->c, s, k, halo);
    const int axes = (halo[0] > 0) + (halo[1] > 0) + (halo[2] > 0), *const h = halo;
    int star = 1 + 2 * (h[0] + h[1] + h[2]);
    const bool box = several && axes > 1 && stage->taps->count > star;
    const double planes = l->planes, rows = l->rows, pack = l->cells > 1 ? 4 : 1;
    const double reached =
        box ? (planes + 2 * h[0]) * (rows + 2 * h[1]) : (planes + 2 * h[0]) * rows + planes * 2 * h[1];
    const double beside = (box ? reached : planes * rows) * 2 * (l->cells > 1 ? ceil(h[2] / 4.0) : h[2]);
    return reached * l->cells + beside * pack;
}

/* One step of a block: the wavefronts of shared memory for reads, and for what is kept. */
static void count_step(const struct vf_time_layout *l, double *wavefronts, double *loads, double *barriers)
{
    const struct vf_flow *flow = l->c->flow;
    const double warps = (double)l->covered[0] * l->covered[1] / (l->rows * l->cells) / 32;
    const double wide = (double)vf_kernel_element(l->c) / 4;
    const double thread_cells = (double)l->planes * l->rows * l->cells;
    *wavefronts = *loads = 0;
    for (int g = 0; g < l->group_count; g++) {
        const double share =
            fmin(1, (double)(l->tile[0] + 2 * l->group[g].reach[VF_ROW_AXIS]) / l->covered[0]);
        for (int s = l->group[g].stage_begin; s < l->group[g].stage_end; s++)
            for (int k = 0; k < flow->stage[s].input_count; k++)
                if (l->field[l->input[s][k]].depth > 0)
                    *wavefronts += share * warps * wide * shared_reads(l, s, k);
                else if (l->input[s][k] < l->input_count)
                    *loads += (double)l->planes * l->rows;
    }
    for (int f = 0; f < l->field_count; f++)
        if (l->field[f].depth > 0) {
            *wavefronts += warps * wide * thread_cells;
            *loads += f < l->input_count ? (double)l->planes * l->rows : 0;
        }
    *barriers = l->lean ? 1 + l->group_count : 1;
}

static void count_sectors(const struct vf_time_layout *l, const struct vf_kernel_config *config,
                          struct vf_kernel_traffic *t)
{
    const struct vf_kernel_case *c = l->c;
    const double own_planes = config->stream, planes = config->stream + (double)(l->last - l->first);
    for (int k = 0; k < c->flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]);
        const double row = (double)vf_model_warp_sectors(0, 1, element, l->covered[1]),
                     own = (double)vf_model_warp_sectors(0, 1, element, l->tile[1]);
        const double rows = fmin(l->covered[0], l->tile[0] + 2.0 * c->source_halo[k][1]);
        const int y = c->flow->dim == 3 ? 1 : 2, s = c->flow->dim == 3 ? 2 : 1;
        t->read_sectors += own * l->tile[0] * own_planes;
        t->halo_sectors[0] += (row - own) * l->tile[0] * own_planes;
        t->halo_sectors[y] += c->flow->dim == 3 ? row * (rows - l->tile[0]) * own_planes : 0;
        t->halo_sectors[s] += row * (c->flow->dim == 3 ? rows : 1) * (planes - own_planes);
        t->global_wavefronts += planes * rows * (double)vf_model_warp_lines(0, 1, element, l->covered[1]);
    }
    for (int k = 0; k < c->flow->sink_count; k++) {
        const int element = (int)vf_type_size(c->sink_type[k]);
        t->written_sectors +=
            own_planes * l->tile[0] * (double)vf_model_warp_sectors(0, 1, element, l->tile[1]);
        t->global_wavefronts +=
            own_planes * l->tile[0] * (double)vf_model_warp_lines(0, 1, element, l->tile[1]);
    }
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *t)
{
    struct vf_time_layout layout;
    double wavefronts, loads, barriers;
    (void)gpu;
    if (!vf_time_layout_make(c, config, &layout))
        return;
    const double planes = config->stream + (double)(layout.last - layout.first);
    const double steps = ceil(planes / layout.planes), threads = (double)config->block[0] * config->block[1];
    const double cells = (double)layout.planes * layout.rows * layout.cells;
    count_step(&layout, &wavefronts, &loads, &barriers);
    count_sectors(&layout, config, t);
    t->steps = (ptrdiff_t)steps;
    t->shared_wavefronts = steps * wavefronts;
    t->barriers = steps * barriers;
    t->loads = steps * loads;
    /* What the next step needs is loaded ahead. */
    t->loads_in_flight = fmax(1, loads);
    *(c->flow->is_double ? &t->double_ops : &t->float_ops) += steps * threads * cells * c->operations;
    t->other_ops = steps * threads *
                   (wavefronts / (threads / 32) / (layout.cells > 1 ? 4 : 1) * 1.5 + 20 * layout.group_count);
    const double kept = cells * (double)vf_kernel_element(c) / 4;
    t->registers = 40 + (int)fmin(160, 3 * kept);
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct vf_time_layout layout;
    if (vf_time_layout_make(c, config, &layout))
        vf_time_layout_define(&layout, text);
}

const struct vf_gpu_scheme vf_gpu_time_tile = {
    .name = "time-tile",
    .summary = "all stages in one sweep, a ring of planes in shared memory for each",
    .file = "kernels/time_tile.cu",
    .variants = variants,
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .define = define,
};
