/* ImageJ's ImageDescription: lines of key=value that say what the pages of a TIFF are.
 * Source: ij/io/TiffDecoder.java, TiffEncoder.java and FileSaver.getDescriptionString of ImageJ 1.5x;
 * SCIFIO's TIFFFormat.java, whose description adds axes, lengths, scales and units. */
#ifndef VF_IMAGEJ_H
#define VF_IMAGEJ_H

#include "io.h"

struct vf_imagej {
    size_t images, channels, slices, frames; /* 0 where not said */
    double spacing;                          /* of planes, in the unit of z; 0 where not said */
    bool numbers_colours;                    /* 8-bit Color: values are places in a table */
    bool omits_one;   /* ImageJ wrote it, which leaves out the spacing of planes that are 1 unit apart */
    char unit[3][16]; /* x, y, z as written, "" where not said */
    char order[4];    /* of the pages, the fastest first: "czt" unless said */
    char axes[8];     /* of SCIFIO: their first letters, "" where not said */
    double width[2];  /* of SCIFIO: of pixels along x and y, in `unit`; else 0 */
};

/* Whether the description (NULL is allowed) is ImageJ's, or that of SCIFIO, which ImageJ2 writes files by. */
bool vf_imagej_is(const char *description);

/* False when it is not. */
bool vf_imagej_parse(const char *description, struct vf_imagej *imagej);

/* Whether it says what the numbers stand for, such as those of 16-bit images with a sign, by 32768 too large.
 * Allows NULL. */
bool vf_imagej_is_calibrated(const char *description);

/* Whether it says how much time there is between frames. Allows NULL. */
bool vf_imagej_has_interval(const char *description);

/* Fills in channels, slices, frames of `pages` pages of page_channels samples. Where the counts do not agree
 * with the pages, the slowest axis is as long as these make it, with a note; where they are no whole number
 * of the others, more pages are planes along z, and fewer an error. */
enum vf_status vf_imagej_set_shape(const struct vf_imagej *imagej, size_t pages, struct vf_info *info,
                                   struct vf_error *error);

/* Fills in spacing and unit. `resolution` (pixels in one unit; NULL: not said) is of x and y;
 * `resolution_unit` is the TIFF tag's and counts where the description names no unit. */
void vf_imagej_set_spacing(const struct vf_imagej *imagej, const double resolution[2],
                           unsigned resolution_unit, struct vf_info *info);

/* The description for a result: the input's lines, with counts and spacing brought up to date, and without
 * what is said of numbers where the result has others. Free with vf_free. */
char *vf_imagej_describe(const char *description, const struct vf_info *result, struct vf_error *error);

#endif
