/* The host side of sliding-tile: the window in shared memory, the steps that a plan may choose, and what a
 * block does, for the model. kernels/sliding_tile.cu is the kernel. */
#include "kernels/gpu_box.h"
#include "src/size.h"

enum { ALONG_Y, ALONG_Z };

static const char *const variants[] = {"y", "z", NULL};

/* The axis along which the window moves, as an index into x, y, z. */
static int slide_axis(const struct vf_kernel_config *config)
{
    return config->variant == ALONG_Z ? 2 : 1;
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    vf_box_tile(c, config, size); /* of one step */
    size[slide_axis(config)] = config->stream;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int slide = slide_axis(config);
    ptrdiff_t step[3], cells = 0;
    vf_box_tile(c, config, step);
    for (int k = 0; k < c->flow->source_count; k++) {
        ptrdiff_t window[3];
        for (int axis = 1; axis < 3; axis++)
            window[axis] = axis == slide ? 2 * step[axis] + 2 * c->halo[2 - axis]
                                         : step[axis] + 2 * c->source_halo[k][2 - axis];
        if (vf_kernel_source_has_halo(c, k))
            cells += vf_tile_pitch(c, config, k) * window[1] * window[2];
    }
    return (size_t)cells * vf_kernel_element(c);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    if (c->flow->dim == 2 && config->variant == ALONG_Z)
        return "2D images have no z to slide along: use variant=y";
    const char *reason = vf_kernel_limits(c, gpu, config, shared(c, config));
    if (reason == NULL)
        reason = vf_box_forbids(config);
    if (reason != NULL)
        return reason;
    const int slide = slide_axis(config);
    if (config->stream < 1 || config->stream % (config->block[slide] * config->work[slide]) != 0)
        return "sliding-tile needs a stream of whole steps: a multiple of block times work along its axis";
    return NULL;
}

/* Streams of two lengths: the longest that leaves the device some waves of blocks, and a shorter one. */
static void add_streams(struct vf_candidate_list *all, const struct vf_kernel_config *like)
{
    static const int steps[] = {32, 16, 8, 4};
    const struct vf_kernel_case *c = all->c;
    const ptrdiff_t extent[3] = {c->nx, c->ny, c->nz};
    const int slide = slide_axis(like);
    ptrdiff_t size[3];
    int added = 0;
    vf_box_tile(c, like, size);
    double columns = 1;
    for (int axis = 0; axis < 3; axis++)
        if (axis != slide) {
            const ptrdiff_t count = (extent[axis] + size[axis] - 1) / size[axis];
            columns *= (double)count;
        }
    for (int i = 0; i < 4 && added < 2; i++) {
        const ptrdiff_t stream = steps[i] * size[slide];
        const ptrdiff_t streams = (extent[slide] + stream - 1) / stream;
        const double blocks = columns * (double)streams;
        if ((stream >= 2 * extent[slide] || blocks < 4.0 * all->gpu->multiprocessors) && i < 3)
            continue;
        struct vf_kernel_config config = *like;
        config.stream = (int)stream;
        vf_candidate_add(all, &config);
        added++;
    }
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    static const int blocks_2d[][3] = {{32, 8, 1}, {32, 4, 1}, {64, 4, 1}, {64, 2, 1}};
    static const int works_2d[][3] = {{1, 2, 1}, {1, 1, 1}, {1, 4, 1}};
    static const int blocks_3d[][3] = {{32, 8, 1}, {32, 4, 1}, {16, 16, 1}, {32, 16, 1}};
    static const int works_3d[][3] = {{1, 2, 1}, {1, 2, 2}, {1, 4, 1}, {1, 1, 1}};
    struct vf_candidate_list all = {c, gpu, &vf_gpu_sliding_tile, list, 0, room};
    const bool flat = c->flow->dim == 2;
    const int pack = vf_kernel_pack(c);
    for (int w = 0; w < (flat ? 3 : 4); w++)
        for (int b = 0; b < 4; b++) {
            const int *const block = flat ? blocks_2d[b] : blocks_3d[b];
            const int *const work = flat ? works_2d[w] : works_3d[w];
            const struct vf_kernel_config config = {.block = {block[0], block[1], block[2]},
                                                    .work = {pack, work[1], work[2]},
                                                    .variant = flat ? ALONG_Y : ALONG_Z,
                                                    .interior = true};
            add_streams(&all, &config);
        }
    if (!flat) {
        const struct vf_kernel_config along_y = {
            .block = {32, 2, 4}, .work = {pack, 2, 2}, .variant = ALONG_Y, .interior = true};
        add_streams(&all, &along_y);
    }
    return all.count;
}

/* Along y a step's rows wrap round in every plane of a volume; fitted to 12 kernels. */
#define WRAPPED 6

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    ptrdiff_t size[3], step[3];
    tile(c, config, size);
    vf_box_tile(c, config, step);
    /* A grid that is thinner than a step takes one all the same. */
    traffic->steps = vf_larger(1, size[slide_axis(config)] / step[slide_axis(config)]);
    vf_tile_sectors(c, config, size, true, traffic);
    vf_box_operations(c, config, true, traffic->steps, traffic);
    vf_tile_fill(c, config, size, traffic);
    /* A step's loads are under way while the step before computes; what is converted is waited for. */
    const double steps = (double)traffic->steps;
    const double most = vf_fills_are_copies(c, gpu) ? traffic->loads / steps : 1;
    traffic->loads_in_flight = most > 1 ? most : 1;
    traffic->barriers = steps;
    if (config->variant == ALONG_Y && c->flow->dim == 3)
        traffic->other_ops *= WRAPPED;
}

const struct vf_gpu_scheme vf_gpu_sliding_tile = {
    .name = "sliding-tile",
    .summary = "a window in shared memory slides along y or z, reusing its rows in turn",
    .file = "kernels/sliding_tile.cu",
    .variants = variants,
    .refuses = vf_tile_refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = vf_box_written,
    .define = vf_tile_define,
};
