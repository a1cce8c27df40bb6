#include "kernels/gpu_box.h"

#include <string.h>

/* Beyond this halo taps are loops, and packs cannot be taken apart (kernels/device_box.h). */
#define MOST_PACK_HALO 32

int vf_box_pack(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int cells = vf_kernel_pack(c);
    return config->work[0] % cells == 0 && c->halo[2] <= MOST_PACK_HALO ? cells : 1;
}

void vf_box_tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    (void)c;
    for (int axis = 0; axis < 3; axis++)
        size[axis] = (ptrdiff_t)config->block[axis] * config->work[axis];
}

const char *vf_box_forbids(const struct vf_kernel_config *config)
{
    return config->work[0] * config->work[1] * config->work[2] > VF_MOST_BOX_CELLS
               ? "a thread can compute at most 64 voxels"
               : NULL;
}

void vf_candidate_add(struct vf_candidate_list *list, const struct vf_kernel_config *config)
{
    const struct vf_kernel_case *c = list->c;
    const ptrdiff_t extent[3] = {c->nx, c->ny, c->nz};
    if (list->count == list->room)
        return;
    /* A grid that is smaller than every block still needs one. */
    for (int axis = 0; axis < 3 && list->count > 0; axis++)
        if (config->block[axis] * config->work[axis] >= 2 * extent[axis] && config->work[axis] > 1)
            return;
    if (list->scheme->forbids(c, list->gpu, config) == NULL)
        list->list[list->count++] = *config;
}

/* Work along y and z; along x it is one pack, 16 bytes whatever the type: the Futhark thesis, too, gives a
 * thread more cells the smaller they are (9.1.4). Its best, four cells by two rows, or by two rows and two
 * planes (9.1.3), come first. */
void vf_candidates_add_boxes(struct vf_candidate_list *list, const struct vf_kernel_config *like)
{
    static const int blocks_2d[][3] = {{32, 8, 1},  {32, 4, 1},  {64, 4, 1},
                                       {32, 16, 1}, {16, 16, 1}, {128, 2, 1}};
    static const int blocks_3d[][3] = {{32, 8, 1}, {32, 4, 2}, {32, 4, 1},
                                       {16, 8, 2}, {32, 2, 4}, {64, 4, 1}};
    static const int works_2d[][3] = {{1, 2, 1}, {1, 4, 1}, {1, 1, 1}, {1, 8, 1}};
    static const int works_3d[][3] = {{1, 2, 2}, {1, 1, 4}, {1, 2, 1}, {1, 4, 2}, {1, 1, 2}, {1, 1, 1}};
    const bool flat = list->c->flow->dim == 2;
    /* Eight rows of an image make 25 weights faster than four, 9 slower. */
    enum { MUCH = 24 };
    const int pack = vf_kernel_pack(list->c), work_count = !flat ? 6 : list->c->operations > MUCH ? 4 : 3;
    for (int w = 0; w < work_count; w++)
        for (int b = 0; b < 6; b++) {
            struct vf_kernel_config config = *like;
            memcpy(config.block, flat ? blocks_2d[b] : blocks_3d[b], sizeof config.block);
            memcpy(config.work, flat ? works_2d[w] : works_3d[w], sizeof config.work);
            config.work[0] = pack;
            vf_candidate_add(list, &config);
        }
}

/* ---- tiles ---- */

static int loader_pack(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int cells = vf_kernel_pack(c);
    return config->block[0] * config->work[0] % cells == 0 ? cells : 1;
}

/* Elements before the tile's own first column. */
static int tile_pad(const struct vf_kernel_case *c, const struct vf_kernel_config *config, int k)
{
    const int pack = loader_pack(c, config);
    return (c->source_halo[k][2] + pack - 1) / pack * pack;
}

ptrdiff_t vf_tile_pitch(const struct vf_kernel_case *c, const struct vf_kernel_config *config, int k)
{
    return (ptrdiff_t)config->block[0] * config->work[0] + 2 * tile_pad(c, config, k);
}

/* ---- which neighbours are read ---- */

/* Calls mark(context, dz, dy, dx) for each neighbour of source k that a cell reads. */
typedef void mark_function(void *context, int dz, int dy, int dx);

static void mark_box(const int halo[3], bool star, mark_function *mark, void *context)
{
    for (int dz = -halo[0]; dz <= halo[0]; dz++)
        for (int dy = -halo[1]; dy <= halo[1]; dy++)
            for (int dx = -halo[2]; dx <= halo[2]; dx++)
                if (!star || (dz != 0) + (dy != 0) + (dx != 0) <= 1)
                    mark(context, dz, dy, dx);
}

static void mark_reads(const struct vf_kernel_case *c, int k, mark_function *mark, void *context)
{
    const struct vf_flow *flow = c->flow;
    for (int s = 0; s < flow->stage_count; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        for (int i = 0; i < stage->input_count; i++) {
            if (stage->input[i] != flow->source[k])
                continue;
            int halo[3];
            vf_stage_halo(stage, flow->dim, i, halo);
            if (stage->stencil == VF_STENCIL_LINEAR)
                for (int t = 0; t < stage->taps->count; t++)
                    mark(context, stage->taps->tap[t].dz, stage->taps->tap[t].dy, stage->taps->tap[t].dx);
            else
                mark_box(halo, i < vf_stage_stencil(stage)->star_inputs[flow->dim - 2], mark, context);
        }
    }
}

/* Packs that a thread reads of a source for one box, `pack` cells wide: each once, however many cells of the
 * box need it; and those of them that lie beside the box's own columns. */
struct box_reads {
    double all, beside;
};

/* Packs of a box and its surroundings. */
struct seen {
    const struct vf_kernel_config *config;
    int pack, across, rows; /* packs of a row, rows of a plane, with the halo */
    int halo[3];            /* z, y, x: the last in packs */
    int count, beside;      /* packs read, and those of them that are not the box's own columns */
    bool fits;
    unsigned char packs[32768];
};

static void mark_packs(void *context, int dz, int dy, int dx)
{
    struct seen *seen = context;
    const int work_y = seen->config->work[1], work_z = seen->config->work[2];
    if (!seen->fits) {
        seen->count += work_y * work_z * seen->pack;
        return;
    }
    /* The first and the last cell of the pack reach one or two packs. */
    const int from = (dx + seen->halo[2] * seen->pack) / seen->pack;
    const int to = (dx + seen->pack - 1 + seen->halo[2] * seen->pack) / seen->pack;
    for (int k = 0; k < work_z; k++)
        for (int j = 0; j < work_y; j++)
            for (int i = from; i <= to; i++) {
                const int row = (k + dz + seen->halo[0]) * seen->rows + j + dy + seen->halo[1];
                unsigned char *const pack = &seen->packs[row * seen->across + i];
                seen->count += !*pack;
                seen->beside += !*pack && i != seen->halo[2];
                *pack = 1;
            }
}

static struct box_reads box_reads(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                                  int k, int pack)
{
    const int *const halo = c->source_halo[k];
    const int halo_packs = (halo[2] + pack - 1) / pack;
    struct seen seen;
    seen.config = config;
    seen.pack = pack;
    seen.across = 1 + 2 * halo_packs;
    seen.rows = config->work[1] + 2 * halo[1];
    seen.halo[0] = halo[0];
    seen.halo[1] = halo[1];
    seen.halo[2] = halo_packs;
    seen.count = seen.beside = 0;
    const size_t packs = (size_t)seen.across * (size_t)seen.rows * (size_t)(config->work[2] + 2 * halo[0]);
    seen.fits = packs <= sizeof seen.packs;
    if (seen.fits)
        memset(seen.packs, 0, packs);
    mark_reads(c, k, mark_packs, &seen);
    return (struct box_reads){seen.count, seen.beside};
}

bool vf_is_linear(const struct vf_kernel_case *c)
{
    for (int s = 0; s < c->flow->stage_count; s++)
        if (c->flow->stage[s].stencil != VF_STENCIL_LINEAR)
            return false;
    return true;
}

bool vf_has_branches(const struct vf_kernel_case *c)
{
    for (int s = 0; s < c->flow->stage_count; s++)
        if (vf_stage_stencil(&c->flow->stage[s])->has_branches)
            return true;
    return false;
}

/* Whether lanes give one another what lies beside their packs: kernels/device_tile.h says when they may,
 * which they know of rows that are constants. */
static bool has_shuffles(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return !c->flow->is_double && c->flow->source_count == 1 && vf_is_linear(c) && !c->loops_table &&
           c->halo[2] > 0 && c->halo[2] <= 2 && vf_box_pack(c, config) > 1 && config->block[0] % 32 == 0;
}

static void note_off_axis(void *context, int dz, int dy, int dx)
{
    if ((dz != 0) + (dy != 0) + (dx != 0) > 1)
        *(bool *)context = true;
}

/* ---- counts of one block ---- */

void vf_tile_sectors(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                     const ptrdiff_t tile[3], bool in_shared, struct vf_kernel_traffic *traffic)
{
    const double rows = (double)(tile[1] * tile[2]);
    for (int k = 0; k < c->flow->source_count; k++) {
        const int *const halo = c->source_halo[k];
        const int element = (int)vf_type_size(c->source_type[k]), pad = tile_pad(c, config, k);
        const double own = vf_model_warp_sectors(0, element, tile[0]);
        const double row = vf_model_warp_sectors(-pad, element, tile[0] + 2 * pad);
        bool corners = in_shared;
        if (!corners)
            mark_reads(c, k, note_off_axis, &corners);
        const double beside = corners ? row : own;
        traffic->read_sectors += own * rows;
        traffic->halo_sectors[0] += (row - own) * rows;
        traffic->halo_sectors[1] += beside * 2 * halo[1] * (double)tile[2];
        traffic->halo_sectors[2] += beside * 2 * halo[0] * (double)(tile[1] + (corners ? 2 * halo[1] : 0));
    }
    for (int k = 0; k < c->flow->sink_count; k++) {
        const int element = (int)vf_type_size(c->sink_type[k]);
        traffic->written_sectors += rows * vf_model_warp_sectors(0, element, tile[0]);
        traffic->global_wavefronts += rows * vf_model_warp_lines(0, element, tile[0]);
    }
}

/* Lines that the threads of a block touch when each reads one pack of every row that they span. */
static double access_lines(const struct vf_kernel_config *config, int pack, int element)
{
    const int lanes = config->block[0] < 32 ? config->block[0] : 32;
    const double threads = (double)config->block[0] * config->block[1] * config->block[2];
    return threads / lanes * vf_model_warp_lines(0, element, (ptrdiff_t)lanes * pack);
}

/* Wavefronts of shared memory for what the threads of a block read of one source for a box each. */
static double box_wavefronts(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                             struct box_reads reads, int pack, int threads)
{
    const double access = access_lines(config, pack, (int)vf_kernel_element(c));
    if (!has_shuffles(c, config))
        return reads.all * access;
    /* For each cell beside a pack a shuffle, and a read for the last lane on either side. */
    return (reads.all - reads.beside) * access + reads.beside * c->halo[2] * 1.5 * threads / 32;
}

/* A guess, fitted to what the compiler takes for stars and boxes of radius 1 and 2. */
static int box_registers(const struct vf_kernel_case *c, double kept_words, bool in_shared)
{
    const double arithmetic = c->operations < 160 ? c->operations / 4.0 : 40;
    const double words = in_shared ? 16 + 0.2 * kept_words : 0.3 * kept_words;
    return 24 + (int)(words < 104 ? words : 104) + (c->operations > 32 ? (int)arithmetic : 0);
}

void vf_box_operations(const struct vf_kernel_case *c, const struct vf_kernel_config *config, bool in_shared,
                       ptrdiff_t steps, struct vf_kernel_traffic *traffic)
{
    const int pack = vf_box_pack(c, config), element = (int)vf_kernel_element(c);
    const int threads = config->block[0] * config->block[1] * config->block[2];
    const double boxes = (double)config->work[0] / pack * (double)steps, all = boxes * threads;
    const double rows = config->work[1] * config->work[2];
    double kept = 0;
    for (int k = 0; k < c->flow->source_count; k++) {
        const struct box_reads reads = box_reads(c, config, k, pack);
        const int stored = (int)vf_type_size(c->source_type[k]);
        kept += reads.all;
        traffic->other_ops += 2 * reads.all * all;
        if (!in_shared || !vf_kernel_source_has_halo(c, k))
            traffic->other_ops += vf_widening_ops(c, c->source_type[k]) * reads.all * pack * all;
        if (in_shared && vf_kernel_source_has_halo(c, k))
            traffic->shared_wavefronts += boxes * box_wavefronts(c, config, reads, pack, threads);
        else {
            traffic->global_wavefronts += reads.all * boxes * access_lines(config, pack, stored);
            traffic->loads += reads.all * boxes;
        }
    }
    /* Each pack takes the weights of a table that is looped from memory, all threads the same. */
    if (c->loops_table)
        traffic->global_wavefronts += (double)c->param_count * boxes * rows * threads / 32;
    *(c->flow->is_double ? &traffic->double_ops : &traffic->float_ops) +=
        all * rows * pack * vf_kernel_operations(c, pack, config->work[1], config->work[2]);
    traffic->other_ops += all * (20 + rows * 6 * c->flow->sink_count);
    for (int k = 0; k < c->flow->sink_count; k++)
        traffic->other_ops += all * rows * pack * vf_narrowing_ops(c, c->sink_type[k]);
    traffic->registers = box_registers(c, kept * pack * element / 4, in_shared);
}

double vf_box_written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    /* A body of more operations has most of them in a row, which compile ten times as fast. */
    enum { MOST = 150 };
    const int cells = config->work[0] * config->work[1] * config->work[2],
              operations = c->written_operations < MOST ? c->written_operations : MOST;
    /* What is read through pointers takes a quarter longer to compile than what is in registers. */
    return 1.25 * (cells + vf_box_pack(c, config)) * operations;
}

void vf_tile_fill(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                  const ptrdiff_t tile[3], struct vf_kernel_traffic *traffic)
{
    const double threads = (double)config->block[0] * config->block[1] * config->block[2];
    const int pack = loader_pack(c, config), element = (int)vf_kernel_element(c);
    for (int k = 0; k < c->flow->source_count; k++) {
        if (!vf_kernel_source_has_halo(c, k))
            continue;
        const int *const halo = c->source_halo[k];
        const ptrdiff_t pitch = vf_tile_pitch(c, config, k);
        const int stored = (int)vf_type_size(c->source_type[k]), pad = tile_pad(c, config, k);
        const double rows = (double)((tile[1] + 2 * halo[1]) * (tile[2] + 2 * halo[0]));
        const ptrdiff_t in_row = pitch / pack;
        const double packs = rows * (double)in_row;
        traffic->global_wavefronts += rows * vf_model_warp_lines(-pad, stored, pitch);
        traffic->shared_wavefronts += rows * vf_model_warp_lines(0, element, pitch);
        traffic->other_ops += packs * (12 + vf_widening_ops(c, c->source_type[k]) * pack);
        traffic->loads += packs / threads;
    }
}

bool vf_fills_are_copies(const struct vf_kernel_case *c, const struct vf_gpu *gpu)
{
    for (int k = 0; k < c->flow->source_count; k++)
        if (vf_kernel_source_has_halo(c, k) && c->source_type[k] != vf_flow_type(c->flow))
            return false;
    return gpu->capability >= 80;
}

double vf_pack_reads(const struct vf_stage *stage, int dim)
{
    double reads = 0;
    for (int k = 0; k < stage->input_count; k++) {
        int halo[3];
        vf_stage_halo(stage, dim, k, halo);
        const bool is_star =
            stage->stencil != VF_STENCIL_LINEAR && k < vf_stage_stencil(stage)->star_inputs[dim - 2];
        const int rows = is_star ? 1 + 2 * (halo[0] + halo[1]) : (1 + 2 * halo[0]) * (1 + 2 * halo[1]);
        reads += rows + 2.0 * (is_star ? 1 : rows) * halo[2];
    }
    return reads;
}

void vf_tile_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                    struct vf_text *text)
{
    /* Light stencils do with 80 registers a thread, 112 if they keep what lanes give; others take what they
     * need. */
    const int threads = config->block[0] * config->block[1] * config->block[2];
    const bool light = !c->flow->is_double && c->operations <= 64;
    const int blocks = light ? VF_SM_REGISTERS / (has_shuffles(c, config) ? 112 : 80) / threads : 1;
    vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", blocks < 1 ? 1 : blocks > 16 ? 16 : blocks);
    vf_text_add(text, "#define VF_SHUFFLES %d\n", has_shuffles(c, config));
}

const char *vf_tile_refuses(const struct vf_kernel_case *c)
{
    if (!c->shallow)
        return "a stage reads neighbours of what an earlier one computes";
    return vf_is_pointwise(c->halo) ? "no neighbours are read" : NULL;
}
