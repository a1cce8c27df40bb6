/* What is known of a file (io.h): its pages, and what a result is to say of its own. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io_codec.h"
#include "io_tags.h"

void vf_info_note(struct vf_info *info, const char *format, ...)
{
    const size_t used = strlen(info->note);
    const char *between = used == 0 ? "" : "; ";
    va_list arguments;
    if (used + strlen(between) + 1 >= sizeof info->note)
        return;
    strcpy(info->note + used, between);
    va_start(arguments, format);
    vsnprintf(info->note + used + strlen(between), sizeof info->note - used - strlen(between), format,
              arguments);
    va_end(arguments);
}

void vf_info_page_place(const struct vf_info *info, size_t page, size_t *t, size_t *z, size_t *c)
{
    const size_t channel_pages = info->shape.nc / info->page_channels;
    *c = page % channel_pages * info->page_channels;
    *z = page / channel_pages % info->shape.nz;
    *t = page / channel_pages / info->shape.nz;
}

void vf_info_page_planes(const struct vf_info *info, const struct vf_volume *volume, size_t page,
                         void **planes)
{
    size_t t, z, c;
    vf_info_page_place(info, page, &t, &z, &c);
    for (size_t k = 0; k < info->page_channels; k++)
        planes[k] = vf_volume_plane(volume, t, c + k, z);
}

bool vf_info_takes_pages_as_planes(const struct vf_info *info)
{
    return info->format == VF_FORMAT_TIFF && info->metadata == VF_META_PLAIN && info->shape.nz > 1 &&
           !info->pages_told;
}

size_t vf_info_pages_at_once(const struct vf_info *info, int threads)
{
    enum { ENOUGH_BYTES = 32 << 20, MOST_PLANES = 1 << 16 };
    const size_t bytes = info->shape.nx * info->shape.ny * info->page_channels * vf_type_size(info->type);
    const size_t most = MOST_PLANES / info->page_channels + 1;
    size_t pages = ENOUGH_BYTES / bytes + 1;
    pages = pages < most ? pages : most;
    pages = (pages + (size_t)threads - 1) / (size_t)threads * (size_t)threads;
    return pages < info->page_count ? pages : info->page_count;
}

size_t vf_info_rows_at_once(const struct vf_info *info, size_t block)
{
    enum { ENOUGH_BYTES = 4 << 20 };
    const size_t bytes = info->shape.nx * info->shape.nc * vf_type_size(info->type) * block;
    const size_t rows = (ENOUGH_BYTES / bytes + 1) * block;
    return rows < info->shape.ny ? rows : info->shape.ny;
}

/* Grey planes of a known distance, which only ImageJ's description can say, if no page has one of its own
 * that would have to go for it; tifffile's note of an array's shape is none. */
static bool suits_imagej(const struct vf_info *input)
{
    const struct vf_tags *tags = input->tags;
    bool described = false;
    for (size_t i = 0; tags != NULL && tags->pages != NULL && i < tags->page_count; i++) {
        const char *description = tags->pages[i].description;
        described = described || tags->pages[i].name != NULL ||
                    (description != NULL && !vf_tags_states_layout_alone(description));
    }
    return input->shape.nc == 1 && input->shape.nz > 1 && input->spacing_known[2] && !described;
}

/* Pages along other axes than z, that a description does not tell of, or that tifffile noted of an array
 * which the result is not: its channels would be samples, and its pages in another order.
 */
static bool loses_axes(const struct vf_info *input, const struct vf_info *result)
{
    const struct vf_tags *tags = input->tags;
    const char *description = tags != NULL && tags->pages != NULL ? tags->pages[0].description : NULL;
    if (input->shape.nc > input->page_channels || (tags != NULL && tags->reordered))
        return true;
    return input->shape.nt > 1 &&
           !(description != NULL && vf_tags_states_layout(description) && vf_tags_layout_kept(tags, result));
}

/* ImageJ has RGB of 8 and 16 bits only; an alpha stays beside what it belongs to. */
static bool suits_imagej_page(const struct vf_info *result)
{
    return result->has_alpha || (result->rgb && vf_type_size(result->type) <= 2);
}

void vf_info_for_result(const struct vf_info *input, enum vf_format format, enum vf_type type,
                        size_t outputs_per_channel, struct vf_info *result)
{
    const bool same = outputs_per_channel == 1 && type == input->type;
    const size_t channel_pages = input->shape.nc / input->page_channels;
    *result = *input;
    result->format = format;
    result->type = type;
    result->has_alpha = input->has_alpha && same;
    const size_t colours = input->page_channels - (input->has_alpha && !same);
    result->page_channels = colours * outputs_per_channel;
    result->shape.nc = channel_pages * result->page_channels;
    result->rgb = input->rgb && outputs_per_channel == 1;
    result->premultiplied = input->premultiplied && same;
    result->min_is_white = input->min_is_white && same;
    result->tiled = result->planar_separate = false;
    result->half_floats = input->half_floats && same && format == VF_FORMAT_MRC;
    result->packed_bits = 0;
    result->image_stack = input->image_stack && format == VF_FORMAT_MRC;
    result->note[0] = '\0';
    result->outputs = outputs_per_channel;
    result->output_label = NULL;
    if (format != VF_FORMAT_TIFF)
        result->metadata = VF_META_PLAIN;
    else if (input->format == VF_FORMAT_MRC ||
             (input->metadata == VF_META_PLAIN && (suits_imagej(input) || loses_axes(input, result))))
        result->metadata = VF_META_IMAGEJ; /* which can say the spacing of planes, channels and time points */
    if (result->metadata != VF_META_OME)
        result->page_order[0] = '\0';
    if (format != input->format)
        result->compression = format == VF_FORMAT_PNG ? VF_COMPRESS_DEFLATE : VF_COMPRESS_NONE;
    if (result->metadata == VF_META_PLAIN)
        result->page_channels = result->shape.nc;
    else if (!same || (input->metadata == VF_META_PLAIN && !suits_imagej_page(result))) {
        result->page_channels = 1; /* any type goes as a channel of its own, in OME-TIFF too */
        result->rgb = false;
    }
    result->page_count = result->shape.nc / result->page_channels * result->shape.nz * result->shape.nt;
}
