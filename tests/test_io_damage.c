/* Files cut short and bytes changed, everywhere in small files: an error or a picture, never a crash, a hang
 * or a leak. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_damage, .init = samples_begin, .fini = samples_end, .timeout = 300);

static const char *const layouts[] = {"strips.tif",  "tiles.tif", "imagej.tif", "big.tif",
                                      "picture.png", "grey.png",  "volume.mrc"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static void put_sample(int layout)
{
    static const struct tiff_sample samples[] = {
        {.type = VF_U16, .nx = 7, .ny = 6, .pages = 2, .rows = 4},
        {.type = VF_U8, .nx = 20, .ny = 18, .samples = 3, .tiled = true, .scheme = COMPRESSION_LZW},
        {.type = VF_U8,
         .nx = 6,
         .ny = 5,
         .pages = 2,
         .big_endian = true,
         .scheme = COMPRESSION_ADOBE_DEFLATE,
         .predictor = PREDICTOR_HORIZONTAL,
         .description = "ImageJ=1.53t\nimages=2\nslices=2\nunit=micron\nspacing=2\n"},
        {.type = VF_F32,
         .nx = 5,
         .ny = 4,
         .samples = 2,
         .separate = true,
         .big_tiff = true,
         .scheme = COMPRESSION_PACKBITS},
    };
    const char *path = sample_path(layouts[layout]);
    if (layout < 4) {
        tiff_sample_write(path, &samples[layout]);
        return;
    }
    const bool picture = layout == 4, volume = layout == 6;
    tiff_sample_write(sample_path("source.tif"), &(struct tiff_sample){.type = picture ? VF_U16 : VF_U8,
                                                                       .nx = 9,
                                                                       .ny = 7,
                                                                       .samples = picture ? 3 : 1,
                                                                       .pages = volume ? 3 : 1});
    sample_copy(sample_path("source.tif"), path, VF_COMPRESS_AS_INPUT);
}

/* A file of this name with the layout's ending. */
static const char *path_of(const char *name, int layout)
{
    char file[32];
    snprintf(file, sizeof file, "%s%s", name, strrchr(layouts[layout], '.'));
    return sample_path(file);
}

/* Uncompressed samples have no check: cut where it only loses what follows the image, they still read. */
static void cut_everywhere(int layout)
{
    size_t size;
    put_sample(layout);
    char *bytes = sample_get(sample_path(layouts[layout]), &size);
    const char *path = path_of("cut", layout);
    cr_assert_str_eq(sample_refusal(sample_path(layouts[layout])), "");
    for (size_t length = 0; length < size; length++) {
        sample_put(path, bytes, length);
        const char *message = sample_refusal(path);
        /* What follows the last row of a PNG is read too; libtiff writes the directory last. */
        cr_assert(message[0] != '\0', "%s reads when cut to %zu of %zu bytes", layouts[layout], length, size);
        cr_assert(strstr(message, path), "no file name in: %s", message);
    }
    free(bytes);
}

Test(io_damage, cut_short)
{
    for (int layout = 0; layout < LAYOUTS; layout++)
        cut_everywhere(layout);
}

static void flip_everywhere(int layout)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    size_t size;
    put_sample(layout);
    unsigned char *bytes = sample_get(sample_path(layouts[layout]), &size);
    const char *path = path_of("flipped", layout);
    for (size_t at = 0; at < size; at++)
        for (size_t i = 0; i < sizeof flips; i++) {
            if (left_out())
                continue;
            bytes[at] ^= flips[i];
            sample_put(path, bytes, size);
            sample_refusal(path);
            bytes[at] ^= flips[i];
        }
    free(bytes);
}

Test(io_damage, strips)
{
    flip_everywhere(0);
}

Test(io_damage, tiles)
{
    flip_everywhere(1);
}

Test(io_damage, imagej)
{
    flip_everywhere(2);
}

Test(io_damage, big_tiff)
{
    flip_everywhere(3);
}

Test(io_damage, png)
{
    flip_everywhere(4);
    flip_everywhere(5);
}

Test(io_damage, mrc)
{
    flip_everywhere(6);
}

/* Several bytes at once, drawn by a fixed generator. */
Test(io_damage, scattered)
{
    uint32_t state = 12345;
    for (int layout = 0; layout < LAYOUTS; layout++) {
        size_t size;
        put_sample(layout);
        unsigned char *bytes = sample_get(sample_path(layouts[layout]), &size);
        unsigned char *copy = malloc(size);
        const char *path = path_of("scattered", layout);
        for (int round = 0; round < 300; round++) {
            memcpy(copy, bytes, size);
            for (int i = 0; i < 1 + round % 8; i++) {
                state = state * 1664525u + 1013904223u;
                copy[4 + (state >> 8) % (size - 4)] = (unsigned char)(state >> 3);
            }
            sample_put(path, copy, size);
            sample_refusal(path);
        }
        free(copy);
        free(bytes);
    }
}

/* One bit after another of a deflated page, about 300 of all, is wrong: it is refused, or read as if it were
 * not. */
static void damage_deflated(const struct tiff_sample *sample)
{
    size_t size;
    struct vf_reader *reader;
    struct vf_volume right, damaged;
    const char *whole = sample_path("whole.tif"), *path = sample_path("damaged.tif");
    tiff_sample_write(whole, sample);
    TIFF *tif = TIFFOpen(whole, "r");
    const size_t begin = (size_t)TIFFGetStrileOffset(tif, 0), end = begin + TIFFGetStrileByteCount(tif, 0);
    TIFFClose(tif);
    unsigned char *bytes = sample_get(whole, &size);
    sample_read(whole, &reader, &right);
    vf_reader_close(reader);
    const size_t step = (end - begin) / 40 + 1;
    for (size_t bit = 8 * begin; bit < 8 * end; bit += step) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        sample_put(path, bytes, size);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (sample_refusal(path)[0] != '\0')
            continue;
        sample_read(path, &reader, &damaged);
        vf_reader_close(reader);
        size_t all;
        cr_assert(vf_volume_bytes(right.type, &right.shape, &all));
        cr_assert_eq(memcmp(damaged.data, right.data, all), 0, "predictor %d, bit %zu of byte %zu",
                     sample->predictor, bit % 8, bit / 8);
        vf_volume_free(&damaged);
    }
    vf_volume_free(&right);
    free(bytes);
}

Test(io_damage, deflated)
{
    static const struct {
        enum vf_type type;
        uint16_t predictor;
    } kinds[] = {{VF_U8, PREDICTOR_NONE},           {VF_U8, PREDICTOR_HORIZONTAL},
                 {VF_U16, PREDICTOR_HORIZONTAL},    {VF_I32, PREDICTOR_HORIZONTAL},
                 {VF_F32, PREDICTOR_FLOATINGPOINT}, {VF_F64, PREDICTOR_FLOATINGPOINT}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (unsigned form = 0; form < 8; form++)
            if (!left_out())
                damage_deflated(&(struct tiff_sample){.type = kinds[i].type,
                                                      .predictor = kinds[i].predictor,
                                                      .nx = 7,
                                                      .ny = 4,
                                                      .rows = form & 2   ? 16
                                                              : form & 4 ? 1
                                                                         : 4,
                                                      .tile_nx = 16,
                                                      .samples = form & 1 ? 3 : 1,
                                                      .tiled = form & 2,
                                                      .big_endian = form & 4,
                                                      .scheme = COMPRESSION_ADOBE_DEFLATE});
}

/* The message says where: page, strip and the byte of the file. */
Test(io_damage, messages_name_the_place)
{
    size_t size;
    struct vf_reader *reader;
    struct vf_error error;
    char plane[2 * 7 * 6];
    void *const planes[] = {plane};
    const char *path = sample_path("in.tif");
    tiff_sample_write(
        path,
        &(struct tiff_sample){
            .type = VF_U16, .nx = 7, .ny = 6, .pages = 2, .rows = 3, .scheme = COMPRESSION_ADOBE_DEFLATE});
    TIFF *tif = TIFFOpen(path, "r");
    cr_assert(TIFFReadDirectory(tif));
    const size_t at = (size_t)TIFFGetStrileOffset(tif, 1);
    TIFFClose(tif);
    char *bytes = sample_get(path, &size);
    memset(bytes + at, 0xff, 8);
    sample_put(path, bytes, size);
    free(bytes);
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK);
    cr_assert_eq(vf_reader_read_pages(reader, 0, 1, planes, 1, &error), VF_OK);
    cr_assert_eq(vf_reader_read_pages(reader, 1, 1, planes, 1, &error), VF_FAILED);
    char expected[64];
    snprintf(expected, sizeof expected, "page 2: strip 2 at byte %zu", at);
    cr_assert(strstr(error.text, expected), "%s", error.text);
    cr_assert_eq(vf_reader_read_pages(reader, 0, 1, planes, 1, &error), VF_OK, "a bad page spoils no other");
    vf_reader_close(reader);
}

/* The system's, but counted, and for one call that fails as soon as `reads_before` others are done; -1: none
 * does. */
static atomic_int reads_before = -1, read_count;

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    read_count++;
    if (reads_before >= 0 && reads_before-- == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, data, bytes, at);
}

/* A disk that fails once: libtiff takes a page, or a tag, that it cannot read as one that there is not. */
Test(io_damage, every_read_may_fail)
{
    for (int layout = 0; layout < LAYOUTS; layout++) {
        put_sample(layout);
        const char *path = sample_path(layouts[layout]);
        for (int reads = 0; reads_before < 0; reads++) {
            reads_before = reads;
            const char *message = sample_refusal(path);
            cr_assert(reads_before >= 0 || strstr(message, strerror(EIO)), "%s, read %d: %s", path, reads,
                      message);
        }
        reads_before = -1;
    }
}

/* Of many small pages the system's calls take longer than the pixels. */
Test(io_damage, pages_take_few_reads)
{
    enum { PAGES = 100 };
    struct vf_reader *reader;
    struct vf_error error;
    char plane[16 * 16];
    void *const planes[] = {plane};
    const char *path = sample_path("in.tif");
    tiff_sample_write(path,
                      &(struct tiff_sample){.type = VF_U8, .nx = 16, .ny = 16, .pages = PAGES, .rows = 4});
    read_count = 0;
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK);
    for (size_t page = 0; page < PAGES; page++)
        cr_assert_eq(vf_reader_read_pages(reader, page, 1, planes, 1, &error), VF_OK);
    vf_reader_close(reader);
    cr_assert(read_count < 2 * PAGES, "%d reads", read_count);
}

/* A file that shrinks or changes between opening and reading. Pixels that lie there as in memory are read as
 * many as there were; for others libtiff would make as many as the file now says. */
static void change_meanwhile(uint16_t scheme)
{
    struct vf_reader *reader;
    struct vf_error error;
    char plane[64 * 64 + 1];
    void *const planes[] = {plane};
    const char *path = sample_path("in.tif");
    tiff_sample_write(path,
                      &(struct tiff_sample){.type = VF_U8, .nx = 64, .ny = 64, .pages = 2, .scheme = scheme});
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK);
    cr_assert_eq(truncate(path, 3000), 0);
    cr_assert_eq(vf_reader_read_pages(reader, 1, 1, planes, 1, &error), VF_FAILED);
    tiff_sample_write(path,
                      &(struct tiff_sample){
                          .type = VF_F64, .nx = 64, .ny = 64, .pages = 2, .samples = 3, .scheme = scheme});
    plane[64 * 64] = 99;
    const enum vf_status status = vf_reader_read_pages(reader, 0, 1, planes, 1, &error);
    cr_assert_eq(plane[64 * 64], 99);
    cr_assert(status == VF_FAILED || scheme == COMPRESSION_NONE, "it would not fit its planes");
    cr_assert_eq(vf_reader_finish(reader, &error), VF_FAILED);
    cr_assert(strstr(error.text, "in.tif: was changed while it was read"), "%s", error.text);
    vf_reader_close(reader);
}

Test(io_damage, changed_meanwhile)
{
    change_meanwhile(COMPRESSION_NONE);
    change_meanwhile(COMPRESSION_LZW);
}

static void print(const char *module, const char *format, va_list arguments)
{
    fprintf(stderr, "%s: ", module);
    vfprintf(stderr, format, arguments);
}

/* libtiff and libpng print to stderr when they are let; the user gets one message instead. */
Test(io_damage, nothing_is_printed)
{
    size_t size;
    char log[256];
    snprintf(log, sizeof log, "%s", sample_path("log"));
    for (int layout = 0; layout < LAYOUTS; layout++)
        put_sample(layout);
    TIFFSetErrorHandler(print);
    TIFFSetWarningHandler(print);
    cr_assert_not_null(freopen(log, "w", stderr));
    for (int layout = 0; layout < LAYOUTS; layout++) {
        unsigned char *bytes = sample_get(sample_path(layouts[layout]), &size);
        for (size_t at = 4; at < size; at += 5)
            bytes[at] ^= 0x15;
        sample_put(sample_path("bad"), bytes, size);
        sample_refusal(sample_path("bad"));
        for (size_t at = 4; at < size; at += 5)
            bytes[at] ^= 0x15;
        bytes[size / 2] ^= 0xff;
        sample_put(sample_path("bad"), bytes, size);
        sample_refusal(sample_path("bad"));
        free(bytes);
    }
    fflush(stderr);
    cr_assert_eq(sample_file_size(log), 0);
}
