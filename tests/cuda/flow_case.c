#include "flow_case.h"

#include "device.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_plan.h"

void flow_case_open(struct flow_case *c, int dim, bool is_double, enum vf_boundary boundary)
{
    *c = (struct flow_case){
        .cuda = device_open(),
        .flow = {.dim = dim, .is_double = is_double, .boundary = boundary, .constant = 2.5}};
    c->flow.stage = c->stage;
    c->flow.field_kind = c->kind;
    c->flow.source = c->source;
    c->flow.sink = c->sink;
    for (int k = 0; k < 16; k++)
        c->source_type[k] = c->sink_type[k] = is_double ? VF_F64 : VF_F32;
}

void flow_case_close(struct flow_case *c)
{
    for (int i = 0; i < c->taps_count; i++)
        free(c->taps[i]);
    vf_cuda_close(c->cuda);
}

int flow_case_sources(struct flow_case *c, int count)
{
    const int first = c->flow.field_count;
    for (int k = 0; k < count; k++) {
        c->kind[c->flow.field_count] = k % 2 == 0 ? VF_FIELD_IMAGE : VF_FIELD_DERIVED;
        c->source[c->flow.source_count++] = c->flow.field_count++;
    }
    return first;
}

static bool is_tap(enum flow_taps shape, int dim, const int at[3])
{
    const int apart = (at[0] != 0) + (at[1] != 0) + (at[2] != 0);
    static const int axis[] = {[TAPS_X] = 2, [TAPS_Y] = 1, [TAPS_Z] = 0};
    if (dim == 2 && at[0] != 0)
        return false;
    return shape == TAPS_STAR    ? apart <= 1
           : shape == TAPS_BOX   ? true
           : shape == TAPS_EDGES ? apart <= 2
                                 : apart == (at[axis[shape]] != 0);
}

static struct vf_taps *make_taps(enum flow_taps shape, int dim, const int radius[3])
{
    const size_t most = (size_t)((2 * radius[0] + 1) * (2 * radius[1] + 1) * (2 * radius[2] + 1));
    struct vf_taps *taps = calloc(1, sizeof *taps + most * sizeof taps->tap[0]);
    cr_assert_not_null(taps);
    for (int z = -radius[0]; z <= radius[0]; z++)
        for (int y = -radius[1]; y <= radius[1]; y++)
            for (int x = -radius[2]; x <= radius[2]; x++) {
                const int at[3] = {z, y, x};
                if (!is_tap(shape, dim, at))
                    continue;
                taps->tap[taps->count++] = (struct vf_tap){z, y, x, 1.0 / (43.5 + x + 2 * y + 5 * z)};
                for (int axis = 0; axis < 3; axis++)
                    if (abs(at[axis]) > taps->halo[axis])
                        taps->halo[axis] = abs(at[axis]);
            }
    return taps;
}

static int add_outputs(struct flow_case *c, struct vf_stage *stage)
{
    const int first = c->flow.field_count;
    for (int k = 0; k < stage->output_count; k++) {
        c->kind[c->flow.field_count] = VF_FIELD_IMAGE;
        stage->output[k] = c->flow.field_count++;
    }
    return first;
}

static struct vf_stage *add_stage(struct flow_case *c, const char *name, int input, int count)
{
    struct vf_stage *stage = &c->stage[c->flow.stage_count++];
    strcpy(stage->name, name);
    stage->input_count = count;
    for (int k = 0; k < count; k++)
        stage->input[k] = input + k;
    return stage;
}

int flow_case_linear(struct flow_case *c, enum flow_taps shape, const int radius[3], int input, int count)
{
    struct vf_stage *stage = add_stage(c, "TAPS", input, count);
    stage->stencil = VF_STENCIL_LINEAR;
    stage->taps = c->taps[c->taps_count++] = make_taps(shape, c->flow.dim, radius);
    stage->output_count = count;
    return add_outputs(c, stage);
}

int flow_case_body(struct flow_case *c, enum vf_stencil_id stencil, int input)
{
    struct vf_stage *stage = add_stage(c, "BODY", input, vf_stencil(stencil)->inputs[c->flow.dim - 2]);
    stage->stencil = stencil;
    stage->output_count = vf_stencil(stencil)->outputs[c->flow.dim - 2];
    for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++)
        stage->param[i] = 0.25 + 0.125 * i;
    return add_outputs(c, stage);
}

void flow_case_sinks(struct flow_case *c, int first, int count)
{
    for (int k = 0; k < count; k++)
        c->sink[c->flow.sink_count++] = first + k;
}

void flow_case_steps(struct flow_case *c, enum flow_taps shape, int radius, int steps)
{
    int field = flow_case_sources(c, 1);
    for (int i = 0; i < steps; i++)
        field = flow_case_linear(c, shape, (int[]){radius, radius, radius}, field, 1);
    flow_case_sinks(c, field, 1);
}

/* ---- memory ---- */

enum { MOST_PLANES = 448 };

struct planes {
    void *plane[MOST_PLANES];
};

static void fill(unsigned char *data, size_t count, enum vf_type type, const struct flow_case *c,
                 unsigned seed)
{
    uint32_t state = 2463534242u + 7919u * seed;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        const double value = (double)(state % 2001) / 10;
        if (c->is_sparse && state % 16 != 0)
            memset(data + i * vf_type_size(type), 0, vf_type_size(type));
        else if (type == VF_F32 && !c->has_any_bits)
            ((float *)data)[i] = (float)(value - 100);
        else if (type == VF_F64)
            ((double *)data)[i] = value - 100;
        else
            for (size_t b = 0; b < vf_type_size(type); b++)
                data[i * vf_type_size(type) + b] = (unsigned char)(state >> (8 * b));
    }
}

/* Filled with `poison`, or if that is 0 with what the case says of its sources. */
static struct planes make_planes(enum vf_type type, size_t cells, ptrdiff_t from, ptrdiff_t to, int poison,
                                 const struct flow_case *c, unsigned seed)
{
    struct planes planes = {{0}};
    for (ptrdiff_t z = from; z < to; z++) {
        planes.plane[z] = malloc(cells * vf_type_size(type));
        cr_assert_not_null(planes.plane[z]);
        memset(planes.plane[z], poison, cells * vf_type_size(type));
        if (poison == 0)
            fill(planes.plane[z], cells, type, c, seed * 100 + (unsigned)z);
    }
    return planes;
}

static void free_planes(struct planes *planes)
{
    for (int z = 0; z < MOST_PLANES; z++)
        free(planes->plane[z]);
}

/* ---- running ---- */

struct run {
    struct flow_case *c;
    struct vf_job job;
    ptrdiff_t first, last; /* planes of the sinks */
    struct planes source[16], reached[16], right[16], got[16];
    struct vf_array source_array[16], reached_array[16], right_array[16], got_array[16];
    struct vf_sink right_sink[16], got_sink[16];
};

/* The reference has all planes; the device those that the slab reaches, or all where the boundary leads
 * farther. Images of 2D cases are numbered as planes. */
static void make_run(struct run *run, ptrdiff_t reach)
{
    struct vf_job *job = &run->job;
    const size_t cells = (size_t)(job->nx * job->ny);
    const ptrdiff_t planes = job->nz * job->batch;
    const bool whole = job->flow->boundary == VF_WRAP || planes < 2 * reach || job->flow->dim == 2;
    run->first = job->flow->dim == 2 ? 0 : job->z_begin;
    run->last = job->flow->dim == 2 ? planes : job->z_end;
    for (int k = 0; k < job->flow->source_count; k++) {
        run->source[k] = make_planes(run->c->source_type[k], cells, 0, planes, 0, run->c, (unsigned)k);
        run->source_array[k] =
            (struct vf_array){.type = run->c->source_type[k], .plane = run->source[k].plane};
        for (ptrdiff_t z = 0; z < planes; z++)
            run->reached[k].plane[z] = whole || (z >= job->z_begin - reach && z < job->z_end + reach)
                                           ? run->source[k].plane[z]
                                           : NULL;
        run->reached_array[k] =
            (struct vf_array){.type = run->c->source_type[k], .plane = run->reached[k].plane};
    }
    for (int k = 0; k < job->flow->sink_count; k++) {
        const enum vf_type type = run->c->sink_type[k];
        run->right[k] = make_planes(type, cells, run->first, run->last, 0x5a, run->c, 0);
        run->got[k] = make_planes(type, cells, run->first, run->last, 0xa5, run->c, 0);
        run->right_array[k] = (struct vf_array){.type = type, .plane = run->right[k].plane};
        run->got_array[k] = (struct vf_array){.type = type, .plane = run->got[k].plane};
        run->right_sink[k] = (struct vf_sink){.array = &run->right_array[k]};
        run->got_sink[k] = (struct vf_sink){.array = &run->got_array[k]};
    }
    job->source = run->source_array;
    job->sink = run->right_sink;
}

static void compare(const struct run *run, const char *scheme)
{
    const struct vf_job *job = &run->job;
    for (int k = 0; k < job->flow->sink_count; k++) {
        const size_t element = vf_type_size(run->c->sink_type[k]), cells = (size_t)(job->nx * job->ny);
        for (ptrdiff_t z = run->first; z < run->last; z++)
            for (size_t i = 0; i < cells; i++)
                cr_assert(memcmp((char *)run->got[k].plane[z] + i * element,
                                 (char *)run->right[k].plane[z] + i * element, element) == 0,
                          "%s, %dD, boundary %d, %s to %s, %tdx%tdx%td, planes %td to %td: output %d differs "
                          "at x %zu, y %zu, z %td",
                          scheme, job->flow->dim, (int)job->flow->boundary,
                          vf_type_name(run->c->source_type[0]), vf_type_name(run->c->sink_type[k]), job->nx,
                          job->ny, job->nz, job->z_begin, job->z_end, k, i % (size_t)job->nx,
                          i / (size_t)job->nx, z);
    }
}

static void run_scheme(struct run *run, struct vf_cuda *cuda, const char *scheme)
{
    struct vf_error error;
    struct vf_gpu_plan plan;
    struct vf_forced_list forced;
    cr_assert_eq(vf_forced_read(scheme, &forced, &error), VF_OK, "%s", error.text);
    /* All in one kernel, also where the plan would rather take several. */
    for (int i = 0; i < forced.count; i++)
        forced.entry[i].fuse = run->job.flow->stage_count;
    const struct vf_gpu_request request = {.flow = run->job.flow,
                                           .nx = run->job.nx,
                                           .ny = run->job.ny,
                                           .nz = run->job.flow->dim == 3 ? run->job.nz : run->job.batch,
                                           .source_type = run->c->source_type,
                                           .sink_type = run->c->sink_type,
                                           .gpu = &cuda->gpu,
                                           .forced = &forced};
    cr_assert_eq(vf_gpu_plan_open(&plan, &request, &error), VF_OK, "%s", error.text);
    cr_assert_eq(plan.launch_count, 1, "%s takes %d kernels", scheme, plan.launch_count);
    run->job.source = run->reached_array;
    run->job.sink = run->got_sink;
    cr_assert_eq(vf_cuda_run(cuda, &plan, &run->job, &error), VF_OK, "%s: %s", scheme, error.text);
    vf_gpu_plan_close(&plan);
}

void flow_case_check(struct flow_case *c, const char *const *scheme, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                     ptrdiff_t z_begin, ptrdiff_t z_end)
{
    struct vf_error error;
    struct run run = {.c = c};
    int reach = 0;
    for (int i = 0; i < c->flow.stage_count; i++) {
        int most = 0;
        for (int k = 0; k < c->stage[i].input_count; k++) {
            int halo[3];
            vf_stage_halo(&c->stage[i], c->flow.dim, k, halo);
            most = halo[0] > most ? halo[0] : most;
        }
        reach += most;
    }
    const bool flat = c->flow.dim == 2;
    run.job = (struct vf_job){.flow = &c->flow,
                              .nx = nx,
                              .ny = ny,
                              .nz = flat ? 1 : nz,
                              .batch = flat ? nz : 1,
                              .z_begin = flat ? 0 : z_begin,
                              .z_end = flat ? 1 : z_end,
                              .tiling.tile = {64, 64, 64},
                              .threads = 1};
    make_run(&run, reach);
    cr_assert_eq(vf_cpu_reference.run(&run.job, &error), VF_OK, "%s", error.text);
    const char *const last = c->flow.stage[c->flow.stage_count - 1].name;
    const unsigned number =
        ((unsigned)(nx * 8 + c->flow.stage_count) * 8 + (unsigned)c->flow.boundary) * 16 + c->source_type[0];
    for (; *scheme != NULL; scheme++) {
        if (!device_takes(*scheme, last, number))
            continue;
        run_scheme(&run, c->cuda, *scheme);
        compare(&run, *scheme);
    }
    for (int k = 0; k < 16; k++) {
        free_planes(&run.source[k]);
        free_planes(&run.right[k]);
        free_planes(&run.got[k]);
    }
}

void flow_case_check_grid(struct flow_case *c, const char *const *scheme, const int n[3])
{
    flow_case_check(c, scheme, n[0], n[1], n[2], 0, n[2]);
    if (n[2] > 2)
        flow_case_check(c, scheme, n[0], n[1], n[2], n[2] / 3, n[2] - 1);
}

void flow_case_check_sizes(struct flow_case *c, const char *const *scheme, const int (*size)[3], size_t count)
{
    for (size_t i = 0; i < count; i++)
        flow_case_check_grid(c, scheme, size[i]);
    flow_case_close(c);
}
