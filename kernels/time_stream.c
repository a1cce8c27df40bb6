/* The host side of time-stream: finds the levels of a chain of stages, the rows and the queue in shared
 * memory, and says what a block does, for the model. kernels/time_stream.cu is the kernel. */
#include <math.h>
#include <string.h>

#include "kernels/gpu_sweep.h"
#include "src/model.h"
#include "src/size.h"

/* How many times the loop over planes is written out for stars, so that planes move on by renaming; and how
 * many planes of the source are on their way. */
enum { TURN = 3, AHEAD = 2 };

/* What follows from a block's shape, in the words of time_stream.cu. Arrays of 3 are along z, y, x. */
struct layout {
    int level[VF_KERNEL_MOST_FIELDS]; /* the field in which a stage reads neighbours, by its number there */
    int reach[VF_KERNEL_MOST_FIELDS][3];    /* how far it does */
    int reached[VF_KERNEL_MOST_FIELDS + 1]; /* how many planes the stages before it reach together */
    int delay[VF_KERNEL_MOST_FIELDS + 1];   /* how many planes its level is behind the source */
    int rows[VF_KERNEL_MOST_FIELDS];        /* where the level's rows begin in shared memory, in elements */
    struct vf_sweep_shape shape;
    bool tables, is_short, all_rows; /* VF_TIME_TABLES, VF_TIME_SHORT, VF_TIME_ALL_ROWS */
    size_t rows_bytes, bytes;        /* of shared memory: for rows, and in all */
};

/* ---- what it takes ---- */

/* Whether a stage has weights off the axes. Then all stages are treated as tables. */
static bool has_tables(const struct vf_kernel_case *c)
{
    for (int s = 0; s < c->flow->stage_count; s++)
        if (c->flow->stage[s].stencil == VF_STENCIL_LINEAR && !vf_sweep_is_star(&c->flow->stage[s], 0))
            return true;
    return false;
}

/* Whether a stage is a table, perhaps a star, that reaches the next cells. */
static bool is_small_table(const struct vf_stage *stage)
{
    int halo[3];
    vf_stage_halo(stage, 3, 0, halo);
    return stage->stencil == VF_STENCIL_LINEAR && stage->input_count == 1 && halo[0] == 1 && halo[1] <= 1 &&
           halo[2] <= 1;
}

/* Finds the one field in which stage s reads neighbours or, if there is none, the one that the stage before
 * makes. Returns NULL, or why there is none. */
static const char *find_level(const struct vf_kernel_case *c, int s, bool tables, int *level, int reach[3])
{
    const struct vf_flow *flow = c->flow;
    const struct vf_stage *stage = &flow->stage[s];
    const int before = s > 0 ? flow->stage[s - 1].output[0] : -1;
    if (tables && !is_small_table(stage))
        return "a stage reads neighbours off the axes, and not all stages are weights of adjacent voxels";
    *level = before;
    memset(reach, 0, 3 * sizeof *reach);
    for (int k = 0; k < stage->input_count; k++) {
        int halo[3];
        vf_stage_halo(stage, 3, k, halo);
        const bool is_wide = !vf_is_pointwise(halo);
        if (is_wide && !tables && !vf_sweep_is_star(stage, k))
            return "a stage reads neighbours off the axes";
        if (is_wide && *level >= 0 && *level != stage->input[k])
            return "a stage reads neighbours of something else than the previous stage's result";
        if (!is_wide && stage->input[k] != before && !vf_flow_is_source(flow, stage->input[k]))
            return "a stage reads a result from before the previous stage";
        if (is_wide)
            *level = stage->input[k];
        for (int axis = 0; axis < 3; axis++)
            reach[axis] = halo[axis] > reach[axis] ? halo[axis] : reach[axis];
    }
    if (*level < 0)
        *level = stage->input[0];
    return reach[0] < 1 ? "a stage reads no neighbours along z" : NULL;
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->dim == 2)
        return "it is for volumes";
    if (flow->stage_count < 2)
        return "it is for several stages";
    if (flow->sink_count != 1 || flow->sink[0] != flow->stage[flow->stage_count - 1].output[0])
        return "the only output must be the last stage's result";
    const bool tables = has_tables(c);
    int most[3] = {0};
    for (int s = 0; s < flow->stage_count; s++) {
        int level, reach[3];
        if (flow->stage[s].output_count != 1)
            return "a stage has more than one result";
        const char *why = find_level(c, s, tables, &level, reach);
        if (why != NULL)
            return why;
        for (int axis = 0; axis < 3; axis++)
            most[axis] = reach[axis] > most[axis] ? reach[axis] : most[axis];
    }
    if (most[2] > vf_kernel_pack(c) || (most[2] == vf_kernel_pack(c) && flow->boundary == VF_MIRROR) ||
        most[0] > 4 || most[1] > 4)
        return "a stage reaches too far";
    if (tables && flow->boundary == VF_MIRROR)
        return "what is before the first plane comes after it, and sums would begin late";
    const ptrdiff_t size[3] = {c->nz, c->ny, c->nx};
    for (int axis = 0; axis < 3; axis++)
        if (flow->boundary != VF_NEAREST && size[axis] <= most[axis])
            return "the grid is not wider than a stage's reach";
    return NULL;
}

static void find_layout(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                        struct layout *l)
{
    memset(l, 0, sizeof *l);
    const struct vf_flow *flow = c->flow;
    const int covered_x = config->block[0] * config->work[0], covered_y = config->block[1] * config->work[1];
    l->tables = has_tables(c);
    l->is_short = flow->boundary != VF_WRAP && c->ny < covered_y && c->ny % config->work[1] != 0;
    l->all_rows = l->is_short || flow->boundary == VF_MIRROR;
    const int outside = flow->boundary == VF_CONSTANT ? 1 : 0;
    int number[VF_KERNEL_MOST_FIELDS], at = 0, room[3] = {0};
    vf_kernel_number_fields(flow, number);
    for (int s = 0; s < flow->stage_count; s++) {
        int level = 0, *reach = l->reach[s];
        find_level(c, s, l->tables, &level, reach);
        l->level[s] = number[level];
        for (int axis = 0; axis < 3; axis++)
            room[axis] += reach[axis];
        l->reached[s + 1] = l->reached[s] + reach[0];
        /* Rows that a table reads are in shared memory a plane late. */
        l->delay[s + 1] = l->delay[s] + reach[0] + l->tables;
        l->rows[s] = at;
        const int rows = l->all_rows || 2 * reach[1] > config->work[1] ? config->work[1] : 2 * reach[1];
        if (reach[1] > 0)
            at += (reach[0] + 1) * (config->block[1] * rows + outside) * covered_x;
    }
    l->shape = vf_sweep_shape_of(config, room[1], room[2]);
    l->rows_bytes = (size_t)at * vf_kernel_element(c);
    l->bytes = l->rows_bytes + (size_t)(AHEAD + 1) * (size_t)(covered_y * covered_x) *
                                   vf_type_size(c->source_type[l->level[0]]);
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct layout l;
    find_layout(c, config, &l);
    return l.bytes;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *why = vf_kernel_limits(c, gpu, config, 0);
    if (why == NULL)
        why = vf_sweep_forbids(c, config);
    if (why != NULL)
        return why;
    if (config->work[1] > 16)
        return "a thread can have at most 16 rows";
    struct layout l;
    find_layout(c, config, &l);
    for (int s = 0; s < c->flow->stage_count; s++)
        if (l.reach[s][1] > config->work[1])
            return "a thread has fewer rows than a stage reaches";
    if (l.shape.tile[1] < 1 || l.shape.tile[2] < 1)
        return "the block is too small for the reach of the stages";
    return vf_kernel_limits(c, gpu, config, l.bytes);
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    struct layout l;
    find_layout(c, config, &l);
    vf_sweep_tile(c, &l.shape, size);
}

/* ---- candidates ---- */

/* Registers of a thread for its planes, and some for the rest. */
static int wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                            const struct layout *l)
{
    const int cells = config->work[0] * config->work[1];
    int planes = 2;
    for (int s = 0; s < c->flow->stage_count; s++)
        planes += 2 * l->reach[s][0] + c->flow->stage[s].input_count - 1 + l->tables;
    return 56 + (int)vf_kernel_element(c) / 4 * (planes * cells + 2 * config->work[0]);
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    /* The first two have tiles of 64 x 64 cells, as many as registers hold. Others are for when these do not
     * fit.
     */
    enum { USUAL = 2 };
    static const int shapes[][3] = {{16, 16, 4}, {16, 32, 2}, {32, 8, 4}, {16, 8, 4}, {16, 16, 3},
                                    {16, 16, 2}, {8, 16, 2},  {8, 8, 4},  {8, 32, 1}};
    int count = 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes) && (i < USUAL || count == 0); i++) {
        const struct vf_kernel_config config = {.block = {shapes[i][0], shapes[i][1], 1},
                                                .work = {vf_kernel_pack(c), shapes[i][2], 1},
                                                .stream = 1};
        struct layout l;
        if (forbids(c, gpu, &config) != NULL)
            continue;
        find_layout(c, &config, &l);
        const int registers = wanted_registers(c, &config, &l);
        if (registers <= VF_THREAD_REGISTERS && registers * shapes[i][0] * shapes[i][1] <= gpu->sm_registers)
            /* At most half of what a chunk computes is also computed by another one. */
            count += vf_sweep_add_chunks(c, gpu, &l.shape, config, 2 * l.delay[c->flow->stage_count],
                                         list + count, room - count);
    }
    return count;
}

/* ---- counts for the model ---- */

/* The share of the time for shared memory that is not hidden by arithmetic, which is small since rows do not
 * wait for one another. Fitted to 7 and 13 points, 2 to 4 steps, on an H200. */
#define EXPOSED 0.05

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *t)
{
    (void)gpu;
    struct layout l;
    find_layout(c, config, &l);
    const struct vf_flow *flow = c->flow;
    const double planes = config->stream,
                 all = planes + l.reached[flow->stage_count] + l.delay[flow->stage_count],
                 read = planes + 2.0 * l.reached[flow->stage_count];
    const double threads = (double)config->block[0] * config->block[1], rows = config->work[1],
                 cells = rows * config->work[0];
    for (int k = 0; k < flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]);
        const double row = vf_model_warp_sectors(0, element, l.shape.covered[2]),
                     own = vf_model_warp_sectors(0, element, l.shape.tile[2]);
        t->read_sectors += own * l.shape.tile[1] * planes;
        t->halo_sectors[0] += (row - own) * l.shape.tile[1] * planes;
        t->halo_sectors[1] += row * (l.shape.covered[1] - l.shape.tile[1]) * planes;
        t->halo_sectors[2] += row * l.shape.covered[1] * (read - planes);
        t->global_wavefronts +=
            read * l.shape.covered[1] * vf_model_warp_lines(0, element, l.shape.covered[2]);
        t->loads += all * rows;
    }
    const int element = (int)vf_type_size(c->sink_type[0]);
    t->written_sectors += planes * l.shape.tile[1] * vf_model_warp_sectors(0, element, l.shape.tile[2]);
    t->global_wavefronts += planes * l.shape.tile[1] * vf_model_warp_lines(0, element, l.shape.tile[2]);
    /* Of a warp, for a plane: the queue, rows left for other threads and taken from them, shuffles,
     * addresses. */
    const double packs = (double)config->work[0] * (double)vf_kernel_element(c) / 16;
    double wavefronts = 4 * packs * rows, instructions = 20 + 8 * rows;
    for (int s = 0; s < flow->stage_count; s++) {
        const int side = l.reach[s][1], beside = l.reach[s][2];
        const double widened = rows + (l.tables ? 2 * side : 0);
        wavefronts += 4 * packs * 4 * side + 2 * beside * widened;
        instructions += 4 * side * packs + 2 * beside * widened + 4;
    }
    t->shared_wavefronts = EXPOSED * all * threads / 32 * wavefronts;
    t->other_ops += all * threads * instructions;
    *(flow->is_double ? &t->double_ops : &t->float_ops) += all * threads * cells * c->operations;
    t->steps = (ptrdiff_t)all;
    t->barriers = all;
    /* Arithmetic hides half of the time that planes are on their way; fitted to 26 kernels. */
    t->loads_in_flight = fmax(1, 2 * AHEAD * rows);
    /* The compiler takes no more than a block of this size leaves it. */
    t->registers = (int)vf_smaller(wanted_registers(c, config, &l), vf_kernel_most_registers((int)threads));
}

static int turn_of(const struct vf_kernel_case *c)
{
    return has_tables(c) ? 1 : TURN;
}

/* The loop's planes and one more. An operation compiles in a fifth of the time of others. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return 0.2 * (turn_of(c) + 1) * config->work[0] * config->work[1] * c->operations;
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct layout l;
    find_layout(c, config, &l);
    const int stages = c->flow->stage_count;
    vf_sweep_define(c, config, &l.shape, text);
    vf_text_add(text, "#define VF_TIME_END_Y %d\n", (int)((c->ny - 1) % config->work[1] + 1));
    vf_text_add(text, "#define VF_TIME_SHORT %d\n#define VF_TIME_ALL_ROWS %d\n", l.is_short, l.all_rows);
    vf_text_add(text, "#define VF_TIME_QUEUE %zu\n#define VF_TIME_AHEAD %d\n", l.rows_bytes, AHEAD);
    vf_text_add(text, "#define VF_TIME_TURN %d\n#define VF_TIME_TABLES %d\n", turn_of(c), l.tables);
    vf_define_table("VF_TIME_DELAY", l.delay, stages + 1, text);
    vf_define_table("VF_TIME_REACH", l.reached, stages + 1, text);
    vf_define_table("VF_TIME_ROWS", l.rows, stages, text);
    vf_define_table("VF_TIME_LEVEL", l.level, stages, text);
}

const struct vf_gpu_scheme vf_gpu_time_stream = {
    .name = "time-stream",
    .summary = "several steps of star stencils or small tables in one sweep, planes in registers",
    .file = "kernels/time_stream.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .define = define,
};
