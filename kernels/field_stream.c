/* The host side of field-stream: finds the levels of a chain of bodies, lays out their planes in shared
 * memory, and says what a block does, for the model. kernels/field_stream.cu is the kernel. */
#include <math.h>
#include <string.h>

#include "kernels/gpu_box.h"
#include "kernels/gpu_sweep.h"
#include "src/model.h"
#include "src/size.h"

/* As kernels/field_stream.cu numbers them. */
enum { ALONG_X = 1, ALONG_Y = 2, ALONG_Z = 4, AT_CENTRE = 8, MOST_LEVELS = 3 };

/* Planes for which the loop is written out. */
enum { TURN = 3 };

/* For the model: loads in flight for each load of a row, since those of the next plane are made while one is
 * computed. */
#define AHEAD 4

/* Arithmetic and shared memory take this many times what is counted, for moves from plane to plane and for
 * waiting; fitted to 6 kernels. */
#define MORE 1.25
/* Memory takes this many times what is counted, as rows are read and written in pieces as wide as a tile,
 * whose ends share sectors; fitted to 6 kernels. */
#define PIECES 1.1

/* The levels of a flow, as field_stream.cu explains them. Fields have the flow's
 * numbers. */
struct levels {
    int count;
    int ahead; /* how many planes of the sources are on their way */
    int of_stage[VF_KERNEL_MOST_FIELDS];
    int made[VF_KERNEL_MOST_FIELDS];                        /* the level that makes a field; sources: -1 */
    unsigned char read[MOST_LEVELS][VF_KERNEL_MOST_FIELDS]; /* how a level reads a field */
    /* Slots for planes in shared memory: how many a field has, the number of its first one, and all. */
    int slots[VF_KERNEL_MOST_FIELDS], first[VF_KERNEL_MOST_FIELDS], slot_count;
};

/* ---- what it takes ---- */

/* Along which axes a stage reads its input k. *why is set if that is impossible here. */
static int reading(const struct vf_stage *stage, int k, const char **why)
{
    int halo[3], along = 0;
    vf_stage_halo(stage, 3, k, halo);
    for (int axis = 0; axis < 3; axis++) {
        static const int bit[] = {ALONG_Z, ALONG_Y, ALONG_X};
        if (halo[axis] > 1)
            *why = "a stage reaches farther than the next voxel";
        if (halo[axis] > 0)
            along |= bit[axis];
    }
    if (along != 0 && !vf_sweep_is_star(stage, k))
        *why = "a stage reads neighbours off the axes";
    return along | AT_CENTRE;
}

/* One plane on its way is enough if a plane takes long to compute, or if the blocks on an SM have several of
 * them on their way. It is not enough with a single source, nor where an SM holds one block, as with several
 * results. */
static int planes_ahead(const struct vf_kernel_case *c)
{
    enum { LITTLE = 64 };
    return c->operations <= LITTLE && (c->flow->source_count == 1 || c->flow->sink_count > 1) ? 2 : 1;
}

/* NULL, or why there are no such levels. */
static const char *find_levels(const struct vf_kernel_case *c, struct levels *l)
{
    const struct vf_flow *flow = c->flow;
    const char *why = NULL;
    memset(l, 0, sizeof *l);
    l->ahead = planes_ahead(c);
    for (int k = 0; k < flow->source_count; k++)
        l->made[flow->source[k]] = -1;
    for (int s = 0; s < flow->stage_count && why == NULL; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        int level = 0;
        for (int k = 0; k < stage->input_count; k++) {
            const int made = l->made[stage->input[k]], is_wide = reading(stage, k, &why) != AT_CENTRE;
            level = made + is_wide > level ? made + is_wide : level;
        }
        if (level >= MOST_LEVELS)
            return "more than three stages read one another's neighbours";
        for (int k = 0; k < stage->input_count; k++)
            l->read[level][stage->input[k]] |= (unsigned char)reading(stage, k, &why);
        for (int k = 0; k < stage->output_count; k++)
            l->made[stage->output[k]] = level;
        l->of_stage[s] = level;
        l->count = level + 1 > l->count ? level + 1 : l->count;
    }
    for (int f = 0; f < flow->field_count; f++) {
        /* How many steps after a plane was written to shared memory it is last read there. */
        const int ahead = l->made[f] < 0 ? l->ahead : 0;
        int steps = ahead;
        for (int level = 0; level < l->count; level++)
            if (l->read[level][f] & ALONG_Y)
                steps = level - l->made[f] + ahead;
        l->slots[f] = steps == 0 ? 0 : steps == 1 || steps == ahead ? steps + 1 : l->count + 1 + l->ahead;
        l->first[f] = l->slot_count;
        l->slot_count += l->slots[f];
    }
    return why;
}

static const char *refuses(const struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    struct levels l;
    if (flow->dim == 2)
        return "it streams volumes";
    const char *why = find_levels(c, &l);
    if (why != NULL)
        return why;
    if (l.count < 2)
        return "no stage reads neighbours of another stage's results";
    if ((flow->boundary == VF_MIRROR || flow->boundary == VF_CONSTANT) &&
        (c->nx == 1 || c->ny == 1 || c->nz == 1))
        return "the grid has an axis of one voxel";
    return NULL;
}

static struct vf_sweep_shape shape_of(const struct levels *l, const struct vf_kernel_config *config)
{
    return vf_sweep_shape_of(config, l->count - 1, l->count);
}

static size_t shared_bytes(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                           const struct levels *l)
{
    const struct vf_sweep_shape shape = shape_of(l, config);
    const int beside = c->flow->boundary == VF_CONSTANT ? 3 : 2;
    return (size_t)l->slot_count * (size_t)(shape.covered[1] + beside) * (size_t)shape.covered[2] *
           vf_kernel_element(c);
}

static size_t shared(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    struct levels l;
    find_levels(c, &l);
    return shared_bytes(c, config, &l);
}

static const char *forbids(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                           const struct vf_kernel_config *config)
{
    struct levels l;
    find_levels(c, &l);
    const char *why = vf_kernel_limits(c, gpu, config, 0);
    if (why == NULL)
        why = vf_sweep_forbids(c, config);
    if (why != NULL)
        return why;
    const struct vf_sweep_shape shape = shape_of(&l, config);
    if (config->work[1] > 4)
        return "a thread can have at most 4 rows";
    if (config->block[1] < 2)
        return "a block must be at least 2 threads high";
    if (shape.tile[1] < 1 || shape.tile[2] < 1)
        return "the block is too small for the reach of the stages";
    if (c->flow->boundary != VF_WRAP && c->ny < shape.covered[1] && c->ny % config->work[1] != 0)
        return "the grid ends within a thread's rows";
    return vf_kernel_limits(c, gpu, config, shared_bytes(c, config, &l));
}

static void tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3])
{
    struct levels l;
    find_levels(c, &l);
    const struct vf_sweep_shape shape = shape_of(&l, config);
    vf_sweep_tile(c, &shape, size);
}

/* ---- candidates ---- */

static bool is_stored(const struct vf_flow *flow, int f)
{
    for (int k = 0; k < flow->sink_count; k++)
        if (flow->sink[k] == f)
            return true;
    return false;
}

/* The level until which a field's planes are kept: the last one that reads it, one more if that one reads
 * along z, the last of all if the field is stored, else the one that makes it. */
static int last_level(const struct vf_flow *flow, const struct levels *l, int f)
{
    int last = is_stored(flow, f) ? l->count - 1 : l->made[f];
    for (int level = 0; level < l->count; level++) {
        const int wanted = level + (l->read[level][f] & ALONG_Z ? 1 : 0);
        if (l->read[level][f] != 0 && wanted > last)
            last = wanted;
    }
    return last;
}

/* How many planes of all fields a thread keeps. */
static int kept_planes(const struct vf_flow *flow, const struct levels *l)
{
    int planes = 0;
    for (int f = 0; f < flow->field_count; f++)
        planes += last_level(flow, l, f) - l->made[f];
    return planes;
}

/* Operations of bodies with eigenvectors. Beyond that a body needs no more registers. */
#define MUCH 400

static int wanted_registers(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                            const struct levels *l)
{
    const int cells = config->work[0] * config->work[1],
              arithmetic = c->operations < MUCH ? c->operations : MUCH;
    /* If the short way of a quotient leaves doubt, its operands are needed again. */
    return arithmetic / 4 + 48 + (int)vf_kernel_element(c) / 4 * cells * kept_planes(c->flow, l) +
           (vf_has_branches(c) ? 8 * cells : 0);
}

/* Drops chunks of many planes if there are others: if all blocks are at the same plane of the volume, memory
 * is slower by 5%. */
static int drop_long(struct vf_kernel_config *list, int count)
{
    enum { LONG = 192 };
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (list[i].stream <= LONG || i + 1 == count)
            list[kept++] = list[i];
    return kept;
}

static int candidates(const struct vf_kernel_case *c, const struct vf_gpu *gpu, struct vf_kernel_config *list,
                      int room)
{
    /* The first ones have as many cells as registers hold. Tiles of 64 x 32 cells write pieces of 56 cells,
     * which is slow for several results at once: these have tiles of 128 x 16, too. The others are for when
     * none of these fits. */
    enum { WIDE = 1, USUAL = 2 };
    static const int shapes[][3] = {{32, 8, 2}, {16, 16, 2}, {16, 32, 1}, {16, 16, 1},
                                    {8, 32, 1}, {8, 16, 1},  {8, 8, 1}};
    struct levels l;
    int count = 0;
    find_levels(c, &l);
    const bool several = c->flow->sink_count > 1;
    const int usual = several ? WIDE : WIDE + USUAL;
    for (int i = several ? 0 : WIDE; i < (int)(sizeof shapes / sizeof *shapes) && (i < usual || count == 0);
         i++) {
        const struct vf_kernel_config config = {.block = {shapes[i][0], shapes[i][1], 1},
                                                .work = {vf_kernel_pack(c), shapes[i][2], 1},
                                                .stream = 1};
        const int registers = wanted_registers(c, &config, &l);
        if (forbids(c, gpu, &config) != NULL || registers > VF_THREAD_REGISTERS ||
            registers * shapes[i][0] * shapes[i][1] > gpu->sm_registers)
            continue;
        const struct vf_sweep_shape shape = shape_of(&l, &config);
        const int added =
            vf_sweep_add_chunks(c, gpu, &shape, config, 4 * l.count, list + count, room - count);
        count += several ? drop_long(list + count, added) : added;
    }
    return count;
}

/* ---- counts for the model ---- */

static void traffic(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                    const struct vf_kernel_config *config, struct vf_kernel_traffic *t)
{
    (void)gpu;
    const struct vf_flow *flow = c->flow;
    struct levels l;
    find_levels(c, &l);
    const struct vf_sweep_shape shape = shape_of(&l, config);
    const double planes = config->stream, all = planes + 2.0 * l.count, rows = config->work[1],
                 threads = (double)config->block[0] * config->block[1], cells = rows * config->work[0],
                 packs = (double)config->work[0] / vf_kernel_pack(c);
    double exchanged = 0, shuffled = 0;
    for (int k = 0; k < flow->source_count; k++) {
        const int element = (int)vf_type_size(c->source_type[k]);
        const double row = vf_model_warp_sectors(0, element, shape.covered[2]),
                     own = vf_model_warp_sectors(0, element, shape.tile[2]);
        t->read_sectors += PIECES * own * shape.tile[1] * planes;
        t->halo_sectors[0] += (row - own) * shape.tile[1] * planes;
        t->halo_sectors[1] += row * (shape.covered[1] + 2 - shape.tile[1]) * planes;
        t->halo_sectors[2] += row * shape.covered[1] * (all - planes);
        t->global_wavefronts += all * shape.covered[1] * vf_model_warp_lines(0, element, shape.covered[2]);
        t->loads += all * rows;
        t->other_ops += all * threads * cells * vf_widening_ops(c, c->source_type[k]);
    }
    for (int k = 0; k < flow->sink_count; k++) {
        const int element = (int)vf_type_size(c->sink_type[k]);
        t->written_sectors +=
            PIECES * planes * shape.tile[1] * vf_model_warp_sectors(0, element, shape.tile[2]);
        t->global_wavefronts += planes * shape.tile[1] * vf_model_warp_lines(0, element, shape.tile[2]);
        t->other_ops += planes * threads * (6 * rows + cells * vf_narrowing_ops(c, c->sink_type[k]));
    }
    for (int f = 0; f < flow->field_count; f++) {
        exchanged += l.slots[f] > 0 ? rows : 0;
        for (int level = 0; level < l.count; level++) {
            exchanged += l.read[level][f] & ALONG_Y ? 2 : 0;
            shuffled += l.read[level][f] & ALONG_X ? 2 * rows : 0;
        }
    }
    const double packs_bytes = packs * (double)vf_kernel_element(c) * vf_kernel_pack(c) / 16;
    t->shared_wavefronts = MORE * all * threads / 32 * (4 * packs_bytes * exchanged + shuffled);
    t->other_ops += all * threads * (20 + packs * exchanged + 2 * shuffled + 8 * rows * flow->source_count);
    *(flow->is_double ? &t->double_ops : &t->float_ops) +=
        MORE * all * threads * cells *
        vf_kernel_operations(c, config->work[0], config->work[1], config->stream);
    t->steps = (ptrdiff_t)all;
    t->barriers = all;
    /* A plane is on its way while another one is computed, which takes longer. */
    t->loads_in_flight = fmax(1, AHEAD * rows * flow->source_count);
    t->overlap = VF_OVERLAPS;
    /* The compiler takes no more than a block of this size leaves it. */
    t->registers = (int)vf_smaller(wanted_registers(c, config, &l), vf_kernel_most_registers((int)threads));
}

/* The loop's planes and one more. An operation compiles in 2.5 times the time of others, since fields move
 * from plane to plane. */
static double written(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    enum { MOST = 150 };
    return 2.5 * (TURN + 1) * config->work[0] * config->work[1] *
           (double)(c->operations < MOST ? c->operations : MOST);
}

#define MOST_WRITTEN 12500

static void define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                   struct vf_text *text)
{
    const struct vf_flow *flow = c->flow;
    struct levels l;
    find_levels(c, &l);
    const struct vf_sweep_shape shape = shape_of(&l, config);
    vf_sweep_define(c, config, &shape, text);
    int number[VF_KERNEL_MOST_FIELDS], field[VF_KERNEL_MOST_FIELDS];
    vf_kernel_number_fields(flow, number);
    for (int f = 0; f < flow->field_count; f++)
        field[number[f]] = f;
    vf_define_each("VF_EACH_FIELD", 0, flow->field_count, text);
    /* Not by vf_define_table, which gives all other numbers the last value: then eed's step takes 13% longer.
     */
    vf_text_add(text, "#define VF_FIELD_LEVELS %d\n#define VF_AHEAD %d\n#define VF_FIELD_LEVEL(s) (", l.count,
                l.ahead);
    for (int s = 0; s < flow->stage_count; s++)
        vf_text_add(text, "(s) == %d ? %d : ", s, l.of_stage[s]);
    vf_text_add(text, "0)\n#define VF_FIELD_MADE(f) (");
    for (int f = 0; f < flow->field_count; f++)
        vf_text_add(text, "(f) == %d ? %d : ", f, l.made[field[f]]);
    vf_text_add(text, "0)\n#define VF_FIELD_OLDEST(f) (");
    for (int f = 0; f < flow->field_count; f++)
        vf_text_add(text, "(f) == %d ? %d : ", f, 1 + last_level(flow, &l, field[f]));
    vf_text_add(text, "0)\n#define VF_FIELD_ROWS(f) (");
    for (int f = 0; f < flow->field_count; f++)
        if (l.slots[field[f]] > 0)
            vf_text_add(text, "(f) == %d ? %d : ", f, l.first[field[f]]);
    vf_text_add(text, "-1)\n#define VF_FIELD_SLOTS(f) (");
    for (int f = 0; f < flow->field_count; f++)
        vf_text_add(text, "(f) == %d ? %d : ", f, l.slots[field[f]]);
    vf_text_add(text, "0)\n#define VF_FIELD_READ(l, f) (");
    for (int level = 0; level < l.count; level++)
        for (int f = 0; f < flow->field_count; f++)
            if ((l.read[level][field[f]] & (ALONG_X | ALONG_Y)) != 0)
                vf_text_add(text, "(l) == %d && (f) == %d ? %d : ", level, f,
                            l.read[level][field[f]] & (ALONG_X | ALONG_Y));
    vf_text_add(text, "0)\n");
}

const struct vf_gpu_scheme vf_gpu_field_stream = {
    .name = "field-stream",
    .summary = "stages of many fields in one sweep, passing values to one another in registers",
    .file = "kernels/field_stream.cu",
    .refuses = refuses,
    .candidates = candidates,
    .forbids = forbids,
    .tile = tile,
    .shared = shared,
    .traffic = traffic,
    .written = written,
    .most_written = MOST_WRITTEN,
    .define = define,
};
