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

static int read_rows(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int rows = config->block[1] * config->work[1] + 2 * c->halo[1];
    return has_side(c) ? (rows + config->block[1] - 1) / config->block[1] : config->work[1];
}

/* Registers of 32 bits for a thread's sums and the rows under way, roughly. */
static long held_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int reach = c->halo[c->flow->dim == 2 ? 1 : 0];
    const long span = config->work[0], cells = span * config->work[1];
    return ((2 * reach + 1) * cells + read_rows(c, config) * (span + c->halo[2]) + span + 2 * c->halo[2]) *
           (c->flow->is_double ? 2 : 1);
}

/* What the compiler needs of a thread; left alone, it takes half as many again to have more under way. */
static long wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return (held_registers(c, config) + 16 + 7) / 8 * 8;
}

/* Blocks that the compiler must let an SM hold. */
static int least_blocks(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const long blocks = 65536 / (wanted_registers(c, config) * config->block[0] * config->block[1]);
    return blocks > 1 ? (int)blocks : 1;
}

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

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    if (!has_side(c))
        return 0;
    const size_t rows = (size_t)(config->block[1] * config->work[1] + 2 * c->halo[1]);
    return 2 * rows * (size_t)(config->block[0] * config->work[0]) * vf_kernel_element(c);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *reason = vf_stream_limits(c, gpu, config, shared(c, config));
    if (reason != NULL)
        return reason;
    return wanted_registers(c, config) * config->block[0] * config->block[1] > 65536 ||
                   held_registers(c, config) > 210
               ? "work needs more registers than a thread has"
               : NULL;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int shapes[][3] = {{32, 16, 2}, {32, 16, 1}, {32, 8, 2},  {16, 16, 2}, {32, 8, 4},
                                    {16, 16, 1}, {16, 16, 4}, {32, 24, 1}, {32, 32, 1}, {32, 8, 1}};
    int n = 0;
    for (int span = vf_stream_span(c); span >= 1 && n == 0; span /= 2)
        n = vf_stream_candidates(&vf_gpu_separable_stream, c, gpu, span, shapes,
                                 (int)(sizeof shapes / sizeof *shapes), 0, list, room);
    return n;
}

/* Beside what streaming costs: the x sums of the rows beside the tile, and shared memory. */
static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    struct vf_stream_shape shape = {.any_diagonal = true};
    (void)gpu;
    for (int k = 0; k < c->flow->source_count; k++) {
        shape.cross[k] = vf_stream_reach(c, k);
        shape.diagonal[k] = vf_stream_side(c, k) > 0;
    }
    vf_stream_traffic(c, config, &shape, traffic);
    const struct vf_flow *flow = c->flow;
    const int reach = c->halo[flow->dim == 2 ? 1 : 0], fields = flow->source_count;
    const double planes = (double)vf_stream_planes(c, config) + 2 * reach, warps = traffic->threads / 32.0,
                 rows = read_rows(c, config);
    /* Rows beside the tile are shared out among the threads: each reads but its own. */
    traffic->loads = fields * planes * rows * 2;
    traffic->loads_in_flight = rows * 2;
    const double lines = config->work[0] * (double)vf_kernel_element(c) / 4;
    const double row_terms = (2 * c->halo[2] + 1) * rows * config->work[0],
                 side_terms = has_side(c) ? (2.0 * c->halo[1] + 1) * config->work[0] * config->work[1] : 0,
                 along_terms = (2.0 * reach + 1) * config->work[0] * config->work[1];
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) =
        fields * planes * traffic->threads * (row_terms + side_terms + along_terms);
    traffic->shared_wavefronts = fields * planes * warps * rows * 2 * c->halo[2] * (flow->is_double ? 2 : 1);
    traffic->global_wavefronts = fields * planes * warps * (rows * (lines + 2) + config->work[1] * lines);
    traffic->other_ops =
        fields * planes * traffic->threads * (24 + rows * (16 + 4 * c->halo[2]) + 8 * config->work[1]);
    for (int k = 0; k < fields; k++) {
        /* What is converted is waited for row by row. */
        if (vf_conversion_ops(c, c->source_type[k]) > 0)
            traffic->loads_in_flight = 2;
        traffic->other_ops += planes * traffic->threads * vf_conversion_ops(c, c->source_type[k]) * rows *
                              (config->work[0] + 2 * c->halo[2]);
    }
    if (has_side(c)) {
        traffic->shared_wavefronts +=
            fields * planes * warps * lines * (rows + config->work[1] + 2 * c->halo[1]);
        traffic->barriers = fields * planes;
    }
    traffic->issue_warps = VF_LINES_ISSUE_WARPS;
    const int most = 65536 / (least_blocks(c, config) * traffic->threads) / 8 * 8,
              wanted = 36 + (int)held_registers(c, config);
    traffic->registers = wanted < most ? wanted : most;
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
    .define = define,
};
