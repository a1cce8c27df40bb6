/* Any bytes are a file: opened and read whole, they give a picture or a message, within bounded memory. Build
 * with
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -fopenmp -D_GNU_SOURCE -I. -Isrc tests/fuzz/fuzz_io.c
 * src/io*.c \
 *     src/imagej.c src/ome*.c src/mrc.c src/half.c src/output_file.c src/alloc.c src/error.c src/volume.c \
 *     -ltiff -lpng -lexpat -lz -lm
 * and start with a folder of small TIFF, OME-TIFF, PNG and MRC files; -rss_limit_mb bounds the memory,
 * -timeout a hang. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io.h"

/* The program's, in progress.c. */
volatile sig_atomic_t vf_interrupted;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_pages(struct vf_reader *reader, struct vf_volume *volume, struct vf_error *error)
{
    const struct vf_info *info = vf_reader_info(reader);
    void **planes = calloc(info->page_channels, sizeof *planes);
    enum vf_status status = planes == NULL ? VF_FAILED : VF_OK;
    for (size_t page = 0; status == VF_OK && page < info->page_count; page++) {
        size_t t, z, c;
        vf_info_page_place(info, page, &t, &z, &c);
        for (size_t k = 0; k < info->page_channels; k++)
            planes[k] = vf_volume_plane(volume, t, c + k, z);
        status = vf_reader_read(reader, page, planes, error);
    }
    free(planes);
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
        /* A ratio that deflate can reach is believed: not a finding, but not worth the time either. */
        if (vf_volume_bytes(info->type, &info->shape, &bytes) && bytes < (size_t)64 << 20 &&
            vf_volume_alloc(&volume, info->type, &info->shape, "input", &error) == VF_OK) {
            read_pages(reader, &volume, &error);
            vf_volume_free(&volume);
        }
        vf_reader_close(reader);
    } else if (error.text[0] == '\0') {
        abort();
    }
    close(fd);
    return 0;
}
