#include "kernels/gpu_stream.h"

#include <string.h>

#include "src/volume.h"

/* ---- shape ---- */

static void add_place(const struct vf_kernel_case *c, int k, const int offset[3],
                      struct vf_stream_shape *shape)
{
    const bool flat = c->flow->dim == 2;
    const int along = offset[flat ? 1 : 0] < 0 ? -offset[flat ? 1 : 0] : offset[flat ? 1 : 0];
    const bool beside = offset[2] != 0 || (!flat && offset[1] != 0);
    if (beside && along > shape->cross[k])
        shape->cross[k] = along;
    if (!flat && offset[1] != 0 && offset[2] != 0)
        shape->diagonal[k] = 1;
}

/* The places that a stage reads its input i, which is source k, at. */
static void add_stage(const struct vf_kernel_case *c, const struct vf_stage *stage, int i, int k,
                      struct vf_stream_shape *shape)
{
    int halo[3];
    vf_stage_halo(stage, c->flow->dim, i, halo);
    if (stage->stencil != VF_STENCIL_LINEAR) {
        if (i >= vf_stage_stencil(stage)->star_inputs[c->flow->dim - 2])
            add_place(c, k, halo, shape);
        return;
    }
    for (int t = 0; t < stage->taps->count; t++)
        add_place(c, k, (const int[]){stage->taps->tap[t].dz, stage->taps->tap[t].dy, stage->taps->tap[t].dx},
                  shape);
}

void vf_stream_shape_of(const struct vf_kernel_case *c, struct vf_stream_shape *shape)
{
    memset(shape, 0, sizeof *shape);
    shape->mends = c->halo[2] > 0;
    for (int k = 0; k < c->flow->source_count; k++) {
        for (int s = 0; s < c->flow->stage_count; s++)
            for (int i = 0; i < c->flow->stage[s].input_count; i++)
                if (c->flow->stage[s].input[i] == c->flow->source[k])
                    add_stage(c, &c->flow->stage[s], i, k, shape);
        if (shape->cross[k] > shape->most_cross)
            shape->most_cross = shape->cross[k];
        shape->any_diagonal = shape->any_diagonal || shape->diagonal[k];
    }
}

int vf_stream_reach(const struct vf_kernel_case *c, int k)
{
    return c->source_halo[k][c->flow->dim == 2 ? 1 : 0];
}

int vf_stream_side(const struct vf_kernel_case *c, int k)
{
    return c->flow->dim == 2 ? 0 : c->source_halo[k][1];
}

/* ---- tiles and limits ---- */

void vf_stream_tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t tile[3])
{
    tile[0] = (ptrdiff_t)config->block[0] * config->work[0];
    tile[1] = c->flow->dim == 2 ? config->stream : (ptrdiff_t)config->block[1] * config->work[1];
    tile[2] = c->flow->dim == 2 ? 1 : config->stream;
}

const char *vf_stream_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                             const struct vf_kernel_config *config, size_t shared)
{
    const char *reason = vf_kernel_limits(c, gpu, config, shared);
    if (reason == NULL && c->flow->dim == 3)
        reason = vf_kernel_plane_limit(c);
    if (reason != NULL)
        return reason;
    const int x = config->block[0], span = config->work[0], segment = x < gpu->warp ? x : gpu->warp;
    if (config->stream < 1)
        return "stream is the number of planes of a chunk, at least 1";
    if (config->block[2] > 1 || config->work[2] > 1)
        return "the streamed axis has no threads: z of block and work must be 1";
    if (c->flow->dim == 2 && (config->block[1] > 1 || config->work[1] > 1))
        return "2D streams rows: y of block and work must be 1";
    if (span > 16 || (span & (span - 1)) != 0)
        return "work along x must be 1, 2, 4, 8 or 16";
    if (x < gpu->warp ? (x & (x - 1)) != 0 : x % gpu->warp != 0)
        return "a block's width must be a power of two or a multiple of a warp";
    if (x * config->block[1] % gpu->warp != 0)
        return "a block's threads must fill whole warps";
    if (c->halo[2] > 0 && (c->halo[2] + span - 1) / span * 2 > segment)
        return "a row of threads is too short for the halo along x";
    return NULL;
}

void vf_stream_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                      const struct vf_stream_shape *shape, struct vf_text *text)
{
    vf_text_add(text, "#define VF_RAGGED %d\n#define VF_NARROW %d\n",
                c->nx % ((ptrdiff_t)config->block[0] * config->work[0]) != 0, c->nx <= c->halo[2]);
    vf_text_add(text, "#define VF_END_X %d\n",
                shape->mends ? (int)((c->nx - 1) % config->work[0] + 1) : config->work[0]);
    vf_define_table("VF_CROSS", shape->cross, c->flow->source_count, text);
    vf_define_table("VF_DIAGONAL", shape->diagonal, c->flow->source_count, text);
    vf_text_add(text, "#define VF_MOST_CROSS %d\n#define VF_ANY_DIAGONAL %d\n", shape->most_cross,
                shape->any_diagonal);
}

/* Short chunks, of planes that reach a neighbour at most, read little twice, and their blocks are soon at
 * different planes: with so much arithmetic in a cell that hides more than it costs. */
enum { MOST_CHUNKS = 4, SHORT_CHUNK = 16, SHORT_OPERATIONS = 50 };

/* Chunks of the streamed axis: whole, so many that all SMs are busy several times over, and short ones. */
static int chunks_of(const struct vf_kernel_case *c, const struct vf_gpu *gpu, ptrdiff_t tiles,
                     int chunk[MOST_CHUNKS])
{
    const ptrdiff_t planes = c->flow->dim == 2 ? c->ny : c->nz;
    const int reach = c->halo[c->flow->dim == 2 ? 1 : 0];
    int whole = 1, count = 0;
    while (whole < planes && whole < 1 << 20)
        whole *= 2;
    for (int size = whole, waves = 0; count < MOST_CHUNKS - 1 && size >= 4 * reach && size >= 4; size /= 2) {
        const ptrdiff_t blocks = tiles * ((planes + size - 1) / size);
        if (blocks < 2 * (ptrdiff_t)gpu->multiprocessors && size > 16)
            continue;
        chunk[count++] = size;
        if (blocks > 16 * (ptrdiff_t)gpu->multiprocessors && ++waves > 1)
            break;
    }
    if (count == 0)
        chunk[count++] = whole;
    if (chunk[count - 1] > SHORT_CHUNK && reach <= 1 && c->operations > SHORT_OPERATIONS)
        chunk[count++] = SHORT_CHUNK;
    return count;
}

/* In 2D: whether shape i has no work along y, and none before it makes the same row of threads. */
static bool is_new_row(const int (*shape)[3], int i)
{
    bool is_new = shape[i][2] == 1;
    for (int k = 0; k < i; k++)
        is_new = is_new && (shape[k][2] > 1 || shape[k][0] * shape[k][1] != shape[i][0] * shape[i][1]);
    return is_new;
}

int vf_stream_candidates(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                         const struct vf_gpu *gpu, int span, const int (*shape)[3], int shapes, int variant,
                         struct vf_kernel_config *list, int room)
{
    const bool flat = c->flow->dim == 2;
    int count = 0;
    for (int i = 0; i < shapes; i++) {
        struct vf_kernel_config config = {
            .block = {flat ? shape[i][0] * shape[i][1] : shape[i][0], flat ? 1 : shape[i][1], 1},
            .work = {span, flat ? 1 : shape[i][2], 1},
            .variant = variant};
        if (flat && !is_new_row(shape, i))
            continue;
        ptrdiff_t tile[3];
        int chunk[MOST_CHUNKS];
        config.stream = 1;
        vf_stream_tile(c, &config, tile);
        const ptrdiff_t tiles =
            (c->nx + tile[0] - 1) / tile[0] * (flat ? c->nz : (c->ny + tile[1] - 1) / tile[1]);
        const int chunks = chunks_of(c, gpu, tiles, chunk);
        for (int k = 0; k < chunks && count < room; k++) {
            config.stream = chunk[k];
            if (scheme->forbids(c, gpu, &config) == NULL)
                list[count++] = config;
        }
    }
    return count;
}

/* ---- traffic ---- */

/* What reading one source adds. Rows beside the tile are read for `beside` planes. */
static void read_source(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                        const struct vf_stream_shape *shape, int k, struct vf_kernel_traffic *traffic)
{
    const int element = (int)vf_type_size(c->source_type[k]), span = config->work[0],
              halo_x = c->source_halo[k][2], side = vf_stream_side(c, k), reach = vf_stream_reach(c, k);
    const double rows = config->block[1] * config->work[1], planes = config->stream,
                 beside = planes + 2 * shape->cross[k],
                 row = vf_model_warp_sectors(0, element, (ptrdiff_t)config->block[0] * span);
    const int away = (halo_x + span - 1) / span, diagonal_rows = shape->diagonal[k] ? 2 * side : 0;
    traffic->read_sectors += row * rows * planes;
    traffic->halo_sectors[c->flow->dim == 2 ? 1 : 2] += row * rows * 2 * reach;
    traffic->halo_sectors[1] += row * 2 * side * beside;
    if (halo_x > 0)
        traffic->halo_sectors[0] +=
            2 * vf_model_warp_sectors(-halo_x, element, halo_x) * (rows + diagonal_rows) * beside;

    const double loads = config->work[1] * (planes + 2 * reach) + 2 * side * beside,
                 flanks = halo_x > 0 ? (config->work[1] + diagonal_rows) * beside : 0,
                 warps = traffic->threads / 32.0;
    traffic->global_wavefronts +=
        warps * (loads * vf_model_warp_lines(0, element * span, 32) + flanks * away * 2);
    traffic->shared_wavefronts += warps * flanks * 2 * halo_x * (c->flow->is_double ? 2 : 1);
    traffic->loads += loads + flanks * away;
    traffic->loads_in_flight += config->work[1] + 2 * side + (flanks > 0 ? away : 0);
    traffic->other_ops += traffic->threads * (8 * loads + flanks * (8 * away + 4 * halo_x));
    traffic->other_ops += traffic->threads * vf_widening_ops(c, c->source_type[k]) * loads * span;
}

/* Arithmetic of a cell. */
static double stream_operations(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const bool flat = c->flow->dim == 2;
    return vf_kernel_operations(c, config->work[0], flat ? config->stream : config->work[1],
                                flat ? 1 : config->stream);
}

void vf_stream_traffic(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       const struct vf_stream_shape *shape, struct vf_kernel_traffic *traffic)
{
    const struct vf_flow *flow = c->flow;
    const int span = config->work[0];
    const double rows = config->block[1] * config->work[1], planes = config->stream;
    traffic->threads = config->block[0] * config->block[1];
    traffic->steps = config->stream;
    for (int k = 0; k < flow->source_count; k++)
        read_source(c, config, shape, k, traffic);
    for (int k = 0; k < flow->sink_count; k++) {
        const int element = (int)vf_type_size(c->sink_type[k]);
        traffic->written_sectors +=
            rows * planes * vf_model_warp_sectors(0, element, (ptrdiff_t)config->block[0] * span);
        traffic->global_wavefronts +=
            rows * planes * config->block[0] / 32.0 * vf_model_warp_lines(0, element * span, 32);
        traffic->other_ops +=
            rows * planes * config->block[0] * (6 + vf_narrowing_ops(c, c->sink_type[k]) * span);
    }
    *(flow->is_double ? &traffic->double_ops : &traffic->float_ops) +=
        stream_operations(c, config) * rows * planes * config->block[0] * span;
    traffic->other_ops += 12 * planes * traffic->threads;
}

double vf_stream_written(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         const struct vf_stream_shape *shape, int turns)
{
    /* A cell beside a span, with its shuffle and its boundary, takes as long to compile as three operations.
     */
    double beside = 0;
    for (int k = 0; k < c->flow->source_count; k++)
        beside +=
            c->source_halo[k][2] * (config->work[1] + (shape->diagonal[k] ? 2.0 * vf_stream_side(c, k) : 0));
    return turns * ((double)config->work[0] * config->work[1] * c->operations + 3 * beside);
}
