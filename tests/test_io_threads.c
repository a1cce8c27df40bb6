/* Several threads read and write pages: the same planes, the same file, and the message of the first page
 * that is bad. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_threads, .init = samples_begin, .fini = samples_end, .timeout = 300);

static const uint16_t schemes[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                   COMPRESSION_ZSTD, COMPRESSION_PACKBITS};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/* Plane k of page p at [p * channels + k]. */
static void **planes_of(const struct vf_info *info, const struct vf_volume *volume)
{
    void **planes = malloc(info->page_count * info->page_channels * sizeof *planes);
    for (size_t page = 0; page < info->page_count; page++)
        vf_info_page_planes(info, volume, page, planes + page * info->page_channels);
    return planes;
}

static void check_reading(size_t at_once, int threads)
{
    struct vf_reader *reader;
    struct vf_volume expected, volume;
    struct vf_error error;
    size_t bytes;
    sample_read(sample_path("in.tif"), &reader, &expected);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert_eq(vf_volume_alloc(&volume, info->type, &info->shape, "input", &error), VF_OK);
    void **planes = planes_of(info, &volume);
    for (size_t page = 0; page < info->page_count; page += at_once) {
        const size_t count = info->page_count - page < at_once ? info->page_count - page : at_once;
        cr_assert_eq(
            vf_reader_read_pages(reader, page, count, planes + page * info->page_channels, threads, &error),
            VF_OK, "%s", error.text);
    }
    vf_volume_bytes(info->type, &info->shape, &bytes);
    cr_assert_eq(memcmp(expected.data, volume.data, bytes), 0);
    cr_assert_neq(vf_reader_read_pages(reader, info->page_count - 1, 2, planes, threads, &error), VF_OK);
    free(planes);
    vf_volume_free(&volume);
    sample_close(reader, &expected);
}

/* The blocks of rows one by one, each into memory of its own size. */
static void check_rows(size_t at_once, int threads)
{
    struct vf_reader *reader;
    struct vf_volume expected;
    struct vf_error error;
    sample_read(sample_path("in.tif"), &reader, &expected);
    const struct vf_info *info = vf_reader_info(reader);
    const size_t channels = info->shape.nc, row = info->shape.nx * vf_type_size(info->type);
    const size_t block = vf_reader_row_block(reader) * at_once, ny = info->shape.ny;
    for (size_t y = 0, rows; y < ny; y += rows) {
        rows = ny - y < block ? ny - y : block;
        void **planes = malloc(channels * sizeof *planes);
        for (size_t c = 0; c < channels; c++)
            planes[c] = malloc(rows * row);
        cr_assert_eq(vf_reader_read_rows(reader, y, rows, planes, threads, &error), VF_OK, "%s", error.text);
        for (size_t c = 0; c < channels; c++) {
            const char *plane = vf_volume_plane(&expected, 0, c, 0);
            cr_assert_eq(memcmp(planes[c], plane + y * row, rows * row), 0, "row %zu, channel %zu", y, c);
            free(planes[c]);
        }
        free(planes);
    }
    sample_close(reader, &expected);
}

/* The rows of a page make the file that the whole page makes. */
static void check_writing_rows(enum vf_compression compression)
{
    const struct vf_output_options options = {.compression = compression};
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_info result;
    struct vf_writer *writer;
    struct vf_error error;
    size_t sizes[2];
    sample_read(sample_path("in.tif"), &reader, &volume);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, volume.type, 1, &result);
    sample_write_volume(sample_path("whole.tif"), &result, &volume, &options);
    const size_t block = vf_writer_row_block(VF_FORMAT_TIFF, &result), ny = result.shape.ny;
    const size_t row = result.shape.nx * vf_type_size(result.type);
    cr_assert(block > 0 && block * 2 < ny);
    cr_assert_eq(vf_writer_open(&writer, sample_path("rows.tif"), VF_FORMAT_TIFF, &result, &options, &error),
                 VF_OK);
    for (size_t y = 0, rows; y < ny; y += rows) {
        const void *planes[4];
        rows = ny - y < 2 * block ? ny - y : 2 * block;
        for (size_t c = 0; c < result.shape.nc; c++)
            planes[c] = (char *)vf_volume_plane(&volume, 0, c, 0) + y * row;
        cr_assert_eq(vf_writer_write_rows(writer, y, rows, planes, 2, &error), VF_OK, "%s", error.text);
    }
    cr_assert_neq(vf_writer_write_rows(writer, ny, 0, NULL, 1, &error), VF_OK);
    cr_assert_eq(vf_writer_finish(writer, &error), VF_OK, "%s", error.text);
    vf_writer_close(writer);
    char *whole = sample_get(sample_path("whole.tif"), &sizes[0]);
    char *rows = sample_get(sample_path("rows.tif"), &sizes[1]);
    cr_assert_eq(sizes[0], sizes[1]);
    cr_assert_eq(memcmp(whole, rows, sizes[0]), 0);
    free(whole);
    free(rows);
    sample_close(reader, &volume);
}

static uint32_t compressed_page;

static void compress_one(TIFF *tif, uint32_t page)
{
    TIFFSetField(tif, TIFFTAG_COMPRESSION, page == compressed_page ? COMPRESSION_LZW : COMPRESSION_NONE);
}

Test(io_threads, rows)
{
    for (int k = 0; k < 32; k++) {
        const struct tiff_sample s = {.type = k & 1 ? VF_U16 : VF_F32,
                                      .nx = 50,
                                      .ny = 67,
                                      .samples = k & 2 ? 3 : 1,
                                      .separate = (k & 4) != 0,
                                      .tiled = (k & 8) != 0,
                                      .rows = k & 8        ? 16
                                              : k % 3 == 0 ? 0
                                                           : 9,
                                      .tile_nx = 32,
                                      .big_endian = (k & 16) != 0,
                                      .scheme = k % 5 < 2 ? COMPRESSION_LZW : COMPRESSION_NONE};
        tiff_sample_write(sample_path("in.tif"), &s);
        check_rows(1, 1);
        check_rows(2, 3);
    }
    for (compressed_page = 0; compressed_page < 2; compressed_page++) {
        const struct tiff_sample s = {.type = VF_U16,
                                      .nx = 50,
                                      .ny = 67,
                                      .pages = 2,
                                      .rows = 9,
                                      .description = "ImageJ=1.53t\nimages=2\nchannels=2\n",
                                      .more = compress_one};
        tiff_sample_write(sample_path("in.tif"), &s);
        check_rows(1, 1);
        check_rows(2, 3);
    }
    for (int k = 0; k < 4; k++) {
        tiff_sample_write(
            sample_path("in.tif"),
            &(struct tiff_sample){
                .type = VF_U16, .nx = 700, .ny = 601, .big_endian = k & 1, .samples = k & 1 ? 3 : 1});
        check_writing_rows(k & 2 ? VF_COMPRESS_DEFLATE : VF_COMPRESS_NONE);
    }
}

/* A decoder has a strip of it whole, whichever page it is of. */
Test(io_threads, memory_of_a_compressed_page)
{
    for (compressed_page = 0; compressed_page < 3; compressed_page++) {
        struct vf_reader *reader;
        struct vf_error error;
        const struct tiff_sample s = {.type = VF_U16, .nx = 500, .ny = 67, .pages = 3, .more = compress_one};
        tiff_sample_write(sample_path("in.tif"), &s);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
        cr_expect_geq(vf_reader_bytes(reader, 1), 500 * 67, "page %u", compressed_page);
        vf_reader_close(reader);
    }
}

Test(io_threads, reading)
{
    for (int k = 0; k < 8 * SCHEMES; k++) {
        const struct tiff_sample s = {.type = k & 1 ? VF_U16 : VF_F32,
                                      .nx = 50,
                                      .ny = 67,
                                      .pages = 5,
                                      .samples = k & 2 ? 3 : 1,
                                      .photometric = PHOTOMETRIC_MINISBLACK,
                                      .tiled = (k & 4) != 0,
                                      .rows = k & 4 ? 16 : 7,
                                      .separate = k % 3 == 0,
                                      .big_endian = k % 5 == 0,
                                      .scheme = schemes[k / 8]};
        if (!TIFFIsCODECConfigured(s.scheme))
            continue;
        tiff_sample_write(sample_path("in.tif"), &s);
        check_reading(1, 3);
        check_reading(2, 8);
        check_reading(5, 2);
    }
}

/* A reader and a writer that have threads are given more of them later. */
Test(io_threads, more_than_before)
{
    const struct vf_output_options options = {.compression = VF_COMPRESS_LZW};
    struct vf_reader *reader;
    struct vf_writer *writer;
    struct vf_volume expected, volume;
    struct vf_info result;
    struct vf_error error;
    size_t bytes, sizes[2];
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){
            .type = VF_U16, .nx = 700, .ny = 601, .pages = 8, .rows = 50, .scheme = COMPRESSION_LZW});
    sample_read(sample_path("in.tif"), &reader, &expected);
    const struct vf_info *info = vf_reader_info(reader);
    vf_info_for_result(info, VF_FORMAT_TIFF, info->type, 1, &result);
    sample_write_volume(sample_path("one.tif"), &result, &expected, &options);
    cr_assert_eq(vf_volume_alloc(&volume, info->type, &info->shape, "input", &error), VF_OK);
    void **planes = planes_of(info, &volume);
    cr_assert_eq(vf_writer_open(&writer, sample_path("out.tif"), VF_FORMAT_TIFF, &result, &options, &error),
                 VF_OK);
    for (size_t page = 0; page < 8; page += 2) {
        const int threads = 2 + 2 * (int)page;
        cr_assert_eq(vf_reader_read_pages(reader, page, 2, planes + page, threads, &error), VF_OK, "%s",
                     error.text);
        cr_assert_eq(
            vf_writer_write_pages(writer, page, 2, (const void *const *)planes + page, threads, &error),
            VF_OK, "%s", error.text);
    }
    cr_assert_eq(vf_writer_finish(writer, &error), VF_OK, "%s", error.text);
    vf_writer_close(writer);
    vf_volume_bytes(info->type, &info->shape, &bytes);
    cr_assert_eq(memcmp(expected.data, volume.data, bytes), 0);
    char *one = sample_get(sample_path("one.tif"), &sizes[0]);
    char *out = sample_get(sample_path("out.tif"), &sizes[1]);
    cr_assert(sizes[0] == sizes[1] && memcmp(one, out, sizes[0]) == 0);
    free(one);
    free(out);
    free(planes);
    vf_volume_free(&volume);
    sample_close(reader, &expected);
}

/* As ImageJ's one directory: parts of a plane are read where they belong. */
Test(io_threads, reading_one_strip)
{
    for (int samples = 1; samples <= 3; samples += 2) {
        tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                       .nx = 50,
                                                                       .ny = 67,
                                                                       .pages = 2,
                                                                       .samples = (uint16_t)samples,
                                                                       .big_endian = true});
        check_reading(1, 4);
    }
}

static void *written(const struct vf_info *result, const struct vf_volume *volume,
                     enum vf_compression compression, size_t at_once, int threads, size_t *size)
{
    struct vf_writer *writer;
    struct vf_error error;
    const struct vf_output_options options = {.compression = compression};
    void **planes = planes_of(result, volume);
    cr_assert_eq(vf_writer_open(&writer, sample_path("out.tif"), VF_FORMAT_TIFF, result, &options, &error),
                 VF_OK, "%s", error.text);
    for (size_t page = 0; page < result->page_count; page += at_once) {
        const size_t count = result->page_count - page < at_once ? result->page_count - page : at_once;
        cr_assert_eq(vf_writer_write_pages(writer, page, count,
                                           (const void *const *)planes + page * result->page_channels,
                                           threads, &error),
                     VF_OK, "%s", error.text);
    }
    cr_assert_eq(vf_writer_finish(writer, &error), VF_OK, "%s", error.text);
    vf_writer_close(writer);
    free(planes);
    return sample_get(sample_path("out.tif"), size);
}

/* Pages of several strips, with a rest. */
Test(io_threads, writing)
{
    static const enum vf_compression compressions[] = {VF_COMPRESS_NONE, VF_COMPRESS_LZW, VF_COMPRESS_DEFLATE,
                                                       VF_COMPRESS_ZSTD};
    for (int k = 0; k < 16; k++) {
        struct vf_reader *reader;
        struct vf_volume volume, back;
        struct vf_info result;
        size_t size, other_size, bytes;
        if (left_out())
            continue;
        tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = k & 1 ? VF_F32 : VF_U8,
                                                                       .nx = 700,
                                                                       .ny = 701,
                                                                       .pages = 3,
                                                                       .samples = k & 2 ? 3 : 1,
                                                                       .big_endian = k % 3 == 0});
        sample_read(sample_path("in.tif"), &reader, &volume);
        const struct vf_info *info = vf_reader_info(reader);
        vf_info_for_result(info, VF_FORMAT_TIFF, info->type, 1, &result);
        void *one = written(&result, &volume, compressions[k / 4], 1, 1, &size);
        for (int threads = 2; threads <= 5; threads += 3) {
            void *several = written(&result, &volume, compressions[k / 4], 2, threads, &other_size);
            cr_assert(size == other_size && memcmp(one, several, size) == 0, "case %d, %d threads", k,
                      threads);
            free(several);
        }
        free(one);
        vf_reader_close(reader);
        sample_read(sample_path("out.tif"), &reader, &back);
        vf_volume_bytes(volume.type, &volume.shape, &bytes);
        cr_assert_eq(memcmp(volume.data, back.data, bytes), 0);
        vf_reader_close(reader);
        vf_volume_free(&volume);
        vf_volume_free(&back);
    }
}

/* Of several bad pages the first is named, whichever thread came first. */
Test(io_threads, the_first_bad_page_is_named)
{
    struct vf_reader *reader;
    struct vf_error error;
    size_t size;
    static uint8_t planes[6][64 * 64];
    void *to[6];
    for (int i = 0; i < 6; i++)
        to[i] = planes[i];
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){
            .type = VF_U8, .nx = 64, .ny = 64, .pages = 6, .rows = 16, .scheme = COMPRESSION_ADOBE_DEFLATE});
    TIFF *tif = TIFFOpen(sample_path("in.tif"), "r");
    uint64_t at[6];
    for (int i = 0; i < 6; i++) {
        TIFFSetDirectory(tif, (tdir_t)i);
        at[i] = TIFFGetStrileOffset(tif, 1);
    }
    TIFFClose(tif);
    unsigned char *file = sample_get(sample_path("in.tif"), &size);
    for (int i = 2; i < 6; i++)
        memset(file + at[i], 0xff, 8);
    sample_put(sample_path("in.tif"), file, size);
    free(file);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK);
    for (int round = 0; round < 50; round++) {
        cr_assert_eq(vf_reader_read_pages(reader, 0, 6, to, 4, &error), VF_FAILED);
        cr_assert(strstr(error.text, "page 3: strip 2"), "%s", error.text);
        cr_assert_eq(vf_reader_read_pages(reader, 0, 2, to, 4, &error), VF_OK);
    }
    vf_reader_close(reader);
}
