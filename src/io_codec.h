/* Inside the I/O modules only: what io.c asks of a file format. One table a format; io.c opens, spools and
 * names files, so that a codec sees a seekable descriptor.
 *
 * To add a format: io_NAME.c, which fills `const struct vf_codec vf_codec_NAME`, its name below and in enum
 * vf_format (io.h), and its lines in the tables of io.c: what its files begin with and how their names end.
 * `grep VF_FORMAT_ src/` shows where formats differ: in what a result keeps (io_loss.c, io_info.c), and in
 * whether files go in slabs (work_plan.c).
 * Texts that name the formats: cli_help.c, cli_options.c (--tree), cli_man.c, io.c and the README. */
#ifndef VF_IO_CODEC_H
#define VF_IO_CODEC_H

#include <stdint.h>
#include <time.h>

#include "descriptor.h"
#include "io.h"
#include "output_file.h"
#include "team.h"

struct vf_reader {
    const struct vf_codec *codec;
    char *name;              /* for messages */
    int fd;                  /* seekable, at its start when a codec opens it; owned by io.c */
    uint64_t file_bytes;     /* bounds whatever the file claims about itself */
    struct timespec changed; /* when it last was, before it is read */
    struct vf_info info;     /* filled by the codec's open */
    size_t row_block;        /* too: see vf_reader_row_block */
    struct vf_team *team;    /* for the codec's threads; owned by io.c, may be NULL */
    void *state;             /* the codec's */
};

struct vf_writer {
    const struct vf_codec *codec;
    char *name;
    struct vf_output_file *file;
    struct vf_info info;
    struct vf_output_options options;
    size_t next_page, next_row; /* what is to come; of a page that is written by rows */
    struct vf_team *team;       /* as the reader's */
    void *state;
};

/* Messages say what is wrong and where in the file; io.c puts the file's name before them. `close` and
 * `discard` free the state and are called after a failed open or create too (with what state there is, NULL
 * included). */
struct vf_codec {
    const char *name;
    enum vf_status (*open)(struct vf_reader *reader, struct vf_error *error);
    /* As vf_reader_read_pages; at least one. */
    enum vf_status (*read_pages)(struct vf_reader *reader, size_t first, size_t count, void *const planes[],
                                 int threads, struct vf_error *error);
    /* NULL: of no file. As vf_reader_read_rows. */
    enum vf_status (*read_rows)(struct vf_reader *reader, size_t y, size_t count, void *const planes[],
                                int threads, struct vf_error *error);
    size_t (*read_bytes)(const struct vf_reader *reader, int threads); /* NULL: little */
    void (*close)(struct vf_reader *reader);
    enum vf_status (*supports)(const struct vf_info *result, enum vf_compression compression,
                               struct vf_error *error);
    enum vf_status (*create)(struct vf_writer *writer, struct vf_error *error);
    enum vf_status (*write_pages)(struct vf_writer *writer, size_t first, size_t count,
                                  const void *const planes[], int threads, struct vf_error *error);
    size_t (*write_bytes)(const struct vf_info *result, int threads); /* NULL: little */
    size_t (*row_block)(const struct vf_info *result);                /* NULL: pages come whole */
    enum vf_status (*write_rows)(struct vf_writer *writer, size_t y, size_t count, const void *const planes[],
                                 int threads, struct vf_error *error);
    enum vf_status (*finish)(struct vf_writer *writer, struct vf_error *error);
    void (*discard)(struct vf_writer *writer);
};

extern const struct vf_codec vf_codec_tiff, vf_codec_png, vf_codec_mrc;

/* Splits `count` pixels of `samples` interleaved elements into planes, from element `at` of each; and joins
 * them. `size` is the element's: 1, 2, 4 or 8. */
void vf_split_samples(void *const planes[], size_t at, const void *pixels, size_t count, size_t samples,
                      size_t size);
void vf_join_samples(void *pixels, const void *const planes[], size_t at, size_t count, size_t samples,
                     size_t size);

/* Appends to info->note, after "; ". */
void vf_info_note(struct vf_info *info, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether `compressed` bytes could hold `bytes` of data at a codec's best ratio: what a file claims is
 * checked by this before memory is asked for it. */
bool vf_size_plausible(uint64_t bytes, uint64_t compressed, uint64_t ratio);

#endif
