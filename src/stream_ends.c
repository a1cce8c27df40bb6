#include "stream_ends.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "descriptor.h"
#include "interrupt.h"
#include "team.h"

/* ---- which plane ---- */

/* The plane of the file, images after one another, that is number `number` of all that pass through; planes
 * beyond a periodic grid are those at its other end. */
static ptrdiff_t plane_of(const struct vf_stream_end *end, ptrdiff_t number)
{
    const ptrdiff_t z = number % vf_window_span(end->window) - end->window->beyond;
    return number / vf_window_span(end->window) * end->window->extent + vf_floor_mod(z, end->window->extent);
}

static bool is_beyond(const struct vf_stream_end *end, ptrdiff_t number)
{
    const ptrdiff_t z = number % vf_window_span(end->window) - end->window->beyond;
    return z < 0 || z >= end->window->extent;
}

/* Of at most `most` from `number` on: those that follow each other in the file. */
static ptrdiff_t run_length(const struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t most)
{
    ptrdiff_t count = 1;
    while (count < most && plane_of(end, number + count) == plane_of(end, number) + count)
        count++;
    return count;
}

/* ---- pages ---- */

/* Pages of `info` for planes `number` to `number + count - 1`, and where their channels are. */
static void page_planes(const struct vf_stream_end *end, const struct vf_info *info, ptrdiff_t number,
                        ptrdiff_t count, void **plane, size_t *first, size_t *pages)
{
    const size_t channels = info->shape.nc, per_plane = channels / info->page_channels;
    *first = (size_t)plane_of(end, number) * per_plane;
    *pages = (size_t)count * per_plane;
    for (ptrdiff_t i = 0; i < count; i++)
        for (size_t c = 0; c < channels; c++)
            plane[(size_t)i * channels + c] = vf_window_place(end->window, number + i, (int)c);
}

static enum vf_status read_image(const struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t count,
                                 void **plane, struct vf_error *error)
{
    size_t first, pages;
    page_planes(end, end->stream->ends.input, number, count, plane, &first, &pages);
    pthread_mutex_lock(end->reading);
    const enum vf_status status =
        vf_reader_read_pages(end->stream->reader, first, pages, plane, end->stream->plan->threads, error);
    pthread_mutex_unlock(end->reading);
    return status;
}

/* Alpha goes by the chain: it is read again when its plane comes out. `room` is for the channels that share
 * its page. */
static enum vf_status read_alpha(const struct vf_stream_end *end, ptrdiff_t number, void *room,
                                 struct vf_error *error)
{
    const struct vf_info *in = end->stream->ends.input;
    const size_t per_plane = in->shape.nc / in->page_channels;
    void **plane = vf_alloc(in->page_channels, sizeof *plane, "pages", error);
    if (plane == NULL)
        return VF_FAILED;
    for (size_t c = 0; c + 1 < in->page_channels; c++)
        plane[c] = room;
    plane[in->page_channels - 1] = vf_window_place(end->window, number, end->window->count - 1);
    pthread_mutex_lock(end->reading);
    const enum vf_status status = vf_reader_read_pages(
        end->stream->reader, ((size_t)plane_of(end, number) + 1) * per_plane - 1, 1, plane, 1, error);
    pthread_mutex_unlock(end->reading);
    vf_free(plane);
    return status;
}

static enum vf_status write_result(const struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t count,
                                   void **plane, void *room, struct vf_error *error)
{
    size_t first, pages;
    for (ptrdiff_t i = 0; i < count && room != NULL; i++) {
        const enum vf_status status = read_alpha(end, number + i, room, error);
        if (status != VF_OK)
            return status;
    }
    page_planes(end, end->stream->ends.result, number, count, plane, &first, &pages);
    return vf_writer_write_pages(end->stream->writer, first, pages, (const void *const *)plane,
                                 end->stream->plan->threads, error);
}

/* ---- rows ---- */

/* Rows of strips or tiles that are read or written together, on their way to the window or from there. */
struct block {
    ptrdiff_t rows;  /* that there is room for; 0: whole planes pass, without it */
    ptrdiff_t strip; /* where this is not 0, whole strips of so many rows need no block; it holds one then */
    ptrdiff_t first, count;
    char *data;   /* owned */
    void **plane; /* owned: where each channel's begin */
};

static enum vf_status open_block(const struct vf_stream_end *end, const struct vf_info *info, size_t rows,
                                 struct block *block, struct vf_error *error)
{
    const size_t channels = (size_t)end->window->count, bytes = end->window->plane_bytes;
    *block = (struct block){0};
    if (!end->stream->plan->by_rows || end->file != NULL)
        return VF_OK;
    /* One thread is enough for what is not compressed. */
    if (channels == 1 && info->compression == VF_COMPRESS_NONE)
        block->strip = (ptrdiff_t)rows;
    block->rows = block->strip > 0 ? block->strip : (ptrdiff_t)vf_info_rows_at_once(info, rows);
    block->data = vf_alloc((size_t)block->rows * channels, bytes, "rows", error);
    block->plane = vf_alloc(channels, sizeof *block->plane, "rows", error);
    if (block->data == NULL || block->plane == NULL)
        return VF_FAILED;
    for (size_t c = 0; c < channels; c++)
        block->plane[c] = block->data + c * (size_t)block->rows * bytes;
    return VF_OK;
}

static void close_block(struct block *block)
{
    vf_free(block->data);
    vf_free(block->plane);
}

static void *place_in(const struct vf_stream_end *end, const struct block *block, ptrdiff_t row, int channel)
{
    return (char *)block->plane[channel] + (size_t)(row - block->first) * end->window->plane_bytes;
}

static void choose_block(const struct vf_stream_end *end, struct block *block, ptrdiff_t row)
{
    const ptrdiff_t left = end->window->extent - row / block->rows * block->rows;
    block->first = row / block->rows * block->rows;
    block->count = left < block->rows ? left : block->rows;
}

/* Of at most `most` rows from `number` on: those that are whole strips and follow each other in the window.
 */
static ptrdiff_t whole_strips(const struct vf_stream_end *end, const struct block *block, ptrdiff_t number,
                              ptrdiff_t most)
{
    const ptrdiff_t row = plane_of(end, number), capacity = end->window->capacity;
    const ptrdiff_t room = capacity - vf_floor_mod(number, capacity);
    if (block->strip == 0 || row % block->strip != 0)
        return 0;
    const ptrdiff_t count = run_length(end, number, most < room ? most : room);
    return row + count == end->window->extent ? count : count - count % block->strip;
}

static enum vf_status read_strips(const struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t count,
                                  struct vf_error *error)
{
    void *const plane[] = {vf_window_place(end->window, number, 0)};
    pthread_mutex_lock(end->reading);
    const enum vf_status status =
        vf_reader_read_rows(end->stream->reader, (size_t)plane_of(end, number), (size_t)count, plane,
                            end->stream->plan->threads, error);
    pthread_mutex_unlock(end->reading);
    return status;
}

static enum vf_status write_strips(const struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t count,
                                   struct vf_error *error)
{
    const void *const plane[] = {vf_window_place(end->window, number, 0)};
    return vf_writer_write_rows(end->stream->writer, (size_t)plane_of(end, number), (size_t)count, plane,
                                end->stream->plan->threads, error);
}

static enum vf_status read_row(const struct vf_stream_end *end, ptrdiff_t number, struct block *block,
                               struct vf_error *error)
{
    const ptrdiff_t row = plane_of(end, number);
    if (row < block->first || row >= block->first + block->count) {
        choose_block(end, block, row);
        pthread_mutex_lock(end->reading);
        const enum vf_status status =
            vf_reader_read_rows(end->stream->reader, (size_t)block->first, (size_t)block->count, block->plane,
                                end->stream->plan->threads, error);
        pthread_mutex_unlock(end->reading);
        if (status != VF_OK)
            return status;
    }
    for (int c = 0; c < end->window->count; c++)
        memcpy(vf_window_place(end->window, number, c), place_in(end, block, row, c),
               end->window->plane_bytes);
    return VF_OK;
}

static enum vf_status write_row(const struct vf_stream_end *end, ptrdiff_t number, struct block *block,
                                struct vf_error *error)
{
    const ptrdiff_t row = plane_of(end, number);
    choose_block(end, block, row);
    for (int c = 0; c < end->window->count; c++)
        memcpy(place_in(end, block, row, c), vf_window_place(end->window, number, c),
               end->window->plane_bytes);
    if (row < block->first + block->count - 1)
        return VF_OK;
    return vf_writer_write_rows(end->stream->writer, (size_t)block->first, (size_t)block->count,
                                (const void *const *)block->plane, end->stream->plan->threads, error);
}

/* ---- the temporary file ---- */

static enum vf_status move_plane(const struct vf_stream_end *end, ptrdiff_t number, bool write,
                                 struct vf_error *error)
{
    const struct vf_plane_file *file = end->file;
    const uint64_t at = (uint64_t)plane_of(end, number) * file->plane_bytes;
    void *data = vf_window_place(end->window, number, 0);
    if (write ? vf_write_at(file->fd, data, file->plane_bytes, at)
              : vf_read_at(file->fd, data, file->plane_bytes, at))
        return VF_OK;
    return vf_fail(error, VF_FAILED, "the temporary file between two passes cannot be %s: %s",
                   write ? "written" : "read",
                   errno == 0 ? "it became shorter in the meantime" : vf_cause(errno));
}

/* ---- the threads ---- */

static enum vf_status read_some(struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t count, void **plane,
                                struct block *block, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    if (end->file == NULL && block->rows == 0)
        return read_image(end, number, count, plane, error);
    for (ptrdiff_t i = 0, n; i < count && status == VF_OK && !vf_interrupted; i += n) {
        const ptrdiff_t whole = whole_strips(end, block, number + i, count - i);
        n = whole > 0 ? whole : 1;
        status = whole > 0         ? read_strips(end, number + i, whole, error)
                 : block->rows > 0 ? read_row(end, number + i, block, error)
                                   : move_plane(end, number + i, false, error);
    }
    return status;
}

static enum vf_status write_some(struct vf_stream_end *end, ptrdiff_t number, ptrdiff_t count, void **plane,
                                 void *room, struct block *block, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    if (end->file == NULL && block->rows == 0)
        return write_result(end, number, count, plane, room, error);
    for (ptrdiff_t i = 0, n; i < count && status == VF_OK && !vf_interrupted; i += n) {
        const ptrdiff_t whole = whole_strips(end, block, number + i, count - i);
        n = whole > 0 ? whole : 1;
        if (whole > 0)
            status = write_strips(end, number + i, whole, error);
        else if (block->rows > 0)
            status = write_row(end, number + i, block, error);
        else if (!is_beyond(end, number + i))
            status = move_plane(end, number + i, true, error);
    }
    return status;
}

static void *read_all(void *context)
{
    struct vf_stream_end *end = context;
    const ptrdiff_t all = vf_window_span(end->window) * end->images;
    const struct vf_stream_ends *ends = &end->stream->ends;
    struct vf_error error;
    struct block block;
    enum vf_status status = open_block(end, ends->input, ends->read_block, &block, &error);
    void **plane = vf_alloc((size_t)(end->batch * end->window->count), sizeof *plane, "pages", &error);
    if (plane == NULL)
        status = VF_FAILED;
    for (ptrdiff_t number = 0, count; number < all && status == VF_OK; number += count) {
        count = all - number < end->batch ? all - number : end->batch;
        count = run_length(end, number, count);
        if (!vf_queue_wait_room(&end->queue, count))
            break;
        const double start = vf_now();
        status = read_some(end, number, count, plane, &block, &error);
        end->seconds += vf_now() - start;
        if (status == VF_OK)
            vf_queue_fill(&end->queue, count);
    }
    if (status != VF_OK)
        vf_queue_stop(&end->queue, status, &error);
    close_block(&block);
    vf_free(plane);
    return NULL;
}

static void *write_all(void *context)
{
    struct vf_stream_end *end = context;
    const bool alpha = end->file == NULL && end->stream->ends.result->has_alpha;
    const ptrdiff_t all = vf_window_span(end->window) * end->images;
    const struct vf_stream_ends *ends = &end->stream->ends;
    struct vf_error error;
    struct block block;
    enum vf_status status = open_block(end, ends->result, ends->write_block, &block, &error);
    void **plane = vf_alloc((size_t)(end->batch * end->window->count), sizeof *plane, "pages", &error);
    void *room = plane == NULL || !alpha ? NULL : vf_alloc(end->window->plane_bytes, 1, "a page", &error);
    if (plane == NULL || (alpha && room == NULL))
        status = VF_FAILED;
    for (ptrdiff_t number = 0, count; number < all && status == VF_OK; number += count) {
        if (!vf_queue_wait_filled(&end->queue, number + 1))
            break;
        count = vf_queue_filled(&end->queue) - number;
        count = run_length(end, number, count < end->batch ? count : end->batch);
        const double start = vf_now();
        status = write_some(end, number, count, plane, room, &block, &error);
        end->seconds += vf_now() - start;
        if (status == VF_OK)
            vf_queue_free_to(&end->queue, number + count);
    }
    if (status != VF_OK)
        vf_queue_stop(&end->queue, status, &error);
    close_block(&block);
    vf_free(plane);
    vf_free(room);
    return NULL;
}

static enum vf_status start(struct vf_stream_end *end, void *(*body)(void *), struct vf_error *error)
{
    vf_queue_open(&end->queue, end->window->capacity);
    const int result = vf_thread_start(&end->thread, body, end);
    end->started = result == 0;
    if (end->started)
        return VF_OK;
    vf_queue_close(&end->queue);
    return vf_fail(error, VF_FAILED, "cannot start a thread: %s", vf_cause(result));
}

enum vf_status vf_stream_start_reading(struct vf_stream_end *end, struct vf_error *error)
{
    return start(end, read_all, error);
}

enum vf_status vf_stream_start_writing(struct vf_stream_end *end, struct vf_error *error)
{
    return start(end, write_all, error);
}

void vf_stream_end_join(struct vf_stream_end *end)
{
    if (!end->started)
        return;
    vf_queue_stop(&end->queue, VF_OK, NULL);
    pthread_join(end->thread, NULL);
    vf_queue_close(&end->queue);
    end->started = false;
}
