/* MRC volumes, image stacks and stacks of volumes: a header, an extended header, sections one after the
 * other. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "alloc.h"
#include "half.h"
#include "io_codec.h"
#include "io_tags.h"
#include "mrc.h"
#include "size.h"

struct mrc_reader {
    uint64_t start; /* of the first section */
    size_t stored;  /* bytes of an element in the file */
    bool swapped;
};

/* Sums of finite values, from a value near the mean so that their squares keep their digits. */
struct mrc_sums {
    bool begun;
    double origin, sum, squares, least, most;
    double count;
};

struct mrc_writer {
    uint64_t at;   /* where the next section goes */
    size_t stored; /* bytes of an element in the file */
    void *row;     /* one row as it is written */
    struct mrc_sums sums;
};

enum { BLOCK_BYTES = 1 << 20 };

static bool machine_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void swap_elements(void *data, size_t count, size_t size)
{
    for (size_t i = 0; i < count && size == 2; i++) {
        uint16_t word;
        memcpy(&word, (char *)data + 2 * i, 2);
        word = __builtin_bswap16(word);
        memcpy((char *)data + 2 * i, &word, 2);
    }
    for (size_t i = 0; i < count && size == 4; i++) {
        uint32_t word;
        memcpy(&word, (char *)data + 4 * i, 4);
        word = __builtin_bswap32(word);
        memcpy((char *)data + 4 * i, &word, 4);
    }
}

/* ---- reading ---- */

/* The data must be there before anything is believed of their size. */
static enum vf_status check_sizes(const struct vf_reader *reader, const struct vf_mrc_header *header,
                                  struct vf_error *error)
{
    const struct mrc_reader *state = reader->state;
    size_t bytes;
    if (!vf_size_mul((size_t)header->count[0], (size_t)header->count[1], &bytes) ||
        !vf_size_mul(bytes, (size_t)header->count[2], &bytes) || !vf_size_mul(bytes, state->stored, &bytes) ||
        !vf_size_add(bytes, (size_t)state->start, &bytes) || bytes > PTRDIFF_MAX / 2)
        return vf_fail(error, VF_FAILED, "claims %lld x %lld x %lld voxels, more than can be addressed",
                       (long long)header->count[0], (long long)header->count[1], (long long)header->count[2]);
    if (bytes > reader->file_bytes)
        return vf_fail(
            error, VF_FAILED,
            "its %lld x %lld x %lld voxels of mode %d and %u bytes of extended header would end at "
            "byte %zu, but the file has %llu: it was cut short; copy it again",
            (long long)header->count[0], (long long)header->count[1], (long long)header->count[2],
            header->mode, header->extended, bytes, (unsigned long long)reader->file_bytes);
    return VF_OK;
}

static enum vf_status keep_headers(struct vf_reader *reader, const unsigned char *bytes, uint32_t extended,
                                   struct vf_error *error)
{
    struct vf_tags *tags = reader->info.tags = vf_tags_new(error);
    if (tags == NULL || vf_tags_copy_bytes(&tags->mrc_header, bytes, VF_MRC_HEADER, error) != VF_OK)
        return VF_FAILED;
    tags->page_count = 0;
    if (extended == 0)
        return VF_OK;
    tags->mrc_extended = vf_alloc(extended, 1, "extended header", error);
    if (tags->mrc_extended == NULL)
        return VF_FAILED;
    tags->mrc_extended_bytes = extended;
    if (!vf_read_at(reader->fd, tags->mrc_extended, extended, VF_MRC_HEADER))
        return vf_fail(error, VF_FAILED, "its extended header cannot be read: %s",
                       errno == 0 ? "the file ends too early" : strerror(errno));
    return VF_OK;
}

/* Stacks of images carry names of their own; "0" in the header is not enough, since tomograms have it too. */
static bool named_image_stack(const char *name)
{
    static const char *const endings[] = {".mrcs", ".st", ".ali", ".preali"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return false;
}

static enum vf_status mrc_open(struct vf_reader *reader, struct vf_error *error)
{
    enum vf_status status;
    struct vf_info *info = &reader->info;
    struct vf_mrc_header header;
    unsigned char bytes[VF_MRC_HEADER];
    struct mrc_reader *state = vf_alloc(1, sizeof *state, "MRC reader", error);
    if (state == NULL)
        return VF_FAILED;
    reader->state = state;
    if (!vf_read_at(reader->fd, bytes, sizeof bytes, 0))
        return vf_fail(error, VF_FAILED, "is cut short in its header of 1024 bytes");
    VF_TRY(vf_mrc_parse(bytes, &header, &info->type, &state->stored, error));
    state->start = VF_MRC_HEADER + (uint64_t)header.extended;
    state->swapped = header.big_endian != machine_is_big_endian();
    VF_TRY(check_sizes(reader, &header, error));
    info->format = VF_FORMAT_MRC;
    info->compression = VF_COMPRESS_NONE;
    info->big_endian = header.big_endian;
    info->half_floats = header.mode == 12;
    info->page_channels = 1;
    if (!vf_mrc_describe(&header, info))
        vf_info_note(info, "%lld sections are no whole number of volumes of %lld: taken as one volume",
                     (long long)header.count[2], (long long)header.interval[2]);
    info->page_count = info->shape.nz * info->shape.nt;
    info->image_stack = header.space_group == 0 && info->page_count > 1 && named_image_stack(reader->name);
    VF_TRY(keep_headers(reader, bytes, header.extended, error));
    vf_tags_describe(info->tags, info);
out:
    return status;
}

static enum vf_status mrc_read(struct vf_reader *reader, size_t page, void *const planes[],
                               struct vf_error *error)
{
    const struct mrc_reader *state = reader->state;
    const struct vf_info *info = &reader->info;
    const size_t count = info->shape.nx * info->shape.ny;
    const uint64_t at = state->start + page * (uint64_t)count * state->stored;
    if (!vf_read_at(reader->fd, planes[0], count * state->stored, at))
        return vf_fail(error, VF_FAILED, "section %zu: cannot be read at byte %llu: %s", page + 1,
                       (unsigned long long)at, errno == 0 ? "the file ends too early" : strerror(errno));
    if (state->swapped)
        swap_elements(planes[0], count, state->stored);
    if (info->half_floats)
        vf_halves_to_floats(planes[0], count);
    return VF_OK;
}

static void mrc_close(struct vf_reader *reader)
{
    vf_free(reader->state);
    vf_tags_free(reader->info.tags);
}

/* ---- writing ---- */

static enum vf_status mrc_supports(const struct vf_info *result, struct vf_error *error)
{
    if (result->shape.nc > 1)
        return vf_fail(error, VF_FAILED, "MRC holds one channel, and the result has %zu; write a .tif",
                       result->shape.nc);
    if (vf_mrc_mode(result, NULL) < 0)
        return vf_fail(
            error, VF_FAILED,
            "MRC holds int8, int16, uint16 and float32, and the result is %s; use --dtype float32, "
            "or write a .tif",
            vf_type_name(result->type));
    if (result->shape.nz * result->shape.nt > INT32_MAX)
        return vf_fail(error, VF_FAILED, "MRC holds at most 2147483647 sections; the result has %zu",
                       result->shape.nz * result->shape.nt);
    return VF_OK;
}

static const unsigned char *input_header(const struct vf_info *result)
{
    return result->tags == NULL ? NULL : result->tags->mrc_header;
}

static enum vf_status mrc_create(struct vf_writer *writer, struct vf_error *error)
{
    const struct vf_info *info = &writer->info;
    const int mode = vf_mrc_mode(info, input_header(info));
    struct mrc_writer *state = vf_alloc(1, sizeof *state, "MRC writer", error);
    if (state == NULL)
        return VF_FAILED;
    writer->state = state;
    state->stored = mode == 0 ? 1 : mode == 2 ? 4 : 2;
    state->at = VF_MRC_HEADER + (info->tags == NULL ? 0 : info->tags->mrc_extended_bytes);
    const size_t row_bytes = info->shape.nx * state->stored;
    state->row = vf_alloc(row_bytes > BLOCK_BYTES ? row_bytes : BLOCK_BYTES, 1, "rows to write", error);
    return state->row == NULL ? VF_FAILED : VF_OK;
}

static double value_at(enum vf_type type, const void *row, size_t x)
{
    switch (type) {
    case VF_U8:
        return ((const uint8_t *)row)[x];
    case VF_I8:
        return ((const int8_t *)row)[x];
    case VF_U16:
        return ((const uint16_t *)row)[x];
    case VF_I16:
        return ((const int16_t *)row)[x];
    default:
        return (double)((const float *)row)[x];
    }
}

static void add_row(struct mrc_sums *sums, enum vf_type type, const void *row, size_t nx)
{
    double sum = 0, squares = 0, count = 0;
    for (size_t x = 0; x < nx; x++) {
        const double value = value_at(type, row, x);
        if (!isfinite(value))
            continue;
        if (!sums->begun)
            *sums = (struct mrc_sums){.begun = true, .origin = value, .least = value, .most = value};
        sums->least = value < sums->least ? value : sums->least;
        sums->most = value > sums->most ? value : sums->most;
        const double from_origin = value - sums->origin;
        sum += from_origin;
        squares += from_origin * from_origin;
        count++;
    }
    sums->sum += sum;
    sums->squares += squares;
    sums->count += count;
}

/* One row into the file's type and byte order. */
static void convert_row(const struct vf_info *info, size_t stored, void *to, const void *row)
{
    const size_t nx = info->shape.nx;
    if (info->half_floats)
        for (size_t x = 0; x < nx; x++)
            ((uint16_t *)to)[x] = vf_half_from_float(((const float *)row)[x]);
    else if (info->type == VF_U8 && stored == 2)
        for (size_t x = 0; x < nx; x++)
            ((uint16_t *)to)[x] = ((const uint8_t *)row)[x];
    else
        memcpy(to, row, nx * stored);
    if (info->big_endian != machine_is_big_endian())
        swap_elements(to, nx, stored);
}

static enum vf_status mrc_write(struct vf_writer *writer, size_t page, const void *const planes[],
                                struct vf_error *error)
{
    struct mrc_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    const size_t nx = info->shape.nx, ny = info->shape.ny, row_bytes = nx * state->stored;
    const size_t rows = row_bytes < BLOCK_BYTES ? BLOCK_BYTES / row_bytes : 1;
    const size_t from_bytes = nx * vf_type_size(info->type);
    for (size_t y = 0, n; y < ny; y += n, state->at += n * row_bytes) {
        n = ny - y < rows ? ny - y : rows;
        for (size_t i = 0; i < n; i++) {
            const char *row = (const char *)planes[0] + (y + i) * from_bytes;
            add_row(&state->sums, info->type, row, nx);
            convert_row(info, state->stored, (char *)state->row + i * row_bytes, row);
        }
        if (!vf_write_at(vf_output_file_descriptor(writer->file), state->row, n * row_bytes, state->at))
            return vf_fail(error, VF_FAILED, "section %zu cannot be written: %s", page + 1, strerror(errno));
    }
    return VF_OK;
}

static enum vf_status mrc_finish(struct vf_writer *writer, struct vf_error *error)
{
    const struct mrc_writer *state = writer->state;
    const struct mrc_sums *sums = &state->sums;
    const struct vf_info *info = &writer->info;
    const struct vf_tags *tags = info->tags;
    const int fd = vf_output_file_descriptor(writer->file);
    const size_t extended = tags == NULL ? 0 : tags->mrc_extended_bytes;
    unsigned char bytes[VF_MRC_HEADER];
    struct vf_mrc_statistics statistics = {.least = sums->least, .most = sums->most};
    if (sums->count > 0) {
        const double offset = sums->sum / sums->count,
                     squares = sums->squares / sums->count - offset * offset;
        statistics.mean = sums->origin + offset;
        statistics.deviation = squares > 0 ? sqrt(squares) : 0;
    }
    vf_mrc_header_write(bytes, input_header(info), info, tags != NULL && vf_tags_spacing_kept(tags, info),
                        (uint32_t)extended, &statistics);
    if (!vf_write_at(fd, bytes, sizeof bytes, 0) ||
        (extended > 0 && !vf_write_at(fd, tags->mrc_extended, extended, VF_MRC_HEADER)))
        return vf_fail(error, VF_FAILED, "its header cannot be written: %s", strerror(errno));
    return VF_OK;
}

static void mrc_discard(struct vf_writer *writer)
{
    struct mrc_writer *state = writer->state;
    if (state != NULL)
        vf_free(state->row);
    vf_free(state);
}

const struct vf_codec vf_codec_mrc = {
    .name = "MRC",
    .open = mrc_open,
    .read = mrc_read,
    .close = mrc_close,
    .supports = mrc_supports,
    .create = mrc_create,
    .write = mrc_write,
    .finish = mrc_finish,
    .discard = mrc_discard,
};
