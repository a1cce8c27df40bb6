#include "kernels/time_tile_layout.h"
#include "src/size.h"

#include <string.h>

/* Arithmetic of a group, all cells of a thread, beyond which rows are a loop. */
#define MOST_UNROLLED 3000

enum { MOST_COLUMN_HALO = 16 };

static int floor_div(int a, int b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

void vf_time_halo(const struct vf_kernel_case *c, int stage, int k, int halo[3])
{
    int zyx[3];
    vf_stage_halo(&c->flow->stage[stage], c->flow->dim, k, zyx);
    halo[VF_STREAM_AXIS] = c->flow->dim == 3 ? zyx[0] : zyx[1];
    halo[VF_ROW_AXIS] = c->flow->dim == 3 ? zyx[1] : 0;
    halo[VF_COLUMN_AXIS] = zyx[2];
}

static void number_fields(struct vf_time_layout *l)
{
    const struct vf_flow *flow = l->c->flow;
    vf_kernel_number_stages(flow, l->input, l->output);
    l->input_count = flow->source_count;
    l->field_count = flow->field_count;
    for (int f = 0; f < flow->field_count; f++)
        l->field[f] = (struct vf_time_field){.group = -1};
}

/* From the last stage back: a stage computes the widest region that any of its outputs is needed in. */
static void find_reach(struct vf_time_layout *l)
{
    const struct vf_flow *flow = l->c->flow;
    for (int s = flow->stage_count - 1; s >= 0; s--) {
        struct vf_time_field *out = &l->field[l->output[s]];
        for (int axis = 0; axis < 3; axis++) {
            int most = 0;
            for (int k = 0; k < flow->stage[s].output_count; k++)
                most = vf_larger(most, out[k].reach[axis]);
            for (int k = 0; k < flow->stage[s].output_count; k++)
                out[k].reach[axis] = most;
        }
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            struct vf_time_field *in = &l->field[l->input[s][k]];
            int halo[3];
            vf_time_halo(l->c, s, k, halo);
            for (int axis = 0; axis < 3; axis++)
                in->reach[axis] = vf_larger(in->reach[axis], out->reach[axis] + halo[axis]);
            if (halo[VF_ROW_AXIS] > 0 || halo[VF_COLUMN_AXIS] > 0)
                in->fill = true;
        }
    }
}

/* Planes that a stage must at least be behind its input, so that what it reads is made: in earlier steps, or
 * before the barrier ahead of it. */
static int lag(const struct vf_time_layout *l, const int halo[3])
{
    return vf_is_pointwise(halo) ? 0 : halo[VF_STREAM_AXIS] + (l->lean ? 0 : l->planes);
}

/* Whether stage s can be computed with the group that precedes it: what it reads of the group is at its own
 * place. */
static bool joins(const struct vf_time_layout *l, int s, int delay)
{
    if (l->group_count == 0 || l->group[l->group_count - 1].delay != delay)
        return false;
    for (int k = 0; k < l->c->flow->stage[s].input_count; k++) {
        int halo[3];
        vf_time_halo(l->c, s, k, halo);
        if (l->field[l->input[s][k]].group == l->group_count - 1 && !vf_is_pointwise(halo))
            return false;
    }
    return true;
}

/* From the first stage on: each follows its inputs as closely as it may. */
static void find_groups(struct vf_time_layout *l)
{
    const struct vf_flow *flow = l->c->flow;
    for (int s = 0; s < flow->stage_count; s++) {
        int delay = 0;
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            int halo[3];
            vf_time_halo(l->c, s, k, halo);
            delay = vf_larger(delay, l->field[l->input[s][k]].delay + lag(l, halo));
        }
        if (!joins(l, s, delay))
            l->group[l->group_count++] = (struct vf_time_group){.stage_begin = s, .delay = delay};
        struct vf_time_group *group = &l->group[l->group_count - 1];
        group->stage_end = s + 1;
        for (int k = 0; k < flow->stage[s].output_count; k++) {
            l->field[l->output[s] + k].delay = delay;
            l->field[l->output[s] + k].group = l->group_count - 1;
        }
        for (int axis = 0; axis < 3; axis++)
            group->reach[axis] = vf_larger(group->reach[axis], l->field[l->output[s]].reach[axis]);
    }
}

static void find_rolled(struct vf_time_layout *l)
{
    const struct vf_flow *flow = l->c->flow;
    for (int g = 0; g < l->group_count; g++) {
        int operations = 0;
        for (int s = l->group[g].stage_begin; s < l->group[g].stage_end; s++)
            operations += vf_stage_cost(&flow->stage[s]);
        l->group[g].rolled = l->rows > 1 && operations * l->planes * l->rows * l->cells > MOST_UNROLLED;
    }
}

/* Sources whose neighbours are read are loaded as late as the first stage that reads them allows; the others
 * when they are wanted. */
static void delay_sources(struct vf_time_layout *l)
{
    for (int f = 0; f < l->input_count; f++) {
        int latest = -1;
        for (int g = 0; g < l->group_count; g++)
            for (int s = l->group[g].stage_begin; s < l->group[g].stage_end; s++)
                for (int k = 0; k < l->c->flow->stage[s].input_count; k++) {
                    int halo[3];
                    vf_time_halo(l->c, s, k, halo);
                    if (l->input[s][k] != f || vf_is_pointwise(halo))
                        continue;
                    const int delay = l->group[g].delay - lag(l, halo);
                    latest = latest < 0 ? delay : vf_smaller(latest, delay);
                }
        l->field[f].direct = latest < 0;
        l->field[f].delay = vf_larger(latest, 0);
    }
}

/* What a stage reads at its own place is in registers if the group has made it, or if it is a source. */
static bool is_in_registers(const struct vf_time_layout *l, const struct vf_time_group *group, int s, int k)
{
    const struct vf_time_field *in = &l->field[l->input[s][k]];
    int halo[3];
    vf_time_halo(l->c, s, k, halo);
    return vf_is_pointwise(halo) && (in->group < 0 || in->group == group - l->group);
}

/* A ring spans from the newest plane to the oldest that is still read.
 */
static void find_depths(struct vf_time_layout *l)
{
    for (int g = 0; g < l->group_count; g++)
        for (int s = l->group[g].stage_begin; s < l->group[g].stage_end; s++)
            for (int k = 0; k < l->c->flow->stage[s].input_count; k++) {
                struct vf_time_field *in = &l->field[l->input[s][k]];
                int halo[3];
                vf_time_halo(l->c, s, k, halo);
                if (is_in_registers(l, &l->group[g], s, k))
                    continue;
                in->depth =
                    vf_larger(in->depth, l->planes + l->group[g].delay - in->delay + halo[VF_STREAM_AXIS]);
            }
}

/* What a group reads of field f beyond a cell's own place, all stages together; false: nothing of its ring.
 */
static bool halo_in_group(const struct vf_time_layout *l, const struct vf_time_group *group, int f,
                          int halo[3])
{
    bool read = false;
    memset(halo, 0, 3 * sizeof *halo);
    for (int s = group->stage_begin; s < group->stage_end; s++)
        for (int k = 0; k < l->c->flow->stage[s].input_count; k++) {
            int own[3];
            if (l->input[s][k] != f || is_in_registers(l, group, s, k))
                continue;
            vf_time_halo(l->c, s, k, own);
            for (int axis = 0; axis < 3; axis++)
                halo[axis] = vf_larger(halo[axis], own[axis]);
            read = true;
        }
    return read;
}

/* Whether a group reads neighbours along x in other planes than a cell's own. Bodies seldom do. */
static bool is_box_in_group(const struct vf_time_layout *l, const struct vf_time_group *group, int f)
{
    for (int s = group->stage_begin; s < group->stage_end; s++) {
        const struct vf_stage *stage = &l->c->flow->stage[s];
        for (int k = 0; k < stage->input_count && stage->stencil == VF_STENCIL_LINEAR; k++)
            for (int t = 0; t < stage->taps->count && l->input[s][k] == f; t++) {
                const struct vf_tap *tap = &stage->taps->tap[t];
                if (tap->dx != 0 && (l->c->flow->dim == 3 ? tap->dz : tap->dy) != 0)
                    return true;
            }
    }
    return false;
}

/* Columns, as long as there are registers for what stays from step to step. */
static void find_columns(struct vf_time_layout *l)
{
    const int words = (int)vf_kernel_element(l->c) / 4;
    int left = vf_smaller(VF_THREAD_REGISTERS, VF_SM_REGISTERS / l->threads) * 2 / 5;
    for (int g = 0; g < l->group_count; g++) {
        struct vf_time_group *group = &l->group[g];
        for (int f = 0; f < l->field_count && !group->rolled && group->column_count < VF_TIME_MOST_COLUMNS;
             f++) {
            int halo[3];
            if (!halo_in_group(l, group, f, halo))
                continue;
            const int kept = 2 * halo[VF_STREAM_AXIS] * l->rows * l->cells * words;
            /* Where taps are loops, offsets are not constants, as places in registers must be. */
            if (kept > left || halo[VF_COLUMN_AXIS] > MOST_COLUMN_HALO ||
                halo[VF_ROW_AXIS] > MOST_COLUMN_HALO)
                continue;
            left -= kept;
            struct vf_time_column *column = &group->column[group->column_count++];
            *column = (struct vf_time_column){
                .field = f,
                .halo = halo[VF_STREAM_AXIS],
                .first = group->column_planes,
                .edge = l->warps_are_rows && halo[VF_COLUMN_AXIS] < l->cells ? halo[VF_COLUMN_AXIS] : 0,
                .edge_halo = is_box_in_group(l, group, f) ? halo[VF_STREAM_AXIS] : 0,
                .first_edge = group->edge_count};
            group->column_planes += l->planes + 2 * column->halo;
            group->edge_count += 2 * column->edge * (l->planes + 2 * column->edge_halo);
        }
    }
}

/* A thread computes all its rows and cells if any is wanted; the others read a little outside: how many
 * elements.
 */
static int find_guard(const struct vf_time_layout *l)
{
    int most_halo = 0;
    for (int f = 0; f < l->field_count; f++)
        if (l->field[f].depth > 0)
            most_halo = vf_larger(most_halo, l->field[f].reach[VF_COLUMN_AXIS]);
    return ((l->rows - 1) * l->area.covered[1] + most_halo + l->cells + 31) / 32 * 32;
}

/* Rings one after another; rows are as long as what a block covers. What some threads read outside, others
 * must not write at the same time: with one barrier a step that may be a ring's own newest plane, else
 * another ring. */
static bool place_rings(struct vf_time_layout *l)
{
    const size_t element = vf_kernel_element(l->c);
    long long end = 0;
    l->guard = find_guard(l);
    for (int f = 0; f < l->field_count; f++) {
        struct vf_time_field *field = &l->field[f];
        if (field->depth == 0)
            continue;
        const int first =
            vf_larger(floor_div(l->area.room[0] - field->reach[VF_ROW_AXIS], l->rows), 0) * l->rows;
        const int past = l->area.room[0] + l->area.tile[0] + field->reach[VF_ROW_AXIS];
        field->first_row = first;
        field->rows = vf_smaller((past + l->rows - 1) / l->rows * l->rows, l->area.covered[0]) - first;
        while (field->clock < l->clock_count && l->clock[field->clock] != field->depth)
            field->clock++;
        l->clock[field->clock] = field->depth;
        l->clock_count = vf_larger(l->clock_count, field->clock + 1);
        field->offset = (int)end;
        field->stride = field->rows * l->area.covered[1] + (l->lean ? 0 : l->guard);
        end += (long long)field->depth * field->stride + (l->lean ? l->guard : 0);
        if (end > (1 << 24))
            return false;
    }
    l->bytes = end == 0 ? 0 : (size_t)(end + 2LL * l->guard) * element;
    return true;
}

static void find_steps(struct vf_time_layout *l)
{
    l->first = 0;
    l->last = 0;
    for (int f = 0; f < l->field_count; f++) {
        const struct vf_time_field *field = &l->field[f];
        if (!field->direct)
            l->first = vf_smaller(l->first, field->delay - field->reach[VF_STREAM_AXIS]);
        l->last = vf_larger(l->last, field->delay);
    }
}

bool vf_time_area_make(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                       struct vf_time_area *area)
{
    const bool volume = c->flow->dim == 3;
    /* Cells that a thread reads and writes at once begin at a multiple of their number. */
    const int cells = config->work[0],
              covered[2] = {volume ? config->block[1] * config->work[1] : 1, config->block[0] * cells},
              room[2] = {volume ? c->halo[1] : 0, (c->halo[2] + cells - 1) / cells * cells};
    for (int i = 0; i < 2; i++) {
        area->covered[i] = covered[i];
        area->room[i] = room[i];
        area->tile[i] = covered[i] - 2 * room[i];
    }
    return area->tile[0] > 0 && area->tile[1] > 0;
}

bool vf_time_layout_make(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                         struct vf_time_layout *l)
{
    const bool volume = c->flow->dim == 3;
    /* Of the shapes that are tried most have no room for a tile. */
    if (!vf_time_area_make(c, config, &l->area))
        return false;
    /* The rest is written before it is read; to clear it takes longer than all that follows. */
    l->group_count = l->clock_count = 0;
    l->c = c;
    l->planes = volume ? config->work[2] : config->work[1];
    l->rows = volume ? config->work[1] : 1;
    l->cells = config->work[0];
    l->threads = config->block[0] * config->block[1] * config->block[2];
    l->warps_are_rows = config->block[0] == 32;
    l->lean = config->variant == VF_TIME_LEAN;
    number_fields(l);
    find_reach(l);
    find_groups(l);
    find_rolled(l);
    delay_sources(l);
    find_depths(l);
    find_columns(l);
    find_steps(l);
    return place_rings(l);
}

/* ---- the kernel's constants ---- */

/* NAME(f): a number of each field. */
#define ADD_TABLE(text, l, name, member)                      \
    do {                                                      \
        int value[VF_KERNEL_MOST_FIELDS];                     \
        for (int f = 0; f < (l)->field_count; f++)            \
            value[f] = (int)(l)->field[f].member;             \
        vf_define_table(name, value, (l)->field_count, text); \
    } while (0)

static void add_fields(const struct vf_time_layout *l, struct vf_text *text)
{
    ADD_TABLE(text, l, "VF_TIME_DELAY", delay);
    ADD_TABLE(text, l, "VF_TIME_REACH", reach[VF_STREAM_AXIS]);
    ADD_TABLE(text, l, "VF_TIME_DEPTH", depth);
    ADD_TABLE(text, l, "VF_TIME_FILL", fill);
    ADD_TABLE(text, l, "VF_TIME_CLOCK", clock);
    ADD_TABLE(text, l, "VF_TIME_FIRST_ROW", first_row);
    ADD_TABLE(text, l, "VF_TIME_ROWS", rows);
    ADD_TABLE(text, l, "VF_TIME_STRIDE", stride);
    ADD_TABLE(text, l, "VF_TIME_OFFSET", offset);
    vf_text_add(text, "#define VF_TIME_EACH_LOADED(F)");
    for (int f = 0; f < l->input_count; f++)
        if (l->field[f].depth > 0)
            vf_text_add(text, " F(%d)", f);
    vf_text_add(text, "\n#define VF_TIME_EACH_CLOCK(F)");
    for (int i = 0; i < l->clock_count; i++)
        vf_text_add(text, " F(%d, %d)", i, l->clock[i]);
    vf_text_add(text, "\n#define VF_TIME_CLOCKS %d\n", l->clock_count);
}

/* The planes of a ring that a group reads: those of fields whose rings turn alike are looked up once. */
struct window {
    int field, halo, first;
};

static bool is_alike(const struct vf_time_layout *l, int a, int b)
{
    const struct vf_time_field *p = &l->field[a], *q = &l->field[b];
    return p->depth == q->depth && p->delay == q->delay && p->rows == q->rows;
}

static int find_windows(const struct vf_time_layout *l, const struct vf_time_group *group,
                        struct window *window)
{
    int count = 0;
    for (int s = group->stage_begin; s < group->stage_end; s++)
        for (int k = 0; k < l->c->flow->stage[s].input_count; k++) {
            const int f = l->input[s][k];
            int halo[3], w = 0;
            vf_time_halo(l->c, s, k, halo);
            if (is_in_registers(l, group, s, k))
                continue;
            while (w < count && !is_alike(l, window[w].field, f))
                w++;
            if (w == count)
                window[count++] = (struct window){.field = f};
            window[w].halo = vf_larger(window[w].halo, halo[VF_STREAM_AXIS]);
        }
    for (int w = 1; w < count; w++)
        window[w].first = window[w - 1].first + l->planes + 2 * window[w - 1].halo;
    return count;
}

/* The field's place among what a group has in registers: what it makes, then sources read at their own place;
 * -1: none. */
static void find_slots(const struct vf_time_layout *l, const struct vf_time_group *group, int *slot,
                       int *count)
{
    *count = 0;
    for (int f = 0; f < l->field_count; f++)
        slot[f] = l->field[f].group == group - l->group ? (*count)++ : -1;
    for (int s = group->stage_begin; s < group->stage_end; s++)
        for (int k = 0; k < l->c->flow->stage[s].input_count; k++) {
            const int f = l->input[s][k];
            if (f < l->input_count && slot[f] < 0 && is_in_registers(l, group, s, k))
                slot[f] = (*count)++;
        }
}

#define MEMBER "static __device__ constexpr int "

/* VF_TIME_WINDOWS_0(F): F(first, halo, field). */
static void add_windows(const struct vf_time_layout *l, int g, struct vf_text *text)
{
    struct window window[VF_KERNEL_MOST_FIELDS];
    int centre[VF_KERNEL_MOST_FIELDS];
    const int count = find_windows(l, &l->group[g], window);
    vf_text_add(text, "#define VF_TIME_WINDOWS_%d(F)", g);
    for (int w = 0; w < count; w++)
        vf_text_add(text, " F(%d, %d, %d)", window[w].first, window[w].halo, window[w].field);
    vf_text_add(text, "\n");
    for (int f = 0; f < l->field_count; f++) {
        centre[f] = -1;
        for (int w = 0; w < count; w++)
            if (l->field[f].depth > 0 && is_alike(l, window[w].field, f))
                centre[f] = window[w].first + window[w].halo;
    }
    const struct window *end = &window[count > 0 ? count - 1 : 0];
    vf_text_add(text, "struct vf_windows_%d {\nenum { planes = %d };\n", g,
                count > 0 ? end->first + l->planes + 2 * end->halo : 1);
    vf_define_function(MEMBER "centre", centre, l->field_count, text);
    vf_text_add(text, "};\n");
}

/* The lists of a group: stages, rings that it fills, sources read in place, outputs. */
static void add_lists(const struct vf_time_layout *l, int g, const int *slot, struct vf_text *text)
{
    const struct vf_flow *flow = l->c->flow;
    vf_text_add(text, "#define VF_TIME_STAGES_%d(F)", g);
    for (int s = l->group[g].stage_begin; s < l->group[g].stage_end; s++)
        vf_text_add(text, " F(%d, %d)", s, l->field[l->output[s]].reach[VF_ROW_AXIS]);
    vf_text_add(text, "\n#define VF_TIME_RINGS_%d(F)", g);
    for (int f = l->input_count; f < l->field_count; f++)
        if (l->field[f].group == g && l->field[f].depth > 0)
            vf_text_add(text, " F(%d)", f);
    vf_text_add(text, "\n#define VF_TIME_DIRECT_%d(F)", g);
    for (int f = 0; f < l->input_count; f++)
        if (slot[f] >= 0)
            vf_text_add(text, " F(%d)", f);
    vf_text_add(text, "\n#define VF_TIME_SINKS_%d(F)", g);
    for (int k = 0; k < flow->sink_count; k++)
        for (int s = l->group[g].stage_begin; s < l->group[g].stage_end; s++)
            for (int o = 0; o < flow->stage[s].output_count; o++)
                if (flow->stage[s].output[o] == flow->sink[k])
                    vf_text_add(text, " F(%d, %d)", k, l->output[s] + o);
    vf_text_add(text, "\n");
}

/* VF_TIME_COLUMNS_0(F): F(field, halo, first). */
static void add_columns(const struct vf_time_layout *l, int g, struct vf_text *text)
{
    const struct vf_time_group *group = &l->group[g];
    int centre[VF_KERNEL_MOST_FIELDS], edge[VF_KERNEL_MOST_FIELDS], edge_halo[VF_KERNEL_MOST_FIELDS],
        first_edge[VF_KERNEL_MOST_FIELDS];
    for (int f = 0; f < l->field_count; f++) {
        centre[f] = -1;
        edge[f] = edge_halo[f] = first_edge[f] = 0;
    }
    vf_text_add(text, "#define VF_TIME_COLUMNS_%d(F)", g);
    for (int i = 0; i < group->column_count; i++) {
        const struct vf_time_column *column = &group->column[i];
        const int f = column->field;
        vf_text_add(text, " F(%d, %d, %d)", f, column->halo, column->first);
        centre[f] = column->first + column->halo;
        edge[f] = column->edge;
        edge_halo[f] = column->edge_halo;
        first_edge[f] = column->first_edge;
    }
    vf_text_add(text, "\nstruct vf_columns_%d {\nenum { column_planes = %td, edges = %td };\n", g,
                vf_larger(group->column_planes, 1), vf_larger(group->edge_count, 1));
    vf_define_function(MEMBER "column", centre, l->field_count, text);
    vf_define_function(MEMBER "edge", edge, l->field_count, text);
    vf_define_function(MEMBER "edge_halo", edge_halo, l->field_count, text);
    vf_define_function(MEMBER "first_edge", first_edge, l->field_count, text);
    vf_text_add(text, "};\n");
}

static void add_group(const struct vf_time_layout *l, int g, struct vf_text *text)
{
    const struct vf_time_group *group = &l->group[g];
    int slot[VF_KERNEL_MOST_FIELDS], slots;
    find_slots(l, group, slot, &slots);
    add_windows(l, g, text);
    add_columns(l, g, text);
    add_lists(l, g, slot, text);
    vf_text_add(text,
                "struct vf_group_%d : vf_windows_%d, vf_columns_%d {\nenum { number = %d, delay = %d, "
                "reach_stream = %d, "
                "reach_rows = %d, slots = %d, together = %d };\n",
                g, g, g, g, group->delay, group->reach[VF_STREAM_AXIS], group->reach[VF_ROW_AXIS], slots,
                group->rolled ? 1 : l->rows);
    vf_define_function(MEMBER "slot", slot, l->field_count, text);
    vf_text_add(text, "};\n");
}

void vf_time_layout_define(const struct vf_time_layout *l, struct vf_text *text)
{
    vf_text_add(text, "#define VF_TIME_PLANES %d\n#define VF_TIME_ROWS_OF_THREAD %d\n", l->planes, l->rows);
    vf_text_add(text, "#define VF_TIME_COVERED_ROWS %d\n#define VF_TIME_COVERED_X %d\n", l->area.covered[0],
                l->area.covered[1]);
    vf_text_add(text, "#define VF_TIME_ROOM_ROWS %d\n#define VF_TIME_ROOM_X %d\n", l->area.room[0],
                l->area.room[1]);
    vf_text_add(text, "#define VF_TIME_TILE_ROWS %d\n#define VF_TIME_TILE_X %d\n", l->area.tile[0],
                l->area.tile[1]);
    vf_text_add(text, "#define VF_TIME_FIRST (%d)\n#define VF_TIME_LAST %d\n#define VF_TIME_GUARD %d\n",
                l->first, l->last, l->guard);
    vf_text_add(text, "#define VF_TIME_LEAN %d\n", l->lean);
    add_fields(l, text);
    for (int g = 0; g < l->group_count; g++)
        add_group(l, g, text);
    vf_define_each("VF_TIME_EACH_GROUP", 0, l->group_count, text);
}
