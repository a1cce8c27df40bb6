/* Inside the PNG module only: what a PNG says besides its pixels, from its chunks to tags and back. libpng
 * jumps out of these functions when it has no memory, so that those that write are called where that is
 * caught. */
#ifndef VF_IO_PNG_TAGS_H
#define VF_IO_PNG_TAGS_H

#include <png.h>
#include <stdio.h>
#include <sys/types.h>

#include "io_codec.h"

/* What stands before the image goes to info->tags, all but the texts. */
enum vf_status vf_png_take_tags(png_structp png, png_infop stored, struct vf_info *info,
                                struct vf_error *error);

/* How many texts a file has, and where what follows the image begins, if there are any; else 0. */
struct vf_png_texts {
    int count;
    off_t behind;
};

/* Notes the chunks that are neither read nor kept, wherever in the file they are, but counts the texts;
 * `stored` is what libpng has read before the image. */
enum vf_status vf_png_note_chunks(FILE *file, png_structp png, png_infop stored, struct vf_info *info,
                                  struct vf_png_texts *texts, struct vf_error *error);

/* The texts that libpng has read go to tags, and are taken off *count. */
enum vf_status vf_png_take_texts(png_structp png, png_infop stored, struct vf_tags *tags, int *count,
                                 struct vf_error *error);

/* What a result keeps of its input's tags. */
void vf_png_put_tags(png_structp png, png_infop stored, const struct vf_info *result);

#endif
