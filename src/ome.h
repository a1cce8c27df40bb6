/* OME-XML, the description of an OME-TIFF: what its pages are, and what it must say of a result.
 * Source: the OME data model (2016-06 schema) and the OME-TIFF specification of www.openmicroscopy.org. */
#ifndef VF_OME_H
#define VF_OME_H

#include <stdint.h>

#include "io.h"
#include "text.h"

/* How to do without OME-XML that is not understood. */
#define VF_OME_REMEDY "; to read the pages as planes, remove OME-XML from a copy: tiffset -u 270 COPY.tif"

/* Elements of the image's Pixels; and what is outside of it: other images, references to any image, and the
 * attributes by which shapes are of one channel. */
enum vf_ome_piece_kind {
    VF_OME_CHANNEL,
    VF_OME_STORAGE,
    VF_OME_PLANE,
    VF_OME_OTHER,
    VF_OME_IMAGE,
    VF_OME_IMAGE_REFERENCE,
    VF_OME_SHAPE_CHANNEL
};

/* A stretch of the text that a result keeps, or leaves out. */
struct vf_ome_piece {
    enum vf_ome_piece_kind kind;
    size_t begin, end;
};

/* The first image that is in this file: those of a data set may lie in files of their own, each of which
 * speaks of all. Owned: free with vf_ome_free. */
struct vf_ome {
    char *xml;
    bool is_utf8;              /* its encoding */
    size_t image_count, image; /* which of them, from 1 */
    char image_id[200];        /* its own; "" where not said, or longer */
    size_t nz, nc, nt;
    size_t page_channels;        /* of a plane: the TIFF's samples */
    char order[8];               /* of dimensions: "XYCZT" */
    uint32_t *directory;         /* [nt][nz][nc / page_channels]: the TIFF directory of each plane */
    unsigned significant_bits;   /* 0 where not said */
    double spacing[3];           /* x, y, z; 0 where not said */
    char unit[3][16];            /* as written */
    char prefix[16];             /* of its elements' names, with the colon; usually "" */
    char *attributes;            /* of Pixels: those that a result keeps, as XML */
    char *sizes;                 /* those of the voxels' size, which a result of the same size keeps */
    char **channel_name;         /* [channel_count]; NULL where not said */
    size_t channel_count;        /* of its elements */
    bool has_channel_settings;   /* they say more than names, as their colours and wavelengths */
    size_t uuid_begin, uuid_end; /* of the file's own, which a result is not */
    size_t pixels_begin, pixels_end;
    struct vf_ome_piece *piece; /* each kind in the text's order */
    size_t piece_count;
};

/* Whether a description is OME-XML. */
bool vf_ome_recognise(const char *description);

/* Reads the text (copied) of a file of `directories` directories with `samples` samples a page. Entities,
 * document types and deep nesting are refused; sizes that the directories cannot hold too. */
enum vf_status vf_ome_parse(struct vf_ome **ome, const char *xml, size_t directories, size_t samples,
                            struct vf_error *error);
void vf_ome_free(struct vf_ome *ome); /* NULL is allowed */

/* Fills in shape, order of pages and spacing. */
void vf_ome_describe(const struct vf_ome *ome, struct vf_info *info);

/* Adds text, in UTF-8, as its XML has it between quotes. */
void vf_ome_add_text(struct vf_text *to, const struct vf_ome *ome, const char *text);

/* The text for a result. Free with vf_free. */
char *vf_ome_write(const struct vf_ome *ome, const struct vf_info *result, struct vf_error *error);

#endif
