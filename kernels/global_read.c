/* The host side of global-read: which stages it takes, the shapes that a plan may choose, and what a block
 * does, for the model. kernels/global_read.cu is the kernel. */
#include <math.h>

#include "kernels/gpu_box.h"

enum { GRID_SPAN, LINES_SPAN };

static const char *const variants[] = {"grid-span", "lines-span", NULL};

static const char *refuses(const struct vf_kernel_case *c)
{
    return c->shallow ? NULL : "a stage reads neighbours of what an earlier one computes";
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    if (config->stream > 0)
        return "global-read does not stream";
    if (config->variant == LINES_SPAN && (config->work[1] > 1 || config->work[2] > 1))
        return "with lines-span a thread's work must lie along x";
    const char *reason = vf_kernel_limits(c, gpu, config, 0);
    return reason != NULL ? reason : vf_box_forbids(config);
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int lines[][2] = {{256, 1}, {128, 1}, {256, 4}};
    struct vf_candidate_list all = {c, gpu, &vf_gpu_global_read, list, 0, room};
    struct vf_kernel_config config = {.interior = true};
    vf_candidates_add_boxes(&all, &config);
    const int pack = vf_kernel_pack(c);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        config = (struct vf_kernel_config){.block = {lines[i][0], 1, 1},
                                           .work = {lines[i][1] * pack, 1, 1},
                                           .variant = LINES_SPAN,
                                           .interior = true};
        vf_candidate_add(&all, &config);
    }
    /* One cell a thread: for heavy stencils and small grids. */
    static const int small[][3] = {{32, 8, 1}, {32, 4, 1}, {128, 1, 1}, {8, 8, 1}, {8, 1, 1}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        config = (struct vf_kernel_config){
            .block = {small[i][0], small[i][1], small[i][2]}, .work = {1, 1, 1}, .interior = true};
        vf_candidate_add(&all, &config);
    }
    return all.count;
}

/* With lines-span: cells of a block as whole rows or a part of one, so that there are tiles enough. */
static void lines_tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       ptrdiff_t size[3])
{
    const ptrdiff_t pack = vf_box_pack(c, config), row = (c->nx + pack - 1) / pack * pack;
    const ptrdiff_t cells =
        (ptrdiff_t)config->block[0] * config->block[1] * config->block[2] * config->work[0];
    const ptrdiff_t rows = cells / row > 1 ? cells / row : 1, planes = rows / c->ny > 1 ? rows / c->ny : 1;
    size[0] = cells < row ? cells : c->nx;
    size[1] = rows < c->ny ? rows : c->ny;
    size[2] = planes < c->nz ? planes : c->nz;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    if (config->variant == LINES_SPAN)
        lines_tile(c, config, size);
    else
        vf_box_tile(c, config, size);
}

/* Share of the tiles that reach beyond the grid along the first `axes` axes, along x only if packs cannot
 * (VF_BESIDE). */
static double edge_share(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         const ptrdiff_t size[3], int axes)
{
    const ptrdiff_t extent[3] = {c->nx, c->ny, c->nz};
    double inside = 1;
    for (int axis = 0; axis < axes; axis++) {
        const ptrdiff_t count = (extent[axis] + size[axis] - 1) / size[axis];
        const double tiles = (double)count;
        const bool is_beside = axis == 0 && vf_box_pack(c, config) > 1 && c->halo[2] <= 2;
        if (c->halo[2 - axis] > 0 && !is_beside)
            inside *= tiles > 2 ? 1 - 2 / tiles : 0;
    }
    return config->interior ? 1 - inside : 1;
}

/* There rows are computed one by one, and the cells beside a pack looked up one by one: times as much work,
 * which 9 points along x took measured on an H200. */
#define EDGE_WORK 2.5

/* Between branches a row is read on its own, again where several rows of a box read it. */
static void count_box(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                      struct vf_kernel_traffic *traffic)
{
    struct vf_kernel_traffic whole = {0};
    struct vf_kernel_config row = *config;
    row.work[1] = row.work[2] = 1;
    if (!vf_has_branches(c)) {
        vf_box_operations(c, config, false, 1, traffic);
        return;
    }
    vf_box_operations(c, config, false, 1, &whole);
    vf_box_operations(c, &row, false, (ptrdiff_t)config->work[1] * config->work[2], traffic);
    traffic->registers = whole.registers;
}

/* What a load from L1 takes of one from memory where several arrays are read, and what bytes take that are
 * converted at every read; fitted on an H200 to a step of diffusion and to 7 points of int8. */
#define FROM_L1 0.6
#define BYTES 1.15

static bool reads_bytes(const struct vf_kernel_case *c)
{
    for (int k = 0; k < c->flow->source_count; k++)
        if (vf_type_size(c->source_type[k]) == 1)
            return true;
    return false;
}

/* Loads of a thread under way at once where the cells beside a pack are looked up one by one; fitted to 9
 * points along x. */
static double at_ends(const struct vf_kernel_config *config)
{
    return config->work[1] * config->work[2] == 1 ? 2 : 4;
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    ptrdiff_t size[3];
    tile(c, config, size);
    /* What a block reads more than once comes from L1. */
    vf_tile_sectors(c, config, size, false, traffic);
    count_box(c, config, traffic);
    if (c->flow->source_count > 1) {
        const double first = c->flow->source_count * (double)config->work[0] / vf_box_pack(c, config) *
                             config->work[1] * config->work[2];
        traffic->loads = first + FROM_L1 * fmax(0, traffic->loads - first);
    }
    const double work = (1 + edge_share(c, config, size, 3) * (EDGE_WORK - 1)) * (reads_bytes(c) ? BYTES : 1);
    traffic->global_wavefronts *= work;
    traffic->other_ops *= work;
    traffic->loads *= work;
    /* Reads do not depend on one another: as many are under way as registers hold. */
    const double rows = vf_has_branches(c) ? config->work[1] * config->work[2] : 1,
                 most = fmin(48.0 / vf_box_pack(c, config), traffic->loads / rows);
    traffic->loads_in_flight = fmax(1, most);
    const double ends = vf_box_pack(c, config) > 1 ? edge_share(c, config, size, 1) : 0;
    traffic->loads_in_flight =
        1 / ((1 - ends) / traffic->loads_in_flight + ends / fmin(traffic->loads_in_flight, at_ends(config)));
}

/* Cells farther beside a pack than the next two are looked up one by one at the grid's edges: six fields of
 * 17 weights along x take 12 s to compile. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const double looked_up = c->halo[2] > 2 ? 3.0 * vf_box_pack(c, config) * c->written_operations : 0;
    return vf_box_written(c, config) + looked_up;
}

/* A step of diffusion, four cells by two planes, takes 5 s to compile, once, and two thirds of the time of
 * one cell. */
#define MOST_WRITTEN 1700

/* Of packs of a heavy body the compiler computes so much side by side that an SM holds four blocks of 128
 * threads; five are 6% faster on an H200, six slower. */
static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    enum { HEAVY = 300, REGISTERS = VF_SM_REGISTERS / 5 / 128 };
    const int threads = config->block[0] * config->block[1] * config->block[2],
              blocks = VF_SM_REGISTERS / REGISTERS / threads;
    if (c->operations >= HEAVY && c->flow->stage_count == 1 && !c->flow->is_double && config->work[0] > 1 &&
        blocks > 0)
        vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", blocks);
}

const struct vf_gpu_scheme vf_gpu_global_read = {
    .name = "global-read",
    .summary = "each thread reads its own neighbourhood through the caches",
    .file = "kernels/global_read.cu",
    .variants = variants,
    .refuses = refuses,
    .takes_loops = true,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .traffic = traffic,
    .written = written,
    .most_written = MOST_WRITTEN,
    .define = define,
};
