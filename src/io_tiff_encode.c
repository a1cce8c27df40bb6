#include "io_tiff_encode.h"

#include <string.h>

#include "alloc.h"

/* Strips that one thread compresses before they are written; LZW and PackBits may make noise larger, LZW by
 * half. */
enum { STRIPS_A_THREAD = 4, SLACK = 4096 };

struct encoder {
    TIFF *tif;
    struct vf_tiff_stream stream;
    void *strip; /* one as it is before, which libtiff may change */
};

struct vf_tiff_encoders {
    struct vf_writer *writer;
    vf_tiff_set_pixels *set_pixels;
    uint32_t strip_rows;
    char mode[4];
    size_t strips;            /* of all pages */
    size_t strip_bytes, room; /* before and, at most, after */
    int count, room_for;
    struct encoder *encoder; /* libtiff has their addresses */
    struct vf_tiff_strip *slot;
    size_t slot_count;
};

/* Of a strip, at most, when it is compressed. */
static size_t room_of(size_t strip_bytes)
{
    return strip_bytes + strip_bytes / 2 + SLACK;
}

/* libtiff's own buffer takes as much again. */
size_t vf_tiff_encoders_bytes(const struct vf_tiff_codec *codec, size_t strip_bytes, size_t strips,
                              int threads)
{
    const size_t wanted = threads < 1 ? 1 : (size_t)threads, count = wanted < strips ? wanted : strips;
    const size_t slots = count * STRIPS_A_THREAD < strips ? count * STRIPS_A_THREAD : strips;
    return count * (codec->encoder_bytes + strip_bytes + room_of(strip_bytes)) + slots * room_of(strip_bytes);
}

struct vf_tiff_encoders *vf_tiff_encoders_open(struct vf_writer *writer, vf_tiff_set_pixels *set_pixels,
                                               uint32_t strip_rows, const char *mode, struct vf_error *error)
{
    const struct vf_info *info = &writer->info;
    struct vf_tiff_encoders *e = vf_alloc(1, sizeof *e, "encoders", error);
    if (e == NULL)
        return NULL;
    e->writer = writer;
    e->set_pixels = set_pixels;
    e->strip_rows = strip_rows;
    strncpy(e->mode, mode, sizeof e->mode - 1);
    e->strip_bytes = vf_tiff_row_bytes(info) * strip_rows;
    e->room = room_of(e->strip_bytes);
    e->strips = vf_tiff_page_strips(info, strip_rows) * info->page_count;
    return e;
}

static void close_encoder(struct encoder *encoder)
{
    if (encoder->tif != NULL)
        TIFFClose(encoder->tif);
    vf_free(encoder->strip);
    *encoder = (struct encoder){0};
}

void vf_tiff_encoders_close(struct vf_tiff_encoders *e)
{
    if (e == NULL)
        return;
    for (int i = 0; i < e->count; i++)
        close_encoder(&e->encoder[i]);
    vf_free(e->encoder);
    for (size_t i = 0; i < e->slot_count; i++)
        vf_free(e->slot[i].data);
    vf_free(e->slot);
    vf_free(e);
}

static enum vf_status open_encoder(const struct vf_tiff_encoders *e, struct encoder *encoder,
                                   struct vf_error *error)
{
    *encoder = (struct encoder){.stream.fd = -1};
    encoder->strip = vf_alloc(e->strip_bytes, 1, "strip buffer", error);
    if (encoder->strip != NULL) {
        encoder->tif = vf_tiff_open(&encoder->stream, e->writer->name, e->mode);
        if (encoder->tif != NULL && e->set_pixels(e->writer, encoder->tif, e->strip_rows, e->strip_rows) &&
            TIFFSetField(encoder->tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK))
            return VF_OK;
        vf_fail(error, VF_FAILED, "cannot be compressed: %s",
                vf_tiff_cause(&encoder->stream, "out of memory"));
    }
    close_encoder(encoder);
    return VF_FAILED;
}

/* Room for `threads` encoders and what they make; fewer threads where there is not enough memory, or where
 * the first call had fewer. */
static enum vf_status prepare(struct vf_tiff_encoders *e, int threads, int *team, struct vf_error *error)
{
    threads = (size_t)threads < e->strips ? threads : (int)e->strips;
    if (e->encoder == NULL) {
        e->encoder = vf_alloc((size_t)threads, sizeof *e->encoder, "encoders", error);
        e->room_for = threads;
    }
    if (e->encoder != NULL && e->slot == NULL)
        e->slot = vf_alloc((size_t)e->room_for * STRIPS_A_THREAD, sizeof *e->slot, "strips", error);
    if (e->encoder == NULL || e->slot == NULL)
        return VF_FAILED;
    threads = threads < e->room_for ? threads : e->room_for;
    for (; e->count < threads; e->count++) {
        if (open_encoder(e, &e->encoder[e->count], error) != VF_OK)
            break;
        const size_t wanted = (size_t)(e->count + 1) * STRIPS_A_THREAD;
        for (; e->slot_count < wanted && e->slot_count < e->strips; e->slot_count++) {
            e->slot[e->slot_count].data = vf_alloc(e->room, 1, "compressed strip", error);
            if (e->slot[e->slot_count].data == NULL) {
                close_encoder(&e->encoder[e->count]);
                *team = e->count;
                return e->count > 0 ? VF_OK : VF_FAILED;
            }
        }
    }
    *team = e->count < threads ? e->count : threads;
    return *team > 0 ? VF_OK : VF_FAILED;
}

/* The planes begin at row `top`. */
static bool encode(const struct vf_tiff_encoders *e, struct encoder *encoder, const void *const planes[],
                   size_t top, size_t strip, struct vf_tiff_strip *slot)
{
    const struct vf_info *info = &e->writer->info;
    const size_t y = strip * e->strip_rows, nx = info->shape.nx, samples = info->page_channels;
    const size_t rows = info->shape.ny - y < e->strip_rows ? info->shape.ny - y : e->strip_rows;
    const tmsize_t bytes = (tmsize_t)(rows * nx * samples * vf_type_size(info->type));
    vf_join_samples(encoder->strip, planes, (y - top) * nx, rows * nx, samples, vf_type_size(info->type));
    vf_tiff_clear_error(&encoder->stream);
    encoder->stream.capture = slot->data;
    encoder->stream.capture_room = e->room;
    encoder->stream.captured = 0;
    const bool done =
        TIFFWriteEncodedStrip(encoder->tif, 0, encoder->strip, bytes) == bytes && TIFFFlushData(encoder->tif);
    encoder->stream.capture = NULL;
    slot->bytes = encoder->stream.captured;
    return done;
}

/* Strips [begin, end), counted from the first of page `first`. */
struct span {
    size_t first, begin, end;
    size_t top; /* the row that planes begin at */
};

/* Strips of a span from `from` on, each to a slot. */
struct strips {
    struct vf_tiff_encoders *encoders;
    const struct span *span;
    size_t from;
    const void *const *planes;
};

static enum vf_status encode_strip(void *context, size_t item, int thread, struct vf_error *error)
{
    const struct strips *s = context;
    struct vf_tiff_encoders *e = s->encoders;
    const struct vf_info *info = &e->writer->info;
    const size_t in_page = vf_tiff_page_strips(info, e->strip_rows), strip = s->from + item;
    struct encoder *encoder = &e->encoder[thread];
    if (encode(e, encoder, s->planes + strip / in_page * info->page_channels, s->span->top, strip % in_page,
               &e->slot[item]))
        return VF_OK;
    const char *cause = vf_tiff_cause(&encoder->stream, "unknown cause");
    return vf_fail(error, VF_FAILED, "page %zu cannot be compressed: %s%s",
                   s->span->first + strip / in_page + 1, cause, vf_tiff_remedy(cause, ""));
}

static enum vf_status encode_span(struct vf_tiff_encoders *e, const struct span *span,
                                  const void *const planes[], int threads, vf_tiff_take_strips *take,
                                  struct vf_error *error)
{
    int team = 1;
    if (prepare(e, threads < 1 ? 1 : threads, &team, error) != VF_OK)
        return VF_FAILED;
    error->text[0] = '\0';
    const size_t at_once = (size_t)team * STRIPS_A_THREAD;
    for (size_t from = span->begin, n; from < span->end; from += n) {
        n = span->end - from < at_once ? span->end - from : at_once;
        struct strips strips = {e, span, from, planes};
        if (vf_team_each(e->writer->team, team, n, encode_strip, &strips, error) != VF_OK)
            return VF_FAILED;
        if (!take(e->writer, span->first, e->slot, from, n))
            return VF_FAILED;
    }
    return VF_OK;
}

enum vf_status vf_tiff_encode_pages(struct vf_tiff_encoders *e, size_t first, size_t count,
                                    const void *const planes[], int threads, vf_tiff_take_strips *take,
                                    struct vf_error *error)
{
    const size_t in_page = vf_tiff_page_strips(&e->writer->info, e->strip_rows);
    const struct span span = {.first = first, .end = in_page * count};
    return encode_span(e, &span, planes, threads, take, error);
}

enum vf_status vf_tiff_encode_rows(struct vf_tiff_encoders *e, size_t y, size_t count,
                                   const void *const planes[], int threads, vf_tiff_take_strips *take,
                                   struct vf_error *error)
{
    const struct span span = {
        .begin = y / e->strip_rows, .end = (y + count + e->strip_rows - 1) / e->strip_rows, .top = y};
    return encode_span(e, &span, planes, threads, take, error);
}
