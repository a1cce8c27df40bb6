/* The host side of byte-sums: which sums integers are exact in, their bounds, the blocks that a plan may
 * choose, and what a block does, for the model. kernels/byte_sums.cu is the kernel. */
#include <math.h>
#include <stdint.h>

#include "kernels/gpu_box.h"
#include "kernels/gpu_stream.h"
#include "src/size.h"
#include "src/volume.h"

/* Cells of a word, of which one on either side of a span is read beside it. */
enum { WORD = 4 };
/* Words, at most, that all terms of a thread are added to. */
enum { MOST_ADDED = 2048 };
/* Planes that a thread has rows of: one in work, others on their way. */
enum { HELD = 3 };

/* ---- sums of integers ---- */

struct bounds {
    long low, high;   /* of the stored type */
    long least, most; /* of the sums */
    long start;       /* what a half begins with; bytes that have a sign are raised by 128 besides */
    long raised;      /* by how much halves are above results in the end: a multiple of 256 */
};

static struct bounds bounds_of(const struct vf_kernel_case *c)
{
    const struct vf_taps *taps = c->flow->stage[0].taps;
    const long low = (long)vf_type_least(c->source_type[0]), high = low + UINT8_MAX;
    struct bounds b = {.low = (long)vf_type_least(c->sink_type[0])};
    b.high = b.low + UINT8_MAX;
    for (int t = 0; t < taps->count; t++) {
        const long weight = (long)taps->tap[t].weight;
        b.least += weight * (weight > 0 ? low : high);
        b.most += weight * (weight > 0 ? high : low);
        b.start += weight * low;
    }
    b.raised = vf_ceil_div(-vf_smaller(b.least, b.low), UINT8_MAX + 1) * (UINT8_MAX + 1);
    b.start += b.raised;
    return b;
}

/* Whether results may lie beyond the stored type. */
static bool is_low(const struct bounds *b)
{
    return b->least < b->low;
}

static bool is_high(const struct bounds *b)
{
    return b->most > b->high;
}

static bool are_whole(const struct vf_taps *taps)
{
    bool whole = true;
    for (int t = 0; t < taps->count; t++)
        whole = whole && fabs(taps->tap[t].weight) <= UINT8_MAX &&
                floor(taps->tap[t].weight) == taps->tap[t].weight;
    return whole;
}

/* Whether what the boundary rule has outside the grid is of the source's type. */
static bool is_byte_outside(const struct vf_kernel_case *c)
{
    return vf_type_holds(c->source_type[0], vf_flow_outside(c->flow, c->flow->source[0]));
}

static bool is_byte(enum vf_type type)
{
    return type == VF_I8 || type == VF_U8;
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->stage_count != 1 || flow->source_count != 1 || flow->sink_count != 1 ||
        flow->sink[0] == flow->source[0] || flow->stage[0].stencil != VF_STENCIL_LINEAR ||
        vf_is_looped(&flow->stage[0]))
        return "it is for one table of weights, of one array";
    if (!is_byte(c->source_type[0]) || !is_byte(c->sink_type[0]) || !is_byte_outside(c))
        return "it is for what is read and stored as 8 bits";
    if (!are_whole(flow->stage[0].taps))
        return "it is for weights that are whole numbers";
    if (c->halo[2] > WORD)
        return "its weights reach too far along x";
    const struct bounds b = bounds_of(c);
    return b.raised + (is_high(&b) ? b.most : b.high) > UINT16_MAX ? "its sums are too large" : NULL;
}

/* ---- what a thread does ---- */

static int along_of(const struct vf_kernel_case *c, const struct vf_tap *tap)
{
    return c->flow->dim == 2 ? tap->dy : tap->dz;
}

static int side_of(const struct vf_kernel_case *c, const struct vf_tap *tap)
{
    return c->flow->dim == 2 ? 0 : tap->dy;
}

/* Whether a thread has terms in a row of a plane, counted from its first ones; `beside`: in other columns. */
static bool is_read(const struct vf_kernel_case *c, const struct vf_kernel_config *config, int plane, int row,
                    bool beside)
{
    const struct vf_taps *taps = c->flow->stage[0].taps;
    for (int t = 0; t < taps->count; t++) {
        const int z = plane - along_of(c, &taps->tap[t]), y = row - side_of(c, &taps->tap[t]);
        if (z >= 0 && z < config->stream && y >= 0 && y < config->work[1] &&
            (!beside || taps->tap[t].dx != 0))
            return true;
    }
    return false;
}

/* How many rows a thread has terms in. */
static int rows_read(const struct vf_kernel_case *c, const struct vf_kernel_config *config, bool beside)
{
    const int reach = vf_stream_reach(c, 0), side = vf_stream_side(c, 0);
    int rows = 0;
    for (int plane = -reach; plane < config->stream + reach; plane++)
        for (int row = -side; row < config->work[1] + side; row++)
            rows += is_read(c, config, plane, row, beside);
    return rows;
}

/* Words that a thread adds to sums. */
static double words_added(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return 2.0 * config->work[0] / WORD * config->work[1] * config->stream * c->flow->stage[0].taps->count;
}

/* Registers of a thread, roughly: sums that are not complete, rows that are on their way, and one split. */
static int registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    enum { OTHERS = 24 };
    const int words = config->work[0] / WORD, reach = vf_stream_reach(c, 0),
              open = 2 * reach + 1 < config->stream ? 2 * reach + 1 : config->stream;
    return OTHERS + 2 * words * config->work[1] * open + 2 * (words + 2) +
           HELD * (config->work[1] + 2 * vf_stream_side(c, 0)) * (words + 1);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *reason = vf_stream_limits(c, gpu, config, 0);
    if (reason != NULL)
        return reason;
    if (config->work[0] % WORD != 0)
        return "work along x must be 4, 8 or 16";
    if (config->stream > MOST_ADDED || words_added(c, config) > MOST_ADDED)
        return "work and stream are written out, which would be too long";
    return registers(c, config) > VF_THREAD_REGISTERS ? "work needs more registers than a thread has" : NULL;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int blocks[][2] = {{16, 8}, {16, 4}, {32, 4}, {32, 2}, {64, 2}, {128, 1}, {8, 8}};
    const bool flat = c->flow->dim == 2;
    struct vf_candidate_list all = {c, gpu, &vf_gpu_byte_sums, list, 0, room};
    for (int span = 16; span >= 8; span /= 2)
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
            for (int rows = 4; rows >= 1; rows /= 2)
                for (int planes = 8; planes >= 2; planes /= 2) {
                    const struct vf_kernel_config config = {
                        .block = {blocks[i][0], blocks[i][1], 1}, .work = {span, rows, 1}, .stream = planes};
                    if (!flat || (rows == 1 && blocks[i][1] == 1))
                        vf_candidate_add(&all, &config);
                }
    return all.count;
}

/* Whether the threads of a row are a segment (kernels/device_stream.h), and have all of it. */
static bool has_whole_rows(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return config->block[0] <= 32 && c->nx <= (ptrdiff_t)config->block[0] * config->work[0];
}

/* ---- the model ---- */

/* Instructions, as they stand in the machine code of an H200's kernels: of a row for where it is, for a word
 * that is split, for one that is stored; of a row that is read beside a span for what is beside it. They take
 * two clocks each, and at the same time as products do. */
enum { OF_ROW = 6, OF_SPLIT = 3, OF_STORED = 5, OF_BESIDE = 12, CLOCKS = 2 };

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    const int span = config->work[0], reach = vf_stream_reach(c, 0), side = vf_stream_side(c, 0);
    const ptrdiff_t width = (ptrdiff_t)config->block[0] * span;
    const int words = span / WORD;
    const double rows = config->block[1] * config->work[1], planes = config->stream,
                 row = vf_model_warp_sectors(0, 1, width), line = vf_model_warp_lines(0, span, 32);
    traffic->threads = config->block[0] * config->block[1];
    const double warps = traffic->threads / 32.0, read = rows_read(c, config, false),
                 beside = rows_read(c, config, true), stored = config->work[1] * planes;
    traffic->read_sectors = row * rows * planes;
    traffic->halo_sectors[c->flow->dim == 2 ? 1 : 2] += row * rows * 2 * reach;
    traffic->halo_sectors[1] += row * 2 * side * planes;
    traffic->halo_sectors[0] += c->halo[2] > 0 ? 2 * rows * planes : 0;
    traffic->written_sectors = row * rows * planes;
    traffic->global_wavefronts = warps * ((read + stored) * line + 2 * beside);
    traffic->shared_wavefronts = warps * 2 * beside;
    const double others = read * (OF_ROW + OF_SPLIT * words) + beside * (OF_BESIDE + words * 2 * c->halo[2]) +
                          stored * (OF_ROW + OF_STORED * words);
    traffic->other_ops = traffic->threads * CLOCKS * fmax(others, words_added(c, config));
    traffic->loads = read + beside;
    traffic->loads_in_flight = fmin(traffic->loads, HELD * (config->work[1] + 2.0 * side));
    traffic->overlap = VF_OVERLAPS;
    traffic->registers = registers(c, config);
}

static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return words_added(c, config) / 2 + 20.0 * rows_read(c, config, true);
}

/* ---- constants ---- */

/* A number in both halves of a word. */
static unsigned long in_halves(long number)
{
    return (unsigned long)(number * 0x10001) & UINT32_MAX;
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    const struct bounds b = bounds_of(c);
    const struct vf_taps *taps = c->flow->stage[0].taps;
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    vf_stream_define(c, config, &shape, text);
    vf_text_add(text, "#define VF_START %luu\n#define VF_LOW %luu\n#define VF_HIGH %luu\n",
                in_halves(b.start), in_halves(b.raised + b.low), in_halves(b.raised + b.high));
    vf_text_add(text,
                "#define VF_IS_LOW %d\n#define VF_IS_HIGH %d\n#define VF_WHOLE_ROWS %d\n"
                "#define VF_HELD %d\n",
                is_low(&b), is_high(&b), has_whole_rows(c, config), HELD);
    for (int t = 0; t < taps->count; t++)
        vf_text_add(text, "#define VF_WEIGHT_%d %d\n", t, (int)taps->tap[t].weight);
}

const struct vf_gpu_scheme vf_gpu_byte_sums = {
    .name = "byte-sums",
    .summary = "sums of bytes by whole weights, two of a word at once",
    .file = "kernels/byte_sums.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = vf_stream_tile,
    .traffic = traffic,
    .written = written,
    .define = define,
};
