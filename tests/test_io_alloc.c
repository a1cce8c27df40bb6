/* Every allocation of a read and a write fails in turn: a message, no file, no leak. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_samples.h"
#include "sanitized.h"

TestSuite(io_alloc, .init = samples_begin, .fini = samples_end, .timeout = 300);

/* There when the sanitizer is. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

enum { WHOLE, REFUSED, SILENT, LEAKED, MISLEADING };

/* As sample_copy, but failures are what is looked for. */
static int copy(const char *from, const char *to)
{
    struct vf_error error = {.text = ""};
    struct vf_reader *reader = NULL;
    struct vf_writer *writer = NULL;
    struct vf_volume volume = {0};
    struct vf_info result;
    enum vf_format format = VF_FORMAT_TIFF;
    const struct vf_output_options options = {0};
    void *planes[4];
    enum vf_status status;
    VF_TRY(vf_reader_open(&reader, from, &error));
    const struct vf_info *info = vf_reader_info(reader);
    VF_TRY(vf_volume_alloc(&volume, info->type, &info->shape, "input", &error));
    vf_format_by_name(to, &format);
    vf_info_for_result(info, format, info->type, 1, &result);
    VF_TRY(vf_writer_open(&writer, to, format, &result, &options, &error));
    for (size_t page = 0; page < info->page_count; page++) {
        vf_info_page_planes(info, &volume, page, planes);
        VF_TRY(vf_reader_read_pages(reader, page, 1, planes, 1, &error));
        VF_TRY(vf_writer_write_pages(writer, page, 1, (const void *const *)planes, 1, &error));
    }
    VF_TRY(vf_writer_finish(writer, &error));
out:
    vf_writer_close(writer);
    sample_close(reader, &volume);
    if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0)
        return LEAKED;
    if (strstr(error.text, "damaged") != NULL || strstr(error.text, "tiffset") != NULL)
        return MISLEADING;
    return status == VF_OK ? WHOLE : error.text[0] != '\0' ? REFUSED : SILENT;
}

/* Each attempt in a process of its own, since the countdown is the process's. */
static int attempt(const char *from, const char *to, int failing)
{
    int status;
    char number[16];
    snprintf(number, sizeof number, "%d", failing);
    const pid_t child = fork();
    if (child == 0) {
        /* The leak check warns of a thread that was the parent's. */
        cr_assert_not_null(freopen("/dev/null", "w", stderr));
        setenv("VOLFILTER_FAIL_ALLOC", number, 1);
        _exit(copy(from, to));
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    cr_assert(WIFEXITED(status), "allocation %d of %s: signal %d", failing, from, WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* Until one attempt has fewer allocations than the countdown. libpng asks for some that it can do without. */
static void fail_each(const char *in, const char *out)
{
    const size_t before = sample_file_count();
    int wholes = 0;
    for (int failing = 1; wholes < 20; failing++) {
        cr_assert_lt(failing, 2000);
        const int end = attempt(in, out, failing);
        cr_assert(end == WHOLE || end == REFUSED, "allocation %d of %s to %s: %s", failing, in, out,
                  end == SILENT       ? "no message"
                  : end == MISLEADING ? "the file is blamed"
                                      : "a leak");
        wholes = end == WHOLE ? wholes + 1 : 0;
        if (end == WHOLE)
            cr_assert_eq(unlink(out), 0);
        cr_assert_eq(sample_file_count(), before, "allocation %d of %s left a file", failing, in);
    }
}

static void set_tags(TIFF *tif, uint32_t page)
{
    (void)page;
    TIFFSetField(tif, TIFFTAG_SOFTWARE, "a microscope");
    TIFFSetField(tif, TIFFTAG_PAGENAME, "a page");
    TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, "a description");
    TIFFSetField(tif, TIFFTAG_ICCPROFILE, 4, "icc");
}

Test(io_alloc, tiff)
{
    tiff_sample_write(sample_path("in.tif"), &(struct tiff_sample){.type = VF_U16,
                                                                   .nx = 20,
                                                                   .ny = 10,
                                                                   .pages = 2,
                                                                   .samples = 3,
                                                                   .tiled = true,
                                                                   .scheme = COMPRESSION_LZW,
                                                                   .more = set_tags});
    fail_each(sample_path("in.tif"), sample_path("out.tif"));
}

static void set_own_data(TIFF *tif, uint32_t page)
{
    static const TIFFFieldInfo fields[] = {
        {50838, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_LONG, FIELD_CUSTOM, 1, 1, (char *)"counts"},
        {50839, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_BYTE, FIELD_CUSTOM, 1, 1, (char *)"data"},
    };
    static const uint32_t counts[] = {12, 5};
    if (page > 0)
        return;
    TIFFMergeFieldInfo(tif, fields, 2);
    TIFFSetField(tif, 50838, 2, counts);
    TIFFSetField(tif, 50839, 17, "IJIJroi \0\0\0\1a roi");
}

Test(io_alloc, imagej)
{
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U8,
                                            .nx = 20,
                                            .ny = 10,
                                            .pages = 4,
                                            .big_endian = true,
                                            .scheme = COMPRESSION_ADOBE_DEFLATE,
                                            .description = "ImageJ=1.53t\nimages=4\nchannels=2\nslices=2\n"
                                                           "order=zct\n",
                                            .more = set_own_data});
    fail_each(sample_path("in.tif"), sample_path("out.tif"));
}

Test(io_alloc, png)
{
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){.type = VF_U16, .nx = 20, .ny = 10, .samples = 4, .more = set_tags});
    fail_each(sample_path("in.tif"), sample_path("out.png"));
    cr_assert_eq(attempt(sample_path("in.tif"), sample_path("in.png"), 0), WHOLE);
    fail_each(sample_path("in.png"), sample_path("out.png"));
    fail_each(sample_path("in.png"), sample_path("out.tif"));
}

Test(io_alloc, mrc)
{
    tiff_sample_write(sample_path("in.tif"),
                      &(struct tiff_sample){.type = VF_U16, .nx = 20, .ny = 10, .pages = 3});
    fail_each(sample_path("in.tif"), sample_path("out.mrc"));
    cr_assert_eq(attempt(sample_path("in.tif"), sample_path("in.mrc"), 0), WHOLE);
    fail_each(sample_path("in.mrc"), sample_path("out.mrc"));
    fail_each(sample_path("in.mrc"), sample_path("out.tif"));
}

Test(io_alloc, ome)
{
    tiff_sample_write(
        sample_path("in.tif"),
        &(struct tiff_sample){
            .type = VF_U8,
            .nx = 20,
            .ny = 10,
            .pages = 4,
            .description = "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image><Pixels "
                           "ID=\"P\" DimensionOrder=\"XYZCT\" SizeC=\"2\" SizeZ=\"2\"><Channel Name=\"a\"/>"
                           "<TiffData/></Pixels></Image></OME>"});
    fail_each(sample_path("in.tif"), sample_path("out.tif"));
}

/* Bytes of address space that this process has now. */
static rlim_t space_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* libtiff says nothing of a tag that it finds no memory for. A long description is read to one block, and
 * copied to another: with room for one, for two, and for all. What it tells of is read, or the file is not.
 */
Test(io_alloc, tags_that_libtiff_has_no_memory_for)
{
    enum { LONG = 60 << 20 };
    static const char begins[] = "ImageJ=1.53\nimages=4\nframes=4\n";
    char *description = malloc(LONG + 1);
    const struct tiff_sample s = {.type = VF_U8, .nx = 5, .ny = 4, .pages = 4, .description = description};
    if (UNDER_SANITIZERS)
        cr_skip_test("sanitizers keep more address space than any limit");
    memset(description, 'x', LONG);
    memcpy(description, begins, sizeof begins - 1);
    description[LONG] = '\0';
    tiff_sample_write(sample_path("in.tif"), &s);
    free(description);
    bool is_refused = false, is_read = false;
    for (rlim_t room = LONG / 2; !is_read; room += LONG / 2) {
        const struct rlimit limit = {space_in_use() + room, RLIM_INFINITY};
        const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
        struct vf_reader *reader = NULL;
        struct vf_error error = {.text = ""};
        cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
        const enum vf_status status = vf_reader_open(&reader, sample_path("in.tif"), &error);
        cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
        is_read = status == VF_OK;
        is_refused = is_refused || !is_read;
        cr_expect(is_read ? vf_reader_info(reader)->shape.nt == 4 : strstr(error.text, "memory") != NULL,
                  "%zu MiB: %s", (size_t)room >> 20, error.text);
        vf_reader_close(reader);
        cr_assert_lt(room, (rlim_t)16 * LONG);
    }
    cr_expect(is_refused);
}
