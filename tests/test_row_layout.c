/* What the rings of row-stream hold. */
#include <criterion/criterion.h>

#include "kernels/cpu_row_halves.h"
#include "kernels/cpu_row_layout.h"
#include "kernels/cpu_row_sweep.h"
#include "pipeline.h"

/* Of one image in one thread, stored as it comes. */
static struct vf_plan_request request_of(int dim, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                                         enum vf_boundary boundary, enum vf_type type)
{
    return (struct vf_plan_request){.context = {.dim = dim, .boundary = boundary, .aspect = {1, 1, 1}},
                                    .nx = nx,
                                    .ny = ny,
                                    .nz = nz,
                                    .batch = 1,
                                    .threads = 1,
                                    .source_type = type,
                                    .result_type = type};
}

/* The run of a chain's last flow, planned for that. */
static struct vf_job job_of(const struct last_flow *p, const struct vf_plan_request *request,
                            struct vf_tiling tiling)
{
    return (struct vf_job){.flow = &p->flow,
                           .nx = request->nx,
                           .ny = request->ny,
                           .nz = request->nz,
                           .batch = 1,
                           .z_end = request->nz,
                           .source_type = request->source_type,
                           .sink_type = request->result_type,
                           .tiling = tiling,
                           .threads = 1};
}

/* A chain's only run, stored as one type and as another. */
static void expect_cells(const char *chain_text, double constant, enum vf_type in, enum vf_type out,
                         enum vf_type expected)
{
    struct last_flow p;
    struct vf_row_layout layout;
    struct vf_error error;
    struct vf_plan_request request = request_of(2, 300, 8, 1, VF_CONSTANT, in);
    request.constant = constant;
    request.result_type = out;
    last_flow_open(&p, chain_text, request);
    cr_assert_eq(p.plan.run_count, 1);
    struct vf_job job = job_of(&p, &request, p.plan.run[0].tiling);
    const struct vf_array from = {.type = in}, to = {.type = out};
    const struct vf_sink stored = {.array = &to}, reduced = {.array = &to, .reducer_count = 1};
    const struct vf_sink *const sinks[] = {NULL, &stored, &reduced};
    for (int k = 0; k < 3; k++) {
        job.source = k == 0 ? NULL : &from;
        job.sink = sinks[k];
        cr_assert_eq(vf_row_layout_open(&layout, &job, &error), VF_OK, "%s", error.text);
        const enum vf_type cell = k == 2 ? VF_F32 : expected;
        cr_expect_eq(layout.cell, cell, "%s of %s into %s, constant %g: %s", chain_text, vf_type_name(in),
                     vf_type_name(out), constant, vf_type_name(layout.cell));
        cr_expect_eq(layout.element, vf_type_size(cell));
        vf_row_layout_close(&layout);
    }
    last_flow_close(&p);
}

/* Of the type that a median's image has, if that is an integer of 8 or 16 bits and nothing else is among
 * them. */
Test(row_layout, cells)
{
    for (enum vf_type type = VF_U8; type <= VF_I16; type++)
        expect_cells("median,median:radius=3", 100, type, type, type);
    expect_cells("median", -128, VF_I8, VF_I8, VF_I8);
    expect_cells("median", -128, VF_U8, VF_U8, VF_F32);
    expect_cells("median", 128, VF_I8, VF_I8, VF_F32);
    expect_cells("median", 65535, VF_U16, VF_U16, VF_U16);
    expect_cells("median", 65536, VF_U16, VF_U16, VF_F32);
    expect_cells("median", 0.5, VF_U16, VF_U16, VF_F32);
    expect_cells("median", 0, VF_U8, VF_U16, VF_U8);
    expect_cells("median", -1, VF_I16, VF_F32, VF_I16);
    expect_cells("median", 0, VF_F32, VF_F32, VF_F32);
    expect_cells("median", 0, VF_U32, VF_U32, VF_F32);
    expect_cells("mean,median", 0, VF_U8, VF_U8, VF_F32);
}

/* ---- diffusion steps ---- */

static struct vf_plan_request request_of_step(int dim, enum vf_boundary boundary)
{
    return request_of(dim, 68, 3, dim == 3 ? 64 : 1, boundary, VF_F32);
}

static void open_step(struct last_flow *p, const char *chain, int dim, enum vf_boundary boundary)
{
    last_flow_open(p, chain, request_of_step(dim, boundary));
}

/* Whether its step follows the stage before, of whose results then a row is held. */
static bool follows(struct last_flow *p)
{
    struct vf_row_layout l;
    struct vf_error error;
    const struct vf_plan_request request = request_of_step(p->flow.dim, p->flow.boundary);
    const struct vf_job job = job_of(p, &request, (struct vf_tiling){.tile = {68, 2, 64}});
    cr_assert_eq(vf_row_layout_open(&l, &job, &error), VF_OK, "%s", error.text);
    const struct vf_flow *flow = l.job->flow;
    int step = 0;
    while (step < flow->stage_count && flow->stage[step].stencil != VF_STENCIL_diffusion_step)
        step++;
    cr_assert_lt(step, flow->stage_count);
    const bool is = l.stage[step].follows_flux;
    cr_expect_eq(l.stage[step - 1].called && l.stage[step].calls == step - 1, is);
    cr_expect_not(is && l.stage[step].called, "whoever calls for it would have it from its faces");
    for (int k = 0; k < flow->stage[step - 1].output_count && is; k++) {
        const struct vf_ring *ring = &l.ring[flow->stage[step - 1].output[k]];
        cr_expect(ring->depth == 1 && ring->rows == 1, "output %d: %td planes of %td rows", k, ring->depth,
                  ring->rows);
    }
    vf_row_layout_close(&l);
    last_flow_close(p);
    return is;
}

Test(row_layout, steps_follow_their_flux)
{
    struct last_flow p;
    for (enum vf_boundary b = 0; b < VF_BOUNDARY_COUNT; b++) {
        open_step(&p, "eed:iterations=1:k=4", 3, b);
        cr_expect_eq(follows(&p), b != VF_WRAP, "%s", vf_boundary_name[b]);
    }
    open_step(&p, "eed:iterations=1:k=4", 2, VF_NEAREST);
    cr_expect_not(follows(&p), "a plane of an image is a row already");
    open_step(&p, "eed:iterations=1:k=4,gaussian:sigma=1", 3, VF_CONSTANT);
    cr_expect(follows(&p), "what reads a row of it might call for that");
    open_step(&p, "ced:iterations=1", 3, VF_NEAREST);
    cr_expect(follows(&p), "ced");
    open_step(&p, "and:iterations=1:k=4", 3, VF_NEAREST);
    cr_expect_not(follows(&p), "its flux calls for what it reads itself");

    open_step(&p, "eed:iterations=1:k=4", 3, VF_NEAREST);
    p.flow.sink[0] = p.flow.stage[p.flow.stage_count - 1].input[0];
    cr_expect_not(follows(&p), "the flux is stored too");

    open_step(&p, "eed:iterations=1:k=4,gradient", 3, VF_NEAREST);
    p.flow.stage[p.flow.stage_count - 1].input[0] = p.flow.stage[p.flow.stage_count - 2].input[0];
    cr_expect_not(follows(&p), "another stage reads the flux");

    open_step(&p, "eed:iterations=1:k=4", 3, VF_NEAREST);
    int *const input = p.flow.stage[p.flow.stage_count - 1].input, first = input[0];
    input[0] = input[1];
    input[1] = first;
    cr_expect_not(follows(&p), "the step takes the flux in another order");
}

/* ---- sums of planes ---- */

/* Whether a chain's first stage is summed along with the second, and then where its source is read, which
 * other stages may read too. */
enum plane_sums { APART, IN_PLACE, SHARED_IN_PLACE, SHARED_IN_RING };

/* A run of a 3D chain, in tiles. */
struct plane_case {
    const char *chain;
    ptrdiff_t nx;
    struct vf_tile tile;
    enum vf_boundary boundary;
    enum vf_type type; /* of the image */
    const char *caches;
    enum plane_sums sums;
};

#define NEAR_CACHES "2097152,33554432"

/* If it `stores`, the first stage makes a result too. */
static void expect_plane_sums(const struct plane_case *c, bool stores)
{
    struct last_flow p;
    struct vf_row_layout l;
    struct vf_error error;
    const struct vf_plan_request request = request_of(3, c->nx, 40, 20, c->boundary, c->type);
    cr_assert_eq(setenv("VOLFILTER_CPU_CACHES", c->caches, 1), 0);
    last_flow_open(&p, c->chain, request);
    const struct vf_job job = job_of(&p, &request, (struct vf_tiling){.tile = c->tile});
    const struct vf_stage *along = &p.flow.stage[0];
    if (stores)
        p.flow.sink[0] = along->output[0];
    cr_assert_eq(vf_row_layout_open(&l, &job, &error), VF_OK, "%s", error.text);
    const bool sums =
        c->sums != APART && !stores && vf_row_plane(vf_rows_choose(VF_F32), along->taps->count) != NULL;
    cr_expect_eq(l.stage[1].sums_plane, sums, "%s, %td wide, boundary %d, %s", c->chain, c->nx,
                 (int)c->boundary, vf_type_name(c->type));
    cr_expect_eq(l.stage[0].called && l.stage[1].calls == 0, sums);
    const struct vf_ring *source = &l.ring[along->input[0]];
    cr_expect_eq(source->loader, 0);
    cr_expect_eq(source->shared, c->sums >= SHARED_IN_PLACE);
    cr_expect_eq(source->in_place, sums && c->sums != SHARED_IN_RING, "%s, %td wide", c->chain, c->nx);
    cr_expect_eq(source->whole, sums || source->shared, "the near cache holds a plane of it");
    cr_expect_eq(l.ring[along->output[0]].whole, !sums);
    cr_expect_geq(l.most_rows, sums ? c->tile.y : 0);
    vf_row_layout_close(&l);
    last_flow_close(&p);
}

Test(row_layout, sums_of_planes)
{
    static const struct plane_case cases[] = {
        {"gaussian", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, IN_PLACE},
        {"gaussian,gaussian", 64, {64, 9, 20}, VF_REFLECT, VF_F32, NEAR_CACHES, IN_PLACE},
        {"gaussian", 64, {64, 40, 20}, VF_WRAP, VF_F32, NEAR_CACHES, IN_PLACE},
        {"gaussian", 32, {32, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, IN_PLACE},
        {"gaussian", 49, {49, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, IN_PLACE},
        /* a source that others read too, at other cells, by whole vectors, or as another type */
        {"unsharp", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, SHARED_IN_PLACE},
        {"dog", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, SHARED_IN_PLACE},
        {"eed:iterations=1:k=4", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, SHARED_IN_RING},
        {"unsharp", 65, {65, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, SHARED_IN_RING},
        {"unsharp", 64, {64, 9, 20}, VF_NEAREST, VF_U16, NEAR_CACHES, SHARED_IN_RING},
        /* rows of too few cells */
        {"gaussian", 47, {47, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, APART},
        {"gaussian", 16, {16, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, APART},
        /* no whole rows, or not each once */
        {"gaussian", 64, {32, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, APART},
        {"gaussian", 64, {64, 9, 20}, VF_WRAP, VF_F32, NEAR_CACHES, APART},
        /* cells beyond the grid that are no sums; another type; other weights along y; too many */
        {"gaussian", 64, {64, 9, 20}, VF_CONSTANT, VF_F32, NEAR_CACHES, APART},
        {"gaussian", 64, {64, 9, 20}, VF_NEAREST, VF_U16, NEAR_CACHES, APART},
        {"gaussian:sigma=1x2x1", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, APART},
        {"gaussian:sigma=2", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, APART},
        /* sums that are stored at once */
        {"gaussian:sigma=1x1x0", 64, {64, 9, 20}, VF_NEAREST, VF_F32, NEAR_CACHES, APART},
        /* rings that the near cache does not hold */
        {"gaussian", 64, {64, 40, 20}, VF_NEAREST, VF_F32, "131072,33554432", APART}};
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_plane_sums(&cases[i], false);
    expect_plane_sums(&cases[0], true);
}

/* ---- two sweeps ---- */

/* What they need of memory is the same before there are arrays. */
Test(row_layout, halves_before_and_with_arrays)
{
    enum { NX = 64, NY = 9, NZ = 20 };
    struct last_flow p;
    struct vf_row_halves before, with;
    struct vf_error error;
    static float in[NZ][NY * NX], out[NZ][NY * NX], crossing[NZ * NY * NX + 256];
    void *from[NZ], *to[NZ];
    for (int z = 0; z < NZ; z++) {
        from[z] = in[z];
        to[z] = out[z];
    }
    const struct vf_array source = {.type = VF_F32, .plane = from}, result = {.type = VF_F32, .plane = to};
    const struct vf_sink sink = {.array = &result};
    const struct vf_plan_request request = request_of(3, NX, NY, NZ, VF_NEAREST, VF_F32);
    last_flow_open(&p, "gaussian", request);
    cr_assert_eq(p.flow.stage_count, 3);
    struct vf_job job = job_of(&p, &request, (struct vf_tiling){{NX, NY, NZ}, 2, NZ, {NX, NY, NZ}});
    cr_assert_eq(vf_row_halves_open(&before, &job, &error), VF_OK, "%s", error.text);
    job.source = &source;
    job.sink = &sink;
    cr_assert_eq(vf_row_halves_open(&with, &job, &error), VF_OK, "%s", error.text);
    vf_row_halves_place(&with, &job, (char *)crossing, 0);
    for (int half = 0; half < 2; half++) {
        cr_expect_eq(before.array[half][0].type, VF_F32);
        cr_expect_eq(vf_row_sweep_bytes(&before.job[half]), vf_row_sweep_bytes(&with.job[half]));
    }
    vf_row_halves_close(&before);
    vf_row_halves_close(&with);
    last_flow_close(&p);
}
