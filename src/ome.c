/* Parsing OME-XML: which page is which plane. ome_describe.c reads what it says of the voxels, ome_write.c
 * writes that of a result. */
#include "ome.h"

#include <expat.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "size.h"

enum { DEEPEST = 64, LONGEST = 256 << 20, MOST_REPEATS = 16, NO_DIRECTORY = -1 };

/* What is at hand while the text is read. */
struct parsing {
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
    size_t image_begin;
    /* The open TiffData: -1 where not said. */
    int64_t first_directory, first[3], planes; /* first: c, z, t */
    int64_t here, elsewhere;                   /* TiffData of the image for this file; for others */
    int64_t placed;
    bool failed;
    struct vf_error *error;
};

/* ---- memory: the parser's is counted like all other ---- */

static void *xml_alloc(size_t bytes)
{
    struct vf_error ignored; /* the parser reports it */
    size_t room;
    size_t *block = vf_size_add(bytes, VF_ALIGNMENT, &room) ? vf_alloc(room, 1, "OME-XML", &ignored) : NULL;
    if (block == NULL)
        return NULL;
    *block = bytes;
    return (char *)block + VF_ALIGNMENT;
}

static void xml_free(void *block)
{
    if (block != NULL)
        vf_free((char *)block - VF_ALIGNMENT);
}

static void *xml_resize(void *block, size_t bytes)
{
    void *larger = xml_alloc(bytes);
    if (larger != NULL && block != NULL) {
        const size_t before = *(size_t *)(void *)((char *)block - VF_ALIGNMENT);
        memcpy(larger, block, before < bytes ? before : bytes);
        xml_free(block);
    }
    return larger;
}

/* ---- what goes wrong ---- */

static void fail(struct parsing *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct parsing *p, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (p->failed)
        return;
    p->failed = true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vf_fail(p->error, VF_FAILED, "its OME-XML %s (line %lu)", text,
            (unsigned long)XML_GetCurrentLineNumber(p->parser));
    XML_StopParser(p->parser, XML_FALSE);
}

static void fail_memory(struct parsing *p)
{
    p->failed = true; /* the message is there */
    XML_StopParser(p->parser, XML_FALSE);
}

/* ---- attributes ---- */

static const char *attribute(const XML_Char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

/* A whole number from `least` on, `otherwise` where it is not said. */
static int64_t whole(struct parsing *p, const XML_Char **attributes, const char *name, int64_t least,
                     int64_t otherwise)
{
    const char *text = attribute(attributes, name);
    char *end;
    if (text == NULL)
        return otherwise;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > INT32_MAX) {
        fail(p, "says %s=\"%.40s\"", name, text);
        return otherwise;
    }
    return value;
}

/* The name without its prefix. */
static const char *local(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon == NULL ? name : colon + 1;
}

static bool is_size_of_voxels(const char *name)
{
    return strncmp(name, "PhysicalSize", 12) == 0;
}

/* Attributes of Pixels that vf_ome_write says itself. */
static bool is_rewritten(const char *name)
{
    static const char *const names[] = {"DimensionOrder", "Type", "BigEndian", "Interleaved",
                                        "SignificantBits"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return strncmp(name, "Size", 4) == 0;
}

/* As XML, those of the voxels' size or the others. */
static char *keep_attributes(struct parsing *p, const XML_Char **attributes, bool sizes)
{
    struct vf_text text = {0};
    for (; *attributes != NULL; attributes += 2) {
        if (is_rewritten(attributes[0]) || is_size_of_voxels(attributes[0]) != sizes)
            continue;
        vf_text_add(&text, " %s=\"", attributes[0]);
        vf_ome_add_text(&text, p->ome, attributes[1]);
        vf_text_add(&text, "\"");
    }
    return vf_text_take(&text, "OME-XML", p->error);
}

/* ---- planes ---- */

static bool order_is_known(const char *order)
{
    static const char *const known[] = {"XYZCT", "XYZTC", "XYCZT", "XYCTZ", "XYTZC", "XYTCZ"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], order) == 0)
            return true;
    return false;
}

static void read_sizes(struct parsing *p, const XML_Char **attributes)
{
    static const char *const axis[] = {"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ"};
    static const char *const unit[] = {"PhysicalSizeXUnit", "PhysicalSizeYUnit", "PhysicalSizeZUnit"};
    struct vf_ome *ome = p->ome;
    ome->nx = (size_t)whole(p, attributes, "SizeX", 1, 1);
    ome->ny = (size_t)whole(p, attributes, "SizeY", 1, 1);
    ome->nz = (size_t)whole(p, attributes, "SizeZ", 1, 1);
    ome->nc = (size_t)whole(p, attributes, "SizeC", 1, 1);
    ome->nt = (size_t)whole(p, attributes, "SizeT", 1, 1);
    ome->page_channels = p->samples;
    const char *bits = attribute(attributes, "SignificantBits");
    ome->significant_bits = bits == NULL ? 0 : (unsigned)strtoul(bits, NULL, 10);
    for (int i = 0; i < 3; i++) {
        const char *size = attribute(attributes, axis[i]), *in = attribute(attributes, unit[i]);
        const double value = size == NULL ? 0 : strtod(size, NULL);
        ome->spacing[i] = isfinite(value) && value > 0 ? value : 0;
        snprintf(ome->unit[i], sizeof ome->unit[i], "%s", in == NULL ? "um" : in);
    }
}

/* As many planes as there are directories for, each not found yet; others may be in other files. */
static void make_planes(struct parsing *p)
{
    struct vf_ome *ome = p->ome;
    size_t planes;
    p->too_many = !vf_size_mul(ome->nc / p->samples, ome->nz, &planes) ||
                  !vf_size_mul(planes, ome->nt, &planes) || planes > p->directories;
    if (p->too_many)
        return;
    ome->directory = vf_alloc(planes, sizeof *ome->directory, "page list", p->error);
    if (ome->directory == NULL)
        fail_memory(p);
    else
        memset(ome->directory, 0xff, planes * sizeof *ome->directory);
}

static void begin_pixels(struct parsing *p, const char *name, const XML_Char **attributes)
{
    struct vf_ome *ome = p->ome;
    const char *order = attribute(attributes, "DimensionOrder");
    p->pixels_depth = p->depth;
    p->has_storage = false;
    p->here = p->elsewhere = p->placed = 0;
    ome->image = ome->image_count;
    ome->pixels_begin = (size_t)XML_GetCurrentByteIndex(p->parser);
    snprintf(ome->prefix, sizeof ome->prefix, "%.*s", (int)(local(name) - name), name);
    snprintf(ome->order, sizeof ome->order, "%s", order == NULL ? "XYCZT" : order);
    read_sizes(p, attributes);
    if (p->failed)
        return;
    if (!order_is_known(ome->order))
        fail(p, "has the unknown DimensionOrder \"%.20s\"", ome->order);
    else if (ome->nc % p->samples != 0)
        fail(p, "gives %zu channels in pages of %zu samples", ome->nc, p->samples);
    else if (strlen(name) >= sizeof ome->prefix)
        fail(p, "has the element <%.40s>", name);
    else if ((ome->attributes = keep_attributes(p, attributes, false)) == NULL ||
             (ome->sizes = keep_attributes(p, attributes, true)) == NULL)
        fail_memory(p);
    else
        make_planes(p);
}

/* Only where they are not too many. */
static int64_t plane_count(const struct parsing *p)
{
    const struct vf_ome *ome = p->ome;
    return (int64_t)(ome->nc / ome->page_channels * ome->nz * ome->nt);
}

/* `count` planes from `first` (c, z, t) on, in the order of dimensions, are in directories that follow each
 * other. */
static void place_planes(struct parsing *p, int64_t directory, const int64_t first[3], int64_t count)
{
    struct vf_ome *ome = p->ome;
    const size_t channels = ome->nc / ome->page_channels;
    const int64_t extent[3] = {(int64_t)channels, (int64_t)ome->nz, (int64_t)ome->nt};
    int64_t at[3] = {first[0], first[1], first[2]};
    p->placed += count < plane_count(p) ? count : plane_count(p);
    if (p->placed / MOST_REPEATS > plane_count(p))
        fail(p, "assigns its planes to pages over and over");
    for (int64_t i = 0; !p->failed && i < count; i++) {
        if (at[0] >= extent[0] || at[1] >= extent[1] || at[2] >= extent[2] ||
            directory + i >= (int64_t)p->directories) {
            fail(p,
                 "assigns plane z=%lld, c=%lld, t=%lld to page %lld, but there are %zu planes, %zu channels, "
                 "%zu time points and %zu pages",
                 (long long)at[1], (long long)at[0], (long long)at[2], (long long)(directory + i + 1),
                 ome->nz, channels, ome->nt, p->directories);
            return;
        }
        ome->directory[((size_t)at[2] * ome->nz + (size_t)at[1]) * channels + (size_t)at[0]] =
            (uint32_t)(directory + i);
        for (int k = 2; k < 5; k++) {
            const int axis = ome->order[k] == 'C' ? 0 : ome->order[k] == 'Z' ? 1 : 2;
            if (++at[axis] < extent[axis] || k == 4)
                break;
            at[axis] = 0;
        }
    }
}

static void begin_storage(struct parsing *p, const XML_Char **attributes)
{
    p->in_storage = p->has_storage = true;
    p->uuid_length = 0;
    p->first_directory = whole(p, attributes, "IFD", 0, -1);
    p->first[0] = whole(p, attributes, "FirstC", 0, 0);
    p->first[1] = whole(p, attributes, "FirstZ", 0, 0);
    p->first[2] = whole(p, attributes, "FirstT", 0, 0);
    p->planes = whole(p, attributes, "PlaneCount", 0, -1);
}

static void end_storage(struct parsing *p)
{
    p->in_storage = false;
    p->uuid[p->uuid_length] = '\0';
    if (p->uuid_length > 0 && p->own_uuid[0] != '\0' && strcmp(p->uuid, p->own_uuid) != 0) {
        p->elsewhere++;
        memcpy(p->other_file, p->file, sizeof p->file);
        return;
    }
    p->here++;
    if (p->too_many)
        return;
    if (p->planes < 0)
        p->planes = p->first_directory < 0 ? plane_count(p) : 1;
    place_planes(p, p->first_directory < 0 ? 0 : p->first_directory, p->first, p->planes);
}

/* ---- elements ---- */

static enum vf_ome_piece_kind piece_kind(const char *name)
{
    static const struct {
        const char *name;
        enum vf_ome_piece_kind kind;
    } kinds[] = {{"Channel", VF_OME_CHANNEL},
                 {"TiffData", VF_OME_STORAGE},
                 {"BinData", VF_OME_STORAGE},
                 {"MetadataOnly", VF_OME_STORAGE},
                 {"Plane", VF_OME_PLANE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return VF_OME_OTHER;
}

static void add_piece(struct parsing *p, enum vf_ome_piece_kind kind, size_t end)
{
    struct vf_ome *ome = p->ome;
    struct vf_ome_piece *grown =
        vf_grow(ome->piece, ome->piece_count, &p->piece_room, sizeof *grown, "OME-XML", p->error);
    if (grown == NULL) {
        fail_memory(p);
        return;
    }
    ome->piece = grown;
    ome->piece[ome->piece_count++] = (struct vf_ome_piece){kind, p->begin, end};
}

static bool is_channel_setting(const char *name)
{
    return strcmp(name, "ID") != 0 && strcmp(name, "Name") != 0 && strcmp(name, "SamplesPerPixel") != 0;
}

static void begin_channel(struct parsing *p, const XML_Char **attributes)
{
    struct vf_ome *ome = p->ome;
    const char *name = attribute(attributes, "Name");
    char **grown =
        vf_grow(ome->channel_name, ome->channel_count, &p->channel_room, sizeof *grown, "OME-XML", p->error);
    if (grown == NULL) {
        fail_memory(p);
        return;
    }
    ome->channel_name = grown;
    char *copy = name == NULL ? NULL : vf_strdup(name, p->error);
    if (name != NULL && copy == NULL)
        fail_memory(p);
    ome->channel_name[ome->channel_count++] = copy;
    for (; *attributes != NULL; attributes += 2)
        ome->has_channel_settings = ome->has_channel_settings || is_channel_setting(attributes[0]);
}

static void free_image(struct vf_ome *ome)
{
    for (size_t i = 0; i < ome->channel_count; i++)
        vf_free(ome->channel_name[i]);
    vf_free(ome->channel_name);
    vf_free(ome->attributes);
    vf_free(ome->sizes);
    vf_free(ome->directory);
}

/* The image is in other files altogether: the next one may be in this. */
static void forget_image(struct parsing *p)
{
    struct vf_ome *ome = p->ome;
    size_t images = 0;
    while (images < ome->piece_count && ome->piece[images].kind == VF_OME_IMAGE)
        images++;
    free_image(ome);
    ome->channel_name = NULL;
    ome->attributes = ome->sizes = NULL;
    ome->directory = NULL;
    ome->channel_count = p->channel_room = 0;
    ome->piece_count = images;
    ome->has_channel_settings = false;
    ome->image = ome->pixels_begin = ome->pixels_end = 0;
}

static void begin_in_pixels(struct parsing *p, const char *name, const XML_Char **attributes)
{
    if (p->depth == p->pixels_depth + 1) {
        p->begin = (size_t)XML_GetCurrentByteIndex(p->parser);
        p->in_channel = strcmp(name, "Channel") == 0;
        if (p->in_channel)
            begin_channel(p, attributes);
        else if (strcmp(name, "TiffData") == 0)
            begin_storage(p, attributes);
    } else if (p->in_storage && strcmp(name, "UUID") == 0) {
        const char *file = attribute(attributes, "FileName");
        p->in_uuid = true;
        snprintf(p->file, sizeof p->file, "%s", file == NULL ? "" : file);
    } else if (p->in_channel && strcmp(name, "LightPath") != 0) {
        p->ome->has_channel_settings = true;
    }
}

/* Where an attribute stands in the tag that begins at `at`: the space before it, and what follows its value.
 */
static void find_attribute(const char *xml, size_t at, const char *name, size_t *begin, size_t *end)
{
    const size_t length = strlen(name);
    *begin = *end = 0;
    at += strcspn(xml + at, " \t\r\n>");
    while (xml[at] != '\0' && xml[at] != '>') {
        const size_t start = at;
        at += strspn(xml + at, " \t\r\n");
        const bool found =
            strncmp(xml + at, name, length) == 0 && strchr(" \t\r\n=", xml[at + length]) != NULL;
        at += strcspn(xml + at, "\"'>");
        if (xml[at] != '"' && xml[at] != '\'')
            return;
        const char *close = strchr(xml + at + 1, xml[at]);
        if (close == NULL)
            return;
        at = (size_t)(close + 1 - xml);
        if (found) {
            *begin = start;
            *end = at;
            return;
        }
    }
}

static void begin_file(struct parsing *p, const char *uuid)
{
    snprintf(p->own_uuid, sizeof p->own_uuid, "%s", uuid);
    find_attribute(p->ome->xml, (size_t)XML_GetCurrentByteIndex(p->parser), "UUID", &p->ome->uuid_begin,
                   &p->ome->uuid_end);
}

static void XMLCALL on_begin(void *context, const XML_Char *full_name, const XML_Char **attributes)
{
    struct parsing *p = context;
    const char *name = local(full_name), *uuid = attribute(attributes, "UUID");
    if (++p->depth > DEEPEST) {
        fail(p, "is nested more than %d deep", DEEPEST);
    } else if (p->depth == 1 && uuid != NULL) {
        begin_file(p, uuid);
    } else if (strcmp(name, "BinaryOnly") == 0) {
        const char *file = attribute(attributes, "MetadataFile");
        fail(p,
             "says that the metadata is in another file, %.100s; join the files first: bfconvert %.100s "
             "OUT.ome.tif",
             file == NULL ? "?" : file, file == NULL ? "IN" : file);
    } else if (p->depth == 2 && strcmp(name, "Image") == 0) {
        p->image_depth = p->depth;
        p->ome->image_count++;
        p->image_begin = (size_t)XML_GetCurrentByteIndex(p->parser);
    } else if (p->pixels_depth != 0) {
        begin_in_pixels(p, name, attributes);
    } else if (p->image_depth != 0 && p->ome->image == 0 && strcmp(name, "Pixels") == 0) {
        begin_pixels(p, full_name, attributes);
    }
}

static void XMLCALL on_end(void *context, const XML_Char *full_name)
{
    struct parsing *p = context;
    const char *name = local(full_name);
    const size_t end =
        (size_t)XML_GetCurrentByteIndex(p->parser) + (size_t)XML_GetCurrentByteCount(p->parser);
    if (p->failed)
        return;
    if (p->pixels_depth != 0 && p->depth == p->pixels_depth + 1) {
        if (p->in_storage)
            end_storage(p);
        if (!p->failed)
            add_piece(p, piece_kind(name), end);
    } else if (p->pixels_depth != 0 && p->depth == p->pixels_depth) {
        p->pixels_depth = 0;
        p->ome->pixels_end = end;
    } else if (p->image_depth == p->depth) {
        p->image_depth = 0;
        if (p->here == 0 && p->elsewhere > 0 && p->ome->image == p->ome->image_count)
            forget_image(p);
        p->begin = p->image_begin;
        if (p->ome->image != p->ome->image_count)
            add_piece(p, VF_OME_IMAGE, end);
    }
    p->in_uuid = p->in_uuid && strcmp(name, "UUID") != 0;
    p->depth--;
}

static void XMLCALL on_text(void *context, const XML_Char *text, int length)
{
    struct parsing *p = context;
    for (int i = 0; p->in_uuid && i < length; i++)
        if (text[i] > ' ' && p->uuid_length + 1 < sizeof p->uuid)
            p->uuid[p->uuid_length++] = text[i];
}

/* Without a document type there are no entities but XML's own five. */
static void XMLCALL on_document_type(void *context, const XML_Char *name, const XML_Char *system,
                                     const XML_Char *public, int has_subset)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_subset;
    fail(context, "declares a document type, which OME-XML must not have");
}

static void XMLCALL on_declaration(void *context, const XML_Char *version, const XML_Char *encoding,
                                   int standalone)
{
    struct parsing *p = context;
    (void)version;
    (void)standalone;
    p->ome->is_utf8 = encoding == NULL || strcasecmp(encoding, "UTF-8") == 0;
}

/* ---- the whole ---- */

static enum vf_status fail_elsewhere(const struct parsing *p)
{
    return vf_fail(p->error, VF_FAILED,
                   "planes of its image are in other files%s%s, according to its OME-XML, and images in "
                   "several files are not supported; join them: bfconvert IN OUT.ome.tif",
                   p->other_file[0] == '\0' ? "" : ", as ", p->other_file);
}

static enum vf_status check_planes(struct parsing *p)
{
    const struct vf_ome *ome = p->ome;
    if (p->elsewhere > 0 && (ome->image == 0 || p->too_many))
        return fail_elsewhere(p);
    if (ome->pixels_end == 0)
        return vf_fail(p->error, VF_FAILED, "its OME-XML describes no image");
    if (p->too_many)
        return vf_fail(p->error, VF_FAILED,
                       "its OME-XML gives %zu planes, %zu channels and %zu time points, but the file has %zu "
                       "pages; if it was cut short, copy it again",
                       ome->nz, ome->nc, ome->nt, p->directories);
    if (!p->has_storage)
        place_planes(p, 0, (const int64_t[3]){0, 0, 0}, plane_count(p));
    if (p->failed)
        return VF_FAILED;
    const size_t channels = ome->nc / ome->page_channels, planes = (size_t)plane_count(p);
    for (size_t i = 0; i < planes; i++) {
        if (ome->directory[i] != (uint32_t)NO_DIRECTORY)
            continue;
        if (p->elsewhere > 0)
            return fail_elsewhere(p);
        return vf_fail(p->error, VF_FAILED,
                       "its OME-XML does not say where plane z=%zu, c=%zu, t=%zu is; make one complete file: "
                       "bfconvert IN OUT.ome.tif",
                       i / channels % ome->nz, i % channels, i / channels / ome->nz);
    }
    return VF_OK;
}

static enum vf_status run_parser(struct parsing *p, size_t length)
{
    struct vf_ome *ome = p->ome;
    /* In one piece: a long token in several would be read again from its start with each. */
    if (XML_Parse(p->parser, ome->xml, (int)length, XML_TRUE) != XML_STATUS_OK && !p->failed)
        return vf_fail(p->error, VF_FAILED,
                       "its OME-XML cannot be read: line %lu: %s; to remove it and read the pages as planes: "
                       "tiffset -u 270 IN.tif",
                       (unsigned long)XML_GetCurrentLineNumber(p->parser),
                       XML_ErrorString(XML_GetErrorCode(p->parser)));
    return p->failed ? VF_FAILED : check_planes(p);
}

bool vf_ome_recognise(const char *description)
{
    if (description == NULL)
        return false;
    const char *root = strstr(description, "OME");
    return description[strspn(description, " \t\r\n\xef\xbb\xbf")] == '<' && root != NULL &&
           strstr(description, "http://www.openmicroscopy.org/Schemas/") != NULL;
}

enum vf_status vf_ome_parse(struct vf_ome **out, const char *xml, size_t directories, size_t samples,
                            struct vf_error *error)
{
    static const XML_Memory_Handling_Suite memory = {xml_alloc, xml_resize, xml_free};
    enum vf_status status = VF_FAILED;
    const size_t length = strlen(xml);
    struct vf_ome *ome = *out = vf_alloc(1, sizeof *ome, "OME-XML", error);
    if (ome == NULL)
        return VF_FAILED;
    struct parsing p = {.ome = ome, .directories = directories, .samples = samples, .error = error};
    if (length > LONGEST)
        return vf_fail(error, VF_FAILED, "its OME-XML has %zu bytes, which exceeds the limit", length);
    ome->is_utf8 = true;
    ome->xml = vf_strdup(xml, error);
    if (ome->xml == NULL)
        return VF_FAILED;
    p.parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (p.parser == NULL)
        return vf_fail(error, VF_FAILED, "OME-XML: cannot allocate memory");
    XML_SetUserData(p.parser, &p);
    XML_SetElementHandler(p.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(p.parser, on_text);
    XML_SetStartDoctypeDeclHandler(p.parser, on_document_type);
    XML_SetXmlDeclHandler(p.parser, on_declaration);
    status = run_parser(&p, length);
    XML_ParserFree(p.parser);
    return status;
}

void vf_ome_free(struct vf_ome *ome)
{
    if (ome == NULL)
        return;
    free_image(ome);
    vf_free(ome->piece);
    vf_free(ome->xml);
    vf_free(ome);
}
