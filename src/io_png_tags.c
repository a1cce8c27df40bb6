#include "io_png_tags.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tiff.h>

#include "io_tags.h"
#include "utf8.h"

/* ---- reading ---- */

enum vf_status vf_png_take_texts(png_structp png, png_infop info, struct vf_tags *tags,
                                 struct vf_error *error)
{
    png_textp texts;
    const int count = png_get_text(png, info, &texts, NULL);
    for (int i = 0; i < count; i++) {
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
    if (unit != PNG_SCALE_METER || !vf_resolution_spacing(0.01 / size[0], RESUNIT_CENTIMETER, &ignored) ||
        !vf_resolution_spacing(0.01 / size[1], RESUNIT_CENTIMETER, &ignored)) {
        vf_info_note(info, "its scale (sCAL) is not a pixel size in metres and is not kept");
        return;
    }
    tags->has_resolution = true;
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
    tags->has_gamma = png_get_gAMA(png, stored, &tags->gamma) != 0;
    tags->has_chromaticities =
        png_get_cHRM(png, stored, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7]) != 0;
    if (!png_get_sRGB(png, stored, &tags->srgb_intent))
        tags->srgb_intent = -1;
    if (png_get_iCCP(png, stored, &name, &method, &icc, &icc_bytes)) {
        if (vf_tags_copy_bytes(&tags->icc, icc, icc_bytes, error) != VF_OK)
            return VF_FAILED;
        tags->icc_bytes = icc_bytes;
    }
    return vf_png_take_texts(png, stored, tags, error);
}

/* What libpng knows of and a result has not; it has a time of its own (tIME), and a background shows only
 * behind what is transparent. */
static const struct {
    const char *name;
    png_uint_32 valid;
} other_chunks[] = {
    {"bKGD", PNG_INFO_bKGD}, {"sBIT", PNG_INFO_sBIT}, {"oFFs", PNG_INFO_oFFs},
    {"pCAL", PNG_INFO_pCAL}, {"sPLT", PNG_INFO_sPLT},
#if defined(PNG_INFO_cICP) /* from 1.6.45 on; before, they are unknown chunks */
    {"cICP", PNG_INFO_cICP}, {"cLLI", PNG_INFO_cLLI}, {"mDCV", PNG_INFO_mDCV},
#endif
};

static void add_chunk(char *text, size_t room, const char *name)
{
    const size_t used = strlen(text);
    if (strstr(text, name) == NULL)
        snprintf(text + used, room - used, "%s%s", used == 0 ? "" : ", ", name);
}

/* An animation's frames are in chunks that libpng does not know; so is what programs have of their own. */
void vf_png_note_chunks(png_structp png, png_infop stored, struct vf_info *info)
{
    char text[160] = "";
    bool animated = false;
#if defined(PNG_eXIf_SUPPORTED)
    if (png_get_valid(png, stored, PNG_INFO_eXIf))
        vf_info_note(info, "EXIF data is neither read nor kept");
#endif
    for (size_t i = 0; i < sizeof other_chunks / sizeof *other_chunks; i++)
        if (png_get_valid(png, stored, other_chunks[i].valid) &&
            (info->has_alpha || other_chunks[i].valid != PNG_INFO_bKGD))
            add_chunk(text, sizeof text, other_chunks[i].name);
#if defined(PNG_HANDLE_AS_UNKNOWN_SUPPORTED)
    png_unknown_chunkp chunks;
    const int count = png_get_unknown_chunks(png, stored, &chunks);
    for (int i = 0; i < count; i++) {
        const char *name = (const char *)chunks[i].name;
        animated = animated || strcmp(name, "acTL") == 0;
        if (strcmp(name, "acTL") != 0 && strcmp(name, "fcTL") != 0)
            add_chunk(text, sizeof text, name);
    }
#endif
    if (animated)
        vf_info_note(info, "is animated: only its first frame is read and kept");
    if (text[0] != '\0')
        vf_info_note(info, "chunks of it are neither read nor kept: %s", text);
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
    else if (tags->icc != NULL)
        png_set_iCCP(png, stored, "ICC profile", PNG_COMPRESSION_TYPE_BASE, tags->icc, tags->icc_bytes);
}

static void put_resolution(png_structp png, png_infop stored, const struct vf_info *info)
{
    double resolution[2];
    uint16_t unit;
    if (!vf_tags_result_resolution(info, resolution, &unit))
        return;
    const double metre = unit == RESUNIT_INCH ? 1 / 0.0254 : unit == RESUNIT_CENTIMETER ? 100 : 1;
    const double x = round(resolution[0] * metre), y = round(resolution[1] * metre);
    if (!(x >= 1 && x <= INT32_MAX && y >= 1 && y <= INT32_MAX)) {
#if defined(PNG_sCAL_SUPPORTED)
        /* As text, since libpng itself writes five digits. */
        char width[32], height[32];
        snprintf(width, sizeof width, "%.12g", 1 / (resolution[0] * metre));
        snprintf(height, sizeof height, "%.12g", 1 / (resolution[1] * metre));
        if (unit != RESUNIT_NONE && x > 0 && y > 0 && isfinite(x) && isfinite(y))
            png_set_sCAL_s(png, stored, PNG_SCALE_METER, width, height);
#endif
        return;
    }
    png_set_pHYs(png, stored, (png_uint_32)x, (png_uint_32)y,
                 unit == RESUNIT_NONE ? PNG_RESOLUTION_UNKNOWN : PNG_RESOLUTION_METER);
}

void vf_png_put_tags(png_structp png, png_infop stored, const struct vf_info *info)
{
    put_colours(png, stored, info);
    put_resolution(png, stored, info);
    put_texts(png, stored, info);
}
