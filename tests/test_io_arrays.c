/* Arrays of tifffile, which notes their shape and axes: what its note says of pages and samples, and what is
 * written of a result. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"

TestSuite(io_arrays, .init = samples_begin, .fini = samples_end);

static void write_array(const char *description, uint32_t pages)
{
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                   .nx = 6,
                                                                   .ny = 5,
                                                                   .pages = pages,
                                                                   .big_endian = true,
                                                                   .description = description});
}

/* Of 12 pages. */
static struct vf_info expect_axes(const char *description, size_t nz, size_t nt)
{
    write_array(description, 12);
    const struct vf_info info = sample_info(sample_path("in.tif"));
    cr_expect(info.shape.nz == nz && info.shape.nt == nt, "%s: %zu x %zu", description, info.shape.nz,
              info.shape.nt);
    return info;
}

/* tifffile says it in files that are not ImageJ's. */
Test(io_arrays, arrays_along_time)
{
    static const struct {
        const char *description;
        size_t nz, nt;
    } cases[] = {
        {"{\"shape\": [12, 8, 9], \"axes\": \"TYX\"}", 1, 12},
        {"{\"shape\": [3, 4, 8, 9], \"axes\": \"TZYX\"}", 4, 3},
        {"{\"shape\": [4, 3, 8, 9], \"axes\": \"ZTYX\"}", 4, 3},
        {"{\"shape\": [3, 0, 8, 9], \"axes\": \"TZYX\"}", 12, 1},
        {"{\"shape\": [x], \"axes\": \"TYX\"}", 12, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct vf_info info = expect_axes(cases[i].description, cases[i].nz, cases[i].nt);
        cr_expect(cases[i].nt == 1 || !vf_info_takes_pages_as_planes(&info), "case %zu", i);
    }
}

/* A file that was cut short, or that pages were taken out of, keeps its axes, if there is a way; what it says
 * of its shape is not kept. */
Test(io_arrays, pages_that_are_missing)
{
    static const struct {
        const char *description;
        size_t nz, nt;
    } cases[] = {
        {"{\"shape\": [30, 5, 6], \"axes\": \"TYX\"}", 1, 12},
        {"{\"shape\": [30, 5, 6], \"axes\": \"ZYX\"}", 12, 1},
        {"{\"shape\": [30, 5, 6]}", 12, 1},
        {"{\"shape\": [1, 30, 4, 5, 6], \"axes\": \"CTZYX\"}", 4, 3},
        {"{\"shape\": [30, 12, 5, 6], \"axes\": \"TZYX\"}", 12, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct vf_info info = expect_axes(cases[i].description, cases[i].nz, cases[i].nt);
        cr_expect_not_null(strstr(info.note, "but it has 12 pages: read as 1 channels x"), "%s", info.note);
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        const struct vf_info result = sample_info(sample_path("out.tif"));
        cr_expect_str_eq(result.note, "", "%s", result.note);
    }
    write_array("{\"shape\": [3, 5, 5, 6], \"axes\": \"TZYX\"}", 12);
    cr_expect_not_null(
        strstr(sample_refusal(sample_path("in.tif")),
               "an array of 3, 5, 5, 6 (axes TZYX), but it has 12 pages; if it was cut short"));
    write_array("{\"shape\": [30, 5, 6], \"axes\": \"TYX\"}", 1);
    sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    size_t size;
    char *bytes = sample_get(sample_path("out.tif"), &size);
    cr_expect_null(memmem(bytes, size, "shape", 5));
    free(bytes);
}

/* A note of the shape alone does not keep a stack from becoming ImageJ's, which can say how far planes are
 * apart. */
Test(io_arrays, planes_of_a_known_distance)
{
    static const struct {
        const char *description;
        enum vf_metadata metadata;
    } cases[] = {
        {"{\"shape\": [12, 5, 6]}", VF_META_IMAGEJ},
        {"{\"shape\": [12, 5, 6], \"axes\": \"ZYX\"}", VF_META_IMAGEJ},
        {"{\"shape\": [12, 5, 6], \"truncated\": true}", VF_META_IMAGEJ},
        {"{\"shape\": [12, 5, 6], \"axes\": \"ZYX\", \"stain\": \"DAPI\"}", VF_META_PLAIN},
        {"DAPI", VF_META_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_error error;
        struct vf_info info, result;
        write_array(cases[i].description, 12);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
        info = *vf_reader_info(reader);
        for (int known = 0; known < 2; known++) {
            info.spacing_known[2] = known != 0;
            vf_info_for_result(&info, VF_FORMAT_TIFF, VF_U16, 1, &result);
            cr_expect_eq(result.metadata, known != 0 ? cases[i].metadata : VF_META_PLAIN, "case %zu", i);
        }
        vf_reader_close(reader);
    }
}

/* In any order; page c + C (z + Z t) of a result is plane z of channel c at time t. */
Test(io_arrays, arrays_of_channels)
{
    static const struct {
        const char *description;
        size_t nc, nz, nt;
        size_t step[3]; /* pages of the file from one channel, plane, time point to the next */
    } cases[] = {
        {"{\"shape\": [12, 5, 6], \"axes\": \"CYX\"}", 12, 1, 1, {1, 0, 0}},
        {"{\"shape\": [2, 3, 2, 5, 6], \"axes\": \"TZCYX\"}", 2, 3, 2, {1, 2, 6}},
        {"{\"shape\": [2, 3, 2, 5, 6], \"axes\": \"TCZYX\"}", 3, 2, 2, {2, 1, 6}},
        {"{\"shape\": [3, 4, 1, 5, 6], \"axes\": \"CZTYX\"}", 3, 4, 1, {4, 1, 0}},
        {"{\"shape\": [4, 3, 5, 6], \"axes\": \"CTYX\"}", 4, 1, 3, {3, 0, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_volume input, output;
        write_array(cases[i].description, 12);
        sample_read(sample_path("in.tif"), &reader, &input);
        vf_reader_close(reader);
        const struct vf_shape *s = &input.shape;
        cr_assert(s->nc == cases[i].nc && s->nz == cases[i].nz && s->nt == cases[i].nt, "case %zu", i);
        for (size_t page = 0; page < 12; page++) {
            const size_t c = page % s->nc, z = page / s->nc % s->nz, t = page / s->nc / s->nz;
            const size_t *step = cases[i].step;
            uint16_t expected;
            sample_value(VF_U16, c * step[0] + z * step[1] + t * step[2], 0, 3, 4, &expected);
            cr_expect_eq(((const uint16_t *)vf_volume_plane(&input, t, c, z))[3 * 6 + 4], expected,
                         "case %zu page %zu", i, page);
        }
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        sample_read(sample_path("out.tif"), &reader, &output);
        cr_expect_eq(vf_reader_info(reader)->metadata, VF_META_IMAGEJ, "case %zu", i);
        cr_expect(output.shape.nc == s->nc && output.shape.nz == s->nz && output.shape.nt == s->nt,
                  "case %zu", i);
        cr_expect_arr_eq(input.data, output.data, 12 * 5 * 6 * sizeof(uint16_t), "case %zu", i);
        vf_reader_close(reader);
        vf_volume_free(&output);
        vf_volume_free(&input);
    }
}

static void check_note(const char *description, const char *words, bool noted)
{
    write_array(description, 12);
    const struct vf_info info = sample_info(sample_path("in.tif"));
    cr_expect_eq(strstr(info.note, words) != NULL, noted, "%s: %s", description, info.note);
}

/* Several other axes are told of, also where a page is as high as there are pages. */
Test(io_arrays, arrays_of_several_axes)
{
    static const struct {
        const char *description;
        bool noted;
    } cases[] = {{"{\"shape\": [6, 2, 12, 6], \"axes\": \"ZRYX\"}", true},
                 {"{\"shape\": [6, 2, 5, 12], \"axes\": \"TTYX\"}", true},
                 {"{\"shape\": [12, 6, 5], \"axes\": \"YXC\"}", true},
                 {"{\"shape\": [6, 2, 12, 6]}", true},
                 {"{\"shape\": [1, 12, 5, 6], \"axes\": \"TZYX\"}", false},
                 {"{\"shape\": [12, 12, 6], \"axes\": \"ZYX\"}", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_note(cases[i].description, "an array of", cases[i].noted);
}

Test(io_arrays, pages_on_their_side)
{
    static const char words[] = "its axes are noted as ZXY; x is still taken along the rows";
    check_note("{\"shape\": [12, 5, 6], \"axes\": \"ZXY\"}", words, true);
    check_note("{\"shape\": [12, 5, 6], \"axes\": \"ZYX\"}", "its axes", false);
    check_note("{\"shape\": [12, 5, 6], \"axes\": \"XYZ\"}", "its axes", false);
}

/* One was written after another. */
Test(io_arrays, several_arrays)
{
    static const char *const cases[][2] = {
        {"{\"shape\": [6, 5, 6], \"axes\": \"ZYX\"}", "several arrays, the first of 6, 5, 6, whose pages"},
        {"{\"shape\": [5, 6], \"axes\": \"YX\"}", "several arrays, the first of 5, 6, whose pages"},
        {"{\"shape\": [2, 6, 5, 6], \"axes\": \"RZYX\"}", "an array of 2, 6, 5, 6 (axes RZYX), whose pages"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_array(cases[i][0], 12);
        const struct vf_info info = sample_info(sample_path("in.tif"));
        cr_expect(strncmp(info.note, cases[i][1], strlen(cases[i][1])) == 0, "%s", info.note);
    }
}

/* Of 3 or 4 planes tifffile makes the samples of colours, unless told otherwise. */
Test(io_arrays, arrays_whose_planes_are_samples)
{
    static const struct {
        const char *description, *words; /* NULL: samples are what they seem to be */
    } cases[] = {
        {"{\"shape\": [3, 5, 6], \"axes\": \"ZYX\"}", "are planes along z"},
        {"{\"shape\": [2, 3, 5, 6], \"axes\": \"TZYX\"}", "metadata={'axes': 'TZYX'}"},
        {"{\"shape\": [2, 3, 5, 6], \"axes\": \"ZTYX\"}", "are time points"},
        {"{\"shape\": [5, 6, 3], \"axes\": \"YXZ\"}",
         "numpy.moveaxis(tifffile.imread(IN), -1, -3), photometric='minisblack', metadata={'axes': 'ZYX'}"},
        {"{\"shape\": [2, 5, 6, 3], \"axes\": \"TYXZ\"}", "metadata={'axes': 'TZYX'}"},
        {"{\"shape\": [2, 5, 6, 3], \"axes\": \"ZYXT\"}", "are time points"},
        {"{\"shape\": [3, 5, 6], \"axes\": \"CYX\"}", NULL},
        {"{\"shape\": [2, 5, 6, 3], \"axes\": \"ZYXS\"}", NULL},
        {"{\"shape\": [3, 5, 6], \"axes\": \"YX", NULL},
        {"{\"shape\": [3, 5, 6]}", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                       .nx = 6,
                                                                       .ny = 5,
                                                                       .pages = 2,
                                                                       .samples = 3,
                                                                       .description = cases[i].description});
        if (cases[i].words == NULL)
            cr_expect_eq(sample_info(sample_path("in.tif")).shape.nc, 3, "case %zu", i);
        else
            cr_expect_not_null(strstr(sample_refusal(sample_path("in.tif")), cases[i].words), "case %zu", i);
    }
}

/* What their fourth is that tifffile calls alpha, or which of them it calls red. */
Test(io_arrays, planes_are_neither_colours_nor_alpha)
{
    static const struct {
        const char *description;
        uint16_t samples;
        bool rgb, has_alpha, noted;
    } cases[] = {{"{\"shape\": [4, 5, 6], \"axes\": \"CYX\"}", 4, false, false, false},
                 {"{\"shape\": [3, 5, 6], \"axes\": \"QYX\"}", 3, false, false, false},
                 {"{\"shape\": [4, 5, 6]}", 4, false, false, true},
                 {"{\"shape\": [3, 5, 6]}", 3, true, false, true},
                 {"{\"shape\": [4, 5, 6], \"axes\": \"SYX\"}", 4, true, true, false},
                 {"{\"shape\": [5, 4, 6]}", 4, true, true, false},
                 {NULL, 4, true, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                       .nx = 6,
                                                                       .ny = 5,
                                                                       .samples = cases[i].samples,
                                                                       .photometric = PHOTOMETRIC_RGB,
                                                                       .separate = true,
                                                                       .description = cases[i].description});
        const struct vf_info info = sample_info(sample_path("in.tif"));
        cr_expect_eq(info.rgb, cases[i].rgb, "case %zu", i);
        cr_expect_eq(info.has_alpha, cases[i].has_alpha, "case %zu", i);
        cr_expect_eq(strstr(info.note, "planes are read as channels") != NULL, cases[i].noted, "case %zu: %s",
                     i, info.note);
    }
}

/* Of another type or number of channels a result is not the array that the description states, so that
 * ImageJ's says what its pages are. */
Test(io_arrays, results_of_arrays_along_time)
{
    static const struct {
        enum vf_type type;
        size_t outputs;
        enum vf_metadata metadata;
    } cases[] = {{VF_U16, 1, VF_META_PLAIN}, {VF_F32, 1, VF_META_IMAGEJ}, {VF_U16, 3, VF_META_IMAGEJ}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_volume input, output;
        struct vf_info result;
        struct vf_error error;
        write_array("{\"shape\": [3, 4, 5, 6], \"axes\": \"TZYX\"}", 12);
        sample_read(sample_path("in.tif"), &reader, &input);
        vf_info_for_result(vf_reader_info(reader), VF_FORMAT_TIFF, cases[i].type, cases[i].outputs, &result);
        cr_expect_eq(result.metadata, cases[i].metadata);
        cr_assert_eq(vf_volume_alloc(&output, result.type, &result.shape, "result", &error), VF_OK);
        sample_write_volume(sample_path("out.tif"), &result, &output, &(struct vf_output_options){0});
        const struct vf_info info = sample_info(sample_path("out.tif"));
        cr_expect(info.shape.nt == 3 && info.shape.nz == 4 && info.shape.nc == cases[i].outputs);
        vf_volume_free(&output);
        sample_close(reader, &input);
    }
}

/* Samples of a page that are planes of their own come side by side in a result, which is not the array
 * either: its channels have pages of their own. */
Test(io_arrays, results_of_separate_planes_along_time)
{
    static const struct {
        enum vf_type type;
        uint16_t samples, photometric;
        size_t page_channels;
    } cases[] = {{VF_U8, 2, PHOTOMETRIC_MINISBLACK, 1},
                 {VF_F32, 3, PHOTOMETRIC_RGB, 1},
                 {VF_U16, 3, PHOTOMETRIC_RGB, 1},
                 {VF_U8, 4, PHOTOMETRIC_RGB, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_volume input, output;
        char description[80];
        snprintf(description, sizeof description, "{\"shape\": [4, %u, 5, 6], \"axes\": \"TCYX\"}",
                 cases[i].samples);
        tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = cases[i].type,
                                                                       .nx = 6,
                                                                       .ny = 5,
                                                                       .pages = 4,
                                                                       .samples = cases[i].samples,
                                                                       .photometric = cases[i].photometric,
                                                                       .separate = true,
                                                                       .description = description});
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        sample_read(sample_path("in.tif"), &reader, &input);
        vf_reader_close(reader);
        sample_read(sample_path("out.tif"), &reader, &output);
        const struct vf_info *info = vf_reader_info(reader);
        cr_expect(info->metadata == VF_META_IMAGEJ && info->shape.nt == 4 && info->shape.nz == 1, "case %zu",
                  i);
        cr_expect_eq(info->shape.nc, cases[i].samples, "case %zu", i);
        cr_expect_eq(info->page_channels, cases[i].page_channels, "case %zu", i);
        cr_expect_not(info->has_alpha, "case %zu", i);
        size_t bytes;
        cr_assert(vf_volume_bytes(input.type, &input.shape, &bytes));
        cr_expect_arr_eq(input.data, output.data, bytes, "case %zu", i);
        vf_reader_close(reader);
        vf_volume_free(&output);
        vf_volume_free(&input);
    }
}

/* What a program wrote beside the shape in tifffile's note goes with it. */
Test(io_arrays, description_of_an_array)
{
    write_array("{\"shape\": [4, 5, 6], \"axes\": \"ZYX\", \"exposure\": 0.5}", 4);
    cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_U16, 1), "");
    cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 1), "descriptions");
    write_array("{\"shape\": [4, 5, 6], \"axes\": \"TYX\", \"exposure\": 0.5}", 4);
    cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 1), "descriptions");
    write_array("{\"shape\": [4, 5, 6], \"axes\": \"ZYX\"}", 4);
    cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 1), "");
    write_array("{\"shape\": [4, 5, 6], \"axes\": \"ZYX\", \"truncated\": true}", 4);
    cr_expect_str_eq(sample_lost(sample_path("in.tif"), VF_FORMAT_TIFF, VF_F32, 1), "");
}
