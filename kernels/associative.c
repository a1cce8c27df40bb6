/* The host side of associative: which stages it takes, the blocks and chunks that a plan may choose, the
 * registers of a thread, and what a block does, for the model. kernels/associative.cu is the kernel. */
#include "kernels/gpu_stream.h"

enum { MOST_HELD = 220 };

/* Registers of 32 bits for a thread's rows of one plane. */
static long plane_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    long values = 0;
    for (int k = 0; k < c->flow->source_count; k++)
        values += (long)(config->work[1] + 2 * vf_stream_side(c, k)) * config->work[0];
    return values * (c->flow->is_double ? 2 : 1);
}

/* For a thread's sums and for the cells beside its spans, roughly. */
static long sum_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct vf_flow *flow = c->flow;
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    const long cells = (long)config->work[0] * config->work[1];
    long values = 0;
    for (int k = 0; k < flow->source_count; k++) {
        const int wide = config->work[1] + (shape.diagonal[k] ? 2 * vf_stream_side(c, k) : 0);
        values += (long)wide * 3 * c->source_halo[k][2];
    }
    for (int s = 0; s < flow->stage_count; s++)
        values +=
            flow->stage[s].output_count * cells * (2 * flow->stage[s].taps->halo[flow->dim == 2 ? 1 : 0] + 1);
    return values * (flow->is_double ? 2 : 1);
}

/* How many planes are on their way from memory. If a thread reads only its own cells of a plane, and
 * registers are left, there are enough of them that it need not wait. */
static int ahead_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    for (int k = 0; k < c->flow->source_count; k++)
        if (c->source_halo[k][2] > 0 || vf_stream_side(c, k) > 0)
            return 1;
    const long sums = sum_registers(c, config), plane = plane_registers(c, config);
    int ahead = 4;
    while (ahead > 1 && sums + (1 + ahead) * plane > MOST_HELD)
        ahead--;
    return ahead;
}

/* Registers for sums and planes. If sums stay within a plane, the next planes are not held. */
static long held_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const bool stays = c->halo[c->flow->dim == 2 ? 1 : 0] == 0 && c->halo[c->flow->dim == 2 ? 0 : 1] > 0;
    const int planes = stays ? 1 : 1 + ahead_of(c, config);
    return sum_registers(c, config) + planes * plane_registers(c, config);
}

/* How many blocks the compiler must leave room for on an SM: 4, or 2 of 256 threads, if a thread needs few
 * more registers than these leave it; else 0. Without this the compiler may use them or not, and with 4
 * blocks in place of 3 an H200 is faster by a fifth. */
static int least_blocks(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    enum { THREADS = 512, MOST = VF_SM_REGISTERS / THREADS, MORE = 24 };
    const int rows = config->block[1];
    const bool is_row = config->block[0] == 128 && rows <= 2 && config->work[1] > 1;
    return is_row && 32 + held_registers(c, config) <= MOST + MORE ? THREADS / 128 / rows : 0;
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_kernel_config least = {.block = {32, 4, 1}, .work = {1, 1, 1}, .stream = 1};
    const struct vf_flow *flow = c->flow;
    for (int s = 0; s < flow->stage_count; s++) {
        if (flow->stage[s].stencil != VF_STENCIL_LINEAR)
            return "a stage is not a table of weights";
        if (vf_is_looped(&flow->stage[s]))
            return "a line is too long to be written out";
        for (int k = 0; k < flow->stage[s].input_count; k++)
            if (!vf_flow_is_source(flow, flow->stage[s].input[k]))
                return "a stage reads what an earlier one computes";
    }
    for (int k = 0; k < flow->sink_count; k++)
        if (vf_flow_is_source(flow, flow->sink[k]))
            return "a result is a plain copy of an input";
    if (flow->stage_count == 0 || c->halo[2] > 16 || held_registers(c, &least) > 200)
        return "its sums do not fit into registers";
    return NULL;
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *reason = vf_stream_limits(c, gpu, config, 0);
    if (reason != NULL)
        return reason;
    return held_registers(c, config) > MOST_HELD ? "work needs more registers than a thread has" : NULL;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    /* The last ones, rows of 512 cells, are for dense tables. */
    enum { ROWS = 2 };
    static const int shapes[][3] = {{32, 8, 1}, {32, 4, 1}, {32, 4, 2},  {32, 8, 2},  {16, 8, 1},
                                    {16, 8, 2}, {64, 4, 1}, {16, 16, 1}, {128, 1, 4}, {128, 2, 4}};
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    const int count = (int)(sizeof shapes / sizeof *shapes) - (shape.any_diagonal ? 0 : ROWS);
    /* Long lines leave more warps to an SM if a thread has fewer of them. */
    enum { LONG = 100 };
    int n = 0;
    for (int span = vf_kernel_pack(c); span >= 1 && (n == 0 || sum_registers(c, &list[n - 1]) > LONG);
         span /= 2)
        n += vf_stream_candidates(&vf_gpu_associative, c, gpu, span, shapes, count, 0, list + n, room - n);
    return n;
}

/* Memory takes this many times what is counted if blocks are at several planes at once; fitted to 8 kernels.
 */
#define APART 1.03

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    struct vf_stream_shape shape;
    (void)gpu;
    vf_stream_shape_of(c, &shape);
    for (int k = 0; k < c->flow->source_count; k++)
        shape.cross[k] = vf_stream_reach(c, k);
    vf_stream_traffic(c, config, &shape, traffic);
    /* The terms of a plane take long to add for a dense table, so that the next plane is there by then;
     * fitted to 7 kernels. */
    traffic->loads_in_flight *= shape.any_diagonal ? 4 : ahead_of(c, config);
    if (config->stream < (c->flow->dim == 2 ? c->ny : c->nz)) {
        traffic->read_sectors *= APART;
        traffic->written_sectors *= APART;
    }
    /* Registers for addresses; the compiler uses fewer if there are few sums. */
    enum { FEW = 48, SOME = 64 };
    const int held = (int)held_registers(c, config);
    traffic->registers = (held < FEW ? 16 : held < SOME ? 24 : 32) + held;
    const int least = least_blocks(c, config),
              most = least > 0 ? VF_SM_REGISTERS / (least * traffic->threads) : VF_THREAD_REGISTERS;
    traffic->registers = traffic->registers < most ? traffic->registers : most;
}

/* As many planes as are written out in turns. A term compiles in two fifths of the time of other operations.
 */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    return 0.4 * vf_stream_written(c, config, &shape, 1 + ahead_of(c, config));
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    vf_stream_define(c, config, &shape, text);
    vf_text_add(text, "#define VF_AHEAD %d\n", ahead_of(c, config));
    if (least_blocks(c, config) > 0)
        vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", least_blocks(c, config));
}

const struct vf_gpu_scheme vf_gpu_associative = {
    .name = "associative",
    .summary = "blocks stream through planes, holding the sums that each plane adds to",
    .file = "kernels/associative.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = vf_stream_tile,
    .traffic = traffic,
    .written = written,
    .define = define,
};
