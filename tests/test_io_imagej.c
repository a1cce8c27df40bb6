/* ImageJ's stacks: what its description says of pages and voxels, and what is written of a result. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "imagej.h"
#include "io_samples.h"
#include "io_tags.h"

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

/* Channels that are filtered as planes of a stack are told of; planes alone are not worth a word. */
Test(io_imagej, shapes_that_are_passed_over)
{
    static const struct {
        const char *description, *note;
        bool nothing_said;
    } cases[] = {
        {"ImageJ=1.53t\nimages=12\nchannels=5\nslices=2\n",
         "5 channels, 2 slices and 1 frames do not match its 12 pages: read as 1, 12 and 1", false},
        {"ImageJ=1.53t\nimages=99\nslices=99\n",
         "1 channels, 99 slices and 1 frames do not match its 12 pages: read as 1, 12 and 1; if it was cut "
         "short, copy it again",
         false},
        {"ImageJ=1.53t\nimages=9\nslices=9\n", "", false},
        {"ImageJ=1.53t\nimages=12\nchannels=2\nslices=6\n", "", false},
        {"{\"shape\": [3, 4, 8, 9], \"axes\": \"TRYX\"}",
         "an array of 3, 4, 8, 9 (axes TRYX), whose pages are read as one stack (--slices filters each one "
         "separately)",
         false},
        {"{\"shape\": [12, 8, 9]}", "", true},
        {"{\"shape\": [12, 8, 9], \"axes\": \"ZYX\"}", "", false},
        {"{\"shape\": [12, 8, 9], \"axes\": \"EYX\"}",
         "an array of 12, 8, 9 (axes EYX), whose pages are read as one stack (--slices filters each one "
         "separately)",
         false},
        {"{\"shape\": [", "", true},
        {"{\"shape\": [x]}", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_stack(cases[i].description, 12);
        const struct vf_info info = sample_info(sample_path("in.tif"));
        cr_expect_str_eq(info.note, cases[i].note);
        cr_expect_eq(vf_info_takes_pages_as_planes(&info), cases[i].nothing_said, "case %zu", i);
        cr_expect_eq(info.shape.nz, cases[i].description[0] == '{' || i <= 2 ? 12 : 6);
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
        {"ImageJ=1.53t\nimages=99\nframes=99\n", 12, 1, 1, 12},
        {"ImageJ=1.53t\nimages=30\nchannels=3\nslices=10\n", 12, 3, 4, 1},
        {"ImageJ=1.53t\nimages=24\nchannels=2\nslices=3\nframes=4\n", 12, 2, 3, 2},
        {"ImageJ=1.53t\nimages=24\nchannels=2\nslices=3\nframes=4\n", 6, 2, 3, 1},
        {"ImageJ=1.53t\nimages=6\nframes=6\n", 12, 1, 1, 12},
        {"ImageJ=1.53t\nimages=30\nchannels=3\nslices=10\n", 1, 1, 1, 1},
        {"ImageJ=1.53t\nchannels=-4\nslices=1e99\nframes=nan\n", 12, 1, 12, 1},
        {"ImageJ=1.53t\nchannels=2000000000\nslices=2000000000\nframes=2000000000\n", 12, 1, 12, 1},
        {"ImageJ=1.53t\nimages=62\nslices=62\n", 1, 1, 1, 1},
        {"SCIFIO=0.42\naxes=X,Y,Channel,Z,Time\nimages=12\nchannels=2\nslices=3\nframes=2\n", 12, 2, 3, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_stack(cases[i].description, (uint32_t)cases[i].pages);
        const struct vf_info info = sample_info(sample_path("in.tif"));
        cr_assert_eq(info.metadata, VF_META_IMAGEJ);
        cr_assert(
            info.shape.nc == cases[i].nc && info.shape.nz == cases[i].nz && info.shape.nt == cases[i].nt,
            "case %zu: %zu channels %zu slices %zu frames", i, info.shape.nc, info.shape.nz, info.shape.nt);
        cr_assert_eq(info.page_count, cases[i].pages);
    }
}

/* Rather than smooth across channels. */
Test(io_imagej, pages_that_are_missing)
{
    write_stack("ImageJ=1.53t\nimages=30\nchannels=3\nslices=10\n", 11);
    cr_expect_not_null(strstr(
        sample_refusal(sample_path("in.tif")),
        "3 channels, 10 slices and 1 frames, but it has 11 pages; if it was cut short, copy it again"));
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
    sample_close(reader, &volume);
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
        sample_close(reader, &volume);
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
        {"ImageJ=1.5\nunit=nm\n", 0.1, 0.1, 1, {1, 1, 1}, {10, 10, 1}, "nm"},
        {"ImageJ=1.5\nunit=cm\nspacing=2\n", 2, 2, 3, {1, 1, 1}, {5, 5, 20}, "mm"},
        {"ImageJ=1.5\nunit=inch\n", 254, 254, 2, {1, 1, 0}, {0.1, 0.1, 0}, "mm"},
        {"ImageJ=1.5\nunit=mm\nzunit=micron\nspacing=500\n", 1, 1, 1, {1, 1, 1}, {1, 1, 0.5}, "mm"},
        {"ImageJ=1.5\nunit=mm\nyunit=micron\n", 1, 0.002, 1, {1, 1, 1}, {1, 0.5, 1}, "mm"},
        {"ImageJ=1.11a\nunit=micron\n", 2, 2, 1, {1, 1, 0}, {0.5, 0.5, 0}, "um"},
        {"ImageJ=1.5\nunit=mm\nzunit=sec\nspacing=500\n", 1, 1, 1, {1, 1, 0}, {1, 1, 0}, "mm"},
        {"ImageJ=1.5\nunit=pixel\nspacing=3\n", 0, 0, 1, {1, 1, 1}, {1, 1, 3}, ""},
        {"ImageJ=1.5\nunit=um\nspacing=2,5\n", 2, 2, 1, {1, 1, 0}, {0.5, 0.5, 0}, "um"},
        {"ImageJ=1.5\nspacing=3\n", 72, 72, 2, {1, 1, 1}, {1, 1, 3}, ""},
        {"ImageJ=1.5\nunit=furlong\n", 0.5, 0.5, 1, {1, 1, 0}, {2, 2, 0}, ""},
        {"ImageJ=1.5\nunit=pixel\n", 1, 1, 1, {0, 0, 0}, {0, 0, 0}, ""},
        {"ImageJ=1.5\n", 72, 72, 2, {0, 0, 0}, {0, 0, 0}, ""},
        {"ImageJ=1.5\n", 300, 300, 2, {1, 1, 0}, {25.4 / 300, 25.4 / 300, 0}, "mm"},
        {"ImageJ=1.5\nunit=Angstrom\nspacing=20\n", 0.5, 0.5, 1, {1, 1, 1}, {0.2, 0.2, 2}, "nm"},
        {"ImageJ=1.5\nunit=angstroms\n", 0.5, 0.5, 1, {1, 1, 1}, {0.2, 0.2, 0.1}, "nm"},
        {"ImageJ=1.5\nunit=Mm\n", 0.5, 0.5, 1, {1, 1, 0}, {2, 2, 0}, ""},
        {"ImageJ=1.5\nunit=um\nspacing=inf\n", 2, 2, 1, {1, 1, 0}, {0.5, 0.5, 0}, "um"},
        {"ImageJ=1.5\nunit=cm\nspacing=1e308\n", 2, 2, 1, {1, 1, 0}, {5, 5, 0}, "mm"},
        {"SCIFIO=0.42\naxes=X,Y,Z\nscales=0.5,0.25,3.0\nunit=um\n",
         20000,
         40000,
         3,
         {1, 1, 1},
         {0.5, 0.25, 3},
         "um"},
        {"SCIFIO=0.42\naxes=X,Y,Channel\nscales=0,nan\nunit=um\n", 2, 2, 1, {1, 1, 0}, {0.5, 0.5, 0}, "um"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        resolution[0] = cases[i].x;
        resolution[1] = cases[i].y;
        resolution_unit = cases[i].unit;
        write_stack(cases[i].description, 2);
        const struct vf_info info = sample_info(sample_path("in.tif"));
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
    struct vf_info result;
    struct vf_error error;
    const char *description;
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, type, outputs, &result);
    if (z_spacing > 0) {
        result.spacing_known[2] = true;
        result.spacing[2] = z_spacing;
    }
    sample_write_zeros(sample_path("out.tif"), &result);
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
    const struct vf_info info = sample_info(sample_path("out.tif"));
    cr_assert(info.shape.nc == 6 && info.shape.nz == 4 && info.page_channels == 1 && info.page_count == 24);
    cr_assert(info.big_endian && info.spacing_known[0] && info.spacing[0] == 0.25 && info.spacing[2] == 2);
    text = describe_result(VF_U16, 1, 7.5);
    cr_assert_str_eq(
        text,
        "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=7.5\nloop=false\nmin=3.0\nmax=99.0\n"
        "my=own\n",
        "%s", text);
    cr_assert_eq(sample_info(sample_path("out.tif")).spacing[2], 7.5);
}

/* SCIFIO's becomes ImageJ's own: what it says of axes is in other lines and in the resolution. */
Test(io_imagej, description_of_scifio)
{
    resolution[0] = resolution[1] = 20000;
    resolution_unit = 3;
    write_stack(
        "SCIFIO=0.42\naxes=X,Y,Z,Channel\nlengths=6,5,3,2\nscales=0.5,0.25,3.0,1.0\nunits=um,um,um,null\n"
        "images=6\nchannels=2\nslices=3\nhyperstack=true\nunit=um\nmy=own\n",
        6);
    const char *text = describe_result(VF_U16, 1, 0);
    cr_assert_str_eq(
        text,
        "ImageJ=1.11a\nimages=6\nchannels=2\nslices=3\nhyperstack=true\nunit=micron\nspacing=3\nmy=own\n",
        "%s", text);
    const struct vf_info info = sample_info(sample_path("out.tif"));
    cr_assert(info.spacing[0] == 0.5 && info.spacing[1] == 0.25 && info.spacing[2] == 3);
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

static void write_rgb_pages(uint32_t pages, const char *description)
{
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){
            .type = VF_U8, .nx = 6, .ny = 5, .pages = pages, .samples = 3, .description = description});
}

/* RGB pages stay so while they can; results that ImageJ has no RGB for become channels. */
Test(io_imagej, rgb_pages)
{
    write_rgb_pages(4, "ImageJ=1.53t\nimages=4\nslices=4\n");
    const struct vf_info in = sample_info(sample_path("in.tif"));
    cr_assert(in.shape.nc == 3 && in.page_channels == 3 && in.shape.nz == 4);
    describe_result(VF_U8, 1, 0);
    const struct vf_info same = sample_info(sample_path("out.tif"));
    cr_assert(same.rgb && same.page_channels == 3 && same.page_count == 4);
    describe_result(VF_F32, 2, 0);
    const struct vf_info tensor = sample_info(sample_path("out.tif"));
    cr_assert(!tensor.rgb && tensor.shape.nc == 6 && tensor.page_channels == 1 && tensor.page_count == 24);
}

/* As Bio-Formats describes them. */
Test(io_imagej, rgb_pages_whose_colours_are_counted)
{
    write_rgb_pages(12, "ImageJ=\nhyperstack=true\nimages=36\nchannels=6\nslices=3\nframes=2");
    const struct vf_info in = sample_info(sample_path("in.tif"));
    cr_assert(in.shape.nc == 6 && in.shape.nz == 3 && in.shape.nt == 2 && in.note[0] == '\0', "%s", in.note);
}

/* Two channels hold no pixels of three colours, whatever the counts multiply to. */
Test(io_imagej, channels_that_are_no_whole_pixels)
{
    write_rgb_pages(2, "ImageJ=1.53t\nimages=6\nchannels=2\nslices=3\n");
    const struct vf_info in = sample_info(sample_path("in.tif"));
    cr_expect(in.shape.nc == 3 && in.shape.nz == 2 && in.shape.nt == 1, "%zu %zu %zu", in.shape.nc,
              in.shape.nz, in.shape.nt);
    cr_expect_str_eq(
        in.note,
        "2 channels, 3 slices and 1 frames do not match its 2 pages: read as 1, 2 and 1; if it was cut "
        "short, copy it again");
}

/* An 8-bit stack shown through a lookup table says "palette", but its numbers are intensities. Bio-Formats
 * writes such OME-TIFFs too. */
static uint16_t colours[3][256];

static void set_lookup_table(TIFF *tif, uint32_t page)
{
    (void)page;
    for (int i = 0; i < 256; i++)
        for (int c = 0; c < 3; c++)
            colours[c][i] = (uint16_t)((i ^ (c * 85)) * 257);
    TIFFSetField(tif, TIFFTAG_COLORMAP, colours[0], colours[1], colours[2]);
}

Test(io_imagej, lookup_table)
{
    static const char *const descriptions[] = {
        "ImageJ=1.53t\nimages=2\nslices=2\n",
        "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image ID=\"Image:0\"><Pixels "
        "ID=\"Pixels:0\" DimensionOrder=\"XYZCT\" Type=\"uint8\" SizeX=\"6\" SizeY=\"5\" SizeC=\"1\" "
        "SizeZ=\"2\" SizeT=\"1\"><TiffData/></Pixels></Image></OME>",
    };
    struct tiff_sample s = {.type = VF_U8, .nx = 6, .ny = 5, .pages = 2, .photometric = PHOTOMETRIC_PALETTE};
    struct vf_reader *reader;
    struct vf_volume volume;
    uint16_t photometric, *map[3];
    s.more = set_lookup_table;
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++) {
        s.description = descriptions[i];
        tiff_sample_write(sample_path("in.tif"), &s);
        sample_read(sample_path("in.tif"), &reader, &volume);
        sample_check_pages(&volume, 2, 1);
        sample_close(reader, &volume);
        describe_result(VF_U8, 1, 0);
        TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
        cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric) && photometric == PHOTOMETRIC_PALETTE);
        cr_assert(TIFFGetField(tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]));
        for (int c = 0; c < 3; c++)
            cr_assert_eq(memcmp(map[c], colours[c], sizeof colours[c]), 0, "colour %d", c);
        TIFFClose(tif);
        describe_result(VF_F32, 1, 0);
        tif = TIFFOpen(sample_path("out.tif"), "r");
        cr_assert(TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric) &&
                  photometric == PHOTOMETRIC_MINISBLACK);
        TIFFClose(tif);
        cr_assert_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 1), "its lookup table");
    }
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

static const char *lost(enum vf_format format, enum vf_type type, size_t outputs)
{
    return sample_lost(sample_path("in.tif"), format, type, outputs);
}

static void set_table(TIFF *tif, uint32_t page)
{
    static const TIFFFieldInfo field = {65000, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_SHORT, FIELD_CUSTOM, 1,
                                        1,     (char *)"table"};
    if (page > 0)
        return;
    TIFFMergeFieldInfo(tif, &field, 1);
    TIFFSetField(tif, 65000, 3 * 256, colours);
}

/* ImageJ's of 16 bits, under a tag of our own and then under TIFF's, since libtiff writes no such table. */
Test(io_imagej, lookup_table_of_more_than_8_bits)
{
    size_t size;
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){
            .type = VF_U16, .nx = 6, .ny = 5, .description = "ImageJ=1.53t\n", .more = set_table});
    unsigned char *file = sample_get(sample_path("in.tif"), &size);
    unsigned char *tag = memmem(file, size, (unsigned char[]){0xe8, 0xfd, TIFF_SHORT, 0}, 4);
    cr_assert_not_null(tag);
    memcpy(tag, (unsigned char[]){TIFFTAG_COLORMAP & 0xff, TIFFTAG_COLORMAP >> 8}, 2);
    sample_put(sample_path("in.tif"), file, size);
    free(file);
    cr_assert_str_eq(sample_info(sample_path("in.tif")).note,
                     "its lookup table is neither read nor kept: more than 8 bits");
}

Test(io_imagej, lookup_table_that_is_lost)
{
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U8,
                                                                   .nx = 6,
                                                                   .ny = 5,
                                                                   .photometric = PHOTOMETRIC_PALETTE,
                                                                   .description = "ImageJ=1.53t\n",
                                                                   .more = set_lookup_table});
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_U8, 1), "");
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_F32, 1), "its lookup table");
    cr_assert_str_eq(lost(VF_FORMAT_PNG, VF_U8, 1), "its lookup table");
}

/* What numbers stand for holds while they are the image's; of a gradient's the offset is untrue. */
Test(io_imagej, calibration)
{
    static const char head[] = "ImageJ=1.53t\nimages=2\nslices=2\n",
                      mine[] = "cf=0\nc0=-32768\nc1=1\nvunit=HU\n", rest[] = "cfx=1\nc=2\n";
    char text[200], kept[200];
    snprintf(text, sizeof text, "%s%s%s", head, mine, rest);
    snprintf(kept, sizeof kept, "%s%s", head, rest);
    write_stack(text, 2);
    cr_assert_str_eq(describe_result(VF_U16, 1, 0), text);
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_U16, 1), "");
    cr_assert_str_eq(describe_result(VF_F32, 1, 0), kept);
    cr_assert(strstr(lost(VF_FORMAT_TIFF, VF_F32, 1), "the calibration of its values"));
    cr_assert(strstr(lost(VF_FORMAT_MRC, VF_U16, 1), "the calibration of its values"));
    write_stack(kept, 2);
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_F32, 1), "");
}

/* Places in a table are told of, and no other kind of numbers is said to be ones. */
Test(io_imagej, numbers_of_colours)
{
    static const char text[] = "ImageJ=1.53t\nimages=2\nslices=2\n8bitcolor=true\n";
    write_stack(text, 2);
    const struct vf_info info = sample_info(sample_path("in.tif"));
    cr_expect(strstr(info.note, "numbers of colours") != NULL, "%s", info.note);
    cr_expect_str_eq(describe_result(VF_U16, 1, 0), text);
    cr_expect_str_eq(describe_result(VF_F32, 1, 0), "ImageJ=1.53t\nimages=2\nslices=2\n");
}

/* MRC has volumes of a time each, but not when that was. */
Test(io_imagej, time_between_frames)
{
    write_stack("ImageJ=1.53t\nimages=4\nframes=4\nfinterval=2.5\n", 4);
    cr_expect_str_eq(lost(VF_FORMAT_TIFF, VF_F32, 3), "");
    cr_expect_str_eq(lost(VF_FORMAT_MRC, VF_U16, 1), "the time between frames");
    write_stack("ImageJ=1.53t\nimages=4\nslices=4\nfinterval=2.5\n", 4);
    cr_expect_str_eq(lost(VF_FORMAT_MRC, VF_U16, 1), "");
}

/* A gradient's numbers are no intensities, whatever its type. */
Test(io_imagej, calibration_of_another_kind_of_numbers)
{
    static const char text[] = "ImageJ=1.53t\nimages=2\nslices=2\nmin=3\nmax=200\nc0=-5\nc1=2\nvunit=HU\n";
    char all[VF_NOTE_TEXT];
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    write_stack(text, 2);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, VF_U16, 1, &result);
    result.derived = true;
    vf_info_lost(vf_reader_info(reader), &result, all, sizeof all);
    cr_expect_str_eq(all, "the calibration of its values (ImageJ; results are of the stored numbers)");
    char *description = vf_imagej_describe(text, &result, &error);
    cr_assert_str_eq(description, "ImageJ=1.53t\nimages=2\nslices=2\n");
    vf_free(description);
    vf_reader_close(reader);
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
    cr_assert_str_eq(lost(VF_FORMAT_MRC, VF_F32, 1),
                     "ImageJ's slice labels, display ranges, selection, overlay, lookup tables");
}

/* Labels are of pages as the file has them. */
Test(io_imagej, own_tags_of_another_page_order)
{
    write_own_tags("ImageJ=1.53t\nimages=2\nslices=2\nhyperstack=true\norder=zct\n");
    cr_assert_str_eq(lost(VF_FORMAT_TIFF, VF_U8, 1), "slice labels");
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
        cr_expect_str_neq(lost(VF_FORMAT_TIFF, VF_F32, 3), "", "byte %zu", at);
        *byte ^= 0xc1;
    }
    free(file);
}

/* Two pages of ImageJ's, as described, become as many results each as there are names. */
static void write_labelled(const char *description, bool big_endian, const char *const *names, size_t outputs)
{
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U8,
                                                                   .nx = 6,
                                                                   .ny = 5,
                                                                   .pages = 2,
                                                                   .big_endian = big_endian,
                                                                   .description = description});
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, VF_F32, outputs, &result);
    result.output_label = names;
    sample_write_zeros(sample_path("out.tif"), &result);
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

/* Once as they are put together, once as libtiff has them: sizes and bytes. */
Test(io_imagej, memory_of_own_tags)
{
    enum { BYTES = 1000000, PAGES = 1000 };
    static const char *const names[] = {"xx", NULL, "z"};
    static uint32_t counts[] = {12, BYTES};
    static unsigned char data[12 + BYTES] = "JIJIofni\1";
    struct vf_tags tags = {.ij_counts = counts, .ij_count = 2, .ij_bytes = sizeof data};
    struct vf_info info = {.metadata = VF_META_IMAGEJ,
                           .type = VF_U8,
                           .shape = {8, 8, PAGES, 3, 1},
                           .page_channels = 1,
                           .page_count = 3 * PAGES,
                           .outputs = 3,
                           .tags = &tags};
    const size_t without = vf_writer_bytes(VF_FORMAT_TIFF, &info, 1);
    tags.ij_data = data;
    size_t expected = without + 2 * (sizeof data + sizeof counts);
    cr_expect_eq(vf_writer_bytes(VF_FORMAT_TIFF, &info, 1), expected);
    info.output_label = names;
    expected += 2 * (8 + PAGES * (4 + 0 + 2) + 3 * PAGES * sizeof *counts);
    cr_expect_eq(vf_writer_bytes(VF_FORMAT_TIFF, &info, 1), expected);
    info.metadata = VF_META_PLAIN;
    cr_expect_eq(vf_writer_bytes(VF_FORMAT_TIFF, &info, 1), without);
}
