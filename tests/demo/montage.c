/* A picture of two stacks: montage BEFORE AFTER OUT.png puts their middle slices side by side, three times
 * enlarged. Grey runs from the 1st to the 99.5th percentile of BEFORE's slice in both. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu_rows.h"
#include "src/alloc.h"
#include "src/io.h"

#define ENLARGED 3
#define GAP 6 /* white pixels between the two */

struct slice {
    size_t nx, ny;
    double *value; /* owned; the first channel */
};

static enum vf_status read_middle(const char *path, struct slice *slice, struct vf_error *error)
{
    struct vf_reader *reader = NULL;
    void *planes[4] = {NULL};
    enum vf_status status;
    VF_TRY(vf_reader_open(&reader, path, error));
    const struct vf_info *info = vf_reader_info(reader);
    slice->nx = info->shape.nx;
    slice->ny = info->shape.ny;
    const size_t count = slice->nx * slice->ny;
    if (info->page_channels > 4) {
        status = vf_fail(error, VF_FAILED, "%s: more than 4 samples a pixel", path);
        goto out;
    }
    status = VF_FAILED;
    for (size_t k = 0; k < info->page_channels; k++)
        if ((planes[k] = vf_alloc(count, vf_type_size(info->type), "slice", error)) == NULL)
            goto out;
    if ((slice->value = vf_alloc(count, sizeof *slice->value, "slice", error)) == NULL)
        goto out;
    VF_TRY(vf_reader_read_pages(reader, info->page_count / 2, 1, planes, 1, error));
    vf_rows_choose(VF_F64)->load[info->type](planes[0], slice->value, (ptrdiff_t)count);
out:
    for (size_t k = 0; k < 4; k++)
        vf_free(planes[k]);
    vf_reader_close(reader);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The values that become black and white. */
static enum vf_status window(const struct slice *slice, double *black, double *white, struct vf_error *error)
{
    const size_t count = slice->nx * slice->ny;
    double *sorted = vf_alloc(count, sizeof *sorted, "slice", error);
    if (sorted == NULL)
        return VF_FAILED;
    memcpy(sorted, slice->value, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    *black = sorted[count / 100];
    *white = sorted[count - 1 - count / 200];
    if (!(*white > *black))
        *white = *black + 1;
    vf_free(sorted);
    return VF_OK;
}

static void draw(const struct slice *slice, double black, double white, uint8_t *at, size_t width)
{
    for (size_t y = 0; y < slice->ny * ENLARGED; y++)
        for (size_t x = 0; x < slice->nx * ENLARGED; x++) {
            const double v = slice->value[y / ENLARGED * slice->nx + x / ENLARGED];
            const double grey = 255 * (v - black) / (white - black);
            at[y * width + x] = grey > 0 ? (uint8_t)(grey < 255 ? grey + 0.5 : 255) : 0;
        }
}

static enum vf_status write_picture(const char *path, const uint8_t *pixels, size_t nx, size_t ny,
                                    struct vf_error *error)
{
    const struct vf_info info = {.format = VF_FORMAT_PNG,
                                 .type = VF_U8,
                                 .shape = {nx, ny, 1, 1, 1},
                                 .page_count = 1,
                                 .page_channels = 1};
    const struct vf_output_options options = {.compression = VF_COMPRESS_AS_INPUT};
    const void *const planes[] = {pixels};
    struct vf_writer *writer = NULL;
    enum vf_status status;
    VF_TRY(vf_writer_open(&writer, path, VF_FORMAT_PNG, &info, &options, error));
    VF_TRY(vf_writer_write_pages(writer, 0, 1, planes, 1, error));
    VF_TRY(vf_writer_finish(writer, error));
out:
    vf_writer_close(writer);
    return status;
}

static enum vf_status montage(char **paths, struct vf_error *error)
{
    struct slice before = {0}, after = {0};
    uint8_t *pixels = NULL;
    double black, white;
    enum vf_status status;
    VF_TRY(read_middle(paths[0], &before, error));
    VF_TRY(read_middle(paths[1], &after, error));
    VF_TRY(window(&before, &black, &white, error));
    const size_t right = before.nx * ENLARGED + GAP;
    const size_t nx = right + after.nx * ENLARGED;
    const size_t ny = (before.ny > after.ny ? before.ny : after.ny) * ENLARGED;
    status = VF_FAILED;
    if ((pixels = vf_alloc(nx * ny, 1, "picture", error)) == NULL)
        goto out;
    memset(pixels, 255, nx * ny);
    draw(&before, black, white, pixels, nx);
    draw(&after, black, white, pixels + right, nx);
    status = write_picture(paths[2], pixels, nx, ny, error);
out:
    vf_free(pixels);
    vf_free(before.value);
    vf_free(after.value);
    return status;
}

int main(int argc, char **argv)
{
    struct vf_error error;
    if (argc != 4) {
        fputs("usage: montage BEFORE AFTER OUT.png\n", stderr);
        return VF_USAGE;
    }
    const enum vf_status status = montage(argv + 1, &error);
    if (status != VF_OK)
        fprintf(stderr, "montage: %s\n", error.text);
    return (int)status;
}
