/* The host side of star-stream: which stages it takes, the ring of planes and the registers of a block, and
 * what it does, for the model. kernels/star_stream.cu is the kernel. */
#include <math.h>

#include "kernels/gpu_box.h"
#include "kernels/gpu_sweep.h"
#include "src/model.h"
#include "src/size.h"

/* `far` and `far-pairs` are for blocks that all run at once and go through the same planes: one of a
 * multiprocessor, or two. They are kept in step (kernels/device_pace.h). */
enum { NEAR, LATER, FAR, FAR_PAIRS };

static const char *const variants[] = {"near", "later", "far", "far-pairs", NULL};

/* Planes on their way. All but `near` ask for what is beside a tile later than for the tile. */
static const int ahead_of[] = {[NEAR] = 2, [LATER] = 3, [FAR] = 8, [FAR_PAIRS] = 8};

static bool is_far(const struct vf_kernel_config *config)
{
    return config->variant == FAR || config->variant == FAR_PAIRS;
}

/* Planes that threads may be reading: at the gate they may be one plane apart. */
enum { READ = 2 };

/* What follows from a block's shape. */
struct layout {
    int tile_x, tile_y; /* cells */
    int before, behind; /* packs beside a row of the tile */
    int above;          /* planes that are taken from the ring for results below them (star_stream.cu) */
    int tables;         /* so many stages, the first ones, are tables of weights */
    int registers;      /* of a thread */
    int ahead, later;   /* planes on their way; of them, those without what is beside the tile */
    int planes;         /* in the ring */
    size_t plane;       /* elements of a plane in the ring */
};

/* Whether a stage is a table of weights over the first source. */
static bool is_table(const struct vf_flow *flow, const struct vf_stage *stage)
{
    return stage->stencil == VF_STENCIL_LINEAR && stage->input_count == 1 &&
           stage->input[0] == flow->source[0];
}

/* The first so many stages are tables. */
static int table_count(const struct vf_flow *flow)
{
    int count = 0;
    while (count < flow->stage_count && is_table(flow, &flow->stage[count]))
        count++;
    return count;
}

/* Whether a table has weights off the axes. */
static bool is_box(const struct vf_flow *flow)
{
    for (int s = table_count(flow) - 1; s >= 0; s--)
        if (!vf_sweep_is_star(&flow->stage[s], 0))
            return true;
    return false;
}

/* Whether a stage is a body of what other stages make, at its own place, or, if there are no tables, of the
 * source, of which it may read next neighbours along the axes. */
static bool is_body(const struct vf_flow *flow, const struct vf_stage *stage)
{
    if (stage->stencil == VF_STENCIL_LINEAR)
        return false;
    for (int k = 0; k < stage->input_count; k++) {
        const bool is_source = stage->input[k] == flow->source[0];
        const int most = is_source ? 1 : 0;
        int halo[3];
        vf_stage_halo(stage, flow->dim, k, halo);
        if (halo[0] > most || halo[1] > most || halo[2] > most ||
            (is_source && (table_count(flow) > 0 || !vf_sweep_is_star(stage, k))))
            return false;
    }
    return true;
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->dim == 2)
        return "it is for volumes";
    if (flow->source_count != 1)
        return "it is for stencils of one array";
    for (int s = table_count(flow); s < flow->stage_count; s++)
        if (!is_body(flow, &flow->stage[s]))
            return "it is for convolutions, or stages that read next voxels along the axes, and what follows "
                   "at the same voxel";
    for (int k = 0; k < flow->sink_count; k++)
        if (flow->sink[k] == flow->source[0])
            return "a result is a plain copy of an input";
    if (c->halo[0] < 1 || (c->halo[1] < 1 && c->halo[2] < 1))
        return "it is for stencils that reach along z, and along x or y";
    if (vf_widening_ops(c, c->source_type[0]) > 0)
        return "what it reads would have to be converted";
    return c->halo[0] > 16 || c->halo[1] > 16 || c->halo[2] > 16 ? "the stencil reaches too far" : NULL;
}

static int packs_of(int cells, int pack)
{
    return (cells + pack - 1) / pack;
}

static int tail_of(const struct vf_kernel_case *c)
{
    return (int)(c->nx % vf_kernel_pack(c));
}

static void find_layout(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                        struct layout *l)
{
    const int pack = vf_kernel_pack(c), words = (int)vf_kernel_element(c) / 4, reach = c->halo[0],
              cells = config->work[0] * config->work[1], threads = config->block[0] * config->block[1];
    l->tile_x = config->block[0] * config->work[0];
    l->tile_y = config->block[1] * config->work[1];
    l->before = packs_of(c->halo[2], pack);
    l->behind = c->halo[2] > 0 ? packs_of(tail_of(c) + c->halo[2], pack) : 0;
    l->plane = (size_t)(l->tile_y + 2 * c->halo[1]) *
               (size_t)vf_ceil_div(l->tile_x + (l->before + l->behind) * pack, 2 * pack) * 2 * (size_t)pack;
    l->tables = table_count(c->flow);
    /* A table's sums begin at its own reach, and end with the farthest reach of all. Without tables the
     * planes above and below are kept. */
    int sums = l->tables > 0 ? l->tables * reach : 2 * reach;
    for (int s = 0; s < l->tables; s++)
        sums += c->flow->stage[s].taps->halo[0];
    /* Beside sums: a thread's cells and their results, a row with what is beside it, and addresses. */
    const int most = vf_kernel_most_registers(threads), results = l->tables > 0 ? l->tables : 1,
              others = 20 + words * ((1 + results) * cells + (2 * l->before + 1) * pack);
    l->above = l->tables > 0 ? 0 : reach;
    for (; l->above < reach && others + words * cells * sums > most; l->above++)
        sums -= l->tables;
    l->ahead = ahead_of[config->variant];
    /* No more than can be spared while the planes above are on their way, too. */
    const bool spares_two = is_far(config) || (l->above > 1 && tail_of(c) == 0);
    l->later = config->variant == NEAR ? 0 : spares_two ? 2 : 1;
    l->planes = l->ahead + l->above + READ;
    l->registers = others + words * cells * sums;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct layout l;
    find_layout(c, config, &l);
    return VF_PACK_BYTES + (size_t)l.planes * l.plane * vf_kernel_element(c) + VF_GATE_BYTES;
}

/* Blocks of a multiprocessor at once. */
static int resident(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config)
{
    enum { LEAST_REGISTERS = 96 }; /* what small tiles compile to at most */
    struct layout l;
    find_layout(c, config, &l);
    const struct vf_granularity granularity = vf_granularity_of(gpu->capability);
    const int registers = l.registers > LEAST_REGISTERS ? l.registers : LEAST_REGISTERS;
    return vf_model_occupancy(gpu, config->block[0] * config->block[1], registers, shared(c, config),
                              &granularity)
        .blocks;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *why = vf_kernel_limits(c, gpu, config, 0);
    if (why == NULL)
        why = vf_sweep_limits(c, config);
    if (why != NULL)
        return why;
    if (config->work[0] != vf_kernel_pack(c) || config->work[1] > 8)
        return c->flow->is_double ? "a thread must have 2 voxels along x, and at most 8 along y"
                                  : "a thread must have 4 voxels along x, and at most 8 along y";
    if (!is_far(config) && c->halo[0] < 2 && c->halo[1] < 2 && c->halo[2] < 2)
        return "a stencil that reaches one voxel is for variants far and far-pairs";
    if (!is_far(config) && is_box(c->flow))
        return "weights off the axes are for variants far and far-pairs";
    const int x = config->block[0];
    if (is_box(c->flow) && (x < gpu->warp ? gpu->warp % x : x % gpu->warp) != 0)
        return "a block's width must be a power of two or a multiple of a warp";
    if (is_box(c->flow) && x * config->block[1] % gpu->warp != 0)
        return "a block's threads must fill whole warps";
    if (config->variant == FAR_PAIRS && resident(c, gpu, config) < 2)
        return "two blocks must fit a multiprocessor";
    struct layout l;
    find_layout(c, config, &l);
    if (l.registers > VF_THREAD_REGISTERS || (l.above > 0 && is_box(c->flow)) ||
        l.registers * config->block[0] * config->block[1] > gpu->sm_registers)
        return "work needs more registers than a thread has";
    return vf_kernel_limits(c, gpu, config, shared(c, config));
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    struct layout l;
    find_layout(c, config, &l);
    size[0] = l.tile_x;
    size[1] = l.tile_y;
    size[2] = config->stream;
}

/* Whether a block takes what an SM has of registers: its tile is as large as they allow. */
static bool is_large(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                     const struct vf_kernel_config *config)
{
    struct layout l;
    find_layout(c, config, &l);
    return 2 * l.registers * config->block[0] * config->block[1] > gpu->sm_registers;
}

static struct vf_kernel_config config_of(const struct vf_kernel_case *c, const int shape[3], int variant)
{
    return (struct vf_kernel_config){.block = {shape[0], shape[1], 1},
                                     .work = {vf_kernel_pack(c), shape[2], 1},
                                     .stream = 1,
                                     .variant = variant};
}

static double tiles_of_plane(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    ptrdiff_t size[3];
    tile(c, config, size);
    return (double)vf_ceil_div(c->nx, size[0]) * (double)vf_ceil_div(c->ny, size[1]);
}

/* How many tiles there are for each block that runs at once, if all blocks are in the same planes: there is
 * one chunk. Up to 1, no plane is read twice, and what is beside a tile was just read for others. */
static double tiles_in_step(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                            const struct vf_kernel_config *config)
{
    const int blocks = gpu->multiprocessors * (config->variant == FAR_PAIRS ? 2 : 1);
    return config->stream < c->nz ? INFINITY : tiles_of_plane(c, config) / blocks;
}

static bool is_in_step(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                       const struct vf_kernel_config *config)
{
    return tiles_in_step(c, gpu, config) <= 1;
}

/* Tiles in step of which nearly all multiprocessors have as many as others. Their few warps are not enough
 * for many terms: 31 points are slower so, three lines of 9 much slower, and so are bodies that take roots
 * one by one, or have several results. Boxes need 16 warps, of one block, which come and go together. Returns
 * how many were added. */
static int add_far(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                   int room)
{
    static const int shapes[][3] = {{64, 4, 2}, {128, 2, 2}, {32, 8, 2},  {16, 16, 2}, {64, 8, 2},
                                    {64, 4, 4}, {64, 8, 1},  {128, 4, 1}, {128, 2, 1}, {64, 4, 1}};
    enum { FEW_TERMS = 20, TERMS_OF_BOX = 27, THREADS_OF_BOX = 512 };
    const bool box = is_box(c->flow);
    int count = 0;
    if (c->operations > (box ? TERMS_OF_BOX : FEW_TERMS) || vf_has_branches(c) || c->flow->sink_count > 1)
        return 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int variant = FAR; variant <= FAR_PAIRS && count < room; variant++) {
            struct vf_kernel_config config = config_of(c, shapes[i], variant);
            config.stream = (int)c->nz;
            if (box && (variant != FAR || shapes[i][2] > 1 || shapes[i][0] * shapes[i][1] < THREADS_OF_BOX))
                continue;
            if (is_in_step(c, gpu, &config) && tiles_in_step(c, gpu, &config) > 0.75 &&
                forbids(c, gpu, &config) == NULL)
                list[count++] = config;
        }
    return count;
}

/* Whether `later` may gain: for one star, of 31 points 5%. 13 points gain nothing, and three lines lose up to
 * 3%. */
static bool gains_later(const struct vf_kernel_case *c)
{
    return table_count(c->flow) == 1 && c->halo[0] > 2;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shapes[][3] = {{64, 4, 4},  {32, 8, 4}, {16, 16, 4}, {64, 8, 4}, {32, 16, 4},
                                    {32, 16, 2}, {64, 8, 2}, {32, 8, 2},  {16, 16, 2}};
    int count = 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int variant = NEAR; variant <= LATER; variant++) {
            const struct vf_kernel_config config = config_of(c, shapes[i], variant);
            const struct vf_sweep_shape shape = vf_sweep_shape_of(&config, 0, 0);
            if (variant == LATER && !gains_later(c))
                continue;
            if (forbids(c, gpu, &config) == NULL && is_large(c, gpu, &config))
                count +=
                    vf_sweep_add_chunks(c, gpu, &shape, config, 8 * c->halo[0], list + count, room - count);
        }
    return count + add_far(c, gpu, list + count, room - count);
}

/* ---- counts for the model ---- */

/* What is done at a cell of a plane beyond the chunk: a star's terms in other planes, all of a box's, and no
 * body. */
static double operations_beyond(const struct vf_kernel_case *c, const struct layout *l)
{
    double terms = 0;
    for (int s = 0; s < l->tables; s++)
        terms += is_box(c->flow) ? c->flow->stage[s].taps->count : 2 * c->flow->stage[s].taps->halo[0];
    return terms;
}

/* Fitted to 13, 31 and 43 points on an H200: */
/* Moving planes by a ring takes so many times what a copy takes, even without arithmetic. */
#define RING 1.02
/* The same with many planes on their way, in blocks that are in step, and not (13 points of 1023 x 1023 x
 * 511). */
#define IN_STEP 0.98
#define OUT_OF_STEP 1.07
/* The few cells beside an end of a row take the time of so many sectors. */
#define BORDER 7
/* The share of the time for shared memory that is not hidden by arithmetic. */
#define EXPOSED 0.1
/* How many warps issue at the full rate, times the cells of a thread: boxes add to three sums at once. */
#define ISSUED 96.0
#define ISSUED_OF_BOX 64.0

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *t)
{
    struct layout l;
    find_layout(c, config, &l);
    const int element = (int)vf_kernel_element(c), pack = vf_kernel_pack(c), rows = config->work[1];
    const bool in_step = is_in_step(c, gpu, config);
    const double ring = !is_far(config) ? RING : in_step ? IN_STEP : OUT_OF_STEP;
    const double planes = config->stream, beyond = 2.0 * c->halo[0], all = planes + beyond - l.above,
                 read = planes + beyond, cells = (double)rows * pack;
    const double row = vf_model_warp_sectors(0, element, l.tile_x),
                 line = vf_model_warp_lines(0, element, l.tile_x);
    const double threads = (double)config->block[0] * config->block[1],
                 corners = is_box(c->flow) ? 2 * c->halo[1] : 0,
                 borders = l.before > 0 ? 2 * (l.tile_y + corners) : 0;
    t->read_sectors += ring * row * l.tile_y * planes;
    t->halo_sectors[0] += BORDER * borders * planes;
    t->halo_sectors[1] += row * 2 * c->halo[1] * planes;
    t->halo_sectors[2] += row * l.tile_y * beyond;
    double narrowing = 0;
    for (int k = 0; k < c->flow->sink_count; k++) {
        t->written_sectors +=
            ring * planes * l.tile_y * vf_model_warp_sectors(0, (int)vf_type_size(c->sink_type[k]), l.tile_x);
        t->global_wavefronts += line * planes * l.tile_y;
        narrowing += vf_narrowing_ops(c, c->sink_type[k]);
    }
    t->global_wavefronts += line * (read * l.tile_y + planes * 2 * c->halo[1]) + planes * borders;
    /* Packs that a thread takes from the ring: of each plane its own cells, of those of the chunk what is
     * beside them too. And packs of a plane that it copies to the ring. */
    const double own = rows + (double)l.above * rows,
                 beside = 2 * c->halo[1] + 2 * l.before * (rows + corners),
                 taken = all * own + planes * beside, brought = (double)l.plane / pack / threads;
    t->shared_wavefronts += EXPOSED * 4 * threads / 32 * (taken + read * brought);
    t->loads = read * brought;
    t->other_ops += threads * (taken + 8 * all + read * 4 * brought + narrowing * cells * planes);
    *(c->flow->is_double ? &t->double_ops : &t->float_ops) +=
        threads * cells * (planes * c->operations + (all - planes) * operations_beyond(c, &l));
    t->threads = (int)threads;
    t->steps = (ptrdiff_t)all;
    t->barriers = all;
    t->loads_in_flight = 4 * l.ahead * brought;
    t->overlap = is_far(config) && in_step ? VF_RUNS_AHEAD : VF_OVERLAPS;
    t->issue_warps = (is_box(c->flow) ? ISSUED_OF_BOX : ISSUED) / cells;
    /* If all sums are in registers, the compiler uses fewer than the layout has room for. */
    t->registers = l.registers - (l.above == 0 ? 8 : 0);
}

/* Whether planes of the chunk's inside have a loop of their own, in which nothing is asked about ends: in
 * long chunks, which are worth compiling it. */
static bool has_inner(const struct vf_kernel_config *config)
{
    return config->stream >= 64;
}

/* The loops for planes of the chunk, and the two for those beyond it. A term compiles in a fifth of the time
 * of other operations. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct layout l;
    find_layout(c, config, &l);
    const double loops = has_inner(config) ? 2 : 1;
    return (l.tables > 0 ? 0.2 : 1) * config->work[0] * config->work[1] *
           (loops * c->operations + 4 * operations_beyond(c, &l));
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct layout l;
    find_layout(c, config, &l);
    vf_text_add(text, "#define VF_PLANES %d\n#define VF_AHEAD %d\n#define VF_LATER %d\n#define VF_ABOVE %d\n",
                l.planes, l.ahead, l.later, l.above);
    vf_text_add(text, "#define VF_TAIL %d\n#define VF_TABLES %d\n#define VF_HAS_INNER %d\n", tail_of(c),
                l.tables, has_inner(config));
    vf_text_add(text, "#define VF_IS_BOX %d\n", is_box(c->flow));
    vf_define_each("VF_EACH_TABLE", 0, l.tables, text);
    vf_define_each("VF_EACH_BODY", l.tables, c->flow->stage_count, text);
}

const struct vf_gpu_scheme vf_gpu_star_stream = {
    .name = "star-stream",
    .summary = "for stars, boxes and next neighbours: planes in shared memory, sums in registers",
    .file = "kernels/star_stream.cu",
    .variants = variants,
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .most_written = 900,
    .define = define,
};
