/* Rows are filtered as libpng filters them. */
#include <criterion/criterion.h>
#include <png.h>
#include <string.h>
#include <zlib.h>

#include "png_filter.h"
#include "random.h"

enum { ROWS = 12, MOST_COLUMNS = 70, MOST_PIXEL = 8, MOST_BYTES = MOST_COLUMNS * MOST_PIXEL };

static unsigned char file[1 << 17];
static size_t file_bytes;

static void on_write(png_structp png, png_bytep data, size_t bytes)
{
    (void)png;
    cr_assert(bytes <= sizeof file - file_bytes);
    memcpy(file + file_bytes, data, bytes);
    file_bytes += bytes;
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* What libpng compresses of the rows, `bytes` each: the filters' numbers and differences. */
static void filter_by_libpng(unsigned char rows[ROWS][MOST_BYTES], int columns, int bits, int colour,
                             size_t bytes, unsigned char *filtered)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    uLongf room = ROWS * (1 + bytes);
    file_bytes = 0;
    png_set_write_fn(png, NULL, on_write, on_flush);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
    png_set_IHDR(png, info, (png_uint_32)columns, ROWS, bits, colour, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    png_write_info(png, info);
    for (int y = 0; y < ROWS; y++)
        png_write_row(png, rows[y]);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    const unsigned char *data = memmem(file, file_bytes, "IDAT", 4);
    cr_assert_not_null(data);
    cr_assert_eq(uncompress(filtered, &room, data + 4, png_get_uint_32(data - 4)), Z_OK);
    cr_assert_eq(room, ROWS * (1 + bytes));
}

/* Noise on slopes of several steepnesses, for which filters differ. */
static void fill(unsigned char rows[ROWS][MOST_BYTES], size_t bytes, size_t pixel)
{
    const unsigned along = (unsigned)(random_bits() % 7), down = (unsigned)(random_bits() % 7),
                   noise = (unsigned)(random_bits() % 5 * 20 + 1);
    for (size_t y = 0; y < ROWS; y++)
        for (size_t i = 0; i < bytes; i++)
            rows[y][i] = (unsigned char)(i / pixel * along + y * down + random_bits() % noise);
}

Test(png_filter, as_libpng)
{
    static const struct {
        int bits, colour;
        size_t pixel;
    } kinds[] = {{8, PNG_COLOR_TYPE_GRAY, 1},      {16, PNG_COLOR_TYPE_GRAY, 2},
                 {8, PNG_COLOR_TYPE_RGB, 3},       {16, PNG_COLOR_TYPE_RGB, 6},
                 {8, PNG_COLOR_TYPE_RGB_ALPHA, 4}, {16, PNG_COLOR_TYPE_RGB_ALPHA, 8}};
    static unsigned char rows[ROWS][MOST_BYTES], expected[ROWS * (1 + MOST_BYTES)];
    unsigned used = 0;
    for (int n = 0; n < 300; n++) {
        const size_t kind = (size_t)n % (sizeof kinds / sizeof *kinds), pixel = kinds[kind].pixel;
        const int columns = 2 + (int)(random_bits() % (MOST_COLUMNS - 1));
        const size_t bytes = (size_t)columns * pixel;
        unsigned char line[2][MOST_PIXEL + MOST_BYTES] = {{0}}, trial[MOST_BYTES], to[1 + MOST_BYTES];
        fill(rows, bytes, pixel);
        filter_by_libpng(rows, columns, kinds[kind].bits, kinds[kind].colour, bytes, expected);
        for (size_t y = 0; y < ROWS; y++) {
            memcpy(line[y % 2] + MOST_PIXEL, rows[y], bytes);
            vf_png_filter(line[y % 2] + MOST_PIXEL, line[(y + 1) % 2] + MOST_PIXEL, bytes, pixel, trial, to);
            cr_assert(memcmp(to, expected + y * (1 + bytes), 1 + bytes) == 0, "image %d, row %zu: %d for %d",
                      n, y, to[0], expected[y * (1 + bytes)]);
            used |= 1u << to[0];
        }
    }
    cr_assert_eq(used, 0x1f, "filters %x", used);
}
