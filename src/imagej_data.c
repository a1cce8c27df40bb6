#include "imagej_data.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "byte_order.h"
#include "io_tags.h"
#include "size.h"

enum { MAGIC = 0x494a494a, LABEL = 0x6c61626c, MOST_KINDS = 16 };

/* A part of the block: `count` entries of one kind. */
struct part {
    uint32_t kind, count;
    const uint32_t *sizes; /* of the entries; NULL: they are labels, which are made where they go */
    const unsigned char *bytes;
};

/* What the block is made of. */
struct parts {
    struct part part[MOST_KINDS + 1];
    size_t count;
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

/* What a page shows, by its channel: of several input channels which, and which output. Returns its length.
 */
static size_t write_label(const struct vf_info *result, size_t channel, char *label, size_t room)
{
    const char *output = result->output_label[channel % result->outputs];
    char of[32] = "";
    if (result->shape.nc > result->outputs)
        snprintf(of, sizeof of, "channel %zu%s", channel / result->outputs + 1, output == NULL ? "" : ": ");
    return (size_t)snprintf(label, room, "%s%s", of, output == NULL ? "" : output);
}

/* A label a page, in UTF-16; output labels are ASCII. Returns where they end. */
static unsigned char *write_labels(const struct vf_info *result, uint32_t *sizes, unsigned char *to)
{
    const size_t channels = result->shape.nc;
    const unsigned char *const first = to;
    char label[128];
    for (size_t c = 0; c < channels; c++) {
        const size_t length = write_label(result, c, label, sizeof label);
        sizes[c] = 2 * (uint32_t)length;
        for (size_t i = 0; i < length; i++, to += 2)
            to[result->big_endian] = (unsigned char)label[i], to[!result->big_endian] = 0;
    }
    /* Other planes' are the same. */
    const size_t bytes = (size_t)(to - first);
    for (size_t page = channels; page < result->page_count; page += channels, to += bytes) {
        memcpy(sizes + page, sizes, channels * sizeof *sizes);
        memcpy(to, first, bytes);
    }
    return to;
}

static bool add_bytes(const struct part *part, const struct vf_info *result, size_t *bytes)
{
    char label[128];
    size_t labels = 0;
    if (part->sizes == NULL) {
        for (size_t c = 0; c < result->shape.nc; c++)
            labels += 2 * write_label(result, c, label, sizeof label);
        return vf_size_mul(labels, result->shape.nz * result->shape.nt, &labels) &&
               vf_size_add(*bytes, labels, bytes);
    }
    for (uint32_t i = 0; i < part->count; i++)
        *bytes += part->sizes[i];
    return true;
}

static size_t header_of(const struct parts *parts)
{
    return 4 + 8 * parts->count;
}

/* How many bytes and counts the block has; false: there is nothing to say, or more than ImageJ reads. */
static bool measure(const struct parts *parts, const struct vf_info *result, size_t *bytes, size_t *count)
{
    *bytes = header_of(parts);
    *count = 1;
    for (size_t k = 0; k < parts->count; k++) {
        *count += parts->part[k].count;
        if (!add_bytes(&parts->part[k], result, bytes))
            return false;
    }
    return parts->count > 0 && *bytes <= INT32_MAX && *count <= INT32_MAX;
}

/* Puts the parts together: their kinds and counts, then their bytes. */
static void join(const struct parts *parts, const struct vf_info *result, const struct vf_imagej_data *data)
{
    const bool big_endian = result->big_endian;
    unsigned char *to = data->bytes + header_of(parts);
    uint32_t *sizes = data->counts;
    vf_number_to_bytes(MAGIC, data->bytes, 4, big_endian);
    *sizes++ = (uint32_t)header_of(parts);
    for (size_t k = 0; k < parts->count; k++) {
        const struct part *part = &parts->part[k];
        size_t bytes = 0;
        vf_number_to_bytes(part->kind, data->bytes + 4 + 8 * k, 4, big_endian);
        vf_number_to_bytes(part->count, data->bytes + 8 + 8 * k, 4, big_endian);
        if (part->sizes == NULL) {
            to = write_labels(result, sizes, to);
        } else {
            for (uint32_t i = 0; i < part->count; i++)
                bytes += sizes[i] = part->sizes[i];
            memcpy(to, part->bytes, bytes);
            to += bytes;
        }
        sizes += part->count;
    }
}

/* Of the input's parts those that still hold, and labels; `lost` gets the names of the others. */
static void choose_parts(const struct vf_info *result, struct parts *parts, char *lost, size_t room)
{
    const struct vf_tags *tags = result->tags;
    const bool labelled = result->output_label != NULL && result->outputs > 1 && result->page_channels == 1 &&
                          result->metadata == VF_META_IMAGEJ;
    struct part in[MOST_KINDS];
    size_t used = 0;
    const size_t found = tags == NULL ? 0 : find_parts(tags, result->big_endian, in);
    parts->count = 0;
    snprintf(lost, room, "%s", found == 0 && tags != NULL && tags->ij_data != NULL ? "damaged metadata" : "");
    for (size_t k = 0; k < found; k++) {
        const char *name;
        if (holds(in[k].kind, vf_tags_values_kept(tags, result), vf_tags_shape_kept(tags, result),
                  !tags->reordered, &name) &&
            result->metadata == VF_META_IMAGEJ)
            parts->part[parts->count++] = in[k];
        else if (used < room)
            used += (size_t)snprintf(lost + used, room - used, "%s%s", used == 0 ? "" : ", ", name);
    }
    if (labelled)
        parts->part[parts->count++] = (struct part){.kind = LABEL, .count = (uint32_t)result->page_count};
}

void vf_imagej_data_lost(const struct vf_info *result, char *lost, size_t room)
{
    struct parts parts;
    choose_parts(result, &parts, lost, room);
}

size_t vf_imagej_data_bytes(const struct vf_info *result)
{
    struct parts parts;
    char lost[1];
    size_t bytes, count;
    choose_parts(result, &parts, lost, sizeof lost);
    return measure(&parts, result, &bytes, &count) ? bytes + count * sizeof(uint32_t) : 0;
}

enum vf_status vf_imagej_data_for_result(const struct vf_info *result, struct vf_imagej_data *data,
                                         struct vf_error *error)
{
    struct parts parts;
    char lost[1];
    size_t bytes, count;
    *data = (struct vf_imagej_data){0};
    choose_parts(result, &parts, lost, sizeof lost);
    if (!measure(&parts, result, &bytes, &count))
        return VF_OK;
    data->counts = vf_alloc(count, sizeof *data->counts, "ImageJ metadata", error);
    data->bytes = data->counts == NULL ? NULL : vf_alloc(bytes, 1, "ImageJ metadata", error);
    if (data->bytes == NULL) {
        vf_imagej_data_free(data);
        return VF_FAILED;
    }
    data->count = (uint32_t)count;
    data->size = (uint32_t)bytes;
    join(&parts, result, data);
    return VF_OK;
}

void vf_imagej_data_free(struct vf_imagej_data *data)
{
    vf_free(data->counts);
    vf_free(data->bytes);
    *data = (struct vf_imagej_data){0};
}
