/* What is not read says what it is and what to do; sizes that cannot be true are refused before memory is
 * asked for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_refusals, .init = samples_begin, .fini = samples_end);

/* The message holds every word of `words`, which are separated by '|', and the file's name. */
static void check_refused(const char *path, const char *words)
{
    const char *message = sample_refusal(path);
    char word[100];
    cr_assert(strstr(message, path), "no file name in: %s (expected: %s)", message, words);
    while (*words != '\0') {
        const size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        cr_assert(strstr(message, word), "\"%s\" is not in: %s", word, message);
        words += length + (words[length] == '|');
    }
}

/* 8 x 4 pixels of a byte, with `changes` made to the directory. Tag 0 ends the changes; a value of type 0
 * drops a tag. */
static void put_changed(const struct tiff_entry changes[])
{
    struct tiff_entry entries[32] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 8},       {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 4},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},   {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, 1},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1},     {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 300},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1}, {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 4},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 32},
    };
    size_t count = 9;
    char data[1024] = {0};
    for (; changes->tag != 0; changes++) {
        size_t at = 0;
        while (at < count && entries[at].tag < changes->tag)
            at++;
        if (at < count && entries[at].tag == changes->tag && changes->type == 0) {
            memmove(entries + at, entries + at + 1, (--count - at) * sizeof *entries);
            continue;
        }
        if (at == count || entries[at].tag != changes->tag)
            memmove(entries + at + 1, entries + at, (count++ - at) * sizeof *entries);
        entries[at] = *changes;
    }
    tiff_raw_write(sample_path("in.tif"), false, entries, count, data, sizeof data);
}

#define CHANGED(...) put_changed((const struct tiff_entry[]){__VA_ARGS__, {0, 0, 0, 0}})

Test(io_refusals, the_base_is_fine)
{
    CHANGED({TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1});
    cr_assert_str_eq(sample_refusal(sample_path("in.tif")), "");
    CHANGED({TIFFTAG_COMPRESSION, 0, 0, 0});
    cr_assert_str_eq(sample_refusal(sample_path("in.tif")), "");
}

Test(io_refusals, kinds_of_numbers)
{
    static const struct {
        uint16_t bits, format;
        const char *words;
    } cases[] = {
        {1, 1, "1 bit |convert|-depth 8"},  {4, 1, "4 bits|-depth 8"},          {12, 2, "12 bits|-depth 16"},
        {24, 1, "24 bits|-depth 16"},       {24, 3, "24-bit floating|float32"}, {7, 1, "7 bits"},
        {64, 1, "64-bit integers|float64"}, {64, 5, "complex|magnitude"},       {64, 6, "complex"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHANGED({TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, cases[i].bits},
                {TIFFTAG_SAMPLEFORMAT, TIFF_SHORT, 1, cases[i].format});
        check_refused(sample_path("in.tif"), cases[i].words);
    }
}

/* What follows in the file is there, but is not the image. */
Test(io_refusals, strips_that_are_too_short)
{
    enum { ENTRIES = 9 };
    const uint32_t tables = (uint32_t)TIFF_RAW_DATA(ENTRIES), pixels = tables + 4 * 4;
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 8},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 4},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},
        {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_NONE},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 2, tables},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1},
        {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 2},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 2, tables + 2 * 4},
    };
    uint32_t data[64] = {pixels, pixels + 16, 16, 15};
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, data, sizeof data);
    check_refused(sample_path("in.tif"), "page 1: strip 2 at byte|has 15 bytes where 16 are needed");
}

static void mark_alpha(TIFF *tif, uint32_t page)
{
    const uint16_t extra = page == 1 ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED;
    TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, 1, &extra);
}

Test(io_refusals, alpha_of_one_page)
{
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U8, .nx = 6, .ny = 5, .pages = 2, .samples = 2, .more = mark_alpha});
    check_refused(sample_path("in.tif"), "page 2 has 2 channels and page 1 has 2, or they differ in kind");
}

Test(io_refusals, volumes_in_a_page)
{
    CHANGED({TIFFTAG_IMAGEDEPTH, TIFF_LONG, 1, 32});
    check_refused(sample_path("in.tif"), "a volume of 32 planes in one page|one page per plane|tifffile");
}

Test(io_refusals, kinds_of_colour)
{
    static const struct {
        uint16_t photometric;
        const char *words;
    } cases[] = {
        {PHOTOMETRIC_YCBCR, "YCbCr|tiff2rgba"},          {PHOTOMETRIC_SEPARATED, "CMYK|tiff2rgba"},
        {PHOTOMETRIC_CIELAB, "L*a*b*|-colorspace sRGB"}, {PHOTOMETRIC_ICCLAB, "L*a*b*"},
        {PHOTOMETRIC_LOGL, "LogLuv|tiff2rgba"},          {PHOTOMETRIC_MASK, "mask"},
        {PHOTOMETRIC_CFA, "colour filter array"},        {999, "photometric interpretation 999"},
        {PHOTOMETRIC_RGB, "RGB|1 sample |tiffset"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHANGED({TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, cases[i].photometric},
                {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, cases[i].photometric == PHOTOMETRIC_YCBCR ? 3 : 1});
        check_refused(sample_path("in.tif"), cases[i].words);
    }
}

Test(io_refusals, kinds_of_compression)
{
    static const struct {
        uint16_t scheme;
        const char *words;
    } cases[] = {
        {COMPRESSION_JPEG, "JPEG|tiff2rgba"},
        {COMPRESSION_OJPEG, "JPEG"},
        {COMPRESSION_LZMA, "LZMA|tiffcp -c none"},
        {COMPRESSION_CCITTFAX4, "CCITT|tiffcp"},
        {COMPRESSION_PIXARLOG, "PixarLog|tiffcp"},
        {54321, "unknown compression 54321|Deflate"},
        {34712, "JPEG 2000|Deflate"},
        {33005, "JPEG 2000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHANGED({TIFFTAG_COMPRESSION, TIFF_SHORT, 1, cases[i].scheme});
        check_refused(sample_path("in.tif"), cases[i].words);
    }
    /* Uncompressed it would be refused for its bits. */
    CHANGED({TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 1},
            {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_CCITTFAX4});
    check_refused(sample_path("in.tif"), "1 bit per sample|CCITT|convert IN.tif -depth 8 -compress none");
}

/* PackBits of differences, as tifffile writes it, would be read as the image. Uncompressed the tag means
 * nothing. */
Test(io_refusals, differences_that_nobody_adds_up)
{
    CHANGED({TIFFTAG_PREDICTOR, TIFF_SHORT, 1, 2});
    cr_assert_str_eq(sample_refusal(sample_path("in.tif")), "");
    CHANGED({TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_PACKBITS},
            {TIFFTAG_PREDICTOR, TIFF_SHORT, 1, 1});
    cr_assert_eq(strstr(sample_refusal(sample_path("in.tif")), "predictor"), NULL);
    CHANGED({TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_PACKBITS},
            {TIFFTAG_PREDICTOR, TIFF_SHORT, 1, 2});
    check_refused(sample_path("in.tif"), "PackBits|predictor 2|Deflate");
}

/* What a file that was cut short has lost, libtiff does without. */
Test(io_refusals, descriptions_beyond_the_end)
{
    const uint32_t at = 900;
    CHANGED({TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, 100, at});
    cr_assert_str_eq(sample_refusal(sample_path("in.tif")), "");
    const size_t size = sample_file_size(sample_path("in.tif"));
    CHANGED({TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, (uint32_t)size - at, at});
    cr_assert_str_eq(sample_refusal(sample_path("in.tif")), "");
    CHANGED({TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, (uint32_t)size - at + 1, at});
    check_refused(sample_path("in.tif"), "page 1: its description|beyond the file|cut short");
    CHANGED({TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, PHOTOMETRIC_PALETTE},
            {TIFFTAG_COLORMAP, TIFF_SHORT, 768, at});
    check_refused(sample_path("in.tif"), "page 1: its palette|beyond the file|cut short");
    CHANGED({TIFFTAG_XRESOLUTION, TIFF_RATIONAL, 1, 5000}, {TIFFTAG_ICCPROFILE, TIFF_UNDEFINED, 100000, at},
            {TIFFTAG_SOFTWARE, TIFF_ASCII, 8, at});
    const char *note = sample_info(sample_path("in.tif")).note;
    cr_assert(strstr(note, "2 tags (282 and others) that would end beyond the file are not read"), "%s",
              note);
}

/* Of an interleaved page libtiff reads rows, and loses what a run has beyond its row. */
Test(io_refusals, runs_that_cross_rows)
{
    enum { ENTRIES = 9, ROW = 8 * 3, PACKED = 1 + 2 * ROW };
    unsigned char data[8 + PACKED] = {8, 0, 8, 0, 8, 0};
    const size_t at = TIFF_RAW_DATA(ENTRIES);
    struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 8},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 2},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 3, (uint32_t)at},
        {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_PACKBITS},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, PHOTOMETRIC_RGB},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, (uint32_t)at + 8},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 3},
        {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 2},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, PACKED},
    };
    data[8] = 2 * ROW - 1; /* so many bytes and one follow */
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, data, sizeof data);
    check_refused(sample_path("in.tif"), "page 1: strip 1|PackBits|across its rows");
}

/* Nothing here may need memory: the limit would show it. */
static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__)
    const struct rlimit limit = {1u << 28, 1u << 28};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
#endif
}

Test(io_refusals, sizes)
{
    static const struct {
        uint32_t width, height, rows, bytes, scheme;
        const char *words;
    } cases[] = {
        {0, 4, 4, 32, 1, ""},
        {8, 0, 4, 32, 1, ""},
        {0xffffffff, 4, 4, 32, 1, "4294967295 x 4"},
        {0x7fffffff, 0x7fffffff, 4, 32, 1, ""},
        {0x80000000, 1, 1, 32, 1, ""},
        {100000, 100000, 100000, 32, 1, ""},
        {30000, 30000, 30000, 32, COMPRESSION_ADOBE_DEFLATE, "30000 x 30000|can hold"},
        {30000, 30000, 30000, 32, COMPRESSION_LZW, "can hold"},
        {100000, 100000, 100000, 32, COMPRESSION_ZSTD, "can hold"},
        {8, 4, 4, 0xffffffff, COMPRESSION_LZW, "cut short"},
        {8, 140, 140, 1120, 1, "strip 1|cut short"},
    };
    limit_memory();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHANGED({TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, cases[i].width},
                {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, cases[i].height},
                {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, cases[i].rows},
                {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, cases[i].scheme},
                {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, cases[i].bytes});
        if (cases[i].scheme == 1 || TIFFIsCODECConfigured((uint16_t)cases[i].scheme))
            check_refused(sample_path("in.tif"), cases[i].words);
    }
    CHANGED({TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 65535});
    check_refused(sample_path("in.tif"), "");
    CHANGED({TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 4000000000u});
    check_refused(sample_path("in.tif"), "strip 1|cut short");
}

/* Larger than what the file holds, which is not the cause. */
Test(io_refusals, sparse_files)
{
    static const uint32_t heights[] = {4, 100000};
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        CHANGED({TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, heights[i]},
                {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, heights[i]}, {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 0},
                {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 0});
        check_refused(sample_path("in.tif"), "strip 1 has no data|sparse|gdal_translate");
    }
}

Test(io_refusals, tiles_of_impossible_size)
{
    static const uint32_t sizes[][2] = {
        {0, 16}, {16, 0}, {46336, 46352}, {65536, 65536}, {0xfffffff0, 0xfffffff0}};
    limit_memory();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHANGED({TIFFTAG_STRIPOFFSETS, 0, 0, 0}, {TIFFTAG_STRIPBYTECOUNTS, 0, 0, 0},
                {TIFFTAG_ROWSPERSTRIP, 0, 0, 0}, {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_LZW},
                {TIFFTAG_TILEWIDTH, TIFF_LONG, 1, sizes[i][0]},
                {TIFFTAG_TILELENGTH, TIFF_LONG, 1, sizes[i][1]}, {TIFFTAG_TILEOFFSETS, TIFF_LONG, 1, 300},
                {TIFFTAG_TILEBYTECOUNTS, TIFF_LONG, 1, 32});
        check_refused(sample_path("in.tif"), i == 2 ? "tiles of 46336 x 46352|8 x 4" : "");
    }
}

/* The file's name is told once, by us: a long one left no room for the cause. */
Test(io_refusals, the_cause_of_a_file_with_a_long_name)
{
    char name[256];
    CHANGED({TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 0});
    check_refused(sample_path("in.tif"), ": is not a readable TIFF: Bad value 0 for \"RowsPerStrip\"");
    snprintf(name, sizeof name, "%0240d.tif", 0);
    cr_assert_eq(rename(sample_path("in.tif"), sample_path(name)), 0);
    check_refused(sample_path(name), ": is not a readable TIFF: Bad value 0 for \"RowsPerStrip\"");
}

/* libtiff goes on without a tag of no known type, and says so before it says why it cannot go on. */
Test(io_refusals, the_cause_behind_a_tag_of_no_type)
{
    CHANGED({TIFFTAG_IMAGELENGTH, 0, 0, 0}, {60000, 65535, 1, 0});
    check_refused(sample_path("in.tif"), ": is not a readable TIFF: Cannot handle zero number of strips");
}

Test(io_refusals, missing_tags)
{
    static const uint16_t tags[] = {TIFFTAG_IMAGEWIDTH, TIFFTAG_IMAGELENGTH, TIFFTAG_STRIPOFFSETS};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        CHANGED({tags[i], 0, 0, 0});
        check_refused(sample_path("in.tif"), "");
    }
}

/* A second directory that is the first again. */
Test(io_refusals, directories_in_a_circle)
{
    size_t size;
    CHANGED({TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1});
    char *bytes = sample_get(sample_path("in.tif"), &size);
    bytes[8 + 2 + 9 * 12] = 8;
    sample_put(sample_path("in.tif"), bytes, size);
    free(bytes);
    check_refused(sample_path("in.tif"), "page 2");
}

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
Test(io_refusals, pages_that_share_their_data)
{
    put_sharing(50, 8);
    check_refused(sample_path("in.tif"), "50 pages|can hold");
}

/* Each page would keep a text of its own. */
Test(io_refusals, pages_that_share_a_long_text)
{
    put_sharing(400, 1 << 20);
    check_refused(sample_path("in.tif"), "over and over|page 2|tiffcp");
}

/* The same of one page: tags that nobody knows are kept too, by libtiff. */
Test(io_refusals, tags_that_share_their_data)
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
    check_refused(sample_path("in.tif"), "over and over|tiffcp");
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
Test(io_refusals, pages_of_many_tags)
{
    put_crowded(30, 2000);
    check_refused(sample_path("in.tif"), "page 21: has 2000 tags|tiffcp");
}

/* There is nothing in the file but directories; and one page may have as many tags as libtiff reads. */
Test(io_refusals, tags_that_are_not_too_many)
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
Test(io_refusals, directories_that_overlap)
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
    check_refused(sample_path("in.tif"), "page 45: |directories|overlap|copy it again");
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
Test(io_refusals, tiles_that_share_their_data)
{
    put_large_tiles(70, true);
    check_refused(sample_path("in.tif"), "70 strips or tiles|1120 MiB|the same bytes");
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
Test(io_refusals, small_strips_that_share_their_data)
{
    put_small_strips(150, 30000);
    check_refused(sample_path("in.tif"), "4500000 strips or tiles|the same bytes");
    put_small_strips(130, 30000);
    cr_assert_eq(sample_info(sample_path("in.tif")).page_count, 130);
}

static void change_page(TIFF *tif, uint32_t page)
{
    if (page == 1)
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
}

static void append(const char *path, const struct tiff_sample *second)
{
    const char *other = sample_path("other.tif");
    tiff_sample_write(other, second);
    TIFF *from = TIFFOpen(other, "r"), *to = TIFFOpen(path, "a");
    char data[4096];
    cr_assert(from != NULL && to != NULL);
    TIFFSetField(to, TIFFTAG_IMAGEWIDTH, second->nx);
    TIFFSetField(to, TIFFTAG_IMAGELENGTH, second->ny);
    TIFFSetField(to, TIFFTAG_BITSPERSAMPLE, (unsigned)vf_type_size(second->type) * 8);
    TIFFSetField(to, TIFFTAG_SAMPLESPERPIXEL, second->samples ? second->samples : 1);
    TIFFSetField(to, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(to, TIFFTAG_PHOTOMETRIC, second->samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    const tmsize_t bytes = TIFFReadEncodedStrip(from, 0, data, sizeof data);
    cr_assert(bytes > 0 && TIFFWriteEncodedStrip(to, 0, data, bytes) == bytes);
    TIFFClose(from);
    TIFFClose(to);
}

Test(io_refusals, pages_that_differ)
{
    static const struct {
        struct tiff_sample second;
        const char *words;
    } cases[] = {
        {{.type = VF_U8, .nx = 9, .ny = 4}, "page 3|9 x 4|8 x 4|tiffcp IN.tif,0,1 OUT"},
        {{.type = VF_U8, .nx = 8, .ny = 5}, "page 3|8 x 5"},
        {{.type = VF_U16, .nx = 8, .ny = 4}, "page 3|uint16|uint8"},
        {{.type = VF_U8, .nx = 8, .ny = 4, .samples = 3}, "page 3|3 channels"},
    };
    const struct tiff_sample first = {.type = VF_U8, .nx = 8, .ny = 4, .pages = 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tiff_sample_write(sample_path("in.tif"), &first);
        append(sample_path("in.tif"), &cases[i].second);
        check_refused(sample_path("in.tif"), cases[i].words);
    }
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U8, .nx = 8, .ny = 4, .pages = 2, .more = change_page});
    check_refused(sample_path("in.tif"), "page 2|0 is white|tiffcp IN.tif,0 OUT");
}

Test(io_refusals, alpha_that_is_not_last)
{
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U8,
                                                                   .nx = 8,
                                                                   .ny = 4,
                                                                   .samples = 5,
                                                                   .photometric = PHOTOMETRIC_RGB,
                                                                   .extra_count = 2,
                                                                   .extra = {EXTRASAMPLE_UNASSALPHA, 0}});
    check_refused(sample_path("in.tif"), "alpha|not its last");
}

Test(io_refusals, paths)
{
    const char *path = sample_path("in.tif");
    check_refused(sample_path("no-such.tif"), strerror(ENOENT));
    check_refused(sample_path("no/such.tif"), strerror(ENOENT));
    cr_assert_eq(mkdir(path, 0777), 0);
    check_refused(path, "directory");
    rmdir(path);
    cr_assert_eq(symlink(path, path), 0);
    check_refused(path, strerror(ELOOP));
    unlink(path);
    sample_put(path, "", 0);
    check_refused(path, "empty");
    sample_put(path, "I", 1);
    check_refused(path, "neither TIFF, PNG nor MRC");
    sample_put(path, "II*\0", 4);
    check_refused(path, "TIFF");
    sample_put(path, "II*\0\0\0\0\0", 8);
    check_refused(path, "no page");
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const char *name = ptsname(terminal);
    struct vf_writer *writer;
    struct vf_error error;
    const struct vf_info result = {
        .type = VF_U8, .shape = {1, 1, 1, 1, 1}, .page_count = 1, .page_channels = 1};
    check_refused(name, "is a terminal; redirect");
    cr_assert_eq(
        vf_writer_open(&writer, name, VF_FORMAT_TIFF, &result, &(struct vf_output_options){0}, &error),
        VF_USAGE);
    cr_assert(strstr(error.text, name) && strstr(error.text, "is a terminal; redirect it"), "%s", error.text);
    close(terminal);
}

Test(io_refusals, files_of_other_kinds)
{
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        const char *words;
    } cases[] = {
        {0, "\xff\xd8\xff\xe0", 4, "JPEG|convert"},
        {0, "GIF89a", 6, "GIF"},
        {0, "BM6", 3, "BMP"},
        {0, "\x1f\x8b\x08", 3, "gzip|gunzip"},
        {0, "\x89HDF\r\n", 6, "HDF5|TIFF"},
        {0, "\0\0\0\4\0\0\0\0", 8, "DM4|dm2mrc"},
        {0, "\6\0\0\5", 4, "EM volume|e2proc3d"},
        {0, "ZISRAWFILE", 10, "CZI"},
        {0, "PK\x03\x04", 4, "ZIP|unzip"},
        {344, "n+1", 4, "NIfTI"},
        {0, "\x93NUMPY", 6, "NumPy|numpy.load"},
        {0, "ObjectType = Image", 18, "MetaImage"},
        {128, "DICM", 4, "DICOM"},
        {0, "hello", 5, "neither TIFF, PNG nor MRC|68 65 6c 6c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[600] = {0};
        memcpy(bytes + cases[i].at, cases[i].magic, cases[i].length);
        sample_put(sample_path("in.tif"), bytes, sizeof bytes);
        check_refused(sample_path("in.tif"), cases[i].words);
    }
    sample_put(sample_path("in.tif"), "hello,\tworld\r\n", 14);
    check_refused(sample_path("in.tif"), "is text, neither TIFF, PNG nor MRC");
}

/* Many small strips, each of which says to have the same mebibyte. */
Test(io_refusals, strips_that_share_their_bytes)
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
    check_refused(sample_path("in.tif"), "claim 5000 MiB of a file of 1.0 MiB");
}
