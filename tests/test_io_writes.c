/* Every write of a result, and every question how long it is, fails in turn: a message that says why and no
 * file, or the same file. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io_samples.h"

TestSuite(io_writes, .init = samples_begin, .fini = samples_end, .timeout = 300);

/* Calls until one fails; negative: none does. */
static int writes_left = -1, sizes_left = -1;

static bool fails(int *left)
{
    if (*left < 0 || (*left)-- > 0)
        return false;
    errno = ENOSPC;
    return true;
}

/* In the place of the C library's. */
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    return fails(&writes_left) ? -1 : syscall(SYS_pwrite64, fd, data, bytes, offset);
}

int fstat(int fd, struct stat *about)
{
    return fails(&sizes_left) ? -1 : fstatat(fd, "", about, AT_EMPTY_PATH);
}

static enum vf_status write_volume(const char *path, const struct vf_info *result,
                                   const struct vf_volume *volume, struct vf_error *error)
{
    struct vf_writer *writer;
    void *planes[4];
    const struct vf_output_options options = {.compression = result->compression};
    enum vf_status status;
    VF_TRY(vf_writer_open(&writer, path, result->format, result, &options, error));
    for (size_t page = 0; page < result->page_count; page++) {
        vf_info_page_planes(result, volume, page, planes);
        VF_TRY(vf_writer_write_pages(writer, page, 1, (const void *const *)planes, 1, error));
    }
    VF_TRY(vf_writer_finish(writer, error));
out:
    vf_writer_close(writer);
    return status;
}

static void check_same(const char *path, const char *expected)
{
    size_t bytes, expected_bytes;
    char *data = sample_get(path, &bytes), *wanted = sample_get(expected, &expected_bytes);
    cr_assert(bytes == expected_bytes && memcmp(data, wanted, bytes) == 0);
    free(data);
    free(wanted);
}

/* Returns how many failed. */
static int fail_calls(int *left, const char *name, const struct vf_info *result,
                      const struct vf_volume *volume)
{
    struct vf_error error;
    const size_t files = sample_file_count();
    for (int failures = 0;; failures++) {
        cr_assert_lt(failures, 1000);
        *left = failures;
        const enum vf_status status = write_volume(sample_path(name), result, volume, &error);
        const bool failed = *left < 0;
        *left = -1;
        if (status == VF_OK) {
            check_same(sample_path(name), sample_path("good"));
            cr_assert_eq(unlink(sample_path(name)), 0);
        } else {
            cr_expect(strstr(error.text, strerror(ENOSPC)) != NULL, "call %d of %s: %s", failures, name,
                      error.text);
        }
        cr_assert_eq(sample_file_count(), files, "call %d of %s left a file", failures, name);
        if (!failed)
            return failures;
    }
}

static void fail_each(const struct tiff_sample *sample, const char *name, enum vf_compression compression)
{
    struct vf_reader *reader;
    struct vf_volume volume;
    struct vf_info result;
    struct vf_error error;
    enum vf_format format = VF_FORMAT_TIFF;
    tiff_sample_write(sample_path("in.tif"), sample);
    sample_read(sample_path("in.tif"), &reader, &volume);
    vf_format_by_name(name, &format);
    vf_info_for_result(vf_reader_info(reader), format, volume.type, 1, &result);
    result.compression = compression;
    cr_assert_eq(write_volume(sample_path("good"), &result, &volume, &error), VF_OK, "%s", error.text);
    cr_expect_gt(fail_calls(&writes_left, name, &result, &volume), 2);
    cr_expect_gt(fail_calls(&sizes_left, name, &result, &volume), 0);
    sample_close(reader, &volume);
}

Test(io_writes, each_fails)
{
    static const char imagej[] = "ImageJ=1.53\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n";
    const struct tiff_sample plain = {.type = VF_U16, .nx = 20, .ny = 10, .pages = 3, .samples = 3};
    const struct tiff_sample grey = {.type = VF_U8, .nx = 20, .ny = 10, .pages = 3};
    const struct tiff_sample hyperstack = {
        .type = VF_U16, .nx = 20, .ny = 10, .pages = 6, .big_endian = true, .description = imagej};
    fail_each(&plain, "out.tif", VF_COMPRESS_NONE);
    fail_each(&plain, "out.tif", VF_COMPRESS_LZW);
    fail_each(&grey, "out.tif", VF_COMPRESS_NONE);
    fail_each(&hyperstack, "out.tif", VF_COMPRESS_NONE);
    fail_each(&hyperstack, "out.tif", VF_COMPRESS_DEFLATE);
    fail_each(&grey, "out.mrc", VF_COMPRESS_NONE);
}
