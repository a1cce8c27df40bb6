/* Inside the I/O modules only: a file's tags in neutral form, so that each writer keeps what its format can
 * say. Sources: TIFF 6.0 sections 8 and 12; PNG (ISO 15948) section 11.3. */
#ifndef VF_IO_TAGS_H
#define VF_IO_TAGS_H

#include <stdint.h>

#include "io.h"

/* A text: by TIFF tag, by PNG keyword, or both. */
struct vf_file_text {
    uint16_t tag;  /* 0: none */
    char *keyword; /* NULL: none */
    char *text;
    int png_kind; /* how PNG stored it (PNG_TEXT_COMPRESSION_NONE, PNG_ITXT_COMPRESSION_*); 0: no PNG did */
    struct vf_file_text *next;
};

/* What one page of a TIFF says of itself; NULL where it says nothing. */
struct vf_page_text {
    char *description, *name;
    char date_time[32];   /* "" for none */
    bool has_position[2]; /* x, y of the page on the stage, in the resolution's unit */
    float position[2];
};

/* GeoTIFF's tags, which say where on Earth the pixels are (OGC 19-008r4, GeoTIFF 1.1). */
enum { VF_GEO_TAGS = 6 };

struct vf_tags {
    /* What the tags were about: a writer drops those that no longer hold for its result. */
    enum vf_type type;
    struct vf_shape shape;
    size_t page_channels, page_count;
    bool planar_separate; /* samples in planes of their own, as no result has them */
    bool reordered;       /* pages are in another order than those of the file */
    bool misses_pages;    /* the description tells of more pages than there are */
    bool spacing_known[3];
    double spacing[3];
    char unit[16];

    bool has_resolution;
    bool is_scale;            /* the resolution is of what the image shows, and no value of it means none */
    double resolution[2];     /* x, y: pixels in one resolution_unit */
    uint16_t resolution_unit; /* RESUNIT_NONE, RESUNIT_INCH, RESUNIT_CENTIMETER */
    uint16_t orientation;     /* 0: not said */
    uint16_t *extra_samples;
    size_t extra_count;
    struct vf_file_text *texts; /* of the whole file (a TIFF's first page) */
    struct vf_page_text *pages; /* page_count of them, or NULL */
    void *icc;
    uint32_t icc_bytes;
    uint16_t
        *colour_map; /* 3 * 256: the table that an 8-bit image is shown through (ImageJ, OME); not applied */
    void *ij_data;   /* ImageJ's tags 50839 and 50838: in the byte order of the file */
    uint32_t *ij_counts;
    uint32_t ij_bytes, ij_count;
    void *geo[VF_GEO_TAGS]; /* in the order of io_tiff_tags.c's table; NULL where there is none */
    uint32_t geo_count[VF_GEO_TAGS];
    struct vf_ome *ome;              /* OME-TIFF's description, which then is no page's */
    void *mrc_header, *mrc_extended; /* an MRC file's, as they are in it */
    size_t mrc_extended_bytes;
    bool has_gamma, has_chromaticities;
    double gamma, chromaticities[8];
    int srgb_intent; /* -1: not said */
};

struct vf_tags *vf_tags_new(struct vf_error *error);
void vf_tags_free(struct vf_tags *tags); /* NULL is allowed */

/* Notes what the tags are about, once the reader has understood the file. */
void vf_tags_describe(struct vf_tags *tags, const struct vf_info *info);

/* Bytes of the descriptions and profiles that `count` pages have, at most. */
size_t vf_tags_bytes_of_pages(const struct vf_tags *tags, size_t count);

/* Appends copies; tag 0 and keyword NULL are filled in from each other where both formats have a name for it.
 */
enum vf_status vf_tags_add_text(struct vf_tags *tags, uint16_t tag, const char *keyword, const char *text,
                                int png_kind, struct vf_error *error);
enum vf_status vf_tags_copy_bytes(void **copy, const void *bytes, size_t size, struct vf_error *error);
const struct vf_file_text *vf_tags_text(const struct vf_tags *tags, uint16_t tag);

/* Whether it has a keyword that libpng writes: not too long, and not of blanks and control characters alone.
 */
bool vf_file_text_suits_png(const struct vf_file_text *text);

bool vf_tags_has_geo(const struct vf_tags *tags);

/* What a TIFF's first page says of itself; NULL for nothing, and for ImageJ's, which only says what its pages
 * are. */
char *vf_tags_page_description(const struct vf_tags *tags);

/* Whether number `index` of the white point, red, green and blue, x and y of each, is that of sRGB, which
 * images are taken to have that say nothing. */
bool vf_is_srgb_chromaticity(int index, double number);

/* Whether what the tags say of the picture still holds: the same type; that and the same kind of numbers; the
 * same planes and channels; the same spacing. */
bool vf_tags_type_kept(const struct vf_tags *tags, const struct vf_info *result);
bool vf_tags_values_kept(const struct vf_tags *tags, const struct vf_info *result);
bool vf_tags_shape_kept(const struct vf_tags *tags, const struct vf_info *result);
bool vf_tags_spacing_kept(const struct vf_tags *tags, const struct vf_info *result);

/* Whether a result that is like the input has the table of colours: of OME's, channels may have one each. */
bool vf_tags_table_kept(const struct vf_tags *tags, const struct vf_info *result);

/* Whether libpng takes the colour profile for a result of its colours. */
bool vf_tags_icc_suits_png(const struct vf_tags *tags, const struct vf_info *result);

/* Where a description tells of `product` pages and the file has others, gives the slowest of its axes the
 * length that these make of it. False where they are no whole number of the other axes. */
bool vf_fit_pages(size_t pages, size_t product, size_t *slowest);

#define VF_CUT_REMEDY "if it was cut short, copy it again"
#define VF_PAGES_REMEDY \
    VF_CUT_REMEDY "; if pages were taken out, take the description out, too: tiffset -u 270 FILE"

/* Whether a description states the shape of the whole file, as OME-XML and tifffile's JSON do; and whether
 * that is true of a plain result: not with another type or other channels, in pages that the file has no
 * directories for, of samples that come in another order, or in fewer pages than it tells of. */
bool vf_tags_states_layout(const char *description);

/* Whether it is tifffile's note of an array and says no more than the shape and axes that are read of it. */
bool vf_tags_states_layout_alone(const char *description);

bool vf_tags_layout_kept(const struct vf_tags *tags, const struct vf_info *result);

/* The distance that a resolution states, in mm; false where it states none: no unit, no positive number. */
bool vf_resolution_distance(double resolution, uint16_t unit, double *millimetres);

/* The same as a spacing, which the 72 and 96 dpi (and 1) are not that programs write when they know nothing.
 */
bool vf_resolution_spacing(double resolution, uint16_t unit, double *millimetres);

/* Whether those of x and y both say one. */
bool vf_resolution_says_spacing(const double resolution[2], uint16_t unit);

/* Sets x and y spacing from the tags' resolution, where it says any. */
void vf_tags_set_spacing(const struct vf_tags *tags, struct vf_info *info);

/* The resolution to write with a result: the input's while the spacing is kept, else computed. False: none.
 */
bool vf_tags_result_resolution(const struct vf_info *result, double resolution[2], uint16_t *unit);

/* Units: "nm", "um" or "mm", and how many of it one `name` ("micron", "\u00B5m", "inch", "cm" ...) is; false
 * when the name is no length. */
bool vf_unit_by_name(const char *name, const char **unit, double *scale);

#endif
