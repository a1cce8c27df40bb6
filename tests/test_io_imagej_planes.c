/* How planes lie in ImageJ's stacks, and how they are stored, so that others read them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io_samples.h"

TestSuite(io_imagej_planes, .init = samples_begin, .fini = samples_end);

static const char ome_of_4[] =
    "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image><Pixels "
    "DimensionOrder=\"XYZCT\" "
    "SizeX=\"6\" SizeY=\"5\" SizeZ=\"4\" SizeC=\"1\" SizeT=\"1\"><TiffData/></Pixels></Image></OME>";
static const char imagej_of_4[] = "ImageJ=1.53t\nimages=4\nslices=4\n";

/* As ImageJ writes stacks over 4 GiB: one directory, and all planes one after the other. */
static void put_single_directory(const char *description, size_t planes_there, uint32_t samples)
{
    enum { ENTRIES = 10, WORDS = 60 };
    const size_t plane = 6 * 5 * samples, at = TIFF_RAW_DATA(ENTRIES);
    const struct tiff_entry entries[ENTRIES] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_SHORT, 1, 6},
        {TIFFTAG_IMAGELENGTH, TIFF_SHORT, 1, 5},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 3, (uint32_t)at},
        {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_NONE},
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

Test(io_imagej_planes, single_directory)
{
    for (uint32_t samples = 1; samples <= 3; samples += 2) {
        struct vf_reader *reader;
        struct vf_volume volume;
        put_single_directory(imagej_of_4, 4, samples);
        sample_read(sample_path("in.tif"), &reader, &volume);
        sample_check_pages(&volume, 4, samples);
        sample_close(reader, &volume);
    }
}

Test(io_imagej_planes, single_directory_of_tifffile)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    put_single_directory("{\"shape\": [4, 5, 6], \"truncated\": true}", 4, 1);
    sample_read(sample_path("in.tif"), &reader, &volume);
    sample_check_pages(&volume, 4, 1);
    sample_close(reader, &volume);
    /* What is written has a directory for each plane. */
    sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    char *description;
    cr_assert_eq(TIFFNumberOfDirectories(tif), 4);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description), 0);
    TIFFClose(tif);
}

/* The result, with its directory for each time point, is an ImageJ stack. */
Test(io_imagej_planes, single_directory_of_tifffile_along_time)
{
    struct vf_reader *reader;
    struct vf_error error;
    put_single_directory("{\"shape\": [4, 5, 6], \"axes\": \"TYX\", \"truncated\": true}", 4, 1);
    sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
    cr_assert_eq(vf_reader_open(&reader, sample_path("out.tif"), &error), VF_OK, "%s", error.text);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert(info->metadata == VF_META_IMAGEJ && info->shape.nt == 4 && info->shape.nz == 1);
    char *description;
    TIFF *tif = TIFFOpen(sample_path("out.tif"), "r");
    cr_assert(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &description));
    cr_expect_str_eq(description, "ImageJ=1.11a\nimages=4\nframes=4\n");
    TIFFClose(tif);
    vf_reader_close(reader);
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

/* ImageJ looks at no other directory than the first; tifffile may not, where its own description is kept, and
 * maps no file into memory whose planes lie otherwise. */
Test(io_imagej_planes, planes_follow_each_other)
{
    struct tiff_sample s = {.pages = 4};
    for (int k = 0; k < 8; k++) {
        struct vf_reader *reader;
        struct vf_volume volume;
        const bool imagej = k < 4;
        s.type = k & 1 ? VF_U16 : VF_U8;
        s.samples = k & 2 ? 3 : 1;
        s.big_endian = k & 1;
        s.big_tiff = k == 6;
        s.description = imagej ? imagej_of_4 : "{\"shape\": [4, 2, 3]}";
        s.nx = imagej || k == 7 ? 300 : 3;
        s.ny = imagej || k == 7 ? 500 : 2;
        tiff_sample_write(sample_path("in.tif"), &s);
        sample_copy(sample_path("in.tif"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        check_planes_together(sample_path("out.tif"), 4,
                              (uint64_t)s.nx * s.ny * s.samples * vf_type_size(s.type));
        sample_read(sample_path("out.tif"), &reader, &volume);
        sample_check_pages(&volume, 4, s.samples);
        sample_close(reader, &volume);
    }
}

/* ImageJ undoes differences in LZW of 8 and 16 bits; those of floats hardly any program of microscopists. */
Test(io_imagej_planes, differences_that_others_undo)
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

Test(io_imagej_planes, single_directory_cut_short)
{
    put_single_directory(imagej_of_4, 3, 1);
    cr_assert(strstr(sample_refusal(sample_path("in.tif")), "4 images"), "%s",
              sample_refusal(sample_path("in.tif")));
    cr_assert_eq(truncate(sample_path("in.tif"), (off_t)(sample_file_size(sample_path("in.tif")) - 61)), 0);
    cr_assert(strstr(sample_refusal(sample_path("in.tif")), "4 images"), "within the second plane: %s",
              sample_refusal(sample_path("in.tif")));
    /* One page that another program took out of a stack; then with zeros up to where a block ends. */
    put_single_directory(imagej_of_4, 1, 1);
    for (int padded = 0; padded < 2; padded++) {
        struct vf_reader *reader;
        struct vf_volume volume;
        sample_read(sample_path("in.tif"), &reader, &volume);
        cr_assert_eq(volume.shape.nz, 1);
        sample_close(reader, &volume);
        cr_assert_eq(truncate(sample_path("in.tif"), 4096), 0);
    }
    /* The second plane's first bytes, the last of which is not 0. */
    put_single_directory(imagej_of_4, 1, 1);
    size_t size;
    unsigned char *in = sample_get(sample_path("in.tif"), &size), begun[1024] = {0};
    memcpy(begun, in, size);
    begun[size + 9] = 1;
    sample_put(sample_path("in.tif"), begun, size + 10);
    free(in);
    cr_assert(strstr(sample_refusal(sample_path("in.tif")), "4 images"));
}

/* Planes beyond 4 GiB, in a file with a hole. */
Test(io_imagej_planes, over_4_gib)
{
    enum { NX = 20000, NY = 10000, PAGES = 24, ENTRIES = 9 };
    static const char description[] = "ImageJ=1.53t\nimages=24\nslices=24\n";
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
    cr_assert(strstr(error.text, "24 images"), "%s", error.text);
    cr_assert_eq(truncate(sample_path("in.tif"), (off_t)(1024 + PAGES * plane)), 0);
    FILE *file = fopen(sample_path("in.tif"), "r+b");
    cr_assert(file != NULL && fseeko(file, -1, SEEK_END) == 0 && putc(77, file) == 77 && fclose(file) == 0);
    unsigned char *data = malloc(plane);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.tif"), &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_reader_info(reader)->shape.nz, PAGES);
    cr_assert_eq(vf_reader_read_pages(reader, PAGES - 1, 1, &(void *){data}, 1, &error), VF_OK, "%s",
                 error.text);
    cr_assert(data[plane - 1] == 77 && data[0] == 0);
    vf_reader_close(reader);
    free(data);
}

/* A result over 4 GiB, of which one plane is written and the rest is a hole: ImageJ's one directory, unless
 * it is compressed or the input was a BigTIFF. */
Test(io_imagej_planes, a_result_over_4_gib)
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
        cr_assert_eq(vf_writer_write_pages(writer, 0, 1, &(const void *){plane}, 1, &error), VF_OK, "%s",
                     error.text);
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
        cr_assert_eq(vf_reader_read_pages(reader, 0, 1, &(void *){back}, 1, &error), VF_OK, "%s", error.text);
        cr_assert_eq(memcmp(plane, back, sizeof *plane * NX * NY), 0);
        cr_assert_eq(vf_reader_read_pages(reader, NZ - 1, 1, &(void *){back}, 1, &error), VF_OK, "%s",
                     error.text);
        vf_reader_close(reader);
    }
    free(plane);
    free(back);
}
