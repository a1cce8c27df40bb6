/* Reading TIFF: the directories are walked once when the file is opened, and every claim checked; then any
 * page can be decoded. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "imagej.h"
#include "io_tiff.h"
#include "ome.h"
#include "size.h"

struct tiff_reader {
    TIFF *tif;
    struct vf_tiff_stream stream;
    uint64_t *directories;     /* where each page's is, in the order of the file */
    size_t *source;            /* the file's page for each of the volume; NULL: the same */
    uint32_t *ome_directories; /* the numbers of OME's, increasing; NULL where all directories are pages */
    size_t ome_planes;
    size_t page_bytes;
    unsigned ratio; /* the best of all pages' codecs */
    uint64_t
        raw_start; /* ImageJ's stacks over 4 GiB: one directory, pages follow each other from here; else 0 */
    void *buffer;  /* of a tile, a row, or a block of rows */
    size_t buffer_bytes;
};

/* Bytes to read at a time of pixels that are split into planes. */
enum { RAW_BLOCK = 1 << 20 };

static enum vf_status fail_page(struct vf_error *error, size_t page, const char *what)
{
    return vf_fail(error, VF_FAILED, "page %zu: %s", page + 1, what);
}

static enum vf_status read_header(struct vf_reader *reader, struct vf_error *error)
{
    unsigned char head[4];
    if (!vf_read_at(reader->fd, head, sizeof head, 0))
        return vf_fail(error, VF_FAILED, "is cut short in its first 4 bytes");
    reader->info.big_endian = head[0] == 'M';
    reader->info.big_tiff = head[2] + head[3] == 43;
    return VF_OK;
}

/* Uncompressed data must be there; that compressed data is whole shows when it is decoded. `needed` is what a
 * strip or tile takes: some writers state more for the last one than they write. */
static enum vf_status check_extents(struct vf_reader *reader, const struct vf_tiff_layout *layout,
                                    size_t page, struct vf_error *error)
{
    const struct tiff_reader *state = reader->state;
    const char *kind = layout->tiled ? "tile" : "strip";
    const uint32_t count = layout->tiled ? TIFFNumberOfTiles(state->tif) : TIFFNumberOfStrips(state->tif);
    const uint32_t in_plane = layout->planar == PLANARCONFIG_SEPARATE ? count / layout->samples : count;
    size_t page_bytes, strile;
    vf_tiff_layout_sizes(layout, &page_bytes, &strile);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = TIFFGetStrileOffset(state->tif, i);
        uint64_t bytes = TIFFGetStrileByteCount(state->tif, i), end;
        const uint64_t row = layout->tile_height == 0 ? 0 : strile / layout->tile_height;
        const uint64_t first_row = (uint64_t)(in_plane == 0 ? 0 : i % in_plane) * layout->tile_height;
        uint64_t needed = strile;
        if (!layout->tiled && first_row + layout->tile_height > layout->height && first_row < layout->height)
            needed = (layout->height - first_row) * row;
        if (at == 0 || bytes == 0)
            return vf_fail(error, VF_FAILED, "page %zu: %s %u has no data", page + 1, kind, i + 1);
        if (layout->scheme == COMPRESSION_NONE && bytes < needed)
            return vf_fail(error, VF_FAILED,
                           "page %zu: %s %u at byte %llu has %llu bytes where %llu are needed", page + 1,
                           kind, i + 1, (unsigned long long)at, (unsigned long long)bytes,
                           (unsigned long long)needed);
        if (layout->scheme == COMPRESSION_NONE)
            bytes = needed;
        if (__builtin_add_overflow(at, bytes, &end) || end > reader->file_bytes)
            return vf_fail(error, VF_FAILED,
                           "page %zu: %s %u would end at byte %llu, but the file has %llu: it was "
                           "cut short; copy it again",
                           page + 1, kind, i + 1, (unsigned long long)(at + bytes),
                           (unsigned long long)reader->file_bytes);
    }
    return VF_OK;
}

static enum vf_status check_sizes(struct vf_reader *reader, const struct vf_tiff_layout *layout, size_t page,
                                  struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    size_t page_bytes, strile;
    const unsigned ratio = vf_tiff_codec_by_scheme(layout->scheme)->ratio;
    vf_tiff_layout_sizes(layout, &page_bytes, &strile);
    state->ratio = ratio > state->ratio ? ratio : state->ratio;
    if (layout->tile_width == 0 || layout->tile_height == 0)
        return fail_page(error, page, "its strips or tiles have no pixels");
    /* Tiles reach beyond small images, by a little. */
    const size_t most = page_bytes / 4 < (size_t)4 << 20 ? (size_t)16 << 20 : page_bytes * 4;
    if (layout->tiled && strile > most)
        return vf_fail(error, VF_FAILED, "page %zu: claims tiles of %u x %u pixels for an image of %u x %u",
                       page + 1, layout->tile_width, layout->tile_height, layout->width, layout->height);
    if (!vf_size_plausible(page_bytes, reader->file_bytes, ratio))
        return vf_fail(error, VF_FAILED,
                       "page %zu: claims %u x %u pixels, more than a file of %llu bytes can hold", page + 1,
                       layout->width, layout->height, (unsigned long long)reader->file_bytes);
    if (page == 0)
        state->page_bytes = page_bytes;
    return check_extents(reader, layout, page, error);
}

/* Every page must be like the first: one volume has one size and type. */
static enum vf_status check_alike(const struct vf_info *first, const struct vf_info *other, size_t page,
                                  struct vf_error *error)
{
    const struct vf_shape *a = &first->shape, *b = &other->shape;
    if (a->nx != b->nx || a->ny != b->ny)
        return vf_fail(error, VF_FAILED,
                       "page %zu is %zu x %zu pixels, but page 1 is %zu x %zu; split the file into "
                       "one for each size: tiffsplit IN.tif",
                       page + 1, b->nx, b->ny, a->nx, a->ny);
    if (first->type != other->type)
        return vf_fail(error, VF_FAILED, "page %zu is %s, but page 1 is %s; split the file: tiffsplit IN.tif",
                       page + 1, vf_type_name(other->type), vf_type_name(first->type));
    if (first->page_channels != other->page_channels || first->has_alpha != other->has_alpha ||
        first->premultiplied != other->premultiplied || first->rgb != other->rgb)
        return vf_fail(error, VF_FAILED,
                       "page %zu has %zu channels, but page 1 has %zu, or others; split the file: "
                       "tiffsplit IN.tif",
                       page + 1, other->page_channels, first->page_channels);
    if (first->min_is_white != other->min_is_white)
        return vf_fail(error, VF_FAILED,
                       "page %zu and page 1 differ in whether 0 is white; split the file: "
                       "tiffsplit IN.tif",
                       page + 1);
    return VF_OK;
}

/* The first page sets what the volume is; the others must agree. Also when a page is chosen again later: the
 * file may have changed, and what libtiff then decodes goes to memory of the first page's size. */
static enum vf_status check_page(struct vf_reader *reader, size_t page, bool first,
                                 const struct vf_tiff_layout *layout, struct vf_error *error)
{
    struct vf_info info = reader->info;
    char prefix[32];
    if (vf_tiff_layout_understand(layout, reader->info.metadata == VF_META_IMAGEJ, &info, error) != VF_OK) {
        snprintf(prefix, sizeof prefix, "page %zu", page + 1);
        return page == 0 ? VF_FAILED : vf_fail_in(error, VF_FAILED, prefix);
    }
    if (first)
        reader->info = info;
    else if (check_alike(&reader->info, &info, page, error) != VF_OK)
        return VF_FAILED;
    return check_sizes(reader, layout, page, error);
}

static enum vf_status take_page(struct vf_reader *reader, size_t page, const struct vf_tiff_layout *layout,
                                struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    struct vf_imagej description;
    if (vf_tiff_page_text_read(state->tif, &tags->pages[page], error) != VF_OK)
        return VF_FAILED;
    if (reader->info.metadata == VF_META_OME) {
        vf_free(tags->pages[page].description); /* the file's, or a reference to it */
        tags->pages[page].description = NULL;
    } else if (page == 0 && vf_imagej_parse(tags->pages[0].description, &description)) {
        reader->info.metadata = VF_META_IMAGEJ;
    }
    if (check_page(reader, page, page == 0, layout, error) != VF_OK)
        return VF_FAILED;
    state->directories[page] = TIFFCurrentDirOffset(state->tif);
    if (page == 0)
        vf_tiff_note(state->tif, &reader->info);
    return page == 0 ? vf_tiff_tags_read(state->tif, tags, error) : VF_OK;
}

/* OME-XML in the first directory says which directories are the first image's. */
static enum vf_status find_ome(struct vf_reader *reader, const struct vf_tiff_layout *layout,
                               size_t directories, struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    const char *description = NULL;
    if (!TIFFGetField(state->tif, TIFFTAG_IMAGEDESCRIPTION, &description) || !vf_ome_recognise(description))
        return VF_OK;
    if (layout->samples == 0)
        return vf_fail(error, VF_FAILED, "page 1: has no samples");
    if (vf_ome_parse(&tags->ome, description, directories, layout->samples, error) != VF_OK)
        return VF_FAILED;
    const struct vf_ome *ome = tags->ome;
    reader->info.metadata = VF_META_OME;
    state->ome_planes = ome->nc / ome->page_channels * ome->nz * ome->nt;
    state->ome_directories = vf_tiff_ome_directories(ome, state->ome_planes, error);
    return state->ome_directories == NULL ? VF_FAILED : VF_OK;
}

static bool is_page(const struct tiff_reader *state, const struct vf_tiff_layout *layout, size_t directory)
{
    return state->ome_directories == NULL
               ? !layout->reduced
               : vf_tiff_ome_has(state->ome_directories, state->ome_planes, directory);
}

/* Visits every directory; libtiff sees to it that the chain has no loop. */
static enum vf_status walk_pages(struct vf_reader *reader, size_t directories, struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    size_t pages = 0, passed_over = 0;
    for (size_t directory = 0;; directory++) {
        struct vf_tiff_layout layout;
        if (directory >= directories)
            return vf_fail(error, VF_FAILED, "has more than %zu pages, or a broken chain of them",
                           directories);
        vf_tiff_layout_get(state->tif, &layout);
        if (directory == 0 && find_ome(reader, &layout, directories, error) != VF_OK)
            return VF_FAILED;
        if (!is_page(state, &layout, directory))
            passed_over += layout.reduced;
        else if (take_page(reader, pages++, &layout, error) != VF_OK)
            return VF_FAILED;
        if (TIFFLastDirectory(state->tif))
            break;
        vf_tiff_clear_error(&state->stream);
        if (!TIFFReadDirectory(state->tif))
            return vf_fail(error, VF_FAILED,
                           "page %zu: its directory is broken (%s); the file may be cut short", pages + 1,
                           vf_tiff_cause(&state->stream, "unknown cause"));
    }
    if (pages == 0)
        return vf_fail(error, VF_FAILED,
                       "has only thumbnails or masks; if its image is marked as one by mistake: "
                       "tiffset -s 254 0 IN.tif");
    reader->info.page_count = reader->info.tags->page_count = pages;
    if (passed_over > 0)
        vf_info_note(&reader->info, "%zu smaller cop%s or mask%s passed over", passed_over,
                     passed_over == 1 ? "y" : "ies", passed_over == 1 ? " is" : "s are");
    return VF_OK;
}

/* ImageJ (a stack over 4 GiB) and MetaMorph write one directory and planes that follow each other,
 * uncompressed. Another program that took one page out of a stack leaves the same description, but not the
 * data. */
static enum vf_status find_raw_planes(struct vf_reader *reader, size_t images, struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    struct vf_tiff_layout layout;
    uint64_t end;
    if (reader->info.page_count != 1 || images < 2 || !TIFFLastDirectory(state->tif))
        return VF_OK;
    vf_tiff_layout_get(state->tif, &layout);
    const uint64_t start = TIFFGetStrileOffset(state->tif, 0), bytes = state->page_bytes;
    if (layout.tiled || layout.scheme != COMPRESSION_NONE || layout.fill_order != FILLORDER_MSB2LSB ||
        reader->info.planar_separate || vf_tiff_is_packed(&layout) || start + bytes > reader->file_bytes ||
        reader->file_bytes - start - bytes < bytes)
        return VF_OK;
    uint64_t expected = start;
    for (uint32_t strip = 0; strip < TIFFNumberOfStrips(state->tif); strip++) {
        if (TIFFGetStrileOffset(state->tif, strip) != expected)
            return VF_OK;
        expected += TIFFGetStrileByteCount(state->tif, strip);
    }
    const bool fits = !__builtin_mul_overflow(bytes, images, &end) &&
                      !__builtin_add_overflow(end, start, &end) && end <= reader->file_bytes;
    const uint64_t directory = TIFFCurrentDirOffset(state->tif);
    if (directory > start && !(fits && end <= directory))
        return VF_OK; /* what follows the page is its directory */
    if (!fits)
        return vf_fail(error, VF_FAILED,
                       "its description says %zu images of %llu bytes, but the file has only "
                       "%llu bytes and one page; it was cut short: copy it again",
                       images, (unsigned long long)bytes, (unsigned long long)reader->file_bytes);
    state->raw_start = start;
    reader->info.page_count = images;
    return VF_OK;
}

/* The texts of pages go where their planes are. */
static enum vf_status order_pages(struct vf_reader *reader, size_t *source, struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    state->source = source;
    if (source == NULL)
        return VF_FAILED;
    if (tags->page_count != reader->info.page_count)
        return VF_OK;
    return vf_tiff_reorder(tags->pages, sizeof *tags->pages, tags->page_count, source, error);
}

static enum vf_status set_ome_shape(struct vf_reader *reader, struct vf_error *error)
{
    struct vf_info *info = &reader->info;
    const struct tiff_reader *state = reader->state;
    const struct vf_ome *ome = info->tags->ome;
    if (info->page_count != state->ome_planes || info->page_channels != ome->page_channels)
        return vf_fail(error, VF_FAILED,
                       "its OME-XML speaks of %zu pages of %zu samples, and %zu of %zu are there",
                       state->ome_planes, ome->page_channels, info->page_count, info->page_channels);
    vf_ome_describe(ome, info);
    if (!info->spacing_known[0] && !info->spacing_known[1] && !info->spacing_known[2])
        vf_tags_set_spacing(info->tags, info);
    if (ome->image_count > 1)
        vf_info_note(info, "it holds %zu images, of which the first is read", ome->image_count);
    return order_pages(reader, vf_tiff_ome_order(ome, state->ome_directories, state->ome_planes, error),
                       error);
}

static enum vf_status set_shape(struct vf_reader *reader, struct vf_error *error)
{
    struct vf_info *info = &reader->info;
    const struct vf_tags *tags = info->tags;
    struct vf_imagej imagej;
    if (info->metadata == VF_META_OME)
        return set_ome_shape(reader, error);
    if (vf_imagej_parse(tags->pages[0].description, &imagej)) {
        if (find_raw_planes(reader, imagej.images, error) != VF_OK)
            return VF_FAILED;
        vf_imagej_set_shape(&imagej, info->page_count, info);
        vf_imagej_set_spacing(&imagej, tags->has_resolution ? tags->resolution : NULL, tags->resolution_unit,
                              info);
        if (strcmp(imagej.order, "czt") != 0 && info->page_count > 1)
            return order_pages(
                reader,
                vf_tiff_page_order(imagej.order, &info->shape, info->shape.nc / info->page_channels, error),
                error);
    } else {
        if (find_raw_planes(reader, vf_tiff_stk_planes(((struct tiff_reader *)reader->state)->tif), error) !=
            VF_OK)
            return VF_FAILED;
        info->shape.nz = info->page_count;
        vf_tags_set_spacing(tags, info);
    }
    return VF_OK;
}

/* The whole volume must be possible too: pages may claim the same bytes of the file. */
static enum vf_status check_total(struct vf_reader *reader, struct vf_error *error)
{
    const struct tiff_reader *state = reader->state;
    const struct vf_info *info = &reader->info;
    uint64_t total;
    if (info->page_count > INT32_MAX || __builtin_mul_overflow(state->page_bytes, info->page_count, &total) ||
        !vf_size_plausible(total, reader->file_bytes, state->ratio))
        return vf_fail(error, VF_FAILED,
                       "claims %zu pages of %zu bytes, more than a file of %llu bytes can hold",
                       info->page_count, state->page_bytes, (unsigned long long)reader->file_bytes);
    return VF_OK;
}

static enum vf_status tiff_open(struct vf_reader *reader, struct vf_error *error)
{
    enum vf_status status = VF_FAILED;
    struct tiff_reader *state = vf_alloc(1, sizeof *state, "TIFF reader", error);
    if (state == NULL)
        return VF_FAILED;
    reader->state = state;
    reader->info.format = VF_FORMAT_TIFF;
    state->stream.fd = reader->fd;
    VF_TRY(read_header(reader, error));
    /* m: not mapped; c: single strips are not chopped into 8 KiB ones, which would be 8 KiB reads. */
    state->tif = vf_tiff_open(&state->stream, reader->name, "rmc");
    if (state->tif == NULL)
        return vf_fail(error, VF_FAILED, "is no TIFF that can be read: %s", state->stream.message);
    const size_t directories = TIFFNumberOfDirectories(state->tif);
    reader->info.tags = vf_tags_new(error);
    if (reader->info.tags == NULL)
        return VF_FAILED;
    reader->info.tags->pages = vf_alloc(directories, sizeof *reader->info.tags->pages, "page list", error);
    state->directories = vf_alloc(directories, sizeof *state->directories, "page list", error);
    if (reader->info.tags->pages == NULL || state->directories == NULL)
        return VF_FAILED;
    memset(reader->info.tags->pages, 0, directories * sizeof *reader->info.tags->pages);
    reader->info.tags->page_count = directories;
    VF_TRY(walk_pages(reader, directories, error));
    VF_TRY(set_shape(reader, error));
    VF_TRY(check_total(reader, error));
    vf_tags_describe(reader->info.tags, &reader->info);
out:
    return status;
}

static enum vf_status need_buffer(struct tiff_reader *state, size_t bytes, struct vf_error *error)
{
    if (bytes <= state->buffer_bytes)
        return VF_OK;
    vf_free(state->buffer);
    state->buffer = vf_alloc(bytes, 1, "page buffer", error);
    state->buffer_bytes = state->buffer == NULL ? 0 : bytes;
    return state->buffer == NULL ? VF_FAILED : VF_OK;
}

static enum vf_status fail_strile(struct tiff_reader *state, size_t page, uint32_t strile,
                                  struct vf_error *error)
{
    return vf_fail(error, VF_FAILED, "page %zu: %s %u at byte %llu cannot be decoded: %s", page + 1,
                   TIFFIsTiled(state->tif) ? "tile" : "strip", strile + 1,
                   (unsigned long long)TIFFGetStrileOffset(state->tif, strile),
                   vf_tiff_cause(&state->stream, "its data ends too early"));
}

/* Uncompressed samples that follow each other from `offset`. A plane is read where it belongs; several
 * samples go through a block of rows. */
static enum vf_status read_raw(struct vf_reader *reader, size_t page, uint64_t offset, void *const planes[],
                               struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    const struct vf_shape *shape = &reader->info.shape;
    const size_t samples = reader->info.page_channels, size = vf_type_size(reader->info.type);
    const size_t row_bytes = shape->nx * samples * size;
    size_t rows = samples == 1 ? shape->ny : row_bytes < RAW_BLOCK ? RAW_BLOCK / row_bytes : 1;
    if (samples > 1 && need_buffer(state, rows * row_bytes, error) != VF_OK)
        return VF_FAILED;
    for (size_t y = 0; y < shape->ny; y += rows) {
        rows = rows < shape->ny - y ? rows : shape->ny - y;
        void *to = samples == 1 ? planes[0] : state->buffer;
        if (!vf_read_at(reader->fd, to, rows * row_bytes, offset + y * row_bytes))
            return vf_fail(error, VF_FAILED, "page %zu: cannot be read at byte %llu: %s", page + 1,
                           (unsigned long long)(offset + y * row_bytes),
                           errno == 0 ? "the file ends too early" : strerror(errno));
        if (TIFFIsByteSwapped(state->tif))
            vf_tiff_swap(to, rows * shape->nx * samples, size);
        if (samples > 1)
            vf_split_samples(planes, y * shape->nx, to, rows * shape->nx, samples, size);
    }
    return VF_OK;
}

/* `count` pixels as stored, of `together` samples from a new byte on, go to their planes; `unpacked` has room
 * for them. */
static void place_pixels(const struct vf_tiff_layout *layout, const void *stored, size_t count,
                         size_t together, void *const planes[], size_t at, void *unpacked)
{
    const bool packed = vf_tiff_is_packed(layout), is_float = layout->format == SAMPLEFORMAT_IEEEFP;
    const size_t size = !packed ? layout->bits / 8 : is_float ? sizeof(float) : sizeof(uint16_t);
    if (packed)
        vf_tiff_unpack(layout, stored, count * together, unpacked);
    vf_split_samples(planes, at, packed ? unpacked : stored, count, together, size);
}

/* Strips of one sample are decoded where they belong, if they are stored as they are in memory. */
static enum vf_status read_strips(struct vf_reader *reader, size_t page, const struct vf_tiff_layout *layout,
                                  void *const planes[], struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    const size_t row_bytes = (size_t)layout->width * (layout->bits / 8);
    uint32_t strip = 0;
    for (uint16_t k = 0; k < layout->samples; k++) {
        for (uint32_t y = 0, rows; y < layout->height; y += rows, strip++) {
            rows = layout->height - y < layout->tile_height ? layout->height - y : layout->tile_height;
            const tmsize_t bytes = (tmsize_t)(rows * row_bytes);
            if (TIFFReadEncodedStrip(state->tif, strip, (char *)planes[k] + y * row_bytes, bytes) != bytes)
                return fail_strile(state, page, strip, error);
        }
    }
    return VF_OK;
}

/* The buffer holds `stored` bytes and, behind them, `samples` samples as they are in memory. */
static enum vf_status need_room(struct tiff_reader *state, size_t stored, size_t samples, void **unpacked,
                                struct vf_error *error)
{
    stored = (stored + VF_ALIGNMENT - 1) / VF_ALIGNMENT * VF_ALIGNMENT;
    const enum vf_status status = need_buffer(state, stored + samples * sizeof(float), error);
    *unpacked = status == VF_OK ? (char *)state->buffer + stored : NULL;
    return status;
}

/* Interleaved or packed samples go row by row, so that a strip of the whole image needs no second one. */
static enum vf_status read_rows(struct vf_reader *reader, size_t page, const struct vf_tiff_layout *layout,
                                void *const planes[], struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    const size_t together = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    const size_t samples = layout->width * together;
    void *unpacked;
    if (need_room(state, vf_tiff_stored_bytes(layout, samples), samples, &unpacked, error) != VF_OK)
        return VF_FAILED;
    for (uint16_t k = 0; k < layout->samples; k = (uint16_t)(k + together))
        for (uint32_t y = 0; y < layout->height; y++) {
            if (TIFFReadScanline(state->tif, state->buffer, y, k) != 1)
                return fail_strile(state, page, TIFFComputeStrip(state->tif, y, k), error);
            place_pixels(layout, state->buffer, layout->width, together, planes + k,
                         (size_t)y * layout->width, unpacked);
        }
    return VF_OK;
}

/* What of a tile lies within the image goes to its planes. */
static void place_tile(const struct vf_tiff_layout *layout, const char *tile, uint32_t x, uint32_t y,
                       size_t together, void *const planes[], void *unpacked)
{
    const size_t tile_row = vf_tiff_stored_bytes(layout, layout->tile_width * together);
    const uint32_t columns = layout->width - x < layout->tile_width ? layout->width - x : layout->tile_width;
    const uint32_t rows = layout->height - y < layout->tile_height ? layout->height - y : layout->tile_height;
    for (uint32_t row = 0; row < rows; row++)
        place_pixels(layout, tile + row * tile_row, columns, together, planes,
                     (size_t)(y + row) * layout->width + x, unpacked);
}

static enum vf_status read_tiles(struct vf_reader *reader, size_t page, const struct vf_tiff_layout *layout,
                                 void *const planes[], struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    const size_t together = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    size_t page_bytes, bytes;
    void *unpacked;
    vf_tiff_layout_sizes(layout, &page_bytes, &bytes);
    if (need_room(state, bytes, layout->tile_width * together, &unpacked, error) != VF_OK)
        return VF_FAILED;
    for (uint16_t k = 0; k < layout->samples; k = (uint16_t)(k + together)) {
        /* 64 bits: the last tile may end beyond UINT32_MAX */
        for (uint64_t y = 0; y < layout->height; y += layout->tile_height) {
            for (uint64_t x = 0; x < layout->width; x += layout->tile_width) {
                const uint32_t tile = TIFFComputeTile(state->tif, (uint32_t)x, (uint32_t)y, 0, k);
                if (TIFFReadEncodedTile(state->tif, tile, state->buffer, (tmsize_t)bytes) != (tmsize_t)bytes)
                    return fail_strile(state, page, tile, error);
                place_tile(layout, state->buffer, (uint32_t)x, (uint32_t)y, together, planes + k, unpacked);
            }
        }
    }
    return VF_OK;
}

static enum vf_status choose_page(struct vf_reader *reader, size_t page, struct vf_tiff_layout *layout,
                                  struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    if (TIFFCurrentDirOffset(state->tif) != state->directories[page] &&
        !TIFFSetSubDirectory(state->tif, state->directories[page]))
        return vf_fail(error, VF_FAILED, "page %zu: its directory is broken: %s", page + 1,
                       vf_tiff_cause(&state->stream, "the file has changed"));
    vf_tiff_layout_get(state->tif, layout);
    return check_page(reader, page, false, layout, error);
}

static enum vf_status tiff_read(struct vf_reader *reader, size_t page, void *const planes[],
                                struct vf_error *error)
{
    struct tiff_reader *state = reader->state;
    struct vf_tiff_layout layout;
    if (state->source != NULL)
        page = state->source[page];
    vf_tiff_clear_error(&state->stream);
    if (state->raw_start != 0)
        return read_raw(reader, page, state->raw_start + page * state->page_bytes, planes, error);
    if (choose_page(reader, page, &layout, error) != VF_OK)
        return VF_FAILED;
    if (layout.tiled)
        return read_tiles(reader, page, &layout, planes, error);
    const bool packed = vf_tiff_is_packed(&layout);
    if (!packed && (layout.samples == 1 || layout.planar == PLANARCONFIG_SEPARATE))
        return read_strips(reader, page, &layout, planes, error);
    /* libtiff would load the whole strip first, which here is the whole image. */
    if (!packed && layout.scheme == COMPRESSION_NONE && TIFFNumberOfStrips(state->tif) == 1 &&
        layout.fill_order == FILLORDER_MSB2LSB)
        return read_raw(reader, page, TIFFGetStrileOffset(state->tif, 0), planes, error);
    return read_rows(reader, page, &layout, planes, error);
}

static void tiff_close(struct vf_reader *reader)
{
    struct tiff_reader *state = reader->state;
    if (state != NULL) {
        if (state->tif != NULL)
            TIFFClose(state->tif);
        vf_free(state->directories);
        vf_free(state->source);
        vf_free(state->ome_directories);
        vf_free(state->buffer);
        vf_free(state);
    }
    vf_tags_free(reader->info.tags);
}

const struct vf_codec vf_codec_tiff = {
    .name = "TIFF",
    .open = tiff_open,
    .read = tiff_read,
    .close = tiff_close,
    .supports = vf_tiff_supports,
    .create = vf_tiff_create,
    .write = vf_tiff_write,
    .finish = vf_tiff_finish,
    .discard = vf_tiff_discard,
};
