/* The host side of big-tile: the tile and the shared memory of a block, the shapes that a plan may choose,
 * and what a block does, for the model. kernels/big_tile.cu is the kernel. */
#include "kernels/gpu_box.h"

enum { COLUMNS, CARRY, FLAT, CUBE };

/* Four rows a thread make 25 weights of an image 0.8 of the time of two, and medians of 3 x 3 0.87. */
enum { MOST_WRITTEN = 900 };

static const char *const variants[] = {"columns", "carry", "flat", "cube", NULL};

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    ptrdiff_t size[3], cells = 0;
    vf_box_tile(c, config, size);
    for (int k = 0; k < c->flow->source_count; k++)
        if (vf_kernel_source_has_halo(c, k))
            cells += vf_tile_pitch(c, config, k) * (size[1] + 2 * c->source_halo[k][1]) *
                     (size[2] + 2 * c->source_halo[k][0]);
    return (size_t)cells * vf_kernel_element(c);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    if (config->stream > 0)
        return "big-tile does not stream";
    const char *reason = vf_kernel_limits(c, gpu, config, shared(c, config));
    return reason != NULL ? reason : vf_box_forbids(config);
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    struct vf_candidate_list all = {c, gpu, &vf_gpu_big_tile, list, 0, room};
    struct vf_kernel_config config = {.variant = COLUMNS, .interior = true};
    vf_candidates_add_boxes(&all, &config);
    for (int variant = CARRY; variant <= CUBE && all.count > 0; variant++) {
        config = list[0];
        config.variant = variant;
        vf_candidate_add(&all, &config);
    }
    /* One cell a thread, as first described. */
    static const int blocks[][3] = {{32, 8, 1}, {32, 8, 4}, {32, 4, 2}, {16, 16, 1}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        config = (struct vf_kernel_config){
            .block = {blocks[i][0], blocks[i][1], blocks[i][2]}, .work = {1, 1, 1}, .interior = true};
        vf_candidate_add(&all, &config);
    }
    return all.count;
}

/* Instructions for each pack, beyond those of `columns`: carries, divisions, threads that idle beside the
 * cube.
 */
static double loader_cost(const struct vf_kernel_config *config)
{
    static const double instructions[] = {[COLUMNS] = 0, [CARRY] = 20, [FLAT] = 26, [CUBE] = 24};
    return instructions[config->variant];
}

/* Whether little of what a tile reads is halo, as of images (184 configurations of eight stencils) and of
 * most lines in volumes: then what memory takes hides the rest. */
static bool little_halo(const struct vf_kernel_case *c, const ptrdiff_t tile[3])
{
    const double x = 2.0 * c->halo[2] / (double)tile[0], y = 2.0 * c->halo[1] / (double)tile[1],
                 z = 2.0 * c->halo[0] / (double)tile[2];
    const int axes = (x > 0) + (y > 0) + (z > 0);
    return c->flow->dim == 2 || (axes == 1 && x + y + z < 0.4);
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    ptrdiff_t size[3];
    vf_box_tile(c, config, size);
    vf_tile_sectors(c, config, size, true, traffic);
    vf_box_operations(c, config, true, 1, traffic);
    vf_tile_fill(c, config, size, traffic);
    traffic->other_ops += traffic->loads * traffic->threads * loader_cost(config);
    /* Copies pass by registers, so that all are under way; what is converted comes four at a time. */
    const double most = vf_fills_are_copies(c, gpu) ? traffic->loads : 4;
    traffic->loads_in_flight = most > 1 ? most : 1;
    traffic->barriers = 1;
    if (vf_fills_are_copies(c, gpu) && little_halo(c, size))
        traffic->overlap = VF_RUNS_AHEAD;
}

const struct vf_gpu_scheme vf_gpu_big_tile = {
    .name = "big-tile",
    .summary = "each block loads a tile with its halo into shared memory and writes the tile",
    .file = "kernels/big_tile.cu",
    .variants = variants,
    .refuses = vf_tile_refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = vf_box_tile,
    .shared = shared,
    .traffic = traffic,
    .written = vf_box_written,
    .most_written = MOST_WRITTEN,
    .define = vf_tile_define,
};
