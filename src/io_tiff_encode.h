/* Inside the writing half of the TIFF modules only: strips compressed by several threads. Each thread has
 * libtiff write them into a file that there is not, and the bytes are taken from there: what a reader sees is
 * what libtiff would have written by itself, whatever the number of threads. */
#ifndef VF_IO_TIFF_ENCODE_H
#define VF_IO_TIFF_ENCODE_H

#include "io_tiff.h"

struct vf_tiff_encoders;

/* A compressed strip. */
struct vf_tiff_strip {
    void *data;
    size_t bytes;
};

/* Sets all that the codec must know for pages of `height` rows. */
typedef bool vf_tiff_set_pixels(const struct vf_writer *writer, TIFF *tif, uint32_t height,
                                uint32_t strip_rows);

/* Takes strips `from` to from + count - 1, counted from the first strip of page `first`. */
typedef bool vf_tiff_take_strips(struct vf_writer *writer, size_t first, const struct vf_tiff_strip *strip,
                                 size_t from, size_t count);

/* Bytes of a row of a page. */
static inline size_t vf_tiff_row_bytes(const struct vf_info *info)
{
    return info->shape.nx * info->page_channels * vf_type_size(info->type);
}

/* How many strips of `rows` rows a page has. */
static inline size_t vf_tiff_page_strips(const struct vf_info *info, size_t rows)
{
    return (info->shape.ny + rows - 1) / rows;
}

/* What the encoders of `threads` threads hold, for `strips` of `strip_bytes` in all. */
size_t vf_tiff_encoders_bytes(const struct vf_tiff_codec *codec, size_t strip_bytes, size_t strips,
                              int threads);

/* `mode` is the file's. NULL with a message; the writer is borrowed and must stay where it is. */
struct vf_tiff_encoders *vf_tiff_encoders_open(struct vf_writer *writer, vf_tiff_set_pixels *set_pixels,
                                               uint32_t strip_rows, const char *mode, struct vf_error *error);
void vf_tiff_encoders_close(struct vf_tiff_encoders *encoders); /* NULL is allowed */

/* Compresses pages (planes as for vf_reader_read_pages) and hands their strips on in order, on up to
 * `threads` threads, but no more than the first call was given. A failure without a message (error->text is
 * "") is that of `take`. */
enum vf_status vf_tiff_encode_pages(struct vf_tiff_encoders *encoders, size_t first, size_t count,
                                    const void *const planes[], int threads, vf_tiff_take_strips *take,
                                    struct vf_error *error);

/* The same of rows y to y + count - 1 of the only page, whole strips or up to its end; planes begin there. */
enum vf_status vf_tiff_encode_rows(struct vf_tiff_encoders *encoders, size_t y, size_t count,
                                   const void *const planes[], int threads, vf_tiff_take_strips *take,
                                   struct vf_error *error);

#endif
