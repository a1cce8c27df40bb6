/* Images in PNG, in and out. */
#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

#include "io_samples.h"
#include "png_sample.h"

TestSuite(io_png, .init = samples_begin, .fini = samples_end);

Test(io_png, every_layout)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGB_ALPHA};
    static const png_uint_32 sizes[][2] = {{1, 1}, {3, 2}, {17, 9}, {64, 33}};
    const char *const names[] = {"in.png", "out.png", "out.tif", "back.png"};
    for (int bits = 0; bits < 64; bits++) {
        const struct png_sample s = {.colour = colours[bits & 3],
                                     .bits = bits & 4 ? 16 : 8,
                                     .interlaced = bits & 8,
                                     .nx = sizes[bits >> 4][0],
                                     .ny = sizes[bits >> 4][1]};
        png_sample_write(sample_path("in.png"), &s);
        sample_copy(sample_path("in.png"), sample_path("out.png"), VF_COMPRESS_AS_INPUT);
        sample_copy(sample_path("in.png"), sample_path("out.tif"), VF_COMPRESS_AS_INPUT);
        sample_copy(sample_path("out.tif"), sample_path("back.png"), VF_COMPRESS_NONE);
        for (int i = 0; i < 4; i++) {
            struct vf_reader *reader;
            struct vf_volume volume;
            sample_read(sample_path(names[i]), &reader, &volume);
            const struct vf_info *info = vf_reader_info(reader);
            cr_assert_eq(volume.type, s.bits == 16 ? VF_U16 : VF_U8);
            cr_assert_eq(info->page_channels, png_sample_channels(s.colour));
            cr_assert_eq(info->has_alpha, (s.colour & PNG_COLOR_MASK_ALPHA) != 0);
            cr_assert_eq(info->rgb, (s.colour & PNG_COLOR_MASK_COLOR) != 0);
            sample_check_pages(&volume, 1, png_sample_channels(s.colour));
            sample_close(reader, &volume);
        }
    }
}

Test(io_png, few_bits_expand)
{
    for (int bits = 1; bits <= 4; bits *= 2) {
        struct vf_reader *reader;
        struct vf_volume volume;
        png_sample_write(sample_path("in.png"),
                         &(struct png_sample){PNG_COLOR_TYPE_GRAY, bits, .nx = 13, .ny = 6});
        sample_read(sample_path("in.png"), &reader, &volume);
        cr_assert_eq(volume.type, VF_U8);
        const unsigned char *row = (const unsigned char *)volume.data + 2 * 13;
        cr_assert_eq(row[0], ((2 * 37) >> (8 - bits)) * 255 / ((1 << bits) - 1));
        const char *lost = sample_lost(sample_path("in.png"), VF_FORMAT_PNG, VF_U8, 1);
        cr_expect_str_eq(lost, bits == 1   ? "its 1 bit per sample (written as uint8)"
                               : bits == 2 ? "its 2 bits per sample (written as uint8)"
                                           : "its 4 bits per sample (written as uint8)");
        sample_close(reader, &volume);
    }
}

/* One transparent grey or colour is alpha to a filter. */
Test(io_png, transparent_colour_is_alpha)
{
    for (int colour = 0; colour <= PNG_COLOR_TYPE_RGB; colour += PNG_COLOR_TYPE_RGB) {
        struct vf_reader *reader;
        struct vf_volume volume;
        png_sample_write(sample_path("in.png"),
                         &(struct png_sample){colour, 8, .transparent = true, .nx = 5, .ny = 4});
        sample_read(sample_path("in.png"), &reader, &volume);
        cr_assert(vf_reader_info(reader)->has_alpha);
        cr_assert_eq(volume.shape.nc, colour == PNG_COLOR_TYPE_RGB ? 4 : 2);
        cr_assert_eq(*(unsigned char *)vf_volume_plane(&volume, 0, volume.shape.nc - 1, 0), 255);
        sample_close(reader, &volume);
    }
}

Test(io_png, palette_is_refused)
{
    png_sample_write(sample_path("in.png"),
                     &(struct png_sample){PNG_COLOR_TYPE_PALETTE, 1, .nx = 9, .ny = 8});
    const char *message = sample_refusal(sample_path("in.png"));
    cr_assert(strstr(message, "palette") && strstr(message, "PNG24:"), "%s", message);
}

/* A header that claims much of a file that holds little. */
Test(io_png, impossible_size)
{
    unsigned char file[8 + 25 + 12] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
                                       0,    0,   0,   13,  'I',  'H',  'D',  'R'};
    unsigned char *header = file + 12, *data = file + 8 + 25;
    header[5] = header[9] = 1; /* 65536 x 65536 */
    header[12] = 8;
    const uint32_t header_sum = (uint32_t)crc32(0, header, 17);
    memcpy(data + 4, "IDAT", 4);
    const uint32_t data_sum = (uint32_t)crc32(0, data + 4, 4);
    for (int i = 0; i < 4; i++) {
        header[17 + i] = (unsigned char)(header_sum >> (24 - 8 * i));
        data[8 + i] = (unsigned char)(data_sum >> (24 - 8 * i));
    }
    sample_put(sample_path("in.png"), file, sizeof file);
    const char *message = sample_refusal(sample_path("in.png"));
    cr_assert(strstr(message, "65536 x 65536") && strstr(message, "can hold"), "%s", message);
}
