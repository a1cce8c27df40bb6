/* What of an input its result cannot keep, in words for one warning. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tiff.h>

#include "imagej.h"
#include "imagej_data.h"
#include "io_codec.h"
#include "io_tags.h"
#include "mrc.h"
#include "ome.h"

struct words {
    char *text;
    size_t room;
};

static void add(const struct words *words, const char *what)
{
    const size_t used = strlen(words->text);
    snprintf(words->text + used, words->room - used, "%s%s", used == 0 ? "" : ", ", what);
}

/* Whether the result is meant for ImageJ, and ImageJ did not have such an input already. */
static bool is_new_in_imagej(const struct vf_info *input, const struct vf_info *result)
{
    return result->metadata == VF_META_IMAGEJ &&
           !(input->metadata == VF_META_IMAGEJ && input->type == result->type);
}

/* Formats that state voxel sizes as resolutions. */
static bool has_resolution_alone(const struct vf_info *result)
{
    return (result->format == VF_FORMAT_TIFF && result->metadata != VF_META_OME) ||
           result->format == VF_FORMAT_PNG;
}

/* Whether the resolution of a result is there, and is not one that readers take for none, which a PNG's scale
 * and one that ImageJ's description has the unit of never are. */
static bool says_spacing(const struct vf_info *result)
{
    double resolution[2];
    uint16_t unit;
    return vf_tags_result_resolution(result, resolution, &unit) &&
           (result->format == VF_FORMAT_PNG || result->metadata == VF_META_IMAGEJ ||
            vf_resolution_says_spacing(resolution, unit));
}

static void add_number_losses(const struct words *words, const struct vf_info *input,
                              const struct vf_info *result)
{
    char text[80];
    if (result->type == input->type && input->packed_bits != 0 && !result->half_floats) {
        snprintf(text, sizeof text, "its %u bit%s per sample (written as %s)", input->packed_bits,
                 input->packed_bits == 1 ? "" : "s", vf_type_name(result->type));
        add(words, text);
    }
    if (result->format == VF_FORMAT_TIFF &&
        (input->format != VF_FORMAT_TIFF || is_new_in_imagej(input, result))) {
        if (result->type == VF_I8)
            add(words, "the sign of values in ImageJ, which reads int8 as unsigned (--dtype int16 keeps it)");
        if (result->type == VF_F64)
            add(words, "that ImageJ opens it, which does not read float64 (--dtype float32 keeps it)");
    }
    if (input->min_is_white && !(result->min_is_white && result->format == VF_FORMAT_TIFF))
        add(words, "that 0 is white");
    const bool takes_any_unit = result->format == VF_FORMAT_TIFF && result->metadata != VF_META_PLAIN;
    if (result->spacing_known[0] && result->unit[0] == '\0' && !takes_any_unit)
        add(words, "its voxel size, which has no unit (--spacing takes one: 2um)");
    else if (has_resolution_alone(result) && result->spacing_known[0] && result->spacing_known[1] &&
             !says_spacing(result))
        add(words, "its voxel size (only OME-TIFF and MRC can store it)");
    if (result->format == VF_FORMAT_TIFF && result->metadata == VF_META_PLAIN && result->spacing_known[2] &&
        result->shape.nz > 1)
        add(words, "the distance between planes (only ImageJ TIFF, OME-TIFF and MRC can store it)");
}

static void add_ome_losses(const struct words *words, const struct vf_ome *ome, const struct vf_info *input,
                           const struct vf_info *result)
{
    char text[80];
    if (result->metadata != VF_META_OME) {
        add(words, "OME metadata");
        return;
    }
    if (result->type == input->type && ome->significant_bits != 0 &&
        ome->significant_bits < 8 * vf_type_size(input->type)) {
        snprintf(text, sizeof text, "its %u significant bits per sample", ome->significant_bits);
        add(words, text);
    }
    const bool same = result->shape.nc == ome->nc && result->page_channels == ome->page_channels;
    bool planes = false, images = false;
    for (size_t i = 0; i < ome->piece_count; i++) {
        planes = planes || ome->piece[i].kind == VF_OME_PLANE;
        images = images || ome->piece[i].kind == VF_OME_IMAGE;
    }
    if (planes && !same)
        add(words, "times and positions of planes");
    if (ome->has_channel_settings && !same)
        add(words, "colours and settings of channels");
    if (images)
        add(words, "its other images");
}

static void add_imagej_losses(const struct words *words, const struct vf_info *result)
{
    char lost[200], text[220];
    vf_imagej_data_lost(result, lost, sizeof lost);
    snprintf(text, sizeof text, "%s%s", result->metadata == VF_META_IMAGEJ ? "" : "ImageJ's ", lost);
    if (lost[0] != '\0')
        add(words, text);
}

static void add_losses_of_mrc(const struct words *words, const struct vf_tags *tags)
{
    if (vf_mrc_has_origin(tags->mrc_header))
        add(words, "its origin");
    if (vf_mrc_has_labels(tags->mrc_header))
        add(words, "its labels");
    if (tags->mrc_extended != NULL)
        add(words, "its extended header");
}

static void add_losses_in_mrc(const struct words *words, const struct vf_info *input,
                              const struct vf_info *result)
{
    if (!vf_mrc_takes_label(input->tags->mrc_header))
        add(words, "a label with the chain (all ten labels are in use)");
    if (input->tags->mrc_extended != NULL && !vf_tags_spacing_kept(input->tags, result))
        add(words, "the new voxel size in the extended header (which is copied as it is)");
}

/* Software is not among them: a result has a program of its own. */
static const struct {
    uint16_t tag;
    const char *name;
} texts[] = {
    {TIFFTAG_DATETIME, "DateTime"},
    {TIFFTAG_MAKE, "Make"},
    {TIFFTAG_MODEL, "Model"},
    {TIFFTAG_ARTIST, "Artist"},
    {TIFFTAG_COPYRIGHT, "Copyright"},
    {TIFFTAG_HOSTCOMPUTER, "HostComputer"},
    {TIFFTAG_DOCUMENTNAME, "DocumentName"},
};

static bool is_text_kept(const struct vf_file_text *text, const struct vf_info *result)
{
    return result->format == VF_FORMAT_TIFF ? text->tag != 0
                                            : result->format == VF_FORMAT_PNG && vf_file_text_suits_png(text);
}

static bool has_lost_page_name(const struct vf_tags *tags, const struct vf_info *result)
{
    const bool kept = result->format == VF_FORMAT_TIFF && result->metadata != VF_META_IMAGEJ &&
                      tags->page_count == result->page_count;
    bool any = false;
    for (size_t page = 0; !kept && tags->pages != NULL && page < tags->page_count; page++)
        any = any || tags->pages[page].name != NULL;
    return any;
}

/* Gamma and chromaticities other than those of sRGB. */
static bool has_own_colours(const struct vf_tags *tags)
{
    bool own = tags->has_gamma && fabs(tags->gamma - 1 / 2.2) > 0.001;
    for (int i = 0; i < 8 && tags->has_chromaticities; i++)
        own = own || !vf_is_srgb_chromaticity(i, tags->chromaticities[i]);
    return own;
}

/* Where on the stage a page was taken. */
static bool has_lost_position(const struct vf_tags *tags, const struct vf_info *result)
{
    const bool kept = result->format == VF_FORMAT_TIFF && vf_tags_spacing_kept(tags, result);
    bool any = false;
    for (size_t page = 0; !kept && tags->pages != NULL && page < tags->page_count; page++)
        any = any || tags->pages[page].has_position[0] || tags->pages[page].has_position[1];
    return any;
}

static bool has_lost_description(const struct vf_tags *tags, const struct vf_info *result)
{
    const char *description = vf_tags_page_description(tags);
    if (result->format == VF_FORMAT_MRC)
        return (description != NULL && !vf_tags_states_layout_alone(description)) ||
               vf_tags_text(tags, TIFFTAG_IMAGEDESCRIPTION) != NULL;
    const bool kept = result->format == VF_FORMAT_PNG ||
                      (result->metadata == VF_META_PLAIN && vf_tags_layout_kept(tags, result));
    return description != NULL && vf_tags_states_layout(description) && !kept &&
           !vf_tags_states_layout_alone(description);
}

static void add_text_losses(const struct words *words, const struct vf_tags *tags,
                            const struct vf_info *result)
{
    bool others = false;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct vf_file_text *text = vf_tags_text(tags, texts[i].tag);
        if (text != NULL && !is_text_kept(text, result))
            add(words, texts[i].name);
    }
    for (const struct vf_file_text *text = tags->texts; text != NULL; text = text->next)
        others = others || (text->tag == 0 && !is_text_kept(text, result));
    if (has_lost_page_name(tags, result))
        add(words, "PageName");
    if (has_lost_description(tags, result))
        add(words, "descriptions");
    if (others)
        add(words, "other texts");
}

void vf_info_lost(const struct vf_info *input, const struct vf_info *result, char *text, size_t room)
{
    const struct words words = {text, room};
    const struct vf_tags *tags = input->tags;
    text[0] = '\0';
    add_number_losses(&words, input, result);
    if (input->has_alpha && !result->has_alpha)
        add(&words, result->type == input->type
                        ? "its alpha channel (only a result with the input's channels can hold it)"
                        : "its alpha channel (only a result of the input's type can hold it)");
    if (tags == NULL)
        return;
    const bool kept = vf_tags_type_kept(tags, result) && vf_tags_shape_kept(tags, result);
    if (tags->ome != NULL)
        add_ome_losses(&words, tags->ome, input, result);
    if (tags->ij_data != NULL)
        add_imagej_losses(&words, result);
    /* Composites have tables of their own, in ImageJ's tags. */
    if (tags->colour_map != NULL && (input->shape.nc == 1 || input->metadata == VF_META_OME) &&
        !(kept && vf_tags_table_kept(tags, result)))
        add(&words, "its lookup table");
    if (tags->pages != NULL && tags->page_count > 0 && vf_imagej_is_calibrated(tags->pages[0].description) &&
        !(kept && !result->derived && result->metadata == VF_META_IMAGEJ))
        add(&words, "the calibration of its values (ImageJ; results are of the stored numbers)");
    if (tags->pages != NULL && tags->page_count > 0 && input->shape.nt > 1 &&
        vf_imagej_has_interval(tags->pages[0].description) && result->metadata != VF_META_IMAGEJ)
        add(&words, "the time between frames");
    if (tags->icc != NULL && !(kept && result->format != VF_FORMAT_MRC &&
                               (result->format != VF_FORMAT_PNG || vf_tags_icc_suits_png(tags, result))))
        add(&words, "its colour profile");
    add_text_losses(&words, tags, result);
    if (has_own_colours(tags) && !(kept && result->format == VF_FORMAT_PNG))
        add(&words, "its gamma or chromaticities");
    if (has_lost_position(tags, result))
        add(&words, "positions of pages");
    if (vf_tags_has_geo(tags) && result->format != VF_FORMAT_TIFF)
        add(&words, "where on Earth it is (GeoTIFF)");
    if (tags->orientation > 1 && result->format != VF_FORMAT_TIFF)
        add(&words, "its display orientation");
    if (tags->mrc_header != NULL && result->format != VF_FORMAT_MRC)
        add_losses_of_mrc(&words, tags);
    else if (tags->mrc_header != NULL)
        add_losses_in_mrc(&words, input, result);
}
