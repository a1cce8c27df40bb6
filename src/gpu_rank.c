/* Predicting, ranking and choosing. gpu_forced.c reads --scheme. */
#include "gpu_rank.h"

#include <math.h>
#include <string.h>

#include "precompiled.h"
#include "size.h"
#include "tuning.h"

/* Configurations of a scheme that are looked at. */
#define MOST_CANDIDATES 512
/* The cells of a thread are written out one after another. Beyond this many operations in all, a kernel takes
 * most of a second to compile, and no longer fits the instruction cache. */
#define MOST_UNROLLED 400
/* Grids of so many cells are worth a longer compilation, where a scheme's most_written allows it. */
#define LARGE_GRID (1 << 22)
/* The most registers that a thread may have in a block of 1024. */
#define LARGEST_BLOCK_REGISTERS 64
/* The most tiles along y and z, unless the grid is flat. */
#define MOST_GRID_YZ 65535

/* ---- prediction ---- */

void vf_gpu_tiles(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                  const struct vf_kernel_config *config, ptrdiff_t tiles[3])
{
    const ptrdiff_t extent[3] = {c->nx, c->ny, c->nz};
    ptrdiff_t tile[3];
    if (scheme->tiles != NULL) {
        scheme->tiles(c, config, tiles);
        return;
    }
    scheme->tile(c, config, tile);
    for (int axis = 0; axis < 3; axis++)
        tiles[axis] = vf_ceil_div(extent[axis], tile[axis]);
}

void vf_gpu_fit_grid(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                     struct vf_kernel_config *config)
{
    ptrdiff_t tiles[3];
    vf_gpu_tiles(c, scheme, config, tiles);
    config->flat_grid = config->flat_grid || tiles[1] > MOST_GRID_YZ || tiles[2] > MOST_GRID_YZ;
}

/* A scheme's traffic is that of whole tiles, unless it counts its tiles itself. But a part of the last tiles
 * along each axis is beyond the grid, and nothing is read or written there. */
static void leave_out_beyond(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                             struct vf_kernel_traffic *traffic)
{
    if (scheme->tiles != NULL)
        return;
    const ptrdiff_t extent[3] = {c->nx, c->ny, c->nz};
    double within = 1;
    for (int axis = 0; axis < 3; axis++)
        within *=
            fmin(1, (double)extent[axis] / ((double)traffic->blocks[axis] * (double)traffic->tile[axis]));
    traffic->read_sectors *= within;
    traffic->written_sectors *= within;
    for (int axis = 0; axis < 3; axis++)
        traffic->halo_sectors[axis] *= within;
}

/* The grid's extent along the axis that blocks stream along; 0 if they do not stream. */
static int streamed_extent(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                           const struct vf_kernel_config *config)
{
    const ptrdiff_t extent[3] = {c->nx, c->ny, c->nz};
    struct vf_kernel_config longer = *config;
    ptrdiff_t tile[3], longer_tile[3];
    longer.stream++;
    scheme->tile(c, config, tile);
    scheme->tile(c, &longer, longer_tile);
    for (int axis = 0; axis < 3; axis++)
        if (longer_tile[axis] != tile[axis])
            return (int)extent[axis];
    return 0;
}

/* The configuration with a stream no longer than the grid, where it ends in fact. */
static struct vf_kernel_config within_grid(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                                           const struct vf_kernel_config *config)
{
    struct vf_kernel_config within = *config;
    if (scheme->tiles != NULL ||
        (config->stream <= c->nx && config->stream <= c->ny && config->stream <= c->nz))
        return within;
    const int extent = streamed_extent(c, scheme, config);
    if (extent > 0 && config->stream > extent)
        within.stream = extent;
    return within;
}

/* A thread may take up to `more` registers more than the scheme guesses. The mean of the times with and
 * without them, so that the choice does not depend on a few registers. */
static double unsure_seconds(const struct vf_gpu *gpu, const struct vf_kernel_traffic *traffic, int more,
                             struct vf_model_detail *detail)
{
    struct vf_kernel_traffic other = *traffic;
    other.registers += more;
    const double seconds = vf_model_seconds(gpu, traffic, detail),
                 with_more = vf_model_seconds(gpu, &other, NULL);
    return isfinite(with_more) ? (seconds + with_more) / 2 : seconds;
}

double vf_gpu_predict(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                      const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *config,
                      int registers, struct vf_model_detail *detail)
{
    struct vf_kernel_traffic traffic = {.threads = config->block[0] * config->block[1] * config->block[2],
                                        .shared = vf_gpu_shared(scheme, c, config),
                                        .steps = 1,
                                        .loads_in_flight = 1};
    const struct vf_kernel_config counted = within_grid(c, scheme, config);
    scheme->tile(c, &counted, traffic.tile);
    vf_gpu_tiles(c, scheme, &counted, traffic.blocks);
    scheme->traffic(c, gpu, &counted, &traffic);
    if (registers > 0)
        traffic.registers = registers;
    leave_out_beyond(c, scheme, &traffic);
    const int more = registers > 0 ? 0 : scheme->unsure_registers;
    return more > 0 ? unsure_seconds(gpu, &traffic, more, detail) : vf_model_seconds(gpu, &traffic, detail);
}

/* Puts the entry into a list by time, of at most `room` entries. */
static void insert(struct vf_ranked *list, int *count, int room, const struct vf_ranked *entry)
{
    int at = *count;
    while (at > 0 && entry->seconds < list[at - 1].seconds)
        at--;
    if (at >= room)
        return;
    const int kept = *count < room ? *count : room - 1;
    memmove(list + at + 1, list + at, (size_t)(kept - at) * sizeof *list);
    list[at] = *entry;
    *count = kept + 1;
}

/* Replaces the scheme's values by those that the user gives. */
static void apply(const struct vf_forced *forced, struct vf_kernel_config *config)
{
    for (int axis = 0; axis < 3; axis++) {
        if (forced->config.block[axis] > 0)
            config->block[axis] = forced->config.block[axis];
        if (forced->config.work[axis] > 0)
            config->work[axis] = forced->config.work[axis];
    }
    config->stream = forced->config.stream > 0 ? forced->config.stream : config->stream;
    config->variant = forced->variant >= 0 ? forced->variant : config->variant;
    config->flat_grid = forced->grid >= 0 ? forced->grid : config->flat_grid;
    config->virtual_blocks = forced->virtual_blocks >= 0 ? forced->virtual_blocks : config->virtual_blocks;
    config->interior = forced->interior >= 0 ? forced->interior : config->interior;
}

/* Whether the bodies of one cell read so many values off the axes that there are no registers for a second
 * cell: they may need all of them at once. Kernels of several cells would keep values in memory, and take the
 * compiler 10 to 20 s. */
static bool fills_registers(const struct vf_kernel_case *c)
{
    enum { MANY = 50 };
    long words = 0;
    for (int s = 0; s < c->flow->stage_count; s++) {
        const struct vf_stage *stage = &c->flow->stage[s];
        for (int k = 0; stage->stencil != VF_STENCIL_LINEAR && k < stage->input_count; k++) {
            int halo[3];
            vf_stage_halo(stage, c->flow->dim, k, halo);
            if (k >= vf_stage_stencil(stage)->star_inputs[c->flow->dim - 2])
                words += (2L * halo[0] + 1) * (2 * halo[1] + 1) * (2 * halo[2] + 1);
        }
    }
    return words * (c->flow->is_double ? 2 : 1) > MANY;
}

/* Operations in the kernel's code, to which the time to compile it is proportional. 0 for one stage and one
 * cell a thread, as no kernel is shorter than that. */
static double length_of(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                        const struct vf_kernel_config *config)
{
    const int cells = config->work[0] * config->work[1] * config->work[2];
    if (cells == 1)
        return c->flow->stage_count > 1 ? c->operations : 0;
    if (!scheme->one_by_one && fills_registers(c))
        return INFINITY;
    return scheme->written != NULL ? scheme->written(c, config) : (double)cells * c->operations;
}

double vf_gpu_length(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                     const struct vf_kernel_config *config)
{
    return fmax(length_of(c, scheme, config), c->operations);
}

bool vf_gpu_is_long(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                    const struct vf_kernel_config *config)
{
    return length_of(c, scheme, config) > fmax(scheme->most_written, MOST_UNROLLED);
}

/* The longest code that a candidate may have. If the user gives the work of a thread, there is no bound. */
static double most_length(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                          const struct vf_forced *forced)
{
    const bool is_large = (double)c->nx * (double)c->ny * (double)c->nz >= LARGE_GRID;
    if (forced != NULL && forced->config.work[0] > 0)
        return INFINITY;
    return scheme->most_written > 0 && (is_large || forced != NULL) ? scheme->most_written : MOST_UNROLLED;
}

/* The scheme's candidates with the user's values, as far as they are allowed. If it has no candidates, the
 * block that the user gives. *why is why the first one that is not allowed is not. */
static int list_candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_gpu_scheme *scheme, const struct vf_forced *forced,
                           struct vf_kernel_config list[MOST_CANDIDATES], const char **why)
{
    int count = 0, all = scheme->candidates(c, gpu, list, MOST_CANDIDATES);
    *why = NULL;
    if (all == 0 && forced != NULL && forced->config.block[0] > 0)
        list[all++] = (struct vf_kernel_config){.block = {1, 1, 1}, .work = {1, 1, 1}};
    for (int i = 0; i < all; i++) {
        struct vf_kernel_config config = list[i];
        if (forced != NULL)
            apply(forced, &config);
        const char *reason = vf_gpu_scheme_forbids(scheme, c, gpu, &config);
        if (reason == NULL)
            list[count++] = config;
        else if (*why == NULL)
            *why = reason;
    }
    return count;
}

/* A scheme's registers are a guess, and the compiler keeps to what a block may have. So what the user forces
 * is not refused for too many registers: it is predicted with as many as any block may have. */
static double predict(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                      const struct vf_forced *forced, struct vf_ranked *entry)
{
    double seconds = vf_gpu_predict(c, gpu, entry->scheme, &entry->config, 0, &entry->detail);
    if (!isfinite(seconds) && forced != NULL)
        seconds =
            vf_gpu_predict(c, gpu, entry->scheme, &entry->config, LARGEST_BLOCK_REGISTERS, &entry->detail);
    return seconds;
}

static void rank_scheme(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                        const struct vf_gpu_scheme *scheme, const struct vf_forced *forced,
                        struct vf_ranked *list, int *count, int room)
{
    struct vf_kernel_config config[MOST_CANDIDATES];
    const char *why;
    if (forced == NULL && ((scheme->most_stages > 0 && c->flow->stage_count > scheme->most_stages) ||
                           (scheme->most_fields > 0 && c->flow->field_count > scheme->most_fields)))
        return;
    if (vf_gpu_scheme_refuses(scheme, c) != NULL)
        return;
    const int candidates = list_candidates(c, gpu, scheme, forced, config, &why);
    double most = most_length(c, scheme, forced), least = INFINITY;
    for (int i = 0; i < candidates; i++)
        least = fmin(least, length_of(c, scheme, &config[i]));
    /* A scheme that the user forces takes one or two stages, however long its shortest kernel is, and more
     * if the user says how many. */
    if (forced != NULL && (c->flow->stage_count <= 2 || forced->fuse > 0))
        most = fmax(most, least);
    for (int i = 0; i < candidates; i++) {
        struct vf_ranked entry = {.scheme = scheme, .config = config[i]};
        if (length_of(c, scheme, &entry.config) > most)
            continue;
        vf_gpu_fit_grid(c, scheme, &entry.config);
        entry.seconds = predict(c, gpu, forced, &entry);
        if (isfinite(entry.seconds))
            insert(list, count, room, &entry);
    }
}

int vf_gpu_rank(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_forced *forced,
                struct vf_ranked *list, int room)
{
    int count = 0;
    for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++)
        if (forced == NULL || forced->scheme == *scheme)
            rank_scheme(c, gpu, *scheme, forced, list, &count, room);
    return count;
}

const char *vf_gpu_refusal(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_forced *forced)
{
    struct vf_kernel_config config[MOST_CANDIDATES];
    const char *why = vf_gpu_scheme_refuses(forced->scheme, c);
    if (why != NULL)
        return why;
    if (list_candidates(c, gpu, forced->scheme, forced, config, &why) > 0)
        return "a block needs more registers than the device has";
    return why != NULL ? why
                       : "none of its block sizes fits the stencil and the device; try others with block=";
}

/* ---- choosing ---- */

int vf_gpu_rechunk(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_ranked *of,
                   struct vf_ranked *list, int room)
{
    static const double more[] = {0.5, 0.75, 1.5, 2, 4};
    const int extent = streamed_extent(c, of->scheme, &of->config), stream = of->config.stream;
    const double chunks = stream > 0 ? ceil((double)extent / stream) : 0;
    int count = 0, last = 0;
    for (size_t i = 0; chunks > 0 && count < room && i < sizeof more / sizeof *more; i++) {
        struct vf_ranked *other = &list[count];
        const double others = fmax(1, round(chunks * more[i]));
        *other = *of;
        other->config.stream = (int)ceil(extent / others);
        if (others == chunks || other->config.stream == last ||
            vf_gpu_scheme_forbids(of->scheme, c, gpu, &other->config) != NULL)
            continue;
        last = other->config.stream;
        vf_gpu_fit_grid(c, of->scheme, &other->config);
        count++;
    }
    return count;
}

/* A choice's scheme, variant, block and work, as if the user forced them. */
static struct vf_forced shape_of(const struct vf_ranked *choice)
{
    struct vf_forced shape = {.scheme = choice->scheme,
                              .config = choice->config,
                              .variant = choice->scheme->variants == NULL ? -1 : choice->config.variant,
                              .grid = -1,
                              .virtual_blocks = -1,
                              .interior = -1};
    shape.config.stream = 0;
    return shape;
}

/* Another width than the measured one is taken if it is predicted to be faster by this factor. */
#define REFIT_MARGIN 1.1

/* The best configuration for this grid that has the choice's shape (shape_of). It is free in the length of
 * the stream, and in the block's width if the scheme allows any and its own suits the grid badly. False if
 * there is none. */
static bool refit(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_ranked *choice,
                  struct vf_ranked *best)
{
    struct vf_forced shape = shape_of(choice);
    struct vf_ranked other;
    int width[VF_MOST_WIDTHS];
    const bool any_width = choice->scheme->any_width && choice->config.block[1] == 1;
    const int widths = any_width ? vf_kernel_widths(c, choice->config.work[0], width) : 0;
    if (vf_gpu_rank(c, gpu, &shape, best, 1) == 0)
        return false;
    const double most = best->seconds / REFIT_MARGIN;
    for (int i = 0; i < widths; i++) {
        shape.config.block[0] = width[i];
        if (vf_gpu_rank(c, gpu, &shape, &other, 1) > 0 && other.seconds < fmin(most, best->seconds))
            *best = other;
    }
    return true;
}

/* Takes the shape that won on another grid or device to this one. Returns by which factor it is predicted to
 * be slower here than `least`, the best prediction, over the same factor there: the model tells better how a
 * shape fits a grid and a device than which of two shapes is faster. INFINITY: the shape cannot be used. */
static double carry_over(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                         const struct vf_known *known, double least, struct vf_ranked *here)
{
    const struct vf_ranked *won = &known->won;
    struct vf_ranked best_there;
    if (vf_gpu_rank(&known->there, &known->on, NULL, &best_there, 1) == 0 || !refit(c, gpu, won, here))
        return INFINITY;
    const double slower_there =
        vf_gpu_predict(&known->there, &known->on, won->scheme, &won->config, 0, NULL) / best_there.seconds;
    return here->seconds / least / fmax(1, slower_there);
}

/* Prefers the shape that won on the nearest grid to the best prediction, unless it falls behind by `margin`,
 * or the shape of another grid falls behind clearly less. The time is the measured one of a grid of about
 * this size, if there is one, as it is for the kernels that it will be compared with. */
static void prefer_known(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                         const struct vf_known *known, int count, struct vf_ranked *best)
{
    const double margin = 1.02, clearly = 0.98, least = best->seconds;
    double behind = INFINITY, measured = INFINITY;
    for (int k = 0; k < count; k++) {
        struct vf_ranked here;
        const double over = carry_over(c, gpu, &known[k], least, &here);
        if (known[k].won.tuned && isinf(measured))
            measured = known[k].won.seconds;
        if (over > fmin(margin, clearly * behind))
            continue;
        behind = over;
        *best = here;
        best->tuned = known[k].won.tuned;
    }
    best->seconds = best->tuned ? measured : fmin(fmin(best->seconds, least), measured);
}

/* Whether it was measured on this grid, or on one of about the same size that has as many tiles along each
 * axis. */
static bool has_its_tiles(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          const struct vf_known *known)
{
    ptrdiff_t here[3], there[3];
    if (!known->won.tuned || vf_gpu_scheme_forbids(known->won.scheme, c, gpu, &known->won.config) != NULL)
        return false;
    vf_gpu_tiles(c, known->won.scheme, &known->won.config, here);
    vf_gpu_tiles(&known->there, known->won.scheme, &known->won.config, there);
    return memcmp(here, there, sizeof here) == 0;
}

/* Takes what was measured, else what is predicted to be best. */
static bool choose_of_all(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          const struct vf_forced *forced, struct vf_ranked *best)
{
    struct vf_known known[VF_MOST_KNOWN];
    const int count = forced == NULL ? vf_tuning_find(gpu->tuning, c, gpu, known) : 0;
    for (int k = 0; k < count; k++)
        if (has_its_tiles(c, gpu, &known[k])) {
            *best = known[k].won;
            vf_gpu_predict(c, gpu, best->scheme, &best->config, 0, &best->detail);
            return true;
        }
    if (vf_gpu_rank(c, gpu, forced, best, 1) == 0)
        return false;
    prefer_known(c, gpu, known, count, best);
    if (!best->tuned && gpu->tuning != NULL && gpu->tuning->untuned > 0)
        best->seconds *= gpu->tuning->untuned;
    return true;
}

bool vf_gpu_choose(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_forced *forced,
                   struct vf_ranked *best)
{
    const bool possible = choose_of_all(c, gpu, forced, best);
    return possible && gpu->precompiled != NULL && forced == NULL
               ? vf_precompiled_choose(gpu->precompiled, c, gpu, best)
               : possible;
}
