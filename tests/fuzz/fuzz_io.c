/* Any bytes are a file: opened, read whole and written again with what it says of itself, they give a picture
 * or a message, within bounded memory. `make fuzz` runs it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A ratio that deflate can reach is believed: not a finding, but not worth the time either. */
enum { THREADS = 2, MOST_BYTES = 64 << 20 };

/* The planes of all pages, those of one page together; NULL without memory. */
static void **list_planes(const struct vf_info *info, struct vf_volume *volume)
{
    void **planes = calloc(info->page_count * info->page_channels, sizeof *planes);
    for (size_t page = 0, t, z, c; planes != NULL && page < info->page_count; page++) {
        vf_info_page_place(info, page, &t, &z, &c);
        for (size_t k = 0; k < info->page_channels; k++)
            planes[page * info->page_channels + k] = vf_volume_plane(volume, t, c + k, z);
    }
    return planes;
}

static void read_pages(struct vf_reader *reader, struct vf_volume *volume)
{
    const struct vf_info *info = vf_reader_info(reader);
    struct vf_error error;
    void **planes = list_planes(info, volume);
    if (planes != NULL)
        vf_reader_read_pages(reader, 0, info->page_count, planes, THREADS, &error);
    free(planes);
}

/* What would become of the file's pages, which are left empty, and metadata. */
static void write_pages(const struct vf_info *input, enum vf_format format, enum vf_type type, size_t outputs)
{
    const struct vf_output_options options = {.compression = VF_COMPRESS_AS_INPUT};
    struct vf_info result;
    struct vf_volume volume;
    struct vf_writer *writer = NULL;
    struct vf_error error;
    size_t bytes;
    char lost[VF_NOTE_TEXT];
    vf_info_for_result(input, format, type, outputs, &result);
    vf_info_lost(input, &result, lost, sizeof lost);
    if (!vf_volume_bytes(type, &result.shape, &bytes) || bytes > MOST_BYTES ||
        vf_writer_supports(format, &result, options.compression, &error) != VF_OK ||
        vf_volume_alloc(&volume, type, &result.shape, "result", &error) != VF_OK)
        return;
    memset(volume.data, 0, bytes);
    void **planes = list_planes(&result, &volume);
    if (planes != NULL && vf_writer_open(&writer, "-", format, &result, &options, &error) == VF_OK &&
        vf_writer_write_pages(writer, 0, result.page_count, (const void *const *)planes, THREADS, &error) ==
            VF_OK)
        vf_writer_finish(writer, &error);
    vf_writer_close(writer);
    free(planes);
    vf_volume_free(&volume);
}

/* Results go to standard output. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return freopen("/dev/null", "w", stdout) == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vf_error error = {{0}};
    struct vf_reader *reader;
    struct vf_volume volume;
    char path[64];
    const int fd = memfd_create("input", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (vf_reader_open(&reader, path, &error) == VF_OK) {
        const struct vf_info *info = vf_reader_info(reader);
        size_t bytes;
        if (vf_volume_bytes(info->type, &info->shape, &bytes) && bytes < MOST_BYTES &&
            vf_volume_alloc(&volume, info->type, &info->shape, "input", &error) == VF_OK) {
            read_pages(reader, &volume);
            vf_volume_free(&volume);
            write_pages(info, info->format, info->type, 1);
            write_pages(info, VF_FORMAT_TIFF, VF_F32, info->shape.nz > 1 ? 3 : 2);
        }
        vf_reader_close(reader);
    } else if (error.text[0] == '\0') {
        abort();
    }
    close(fd);
    return 0;
}
