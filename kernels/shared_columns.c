/* The host side of shared-columns: which bodies it takes, which types in pairs, the blocks that a plan may
 * choose, and what a block does, for the model. kernels/shared_columns.cu is the kernel. */
#include "kernels/cpu_rows.h"
#include "kernels/gpu_box.h"
#include "src/size.h"
#include "src/volume.h"

enum { CELLS, PAIRS };
static const char *const variants[] = {"cells", "pairs", NULL};

/* Threads of a row of a block. */
enum { WARP = 32 };
/* From this capability on a device has instructions for pairs. */
enum { LEAST_OF_PAIRS = 90 };

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    if (flow->stage_count != 1 || flow->source_count != 1 || flow->sink_count != 1 ||
        flow->sink[0] == flow->source[0] || !vf_body_is_median(flow->stage[0].stencil))
        return "it is for one stage that computes values of the columns of its box";
    return vf_kernel_plane_limit(c);
}

static const char *forbids_pairs(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                                 const struct vf_kernel_config *config)
{
    const bool holds = c->sink_type[0] == c->source_type[0] || vf_type_is_float(c->sink_type[0]);
    if (!holds || !vf_may_keep_integers(c->source_type[0], vf_flow_outside(c->flow, c->flow->source[0])))
        return "pairs are for what is read as 8 or 16 bits, and stored as these or floating point";
    if (gpu->capability < LEAST_OF_PAIRS)
        return "this device has no instructions for pairs";
    return config->work[1] % 2 != 0 ? "pairs need an even work along y" : NULL;
}

/* ---- what a thread does ---- */

static int results_of(const struct vf_kernel_config *config)
{
    return config->variant == PAIRS ? 2 : 1;
}

/* Rows of a plane that a thread reads. */
static int rows_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return config->work[1] + 2 * c->halo[1];
}

/* Values of a column of the box. */
static int column_of(const struct vf_kernel_case *c)
{
    return (2 * c->halo[0] + 1) * (2 * c->halo[1] + 1);
}

static ptrdiff_t planes_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return c->flow->dim == 3 ? config->stream : 1;
}

/* Words of a value. */
static int words_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return c->flow->is_double && config->variant != PAIRS ? 2 : 1;
}

/* Registers of a thread, roughly: the planes that it has, and a box. */
static int registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    enum { OTHERS = 32 };
    const int words = words_of(c, config);
    return OTHERS + 2 * rows_of(c, config) +
           words * ((2 * c->halo[0] + 1) * rows_of(c, config) + (2 * c->halo[2] + 1) * column_of(c));
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *reason = vf_kernel_limits(c, gpu, config, 0);
    if (reason == NULL && config->variant == PAIRS)
        reason = forbids_pairs(c, gpu, config);
    if (reason != NULL)
        return reason;
    if (config->block[0] != WARP || config->work[0] != 1)
        return "a row of a block must be a warp, and work along x 1";
    if (config->block[2] > 1 || config->work[2] > 1)
        return "z of block and work must be 1";
    if (c->flow->dim == 3 ? config->stream < 1 : config->stream > 0)
        return "stream is the number of planes of a chunk: at least 1, none of images";
    return registers(c, config) > VF_THREAD_REGISTERS ? "work needs more registers than a thread has" : NULL;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    size[0] = WARP - 2 * c->halo[2];
    size[1] = (ptrdiff_t)config->block[1] * config->work[1];
    size[2] = planes_of(c, config);
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int warps[] = {4, 8, 2}, chunks[] = {128, 64, 32, 16};
    struct vf_candidate_list all = {c, gpu, &vf_gpu_shared_columns, list, 0, room};
    const bool flat = c->flow->dim == 2;
    for (int variant = PAIRS; variant >= CELLS; variant--)
        for (int rows = 8; rows >= 1; rows /= 2)
            for (size_t w = 0; w < sizeof warps / sizeof *warps; w++)
                for (size_t s = 0; s < (flat ? 1 : sizeof chunks / sizeof *chunks); s++) {
                    const struct vf_kernel_config config = {.block = {WARP, warps[w], 1},
                                                            .work = {1, rows, 1},
                                                            .stream = flat ? 0 : chunks[s],
                                                            .variant = variant};
                    vf_candidate_add(&all, &config);
                }
    return all.count;
}

/* ---- the model ---- */

static void count_sectors(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                          struct vf_kernel_traffic *traffic)
{
    const int read = (int)vf_type_size(c->source_type[0]), written = (int)vf_type_size(c->sink_type[0]);
    ptrdiff_t size[3];
    tile(c, config, size);
    const double rows = (double)size[1], planes = (double)size[2],
                 row = vf_model_warp_sectors(0, read, size[0]),
                 row_with = vf_model_warp_sectors(-c->halo[2], read, WARP);
    traffic->read_sectors = row * rows * planes;
    traffic->halo_sectors[0] = (row_with - row) * rows * planes;
    traffic->halo_sectors[1] = row_with * 2 * c->halo[1] * planes;
    traffic->halo_sectors[2] = row_with * 2 * c->halo[0] * (rows + 2 * c->halo[1]);
    traffic->written_sectors = vf_model_warp_sectors(0, written, size[0]) * rows * planes;
}

/* Instructions of a row of a plane for what is read and taken, and for a result's place. */
enum { OF_ROW = 4, OF_RESULT = 8 };

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    (void)gpu;
    const int rows = rows_of(c, config), words = words_of(c, config);
    const double planes = (double)planes_of(c, config), loads = rows * (planes + 2 * c->halo[0]),
                 values = planes * config->work[1] / results_of(config), results = planes * config->work[1];
    count_sectors(c, config, traffic);
    traffic->threads = WARP * config->block[1];
    traffic->steps = planes_of(c, config);
    traffic->global_wavefronts =
        config->block[1] *
        (loads * vf_model_warp_lines(-c->halo[2], (int)vf_type_size(c->source_type[0]), WARP) +
         results * vf_model_warp_lines(0, (int)vf_type_size(c->sink_type[0]), WARP));
    traffic->shared_wavefronts = config->block[1] * values * 2 * c->halo[2] * (column_of(c) + 1) * words;
    *(words == 2 ? &traffic->double_ops : &traffic->float_ops) = traffic->threads * values * c->operations;
    traffic->other_ops =
        traffic->threads *
        (loads * (OF_ROW + 2 * c->halo[0] +
                  (config->variant == PAIRS ? 0 : vf_widening_ops(c, c->source_type[0]))) +
         results * (OF_RESULT + (config->variant == PAIRS ? 0 : vf_narrowing_ops(c, c->sink_type[0]))));
    traffic->loads = loads;
    traffic->loads_in_flight = rows;
    traffic->overlap = VF_OVERLAPS;
    traffic->registers = registers(c, config);
}

/* Boxes that a thread computes are written out as long as the code stays small. */
#define MOST_WRITTEN 1300

static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int boxes = config->work[1] / results_of(config);
    return boxes > 1 ? (double)c->operations * boxes : 0;
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    vf_text_add(text, "#define VF_KEEPS_COLUMNS 1\n#define VF_MOST_OF_COLUMN %d\n#define VF_PAIRS %d\n",
                VF_MOST_OF_COLUMN, config->variant == PAIRS);
    vf_text_add(text, "#define VF_SIGNED %d\n", vf_type_least(c->source_type[0]) < 0);
}

const struct vf_gpu_scheme vf_gpu_shared_columns = {
    .name = "shared-columns",
    .summary = "what belongs to a column of the box is computed once, and taken from other threads",
    .file = "kernels/shared_columns.cu",
    .variants = variants,
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .traffic = traffic,
    .written = written,
    .one_by_one = true,
    .most_written = MOST_WRITTEN,
    .define = define,
};
