/* Every layout of TIFF that is read, and what the writer makes of it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_tiff, .init = samples_begin, .fini = samples_end);

static const uint16_t schemes[] = {COMPRESSION_NONE,    COMPRESSION_LZW,  COMPRESSION_ADOBE_DEFLATE,
                                   COMPRESSION_DEFLATE, COMPRESSION_ZSTD, COMPRESSION_PACKBITS};

static bool same_volume(const struct vf_volume *a, const struct vf_volume *b)
{
    size_t bytes;
    return a->type == b->type && memcmp(&a->shape, &b->shape, sizeof a->shape) == 0 &&
           vf_volume_bytes(a->type, &a->shape, &bytes) && memcmp(a->data, b->data, bytes) == 0;
}

/* Written by libtiff, read, written, read again: the same values, and the same kind of file. */
static void round_trip(const struct tiff_sample *s)
{
    const char *in = sample_path("in.tif"), *out = sample_path("out.tif");
    const uint32_t pages = s->pages ? s->pages : 1;
    const uint16_t samples = s->samples ? s->samples : 1;
    struct vf_reader *first, *second;
    struct vf_volume a, b;
    struct vf_info result;
    tiff_sample_write(in, s);
    sample_read(in, &first, &a);
    cr_assert_eq(a.type, s->type);
    sample_check_pages(&a, pages, samples);
    vf_info_for_result(vf_reader_info(first), VF_FORMAT_TIFF, a.type, 1, &result);
    sample_write_volume(out, &result, &a, &(struct vf_output_options){.compression = VF_COMPRESS_AS_INPUT});
    sample_read(out, &second, &b);
    const struct vf_info *i = vf_reader_info(first), *o = vf_reader_info(second);
    cr_assert(same_volume(&a, &b), "%s samples %u tiled %d big-endian %d separate %d predictor %u",
              vf_type_name(s->type), samples, s->tiled, s->big_endian, s->separate, s->predictor);
    cr_assert_eq(i->compression, o->compression);
    cr_assert_eq(i->big_endian, s->big_endian);
    cr_assert_eq(o->big_endian, s->big_endian);
    cr_assert_eq(i->big_tiff, s->big_tiff);
    cr_assert_eq(o->big_tiff, s->big_tiff);
    cr_assert_eq(i->tiled, s->tiled);
    cr_assert_eq(i->planar_separate, s->separate && samples > 1);
    cr_assert_eq(i->rgb, samples == 3);
    cr_assert(i->rgb == o->rgb && i->has_alpha == o->has_alpha && i->page_channels == o->page_channels);
    vf_volume_free(&a);
    sample_close(first, &b);
    vf_reader_close(second);
}

/* One test a compression, so that they run side by side. Types and layouts are the same to all codecs but for
 * the predictors, which deflate has too: the others meet a third of the pairs, with sanitizers a ninth. */
static void every_layout(uint16_t scheme)
{
    const bool all = scheme == COMPRESSION_NONE || scheme == COMPRESSION_ADOBE_DEFLATE;
    const int share = UNDER_SANITIZERS ? 9 : 3;
    if (!TIFFIsCODECConfigured(scheme))
        cr_skip_test("libtiff lacks a codec");
    for (int type = 0; type < VF_TYPE_COUNT; type++)
        for (int bits = 0; bits < 64; bits++) {
            if (!all && (type + bits / 3) % share != 0)
                continue;
            struct tiff_sample s = {.type = (enum vf_type)type, .nx = 37, .ny = 21, .scheme = scheme};
            s.tiled = bits & 1;
            s.big_endian = bits & 2;
            s.big_tiff = bits & 4;
            s.samples = bits & 8 ? 3 : 1;
            s.separate = bits & 16;
            s.pages = bits & 32 ? 3 : 1;
            s.rows = s.tiled ? 16 : 1 + (uint32_t)(type * 7 + bits) % 22;
            if (bits % 3 == 0 && scheme != COMPRESSION_NONE && scheme != COMPRESSION_PACKBITS)
                s.predictor = !vf_type_is_float(s.type) ? PREDICTOR_HORIZONTAL
                              : s.big_endian            ? PREDICTOR_NONE /* libtiff 4.5 writes them wrong */
                                                        : PREDICTOR_FLOATINGPOINT;
            round_trip(&s);
        }
}

Test(io_tiff, uncompressed)
{
    every_layout(schemes[0]);
}

Test(io_tiff, lzw)
{
    every_layout(schemes[1]);
}

Test(io_tiff, deflate)
{
    every_layout(schemes[2]);
}

Test(io_tiff, old_deflate)
{
    every_layout(schemes[3]);
}

Test(io_tiff, zstd)
{
    every_layout(schemes[4]);
}

Test(io_tiff, packbits)
{
    every_layout(schemes[5]);
}

Test(io_tiff, one_pixel_and_odd_sizes)
{
    static const uint32_t sizes[] = {1, 2, 3, 15, 16, 17, 33};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            struct tiff_sample s = {.type = VF_U16, .nx = sizes[i], .ny = sizes[j], .samples = 2};
            round_trip(&s);
            s.tiled = true;
            round_trip(&s);
        }
}

Test(io_tiff, reversed_bits)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        for (uint16_t samples = 1; samples <= 3; samples++)
            round_trip(&(struct tiff_sample){.type = VF_U16,
                                             .nx = 20,
                                             .ny = 9,
                                             .samples = samples,
                                             .scheme = schemes[i],
                                             .fill_order = FILLORDER_LSB2MSB});
}

Test(io_tiff, many_channels)
{
    round_trip(&(struct tiff_sample){.type = VF_F32, .nx = 11, .ny = 7, .samples = 6, .pages = 4});
    round_trip(&(struct tiff_sample){.type = VF_U8, .nx = 11, .ny = 7, .samples = 9, .separate = true});
}

/* What TIFF has no number for. */
Test(io_tiff, too_many_channels_or_pages)
{
    struct vf_error error;
    struct vf_info info = {
        .type = VF_U8, .shape = {1, 1, 1, 65536, 1}, .page_count = 1, .page_channels = 65536};
    cr_assert_neq(vf_writer_supports(VF_FORMAT_TIFF, &info, VF_COMPRESS_NONE, &error), VF_OK);
    cr_assert(strstr(error.text, "at most 65535 channels; the result has 65536"), "%s", error.text);
    info.page_channels = 1;
    info.page_count = (size_t)UINT32_MAX + 1;
    cr_assert_neq(vf_writer_supports(VF_FORMAT_TIFF, &info, VF_COMPRESS_NONE, &error), VF_OK);
    cr_assert(strstr(error.text, "at most 4294967295 pages; the result has 4294967296"), "%s", error.text);
}

Test(io_tiff, min_is_white_stays_as_stored)
{
    struct tiff_sample s = {.type = VF_U8, .nx = 9, .ny = 5, .photometric = UINT16_MAX};
    round_trip(&s);
    uint16_t photometric;
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric));
    cr_assert_eq(photometric, PHOTOMETRIC_MINISWHITE);
    TIFFClose(tif);
}

/* Of another type or format the values are as stored too, but shown the other way round. */
Test(io_tiff, min_is_white_is_said_not_to_be_kept)
{
    static const struct {
        enum vf_format format;
        enum vf_type type;
        const char *lost;
    } cases[] = {{VF_FORMAT_TIFF, VF_U8, ""},
                 {VF_FORMAT_TIFF, VF_F32, "that 0 is white"},
                 {VF_FORMAT_MRC, VF_U8, "that 0 is white"}};
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 5, .photometric = UINT16_MAX});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(sample_lost(sample_path("in.tif"), cases[i].format, cases[i].type, 1), cases[i].lost,
                         "case %zu", i);
}

/* Alpha by what the file says, and by habit. */
Test(io_tiff, alpha)
{
    static const struct {
        uint16_t samples, count, kind;
        bool alpha, premultiplied;
    } cases[] = {
        {4, 1, EXTRASAMPLE_UNASSALPHA, true, false},   {4, 1, EXTRASAMPLE_ASSOCALPHA, true, true},
        {4, 1, EXTRASAMPLE_UNSPECIFIED, false, false}, {4, 0, 0, true, false},
        {2, 1, EXTRASAMPLE_UNASSALPHA, true, false},   {2, 1, EXTRASAMPLE_ASSOCALPHA, true, true},
        {2, 1, EXTRASAMPLE_UNSPECIFIED, false, false}, {2, 0, 0, false, false},
        {5, 2, EXTRASAMPLE_UNASSALPHA, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiff_sample s = {.type = VF_U8, .nx = 8, .ny = 4, .samples = cases[i].samples};
        s.extra_count = cases[i].count;
        s.extra[cases[i].count > 1 ? cases[i].count - 1 : 0] = cases[i].kind;
        s.photometric = s.samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
        const char *in = sample_path("in.tif"), *out = sample_path("out.tif");
        tiff_sample_write(in, &s);
        sample_copy(in, out, VF_COMPRESS_AS_INPUT);
        for (int written = 0; written < 2; written++) {
            struct vf_reader *reader;
            struct vf_volume volume;
            sample_read(written ? out : in, &reader, &volume);
            const struct vf_info *info = vf_reader_info(reader);
            cr_assert_eq(info->has_alpha, cases[i].alpha, "case %zu", i);
            cr_assert_eq(info->premultiplied, cases[i].premultiplied, "case %zu", i);
            cr_assert_eq(info->page_channels, s.samples);
            sample_check_pages(&volume, 1, s.samples);
            const char *const path = written ? out : in;
            cr_assert_null(strstr(sample_lost(path, VF_FORMAT_TIFF, VF_U8, 1), "alpha"), "case %zu", i);
            cr_assert_eq(strstr(sample_lost(path, VF_FORMAT_TIFF, VF_F32, 1), "alpha") != NULL,
                         cases[i].alpha, "case %zu", i);
            sample_close(reader, &volume);
        }
    }
}

static void mark_thumbnails(TIFF *tif, uint32_t page)
{
    TIFFSetField(tif, TIFFTAG_SUBFILETYPE, page % 2 == 1 ? FILETYPE_REDUCEDIMAGE : 0);
}

static void mark_all_thumbnails(TIFF *tif, uint32_t page)
{
    (void)page;
    TIFFSetField(tif, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
}

static void mark_masks(TIFF *tif, uint32_t page)
{
    if (page % 2 == 1)
        TIFFSetField(tif, TIFFTAG_SUBFILETYPE, FILETYPE_MASK);
}

Test(io_tiff, thumbnails_are_skipped)
{
    struct tiff_sample s = {.type = VF_U8, .nx = 6, .ny = 5, .pages = 5, .more = mark_thumbnails};
    const char *path = sample_path("in.tif");
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(path, &s);
    sample_read(path, &reader, &volume);
    cr_assert_eq(volume.shape.nz, 3);
    for (size_t z = 0; z < 3; z++) {
        unsigned char value;
        sample_value(VF_U8, 2 * z, 0, 0, 0, &value);
        cr_assert_eq(*(unsigned char *)vf_volume_plane(&volume, 0, 0, z), value);
    }
    sample_close(reader, &volume);
    s.more = mark_masks;
    tiff_sample_write(path, &s);
    cr_assert_eq(sample_info(path).shape.nz, 3);
    s.more = mark_all_thumbnails;
    tiff_sample_write(path, &s);
    cr_assert(strstr(sample_refusal(path), "only thumbnails"), "%s", sample_refusal(path));
}

/* Pages in any order, and again: the reader holds no place. */
Test(io_tiff, pages_in_any_order)
{
    struct tiff_sample s = {.type = VF_I16, .nx = 8, .ny = 4, .pages = 6, .scheme = COMPRESSION_LZW};
    const char *path = sample_path("in.tif");
    static const size_t order[] = {5, 0, 0, 3, 1, 5, 4, 2};
    struct vf_reader *reader;
    struct vf_error error;
    int16_t plane[32], value;
    tiff_sample_write(path, &s);
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        void *const planes[] = {plane};
        cr_assert_eq(vf_reader_read_pages(reader, order[i], 1, planes, 1, &error), VF_OK, "%s", error.text);
        sample_value(VF_I16, order[i], 0, 3, 7, &value);
        cr_assert_eq(plane[31], value);
    }
    void *const planes[] = {plane};
    cr_assert_eq(vf_reader_read_pages(reader, 6, 1, planes, 1, &error), VF_FAILED);
    vf_reader_close(reader);
}

/* Real files lack the tag; libtiff always writes it, so it is cut out of the directory here. */
Test(io_tiff, no_compression_tag)
{
    const char *path = sample_path("in.tif");
    struct vf_reader *reader;
    struct vf_volume volume;
    size_t size;
    tiff_sample_write(path, &(struct tiff_sample){.type = VF_U8, .nx = 7, .ny = 5});
    unsigned char *bytes = sample_get(path, &size);
    const size_t at = bytes[4] + 256u * bytes[5], count = bytes[at] + 256u * bytes[at + 1];
    for (size_t entry = 0; entry < count; entry++)
        if (bytes[at + 2 + 12 * entry] == (TIFFTAG_COMPRESSION & 255) && bytes[at + 3 + 12 * entry] == 1) {
            memmove(bytes + at + 2 + 12 * entry, bytes + at + 14 + 12 * entry, (count - entry - 1) * 12 + 4);
            bytes[at] = (unsigned char)(count - 1);
        }
    sample_put(path, bytes, size);
    free(bytes);
    sample_read(path, &reader, &volume);
    cr_assert_eq(vf_reader_info(reader)->compression, VF_COMPRESS_NONE);
    sample_check_pages(&volume, 1, 1);
    sample_close(reader, &volume);
}

Test(io_tiff, every_compression_can_be_chosen)
{
    const char *in = sample_path("in.tif"), *out = sample_path("out.tif");
    for (int type = 0; type < VF_TYPE_COUNT; type++)
        for (int compression = VF_COMPRESS_NONE; compression <= VF_COMPRESS_ZSTD; compression++) {
            struct vf_reader *reader;
            struct vf_volume volume;
            tiff_sample_write(
                in, &(struct tiff_sample){.type = (enum vf_type)type, .nx = 50, .ny = 40, .pages = 2});
            sample_copy(in, out, (enum vf_compression)compression);
            sample_read(out, &reader, &volume);
            cr_assert_eq((int)vf_reader_info(reader)->compression, compression);
            sample_check_pages(&volume, 2, 1);
            sample_close(reader, &volume);
        }
}

/* Strips larger than one, and rows longer than a strip. */
Test(io_tiff, large_pages)
{
    round_trip(&(struct tiff_sample){.type = VF_U16, .nx = 700, .ny = 900, .samples = 3});
    round_trip(&(struct tiff_sample){.type = VF_F32, .nx = 100000, .ny = 3, .scheme = COMPRESSION_LZW});
    round_trip(&(struct tiff_sample){
        .type = VF_U8, .nx = 1100, .ny = 1030, .tiled = true, .tile_nx = 256, .rows = 128});
}

/* A pipe is spooled; so is a file that is given as standard input but not from its start. */
Test(io_tiff, standard_input)
{
    const char *path = sample_path("in.tif"), *shifted = sample_path("shifted");
    struct vf_reader *reader;
    struct vf_volume volume;
    size_t size;
    tiff_sample_write(path, &(struct tiff_sample){.type = VF_U16, .nx = 30, .ny = 20, .pages = 3});
    char *bytes = sample_get(path, &size);
    char *moved = malloc(size + 100);
    memset(moved, 'x', 100);
    memcpy(moved + 100, bytes, size);
    sample_put(shifted, moved, size + 100);
    for (int way = 0; way < 3; way++) {
        int ends[2];
        if (way == 0) {
            cr_assert_eq(pipe(ends), 0);
            cr_assert_eq(write(ends[1], bytes, size), (ssize_t)size);
            close(ends[1]);
        } else {
            ends[0] = open(way == 1 ? path : shifted, O_RDONLY);
            lseek(ends[0], way == 1 ? 0 : 100, SEEK_SET);
        }
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        sample_read("-", &reader, &volume);
        sample_check_pages(&volume, 3, 1);
        sample_close(reader, &volume);
    }
    cr_assert_eq(sample_file_count(), 2);
    free(bytes);
    free(moved);
}

Test(io_tiff, input_may_be_the_output)
{
    const char *path = sample_path("same.tif");
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(path, &(struct tiff_sample){.type = VF_U8, .nx = 30, .ny = 20, .pages = 4});
    sample_copy(path, path, VF_COMPRESS_LZW);
    sample_read(path, &reader, &volume);
    sample_check_pages(&volume, 4, 1);
    sample_close(reader, &volume);
    cr_assert_eq(sample_file_count(), 1);
}
