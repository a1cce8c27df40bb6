#include "bench_gpu_compile.h"

#include <stdio.h>

#include "clock.h"
#include "kernel_source.h"

char *bench_kernel_text(const struct bench_row *row, const struct vf_launch *launch)
{
    struct vf_kernel_work work;
    struct vf_text text = {0};
    struct vf_error error;
    bench_must(vf_kernel_work_open(&work, &row->plan[0], &row->request, launch, &error), &error);
    bench_must(vf_kernel_source(&work.c, launch->choice.scheme, &launch->choice.config, &text, &error),
               &error);
    vf_kernel_work_close(&work);
    return text.data;
}

void bench_texts_add(void *list, const struct bench_row *row)
{
    const struct vf_gpu_plan *plan = &row->plan[0];
    struct vf_error error;
    for (int i = 0; i < plan->launch_count; i++)
        bench_must(vf_kernel_list_add(list, bench_kernel_text(row, &plan->launch[i]), &error), &error);
}

void bench_texts_compile(struct vf_kernel_list *list, struct vf_cuda *cuda)
{
    const double begin = vf_now();
    const int compiled = vf_kernel_list_compile(list, cuda, SIZE_MAX);
    fprintf(stderr, "%d kernels, %d of them compiled, in %.1f s\n", list->count, compiled, vf_now() - begin);
    vf_kernel_list_free(list);
}
