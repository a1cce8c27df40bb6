/* MRC volumes, image stacks and stacks of volumes: a header, an extended header, sections one after the
 * other. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "byte_order.h"
#include "half.h"
#include "io_codec.h"
#include "io_tags.h"
#include "mrc.h"
#include "size.h"
#include "vector_clones.h"

struct mrc_reader {
    uint64_t start; /* of the first section */
    size_t stored;  /* bytes of an element in the file */
    bool swapped;
};

/* Sums of finite values, from a value near the mean so that their squares keep their digits. Every sixteenth
 * value of a row goes to the same sum. */
enum { LANES = 16 };
struct mrc_sums {
    double sum[LANES], squares[LANES], least[LANES], most[LANES], count[LANES];
};

struct mrc_writer {
    uint64_t start; /* of the first section */
    size_t stored;  /* bytes of an element in the file */
    bool begun;     /* a finite value was there: the first is the origin */
    double origin;
    struct mrc_sums sums;
    bool direct;          /* elements are written as they are */
    struct vf_room block; /* else: some rows as they are written, for each thread */
};

enum { BLOCK_BYTES = 1 << 20 };

/* It is held in memory. What programs write takes some KiB for each section. */
enum { MOST_EXTENDED = 256 << 20 };

static const bool machine_is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

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
        return vf_fail(error, VF_FAILED,
                       "its %lld x %lld x %lld voxels of mode %d and %u bytes of extended header would end "
                       "at byte %zu, but the file has only %llu: it was cut short; copy it again",
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
    if (extended > MOST_EXTENDED)
        return vf_fail(
            error, VF_FAILED,
            "its header says that %.0f MiB of extended header follow, but %d MiB is the most that is "
            "kept; is it damaged?",
            vf_mib(extended), MOST_EXTENDED >> 20);
    tags->mrc_extended = vf_alloc(extended, 1, "extended header", error);
    if (tags->mrc_extended == NULL)
        return VF_FAILED;
    tags->mrc_extended_bytes = extended;
    if (!vf_read_at(reader->fd, tags->mrc_extended, extended, VF_MRC_HEADER))
        return vf_fail(error, VF_FAILED, "its extended header cannot be read: %s",
                       errno == 0 ? "the file ends too early; copy it again" : vf_cause(errno));
    return VF_OK;
}

/* Programs that say a cell of all sections give stacks of images names of their own; one name is theirs
 * alone, whatever the header says. */
static bool named_image_stack(const char *name, const struct vf_mrc_header *header)
{
    static const char *const endings[] = {".mrcs", ".st", ".ali", ".preali"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(ending, endings[i]) == 0)
            return header->space_group == 0 || i == 0;
    return false;
}

/* Of crystals it may not be. */
static bool is_cell_rectangular(const struct vf_mrc_header *header)
{
    bool is = true;
    for (int i = 0; i < 3; i++)
        is = is && (header->angle[i] == 0 || fabs(header->angle[i] - 90) < 0.01);
    return is;
}

/* What a reader of the header may not expect; `even` is whether the sections are whole volumes. */
static void add_notes(struct vf_reader *reader, const struct vf_mrc_header *header, bool even)
{
    const struct mrc_reader *state = reader->state;
    struct vf_info *info = &reader->info;
    const uint64_t end = state->start + (uint64_t)header->count[0] * (uint64_t)header->count[1] *
                                            (uint64_t)header->count[2] * state->stored;
    if (!even)
        vf_info_note(info, "%lld sections are not a whole number of volumes of %lld: read as one volume",
                     (long long)header->count[2], (long long)header->interval[2]);
    if (!is_cell_rectangular(header))
        vf_info_note(info,
                     "the axes of its cell meet at %g, %g and %g degrees; distances are taken as if at 90",
                     header->angle[0], header->angle[1], header->angle[2]);
    if (info->type == VF_U8 && !header->imod)
        vf_info_note(info, "its bytes are read as unsigned, because the range in its header goes beyond 127");
    if (reader->file_bytes > end)
        vf_info_note(info,
                     "the file goes on for %llu bytes after the %lld sections of its header, which are "
                     "not read",
                     (unsigned long long)(reader->file_bytes - end), (long long)header->count[2]);
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
        return vf_fail(error, VF_FAILED, "its header of 1024 bytes cannot be read: %s",
                       errno == 0 ? "the file ends too early; copy it again" : vf_cause(errno));
    VF_TRY(vf_mrc_parse(bytes, &header, &info->type, &state->stored, error));
    state->start = VF_MRC_HEADER + (uint64_t)header.extended;
    state->swapped = header.big_endian != machine_is_big_endian;
    VF_TRY(check_sizes(reader, &header, error));
    info->format = VF_FORMAT_MRC;
    info->compression = VF_COMPRESS_NONE;
    info->big_endian = header.big_endian;
    info->half_floats = header.mode == 12;
    info->page_channels = 1;
    add_notes(reader, &header, vf_mrc_describe(&header, info));
    info->page_count = info->shape.nz * info->shape.nt;
    if (info->page_count > 1 && info->shape.nt == 1 && named_image_stack(reader->name, &header))
        info->image_stack = true;
    VF_TRY(keep_headers(reader, bytes, header.extended, error));
    vf_tags_describe(info->tags, info);
out:
    return status;
}

static enum vf_status read_section(struct vf_reader *reader, size_t page, void *plane, struct vf_error *error)
{
    const struct mrc_reader *state = reader->state;
    const struct vf_info *info = &reader->info;
    const size_t count = info->shape.nx * info->shape.ny;
    const uint64_t at = state->start + page * (uint64_t)count * state->stored;
    if (!vf_read_at(reader->fd, plane, count * state->stored, at))
        return vf_fail(error, VF_FAILED, "section %zu: cannot be read at byte %llu: %s", page + 1,
                       (unsigned long long)at,
                       errno == 0 ? "the file ends too early; copy it again" : vf_cause(errno));
    if (state->swapped)
        vf_swap_bytes(plane, count, state->stored);
    if (info->half_floats)
        vf_halves_to_floats(plane, count);
    return VF_OK;
}

struct sections_read {
    struct vf_reader *reader;
    size_t first;
    void *const *planes;
};

static enum vf_status read_one(void *context, size_t item, int thread, struct vf_error *error)
{
    const struct sections_read *s = context;
    (void)thread;
    return read_section(s->reader, s->first + item, s->planes[item], error);
}

static enum vf_status mrc_read_pages(struct vf_reader *reader, size_t first, size_t count,
                                     void *const planes[], int threads, struct vf_error *error)
{
    struct sections_read s = {reader, first, planes};
    return vf_team_each(reader->team, threads, count, read_one, &s, error);
}

static void mrc_close(struct vf_reader *reader)
{
    vf_free(reader->state);
    vf_tags_free(reader->info.tags);
}

/* ---- statistics ---- */

static void clear_sums(struct mrc_sums *sums)
{
    for (int k = 0; k < LANES; k++) {
        sums->sum[k] = sums->squares[k] = sums->count[k] = 0;
        sums->least[k] = INFINITY;
        sums->most[k] = -INFINITY;
    }
}

/* Called from code for AVX2 it would wait for the upper halves of registers, 0.2 us a value. */
__attribute__((always_inline)) static inline void add_value(struct mrc_sums *sums, int k, double value,
                                                            double origin)
{
    const bool finite = value - value == 0;
    const double from_origin = finite ? value - origin : 0;
    sums->sum[k] += from_origin;
    sums->squares[k] += from_origin * from_origin;
    sums->count[k] += finite ? 1 : 0;
    sums->least[k] = finite && value < sums->least[k] ? value : sums->least[k];
    sums->most[k] = finite && value > sums->most[k] ? value : sums->most[k];
}

/* All of them are finite, or it is not done. Loops without a branch are what the compiler makes tight. */
VF_VECTOR_CLONES
static bool add_finite(struct mrc_sums *sums, const float *row, size_t nx, double origin)
{
    struct mrc_sums own = *sums;
    float least[LANES], most[LANES];
    size_t x = 0;
    for (int k = 0; k < LANES; k++) {
        least[k] = INFINITY;
        most[k] = -INFINITY;
    }
    for (; x + LANES <= nx; x += LANES)
        for (int k = 0; k < LANES; k++) {
            const float value = row[x + (size_t)k];
            const double from_origin = (double)value - origin;
            own.sum[k] += from_origin;
            own.squares[k] += from_origin * from_origin;
            least[k] = value < least[k] ? value : least[k];
            most[k] = value > most[k] ? value : most[k];
        }
    const size_t added = x / LANES;
    double all = 0;
    for (int k = 0; k < LANES; k++) {
        all += own.sum[k];
        own.count[k] += (double)added;
        own.least[k] = least[k] < own.least[k] ? least[k] : own.least[k];
        own.most[k] = most[k] > own.most[k] ? most[k] : own.most[k];
    }
    if (all - all != 0)
        return false;
    for (; x < nx; x++)
        add_value(&own, (int)(x % LANES), row[x], origin);
    *sums = own;
    return true;
}

static void add_floats(struct mrc_sums *sums, const float *row, size_t nx, double origin)
{
    for (size_t x = 0; x < nx; x++)
        add_value(sums, (int)(x % LANES), row[x], origin);
}

/* The sums of a row of integers are exact: its values have 16 bits, and there are less than 2^31. */
static void add_integers(struct mrc_sums *sums, size_t nx, int64_t sum, uint64_t squares, double least,
                         double most, double origin)
{
    const int64_t from = (int64_t)origin, count = (int64_t)nx;
    sums->sum[0] += (double)(sum - count * from);
    sums->squares[0] += (double)(squares - 2 * (uint64_t)(from * sum) + (uint64_t)(count * (from * from)));
    sums->count[0] += (double)nx;
    sums->least[0] = least < sums->least[0] ? least : sums->least[0];
    sums->most[0] = most > sums->most[0] ? most : sums->most[0];
}

#define ADD_INTEGERS(type)                                         \
    do {                                                           \
        const type *value = row;                                   \
        type least = value[0], most = value[0];                    \
        int64_t sum = 0;                                           \
        uint64_t squares = 0;                                      \
        for (size_t x = 0; x < nx; x++) {                          \
            sum += value[x];                                       \
            squares += (uint32_t)value[x] * (uint32_t)value[x];    \
            least = value[x] < least ? value[x] : least;           \
            most = value[x] > most ? value[x] : most;              \
        }                                                          \
        add_integers(sums, nx, sum, squares, least, most, origin); \
    } while (0)

VF_VECTOR_CLONES
static void add_row(struct mrc_sums *sums, enum vf_type type, const void *row, size_t nx, double origin)
{
    switch (type) {
    case VF_U8:
        ADD_INTEGERS(uint8_t);
        break;
    case VF_I8:
        ADD_INTEGERS(int8_t);
        break;
    case VF_U16:
        ADD_INTEGERS(uint16_t);
        break;
    case VF_I16:
        ADD_INTEGERS(int16_t);
        break;
    default:
        if (!add_finite(sums, row, nx, origin))
            add_floats(sums, row, nx, origin);
    }
}

static void add_sums(struct mrc_sums *to, const struct mrc_sums *from)
{
    for (int k = 0; k < LANES; k++) {
        to->sum[k] += from->sum[k];
        to->squares[k] += from->squares[k];
        to->count[k] += from->count[k];
        to->least[k] = from->least[k] < to->least[k] ? from->least[k] : to->least[k];
        to->most[k] = from->most[k] > to->most[k] ? from->most[k] : to->most[k];
    }
}

/* The first finite value of a plane. */
static void find_origin(struct mrc_writer *state, const struct vf_info *info, const void *plane)
{
    const size_t size = vf_type_size(info->type), count = info->shape.nx * info->shape.ny;
    for (size_t i = 0; i < count && !state->begun; i++) {
        struct mrc_sums one;
        clear_sums(&one);
        add_row(&one, info->type, (const char *)plane + i * size, 1, 0);
        state->begun = one.count[0] > 0;
        state->origin = one.sum[0];
    }
}

/* ---- writing ---- */

static enum vf_status mrc_supports(const struct vf_info *result, enum vf_compression compression,
                                   struct vf_error *error)
{
    if (compression != VF_COMPRESS_AS_INPUT && compression != VF_COMPRESS_NONE)
        return vf_fail(error, VF_USAGE, "MRC is not compressed; leave out --compress, or write a .tif");
    if (result->shape.nc > 1)
        return vf_fail(error, VF_FAILED, "MRC holds one channel, but the result has %zu; write a .tif%s",
                       result->shape.nc,
                       result->outputs == result->shape.nc
                           ? ", or see 'volfilter help FILTER' for an output of one channel"
                           : "");
    if (vf_mrc_mode(result, NULL) < 0)
        return vf_fail(error, VF_FAILED,
                       "MRC holds int8, int16, uint16 and float32, but the result is %s; use --dtype "
                       "float32, or write a .tif",
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
    state->start = VF_MRC_HEADER + (info->tags == NULL ? 0 : info->tags->mrc_extended_bytes);
    state->direct = !info->half_floats && state->stored == vf_type_size(info->type) &&
                    info->big_endian == machine_is_big_endian;
    clear_sums(&state->sums);
    return VF_OK;
}

/* One row into the file's type and byte order; `rounded` is what halves of it hold. */
static void convert_row(const struct vf_info *info, size_t stored, void *to, const void *row, float *rounded)
{
    const size_t nx = info->shape.nx;
    if (info->half_floats)
        for (size_t x = 0; x < nx; x++) {
            const uint16_t half = vf_half_from_float(((const float *)row)[x]);
            ((uint16_t *)to)[x] = half;
            rounded[x] = vf_half_to_float(half);
        }
    else if (info->type == VF_U8 && stored == 2)
        for (size_t x = 0; x < nx; x++)
            ((uint16_t *)to)[x] = ((const uint8_t *)row)[x];
    else
        memcpy(to, row, nx * stored);
    if (info->big_endian != machine_is_big_endian)
        vf_swap_bytes(to, nx, stored);
}

/* Of halves a row of floats stands before those that are written. */
static size_t rounded_count(const struct vf_info *info)
{
    return info->half_floats ? info->shape.nx : 0;
}

static size_t block_bytes(const struct vf_writer *writer)
{
    const size_t row_bytes = writer->info.shape.nx * sizeof(float);
    return (row_bytes > BLOCK_BYTES ? row_bytes : BLOCK_BYTES) + rounded_count(&writer->info) * sizeof(float);
}

/* `block` takes some rows as they are written; the statistics are theirs. */
static enum vf_status write_section(const struct vf_writer *writer, size_t page, const void *plane,
                                    char *block, struct mrc_sums *sums, struct vf_error *error)
{
    const struct mrc_writer *state = writer->state;
    const struct vf_info *info = &writer->info;
    const size_t nx = info->shape.nx, ny = info->shape.ny, row_bytes = nx * state->stored;
    const size_t rows = row_bytes < BLOCK_BYTES ? BLOCK_BYTES / row_bytes : 1;
    const size_t from_bytes = nx * vf_type_size(info->type);
    const uint64_t at = state->start + page * (uint64_t)ny * row_bytes;
    float *const rounded = (float *)(void *)block;
    char *const converted = state->direct ? NULL : block + rounded_count(info) * sizeof *rounded;
    for (size_t y = 0, n; y < ny; y += n) {
        n = ny - y < rows ? ny - y : rows;
        const char *from = (const char *)plane + y * from_bytes;
        for (size_t i = 0; i < n; i++) {
            const char *row = from + i * from_bytes;
            if (!state->direct)
                convert_row(info, state->stored, converted + i * row_bytes, row, rounded);
            add_row(sums, info->type, info->half_floats ? (const void *)rounded : row, nx, state->origin);
        }
        if (!vf_write_at(vf_output_file_descriptor(writer->file), state->direct ? from : converted,
                         n * row_bytes, at + y * row_bytes))
            return vf_fail(error, VF_FAILED, "section %zu cannot be written: %s", page + 1, vf_cause(errno));
    }
    return VF_OK;
}

static enum vf_status need_blocks(struct vf_writer *writer, size_t count, struct vf_error *error)
{
    struct mrc_writer *state = writer->state;
    if (state->direct)
        return VF_OK;
    return vf_room_take(&state->block, count, block_bytes(writer), "rows to write", error) == NULL ? VF_FAILED
                                                                                                   : VF_OK;
}

struct sections_written {
    struct vf_writer *writer;
    size_t first;
    const void *const *planes;
    struct mrc_sums *sums; /* of each */
};

static enum vf_status write_one(void *context, size_t item, int thread, struct vf_error *error)
{
    const struct sections_written *s = context;
    const struct mrc_writer *state = s->writer->state;
    char *block = state->direct ? NULL : (char *)state->block.data + (size_t)thread * block_bytes(s->writer);
    clear_sums(&s->sums[item]);
    return write_section(s->writer, s->first + item, s->planes[item], block, &s->sums[item], error);
}

/* Of so many sections the sums are held at once. */
#define MOST_SUMS ((size_t)1024)

/* Sections are added up by themselves and then in order, so that their sums do not depend on the threads. */
static enum vf_status mrc_write_pages(struct vf_writer *writer, size_t first, size_t count,
                                      const void *const planes[], int threads, struct vf_error *error)
{
    struct mrc_writer *state = writer->state;
    const size_t team = count < (size_t)threads ? count : (size_t)threads;
    enum vf_status status = need_blocks(writer, team, error);
    const size_t most = count < MOST_SUMS ? count : MOST_SUMS;
    struct mrc_sums *sums = status == VF_OK ? vf_alloc(most, sizeof *sums, "statistics", error) : NULL;
    if (sums == NULL)
        return VF_FAILED;
    for (size_t i = 0; i < count && !state->begun; i++)
        find_origin(state, &writer->info, planes[i]);
    for (size_t done = 0; done < count && status == VF_OK; done += most) {
        const size_t now = count - done < most ? count - done : most;
        struct sections_written s = {writer, first + done, planes + done, sums};
        status = vf_team_each(writer->team, (int)team, now, write_one, &s, error);
        for (size_t i = 0; i < now && status == VF_OK; i++)
            add_sums(&state->sums, &sums[i]);
    }
    vf_free(sums);
    return status;
}

static enum vf_status mrc_finish(struct vf_writer *writer, struct vf_error *error)
{
    const struct mrc_writer *state = writer->state;
    struct mrc_sums sums = state->sums;
    const struct vf_info *info = &writer->info;
    const struct vf_tags *tags = info->tags;
    const int fd = vf_output_file_descriptor(writer->file);
    const size_t extended = tags == NULL ? 0 : tags->mrc_extended_bytes;
    unsigned char bytes[VF_MRC_HEADER];
    struct vf_mrc_statistics statistics = {0};
    for (int k = 1; k < LANES; k++) {
        sums.sum[0] += sums.sum[k];
        sums.squares[0] += sums.squares[k];
        sums.count[0] += sums.count[k];
        sums.least[0] = sums.least[k] < sums.least[0] ? sums.least[k] : sums.least[0];
        sums.most[0] = sums.most[k] > sums.most[0] ? sums.most[k] : sums.most[0];
    }
    if (state->begun) {
        const double offset = sums.sum[0] / sums.count[0],
                     squares = sums.squares[0] / sums.count[0] - offset * offset;
        statistics.least = sums.least[0];
        statistics.most = sums.most[0];
        statistics.mean = state->origin + offset;
        statistics.deviation = squares > 0 ? sqrt(squares) : 0;
    }
    vf_mrc_header_write(bytes, input_header(info), info, tags != NULL && vf_tags_spacing_kept(tags, info),
                        (uint32_t)extended, &statistics);
    if (!vf_write_at(fd, bytes, sizeof bytes, 0) ||
        (extended > 0 && !vf_write_at(fd, tags->mrc_extended, extended, VF_MRC_HEADER)))
        return vf_fail(error, VF_FAILED, "its header cannot be written: %s", vf_cause(errno));
    return VF_OK;
}

static void mrc_discard(struct vf_writer *writer)
{
    struct mrc_writer *state = writer->state;
    if (state != NULL)
        vf_room_free(&state->block);
    vf_free(state);
}

const struct vf_codec vf_codec_mrc = {
    .name = "MRC",
    .open = mrc_open,
    .read_pages = mrc_read_pages,
    .close = mrc_close,
    .supports = mrc_supports,
    .create = mrc_create,
    .write_pages = mrc_write_pages,
    .finish = mrc_finish,
    .discard = mrc_discard,
};
