#include "io_samples.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[PATH_MAX];

void samples_begin(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/volfilter-test-XXXXXX", parent == NULL ? "/tmp" : parent);
    cr_assert_not_null(mkdtemp(directory));
    setenv("TMPDIR", directory, 1);
    umask(022);                  /* with 0 an output has a name before it is finished */
    TIFFSetWarningHandler(NULL); /* of the samples: the modules under test must be silent of their own */
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

void samples_end(void)
{
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

size_t sample_file_count(void)
{
    size_t count = 0;
    DIR *dir = opendir(directory);
    cr_assert_not_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

int sample_unfinished(int fd)
{
    char link[64], target[PATH_MAX];
    const size_t length = strlen(directory);
    for (; fd < 64; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t got = readlink(link, target, sizeof target - 1);
        target[got < 0 ? 0 : got] = '\0';
        if (strncmp(target, directory, length) == 0 &&
            (strstr(target + length, ".volfilter-") != NULL || strstr(target + length, " (deleted)") != NULL))
            return fd;
    }
    return -1;
}

const char *sample_unfinished_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", sample_unfinished(3));
    return path;
}

const char *sample_path(const char *name)
{
    static char paths[8][2 * PATH_MAX];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

size_t sample_file_size(const char *path)
{
    struct stat about;
    cr_assert_eq(stat(path, &about), 0, "%s", path);
    return (size_t)about.st_size;
}

void sample_refuse(unsigned call, unsigned argument, unsigned bits, int cause)
{
    const unsigned at =
        offsetof(struct seccomp_data, args) + 8 * argument + 4 * (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)cause),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        cr_skip_test("no filters of system calls here");
}

void sample_put(const char *path, const void *bytes, size_t size)
{
    /* ext4 writes a file to the disk when it is closed, if it was cut to nothing before. */
    remove(path);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

void *sample_get(const char *path, size_t *size)
{
    *size = sample_file_size(path);
    void *bytes = malloc(*size + 1);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL && bytes != NULL, "%s", path);
    cr_assert_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

void sample_value(enum vf_type type, size_t page, size_t sample, size_t y, size_t x, void *value)
{
    uint32_t bits = (uint32_t)(page * 7919 + sample * 104729 + y * 31 + x) * 2654435761u;
    bits ^= bits >> 15;
    const float f = (float)(bits % 20000) / 7 - 1000;
    const double d = (double)bits / 7 - 1000;
    if (type == VF_F32)
        memcpy(value, &f, sizeof f);
    else if (type == VF_F64)
        memcpy(value, &d, sizeof d);
    else
        memcpy(value, &bits, vf_type_size(type));
}

static void set_layout(TIFF *tif, const struct tiff_sample *s)
{
    const bool is_signed = s->type == VF_I8 || s->type == VF_I16 || s->type == VF_I32;
    const unsigned samples = s->samples ? s->samples : 1;
    uint16_t photometric = s->photometric;
    if (photometric == 0)
        photometric = samples == 3 || samples == 4 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, s->nx);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, s->ny);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, (unsigned)vf_type_size(s->type) * 8);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT,
                 vf_type_is_float(s->type) ? SAMPLEFORMAT_IEEEFP
                 : is_signed               ? SAMPLEFORMAT_INT
                                           : SAMPLEFORMAT_UINT);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, photometric == UINT16_MAX ? PHOTOMETRIC_MINISWHITE : photometric);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, s->separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, s->scheme ? s->scheme : COMPRESSION_NONE);
    if (s->fill_order)
        TIFFSetField(tif, TIFFTAG_FILLORDER, s->fill_order);
    if (s->extra_count)
        TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, s->extra_count, s->extra);
    if (s->predictor)
        TIFFSetField(tif, TIFFTAG_PREDICTOR, s->predictor);
    if (s->tiled) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, s->tile_nx ? s->tile_nx : 16);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, s->rows ? s->rows : 16);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, s->rows ? s->rows : s->ny);
    }
}

/* One strip or tile: `nx` by `ny` pixels from x0, y0 of the samples first to last. */
static void fill(char *to, const struct tiff_sample *s, uint32_t page, uint32_t x0, uint32_t y0, uint32_t nx,
                 uint32_t ny, unsigned first, unsigned last)
{
    for (uint32_t y = y0; y < y0 + ny; y++)
        for (uint32_t x = x0; x < x0 + nx; x++)
            for (unsigned k = first; k <= last; k++, to += vf_type_size(s->type))
                sample_value(s->type, page, k, y, x, to);
}

static void write_page(TIFF *tif, const struct tiff_sample *s, uint32_t page)
{
    const unsigned samples = s->samples ? s->samples : 1, planes = s->separate ? samples : 1;
    const uint32_t step_y = s->tiled ? (s->rows ? s->rows : 16) : s->rows ? s->rows : s->ny;
    const uint32_t step_x = s->tiled ? (s->tile_nx ? s->tile_nx : 16) : s->nx;
    char *block = malloc((size_t)step_x * step_y * samples * 8);
    uint32_t index = 0;
    for (unsigned k = 0; k < planes; k++) {
        const unsigned last = s->separate ? k : samples - 1;
        for (uint32_t y = 0; y < s->ny; y += step_y) {
            const uint32_t ny = s->tiled || s->ny - y > step_y ? step_y : s->ny - y;
            const tmsize_t bytes = (tmsize_t)((size_t)step_x * ny * (last - k + 1) * vf_type_size(s->type));
            for (uint32_t x = 0; x < s->nx; x += step_x, index++) {
                fill(block, s, page, x, y, step_x, ny, k, last);
                cr_assert_eq(s->tiled ? TIFFWriteEncodedTile(tif, index, block, bytes)
                                      : TIFFWriteEncodedStrip(tif, index, block, bytes),
                             bytes);
            }
        }
    }
    free(block);
}

void tiff_sample_write(const char *path, const struct tiff_sample *s)
{
    const char mode[] = {'w', s->big_endian ? 'b' : 'l', s->big_tiff ? '8' : '4', '\0'};
    TIFF *tif = TIFFOpen(path, mode);
    cr_assert_not_null(tif, "%s", path);
    for (uint32_t page = 0; page < (s->pages ? s->pages : 1); page++) {
        set_layout(tif, s);
        if (page == 0 && s->description != NULL)
            TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, s->description);
        if (s->more != NULL)
            s->more(tif, page);
        write_page(tif, s, page);
        cr_assert(TIFFWriteDirectory(tif));
    }
    TIFFClose(tif);
}

static void put_number(FILE *file, bool big_endian, unsigned bytes, uint32_t number)
{
    for (unsigned i = 0; i < bytes; i++)
        fputc((int)(number >> 8 * (big_endian ? bytes - 1 - i : i) & 255), file);
}

void tiff_raw_write(const char *path, bool big_endian, const struct tiff_entry *entries, size_t count,
                    const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    fputs(big_endian ? "MM" : "II", file);
    put_number(file, big_endian, 2, 42);
    put_number(file, big_endian, 4, 8);
    put_number(file, big_endian, 2, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const unsigned bytes = entries[i].type == TIFF_SHORT && entries[i].count == 1 ? 2 : 4;
        put_number(file, big_endian, 2, entries[i].tag);
        put_number(file, big_endian, 2, entries[i].type);
        put_number(file, big_endian, 4, entries[i].count);
        put_number(file, big_endian, bytes, entries[i].value);
        put_number(file, big_endian, 4 - bytes, 0);
    }
    put_number(file, big_endian, 4, 0);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static enum vf_status read_all(struct vf_reader *reader, struct vf_volume *volume, struct vf_error *error)
{
    const struct vf_info *info = vf_reader_info(reader);
    void *planes[64];
    cr_assert_leq(info->page_channels, 64);
    enum vf_status status = vf_volume_alloc(volume, info->type, &info->shape, "sample", error);
    for (size_t page = 0; status == VF_OK && page < info->page_count; page++) {
        vf_info_page_planes(info, volume, page, planes);
        status = vf_reader_read_pages(reader, page, 1, planes, 1, error);
    }
    return status;
}

struct vf_info sample_info(const char *path)
{
    struct vf_reader *reader;
    struct vf_error error;
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK, "%s", error.text);
    struct vf_info info = *vf_reader_info(reader);
    vf_reader_close(reader);
    info.tags = NULL;
    return info;
}

void sample_read(const char *path, struct vf_reader **reader, struct vf_volume *volume)
{
    struct vf_error error;
    cr_assert_eq(vf_reader_open(reader, path, &error), VF_OK, "%s", error.text);
    cr_assert_eq(read_all(*reader, volume, &error), VF_OK, "%s", error.text);
}

void sample_close(struct vf_reader *reader, struct vf_volume *volume)
{
    vf_volume_free(volume);
    vf_reader_close(reader);
}

void sample_check_pages(const struct vf_volume *volume, size_t pages, size_t samples)
{
    const struct vf_shape *shape = &volume->shape;
    const size_t size = vf_type_size(volume->type);
    char value[8];
    cr_assert_eq(shape->nz * shape->nt, pages);
    cr_assert_eq(shape->nc, samples);
    for (size_t p = 0; p < pages; p++)
        for (size_t k = 0; k < samples; k++) {
            const char *plane = vf_volume_plane(volume, p / shape->nz, k, p % shape->nz);
            for (size_t i = 0; i < shape->nx * shape->ny; i++) {
                sample_value(volume->type, p, k, i / shape->nx, i % shape->nx, value);
                cr_assert_eq(memcmp(plane + i * size, value, size), 0, "page %zu sample %zu element %zu", p,
                             k, i);
            }
        }
}

void sample_write_volume(const char *path, const struct vf_info *result, const struct vf_volume *volume,
                         const struct vf_output_options *options)
{
    struct vf_error error;
    struct vf_writer *writer;
    void *planes[64];
    cr_assert_eq(vf_writer_open(&writer, path, result->format, result, options, &error), VF_OK, "%s",
                 error.text);
    for (size_t page = 0; page < result->page_count; page++) {
        vf_info_page_planes(result, volume, page, planes);
        cr_assert_eq(vf_writer_write_pages(writer, page, 1, (const void *const *)planes, 1, &error), VF_OK,
                     "%s", error.text);
    }
    cr_assert_eq(vf_writer_finish(writer, &error), VF_OK, "%s", error.text);
    vf_writer_close(writer);
}

void sample_write_zeros(const char *path, const struct vf_info *result)
{
    struct vf_volume volume;
    struct vf_error error;
    size_t bytes;
    cr_assert_eq(vf_volume_alloc(&volume, result->type, &result->shape, "result", &error), VF_OK);
    cr_assert(vf_volume_bytes(result->type, &result->shape, &bytes));
    memset(volume.data, 0, bytes);
    sample_write_volume(path, result, &volume, &(struct vf_output_options){0});
    vf_volume_free(&volume);
}

const char *sample_lost(const char *path, enum vf_format format, enum vf_type type, size_t outputs)
{
    static char text[VF_NOTE_TEXT];
    struct vf_reader *reader;
    struct vf_info result;
    struct vf_error error;
    cr_assert_eq(vf_reader_open(&reader, path, &error), VF_OK, "%s", error.text);
    vf_info_for_result(vf_reader_info(reader), format, type, outputs, &result);
    vf_info_lost(vf_reader_info(reader), &result, text, sizeof text);
    vf_reader_close(reader);
    return text;
}

void sample_copy(const char *from, const char *to, enum vf_compression compression)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_info result;
    enum vf_format format;
    sample_read(from, &reader, &volume);
    cr_assert(vf_format_by_name(to, &format));
    vf_info_for_result(vf_reader_info(reader), format, volume.type, 1, &result);
    sample_write_volume(to, &result, &volume, &(struct vf_output_options){.compression = compression});
    vf_volume_free(&volume);
    vf_reader_close(reader);
}

const char *sample_refusal(const char *path)
{
    static struct vf_error error;
    struct vf_reader *reader;
    struct vf_volume volume = {0};
    error.text[0] = '\0';
    if (vf_reader_open(&reader, path, &error) == VF_OK) {
        read_all(reader, &volume, &error);
        vf_volume_free(&volume);
        vf_reader_close(reader);
    }
    return error.text;
}

void sample_check_refused(const char *path, const char *words)
{
    const char *message = sample_refusal(path);
    char word[100];
    cr_assert(strstr(message, path), "no file name in: %s (expected: %s)", message, words);
    while (*words != '\0') {
        const size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        cr_assert(strstr(message, word), "\"%s\" is not in: %s", word, message);
        words += length + (words[length] == '|');
    }
}
