/* Writing TIFF: pages of strips, as the input's kind. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "alloc.h"
#include "byte_order.h"
#include "imagej.h"
#include "imagej_data.h"
#include "io_tiff.h"
#include "io_tiff_encode.h"
#include "ome.h"

struct tiff_writer {
    TIFF *tif;
    bool big; /* BigTIFF */
    struct vf_tiff_stream stream;
    const struct vf_tiff_codec *codec;
    int predictor;
    uint32_t strip_rows;
    bool together; /* planes follow each other, behind the first directory: where the first and next one go */
    uint64_t planes_at, next_at;
    size_t directories; /* then: one for each page, or one for all */
    bool direct;        /* libtiff writes a strip from the caller's plane as it is */
    void *strip;        /* else it is put together here, since libtiff may change what it is given */
    char *description;  /* ImageJ's or OME's */
    struct vf_tiff_encoders *encoders; /* of compressed results */
};

/* Large enough for the disk and a codec, small enough for a cache and for several threads to share a page. */
enum { STRIP_BYTES = 1 << 18 };

/* What is asked for, or the input's where this libtiff can write it. */
static const struct vf_tiff_codec *codec_for(const struct vf_info *result, enum vf_compression asked)
{
    const bool as_input = asked == VF_COMPRESS_AS_INPUT;
    const struct vf_tiff_codec *codec = vf_tiff_codec_by_compression(as_input ? result->compression : asked);
    if (codec == NULL || (as_input && !TIFFIsCODECConfigured(codec->scheme)))
        return vf_tiff_codec_by_compression(VF_COMPRESS_NONE);
    return codec;
}

enum vf_status vf_tiff_supports(const struct vf_info *result, enum vf_compression compression,
                                struct vf_error *error)
{
    const struct vf_tiff_codec *codec = codec_for(result, compression);
    if (!TIFFIsCODECConfigured(codec->scheme))
        return vf_fail(error, VF_FAILED, "this machine's libtiff cannot write %s; use --compress none%s%s",
                       codec->name, TIFFIsCODECConfigured(COMPRESSION_LZW) ? ", lzw" : "",
                       TIFFIsCODECConfigured(COMPRESSION_ADOBE_DEFLATE) ? ", deflate" : "");
    if (result->page_channels > UINT16_MAX)
        return vf_fail(error, VF_FAILED, "a TIFF page holds at most 65535 channels; the result has %zu",
                       result->page_channels);
    if (result->page_count > UINT32_MAX)
        return vf_fail(error, VF_FAILED, "a TIFF holds at most 4294967295 pages; the result has %zu",
                       result->page_count);
    return VF_OK;
}

/* Differences of neighbours compress better, where the file's readers can undo them. */
static int choose_predictor(const struct vf_writer *writer)
{
    const struct tiff_writer *state = writer->state;
    const enum vf_compression compression = state->codec->compression;
    /* Those of floats neither ImageJ nor Bio-Formats undoes, and they enlarge files of few different values.
     */
    if (compression == VF_COMPRESS_NONE || compression == VF_COMPRESS_PACKBITS ||
        vf_type_is_float(writer->info.type))
        return PREDICTOR_NONE;
    /* ImageJ undoes those of integers of 8 and 16 bits, and where LZW is below them. It leaves OME-TIFF to
     * Bio-Formats, and does not read Zstandard. */
    if (writer->info.metadata != VF_META_OME && compression != VF_COMPRESS_ZSTD &&
        (vf_type_size(writer->info.type) > 2 || compression != VF_COMPRESS_LZW))
        return PREDICTOR_NONE;
    return PREDICTOR_HORIZONTAL;
}

/* Room for the data, which a codec may make larger (of noise, LZW by half, others by a little), directories
 * and tags. */
static bool may_pass_4_gib(const struct vf_info *info, enum vf_compression compression)
{
    const double growth = compression == VF_COMPRESS_LZW ? 1.5 : 1.01;
    const double page = (double)info->shape.nx * (double)info->shape.ny * (double)info->page_channels *
                        (double)vf_type_size(info->type);
    const double all = (double)info->page_count * (page * growth + (double)info->shape.ny * 16 + 4096);
    return all > 4294967296.0 - (1 << 25);
}

static size_t page_size(const struct vf_info *info)
{
    return info->shape.ny * vf_tiff_row_bytes(info);
}

/* ImageJ looks at the first directory of an uncompressed stack alone, and takes the planes to follow each
 * other; so does tifffile with a small file whose description is its own, and what maps a file into memory
 * (tifffile.memmap) wants it of any. A page is one strip then, which many programs read whole. */
static bool wants_planes_together(const struct vf_writer *writer)
{
    enum { MOST_BYTES = 256 << 20 };
    const struct vf_info *info = &writer->info;
    const struct tiff_writer *state = writer->state;
    const size_t most = info->metadata == VF_META_IMAGEJ && !info->big_tiff ? UINT32_MAX
                        : info->metadata == VF_META_PLAIN                   ? MOST_BYTES
                                                                            : 0;
    return info->page_count > 1 && state->codec->compression == VF_COMPRESS_NONE && page_size(info) <= most;
}

size_t vf_tiff_row_block(const struct vf_info *info)
{
    const size_t row_bytes = vf_tiff_row_bytes(info);
    const size_t rows = row_bytes < STRIP_BYTES ? STRIP_BYTES / row_bytes : 1;
    return rows < info->shape.ny ? rows : info->shape.ny;
}

/* What libtiff copies of a page's tags while the page is written; descriptions for OME and ImageJ, which grow
 * as they are made, and ImageJ's data are put together before. */
static size_t copied_bytes(const struct vf_info *info)
{
    const size_t copies = info->metadata == VF_META_PLAIN ? 1 : 4;
    const size_t texts = info->tags == NULL ? 0 : vf_tags_bytes_of_pages(info->tags, 1);
    return copies * texts + 2 * vf_imagej_data_bytes(info);
}

size_t vf_tiff_write_bytes(const struct vf_info *info, int threads)
{
    const struct vf_tiff_codec *codec = codec_for(info, VF_COMPRESS_AS_INPUT);
    const size_t row_bytes = vf_tiff_row_bytes(info);
    const size_t rows = vf_tiff_row_block(info);
    size_t bytes = copied_bytes(info) + (row_bytes > STRIP_BYTES ? row_bytes : 0);
    if (codec->compression != VF_COMPRESS_NONE)
        bytes += vf_tiff_encoders_bytes(codec, row_bytes * rows,
                                        vf_tiff_page_strips(info, rows) * info->page_count, threads);
    return bytes;
}

static void choose_strips(struct vf_writer *writer)
{
    struct tiff_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    state->strip_rows = (uint32_t)vf_tiff_row_block(info);
    state->direct = info->page_channels == 1 && state->codec->compression == VF_COMPRESS_NONE &&
                    !TIFFIsByteSwapped(state->tif);
}

/* What an encoder must know of pixels: the size, layout and compression of pages of `height` rows. */
static bool set_pixels(const struct vf_writer *writer, TIFF *tif, uint32_t height, uint32_t strip_rows)
{
    const struct tiff_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    const bool is_signed = info->type == VF_I8 || info->type == VF_I16 || info->type == VF_I32;
    const int format = vf_type_is_float(info->type) ? SAMPLEFORMAT_IEEEFP
                       : is_signed                  ? SAMPLEFORMAT_INT
                                                    : SAMPLEFORMAT_UINT;
    if (!TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, (uint32_t)info->shape.nx) ||
        !TIFFSetField(tif, TIFFTAG_IMAGELENGTH, height) ||
        !TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, (unsigned)vf_type_size(info->type) * 8) ||
        !TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, (unsigned)info->page_channels) ||
        !TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, format) ||
        !TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) ||
        !TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, strip_rows) ||
        !TIFFSetField(tif, TIFFTAG_COMPRESSION, state->codec->scheme))
        return false;
    if (state->predictor != PREDICTOR_NONE && !TIFFSetField(tif, TIFFTAG_PREDICTOR, state->predictor))
        return false;
    /* libtiff's own levels, 9 and 6, take up to four times as long for files that are at most 8% smaller. */
    switch (state->codec->compression) {
    case VF_COMPRESS_ZSTD:
        return TIFFSetField(tif, TIFFTAG_ZSTD_LEVEL, 3);
    case VF_COMPRESS_DEFLATE:
        return TIFFSetField(tif, TIFFTAG_ZIPQUALITY, 4);
    default:
        return true;
    }
}

static bool set_layout(const struct vf_writer *writer, size_t page)
{
    const struct tiff_writer *state = writer->state;
    const uint32_t height = (uint32_t)writer->info.shape.ny;
    return set_pixels(writer, state->tif, height, state->together ? height : state->strip_rows) &&
           vf_tiff_tags_write(state->tif, &writer->info, page, state->description);
}

enum vf_status vf_tiff_create(struct vf_writer *writer, struct vf_error *error)
{
    const struct vf_info *info = &writer->info;
    struct tiff_writer *state = vf_alloc(1, sizeof *state, "TIFF writer", error);
    if (state == NULL)
        return VF_FAILED;
    writer->state = state;
    state->codec = codec_for(info, writer->options.compression);
    state->together = wants_planes_together(writer);
    /* ImageJ does not read BigTIFF. */
    const bool imagej_large = state->together && info->metadata == VF_META_IMAGEJ &&
                              may_pass_4_gib(info, state->codec->compression);
    state->big = info->big_tiff || (may_pass_4_gib(info, state->codec->compression) && !imagej_large);
    state->directories = imagej_large ? 1 : info->page_count;
    const char mode[] = {'w', info->big_endian ? 'b' : 'l', state->big ? '8' : '4', '\0'};
    state->stream.fd = vf_output_file_descriptor(writer->file);
    state->tif = vf_tiff_open(&state->stream, writer->name, mode);
    if (state->tif == NULL)
        return vf_fail(error, VF_FAILED, "cannot be written: %s",
                       vf_tiff_cause(&state->stream, "unknown cause"));
    state->predictor = choose_predictor(writer);
    choose_strips(writer);
    if (state->codec->compression != VF_COMPRESS_NONE) {
        state->encoders = vf_tiff_encoders_open(writer, set_pixels, state->strip_rows, mode, error);
        if (state->encoders == NULL)
            return VF_FAILED;
    } else if (!state->direct) {
        const size_t row_bytes = vf_tiff_row_bytes(info);
        state->strip = vf_alloc(state->strip_rows, row_bytes, "strip buffer", error);
        if (state->strip == NULL)
            return VF_FAILED;
    }
    if (info->metadata == VF_META_PLAIN)
        return VF_OK;
    if (info->metadata == VF_META_OME) {
        state->description = vf_ome_write(info->tags->ome, info, error);
        return state->description == NULL ? VF_FAILED : VF_OK;
    }
    const char *description =
        info->tags == NULL || info->tags->pages == NULL ? NULL : info->tags->pages[0].description;
    state->description = vf_imagej_describe(description, info, error);
    return state->description == NULL ? VF_FAILED : VF_OK;
}

/* The strips of rows [top, end) of the page, which are `planes`. */
static bool write_strips(struct vf_writer *writer, size_t top, size_t end, const void *const planes[])
{
    const struct tiff_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    const size_t size = vf_type_size(info->type), samples = info->page_channels, nx = info->shape.nx;
    uint32_t strip = (uint32_t)(top / state->strip_rows);
    for (size_t y = 0; y < end - top; y += state->strip_rows, strip++) {
        const size_t rows = end - top - y < state->strip_rows ? end - top - y : state->strip_rows;
        const tmsize_t bytes = (tmsize_t)(rows * nx * samples * size);
        void *data = state->strip;
        if (state->direct)
            data = (char *)planes[0] + y * nx * size;
        else
            vf_join_samples(data, planes, y * nx, rows * nx, samples, size);
        if (TIFFWriteEncodedStrip(state->tif, strip, data, bytes) != bytes)
            return false;
    }
    return true;
}

/* Of what is written beside libtiff the stream does not know why it failed. False, as callers return it. */
static bool keep_cause(struct tiff_writer *state)
{
    if (state->stream.io_error == 0 && state->stream.message[0] == '\0')
        state->stream.io_error = errno;
    return false;
}

static bool write_planes(struct vf_writer *writer, size_t page, const void *const planes[])
{
    struct tiff_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    const size_t size = vf_type_size(info->type), samples = info->page_channels, nx = info->shape.nx;
    const int fd = state->stream.fd;
    if (page == 0) {
        if (!set_layout(writer, 0))
            return false;
        if (!vf_tiff_begin_planes(state->tif, fd, info->big_endian, state->big, page_size(info),
                                  &state->planes_at))
            return keep_cause(state);
        state->next_at = state->planes_at;
    }
    for (size_t y = 0, rows; y < info->shape.ny; y += rows) {
        rows = info->shape.ny - y < state->strip_rows ? info->shape.ny - y : state->strip_rows;
        const void *data = (const char *)planes[0] + y * nx * size;
        if (!state->direct) {
            vf_join_samples(state->strip, planes, y * nx, rows * nx, samples, size);
            if (TIFFIsByteSwapped(state->tif))
                vf_swap_bytes(state->strip, rows * nx * samples, size);
            data = state->strip;
        }
        if (!vf_write_at(fd, data, rows * nx * samples * size, state->next_at))
            return keep_cause(state);
        state->next_at += rows * nx * samples * size;
    }
    return true;
}

/* Those behind the planes. */
static bool write_directories(const struct vf_writer *writer)
{
    const struct tiff_writer *state = writer->state;
    for (size_t page = 1; page < state->directories; page++)
        if (!set_layout(writer, page) || !TIFFWriteCheck(state->tif, 0, "writing") ||
            !TIFFWriteDirectory(state->tif))
            return false;
    return true;
}

static bool write_page(struct vf_writer *writer, size_t page, const void *const planes[])
{
    const struct tiff_writer *state = writer->state;
    if (state->together)
        return write_planes(writer, page, planes);
    return set_layout(writer, page) && write_strips(writer, 0, writer->info.shape.ny, planes) &&
           TIFFWriteDirectory(state->tif);
}

/* The strips that the encoders have made, in order: their number runs on over the pages. */
static bool write_encoded(struct vf_writer *writer, size_t first, const struct vf_tiff_strip *strip,
                          size_t from, size_t count)
{
    const struct tiff_writer *state = writer->state;
    const size_t in_page = vf_tiff_page_strips(&writer->info, state->strip_rows);
    for (size_t i = from; i < from + count; i++, strip++) {
        if (i % in_page == 0 && !set_layout(writer, first + i / in_page))
            return false;
        const tmsize_t bytes = (tmsize_t)strip->bytes;
        if (TIFFWriteRawStrip(state->tif, (uint32_t)(i % in_page), strip->data, bytes) != bytes)
            return false;
        if (i % in_page == in_page - 1 && !TIFFWriteDirectory(state->tif))
            return false;
    }
    return true;
}

enum vf_status vf_tiff_write_pages(struct vf_writer *writer, size_t first, size_t count,
                                   const void *const planes[], int threads, struct vf_error *error)
{
    struct tiff_writer *state = writer->state;
    vf_tiff_clear_error(&state->stream);
    if (state->encoders != NULL) {
        const enum vf_status status =
            vf_tiff_encode_pages(state->encoders, first, count, planes, threads, write_encoded, error);
        return status == VF_OK || error->text[0] != '\0'
                   ? status
                   : vf_fail(error, VF_FAILED, "pages from %zu on cannot be written: %s", first + 1,
                             vf_tiff_cause(&state->stream, "unknown cause"));
    }
    for (size_t i = 0; i < count; i++)
        if (!write_page(writer, first + i, planes + i * writer->info.page_channels))
            return vf_fail(error, VF_FAILED, "page %zu cannot be written: %s", first + i + 1,
                           vf_tiff_cause(&state->stream, "unknown cause"));
    return VF_OK;
}

static bool write_rows(struct vf_writer *writer, size_t y, size_t count, const void *const planes[])
{
    const struct tiff_writer *state = writer->state;
    return (y > 0 || set_layout(writer, 0)) && write_strips(writer, y, y + count, planes) &&
           (y + count < writer->info.shape.ny || TIFFWriteDirectory(state->tif));
}

enum vf_status vf_tiff_write_rows(struct vf_writer *writer, size_t y, size_t count,
                                  const void *const planes[], int threads, struct vf_error *error)
{
    struct tiff_writer *state = writer->state;
    enum vf_status status = VF_OK;
    error->text[0] = '\0';
    vf_tiff_clear_error(&state->stream);
    if (state->encoders != NULL)
        status = vf_tiff_encode_rows(state->encoders, y, count, planes, threads, write_encoded, error);
    else if (!write_rows(writer, y, count, planes))
        status = VF_FAILED;
    return status == VF_OK || error->text[0] != '\0'
               ? status
               : vf_fail(error, VF_FAILED, "rows from %zu on cannot be written: %s", y + 1,
                         vf_tiff_cause(&state->stream, "unknown cause"));
}

/* Pages lie in the file as they came; its order of them is that of the directories' chain. */
static enum vf_status order_pages(const struct vf_writer *writer, struct vf_error *error)
{
    const struct tiff_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    if (info->page_order[0] == '\0')
        return VF_OK;
    enum vf_status status = VF_FAILED;
    size_t *place =
        vf_tiff_page_order(info->page_order, &info->shape, info->shape.nc / info->page_channels, error);
    uint64_t *at = place == NULL ? NULL : vf_alloc(info->page_count, sizeof *at, "page list", error);
    if (at != NULL &&
        vf_tiff_relink(state->stream.fd, info->big_endian, state->big, place, info->page_count, at))
        status = VF_OK;
    else if (at != NULL)
        vf_fail(error, VF_FAILED, "the order of its pages cannot be written: %s", vf_cause(errno));
    vf_free(at);
    vf_free(place);
    return status;
}

/* Closes what nobody will read: libtiff would write the rest of it, which may be a directory that it had no
 * memory for. */
static void close_half(struct tiff_writer *state)
{
    if (state->tif == NULL)
        return;
    TIFFSetMode(state->tif, O_RDONLY);
    TIFFClose(state->tif);
}

enum vf_status vf_tiff_finish(struct vf_writer *writer, struct vf_error *error)
{
    struct tiff_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    vf_tiff_clear_error(&state->stream);
    bool written = !state->together || write_directories(writer);
    if (written)
        TIFFClose(state->tif); /* says nothing itself; what goes wrong is in the stream */
    else
        close_half(state);
    state->tif = NULL;
    written = written && state->stream.io_error == 0 && state->stream.message[0] == '\0';
    if (written && state->together &&
        !vf_tiff_place_planes(state->stream.fd, info->big_endian, state->big, state->directories,
                              state->planes_at, page_size(info)))
        written = keep_cause(state);
    if (!written)
        return vf_fail(error, VF_FAILED, "cannot be written: %s",
                       vf_tiff_cause(&state->stream, "unknown cause"));
    return order_pages(writer, error);
}

void vf_tiff_discard(struct vf_writer *writer)
{
    struct tiff_writer *state = writer->state;
    if (state == NULL)
        return;
    close_half(state);
    vf_tiff_encoders_close(state->encoders);
    vf_free(state->strip);
    vf_free(state->description);
    vf_free(state);
}
