/* Tags between a TIFF's directories and struct vf_tags. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "imagej_data.h"
#include "io_tiff.h"

/* Texts of the whole file; description and page name are each page's own. */
static const uint16_t text_tags[] = {
    TIFFTAG_DOCUMENTNAME, TIFFTAG_MAKE,   TIFFTAG_MODEL,        TIFFTAG_SOFTWARE,
    TIFFTAG_DATETIME,     TIFFTAG_ARTIST, TIFFTAG_HOSTCOMPUTER, TIFFTAG_COPYRIGHT,
};

static enum vf_status read_texts(TIFF *tif, struct vf_tags *tags, struct vf_error *error)
{
    for (size_t i = 0; i < sizeof text_tags / sizeof *text_tags; i++) {
        const char *text = NULL;
        if (TIFFGetField(tif, text_tags[i], &text) && text != NULL &&
            vf_tags_add_text(tags, text_tags[i], NULL, text, 0, error) != VF_OK)
            return VF_FAILED;
    }
    return VF_OK;
}

const void *vf_tiff_private_field(TIFF *tif, uint32_t tag, TIFFDataType type, uint32_t *count)
{
    const TIFFField *field = TIFFFieldWithTag(tif, tag);
    void *data = NULL;
    if (field == NULL || (type != TIFF_ANY && TIFFFieldDataType(field) != type) ||
        !TIFFFieldPassCount(field) || TIFFFieldReadCount(field) != TIFF_VARIABLE2 ||
        !TIFFGetField(tif, tag, count, &data))
        return NULL;
    return *count == 0 ? NULL : data;
}

static enum vf_status read_imagej_data(TIFF *tif, struct vf_tags *tags, struct vf_error *error)
{
    uint32_t count, bytes;
    const uint32_t *counts = vf_tiff_private_field(tif, VF_TIFF_IJ_COUNTS, TIFF_LONG, &count);
    const void *data = vf_tiff_private_field(tif, VF_TIFF_IJ_DATA, TIFF_BYTE, &bytes);
    if (counts == NULL || data == NULL)
        return VF_OK;
    void *copy;
    if (vf_tags_copy_bytes(&copy, counts, count * sizeof *counts, error) != VF_OK)
        return VF_FAILED;
    tags->ij_counts = copy;
    tags->ij_count = count;
    tags->ij_bytes = bytes;
    return vf_tags_copy_bytes(&tags->ij_data, data, bytes, error);
}

static const TIFFFieldInfo geo_fields[VF_GEO_TAGS] = {
    {33550, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelPixelScale"},
    {33922, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTiepoint"},
    {34264, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTransformation"},
    {34735, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)"GeoKeyDirectory"},
    {34736, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"GeoDoubleParams"},
    {34737, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"GeoAsciiParams"},
};

bool vf_tiff_is_geo_tag(uint32_t tag)
{
    for (int i = 0; i < VF_GEO_TAGS; i++)
        if (geo_fields[i].field_tag == tag)
            return true;
    return false;
}

bool vf_tiff_is_file_tag(uint32_t tag)
{
    bool is_text = false;
    for (size_t i = 0; i < sizeof text_tags / sizeof *text_tags; i++)
        is_text = is_text || text_tags[i] == tag;
    return (is_text && tag != TIFFTAG_SOFTWARE && tag != TIFFTAG_DATETIME) || tag == TIFFTAG_ICCPROFILE ||
           vf_tiff_is_geo_tag(tag);
}

static enum vf_status read_geo(TIFF *tif, struct vf_tags *tags, struct vf_error *error)
{
    for (int i = 0; i < VF_GEO_TAGS; i++) {
        const TIFFDataType type = geo_fields[i].field_type;
        const void *data = vf_tiff_private_field(tif, geo_fields[i].field_tag, type, &tags->geo_count[i]);
        if (data != NULL &&
            vf_tags_copy_bytes(&tags->geo[i], data, tags->geo_count[i] * (size_t)TIFFDataWidth(type),
                               error) != VF_OK)
            return VF_FAILED;
    }
    return VF_OK;
}

/* The pixels of a result are where the input's are. */
static bool write_geo(TIFF *tif, const struct vf_tags *tags)
{
    if (!vf_tags_has_geo(tags))
        return true;
    TIFFMergeFieldInfo(tif, geo_fields, VF_GEO_TAGS);
    for (int i = 0; i < VF_GEO_TAGS; i++)
        if (tags->geo[i] != NULL &&
            !TIFFSetField(tif, geo_fields[i].field_tag, tags->geo_count[i], tags->geo[i]))
            return false;
    return true;
}

static enum vf_status read_colours(TIFF *tif, struct vf_tags *tags, struct vf_error *error)
{
    uint16_t *map[3], count = 0, *extra = NULL, photometric = PHOTOMETRIC_MINISBLACK, bits = 0;
    void *icc = NULL, *copy;
    uint32_t icc_bytes = 0;
    if (TIFFGetField(tif, TIFFTAG_ICCPROFILE, &icc_bytes, &icc) && icc_bytes > 0) {
        if (vf_tags_copy_bytes(&tags->icc, icc, icc_bytes, error) != VF_OK)
            return VF_FAILED;
        tags->icc_bytes = icc_bytes;
    }
    if (TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &count, &extra) && count > 0) {
        if (vf_tags_copy_bytes(&copy, extra, count * sizeof *extra, error) != VF_OK)
            return VF_FAILED;
        tags->extra_samples = copy;
        tags->extra_count = count;
    }
    TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric);
    TIFFGetField(tif, TIFFTAG_BITSPERSAMPLE, &bits);
    if (photometric != PHOTOMETRIC_PALETTE || bits != 8 ||
        !TIFFGetField(tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return VF_OK;
    tags->colour_map = vf_alloc(3 * 256, sizeof *tags->colour_map, "colour map", error);
    for (int i = 0; tags->colour_map != NULL && i < 3; i++)
        memcpy(tags->colour_map + 256 * i, map[i], 256 * sizeof *map[i]);
    return tags->colour_map == NULL ? VF_FAILED : VF_OK;
}

enum vf_status vf_tiff_tags_read(TIFF *tif, struct vf_tags *tags, struct vf_error *error)
{
    float x, y;
    if (TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x) && TIFFGetField(tif, TIFFTAG_YRESOLUTION, &y)) {
        tags->has_resolution = true;
        tags->resolution[0] = (double)x;
        tags->resolution[1] = (double)y;
        TIFFGetFieldDefaulted(tif, TIFFTAG_RESOLUTIONUNIT, &tags->resolution_unit);
    }
    TIFFGetField(tif, TIFFTAG_ORIENTATION, &tags->orientation);
    if (read_texts(tif, tags, error) != VF_OK || read_colours(tif, tags, error) != VF_OK ||
        read_geo(tif, tags, error) != VF_OK)
        return VF_FAILED;
    return read_imagej_data(tif, tags, error);
}

enum vf_status vf_tiff_page_text_read(TIFF *tif, struct vf_page_text *text, struct vf_error *error)
{
    const char *description = NULL, *name = NULL, *date_time = NULL;
    if (TIFFGetField(tif, TIFFTAG_DATETIME, &date_time) && date_time != NULL &&
        strlen(date_time) < sizeof text->date_time)
        strcpy(text->date_time, date_time);
    text->has_position[0] = TIFFGetField(tif, TIFFTAG_XPOSITION, &text->position[0]) == 1;
    text->has_position[1] = TIFFGetField(tif, TIFFTAG_YPOSITION, &text->position[1]) == 1;
    if (TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description) && description != NULL) {
        text->description = vf_strdup(description, error);
        if (text->description == NULL)
            return VF_FAILED;
    }
    if (TIFFGetField(tif, TIFFTAG_PAGENAME, &name) && name != NULL) {
        text->name = vf_strdup(name, error);
        if (text->name == NULL)
            return VF_FAILED;
    }
    return VF_OK;
}

static bool write_resolution(TIFF *tif, const struct vf_info *result)
{
    double resolution[2];
    uint16_t unit;
    if (!vf_tags_result_resolution(result, resolution, &unit))
        return true;
    return TIFFSetField(tif, TIFFTAG_XRESOLUTION, resolution[0]) &&
           TIFFSetField(tif, TIFFTAG_YRESOLUTION, resolution[1]) &&
           TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, unit);
}

/* Whether a field without a count of its own, or with one of 16 or 32 bits, has no value. */
static bool lacks_value(TIFF *tif, uint32_t tag)
{
    const TIFFField *field = TIFFFieldWithTag(tif, tag);
    const void *value = "";
    uint32_t count = 0;
    uint16_t short_count = 0;
    if (field == NULL)
        return false;
    if (!TIFFFieldPassCount(field))
        return TIFFFieldDataType(field) == TIFF_ASCII && TIFFGetField(tif, tag, &value) && value == NULL;
    if (TIFFFieldReadCount(field) == TIFF_VARIABLE2)
        return TIFFGetField(tif, tag, &count, &value) && count > 0 && value == NULL;
    return TIFFFieldReadCount(field) == TIFF_VARIABLE && TIFFGetField(tif, tag, &short_count, &value) &&
           short_count > 0 && value == NULL;
}

static bool lacks_memory(TIFF *tif)
{
    uint16_t *map[3] = {NULL, NULL, NULL};
    if (lacks_value(tif, TIFFTAG_EXTRASAMPLES))
        return true;
    if (TIFFGetField(tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) &&
        (map[0] == NULL || map[1] == NULL || map[2] == NULL))
        return true;
    for (int i = 0; i < TIFFGetTagListCount(tif); i++)
        if (lacks_value(tif, (uint32_t)TIFFGetTagListEntry(tif, i)))
            return true;
    return false;
}

int vf_tiff_directory_cause(TIFF *tif, const struct vf_tiff_stream *stream)
{
    return stream->io_error != 0 ? stream->io_error : lacks_memory(tif) ? ENOMEM : 0;
}

/* False, for callers to return; the file's stream says why. */
static bool fail_for_memory(TIFF *tif)
{
    ((struct vf_tiff_stream *)TIFFClientdata(tif))->io_error = ENOMEM;
    return false;
}

/* What the samples beyond the colours are: the input's words where they still fit, else alpha or nothing. */
static bool write_extra_samples(TIFF *tif, const struct vf_info *result)
{
    const struct vf_tags *tags = result->tags;
    const size_t colours = result->rgb ? 3 : 1, count = result->page_channels - colours;
    if (count == 0)
        return true;
    if (tags != NULL && tags->extra_count == count && vf_tags_shape_kept(tags, result))
        return TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, (unsigned)count, tags->extra_samples);
    struct vf_error ignored;
    uint16_t *extra = vf_alloc(count, sizeof *extra, "extra samples", &ignored);
    if (extra == NULL)
        return fail_for_memory(tif);
    memset(extra, 0, count * sizeof *extra);
    if (result->has_alpha)
        extra[count - 1] = result->premultiplied ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
    const bool written = TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, (unsigned)count, extra);
    vf_free(extra);
    return written;
}

static bool write_colours(TIFF *tif, const struct vf_info *result)
{
    struct vf_tags *tags = result->tags;
    const bool kept = tags != NULL && vf_tags_type_kept(tags, result) && vf_tags_shape_kept(tags, result);
    const bool mapped = kept && vf_tags_table_kept(tags, result);
    const uint16_t photometric = mapped                 ? PHOTOMETRIC_PALETTE
                                 : result->rgb          ? PHOTOMETRIC_RGB
                                 : result->min_is_white ? PHOTOMETRIC_MINISWHITE
                                                        : PHOTOMETRIC_MINISBLACK;
    if (!TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, photometric) || !write_extra_samples(tif, result))
        return false;
    if (mapped && !TIFFSetField(tif, TIFFTAG_COLORMAP, tags->colour_map, tags->colour_map + 256,
                                tags->colour_map + 512))
        return false;
    return !kept || tags->icc == NULL || TIFFSetField(tif, TIFFTAG_ICCPROFILE, tags->icc_bytes, tags->icc);
}

static bool write_texts(TIFF *tif, const struct vf_tags *tags)
{
    for (size_t i = 0; i < sizeof text_tags / sizeof *text_tags; i++) {
        const struct vf_file_text *text = tags == NULL ? NULL : vf_tags_text(tags, text_tags[i]);
        if (text != NULL && !TIFFSetField(tif, text_tags[i], text->text))
            return false;
        if (text == NULL && text_tags[i] == TIFFTAG_SOFTWARE &&
            !TIFFSetField(tif, TIFFTAG_SOFTWARE, "volfilter"))
            return false;
    }
    return true;
}

static bool write_page_text(TIFF *tif, const struct vf_info *result, size_t page)
{
    const struct vf_tags *tags = result->tags;
    const char *description = NULL, *name = NULL;
    if (tags != NULL && tags->pages != NULL && (page == 0 || tags->page_count == result->page_count)) {
        description = tags->pages[page].description;
        name = tags->pages[page].name;
    } else if (tags != NULL && page == 0 && vf_tags_text(tags, TIFFTAG_IMAGEDESCRIPTION) != NULL) {
        description = vf_tags_text(tags, TIFFTAG_IMAGEDESCRIPTION)->text;
    }
    if (description != NULL && vf_tags_states_layout(description) && !vf_tags_layout_kept(tags, result))
        description = NULL;
    return (description == NULL || TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, description)) &&
           (name == NULL || TIFFSetField(tif, TIFFTAG_PAGENAME, name));
}

/* Labels, lookup tables and overlays, as far as they hold for the result. */
static bool write_imagej_data(TIFF *tif, const struct vf_info *result)
{
    static const TIFFFieldInfo fields[] = {
        {VF_TIFF_IJ_COUNTS, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_LONG, FIELD_CUSTOM, 1, 1,
         (char *)"IJMetadataByteCounts"},
        {VF_TIFF_IJ_DATA, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_BYTE, FIELD_CUSTOM, 1, 1,
         (char *)"IJMetadata"},
    };
    struct vf_imagej_data data;
    struct vf_error ignored;
    if (vf_imagej_data_for_result(result, &data, &ignored) != VF_OK)
        return fail_for_memory(tif);
    if (data.count == 0)
        return true;
    TIFFMergeFieldInfo(tif, fields, 2);
    const bool written = TIFFSetField(tif, VF_TIFF_IJ_COUNTS, data.count, data.counts) &&
                         TIFFSetField(tif, VF_TIFF_IJ_DATA, data.size, data.bytes);
    vf_imagej_data_free(&data);
    return written;
}

/* The input's page of the same plane, time and channel; NULL where that has none of its own. */
static const struct vf_page_text *source_page(const struct vf_info *result, size_t page)
{
    const struct vf_tags *tags = result->tags;
    size_t t, z, c;
    if (tags == NULL || tags->pages == NULL || tags->page_channels == 0)
        return NULL;
    vf_info_page_place(result, page, &t, &z, &c);
    const size_t channel = c / (result->outputs > 1 ? result->outputs : 1) / tags->page_channels;
    const size_t source = (t * tags->shape.nz + z) * (tags->shape.nc / tags->page_channels) + channel;
    return source < tags->page_count ? &tags->pages[source] : NULL;
}

/* Where its stage was, in the unit of the resolution, which another spacing may change, and when it was
 * taken; the first page's time is among the texts of the whole file. */
static bool write_place_and_time(TIFF *tif, const struct vf_info *result, size_t page)
{
    static const uint32_t tags[] = {TIFFTAG_XPOSITION, TIFFTAG_YPOSITION};
    const struct vf_page_text *text = source_page(result, page);
    if (text == NULL)
        return true;
    for (int axis = 0; axis < 2; axis++)
        if (text->has_position[axis] && vf_tags_spacing_kept(result->tags, result) &&
            !TIFFSetField(tif, tags[axis], (double)text->position[axis]))
            return false;
    return page == 0 || text->date_time[0] == '\0' || TIFFSetField(tif, TIFFTAG_DATETIME, text->date_time);
}

static bool write_tags(TIFF *tif, const struct vf_info *result, size_t page, const char *description)
{
    const struct vf_tags *tags = result->tags;
    if (!write_resolution(tif, result) || !write_place_and_time(tif, result, page) ||
        !write_colours(tif, result))
        return false;
    if (tags != NULL && tags->orientation != 0 && !TIFFSetField(tif, TIFFTAG_ORIENTATION, tags->orientation))
        return false;
    if (page == 0 && (!write_texts(tif, tags) || (tags != NULL && !write_geo(tif, tags))))
        return false;
    if (result->metadata == VF_META_PLAIN || (result->metadata == VF_META_OME && page > 0))
        return write_page_text(tif, result, page);
    if (page > 0)
        return true;
    if (result->metadata == VF_META_OME)
        return write_page_text(tif, result, page) && TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, description);
    return TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, description) && write_imagej_data(tif, result);
}

bool vf_tiff_tags_write(TIFF *tif, const struct vf_info *result, size_t page, const char *description)
{
    return write_tags(tif, result, page, description) && (!lacks_memory(tif) || fail_for_memory(tif));
}
