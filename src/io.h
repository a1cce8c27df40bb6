/* Reading and writing image files. One page of a file holds one (z, t) plane of one or more channels; readers
 * and writers move whole pages, so that a caller can hold a volume or a few planes. Formats are told apart by
 * content, output formats by name. Source: TIFF 6.0, BigTIFF, ImageJ's TIFF habits, OME-TIFF, PNG (all
 * through libtiff and libpng), MRC2014. */
#ifndef VF_IO_H
#define VF_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "error.h"
#include "volume.h"

/* Room for what is said once of a file: parts that are not read, or not kept. */
#define VF_NOTE_TEXT 400

enum vf_format { VF_FORMAT_TIFF, VF_FORMAT_PNG, VF_FORMAT_MRC };

/* "TIFF", "PNG", "MRC" */
const char *vf_format_name(enum vf_format format);

/* How a TIFF says what its pages are. */
enum vf_metadata { VF_META_PLAIN, VF_META_IMAGEJ, VF_META_OME };

enum vf_compression {
    VF_COMPRESS_AS_INPUT, /* none where the input's cannot be written */
    VF_COMPRESS_NONE,
    VF_COMPRESS_LZW,
    VF_COMPRESS_DEFLATE,
    VF_COMPRESS_ZSTD,
    VF_COMPRESS_PACKBITS, /* only as the input's own */
};

/* What a file holds, understood. `tags` is the rest (opaque here): resolution, descriptions, orientation,
 * colour profile ... which a writer given this info carries over where they still hold and its format can say
 * them. */
struct vf_info {
    enum vf_format format;
    enum vf_metadata metadata;
    enum vf_compression compression;
    bool big_tiff, big_endian, tiled, planar_separate;
    bool min_is_white;    /* values are as stored: 0 is white */
    bool rgb;             /* the first three of page_channels are red, green and blue */
    bool premultiplied;   /* colours are stored multiplied by alpha (TIFF's associated alpha) */
    bool half_floats;     /* 16-bit floats, read as float32; MRC has a result of the same type so too */
    unsigned packed_bits; /* of samples that take other bits in the file than in memory; else 0 */
    bool image_stack;     /* MRC: planes are images of their own (a tilt series, particles) */
    enum vf_type type;
    struct vf_shape shape; /* nc counts colour samples and channels, alpha included */
    size_t page_count;     /* pages of the file that make up the volume */
    size_t page_channels;  /* channels stored in each page: 1, 3 (RGB), 2 or 4 with alpha, n samples */
    bool pages_told;       /* of a plain TIFF: its description says along which axes they run, or a note */
    char page_order[4];    /* OME: how the file's pages run, the fastest first: "zct" ...; "" for "czt" */
    /* Of a result: its numbers are of another kind than the input's, as a gradient's are; not set by
     * vf_info_for_result. */
    bool derived;
    bool has_alpha; /* the last of page_channels is alpha: passed through, not filtered */
    /* The size of a voxel: ImageJ's; else x and y from a resolution per inch, cm or metre, unless it is the
     * 72 or 96 dpi that programs write when they know nothing. Other units of length are converted to these
     * three. */
    bool spacing_known[3]; /* x, y, z */
    double spacing[3];     /* x, y, z, in `unit` */
    char unit[16];         /* "nm", "um", "mm"; "" when unknown: then only the ratios mean something */
    struct vf_tags *tags;  /* owned by the reader; NULL for none */
    /* Of a result: channels that each of the input's has given (0 and 1: one), and what they are called, for
     * writers that can say it; borrowed, NULL for no names, as each of them may be. */
    size_t outputs;
    const char *const *output_label;
    const char *chain; /* too: the filters that made it, for a file's history; borrowed, NULL: not said */
    char note[VF_NOTE_TEXT]; /* what of the file is not read, or guessed; "" for nothing */
};

struct vf_reader;

/* Bytes of a file's beginning, which show its kind; and whether that is one that is read. */
enum { VF_HEAD_BYTES = 512 };
bool vf_begins_as_image(const char head[VF_HEAD_BYTES]);

/* Opens `path` and reads what it holds; "-" is standard input (spooled to a file without a name). Fails with
 * a message that names the file, the page where there is one, the cause and the remedy; layouts that are not
 * read (palette, JPEG colour, CMYK, 1-bit, complex, pages of different sizes) say what they are and how to
 * convert them. The reader is owned by the caller; info and its tags live until vf_reader_close. */
enum vf_status vf_reader_open(struct vf_reader **reader, const char *path, struct vf_error *error);
const struct vf_info *vf_reader_info(const struct vf_reader *reader);

/* Where page p of the volume belongs: its time, plane and first channel. Pages run with c fastest, then z,
 * then t, whatever their order in the file, which the metadata says. */
void vf_info_page_place(const struct vf_info *info, size_t page, size_t *t, size_t *z, size_t *c);

/* Its planes in a volume, [page_channels]: what reading and writing a page take. */
void vf_info_page_planes(const struct vf_info *info, const struct vf_volume *volume, size_t page,
                         void **planes);

/* Whether the file says nothing of what its pages are: planes along z, time points or images. */
bool vf_info_takes_pages_as_planes(const struct vf_info *info);

/* As many pages as keep `threads` threads busy to the end, the same number each, and no more than 32 MiB
 * beyond one for each: what callers of vf_reader_read_pages and vf_writer_write_pages take at a time. */
size_t vf_info_pages_at_once(const struct vf_info *info, int threads);

/* As many blocks of `block` rows (see vf_reader_row_block) as have 4 MiB, in rows. */
size_t vf_info_rows_at_once(const struct vf_info *info, size_t block);

/* Decodes pages first to first + count - 1, of a PNG its page once, on up to `threads` threads, each strip or
 * tile by one of them: channel k of page first + i goes to planes[i * page_channels + k] (ny * nx elements of
 * info->type, native order). Short or corrupt data is an error that names file, page and offset or strip. */
enum vf_status vf_reader_read_pages(struct vf_reader *reader, size_t first, size_t count,
                                    void *const planes[], int threads, struct vf_error *error);

/* Bytes that so many threads take beside the planes that they read, until the reader is closed. */
size_t vf_reader_bytes(const struct vf_reader *reader, int threads);

/* Rows that a file has in one strip or tile: parts of a page that begin at a multiple of them can be read by
 * themselves. 0: pages are read whole. */
size_t vf_reader_row_block(const struct vf_reader *reader);

/* Reads rows y to y + count - 1, whole blocks or up to the last row, of every page: channel c goes to
 * planes[c], from its first element on. */
enum vf_status vf_reader_read_rows(struct vf_reader *reader, size_t y, size_t count, void *const planes[],
                                   int threads, struct vf_error *error);

/* Once all is read: fails if the file was changed since it was opened, since what was read may be of both. */
enum vf_status vf_reader_finish(const struct vf_reader *reader, struct vf_error *error);
/* Whether the file that was opened had this size and time of change then. */
bool vf_reader_is_of(const struct vf_reader *reader, const struct stat *file);

/* Fails if `path`, which was read, leads to another file by now, or to one that was changed: asked before it
 * is replaced. */
enum vf_status vf_reader_may_replace(const struct vf_reader *reader, const char *path,
                                     struct vf_error *error);
void vf_reader_close(struct vf_reader *reader); /* NULL is allowed */

/* Derives what a result is from what its input is: every filtered (not alpha) channel gives
 * outputs_per_channel channels of `type`, those of the input's first channel first. With one output of the
 * input's type the alpha stays, last in its page; else it is dropped. ImageJ's and OME's pages are of
 * one channel each unless the input's RGB pages stay what they are, ImageJ's in the order channel, z, time;
 * in a plain file a page holds all channels of its plane. Of a plain TIFF ImageJ's is made where planes are
 * grey and their distance is known, or time points do not stay the input's arrays. Shape, pages, spacing and
 * tags are the input's otherwise. */
void vf_info_for_result(const struct vf_info *input, enum vf_format format, enum vf_type type,
                        size_t outputs_per_channel, struct vf_info *result);

/* What of `input` the result does not keep: "" or a list of words such as "slice labels, display ranges". */
void vf_info_lost(const struct vf_info *input, const struct vf_info *result, char *text, size_t room);

/* How a result is written. */
struct vf_output_options {
    enum vf_compression compression;
    bool no_clobber; /* an existing file is an error, checked when opened and again when the file is put in
                        place */
    bool sync;       /* the file is on the disk before it has its name */
    /* Told what the file is once it is whole, before it has its name, which a failure keeps it from; NULL:
     * nobody is. */
    enum vf_status (*whole)(void *context, const struct stat *file, struct vf_error *error);
    void *context;
};

struct vf_writer;

/* For messages and the manual page. */
#define VF_OUTPUT_ENDINGS ".tif, .tiff, .png, .mrc, .mrcs, .rec, .st, .ali, .preali or .map"

/* The format that `path` asks for by its ending (VF_OUTPUT_ENDINGS, in any case). False for "-" and other
 * endings. */
bool vf_format_by_name(const char *path, enum vf_format *format);

/* Checks, before any work, that `format` can hold a result (PNG: one plane of grey or RGB, with or without
 * alpha, uint8 or uint16), compressed as asked. */
enum vf_status vf_writer_supports(enum vf_format format, const struct vf_info *result,
                                  enum vf_compression compression, struct vf_error *error);

/* Opens the output. `result` (copied) is as vf_info_for_result makes it; its tags are the input's, so the
 * input's reader must stay open until vf_writer_finish. `path` "-" is standard output (the bytes are spooled
 * and copied at finish; a caller that wants an error rather than SIGPIPE ignores that signal). The file
 * appears under its name, whole, at vf_writer_finish; until then it has no name, or a temporary one beside
 * it. Writing over the input is allowed. BigTIFF is used when the result may pass 4 GiB or the input was one.
 */
enum vf_status vf_writer_open(struct vf_writer **writer, const char *path, enum vf_format format,
                              const struct vf_info *result, const struct vf_output_options *options,
                              struct vf_error *error);

/* Writes pages first to first + count - 1, compressed on up to `threads` threads; the file is the same
 * whatever their number. Pages come with c fastest, then z, then t, whatever their order in the file becomes;
 * planes as in vf_reader_read_pages. */
enum vf_status vf_writer_write_pages(struct vf_writer *writer, size_t first, size_t count,
                                     const void *const planes[], int threads, struct vf_error *error);

/* Bytes that so many threads take while they write, with result->compression, where that is much; else 0. */
size_t vf_writer_bytes(enum vf_format format, const struct vf_info *result, int threads);

/* The same of a result of one page, written from its first row to its last in whole blocks of
 * vf_writer_row_block rows (the last may be shorter); 0: `format` does not take such a result so. */
size_t vf_writer_row_block(enum vf_format format, const struct vf_info *result);
enum vf_status vf_writer_write_rows(struct vf_writer *writer, size_t y, size_t count,
                                    const void *const planes[], int threads, struct vf_error *error);

/* Puts the file in place. After it, or after a failure, the writer must still be closed. */
enum vf_status vf_writer_finish(struct vf_writer *writer, struct vf_error *error);
void vf_writer_close(struct vf_writer *writer); /* without finish: leaves nothing behind; NULL is allowed */

#endif
