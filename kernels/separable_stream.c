#include "kernels/gpu_stream.h"
#include "src/volume.h"

extern const struct vf_gpu_scheme vf_gpu_separable_stream;

/* The stages of a chain's lines along z, y, x; -1: none. */
struct lines {
    int stage[3];
};

/* All taps in consecutive places along one axis; which, or -1. */
static int axis_of(const struct vf_taps *taps)
{
    int axis = -1;
    for (int i = 0; i < 3; i++)
        if (taps->halo[i] > 0)
            axis = axis < 0 ? i : 3;
    if (axis < 0 || axis > 2 || taps->count != 2 * taps->halo[axis] + 1)
        return -1;
    return axis;
}

/* Whether the flow is a chain of lines in the order x, y, z, each over the same number of fields. */
static const char *read_lines(const struct vf_kernel_case *c, struct lines *lines)
{
    const struct vf_flow *flow = c->flow;
    int last = 3;
    *lines = (struct lines){{-1, -1, -1}};
    if (flow->stage_count < 2)
        return "it is for chains of lines, one along each axis";
    for (int s = 0; s < flow->stage_count; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        const int axis = stage->stencil == VF_STENCIL_LINEAR ? axis_of(stage->taps) : -1;
        if (axis < 0)
            return "a stage is not a line of weights";
        if (axis >= last)
            return "the lines are not in the order x, y, z";
        if (stage->input_count != flow->source_count || stage->input_count != flow->sink_count)
            return "the lines differ in their fields";
        for (int k = 0; k < stage->input_count; k++)
            if (stage->input[k] != (s == 0 ? flow->source[k] : flow->stage[s - 1].output[k]) ||
                (s == flow->stage_count - 1 && flow->sink[k] != stage->output[k]))
                return "the lines differ in their fields";
        lines->stage[axis] = s;
        last = axis;
    }
    for (int k = 1; k < flow->source_count; k++)
        if (c->source_type[k] != c->source_type[0] || c->sink_type[k] != c->sink_type[0])
            return "its fields have different types";
    return NULL;
}

static bool has_side(const struct vf_kernel_case *c)
{
    struct lines lines;
    return c->flow->dim == 3 && read_lines(c, &lines) == NULL && lines.stage[1] >= 0;
}

/* ---- with a line along y: tiles in shared memory, kernels/device_plane_sums.h ---- */

/* Cells of a tile, as it lies in shared memory. */
struct tile {
    int columns, rows;      /* of sums along x */
    int packs, packs_apart; /* of a row that is read; from one row to the next */
    int pack;               /* cells of 16 bytes */
    long own_packs, own_ends,
        own_sums; /* of a thread: read at once, and cells; twice the packs, made at once */
};

static struct tile tile_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int pack = 16 / (int)vf_kernel_element(c), threads = config->block[0] * config->block[1],
              border = (c->halo[2] + pack - 1) / pack;
    struct tile t = {.columns = config->block[0] * config->work[0],
                     .rows = config->block[1] * config->work[1] + 2 * c->halo[1],
                     .pack = pack};
    t.packs = t.columns / pack + 2 * border;
    t.packs_apart = t.packs | 1;
    t.own_packs = ((long)t.rows * t.packs + threads - 1) / threads;
    t.own_ends = ((long)t.rows * c->halo[2] + threads - 1) / threads;
    t.own_sums = ((long)t.rows * t.columns / (2 * pack) + threads - 1) / threads;
    return t;
}

static bool has_row(const struct vf_kernel_case *c)
{
    return c->halo[2] > 0;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    if (!has_side(c))
        return 0;
    const struct tile t = tile_of(c, config);
    const int packs = t.packs_apart + (has_row(c) ? t.columns / t.pack + 1 : 0);
    return 2 * (size_t)t.rows * (size_t)packs * 16;
}

/* ---- registers ---- */

/* Registers of 32 bits for a thread's sums and what is on its way from memory, roughly. */
static long held_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int reach = c->halo[c->flow->dim == 2 ? 1 : 0];
    const long span = config->work[0], cells = span * config->work[1], words = c->flow->is_double ? 2 : 1;
    if (!has_side(c))
        return ((2 * reach + 1) * cells + config->work[1] * (span + c->halo[2]) + span + 2 * c->halo[2]) *
               words;
    const struct tile t = tile_of(c, config);
    return ((2 * reach + 1) * cells + t.own_packs * t.pack + t.own_ends) * words +
           2 * (t.own_packs + t.own_ends);
}

/* What the compiler needs of a thread; left alone, it takes half as many again to have more under way. */
static long wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return (held_registers(c, config) + (has_side(c) ? 28 : 16) + 7) / 8 * 8;
}

/* Blocks that the compiler must let an SM hold. */
static int least_blocks(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const long blocks = 65536 / (wanted_registers(c, config) * config->block[0] * config->block[1]);
    return blocks > 1 ? (int)blocks : 1;
}

/* ---- what it takes ---- */

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_kernel_config least = {.block = {32, 8, 1}, .work = {1, 1, 1}, .stream = 1};
    struct lines lines;
    const char *reason = read_lines(c, &lines);
    if (reason != NULL)
        return reason;
    if (c->halo[2] > 16 || held_registers(c, &least) > 200)
        return "its lines are too long for registers";
    return NULL;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *reason = vf_stream_limits(c, gpu, config, shared(c, config));
    if (reason != NULL)
        return reason;
    if (has_side(c) && (config->block[0] * config->work[0] * (int)vf_kernel_element(c) % 128 != 0 ||
                        config->work[0] * (int)vf_kernel_element(c) > 16))
        return "a tile is some times 128 bytes wide, a thread's cells of a row 16 bytes at most";
    return wanted_registers(c, config) * config->block[0] * config->block[1] > 65536 ||
                   held_registers(c, config) > 210
               ? "work needs more registers than a thread has"
               : NULL;
}

/* Chunks of planes: as many as there may be waves of blocks, up to a few. */
static int side_candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           struct vf_kernel_config *list, int room)
{
    static const int shapes[][4] = {{32, 8, 2, 4}, {64, 4, 2, 4},  {32, 16, 2, 2},
                                    {32, 8, 2, 2}, {16, 16, 2, 4}, {32, 4, 2, 4},
                                    {64, 4, 2, 2}, {32, 8, 1, 4},  {32, 8, 1, 2}};
    enum { MOST_CHUNKS = 8 };
    int n = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int chunks = 1, stream = 0; chunks <= MOST_CHUNKS; chunks++) {
            struct vf_kernel_config config = {.block = {shapes[i][0], shapes[i][1], 1},
                                              .work = {shapes[i][2], shapes[i][3], 1},
                                              .stream = (int)((c->nz + chunks - 1) / chunks)};
            if (n < room && config.stream != stream && forbids(c, gpu, &config) == NULL)
                list[n++] = config;
            stream = config.stream;
        }
    return n;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shapes[][3] = {{32, 16, 2}, {32, 16, 1}, {32, 8, 2},  {16, 16, 2}, {32, 8, 4},
                                    {16, 16, 1}, {16, 16, 4}, {32, 24, 1}, {32, 32, 1}, {32, 8, 1}};
    int n = 0;
    if (has_side(c))
        return side_candidates(c, gpu, list, room);
    for (int span = vf_stream_span(c); span >= 1 && n == 0; span /= 2)
        n = vf_stream_candidates(&vf_gpu_separable_stream, c, gpu, span, shapes,
                                 (int)(sizeof shapes / sizeof *shapes), 0, list, room);
    return n;
}

/* ---- traffic ---- */

/* Sums of a block for all of its planes. */
static void count_sums(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       double row_cells, struct vf_kernel_traffic *traffic)
{
    const struct vf_flow *flow = c->flow;
    const int reach = c->halo[flow->dim == 2 ? 1 : 0];
    const double planes = (double)vf_stream_planes(c, config) + 2 * reach,
                 cells = (double)traffic->threads * config->work[0] * config->work[1];
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) +=
        flow->source_count * planes *
        (row_cells * (2 * c->halo[2] + 1) + (has_side(c) ? cells * (2 * c->halo[1] + 1) : 0) +
         cells * (2 * reach + 1));
}

/* Through shared memory: tiles are read with what lies beside them, their packs once. */
static void count_tiles(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                        struct vf_kernel_traffic *traffic)
{
    const struct tile t = tile_of(c, config);
    const int reach = c->halo[0], fields = c->flow->source_count, span = config->work[0],
              rows = config->block[1] * config->work[1], element = (int)vf_kernel_element(c),
              stored = (int)vf_type_size(c->source_type[0]), written = (int)vf_type_size(c->sink_type[0]);
    const double within = (double)vf_stream_planes(c, config), planes = within + 2 * reach,
                 row = (double)vf_model_warp_sectors(0, 1, stored, t.columns),
                 border = (double)vf_model_warp_sectors(0, 1, stored, (t.packs * t.pack - t.columns) / 2),
                 packs = (double)t.rows * t.packs, sums = (double)t.rows * t.columns / t.pack;
    const double lines = 16.0 / VF_LINE_BYTES;
    traffic->steps = vf_stream_planes(c, config);
    traffic->read_sectors = fields * row * rows * within;
    traffic->halo_sectors[0] = fields * 2 * border * t.rows * planes;
    traffic->halo_sectors[1] = fields * row * (t.rows - rows) * planes;
    traffic->halo_sectors[2] = fields * row * rows * 2 * reach;
    traffic->written_sectors =
        fields * rows * within * (double)vf_model_warp_sectors(0, 1, written, t.columns);
    traffic->global_wavefronts = fields * (planes * packs * t.pack * stored / VF_LINE_BYTES +
                                           within * rows * t.columns * written / VF_LINE_BYTES);
    /* A pack is written once and read for its own sums and those beside it, two packs of them at once; rows
     * of sums are read by the threads below and above. */
    const double windows = has_row(c) ? sums / 2 * (2 + t.packs - t.columns / t.pack) : 0;
    traffic->shared_wavefronts =
        fields * planes *
        (lines * (packs + windows + (has_row(c) ? sums : 0)) +
         traffic->threads * (config->work[1] + 2.0 * c->halo[1]) * span * element / VF_LINE_BYTES);
    count_sums(c, config, has_row(c) ? (double)t.rows * t.columns : 0, traffic);
    traffic->other_ops =
        fields * planes *
        (packs * (8 + vf_conversion_ops(c, c->source_type[0]) * t.pack) + windows + 8 * sums / 2 +
         traffic->threads * (24 + 3 * config->work[1] + config->work[1] + 2 * c->halo[1] +
                             2 * vf_conversion_ops(c, c->sink_type[0]) * span * config->work[1]));
    /* A plane is on its way while the two before it are worked on. */
    traffic->loads = fields * planes * (double)t.own_packs;
    traffic->loads_in_flight = 8 * (double)t.own_packs;
    traffic->barriers = fields * planes;
    traffic->overlaps = true;
}

/* In registers: beside what streaming costs, the sums along x. */
static void count_rows(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       struct vf_kernel_traffic *traffic)
{
    struct vf_stream_shape shape = {.any_diagonal = false};
    const struct vf_flow *flow = c->flow;
    for (int k = 0; k < flow->source_count; k++)
        shape.cross[k] = vf_stream_reach(c, k);
    vf_stream_traffic(c, config, &shape, traffic);
    const int reach = c->halo[flow->dim == 2 ? 1 : 0], fields = flow->source_count;
    const double planes = (double)vf_stream_planes(c, config) + 2 * reach, warps = traffic->threads / 32.0,
                 rows = config->work[1], cells = traffic->threads * rows * config->work[0],
                 lines = config->work[0] * (double)vf_kernel_element(c) / 4;
    traffic->loads = fields * planes * rows * 2;
    traffic->loads_in_flight = rows * 2;
    traffic->float_ops = traffic->double_ops = 0;
    count_sums(c, config, cells, traffic);
    traffic->shared_wavefronts = fields * planes * warps * rows * 2 * c->halo[2] * (flow->is_double ? 2 : 1);
    traffic->global_wavefronts = fields * planes * warps * rows * (2 * lines + 2);
    traffic->other_ops = fields * planes * traffic->threads * (24 + rows * (24 + 4 * c->halo[2]));
    for (int k = 0; k < fields; k++) {
        /* What is converted is waited for row by row. */
        if (vf_conversion_ops(c, c->source_type[k]) > 0)
            traffic->loads_in_flight = 2;
        traffic->other_ops += planes * traffic->threads * vf_conversion_ops(c, c->source_type[k]) * rows *
                              (config->work[0] + 2 * c->halo[2]);
    }
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    traffic->threads = config->block[0] * config->block[1];
    if (has_side(c))
        count_tiles(c, config, traffic);
    else
        count_rows(c, config, traffic);
    traffic->issue_warps = has_side(c) ? 48.0 / (config->work[0] * config->work[1]) : VF_LINES_ISSUE_WARPS;
    const int most = 65536 / (least_blocks(c, config) * traffic->threads) / 8 * 8,
              wanted = 36 + (int)held_registers(c, config);
    traffic->registers = wanted < most ? wanted : most;
}

/* Long runs of fused multiply-adds compile in half the time of other code. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const double cells = (double)config->work[0] * config->work[1];
    if (!has_side(c))
        return cells * c->operations;
    const struct tile t = tile_of(c, config);
    return 0.5 * (2.0 * t.pack * (double)t.own_sums * (2 * c->halo[2] + 1) +
                  cells * (2 * c->halo[1] + 1 + 2 * c->halo[0] + 1));
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
    vf_text_add(text, "#define VF_BOTH_ENDS %d\n",
                c->nx < (ptrdiff_t)config->block[0] * config->work[0] + c->halo[2]);
    define_line(text, "ROW", lines.stage[2]);
    define_line(text, "SIDE", c->flow->dim == 3 ? lines.stage[1] : -1);
    define_line(text, "ALONG", lines.stage[c->flow->dim == 3 ? 0 : 1]);
}

const struct vf_gpu_scheme vf_gpu_separable_stream = {
    .name = "separable-stream",
    .summary = "blocks stream through planes that a chain of lines along x, y and z takes at once",
    .file = "kernels/separable_stream.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = vf_stream_tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .define = define,
};
