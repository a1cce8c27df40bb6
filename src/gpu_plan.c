#include "gpu_plan.h"

#include <math.h>
#include <string.h>

#include "alloc.h"
#include "precompiled.h"
#include "tuning.h"

/* Stages that the search puts into one kernel at most. */
#define MOST_FUSED 24
#define MOST_CANDIDATES 512
/* A thread's cells are unrolled: beyond this many operations in all a kernel takes most of a second to
 * compile, and no longer fits the instruction cache. */
#define MOST_UNROLLED 400
/* Cells of a grid that some schemes may take longer to compile for. */
#define LARGE_GRID (1 << 22)
/* Of a thread, where a block has 1024 of them. */
#define LARGEST_BLOCK_REGISTERS 64
/* Tiles along y and z of a grid that is not flat. */
#define MOST_GRID_YZ 65535

/* ---- the case of one kernel ---- */

enum vf_status vf_kernel_work_open(struct vf_kernel_work *work, const struct vf_gpu_plan *plan,
                                   const struct vf_gpu_request *request, const struct vf_launch *launch,
                                   struct vf_error *error)
{
    struct vf_field_usage usage;
    bool fits = true;
    int count;
    int *copy = vf_alloc((size_t)request->flow->sink_count + 1, sizeof *copy, "a kernel", error);
    if (copy == NULL)
        return VF_FAILED;
    enum vf_status status = vf_field_usage_open(&usage, request, copy, &count, error);
    if (status == VF_OK)
        status = vf_kernel_work_make(work, request, &usage, launch->stage_begin, launch->stage_end,
                                     plan->copy + launch->copy_begin, launch->copy_end - launch->copy_begin,
                                     &fits, error);
    if (status == VF_OK && !fits) {
        vf_kernel_work_close(work);
        status = vf_fail(error, VF_USAGE, "stages have more fields than one kernel can take");
    }
    vf_field_usage_close(&usage);
    vf_free(copy);
    return status;
}

/* ---- weighing ---- */

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
        tiles[axis] = (extent[axis] + tile[axis] - 1) / tile[axis];
}

void vf_gpu_fit_grid(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                     struct vf_kernel_config *config)
{
    ptrdiff_t tiles[3];
    vf_gpu_tiles(c, scheme, config, tiles);
    config->flat_grid = config->flat_grid || tiles[1] > MOST_GRID_YZ || tiles[2] > MOST_GRID_YZ;
}

/* Schemes count whole tiles, unless they number them themselves; of the last ones along an axis a part is
 * beyond the grid, of which nothing is read or written. */
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

/* Cells of the grid along the axis that a block streams; 0: it does not. */
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

/* The configuration with a stream that ends where the grid does, as it does in fact. */
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

double vf_gpu_predict(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                      const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *config,
                      int registers, struct vf_model_detail *detail)
{
    struct vf_kernel_traffic traffic = {.threads = config->block[0] * config->block[1] * config->block[2],
                                        .shared = scheme->shared(c, config),
                                        .steps = 1,
                                        .loads_in_flight = 1};
    const struct vf_kernel_config counted = within_grid(c, scheme, config);
    scheme->tile(c, &counted, traffic.tile);
    vf_gpu_tiles(c, scheme, &counted, traffic.blocks);
    if (scheme->traffic == NULL)
        return 1;
    scheme->traffic(c, gpu, &counted, &traffic);
    if (registers > 0)
        traffic.registers = registers;
    leave_out_beyond(c, scheme, &traffic);
    return vf_model_seconds(gpu, &traffic, detail);
}

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

/* The user's values over the scheme's. */
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

/* Operations in the kernel's code, which is what compiling takes; 0 of one stage with one cell a thread, of
 * which there is no shorter kernel. */
static double length_of(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                        const struct vf_kernel_config *config)
{
    const int cells = config->work[0] * config->work[1] * config->work[2];
    if (cells == 1)
        return c->flow->stage_count > 1 ? c->operations : 0;
    return scheme->written != NULL ? scheme->written(c, config) : (double)cells * c->operations;
}

bool vf_gpu_is_long(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                    const struct vf_kernel_config *config)
{
    return length_of(c, scheme, config) > fmax(scheme->most_written, MOST_UNROLLED);
}

/* That a candidate may have; where the user gives the work of a thread there is no bound. */
static double most_length(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                          const struct vf_forced *forced)
{
    const bool is_large = (double)c->nx * (double)c->ny * (double)c->nz >= LARGE_GRID;
    if (forced != NULL && forced->config.work[0] > 0)
        return INFINITY;
    return scheme->most_written > 0 && (is_large || forced != NULL) ? scheme->most_written : MOST_UNROLLED;
}

/* The candidates that are allowed, with the user's values; the user's block where the scheme has none. */
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
        const char *reason = scheme->forbids(c, gpu, &config);
        if (reason == NULL)
            list[count++] = config;
        else if (*why == NULL)
            *why = reason;
    }
    return count;
}

/* What a scheme says of registers is a guess, and the compiler keeps to what a block may have: what the user
 * forces is not left out for it. */
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
    if (forced == NULL && scheme->most_stages > 0 && c->flow->stage_count > scheme->most_stages)
        return;
    if (scheme->refuses(c) != NULL)
        return;
    const int candidates = list_candidates(c, gpu, scheme, forced, config, &why);
    double most = most_length(c, scheme, forced), least = INFINITY;
    for (int i = 0; i < candidates; i++)
        least = fmin(least, length_of(c, scheme, &config[i]));
    /* The user's scheme takes a stage, or two where it needs several, however long its shortest kernel is;
     * more where the user counts them. */
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

/* ---- the search ---- */

/* A group of stages that was weighed; iterations are alike, so most groups are met again. */
struct known {
    struct vf_kernel_work work;
    const struct vf_forced *forced;
    struct vf_ranked best;
    bool possible;
};

struct search {
    const struct vf_gpu_request *request;
    struct vf_field_usage usage;
    struct known *known;
    int known_count;
    size_t known_room;
};

static bool works_alike(const struct vf_kernel_work *a, const struct vf_kernel_work *b)
{
    const struct vf_flow *f = &a->flow, *g = &b->flow;
    return f->stage_count == g->stage_count && f->field_count == g->field_count &&
           f->source_count == g->source_count && f->sink_count == g->sink_count &&
           memcmp(f->stage, g->stage, (size_t)f->stage_count * sizeof *f->stage) == 0 &&
           memcmp(f->field_kind, g->field_kind, (size_t)f->field_count * sizeof *f->field_kind) == 0 &&
           memcmp(f->source, g->source, (size_t)f->source_count * sizeof *f->source) == 0 &&
           memcmp(f->sink, g->sink, (size_t)f->sink_count * sizeof *f->sink) == 0 &&
           memcmp(a->c.source_type, b->c.source_type, sizeof a->c.source_type) == 0 &&
           memcmp(a->c.sink_type, b->c.sink_type, sizeof a->c.sink_type) == 0;
}

/* The user's word for stage s; NULL: the plan may choose. The last one said holds. */
static const struct vf_forced *forced_for(const struct vf_gpu_request *request, int s)
{
    const struct vf_forced *found = NULL;
    for (int i = 0; request->forced != NULL && i < request->forced->count; i++) {
        const struct vf_forced *entry = &request->forced->entry[i];
        if (entry->stage[0] == '\0' || strcmp(entry->stage, request->flow->stage[s].name) == 0)
            found = entry;
    }
    return found;
}

/* Words for different stages that say the same do not keep them apart. */
static bool says_same(const struct vf_forced *a, const struct vf_forced *b)
{
    return a == b ||
           (a != NULL && b != NULL && a->scheme == b->scheme && a->variant == b->variant &&
            a->grid == b->grid && a->virtual_blocks == b->virtual_blocks && a->interior == b->interior &&
            a->fuse == b->fuse && vf_config_equal(&a->config, &b->config));
}

/* Whether the user allows stages [begin, end) in one kernel, and what was said of it. */
static bool may_group(const struct vf_gpu_request *request, int begin, int end,
                      const struct vf_forced **forced)
{
    *forced = forced_for(request, begin);
    for (int s = begin + 1; s < end; s++)
        if (!says_same(forced_for(request, s), *forced))
            return false;
    const int fuse = *forced == NULL ? 0 : (*forced)->fuse, left = request->flow->stage_count - begin;
    return fuse == 0 || end - begin == (fuse < left ? fuse : left);
}

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
            of->scheme->forbids(c, gpu, &other->config) != NULL)
            continue;
        last = other->config.stream;
        vf_gpu_fit_grid(c, of->scheme, &other->config);
        count++;
    }
    return count;
}

/* The scheme, variant, block and work of a choice, as the user might say them. */
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

/* What was measured on a grid of about this size keeps its shape, but takes other chunks where its own suit
 * this grid badly. Its time stays the measured one: so are those that it is weighed against. */
static void refit_chunks(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_ranked *tuned)
{
    const double margin = 1.1;
    const struct vf_forced shape = shape_of(tuned);
    struct vf_ranked best;
    if (tuned->config.stream == 0 || vf_gpu_rank(c, gpu, &shape, &best, 1) == 0)
        return;
    if (vf_gpu_predict(c, gpu, tuned->scheme, &tuned->config, 0, &tuned->detail) <= margin * best.seconds)
        return;
    tuned->config.stream = best.config.stream;
    tuned->detail = best.detail;
}

/* Takes the shape that won on another grid, unless it is predicted to fall farther behind the best prediction
 * here than it did there: the model tells better how a shape fits a grid than which of two shapes is faster.
 */
static void prefer_alike(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_ranked *best)
{
    const double margin = 1.02;
    struct vf_kernel_case there;
    struct vf_ranked won, best_there, here;
    if (!vf_tuning_find_alike(gpu->tuning, c, gpu, &there, &won))
        return;
    const struct vf_forced shape = shape_of(&won);
    if (vf_gpu_rank(&there, gpu, NULL, &best_there, 1) == 0 || vf_gpu_rank(c, gpu, &shape, &here, 1) == 0)
        return;
    const double slower_there =
        vf_gpu_predict(&there, gpu, won.scheme, &won.config, 0, &won.detail) / best_there.seconds;
    if (here.seconds > margin * fmax(1, slower_there) * best->seconds)
        return;
    here.seconds = fmin(here.seconds, best->seconds);
    *best = here;
}

/* What was measured, else what is predicted to be best; false when nothing can take the case. */
static bool choose_of_all(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          const struct vf_forced *forced, struct vf_ranked *best)
{
    if (forced == NULL && vf_tuning_find(gpu->tuning, c, gpu, best)) {
        refit_chunks(c, gpu, best);
        return true;
    }
    if (vf_gpu_rank(c, gpu, forced, best, 1) == 0)
        return false;
    if (forced == NULL)
        prefer_alike(c, gpu, best);
    if (gpu->tuning != NULL && gpu->tuning->untuned > 0)
        best->seconds *= gpu->tuning->untuned;
    return true;
}

/* Where nothing can be compiled, of what there is. What the user forces is not replaced: it fails later. */
static bool choose(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct vf_forced *forced,
                   struct vf_ranked *best)
{
    const bool possible = choose_of_all(c, gpu, forced, best);
    return possible && gpu->precompiled != NULL && forced == NULL
               ? vf_precompiled_choose(gpu->precompiled, c, gpu, best)
               : possible;
}

/* The best that can be done with stages [begin, end) in one kernel; *known is NULL when nothing can. */
static enum vf_status weigh(struct search *search, int begin, int end, struct known **known,
                            struct vf_error *error)
{
    const struct vf_forced *forced;
    *known = NULL;
    if (!may_group(search->request, begin, end, &forced))
        return VF_OK;
    const size_t room = search->known_room;
    struct known *grown = vf_grow(search->known, (size_t)search->known_count, &search->known_room,
                                  sizeof *grown, "the plan's search", error);
    if (grown == NULL)
        return VF_FAILED;
    for (int i = 0; i < search->known_count && search->known_room != room; i++)
        grown[i].work.c.flow = &grown[i].work.flow;
    search->known = grown;
    struct known *entry = &search->known[search->known_count];
    bool fits;
    enum vf_status status =
        vf_kernel_work_make(&entry->work, search->request, &search->usage, begin, end, NULL, 0, &fits, error);
    if (status != VF_OK)
        return status;
    if (!fits) {
        vf_kernel_work_close(&entry->work);
        return VF_OK;
    }
    for (int i = 0; i < search->known_count; i++)
        if (search->known[i].forced == forced && works_alike(&search->known[i].work, &entry->work)) {
            vf_kernel_work_close(&entry->work);
            *known = search->known[i].possible ? &search->known[i] : NULL;
            return VF_OK;
        }
    entry->forced = forced;
    entry->possible = choose(&entry->work.c, search->request->gpu, forced, &entry->best);
    search->known_count++;
    *known = entry->possible ? entry : NULL;
    return VF_OK;
}

/* The cheapest plan for the stages before a place. */
struct best {
    double seconds;
    int begin; /* of its last kernel */
    struct vf_ranked choice;
    bool forced;
};

static enum vf_status no_kernel(const struct vf_gpu_request *request, const char *kind, const char *name,
                                struct vf_error *error)
{
    if (request->gpu->precompiled != NULL)
        return vf_fail(error, VF_FAILED, "no kernel that came with volfilter does for %s%s, and %.900s", kind,
                       name, request->gpu->precompiled->why.text);
    return vf_fail(error, VF_FAILED, "no GPU scheme takes %s%s on %s", kind, name, request->gpu->name);
}

/* How many stages from s on the user wants in one kernel; 0: that cannot be, and why. */
static int forced_stages(const struct vf_gpu_request *request, int s, const char **why)
{
    const struct vf_forced *forced = forced_for(request, s);
    const int left = request->flow->stage_count - s;
    const int wanted = forced->fuse == 0 ? 1 : forced->fuse < left ? forced->fuse : left;
    *why = wanted > MOST_FUSED ? "so many stages are not put into one kernel: give a smaller fuse" : NULL;
    for (int i = s + 1; i < s + wanted && *why == NULL; i++)
        if (!says_same(forced_for(request, i), forced))
            *why = "fuse counts stages that follow and are told the same";
    return *why == NULL ? wanted : 0;
}

/* Why stages [s, s + wanted) cannot be run as the user forces. */
static enum vf_status find_reason(struct search *search, int s, int wanted, const char **why,
                                  struct vf_error *error)
{
    const struct vf_gpu_request *request = search->request;
    const struct vf_forced *forced = forced_for(request, s);
    struct vf_kernel_config config[MOST_CANDIDATES];
    struct vf_kernel_work work;
    bool fits;
    enum vf_status status =
        vf_kernel_work_make(&work, request, &search->usage, s, s + wanted, NULL, 0, &fits, error);
    if (status != VF_OK)
        return status;
    *why = fits ? forced->scheme->refuses(&work.c) : "there are too many fields for one kernel";
    if (*why == NULL && list_candidates(&work.c, request->gpu, forced->scheme, forced, config, why) > 0)
        *why = "a block needs more registers than the device has";
    else if (*why == NULL)
        *why = "none of its blocks fits the stencil and the device; block= gives others";
    vf_kernel_work_close(&work);
    return VF_OK;
}

/* Stages from s on cannot be run: as the user forces, or at all. */
static enum vf_status impossible(struct search *search, int s, struct vf_error *error)
{
    const struct vf_gpu_request *request = search->request;
    const struct vf_forced *forced = forced_for(request, s);
    const struct vf_stage *stage = &request->flow->stage[s];
    const char *why;
    if (forced == NULL)
        return no_kernel(request, "stage ", stage->name, error);
    const int wanted = forced_stages(request, s, &why);
    enum vf_status status = wanted > 0 ? find_reason(search, s, wanted, &why, error) : VF_OK;
    if (status != VF_OK)
        return status;
    if (wanted > 1)
        return vf_fail(error, VF_USAGE, "scheme %s cannot run %d stages from %s on in one kernel: %s",
                       forced->scheme->name, wanted, stage->name, why);
    return vf_fail(error, VF_USAGE, "scheme %s cannot run stage %s: %s", forced->scheme->name, stage->name,
                   why);
}

static enum vf_status find_best(struct search *search, struct best *best, struct vf_error *error)
{
    const int count = search->request->flow->stage_count;
    best[0] = (struct best){0};
    for (int end = 1; end <= count; end++) {
        best[end].seconds = INFINITY;
        for (int begin = end - 1; begin >= 0 && end - begin <= MOST_FUSED; begin--) {
            struct known *known;
            enum vf_status status = weigh(search, begin, end, &known, error);
            if (status != VF_OK)
                return status;
            if (known == NULL || !isfinite(best[begin].seconds))
                continue;
            const double seconds = best[begin].seconds + known->best.seconds;
            if (seconds < best[end].seconds)
                best[end] = (struct best){seconds, begin, known->best, known->forced != NULL};
        }
    }
    int reached = count;
    while (!isfinite(best[reached].seconds))
        reached--;
    return reached < count ? impossible(search, reached, error) : VF_OK;
}

static enum vf_status add_stage_launches(struct vf_gpu_plan *plan, struct search *search,
                                         struct vf_error *error)
{
    const int count = search->request->flow->stage_count;
    struct best *best = vf_alloc((size_t)count + 1, sizeof *best, "the plan's search", error);
    enum vf_status status = best == NULL ? VF_FAILED : find_best(search, best, error);
    int launches = 0;
    for (int end = count; status == VF_OK && end > 0; end = best[end].begin)
        launches++;
    plan->launch_count = launches;
    for (int end = count, i = launches; status == VF_OK && end > 0; end = best[end].begin)
        plan->launch[--i] = (struct vf_launch){.stage_begin = best[end].begin,
                                               .stage_end = end,
                                               .scheme = best[end].choice.scheme,
                                               .config = best[end].choice.config,
                                               .forced = best[end].forced,
                                               .tuned = best[end].choice.tuned,
                                               .precompiled = best[end].choice.precompiled,
                                               .seconds = best[end].choice.seconds,
                                               .detail = best[end].choice.detail};
    vf_free(best);
    return status;
}

static enum vf_status add_copy_launches(struct vf_gpu_plan *plan, const struct search *search,
                                        struct vf_error *error)
{
    const int stages = search->request->flow->stage_count;
    for (int begin = 0; begin < plan->copy_count; begin += VF_KERNEL_FIELDS) {
        const int left = plan->copy_count - begin;
        struct vf_launch *launch = &plan->launch[plan->launch_count++];
        struct vf_kernel_work work;
        struct vf_ranked best;
        bool fits;
        *launch = (struct vf_launch){.stage_begin = stages,
                                     .stage_end = stages,
                                     .copy_begin = begin,
                                     .copy_end = begin + (left < VF_KERNEL_FIELDS ? left : VF_KERNEL_FIELDS)};
        enum vf_status status =
            vf_kernel_work_make(&work, search->request, &search->usage, stages, stages, plan->copy + begin,
                                launch->copy_end - begin, &fits, error);
        if (status != VF_OK)
            return status;
        const bool possible = fits && choose(&work.c, search->request->gpu, NULL, &best);
        vf_kernel_work_close(&work);
        if (!possible)
            return no_kernel(search->request, "copies", "", error);
        launch->scheme = best.scheme;
        launch->config = best.config;
        launch->tuned = best.tuned;
        launch->precompiled = best.precompiled;
        launch->seconds = best.seconds;
        launch->detail = best.detail;
    }
    return VF_OK;
}

/* Slots held at once: a field's is taken by the kernel that makes it and free after the one that reads it
 * last. */
static int count_slots(const struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                       const struct vf_field_usage *usage)
{
    const struct vf_flow *flow = request->flow;
    int held = 0, most = 0;
    for (int i = 0; i < plan->launch_count; i++) {
        const struct vf_launch *launch = &plan->launch[i];
        for (int f = 0; f < flow->field_count; f++)
            held += usage->maker[f] >= launch->stage_begin && usage->maker[f] < launch->stage_end &&
                    usage->sink[f] < 0 && usage->last_use[f] >= launch->stage_end;
        most = held > most ? held : most;
        for (int f = 0; f < flow->field_count; f++)
            held -= usage->maker[f] >= 0 && usage->maker[f] < launch->stage_begin && usage->sink[f] < 0 &&
                    usage->last_use[f] >= launch->stage_begin && usage->last_use[f] < launch->stage_end;
    }
    return most;
}

enum vf_status vf_gpu_plan_open(struct vf_gpu_plan *plan, const struct vf_gpu_request *request,
                                struct vf_error *error)
{
    struct search search = {.request = request};
    const size_t sinks = (size_t)request->flow->sink_count;
    enum vf_status status = VF_FAILED;
    *plan = (struct vf_gpu_plan){0};
    plan->copy = vf_alloc(sinks + 1, sizeof *plan->copy, "the plan", error);
    plan->launch =
        vf_alloc((size_t)request->flow->stage_count + sinks + 1, sizeof *plan->launch, "the plan", error);
    if (plan->copy == NULL || plan->launch == NULL)
        goto out;
    VF_TRY(vf_field_usage_open(&search.usage, request, plan->copy, &plan->copy_count, error));
    VF_TRY(add_stage_launches(plan, &search, error));
    VF_TRY(add_copy_launches(plan, &search, error));
    plan->slot_count = count_slots(plan, request, &search.usage);
    for (int i = 0; i < plan->launch_count; i++)
        plan->seconds += plan->launch[i].seconds;
out:
    for (int i = 0; i < search.known_count; i++)
        vf_kernel_work_close(&search.known[i].work);
    vf_free(search.known);
    vf_field_usage_close(&search.usage);
    if (status != VF_OK)
        vf_gpu_plan_close(plan);
    return status;
}

void vf_gpu_plan_close(struct vf_gpu_plan *plan)
{
    vf_free(plan->launch);
    vf_free(plan->copy);
    *plan = (struct vf_gpu_plan){0};
}
