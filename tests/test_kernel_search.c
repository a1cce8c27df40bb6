/* What is measured of a kernel's configurations. Nothing runs: a function says what each takes. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernel_search.h"
#include "model_gpu.h"
#include "plan.h"

#define MOST_MEASURED 600

/* gradient of 256^3 float32, and a device that is made up. */
struct fixture {
    struct vf_chain chain;
    struct vf_plan plan;
    struct vf_flow flow;
    struct vf_kernel_work work;
    struct vf_search search;
    double (*takes)(const struct vf_ranked *choice);
    enum vf_status fails;
    int count;
    struct vf_ranked measured[MOST_MEASURED];
    struct vf_ranked best; /* what was found, and how many were tried for it */
    int tried;
};

static enum vf_status measure(void *context, const struct vf_ranked *choice, int count, double *seconds,
                              struct vf_error *error)
{
    struct fixture *f = context;
    cr_assert(count <= VF_SEARCH_AT_ONCE && f->count + count <= MOST_MEASURED);
    for (int i = 0; i < count; i++) {
        seconds[i] = f->takes(&choice[i]);
        f->measured[f->count++] = choice[i];
    }
    return f->fails == VF_OK ? VF_OK : vf_fail(error, f->fails, "the device is lost");
}

static void open_fixture(struct fixture *f, double (*takes)(const struct vf_ranked *choice))
{
    struct vf_error error = {.text = ""};
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    memset(f, 0, sizeof *f);
    const struct vf_plan_request asked = {.chain = &f->chain,
                                          .context = {.dim = 3, .aspect = {1, 1, 1}},
                                          .nx = 256,
                                          .ny = 256,
                                          .nz = 256,
                                          .batch = 1,
                                          .threads = 1,
                                          .gpu = &h200,
                                          .source_type = VF_F32,
                                          .result_type = VF_F32};
    cr_assert_eq(vf_chain_append(&f->chain, "gradient", &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_plan_open(&f->plan, &asked, &error), VF_OK, "%s", error.text);
    const struct vf_run *run = &f->plan.run[0];
    cr_assert_eq(vf_plan_flow(&f->plan, run, NULL, &f->flow, &error), VF_OK, "%s", error.text);
    vf_plan_gpu_request(&f->plan, run, &f->flow, &types, &request);
    cr_assert_eq(vf_kernel_work_open(&f->work, &run->gpu, &request, &run->gpu.launch[0], &error), VF_OK, "%s",
                 error.text);
    f->takes = takes;
    f->search = (struct vf_search){&f->work.c, &h200, &run->gpu.launch[0], measure, f};
}

static void close_fixture(struct fixture *f)
{
    vf_kernel_work_close(&f->work);
    vf_flow_close(&f->flow);
    vf_plan_close(&f->plan);
    vf_chain_free(&f->chain);
}

static void run(struct fixture *f)
{
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_search_run(&f->search, &f->best, &f->tried, &error), VF_OK, "%s", error.text);
    cr_expect_eq(f->tried, f->count);
}

static double apart(int a, int b)
{
    return fabs(log2((double)a / b));
}

/* One row a thread by blocks of 16 x 8, as on an H100; what is less like it takes longer, other schemes
 * longest. */
static double one_row(const struct vf_ranked *choice)
{
    const struct vf_kernel_config *c = &choice->config;
    if (strcmp(choice->scheme->name, "register-stream") != 0 || c->variant != 0)
        return 9;
    return 1 + 0.1 * (apart(c->block[0], 16) + apart(c->block[1], 8) + apart(c->work[0], 4) +
                      apart(c->work[1], 1) + 0.2 * apart(c->stream, 64));
}

static double as_predicted(const struct vf_ranked *choice)
{
    return choice->seconds > 0 ? choice->seconds : 1;
}

static double for_ever(const struct vf_ranked *choice)
{
    (void)choice;
    return INFINITY;
}

Test(kernel_search, what_is_predicted_badly_is_found_by_what_is_like_it)
{
    static struct fixture f;
    static struct vf_ranked all[MOST_MEASURED];
    open_fixture(&f, one_row);
    const int count = vf_gpu_rank(&f.work.c, &h200, NULL, all, MOST_MEASURED);
    int place = 0;
    while (place < count && one_row(&all[place]) > 1.03)
        place++;
    cr_assert(place > 2 * VF_SEARCH_AT_ONCE && place < count, "%d of %d", place, count);
    run(&f);
    cr_expect_leq(f.best.seconds, 1.03);
    cr_expect_eq(f.best.seconds, one_row(&f.best));
    cr_expect(f.tried < count / 3, "%d of %d", f.tried, count);
    close_fixture(&f);
}

/* The plan's own is measured first, nothing twice, and where the model is right little else. */
Test(kernel_search, each_once)
{
    static struct fixture f;
    open_fixture(&f, as_predicted);
    struct vf_launch own = f.plan.run[0].gpu.launch[0];
    f.search.planned = &own;
    for (int offered = 1; offered >= 0; offered--) {
        if (!offered) /* 24 rows of threads are nowhere in the list */
            own.choice.config.block[1] = 24;
        f.count = 0;
        run(&f);
        cr_expect(f.measured[0].scheme == own.choice.scheme &&
                  vf_config_equal(&f.measured[0].config, &own.choice.config));
        cr_expect(f.tried >= VF_SEARCH_AT_ONCE && f.tried <= 3 * VF_SEARCH_AT_ONCE, "%d", f.tried);
        int twice = 0;
        for (int i = 0; i < f.count; i++)
            for (int k = 0; k < i; k++)
                twice += f.measured[i].scheme == f.measured[k].scheme &&
                         vf_config_equal(&f.measured[i].config, &f.measured[k].config);
        cr_expect_eq(twice, 0);
        for (int i = 0; i < f.count; i++)
            cr_expect_geq(as_predicted(&f.measured[i]), f.best.seconds);
    }
    close_fixture(&f);
}

Test(kernel_search, nothing_runs)
{
    static struct fixture f;
    struct vf_error error = {.text = ""};
    open_fixture(&f, for_ever);
    run(&f);
    cr_expect(isinf(f.best.seconds));
    cr_expect_eq(f.tried, VF_SEARCH_AT_ONCE);
    f.fails = VF_DEVICE;
    cr_expect_eq(vf_search_run(&f.search, &f.best, &f.tried, &error), VF_DEVICE);
    cr_expect_str_eq(error.text, "the device is lost");
    cr_expect_eq(f.tried, 0);
    close_fixture(&f);
}
