/* PNG written by several threads, and what it cannot hold. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_png_write, .init = samples_begin, .fini = samples_end);

Test(io_png_write, what_it_cannot_hold)
{
    static const struct {
        struct vf_info info;
        const char *words[3];
    } cases[] = {
        {{.type = VF_F32, .shape = {9, 9, 62, 1, 1}, .page_channels = 1, .page_count = 62},
         {"one plane", "62 planes of float32", ".tif"}},
        {{.type = VF_F32, .shape = {9, 9, 1, 1, 1}, .page_channels = 1, .page_count = 1},
         {"float32", "--dtype", ".tif"}},
        {{.type = VF_U8, .shape = {9, 9, 2, 1, 1}, .page_channels = 1, .page_count = 2},
         {"2 planes", "", ""}},
        {{.type = VF_U8, .shape = {9, 9, 1, 2, 1}, .page_channels = 2, .page_count = 1},
         {"the result has 2", ".tif", ""}},
        {{.type = VF_U8, .shape = {9, 9, 1, 6, 1}, .page_channels = 6, .page_count = 1},
         {"has 6", ".tif", ""}},
        {{.type = VF_U8, .shape = {9, 9, 1, 1, 1}, .page_channels = 1, .page_count = 1, .min_is_white = true},
         {"0 is white", "convert IN.tif OUT.tif", ""}},
        {{.type = VF_U8,
          .shape = {9, 9, 1, 4, 1},
          .page_channels = 4,
          .page_count = 1,
          .rgb = true,
          .has_alpha = true,
          .premultiplied = true},
         {"alpha", ".tif", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vf_error error;
        struct vf_writer *writer;
        const struct vf_output_options options = {0};
        cr_assert_eq(vf_writer_supports(VF_FORMAT_PNG, &cases[i].info, options.compression, &error),
                     VF_FAILED, "case %zu", i);
        for (int word = 0; word < 3; word++)
            cr_assert(strstr(error.text, cases[i].words[word]), "%s", error.text);
        cr_assert_neq(
            vf_writer_open(&writer, sample_path("out.png"), VF_FORMAT_PNG, &cases[i].info, &options, &error),
            VF_OK);
        cr_assert_eq(sample_file_count(), 0);
    }
}

/* What large images are of, and where what comes again is: nowhere, in runs, far apart. */
enum contents { NOISE, RUNS, TILES };

static unsigned char content_at(enum contents contents, size_t i, size_t row, size_t tile)
{
    static uint32_t state = 1;
    const size_t x = i % row, y = i / row;
    state = state * 1664525u + 1013904223u;
    if (contents == RUNS)
        return x / (row / 3) == 1 && y / 50 % 2 == 1 ? 200 : 3;
    return (unsigned char)(contents == NOISE ? state >> 24 : (x % tile + 7919 * y) * 2654435761u >> 13);
}

/* The file of a volume that several threads write; free() it. It is as large as *size tells. */
static void *written(const struct vf_info *info, const struct vf_volume *volume, enum vf_compression wanted,
                     int threads, size_t *size)
{
    struct vf_writer *writer;
    struct vf_error error;
    const struct vf_output_options options = {.compression = wanted};
    const void *planes[4];
    for (size_t c = 0; c < info->shape.nc; c++)
        planes[c] = vf_volume_plane(volume, 0, c, 0);
    const char *path = sample_path("out.png");
    cr_assert_eq(vf_writer_open(&writer, path, VF_FORMAT_PNG, info, &options, &error), VF_OK, "%s",
                 error.text);
    cr_assert_eq(vf_writer_write_pages(writer, 0, 1, planes, threads, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_writer_finish(writer, &error), VF_OK, "%s", error.text);
    vf_writer_close(writer);
    return sample_get(path, size);
}

/* Images of several bands, the last of which is a part of one: the same file by any number of threads, that
 * holds the image, and is smaller the more comes again. */
Test(io_png_write, bands)
{
    static const size_t channels[] = {1, 3, 4};
    for (int c = 0; c < 3; c++)
        for (enum vf_type type = VF_U8; type <= VF_U16; type += VF_U16 - VF_U8) {
            if (left_out())
                continue;
            struct vf_volume volume, back;
            struct vf_error error;
            const ptrdiff_t sample = (ptrdiff_t)(channels[c] * vf_type_size(type));
            const struct vf_info info = {.format = VF_FORMAT_PNG,
                                         .type = type,
                                         .shape = {1500, c == 0 ? 1777 : 1777 / sample, 1, channels[c], 1},
                                         .page_channels = channels[c],
                                         .page_count = 1,
                                         .rgb = channels[c] >= 3,
                                         .has_alpha = channels[c] == 4};
            size_t bytes, size[3], plain, other;
            cr_assert_eq(vf_volume_alloc(&volume, type, &info.shape, "image", &error), VF_OK);
            cr_assert(vf_volume_bytes(type, &info.shape, &bytes));
            for (enum contents contents = NOISE; contents <= TILES; contents++) {
                for (size_t i = 0; i < bytes; i++)
                    ((unsigned char *)volume.data)[i] =
                        content_at(contents, i, info.shape.nx * vf_type_size(type), 500);
                void *one = written(&info, &volume, VF_COMPRESS_AS_INPUT, 1, &size[contents]);
                for (int threads = 2; threads < 30; threads += 3 * threads) {
                    void *many = written(&info, &volume, VF_COMPRESS_AS_INPUT, threads, &other);
                    cr_assert(other == size[contents] && memcmp(one, many, other) == 0, "%d threads",
                              threads);
                    free(many);
                }
                for (int stored = 0; stored < 2; stored++) {
                    struct vf_reader *reader;
                    if (stored == 1)
                        free(written(&info, &volume, VF_COMPRESS_NONE, 2, &plain));
                    sample_read(sample_path("out.png"), &reader, &back);
                    cr_assert_eq(memcmp(back.data, volume.data, bytes), 0, "%zu channels, contents %d",
                                 channels[c], (int)contents);
                    sample_close(reader, &back);
                }
                cr_assert(plain > bytes && plain < bytes + bytes / 100);
                free(one);
            }
            cr_assert_lt(size[NOISE], bytes + bytes / 100);
            cr_assert_lt(size[RUNS], bytes / 100);
            cr_assert_lt(size[TILES], bytes / 2, "%zu of %zu", size[TILES], bytes);
            vf_volume_free(&volume);
        }
}

Test(io_png_write, only_deflate)
{
    struct vf_error error;
    struct vf_writer *writer;
    const struct vf_info info = {
        .type = VF_U8, .shape = {4, 4, 1, 1, 1}, .page_channels = 1, .page_count = 1};
    const struct vf_output_options options = {.compression = VF_COMPRESS_LZW};
    cr_assert_eq(vf_writer_open(&writer, sample_path("out.png"), VF_FORMAT_PNG, &info, &options, &error),
                 VF_USAGE);
    cr_assert(strstr(error.text, "deflate"), "%s", error.text);
    cr_assert_eq(sample_file_count(), 0);
}
