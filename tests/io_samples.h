/* Sample files for the I/O tests, written by libtiff and libpng directly: what the modules under test read is
 * never their own work. Every helper asserts, so that a test only states what differs. */
#ifndef VF_IO_SAMPLES_H
#define VF_IO_SAMPLES_H

#include <stdint.h>
#include <tiffio.h>

#include "io.h"

/* A fresh directory and the names in it; gone, with what is in it, when the test ends. */
void samples_begin(void);
void samples_end(void);
const char *sample_path(const char *name); /* valid for the next 7 calls */
size_t sample_file_count(void);            /* hidden ones too: nothing may be left behind */
/* The first descriptor from `fd` on that a result is written to, or -1; it may have no name, but a path by
 * /proc. */
int sample_unfinished(int fd);
const char *sample_unfinished_path(void);
size_t sample_file_size(const char *path);
/* From here on the kernel refuses a call of this number whose argument has one of the bits, as where a file
 * system does not know it. Without that the test is skipped. */
void sample_refuse(unsigned call, unsigned argument, unsigned bits, int cause);
void sample_put(const char *path, const void *bytes,
                size_t size);                     /* a new file, in place of one that is there */
void *sample_get(const char *path, size_t *size); /* free() it */

/* 0 stands for the usual: one page, one sample, strips of all rows, uncompressed, this machine's byte order,
 * the photometric of the samples. */
struct tiff_sample {
    enum vf_type type;
    uint32_t nx, ny, pages;
    uint16_t samples, scheme, predictor, photometric, fill_order;
    bool separate, tiled, big_endian, big_tiff;
    uint32_t tile_nx, rows; /* of a tile or strip */
    uint16_t extra_count, extra[4];
    const char *description;                /* of the first page */
    void (*more)(TIFF *tif, uint32_t page); /* sets further tags */
};

/* The element at a place of a sample: any bits for integers, modest numbers for floats. */
void sample_value(enum vf_type type, size_t page, size_t sample, size_t y, size_t x, void *value);

void tiff_sample_write(const char *path, const struct tiff_sample *sample);

/* A TIFF of one directory as its entries say, right or wrong. `data` follows the directory, at TIFF_RAW_DATA.
 */
struct tiff_entry {
    uint16_t tag, type;
    uint32_t count, value;
};
#define TIFF_RAW_DIRECTORY(entries) (2 + 12 * (uint32_t)(entries) + 4)
#define TIFF_RAW_DATA(entries) (8 + (size_t)TIFF_RAW_DIRECTORY(entries))
void tiff_raw_write(const char *path, bool big_endian, const struct tiff_entry *entries, size_t count,
                    const void *data, size_t size);

/* What a reader tells of `path`, but for its tags; fails the test when it cannot be opened. */
struct vf_info sample_info(const char *path);

/* Reads `path` whole into a volume, or fails the test. The reader stays open. */
void sample_read(const char *path, struct vf_reader **reader, struct vf_volume *volume);
void sample_close(struct vf_reader *reader, struct vf_volume *volume);

/* Whether sample k of page p is plane p of channel k, everywhere. */
void sample_check_pages(const struct vf_volume *volume, size_t pages, size_t samples);

/* Writes a volume as `result` says. */
void sample_write_volume(const char *path, const struct vf_info *result, const struct vf_volume *volume,
                         const struct vf_output_options *options);

/* Writes zeros as `result` says. */
void sample_write_zeros(const char *path, const struct vf_info *result);

/* What vf_info_lost says of a file's result; valid until the next call. */
const char *sample_lost(const char *path, enum vf_format format, enum vf_type type, size_t outputs);

/* Reads `from`, writes the same to `to` in the format of its name. */
void sample_copy(const char *from, const char *to, enum vf_compression compression);

/* The message of an attempt to open and read `path` whole: "" when it succeeds. Valid until the next call. */
const char *sample_refusal(const char *path);

/* Aborts the test unless that message holds every word of `words`, which are separated by '|', and the file's
 * name. */
void sample_check_refused(const char *path, const char *words);

#endif
