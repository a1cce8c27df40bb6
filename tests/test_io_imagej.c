/* ImageJ's stacks: what its description says of pages and voxels, and what is written of a result. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "imagej.h"
#include "io_samples.h"

TestSuite(io_imagej, .init = samples_begin, .fini = samples_end);

static double resolution[2];
static int resolution_unit;

static void set_resolution(TIFF *tif, uint32_t page)
{
    if (page == 0 && resolution[0] > 0) {
        TIFFSetField(tif, TIFFTAG_XRESOLUTION, resolution[0]);
        TIFFSetField(tif, TIFFTAG_YRESOLUTION, resolution[1]);
        TIFFSetField(tif, TIFFTAG_RESOLUTIONUNIT, resolution_unit);
    }
}

static void write_stack(const char *description, uint32_t pages)
{
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                   .nx = 6,
                                                                   .ny = 5,
                                                                   .pages = pages,
                                                                   .big_endian = true,
                                                                   .description = description,
                                                                   .more = set_resolution});
}

static struct vf_info info_of(const char *path)
{
    struct vf_reader *reader;
    struct vf_error error;
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK, "%s", error.text);
    struct vf_info info = *vf_reader_info(reader);
    vf_reader_close(reader);
    info.tags = NULL;
    return info;
}

/* Channels that are filtered as planes of a stack are told of; planes alone are not worth a word. */
Test(io_imagej, shapes_that_are_passed_over)
{
    static const struct {
        const char *description, *note;
    } cases[] = {
        {"ImageJ=1.53t\nimages=12\nchannels=5\nslices=2\n",
         "5 channels, 2 slices and 1 frames are not its 12 pages: taken as one stack"},
        {"ImageJ=1.53t\nimages=99\nslices=99\n", ""},
        {"ImageJ=1.53t\nimages=12\nchannels=2\nslices=6\n", ""},
        {"{\"shape\": [3, 4, 8, 9], \"axes\": \"TZYX\"}",
         "an array of 3, 4, 8, 9, whose pages are taken as one stack (--slices filters each by itself)"},
        {"{\"shape\": [12, 8, 9]}", ""},
        {"{\"shape\": [", ""},
        {"{\"shape\": [x]}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_stack(cases[i].description, 12);
        const struct vf_info info = info_of(sample_path("in.tif"));
        cr_expect_str_eq(info.note, cases[i].note);
        cr_expect_eq(info.shape.nz, cases[i].description[0] == '{' || i == 0 || i == 1 ? 12 : 6);
    }
}

Test(io_imagej, shapes)
{
    static const struct {
        const char *description;
        size_t pages, nc, nz, nt;
    } cases[] = {
        {"ImageJ=1.53t\n", 1, 1, 1, 1},
        {"ImageJ=1.53t\nimages=12\nslices=12\n", 12, 1, 12, 1},
        {"ImageJ=1.53t\nimages=12\n", 12, 1, 12, 1},
        {"ImageJ=1.53t\nimages=12\nframes=12\n", 12, 1, 1, 12},
        {"ImageJ=1.53t\nimages=12\nchannels=2\nslices=3\nframes=2\nhyperstack=true\n", 12, 2, 3, 2},
        {"ImageJ=1.53t\r\nimages=12\r\nchannels=2\r\nslices=6\r\n", 12, 2, 6, 1},
        {"ImageJ=1.53t\nimages=12.0\nchannels=3.0\nslices=4.0\n", 12, 3, 4, 1},
        {"ImageJ=1.53t\nimages=12\nchannels=5\nslices=2\n", 12, 1, 12, 1}, /* counts that do not agree */
        {"ImageJ=1.53t\nimages=99\nslices=99\n", 12, 1, 12, 1}, /* another program took pages out */
        {"ImageJ=1.53t\nchannels=-4\nslices=1e99\nframes=nan\n", 12, 1, 12, 1},
        {"ImageJ=1.53t\nchannels=2000000000\nslices=2000000000\nframes=2000000000\n", 12, 1, 12, 1},
        {"ImageJ=1.53t\nimages=62\nslices=62\n", 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_stack(cases[i].description, (uint32_t)cases[i].pages);
        const struct vf_info info = info_of(sample_path("in.tif"));
        cr_assert_eq(info.metadata, VF_META_IMAGEJ);
        cr_assert(
            info.shape.nc == cases[i].nc && info.shape.nz == cases[i].nz && info.shape.nt == cases[i].nt,
            "case %zu: %zu channels %zu slices %zu frames", i, info.shape.nc, info.shape.nz, info.shape.nt);
        cr_assert_eq(info.page_count, cases[i].pages);
    }
}

/* Channels run fastest, then slices, then frames. */
Test(io_imagej, page_order)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    write_stack("ImageJ=1.53t\nimages=12\nchannels=2\nslices=3\nframes=2\nhyperstack=true\n", 12);
    sample_read(sample_path("in.tif"), &reader, &volume);
    for (size_t t = 0; t < 2; t++)
        for (size_t z = 0; z < 3; z++)
            for (size_t c = 0; c < 2; c++) {
                uint16_t value;
                sample_value(VF_U16, c + 2 * (z + 3 * t), 0, 4, 2, &value);
                cr_assert_eq(((uint16_t *)vf_volume_plane(&volume, t, c, z))[4 * 6 + 2], value);
            }
    vf_volume_free(&volume);
    vf_reader_close(reader);
}

/* Other programs' "order": the axes of the pages, the fastest first. */
Test(io_imagej, other_page_orders)
{
    static const struct {
        const char *order;
        size_t step[3]; /* of c, z, t */
    } cases[] = {{"czt", {1, 2, 6}}, {"zct", {3, 1, 6}},   {"xyzct", {3, 1, 6}}, {"ctz", {1, 4, 2}},
                 {"TZC", {6, 2, 1}}, {"bogus", {1, 2, 6}}, {"XYZTC", {6, 1, 3}}, {"tcz", {2, 4, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        struct vf_reader *reader;
        struct vf_volume volume;
        snprintf(text, sizeof text, "ImageJ=1.53t\nimages=12\nchannels=2\nslices=3\nframes=2\norder=%s\n",
                 cases[i].order);
        write_stack(text, 12);
        sample_read(sample_path("in.tif"), &reader, &volume);
        for (size_t p = 0; p < 12; p++) {
            const size_t c = p % 2, z = p / 2 % 3, t = p / 6, *step = cases[i].step;
            uint16_t value;
            sample_value(VF_U16, c * step[0] + z * step[1] + t * step[2], 0, 4, 2, &value);
            cr_assert_eq(((uint16_t *)vf_volume_plane(&volume, t, c, z))[4 * 6 + 2], value, "%s page %zu",
                         cases[i].order, p);
        }
        vf_volume_free(&volume);
        vf_reader_close(reader);
    }
}

Test(io_imagej, spacing)
{
    static const struct {
        const char *description;
        double x, y;
        int unit;
        bool known[3];
        double spacing[3];
        const char *name;
    } cases[] = {
        {"ImageJ=1.5\nunit=micron\nspacing=3.0\n", 2, 2, 1, {1, 1, 1}, {0.5, 0.5, 3}, "um"},
        {"ImageJ=1.5\nunit=\\u00B5m\nspacing=0.125\n",
         44,
         22,
         1,
         {1, 1, 1},
         {1 / 44.0, 1 / 22.0, 0.125},
         "um"},
        {"ImageJ=1.5\nunit=\xc2\xb5m\nspacing=-2\n", 4, 4, 1, {1, 1, 1}, {0.25, 0.25, 2}, "um"},
        {"ImageJ=1.5\nunit=nm\n", 0.1, 0.1, 1, {1, 1, 0}, {10, 10, 0}, "nm"},
        {"ImageJ=1.5\nunit=cm\nspacing=2\n", 2, 2, 3, {1, 1, 1}, {5, 5, 20}, "mm"},
        {"ImageJ=1.5\nunit=inch\n", 254, 254, 2, {1, 1, 0}, {0.1, 0.1, 0}, "mm"},
        {"ImageJ=1.5\nunit=mm\nzunit=micron\nspacing=500\n", 1, 1, 1, {1, 1, 1}, {1, 1, 0.5}, "mm"},
        {"ImageJ=1.5\nunit=mm\nzunit=sec\nspacing=500\n", 1, 1, 1, {1, 1, 0}, {1, 1, 0}, "mm"},
        {"ImageJ=1.5\nunit=pixel\nspacing=3\n", 0, 0, 1, {1, 1, 1}, {1, 1, 3}, ""},
        {"ImageJ=1.5\nspacing=3\n", 72, 72, 2, {1, 1, 1}, {1, 1, 3}, ""},
        {"ImageJ=1.5\nunit=furlong\n", 0.5, 0.5, 1, {1, 1, 0}, {2, 2, 0}, ""},
        {"ImageJ=1.5\nunit=pixel\n", 1, 1, 1, {0, 0, 0}, {0, 0, 0}, ""},
        {"ImageJ=1.5\n", 72, 72, 2, {0, 0, 0}, {0, 0, 0}, ""},
        {"ImageJ=1.5\n", 300, 300, 2, {1, 1, 0}, {25.4 / 300, 25.4 / 300, 0}, "mm"},
        {"ImageJ=1.5\nunit=um\nspacing=inf\n", 2, 2, 1, {1, 1, 0}, {0.5, 0.5, 0}, "um"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        resolution[0] = cases[i].x;
        resolution[1] = cases[i].y;
        resolution_unit = cases[i].unit;
        write_stack(cases[i].description, 2);
        const struct vf_info info = info_of(sample_path("in.tif"));
        cr_assert_str_eq(info.unit, cases[i].name, "case %zu: %s", i, info.unit);
        for (int axis = 0; axis < 3; axis++) {
            cr_assert_eq(info.spacing_known[axis], cases[i].known[axis], "case %zu axis %d", i, axis);
            if (cases[i].known[axis])
                cr_assert_float_eq(info.spacing[axis], cases[i].spacing[axis], 1e-6 * cases[i].spacing[axis],
                                   "case %zu axis %d: %g", i, axis, info.spacing[axis]);
        }
    }
}

/* Writes a result of in.tif and returns its first description. */
static const char *describe_result(enum vf_type type, size_t outputs, double z_spacing)
{
    static char text[1024];
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_info result;
    struct vf_error error;
    const char *description;
    size_t bytes;
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, type, outputs, &result);
    if (z_spacing > 0) {
        result.spacing_known[2] = true;
        result.spacing[2] = z_spacing;
    }
    cr_assert_eq(vf_volume_alloc(&volume, type, &result.shape, "result", &error), VF_OK);
    vf_volume_bytes(type, &result.shape, &bytes);
    memset(volume.data, 0, bytes);
    sample_write_volume(sample_path("out.tif"), &result, &volume, &(struct vf_output_options){0});
    vf_volume_free(&volume);
    vf_reader_close(reader);
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description));
    snprintf(text, sizeof text, "%s", description);
    TIFFClose(tif);
    return text;
}

Test(io_imagej, description_of_a_result)
{
    const char *text;
    resolution[0] = resolution[1] = 4;
    resolution_unit = 1;
    write_stack(
        "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=2.0\nloop=false\nmin=3.0\nmax=99.0\nmy=own\n",
        4);
    text = describe_result(VF_U16, 1, 0);
    cr_assert_str_eq(
        text,
        "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=2.0\nloop=false\nmin=3.0\nmax=99.0\n"
        "my=own\n",
        "%s", text);
    text = describe_result(VF_F32, 1, 0);
    cr_assert_str_eq(text, "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=2.0\nloop=false\nmy=own\n",
                     "%s", text);
    text = describe_result(VF_F32, 6, 0);
    cr_assert_str_eq(text,
                     "ImageJ=1.53t\nimages=24\nchannels=6\nslices=4\nhyperstack=true\nmode=grayscale\n"
                     "unit=micron\nspacing=2.0\nloop=false\nmy=own\n",
                     "%s", text);
    const struct vf_info info = info_of(sample_path("out.tif"));
    cr_assert(info.shape.nc == 6 && info.shape.nz == 4 && info.page_channels == 1 && info.page_count == 24);
    cr_assert(info.big_endian && info.spacing_known[0] && info.spacing[0] == 0.25 && info.spacing[2] == 2);
    text = describe_result(VF_U16, 1, 7.5);
    cr_assert_str_eq(
        text,
        "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=7.5\nloop=false\nmin=3.0\nmax=99.0\n"
        "my=own\n",
        "%s", text);
    cr_assert_eq(info_of(sample_path("out.tif")).spacing[2], 7.5);
}

Test(io_imagej, hyperstack_keeps_its_shape)
{
    write_stack("ImageJ=1.53t\nimages=12\nchannels=2\nslices=3\nframes=2\nhyperstack=true\nmode=composite\n",
                12);
    const char *text = describe_result(VF_U16, 1, 0);
    cr_assert_str_eq(
        text, "ImageJ=1.53t\nimages=12\nchannels=2\nslices=3\nframes=2\nhyperstack=true\nmode=composite\n",
        "%s", text);
    text = describe_result(VF_F32, 3, 0);
    cr_assert_str_eq(
        text, "ImageJ=1.53t\nimages=36\nchannels=6\nslices=3\nframes=2\nhyperstack=true\nmode=grayscale\n",
        "%s", text);
}

/* RGB pages stay so while they can; results that ImageJ has no RGB for become channels. */
Test(io_imagej, rgb_pages)
{
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8,
                                            .nx = 6,
                                            .ny = 5,
                                            .pages = 4,
                                            .samples = 3,
                                            .description = "ImageJ=1.53t\nimages=4\nslices=4\n"});
    const struct vf_info in = info_of(sample_path("in.tif"));
    cr_assert(in.shape.nc == 3 && in.page_channels == 3 && in.shape.nz == 4);
    describe_result(VF_U8, 1, 0);
    const struct vf_info same = info_of(sample_path("out.tif"));
    cr_assert(same.rgb && same.page_channels == 3 && same.page_count == 4);
    describe_result(VF_F32, 2, 0);
    const struct vf_info tensor = info_of(sample_path("out.tif"));
    cr_assert(!tensor.rgb && tensor.shape.nc == 6 && tensor.page_channels == 1 && tensor.page_count == 24);
}

/* As Bio-Formats describes them. */
Test(io_imagej, rgb_pages_whose_colours_are_counted)
{
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U8,
                              .nx = 6,
                              .ny = 5,
                              .pages = 12,
                              .samples = 3,
                              .description =
                                  "ImageJ=\nhyperstack=true\nimages=36\nchannels=6\nslices=3\nframes=2"});
    const struct vf_info in = info_of(sample_path("in.tif"));
    cr_assert(in.shape.nc == 6 && in.shape.nz == 3 && in.shape.nt == 2 && in.note[0] == '\0', "%s", in.note);
}

/* An 8-bit stack shown through a lookup table says "palette", but its numbers are intensities. */
static void set_lookup_table(TIFF *tif, uint32_t page)
{
    static uint16_t map[3][256];
    (void)page;
    for (int i = 0; i < 256; i++)
        map[0][i] = (uint16_t)(i * 257);
    TIFFSetField(tif, TIFFTAG_COLORMAP, map[0], map[1], map[2]);
}

Test(io_imagej, lookup_table)
{
    struct tiff_sample s = {.type = VF_U8, .nx = 6, .ny = 5, .pages = 2, .photometric = PHOTOMETRIC_PALETTE};
    struct vf_reader *reader;
    struct vf_volume volume;
    uint16_t photometric, *map[3];
    s.more = set_lookup_table;
    s.description = "ImageJ=1.53t\nimages=2\nslices=2\n";
    tiff_sample_write(sample_path("in.tif"), &s);
    sample_read(sample_path("in.tif"), &reader, &volume);
    sample_check_pages(&volume, 2, 1);
    vf_volume_free(&volume);
    vf_reader_close(reader);
    describe_result(VF_U8, 1, 0);
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric) && photometric == PHOTOMETRIC_PALETTE);
    cr_assert(TIFFGetField(tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) && map[0][255] == 65535);
    TIFFClose(tif);
    describe_result(VF_F32, 1, 0);
    tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric) && photometric == PHOTOMETRIC_MINISBLACK);
    TIFFClose(tif);
    s.description = NULL;
    tiff_sample_write(sample_path("in.tif"), &s);
    cr_assert(strstr(sample_refusal(sample_path("in.tif")), "palette"), "%s",
              sample_refusal(sample_path("in.tif")));
}

/* ImageJ's own tags: the kinds with their counts, then sizes and bytes of each entry. Two labels, a range, a
 * selection, an overlay and one lookup table. */
static const uint32_t own_counts[] = {4 + 5 * 8, 2, 4, 16, 5, 3, 6};
static const char own_bytes[] = "IJIJ"
                                "labl\0\0\0\2"
                                "rang\0\0\0\1"
                                "roi \0\0\0\1"
                                "over\0\0\0\1"
                                "luts\0\0\0\1"
                                "\0a\0b\0c"
                                "0123456789abcdef"
                                "a roi"
                                "ovr"
                                "lookup";
enum { OWN_BYTES = sizeof own_bytes - 1, OWN_COUNTS = sizeof own_counts / sizeof *own_counts };

static const TIFFFieldInfo own_fields[] = {
    {50838, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_LONG, FIELD_CUSTOM, 1, 1, (char *)"counts"},
    {50839, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_BYTE, FIELD_CUSTOM, 1, 1, (char *)"data"},
};

static void set_own_tags(TIFF *tif, uint32_t page)
{
    if (page > 0)
        return;
    TIFFMergeFieldInfo(tif, own_fields, 2);
    TIFFSetField(tif, 50838, OWN_COUNTS, own_counts);
    TIFFSetField(tif, 50839, OWN_BYTES, own_bytes);
}

static void write_own_tags(const char *description)
{
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U8,
                                                                   .nx = 6,
                                                                   .ny = 5,
                                                                   .pages = 2,
                                                                   .big_endian = true,
                                                                   .description = description,
                                                                   .more = set_own_tags});
}

/* The block of out.tif and its counts are these; no bytes: it has none. */
static void check_own_tags(const uint32_t *counts, uint32_t count, const void *bytes, uint32_t size)
{
    const void *data;
    uint32_t found;
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert_eq(TIFFGetField(tif, 50838, &found, &data), count > 0);
    cr_assert(count == 0 || (found == count && memcmp(data, counts, count * sizeof *counts) == 0));
    cr_assert_eq(TIFFGetField(tif, 50839, &found, &data), size > 0);
    cr_assert(size == 0 || (found == size && memcmp(data, bytes, size) == 0));
    TIFFClose(tif);
}

/* What vf_info_lost says of in.tif's result. */
static const char *lost(enum vf_format format, enum vf_type type, size_t outputs)
{
    static char text[VF_NOTE_TEXT];
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), format, type, outputs, &result);
    vf_info_lost(vf_reader_info(reader), &result, text, sizeof text);
    vf_reader_close(reader);
    return text;
}

Test(io_imagej, own_tags)
{
    static const char text[] = "ImageJ=1.53t\nimages=2\nslices=2\n";
    write_own_tags(text);
    describe_result(VF_U8, 1, 0);
    check_own_tags(own_counts, OWN_COUNTS, own_bytes, OWN_BYTES);
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_U8, 1), "");
    /* Another type: ranges no longer hold. */
    describe_result(VF_F32, 1, 0);
    static const uint32_t counts[] = {4 + 4 * 8, 2, 4, 5, 3, 6};
    static const char bytes[] = "IJIJ"
                                "labl\0\0\0\2"
                                "roi \0\0\0\1"
                                "over\0\0\0\1"
                                "luts\0\0\0\1"
                                "\0a\0b\0c"
                                "a roi"
                                "ovr"
                                "lookup";
    check_own_tags(counts, 6, bytes, sizeof bytes - 1);
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_F32, 1), "display ranges");
    /* Other channels: only what is about the plane. */
    describe_result(VF_F32, 3, 0);
    static const uint32_t few_counts[] = {12, 5};
    check_own_tags(few_counts, 2, "IJIJroi \0\0\0\1a roi", 17);
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_F32, 3), "slice labels, display ranges, overlay, lookup tables");
    cr_assert(strstr(lost(VF_FORMAT_MRC, VF_F32, 1), "overlays"));
}

/* Counts that do not agree with the bytes: the block is left out, whatever it says. */
Test(io_imagej, own_tags_damaged)
{
    size_t size;
    write_own_tags("ImageJ=1.53t\nimages=2\nslices=2\n");
    unsigned char *file = sample_get(sample_path("in.tif"), &size);
    unsigned char *counts = memmem(file, size, "\0\0\0\x2c\0\0\0\2\0\0\0\4", 12);
    unsigned char *block = memmem(file, size, own_bytes, 12);
    cr_assert(counts != NULL && block != NULL);
    for (size_t at = 0; at < 4 * OWN_COUNTS + 4 + 5 * 8; at++) {
        unsigned char *byte = at < 4 * OWN_COUNTS ? counts + at : block + at - 4 * OWN_COUNTS;
        *byte ^= 0xc1;
        sample_put(sample_path("in.tif"), file, size);
        describe_result(VF_U8, 1, 0);
        lost(VF_FORMAT_TIFF, VF_F32, 3);
        *byte ^= 0xc1;
    }
    free(file);
}

/* Two pages of ImageJ's, as described, become as many results each as there are names. */
static void write_labelled(const char *description, bool big_endian, const char *const *names, size_t outputs)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_info result;
    struct vf_error error;
    size_t bytes;
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U8,
                                                                   .nx = 6,
                                                                   .ny = 5,
                                                                   .pages = 2,
                                                                   .big_endian = big_endian,
                                                                   .description = description});
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, VF_F32, outputs, &result);
    result.output_label = names;
    cr_assert_eq(vf_volume_alloc(&volume, VF_F32, &result.shape, "result", &error), VF_OK);
    vf_volume_bytes(VF_F32, &result.shape, &bytes);
    memset(volume.data, 0, bytes);
    sample_write_volume(sample_path("out.tif"), &result, &volume, &(struct vf_output_options){0});
    vf_volume_free(&volume);
    vf_reader_close(reader);
}

/* Outputs that have names: a label a page, as ImageJ shows it above the picture. */
Test(io_imagej, labels_of_outputs)
{
    static const char *const names[] = {"xx", NULL, "z"};
    static const uint32_t counts[] = {12, 4, 0, 2, 4, 0, 2};
    for (int big = 0; big < 2; big++) {
        write_labelled("ImageJ=1.53t\nimages=2\n", big, names, 3);
        check_own_tags(counts, 7,
                       big ? "IJIJlabl\0\0\0\6\0x\0x\0z\0x\0x\0z" : "JIJIlbal\6\0\0\0x\0x\0z\0x\0x\0z\0", 24);
    }
}

/* Of several channels a label says too which one it is from. */
Test(io_imagej, labels_of_outputs_of_channels)
{
    static const char *const names[] = {"xx", NULL};
    static const uint32_t counts[] = {12, 26, 18, 26, 18};
    write_labelled("ImageJ=1.53t\nimages=2\nchannels=2\nhyperstack=true\n", true, names, 2);
    check_own_tags(counts, 5,
                   "IJIJlabl\0\0\0\4"
                   "\0c\0h\0a\0n\0n\0e\0l\0 \0001\0:\0 \0x\0x"
                   "\0c\0h\0a\0n\0n\0e\0l\0 \0001"
                   "\0c\0h\0a\0n\0n\0e\0l\0 \0002\0:\0 \0x\0x"
                   "\0c\0h\0a\0n\0n\0e\0l\0 \0002",
                   12 + 2 * (26 + 18));
}

static const char ome_of_4[] =
    "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image><Pixels "
    "DimensionOrder=\"XYZCT\" "
    "SizeX=\"6\" SizeY=\"5\" SizeZ=\"4\" SizeC=\"1\" SizeT=\"1\"><TiffData/></Pixels></Image></OME>";
static const char imagej_of_4[] = "ImageJ=1.53t\nimages=4\nslices=4\n";

/* As ImageJ writes stacks over 4 GiB: one directory, and all planes one after the other. */
static void put_single_directory(const char *description, size_t planes_there, uint32_t samples,
                                 uint32_t scheme)
{
    enum { ENTRIES = 10, WORDS = 60 };
    const size_t plane = 6 * 5 * samples, at = TIFF_RAW_DATA(ENTRIES);
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_SHORT, 1, 6},
        {TIFFTAG_IMAGELENGTH, TIFF_SHORT, 1, 5},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 3, (uint32_t)at},
        {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, scheme},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK},
        {TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, (uint32_t)strlen(description) + 1, (uint32_t)at + 6},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, (uint32_t)at + WORDS},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, samples},
        {TIFFTAG_ROWSPERSTRIP, TIFF_SHORT, 1, 5},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, (uint32_t)plane * 2},
    };
    unsigned char data[WORDS + 4 * 6 * 5 * 3 * 2] = {0, 16, 0, 16, 0, 16};
    memcpy(data + 6, description, strlen(description) + 1);
    for (size_t i = 0; i < planes_there * plane; i++) {
        const size_t pixel = i % plane / samples;
        uint16_t value;
        sample_value(VF_U16, i / plane, i % samples, pixel / 6, pixel % 6, &value);
        data[WORDS + 2 * i] = (unsigned char)(value >> 8);
        data[WORDS + 2 * i + 1] = (unsigned char)value;
    }
    tiff_raw_write(sample_path("in.tif"), true, entries, ENTRIES, data, WORDS + planes_there * plane * 2);
}

Test(io_imagej, single_directory)
{
    for (uint32_t samples = 1; samples <= 3; samples += 2) {
        struct vf_reader *reader;
        struct vf_volume volume;
        put_single_directory(imagej_of_4, 4, samples, COMPRESSION_NONE);
        sample_read(sample_path("in.tif"), &reader, &volume);
        sample_check_pages(&volume, 4, samples);
        vf_volume_free(&volume);
        vf_reader_close(reader);
    }
}

Test(io_imagej, single_directory_of_tifffile)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    put_single_directory("{\"shape\": [4, 5, 6], \"truncated\": true}", 4, 1, COMPRESSION_NONE);
    sample_read(sample_path("in.tif"), &reader, &volume);
    sample_check_pages(&volume, 4, 1);
    vf_volume_free(&volume);
    vf_reader_close(reader);
    /* What is written has a directory for each plane. */
    sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    char *description;
    cr_assert_eq(TIFFNumberOfDirectories(tif), 4);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description), 0);
    TIFFClose(tif);
}

/* That each page is one strip, and where the strips are: one after the other, before the second directory. */
static void check_planes_together(const char *path, uint32_t pages, uint64_t page_bytes)
{
    TIFF *tif = TIFFOpen(path, "rc"); /* c: strips are told as they are stored */
    cr_assert_eq(TIFFNumberOfDirectories(tif), pages);
    const uint64_t first = TIFFGetStrileOffset(tif, 0);
    cr_assert_gt(first, TIFFCurrentDirOffset(tif));
    for (uint32_t page = 0; page < pages; page++) {
        cr_assert(TIFFSetDirectory(tif, (tdir_t)page));
        cr_assert_eq(TIFFNumberOfStrips(tif), 1);
        cr_assert_eq(TIFFGetStrileOffset(tif, 0), first + page * page_bytes);
        cr_assert_eq(TIFFGetStrileByteCount(tif, 0), page_bytes);
        cr_assert(page == 0 || TIFFCurrentDirOffset(tif) >= first + pages * page_bytes);
    }
    TIFFClose(tif);
}

/* ImageJ looks at no other directory than the first; tifffile may not, where its own description is kept. */
Test(io_imagej, planes_follow_each_other)
{
    struct tiff_sample s = {.nx = 300, .ny = 500, .pages = 4};
    for (int k = 0; k < 8; k++) {
        struct vf_reader *reader;
        struct vf_volume volume;
        const bool imagej = k < 4;
        s.type = k & 1 ? VF_U16 : VF_U8;
        s.samples = k & 2 ? 3 : 1;
        s.big_endian = k & 1;
        s.big_tiff = k == 6;
        s.description = imagej ? imagej_of_4 : "{\"shape\": [4, 2, 3]}";
        if (!imagej) {
            s.nx = k == 7 ? 90 : 3;
            s.ny = k == 7 ? 60 : 2;
        }
        tiff_sample_write(sample_path("in.tif"), &s);
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        check_planes_together(sample_path("out.tif"), 4,
                              (uint64_t)s.nx * s.ny * s.samples * vf_type_size(s.type));
        sample_read(sample_path("out.tif"), &reader, &volume);
        sample_check_pages(&volume, 4, s.samples);
        vf_volume_free(&volume);
        vf_reader_close(reader);
    }
}

/* ImageJ undoes differences in LZW of 8 and 16 bits; those of floats hardly any program of microscopists. */
Test(io_imagej, differences_that_others_undo)
{
    static const struct {
        const char *description;
        enum vf_type type;
        enum vf_compression compression;
        uint16_t predictor;
    } cases[] = {{imagej_of_4, VF_U8, VF_COMPRESS_LZW, PREDICTOR_HORIZONTAL},
                 {imagej_of_4, VF_U16, VF_COMPRESS_LZW, PREDICTOR_HORIZONTAL},
                 {imagej_of_4, VF_U32, VF_COMPRESS_LZW, PREDICTOR_NONE},
                 {imagej_of_4, VF_U16, VF_COMPRESS_DEFLATE, PREDICTOR_NONE},
                 {NULL, VF_U16, VF_COMPRESS_DEFLATE, PREDICTOR_NONE},
                 {NULL, VF_U16, VF_COMPRESS_LZW, PREDICTOR_HORIZONTAL},
                 {ome_of_4, VF_U16, VF_COMPRESS_DEFLATE, PREDICTOR_HORIZONTAL},
                 {ome_of_4, VF_F32, VF_COMPRESS_DEFLATE, PREDICTOR_NONE},
                 {NULL, VF_F32, VF_COMPRESS_LZW, PREDICTOR_NONE},
                 {NULL, VF_F64, VF_COMPRESS_DEFLATE, PREDICTOR_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t predictor = 0;
        tiff_sample_write(
            sample_path("in.tif"),
            &(struct tiff_sample){
                .type = cases[i].type, .nx = 6, .ny = 5, .pages = 4, .description = cases[i].description});
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), cases[i].compression);
        TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
        TIFFGetFieldDefaulted(tif, TIFFTAG_PREDICTOR, &predictor);
        cr_assert_eq(predictor, cases[i].predictor, "case %zu: %u", i, predictor);
        TIFFClose(tif);
    }
}

Test(io_imagej, single_directory_cut_short)
{
    put_single_directory(imagej_of_4, 3, 1, COMPRESSION_NONE);
    cr_assert(strstr(sample_refusal(sample_path("in.tif")), "4 images"), "%s",
              sample_refusal(sample_path("in.tif")));
    put_single_directory(imagej_of_4, 1, 1,
                         COMPRESSION_NONE); /* one page that another program took out of a stack */
    cr_assert_eq(info_of(sample_path("in.tif")).shape.nz, 1);
}

/* Planes beyond 4 GiB, in a file with a hole. */
Test(io_imagej, over_4_gib)
{
    enum { NX = 30000, NY = 20000, PAGES = 8, ENTRIES = 9 };
    static const char description[] = "ImageJ=1.53t\nimages=8\nslices=8\n";
    const size_t at = TIFF_RAW_DATA(ENTRIES), plane = (size_t)NX * NY;
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, NX},
        {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, NY},
        {TIFFTAG_BITSPERSAMPLE, TIFF_LONG, 1, 8},
        {TIFFTAG_PHOTOMETRIC, TIFF_LONG, 1, PHOTOMETRIC_MINISBLACK},
        {TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, sizeof description, (uint32_t)at},
        {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 1024},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_LONG, 1, 1},
        {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, NY},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, (uint32_t)plane},
    };
    struct vf_reader *reader;
    struct vf_error error;
    tiff_raw_write(sample_path("in.tif"), false, entries, ENTRIES, description, sizeof description);
    cr_assert_eq(truncate(sample_path("in.tif"), (off_t)(1024 + PAGES * plane - 1)), 0);
    cr_assert_neq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK);
    cr_assert(strstr(error.text, "8 images"), "%s", error.text);
    cr_assert_eq(truncate(sample_path("in.tif"), (off_t)(1024 + PAGES * plane)), 0);
    FILE *file = fopen(sample_path("in.tif"), "r+b");
    cr_assert(file != NULL && fseeko(file, -1, SEEK_END) == 0 && putc(77, file) == 77 && fclose(file) == 0);
    unsigned char *data = malloc(plane);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_reader_info(reader)->shape.nz, PAGES);
    cr_assert_eq(vf_reader_read(reader, PAGES - 1, &(void *){data}, &error), VF_OK, "%s", error.text);
    cr_assert(data[plane - 1] == 77 && data[0] == 0);
    vf_reader_close(reader);
    free(data);
}

/* A result over 4 GiB, of which one plane is written and the rest is a hole: ImageJ's one directory, unless
 * it is compressed or the input was a BigTIFF. */
Test(io_imagej, a_result_over_4_gib)
{
    enum { NX = 1500, NY = 1000, NZ = 1500 };
    uint16_t *plane = malloc(sizeof *plane * NX * NY), *back = malloc(sizeof *back * NX * NY);
    for (size_t i = 0; i < (size_t)NX * NY; i++)
        plane[i] = (uint16_t)(i * 7);
    for (int k = 0; k < 4; k++) {
        struct vf_error error;
        struct vf_writer *writer;
        struct vf_reader *reader;
        struct vf_info info = {.metadata = VF_META_IMAGEJ,
                               .type = VF_U16,
                               .shape = {NX, NY, NZ, 1, 1},
                               .page_channels = 1,
                               .page_count = NZ,
                               .big_endian = k & 1,
                               .big_tiff = k == 3,
                               .spacing_known = {true, true, true},
                               .spacing = {0.5, 0.5, 2},
                               .unit = "um"};
        const struct vf_output_options options = {.compression = k == 2 ? VF_COMPRESS_LZW : VF_COMPRESS_NONE};
        size_t size;
        cr_assert_eq(vf_writer_open(&writer, sample_path("o.tif"), VF_FORMAT_TIFF, &info, &options, &error),
                     VF_OK);
        cr_assert_eq(vf_writer_write(writer, 0, &(const void *){plane}, &error), VF_OK, "%s", error.text);
        unsigned char *head = sample_get(sample_unfinished_path(), &size);
        cr_assert_eq(head[2] + head[3], k < 2 ? 42 : 43);
        sample_put(sample_path("copy.tif"), head, size);
        free(head);
        vf_writer_close(writer);
        if (k >= 2)
            continue;
        cr_assert_eq(truncate(sample_path("copy.tif"), (off_t)(size + (NZ - 1) * sizeof *plane * NX * NY)),
                     0);
        cr_assert_eq(vf_reader_open(&reader, sample_path("copy.tif"), &error), VF_OK, "%s", error.text);
        const struct vf_info *info_back = vf_reader_info(reader);
        cr_assert(info_back->shape.nz == NZ && info_back->spacing[2] == 2 && info_back->spacing[0] == 0.5);
        cr_assert_eq(vf_reader_read(reader, 0, &(void *){back}, &error), VF_OK, "%s", error.text);
        cr_assert_eq(memcmp(plane, back, sizeof *plane * NX * NY), 0);
        cr_assert_eq(vf_reader_read(reader, NZ - 1, &(void *){back}, &error), VF_OK, "%s", error.text);
        vf_reader_close(reader);
    }
    free(plane);
    free(back);
}
