/* The host side of table-rows: which table it takes, what a block holds, and what it does, for the model.
 * kernels/table_rows.cu is the kernel. */
#include "kernels/gpu_run.h"

/* Whether the terms of a row of the table are written out, or are a loop over parts of a run each. */
enum { WRITTEN, LOOP };

static const char *const variants[] = {"written", "loop", NULL};

enum { MOST_ROWS = 8, WARP = 32 };

/* Rows of the grid in shared memory, and of the table, which those of results that are above one another
 * still need: powers of two. */
enum { ROW_RING = 4 };

static int weight_ring(int rows)
{
    return rows > 5 ? 16 : 8;
}

/* Fewer weights are better off written out. */
#define LEAST_WEIGHTS 30

/* A number stands for each place of the box that the table's halo spans. */
static bool has_box(const struct vf_stage *stage)
{
    const int *const halo = stage->taps->halo;
    return vf_is_looped_table(stage) ||
           stage->taps->count == (2 * halo[0] + 1) * (2 * halo[1] + 1) * (2 * halo[2] + 1);
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_stage *const table = &c->flow->stage[0];
    if (c->flow->stage_count != 1 || table->stencil != VF_STENCIL_LINEAR || vf_line_axis(table) >= 0 ||
        table->taps->count < LEAST_WEIGHTS || !has_box(table))
        return "it is for one table of many weights";
    const char *const reason = vf_fields_refuse(c, table);
    return reason != NULL ? reason : vf_kernel_plane_limit(c);
}

/* ---- what a block holds, kernels/table_rows.cu ---- */

struct shape {
    int run, rows, width, height, depth; /* of a thread's results; of the table */
    int weights;                         /* of a row of the table, in whole runs */
    int pack, needless;                  /* cells of a row before the first that a run needs */
    ptrdiff_t row_cells;                 /* of a row in shared memory */
};

static struct shape shape_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct shape s = {.run = config->work[0],
                      .rows = config->work[1],
                      .width = 2 * c->halo[2] + 1,
                      .height = 2 * c->halo[1] + 1,
                      .depth = 2 * c->halo[0] + 1,
                      .pack = vf_kernel_pack(c)};
    s.weights = (s.width + s.run - 1) / s.run * s.run;
    s.needless = vf_row_pad(c) - c->halo[2];
    s.row_cells = vf_row_cells(c, config);
    return s;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct shape s = shape_of(c, config);
    return (size_t)(ROW_RING * s.row_cells + (ptrdiff_t)weight_ring(s.rows) * s.weights) *
           vf_kernel_element(c);
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    (void)c;
    size[0] = (ptrdiff_t)config->block[0] * config->work[0];
    size[1] = config->work[1];
    size[2] = 1;
}

/* Registers of 32 bits: the results, what a run takes at once of a row, and a run of weights. */
static int wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    return 20 + (config->work[1] + 3) * config->work[0] * (c->flow->is_double ? 2 : 1);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const int *const block = config->block, *const work = config->work;
    if (block[1] > 1 || block[2] > 1 || work[2] > 1)
        return "threads must lie along x, and their results along x and y";
    if (!vf_kernel_moves(c, work[0]))
        return "a thread's work along x must be a power of two, at least 16 bytes";
    if (work[1] > MOST_ROWS)
        return "a thread's work along y must be at most 8 rows";
    if (config->stream > 0)
        return "the rows it streams must be those that the table reaches";
    return vf_run_limits(c, gpu, config, shared(c, config), wanted_registers(c, config));
}

/* ---- candidates ---- */

/* Operations in the code: of a loop, a part of a row and what is left of the last one. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct shape s = shape_of(c, config);
    const int terms = config->variant == LOOP && s.width > s.run ? s.run + s.width % s.run : s.width;
    /* Long runs of fused multiply-adds compile in half the time of other code. */
    return 0.5 * s.run * s.rows * terms;
}

/* More code than this waits for instructions. */
#define MOST_WRITTEN 1100

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int work[][2] = {{16, 4}, {8, 8}, {8, 4}, {8, 2}, {16, 2}, {4, 8}, {4, 4}};
    static const int threads[] = {128, 64, 32};
    struct vf_candidate_list all = {c, gpu, &vf_gpu_table_rows, list, 0, room};
    for (size_t w = 0; w < sizeof work / sizeof *work; w++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
            for (int variant = WRITTEN; variant <= LOOP; variant++) {
                const struct vf_kernel_config config = {
                    .block = {threads[t], 1, 1}, .work = {work[w][0], work[w][1], 1}, .variant = variant};
                if (variant == LOOP || written(c, &config) <= MOST_WRITTEN)
                    vf_candidate_add(&all, &config);
            }
    return all.count;
}

/* ---- traffic ---- */

/* Instructions that take the time of several: products of three registers, two of which are in one bank as
 * often as not, and values taken from shared memory. Fitted to 16 kernels on an H100. */
#define OF_REGISTERS 1.3
#define TAKEN 2.5

static void count_sectors(const struct vf_kernel_case *c, const ptrdiff_t size[3],
                          struct vf_kernel_traffic *traffic)
{
    const int fields = c->flow->source_count, stored = (int)vf_type_size(c->source_type[0]),
              made = (int)vf_type_size(c->sink_type[0]), *const reach = c->halo;
    const double rows = (double)size[1], row = vf_model_warp_sectors(0, stored, size[0]),
                 row_with = vf_model_warp_sectors(-reach[2], stored, size[0] + 2 * (ptrdiff_t)reach[2]);
    traffic->read_sectors = fields * rows * row;
    traffic->halo_sectors[0] = fields * rows * (row_with - row);
    traffic->halo_sectors[1] = fields * 2.0 * reach[1] * row_with;
    traffic->halo_sectors[2] = fields * 2.0 * reach[0] * (rows + 2.0 * reach[1]) * row_with;
    traffic->written_sectors = fields * rows * vf_model_warp_sectors(0, made, size[0]);
    vf_count_whole_lines(traffic);
}

/* What a thread does in a turn, which brings a row of the grid and sums the one that is there. */
struct turn {
    double into;             /* rows of results that a row goes into, in the mean */
    double brought, weights; /* packs, and weights */
    double values, taken;    /* packs that are taken of the row, and of weights too */
};

static struct turn turn_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const struct shape s = shape_of(c, config);
    const double parts = (double)s.weights / s.run, packs = (double)s.run / s.pack,
                 threads = config->block[0];
    struct turn t = {.into = (double)s.rows * s.height / (s.height + s.rows - 1),
                     .brought = packs + 2.0 * vf_row_pad(c) / s.pack / threads,
                     .weights = s.width / threads,
                     .values = parts * ((double)s.needless / s.pack + 2 * packs)};
    t.taken = t.values + t.into * parts * packs;
    return t;
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    const struct shape s = shape_of(c, config);
    const struct turn t = turn_of(c, config);
    const int fields = c->flow->source_count;
    ptrdiff_t size[3];
    tile(c, config, size);
    count_sectors(c, size, traffic);
    traffic->threads = config->block[0];
    traffic->steps = (ptrdiff_t)s.depth * (s.height + s.rows - 1);
    const double steps = fields * (double)traffic->steps, turns = steps * traffic->threads,
                 results = (double)fields * traffic->threads * s.run * s.rows,
                 terms = results * (double)c->param_count;
    /* All lanes take the same weights: a pack is one wavefront. */
    traffic->shared_wavefronts =
        turns * ((t.values * s.pack + s.run + t.weights) * (double)vf_kernel_element(c) / VF_LINE_BYTES +
                 (t.taken - t.values) / WARP);
    *(c->flow->is_double ? &traffic->double_ops : &traffic->float_ops) = terms;
    traffic->other_ops = (OF_REGISTERS - 1) * terms + results * (2 + vf_narrowing_ops(c, c->sink_type[0])) +
                         turns * (100 + TAKEN * t.taken + 4 * t.into * s.weights / s.run + 5 * t.brought +
                                  20 * t.weights + s.run * vf_widening_ops(c, c->source_type[0]));
    traffic->loads = steps * (t.brought + t.weights);
    traffic->loads_in_flight = vf_fills_are_copies(c, gpu) ? (ROW_RING - 1) * (t.brought + t.weights) : 1;
    traffic->barriers = steps;
    traffic->overlap = VF_RUNS_AHEAD;
    traffic->registers = wanted_registers(c, config);
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    vf_text_add(text, "#define VF_ROW_RING %d\n#define VF_WEIGHT_RING %d\n#define VF_HOLES %d\n", ROW_RING,
                weight_ring(config->work[1]), c->param_count > (size_t)c->flow->stage[0].taps->count);
}

const struct vf_gpu_scheme vf_gpu_table_rows = {
    .name = "table-rows",
    .summary = "for a table of many weights: rows stream past the runs of results that each thread computes",
    .file = "kernels/table_rows.cu",
    .variants = variants,
    .refuses = refuses,
    .takes_loops = true,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .most_written = MOST_WRITTEN,
    .define = define,
};
