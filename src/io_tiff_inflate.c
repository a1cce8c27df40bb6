/* What libtiff lets pass of a deflated strip or tile. Its stream may go on behind the last pixel, since some
 * writers fill up their last strip with rows that the image does not have; libtiff then stops, without a look
 * at the checksum, and takes damage for the same. libdeflate may even leave out the end. Source: RFC 1950. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "byte_order.h"
#include "io_tiff_read.h"

enum { ADLER_MODULUS = 65521, ADLER_BYTES = 4 };

/* zlib's adler32(), several times as fast. A block's bytes go to lanes; 16 bits hold the sum of each, and the
 * sum of what that was after each byte. */
static uint32_t add_bytes(uint32_t adler, const void *bytes, size_t count)
{
    enum { LANES = 16, BLOCK = LANES * LANES };
    const unsigned char *at = bytes;
    uint32_t low = adler & 0xffff, high = adler >> 16;
    for (; count >= BLOCK; at += BLOCK, count -= BLOCK) {
        uint16_t sum[LANES], sums[LANES];
        for (size_t k = 0; k < LANES; k++) {
            uint16_t one = 0, all = 0;
            for (size_t i = 0; i < BLOCK; i += LANES) {
                one = (uint16_t)(one + at[i + k]);
                all = (uint16_t)(all + one);
            }
            sum[k] = one;
            sums[k] = all;
        }
        high += BLOCK * low;
        for (uint32_t k = 0; k < LANES; k++) {
            low += sum[k];
            high += LANES * sums[k] - k * sum[k];
        }
        low %= ADLER_MODULUS;
        high %= ADLER_MODULUS;
    }
    return (uint32_t)adler32(high << 16 | low, at, (uInt)count);
}

enum { PART_BYTES = 1 << 9 };

/* A row as it was deflated: elements less those `step` before, but for the first, in the file's byte order.
 */
#define ADD_ROW(name, type)                                                                        \
    static uint32_t name(uint32_t adler, const type *row, size_t count, size_t step, bool swapped) \
    {                                                                                              \
        type part[PART_BYTES / sizeof(type)];                                                      \
        const size_t most = sizeof part / sizeof *part;                                            \
        for (size_t at = 0, n; at < count; at += n) {                                              \
            n = (at < step ? step : count) - at;                                                   \
            n = n < most ? n : most;                                                               \
            for (size_t i = 0; i < n; i++)                                                         \
                part[i] = at < step ? row[at + i] : (type)(row[at + i] - row[at + i - step]);      \
            if (swapped)                                                                           \
                vf_swap_bytes(part, n, sizeof(type));                                              \
            adler = add_bytes(adler, part, n * sizeof(type));                                      \
        }                                                                                          \
        return adler;                                                                              \
    }

ADD_ROW(add_row_8, uint8_t)
ADD_ROW(add_row_16, uint16_t)
ADD_ROW(add_row_32, uint32_t)
ADD_ROW(add_row_64, uint64_t)

/* The predictor of floats: the highest bytes of the row come first, then the next ones; all that less the
 * bytes `step` before. Inline: loops of a constant size are several times as fast. */
static inline uint32_t add_float_row(uint32_t adler, const uint8_t *row, size_t count, size_t step,
                                     size_t size)
{
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    uint8_t part[PART_BYTES];
    for (size_t byte = 0; byte < size; byte++) {
        const uint8_t *from = row + (little ? size - 1 - byte : byte);
        const uint8_t *higher = little ? from + 1 : from - 1;
        for (size_t at = 0, n; at < count; at += n) {
            const uint8_t *before = at >= step ? from + (at - step) * size
                                    : byte > 0 ? higher + (count - step + at) * size
                                               : NULL;
            n = (at < step ? step : count) - at;
            n = n < PART_BYTES ? n : PART_BYTES;
            for (size_t i = 0; i < n; i++)
                part[i] = from[(at + i) * size];
            for (size_t i = 0; i < n && before != NULL; i++)
                part[i] = (uint8_t)(part[i] - before[i * size]);
            adler = add_bytes(adler, part, n);
        }
    }
    return adler;
}

uint32_t vf_tiff_add_rows(TIFF *tif, const struct vf_tiff_layout *layout, uint32_t adler, const void *rows,
                          size_t row_count, size_t samples)
{
    const size_t row_bytes = vf_tiff_stored_bytes(layout, samples), size = layout->bits / 8;
    const bool swapped = layout->bits % 16 == 0 && TIFFIsByteSwapped(tif);
    uint16_t predictor = PREDICTOR_NONE;
    TIFFGetField(tif, TIFFTAG_PREDICTOR, &predictor);
    if (predictor == PREDICTOR_NONE && !swapped)
        return add_bytes(adler, rows, row_count * row_bytes);
    const size_t pixel = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    const size_t step = predictor == PREDICTOR_NONE ? samples : pixel;
    const bool is_float = predictor == PREDICTOR_FLOATINGPOINT;
    for (size_t y = 0; y < row_count; y++) {
        const void *row = (const char *)rows + y * row_bytes;
        if (size == 1)
            adler = add_row_8(adler, row, samples, step, false);
        else if (size == 2)
            adler = is_float ? add_float_row(adler, row, samples, step, 2)
                             : add_row_16(adler, row, samples, step, swapped);
        else if (size == 4)
            adler = is_float ? add_float_row(adler, row, samples, step, 4)
                             : add_row_32(adler, row, samples, step, swapped);
        else
            adler = is_float ? add_float_row(adler, row, samples, step, 8)
                             : add_row_64(adler, row, samples, step, swapped);
    }
    return adler;
}

/* As libtiff sees them: a file's order of bits is that of its deflated bytes too. */
static bool read_deflated(struct vf_tiff_decoder *decoder, const struct vf_tiff_layout *layout,
                          unsigned char *data, size_t bytes, uint64_t at)
{
    if (!vf_read_at(decoder->stream.fd, data, bytes, at)) {
        decoder->stream.io_error = errno;
        return false;
    }
    if (layout->fill_order == FILLORDER_LSB2MSB)
        TIFFReverseBits(data, (tmsize_t)bytes);
    return true;
}

bool vf_tiff_adler_agrees(struct vf_tiff_decoder *decoder, const struct vf_tiff_layout *layout,
                          uint32_t strile, uint32_t adler)
{
    const uint64_t bytes = TIFFGetStrileByteCount(decoder->tif, strile);
    const uint64_t end = TIFFGetStrileOffset(decoder->tif, strile) + bytes;
    unsigned char last[ADLER_BYTES];
    if (bytes < ADLER_BYTES || !read_deflated(decoder, layout, last, ADLER_BYTES, end - ADLER_BYTES))
        return false;
    return adler == ((uint32_t)last[0] << 24 | (uint32_t)last[1] << 16 | (uint32_t)last[2] << 8 | last[3]);
}

/* Inflates all of a stream for its checksum. Returns zlib's word for how it ended. */
static int inflate_all(struct vf_tiff_decoder *decoder, const struct vf_tiff_layout *layout, uint32_t strile,
                       uint64_t most)
{
    unsigned char in[1 << 14], out[1 << 14];
    z_stream stream = {0};
    uint64_t at = TIFFGetStrileOffset(decoder->tif, strile);
    uint64_t left = TIFFGetStrileByteCount(decoder->tif, strile);
    int state = inflateInit(&stream);
    while (state == Z_OK && stream.total_out <= most && decoder->stream.io_error == 0) {
        if (stream.avail_in == 0) {
            const size_t part = left < sizeof in ? (size_t)left : sizeof in;
            if (part == 0 || !read_deflated(decoder, layout, in, part, at))
                break;
            at += part;
            left -= part;
            stream.next_in = in;
            stream.avail_in = (uInt)part;
        }
        stream.next_out = out;
        stream.avail_out = sizeof out;
        state = inflate(&stream, Z_NO_FLUSH);
    }
    inflateEnd(&stream);
    if (state == Z_MEM_ERROR)
        decoder->stream.io_error = ENOMEM;
    return state;
}

bool vf_tiff_stream_is_whole(struct vf_tiff_decoder *decoder, const struct vf_tiff_layout *layout,
                             uint32_t strile)
{
    enum { FILLED_UP = 1 << 18 };
    size_t page_bytes, bytes;
    vf_tiff_layout_sizes(layout, &page_bytes, &bytes);
    /* However much more than a whole strip it holds, but not without end: small pages may share a stream. The
     * only strip of a low image may have been meant for a high one. */
    const bool only = !layout->tiled && layout->tile_height == layout->height;
    if (inflate_all(decoder, layout, strile, 2 * (uint64_t)bytes + (only ? FILLED_UP : 0)) == Z_STREAM_END)
        return true;
    strcpy(decoder->stream.message, "its data do not agree with their checksum");
    return false;
}

#ifdef TIFFTAG_DEFLATE_SUBCODEC

int vf_tiff_choose_zlib(TIFF *tif)
{
    int usual = DEFLATE_SUBCODEC_ZLIB;
    if (TIFFGetField(tif, TIFFTAG_DEFLATE_SUBCODEC, &usual))
        TIFFSetField(tif, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    return usual;
}

void vf_tiff_choose_inflater(TIFF *tif, int usual)
{
    TIFFSetField(tif, TIFFTAG_DEFLATE_SUBCODEC, usual);
}

#else /* before 4.2 there is zlib alone */

int vf_tiff_choose_zlib(TIFF *tif)
{
    (void)tif;
    return 0;
}

void vf_tiff_choose_inflater(TIFF *tif, int usual)
{
    (void)tif, (void)usual;
}

#endif
