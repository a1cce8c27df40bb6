/* PNG files written by libpng directly. */
#ifndef VF_PNG_SAMPLE_H
#define VF_PNG_SAMPLE_H

#include <png.h>
#include <stdbool.h>

struct png_sample {
    int colour, bits;
    bool interlaced, transparent, tags, exif, animated;
    bool own_chunks;
    double scale[2];                                             /* x, y of a pixel, in metres */
    enum { UNKNOWN, CHROMATICITIES, STANDARD, PROFILE } meaning; /* of the colours */
    png_textp texts;                                             /* besides those of `tags` */
    int text_count;
    png_uint_32 nx, ny;
};

/* Colours of a pixel, alpha included. */
unsigned png_sample_channels(int colour);

/* The profile and the chromaticities of samples that have them. */
enum { PROFILE_BYTES = 132 };
void png_sample_profile(unsigned char profile[PROFILE_BYTES]);
extern const double png_sample_chromaticities[8];

/* 16-bit samples are big-endian in the file; below 8 bits each byte is made of the sample at its first pixel.
 */
void png_sample_write(const char *path, const struct png_sample *s);

#endif
