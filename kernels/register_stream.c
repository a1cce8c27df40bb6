/* The host side of register-stream: how many registers its ring of planes takes, the blocks and chunks that a
 * plan may choose, and what a block does, for the model. kernels/register_stream.cu is the kernel. */
#include <math.h>

#include "kernels/gpu_box.h"
#include "kernels/gpu_stream.h"
#include "src/size.h"
#include "src/volume.h"

enum { DIRECT, SHARED };
static const char *const variants[] = {"direct", "shared", NULL};

/* How many registers of 32 bits the ring takes in a thread, roughly: for all values that are needed at once.
 */
static long ring_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    const long element = (long)vf_kernel_element(c);
    long values = 0;
    for (int k = 0; k < c->flow->source_count; k++) {
        const int reach = vf_stream_reach(c, k), side = vf_stream_side(c, k), halo_x = c->source_halo[k][2],
                  cross = shape.cross[k], ahead = shape.most_cross > reach ? shape.most_cross : reach,
                  beside = config->variant == SHARED ? 2 * cross + 1 : 2 * cross + 2;
        const bool has_beside = halo_x > 0 || side > 0;
        /* Rows beside the tile: all of them, or a share of those that the block keeps in shared memory. */
        const int rows =
            config->variant == SHARED ? (2 * side + config->block[1] - 1) / config->block[1] : 2 * side;
        const long own = (long)config->work[1] * config->work[0], other = (long)rows * config->work[0];
        values += (reach + (has_beside ? ahead : reach) + 2) * own + beside * other;
        /* Planes on their way are held in the type in which they are stored. */
        values -=
            (own + (beside > 0 ? other : 0)) * (element - (long)vf_type_size(c->source_type[k])) / element;
        values += (long)(2 * cross + 1) * 2 * halo_x * (config->work[1] + (shape.diagonal[k] ? 2 * side : 0));
    }
    return values * (c->flow->is_double ? 2 : 1);
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_kernel_config least = {.block = {32, 4, 1}, .work = {1, 1, 1}, .stream = 1};
    if (!c->shallow)
        return "a stage reads neighbours of what an earlier one computes";
    if (c->halo[2] > 16 || ring_registers(c, &least) > 200)
        return "the planes within its reach do not fit into registers";
    return NULL;
}

static int shared_inputs(const struct vf_kernel_case *c)
{
    int count = 0;
    for (int k = 0; k < c->flow->source_count; k++)
        count += vf_stream_side(c, k) > 0;
    return count;
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct vf_stream_shape shape;
    if (config->variant != SHARED)
        return 0;
    vf_stream_shape_of(c, &shape);
    const size_t span = (size_t)config->work[0],
                 edge = (size_t)(c->halo[2] + config->work[0] - 1) / span * span;
    const size_t pitch = (size_t)config->block[0] * span + (shape.any_diagonal ? 2 * edge : 0);
    const size_t rows = (size_t)(config->block[1] * config->work[1] + 2 * c->halo[1]);
    return 2 * (size_t)shared_inputs(c) * rows * pitch * vf_kernel_element(c);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    const char *reason = vf_stream_limits(c, gpu, config, shared(c, config));
    if (reason != NULL)
        return reason;
    if (config->variant == SHARED && shared_inputs(c) == 0)
        return "shared memory is for neighbours in other rows of a plane, and none are read";
    if (ring_registers(c, config) > 220)
        return "work needs more registers than a thread has";
    return NULL;
}

/* Whether tiles are whole lines of memory wide and a thread has several rows of them. Two such blocks on an
 * SM, each at its own plane, reach nine tenths of a copy's speed with a star. For double there are not enough
 * registers. */
static bool is_wide(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    enum { LEAST = 256, THREADS = 256, ROWS = 4 };
    bool is_other = c->flow->is_double;
    for (int k = 0; k < c->flow->source_count; k++)
        is_other = is_other || vf_type_size(c->source_type[k]) != vf_kernel_element(c);
    return config->variant == SHARED && !is_other && config->block[0] * config->work[0] >= LEAST &&
           config->block[0] * config->block[1] == THREADS && config->work[1] >= ROWS;
}

/* Whether hardly any threads are beyond the ends of the grid's rows. */
static bool fills_rows(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const ptrdiff_t width = (ptrdiff_t)config->block[0] * config->work[0];
    return (double)c->nx >= 0.85 * (double)(vf_ceil_div(c->nx, width) * width);
}

/* So many operations a cell take longer than memory, so that wide accesses save nothing, and they need the
 * registers. */
enum { MUCH = 50 };

/* How many blocks the compiler must leave room for on an SM; 0: it may decide. */
static int least_blocks(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    enum { BLOCKS = 2, MOST = VF_SM_REGISTERS / 256 / BLOCKS };
    return is_wide(c, config) && c->operations <= MUCH && 32 + ring_registers(c, config) <= MOST ? BLOCKS : 0;
}

/* Adds shapes with twice as many cells of a row for each thread, for which small sources leave registers:
 * then the cost of reaching a row is shared by more cells. */
static int add_long_spans(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          struct vf_kernel_config *list, int room)
{
    static const int shapes[][3] = {{64, 2, 2}, {64, 4, 2}, {32, 2, 2}, {32, 4, 2}};
    for (int k = 0; k < c->flow->source_count; k++)
        if (2 * vf_type_size(c->source_type[k]) > vf_kernel_element(c))
            return 0;
    return vf_stream_candidates(&vf_gpu_register_stream, c, gpu, 2 * vf_kernel_pack(c), shapes,
                                sizeof shapes / sizeof *shapes, DIRECT, list, room);
}

/* Adds blocks as wide as suits the grid's rows. */
static int add_fitted(const struct vf_kernel_case *c, const struct vf_gpu *gpu, int span, int variant,
                      struct vf_kernel_config *list, int room)
{
    enum { LISTED = 128 };
    int width[VF_MOST_WIDTHS], n = 0;
    const int widths = vf_kernel_widths(c, span, width);
    for (int i = 0; i < widths; i++) {
        const int shapes[][3] = {{width[i], 1, 2}, {width[i], 1, 4}};
        if (width[i] != LISTED)
            n += vf_stream_candidates(&vf_gpu_register_stream, c, gpu, span, shapes,
                                      sizeof shapes / sizeof *shapes, variant, list + n, room - n);
    }
    return n;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    /* The last ones, for rows of 512 cells, are for 3D only: as shapes for images the third and fourth are
     * the same. */
    enum { ROWS = 3 };
    static const int shapes[][3] = {{32, 8, 1},  {32, 8, 2},  {32, 4, 1},  {32, 4, 2}, {16, 8, 1},
                                    {32, 16, 1}, {128, 1, 2}, {128, 1, 4}, {128, 2, 4}};
    const int count = (int)(sizeof shapes / sizeof *shapes) - (c->flow->dim == 2 ? ROWS : 0);
    int n = 0;
    for (int span = vf_kernel_pack(c); span >= 1 && (n == 0 || c->operations > MUCH); span /= 2)
        for (int variant = DIRECT; variant <= SHARED; variant++) {
            n += vf_stream_candidates(&vf_gpu_register_stream, c, gpu, span, shapes, count, variant, list + n,
                                      room - n);
            n += c->flow->dim == 2 ? 0 : add_fitted(c, gpu, span, variant, list + n, room - n);
        }
    return n + add_long_spans(c, gpu, list + n, room - n);
}

/* Turns of the loop are written out as long as the code stays small. */
enum { MOST_WRITTEN = 500 };

static int turns_of(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const int ring = 2 * c->halo[c->flow->dim == 2 ? 1 : 0] + 2;
    const long all = (long)ring * c->operations * config->work[0] * config->work[1];
    return all > MOST_WRITTEN ? 1 : ring;
}

/* Whether there is a source of which no neighbours are read. */
static bool has_lone_source(const struct vf_kernel_case *c)
{
    for (int k = 0; k < c->flow->source_count; k++)
        if (!vf_kernel_source_has_halo(c, k))
            return true;
    return false;
}

/* How many registers of the ring are copied to get to the next plane. */
static long moved_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                            const struct vf_stream_shape *shape)
{
    long values = 0;
    for (int k = 0; k < c->flow->source_count; k++) {
        const long own = (long)config->work[1] * config->work[0],
                   other = 2L * vf_stream_side(c, k) * config->work[0];
        values += 2L * vf_stream_reach(c, k) * own + 2L * shape->cross[k] * other;
    }
    return values * (c->flow->is_double ? 2 : 1);
}

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *traffic)
{
    struct vf_stream_shape shape;
    (void)gpu;
    vf_stream_shape_of(c, &shape);
    vf_stream_traffic(c, config, &shape, traffic);
    const double warps = traffic->threads / 32.0, planes = config->stream;
    traffic->registers = 32 + (int)ring_registers(c, config);
    /* If turns are not written out, every plane of the ring is copied. */
    if (turns_of(c, config) == 1)
        traffic->other_ops += planes * traffic->threads * (double)moved_registers(c, config, &shape);
    if (config->variant == DIRECT)
        return;
    /* A span is put into shared memory once and taken for each row that it is beside. Rows beside the tile
     * are shared out among the threads. */
    const double lines = config->work[0] * (double)vf_kernel_element(c) / 4;
    for (int k = 0; k < c->flow->source_count; k++) {
        const int side = vf_stream_side(c, k);
        if (side == 0)
            continue;
        traffic->shared_wavefronts += warps * planes * lines * (config->work[1] + 2 * c->halo[1]);
        const double fewer = 2 * side - ceil(2.0 * side / config->block[1]),
                     beside = planes + 2 * shape.cross[k],
                     stored = (double)vf_type_size(c->source_type[k]) / (double)vf_kernel_element(c);
        traffic->global_wavefronts -= warps * fewer * beside * lines * stored;
        traffic->other_ops -= traffic->threads * 8 * fewer * beside;
        traffic->loads -= fewer * beside;
        traffic->loads_in_flight -= fewer;
    }
    traffic->barriers = planes;
    /* With two blocks one computes while the other waits, unless threads in them are idle. The same holds if
     * there is an array whose rows nobody waits for. The factor is fitted. */
    const bool goes_on = (is_wide(c, config) && fills_rows(c, config)) || has_lone_source(c);
    if (goes_on)
        traffic->loads_in_flight *= 4;
    /* If there is one array to share, which is not converted, long sums go on while other warps use shared
     * memory: of 31 points on an H200, but not of 13. If tiles are wide, all sums do. Sums that wait for the
     * faces of the plane before do not. */
    enum { LONG = 30 };
    const bool overlaps =
        c->face_operations == 0 && (goes_on || (c->flow->source_count == 1 && c->operations > LONG &&
                                                vf_type_size(c->source_type[0]) == vf_kernel_element(c)));
    traffic->overlap = overlaps ? VF_OVERLAPS : VF_PHASES;
}

/* The time to compile cells that share faces over that for as many cells that do not. The compiler finds the
 * shared part early, and the rest is plain arithmetic if there is only one array to load. */
#define SHARED_WRITTEN 0.4

static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    const double written = vf_stream_written(c, config, &shape, turns_of(c, config));
    return c->face_operations > 0 && c->flow->source_count == 1 ? written * SHARED_WRITTEN : written;
}

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    struct vf_stream_shape shape;
    vf_stream_shape_of(c, &shape);
    vf_stream_define(c, config, &shape, text);
    /* If quotients may be in doubt, there is a branch for that which serves for NaN too. A root alone has
     * none. */
    vf_text_add(text, "#define VF_TURN %d\n#define VF_KEEPS_FACES 1\n#define VF_RARE_NAN %d\n",
                turns_of(c, config), vf_has_branches(c) && c->operations > MUCH);
    if (least_blocks(c, config) > 0)
        vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", least_blocks(c, config));
}

const struct vf_gpu_scheme vf_gpu_register_stream = {
    .name = "register-stream",
    .summary = "blocks stream through planes held in registers",
    .file = "kernels/register_stream.cu",
    .variants = variants,
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = vf_stream_tile,
    .shared = shared,
    .traffic = traffic,
    .unsure_registers = 8, /* chosen by 6222 configurations on an H200, of three stencils on six grids */
    .written = written,
    .any_width = true,
    .most_written = MOST_WRITTEN,
    .define = define,
};
