/* Any bytes are a file: they give a picture or a message, within bounded memory. A picture is the same by one
 * thread, by several and by rows, and when it was written and read again. `make fuzz` runs it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A ratio that deflate can reach is believed: not a finding, but not worth the time either. */
enum { THREADS = 3, MOST_BYTES = 16 << 20 };

/* A file that was read whole; reader NULL: it was not. */
struct picture {
    struct vf_reader *reader;
    struct vf_volume volume;
};

static void fail(const char *what, const struct vf_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error == NULL ? "differs" : error->text);
    abort();
}

/* The planes of all pages, those of one page together. */
static void **list_planes(const struct vf_info *info, struct vf_volume *volume)
{
    void **planes = calloc(info->page_count * info->page_channels, sizeof *planes);
    if (planes == NULL)
        exit(1);
    for (size_t page = 0; page < info->page_count; page++)
        vf_info_page_planes(info, volume, page, planes + page * info->page_channels);
    return planes;
}

static void close_picture(struct picture *p)
{
    vf_volume_free(&p->volume);
    vf_reader_close(p->reader);
    *p = (struct picture){0};
}

/* Memory for the picture of an open file, of bytes `fill`; false if it is too large to try. */
static bool make_room(struct picture *p, int fill, struct vf_error *error)
{
    const struct vf_info *info = vf_reader_info(p->reader);
    size_t bytes;
    if (!vf_volume_bytes(info->type, &info->shape, &bytes) || bytes > MOST_BYTES ||
        vf_volume_alloc(&p->volume, info->type, &info->shape, "input", error) != VF_OK)
        return false;
    memset(p->volume.data, fill, bytes);
    return true;
}

static struct picture read_picture(const char *path, int threads, int fill, struct vf_error *error)
{
    struct picture p = {0};
    *error = (struct vf_error){.text = ""};
    if (vf_reader_open(&p.reader, path, error) != VF_OK) {
        if (error->text[0] == '\0')
            fail("a refusal without a message", error);
    } else if (make_room(&p, fill, error)) {
        const struct vf_info *info = vf_reader_info(p.reader);
        void **planes = list_planes(info, &p.volume);
        const bool whole =
            vf_reader_read_pages(p.reader, 0, info->page_count, planes, threads, error) == VF_OK;
        free(planes);
        if (whole)
            return p;
    }
    close_picture(&p);
    return p;
}

/* A copy of a NaN may be another NaN. */
static bool is_same(enum vf_type type, const unsigned char *a, const unsigned char *b, size_t count)
{
    const size_t size = vf_type_size(type);
    bool same = true;
    for (size_t i = 0; i < count && same; i++)
        if (memcmp(a + i * size, b + i * size, size) != 0) {
            float x = 0, y = 0;
            if (type == VF_F32) {
                memcpy(&x, a + i * size, size);
                memcpy(&y, b + i * size, size);
            }
            same = x != x && y != y;
        }
    return same;
}

static void compare(const char *what, struct picture *a, struct picture *b)
{
    const struct vf_info *x = vf_reader_info(a->reader), *y = vf_reader_info(b->reader);
    if (x->type != y->type || memcmp(&x->shape, &y->shape, sizeof x->shape) != 0)
        fail(what, NULL);
    for (size_t t = 0; t < x->shape.nt; t++)
        for (size_t c = 0; c < x->shape.nc; c++)
            for (size_t z = 0; z < x->shape.nz; z++)
                if (!is_same(x->type, vf_volume_plane(&a->volume, t, c, z),
                             vf_volume_plane(&b->volume, t, c, z), x->shape.nx * x->shape.ny))
                    fail(what, NULL);
}

static void read_by_rows(const char *path, struct picture *whole)
{
    struct vf_error error;
    struct picture p = {0};
    const size_t rows = vf_reader_row_block(whole->reader);
    if (rows == 0 || vf_reader_info(whole->reader)->page_count != 1)
        return;
    if (vf_reader_open(&p.reader, path, &error) != VF_OK || !make_room(&p, 0x33, &error))
        fail("opened again", &error);
    const struct vf_info *info = vf_reader_info(p.reader);
    void **planes = list_planes(info, &p.volume);
    for (size_t y = 0; y < info->shape.ny; y += rows) {
        const size_t left = info->shape.ny - y, count = left < rows ? left : rows;
        if (vf_reader_read_rows(p.reader, y, count, planes, 1, &error) != VF_OK)
            fail("by rows", &error);
        for (size_t c = 0; c < info->page_channels; c++)
            planes[c] = (char *)planes[c] + count * info->shape.nx * vf_type_size(info->type);
    }
    free(planes);
    compare("by rows", whole, &p);
    close_picture(&p);
}

/* What would become of the picture, with its metadata, in the file at `path`; false where a format cannot
 * hold it, or its result would be another one. */
static bool write_picture(struct picture *p, enum vf_format format, const char *path)
{
    const struct vf_info *input = vf_reader_info(p->reader);
    const struct vf_output_options options = {.compression = VF_COMPRESS_AS_INPUT};
    struct vf_info result;
    struct vf_writer *writer = NULL;
    struct vf_error error;
    char lost[VF_NOTE_TEXT];
    vf_info_for_result(input, format, input->type, 1, &result);
    vf_info_lost(input, &result, lost, sizeof lost);
    if (vf_writer_supports(format, &result, options.compression, &error) != VF_OK ||
        (format == VF_FORMAT_MRC && (input->type == VF_U8 || input->shape.nt > 1)))
        return false;
    void **planes = list_planes(&result, &p->volume);
    if (vf_writer_open(&writer, path, format, &result, &options, &error) != VF_OK ||
        vf_writer_write_pages(writer, 0, result.page_count, (const void *const *)planes, THREADS, &error) !=
            VF_OK ||
        vf_writer_finish(writer, &error) != VF_OK)
        fail("written", &error);
    vf_writer_close(writer);
    free(planes);
    return true;
}

static void write_and_read(struct picture *p, enum vf_format format)
{
    static const char *const endings[] = {
        [VF_FORMAT_TIFF] = "tif", [VF_FORMAT_PNG] = "png", [VF_FORMAT_MRC] = "mrc"};
    struct vf_error error;
    char path[64];
    snprintf(path, sizeof path, "/tmp/volfilter-fuzz-%ld.%s", (long)getpid(), endings[format]);
    if (!write_picture(p, format, path))
        return;
    struct picture again = read_picture(path, 1, 0x11, &error);
    if (again.reader == NULL)
        fail("read again", &error);
    compare("read again", p, &again);
    close_picture(&again);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vf_error error, other_error;
    char path[64];
    const int fd = memfd_create("input", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct picture p = read_picture(path, 1, 0xaa, &error);
    struct picture other = read_picture(path, THREADS, 0x55, &other_error);
    if ((p.reader == NULL) != (other.reader == NULL))
        fail("by several threads", p.reader == NULL ? &error : &other_error);
    if (p.reader != NULL) {
        const enum vf_format own = vf_reader_info(p.reader)->format;
        compare("by several threads", &p, &other);
        read_by_rows(path, &p);
        write_and_read(&p, own);
        if (own != VF_FORMAT_TIFF)
            write_and_read(&p, VF_FORMAT_TIFF);
    }
    close_picture(&other);
    close_picture(&p);
    close(fd);
    return 0;
}
