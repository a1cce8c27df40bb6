/* The GPU's schemes (gpu_schemes.def), by name, and what they ask of a kernel's case again and again. */
#include "kernels/gpu_scheme.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "src/size.h"

const struct vf_gpu_scheme *const vf_gpu_schemes[] = {
#define VF_GPU_SCHEME_DEF(name) &vf_gpu_##name,
#include "gpu_schemes.def"
#undef VF_GPU_SCHEME_DEF
    NULL,
};

const struct vf_gpu_scheme *vf_gpu_scheme(const char *name, size_t length)
{
    for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++)
        if (strlen((*scheme)->name) == length && memcmp((*scheme)->name, name, length) == 0)
            return *scheme;
    return NULL;
}

/* ---- what a case comes to ---- */

static bool is_shallow(const struct vf_flow *flow)
{
    for (int s = 0; s < flow->stage_count; s++)
        for (int k = 0; k < flow->stage[s].input_count; k++) {
            int halo[3];
            vf_stage_halo(&flow->stage[s], flow->dim, k, halo);
            if (!vf_is_pointwise(halo) && !vf_flow_is_source(flow, flow->stage[s].input[k]))
                return false;
        }
    return true;
}

/* Places of the box that a table's halo spans. */
static int box_places(const struct vf_taps *taps)
{
    return (2 * taps->halo[0] + 1) * (2 * taps->halo[1] + 1) * (2 * taps->halo[2] + 1);
}

int vf_stage_param_count(const struct vf_stage *stage)
{
    return stage->stencil != VF_STENCIL_LINEAR ? VF_MAX_STENCIL_PARAMS
           : vf_is_looped_table(stage)         ? box_places(stage->taps)
                                               : stage->taps->count;
}

int vf_tap_param(const struct vf_stage *stage, int t)
{
    const struct vf_taps *taps = stage->taps;
    const struct vf_tap *tap = &taps->tap[t];
    if (!vf_is_looped_table(stage))
        return t;
    return ((tap->dz + taps->halo[0]) * (2 * taps->halo[1] + 1) + tap->dy + taps->halo[1]) *
               (2 * taps->halo[2] + 1) +
           tap->dx + taps->halo[2];
}

/* As NaN is to itself, and 0 is not to -0. */
static bool same_bits(double a, double b)
{
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] == bits[1];
}

static bool params_equal(const struct vf_stage *a, const struct vf_stage *b)
{
    if (a->stencil == VF_STENCIL_LINEAR || b->stencil == VF_STENCIL_LINEAR)
        return a->stencil == b->stencil && a->taps == b->taps;
    for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++)
        if (a->global[i] != b->global[i] || (a->global[i] == 0 && !same_bits(a->param[i], b->param[i])))
            return false;
    return true;
}

int vf_stage_first_param(const struct vf_flow *flow, int s)
{
    int at = 0;
    for (int i = 0; i <= s; i++) {
        int same = 0;
        while (same < i && !params_equal(&flow->stage[same], &flow->stage[i]))
            same++;
        if (i == s && same < i)
            return vf_stage_first_param(flow, same);
        if (i < s && same == i)
            at += vf_stage_param_count(&flow->stage[i]);
    }
    return at;
}

static int written_operations_of(const struct vf_stage *stage)
{
    return vf_is_looped_table(stage) ? (2 * stage->taps->halo[2] + 1) * stage->input_count
                                     : vf_stage_cost(stage);
}

void vf_kernel_case_derive(struct vf_kernel_case *c)
{
    const struct vf_flow *flow = c->flow;
    int reach[VF_KERNEL_MOST_FIELDS][3] = {{0}};
    vf_stages_reach(flow, 0, flow->stage_count, reach);
    memset(c->halo, 0, sizeof c->halo);
    for (int k = 0; k < flow->source_count; k++)
        for (int axis = 0; axis < 3; axis++) {
            c->source_halo[k][axis] = reach[flow->source[k]][axis];
            if (c->source_halo[k][axis] > c->halo[axis])
                c->halo[axis] = c->source_halo[k][axis];
        }
    c->shallow = is_shallow(flow);
    c->operations = c->face_operations = c->column_operations = c->written_operations = 0;
    c->loops_table = false;
    c->param_count = 0;
    for (int s = 0; s < flow->stage_count; s++) {
        const struct vf_stencil *stencil = vf_stage_stencil(&flow->stage[s]);
        c->operations += vf_stage_cost(&flow->stage[s]);
        c->written_operations += written_operations_of(&flow->stage[s]);
        c->loops_table = c->loops_table || vf_is_looped_table(&flow->stage[s]);
        *(stencil->word == VF_WORD_OF_COLUMN ? &c->column_operations : &c->face_operations) +=
            stencil->shared_cost;
        const size_t end = (size_t)(vf_stage_first_param(flow, s) + vf_stage_param_count(&flow->stage[s]));
        c->param_count = end > c->param_count ? end : c->param_count;
    }
}

void vf_kernel_number_fields(const struct vf_flow *flow, int number[VF_KERNEL_MOST_FIELDS])
{
    int next = 0;
    for (int k = 0; k < flow->source_count; k++)
        number[flow->source[k]] = next++;
    for (int s = 0; s < flow->stage_count; s++)
        for (int k = 0; k < flow->stage[s].output_count; k++)
            number[flow->stage[s].output[k]] = next++;
}

void vf_kernel_number_stages(const struct vf_flow *flow, int input[][VF_MAX_INPUTS], int output[])
{
    int number[VF_KERNEL_MOST_FIELDS];
    vf_kernel_number_fields(flow, number);
    for (int s = 0; s < flow->stage_count; s++) {
        output[s] = number[flow->stage[s].output[0]];
        for (int k = 0; k < flow->stage[s].input_count; k++)
            input[s][k] = number[flow->stage[s].input[k]];
    }
}

/* value[k], which the compiler folds away where k is constant. */
static void add_values(const int *value, int count, struct vf_text *text)
{
    for (int k = 0; k + 1 < count; k++)
        vf_text_add(text, "(k) == %d ? %d : ", k, value[k]);
    vf_text_add(text, "%d", count > 0 ? value[count - 1] : -1);
}

void vf_define_table(const char *name, const int *value, int count, struct vf_text *text)
{
    vf_text_add(text, "#define %s(k) (", name);
    add_values(value, count, text);
    vf_text_add(text, ")\n");
}

void vf_define_function(const char *head, const int *value, int count, struct vf_text *text)
{
    vf_text_add(text, "%s(int k) { return ", head);
    add_values(value, count, text);
    vf_text_add(text, "; }\n");
}

void vf_define_each(const char *name, int begin, int end, struct vf_text *text)
{
    vf_text_add(text, "#define %s(F)", name);
    for (int k = begin; k < end; k++)
        vf_text_add(text, " F(%d)", k);
    vf_text_add(text, "\n");
}

size_t vf_gpu_shared(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                     const struct vf_kernel_config *config)
{
    return scheme->shared == NULL ? 0 : scheme->shared(c, config);
}

bool vf_config_equal(const struct vf_kernel_config *a, const struct vf_kernel_config *b)
{
    for (int axis = 0; axis < 3; axis++)
        if (a->block[axis] != b->block[axis] || a->work[axis] != b->work[axis])
            return false;
    return a->stream == b->stream && a->variant == b->variant && a->flat_grid == b->flat_grid &&
           a->virtual_blocks == b->virtual_blocks && a->interior == b->interior;
}

/* ---- for schemes ---- */

/* An SM converts few numbers at once. Those of 8 and 16 bits have other ways to float, which
 * kernels/device_small.h counts. */
#define CONVERSION 4

static bool is_converted(const struct vf_kernel_case *c, enum vf_type stored)
{
    return stored != vf_flow_type(c->flow);
}

double vf_widening_ops(const struct vf_kernel_case *c, enum vf_type stored)
{
    const bool is_small = !c->flow->is_double && vf_type_size(stored) <= 2;
    return !is_converted(c, stored) ? 0 : is_small ? 2 : CONVERSION;
}

double vf_narrowing_ops(const struct vf_kernel_case *c, enum vf_type stored)
{
    const bool is_small = !c->flow->is_double && vf_type_size(stored) <= 2;
    return !is_converted(c, stored) ? 0 : is_small ? (double)vf_type_size(stored) : 2 * CONVERSION;
}

double vf_kernel_operations(const struct vf_kernel_case *c, int cells_x, int cells_y, int cells_z)
{
    return c->operations - c->face_operations * (3 - 1.0 / cells_x - 1.0 / cells_y - 1.0 / cells_z) +
           c->column_operations * 2.0 * c->halo[2] / cells_x;
}

int vf_kernel_widths(const struct vf_kernel_case *c, int cells, int width[VF_MOST_WIDTHS])
{
    enum { WARP = 32, LEAST = 2 * WARP, MOST = 8 * WARP };
    int count = 0;
    for (int blocks = 1; blocks <= VF_MOST_WIDTHS; blocks++) {
        const ptrdiff_t warps = vf_ceil_div(c->nx, (ptrdiff_t)WARP * cells * blocks), threads = warps * WARP;
        if (threads >= LEAST && threads <= MOST && (count == 0 || threads != width[count - 1]))
            width[count++] = (int)threads;
    }
    return count;
}

bool vf_is_looped(const struct vf_stage *stage)
{
    enum { MOST_WRITTEN_TAPS = 65 };
    return vf_line_axis(stage) >= 0 ? stage->taps->count > MOST_WRITTEN_TAPS : vf_is_looped_table(stage);
}

bool vf_is_looped_table(const struct vf_stage *stage)
{
    enum { MOST_WRITTEN_TAPS = 130 };
    return stage->stencil == VF_STENCIL_LINEAR && stage->taps->count > MOST_WRITTEN_TAPS &&
           vf_line_axis(stage) < 0;
}

const char *vf_gpu_scheme_refuses(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c)
{
    if (c->loops_table && !scheme->takes_loops)
        return "a table has too many weights to be written out";
    if (c->loops_table && c->flow->stage_count > 1)
        return "a table of so many weights needs a kernel of its own";
    return scheme->refuses(c);
}

size_t vf_kernel_element(const struct vf_kernel_case *c)
{
    return vf_flow_element(c->flow);
}

int vf_kernel_pack(const struct vf_kernel_case *c)
{
    return VF_PACK_BYTES / (int)vf_kernel_element(c);
}

bool vf_kernel_moves(const struct vf_kernel_case *c, int cells)
{
    return cells >= vf_kernel_pack(c) && (cells & (cells - 1)) == 0;
}

const char *vf_kernel_plane_limit(const struct vf_kernel_case *c)
{
    return vf_gpu_pitch(c->nx) > (ptrdiff_t)(UINT_MAX - 64) / c->ny ? "the planes are too large" : NULL;
}

bool vf_kernel_source_has_halo(const struct vf_kernel_case *c, int k)
{
    return !vf_is_pointwise(c->source_halo[k]);
}

/* Bounds on the numbers that sizes are computed from, so that no product of them overflows. */
static const char *check_sizes(const struct vf_gpu *gpu, const struct vf_kernel_config *config)
{
    enum { MOST = 1024 };
    long long threads = 1, cells = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (config->block[axis] < 1 || config->work[axis] < 1 || config->block[axis] > MOST ||
            config->work[axis] > MOST)
            return "block and work sizes must be 1 to 1024";
        threads *= config->block[axis];
        cells *= config->work[axis];
    }
    if (threads > gpu->block_threads)
        return "the block has more threads than the device allows";
    if (cells > MOST)
        return "a thread can compute at most 1024 cells";
    return config->stream < 0 || config->stream > VF_MOST_STREAM ? "stream must be a number of planes" : NULL;
}

const char *vf_gpu_scheme_forbids(const struct vf_gpu_scheme *scheme, const struct vf_kernel_case *c,
                                  const struct vf_gpu *gpu, const struct vf_kernel_config *config)
{
    const char *reason = check_sizes(gpu, config);
    return reason != NULL ? reason : scheme->forbids(c, gpu, config);
}

int vf_kernel_most_registers(int threads)
{
    return (int)vf_smaller(VF_THREAD_REGISTERS, VF_SM_REGISTERS / threads / 8 * 8);
}

const char *vf_kernel_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                             const struct vf_kernel_config *config, size_t shared)
{
    const char *reason = check_sizes(gpu, config);
    if (reason != NULL)
        return reason;
    if (config->block[2] > 64)
        return "a block can have at most 64 threads along z";
    if (c->flow->dim == 2 && (config->block[2] > 1 || config->work[2] > 1))
        return "2D blocks are flat: their z must be 1";
    if (shared > gpu->block_shared)
        return "a block needs more shared memory than the device has";
    return NULL;
}
