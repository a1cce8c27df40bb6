#include "io_png_tags.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tiff.h>

#include "io_tags.h"
#include "utf8.h"

/* ---- reading ---- */

enum vf_status vf_png_take_texts(png_structp png, png_infop stored, struct vf_tags *tags, int *count,
                                 struct vf_error *error)
{
    png_textp texts;
    const int taken = png_get_text(png, stored, &texts, NULL);
    *count -= taken;
    for (int i = 0; i < taken; i++) {
        /* zTXt is a packed tEXt, and its number is that of texts which no PNG stored. */
        const int packed = texts[i].compression == PNG_TEXT_COMPRESSION_zTXt;
        const int kind = packed ? PNG_TEXT_COMPRESSION_NONE : texts[i].compression;
        if (vf_tags_add_text(tags, 0, texts[i].key, texts[i].text == NULL ? "" : texts[i].text, kind,
                             error) != VF_OK)
            return VF_FAILED;
    }
    return VF_OK;
}

/* sCAL: the size of what a pixel shows; that of pHYs may be on paper. */
static void take_scale(png_structp png, png_infop stored, struct vf_info *info)
{
#if defined(PNG_sCAL_SUPPORTED)
    struct vf_tags *tags = info->tags;
    double size[2], ignored;
    int unit;
    if (!png_get_sCAL(png, stored, &unit, &size[0], &size[1]))
        return;
    if (unit != PNG_SCALE_METER || !vf_resolution_distance(0.01 / size[0], RESUNIT_CENTIMETER, &ignored) ||
        !vf_resolution_distance(0.01 / size[1], RESUNIT_CENTIMETER, &ignored)) {
        vf_info_note(info, "its scale (sCAL) is not a pixel size in metres and is not kept");
        return;
    }
    tags->has_resolution = true;
    tags->is_scale = true;
    tags->resolution[0] = 0.01 / size[0];
    tags->resolution[1] = 0.01 / size[1];
    tags->resolution_unit = RESUNIT_CENTIMETER;
#else
    (void)png, (void)stored, (void)info;
#endif
}

enum vf_status vf_png_take_tags(png_structp png, png_infop stored, struct vf_info *info,
                                struct vf_error *error)
{
    struct vf_tags *tags = info->tags;
    png_uint_32 x, y, icc_bytes;
    int unit, method;
    png_charp name;
    png_bytep icc;
    double *c = tags->chromaticities;
    if (png_get_pHYs(png, stored, &x, &y, &unit)) {
        const bool metres = unit == PNG_RESOLUTION_METER;
        tags->has_resolution = true;
        tags->resolution[0] = metres ? x / 100.0 : x;
        tags->resolution[1] = metres ? y / 100.0 : y;
        tags->resolution_unit = metres ? RESUNIT_CENTIMETER : RESUNIT_NONE;
    }
    take_scale(png, stored, info);
    /* libpng also gives what it has found to contradict the rest. */
    tags->has_gamma =
        png_get_valid(png, stored, PNG_INFO_gAMA) != 0 && png_get_gAMA(png, stored, &tags->gamma) != 0;
    tags->has_chromaticities =
        png_get_valid(png, stored, PNG_INFO_cHRM) != 0 &&
        png_get_cHRM(png, stored, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7]) != 0;
    if (!png_get_sRGB(png, stored, &tags->srgb_intent))
        tags->srgb_intent = -1;
    if (png_get_iCCP(png, stored, &name, &method, &icc, &icc_bytes)) {
        if (vf_tags_copy_bytes(&tags->icc, icc, icc_bytes, error) != VF_OK)
            return VF_FAILED;
        tags->icc_bytes = icc_bytes;
    }
    return VF_OK;
}

/* Those that a result has too, that say nothing beyond its pixels, or that have a note of their own; a result
 * has a time of its own. `valid`: what libpng sets for them, which it does not for one that is damaged or
 * behind the image. */
static const struct {
    const char *name;
    png_uint_32 valid; /* 0: not looked at */
} known_chunks[] = {
    {"IHDR", 0},
    {"PLTE", 0},
    {"IDAT", 0},
    {"IEND", 0},
    {"tRNS", 0},
    {"hIST", 0},
    {"tIME", 0},
    {"tEXt", 0},
    {"zTXt", 0},
    {"iTXt", 0},
    {"acTL", 0}, /* an animation, and its frames */
    {"fcTL", 0},
    {"fdAT", 0},
    {"eXIf", 0},
    {"gAMA", PNG_INFO_gAMA},
    {"cHRM", PNG_INFO_cHRM},
    {"sRGB", PNG_INFO_sRGB},
    {"iCCP", PNG_INFO_iCCP},
    {"pHYs", PNG_INFO_pHYs},
    {"sCAL", PNG_INFO_sCAL},
};

static bool is_chunk_lost(png_structp png, png_infop stored, bool has_alpha, const char *name)
{
    for (size_t i = 0; i < sizeof known_chunks / sizeof *known_chunks; i++)
        if (strcmp(name, known_chunks[i].name) == 0)
            return known_chunks[i].valid != 0 && png_get_valid(png, stored, known_chunks[i].valid) == 0;
    return has_alpha || strcmp(name, "bKGD") != 0; /* which shows only behind what is transparent */
}

static bool is_text(const char *name)
{
    return strcmp(name, "tEXt") == 0 || strcmp(name, "zTXt") == 0 || strcmp(name, "iTXt") == 0;
}

static void add_chunk(char *text, size_t room, const char *name)
{
    const size_t used = strlen(text);
    if (strstr(text, name) == NULL)
        snprintf(text + used, room - used, "%s%s", used == 0 ? "" : ", ", name);
}

/* The next chunk's name; the file is then behind that chunk. False where there is none. */
static bool next_chunk(FILE *file, char name[5])
{
    unsigned char head[8];
    if (fread(head, 1, sizeof head, file) != sizeof head)
        return false;
    memcpy(name, head + 4, 4);
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == 4 &&
           fseeko(file, 4 + (off_t)png_get_uint_32(head), SEEK_CUR) == 0;
}

enum vf_status vf_png_note_chunks(FILE *file, png_structp png, png_infop stored, struct vf_info *info,
                                  struct vf_png_texts *texts, struct vf_error *error)
{
    enum { SIGNATURE = 8 };
    char text[160] = "", name[5] = "";
    bool animated = false, exif = false;
    off_t behind = 0;
    *texts = (struct vf_png_texts){0};
    for (fseeko(file, SIGNATURE, SEEK_SET); strcmp(name, "IEND") != 0 && next_chunk(file, name);) {
        animated = animated || strcmp(name, "acTL") == 0;
        exif = exif || strcmp(name, "eXIf") == 0;
        if (strcmp(name, "IDAT") == 0)
            behind = ftello(file);
        if (is_text(name)) {
            texts->count++;
            texts->behind = behind;
        }
        if (is_chunk_lost(png, stored, info->has_alpha, name))
            add_chunk(text, sizeof text, name);
    }
    if (ferror(file))
        return vf_fail(error, VF_FAILED, "its chunks cannot be read: %s", vf_cause(errno));
    if (exif)
        vf_info_note(info, "EXIF data is neither read nor kept");
    if (animated)
        vf_info_note(info, "is animated: only its first frame is read and kept");
    if (text[0] != '\0')
        vf_info_note(info, "chunks of it are neither read nor kept: %s", text);
    return VF_OK;
}

/* ---- writing ---- */

/* What PNG itself stored keeps its kind. The rest is ASCII, as tEXt, which every reader knows, UTF-8 or, as
 * tEXt is too, Latin-1. */
static int text_kind(const struct vf_file_text *text)
{
    bool ascii = true;
    if (text->png_kind != 0)
        return text->png_kind;
    for (const unsigned char *c = (const unsigned char *)text->text; *c != '\0';) {
        const int length = vf_utf8_length(c);
        if (length == 0)
            return PNG_TEXT_COMPRESSION_NONE;
        ascii = ascii && length == 1;
        c += length;
    }
    return ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
}

static void put_text(png_structp png, png_infop stored, const char *keyword, char *value, int kind)
{
    png_text text = {
        .compression = kind, .key = (char *)keyword, .text = value, .lang = NULL, .lang_key = NULL};
    if (kind <= PNG_TEXT_COMPRESSION_zTXt)
        text.text_length = strlen(value);
    else
        text.itxt_length = strlen(value);
    png_set_text(png, stored, &text, 1);
}

static void put_texts(png_structp png, png_infop stored, const struct vf_info *info)
{
    const struct vf_tags *tags = info->tags;
    bool software = false;
    for (struct vf_file_text *text = tags == NULL ? NULL : tags->texts; text != NULL; text = text->next) {
        if (!vf_file_text_suits_png(text))
            continue;
        put_text(png, stored, text->keyword, text->text, text_kind(text));
        software = software || strcmp(text->keyword, "Software") == 0;
    }
    if (!software)
        put_text(png, stored, "Software", (char *)"volfilter", PNG_TEXT_COMPRESSION_NONE);
    char *description = tags == NULL ? NULL : vf_tags_page_description(tags);
    if (description != NULL) {
        const struct vf_file_text text = {.tag = TIFFTAG_IMAGEDESCRIPTION, .text = description};
        put_text(png, stored, "Description", description, text_kind(&text));
    }
}

static void put_colours(png_structp png, png_infop stored, const struct vf_info *info)
{
    const struct vf_tags *tags = info->tags;
    if (tags == NULL || !vf_tags_type_kept(tags, info) || tags->shape.nc != info->shape.nc)
        return;
    const double *c = tags->chromaticities;
    if (tags->has_gamma)
        png_set_gAMA(png, stored, tags->gamma);
    if (tags->has_chromaticities)
        png_set_cHRM(png, stored, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]);
    if (tags->srgb_intent >= 0)
        png_set_sRGB(png, stored, tags->srgb_intent);
    else if (vf_tags_icc_suits_png(tags, info))
        png_set_iCCP(png, stored, "ICC profile", PNG_COMPRESSION_TYPE_BASE, tags->icc, tags->icc_bytes);
}

/* As whole pixels per metre say it: 300 dpi are, 3 mm are 3.003. */
static bool is_near_whole(double pixels)
{
    return fabs(round(pixels) - pixels) <= 1e-5 * pixels;
}

/* pHYs, and sCAL where that is too coarse, or would be read as none. */
static void put_resolution(png_structp png, png_infop stored, const struct vf_info *info)
{
    double resolution[2];
    uint16_t unit;
    if (!vf_tags_result_resolution(info, resolution, &unit))
        return;
    const double metre = unit == RESUNIT_INCH ? 1 / 0.0254 : unit == RESUNIT_CENTIMETER ? 100 : 1;
    const double x = resolution[0] * metre, y = resolution[1] * metre;
    const bool is_read = !info->spacing_known[0] || vf_resolution_says_spacing(resolution, unit);
    const bool fits = round(x) >= 1 && round(x) <= INT32_MAX && round(y) >= 1 && round(y) <= INT32_MAX;
#if defined(PNG_sCAL_SUPPORTED)
    /* As text, since libpng itself writes five digits. */
    char width[32], height[32];
    snprintf(width, sizeof width, "%.12g", 1 / x);
    snprintf(height, sizeof height, "%.12g", 1 / y);
    if (unit != RESUNIT_NONE && x > 0 && y > 0 && isfinite(x) && isfinite(y) &&
        !(fits && is_near_whole(x) && is_near_whole(y) && is_read))
        png_set_sCAL_s(png, stored, PNG_SCALE_METER, width, height);
#endif
    if (fits)
        png_set_pHYs(png, stored, (png_uint_32)round(x), (png_uint_32)round(y),
                     unit == RESUNIT_NONE ? PNG_RESOLUTION_UNKNOWN : PNG_RESOLUTION_METER);
}

void vf_png_put_tags(png_structp png, png_infop stored, const struct vf_info *info)
{
    put_colours(png, stored, info);
    put_resolution(png, stored, info);
    put_texts(png, stored, info);
}
