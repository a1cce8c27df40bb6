#include "io_tags.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <tiff.h>

#include "alloc.h"
#include "byte_order.h"
#include "imagej.h"
#include "number.h"
#include "ome.h"

/* Texts that both formats name. */
static const struct {
    uint16_t tag;
    const char *keyword;
} names[] = {
    {TIFFTAG_IMAGEDESCRIPTION, "Description"}, {TIFFTAG_SOFTWARE, "Software"},  {TIFFTAG_ARTIST, "Author"},
    {TIFFTAG_COPYRIGHT, "Copyright"},          {TIFFTAG_DOCUMENTNAME, "Title"},
};

struct vf_tags *vf_tags_new(struct vf_error *error)
{
    struct vf_tags *tags = vf_alloc(1, sizeof *tags, "tags", error);
    if (tags != NULL)
        tags->srgb_intent = -1;
    return tags;
}

static void text_free(struct vf_file_text *text)
{
    vf_free(text->keyword);
    vf_free(text->text);
    vf_free(text);
}

void vf_tags_free(struct vf_tags *tags)
{
    if (tags == NULL)
        return;
    for (struct vf_file_text *text = tags->texts, *next; text != NULL; text = next) {
        next = text->next;
        text_free(text);
    }
    for (size_t page = 0; tags->pages != NULL && page < tags->page_count; page++) {
        vf_free(tags->pages[page].description);
        vf_free(tags->pages[page].name);
    }
    vf_free(tags->pages);
    vf_free(tags->extra_samples);
    vf_free(tags->icc);
    vf_free(tags->colour_map);
    for (int i = 0; i < VF_GEO_TAGS; i++)
        vf_free(tags->geo[i]);
    vf_free(tags->ij_data);
    vf_free(tags->ij_counts);
    vf_ome_free(tags->ome);
    vf_free(tags->mrc_header);
    vf_free(tags->mrc_extended);
    vf_free(tags);
}

void vf_tags_describe(struct vf_tags *tags, const struct vf_info *info)
{
    tags->type = info->type;
    tags->shape = info->shape;
    tags->page_channels = info->page_channels;
    tags->planar_separate = info->planar_separate;
    memcpy(tags->spacing_known, info->spacing_known, sizeof tags->spacing_known);
    memcpy(tags->spacing, info->spacing, sizeof tags->spacing);
    memcpy(tags->unit, info->unit, sizeof tags->unit);
}

size_t vf_tags_bytes_of_pages(const struct vf_tags *tags, size_t count)
{
    size_t all = tags->ome != NULL ? strlen(tags->ome->xml) : 0, longest = all;
    for (size_t i = 0; tags->pages != NULL && i < tags->page_count; i++) {
        const char *text = tags->pages[i].description;
        const size_t length = text == NULL ? 0 : strlen(text);
        longest = length > longest ? length : longest;
        all += length;
    }
    return (count < tags->page_count && count * longest < all ? count * longest : all) + tags->icc_bytes;
}

enum vf_status vf_tags_add_text(struct vf_tags *tags, uint16_t tag, const char *keyword, const char *text,
                                int png_kind, struct vf_error *error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (keyword == NULL && names[i].tag == tag)
            keyword = names[i].keyword;
        else if (tag == 0 && keyword != NULL && strcmp(names[i].keyword, keyword) == 0)
            tag = names[i].tag;
    }
    struct vf_file_text *item = vf_alloc(1, sizeof *item, "text", error);
    if (item == NULL)
        return VF_FAILED;
    item->tag = tag;
    item->png_kind = png_kind;
    item->text = vf_strdup(text, error);
    if (item->text != NULL && keyword != NULL)
        item->keyword = vf_strdup(keyword, error);
    if (item->text == NULL || (keyword != NULL && item->keyword == NULL)) {
        text_free(item);
        return VF_FAILED;
    }
    struct vf_file_text **end = &tags->texts;
    while (*end != NULL)
        end = &(*end)->next;
    *end = item;
    return VF_OK;
}

enum vf_status vf_tags_copy_bytes(void **copy, const void *bytes, size_t size, struct vf_error *error)
{
    *copy = vf_alloc(size, 1, "tag", error);
    if (*copy == NULL)
        return VF_FAILED;
    memcpy(*copy, bytes, size);
    return VF_OK;
}

const struct vf_file_text *vf_tags_text(const struct vf_tags *tags, uint16_t tag)
{
    const struct vf_file_text *text = tags->texts;
    while (text != NULL && text->tag != tag)
        text = text->next;
    return text;
}

bool vf_file_text_suits_png(const struct vf_file_text *text)
{
    enum { MOST = 79 };
    bool any = false;
    if (text->keyword == NULL || strlen(text->keyword) > MOST)
        return false;
    for (const unsigned char *c = (const unsigned char *)text->keyword; *c != '\0'; c++)
        any = any || (*c > ' ' && *c <= '~') || *c > 0xa0;
    return any;
}

bool vf_tags_has_geo(const struct vf_tags *tags)
{
    bool any = false;
    for (int i = 0; i < VF_GEO_TAGS; i++)
        any = any || tags->geo[i] != NULL;
    return any;
}

char *vf_tags_page_description(const struct vf_tags *tags)
{
    char *description = tags->pages != NULL && tags->page_count > 0 ? tags->pages[0].description : NULL;
    return vf_imagej_is(description) ? NULL : description;
}

bool vf_tags_icc_suits_png(const struct vf_tags *tags, const struct vf_info *result)
{
    enum { HEADER = 128, AT_SPACE = 16, AT_SIGNATURE = 36 };
    const unsigned char *icc = tags->icc;
    if (icc == NULL || tags->icc_bytes < HEADER)
        return false;
    return vf_number_of_bytes(icc, 4, true) == tags->icc_bytes && tags->icc_bytes % 4 == 0 &&
           memcmp(icc + AT_SIGNATURE, "acsp", 4) == 0 &&
           memcmp(icc + AT_SPACE, result->page_channels < 3 ? "GRAY" : "RGB ", 4) == 0;
}

bool vf_is_srgb_chromaticity(int index, double number)
{
    static const double srgb[] = {0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06};
    return fabs(number - srgb[index]) <= 0.001;
}

bool vf_tags_type_kept(const struct vf_tags *tags, const struct vf_info *result)
{
    return tags->type == result->type;
}

bool vf_tags_values_kept(const struct vf_tags *tags, const struct vf_info *result)
{
    return vf_tags_type_kept(tags, result) && !result->derived;
}

bool vf_tags_shape_kept(const struct vf_tags *tags, const struct vf_info *result)
{
    const struct vf_shape *a = &tags->shape, *b = &result->shape;
    return a->nx == b->nx && a->ny == b->ny && a->nz == b->nz && a->nc == b->nc && a->nt == b->nt &&
           tags->page_channels == result->page_channels;
}

bool vf_tags_spacing_kept(const struct vf_tags *tags, const struct vf_info *result)
{
    for (int axis = 0; axis < 3; axis++) {
        if (tags->spacing_known[axis] != result->spacing_known[axis])
            return false;
        if (tags->spacing_known[axis] && tags->spacing[axis] != result->spacing[axis])
            return false;
    }
    return strcmp(tags->unit, result->unit) == 0;
}

bool vf_tags_table_kept(const struct vf_tags *tags, const struct vf_info *result)
{
    return tags->colour_map != NULL &&
           (result->metadata == VF_META_IMAGEJ || (result->metadata == VF_META_OME && result->shape.nc == 1));
}

bool vf_fit_pages(size_t pages, size_t product, size_t *slowest)
{
    const size_t others = product / *slowest;
    *slowest = pages / others;
    return pages % others == 0;
}

bool vf_tags_states_layout(const char *description)
{
    return strstr(description, "<OME") != NULL || strncmp(description, "{\"shape\"", 8) == 0;
}

bool vf_tags_states_layout_alone(const char *description)
{
    static const char axes[] = ", \"axes\": \"", truncated[] = ", \"truncated\": true";
    const char *at = strchr(description, ']');
    if (!vf_tags_states_layout(description) || at == NULL)
        return false;
    at++;
    if (strncmp(at, axes, sizeof axes - 1) == 0) {
        at = strchr(at + sizeof axes - 1, '"');
        if (at == NULL)
            return false;
        at++;
    }
    if (strncmp(at, truncated, sizeof truncated - 1) == 0)
        at += sizeof truncated - 1;
    return strcmp(at, "}") == 0;
}

bool vf_tags_layout_kept(const struct vf_tags *tags, const struct vf_info *result)
{
    return vf_tags_type_kept(tags, result) && vf_tags_shape_kept(tags, result) && !tags->planar_separate &&
           !tags->misses_pages && tags->page_count == result->page_count;
}

bool vf_resolution_distance(double resolution, uint16_t unit, double *millimetres)
{
    double unit_millimetres = unit == RESUNIT_INCH ? 25.4 : unit == RESUNIT_CENTIMETER ? 10 : 0;
    if (unit_millimetres == 0 || !isfinite(resolution) || resolution <= 0)
        return false;
    *millimetres = unit_millimetres / resolution;
    return true;
}

bool vf_resolution_spacing(double resolution, uint16_t unit, double *millimetres)
{
    if (!vf_resolution_distance(resolution, unit, millimetres))
        return false;
    const double dots_per_inch = 25.4 / *millimetres;
    return resolution != 1 && fabs(dots_per_inch - 72) > 0.5 && fabs(dots_per_inch - 96) > 0.5;
}

bool vf_resolution_says_spacing(const double resolution[2], uint16_t unit)
{
    double ignored;
    return vf_resolution_spacing(resolution[0], unit, &ignored) &&
           vf_resolution_spacing(resolution[1], unit, &ignored);
}

void vf_tags_set_spacing(const struct vf_tags *tags, struct vf_info *info)
{
    double spacing[2];
    for (int axis = 0; axis < 2; axis++)
        if (!tags->has_resolution || !(tags->is_scale ? vf_resolution_distance : vf_resolution_spacing)(
                                         tags->resolution[axis], tags->resolution_unit, &spacing[axis]))
            return;
    for (int axis = 0; axis < 2; axis++) {
        info->spacing_known[axis] = true;
        info->spacing[axis] = spacing[axis] * 1000;
    }
    strcpy(info->unit, "um");
}

/* libtiff writes more as a fraction with 0 below, and less as one with 0 above; 0 is what was read. */
static bool suits_tiff(const double resolution[2])
{
    const double most = UINT32_MAX - 1;
    bool suits = true;
    for (int axis = 0; axis < 2; axis++)
        suits = suits && resolution[axis] <= most && (resolution[axis] == 0 || resolution[axis] >= 1 / most);
    return suits;
}

bool vf_tags_result_resolution(const struct vf_info *result, double resolution[2], uint16_t *unit)
{
    const struct vf_tags *tags = result->tags;
    /* ImageJ's unit is in its description, which a plain result does not have. */
    const bool unit_lost = tags != NULL && tags->resolution_unit == RESUNIT_NONE && result->unit[0] != '\0' &&
                           result->metadata != VF_META_IMAGEJ;
    const bool has_own = tags != NULL && tags->mrc_header == NULL; /* MRC has its spacing elsewhere */
    if (has_own && vf_tags_spacing_kept(tags, result) && !unit_lost) {
        memcpy(resolution, tags->resolution, sizeof tags->resolution);
        *unit = tags->resolution_unit;
        return tags->has_resolution && suits_tiff(resolution);
    }
    const double nanometres = vf_unit_nanometres(result->unit);
    const bool in_cm = nanometres > 0 && result->metadata != VF_META_IMAGEJ;
    *unit = in_cm ? RESUNIT_CENTIMETER : RESUNIT_NONE;
    for (int axis = 0; axis < 2; axis++) {
        if (!result->spacing_known[axis] || !(result->spacing[axis] > 0))
            return false;
        resolution[axis] = (in_cm ? 1e7 / nanometres : 1) / result->spacing[axis];
    }
    return suits_tiff(resolution);
}

/* ImageJ writes the micro sign as an escape; others as Latin-1, UTF-8, or the Greek letter. */
static const struct {
    const char *name, *unit;
    double scale;
} units[] = {
    {"nm", "nm", 1},          {"nanometer", "nm", 1},   {"nanometre", "nm", 1},  {"nanometers", "nm", 1},
    {"A", "nm", 0.1},         {"angstrom", "nm", 0.1},  {"\xc3\x85", "nm", 0.1}, {"\xc5", "nm", 0.1},
    {"\\u00C5", "nm", 0.1},   {"\\u00c5", "nm", 0.1},   {"um", "um", 1},         {"micron", "um", 1},
    {"microns", "um", 1},     {"micrometer", "um", 1},  {"micrometre", "um", 1}, {"micrometers", "um", 1},
    {"\\u00B5m", "um", 1},    {"\\u00b5m", "um", 1},    {"\xc2\xb5m", "um", 1},  {"\xb5m", "um", 1},
    {"\xce\xbcm", "um", 1},   {"\\u03BCm", "um", 1},    {"\\u03bcm", "um", 1},   {"mm", "mm", 1},
    {"millimeter", "mm", 1},  {"millimetre", "mm", 1},  {"cm", "mm", 10},        {"centimeter", "mm", 10},
    {"centimetre", "mm", 10}, {"m", "mm", 1000},        {"meter", "mm", 1000},   {"metre", "mm", 1000},
    {"inch", "mm", 25.4},     {"inches", "mm", 25.4},   {"in", "mm", 25.4},      {"millimeters", "mm", 1},
    {"pm", "nm", 0.001},      {"angstroms", "nm", 0.1},
};

bool vf_unit_by_name(const char *name, const char **unit, double *scale)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const bool is_symbol = strlen(units[i].name) <= 2; /* Mm is no mm */
        if ((is_symbol ? strcmp : strcasecmp)(units[i].name, name) == 0) {
            *unit = units[i].unit;
            *scale = units[i].scale;
            return true;
        }
    }
    return false;
}
