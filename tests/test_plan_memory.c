/* Plans that were made before: when they hold, and that they are the same. */
#include <criterion/criterion.h>
#include <string.h>

#include "model_gpu.h"
#include "plan_memory.h"
#include "sanitized.h"

static struct vf_chain chain;
static struct vf_plan_memory memory;

static void begin(void)
{
    struct vf_error error;
    cr_assert_eq(vf_chain_append(&chain, "gaussian,and:iterations=40", &error), VF_OK);
}

static void end(void)
{
    vf_plan_memory_free(&memory);
    vf_chain_free(&chain);
}

TestSuite(plan_memory, .init = begin, .fini = end);

static struct vf_plan_request request_for(const struct vf_gpu *gpu)
{
    return (struct vf_plan_request){.chain = &chain,
                                    .context = {.dim = 3, .aspect = {1, 1, 1}},
                                    .nx = 40,
                                    .ny = 30,
                                    .nz = 20,
                                    .batch = 1,
                                    .threads = 2,
                                    .gpu = gpu,
                                    .source_type = VF_U16,
                                    .result_type = VF_F32,
                                    .memory = &memory};
}

/* Returns how many runs were compared for the plan, which is left in *plan where that is not NULL. */
static long plan_it(const struct vf_plan_request *request, struct vf_plan *plan)
{
    struct vf_plan own;
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_plan_open(&own, request, &error), VF_OK, "%s", error.text);
    const long weighed = own.weighed;
    if (plan != NULL)
        *plan = own;
    else
        vf_plan_close(&own);
    return weighed;
}

static void expect_same_runs(const struct vf_plan *a, const struct vf_plan *b)
{
    cr_assert_eq(a->piece_count, b->piece_count);
    cr_expect_arr_eq(a->piece, b->piece, (size_t)a->piece_count * sizeof *a->piece);
    cr_assert_eq(a->run_count, b->run_count);
    for (int r = 0; r < a->run_count; r++) {
        struct vf_run p = a->run[r], q = b->run[r];
        cr_assert_eq(p.gpu.launch_count, q.gpu.launch_count);
        cr_assert_eq(p.gpu.copy_count, q.gpu.copy_count);
        for (int i = 0; i < p.gpu.launch_count; i++)
            cr_expect_arr_eq(&p.gpu.launch[i], &q.gpu.launch[i], sizeof p.gpu.launch[i]);
        for (int i = 0; i < p.gpu.copy_count; i++)
            cr_expect_eq(p.gpu.copy[i], q.gpu.copy[i]);
        p.gpu.launch = q.gpu.launch = NULL;
        p.gpu.copy = q.gpu.copy = NULL;
        cr_expect_arr_eq(&p, &q, sizeof p, "run %d", r);
    }
    cr_expect_eq(a->between_bytes, b->between_bytes);
    cr_expect_eq(a->work_bytes, b->work_bytes);
    cr_expect_eq(a->resident, b->resident);
}

Test(plan_memory, the_same_request_has_the_same_plan)
{
    const struct vf_gpu gpu = h200;
    for (int i = 0; i < 2; i++) {
        const struct vf_plan_request request = request_for(i == 0 ? NULL : &gpu);
        struct vf_plan made, remembered;
        cr_expect_gt(plan_it(&request, &made), 0);
        cr_expect_eq(plan_it(&request, &remembered), 0);
        expect_same_runs(&made, &remembered);
        vf_plan_close(&made);
        vf_plan_close(&remembered);
        cr_expect_eq(plan_it(&request, NULL), 0, "it does not depend on the first one's memory");
    }
}

/* In each way that plans may differ in. */
Test(plan_memory, another_request_is_planned)
{
    if (UNDER_SANITIZERS)
        cr_skip_test("others plan as much");
    const struct vf_gpu gpu = h200;
    const struct vf_plan_request first = request_for(NULL);
    struct vf_chain copy = {0};
    struct vf_error error;
    struct vf_plan_request other[16];
    int count = 0;
    cr_assert_eq(vf_chain_append(&copy, "gaussian,and:iterations=41", &error), VF_OK);
    for (int i = 0; i < COUNT(other); i++)
        other[i] = first;
    other[count++].chain = &copy;
    other[count++].context.boundary = VF_REFLECT;
    other[count++].context.aspect[2] = 2;
    other[count++].context.is_double = true;
    memcpy(other[count].context.spacing, (double[3]){2, 2, 2}, sizeof other->context.spacing);
    memcpy(other[count++].context.spacing_known, (bool[3]){true, true, true},
           sizeof other->context.spacing_known);
    strcpy(other[count++].context.unit, "nm");
    other[count++].constant = 1;
    other[count++].nx = 41;
    other[count++].ny = 31;
    other[count++].nz = 21;
    other[count++].batch = 2;
    other[count++].threads = 1;
    other[count++].gpu = &gpu;
    other[count++].scheme = "reference";
    other[count++].most_fused = 1;
    for (int i = 0; i < count; i++) {
        vf_plan_memory_free(&memory);
        plan_it(&first, NULL);
        cr_expect_gt(plan_it(&other[i], NULL), 0, "request %d", i);
        cr_expect_eq(plan_it(&first, NULL), 0, "request %d", i);
        cr_expect_eq(plan_it(&other[i], NULL), 0, "request %d", i);
    }
    struct vf_plan_request typed = request_for(&gpu);
    plan_it(&typed, NULL);
    typed.source_type = VF_U8;
    cr_expect_gt(plan_it(&typed, NULL), 0);
    typed.result_type = VF_U8;
    cr_expect_gt(plan_it(&typed, NULL), 0);
    vf_chain_free(&copy);
}

Test(plan_memory, the_oldest_is_forgotten)
{
    struct vf_plan_request request = request_for(NULL);
    for (request.nx = 1; request.nx <= VF_REMEMBERED_PLANS + 1; request.nx++)
        cr_expect_gt(plan_it(&request, NULL), 0);
    for (request.nx = VF_REMEMBERED_PLANS + 1; request.nx > 1; request.nx--)
        cr_expect_eq(plan_it(&request, NULL), 0);
    cr_expect_gt(plan_it(&request, NULL), 0);
}
