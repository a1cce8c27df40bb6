/* What all formats share: telling them apart, readers, writers, whole pages. io_info.c has what is known of a
 * file, io_loss.c what is lost. */
#include "io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptor.h"
#include "io_codec.h"
#include "vector_clones.h"

#define EXPORT "export it as TIFF (in Fiji: open it, then Save As > Tiff)"

/* Kinds that people try, and what to do about them. */
static const struct {
    size_t at;
    const char *magic;
    size_t length;
    const char *kind, *remedy;
} kinds[] = {
    {0, "\xff\xd8\xff", 3, "a JPEG image", "convert it: convert IN.jpg OUT.png"},
    {0, "GIF8", 4, "a GIF image", "convert it: convert IN.gif PNG24:OUT.png"},
    {0, "BM", 2, "a BMP image", "convert it: convert IN.bmp PNG24:OUT.png"},
    {8, "WEBP", 4, "a WebP image", "convert it: convert IN.webp OUT.png"},
    {4, "jP  ", 4, "a JPEG 2000 image", "convert it: convert IN.jp2 OUT.tif"},
    {0, "\x76\x2f\x31\x01", 4, "an OpenEXR image", "convert it to a float TIFF"},
    {0, "P5", 2, "a PGM image", "convert it: convert IN.pgm OUT.png"},
    {0, "P6", 2, "a PPM image", "convert it: convert IN.ppm OUT.png"},
    {0, "%PDF", 4, "a PDF document", "extract its images: pdfimages -png IN.pdf OUT"},
    {0, "\x1f\x8b", 2, "compressed with gzip", "unpack it: gunzip IN.gz"},
    {0, "BZh", 3, "compressed with bzip2", "unpack it: bunzip2 IN.bz2"},
    {0,
     "\xfd"
     "7zXZ",
     5, "compressed with xz", "unpack it: unxz IN.xz"},
    {0, "\x28\xb5\x2f\xfd", 4, "compressed with zstd", "unpack it: unzstd IN.zst"},
    {0, "PK\x03\x04", 4, "a ZIP archive", "unpack it: unzip IN.zip"},
    {0, "\x89HDF", 4, "an HDF5 file",
     "export the volume: in Fiji Plugins > HDF5, then Save As > Tiff, or e2proc3d.py IN.hdf OUT.mrc"},
    {0, "\0\0\0\3", 4, "a Gatan DM3 file", "convert it: dm2mrc IN.dm3 OUT.mrc"},
    {0, "\0\0\0\4", 4, "a Gatan DM4 file", "convert it: dm2mrc IN.dm4 OUT.mrc"},
    {0, "\6\0\0\5", 4, "an EM volume", "convert it: e2proc3d.py IN.em OUT.mrc"},
    {0, "ZISRAWFILE", 10, "a Zeiss CZI file", EXPORT},
    {0, "\xda\xce\xbe\x0a", 4, "a Nikon ND2 file", EXPORT},
    {0, "\x70\0\0\0", 4, "a Leica LIF file", EXPORT},
    {128, "DICM", 4, "a DICOM file", EXPORT},
    {344, "n+1", 4, "a NIfTI volume", EXPORT},
    {0, "NRRD", 4, "an NRRD volume", EXPORT},
    {0, "ObjectType", 10, "a MetaImage volume", EXPORT},
    {0, "NDims", 5, "a MetaImage volume", EXPORT},
    {0, "\x93NUMPY", 6, "a NumPy array", "save it as TIFF, in Python: tifffile.imwrite(OUT, numpy.load(IN))"},
    {0, "SIMPLE  =", 9, "a FITS file", EXPORT},
};

static const struct {
    size_t at;
    const char *magic;
    size_t length;
    const struct vf_codec *codec;
} readable[] = {
    {0, "II*\0", 4, &vf_codec_tiff},
    {0, "MM\0*", 4, &vf_codec_tiff},
    {0, "II+\0", 4, &vf_codec_tiff},
    {0, "MM\0+", 4, &vf_codec_tiff},
    {0, "\x89PNG\r\n\x1a\n", 8, &vf_codec_png},
    {208, "MAP ", 4, &vf_codec_mrc},
    {208, "MAP\0", 4, &vf_codec_mrc},
};

static const struct {
    const char *ending;
    enum vf_format format;
} endings[] = {
    {".tif", VF_FORMAT_TIFF},   {".tiff", VF_FORMAT_TIFF}, {".png", VF_FORMAT_PNG}, {".mrc", VF_FORMAT_MRC},
    {".mrcs", VF_FORMAT_MRC},   {".rec", VF_FORMAT_MRC},   {".st", VF_FORMAT_MRC},  {".ali", VF_FORMAT_MRC},
    {".preali", VF_FORMAT_MRC}, {".map", VF_FORMAT_MRC},
};

static const struct vf_codec *codec_of(enum vf_format format)
{
    static const struct vf_codec *const codecs[] = {
        [VF_FORMAT_TIFF] = &vf_codec_tiff, [VF_FORMAT_PNG] = &vf_codec_png, [VF_FORMAT_MRC] = &vf_codec_mrc};
    return codecs[format];
}

const char *vf_format_name(enum vf_format format)
{
    return codec_of(format)->name;
}

bool vf_size_plausible(uint64_t bytes, uint64_t compressed, uint64_t ratio)
{
    uint64_t most;
    return __builtin_mul_overflow(compressed, ratio, &most) || bytes <= most;
}

/* Of a file that is read, by what it begins with, which are so many bytes; NULL: it is of no such kind. */
static const struct vf_codec *codec_beginning(const char head[VF_HEAD_BYTES], size_t bytes)
{
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
        if (bytes >= readable[i].at + readable[i].length &&
            memcmp(head + readable[i].at, readable[i].magic, readable[i].length) == 0)
            return readable[i].codec;
    return NULL;
}

bool vf_begins_as_image(const char head[VF_HEAD_BYTES])
{
    return codec_beginning(head, VF_HEAD_BYTES) != NULL;
}

/* The name of a format of which these few bytes are the beginning; NULL: there is none, or they are more than
 * tells it. */
static const char *format_cut_short(const char *head, size_t bytes)
{
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
        if (readable[i].at == 0 && bytes >= 2 && bytes < readable[i].length &&
            memcmp(head, readable[i].magic, bytes) == 0)
            return readable[i].codec->name;
    return NULL;
}

static bool is_text(const char *head, size_t bytes)
{
    const size_t shown = bytes < VF_HEAD_BYTES ? bytes : VF_HEAD_BYTES;
    for (size_t i = 0; i < shown; i++)
        if (iscntrl(head[i] & 0xff) && !isspace(head[i] & 0xff))
            return false;
    return bytes >= 4;
}

/* The file is of no kind that is read: `head` is what it begins with, `bytes` of it are the file's. */
static enum vf_status fail_kind(const struct vf_reader *reader, const char *head, size_t bytes,
                                struct vf_error *error)
{
    const char *cut = format_cut_short(head, bytes);
    enum vf_format named;
    char first[sizeof " 00 00 00 00"] = "";
    if (cut != NULL)
        return vf_fail(error, VF_FAILED,
                       "has only the first %zu bytes of a %s: it was cut short; copy it again", bytes, cut);
    if (vf_format_by_name(reader->name, &named) && named == VF_FORMAT_MRC)
        return vf_fail(
            error, VF_FAILED,
            bytes < VF_HEAD_BYTES
                ? "is named as MRC, but ends within its header: it was cut short; copy it again"
                : "is named as MRC, but has no \"MAP \" at byte 208, as such files have since 2000; "
                  "if it is an older one, rewrite it: newstack IN.mrc OUT.mrc");
    if (is_text(head, bytes))
        return vf_fail(error, VF_FAILED, "is text, neither TIFF, PNG nor MRC");
    for (size_t i = 0; i < 4 && i < bytes; i++)
        snprintf(first + 3 * i, sizeof first - 3 * i, " %02x", head[i] & 0xff);
    return vf_fail(
        error, VF_FAILED,
        "is neither TIFF, PNG nor MRC (its first bytes are%s); raw pixels can be imported by ImageJ "
        "(File > Import > Raw) and saved as TIFF",
        first);
}

/* Whether it is a kind that is read; `head` is what it begins with, zeros after its end. */
static enum vf_status find_codec(struct vf_reader *reader, const char head[VF_HEAD_BYTES], size_t bytes,
                                 struct vf_error *error)
{
    reader->codec = codec_beginning(head, bytes);
    if (reader->codec != NULL)
        return VF_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(head + kinds[i].at, kinds[i].magic, kinds[i].length) == 0)
            return vf_fail(error, VF_FAILED, "is %s, neither TIFF, PNG nor MRC; %s", kinds[i].kind,
                           kinds[i].remedy);
    return fail_kind(reader, head, bytes, error);
}

/* What a stream or file begins with, from where it is read; *bytes may be fewer than there is room for. */
static enum vf_status read_head(struct vf_reader *reader, char head[VF_HEAD_BYTES], size_t *bytes,
                                struct vf_error *error)
{
    memset(head, 0, VF_HEAD_BYTES);
    const ssize_t got = vf_read_up_to(reader->fd, head, VF_HEAD_BYTES, false);
    if (got < 0)
        return vf_fail(error, VF_FAILED, "cannot be read: %s", vf_cause(errno));
    *bytes = (size_t)got;
    return *bytes > 0 ? VF_OK : vf_fail(error, VF_FAILED, "is empty");
}

/* Pipes, terminals and the like become a file without a name, since all formats need to seek. */
static enum vf_status spool(struct vf_reader *reader, const char *head, size_t bytes, struct vf_error *error)
{
    static const char copy[] = "a temporary copy of its data (TMPDIR sets the directory)";
    const int spooled = vf_nameless_file(error);
    enum vf_status status = spooled < 0 ? VF_FAILED : VF_OK;
    if (status == VF_OK && (!vf_write_at(spooled, head, bytes, 0) || lseek(spooled, 0, SEEK_END) < 0))
        status = vf_fail(error, VF_FAILED, "cannot write %s: %s", copy, vf_cause(errno));
    if (status == VF_OK)
        status = vf_copy_descriptor(reader->fd, "its data", spooled, copy, false, error);
    close(reader->fd);
    reader->fd = spooled;
    return status;
}

/* Sets codec and size; the file then can seek. */
static enum vf_status open_input(struct vf_reader *reader, const char *path, struct vf_error *error)
{
    struct stat about;
    char head[VF_HEAD_BYTES];
    size_t bytes;
    enum vf_status status;
    reader->fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                        : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (reader->fd < 0 || fstat(reader->fd, &about) != 0)
        return vf_fail(error, VF_FAILED, "cannot be read: %s", vf_cause(errno));
    if (S_ISDIR(about.st_mode))
        return vf_fail(error, VF_FAILED,
                       "is a directory; name the files in it (all are filtered with --out-dir and --tree)");
    if (isatty(reader->fd))
        return vf_fail(error, VF_USAGE, "is a terminal; redirect a TIFF, PNG or MRC file into it");
    const bool seekable = S_ISREG(about.st_mode) && lseek(reader->fd, 0, SEEK_CUR) == 0;
    VF_TRY(read_head(reader, head, &bytes, error));
    VF_TRY(find_codec(reader, head, bytes, error));
    if (!seekable)
        VF_TRY(spool(reader, head, bytes, error));
    if (fstat(reader->fd, &about) != 0 || lseek(reader->fd, 0, SEEK_SET) != 0)
        return vf_fail(error, VF_FAILED, "cannot be read: %s", vf_cause(errno));
    reader->file_bytes = (uint64_t)about.st_size;
    reader->changed = about.st_mtim;
out:
    return status;
}

enum vf_status vf_reader_open(struct vf_reader **out, const char *path, struct vf_error *error)
{
    enum vf_status status = VF_FAILED;
    const char *name = vf_input_name(path);
    *out = NULL;
    struct vf_reader *reader = vf_alloc(1, sizeof *reader, "reader", error);
    if (reader == NULL)
        return vf_in_file(error, VF_FAILED, name);
    reader->fd = -1;
    reader->name = vf_strdup(name, error);
    if (reader->name == NULL)
        goto out;
    VF_TRY(open_input(reader, path, error));
    VF_TRY(reader->codec->open(reader, error));
    /* A size may be too large for its unit. */
    for (int axis = 0; axis < 3; axis++)
        reader->info.spacing_known[axis] =
            reader->info.spacing_known[axis] && isfinite(reader->info.spacing[axis]);
    reader->team = vf_team_open();
    *out = reader;
    return VF_OK;
out:
    vf_reader_close(reader);
    return vf_in_file(error, status, name);
}

const struct vf_info *vf_reader_info(const struct vf_reader *reader)
{
    return &reader->info;
}

static enum vf_status read_pages(struct vf_reader *reader, size_t first, size_t count, void *const planes[],
                                 int threads, struct vf_error *error)
{
    const size_t pages = reader->info.page_count;
    if (first >= pages || count > pages - first)
        return vf_fail(error, VF_FAILED, "has no page %zu", (first >= pages ? first : pages) + 1);
    return count == 0 ? VF_OK : reader->codec->read_pages(reader, first, count, planes, threads, error);
}

enum vf_status vf_reader_read_pages(struct vf_reader *reader, size_t first, size_t count,
                                    void *const planes[], int threads, struct vf_error *error)
{
    const enum vf_status status = read_pages(reader, first, count, planes, threads, error);
    return vf_in_file(error, status, reader->name);
}

size_t vf_reader_bytes(const struct vf_reader *reader, int threads)
{
    return reader->codec->read_bytes == NULL ? 0 : reader->codec->read_bytes(reader, threads);
}

size_t vf_reader_row_block(const struct vf_reader *reader)
{
    return reader->row_block;
}

enum vf_status vf_reader_read_rows(struct vf_reader *reader, size_t y, size_t count, void *const planes[],
                                   int threads, struct vf_error *error)
{
    const enum vf_status status = reader->codec->read_rows(reader, y, count, planes, threads, error);
    return vf_in_file(error, status, reader->name);
}

bool vf_reader_is_of(const struct vf_reader *reader, const struct stat *file)
{
    return (uint64_t)file->st_size == reader->file_bytes && file->st_mtim.tv_sec == reader->changed.tv_sec &&
           file->st_mtim.tv_nsec == reader->changed.tv_nsec;
}

enum vf_status vf_reader_may_replace(const struct vf_reader *reader, const char *path, struct vf_error *error)
{
    struct stat was, now;
    if (fstat(reader->fd, &was) != 0 || stat(path, &now) != 0 ||
        (vf_is_same_file(&now, &was) && vf_reader_is_of(reader, &now)))
        return VF_OK;
    vf_fail(error, VF_FAILED,
            "was meanwhile changed or replaced by another program, and is left as it is; filter it again, or "
            "give the result another name");
    return vf_in_file(error, VF_FAILED, reader->name);
}

enum vf_status vf_reader_finish(const struct vf_reader *reader, struct vf_error *error)
{
    struct stat now;
    if (fstat(reader->fd, &now) != 0 || vf_reader_is_of(reader, &now))
        return VF_OK;
    vf_fail(error, VF_FAILED, "was changed while it was read; filter it again once it is complete");
    return vf_in_file(error, VF_FAILED, reader->name);
}

void vf_reader_close(struct vf_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->codec != NULL)
        reader->codec->close(reader);
    vf_team_close(reader->team);
    if (reader->fd >= 0)
        close(reader->fd);
    vf_free(reader->name);
    vf_free(reader);
}

bool vf_format_by_name(const char *path, enum vf_format *format)
{
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof endings / sizeof *endings; i++) {
        if (strcasecmp(ending, endings[i].ending) == 0) {
            *format = endings[i].format;
            return true;
        }
    }
    return false;
}

enum vf_status vf_writer_supports(enum vf_format format, const struct vf_info *result,
                                  enum vf_compression compression, struct vf_error *error)
{
    return codec_of(format)->supports(result, compression, error);
}

enum vf_status vf_writer_open(struct vf_writer **out, const char *path, enum vf_format format,
                              const struct vf_info *result, const struct vf_output_options *options,
                              struct vf_error *error)
{
    enum vf_status status = VF_FAILED;
    const char *name = vf_output_name(path);
    *out = NULL;
    struct vf_writer *writer = vf_alloc(1, sizeof *writer, "writer", error);
    if (writer == NULL)
        return vf_in_file(error, VF_FAILED, name);
    writer->codec = codec_of(format);
    writer->info = *result;
    writer->options = *options;
    writer->name = vf_strdup(name, error);
    if (writer->name == NULL)
        goto out;
    VF_TRY(writer->codec->supports(result, options->compression, error));
    VF_TRY(vf_output_file_open(&writer->file, path, options->no_clobber, error));
    if (vf_output_file_is_terminal(writer->file)) {
        status = vf_fail(error, VF_USAGE, "is a terminal; redirect it to a file or a pipe");
        goto out;
    }
    VF_TRY(writer->codec->create(writer, error));
    writer->team = vf_team_open();
    *out = writer;
    return VF_OK;
out:
    vf_writer_close(writer);
    return vf_in_file(error, status, name);
}

static enum vf_status fail_writing(const struct vf_writer *writer, enum vf_status status,
                                   struct vf_error *error)
{
    if (status == VF_FAILED && vf_output_file_is_spooled(writer->file))
        vf_fail_in(error, status, "a temporary copy of it (TMPDIR sets the directory)");
    return vf_in_file(error, status, writer->name);
}

enum vf_status vf_writer_write_pages(struct vf_writer *writer, size_t first, size_t count,
                                     const void *const planes[], int threads, struct vf_error *error)
{
    const size_t pages = writer->info.page_count;
    enum vf_status status = VF_OK;
    if (first != writer->next_page || first > pages || count > pages - first)
        status = vf_fail(error, VF_FAILED, "page %zu was written out of order", first + 1);
    else
        status = writer->codec->write_pages(writer, first, count, planes, threads, error);
    if (status != VF_OK)
        return fail_writing(writer, status, error);
    writer->next_page += count;
    return VF_OK;
}

size_t vf_writer_bytes(enum vf_format format, const struct vf_info *result, int threads)
{
    const struct vf_codec *codec = codec_of(format);
    return codec->write_bytes == NULL ? 0 : codec->write_bytes(result, threads);
}

size_t vf_writer_row_block(enum vf_format format, const struct vf_info *result)
{
    const struct vf_codec *codec = codec_of(format);
    return codec->row_block == NULL || result->page_count != 1 ? 0 : codec->row_block(result);
}

enum vf_status vf_writer_write_rows(struct vf_writer *writer, size_t y, size_t count,
                                    const void *const planes[], int threads, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    if (y != writer->next_row || writer->next_page > 0 || count > writer->info.shape.ny - y)
        status = vf_fail(error, VF_FAILED, "row %zu was written out of order", y + 1);
    else
        status = writer->codec->write_rows(writer, y, count, planes, threads, error);
    if (status != VF_OK)
        return fail_writing(writer, status, error);
    writer->next_row += count;
    writer->next_page += writer->next_row == writer->info.shape.ny;
    return VF_OK;
}

enum vf_status vf_writer_finish(struct vf_writer *writer, struct vf_error *error)
{
    struct stat about;
    enum vf_status status;
    if (writer->next_page != writer->info.page_count) {
        status = vf_fail(error, VF_FAILED, "only %zu of %zu pages were written", writer->next_page,
                         writer->info.page_count);
        goto out;
    }
    status = writer->codec->finish(writer, error);
    if (status != VF_OK)
        return fail_writing(writer, status, error);
    VF_TRY(vf_output_file_settle(writer->file, writer->options.sync, &about, error));
    if (writer->options.whole != NULL)
        VF_TRY(writer->options.whole(writer->options.context, &about, error));
    VF_TRY(vf_output_file_finish(writer->file, writer->options.sync, error));
out:
    return vf_in_file(error, status, writer->name);
}

void vf_writer_close(struct vf_writer *writer)
{
    if (writer == NULL)
        return;
    writer->codec->discard(writer);
    vf_team_close(writer->team);
    vf_output_file_close(writer->file);
    vf_free(writer->name);
    vf_free(writer);
}

/* One loop for each element size, and for each usual number of samples: the compiler makes tight copies of
 * them. */
#define SPLIT(type, SAMPLES)                        \
    {                                               \
        const type *from = pixels;                  \
        type *to[SAMPLES];                          \
        for (size_t k = 0; k < (SAMPLES); k++)      \
            to[k] = (type *)planes[k] + at;         \
        for (size_t i = 0; i < count; i++)          \
            for (size_t k = 0; k < (SAMPLES); k++)  \
                to[k][i] = from[i * (SAMPLES) + k]; \
    }

#define SPLIT_ANY(type)                              \
    for (size_t k = 0; k < samples; k++) {           \
        const type *from = (const type *)pixels + k; \
        type *to = (type *)planes[k] + at;           \
        for (size_t i = 0; i < count; i++)           \
            to[i] = from[i * samples];               \
    }

#define JOIN(type, SAMPLES)                         \
    {                                               \
        type *to = pixels;                          \
        const type *from[SAMPLES];                  \
        for (size_t k = 0; k < (SAMPLES); k++)      \
            from[k] = (const type *)planes[k] + at; \
        for (size_t i = 0; i < count; i++)          \
            for (size_t k = 0; k < (SAMPLES); k++)  \
                to[i * (SAMPLES) + k] = from[k][i]; \
    }

#define JOIN_ANY(type)                                   \
    for (size_t k = 0; k < samples; k++) {               \
        const type *from = (const type *)planes[k] + at; \
        type *to = (type *)pixels + k;                   \
        for (size_t i = 0; i < count; i++)               \
            to[i * samples] = from[i];                   \
    }

#define BY_SAMPLES(MOVE, type) \
    switch (samples) {         \
    case 2:                    \
        MOVE(type, 2)          \
        break;                 \
    case 3:                    \
        MOVE(type, 3)          \
        break;                 \
    case 4:                    \
        MOVE(type, 4)          \
        break;                 \
    case 6:                    \
        MOVE(type, 6)          \
        break;                 \
    default:                   \
        MOVE##_ANY(type)       \
    }

VF_VECTOR_CLONES
void vf_split_samples(void *const planes[], size_t at, const void *pixels, size_t count, size_t samples,
                      size_t size)
{
    if (samples == 1) {
        memcpy((char *)planes[0] + at * size, pixels, count * size);
        return;
    }
    switch (size) {
    case 1:
        BY_SAMPLES(SPLIT, uint8_t)
        break;
    case 2:
        BY_SAMPLES(SPLIT, uint16_t)
        break;
    case 4:
        BY_SAMPLES(SPLIT, uint32_t)
        break;
    default:
        BY_SAMPLES(SPLIT, uint64_t)
    }
}

VF_VECTOR_CLONES
void vf_join_samples(void *pixels, const void *const planes[], size_t at, size_t count, size_t samples,
                     size_t size)
{
    if (samples == 1) {
        memcpy(pixels, (const char *)planes[0] + at * size, count * size);
        return;
    }
    switch (size) {
    case 1:
        BY_SAMPLES(JOIN, uint8_t)
        break;
    case 2:
        BY_SAMPLES(JOIN, uint16_t)
        break;
    case 4:
        BY_SAMPLES(JOIN, uint32_t)
        break;
    default:
        BY_SAMPLES(JOIN, uint64_t)
    }
}
