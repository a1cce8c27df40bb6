/* OME-TIFF: which page is which plane, what the XML says of voxels, what is refused, and the XML of a result.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"

TestSuite(io_ome, .init = samples_begin, .fini = samples_end, .timeout = 300);

#define ROOT "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" UUID=\"urn:uuid:1\">"
#define RESULT_ROOT "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\">"
#define SIZES(c, z, t) "SizeX=\"6\" SizeY=\"5\" SizeC=\"" #c "\" SizeZ=\"" #z "\" SizeT=\"" #t "\""
#define FILE_OF(order, sizes, content)                                                                    \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" ROOT "<Image ID=\"Image:0\" Name=\"a &amp; b\">"         \
    "<Pixels ID=\"Pixels:0\" DimensionOrder=\"" order "\" Type=\"uint16\" " sizes ">" content "</Pixels>" \
    "</Image></OME>"

static void write_file(const char *xml, uint32_t pages)
{
    tiff_sample_write(
        sample_path("in.ome.tif"),
        &(struct tiff_sample){.type = VF_U16, .nx = 6, .ny = 5, .pages = pages, .description = xml});
}

/* Whether plane (c, z, t) is the file's page p. */
static void check_plane(const struct vf_volume *volume, size_t c, size_t z, size_t t, size_t page)
{
    uint16_t expected;
    sample_value(VF_U16, page, 0, 3, 4, &expected);
    cr_assert_eq(((uint16_t *)vf_volume_plane(volume, t, c, z))[3 * 6 + 4], expected,
                 "c=%zu z=%zu t=%zu is not page %zu", c, z, t, page);
}

Test(io_ome, orders_of_dimensions)
{
    static const struct {
        const char *order;
        size_t step[3]; /* of c, z, t */
    } cases[] = {
        {"XYCZT", {1, 2, 6}}, {"XYZCT", {3, 1, 6}}, {"XYCTZ", {1, 4, 2}},
        {"XYZTC", {6, 1, 3}}, {"XYTCZ", {2, 4, 1}}, {"XYTZC", {6, 2, 1}},
    };
    static const char *const contents[] = {"", "<TiffData/>", "<TiffData IFD=\"0\" PlaneCount=\"12\"/>"};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        char xml[1024];
        struct vf_reader *reader;
        struct vf_volume volume;
        snprintf(xml, sizeof xml,
                 ROOT "<Image ID=\"Image:0\"><Pixels ID=\"P\" DimensionOrder=\"%s\" Type=\"uint16\" " SIZES(
                     2, 3, 2) ">%s</Pixels></Image></OME>",
                 cases[i / 3].order, contents[i % 3]);
        write_file(xml, 12);
        sample_read(sample_path("in.ome.tif"), &reader, &volume);
        const struct vf_info *info = vf_reader_info(reader);
        cr_assert_eq(info->metadata, VF_META_OME);
        cr_assert(info->shape.nc == 2 && info->shape.nz == 3 && info->shape.nt == 2);
        for (size_t p = 0; p < 12; p++) {
            const size_t c = p % 2, z = p / 2 % 3, t = p / 6, *step = cases[i / 3].step;
            check_plane(&volume, c, z, t, c * step[0] + z * step[1] + t * step[2]);
        }
        sample_close(reader, &volume);
    }
}

/* Every plane by itself, backwards; pages that no plane is in are passed over, whatever they are. */
Test(io_ome, planes_one_by_one)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    write_file(
        FILE_OF("XYZCT", SIZES(1, 3, 1),
                "<Channel ID=\"C\"/><TiffData IFD=\"4\" FirstZ=\"0\"><UUID FileName=\"x.tif\"> urn:uuid:1 "
                "</UUID></TiffData><TiffData IFD=\"2\" FirstZ=\"1\"/><TiffData IFD=\"1\" FirstZ=\"2\" "
                "PlaneCount=\"1\"/><Plane TheZ=\"0\" TheC=\"0\" TheT=\"0\"/>"),
        6);
    sample_read(sample_path("in.ome.tif"), &reader, &volume);
    cr_assert_eq(vf_reader_info(reader)->page_count, 3);
    check_plane(&volume, 0, 0, 0, 4);
    check_plane(&volume, 0, 1, 0, 2);
    check_plane(&volume, 0, 2, 0, 1);
    sample_close(reader, &volume);
}

Test(io_ome, spacing)
{
    static const struct {
        const char *attributes;
        bool known[3];
        double spacing[3];
        const char *unit;
    } cases[] = {
        {"PhysicalSizeX=\"0.5\" PhysicalSizeY=\"0.25\" PhysicalSizeZ=\"2\"", {1, 1, 1}, {0.5, 0.25, 2}, "um"},
        {"PhysicalSizeX=\"0.5\" PhysicalSizeXUnit=\"\xc2\xb5m\" PhysicalSizeY=\"0.5\" PhysicalSizeZ=\"700\" "
         "PhysicalSizeZUnit=\"nm\"",
         {1, 1, 1},
         {0.5, 0.5, 0.7},
         "um"},
        {"PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"&#197;\" PhysicalSizeY=\"3\" PhysicalSizeYUnit=\"&#xC5;\"",
         {1, 1, 0},
         {0.3, 0.3, 0},
         "nm"},
        {"PhysicalSizeX=\"120\" PhysicalSizeXUnit=\"pm\" PhysicalSizeY=\"0.12\" PhysicalSizeYUnit=\"nm\"",
         {1, 1, 0},
         {0.12, 0.12, 0},
         "nm"},
        {"PhysicalSizeX=\"2\" PhysicalSizeXUnit=\"pixel\" PhysicalSizeY=\"2\" PhysicalSizeYUnit=\"pixel\"",
         {1, 1, 0},
         {2, 2, 0},
         ""},
        {"PhysicalSizeX=\"-2\" PhysicalSizeY=\"nan\" PhysicalSizeZ=\"0\"", {0, 0, 0}, {0, 0, 0}, ""},
        {"PhysicalSizeX=\"1,5\" PhysicalSizeY=\" 2 \" PhysicalSizeZ=\"3 um\"", {0, 1, 0}, {0, 2, 0}, "um"},
        {"PhysicalSizeZ=\"2\" PhysicalSizeZUnit=\"mm\"", {0, 0, 1}, {0, 0, 2}, "mm"},
        {"", {0, 0, 0}, {0, 0, 0}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char xml[1024];
        struct vf_reader *reader;
        struct vf_error error;
        snprintf(xml, sizeof xml,
                 ROOT "<Image><Pixels DimensionOrder=\"XYZCT\" %s " SIZES(1, 2, 1) "/></Image></OME>",
                 cases[i].attributes);
        write_file(xml, 2);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.ome.tif"), &error), VF_OK, "%s", error.text);
        const struct vf_info *info = vf_reader_info(reader);
        cr_assert_str_eq(info->unit, cases[i].unit, "case %zu", i);
        for (int axis = 0; axis < 3; axis++) {
            cr_assert_eq(info->spacing_known[axis], cases[i].known[axis], "case %zu axis %d", i, axis);
            if (cases[i].known[axis])
                cr_assert_float_eq(info->spacing[axis], cases[i].spacing[axis], 1e-12, "case %zu", i);
        }
        vf_reader_close(reader);
    }
}

Test(io_ome, colours_and_several_images)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(
        sample_path("in.ome.tif"),
        &(struct tiff_sample){.type = VF_U8,
                              .nx = 6,
                              .ny = 5,
                              .pages = 4,
                              .samples = 3,
                              .description = ROOT "<Image><Pixels DimensionOrder=\"XYCZT\" " SIZES(
                                  3, 2, 1) "><Channel SamplesPerPixel=\"3\"/><TiffData IFD=\"2\" "
                                           "PlaneCount=\"2\"/></Pixels></Image><Image><Pixels " SIZES(
                                               3, 2, 1) "/></Image></OME>"});
    sample_read(sample_path("in.ome.tif"), &reader, &volume);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert(info->rgb && info->page_channels == 3 && info->shape.nc == 3 && info->shape.nz == 2);
    cr_assert(strstr(info->note, "2 images"), "%s", info->note);
    uint8_t expected;
    sample_value(VF_U8, 3, 2, 1, 1, &expected);
    cr_assert_eq(((uint8_t *)vf_volume_plane(&volume, 0, 2, 1))[7], expected);
    sample_close(reader, &volume);
}

/* A result would not have them. */
Test(io_ome, pages_that_it_does_not_describe)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    write_file(FILE_OF("XYZCT", SIZES(1, 3, 1), "<TiffData/>"), 5);
    sample_read(sample_path("in.ome.tif"), &reader, &volume);
    cr_expect_str_eq(vf_reader_info(reader)->note, "2 pages that its OME-XML does not describe are skipped");
    cr_expect_eq(vf_reader_info(reader)->shape.nz, 3);
    check_plane(&volume, 0, 2, 0, 2);
    sample_close(reader, &volume);
}

static void refused(const char *xml, uint32_t pages, const char *words)
{
    write_file(xml, pages);
    const char *message = sample_refusal(sample_path("in.ome.tif"));
    cr_assert(strstr(message, words) && strstr(message, "in.ome.tif"), "no '%s' in: %s", words, message);
}

Test(io_ome, refusals)
{
    refused(FILE_OF("XYZCT", SIZES(2, 3, 2), ""), 11, "11 pages");
    refused(FILE_OF("XYZCT", SIZES(2000000000, 2000000000, 2000000000), ""), 2, "2 pages");
    refused(FILE_OF("XYZCT", SIZES(0, 1, 1), ""), 2, "SizeC=\"0\"");
    refused(FILE_OF("XYZCT", SIZES(1, -1, 1), ""), 2, "SizeZ=\"-1\"");
    refused(FILE_OF("XYZCT", SIZES(1, 2x, 1), ""), 2, "SizeZ=\"2x\"");
    refused(FILE_OF("XYZZT", SIZES(1, 2, 1), ""), 2, "DimensionOrder");
    refused(FILE_OF("XYZCT", SIZES(1, 2, 1), "<TiffData IFD=\"1\" PlaneCount=\"2\"/>"), 2, "to page 3");
    refused(FILE_OF("XYZCT", SIZES(1, 2, 1), "<TiffData IFD=\"1\" FirstZ=\"7\"/>"), 2, "z=7");
    refused(FILE_OF("XYZCT", SIZES(1, 2, 1), "<TiffData IFD=\"1\" FirstC=\"1\"/>"), 2, "c=1");
    refused(FILE_OF("XYZCT", SIZES(1, 2, 1), "<TiffData IFD=\"1\" FirstT=\"900000\"/>"), 2, "t=900000");
    refused(FILE_OF("XYZCT", SIZES(1, 2, 1), "<TiffData IFD=\"1\" FirstZ=\"1\"/>"), 2, "where plane z=0");
    refused(FILE_OF("XYZCT", SIZES(1, 2, 1), "<TiffData IFD=\"1\"/><TiffData IFD=\"1\" FirstZ=\"1\"/>"), 2,
            "two planes to page 2");
    refused(
        FILE_OF("XYZCT", SIZES(1, 2, 1),
                "<TiffData IFD=\"0\"/><TiffData IFD=\"0\" FirstZ=\"1\"><UUID>urn:uuid:2</UUID></TiffData>"),
        2, "in other files");
    /* A file of several that hold an image has fewer pages than it has planes. */
    refused(
        FILE_OF(
            "XYZCT", SIZES(1, 4, 1),
            "<TiffData IFD=\"0\" PlaneCount=\"2\"/><TiffData IFD=\"0\" FirstZ=\"2\" PlaneCount=\"2\"><UUID "
            "FileName=\"second.ome.tif\">urn:uuid:2</UUID></TiffData>"),
        2, "in other files, as second.ome.tif");
    refused(RESULT_ROOT
            "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\" DimensionOrder=\"XYZCT\" "
            "Type=\"uint16\" " SIZES(
                1, 4,
                1) "><TiffData IFD=\"0\" PlaneCount=\"2\"><UUID "
                   "FileName=\"in.ome.tif\">urn:uuid:1</UUID></TiffData><TiffData IFD=\"0\" FirstZ=\"2\" "
                   "PlaneCount=\"2\"><UUID FileName=\"second.ome.tif\">urn:uuid:2</UUID></TiffData></Pixels>"
                   "</Image></OME>",
            2, "in other files, as second.ome.tif");
    refused(FILE_OF("XYZCT", SIZES(1, 1, 1), "<TiffData><UUID>urn:uuid:2</UUID></TiffData>"), 1,
            "in other files,");
    refused(FILE_OF("XYZCT", SIZES(1, 1, 1), "<Channel>"), 1, "cannot be read: line 1");
    refused(ROOT "</OME>", 1, "no image");
    refused(ROOT "<BinaryOnly MetadataFile=\"x.companion.ome\" UUID=\"urn:uuid:3\"/></OME>", 1,
            "x.companion.ome");
    refused("<!DOCTYPE OME [<!ENTITY a \"b\">]>" ROOT "&a;</OME>", 1, "document type");
    refused("<!DOCTYPE OME SYSTEM \"file:///etc/passwd\">" ROOT "</OME>", 1, "document type");
}

Test(io_ome, channels_that_do_not_fill_their_pages)
{
    tiff_sample_write(sample_path("in.ome.tif"),
                      &(struct tiff_sample){.type = VF_U8,
                                            .nx = 6,
                                            .ny = 5,
                                            .samples = 2,
                                            .description = FILE_OF("XYZCT", SIZES(3, 1, 1), "<TiffData/>")});
    const char *message = sample_refusal(sample_path("in.ome.tif"));
    cr_assert(strstr(message, "in.ome.tif: its OME-XML gives 3 channels in pages of 2 samples"), "%s",
              message);
}

/* Depth, repeats and length have bounds: neither a crash nor a long wait. */
Test(io_ome, hostile_text)
{
    enum { ROOM = 1 << 20 };
    char *xml = malloc(ROOM);
    size_t length = (size_t)snprintf(xml, ROOM, "%s", ROOT);
    while (length < ROOM - 10)
        length += (size_t)snprintf(xml + length, ROOM - length, "<a>");
    refused(xml, 1, "deep");
    length = (size_t)snprintf(xml, ROOM, ROOT "<Image><Pixels DimensionOrder=\"XYZCT\" " SIZES(1, 99, 1) ">");
    while (length < ROOM - 60)
        length += (size_t)snprintf(xml + length, ROOM - length, "<TiffData/>");
    snprintf(xml + length, ROOM - length, "</Pixels></Image></OME>");
    refused(xml, 99, "over and over");
    free(xml);
}

/* ---- results ---- */

static const char *const labels[] = {"xx", NULL, "y<z>"};

/* Writes a result of in.ome.tif and returns its description. */
static const char *describe_result(enum vf_type type, size_t outputs, double x_spacing)
{
    static char text[4096];
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    const char *description;
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.ome.tif"), &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, type, outputs, &result);
    result.output_label = outputs == 3 ? labels : NULL;
    if (x_spacing > 0) {
        result.spacing_known[0] = true;
        result.spacing[0] = x_spacing;
    }
    sample_write_zeros(sample_path("out.ome.tif"), &result);
    vf_reader_close(reader);
    TIFF *tif = TIFFOpen(sample_path("out.ome.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description));
    snprintf(text, sizeof text, "%s", description);
    TIFFClose(tif);
    return text;
}

/* What a result of in.ome.tif does not keep. */
static void expect_lost(enum vf_format format, enum vf_type type, size_t outputs, const char *expected)
{
    cr_expect_str_eq(sample_lost(sample_path("in.ome.tif"), format, type, outputs), expected);
}

static void says(const char *text, const char *part)
{
    cr_assert(strstr(text, part), "no '%s' in: %s", part, text);
}

Test(io_ome, description_of_a_result)
{
    write_file(
        "<?xml version=\"1.0\"?><!-- kept -->" ROOT "<Instrument ID=\"I\"/><Image Name=\"a &lt; b\">"
        "<Pixels ID=\"Pixels:7\" TimeIncrement=\"2\" DimensionOrder=\"XYZCT\" Type=\"uint16\" "
        "PhysicalSizeX=\"0.5\" PhysicalSizeY=\"0.5\" " SIZES(
            2, 2, 1) "><Channel ID=\"Channel:0:0\" Name=\"GFP &amp; co\" Color=\"-1\"><LightPath/></Channel>"
                     "<Channel ID=\"Channel:0:1\"/><TiffData/><Plane TheZ=\"0\" TheC=\"0\" TheT=\"0\" "
                     "PositionX=\"4\"/><AnnotationRef ID=\"A\"/></Pixels></Image><Image Name=\"second\"/>"
                     "<StructuredAnnotations/></OME>",
        4);
    expect_lost(VF_FORMAT_TIFF, VF_U16, 1, "its other images");
    expect_lost(VF_FORMAT_TIFF, VF_F32, 3,
                "times and positions of planes, colours and settings of channels, its other images");
    expect_lost(VF_FORMAT_MRC, VF_U16, 1, "OME metadata");
    const char *text = describe_result(VF_U16, 1, 0);
    cr_assert_str_eq(
        text,
        "<?xml version=\"1.0\"?><!-- kept -->" RESULT_ROOT "<Instrument ID=\"I\"/><Image Name=\"a &lt; b\">"
        "<Pixels ID=\"Pixels:7\" TimeIncrement=\"2\" DimensionOrder=\"XYZCT\" Type=\"uint16\" "
        "BigEndian=\"false\" SizeX=\"6\" SizeY=\"5\" SizeZ=\"2\" SizeC=\"2\" SizeT=\"1\" "
        "PhysicalSizeX=\"0.5\" PhysicalSizeY=\"0.5\">"
        "<Channel ID=\"Channel:0:0\" Name=\"GFP &amp; co\" Color=\"-1\"><LightPath/></Channel>"
        "<Channel ID=\"Channel:0:1\"/><TiffData IFD=\"0\" PlaneCount=\"4\"/><Plane TheZ=\"0\" TheC=\"0\" "
        "TheT=\"0\" PositionX=\"4\"/><AnnotationRef ID=\"A\"/></Pixels></Image>"
        "<StructuredAnnotations/></OME>",
        "%s", text);
    text = describe_result(VF_F32, 3, 2);
    says(text, "Type=\"float\"");
    says(text, "SizeC=\"6\"");
    says(text, "PhysicalSizeX=\"2\"");
    says(text, "<Channel ID=\"Channel:0:0\" SamplesPerPixel=\"1\" Name=\"GFP &amp; co xx\"/>"
               "<Channel ID=\"Channel:0:1\" SamplesPerPixel=\"1\" Name=\"GFP &amp; co\"/>"
               "<Channel ID=\"Channel:0:2\" SamplesPerPixel=\"1\" Name=\"GFP &amp; co y&lt;z&gt;\"/>"
               "<Channel ID=\"Channel:0:3\" SamplesPerPixel=\"1\" Name=\"channel 2: xx\"/>");
    cr_assert_null(strstr(text, "<Plane "));
    cr_assert_null(strstr(text, "second"));
    struct vf_reader *reader;
    struct vf_error error;
    cr_assert_eq(vf_reader_open(&reader, sample_path("out.ome.tif"), &error), VF_OK, "%s", error.text);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert(info->metadata == VF_META_OME && info->shape.nc == 6 && info->shape.nz == 2);
    cr_assert(info->spacing[0] == 2 && info->spacing[1] == 0.5 && strcmp(info->unit, "um") == 0);
    vf_reader_close(reader);
}

/* What refers to other images goes with them; shapes are of no channel where channels are others. */
Test(io_ome, references_and_shapes)
{
    static const char pixels[] =
        "<Pixels DimensionOrder=\"XYZCT\" Type=\"uint16\" " SIZES(2, 2, 1) "><TiffData/></Pixels>";
    char xml[1000];
    for (int named = 0; named < 2; named++) {
        const char *id = named ? " ID=\"Image:3\"" : "";
        snprintf(xml, sizeof xml,
                 ROOT
                 "<Dataset><ImageRef ID='Image:1'/><ImageRef ID=\"Image:3\"></ImageRef><ImageRef "
                 "ID='Image:3'/><ImageRef "
                 "ID=\"Image:33\"/></Dataset><Image%s>%s</Image><Image ID=\"Image:1\">%s</Image>"
                 "<ROI><Union><Point X=\"1\" TheC = '1' Y=\"2\"/><Label TheC=\"0\"/></Union></ROI></OME>",
                 id, pixels, pixels);
        write_file(xml, 4);
        const char *text = describe_result(VF_U16, 1, 0);
        says(text, named ? "<Dataset><ImageRef ID=\"Image:3\"></ImageRef><ImageRef ID='Image:3'/></Dataset>"
                         : "<Dataset><ImageRef ID='Image:1'/><ImageRef ID=\"Image:3\"></ImageRef><ImageRef "
                           "ID='Image:3'/><ImageRef "
                           "ID=\"Image:33\"/></Dataset>");
        says(text,
             "</Image><ROI><Union><Point X=\"1\" TheC = '1' Y=\"2\"/><Label TheC=\"0\"/></Union></ROI>");
        text = describe_result(VF_F32, 3, 0);
        says(text, "</Image><ROI><Union><Point X=\"1\" Y=\"2\"/><Label/></Union></ROI></OME>");
    }
}

/* As OMERO exports them; and longer ones, which are not told apart: all references stay. */
Test(io_ome, references_by_long_names)
{
    static const char lsid[] =
        "urn:lsid:export.openmicroscopy.org:Image:b1a4cbb0-d3a2-4a53-8b54-f1c66b2a5f8e_51234:1";
    char longest[240], xml[2000], kept[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const ids[] = {lsid, longest};
    for (int i = 0; i < 2; i++) {
        snprintf(xml, sizeof xml,
                 ROOT "<Dataset><ImageRef ID=\"%s\"/></Dataset><Image ID=\"%s\"><Pixels "
                      "DimensionOrder=\"XYZCT\" Type=\"uint16\" " SIZES(
                          2, 2, 1) "><TiffData/></Pixels></Image></OME>",
                 ids[i], ids[i]);
        write_file(xml, 4);
        snprintf(kept, sizeof kept, "<Dataset><ImageRef ID=\"%s\"/></Dataset>", ids[i]);
        says(describe_result(VF_U16, 1, 0), kept);
    }
}

static void set_page_name(TIFF *tif, uint32_t page)
{
    TIFFSetField(tif, TIFFTAG_PAGENAME, page == 0 ? "first" : "another");
    if (page == 1)
        TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, "exposure 10 ms");
}

/* One element says the name of all samples of a page. Pages keep names of their own. */
Test(io_ome, names_of_channels_of_several_samples)
{
    char *name;
    tiff_sample_write(
        sample_path("in.ome.tif"),
        &(struct tiff_sample){.type = VF_U16,
                              .nx = 6,
                              .ny = 5,
                              .pages = 2,
                              .samples = 3,
                              .more = set_page_name,
                              .description = ROOT "<Image><Pixels DimensionOrder=\"XYZCT\" " SIZES(
                                  6, 1, 1) "><Channel SamplesPerPixel=\"3\" Name=\"A\"/><Channel "
                                           "SamplesPerPixel=\"3\" Name=\"B\"/><TiffData/></Pixels></Image>"
                                           "</OME>"});
    const struct vf_info info = sample_info(sample_path("in.ome.tif"));
    cr_expect_str_eq(info.note, "descriptions of later pages are not kept");
    const char *text = describe_result(VF_F32, 3, 0);
    static const char *const label[] = {" xx", "", " y&lt;z&gt;"};
    for (int c = 0; c < 18; c++) {
        char channel[128];
        snprintf(channel, sizeof channel,
                 "<Channel ID=\"Channel:0:%d\" SamplesPerPixel=\"1\" Name=\"%c%s\"/>", c, c < 9 ? 'A' : 'B',
                 label[c % 3]);
        cr_expect_not_null(strstr(text, channel), "no %s in %s", channel, text);
    }
    describe_result(VF_U16, 1, 0);
    TIFF *tif = TIFFOpen(sample_path("out.ome.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_PAGENAME, &name));
    cr_expect_str_eq(name, "first");
    TIFFClose(tif);
}

/* A filter may go beyond them. */
Test(io_ome, significant_bits)
{
    write_file(FILE_OF("XYZCT", "SignificantBits=\"12\" " SIZES(1, 2, 1), ""), 2);
    expect_lost(VF_FORMAT_TIFF, VF_U16, 1, "its 12 significant bits per sample");
    expect_lost(VF_FORMAT_TIFF, VF_F32, 1, "");
    says(describe_result(VF_U16, 1, 0), "Type=\"uint16\"");
    cr_assert_null(strstr(describe_result(VF_U16, 1, 0), "SignificantBits"));
    write_file(FILE_OF("XYZCT", "SignificantBits=\"16\" " SIZES(1, 2, 1), ""), 2);
    expect_lost(VF_FORMAT_TIFF, VF_U16, 1, "");
}

/* Those that the program has no name for too, and each axis its own. */
Test(io_ome, units_stay_as_written)
{
    static const char *const sizes[] = {
        "PhysicalSizeX=\"0.50\" PhysicalSizeXUnit=\"reference frame\"",
        "PhysicalSizeX=\"2\" PhysicalSizeXUnit=\"ft\" PhysicalSizeY=\"3\" PhysicalSizeYUnit=\"ft\"",
        ("PhysicalSizeX=\"200\" PhysicalSizeXUnit=\"nm\" PhysicalSizeY=\"0.2\" PhysicalSizeZ=\"3\" "
         "PhysicalSizeZUnit=\"pixel\""),
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 ROOT "<Image><Pixels DimensionOrder=\"XYZCT\" %s " SIZES(2, 1, 1) "><TiffData/></Pixels>"
                                                                                   "</Image></OME>",
                 sizes[i]);
        write_file(xml, 2);
        says(describe_result(VF_U16, 1, 0), sizes[i]);
    }
}

Test(io_ome, another_size_has_the_unit_of_the_file)
{
    write_file(FILE_OF("XYZCT",
                       "PhysicalSizeX=\"200\" PhysicalSizeXUnit=\"nm\" PhysicalSizeY=\"200\" "
                       "PhysicalSizeYUnit=\"nm\" " SIZES(2, 1, 1),
                       "<TiffData/>"),
               2);
    says(describe_result(VF_U16, 1, 300),
         " PhysicalSizeX=\"300\" PhysicalSizeXUnit=\"nm\" PhysicalSizeY=\"200\" PhysicalSizeYUnit=\"nm\"");
}

/* Bio-Formats takes no reference by number: there are some only where the encoding asks for them. */
Test(io_ome, encoding_of_a_result)
{
    static const struct {
        const char *declared, *name, *written, *unit;
    } cases[] = {
        {"", "\303\251\342\202\254 &#169;", "\303\251\342\202\254 \302\251", "\302\265m"},
        {" encoding=\"utf-8\"", "\303\251", "\303\251", "\302\265m"},
        {" encoding=\"ISO-8859-1\"", "\351&#x20ac;&#65536;", "&#233;&#8364;&#65536;", "&#181;m"},
        {" encoding=\"US-ASCII\"", "&#233;", "&#233;", "&#181;m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char xml[1024], expected[256];
        snprintf(xml, sizeof xml,
                 "<?xml version=\"1.0\"%s?>" ROOT "<Image><Pixels DimensionOrder=\"XYZCT\" Name=\"%s\" "
                 "PhysicalSizeX=\"0.5\" PhysicalSizeY=\"0.5\" " SIZES(
                     2, 1, 1) "><Channel ID=\"Channel:0:0\" Name=\"%s\"/><TiffData/></Pixels></Image></OME>",
                 cases[i].declared, cases[i].name, cases[i].name);
        write_file(xml, 2);
        const char *text = describe_result(VF_F32, 3, 2);
        snprintf(expected, sizeof expected, "<Pixels Name=\"%s\"", cases[i].written);
        says(text, expected);
        snprintf(expected, sizeof expected, "Name=\"%s xx\"", cases[i].written);
        says(text, expected);
        snprintf(expected, sizeof expected, "PhysicalSizeYUnit=\"%s\"", cases[i].unit);
        says(text, expected);
    }
}

/* The parser's own memory grows with what is written without a break. */
Test(io_ome, long_names)
{
    enum { LENGTH = 100000, ROOM = LENGTH + 1000 };
    char *name = malloc(LENGTH + 1), *xml = malloc(ROOM);
    const char *description;
    struct vf_reader *reader;
    struct vf_volume volume;
    for (size_t i = 0; i < LENGTH; i++)
        name[i] = (char)('a' + i % 23);
    name[LENGTH] = '\0';
    snprintf(xml, ROOM,
             ROOT "<Image ID=\"Image:0\"><Pixels ID=\"P\" DimensionOrder=\"XYZCT\" Type=\"uint16\" " SIZES(
                 1, 1, 1) "><Channel ID=\"C\" Name=\"%s\"/><TiffData/></Pixels></Image></OME>",
             name);
    write_file(xml, 1);
    sample_copy(sample_path("in.ome.tif"), sample_path("out.ome.tif"), VF_COMPRESS_AS_INPUT);
    sample_read(sample_path("out.ome.tif"), &reader, &volume);
    check_plane(&volume, 0, 0, 0, 0);
    sample_close(reader, &volume);
    TIFF *tif = TIFFOpen(sample_path("out.ome.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description) && strstr(description, name));
    TIFFClose(tif);
    free(name);
    free(xml);
}

/* A data set of a file for each image, all of which describe all: the one that is in this file is read, and
 * its result describes it alone. */
Test(io_ome, image_of_this_file)
{
    static const char there[] = "<TiffData IFD=\"0\" PlaneCount=\"7\"><UUID FileName=\"first.ome.tif\">"
                                "urn:uuid:2</UUID></TiffData>",
                      here[] = "<TiffData IFD=\"0\" PlaneCount=\"2\"><UUID FileName=\"in.ome.tif\">"
                               "urn:uuid:1</UUID></TiffData>";
    char xml[2048];
    struct vf_reader *reader;
    struct vf_volume volume;
    snprintf(
        xml, sizeof xml,
        ROOT
        "<Dataset><ImageRef ID=\"I:0\"/><ImageRef ID=\"I:1\"/></Dataset><Image ID=\"I:0\" Name=\"a\"><Pixels "
        "DimensionOrder=\"XYZCT\" " SIZES(
            1, 7, 1) "><Channel Name=\"not mine\"/>%s</Pixels></Image><Image ID=\"I:1\" Name=\"b\"><Pixels "
                     "DimensionOrder=\"XYZCT\" " SIZES(
                         1, 2, 1) "><Channel Name=\"mine\"/>%s</Pixels></Image><Image Name=\"c\"><Pixels "
                                  "DimensionOrder=\"XYZCT\" " SIZES(1, 1, 1) ">%s</Pixels></Image></OME>",
        there, here, there);
    write_file(xml, 2);
    sample_read(sample_path("in.ome.tif"), &reader, &volume);
    cr_assert_eq(volume.shape.nz, 2);
    cr_assert(strstr(vf_reader_info(reader)->note, "number 2"), "%s", vf_reader_info(reader)->note);
    check_plane(&volume, 0, 1, 0, 1);
    sample_close(reader, &volume);
    const char *text = describe_result(VF_U16, 1, 0);
    says(text, "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Dataset><ImageRef "
               "ID=\"I:1\"/></Dataset><Image ID=\"I:1\" Name=\"b\"><Pixels");
    says(text, "<Channel Name=\"mine\"/><TiffData IFD=\"0\" PlaneCount=\"2\"/></Pixels></Image></OME>");
}

/* Page p of the result is page p of the input, whatever order of dimensions the XML gives them; of a result
 * with more channels the XML says which is which. */
static void check_order(const char *order, bool big_tiff, bool big_endian)
{
    char xml[1024];
    struct vf_reader *reader, *copy;
    struct vf_volume volume, back;
    struct vf_info result;
    snprintf(xml, sizeof xml,
             ROOT "<Image ID=\"I\"><Pixels ID=\"P\" DimensionOrder=\"%s\" Type=\"uint16\" " SIZES(
                 2, 3, 2) "/></Image></OME>",
             order);
    tiff_sample_write(sample_path("in.ome.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                       .nx = 6,
                                                                       .ny = 5,
                                                                       .pages = 12,
                                                                       .big_tiff = big_tiff,
                                                                       .big_endian = big_endian,
                                                                       .description = xml});
    sample_copy(sample_path("in.ome.tif"), sample_path("out.ome.tif"),
                big_tiff ? VF_COMPRESS_DEFLATE : VF_COMPRESS_NONE);
    uint16_t pixels[5 * 6], expected;
    TIFF *tif = TIFFOpen(sample_path("out.ome.tif"), "r");
    for (uint16_t page = 0; page < 12; page++) {
        cr_assert(TIFFSetDirectory(tif, page));
        cr_assert_eq(TIFFReadEncodedStrip(tif, 0, pixels, sizeof pixels), (tmsize_t)sizeof pixels);
        sample_value(VF_U16, page, 0, 3, 4, &expected);
        cr_assert_eq(pixels[3 * 6 + 4], expected, "%s: page %u", order, page);
    }
    cr_assert(TIFFLastDirectory(tif));
    TIFFClose(tif);

    sample_read(sample_path("in.ome.tif"), &reader, &volume);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, VF_U16, 2, &result);
    result.shape.nt = 1; /* the two times stand for two outputs of each channel at one time */
    result.page_count = 12;
    volume.shape = result.shape;
    sample_write_volume(sample_path("more.ome.tif"), &result, &volume, &(struct vf_output_options){0});
    sample_read(sample_path("more.ome.tif"), &copy, &back);
    cr_assert(back.shape.nc == 4 && back.shape.nz == 3 && back.shape.nt == 1);
    cr_assert_arr_eq(back.data, volume.data, 12 * 5 * 6 * sizeof(uint16_t));
    vf_reader_close(copy);
    vf_reader_close(reader);
    vf_volume_free(&volume);
    vf_volume_free(&back);
}

Test(io_ome, page_order_is_kept)
{
    static const char *const orders[] = {"XYCZT", "XYZCT", "XYCTZ", "XYZTC", "XYTCZ", "XYTZC"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        check_order(orders[i], false, i % 2 == 0);
        check_order(orders[i], true, i % 3 == 0);
    }
}

/* Every byte of the text changed, and the text cut everywhere: an error or a picture. */
Test(io_ome, damage)
{
    static const char xml[] =
        FILE_OF("XYZCT", SIZES(2, 2, 1) " PhysicalSizeX=\"1\"",
                "<Channel Name=\"a\"/><TiffData IFD=\"0\" FirstC=\"1\" PlaneCount=\"1\"><UUID "
                "FileName=\"f\">urn:uuid:1</UUID></TiffData><TiffData IFD=\"1\" "
                "PlaneCount=\"3\"/><Plane TheZ=\"0\"/>");
    static const unsigned char flips[] = {0x01, 0x1a, 0x80};
    size_t size;
    write_file(xml, 4);
    char *file = sample_get(sample_path("in.ome.tif"), &size);
    char *text = memmem(file, size, xml, sizeof xml);
    cr_assert_not_null(text);
    for (size_t i = 0; i < sizeof xml; i++)
        for (size_t k = 0; k <= sizeof flips; k++) {
            const char before = text[i];
            text[i] = k < sizeof flips ? (char)(before ^ flips[k]) : '\0';
            sample_put(sample_path("bad.ome.tif"), file, size);
            const char *message = sample_refusal(sample_path("bad.ome.tif"));
            cr_assert(message[0] == '\0' || strstr(message, "bad.ome.tif"));
            text[i] = before;
        }
    free(file);
}
