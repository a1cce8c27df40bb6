/* What a PNG says besides its pixels. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io_samples.h"
#include "png_sample.h"

TestSuite(io_png_tags, .init = samples_begin, .fini = samples_end);

static bool has_text(png_structp png, png_infop info, const char *key, const char *text, int kind)
{
    png_textp texts;
    const int count = png_get_text(png, info, &texts, NULL);
    for (int i = 0; i < count; i++)
        if (strcmp(texts[i].key, key) == 0 && strcmp(texts[i].text, text) == 0)
            return texts[i].compression == kind;
    return false;
}

static void check_tags(const char *path)
{
    FILE *file = fopen(path, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_uint_32 x, y;
    int unit;
    double gamma;
    png_init_io(png, file);
    png_read_info(png, info);
    cr_assert(has_text(png, info, "Description", "a cell", PNG_TEXT_COMPRESSION_NONE));
    cr_assert(has_text(png, info, "Author", "someone", PNG_TEXT_COMPRESSION_NONE));
    cr_assert(has_text(png, info, "Title", "\xc2\xb5m", PNG_ITXT_COMPRESSION_NONE));
    cr_assert(has_text(png, info, "Copyright", "\xa9 someone", PNG_TEXT_COMPRESSION_NONE));
    cr_assert(has_text(png, info, "Own key", "own text", PNG_TEXT_COMPRESSION_NONE));
    cr_assert(has_text(png, info, "Software", "volfilter", PNG_TEXT_COMPRESSION_NONE));
    cr_assert(png_get_gAMA(png, info, &gamma));
    cr_assert_float_eq(gamma, 0.5, 1e-5);
    cr_assert(png_get_pHYs(png, info, &x, &y, &unit) && x == 200000 && y == 100000 &&
              unit == PNG_RESOLUTION_METER);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
}

Test(io_png_tags, tags_are_kept)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .tags = true, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    sample_read(sample_path("in.png"), &reader, &volume);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert(info->spacing_known[0] && info->spacing_known[1] && !info->spacing_known[2]);
    cr_assert_str_eq(info->unit, "um");
    cr_assert_float_eq(info->spacing[0], 5, 1e-9);
    cr_assert_float_eq(info->spacing[1], 10, 1e-9);
    sample_close(reader, &volume);
    sample_copy(sample_path("in.png"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
    check_tags(sample_path("out.png"));
}

static void check_meaning(const char *path, int meaning)
{
    FILE *file = fopen(path, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    double c[8] = {0};
    int intent = -1, method;
    char *name;
    unsigned char profile[PROFILE_BYTES];
    png_bytep bytes = NULL;
    png_uint_32 count = 0;
    png_sample_profile(profile);
    png_init_io(png, file);
    png_read_info(png, info);
    png_get_cHRM(png, info, c, c + 1, c + 2, c + 3, c + 4, c + 5, c + 6, c + 7);
    for (int i = 0; i < 8 && meaning == CHROMATICITIES; i++)
        cr_expect_float_eq(c[i], png_sample_chromaticities[i], 1e-5, "%d: %g", i, c[i]);
    png_get_sRGB(png, info, &intent);
    cr_expect_eq(intent, meaning == STANDARD ? PNG_sRGB_INTENT_SATURATION : -1);
    png_get_iCCP(png, info, &name, &method, &bytes, &count);
    cr_expect_eq(count, meaning == PROFILE ? PROFILE_BYTES : 0);
    cr_expect(count == 0 || memcmp(bytes, profile, PROFILE_BYTES) == 0);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
}

Test(io_png_tags, meaning_of_colours_is_kept)
{
    for (int meaning = UNKNOWN; meaning <= PROFILE; meaning++) {
        struct png_sample s = {.colour = PNG_COLOR_TYPE_RGB, .bits = 8, .nx = 5, .ny = 4};
        s.meaning = meaning;
        png_sample_write(sample_path("in.png"), &s);
        sample_copy(sample_path("in.png"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
        check_meaning(sample_path("in.png"), meaning);
        check_meaning(sample_path("out.png"), meaning);
    }
}

/* Primaries that cannot be: libpng then takes back gamma too, and what is said not to be kept is not. */
Test(io_png_tags, colours_that_libpng_takes_back)
{
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_RGB, .bits = 8, .tags = true, .meaning = CHROMATICITIES, .nx = 5, .ny = 4};
    enum { BYTES = 32 };
    size_t size;
    png_sample_write(sample_path("in.png"), &s);
    unsigned char *file = sample_get(sample_path("in.png"), &size), *chunk = memmem(file, size, "cHRM", 4);
    cr_assert_not_null(chunk);
    memset(chunk + 4, 0, BYTES);
    png_save_uint_32(chunk + 4 + BYTES, (png_uint_32)crc32(0, chunk, 4 + BYTES));
    sample_put(sample_path("in.png"), file, size);
    free(file);
    const struct vf_info info = sample_info(sample_path("in.png"));
    cr_expect(strstr(info.note, "neither read nor kept: ") != NULL && strstr(info.note, "cHRM") != NULL, "%s",
              info.note);
    sample_copy(sample_path("in.png"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
    file = sample_get(sample_path("out.png"), &size);
    cr_expect_eq(memmem(file, size, "gAMA", 4) == NULL, strstr(info.note, "gAMA") != NULL, "%s", info.note);
    cr_expect_null(memmem(file, size, "cHRM", 4));
    free(file);
}

/* What both formats name goes from one to the other. */
Test(io_png_tags, tags_go_to_tiff)
{
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .tags = true, .nx = 5, .ny = 4};
    const char *text;
    float x;
    png_sample_write(sample_path("in.png"), &s);
    sample_copy(sample_path("in.png"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text) && strcmp(text, "a cell") == 0);
    cr_assert(TIFFGetField(tif, TIFFTAG_ARTIST, &text) && strcmp(text, "someone") == 0);
    cr_assert(TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x) && x == 2000);
    TIFFClose(tif);
}

Test(io_png_tags, texts_that_tiff_has_no_tag_for)
{
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .tags = true, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    cr_expect_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_PNG, VF_U8, 1), "");
    cr_expect_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_TIFF, VF_U8, 1),
                     "other texts, its gamma or chromaticities");
}

/* A reader knows of a keyword that a writer may not use. */
Test(io_png_tags, keywords_that_are_blank)
{
    static char text[] = "something";
    png_text texts[] = {
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = (char *)"12345", .text = text, .text_length = 9}};
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .texts = texts, .text_count = 1, .nx = 5, .ny = 4};
    size_t size;
    png_sample_write(sample_path("in.png"), &s);
    char *file = sample_get(sample_path("in.png"), &size);
    unsigned char *chunk = memmem(file, size, "tEXt12345", 9);
    cr_assert_not_null(chunk);
    memset(chunk + 4, ' ', 5);
    png_save_uint_32(chunk + 4 + 6 + 9, (png_uint_32)crc32(0, chunk, 4 + 6 + 9));
    sample_put(sample_path("in.png"), file, size);
    free(file);
    sample_copy(sample_path("in.png"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
    cr_assert_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_PNG, VF_U8, 1), "other texts");
}

static void set_imagej_resolution(TIFF *tif, uint32_t page)
{
    (void)page;
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, 4.0);
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, 2.0);
    TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
}

/* Of PNG's texts only iTXt is UTF-8; tEXt is Latin-1, as is what many programs write into a TIFF. */
Test(io_png_tags, descriptions_that_are_not_ascii)
{
    static const struct {
        const char *text;
        int kind;
    } cases[] = {
        {"20 \xc2\xb5m", PNG_ITXT_COMPRESSION_NONE},
        {"20 \xb5m", PNG_TEXT_COMPRESSION_NONE},
        {"\xc2\xb5 and \xb5", PNG_TEXT_COMPRESSION_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tiff_sample_write(
            sample_path("in.tif"),
            &(struct tiff_sample){.type = VF_U8, .nx = 5, .ny = 4, .description = cases[i].text});
        sample_copy(sample_path("in.tif"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
        FILE *file = fopen(sample_path("out.png"), "rb");
        png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
        png_infop info = png_create_info_struct(png);
        png_init_io(png, file);
        png_read_info(png, info);
        cr_expect(has_text(png, info, "Description", cases[i].text, cases[i].kind), "case %zu", i);
        png_destroy_read_struct(&png, &info, NULL);
        fclose(file);
    }
}

#if defined(PNG_eXIf_SUPPORTED)
Test(io_png_tags, exif_is_said_not_to_be_kept)
{
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .exif = true, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    cr_assert_str_eq(sample_info(sample_path("in.png")).note, "EXIF data is neither read nor kept");
}
#endif

#if defined(PNG_HANDLE_AS_UNKNOWN_SUPPORTED)
Test(io_png_tags, animation_is_said_not_to_be_kept)
{
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .animated = true, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    cr_assert_str_eq(sample_info(sample_path("in.png")).note,
                     "is animated: only its first frame is read and kept");
}
#endif

/* What a reader opened and read of a sample is said to lose in a format. */
static void check_lost(const struct png_sample *s, enum vf_format format, const char *note,
                       const char *expected)
{
    png_sample_write(sample_path("in.png"), s);
    cr_expect_str_eq(sample_info(sample_path("in.png")).note, note);
    cr_expect_str_eq(sample_lost(sample_path("in.png"), format, VF_U8, 1), expected);
}

Test(io_png_tags, colours_and_chunks_that_are_lost_are_said)
{
    static const char own[] = "chunks of it are neither read nor kept: prVt, oFFs";
    const struct png_sample colours = {
        .colour = PNG_COLOR_TYPE_RGB, .bits = 8, .meaning = CHROMATICITIES, .nx = 5, .ny = 4};
    const struct png_sample chunks = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .own_chunks = true, .nx = 5, .ny = 4};
    check_lost(&colours, VF_FORMAT_PNG, "", "");
    check_lost(&colours, VF_FORMAT_TIFF, "", "its gamma or chromaticities");
    check_lost(&colours, VF_FORMAT_MRC, "", "its gamma or chromaticities");
    check_lost(&chunks, VF_FORMAT_PNG, own, "");
}

/* Puts a chunk into in.png, before the image or behind it. */
static void insert_chunk(const char *name, const char *data, size_t bytes, bool behind)
{
    enum { HEADER = 8 + 25, END = 12 };
    size_t size;
    unsigned char *file = sample_get(sample_path("in.png"), &size);
    const size_t at = behind ? size - END : HEADER;
    unsigned char *larger = malloc(size + 12 + bytes), *chunk = larger + at;
    cr_assert_not_null(larger);
    memcpy(larger, file, at);
    png_save_uint_32(chunk, (png_uint_32)bytes);
    memcpy(chunk + 4, name, 4);
    memcpy(chunk + 8, data, bytes);
    png_save_uint_32(chunk + 8 + bytes, (png_uint_32)crc32(0, chunk + 4, (uInt)(4 + bytes)));
    memcpy(chunk + 12 + bytes, file + at, size - at);
    sample_put(sample_path("in.png"), larger, size + 12 + bytes);
    free(larger);
    free(file);
}

/* Those behind the image too, and those that libpng passes over. */
Test(io_png_tags, chunks_that_are_not_read_are_said)
{
    static const struct {
        const char *name, *data;
        size_t bytes;
        bool behind;
        const char *note;
    } cases[] = {
        {"eXIf", "II*\0\10\0\0", 8, true, "EXIF data is neither read nor kept"},
        {"prVt", "data", 4, true, "chunks of it are neither read nor kept: prVt"},
        {"gAMA", "\0\0\xc3\x50", 4, false, ""},
        {"gAMA", "\0\0\xc3\x50", 4, true, "chunks of it are neither read nor kept: gAMA"},
        {"iCCP", "own\0\0junk", 9, false, "chunks of it are neither read nor kept: iCCP"},
        {"tIME", "\7\344\1\2\3\4\5", 7, true, ""},
        {"bKGD", "\0\1", 2, false, ""},
        {"tEXt", "Comment\0words", 13, false, ""},
        {"tEXt", "Comment\0words", 13, true, ""},
        {"zTXt", "Comment\0\0junk", 13, false,
         "1 of its texts is not kept, being damaged or beyond libpng's limits"},
        {"zTXt", "Comment\0\0junk", 13, true,
         "1 of its texts is not kept, being damaged or beyond libpng's limits"},
    };
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .nx = 5, .ny = 4};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_error error;
        png_sample_write(sample_path("in.png"), &s);
        insert_chunk(cases[i].name, cases[i].data, cases[i].bytes, cases[i].behind);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), VF_OK, "%s", error.text);
        cr_expect_str_eq(vf_reader_info(reader)->note, cases[i].note, "case %zu: %s", i,
                         vf_reader_info(reader)->note);
        vf_reader_close(reader);
    }
}

/* ImageMagick's texts stand there: what a TIFF has no place for is said before the image is read. */
Test(io_png_tags, texts_behind_the_image_are_known_at_once)
{
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    insert_chunk("tEXt", "Author\0first", 12, false);
    insert_chunk("prVt", "data", 4, true);
    insert_chunk("tEXt", "date:create\0today", 17, true);
    cr_expect_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_TIFF, VF_U8, 1), "other texts");
    cr_expect_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_PNG, VF_U8, 1), "");
}

/* Of texts that unpack to much together each is known, and passed over when the image is read. */
Test(io_png_tags, long_texts_behind_the_image)
{
    enum { TEXTS = 3, BYTES = 12 << 20, ROOM = BYTES / 500 };
    static const char key[] = "Comment\0"; /* and the method, 0 */
    unsigned char *text = calloc(BYTES, 1), *chunk = malloc(ROOM);
    struct vf_reader *reader;
    struct vf_volume volume;
    uLongf bytes = ROOM - sizeof key;
    cr_assert(text != NULL && chunk != NULL);
    memset(text, 'a', BYTES);
    memcpy(chunk, key, sizeof key);
    cr_assert_eq(compress(chunk + sizeof key, &bytes, text, BYTES), Z_OK);
    png_sample_write(sample_path("in.png"), &(struct png_sample){PNG_COLOR_TYPE_GRAY, 8, .nx = 9, .ny = 8});
    for (int i = 0; i < TEXTS; i++)
        insert_chunk("zTXt", (char *)chunk, sizeof key + bytes, true);
    sample_read(sample_path("in.png"), &reader, &volume);
    sample_check_pages(&volume, 1, 1);
    sample_close(reader, &volume);
    free(text);
    free(chunk);
}

/* All rows are there, but not what should follow them. */
Test(io_png_tags, damage_behind_the_image)
{
    size_t size;
    struct vf_reader *reader;
    struct vf_error error;
    uint8_t pixels[9 * 8];
    void *const plane = pixels;
    png_sample_write(sample_path("in.png"), &(struct png_sample){PNG_COLOR_TYPE_GRAY, 8, .nx = 9, .ny = 8});
    unsigned char *file = sample_get(sample_path("in.png"), &size);
    sample_put(sample_path("in.png"), file, size - 12);
    free(file);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), VF_OK, "%s", error.text);
    cr_expect_eq(vf_reader_read_pages(reader, 0, 1, &plane, 1, &error), VF_FAILED);
    cr_expect(strstr(error.text, ": what follows its image is damaged: the file ends too early"), "%s",
              error.text);
    vf_reader_close(reader);
}

Test(io_png_tags, critical_chunks_are_refused)
{
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .own_chunks = true, .nx = 5, .ny = 4};
    size_t size;
    png_sample_write(sample_path("in.png"), &s);
    unsigned char *file = sample_get(sample_path("in.png"), &size);
    unsigned char *chunk = memmem(file, size, "prVtdata", 8);
    cr_assert_not_null(chunk);
    chunk[0] = 'P';
    png_save_uint_32(chunk + 8, (png_uint_32)crc32(0, chunk, 8));
    sample_put(sample_path("in.png"), file, size);
    free(file);
    const char *message = sample_refusal(sample_path("in.png"));
    cr_assert(strstr(message, "critical chunk"), "%s", message);
}

/* pHYs counts whole pixels a metre, which are not enough for very small ones, nor for millimetres. A scale of
 * one pixel a centimetre, or of 72 an inch, is one; a resolution of these is none. */
Test(io_png_tags, scale)
{
    static const double sizes[] = {0.65e-6, 0.1e-9, 0.123456789e-9, 0.7e-3, 3e-3, 10e-3, 25.4e-3 / 72};
    enum { IN_TIFF = 5, SIZES = sizeof sizes / sizeof *sizes };
    for (int i = 0; i < SIZES; i++) {
        const struct png_sample s = {
            .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .scale = {sizes[i], 2 * sizes[i]}, .nx = 5, .ny = 4};
        png_sample_write(sample_path("in.png"), &s);
        for (int copy = 0; copy < (i < IN_TIFF ? 3 : 2); copy++) {
            struct vf_reader *reader;
            struct vf_error error;
            const char *path = sample_path(copy == 0 ? "in.png" : copy == 1 ? "out.png" : "out.tif");
            if (copy > 0)
                sample_copy(sample_path("in.png"), path, VF_COMPRESS_AS_INPUT);
            cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK);
            const struct vf_info *info = vf_reader_info(reader);
            cr_assert(info->spacing_known[0] && info->spacing_known[1] && strcmp(info->unit, "um") == 0);
            cr_assert_float_eq(info->spacing[0] / sizes[i], 1e6, 1);
            cr_assert_float_eq(info->spacing[1] / sizes[i], 2e6, 2);
            vf_reader_close(reader);
        }
    }
}

/* sCAL of an angle, as of the sky. */
Test(io_png_tags, scale_that_is_no_length)
{
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .scale = {1e-6, 1e-6}, .nx = 5, .ny = 4};
    struct vf_reader *reader;
    struct vf_error error;
    size_t size;
    png_sample_write(sample_path("in.png"), &s);
    unsigned char *file = sample_get(sample_path("in.png"), &size);
    unsigned char *chunk = memmem(file, size, "sCAL", 4);
    cr_assert_not_null(chunk);
    const png_uint_32 bytes = 4 + png_get_uint_32(chunk - 4);
    chunk[4] = PNG_SCALE_RADIAN;
    png_save_uint_32(chunk + bytes, (png_uint_32)crc32(0, chunk, bytes));
    sample_put(sample_path("in.png"), file, size);
    free(file);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), VF_OK);
    cr_assert_not(vf_reader_info(reader)->spacing_known[0]);
    cr_assert_str_eq(vf_reader_info(reader)->note,
                     "its scale (sCAL) is not a pixel size in metres and is not kept");
    vf_reader_close(reader);
}

/* ImageJ names its unit where PNG has no place for it. */
Test(io_png_tags, spacing_of_imagej)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8,
                                            .nx = 5,
                                            .ny = 4,
                                            .description = "ImageJ=1.53t\nunit=micron\n",
                                            .more = set_imagej_resolution});
    sample_copy(sample_path("in.tif"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
    sample_read(sample_path("out.png"), &reader, &volume);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert(info->spacing_known[0] && strcmp(info->unit, "um") == 0);
    cr_assert_float_eq(info->spacing[0], 0.25, 1e-9);
    cr_assert_float_eq(info->spacing[1], 0.5, 1e-9);
    sample_close(reader, &volume);
}

/* A few KiB of a file that unpack to more than all texts may take; a text alone may be long. */
Test(io_png_tags, texts_that_unpack_to_much)
{
    enum { TEXTS = 6, BYTES = 15 << 20 };
    char *text = malloc(BYTES + 1);
    cr_assert_not_null(text);
    memset(text, 'a', BYTES);
    text[BYTES] = '\0';
    for (int count = 1; count <= TEXTS; count += TEXTS - 1) {
        struct vf_reader *reader;
        struct vf_error error;
        png_text texts[TEXTS];
        for (int i = 0; i < count; i++)
            texts[i] = (png_text){.compression = PNG_TEXT_COMPRESSION_zTXt,
                                  .key = (char *)"Comment",
                                  .text = text,
                                  .text_length = BYTES};
        const struct png_sample s = {
            .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .texts = texts, .text_count = count, .nx = 5, .ny = 4};
        png_sample_write(sample_path("in.png"), &s);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), count == 1 ? VF_OK : VF_FAILED);
        cr_assert(count == 1 || strstr(error.text, "-strip"), "%s", error.text);
        vf_reader_close(reader);
    }
    free(text);
}
