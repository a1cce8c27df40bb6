/* A code point's bytes are told from what is none. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

#include "utf8.h"

/* The bytes of a code point from 0x80 on; how many. */
static int encode(unsigned point, unsigned char bytes[4])
{
    const int length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, point >>= 6)
        bytes[i] = (unsigned char)(0x80 | (point & 0x3f));
    bytes[0] = (unsigned char)((0xf00 >> length) | point);
    return length;
}

/* Any two bytes, then such as are at the ends of what may follow: taken are those that a code point has. */
Test(utf8, exactly_the_code_points)
{
    static const unsigned char ends[] = {0, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    char *begins = calloc(1 << 16, 1); /* [two bytes]: how many there are of a code point that begins so */
    for (unsigned point = 0x80; point < 0x110000; point++) {
        unsigned char bytes[4];
        const int length = encode(point, bytes);
        if (point < 0xd800 || point > 0xdfff)
            begins[bytes[0] << 8 | bytes[1]] = (char)length;
    }
    for (unsigned two = 0x8000; two < 0x10000; two++)
        for (size_t i = 0; i < sizeof ends * sizeof ends; i++) {
            const unsigned char third = ends[i / sizeof ends], last = ends[i % sizeof ends];
            const unsigned char text[] = {(unsigned char)(two >> 8), (unsigned char)two, third, last, 0};
            const int length = begins[two];
            const bool is_cut =
                (length > 2 && (third & 0xc0) != 0x80) || (length > 3 && (last & 0xc0) != 0x80);
            cr_assert_eq(vf_utf8_length(text), is_cut ? 0 : length, "%04x %02x %02x", two, third, last);
        }
    free(begins);
}
