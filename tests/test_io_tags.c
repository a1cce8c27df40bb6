/* What a file says beside its pixels: kept where it still holds, dropped where it does not. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"

TestSuite(io_tags, .init = samples_begin, .fini = samples_end);

static const char icc[] = "not a real profile, but bytes all the same";

static void set_tags(TIFF *tif, uint32_t page)
{
    char text[32];
    snprintf(text, sizeof text, "page %u", page + 1);
    TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, text);
    TIFFSetField(tif, TIFFTAG_PAGENAME, text);
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, 1234.5);
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, 617.25);
    TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
    TIFFSetField(tif, TIFFTAG_ORIENTATION, ORIENTATION_BOTLEFT);
    TIFFSetField(tif, TIFFTAG_ICCPROFILE, (uint32_t)sizeof icc, icc);
    TIFFSetField(tif, TIFFTAG_SOFTWARE, "a microscope");
    TIFFSetField(tif, TIFFTAG_DATETIME, "2020:02:29 12:34:56");
    TIFFSetField(tif, TIFFTAG_ARTIST, "someone");
    TIFFSetField(tif, TIFFTAG_HOSTCOMPUTER, "a host");
    TIFFSetField(tif, TIFFTAG_COPYRIGHT, "nobody");
    TIFFSetField(tif, TIFFTAG_DOCUMENTNAME, "a document");
    TIFFSetField(tif, TIFFTAG_MAKE, "a maker");
}

static void check_text(TIFF *tif, uint32_t tag, const char *expected)
{
    const char *text = NULL;
    TIFFGetField(tif, tag, &text);
    if (expected == NULL)
        cr_assert_null(text, "tag %u is there: %s", tag, text);
    else
        cr_assert_str_eq(text == NULL ? "(none)" : text, expected, "tag %u: %s", tag, text);
}

static TIFF *open_output(void)
{
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert_not_null(tif);
    return tif;
}

Test(io_tags, a_result_of_the_same_kind_keeps_all)
{
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U16, .nx = 9, .ny = 8, .pages = 3, .samples = 3, .more = set_tags});
    sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    TIFF *tif = open_output();
    float x, y;
    uint16_t value;
    uint32_t bytes;
    void *profile;
    cr_assert(TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x) && TIFFGetField(tif, TIFFTAG_YRESOLUTION, &y));
    cr_assert(x == 1234.5f && y == 617.25f);
    cr_assert(TIFFGetField(tif, TIFFTAG_RESOLUTIONUNIT, &value) && value == RESUNIT_CENTIMETER);
    cr_assert(TIFFGetField(tif, TIFFTAG_ORIENTATION, &value) && value == ORIENTATION_BOTLEFT);
    cr_assert(TIFFGetField(tif, TIFFTAG_ICCPROFILE, &bytes, &profile));
    cr_assert(bytes == sizeof icc && memcmp(profile, icc, bytes) == 0);
    check_text(tif, TIFFTAG_SOFTWARE, "a microscope");
    check_text(tif, TIFFTAG_DATETIME, "2020:02:29 12:34:56");
    check_text(tif, TIFFTAG_ARTIST, "someone");
    check_text(tif, TIFFTAG_HOSTCOMPUTER, "a host");
    check_text(tif, TIFFTAG_COPYRIGHT, "nobody");
    check_text(tif, TIFFTAG_DOCUMENTNAME, "a document");
    check_text(tif, TIFFTAG_MAKE, "a maker");
    for (int page = 1; page <= 3; page++) {
        char text[32];
        snprintf(text, sizeof text, "page %d", page);
        check_text(tif, TIFFTAG_IMAGEDESCRIPTION, text);
        check_text(tif, TIFFTAG_PAGENAME, text);
        cr_assert_eq(TIFFReadDirectory(tif), page < 3);
    }
    TIFFClose(tif);
}

/* Reads in.tif and writes out.tif as `type` with n outputs a channel; the values do not matter here. */
static void derive(enum vf_type type, size_t outputs, const double *spacing)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_info result;
    sample_read(sample_path("in.tif"), &reader, &volume);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, type, outputs, &result);
    for (int axis = 0; spacing != NULL && axis < 3; axis++) {
        result.spacing_known[axis] = true;
        result.spacing[axis] = spacing[axis];
    }
    if (spacing != NULL)
        strcpy(result.unit, "um");
    sample_write_zeros(sample_path("out.tif"), &result);
    sample_close(reader, &volume);
}

/* Also which way up it is. The rest of them a PNG has as texts. */
Test(io_tags, what_only_tiff_says)
{
    static const struct {
        enum vf_format format;
        const char *lost;
    } cases[] = {
        {VF_FORMAT_TIFF, ""},
        {VF_FORMAT_PNG,
         "its colour profile, DateTime, Make, HostComputer, PageName, its display orientation"},
        {VF_FORMAT_MRC, "its colour profile, DateTime, Make, Artist, Copyright, HostComputer, DocumentName, "
                        "PageName, descriptions, its display orientation"},
    };
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 8, .more = set_tags});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(sample_lost(sample_path("in.tif"), cases[i].format, VF_U8, 1), cases[i].lost);
}

Test(io_tags, another_type_drops_what_no_longer_holds)
{
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 8, .samples = 4, .more = set_tags});
    derive(VF_F32, 1, NULL);
    TIFF *tif = open_output();
    uint16_t samples, photometric;
    uint32_t bytes;
    void *profile;
    cr_assert(TIFFGetField(tif, TIFFTAG_SAMPLESPERPIXEL, &samples) && samples == 3);
    cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric) && photometric == PHOTOMETRIC_RGB);
    cr_assert_not(TIFFGetField(tif, TIFFTAG_ICCPROFILE, &bytes, &profile));
    check_text(tif, TIFFTAG_IMAGEDESCRIPTION, "page 1");
    TIFFClose(tif);
}

Test(io_tags, several_outputs_are_channels_of_a_page)
{
    uint16_t samples, photometric, count, *extra;
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 8, .pages = 2, .photometric = UINT16_MAX});
    derive(VF_F32, 6, NULL);
    TIFF *tif = open_output();
    cr_assert(TIFFGetField(tif, TIFFTAG_SAMPLESPERPIXEL, &samples) && samples == 6);
    cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric) && photometric == PHOTOMETRIC_MINISBLACK);
    cr_assert(TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &count, &extra) && count == 5);
    cr_assert_eq(extra[0], EXTRASAMPLE_UNSPECIFIED);
    cr_assert_eq(TIFFNumberOfDirectories(tif), 2);
    check_text(tif, TIFFTAG_SOFTWARE, "volfilter");
    TIFFClose(tif);
}

static void set_ome(TIFF *tif, uint32_t page)
{
    if (page == 0)
        TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION,
                     "<?xml version=\"1.0\"?><OME><Pixels SizeZ=\"2\"/></OME>");
}

Test(io_tags, a_stated_layout_goes_with_the_layout)
{
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 8, .pages = 2, .more = set_ome});
    derive(VF_U8, 1, NULL);
    TIFF *tif = open_output();
    check_text(tif, TIFFTAG_IMAGEDESCRIPTION, "<?xml version=\"1.0\"?><OME><Pixels SizeZ=\"2\"/></OME>");
    TIFFClose(tif);
    derive(VF_F32, 1, NULL);
    tif = open_output();
    check_text(tif, TIFFTAG_IMAGEDESCRIPTION, NULL);
    TIFFClose(tif);
}

/* tifffile's, of planes that a result has side by side. */
Test(io_tags, a_stated_layout_goes_with_separate_planes)
{
    for (int separate = 0; separate < 2; separate++) {
        tiff_sample_write(sample_path("in.tif"),
                          &(struct tiff_sample){.type = VF_U8,
                                                .nx = 9,
                                                .ny = 8,
                                                .samples = 3,
                                                .separate = separate,
                                                .description = "{\"shape\": [3, 8, 9]}"});
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        TIFF *tif = open_output();
        check_text(tif, TIFFTAG_IMAGEDESCRIPTION, separate ? NULL : "{\"shape\": [3, 8, 9]}");
        TIFFClose(tif);
    }
}

Test(io_tags, another_spacing_is_written)
{
    static const double spacing[] = {0.5, 0.25, 2};
    float x, y;
    uint16_t unit;
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 8, .pages = 2, .more = set_tags});
    derive(VF_U8, 1, spacing);
    TIFF *tif = open_output();
    cr_assert(TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x) && TIFFGetField(tif, TIFFTAG_YRESOLUTION, &y));
    cr_assert(TIFFGetField(tif, TIFFTAG_RESOLUTIONUNIT, &unit) && unit == RESUNIT_CENTIMETER);
    cr_assert(x == 20000 && y == 40000, "%g %g", (double)x, (double)y);
    TIFFClose(tif);
}

/* More or fewer pixels a centimetre than a fraction of 32-bit numbers says. */
Test(io_tags, spacings_that_tiff_cannot_hold)
{
    static const double spacings[][3] = {{1e-6, 1e-6, 2}, {2, 1e15, 2}};
    float x;
    char lost[VF_NOTE_TEXT];
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 9, .ny = 8, .pages = 2, .more = set_tags});
    for (int i = 0; i < 2; i++) {
        derive(VF_U8, 1, spacings[i]);
        TIFF *tif = open_output();
        cr_expect_not(TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x));
        TIFFClose(tif);
        struct vf_info result = sample_info(sample_path("in.tif"));
        const struct vf_info input = result;
        memcpy(result.spacing, spacings[i], sizeof spacings[i]);
        vf_info_lost(&input, &result, lost, sizeof lost);
        cr_expect_not_null(strstr(lost, "its voxel size (only OME-TIFF"), "%s", lost);
    }
}

/* The resolution of a plain file is a spacing unless it is what programs write that know nothing. */
static double resolution;
static int resolution_unit;

static void set_resolution(TIFF *tif, uint32_t page)
{
    (void)page;
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, resolution);
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, resolution);
    TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, resolution_unit);
}

/* tifffile's own, which libtiff does not write. */
enum { MILLIMETRE = 4, MICROMETRE = 5 };

static void put_unit(uint16_t unit)
{
    const uint16_t entry[] = {TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT};
    size_t size;
    unsigned char *file = sample_get(sample_path("in.tif"), &size);
    unsigned char *tag = memmem(file, size, entry, sizeof entry);
    cr_assert_not_null(tag);
    memcpy(tag + 8, &unit, sizeof unit);
    sample_put(sample_path("in.tif"), file, size);
    free(file);
}

Test(io_tags, spacing_of_plain_files)
{
    static const struct {
        double resolution;
        int unit;
        double spacing; /* in um; 0: unknown */
    } cases[] = {
        {10000, RESUNIT_CENTIMETER, 1}, {25400, RESUNIT_INCH, 1}, {300, RESUNIT_INCH, 25400.0 / 300},
        {72, RESUNIT_INCH, 0},          {96, RESUNIT_INCH, 0},    {28.35, RESUNIT_CENTIMETER, 0},
        {1, RESUNIT_INCH, 0},           {5, RESUNIT_NONE, 0},     {0, RESUNIT_CENTIMETER, 0},
        {200, MILLIMETRE, 5},           {2, MICROMETRE, 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_volume volume;
        resolution = cases[i].resolution;
        resolution_unit = cases[i].unit > RESUNIT_CENTIMETER ? RESUNIT_CENTIMETER : cases[i].unit;
        tiff_sample_write(sample_path("in.tif"),
                          &(struct tiff_sample){.type = VF_U8, .nx = 3, .ny = 3, .more = set_resolution});
        put_unit((uint16_t)cases[i].unit);
        sample_read(sample_path("in.tif"), &reader, &volume);
        const struct vf_info *info = vf_reader_info(reader);
        cr_assert_eq(info->spacing_known[0], cases[i].spacing != 0, "case %zu", i);
        cr_assert_eq(info->spacing_known[1], cases[i].spacing != 0, "case %zu", i);
        cr_assert_not(info->spacing_known[2]);
        if (cases[i].spacing != 0) {
            cr_assert_float_eq(info->spacing[0], cases[i].spacing, 1e-6 * cases[i].spacing, "case %zu", i);
            cr_assert_str_eq(info->unit, "um");
        } else {
            cr_assert_str_eq(info->unit, "");
        }
        sample_close(reader, &volume);
    }
}

/* ImageJ has numbers in the unit of its description. */
Test(io_tags, unit_of_the_tag_beside_imagej)
{
    resolution = 2;
    resolution_unit = RESUNIT_CENTIMETER;
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U8,
                                                                   .nx = 3,
                                                                   .ny = 3,
                                                                   .description = "ImageJ=1.53t\nunit=um\n",
                                                                   .more = set_resolution});
    put_unit(MICROMETRE);
    const struct vf_info info = sample_info(sample_path("in.tif"));
    cr_assert(info.spacing_known[0] && fabs(info.spacing[0] - 0.5) < 1e-6, "%g", info.spacing[0]);
}

/* BigTIFF when classic TIFF's 32-bit offsets could run out. The writer is only opened. */
Test(io_tags, big_tiff_when_needed)
{
    static const struct {
        size_t nz;
        enum vf_compression compression;
        bool big;
    } cases[] = {
        {1, VF_COMPRESS_NONE, false},   {4000, VF_COMPRESS_NONE, false}, {4200, VF_COMPRESS_NONE, true},
        {2700, VF_COMPRESS_LZW, false}, {2900, VF_COMPRESS_LZW, true},   {4000, VF_COMPRESS_DEFLATE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_error error;
        struct vf_writer *writer;
        struct vf_info info = {.type = VF_U8, .shape = {1000, 1000, cases[i].nz, 1, 1}, .page_channels = 1};
        const struct vf_output_options options = {.compression = cases[i].compression};
        unsigned char *head;
        size_t size;
        info.page_count = cases[i].nz;
        cr_assert_eq(vf_writer_open(&writer, sample_path("big.tif"), VF_FORMAT_TIFF, &info, &options, &error),
                     VF_OK);
        head = sample_get(sample_unfinished_path(), &size);
        cr_assert_eq(head[2], cases[i].big ? 43 : 42, "case %zu", i);
        free(head);
        vf_writer_close(writer);
        cr_assert_eq(sample_file_count(), 0);
    }
}
