/* What files hold besides their pages, and what of it is said not to be kept: private tags, those of later
 * pages, georeferences, colours, pyramids, sizes without a unit. */
#include <criterion/criterion.h>
#include <string.h>

#include "io_samples.h"

TestSuite(io_notes, .init = samples_begin, .fini = samples_end);

static uint16_t noted_tags[4];

static void set_noted(TIFF *tif, uint32_t page)
{
    static const uint64_t nowhere[2] = {0, 0};
    static TIFFFieldInfo fields[4];
    for (int i = 0; i < 4 && noted_tags[i] != 0; i++) {
        fields[i] = (TIFFFieldInfo){noted_tags[i], 1, 1, TIFF_SHORT, FIELD_CUSTOM, 1, 0, (char *)"own"};
        TIFFMergeFieldInfo(tif, &fields[i], 1);
        TIFFSetField(tif, noted_tags[i], 1);
    }
    if (page == 0 && noted_tags[0] == 0)
        TIFFSetField(tif, TIFFTAG_SUBIFD, 2, nowhere);
}

static struct vf_info info_of(uint32_t pages, void (*more)(TIFF *tif, uint32_t page))
{
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 4, .ny = 4, .pages = pages, .more = more});
    return sample_info(sample_path("in.tif"));
}

Test(io_notes, private_tags_are_noted_once)
{
    memcpy(noted_tags, (uint16_t[]){34412, 51123, 60000, 60001}, sizeof noted_tags);
    cr_assert_str_eq(
        info_of(3, set_noted).note,
        "private tags are neither read nor kept: 34412 (Zeiss LSM), 51123 (Micro-Manager), 60000 and 1 "
        "more");
}

static unsigned char lsm[28];

static void set_lsm(TIFF *tif, uint32_t page)
{
    static const TIFFFieldInfo field = {34412, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_BYTE, FIELD_CUSTOM, 1,
                                        1,     (char *)"lsm"};
    if (page > 0)
        return;
    TIFFMergeFieldInfo(tif, &field, 1);
    TIFFSetField(tif, 34412, (uint32_t)sizeof lsm, lsm);
}

/* Zeiss's tag says how many of the pages are planes, and how many are times. */
Test(io_notes, lsm_tells_of_times)
{
    static const struct {
        unsigned char planes, times;
        size_t nz, nt;
    } cases[] = {{3, 2, 3, 2}, {1, 6, 1, 6}, {6, 1, 6, 1}, {3, 3, 6, 1}, {0, 0, 6, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lsm[16] = cases[i].planes;
        lsm[24] = cases[i].times;
        const struct vf_info info = info_of(6, set_lsm);
        cr_expect(info.shape.nz == cases[i].nz && info.shape.nt == cases[i].nt, "case %zu: %zu, %zu", i,
                  info.shape.nz, info.shape.nt);
        struct vf_info result;
        vf_info_for_result(&info, VF_FORMAT_TIFF, VF_U8, 1, &result);
        cr_expect_eq(result.metadata, cases[i].nt > 1 ? VF_META_IMAGEJ : VF_META_PLAIN, "case %zu", i);
    }
}

static const TIFFFieldInfo geo_fields[] = {
    {33550, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"scale"},
    {34735, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)"keys"},
    {34737, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"words"},
    {42113, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"no data"},
};
static const double geo_scale[] = {30, 25.5, 0};
static const uint16_t geo_keys[] = {1, 1, 0, 1, 1024, 0, 1, 1};
static const char geo_words[] = "WGS 84|";

static void set_on_second(TIFF *tif, uint32_t page)
{
    static const TIFFFieldInfo own = {60000, 1, 1, TIFF_SHORT, FIELD_CUSTOM, 1, 0, (char *)"own"};
    static const float white[] = {0.3457f, 0.3585f};
    TIFFSetField(tif, TIFFTAG_MAKE, "maker");
    if (page != 1)
        return;
    TIFFMergeFieldInfo(tif, &own, 1);
    TIFFSetField(tif, 60000, 1);
    TIFFSetField(tif, TIFFTAG_ARTIST, "somebody");
    TIFFSetField(tif, TIFFTAG_ICCPROFILE, 4, "mine");
    TIFFSetField(tif, TIFFTAG_XMLPACKET, 11, "<x:xmpmeta>");
    TIFFSetField(tif, TIFFTAG_WHITEPOINT, white);
    TIFFSetField(tif, TIFFTAG_PAGENAME, "second");
    TIFFSetField(tif, TIFFTAG_DATETIME, "2026:01:02 03:04:05");
    TIFFMergeFieldInfo(tif, geo_fields, 4);
    TIFFSetField(tif, 33550, 3, geo_scale);
}

Test(io_notes, tags_of_later_pages_are_noted)
{
    cr_expect_str_eq(info_of(3, set_on_second).note,
                     "XMP is neither read nor kept; "
                     "white point, primaries and transfer function are neither read nor kept; "
                     "private tags are neither read nor kept: 60000; tags that only later pages have are "
                     "not kept: 315 (Artist), 33550 (GeoTIFF), 34675 (ICC Profile)");
}

static void set_other_resolutions(TIFF *tif, uint32_t page)
{
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, 100.0 * (page + 1));
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, 100.0);
}

Test(io_notes, resolutions_of_later_pages_are_noted)
{
    for (uint32_t pages = 1; pages < 3; pages++) {
        cr_expect_str_eq(
            info_of(pages, set_other_resolutions).note,
            pages == 1
                ? ""
                : "later pages have other resolutions than the first, which are neither read nor kept");
    }
}

static void set_others_on_second(TIFF *tif, uint32_t page)
{
    TIFFSetField(tif, TIFFTAG_ARTIST, page == 1 ? "another" : "somebody");
    TIFFSetField(tif, TIFFTAG_MAKE, "maker");
    TIFFSetField(tif, TIFFTAG_DATETIME, page == 1 ? "2026:01:02 03:04:05" : "2026:01:02 03:04:06");
    TIFFSetField(tif, TIFFTAG_ICCPROFILE, 4, page == 1 ? "ours" : "mine");
    if (page == 1)
        TIFFSetField(tif, TIFFTAG_ORIENTATION, ORIENTATION_BOTRIGHT);
}

Test(io_notes, tags_that_later_pages_have_otherwise_are_noted)
{
    for (uint32_t pages = 1; pages < 4; pages++) {
        cr_expect_str_eq(info_of(pages, set_others_on_second).note,
                         pages == 1 ? ""
                                    : "of tags that later pages have otherwise the first page's are kept: "
                                      "274 (Orientation), 315 (Artist), 34675 (ICC Profile)");
    }
}

/* Andor's are below 32768. */
Test(io_notes, private_tags_by_any_number)
{
    memcpy(noted_tags, (uint16_t[]){4864, 0, 0, 0}, sizeof noted_tags);
    cr_assert_str_eq(info_of(1, set_noted).note, "private tags are neither read nor kept: 4864");
}

static void set_geo(TIFF *tif, uint32_t page)
{
    (void)page;
    TIFFMergeFieldInfo(tif, geo_fields, 4);
    TIFFSetField(tif, 33550, 3, geo_scale);
    TIFFSetField(tif, 34735, 8, geo_keys);
    TIFFSetField(tif, 34737, (uint32_t)sizeof geo_words, geo_words);
    TIFFSetField(tif, 42113, 6, "-9999");
}

/* Where the pixels are stays true; which value stands for none does not, where it is filtered as a number. */
Test(io_notes, georeference)
{
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        uint32_t count;
        const void *data;
        tiff_sample_write(sample_path("in.tif"),
                          &(struct tiff_sample){
                              .type = VF_I16, .nx = 4, .ny = 4, .big_endian = big_endian, .more = set_geo});
        cr_expect_str_eq(sample_info(sample_path("in.tif")).note,
                         "private tags are neither read nor kept: 42113 (GDAL no-data value)");
        cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 1), "");
        cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_MRC, VF_I16, 1),
                         "where on Earth it is (GeoTIFF)");
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
        cr_assert(TIFFGetField(tif, 33550, &count, &data) && count == 3);
        cr_expect_arr_eq(data, geo_scale, sizeof geo_scale);
        cr_assert(TIFFGetField(tif, 34735, &count, &data) && count == 8);
        cr_expect_arr_eq(data, geo_keys, sizeof geo_keys);
        cr_assert(TIFFGetField(tif, 34737, &count, &data) && count == sizeof geo_words);
        cr_expect_str_eq(data, geo_words);
        cr_expect_eq(TIFFGetField(tif, 42113, &count, &data), 0);
        TIFFClose(tif);
    }
}

static const float *noted_white;

static void set_xmp(TIFF *tif, uint32_t page)
{
    static const float primaries[] = {0.64f, 0.33f, 0.3f, 0.6f, 0.15f, 0.06f};
    if (page == 0) {
        TIFFSetField(tif, TIFFTAG_XMLPACKET, 11, "<x:xmpmeta>");
        TIFFSetField(tif, TIFFTAG_WHITEPOINT, noted_white);
        TIFFSetField(tif, TIFFTAG_PRIMARYCHROMATICITIES, primaries);
    }
}

/* Some programs state the colours of sRGB in every file. */
Test(io_notes, xmp_and_colours_are_said_not_to_be_kept)
{
    static const float paper[] = {0.3457f, 0.3585f}, screen[] = {0.3127f, 0.329f};
    for (int own = 0; own < 2; own++) {
        noted_white = own ? paper : screen;
        cr_assert_str_eq(info_of(2, set_xmp).note,
                         own ? "XMP is neither read nor kept; "
                               "white point, primaries and transfer function are neither read nor kept"
                             : "XMP is neither read nor kept");
    }
}

/* Two smaller copies under the first page, then the second page. libtiff writes the directories that follow a
 * SubIFD tag as its own. */
Test(io_notes, pyramids_are_kept_out_of_the_way)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8, .nx = 4, .ny = 4, .pages = 4, .more = set_noted});
    sample_read(sample_path("in.tif"), &reader, &volume);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert_eq(info->shape.nz, 2);
    cr_assert_str_eq(info->note, "2 smaller copies of each page (SubIFDs) are not read");
    uint8_t expected;
    sample_value(VF_U8, 3, 0, 2, 1, &expected);
    cr_assert_eq(((uint8_t *)vf_volume_plane(&volume, 0, 0, 1))[9], expected);
    sample_close(reader, &volume);
}

/* Formats that name a unit cannot hold a size without one. */
Test(io_notes, spacing_without_a_unit)
{
    static const char lost[] = "its voxel size, which has no unit (--spacing takes one: 2um)";
    static const struct {
        enum vf_format format;
        enum vf_metadata metadata;
        const char *unit, *lost;
    } cases[] = {
        {VF_FORMAT_PNG, VF_META_PLAIN, "", lost},  {VF_FORMAT_MRC, VF_META_PLAIN, "", lost},
        {VF_FORMAT_TIFF, VF_META_PLAIN, "", lost}, {VF_FORMAT_TIFF, VF_META_IMAGEJ, "", ""},
        {VF_FORMAT_TIFF, VF_META_OME, "", ""},     {VF_FORMAT_TIFF, VF_META_PLAIN, "um", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        const struct vf_info input = {.shape = {4, 4, 1, 1, 1}, .page_channels = 1, .page_count = 1};
        struct vf_info result = input;
        result.format = cases[i].format;
        result.metadata = cases[i].metadata;
        result.spacing_known[0] = result.spacing_known[1] = true;
        result.spacing[0] = result.spacing[1] = 2;
        strcpy(result.unit, cases[i].unit);
        vf_info_lost(&input, &result, text, sizeof text);
        cr_expect_str_eq(text, cases[i].lost, "%zu: %s", i, text);
    }
}

/* A single plane has no neighbour. */
Test(io_notes, distance_between_planes)
{
    char text[200];
    struct vf_info result = {.format = VF_FORMAT_TIFF,
                             .type = VF_U8,
                             .shape = {4, 4, 1, 1, 1},
                             .page_channels = 1,
                             .page_count = 1,
                             .spacing_known = {true, true, true},
                             .spacing = {2, 2, 3},
                             .unit = "um"};
    vf_info_lost(&result, &result, text, sizeof text);
    cr_expect_str_eq(text, "");
    result.shape.nz = result.page_count = 2;
    vf_info_lost(&result, &result, text, sizeof text);
    cr_expect_str_eq(text, "the distance between planes (only ImageJ TIFF, OME-TIFF and MRC can store it)");
}

Test(io_notes, alpha_that_a_result_cannot_hold)
{
    char text[200];
    const struct vf_info input = {
        .type = VF_U8, .shape = {4, 4, 1, 4, 1}, .page_channels = 4, .page_count = 1, .has_alpha = true};
    struct vf_info result = input;
    vf_info_lost(&input, &result, text, sizeof text);
    cr_expect_str_eq(text, "");
    result.has_alpha = false;
    vf_info_lost(&input, &result, text, sizeof text);
    cr_expect_str_eq(text, "its alpha channel (only a result with the input's channels can hold it)");
    result.type = VF_F32;
    vf_info_lost(&input, &result, text, sizeof text);
    cr_expect_str_eq(text, "its alpha channel (only a result of the input's type can hold it)");
}
