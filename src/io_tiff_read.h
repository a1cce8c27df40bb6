/* Inside the reading half of the TIFF modules only: what is known of an open file, and who decodes its pages.
 */
#ifndef VF_IO_TIFF_READ_H
#define VF_IO_TIFF_READ_H

#include "alloc.h"
#include "io_tiff.h"

/* While directories are walked, beside what a file can hold. */
enum { VF_TIFF_READ_AGAIN = 256 << 20 };

/* One for each thread that decodes. */
struct vf_tiff_decoder {
    TIFF *tif;
    struct vf_tiff_stream stream;
    struct vf_room buffer; /* of a tile, a row, or a block of rows */
    size_t checked;        /* the current page, from 1 on; 0: it was not checked */
};

struct vf_tiff_reader {
    struct vf_tiff_decoder decoder;  /* which also walked the directories */
    struct vf_tiff_decoder **helper; /* of further threads */
    int helper_count;
    size_t helper_room;
    uint64_t *directories;     /* where each page's is, in the order of the file */
    uint64_t *data;            /* and its pixels, as vf_tiff_raw_start tells */
    size_t *source;            /* the file's page for each of the volume; NULL: the same */
    uint32_t *ome_directories; /* the numbers of OME's, increasing; NULL where all directories are pages */
    size_t ome_planes;
    size_t page_bytes;
    size_t tile_bytes, stored_bytes; /* the largest tile; the largest strip or tile that is compressed */
    double claimed;                  /* bytes, by all strips and tiles that are */
    double decoded;                  /* bytes, of all that libtiff decodes, as vf_tiff_decoded tells */
    double directory_bytes;          /* of all directories so far */
    double crowded;                  /* entries squared, of those that have many */
    size_t striles;                  /* of all pages */
    size_t cut_tags;                 /* of all pages: whose values would end beyond the file */
    unsigned first_cut_tag;
    size_t page_striles; /* the most of a page that libtiff decodes; 0: it decodes none */
    bool has_raw;        /* some pages are read without it */
    unsigned ratio;      /* the best of all pages' codecs */
    /* Samples that tifffile took for colours, and their fourth for alpha, are neither if this is not '\0': */
    char samples_axis; /* which of its array's they are, as vf_tiff_array_sample_axis tells */
    /* One directory, pages follow each other from here (ImageJ's stacks over 4 GiB, MetaMorph's); else 0. */
    uint64_t raw_start;
    struct vf_tiff_unread unread;
};

/* Whether what the current directory of `tif` claims of page `page` can be believed, and is like the first
 * page, which alone sets what the volume is. Also when a page is chosen again later: the file may have
 * changed, and what libtiff then decodes goes to memory of the first page's size. */
enum vf_status vf_tiff_check_page(struct vf_reader *reader, TIFF *tif, size_t page, bool first,
                                  const struct vf_tiff_layout *layout, struct vf_error *error);

/* Whether the directories up to the current one, which was not looked at before, are such as a program
 * writes: apart from each other, not so full that libtiff takes long to read them, and with their description
 * and palette, of which it does without where they would end beyond the file; others are counted. */
enum vf_status vf_tiff_check_directory(struct vf_reader *reader, size_t page, struct vf_error *error);

/* What decoding all of the current page takes, which was checked, as bytes that are decoded: tiles reach
 * beyond it, and each strip or tile takes time of its own. */
double vf_tiff_decoded(TIFF *tif, const struct vf_tiff_layout *layout);

/* Whether the whole volume is possible too: pages may claim the same bytes of the file. */
enum vf_status vf_tiff_check_total(const struct vf_reader *reader, struct vf_error *error);

/* The reading half of vf_codec_tiff. Planes as for vf_reader_read_pages. */
enum vf_status vf_tiff_read_pages(struct vf_reader *reader, size_t first, size_t count, void *const planes[],
                                  int threads, struct vf_error *error);

enum vf_status vf_tiff_read_rows(struct vf_reader *reader, size_t y, size_t count, void *const planes[],
                                 int threads, struct vf_error *error);

/* Where the pixels of the current page begin, which was checked, if they follow each other as they do in
 * memory but for the order of bytes; else 0. */
uint64_t vf_tiff_raw_start(TIFF *tif, const struct vf_tiff_layout *layout);

/* Of 3 or 4 planes tifffile makes the samples of colours, unless told otherwise. The axis of its array that a
 * page's samples are: its letter, or '?' where it has none; '\0': they are no planes of an array. */
char vf_tiff_array_sample_axis(const struct vf_tiff_layout *layout, const char *description);

/* Planes of a tifffile that was told to write one directory; 0 for another. */
size_t vf_tiff_array_planes(const struct vf_info *info, const char *description);

/* Fills the shape of a TIFF that is neither OME's nor ImageJ's, by what tifffile says of its array if that
 * wrote it, and the order of its pages as vf_tiff_page_order takes it; empty: they are in order. */
enum vf_status vf_tiff_array_describe(struct vf_info *info, const char *description, char samples_axis,
                                      char order[4], struct vf_error *error);

/* What decoders hold: each a tile, and the strip or tile that it decodes as it is in the file. */
size_t vf_tiff_read_bytes(const struct vf_reader *reader, int threads);

void vf_tiff_decoder_close(struct vf_tiff_decoder *decoder);

/* The checksum of a deflated strip or tile, from VF_TIFF_ADLER on, with the bytes that rows of `samples`
 * samples were deflated as. */
enum { VF_TIFF_ADLER = 1 };
uint32_t vf_tiff_add_rows(TIFF *tif, const struct vf_tiff_layout *layout, uint32_t adler, const void *rows,
                          size_t row_count, size_t samples);

/* Whether the strip or tile ends with this checksum. If not, it is damaged or holds more than it has to. */
bool vf_tiff_adler_agrees(struct vf_tiff_decoder *decoder, const struct vf_tiff_layout *layout,
                          uint32_t strile, uint32_t adler);

/* Whether the stream of a deflated strip or tile is as it was written, to its end. If so, zlib decodes it
 * right, whatever it holds; if not, decoder->stream.message is set. */
bool vf_tiff_stream_is_whole(struct vf_tiff_decoder *decoder, const struct vf_tiff_layout *layout,
                             uint32_t strile);

/* Has libtiff inflate with zlib, which is slower than libdeflate and leaves nothing out; returns what the
 * second is to be given, which has it inflate as before. */
int vf_tiff_choose_zlib(TIFF *tif);
void vf_tiff_choose_inflater(TIFF *tif, int usual);

#endif
