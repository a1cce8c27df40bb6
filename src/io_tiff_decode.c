/* Decoding the pages of a TIFF, by one thread or several: each has libtiff open the file for it, and decodes
 * a part of the pages, or of the strips or tiles of one. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "byte_order.h"
#include "io_tiff_read.h"

/* Bytes to read at a time of pixels that are split into planes. */
enum { RAW_BLOCK = 256 << 10, MOST_PARTS = 256 };

/* Strips differ in how long they take, and pages may be few: what threads share is so many times as many. */
enum { ITEMS_A_THREAD = 8 };

struct rows {
    uint32_t begin, end;
};

/* One of `parts` parts of a page, from top to bottom. */
struct work {
    struct vf_reader *reader;
    struct vf_tiff_decoder *decoder;
    size_t page; /* of the file */
    size_t part, parts;
    struct rows all;     /* that are wanted of the page: whole strips or tiles, or all */
    void *const *planes; /* from the first of them on */
};

/* Whole strips, or rows of tiles. */
static struct rows rows_of_part(const struct work *w, const struct vf_tiff_layout *layout)
{
    const uint64_t step = layout->tile_height, first = w->all.begin / step, last = w->all.end;
    const uint64_t blocks = (last + step - 1) / step - first;
    const uint64_t begin = (first + blocks * w->part / w->parts) * step;
    const uint64_t end = (first + blocks * (w->part + 1) / w->parts) * step;
    return (struct rows){(uint32_t)(begin < last ? begin : last), (uint32_t)(end < last ? end : last)};
}

static enum vf_status need_buffer(struct vf_tiff_decoder *decoder, size_t bytes, struct vf_error *error)
{
    return vf_room_take(&decoder->buffer, bytes, 1, "page buffer", error) == NULL ? VF_FAILED : VF_OK;
}

static enum vf_status fail_strile(struct vf_tiff_decoder *decoder, size_t page, uint32_t strile,
                                  struct vf_error *error)
{
    const char *cause = vf_tiff_cause(&decoder->stream, "its data ends too early");
    return vf_fail(error, VF_FAILED, "page %zu: %s %u at byte %llu cannot be decoded: %s%s", page + 1,
                   TIFFIsTiled(decoder->tif) ? "tile" : "strip", strile + 1,
                   (unsigned long long)TIFFGetStrileOffset(decoder->tif, strile), cause,
                   vf_tiff_remedy(cause, decoder->stream.io_error != 0
                                             ? ""
                                             : "; if it is damaged, copy the file again"));
}

/* Uncompressed samples that follow each other from `offset`. A plane is read where it belongs; several
 * samples go through a block of rows. */
static enum vf_status read_raw(const struct work *w, uint64_t offset, struct vf_error *error)
{
    const struct vf_reader *reader = w->reader;
    struct vf_tiff_decoder *decoder = w->decoder;
    const struct vf_shape *shape = &reader->info.shape;
    const size_t samples = reader->info.page_channels, size = vf_type_size(reader->info.type);
    const size_t row_bytes = shape->nx * samples * size;
    const size_t first = w->all.begin, height = w->all.end - first;
    const size_t begin = first + height * w->part / w->parts, end = first + height * (w->part + 1) / w->parts;
    size_t rows = samples == 1 ? height : row_bytes < RAW_BLOCK ? RAW_BLOCK / row_bytes : 1;
    rows = rows < end - begin ? rows : end - begin;
    if (samples > 1 && begin < end && need_buffer(decoder, rows * row_bytes, error) != VF_OK)
        return VF_FAILED;
    for (size_t y = begin; y < end; y += rows) {
        rows = rows < end - y ? rows : end - y;
        void *to = samples == 1 ? (char *)w->planes[0] + (y - first) * row_bytes : decoder->buffer.data;
        if (!vf_read_at(reader->fd, to, rows * row_bytes, offset + y * row_bytes))
            return vf_fail(error, VF_FAILED, "page %zu: cannot be read at byte %llu: %s", w->page + 1,
                           (unsigned long long)(offset + y * row_bytes),
                           errno == 0 ? "the file ends too early" : vf_cause(errno));
        if (TIFFIsByteSwapped(decoder->tif))
            vf_swap_bytes(to, rows * shape->nx * samples, size);
        if (samples > 1)
            vf_split_samples(w->planes, (y - first) * shape->nx, to, rows * shape->nx, samples, size);
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

static bool is_deflated(const struct vf_tiff_layout *layout)
{
    return vf_tiff_codec_by_scheme(layout->scheme)->compression == VF_COMPRESS_DEFLATE;
}

/* The end of a deflated strip or tile, less than a stored block, that libdeflate may leave as it was: zeros
 * at least, not what memory held before. */
static void clear_end(const struct vf_tiff_layout *layout, void *to, size_t bytes)
{
    enum { STORED_BLOCK = 1 << 16 };
    const size_t end = bytes < STORED_BLOCK ? bytes : STORED_BLOCK;
    if (is_deflated(layout))
        memset((char *)to + bytes - end, 0, end);
}

static enum vf_status decode_once(const struct work *w, const struct vf_tiff_layout *layout, uint32_t strile,
                                  void *to, size_t bytes, struct vf_error *error)
{
    TIFF *tif = w->decoder->tif;
    clear_end(layout, to, bytes);
    const tmsize_t got = layout->tiled ? TIFFReadEncodedTile(tif, strile, to, (tmsize_t)bytes)
                                       : TIFFReadEncodedStrip(tif, strile, to, (tmsize_t)bytes);
    return got == (tmsize_t)bytes ? VF_OK : fail_strile(w->decoder, w->page, strile, error);
}

/* A strip or tile, of rows of `samples` samples, goes to `to`. */
static enum vf_status decode_strile(const struct work *w, const struct vf_tiff_layout *layout,
                                    uint32_t strile, void *to, size_t rows, size_t samples,
                                    struct vf_error *error)
{
    struct vf_tiff_decoder *decoder = w->decoder;
    const size_t bytes = rows * vf_tiff_stored_bytes(layout, samples);
    enum vf_status status = decode_once(w, layout, strile, to, bytes, error);
    if (status != VF_OK || !is_deflated(layout) ||
        vf_tiff_adler_agrees(decoder, layout, strile,
                             vf_tiff_add_rows(decoder->tif, layout, VF_TIFF_ADLER, to, rows, samples)))
        return status;
    if (!vf_tiff_stream_is_whole(decoder, layout, strile))
        return fail_strile(decoder, w->page, strile, error);
    const int usual = vf_tiff_choose_zlib(decoder->tif);
    status = decode_once(w, layout, strile, to, bytes, error);
    vf_tiff_choose_inflater(decoder->tif, usual);
    return status;
}

/* Strips of one sample are decoded where they belong, if they are stored as they are in memory. */
static enum vf_status read_strips(const struct work *w, const struct vf_tiff_layout *layout,
                                  struct vf_error *error)
{
    const struct rows part = rows_of_part(w, layout);
    const size_t row_bytes = (size_t)layout->width * (layout->bits / 8);
    for (uint16_t k = 0; k < layout->samples; k++) {
        for (uint32_t y = part.begin, rows; y < part.end; y += rows) {
            const uint32_t strip = TIFFComputeStrip(w->decoder->tif, y, k);
            rows = part.end - y < layout->tile_height ? part.end - y : layout->tile_height;
            char *to = (char *)w->planes[k] + (y - w->all.begin) * row_bytes;
            if (decode_strile(w, layout, strip, to, rows, layout->width, error) != VF_OK)
                return VF_FAILED;
        }
    }
    return VF_OK;
}

/* The buffer holds `stored` bytes and, behind them, `samples` samples as they are in memory. */
static enum vf_status need_room(struct vf_tiff_decoder *decoder, size_t stored, size_t samples,
                                void **unpacked, struct vf_error *error)
{
    stored = (stored + VF_ALIGNMENT - 1) / VF_ALIGNMENT * VF_ALIGNMENT;
    const enum vf_status status = need_buffer(decoder, stored + samples * sizeof(float), error);
    *unpacked = status == VF_OK ? (char *)decoder->buffer.data + stored : NULL;
    return status;
}

/* Rows of one strip, one after the other; *adler is its checksum, if it is deflated. */
static enum vf_status read_strip_rows(const struct work *w, const struct vf_tiff_layout *layout, uint16_t k,
                                      struct rows rows, void *unpacked, uint32_t *adler,
                                      struct vf_error *error)
{
    struct vf_tiff_decoder *decoder = w->decoder;
    const size_t together = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    const size_t samples = layout->width * together, bytes = vf_tiff_stored_bytes(layout, samples);
    *adler = VF_TIFF_ADLER;
    for (uint32_t y = rows.begin; y < rows.end; y++) {
        clear_end(layout, decoder->buffer.data, bytes);
        decoder->stream.discarded = false;
        if (TIFFReadScanline(decoder->tif, decoder->buffer.data, y, k) != 1)
            return fail_strile(decoder, w->page, TIFFComputeStrip(decoder->tif, y, k), error);
        if (decoder->stream.discarded)
            return vf_fail(
                error, VF_FAILED,
                "page %zu: strip %u is packed (PackBits) across its rows, which TIFF does not allow; "
                "store it anew, in Python: tifffile.imwrite(OUT, tifffile.imread(IN))",
                w->page + 1, TIFFComputeStrip(decoder->tif, y, k) + 1);
        if (is_deflated(layout))
            *adler = vf_tiff_add_rows(decoder->tif, layout, *adler, decoder->buffer.data, 1, samples);
        place_pixels(layout, decoder->buffer.data, layout->width, together, w->planes + k,
                     (size_t)(y - w->all.begin) * layout->width, unpacked);
    }
    return VF_OK;
}

/* Interleaved or packed samples go row by row, so that a strip of the whole image needs no second one. */
static enum vf_status read_rows(const struct work *w, const struct vf_tiff_layout *layout,
                                struct vf_error *error)
{
    struct vf_tiff_decoder *decoder = w->decoder;
    const struct rows part = rows_of_part(w, layout);
    const size_t together = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    const size_t samples = layout->width * together;
    enum vf_status status;
    void *unpacked;
    uint32_t adler;
    VF_TRY(need_room(decoder, vf_tiff_stored_bytes(layout, samples), samples, &unpacked, error));
    for (uint16_t k = 0; k < layout->samples; k = (uint16_t)(k + together))
        for (struct rows rows = {part.begin, 0}; rows.begin < part.end; rows.begin = rows.end) {
            const uint32_t strip = TIFFComputeStrip(decoder->tif, rows.begin, k);
            rows.end =
                part.end - rows.begin < layout->tile_height ? part.end : rows.begin + layout->tile_height;
            VF_TRY(read_strip_rows(w, layout, k, rows, unpacked, &adler, error));
            if (!is_deflated(layout) || vf_tiff_adler_agrees(decoder, layout, strip, adler))
                continue;
            if (!vf_tiff_stream_is_whole(decoder, layout, strip))
                return fail_strile(decoder, w->page, strip, error);
            const int usual = vf_tiff_choose_zlib(decoder->tif);
            status = read_strip_rows(w, layout, k, rows, unpacked, &adler, error);
            vf_tiff_choose_inflater(decoder->tif, usual);
            if (status != VF_OK)
                goto out;
        }
out:
    return status;
}

/* What of a tile lies within the image goes to its planes, which begin at row `top`. */
static void place_tile(const struct vf_tiff_layout *layout, const char *tile, uint32_t x, uint32_t y,
                       uint32_t top, size_t together, void *const planes[], void *unpacked)
{
    const size_t tile_row = vf_tiff_stored_bytes(layout, layout->tile_width * together);
    const uint32_t columns = layout->width - x < layout->tile_width ? layout->width - x : layout->tile_width;
    const uint32_t rows = layout->height - y < layout->tile_height ? layout->height - y : layout->tile_height;
    for (uint32_t row = 0; row < rows; row++)
        place_pixels(layout, tile + row * tile_row, columns, together, planes,
                     (size_t)(y - top + row) * layout->width + x, unpacked);
}

static enum vf_status read_tiles(const struct work *w, const struct vf_tiff_layout *layout,
                                 struct vf_error *error)
{
    struct vf_tiff_decoder *decoder = w->decoder;
    const struct rows part = rows_of_part(w, layout);
    const size_t together = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    size_t page_bytes, bytes;
    void *unpacked;
    vf_tiff_layout_sizes(layout, &page_bytes, &bytes);
    if (need_room(decoder, bytes, layout->tile_width * together, &unpacked, error) != VF_OK)
        return VF_FAILED;
    for (uint16_t k = 0; k < layout->samples; k = (uint16_t)(k + together)) {
        /* 64 bits: the last tile may end beyond UINT32_MAX */
        for (uint64_t y = part.begin; y < part.end; y += layout->tile_height) {
            for (uint64_t x = 0; x < layout->width; x += layout->tile_width) {
                const uint32_t tile = TIFFComputeTile(decoder->tif, (uint32_t)x, (uint32_t)y, 0, k);
                if (decode_strile(w, layout, tile, decoder->buffer.data, layout->tile_height,
                                  layout->tile_width * together, error) != VF_OK)
                    return VF_FAILED;
                place_tile(layout, decoder->buffer.data, (uint32_t)x, (uint32_t)y, w->all.begin, together,
                           w->planes + k, unpacked);
            }
        }
    }
    return VF_OK;
}

/* A page that is current stays as it was checked. */
static enum vf_status choose_page(const struct work *w, struct vf_tiff_layout *layout, struct vf_error *error)
{
    const struct vf_tiff_reader *state = w->reader->state;
    struct vf_tiff_decoder *decoder = w->decoder;
    const bool current = TIFFCurrentDirOffset(decoder->tif) == state->directories[w->page];
    decoder->stream.held_count = 0; /* the file may have changed */
    if (!current && !TIFFSetSubDirectory(decoder->tif, state->directories[w->page]) &&
        decoder->stream.io_error == 0)
        return vf_fail(error, VF_FAILED, "page %zu: its directory cannot be read: %s", w->page + 1,
                       vf_tiff_cause(&decoder->stream, "the file has changed"));
    const int cause = vf_tiff_directory_cause(decoder->tif, &decoder->stream);
    if (cause != 0)
        return vf_fail(error, VF_FAILED, "page %zu: its directory cannot be read: %s", w->page + 1,
                       vf_cause(cause));
    vf_tiff_layout_get(decoder->tif, layout);
    if (current && decoder->checked == w->page + 1)
        return VF_OK;
    const enum vf_status status = vf_tiff_check_page(w->reader, decoder->tif, w->page, false, layout, error);
    decoder->checked = status == VF_OK ? w->page + 1 : 0;
    return status;
}

static enum vf_status decode(const struct work *w, struct vf_error *error)
{
    const struct vf_tiff_reader *state = w->reader->state;
    struct vf_tiff_layout layout;
    vf_tiff_clear_error(&w->decoder->stream);
    if (state->raw_start != 0)
        return read_raw(w, state->raw_start + w->page * state->page_bytes, error);
    /* Its directory need not be read again: of a small page that takes longer than its pixels do. */
    if (state->data[w->page] != 0)
        return read_raw(w, state->data[w->page], error);
    if (choose_page(w, &layout, error) != VF_OK)
        return VF_FAILED;
    const bool packed = vf_tiff_is_packed(&layout);
    const bool partly = w->all.begin > 0 || w->all.end < layout.height;
    if (partly && layout.tile_height != w->reader->row_block)
        return vf_fail(error, VF_FAILED,
                       "page %zu: its strips or tiles are not as high as those of other pages", w->page + 1);
    if (layout.tiled)
        return read_tiles(w, &layout, error);
    if (!packed && (layout.samples == 1 || layout.planar == PLANARCONFIG_SEPARATE))
        return read_strips(w, &layout, error);
    return read_rows(w, &layout, error);
}

/* ---- threads ---- */

void vf_tiff_decoder_close(struct vf_tiff_decoder *decoder)
{
    if (decoder->tif != NULL)
        TIFFClose(decoder->tif);
    vf_room_free(&decoder->buffer);
    *decoder = (struct vf_tiff_decoder){0};
}

/* Up to `wanted` more decoders, as many as there is memory for, make a team with the first. */
static void open_helpers(struct vf_reader *reader, int wanted, int *team)
{
    struct vf_tiff_reader *state = reader->state;
    struct vf_error ignored;
    while (state->helper_count < wanted) {
        struct vf_tiff_decoder **list = vf_grow(state->helper, (size_t)state->helper_count,
                                                &state->helper_room, sizeof *list, "decoders", &ignored);
        if (list == NULL)
            break;
        state->helper = list;
        struct vf_tiff_decoder *decoder = vf_alloc(1, sizeof *decoder, "decoder", &ignored);
        if (decoder == NULL)
            break;
        decoder->stream.fd = reader->fd;
        decoder->tif =
            vf_tiff_open(&decoder->stream, reader->name, "rhmc"); /* its first directory may be large */
        if (decoder->tif == NULL) {
            vf_free(decoder);
            break;
        }
        state->helper[state->helper_count++] = decoder;
    }
    *team = 1 + (state->helper_count < wanted ? state->helper_count : wanted);
}

/* Pages that are decoded in parts. */
struct parts {
    struct vf_reader *reader;
    size_t first, per_page; /* page; parts */
    struct rows rows;
    void *const *planes;
};

static enum vf_status decode_part(void *context, size_t item, int thread, struct vf_error *error)
{
    const struct parts *p = context;
    struct vf_tiff_reader *state = p->reader->state;
    const size_t page = p->first + item / p->per_page;
    const struct work w = {.reader = p->reader,
                           .decoder = thread == 0 ? &state->decoder : state->helper[thread - 1],
                           .page = state->source != NULL ? state->source[page] : page,
                           .part = item % p->per_page,
                           .parts = p->per_page,
                           .all = p->rows,
                           .planes = p->planes + item / p->per_page * p->reader->info.page_channels};
    return decode(&w, error);
}

static enum vf_status read_parts(struct vf_reader *reader, size_t first, size_t count, struct rows rows,
                                 void *const planes[], int threads, struct vf_error *error)
{
    const size_t wanted = threads < 1 ? 1 : (size_t)threads;
    size_t parts = wanted == 1 ? 1 : (ITEMS_A_THREAD * wanted + count - 1) / count;
    parts = parts > MOST_PARTS ? MOST_PARTS : parts;
    const size_t items = count * parts;
    int team = 1;
    open_helpers(reader, (int)(wanted < items ? wanted : items) - 1, &team);
    struct parts p = {reader, first, parts, rows, planes};
    return vf_team_each(reader->team, team, items, decode_part, &p, error);
}

size_t vf_tiff_read_bytes(const struct vf_reader *reader, int threads)
{
    enum { OF_DIRECTORY = 128, OF_STRILE = 16 }; /* what libtiff has of each */
    const struct vf_tiff_reader *state = reader->state;
    const struct vf_info *info = &reader->info;
    const size_t team = threads < 1 ? 1 : (size_t)threads;
    const size_t decoding = team < state->striles ? team : state->striles;
    const size_t tables =
        state->page_striles > 0 ? OF_DIRECTORY * info->page_count + OF_STRILE * state->page_striles : 0;
    const size_t cells = info->page_channels > 1 ? info->shape.nx * info->page_channels : 0;
    const size_t row = cells * vf_type_size(info->type), most = row > RAW_BLOCK ? row : RAW_BLOCK;
    size_t bytes = decoding * (state->tile_bytes + state->stored_bytes + tables) - tables;
    /* A decoder has the tags of its page. Pixels of several samples go through a block of rows, or, decoded,
     * a row and what it is unpacked to. */
    if (state->page_striles > 0)
        bytes += vf_tags_bytes_of_pages(info->tags, decoding);
    if (cells > 0 && state->has_raw)
        bytes += team * (state->page_bytes < most ? state->page_bytes : most);
    if (cells > 0 && state->page_striles > 0)
        bytes += decoding * (row + cells * sizeof(float));
    return bytes;
}

enum vf_status vf_tiff_read_pages(struct vf_reader *reader, size_t first, size_t count, void *const planes[],
                                  int threads, struct vf_error *error)
{
    const struct rows all = {0, (uint32_t)reader->info.shape.ny};
    return read_parts(reader, first, count, all, planes, threads, error);
}

enum vf_status vf_tiff_read_rows(struct vf_reader *reader, size_t y, size_t count, void *const planes[],
                                 int threads, struct vf_error *error)
{
    const struct rows some = {(uint32_t)y, (uint32_t)(y + count)};
    return read_parts(reader, 0, reader->info.page_count, some, planes, threads, error);
}
