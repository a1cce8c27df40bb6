/* The host side of separable-stream: finds the lines of a chain and the body behind them, its tiles and
 * registers, and says what a block does, for the model. kernels/separable_stream.cu is the kernel. */
#include "kernels/gpu_stream.h"
#include "src/volume.h"

/* Which stages of a chain are its lines along z, y, x; -1: there is none. */
struct lines {
    int stage[3];
};

/* The stage that ends a chain of lines if it is a body; NULL: there is none. */
static const struct vf_stage *body_of(const struct vf_flow *flow)
{
    const int last = flow->stage_count - 1;
    return last < 0 || flow->stage[last].stencil == VF_STENCIL_LINEAR ? NULL : &flow->stage[last];
}

/* How many of the inputs, the first ones, lines are summed over. With a body it is one. */
static int chain_count(const struct vf_flow *flow)
{
    return body_of(flow) != NULL ? 1 : flow->source_count;
}

/* How many inputs of the kernel the body reads. */
static int beside_count(const struct vf_flow *flow)
{
    const struct vf_stage *body = body_of(flow);
    int count = 0;
    for (int k = 0; body != NULL && k < body->input_count; k++)
        count += vf_flow_is_source(flow, body->input[k]);
    return count;
}

/* Whether the body reads only what the chain makes, and inputs, all at the cell itself, and only its result
 * is stored. */
static bool ends_chain(const struct vf_flow *flow, const struct vf_stage *body)
{
    const int made = body[-1].output[0];
    bool right = flow->sink_count == 1 && body->output_count == 1 && flow->sink[0] == body->output[0];
    for (int k = 0; k < body->input_count; k++) {
        int halo[3];
        vf_stage_halo(body, flow->dim, k, halo);
        right = right && vf_is_pointwise(halo) &&
                (body->input[k] == made || vf_flow_is_source(flow, body->input[k]));
    }
    return right;
}

/* Whether the flow is a chain of lines in the order x, y, z, each over the same number of fields, or of one
 * field and a body behind them. */
static const char *read_lines(const struct vf_kernel_case *c, struct lines *lines)
{
    const struct vf_flow *flow = c->flow;
    int last = 3;
    *lines = (struct lines){{-1, -1, -1}};
    const struct vf_stage *body = body_of(flow);
    const int count = flow->stage_count - (body != NULL), fields = chain_count(flow);
    if (count < 2)
        return "it is for chains of 1D convolutions, one along each axis";
    if (body != NULL && !ends_chain(flow, body))
        return "a stage is neither a 1D convolution nor a last one that reads their results at its own voxel";
    for (int s = 0; s < count; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        const int axis = vf_line_axis(stage);
        if (axis < 0)
            return "a stage is not a 1D convolution";
        if (axis >= last)
            return "the convolutions are not in the order x, y, z";
        if (stage->input_count != fields || flow->sink_count != fields)
            return "the convolutions differ in their fields";
        for (int k = 0; k < stage->input_count; k++)
            if (stage->input[k] != (s == 0 ? flow->source[k] : flow->stage[s - 1].output[k]) ||
                (body == NULL && s == count - 1 && flow->sink[k] != stage->output[k]))
                return "the convolutions differ in their fields";
        lines->stage[axis] = s;
        last = axis;
    }
    for (int k = 1; k < fields; k++)
        if (c->source_type[k] != c->source_type[0] || c->sink_type[k] != c->sink_type[0])
            return "its fields have different types";
    return lines->stage[1] < 0 ? "there is no convolution along y" : NULL;
}

/* Without a line along z, rows are streamed, of each plane by itself. */
static bool is_flat(const struct vf_kernel_case *c)
{
    return c->halo[0] == 0;
}

static bool has_row(const struct vf_kernel_case *c)
{
    return c->halo[2] > 0;
}

/* How far lines reach along the streamed axis. */
static int reach_of(const struct vf_kernel_case *c)
{
    return c->halo[is_flat(c) ? 1 : 0];
}

/* ---- tiles in shared memory, kernels/device_plane_sums.h ---- */

/* Rows of a band. */
#define BAND 8

/* A tile of a plane, or a band of rows: what is read at once. */
struct tile {
    int columns, own_rows, rows; /* `rows`: with those beside the tile, which are summed along x too */
    int band;                    /* planes, or rows, that are streamed at once */
    int packs, packs_apart;      /* in a row that is read; from one row to the next in shared memory */
    int pack;                    /* cells of a pack */
    /* Of a thread: packs and single cells that it reads, and pairs of packs of sums along x. */
    long own_packs, own_ends, own_sums;
};

static struct tile tile_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int pack = vf_kernel_pack(c), threads = config->block[0] * config->block[1],
              border = (c->halo[2] + pack - 1) / pack;
    struct tile t = {.columns = config->block[0] * config->work[0],
                     .own_rows = is_flat(c) ? BAND : config->block[1] * config->work[1],
                     .band = is_flat(c) ? BAND : 1,
                     .pack = pack};
    t.rows = t.own_rows + (is_flat(c) ? 0 : 2 * c->halo[1]);
    t.packs = t.columns / pack + 2 * border;
    t.packs_apart = t.packs | 1;
    t.own_packs = ((long)t.rows * t.packs + threads - 1) / threads;
    t.own_ends = ((long)t.rows * c->halo[2] + threads - 1) / threads;
    t.own_sums = has_row(c) ? ((long)t.rows * t.columns / (2 * pack) + threads - 1) / threads : 0;
    return t;
}

/* How many planes are on their way to shared memory. 0: one, through registers. That is so if it is
 * converted, and if many terms are summed for each plane: then summing takes as long as memory, and copies
 * would only add instructions. */
static int planes_ahead(const struct vf_kernel_case *c)
{
    enum { MANY_TERMS = 40 };
    const int terms = 2 * (c->halo[0] + c->halo[1] + c->halo[2]) + 3;
    if (is_flat(c) || c->source_type[0] != vf_flow_type(c->flow) || terms > MANY_TERMS)
        return 0;
    return has_row(c) ? 2 : 4;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct tile t = tile_of(c, config);
    const int packs_of_sums = has_row(c) ? t.columns / t.pack + 1 : 0, ahead = planes_ahead(c),
              planes = ahead > 0 ? ahead + 1 : 2;
    const size_t packs = (size_t)t.rows * (size_t)(planes * t.packs_apart + 2 * packs_of_sums);
    /* With bands each thread has a place to put what is not needed. */
    const size_t nowhere = is_flat(c) ? (size_t)config->block[0] * (size_t)config->block[1] : 0;
    return VF_GATE_BYTES + (packs + 2 * nowhere) * 16;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tile[3])
{
    tile[0] = (ptrdiff_t)config->block[0] * config->work[0];
    tile[1] = is_flat(c) ? config->stream : (ptrdiff_t)config->block[1] * config->work[1];
    tile[2] = is_flat(c) ? 1 : config->stream;
}

/* ---- registers ---- */

/* Registers of 32 bits for a thread's sums and what is on its way from memory, roughly. */
static long held_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const long cells = (long)config->work[0] * config->work[1], words = c->flow->is_double ? 2 : 1;
    const struct tile t = tile_of(c, config);
    return ((2 * reach_of(c) + 1 + beside_count(c->flow)) * cells + t.own_packs * t.pack + t.own_ends) *
               words +
           2 * (t.own_packs + t.own_ends);
}

/* Registers that the compiler is allowed. Left alone, it uses half as many more to have more loads under way.
 */
static long wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return (held_registers(c, config) + 28 + 7) / 8 * 8;
}

/* How many blocks the compiler must leave room for on an SM. */
static int least_blocks(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const long blocks = VF_SM_REGISTERS / (wanted_registers(c, config) * config->block[0] * config->block[1]);
    return blocks > 1 ? (int)blocks : 1;
}

/* ---- what it takes ---- */

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_kernel_config least = {.block = {32, 8, 1}, .work = {1, 1, 1}, .stream = 1},
                                  least_flat = {.block = {256, 1, 1}, .work = {1, 1, 1}, .stream = 1};
    struct lines lines;
    const char *reason = read_lines(c, &lines);
    if (reason == NULL)
        reason = vf_kernel_plane_limit(c);
    if (reason != NULL)
        return reason;
    return held_registers(c, is_flat(c) ? &least_flat : &least) > 200
               ? "its convolutions are too long for registers"
               : NULL;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const int element = (int)vf_kernel_element(c), *const block = config->block, *const work = config->work;
    const char *reason = vf_kernel_limits(c, gpu, config, shared(c, config));
    if (reason != NULL)
        return reason;
    if (config->stream < 1)
        return "stream is the number of planes of a chunk, at least 1";
    if (block[2] > 1 || work[2] > 1 || (is_flat(c) && (block[1] > 1 || work[1] > 1)))
        return "the streamed axis has no threads: its block and work must be 1";
    if (block[0] * work[0] * element % 128 != 0 || (work[0] & (work[0] - 1)) != 0 || work[0] * element > 16)
        return "a tile's width must be a multiple of 128 bytes, and a thread's voxels of a row 1, 2 or 4, of "
               "16 bytes at most";
    if (block[0] * block[1] % gpu->warp != 0)
        return "a block's threads must fill whole warps";
    return wanted_registers(c, config) * block[0] * block[1] > VF_SM_REGISTERS ||
                   held_registers(c, config) > 210
               ? "work needs more registers than a thread has"
               : NULL;
}

/* A block and a thread's work, to be used with several lengths of chunks. */
struct shape {
    int block[2], work[2];
};

static int add_shapes(const struct vf_kernel_case *c, const struct vf_gpu *gpu, const struct shape *shape,
                      int shapes, struct vf_kernel_config *list, int room)
{
    /* Into how many chunks the streamed axis is cut; with few tiles in a plane, many. */
    static const int chunks[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64};
    const ptrdiff_t all = is_flat(c) ? c->ny : c->nz;
    int n = 0;
    for (int i = 0; i < shapes; i++)
        for (size_t k = 0; k < sizeof chunks / sizeof *chunks && n < room; k++) {
            struct vf_kernel_config config = {.block = {shape[i].block[0], shape[i].block[1], 1},
                                              .work = {shape[i].work[0], shape[i].work[1], 1},
                                              .stream = (int)((all + chunks[k] - 1) / chunks[k])};
            if (k > 0 && config.stream < 4 * reach_of(c))
                break;
            if (forbids(c, gpu, &config) == NULL)
                list[n++] = config;
        }
    return n;
}

/* For bands of rows: adds blocks as wide as suits the grid's rows, except widths that are listed anyway. */
static int add_fitted(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    int n = 0;
    for (int cells = vf_kernel_pack(c); cells >= 2; cells /= 2) {
        int width[VF_MOST_WIDTHS];
        const int widths = vf_kernel_widths(c, cells, width);
        for (int i = 0; i < widths; i++) {
            const struct shape shape = {{width[i], 1}, {cells, 1}};
            if ((width[i] & (width[i] - 1)) != 0)
                n += add_shapes(c, gpu, &shape, 1, list + n, room - n);
        }
    }
    return n;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const struct shape flat[] = {{{256, 1}, {1, 1}}, {{256, 1}, {2, 1}}, {{128, 1}, {2, 1}},
                                        {{128, 1}, {4, 1}}, {{256, 1}, {4, 1}}, {{128, 1}, {1, 1}},
                                        {{64, 1}, {4, 1}},  {{64, 1}, {2, 1}}};
    static const struct shape deep[] = {{{32, 8}, {2, 4}}, {{64, 4}, {2, 4}},  {{32, 16}, {2, 2}},
                                        {{32, 8}, {2, 2}}, {{16, 16}, {2, 4}}, {{32, 4}, {2, 4}},
                                        {{64, 4}, {2, 2}}, {{32, 8}, {1, 4}},  {{32, 8}, {1, 2}}};
    if (!is_flat(c))
        return add_shapes(c, gpu, deep, sizeof deep / sizeof *deep, list, room);
    const int n = add_shapes(c, gpu, flat, sizeof flat / sizeof *flat, list, room);
    return n + add_fitted(c, gpu, list + n, room - n);
}

/* ---- traffic ---- */

/* Memory takes as long as if a tile of a band had so many columns more, as rows are read and written in
 * pieces; fitted to 36 kernels on an H200. */
#define PIECES 96
/* A sector beside an end of a tile's row takes the time of so many others; fitted to 2062 configurations of
 * planes. */
#define BORDER 3

static void count_sectors(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                          const struct tile *t, double within, struct vf_kernel_traffic *traffic)
{
    const int fields = chain_count(c->flow), stored = (int)vf_type_size(c->source_type[0]),
              written = (int)vf_type_size(c->sink_type[0]);
    const double beside = 2.0 * reach_of(c) / t->band, turns = within + beside,
                 row = vf_model_warp_sectors(0, stored, t->columns),
                 border = vf_model_warp_sectors(0, stored, (t->packs * t->pack - t->columns) / 2),
                 pieces = is_flat(c) ? 1 + PIECES / (double)t->columns : 1,
                 packs = (double)t->rows * t->packs * t->pack;
    traffic->steps = config->stream;
    traffic->read_sectors = pieces * fields * row * t->own_rows * within;
    traffic->halo_sectors[0] = (is_flat(c) ? 1 : BORDER) * fields * 2 * border * t->rows * turns;
    traffic->halo_sectors[1] = fields * row * (t->rows - t->own_rows) * turns;
    traffic->halo_sectors[is_flat(c) ? 1 : 2] += fields * row * t->own_rows * beside;
    traffic->written_sectors =
        pieces * fields * t->own_rows * within * vf_model_warp_sectors(0, written, t->columns);
    traffic->global_wavefronts =
        fields * (turns * packs * stored + within * t->own_rows * t->columns * written) / VF_LINE_BYTES;
}

/* Counts what turns take, each a plane or a band of rows. */
static void count_turns(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                        const struct tile *t, double turns, struct vf_kernel_traffic *traffic)
{
    const int element = (int)vf_kernel_element(c), beside = is_flat(c) ? 0 : 2 * c->halo[1];
    const double packs = (double)t->rows * t->packs, cells = (double)t->own_rows * t->columns,
                 sums = has_row(c) ? (double)t->rows * t->columns / t->pack : 0,
                 taken = traffic->threads * (double)config->work[0] *
                         (is_flat(c) ? t->band : config->work[1] + beside);
    /* For two packs of sums along x at once, the packs beside them are read too. */
    const int packs_beside = t->packs - t->columns / t->pack;
    const double windows = sums / 2 * (2 + packs_beside);
    traffic->shared_wavefronts = turns * ((packs + windows + sums) * 16 + taken * element) / VF_LINE_BYTES;
    *(c->flow->is_double ? &traffic->double_ops : &traffic->float_ops) +=
        turns * (sums * t->pack * (2 * c->halo[2] + 1) + cells * (is_flat(c) ? 0 : 2 * c->halo[1] + 1) +
                 cells * (2 * reach_of(c) + 1));
    traffic->other_ops =
        turns * (packs * ((is_flat(c) ? 14 : 8) + vf_widening_ops(c, c->source_type[0]) * t->pack) + windows +
                 4 * sums + 24 * traffic->threads + taken / config->work[0] + 3 * cells / config->work[0] +
                 vf_narrowing_ops(c, c->sink_type[0]) * cells);
    /* What is read is on its way while planes before it are summed. */
    const int ahead = planes_ahead(c) > 0 ? planes_ahead(c) : 1;
    traffic->loads = turns * (double)t->own_packs;
    traffic->loads_in_flight = 8.0 * ahead * (double)t->own_packs;
    traffic->barriers = turns;
    traffic->overlap = VF_OVERLAPS;
}

/* Counts what a body reads of inputs, and its arithmetic. The chain's own input was read just before, so that
 * it may still be in L2. */
static void count_beside(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         const struct tile *t, double within, struct vf_kernel_traffic *traffic)
{
    const struct vf_flow *flow = c->flow;
    const struct vf_stage *body = body_of(flow);
    const double rows = t->own_rows * within, cells = rows * t->columns;
    if (body == NULL)
        return;
    for (int k = 0; k < flow->source_count; k++) {
        const double sectors =
            rows * vf_model_warp_sectors(0, (int)vf_type_size(c->source_type[k]), t->columns);
        bool is_read = false;
        for (int i = 0; i < body->input_count; i++)
            is_read = is_read || body->input[i] == flow->source[k];
        if (is_read)
            *(k == 0 ? &traffic->halo_sectors[0] : &traffic->read_sectors) += sectors;
        traffic->other_ops +=
            is_read ? cells * (3.0 / config->work[0] + vf_widening_ops(c, c->source_type[k])) : 0;
    }
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) += cells * vf_stage_stencil(body)->cost;
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    const struct tile t = tile_of(c, config);
    const double within = (double)config->stream / t.band;
    traffic->threads = config->block[0] * config->block[1];
    count_sectors(c, config, &t, within, traffic);
    count_beside(c, config, &t, within, traffic);
    count_turns(c, config, &t, chain_count(c->flow) * (within + 2.0 * reach_of(c) / t.band), traffic);
    /* The sums of different cells do not wait for one another. */
    const int together = is_flat(c) ? BAND : config->work[0] * config->work[1];
    traffic->issue_warps = VF_LINES_ISSUE_WARPS / together;
    const int most = VF_SM_REGISTERS / (least_blocks(c, config) * traffic->threads) / 8 * 8,
              wanted = 36 + (int)held_registers(c, config);
    traffic->registers = wanted < most ? wanted : most;
}

/* Fused multiply-adds compile in half the time of other operations. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct tile t = tile_of(c, config);
    const struct vf_stage *body = body_of(c->flow);
    const double cells = (double)config->work[0] * config->work[1];
    return 0.5 * (2.0 * t.pack * (double)t.own_sums * (2 * c->halo[2] + 1) +
                  cells * (2 * c->halo[1] + 1 + 2 * c->halo[0] + 1)) +
           (body == NULL ? 0 : cells * vf_stage_stencil(body)->cost);
}

static void define_line(struct vf_text *text, const char *name, int stage)
{
    vf_text_add(text, "#define VF_HAS_%s %d\n", name, stage >= 0);
    if (stage >= 0)
        vf_text_add(text, "#define VF_%s_LINE vf_stage_%d\n", name, stage);
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    const struct vf_stream_shape shape = {.most_cross = 0};
    struct lines lines;
    read_lines(c, &lines);
    vf_stream_define(c, config, &shape, text);
    vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", least_blocks(c, config));
    /* By one comparison planes take the compiler more registers, and 6% longer. */
    vf_text_add(text, "#define VF_STORES_SUMS %d\n", is_flat(c) && body_of(c->flow) == NULL);
    vf_text_add(text, "#define VF_AHEAD %d\n", planes_ahead(c));
    vf_text_add(text, "#define VF_FLAT %d\n#define VF_BAND %d\n", is_flat(c), is_flat(c) ? BAND : 1);
    vf_text_add(text, "#define VF_BOTH_ENDS %d\n",
                c->nx - c->nx % vf_kernel_pack(c) <
                    (ptrdiff_t)config->block[0] * config->work[0] + c->halo[2]);
    define_line(text, "ROW", lines.stage[2]);
    define_line(text, "SIDE", is_flat(c) ? -1 : lines.stage[1]);
    vf_text_add(text, "#define VF_ALONG_LINE vf_stage_%d\n", lines.stage[is_flat(c) ? 1 : 0]);
    vf_text_add(text, "#define VF_HAS_BODY %d\n#define VF_BODY vf_stage_%d\n", body_of(c->flow) != NULL,
                c->flow->stage_count - 1);
}

const struct vf_gpu_scheme vf_gpu_separable_stream = {
    .name = "separable-stream",
    .summary = "blocks stream through planes, applying 1D convolutions along x, y and z together, and "
               "perhaps a stage that reads the result",
    .file = "kernels/separable_stream.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .any_width = true,
    .define = define,
};
