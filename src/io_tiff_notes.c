/* What a TIFF holds besides pages: smaller copies of its images, and tags that only one program knows. */
#include <stdio.h>
#include <string.h>

#include "byte_order.h"
#include "imagej.h"
#include "io_tiff.h"

enum { FIRST_PRIVATE = 32768, MOST_NAMED = 3 };

/* Private tags that are read, or stand for what other tags say too. */
static const uint16_t understood[] = {TIFFTAG_COPYRIGHT, TIFFTAG_ICCPROFILE, VF_TIFF_IJ_COUNTS,
                                      VF_TIFF_IJ_DATA, VF_TIFF_STK_PLANES};

static const struct {
    uint16_t tag;
    const char *program;
} programs[] = {
    {33628, "MetaMorph"},     {33630, "MetaMorph"},     {33631, "MetaMorph"},
    {33723, "IPTC"},          {34118, "Zeiss SEM"},     {34361, "FluoView"},
    {34362, "FluoView"},      {34377, "Photoshop"},     {VF_TIFF_LSM, "Zeiss LSM"},
    {34665, "EXIF"},          {34680, "FEI"},           {34682, "FEI"},
    {34853, "GPS"},           {42112, "GDAL metadata"}, {42113, "GDAL no-data value"},
    {51123, "Micro-Manager"}, {65326, "Nikon"},         {65330, "Nikon"},
};

static const char *program_of(uint32_t tag)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (programs[i].tag == tag)
            return programs[i].program;
    return NULL;
}

/* Some programs took numbers of their own below those for private use: libtiff has no name for them. */
static bool is_standard(TIFF *tif, uint32_t tag)
{
    const TIFFField *field = TIFFFieldWithTag(tif, tag);
    return tag < FIRST_PRIVATE && field != NULL && strncmp(TIFFFieldName(field), "Tag ", 4) != 0;
}

static bool is_understood(TIFF *tif, uint32_t tag)
{
    for (size_t i = 0; i < sizeof understood / sizeof *understood; i++)
        if (understood[i] == tag)
            return true;
    return is_standard(tif, tag) || vf_tiff_is_geo_tag(tag);
}

static void add_tag(struct vf_tiff_tag_set *set, uint32_t tag)
{
    set->word[tag / 64 % 1024] |= (uint64_t)1 << tag % 64;
}

static bool has_tag(const struct vf_tiff_tag_set *set, uint32_t tag)
{
    return (set->word[tag / 64 % 1024] >> tag % 64 & 1) != 0;
}

/* Whether a later page says something else in a tag that is kept of the first one, for the whole file. */
static bool says_otherwise(TIFF *tif, uint32_t tag, const struct vf_tags *tags)
{
    const struct vf_file_text *text = vf_tags_text(tags, (uint16_t)tag);
    const char *own = NULL;
    const void *icc = NULL;
    uint32_t bytes = 0;
    if (tag == TIFFTAG_ICCPROFILE)
        return TIFFGetField(tif, tag, &bytes, &icc) &&
               (bytes != tags->icc_bytes || (bytes > 0 && memcmp(icc, tags->icc, bytes) != 0));
    return text != NULL && TIFFGetField(tif, tag, &own) && own != NULL && strcmp(own, text->text) != 0;
}

static void look_at_tags(TIFF *tif, bool first, const struct vf_tags *tags, struct vf_tiff_unread *unread)
{
    uint16_t orientation = ORIENTATION_TOPLEFT;
    for (int i = 0; i < TIFFGetTagListCount(tif); i++) {
        const uint32_t tag = TIFFGetTagListEntry(tif, i);
        if (first)
            add_tag(&unread->of_first, tag);
        if (!is_understood(tif, tag) || (vf_tiff_is_file_tag(tag) && !has_tag(&unread->of_first, tag)))
            add_tag(&unread->lost, tag);
        else if (!first && vf_tiff_is_file_tag(tag) && says_otherwise(tif, tag, tags))
            add_tag(&unread->others, tag);
    }
    TIFFGetFieldDefaulted(tif, TIFFTAG_ORIENTATION, &orientation);
    if (!first && orientation != (tags->orientation == 0 ? ORIENTATION_TOPLEFT : tags->orientation))
        add_tag(&unread->others, TIFFTAG_ORIENTATION);
}

/* Says `what` of those that are private; or of those that are kept of the first page. */
static void note_tags(TIFF *tif, const struct vf_tiff_tag_set *lost, bool private, const char *what,
                      struct vf_info *info)
{
    char text[160] = "";
    size_t used = 0;
    int others = 0, named = 0;
    for (uint32_t tag = 0; tag < 64 * 1024 && used < sizeof text; tag++) {
        if (lost->word[tag / 64] == 0)
            tag |= 63;
        if (!has_tag(lost, tag) || is_understood(tif, tag) == private)
            continue;
        const char *name = private                   ? program_of(tag)
                           : vf_tiff_is_geo_tag(tag) ? "GeoTIFF"
                                                     : TIFFFieldName(TIFFFieldWithTag(tif, tag));
        if (named == MOST_NAMED) {
            others++;
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u%s%s%s", named++ == 0 ? "" : ", ", tag,
                                 name == NULL ? "" : " (", name == NULL ? "" : name, name == NULL ? "" : ")");
    }
    if (others > 0 && used < sizeof text)
        snprintf(text + used, sizeof text - used, " and %d more", others);
    if (named > 0)
        vf_info_note(info, "%s: %s", what, text);
}

/* Colours other than those of sRGB, which some programs write into every file. */
static bool has_own_colours(TIFF *tif)
{
    const float *white, *primaries;
    const uint16_t *curve[3];
    bool own = TIFFGetField(tif, TIFFTAG_TRANSFERFUNCTION, &curve[0], &curve[1], &curve[2]);
    if (TIFFGetField(tif, TIFFTAG_WHITEPOINT, &white))
        for (int i = 0; i < 2; i++)
            own = own || !vf_is_srgb_chromaticity(i, (double)white[i]);
    if (TIFFGetField(tif, TIFFTAG_PRIMARYCHROMATICITIES, &primaries))
        for (int i = 0; i < 6; i++)
            own = own || !vf_is_srgb_chromaticity(2 + i, (double)primaries[i]);
    return own;
}

/* One resolution holds for the whole file. */
static void look_at_resolution(TIFF *tif, bool first, struct vf_tiff_unread *unread)
{
    float resolution[2] = {0, 0};
    uint16_t unit = RESUNIT_NONE;
    const bool said = TIFFGetField(tif, TIFFTAG_XRESOLUTION, &resolution[0]) &&
                      TIFFGetField(tif, TIFFTAG_YRESOLUTION, &resolution[1]);
    TIFFGetFieldDefaulted(tif, TIFFTAG_RESOLUTIONUNIT, &unit);
    if (first) {
        memcpy(unread->resolution, resolution, sizeof resolution);
        unread->resolution_unit = unit;
    } else if (said) {
        unread->resolutions = unread->resolutions || resolution[0] != unread->resolution[0] ||
                              resolution[1] != unread->resolution[1] || unit != unread->resolution_unit;
    }
}

/* Text of its own; some programs repeat in every page what describes the file. */
static bool has_description(TIFF *tif)
{
    const char *text = NULL;
    return TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text) && text[0] != '\0' && !vf_imagej_is(text) &&
           strstr(text, "<OME") == NULL;
}

/* CZ_LSMINFO, little-endian, in which DimensionZ is at byte 16, DimensionTime at 24. */
static void look_at_lsm(TIFF *tif, struct vf_tiff_unread *unread)
{
    enum { AT_PLANES = 16, AT_TIMES = 24, LEAST = 28 };
    uint32_t count;
    const unsigned char *values = vf_tiff_private_field(tif, VF_TIFF_LSM, TIFF_BYTE, &count);
    if (values == NULL || count < LEAST)
        return;
    unread->lsm_planes = vf_number_of_bytes(values + AT_PLANES, 4, false);
    unread->lsm_times = vf_number_of_bytes(values + AT_TIMES, 4, false);
}

void vf_tiff_look(TIFF *tif, bool first, const struct vf_tags *tags, struct vf_tiff_unread *unread)
{
    uint16_t count = 0;
    const uint64_t *offsets = NULL;
    uint32_t bytes = 0;
    const void *xmp = NULL;
    if (unread->copies == 0 && TIFFGetField(tif, TIFFTAG_SUBIFD, &count, &offsets)) {
        unread->copies = count;
        unread->later = !first;
    }
    unread->xmp = unread->xmp || TIFFGetField(tif, TIFFTAG_XMLPACKET, &bytes, &xmp);
    unread->colours = unread->colours || has_own_colours(tif);
    unread->descriptions = unread->descriptions || (!first && has_description(tif));
    look_at_resolution(tif, first, unread);
    if (first)
        look_at_lsm(tif, unread);
    look_at_tags(tif, first, tags, unread);
}

void vf_tiff_note(TIFF *tif, const struct vf_tiff_unread *unread, struct vf_info *info)
{
    if (unread->copies > 0)
        vf_info_note(info, "%u smaller cop%s of %s (SubIFDs) %s not read", unread->copies,
                     unread->copies == 1 ? "y" : "ies", unread->later ? "later pages" : "each page",
                     unread->copies == 1 ? "is" : "are");
    if (unread->xmp)
        vf_info_note(info, "XMP is neither read nor kept");
    if (unread->colours)
        vf_info_note(info, "white point, primaries and transfer function are neither read nor kept");
    if (unread->resolutions)
        vf_info_note(info,
                     "later pages have other resolutions than the first, which are neither read nor kept");
    if (unread->descriptions && info->metadata != VF_META_PLAIN)
        vf_info_note(info, "descriptions of later pages are not kept");
    note_tags(tif, &unread->lost, true, "private tags are neither read nor kept", info);
    note_tags(tif, &unread->lost, false, "tags that only later pages have are not kept", info);
    note_tags(tif, &unread->others, false,
              "of tags that later pages have otherwise the first page's are kept", info);
}

size_t vf_tiff_stk_planes(TIFF *tif)
{
    uint32_t count;
    return vf_tiff_private_field(tif, VF_TIFF_STK_PLANES, TIFF_ANY, &count) != NULL ? count : 0;
}
