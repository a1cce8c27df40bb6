#include "imagej_data.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "byte_order.h"
#include "io_tags.h"

enum { MAGIC = 0x494a494a, LABEL = 0x6c61626c, MOST_KINDS = 16 };

/* A part of the block: `count` entries of one kind. */
struct part {
    uint32_t kind, count;
    const uint32_t *sizes; /* of the entries */
    const unsigned char *bytes;
};

static uint32_t word_at(const unsigned char *bytes, bool big_endian)
{
    return (uint32_t)vf_number_of_bytes(bytes, 4, big_endian);
}

/* The input's parts; 0 when the block does not agree with its counts. */
static size_t find_parts(const struct vf_tags *tags, bool big_endian, struct part part[MOST_KINDS])
{
    const unsigned char *bytes = tags->ij_data;
    if (bytes == NULL || tags->ij_count == 0)
        return 0;
    const uint32_t header = tags->ij_counts[0];
    size_t at = header, entry = 1, kinds = 0;
    if (header > tags->ij_bytes || header < 12 || word_at(bytes, big_endian) != MAGIC)
        return 0;
    for (uint32_t h = 4; h + 8 <= header && kinds < MOST_KINDS; h += 8, kinds++) {
        struct part *p = &part[kinds];
        *p = (struct part){word_at(bytes + h, big_endian), word_at(bytes + h + 4, big_endian),
                           tags->ij_counts + entry, bytes + at};
        if (p->count > tags->ij_count - entry)
            return 0;
        for (uint32_t i = 0; i < p->count; i++, entry++) {
            if (tags->ij_counts[entry] > tags->ij_bytes - at)
                return 0;
            at += tags->ij_counts[entry];
        }
    }
    return kinds;
}

/* What each part is about decides whether it still holds. */
static const struct {
    char kind[5];
    const char *name;
    bool of_pages, of_values; /* holds for the same planes and channels; the same type and kind of values */
    bool of_order;            /* for pages in the file's order */
} kinds[] = {
    {"info", "information", false, false, false},  {"prop", "properties", false, false, false},
    {"roi ", "selection", false, false, false},    {"over", "overlay", true, false, false},
    {"labl", "slice labels", true, false, true},   {"luts", "lookup tables", true, false, false},
    {"rang", "display ranges", true, true, false}, {"plot", "plot", true, true, false},
};

static bool holds(uint32_t kind, bool values_kept, bool pages_kept, bool order_kept, const char **name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        *name = kinds[i].name;
        if (word_at((const unsigned char *)kinds[i].kind, true) == kind)
            return (pages_kept || !kinds[i].of_pages) && (values_kept || !kinds[i].of_values) &&
                   (order_kept || !kinds[i].of_order);
    }
    *name = "other ImageJ data";
    return values_kept && pages_kept;
}

/* What a page shows: of several input channels which, and which output. Returns its length. */
static size_t write_label(const struct vf_info *result, size_t page, char *label, size_t room)
{
    size_t t, z, c;
    vf_info_page_place(result, page, &t, &z, &c);
    const char *output = result->output_label[c % result->outputs];
    char channel[32] = "";
    if (result->shape.nc > result->outputs)
        snprintf(channel, sizeof channel, "channel %zu%s", c / result->outputs + 1,
                 output == NULL ? "" : ": ");
    return (size_t)snprintf(label, room, "%s%s", channel, output == NULL ? "" : output);
}

/* A label a page, in UTF-16; output labels are ASCII. */
static enum vf_status make_labels(const struct vf_info *result, struct part *part, uint32_t **sizes,
                                  unsigned char **bytes, struct vf_error *error)
{
    char label[128];
    size_t all = 0;
    for (size_t page = 0; page < result->page_count; page++)
        all += 2 * write_label(result, page, label, sizeof label);
    *sizes = vf_alloc(result->page_count, sizeof **sizes, "slice labels", error);
    *bytes = *sizes == NULL ? NULL : vf_alloc(all, 1, "slice labels", error);
    if (*bytes == NULL)
        return VF_FAILED;
    unsigned char *to = *bytes;
    for (size_t page = 0; page < result->page_count; page++) {
        const size_t length = write_label(result, page, label, sizeof label);
        (*sizes)[page] = 2 * (uint32_t)length;
        for (size_t i = 0; i < length; i++, to += 2)
            to[result->big_endian] = (unsigned char)label[i], to[!result->big_endian] = 0;
    }
    *part = (struct part){LABEL, (uint32_t)result->page_count, *sizes, *bytes};
    return VF_OK;
}

/* Puts the parts together: their kinds and counts, then their bytes. */
static enum vf_status join(const struct part *part, size_t parts, bool big_endian,
                           struct vf_imagej_data *data, struct vf_error *error)
{
    const uint32_t header = 4 + 8 * (uint32_t)parts;
    size_t size = header, count = 1;
    for (size_t k = 0; k < parts; k++) {
        count += part[k].count;
        for (uint32_t i = 0; i < part[k].count; i++)
            size += part[k].sizes[i];
    }
    if (size > INT32_MAX || count > INT32_MAX)
        return VF_OK; /* more than ImageJ reads */
    data->counts = vf_alloc(count, sizeof *data->counts, "ImageJ metadata", error);
    data->bytes = data->counts == NULL ? NULL : vf_alloc(size, 1, "ImageJ metadata", error);
    if (data->bytes == NULL)
        return VF_FAILED;
    unsigned char *to = data->bytes + header;
    vf_number_to_bytes(MAGIC, data->bytes, 4, big_endian);
    data->counts[0] = header;
    count = 1;
    for (size_t k = 0; k < parts; k++) {
        size_t bytes = 0;
        vf_number_to_bytes(part[k].kind, data->bytes + 4 + 8 * k, 4, big_endian);
        vf_number_to_bytes(part[k].count, data->bytes + 8 + 8 * k, 4, big_endian);
        for (uint32_t i = 0; i < part[k].count; i++)
            bytes += data->counts[count++] = part[k].sizes[i];
        memcpy(to, part[k].bytes, bytes);
        to += bytes;
    }
    data->count = (uint32_t)count;
    data->size = (uint32_t)size;
    return VF_OK;
}

enum vf_status vf_imagej_data_for_result(const struct vf_info *result, struct vf_imagej_data *data,
                                         char *lost, size_t room, struct vf_error *error)
{
    const struct vf_tags *tags = result->tags;
    const bool labelled = result->output_label != NULL && result->outputs > 1 && result->page_channels == 1;
    struct part in[MOST_KINDS], out[MOST_KINDS + 1];
    size_t kept = 0, used = 0;
    uint32_t *sizes = NULL;
    unsigned char *bytes = NULL;
    enum vf_status status = VF_OK;
    const size_t parts = tags == NULL ? 0 : find_parts(tags, result->big_endian, in);
    *data = (struct vf_imagej_data){0};
    if (lost != NULL)
        snprintf(lost, room, "%s",
                 parts == 0 && tags != NULL && tags->ij_data != NULL ? "damaged metadata" : "");
    for (size_t k = 0; k < parts; k++) {
        const char *name;
        if (holds(in[k].kind, vf_tags_values_kept(tags, result), vf_tags_shape_kept(tags, result),
                  !tags->reordered, &name) &&
            result->metadata == VF_META_IMAGEJ)
            out[kept++] = in[k];
        else if (lost != NULL && used < room)
            used += (size_t)snprintf(lost + used, room - used, "%s%s", used == 0 ? "" : ", ", name);
    }
    if (labelled)
        VF_TRY(make_labels(result, &out[kept++], &sizes, &bytes, error));
    if (kept > 0)
        VF_TRY(join(out, kept, result->big_endian, data, error));
out:
    vf_free(sizes);
    vf_free(bytes);
    if (status != VF_OK)
        vf_imagej_data_free(data);
    return status;
}

void vf_imagej_data_free(struct vf_imagej_data *data)
{
    vf_free(data->counts);
    vf_free(data->bytes);
    *data = (struct vf_imagej_data){0};
}
