#include "io_png_encode.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"
#include "byte_order.h"
#include "interrupt.h"
#include "io_tags.h"
#include "png_filter.h"

/* Rows of so many bytes, before they are compressed, are a band: enough that nothing is lost by beginning
 * anew in each. A part of it is tried first. */
enum { BAND_BYTES = 1 << 20, SAMPLE_BYTES = 32 << 10, BANDS_A_THREAD = 2, MOST_THREADS = 16 };

/* What a stream begins with: deflate, of 32 KiB; and ends with, a check sum. */
static const unsigned char head[2] = {0x78, 0x01};
enum { TAIL_BYTES = 4 };

/* Zeros before a line: the bytes of the largest pixel, four samples of 16 bits. */
enum { PIXEL_ROOM = 8 };

/* zlib's own level, 6, takes two to three times as long for files that are 3 to 10% smaller. */
enum { LEVEL = 4 };

struct encoder {
    unsigned char *rows;     /* of the band and one before, samples side by side */
    unsigned char *lines;    /* a row and the one above as the PNG has them, each after zeros */
    unsigned char *trial;    /* a row by another filter */
    unsigned char *filtered; /* the band's rows, each after the number of its filter */
};

/* A compressed band. */
struct band {
    unsigned char *data;
    size_t bytes, raw_bytes; /* now, and before */
    uLong check;             /* of what it was before */
};

struct encoding {
    const struct vf_writer *writer;
    const void *const *planes;
    size_t row_bytes, band_rows, band_count;
    size_t filtered; /* bytes of a band */
    size_t room;     /* of a compressed band */
    int threads;     /* that there are encoders for */
    size_t slot_count;
    size_t from;             /* the band that goes to the first slot */
    struct encoder *encoder; /* [threads] */
    struct band *slot;       /* [slot_count] */
};

static bool compresses(const struct encoding *e)
{
    return e->writer->options.compression != VF_COMPRESS_NONE;
}

/* ---- filtering ---- */

/* A row of samples as a PNG has them, the most significant byte first. */
static void put_line(const unsigned char *row, size_t bytes, size_t sample, unsigned char *line)
{
    memcpy(line, row, bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    vf_swap_bytes(line, bytes / sample, sample);
#endif
}

/* Rows [y, y + count) after their filters' numbers. Filters look at the row before. */
static void filter(const struct encoding *e, struct encoder *encoder, size_t y, size_t count)
{
    const struct vf_info *info = &e->writer->info;
    const size_t before = y > 0, nx = info->shape.nx, sample = vf_type_size(info->type);
    unsigned char *line = encoder->lines + PIXEL_ROOM, *above = line + e->row_bytes + PIXEL_ROOM;
    vf_join_samples(encoder->rows, e->planes, (y - before) * nx, (before + count) * nx, info->shape.nc,
                    sample);
    memset(encoder->lines, 0, 2 * (PIXEL_ROOM + e->row_bytes));
    if (before)
        put_line(encoder->rows, e->row_bytes, sample, above);
    for (size_t i = 0; i < count && !vf_interrupted; i++) {
        unsigned char *const to = encoder->filtered + i * (1 + e->row_bytes);
        put_line(encoder->rows + (before + i) * e->row_bytes, e->row_bytes, sample, line);
        if (compresses(e)) {
            vf_png_filter(line, above, e->row_bytes, info->shape.nc * sample, encoder->trial, to);
        } else {
            to[0] = 0;
            memcpy(to + 1, line, e->row_bytes);
        }
        unsigned char *const done = line;
        line = above;
        above = done;
    }
}

/* ---- compressing ---- */

/* Compresses all of `in`; 0 where there is no room or no memory for it. */
static size_t deflate_all(const unsigned char *in, size_t bytes, int level, int strategy, int flush,
                          unsigned char *out, size_t room)
{
    z_stream z = {.next_in = (unsigned char *)in, .next_out = out};
    size_t to_take = bytes, to_give = room;
    int status;
    if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL - 1, strategy) != Z_OK)
        return 0;
    do {
        const uInt taken = to_take < UINT_MAX ? (uInt)to_take : UINT_MAX,
                   given = to_give < UINT_MAX ? (uInt)to_give : UINT_MAX;
        z.avail_in = taken;
        z.avail_out = given;
        status = deflate(&z, taken == to_take ? flush : Z_NO_FLUSH);
        to_take -= taken - z.avail_in;
        to_give -= given - z.avail_out;
    } while (status == Z_OK && (to_take > 0 || z.avail_out == 0) && to_give > 0);
    deflateEnd(&z);
    return to_take > 0 || to_give == 0 ? 0 : room - to_give;
}

/* Of noise, as microscopes have it, sequences that come again are short and cost more than they save: there
 * runs alone are looked for, in a third of the time. Else a part of the band is smaller by the longer way. */
static bool gains_by_sequences(const struct encoding *e, const unsigned char *filtered, size_t bytes,
                               const struct band *band)
{
    const size_t part = bytes < SAMPLE_BYTES ? bytes : SAMPLE_BYTES;
    const unsigned char *sample = filtered + (bytes - part) / 2;
    const size_t runs = deflate_all(sample, part, 1, Z_RLE, Z_FINISH, band->data, e->room);
    const size_t sequences = deflate_all(sample, part, LEVEL, Z_FILTERED, Z_FINISH, band->data, e->room);
    return (double)sequences < 0.95 * (double)runs;
}

static enum vf_status encode_band(void *context, size_t item, int thread, struct vf_error *error)
{
    const struct encoding *e = context;
    struct encoder *encoder = &e->encoder[thread];
    struct band *band = &e->slot[item];
    const size_t index = e->from + item, y = index * e->band_rows, ny = e->writer->info.shape.ny;
    const size_t rows = ny - y < e->band_rows ? ny - y : e->band_rows;
    const unsigned char *const filtered = encoder->filtered;
    filter(e, encoder, y, rows);
    if (vf_interrupted)
        return vf_fail(error, VF_FAILED, "cannot be compressed: interrupted");
    const int flush = index + 1 == e->band_count ? Z_FINISH : Z_SYNC_FLUSH;
    int level = 0, strategy = Z_DEFAULT_STRATEGY;
    if (compresses(e)) {
        const bool sequences = gains_by_sequences(e, filtered, rows * (1 + e->row_bytes), band);
        level = sequences ? LEVEL : 1;
        strategy = sequences ? Z_FILTERED : Z_RLE;
    }
    band->raw_bytes = rows * (1 + e->row_bytes);
    band->check = adler32_z(adler32_z(0, NULL, 0), filtered, band->raw_bytes);
    band->bytes = index == 0 ? sizeof head : 0;
    memcpy(band->data, head, band->bytes);
    const size_t compressed = deflate_all(filtered, band->raw_bytes, level, strategy, flush,
                                          band->data + band->bytes, e->room - band->bytes);
    band->bytes += compressed;
    return compressed > 0 ? VF_OK : vf_fail(error, VF_FAILED, "cannot be compressed: out of memory");
}

/* ---- all of it ---- */

static struct encoding encoding_of(const struct vf_info *info, int threads)
{
    struct encoding e = {.row_bytes = info->shape.nx * info->shape.nc * vf_type_size(info->type)};
    const size_t slack = 1 << 16;
    e.band_rows = BAND_BYTES / (1 + e.row_bytes) + 1;
    if (e.band_rows > info->shape.ny)
        e.band_rows = info->shape.ny;
    e.band_count = (info->shape.ny + e.band_rows - 1) / e.band_rows;
    e.filtered = e.band_rows * (1 + e.row_bytes);
    e.room = e.filtered + e.filtered / 16 + slack;
    e.threads = threads < 1 ? 1 : threads < MOST_THREADS ? threads : MOST_THREADS;
    if (e.band_count < (size_t)e.threads)
        e.threads = (int)e.band_count;
    e.slot_count = (size_t)e.threads * BANDS_A_THREAD;
    if (e.band_count < e.slot_count)
        e.slot_count = e.band_count;
    return e;
}

size_t vf_png_encode_bytes(const struct vf_info *info, int threads)
{
    enum { LINES = 4, ZLIB_BYTES = 320 << 10 }; /* beside a band; what zlib holds */
    const struct encoding e = encoding_of(info, threads);
    /* libpng copies the texts. */
    const size_t texts = info->tags != NULL ? vf_tags_bytes_of_pages(info->tags, 1) : 0;
    return (size_t)e.threads * (2 * e.filtered + LINES * (e.row_bytes + PIXEL_ROOM) + ZLIB_BYTES) +
           e.slot_count * (e.room + TAIL_BYTES) + texts;
}

static bool open_encoder(const struct encoding *e, struct encoder *encoder, struct vf_error *error)
{
    encoder->rows = vf_alloc(e->band_rows + 1, e->row_bytes, "PNG rows", error);
    encoder->lines = vf_alloc(2, PIXEL_ROOM + e->row_bytes, "PNG rows", error);
    encoder->trial = vf_alloc(e->row_bytes, 1, "PNG rows", error);
    encoder->filtered = vf_alloc(e->filtered, 1, "PNG rows", error);
    return encoder->rows != NULL && encoder->lines != NULL && encoder->trial != NULL &&
           encoder->filtered != NULL;
}

static void close_encoder(struct encoder *encoder)
{
    vf_free(encoder->rows);
    vf_free(encoder->lines);
    vf_free(encoder->trial);
    vf_free(encoder->filtered);
}

static void close_encoding(struct encoding *e)
{
    for (int i = 0; e->encoder != NULL && i < e->threads; i++)
        close_encoder(&e->encoder[i]);
    for (size_t i = 0; e->slot != NULL && i < e->slot_count; i++)
        vf_free(e->slot[i].data);
    vf_free(e->encoder);
    vf_free(e->slot);
}

/* Fewer threads, and bands at once, where there is not enough memory. */
static enum vf_status open_encoding(struct encoding *e, struct vf_error *error)
{
    int threads = 0;
    size_t slots = 0;
    e->encoder = vf_alloc((size_t)e->threads, sizeof *e->encoder, "PNG encoders", error);
    e->slot = vf_alloc(e->slot_count, sizeof *e->slot, "PNG bands", error);
    if (e->encoder == NULL || e->slot == NULL)
        return VF_FAILED;
    while (slots < e->slot_count &&
           (e->slot[slots].data = vf_alloc(e->room + TAIL_BYTES, 1, "PNG bands", error)) != NULL)
        slots++;
    while (threads < e->threads && open_encoder(e, &e->encoder[threads], error))
        threads++;
    if (threads < e->threads)
        close_encoder(&e->encoder[threads]);
    e->threads = threads;
    e->slot_count = slots;
    return threads > 0 && slots > 0 ? VF_OK : VF_FAILED;
}

/* Hands bands on, the last one with the check sum of all. */
static bool take_bands(const struct encoding *e, size_t count, uLong *check, vf_png_take *take, void *context)
{
    for (size_t i = 0; i < count; i++) {
        struct band *band = &e->slot[i];
        *check = adler32_combine(*check, band->check, (z_off_t)band->raw_bytes);
        if (e->from + i + 1 == e->band_count) {
            vf_number_to_bytes(*check, band->data + band->bytes, TAIL_BYTES, true);
            band->bytes += TAIL_BYTES;
        }
        if (!take(context, band->data, band->bytes))
            return false;
    }
    return true;
}

enum vf_status vf_png_encode(const struct vf_writer *writer, const void *const planes[], int threads,
                             vf_png_take *take, void *context, struct vf_error *error)
{
    struct encoding e = encoding_of(&writer->info, threads);
    uLong check = adler32_z(0, NULL, 0);
    enum vf_status status;
    e.writer = writer;
    e.planes = planes;
    VF_TRY(open_encoding(&e, error));
    error->text[0] = '\0';
    for (size_t count; e.from < e.band_count && status == VF_OK; e.from += count) {
        const size_t left = e.band_count - e.from;
        count = left < e.slot_count ? left : e.slot_count;
        status = vf_team_each(writer->team, e.threads, count, encode_band, &e, error);
        if (status == VF_OK && !take_bands(&e, count, &check, take, context))
            status = VF_FAILED;
    }
out:
    close_encoding(&e);
    return status;
}
