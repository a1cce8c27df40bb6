/* Inside the PNG module only: an image's data compressed by several threads. libpng filters a band of rows
 * into a file in memory, zlib compresses what it wrote there, and the bands of compressed data follow
 * each other in one stream. What comes of it does not depend on the number of threads. */
#ifndef VF_IO_PNG_ENCODE_H
#define VF_IO_PNG_ENCODE_H

#include <png.h>

#include "io_codec.h"

/* Takes what is next in the image's IDAT chunks. */
typedef bool vf_png_take(void *context, const unsigned char *data, size_t bytes);

/* What the image's header says of pixels: bits a sample, and the colour type. */
struct vf_png_header {
    int bits, colour;
};

/* Compresses the writer's only page and hands it on in order. A failure without a message (error->text is "")
 * is that of `take`. */
enum vf_status vf_png_encode(const struct vf_writer *writer, const struct vf_png_header *header,
                             const void *const planes[], int threads, vf_png_take *take, void *context,
                             struct vf_error *error);

/* Bytes that it takes meanwhile. */
size_t vf_png_encode_bytes(const struct vf_info *info, int threads);

/* For libpng's ..._struct_2 functions. The error pointer is the start of VF_PNG_MESSAGE bytes, which get what
 * went wrong before the jump; warnings are passed over. The memory pointer is that of the bytes that may
 * still be asked for, size_t, or NULL for any: more is an error. */
enum { VF_PNG_MESSAGE = 200 };
void vf_png_on_error(png_structp png, png_const_charp message);
void vf_png_on_warning(png_structp png, png_const_charp message);
png_voidp vf_png_alloc(png_structp png, png_alloc_size_t bytes);
void vf_png_release(png_structp png, png_voidp block);

#endif
