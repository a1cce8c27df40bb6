/* PNG's filters, by which a row becomes differences from its neighbours that compress better.
 * Source: W3C, Portable Network Graphics (third edition), sections 9.2 and 12.7. */
#ifndef VF_PNG_FILTER_H
#define VF_PNG_FILTER_H

#include <stddef.h>

/* Filters a row of `bytes` bytes by the filter whose differences, taken as signed bytes, have the least sum
 * of magnitudes; the first of those that have. `to` gets the filter's number and the differences, 1 + bytes.
 * `above` is the row before, zeros if there is none. Both have `pixel` zero bytes before them, as many as a
 * pixel. `trial` is room for `bytes`. */
void vf_png_filter(const unsigned char *row, const unsigned char *above, size_t bytes, size_t pixel,
                   unsigned char *trial, unsigned char *to);

#endif
