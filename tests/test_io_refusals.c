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

TestSuite(io_refusals, .init = samples_begin, .fini = samples_end);

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

/* Of signed values, and of floating point, ImageMagick's convert makes others. */
Test(io_refusals, kinds_of_numbers)
{
    static const struct {
        uint16_t bits, format;
        const char *words;
    } cases[] = {
        {1, 1, "1 bit |convert|-depth 8"},
        {4, 1, "4 bits|over 0 to 255|-depth 8"},
        {7, 1, "7 bits"},
        {4, 2, "4 bits|with a sign|save it as int8 with"},
        {12, 2, "12 bits|with a sign|save it as int16 with"},
        {24, 1, "24 bits|save it as uint32 with"},
        {24, 2, "24 bits|save it as int32 with"},
        {24, 3, "24-bit floating|float32 with"},
        {64, 1, "64-bit integers|float64"},
        {64, 5, "complex|magnitude"},
        {64, 6, "complex"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHANGED({TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, cases[i].bits},
                {TIFFTAG_SAMPLEFORMAT, TIFF_SHORT, 1, cases[i].format});
        sample_check_refused(sample_path("in.tif"), cases[i].words);
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
    sample_check_refused(sample_path("in.tif"), "page 1: strip 2 at byte|has 15 bytes where 16 are needed");
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
    sample_check_refused(sample_path("in.tif"),
                         "page 2 has 2 channels and page 1 has 2, or they differ in kind");
}

Test(io_refusals, volumes_in_a_page)
{
    CHANGED({TIFFTAG_IMAGEDEPTH, TIFF_LONG, 1, 32});
    sample_check_refused(sample_path("in.tif"),
                         "a volume of 32 planes in one page|one page per plane|tifffile");
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
        sample_check_refused(sample_path("in.tif"), cases[i].words);
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
        sample_check_refused(sample_path("in.tif"), cases[i].words);
    }
    /* Uncompressed it would be refused for its bits. */
    CHANGED({TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 1},
            {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_CCITTFAX4});
    sample_check_refused(sample_path("in.tif"),
                         "1 bit per sample|CCITT|convert IN.tif -depth 8 -compress none");
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
    sample_check_refused(sample_path("in.tif"), "PackBits|predictor 2|Deflate");
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
    sample_check_refused(sample_path("in.tif"), "page 1: its description|beyond the file|cut short");
    CHANGED({TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, PHOTOMETRIC_PALETTE},
            {TIFFTAG_COLORMAP, TIFF_SHORT, 768, at});
    sample_check_refused(sample_path("in.tif"), "page 1: its palette|beyond the file|cut short");
    CHANGED({TIFFTAG_XRESOLUTION, TIFF_RATIONAL, 1, 5000}, {TIFFTAG_ICCPROFILE, TIFF_UNDEFINED, 100000, at},
            {TIFFTAG_SOFTWARE, TIFF_ASCII, 8, at});
    const char *note = sample_info(sample_path("in.tif")).note;
    cr_assert(strstr(note, "2 tags (282 and others) that would end beyond the file are not read"), "%s",
              note);
    CHANGED({TIFFTAG_XRESOLUTION, TIFF_RATIONAL, 1, 5000});
    note = sample_info(sample_path("in.tif")).note;
    cr_assert(strstr(note, "1 tag (282) that would end beyond the file is not read"), "%s", note);
}

/* In each byte order and with offsets of either size; the description is what libtiff writes last. */
Test(io_refusals, descriptions_that_were_cut_off)
{
    static const char *const modes[] = {"wl", "wb", "wl8", "wb8"};
    const char *path = sample_path("in.tif");
    char pixels[8 * 4] = {0};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        TIFF *tif = TIFFOpen(path, modes[i]);
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 8);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 4);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, "a description that is not in its entry");
        cr_assert_neq(TIFFWriteEncodedStrip(tif, 0, pixels, sizeof pixels), -1);
        TIFFClose(tif);
        cr_assert_str_eq(sample_refusal(path), "", "%s", modes[i]);
        cr_assert_eq(truncate(path, (off_t)sample_file_size(path) - 2), 0);
        sample_check_refused(path, "page 1: its description|beyond the file");
    }
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
    sample_check_refused(sample_path("in.tif"), "page 1: strip 1|PackBits|across its rows");
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
            sample_check_refused(sample_path("in.tif"), cases[i].words);
    }
    CHANGED({TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 65535});
    sample_check_refused(sample_path("in.tif"), "");
    CHANGED({TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 4000000000u});
    sample_check_refused(sample_path("in.tif"), "strip 1|cut short");
}

/* Larger than what the file holds, which is not the cause. */
Test(io_refusals, sparse_files)
{
    static const uint32_t heights[] = {4, 100000};
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        CHANGED({TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, heights[i]},
                {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, heights[i]}, {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 0},
                {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 0});
        sample_check_refused(sample_path("in.tif"), "strip 1 has no data|sparse|gdal_translate");
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
        sample_check_refused(sample_path("in.tif"), i == 2 ? "tiles of 46336 x 46352|8 x 4" : "");
    }
}

/* The file's name is told once, by us: a long one left no room for the cause. */
Test(io_refusals, the_cause_of_a_file_with_a_long_name)
{
    char name[256];
    CHANGED({TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 0});
    sample_check_refused(sample_path("in.tif"), ": is not a readable TIFF: Bad value 0 for \"RowsPerStrip\"");
    snprintf(name, sizeof name, "%0240d.tif", 0);
    cr_assert_eq(rename(sample_path("in.tif"), sample_path(name)), 0);
    sample_check_refused(sample_path(name), ": is not a readable TIFF: Bad value 0 for \"RowsPerStrip\"");
}

/* libtiff goes on without a tag of no known type, and says so before it says why it cannot go on. */
Test(io_refusals, the_cause_behind_a_tag_of_no_type)
{
    CHANGED({TIFFTAG_IMAGELENGTH, 0, 0, 0}, {60000, 65535, 1, 0});
    sample_check_refused(sample_path("in.tif"),
                         ": is not a readable TIFF: Cannot handle zero number of strips");
}

Test(io_refusals, missing_tags)
{
    static const uint16_t tags[] = {TIFFTAG_IMAGEWIDTH, TIFFTAG_IMAGELENGTH, TIFFTAG_STRIPOFFSETS};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        CHANGED({tags[i], 0, 0, 0});
        sample_check_refused(sample_path("in.tif"), "");
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
    sample_check_refused(sample_path("in.tif"), "page 2");
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
        sample_check_refused(sample_path("in.tif"), cases[i].words);
    }
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U8, .nx = 8, .ny = 4, .pages = 2, .more = change_page});
    sample_check_refused(sample_path("in.tif"), "page 2|0 is white|tiffcp IN.tif,0 OUT");
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
    sample_check_refused(sample_path("in.tif"), "alpha|not its last");
}

Test(io_refusals, paths)
{
    const char *path = sample_path("in.tif");
    sample_check_refused(sample_path("no-such.tif"), strerror(ENOENT));
    sample_check_refused(sample_path("no/such.tif"), strerror(ENOENT));
    cr_assert_eq(mkdir(path, 0777), 0);
    sample_check_refused(path, "directory");
    rmdir(path);
    cr_assert_eq(symlink(path, path), 0);
    sample_check_refused(path, strerror(ELOOP));
    unlink(path);
    sample_put(path, "", 0);
    sample_check_refused(path, "empty");
    sample_put(path, "I", 1);
    sample_check_refused(path, "neither TIFF, PNG nor MRC");
    sample_put(path, "II*\0", 4);
    sample_check_refused(path, "TIFF");
    sample_put(path, "II*\0\0\0\0\0", 8);
    sample_check_refused(path, "no page");
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const char *name = ptsname(terminal);
    struct vf_writer *writer;
    struct vf_error error;
    const struct vf_info result = {
        .type = VF_U8, .shape = {1, 1, 1, 1, 1}, .page_count = 1, .page_channels = 1};
    sample_check_refused(name, "is a terminal; redirect");
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
        sample_check_refused(sample_path("in.tif"), cases[i].words);
    }
    sample_put(sample_path("in.tif"), "hello,\tworld\r\n", 14);
    sample_check_refused(sample_path("in.tif"), "is text, neither TIFF, PNG nor MRC");
}
