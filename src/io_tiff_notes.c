/* What a TIFF holds besides pages: smaller copies of its images, and tags that only one program knows. */
#include <stdio.h>
#include <string.h>

#include "io_tiff.h"

enum { FIRST_PRIVATE = 32768, MOST_NAMED = 3 };

/* Private tags that are read, or stand for what other tags say too. */
static const uint16_t understood[] = {TIFFTAG_COPYRIGHT, TIFFTAG_ICCPROFILE, 50838, 50839,
                                      VF_TIFF_STK_PLANES};

static const struct {
    uint16_t tag;
    const char *program;
} programs[] = {
    {33628, "MetaMorph"},     {33630, "MetaMorph"},     {33631, "MetaMorph"},
    {33723, "IPTC"},          {34118, "Zeiss SEM"},     {34361, "FluoView"},
    {34362, "FluoView"},      {34377, "Photoshop"},     {34412, "Zeiss LSM"},
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

static void note_private_tags(TIFF *tif, struct vf_info *info)
{
    char text[160] = "";
    size_t used = 0;
    int others = 0, named = 0;
    for (int i = 0; i < TIFFGetTagListCount(tif); i++) {
        const uint32_t tag = TIFFGetTagListEntry(tif, i);
        const char *program = program_of(tag);
        if (is_understood(tif, tag))
            continue;
        if (named == MOST_NAMED) {
            others++;
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u%s%s%s", named++ == 0 ? "" : ", ", tag,
                                 program == NULL ? "" : " (", program == NULL ? "" : program,
                                 program == NULL ? "" : ")");
    }
    if (others > 0)
        snprintf(text + used, sizeof text - used, " and %d more", others);
    if (named > 0)
        vf_info_note(info, "private tags are neither read nor kept: %s", text);
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

void vf_tiff_note(TIFF *tif, struct vf_info *info)
{
    uint16_t count = 0;
    const uint64_t *offsets = NULL;
    uint32_t bytes = 0;
    const void *xmp = NULL;
    if (TIFFGetField(tif, TIFFTAG_SUBIFD, &count, &offsets) && count > 0)
        vf_info_note(info, "%u smaller cop%s of each page (SubIFDs) %s not read", count,
                     count == 1 ? "y" : "ies", count == 1 ? "is" : "are");
    if (TIFFGetField(tif, TIFFTAG_XMLPACKET, &bytes, &xmp))
        vf_info_note(info, "XMP is neither read nor kept");
    if (has_own_colours(tif))
        vf_info_note(info, "white point, primaries and transfer function are neither read nor kept");
    note_private_tags(tif, info);
}

size_t vf_tiff_stk_planes(TIFF *tif)
{
    const TIFFField *field = TIFFFieldWithTag(tif, VF_TIFF_STK_PLANES);
    const void *data = NULL;
    uint32_t count = 0;
    if (field == NULL || !TIFFFieldPassCount(field) || TIFFFieldReadCount(field) != TIFF_VARIABLE2 ||
        !TIFFGetField(tif, VF_TIFF_STK_PLANES, &count, &data))
        return 0;
    return count;
}
