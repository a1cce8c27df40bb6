#include "png_filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vector_clones.h"

/* The one of its neighbours that is nearest to their plane. */
static inline int paeth(int left, int above, int corner)
{
    const int to_left = abs(above - corner), to_above = abs(left - corner),
              to_corner = abs(left + above - 2 * corner);
    return to_left <= to_above && to_left <= to_corner ? left : to_above <= to_corner ? above : corner;
}

#define FILTER(name, prediction)                                                                           \
    VF_VECTOR_CLONES                                                                                       \
    static void name(const unsigned char *restrict row, const unsigned char *restrict above, size_t bytes, \
                     size_t pixel, unsigned char *restrict to)                                             \
    {                                                                                                      \
        const unsigned char *const before = row - pixel, *const corner = above - pixel;                    \
        (void)before;                                                                                      \
        (void)corner;                                                                                      \
        for (size_t i = 0; i < bytes; i++)                                                                 \
            to[i] = (unsigned char)(row[i] - (prediction));                                                \
    }
FILTER(none, 0)
FILTER(sub, before[i])
FILTER(up, above[i])
FILTER(average, (before[i] + above[i]) / 2)
FILTER(nearest, paeth(before[i], above[i], corner[i]))

/* In pieces whose sums 32 bits hold. */
VF_VECTOR_CLONES
static size_t cost_of(const unsigned char *differences, size_t bytes)
{
    enum { PIECE = 1 << 16 };
    size_t cost = 0;
    for (size_t begin = 0; begin < bytes; begin += PIECE) {
        const size_t end = bytes - begin < PIECE ? bytes : begin + PIECE;
        unsigned sum = 0;
        for (size_t i = begin; i < end; i++)
            sum += differences[i] < 128 ? differences[i] : 256u - differences[i];
        cost += sum;
    }
    return cost;
}

void vf_png_filter(const unsigned char *row, const unsigned char *above, size_t bytes, size_t pixel,
                   unsigned char *trial, unsigned char *to)
{
    static void (*const filters[])(const unsigned char *row, const unsigned char *above, size_t bytes,
                                   size_t pixel, unsigned char *to) = {none, sub, up, average, nearest};
    size_t least = SIZE_MAX;
    for (size_t n = 0; n < sizeof filters / sizeof *filters; n++) {
        filters[n](row, above, bytes, pixel, trial);
        const size_t cost = cost_of(trial, bytes);
        if (cost >= least)
            continue;
        least = cost;
        to[0] = (unsigned char)n;
        memcpy(to + 1, trial, bytes);
    }
}
