/* Inside the TIFF modules only: libtiff on a descriptor, with its messages kept from stderr; the layouts; the
 * tags. Sources: TIFF 6.0; libtiff's documentation of TIFFClientOpen and of the codecs. */
#ifndef VF_IO_TIFF_H
#define VF_IO_TIFF_H

#include <tiffio.h>

#include "io_codec.h"
#include "io_tags.h"

/* What libtiff reads from and writes to. It and the name must outlive the TIFF, and stay where they are. The
 * descriptor's own position is not used: several may share it. With fd -1 nothing is read, and what is
 * written goes to `capture` while there is one. */
struct vf_tiff_stream {
    int fd;
    const char *name; /* vf_tiff_open's */
    uint64_t at;
    bool only_reads;
    unsigned char held[4096]; /* of a file that is only read: `held_count` bytes from `held_at` on */
    uint64_t held_at;
    size_t held_count;
    uint64_t done, most; /* bytes that were to be read; that may be, 0 for any number */
    unsigned char *capture;
    size_t captured, capture_room;
    int io_error;      /* errno of the first read or write that failed; 0 for none */
    bool discarded;    /* PackBits: a run reached beyond its row, and the rest of it was lost */
    char message[256]; /* libtiff's first error since the last clear, "" for none */
};

/* False, with stream->message set, once more was to be read than `most`: tags may name the same bytes again
 * and again, which are read, and kept, each time. */
bool vf_tiff_reads_allowed(struct vf_tiff_stream *stream);

/* Reads bytes, no more than are held, without a call of the system if they are; libtiff's place stays as it
 * is. On failure vf_tiff_cause says why, or the file ends too early. */
bool vf_tiff_look_at(struct vf_tiff_stream *stream, uint64_t at, void *data, size_t bytes);

/* `mode` as for TIFFOpen. NULL with stream->message set. */
TIFF *vf_tiff_open(struct vf_tiff_stream *stream, const char *name, const char *mode);
void vf_tiff_clear_error(struct vf_tiff_stream *stream);

/* Why the last call failed: the system's reason, libtiff's, or `otherwise`. */
const char *vf_tiff_cause(const struct vf_tiff_stream *stream, const char *otherwise);
/* What to do about such a cause: to have more memory, if libtiff or a codec says that it cannot allocate;
 * else `otherwise`. */
const char *vf_tiff_remedy(const char *cause, const char *otherwise);

/* How libtiff names a compression, what it can do at best, bytes out for a byte in, and how many bytes an
 * encoder takes beside its strip. */
struct vf_tiff_codec {
    uint16_t scheme;
    enum vf_compression compression;
    const char *name;
    unsigned ratio;
    size_t encoder_bytes;
};

/* NULL when this program does not use the scheme. */
const struct vf_tiff_codec *vf_tiff_codec_by_scheme(uint16_t scheme);
const struct vf_tiff_codec *vf_tiff_codec_by_compression(enum vf_compression compression);

/* One page's layout. */
struct vf_tiff_layout {
    uint32_t width, height, depth; /* depth: planes in one page, which few programs write */
    uint16_t bits, samples, format, photometric, planar, scheme, fill_order;
    uint16_t extra_count;
    const uint16_t *extra; /* libtiff's, until the next page is chosen */
    bool tiled, reduced;
    uint32_t tile_width, tile_height; /* rows of a strip are its tile_height */
};

void vf_tiff_layout_get(TIFF *tif, struct vf_tiff_layout *layout);

/* Fills info's type, channels and flags, or says why such pages are not read. `has_tables`: a palette is for
 * display, as in ImageJ's files and OME's. */
enum vf_status vf_tiff_layout_understand(const struct vf_tiff_layout *layout, bool has_tables,
                                         struct vf_info *info, struct vf_error *error);

/* Whether samples are stored in another form than they have in memory: 9 to 15 bits, packed, or 16-bit
 * floats.
 */
bool vf_tiff_is_packed(const struct vf_tiff_layout *layout);

/* Bytes of `samples` samples as they are stored, from a new byte on. */
size_t vf_tiff_stored_bytes(const struct vf_tiff_layout *layout, size_t samples);

/* Turns `count` samples, stored from a new byte on, into uint16 or float32. */
void vf_tiff_unpack(const struct vf_tiff_layout *layout, const void *from, size_t count, void *to);

/* Bytes in the file of a page, one strip or tile of it (for each plane when separate); false when a size
 * overflows. */
bool vf_tiff_layout_sizes(const struct vf_tiff_layout *layout, size_t *page, size_t *strile);

/* The page of the file that holds each page of the volume, in the order c, z, t: `order` names the axes of
 * the file's, the fastest first. `channels` is counted in pages. Owned by the caller (vf_free); NULL with a
 * message. */
size_t *vf_tiff_page_order(const char *order, const struct vf_shape *shape, size_t channels,
                           struct vf_error *error);

struct vf_ome;

/* The directories of OME's planes in increasing order, and which of them is each plane. Two planes in one
 * directory are refused. Owned by the caller (vf_free); NULL with a message. */
uint32_t *vf_tiff_ome_directories(const struct vf_ome *ome, size_t planes, struct vf_error *error);
size_t *vf_tiff_ome_order(const struct vf_ome *ome, const uint32_t *directories, size_t planes,
                          struct vf_error *error);
bool vf_tiff_ome_has(const uint32_t *directories, size_t planes, size_t directory);

/* Rearranges `count` elements of `size` bytes so that element i is what element source[i] was. */
enum vf_status vf_tiff_reorder(void *list, size_t size, size_t count, const size_t *source,
                               struct vf_error *error);

/* The tags of the first page (the current one), and the texts of any. */
enum vf_status vf_tiff_tags_read(TIFF *tif, struct vf_tags *tags, struct vf_error *error);
enum vf_status vf_tiff_page_text_read(TIFF *tif, struct vf_page_text *text, struct vf_error *error);

/* Why the directory that was read last is not all there, an errno; 0: nothing failed but what it says itself.
 * libtiff does not tell of a value that it found no memory for: the tag is there, its value is NULL. */
int vf_tiff_directory_cause(TIFF *tif, const struct vf_tiff_stream *stream);

/* Writes what holds for page `page` of the result. `description` is ImageJ's for the first page, or NULL.
 * False where libtiff refuses it, or the file's stream says why (vf_tiff_cause). */
bool vf_tiff_tags_write(TIFF *tif, const struct vf_info *result, size_t page, const char *description);

bool vf_tiff_is_geo_tag(uint32_t tag);

/* Whether it is about the whole file, and kept of the first page alone. */
bool vf_tiff_is_file_tag(uint32_t tag);

/* A bit for each number of a tag. */
struct vf_tiff_tag_set {
    uint64_t word[1024];
};

/* What pages have besides their pixels that is not read. All 0 to begin with. */
struct vf_tiff_unread {
    size_t lsm_planes, lsm_times; /* that Zeiss's LSM tells of, planes along z running faster; 0: nothing */
    unsigned copies;              /* SubIFDs of the first page that has any */
    bool later;                   /* which is not the file's first */
    bool xmp, colours, descriptions; /* descriptions: of later pages */
    float resolution[2];             /* of the first page; 0: it says none */
    uint16_t resolution_unit;
    bool resolutions; /* a later page says another */
    struct vf_tiff_tag_set of_first, lost;
    struct vf_tiff_tag_set others; /* tags of the whole file that say something else in a later page */
};

/* Adds those of the current page, and notes them once all pages were looked at. `tags` are the first page's,
 * which need not be read yet when it is looked at. */
void vf_tiff_look(TIFF *tif, bool first, const struct vf_tags *tags, struct vf_tiff_unread *unread);
void vf_tiff_note(TIFF *tif, const struct vf_tiff_unread *unread, struct vf_info *info);

/* Private tags. MetaMorph's UIC2: its count is that of the planes, which follow each other under one
 * directory. Zeiss's CZ_LSMINFO. ImageJ's sizes of, and bytes of, its labels, lookup tables and overlays. */
enum { VF_TIFF_STK_PLANES = 33629, VF_TIFF_LSM = 34412, VF_TIFF_IJ_COUNTS = 50838, VF_TIFF_IJ_DATA };
size_t vf_tiff_stk_planes(TIFF *tif); /* 0: it has none */

/* The values of a private tag, and how many; NULL: there are none, or of another type than `type`, which is
 * TIFF_ANY for any: libtiff takes unknown tags with the type that the file gives them. */
const void *vf_tiff_private_field(TIFF *tif, uint32_t tag, TIFFDataType type, uint32_t *count);

/* Writes the directory whose fields are set, of one strip of `page_bytes`, and where the first plane goes:
 * the data are then the caller's. On failure errno or libtiff's message says why. */
bool vf_tiff_begin_planes(TIFF *tif, int fd, bool big_endian, bool big, uint64_t page_bytes, uint64_t *start);

/* Says in the first `count` directories of the file that their planes, of one strip each, follow each other
 * from `start` on. On failure errno says why. */
bool vf_tiff_place_planes(int fd, bool big_endian, bool big, size_t count, uint64_t start,
                          uint64_t page_bytes);

/* Links the directories of a finished file anew: the one that is number i becomes number place[i]. `at` is
 * room for `count` offsets. On failure errno says why. */
bool vf_tiff_relink(int fd, bool big_endian, bool big, const size_t *place, size_t count, uint64_t *at);

/* The first number of tag `tag` of the directory at offset `at`, as the file has it, if it is no longer than
 * fits there; false where there is none or it cannot be read. */
bool vf_tiff_stored_number(int fd, bool big_endian, bool big, uint64_t at, uint16_t tag, uint64_t *number);

/* The writing half of vf_codec_tiff. */
enum vf_status vf_tiff_supports(const struct vf_info *result, enum vf_compression compression,
                                struct vf_error *error);
enum vf_status vf_tiff_create(struct vf_writer *writer, struct vf_error *error);
enum vf_status vf_tiff_write_pages(struct vf_writer *writer, size_t first, size_t count,
                                   const void *const planes[], int threads, struct vf_error *error);
size_t vf_tiff_row_block(const struct vf_info *result);
size_t vf_tiff_write_bytes(const struct vf_info *result, int threads);
enum vf_status vf_tiff_write_rows(struct vf_writer *writer, size_t y, size_t count,
                                  const void *const planes[], int threads, struct vf_error *error);
enum vf_status vf_tiff_finish(struct vf_writer *writer, struct vf_error *error);
void vf_tiff_discard(struct vf_writer *writer);

#endif
