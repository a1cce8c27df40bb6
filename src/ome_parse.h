/* What ome.c and ome_planes.c share while OME-XML is parsed. */
#ifndef VF_OME_PARSE_H
#define VF_OME_PARSE_H

#include <expat.h>

/* Expat 2.9 deprecates those whose numbers are longs. */
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 9)
#define XML_GetCurrentLineNumber XML_GetCurrentLineNumber64
#define XML_GetCurrentByteIndex XML_GetCurrentByteIndex64
#define XML_GetCurrentByteCount XML_GetCurrentByteCount64
#endif

#include "ome.h"

/* What is at hand while the text is read. */
struct vf_ome_parsing {
    struct vf_ome *ome;
    XML_Parser parser;
    size_t directories, samples;
    int depth, image_depth, pixels_depth; /* 0: not within one */
    size_t begin;                         /* of the piece that is open */
    size_t piece_room, channel_room;
    char own_uuid[80], uuid[80];
    size_t uuid_length;
    char file[100], other_file[100]; /* of the open TiffData; one that holds planes */
    bool in_storage, in_channel, in_uuid, has_storage, too_many;
    size_t image_begin, reference_begin;
    char image_id[200];
    /* The open TiffData: -1 where not said. */
    int64_t first_directory, first[3], planes; /* first: c, z, t */
    int64_t here, elsewhere;                   /* TiffData of the image for this file; for others */
    int64_t placed;
    bool failed;
    struct vf_error *error;
};

/* The text is not understood: the first message stays, and the parser ends. */
void vf_ome_fail(struct vf_ome_parsing *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory ran out, which *p->error tells already: the parser ends. */
void vf_ome_fail_memory(struct vf_ome_parsing *p);

/* An attribute, which is a whole number from `least` on; `otherwise` where it is not said. */
int64_t vf_ome_whole(struct vf_ome_parsing *p, const XML_Char **attributes, const char *name, int64_t least,
                     int64_t otherwise);

/* Begins the list of the image's planes, whose sizes are known: where each is, is not known yet. */
void vf_ome_make_planes(struct vf_ome_parsing *p);

/* The tags of a TiffData, which says it of some of them. */
void vf_ome_begin_storage(struct vf_ome_parsing *p, const XML_Char **attributes);
void vf_ome_end_storage(struct vf_ome_parsing *p);

/* At the end of the text: whether all planes are in this file. */
enum vf_status vf_ome_check_planes(struct vf_ome_parsing *p);

#endif
