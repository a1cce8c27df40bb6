/* Reading TIFF: the directories are walked once when the file is opened, and every claim checked; then any
 * page can be decoded. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "alloc.h"
#include "imagej.h"
#include "io_tiff_read.h"
#include "ome.h"
#include "size.h"

static enum vf_status read_header(struct vf_reader *reader, struct vf_error *error)
{
    unsigned char head[4];
    if (!vf_read_at(reader->fd, head, sizeof head, 0))
        return vf_fail(error, VF_FAILED, "its first 4 bytes cannot be read: %s",
                       errno == 0 ? "the file ends too early" : vf_cause(errno));
    reader->info.big_endian = head[0] == 'M';
    reader->info.big_tiff = head[2] + head[3] == 43;
    return VF_OK;
}

/* ---- pages ---- */

/* Of the current page, which was checked. */
static void note_striles(struct vf_tiff_reader *state, size_t page, const struct vf_tiff_layout *layout,
                         size_t strile)
{
    TIFF *tif = state->decoder.tif;
    const uint32_t count = layout->tiled ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif);
    state->striles += count;
    if (state->data[page] == 0 && count > state->page_striles)
        state->page_striles = count;
    if (state->data[page] == 0)
        state->decoded += vf_tiff_decoded(tif, layout);
    state->has_raw = state->has_raw || state->data[page] != 0;
    if (layout->tiled && strile > state->tile_bytes)
        state->tile_bytes = strile;
    for (uint32_t i = 0; i < count && layout->scheme != COMPRESSION_NONE; i++) {
        const size_t bytes = (size_t)TIFFGetStrileByteCount(tif, i);
        state->stored_bytes = bytes > state->stored_bytes ? bytes : state->stored_bytes;
        state->claimed += (double)bytes;
    }
}

/* tifffile's own units, millimetres and micrometres, which libtiff takes for inches. ImageJ's numbers are in
 * the unit of its description, whatever the tag says. */
static void take_metric_unit(struct vf_reader *reader)
{
    enum { MILLIMETRE = 4, MICROMETRE = 5 };
    const struct vf_tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    uint64_t unit;
    if (reader->info.metadata == VF_META_IMAGEJ || !tags->has_resolution ||
        tags->resolution_unit != RESUNIT_INCH ||
        !vf_tiff_stored_number(reader->fd, reader->info.big_endian, reader->info.big_tiff,
                               state->directories[0], TIFFTAG_RESOLUTIONUNIT, &unit) ||
        (unit != MILLIMETRE && unit != MICROMETRE))
        return;
    for (int axis = 0; axis < 2; axis++)
        tags->resolution[axis] *= unit == MILLIMETRE ? 10 : 1e4;
    tags->resolution_unit = RESUNIT_CENTIMETER;
}

static enum vf_status take_page(struct vf_reader *reader, size_t page, const struct vf_tiff_layout *layout,
                                struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    struct vf_imagej description;
    if (vf_tiff_page_text_read(state->decoder.tif, &tags->pages[page], error) != VF_OK)
        return VF_FAILED;
    if (reader->info.metadata == VF_META_OME) {
        vf_free(tags->pages[page].description); /* the file's, or a reference to it */
        tags->pages[page].description = NULL;
    } else if (page == 0 && vf_imagej_parse(tags->pages[0].description, &description)) {
        reader->info.metadata = VF_META_IMAGEJ;
    }
    if (page == 0)
        state->samples_axis = vf_tiff_array_sample_axis(layout, tags->pages[0].description);
    if (vf_tiff_check_page(reader, state->decoder.tif, page, page == 0, layout, error) != VF_OK)
        return VF_FAILED;
    const unsigned ratio = vf_tiff_codec_by_scheme(layout->scheme)->ratio;
    size_t page_bytes, strile;
    vf_tiff_layout_sizes(layout, &page_bytes, &strile);
    state->ratio = ratio > state->ratio ? ratio : state->ratio;
    state->directories[page] = TIFFCurrentDirOffset(state->decoder.tif);
    state->data[page] = vf_tiff_raw_start(state->decoder.tif, layout);
    note_striles(state, page, layout, strile);
    if (page == 0)
        reader->row_block = 1;
    if (state->data[page] == 0 && reader->row_block == 1)
        reader->row_block = layout->tile_height;
    vf_tiff_look(state->decoder.tif, page == 0, tags, &state->unread);
    if (page > 0)
        return VF_OK;
    state->page_bytes = page_bytes;
    const enum vf_status status = vf_tiff_tags_read(state->decoder.tif, tags, error);
    take_metric_unit(reader);
    return status;
}

/* OME-XML in the first directory says which directories are the first image's. */
static enum vf_status find_ome(struct vf_reader *reader, const struct vf_tiff_layout *layout,
                               size_t directories, struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    const char *description = NULL;
    if (!TIFFGetField(state->decoder.tif, TIFFTAG_IMAGEDESCRIPTION, &description) ||
        !vf_ome_recognise(description))
        return VF_OK;
    if (layout->samples == 0)
        return vf_fail(error, VF_FAILED, "page 1 has no samples");
    if (vf_ome_parse(&tags->ome, description, directories, layout->samples, error) != VF_OK)
        return VF_FAILED;
    const struct vf_ome *ome = tags->ome;
    reader->info.metadata = VF_META_OME;
    state->ome_planes = ome->nc / ome->page_channels * ome->nz * ome->nt;
    state->ome_directories = vf_tiff_ome_directories(ome, state->ome_planes, error);
    return state->ome_directories == NULL ? VF_FAILED : VF_OK;
}

static bool is_page(const struct vf_tiff_reader *state, const struct vf_tiff_layout *layout, size_t directory)
{
    return state->ome_directories == NULL
               ? !layout->reduced
               : vf_tiff_ome_has(state->ome_directories, state->ome_planes, directory);
}

/* Visits every directory; libtiff sees to it that the chain has no loop. What it cannot read of a directory,
 * it takes as not being there: a tag, or the directories that follow. */
static enum vf_status walk_pages(struct vf_reader *reader, size_t directories, struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    size_t pages = 0, passed_over = 0, unknown = 0;
    for (size_t directory = 0;; directory++) {
        struct vf_tiff_layout layout;
        const int cause = vf_tiff_directory_cause(state->decoder.tif, &state->decoder.stream);
        if (cause != 0)
            return vf_fail(error, VF_FAILED, "page %zu: its directory cannot be read: %s", pages + 1,
                           vf_cause(cause));
        if (!vf_tiff_reads_allowed(&state->decoder.stream))
            return vf_fail(error, VF_FAILED, "page %zu: %s", pages + 1, state->decoder.stream.message);
        if (directory >= directories)
            return directories == 0
                       ? vf_fail(error, VF_FAILED, "its chain of pages is broken")
                       : vf_fail(error, VF_FAILED, "has more than %zu pages, or a broken chain of pages",
                                 directories);
        if (vf_tiff_check_directory(reader, pages, error) != VF_OK)
            return VF_FAILED;
        vf_tiff_layout_get(state->decoder.tif, &layout);
        if (directory == 0 && find_ome(reader, &layout, directories, error) != VF_OK)
            return VF_FAILED;
        if (!is_page(state, &layout, directory)) {
            passed_over += layout.reduced;
            unknown += !layout.reduced;
        } else if (take_page(reader, pages++, &layout, error) != VF_OK)
            return VF_FAILED;
        if (TIFFLastDirectory(state->decoder.tif) && directory + 1 < directories)
            return vf_fail(error, VF_FAILED, "changed while it was being opened");
        if (TIFFLastDirectory(state->decoder.tif))
            break;
        vf_tiff_clear_error(&state->decoder.stream);
        if (!TIFFReadDirectory(state->decoder.tif) && state->decoder.stream.io_error == 0) {
            const char *what =
                vf_tiff_cause(&state->decoder.stream, "perhaps it leads back to an earlier one");
            return vf_fail(error, VF_FAILED, "page %zu: its directory cannot be read (%s)%s", pages + 1, what,
                           vf_tiff_remedy(what, "; the file may be cut short: copy it again"));
        }
    }
    if (pages == 0)
        return vf_fail(error, VF_FAILED,
                       "has only thumbnails or masks; if its image is marked as one by mistake: "
                       "tiffset -s 254 0 IN.tif");
    reader->info.page_count = reader->info.tags->page_count = pages;
    vf_tiff_note(state->decoder.tif, &state->unread, &reader->info);
    if (state->cut_tags > 0)
        vf_info_note(&reader->info,
                     "%zu tag%s (%u%s) that would end beyond the file %s not read; " VF_CUT_REMEDY,
                     state->cut_tags, state->cut_tags == 1 ? "" : "s", state->first_cut_tag,
                     state->cut_tags == 1 ? "" : " and others", state->cut_tags == 1 ? "is" : "are");
    if (passed_over > 0)
        vf_info_note(&reader->info, "%zu smaller cop%s or mask%s skipped", passed_over,
                     passed_over == 1 ? "y" : "ies", passed_over == 1 ? " is" : "s are");
    /* Else they are other images'. */
    if (unknown > 0 && reader->info.tags->ome->image_count == 1)
        vf_info_note(&reader->info, "%zu page%s that its OME-XML does not describe %s skipped", unknown,
                     unknown == 1 ? "" : "s", unknown == 1 ? "is" : "are");
    return VF_OK;
}

/* Zeros up to where a block of a file system or of a program's output ends. */
static bool is_padding(struct vf_tiff_stream *stream, uint64_t at, uint64_t bytes)
{
    char data[4096];
    bool has_more = bytes > sizeof data || !vf_tiff_look_at(stream, at, data, (size_t)bytes);
    for (size_t i = 0; !has_more && i < bytes; i++)
        has_more = data[i] != 0;
    return !has_more;
}

/* ImageJ (a stack over 4 GiB), MetaMorph and, if told to, tifffile write one directory and planes that follow
 * each other, uncompressed. Another program that took one page out of a stack leaves the same description,
 * but not the data. */
static enum vf_status find_raw_planes(struct vf_reader *reader, size_t images, struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    uint64_t end;
    if (reader->info.page_count != 1 || images < 2 || !TIFFLastDirectory(state->decoder.tif))
        return VF_OK;
    const uint64_t start = state->data[0], bytes = state->page_bytes;
    if (start == 0 || start + bytes >= reader->file_bytes ||
        is_padding(&state->decoder.stream, start + bytes, reader->file_bytes - start - bytes))
        return VF_OK;
    const bool fits = !__builtin_mul_overflow(bytes, images, &end) &&
                      !__builtin_add_overflow(end, start, &end) && end <= reader->file_bytes;
    const uint64_t directory = state->directories[0];
    if (directory > start && !(fits && end <= directory))
        return VF_OK; /* what follows the page is its directory */
    if (!fits)
        return vf_fail(error, VF_FAILED,
                       "its description says %zu images of %llu bytes, but the file has only "
                       "%llu bytes and one page; it was cut short: copy it again",
                       images, (unsigned long long)bytes, (unsigned long long)reader->file_bytes);
    state->raw_start = start;
    reader->info.page_count = images;
    return VF_OK;
}

/* The texts of pages go where their planes are. */
static enum vf_status order_pages(struct vf_reader *reader, size_t *source, struct vf_error *error)
{
    struct vf_tiff_reader *state = reader->state;
    struct vf_tags *tags = reader->info.tags;
    state->source = source;
    if (source == NULL)
        return VF_FAILED;
    tags->reordered = true;
    if (tags->page_count != reader->info.page_count)
        return VF_OK;
    return vf_tiff_reorder(tags->pages, sizeof *tags->pages, tags->page_count, source, error);
}

static enum vf_status set_ome_shape(struct vf_reader *reader, struct vf_error *error)
{
    struct vf_info *info = &reader->info;
    const struct vf_tiff_reader *state = reader->state;
    const struct vf_ome *ome = info->tags->ome;
    if (info->page_count != state->ome_planes || info->page_channels != ome->page_channels)
        return vf_fail(error, VF_FAILED,
                       "its OME-XML describes %zu pages of %zu samples, but the file has %zu of %zu",
                       state->ome_planes, ome->page_channels, info->page_count, info->page_channels);
    vf_ome_describe(ome, info);
    if (!info->spacing_known[0] && !info->spacing_known[1] && !info->spacing_known[2])
        vf_tags_set_spacing(info->tags, info);
    if (ome->image > 1)
        vf_info_note(info, "of the %zu images that it describes, number %zu is in this file and is read",
                     ome->image_count, ome->image);
    else if (ome->image_count > 1)
        vf_info_note(info, "it holds %zu images, of which only the first is read", ome->image_count);
    return order_pages(reader, vf_tiff_ome_order(ome, state->ome_directories, state->ome_planes, error),
                       error);
}

static void set_lsm_shape(struct vf_reader *reader)
{
    const struct vf_tiff_reader *state = reader->state;
    struct vf_info *info = &reader->info;
    const size_t nz = state->unread.lsm_planes, nt = state->unread.lsm_times;
    if (nz == 0 || info->page_count % nz != 0 || info->page_count / nz != nt)
        return;
    info->shape.nz = nz;
    info->shape.nt = nt;
    info->pages_told = true;
}

/* What a description says of x and y stands for the tags, which SCIFIO writes in another unit. */
static void take_widths(struct vf_tags *tags, const double width[2])
{
    if (!(width[0] > 0 && width[1] > 0 && isfinite(width[0]) && isfinite(width[1])))
        return;
    for (int axis = 0; axis < 2; axis++)
        tags->resolution[axis] = 1 / width[axis];
    tags->resolution_unit = RESUNIT_NONE;
    tags->has_resolution = true;
}

/* ImageJ gives images of 16 and 32 bits a table of 8, which is no TIFF's: libtiff passes over it. Composites
 * have others, in tags of ImageJ's; one that inverts is told by the photometric interpretation too. */
static void note_lookup_table(struct vf_reader *reader)
{
    const struct vf_tiff_reader *state = reader->state;
    struct vf_info *info = &reader->info;
    uint64_t ignored;
    if (info->shape.nc == 1 && vf_type_size(info->type) > 1 && !info->min_is_white &&
        vf_tiff_stored_number(reader->fd, info->big_endian, info->big_tiff, state->directories[0],
                              TIFFTAG_COLORMAP, &ignored))
        vf_info_note(info, "its lookup table is neither read nor kept: more than 8 bits");
}

/* By the axes of the file's pages, the fastest first; none are named where they are in a volume's order. */
static enum vf_status order_pages_by(struct vf_reader *reader, const char *order, struct vf_error *error)
{
    const struct vf_info *info = &reader->info;
    if (order[0] == '\0' || strcmp(order, "czt") == 0 || info->page_count <= 1)
        return VF_OK;
    return order_pages(
        reader, vf_tiff_page_order(order, &info->shape, info->shape.nc / info->page_channels, error), error);
}

static enum vf_status set_imagej_shape(struct vf_reader *reader, const struct vf_imagej *imagej,
                                       struct vf_error *error)
{
    struct vf_info *info = &reader->info;
    struct vf_tags *const tags = info->tags;
    if (find_raw_planes(reader, imagej->images, error) != VF_OK ||
        vf_imagej_set_shape(imagej, info->page_count, info, error) != VF_OK)
        return VF_FAILED;
    take_widths(tags, imagej->width);
    note_lookup_table(reader);
    if (imagej->numbers_colours)
        vf_info_note(
            info, "its values are numbers of colours (8-bit Color), which filters take for intensities; for "
                  "a picture, in Fiji: Image > Type > RGB Color");
    vf_imagej_set_spacing(imagej, tags->has_resolution ? tags->resolution : NULL, tags->resolution_unit,
                          info);
    return order_pages_by(reader, imagej->order, error);
}

static enum vf_status set_plain_shape(struct vf_reader *reader, struct vf_error *error)
{
    struct vf_info *info = &reader->info;
    const struct vf_tiff_reader *state = reader->state;
    const char *description = info->tags->pages[0].description;
    const size_t stk = vf_tiff_stk_planes(state->decoder.tif);
    char order[4];
    if (find_raw_planes(reader, stk > 0 ? stk : vf_tiff_array_planes(info, description), error) != VF_OK ||
        vf_tiff_array_describe(info, description, state->samples_axis, order, error) != VF_OK)
        return VF_FAILED;
    set_lsm_shape(reader);
    vf_tags_set_spacing(info->tags, info);
    return order_pages_by(reader, order, error);
}

static enum vf_status set_shape(struct vf_reader *reader, struct vf_error *error)
{
    struct vf_imagej imagej;
    if (reader->info.metadata == VF_META_OME)
        return set_ome_shape(reader, error);
    if (vf_imagej_parse(reader->info.tags->pages[0].description, &imagej))
        return set_imagej_shape(reader, &imagej, error);
    return set_plain_shape(reader, error);
}

static enum vf_status tiff_open(struct vf_reader *reader, struct vf_error *error)
{
    enum vf_status status = VF_FAILED;
    struct vf_tiff_reader *state = vf_alloc(1, sizeof *state, "TIFF reader", error);
    if (state == NULL)
        return VF_FAILED;
    reader->state = state;
    reader->info.format = VF_FORMAT_TIFF;
    state->decoder.stream.fd = reader->fd;
    state->decoder.stream.most = 4 * reader->file_bytes + VF_TIFF_READ_AGAIN;
    VF_TRY(read_header(reader, error));
    /* m: not mapped; c: single strips are not chopped into 8 KiB ones, which would be 8 KiB reads. */
    state->decoder.tif = vf_tiff_open(&state->decoder.stream, reader->name, "rmc");
    if (state->decoder.tif == NULL)
        return vf_fail(error, VF_FAILED, "is not a readable TIFF: %s; if it was cut short, copy it again",
                       vf_tiff_cause(&state->decoder.stream, "unknown cause"));
    const size_t directories = TIFFNumberOfDirectories(state->decoder.tif);
    reader->info.tags = vf_tags_new(error);
    if (reader->info.tags == NULL)
        return VF_FAILED;
    reader->info.tags->pages = vf_alloc(directories, sizeof *reader->info.tags->pages, "page list", error);
    state->directories = vf_alloc(directories, sizeof *state->directories, "page list", error);
    state->data = vf_alloc(directories, sizeof *state->data, "page list", error);
    if (reader->info.tags->pages == NULL || state->directories == NULL || state->data == NULL)
        return VF_FAILED;
    memset(reader->info.tags->pages, 0, directories * sizeof *reader->info.tags->pages);
    reader->info.tags->page_count = directories;
    VF_TRY(walk_pages(reader, directories, error));
    VF_TRY(set_shape(reader, error));
    VF_TRY(vf_tiff_check_total(reader, error));
    state->decoder.stream.most = 0;
    vf_tags_describe(reader->info.tags, &reader->info);
out:
    return status;
}

static void tiff_close(struct vf_reader *reader)
{
    struct vf_tiff_reader *state = reader->state;
    if (state != NULL) {
        vf_tiff_decoder_close(&state->decoder);
        for (int i = 0; i < state->helper_count; i++) {
            vf_tiff_decoder_close(state->helper[i]);
            vf_free(state->helper[i]);
        }
        vf_free(state->helper);
        vf_free(state->directories);
        vf_free(state->data);
        vf_free(state->source);
        vf_free(state->ome_directories);
        vf_free(state);
    }
    vf_tags_free(reader->info.tags);
}

const struct vf_codec vf_codec_tiff = {
    .name = "TIFF",
    .open = tiff_open,
    .read_pages = vf_tiff_read_pages,
    .read_rows = vf_tiff_read_rows,
    .read_bytes = vf_tiff_read_bytes,
    .close = tiff_close,
    .supports = vf_tiff_supports,
    .create = vf_tiff_create,
    .write_pages = vf_tiff_write_pages,
    .write_bytes = vf_tiff_write_bytes,
    .row_block = vf_tiff_row_block,
    .write_rows = vf_tiff_write_rows,
    .finish = vf_tiff_finish,
    .discard = vf_tiff_discard,
};
