/* PNG in and out. The samples are written by libpng directly. */
#include <criterion/criterion.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io_samples.h"

TestSuite(io_png, .init = samples_begin, .fini = samples_end);

struct png_sample {
    int colour, bits;
    bool interlaced, transparent, tags, exif, animated;
    bool own_chunks;
    double scale[2];                                             /* x, y of a pixel, in metres */
    enum { UNKNOWN, CHROMATICITIES, STANDARD, PROFILE } meaning; /* of the colours */
    png_textp texts;                                             /* besides those of `tags` */
    int text_count;
    png_uint_32 nx, ny;
};

static unsigned samples_of(int colour)
{
    return colour == PNG_COLOR_TYPE_PALETTE
               ? 1
               : (colour & PNG_COLOR_MASK_COLOR ? 3u : 1u) + (colour & PNG_COLOR_MASK_ALPHA ? 1u : 0u);
}

enum { PROFILE_BYTES = 132 };

/* The least that is an ICC profile: a header that names RGB, XYZ and the illuminant, and no tags; noise where
 * anything may be, since libpng passes over what is too short once it is compressed. */
static void make_profile(unsigned char profile[PROFILE_BYTES])
{
    memset(profile, 0, PROFILE_BYTES);
    profile[3] = PROFILE_BYTES;
    profile[8] = 2;
    memcpy(profile + 12, "mntrRGB XYZ ", 12);
    memcpy(profile + 36, "acsp", 4);
    memcpy(profile + 70, "\xf6\xd6\0\1\0\0\0\0\xd3\x2d", 10);
    for (int i = 80; i < 128; i++)
        profile[i] = (unsigned char)(i * i * 7 / 3);
}

static const double chromaticities[8] = {0.3, 0.31, 0.6, 0.32, 0.2, 0.7, 0.1, 0.05};

static void set_colours(png_structp png, png_infop info, const struct png_sample *s)
{
    const double *c = chromaticities;
    unsigned char profile[PROFILE_BYTES];
    make_profile(profile);
    if (s->meaning == CHROMATICITIES)
        png_set_cHRM(png, info, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]);
    if (s->meaning == STANDARD)
        png_set_sRGB(png, info, PNG_sRGB_INTENT_SATURATION);
    if (s->meaning == PROFILE)
        png_set_iCCP(png, info, "own", PNG_COMPRESSION_TYPE_BASE, profile, PROFILE_BYTES);
}

static void set_tags(png_structp png, png_infop info, const struct png_sample *s)
{
    png_text texts[] = {
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = (char *)"Description", .text = (char *)"a cell"},
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = (char *)"Author", .text = (char *)"someone"},
        {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = (char *)"Own key", .text = (char *)"own text"},
        {.compression = PNG_ITXT_COMPRESSION_NONE, .key = (char *)"Title", .text = (char *)"\xc2\xb5m"},
        {.compression = PNG_TEXT_COMPRESSION_zTXt,
         .key = (char *)"Copyright",
         .text = (char *)"\xa9 someone"},
    };
    if (s->tags) {
        png_set_text(png, info, texts, 5);
        png_set_gAMA(png, info, 0.5);
        png_set_pHYs(png, info, 200000, 100000, PNG_RESOLUTION_METER);
    }
    set_colours(png, info, s);
    if (s->text_count > 0)
        png_set_text(png, info, s->texts, s->text_count);
#if defined(PNG_eXIf_SUPPORTED)
    if (s->exif)
        png_set_eXIf_1(png, info, 8, (png_bytep) "II*\0\10\0\0");
#endif
#if defined(PNG_HANDLE_AS_UNKNOWN_SUPPORTED)
    if (s->animated) {
        const png_unknown_chunk chunk = {"acTL", (png_byte *)"\0\0\0\2\0\0\0", 8, PNG_HAVE_IHDR};
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, chunk.name, 1);
        png_set_unknown_chunks(png, info, &chunk, 1);
    }
#endif
    if (s->scale[0] > 0) {
        char width[32], height[32];
        snprintf(width, sizeof width, "%.9g", s->scale[0]);
        snprintf(height, sizeof height, "%.9g", s->scale[1]);
        png_set_sCAL_s(png, info, PNG_SCALE_METER, width, height);
    }
    if (s->own_chunks) {
        const png_unknown_chunk chunk = {"prVt", (png_byte *)"data", 4, PNG_HAVE_IHDR};
        png_set_oFFs(png, info, 3, 4, PNG_OFFSET_PIXEL);
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, chunk.name, 1);
        png_set_unknown_chunks(png, info, &chunk, 1);
    }
    if (s->transparent) {
        const png_color_16 colour = {.gray = 1, .red = 1, .green = 1, .blue = 1};
        png_set_tRNS(png, info, NULL, 0, &colour);
    }
    if (s->colour == PNG_COLOR_TYPE_PALETTE) {
        const png_color palette[2] = {{0, 0, 0}, {255, 255, 255}};
        png_set_PLTE(png, info, palette, 2);
    }
}

/* 16-bit samples are big-endian in the file; below 8 bits each byte is made of the sample at its first pixel.
 */
static void png_sample_write(const char *path, const struct png_sample *s)
{
    FILE *file = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    const unsigned samples = samples_of(s->colour);
    png_init_io(png, file);
    png_set_IHDR(png, info, s->nx, s->ny, s->bits, s->colour,
                 s->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    set_tags(png, info, s);
    png_write_info(png, info);
    const size_t row = png_get_rowbytes(png, info);
    unsigned char *pixels = calloc(s->ny, row);
    png_bytep *rows = calloc(s->ny, sizeof *rows);
    for (png_uint_32 y = 0; y < s->ny; y++) {
        rows[y] = pixels + y * row;
        for (png_uint_32 x = 0; s->bits >= 8 && x < s->nx; x++)
            for (unsigned k = 0; k < samples; k++) {
                uint16_t value;
                sample_value(s->bits == 16 ? VF_U16 : VF_U8, 0, k, y, x, &value);
                unsigned char *to = rows[y] + (x * samples + k) * (unsigned)s->bits / 8;
                to[0] = (unsigned char)(s->bits == 16 ? value >> 8 : value);
                if (s->bits == 16)
                    to[1] = (unsigned char)value;
            }
        for (size_t i = 0; s->bits < 8 && i < row; i++)
            rows[y][i] = (unsigned char)(y * 37 + i * 59);
    }
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(rows);
    free(pixels);
    fclose(file);
}

Test(io_png, every_layout)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGB_ALPHA};
    static const png_uint_32 sizes[][2] = {{1, 1}, {3, 2}, {17, 9}, {64, 33}};
    const char *const names[] = {"in.png", "out.png", "out.tif", "back.png"};
    for (int bits = 0; bits < 64; bits++) {
        const struct png_sample s = {.colour = colours[bits & 3],
                                     .bits = bits & 4 ? 16 : 8,
                                     .interlaced = bits & 8,
                                     .nx = sizes[bits >> 4][0],
                                     .ny = sizes[bits >> 4][1]};
        png_sample_write(sample_path("in.png"), &s);
        sample_copy(sample_path("in.png"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
        sample_copy(sample_path("in.png"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        sample_copy(sample_path("out.tif"), sample_path("back.png"), VF_COMPRESS_NONE);
        for (int i = 0; i < 4; i++) {
            struct vf_reader *reader;
            struct vf_volume volume;
            sample_read(sample_path(names[i]), &reader, &volume);
            const struct vf_info *info = vf_reader_info(reader);
            cr_assert_eq(volume.type, s.bits == 16 ? VF_U16 : VF_U8);
            cr_assert_eq(info->page_channels, samples_of(s.colour));
            cr_assert_eq(info->has_alpha, (s.colour & PNG_COLOR_MASK_ALPHA) != 0);
            cr_assert_eq(info->rgb, (s.colour & PNG_COLOR_MASK_COLOR) != 0);
            sample_check_pages(&volume, 1, samples_of(s.colour));
            vf_volume_free(&volume);
            vf_reader_close(reader);
        }
    }
}

/* The page may be read again, as a pre-pass does. */
Test(io_png, read_twice)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_error error;
    png_sample_write(sample_path("in.png"), &(struct png_sample){PNG_COLOR_TYPE_GRAY, 16, .nx = 9, .ny = 8});
    sample_read(sample_path("in.png"), &reader, &volume);
    for (int again = 0; again < 2; again++) {
        memset(volume.data, 0, 9 * 8 * 2);
        cr_assert_eq(vf_reader_read(reader, 0, &volume.data, &error), VF_OK, "%s", error.text);
        sample_check_pages(&volume, 1, 1);
    }
    vf_volume_free(&volume);
    vf_reader_close(reader);
}

Test(io_png, few_bits_expand)
{
    for (int bits = 1; bits <= 4; bits *= 2) {
        struct vf_reader *reader;
        struct vf_volume volume;
        png_sample_write(sample_path("in.png"),
                         &(struct png_sample){PNG_COLOR_TYPE_GRAY, bits, .nx = 13, .ny = 6});
        sample_read(sample_path("in.png"), &reader, &volume);
        cr_assert_eq(volume.type, VF_U8);
        const unsigned char *row = (const unsigned char *)volume.data + 2 * 13;
        cr_assert_eq(row[0], ((2 * 37) >> (8 - bits)) * 255 / ((1 << bits) - 1));
        vf_volume_free(&volume);
        vf_reader_close(reader);
    }
}

/* One transparent grey or colour is alpha to a filter. */
Test(io_png, transparent_colour_is_alpha)
{
    for (int colour = 0; colour <= PNG_COLOR_TYPE_RGB; colour += PNG_COLOR_TYPE_RGB) {
        struct vf_reader *reader;
        struct vf_volume volume;
        png_sample_write(sample_path("in.png"),
                         &(struct png_sample){colour, 8, .transparent = true, .nx = 5, .ny = 4});
        sample_read(sample_path("in.png"), &reader, &volume);
        cr_assert(vf_reader_info(reader)->has_alpha);
        cr_assert_eq(volume.shape.nc, colour == PNG_COLOR_TYPE_RGB ? 4 : 2);
        cr_assert_eq(*(unsigned char *)vf_volume_plane(&volume, 0, volume.shape.nc - 1, 0), 255);
        vf_volume_free(&volume);
        vf_reader_close(reader);
    }
}

Test(io_png, palette_is_refused)
{
    png_sample_write(sample_path("in.png"),
                     &(struct png_sample){PNG_COLOR_TYPE_PALETTE, 1, .nx = 9, .ny = 8});
    const char *message = sample_refusal(sample_path("in.png"));
    cr_assert(strstr(message, "palette") && strstr(message, "PNG24:"), "%s", message);
}

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

Test(io_png, tags_are_kept)
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
    vf_volume_free(&volume);
    vf_reader_close(reader);
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
    make_profile(profile);
    png_init_io(png, file);
    png_read_info(png, info);
    png_get_cHRM(png, info, c, c + 1, c + 2, c + 3, c + 4, c + 5, c + 6, c + 7);
    for (int i = 0; i < 8 && meaning == CHROMATICITIES; i++)
        cr_expect_float_eq(c[i], chromaticities[i], 1e-5, "%d: %g", i, c[i]);
    png_get_sRGB(png, info, &intent);
    cr_expect_eq(intent, meaning == STANDARD ? PNG_sRGB_INTENT_SATURATION : -1);
    png_get_iCCP(png, info, &name, &method, &bytes, &count);
    cr_expect_eq(count, meaning == PROFILE ? PROFILE_BYTES : 0);
    cr_expect(count == 0 || memcmp(bytes, profile, PROFILE_BYTES) == 0);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
}

Test(io_png, meaning_of_colours_is_kept)
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

/* What both formats name goes from one to the other. */
Test(io_png, tags_go_to_tiff)
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

Test(io_png, texts_that_tiff_has_no_tag_for)
{
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .tags = true, .nx = 5, .ny = 4};
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    char lost[VF_NOTE_TEXT];
    png_sample_write(sample_path("in.png"), &s);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), VF_OK);
    for (int png = 0; png < 2; png++) {
        vf_info_for_result(vf_reader_info(reader), png ? VF_FORMAT_PNG : VF_FORMAT_TIFF, VF_U8, 1, &result);
        vf_info_lost(vf_reader_info(reader), &result, lost, sizeof lost);
        cr_expect_str_eq(lost, png ? "" : "other texts, its gamma or chromaticities", "%s", lost);
    }
    vf_reader_close(reader);
}

/* A reader knows of a keyword that a writer may not use. */
Test(io_png, keywords_that_are_blank)
{
    static char text[] = "something";
    png_text texts[] = {
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = (char *)"12345", .text = text, .text_length = 9}};
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .texts = texts, .text_count = 1, .nx = 5, .ny = 4};
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    char lost[VF_NOTE_TEXT];
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
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), VF_OK);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_PNG, VF_U8, 1, &result);
    vf_info_lost(vf_reader_info(reader), &result, lost, sizeof lost);
    cr_assert_str_eq(lost, "other texts");
    vf_reader_close(reader);
}

static void set_imagej_resolution(TIFF *tif, uint32_t page)
{
    (void)page;
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, 4.0);
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, 2.0);
    TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
}

/* Of PNG's texts only iTXt is UTF-8; tEXt is Latin-1, as is what many programs write into a TIFF. */
Test(io_png, descriptions_that_are_not_ascii)
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
Test(io_png, exif_is_said_not_to_be_kept)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .exif = true, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    sample_read(sample_path("in.png"), &reader, &volume);
    cr_assert_str_eq(vf_reader_info(reader)->note, "EXIF data is neither read nor kept");
    vf_volume_free(&volume);
    vf_reader_close(reader);
}
#endif

#if defined(PNG_HANDLE_AS_UNKNOWN_SUPPORTED)
Test(io_png, animation_is_said_not_to_be_kept)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    const struct png_sample s = {
        .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .animated = true, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    sample_read(sample_path("in.png"), &reader, &volume);
    cr_assert_str_eq(vf_reader_info(reader)->note, "is animated: only its first frame is read and kept");
    vf_volume_free(&volume);
    vf_reader_close(reader);
}
#endif

/* What a reader opened and read of a sample is said to lose in a format. */
static void check_lost(const struct png_sample *s, enum vf_format format, const char *note,
                       const char *expected)
{
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    char lost[VF_NOTE_TEXT];
    png_sample_write(sample_path("in.png"), s);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.png"), &error), VF_OK);
    vf_info_for_result(vf_reader_info(reader), format, VF_U8, 1, &result);
    vf_info_lost(vf_reader_info(reader), &result, lost, sizeof lost);
    cr_expect_str_eq(vf_reader_info(reader)->note, note);
    cr_expect_str_eq(lost, expected, "%s", lost);
    vf_reader_close(reader);
}

Test(io_png, colours_and_chunks_that_are_lost_are_said)
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
Test(io_png, chunks_that_are_not_read_are_said)
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
Test(io_png, texts_behind_the_image_are_known_at_once)
{
    const struct png_sample s = {.colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .nx = 5, .ny = 4};
    png_sample_write(sample_path("in.png"), &s);
    insert_chunk("tEXt", "Author\0first", 12, false);
    insert_chunk("prVt", "data", 4, true);
    insert_chunk("tEXt", "date:create\0today", 17, true);
    cr_expect_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_TIFF, VF_U8, 1), "other texts");
    cr_expect_str_eq(sample_lost(sample_path("in.png"), VF_FORMAT_PNG, VF_U8, 1), "");
}

Test(io_png, critical_chunks_are_refused)
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

/* pHYs counts whole pixels a metre, which are not enough for very small ones. */
Test(io_png, scale)
{
    static const double sizes[] = {0.65e-6, 0.1e-9, 0.123456789e-9};
    for (int i = 0; i < 3; i++) {
        const struct png_sample s = {
            .colour = PNG_COLOR_TYPE_GRAY, .bits = 8, .scale = {sizes[i], 2 * sizes[i]}, .nx = 5, .ny = 4};
        png_sample_write(sample_path("in.png"), &s);
        for (int copy = 0; copy < 3; copy++) {
            struct vf_reader *reader;
            struct vf_error error;
            const char *path = sample_path(copy == 0 ? "in.png" : copy == 1 ? "out.tif" : "out.png");
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
Test(io_png, scale_that_is_no_length)
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
Test(io_png, spacing_of_imagej)
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
    vf_volume_free(&volume);
    vf_reader_close(reader);
}

/* A few KiB of a file that unpack to more than all texts may take; a text alone may be long. */
Test(io_png, texts_that_unpack_to_much)
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

/* A header that claims much of a file that holds little. */
Test(io_png, impossible_size)
{
    unsigned char file[8 + 25 + 12] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
                                       0,    0,   0,   13,  'I',  'H',  'D',  'R'};
    unsigned char *header = file + 12, *data = file + 8 + 25;
    header[5] = header[9] = 1; /* 65536 x 65536 */
    header[12] = 8;
    const uint32_t header_sum = (uint32_t)crc32(0, header, 17);
    memcpy(data + 4, "IDAT", 4);
    const uint32_t data_sum = (uint32_t)crc32(0, data + 4, 4);
    for (int i = 0; i < 4; i++) {
        header[17 + i] = (unsigned char)(header_sum >> (24 - 8 * i));
        data[8 + i] = (unsigned char)(data_sum >> (24 - 8 * i));
    }
    sample_put(sample_path("in.png"), file, sizeof file);
    const char *message = sample_refusal(sample_path("in.png"));
    cr_assert(strstr(message, "65536 x 65536") && strstr(message, "can hold"), "%s", message);
}
