/* What a TIFF claims of its pages, checked before it is believed. */
#include <stdio.h>

#include "byte_order.h"
#include "io_tiff_read.h"
#include "size.h"

/* How many strips or tiles may have each byte in common, as empty ones have. */
enum { SHARED = 16 };

/* Decoded in a fraction of a second, whatever the size of the file. */
enum { DECODED_AT_ONCE = 1 << 30 };

/* Bytes of the file at least that say where a strip or tile is. */
enum { STRILE_ENTRY = 4 };

/* What libtiff does with the entries of a directory takes time by their square: 5 directories of as many as
 * it reads take a second. Images have less than 50, and FEW are read at once. */
enum { FEW_ENTRIES = 256, MOST_CROWDED = 5 * 4096 * 4096 };

/* Uncompressed data must be there; that compressed data is whole shows when it is decoded. `needed` is what a
 * strip or tile takes: some writers state more for the last one than they write. */
static enum vf_status check_extents(const struct vf_reader *reader, TIFF *tif,
                                    const struct vf_tiff_layout *layout, size_t page, struct vf_error *error)
{
    const char *kind = layout->tiled ? "tile" : "strip";
    const uint32_t count = layout->tiled ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif);
    const uint32_t in_plane = layout->planar == PLANARCONFIG_SEPARATE ? count / layout->samples : count;
    size_t page_bytes, strile;
    vf_tiff_layout_sizes(layout, &page_bytes, &strile);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = TIFFGetStrileOffset(tif, i);
        uint64_t bytes = TIFFGetStrileByteCount(tif, i), end;
        const uint64_t row = layout->tile_height == 0 ? 0 : strile / layout->tile_height;
        const uint64_t first_row = (uint64_t)(in_plane == 0 ? 0 : i % in_plane) * layout->tile_height;
        uint64_t needed = strile;
        if (!layout->tiled && first_row + layout->tile_height > layout->height && first_row < layout->height)
            needed = (layout->height - first_row) * row;
        if (at == 0 || bytes == 0)
            return vf_fail(error, VF_FAILED,
                           "page %zu: %s %u has no data: the file is sparse, or was not finished; fill it: "
                           "gdal_translate IN.tif OUT.tif",
                           page + 1, kind, i + 1);
        if (layout->scheme == COMPRESSION_NONE && bytes < needed)
            return vf_fail(error, VF_FAILED,
                           "page %zu: %s %u at byte %llu has %llu bytes where %llu are needed; copy it again",
                           page + 1, kind, i + 1, (unsigned long long)at, (unsigned long long)bytes,
                           (unsigned long long)needed);
        if (layout->scheme == COMPRESSION_NONE)
            bytes = needed;
        if (__builtin_add_overflow(at, bytes, &end) || end > reader->file_bytes)
            return vf_fail(error, VF_FAILED,
                           "page %zu: %s %u would end at byte %llu, but the file has only %llu: it was cut "
                           "short; copy it again",
                           page + 1, kind, i + 1, (unsigned long long)(at + bytes),
                           (unsigned long long)reader->file_bytes);
    }
    return VF_OK;
}

static enum vf_status check_sizes(const struct vf_reader *reader, TIFF *tif,
                                  const struct vf_tiff_layout *layout, size_t page, struct vf_error *error)
{
    size_t page_bytes, strile;
    const unsigned ratio = vf_tiff_codec_by_scheme(layout->scheme)->ratio;
    vf_tiff_layout_sizes(layout, &page_bytes, &strile);
    if (layout->tile_width == 0 || layout->tile_height == 0)
        return vf_fail(error, VF_FAILED, "page %zu: its strips or tiles have no pixels", page + 1);
    /* Tiles reach beyond small images, by a little. */
    const size_t most = page_bytes / 4 < (size_t)4 << 20 ? (size_t)16 << 20 : page_bytes * 4;
    if (layout->tiled && strile > most)
        return vf_fail(error, VF_FAILED, "page %zu: claims tiles of %u x %u pixels for an image of %u x %u",
                       page + 1, layout->tile_width, layout->tile_height, layout->width, layout->height);
    const enum vf_status status = check_extents(reader, tif, layout, page, error);
    if (status == VF_OK && !vf_size_plausible(page_bytes, reader->file_bytes, ratio))
        return vf_fail(error, VF_FAILED,
                       "page %zu: claims %u x %u pixels, more than a file of %llu bytes can hold; it is "
                       "damaged: copy it again",
                       page + 1, layout->width, layout->height, (unsigned long long)reader->file_bytes);
    return status;
}

/* PackBits of differences, as some programs write it: libtiff passes over the tag there, and decodes as if
 * they were the pixels. */
static enum vf_status check_predictor(const struct vf_reader *reader, TIFF *tif,
                                      const struct vf_tiff_layout *layout, size_t page,
                                      struct vf_error *error)
{
    uint64_t predictor;
    if (layout->scheme != COMPRESSION_PACKBITS || TIFFFindField(tif, TIFFTAG_PREDICTOR, TIFF_ANY) == NULL ||
        !vf_tiff_stored_number(reader->fd, reader->info.big_endian, reader->info.big_tiff,
                               TIFFCurrentDirOffset(tif), TIFFTAG_PREDICTOR, &predictor) ||
        predictor <= PREDICTOR_NONE)
        return VF_OK;
    return vf_fail(error, VF_FAILED,
                   "page %zu: holds differences of pixels (predictor %llu) compressed with PackBits, which "
                   "libtiff does not decode; save it uncompressed or with Deflate in a program that reads it",
                   page + 1, (unsigned long long)predictor);
}

/* A remedy, in a message about page `page`: those before it are alike. */
#define COPY_PAGES(alike) \
    "copy the pages of one " alike ", which are counted from 0, such as: tiffcp IN.tif,%s OUT.tif"

static const char *pages_before(size_t page)
{
    return page == 1 ? "0" : page == 2 ? "0,1" : "0,1,2";
}

/* Every page must be like the first: one volume has one size and type. */
static enum vf_status check_alike(const struct vf_info *first, const struct vf_info *other, size_t page,
                                  struct vf_error *error)
{
    const struct vf_shape *a = &first->shape, *b = &other->shape;
    if (a->nx != b->nx || a->ny != b->ny)
        return vf_fail(error, VF_FAILED,
                       "page %zu is %zu x %zu pixels, but page 1 is %zu x %zu; " COPY_PAGES("size"), page + 1,
                       b->nx, b->ny, a->nx, a->ny, pages_before(page));
    if (first->type != other->type)
        return vf_fail(error, VF_FAILED, "page %zu is %s, but page 1 is %s; " COPY_PAGES("type"), page + 1,
                       vf_type_name(other->type), vf_type_name(first->type), pages_before(page));
    if (first->page_channels != other->page_channels || first->has_alpha != other->has_alpha ||
        first->premultiplied != other->premultiplied || first->rgb != other->rgb)
        return vf_fail(
            error, VF_FAILED,
            "page %zu has %zu channels and page 1 has %zu, or they differ in kind; " COPY_PAGES("kind"),
            page + 1, other->page_channels, first->page_channels, pages_before(page));
    if (first->min_is_white != other->min_is_white)
        return vf_fail(error, VF_FAILED,
                       "page %zu and page 1 differ in whether 0 is white; " COPY_PAGES("kind"), page + 1,
                       pages_before(page));
    return VF_OK;
}

uint64_t vf_tiff_raw_start(TIFF *tif, const struct vf_tiff_layout *layout)
{
    const bool separate = layout->planar == PLANARCONFIG_SEPARATE && layout->samples > 1;
    size_t page_bytes, strip_bytes;
    if (layout->tiled || separate || layout->scheme != COMPRESSION_NONE ||
        layout->fill_order != FILLORDER_MSB2LSB || vf_tiff_is_packed(layout) ||
        !vf_tiff_layout_sizes(layout, &page_bytes, &strip_bytes))
        return 0;
    const uint64_t start = TIFFGetStrileOffset(tif, 0);
    for (uint32_t strip = 1; strip < TIFFNumberOfStrips(tif); strip++)
        if (TIFFGetStrileOffset(tif, strip) != start + strip * (uint64_t)strip_bytes)
            return 0;
    return start;
}

enum vf_status vf_tiff_check_page(struct vf_reader *reader, TIFF *tif, size_t page, bool first,
                                  const struct vf_tiff_layout *layout, struct vf_error *error)
{
    struct vf_info info = reader->info;
    char prefix[32];
    if (vf_tiff_layout_understand(layout, reader->info.metadata != VF_META_PLAIN, &info, error) != VF_OK) {
        snprintf(prefix, sizeof prefix, "page %zu", page + 1);
        return page == 0 ? VF_FAILED : vf_fail_in(error, VF_FAILED, prefix);
    }
    const char axis = ((const struct vf_tiff_reader *)reader->state)->samples_axis;
    /* Three without a name may be a picture. */
    info.rgb = info.rgb && (axis == '\0' || (axis == '?' && layout->samples == 3));
    info.has_alpha = info.has_alpha && axis == '\0';
    info.premultiplied = info.premultiplied && info.has_alpha;
    if (first)
        reader->info = info;
    else if (check_alike(&reader->info, &info, page, error) != VF_OK)
        return VF_FAILED;
    if (check_predictor(reader, tif, layout, page, error) != VF_OK)
        return VF_FAILED;
    return check_sizes(reader, tif, layout, page, error);
}

/* What says of which kind the pages are. libtiff does without a tag whose values lie beyond the file's end,
 * where a file was cut short; and programs write a description last. */
static bool is_needed(uint64_t tag)
{
    return tag == TIFFTAG_IMAGEDESCRIPTION || tag == TIFFTAG_COLORMAP;
}

static enum vf_status check_entries(const struct vf_reader *reader, size_t page, uint64_t at,
                                    uint64_t entries, struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    const bool big = reader->info.big_tiff, big_endian = reader->info.big_endian;
    const int entry = big ? 20 : 12, number = big ? 8 : 4;
    unsigned char stored[20];
    for (; entries > 0; entries--, at += (uint64_t)entry) {
        if (!vf_tiff_look_at(&state->decoder.stream, at, stored, (size_t)entry))
            return VF_OK; /* libtiff says so */
        const uint64_t tag = vf_number_of_bytes(stored, 2, big_endian);
        const uint64_t count = vf_number_of_bytes(stored + 4, number, big_endian);
        const uint64_t from = vf_number_of_bytes(stored + 4 + number, number, big_endian);
        const int width = TIFFDataWidth((TIFFDataType)vf_number_of_bytes(stored + 2, 2, big_endian));
        uint64_t end;
        if (width <= 0 || count <= (uint64_t)(number / width) ||
            (!__builtin_mul_overflow(count, (uint64_t)width, &end) &&
             !__builtin_add_overflow(end, from, &end) && end <= reader->file_bytes))
            continue;
        state->first_cut_tag = state->cut_tags++ == 0 ? (unsigned)tag : state->first_cut_tag;
        if (is_needed(tag))
            return vf_fail(
                error, VF_FAILED,
                "page %zu: its %s would end beyond the file, which has only %llu bytes: it was cut "
                "short; copy it again",
                page + 1, tag == TIFFTAG_COLORMAP ? "palette" : "description",
                (unsigned long long)reader->file_bytes);
    }
    return VF_OK;
}

enum vf_status vf_tiff_check_directory(struct vf_reader *reader, size_t page, struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    struct vf_tiff_stream *stream = &state->decoder.stream;
    const bool big = reader->info.big_tiff;
    const int head = big ? 8 : 2, entry = big ? 20 : 12;
    unsigned char stored[8];
    if (!vf_tiff_look_at(stream, TIFFCurrentDirOffset(state->decoder.tif), stored, (size_t)head))
        return vf_fail(error, VF_FAILED, "page %zu: its directory cannot be read: %s", page + 1,
                       vf_tiff_cause(stream, "the file ends too early"));
    const uint64_t entries = vf_number_of_bytes(stored, head, reader->info.big_endian);
    const double count = (double)entries;
    state->directory_bytes += head + count * entry;
    state->crowded += entries > FEW_ENTRIES ? count * count : 0;
    if (state->directory_bytes > (double)reader->file_bytes)
        return vf_fail(error, VF_FAILED,
                       "page %zu: the directories up to here would take %.0f bytes, but the file has only "
                       "%llu: they overlap; it is damaged: copy it again",
                       page + 1, state->directory_bytes, (unsigned long long)reader->file_bytes);
    if (state->crowded > MOST_CROWDED)
        return vf_fail(error, VF_FAILED,
                       "page %zu: has %llu tags and is not the first with so many, which would take long to "
                       "read; leave out those that few programs know: tiffcp IN.tif OUT.tif",
                       page + 1, (unsigned long long)entries);
    return check_entries(reader, page, TIFFCurrentDirOffset(state->decoder.tif) + (uint64_t)head, entries,
                         error);
}

double vf_tiff_decoded(TIFF *tif, const struct vf_tiff_layout *layout)
{
    const double count = layout->tiled ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif);
    size_t page, strile;
    vf_tiff_layout_sizes(layout, &page, &strile);
    /* The file can hold so much where nothing is shared: what an entry takes there is counted as it may
     * expand. */
    return (layout->tiled ? count * (double)strile : (double)page) +
           count * STRILE_ENTRY * vf_tiff_codec_by_scheme(layout->scheme)->ratio;
}

enum vf_status vf_tiff_check_total(const struct vf_reader *reader, struct vf_error *error)
{
    const struct vf_tiff_reader *state = reader->state;
    const struct vf_info *info = &reader->info;
    const double file_bytes = (double)reader->file_bytes;
    uint64_t total;
    if (info->page_count > INT32_MAX || __builtin_mul_overflow(state->page_bytes, info->page_count, &total) ||
        !vf_size_plausible(total, reader->file_bytes, state->ratio))
        return vf_fail(error, VF_FAILED,
                       "claims %zu pages of %zu bytes, more than a file of %llu bytes can hold; it is "
                       "damaged: copy it again",
                       info->page_count, state->page_bytes, (unsigned long long)reader->file_bytes);
    if (state->claimed > SHARED * (file_bytes + VF_TIFF_READ_AGAIN))
        return vf_fail(
            error, VF_FAILED,
            "its strips or tiles claim %.0f MiB of a file of %.1f MiB, most of them the same bytes; it is "
            "damaged: copy it again",
            vf_mib(state->claimed), vf_mib(file_bytes));
    if (state->decoded > DECODED_AT_ONCE && state->decoded > file_bytes * state->ratio)
        return vf_fail(
            error, VF_FAILED,
            "its %zu strips or tiles would take as long to decode as %.0f MiB, more than a file of "
            "%llu bytes can hold: most of them are the same bytes; it is damaged: copy it again",
            state->striles, vf_mib(state->decoded), (unsigned long long)reader->file_bytes);
    return VF_OK;
}
