#include "png_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"

unsigned png_sample_channels(int colour)
{
    return colour == PNG_COLOR_TYPE_PALETTE
               ? 1
               : (colour & PNG_COLOR_MASK_COLOR ? 3u : 1u) + (colour & PNG_COLOR_MASK_ALPHA ? 1u : 0u);
}

/* The least that is an ICC profile: a header that names RGB, XYZ and the illuminant, and no tags; noise where
 * anything may be, since libpng passes over what is too short once it is compressed. */
void png_sample_profile(unsigned char profile[PROFILE_BYTES])
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

const double png_sample_chromaticities[8] = {0.3, 0.31, 0.6, 0.32, 0.2, 0.7, 0.1, 0.05};

static void set_colours(png_structp png, png_infop info, const struct png_sample *s)
{
    const double *c = png_sample_chromaticities;
    unsigned char profile[PROFILE_BYTES];
    png_sample_profile(profile);
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

void png_sample_write(const char *path, const struct png_sample *s)
{
    FILE *file = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    const unsigned samples = png_sample_channels(s->colour);
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
