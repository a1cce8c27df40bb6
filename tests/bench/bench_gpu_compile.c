#include "bench_gpu_compile.h"

#include <stdio.h>

#include "clock.h"
#include "kernel_source.h"

void bench_texts_add(void *list, const struct bench_row *row)
{
    const struct vf_gpu_plan *plan = &row->plan[0];
    struct vf_error error;
    for (int i = 0; i < plan->launch_count; i++) {
        const struct vf_launch *launch = &plan->launch[i];
        struct vf_kernel_work work;
        struct vf_text text = {0};
        bench_must(vf_kernel_work_open(&work, plan, &row->request, launch, &error), &error);
        bench_must(vf_kernel_source(&work.c, launch->choice.scheme, &launch->choice.config, &text, &error),
                   &error);
        bench_must(vf_kernel_list_add(list, text.data, &error), &error);
        vf_kernel_work_close(&work);
    }
}

void bench_texts_compile(struct vf_kernel_list *list, struct vf_cuda *cuda)
{
    const double begin = vf_now();
    const int compiled = vf_kernel_list_compile(list, cuda, SIZE_MAX);
    fprintf(stderr, "%d kernels, %d of them compiled, in %.1f s\n", list->count, compiled, vf_now() - begin);
    vf_kernel_list_free(list);
}
