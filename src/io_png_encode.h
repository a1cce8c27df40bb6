/* Inside the PNG module only: an image's data compressed by several threads, which filter bands of rows
 * (png_filter.h) and compress them by zlib. The bands follow each other in one stream. What comes of it does
 * not depend on the number of threads. */
#ifndef VF_IO_PNG_ENCODE_H
#define VF_IO_PNG_ENCODE_H

#include "io_codec.h"

/* Takes what is next in the image's IDAT chunks. */
typedef bool vf_png_take(void *context, const unsigned char *data, size_t bytes);

/* Compresses the writer's only page and hands it on in order. A failure without a message (error->text is "")
 * is that of `take`. */
enum vf_status vf_png_encode(const struct vf_writer *writer, const void *const planes[], int threads,
                             vf_png_take *take, void *context, struct vf_error *error);

/* Bytes that it takes meanwhile. */
size_t vf_png_encode_bytes(const struct vf_info *info, int threads);

#endif
