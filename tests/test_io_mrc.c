/* MRC files made byte by byte: every mode, both byte orders, and what is written of a result. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "half.h"
#include "io_samples.h"
#include "mrc.h"
#include "mrc_sample.h"
#include "version.h"

TestSuite(io_mrc, .init = samples_begin, .fini = samples_end);

static double element(const struct vf_volume *volume, int i)
{
    switch (volume->type) {
    case VF_U8:
        return ((uint8_t *)volume->data)[i];
    case VF_I8:
        return ((int8_t *)volume->data)[i];
    case VF_U16:
        return ((uint16_t *)volume->data)[i];
    case VF_I16:
        return ((int16_t *)volume->data)[i];
    default:
        return (double)((float *)volume->data)[i];
    }
}

static const struct {
    int mode;
    bool imod;
    enum vf_type type;
} modes[] = {{0, false, VF_I8},  {0, true, VF_U8},   {1, false, VF_I16},
             {2, false, VF_F32}, {6, false, VF_U16}, {12, false, VF_F32}};
enum { MODES = sizeof modes / sizeof *modes };

Test(io_mrc, modes_and_byte_orders)
{
    for (int k = 0; k < 4 * MODES; k++) {
        struct vf_reader *reader;
        struct vf_volume volume;
        const struct mrc_sample s = {.mode = modes[k / 4].mode,
                                     .imod = modes[k / 4].imod,
                                     .big_endian = k & 1,
                                     .no_stamp = (k & 2) != 0,
                                     .space_group = 1};
        mrc_sample_write(sample_path("in.mrc"), &s);
        sample_read(sample_path("in.mrc"), &reader, &volume);
        const struct vf_info *info = vf_reader_info(reader);
        cr_assert_eq(info->format, VF_FORMAT_MRC);
        cr_assert_eq(info->type, modes[k / 4].type, "case %d", k);
        cr_assert(info->shape.nx == NX && info->shape.ny == NY && info->shape.nz == NZ &&
                  info->shape.nt == 1);
        cr_assert_eq(info->big_endian, s.big_endian);
        for (int axis = 0; axis < 3; axis++)
            cr_assert(info->spacing_known[axis] && fabs(info->spacing[axis] - 0.5) < 1e-6);
        cr_assert_str_eq(info->unit, "nm");
        cr_assert_str_eq(info->note, "");
        for (int i = 0; i < COUNT; i++)
            cr_assert_eq(element(&volume, i), mrc_sample_value(&s, i), "case %d element %d: %g", k, i,
                         element(&volume, i));
        sample_close(reader, &volume);
    }
}

static float header_float(const unsigned char *file, bool big_endian, int at)
{
    float value;
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = file[at + (big_endian ? 3 - i : i)];
    memcpy(&value, bytes, 4);
    return value;
}

/* The same bytes come back: header, extended header and data; but for the statistics and one label more. */
Test(io_mrc, a_copy_is_the_same_file)
{
    for (int k = 0; k < 2 * MODES; k++) {
        size_t size_in, size_out;
        const bool big = k & 1;
        const struct mrc_sample s = {
            .mode = modes[k / 2].mode, .imod = modes[k / 2].imod, .big_endian = big, .space_group = 1};
        mrc_sample_write(sample_path("in.mrc"), &s);
        sample_copy(sample_path("in.mrc"), sample_path("out.mrc"), VF_COMPRESS_AS_INPUT);
        unsigned char *in = sample_get(sample_path("in.mrc"), &size_in);
        unsigned char *out = sample_get(sample_path("out.mrc"), &size_out);
        cr_assert_eq(size_in, size_out, "case %d: %zu bytes, not %zu", k, size_out, size_in);
        double sum = 0, squares = 0, least = mrc_sample_value(&s, 0), most = least;
        for (int i = 0; i < COUNT; i++) {
            const double value = mrc_sample_value(&s, i);
            sum += value;
            squares += value * value;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        const double mean = sum / COUNT;
        cr_assert_eq((double)header_float(out, big, 76), least);
        cr_assert_eq((double)header_float(out, big, 80), most);
        cr_assert_float_eq((double)header_float(out, big, 84), mean, 1e-5);
        cr_assert_float_eq((double)header_float(out, big, 216), sqrt(squares / COUNT - mean * mean), 1e-5);
        cr_assert_eq(out[big ? 223 : 220], 2);
        cr_assert_eq(memcmp(out + 224 + 80, "volfilter " VF_VERSION "  ", 12 + strlen(VF_VERSION)), 0);
        memset(out + 224 + 80, 0, 80);
        memcpy(out + 216, in + 216, 8);
        memcpy(out + 76, in + 76, 12);
        for (size_t i = 0; i < size_in; i++)
            cr_assert_eq(in[i], out[i], "case %d: byte %zu", k, i);
        free(in);
        free(out);
    }
}

/* The label that the result of `chain` has behind those of its input. */
static void expect_label(const char *chain, const char *label)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    size_t size;
    char padded[81];
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 2});
    sample_read(sample_path("in.mrc"), &reader, &volume);
    struct vf_info result = *vf_reader_info(reader);
    result.chain = chain;
    sample_write_volume(sample_path("out.mrc"), &result, &volume, &(struct vf_output_options){0});
    unsigned char *out = sample_get(sample_path("out.mrc"), &size);
    snprintf(padded, sizeof padded, "%-80s", label);
    cr_expect_eq(out[220], 2);
    cr_expect_eq(memcmp(out + 224, "made by a test", 14), 0);
    cr_expect_eq(memcmp(out + 224 + 80, padded, 80), 0, "%.80s", (char *)out + 224 + 80);
    free(out);
    sample_close(reader, &volume);
}

Test(io_mrc, a_label_says_what_made_it)
{
    char chain[200], label[200];
    expect_label("gaussian:sigma=2,median", "volfilter " VF_VERSION ": gaussian:sigma=2,median");
    expect_label("convolve:file=\xc3\xa4\x1b.txt#0123",
                 "volfilter " VF_VERSION ": convolve:file=???.txt#0123");
    /* As long as a label, and one more. */
    const int room = 80 - (int)strlen("volfilter " VF_VERSION ": ");
    for (int more = 0; more < 2; more++) {
        snprintf(
            chain, sizeof chain, "%.*s", room + more,
            "median,median,median,median,median,median,median,median,median,median,median,median,median");
        snprintf(label, sizeof label, "volfilter " VF_VERSION ": %.*s%s", room - 3 * more, chain,
                 more ? "..." : "");
        expect_label(chain, label);
    }
}

/* Ten labels are all there can be; none gives way, and that is said. */
Test(io_mrc, labels_that_are_full)
{
    size_t size, size_out;
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 2, .big_endian = true});
    unsigned char *in = sample_get(sample_path("in.mrc"), &size);
    in[223] = 10;
    memset(in + 224, 'x', 800);
    sample_put(sample_path("in.mrc"), in, size);
    sample_copy(sample_path("in.mrc"), sample_path("out.mrc"), VF_COMPRESS_AS_INPUT);
    unsigned char *out = sample_get(sample_path("out.mrc"), &size_out);
    cr_expect_eq(memcmp(in + 220, out + 220, 804), 0);
    cr_expect_str_eq(sample_lost(sample_path("in.mrc"), VF_FORMAT_MRC, VF_F32, 1),
                     "a label with the chain (all ten labels are in use)");
    free(in);
    free(out);
}

/* The label comes after the last one with text, and their number is right again. */
Test(io_mrc, labels_whose_number_is_wrong)
{
    static const unsigned char counts[][4] = {
        {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 11}, {1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 5}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t size;
        mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 2, .big_endian = true});
        unsigned char *in = sample_get(sample_path("in.mrc"), &size);
        memcpy(in + 220, counts[i], 4);
        memset(in + 224, ' ', 800);
        memcpy(in + 224, "one", 3);
        memcpy(in + 304, "two", 3);
        sample_put(sample_path("in.mrc"), in, size);
        sample_copy(sample_path("in.mrc"), sample_path("out.mrc"), VF_COMPRESS_AS_INPUT);
        unsigned char *out = sample_get(sample_path("out.mrc"), &size);
        cr_expect_eq(memcmp(out + 220, (const unsigned char[]){0, 0, 0, 3}, 4), 0, "case %zu", i);
        cr_expect_eq(memcmp(in + 224, out + 224, 160), 0);
        cr_expect_eq(memcmp(out + 384, "volfilter", 9), 0);
        cr_expect_str_eq(sample_lost(sample_path("in.mrc"), VF_FORMAT_MRC, VF_F32, 1), "");
        free(in);
        free(out);
    }
}

Test(io_mrc, the_first_label)
{
    size_t size;
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 2});
    unsigned char *in = sample_get(sample_path("in.mrc"), &size);
    memset(in + 220, 0, 4);
    memset(in + 224, ' ', 800);
    sample_put(sample_path("in.mrc"), in, size);
    sample_copy(sample_path("in.mrc"), sample_path("out.mrc"), VF_COMPRESS_AS_INPUT);
    unsigned char *out = sample_get(sample_path("out.mrc"), &size);
    cr_expect_eq(memcmp(out + 220, (const unsigned char[]){1, 0, 0, 0}, 4), 0);
    cr_expect_eq(memcmp(out + 224, "volfilter", 9), 0);
    free(in);
    free(out);
}

/* The tenth label is the last there can be: a gap before it takes the new one. */
Test(io_mrc, labels_with_a_gap)
{
    size_t size;
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 2, .big_endian = true});
    unsigned char *in = sample_get(sample_path("in.mrc"), &size);
    in[223] = 11;
    memset(in + 224, ' ', 800);
    memcpy(in + 224, "first", 5);
    memcpy(in + 224 + 9 * 80, "last", 4);
    sample_put(sample_path("in.mrc"), in, size);
    sample_copy(sample_path("in.mrc"), sample_path("out.mrc"), VF_COMPRESS_AS_INPUT);
    unsigned char *out = sample_get(sample_path("out.mrc"), &size);
    cr_expect_eq(memcmp(out + 220, (const unsigned char[]){0, 0, 0, 10}, 4), 0);
    cr_expect_eq(memcmp(out + 224, "first", 5), 0);
    cr_expect_eq(memcmp(out + 224 + 80, "volfilter", 9), 0);
    cr_expect_eq(memcmp(out + 224 + 9 * 80, "last", 4), 0);
    cr_expect_str_eq(sample_lost(sample_path("in.mrc"), VF_FORMAT_MRC, VF_F32, 1), "");
    free(in);
    free(out);
}

static void put_value(enum vf_type type, void *plane, size_t i, double value)
{
    switch (type) {
    case VF_U8:
        ((uint8_t *)plane)[i] = (uint8_t)value;
        break;
    case VF_I8:
        ((int8_t *)plane)[i] = (int8_t)value;
        break;
    case VF_U16:
        ((uint16_t *)plane)[i] = (uint16_t)value;
        break;
    case VF_I16:
        ((int16_t *)plane)[i] = (int16_t)value;
        break;
    default:
        ((float *)plane)[i] = (float)value;
    }
}

struct statistics {
    double least, most, mean, deviation;
};

/* Fills it with numbers from low to high, both ends among them, and in floats some that are not finite. */
static struct statistics fill(struct vf_volume *volume, double low, double high)
{
    struct statistics s = {.least = INFINITY, .most = -INFINITY};
    const size_t count = volume->shape.nx * volume->shape.ny;
    long double sum = 0, squares = 0, finite = 0;
    uint32_t state = 1;
    for (size_t i = 0; i < volume->shape.nz * count; i++) {
        state = state * 1664525 + 1013904223;
        const double part = state >> 29 == 0 ? 0 : state >> 29 == 1 ? 1 : (double)(state >> 9) / (1 << 23);
        const double value = floor(low + part * (high - low));
        const bool is_finite = volume->type != VF_F32 || i % 97 != 40;
        put_value(volume->type, vf_volume_plane(volume, 0, 0, i / count), i % count,
                  is_finite ? value
                  : i & 1   ? (double)NAN
                            : -(double)INFINITY);
        if (!is_finite)
            continue;
        finite++;
        sum += (long double)value;
        squares += (long double)value * (long double)value;
        s.least = fmin(s.least, value);
        s.most = fmax(s.most, value);
    }
    s.mean = (double)(sum / finite);
    s.deviation = (double)sqrtl(squares / finite - sum / finite * (sum / finite));
    return s;
}

/* Of every type and of rows around the number of values that are added up side by side. */
Test(io_mrc, statistics)
{
    static const struct {
        enum vf_type type;
        double low, high;
    } of[] = {{VF_U8, 0, 255},         {VF_I8, -128, 127},  {VF_U16, 0, 65535},
              {VF_I16, -32768, 32767}, {VF_F32, -1e6, 3e6}, {VF_I16, 7, 7}};
    static const size_t widths[] = {1, 2, 15, 16, 17, 47, 333};
    for (size_t k = 0; k < 6 * 7; k++) {
        struct vf_error error;
        struct vf_volume volume;
        const struct vf_info info = {.format = VF_FORMAT_MRC,
                                     .type = of[k % 6].type,
                                     .shape = {widths[k / 6], 3, 2, 1, 1},
                                     .page_count = 2,
                                     .page_channels = 1};
        cr_assert_eq(vf_volume_alloc(&volume, info.type, &info.shape, "input", &error), VF_OK);
        const struct statistics expected = fill(&volume, of[k % 6].low, of[k % 6].high);
        sample_write_volume(sample_path("out.mrc"), &info, &volume, &(struct vf_output_options){0});
        struct vf_reader *reader;
        struct vf_volume again;
        size_t size;
        sample_read(sample_path("out.mrc"), &reader, &again);
        vf_volume_bytes(info.type, &info.shape, &size);
        cr_assert_eq(again.shape.nx, info.shape.nx);
        cr_assert_eq(again.type, info.type == VF_U8 ? VF_U16 : info.type, "case %zu", k);
        cr_assert(info.type == VF_U8 || memcmp(again.data, volume.data, size) == 0, "case %zu", k);
        vf_reader_close(reader);
        vf_volume_free(&again);
        vf_volume_free(&volume);
        unsigned char *out = sample_get(sample_path("out.mrc"), &size);
        cr_assert_eq((double)header_float(out, false, 76), expected.least, "case %zu", k);
        cr_assert_eq((double)header_float(out, false, 80), expected.most, "case %zu", k);
        cr_assert_float_eq((double)header_float(out, false, 84), expected.mean, 1e-6 * fabs(expected.mean),
                           "case %zu", k);
        cr_assert_float_eq((double)header_float(out, false, 216), expected.deviation,
                           1e-6 * expected.deviation, "case %zu", k);
        free(out);
    }
}

/* Of the numbers in the file: halves are rounded, and 65504 at most. */
Test(io_mrc, statistics_of_halves)
{
    const struct vf_info info = {.format = VF_FORMAT_MRC,
                                 .type = VF_F32,
                                 .half_floats = true,
                                 .shape = {2, 1, 1, 1, 1},
                                 .page_count = 1,
                                 .page_channels = 1};
    const double least = (double)vf_half_to_float(vf_half_from_float(0.1f)), most = 65504;
    struct vf_error error;
    struct vf_volume volume;
    cr_assert_eq(vf_volume_alloc(&volume, info.type, &info.shape, "input", &error), VF_OK);
    put_value(VF_F32, vf_volume_plane(&volume, 0, 0, 0), 0, 0.1);
    put_value(VF_F32, vf_volume_plane(&volume, 0, 0, 0), 1, 1e5);
    sample_write_volume(sample_path("out.mrc"), &info, &volume, &(struct vf_output_options){0});
    vf_volume_free(&volume);
    size_t size;
    unsigned char *out = sample_get(sample_path("out.mrc"), &size);
    cr_assert_eq(size, 1024 + 4);
    cr_assert_eq((double)header_float(out, false, 76), least);
    cr_assert_eq((double)header_float(out, false, 80), most);
    cr_assert_float_eq((double)header_float(out, false, 84), (least + most) / 2, 0.01);
    cr_assert_float_eq((double)header_float(out, false, 216), (most - least) / 2, 0.01);
    free(out);
}

/* What a result in MRC may be, and what is said of the rest. */
Test(io_mrc, supports)
{
    static const struct {
        enum vf_type type;
        size_t nc, outputs;
        const char *words;
    } cases[] = {
        {VF_U8, 1, 1, ""},
        {VF_I8, 1, 1, ""},
        {VF_I16, 1, 1, ""},
        {VF_U16, 1, 1, ""},
        {VF_F32, 1, 1, ""},
        {VF_F64, 1, 1, "--dtype float32"},
        {VF_U32, 1, 1, "uint32"},
        {VF_F32, 3, 1, "one channel, but the result has 3; write a .tif"},
        {VF_F32, 3, 3, "help FILTER"},
        {VF_F32, 6, 3, "the result has 6; write a .tif"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_error error = {.text = ""};
        const struct vf_info info = {
            .type = cases[i].type, .shape = {4, 4, 4, cases[i].nc, 1}, .outputs = cases[i].outputs};
        const enum vf_status status = vf_writer_supports(VF_FORMAT_MRC, &info, VF_COMPRESS_AS_INPUT, &error);
        cr_assert_eq(status == VF_OK, cases[i].words[0] == '\0', "case %zu", i);
        cr_assert(strstr(error.text, cases[i].words), "case %zu: %s", i, error.text);
        cr_assert_eq(strstr(error.text, "help FILTER") != NULL,
                     cases[i].nc > 1 && cases[i].nc == cases[i].outputs);
    }
    struct vf_error error;
    const struct vf_info info = {.type = VF_U8, .shape = {1, 1, 1 << 16, 1, 1 << 15}};
    cr_assert_neq(vf_writer_supports(VF_FORMAT_MRC, &info, VF_COMPRESS_AS_INPUT, &error), VF_OK);
    cr_assert(strstr(error.text, "2147483647 sections; the result has 2147483648"), "%s", error.text);
}

/* From TIFF and back: spacing, time points, and bytes, for which the standard has only 16 bits. */
Test(io_mrc, from_and_to_tiff)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){
                          .type = VF_U8,
                          .nx = 7,
                          .ny = 5,
                          .pages = 6,
                          .big_endian = true,
                          .description = "ImageJ=1.53t\nimages=6\nslices=3\nframes=2\nunit=nm\nspacing=2\n"});
    sample_copy(sample_path("in.tif"), sample_path("a.mrc"), VF_COMPRESS_AS_INPUT);
    sample_read(sample_path("a.mrc"), &reader, &volume);
    const struct vf_info *info = vf_reader_info(reader);
    cr_assert(info->type == VF_U16 && info->shape.nz == 3 && info->shape.nt == 2 && info->big_endian);
    cr_assert(info->spacing_known[2] && fabs(info->spacing[2] - 2) < 1e-6);
    uint8_t expected;
    sample_value(VF_U8, 4, 0, 3, 2, &expected);
    cr_assert_eq(((uint16_t *)vf_volume_plane(&volume, 1, 0, 1))[3 * 7 + 2], expected);
    sample_close(reader, &volume);
    sample_copy(sample_path("a.mrc"), sample_path("b.tif"), VF_COMPRESS_AS_INPUT);
    sample_read(sample_path("b.tif"), &reader, &volume);
    info = vf_reader_info(reader);
    cr_assert(info->metadata == VF_META_IMAGEJ && info->shape.nz == 3 && info->shape.nt == 2);
    cr_assert(fabs(info->spacing[2] - 2) < 1e-6 && strcmp(info->unit, "nm") == 0);
    cr_assert_eq(((uint16_t *)vf_volume_plane(&volume, 1, 0, 1))[3 * 7 + 2], expected);
    sample_close(reader, &volume);
}

Test(io_mrc, what_another_kind_does_not_keep)
{
    const char *path = sample_path("in.mrc");
    mrc_sample_write(path, &(struct mrc_sample){.mode = 2, .big_endian = true});
    cr_assert_str_eq(sample_lost(path, VF_FORMAT_MRC, VF_F32, 1), "");
    cr_assert_str_eq(sample_lost(path, VF_FORMAT_TIFF, VF_F32, 1),
                     "its origin, its labels, its extended header");
    mrc_sample_write(path, &(struct mrc_sample){.mode = 0});
    for (int kept = 0; kept < 2; kept++) {
        const char *lost = sample_lost(path, VF_FORMAT_TIFF, kept ? VF_I16 : VF_I8, 1);
        cr_expect_eq(strstr(lost, "the sign of values in ImageJ") == NULL, kept, "%s", lost);
        lost = sample_lost(path, VF_FORMAT_TIFF, kept ? VF_F32 : VF_F64, 1);
        cr_expect_eq(strstr(lost, "that ImageJ opens it") == NULL, kept, "%s", lost);
    }
}

/* FEI's and Agard's extended headers state the size of a pixel for each section. */
Test(io_mrc, extended_headers_keep_the_old_voxel_size)
{
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    char lost[VF_NOTE_TEXT];
    mrc_sample_write(sample_path("in.mrc"), &(struct mrc_sample){.mode = 2});
    cr_assert_eq(vf_reader_open(&reader, sample_path("in.mrc"), &error), VF_OK);
    vf_info_for_result(vf_reader_info(reader), VF_FORMAT_MRC, VF_F32, 1, &result);
    result.spacing[1] *= 2;
    vf_info_lost(vf_reader_info(reader), &result, lost, sizeof lost);
    cr_expect_str_eq(lost, "the new voxel size in the extended header (which is copied as it is)");
    vf_reader_close(reader);
}

/* It would be held in memory, whatever the user allows. */
Test(io_mrc, extended_headers_have_a_bound)
{
    const struct mrc_sample sample = {.mode = 2};
    const char *path = sample_path("in.mrc");
    size_t size;
    mrc_sample_write(path, &sample);
    char *bytes = sample_get(path, &size);
    mrc_put_int((unsigned char *)bytes, &sample, 92, -10);
    sample_put(path, bytes, size);
    cr_expect(strstr(sample_refusal(path), "claims -10 bytes of extended header"), "%s",
              sample_refusal(path));
    mrc_put_int((unsigned char *)bytes, &sample, 92, 257 << 20);
    sample_put(path, bytes, size);
    free(bytes);
    cr_assert_eq(truncate(path, (off_t)size + (257 << 20)), 0);
    cr_expect(strstr(sample_refusal(path), "257 MiB of extended header follow, but 256 MiB"), "%s",
              sample_refusal(path));
}

/* Every half is exact in float32 and comes back; what lies between is rounded to even. */
Test(io_mrc, halves)
{
    for (uint32_t half = 0; half < 0x10000; half++) {
        const float value = vf_half_to_float((uint16_t)half);
        if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) {
            cr_assert(isnan(value) && isnan(vf_half_to_float(vf_half_from_float(value))));
            continue;
        }
        const int exponent = (int)(half >> 10 & 31), fraction = (int)(half & 1023);
        const double magnitude = exponent == 31  ? (double)INFINITY
                                 : exponent == 0 ? ldexp(fraction, -24)
                                                 : ldexp(1024 + fraction, exponent - 25);
        cr_assert_eq((double)value, half & 0x8000 ? -magnitude : magnitude, "%x", half);
        cr_assert_eq(vf_half_from_float(value), half);
        if (half >= 0x7bff)
            continue;
        const float next = vf_half_to_float((uint16_t)(half + 1)), middle = value + (next - value) / 2;
        cr_assert_eq(vf_half_from_float(middle), half + (half & 1), "%x", half);
        cr_assert_eq(vf_half_from_float(nextafterf(middle, next)), half + 1);
        cr_assert_eq(vf_half_from_float(nextafterf(middle, value)), half);
    }
    cr_assert_eq(vf_half_from_float(65504), 0x7bff);
    cr_assert_eq(vf_half_from_float(65520), 0x7bff);
    cr_assert_eq(vf_half_from_float(-1e30f), 0xfbff);
    cr_assert_eq(vf_half_from_float(0x1p-26f), 0);
}
