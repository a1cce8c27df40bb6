/* PNG through libpng. Its errors are long jumps: every call that may raise one is made in a step that runs
 * under guarded(), and what must outlive the jump is in the state, not in local variables. */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "interrupt.h"
#include "io_png_encode.h"
#include "io_png_tags.h"
#include "io_tags.h"
#include "size.h"

/* Bytes of a text or a profile, unpacked, and of all of them: a few KiB of file hold the largest. */
enum { LARGEST_CHUNK = 16 << 20, ALL_CHUNKS = 64 << 20 };

enum { FILE_BUFFER = 1 << 16, MESSAGE = 200 };

/* What libpng asks for. */
struct png_memory {
    size_t left; /* bytes that it may still: when it reads, its own limit is of a chunk, and only warns; then
                  * it asks for all that the chunk claims to be */
    bool is_short; /* there was none once */
};

struct png_state {
    png_structp png;
    png_infop info;
    FILE *file;
    void *rows; /* read: an interleaved row, or all of an interlaced image; NULL when not needed */
    png_bytepp row_pointers; /* of an interlaced image */
    struct png_memory memory;
    char message[MESSAGE];
    unsigned packed_bits; /* of samples in the file that have fewer than 8; else 0 */
    off_t behind;         /* where what follows the header is read, if that is not the image; else 0 */
    /* What the present step works on. */
    struct vf_reader *reader;
    const struct vf_writer *writer;
    void *const *planes;
    int bits, colour;          /* written: bits of a sample, and the colour type */
    const unsigned char *data; /* of an IDAT chunk */
    size_t data_bytes;
    char buffer[]; /* the file's: the C library takes a size only together with one */
};

/* For libpng's ..._struct_2 functions. The error pointer is the message, which gets what went wrong before
 * the jump; warnings are passed over. The memory pointer is a png_memory's. */
static png_voidp allocate(png_structp png, png_alloc_size_t bytes)
{
    struct vf_error ignored; /* fail_png says it */
    struct png_memory *memory = png_get_mem_ptr(png);
    if (bytes > memory->left)
        png_error(png, "a text or profile exceeds the limit; if the file is intact, remove these: convert "
                       "IN.png -strip OUT.png");
    memory->left -= bytes;
    void *block = vf_alloc(bytes, 1, "PNG", &ignored);
    memory->is_short = memory->is_short || block == NULL;
    return block;
}

static void release(png_structp png, png_voidp block)
{
    (void)png;
    vf_free(block);
}

static void on_error(png_structp png, png_const_charp message)
{
    snprintf(png_get_error_ptr(png), MESSAGE, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* After each row. */
static void on_row(png_structp png, png_uint_32 row, int pass)
{
    (void)row;
    (void)pass;
    if (vf_interrupted)
        png_error(png, "interrupted");
}

/* Runs a step; false when libpng gave up, with its words in state->message. */
static bool guarded(struct png_state *state, void (*step)(struct png_state *))
{
    if (setjmp(png_jmpbuf(state->png)) != 0)
        return false;
    step(state);
    return true;
}

static enum vf_status fail_png(const struct png_state *state, const char *what, struct vf_error *error)
{
    const bool ended = feof(state->file);
    const bool is_disk =
        errno == ENOSPC || errno == EIO || errno == ESTALE || errno == EDQUOT || errno == EFBIG;
    if (state->memory.is_short && !is_disk)
        return vf_fail(error, VF_FAILED, "PNG: cannot allocate memory; free some");
    const char *cause = is_disk ? vf_cause(errno)
                        : ended ? "the file ends too early: it was cut short; copy it again"
                                : state->message;
    const bool is_damaged = state->reader != NULL && cause == state->message;
    return vf_fail(error, VF_FAILED, "%s: %s%s", is_disk && state->reader != NULL ? "cannot be read" : what,
                   cause, is_damaged ? "; copy the file again" : "");
}

static struct png_state *new_state(int fd, const char *mode, struct vf_error *error)
{
    struct png_state *state = vf_alloc(1, sizeof *state + FILE_BUFFER, "PNG", error);
    if (state == NULL)
        return NULL;
    const int copy = dup(fd);
    state->file = copy < 0 ? NULL : fdopen(copy, mode);
    if (state->file != NULL) {
        setvbuf(state->file, state->buffer, _IOFBF, FILE_BUFFER);
        return state;
    }
    vf_fail(error, VF_FAILED, "cannot be opened: %s", vf_cause(errno));
    if (copy >= 0)
        close(copy);
    vf_free(state);
    return NULL;
}

/* ---- reading ---- */

enum { HEADER_BYTES = 8 + 25 }; /* of the signature and IHDR */

static void on_read(png_structp png, png_bytep data, size_t bytes)
{
    const struct png_state *state = png_get_io_ptr(png);
    if (state->behind > 0 && ftello(state->file) == HEADER_BYTES)
        fseeko(state->file, state->behind, SEEK_SET);
    if (fread(data, 1, bytes, state->file) != bytes)
        png_error(png, "Read Error");
}

static void read_header(struct png_state *state)
{
    png_set_read_fn(state->png, state, on_read);
    png_set_read_status_fn(state->png, on_row);
    /* Sizes are bounded by the file's, not by libpng's million a side. */
    png_set_user_limits(state->png, INT32_MAX, INT32_MAX);
    png_set_chunk_malloc_max(state->png, LARGEST_CHUNK);
    png_set_benign_errors(state->png, 1);
    png_read_info(state->png, state->info);
}

/* Whatever was stored comes out as 8 or 16 bits of native order, transparency as alpha. */
static void set_transforms(struct png_state *state)
{
    const unsigned bits = png_get_bit_depth(state->png, state->info);
    state->packed_bits = bits < 8 ? bits : 0;
    if (png_get_color_type(state->png, state->info) == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(state->png);
    if (png_get_valid(state->png, state->info, PNG_INFO_tRNS))
        png_set_tRNS_to_alpha(state->png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(state->png);
#endif
    png_set_interlace_handling(state->png);
    png_read_update_info(state->png, state->info);
}

/* Before libpng asks for rows: deflate makes at most 1032 bytes of one. Rows of few bits then grow to 16
 * times as many with an alpha, and there are two of them. */
static bool check_size(struct vf_reader *reader, struct vf_error *error)
{
    struct png_state *state = reader->state;
    const size_t row = png_get_rowbytes(state->png, state->info);
    const png_uint_32 width = png_get_image_width(state->png, state->info);
    const png_uint_32 height = png_get_image_height(state->png, state->info);
    size_t bytes;
    if (!vf_size_mul(row, height, &bytes) || !vf_size_plausible(bytes, reader->file_bytes, 1100)) {
        vf_fail(
            error, VF_FAILED,
            "claims %lu x %lu pixels, more than a file of %llu bytes can hold; it is damaged: copy it again",
            (unsigned long)width, (unsigned long)height, (unsigned long long)reader->file_bytes);
        return false;
    }
    state->memory.left += 32 * row;
    return true;
}

static bool create_libpng(struct png_state *state, uint64_t file_bytes, struct vf_error *error)
{
    rewind(state->file);
    errno = 0;
    state->memory = (struct png_memory){.left = 4 * file_bytes + ALL_CHUNKS};
    state->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, state->message, on_error, on_warning,
                                          &state->memory, allocate, release);
    if (state->png != NULL)
        state->info = png_create_info_struct(state->png);
    if (state->info != NULL)
        return true;
    vf_fail(error, VF_FAILED, "cannot be decoded: out of memory");
    return false;
}

static bool start_reading(struct vf_reader *reader, struct vf_error *error)
{
    struct png_state *state = reader->state;
    if (!create_libpng(state, reader->file_bytes, error))
        return false;
    if (!guarded(state, read_header)) {
        fail_png(state, "its header is damaged", error);
        return false;
    }
    if (png_get_color_type(state->png, state->info) == PNG_COLOR_TYPE_PALETTE) {
        vf_fail(error, VF_FAILED,
                "holds palette colours, whose indices cannot be filtered; convert it: convert IN.png "
                "PNG24:OUT.png (or PNG32: with transparency)");
        return false;
    }
    if (!check_size(reader, error))
        return false;
    if (!guarded(state, set_transforms)) {
        fail_png(state, "its header is damaged", error);
        return false;
    }
    return true;
}

static void stop_reading(struct png_state *state)
{
    png_destroy_read_struct(&state->png, &state->info, NULL);
    state->info = NULL;
}

static void understand(struct vf_reader *reader)
{
    const struct png_state *state = reader->state;
    struct vf_info *info = &reader->info;
    const png_uint_32 width = png_get_image_width(state->png, state->info);
    const png_uint_32 height = png_get_image_height(state->png, state->info);
    const int colour = png_get_color_type(state->png, state->info);
    info->format = VF_FORMAT_PNG;
    info->compression = VF_COMPRESS_DEFLATE;
    info->type = png_get_bit_depth(state->png, state->info) == 16 ? VF_U16 : VF_U8;
    info->packed_bits = state->packed_bits;
    info->page_channels = png_get_channels(state->png, state->info);
    info->page_count = 1;
    info->rgb = (colour & PNG_COLOR_MASK_COLOR) != 0;
    info->has_alpha = (colour & PNG_COLOR_MASK_ALPHA) != 0;
    info->shape = (struct vf_shape){width, height, 1, info->page_channels, 1};
}

/* Texts may stand behind the image, as ImageMagick's do: libpng reads them as if they came before it, and
 * stops at the end, for want of one. */
static enum vf_status take_texts_behind(const struct vf_reader *reader, struct vf_png_texts *texts,
                                        struct vf_error *error)
{
    const struct png_state *state = reader->state;
    struct png_state end = {.file = state->file, .behind = texts->behind};
    enum vf_status status = VF_FAILED;
    if (create_libpng(&end, reader->file_bytes, error)) {
        guarded(&end, read_header);
        status = vf_png_take_texts(end.png, end.info, reader->info.tags, &texts->count, error);
    }
    stop_reading(&end);
    return status;
}

/* All that the file says besides its pixels; libpng then goes on where it was. */
static enum vf_status take_chunks(struct vf_reader *reader, struct vf_error *error)
{
    const struct png_state *state = reader->state;
    struct vf_info *info = &reader->info;
    struct vf_png_texts texts;
    enum vf_status status;
    const off_t at = ftello(state->file);
    VF_TRY(vf_png_note_chunks(state->file, state->png, state->info, info, &texts, error));
    VF_TRY(vf_png_take_tags(state->png, state->info, info, error));
    VF_TRY(vf_png_take_texts(state->png, state->info, info->tags, &texts.count, error));
    if (texts.behind > 0)
        VF_TRY(take_texts_behind(reader, &texts, error));
    if (texts.count > 0)
        vf_info_note(info, "%d of its texts %s not kept, being damaged or beyond libpng's limits",
                     texts.count, texts.count == 1 ? "is" : "are");
    if (fseeko(state->file, at, SEEK_SET) != 0)
        status = vf_fail(error, VF_FAILED, "cannot be read: %s", vf_cause(errno));
out:
    return status;
}

static enum vf_status png_open(struct vf_reader *reader, struct vf_error *error)
{
    struct png_state *state = new_state(reader->fd, "rb", error);
    if (state == NULL)
        return VF_FAILED;
    reader->state = state;
    state->reader = reader;
    reader->info.tags = vf_tags_new(error);
    if (reader->info.tags == NULL || !start_reading(reader, error))
        return VF_FAILED;
    understand(reader);
    if (take_chunks(reader, error) != VF_OK)
        return VF_FAILED;
    reader->info.tags->page_count = 1;
    vf_tags_set_spacing(reader->info.tags, &reader->info);
    vf_tags_describe(reader->info.tags, &reader->info);
    return VF_OK;
}

/* Grey rows are decoded where they belong; others through one row; an interlaced image through all of its
 * rows, since every pass touches them again. */
static enum vf_status prepare_rows(struct png_state *state, struct vf_error *error)
{
    const struct vf_shape *shape = &state->reader->info.shape;
    const size_t row_bytes = png_get_rowbytes(state->png, state->info);
    const bool interlaced = png_get_interlace_type(state->png, state->info) != PNG_INTERLACE_NONE;
    const bool split = state->reader->info.page_channels > 1;
    if (split) {
        state->rows = vf_alloc(interlaced ? shape->ny : 1, row_bytes, "PNG rows", error);
        if (state->rows == NULL)
            return VF_FAILED;
    }
    if (interlaced) {
        state->row_pointers = vf_alloc(shape->ny, sizeof *state->row_pointers, "PNG rows", error);
        if (state->row_pointers == NULL)
            return VF_FAILED;
        png_bytep start = split ? state->rows : state->planes[0];
        for (size_t y = 0; y < shape->ny; y++)
            state->row_pointers[y] = start + y * row_bytes;
    }
    return VF_OK;
}

static size_t png_read_bytes(const struct vf_reader *reader, int threads)
{
    const struct png_state *state = reader->state;
    const struct vf_info *info = &reader->info;
    const size_t row = info->shape.nx * info->page_channels * vf_type_size(info->type);
    const bool interlaced = png_get_interlace_type(state->png, state->info) != PNG_INTERLACE_NONE;
    (void)threads;
    return interlaced ? info->shape.ny * (sizeof *state->row_pointers + (info->page_channels > 1 ? row : 0))
                      : 0;
}

static void read_image(struct png_state *state)
{
    const struct vf_info *info = &state->reader->info;
    const size_t nx = info->shape.nx, samples = info->page_channels, size = vf_type_size(info->type);
    if (state->row_pointers != NULL) {
        png_read_image(state->png, state->row_pointers);
        if (samples > 1)
            vf_split_samples(state->planes, 0, state->rows, nx * info->shape.ny, samples, size);
    }
    for (size_t y = 0; state->row_pointers == NULL && y < info->shape.ny; y++) {
        png_bytep row = samples > 1 ? state->rows : (png_bytep)state->planes[0] + y * nx * size;
        png_read_row(state->png, row, NULL);
        if (samples > 1)
            vf_split_samples(state->planes, y * nx, row, nx, samples, size);
    }
}

/* Chunks behind the image are looked for when the file is opened; here they are passed over. */
static void read_end(struct png_state *state)
{
    png_read_end(state->png, NULL);
}

/* The only page, once. */
static enum vf_status png_read_pages(struct vf_reader *reader, size_t first, size_t count,
                                     void *const planes[], int threads, struct vf_error *error)
{
    struct png_state *state = reader->state;
    (void)first;
    (void)count;
    (void)threads;
    state->planes = planes;
    if (prepare_rows(state, error) != VF_OK)
        return VF_FAILED;
    errno = 0;
    if (!guarded(state, read_image)) {
        char what[64];
        const unsigned long done = png_get_current_row_number(state->png);
        if (done >= reader->info.shape.ny)
            return fail_png(state, "the end of its image is damaged", error);
        snprintf(what, sizeof what, "row %lu cannot be decoded", done + 1);
        return fail_png(state, what, error);
    }
    return guarded(state, read_end) ? VF_OK : fail_png(state, "what follows its image is damaged", error);
}

static void free_state(struct png_state *state)
{
    if (state == NULL)
        return;
    if (state->file != NULL)
        fclose(state->file);
    vf_free(state->rows);
    vf_free(state->row_pointers);
    vf_free(state);
}

static void png_close(struct vf_reader *reader)
{
    struct png_state *state = reader->state;
    if (state != NULL)
        stop_reading(state);
    free_state(state);
    vf_tags_free(reader->info.tags);
}

/* ---- writing ---- */

static enum vf_status png_supports(const struct vf_info *result, enum vf_compression compression,
                                   struct vf_error *error)
{
    const size_t planes = result->shape.nz * result->shape.nt, channels = result->shape.nc;
    const size_t colours = channels - result->has_alpha;
    if (compression != VF_COMPRESS_AS_INPUT && compression != VF_COMPRESS_NONE &&
        compression != VF_COMPRESS_DEFLATE)
        return vf_fail(
            error, VF_USAGE,
            "PNG is always compressed with deflate; use --compress deflate or none, or write a .tif");
    if (planes != 1 || (result->type != VF_U8 && result->type != VF_U16))
        return vf_fail(error, VF_FAILED,
                       "PNG holds one plane of uint8 or uint16; the result is %zu plane%s of %s: "
                       "write a .tif%s",
                       planes, planes == 1 ? "" : "s", vf_type_name(result->type),
                       planes == 1 ? ", or convert with --dtype uint8" : "");
    if (colours != 1 && colours != 3)
        return vf_fail(error, VF_FAILED,
                       "PNG holds 1 channel (grey) or 3 (RGB); the result has %zu: write a .tif", colours);
    if (result->min_is_white)
        return vf_fail(error, VF_FAILED,
                       "PNG cannot record that 0 is white, as the input does; write a .tif, or convert the "
                       "input first: convert IN.tif OUT.tif");
    if (result->premultiplied)
        return vf_fail(error, VF_FAILED,
                       "PNG cannot hold colours multiplied by alpha, as the input does; write a .tif, "
                       "or convert the input first: convert IN.tif OUT.png");
    return VF_OK;
}

static void write_header(struct png_state *state)
{
    const struct vf_info *info = &state->writer->info;
    png_init_io(state->png, state->file);
    png_set_user_limits(state->png, INT32_MAX, INT32_MAX);
    png_set_benign_errors(state->png, 1);
    png_set_IHDR(state->png, state->info, (png_uint_32)info->shape.nx, (png_uint_32)info->shape.ny,
                 state->bits, state->colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    vf_png_put_tags(state->png, state->info, info);
    png_write_info(state->png, state->info);
}

static enum vf_status png_create(struct vf_writer *writer, struct vf_error *error)
{
    struct png_state *state = new_state(vf_output_file_descriptor(writer->file), "wb", error);
    if (state == NULL)
        return VF_FAILED;
    writer->state = state;
    state->writer = writer;
    state->memory.left = SIZE_MAX;
    state->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, state->message, on_error, on_warning,
                                           &state->memory, allocate, release);
    state->info = state->png == NULL ? NULL : png_create_info_struct(state->png);
    if (state->info == NULL)
        return vf_fail(error, VF_FAILED, "cannot be written: out of memory");
    return VF_OK;
}

static void write_data(struct png_state *state)
{
    png_write_chunk(state->png, (png_const_bytep) "IDAT", state->data, state->data_bytes);
}

static void write_end(struct png_state *state)
{
    png_write_chunk(state->png, (png_const_bytep) "IEND", NULL, 0);
}

static bool take_data(void *context, const unsigned char *data, size_t bytes)
{
    struct png_state *state = context;
    snprintf(state->message, sizeof state->message, "interrupted");
    for (size_t at = 0; at < bytes; at += state->data_bytes) {
        state->data = data + at;
        state->data_bytes = vf_piece_of(bytes - at);
        if (state->data_bytes == 0 || !guarded(state, write_data))
            return false;
    }
    return true;
}

static enum vf_status png_write_pages(struct vf_writer *writer, size_t first, size_t count,
                                      const void *const planes[], int threads, struct vf_error *error)
{
    struct png_state *state = writer->state;
    const struct vf_info *info = &writer->info;
    (void)first, (void)count;
    state->bits = (int)vf_type_size(info->type) * 8;
    state->colour =
        (info->shape.nc >= 3 ? PNG_COLOR_MASK_COLOR : 0) | (info->has_alpha ? PNG_COLOR_MASK_ALPHA : 0);
    errno = 0;
    error->text[0] = '\0';
    if (guarded(state, write_header) &&
        vf_png_encode(writer, planes, threads, take_data, state, error) == VF_OK && guarded(state, write_end))
        return VF_OK;
    return error->text[0] != '\0' ? VF_FAILED : fail_png(state, "cannot be written", error);
}

static enum vf_status png_finish(struct vf_writer *writer, struct vf_error *error)
{
    struct png_state *state = writer->state;
    FILE *file = state->file;
    state->file = NULL;
    if (fclose(file) != 0)
        return vf_fail(error, VF_FAILED, "cannot be written: %s", vf_cause(errno));
    return VF_OK;
}

static void png_discard(struct vf_writer *writer)
{
    struct png_state *state = writer->state;
    if (state != NULL)
        png_destroy_write_struct(&state->png, &state->info);
    free_state(state);
}

const struct vf_codec vf_codec_png = {
    .name = "PNG",
    .open = png_open,
    .read_pages = png_read_pages,
    .read_bytes = png_read_bytes,
    .close = png_close,
    .supports = png_supports,
    .create = png_create,
    .write_pages = png_write_pages,
    .write_bytes = vf_png_encode_bytes,
    .finish = png_finish,
    .discard = png_discard,
};
