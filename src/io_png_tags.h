/* Inside the PNG module only: what a PNG says besides its pixels, from its chunks to tags and back. libpng
 * jumps out of these functions when it has no memory, so that those that write are called where that is
 * caught. */
#ifndef VF_IO_PNG_TAGS_H
#define VF_IO_PNG_TAGS_H

#include <png.h>

#include "io_codec.h"

/* What stands before the image goes to info->tags; texts may stand behind it too. */
enum vf_status vf_png_take_tags(png_structp png, png_infop stored, struct vf_info *info,
                                struct vf_error *error);
enum vf_status vf_png_take_texts(png_structp png, png_infop stored, struct vf_tags *tags,
                                 struct vf_error *error);

/* Notes the chunks that are neither read nor kept, wherever in the file they are; `stored` is what libpng has
 * read before the image. */
enum vf_status vf_png_note_chunks(const struct vf_reader *reader, png_structp png, png_infop stored,
                                  struct vf_info *info, struct vf_error *error);

/* What a result keeps of its input's tags. */
void vf_png_put_tags(png_structp png, png_infop stored, const struct vf_info *result);

#endif
