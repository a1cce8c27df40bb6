/* Plans: which stages are swept together, what is held in memory, and what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "plan.h"
#include "size.h"

#define MIB ((size_t)1 << 20)

/* A plan and its chain, which it points to. */
struct planned {
    struct vf_chain chain;
    struct vf_plan plan;
};

static enum vf_status try_bounded(struct planned *p, const char *chain, ptrdiff_t nx, ptrdiff_t ny,
                                  ptrdiff_t nz, int threads, const char *scheme, enum vf_boundary boundary,
                                  struct vf_error *error)
{
    *p = (struct planned){0};
    struct vf_plan_request request = {
        .chain = &p->chain,
        .context = {.dim = nz > 1 ? 3 : 2, .boundary = boundary, .aspect = {1, 1, 1}},
        .nx = nx,
        .ny = ny,
        .nz = nz,
        .batch = 1,
        .threads = threads,
        .source_type = VF_U16,
        .result_type = VF_F32,
        .scheme = scheme};
    enum vf_status status = vf_chain_append(&p->chain, chain, error);
    cr_assert_eq(status, VF_OK, "%s: %s", chain, error->text);
    return vf_plan_open(&p->plan, &request, error);
}

static enum vf_status try_plan(struct planned *p, const char *chain, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                               int threads, const char *scheme, struct vf_error *error)
{
    return try_bounded(p, chain, nx, ny, nz, threads, scheme, VF_NEAREST, error);
}

static void close_plan(struct planned *p)
{
    vf_plan_close(&p->plan);
    vf_chain_free(&p->chain);
}

/* A plan of row-stream for n^3 voxels on two threads. */
static void plan_cube(struct planned *p, const char *chain, ptrdiff_t n)
{
    struct vf_error error = {.text = ""};
    cr_assert_eq(try_plan(p, chain, n, n, n, 2, NULL, &error), VF_OK, "%s: %s", chain, error.text);
}

/* ---- runs ---- */

/* Every iteration of every link is in one run, in order; runs hand over what they make. */
static void expect_whole(const struct vf_plan *plan, const char *chain)
{
    int link = 0, iteration = 0;
    for (int r = 0; r < plan->run_count; r++) {
        const struct vf_run *run = &plan->run[r];
        cr_expect(run->source_type == VF_U16 || link > 0 || iteration > 0, "%s, run %d", chain, r);
        if (run->prepass) {
            cr_expect_eq(plan->piece[run->piece_begin].link, link, "%s: a pre-pass of another link", chain);
            cr_expect(iteration == 0 || run->each, "%s: a pre-pass after the first iteration", chain);
            cr_expect(plan->link[link].global_count > 0, "%s: a pre-pass for nothing", chain);
            continue;
        }
        for (int i = run->piece_begin; i < run->piece_end; i++) {
            cr_expect_eq(plan->piece[i].link, link, "%s, run %d: link %d", chain, r, plan->piece[i].link);
            iteration += plan->piece[i].count;
            if (iteration == plan->link[link].repeat) {
                link++;
                iteration = 0;
            }
        }
        cr_expect_eq(run->to_file, link == plan->chain->count, "%s, run %d", chain, r);
    }
    cr_expect_eq(link, plan->chain->count, "%s ends early", chain);
}

static int prepasses(const struct vf_plan *plan)
{
    int count = 0;
    for (int r = 0; r < plan->run_count; r++)
        count += plan->run[r].prepass;
    return count;
}

Test(plan, gaussian_is_one_sweep)
{
    struct planned p;
    plan_cube(&p, "gaussian", 256);
    expect_whole(&p.plan, "gaussian");
    cr_assert_eq(p.plan.run_count, 1);
    cr_expect_eq(p.plan.run[0].stage_count, 3);
    cr_expect(p.plan.run[0].source_type == VF_U16 && p.plan.run[0].to_file);
    cr_expect_eq(p.plan.between_bytes, 0);
    cr_expect_eq(p.plan.output_count, 1);
    cr_expect_str_eq(p.plan.scheme->name, "row-stream");
    close_plan(&p);
}

/* Many threads have two tiles each or more: one alone would leave all to wait for the slowest. */
Test(plan, many_threads_take_tiles_by_turns)
{
    static const char *const many[] = {"gaussian", "gaussian:sigma=2", "gradient", "median", "eed:k=20"};
    for (size_t c = 0; c < sizeof many / sizeof many[0]; c++) {
        struct planned p;
        struct vf_error error = {.text = ""};
        cr_assert_eq(try_plan(&p, many[c], 384, 384, 384, 16, NULL, &error), VF_OK, "%s: %s", many[c],
                     error.text);
        const struct vf_tile tile = p.plan.run[0].tiling.tile;
        const ptrdiff_t tiles =
            vf_ceil_div(384, tile.x) * vf_ceil_div(384, tile.y) * vf_ceil_div(384, tile.chunk);
        cr_expect_geq(tiles, 32, "%s: %tdx%td by %td", many[c], tile.x, tile.y, tile.chunk);
        close_plan(&p);
    }
}

/* A chain of short filters is one sweep over memory. */
Test(plan, short_chains_are_one_sweep)
{
    static const struct {
        const char *chain;
        int stages;
    } cases[] = {{"gaussian,gradient", 4},
                 {"gaussian:sigma=0.5,gaussian:sigma=0.5,gradient:output=components", 9},
                 {"structure-tensor:output=coherence", 8},
                 {"gaussian:sigma=0", 0},
                 {"gaussian:sigma=0,perona-malik:iterations=1:k=5", 1}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct planned p;
        plan_cube(&p, cases[c].chain, 256);
        expect_whole(&p.plan, cases[c].chain);
        cr_expect_eq(p.plan.run_count, 1, "%s: %d runs", cases[c].chain, p.plan.run_count);
        cr_expect_eq(p.plan.run[0].stage_count, cases[c].stages, "%s: %d stages", cases[c].chain,
                     p.plan.run[0].stage_count);
        cr_expect_eq(p.plan.between_bytes, 0, "%s", cases[c].chain);
        close_plan(&p);
    }
}

/* Several iterations are swept at once where the grid is larger than the caches. */
Test(plan, iterations_are_fused)
{
    struct planned p;
    plan_cube(&p, "perona-malik:iterations=10:k=10", 256);
    expect_whole(&p.plan, "perona-malik");
    cr_expect(p.plan.run_count <= 5, "%d runs for 10 iterations", p.plan.run_count);
    for (int r = 0; r < p.plan.run_count; r++)
        cr_expect(p.plan.run[r].stage_count >= 2, "run %d has %d stages", r, p.plan.run[r].stage_count);
    close_plan(&p);
}

/* A filter that needs a global value cuts the chain where it begins, and only there. */
Test(plan, prepasses)
{
    static const struct {
        const char *chain;
        int count;
    } cases[] = {{"perona-malik", 1},
                 {"perona-malik:k=4", 0},
                 {"gaussian,perona-malik", 1},
                 {"gaussian,perona-malik:iterations=40,gradient", 1},
                 {"perona-malik,gaussian,perona-malik:k=2sd", 2},
                 {"eed", 1},
                 {"eed:k=3", 0},
                 {"ced", 1},
                 {"and:k=2:threshold=4", 1},
                 {"gradient,and", 1},
                 {"srad:iterations=1", 2},
                 {"gaussian,srad:iterations=4,gradient,eed", 6}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct planned p;
        plan_cube(&p, cases[c].chain, 128);
        expect_whole(&p.plan, cases[c].chain);
        cr_expect_eq(prepasses(&p.plan), cases[c].count, "%s: %d pre-passes", cases[c].chain,
                     prepasses(&p.plan));
        close_plan(&p);
    }
    /* GX GY GZ serve GM and ST RX RY RZ EIG alike. */
    static const struct {
        const char *chain;
        int stages;
    } sweeps[] = {{"and", 9}, {"and:k=p50:sigma=0", 6}, {"and:k=5", 8}, {"and:k=2sd", 8}, {"eed", 4}};
    for (size_t c = 0; c < COUNT(sweeps); c++) {
        struct planned p;
        plan_cube(&p, sweeps[c].chain, 64);
        cr_expect_eq(p.plan.run[0].stage_count, sweeps[c].stages, "%s: %d stages", sweeps[c].chain,
                     p.plan.run[0].stage_count);
        close_plan(&p);
    }
    /* gaussian; the pre-pass over what it made; perona-malik and gradient. */
    struct planned p;
    plan_cube(&p, "gaussian,perona-malik:iterations=2,gradient", 128);
    cr_assert(p.plan.run_count >= 3);
    cr_expect(!p.plan.run[0].prepass && p.plan.run[0].source_type == VF_U16 && !p.plan.run[0].to_file);
    cr_expect(p.plan.run[1].prepass && p.plan.run[1].source_type == VF_F32);
    cr_expect(p.plan.run[p.plan.run_count - 1].to_file);
    close_plan(&p);
}

/* The values of the first iteration, those of each one, which takes a run of its own, and what follows the
 * last one with it; what is alike is weighed once. */
Test(plan, prepasses_of_each_iteration)
{
    struct planned p, more;
    plan_cube(&p, "srad:iterations=5,gradient", 128);
    cr_assert_eq(p.plan.run_count, 1 + 2 * 5);
    cr_expect(p.plan.run[0].prepass && !p.plan.run[0].each && p.plan.run[0].stage_count == 0);
    for (int r = 1; r < p.plan.run_count; r++) {
        const struct vf_run *run = &p.plan.run[r];
        cr_expect_eq(run->prepass, r % 2 == 1, "run %d", r);
        cr_expect_eq(run->each, run->prepass, "run %d", r);
        cr_expect_eq(run->stage_count, run->prepass ? 1 : r < p.plan.run_count - 1 ? 3 : 4, "run %d", r);
        cr_expect_eq(run->repeats, r >= 3 && r < p.plan.run_count - 1 ? 2 : 0, "run %d", r);
    }
    plan_cube(&more, "srad:iterations=3000,gradient", 128);
    cr_expect_eq(more.plan.weighed, p.plan.weighed);
    close_plan(&more);
    close_plan(&p);
}

/* ---- memory ---- */

Test(plan, between_bytes)
{
    static const char *const chains[] = {"perona-malik:iterations=200", "eed:iterations=30",
                                         "ced:iterations=30", "and:iterations=30",
                                         "gaussian,perona-malik,eed:iterations=5"};
    const size_t volume = sizeof(float) * 200 * 200 * 200;
    for (size_t c = 0; c < COUNT(chains); c++) {
        struct planned p;
        plan_cube(&p, chains[c], 200);
        expect_whole(&p.plan, chains[c]);
        /* The result's memory is the other one. */
        cr_expect(p.plan.between_bytes <= volume, "%s: %zu bytes, %g volumes", chains[c],
                  p.plan.between_bytes, (double)p.plan.between_bytes / (double)volume);
        cr_expect(p.plan.run_count < 3 || p.plan.between_bytes >= volume, "%s holds nothing", chains[c]);
        bool in_result = false;
        for (int r = p.plan.run_count - 1; r >= 0; r--) {
            if (p.plan.run[r].prepass)
                continue;
            cr_expect_eq(p.plan.run[r].in_result, !in_result, "%s: run %d of %d", chains[c], r,
                         p.plan.run_count);
            in_result = !in_result;
        }
        close_plan(&p);
    }
}

/* What medians leave of an image's integers is stored as these. */
Test(plan, medians_keep_integers)
{
    struct planned p;
    plan_cube(&p, "median:radius=2,gradient", 200);
    cr_assert_eq(p.plan.run_count, 2);
    cr_expect(p.plan.run[0].cell == VF_U16 && p.plan.run[0].sink_type == VF_U16);
    cr_expect(p.plan.run[1].cell == VF_F32 && p.plan.run[1].source_type == VF_U16);
    cr_expect_eq(p.plan.between_bytes, sizeof(uint16_t) * 200 * 200 * 200);
    close_plan(&p);
    plan_cube(&p, "median,perona-malik", 200);
    for (int r = 1; r < p.plan.run_count; r++) {
        const struct vf_run *run = &p.plan.run[r], *last = run - 1;
        cr_expect_eq(run->prepass, r == 1);
        cr_expect_eq(run->source_type, r <= 2 ? VF_U16 : VF_F32);
        cr_expect(run->source_type == last->sink_type || last->prepass);
    }
    close_plan(&p);
    plan_cube(&p, "gradient,median,gradient", 200);
    for (int r = 1; r < p.plan.run_count; r++)
        cr_expect_eq(p.plan.run[r].source_type, VF_F32);
    close_plan(&p);
}

/* Every filter as it is by default: rings fit in 64 MiB for a large stack and a large image; what crosses a
 * cut besides takes no more than the image and the result do. */
Test(plan, work_bytes)
{
    static const int threads[] = {1, 2, 4};
    for (size_t f = 0; vf_filters[f] != NULL; f++)
        for (size_t t = 0; t < COUNT(threads); t++) {
            struct planned p;
            struct vf_error error = {.text = ""};
            char chain[64];
            for (int image = 0; image < 2; image++) {
                cr_assert_eq(try_plan(&p, filter_alone(vf_filters[f], chain), image ? 8192 : 512,
                                      image ? 8192 : 512, image ? 1 : 512, threads[t], NULL, &error),
                             VF_OK, "%s", error.text);
                bool is_cut = false;
                for (int r = 0; r < p.plan.run_count; r++)
                    is_cut = is_cut || p.plan.run[r].tiling.cut > 0;
                cr_expect(p.plan.work_bytes > 0 && p.plan.work_bytes <= (is_cut ? 64 + 2 * 512 : 64) * MIB,
                          "%s, %d threads, %s: %zu MiB", vf_filters[f]->name, threads[t],
                          image ? "image" : "stack", p.plan.work_bytes / MIB);
                close_plan(&p);
            }
        }
}

/* Iterations with wide lines of several fields are two sweeps; not where the grid is periodic, or of two
 * dimensions, and one field's lines are not worth it. */
Test(plan, two_sweeps)
{
    static const struct {
        const char *chain;
        ptrdiff_t nz;
        enum vf_boundary boundary;
        bool is_cut;
    } cases[] = {
        {"and:k=20:threshold=5", 256, VF_NEAREST, true}, {"ced", 256, VF_MIRROR, true},
        {"and:k=20:threshold=5", 256, VF_WRAP, false},   {"and:k=20:threshold=5", 1, VF_NEAREST, false},
        {"gaussian:sigma=8", 256, VF_NEAREST, false},    {"eed", 256, VF_NEAREST, false}};
    cr_assert_eq(setenv("VOLFILTER_CPU_CACHES", "524288,33554432", 1), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct planned p;
        struct vf_error error = {.text = ""};
        cr_assert_eq(
            try_bounded(&p, cases[i].chain, 256, 256, cases[i].nz, 2, NULL, cases[i].boundary, &error), VF_OK,
            "%s", error.text);
        const struct vf_run *run = &p.plan.run[p.plan.run_count - 1];
        cr_expect_eq(run->tiling.cut > 0, cases[i].is_cut, "%s, %td planes, boundary %d: cut before stage %d",
                     cases[i].chain, cases[i].nz, (int)cases[i].boundary, run->tiling.cut);
        close_plan(&p);
    }
}

/* Where a core is given little of the far cache, tiles that the near one cannot hold anyway compute less
 * twice, and others are made to fit. */
Test(plan, slow_far_cache)
{
    static const char *const caches[] = {"2097152,33554432", "2097152,33554432,slow"};
    ptrdiff_t wide[2], narrow[2];
    for (int c = 0; c < 2; c++) {
        struct planned p;
        cr_assert_eq(setenv("VOLFILTER_CPU_CACHES", caches[c], 1), 0);
        plan_cube(&p, "structure-tensor:output=coherence", 384);
        wide[c] = p.plan.run[0].tiling.tile.y;
        close_plan(&p);
        plan_cube(&p, "gaussian,gaussian", 384);
        narrow[c] = p.plan.run[0].tiling.tile.y;
        close_plan(&p);
    }
    cr_expect_gt(wide[1], wide[0]);
    cr_expect_lt(narrow[1], narrow[0]);
}

/* ---- outputs ---- */

static void expect_labels(const char *chain, ptrdiff_t nz, const char *const *labels, int count)
{
    struct planned p;
    struct vf_error error = {.text = ""};
    cr_assert_eq(try_plan(&p, chain, 32, 32, nz, 1, NULL, &error), VF_OK, "%s: %s", chain, error.text);
    cr_expect_eq(p.plan.output_count, count, "%s: %d outputs", chain, p.plan.output_count);
    cr_expect_eq(p.plan.run[p.plan.run_count - 1].outputs, count, "%s", chain);
    for (int k = 0; k < p.plan.output_count && k < count; k++) {
        const char *label = vf_plan_label(&p.plan, p.plan.chain->count, k);
        if (labels == NULL)
            cr_expect_null(label, "%s: %s", chain, label);
        else
            cr_expect(label != NULL && strcmp(label, labels[k]) == 0, "%s: output %d is %s, not %s", chain, k,
                      label == NULL ? "nothing" : label, labels[k]);
    }
    close_plan(&p);
}

Test(plan, labels)
{
    static const char *const axes[] = {"x", "y", "z", "x", "y", "z", "x", "y", "z"};
    static const char *const tensor3[] = {"xx", "xy", "xz", "yy", "yz", "zz"}, *const tensor2[] = {"xx", "xy",
                                                                                                   "yy"};
    static const char *const values[] = {"mu1", "mu2", "mu3"};
    static const char *const signed_values[] = {"lambda1", "lambda2", "lambda3"};
    static const char *const shares[] = {"planar", "linear", "isotropic"};
    expect_labels("gaussian", 32, NULL, 1);
    expect_labels("gradient", 32, NULL, 1);
    expect_labels("gradient:output=components", 32, axes, 3);
    expect_labels("gradient:output=components", 1, axes, 2);
    expect_labels("structure-tensor", 32, tensor3, 6);
    expect_labels("structure-tensor", 1, tensor2, 3);
    expect_labels("structure-tensor:output=eigenvalues", 32, values, 3);
    expect_labels("structure-tensor:output=eigenvalues", 1, values, 2);
    expect_labels("structure-tensor:output=coherence", 32, shares, 3);
    expect_labels("structure-tensor:output=coherence", 1, NULL, 1);
    expect_labels("structure-tensor:output=orientation", 32, axes, 3);
    expect_labels("structure-tensor:output=orientation", 1, NULL, 1);
    expect_labels("hessian", 32, signed_values, 3);
    expect_labels("hessian", 1, signed_values, 2);
    expect_labels("hessian:output=components", 32, tensor3, 6);
    /* The last filter that has several names them; one with a single output keeps what was. */
    expect_labels("gradient:output=components,gaussian", 32, axes, 3);
    expect_labels("gradient:output=components,gradient:output=components", 32, axes, 9);
    expect_labels("eed", 32, NULL, 1);
}

/* ---- what is refused ---- */

static void expect_refused(const char *chain, ptrdiff_t nz, const char *scheme, const char *text)
{
    struct planned p;
    struct vf_error error = {.text = ""};
    cr_expect_eq(try_plan(&p, chain, 20, 20, nz, 1, scheme, &error), VF_USAGE, "%s, %s", chain, scheme);
    cr_expect(strstr(error.text, text) != NULL, "%s, %s: %s", chain, scheme, error.text);
    cr_expect_null(p.plan.link, "a plan that failed holds nothing");
    close_plan(&p);
}

Test(plan, schemes_that_are_not_understood)
{
    static const char *const tiles[] = {"row-stream:",
                                        "row-stream:tile",
                                        "row-stream:tile=",
                                        "row-stream:tile=8",
                                        "row-stream:tile=8x8",
                                        "row-stream:tile=8x8x8x8",
                                        "row-stream:tile=0x8x8",
                                        "row-stream:tile=8x0x8",
                                        "row-stream:tile=8x8x0",
                                        "row-stream:tile=-1x8x8",
                                        "row-stream:tile=8x8x8 ",
                                        "row-stream:tile=8.5x8x8",
                                        "row-stream:tile=axbxc",
                                        "row-stream:tile=8x8x",
                                        "row-stream:chunk=8x8x8",
                                        "row-stream:tile=8*8*8",
                                        "reference:tile=8x8x8",
                                        "row-stream:tile=8x8x8,",
                                        "row-stream:tile=99999999999999999999x8x8"};
    for (size_t i = 0; i < COUNT(tiles); i++)
        expect_refused("gaussian", 20, tiles[i], "tile=XxYxCHUNK");
    static const char *const cuts[] = {"row-stream:tile=8x8x8:cut=GZ",
                                       "row-stream:tile=8x8x8:cut=/2",
                                       "row-stream:tile=8x8x8:cut=GZ/0",
                                       "row-stream:tile=8x8x8:cut=GZ/",
                                       "row-stream:tile=8x8x8:cut=GZ/x",
                                       "row-stream:tile=8x8x8:cut=LONGNAME/2",
                                       "row-stream:cut=GZ/2",
                                       "reference:tile=8x8x8:cut=GZ/2"};
    for (size_t i = 0; i < COUNT(cuts); i++)
        expect_refused("gaussian", 20, cuts[i], "cut=STAGE/PLANES");
    expect_refused("gaussian", 20, "row-stream:tile=8x8x8:cut=RZ/2", "no sweep over a volume has a stage RZ");
    expect_refused("gaussian", 20, "row-stream:tile=8x8x8:cut=GX/2", "after other stages");
    expect_refused("gaussian", 1, "row-stream:tile=8x8x8:cut=GY/2", "over a volume");
    expect_refused("gaussian", 20, "row-streams", "row-stream");
    expect_refused("gaussian", 20, "", "reference");
    struct planned p;
    struct vf_error error = {.text = ""};
    cr_assert_eq(try_plan(&p, "gaussian", 20, 20, 20, 1, "row-stream:tile=8x4x2", &error), VF_OK, "%s",
                 error.text);
    cr_expect_eq(p.plan.run[0].tiling.tile.x, 8);
    cr_expect_eq(p.plan.run[0].tiling.tile.y, 4);
    cr_expect_eq(p.plan.run[0].tiling.tile.chunk, 2);
    cr_expect_eq(p.plan.run[0].tiling.cut, 0);
    close_plan(&p);
    cr_assert_eq(try_plan(&p, "gaussian", 20, 20, 20, 1, "row-stream:tile=8x4x2:cut=GZ/5", &error), VF_OK,
                 "%s", error.text);
    cr_expect_eq(p.plan.run[0].tiling.cut, 2);
    cr_expect_eq(p.plan.run[0].tiling.block, 5);
    cr_expect_eq(p.plan.run[0].tiling.first.y, 4);
    close_plan(&p);
}

Test(plan, too_many_channels)
{
    expect_refused("structure-tensor,structure-tensor,gradient:output=components", 20, NULL,
                   "more than 64 channels");
    expect_refused("structure-tensor,structure-tensor,structure-tensor,structure-tensor,structure-tensor", 20,
                   NULL, "more than 64 channels");
    struct planned p;
    struct vf_error error = {.text = ""};
    cr_expect_eq(try_plan(&p, "structure-tensor,structure-tensor", 20, 20, 20, 1, NULL, &error), VF_OK, "%s",
                 error.text);
    cr_expect_eq(p.plan.output_count, 36);
    close_plan(&p);
}

/* Where the tensor has no direction. */
Test(plan, tensors_that_are_not_smoothed)
{
    expect_refused("eed:mode=line", 20, NULL, "mode=line needs rho of at least 0.125 voxels");
    expect_refused("eed:mode=line:rho=0x0x0", 1, NULL, "mode=line needs rho of at least 0.125 voxels");
    expect_refused("ced:rho=0", 20, NULL, "ced: rho must be at least 0.125 voxels along some axis");
    expect_refused("and:rho=0", 1, NULL, "and: rho must be at least 0.125 voxels along some axis");
    /* Above 0, but no neighbour is reached. */
    expect_refused("eed:mode=line:rho=0.12", 20, NULL, "mode=line needs rho of at least 0.125 voxels");
    expect_refused("ced:rho=0.12", 20, NULL, "ced: rho must be at least 0.125 voxels along some axis");
    expect_refused("and:rho=0.12x0.1x0", 20, NULL, "and: rho must be at least 0.125 voxels along some axis");
}

/* The bound of dt is in the message. */
Test(plan, steps_that_are_too_large)
{
    static const char *const names[] = {"perona-malik", "eed", "ced", "and"};
    char chain[40];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(chain, sizeof chain, "%s:dt=0.17", names[i]);
        expect_refused(chain, 20, NULL, "0.166666665");
        snprintf(chain, sizeof chain, "%s:dt=0.26", names[i]);
        expect_refused(chain, 1, NULL, "the maximum is 0.25");
    }
}

Test(plan, noise_boxes)
{
    static const char *const outside[] = {"8x8x8+13+0+0", "8x8x8+0+13+0", "8x8x8+0+0+13", "21x1x1+0+0+0",
                                          "1x1x1+20+0+0"};
    static const char *const inside[] = {"8x8x8+12+12+12", "20x20x20+0+0+0", "1x1x1+19+19+19"};
    char chain[80];
    for (size_t i = 0; i < COUNT(outside); i++) {
        snprintf(chain, sizeof chain, "and:noise=%s", outside[i]);
        expect_refused(chain, 20, NULL, "is not inside the image, which is 20x20x20");
    }
    expect_refused("and:noise=8x8x2+0+0+0", 1, NULL, "is not inside the image, which is 20x20x1");
    expect_refused("and:noise=4x4+18+0", 1, NULL, "is not inside the image, which is 20x20x1");
    expect_refused("and:noise=4x4+16+0", 20, NULL, "noise has two sizes");
    expect_refused("srad:noise=4x4+16+0", 20, NULL, "noise has two sizes");
    expect_refused("srad:noise=4x4+18+0", 1, NULL, "is not inside the image, which is 20x20x1");
    expect_refused("and:noise=4x4+16+0:threshold=1", 1, NULL, "leave one of them out");
    for (size_t i = 0; i < COUNT(inside); i++) {
        struct planned p;
        struct vf_error error = {.text = ""};
        snprintf(chain, sizeof chain, "and:noise=%s", inside[i]);
        cr_expect_eq(try_plan(&p, chain, 20, 20, 20, 1, NULL, &error), VF_OK, "%s: %s", chain, error.text);
        close_plan(&p);
    }
}

/* ---- many iterations ---- */

/* What is known of some iterations is not worked out again for more, and runs are no more than iterations and
 * pre-passes. */
Test(plan, many_iterations)
{
    static const struct {
        const char *chain;
        int most_runs;
    } cases[] = {{"perona-malik:iterations=%d", 5001},
                 {"and:iterations=%d", 10001},
                 {"gaussian,perona-malik:iterations=%d:k=3,eed:iterations=10000", 15002}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        char few[80], many[80];
        struct planned p, q;
        snprintf(few, sizeof few, cases[c].chain, 100);
        snprintf(many, sizeof many, cases[c].chain, 10000);
        plan_cube(&p, few, 300);
        plan_cube(&q, many, 300);
        cr_expect_leq(q.plan.weighed, 2 * p.plan.weighed, "%s: %ld, %ld", many, p.plan.weighed,
                      q.plan.weighed);
        cr_expect(q.plan.run_count <= cases[c].most_runs, "%s: %d runs", many, q.plan.run_count);
        cr_expect(q.plan.piece_count <= q.plan.run_count + q.plan.chain->count, "%s: %d pieces", many,
                  q.plan.piece_count);
        expect_whole(&q.plan, many);
        close_plan(&p);
        close_plan(&q);
    }
}

/* ---- splitting ---- */

/* All sinks of the plan's only run by the reference, its flow split: [sink][voxel], to be freed. */
static float *run_split(const struct planned *p, enum vf_split split, int *stages, size_t *bytes)
{
    struct vf_flow flow;
    struct vf_error error = {.text = ""};
    struct vf_run run = p->plan.run[0];
    const ptrdiff_t n = p->plan.nx, cells = n * n;
    run.split = split;
    cr_assert_eq(vf_plan_flow(&p->plan, &run, NULL, &flow, &error), VF_OK, "%s", error.text);
    *stages = flow.stage_count;
    *bytes = (size_t)(flow.sink_count * n * cells) * sizeof(float);
    float *in = malloc((size_t)(n * cells) * sizeof *in), *out = malloc(*bytes);
    void *in_plane[16], *out_plane[VF_MAX_OUTPUTS][16];
    struct vf_array array[VF_MAX_OUTPUTS], source = {.type = VF_F32, .plane = in_plane};
    struct vf_sink sink[VF_MAX_OUTPUTS] = {0};
    cr_assert(in != NULL && out != NULL && n <= 16 && flow.sink_count <= VF_MAX_OUTPUTS);
    memset(out, 0xff, *bytes);
    for (ptrdiff_t i = 0; i < n * cells; i++)
        in[i] = (float)(i * 7919 % 251);
    for (ptrdiff_t z = 0; z < n; z++)
        in_plane[z] = in + z * cells;
    for (int k = 0; k < flow.sink_count; k++) {
        for (ptrdiff_t z = 0; z < n; z++)
            out_plane[k][z] = out + (k * n + z) * cells;
        array[k] = (struct vf_array){.type = VF_F32, .plane = out_plane[k]};
        sink[k].array = &array[k];
    }
    const struct vf_job job = {.flow = &flow,
                               .nx = n,
                               .ny = n,
                               .nz = n,
                               .batch = 1,
                               .z_end = n,
                               .source = &source,
                               .sink = sink,
                               .threads = 1};
    cr_assert_eq(vf_cpu_reference.run(&job, &error), VF_OK, "%s", error.text);
    vf_flow_close(&flow);
    free(in);
    return out;
}

Test(plan, fields_are_taken_together_or_one_by_one)
{
    /* GX GY GZ ST RX RY RZ, and what follows: six fields through RX RY RZ. */
    static const struct {
        const char *chain;
        int stages[VF_SPLIT_COUNT];
    } cases[] = {
        {"structure-tensor", {7, 4 + 1 + 2 * 6, 4 + 2 * 6 + 1, 4 + 3 * 6}},
        {"structure-tensor:output=coherence", {8, 4 + 1 + 2 * 6 + 1, 4 + 2 * 6 + 1 + 1, 4 + 3 * 6 + 1}},
        {"structure-tensor:rho=0x0x1", {5, 5, 5, 4 + 6}},
        {"gradient:sigma=1", {4, 4, 4, 4}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct planned p;
        size_t bytes, split_bytes;
        int stages;
        plan_cube(&p, cases[i].chain, 9);
        float *right = run_split(&p, VF_SPLIT_NONE, &stages, &bytes);
        cr_expect_eq(stages, cases[i].stages[VF_SPLIT_NONE], "%s: %d stages", cases[i].chain, stages);
        for (enum vf_split split = VF_SPLIT_NONE + 1; split < VF_SPLIT_COUNT; split++) {
            float *got = run_split(&p, split, &stages, &split_bytes);
            cr_expect_eq(stages, cases[i].stages[split], "%s: %d stages", cases[i].chain, stages);
            cr_expect(split_bytes == bytes && memcmp(got, right, bytes) == 0, "%s", cases[i].chain);
            free(got);
        }
        free(right);
        close_plan(&p);
    }
}
