/* Small files whose directories or data are shared, overlap or are many: what would take much memory or time
 * is refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_sharing, .init = samples_begin, .fini = samples_end);

/* `pages` directories that are alike, and then the data that all of them name, or each page's own: the entry
 * for the offsets of strips or tiles then says where the first page's are. */
static void put_pages(uint32_t pages, const struct tiff_entry *entries, uint32_t count, const void *data,
                      uint32_t bytes, bool shared)
{
    const uint32_t size = TIFF_RAW_DIRECTORY(count), begin = 8 + pages * size;
    const size_t whole = begin + (size_t)bytes * (shared ? 1 : pages);
    unsigned char *file = calloc(whole, 1);
    memcpy(file, "II*\0\10", 5);
    for (size_t at = begin; at < whole; at += bytes)
        memcpy(file + at, data, bytes);
    for (uint32_t page = 0; page < pages; page++) {
        unsigned char *to = file + 8 + page * size;
        const uint32_t next = page + 1 < pages ? 8 + (page + 1) * size : 0;
        memcpy(to, &count, 2); /* little-endian machines only, as the file */
        for (uint32_t i = 0; i < count; i++) {
            const bool moves =
                entries[i].tag == TIFFTAG_STRIPOFFSETS || entries[i].tag == TIFFTAG_TILEOFFSETS;
            const uint32_t value = entries[i].value + (moves && !shared ? page * bytes : 0);
            unsigned char *entry = to + 2 + 12 * i;
            memcpy(entry, &entries[i].tag, 2);
            memcpy(entry + 2, &entries[i].type, 2);
            memcpy(entry + 4, &entries[i].count, 4);
            memcpy(entry + 8, &value, 4);
        }
        memcpy(to + size - 4, &next, 4);
    }
    sample_put(sample_path("in.tif"), file, whole);
    free(file);
}

/* Pages of 60 x 60 pixels and a description of `described` bytes that share the one image and the one
 * description. */
static void put_sharing(uint32_t pages, uint32_t described)
{
    enum { ENTRIES = 10, PIXELS = 60 * 60 };
    const uint32_t data = 8 + pages * TIFF_RAW_DIRECTORY(ENTRIES);
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 60},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 60},
        {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 8},
        {TIFFTAG_COMPRESSION, TIFF_LONG, 1, 1},
        {TIFFTAG_PHOTOMETRIC, TIFF_LONG, 1, 1},
        {TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, described, data + PIXELS},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, data},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_LONG, 1, 1},
        {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 60},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, PIXELS}};
    char *bytes = calloc(PIXELS + described, 1);
    memset(bytes, 'd', PIXELS + described - 1);
    put_pages(pages, entries, ENTRIES, bytes, PIXELS + described, true);
    free(bytes);
}

/* Many directories that share the data of one: the volume would be larger than the file can be. */
Test(io_sharing, pages_that_share_their_data)
{
    put_sharing(50, 8);
    sample_check_refused(sample_path("in.tif"), "50 pages|can hold");
}

/* Each page would keep a text of its own. */
Test(io_sharing, pages_that_share_a_long_text)
{
    put_sharing(400, 1 << 20);
    sample_check_refused(sample_path("in.tif"), "over and over|page 2|tiffcp");
}

/* The same of one page: tags that nobody knows are kept too, by libtiff. */
Test(io_sharing, tags_that_share_their_data)
{
    enum { BYTES = 4 << 20, ENTRIES = 100 };
    struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 60},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 60},
        {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 8},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, (uint32_t)TIFF_RAW_DATA(ENTRIES)},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_LONG, 1, 1},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 60 * 60},
    };
    char *data = calloc(BYTES, 1);
    for (uint16_t i = 6; i < ENTRIES; i++)
        entries[i] = (struct tiff_entry){40000 + i, TIFF_UNDEFINED, BYTES, (uint32_t)TIFF_RAW_DATA(ENTRIES)};
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, data, BYTES);
    free(data);
    sample_check_refused(sample_path("in.tif"), "over and over|tiffcp");
}

/* Pages of one pixel with `count` entries, as many private tags as that takes. */
static void put_crowded(uint32_t pages, uint32_t count)
{
    struct tiff_entry entries[4096] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 1},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 1},
        {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 8},
        {TIFFTAG_PHOTOMETRIC, TIFF_LONG, 1, 1},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 8 + pages * TIFF_RAW_DIRECTORY(count)},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 1},
    };
    for (uint32_t i = 6; i < count; i++)
        entries[i] = (struct tiff_entry){(uint16_t)(40000 + i), TIFF_LONG, 1, i};
    put_pages(pages, entries, count, "d", 1, true);
}

/* libtiff's time goes by the square of their number: a megabyte took minutes. */
Test(io_sharing, pages_of_many_tags)
{
    put_crowded(30, 2000);
    sample_check_refused(sample_path("in.tif"), "page 21: has 2000 tags|tiffcp");
}

/* There is nothing in the file but directories; and one page may have as many tags as libtiff reads. */
Test(io_sharing, tags_that_are_not_too_many)
{
    static const uint32_t cases[][2] = {{1, 4096}, {20, 2000}, {1500, 240}, {2000, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += UNDER_SANITIZERS ? 3 : 1) {
        put_crowded(cases[i][0], cases[i][1]);
        cr_assert_eq(sample_info(sample_path("in.tif")).page_count, cases[i][0]);
    }
}

/* Each directory begins in an entry of the one before it: so a small file has many, and large ones. An entry
 * is a tag's number, its type, 1 (of 4 bytes) and its value, in whose last 2 bytes the number of entries of
 * the next directory is. Behind the first one's, entries begin with an offset, of type 1 as tags have it. */
Test(io_sharing, directories_that_overlap)
{
    enum { ENTRIES = 128, TAGS = ENTRIES - 6, FIRST = 66000, SIZE = FIRST + 24 * ENTRIES + 64 };
    static const uint16_t pixels[6][6] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 0, 1},    {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 0, 1},
        {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 0, 8}, {TIFFTAG_PHOTOMETRIC, TIFF_LONG, 1, 0, 1},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 0, 8},  {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 0, 1},
    };
    unsigned char *file = calloc(SIZE, 1);
    uint16_t(*entry)[6] = (void *)(file + FIRST);
    const uint32_t first = FIRST - 2;
    memcpy(file, "II*", 4);
    memcpy(file + 4, &first, 4);
    entry[-1][5] = ENTRIES;
    for (uint32_t i = 0; i < TAGS; i++) {
        const uint32_t next = i + 1 < TAGS ? FIRST + 12 * (i + 1) - 2 : 0;
        const uint16_t tag[6] = {(uint16_t)(40000 + i), TIFF_BYTE, 1, 0, 0, ENTRIES};
        memcpy(entry[i], tag, sizeof tag);
        memcpy(entry[ENTRIES + i], tag, sizeof tag);
        memcpy(entry[ENTRIES + i], &next, sizeof next);
    }
    memcpy(entry[TAGS], pixels, sizeof pixels);
    sample_put(sample_path("in.tif"), file, SIZE);
    free(file);
    sample_check_refused(sample_path("in.tif"), "page 45: |directories|overlap|copy it again");
}

/* Pages of one pixel in a tile of 4096 x 4096, as PackBits has it at best. */
static void put_large_tiles(uint32_t pages, bool shared)
{
    enum { ENTRIES = 9, BYTES = 4096 * 4096 / 128 * 2 };
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 1},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 1},
        {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 8},
        {TIFFTAG_COMPRESSION, TIFF_LONG, 1, COMPRESSION_PACKBITS},
        {TIFFTAG_PHOTOMETRIC, TIFF_LONG, 1, 1},
        {TIFFTAG_TILEWIDTH, TIFF_LONG, 1, 4096},
        {TIFFTAG_TILELENGTH, TIFF_LONG, 1, 4096},
        {TIFFTAG_TILEOFFSETS, TIFF_LONG, 1, 8 + pages * TIFF_RAW_DIRECTORY(ENTRIES)},
        {TIFFTAG_TILEBYTECOUNTS, TIFF_LONG, 1, BYTES}};
    unsigned char *data = calloc(BYTES, 1);
    for (size_t i = 0; i < BYTES; i += 2)
        data[i] = 0x81; /* what follows, 128 times */
    put_pages(pages, entries, ENTRIES, data, BYTES, shared);
    free(data);
}

/* Minutes of work for a small volume. What is not shared may be as much, and what is not much may be shared.
 */
Test(io_sharing, tiles_that_share_their_data)
{
    put_large_tiles(70, true);
    sample_check_refused(sample_path("in.tif"), "70 strips or tiles|1120 MiB|the same bytes");
    put_large_tiles(70, false);
    cr_assert_eq(sample_info(sample_path("in.tif")).page_count, 70);
    put_large_tiles(60, true);
    cr_assert_eq(sample_info(sample_path("in.tif")).page_count, 60);
}

/* `each`: strips of one pixel in each page; all of them are the same 2 bytes. */
static void put_small_strips(uint32_t pages, uint32_t each)
{
    enum { ENTRIES = 8 };
    const uint32_t data = 8 + pages * TIFF_RAW_DIRECTORY(ENTRIES), bytes = 8 * each + 2;
    const struct tiff_entry entries[ENTRIES] = {{TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 1},
                                                {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, each},
                                                {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 8},
                                                {TIFFTAG_COMPRESSION, TIFF_LONG, 1, COMPRESSION_PACKBITS},
                                                {TIFFTAG_PHOTOMETRIC, TIFF_LONG, 1, 1},
                                                {TIFFTAG_STRIPOFFSETS, TIFF_LONG, each, data},
                                                {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 1},
                                                {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, each, data + 4 * each}};
    uint32_t *tables = calloc(2 * (size_t)each + 1, sizeof *tables);
    for (uint32_t i = 0; i < each; i++) {
        tables[i] = data + 8 * each;
        tables[each + i] = 2;
    }
    put_pages(pages, entries, ENTRIES, tables, bytes, true);
    free(tables);
}

/* A strip takes time of its own, however small it is. */
Test(io_sharing, small_strips_that_share_their_data)
{
    put_small_strips(150, 30000);
    sample_check_refused(sample_path("in.tif"), "4500000 strips or tiles|the same bytes");
    put_small_strips(130, 30000);
    cr_assert_eq(sample_info(sample_path("in.tif")).page_count, 130);
}

/* Many small strips, each of which says to have the same mebibyte. */
Test(io_sharing, strips_that_share_their_bytes)
{
    enum { STRIPS = 5000, COMPRESSED = 1 << 20, ENTRIES = 9 };
    const uint32_t tables = (uint32_t)TIFF_RAW_DATA(ENTRIES), pixels = tables + 2 * 4 * STRIPS;
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 1},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, STRIPS},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},
        {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_ADOBE_DEFLATE},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, STRIPS, tables},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1},
        {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 1},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, STRIPS, tables + 4 * STRIPS},
    };
    uint32_t *data = calloc(1, 2 * 4 * STRIPS + COMPRESSED);
    cr_assert_not_null(data);
    for (int i = 0; i < STRIPS; i++) {
        data[i] = pixels;
        data[STRIPS + i] = COMPRESSED;
    }
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, data, 2 * 4 * STRIPS + COMPRESSED);
    free(data);
    sample_check_refused(sample_path("in.tif"), "claim 5000 MiB of a file of 1.0 MiB");
}
