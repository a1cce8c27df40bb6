/* MRC files made byte by byte: what the header says of voxels and sections, and what is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"
#include "mrc.h"
#include "mrc_sample.h"

TestSuite(io_mrc_header, .init = samples_begin, .fini = samples_end);

Test(io_mrc_header, sections)
{
    static const struct {
        int space_group, interval_z;
        size_t nz, nt;
        const char *name, *note;
        bool images;
    } cases[] = {
        {1, 6, 6, 1, "a.mrc", "", false},
        {401, 3, 3, 2, "a.mrc", "", false},
        {401, 4, 6, 1, "a.mrc", "whole number", false},
        {401, -1, 6, 1, "a.mrc", "whole number", false},
        {0, 1, 6, 1, "a.mrc", "", true}, /* as MRC2014 has it */
        {0, 6, 6, 1, "a.mrc", "", false},
        {0, 6, 6, 1, "a.mrcs", "", true},
        {0, 6, 6, 1, "a.st", "", true},
        {0, 6, 6, 1, "a.ALI", "", true},
        {0, 6, 6, 1, "a.preali", "", true},
        {1, 6, 6, 1, "a.st", "", false},
        {1, 6, 6, 1, "a.mrcs", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_error error;
        mrc_sample_write(sample_path(cases[i].name), &(struct mrc_sample){.mode = 1,
                                                                          .space_group = cases[i].space_group,
                                                                          .interval_z = cases[i].interval_z});
        cr_assert_eq(vf_reader_open(&reader, sample_path(cases[i].name), &error), VF_OK, "%s", error.text);
        const struct vf_info *info = vf_reader_info(reader);
        cr_assert(info->shape.nz == cases[i].nz && info->shape.nt == cases[i].nt, "case %zu", i);
        cr_assert_eq(info->image_stack, cases[i].images, "case %zu", i);
        /* A cell of one section is one of images, with no distance between them. */
        cr_assert_eq(info->spacing_known[2], cases[i].interval_z > 1, "case %zu", i);
        cr_assert(strstr(info->note, cases[i].note) && !info->note[0] == !cases[i].note[0], "case %zu: %s", i,
                  info->note);
        vf_reader_close(reader);
    }
}

/* What is read as one volume is written as one, with the same distances. */
Test(io_mrc_header, volumes_that_are_one)
{
    static const int32_t each[] = {4, -1};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct vf_reader *reader;
        struct vf_error error;
        struct vf_mrc_header was, is;
        enum vf_type type;
        size_t stored;
        unsigned char in[VF_MRC_HEADER], out[VF_MRC_HEADER];
        mrc_sample_write(sample_path("in.mrc"),
                         &(struct mrc_sample){.mode = 1, .space_group = 401, .interval_z = each[i]});
        FILE *file = fopen(sample_path("in.mrc"), "rb");
        cr_assert(file != NULL && fread(in, sizeof in, 1, file) == 1);
        fclose(file);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.mrc"), &error), VF_OK, "%s", error.text);
        vf_mrc_header_write(out, in, vf_reader_info(reader), true, 0, &(struct vf_mrc_statistics){0});
        cr_assert_eq(vf_mrc_parse(in, &was, &type, &stored, &error), VF_OK, "%s", error.text);
        cr_assert_eq(vf_mrc_parse(out, &is, &type, &stored, &error), VF_OK, "%s", error.text);
        cr_expect(is.space_group == 1 && is.count[2] == 6 && is.interval[2] == 6);
        if (each[i] > 0)
            cr_expect_float_eq(is.cell[2] / 6, was.cell[2] / each[i], 1e-5 * was.cell[2]);
        vf_reader_close(reader);
    }
}

/* Programs older than the standard's sign wrote bytes without one, and no word of it but the range. */
Test(io_mrc_header, bytes_without_a_sign)
{
    static const struct {
        float least, most;
        bool imod;
        enum vf_type type;
    } cases[] = {
        {0, 255, false, VF_U8},    {3, 128, false, VF_U8},   {0, 127, false, VF_I8}, {-1, 130, false, VF_I8},
        {-128, 127, false, VF_I8}, {0, 65535, false, VF_I8}, {0, 127, true, VF_U8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_reader *reader;
        struct vf_error error;
        mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.imod = cases[i].imod,
                                                                     .least = cases[i].least,
                                                                     .most = cases[i].most,
                                                                     .big_endian = i & 1});
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.mrc"), &error), VF_OK, "%s", error.text);
        const struct vf_info *info = vf_reader_info(reader);
        const bool guessed = cases[i].type == VF_U8 && !cases[i].imod;
        cr_assert_eq(info->type, cases[i].type, "case %zu", i);
        cr_assert_eq(strstr(info->note, "as unsigned") != NULL, guessed, "case %zu: %s", i, info->note);
        vf_reader_close(reader);
    }
    /* They are written so that no reader has to guess. */
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.most = 255});
    sample_copy(sample_path("in.mrc"), sample_path("out.mrc"), VF_COMPRESS_AS_INPUT);
    size_t size;
    unsigned char *out = sample_get(sample_path("out.mrc"), &size);
    cr_assert(out[12] == 6 && size == 1024 + EXTENDED + 2 * COUNT);
    free(out);
}

/* Writes in.mrc, with another word at a place of its header. */
static void write_patched(const struct mrc_sample *s, int at, float value)
{
    size_t size;
    mrc_sample_write(sample_path("in.mrc"), s);
    unsigned char *file = sample_get(sample_path("in.mrc"), &size);
    mrc_put_float(file, s, at, value);
    sample_put(sample_path("in.mrc"), file, size);
    free(file);
}

/* Writes a float32 sample whose header has zeros from byte `begin` to `end`. */
static void write_cleared(const char *name, int begin, int end)
{
    size_t size;
    mrc_sample_write(sample_path(name), &(struct mrc_sample){.mode = 2});
    unsigned char *file = sample_get(sample_path(name), &size);
    memset(file + begin, 0, (size_t)(end - begin));
    sample_put(sample_path(name), file, size);
    free(file);
}

Test(io_mrc_header, cells_that_are_not_rectangular)
{
    static const struct {
        float angle;
        const char *note;
    } cases[] = {{0, ""},
                 {90, ""},
                 {120, "the axes of its cell meet at 0, 0 and 120 degrees; distances are taken as if at 90"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mrc_sample s = {.mode = 2, .big_endian = i & 1};
        struct vf_reader *reader;
        struct vf_error error;
        write_patched(&s, 60, cases[i].angle);
        cr_assert_eq(vf_reader_open(&reader, sample_path("in.mrc"), &error), VF_OK, "%s", error.text);
        cr_expect_str_eq(vf_reader_info(reader)->note, cases[i].note, "case %zu", i);
        vf_reader_close(reader);
    }
}

/* Crystallographers count the first column, row and section. */
Test(io_mrc_header, origins)
{
    const struct mrc_sample s = {.mode = 2};
    size_t size;
    write_patched(&s, 196, 0);
    unsigned char *file = sample_get(sample_path("in.mrc"), &size);
    cr_expect_not(vf_mrc_has_origin(file));
    mrc_put_int(file, &s, 20, -7);
    cr_expect(vf_mrc_has_origin(file));
    free(file);
}

Test(io_mrc_header, more_bytes_than_sections)
{
    struct vf_reader *reader;
    struct vf_error error;
    size_t size;
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 1});
    unsigned char *file = sample_get(sample_path("in.mrc"), &size);
    file[8] = NZ - 1;
    sample_put(sample_path("in.mrc"), file, size);
    free(file);
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.mrc"), &error), VF_OK, "%s", error.text);
    cr_assert(strstr(vf_reader_info(reader)->note, "40 bytes after the 5 sections"), "%s",
              vf_reader_info(reader)->note);
    vf_reader_close(reader);
}

static void refused(const struct mrc_sample *s, const char *words)
{
    const char *path = sample_path("in.mrc");
    mrc_sample_write(path, s);
    const char *message = sample_refusal(path);
    cr_assert(strstr(message, words) && strstr(message, path), "no '%s' in: %s", words, message);
}

Test(io_mrc_header, refusals)
{
    refused(&(struct mrc_sample){.mode = 4}, "complex");
    refused(&(struct mrc_sample){.mode = 3}, "complex");
    refused(&(struct mrc_sample){.mode = 16}, "colours");
    refused(&(struct mrc_sample){.mode = 101}, "4-bit");
    refused(&(struct mrc_sample){.mode = 0, .imod = true, .imod_flags = 16}, "two 4-bit integers each");
    refused(&(struct mrc_sample){.mode = 5}, "unknown mode 5");
    refused(&(struct mrc_sample){.mode = -1, .no_stamp = true}, "machine stamp");
    refused(&(struct mrc_sample){.mode = 2, .axis = {3, 2, 1}},
            "3, 2, 1 (MAPC, MAPR, MAPS), not 1, 2, 3; reorder them");
    refused(&(struct mrc_sample){.mode = 2, .axis = {1, 2, 9}}, "MAPC, MAPR, MAPS): its header is damaged");
    refused(&(struct mrc_sample){.mode = 2, .axis = {2, 2, 3}}, "damaged");
    refused(&(struct mrc_sample){.mode = 2, .nx = -5}, "-5 x 4 x 6");
    refused(&(struct mrc_sample){.mode = 2, .nx = 2147483647, .ny = 2147483647, .nz = 2147483647},
            "more than can be addressed");
    refused(&(struct mrc_sample){.mode = 2, .nx = 100000}, "cut short");
    refused(&(struct mrc_sample){.mode = 2, .missing = 1}, "cut short");
    refused(&(struct mrc_sample){.mode = 2, .missing = 1024 + COUNT * 4 + EXTENDED - 300}, "header of 1024");
}

/* As older programs write it: the origin stands where "MAP " would. */
Test(io_mrc_header, a_header_of_before_2000)
{
    write_cleared("in.rec", 208, 212);
    const char *message = sample_refusal(sample_path("in.rec"));
    cr_assert(strstr(message, "MAP") && strstr(message, "newstack"), "%s", message);
}

Test(io_mrc_header, axes_that_are_not_said)
{
    write_cleared("in.mrc", 28, 76); /* nor the intervals and the cell */
    cr_assert_not(sample_info(sample_path("in.mrc")).spacing_known[0]);
}

/* Such a file's cell becomes the volume once its voxels have a size. */
Test(io_mrc_header, spacing_of_a_cell_without_intervals)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    write_cleared("in.mrc", 28, 52);
    sample_read(sample_path("in.mrc"), &reader, &volume);
    struct vf_info result = *vf_reader_info(reader);
    strcpy(result.unit, "nm");
    for (int axis = 0; axis < 3; axis++) {
        result.spacing_known[axis] = true;
        result.spacing[axis] = 0.25 * (axis + 1);
    }
    sample_write_volume(sample_path("out.mrc"), &result, &volume, &(struct vf_output_options){0});
    sample_close(reader, &volume);
    const struct vf_info info = sample_info(sample_path("out.mrc"));
    for (int axis = 0; axis < 3; axis++)
        cr_expect(info.spacing_known[axis] && fabs(info.spacing[axis] - 0.25 * (axis + 1)) < 1e-6);
}

/* Its mode is none in the stamp's order, and one in the other. */
Test(io_mrc_header, a_stamp_that_is_wrong)
{
    for (int big = 0; big < 2; big++) {
        mrc_sample_write(sample_path("in.mrc"),
                         &(struct mrc_sample){.mode = 2, .big_endian = big != 0, .wrong_stamp = true});
        const struct vf_info info = sample_info(sample_path("in.mrc"));
        cr_expect(info.type == VF_F32 && info.shape.nx == NX && info.big_endian == (big != 0));
    }
}
