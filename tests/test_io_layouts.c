/* Layouts that libtiff does not decode, and some that are rare: packed bits, 16-bit floats, stage positions,
 * strips in any order. */
#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

#include "half.h"
#include "io_samples.h"

TestSuite(io_layouts, .init = samples_begin, .fini = samples_end);

enum { NX = 7, NY = 19, PAGES = 2 };

/* A sample of the test's files, cut to its bits; a half for 16. */
static uint16_t bits_at(unsigned bits, size_t page, size_t sample, size_t y, size_t x)
{
    const unsigned value = (unsigned)(page * 977 + sample * 331 + y * 57 + x * 13 + 5) * 40503u >> 3;
    return (uint16_t)(bits == 16 ? vf_half_from_float((float)(value % 4096) / 8 - 100)
                                 : value & ((1u << bits) - 1));
}

struct packed {
    unsigned bits, samples;
    bool separate, tiled, big_endian;
    uint16_t scheme, predictor;
};

/* One row of a strip or tile, from its highest bit on; 16-bit samples are the machine's. */
static size_t pack_row(unsigned char *to, const struct packed *s, size_t page, size_t y, size_t x0, size_t nx,
                       unsigned first, unsigned last)
{
    size_t at = 0;
    memset(to, 0, (nx * (last - first + 1) * s->bits + 7) / 8);
    for (size_t x = x0; x < x0 + nx; x++)
        for (unsigned k = first; k <= last; k++) {
            const uint16_t value = bits_at(s->bits, page, k, y, x);
            if (s->bits == 16)
                memcpy(to + at / 8, &value, 2);
            for (unsigned b = 0; b < s->bits && s->bits != 16; b++)
                if (value >> (s->bits - 1 - b) & 1)
                    to[(at + b) / 8] |= (unsigned char)(0x80 >> ((at + b) % 8));
            at += s->bits;
        }
    return (at + 7) / 8;
}

static void write_blocks(TIFF *tif, const struct packed *s, size_t page)
{
    static unsigned char block[16 * 16 * 4 * 2];
    const size_t step_x = s->tiled ? 16 : NX, step_y = s->tiled ? 16 : 5;
    uint32_t index = 0;
    for (unsigned k = 0; k < (s->separate ? s->samples : 1); k++)
        for (size_t y = 0; y < NY; y += step_y)
            for (size_t x = 0; x < NX; x += step_x, index++) {
                size_t bytes = 0;
                for (size_t row = y; row < y + step_y && (s->tiled || row < NY); row++)
                    bytes +=
                        pack_row(block + bytes, s, page, row, x, step_x, k, s->separate ? k : s->samples - 1);
                const tmsize_t wanted = (tmsize_t)bytes;
                cr_assert_eq(s->tiled ? TIFFWriteEncodedTile(tif, index, block, wanted)
                                      : TIFFWriteEncodedStrip(tif, index, block, wanted),
                             wanted);
            }
}

static void write_packed(const struct packed *s)
{
    TIFF *tif = TIFFOpen(sample_path("in.tif"), s->big_endian ? "wb" : "wl");
    for (size_t page = 0; page < PAGES; page++) {
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, NX);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, NY);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, s->bits);
        TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, s->samples);
        TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, s->bits == 16 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, s->samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tif, TIFFTAG_PLANARCONFIG, s->separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
        TIFFSetField(tif, TIFFTAG_COMPRESSION, s->scheme);
        if (s->predictor != 0)
            TIFFSetField(tif, TIFFTAG_PREDICTOR, s->predictor);
        if (s->tiled) {
            TIFFSetField(tif, TIFFTAG_TILEWIDTH, 16);
            TIFFSetField(tif, TIFFTAG_TILELENGTH, 16);
        } else {
            TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 5);
        }
        write_blocks(tif, s, page);
        cr_assert(TIFFWriteDirectory(tif));
    }
    TIFFClose(tif);
}

static void check_packed(const struct packed *s)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    sample_read(sample_path("in.tif"), &reader, &volume);
    cr_assert_eq(volume.type, s->bits == 16 ? VF_F32 : VF_U16);
    cr_assert_eq(vf_reader_info(reader)->packed_bits, s->bits);
    for (size_t page = 0; page < PAGES; page++)
        for (size_t k = 0; k < s->samples; k++)
            for (size_t i = 0; i < (size_t)NX * NY; i++) {
                const uint16_t stored = bits_at(s->bits, page, k, i / NX, i % NX);
                const void *plane = vf_volume_plane(&volume, 0, k, page);
                const double value =
                    s->bits == 16 ? (double)((const float *)plane)[i] : ((const uint16_t *)plane)[i];
                cr_assert_eq(value, s->bits == 16 ? (double)vf_half_to_float(stored) : stored,
                             "%u bits, %u samples, page %zu sample %zu pixel %zu: %g", s->bits, s->samples,
                             page, k, i, value);
            }
    sample_close(reader, &volume);
}

Test(io_layouts, packed_bits)
{
    static const uint16_t schemes[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE};
    for (unsigned bits = 9; bits <= 16; bits++)
        for (int k = 0; k < 48; k++) {
            const struct packed s = {.bits = bits,
                                     .samples = k & 1 ? 3 : 1,
                                     .separate = (k & 2) != 0,
                                     .tiled = (k & 4) != 0,
                                     .big_endian = (k & 8) != 0,
                                     .scheme = schemes[k / 16],
                                     .predictor =
                                         bits == 16 && k >= 16 && !(k & 8) ? PREDICTOR_FLOATINGPOINT : 0};
            write_packed(&s);
            check_packed(&s);
        }
}

/* A copy has whole words; the warning says so. */
Test(io_layouts, packed_bits_become_words)
{
    struct vf_reader *reader;
    struct vf_error error;
    write_packed(&(struct packed){.bits = 12, .samples = 1, .scheme = COMPRESSION_NONE});
    sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    cr_assert_eq(vf_reader_open(&reader, sample_path("out.tif"), &error), VF_OK);
    cr_assert(vf_reader_info(reader)->type == VF_U16 && vf_reader_info(reader)->packed_bits == 0);
    vf_reader_close(reader);
    const char *lost = sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_U16, 1);
    cr_assert(strstr(lost, "12 bits"), "%s", lost);
}

/* As the standard has it, and as MetaMorph does. */
static const char *const times[] = {"2020:02:29 12:34:56", "2020:02:29 12:35:56", "20200229 12:36:56.789",
                                    "2020:02:29 12:37:56"};

static void set_positions(TIFF *tif, uint32_t page)
{
    TIFFSetField(tif, TIFFTAG_XPOSITION, 10.5 + page);
    TIFFSetField(tif, TIFFTAG_YPOSITION, 0.25 * page);
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, 100.0);
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, 100.0);
    TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
    TIFFSetField(tif, TIFFTAG_DATETIME, times[page]);
}

/* Where the stage was, and when: each page of the result has that of its input. */
Test(io_layouts, stage_positions)
{
    for (int imagej = 0; imagej < 2; imagej++) {
        struct vf_reader *reader;
        struct vf_info result;
        struct vf_error error;
        float x, y;
        const char *time;
        tiff_sample_write(
            sample_path("in.tif"),
            &(struct tiff_sample){
                .type = VF_U8,
                .nx = 4,
                .ny = 4,
                .pages = 4,
                .description = imagej ? "ImageJ=1.53t\nimages=4\nchannels=2\nslices=2\nunit=micron\n" : NULL,
                .more = set_positions});
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
        vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, VF_F32, 3, &result);
        sample_write_zeros(sample_path("out.tif"), &result);
        vf_reader_close(reader);
        cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 3), "");
        cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_MRC, VF_F32, 1),
                         "DateTime, positions of pages");
        TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
        for (uint32_t page = 0; page < (imagej ? 12u : 4u); page++) {
            const uint32_t from = imagej ? page / 3 : page;
            cr_assert(TIFFSetDirectory(tif, (tdir_t)page));
            cr_assert(TIFFGetField(tif, TIFFTAG_XPOSITION, &x) && x == 10.5f + (float)from, "page %u", page);
            cr_assert(TIFFGetField(tif, TIFFTAG_YPOSITION, &y) && y == 0.25f * (float)from, "page %u", page);
            cr_assert(TIFFGetField(tif, TIFFTAG_DATETIME, &time) && strcmp(time, times[from]) == 0,
                      "page %u: %s", page, time);
        }
        TIFFClose(tif);
    }
}

static void set_compression(TIFF *tif, uint32_t page)
{
    static const uint16_t schemes[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                       COMPRESSION_PACKBITS};
    TIFFSetField(tif, TIFFTAG_COMPRESSION, schemes[page % 4]);
}

/* Every page has its own. */
Test(io_layouts, compression_of_each_page)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){
            .type = VF_U16, .nx = 20, .ny = 11, .pages = 8, .rows = 3, .more = set_compression});
    sample_read(sample_path("in.tif"), &reader, &volume);
    sample_check_pages(&volume, 8, 1);
    sample_close(reader, &volume);
}

/* MetaMorph: the count of one tag is the number of planes. */
Test(io_layouts, metamorph)
{
    enum { ENTRIES = 9, PLANES = 3 };
    const size_t at = TIFF_RAW_DATA(ENTRIES);
    unsigned char data[8 * PLANES + 16 * PLANES] = {0};
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_SHORT, 1, 4},
        {TIFFTAG_IMAGELENGTH, TIFF_SHORT, 1, 4},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, PHOTOMETRIC_MINISBLACK},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, (uint32_t)at + 8 * PLANES},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1},
        {TIFFTAG_ROWSPERSTRIP, TIFF_SHORT, 1, 4},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 16},
        {33629, TIFF_RATIONAL, PLANES, (uint32_t)at},
    };
    struct vf_reader *reader;
    struct vf_volume volume;
    for (unsigned i = 0; i < 16 * PLANES; i++)
        data[8 * PLANES + i] = (unsigned char)i;
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, data, sizeof data);
    sample_read(sample_path("in.tif"), &reader, &volume);
    cr_assert_eq(vf_reader_info(reader)->shape.nz, PLANES);
    cr_assert_eq(((uint8_t *)volume.data)[16 * PLANES - 1], 16 * PLANES - 1);
    sample_close(reader, &volume);
}

enum { WIDE = 200, HIGH = 33 };

/* 33 rows of 7s, `samples` a pixel, in strips of 32; strip number `full` holds a row's 7s again and again. */
static void write_overfull(uint16_t samples, uint32_t full)
{
    enum { ROWS = 32, MOST = WIDE * ROWS * 3 * 2 };
    static unsigned char pixels[MOST], packed[MOST];
    TIFF *tif = TIFFOpen(sample_path("in.tif"), "w");
    memset(pixels, 7, sizeof pixels);
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, WIDE);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, HIGH);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, ROWS);
    for (uint32_t strip = 0; strip < 2; strip++) {
        const size_t rows = (strip == 0 ? ROWS : HIGH - ROWS) + (strip == full ? ROWS - 1 : 0);
        uLongf bytes = sizeof packed;
        cr_assert_eq(compress(packed, &bytes, pixels, WIDE * samples * rows), Z_OK);
        cr_assert_eq(TIFFWriteRawStrip(tif, strip, packed, (tmsize_t)bytes), (tmsize_t)bytes);
    }
    TIFFClose(tif);
}

/* How many elements of the file's only page are 7, after it was read to where only 99s were. */
static size_t count_sevens(void)
{
    static unsigned char plane[3][WIDE * HIGH];
    void *const planes[] = {plane[0], plane[1], plane[2]};
    struct vf_reader *reader;
    struct vf_error error;
    size_t count = 0;
    memset(plane, 99, sizeof plane);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_reader_read_pages(reader, 0, 1, planes, 1, &error), VF_OK, "%s", error.text);
    vf_reader_close(reader);
    for (size_t i = 0; i < sizeof plane; i++)
        count += plane[i / (WIDE * HIGH)][i % (WIDE * HIGH)] == 7;
    return count;
}

/* Some writers' last strip has as many rows as the others. */
Test(io_layouts, last_strip_filled_up)
{
    write_overfull(1, 1);
    cr_assert_eq(count_sevens(), WIDE * HIGH);
    write_overfull(3, 1);
    cr_assert_eq(count_sevens(), 3 * WIDE * HIGH);
}

/* Another that holds more than it should is read as well, if its checksum is right. */
Test(io_layouts, strip_that_holds_too_much)
{
    write_overfull(1, 0);
    cr_assert_eq(count_sevens(), WIDE * HIGH);
}

/* So is an only strip of which the image has the first rows. */
Test(io_layouts, image_lower_than_its_strip)
{
    enum { WIDTH = 3000, HEIGHT = 2, ROWS = 64, ENTRIES = 9 };
    static unsigned char pixels[WIDTH * ROWS], packed[WIDTH * ROWS], plane[WIDTH * HEIGHT];
    void *const planes[] = {plane};
    struct vf_reader *reader;
    struct vf_error error;
    uLongf bytes = sizeof packed;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(i * i >> 8);
    cr_assert_eq(compress(packed, &bytes, pixels, sizeof pixels), Z_OK);
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_SHORT, 1, WIDTH},
        {TIFFTAG_IMAGELENGTH, TIFF_SHORT, 1, HEIGHT},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},
        {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_ADOBE_DEFLATE},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, PHOTOMETRIC_MINISBLACK},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, TIFF_RAW_DATA(ENTRIES)},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1},
        {TIFFTAG_ROWSPERSTRIP, TIFF_SHORT, 1, ROWS},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, (uint32_t)bytes},
    };
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, packed, bytes);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_reader_read_pages(reader, 0, 1, planes, 1, &error), VF_OK, "%s", error.text);
    vf_reader_close(reader);
    cr_assert_arr_eq(plane, pixels, sizeof plane);
}

/* What is uncompressed is read in one piece only where its strips follow each other. */
Test(io_layouts, strips_in_any_order)
{
    enum { SIDE = 8, ROWS = 2, STRIPS = SIDE / ROWS };
    unsigned char pixels[SIDE * SIDE], plane[SIDE * SIDE];
    void *const planes[] = {plane};
    struct vf_reader *reader;
    struct vf_error error;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)i;
    for (uint32_t first = 0; first < STRIPS; first++) {
        TIFF *tif = TIFFOpen(sample_path("in.tif"), "w");
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, SIDE);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, SIDE);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, ROWS);
        for (uint32_t i = 0; i < STRIPS; i++) {
            const uint32_t strip = (first + i) % STRIPS;
            cr_assert_eq(TIFFWriteRawStrip(tif, strip, pixels + strip * ROWS * SIDE, ROWS * SIDE),
                         ROWS * SIDE);
        }
        TIFFClose(tif);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
        cr_assert_eq(vf_reader_read_pages(reader, 0, 1, planes, 1, &error), VF_OK, "%s", error.text);
        vf_reader_close(reader);
        cr_assert_arr_eq(plane, pixels, sizeof pixels);
    }
}

static size_t bytes_to_read(const struct tiff_sample *sample, int threads)
{
    struct vf_reader *reader;
    struct vf_error error;
    tiff_sample_write(sample_path("in.tif"), sample);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    const size_t bytes = vf_reader_bytes(reader, threads);
    vf_reader_close(reader);
    return bytes;
}

/* Tiles, and what is compressed, pass through a buffer of each thread that has one to decode; of libtiff's
 * tables one is there anyway. More strips than there are need no encoders. */
Test(io_layouts, what_reading_and_writing_take)
{
    struct tiff_sample s = {.type = VF_U16, .nx = 100, .ny = 60, .pages = 2, .rows = 30};
    struct vf_info result = {
        .type = VF_U16, .shape = {100, 60, 2, 1, 1}, .page_channels = 1, .page_count = 2};
    cr_expect_eq(bytes_to_read(&s, 3), 0);
    s.scheme = COMPRESSION_LZW;
    const size_t strip = bytes_to_read(&s, 1);
    cr_expect(strip > 100 && strip < 2 * 100 * 30 * 2, "%zu", strip);
    const size_t tables = bytes_to_read(&s, 2) - 2 * strip;
    cr_expect(tables > 0 && tables < 1000, "%zu", tables);
    cr_expect_eq(bytes_to_read(&s, 3), 3 * strip + 2 * tables);
    cr_expect_eq(bytes_to_read(&s, 99), 4 * strip + 3 * tables);
    s.scheme = 0;
    s.rows = 32;
    s.tile_nx = 64;
    s.tiled = true;
    cr_expect_eq(bytes_to_read(&s, 1), 64 * 32 * 2);
    cr_expect_gt(bytes_to_read(&s, 3), 3 * 64 * 32 * 2 + 2 * tables, "of four tiles, not two strips");
    cr_expect_lt(bytes_to_read(&s, 3), 3 * 64 * 32 * 2 + 4 * tables);
    s = (struct tiff_sample){.type = VF_U16, .nx = 100, .ny = 60, .samples = 3};
    cr_expect_eq(bytes_to_read(&s, 3), 3 * 100 * 60 * 3 * 2, "a block of pixels each");
    cr_expect_eq(vf_writer_bytes(VF_FORMAT_TIFF, &result, 3), 0);
    result.compression = VF_COMPRESS_DEFLATE;
    const size_t encoder = vf_writer_bytes(VF_FORMAT_TIFF, &result, 1);
    cr_expect(encoder > 100 * 60 * 2);
    cr_expect_eq(vf_writer_bytes(VF_FORMAT_TIFF, &result, 3), vf_writer_bytes(VF_FORMAT_TIFF, &result, 2));
    cr_expect_lt(vf_writer_bytes(VF_FORMAT_TIFF, &result, 2), 2 * encoder);
}
