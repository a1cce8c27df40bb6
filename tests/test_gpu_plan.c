/* Plans for a GPU: which stages a kernel takes, and where its fields are. No device is needed. */
#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "alloc.h"
#include "gpu_planned.h"
#include "kernel_source.h"
#include "sanitized.h"

static const char *const chains[] = {
    "gaussian",
    "gaussian:sigma=0",
    "mean",
    "unsharp",
    "median",
    "laplacian",
    "dog",
    "convolve:tests/weights/5x3.txt",
    "gradient:output=components",
    "gaussian,gradient,gaussian",
    "structure-tensor",
    "structure-tensor:output=coherence",
    "hessian",
    "perona-malik:iterations=20",
    "eed:iterations=3",
    "ced:iterations=2",
    "and:iterations=9",
    "srad:iterations=3",
};

/* ---- kernels ---- */

/* Every stage is in one kernel, in order; every field that a kernel reads was given or made by an earlier
 * one. */
static void expect_sound(const struct planned *p, const struct vf_run *run, const char *chain)
{
    struct vf_flow flow;
    struct vf_error error = {.text = ""};
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    bool made[VF_KERNEL_MOST_FIELDS * 16] = {false}, stored[VF_MAX_LIVE * VF_MAX_GLOBALS] = {false};
    int next = 0;
    cr_assert_eq(vf_plan_flow(&p->plan, run, NULL, &flow, &error), VF_OK, "%s", error.text);
    cr_assert(flow.field_count <= COUNT(made));
    vf_plan_gpu_request(&p->plan, run, &flow, &types, &request);
    for (int i = 0; i < run->gpu.launch_count; i++) {
        const struct vf_launch *launch = &run->gpu.launch[i];
        struct vf_kernel_work work;
        cr_expect_eq(launch->stage_begin, next, "%s: stage %d is left out", chain, next);
        next = launch->stage_end;
        cr_expect(isfinite(launch->choice.seconds) && launch->choice.seconds > 0, "%s", chain);
        cr_assert_eq(vf_kernel_work_open(&work, &run->gpu, &request, launch, &error), VF_OK, "%s",
                     error.text);
        cr_expect_null(vf_gpu_scheme_refuses(launch->choice.scheme, &work.c), "%s", chain);
        cr_expect_null(launch->choice.scheme->forbids(&work.c, &p->gpu, &launch->choice.config), "%s", chain);
        for (int k = 0; k < work.flow.source_count; k++)
            cr_expect(work.source[k].place == VF_PLACE_SOURCE ||
                          (work.source[k].place == VF_PLACE_SINK && stored[work.source[k].index]) ||
                          (work.source[k].place == VF_PLACE_SLOT && made[work.source[k].index]),
                      "%s: kernel %d reads what is not there", chain, i);
        for (int k = 0; k < work.flow.sink_count; k++)
            if (work.sink[k].place == VF_PLACE_SINK)
                stored[work.sink[k].index] = true;
            else
                made[work.sink[k].index] = true;
        vf_kernel_work_close(&work);
    }
    cr_expect_eq(next, flow.stage_count, "%s", chain);
    for (int k = 0; k < flow.sink_count; k++)
        cr_expect(stored[k], "%s: sink %d is not written", chain, k);
    vf_flow_close(&flow);
}

Test(gpu_plan, kernels_take_every_stage_once)
{
    for (int i = 0; i < COUNT(chains); i++)
        for (int dim = 2; dim <= 3; dim++) {
            struct planned p;
            if (UNDER_SANITIZERS && (i + dim) % 2 != 0)
                continue;
            planned_open(&p, chains[i], 300, 200, dim == 3 ? 100 : 1, NULL);
            for (int r = 0; r < p.plan.run_count; r++)
                expect_sound(&p, &p.plan.run[r], chains[i]);
            planned_close(&p);
        }
}

/* On a small grid a launch is what takes time: lines of six fields and eigenvectors in one kernel would save
 * two, and compile for 14 s where they take 4 apart. */
Test(gpu_plan, what_is_long_apart_is_not_fused_for_a_small_grid)
{
    struct planned p;
    struct vf_flow flow;
    struct vf_error error = {.text = ""};
    planned_open(&p, "eed:rho=5:mode=line:k=3:iterations=1", 5, 200, 3, NULL);
    cr_assert_eq(vf_plan_flow(&p.plan, &p.plan.run[0], NULL, &flow, &error), VF_OK, "%s", error.text);
    for (int i = 0; i < p.plan.run[0].gpu.launch_count; i++) {
        const struct vf_launch *launch = &p.plan.run[0].gpu.launch[i];
        const char *first = flow.stage[launch->stage_begin].name,
                   *last = flow.stage[launch->stage_end - 1].name;
        cr_expect(first[0] != 'R' || last[0] == 'R', "%s to %s in one", first, last);
    }
    vf_flow_close(&flow);
    planned_close(&p);
}

Test(gpu_plan, iterations_are_cut_where_runs_get_long)
{
    struct planned p;
    planned_open(&p, "perona-malik:k=3:iterations=20", 64, 64, 64, NULL);
    int iterations = 0;
    for (int r = 0; r < p.plan.run_count; r++) {
        const struct vf_piece *piece = &p.plan.piece[p.plan.run[r].piece_begin];
        cr_expect_leq(piece->count, 8);
        iterations += piece->count;
    }
    cr_expect_eq(iterations, 20);
    planned_close(&p);
}

/* Runs that are alike share their kernels, which are chosen once. */
Test(gpu_plan, many_iterations)
{
    if (UNDER_SANITIZERS)
        cr_skip_test("others plan as much");
    struct planned few, many;
    planned_open(&few, "and:iterations=34", 300, 200, 100, NULL);
    planned_open(&many, "and:iterations=9994", 300, 200, 100, NULL);
    cr_expect_eq(many.plan.weighed, few.plan.weighed, "%ld, %ld", many.plan.weighed, few.plan.weighed);
    cr_expect_eq(many.plan.run_count, 1 + 1250);
    for (int r = 3; r < many.plan.run_count - 1; r++) {
        cr_expect(many.plan.run[r].repeats);
        cr_expect_eq(many.plan.run[r].gpu.launch, many.plan.run[2].gpu.launch);
        cr_expect_eq(many.plan.run[r].split, many.plan.run[2].split);
    }
    for (int r = 0; r < few.plan.run_count; r++)
        expect_sound(&few, &few.plan.run[r], "and:iterations=34");
    planned_close(&few);
    planned_close(&many);
}

/* So do those of iterations that have a pre-pass each. */
Test(gpu_plan, many_iterations_and_prepasses)
{
    struct planned few, many;
    planned_open(&few, "srad:iterations=5", 300, 200, 100, NULL);
    planned_open(&many, "srad:iterations=3000", 300, 200, 100, NULL);
    cr_expect_eq(many.plan.weighed, few.plan.weighed, "%ld, %ld", many.plan.weighed, few.plan.weighed);
    cr_expect_eq(many.plan.run_count, 1 + 2 * 3000);
    for (int r = 5; r < many.plan.run_count - 1; r++) {
        cr_expect_eq(many.plan.run[r].repeats, 2);
        cr_expect_eq(many.plan.run[r].gpu.launch, many.plan.run[r - 2].gpu.launch);
    }
    planned_close(&few);
    planned_close(&many);
}

Test(gpu_plan, volumes_between_runs_stay_where_they_fit)
{
    struct planned p;
    planned_open(&p, "perona-malik:k=3:iterations=20", 512, 512, 512, NULL);
    cr_expect(p.plan.resident);
    cr_expect_eq(p.plan.between_bytes, 0);
    planned_close(&p);
    /* 16 GiB a field of float32. */
    planned_open(&p, "perona-malik:k=3:iterations=20", 2048, 2048, 1024, NULL);
    cr_expect(p.plan.resident);
    planned_close(&p);
    /* 256 GiB a field. */
    planned_open(&p, "perona-malik:k=3:iterations=20", 4096, 4096, 4096, NULL);
    cr_expect_not(p.plan.resident);
    cr_expect_geq(p.plan.between_bytes, (size_t)1 << 38);
    planned_close(&p);
}

/* Bytes of working memory of the plan's last run on the CPU, which takes over. */
static size_t taken_over(const struct planned *p, size_t spare_bytes)
{
    enum { PLANES = 8 };
    const struct vf_plan *plan = &p->plan;
    struct vf_error error = {.text = ""};
    struct vf_room room = {0};
    struct vf_flow flow;
    void *read[PLANES], *written[PLANES];
    cr_assert_leq(plan->nz, PLANES);
    uint16_t *in = vf_alloc((size_t)(plan->nx * plan->ny), sizeof *in, "a plane", &error);
    float *out = vf_alloc((size_t)(plan->nx * plan->ny), sizeof *out, "a plane", &error);
    cr_assert(in != NULL && out != NULL);
    memset(in, 0, (size_t)(plan->nx * plan->ny) * sizeof *in);
    for (int z = 0; z < PLANES; z++) {
        read[z] = in;
        written[z] = out;
    }
    const struct vf_array source = {.type = VF_U16, .plane = read};
    const struct vf_array result = {.type = VF_F32, .plane = written};
    const struct vf_sink sink = {.array = &result};
    cr_assert_eq(vf_plan_flow(plan, &plan->run[plan->run_count - 1], NULL, &flow, &error), VF_OK);
    struct vf_job job = {.flow = &flow,
                         .nx = plan->nx,
                         .ny = plan->ny,
                         .nz = plan->nz,
                         .batch = 1,
                         .z_end = plan->nz,
                         .source = &source,
                         .sink = &sink,
                         .threads = 1,
                         .room = &room};
    cr_assert_eq(vf_plan_run_on_cpu(plan, &job, spare_bytes, &error), VF_OK, "%s", error.text);
    const size_t bytes = room.bytes;
    vf_room_free(&room);
    vf_flow_close(&flow);
    vf_free(in);
    vf_free(out);
    return bytes;
}

Test(gpu_plan, a_cpu_that_takes_over_keeps_to_the_memory)
{
    struct planned p;
    planned_open(&p, "gaussian:sigma=3", 512, 512, 8, NULL);
    const size_t most = taken_over(&p, SIZE_MAX);
    cr_expect_leq(taken_over(&p, most / 4), most / 4);
    /* Where no tiles are so small, those that take least. */
    cr_expect_leq(taken_over(&p, 0), most / 8);
    planned_close(&p);
}

/* Of a stored field that a later kernel reads, which no filter makes. */
Test(gpu_plan, what_is_stored_takes_no_slot)
{
    struct planned p;
    struct vf_flow flow;
    struct vf_error error = {.text = ""};
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    struct vf_gpu_plan kernels;
    planned_open(&p, "gaussian", 64, 64, 32, "global-read");
    cr_assert_eq(vf_plan_flow(&p.plan, &p.plan.run[0], NULL, &flow, &error), VF_OK, "%s", error.text);
    int sink[] = {flow.sink[0], flow.stage[0].output[0]};
    struct vf_flow both = flow;
    both.sink = sink;
    both.sink_count = COUNT(sink);
    vf_plan_gpu_request(&p.plan, &p.plan.run[0], &both, &types, &request);
    cr_assert_eq(vf_gpu_plan_open(&kernels, &request, &error), VF_OK, "%s", error.text);
    cr_expect_eq(kernels.launch_count, 3);
    cr_expect_eq(kernels.slot_count, 1);
    vf_gpu_plan_close(&kernels);
    vf_flow_close(&flow);
    planned_close(&p);
}

/* A median is one of the image's integers, and stored as such; so is one of those, and what follows reads
 * them. */
Test(gpu_plan, medians_of_integers_stay_such_between_kernels)
{
    static const enum vf_type stored[] = {VF_U16, VF_U16, VF_F32, VF_F32};
    struct planned p;
    struct vf_flow flow;
    struct vf_error error = {.text = ""};
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    planned_open(&p, "median,median:radius=2,gradient,median", 100, 90, 60, NULL);
    cr_assert_eq(p.plan.run_count, 1);
    const struct vf_run *run = &p.plan.run[0];
    cr_assert_eq(run->gpu.launch_count, COUNT(stored));
    cr_assert_eq(vf_plan_flow(&p.plan, run, NULL, &flow, &error), VF_OK, "%s", error.text);
    vf_plan_gpu_request(&p.plan, run, &flow, &types, &request);
    for (int i = 0; i < COUNT(stored); i++) {
        struct vf_kernel_work work;
        cr_assert_eq(vf_kernel_work_open(&work, &run->gpu, &request, &run->gpu.launch[i], &error), VF_OK,
                     "%s", error.text);
        cr_expect_eq(work.c.source_type[0], i > 0 ? stored[i - 1] : VF_U16, "kernel %d", i);
        cr_expect_eq(work.c.sink_type[0], stored[i], "kernel %d", i);
        vf_kernel_work_close(&work);
    }
    vf_flow_close(&flow);
    planned_close(&p);
    planned_open(&p, "median,perona-malik:iterations=1,median", 100, 90, 60, NULL);
    cr_assert_eq(p.plan.run_count, 3);
    cr_expect_eq(p.plan.run[0].sink_type, VF_U16);
    cr_expect_eq(p.plan.run[1].source_type, VF_U16, "a pre-pass");
    cr_expect_eq(p.plan.run[2].source_type, VF_U16);
    planned_close(&p);
}

Test(gpu_plan, grids_beyond_a_launch_are_flat)
{
    struct planned p;
    planned_open(&p, "gradient", 64, 64, 100000, "global-read:block=32x4x1:work=1x1x1");
    cr_expect(p.plan.run[0].gpu.launch[0].choice.config.flat_grid);
    planned_close(&p);
}

/* ---- single kernels ---- */

Test(gpu_plan, equal_cases_have_equal_texts_and_parameters_are_not_in_them)
{
    static const char *const pairs[][2] = {
        {"perona-malik:k=3:iterations=1", "perona-malik:k=70:iterations=1"},
        {"gaussian:sigma=1.1", "gaussian:sigma=1"}};
    for (int i = 0; i < COUNT(pairs); i++) {
        struct vf_text text[2] = {{0}, {0}};
        for (int side = 0; side < 2; side++) {
            struct planned_kernel k;
            struct vf_error error = {.text = ""};
            planned_kernel_open(&k, pairs[i][side], 100, 100, 50, "global-read");
            cr_assert_eq(vf_kernel_source(&k.work.c, k.launch->choice.scheme, &k.launch->choice.config,
                                          &text[side], &error),
                         VF_OK);
            planned_kernel_close(&k);
        }
        cr_expect_str_eq(text[0].data, text[1].data);
        vf_text_free(&text[0]);
        vf_text_free(&text[1]);
    }
}

/* What the model takes for the chain's kernel if it reads floats. */
static struct vf_ranked best_of_floats(const char *chain, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz)
{
    struct planned_kernel k;
    struct vf_ranked best;
    planned_kernel_open(&k, chain, nx, ny, nz, NULL);
    k.work.c.source_type[0] = VF_F32;
    cr_assert(vf_gpu_choose(&k.work.c, &k.p.gpu, NULL, &best), "%s", chain);
    planned_kernel_close(&k);
    return best;
}

/* As was measured on an H200: images that are read once go by tiles, large ones with four rows a thread, and
 * lines in volumes that leave tiles little halo; other volumes by streams. */
Test(gpu_plan, images_of_one_pass_go_by_tiles)
{
    static const char *const of_images[] = {"gradient", "laplacian", "median"};
    for (int i = 0; i < COUNT(of_images); i++) {
        const struct vf_ranked best = best_of_floats(of_images[i], 8192, 8192, 1);
        cr_expect_str_eq(best.scheme->name, "big-tile", "%s: %s", of_images[i], best.scheme->name);
        cr_expect_eq(best.config.work[1], 4, "%s: %d", of_images[i], best.config.work[1]);
    }
    static const char *const of_volumes[][2] = {{"gradient", "register-stream"},
                                                {"gaussian:sigma=1x0x0", "big-tile"},
                                                {"gaussian:sigma=0x1x0", "big-tile"},
                                                {"gaussian:sigma=0x0x1", "associative"}};
    for (int i = 0; i < COUNT(of_volumes); i++) {
        const char *const name = best_of_floats(of_volumes[i][0], 512, 512, 512).scheme->name;
        cr_expect_str_eq(name, of_volumes[i][1], "%s: %s", of_volumes[i][0], name);
    }
}

/* As was measured on an H200: stars of 13 points, boxes of 27 and bodies that take no roots are fastest with
 * all blocks in the same planes, where there is a tile for nearly every multiprocessor and for no more;
 * elsewhere the many planes on their way cost time. */
Test(gpu_plan, short_reaches_go_in_step)
{
    static const char *const short_chains[] = {"convolve:tests/weights/star-2.txt",
                                               "convolve:tests/weights/3x3x3.txt", "laplacian"};
    static const int grids[][4] = {
        {512, 512, 512, 1}, {511, 511, 511, 1}, {600, 480, 300, 0}, {256, 256, 256, 0}, {1023, 1023, 511, 0}};
    for (int i = 0; i < COUNT(short_chains) * COUNT(grids); i++) {
        const char *const chain = short_chains[i / COUNT(grids)];
        const int *const n = grids[i % COUNT(grids)];
        const struct vf_ranked best = best_of_floats(chain, n[0], n[1], n[2]);
        const bool is_star = strcmp(best.scheme->name, "star-stream") == 0,
                   is_far = is_star && strcmp(best.scheme->variants[best.config.variant], "far") == 0;
        cr_expect_eq(is_far, n[3], "%s %d: %s", chain, n[0], best.scheme->name);
        cr_expect(!is_far || best.config.stream == n[2], "%s %d: %d", chain, n[0], best.config.stream);
    }
}

/* Of 100 x rows x planes cells. */
static void check_chunks(const char *chain, const char *scheme, ptrdiff_t rows, ptrdiff_t planes,
                         const int *stream, int count)
{
    struct planned_kernel k;
    struct vf_ranked list[8];
    planned_kernel_open(&k, chain, 100, rows, planes, scheme);
    const struct vf_ranked of = {.scheme = k.launch->choice.scheme, .config = k.launch->choice.config};
    cr_expect_eq(vf_gpu_rechunk(&k.work.c, &k.p.gpu, &of, list, COUNT(list)), count, "%s", scheme);
    for (int i = 0; i < count; i++) {
        cr_expect_eq(list[i].config.stream, stream[i], "%s: %d for %d", scheme, list[i].config.stream,
                     stream[i]);
        list[i].config.stream = of.config.stream;
        cr_expect(vf_config_equal(&list[i].config, &of.config), "%s: more than the chunks differs", scheme);
    }
    planned_kernel_close(&k);
}

Test(gpu_plan, other_chunks_of_a_configuration)
{
#define CHUNKS(chain, scheme, rows, planes, ...) \
    check_chunks(chain, scheme, rows, planes, (const int[]){__VA_ARGS__}, COUNT(((const int[]){__VA_ARGS__})))
    CHUNKS("gradient", "register-stream:variant=shared:block=32x4:work=4x1x1:stream=64", 100, 512, 128, 86,
           43, 32, 16);
    CHUNKS("gradient", "register-stream:variant=shared:block=32x4:work=4x1x1:stream=700", 100, 300, 150, 75);
    CHUNKS("gradient", "register-stream:variant=shared:block=32x4:work=4x1x1:stream=2", 100, 3, 3, 1);
    check_chunks("gradient", "global-read", 100, 512, NULL, 0);
    CHUNKS("gaussian:sigma=4",
           "GX=separable-stream:block=64x1:work=4x1x1:stream=150,GY=separable-stream:block=64x1:work=4x1x1:"
           "stream=150",
           300, 40, 300, 100, 75, 38);
#undef CHUNKS
}

/* Seconds that the kernel is predicted to take with that stream. */
static double predicted(const struct planned_kernel *k, int stream)
{
    struct vf_kernel_config config = k->launch->choice.config;
    config.stream = stream;
    return vf_gpu_predict(&k->work.c, &k->p.gpu, k->launch->choice.scheme, &config, 0, NULL);
}

/* Where a scheme's registers are unsure, what is predicted lies between few and many of them. */
Test(gpu_plan, registers_that_are_a_guess)
{
    static const char *const schemes[] = {"register-stream:variant=direct:block=32x4:work=4x2:stream=16",
                                          "global-read"};
    bool are_unsure = false;
    for (int i = 0; i < COUNT(schemes); i++) {
        struct planned_kernel k;
        struct vf_kernel_traffic t = {.steps = 1, .loads_in_flight = 1};
        planned_kernel_open(&k, "perona-malik:k=9:iterations=1", 512, 512, 512, schemes[i]);
        const struct vf_gpu_scheme *const scheme = k.launch->choice.scheme;
        const struct vf_kernel_config *const config = &k.launch->choice.config;
        scheme->tile(&k.work.c, config, t.tile);
        scheme->traffic(&k.work.c, &k.p.gpu, config, &t);
        const double few = vf_gpu_predict(&k.work.c, &k.p.gpu, scheme, config, t.registers, NULL),
                     many = vf_gpu_predict(&k.work.c, &k.p.gpu, scheme, config,
                                           t.registers + scheme->unsure_registers, NULL);
        are_unsure = are_unsure || few != many;
        cr_expect_float_eq(vf_gpu_predict(&k.work.c, &k.p.gpu, scheme, config, 0, NULL), (few + many) / 2,
                           1e-12, "%s: %g, %g", schemes[i], few, many);
        planned_kernel_close(&k);
    }
    cr_expect(are_unsure);
}

/* Whole steps of the longest axis that there can be are more than an int, and so is one plane more. */
Test(gpu_plan, streams_end_within_an_int)
{
    static const char *const cases[][2] = {{"gaussian:sigma=0x0x20", "long-line"},
                                           {"gaussian", "separable-stream"},
                                           {"gradient", "register-stream"},
                                           {"ced:C=1:iterations=1", NULL}};
    for (int i = 0; i < COUNT(cases); i++) {
        struct vf_kernel_config list[512];
        struct planned_kernel k;
        int longest = 0;
        planned_kernel_open(&k, cases[i][0], 64, 1, INT_MAX, cases[i][1]);
        const int count = k.launch->choice.scheme->candidates(&k.work.c, &k.p.gpu, list, 512);
        for (int c = 0; c < count; c++)
            longest = list[c].stream > longest ? list[c].stream : longest;
        cr_expect_leq(longest, VF_MOST_STREAM);
        if (i == 0)
            cr_expect_gt(longest, VF_MOST_STREAM / 2);
        planned_kernel_close(&k);
    }
}

Test(gpu_plan, a_grid_thinner_than_a_step_takes_one)
{
    struct planned_kernel k;
    struct vf_kernel_traffic t = {.threads = 128, .steps = 1, .loads_in_flight = 1};
    planned_kernel_open(&k, "gradient", 4096, 1, 1, "sliding-tile");
    struct vf_kernel_config config = k.launch->choice.config;
    config.stream = 1;
    k.launch->choice.scheme->tile(&k.work.c, &config, t.tile);
    vf_gpu_tiles(&k.work.c, k.launch->choice.scheme, &config, t.blocks);
    k.launch->choice.scheme->traffic(&k.work.c, &k.p.gpu, &config, &t);
    cr_expect_eq(t.steps, 1);
    cr_expect(isfinite(t.loads_in_flight));
    planned_kernel_close(&k);
}

Test(gpu_plan, a_stream_ends_with_the_grid)
{
    static const struct {
        const char *chain, *scheme;
        int extent;
    } streams[] = {{"gradient", "register-stream:variant=direct", 60},
                   {"gradient", "register-stream:variant=shared", 60},
                   {"gradient", "sliding-tile:variant=z", 60},
                   {"gradient", "time-tile", 60},
                   {"gaussian:sigma=0.01x0.01x1", "associative", 60},
                   {"gaussian:sigma=2x0.01x0.01", "long-line", 90},
                   {"gaussian:sigma=0.01x2x0.01", "long-line", 90},
                   {"gaussian:sigma=0.01x0.01x2", "long-line", 60},
                   {"gaussian:sigma=1", "separable-stream", 60},
                   {"perona-malik:k=9:iterations=2", "field-stream", 60}};
    for (int i = 0; i < COUNT(streams); i++) {
        struct planned_kernel k;
        planned_kernel_open(&k, streams[i].chain, 100, 90, 60, streams[i].scheme);
        const int all = streams[i].extent;
        const double seconds = predicted(&k, all);
        cr_expect_float_eq(predicted(&k, 4 * all), seconds, 1e-12, "%s, %s: %g for %g", streams[i].chain,
                           streams[i].scheme, predicted(&k, 4 * all), seconds);
        cr_expect_neq(predicted(&k, all / 2), seconds, "%s, %s", streams[i].chain, streams[i].scheme);
        planned_kernel_close(&k);
    }
}

/* The texts of a run's kernels, one after another, with the plan's global values; whether one of them takes
 * values of several fields. */
static struct vf_text texts_of(const struct planned *p, const struct vf_run *run, const double *value,
                               bool *of_several)
{
    struct vf_text text = {0};
    struct vf_flow flow;
    struct vf_error error;
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    cr_assert_eq(vf_plan_flow(&p->plan, run, value, &flow, &error), VF_OK, "%s", error.text);
    vf_plan_gpu_request(&p->plan, run, &flow, &types, &request);
    for (int i = 0; i < run->gpu.launch_count; i++) {
        const struct vf_launch *launch = &run->gpu.launch[i];
        struct vf_kernel_work work;
        cr_assert_eq(vf_kernel_work_open(&work, &run->gpu, &request, launch, &error), VF_OK, "%s",
                     error.text);
        cr_assert_eq(vf_kernel_source(&work.c, launch->choice.scheme, &launch->choice.config, &text, &error),
                     VF_OK, "%s", error.text);
        for (int s = 0; s < work.flow.stage_count; s++)
            for (int k = 0; k < VF_MAX_STENCIL_PARAMS; k++)
                *of_several = *of_several || work.flow.stage[s].global[k] > 1;
        vf_kernel_work_close(&work);
    }
    vf_flow_close(&flow);
    return text;
}

/* A kernel that is compiled for one image, or before there is one, does for all: which global values happen
 * to be equal is not in its text. */
Test(gpu_plan, kernels_do_not_hang_on_the_image)
{
    struct planned p;
    bool of_several = false;
    planned_open(&p, "gradient:output=components,perona-malik:iterations=1", 300, 200, 1, NULL);
    const size_t count = vf_plan_value_count(&p.plan);
    double value[4][VF_MAX_LIVE * VF_MAX_GLOBALS];
    cr_assert_leq(count, COUNT(value[0]));
    for (size_t i = 0; i < count; i++) {
        value[0][i] = 0;
        value[1][i] = 1;
        value[2][i] = (double)i + 2;
        value[3][i] = i % 2 == 0 ? NAN : 3;
    }
    for (int r = 0; r < p.plan.run_count; r++) {
        struct vf_text planned = texts_of(&p, &p.plan.run[r], NULL, &of_several);
        for (int i = 0; i < COUNT(value); i++) {
            struct vf_text text = texts_of(&p, &p.plan.run[r], value[i], &of_several);
            cr_expect_str_eq(text.data, planned.data, "run %d, values %d", r, i);
            vf_text_free(&text);
        }
        vf_text_free(&planned);
    }
    cr_expect(of_several);
    planned_close(&p);
}

/* A value may be NaN, as a contrast of no weight in a range beyond double. */
Test(gpu_plan, parameters_that_are_not_numbers)
{
    struct planned p;
    struct vf_flow flow;
    struct vf_error error;
    planned_open(&p, "ced:iterations=2", 64, 64, 32, NULL);
    cr_assert_eq(vf_plan_flow(&p.plan, &p.plan.run[p.plan.run_count - 1], NULL, &flow, &error), VF_OK, "%s",
                 error.text);
    for (int s = 0; s < flow.stage_count; s++)
        if (flow.stage[s].stencil != VF_STENCIL_LINEAR)
            flow.stage[s].param[0] = NAN;
    int most = 0;
    for (int s = 0; s < flow.stage_count; s++)
        most += vf_stage_param_count(&flow.stage[s]);
    for (int s = 0; s < flow.stage_count; s++)
        cr_expect_lt(vf_stage_first_param(&flow, s), most);
    vf_flow_close(&flow);
    planned_close(&p);
}

/* As many planes as a run reaches to on one side must fit beside those. */
Test(gpu_plan, runs_are_as_short_as_the_device_needs)
{
    if (UNDER_SANITIZERS)
        cr_skip_test("others plan as much");
    static const struct {
        size_t memory;
        int least, most;
    } cases[] = {{0, 8, 8}, {(size_t)4 << 30, 2, 4}, {(size_t)64 << 20, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct planned p;
        struct vf_error error = {.text = ""};
        cr_assert_eq(planned_try(&p, cases[i].memory, "ced:iterations=8", 512, 512, 400, NULL, &error), VF_OK,
                     "%s", error.text);
        const int longest = vf_plan_longest_run(&p.plan);
        cr_expect(longest >= cases[i].least && longest <= cases[i].most, "case %zu: %d", i, longest);
        planned_close(&p);
    }
}
