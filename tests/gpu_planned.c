#include "gpu_planned.h"

#include <criterion/criterion.h>

enum vf_status planned_try(struct planned *p, size_t memory, const char *chain, ptrdiff_t nx, ptrdiff_t ny,
                           ptrdiff_t nz, const char *scheme, struct vf_error *error)
{
    *p = (struct planned){.gpu = h200};
    if (memory > 0)
        p->gpu.memory = p->gpu.free_memory = memory;
    const struct vf_plan_request request = {.chain = &p->chain,
                                            .context = {.dim = nz > 1 ? 3 : 2, .aspect = {1, 1, 1}},
                                            .nx = nx,
                                            .ny = ny,
                                            .nz = nz,
                                            .batch = 1,
                                            .threads = 1,
                                            .gpu = &p->gpu,
                                            .source_type = VF_U16,
                                            .result_type = VF_F32,
                                            .scheme = scheme};
    cr_assert_eq(vf_chain_append(&p->chain, chain, error), VF_OK, "%s", error->text);
    return vf_plan_open(&p->plan, &request, error);
}

void planned_open(struct planned *p, const char *chain, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                  const char *scheme)
{
    struct vf_error error = {.text = ""};
    cr_assert_eq(planned_try(p, 0, chain, nx, ny, nz, scheme, &error), VF_OK, "%s: %s", chain, error.text);
}

void planned_close(struct planned *p)
{
    vf_plan_close(&p->plan);
    vf_chain_free(&p->chain);
}

void planned_kernel_open(struct planned_kernel *k, const char *chain, ptrdiff_t nx, ptrdiff_t ny,
                         ptrdiff_t nz, const char *scheme)
{
    struct vf_error error = {.text = ""};
    struct vf_gpu_request request;
    struct vf_gpu_types types;
    planned_open(&k->p, chain, nx, ny, nz, scheme);
    const struct vf_run *run = &k->p.plan.run[k->p.plan.run_count - 1];
    cr_assert_eq(vf_plan_flow(&k->p.plan, run, NULL, &k->flow, &error), VF_OK, "%s", error.text);
    vf_plan_gpu_request(&k->p.plan, run, &k->flow, &types, &request);
    k->launch = &run->gpu.launch[0];
    cr_assert_eq(vf_kernel_work_open(&k->work, &run->gpu, &request, k->launch, &error), VF_OK, "%s",
                 error.text);
}

void planned_kernel_close(struct planned_kernel *k)
{
    vf_kernel_work_close(&k->work);
    vf_flow_close(&k->flow);
    planned_close(&k->p);
}
