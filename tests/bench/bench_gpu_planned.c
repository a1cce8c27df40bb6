#include "bench_gpu_planned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "bench_gpu_compile.h"
#include "tests/model_gpu.h"

void bench_planned_open(struct bench_planned *planned, const char *folder)
{
    static const struct vf_cache none; /* of what a user has tuned */
    struct vf_error error;
    *planned = (struct bench_planned){.gpu = h200, .folder = folder};
    bench_must(vf_tuning_open(&planned->tuning, &none, &error), &error);
    planned->gpu.tuning = &planned->tuning;
    if (folder != NULL)
        bench_must(vf_nvrtc_api_open(&planned->nvrtc, &error), &error);
}

void bench_planned_close(struct bench_planned *planned)
{
    if (planned->folder != NULL)
        vf_nvrtc_api_close(&planned->nvrtc);
    vf_tuning_free(&planned->tuning);
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

static void print_kernel(const struct bench_row *row, const struct vf_launch *launch)
{
    char grid[BENCH_GRID_TEXT];
    struct vf_text scheme = {0};
    vf_tuning_write_scheme(launch->choice.scheme, &launch->choice.config, &scheme);
    bench_grid_text((struct bench_grid){row->request.nx, row->request.ny, row->request.nz}, grid);
    printf("%s %s T %d by %s: %s, predicted %.4f ms", row->flow->item->name, grid, row->flow->steps, row->by,
           scheme.data, launch->choice.seconds * 1e3);
    vf_text_free(&scheme);
}

/* Compiles the kernel for an H200 and prints where its machine code is. */
static void write_kernel(struct bench_planned *planned, const struct bench_row *row,
                         const struct vf_launch *launch)
{
    char *const text = bench_kernel_text(row, launch), path[PATH_MAX];
    struct vf_error error;
    void *cubin;
    size_t bytes;
    bench_must(vf_nvrtc_compile(&planned->nvrtc, text, "kernel.cu", vf_kernel_texts, vf_kernel_text_count,
                                "sm_90", &cubin, &bytes, &error),
               &error);
    snprintf(path, sizeof path, "%s/%s.%d.cubin", planned->folder, row->flow->item->name, planned->count);
    write_file(path, cubin, bytes);
    printf(": %s", path);
    vf_free(cubin);
    vf_free(text);
}

void bench_planned_add(void *context, const struct bench_row *row)
{
    struct bench_planned *const planned = context;
    const struct vf_gpu_plan *const plan = &row->plan[0];
    for (int i = 0; i < plan->launch_count; i++) {
        if (plan->launch[i].alike != i)
            continue;
        print_kernel(row, &plan->launch[i]);
        if (planned->folder != NULL)
            write_kernel(planned, row, &plan->launch[i]);
        printf("\n");
        planned->count++;
    }
}
