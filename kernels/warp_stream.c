/* The host side of warp-stream: finds the ages of the rows of a run of stages, the chunks of an image, and
 * says what a warp does, for the model. kernels/warp_stream.cu is the kernel. */
#include <math.h>
#include <string.h>

#include "kernels/gpu_box.h"
#include "kernels/gpu_scheme.h"
#include "src/model.h"
#include "src/size.h"

#define LANES 32
/* So many operations take seconds to compile, but only once, and it is fast because turns are written out. */
#define MOST_WRITTEN 4000
/* Memory takes this many times what is counted, as warps read and write half a kilobyte each, far apart;
 * fitted to 12 kernels on an H200. */
#define PIECES 1.08
/* Rows of a chunk at the image's sides over those of another chunk, from the instructions that a row takes.
 */
#define SIDE_ROWS 0.85
/* Bytes that a lane has on their way: if stages have few operations, so that memory is the bound, which more
 * would crowd; and else, where more make waiting rare. Fitted to 12 kernels there. */
#define BYTES_AHEAD 48
#define MORE_BYTES_AHEAD 128
#define FEW_OPERATIONS 40
#define MOST_WARPS 16 /* on an SM; more only crowd memory */
/* How many operations of a lane in a turn have their instructions in the nearest caches, if there are two
 * loops, for the strips at the sides and for the others, and if there is one. Fitted to 12 kernels there. */
#define MOST_OF_TWO 900
#define MOST_OF_ONE 1200
#define MISSED 2.0 /* what an operation costs beside its own cost if they do not hold it */
#define MOST_TURN 16
#define MOST_SIDE 8

/* ---- layout ---- */

/* What a warp holds, in the words of warp_stream.cu. */
struct layout {
    int field_count;
    /* The fields that a stage reads, and the first one that it makes; the others follow it. */
    int input[VF_KERNEL_MOST_FIELDS][VF_MAX_INPUTS], output[VF_KERNEL_MOST_FIELDS];
    int age[VF_KERNEL_MOST_FIELDS], oldest[VF_KERNEL_MOST_FIELDS];
    int reach[VF_KERNEL_MOST_FIELDS], side[VF_KERNEL_MOST_FIELDS], cross[VF_KERNEL_MOST_FIELDS],
        side_age[VF_KERNEL_MOST_FIELDS];
    int turn, last, most_reach, most_side;
};

/* How many rows above and below its own one stage s reads other columns of its input k; -1: it reads none. */
static int cross_of(const struct vf_kernel_case *c, int s, int k)
{
    const struct vf_stage *stage = &c->flow->stage[s];
    int halo[3], most = -1;
    vf_stage_halo(stage, c->flow->dim, k, halo);
    if (halo[2] == 0)
        return -1;
    if (stage->stencil != VF_STENCIL_LINEAR)
        return k < vf_stage_stencil(stage)->star_inputs[c->flow->dim - 2] ? 0 : halo[1];
    for (int t = 0; t < stage->taps->count; t++)
        if (stage->taps->tap[t].dx != 0)
            most = vf_larger(most,
                             stage->taps->tap[t].dy < 0 ? -stage->taps->tap[t].dy : stage->taps->tap[t].dy);
    return most;
}

/* Sets ages: each stage is as close behind its inputs as possible, and a source is taken when it is first
 * read.
 */
static void find_ages(const struct vf_kernel_case *c, struct layout *l)
{
    const struct vf_flow *flow = c->flow;
    int halo[3], stage_age[VF_KERNEL_MOST_FIELDS];
    for (int s = 0; s < flow->stage_count; s++) {
        stage_age[s] = 0;
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            vf_stage_halo(&flow->stage[s], 2, k, halo);
            stage_age[s] = vf_larger(stage_age[s], l->age[l->input[s][k]] + halo[1]);
        }
        for (int k = 0; k < flow->stage[s].output_count; k++)
            l->age[l->output[s] + k] = stage_age[s];
        l->last = vf_larger(l->last, stage_age[s]);
    }
    for (int f = 0; f < flow->source_count; f++)
        l->age[f] = l->last;
    for (int s = 0; s < flow->stage_count; s++)
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            const int f = l->input[s][k];
            vf_stage_halo(&flow->stage[s], 2, k, halo);
            if (f < flow->source_count)
                l->age[f] = vf_smaller(l->age[f], stage_age[s] - halo[1]);
        }
}

/* Finds what stages read of each field: how many rows, which columns beside a lane's own, up to which age. */
static void find_reads(const struct vf_kernel_case *c, struct layout *l)
{
    const struct vf_flow *flow = c->flow;
    for (int f = 0; f < l->field_count; f++) {
        l->oldest[f] = l->age[f];
        l->side_age[f] = l->last;
    }
    for (int s = 0; s < flow->stage_count; s++)
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            const int f = l->input[s][k], age = l->age[l->output[s]], cross = cross_of(c, s, k);
            int halo[3];
            vf_stage_halo(&flow->stage[s], 2, k, halo);
            l->oldest[f] = vf_larger(l->oldest[f], age + halo[1]);
            l->reach[f] = vf_larger(l->reach[f], halo[1]);
            l->side[f] = vf_larger(l->side[f], halo[2]);
            l->cross[f] = vf_larger(l->cross[f], cross);
            if (cross >= 0)
                l->side_age[f] = vf_smaller(l->side_age[f], age - cross);
        }
    for (int f = 0; f < l->field_count; f++) {
        l->turn = vf_larger(l->turn, l->oldest[f] - l->age[f] + 1);
        l->most_reach = vf_larger(l->most_reach, l->reach[f]);
        l->most_side = vf_larger(l->most_side, l->side[f]);
    }
}

static void layout_of(const struct vf_kernel_case *c, struct layout *l)
{
    memset(l, 0, sizeof *l);
    l->turn = 1;
    vf_kernel_number_stages(c->flow, l->input, l->output);
    l->field_count = c->flow->field_count;
    find_ages(c, l);
    find_reads(c, l);
}

/* Columns that a strip has on either side of those that it writes: whole packs. */
static int room_of(const struct vf_kernel_case *c)
{
    const int pack = vf_kernel_pack(c);
    return (c->halo[2] + pack - 1) / pack * pack;
}

static int strip_of(const struct vf_kernel_case *c)
{
    return LANES * vf_kernel_pack(c);
}

/* Registers that the compiler may use: for what is kept from row to row, and some for the row that is
 * computed; fitted to 12 kernels. */
static int registers_of(const struct vf_kernel_case *c, const struct layout *l)
{
    const int words = (int)vf_kernel_element(c) / 4;
    double kept = 0;
    for (int f = 0; f < l->field_count; f++) {
        kept += (double)(l->oldest[f] - l->age[f]) * vf_kernel_pack(c);
        kept += l->side[f] > 0 ? 4.0 * l->side[f] * l->cross[f] : 0;
    }
    return (int)(44 + 1.25 * words * kept);
}

/* ---- what the plan asks ---- */

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    size[0] = vf_larger(1, strip_of(c) - 2 * room_of(c));
    size[1] = config->stream;
    size[2] = 1;
}

static int side_stream(const struct vf_kernel_config *config)
{
    return config->interior ? vf_larger(1, (int)(SIDE_ROWS * config->stream)) : config->stream;
}

/* How many rows fewer the first and the last chunk of a strip have, since rows near the grid's ends take
 * longer.
 */
static int end_rows(const struct vf_kernel_case *c, const struct layout *l,
                    const struct vf_kernel_config *config)
{
    return c->flow->boundary == VF_WRAP ? 0 : vf_smaller(config->stream / 4, 3 * l->last / 2);
}

/* How many chunks a strip has, of so many rows each. */
static ptrdiff_t chunks_of(const struct vf_kernel_case *c, const struct layout *l,
                           const struct vf_kernel_config *config, int rows)
{
    return (c->ny + 2 * end_rows(c, l, config) + rows - 1) / rows;
}

/* How many chunks an image has. */
static ptrdiff_t count_of(const struct vf_kernel_case *c, const struct layout *l,
                          const struct vf_kernel_config *config)
{
    ptrdiff_t size[3];
    tile(c, config, size);
    const ptrdiff_t strips = (c->nx + size[0] - 1) / size[0], sides = strips < 2 ? 1 : 2;
    return sides * chunks_of(c, l, config, side_stream(config)) +
           (strips - sides) * chunks_of(c, l, config, config->stream);
}

static void tiles(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t count[3])
{
    struct layout l;
    layout_of(c, &l);
    count[0] = count_of(c, &l, config);
    count[1] = 1;
    count[2] = c->nz;
}

/* Bytes of a lane's cells in one row of all sources, as they are stored. */
static int lane_bytes(const struct vf_kernel_case *c)
{
    int bytes = 0;
    for (int k = 0; k < c->flow->source_count; k++)
        bytes += vf_kernel_pack(c) * (int)vf_type_size(c->source_type[k]);
    return bytes;
}

/* How many turns of rows are on their way. */
static int turns_ahead(const struct vf_kernel_case *c, const struct layout *l)
{
    const int turn = l->turn * lane_bytes(c),
              wanted = c->operations < FEW_OPERATIONS ? BYTES_AHEAD : MORE_BYTES_AHEAD;
    return turn > 0 ? (wanted + turn - 1) / turn : 1;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct layout l;
    (void)config;
    layout_of(c, &l);
    return VF_PACK_BYTES + (size_t)((turns_ahead(c, &l) + 1) * l.turn * LANES * lane_bytes(c));
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    struct layout l;
    layout_of(c, &l);
    if (config->block[0] != LANES || config->block[1] != 1 || config->block[2] != 1)
        return "a block is one warp: use block=32x1x1";
    if (config->work[0] != vf_kernel_pack(c) || config->work[1] != 1 || config->work[2] != 1)
        return c->flow->is_double ? "a lane has 2 voxels: use work=2x1x1"
                                  : "a lane has 4 voxels: use work=4x1x1";
    if (config->stream < 1)
        return "stream is the number of rows of a chunk, at least 1";
    return vf_kernel_limits(c, gpu, config, shared(c, config));
}

static const char *refuses(const struct vf_kernel_case *c)
{
    struct layout l;
    if (c->flow->dim == 3)
        return "it is for 2D images";
    if (c->flow->stage_count == 0)
        return "there is no stage";
    layout_of(c, &l);
    if (l.turn > MOST_TURN || l.most_side > MOST_SIDE)
        return "a stage reaches too far for registers";
    if (c->flow->boundary == VF_WRAP ? c->nx == 1 || c->ny == 1
                                     : c->nx < strip_of(c) || c->ny <= l.most_reach)
        return "the grid is smaller than a warp's strip";
    if (strip_of(c) - 2 * room_of(c) < strip_of(c) / 4)
        return "all stages together reach too far along x for a warp's strip";
    if (registers_of(c, &l) > VF_THREAD_REGISTERS)
        return "the rows that the stages keep need too many registers";
    return NULL;
}

/* How many warps an SM holds. Its registers are in four parts, and those of a warp in one of them. */
static int resident(const struct vf_gpu *gpu, int registers)
{
    const int part = gpu->sm_registers / 4 / (LANES * ((registers + 7) / 8 * 8));
    return vf_larger(
        1, vf_smaller(4 * part, vf_smaller(MOST_WARPS, vf_smaller(gpu->sm_blocks, gpu->sm_threads / LANES))));
}

static double turn_operations(const struct vf_kernel_case *c, const struct layout *l)
{
    return (double)l->turn * vf_kernel_pack(c) * c->operations;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    struct layout l;
    int count = 0;
    layout_of(c, &l);
    struct vf_kernel_config config = {.block = {LANES, 1, 1},
                                      .work = {vf_kernel_pack(c), 1, 1},
                                      .stream = 1,
                                      .interior = turn_operations(c, &l) <= MOST_OF_TWO};
    for (int waves = 1; waves <= 4; waves *= 2) {
        const int warps = waves * resident(gpu, registers_of(c, &l)) * gpu->multiprocessors;
        config.stream = l.last + 1;
        while (config.stream < c->ny && count_of(c, &l, &config) * c->nz > warps)
            config.stream += 1 + config.stream / 128;
        if (count < room && (count == 0 || list[count - 1].stream != config.stream))
            list[count++] = config;
    }
    return count;
}

/* ---- counts for the model ---- */

/* How many rows a warp sweeps to write `rows` of them. */
static double rows_for(const struct vf_kernel_case *c, const struct layout *l, double rows)
{
    return ceil((rows + c->halo[1] + l->last) / l->turn) * l->turn;
}

/* What an operation costs: more if all strips have the instructions that only those at the sides need, and if
 * the nearest caches do not hold the loop. */
static double waiting_of(const struct vf_kernel_case *c, const struct layout *l,
                         const struct vf_kernel_config *config)
{
    /* The long ways of quotients, which run seldom, are between the short ones. */
    const double share = vf_has_branches(c) ? 0.74 : 1.0,
                 held = share * (config->interior ? MOST_OF_TWO : MOST_OF_ONE) / turn_operations(c, l);
    return (config->interior ? 1.0 : 1.1) + MISSED * fmax(0, 1 - held);
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *t)
{
    struct layout l;
    layout_of(c, &l);
    ptrdiff_t size[3];
    tile(c, config, size);
    const double cells = vf_kernel_pack(c), own = fmin(config->stream, (double)c->ny),
                 rows = rows_for(c, &l, own);
    (void)gpu;
    for (int k = 0; k < c->flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]);
        const double strip = vf_model_warp_sectors(0, element, strip_of(c)),
                     written = vf_model_warp_sectors(0, element, size[0]);
        t->read_sectors += PIECES * written * own;
        t->halo_sectors[0] += PIECES * (strip - written) * own;
        t->halo_sectors[1] += PIECES * strip * (rows - own);
        t->global_wavefronts += rows * vf_model_warp_lines(0, element, strip_of(c));
        t->other_ops += rows * LANES * (4 + vf_widening_ops(c, c->source_type[k]) * cells);
        t->loads += rows;
        t->loads_in_flight += turns_ahead(c, &l) * l.turn;
        t->shared_wavefronts += rows * 2 * LANES * (double)vf_kernel_pack(c) * element / VF_LINE_BYTES;
    }
    for (int k = 0; k < c->flow->sink_count; k++) {
        const int element = (int)vf_type_size(c->sink_type[k]);
        t->written_sectors += PIECES * own * vf_model_warp_sectors(0, element, size[0]);
        t->global_wavefronts += own * vf_model_warp_lines(0, element, size[0]);
        t->other_ops += rows * LANES * (4 + (2 + vf_narrowing_ops(c, c->sink_type[k])) * cells);
    }
    for (int f = 0; f < l.field_count; f++)
        t->other_ops += rows * LANES * 2.0 * l.side[f];
    /* Divisions and roots take longer than their cost says. What follows their branches waits, as it does for
     * instructions that are not in the caches. Fitted to 8 kernels and to 6. */
    const bool has_branches = vf_has_branches(c);
    const double operations = (has_branches ? 1.2 : 1.0) * waiting_of(c, &l, config) * c->operations;
    *(c->flow->is_double ? &t->double_ops : &t->float_ops) += rows * LANES * cells * operations;
    t->issue_warps = has_branches ? 14 : 4;
    t->overlap = VF_OVERLAPS;
    t->steps = (ptrdiff_t)rows;
    t->registers = registers_of(c, &l);
}

/* Turns are written out twice, with columns outside the grid and without, if config->interior. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct layout l;
    layout_of(c, &l);
    return (config->interior ? 2.0 : 1.0) * turn_operations(c, &l);
}

/* ---- the kernel's constants ---- */

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct layout l;
    layout_of(c, &l);
    vf_text_add(text, "#define VF_WHOLE_PACKS %d\n#define VF_SIDE_STREAM %d\n#define VF_END_ROWS %d\n",
                c->nx % vf_kernel_pack(c) == 0, side_stream(config), end_rows(c, &l, config));
    vf_text_add(text,
                "#define VF_TURN %d\n#define VF_TURNS_AHEAD %d\n#define VF_ROOM %d\n#define VF_SIDE %td\n",
                l.turn, turns_ahead(c, &l), room_of(c), vf_larger(1, l.most_side));
    vf_text_add(text, "#define VF_LAST %d\n#define VF_MOST_REACH %d\n", l.last, l.most_reach);
    vf_define_table("VF_AGE", l.age, l.field_count, text);
    vf_define_table("VF_FIELD_REACH", l.reach, l.field_count, text);
    vf_define_table("VF_FIELD_SIDE", l.side, l.field_count, text);
    vf_define_table("VF_FIELD_CROSS", l.cross, l.field_count, text);
    vf_define_table("VF_SIDE_AGE", l.side_age, l.field_count, text);
    /* The compiler must leave room for as many warps as the plan counts on. */
    const struct vf_gpu usual = {.sm_registers = VF_SM_REGISTERS, .sm_blocks = 32, .sm_threads = 2048};
    vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", resident(&usual, registers_of(c, &l)));
}

const struct vf_gpu_scheme vf_gpu_warp_stream = {
    .name = "warp-stream",
    .summary = "for 2D images: all stages in one sweep, each warp streaming a strip in registers",
    .file = "kernels/warp_stream.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .tiles = tiles,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .most_written = MOST_WRITTEN,
    .define = define,
};
