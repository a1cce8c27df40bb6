#include "bench_gpu_cubins.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "kernel_source.h"
#include "tests/model_gpu.h"

void bench_cubins_open(struct bench_cubins *cubins, const char *folder)
{
    static const struct vf_cache none; /* of what a user has tuned */
    struct vf_error error;
    *cubins = (struct bench_cubins){.gpu = h200, .folder = folder};
    bench_must(vf_nvrtc_api_open(&cubins->nvrtc, &error), &error);
    bench_must(vf_tuning_open(&cubins->tuning, &none, &error), &error);
    cubins->gpu.tuning = &cubins->tuning;
}

void bench_cubins_close(struct bench_cubins *cubins)
{
    vf_nvrtc_api_close(&cubins->nvrtc);
    vf_tuning_free(&cubins->tuning);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *const file = fopen(path, "wb");
    const bool written = file != NULL && fwrite(bytes, 1, count, file) == count;
    if ((file != NULL && fclose(file) != 0) || !written) {
        fprintf(stderr, "bench-gpu: %s: %s\n", path, strerror(errno));
        exit(1);
    }
}

/* The kernel's scheme, and where its machine code is. */
static void print_kernel(const struct bench_row *row, const struct vf_launch *launch, const char *path)
{
    char grid[BENCH_GRID_TEXT];
    struct vf_text scheme = {0};
    vf_tuning_write_scheme(launch->choice.scheme, &launch->choice.config, &scheme);
    bench_grid_text((struct bench_grid){row->request.nx, row->request.ny, row->request.nz}, grid);
    printf("%s %s T %d by %s: %s, predicted %.4f ms: %s\n", row->flow->item->name, grid, row->flow->steps,
           row->by, scheme.data, launch->choice.seconds * 1e3, path);
    vf_text_free(&scheme);
}

static void add_kernel(struct bench_cubins *cubins, const struct bench_row *row,
                       const struct vf_launch *launch)
{
    const struct vf_gpu_plan *const plan = &row->plan[0];
    struct vf_kernel_work work;
    struct vf_text text = {0};
    struct vf_error error;
    char path[PATH_MAX];
    void *cubin;
    size_t bytes;
    bench_must(vf_kernel_work_open(&work, plan, &row->request, launch, &error), &error);
    bench_must(vf_kernel_source(&work.c, launch->choice.scheme, &launch->choice.config, &text, &error),
               &error);
    bench_must(vf_nvrtc_compile(&cubins->nvrtc, text.data, "kernel.cu", vf_kernel_texts, vf_kernel_text_count,
                                "sm_90", &cubin, &bytes, &error),
               &error);
    snprintf(path, sizeof path, "%s/%s.%d.cubin", cubins->folder, row->flow->item->name, cubins->count++);
    write_file(path, cubin, bytes);
    print_kernel(row, launch, path);
    vf_free(cubin);
    vf_text_free(&text);
    vf_kernel_work_close(&work);
}

void bench_cubins_add(void *cubins, const struct bench_row *row)
{
    const struct vf_gpu_plan *const plan = &row->plan[0];
    for (int i = 0; i < plan->launch_count; i++)
        if (plan->launch[i].alike == i)
            add_kernel(cubins, row, &plan->launch[i]);
}
